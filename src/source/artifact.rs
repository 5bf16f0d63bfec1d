//! OCI artifacts that are pushed and pulled: a configuration, a layer and a manifest, in memory.

pub(super) mod attachment;

use super::image::{self, Document, read_document};
use super::reference::Reference;
use super::resolver::{Located, SourceResolver};
use super::{digest_of, failure, unreadable};
use crate::diag::{Code, Diagnostic, Diagnostics, Fatal};
use oci_spec::image::{Descriptor, Digest, MediaType};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::str::FromStr as _;

/// An artifact with one layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OciArtifact {
    config: Blob,
    layer: Blob,
    /// The manifest.
    pub manifest: Vec<u8>,
    /// Digest of the manifest.
    pub digest: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Blob {
    media_type: String,
    content: Vec<u8>,
    digest: String,
}

impl Blob {
    fn new((media_type, content): (&str, Vec<u8>)) -> Self {
        let digest = digest_of(&content);
        Blob { media_type: media_type.to_owned(), content, digest }
    }

    fn to_json(&self) -> Json {
        let Blob { media_type, content, digest } = self;
        json!({ "mediaType": media_type, "digest": digest, "size": content.len() })
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
            "config": config.to_json(),
            "layers": [layer.to_json()],
        });
        if let (Json::Object(manifest), Json::Object(more)) = (&mut manifest, more) {
            manifest.extend(more);
            manifest.retain(|_, value| !value.is_null());
        }
        let manifest = manifest.to_string().into_bytes();
        OciArtifact { config, layer, digest: digest_of(&manifest), manifest }
    }

    /// Returns the descriptor of the manifest, which other manifests have.
    fn to_json(&self) -> Json {
        json!({
            "mediaType": MediaType::ImageManifest.to_string(),
            "digest": self.digest,
            "size": self.manifest.len(),
        })
    }

    /// Returns the digest of the layer.
    pub fn layer_digest(&self) -> &str {
        &self.layer.digest
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
        let found = self.target(reference).and_then(|(target, tag)| {
            let repository = self.client()?.repository(&target.name, &self.limits)?;
            repository.tag_digest(&tag)
        });
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
            .and_then(|(target, tag)| self.send(artifact, &target.name, Some(&tag)).map(|_| ()));
        diagnostics.report(pushed)
    }

    /// Pushes the blobs and the manifest of an artifact to the repository `name`, under a tag or under
    /// its digest. Returns true if the registry lists it at its subject.
    fn send(&self, artifact: &OciArtifact, name: &str, tag: Option<&str>) -> Result<bool, Fatal> {
        let repository = self.client()?.repository(name, &self.limits)?;
        // Before the manifest: a registry may refuse one whose blobs it does not have.
        for blob in [&artifact.layer, &artifact.config] {
            let descriptor = descriptor(&blob.media_type, &blob.content, &blob.digest)?;
            repository.push_blob(&descriptor, || in_file(&blob.content))?;
        }
        let manifest = MediaType::ImageManifest.to_string();
        let descriptor = descriptor(&manifest, &artifact.manifest, &artifact.digest)?;
        repository.push_manifest(&descriptor, tag, &artifact.manifest)
    }

    /// Returns the repository and the tag to push to.
    fn target(&self, reference: &str) -> Result<(Reference, String), Fatal> {
        if self.access.offline {
            let message = format!("cannot push `{reference}` with --offline");
            return Err(Diagnostic::error(Code::Offline, message)
                .hint("run the command without `--offline`")
                .into());
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

        let pulled = read_document(blobs.as_ref(), &root, &self.limits).and_then(|document| {
            let Document::Manifest(manifest) = document else {
                return Err(other("is an index, not a chart".to_owned()));
            };
            let is_wanted =
                |layer: &&Descriptor| layer.media_type().to_string().as_str() == layer_type;
            let layers: Vec<&Descriptor> = manifest.layers().iter().filter(is_wanted).collect();
            let [layer] = layers.as_slice() else {
                return Err(other(format!("has {} layers of type {layer_type}", layers.len())));
            };
            if layer.size() > limit {
                return Err(other("is too large for a chart".to_owned()));
            }

            blobs.prepare(&[(*layer).clone()])?;
            let mut content = Vec::new();
            let name = format!("the blob {}", layer.digest());
            image::copy(blobs.as_ref(), layer, &name, &mut content)?;
            Ok(PulledArtifact { digest: root.digest().to_string(), layer: content })
        });
        diagnostics.report(pulled)
    }
}

/// Returns the descriptor of a blob.
pub(super) fn descriptor(
    media_type: &str,
    content: &[u8],
    digest: &str,
) -> Result<Descriptor, Fatal> {
    let digest = parsed(digest)?;
    Ok(Descriptor::new(MediaType::from(media_type), content.len() as u64, digest))
}

fn parsed(digest: &str) -> Result<Digest, Fatal> {
    Digest::from_str(digest).map_err(|error| {
        let message = format!("cannot compute the digest: {error}");
        Diagnostic::error(Code::BlobMismatch, message).into()
    })
}

/// Returns a temporary file with the content, at its start.
fn in_file(content: &[u8]) -> Result<File, Fatal> {
    let write = || -> io::Result<File> {
        let mut file = tempfile::tempfile()?;
        file.write_all(content)?;
        file.seek(SeekFrom::Start(0))?;
        Ok(file)
    };
    write().map_err(|error| unreadable("a temporary file", &error))
}
