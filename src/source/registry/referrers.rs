//! Manifests that are attached to another one: the referrers API, and the tag schema of registries
//! without it. Signatures of images are referrers, or have a tag.
//!
//! <https://github.com/opencontainers/distribution-spec/blob/main/spec.md#listing-referrers>

use super::Repository;
use super::failure::{Failure, if_found};
use super::http::Request;
use crate::diag::{Code, Fatal};
use crate::digest::descriptor_of;
use crate::failure;
use crate::image::media_type_of;
use crate::signature::cosign::signature_tag;
use crate::signature::{Attachment, may_have_signatures};
use oci_spec::image::{Descriptor, Digest, MediaType};
use serde::Deserialize;
use serde_json::{Value as Json, json};

#[derive(Deserialize)]
struct Index {
    #[serde(default)]
    manifests: Vec<Json>,
}

impl Repository<'_> {
    /// Returns the descriptors of the manifests that are attached to `subject`. With `push`, asks for the
    /// permission to push as well, because that follows.
    ///
    /// # Errors
    /// If the registry does not answer, or denies both the API and the tag.
    pub(crate) fn referrers(&self, subject: &Digest, push: bool) -> Result<Vec<Json>, Fatal> {
        self.with_retries(String::new, || {
            match self.index(&format!("referrers/{subject}"), push) {
                Ok(Some(index)) => return Ok(index.manifests),
                // Registries without the API know no such path, or no such kind of path, or deny it.
                Ok(None) | Err(Failure::Refused(_) | Failure::Denied(..)) => {}
                Err(failure) => return Err(failure),
            }
            let index = self.index(&format!("manifests/{}", fallback_tag(subject)), push)?;
            Ok(index.map(|index| index.manifests).unwrap_or_default())
        })
    }

    /// Adds the descriptor of an attached manifest to the index at the tag of `subject`, for registries
    /// without the API.
    pub(crate) fn tag_referrer(&self, subject: &Digest, descriptor: Json) -> Result<(), Fatal> {
        let mut manifests = self.referrers(subject, true)?;
        // A second push of the same signature must not list it twice.
        manifests.retain(|other| other["digest"] != descriptor["digest"]);
        manifests.push(descriptor);
        let index = json!({
            "schemaVersion": 2,
            "mediaType": MediaType::ImageIndex.to_string(),
            "manifests": manifests,
        });
        let bytes = index.to_string().into_bytes();
        let descriptor = descriptor_of(MediaType::ImageIndex, &bytes);
        self.push_manifest(&descriptor, Some(&fallback_tag(subject)), &bytes).map(|_| ())
    }

    /// Returns the manifest of the tag for signatures, if there is one, or the referrers that may have
    /// signatures.
    pub(super) fn attached_signatures(
        &self,
        of: &Digest,
        attachment: Attachment,
    ) -> Result<Vec<Descriptor>, Fatal> {
        // Signatures that bundles.lock does not record are only known to the registry.
        if self.sources.access.offline {
            let message = format!(
                "cannot look for signatures of `{}@{of}` with --offline: bundles.lock records none",
                self.shown()
            );
            let hint = "run `bundle2chart build` once without `--offline` and commit bundles.lock";
            return Err(failure(Code::Offline, message, hint));
        }
        if attachment == Attachment::Tag {
            let found = self.tagged(&signature_tag(of.as_ref()), false)?;
            let Some((descriptor, bytes)) = found else { return Ok(Vec::new()) };
            self.client.cache.store(descriptor.digest(), &bytes)?;
            return Ok(media_type_of(None, &bytes).map(|_| descriptor).into_iter().collect());
        }

        let found = self.referrers(of, false)?.into_iter();
        // An image may have many SBOMs and attestations as well, and each would cost a request.
        let has_type =
            |entry: &Json| entry["artifactType"].as_str().is_some_and(may_have_signatures);
        Ok(found.filter(has_type).filter_map(|entry| serde_json::from_value(entry).ok()).collect())
    }

    /// Returns an index, `None` if there is none.
    fn index(&self, path: &str, push: bool) -> Result<Option<Index>, Failure> {
        let request = Request::get(vec![("accept", MediaType::ImageIndex.to_string())]);
        let response = if_found(self.send(path, push, &request))?;
        let Some(mut response) = response else { return Ok(None) };
        self.read_json(&mut response, "manifest", "no index").map(Some)
    }
}

/// Returns the tag of the index of a subject in registries without the API.
fn fallback_tag(subject: &Digest) -> String {
    // A tag has at most 128 characters, fewer than a SHA-512 digest: the distribution specification
    // cuts the digest, in "Referrers Tag Schema".
    let hex = subject.digest();
    format!("{}-{}", subject.algorithm(), &hex[..hex.len().min(64)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_of_referrers_are_cut_as_the_specification_says() {
        for (algorithm, length, kept) in [("sha256", 64, 64), ("sha512", 128, 64)] {
            let digest: Digest =
                format!("{algorithm}:{}", "a".repeat(length)).parse().expect("one");
            assert_eq!(fallback_tag(&digest), format!("{algorithm}-{}", "a".repeat(kept)));
        }
    }
}
