//! OCI artifacts that are pushed and pulled: a configuration, a layer and a manifest, in memory.

pub(super) mod attachment;

use super::digest::descriptor_of;
use super::image::{self, Document, read_document};
use super::reference::Reference;
use super::resolver::{Located, SourceResolver};
use super::{failure, unreadable};
use crate::diag::{Code, Diagnostics, Fatal};
use oci_spec::image::{Descriptor, MediaType};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write as _;

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
        Self::of(Blob::new(config), Blob::new(layer), Json::Null, more)
    }

    /// Creates an artifact whose manifest also has a type and, after the layer, these entries.
    fn of(config: Blob, layer: Blob, artifact_type: Json, more: Json) -> Self {
        let mut manifest = json!({
            "schemaVersion": 2,
            "mediaType": MediaType::ImageManifest.to_string(),
            "artifactType": artifact_type,
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
}

/// An artifact that was pulled by digest, checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PulledArtifact {
    /// Digest of the manifest.
    pub digest: String,
    /// Content of the layer.
    pub layer: Vec<u8>,
}

impl SourceResolver {
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
}

/// Returns a temporary file with the content.
fn in_file(content: &[u8]) -> Result<File, Fatal> {
    let file = tempfile::tempfile();
    let written = file.and_then(|mut file| file.write_all(content).map(|()| file));
    written.map_err(|error| unreadable("a temporary file", &error))
}
