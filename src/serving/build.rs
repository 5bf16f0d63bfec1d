//! Builds objects from JSON, with expressions for values that Helm fills in.

use crate::config::serving::ServingConfig;
use crate::diag::{Diagnostic, Diagnostics};
use crate::ir::{
    Condition, Expr, Map, Object, Origin, Part, Value, ValueSpec, ValuesPath, map, value,
};
use serde_json::{Value as Json, json};

/// Origin of serving objects.
const ORIGIN: Origin = Origin::Added("serving");

/// Creates a namespaced object in the release namespace.
pub(super) fn object(api_version: &str, kind: &str, name: &str, labels: &Json) -> Object {
    let labels = labels.as_object().filter(|labels| !labels.is_empty()).map(|_| labels);
    let root = map! {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": name, "namespace": Expr::ReleaseNamespace, "labels": ?labels},
    };
    Object::new(root, ORIGIN)
}

/// Creates a cluster-scoped object, whose name contains the release namespace.
pub(super) fn cluster_object(kind: &str, name: Value, labels: &Json) -> Object {
    let mut object = object("rbac.authorization.k8s.io/v1", kind, "", labels);
    let metadata = object.metadata_mut();
    metadata.shift_remove("namespace");
    metadata.insert("name".to_owned(), name);
    object
}

/// Returns the object with a key set at its root.
pub(super) fn with(mut object: Object, key: &str, value: impl Into<Value>) -> Object {
    object.root.insert(key.to_owned(), value.into());
    object
}

/// Creates a namespaced object with a spec.
pub(super) fn with_spec(
    (api_version, kind): (&str, &str),
    name: &str,
    labels: &Json,
    spec: impl Into<Value>,
) -> Object {
    with(object(api_version, kind, name, labels), "spec", spec)
}

/// Reports what was not reported at its place before.
pub(super) fn push_new(new: Diagnostic, diagnostics: &mut Diagnostics) {
    if !diagnostics.iter().any(|known| known.message == new.message && known.place == new.place) {
        diagnostics.push(new);
    }
}

/// Returns a probe by HTTP.
pub(super) fn http_probe(target: (&str, &str), timing: (u32, u32), timeout: u32) -> Json {
    json!({
        "httpGet": {"path": target.0, "port": target.1},
        "periodSeconds": timing.0,
        "timeoutSeconds": timeout,
        "failureThreshold": timing.1,
    })
}

