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

pub use refusals::{Refusal, refused, refused_values};

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
    use super::refused_samples::{BOUNDS, CHOICES, ROWS, expanded};
    use super::*;
    use crate::diag::{Code, Diagnostic};
    use crate::passes::check_types::check_types;
    use crate::passes::sample::bundle;

    /// Returns paths and messages of what the API server refuses of an object.
    fn refusals_of(manifest: &str) -> Vec<(String, String)> {
        let mut diagnostics = Diagnostics::new();
        let mut unit = bundle(manifest);
        check_types(&mut unit, &Context::default(), &mut diagnostics);
        lint(&mut unit, &Context::default(), &mut diagnostics);
        let refusals = diagnostics.iter().filter(|found| found.code == Code::ApiRefuses);
        let found = |found: &Diagnostic| {
            (found.place.path.clone().unwrap_or_default(), found.message.clone())
        };
        refusals.map(found).collect()
    }

    #[test]
    fn what_the_api_server_refuses_is_reported_at_its_place() {
        let mut wrong = Vec::new();
        for row in ROWS {
            let found = refusals_of(&row.manifest());
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

    #[test]
    fn values_that_a_field_does_not_have_are_reported() {
        for choice in CHOICES {
            for value in choice.accepted() {
                assert_eq!(refusals_of(&choice.manifest(value)), [], "{} {value}", choice.path);
            }
            let found = refusals_of(&choice.manifest("text"));
            let [(path, message)] = found.as_slice() else { panic!("{}: {found:?}", choice.path) };
            assert_eq!(path, choice.path);
            assert!(message.ends_with(&choice.warning("text")), "{message}");
        }
    }

    #[test]
    fn numbers_out_of_range_are_reported() {
        for bound in BOUNDS {
            for (number, is_accepted) in bound.numbers() {
                let found = refusals_of(&bound.manifest(number));
                match found.as_slice() {
                    [] => assert!(is_accepted, "{} {number}", bound.path),
                    [(path, message)] => {
                        assert!(!is_accepted && path == bound.path, "{path} {message}");
                        assert!(message.ends_with(&bound.warning(number)), "{message}");
                    }
                    _ => panic!("{} {number}: {found:?}", bound.path),
                }
            }
        }
    }
}
