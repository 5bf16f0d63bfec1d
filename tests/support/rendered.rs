//! Helm's output, read by an independent reader and compared as data with the expectation.

#![allow(dead_code, reason = "each test program uses a part")]

use serde::Deserialize as _;
use serde_json::Value as Json;
use std::collections::BTreeMap;

/// The documents of a YAML text that are not empty.
///
/// # Panics
/// When the text is not YAML.
pub(crate) fn documents(text: &str) -> Vec<Json> {
    serde_yaml::Deserializer::from_str(text)
        .map(|document| Json::deserialize(document).unwrap_or_else(|e| panic!("{e} in\n{text}")))
        .filter(|document| !document.is_null())
        .collect()
}

/// Every difference between two sets of objects, with its place; none when they are the same
/// objects with the same data. The order of objects and of keys does not matter.
pub(crate) fn object_differences(expected: &[Json], found: &[Json]) -> Vec<String> {
    let mut differences = Vec::new();
    let mut found = by_identity(found, &mut differences);
    for (identity, expected) in by_identity(expected, &mut differences) {
        match found.remove(&identity) {
            Some(found) => compare(&identity, expected, found, &mut differences),
            None => differences.push(format!("{identity}: missing")),
        }
    }
    differences.extend(found.keys().map(|identity| format!("{identity}: not expected")));
    differences
}

/// Every difference between two trees, with its place. Numbers are compared by value.
pub(crate) fn differences(expected: &Json, found: &Json) -> Vec<String> {
    let mut differences = Vec::new();
    compare("", expected, found, &mut differences);
    differences
}

fn by_identity<'a>(
    objects: &'a [Json],
    differences: &mut Vec<String>,
) -> BTreeMap<String, &'a Json> {
    let mut map = BTreeMap::new();
    for object in objects {
        let text = |pointer: &str| object.pointer(pointer).and_then(Json::as_str).unwrap_or("");
        let identity = ["/apiVersion", "/kind", "/metadata/namespace", "/metadata/name"];
        let identity = identity.map(text).join(" ");
        if map.insert(identity.clone(), object).is_some() {
            differences.push(format!("{identity}: there twice"));
        }
    }
    map
}

fn compare(place: &str, expected: &Json, found: &Json, differences: &mut Vec<String>) {
    match (expected, found) {
        (Json::Object(expected), Json::Object(found)) => {
            for (key, value) in expected {
                match found.get(key) {
                    Some(other) => compare(&format!("{place}.{key}"), value, other, differences),
                    None => differences.push(format!("{place}: lost the key {key:?}")),
                }
            }
            for key in found.keys().filter(|key| !expected.contains_key(*key)) {
                differences.push(format!("{place}: gained the key {key:?}"));
            }
        }
        (Json::Array(expected), Json::Array(found)) => {
            if expected.len() != found.len() {
                let (before, after) = (expected.len(), found.len());
                differences.push(format!("{place}: {before} items became {after}"));
            }
            for (index, (expected, found)) in expected.iter().zip(found).enumerate() {
                compare(&format!("{place}[{index}]"), expected, found, differences);
            }
        }
        (Json::Number(one), Json::Number(other)) if same_number(one, other) => {}
        _ if expected == found => {}
        _ => differences.push(format!("{place}: {expected} became {found}")),
    }
}

/// Equal integers, or equal floats; an integral float and that integer are the same number.
fn same_number(one: &serde_json::Number, other: &serde_json::Number) -> bool {
    one == other || (one.is_f64() || other.is_f64()) && one.as_f64() == other.as_f64()
}
