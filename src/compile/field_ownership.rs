//! Fields of built-in kinds that the manifest does not decide alone: immutable fields, defaults that
//! the API server stores, and fields that controllers set. `build` and `diff` use the same tables, and
//! the API server judges them in tests/api_server/field_ownership.rs.

use crate::ir::Step;
use serde_json::Value as Json;
use std::collections::BTreeSet;

/// Immutable fields by kind. Source: the validation of each kind in kubernetes/pkg/apis.
const IMMUTABLE_FIELDS: &[(&str, &[&str])] = &[
    ("Deployment", &["spec", "selector"]),
    ("DaemonSet", &["spec", "selector"]),
    ("ReplicaSet", &["spec", "selector"]),
    ("StatefulSet", &["spec", "selector"]),
    ("StatefulSet", &["spec", "serviceName"]),
    ("StatefulSet", &["spec", "podManagementPolicy"]),
    ("StatefulSet", &["spec", "volumeClaimTemplates"]),
    ("Job", &["spec", "selector"]),
    ("Job", &["spec", "template"]),
    ("Job", &["spec", "completionMode"]),
    ("Job", &["spec", "completions"]),
    ("Job", &["spec", "podFailurePolicy"]),
    ("Job", &["spec", "backoffLimitPerIndex"]),
    ("Job", &["spec", "managedBy"]),
    ("Job", &["spec", "successPolicy"]),
    ("IngressClass", &["spec", "controller"]),
    ("RuntimeClass", &["handler"]),
    ("RoleBinding", &["roleRef"]),
    ("ClusterRoleBinding", &["roleRef"]),
    ("CSIDriver", &["spec", "attachRequired"]),
    ("CSIDriver", &["spec", "volumeLifecycleModes"]),
    ("PersistentVolume", &["spec", "volumeMode"]),
    // The volume itself.
    ("PersistentVolume", &["spec", "csi"]),
    ("PersistentVolume", &["spec", "fc"]),
    ("PersistentVolume", &["spec", "hostPath"]),
    ("PersistentVolume", &["spec", "iscsi"]),
    ("PersistentVolume", &["spec", "local"]),
    ("PersistentVolume", &["spec", "nfs"]),
    ("PriorityClass", &["value"]),
    ("PriorityClass", &["preemptionPolicy"]),
    ("Secret", &["type"]),
    ("ResourceQuota", &["spec", "scopes"]),
    ("EndpointSlice", &["addressType"]),
    ("ResourceClaimTemplate", &["spec"]),
    ("VolumeAttributesClass", &["driverName"]),
    ("VolumeAttributesClass", &["parameters"]),
    ("StorageClass", &["provisioner"]),
    ("StorageClass", &["parameters"]),
    ("StorageClass", &["reclaimPolicy"]),
    ("StorageClass", &["volumeBindingMode"]),
    ("PersistentVolumeClaim", &["spec", "accessModes"]),
    ("PersistentVolumeClaim", &["spec", "storageClassName"]),
    ("PersistentVolumeClaim", &["spec", "volumeName"]),
    ("PersistentVolumeClaim", &["spec", "volumeMode"]),
    ("PersistentVolumeClaim", &["spec", "resources", "limits"]),
    ("PersistentVolumeClaim", &["spec", "selector"]),
    ("PersistentVolumeClaim", &["spec", "dataSource"]),
    ("PersistentVolumeClaim", &["spec", "dataSourceRef"]),
];

/// Returns the reason if the API server rejects an update of an object that changes a field at these
/// keys, with `[]` for items of lists.
pub fn immutable(kind: &str, old: &Json, new: &Json, shape: &[&str]) -> Option<String> {
    // The edit is in the field, or of a map around it.
    let is_changed = |field: &[&str]| {
        shape.starts_with(field) || field.starts_with(shape) && at(old, field) != at(new, field)
    };
    let fields = IMMUTABLE_FIELDS.iter().filter(|(of, _)| *of == kind);
    if let Some(field) = fields.map(|(_, field)| field).find(|field| is_changed(field)) {
        return Some(format!("{}: immutable in a {kind}", field.join(".")));
    }

    let is = |object: &Json, keys: &[&str], value: Json| at(object, keys) == Some(&value);
    match kind {
        // The flag of the old object counts: the new one is what the API server rejects.
        "ConfigMap" | "Secret" => {
            let parts = ["data", "binaryData", "stringData", "immutable"];
            let frozen = is(old, &["immutable"], true.into()) && parts.contains(shape.first()?);
            frozen.then(|| format!("{}: the {kind} is immutable", shape.join(".")))
        }
        // The server keeps an address that the new manifest does not have, also that of a headless
        // Service, which cannot have ports of nodes.
        "Service" if shape == ["spec", "clusterIP"] => {
            let unset = at(new, shape).is_none_or(Json::is_null);
            let of_nodes = ["NodePort", "LoadBalancer"].contains(&text(new, &["spec", "type"]));
            let fixed = !unset || text(old, shape) == "None" && of_nodes;
            fixed.then(|| "spec.clusterIP: immutable in a Service".to_owned())
        }
        "Service" => {
            let balanced = |service| is(service, &["spec", "type"], "LoadBalancer".into());
            let fixed = shape == ["spec", "loadBalancerClass"] && balanced(old) && balanced(new);
            fixed.then(|| format!("{}: immutable in a load balancer", shape.join(".")))
        }
        _ => None,
    }
}

