//! Copies of images: into an OCI image layout, or to another registry.

mod layout;

use super::image::{self, Blobs, Document, read_document};
use super::reference::Reference;
use super::signature::cosign::signature_tag;
use super::{Pin, Signature, SourceResolver, failure};
use crate::diag::{Code, Diagnostics, Fatal};
use layout::LayoutWriter;
use oci_spec::image::{Descriptor, Digest, ImageManifest, MediaType};
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Seek as _, SeekFrom};
use std::path::Path;
use std::str::FromStr as _;

/// The result of copying.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Vendored {
    /// Images in all.
    pub images: usize,
    /// Blobs that were not there before.
    pub copied: usize,
    /// Their size in bytes.
    pub bytes: u64,
}

/// One image, ready to be copied.
struct Image<'s> {
    reference: Reference,
    blobs: Box<dyn Blobs + 's>,
    /// All that it consists of, in the order of pushes: registries reject manifests whose blobs they do
    /// not have, and indexes whose manifests they do not have.
    parts: Vec<(Descriptor, Role)>,
}

/// The role of a part: its place decides that, not the media type that others gave it.
enum Role {
    /// A configuration or a layer.
    Blob,
    /// A manifest, or an index, by digest only: the signature is of the index of the image.
    Manifest,
    /// The manifest of the image, and its tag.
    Image(Option<String>),
    /// A signature that is found by this tag.
    TaggedSignature(String),
    /// A signature that refers to a subject, and its entry in an index of referrers.
    Referrer(Digest, Json),
}

impl Role {
    fn tag(&self) -> Option<&str> {
        match self {
            Role::Image(tag) => tag.as_deref(),
            Role::TaggedSignature(tag) => Some(tag),
            Role::Blob | Role::Manifest | Role::Referrer(..) => None,
        }
    }
}

