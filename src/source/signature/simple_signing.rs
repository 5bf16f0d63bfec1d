//! Simple signing: a JSON payload in a layer, and its signature in an annotation.
//!
//! <https://github.com/sigstore/cosign/blob/main/specs/SIGNATURE_SPEC.md>, and
//! <https://github.com/containers/image/blob/main/docs/containers-signature.5.md> for the payload.

use super::cosign::SIMPLE_SIGNING_PAYLOAD;
use super::signers::{Rejection, Signer, Signers};
use crate::reference::Reference;
use oci_spec::image::Digest;
use serde::Deserialize;
use std::collections::HashMap;

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

/// Verifies a payload: one of `signers` signed it, it is about the digest `signed`, and about the
/// repository of `reference` (`matchRepository` of containers-policy.json). `annotations` are those of
/// its layer. Returns the signer.
pub(super) fn verify(
    payload: &[u8],
    annotations: &HashMap<String, String>,
    signed: &Digest,
    reference: &Reference,
    signers: &Signers,
) -> Result<Signer, Rejection> {
    // Nothing is read from the payload before its signature is verified.
    let signer = signers.of_payload(payload, annotations)?;

    let Payload { critical } = serde_json::from_slice(payload).map_err(Rejection::malformed)?;
    if critical.r#type != SIMPLE_SIGNING_PAYLOAD {
        return Err(Rejection::malformed(format!("a payload of type {:?}", critical.r#type)));
    }
    let found = critical.image.docker_manifest_digest;
    if found != signed.as_ref() {
        return Err(Rejection::other_digest(&signer, &found));
    }
    let found = critical.identity.docker_reference;
    // Its tag is not compared: a digest is.
    if !Reference::parse(&found).is_ok_and(|own| own.usual_name() == reference.usual_name()) {
        let (signer, found) = (signer.short().escape_debug(), found.escape_debug());
        let expected = &reference.name;
        return Err(Rejection(format!("{signer} signed it as `{found}`, not as `{expected}`")));
    }
    Ok(signer)
}
