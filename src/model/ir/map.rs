//! Maps in the order in which they were read.

use super::{Expr, Value};
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;

/// A map from strings to values in the order in which the keys were added.
///
/// Equality ignores the order, as it does in JSON.
#[derive(Clone, Default)]
pub struct Map {
    entries: Vec<(String, Value)>,
    /// The places of keys, while there are more than [`Map::LINEAR`] entries. A tree, because a bundle
    /// could ship keys that collide in a table of hashes.
    #[expect(clippy::box_collection, reason = "nearly all maps have none, and stay small")]
    index: Option<Box<BTreeMap<String, usize>>>,
    /// True only if no value below contains an expression. Set by the YAML reader, and cleared by
    /// every method that can change a value, here and in the maps around this one, because a value
    /// is only reached through them.
    literal: bool,
}

impl Map {
    /// Entries up to which a key is found by comparing it with each. Nearly all maps of manifests
    /// are smaller, and have no index, which would take more memory than their entries.
    pub const LINEAR: usize = 16;

    /// Returns a map without entries.
    pub const fn new() -> Self {
        Map { entries: Vec::new(), index: None, literal: false }
    }

    /// Returns a map without entries that has room for `capacity` of them.
    pub fn with_capacity(capacity: usize) -> Self {
        Map { entries: Vec::with_capacity(capacity), ..Map::new() }
    }

    /// Marks the map as literal if no value contains an expression. Maps in it that are marked are
    /// not walked again.
    pub fn mark_literal(&mut self) {
        // Children are marked before their parents, so that this looks one level down.
        self.literal = !self.entries.iter().any(|(_, value)| value.has_expression());
    }

    /// Returns true only if no value below contains an expression.
    pub fn is_literal(&self) -> bool {
        self.literal
    }

    /// Returns true if a value below is a condition, or such an expression.
    pub(super) fn has(&self, wanted: fn(&Expr) -> bool) -> bool {
        !self.literal && self.values().any(|value| value.has(wanted))
    }

    /// Returns a map of entries whose keys are known to differ.
    pub fn of_distinct(entries: Vec<(String, Value)>) -> Self {
        let mut map = Map { entries, ..Map::new() };
        map.rebuild();
        map
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns true if there are no entries.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the place of `key` among the entries.
    pub fn get_index_of(&self, key: &str) -> Option<usize> {
        match &self.index {
            None => self.entries.iter().position(|(name, _)| name == key),
            Some(index) => index.get(key).copied(),
        }
    }

    /// Returns the entry at a place.
    pub fn get_index(&self, place: usize) -> Option<(&String, &Value)> {
        self.entries.get(place).map(|(key, value)| (key, value))
    }

    /// Returns the value of `key`.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.get_index_of(key).map(|place| &self.entries[place].1)
    }

