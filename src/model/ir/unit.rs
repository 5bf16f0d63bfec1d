//! A compilation unit: the objects of one chart and their values.

use super::{Object, ValuesPath};
use serde_json::{Value as Json, json};
use std::collections::BTreeSet;

/// The objects of one chart and the values that they read.
#[derive(Clone, Debug, Default)]
pub struct Unit {
    /// The objects, in no particular order.
    pub objects: Vec<Object>,
    /// The values, in the order in which values.yaml shows them. Every one is read by an object.
    pub values: Vec<ValueSpec>,
    /// Constraints across values: JSON schemas (draft-07) for all values.
    pub constraints: Vec<Json>,
}

/// A value that a person can set when installing the chart.
#[derive(Clone, Debug, PartialEq)]
pub struct ValueSpec {
    /// The path in values.yaml.
    pub path: ValuesPath,
    /// The default value.
    pub default: Json,
    /// The default for documentation, if an empty value means another one.
    pub documented_default: Option<String>,
    /// The JSON schema (draft-07), without default and description.
    pub schema: Json,
    /// The description: one or two sentences.
    pub description: String,
}

impl ValueSpec {
    /// Returns a value whose default documents itself.
    pub fn new(
        path: ValuesPath,
        default: impl Into<Json>,
        schema: Json,
        description: impl Into<String>,
    ) -> Self {
        let (default, description) = (default.into(), description.into());
        ValueSpec { path, default, documented_default: None, schema, description }
    }

    /// Returns a value that is a boolean.
    pub fn switch(path: ValuesPath, default: bool, description: impl Into<String>) -> Self {
        ValueSpec::new(path, default, json!({"type": "boolean"}), description)
    }

    /// Returns a value that is a string of any form.
    pub fn text(
        path: ValuesPath,
        default: impl Into<Json>,
        description: impl Into<String>,
    ) -> Self {
        ValueSpec::new(path, default, json!({"type": "string"}), description)
    }
}

impl Unit {
    /// Appends the objects, values and constraints of another unit.
    pub fn append(&mut self, mut other: Unit) {
        self.objects.append(&mut other.objects);
        self.values.append(&mut other.values);
        self.constraints.append(&mut other.constraints);
    }

    /// Returns the names of all objects of this kind.
    pub fn names(&self, kind: &str) -> BTreeSet<String> {
        self.of_kind(kind).map(|object| object.name().to_owned()).collect()
    }

    /// Returns the objects of this kind.
    pub fn of_kind<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Object> {
        self.objects.iter().filter(move |object| object.kind() == kind)
    }

    /// Returns the default values as Helm would have them.
    pub fn default_values(&self) -> Json {
        let mut root = Json::Object(serde_json::Map::new());
        for spec in &self.values {
            let mut place = &mut root;
            for segment in spec.path.segments() {
                // Indexing inserts null for a key that is new.
                if !place.is_object() {
                    *place = Json::Object(serde_json::Map::new());
                }
                place = &mut place[segment.as_str()];
            }
            *place = spec.default.clone();
        }
        root
    }
}
