//! What holds for objects of every kind.

use super::{Scene, found, listed, rules, spoken};
use crate::diff::path::Step;
use crate::diff::{CHART_KIND, Finding};
use crate::ir::Identity;
use serde_json::Value as Json;
use std::collections::HashSet;

rules! {
    REFERENCED "object-removed-referenced" Breaking
        "An object is gone that others still name."
        "What names it fails: pods do not start without their ConfigMap, Secret or ServiceAccount, webhooks do not answer without their Service."
        "Find out where the object comes from now; create it yourself before the upgrade, if nobody does.";
    DATA "data-removed" Breaking
        "An object that holds data is gone."
        "Helm deletes it on the upgrade, and what it holds with it, unless its reclaim policy says otherwise."
        "Back up the data, or keep the object with the annotation `helm.sh/resource-policy: keep` before the upgrade.";
    KEPT "object-kept" Info
        "An object is no longer part of the chart, and stays in the cluster."
        "It says `helm.sh/resource-policy: keep`, so Helm leaves it where it is, and no longer looks after it."
        "Delete it yourself once nothing needs it.";
    IMMUTABLE "immutable-field" Breaking
        "A field changed that cannot be changed."
        "The API server refuses the update, and the upgrade fails half-way."
        "Delete the object before the upgrade, so that it is created anew; mind what is down meanwhile.";
    WORKLOAD_REMOVED "workload-removed" Risky
        "A workload is gone."
        "Its pods stop with the upgrade."
        "Find out what takes over its work.";
    SERVICE_REMOVED "service-removed" Risky
        "A Service is gone."
        "Clients outside of this chart that use its host name fail."
        "Look for clients: Ingresses, monitoring, other namespaces.";
    RENAMED_IN_USE "object-renamed-in-use" Risky
        "An object that others find by its name has another one."
        "Helm creates the new one and deletes the old one. Clients look a Service up by its name, and what a StatefulSet or claim stored stays with the old name."
        "Change clients, and move data, before the old one goes.";
    RENAMED "object-renamed" Info
        "An object has another name and nearly the same content."
        "Helm creates the new one and deletes the old one."
        "Change what names the old one outside of this chart.";
    REMOVED "object-removed" Info
        "An object is gone."
        "Helm deletes it on the upgrade."
        "Nothing, unless something outside of this chart uses it.";
    ADDED "object-added" Info
        "An object is new."
        "Helm creates it on the upgrade, and stops if one of this name already exists outside of the release."
        "Nothing.";
    API_VERSION "api-version-changed" Info
        "An object is written in another version of its API."
        "It is the same object. The cluster must serve the new version."
        "Check that your clusters serve it.";
    DESCRIPTION "description-changed" Info
        "A description changed."
        "Words for people."
        "Nothing.";
    METADATA "metadata-changed" Info
        "Labels or annotations changed."
        "They are for people and tools, unless something selects by them."
        "Nothing, unless something of yours selects by them.";
    ORDER "order-changed" Info
        "Items of a list are in another order."
        "All items are there as before."
        "Nothing.";
    CHANGED "field-changed" Info
        "A field changed."
        "No rule knows it as a risk."
        "Nothing.";
}

pub(super) fn judge(scene: &Scene<'_, '_>, findings: &mut Vec<Finding>) {
    let id = &scene.pair.id;
    if id.kind == CHART_KIND {
        return;
    }
    if let Some(old) = &scene.pair.old_id
        && old != id
        && renames(scene, old)
    {
        let still = scene.sides.references.to(old);
        if !still.is_empty() {
            let reason = format!("{} still names `{old}`, which is now `{id}`", listed(&still, 3));
            findings.push(found(&REFERENCED, reason));
        }
        let in_use = ["Service", "StatefulSet", "PersistentVolumeClaim", "Namespace"];
        let rule = if in_use.contains(&id.kind.as_str()) { &RENAMED_IN_USE } else { &RENAMED };
        findings.push(found(rule, format!("it was {}", spoken(&Json::String(old.to_string())))));
    }
    match (scene.shape().as_slice(), &scene.edit.old, &scene.edit.new) {
        ([], Some(_), None) => removed(scene, findings),
        (["apiVersion"], Some(old), Some(new)) => {
            findings.push(found(&API_VERSION, format!("{} became {}", spoken(old), spoken(new))))
        }
        ([], ..) => {}
        (shape, ..) => {
            if let Some(what) = immutable(scene, shape) {
                findings.push(found(&IMMUTABLE, what));
            }
        }
    }
}

/// Whether the edit is the one by which an object got another name.
fn renames(scene: &Scene<'_, '_>, old: &Identity) -> bool {
    let field = if old.name == scene.pair.id.name { "namespace" } else { "name" };
    scene.shape() == ["metadata", field]
}

