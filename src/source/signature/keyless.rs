//! Keyless signatures: a certificate says who signed, and a transparency log when.
//!
//! sigstore-verify does what <https://docs.sigstore.dev/about/security/> asks of verifiers, with roots
//! that the project pins: the certificate leads to one of the certificate authorities at the time of
//! signing, is for code signing and was submitted to a certificate transparency log; the log entry is
//! included, signed by the log and about this signature, certificate and digest; the time is that of
//! the entry's promise, or of a timestamping authority. Identity and issuer are compared here, so that
//! messages can name those that were found.

mod annotations;
mod ring_provider;

use super::signers::{Rejection, SignedEnvelope, Signer, Signers};
use super::unusable;
use crate::config::{CertificateIdentity, IdentityMatch};
use crate::diag::Fatal;
use crate::regular_file;
use sigstore_verify::crypto::parse_certificate_info;
use sigstore_verify::trust_root::TrustedRoot;
use sigstore_verify::types::bundle::VerificationMaterialContent;
use sigstore_verify::types::{Artifact, ArtifactDigest, Bundle, DigestBytes, SignatureContent};
use sigstore_verify::{Error, VerificationPolicy, VerificationResult, Verifier};
use std::collections::HashMap;
use std::path::Path;

/// Bytes of a file of roots; that of sigstore's public instance has about 10 KiB.
const ROOTS_BYTES: u64 = 4 << 20;

/// An accepted identity, with the roots that its certificates must lead to.
pub(super) struct Identity {
    accepted: CertificateIdentity,
    verifier: Verifier,
}

impl std::fmt::Debug for Identity {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_tuple("Identity").field(&self.accepted).finish()
    }
}

impl Identity {
    /// Returns the signer of a payload of simple signing, with the certificate and the log entry in
    /// the annotations of its layer.
    pub(super) fn of_payload(
        &self,
        payload: &[u8],
        signature: &[u8],
        annotations: &HashMap<String, String>,
    ) -> Result<Signer, Rejection> {
        let bundle = annotations::bundle(payload, signature, annotations)?;
        let verified = ring_provider::with_message(payload, || {
            self.verifier.verify(payload, &bundle, &VerificationPolicy::any_identity())
        });
        self.signer(verified, &bundle)
    }

    /// Returns the signer of the statement in an envelope.
    pub(super) fn of_envelope(&self, envelope: &SignedEnvelope<'_>) -> Result<Signer, Rejection> {
        let text = str::from_utf8(envelope.bundle).map_err(Rejection::malformed)?;
        let bundle = Bundle::from_json(text).map_err(Rejection::malformed)?;
        if let VerificationMaterialContent::PublicKey(_) = bundle.verification_material.content {
            return Err(Rejection::no_certificate());
        }
        let SignatureContent::DsseEnvelope(_) = bundle.content else {
            return Err(Rejection::malformed("no DSSE envelope"));
        };
        // The image's digest is compared with the statement's by the caller, for keys as well.
        let subject = envelope.subject.and_then(|(algorithm, hex)| digest(algorithm, hex));
        let missing = || Rejection::malformed("the statement has no digest");
        let subject = subject.ok_or_else(missing)?;
        let policy = VerificationPolicy::any_identity();
        self.signer(self.verifier.verify(Artifact::Digest(subject), &bundle, &policy), &bundle)
    }

    /// Returns the signer that was verified, if the table accepts it.
    fn signer(
        &self,
        verified: Result<VerificationResult, Error>,
        bundle: &Bundle,
    ) -> Result<Signer, Rejection> {
        let verified = verified.map_err(|error| rejection(&error, bundle))?;
        // The result says what was verified: a proof that was skipped is none.
        let proven =
            verified.certificate_verified() && verified.sct_verified() && verified.tlog_verified();
        if !proven {
            return Err(Rejection::unproven("its certificate", "it was not verified"));
        }

        let identity = verified.identity().map(|name| name.as_str().to_owned()).unwrap_or_default();
        let issuer = verified.issuer().unwrap_or_default().to_owned();
        let is_accepted = match &self.accepted.identity {
            IdentityMatch::Exact(exact) => *exact == identity,
            IdentityMatch::Pattern { pattern, .. } => pattern.is_match(&identity),
        };
        if !is_accepted || issuer != self.accepted.issuer {
            let (identity, issuer) = (identity.escape_debug(), issuer.escape_debug());
            return Err(Rejection(format!("signed by `{identity}` of the issuer `{issuer}`")));
        }
        Ok(Signer::Identity { identity, issuer })
    }

