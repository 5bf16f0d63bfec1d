//! Signed statements: DSSE envelopes in sigstore bundles, which cosign verifies.
//!
//! <https://github.com/secure-systems-lab/dsse/blob/master/protocol.md>,
//! <https://docs.sigstore.dev/about/bundle/>

use super::Signer;
use crate::diag::Fatal;
use crate::source::cosign::{STATEMENT_MEDIA_TYPE, pre_authentication_encoding};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

/// Media type of the bundle.
pub(super) const BUNDLE_TYPE: &str = "application/vnd.dev.sigstore.bundle.v0.3+json";

/// Returns a sigstore bundle with a statement and its signature.
///
/// # Errors
/// If the signer fails.
pub(crate) fn bundle(statement: &[u8], signer: &Signer) -> Result<Vec<u8>, Fatal> {
    let signature = signer.sign(&pre_authentication_encoding(STATEMENT_MEDIA_TYPE, statement))?;
    let bundle = json!({
        "mediaType": BUNDLE_TYPE,
        "verificationMaterial": {
            "publicKey": { "hint": signer.hint() },
            // Nothing is published in a transparency log, so cosign verifies it with
            // `--insecure-ignore-tlog` (docs/verifying.md).
            "tlogEntries": [],
        },
        "dsseEnvelope": {
            "payload": STANDARD.encode(statement),
            "payloadType": STATEMENT_MEDIA_TYPE,
            "signatures": [{ "sig": STANDARD.encode(signature) }],
        },
    });
    Ok(bundle.to_string().into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_payload_is_encoded_with_its_type_and_lengths() {
        let encoded = pre_authentication_encoding(STATEMENT_MEDIA_TYPE, b"hello world");
        assert_eq!(encoded, b"DSSEv1 28 application/vnd.in-toto+json 11 hello world");
    }
}
