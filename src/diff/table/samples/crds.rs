//! Names and schemas of CRDs.

use super::*;

pub(super) fn crd_fields() -> Vec<Sample> {
    let names = |names: Json| one(crd(json!({"names": names})));
    let converted = |path: &str| {
        let service = json!({"name": "s", "namespace": "ns", "path": path});
        let webhook = json!({"clientConfig": {"service": service}});
        let schema = || json!({"type": "object"});
        one(crd(json!({
            "conversion": {"strategy": "Webhook", "webhook": webhook},
            "versions": [version("v1", schema()), version("v2", schema())],
        })))
    };
    let spec = |properties: Json| schema(json!({"type": "object", "properties": properties}));
    let text = || json!({"type": "string"});
    let pattern = |pattern: &str, length: Option<u64>| {
        let mut text = json!({"type": "string", "pattern": pattern});
        if let Some(length) = length {
            text["maxLength"] = json!(length);
        }
        text
    };
    let label = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$";
    let key = "^[-._a-zA-Z0-9]+$";
    let reference =
        |field: &str, inner: Json| json!({field: {"type": "object", "properties": inner}});
    let combined = |list: Json| json!({"a": {"anyOf": list}});
    let long = |length: u64| json!({"type": "string", "minLength": 1, "maxLength": length});
    let text_default = || field(json!({"type": "string", "default": 1}));
    let with_default = |x: &str, y: &str| {
        json!({"type": "object", "default": {"x": "1", "y": "1"},
            "properties": {"x": {"type": x}, "y": {"type": y}}})
    };
    let preserving = |has_field: bool| {
        let properties =
            if has_field { json!({"a": {"type": "string"}, "b": {}}) } else { json!({"b": {}}) };
        schema(json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true,
            "properties": properties}))
    };
    let refusing = json!({"type": "object", "properties": {
        "spec": {"type": "object", "properties": {"a": {"type": "string", "default": 1}}}}});
    let with = |fields: Json| {
        let mut version = version("v1", json!({"type": "object"}));
        join(&mut version, fields);
        version
    };
    let list = |schema: Json| field(json!({"type": "array", "items": schema}));
    let map = |schema: Json| field(json!({"type": "object", "additionalProperties": schema}));
    let served =
        ["v1", "v2", "v3", "v4", "v5"].map(|name| version(name, json!({"type": "object"})));
    let two = |spec: Json| {
        let mut spec = spec;
        spec["versions"] = json!(served[..2]);
        one(crd(spec))
    };
    let root = |rest: Json| {
        let mut root = json!({"type": "object", "properties": {"spec": {"type": "object"}}});
        join(&mut root, rest);
        versions(&[version("v1", root)])
    };
    let metadata = |names: Json| {
        root(json!({"properties": {"metadata": {"type": "object", "properties": names}}}))
    };
    let any_metadata = || root(json!({"properties": {"metadata": {"type": "object"}}}));
    let short = || json!({"name": {"type": "string", "maxLength": 63}});
    let types = || json!({"apiVersion": {"type": "string"}, "kind": {"type": "string"}});
    let ruled = |rule: &str, properties: Json| {
        root(json!({"properties": properties, "x-kubernetes-validations": [{"rule": rule}]}))
    };
    let combination = |metadata: Json| {
        let mut properties = json!({"spec": {"maxProperties": 1}});
        join(&mut properties, metadata);
        root(json!({"anyOf": [{"required": ["spec"], "properties": properties}]}))
    };
    let named = || json!({"name": {"type": "string"}, "generateName": {"type": "string"}});
    vec![
        pair("shorter names", [any_metadata(), metadata(short())]),
        pair("shorter names of no schema", [root(json!({})), metadata(short())]),
        pair("shorter names in a map of names", [metadata(json!({})), metadata(short())]),
        pair(
            "a pattern of names",
            [metadata(named()), metadata(json!({"name": pattern(label, None)}))],
        ),
        pair("names without a restriction", [any_metadata(), metadata(named())]),
        pair(
            "a rule on names",
            [
                any_metadata(),
                metadata(json!({"generateName": {"type": "string", "description": "a",
                "x-kubernetes-validations": [{"rule": "self == ''"}]}})),
            ],
        ),
        pair(
            "a rule on the metadata",
            [
                root(json!({})),
                root(
                    json!({"properties": {"metadata": {"type": "object"}}, "x-kubernetes-validations": [{"rule": "self.metadata.name == 'a'"}]}),
                ),
            ],
        ),
        pair("types of every object", [root(json!({"properties": types()})), root(json!({}))]),
        pair("a rule on the kind", [root(json!({})), ruled("self.kind == 'K'", types())]),
        pair(
            "a rule on the version",
            [root(json!({})), ruled("self.apiVersion == 'g/v1'", types())],
        ),
        pair(
            "a rule on a new field",
            [root(json!({})), ruled("has(self.extra)", json!({"extra": {"type": "string"}}))],
        ),
        pair(
            "names in a combination",
            [combination(json!({})), combination(json!({"metadata": {"properties": short()}}))],
        ),
        pair(
            "a rule on fields that are metadata elsewhere",
            [
                schema(json!({"type": "object"})),
                schema(json!({"type": "object", "properties": {"metadata": {"type": "object"}},
                "x-kubernetes-validations": [{"rule": "has(self.metadata)"}]})),
            ],
        ),
        pair("a CRD with five versions", [none(), versions(&served)]),
        pair(
            "settings of no conversion",
            [
                two(json!({"conversion": {"strategy": "None"}})),
                two(json!({"conversion": {"strategy": "None", "webhook": {}}})),
            ],
        ),
        pair(
            "another warning of a version",
            [
                versions(&[with(json!({"deprecated": true, "deprecationWarning": "a"}))]),
                versions(&[with(json!({"deprecated": true, "deprecationWarning": "b"}))]),
            ],
        ),
        pair(
            "four subresources",
            [
                versions(&[with(json!({"subresources": {"a": {}, "b": {}, "c": {}, "d": {}}}))]),
                versions(&[with(json!({}))]),
            ],
        ),
        pair(
            "a version with a default that it refuses",
            [versions(&served[..1]), versions(&[served[0].clone(), version("v2", refusing)])],
        ),
        pair(
            "what documents a field",
            [
                super::super::text(
                    json!({"title": "a", "example": "a", "externalDocs": {"url": "a"}}),
                ),
                super::super::text(
                    json!({"title": "b", "example": "b", "externalDocs": {"url": "b"}}),
                ),
            ],
        ),
        pair(
            "a schema that was null",
            [
                versions(&[version("v1", json!(null))]),
                versions(&[version("v1", json!({"type": "object"}))]),
            ],
        ),
        pair("another schema of items", [list(json!({"type": "string"})), list(json!(true))]),
        pair("another schema of values", [map(json!(true)), map(json!({"type": "string"}))]),
        pair(
            "a list as the status",
            [
                status(json!({"type": "array", "items": {"type": "string"}})),
                status(json!({"type": "array", "items": {"type": "string", "maxLength": 1}})),
            ],
        ),
        pair(
            "two fields below a default",
            [field(with_default("string", "string")), field(with_default("integer", "integer"))],
        ),
        pair(
            "a default that was refused before",
            [
                field(json!({"type": "string", "default": 1})),
                field(json!({"type": "string", "default": 1, "maxLength": 5})),
            ],
        ),
        pair(
            "a refused default of items",
            [
                field(json!({"type": "array"})),
                field(json!({"type": "array", "items": {"type": "string", "default": 1}})),
            ],
        ),
        pair(
            "a refused default of values",
            [
                field(json!({"type": "object"})),
                field(json!({"type": "object",
                    "additionalProperties": {"type": "string", "default": 1}})),
            ],
        ),
        pair("a removed field of a preserving schema", [preserving(true), preserving(false)]),
        pair("a CRD with a default that it refuses", [none(), text_default()]),
        pair(
            "another singular name",
            [
                names(json!({"kind": "K", "plural": "ks", "singular": "k"})),
                names(json!({"kind": "K", "plural": "ks", "singular": "kk"})),
            ],
        ),
        pair(
            "categories in another order",
            [
                names(json!({"kind": "K", "plural": "ks", "categories": ["a", "b"]})),
                names(json!({"kind": "K", "plural": "ks", "categories": ["b", "a"]})),
            ],
        ),
        pair(
            "another category",
            [
                names(json!({"kind": "K", "plural": "ks", "categories": ["a", "b"]})),
                names(json!({"kind": "K", "plural": "ks", "categories": ["a", "c"]})),
            ],
        ),
        pair("another path of a conversion webhook", [converted("/a"), converted("/b")]),
        pair(
            "a property renamed",
            [
                spec(json!({"old": {"type": "string", "description": "The size."}})),
                spec(json!({"new": {"type": "string", "description": "The size."}})),
            ],
        ),
        pair(
            "another branch of anyOf",
            [
                spec(combined(json!([{"type": "string"}, {"maxLength": 9}]))),
                spec(combined(json!([{"type": "string"}, {"maxLength": 5}]))),
            ],
        ),
        pair(
            "a pattern for a namespace",
            [spec(json!({"namespace": text()})), spec(json!({"namespace": pattern(label, None)}))],
        ),
        pair(
            "63 characters for a namespace",
            [spec(json!({"targetNamespace": text()})), spec(json!({"targetNamespace": long(63)}))],
        ),
        pair(
            "62 characters for a namespace",
            [spec(json!({"targetNamespace": text()})), spec(json!({"targetNamespace": long(62)}))],
        ),
        pair(
            "253 characters for the name of a Secret",
            [spec(json!({"secretName": text()})), spec(json!({"secretName": long(253)}))],
        ),
        pair(
            "an empty name is rejected",
            [
                spec(json!({"secretName": text()})),
                spec(json!({"secretName": {"type": "string", "minLength": 0, "maxLength": 253}})),
            ],
        ),
        pair(
            "a pattern for a key",
            [
                spec(json!({"tlsSecretKey": text()})),
                spec(json!({"tlsSecretKey": pattern(key, Some(253))})),
            ],
        ),
        pair(
            "the key of a ConfigMap",
            [
                spec(reference("configMap", json!({"key": text()}))),
                spec(reference("configMap", json!({"key": pattern(key, Some(253))}))),
            ],
        ),
        pair(
            "the key of an item of a ConfigMap",
            [
                spec(reference(
                    "configMap",
                    json!({"items": {"type": "array", "items":
                    {"type": "object", "properties": {"key": text()}}}}),
                )),
                spec(reference(
                    "configMap",
                    json!({"items": {"type": "array", "items":
                    {"type": "object", "properties": {"key": pattern(key, Some(253))}}}}),
                )),
            ],
        ),
        pair(
            "the key of an item of anything",
            [
                spec(reference(
                    "things",
                    json!({"items": {"type": "array", "items":
                    {"type": "object", "properties": {"key": text()}}}}),
                )),
                spec(reference(
                    "things",
                    json!({"items": {"type": "array", "items":
                    {"type": "object", "properties": {"key": pattern(key, Some(253))}}}}),
                )),
            ],
        ),
        pair(
            "a name and a kind",
            [
                spec(reference("thing", json!({"name": text(), "kind": text()}))),
                spec(reference("thing", json!({"name": long(253), "kind": text()}))),
            ],
        ),
        pair(
            "a name alone",
            [
                spec(reference("thing", json!({"name": text()}))),
                spec(reference("thing", json!({"name": long(253)}))),
            ],
        ),
        pair(
            "a name and a size",
            [
                spec(reference("thing", json!({"name": text(), "size": text()}))),
                spec(reference("thing", json!({"name": long(253), "size": text()}))),
            ],
        ),
        pair(
            "a key and a kind",
            [
                spec(reference("thing", json!({"key": text(), "kind": text()}))),
                spec(reference("thing", json!({"key": pattern(key, Some(253)), "kind": text()}))),
            ],
        ),
    ]
}

