//! Reads what `[[serving]]` adds to pods: `pod`, `cache`, `adapters`, `tracing`, labels and annotations.

use crate::diag::Code;
use crate::ir::{is_label_value, label_fault};
use crate::keys::NAMESPACE_LIMIT;
use crate::read::pods::typed;
use crate::read::reader::{Fields, Located, Reader};
use crate::serving::{Adapter, AdapterSource, Cache, PodFields, Tracing};
use k8s_openapi::api::core::v1::{
    Container, EnvFromSource, HostAlias, PodDNSConfig, PodSecurityContext,
    TopologySpreadConstraint, Volume, VolumeMount,
};
use serde_json::{Map as JsonMap, Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};

/// Reads a value with a type of the Kubernetes API.
type Typed = fn(&mut Reader<'_>, &str, Located<Json>) -> Option<Json>;

/// Types of the keys of `pod` that are no strings.
const TYPES: &[(&str, Typed)] = &[
    ("labels", labels),
    ("volumes", typed::<Vec<Volume>>),
    ("volume-mounts", typed::<Vec<VolumeMount>>),
    ("init-containers", typed::<Vec<Container>>),
    ("sidecars", typed::<Vec<Container>>),
    ("env-from", typed::<Vec<EnvFromSource>>),
    ("topology-spread", typed::<Vec<TopologySpreadConstraint>>),
    ("security-context", typed::<PodSecurityContext>),
    ("host-aliases", typed::<Vec<HostAlias>>),
    ("dns-config", typed::<PodDNSConfig>),
];

/// Returns the fields of a table `pod`.
pub(super) fn pod(reader: &mut Reader<'_>, fields: Option<&Fields<'_>>) -> PodFields {
    let mut found = BTreeMap::new();
    let Some(fields) = fields else { return PodFields::default() };
    for (key, _) in fields.places() {
        let value = match TYPES.iter().find(|(name, _)| *name == key.name) {
            Some((name, read)) => fields.json(name).and_then(|at| read(reader, name, at)),
            None => fields.text(key.name).map(|(text, _)| json!(text)),
        };
        found.extend(value.map(|value| (key.name, value)));
    }
    PodFields(found)
}

/// Returns labels with valid keys and values; reports others.
fn labels(reader: &mut Reader<'_>, key: &str, (json, range): Located<Json>) -> Option<Json> {
    let json = typed::<BTreeMap<String, String>>(reader, key, (json, range.clone()))?;
    for (key, value) in json.as_object().into_iter().flatten() {
        let (prefix, name) = key.rsplit_once('/').unwrap_or(("", key));
        let host = prefix.is_empty()
            || prefix.split('.').all(|label| label_fault(label, NAMESPACE_LIMIT).is_none());
        let value = value.as_str().unwrap_or_default();
        if !host || name.is_empty() || !is_label_value(name) || !is_label_value(value) {
            let message = format!("invalid label `{key}: {value}`");
            let hint = "use at most 63 letters, digits, dashes, dots and underscores";
            reader.error(Code::InvalidValue, &range, message, hint);
        }
    }
    Some(json)
}

/// Returns the labels at the key `labels` of a table.
pub(super) fn labels_of(reader: &mut Reader<'_>, fields: &Fields<'_>) -> JsonMap<String, Json> {
    match fields.json("labels").and_then(|at| labels(reader, "labels", at)) {
        Some(Json::Object(labels)) => labels,
        _ => JsonMap::new(),
    }
}

/// Returns a map of strings at a key.
pub(super) fn texts(
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
    key: &str,
) -> JsonMap<String, Json> {
    let read = typed::<BTreeMap<String, String>>;
    match fields.json(key).and_then(|at| read(reader, key, at)) {
        Some(Json::Object(map)) => map,
        _ => JsonMap::new(),
    }
}

/// Returns the volume for downloaded models.
pub(super) fn cache(fields: &Fields<'_>) -> Option<Cache> {
    let text = |key: &str| fields.text(key).map(|(text, _)| text.to_owned());
    match (text("claim"), text("size")) {
        (Some(claim), None) => Some(Cache::Claim(claim)),
        (None, Some(size)) => Some(Cache::Created {
            size,
            storage_class: text("storage-class"),
            access_mode: text("access-mode").unwrap_or_else(|| "ReadWriteMany".to_owned()),
        }),
        _ => None,
    }
}

/// Returns the LoRA adapters; reports those that cannot be read, and names that are used twice.
pub(super) fn adapters(
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
    served_name: &str,
) -> Vec<Adapter> {
    let mut adapters: Vec<Adapter> = Vec::new();
    let Some((Json::Array(given), range)) = fields.json("adapters") else { return adapters };
    let mut names = BTreeSet::from([served_name.to_owned()]);
    for item in &given {
        let text = |key: &str| item.get(key).and_then(Json::as_str).unwrap_or_default();
        let only = item.as_object().is_some_and(|map| {
            map.keys().all(|key| matches!(key.as_str(), "name" | "source")) && map.len() == 2
        });
        let name = text("name");
        let is_plain = !name.is_empty() && !name.contains(['=', '"', '\'', ',', '\\', ' ']);
        let Some(source) = source(text("source")).filter(|_| only && is_plain) else {
            let message = format!("invalid adapter: {item}");
            let hint = "write `{ name = \"sql\", source = \"hf://ORGANISATION/NAME\" }`, or a source \
                `pvc://CLAIM/FOLDER`";
            reader.error(Code::InvalidValue, &range, message, hint);
            continue;
        };
        if !names.insert(name.to_owned()) {
            let message = format!("the model name `{name}` is used twice");
            let hint = "give each adapter a name that differs from `served-name`";
            reader.error(Code::InvalidValue, &range, message, hint);
        }
        adapters.push(Adapter { name: name.to_owned(), source });
    }
    adapters
}

fn source(text: &str) -> Option<AdapterSource> {
    let (scheme, rest) = text.split_once("://")?;
    let parts: Vec<&str> = rest.split('/').collect();
    let is_safe = !parts.contains(&"..") && !rest.contains([' ', '=', ',', '\'']);
    match (scheme, parts.as_slice()) {
        ("hf", [organisation, name]) if is_safe && !organisation.is_empty() && !name.is_empty() => {
            Some(AdapterSource::HuggingFace(rest.to_owned()))
        }
        ("pvc", [claim, folder @ ..])
            if is_safe && label_fault(claim, NAMESPACE_LIMIT).is_none() =>
        {
            Some(AdapterSource::Claim((*claim).to_owned(), folder.join("/")))
        }
        _ => None,
    }
}

/// Returns the traces.
pub(super) fn tracing(fields: &Fields<'_>) -> Option<Tracing> {
    let (endpoint, _) = fields.text("endpoint")?;
    Some(Tracing {
        endpoint: endpoint.to_owned(),
        percent: fields.integer("percent").unwrap_or(10),
    })
}
