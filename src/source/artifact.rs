//! OCI artifacts that are pushed and pulled: a configuration, a layer and a manifest, in memory; and
//! documents and cosign's signatures that are attached to them.

use super::digest::descriptor_of;
use super::image::{self, Blobs as _, Document, read_document, read_small};
use super::reference::Reference;
use super::resolver::{Located, SourceResolver};
use super::{failure, unreadable};
use crate::diag::{Code, Diagnostics, Fatal};
use oci_spec::image::{Descriptor, Digest, MediaType};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write as _;
use std::str::FromStr as _;

/// Attached documents of one type that are read.
const MOST_ATTACHMENTS: usize = 16;

/// An artifact with one layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OciArtifact {
    config: Blob,
    layer: Blob,
    descriptor: Descriptor,
    /// The manifest.
    pub manifest: Vec<u8>,
    /// Digest of the manifest.
    pub digest: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Blob {
    descriptor: Descriptor,
    content: Vec<u8>,
}

impl Blob {
    fn new((media_type, content): (&str, Vec<u8>)) -> Self {
        Blob { descriptor: descriptor_of(MediaType::from(media_type), &content), content }
    }
}

impl OciArtifact {
    /// Creates the artifact and its manifest: the same bytes for the same arguments. `config` and
    /// `layer` are a media type and a content.
    pub fn new(
        config: (&str, Vec<u8>),
        layer: (&str, Vec<u8>),
        annotations: &BTreeMap<String, String>,
    ) -> Self {
        let more = json!({ "annotations": annotations });
        Self::of(Blob::new(config), Blob::new(layer), more)
    }

    /// Creates an artifact whose manifest has these entries as well.
    fn of(config: Blob, layer: Blob, more: Json) -> Self {
        let mut manifest = json!({
            "schemaVersion": 2,
            "mediaType": MediaType::ImageManifest.to_string(),
            "artifactType": null,
            "config": config.descriptor,
            "layers": [layer.descriptor],
        });
        if let (Json::Object(manifest), Json::Object(more)) = (&mut manifest, more) {
            manifest.extend(more);
            manifest.retain(|_, value| !value.is_null());
        }
        let manifest = manifest.to_string().into_bytes();
        let descriptor = descriptor_of(MediaType::ImageManifest, &manifest);
        let digest = descriptor.digest().to_string();
        OciArtifact { config, layer, descriptor, manifest, digest }
    }

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
        Self::of(config, layer, json!({ "layers": [described] }))
    }

    /// Returns the digest of the layer.
    pub fn layer_digest(&self) -> &str {
        self.layer.descriptor.digest().as_ref()
    }
}

impl SourceResolver {
    /// Returns the digest that a tag has in its registry, `Some(None)` if there is no such tag.
    /// Mirrors are not used, because artifacts are not pushed to them.
    ///
    /// `None` if the registry does not answer, or refuses.
    pub fn tag_digest(
        &self,
        reference: &str,
        diagnostics: &mut Diagnostics,
    ) -> Option<Option<String>> {
        let found = self
            .target(reference)
            .and_then(|(target, tag)| self.repository(&target.name)?.tag_digest(&tag));
        let found = diagnostics.report(found)?;
        Some(found.map(|digest| digest.to_string()))
    }

    /// Pushes an artifact under the tag of `reference`, whatever the tag was before. Blobs that the
    /// repository has are not sent again.
    ///
    /// `None` if the registry does not accept it; the tag is then as before.
    pub fn push_artifact(
        &self,
        artifact: &OciArtifact,
        reference: &str,
        diagnostics: &mut Diagnostics,
    ) -> Option<()> {
        let pushed = self
            .target(reference)
            .and_then(|(target, tag)| self.send(artifact, &target.name, Some(&tag)).map(drop));
        diagnostics.report(pushed)
    }

    /// Pushes the blobs and the manifest of an artifact to the repository `name`, under a tag or under
    /// its digest. Returns true if the registry lists it at its subject.
    fn send(&self, artifact: &OciArtifact, name: &str, tag: Option<&str>) -> Result<bool, Fatal> {
        let repository = self.repository(name)?;
        // Before the manifest: a registry may refuse one whose blobs it does not have.
        for blob in [&artifact.layer, &artifact.config] {
            repository.push_blob(&blob.descriptor, || in_file(&blob.content))?;
        }
        repository.push_manifest(&artifact.descriptor, tag, &artifact.manifest)
    }

    /// Returns the repository and the tag to push to.
    fn target(&self, reference: &str) -> Result<(Reference, String), Fatal> {
        if self.access.offline {
            let message = format!("cannot push `{reference}` with --offline");
            return Err(failure(Code::Offline, message, "run the command without `--offline`"));
        }
        let reference = Reference::parse(reference)?;
        let tag = reference.tag.clone().unwrap_or_default();
        Ok((reference, tag))
    }
    /// Pulls the only layer of the media type `layer_type` of an artifact, of at most `limit` bytes;
    /// mirrors are used as for bundles.
    ///
    /// `None` if there is no such artifact or layer, or the layer is larger.
    pub fn pull_artifact(
        &self,
        reference: &str,
        layer_type: &str,
        limit: u64,
        diagnostics: &mut Diagnostics,
    ) -> Option<PulledArtifact> {
        // `[[verify]]` is about images: a chart is compared with what is compiled.
        let located =
            Reference::parse(reference).and_then(|parsed| self.locate(&parsed, diagnostics));
        let Located { blobs, root, .. } = diagnostics.report(located)?;
        let other = |what: String| {
            let hint = "pass the reference of a chart, as `push` prints it";
            failure(Code::ChartUnreadable, format!("`{reference}` {what}"), hint)
        };

        let pulled = read_document(blobs.as_ref(), &root).and_then(|document| {
            let Document::Manifest(manifest) = document else {
                return Err(other("is an index, not a chart".to_owned()));
            };
            let is_wanted = |layer: &&Descriptor| layer.media_type().as_ref() == layer_type;
            let layers: Vec<&Descriptor> = manifest.layers().iter().filter(is_wanted).collect();
            let [layer] = layers.as_slice() else {
                return Err(other(format!("has {} layers of type {layer_type}", layers.len())));
            };
            if layer.size() > limit {
                return Err(other("is too large for a chart".to_owned()));
            }

            blobs.prepare(&[(*layer).clone()])?;
            let mut content = Vec::new();
            image::copy(blobs.as_ref(), layer, &mut content)?;
            Ok(PulledArtifact { digest: root.digest().to_string(), layer: content })
        });
        diagnostics.report(pulled)
    }
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
            // A configuration that says nothing.
            let config = Blob::new((MediaType::EmptyJSON.as_ref(), b"{}".to_vec()));
            let more = json!({
                "artifactType": media_type,
                "subject": subject.descriptor,
                "annotations": annotations,
            });
            let artifact = OciArtifact::of(config, Blob::new((media_type, content()?)), more);
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

/// An artifact that was pulled by digest, checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PulledArtifact {
    /// Digest of the manifest.
    pub digest: String,
    /// Content of the layer.
    pub layer: Vec<u8>,
}

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

/// Returns a temporary file with the content.
fn in_file(content: &[u8]) -> Result<File, Fatal> {
    let file = tempfile::tempfile();
    let written = file.and_then(|mut file| file.write_all(content).map(|()| file));
    written.map_err(|error| unreadable("a temporary file", &error))
}