    /// Describes the accepted identity.
    pub(super) fn describe(&self) -> String {
        let CertificateIdentity { identity, issuer, roots } = &self.accepted;
        let identity = match identity {
            IdentityMatch::Exact(exact) => format!("the identity `{exact}`"),
            IdentityMatch::Pattern { text, .. } => format!("identities that match `{text}`"),
        };
        format!("{identity} of the issuer `{issuer}` ({})", roots.text)
    }

    /// Returns a hint for an image without a signature by the identity.
    pub(super) fn hint(&self, image: &str) -> String {
        let CertificateIdentity { identity, issuer, roots } = &self.accepted;
        let identity = match identity {
            IdentityMatch::Exact(exact) => format!("--certificate-identity '{exact}'"),
            IdentityMatch::Pattern { text, .. } => {
                format!("--certificate-identity-regexp '^({text})$'")
            }
        };
        format!(
            "look at it with `cosign verify {identity} --certificate-oidc-issuer '{issuer}' \
                --trusted-root {} {image}`; if the vendor signs as another identity now, change \
                `identity` and `issuer`",
            roots.text
        )
    }
}

/// Reads the roots of an identity; their path is relative to `base`.
///
/// # Errors
/// If the roots cannot be used, at their place in the configuration.
pub(super) fn signers(accepted: &CertificateIdentity, base: &Path) -> Result<Signers, Fatal> {
    ring_provider::install();
    let file = &accepted.roots;
    let found = regular_file::read(&base.join(&file.text), ROOTS_BYTES)
        .map_err(|error| error.to_string())
        .and_then(|bytes| verifier(&bytes));
    let hint = "use a JSON file with certificate authorities (Fulcio), transparency logs (Rekor) \
        and certificate transparency logs, relative to the configuration: \
        `cosign trusted-root create` writes one, and sigstore publishes trusted_root.json";
    let verifier = found.map_err(|why| unusable(file, "roots", &why, hint))?;
    Ok(Signers::Identity(Box::new(Identity { accepted: accepted.clone(), verifier })))
}

/// Returns a verifier with the roots in a file.
fn verifier(roots: &[u8]) -> Result<Verifier, String> {
    let text = str::from_utf8(roots).map_err(|error| error.to_string())?;
    let roots = TrustedRoot::from_json(text).map_err(|error| error.to_string())?;
    // Nothing could ever be verified without one of each.
    for (is_empty, what) in [
        (roots.certificate_authorities.is_empty(), "certificate authority"),
        (roots.tlogs.is_empty(), "transparency log"),
        (roots.ctlogs.is_empty(), "certificate transparency log"),
    ] {
        if is_empty {
            return Err(format!("it has no {what}"));
        }
    }
    Verifier::new(&roots).map_err(|error| error.to_string())
}

/// Returns a digest from its text.
fn digest(algorithm: &str, hex: &str) -> Option<ArtifactDigest> {
    ArtifactDigest::new(algorithm.parse().ok()?, DigestBytes::from_hex(hex).ok()?).ok()
}

/// Returns the rejection for an error of the verifier about a bundle.
fn rejection(error: &Error, bundle: &Bundle) -> Rejection {
    let subject = match error {
        Error::Certificate(_) => "its certificate",
        Error::TransparencyLog(_) => "its entry in the transparency log",
        Error::Timestamp(_) => "its time of signing",
        Error::SignatureInvalid(_) => "the signature",
        Error::ArtifactMismatch(_) => "its entry for this payload",
        _ => return Rejection::malformed(error),
    };
    let times = match error {
        Error::Certificate(_) => times(bundle).unwrap_or_default(),
        _ => String::new(),
    };
    Rejection::unproven(subject, &format!("{error}{times}"))
}

/// Describes the validity of the certificate and the time of the log entry: errors about the chain have
/// them as numbers.
fn times(bundle: &Bundle) -> Option<String> {
    let certificate = parse_certificate_info(bundle.signing_certificate()?).ok()?;
    let validity = format!("valid from {} to {}", certificate.not_before, certificate.not_after);
    let mut entries = bundle.verification_material.tlog_entries.iter();
    let logged = entries.find_map(|entry| entry.integrated_time);
    let logged = logged.map(|time| format!(", logged at {time}")).unwrap_or_default();
    Some(format!("; {validity}{logged}"))
}
