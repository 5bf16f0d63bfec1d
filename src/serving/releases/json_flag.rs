//! JSON values of vLLM's flags: fields, values of fields, and connectors.

use super::verdict::{Judge, Kind};
use super::{Engine, Flag, argparse};
use crate::diag::suggest;
use serde_json::{Map, Value as Json};

/// Returns true if the text is JSON as the parser reads it: numbers may end in k, m, g or t.
pub(super) fn is_json(text: &str) -> bool {
    read(text).is_some()
}

fn read(text: &str) -> Option<Json> {
    serde_json::from_str(text).ok().or_else(|| serde_json::from_str(&without_units(text)).ok())
}

/// Returns the text without the units of numbers: `{"a": 32k}` is `{"a": 32}`.
fn without_units(text: &str) -> String {
    let characters: Vec<char> = text.chars().collect();
    let mut out = String::new();
    let mut is_quoted = false;
    for (index, character) in characters.iter().enumerate() {
        let before = index.checked_sub(1).and_then(|at| characters.get(at));
        if *character == '"' && before != Some(&'\\') {
            is_quoted = !is_quoted;
        }
        let is_unit = !is_quoted
            && "kKmMgGtT".contains(*character)
            && before.is_some_and(char::is_ascii_digit);
        if !is_unit {
            out.push(*character);
        }
    }
    out
}

/// Judges the value of a flag, if it is a JSON object.
pub(super) fn value(
    judge: &mut Judge<'_>,
    table: &Engine,
    specs: &[&Flag],
    name: &str,
    text: &str,
) {
    if !specs.iter().all(|spec| spec.kind.starts_with("json")) {
        return;
    }
    if let Some(Json::Object(object)) = read(text) {
        fields(judge, table, specs, name, &object);
    }
}

/// Judges a field after a dot: `--kv-transfer-config.kv_role=kv_both`.
pub(super) fn field(
    judge: &mut Judge<'_>,
    table: &Engine,
    specs: &[&Flag],
    name: &str,
    field: &str,
    value: Option<&str>,
) {
    if !specs.iter().all(|spec| spec.kind.starts_with("json")) {
        let message = format!("flag `{name}` has no JSON value, so it has no field `{field}`");
        judge.push(Kind::Refused, "", message, format!("write `{name}=…`"));
        return;
    }
    let (first, rest) = field.split_once('.').map_or((field, ""), |(first, rest)| (first, rest));
    let value = match value {
        _ if !rest.is_empty() || field.ends_with('+') => Json::Null,
        Some(text) if !argparse::is_open(text) => {
            read(text).unwrap_or_else(|| Json::from(text.to_owned()))
        }
        _ => Json::Null,
    };
    let object = Map::from_iter([(first.trim_end_matches('+').to_owned(), value)]);
    fields(judge, table, specs, name, &object);
}

/// Judges the fields of an object.
fn fields(
    judge: &mut Judge<'_>,
    table: &Engine,
    specs: &[&Flag],
    name: &str,
    object: &Map<String, Json>,
) {
    let index = judge.index();
    let class = specs.last().map_or("", |spec| spec.class.as_str());
    // Before, unknown fields were ignored or not, by class.
    let refuses = index.is_none() || table.behaviors.has("unknown_json_field_refused", index);
    let is_class_known = !class.is_empty()
        && table.fields.names(index).iter().any(|key| key.split('.').next() == Some(class));

    for (field, value) in object {
        let key = format!("{class}.{field}");
        if is_class_known && refuses && !table.fields.has(&key, index) {
            unknown_field(judge, table, class, name, field);
        }
        let Some(spans) = table.fields.find(&key).filter(|_| is_class_known) else { continue };
        let specs = spans.candidates(index);
        let Some(last) = specs.last() else { continue };
        let text = value.as_str().unwrap_or_default();
        let is_open = value.is_null() || argparse::is_open(text);
        let closed = |kind: &str| kind == "choice" || kind == "choice|null";
        let fits = |choices: &[Json]| choices.contains(value);
        if !is_open && specs.iter().all(|spec| closed(&spec.kind) && !fits(&spec.choices)) {
            let shown = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let choices: Vec<&str> = last.choices.iter().filter_map(Json::as_str).collect();
            let message =
                format!("{} does not accept `{shown}` for `{field}` of `{name}`", judge.title());
            judge.push(Kind::Refused, "", message, suggest::hint(&shown, &choices, "values"));
        } else if !is_open && refuses && specs.iter().all(|spec| !is_scalar(&spec.kind, value)) {
            let message = format!("`{field}` of `{name}` is not of type {}", last.kind);
            judge.push(Kind::Refused, "", message, format!("write a value of type {}", last.kind));
        }
    }
    connectors(judge, table, name, object);
}

