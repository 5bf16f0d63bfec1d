//! Variables and launch scripts that containers read from ConfigMaps in the manifests.

use super::view::config_map::key_of;
use super::view::index::Index;
use super::view::pods::{expanded_names, is_shell, list, text, words};
use super::*;
use std::collections::BTreeSet;

/// Bytes of scripts in all containers. Those of real engines need a few thousand each.
const SCRIPTS_LIMIT: usize = 1 << 20;

/// Bits of the mode of a file that can be started.
pub(super) const EXECUTABLE: u64 = 0o111;

/// The ConfigMaps and Secrets of the manifests, for the containers of one of them.
struct Sources<'m> {
    index: Index<'m>,
    namespace: String,
    /// Bytes that are left for scripts.
    left: usize,
}

/// Replaces references of variables and commands to ConfigMaps in the manifests by their values, which
/// rules then read as if they were written in the pods.
pub(super) fn resolve(manifests: &mut [Manifest]) {
    // Copies, because the manifests change.
    let all = manifests.iter().filter(|one| matches!(one.kind(), "ConfigMap" | "Secret"));
    let all: Vec<Manifest> = all.cloned().collect();
    let (index, namespace, left) = (Index::new(&all), String::new(), SCRIPTS_LIMIT);
    let mut sources = Sources { index, namespace, left };
    for manifest in manifests.iter_mut().filter(|_| !all.is_empty()) {
        sources.namespace = manifest.namespace().to_owned();
        sources.resolve_in(&mut manifest.json, &[]);
    }
}

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

impl<'m> Sources<'m> {
    /// Returns the map at a pointer of the ConfigMap or Secret that a reference names.
    fn data(&self, kind: &str, one: &Json, at: &str) -> Option<&'m serde_json::Map<String, Json>> {
        let found = self.index.named(kind, text(one, "name"), &self.namespace);
        found.first()?.1.map(at)
    }

    /// Changes the containers below a value that read ConfigMaps. `volumes` are those of the pod around it.
    fn resolve_in(&mut self, json: &mut Json, volumes: &[Json]) {
        let reads = |variable: &Json| variable.pointer("/valueFrom/configMapKeyRef").is_some();
        if !list(json, "envFrom").is_empty() || list(json, "env").iter().any(reads) {
            self.set_values(json);
        }
        if let Some(command) = self.command(json, volumes) {
            json["command"] = json!(command);
            json["args"] = json!([]);
            return;
        }
        let own = json.get("containers").map(|_| list(json, "volumes").to_vec());
        let volumes = own.as_deref().unwrap_or(volumes);
        match json {
            Json::Object(map) => map.values_mut().for_each(|one| self.resolve_in(one, volumes)),
            Json::Array(items) => items.iter_mut().for_each(|one| self.resolve_in(one, volumes)),
            _ => {}
        }
    }

    /// Returns the command of a container with the text of its script in place of the path, if the script
    /// is in a ConfigMap that is known.
    fn command(&mut self, container: &Json, volumes: &[Json]) -> Option<Vec<String>> {
        let (path, rest) = script_of(container)?;
        let (name, key, mode) = key_of(volumes, container, &path).ok()?;
        let is_started = is_shell(&words(container)) || mode & EXECUTABLE != 0;
        let content =
            self.data("ConfigMap", &json!({"name": name}), "/data")?.get(&key)?.as_str()?;
        let is_shell = !content.starts_with("#!") || content.lines().next()?.ends_with("sh");
        // Each container gets a copy.
        self.left = self.left.checked_sub(content.len())?;
        let script = vec!["sh".to_owned(), "-c".to_owned(), content.to_owned(), path];
        (is_shell && is_started).then(|| [script, rest].concat())
    }

    /// Sets the values of the ConfigMaps, and the names in the Secrets, that are known in a container.
    fn set_values(&self, container: &mut Json) {
        let mut variables = list(container, "env").to_vec();
        for variable in &mut variables {
            let reference = variable.pointer("/valueFrom/configMapKeyRef");
            let data = reference.and_then(|one| self.data("ConfigMap", one, "/data"));
            let value = data.and_then(|data| data.get(text(reference?, "key")));
            // The API server rejects other values, which is reported at the ConfigMap.
            if let Some(value) = value.filter(|value| value.is_string()) {
                *variable = json!({"name": variable.get("name"), "value": value});
            }
        }

        // A variable of the container itself wins, and of several ConfigMaps the last one.
        let count = variables.len();
        let own: BTreeSet<String> =
            variables.iter().map(|variable| text(variable, "name").to_owned()).collect();
        let mut before: BTreeMap<String, &str> = BTreeMap::new();
        let mut sources = list(container, "envFrom").to_vec();
        sources.retain(|source| {
            let data = |kind, key, at| self.data(kind, source.get(key)?, at);
            let named = |(key, value)| {
                let name = format!("{}{key}", text(source, "prefix"));
                (!own.contains(&name)).then_some((name, key, value))
            };
            let secrets = ["/data", "/stringData"].map(|at| data("Secret", "secretRef", at));
            for (name, key, _) in secrets.into_iter().flatten().flatten().filter_map(named) {
                let reference = json!({"name": source["secretRef"]["name"], "key": key});
                variables.push(json!({"name": name, "valueFrom": {"secretKeyRef": reference}}));
            }
            let data = data("ConfigMap", "configMapRef", "/data");
            for (name, _, value) in data.into_iter().flatten().filter_map(named) {
                variables.push(json!({"name": name, "value": value}));
                before.extend(value.as_str().map(|value| (name, value)));
            }
            data.is_none()
        });
        // Kubernetes reads these before those of the container itself, whose values alone it expands.
        for variable in &mut variables[..count] {
            let value = text(variable, "value").to_owned();
            let names = expanded_names(&value).into_iter();
            let known = names.filter_map(|name| Some((format!("$({name})"), *before.get(&name)?)));
            let expanded = known.fold(value.clone(), |value, (from, to)| value.replace(&from, to));
            if expanded != value {
                variable["value"] = json!(expanded);
            }
        }
        for (key, items) in [("env", variables), ("envFrom", sources)] {
            if !items.is_empty() || container.get(key).is_some() {
                container[key] = Json::Array(items);
            }
        }
    }
}