/// Fields of a kind that may hold a default which another value of `type` forbids.
///
/// Server-side apply removes a field with all defaults below it if the old manifest has it, even
/// empty; so only a field that the server added as a whole is left. Of all unions of built-in kinds
/// (strategies, probes, hooks of containers, volumes, variables, Services, webhooks, conversions),
/// these are the ones that the server fills.
///
/// The rows are maps with a `type`, whose default is `RollingUpdate`, and with `rollingUpdate`, which the
/// server fills for that type and rejects for others.
const STORED_DEFAULTS: [(&str, [&str; 2]); 2] =
    [("Deployment", ["spec", "strategy"]), ("StatefulSet", ["spec", "updateStrategy"])];

/// Returns the field that the API server adds to `old` as a whole, and which it rejects next to what
/// `new` changes at these keys. Server-side apply (Helm 4) keeps it.
pub fn stored_default(kind: &str, old: &Json, new: &Json, shape: &[&str]) -> Option<String> {
    let (_, parent) = STORED_DEFAULTS.iter().find(|(of, _)| *of == kind)?;
    let rolling = |object: &Json| {
        let strategy = at(object, parent).and_then(|map| map.get("type"));
        strategy.and_then(Json::as_str).is_none_or(|kind| kind == "RollingUpdate")
    };
    let field = at(old, parent).and_then(|map| map.get("rollingUpdate"));
    let is_refused = rolling(old) && !rolling(new) && field.is_none_or(Json::is_null);
    let is_changed = [&parent[..], &["type"]].concat().starts_with(shape);
    (is_refused && is_changed).then(|| format!("{}.rollingUpdate", parent.join(".")))
}

/// A field that a controller sets. Server-side apply (Helm 4) of another value conflicts with it in
/// every upgrade after the controller has run.
pub struct ControllerField {
    kinds: &'static [&'static str],
    /// The keys, with `[]` for items of lists.
    pub keys: &'static [&'static str],
    /// The controller and when it sets the field.
    pub controller: &'static str,
    /// True if no value of a manifest is ever in effect, so that charts leave the field out.
    pub is_without_effect: bool,
    sets: Sets,
}

/// The objects for which a controller sets a field.
enum Sets {
    Always,
    /// The field at these keys is set.
    With(&'static [&'static str]),
    /// The field at these keys has this value.
    Value(&'static [&'static str], &'static str),
    /// One of these annotations or labels is set.
    Marked(&'static [&'static str]),
    /// A HorizontalPodAutoscaler or ScaledObject scales the object, or a Service of the name of
    /// Endpoints selects pods.
    Targeted,
}

/// Annotations and labels by which a CA bundle is injected: by cert-manager's cainjector, and by
/// OpenShift's operators for its service CA and its proxy.
const INJECTED: &[&str] = &[
    "cert-manager.io/inject-apiserver-ca",
    "cert-manager.io/inject-ca-from",
    "cert-manager.io/inject-ca-from-secret",
    "service.beta.openshift.io/inject-cabundle",
];

/// Sources: pkg/controller of Kubernetes, cmd/cainjector of cert-manager, and OpenShift's service CA
/// and network operators.
const CONTROLLER_FIELDS: &[ControllerField] = &[
    ControllerField {
        kinds: &["ClusterRole"],
        keys: &["rules"],
        controller: "the ClusterRole aggregation controller sets it by `.aggregationRule`",
        is_without_effect: true,
        sets: Sets::With(&["aggregationRule"]),
    },
    ControllerField {
        kinds: &["Deployment"],
        keys: &["metadata", "annotations", "deployment.kubernetes.io/revision"],
        controller: "the Deployment controller counts revisions in it",
        is_without_effect: true,
        sets: Sets::Always,
    },
    ControllerField {
        kinds: &["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"],
        keys: &["webhooks", "[]", "clientConfig", "caBundle"],
        controller: "the CA bundle is injected by an annotation",
        is_without_effect: true,
        sets: Sets::Marked(INJECTED),
    },
    ControllerField {
        kinds: &["CustomResourceDefinition"],
        keys: &["spec", "conversion", "webhook", "clientConfig", "caBundle"],
        controller: "the CA bundle is injected by an annotation",
        is_without_effect: true,
        sets: Sets::Marked(INJECTED),
    },
    ControllerField {
        kinds: &["APIService"],
        keys: &["spec", "caBundle"],
        controller: "the CA bundle is injected by an annotation",
        is_without_effect: true,
        sets: Sets::Marked(INJECTED),
    },
    ControllerField {
        kinds: &["ConfigMap"],
        keys: &["data", "service-ca.crt"],
        controller: "OpenShift injects its service CA by an annotation",
        is_without_effect: true,
        sets: Sets::Marked(&["service.beta.openshift.io/inject-cabundle"]),
    },
    ControllerField {
        kinds: &["ConfigMap"],
        keys: &["data", "ca-bundle.crt"],
        controller: "OpenShift injects its trusted CAs by a label",
        is_without_effect: true,
        sets: Sets::Marked(&["config.openshift.io/inject-trusted-cabundle"]),
    },
    ControllerField {
        kinds: &["Deployment", "ReplicaSet", "StatefulSet"],
        keys: &["spec", "replicas"],
        controller: "an autoscaler of the chart scales it",
        is_without_effect: false,
        sets: Sets::Targeted,
    },
    ControllerField {
        kinds: &["Secret"],
        keys: &["data", "token"],
        controller: "the token controller issues the token of a ServiceAccount",
        is_without_effect: false,
        sets: Sets::Value(&["type"], "kubernetes.io/service-account-token"),
    },
    ControllerField {
        kinds: &["Endpoints"],
        keys: &["subsets"],
        controller: "the Endpoints controller sets it by the selector of the Service",
        is_without_effect: false,
        sets: Sets::Targeted,
    },
];