impl SourceResolver {
    /// Copies images into the layout in `folder`, relative to the configuration. Other images in
    /// the layout are kept.
    ///
    /// # Errors
    /// If an image cannot be read, or the directory is not a layout or cannot be written. Images
    /// before the failed one have been copied.
    pub fn vendor_to_layout(
        &self,
        images: &[Pin<'_>],
        folder: &Path,
        diagnostics: &mut Diagnostics,
    ) -> Result<Vendored, Fatal> {
        let mut writer =
            LayoutWriter::open(&self.base.join(folder), &folder.display().to_string())?;
        let copied = self.copy_to(images, &mut writer, diagnostics);
        // Finish even after a failure, so that the images copied before it can be found.
        let finished = writer.finish();
        copied.and_then(|done| finished.map(|()| done))
    }

    fn copy_to(
        &self,
        images: &[Pin<'_>],
        writer: &mut LayoutWriter,
        diagnostics: &mut Diagnostics,
    ) -> Result<Vendored, Fatal> {
        let mut done = Vendored { images: images.len(), ..Vendored::default() };
        for pin in images {
            let image = self.image(*pin, diagnostics)?;
            for (part, role) in &image.parts {
                if writer.add(part, || image.checked(part, self))? {
                    done.copied += 1;
                    done.bytes += part.size();
                }
                if !matches!(role, Role::Blob | Role::Manifest) {
                    let name = role.tag().map(|tag| format!("{}:{tag}", image.reference.name));
                    writer.name(part, name.as_deref());
                }
            }
        }
        Ok(done)
    }

    /// Copies images to repositories below `start`, for example `registry.example.com/mirror`.
    ///
    /// # Errors
    /// If an image cannot be read, or the registry rejects it.
    #[cfg(feature = "registry")]
    pub fn vendor_to_registry(
        &self,
        images: &[Pin<'_>],
        start: &str,
        diagnostics: &mut Diagnostics,
    ) -> Result<Vendored, Fatal> {
        let mut done = Vendored { images: images.len(), ..Vendored::default() };
        for pin in images {
            let image = self.image(*pin, diagnostics)?;
            let path = image.reference.name.split_once('/').map_or("", |(_, path)| path);
            let target = Reference::parse(&format!("{start}/{path}"))?;
            let repository = self.repository(&target.name)?;
            for (part, role) in &image.parts {
                if matches!(role, Role::Blob) {
                    if repository.push_blob(part, || image.checked(part, self))? {
                        done.copied += 1;
                        done.bytes += part.size();
                    }
                    continue;
                }
                // Signatures that the mirror has under the tag stay: locked builds read by digest.
                let tag = match role {
                    Role::TaggedSignature(tag) if repository.tag_digest(tag)?.is_some() => None,
                    _ => role.tag(),
                };
                let bytes = image::read_small(image.blobs.as_ref(), part)?;
                let is_listed = repository.push_manifest(part, tag, &bytes)?;
                if let (Role::Referrer(subject, entry), false) = (role, is_listed) {
                    repository.tag_referrer(subject, entry.clone())?;
                }
            }
        }
        Ok(done)
    }

    fn image(&self, pin: Pin<'_>, diagnostics: &mut Diagnostics) -> Result<Image<'_>, Fatal> {
        let Pin { reference, digest, .. } = pin;
        let opened = self.open(reference, Some(pin), diagnostics)?;
        let document = read_document(opened.blobs.as_ref(), &opened.root)?;
        let Document::Manifest(manifest) = document else {
            let message = format!("`{reference}` is locked to an index, {digest}, not to an image");
            return Err(failure(Code::InvalidLayout, message, "run `bundle2chart lock --upgrade`"));
        };
        let blobs = opened.blobs.as_ref();
        let reference = Reference::parse(reference)?;
        let mut needed = blobs_of(&manifest);
        let mut seen = BTreeSet::new();
        needed.retain(|blob| seen.insert(blob.digest().to_string()));
        blobs.prepare(&needed)?;
        let mut parts = as_blobs(needed);
        parts.push((opened.root.clone(), Role::Image(reference.tag.clone())));
        if let Some(signature) = &opened.signature {
            parts.extend(parts_of(signature, &opened.root, blobs)?);
        }
        Ok(Image { reference, blobs: opened.blobs, parts })
    }
}

/// Returns the parts of a signature of the image `root`, and of the index that it is of.
fn parts_of(
    signature: &Signature,
    root: &Descriptor,
    blobs: &dyn Blobs,
) -> Result<Vec<(Descriptor, Role)>, Fatal> {
    let descriptor = |digest: &str| match Digest::from_str(digest) {
        Ok(digest) => blobs.find(&digest),
        Err(_) => Ok(None),
    };
    let Some(mut manifest) = descriptor(&signature.manifest)? else { return Ok(Vec::new()) };
    let Document::Manifest(document) = read_document(blobs, &manifest)? else {
        return Ok(Vec::new());
    };
    // A descriptor by digest lacks the type, by which readers of a layout find referrers.
    manifest.set_artifact_type(document.artifact_type().clone());
    let role = match document.subject() {
        None => Role::TaggedSignature(signature_tag(&signature.signed)),
        Some(subject) => {
            let annotations = document.annotations().iter().flatten().collect::<BTreeMap<_, _>>();
            let entry = json!({
                "mediaType": MediaType::ImageManifest.to_string(),
                "digest": manifest.digest(),
                "size": manifest.size(),
                "artifactType": document.artifact_type(),
                "annotations": annotations,
            });
            Role::Referrer(subject.digest().clone(), entry)
        }
    };

    let mut parts = as_blobs(blobs_of(&document));
    if signature.signed != root.digest().as_ref()
        && let Some(signed) = descriptor(&signature.signed)?
    {
        parts.extend(in_order_of_pushes(signed, blobs)?);
    }
    parts.push((manifest, role));
    Ok(parts)
}

/// Returns the configuration and the layers of an image.
fn blobs_of(manifest: &ImageManifest) -> Vec<Descriptor> {
    [manifest.config()].into_iter().chain(manifest.layers()).cloned().collect()
}

fn as_blobs(blobs: Vec<Descriptor>) -> Vec<(Descriptor, Role)> {
    blobs.into_iter().map(|blob| (blob, Role::Blob)).collect()
}

/// Returns what an index consists of, for all platforms: blobs before the manifests that name them, and
/// the index last.
fn in_order_of_pushes(
    index: Descriptor,
    blobs: &dyn Blobs,
) -> Result<Vec<(Descriptor, Role)>, Fatal> {
    let (mut unread, mut found) = (vec![index], Vec::new());
    while let Some(descriptor) = unread.pop() {
        let document = read_document(blobs, &descriptor)?;
        found.push((descriptor, Role::Manifest));
        match document {
            Document::Index(index) => unread.extend(index.manifests().iter().cloned()),
            Document::Manifest(manifest) => {
                let parts = blobs_of(&manifest);
                blobs.prepare(&parts)?;
                found.extend(as_blobs(parts));
            }
        }
    }
    // Each document was found before its parts.
    found.reverse();
    Ok(found)
}

impl Image<'_> {
    /// Returns a temporary file with a blob, at its start, after it was compared with its
    /// descriptor.
    fn checked(&self, part: &Descriptor, sources: &SourceResolver) -> Result<File, Fatal> {
        let name = format!("the blob {}", part.digest());
        let unwritable = |error: io::Error| super::unreadable(&name, &error);
        let mut file = tempfile::tempfile().map_err(unwritable)?;
        image::copy(self.blobs.as_ref(), part, &mut file)?;
        sources.access.tell(1, || format!("{}: copied", part.digest()));
        file.seek(SeekFrom::Start(0)).map_err(unwritable)?;
        Ok(file)
    }
}
