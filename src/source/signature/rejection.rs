//! Reasons why a signature is not accepted.

use super::Signer;

/// The reason why a signature does not vouch for an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Rejection {
    /// A signature by none of the keys, or one that was changed.
    OtherKey,
    /// A valid keyless signature by another identity.
    OtherIdentity { identity: String, issuer: String },
    /// A signature with a key, where a certificate of an identity is expected.
    NoCertificate,
    /// A keyless signature without a valid proof; `subject` is the invalid part.
    Unproven { subject: &'static str, why: String },
    /// A valid signature, by this signer, of another digest.
    OtherDigest { signer: Signer, found: String },
    /// A valid signature, by this signer, of this digest in another repository.
    OtherRepository { signer: Signer, found: String, expected: String },
    /// A signature that cannot be parsed.
    Malformed(String),
}

impl Rejection {
    /// Describes the rejection, as part of a sentence.
    pub(super) fn describe(&self) -> String {
        match self {
            Rejection::OtherKey => "signed by another key, or changed".to_owned(),
            Rejection::OtherIdentity { identity, issuer } => format!(
                "signed by `{}` of the issuer `{}`",
                identity.escape_debug(),
                issuer.escape_debug()
            ),
            Rejection::NoCertificate => "signed with a key, without a certificate".to_owned(),
            Rejection::Unproven { subject, why } => {
                format!("{subject} is not valid ({})", why.escape_debug())
            }
            Rejection::OtherDigest { signer, found } => format!(
                "{} signed another digest, {}",
                signer.short().escape_debug(),
                found.escape_debug()
            ),
            Rejection::OtherRepository { signer, found, expected } => format!(
                "{} signed it as `{}`, not as `{expected}`",
                signer.short().escape_debug(),
                found.escape_debug()
            ),
            Rejection::Malformed(why) => format!("malformed ({})", why.escape_debug()),
        }
    }
}
