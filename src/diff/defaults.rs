//! Defaults of the Kubernetes API: a default that one side writes out and the other leaves out is
//! no difference.
//!
//! Sources: `pkg/apis/*/*/defaults.go` of kubernetes/kubernetes, and
//! `staging/src/k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1/defaults.go`. Where the API
//! server stores nothing, the default is what the field's documentation says about an unset field.

use super::path::Step;
use super::read::{child, entries, is_custom_kind, items, pod_template, shape, text, texts};
use super::tree::Edit;
use crate::embedded;
use crate::ir::{Identity, ImageParts, quantity};
use serde_json::{Value as Json, json};
use std::collections::HashMap;
use std::sync::LazyLock;

/// Defaults by part of the API and field.
///
/// A part is a kind, with fields from the root of its objects, or the spec of a `pod`, a `container`,
/// a `probe` of one, a `volume` of a pod, or a keyword of the `schema` of a CRD at any depth. `[]` is
/// an item of a list. `{}` means that a map whose entries are all defaults, or that is empty, is the
/// same as no map.
static DEFAULTS: LazyLock<HashMap<(String, String), Json>> = LazyLock::new(|| {
    let groups: Json = embedded::json(include_str!("defaults.json"));
    let mut defaults = HashMap::new();
    for group in items(&groups, &[]) {
        for part in texts(group, &["of"]) {
            for (field, default) in entries(group, &["defaults"]) {
                defaults.insert((part.to_owned(), field.clone()), default.clone());
            }
        }
    }
    defaults
});

/// Returns true for a field that only the API server writes: it ignores the value of a manifest,
/// such as one from the output of `kubectl get`.
fn is_of_the_server(id: &Identity, steps: &[Step]) -> bool {
    match shape(steps).as_slice() {
        ["metadata", "creationTimestamp"] => true,
        ["status", ..] => id.kind == "CustomResourceDefinition",
        _ => false,
    }
}

/// Returns true if an edit has no effect on the object in the cluster: it only writes out a default of
/// the Kubernetes API, or leaves it out, writes an equal quantity in another way, or is of a field
/// that only the API server writes.
///
/// `old` and `new` are the objects of the edit.
pub(super) fn is_without_effect(id: &Identity, old: &Json, new: &Json, edit: &Edit) -> bool {
    let steps = edit.path.steps();
    let (without, value) = match (&edit.old, &edit.new) {
        _ if is_of_the_server(id, steps) => return true,
        (None, Some(value)) => (old, value),
        (Some(value), None) => (new, value),
        (Some(old), Some(new)) => {
            let [old, new] = [old, new].map(quantity);
            return is_quantity(steps) && old.is_some() && old == new;
        }
        (None, None) => return false,
    };
    let is_unset = || Field::of(id, steps).is_some_and(|field| field.is_unset(value));
    // Types outside of Kubernetes have defaults of their own, also if they have a kind of its name.
    !(super::is_description(id) || is_custom_kind(id)) && is_unset()
        || computed(id, steps, without).is_some_and(|default| default == *value)
}

/// Returns the default of the field at a path, or of the field that Kubernetes' kind of the same name has:
/// a workload of another group is usually one with more features.
pub(super) fn default_of(id: &Identity, steps: &[Step]) -> Option<&'static Json> {
    Field::of(id, steps)?.default()
}

/// A field in a part of the API.
struct Field<'a> {
    part: &'a str,
    path: String,
}

impl<'a> Field<'a> {
    /// Returns the field of a path; `None` for schemas themselves.
    fn of(id: &'a Identity, steps: &[Step]) -> Option<Self> {
        let shape = shape(steps);
        if id.kind == "CustomResourceDefinition" && shape.get(3) == Some(&"schema") {
            let [_, _, _, _, _, parents @ .., keyword] = shape.as_slice() else { return None };
            // A property may have the name of a keyword.
            let is_keyword =
                !["[]", "[order]"].contains(keyword) && parents.last() != Some(&"properties");
            return is_keyword.then(|| Field { part: "schema", path: (*keyword).to_owned() });
        }

        let (part, rest) = match pod_template(&id.kind).and_then(|keys| shape.strip_prefix(keys)) {
            Some(["spec", rest @ ..]) if !rest.is_empty() => match rest {
                // An item as a whole is a field of the pod.
                [_, "[]"] => ("pod", rest),
                ["containers" | "initContainers", "[]", probe, rest @ ..]
                    if probe.ends_with("Probe") && !rest.is_empty() =>
                {
                    ("probe", rest)
                }
                ["containers" | "initContainers", "[]", rest @ ..] => ("container", rest),
                ["volumes", "[]", rest @ ..] => ("volume", rest),
                rest => ("pod", rest),
            },
            _ => (id.kind.as_str(), shape.as_slice()),
        };
        Some(Field { part, path: rest.join(".").replace(".[]", "[]") })
    }