    /// Returns the value of `key`, to change it.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Value> {
        let place = self.get_index_of(key)?;
        self.literal = false;
        Some(&mut self.entries[place].1)
    }

    /// Returns true if there is an entry `key`.
    pub fn contains_key(&self, key: &str) -> bool {
        self.get_index_of(key).is_some()
    }

    /// Sets the value of `key`, at the end if it is new, and returns the one that it had.
    pub fn insert(&mut self, key: String, value: Value) -> Option<Value> {
        self.insert_full(key, value).1
    }

    /// Does the same as [`Map::insert`], and also returns the place of the entry.
    pub fn insert_full(&mut self, key: String, value: Value) -> (usize, Option<Value>) {
        self.literal = false;
        match self.get_index_of(&key) {
            Some(place) => (place, Some(std::mem::replace(&mut self.entries[place].1, value))),
            None => (self.push(key, value), None),
        }
    }

    /// Adds an entry whose key is known to be new, and returns its place.
    fn push(&mut self, key: String, value: Value) -> usize {
        let place = self.entries.len();
        self.literal = false;
        if let Some(index) = &mut self.index {
            index.insert(key.clone(), place);
        }
        self.entries.push((key, value));
        if self.index.is_none() {
            self.rebuild();
        }
        place
    }

    /// Sets the value of `key` and moves the entry to a place; returns the value that it had.
    ///
    /// # Panics
    /// If the place is beyond the end.
    pub fn shift_insert(&mut self, place: usize, key: String, value: Value) -> Option<Value> {
        self.literal = false;
        // The key may be at another place.
        let previous = self.shift_remove(&key);
        self.entries.insert(place, (key, value));
        self.rebuild();
        previous
    }

    /// Removes the entry `key` and returns its value; the entries after it move up.
    pub fn shift_remove(&mut self, key: &str) -> Option<Value> {
        let place = self.get_index_of(key)?;
        // `literal` stays: without an entry there is no new expression.
        let (key, value) = self.entries.remove(place);
        if let Some(index) = &mut self.index {
            index.remove(&key);
            // Linear, as the removal from the list is: both keep the order of the keys.
            index.values_mut().filter(|other| **other > place).for_each(|other| *other -= 1);
        }
        Some(value)
    }

    /// Keeps the entries for which `keep` is true.
    pub fn retain(&mut self, mut keep: impl FnMut(&String, &mut Value) -> bool) {
        self.literal = false;
        let before = self.entries.len();
        self.entries.retain_mut(|(key, value)| keep(key, value));
        if self.entries.len() < before {
            self.rebuild();
        }
    }

    fn rebuild(&mut self) {
        // A longer list is searched faster with an index; manifests rarely have one.
        self.index = (self.entries.len() > Map::LINEAR).then(|| {
            let places = self.entries.iter().enumerate();
            Box::new(places.map(|(place, (key, _))| (key.clone(), place)).collect())
        });
    }

    /// Returns the value of `key`, which `default` makes when the key is new.
    pub fn get_or_insert_with(&mut self, key: &str, default: impl FnOnce() -> Value) -> &mut Value {
        let place = match self.get_index_of(key) {
            Some(place) => place,
            None => self.push(key.to_owned(), default()),
        };
        // The caller may change the value that is returned.
        self.literal = false;
        &mut self.entries[place].1
    }

    /// Returns the map at `key`, which is created if there is none; any other value is replaced.
    pub fn map_at(&mut self, key: &str) -> &mut Map {
        let value = self.get_or_insert_with(key, || Value::Null);
        if value.as_map().is_none() {
            *value = Value::from(Map::new());
        }
        value.as_map_mut().unwrap_or_else(|| unreachable!("made a map above"))
    }

    /// Returns the list at `key`, which is created if there is none; any other value is replaced.
    pub fn list_at(&mut self, key: &str) -> &mut Vec<Value> {
        let value = self.get_or_insert_with(key, || Value::Null);
        if value.as_seq().is_none() {
            *value = Value::Seq(Vec::new());
        }
        value.as_seq_mut().unwrap_or_else(|| unreachable!("made a list above"))
    }

    /// Returns the entries in order.
    pub fn iter(&self) -> Iter<'_> {
        self.entries.iter().map(|(key, value)| (key, value))
    }

    /// Returns the entries in order, to change their values.
    pub fn iter_mut(&mut self) -> impl ExactSizeIterator<Item = (&String, &mut Value)> {
        self.literal = false;
        self.entries.iter_mut().map(|(key, value)| (&*key, value))
    }

    /// Returns the keys in order.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = &String> + DoubleEndedIterator + Clone {
        self.entries.iter().map(|(key, _)| key)
    }

    /// Returns the values in the order of their keys.
    pub fn values(&self) -> impl ExactSizeIterator<Item = &Value> + DoubleEndedIterator + Clone {
        self.entries.iter().map(|(_, value)| value)
    }

    /// Returns the values in the order of their keys, to change them.
    pub fn values_mut(&mut self) -> impl ExactSizeIterator<Item = &mut Value> {
        self.literal = false;
        self.entries.iter_mut().map(|(_, value)| value)
    }
}

type Pair = (String, Value);

/// The entries of a map in order.
pub type Iter<'m> =
    std::iter::Map<std::slice::Iter<'m, Pair>, fn(&'m Pair) -> (&'m String, &'m Value)>;

impl<'m> IntoIterator for &'m Map {
    type Item = (&'m String, &'m Value);
    type IntoIter = Iter<'m>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl IntoIterator for Map {
    type Item = (String, Value);
    type IntoIter = std::vec::IntoIter<(String, Value)>;

    fn into_iter(self) -> Self::IntoIter {
        self.entries.into_iter()
    }
}

impl Extend<(String, Value)> for Map {
    fn extend<I: IntoIterator<Item = (String, Value)>>(&mut self, entries: I) {
        for (key, value) in entries {
            self.insert(key, value);
        }
    }
}

impl FromIterator<(String, Value)> for Map {
    fn from_iter<I: IntoIterator<Item = (String, Value)>>(entries: I) -> Self {
        let entries = entries.into_iter();
        let mut map = Map::with_capacity(entries.size_hint().0);
        map.extend(entries);
        map
    }
}

impl Serialize for Map {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self)
    }
}

impl PartialEq for Map {
    fn eq(&self, other: &Self) -> bool {
        // The order of keys is for people: maps with the same entries are equal.
        self.len() == other.len()
            && self.iter().all(|(key, value)| other.get(key).is_some_and(|found| found == value))
    }
}

impl std::fmt::Debug for Map {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests;
