//! Kinds of cluster-scoped objects, which allow one release per cluster.

use super::crds::Crds;
use crate::diag::listed;
use crate::escape::markdown::code;
use crate::ir::{Object, Scope, Scopes, Unit};
use crate::kinds::{scope_of, supported_scope};
use askama::filters::Safe;
use std::collections::BTreeSet;

/// Returns the kinds of cluster-scoped objects, which Helm refuses in a second release; `None` without
/// any.
pub(super) fn kinds(unit: &Unit, crds: &Crds, scopes: &Scopes) -> Option<Safe<String>> {
    let is_cluster_scoped = |object: &&Object| {
        let scope = scope_of(object.group(), object.kind(), scopes);
        // OLM's table knows kinds that neither Kubernetes nor a CRD of the chart has.
        scope.or_else(|| supported_scope(object.kind())) == Some(Scope::Cluster)
    };
    // Helm does not check the owner of files in crds/ folders, and replaces hooks.
    let is_owned = |object: &&Object| {
        let is_hook = object.at(&["metadata", "annotations", "helm.sh/hook"]).is_some();
        let in_folder = crds.folder().is_some() && crds.holds(object);
        !is_hook && !in_folder
    };
    let owned = unit.objects.iter().filter(is_owned).filter(is_cluster_scoped);
    let kinds: BTreeSet<&str> = owned.map(Object::kind).collect();
    (!kinds.is_empty()).then(|| Safe(listed(kinds.into_iter().map(code), usize::MAX)))
}
