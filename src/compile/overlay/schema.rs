//! Validates objects against the structural schemas of CRDs.
//!
//! Checks what the API server checks (Kubernetes, structural schemas of apiextensions.k8s.io/v1):
//! types, `required`, `enum`, bounds, lengths, patterns, sets and maps, combinations, and unknown
//! fields, which the server would silently drop. CEL rules and formats are not checked.

use crate::diag::{join, suggest};
use crate::fields::{below, is_true, list, text, texts};
use crate::ir::{Map, Number, Release, Value};
use regex::RegexBuilder;
use serde_json::Value as Json;
use std::fmt;

/// The field of schemas that allow numbers and strings.
const INT_OR_STRING: &str = "x-kubernetes-int-or-string";
/// Memory that a pattern may take when it is compiled; a larger one is not checked.
const PATTERN_LIMIT: usize = 1 << 20;
/// The largest integer that floats hold exactly, with all smaller ones.
const MOST_EXACT: f64 = 9_007_199_254_740_991.0;
/// Longest list of values that a hint shows.
const MOST_VALUES: usize = 12;

/// A validation error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// JSON path.
    pub path: String,
    /// The problem.
    pub message: String,
    /// The remedy.
    pub hint: String,
    /// True if the API server silently drops the field and accepts the rest.
    pub dropped: bool,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = if self.path.is_empty() { "." } else { &self.path };
        write!(f, "`{path}` {}", self.message)
    }
}

/// Returns all faults of an object.
pub(super) fn validate(schema: &Value, root: &Map) -> Vec<Fault> {
    let mut validator = Validator::default();
    validator.object(schema, root, "", OF_OBJECTS);
    validator.combinations(schema, &Value::from(root.clone()), "");
    validator.faults
}

/// Returns all faults of the value at a path, by the schema of its field.
pub fn faults(schema: &Value, value: &Value, path: &str) -> Vec<Fault> {
    let mut validator = Validator::default();
    validator.value(schema, value, path);
    validator.faults
}

/// Returns why the schema of a field refuses a value; the API server also refuses defaults with fields
/// that it would drop.
pub fn refused(schema: &Value, value: &Value) -> Vec<String> {
    faults(schema, value, "").iter().map(ToString::to_string).collect()
}

/// Fields of whole objects, which the API server knows and checks without the schema.
const OF_OBJECTS: &[&str] = &["apiVersion", "kind", "metadata"];

#[derive(Default)]
struct Validator {
    faults: Vec<Fault>,
    /// True for a part of a combination, which only checks the fields that it names.
    is_part: bool,
}

impl Validator {
    fn fault(&mut self, path: &str, message: impl Into<String>, hint: impl Into<String>) {
        let (message, hint) = (message.into(), hint.into());
        self.faults.push(Fault { path: path.to_owned(), message, hint, dropped: false });
    }

    fn value(&mut self, schema: &Value, value: &Value, path: &str) {
        if value.is_null() {
            if !self.is_part
                && !is_true(schema, "nullable")
                // Without a type any value fits, null as well.
                && (schema.get("type").is_some() || is_true(schema, INT_OR_STRING))
            {
                self.fault(path, "is null", "set a value, or remove it");
            }
            return;
        }

        // Other keywords say nothing new about a value of the wrong type.
        if !self.has_type(schema, value, path) {
            return;
        }
        match value {
            Value::Map(map) => {
                let is_object = is_true(schema, "x-kubernetes-embedded-resource");
                self.object(schema, map, path, if is_object { OF_OBJECTS } else { &[] });
            }
            Value::Seq(items) => self.list(schema, items, path),
            Value::Text(text) => self.text(schema, text, path),
            Value::Number(number) => self.number(schema, *number, path),
            _ => {}
        }

        self.allowed(schema, value, path);
        self.combinations(schema, value, path);
    }

    fn has_type(&mut self, schema: &Value, value: &Value, path: &str) -> bool {
        let number = number(Some(value));
        let is_integer = number.is_some_and(|number| number.fract() == 0.0);
        if is_true(schema, INT_OR_STRING) {
            let fits = matches!(value, Value::Text(_)) || is_integer;
            if !fits {
                let message = format!("is {}, not an integer or a string", value.type_name());
                self.fault(path, message, "write a number, or a string in quotes");
            }
            return fits;
        }

        let Some(wanted) = text(schema, "type") else { return true };
        let (fits, words) = match wanted {
            "object" => (matches!(value, Value::Map(_)), "a map"),
            "array" => (matches!(value, Value::Seq(_)), "a list"),
            "string" => (matches!(value, Value::Text(_)), "a string"),
            "boolean" => (matches!(value, Value::Bool(_)), "a boolean"),
            "integer" => (is_integer, "an integer"),
            "number" => (number.is_some(), "a number"),
            _ => return true,
        };

        if !fits {
            let hint = match (wanted, value) {
                ("string", Value::Bool(_) | Value::Number(_)) => "put it in quotes",
                ("integer" | "number" | "boolean", Value::Text(_)) => "write it without quotes",
                ("array", _) => "write a list: `- …`",
                _ => "see the CRD for the type",
            };
            self.fault(path, format!("is {}, not {words}", value.type_name()), hint);
        }

        fits
    }

