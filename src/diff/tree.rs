//! Computes the edits between two JSON trees.
//!
//! Lists whose items have a merge key are compared item by item, as the API server merges them.
//! Other lists of maps are compared by index if they have the same length. Every other list is one
//! value.

use super::names::NAMES;
use super::path::{Path, Step};
use crate::diag::join;
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};

/// One difference between two trees.
#[derive(Clone, Debug, PartialEq)]
pub struct Edit {
    /// Path of the edited value.
    pub path: Path,
    /// Old value; `None` if added.
    pub old: Option<Json>,
    /// New value; `None` if removed.
    pub new: Option<Json>,
}

/// Returns the differences between two trees, in the order of the old one; empty for equal trees.
pub fn edits(old: &Json, new: &Json) -> Vec<Edit> {
    let mut walk = Walk { path: Path::default(), found: Vec::new() };
    walk.values(old, new);
    walk.found
}

/// A walk through two trees.
struct Walk {
    path: Path,
    found: Vec<Edit>,
}

impl Walk {
    /// Adds the difference of two values as a whole.
    fn add(&mut self, old: Option<&Json>, new: Option<&Json>) {
        let path = self.path.clone();
        self.found.push(Edit { path, old: old.cloned(), new: new.cloned() });
    }

    /// Adds the differences one step below.
    fn below(&mut self, step: Step, old: Option<&Json>, new: Option<&Json>) {
        self.path.0.push(step);
        match old.zip(new) {
            Some((old, new)) => self.values(old, new),
            None => self.add(old, new),
        }
        self.path.0.pop();
    }

    fn values(&mut self, old: &Json, new: &Json) {
        match (old, new) {
            (Json::Object(before), Json::Object(after)) => {
                for (key, old) in before {
                    self.below(Step::Key(key.clone()), Some(old), after.get(key));
                }
                // After the removals, so that a renamed key reads as removed, then added.
                for (key, new) in after.iter().filter(|(key, _)| !before.contains_key(*key)) {
                    self.below(Step::Key(key.clone()), None, Some(new));
                }
            }
            // Most lists are equal, and comparing is cheaper than finding a merge key.
            _ if old == new => {}
            // Lists of maps are compared by the key that strategic merge patches use, others as a
            // whole.
            (Json::Array(before), Json::Array(after))
                if before.iter().chain(after).all(Json::is_object) =>
            {
                if let Some(fields) = merge_key(self.path.last_key(), before, after) {
                    self.items(before, after, fields);
                } else if before.len() == after.len() {
                    for (index, (old, new)) in before.iter().zip(after).enumerate() {
                        self.below(Step::Index(index), Some(old), Some(new));
                    }
                } else {
                    self.add(Some(old), Some(new));
                }
            }
            _ => self.add(Some(old), Some(new)),
        }
    }

    fn items(&mut self, before: &[Json], after: &[Json], fields: &'static [&'static str]) {
        let name = |item: &Json| key_of(item, fields).unwrap_or_default();
        let old_names: Vec<_> = before.iter().map(name).collect();
        let new_names: Vec<_> = after.iter().map(name).collect();
        // By index: containers with hundreds of variables were quadratic.
        let new_index: BTreeMap<_, usize> = new_names.iter().zip(0..).collect();
        let known: BTreeSet<_> = old_names.iter().collect();

        let mut kept = Vec::new();
        for (name, old) in old_names.iter().zip(before) {
            let index = new_index.get(name).copied();
            kept.extend(index);
            self.below(Step::Item(name.clone()), Some(old), index.and_then(|at| after.get(at)));
        }
        for (name, new) in new_names.iter().zip(after).filter(|(name, _)| !known.contains(name)) {
            self.below(Step::Item(name.clone()), None, Some(new));
        }

        // Items that are on both sides in another order; added and removed ones do not change the
        // order of the others.
        if !kept.is_sorted() {
            let labels = |names: &[Vec<(String, String)>]| {
                names.iter().map(|name| Step::Item(name.clone()).label()).collect()
            };
            self.path.0.push(Step::Order(fields));
            self.add(Some(&labels(&old_names)), Some(&labels(&new_names)));
            self.path.0.pop();
        }
    }
}

/// Merge key of all other lists.
const USUAL_KEY: &[&str] = &["name"];

/// Returns the first merge key that identifies the items of both lists.
fn merge_key(
    list: Option<&str>,
    before: &[Json],
    after: &[Json],
) -> Option<&'static [&'static str]> {
    // By the list's name alone, because custom resources use Kubernetes' names for Kubernetes'
    // types.
    let known = list.and_then(|name| NAMES.merge_keys.get(name));
    let fits = |items: &[Json], fields: &[&str]| {
        let names: Option<Vec<_>> = items.iter().map(|item| key_of(item, fields)).collect();
        names.is_some_and(|mut names| {
            let count = names.len();
            names.sort();
            names.dedup();
            names.len() == count
        })
    };
    // The key must be unique on both sides, or items would be paired at random.
    let fits_both = |fields: &&[&str]| fits(before, fields) && fits(after, fields);
    match known {
        Some(keys) => keys.iter().map(Vec::as_slice).find(fits_both),
        None => Some(USUAL_KEY).filter(fits_both),
    }
}

/// Returns the merge key values of an item; `None` if it lacks a field. A field with `!` is required
/// but not part of the key.
pub fn key_of(item: &Json, fields: &[&str]) -> Option<Vec<(String, String)>> {
    let mut key = Vec::with_capacity(fields.len());
    for field in fields {
        if let Some(field) = field.strip_suffix('!') {
            item.get(field)?;
            continue;
        }
        let (field, optional) = match field.strip_suffix('?') {
            Some(field) => (field, true),
            None => (*field, false),
        };
        let text = text_of(item.get(field), optional)?;
        // An explicit default and no value are the same item to the API server.
        key.push((field.to_owned(), without_default(field, text)));
    }
    key.iter().any(|(_, text)| !text.is_empty()).then_some(key)
}

/// Returns true if an item has these merge key values.
pub fn is_item(item: &Json, name: &[(String, String)]) -> bool {
    name.iter().all(|(field, value)| field_text(item, field) == *value)
}

/// Returns a field of an item as a merge key value; empty if missing.
pub(super) fn field_text(item: &Json, field: &str) -> String {
    without_default(field, text_of(item.get(field), true).unwrap_or_default())
}

/// Defaults of optional fields in merge keys: an item with a default written out is the same item.
const KEY_DEFAULTS: [(&str, &str); 3] =
    [("protocol", "TCP"), ("scope", "*"), ("operator", "Equal")];

fn without_default(field: &str, text: String) -> String {
    if KEY_DEFAULTS.contains(&(field, text.as_str())) { String::new() } else { text }
}

/// Returns the merge key value of a field; `None` if it cannot be part of a key.
fn text_of(value: Option<&Json>, optional: bool) -> Option<String> {
    match value {
        Some(Json::String(text)) => Some(text.clone()),
        Some(Json::Number(number)) => Some(number.to_string()),
        Some(Json::Array(items)) if optional => {
            let mut texts: Vec<&str> = items.iter().filter_map(Json::as_str).collect();
            // The order of groups or resources in a rule has no meaning.
            texts.sort_unstable();
            // An empty API group would be invisible in a path.
            let texts = texts.into_iter().map(|text| if text.is_empty() { "core" } else { text });
            Some(join(texts, ","))
        }
        None if optional => Some(String::new()),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
