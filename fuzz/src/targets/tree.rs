//! Changes of JSON trees, chosen by the bytes of an input. Keys and texts are those that the compiler
//! and `diff` look for, and those that are syntax to YAML or Helm.

use arbitrary::{Result, Unstructured};
use serde_json::{Map, Value as Json, json};

const TEXTS: &[&str] = &[
    "",
    " ",
    "a",
    "-",
    "{{",
    "}}",
    "{{ end }}",
    "{{- \"a\" -}}",
    "'",
    "\"",
    "\\",
    "#",
    ": ",
    "- ",
    "|",
    "~",
    "null",
    "yes",
    "n",
    "0",
    "007",
    "1e3",
    "0x1F",
    ".inf",
    "<<",
    "=",
    "---",
    "...",
    "\n",
    "\n\n",
    " \n",
    "\t",
    "\r\n",
    "a\nb",
    " a\n b\n",
    "\0",
    "\u{85}",
    "\u{2028}",
    "\u{feff}",
    "\u{1b}[31m",
    "\u{202e}",
    "é",
    "v1",
    "v1alpha1",
    "apps/v1",
    "Namespaced",
    "Cluster",
    "string",
    "integer",
    "object",
    "array",
    "*",
    "get",
    "default",
    "kube-system",
    "my-ns",
    "8080",
    "80%",
    "a.example.com",
    "registry.example.com/a/b:1",
    "$(NAME)",
    "--leader-elect",
    "Secret",
    "ConfigMap",
    "Deployment",
    "ServiceAccount",
    "CustomResourceDefinition",
    "ClusterRole",
    "Role",
    "Service",
    "Namespace",
    "Job",
    "ValidatingAdmissionWebhook",
    "MutatingAdmissionWebhook",
    "ConversionWebhook",
    "OwnNamespace",
    "AllNamespaces",
    "1.2.3",
    "99999999999999999999",
    "-1",
];

const KEYS: &[&str] = &[
    "apiVersion",
    "kind",
    "metadata",
    "name",
    "namespace",
    "labels",
    "annotations",
    "generateName",
    "creationTimestamp",
    "status",
    "spec",
    "template",
    "containers",
    "initContainers",
    "env",
    "envFrom",
    "value",
    "valueFrom",
    "fieldRef",
    "fieldPath",
    "image",
    "args",
    "command",
    "ports",
    "containerPort",
    "port",
    "targetPort",
    "volumes",
    "volumeMounts",
    "mountPath",
    "secret",
    "configMap",
    "data",
    "stringData",
    "type",
    "rules",
    "verbs",
    "apiGroups",
    "resources",
    "resourceNames",
    "nonResourceURLs",
    "roleRef",
    "subjects",
    "selector",
    "matchLabels",
    "replicas",
    "strategy",
    "serviceAccountName",
    "webhookdefinitions",
    "conversionCRDs",
    "deploymentName",
    "install",
    "deployments",
    "permissions",
    "clusterPermissions",
    "installModes",
    "supported",
    "relatedImages",
    "customresourcedefinitions",
    "owned",
    "required",
    "apiservicedefinitions",
    "group",
    "version",
    "versions",
    "served",
    "storage",
    "schema",
    "openAPIV3Schema",
    "properties",
    "items",
    "additionalProperties",
    "enum",
    "default",
    "pattern",
    "minimum",
    "maxLength",
    "format",
    "description",
    "x-kubernetes-validations",
    "rule",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-list-type",
    "nullable",
    "scope",
    "names",
    "plural",
    "conversion",
    "webhook",
    "clientConfig",
    "caBundle",
    "service",
    "path",
    "webhooks",
    "failurePolicy",
    "imagePullSecrets",
    "securityContext",
    "limits",
    "cpu",
    "a/b",
    "yes",
    "1",
    "",
    "{{",
    "a.b",
    "~",
];