fn removed(scene: &Scene<'_, '_>, findings: &mut Vec<Finding>) {
    let id = &scene.pair.id;
    if scene.pair.old.is_some_and(is_kept) {
        if id.kind != "CustomResourceDefinition" {
            findings.push(found(&KEPT, "Helm leaves it in the cluster"));
        }
        return;
    }
    let still = scene.sides.references.to(id);
    if !still.is_empty() {
        findings.push(found(&REFERENCED, format!("{} still names it", listed(&still, 3))));
    }
    match id.kind.as_str() {
        "PersistentVolumeClaim" | "PersistentVolume" | "Namespace" | "StatefulSet" => {
            findings.push(found(&DATA, format!("the {} goes with the upgrade", id.kind)));
        }
        "Deployment" | "DaemonSet" | "Job" | "CronJob" | "ReplicaSet" | "Pod" => {
            findings.push(found(&WORKLOAD_REMOVED, format!("the {} goes", id.kind)));
        }
        "Service" => findings.push(found(&SERVICE_REMOVED, "its host name goes with it")),
        _ => {}
    }
}

/// Fields that the API server does not let change, by kind; the validation of each kind in
/// kubernetes/pkg/apis.
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
    ("Job", &[&["spec", "selector"], &["spec", "template"], &["spec", "completionMode"]]),
    ("RoleBinding", &[&["roleRef"]]),
    ("ClusterRoleBinding", &[&["roleRef"]]),
    ("Service", &[&["spec", "clusterIP"]]),
    ("PriorityClass", &[&["value"], &["preemptionPolicy"]]),
    ("Secret", &[&["type"]]),
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
            &["spec", "selector"],
        ],
    ),
];

/// An annotation of an object.
fn annotation<'j>(object: &'j Json, name: &str) -> Option<&'j str> {
    super::at(object, &["metadata", "annotations", name]).and_then(Json::as_str)
}

/// Whether Helm leaves an object in the cluster that is no longer part of the release.
pub(super) fn is_kept(object: &Json) -> bool {
    annotation(object, "helm.sh/resource-policy") == Some("keep")
}

/// Whether an object is one that Helm makes at some moment, and is no part of the release.
pub(in crate::diff) fn is_hook(object: &Json) -> bool {
    annotation(object, "helm.sh/hook").is_some()
}

/// Whether Helm deletes an object, and creates it anew, whenever it needs it: a hook with the usual
/// `helm.sh/hook-delete-policy`.
fn is_made_anew(object: &Json) -> bool {
    is_hook(object)
        && annotation(object, "helm.sh/hook-delete-policy")
            .is_none_or(|policy| policy.contains("before-hook-creation"))
}

fn immutable(scene: &Scene<'_, '_>, shape: &[&str]) -> Option<String> {
    let id = &scene.pair.id;
    if scene.pair.new.is_some_and(is_made_anew) {
        return None;
    }
    // One that has another name is created anew.
    if scene.pair.old_id.as_ref() != Some(id) {
        return None;
    }
    let (_, fields) =
        IMMUTABLE_FIELDS.iter().find(|(kind, _)| *kind == id.kind).unwrap_or(&("", &[]));
    if let Some(field) = fields.iter().find(|field| shape.starts_with(field)) {
        return Some(format!("`.{}` of a {} cannot change", field.join("."), id.kind));
    }
    let frozen = ["ConfigMap", "Secret"].contains(&id.kind.as_str())
        && scene.old_at(&["immutable"]).and_then(Json::as_bool) == Some(true)
        && ["data", "binaryData", "stringData", "immutable"].contains(shape.first()?);
    frozen.then(|| format!("the {} is immutable", id.kind))
}

/// Whether a list has all of these items.
fn has_all(list: &[Json], items: &[Json]) -> bool {
    let list: HashSet<&Json> = list.iter().collect();
    items.iter().all(|item| list.contains(item))
}

/// What an edit is that no rule knows.
pub(super) fn otherwise(scene: &Scene<'_, '_>) -> Finding {
    let shape = scene.shape();
    let edit = scene.edit;
    match (&edit.old, &edit.new) {
        (None, Some(_)) if shape.is_empty() => return found(&ADDED, "it is new"),
        (Some(_), None) if shape.is_empty() => return found(&REMOVED, "it is gone"),
        (Some(Json::Array(old)), Some(Json::Array(new)))
            if old.len() == new.len() && has_all(new, old) =>
        {
            return found(&ORDER, "the items are the same");
        }
        _ => {}
    }
    if matches!(scene.steps().last(), Some(Step::Order(_))) {
        return found(&ORDER, "the items are the same");
    }
    let in_schema = scene.pair.id.kind == "CustomResourceDefinition";
    if in_schema && ["description", "title", "example"].contains(shape.last().unwrap_or(&"")) {
        return found(&DESCRIPTION, "words for people");
    }
    let parts = shape
        .windows(2)
        .any(|pair| pair[0] == "metadata" && ["labels", "annotations"].contains(&pair[1]));
    if parts {
        return found(&METADATA, "labels or annotations");
    }
    let reason = match (&edit.old, &edit.new) {
        (None, _) => "it is new",
        (_, None) => "it is gone",
        _ => "it changed",
    };
    found(&CHANGED, reason)
}
