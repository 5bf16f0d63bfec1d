//! Rules on the namespaces that an operator watches.
//!
//! The scope that takes effect is the environment variable or flag of the operator, which OLM sets
//! from the annotation `olm.targetNamespaces`; without one, the annotation itself.

use super::judgement::Judgement;
use super::{found, listed, rules};
use crate::Finding;
use crate::identity::Pair;
use crate::read::{at, items, keys, letters, pod_template, text, texts};
use serde_json::Value as Json;
use std::collections::BTreeSet;

rules! {
    /// Operator watches fewer namespaces.
    ///
    /// Custom resources in the other namespaces are no longer reconciled: changes of them have no
    /// effect, and their deletion hangs on finalizers.
    NARROWED "watch-narrowed" Breaking(Unavailable Fix)
        "Set `watch` to the namespaces with custom resources, or install the operator there.";
    /// Operator watches more namespaces.
    ///
    /// It also reconciles custom resources there, which another installation of the operator may
    /// already do, and has roles there.
    WIDENED "watch-widened" Risky(PermissionsChanged)
        "Check that no other installation watches these namespaces, and that the operator may access them.";
}

/// The watched namespaces; empty for all.
pub(super) type Watched = BTreeSet<String>;

/// Adds the findings about the watched namespaces of a workload.
pub(super) fn add_findings(pair: &Pair<'_>, release: [&str; 2], judgement: &mut Judgement<'_>) {
    let Some(template) = pod_template(&pair.id.kind) else { return };
    let [old_release, new_release] = release;
    let of = |object, release| at(object, template).and_then(|pod| watched(pod, release));
    let (Some(before), Some(after)) = (of(pair.old, old_release), of(pair.new, new_release)) else {
        return;
    };
    let Some(finding) = change("watches", &before, &after) else { return };

    let path = |rest: &[&str]| keys(&[template, rest].concat());
    match judgement.touching(&path(&["metadata", "annotations", "olm.targetNamespaces"])) {
        Some(findings) => findings.push(finding),
        None => judgement.add(&path(&["spec", "containers"]), finding),
    }
}

/// Returns the finding for another set of watched namespaces.
pub(super) fn change(verb: &str, before: &Watched, after: &Watched) -> Option<Finding> {
    if before == after {
        return None;
    }
    let names = |set: &Watched| match set.is_empty() {
        true => "all namespaces".to_owned(),
        false => listed(set, 4),
    };
    let lost: Vec<&String> = before.difference(after).collect();
    let scope = format!("{verb} {} instead of {}", names(after), names(before));
    if after.is_empty() || !before.is_empty() && lost.is_empty() {
        return Some(found(&WIDENED, scope));
    }
    let place =
        if before.is_empty() { "elsewhere".to_owned() } else { format!("in {}", listed(&lost, 4)) };
    let reason = format!("{scope}: custom resources {place} are no longer reconciled");
    Some(found(&NARROWED, reason))
}

/// Ends of environment variables and flags with the watched namespaces, without punctuation.
const NAMES: [&str; 4] =
    ["watchnamespace", "watchnamespaces", "watchednamespaces", "strimzinamespace"];

/// Returns the watched namespaces of a pod template; `None` if they are unknown.
fn watched(pod: &Json, release: &str) -> Option<Watched> {
    let annotation = at(pod, &["metadata", "annotations", "olm.targetNamespaces"]);
    let annotation = annotation.and_then(Json::as_str);

    let is_name = |name: &str| NAMES.iter().any(|end| letters(name).ends_with(end));

    // Init containers have ended when an operator watches anything.
    for container in items(pod, &["spec", "containers"]) {
        for variable in items(container, &["env"]) {
            if !is_name(text(variable, &["name"])) {
                continue;
            }
            let field = at(variable, &["valueFrom", "fieldRef", "fieldPath"]);
            match field.and_then(Json::as_str) {
                Some("metadata.namespace") => return Some(parse(release, release)),
                Some(path) if path.contains("olm.targetNamespaces") => {
                    return Some(parse(annotation.unwrap_or_default(), release));
                }
                Some(_) => {}
                None if variable.get("valueFrom").is_some() => {}
                None => return Some(parse(text(variable, &["value"]), release)),
            }
        }

        // A value with `$` is expanded by a shell or the kubelet, and unknown here.
        for argument in texts(container, &["args"]) {
            if let Some((flag, value)) = argument.split_once('=')
                && is_name(flag)
                && !value.contains('$')
            {
                return Some(parse(value, release));
            }
        }
    }
    annotation.map(|annotation| parse(annotation, release))
}

/// Parses a list of namespaces; empty text and `*` are all namespaces.
pub(super) fn parse(text: &str, release: &str) -> Watched {
    let names = text.split(',').map(str::trim).filter(|name| !name.is_empty() && *name != "*");
    let name = |name: &str| {
        // The two sides may be rendered for different namespaces.
        if name == release { "the release namespace".to_owned() } else { name.to_owned() }
    };
    names.map(name).collect()
}
