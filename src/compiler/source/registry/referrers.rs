//! Manifests that are attached to another one: the referrers API, and the tag schema of registries
//! without it.
//!
//! <https://github.com/opencontainers/distribution-spec/blob/main/spec.md#listing-referrers>

use super::failure::Failure;
use super::http::Content;
use super::retry::TimeLimited;
use super::{Repository, Request, broken, shown};
use crate::diag::Fatal;
use crate::source::digest::Hasher;
use crate::source::limits::in_bytes;
use oci_spec::image::{Descriptor, Digest, MediaType};
use serde::Deserialize;
use serde_json::{Value as Json, json};
use std::io::Read as _;
use std::str::FromStr as _;
use ureq::http::Method;

#[derive(Deserialize)]
struct Index {
    #[serde(default)]
    manifests: Vec<Json>,
}

impl Repository<'_> {
    /// Returns the descriptors of the manifests that are attached to `subject`.
    pub(in crate::source) fn referrers(&self, subject: &Digest) -> Result<Vec<Json>, Fatal> {
        let _slot = self.client.slots.take();
        let found = self.with_retries(|| {
            match self.index(&format!("referrers/{subject}")) {
                Ok(Some(index)) => return Ok(index.manifests),
                // Registries without the API know no such path, or no such kind of path.
                Ok(None) | Err(Failure::Refused(_)) => {}
                Err(failure) => return Err(failure),
            }
            let index = self.index(&format!("manifests/{}", fallback_tag(subject)))?;
            Ok(index.map(|index| index.manifests).unwrap_or_default())
        });
        found.map_err(|failure| failure.diagnostic(&self.host.name).into())
    }

    /// Adds the descriptor of an attached manifest to the index at the tag of `subject`, for registries
    /// without the API.
    pub(in crate::source) fn tag_referrer(
        &self,
        subject: &Digest,
        descriptor: Json,
    ) -> Result<(), Fatal> {
        let mut manifests = self.referrers(subject)?;
        manifests.retain(|other| other["digest"] != descriptor["digest"]);
        manifests.push(descriptor);
        let index = json!({
            "schemaVersion": 2,
            "mediaType": MediaType::ImageIndex.to_string(),
            "manifests": manifests,
        });
        let bytes = index.to_string().into_bytes();
        let mut hasher = Hasher::sha256();
        hasher.update(&bytes);
        let digest = Digest::from_str(&hasher.finish()).map_err(|error| {
            let message = format!("cannot compute the digest: {error}");
            Failure::Refused(message).diagnostic(&self.host.name)
        })?;
        let descriptor = Descriptor::new(MediaType::ImageIndex, bytes.len() as u64, digest);
        self.push_manifest(&descriptor, Some(&fallback_tag(subject)), &bytes).map(|_| ())
    }

    /// Returns an index, `None` if there is none.
    fn index(&self, path: &str) -> Result<Option<Index>, Failure> {
        let request = Request {
            method: Method::GET,
            path,
            headers: vec![("accept", MediaType::ImageIndex.to_string())],
            body: Content::None,
            // Attestations are attached right after a push.
            push: true,
        };
        let response = match self.send(&request) {
            Ok(response) => response,
            Err(Failure::NotFound(_)) => return Ok(None),
            Err(failure) => return Err(failure),
        };
        let place = shown(&response.from);
        let limit = self.limits.document_bytes;
        let mut bytes = Vec::new();
        let body = TimeLimited::new(response.body, self.client.network.timeout, limit);
        body.take(limit + 1).read_to_end(&mut bytes).map_err(|error| broken(&place, &error))?;
        if bytes.len() as u64 > limit {
            return Err(Failure::TooMuch(format!("{place} has more than {}", in_bytes(limit))));
        }
        let index = serde_json::from_slice(&bytes);
        index.map(Some).map_err(|_| Failure::Refused(format!("{place} returned no index")))
    }
}

/// Returns the tag of the index of a subject in registries without the API.
pub(super) fn fallback_tag(subject: &Digest) -> String {
    subject.to_string().replace(':', "-")
}
