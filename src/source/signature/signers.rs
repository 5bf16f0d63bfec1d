//! Signers: those that a `[[verify]]` table accepts, and the one that made a signature; and why a
//! signature is not accepted.

use super::cosign::SIGNATURE;
#[cfg(feature = "keyless")]
use super::keyless::Identity;
use super::{MOST_REASONS, PublicKey};
use crate::diag::listed;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::collections::HashMap;

/// The signer of an image, as bundles.lock records it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Signer {
    /// A public key, by the SHA-256 of its SubjectPublicKeyInfo.
    Key(String),
    /// An identity, by a certificate that an authority issued for it.
    Identity {
        /// The email address or URI.
        identity: String,
        /// URL of the OpenID Connect issuer that knows it.
        issuer: String,
    },
}

impl Signer {
    /// Names the signer, shortened: enough to tell it from others.
    pub fn short(&self) -> &str {
        match self {
            Signer::Key(fingerprint) => short(fingerprint),
            Signer::Identity { identity, .. } => identity,
        }
    }
}

/// The signers that a `[[verify]]` table accepts.
#[derive(Debug)]
pub(super) enum Signers {
    /// One of these public keys.
    Keys(Vec<PublicKey>),
    /// An identity, by certificate.
    #[cfg(feature = "keyless")]
    Identity(Box<Identity>),
}

/// The reason why a signature does not vouch for an image, as part of a sentence.
#[derive(Debug)]
pub(super) struct Rejection(pub(super) String);

impl Rejection {
    /// A signature by none of the keys, or one that was changed.
    fn other_key() -> Self {
        Rejection("signed by another key, or changed".to_owned())
    }

    /// A signature that cannot be parsed.
    pub(super) fn malformed(why: impl ToString) -> Self {
        Rejection(format!("malformed ({})", why.to_string().escape_debug()))
    }

    /// A valid signature, by this signer, of another digest.
    pub(super) fn other_digest(signer: &Signer, found: &str) -> Self {
        let (signer, found) = (signer.short().escape_debug(), found.escape_debug());
        Rejection(format!("{signer} signed another digest, {found}"))
    }

    /// A signature with a key, where a certificate of an identity is expected.
    pub(super) fn no_certificate() -> Self {
        Rejection("signed with a key, without a certificate".to_owned())
    }

    /// A keyless signature without a valid proof; `subject` is the invalid part.
    pub(super) fn unproven(subject: &str, why: &str) -> Self {
        Rejection(format!("{subject} is not valid ({})", why.escape_debug()))
    }
}

/// A DSSE envelope with its signatures.
pub(super) struct SignedEnvelope<'e> {
    /// The text of the bundle that contains it.
    pub(super) bundle: &'e [u8],
    /// The bytes that are signed.
    pub(super) message: &'e [u8],
    /// The signatures, decoded.
    pub(super) signatures: Vec<Vec<u8>>,
    /// A digest that the statement names: algorithm and hexadecimal text.
    pub(super) subject: Option<(&'e str, &'e str)>,
}

impl Signers {
    /// Returns the signer of a payload of simple signing; `annotations` are those of its layer.
    pub(super) fn of_payload(
        &self,
        payload: &[u8],
        annotations: &HashMap<String, String>,
    ) -> Result<Signer, Rejection> {
        let signature = annotations.get(SIGNATURE);
        let missing = || Rejection::malformed("no signature in the annotations");
        let signature = STANDARD.decode(signature.ok_or_else(missing)?);
        let signature = signature.map_err(|_| Rejection::malformed("it is not base64"))?;
        match self {
            Signers::Keys(keys) => {
                signed_by(keys, payload, &signature).ok_or_else(Rejection::other_key)
            }
            #[cfg(feature = "keyless")]
            Signers::Identity(identity) => identity.of_payload(payload, &signature, annotations),
        }
    }

    /// Returns the signer of the statement in an envelope.
    pub(super) fn of_envelope(&self, envelope: &SignedEnvelope<'_>) -> Result<Signer, Rejection> {
        match self {
            Signers::Keys(keys) => {
                let mut signatures = envelope.signatures.iter();
                signatures
                    .find_map(|one| signed_by(keys, envelope.message, one))
                    .ok_or_else(Rejection::other_key)
            }
            #[cfg(feature = "keyless")]
            Signers::Identity(identity) => identity.of_envelope(envelope),
        }
    }

    /// Describes the accepted signers: "for the keys …".
    pub(super) fn describe(&self) -> String {
        match self {
            Signers::Keys(keys) => {
                let describe =
                    |key: &PublicKey| format!("{} ({})", key.file, short(&key.fingerprint));
                format!("the keys {}", listed(keys.iter().map(describe), MOST_REASONS))
            }
            #[cfg(feature = "keyless")]
            Signers::Identity(identity) => identity.describe(),
        }
    }

    /// Returns a hint for an image whose signatures are not valid.
    pub(super) fn hint(&self, image: &str) -> String {
        match self {
            Signers::Keys(keys) => {
                let file = keys.first().map_or("", |key| key.file.as_str());
                format!(
                    "look at it with `cosign verify --key {file} --insecure-ignore-tlog=true \
                        {image}`; if the vendor has a new key, add it to `key`"
                )
            }
            #[cfg(feature = "keyless")]
            Signers::Identity(identity) => identity.hint(image),
        }
    }
}

/// Returns the key that verifies a signature of `message`.
fn signed_by(keys: &[PublicKey], message: &[u8], signature: &[u8]) -> Option<Signer> {
    let key = keys.iter().find(|key| key.verifies(message, signature))?;
    Some(Signer::Key(key.fingerprint.clone()))
}

/// Returns enough of a fingerprint to tell it from others.
fn short(fingerprint: &str) -> &str {
    fingerprint.get(..19).unwrap_or(fingerprint)
}
