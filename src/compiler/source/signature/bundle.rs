//! Bundles of sigstore: JSON documents with an in-toto statement about the image in a DSSE
//! envelope. cosign 3 attaches them as referrers.
//!
//! <https://github.com/sigstore/protobuf-specs/blob/main/protos/sigstore_bundle.proto> and
//! <https://github.com/secure-systems-lab/dsse/blob/master/protocol.md>. A statement names no
//! repository, so only the digest is compared.

use super::rejection::Rejection;
use super::{PublicKey, signed_by};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use oci_spec::image::Digest;
use serde::Deserialize;
use std::collections::BTreeMap;

/// The predicate of statements that are signatures; others are attestations, such as an SBOM.
const PREDICATE: &str = "https://sigstore.dev/cosign/sign/v1";
/// The type of the envelope's payload.
const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";
/// The type of statements.
const STATEMENT: &str = "https://in-toto.io/Statement/v1";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Bundle {
    dsse_envelope: Option<Envelope>,
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

/// Verifies a bundle: one of `keys` signed its statement, which is about the digest `signed`. Returns
/// the fingerprint of the key; `None` for an attestation.
pub(super) fn verify(
    text: &[u8],
    signed: &Digest,
    keys: &[PublicKey],
) -> Result<Option<String>, Rejection> {
    let malformed = |why: &str| Rejection::Malformed(why.to_owned());
    let bundle: Bundle =
        serde_json::from_slice(text).map_err(|error| malformed(&error.to_string()))?;
    let envelope = bundle.dsse_envelope.ok_or_else(|| malformed("no DSSE envelope"))?;
    if envelope.payload_type != PAYLOAD_TYPE {
        return Err(malformed(&format!("a payload of type {:?}", envelope.payload_type)));
    }
    let payload = STANDARD.decode(&envelope.payload).map_err(|_| malformed("it is not base64"))?;

    let message = pre_authentication_encoding(&envelope.payload_type, &payload);
    let signatures = envelope.signatures.iter().filter_map(|one| STANDARD.decode(&one.sig).ok());
    let key = signatures.into_iter().find_map(|one| signed_by(keys, &message, &one));
    let statement = serde_json::from_slice::<Statement>(&payload);
    let Some(key) = key else {
        // Attestations by others are not bad signatures.
        let is_attestation = statement.is_ok_and(|it| it.predicate_type != PREDICATE);
        return if is_attestation { Ok(None) } else { Err(Rejection::OtherKey) };
    };

    let statement = statement.map_err(|error| malformed(&error.to_string()))?;
    if statement.r#type != STATEMENT {
        return Err(malformed(&format!("a statement of type {:?}", statement.r#type)));
    }
    if statement.predicate_type != PREDICATE {
        return Ok(None);
    }
    let algorithm = signed.algorithm().to_string();
    let digests: Vec<&String> =
        statement.subject.iter().filter_map(|subject| subject.digest.get(&algorithm)).collect();
    if digests.iter().any(|digest| digest.as_str() == signed.digest()) {
        return Ok(Some(key.to_owned()));
    }
    let found = digests.first().map(|digest| format!("{algorithm}:{digest}")).unwrap_or_default();
    Err(Rejection::OtherDigest { key: key.to_owned(), found })
}

/// Returns what is signed of an envelope (PAE of DSSE).
fn pre_authentication_encoding(payload_type: &str, payload: &[u8]) -> Vec<u8> {
    let head = format!("DSSEv1 {} {payload_type} {} ", payload_type.len(), payload.len());
    [head.as_bytes(), payload].concat()
}
