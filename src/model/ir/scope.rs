//! The scope of objects.

use std::collections::BTreeMap;

/// The scope of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Namespaced.
    Namespaced,
    /// Cluster-scoped.
    Cluster,
}

/// Scopes of kinds, by `GROUP/KIND`.
pub type Scopes = BTreeMap<String, Scope>;
