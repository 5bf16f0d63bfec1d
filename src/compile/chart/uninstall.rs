//! Objects that `helm uninstall` leaves in the cluster.

use super::{DocumentedChart, Part};
use crate::diag::join;
use crate::escape::markdown::{code, text};
use crate::escape::shell::in_quotes;
use crate::ir::{Object, Release, Unit};
use serde_json::Value as Json;
use std::collections::BTreeSet;

/// Returns the aggregated ClusterRoles as arguments of `kubectl delete`; `None` without any.
///
/// Helm deletes ClusterRoles at once. The aggregation controller applies the rest of one that has
/// lost a part, from its cache, which creates it again without Helm's labels.
pub(super) fn aggregated_roles(unit: &Unit) -> Option<String> {
    let roles = unit.of_kind("ClusterRole");
    let aggregated = roles.filter(|role| role.at(&["aggregationRule"]).is_some());
    let names: BTreeSet<&str> = aggregated.map(Object::name).collect();
    (!names.is_empty()).then(|| join(names.into_iter().map(in_quotes), " "))
}

/// Returns descriptions of the objects that `helm uninstall` leaves in the cluster.
pub(super) fn leftovers(chart: &DocumentedChart<'_>) -> Vec<String> {
    let DocumentedChart { unit, description, companions, .. } = chart;
    let is_operator = chart.part == Part::Operator;
    let mut left = Vec::new();
    let has_crds = unit.of_kind("CustomResourceDefinition").next().is_some();
    if has_crds || is_operator && companions.has_crds_chart() {
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

    // Helm creates it with `--create-namespace`, and never deletes it.
    let namespace = code(description.namespace);
    left.extend(is_operator.then(|| format!("the Namespace {namespace} of the release")));
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
    let called = |kind: &str, name: &str| format!("the {} {}", text(kind), code(name));
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
