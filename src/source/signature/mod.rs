//! Signatures of images, as cosign writes them: which an image must have (`policy`), and what they
//! say (`simple_signing`, `bundle`), signed with a key or by an identity with a certificate
//! (`keyless`). `registry/referrers` and the layout find them.
//!
//! Signatures are looked for where the image was found, and verified for the reference before
//! mirrors. bundles.lock records the manifest that contains the signature, so that a locked build
//! reads it by digest: from the cache, a layout or a mirror.

mod bundle;
pub mod cosign;
#[cfg(feature = "keyless")]
mod keyless;
#[cfg(not(feature = "keyless"))]
#[path = "keyless_disabled.rs"]
mod keyless;
mod policy;
#[cfg(feature = "registry")]
mod public_key;
#[cfg(not(feature = "registry"))]
#[path = "public_key_disabled.rs"]
mod public_key;
mod signers;
mod simple_signing;

pub(super) use policy::Policy;
pub use signers::Signer;

use super::image::{self, Blobs, Document, choose_platform, read_document, read_small};
use super::reference::Reference;
use super::resolver::Located;
use super::{Pin, SourceResolver, failure};
use crate::config::Text;
use crate::diag::{Code, Diagnostic, Diagnostics, Fatal, Span, listed};
use cosign::{SIMPLE_SIGNING_TYPE, signature_tag};
use oci_spec::image::{Descriptor, Digest, MediaType};
use policy::{Rule, Table};
use public_key::PublicKey;
use signers::{Rejection, Signers};
use std::collections::{BTreeSet, HashMap};
use std::str::FromStr as _;

/// Media type of bundles of sigstore, without their version; the artifact type of referrers with
/// signatures.
const BUNDLE_TYPE: &str = "application/vnd.dev.sigstore.bundle";

/// Returns true if referrers of this artifact type may have signatures; their layers tell.
pub(super) fn may_have_signatures(artifact_type: &str) -> bool {
    // cosign 3.0.2 writes the type of the empty configuration into the index of referrers in registries
    // without their API, where that of the manifest belongs.
    artifact_type.starts_with(BUNDLE_TYPE) || artifact_type == MediaType::EmptyJSON.as_ref()
}

/// Signatures of one manifest that are verified: anyone who may push can add some.
const MOST_SIGNATURES: usize = 64;
/// Reasons that an error lists.
const MOST_REASONS: usize = 4;

/// A valid signature of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// Digest of the manifest that contains the signature.
    pub manifest: String,
    /// The signed digest: of the image's manifest, or of its index.
    pub signed: String,
    /// The key or identity that signed it.
    pub signer: Signer,
}

/// The two ways to attach signatures to an image in a registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Attachment {
    /// The manifest with the tag `sha256-HEX.sig`.
    Tag,
    /// Manifests whose subject is the image.
    Referrers,
}

/// The outcome for an image that may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verified {
    /// It has a valid signature.
    Signed,
    /// No `[[verify]]` table requires one.
    NotRequired,
}

/// The verification of one image.
struct Verifier<'v> {
    blobs: &'v dyn Blobs,
    signers: &'v Signers,
    /// The reference before mirrors.
    reference: &'v Reference,
    /// The manifest or index that the reference leads to.
    root: &'v Descriptor,
    /// Digest of the index that a locked manifest was picked from.
    index: Option<&'v str>,
    rejected: Rejected,
}

/// The signatures that were found and are not valid.
#[derive(Default)]
struct Rejected {
    reasons: Vec<Rejection>,
    /// A manifest of signatures that cannot be read.
    error: Option<Fatal>,
}

impl SourceResolver {
    /// Verifies the signature of the image that `reference` leads to now, without reading its layers;
    /// `None` after an error. Images that do not require a signature are not looked at.
    pub fn verify_image(&self, reference: &str, diagnostics: &mut Diagnostics) -> Option<Verified> {
        let parsed = diagnostics.report(Reference::parse(reference))?;
        let policy = diagnostics.report(self.policy())?;
        if policy.table(&parsed).is_none() {
            return Some(Verified::NotRequired);
        }
        let located = self.open(reference, None, diagnostics);
        diagnostics.report(located).map(|_| Verified::Signed)
    }

