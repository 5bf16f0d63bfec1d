//! The tables `[bundle.namespaces]` and `[bundle.service-accounts]` of a hand-made chart.

use super::hand_made::without_namespace;
use crate::add::{list, quoted};
use crate::diff::Identity;
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// Pre-created namespaces and ServiceAccounts of an operator's operands.
#[derive(Debug)]
pub(super) struct Operands {
    /// Namespaces besides the release's.
    pub namespaces: BTreeSet<String>,
    /// True if the hand-made chart creates them.
    pub are_created: bool,
    /// Names of ServiceAccounts by namespace, which is empty for the release's.
    accounts: BTreeMap<String, BTreeSet<String>>,
}

impl Operands {
    /// Removes the objects that the tables create with the same fields. A chart creates neither its
    /// `own` namespaces nor those of the cluster.
    pub(super) fn take(objects: &mut Vec<(Identity, Json)>, own: &[&str]) -> Self {
        let can_create =
            |name: &str| !own.contains(&name) && name != "default" && !name.starts_with("kube-");
        let is_namespace = |(id, object): &mut (Identity, Json)| {
            id.kind == "Namespace" && can_create(&id.name) && is_bare(object)
        };
        // Namespaces first: ServiceAccounts in them follow.
        let namespaces = objects.extract_if(.., is_namespace).map(|(id, _)| id.name);
        let mut namespaces: BTreeSet<String> = namespaces.collect();

        // One value is for all of them: whether the chart creates them.
        let are_created = !namespaces.is_empty();
        let overlays = objects.iter().filter(|(id, _)| id.kind == "Namespace");
        let overlays: BTreeSet<String> = overlays.map(|(id, _)| id.name.clone()).collect();
        let mut accounts: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let is_account = |(id, object): &mut (Identity, Json)| {
            let name = &id.namespace;
            let is_known = name.is_empty() || namespaces.contains(name);
            let is_new = !are_created && can_create(name) && !overlays.contains(name);
            id.kind == "ServiceAccount" && (is_known || is_new) && is_bare(object)
        };
        for (id, _) in objects.extract_if(.., is_account) {
            accounts.entry(id.namespace).or_default().insert(id.name);
        }
        namespaces.extend(accounts.keys().filter(|name| !name.is_empty()).cloned());
        Self { namespaces, are_created, accounts }
    }

    /// Returns the TOML text of both tables.
    pub(super) fn tables(&self) -> String {
        // `release` is the release namespace, and a key starts with a letter.
        let mut keys = BTreeMap::from([("release".to_owned(), "")]);
        for name in &self.namespaces {
            let mut key = name.clone();
            while keys.contains_key(&key) || key.starts_with(|first: char| first.is_ascii_digit()) {
                // Until it is free: a namespace may be called `operand-release`.
                key = format!("operand-{key}");
            }
            keys.insert(key, name);
        }

        let mut text = String::new();
        if !self.namespaces.is_empty() {
            text += "\n[bundle.namespaces]\n";
        }
        for (key, name) in keys.iter().filter(|(_, name)| !name.is_empty()) {
            let _ = writeln!(text, "{key} = {}", quoted(name));
        }
        if !self.accounts.is_empty() {
            text += "\n[bundle.service-accounts]\n";
        }
        for (key, name) in &keys {
            if let Some(accounts) = self.accounts.get(*name) {
                let accounts: Vec<&String> = accounts.iter().collect();
                let _ = writeln!(text, "{key} = {}", list(&accounts));
            }
        }
        text
    }
}

/// Returns true for an object that is as the tables create it: with a name and a namespace only, and
/// a Namespace is kept.
fn is_bare(object: &Json) -> bool {
    let mut metadata = json!({"name": object["metadata"]["name"]});
    if object["kind"] == "Namespace" {
        metadata["annotations"] = json!({"helm.sh/resource-policy": "keep"});
    }
    without_namespace(object)
        == json!({"apiVersion": "v1", "kind": object["kind"], "metadata": metadata})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operands(objects: &[(&str, &str, &str)]) -> (String, usize) {
        let mut objects: Vec<(Identity, Json)> = (objects.iter())
            .map(|(kind, namespace, name)| {
                let mut metadata = json!({"name": name, "namespace": namespace});
                if *kind == "Namespace" {
                    metadata["annotations"] = json!({"helm.sh/resource-policy": "keep"});
                }
                let object = json!({"apiVersion": "v1", "kind": kind, "metadata": metadata});
                (Identity::of(&object), object)
            })
            .collect();
        let operands = Operands::take(&mut objects, &["own"]);
        (operands.tables(), objects.len())
    }

    #[test]
    fn keys_are_unique_and_start_with_a_letter() {
        let names = ["release", "operand-release", "1st", "operand-1st"];
        let (text, left) = operands(&names.map(|name| ("Namespace", "", name)));
        let read: toml::Table = text.parse().expect("TOML");
        let keys: BTreeSet<&str> = (read["bundle"]["namespaces"].as_table().expect("a table"))
            .iter()
            .map(|(_, name)| name.as_str().expect("a name"))
            .collect();
        assert_eq!((keys, left), (BTreeSet::from(names), 0));
    }

    #[test]
    fn what_a_chart_does_not_create_stays() {
        for name in ["own", "default", "kube-system"] {
            assert_eq!(operands(&[("Namespace", "", name)]), (String::new(), 1), "{name}");
            assert_eq!(operands(&[("ServiceAccount", name, "a")]), (String::new(), 1), "{name}");
        }
        // The same account twice, in the release namespace under its two names.
        let (text, left) = operands(&[("ServiceAccount", "", "a"), ("ServiceAccount", "", "a")]);
        assert_eq!((&*text, left), ("\n[bundle.service-accounts]\nrelease = [\"a\"]\n", 0));
        // The chart creates one of two namespaces: the other exists.
        let (text, left) = operands(&[
            ("Namespace", "", "b"),
            ("ServiceAccount", "b", "a"),
            ("ServiceAccount", "c", "a"),
        ]);
        assert_eq!(left, 1);
        assert!(text.ends_with("[bundle.service-accounts]\nb = [\"a\"]\n"), "{text}");
    }
}
