//! The JSON schema of `bundles.toml`, for editors.

use super::forms::NAMESPACE;
use super::tables::root::Root;
use super::*;
use serde_json::{Map, Value, json};

/// Returns the schema (draft-07) of `bundles.toml`, from the same table of keys that the reader
/// has.
///
/// It is a little looser than the reader: rules across tables, filters and `chart-version` in
/// full are checked only there.
pub fn json_schema() -> Value {
    // With `$schema` first, as readers of schemas expect it.
    let mut schema = json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "bundles.toml of bundle2chart",
    });
    if let (Value::Object(schema), Value::Object(rest)) = (&mut schema, table(Root::table())) {
        schema.extend(rest);
    }
    schema
}

fn table(table: &Table) -> Value {
    let mut properties = Map::new();
    for key in &table.keys {
        let mut property = kind(key.kind);
        if let Value::Object(property) = &mut property {
            // Tables have their own descriptions.
            property.entry("description").or_insert_with(|| key.doc.into());
        }
        properties.insert(key.name.clone(), property);
    }
    let required: Vec<&str> =
        table.keys.iter().filter(|key| key.required).map(|key| key.name.as_str()).collect();
    let mut schema = json!({
        "description": table.doc,
        "type": "object",
        "additionalProperties": false,
        "properties": properties,
    });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    let needs: Map<String, Value> = table
        .keys
        .iter()
        .filter(|key| !key.needs.is_empty())
        .map(|key| (key.name.clone(), json!(key.needs)))
        .collect();
    if !needs.is_empty() {
        // The keyword of draft-07; `dependentRequired` came with draft 2019-09.
        schema["dependencies"] = Value::Object(needs);
    }
    if !table.exactly_one_of.is_empty() {
        let choices = table.exactly_one_of.iter().map(|name| json!({ "required": [name] }));
        schema["oneOf"] = choices.collect();
    }
    schema
}

fn string(pattern: Option<&str>) -> Value {
    match pattern {
        Some(pattern) => json!({ "type": "string", "pattern": pattern }),
        None => json!({ "type": "string", "minLength": 1 }),
    }
}