    fn default(&self) -> Option<&'static Json> {
        DEFAULTS.get(&(self.part.to_owned(), self.path.clone()))
    }

    /// Returns true if the value means the same as no value.
    fn is_unset(&self, value: &Json) -> bool {
        let is_schema = self.part == "schema";
        match (value, self.default()) {
            // The API server reads null as a missing field; only the default of a schema may be
            // null.
            (Json::Null, _) => !(is_schema && self.path == "default"),
            // The API's Go types do not distinguish empty lists from missing ones.
            (Json::Array(items), _) if items.is_empty() => {
                !(is_schema && ["default", "enum"].contains(&self.path.as_str()))
            }
            (Json::Object(map), default)
                if default.map_or(self.is_in_every_object(), |default| *default == json!({})) =>
            {
                map.iter().all(|(key, value)| {
                    let path = format!("{}.{key}", self.path);
                    Field { part: self.part, path }.is_unset(value)
                })
            }
            (value, default) => default == Some(value),
        }
    }

    /// Returns true for the maps of every object that may be left out.
    fn is_in_every_object(&self) -> bool {
        ["metadata.labels", "metadata.annotations", "metadata"]
            .iter()
            .any(|field| self.path == *field || self.path.ends_with(&format!(".{field}")))
            || self.path == "status"
    }
}

/// Returns the default of a field that depends on its siblings, in the object without the field.
fn computed(id: &Identity, steps: &[Step], object: &Json) -> Option<Json> {
    let (Step::Key(field), parents) = steps.split_last()? else { return None };
    let parent = parents.iter().try_fold(object, child)?;
    let is_pod = pod_template(&id.kind).is_some();
    match (id.kind.as_str(), field.as_str()) {
        ("Service", "targetPort") => parent.get("port").cloned(),
        ("CustomResourceDefinition", "singular" | "listKind") => {
            let kind = parent.get("kind")?.as_str()?;
            let is_singular = field == "singular";
            Some(json!(if is_singular { kind.to_lowercase() } else { format!("{kind}List") }))
        }
        // Ingress rules always apply; egress rules only if there are any.
        ("NetworkPolicy", "policyTypes") => Some(match parent.get("egress") {
            Some(_) => json!(["Ingress", "Egress"]),
            None => json!(["Ingress"]),
        }),
        ("RoleBinding" | "ClusterRoleBinding", "apiGroup") => match text(parent, &["kind"]) {
            // `SetDefaults_Subject` in pkg/apis/rbac/v1; ServiceAccounts are in the core group.
            "User" | "Group" => Some(json!("rbac.authorization.k8s.io")),
            _ => None,
        },
        (_, "serviceAccount") if is_pod => parent.get("serviceAccountName").cloned(),
        (_, "imagePullPolicy") if is_pod => {
            let image = ImageParts::of(parent.get("image")?.as_str()?);
            // `SetDefaults_Container` in pkg/apis/core/v1.
            Some(json!(if image.is_moving() { "Always" } else { "IfNotPresent" }))
        }
        _ => None,
    }
}

/// Returns true for entries of maps of quantities, and for fields with one.
fn is_quantity(steps: &[Step]) -> bool {
    matches!(
        shape(steps).as_slice(),
        [.., "limits" | "requests" | "capacity" | "hard" | "overhead", _]
            | [.., "sizeLimit" | "divisor"]
    )
}

#[cfg(test)]
mod tests {
    use super::{DEFAULTS, computed};
    use crate::ir::Identity;
    use crate::read::{entries, items, keys, texts};
    use crate::tree::edits;
    use crate::{Options, Side, compare};
    use serde_json::{Value as Json, json};

    #[test]
    fn rows_are_unique() {
        let groups: Json = serde_json::from_str(include_str!("defaults.json")).unwrap();
        let rows = |group| texts(group, &["of"]).len() * entries(group, &["defaults"]).count();
        assert_eq!(items(&groups, &[]).iter().map(rows).sum::<usize>(), DEFAULTS.len());
        // A key that stands twice in a group is read once.
        let written =
            include_str!("defaults.json").lines().filter(|line| line.starts_with("      \""));
        let read = items(&groups, &[]).iter().map(|group| entries(group, &["defaults"]).count());
        assert_eq!(written.count(), read.sum::<usize>());
        assert!(DEFAULTS.len() > 150);
    }

