//! References between objects, for finding removed objects that are still referenced.

use crate::read::{at, is_true, items, text};
use crate::{Identity, Side};
use indexmap::IndexSet;
use serde_json::Value as Json;
use std::collections::BTreeMap;

/// Referencing objects by the kind, namespace and name of the referenced object.
pub(super) struct References {
    named: BTreeMap<(String, String, String), IndexSet<String>>,
    /// The release namespace, which identities omit.
    release: String,
}

impl References {
    /// Collects the references of all objects of a side.
    pub(super) fn of(side: &Side) -> Self {
        let mut references = References { named: BTreeMap::new(), release: side.namespace.clone() };
        for (id, object) in &side.objects {
            match id.kind.as_str() {
                "CustomResourceDefinition" => {
                    // Schemas have properties with the names of these fields.
                    if let Some(conversion) = object.pointer("/spec/conversion") {
                        references.walk(conversion, id);
                    }
                }
                _ if crate::is_description(id) => {}
                _ => references.walk(object, id),
            }
        }
        references
    }

    /// Returns the objects that reference `id`.
    pub(super) fn to(&self, id: &Identity) -> Vec<&str> {
        let key = (id.kind.clone(), id.namespace.clone(), id.name.clone());
        self.named.get(&key).into_iter().flatten().map(String::as_str).collect()
    }

    fn add(&mut self, kind: &str, namespace: &str, name: &str, from: &Identity) {
        if !name.is_empty() {
            // Identities have no release namespace, so that charts of different namespaces can be
            // compared.
            let namespace = if namespace == self.release { "" } else { namespace };
            let key = (kind.to_owned(), namespace.to_owned(), name.to_owned());
            self.named.entry(key).or_default().insert(from.to_string());
        }
    }

    /// Adds the references in `value`, recursively.
    fn walk(&mut self, value: &Json, from: &Identity) {
        let map = match value {
            Json::Array(items) => return items.iter().for_each(|item| self.walk(item, from)),
            Json::Object(map) => map,
            _ => return,
        };

        let here = from.namespace.as_str();
        let place = |value| at(value, &["namespace"]).and_then(Json::as_str).unwrap_or(here);
        for (key, value) in map {
            match key.as_str() {
                "imagePullSecrets" => {
                    let names = items(value, &[]).iter().map(|item| text(item, &["name"]));
                    names.for_each(|name| self.add("Secret", here, name, from));
                }
                // Webhooks, APIServices and Ingresses.
                "service" | "backend" => {
                    self.add("Service", place(value), text(value, &["name"]), from);
                }
                "subjects" => {
                    let is_account = |item: &&Json| text(*item, &["kind"]) == "ServiceAccount";
                    for item in items(value, &[]).iter().filter(is_account) {
                        self.add("ServiceAccount", place(item), text(item, &["name"]), from);
                    }
                }
                "roleRef" => match text(value, &["kind"]) {
                    "ClusterRole" => self.add("ClusterRole", "", text(value, &["name"]), from),
                    _ => self.add("Role", here, text(value, &["name"]), from),
                },
                // Pods start without an optional object.
                _ if is_true(value, &["optional"]) => {}
                field => {
                    for (_, kind, name) in FIELDS.iter().filter(|(name, ..)| *name == field) {
                        let namespace = if *kind == "PriorityClass" { "" } else { here };
                        self.add(kind, namespace, text(value, name), from);
                    }
                }
            }
            self.walk(value, from);
        }
    }
}

/// Fields with a reference to an object in the same namespace: the kind of the object, and the keys
/// with its name.
const FIELDS: [(&str, &str, &[&str]); 10] = [
    ("serviceAccountName", "ServiceAccount", &[]),
    ("configMapRef", "ConfigMap", &["name"]),
    ("configMapKeyRef", "ConfigMap", &["name"]),
    ("configMap", "ConfigMap", &["name"]),
    ("secretRef", "Secret", &["name"]),
    ("secretKeyRef", "Secret", &["name"]),
    ("secret", "Secret", &["name"]),
    ("secret", "Secret", &["secretName"]),
    ("persistentVolumeClaim", "PersistentVolumeClaim", &["claimName"]),
    ("priorityClassName", "PriorityClass", &[]),
];
