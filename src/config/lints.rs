//! `[lints]`, `[bundle.lints]` and `[chart.lints]`: the levels of diagnostic codes.

use super::{BundleConfig, Config};
use crate::diag::{Code, Diagnostics, LintLevel};
use std::collections::BTreeMap;

/// The levels of some codes.
pub type Lints = BTreeMap<Code, LintLevel>;

impl Config {
    /// Applies `[lints]` to warnings and notes. For those about a bundle, its own `lints` win.
    pub fn set_levels(&self, diagnostics: &mut Diagnostics) {
        diagnostics.set_levels(|found| {
            let name = found.place.bundle.as_deref();
            let bundle = self.bundles.iter().find(|bundle| Some(bundle.name.as_str()) == name);
            self.level(found.code, bundle)
        });
    }

    /// Returns the level of a code for findings about a bundle.
    pub fn level(&self, code: Code, bundle: Option<&BundleConfig>) -> Option<LintLevel> {
        let own = bundle.and_then(|bundle| bundle.lints.get(&code));
        own.or_else(|| self.lints.get(&code)).copied()
    }
}
