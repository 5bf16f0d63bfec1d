//! Reads `[bundle.config]` by the types of the Kubernetes API.

use super::reader::{Fields, Located, Reader};
use crate::PodConfig;
use crate::diag::Code;
use crate::ir::push_key;
use crate::keys::{PODS, PROXY};
use k8s_openapi::api::core::v1::{
    Affinity, EnvFromSource, EnvVar, ResourceRequirements, Toleration, Volume, VolumeMount,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;

/// Returns the table `config` of a bundle.
pub(super) fn read(reader: &mut Reader<'_>, fields: &Fields<'_>) -> PodConfig {
    let Some((table, header)) = fields.table("config") else { return PodConfig::default() };
    let fields = reader.fields(&PODS, header, table);
    let mut config = PodConfig {
        env: list::<EnvVar>(reader, &fields, "env"),
        env_from: list::<EnvFromSource>(reader, &fields, "envFrom"),
        volumes: list::<Volume>(reader, &fields, "volumes"),
        volume_mounts: list::<VolumeMount>(reader, &fields, "volumeMounts"),
        tolerations: list::<Toleration>(reader, &fields, "tolerations"),
        resources: one::<ResourceRequirements>(reader, &fields, "resources"),
        node_selector: one::<BTreeMap<String, String>>(reader, &fields, "nodeSelector"),
        affinity: one::<Affinity>(reader, &fields, "affinity"),
        annotations: BTreeMap::new(),
    };

    if let Some(annotations) = one::<BTreeMap<String, String>>(reader, &fields, "annotations") {
        config.annotations = serde_json::from_value(annotations).unwrap_or_default();
    }
    if let Some((table, header)) = fields.table("proxy") {
        let fields = reader.fields(&PROXY, header, table);
        for (key, name) in
            [("http", "HTTP_PROXY"), ("https", "HTTPS_PROXY"), ("no-proxy", "NO_PROXY")]
        {
            let own = config.env.iter().any(|variable| variable["name"] == name);
            if let Some((value, _)) = fields.text(key).filter(|_| !own) {
                config.env.push(json!({"name": name, "value": value}));
            }
        }
    }

    config
}

fn list<T: Serialize + DeserializeOwned>(
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
    key: &str,
) -> Vec<Json> {
    let items = fields.json(key).and_then(|at| typed::<Vec<T>>(reader, key, at));
    let items = items.and_then(|items| items.as_array().cloned()).unwrap_or_default();
    let named = matches!(key, "env" | "volumes" | "volumeMounts");
    if let Some((_, range)) = fields.json(key).filter(|_| named) {
        let nameless = |item: &&Json| item["name"].as_str().is_none_or(str::is_empty);
        for (number, item) in (1..).zip(&items).filter(|(_, item)| nameless(item)) {
            // Its values may be secrets.
            let keys: Vec<&str> =
                item.as_object().into_iter().flatten().map(|(key, _)| key.as_str()).collect();
            let message =
                format!("item {number} of `{key}` has no `name`, only {}", keys.join(", "));
            reader.error(Code::InvalidValue, &range, message, "add a name");
        }
        // A volume may be mounted at several paths, so a mount is known by its path.
        let identity = if key == "volumeMounts" { "mountPath" } else { "name" };
        let mut seen: Vec<&str> = Vec::new();
        for value in items.iter().filter_map(|item| item[identity].as_str()) {
            if seen.contains(&value) {
                let message = format!("`{key}` has two items with the {identity} `{value}`");
                reader.error(Code::InvalidValue, &range, message, "remove one of them");
            }
            seen.push(value);
        }
    }
    items
}

fn one<T: Serialize + DeserializeOwned>(
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
    key: &str,
) -> Option<Json> {
    fields.json(key).and_then(|at| typed::<T>(reader, key, at))
}

/// Returns the value if it has the type of the Kubernetes API and no unknown fields; reports
/// other values.
pub(crate) fn typed<T: Serialize + DeserializeOwned>(
    reader: &mut Reader<'_>,
    key: &str,
    (json, range): Located<Json>,
) -> Option<Json> {
    let hint = "see the Kubernetes API reference of pods and containers for the fields";
    let read = match serde_json::from_value::<T>(json.clone()) {
        Ok(read) => read,
        Err(why) => {
            let message = format!("`{key}` does not match the Kubernetes API: {why}");
            reader.error(Code::WrongType, &range, message, hint);
            return None;
        }
    };
    let known = serde_json::to_value(read).unwrap_or_default();
    if let Some(path) = unknown(&json, &known, key.to_owned()) {
        reader.error(Code::UnknownKey, &range, format!("unknown field `{path}`"), hint);
        return None;
    }
    Some(json)
}

/// Returns the path of the first key that did not survive being read.
fn unknown(given: &Json, known: &Json, path: String) -> Option<String> {
    match (given, known) {
        (Json::Object(given), Json::Object(known)) => given.iter().find_map(|(key, value)| {
            let mut path = path.clone();
            push_key(&mut path, key);
            match known.get(key) {
                Some(known) => unknown(value, known, path),
                None => Some(path),
            }
        }),
        (Json::Array(given), Json::Array(known)) => {
            given.iter().zip(known).enumerate().find_map(|(index, (given, known))| {
                unknown(given, known, format!("{path}[{index}]"))
            })
        }
        _ => None,
    }
}
