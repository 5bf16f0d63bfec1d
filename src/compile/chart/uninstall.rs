//! Uninstall section of a README.

use super::{Description, DocumentedChart, Part};
use crate::diag::join;
use crate::escape::markdown::code;
use crate::escape::shell::in_quotes;
use crate::ir::{Object, Release, Unit};
use serde_json::Value as Json;
use std::collections::BTreeSet;

/// Appends the uninstall section to the README of the operator chart: the commands in reverse
/// install order, and the objects that stay.
pub(super) fn section(text: &mut String, chart: &DocumentedChart<'_>) {
    let DocumentedChart { unit, description, companions, .. } = chart;
    let namespace = description.namespace;
    text.push_str("\n## Uninstall\n\n```sh\n");
    let parts = [
        (companions.operands, Part::Operands),
        (true, Part::Operator),
        (companions.has_crds_chart(), Part::Crds),
    ];

    for part in parts.into_iter().filter_map(|(there, part)| there.then_some(part)) {
        let name = part.name(description.config);
        let wait = match part {
            Part::Operands => " --wait   # first, while the operator runs and can clean up",
            _ => "",
        };
        *text += &format!("helm uninstall {name} --namespace {namespace}{wait}\n");
    }
    // Helm deletes ClusterRoles at once. The aggregation controller applies the rest of one that has
    // lost a part, from its cache, which creates it again without Helm's labels.
    let roles = unit.of_kind("ClusterRole");
    let aggregated = roles.filter(|role| role.at(&["aggregationRule"]).is_some());
    let names: BTreeSet<&str> = aggregated.map(Object::name).collect();
    if !names.is_empty() {
        let names = join(names.into_iter().map(in_quotes), " ");
        *text += &format!(
            "kubectl delete clusterrole {names} --ignore-not-found   # its controller may create it again\n"
        );
    }

    text.push_str("```\n");
    let crds = unit.of_kind("CustomResourceDefinition").next().is_some();
    let mut left = leftovers(unit, description, crds || companions.has_crds_chart());
    // Helm creates it with `--create-namespace`, and never deletes it.
    left.push(format!("the Namespace {} of the release", code(namespace)));
    list(text, &left);
}

/// Appends the list of objects that `helm uninstall` leaves in the cluster.
pub(super) fn list(text: &mut String, left: &[String]) {
    if !left.is_empty() {
        *text += &format!("\nThese stay in the cluster: {}.\n", left.join("; "));
    }
}

/// Returns descriptions of the objects that stay after `helm uninstall`.
pub(super) fn leftovers(unit: &Unit, description: &Description<'_>, has_crds: bool) -> Vec<String> {
    let mut left = Vec::new();
    if has_crds {
        let crds = "CustomResourceDefinitions, and with them all objects of their kinds";
        left.push(crds.to_owned());
    }
    let values = unit.default_values();
    let release = Release { namespace: description.namespace, values: &values };
    // CRDs are listed above, and large to render.
    let others = unit.objects.iter().filter(|object| object.kind() != "CustomResourceDefinition");
    // A set, because two Certificates may name the same Secret.
    let objects = others.filter_map(|object| release.object(object));
    let objects: BTreeSet<String> = objects.filter_map(|object| leftover(&object)).collect();
    left.extend(objects);
    left
}

/// Returns the description of an object if it, or a Secret that it names, stays.
///
/// Helm deletes neither objects with `helm.sh/resource-policy: keep` nor hooks without a
/// `hook-succeeded` policy; cert-manager does not delete the Secrets of its Certificates.
fn leftover(object: &Json) -> Option<String> {
    let at = |path: &str| object.pointer(path).and_then(Json::as_str);
    let annotation = |name: &str| at(&format!("/metadata/annotations/helm.sh~1{name}"));
    let kind = at("/kind")?;
    let called = |kind: &str, name: &str| format!("the {kind} {}", code(name));
    if annotation("resource-policy") == Some("keep") {
        return Some(called(kind, at("/metadata/name")?));
    }
    if annotation("hook").is_some() {
        let deleted = annotation("hook-delete-policy")
            .is_some_and(|policies| policies.contains("hook-succeeded"));
        let name = at("/metadata/name").filter(|_| !deleted)?;
        return Some(format!("{}, a hook", called(kind, name)));
    }
    if kind == "Certificate" && at("/apiVersion")?.starts_with("cert-manager.io/") {
        let secret = called("Secret", at("/spec/secretName")?);
        return Some(format!("{secret}, which cert-manager created"));
    }
    None
}
