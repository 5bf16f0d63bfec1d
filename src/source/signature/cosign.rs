//! Names and encodings of cosign's signatures, for those that are made and those that are verified.
//!
//! <https://github.com/sigstore/cosign/blob/main/specs/SIGNATURE_SPEC.md>,
//! <https://github.com/secure-systems-lab/dsse/blob/master/protocol.md>

/// Media type of payloads of simple signing.
pub const SIMPLE_SIGNING_TYPE: &str = "application/vnd.dev.cosign.simplesigning.v1+json";

/// The `type` of payloads that cosign signs.
pub const SIMPLE_SIGNING_PAYLOAD: &str = "cosign container image signature";

/// Annotation with the signature of a payload, in base64.
pub const SIGNATURE: &str = "dev.cosignproject.cosign/signature";

/// Media type of in-toto statements, the payload of an envelope.
pub const STATEMENT_MEDIA_TYPE: &str = "application/vnd.in-toto+json";

/// The type of statements.
pub const STATEMENT_TYPE: &str = "https://in-toto.io/Statement/v1";

/// The predicate of statements that are signatures; others are attestations, such as an SBOM.
pub const SIGNATURE_PREDICATE: &str = "https://sigstore.dev/cosign/sign/v1";

/// Returns the tag of the signatures of the image with this digest.
pub fn signature_tag(digest: &str) -> String {
    format!("{}.sig", digest.replace(':', "-"))
}

/// Returns the signed bytes of an envelope (PAE of DSSE).
pub fn pre_authentication_encoding(payload_type: &str, payload: &[u8]) -> Vec<u8> {
    let head = format!("DSSEv1 {} {payload_type} {} ", payload_type.len(), payload.len());
    [head.as_bytes(), payload].concat()
}
