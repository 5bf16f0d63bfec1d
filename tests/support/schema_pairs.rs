//! Schemas of a field before and after a change, and values of the field, made from numbers: the same
//! in every run.

#![allow(dead_code, reason = "each test program uses a part")]

use serde_json::{Map, Value as Json, json};

const WORDS: [&str; 16] = [
    "",
    "a",
    "b",
    "ab",
    "abc",
    "safe",
    "fast",
    "a-b",
    "a.b",
    "A1",
    "10",
    "10m",
    "x/y/z",
    "ä",
    "2024-05-01",
    "10.0.0.1",
];

const PATTERNS: [&str; 15] = [
    "^[a-z]+$",
    "^[a-z0-9]+$",
    "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$",
    "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$",
    "^[-._a-zA-Z0-9]+$",
    "^.+$",
    "^.*$",
    "a",
    "^a",
    "^$|^a",
    "^(safe|fast)$",
    "^(safe|fast|slow)$",
    "^\\d+(m|Gi)?$",
    "^[0-9]+m?$",
    "^\\w{1,3}$",
];

/// Formats of texts; the last one is none.
pub(crate) const FORMATS: [&str; 10] =
    ["date", "date-time", "ipv4", "email", "uuid", "byte", "duration", "cidr", "hostname", "k8s"];

const NUMERIC_FORMATS: [&str; 4] = ["int32", "int64", "float", "double"];

const NAMES: [&str; 5] = ["a", "b", "c", "name", "port"];

/// A source of numbers (SplitMix64).
struct Random(u64);

impl Random {
    fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.number() % end as u64) as usize
    }

    fn is_one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    fn of<'v, T>(&mut self, values: &'v [T]) -> &'v T {
        &values[self.below(values.len())]
    }
}

/// The schema of a field before and after a change.
pub(crate) struct SchemaPair {
    pub(crate) number: u64,
    pub(crate) old: Json,
    pub(crate) new: Json,
}

/// Returns the pair of a number.
pub(crate) fn pair(number: u64) -> SchemaPair {
    let mut random = Random(number.wrapping_mul(0x5851_f42d_4c95_7f2d));
    loop {
        let old = schema(&mut random, 2);
        let mut new = old.clone();
        for _ in 0..if random.is_one_in(5) { 2 } else { 1 } {
            change(&mut random, &mut new);
        }
        if new != old {
            return SchemaPair { number, old, new };
        }
    }
}

/// A schema of any kind, with objects in it up to a depth.
fn schema(random: &mut Random, depth: usize) -> Json {
    let kinds =
        ["string", "string", "integer", "number", "boolean", "any", "array", "object", "map"];
    let kind = kinds[random.below(if depth == 0 { 6 } else { kinds.len() })];
    let mut schema = match kind {
        "any" => match random.below(2) {
            0 => json!({"x-kubernetes-int-or-string": true}),
            _ => json!({"x-kubernetes-int-or-string": true,
                "anyOf": [{"type": "integer"}, {"type": "string"}]}),
        },
        "array" => match random.below(3) {
            0 => json!({"type": "array", "items": {"type": "string"}}),
            1 => json!({"type": "array", "items": {"type": "object", "required": ["name"],
                "properties": {"name": {"type": "string"}, "port": {"type": "integer"}}}}),
            _ => json!({"type": "array", "items": self::schema(random, depth - 1)}),
        },
        "object" => {
            let mut properties = Map::new();
            for _ in 0..=random.below(3) {
                let property = self::schema(random, depth - 1);
                properties.insert((*random.of(&NAMES)).to_owned(), property);
            }
            json!({"type": "object", "properties": properties})
        }
        "map" => {
            json!({"type": "object", "additionalProperties": self::schema(random, depth - 1)})
        }
        scalar => json!({ "type": scalar }),
    };
    for _ in 0..random.below(4) {
        set_keyword(random, &mut schema);
    }
    schema
}

