//! Kinds of objects: their scope, whether Kubernetes has them and bundles may ship them, and the project
//! that provides them.

use crate::embedded;
use crate::ir::{Object, Scope, Scopes};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// Cluster-scoped kinds by API group.
type ByGroup = BTreeMap<&'static str, Vec<&'static str>>;

/// The tables of kinds.json.
#[derive(Default, Deserialize)]
#[serde(bound = "'de: 'static")]
struct Kinds {
    /// The groups that are Kubernetes' own, v1.37; all other kinds of them are namespaced.
    ///
    /// The reviews of access and tokens are cluster-scoped as well, but no chart can have them: the API
    /// server answers them and stores nothing.
    kubernetes: ByGroup,
    /// Groups of OpenShift that a bundle may ship.
    openshift: ByGroup,
    /// OLM: operator-registry, bundle supported resources; matched by kind alone, as there. The table
    /// there calls VerticalPodAutoscaler cluster-scoped, which it is not.
    bundles: Vec<&'static str>,
    /// Projects by API group, for messages.
    providers: BTreeMap<&'static str, &'static str>,
}

static KINDS: LazyLock<Kinds> = LazyLock::new(|| embedded::json(include_str!("kinds.json")));

/// Returns true if the object's kind is built into Kubernetes.
pub fn is_built_in(object: &Object) -> bool {
    KINDS.kubernetes.contains_key(object.group())
}

/// Returns the scope of a kind that is built in, or one of `scopes`; else `None`.
pub fn scope_of(group: &str, kind: &str, scopes: &Scopes) -> Option<Scope> {
    let built_in = KINDS.kubernetes.get(group).map(|kinds| scope(kinds.contains(&kind)));
    built_in.or_else(|| scopes.get(&format!("{group}/{kind}")).copied())
}

/// Returns the scope of a kind that a bundle may ship; `None` for other kinds.
pub fn supported_scope(kind: &str) -> Option<Scope> {
    let mut cluster = KINDS.kubernetes.values().chain(KINDS.openshift.values()).flatten();
    let is_supported = supported_kinds().contains(&kind);
    is_supported.then(|| scope(cluster.any(|known| *known == kind)))
}

/// Returns the API group of a cluster-scoped kind that is built in; empty for other kinds.
pub(crate) fn cluster_group(kind: &str) -> &'static str {
    let mut groups = KINDS.kubernetes.iter();
    groups.find(|(_, kinds)| kinds.contains(&kind)).map_or("", |(group, _)| group)
}

fn scope(is_cluster: bool) -> Scope {
    if is_cluster { Scope::Cluster } else { Scope::Namespaced }
}

/// Returns all kinds that a bundle may ship, in alphabetical order.
pub fn supported_kinds() -> &'static [&'static str] {
    &KINDS.bundles
}

/// Returns the project that provides the kinds of an API group; `None` for unknown groups.
pub(crate) fn provider(group: &str) -> Option<&'static str> {
    KINDS.providers.get(group).copied()
}
