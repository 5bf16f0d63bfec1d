//! `[[verify]]`: signatures that images must have.

use super::Text;
use crate::diag::Span;
use regex::Regex;

/// `[[verify]]`: the rule for images whose references start with `prefix`.
#[derive(Clone, Debug)]
pub struct Verification {
    /// Prefix of a reference on a `/` boundary, for example `registry.redhat.io`; empty for all
    /// registries.
    pub prefix: String,
    /// The rule.
    pub rule: VerificationRule,
    /// The table in the file.
    pub span: Span,
}

/// The rule of a `[[verify]]` table, after the requirements of containers-policy.json.
#[derive(Clone, Debug)]
pub enum VerificationRule {
    /// `key`: one of the public keys in these PEM files, relative to the configuration, must have
    /// signed the image.
    Keys(Vec<Text>),
    /// `identity` or `identity-regexp`: the image must have a keyless signature by it.
    Identity(CertificateIdentity),
    /// `insecure = true`: signatures are not verified.
    Insecure,
    /// `require = true`: images are rejected, because a table with a longer prefix must say who signs
    /// them.
    Require,
}

/// The signer of keyless signatures: the identity in a certificate that was issued for it.
#[derive(Clone, Debug)]
pub struct CertificateIdentity {
    /// The identity: an email address or a URI.
    pub identity: IdentityMatch,
    /// `issuer`: URL of the OpenID Connect issuer that knows the identity.
    pub issuer: String,
    /// `roots`: a file with a `TrustedRoot` of sigstore, relative to the configuration.
    pub roots: Text,
}

/// The identities that a table accepts.
#[derive(Clone, Debug)]
pub enum IdentityMatch {
    /// `identity`: exactly this one.
    Exact(String),
    /// `identity-regexp`: those that match this expression as a whole.
    Pattern {
        /// The expression as written.
        text: String,
        /// The expression with anchors.
        pattern: Regex,
    },
}
