//! Reasons why a signature is not accepted.

use super::short;

/// The reason why a signature does not vouch for an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Rejection {
    /// None of the keys made it, or it was changed.
    OtherKey,
    /// A valid signature, by this key, of another digest.
    OtherDigest { key: String, found: String },
    /// A valid signature, by this key, of this digest in another repository.
    OtherRepository { key: String, found: String, expected: String },
    /// It cannot be read.
    Malformed(String),
}

impl Rejection {
    /// Describes the rejection, as part of a sentence.
    pub(super) fn describe(&self) -> String {
        match self {
            Rejection::OtherKey => "signed by another key, or changed".to_owned(),
            Rejection::OtherDigest { key, found } => {
                format!("{} signed another digest, {}", short(key), found.escape_debug())
            }
            Rejection::OtherRepository { key, found, expected } => format!(
                "{} signed it as `{}`, not as `{expected}`",
                short(key),
                found.escape_debug()
            ),
            Rejection::Malformed(why) => format!("malformed ({})", why.escape_debug()),
        }
    }
}
