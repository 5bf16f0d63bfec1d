//! Values of charts, and what bundles say of themselves.

use super::*;
use crate::ir::UpgradeEdges;

pub(super) fn chart_values() -> Vec<Sample> {
    let root = |keyword: Json, given: Json| {
        let mut schema = json!({"type": "object"});
        join(&mut schema, keyword);
        with_schema(schema, given)
    };
    let for_kubernetes = |values: Json, version: &str| {
        let kube_version = version.to_owned();
        Of::Chart(ChartFacts { values, kube_version, ..ChartFacts::default() })
    };
    let of = |old: Json, new: Json| [values(old), values(new)];
    let letters = json!({"enum": ["a", "b", "c", "d", "e", "f", "g", "h"]});
    vec![
        pair("a first Kubernetes", [kube(""), kube(">=1.30.0-0")]),
        pair("the same Kubernetes in short", [kube(">=1.25.0-0"), kube(">=1.25")]),
        pair(
            "a Kubernetes like the text of a value",
            [for_kubernetes(json!({"a": ">=1.30.0"}), ""), for_kubernetes(json!({}), ">=1.30.0")],
        ),
        pair(
            "values of each type",
            of(
                json!({"a": true, "b": [1], "c": {"x": 1}, "d": null, "e": 1, "f": "x"}),
                json!({"a": "x", "b": "x", "c": "x", "d": "x", "e": "x", "f": 1}),
            ),
        ),
        pair(
            "a key in another map",
            of(
                json!({"a": {"k": 1, "tag": "x"}, "b": {"k": 1}}),
                json!({"a": {"k": 1}, "b": {"k": 1, "tag": "y"}}),
            ),
        ),
        pair(
            "a map in another order elsewhere",
            of(json!({"a": {"x": 1, "y": 2}}), json!({"b": {"y": 2, "x": 1}})),
        ),
        pair(
            "a bound of all",
            [root(json!({}), json!({})), root(json!({"maxProperties": 1}), json!({}))],
        ),
        pair(
            "a bound of all for given values",
            [root(json!({}), json!({})), root(json!({"maxProperties": 1}), json!({"a": {}}))],
        ),
        schemas("seven values less", letters.clone(), json!({"enum": ["a"]}), json!({})),
        chart("a short text elsewhere", json!({"a": "abc"}), json!({"b": "abc"})),
        chart("a long text elsewhere", json!({"a": "abcd"}), json!({"b": "abcd"})),
        chart("a list elsewhere", json!({"a": [1]}), json!({"b": [1]})),
        chart("an empty list elsewhere", json!({"a": []}), json!({"b": []})),
        chart("a map elsewhere", json!({"a": {"x": 1}}), json!({"b": {"x": 1}})),
        chart("a text at two places", json!({"a": "abcd"}), json!({"b": "abcd", "c": "abcd"})),
        chart(
            "a text that another value gets",
            json!({"a": "abcd", "b": "x"}),
            json!({"b": "abcd"}),
        ),
        chart("a key at another place", json!({"a": {"tag": "x"}}), json!({"b": {"tag": "y"}})),
        chart(
            "a key at two places",
            json!({"a": {"tag": "x"}}),
            json!({"b": {"tag": "y"}, "c": {"tag": "z"}}),
        ),
        chart("an empty text outside of images", json!({"a": "", "b": 1}), json!({"b": 1})),
        chart(
            "a value in a list",
            json!({"a": [{"name": "x", "b": 1}]}),
            json!({"a": [{"name": "x"}]}),
        ),
        schemas("an enum that is new", json!({}), letters, json!({})),
        schemas(
            "an enum that is smaller",
            json!({"enum": ["x", "y", 1]}),
            json!({"enum": ["x"]}),
            json!({}),
        ),
        schemas(
            "an enum for a value that is given",
            json!({}),
            json!({"enum": ["x"]}),
            json!({"a": "x"}),
        ),
        schemas(
            "an enum for a value that is not given",
            json!({}),
            json!({"enum": ["x"]}),
            json!({"b": 1}),
        ),
        schemas(
            "a required value",
            json!({"type": "object"}),
            json!({"type": "object", "required": ["x"], "properties": {"x": {}}}),
            json!({}),
        ),
        schemas(
            "a required value that is given",
            json!({"type": "object"}),
            json!({"type": "object", "required": ["x"], "properties": {"x": {}}}),
            json!({"a": {"x": 1}}),
        ),
        schemas(
            "a required value that is not given",
            json!({"type": "object"}),
            json!({"type": "object", "required": ["x"], "properties": {"x": {}}}),
            json!({"a": {"y": 1}}),
        ),
        schemas(
            "unknown keys",
            json!({"type": "object"}),
            json!({"type": "object", "additionalProperties": false}),
            json!({}),
        ),
        schemas(
            "unknown keys that are given",
            json!({"type": "object"}),
            json!({"type": "object", "additionalProperties": false}),
            json!({"a": {"y": 1}}),
        ),
        schemas(
            "unknown keys, and a known one is given",
            json!({"type": "object", "properties": {"x": {}}}),
            json!({"type": "object", "properties": {"x": {}}, "additionalProperties": false}),
            json!({"a": {"x": 1}}),
        ),
        schemas(
            "unknown keys that are not given",
            json!({"type": "object"}),
            json!({"type": "object", "additionalProperties": false}),
            json!({"b": 1}),
        ),
        pair(
            "unknown values",
            [
                with_schema(json!({"type": "object"}), json!({})),
                with_schema(
                    json!({"type": "object", "additionalProperties": false, "properties": {"a": {}}}),
                    json!({}),
                ),
            ],
        ),
        pair(
            "a first schema",
            [
                with_schema(Json::Null, json!({})),
                with_schema(
                    json!({"type": "object", "properties": {"a": {"type": "object",
                        "required": ["x"], "properties": {"x": {}}}, "b": {"type": "string"}}}),
                    json!({}),
                ),
            ],
        ),
        pair(
            "a schema that is part of itself twice",
            ["integer", "string"].map(|kind| {
                let of = json!({"$ref": "#/definitions/node"});
                let node = json!({"type": "object", "properties":
                    {"left": of, "right": of, "size": {"type": kind}}});
                let schema = json!({"properties": {"a": of}, "definitions": {"node": node}});
                with_schema(schema, json!({}))
            }),
        ),
        schemas(
            "a condition",
            json!({"type": "object"}),
            json!({"type": "object", "if": {"required": ["x"]}, "then": {"required": ["y"]}}),
            json!({}),
        ),
        schemas(
            "a bound in a list",
            json!({"type": "array", "items": {"type": "integer"}}),
            json!({"type": "array", "items": {"type": "integer", "maximum": 3}}),
            json!({"b": 1}),
        ),
    ]
}

