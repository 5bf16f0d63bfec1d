//! Rules on the chart itself: values, placement of CRDs, supported Kubernetes versions.

use super::fields::plain;
use super::{RuleContext, display_value, found, listed, not_in, rules};
use crate::diag::join;
use crate::ir::stable_key;
use crate::path::{Path, Step};
use crate::read::{at, items};
use crate::tree::Edit;
use crate::{Finding, Identity, Placement, values, values_schema};
use serde_json::Value as Json;
use std::collections::HashMap;
use std::mem::{Discriminant, discriminant};

rules! {
    /// Value removed from the chart.
    ///
    /// A chart with a closed schema rejects unknown values, so an upgrade with the old values file
    /// fails. Other charts ignore the value, so it has no effect.
    VALUE_REMOVED "value-removed" Breaking(UpgradeFails Values)
        "Remove the value from your values files and look for its replacement.";
    /// Value of the chart renamed.
    ///
    /// The old name is rejected or ignored.
    VALUE_MOVED "value-renamed" Breaking(UpgradeFails Values)
        "Rename it in your values files.";
    /// Image override removed from the chart.
    ///
    /// The chart no longer uses the image, so there is nothing to override. A values file with the
    /// override is rejected.
    VALUE_OF_IMAGE "image-value-removed" Info
        "Remove the value from your values files.";
    /// Type of a value changed.
    ///
    /// Values of the old type are rejected or rendered wrong.
    VALUE_TYPE "value-type-changed" Breaking(UpgradeFails Values)
        "Change the value in your values files.";
    /// Schema of a value allows less.
    ///
    /// Helm checks values against values.schema.json of the chart before it renders anything, so an
    /// upgrade with a value that the new schema rejects fails.
    VALUE_NARROWED "value-narrowed" Breaking(UpgradeFails Values)
        "Check the value in your values files.";
    /// Default of a value changed.
    ///
    /// It affects releases that do not set the value; the changes of objects are listed separately.
    VALUE_DEFAULT "value-default-changed" Info;
    /// Value added to the chart.
    ///
    /// The new version has an additional option.
    VALUE_ADDED "value-added" Info;
    /// CRD moved from templates/ to crds/.
    ///
    /// The CRD is no longer part of the release, so Helm deletes it on the upgrade, with all
    /// objects of its kind, unless it has the annotation `helm.sh/resource-policy: keep` in the
    /// cluster.
    CRDS_LEFT "crd-placement-left-templates" Breaking(DataLost BackUp Keep)
        "Check that the CRD in the cluster has the annotation `helm.sh/resource-policy: keep`; otherwise set it with the old chart first.";
    /// CRD moved from templates/ to crds/ and is kept.
    ///
    /// The CRD has the annotation `helm.sh/resource-policy: keep`, so Helm does not delete it.
    /// `helm upgrade` no longer updates it.
    CRDS_KEPT "crd-placement-kept" Info
        "Replace the CRD with kubectl before each upgrade.";
    /// CRD moved from crds/ to templates/.
    ///
    /// The existing CRD has no Helm ownership metadata, so Helm rejects the upgrade.
    CRDS_ENTERED "crd-placement-entered-templates" Breaking(UpgradeFails TakeOver)
        "Run the commands of the plan: they replace the CRD, which also removes obsolete fields, make Helm the only owner of its fields, and upgrade with `--take-ownership` (Helm 3.17 or later).";
    /// Supported Kubernetes versions changed.
    ///
    /// Helm rejects the upgrade on clusters with an unsupported version.
    KUBE "kube-version-changed" Risky(UpgradeFails Provide)
        "Check the Kubernetes versions of your clusters.";
    /// Version of the chart changed.
    ///
    /// Every upgrade changes it.
    VERSION "chart-version-changed" Info counted;
}

pub(super) fn add_findings(context: &RuleContext<'_, '_>, findings: &mut Vec<Finding>) {
    let edit = context.edit;
    let shape = context.shape();
    match (shape.as_slice(), &edit.old, &edit.new) {
        (["version" | "appVersion"], Some(old), Some(new)) => {
            findings
                .push(found(&VERSION, format!("{} → {}", display_value(old), display_value(new))));
        }
        (["kubeVersion"], old, Some(new)) => {
            // A lower minimum supports all clusters that the old chart supported.
            let widened = |(old, new)| new <= old;
            let least = |value: &Json| lowest(value.as_str()?.trim().strip_prefix(">=")?);
            if old.as_ref().and_then(least).zip(least(new)).is_some_and(widened) {
                return;
            }
            let old = old.as_ref().map_or("any".to_owned(), display_value);
            findings.push(found(&KUBE, format!("kubeVersion: {old} → {}", display_value(new))));
        }
        // Helm owns templates and does not own the files of `crds/`, so a move changes who deletes
        // the CRD.
        (["crds", name], Some(_), Some(new)) => {
            let id = Identity::new("CustomResourceDefinition", "apiextensions.k8s.io", "", name);
            let is_kept = context.sides.old.objects.get(&id).is_some_and(super::object::is_kept);
            let rule = match (new == Placement::Templates.as_str(), is_kept) {
                (true, _) => &CRDS_ENTERED,
                (false, true) => &CRDS_KEPT,
                (false, false) => &CRDS_LEFT,
            };
            findings.push(found(rule, format!("`{name}`")));
        }
        (["values", ..], ..) => findings.extend(value(context)),
        ([values_schema::KEY, path, keyword], ..) => {
            findings.push(narrowed(context, path, keyword));
        }
        _ => {}
    }
}

