//! Formats and keywords of schemas that the API server validates, one row for each.

use super::*;

/// Returns the codes of an upgrade that adds a keyword to the schema of a field.
fn added(schema: &Json, keyword: &str, value: &Json) -> Vec<&'static str> {
    let mut new = schema.clone();
    new[keyword] = value.clone();
    codes(field(schema.clone()), field(new))
}

/// Source: `supportedVersionedFormats` of apiextensions-apiserver 0.36.1, which removes dashes before it
/// compares; `password` is in it, and allows any string.
#[test]
fn formats_that_the_api_server_validates_are_breaking() {
    let validated = "bsonobjectid uri email hostname ipv4 ipv6 cidr mac uuid uuid3 uuid4 uuid5 isbn \
        isbn10 isbn13 creditcard ssn hexcolor rgbcolor byte date duration datetime date-time \
        hex-color k8s-short-name k8s-long-name";
    let ignored =
        "password int32 int64 float double binary ip regex DateTime k8s-uuid k8s-label-key";
    for (formats, code) in [(validated, "crd-format-changed"), (ignored, "crd-loosened")] {
        for format in formats.split_whitespace() {
            let codes = added(&json!({"type": "string"}), "format", &json!(format));
            assert_eq!(codes, [code], "{format}");
        }
    }
}

/// Values of an enum are validated by all other keywords, except for CEL rules and formats.
#[test]
fn keywords_that_refuse_no_value_of_an_enum_loosen() {
    let texts = || (json!({"type": "string"}), json!(["a", "b"]));
    let numbers = || (json!({"type": "number"}), json!([1, 2]));
    let between = || (json!({"type": "number", "minimum": 0, "maximum": 3}), json!([1, 2]));
    let short = || json!([{"maxLength": 1}]);
    let (combination, range) = ("crd-combination-narrowed", "crd-range-narrowed");
    // A keyword, values that it allows, one that it refuses, and what that is.
    for (keyword, value, (mut schema, allowed), refused, code) in [
        ("allOf", short(), texts(), json!("cc"), combination),
        ("anyOf", short(), texts(), json!("cc"), combination),
        ("oneOf", short(), texts(), json!("cc"), combination),
        ("not", json!({"minLength": 2}), texts(), json!("cc"), combination),
        ("pattern", json!("^[ab]$"), texts(), json!("cc"), "crd-pattern-added"),
        ("minLength", json!(1), texts(), json!(""), range),
        ("maxLength", json!(1), texts(), json!("cc"), range),
        ("minimum", json!(1), numbers(), json!(0), range),
        ("maximum", json!(2), numbers(), json!(3), range),
        ("multipleOf", json!(1), numbers(), json!(1.5), range),
        ("exclusiveMinimum", json!(true), between(), json!(0), range),
        ("exclusiveMaximum", json!(true), between(), json!(3), range),
    ] {
        assert_eq!(added(&schema, keyword, &value), [code], "{keyword} without an enum");
        schema["enum"] = allowed;
        assert_eq!(added(&schema, keyword, &value), ["crd-loosened"], "{keyword}");
        schema["enum"].as_array_mut().expect("values").push(refused);
        assert_eq!(
            added(&schema, keyword, &value),
            [code],
            "{keyword} and a value that it refuses"
        );
    }
    let (mut schema, allowed) = texts();
    schema["enum"] = allowed;
    assert_eq!(added(&schema, "format", &json!("ipv4")), ["crd-format-changed"]);
}

/// A default that the API server may refuse by what is not evaluated here: it would refuse the CRD.
#[test]
fn defaults_with_formats_or_rules_below_are_risky() {
    let text = || json!({"type": "string"});
    let address = || json!({"type": "string", "format": "ipv4"});
    let rule = || {
        json!({"type": "string", "maxLength": 9,
            "x-kubernetes-validations": [{"rule": "self != ''"}]})
    };
    let places: [fn(Json) -> (Json, Json); 4] = [
        |schema| (schema, json!("1.1.1.1")),
        |schema| (json!({"type": "array", "items": schema}), json!(["1.1.1.1"])),
        |schema| {
            let schema = json!({"type": "object", "additionalProperties": schema});
            (schema, json!({"x": "1.1.1.1"}))
        },
        |schema| {
            let schema = json!({"type": "object", "properties": {"x": schema}});
            (schema, json!({"x": "1.1.1.1"}))
        },
    ];
    for place in places {
        for (inner, code) in [
            (text(), "crd-default-added"),
            (address(), "crd-default-changed"),
            (rule(), "crd-default-changed"),
        ] {
            let (schema, default) = place(inner);
            assert_eq!(added(&schema, "default", &default), [code], "{schema}");
        }
    }
}

/// The API server reads `false` as no such keyword.
#[test]
fn an_integer_or_a_string_needs_the_keyword() {
    let with = |is: Json| field(json!({"x-kubernetes-int-or-string": is}));
    for (old, new, code) in [
        // Without either, the property has no type.
        (json!(true), json!(false), &["crd-type-changed", "object-refused"][..]),
        (json!(false), json!(true), &["crd-type-changed"]),
    ] {
        assert_eq!(codes(with(old), with(new)), code);
    }
}

/// CEL rules: of fields that came, about changes, and all others.
#[test]
fn rules_by_what_they_are_about() {
    let spec = |fields: &[&str], rules: &[&str]| {
        let field = |name: &&str| (name.to_string(), json!({"type": "string"}));
        let fields: serde_json::Map<String, Json> = fields.iter().map(field).collect();
        let rules: Vec<Json> = rules.iter().map(|rule| json!({"rule": rule})).collect();
        let mut spec = json!({"type": "object", "properties": fields});
        if !rules.is_empty() {
            spec["x-kubernetes-validations"] = Json::from(rules);
        }
        schema(spec)
    };
    let kept = ["self.old != 'x'"];
    let transition = "self.old == oldSelf.old";
    let (any, moved) = ("crd-validation-added", "crd-transition-rule-added");
    // Rules of both sides, the code, and a part of the reason.
    for (old, new, code, reason) in [
        (&[][..], &["self.new != ''"][..], "crd-validation-of-new-fields", "new validation"),
        (&[], &["self.gone != ''"], any, "`self.gone != ''`"),
        (&[], &["self.old != ''"], any, "`self.old != ''`"),
        (&[], &[transition], moved, "oldSelf"),
        (&[], &[transition, "self.new != ''"], moved, "`self.new != ''`"),
        (&[], &[transition, "self.old != ''"], any, "oldSelf"),
        (&[], &["1 != 1", "2 != 2", "3 != 3", "4 != 4"], any, "`3 != 3` and 1 more"),
        (&kept, &["self.old  != 'x'"], "crd-loosened", "validation spelled differently"),
        (&kept, &["self.old != ' x'"], any, "`self.old != ' x'`"),
        (&kept, &[], "crd-loosened", "validation removed"),
    ] {
        let found = judged(spec(&["old"], old), spec(&["old", "new"], new));
        let is_it = |found: &String| found.starts_with(code) && found.contains(reason);
        assert!(found.iter().any(is_it), "{new:?} {found:?}");
    }
}
