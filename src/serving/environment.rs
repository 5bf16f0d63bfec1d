//! Values of variables that containers read from ConfigMaps in the manifests.

use super::view::Manifest;
use super::view::pods::{list, text};
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};

/// Replaces references of variables to ConfigMaps in the manifests by their values, which rules then
/// read as if they were written in the pods.
pub(super) fn resolve(manifests: &mut [Manifest]) {
    let mut maps: BTreeMap<&str, Vec<&Manifest>> = BTreeMap::new();
    for map in manifests.iter().filter(|manifest| manifest.kind() == "ConfigMap") {
        maps.entry(map.name()).or_default().push(map);
    }
    if maps.is_empty() {
        return;
    }

    let mut resolved: Vec<(usize, String, Json)> = Vec::new();
    for (owner, manifest) in manifests.iter().enumerate() {
        let data = |reference: &Json| {
            let mut named = maps.get(text(reference, "name"))?.iter();
            let map = named.find(|map| map.may_share_namespace(manifest))?;
            map.json.get("data")?.as_object()
        };
        let mut containers = Vec::new();
        find(&manifest.json, "", &mut containers);
        resolved.extend(
            containers
                .into_iter()
                .map(|(pointer, container)| (owner, pointer, with_values(container, &data))),
        );
    }
    for (owner, pointer, container) in resolved {
        if let Some(place) = manifests[owner].json.pointer_mut(&pointer) {
            *place = container;
        }
    }
}

/// Adds the containers below a value that read ConfigMaps, with their JSON pointers.
fn find<'m>(json: &'m Json, pointer: &str, found: &mut Vec<(String, &'m Json)>) {
    let reads = |variable: &Json| variable.pointer("/valueFrom/configMapKeyRef").is_some();
    if !list(json, "envFrom").is_empty() || list(json, "env").iter().any(reads) {
        found.push((pointer.to_owned(), json));
        return;
    }
    match json {
        Json::Object(map) => {
            let nested = map.iter().filter(|(_, value)| value.is_object() || value.is_array());
            nested.for_each(|(key, value)| find(value, &format!("{pointer}/{key}"), found));
        }
        Json::Array(items) => {
            let items = items.iter().enumerate();
            items.for_each(|(index, item)| find(item, &format!("{pointer}/{index}"), found));
        }
        _ => {}
    }
}

/// Returns a container with the values of the ConfigMaps that are known.
fn with_values<'m>(
    container: &Json,
    data: &dyn Fn(&Json) -> Option<&'m serde_json::Map<String, Json>>,
) -> Json {
    let mut container = container.clone();
    let mut variables = list(&container, "env").to_vec();
    for variable in &mut variables {
        let reference = variable.pointer("/valueFrom/configMapKeyRef");
        let value = reference.and_then(|reference| data(reference)?.get(text(reference, "key")));
        if let Some(value) = value {
            *variable = json!({"name": variable.get("name"), "value": value});
        }
    }

    // A variable of the container itself wins, and of several ConfigMaps the last one.
    let own: BTreeSet<String> =
        variables.iter().map(|variable| text(variable, "name").to_owned()).collect();
    let mut sources = list(&container, "envFrom").to_vec();
    sources.retain(|source| {
        let Some(data) = source.get("configMapRef").and_then(data) else { return true };
        let named =
            data.iter().map(|(key, value)| (text(source, "prefix").to_owned() + key, value));
        let more = named.filter(|(name, _)| !own.contains(name));
        variables.extend(more.map(|(name, value)| json!({"name": name, "value": value})));
        false
    });
    for (key, items) in [("env", variables), ("envFrom", sources)] {
        if !items.is_empty() || container.get(key).is_some() {
            container[key] = Json::Array(items);
        }
    }
    container
}