/// Returns the numbers of the lowest version that `>=` allows, such as `1.25.0-0`; `None` for other
/// constraints, which few charts have and which are not compared.
pub(super) fn lowest(version: &str) -> Option<Vec<u64>> {
    // With `-0` the constraint also allows pre-releases, which versions of providers are
    // (1.33.1-gke.2).
    let text = version.trim();
    let numbers = text.strip_suffix("-0").unwrap_or(text);
    let numbers = numbers.strip_prefix('v').unwrap_or(numbers);
    let mut parts: Vec<u64> = numbers.split('.').map(|n| n.parse().ok()).collect::<Option<_>>()?;
    parts.resize(3, 0);
    Some(parts)
}

/// Returns the name of a value, such as `a.b.c`, from its path below `values`.
fn name(path: &Path) -> String {
    join(path.steps().iter().skip(1).map(Step::label), ".")
}

/// Returns the finding for an edit of a value.
fn value(context: &RuleContext<'_, '_>) -> Option<Finding> {
    let edit = context.edit;
    let shown = name(&edit.path);
    // Up to the first list, which a values file replaces as a whole.
    let keys = context.steps().iter().skip(1).map_while(|step| match step {
        Step::Key(key) => Some(key.as_str()),
        _ => None,
    });
    let keys: Vec<&str> = keys.collect();
    let chart = context.sides.new.chart.as_ref();
    let is_of_image = matches!(edit.path.keys().as_slice(), ["values", "images", _]);
    // Names of values contain versions of Deployments, which change with each release.
    let new_key =
        edit.old.as_ref().and_then(|old| context.new_values.rename_by_stable_key(old, edit));
    Some(match (&edit.old, &edit.new) {
        // In a list or in an open map.
        (Some(_), None) if chart.is_some_and(|chart| values::accepts(chart, &keys)) => {
            found(&VALUE_DEFAULT, format!("default of `{shown}` removed"))
        }
        (Some(_), None) if given(context).is_some_and(|given| at(given, &keys).is_none()) => {
            found(&VALUE_DEFAULT, format!("`{shown}` removed; your values do not set it"))
        }
        // `images.NAME` is empty by default.
        (Some(Json::String(old)), None) if new_key.is_none() && old.is_empty() && is_of_image => {
            found(&VALUE_OF_IMAGE, format!("`{shown}` removed"))
        }
        (Some(old), None) => match new_key.or_else(|| context.new_values.renamed(old, edit)) {
            Some(new) => found(&VALUE_MOVED, format!("`{shown}` renamed to `{new}`")),
            None => found(&VALUE_REMOVED, format!("`{shown}` removed")),
        },
        (None, Some(_)) => found(&VALUE_ADDED, format!("new value `{shown}`")),
        (Some(old), Some(new)) => {
            let kind = |value: &Json| match value {
                Json::Null => None,
                Json::Bool(_) => Some("boolean"),
                Json::Number(_) => Some("number"),
                Json::String(_) => Some("string"),
                Json::Array(_) => Some("list"),
                Json::Object(_) => Some("map"),
            };

            match (kind(old), kind(new)) {
                (Some(old), Some(new)) if old != new => {
                    found(&VALUE_TYPE, format!("`{shown}`: type {old} → {new}"))
                }
                _ => found(&VALUE_DEFAULT, format!("`{shown}`: default changed")),
            }
        }
        (None, None) => return None,
    })
}

