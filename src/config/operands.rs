//! `[bundle.namespaces]`, `[bundle.service-accounts]` and `[[bundle.adopt]]`: what an operator's
//! operands need before the operator makes them.

use crate::diag::Span;
use std::collections::BTreeMap;

/// Objects that an operator's operands need before the operator creates them.
#[derive(Clone, Debug, Default)]
pub struct Operands {
    /// Namespaces besides the release's, by the name of their value.
    pub namespaces: BTreeMap<String, String>,
    /// ServiceAccounts that are there first, so that they have the pull secret.
    pub accounts: Vec<Account>,
}

/// A ServiceAccount that an operator will find and use.
#[derive(Clone, Debug)]
pub struct Account {
    /// Name of the ServiceAccount.
    pub name: String,
    /// The value with its namespace; `None` for the release namespace.
    pub namespace: Option<String>,
    /// The Helm release that adopts it, if any.
    pub adopted_by: Option<Adoption>,
    /// The span of its name in the file.
    pub span: Span,
}

/// `[[bundle.adopt]]`
#[derive(Clone, Debug)]
pub struct Adoption {
    /// Name of the release.
    pub release: String,
    /// Namespace of the release; `None` for the namespace of this chart's release.
    pub namespace: Option<String>,
}

/// CRDs that there are stubs of.
pub const STUBS: [&str; 2] =
    ["infrastructures.config.openshift.io", "servicemonitors.monitoring.coreos.com"];
