//! Simple signing: a JSON payload in a layer, and its signature in an annotation.
//!
//! <https://github.com/sigstore/cosign/blob/main/specs/SIGNATURE_SPEC.md>, and
//! <https://github.com/containers/image/blob/main/docs/containers-signature.5.md> for the payload.

use super::rejection::Rejection;
use super::{PublicKey, signed_by};
use crate::source::reference::Reference;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use oci_spec::image::Digest;
use serde::Deserialize;

/// Media type of payloads.
pub(super) const MEDIA_TYPE: &str = "application/vnd.dev.cosign.simplesigning.v1+json";
/// Annotation with the signature of the payload, in base64.
pub(super) const SIGNATURE: &str = "dev.cosignproject.cosign/signature";

/// The `type` of payloads that cosign signs.
const PAYLOAD_TYPE: &str = "cosign container image signature";

#[derive(Deserialize)]
struct Payload {
    critical: Critical,
}

/// All of its fields must be understood.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Critical {
    identity: Identity,
    image: Image,
    r#type: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Identity {
    docker_reference: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Image {
    docker_manifest_digest: String,
}

/// Verifies a payload: one of `keys` signed it, it is about the digest `signed`, and about the
/// repository of `reference` (`matchRepository` of containers-policy.json). Returns the fingerprint
/// of the key.
pub(super) fn verify(
    payload: &[u8],
    signature: Option<&str>,
    signed: &Digest,
    reference: &Reference,
    keys: &[PublicKey],
) -> Result<String, Rejection> {
    let malformed = |why: &str| Rejection::Malformed(why.to_owned());
    let signature = signature.ok_or_else(|| malformed("no signature in the annotations"))?;
    let signature = STANDARD.decode(signature).map_err(|_| malformed("it is not base64"))?;
    // Nothing is read from the payload before its signature is verified.
    let key = signed_by(keys, payload, &signature).ok_or(Rejection::OtherKey)?.to_owned();

    let Payload { critical } =
        serde_json::from_slice(payload).map_err(|error| malformed(&error.to_string()))?;
    if critical.r#type != PAYLOAD_TYPE {
        return Err(malformed(&format!("a payload of type {:?}", critical.r#type)));
    }
    let found = critical.image.docker_manifest_digest;
    if found != signed.as_ref() {
        return Err(Rejection::OtherDigest { key, found });
    }
    let found = critical.identity.docker_reference;
    if repository(&found).as_deref() != Some(usual_name(&reference.name).as_str()) {
        let expected = reference.name.clone();
        return Err(Rejection::OtherRepository { key, found, expected });
    }
    Ok(key)
}

/// Returns the repository of a signed reference, whose tag is not compared: a digest is.
fn repository(signed: &str) -> Option<String> {
    Reference::parse(signed).ok().map(|reference| usual_name(&reference.name))
}

/// Returns the name of a repository with the usual name of Docker Hub.
fn usual_name(name: &str) -> String {
    match name.strip_prefix("index.docker.io/") {
        Some(rest) => format!("docker.io/{rest}"),
        None => name.to_owned(),
    }
}