/// Kinds, namespaces and names of a set of objects that others of the set scale, or as Endpoints fill.
#[derive(Default)]
pub struct Targets(BTreeSet<[String; 3]>);

impl Targets {
    /// Returns the targets of these objects.
    pub fn of<'o>(objects: impl IntoIterator<Item = &'o Json>) -> Self {
        let mut targets = Targets::default();
        for object in objects {
            match text(object, &["kind"]) {
                // KEDA creates a HorizontalPodAutoscaler, by default for a Deployment.
                "HorizontalPodAutoscaler" | "ScaledObject" => {
                    let target = |key| text(object, &["spec", "scaleTargetRef", key]);
                    let kind = Some(target("kind")).filter(|kind| !kind.is_empty());
                    let kind = kind.unwrap_or("Deployment");
                    targets.0.insert(identity(object, kind, target("name")));
                }
                "Service" if at(object, &["spec", "selector"]).is_some() => {
                    let name = text(object, &["metadata", "name"]);
                    targets.0.insert(identity(object, "Endpoints", name));
                }
                _ => {}
            }
        }
        targets
    }

    /// Returns true if an autoscaler scales the object, or a Service fills it.
    pub fn contains(&self, object: &Json) -> bool {
        let (kind, name) = (text(object, &["kind"]), text(object, &["metadata", "name"]));
        self.0.contains(&identity(object, kind, name))
    }

    /// Returns the places of an object that have a value and that a controller sets.
    pub fn controlled(&self, object: &Json) -> Vec<(&'static ControllerField, Vec<Step>)> {
        let kind = text(object, &["kind"]);
        let rows = CONTROLLER_FIELDS.iter().filter(|row| row.kinds.contains(&kind));
        let rows = rows.filter(|row| match row.sets {
            Sets::Always => true,
            Sets::With(keys) => at(object, keys).is_some_and(|value| !value.is_null()),
            Sets::Value(keys, value) => text(object, keys) == value,
            Sets::Marked(names) => ["annotations", "labels"].iter().any(|list| {
                names
                    .iter()
                    .any(|name| !["", "false"].contains(&text(object, &["metadata", list, name])))
            }),
            Sets::Targeted => self.contains(object),
        });
        rows.flat_map(|row| places(object, row.keys).into_iter().map(move |place| (row, place)))
            .collect()
    }
}

/// Returns the keys of the fields of a kind that a controller may set, up to the first list.
pub fn keys_of(kind: &str) -> impl Iterator<Item = Vec<&'static str>> {
    let rows = CONTROLLER_FIELDS.iter().filter(move |row| row.kinds.contains(&kind));
    rows.map(|row| row.keys.iter().copied().take_while(|key| *key != "[]").collect())
}

/// Returns the places of keys, also with null, which server-side apply sends like any value.
fn places(value: &Json, keys: &[&str]) -> Vec<Vec<Step>> {
    let Some((key, rest)) = keys.split_first() else { return vec![Vec::new()] };
    let below: Vec<(Step, &Json)> = match (*key, value) {
        ("[]", Json::Array(items)) => {
            items.iter().enumerate().map(|(index, item)| (Step::Index(index), item)).collect()
        }
        (key, value) => {
            let value = value.get(key).map(|value| (Step::Key(key.to_owned()), value));
            value.into_iter().collect()
        }
    };
    let below = below.into_iter().flat_map(|(step, value)| {
        places(value, rest).into_iter().map(move |place| [vec![step.clone()], place].concat())
    });
    below.collect()
}

fn at<'j>(object: &'j Json, keys: &[&str]) -> Option<&'j Json> {
    keys.iter().try_fold(object, |value, key| value.get(key))
}

fn text<'j>(object: &'j Json, keys: &[&str]) -> &'j str {
    at(object, keys).and_then(Json::as_str).unwrap_or_default()
}

fn identity(object: &Json, kind: &str, name: &str) -> [String; 3] {
    [kind, text(object, &["metadata", "namespace"]), name].map(str::to_owned)
}