/// Returns the finding for a keyword of values.schema.json that allows less than before.
fn narrowed(context: &RuleContext<'_, '_>, path: &str, keyword: &str) -> Finding {
    let (old, new) = (context.edit.old.as_ref(), context.edit.new.as_ref());
    let change = match (keyword, old) {
        (values_schema::REMOVED, _) => format!("`{path}` removed"),
        (values_schema::REQUIRED, _) => format!("`{path}`: required, and the chart has no default"),
        (values_schema::CLOSED, _) if path.is_empty() => {
            "unknown values are rejected now".to_owned()
        }
        (values_schema::CLOSED, _) => format!("`{path}`: unknown keys are rejected now"),
        ("enum", Some(old)) => {
            let gone = not_in(old, new).into_iter().map(display_value);
            format!("`{path}`: {} no longer allowed", listed(gone, 6))
        }
        ("enum", None) => {
            let allowed = listed(items(new, &[]).iter().map(display_value), 6);
            format!("`{path}`: only {allowed} allowed now")
        }
        _ => {
            let [old, new] = [old, new].map(|value| value.map_or("none".to_owned(), plain));
            let path = if path.is_empty() { "values" } else { path };
            format!("`{path}`: {keyword} {old} → {new}")
        }
    };

    // Values that the user gave decide.
    let given = given(context);
    let is_plain = !path.contains(['*', '[']) && !path.is_empty();
    let at = |given| at(given, &path.split('.').collect::<Vec<_>>());
    let fits = given.is_some_and(|given| match keyword {
        values_schema::REQUIRED => at(given).is_some(),
        values_schema::CLOSED => values::refused(context.sides.new).is_empty(),
        _ => is_plain && at(given).is_none(),
    });
    match fits {
        true => found(&VALUE_DEFAULT, format!("{change}; your values are not affected")),
        false if keyword == values_schema::REMOVED => found(&VALUE_REMOVED, change),
        false => found(&VALUE_NARROWED, change),
    }
}

/// Returns the values of the user; `None` without any.
fn given<'s>(context: &'s RuleContext<'_, '_>) -> Option<&'s Json> {
    let given = &context.sides.new.chart.as_ref()?.given;
    given.as_object().is_some_and(|map| !map.is_empty()).then_some(given)
}

/// Key for finding renamed values: the parent map, the key without versions and dots, and the type.
type StableKey<'e> = (&'e [Step], String, Discriminant<Json>);

/// The values that a chart version adds, in the order of its edits.
#[derive(Default)]
pub(super) struct NewValues<'e> {
    /// By the last key and the type of the value.
    by_key: HashMap<(Option<&'e str>, Discriminant<Json>), Vec<&'e Edit>>,
    /// By the value, if it is distinctive.
    by_content: HashMap<&'e Json, Vec<&'e Edit>>,
    by_stable_key: HashMap<StableKey<'e>, Vec<&'e Edit>>,
}

impl<'e> NewValues<'e> {
    /// Collects the added values among the edits of a chart.
    pub(super) fn of(edits: &'e [Edit]) -> Self {
        let mut values = NewValues::default();
        for edit in edits {
            let below = edit.path.steps().first() == Some(&Step::Key("values".to_owned()));
            let Some(new) = edit.new.as_ref().filter(|_| below && edit.old.is_none()) else {
                continue;
            };
            values.by_key.entry((edit.path.last_key(), discriminant(new))).or_default().push(edit);
            if let Some((Step::Key(key), parents)) = edit.path.steps().split_last() {
                let key = (parents, stable_key(key, ""), discriminant(new));
                values.by_stable_key.entry(key).or_default().push(edit);
            }
            if is_distinctive(new) {
                values.by_content.entry(new).or_default().push(edit);
            }
        }
        values
    }

    /// Returns the new name of a value whose key differs only in a version or in dots and dashes.
    fn rename_by_stable_key(&self, old: &Json, edit: &Edit) -> Option<String> {
        let (Step::Key(key), parents) = edit.path.steps().split_last()? else { return None };
        let key = (parents, stable_key(key, ""), discriminant(old));
        // More than one candidate is ambiguous.
        let [edit] = self.by_stable_key.get(&key)?.as_slice() else { return None };
        Some(name(&edit.path))
    }

    /// Returns the new name of a removed value: the only added value with the same last key or the
    /// same content.
    fn renamed(&self, old: &Json, edit: &Edit) -> Option<String> {
        let by_key = self.by_key.get(&(edit.path.last_key(), discriminant(old)));
        let mut came = by_key.into_iter().chain(self.by_content.get(old)).flatten();
        let first = came.next()?;
        // More than one candidate is ambiguous.
        came.all(|other| other == first).then(|| name(&first.path))
    }
}

/// Returns true if a value is specific enough to be recognized under another name.
fn is_distinctive(value: &Json) -> bool {
    match value {
        // Short texts, numbers and booleans are equal by accident.
        Json::String(text) => text.len() > 3,
        Json::Object(map) => !map.is_empty(),
        Json::Array(items) => !items.is_empty(),
        _ => false,
    }
}