pub(super) fn bundles() -> Vec<Sample> {
    let images = |list: Json| BundleFacts { related_images: Some(list), ..BundleFacts::default() };
    let image = |name: &str, image: &str| json!({"name": name, "image": image});
    let minimum = |version: &str| BundleFacts {
        min_kube_version: Some(version.to_owned()),
        ..BundleFacts::default()
    };
    let after = |replaces: &str, skips: &[&str], skip_range: &str| BundleFacts {
        csv: "w.v3".to_owned(),
        edges: UpgradeEdges {
            replaces: replaces.to_owned(),
            skips: skips.iter().map(|skip| (*skip).to_owned()).collect(),
            skip_range: skip_range.to_owned(),
        },
        ..BundleFacts::default()
    };
    let first = || BundleFacts { csv: "w.v1".to_owned(), ..BundleFacts::default() };
    let one = || images(json!([image("a", "r.io/a:1.0.0")]));
    let digest = "r.io/b@sha256:0123456789abcdef0123456789abcdef";
    let watch = |namespaces: &str, modes: &[&str]| BundleFacts {
        watch: Some(namespaces.to_owned()),
        install_modes: Some(modes.iter().map(|mode| (*mode).to_owned()).collect()),
        ..BundleFacts::default()
    };
    vec![
        facts(
            "all namespaces",
            watch("own", &["A"]),
            watch("all", &["A", "B", "C", "D", "E", "F"]),
        ),
        facts("other namespaces", watch("a", &[]), watch("a,b", &[])),
        facts("named namespaces", watch("all", &[]), watch("a", &[])),
        facts(
            "a related image",
            one(),
            images(json!([image("a", "r.io/a:1.0.0"), image("b", digest)])),
        ),
        facts(
            "a related image with a tag",
            one(),
            images(json!([image("a", "r.io/a:1.0.0"), image("b", "r.io/b:2")])),
        ),
        facts(
            "a related image without a tag",
            one(),
            images(json!([image("a", "r.io/a:1.0.0"), image("b", "r.io/b")])),
        ),
        facts("a newer related image", one(), images(json!([image("a", "r.io/a:1.1.0")]))),
        facts("a later Kubernetes", minimum("1.25.0"), minimum("1.26.0")),
        facts("an earlier Kubernetes", minimum("1.26.0"), minimum("1.25.0")),
        facts("Kubernetes with a `v`", minimum("v1.25.0"), minimum("1.25.0")),
        facts("another version is replaced", first(), after("w.v2", &[], "")),
        facts("other versions are skipped", first(), after("", &["w.v2", "w.v0"], "")),
        facts("a range without the version", first(), after("", &[], ">=2.0.0 <3.0.0")),
        facts("another version, and a range", first(), after("w.v2", &["w.v0"], ">=2.0.0 <3.0.0")),
        facts("a range with the version", first(), after("w.v2", &[], ">=v1.0.0 <3.0.0")),
        facts("no edges", first(), after("", &[], "")),
        facts("an unknown version", BundleFacts::default(), after("w.v2", &[], "")),
    ]
}

pub(super) fn packages() -> Vec<Sample> {
    let of = |package: &str, chart: &str| {
        let facts =
            ChartFacts { name: chart.to_owned(), values: json!({}), ..ChartFacts::default() };
        Side { package: package.to_owned(), ..side(Of::Chart(facts)) }
    };
    vec![
        ("another package", [of("widgets", "a"), of("gadgets", "a")]),
        ("another chart of a package", [of("widgets", "a"), of("widgets", "b")]),
        ("another chart, and no package", [of("widgets", "a"), of("", "b")]),
        ("the same chart, and no package", [of("widgets", "a"), of("", "a")]),
    ]
}
