//! Compares a value of a Kubernetes API type, as it is written, with the JSON that it was read from.
//!
//! Reading alone does not check two facts that the types of k8s-openapi know: they write a required
//! field also if JSON lacks it, with the zero value of its type, and a quantity, which is any text to
//! them, as a type of its own. So both are checked for all fields of all kinds, without a list.

use super::typed::TypeMismatch;
use crate::diag::quoted;
use crate::ir::{ReadValue, push_key, quantity};
use serde::Serialize;
use serde_json::Value as Json;
use std::collections::HashMap;

/// Required fields whose zero value the API server accepts, with their type.
const ZERO_IS_VALID: [(&str, &str); 9] = [
    ("CustomResourceDefinitionVersion", "served"),
    ("CustomResourceDefinitionVersion", "storage"),
    ("HTTPHeader", "value"),
    // Of ServiceAccounts and pods: nothing is pulled with it.
    ("LocalObjectReference", "name"),
    // A namespace without limits.
    ("LimitRangeSpec", "limits"),
    // The first logical unit.
    ("ISCSIVolumeSource", "lun"),
    ("SleepAction", "seconds"),
    // Of a claim template, which needs neither.
    ("PersistentVolumeClaim", "apiVersion"),
    ("PersistentVolumeClaim", "kind"),
];

/// Fields that a type does not require, but the API server: at least one of them. The types, and so the
/// fields, are those of k8s-openapi; `validation.go` of each group has the rules.
const REQUIRED_BY_SERVER: [(&str, &[&str]); 25] = [
    ("AggregationRule", &["clusterRoleSelectors"]),
    ("DownwardAPIVolumeFile", &["fieldRef", "resourceFieldRef"]),
    ("EnvFromSource", &["configMapRef", "secretRef"]),
    (
        "EnvVarSource",
        &["configMapKeyRef", "fieldRef", "fileKeyRef", "resourceFieldRef", "secretKeyRef"],
    ),
    ("Ingress", &["spec"]),
    ("IngressBackend", &["resource", "service"]),
    ("IngressClass", &["spec"]),
    ("IngressClassSpec", &["controller"]),
    ("IngressServiceBackend", &["port"]),
    ("IngressSpec", &["defaultBackend", "rules"]),
    ("Job", &["spec"]),
    ("JobTemplateSpec", &["spec"]),
    ("NetworkPolicyPeer", &["ipBlock", "namespaceSelector", "podSelector"]),
    ("PersistentVolumeClaim", &["spec"]),
    ("Pod", &["spec"]),
    ("PodTemplateSpec", &["spec"]),
    ("Probe", &["exec", "grpc", "httpGet", "tcpSocket"]),
    ("RuleWithOperations", &["apiGroups"]),
    ("RuleWithOperations", &["apiVersions"]),
    ("RuleWithOperations", &["operations"]),
    ("RuleWithOperations", &["resources"]),
    ("SecretVolumeSource", &["secretName"]),
    ("Service", &["spec"]),
    ("ServiceBackendPort", &["name", "number"]),
    ("WebhookClientConfig", &["service", "url"]),
];

/// Required fields that a map lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingField {
    /// JSON path of the map; empty for the object itself.
    pub path: String,
    /// The fields, of which one is enough.
    pub fields: Vec<String>,
}

impl MissingField {
    /// Describes what an object lacks: "has no value …".
    pub fn describe(&self) -> String {
        let Self { path, fields } = self;
        match fields.as_slice() {
            [field] => format!("has no value for required field `{path}.{field}`"),
            fields => format!("has none of {} at `{path}`", quoted(fields).join(", ")),
        }
    }
}

/// The findings about a value.
#[derive(Debug, Default)]
pub(super) struct Findings {
    /// Required fields that JSON lacks.
    pub(super) missing: Vec<MissingField>,
    /// Values that their type does not allow.
    pub(super) mismatches: Vec<TypeMismatch>,
}

/// Compares a value with the JSON that it was read from.
pub(super) fn walk<T: Serialize>(read: &ReadValue<T>, json: &Json) -> Findings {
    // What was read from JSON can be written as JSON.
    let written = serde_json::to_value(&read.value).unwrap_or_default();
    let mut walk = Walk { types: &read.types, path: String::new(), found: Findings::default() };
    walk.value(&written, json);
    walk.found
}

/// One walk through a value, as JSON.
struct Walk<'r> {
    /// Names of types by path.
    types: &'r HashMap<String, &'static str>,
    path: String,
    found: Findings,
}

impl Walk<'_> {
    /// Compares a value, as its type writes it, with the JSON.
    fn value(&mut self, written: &Json, json: &Json) {
        let name = self.types.get(&self.path).copied().unwrap_or_default();
        match name {
            "Quantity" => {
                self.expect(quantity(json).is_some(), "a quantity such as `500m` or `1Gi`")
            }
            // A struct without fields, which k8s-openapi reads as any value.
            "CustomResourceSubresourceStatus" => self.expect(json.is_object(), "a map"),
            _ => {}
        }

        let length = self.path.len();
        for (key, value) in written.as_object().into_iter().flatten() {
            if let Some(json) = json.get(key) {
                push_key(&mut self.path, key);
                self.value(value, json);
                self.path.truncate(length);
            } else if !ZERO_IS_VALID.contains(&(name, key)) {
                self.lacks(&[key]);
            }
        }
        // Both lists have the same length, because one was read from the other.
        let items = written.as_array().into_iter().flatten();
        for (index, (item, json)) in items.zip(json.as_array().into_iter().flatten()).enumerate() {
            self.path.push_str(&format!("[{index}]"));
            self.value(item, json);
            self.path.truncate(length);
        }

        for (of, fields) in REQUIRED_BY_SERVER {
            if of == name && fields.iter().all(|field| json.get(field).is_none()) {
                self.lacks(fields);
            }
        }
    }

    fn expect(&mut self, fits: bool, expected: &str) {
        if !fits {
            let why = format!("it must be {expected}");
            self.found.mismatches.push(TypeMismatch { path: self.path.clone(), why });
        }
    }

    fn lacks(&mut self, fields: &[&str]) {
        let fields = fields.iter().map(|field| (*field).to_owned()).collect();
        self.found.missing.push(MissingField { path: self.path.clone(), fields });
    }
}

#[cfg(test)]
mod tests;
