//! Values with named fields: configurations and parameters of pickers, and JSON values of flags.

use super::go_flags::nanoseconds;
use super::*;
use crate::ir::push_key;

/// A field.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Field {
    /// Of pickers `str`, `int`, `float`, `bool`, `duration`, `quantity`, `object`, `any`; `[TYPE]` for a
    /// list, `map[TYPE]` for a map. Of flags types of Python, separated by `|`.
    #[serde(rename = "type")]
    pub(crate) kind: String,
    /// Values of the types `choice` and `fold`; names of the type `member`, of enumerations.
    pub(crate) choices: Vec<Json>,
    /// True if not all fields of the object are known.
    pub(crate) open: bool,
    /// Fields of the object, or of the objects in the list.
    pub(crate) fields: BTreeMap<String, Field>,
}

/// Returns the fields that any of these objects has. What they disagree on is not judged.
pub(crate) fn union<'f>(
    all: impl Iterator<Item = &'f BTreeMap<String, Field>>,
) -> BTreeMap<String, Field> {
    let mut fields: BTreeMap<String, Field> = BTreeMap::new();
    for (name, field) in all.flatten() {
        let Some(known) = fields.get_mut(name) else {
            fields.insert(name.clone(), field.clone());
            continue;
        };
        if known.kind != field.kind {
            // A field that became a float in a later release still accepts integers in all of them.
            let is_number = |kind: &str| matches!(kind, "int" | "uint" | "float");
            let both = is_number(&known.kind) && is_number(&field.kind);
            known.kind = if both { "float" } else { "any" }.to_owned();
        }
        // An object without fields is open.
        known.open |= field.open || known.fields.is_empty() != field.fields.is_empty();
        known.fields = union([&known.fields, &field.fields].into_iter());
    }
    fields
}

/// Judges the fields of an object, or of the objects of a list; `noun` is its name in messages, `unknown` the
/// kind of a verdict on an unknown field.
pub(crate) fn judge(
    judge: &mut Judge<'_>,
    json: &Json,
    fields: &BTreeMap<String, Field>,
    path: &str,
    noun: &str,
    unknown: Kind,
) {
    for (index, item) in json.as_array().into_iter().flatten().enumerate() {
        self::judge(judge, item, fields, &format!("{path}[{index}]"), noun, unknown);
    }
    for (name, value) in json.as_object().into_iter().flatten() {
        let mut place = path.to_owned();
        push_key(&mut place, name);
        // Go's decoder of JSON ignores the case of names.
        let field = fields.get(name).or_else(|| {
            let same = fields.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
            same.map(|(_, field)| field)
        });
        match field {
            Some(field) => self::value(judge, value, field, &place, name, unknown),
            None => {
                let known: Vec<&str> = fields.keys().map(String::as_str).collect();
                let message = format!("{} has no {noun} `{name}`", judge.title());
                judge.push(unknown, &place, message, suggest::hint(name, &known, "keys"));
            }
        }
    }
}

/// Judges a value of a field with this name.
pub(crate) fn value(
    judge: &mut Judge<'_>,
    json: &Json,
    field: &Field,
    path: &str,
    name: &str,
    unknown: Kind,
) {
    if json.is_null() || json.as_str().is_some_and(is_placeholder) {
        return;
    }
    if !fits(&field.kind, json) {
        let hint = format!("write a value of type {}", shown(&field.kind));
        judge.refuse(path, format!("`{name}` is not of type {}", shown(&field.kind)), hint);
        return;
    }
    if !field.open && !field.fields.is_empty() {
        self::judge(judge, json, &field.fields, path, &format!("`{name}` key"), unknown);
    }
}

/// Returns true if Go's decoder accepts the value for the type.
fn fits(kind: &str, json: &Json) -> bool {
    if let Some(inner) = kind.strip_prefix('[').and_then(|kind| kind.strip_suffix(']')) {
        return json.as_array().is_some_and(|items| items.iter().all(|item| fits(inner, item)));
    }
    if let Some(inner) = kind.strip_prefix("map[").and_then(|kind| kind.strip_suffix(']')) {
        return json.as_object().is_some_and(|map| map.values().all(|item| fits(inner, item)));
    }
    match kind {
        "str" => json.is_string(),
        // sigs.k8s.io/yaml writes `1.0` as 1 before Go decodes it.
        "int" | "uint" => json.as_f64().is_some_and(|number| number.fract() == 0.0),
        "float" => json.is_number(),
        "bool" => json.is_boolean(),
        // A time.Duration is decoded from a number of nanoseconds, a metav1.Duration from text.
        "duration" => json.as_str().and_then(nanoseconds).is_some() || json.is_number(),
        "quantity" => json.is_string() || json.is_number(),
        "object" => json.is_object(),
        _ => true,
    }
}

fn shown(kind: &str) -> &str {
    match kind {
        "str" => "string",
        "int" | "uint" => "integer",
        "float" => "number",
        "bool" => "boolean",
        "[object]" => "list of maps",
        "[str]" => "list of strings",
        "object" => "map",
        other => other,
    }
}
