//! Lookup of values by path in one object.
//!
//! Rules look up the list item of every edit, so long lists have an index: linear searches would be
//! quadratic in the length of the list.

use crate::path::Step;
use crate::read::child;
use crate::tree::{field_text, is_item};
use serde_json::Value as Json;
use std::cell::RefCell;
use std::collections::HashMap;

/// Maximum length of lists that are searched without an index.
const SHORT: usize = 8;

/// Index of one list by the values of `fields`; the first of equal items wins.
struct Items<'j> {
    fields: Vec<String>,
    by_values: HashMap<Vec<String>, &'j Json>,
}

/// Finds values in one object.
pub(super) struct Lookup<'j> {
    root: Option<&'j Json>,
    /// Indexes by the address of the list, which is stable while the object is borrowed.
    lists: RefCell<HashMap<*const Json, Vec<Items<'j>>>>,
}

impl<'j> Lookup<'j> {
    /// Creates a lookup in an object; without one, it finds nothing.
    pub(super) fn new(root: Option<&'j Json>) -> Self {
        Lookup { root, lists: RefCell::default() }
    }

    /// Returns the object.
    pub(super) fn root(&self) -> Option<&'j Json> {
        self.root
    }

    /// Returns the value at a path of the object.
    pub(super) fn at(&self, path: &[Step]) -> Option<&'j Json> {
        path.iter().try_fold(self.root?, |value, step| match step {
            Step::Item(name) => self.item(value, name),
            step => child(value, step),
        })
    }

    fn item(&self, list: &'j Json, name: &[(String, String)]) -> Option<&'j Json> {
        let items = list.as_array()?;
        // Building an index costs more than a search in a short list.
        if items.len() <= SHORT {
            return items.iter().find(|item| is_item(item, name));
        }

        let mut lists = self.lists.borrow_mut();
        let indexes = lists.entry(std::ptr::from_ref(list)).or_default();
        let fields = || name.iter().map(|(field, _)| field);
        // One list can be addressed by different keys, such as ports by name and by number.
        let known = indexes.iter().position(|index| index.fields.iter().eq(fields()));
        if known.is_none() {
            indexes.push(Items::of(items, fields().cloned().collect()));
        }

        let index = known.map_or_else(|| indexes.last(), |known| indexes.get(known))?;
        let values: Vec<String> = name.iter().map(|(_, value)| value.clone()).collect();
        index.by_values.get(&values).copied()
    }
}

impl<'j> Items<'j> {
    fn of(items: &'j [Json], fields: Vec<String>) -> Self {
        let mut by_values = HashMap::with_capacity(items.len());
        for item in items {
            let values = fields.iter().map(|field| field_text(item, field)).collect();
            by_values.entry(values).or_insert(item);
        }
        Items { fields, by_values }
    }
}

#[cfg(test)]
mod tests {
    use super::{Lookup, SHORT};
    use crate::path::Step;
    use serde_json::{Value as Json, json};

    #[test]
    fn items_are_the_same_with_and_without_an_index() {
        for count in [3, SHORT + 1, 100] {
            let item = |i: usize| json!({"name": format!("n{}", i % 90), "port": i % 7, "at": i});
            let object = json!({"list": (0..count).map(item).collect::<Vec<Json>>()});
            let lookup = Lookup::new(Some(&object));
            for i in 0..count {
                let (name, port) = (format!("n{}", i % 90), (i % 7).to_string());
                for fields in [
                    vec![("name".to_owned(), name.clone())],
                    vec![("name".to_owned(), name), ("port".to_owned(), port)],
                    vec![("name".to_owned(), "other".to_owned())],
                ] {
                    let items = object["list"].as_array().expect("a list");
                    let first = items.iter().find(|item| super::is_item(item, &fields));
                    let path = [Step::Key("list".to_owned()), Step::Item(fields)];
                    assert_eq!(lookup.at(&path), first, "{path:?}");
                }
            }
        }
    }
}
