//! References between objects, for finding removed objects that are still referenced.

use crate::{Identity, Side};
use indexmap::IndexSet;
use serde_json::Value as Json;
use std::collections::BTreeMap;

/// Referencing objects by the kind, namespace and name of the referenced object.
pub(super) struct References {
    named: BTreeMap<(&'static str, String, String), IndexSet<String>>,
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
        let kind = KINDS.iter().find(|kind| **kind == id.kind);
        let who =
            kind.and_then(|kind| self.named.get(&(*kind, id.namespace.clone(), id.name.clone())));
        who.into_iter().flatten().map(String::as_str).collect()
    }

    fn add(&mut self, kind: &'static str, namespace: &str, name: Option<&Json>, from: &Identity) {
        if let Some(name) = name.and_then(Json::as_str).filter(|name| !name.is_empty()) {
            // Identities have no release namespace, so that charts of different namespaces can be
            // compared.
            let namespace = if namespace == self.release { "" } else { namespace };
            let key = (kind, namespace.to_owned(), name.to_owned());
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

        let here = from.namespace.clone();
        for (key, value) in map {
            match key.as_str() {
                "serviceAccountName" => self.add("ServiceAccount", &here, Some(value), from),
                // Pods start without an optional one.
                "configMapRef" | "configMapKeyRef" | "configMap" if !optional(value) => {
                    self.add("ConfigMap", &here, value.get("name"), from);
                }
                "secretRef" | "secretKeyRef" if !optional(value) => {
                    self.add("Secret", &here, value.get("name"), from);
                }
                "secret" if !optional(value) => {
                    self.add("Secret", &here, value.get("secretName").or(value.get("name")), from);
                }
                "persistentVolumeClaim" => {
                    self.add("PersistentVolumeClaim", &here, value.get("claimName"), from);
                }
                "imagePullSecrets" => {
                    for item in value.as_array().into_iter().flatten() {
                        self.add("Secret", &here, item.get("name"), from);
                    }
                }
                "priorityClassName" => self.add("PriorityClass", "", Some(value), from),
                // Webhooks, APIServices and Ingresses.
                "service" | "backend" => {
                    let namespace = value.get("namespace").and_then(Json::as_str);
                    let namespace = namespace.unwrap_or(&here).to_owned();
                    self.add("Service", &namespace, value.get("name"), from);
                }
                "subjects" => {
                    for item in value.as_array().into_iter().flatten() {
                        if item.get("kind").and_then(Json::as_str) == Some("ServiceAccount") {
                            let namespace = item.get("namespace").and_then(Json::as_str);
                            let namespace = namespace.unwrap_or(&here).to_owned();
                            self.add("ServiceAccount", &namespace, item.get("name"), from);
                        }
                    }
                }
                "roleRef" => match value.get("kind").and_then(Json::as_str) {
                    Some("ClusterRole") => self.add("ClusterRole", "", value.get("name"), from),
                    _ => self.add("Role", &here, value.get("name"), from),
                },
                _ => {}
            }
            self.walk(value, from);
        }
    }
}

/// Kinds of referenced objects.
const KINDS: [&str; 8] = [
    "ServiceAccount",
    "ConfigMap",
    "Secret",
    "PersistentVolumeClaim",
    "PriorityClass",
    "Service",
    "ClusterRole",
    "Role",
];

fn optional(value: &Json) -> bool {
    value.get("optional").and_then(Json::as_bool).unwrap_or_default()
}
