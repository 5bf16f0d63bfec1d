//! Keyless signatures in the annotations of a layer, as cosign attached them before bundles of sigstore:
//! certificate, chain, log entry and timestamp become such a bundle.
//!
//! <https://github.com/sigstore/cosign/blob/main/specs/SIGNATURE_SPEC.md>

use super::super::signers::Rejection;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use serde::Deserialize;
use serde_json::{Value as Json, json};
use sha2::{Digest as _, Sha256};
use sigstore_verify::types::{Bundle, DigestBytes};
use std::collections::HashMap;

const CERTIFICATE: &str = "dev.sigstore.cosign/certificate";
const CHAIN: &str = "dev.sigstore.cosign/chain";
const ENTRY: &str = "dev.sigstore.cosign/bundle";
const TIMESTAMP: &str = "dev.sigstore.cosign/rfc3161timestamp";

/// The version of bundles that may have a promise of inclusion without a proof.
const MEDIA_TYPE: &str = "application/vnd.dev.sigstore.bundle+json;version=0.1";

/// An entry of Rekor with its promise of inclusion.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct RekorEntry {
    signed_entry_timestamp: String,
    payload: EntryPayload,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct EntryPayload {
    body: String,
    integrated_time: i64,
    log_index: i64,
    #[serde(rename = "logID")]
    log_id: String,
}

/// The type of an entry, which its body names.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct EntryType {
    kind: String,
    api_version: String,
}

#[derive(Deserialize)]
struct Timestamp {
    #[serde(rename = "SignedRFC3161Timestamp")]
    signed: String,
}

/// Returns the bundle of a signed payload.
pub(super) fn bundle(
    payload: &[u8],
    signature: &[u8],
    annotations: &HashMap<String, String>,
) -> Result<Bundle, Rejection> {
    let malformed = |key: &str, why: &str| Rejection::malformed(format!("{key}: {why}"));
    let certificate = annotations.get(CERTIFICATE).ok_or_else(Rejection::no_certificate)?;
    let chain = annotations.get(CHAIN).map(String::as_str).unwrap_or_default();
    let certificates = [(CERTIFICATE, certificate.as_str()), (CHAIN, chain)].map(|(key, pem)| {
        CertificateDer::pem_slice_iter(pem.as_bytes())
            .map(|found| found.map_err(|_| malformed(key, "it is not valid PEM")))
            .map(|found| found.map(|der| json!({ "rawBytes": STANDARD.encode(der) })))
            .collect::<Result<Vec<Json>, Rejection>>()
    });
    let [leaf, chain] = certificates;
    // In bundles the certificate of the signer comes first.
    let certificates: Vec<Json> = leaf?.into_iter().chain(chain?).collect();

    let Some(entry) = annotations.get(ENTRY) else {
        let why = format!("the annotation {ENTRY} is missing");
        return Err(Rejection::unproven("its entry in the transparency log", &why));
    };
    let entry = log_entry(entry).map_err(|why| malformed(ENTRY, &why))?;
    let timestamps = match annotations.get(TIMESTAMP) {
        Some(text) => {
            let timestamp = serde_json::from_str::<Timestamp>(text);
            let timestamp = timestamp.map_err(|error| malformed(TIMESTAMP, &error.to_string()))?;
            vec![json!({ "signedTimestamp": timestamp.signed })]
        }
        None => Vec::new(),
    };

    let bundle = json!({
        "mediaType": MEDIA_TYPE,
        "verificationMaterial": {
            "x509CertificateChain": { "certificates": certificates },
            "tlogEntries": [entry],
            "timestampVerificationData": { "rfc3161Timestamps": timestamps },
        },
        "messageSignature": {
            "messageDigest": {
                "algorithm": "SHA2_256",
                "digest": STANDARD.encode(Sha256::digest(payload)),
            },
            "signature": STANDARD.encode(signature),
        },
    });
    Bundle::from_json(&bundle.to_string()).map_err(Rejection::malformed)
}

/// Returns the log entry of an annotation as bundles have it.
fn log_entry(text: &str) -> Result<Json, String> {
    let RekorEntry { signed_entry_timestamp, payload } =
        serde_json::from_str(text).map_err(|error| error.to_string())?;
    let body = STANDARD.decode(&payload.body).map_err(|error| error.to_string())?;
    let EntryType { kind, api_version } =
        serde_json::from_slice(&body).map_err(|error| error.to_string())?;
    let id = DigestBytes::from_hex(&payload.log_id).map_err(|_| "logID is not hexadecimal")?;

    Ok(json!({
        "logIndex": payload.log_index.to_string(),
        "logId": { "keyId": STANDARD.encode(id) },
        "kindVersion": { "kind": kind, "version": api_version },
        "integratedTime": payload.integrated_time.to_string(),
        "inclusionPromise": { "signedEntryTimestamp": signed_entry_timestamp },
        "canonicalizedBody": payload.body,
    }))
}