    /// Checks a map; fields of `known` are in it without the schema.
    fn object(&mut self, schema: &Value, map: &Map, path: &str, known: &[&str]) {
        let properties = schema.get("properties").and_then(Value::as_map);
        let property = |key: &str| properties.and_then(|properties| properties.get(key));
        let additional = schema.get("additionalProperties");
        // A structural schema prunes what it does not name, and its combinations nothing.
        let open = self.is_part
            || schema.as_map().is_none()
            || is_true(schema, "x-kubernetes-preserve-unknown-fields")
            || additional == Some(&Value::Bool(true));
        for (key, value) in map {
            let path = below(path, key);
            if known.contains(&key.as_str()) {
                continue;
            }
            if let Some(property) = property(key) {
                self.value(property, value, &path);
            } else if let Some(additional @ Value::Map(_)) = additional {
                self.value(additional, value, &path);
            } else if !open {
                let fields = properties.into_iter().flat_map(Map::keys);
                let fields: Vec<&str> = fields.map(String::as_str).collect();
                let hint = unknown_hint(key, &fields);
                self.fault(&path, "is not in the CRD; the API server would drop it", hint);
                if let Some(fault) = self.faults.last_mut() {
                    fault.dropped = true;
                }
            }
        }
        for key in texts(schema.get("required")) {
            let given = map.contains_key(key)
                || known.contains(&key)
                // The API server fills it in before it looks.
                || property(key)
                    .and_then(|property| property.get("default"))
                    .is_some_and(|default| !default.is_null());
            if !given {
                let missing = below(path, key);
                let hint = match description(property(key)) {
                    Some(words) => format!("add `{key}`; {words}"),
                    None => format!("add `{key}`"),
                };
                self.fault(&missing, "is required", hint);
            }
        }
        self.count(schema, ["minProperties", "maxProperties"], map.len(), "entries", path);
    }

    fn list(&mut self, schema: &Value, items: &[Value], path: &str) {
        if let Some(schema) = schema.get("items") {
            for (index, item) in items.iter().enumerate() {
                self.value(schema, item, &format!("{path}[{index}]"));
            }
        }

        self.count(schema, ["minItems", "maxItems"], items.len(), "items", path);
        if self.is_part {
            return;
        }

        let kind = text(schema, "x-kubernetes-list-type");
        let keys: Vec<&str> = texts(schema.get("x-kubernetes-list-map-keys")).collect();
        for (index, item) in items.iter().enumerate() {
            let earlier = items.iter().take(index);
            let same = |other: &Value| match kind {
                Some("set") => other == item,
                // Keys may be missing in both items, which makes them equal as well.
                Some("map") => keys.iter().all(|key| item.get(key) == other.get(key)),
                _ => is_true(schema, "uniqueItems") && other == item,
            };
            if earlier.into_iter().any(same) {
                let what = match kind {
                    Some("map") => {
                        format!("has the same {} as an earlier item", keys.join(" and "))
                    }
                    _ => "is a duplicate".to_owned(),
                };
                self.fault(&format!("{path}[{index}]"), what, "remove one of them");
            }
        }
    }

    fn text(&mut self, schema: &Value, value: &str, path: &str) {
        // The API server counts characters too, not bytes.
        self.count(schema, ["minLength", "maxLength"], value.chars().count(), "characters", path);
        if let Some(pattern) = text(schema, "pattern") {
            let regex =
                RegexBuilder::new(&super::pattern(pattern)).size_limit(PATTERN_LIMIT).build();
            // A pattern matches anywhere in the text, unless it has anchors (JSON Schema).
            if regex.is_ok_and(|regex| !regex.is_match(value)) {
                let message = format!("is {value:?}, which does not match the pattern in the CRD");
                self.fault(path, message, format!("the pattern is `{pattern}`"));
            }
        }
    }

    fn number(&mut self, schema: &Value, value: Number, path: &str) {
        let shown = Json::from(value);
        let value = float(value);
        for (key, exclusive, word) in
            [("minimum", "exclusiveMinimum", "smaller"), ("maximum", "exclusiveMaximum", "larger")]
        {
            let Some(Value::Number(bound)) = schema.get(key) else { continue };
            let (bound, name) = (float(*bound), Json::from(*bound));
            let outside = if key == "minimum" { value < bound } else { value > bound };
            let excluded = is_true(schema, exclusive);
            if outside {
                let message = format!("is {shown}, {word} than the CRD allows");
                self.fault(path, message, format!("the {key} is {name}"));
            } else if excluded && value == bound {
                let message = format!("is {shown}, which the CRD excludes");
                let hint = format!("use another value: the {key} {name} is exclusive");
                self.fault(path, message, hint);
            }
        }

        if let Some(Value::Number(step)) = schema.get("multipleOf") {
            let ratio = value / float(*step);
            // 0.3 is a multiple of 0.1 to people and to the API server, and no number is that is so large
            // that all floats are integers.
            let is_large = ratio.abs() > MOST_EXACT;
            if ratio.is_finite() && (is_large || (ratio - ratio.round()).abs() > 1e-9) {
                let hint = format!("write a multiple of {}", Json::from(*step));
                let message = format!("is {shown}, which is not a multiple allowed by the CRD");
                self.fault(path, message, hint);
            }
        }
    }

