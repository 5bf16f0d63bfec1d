//! Representatives of equal entries of lists, so that the product of long lists is bounded.
//!
//! A rule of RBAC or of a webhook means every combination of its lists: four lists of a thousand
//! entries mean 10¹² combinations. Entries that are in the same lists of both sides gain and lose the
//! same combinations, so one of them stands for all.

use crate::read::texts;
use indexmap::IndexMap;
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
            let mut places: IndexMap<&'a str, Vec<usize>> = IndexMap::new();
            for (rule, lists) in rules.iter().enumerate() {
                for entry in lists.get(kind).into_iter().flatten() {
                    let rules = places.entry(entry).or_default();
                    if rules.last() != Some(&rule) {
                        rules.push(rule);
                    }
                }
            }
            let mut first: HashMap<(&[usize], &str), &'a str> = HashMap::new();
            for (entry, rules) in &places {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Side;
    use crate::rules::{rbac, webhook};
    use serde_json::json;

    fn names(count: usize) -> Vec<String> {
        (0..count).map(|number| format!("n{number}")).collect()
    }

    /// Entries that rules know by name stand for themselves, and others for their equals.
    #[track_caller]
    fn assert_entries(
        entries: &Representatives<'_, 4>,
        own: &[(usize, &[&str])],
        equal: &[(usize, &str, &str)],
    ) {
        for (list, own) in own {
            for entry in *own {
                assert_eq!(entries.one(*list, entry), *entry, "in list {list}");
            }
        }
        for (list, entry, other) in equal {
            assert_eq!((entries.one(*list, entry), entries.one(*list, other)), (*entry, *entry));
        }
    }

    #[test]
    fn equal_entries_of_roles() {
        let verbs = [
            "*",
            "get",
            "list",
            "watch",
            "create",
            "update",
            "patch",
            "delete",
            "deletecollection",
            "use",
            "bind",
            "escalate",
            "impersonate",
            "approve",
            "sign",
        ];
        let all: Vec<&str> = verbs.into_iter().chain(["x", "y"]).collect();
        let resources = [
            "*",
            "*/scale",
            "roles",
            "clusterroles",
            "secrets",
            "serviceaccounts/token",
            "ks",
            "ks/scale",
            "ls",
            "ls/scale",
            "ls/token",
        ];
        let rule = json!({
            "apiGroups": ["", "*", "rbac.authorization.k8s.io", "g", "i", "h"],
            "resources": resources,
            "resourceNames": names(10),
            "verbs": all,
        });
        let other = json!({"apiGroups": ["i"], "resources": ["ms"], "verbs": ["v"]});
        let side = |kind: &str| {
            let rules = [rule.clone(), other.clone()];
            let api = "rbac.authorization.k8s.io/v1";
            let role = json!({"apiVersion": api, "kind": kind, "metadata": {"name": "r"},
                "rules": rules});
            Side::new("x", [role], "ns", None)
        };
        for kind in ["Role", "ClusterRole"] {
            let (old, new) = (side(kind), Side::new("x", [], "ns", None));
            assert_entries(
                &rbac::entries([&old, &new]),
                &[
                    (0, &["", "*", "rbac.authorization.k8s.io", "g", "i"]),
                    (1, &resources[..8]),
                    (1, &["ls/token"]),
                    (3, &verbs),
                ],
                &[
                    (0, "g", "h"),
                    (1, "ks", "ls"),
                    (1, "ks/scale", "ls/scale"),
                    (2, "n0", "n9"),
                    (3, "x", "y"),
                ],
            );
        }
        let old = side("Thing");
        assert_entries(&rbac::entries([&old, &old]), &[(0, &["g", "h"])], &[]);
    }

    #[test]
    fn equal_entries_of_webhooks() {
        let mut resources = vec!["*".to_owned(), "ks/*".to_owned(), "ks/scale".to_owned()];
        resources.extend(names(10_000));
        let rule = json!({
            "apiGroups": ["*", "g", "apps", "h", "batch"],
            "apiVersions": ["*", "v1", "v2"],
        "resources": resources,
            "operations": ["CREATE", "UPDATE"],
        });
        let webhooks = json!({"webhooks": [{"rules": [rule]}]});
        assert_entries(
            &webhook::entries([None, Some(&webhooks)]),
            &[
                (0, &["*", "g", "apps"]),
                (1, &["*"]),
                (2, &["*", "ks/*", "ks/scale"]),
                (3, &["CREATE", "UPDATE"]),
            ],
            &[(0, "g", "h"), (0, "apps", "batch"), (1, "v1", "v2"), (2, "n0", "n9999")],
        );
    }

    #[test]
    fn only_long_lists_have_representatives() {
        for (count, other) in [(MOST, "n1"), (MOST + 1, "n0")] {
            let rule = json!({"a": names(count), "b": ["x"]});
            let entries = Representatives::of(["a", "b", "c"], [&rule], |_, _| Some(""));
            assert_eq!(entries.one(0, "n1"), other);
            let [a, b, c] = entries.lists(&rule);
            assert_eq!((a.len() == 1, b, c), (count > MOST, vec!["x"], Vec::new()));
        }
    }
}