fn unknown_field(judge: &mut Judge<'_>, table: &Engine, class: &str, name: &str, field: &str) {
    let noun = format!("`{name}` field");
    let key = format!("{class}.{field}");
    if table.fields.find(&key).is_some() {
        judge.exists(&table.fields, &key, field, &noun, "", Kind::Refused);
        return;
    }
    let index = judge.index();
    let known = table.fields.names(index);
    let known: Vec<&str> =
        known.iter().filter_map(|key| key.strip_prefix(class)?.strip_prefix('.')).collect();
    let message = format!("{} has no {noun} `{field}`", judge.title());
    judge.push(Kind::Refused, "", message, suggest::hint(field, &known, "fields"));
}

/// Returns false if the value is certainly not of the type: pydantic converts text to numbers.
fn is_scalar(kind: &str, value: &Json) -> bool {
    let kinds: Vec<&str> = kind.split('|').filter(|kind| *kind != "null").collect();
    let number =
        |text: &str| text.trim().parse::<f64>().is_ok() || argparse::is_human_integer(text);

    match kinds[..] {
        ["int"] => match value {
            Json::Number(number) => number.as_f64().is_none_or(|number| number.fract() == 0.0),
            Json::String(text) => number(text),
            Json::Bool(_) => true,
            _ => false,
        },
        ["float"] => match value {
            Json::Number(_) | Json::Bool(_) => true,
            Json::String(text) => number(text),
            _ => false,
        },
        ["bool"] => match value {
            Json::Bool(_) | Json::Number(_) => true,
            Json::String(text) => {
                let text = text.to_ascii_lowercase();
                let words =
                    ["true", "false", "t", "f", "yes", "no", "y", "n", "on", "off", "0", "1"];
                words.contains(&text.as_str())
            }
            _ => false,
        },
        ["str"] => value.is_string(),
        ["list"] => value.is_array(),
        ["object"] => value.is_object(),
        _ => true,
    }
}

/// Judges the connectors of a transfer configuration, and of those in a MultiConnector.
fn connectors(judge: &mut Judge<'_>, table: &Engine, name: &str, object: &Map<String, Json>) {
    let (key, module, registered) = match name {
        "--kv-transfer-config" => {
            ("kv_connector", "kv_connector_module_path", &table.kv_connectors)
        }
        "--ec-transfer-config" => {
            ("ec_connector", "ec_connector_module_path", &table.ec_connectors)
        }
        _ => return,
    };

    let connector = object.get(key).and_then(Json::as_str).filter(|text| !argparse::is_open(text));
    let is_own = object.get(module).is_some_and(|path| !path.is_null());
    if let Some(connector) = connector.filter(|_| !is_own) {
        judge.exists(registered, connector, connector, "connector", "", Kind::Refused);
    }
    let inner = object.get("kv_connector_extra_config").and_then(|extra| extra.get("connectors"));
    for inner in inner.and_then(Json::as_array).into_iter().flatten() {
        if let Json::Object(inner) = inner {
            connectors(judge, table, name, inner);
        }
    }
}
