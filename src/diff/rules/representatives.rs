//! Representatives of equal entries of lists, so that the product of long lists is bounded.
//!
//! A rule of RBAC or of a webhook means every combination of its lists: four lists of a thousand
//! entries mean 10¹² combinations. Entries that are in the same lists of both sides gain and lose the
//! same combinations, so one of them stands for all.

use crate::read::texts;
use serde_json::Value as Json;
use std::collections::{HashMap, HashSet};

/// Maximum number of combinations of one rule that are compared one by one.
const MOST: usize = 10_000;

/// The representatives of the entries of `N` kinds of lists; without long lists, every entry stands
/// for itself.
#[derive(Debug)]
pub(super) struct Representatives<'a, const N: usize> {
    /// The fields of a rule with its lists.
    fields: [&'static str; N],
    chosen: [HashMap<&'a str, &'a str>; N],
}

impl<'a, const N: usize> Representatives<'a, N> {
    /// Returns the representatives of the lists of all rules of both sides. Entries with different
    /// keys never stand for each other; without a key, an entry stands for itself only.
    pub(super) fn of<'k>(
        fields: [&'static str; N],
        rules: impl IntoIterator<Item = &'a Json>,
        key: impl Fn(usize, &'a str) -> Option<&'k str>,
    ) -> Self {
        let rules = rules.into_iter().map(|rule| fields.map(|field| texts(rule, &[field])));
        let rules: Vec<[Vec<&str>; N]> = rules.collect();
        let mut chosen: [HashMap<&'a str, &'a str>; N] = std::array::from_fn(|_| HashMap::new());
        let size = |lists: &[Vec<&str>; N]| {
            lists.iter().fold(1_usize, |size, list| size.saturating_mul(list.len().max(1)))
        };
        if rules.iter().all(|lists| size(lists) <= MOST) {
            return Representatives { fields, chosen };
        }

        for (kind, chosen) in chosen.iter_mut().enumerate() {
            let mut places: HashMap<&'a str, Vec<usize>> = HashMap::new();
            let mut order = Vec::new();
            for (rule, lists) in rules.iter().enumerate() {
                for entry in lists.get(kind).into_iter().flatten() {
                    let rules = places.entry(entry).or_insert_with(|| {
                        order.push(*entry);
                        Vec::new()
                    });
                    if rules.last() != Some(&rule) {
                        rules.push(rule);
                    }
                }
            }
            let mut first: HashMap<(&[usize], &str), &'a str> = HashMap::new();
            for entry in order {
                let rules = places.get(entry).map(Vec::as_slice).unwrap_or_default();
                if let Some(key) = key(kind, entry) {
                    chosen.insert(entry, first.entry((rules, key)).or_insert(entry));
                }
            }
        }
        Representatives { fields, chosen }
    }

    /// Returns the representative of an entry.
    pub(super) fn one<'t>(&self, kind: usize, entry: &'t str) -> &'t str
    where
        'a: 't,
    {
        self.chosen.get(kind).and_then(|chosen| chosen.get(entry)).copied().unwrap_or(entry)
    }

    /// Returns the representatives of the lists of a rule, each once.
    pub(super) fn lists(&self, rule: &'a Json) -> [Vec<&'a str>; N] {
        std::array::from_fn(|kind| {
            let list = self.fields.get(kind).map(|field| texts(rule, &[field])).unwrap_or_default();
            // Without long lists, entries may be repeated.
            if self.chosen.iter().all(HashMap::is_empty) {
                return list;
            }
            let mut seen = HashSet::new();
            let list = list.into_iter().map(|entry| self.one(kind, entry));
            list.filter(|entry| seen.insert(*entry)).collect()
        })
    }
}