fn choose<'l>(u: &mut Unstructured<'_>, list: &[&'l str]) -> Result<&'l str> {
    u.choose(list).copied()
}

fn text(u: &mut Unstructured<'_>) -> Result<String> {
    Ok(match u.int_in_range(0..=4_u8)? {
        0..=2 => choose(u, TEXTS)?.to_owned(),
        3 => format!("{}{}", choose(u, TEXTS)?, choose(u, TEXTS)?),
        _ => u.arbitrary::<&str>()?.chars().take(40).collect(),
    })
}

fn key(u: &mut Unstructured<'_>) -> Result<String> {
    if u.ratio(1_u8, 6_u8)? { text(u) } else { Ok(choose(u, KEYS)?.to_owned()) }
}

fn leaf(u: &mut Unstructured<'_>) -> Result<Json> {
    Ok(match u.int_in_range(0..=10_u8)? {
        0 => Json::Null,
        1 => json!(u.arbitrary::<bool>()?),
        2 => json!(u.int_in_range(-2..=70_000_i64)?),
        3 => json!(u.arbitrary::<i64>()?),
        4 => json!(u.arbitrary::<u64>()?),
        5 => json!(u.arbitrary::<f64>()?),
        6 => json!([]),
        7 => json!({}),
        _ => json!(text(u)?),
    })
}

/// Returns a tree of at most this depth.
pub fn any(u: &mut Unstructured<'_>, depth: u8) -> Result<Json> {
    if depth == 0 {
        return leaf(u);
    }
    let count = u.int_in_range(0..=3_u8)?;
    Ok(match u.int_in_range(0..=4_u8)? {
        0 | 1 => leaf(u)?,
        2 => Json::Array((0..count).map(|_| any(u, depth - 1)).collect::<Result<_>>()?),
        // Items with names, as most lists of Kubernetes have.
        3 => {
            let item = |_| {
                let name = ("name".to_owned(), json!(text(u)?));
                Ok(Json::Object(Map::from_iter([name, (key(u)?, any(u, depth - 1)?)])))
            };
            Json::Array((0..count).map(item).collect::<Result<_>>()?)
        }
        _ => {
            let entry = |_| Ok((key(u)?, any(u, depth - 1)?));
            Json::Object((0..count).map(entry).collect::<Result<_>>()?)
        }
    })
}

/// Returns a place in a tree: each step down has the same probability of being the last.
fn place<'t>(u: &mut Unstructured<'_>, tree: &'t mut Json) -> Result<&'t mut Json> {
    let length = match &*tree {
        Json::Object(map) => map.len(),
        Json::Array(items) => items.len(),
        _ => 0,
    };
    if length == 0 || u.ratio(1_u8, 7_u8)? {
        return Ok(tree);
    }
    let at = u.choose_index(length)?;
    let below = match tree {
        Json::Object(map) => map.values_mut().nth(at),
        Json::Array(items) => items.get_mut(at),
        _ => None,
    };
    place(u, below.expect("an index within the length"))
}

/// Makes one change in a tree.
pub fn mutate(u: &mut Unstructured<'_>, tree: &mut Json) -> Result<()> {
    let operation = u.int_in_range(0..=9_u8)?;
    match (operation, place(u, tree)?) {
        (0 | 1, Json::Object(map)) if !map.is_empty() => {
            let at = u.choose_index(map.len())?;
            map.shift_remove_at(at);
        }
        (2, Json::Object(map)) => {
            map.insert(key(u)?, any(u, 3)?);
        }
        (3, Json::Object(map)) if !map.is_empty() => {
            let at = u.choose_index(map.len())?;
            let renamed = key(u)?;
            if let Some(value) = map.shift_remove_at(at) {
                map.insert(renamed, value);
            }
        }
        (0 | 1, Json::Array(items)) if !items.is_empty() => {
            items.remove(u.choose_index(items.len())?);
        }
        (2, Json::Array(items)) => {
            let at = u.choose_index(items.len() + 1)?;
            items.insert(at, any(u, 3)?);
        }
        (3, Json::Array(items)) if !items.is_empty() => {
            let copy = items[u.choose_index(items.len())?].clone();
            items.push(copy);
        }
        (4, Json::Array(items)) if items.len() > 1 => {
            let (one, other) = (u.choose_index(items.len())?, u.choose_index(items.len())?);
            items.swap(one, other);
        }
        (5, Json::String(old)) => old.push_str(choose(u, TEXTS)?),
        (6, Json::String(old)) => old.insert_str(0, choose(u, TEXTS)?),
        (7, place) => *place = any(u, 4)?,
        (_, place) => *place = leaf(u)?,
    }
    Ok(())
}

/// Removal by index from serde_json's map, which has no such function.
trait RemoveAt {
    fn shift_remove_at(&mut self, at: usize) -> Option<Json>;
}

impl RemoveAt for Map<String, Json> {
    fn shift_remove_at(&mut self, at: usize) -> Option<Json> {
        let key = self.keys().nth(at)?.clone();
        self.shift_remove(&key)
    }
}
