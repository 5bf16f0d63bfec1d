//! Lookup of values by path in one object, and of what several edits ask for.
//!
//! Rules look up the list item of every edit, so long lists have an index: linear searches would be
//! quadratic in the length of the list.

use crate::path::Step;
use crate::read::child;
use crate::tree::{field_text, is_item};
use serde_json::Value as Json;
use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::Hash;
use std::rc::Rc;

/// Maximum length of lists that are searched without an index.
const SHORT: usize = 8;

/// Values by what they are computed from, each computed once: thousands of edits may share one. The key
/// of a part of an object is its address, which is stable while the object is borrowed.
pub(super) struct Memo<K, V>(RefCell<HashMap<K, V>>);

impl<K, V> Default for Memo<K, V> {
    fn default() -> Self {
        Memo(RefCell::default())
    }
}

impl<K: Eq + Hash, V: Clone> Memo<K, V> {
    /// Returns the value for a key, computed if it is not known.
    pub(super) fn get(&self, key: K, compute: impl FnOnce(&K) -> V) -> V {
        self.0.borrow_mut().entry(key).or_insert_with_key(compute).clone()
    }
}

/// Items of a long list by the values of fields; the first of equal items wins.
type Items<'j> = Rc<HashMap<Vec<String>, &'j Json>>;

/// Finds values in one object.
pub(super) struct Lookup<'j> {
    pub(super) root: Option<&'j Json>,
    /// One list can be addressed by different fields, such as ports by name and by number.
    lists: Memo<(*const Json, Vec<String>), Items<'j>>,
}

impl<'j> Lookup<'j> {
    /// Creates a lookup in an object; without one, it finds nothing.
    pub(super) fn new(root: Option<&'j Json>) -> Self {
        Lookup { root, lists: Memo::default() }
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

        let (fields, values): (Vec<String>, Vec<String>) = name.iter().cloned().unzip();
        let index = self.lists.get((std::ptr::from_ref(list), fields), |(_, fields)| {
            let values = |item| fields.iter().map(|field| field_text(item, field)).collect();
            Rc::new(items.iter().rev().map(|item| (values(item), item)).collect())
        });
        index.get(&values).copied()
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
