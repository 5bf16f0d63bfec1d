//! Objects with a fault at one place: generated for every place, so that no field is left out.

#![allow(dead_code, reason = "each test program uses a part")]

use bundle2chart::config::{BundleConfig, Source};
use bundle2chart::diag::{Code, Diagnostics, Severity};
use bundle2chart::pipeline;
use bundle2chart::source::{self, Limits};
use serde::Deserialize as _;
use serde_json::{Value as Json, json};
use std::collections::BTreeSet;
use std::path::Path;

/// Returns an object of each kind that bundles ship; the API server accepts all of them.
pub(crate) fn samples() -> Vec<Json> {
    let samples = include_str!("object_samples.yaml");
    let documents = serde_yaml::Deserializer::from_str(samples);
    documents.map(|document| Json::deserialize(document).expect("YAML")).collect()
}

/// Returns the codes with which a build reports an object.
pub(crate) fn reported(folder: &Path, object: &Json) -> BTreeSet<Code> {
    let file = folder.join("object.json");
    std::fs::write(&file, object.to_string()).expect("a file");
    let source = source::from_argument(file.to_str().expect("UTF-8"));
    assert!(matches!(source, Source::Manifests(_)), "manifests");
    let mut diagnostics = Diagnostics::new();
    let files = source::fetch(&source, folder, &[], &Limits::default(), &mut diagnostics);
    let settings = BundleConfig::new("faulty", source);
    pipeline::compile(&files.expect("the file"), &settings, &mut diagnostics);
    let said = diagnostics.iter().filter(|d| d.severity != Severity::Note);
    said.map(|diagnostic| diagnostic.code).collect()
}

/// A change of one value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ObjectFault {
    /// JSON pointer of the value.
    pub(crate) pointer: String,
    /// The new value; nothing removes the entry of a map.
    pub(crate) value: Option<Json>,
}

impl ObjectFault {
    /// Returns the object with the fault.
    pub(crate) fn in_object(&self, object: &Json) -> Json {
        let mut object = object.clone();
        let (parent, key) = self.pointer.rsplit_once('/').expect("not the object itself");
        let key = key.replace("~1", "/").replace("~0", "~");
        match (&self.value, object.pointer_mut(parent).expect("a place")) {
            (None, Json::Object(map)) => {
                map.shift_remove(&key).expect("an entry");
            }
            (None, _) => panic!("only entries of maps are removed"),
            (Some(value), parent) => match parent {
                Json::Array(items) => {
                    items[key.parse::<usize>().expect("an index")] = value.clone()
                }
                parent => parent[key.as_str()] = value.clone(),
            },
        }
        object
    }

    /// The place without indices and the change, for people and for tables.
    pub(crate) fn shown(&self) -> String {
        let steps = self.pointer.split('/').skip(1);
        let steps: Vec<&str> =
            steps.map(|step| if step.parse::<usize>().is_ok() { "*" } else { step }).collect();
        match &self.value {
            None => format!("{} removed", steps.join(".")),
            Some(value) => format!("{} = {value}", steps.join(".")),
        }
    }
}

/// Returns every place in an object as a JSON pointer, with its value, except those that say which
/// object it is.
pub(crate) fn places(object: &Json) -> Vec<(String, &Json)> {
    let mut found = Vec::new();
    let mut waiting = vec![(String::new(), object)];
    while let Some((pointer, value)) = waiting.pop() {
        let children: Vec<(String, &Json)> = match value {
            Json::Array(items) => {
                let items = items.iter().enumerate();
                items.map(|(index, item)| (format!("{pointer}/{index}"), item)).collect()
            }
            Json::Object(map) => {
                let escaped = |key: &str| key.replace('~', "~0").replace('/', "~1");
                map.iter().map(|(key, v)| (format!("{pointer}/{}", escaped(key)), v)).collect()
            }
            _ => Vec::new(),
        };
        waiting.extend(children.into_iter().rev());
        found.push((pointer, value));
    }
    let identity = ["", "/apiVersion", "/kind", "/metadata", "/metadata/name"];
    found.retain(|(pointer, _)| !identity.contains(&pointer.as_str()));
    found
}

/// Returns the faults of an object: at each place the value is missing, zero, another text, and of every
/// other type; a quantity is none.
pub(crate) fn faults(object: &Json) -> Vec<ObjectFault> {
    let kind = |value: &Json| std::mem::discriminant(value);
    let zeros = [json!(""), json!(0), json!(false), json!([]), json!({})];
    let others = [json!("text"), json!(7), json!(true), json!(["text"]), json!({"text": "text"})];
    let mut found = Vec::new();
    for (pointer, value) in places(object) {
        let mut values: Vec<Option<Json>> = Vec::new();
        let is_entry = pointer.rsplit('/').next().is_none_or(|step| step.parse::<usize>().is_err());
        if is_entry {
            values.push(None);
        }
        values.extend(zeros.iter().filter(|zero| kind(zero) == kind(value)).cloned().map(Some));
        values.extend(others.iter().filter(|other| kind(other) != kind(value)).cloned().map(Some));
        if value.is_string() {
            values.push(Some(json!("text")));
        }
        if value.as_str().is_some_and(is_quantity) {
            values.extend(["x", "1.2.3", "1gi", "1e", "5 Gi", "25%"].map(|v| Some(json!(v))));
        }
        values.retain(|changed| changed.as_ref() != Some(value));
        let fault = |value| ObjectFault { pointer: pointer.clone(), value };
        found.extend(values.into_iter().map(fault));
    }
    found
}

/// Returns true for a number with a unit, such as `500m`.
fn is_quantity(text: &str) -> bool {
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit());
    unit.len() < text.len() && ["m", "Ki", "Mi", "Gi"].contains(&unit)
}