    /// Verifies the signature of an image as `[[verify]]` requires it, with the recorded one of `pin`
    /// first.
    ///
    /// Returns the signature that is valid; `None` if none is required.
    ///
    /// # Errors
    /// If no table allows the image, it has no valid signature, or signatures cannot be read.
    pub(super) fn verify(
        &self,
        reference: &Reference,
        located: &Located<'_>,
        pin: Option<Pin<'_>>,
    ) -> Result<Option<Signature>, Fatal> {
        let Some(Table { rule, span: table, .. }) = self.policy()?.table(reference) else {
            return Ok(None);
        };
        let Rule::Signed(signers) = rule else { return Err(rejected(reference, table)) };
        let (blobs, root) = (located.blobs.as_ref(), &located.root);
        let (index, rejected) = (pin.and_then(|pin| pin.index), Rejected::default());
        let mut verifier = Verifier { blobs, signers, reference, root, index, rejected };

        if let Some(recorded) = pin.and_then(|pin| pin.signature)
            && let Some(signature) = verifier.recorded(recorded)?
        {
            return Ok(Some(signature));
        }
        let stale = std::mem::take(&mut verifier.rejected);
        if let Some(signature) = verifier.discovered()? {
            return Ok(Some(signature));
        }

        let image = format!("{}@{}", reference.name, root.digest());
        let mut rejected = verifier.rejected;
        // The recorded signature is usually among those that are attached.
        if rejected.reasons.is_empty() && rejected.error.is_none() {
            rejected = stale;
        }
        let error = match (rejected.reasons.as_slice(), rejected.error) {
            ([], Some(error)) => return Err(error),
            ([], None) => unsigned(&image, root.digest()),
            (found, _) => invalid(&image, signers, found),
        };
        Err(error.related(table, "required by this table").into())
    }
}

impl Verifier<'_> {
    /// Verifies the signature that bundles.lock records; `None` if it is not there any more or not
    /// valid, for example with other keys.
    fn recorded(&mut self, recorded: &Signature) -> Result<Option<Signature>, Fatal> {
        let (Ok(manifest), Ok(signed)) =
            (Digest::from_str(&recorded.manifest), Digest::from_str(&recorded.signed))
        else {
            return Ok(None);
        };
        let is_of_image =
            signed == *self.root.digest() || self.linked()?.is_some_and(|linked| linked == signed);
        if !is_of_image {
            return Ok(None);
        }
        let found = self.find(&manifest)?;
        Ok(found.and_then(|descriptor| self.manifest(&descriptor, &signed)))
    }

    /// Returns the descriptor of a manifest or an index; `None` if it is not there any more.
    fn find(&self, digest: &Digest) -> Result<Option<Descriptor>, Fatal> {
        match self.blobs.find(digest) {
            Err(error) if error.code == Code::ImageNotFound => Ok(None),
            found => found,
        }
    }

    /// Verifies the signatures that are attached to the image, and those of its index or of the
    /// platform in it.
    fn discovered(&mut self) -> Result<Option<Signature>, Fatal> {
        // The signatures of the image itself first: those of its index need more requests.
        for is_linked in [false, true] {
            let own = Some(self.root.digest().clone());
            let signed = if is_linked { self.linked()? } else { own };
            let Some(signed) = &signed else { continue };
            for attachment in [Attachment::Tag, Attachment::Referrers] {
                let found = self.blobs.signatures(signed, attachment)?;
                for descriptor in found.iter().take(MOST_SIGNATURES) {
                    if let Some(signature) = self.manifest(descriptor, signed) {
                        return Ok(Some(signature));
                    }
                }
            }
        }
        Ok(None)
    }

    /// Returns the other digest that identifies the image: for an index that of the platform that is
    /// read, for a locked manifest that of the index that it was picked from, if that contains it.
    fn linked(&self) -> Result<Option<Digest>, Fatal> {
        let root = self.root;
        if let Some(index) = self.index.and_then(|index| Digest::from_str(index).ok()) {
            let Some(descriptor) = self.find(&index)? else { return Ok(None) };
            let document = read_document(self.blobs, &descriptor)?;
            let Document::Index(document) = document else { return Ok(None) };
            let contains = document.manifests().iter().any(|m| m.digest() == root.digest());
            return Ok(contains.then_some(index));
        }

        match read_document(self.blobs, root)? {
            Document::Index(document) => {
                Ok(choose_platform(document.manifests()).map(|chosen| chosen.digest().clone()))
            }
            Document::Manifest(_) => Ok(None),
        }
    }

    /// Returns the first valid signature of `signed` in a manifest.
    fn manifest(&mut self, descriptor: &Descriptor, signed: &Digest) -> Option<Signature> {
        // One manifest that cannot be read does not hide a valid signature in another one.
        let signer = self.layers(descriptor, signed).unwrap_or_else(|error| {
            self.rejected.error.get_or_insert(error);
            None
        })?;
        Some(Signature {
            manifest: descriptor.digest().to_string(),
            signed: signed.to_string(),
            signer,
        })
    }

    /// Returns the signer of the first valid signature in the layers of a manifest.
    fn layers(
        &mut self,
        descriptor: &Descriptor,
        signed: &Digest,
    ) -> Result<Option<Signer>, Fatal> {
        let Document::Manifest(manifest) = read_document(self.blobs, descriptor)? else {
            return Ok(None);
        };
        let none = HashMap::new();
        for layer in manifest.layers().iter().take(MOST_SIGNATURES) {
            let media_type: &str = layer.media_type().as_ref();
            let verified = if media_type == SIMPLE_SIGNING_TYPE {
                let payload = read_small(self.blobs, layer)?;
                let annotations = layer.annotations().as_ref().unwrap_or(&none);
                simple_signing::verify(&payload, annotations, signed, self.reference, self.signers)
                    .map(Some)
            } else if media_type.starts_with(BUNDLE_TYPE) {
                bundle::verify(&read_small(self.blobs, layer)?, signed, self.signers)
            } else {
                continue;
            };
            match verified {
                // An attestation, which is no signature of the image.
                Ok(None) => {}
                Ok(signer) => return Ok(signer),
                Err(rejection) => self.rejected.reasons.push(rejection),
            }
        }
        Ok(None)
    }
}

