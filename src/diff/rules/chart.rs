//! The chart itself: its values, where its CRDs are, which clusters it is for.

use super::{Scene, found, rules, spoken};
use crate::diff::path::{Path, Step};
use crate::diff::tree::Edit;
use crate::diff::{Finding, Placement};
use serde_json::Value as Json;

rules! {
    VALUE_REMOVED "value-removed" Breaking
        "A value of the chart is gone."
        "A chart with a closed schema refuses values that it does not know, so an upgrade with the old values file stops. Other charts ignore the value, and what it did is no longer done."
        "Take the value out of your values files, and find out what replaces it.";
    VALUE_MOVED "value-renamed" Breaking
        "A value of the chart has another name."
        "Under the old name it is refused or ignored."
        "Rename it in your values files.";
    VALUE_TYPE "value-type-changed" Breaking
        "A value of the chart has another type."
        "What is set to the old type is refused, or rendered wrong."
        "Change it in your values files.";
    VALUE_DEFAULT "value-default-changed" Info
        "A value of the chart has another default."
        "It matters where you did not set the value; what it changes in objects is listed with them."
        "Nothing.";
    VALUE_ADDED "value-added" Info
        "The chart has a new value."
        "Something more can be set."
        "Nothing.";
    CRDS_LEFT "crd-placement-left-templates" Breaking
        "A CRD moved from templates/ to crds/."
        "It is no longer part of the release, so Helm deletes it on the upgrade, and with it every object of its kind, unless it has `helm.sh/resource-policy: keep` in the cluster."
        "Check in the cluster that the CRD has the annotation `helm.sh/resource-policy: keep`; set it through the old chart first, if not.";
    CRDS_ENTERED "crd-placement-entered-templates" Breaking
        "A CRD moved from crds/ to templates/."
        "It exists without Helm's labels, so Helm refuses the upgrade rather than adopt it."
        "Label and annotate the CRD for the release (`app.kubernetes.io/managed-by: Helm`, `meta.helm.sh/release-name`, `meta.helm.sh/release-namespace`) before the upgrade, or upgrade with `--take-ownership`.";
    KUBE "kube-version-changed" Risky
        "The chart asks for other versions of Kubernetes."
        "Helm refuses to upgrade on a cluster whose version does not fit."
        "Check the versions of your clusters.";
    VERSION "chart-version-changed" Info
        "The chart has another version."
        "This is the upgrade."
        "Nothing.";
}

pub(super) fn judge(scene: &Scene<'_>, findings: &mut Vec<Finding>) {
    let edit = scene.edit;
    let shape = scene.shape();
    match (shape.as_slice(), &edit.old, &edit.new) {
        (["version" | "appVersion"], Some(old), Some(new)) => {
            findings.push(found(&VERSION, format!("{} became {}", spoken(old), spoken(new))));
        }
        (["kubeVersion"], old, Some(new)) => {
            let old = old.as_ref().map_or("any".to_owned(), spoken);
            findings.push(found(&KUBE, format!("{old} became {}", spoken(new))));
        }
        (["crds", name], Some(_), Some(new)) => {
            let rule =
                if new == Placement::Templates.as_str() { &CRDS_ENTERED } else { &CRDS_LEFT };
            findings.push(found(rule, format!("`{name}`")));
        }
        (["values", ..], ..) => value(scene, findings),
        _ => {}
    }
}

/// `a.b.c` of a path below `values`.
fn name(path: &Path) -> String {
    let steps: Vec<String> = path.steps().iter().skip(1).map(Step::label).collect();
    steps.join(".")
}

fn value(scene: &Scene<'_>, findings: &mut Vec<Finding>) {
    let edit = scene.edit;
    let shown = name(&edit.path);
    match (&edit.old, &edit.new) {
        (Some(old), None) => match renamed(old, edit, scene.edits) {
            Some(new) => findings.push(found(&VALUE_MOVED, format!("`{shown}` is `{new}` now"))),
            None => findings.push(found(&VALUE_REMOVED, format!("`{shown}` is gone"))),
        },
        (None, Some(_)) => findings.push(found(&VALUE_ADDED, format!("`{shown}` is new"))),
        (Some(old), Some(new)) => {
            let kind = |value: &Json| match value {
                Json::Null => None,
                Json::Bool(_) => Some("a boolean"),
                Json::Number(_) => Some("a number"),
                Json::String(_) => Some("a string"),
                Json::Array(_) => Some("a list"),
                Json::Object(_) => Some("a map"),
            };
            match (kind(old), kind(new)) {
                (Some(old), Some(new)) if old != new => {
                    findings.push(found(&VALUE_TYPE, format!("`{shown}` was {old} and is {new}")));
                }
                _ => findings.push(found(&VALUE_DEFAULT, format!("`{shown}`"))),
            }
        }
        (None, None) => {}
    }
}

/// The new name of a value that went: one that came with the same last name or the same content.
fn renamed(old: &Json, edit: &Edit, edits: &[Edit]) -> Option<String> {
    let telling = match old {
        Json::String(text) => text.len() > 3,
        Json::Object(map) => !map.is_empty(),
        Json::Array(items) => !items.is_empty(),
        _ => false,
    };
    let came = edits.iter().filter(|other| {
        other.old.is_none() && other.path.steps().first() == Some(&Step::Key("values".to_owned()))
    });
    let same_name = |other: &&Edit| {
        other.path.last_key() == edit.path.last_key()
            && other
                .new
                .as_ref()
                .is_some_and(|new| std::mem::discriminant(new) == std::mem::discriminant(old))
    };
    let mut came =
        came.filter(|other| same_name(other) || (telling && other.new.as_ref() == Some(old)));
    let first = came.next()?;
    // Two that fit are none.
    came.next().is_none().then(|| name(&first.path))
}
