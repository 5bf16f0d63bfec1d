//! Compares a value of a Kubernetes API type, as it is written, with the JSON that it was read from.
//!
//! Reading alone does not check two facts that the types of k8s-openapi know: they write a required
//! field also if JSON lacks it, with the zero value of its type, and a quantity, which is any text to
//! them, as a type of its own. So both are checked for all fields of all kinds, without a list. What they
//! do not know is in tables, by the names of types.

mod server_rules;

use super::typed::TypeMismatch;
use crate::diag::quoted;
use crate::fields::below;
use crate::ir::{ReadValue, push_key, quantity};
use serde::Serialize;
use serde_json::Value as Json;
use server_rules::{NOT_EXCLUSIVE, RANGES, REQUIRED_BY_SERVER, VALUES, ZERO_IS_VALID};
use std::collections::HashMap;
use std::ops::RangeInclusive;

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
            fields => format!("has none of {} at `{path}`", quoted(fields).join(", ")),
        }
    }
}

/// The findings about a value.
#[derive(Debug, Default)]
pub(super) struct Findings {
    /// Required fields that JSON lacks.
    pub(super) missing: Vec<MissingField>,
    /// Values that their type does not allow.
    pub(super) mismatches: Vec<TypeMismatch>,
    /// Paths of values that their field does not allow, and what the object has there.
    pub(super) unsupported: Vec<(String, String)>,
}

/// Compares a value with the JSON that it was read from.
pub(super) fn walk<T: Serialize>(read: &ReadValue<T>, json: &Json) -> Findings {
    // What was read from JSON can be written as JSON.
    let written = serde_json::to_value(&read.value).unwrap_or_default();
    let mut walk = Walk { types: &read.types, path: String::new(), found: Findings::default() };
    walk.value(&written, json);
    walk.found
}

/// One walk through a value, as JSON.
struct Walk<'r> {
    /// Names of types by path.
    types: &'r HashMap<String, &'static str>,
    path: String,
    found: Findings,
}

impl Walk<'_> {
    /// Compares a value, as its type writes it, with the JSON.
    fn value(&mut self, written: &Json, json: &Json) {
        let name = self.types.get(&self.path).copied().unwrap_or_default();
        match name {
            "Quantity" => {
                self.expect(quantity(json).is_some(), "a quantity such as `500m` or `1Gi`")
            }
            // A struct without fields, which k8s-openapi reads as any value.
            "CustomResourceSubresourceStatus" => self.expect(json.is_object(), "a map"),
            _ => {}
        }

        let length = self.path.len();
        for (key, value) in written.as_object().into_iter().flatten() {
            if let Some(json) = json.get(key) {
                push_key(&mut self.path, key);
                self.value(value, json);
                self.path.truncate(length);
            } else if !ZERO_IS_VALID.contains(&(name, key)) {
                self.lacks(&[key]);
            }
        }
        // Both lists have the same length, because one was read from the other.
        let items = written.as_array().into_iter().flatten();
        for (index, (item, json)) in items.zip(json.as_array().into_iter().flatten()).enumerate() {
            self.path.push_str(&format!("[{index}]"));
            self.value(item, json);
            self.path.truncate(length);
        }

        for (_, fields) in rows_of(&REQUIRED_BY_SERVER, name, |row| row.0) {
            let given: Vec<_> = fields.iter().filter(|field| json.get(field).is_some()).collect();
            match given.as_slice() {
                [] => self.lacks(fields),
                [one, other, ..] if !NOT_EXCLUSIVE.contains(&name) => {
                    let what = format!("has both {one} and {other}");
                    self.found.unsupported.push((self.path.clone(), what));
                }
                _ => {}
            }
        }
        for (_, field, known) in rows_of(&VALUES, name, |row| row.0) {
            self.one_of(field, known, json);
        }
        for (_, field, least, most) in rows_of(&RANGES, name, |row| row.0) {
            self.in_range(field, *least..=*most, json);
        }
    }

    /// Checks a field with a text, or with a list of texts.
    fn one_of(&mut self, field: &str, known: &[&str], json: &Json) {
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
                let what = format!("has {field} `{value}`, not `{}`", known.join("`, `"));
                self.found.unsupported.push((path, what));
            }
        }
    }

    fn in_range(&mut self, field: &str, range: RangeInclusive<i64>, json: &Json) {
        let number = json.get(field).and_then(Json::as_i64);
        if let Some(number) = number.filter(|number| !range.contains(number)) {
            let (least, most) = range.into_inner();
            let known = match most {
                i64::MAX => format!("less than {least}"),
                most => format!("not {least} to {most}"),
            };
            let what = format!("has {field} {number}, {known}");
            self.found.unsupported.push((below(&self.path, field), what));
        }
    }

    fn expect(&mut self, fits: bool, expected: &str) {
        if !fits {
            let why = format!("it must be {expected}");
            self.found.mismatches.push(TypeMismatch { path: self.path.clone(), why });
        }
    }

    fn lacks(&mut self, fields: &[&str]) {
        let fields = fields.iter().map(|field| (*field).to_owned()).collect();
        self.found.missing.push(MissingField { path: self.path.clone(), fields });
    }
}

#[cfg(test)]
mod tests;