/// Reports an image that a table with `require` rejects.
fn rejected(reference: &Reference, table: &Span) -> Fatal {
    let name = &reference.name;
    Diagnostic::error(
        Code::SignatureRequired,
        format!("no `[[verify]]` table says who signs `{name}`"),
    )
    .related(table, "required by this table")
    .hint(format!(
        "add [[verify]] prefix = \"{name}\", key = [\"FILE.pem\"], or identity, issuer and roots for \
            keyless signatures; or insecure = true to not verify it"
    ))
    .into()
}

/// Reports an image without signatures.
fn unsigned(image: &str, digest: &Digest) -> Diagnostic {
    let tag = signature_tag(digest.as_ref());
    let message = format!("`{image}` has no signature: no tag `{tag}` and no referrer has one");
    Diagnostic::error(Code::SignatureMissing, message).hint(format!(
        "check with `cosign tree {image}` that the vendor signs this image; if a mirror has it, \
            copy it again with its signatures; to not verify it, set insecure = true in a \
            [[verify]] table for it"
    ))
}

/// Reports an image of which no signature is valid.
fn invalid(image: &str, signers: &Signers, found: &[Rejection]) -> Diagnostic {
    let mut seen = BTreeSet::new();
    let reasons = found.iter().map(|Rejection(reason)| reason.as_str());
    let reasons: Vec<&str> = reasons.filter(|reason| seen.insert(*reason)).collect();
    let count = match found.len() {
        1 => "its signature is not valid".to_owned(),
        count => format!("none of its {count} signatures is valid"),
    };
    let message = format!(
        "`{image}`: {count} for {}: {}",
        signers.describe(),
        listed(&reasons, MOST_REASONS)
    );
    Diagnostic::error(Code::SignatureInvalid, message).hint(signers.hint(image))
}

/// Returns an error about a file of `[[verify]]`, at its key.
fn unusable(file: &Text, key: &str, why: &str, hint: &str) -> Fatal {
    let message = format!("cannot use `{}` as `{key}`: {why}", file.text.escape_debug());
    failure(Code::InvalidValue, message, hint).at(&file.span).into()
}

/// Describes a manifest by its bytes, as registries and layouts without a descriptor have it.
pub(super) fn describe(bytes: &[u8], digest: &Digest) -> Option<Descriptor> {
    let media_type = image::media_type_of(None, bytes)?;
    Some(Descriptor::new(media_type, bytes.len() as u64, digest.clone()))
}

#[cfg(test)]
mod tests;
