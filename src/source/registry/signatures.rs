//! Signatures that are attached to an image in a registry: by a tag, or as referrers.

use super::super::image::media_type_of;
use super::super::signature::cosign::signature_tag;
use super::super::signature::may_have_signatures;
use super::Repository;
use crate::diag::{Code, Fatal};
use crate::failure;
use oci_spec::image::{Descriptor, Digest};
use serde_json::Value as Json;

impl Repository<'_> {
    /// Returns the manifest of the tag for signatures; none if there is no such tag.
    pub(super) fn signatures_by_tag(&self, of: &Digest) -> Result<Vec<Descriptor>, Fatal> {
        self.require_network(of)?;
        let found = self.tagged(&signature_tag(of.as_ref()), false)?;
        let Some((descriptor, bytes)) = found else { return Ok(Vec::new()) };
        self.client.cache.store(descriptor.digest(), &bytes)?;
        Ok(media_type_of(None, &bytes).map(|_| descriptor).into_iter().collect())
    }

    /// Returns the referrers that may have signatures.
    pub(super) fn signatures_by_subject(&self, of: &Digest) -> Result<Vec<Descriptor>, Fatal> {
        self.require_network(of)?;
        let found = self.referrers(of, false)?.into_iter();
        // An image may have many SBOMs and attestations as well, and each would cost a request.
        let has_type =
            |entry: &Json| entry["artifactType"].as_str().is_some_and(may_have_signatures);
        Ok(found.filter(has_type).filter_map(|entry| serde_json::from_value(entry).ok()).collect())
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
        Err(failure(Code::Offline, message, hint))
    }
}
