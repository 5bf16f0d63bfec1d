//! What OLM would create from a bundle: the objects of the install strategy, and those shipped.
//!
//! The reference is OLM v1's renderer (operator-controller, `rukpak/render`); where we differ on
//! purpose, `docs/deviations.md` says so and why.

mod deployment;
mod kinds;
mod rbac;
mod targets;
mod validate;

pub use kinds::{Scope, supported_kinds, supported_scope};
pub use rbac::role_base;
pub use targets::Targets;

use crate::bundle::Bundle;
use crate::config::Watch;
use crate::diag::Diagnostics;
use crate::ir::Object;

/// What the objects of a bundle depend on besides the bundle.
#[derive(Clone, Debug)]
pub struct Options<'a> {
    /// Name of the chart: cluster-wide names derive from it.
    pub chart: &'a str,
    /// Namespace that the release is expected in, for comparing with watched namespaces.
    pub namespace: &'a str,
    /// Which namespaces the operator shall watch; nothing chooses by install mode.
    pub watch: Option<&'a Watch>,
}

/// The objects that OLM would create, and the shipped ones as they are, in no particular order.
/// Everything that the bundle gets wrong is reported;
/// after an error only shipped objects come, for the passes to find what is wrong with them.
///
/// CRDs are most of a bundle, so they and the other shipped objects are moved out of it.
pub fn lower(bundle: &mut Bundle, options: &Options<'_>) -> (Vec<Object>, Diagnostics) {
    let mut diagnostics = validate::validate(bundle);
    let targets = Targets::choose(&bundle.csv, options, &mut diagnostics);
    let Some(targets) = targets.filter(|_| !diagnostics.has_errors()) else {
        // What is shipped may be wrong too, and all of it is to be reported.
        return (std::mem::take(&mut bundle.objects), diagnostics);
    };
    let mut objects = rbac::service_accounts(bundle);
    objects.extend(rbac::permissions(bundle, options.chart, &targets));
    objects.extend(rbac::cluster_permissions(bundle, options.chart));
    objects
        .extend(bundle.csv.deployments.iter().map(|d| deployment::deployment(bundle, d, &targets)));
    objects.append(&mut bundle.crds);
    objects.append(&mut bundle.objects);
    (objects, diagnostics)
}
