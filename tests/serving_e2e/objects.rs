//! Kubernetes objects as JSON.

use serde::Deserialize as _;
use serde_json::Value as Json;

/// Parses the documents of a YAML text; empty ones are left out.
pub(crate) fn parse(text: &str) -> Vec<Json> {
    let documents = serde_yaml::Deserializer::from_str(text);
    let objects = documents.map(|document| Json::deserialize(document).expect("YAML"));
    objects.filter(|object| !object.is_null()).collect()
}

/// Writes objects as documents of a YAML text.
pub(crate) fn to_yaml(objects: &[Json]) -> String {
    objects.iter().map(|object| format!("---\n{object}\n")).collect()
}

/// Returns `metadata.name`.
pub(crate) fn name(object: &Json) -> &str {
    object["metadata"]["name"].as_str().expect("a name")
}

/// Returns a label; empty if the object does not have it.
pub(crate) fn label<'a>(object: &'a Json, key: &str) -> &'a str {
    object["metadata"]["labels"][key].as_str().unwrap_or_default()
}

/// Returns true if the object has all labels of `matchLabels`, and there is one at least.
pub(crate) fn is_selected(object: &Json, match_labels: &Json) -> bool {
    let Some(labels) = match_labels.as_object() else { return false };
    !labels.is_empty() && labels.iter().all(|(key, value)| value == label(object, key))
}

/// Returns true if a pod is Ready and is not being deleted.
pub(crate) fn is_ready(pod: &Json) -> bool {
    let conditions = pod["status"]["conditions"].as_array();
    let ready = conditions.is_some_and(|conditions| {
        conditions.iter().any(|c| c["type"] == "Ready" && c["status"] == "True")
    });
    ready && pod["metadata"]["deletionTimestamp"].is_null()
}

/// Returns the items of a list at a JSON pointer; none if there is no list.
pub(crate) fn items<'a>(object: &'a Json, pointer: &str) -> impl Iterator<Item = &'a Json> {
    object.pointer(pointer).and_then(Json::as_array).into_iter().flatten()
}

/// Returns the containers of a pod that go on running, sidecars first.
pub(crate) fn containers(pod: &Json) -> impl Iterator<Item = &Json> {
    let sidecars = items(pod, "/spec/initContainers").filter(|c| c["restartPolicy"] == "Always");
    sidecars.chain(items(pod, "/spec/containers"))
}

/// Returns true if a value has all fields of another one, with their values.
#[allow(dead_code, reason = "for tests/operators_at_work")]
pub(crate) fn contains(value: &Json, fields: &Json) -> bool {
    match (value, fields) {
        (Json::Object(value), Json::Object(fields)) => fields
            .iter()
            .all(|(key, field)| value.get(key).is_some_and(|value| contains(value, field))),
        _ => value == fields,
    }
}