/// The kind of value of a schema, by which keywords are chosen.
fn kind(schema: &Json) -> &str {
    match schema["type"].as_str() {
        Some("object") if schema.get("additionalProperties").is_some() => "map",
        Some(kind) => kind,
        None => "any",
    }
}

/// Sets a keyword that schemas of this kind may have.
fn set_keyword(random: &mut Random, schema: &mut Json) {
    let own: &[&str] = match kind(schema) {
        "string" => &[
            "enum",
            "pattern",
            "pattern",
            "minLength",
            "maxLength",
            "format",
            "default",
            "rule",
            "not",
            "anyOf",
            "allOf",
            "oneOf",
            "nullable",
        ],
        "integer" | "number" => &[
            "enum",
            "minimum",
            "maximum",
            "exclusiveMinimum",
            "exclusiveMaximum",
            "multipleOf",
            "format",
            "default",
            "rule",
            "not",
            "anyOf",
            "allOf",
            "oneOf",
            "nullable",
        ],
        "boolean" => &["enum", "default", "rule", "nullable", "not"],
        "array" => &["minItems", "maxItems", "list", "default", "rule", "nullable"],
        "object" => &[
            "required",
            "required",
            "minProperties",
            "maxProperties",
            "free",
            "default",
            "rule",
            "anyOf",
            "oneOf",
            "not",
            "nullable",
            "map-type",
        ],
        "map" => &["minProperties", "maxProperties", "default", "rule", "nullable"],
        _ => &["default", "nullable", "pattern", "maximum", "maxLength"],
    };
    let keyword = *random.of(own);
    let value = match keyword {
        "enum" => Json::Array(some_values(random, kind(schema))),
        "pattern" => json!(random.of(&PATTERNS)),
        "minLength" | "minItems" | "minProperties" => json!(random.below(3)),
        "maxLength" | "maxItems" | "maxProperties" => json!(1 + random.below(4)),
        "minimum" => number(random, kind(schema), -3),
        "maximum" => number(random, kind(schema), 3),
        "exclusiveMinimum" | "exclusiveMaximum" | "nullable" => json!(!random.is_one_in(4)),
        "multipleOf" => json!(random.of(&[1, 2, 3, 4])),
        "format" if kind(schema) == "string" => json!(random.of(&FORMATS)),
        "format" => json!(random.of(&NUMERIC_FORMATS)),
        "default" => value(random, schema, &Constants::default()),
        "rule" => return set_rule(random, schema),
        "list" => return set_list_type(random, schema),
        "map-type" => {
            schema["x-kubernetes-map-type"] = json!(random.of(&["granular", "atomic"]));
            return;
        }
        "free" => {
            schema["x-kubernetes-preserve-unknown-fields"] = json!(true);
            return;
        }
        "required" => match property(random, schema) {
            Some(name) => json!([name]),
            None => return,
        },
        "not" => part(random, schema),
        _ => Json::Array((0..=random.below(2)).map(|_| part(random, schema)).collect()),
    };
    schema[keyword] = value;
}

/// A part of `allOf`, `anyOf`, `oneOf` or `not`.
fn part(random: &mut Random, schema: &Json) -> Json {
    match kind(schema) {
        "string" => match random.below(3) {
            0 => json!({ "enum": some_values(random, "string") }),
            1 => json!({ "pattern": random.of(&PATTERNS) }),
            _ => json!({ "maxLength": random.below(4) }),
        },
        "boolean" => json!({ "enum": [random.is_one_in(2)] }),
        "object" => match property(random, schema) {
            Some(name) => json!({ "required": [name] }),
            None => json!({ "maxProperties": 1 }),
        },
        kind => match random.below(3) {
            0 => json!({ "enum": some_values(random, kind) }),
            1 => json!({ "minimum": number(random, kind, 0) }),
            _ => json!({ "maximum": number(random, kind, 0) }),
        },
    }
}

fn number(random: &mut Random, kind: &str, around: i64) -> Json {
    let number = around + random.below(5) as i64 - 2;
    match kind {
        "number" if random.is_one_in(3) => json!(number as f64 + 0.5),
        _ => json!(number),
    }
}

