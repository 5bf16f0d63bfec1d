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

impl Vendored {
    fn count(&mut self, descriptor: &Descriptor, was_copied: bool) {
        if was_copied {
            self.copied += 1;
            self.bytes += descriptor.size();
        }
    }
}

/// One image, ready to be copied.
struct Image<'s> {
    reference: Reference,
    blobs: Box<dyn Blobs + 's>,
    manifest: Descriptor,
    /// Configuration and layers, each once.
    parts: Vec<Descriptor>,
    signature: Option<AttachedSignature>,
}

/// The verified signature of an image.
struct AttachedSignature {
    manifest: Descriptor,
    /// Configuration and layers of its manifest.
    parts: Vec<Descriptor>,
    /// The tag by which it is found, unless it is a referrer.
    tag: Option<String>,
    /// Its subject, and its entry in an index of referrers, if it is a referrer.
    referrer: Option<(Digest, Json)>,
    /// If the index of the image is signed: all that it consists of, in the order of pushes. Registries
    /// reject an index whose manifests they do not have.
    index: Vec<Descriptor>,
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
            let mut add = |parts: &[Descriptor], manifest: &Descriptor, tag: Option<&str>| {
                for part in parts.iter().chain([manifest]) {
                    let copied = writer.add(part, || image.checked(part, self))?;
                    done.count(part, copied);
                }
                let name = tag.map(|tag| format!("{}:{tag}", image.reference.name));
                writer.name(manifest, name.as_deref());
                Ok::<(), Fatal>(())
            };

            add(&image.parts, &image.manifest, image.reference.tag.as_deref())?;
            if let Some(signature) = &image.signature {
                let parts = [signature.parts.as_slice(), &signature.index].concat();
                add(&parts, &signature.manifest, signature.tag.as_deref())?;
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
            // The place of a part decides what it is, not the media type that others gave it.
            let mut push_blob = |part: &Descriptor| -> Result<(), Fatal> {
                let copied = repository.push_blob(part, || image.checked(part, self))?;
                done.count(part, copied);
                Ok(())
            };
            // Returns true if the registry lists a manifest at its subject.
            let push_manifest = |part: &Descriptor, tag: Option<&str>| {
                let bytes = image::read_small(image.blobs.as_ref(), part)?;
                repository.push_manifest(part, tag, &bytes)
            };

            image.parts.iter().try_for_each(&mut push_blob)?;
            push_manifest(&image.manifest, image.reference.tag.as_deref())?;

            let Some(signature) = &image.signature else { continue };
            signature.parts.iter().try_for_each(&mut push_blob)?;
            // Signatures that the mirror has under the tag stay: locked builds read by digest.
            let tag = match signature.tag.as_deref() {
                Some(tag) if repository.tag_digest(tag)?.is_none() => Some(tag),
                _ => None,
            };
            for part in &signature.index {
                match image::is_manifest(part) {
                    true => drop(push_manifest(part, None)?),
                    false => push_blob(part)?,
                }
            }
            let is_listed = push_manifest(&signature.manifest, tag)?;
            if let (Some((subject, entry)), false) = (&signature.referrer, is_listed) {
                repository.tag_referrer(subject, entry.clone())?;
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
        let mut seen = BTreeSet::new();
        let mut parts = parts_of(&manifest);
        parts.retain(|part| seen.insert(part.digest().to_string()));
        opened.blobs.prepare(&parts)?;
        let blobs = opened.blobs.as_ref();
        let find = |signature| AttachedSignature::find(signature, &opened.root, blobs);
        let signature = opened.signature.as_ref().map(find).transpose()?.flatten();

        Ok(Image {
            reference: Reference::parse(reference)?,
            blobs: opened.blobs,
            manifest: opened.root,
            parts,
            signature,
        })
    }
}

impl AttachedSignature {
    /// Returns the parts of a signature of the image `root`, to copy them.
    fn find(
        signature: &Signature,
        root: &Descriptor,
        blobs: &dyn Blobs,
    ) -> Result<Option<Self>, Fatal> {
        let descriptor = |digest: &str| match Digest::from_str(digest) {
            Ok(digest) => blobs.find(&digest),
            Err(_) => Ok(None),
        };
        let Some(mut manifest) = descriptor(&signature.manifest)? else { return Ok(None) };
        let Document::Manifest(document) = read_document(blobs, &manifest)? else {
            return Ok(None);
        };
        // A descriptor by digest lacks the type, by which readers of a layout find referrers.
        manifest.set_artifact_type(document.artifact_type().clone());

        let tag = document.subject().is_none().then(|| signature_tag(&signature.signed));
        let referrer = document.subject().as_ref().map(|subject| {
            let annotations = document.annotations().iter().flatten().collect::<BTreeMap<_, _>>();
            let entry = json!({
                "mediaType": MediaType::ImageManifest.to_string(),
                "digest": manifest.digest(),
                "size": manifest.size(),
                "artifactType": document.artifact_type(),
                "annotations": annotations,
            });
            (subject.digest().clone(), entry)
        });

        let mut index = Vec::new();
        if signature.signed != root.digest().as_ref()
            && let Some(signed) = descriptor(&signature.signed)?
        {
            index = in_order_of_pushes(signed, blobs)?;
        }

        let parts = parts_of(&document);
        Ok(Some(AttachedSignature { manifest, parts, tag, referrer, index }))
    }
}

/// Returns the configuration and the layers of an image.
fn parts_of(manifest: &ImageManifest) -> Vec<Descriptor> {
    [manifest.config()].into_iter().chain(manifest.layers()).cloned().collect()
}

/// Returns what an index consists of, for all platforms: blobs before the manifests that name them, and
/// the index last.
fn in_order_of_pushes(index: Descriptor, blobs: &dyn Blobs) -> Result<Vec<Descriptor>, Fatal> {
    let (mut unread, mut found) = (vec![index], Vec::new());
    while let Some(descriptor) = unread.pop() {
        let document = read_document(blobs, &descriptor)?;
        found.push(descriptor);
        match document {
            Document::Index(index) => unread.extend(index.manifests().iter().cloned()),
            Document::Manifest(manifest) => {
                let parts = parts_of(&manifest);
                blobs.prepare(&parts)?;
                found.extend(parts);
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
