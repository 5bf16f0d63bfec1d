//! CRD schemas that fit their type, recognised without deserializing them.
//!
//! A deserialized JSONSchemaProps has room for every field, and a large CRD has thousands of them.
//! Nearly all schemas are written by controller-gen: known fields with values of the right types. One
//! walk recognises these; all others go to [`super::typed`], which reports what is wrong.

use crate::ir::{Number, Value};

/// Returns true if `schema` has only fields of a JSONSchemaProps with values of the right types, so
/// that [`super::check_object`] finds nothing in it. May return false for valid schemas, for
/// example one with a null.
pub fn is_plain_schema(schema: &Value) -> bool {
    let Some(fields) = schema.as_map() else { return false };
    // The fields of apiextensions.k8s.io/v1 JSONSchemaProps, by the type of their values.
    fields.iter().all(|(field, value)| match field.as_str() {
        "$ref"
        | "$schema"
        | "description"
        | "format"
        | "id"
        | "pattern"
        | "title"
        | "type"
        | "x-kubernetes-list-type"
        | "x-kubernetes-map-type" => is_text(value),
        "exclusiveMaximum"
        | "exclusiveMinimum"
        | "nullable"
        | "uniqueItems"
        | "x-kubernetes-embedded-resource"
        | "x-kubernetes-int-or-string"
        | "x-kubernetes-preserve-unknown-fields" => is_bool(value),
        "maxItems" | "maxLength" | "maxProperties" | "minItems" | "minLength" | "minProperties" => {
            matches!(value, Value::Number(Number::Int(_)))
        }
        "maximum" | "minimum" | "multipleOf" => matches!(value, Value::Number(_)),
        "required" | "x-kubernetes-list-map-keys" => is_list(value, is_text),
        "properties" | "patternProperties" | "definitions" => {
            value.as_map().is_some_and(|schemas| schemas.values().all(is_plain_schema))
        }
        "allOf" | "anyOf" | "oneOf" => is_list(value, is_plain_schema),
        "not" => is_plain_schema(value),
        "items" => is_plain_schema(value) || is_list(value, is_plain_schema),
        "additionalItems" | "additionalProperties" => is_bool(value) || is_plain_schema(value),
        // Free-form JSON.
        "default" | "example" => true,
        "enum" => value.as_seq().is_some(),
        "x-kubernetes-validations" => is_list(value, is_plain_rule),
        _ => false,
    })
}

/// Returns true if `rule` has only fields of a ValidationRule, each with a value of its type.
fn is_plain_rule(rule: &Value) -> bool {
    let Some(fields) = rule.as_map() else { return false };
    // Required, and not empty.
    let has_rule = fields.get("rule").and_then(Value::as_str).is_some_and(|rule| !rule.is_empty());
    has_rule
        && fields.iter().all(|(field, value)| match field.as_str() {
            "fieldPath" | "message" | "messageExpression" | "reason" | "rule" => is_text(value),
            "optionalOldSelf" => is_bool(value),
            _ => false,
        })
}

fn is_list(value: &Value, is_item: fn(&Value) -> bool) -> bool {
    value.as_seq().is_some_and(|items| items.iter().all(is_item))
}

fn is_text(value: &Value) -> bool {
    matches!(value, Value::Text(_))
}

