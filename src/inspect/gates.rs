//! Proposed gates of known operators.

use serde::Deserialize;
use std::sync::LazyLock;

/// The table of gates.toml: operators whose own readiness says little, because what others need is created
/// by them later.
#[derive(Default, Deserialize)]
struct Proposals {
    gate: Vec<Proposal>,
}

/// A gate that is proposed for a package, as an entry of `ready`, and why.
#[derive(Deserialize)]
struct Proposal {
    package: String,
    /// The entry, in TOML.
    entry: String,
    /// The failure without it, as a sentence without a full stop.
    reason: String,
}

// Without an error: the test reads every row.
static PROPOSALS: LazyLock<Proposals> =
    LazyLock::new(|| toml::from_str(include_str!("gates.toml")).unwrap_or_default());

/// Returns the proposed entries of `ready` for a package, each with its reason.
pub(super) fn proposals(package: &str) -> Vec<(&'static str, &'static str)> {
    let known = PROPOSALS.gate.iter().filter(|proposal| proposal.package == package);
    known.map(|proposal| (proposal.entry.as_str(), proposal.reason.as_str())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::diag::{Diagnostics, SourceText};
    use std::path::Path;
    use std::sync::Arc;

    #[test]
    fn every_proposal_is_a_valid_gate() {
        assert!(!PROPOSALS.gate.is_empty());
        for proposal in &PROPOSALS.gate {
            let text = format!(
                "[[bundle]]\nname = \"a\"\npath = \"a\"\nready = [{}]\n\
                 [[bundle.overlay]]\nphase = \"operand\"\npath = \"b\"\n",
                proposal.entry
            );
            let source = Arc::new(SourceText { name: "bundles.toml".to_owned(), text });
            let mut diagnostics = Diagnostics::new();
            let config = Config::parse(&source, Path::new("."), &mut diagnostics);
            assert!(diagnostics.is_empty(), "{}: {diagnostics:?}", proposal.entry);
            assert_eq!(config.unwrap().bundles[0].gates.len(), 1);
            assert!(!proposal.reason.ends_with('.') && proposal.reason.len() > 20);
        }
    }
}