/// Values for an enum, each once.
fn some_values(random: &mut Random, kind: &str) -> Vec<Json> {
    let mut values = Vec::new();
    for _ in 0..=random.below(3) {
        let value = match kind {
            "string" => json!(random.of(&WORDS)),
            "boolean" => json!(random.is_one_in(2)),
            _ => number(random, kind, 1),
        };
        if !values.contains(&value) {
            values.push(value);
        }
    }
    values
}

fn property(random: &mut Random, schema: &Json) -> Option<String> {
    let names: Vec<&String> = schema["properties"].as_object()?.keys().collect();
    (!names.is_empty()).then(|| (*random.of(&names)).clone())
}

fn set_rule(random: &mut Random, schema: &mut Json) {
    let rules: &[&str] = match kind(schema) {
        "string" => &["self != 'a'", "self.size() < 4", "self == oldSelf", "self in ['a', 'safe']"],
        "integer" => &["self > 0", "self < 5", "self >= oldSelf", "self % 2 == 0"],
        "number" => &["self > 0.0", "self < 2.5"],
        "boolean" => &["self", "!self", "self || !oldSelf"],
        "array" => &["self.size() < 3", "self.size() > 0"],
        _ => &["true", "1 == 1"],
    };
    let rule = match property(random, schema) {
        Some(name) if random.is_one_in(2) => format!("has(self.{name})"),
        Some(name) => format!("!has(self.{name})"),
        None if kind(schema) == "map" => "self.size() < 3".to_owned(),
        None => (*random.of(rules)).to_owned(),
    };
    let rule = json!({ "rule": rule });
    match schema.get_mut("x-kubernetes-validations").and_then(Json::as_array_mut) {
        Some(rules) if !rules.contains(&rule) => rules.push(rule),
        Some(_) => {}
        None => schema["x-kubernetes-validations"] = json!([rule]),
    }
}

fn set_list_type(random: &mut Random, schema: &mut Json) {
    schema.as_object_mut().expect("a schema").shift_remove("x-kubernetes-list-map-keys");
    let has_names = schema["items"]["properties"]["name"]["type"] == "string"
        && schema["items"]["required"] == json!(["name"]);
    let scalar = !matches!(kind(&schema["items"]), "object" | "array" | "map");
    let list_type = match random.below(3) {
        0 if scalar => "set",
        1 if has_names => {
            schema["x-kubernetes-list-map-keys"] = json!(["name"]);
            "map"
        }
        _ => "atomic",
    };
    schema["x-kubernetes-list-type"] = json!(list_type);
}

/// Changes a schema in one place.
fn change(random: &mut Random, schema: &mut Json) {
    // Down to a schema in it.
    if !random.is_one_in(3) {
        let mut below = Vec::new();
        for key in ["items", "additionalProperties"] {
            if schema.get(key).is_some_and(Json::is_object) {
                below.push(format!("/{key}"));
            }
        }
        let names = schema["properties"].as_object().into_iter().flatten();
        below.extend(names.map(|(name, _)| format!("/properties/{name}")));
        if !below.is_empty() {
            let pointer = random.of(&below).clone();
            return change(random, schema.pointer_mut(&pointer).expect("a schema"));
        }
    }

    match random.below(12) {
        0 => *schema = self::schema(random, 1),
        1 | 2 => remove_keyword(random, schema),
        // Next to `x-kubernetes-int-or-string`, only one form of `anyOf` is allowed.
        3 if kind(schema) != "any" => add_or_remove_part(random, schema),
        4 | 5 if kind(schema) == "object" => {
            let property = property(random, schema);
            let new = self::schema(random, 0);
            let properties = schema["properties"].as_object_mut();
            match (properties, property) {
                (Some(properties), Some(name)) if random.is_one_in(2) => {
                    properties.shift_remove(&name);
                }
                (Some(properties), _) => {
                    properties.insert((*random.of(&NAMES)).to_owned(), new);
                }
                (None, _) => {}
            }
        }
        6 if kind(schema) == "integer" => schema["type"] = json!("number"),
        7 => match kind(schema) {
            "integer" | "string" => {
                let schema = schema.as_object_mut().expect("a schema");
                schema.shift_remove("type");
                schema.insert("x-kubernetes-int-or-string".to_owned(), json!(true));
            }
            "any" => *schema = json!({"type": random.of(&["string", "integer"])}),
            // Unknown fields of a free object may have any value.
            "object" if schema.get("x-kubernetes-preserve-unknown-fields").is_none() => {
                let Some(name) = property(random, schema) else { return };
                let schema = schema.as_object_mut().expect("a schema");
                let properties = schema.shift_remove("properties").unwrap_or_default();
                schema.insert("additionalProperties".to_owned(), properties[&name].clone());
            }
            _ => set_keyword(random, schema),
        },
        8 => change_word(random, schema),
        _ => set_keyword(random, schema),
    }
}

