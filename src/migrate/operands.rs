//! The tables `[bundle.namespaces]` and `[bundle.service-accounts]` of a hand-made chart.

use super::hand_made::without_release_labels;
use crate::diff::Identity;
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// Namespaces and ServiceAccounts that are there before the operator makes its operands.
#[derive(Debug, Default)]
pub(super) struct Operands {
    /// Namespaces besides the release's, and whether the hand-made chart creates them.
    pub namespaces: BTreeMap<String, bool>,
    /// Names of ServiceAccounts by namespace, which is empty for the release's.
    accounts: BTreeMap<String, Vec<String>>,
}

impl Operands {
    /// Takes those objects that the tables create with the same fields. A chart creates neither its
    /// `own` namespace nor those of the cluster.
    pub(super) fn take(objects: &mut Vec<(Identity, Json)>, own: &str) -> Self {
        let mut operands = Self::default();
        let is_namespace = |(id, object): &mut (Identity, Json)| {
            id.kind == "Namespace" && id.name != own && is_bare(object)
        };
        for (id, _) in objects.extract_if(.., is_namespace) {
            operands.namespaces.insert(id.name, true);
        }

        let overlays = objects.iter().filter(|(id, _)| id.kind == "Namespace");
        let overlays: BTreeSet<String> = overlays.map(|(id, _)| id.name.clone()).collect();
        let is_account = |(id, object): &mut (Identity, Json)| {
            let place = &id.namespace;
            let is_other =
                overlays.contains(place) || place == "default" || place.starts_with("kube-");
            id.kind == "ServiceAccount" && !is_other && is_bare(object)
        };
        for (id, _) in objects.extract_if(.., is_account) {
            if !id.namespace.is_empty() {
                operands.namespaces.entry(id.namespace.clone()).or_insert(false);
            }
            operands.accounts.entry(id.namespace).or_default().push(id.name);
        }
        operands
    }

    /// Returns the tables, for a bundle.
    pub(super) fn tables(&self) -> String {
        // A key starts with a letter, and `release` is the release namespace.
        let key = |name: &str| match name {
            "" => "release".to_owned(),
            "release" => "operand-release".to_owned(),
            name if name.starts_with(|first: char| first.is_ascii_digit()) => {
                format!("operand-{name}")
            }
            name => name.to_owned(),
        };
        let mut text = String::new();
        if !self.namespaces.is_empty() {
            text += "\n[bundle.namespaces]\n";
        }
        for name in self.namespaces.keys() {
            let _ = writeln!(text, "{} = {}", key(name), json!(name));
        }
        if !self.accounts.is_empty() {
            text += "\n[bundle.service-accounts]\n";
        }
        for (namespace, names) in &self.accounts {
            let _ = writeln!(text, "{} = {}", key(namespace), crate::add::list(names));
        }
        text
    }
}

/// Returns true for an object that is as the tables create it: with a name and a namespace only, and
/// a Namespace is kept.
fn is_bare(object: &Json) -> bool {
    let mut own = without_release_labels(object);
    if let Some(metadata) = own["metadata"].as_object_mut() {
        metadata.shift_remove("namespace");
    }
    let mut metadata = json!({"name": object["metadata"]["name"]});
    if object["kind"] == "Namespace" {
        metadata["annotations"] = json!({"helm.sh/resource-policy": "keep"});
    }
    own == json!({"apiVersion": "v1", "kind": object["kind"], "metadata": metadata})
}
