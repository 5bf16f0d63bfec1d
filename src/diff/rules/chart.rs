//! The chart itself: its values, where its CRDs are, which clusters it is for.

use super::{Scene, found, rules, spoken};
use crate::diff::path::{Path, Step};
use crate::diff::tree::Edit;
use crate::diff::{Finding, Identity, Placement, values};
use crate::ir::stable_key;
use serde_json::Value as Json;
use std::collections::HashMap;
use std::mem::{Discriminant, discriminant};

rules! {
    VALUE_REMOVED "value-removed" Breaking
        "A value of the chart is gone."
        "A chart with a closed schema refuses values that it does not know, so an upgrade with the old values file stops. Other charts ignore the value, and what it did is no longer done."
        "Take the value out of your values files, and find out what replaces it.";
    VALUE_MOVED "value-renamed" Breaking
        "A value of the chart has another name."
        "Under the old name it is refused or ignored."
        "Rename it in your values files.";
    VALUE_OF_IMAGE "image-value-removed" Info
        "A chart of bundle2chart no longer has an image that a value could replace."
        "The image itself is gone, so there is nothing to replace. A values file that still does is refused."
        "Take the value out of your values files.";
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
    CRDS_KEPT "crd-placement-kept" Info
        "A CRD moved from templates/ to crds/, and stays in the cluster."
        "It says `helm.sh/resource-policy: keep`, so Helm leaves it where it is. From now on `helm upgrade` does not update it."
        "Replace it with kubectl before each upgrade.";
    CRDS_ENTERED "crd-placement-entered-templates" Breaking
        "A CRD moved from crds/ to templates/."
        "It exists without Helm's labels, so Helm refuses the upgrade rather than take it over."
        "Replace the CRD with kubectl, so that nothing of the old one stays, and upgrade with `--take-ownership` (Helm 3.17 or later), or with the label `app.kubernetes.io/managed-by: Helm` and the annotations `meta.helm.sh/release-name` and `meta.helm.sh/release-namespace` on it.";
    KUBE "kube-version-changed" Risky
        "The chart asks for other versions of Kubernetes."
        "Helm refuses to upgrade on a cluster whose version does not fit."
        "Check the versions of your clusters.";
    VERSION "chart-version-changed" Info
        "The chart has another version."
        "This is the upgrade."
        "Nothing.";
}

pub(super) fn judge(scene: &Scene<'_, '_>, findings: &mut Vec<Finding>) {
    let edit = scene.edit;
    let shape = scene.shape();
    match (shape.as_slice(), &edit.old, &edit.new) {
        (["version" | "appVersion"], Some(old), Some(new)) => {
            findings.push(found(&VERSION, format!("{} became {}", spoken(old), spoken(new))));
        }
        (["kubeVersion"], old, Some(new)) => {
            // What still runs on all that the old one ran on is no risk.
            let widened = |(old, new)| new <= old;
            if old.as_ref().and_then(lowest).zip(lowest(new)).is_some_and(widened) {
                return;
            }
            let old = old.as_ref().map_or("any".to_owned(), spoken);
            findings.push(found(&KUBE, format!("{old} became {}", spoken(new))));
        }
        (["crds", name], Some(_), Some(new)) => {
            let kept = |name: &str| {
                let id = Identity {
                    kind: "CustomResourceDefinition".to_owned(),
                    group: "apiextensions.k8s.io".to_owned(),
                    namespace: String::new(),
                    name: name.to_owned(),
                };
                scene.sides.old.objects.get(&id).is_some_and(super::object::is_kept)
            };
            let rule = if new == Placement::Templates.as_str() {
                &CRDS_ENTERED
            } else if kept(name) {
                &CRDS_KEPT
            } else {
                &CRDS_LEFT
            };
            findings.push(found(rule, format!("`{name}`")));
        }
        (["values", ..], ..) => value(scene, findings),
        _ => {}
    }
}

/// The lowest version of a constraint that is nothing but one: `>=1.25.0-0`.
fn lowest(constraint: &Json) -> Option<Vec<u64>> {
    let text = constraint.as_str()?.trim().strip_prefix(">=")?.trim();
    let numbers = text.strip_suffix("-0").unwrap_or(text);
    let numbers = numbers.strip_prefix('v').unwrap_or(numbers);
    let mut parts: Vec<u64> = numbers.split('.').map(|n| n.parse().ok()).collect::<Option<_>>()?;
    parts.resize(3, 0);
    Some(parts)
}

/// `a.b.c` of a path below `values`.
fn name(path: &Path) -> String {
    let steps: Vec<String> = path.steps().iter().skip(1).map(Step::label).collect();
    steps.join(".")
}

/// Whether a path below `values` is `images.NAME`, which says nothing by default.
fn is_of_image(path: &Path) -> bool {
    matches!(path.keys().as_slice(), ["values", "images", _])
}

