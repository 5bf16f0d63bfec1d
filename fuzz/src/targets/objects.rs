//! Values of YAML as JSON, and their comparison.

use bundle2chart::ir::{Release, Value};
use serde_json::Value as Json;

/// Returns the values as JSON, without values of a release.
pub fn json(values: &[Value]) -> Vec<Json> {
    let release = Release { namespace: "", values: &Json::Null };
    values.iter().map(|value| release.value(value)).collect()
}

/// Parses YAML that this program wrote.
///
/// # Panics
/// When it is invalid, which is a finding.
pub fn own_yaml(text: &str) -> Vec<Json> {
    match bundle2chart::yaml::parse(text) {
        Ok(values) => json(&values),
        Err(error) => panic!("we wrote invalid YAML: {error}\n{text}"),
    }
}

/// Returns true if two trees are the same to an API server, which does not distinguish `1` and
/// `1.0`, nor the order of keys.
pub fn is_same(one: &Json, other: &Json) -> bool {
    match (one, other) {
        (Json::Object(one), Json::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(key, value)| other.get(key).is_some_and(|o| is_same(value, o)))
        }
        (Json::Array(one), Json::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(a, b)| is_same(a, b))
        }
        (Json::Number(one), Json::Number(other)) => one == other || one.as_f64() == other.as_f64(),
        _ => one == other,
    }
}
