//! Values of charts.

use serde_json::Value as Json;

/// Merges values into defaults, as Helm does.
pub(crate) fn merge(defaults: &mut Json, values: &Json) {
    match (defaults, values) {
        (Json::Object(defaults), Json::Object(values)) => {
            for (key, value) in values {
                merge(defaults.entry(key.clone()).or_insert(Json::Null), value);
            }
        }
        (default, value) => default.clone_from(value),
    }
}
