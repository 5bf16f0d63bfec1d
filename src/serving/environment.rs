//! Values of variables that containers read from ConfigMaps in the manifests.

use super::view::Manifest;
use super::view::pods::{list, text};
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};

/// Replaces references of variables to ConfigMaps in the manifests by their values, which rules then
/// read as if they were written in the pods.
pub(super) fn resolve(manifests: &mut [Manifest]) {
    // Copies, because the manifests change.
    let all = manifests.iter().filter(|manifest| manifest.kind() == "ConfigMap");
    let all: Vec<Manifest> = all.cloned().collect();
    let mut maps: BTreeMap<&str, Vec<&Manifest>> = BTreeMap::new();
    for map in &all {
        maps.entry(map.name()).or_default().push(map);
    }

    for manifest in manifests.iter_mut().filter(|_| !all.is_empty()) {
        let namespace = manifest.namespace().to_owned();
        let data = |reference: &Json| {
            let mut named = maps.get(text(reference, "name"))?.iter();
            named.find(|map| map.may_be_in(&namespace))?.json.get("data")?.as_object()
        };
        resolve_in(&mut manifest.json, &data);
    }
}

/// The data of the ConfigMap that a reference names.
type Data<'d, 'm> = dyn Fn(&Json) -> Option<&'m serde_json::Map<String, Json>> + 'd;

/// Changes the containers below a value that read ConfigMaps.
fn resolve_in(json: &mut Json, data: &Data<'_, '_>) {
    let reads = |variable: &Json| variable.pointer("/valueFrom/configMapKeyRef").is_some();
    if !list(json, "envFrom").is_empty() || list(json, "env").iter().any(reads) {
        set_values(json, data);
        return;
    }
    match json {
        Json::Object(map) => map.values_mut().for_each(|inner| resolve_in(inner, data)),
        Json::Array(items) => items.iter_mut().for_each(|inner| resolve_in(inner, data)),
        _ => {}
    }
}

/// Sets the values of the ConfigMaps that are known in a container.
fn set_values(container: &mut Json, data: &Data<'_, '_>) {
    let mut variables = list(container, "env").to_vec();
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
    let mut sources = list(container, "envFrom").to_vec();
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
}
