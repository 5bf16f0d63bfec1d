//! Lints for problems off OpenShift and without OLM, and for problems on every cluster.
//!
//! Lints do not change objects. A warning is a problem that breaks the installation or the pods; a
//! note depends on the cluster or is a guess.

mod access;
mod characters;
mod kinds;
mod refusals;
#[cfg(test)]
mod refused_samples;
mod workloads;

pub use refusals::{Refusal, refused};

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
    workloads::pods(unit, diagnostics);
    workloads::images(unit, diagnostics);
    workloads::selectors(unit, diagnostics);
    workloads::twice(unit, diagnostics);
}

/// Returns a few of many names.
fn few<S: AsRef<str>>(names: impl IntoIterator<Item = S>) -> String {
    crate::diag::listed(names, 4)
}

#[cfg(test)]
mod tests {
    use super::refused_samples::{ROWS, expanded};
    use super::*;
    use crate::diag::Code;
    use crate::passes::sample::bundle;

    #[test]
    fn what_the_api_server_refuses_is_reported_at_its_place() {
        let mut wrong = Vec::new();
        for row in ROWS {
            let mut diagnostics = Diagnostics::new();
            lint(&mut bundle(&row.manifest()), &Context::default(), &mut diagnostics);
            let refusals = diagnostics.iter().filter(|found| found.code == Code::ApiRefuses);
            let found: Vec<(&str, &str)> = refusals
                .map(|found| (found.place.path.as_deref().unwrap_or_default(), &*found.message))
                .collect();
            let (path, warning) = (expanded(row.path), expanded(row.warning));
            let is_found = match found.as_slice() {
                [] => path.is_empty(),
                [(at, message)] => *at == path && message.ends_with(&format!(" {warning}")),
                _ => false,
            };
            if !is_found {
                wrong.push(format!("{}\n{path}: {warning}\n{found:?}", row.manifest()));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    }
}
