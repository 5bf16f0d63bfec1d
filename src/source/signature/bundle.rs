//! Bundles of sigstore: JSON documents with an in-toto statement about the image in a DSSE
//! envelope. cosign 3 attaches them as referrers.
//!
//! <https://github.com/sigstore/protobuf-specs/blob/main/protos/sigstore_bundle.proto> and
//! <https://github.com/secure-systems-lab/dsse/blob/master/protocol.md>. A statement names no
//! repository, so only the digest is compared.

use super::cosign::{
    SIGNATURE_PREDICATE, STATEMENT_MEDIA_TYPE, STATEMENT_TYPE, pre_authentication_encoding,
};
use super::rejection::Rejection;
use super::signers::{SignedEnvelope, Signer, Signers};
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
    let malformed = |why: &str| Rejection::Malformed(why.to_owned());
    let bundle: Bundle =
        serde_json::from_slice(text).map_err(|error| malformed(&error.to_string()))?;
    // With both, one could be verified and the other one be read.
    if bundle.message_signature.is_some() {
        return Err(malformed("a signature that is not in a DSSE envelope"));
    }
    let envelope = bundle.dsse_envelope.ok_or_else(|| malformed("no DSSE envelope"))?;
    if envelope.payload_type != STATEMENT_MEDIA_TYPE {
        return Err(malformed(&format!("a payload of type {:?}", envelope.payload_type)));
    }
    let payload = STANDARD.decode(&envelope.payload).map_err(|_| malformed("it is not base64"))?;

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
    let statement = statement.as_ref().map_err(|error| malformed(&error.to_string()))?;
    if statement.r#type != STATEMENT_TYPE {
        return Err(malformed(&format!("a statement of type {:?}", statement.r#type)));
    }
    if digests.contains(&(signed.algorithm().as_ref(), signed.digest())) {
        return Ok(Some(signer));
    }
    let found = digests.first().map(|(algorithm, digest)| format!("{algorithm}:{digest}"));
    Err(Rejection::OtherDigest { signer, found: found.unwrap_or_default() })
}

#[cfg(test)]
#[cfg(feature = "registry")]
mod tests {
    use super::super::PublicKey;
    use super::*;
    use ring::signature::{Ed25519KeyPair, KeyPair as _};
    use serde_json::{Value as Json, json};
    use std::str::FromStr as _;

    fn pair(seed: u8) -> Ed25519KeyPair {
        Ed25519KeyPair::from_seed_unchecked(&[seed; 32]).unwrap()
    }

    fn signers() -> Signers {
        // RFC 8410: the SubjectPublicKeyInfo of Ed25519 is this and the key.
        let start = b"\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00";
        let key = STANDARD.encode([start, pair(1).public_key().as_ref()].concat());
        let pem = format!("-----BEGIN PUBLIC KEY-----\n{key}\n-----END PUBLIC KEY-----\n");
        Signers::Keys(PublicKey::read("cosign.pub", pem.as_bytes()).unwrap())
    }

    /// Returns a bundle with this payload, signed by a key.
    fn signed(payload: &str, seed: u8) -> Json {
        let message = pre_authentication_encoding(STATEMENT_MEDIA_TYPE, payload.as_bytes());
        let signature = STANDARD.encode(pair(seed).sign(&message));
        json!({"dsseEnvelope": {
            "payload": STANDARD.encode(payload),
            "payloadType": STATEMENT_MEDIA_TYPE,
            "signatures": [{"sig": signature}],
        }})
    }

    /// Tests each field that a bundle must have, and the errors of bundles without it.
    #[test]
    fn bundles_that_are_signatures() {
        let hex = "0123456789abcdef".repeat(4);
        let statement = |change: Json| {
            let mut statement = json!({
                "_type": STATEMENT_TYPE,
                "subject": [{"digest": {"sha256": hex}}],
                "predicateType": SIGNATURE_PREDICATE,
            });
            let fields = change.as_object().cloned().unwrap_or_default();
            statement.as_object_mut().unwrap().extend(fields);
            statement.to_string()
        };
        let usual = signed(&statement(json!({})), 1);
        let with = |pointer: &str, value: Json| {
            let mut bundle = usual.clone();
            *bundle.pointer_mut(pointer).unwrap() = value;
            bundle
        };
        let mut both = usual.clone();
        both["messageSignature"] = json!({});
        let mut several = usual.clone();
        let own = several["dsseEnvelope"]["signatures"][0].clone();
        several["dsseEnvelope"]["signatures"] = json!([{"sig": "!"}, {"sig": "AA=="}, own]);
        let digest = Digest::from_str(&format!("sha256:{hex}")).unwrap();
        let mut shown = String::new();
        for (what, bundle) in [
            ("signed", usual.clone()),
            ("one of several signatures", several),
            ("another key", signed(&statement(json!({})), 2)),
            (
                "changed",
                with("/dsseEnvelope/payload", json!(STANDARD.encode(statement(json!({"a": 1}))))),
            ),
            ("no envelope", json!({})),
            ("two kinds of signatures", both),
            ("another type of payload", with("/dsseEnvelope/payloadType", json!("text/plain"))),
            ("no base64", with("/dsseEnvelope/payload", json!("!"))),
            ("an attestation", signed(&statement(json!({"predicateType": "sbom"})), 2)),
            ("no statement", signed("{}", 1)),
            ("another statement", signed(&statement(json!({"_type": "v0"})), 1)),
            ("no subject", signed(&statement(json!({"subject": []})), 1)),
            (
                "another digest",
                signed(&statement(json!({"subject": [{"digest": {"sha512": hex}}]})), 1),
            ),
            (
                "one of several digests",
                signed(
                    &statement(
                        json!({"subject": [{"digest": {"sha1": "0"}}, {"digest": {"sha256": hex}}]}),
                    ),
                    1,
                ),
            ),
        ] {
            let outcome = match verify(bundle.to_string().as_bytes(), &digest, &signers()) {
                Ok(Some(signer)) => format!("signed by {}", signer.short()),
                Ok(None) => "no signature".to_owned(),
                Err(rejection) => rejection.describe(),
            };
            shown += &format!("{what}: {outcome}\n");
        }
        insta::assert_snapshot!(shown);
        let malformed = verify(b"{", &digest, &signers()).unwrap_err();
        assert!(malformed.describe().starts_with("malformed (EOF"), "{malformed:?}");
    }
}
