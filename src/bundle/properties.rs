//! `metadata/properties.yaml`: what a bundle says about itself to resolvers, and to its pods
//! through an annotation.

use crate::diag::{Code, Diagnostic, Diagnostics, Place};
use crate::ir::{Map, Object, Release, Value};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;

const ANNOTATION: &str = "olm.properties";

/// Adds the properties of the file to the annotation `olm.properties` of the CSV, a JSON list of
/// `{type, value}`: those that the annotation has come first. Nothing changes when the file has
/// none.
///
/// OLM: operator-controller, bundle source.
pub(super) fn annotate(
    csv: &mut Object,
    file: &Value,
    place: &Place,
    diagnostics: &mut Diagnostics,
) {
    let listed = match file.get("properties") {
        None | Some(Value::Null) => return,
        Some(Value::Seq(items)) => items,
        Some(other) => {
            let message = format!("`properties` must be a list, but it is {}", other.type_name());
            diagnostics.push(invalid(message, place.clone().path(".properties")));
            return;
        }
    };
    let mut added = Vec::new();
    for (index, item) in listed.iter().enumerate() {
        match item.get("type").and_then(Value::as_str) {
            Some(kind) => {
                let release = Release { namespace: "", values: &Json::Null };
                let value = item.get("value").map_or(Json::Null, |value| release.value(value));
                added.push(json!({"type": kind, "value": sorted(value)}));
            }
            None => diagnostics.push(invalid(
                "a property has no text `type`".to_owned(),
                place.clone().path(format!(".properties[{index}]")),
            )),
        }
    }
    if added.is_empty() {
        return;
    }
    let own = csv.at(&["metadata", "annotations", ANNOTATION]).and_then(Value::as_str);
    let mut properties = match own.map(serde_json::from_str::<Json>) {
        None | Some(Ok(Json::Null)) => Vec::new(),
        Some(Ok(Json::Array(items))) => items,
        Some(_) => {
            diagnostics.push(invalid(
                format!("the annotation `{ANNOTATION}` is not a JSON list"),
                csv.place().path(format!(".metadata.annotations[{ANNOTATION:?}]")),
            ));
            return;
        }
    };
    properties.append(&mut added);
    let annotations = csv.metadata_mut().entry("annotations".to_owned()).or_insert(Value::Null);
    if annotations.is_null() {
        *annotations = Value::from(Map::new());
    }
    if let Some(annotations) = annotations.as_map_mut() {
        annotations.insert(ANNOTATION.to_owned(), Value::text(Json::from(properties).to_string()));
    }
}

/// The keys in alphabetical order, as Kubernetes' reader has them.
fn sorted(value: Json) -> Json {
    match value {
        Json::Array(items) => items.into_iter().map(sorted).collect(),
        Json::Object(map) => {
            let map: BTreeMap<String, Json> = map.into_iter().collect();
            map.into_iter().map(|(key, value)| (key, sorted(value))).collect()
        }
        other => other,
    }
}

fn invalid(message: String, place: Place) -> Diagnostic {
    Diagnostic::error(Code::PropertiesInvalid, message)
        .at(place)
        .hint("properties are a list of entries with `type` and `value`; OLM refuses this as well")
}
