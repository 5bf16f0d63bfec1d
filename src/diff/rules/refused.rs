//! Changes that the API server refuses: of immutable fields, and next to a default that it stored.

use super::{RuleContext, at, found, object, rules};
use crate::diff::Finding;
use serde_json::Value as Json;

rules! {
    IMMUTABLE "immutable-field" Breaking
        "Immutable field changed."
        "The API server rejects the update, and the upgrade fails half-way."
        "Delete the object before the upgrade, which recreates it; expect downtime.";
    DEFAULT "stored-default-refused" Breaking
        "Change rejected because of a default that the API server stored."
        "The API server added a field that the old chart does not have, such as `rollingUpdate` of a Deployment's strategy, and rejects it next to the new value. Server-side apply, the default of Helm 4, keeps fields that no manifest had, so the upgrade fails, also with `--force-conflicts` and with `null` in the manifest. Helm 3 and `--server-side=false` remove the field."
        "With Helm 4, delete the object without its pods before the upgrade, which recreates it and adopts the pods.";
    ROLLBACK "rollback-refused" Risky
        "Rollback rejected because of a default that the API server stores."
        "The upgrade makes the API server add a field, such as `rollingUpdate` of a Deployment's strategy, which it rejects next to the old value. Helm 4 keeps such fields, so `helm rollback` fails, also with `--force-conflicts`."
        "Before a rollback with Helm 4, delete the object without its pods (`kubectl delete --cascade=orphan`).";
}

/// Immutable fields by kind. Source: the validation of each kind in kubernetes/pkg/apis; the API
/// server judges them in tests/api_server/refusals.rs.
const IMMUTABLE_FIELDS: &[(&str, &[&[&str]])] = &[
    ("Deployment", &[&["spec", "selector"]]),
    ("DaemonSet", &[&["spec", "selector"]]),
    ("ReplicaSet", &[&["spec", "selector"]]),
    (
        "StatefulSet",
        &[
            &["spec", "selector"],
            &["spec", "serviceName"],
            &["spec", "podManagementPolicy"],
            &["spec", "volumeClaimTemplates"],
        ],
    ),
    (
        "Job",
        &[
            &["spec", "selector"],
            &["spec", "template"],
            &["spec", "completionMode"],
            &["spec", "completions"],
            &["spec", "podFailurePolicy"],
            &["spec", "backoffLimitPerIndex"],
            &["spec", "managedBy"],
            &["spec", "successPolicy"],
        ],
    ),
    ("IngressClass", &[&["spec", "controller"]]),
    ("RuntimeClass", &[&["handler"]]),
    ("RoleBinding", &[&["roleRef"]]),
    ("ClusterRoleBinding", &[&["roleRef"]]),
    ("Service", &[&["spec", "clusterIP"]]),
    ("CSIDriver", &[&["spec", "attachRequired"], &["spec", "volumeLifecycleModes"]]),
    ("PersistentVolume", &[&["spec", "volumeMode"]]),
    ("PriorityClass", &[&["value"], &["preemptionPolicy"]]),
    ("Secret", &[&["type"]]),
    ("EndpointSlice", &[&["addressType"]]),
    ("ResourceClaimTemplate", &[&["spec"]]),
    ("VolumeAttributesClass", &[&["driverName"], &["parameters"]]),
    (
        "StorageClass",
        &[&["provisioner"], &["parameters"], &["reclaimPolicy"], &["volumeBindingMode"]],
    ),
    (
        "PersistentVolumeClaim",
        &[
            &["spec", "accessModes"],
            &["spec", "storageClassName"],
            &["spec", "volumeName"],
            &["spec", "volumeMode"],
            &["spec", "resources", "limits"],
            &["spec", "selector"],
            &["spec", "dataSource"],
            &["spec", "dataSourceRef"],
        ],
    ),
];

/// Fields of a kind that may hold a default which another value of `type` forbids.
///
/// Server-side apply removes a field with all defaults below it if the old manifest has it, even
/// empty; so only a field that the server added as a whole is left. Of all unions of built-in kinds
/// (strategies, probes, hooks of containers, volumes, variables, Services, webhooks, conversions), these are
/// the ones that the server fills.
const STORED_DEFAULTS: &[StoredDefault] = &[
    StoredDefault { kind: "Deployment", parent: &["spec", "strategy"] },
    StoredDefault { kind: "StatefulSet", parent: &["spec", "updateStrategy"] },
];

/// A map with a `type`, whose default is `RollingUpdate`, and with `rollingUpdate`, which the server
/// fills for that type and rejects for others.
struct StoredDefault {
    kind: &'static str,
    parent: &'static [&'static str],
}

impl StoredDefault {
    /// Returns true if the server has stored the field for `old`, and rejects it next to `new`.
    fn refuses(&self, old: &Json, new: &Json) -> bool {
        let rolling = |object: &Json| {
            let strategy = at(object, self.parent).and_then(|map| map.get("type"));
            strategy.and_then(Json::as_str).is_none_or(|kind| kind == "RollingUpdate")
        };
        let field = at(old, self.parent).and_then(|map| map.get("rollingUpdate"));
        rolling(old) && !rolling(new) && field.is_none_or(Json::is_null)
    }
}

pub(super) fn judge(context: &RuleContext<'_, '_>, shape: &[&str], findings: &mut Vec<Finding>) {
    let (Some(old), Some(new)) = (context.pair.old, context.pair.new) else { return };
    let id = &context.pair.id;
    // Renamed objects and most hooks are recreated.
    if object::is_recreated(new) || context.pair.old_id.as_ref() != Some(id) {
        return;
    }

    if let Some(reason) = immutable(&id.kind, old, new, shape) {
        findings.push(found(&IMMUTABLE, reason));
    }
    for default in STORED_DEFAULTS.iter().filter(|default| default.kind == id.kind) {
        let kind = [default.parent, &["type"]].concat();
        if !kind.starts_with(shape) {
            continue;
        }
        let field = default.parent.join(".");
        let stored = |of: &str| format!("{field}.rollingUpdate: stored by the API server for {of}");
        if default.refuses(old, new) {
            let reason = format!("{}, and rejected with the new type", stored("the old chart"));
            findings.push(found(&DEFAULT, reason));
        } else if default.refuses(new, old) {
            let reason = format!("{}, and rejected with the old type", stored("the new chart"));
            findings.push(found(&ROLLBACK, reason));
        }
    }
}

/// Returns the reason if an edit of this shape changes an immutable field.
fn immutable(kind: &str, old: &Json, new: &Json, shape: &[&str]) -> Option<String> {
    let fields = IMMUTABLE_FIELDS.iter().find(|(of, _)| *of == kind).map_or(&[][..], |row| row.1);
    if let Some(field) = fields.iter().find(|field| shape.starts_with(field)) {
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
        "Service" => {
            let balanced = |service| is(service, &["spec", "type"], "LoadBalancer".into());
            let fixed = shape == ["spec", "loadBalancerClass"] && balanced(old) && balanced(new);
            fixed.then(|| format!("{}: immutable in a load balancer", shape.join(".")))
        }
        _ => None,
    }
}
