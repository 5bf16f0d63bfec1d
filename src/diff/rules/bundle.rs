//! Rules on facts of the bundle: install modes, dependencies, minimum Kubernetes version, related
//! images.

use super::fields::plain;
use super::image::{self, Use};
use super::{RuleContext, chart, found, not_in, rules, watch};
use crate::Finding;
use crate::read::{items, text};
use serde_json::Value as Json;

rules! {
    /// Install mode no longer supported.
    ///
    /// The vendor no longer supports the operator in this mode, and OLM would refuse the upgrade
    /// there. If the chart uses the mode, its watched namespaces change, which is reported
    /// separately.
    MODE_REMOVED "install-mode-removed" Risky(Unavailable)
        "Check which namespaces your installations watch.";
    /// Install mode added.
    ///
    /// The operator may be installed in another mode, too.
    MODE_ADDED "install-mode-added" Info;
    /// Dependency added.
    ///
    /// The operator needs another operator or API. OLM installs dependencies, Helm does not.
    DEPENDENCY "dependency-added" Breaking(Unavailable Provide)
        "Install the dependency before the upgrade.";
    /// Version range of a dependency changed.
    ///
    /// The installed version of the dependency may be outside of the new range.
    DEPENDENCY_CHANGED "dependency-changed" Risky(Unavailable Provide)
        "Compare the range with the installed version.";
    /// Dependency removed.
    ///
    /// The operator no longer needs it.
    DEPENDENCY_REMOVED "dependency-removed" Info
        "Remove it, if nothing else needs it.";
}

pub(super) fn add_findings(context: &RuleContext<'_, '_>, findings: &mut Vec<Finding>) {
    let (old, new) = (context.edit.old.as_ref(), context.edit.new.as_ref());
    match (context.shape().as_slice(), old, new) {
        (["watch"], Some(old), Some(new)) => {
            let watched = |value: &Json| {
                let names = plain(value);
                watch::parse(if names == "all" { "" } else { &names }, "own")
            };
            findings.extend(watch::change("the chart watches", &watched(old), &watched(new)));
        }
        (["requires"], Some(old), Some(new)) => requires(old, new, findings),
        // A lower minimum supports all clusters that the old version supported.
        (["minKubeVersion"], Some(old), Some(new))
            if chart::lowest(&plain(new)) > chart::lowest(&plain(old)) =>
        {
            findings.push(found(&chart::KUBE, context.change()));
        }
        (["relatedImages", "[]", "image"], Some(Json::String(old)), Some(Json::String(new))) => {
            findings.extend(image::changed(&context.label(), old, new, Use::Operand));
        }
        (["relatedImages", "[]"], None, Some(new)) => {
            findings.push(image::added(&context.label(), text(new, &["image"])));
        }
        (["relatedImages", "[]"], Some(_), None) => {
            findings.push(found(&image::OPERAND_IMAGE, format!("{}: removed", context.label())));
        }
        _ => {}
    }
}

/// Adds the findings for changed dependencies: packages with another range are not added.
fn requires(old: &Json, new: &Json, findings: &mut Vec<Finding>) {
    // A requirement is a name and a range, such as `cert-manager >=1.0`.
    let name = |text: &Json| plain(text).split(' ').next().unwrap_or_default().to_owned();
    let [before, after] =
        [old, new].map(|list| items(list, &[]).iter().map(name).collect::<Vec<String>>());
    for added in not_in(new, old) {
        let changed = before.contains(&name(added));
        let rule = if changed { &DEPENDENCY_CHANGED } else { &DEPENDENCY };
        let word = if changed { "range is now" } else { "now needs" };
        findings.push(found(rule, format!("requires: {word} {}", plain(added))));
    }
    for gone in not_in(old, new).into_iter().filter(|gone| !after.contains(&name(gone))) {
        findings.push(found(&DEPENDENCY_REMOVED, format!("requires: {} no longer", plain(gone))));
    }
}