fn remove_keyword(random: &mut Random, schema: &mut Json) {
    let schema = schema.as_object_mut().expect("a schema");
    let kept =
        ["type", "items", "properties", "additionalProperties", "x-kubernetes-int-or-string"];
    let keys: Vec<String> =
        schema.keys().filter(|k| !kept.contains(&k.as_str())).cloned().collect();
    if !keys.is_empty() {
        schema.shift_remove(random.of(&keys));
    }
}

/// Adds or removes an item of an enum, of a combination or of the required fields.
fn add_or_remove_part(random: &mut Random, schema: &mut Json) {
    let kind = kind(schema).to_owned();
    let new = part(random, schema);
    let name = property(random, schema);
    for key in ["allOf", "anyOf", "oneOf", "enum", "required", "x-kubernetes-validations"] {
        let Some(list) = schema.get_mut(key).and_then(Json::as_array_mut) else { continue };
        if random.is_one_in(2) && list.len() > 1 {
            let at = random.below(list.len());
            list.remove(at);
            return;
        }
        let new = match key {
            "enum" => some_values(random, &kind).remove(0),
            "required" => json!(name),
            "x-kubernetes-validations" => json!({"rule": "true"}),
            _ => new,
        };
        if !list.contains(&new) && !new.is_null() {
            list.push(new);
        }
        return;
    }
    set_keyword(random, schema);
}

/// Changes a word or bound a little, as vendors do.
fn change_word(random: &mut Random, schema: &mut Json) {
    for (key, step) in [("minimum", 1), ("maximum", 1), ("maxLength", 1), ("minLength", 1)] {
        if let Some(bound) = schema[key].as_i64() {
            let step = if random.is_one_in(2) { step } else { -step };
            schema[key] = json!((bound + step).max(if key.ends_with("Length") { 0 } else { -9 }));
            return;
        }
    }
    set_keyword(random, schema);
}

/// Constants of the schemas of a pair, at which validation changes.
#[derive(Default)]
struct Constants {
    numbers: Vec<Json>,
    texts: Vec<String>,
    counts: Vec<usize>,
}

impl Constants {
    fn collect(&mut self, value: &Json) {
        match value {
            Json::Object(map) => {
                for (key, value) in map {
                    match (key.as_str(), value.as_u64()) {
                        ("minLength" | "maxLength", Some(count)) => {
                            let count = count as usize;
                            let lengths = [count.saturating_sub(1), count, count + 1];
                            self.texts.extend(lengths.map(|length| "x".repeat(length)));
                        }
                        (
                            "minItems" | "maxItems" | "minProperties" | "maxProperties",
                            Some(count),
                        ) => {
                            self.counts.extend([count as usize, count as usize + 1]);
                        }
                        _ => self.collect(value),
                    }
                }
            }
            Json::Array(items) => items.iter().for_each(|item| self.collect(item)),
            Json::String(text) => self.texts.push(text.clone()),
            Json::Number(number) => {
                if let Some(number) = number.as_i64() {
                    self.numbers.extend([number - 1, number, number + 1].map(Json::from));
                } else if let Some(number) = number.as_f64() {
                    self.numbers.extend([number - 0.5, number, number + 0.5].map(Json::from));
                }
            }
            _ => {}
        }
    }
}

