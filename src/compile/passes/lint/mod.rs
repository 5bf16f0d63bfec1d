//! Lints for problems off OpenShift and without OLM, and for problems on every cluster.
//!
//! Lints do not change objects. A warning is a problem that breaks the installation or the pods; a
//! note depends on the cluster or is a guess.

mod access;
mod characters;
mod kinds;
mod refusals;
mod workloads;

use super::Context;
use crate::diag::Diagnostics;
use crate::ir::Unit;

/// Looks at everything.
pub(super) fn lint(unit: &mut Unit, _: &Context, diagnostics: &mut Diagnostics) {
    access::accounts(unit, diagnostics);
    access::bound_accounts(unit, diagnostics);
    access::auth_reader(unit, diagnostics);
    access::rules(unit, diagnostics);
    access::openshift(unit, diagnostics);
    refusals::refusals(unit, diagnostics);
    characters::characters(unit, diagnostics);
    kinds::foreign(unit, diagnostics);
    kinds::conversion(unit, diagnostics);
    workloads::users(unit, diagnostics);
    workloads::images(unit, diagnostics);
    workloads::selectors(unit, diagnostics);
    workloads::twice(unit, diagnostics);
}

/// Returns a few of many names.
fn few(names: &[&str]) -> String {
    crate::diag::listed(names, 4)
}