    fn count(&mut self, schema: &Value, keys: [&str; 2], count: usize, what: &str, path: &str) {
        let [least, most] = keys.map(|key| number(schema.get(key)));
        // Far below 2^52, so exact.
        let size = count as f64;
        if let Some(least) = least.filter(|least| size < *least) {
            let hint = format!("use at least {least}");
            self.fault(path, format!("has too few {what}: {count}"), hint);
        }
        if let Some(most) = most.filter(|most| size > *most) {
            let hint = format!("use at most {most}");
            self.fault(path, format!("has too many {what}: {count}"), hint);
        }
    }

    fn allowed(&mut self, schema: &Value, value: &Value, path: &str) {
        let Some(Value::Seq(allowed)) = schema.get("enum") else { return };
        // To Kubernetes, an empty list is no list.
        if allowed.is_empty() || allowed.contains(value) {
            return;
        }
        let shown = Release::LITERAL.value(value);
        let words: Vec<&str> = allowed.iter().filter_map(Value::as_str).collect();
        let near = value.as_str().and_then(|value| suggest::nearest(value, &words));
        let more = if allowed.len() > MOST_VALUES { ", …" } else { "" };
        let mut hint = format!("use one of {}{more}", first_values(allowed));
        if let Some(near) = near {
            hint = format!("did you mean {near:?}? {hint}");
        }
        self.fault(path, format!("is {shown}, which is not in the CRD's enum"), hint);
    }

    /// Checks `allOf`, `anyOf`, `oneOf` and `not`, which only validate in a structural schema.
    fn combinations(&mut self, schema: &Value, value: &Value, path: &str) {
        let schemas = |key: &str| list(schema.get(key));
        for part in schemas("allOf") {
            let faults = Self::inside(part, value, path);
            self.faults.extend(faults);
        }

        let fitting = |key: &str| {
            schemas(key).iter().filter(|part| Self::inside(part, value, path).is_empty())
        };
        if !schemas("anyOf").is_empty() && fitting("anyOf").next().is_none() {
            // The branch with the fewest errors is most likely the intended one.
            let closest = schemas("anyOf").iter().map(|part| Self::inside(part, value, path));
            let closest = closest.min_by_key(Vec::len).unwrap_or_default();
            let why = closest.first().map(ToString::to_string).unwrap_or_default();
            let hint = format!("match at least one of the anyOf schemas; the closest fails: {why}");
            self.fault(path, "matches none of the CRD's anyOf schemas", hint);
        }

        let count = fitting("oneOf").count();
        if !schemas("oneOf").is_empty() && count != 1 {
            let count = if count == 0 { "none".to_owned() } else { count.to_string() };
            let message = format!("matches {count} of the CRD's oneOf schemas");
            let hint = format!("match exactly one of {}", first_values(schemas("oneOf")));
            self.fault(path, message, hint);
        }

        if let Some(not) = schema.get("not")
            && Self::inside(not, value, path).is_empty()
        {
            let hint = format!("excluded: {}", Release::LITERAL.value(not));
            self.fault(path, "matches a schema that the CRD excludes with not", hint);
        }
    }

    /// Validates a value against a part of a combination.
    fn inside(part: &Value, value: &Value, path: &str) -> Vec<Fault> {
        let mut validator = Validator { is_part: true, ..Validator::default() };
        validator.value(part, value, path);
        validator.faults
    }
}

/// Returns the first values of a list as JSON.
fn first_values(values: &[Value]) -> String {
    let values = values.iter().take(MOST_VALUES);
    join(values.map(|value| Release::LITERAL.value(value).to_string()), ", ")
}

fn unknown_hint(key: &str, known: &[&str]) -> String {
    match suggest::nearest(key, known) {
        Some(near) => format!("did you mean `{near}`?"),
        None if known.is_empty() => "remove it: the CRD has no fields here".to_owned(),
        None => {
            let shown = join(known.iter().take(MOST_VALUES), ", ");
            let more = if known.len() > MOST_VALUES { ", …" } else { "" };
            format!("the fields in the CRD are {shown}{more}")
        }
    }
}

/// Returns the first sentence of a field's description in the CRD.
fn description(schema: Option<&Value>) -> Option<String> {
    let text = schema?.get("description")?.as_str()?;
    let line = join(text.split_whitespace(), " ");
    let sentence = line.split(". ").next().unwrap_or_default().trim_end_matches('.');
    (!sentence.is_empty()).then(|| format!("from the CRD: {sentence}"))
}

/// Returns a number.
fn number(field: Option<&Value>) -> Option<f64> {
    match field {
        Some(Value::Number(number)) => Some(float(*number)),
        _ => None,
    }
}

fn float(number: Number) -> f64 {
    Json::from(number).as_f64().unwrap_or_default()
}

#[cfg(test)]
mod tests;
