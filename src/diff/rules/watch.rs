//! Rules on the namespaces that an operator watches.
//!
//! The scope that takes effect is the environment variable or flag of the operator, which OLM sets
//! from the annotation `olm.targetNamespaces`; without one, the annotation itself.

use super::nearest::Nearest;
use super::{at, found, listed, pod_template, rules};
use crate::Finding;
use crate::identity::Pair;
use crate::path::Step;
use crate::tree::Edit;
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
pub(super) fn add_findings(
    pair: &Pair<'_>,
    edits: &[Edit],
    release: [&str; 2],
    judged: &mut [Vec<Finding>],
) {
    let Some(template) = pod_template(&pair.id.kind) else { return };
    let (Some(old), Some(new)) = (pair.old, pair.new) else { return };
    let [old_release, new_release] = release;
    let of = |object, release| at(object, template).and_then(|pod| watched(pod, release));
    let (Some(before), Some(after)) = (of(old, old_release), of(new, new_release)) else { return };
    let Some(finding) = change("watches", &before, &after) else { return };
    let keys = |rest: &[&str]| -> Vec<Step> {
        template.iter().chain(rest).map(|key| Step::Key((*key).to_owned())).collect()
    };
    let nearest = Nearest::of(edits);
    let cause = nearest
        .touching(&keys(&["metadata", "annotations", "olm.targetNamespaces"]))
        .or_else(|| nearest.to(&keys(&["spec", "containers"])));
    if let Some(findings) = cause.and_then(|at| judged.get_mut(at)) {
        findings.push(finding);
    }
}

/// Returns the finding for another set of watched namespaces.
pub(super) fn change(verb: &str, before: &Watched, after: &Watched) -> Option<Finding> {
    if before == after {
        return None;
    }
    let names = |set: &Watched| -> String {
        let names: Vec<&String> = set.iter().collect();
        if names.is_empty() { "all namespaces".to_owned() } else { listed(&names, 4) }
    };
    let lost: Vec<&String> = before.difference(after).collect();
    let scope = format!("{verb} {} instead of {}", names(after), names(before));
    Some(if after.is_empty() {
        found(&WIDENED, scope)
    } else if before.is_empty() {
        found(&NARROWED, format!("{scope}: custom resources elsewhere are no longer reconciled"))
    } else if lost.is_empty() {
        found(&WIDENED, scope)
    } else {
        let lost = listed(&lost, 4);
        found(&NARROWED, format!("{scope}: custom resources in {lost} are no longer reconciled"))
    })
}

/// Ends of environment variables and flags with the watched namespaces, without punctuation.
const NAMES: [&str; 4] =
    ["watchnamespace", "watchnamespaces", "watchednamespaces", "strimzinamespace"];

/// Returns the watched namespaces of a pod template; `None` if they are unknown.
fn watched(pod: &Json, release: &str) -> Option<Watched> {
    let annotation = at(pod, &["metadata", "annotations", "olm.targetNamespaces"]);
    let annotation = annotation.and_then(Json::as_str);

    let is_name = |name: &str| {
        let name: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
        NAMES.iter().any(|end| name.to_lowercase().ends_with(end))
    };

    let containers = at(pod, &["spec", "containers"]).and_then(Json::as_array);
    for container in containers.into_iter().flatten() {
        let list = |key: &str| container.get(key).and_then(Json::as_array).into_iter().flatten();
        for variable in list("env") {
            if !variable.get("name").and_then(Json::as_str).is_some_and(is_name) {
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
                None => {
                    let value = variable.get("value").and_then(Json::as_str);
                    return Some(parse(value.unwrap_or_default(), release));
                }
            }
        }

        // A value with `$` is expanded by a shell or the kubelet, and unknown here.
        for argument in list("args").filter_map(Json::as_str) {
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
        if name == release { "the release namespace".to_owned() } else { name.to_owned() }
    };
    names.map(name).collect()
}
