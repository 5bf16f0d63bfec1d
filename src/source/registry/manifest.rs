//! Manifests and indexes from a registry: the documents that say what blobs an image has.

use super::failure::{Failure, if_found};
use super::http::{Request, Response};
use super::retry::read_body;
use super::{Repository, accepted, broken, offline, offline_tag, shown};
use crate::diag::{Fatal, listed, quoted, suggest};
use crate::digest::Hasher;
use crate::image::media_type_of;
use crate::limits::{in_bytes, read_at_most};
use crate::reference::Reference;
use crate::signature::describe;
use oci_spec::image::{Descriptor, Digest};
use semver::Version;
use std::cmp::Reverse;
use std::io;
use std::str::FromStr as _;

/// A document in a response.
pub(super) struct Document {
    pub(super) bytes: Vec<u8>,
    /// Its address, for messages.
    pub(super) place: String,
    /// The digest in the headers.
    stated: Option<String>,
    content_type: Option<String>,
}

impl Repository<'_> {
    /// Fetches the manifest or index of a reference: by its digest if it has one, else by its tag.
    /// A digest in the cache is not requested from the registry.
    pub(crate) fn manifest(&self, reference: &Reference) -> Result<Descriptor, Fatal> {
        let wanted = match (&reference.digest, &reference.tag) {
            (Some(digest), _) => digest.to_string(),
            (None, tag) => tag.clone().unwrap_or_else(|| "latest".to_owned()),
        };
        let shown = format!(
            "{}{}{wanted}",
            self.shown(),
            if reference.digest.is_some() { '@' } else { ':' }
        );
        // Several bundles of one image ask at the same time, and one request answers all.
        let _claim = self.client.claims.take(&shown);
        if let Some(known) = self.client.outcome(&shown) {
            return known;
        }
        let found = self.find_manifest(reference, &wanted, &shown);
        self.client.remember(&shown, found.clone());
        found
    }

    /// Returns the digest that a tag has now, `None` if there is no such tag. Neither the cache nor
    /// earlier results are used. The request asks for the permission to push: registries deny
    /// repositories that do not exist yet to everyone else.
    pub(crate) fn tag_digest(&self, tag: &str) -> Result<Option<Digest>, Fatal> {
        Ok(self.tagged(tag, true)?.map(|(descriptor, _)| descriptor.digest().clone()))
    }

    /// Fetches the manifest that a tag has now, `None` if there is no such tag. Not as `manifest`: a
    /// missing tag is no error, and needs no hint about others.
    pub(super) fn tagged(
        &self,
        tag: &str,
        push: bool,
    ) -> Result<Option<(Descriptor, Vec<u8>)>, Fatal> {
        let _slot = self.host.slots.take();
        let found = if_found(self.with_retries(|| self.fetch_manifest(tag, None, push)));
        found.map_err(|failure| failure.diagnostic(&self.host.name).into())
    }

    fn find_manifest(
        &self,
        reference: &Reference,
        wanted: &str,
        shown: &str,
    ) -> Result<Descriptor, Fatal> {
        // Only digests are cached: a tag may move at any time.
        if let Some(digest) = &reference.digest
            && let Some((file, size)) =
                self.client.cache.open(digest, self.limits.document_bytes)?
            // What the cache cannot give in whole is requested from the registry.
            && let Ok(Some(bytes)) = read_at_most(file, size)
            && let Some(found) = describe(&bytes, digest)
        {
            self.client.access.tell(1, || format!("{digest}: in the cache"));
            return Ok(found);
        }

        self.client.access.tell(1, || format!("{shown}: from the registry {}", self.host.endpoint));
        let fetched = if self.client.access.offline {
            let missing = if reference.digest.is_some() { offline } else { offline_tag };
            Err(Failure::Reported(missing(shown)))
        } else {
            let _slot = self.host.slots.take();
            let digest = reference.digest.as_ref();
            self.with_retries(|| self.fetch_manifest(wanted, digest, false))
        };
        let (descriptor, bytes) = fetched.map_err(|failure| match failure {
            Failure::NotFound(codes) => {
                let message = format!("`{shown}` not found in the registry{codes}");
                let missing = Failure::NotFound(message).diagnostic(&self.host.name);
                match self.hint_for_missing(reference, wanted) {
                    Some(hint) => missing.hint(hint),
                    None => missing,
                }
            }
            other => other.diagnostic(&self.host.name),
        })?;

        self.client.cache.store(descriptor.digest(), &bytes)?;
        Ok(descriptor)
    }

    /// Returns what to do about a missing manifest: for a tag, the tags that the repository has; `None`
    /// if the registry does not list them.
    fn hint_for_missing(&self, reference: &Reference, wanted: &str) -> Option<String> {
        const MOST: usize = 8;
        if reference.digest.is_some() {
            let hint = "check whether the digest was deleted, or whether the mirror is incomplete";
            return Some(hint.to_owned());
        }
        // A hint only: a registry that does not list tags has said what is wrong already.
        let mut tags = self.tags().ok().filter(|tags| !tags.is_empty())?;
        // The newest versions first, then other tags.
        let version = |tag: &str| Version::parse(tag.strip_prefix('v').unwrap_or(tag)).ok();
        tags.sort_by_cached_key(|tag| (Reverse(version(tag)), tag.clone()));
        let names: Vec<&str> = tags.iter().map(String::as_str).collect();
        let all = listed(quoted(&tags), MOST);
        Some(match suggest::nearest(wanted, &names) {
            Some(near) => format!("did you mean `{}`? The tags are {all}", near.escape_debug()),
            None => format!("use one of the tags {all}"),
        })
    }

    /// Fetches a manifest by tag or digest; with `push`, with credentials that may push.
    pub(super) fn fetch_manifest(
        &self,
        wanted: &str,
        digest: Option<&Digest>,
        push: bool,
    ) -> Result<(Descriptor, Vec<u8>), Failure> {
        let path = format!("manifests/{wanted}");
        let response = self.send(&path, push, &Request::get(vec![accepted()]))?;
        let Document { bytes, place, stated, content_type } = self.read_body(response)?;

        let stated = stated.and_then(|stated| Digest::from_str(&stated).ok());
        // The header is optional in the distribution specification. Without it a tag's document
        // gets a sha256 digest, as in other clients.
        let expected = digest.or(stated.as_ref());
        let hasher = expected.map_or(Ok(Hasher::sha256()), Hasher::like);
        let found = hasher.map_err(Failure::Reported)?.of(&bytes);
        if let Some(expected) = expected.filter(|expected| **expected != found) {
            let message = match digest {
                Some(_) => format!("{place} has digest {found}"),
                None => format!("{place} has digest {found}, but the registry reports {expected}"),
            };
            return Err(Failure::Mismatch(message));
        }

        let Some(media_type) = media_type_of(content_type.as_deref(), &bytes) else {
            let kind = content_type.unwrap_or_default();
            let message =
                format!("{place} has media type `{}`, which is not an image", kind.escape_debug());
            return Err(Failure::Refused(message));
        };

        Ok((Descriptor::new(media_type, bytes.len() as u64, found), bytes))
    }

    /// Reads the document in a response.
    pub(super) fn read_body(&self, response: Response) -> Result<Document, Failure> {
        let place = shown(&response.from);
        let limit = self.limits.document_bytes;
        let too_much = || format!("{place}: the manifest is larger than {}", in_bytes(limit));
        let announced: Option<u64> = response.header("content-length").and_then(|v| v.parse().ok());
        if announced.is_some_and(|size| size > limit) {
            return Err(Failure::TooMuch(too_much()));
        }
        let stated = response.header("docker-content-digest").map(str::to_owned);
        let content_type = response.header("content-type").map(str::to_owned);
        let bytes = self.read_limited(response.body, &place, too_much)?;
        // A connection that ends early looks like the end of the body.
        if announced.is_some_and(|size| size > bytes.len() as u64) {
            let message = format!("{place} ended after {} bytes", bytes.len());
            return Err(Failure::Unreachable(message));
        }
        Ok(Document { bytes, place, stated, content_type })
    }

    /// Reads the body of a document from `place`; `too_much` is the message for a large one.
    pub(super) fn read_limited(
        &self,
        body: impl io::Read,
        place: &str,
        too_much: impl FnOnce() -> String,
    ) -> Result<Vec<u8>, Failure> {
        let read = read_body(body, self.client.network.timeout, self.limits.document_bytes);
        let bytes = read.map_err(|error| broken(place, &error))?;
        bytes.ok_or_else(|| Failure::TooMuch(too_much()))
    }
}
