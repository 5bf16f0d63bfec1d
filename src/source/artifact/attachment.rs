//! Documents that are attached to an artifact, and signatures of cosign.

use super::{Blob, OciArtifact};
use crate::SourceResolver;
use crate::diag::{Diagnostics, Fatal};
use crate::image::{Blobs as _, Document, read_document, read_small};
use crate::reference::Reference;
use oci_spec::image::{Digest, MediaType};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::str::FromStr as _;

/// Attached documents of one type that are read.
const MOST_ATTACHMENTS: usize = 16;

/// A document to attach to an artifact.
pub struct Attachment<'a> {
    /// Its media type, which is the type of the artifact as well.
    pub media_type: &'a str,
    /// The annotations of its manifest.
    pub annotations: BTreeMap<String, String>,
    /// Creates the document; called only if it is attached.
    pub content: &'a dyn Fn() -> Result<Vec<u8>, Fatal>,
}

impl Attachment<'_> {
    /// Returns true if a descriptor in an index is about a document of this type and with these
    /// annotations.
    fn is(&self, descriptor: &Json) -> bool {
        let has = |(key, value): (&String, &String)| descriptor["annotations"][key] == **value;
        descriptor["artifactType"] == self.media_type && self.annotations.iter().all(has)
    }
}

impl OciArtifact {
    /// Creates the artifact of a cosign signature: its layer, the signed payload, has `annotations`.
    pub fn signature(
        media_type: &str,
        payload: Vec<u8>,
        annotations: &BTreeMap<String, String>,
    ) -> Self {
        let layer = Blob::new((media_type, payload));
        // cosign reads it as an image.
        let config = json!({
            "architecture": "",
            "os": "",
            "config": {},
            "rootfs": { "type": "layers", "diff_ids": [layer.descriptor.digest()] },
        });
        let config = config.to_string().into_bytes();
        let config = Blob::new((MediaType::ImageConfig.as_ref(), config));
        let mut described = json!(layer.descriptor);
        described["annotations"] = json!(annotations);
        Self::of(config, layer, Json::Null, json!({ "layers": [described] }))
    }

    /// Creates an artifact that is attached to `subject`.
    fn attached(
        media_type: &str,
        content: Vec<u8>,
        annotations: &BTreeMap<String, String>,
        subject: &OciArtifact,
    ) -> Self {
        // A configuration that says nothing.
        let config = Blob::new((MediaType::EmptyJSON.as_ref(), b"{}".to_vec()));
        let layer = Blob::new((media_type, content));
        let more = json!({ "subject": subject.descriptor, "annotations": annotations });
        Self::of(config, layer, json!(media_type), more)
    }
}

impl SourceResolver {
    /// Attaches a document to the artifact `subject` at `reference`, unless it has one of the same
    /// type and annotations; returns true if it was attached.
    ///
    /// `None` if the registry does not accept it, or there is no document.
    pub fn attach(
        &self,
        subject: &OciArtifact,
        attachment: &Attachment<'_>,
        reference: &str,
        diagnostics: &mut Diagnostics,
    ) -> Option<bool> {
        let attached = self.target(reference).and_then(|(target, _)| {
            let repository = self.repository(&target.name)?;
            let digest = subject.descriptor.digest();
            if repository.referrers(digest, true)?.iter().any(|found| attachment.is(found)) {
                return Ok(false);
            }

            let Attachment { media_type, annotations, content } = attachment;
            let artifact = OciArtifact::attached(media_type, content()?, annotations, subject);
            let is_listed = self.send(&artifact, &target.name, None)?;
            // Without the referrers API, clients keep the list in a tag (OCI distribution 1.1).
            if !is_listed {
                let mut descriptor = json!(artifact.descriptor);
                descriptor["artifactType"] = json!(media_type);
                descriptor["annotations"] = json!(annotations);
                repository.tag_referrer(digest, descriptor)?;
            }
            Ok(true)
        });
        diagnostics.report(attached)
    }

    /// Returns the documents of these media types that are attached to the artifact with
    /// the digest in `reference`; none without a network.
    pub fn attachments(
        &self,
        reference: &str,
        media_types: &[&str],
        diagnostics: &mut Diagnostics,
    ) -> Option<Vec<Vec<u8>>> {
        if self.access.offline {
            return Some(Vec::new());
        }
        let read = Reference::parse(reference).and_then(|reference| {
            let repository = self.repository(&reference.name)?;
            let Some(subject) = &reference.digest else { return Ok(Vec::new()) };
            let found = repository.referrers(subject, false)?;
            let is_wanted = |found: &&Json| {
                found["artifactType"].as_str().is_some_and(|own| media_types.contains(&own))
            };
            let found = found.iter().filter(is_wanted);
            let digests =
                found.filter_map(|found| Digest::from_str(found["digest"].as_str()?).ok());

            let mut documents = Vec::new();
            for digest in digests.take(MOST_ATTACHMENTS) {
                let wanted = Reference { tag: None, digest: Some(digest), ..reference.clone() };
                let root = repository.manifest(&wanted)?;
                let document = read_document(&repository, &root)?;
                let Document::Manifest(manifest) = document else { continue };
                for layer in manifest.layers() {
                    repository.prepare(std::slice::from_ref(layer))?;
                    documents.push(read_small(&repository, layer)?);
                }
            }
            Ok(documents)
        });
        diagnostics.report(read)
    }
}
