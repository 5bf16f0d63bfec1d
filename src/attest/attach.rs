//! Attaches attestations and signatures to a chart in a registry.

use super::provenance::{PREDICATE_TYPE, statement};
use super::signing::simple_signing;
use super::{Attestations, Signer};
use crate::diag::{Diagnostics, Fatal};
use crate::package::Package;
use crate::package::push::Remote;
use crate::source::cosign::{
    SIGNATURE, SIGNATURE_PREDICATE, SIMPLE_SIGNING_TYPE, STATEMENT_MEDIA_TYPE,
    pre_authentication_encoding, signature_tag,
};
use crate::source::{Attachment, OciArtifact, Reference, SourceResolver};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;

/// Media type of sigstore bundles.
pub(super) const BUNDLE_TYPE: &str = "application/vnd.dev.sigstore.bundle.v0.3+json";
/// Media type of CycloneDX documents.
const SBOM_TYPE: &str = "application/vnd.cyclonedx+json";
/// Predicate type of the SBOM as an in-toto statement.
const SBOM_PREDICATE: &str = "https://cyclonedx.org/bom";

/// Annotation with the predicate type of an in-toto statement.
const IN_TOTO_PREDICATE: &str = "in-toto.io/predicate-type";
/// Annotation with the predicate type of a sigstore bundle.
const BUNDLE_PREDICATE: &str = "dev.sigstore.bundle.predicateType";
/// Annotation with the kind of content of a sigstore bundle.
const BUNDLE_CONTENT: &str = "dev.sigstore.bundle.content";

/// Attaches what a chart in a registry does not have yet: attestations of the same type stay as they
/// are. With a signer, statements are signed, and so is the chart.
///
/// Returns the number of attached documents; `None` if the registry does not accept them, or the
/// signer fails.
pub(crate) fn attach(
    remote: &Remote<'_>,
    attestations: &Attestations,
    signer: Option<&Signer>,
    sources: &SourceResolver,
    diagnostics: &mut Diagnostics,
) -> Option<usize> {
    let Remote { package, reference, .. } = remote;
    let subject = &package.artifact;
    let mut attached = 0;
    let mut add = |attachment: &Attachment<'_>, diagnostics: &mut Diagnostics| {
        let added = sources.attach(subject, attachment, reference, diagnostics)?;
        attached += usize::from(added);
        Some(())
    };

    // The SBOM as it is, for scanners that read no in-toto statements; signed, it is in one, too.
    let sbom = [("org.opencontainers.image.title", "cyclonedx.json")];
    add(&attachment(SBOM_TYPE, &sbom, &|| Ok(attestations.sbom.clone())), diagnostics)?;
    let Some(signer) = signer else {
        if let Some(provenance) = &attestations.provenance {
            let annotations = [(IN_TOTO_PREDICATE, PREDICATE_TYPE)];
            let content = || Ok(provenance.clone());
            add(&attachment(STATEMENT_MEDIA_TYPE, &annotations, &content), diagnostics)?;
        }
        return Some(attached);
    };

    let parsed: Json = serde_json::from_slice(&attestations.sbom).unwrap_or_default();
    let statements = [
        (PREDICATE_TYPE, attestations.provenance.clone()),
        (SBOM_PREDICATE, Some(statement(package, SBOM_PREDICATE, &parsed))),
        (SIGNATURE_PREDICATE, Some(statement(package, SIGNATURE_PREDICATE, &json!({})))),
    ];
    for (predicate, statement) in &statements {
        let Some(statement) = statement else { continue };
        let annotations = [(BUNDLE_CONTENT, "dsse-envelope"), (BUNDLE_PREDICATE, *predicate)];
        // Only called if there is none yet, so that a second push asks for no signature.
        let content = || sigstore_bundle(statement, signer);
        add(&attachment(BUNDLE_TYPE, &annotations, &content), diagnostics)?;
    }
    let signed = sign(package, reference, signer, sources, diagnostics)?;
    Some(attached + usize::from(signed))
}

fn attachment<'a>(
    media_type: &'a str,
    annotations: &[(&str, &str)],
    content: &'a dyn Fn() -> Result<Vec<u8>, Fatal>,
) -> Attachment<'a> {
    let text = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    Attachment { media_type, annotations: annotations.iter().map(text).collect(), content }
}

/// Returns a sigstore bundle with a statement in a DSSE envelope and its signature, which cosign verifies.
///
/// <https://github.com/secure-systems-lab/dsse/blob/master/protocol.md>,
/// <https://docs.sigstore.dev/about/bundle/>
///
/// # Errors
/// If the signer fails.
fn sigstore_bundle(statement: &[u8], signer: &Signer) -> Result<Vec<u8>, Fatal> {
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

/// Signs the chart at the tag that cosign 2, Flux and Kyverno read, unless there is a signature;
/// returns true if it was signed.
fn sign(
    package: &Package,
    reference: &str,
    signer: &Signer,
    sources: &SourceResolver,
    diagnostics: &mut Diagnostics,
) -> Option<bool> {
    let digest = &package.artifact.digest;
    let repository = diagnostics.report(Reference::parse(reference))?.name;
    let tag = format!("{repository}:{}", signature_tag(digest));
    if sources.tag_digest(&tag, diagnostics)?.is_some() {
        // ECDSA signatures are random: a new one would move the tag with each push.
        return Some(false);
    }

    let payload = simple_signing(&repository, digest);
    let signature = diagnostics.report(signer.sign(&payload))?;
    let annotations = BTreeMap::from([(SIGNATURE.to_owned(), STANDARD.encode(signature))]);
    let artifact = OciArtifact::signature(SIMPLE_SIGNING_TYPE, payload, &annotations);
    sources.push_artifact(&artifact, &tag, diagnostics)?;
    Some(true)
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
