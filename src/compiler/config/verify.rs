//! `[[verify]]`: signatures that images must have.

use super::Text;
use crate::diag::Span;

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
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VerificationRule {
    /// `key`: one of the public keys in these PEM files, relative to the configuration, must have
    /// signed the image.
    Keys(Vec<Text>),
    /// `insecure = true`: signatures are not verified.
    Insecure,
    /// `require = true`: images are rejected, because a table with a longer prefix must say who signs
    /// them.
    Require,
}