    #[test]
    fn pull_policies() {
        for (image, policy) in [
            ("r.io/a:1", "IfNotPresent"),
            ("r.io/a", "Always"),
            ("r.io:5000/a", "Always"),
            ("r.io/a:latest", "Always"),
            ("r.io/a@sha256:0", "IfNotPresent"),
        ] {
            let id = Identity::new("Pod", "", "", "a");
            let found = computed(&id, &keys(&["imagePullPolicy"]), &json!({"image": image}));
            assert_eq!(found, Some(json!(policy)), "{image}");
        }
    }

    /// An object, a field of it with its default, and a value that is not the default.
    type Row = (Json, &'static str, Json, Json);

    fn rows() -> Vec<Row> {
        let object = |api: &str, kind: &str, rest: Json| {
            let mut object = json!({"apiVersion": api, "kind": kind, "metadata": {"name": "x"}});
            object.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
            object
        };
        let pod = json!({"containers": [{"name": "c", "image": "r.io/a:1",
            "ports": [{"containerPort": 80}], "livenessProbe": {"httpGet": {"port": 80}},
            "env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]}],
            "serviceAccountName": "sa", "volumes": [{"name": "v", "secret": {"secretName": "s"}}]});
        let deployment =
            || object("apps/v1", "Deployment", json!({"spec": {"template": {"spec": pod}}}));
        let service =
            || object("v1", "Service", json!({"spec": {"ports": [{"name": "a", "port": 80}]}}));
        let webhook = || {
            object(
                "admissionregistration.k8s.io/v1",
                "ValidatingWebhookConfiguration",
                json!({"webhooks": [{"name": "w", "rules": [{"operations": ["*"]}]}]}),
            )
        };
        let crd = || {
            object(
                "apiextensions.k8s.io/v1",
                "CustomResourceDefinition",
                json!({"spec": {"group": "g", "names": {"kind": "Widget"}, "versions": [{"name": "v1",
                    "schema": {"openAPIV3Schema": {"properties": {"a": {"type": "array"}}}}}]}}),
            )
        };
        let binding = || {
            object(
                "rbac.authorization.k8s.io/v1",
                "RoleBinding",
                json!({"roleRef": {"kind": "Role", "name": "r"},
                    "subjects": [{"kind": "User", "name": "u"}]}),
            )
        };
        let pods = "/spec/template/spec";
        let of_pod =
            |field: &'static str, default: Json, other: Json| (deployment(), field, default, other);
        assert_eq!(pods, "/spec/template/spec");
        vec![
            of_pod("/spec/template/spec/dnsPolicy", json!("ClusterFirst"), json!("Default")),
            of_pod("/spec/template/spec/restartPolicy", json!("Always"), json!("Never")),
            of_pod("/spec/template/spec/terminationGracePeriodSeconds", json!(30), json!(10)),
            of_pod("/spec/template/spec/serviceAccount", json!("sa"), json!("other")),
            of_pod("/spec/template/spec/securityContext", json!({}), json!({"fsGroup": 1})),
            of_pod("/spec/template/spec/tolerations", json!([]), json!([{"operator": "Exists"}])),
            of_pod("/spec/template/spec/hostNetwork", json!(false), json!(true)),
            of_pod(
                "/spec/template/spec/containers/0/imagePullPolicy",
                json!("IfNotPresent"),
                json!("Always"),
            ),
            of_pod("/spec/template/spec/containers/0/ports/0/protocol", json!("TCP"), json!("UDP")),
            of_pod(
                "/spec/template/spec/containers/0/livenessProbe/timeoutSeconds",
                json!(1),
                json!(2),
            ),
            of_pod(
                "/spec/template/spec/containers/0/livenessProbe/httpGet/scheme",
                json!("HTTP"),
                json!("HTTPS"),
            ),
            of_pod(
                "/spec/template/spec/containers/0/env/0/valueFrom/fieldRef/apiVersion",
                json!("v1"),
                json!("v2"),
            ),
            of_pod(
                "/spec/template/spec/containers/0/resources",
                json!({}),
                json!({"limits": {"cpu": 1}}),
            ),
            of_pod("/spec/template/spec/volumes/0/secret/defaultMode", json!(420), json!(256)),
            of_pod("/spec/replicas", json!(1), json!(2)),
            of_pod(
                "/spec/strategy",
                json!({"type": "RollingUpdate",
                "rollingUpdate": {"maxSurge": "25%"}}),
                json!({"type": "Recreate"}),
            ),
            of_pod("/spec/template/metadata", json!({"labels": {}}), json!({"labels": {"a": "b"}})),
            (service(), "/spec/type", json!("ClusterIP"), json!("NodePort")),
            (service(), "/spec/sessionAffinity", json!("None"), json!("ClientIP")),
            (service(), "/spec/ports/0/protocol", json!("TCP"), json!("UDP")),
            (service(), "/spec/ports/0/targetPort", json!(80), json!(8080)),
            (webhook(), "/webhooks/0/failurePolicy", json!("Fail"), json!("Ignore")),
            (webhook(), "/webhooks/0/timeoutSeconds", json!(10), json!(5)),
            (webhook(), "/webhooks/0/matchPolicy", json!("Equivalent"), json!("Exact")),
            (
                webhook(),
                "/webhooks/0/namespaceSelector",
                json!({}),
                json!({"matchLabels": {"a": "b"}}),
            ),
            (webhook(), "/webhooks/0/rules/0/scope", json!("*"), json!("Cluster")),
            (
                crd(),
                "/spec/conversion",
                json!({"strategy": "None"}),
                json!({"strategy": "Webhook"}),
            ),
            (crd(), "/spec/names/listKind", json!("WidgetList"), json!("Widgets")),
            (crd(), "/spec/names/singular", json!("widget"), json!("w")),
            (
                crd(),
                "/spec/versions/0/schema/openAPIV3Schema/properties/a/x-kubernetes-list-type",
                json!("atomic"),
                json!("set"),
            ),
            (
                crd(),
                "/spec/versions/0/schema/openAPIV3Schema/properties/a/nullable",
                json!(false),
                json!(true),
            ),
            (binding(), "/roleRef/apiGroup", json!("rbac.authorization.k8s.io"), json!("g")),
            (binding(), "/subjects/0/apiGroup", json!("rbac.authorization.k8s.io"), json!("g")),
        ]
    }

    fn is_empty(old: &Json, new: &Json) -> bool {
        let side = |object: &Json| Side::new("x", [object.clone()], "ns", None);
        compare(side(old), side(new), &Options::default()).is_empty()
    }

    /// The object with a value at a pointer.
    fn with(object: &Json, pointer: &str, value: &Json) -> Json {
        let mut object = object.clone();
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        object.pointer_mut(parent).unwrap()[key] = value.clone();
        object
    }

    #[test]
    fn a_default_written_out_is_no_difference_and_another_value_is() {
        for (object, pointer, default, other) in rows() {
            let written = with(&object, pointer, &default);
            assert!(!edits(&object, &written).is_empty(), "{pointer}");
            assert!(is_empty(&object, &written), "{pointer} added");
            assert!(is_empty(&written, &object), "{pointer} removed");
            let other = with(&object, pointer, &other);
            assert!(!is_empty(&object, &other), "{pointer} changed");
            assert!(!is_empty(&written, &other), "{pointer} from the default");
        }
    }

    #[test]
    fn defaults_of_merge_keys_do_not_split_items() {
        let ports = |port: Json| {
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"},
                "spec": {"containers": [{"name": "c", "image": "a", "ports": [port]}]}})
        };
        let bare = ports(json!({"containerPort": 80}));
        assert!(is_empty(&bare, &ports(json!({"containerPort": 80, "protocol": "TCP"}))));
        assert!(!is_empty(&bare, &ports(json!({"containerPort": 80, "protocol": "UDP"}))));
    }

    #[test]
    fn equal_quantities_are_no_difference() {
        let limit = |cpu: Json| {
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": {
                "containers": [{"name": "c", "resources": {"limits": {"cpu": cpu}}}]}})
        };
        assert!(is_empty(&limit(json!("100m")), &limit(json!("0.1"))));
        assert!(is_empty(&limit(json!("1")), &limit(json!(1))));
        assert!(!is_empty(&limit(json!("100m")), &limit(json!("0.2"))));
    }

    #[test]
    fn custom_resources_have_no_defaults() {
        let custom = |spec: Json| json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "x"}, "spec": spec});
        assert!(!is_empty(&custom(json!({})), &custom(json!({"items": []}))));
    }
}
