//! Bundles of sigstore: JSON documents with an in-toto statement about the image in a DSSE
//! envelope. cosign 3 attaches them as referrers.
//!
//! <https://github.com/sigstore/protobuf-specs/blob/main/protos/sigstore_bundle.proto> and
//! <https://github.com/secure-systems-lab/dsse/blob/master/protocol.md>. A statement names no
//! repository, so only the digest is compared.

use super::cosign::{
    SIGNATURE_PREDICATE, STATEMENT_MEDIA_TYPE, STATEMENT_TYPE, pre_authentication_encoding,
};
use super::signers::{Rejection, SignedEnvelope, Signer, Signers};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use oci_spec::image::Digest;
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::collections::BTreeMap;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Bundle {
    dsse_envelope: Option<Envelope>,
    message_signature: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Envelope {
    payload: String,
    payload_type: String,
    signatures: Vec<EnvelopeSignature>,
}

#[derive(Deserialize)]
struct EnvelopeSignature {
    sig: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Statement {
    #[serde(rename = "_type")]
    r#type: String,
    subject: Vec<Subject>,
    predicate_type: String,
}

#[derive(Deserialize)]
struct Subject {
    digest: BTreeMap<String, String>,
}

/// Verifies a bundle: one of `signers` signed its statement, which is about the digest `signed`.
/// Returns the signer; `None` for an attestation.
pub(super) fn verify(
    text: &[u8],
    signed: &Digest,
    signers: &Signers,
) -> Result<Option<Signer>, Rejection> {
    let bundle: Bundle = serde_json::from_slice(text).map_err(Rejection::malformed)?;
    // With both, one could be verified and the other one be read.
    if bundle.message_signature.is_some() {
        return Err(Rejection::malformed("a signature that is not in a DSSE envelope"));
    }
    let envelope = bundle.dsse_envelope.ok_or_else(|| Rejection::malformed("no DSSE envelope"))?;
    if envelope.payload_type != STATEMENT_MEDIA_TYPE {
        return Err(Rejection::malformed(format!("a payload of type {:?}", envelope.payload_type)));
    }
    let payload =
        STANDARD.decode(&envelope.payload).map_err(|_| Rejection::malformed("it is not base64"))?;

    let statement = serde_json::from_slice::<Statement>(&payload);
    // Attestations are not signatures of the image, valid or not.
    if statement.as_ref().is_ok_and(|it| it.predicate_type != SIGNATURE_PREDICATE) {
        return Ok(None);
    }

    let subjects = statement.iter().flat_map(|statement| &statement.subject);
    let digests: Vec<(&str, &str)> = subjects
        .flat_map(|subject| &subject.digest)
        .map(|(algorithm, digest)| (algorithm.as_str(), digest.as_str()))
        .collect();
    let signatures = envelope.signatures.iter().filter_map(|one| STANDARD.decode(&one.sig).ok());
    let signer = signers.of_envelope(&SignedEnvelope {
        bundle: text,
        message: &pre_authentication_encoding(&envelope.payload_type, &payload),
        signatures: signatures.collect(),
        subject: digests.first().copied(),
    })?;

    // The statement is signed: from here on, it says what the signer said.
    let statement = statement.as_ref().map_err(Rejection::malformed)?;
    if statement.r#type != STATEMENT_TYPE {
        return Err(Rejection::malformed(format!("a statement of type {:?}", statement.r#type)));
    }
    if digests.contains(&(signed.algorithm().as_ref(), signed.digest())) {
        return Ok(Some(signer));
    }
    let found = digests.first().map(|(algorithm, digest)| format!("{algorithm}:{digest}"));
    Err(Rejection::other_digest(&signer, &found.unwrap_or_default()))
}