/// Returns the environment variable with a field of the pod.
pub(super) fn field_variable(name: &str, path: &str) -> Json {
    json!({"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}})
}

/// Returns the label of all objects of a model.
pub(super) fn part_of(config: &ServingConfig) -> Json {
    json!({"app.kubernetes.io/part-of": config.name})
}

/// Returns the labels of engine pods and their workloads.
pub(super) fn engine_labels(config: &ServingConfig, name: &str) -> Json {
    json!({
        "app.kubernetes.io/name": name,
        "app.kubernetes.io/part-of": config.name,
        "app.kubernetes.io/component": "engine",
    })
}

/// Returns a name with the release namespace, such as `TEXT-NAMESPACE-TEXT`.
pub(super) fn with_namespace(before: &str, after: &str) -> Value {
    let texts = [Part::Text(before.to_owned()), Part::ReleaseNamespace];
    let after = (!after.is_empty()).then(|| Part::Text(after.to_owned()));
    Expr::Concat(texts.into_iter().chain(after).collect()).into()
}

/// The declared chart values.
#[derive(Default)]
pub(super) struct Values(Vec<ValueSpec>);

/// First path segments in the order of values.yaml.
const ORDER: [&str; 8] =
    ["image", "pullSecrets", "serviceAccount", "cache", "decode", "prefill", "sidecar", "epp"];

impl Values {
    /// Returns all values in the order of values.yaml.
    pub(super) fn sorted(mut self) -> Vec<ValueSpec> {
        // The sort is stable and `None` comes first: other paths keep the order of their
        // declaration.
        self.0.sort_by_key(|spec| {
            let first = spec.path.segments().first();
            ORDER.iter().position(|name| first.is_some_and(|first| first == name))
        });
        self.0
    }

    /// Declares a value unless it is known, and returns its path.
    fn declare(
        &mut self,
        path: &[&str],
        default: Json,
        schema: Json,
        description: &str,
    ) -> ValuesPath {
        let path = ValuesPath::new(path.iter().copied());
        // Decode and prefill declare the values that they share, such as `image`: the first one
        // counts.
        if !self.0.iter().any(|spec| spec.path == path) {
            self.0.push(ValueSpec::new(path.clone(), default, schema, description.to_owned()));
        }
        path
    }

    /// Declares a number of replicas.
    pub(super) fn count(&mut self, path: &[&str], default: u32, description: &str) -> Value {
        let schema = json!({"type": "integer", "minimum": 0});
        Expr::Integer(self.declare(path, json!(default), schema, description)).into()
    }

    /// Declares a non-empty string.
    pub(super) fn text(&mut self, path: &[&str], default: &str, description: &str) -> Value {
        let schema = json!({"type": "string", "minLength": 1});
        Expr::Text(self.declare(path, json!(default), schema, description)).into()
    }

    /// Declares a string, which is omitted while it is empty.
    pub(super) fn optional_text(
        &mut self,
        path: &[&str],
        default: &str,
        description: &str,
    ) -> Value {
        let path = self.declare(path, json!(default), json!({"type": "string"}), description);
        Value::when(Condition::Set(path.clone()), Expr::Text(path).into())
    }

    /// Declares a map or list, which is omitted while it is empty.
    pub(super) fn whole(
        &mut self,
        path: &[&str],
        default: Json,
        item: Json,
        description: &str,
    ) -> Value {
        let schema = if default.is_array() {
            json!({"type": "array", "items": item})
        } else {
            json!({"type": "object", "additionalProperties": item})
        };
        let path = self.declare(path, default, schema, description);
        Value::when(Condition::Set(path.clone()), Expr::Values(path).into())
    }

    /// Declares requests and limits. `fixed` (the accelerators) are always part of them.
    pub(super) fn resources(
        &mut self,
        path: &[&str],
        default: &Json,
        fixed: &[(&str, u32)],
    ) -> Value {
        let names: Vec<&str> = fixed.iter().map(|(name, _)| *name).collect();
        let mut resources = Map::new();
        for group in ["requests", "limits"] {
            let mut schema = json!({
                "type": "object",
                // A quantity may be a number, such as `cpu: 2` (resource.Quantity, UnmarshalJSON).
                "additionalProperties": {"type": ["string", "number"]},
            });
            if !names.is_empty() {
                // The template has these keys already, and a key twice in one map is no valid YAML.
                schema["propertyNames"] = json!({"not": {"enum": names}});
            }
            let mut entries = default.get(group).cloned().unwrap_or(json!({}));
            if let Json::Object(entries) = &mut entries {
                entries.retain(|name, _| !names.contains(&name.as_str()));
            }
            let whose = path.first().copied().unwrap_or_default();
            let without = match names.is_empty() {
                true => "",
                false => ", without accelerators, which follow from the topology",
            };
            let description = format!("Resource {group} of {whose}{without}.");
            let path = self.declare(&[path, &[group]].concat(), entries, schema, &description);
            let fixed = fixed.iter();
            let mut map: Map =
                fixed.map(|(name, units)| ((*name).to_owned(), i64::from(*units).into())).collect();
            // The writer puts the entries of the value in the place of this key, whose text only is
            // unique.
            map.insert(path.to_string(), Expr::Entries(path).into());
            resources.insert(group.to_owned(), map.into());
        }

        resources.into()
    }

    /// Declares annotations with these defaults, for the user to add others.
    pub(super) fn annotations(&mut self, path: &[&str], default: Json, description: &str) -> Value {
        let schema = json!({"type": "object", "additionalProperties": {"type": "string"}});
        let path = self.declare(path, default, schema, description);
        value!({(path.to_string()): Expr::Entries(path)})
    }

    /// Declares the image pull secrets.
    pub(super) fn pull_secrets(&mut self, secret: Option<&str>) -> Value {
        let names: Vec<Json> = secret.iter().map(|name| json!({"name": name})).collect();
        let item = json!({
            "type": "object",
            "properties": {"name": {"type": "string", "minLength": 1}},
            "required": ["name"],
            "additionalProperties": false,
        });
        let description = "Existing image pull secrets.";
        self.whole(&["pullSecrets"], Json::Array(names), item, description)
    }
}
