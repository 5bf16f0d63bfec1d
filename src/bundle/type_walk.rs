//! Compares a value of a Kubernetes API type, as the type writes it, with the JSON that it was read from.
//!
//! Reading alone does not check a fact that the types of k8s-openapi know: they write a required field
//! also if JSON lacks it, with the zero value of its type. So it is checked for all fields of all kinds,
//! without a list. What the types do not know is in tables, by their names.

mod server_rules;

use super::fields::below;
use crate::diag::suggest;
use crate::ir::{ReadValue, push_key};
use serde::Serialize;
use serde_json::Value as Json;
use server_rules::{FORMS, NOT_EXCLUSIVE, RANGES, REQUIRED_BY_SERVER, VALUES, ZERO_IS_VALID};
use std::collections::HashMap;

/// Returns the rows of a table that are about a type.
fn rows_of<'t, R>(table: &'t [R], name: &str, name_of: impl Fn(&R) -> &str) -> &'t [R] {
    let start = table.partition_point(|row| name_of(row) < name);
    let rows = &table[start..];
    &rows[..rows.partition_point(|row| name_of(row) == name)]
}

/// Required fields that a map lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingField {
    /// JSON path of the map; empty for the object itself.
    pub path: String,
    /// The fields, of which one is enough.
    pub fields: Vec<String>,
}

impl MissingField {
    /// Describes what an object lacks: "has no value …".
    pub fn describe(&self) -> String {
        let Self { path, fields } = self;
        match fields.as_slice() {
            [field] => format!("has no value for required field `{path}.{field}`"),
            fields => {
                let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
                format!("has none of {} at `{path}`", suggest::list(&fields))
            }
        }
    }
}

/// The findings about a value.
#[derive(Debug, Default)]
pub(super) struct Findings {
    /// Required fields that JSON lacks.
    pub(super) missing: Vec<MissingField>,
    /// Paths of values that their field does not allow, and what the object has there.
    pub(super) unsupported: Vec<(String, String)>,
}

/// Compares a value that was read with the JSON that it was read from.
pub(super) fn walk<T: Serialize>(read: &ReadValue<T>, json: &Json) -> Findings {
    let mut walk = Walk { types: &read.types, path: String::new(), found: Findings::default() };
    walk.value(&serde_json::to_value(&read.value).unwrap_or_default(), json);
    walk.found
}

struct Walk<'t> {
    types: &'t HashMap<*const Json, &'static str>,
    /// JSON path of the value; one text for all, because most values have no finding.
    path: String,
    found: Findings,
}

impl Walk<'_> {
    /// Compares a value of a type, as the type writes it, with that of JSON.
    fn value(&mut self, written: &Json, json: &Json) {
        let length = self.path.len();
        match (written, json) {
            (Json::Array(written), Json::Array(items)) => {
                for (index, (written, item)) in written.iter().zip(items).enumerate() {
                    self.path.push_str(&format!("[{index}]"));
                    self.value(written, item);
                    self.path.truncate(length);
                }
            }
            (Json::Object(fields), Json::Object(_)) => {
                let name = self.types.get(&std::ptr::from_ref(json)).copied().unwrap_or_default();
                for (key, written) in fields {
                    if let Some(json) = json.get(key) {
                        push_key(&mut self.path, key);
                        self.value(written, json);
                        self.path.truncate(length);
                    } else if !ZERO_IS_VALID.contains(&(name, key)) {
                        self.missing(&[key]);
                    }
                }
                self.rules_of_server(name, json);
            }
            _ => {}
        }
    }

    fn missing(&mut self, fields: &[&str]) {
        let fields = fields.iter().map(|field| (*field).to_owned()).collect();
        self.found.missing.push(MissingField { path: self.path.clone(), fields });
    }

    /// Checks a struct by the rules of the API server that its type does not have.
    fn rules_of_server(&mut self, name: &str, json: &Json) {
        for (name, fields) in rows_of(&REQUIRED_BY_SERVER, name, |row| row.0) {
            let given: Vec<_> = fields.iter().filter(|field| json.get(field).is_some()).collect();
            match given.as_slice() {
                [] => self.missing(fields),
                [one, other, ..] if !NOT_EXCLUSIVE.contains(name) => {
                    let what = format!("has both {one} and {other}");
                    self.found.unsupported.push((self.path.clone(), what));
                }
                _ => {}
            }
        }

        for (_, field, known) in rows_of(&VALUES, name, |row| row.0) {
            let path = below(&self.path, field);
            let values: Vec<(String, &Json)> = match json.get(field) {
                Some(Json::Array(items)) => {
                    let items = items.iter().enumerate();
                    items.map(|(index, item)| (format!("{path}[{index}]"), item)).collect()
                }
                value => value.map(|value| (path, value)).into_iter().collect(),
            };
            for (path, value) in values {
                if let Some(value) = value.as_str().filter(|value| !known.contains(value)) {
                    let known = known.join("`, `");
                    let what = format!("has {field} `{value}`, not `{known}`");
                    self.found.unsupported.push((path, what));
                }
            }
        }

        for (_, field, noun, clause, fits) in rows_of(&FORMS, name, |row| row.0) {
            let path = below(&self.path, field);
            let text = json.get(field).and_then(Json::as_str).filter(|text| !text.is_empty());
            // The first row of a field that does not fit is enough.
            let is_known = self.found.unsupported.last().is_some_and(|(last, _)| *last == path);
            if let Some(text) = text.filter(|text| !is_known && !fits(text)) {
                self.found.unsupported.push((path, format!("has {noun} \"{text}\", {clause}")));
            }
        }

        for (_, field, least, most) in rows_of(&RANGES, name, |row| row.0) {
            let number = json.get(field).and_then(Json::as_i64);
            if let Some(number) = number.filter(|number| !(least..=most).contains(&number)) {
                let known = if *most == i64::MAX {
                    format!("less than {least}")
                } else {
                    format!("not {least} to {most}")
                };
                let what = format!("has {field} {number}, {known}");
                self.found.unsupported.push((below(&self.path, field), what));
            }
        }
    }
}

#[cfg(test)]
mod tests;
