//! Keyless signatures of a build without the feature `keyless`: they cannot be verified, so every
//! identity is an error.

use super::signers::Signers;
use super::unusable;
use crate::config::CertificateIdentity;
use crate::diag::Fatal;
use std::path::Path;

pub(super) fn signers(accepted: &CertificateIdentity, _: &Path) -> Result<Signers, Fatal> {
    let why = "bundle2chart was built without the feature `keyless`, which verifies signatures of \
               identities";
    let hint = "build bundle2chart with its default features";
    Err(unusable(&accepted.roots, "roots", why, hint))
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
        let error = signers(&accepted, Path::new("")).unwrap_err();
        let why = "bundle2chart was built without the feature `keyless`, which verifies signatures of \
                   identities";
        assert_eq!(error.message, format!("cannot use `roots.json` as `roots`: {why}"));
        let hint = Some("build bundle2chart with its default features");
        assert_eq!(error.hint.as_deref(), hint);
    }
}
