//! Keyless signatures of a build without the feature `keyless`: they cannot be verified, so every
//! identity is an error.

use super::rejection::Rejection;
use super::signers::{SignedEnvelope, Signer};
use super::unusable;
use crate::config::CertificateIdentity;
use crate::diag::Fatal;
use std::collections::HashMap;
use std::path::Path;

/// An accepted identity; this build has none.
#[derive(Debug)]
pub(super) enum Identity {}

impl Identity {
    pub(super) fn read(accepted: &CertificateIdentity, _: &Path) -> Result<Self, Fatal> {
        let why = "bundle2chart was built without the feature `keyless`, which verifies signatures of \
                   identities";
        let hint = "build bundle2chart with its default features";
        Err(unusable(&accepted.roots, "roots", why, hint))
    }

    pub(super) fn of_payload(
        &self,
        _: &[u8],
        _: &[u8],
        _: &HashMap<String, String>,
    ) -> Result<Signer, Rejection> {
        match *self {}
    }

    pub(super) fn of_envelope(&self, _: &SignedEnvelope<'_>) -> Result<Signer, Rejection> {
        match *self {}
    }

    pub(super) fn describe(&self) -> String {
        match *self {}
    }

    pub(super) fn hint(&self, _: &str) -> String {
        match *self {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{IdentityMatch, Text};
    use crate::diag::{SourceText, Span};

    #[test]
    fn identities_are_errors() {
        let source = SourceText { name: "n".to_owned(), text: "t".to_owned() };
        let span = Span::new(&std::sync::Arc::new(source), 0..1);
        let accepted = CertificateIdentity {
            identity: IdentityMatch::Exact("a".to_owned()),
            issuer: "b".to_owned(),
            roots: Text { text: "roots.json".to_owned(), span },
        };
        let error = Identity::read(&accepted, Path::new("")).unwrap_err();
        let why = "bundle2chart was built without the feature `keyless`, which verifies signatures of \
                   identities";
        assert_eq!(error.message, format!("cannot use `roots.json` as `roots`: {why}"));
        let hint = Some("build bundle2chart with its default features");
        assert_eq!(error.hint.as_deref(), hint);
    }
}
