//! Variables and launch scripts that containers read from ConfigMaps in the manifests.

use super::view::Manifest;
use super::view::config_map::key_of;
use super::view::pods::{is_shell, list, text, words};
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};

/// Replaces references of variables and commands to ConfigMaps in the manifests by their values, which
/// rules then read as if they were written in the pods.
pub(super) fn resolve(manifests: &mut [Manifest]) {
    let mut maps: BTreeMap<&str, Vec<&Manifest>> = BTreeMap::new();
    for map in manifests.iter().filter(|manifest| manifest.kind() == "ConfigMap") {
        maps.entry(map.name()).or_default().push(map);
    }
    let mut secrets: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for secret in manifests.iter().filter(|manifest| manifest.kind() == "Secret") {
        let data = ["/data", "/stringData"].into_iter().filter_map(|key| secret.map(key));
        let names = data.flatten().map(|(name, _)| name.as_str());
        secrets.entry(secret.name()).or_default().extend(names);
    }
    if maps.is_empty() && secrets.is_empty() {
        return;
    }

    let mut resolved: Vec<(usize, String, Json)> = Vec::new();
    let mut left = SCRIPTS_LIMIT;
    for (owner, manifest) in manifests.iter().enumerate() {
        let data = |reference: &Json| {
            let mut named = maps.get(text(reference, "name"))?.iter();
            let map = named.find(|map| map.may_share_namespace(manifest))?;
            map.json.get("data")?.as_object()
        };
        let mut containers = Vec::new();
        find(&manifest.json, "", &Json::Null, &mut containers);
        resolved.extend(containers.into_iter().map(|(pointer, container, spec)| {
            (
                owner,
                pointer,
                with_script(with_values(container, &data, &secrets), spec, &data, &mut left),
            )
        }));
    }
    for (owner, pointer, container) in resolved {
        if let Some(place) = manifests[owner].json.pointer_mut(&pointer) {
            *place = container;
        }
    }
}

/// Adds the containers below a value that read ConfigMaps, with their JSON pointers and the pods around
/// them.
fn find<'m>(
    json: &'m Json,
    pointer: &str,
    spec: &'m Json,
    found: &mut Vec<(String, &'m Json, &'m Json)>,
) {
    let reads = |variable: &Json| variable.pointer("/valueFrom/configMapKeyRef").is_some();
    if !list(json, "envFrom").is_empty()
        || list(json, "env").iter().any(reads)
        || script_of(json).is_some()
    {
        found.push((pointer.to_owned(), json, spec));
        return;
    }
    match json {
        Json::Object(map) => {
            let spec = if map.contains_key("containers") { json } else { spec };
            let nested = map.iter().filter(|(_, value)| value.is_object() || value.is_array());
            nested.for_each(|(key, value)| find(value, &format!("{pointer}/{key}"), spec, found));
        }
        Json::Array(items) => {
            let items = items.iter().enumerate();
            items.for_each(|(index, item)| find(item, &format!("{pointer}/{index}"), spec, found));
        }
        _ => {}
    }
}

/// Bytes of scripts in all containers. Those of real engines need a few thousand each.
const SCRIPTS_LIMIT: usize = 1 << 20;

/// Bits of the mode of a file that can be started.
pub(super) const EXECUTABLE: u64 = 0o111;

/// Returns the path of the script that a container starts, and the arguments of the script.
fn script_of(container: &Json) -> Option<(String, Vec<String>)> {
    if list(container, "command").is_empty() || list(container, "volumeMounts").is_empty() {
        return None;
    }
    let mut words = words(container);
    // `-c` has the script in the next word.
    let options = usize::from(is_shell(&words));
    let at = options + words[options..].iter().take_while(|word| word.starts_with('-')).count();
    let is_inline = words[..at].iter().any(|word| word.starts_with('-') && word.ends_with('c'));
    let rest = words.split_off((at + 1).min(words.len()));
    let path = words.pop().filter(|path| path.starts_with('/') && !is_inline)?;
    (options > 0 || path.ends_with(".sh")).then_some((path, rest))
}

/// Returns a container with the text of its script in place of the script's path, if the script is in a
/// ConfigMap that is known.
fn with_script<'m>(
    mut container: Json,
    spec: &Json,
    data: &dyn Fn(&Json) -> Option<&'m serde_json::Map<String, Json>>,
    left: &mut usize,
) -> Json {
    let known = script_of(&container).and_then(|(path, rest)| {
        let (name, key, mode) = key_of(spec, &container, &path).ok()?;
        let is_started = is_shell(&words(&container)) || mode & EXECUTABLE != 0;
        let content = data(&json!({"name": name}))?.get(&key)?.as_str()?;
        // Each container gets a copy.
        *left = left.checked_sub(content.len())?;
        let is_shell = !content.starts_with("#!") || content.lines().next()?.ends_with("sh");
        (is_shell && is_started)
            .then(|| [vec!["sh".to_owned(), "-c".to_owned(), content.to_owned(), path], rest])
    });
    if let Some(command) = known {
        container["command"] = json!(command.concat());
        container["args"] = json!([]);
    }
    container
}

/// Returns a container with the values of the ConfigMaps, and the names in the Secrets, that are known.
fn with_values<'m>(
    container: &Json,
    data: &dyn Fn(&Json) -> Option<&'m serde_json::Map<String, Json>>,
    secrets: &BTreeMap<&str, Vec<&str>>,
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
        let Some(data) = source.get("configMapRef").and_then(data) else {
            // Of Secrets only the names are read.
            let Some(secret) = source.get("secretRef").filter(|_| source.get("prefix").is_none())
            else {
                return true;
            };
            let named = secrets.get(text(secret, "name")).into_iter().flatten();
            variables.extend(named.filter(|name| !own.contains(**name)).map(|name| {
                let reference = json!({"name": secret.get("name"), "key": name});
                json!({"name": name, "valueFrom": {"secretKeyRef": reference}})
            }));
            return true;
        };
        let named =
            data.iter().map(|(key, value)| (text(source, "prefix").to_owned() + key, value));
        for (name, value) in named.filter(|(name, _)| !own.contains(name)) {
            // Kubernetes reads these before those of the container itself.
            let reference = format!("$({name})");
            for known in variables.iter_mut().filter_map(|variable| variable.get_mut("value")) {
                if let (Some(text), Some(value)) = (known.as_str(), value.as_str())
                    && text.contains(&reference)
                {
                    *known = json!(text.replace(&reference, value));
                }
            }
            variables.push(json!({"name": name, "value": value}));
        }
        false
    });
    for (key, items) in [("env", variables), ("envFrom", sources)] {
        if !items.is_empty() || container.get(key).is_some() {
            container[key] = Json::Array(items);
        }
    }
    container
}