pub(super) fn schema_keywords() -> Vec<Sample> {
    let keep = || json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let with = |mut schema: Json, rest: Json| {
        join(&mut schema, rest);
        schema
    };
    let change = |title, old: Json, new: Json| pair(title, [field(old), field(new)]);
    let either = || json!({"x-kubernetes-int-or-string": true});
    let both = || json!([{"type": "integer"}, {"type": "string"}]);
    let text = |length: Option<u64>| match length {
        Some(length) => json!({"type": "string", "minLength": length}),
        None => json!({"type": "string"}),
    };
    let only = |values: &[&str]| json!({"type": "string", "enum": values});
    let factor = |factor: u8| json!({"type": "number", "multipleOf": factor});
    let map = |rest: Json| with(json!({"type": "object"}), rest);
    let named = |schema: Json| json!({"properties": {"x": schema}});
    let any_name = |schema: Json| map(json!({"additionalProperties": schema}));
    let maps = |kind: &str, rest: Json| {
        let item =
            json!({"type": "object", "required": ["x"], "properties": {"x": {"type": "string"}}});
        let list = json!({"type": "array", "items": item, "x-kubernetes-list-type": kind});
        with(list, rest)
    };
    let keys = || json!({"x-kubernetes-list-map-keys": ["x"]});
    let list = |kind: &str, keyword: &str| {
        with(json!({"type": "array", "items": {"type": "string"}}), json!({keyword: kind}))
    };
    let rules = |rules: &[&str], properties: Json| {
        let rules: Vec<Json> = rules.iter().map(|rule| json!({"rule": rule})).collect();
        json!({"type": "object", "properties": properties, "x-kubernetes-validations": rules})
    };
    let size = || json!({"size": {"type": "integer"}});
    let sizes = || json!({"size": {"type": "integer"}, "other": {"type": "integer"}});
    vec![
        change(
            "a pattern without line breaks",
            text(None),
            with(text(None), json!({"pattern": "^.*$"})),
        ),
        change(
            "a type for anything",
            json!({"x-kubernetes-preserve-unknown-fields": true}),
            keep(),
        ),
        change("a type for what has none", json!({}), json!({"type": "string"})),
        change("integers and strings", either(), with(either(), json!({"anyOf": both()}))),
        change(
            "integers and strings without anyOf",
            with(either(), json!({"anyOf": both(), "nullable": true})),
            with(either(), json!({"nullable": true})),
        ),
        change(
            "integers and strings in allOf",
            with(either(), json!({"anyOf": both(), "allOf": [{"maxLength": 5}]})),
            with(either(), json!({"allOf": [{"anyOf": both()}, {"maxLength": 5}]})),
        ),
        change(
            "a condition on integers and strings",
            with(either(), json!({"allOf": [{"anyOf": both()}]})),
            with(either(), json!({"anyOf": [{"maxLength": 5}, {"maximum": 5}]})),
        ),
        change(
            "a type in anyOf",
            json!({"type": "integer"}),
            json!({"type": "integer", "anyOf": both()}),
        ),
        change("an integer or a string", json!({"type": "integer"}), either()),
        change(
            "a default of a field that a combination requires",
            map(json!({"properties": {"x": {"type": "string"}}, "oneOf": [{"required": ["x"]}]})),
            map(json!({
                "properties": {"x": {"type": "string", "default": "a"}},
                "oneOf": [{"required": ["x"]}],
            })),
        ),
        change(
            "a default of a field that a combination does not require",
            map(json!({"properties": {"x": {"type": "string"}}, "oneOf": [{"required": ["y"]}]})),
            map(json!({
                "properties": {"x": {"type": "string", "default": "a"}},
                "oneOf": [{"required": ["y"]}],
            })),
        ),
        change("two values of three", only(&["a", "b", "c"]), only(&["a"])),
        change("seven values", only(&["a", "b", "c", "d", "e", "f", "g", "h"]), only(&["a"])),
        change("a factor", json!({"type": "number"}), factor(2)),
        change("a larger factor", factor(2), factor(4)),
        change(
            "a maximum of 0",
            json!({"type": "integer"}),
            json!({"type": "integer", "maximum": 0}),
        ),
        change(
            "a pattern for all but the empty text",
            text(None),
            json!({"type": "string", "pattern": "(?s)^.+$"}),
        ),
        change("a length of 0", text(None), text(Some(0))),
        change("another length", text(Some(3)), text(Some(4))),
        change(
            "a minimum of 0",
            json!({"type": "integer"}),
            json!({"type": "integer", "minimum": 0}),
        ),
        change(
            "properties of a free map",
            keep(),
            with(keep(), json!({"properties": {"x": {"type": "string"}}})),
        ),
        change(
            "properties of a map",
            map(json!({})),
            map(json!({"properties": {"x": {"type": "string"}}})),
        ),
        change("properties of any name", map(named(text(None))), any_name(text(None))),
        change(
            "properties of any name, all longer",
            map(named(text(None))),
            any_name(text(Some(9))),
        ),
        change(
            "properties of any name, without a rule",
            map(named(with(
                text(None),
                json!({"description": "a", "x-kubernetes-validations": [{"rule": "self != ''"}]}),
            ))),
            any_name(text(None)),
        ),
        change(
            "properties of any name, free",
            map(named(map(named(text(None))))),
            any_name(keep()),
        ),
        change(
            "properties of any name with more properties",
            map(named(map(named(text(Some(9)))))),
            any_name(map(json!({"properties": {"x": text(None), "y": text(None)}}))),
        ),
        change(
            "properties of any name with other properties",
            map(named(map(named(text(None))))),
            any_name(map(json!({"properties": {"y": text(None)}}))),
        ),
        change(
            "properties of any name with other properties that are preserved",
            map(named(map(named(text(None))))),
            any_name(with(keep(), json!({"properties": {"y": text(None)}}))),
        ),
        change(
            "properties of any name that were preserved",
            map(named(keep())),
            any_name(with(keep(), named(text(None)))),
        ),
        change(
            "properties of any name with more properties that were preserved",
            map(named(with(keep(), named(text(None))))),
            any_name(with(keep(), json!({"properties": {"x": text(None), "y": text(None)}}))),
        ),
        change(
            "shorter properties of any name that were preserved",
            map(named(with(keep(), named(text(Some(9)))))),
            any_name(with(keep(), named(text(None)))),
        ),
        change(
            "lists of any name",
            map(named(json!({"type": "array", "items": text(Some(9))}))),
            any_name(json!({"type": "array", "items": text(None)})),
        ),
        change(
            "properties of a map that gets free",
            map(json!({})),
            with(keep(), json!({"properties": {"x": {"type": "string"}}})),
        ),
        change(
            "properties of a free map that gets closed",
            keep(),
            map(json!({"properties": {"x": {"type": "string"}}})),
        ),
        change(
            "additional texts of a free map",
            keep(),
            with(keep(), json!({"additionalProperties": {"type": "string"}})),
        ),
        change(
            "any additional property of a free map",
            keep(),
            with(keep(), json!({"additionalProperties": true})),
        ),
        change(
            "no additional properties",
            map(json!({"additionalProperties": true})),
            map(json!({"additionalProperties": false})),
        ),
        change(
            "additional texts",
            map(json!({"additionalProperties": true})),
            map(json!({"additionalProperties": {"type": "string"}})),
        ),
        change(
            "shorter additional texts",
            map(json!({"additionalProperties": {"type": "string"}})),
            map(json!({"additionalProperties": {"type": "string", "maxLength": 5}})),
        ),
        change(
            "shorter items",
            json!({"type": "array", "items": {"type": "string"}}),
            json!({"type": "array", "items": {"type": "string", "maxLength": 5}}),
        ),
        change(
            "another schema in not",
            json!({"type": "string", "not": {"maxLength": 5}}),
            json!({"type": "string", "not": {"maxLength": 6}}),
        ),
        change(
            "a property in not",
            json!({"type": "object", "not": {"properties": {"x": {"maxLength": 5}}}}),
            json!({"type": "object", "not": {"properties": {"x": {"maxLength": 6}}}}),
        ),
        change(
            "a property in allOf",
            json!({"type": "object", "allOf": [{"properties": {"x": {"maxLength": 5}}}]}),
            json!({"type": "object", "allOf": [{"properties": {"x": {"maxLength": 6}}}]}),
        ),
        change(
            "a first property in allOf",
            json!({"type": "object", "allOf": [{}]}),
            json!({"type": "object", "allOf": [{"properties": {"x": {"maxLength": 5}}}]}),
        ),
        change(
            "another property in allOf",
            json!({"type": "object", "allOf": [{"properties": {"x": {}}}]}),
            json!({"type": "object", "allOf": [{"properties": {"x": {}, "y": {"maxLength": 5}}}]}),
        ),
        change(
            "one part of allOf",
            json!({"type": "string", "allOf": [{"maxLength": 5}, {"pattern": "a"}]}),
            json!({"type": "string", "allOf": [{"maxLength": 5}]}),
        ),
        change(
            "a keyword in oneOf",
            json!({"type": "string", "oneOf": [{"maxLength": 5, "pattern": "a"}, {"minLength": 9}]}),
            json!({"type": "string", "oneOf": [{"maxLength": 5}, {"minLength": 9}]}),
        ),
        change(
            "a keyword in not",
            json!({"type": "string", "not": {"maxLength": 5, "pattern": "a"}}),
            json!({"type": "string", "not": {"maxLength": 5}}),
        ),
        change(
            "a list of schemas of items",
            json!({"type": "array", "items": [{"type": "string"}]}),
            json!({"type": "array", "items": [{"type": "integer"}]}),
        ),
        change(
            "a maximum in another spelling",
            json!({"type": "number", "maximum": 5}),
            json!({"type": "number", "maximum": 5.0}),
        ),
        change(
            "a minimum in another spelling",
            json!({"type": "number", "minimum": 5}),
            json!({"type": "number", "minimum": 5.0}),
        ),
        change(
            "another schema in allOf",
            json!({"type": "string", "allOf": [{"maxLength": 5}]}),
            json!({"type": "string", "allOf": [{"maxLength": 6}]}),
        ),
        change(
            "unique items",
            list("atomic", "x-kubernetes-list-type"),
            list("set", "x-kubernetes-list-type"),
        ),
        change("unique keys", maps("atomic", json!({})), maps("map", keys())),
        change("unique items with unique keys", maps("set", json!({})), maps("map", keys())),
        change(
            "an atomic map",
            list("granular", "x-kubernetes-map-type"),
            list("atomic", "x-kubernetes-map-type"),
        ),
        change("a rule", map(json!({"properties": size()})), rules(&["self.size > 1"], size())),
        change(
            "another rule",
            rules(&["self.size > 1"], size()),
            rules(&["self.size > 2"], size()),
        ),
        change(
            "a new field with a default",
            map(json!({"properties": {}})),
            map(json!({"properties": {"size": {"type": "string", "default": "large"}}})),
        ),
        change(
            "a rule for a new field",
            map(json!({"properties": size()})),
            rules(&["self.other > 1"], sizes()),
        ),
        change(
            "a rule for a new field and another one",
            map(json!({"properties": size()})),
            rules(&["self.other > self.size"], sizes()),
        ),
        change(
            "a rule for changes",
            map(json!({"properties": size()})),
            rules(&["self == oldSelf"], size()),
        ),
        change(
            "a rule for a new field and a name like self",
            map(json!({"properties": size()})),
            rules(&["self.other > 1 && selfish.size > 1"], sizes()),
        ),
        change(
            "another rule that is there twice",
            rules(&["self.size > 1", "self.size > 1"], size()),
            rules(&["self.size > 1", "self.size > 2"], size()),
        ),
        change(
            "another message of a rule that is there twice",
            rules(&["self.size > 1", "self.size > 1"], size()),
            {
                let mut changed = rules(&["self.size > 1", "self.size > 1"], size());
                changed["x-kubernetes-validations"][1]["message"] = json!("too small");
                changed
            },
        ),
        change(
            "a rule for a name like self",
            map(json!({"properties": size()})),
            rules(&["selfish.other > 1 && myself.size > 1"], sizes()),
        ),
        change("another message of a rule", rules(&["self.size > 1"], size()), {
            let mut changed = rules(&["self.size > 1"], size());
            changed["x-kubernetes-validations"][0]["message"] = json!("too small");
            changed
        }),
        pair(
            "the schema of a version with none",
            [
                versions(&[json!({"name": "v1", "served": true, "storage": true, "schema": {}})]),
                versions(&[version("v1", json!({"type": "object"}))]),
            ],
        ),
        pair(
            "a whole schema",
            [
                versions(&[json!({"name": "v1", "served": true, "storage": true})]),
                versions(&[version("v1", json!({"type": "object"}))]),
            ],
        ),
    ]
}
