//! Validation of values against `values.schema.json` of a chart, as Helm does it.

use super::{ChartFacts, Side};
use crate::diag::suggest;
use crate::read::entries;
use serde_json::{Map, Value as Json};

/// Maximum number of rejected values in a message.
const MOST: usize = 20;

/// The schema that allows any value.
pub(super) static OPEN: Json = Json::Bool(true);

/// Maximum number of `$ref` to follow within the schema.
const MOST_REFERENCES: usize = 20;

/// Returns a schema, or the one that it refers to.
pub(super) fn resolved<'s>(root: &'s Json, schema: &'s Json) -> &'s Json {
    let mut schema = schema;
    // References may form a cycle.
    for _ in 0..MOST_REFERENCES {
        let pointer = schema.get("$ref").and_then(Json::as_str).and_then(|r| r.strip_prefix('#'));
        match pointer.and_then(|pointer| root.pointer(pointer)) {
            Some(found) => schema = found,
            None => break,
        }
    }
    schema
}

/// Returns the types that the keyword `type` names, one or a list.
pub(super) fn types(keyword: &Json) -> Vec<&str> {
    let list = keyword.as_array().map_or(std::slice::from_ref(keyword), Vec::as_slice);
    list.iter().filter_map(Json::as_str).collect()
}

/// Returns the type of a value that is not null.
pub(super) fn type_of(value: &Json) -> &'static str {
    match value {
        Json::Bool(_) => "boolean",
        Json::Number(number) if number.is_f64() => "number",
        Json::Number(_) => "integer",
        Json::String(_) => "string",
        Json::Array(_) => "array",
        _ => "object",
    }
}

/// Returns the schema for a key of a map with this schema; `None` if the key is rejected or ignored.
pub(super) fn next<'s>(schema: &'s Json, key: &str) -> Option<&'s Json> {
    let properties = schema.get("properties").filter(|properties| properties.is_object());
    let property = properties.and_then(|properties| properties.get(key));
    property.or_else(|| match schema.get("additionalProperties") {
        // A schema without properties allows any key.
        None => properties.is_none().then_some(&OPEN),
        others => others.filter(|others| **others != Json::Bool(false)),
    })
}

/// Returns true if a chart accepts a value without a default, such as one of several limits. Without
/// a schema, only values below an empty map are accepted.
pub(super) fn accepts(chart: &ChartFacts, keys: &[&str]) -> bool {
    if chart.schema.is_object() {
        let below = |schema, key: &&str| next(resolved(&chart.schema, schema), key);
        return keys.iter().try_fold(&chart.schema, below).is_some();
    }
    // Without a schema, the default values are all that is known about the keys.
    let mut value = &chart.values;
    for key in keys {
        match value.get(key) {
            Some(below) => value = below,
            None => return value.as_object().is_some_and(Map::is_empty) && *value != chart.values,
        }
    }
    true
}

/// Returns the values given by the user that Helm rejects for this chart, each with the reason.
pub fn refused(side: &Side) -> Vec<String> {
    let mut found = Vec::new();
    if let Some(chart) = side.chart.as_ref().filter(|chart| chart.schema.is_object()) {
        look(&chart.schema, &chart.schema, &chart.given, "", &mut found);
    }
    let more = found.len().saturating_sub(MOST);
    found.truncate(MOST);
    if more > 0 {
        found.push(format!("{more} more"));
    }
    found
}

/// Collects the values below `value` that its schema rejects.
fn look(root: &Json, schema: &Json, value: &Json, path: &str, found: &mut Vec<String>) {
    let schema = resolved(root, schema);
    // Null removes a default.
    if value.is_null() {
        return;
    }
    let kinds = schema.get("type").map(types).unwrap_or_default();
    let kind = type_of(value);
    // Every integer is a number in JSON schema.
    let fits = |wanted: &&str| *wanted == kind || (*wanted == "number" && kind == "integer");
    if !kinds.is_empty() && !kinds.iter().any(fits) {
        found.push(format!("`{path}` must be {}, not {kind}", kinds.join(" or ")));
        return;
    }
    match value {
        Json::Object(map) => {
            for (key, value) in map {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                if let Some(schema) = next(schema, key) {
                    look(root, schema, value, &path, found);
                } else if schema.get("additionalProperties") == Some(&Json::Bool(false)) {
                    // Suggestions only for values that are shown.
                    let near = (found.len() < MOST).then(|| nearest(schema, key)).flatten();
                    let near = near.map(|near| format!("; did you mean `{near}`?"));
                    found.push(format!("unknown value `{path}`{}", near.unwrap_or_default()));
                }
            }
        }
        Json::Array(items) => {
            if let Some(schema) = schema.get("items").filter(|items| items.is_object()) {
                for (index, item) in items.iter().enumerate() {
                    look(root, schema, item, &format!("{path}[{index}]"), found);
                }
            }
        }
        _ => {}
    }
}

/// Returns the property of a schema that is most similar to an unknown key.
fn nearest<'s>(schema: &'s Json, key: &str) -> Option<&'s str> {
    let known = entries(schema, &["properties"]).map(|(key, _)| key.as_str());
    suggest::nearest(key, &known.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::{accepts, refused};
    use crate::{ChartFacts, Side};
    use serde_json::{Value as Json, json};

    fn chart(given: Json) -> ChartFacts {
        let schema = json!({"type": "object", "additionalProperties": false, "properties": {
            "replicas": {"type": "integer"},
            "resources": {"$ref": "#/definitions/resources"},
            "labels": {"type": "object", "additionalProperties": {"type": "string"}},
            "open": {"type": "object", "properties": {"a": {}}},
            "list": {"type": "array", "items": {"type": "string"}}},
            "definitions": {"resources": {"type": "object", "additionalProperties": false,
                "properties": {"limits": {"type": "object"}}}}});
        ChartFacts { schema, given, ..ChartFacts::default() }
    }

    #[test]
    fn what_a_chart_takes() {
        let schema = chart(json!({}));
        let bare =
            ChartFacts { values: json!({"resources": {}, "a": {"b": 1}}), ..ChartFacts::default() };
        for (chart, path, expected) in [
            (&schema, "resources.limits.cpu", true),
            (&schema, "resources.claims", false),
            (&schema, "labels.app", true),
            (&schema, "gone", false),
            (&schema, "open.a", true),
            (&schema, "open.b", false),
            (&bare, "resources.limits.cpu", true),
            (&bare, "a.c", false),
            (&bare, "gone", false),
            (&ChartFacts { values: json!({}), ..ChartFacts::default() }, "gone", false),
        ] {
            let keys: Vec<&str> = path.split('.').collect();
            assert_eq!(accepts(chart, &keys), expected, "{path}");
        }
    }

    #[test]
    fn what_helm_refuses() {
        let of = |given: Json| refused(&Side::new("x", [], "ns", Some(chart(given))));
        for fine in [
            json!({}),
            json!({"replicas": 2, "resources": {"limits": {"cpu": 1}}, "labels": {"a": "b"}}),
            json!({"replicas": null, "open": {"b": 1}, "list": ["a"]}),
        ] {
            assert_eq!(of(fine.clone()), [""; 0], "{fine}");
        }
        assert_eq!(
            of(json!({"replica": 2, "replicas": "2", "resources": {"cpu": 1}, "labels": {"a": 1},
                "list": [1]})),
            [
                "unknown value `replica`; did you mean `replicas`?",
                "`replicas` must be integer, not string",
                "unknown value `resources.cpu`",
                "`labels.a` must be string, not integer",
                "`list[0]` must be string, not integer",
            ]
        );
    }
}