fn kind(kind: Kind) -> Value {
    match kind {
        Kind::Boolean => json!({ "type": "boolean" }),
        Kind::Integer(least, most) => {
            json!({ "type": "integer", "minimum": least, "maximum": most })
        }
        Kind::String(pattern) => string(pattern),
        Kind::OneOf(values) => json!({ "enum": values }),
        Kind::Filters => json!({ "type": "array", "items": string(None) }),
        Kind::StringOrFalse(pattern) => {
            json!({ "anyOf": [string(Some(pattern)), { "const": false }] })
        }
        Kind::Switch(pattern) => {
            json!({ "anyOf": [string(Some(pattern)), { "type": "boolean" }] })
        }
        Kind::Watch => json!({
            "anyOf": [
                { "enum": ["all", "own"] },
                {
                    "type": "array",
                    "items": string(Some(NAMESPACE)),
                    "minItems": 1,
                    "uniqueItems": true,
                },
            ],
        }),
        Kind::Object => json!({ "type": "object" }),
        Kind::TextOrObject => json!({ "anyOf": [string(None), { "type": "object" }] }),
        Kind::Table(inner) => table(inner()),
        Kind::List(Kind::Table(inner)) => {
            json!({ "type": "array", "items": table(inner()), "minItems": 1 })
        }
        Kind::List(item) => json!({ "type": "array", "items": self::kind(*item) }),
        Kind::Map(item) => {
            json!({ "type": "object", "additionalProperties": self::kind(*item) })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every key of the tables is in the schema, and nothing else.
    fn covered(table: &Table, schema: &Value) {
        let properties = schema["properties"].as_object().unwrap();
        let names: Vec<&str> = properties.keys().map(String::as_str).collect();
        let keys: Vec<&str> = table.keys.iter().map(|key| key.name.as_str()).collect();
        assert_eq!(names, keys);
        assert_eq!(schema["additionalProperties"], false);
        for key in &table.keys {
            let property = &properties[&key.name];
            assert!(property["description"].as_str().is_some_and(|text| text.len() > 10));
            match key.kind {
                Kind::Table(inner) => covered(inner(), property),
                Kind::List(Kind::Table(inner)) => covered(inner(), &property["items"]),
                _ => {}
            }
        }
    }

    #[test]
    fn the_schema_follows_the_tables() {
        let schema = json_schema();
        covered(Root::table(), &schema);
        assert_eq!(schema["$schema"], "http://json-schema.org/draft-07/schema#");
        let bundle = &schema["properties"]["bundle"]["items"];
        assert_eq!(bundle["required"], json!(["name"]));
        let sources = ["image", "path", "catalog"].map(|key| json!({ "required": [key] }));
        assert_eq!(bundle["oneOf"], json!(sources));
        assert_eq!(bundle["dependencies"]["version"], json!(["catalog"]));
    }

    #[test]
    fn defaults_are_keys_of_bundles_too() {
        use super::super::tables::{bundle::BundleConfig, settings::Defaults};
        for key in &Defaults::table().keys {
            let own = BundleConfig::table().key(&key.name).unwrap();
            assert_eq!(kind(own.kind), kind(key.kind), "{}", key.name);
        }
    }

    #[test]
    fn patterns_agree_with_the_reader() {
        use super::super::Config;
        use crate::diag::{Diagnostics, SourceText};
        use std::path::Path;
        use std::sync::Arc;

        let matches = |table: &Table, key: &str, value: &str| {
            let pattern = table.key(key).and_then(|key| match key.kind {
                Kind::String(pattern) => pattern,
                Kind::StringOrFalse(pattern) => Some(pattern),
                _ => None,
            });
            // These regular expressions are close enough to those of ECMA 262.
            regex::Regex::new(pattern.unwrap()).unwrap().is_match(value)
        };
        let accepts = |key: &str, value: &str| {
            let by_schema = matches(super::super::BundleConfig::table(), key, value);
            let name = if key == "name" { value } else { "a" };
            let source = if key == "image" { "" } else { "path = 'a'\n" };
            let other = if key == "name" { String::new() } else { format!("{key} = '{value}'\n") };
            let text = format!("[[bundle]]\nname = '{name}'\n{source}{other}");
            let source = Arc::new(SourceText { name: "bundles.toml".to_owned(), text });
            let by_reader =
                Config::parse(&source, Path::new("."), &mut Diagnostics::new()).is_some();
            assert_eq!(by_schema, by_reader, "{key} = {value}");
            by_schema
        };
        for key in ["name", "namespace"] {
            for good in ["a", "a-b", "0a9"] {
                assert!(accepts(key, good));
            }
            for bad in ["", "A", "a_b", "-a", "a-", "a.b", "a b", "é"] {
                assert!(!accepts(key, bad));
            }
        }
        assert!(accepts("name", &"a".repeat(53)) && !accepts("name", &"a".repeat(54)));
        assert!(accepts("namespace", &"a".repeat(63)) && !accepts("namespace", &"a".repeat(64)));
        assert!(accepts("pull-secret", "a.b-c") && !accepts("pull-secret", "a..b"));
        assert!(accepts("chart-version", "1.2.3-rc.1") && !accepts("chart-version", "v1.2.3"));
        assert!(!accepts("chart-version", "1.2") && !accepts("chart-version", "01.2.3"));
        assert!(accepts("image", "quay.io/a/b@sha256:0") && !accepts("image", "/a"));
        // The reader's limit is that of labels (`config/tables/switch`).
        let is_switch = |name: &str| matches(super::super::Switch::table(), "name", name);
        assert!(is_switch(&"a".repeat(63)) && !is_switch(&"a".repeat(64)));
    }
}
