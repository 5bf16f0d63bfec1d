//! Signatures that are attached to an image in a registry: by a tag, or as referrers (OCI distribution
//! specification 1.1, with its tag for registries without the API).

use super::super::image::media_type_of;
use super::super::signature::{BUNDLE_TYPE, signature_tag};
use super::failure::Failure;
use super::referrers::fallback_tag;
use super::{Repository, Request};
use crate::diag::{Code, Diagnostic, Fatal};
use oci_spec::image::{Descriptor, Digest, ImageIndex, MediaType};

impl Repository<'_> {
    /// Returns the manifest of the tag for signatures; none if there is no such tag.
    pub(super) fn signatures_by_tag(&self, of: &Digest) -> Result<Vec<Descriptor>, Fatal> {
        let found = self.tagged(&signature_tag(of), of)?;
        Ok(found.into_iter().map(|(descriptor, _)| descriptor).collect())
    }

    /// Returns the referrers that are bundles of sigstore.
    pub(super) fn signatures_by_subject(&self, of: &Digest) -> Result<Vec<Descriptor>, Fatal> {
        self.require_network(of)?;
        let slot = self.client.slots.take();
        let answer = self.with_retries(|| {
            let response = self.send(&Request::get(
                &format!("referrers/{of}"),
                vec![("accept", MediaType::ImageIndex.to_string())],
            ))?;
            self.read_body(response).map(|body| body.bytes)
        });
        drop(slot);
        let index = match answer {
            Ok(bytes) => serde_json::from_slice::<ImageIndex>(&bytes).ok(),
            // Registries without the API deny it, or do not know the path.
            Err(Failure::NotFound(_) | Failure::Refused(_) | Failure::Denied(..)) => None,
            Err(failure) => return Err(failure.diagnostic(&self.host.name).into()),
        };
        let index = match index {
            Some(index) => Some(index),
            None => {
                let found = self.tagged(&fallback_tag(of), of)?;
                found.and_then(|(_, bytes)| serde_json::from_slice(&bytes).ok())
            }
        };

        let is_bundle = |entry: &&Descriptor| {
            let artifact = entry.artifact_type().as_ref().map(ToString::to_string);
            artifact.is_some_and(|artifact| artifact.starts_with(BUNDLE_TYPE))
        };
        let entries = index.as_ref().map(ImageIndex::manifests).into_iter().flatten();
        Ok(entries.filter(is_bundle).cloned().collect())
    }

    /// Fetches the manifest of a tag into the cache; `None` if there is no such tag.
    fn tagged(&self, tag: &str, of: &Digest) -> Result<Option<(Descriptor, Vec<u8>)>, Fatal> {
        self.require_network(of)?;
        let _slot = self.client.slots.take();
        match self.with_retries(|| self.fetch_manifest(tag, None, false)) {
            Ok((descriptor, bytes)) => {
                self.client.cache.store(descriptor.digest(), &bytes)?;
                Ok(media_type_of(None, &bytes).map(|_| (descriptor, bytes)))
            }
            Err(Failure::NotFound(_)) => Ok(None),
            Err(failure) => Err(failure.diagnostic(&self.host.name).into()),
        }
    }

    /// Signatures that bundles.lock does not record are only known to the registry.
    fn require_network(&self, of: &Digest) -> Result<(), Fatal> {
        if !self.client.access.offline {
            return Ok(());
        }
        let message = format!(
            "cannot look for signatures of `{}@{of}` with --offline: bundles.lock records none",
            self.shown()
        );
        let hint = "run `bundle2chart build` once without `--offline` and commit bundles.lock";
        Err(Diagnostic::error(Code::Offline, message).hint(hint).into())
    }
}
