//! Where objects of a kind live.

use std::collections::BTreeMap;

/// Whether objects of a kind live in a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// In a namespace.
    Namespaced,
    /// In the cluster.
    Cluster,
}

/// Scopes of kinds, by `GROUP/KIND`.
pub type Scopes = BTreeMap<String, Scope>;