fn value(scene: &Scene<'_, '_>, findings: &mut Vec<Finding>) {
    let edit = scene.edit;
    let shown = name(&edit.path);
    let respelt = edit.old.as_ref().and_then(|old| scene.new_values.respelt(old, edit));
    match (&edit.old, &edit.new) {
        (Some(_), None) if still_taken(scene) => {
            findings.push(found(&VALUE_DEFAULT, format!("`{shown}` has no default any more")));
        }
        (Some(_), None) if is_unset(scene) => {
            let reason = format!("`{shown}` is gone, and the given values do not set it");
            findings.push(found(&VALUE_DEFAULT, reason));
        }
        (Some(_), None) if respelt.is_some() => {
            let new = respelt.unwrap_or_default();
            findings.push(found(&VALUE_MOVED, format!("`{shown}` is `{new}` now")));
        }
        (Some(Json::String(old)), None) if old.is_empty() && is_of_image(&edit.path) => {
            findings.push(found(&VALUE_OF_IMAGE, format!("`{shown}` is gone")));
        }
        (Some(old), None) => match scene.new_values.renamed(old, edit) {
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

/// The keys that lead to the edit's value, up to the first list, which a values file replaces as a
/// whole; and whether there is one.
fn keys<'s>(scene: &'s Scene<'_, '_>) -> (Vec<&'s str>, bool) {
    let steps = scene.steps().iter().skip(1).map(|step| match step {
        Step::Key(key) => Some(key.as_str()),
        _ => None,
    });
    let keys: Vec<&str> = steps.map_while(|key| key).collect();
    let in_list = keys.len() + 1 < scene.steps().len();
    (keys, in_list)
}

/// Whether a value without a default can still be set: in a list, or in a map for anything.
fn still_taken(scene: &Scene<'_, '_>) -> bool {
    let (keys, in_list) = keys(scene);
    in_list || scene.sides.new.chart.as_ref().is_some_and(|chart| values::takes(chart, &keys))
}

/// Whether values were given, and this one is not among them.
fn is_unset(scene: &Scene<'_, '_>) -> bool {
    let given = scene.sides.new.chart.as_ref().map(|chart| &chart.given);
    let given = given.filter(|given| given.as_object().is_some_and(|map| !map.is_empty()));
    given.is_some_and(|given| super::at(given, &keys(scene).0).is_none())
}

/// The map that a value is in, its key without versions and dots, and its type.
type StableKey<'e> = (&'e [Step], String, Discriminant<Json>);

/// The values that a chart got, in the order of its edits.
#[derive(Default)]
pub(super) struct NewValues<'e> {
    edits: Vec<&'e Edit>,
    /// Indices of `edits` by the last key and the type of the value.
    by_key: HashMap<(Option<&'e str>, Discriminant<Json>), Vec<usize>>,
    /// The same by what the value says.
    by_content: HashMap<String, Vec<usize>>,
    /// The same by the map that the value is in, its key without versions and dots, and its type.
    by_stable_key: HashMap<StableKey<'e>, Vec<usize>>,
}

impl<'e> NewValues<'e> {
    /// Returns the values among the edits of a chart.
    pub(super) fn of(edits: &'e [Edit]) -> Self {
        let mut values = NewValues::default();
        for edit in edits {
            let below = edit.path.steps().first() == Some(&Step::Key("values".to_owned()));
            let Some(new) = edit.new.as_ref().filter(|_| below && edit.old.is_none()) else {
                continue;
            };
            let index = values.edits.len();
            values.edits.push(edit);
            values.by_key.entry((edit.path.last_key(), discriminant(new))).or_default().push(index);
            if let Some((Step::Key(key), parents)) = edit.path.steps().split_last() {
                let key = (parents, stable_key(key, ""), discriminant(new));
                values.by_stable_key.entry(key).or_default().push(index);
            }
            if is_telling(new) {
                values.by_content.entry(canonical(new)).or_default().push(index);
            }
        }
        values
    }

    /// Returns the new name of a value whose key lost or changed a version, or has dashes for dots.
    fn respelt(&self, old: &Json, edit: &Edit) -> Option<String> {
        let (Step::Key(key), parents) = edit.path.steps().split_last()? else { return None };
        let key = (parents, stable_key(key, ""), discriminant(old));
        // Two that fit are none.
        let [index] = self.by_stable_key.get(&key)?.as_slice() else { return None };
        self.edits.get(*index).map(|edit| name(&edit.path))
    }

    /// Returns the new name of a value that went: the only one that came with the same last key or
    /// the same content.
    fn renamed(&self, old: &Json, edit: &Edit) -> Option<String> {
        let by_key = self.by_key.get(&(edit.path.last_key(), discriminant(old)));
        let by_content = is_telling(old).then(|| self.by_content.get(&canonical(old))).flatten();
        let mut came = by_key.into_iter().chain(by_content).flatten();
        let first = came.next()?;
        // Two that fit are none.
        came.all(|other| other == first)
            .then(|| self.edits.get(*first))
            .flatten()
            .map(|e| name(&e.path))
    }
}

/// Whether a value says enough to be known by it under another name.
fn is_telling(value: &Json) -> bool {
    match value {
        Json::String(text) => text.len() > 3,
        Json::Object(map) => !map.is_empty(),
        Json::Array(items) => !items.is_empty(),
        _ => false,
    }
}

/// A text that is the same for equal values, whatever the order of their keys.
fn canonical(value: &Json) -> String {
    let mut value = value.clone();
    value.sort_all_objects();
    value.to_string()
}