fn is_bool(value: &Value) -> bool {
    matches!(value, Value::Bool(_))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{TypeCheck, check_object};
    use proptest::prelude::*;
    use proptest::sample::select;
    use serde_json::{Value as Json, json};

    /// All fields that a plain schema may have, and some that it may not.
    const FIELDS: [&str; 50] = [
        "$ref",
        "$schema",
        "additionalItems",
        "additionalProperties",
        "allOf",
        "anyOf",
        "default",
        "definitions",
        "dependencies",
        "description",
        "enum",
        "example",
        "exclusiveMaximum",
        "exclusiveMinimum",
        "externalDocs",
        "format",
        "id",
        "items",
        "maxItems",
        "maxLength",
        "maxProperties",
        "maximum",
        "minItems",
        "minLength",
        "minProperties",
        "minimum",
        "multipleOf",
        "not",
        "nullable",
        "oneOf",
        "pattern",
        "patternProperties",
        "properties",
        "required",
        "title",
        "type",
        "uniqueItems",
        "x-kubernetes-embedded-resource",
        "x-kubernetes-int-or-string",
        "x-kubernetes-list-map-keys",
        "x-kubernetes-list-type",
        "x-kubernetes-map-type",
        "x-kubernetes-preserve-unknown-fields",
        "x-kubernetes-validations",
        "x-vendor",
        "rule",
        "message",
        "optionalOldSelf",
        "const",
        "Type",
    ];

    fn checked(schema: &Json) -> TypeCheck {
        check_object(json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "lamps.example.com"},
            "spec": {
                "group": "example.com", "names": {"kind": "Lamp", "plural": "lamps"},
                "scope": "Namespaced",
                "versions": [{
                    "name": "v1", "served": true, "storage": true,
                    "schema": {"openAPIV3Schema": schema},
                }],
            },
        }))
    }

    fn any_value() -> impl Strategy<Value = Json> {
        let leaf = prop_oneof![
            Just(Json::Null),
            any::<bool>().prop_map(Json::from),
            any::<i64>().prop_map(Json::from),
            any::<u64>().prop_map(Json::from),
            (-9.5..9.5).prop_map(|float: f64| json!(float)),
            "[a-z]{0,3}".prop_map(Json::from),
        ];
        leaf.prop_recursive(5, 40, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Json::from),
                prop::collection::vec((select(&FIELDS[..]), inner), 0..4).prop_map(|entries| {
                    entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
                }),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4096))]

        #[test]
        fn nothing_is_found_in_a_plain_schema(
            entries in prop::collection::vec((select(&FIELDS[..]), any_value()), 0..3)
        ) {
            let schema: Json = entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
            if is_plain_schema(&Value::from(&schema)) {
                prop_assert_eq!(checked(&schema), TypeCheck::default(), "{}", schema);
            }
        }
    }

    #[test]
    fn fields_of_a_schema_are_plain_with_their_types() {
        let string = json!({"type": "string"});
        let mut plain = 0;
        for field in FIELDS {
            let fitting = [
                json!("text"),
                json!(true),
                json!(1),
                json!([]),
                string.clone(),
                json!({"a": string}),
            ];
            for value in fitting {
                let schema = json!({field: value});
                if is_plain_schema(&Value::from(&schema)) {
                    assert_eq!(checked(&schema), TypeCheck::default(), "{schema}");
                    plain += 1;
                }
            }
        }
        // Of each text, number and boolean one, and as many of the others as have a type here.
        assert_eq!(plain, 55);
    }

    #[test]
    fn validation_rules_are_plain_without_unknown_fields() {
        for (rule, is_plain) in [
            (json!({"rule": "self > 0", "message": "too low"}), true),
            (json!({"message": "too low"}), false),
            (json!({"rule": "", "message": "too low"}), false),
            (json!({"rule": "self > 0", "rules": "self > 0"}), false),
            (json!({"rule": true}), false),
            (json!("self > 0"), false),
        ] {
            let schema = json!({"x-kubernetes-validations": [rule]});
            assert_eq!(is_plain_schema(&Value::from(&schema)), is_plain, "{rule}");
            assert_eq!(checked(&schema) == TypeCheck::default(), is_plain, "{rule}");
        }
    }

    #[test]
    fn schemas_as_controller_gen_writes_them_are_plain() {
        let schema = json!({
            "description": "A lamp.", "type": "object", "required": ["spec"],
            "properties": {
                "spec": {
                    "type": "object", "x-kubernetes-map-type": "atomic",
                    "properties": {
                        "watts": {"type": "integer", "format": "int32", "minimum": 0, "maximum": 1.5, "default": 1},
                        "port": {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": true},
                        "shades": {
                            "type": "array", "maxItems": 3, "x-kubernetes-list-type": "map",
                            "x-kubernetes-list-map-keys": ["name"],
                            "items": {"type": "object", "properties": {"name": {"type": "string", "enum": ["a", null]}}},
                        },
                        "labels": {"type": "object", "additionalProperties": {"type": "string", "nullable": true}},
                        "open": {"type": "object", "additionalProperties": true, "example": {"any": [null]}},
                    },
                    "x-kubernetes-validations": [{"rule": "self.watts > 0", "message": "dark", "optionalOldSelf": true}],
                },
            },
        });
        assert!(is_plain_schema(&Value::from(&schema)));
        assert_eq!(checked(&schema), TypeCheck::default());
    }
}