impl SchemaPair {
    /// Returns values of the field, of which most are valid before the change.
    pub(crate) fn values(&self, count: usize) -> Vec<Json> {
        let mut constants = Constants::default();
        constants.collect(&self.old);
        constants.collect(&self.new);
        let mut random = Random(self.number ^ 0xabcd);
        (0..count).map(|_| value(&mut random, &self.old, &constants)).collect()
    }
}

fn value(random: &mut Random, schema: &Json, constants: &Constants) -> Json {
    if schema["nullable"] == true && random.is_one_in(5) {
        return Json::Null;
    }
    if let Some(allowed) = schema["enum"].as_array()
        && !allowed.is_empty()
        && !random.is_one_in(6)
    {
        return random.of(allowed).clone();
    }
    let kind = match kind(schema) {
        "any" => random.of(&["string", "integer"]),
        kind => kind,
    };
    match kind {
        "string" if !constants.texts.is_empty() && random.is_one_in(2) => {
            json!(random.of(&constants.texts))
        }
        "string" => json!(random.of(&WORDS)),
        "integer" | "number" if !constants.numbers.is_empty() && !random.is_one_in(3) => {
            let number = random.of(&constants.numbers).clone();
            if kind == "integer" {
                json!(number.as_f64().map(|n| n.floor() as i64))
            } else {
                number
            }
        }
        "integer" => {
            random.of(&[json!(0), json!(1), json!(7), json!(12), json!(5_000_000_000_i64)]).clone()
        }
        "number" => {
            random.of(&[json!(0), json!(1.5), json!(-2.25), json!(1e12), json!(1e300)]).clone()
        }
        "boolean" => json!(random.is_one_in(2)),
        "array" => {
            let count = size(random, constants);
            let mut items: Vec<Json> =
                (0..count).map(|_| value(random, &schema["items"], constants)).collect();
            if random.is_one_in(3) && !items.is_empty() {
                items.push(items[0].clone());
            }
            Json::Array(items)
        }
        "map" => {
            let keys = ["k", "l", "m", "n", "o"];
            let count = size(random, constants).min(keys.len());
            let entry = |key: &&str| {
                ((*key).to_owned(), value(random, &schema["additionalProperties"], constants))
            };
            Json::Object(keys[..count].iter().map(entry).collect())
        }
        _ => {
            let mut map = Map::new();
            for (name, property) in schema["properties"].as_object().into_iter().flatten() {
                let required =
                    schema["required"].as_array().is_some_and(|all| all.contains(&json!(name)));
                if !random.is_one_in(if required { 12 } else { 2 }) {
                    map.insert(name.clone(), value(random, property, constants));
                }
            }
            if random.is_one_in(4) {
                map.insert("unknown".to_owned(), json!("x"));
            }
            Json::Object(map)
        }
    }
}

fn size(random: &mut Random, constants: &Constants) -> usize {
    match constants.counts.as_slice() {
        [] => random.below(3),
        counts if random.is_one_in(2) => (*random.of(counts)).min(5),
        _ => random.below(3),
    }
}

/// A CRD whose `spec` has these fields.
pub(crate) fn crd<'s>(kind: &str, fields: impl IntoIterator<Item = (String, &'s Json)>) -> Json {
    let properties: Map<String, Json> =
        fields.into_iter().map(|(name, schema)| (name, schema.clone())).collect();
    let plural = kind.to_lowercase();
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.pairs.example.com")},
        "spec": {
            "group": "pairs.example.com",
            "scope": "Cluster",
            "names": {"kind": kind, "plural": plural, "singular": plural, "listKind": format!("{kind}List")},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {
                "openAPIV3Schema": {"type": "object", "properties": {
                    "spec": {"type": "object", "properties": properties}}}}}],
        },
    })
}
