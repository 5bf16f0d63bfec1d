//! Documents from a registry: manifests and indexes, which say what blobs an image has, and lists of
//! tags.

use super::failure::{Failure, if_found};
use super::http::{Request, Response, join, same_host};
use super::retry::read_body;
use super::{Repository, accepted, broken, failure, offline, offline_tag, shown};
use crate::diag::{Code, Fatal, listed, quoted, suggest};
use crate::digest::Hasher;
use crate::image::media_type_of;
use crate::limits::{in_bytes, read_at_most};
use crate::parallel::locked;
use crate::reference::Reference;
use crate::signature::describe;
use oci_spec::image::{Descriptor, Digest};
use semver::Version;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::cmp::Reverse;
use std::str::FromStr as _;
use ureq::http::Method;

/// Tags that are asked for at a time.
const PAGE: usize = 1_000;
/// Pages of one repository; the largest known have some ten thousand tags.
const MOST_PAGES: usize = 100;

#[derive(Deserialize)]
struct TagList {
    tags: Option<Vec<String>>,
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
        if let Some(known) = locked(&self.client.outcomes).get(&shown) {
            return known.clone();
        }
        let found = self.find_manifest(reference, &wanted, &shown);
        locked(&self.client.outcomes).insert(shown, found.clone());
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
        self.with_retries(String::new, || if_found(self.fetch_manifest(tag, None, push)))
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
                self.client.cache.open(digest, self.sources.limits.document_bytes)?
            // What the cache cannot give in whole is requested from the registry.
            && let Ok(Some(bytes)) = read_at_most(file, size)
            && let Some(found) = describe(&bytes, digest)
        {
            self.sources.access.tell(1, || format!("{digest}: in the cache"));
            return Ok(found);
        }

        let access = &self.sources.access;
        access.tell(1, || format!("{shown}: from the registry {}", self.host.endpoint));
        if access.offline {
            let missing = if reference.digest.is_some() { offline } else { offline_tag };
            return Err(missing(shown));
        }
        let digest = reference.digest.as_ref();
        let missing = || format!("`{shown}` not found in the registry");
        let fetched = self.with_retries(missing, || self.fetch_manifest(wanted, digest, false));
        let (descriptor, bytes) = fetched.map_err(|mut fatal| {
            if fatal.code == Code::ImageNotFound
                && let Some(hint) = self.hint_for_missing(reference, wanted)
            {
                fatal.hint = Some(hint);
            }
            fatal
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
        let mut response = self.send(&path, push, &Request::get(vec![accepted()]))?;
        let bytes = self.read_document(&mut response, "manifest")?;
        let place = shown(&response.from);

        let stated = response.header("docker-content-digest");
        let stated = stated.and_then(|stated| Digest::from_str(stated).ok());
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
            return Err(Failure::mismatch(message));
        }

        let content_type = response.header("content-type");
        let Some(media_type) = media_type_of(content_type, &bytes) else {
            let kind = content_type.unwrap_or_default();
            let message =
                format!("{place} has media type `{}`, which is not an image", kind.escape_debug());
            return Err(Failure::Refused(message));
        };

        Ok((Descriptor::new(media_type, bytes.len() as u64, found), bytes))
    }

    /// Reads the document in a response; `kind` is its noun.
    fn read_document(&self, response: &mut Response, kind: &str) -> Result<Vec<u8>, Failure> {
        let place = shown(&response.from);
        let limit = self.sources.limits.document_bytes;
        let announced: Option<u64> = response.header("content-length").and_then(|v| v.parse().ok());
        let too_much =
            || Failure::too_much(format!("{place}: the {kind} is larger than {}", in_bytes(limit)));
        if announced.is_some_and(|size| size > limit) {
            return Err(too_much());
        }
        let read = read_body(&mut response.body, self.sources.network.timeout, limit);
        read.map_err(|error| broken(&place, &error))?.ok_or_else(too_much)
    }

    /// Reads a document as `T`; `other` says what the response has if it is none.
    pub(super) fn read_json<T: DeserializeOwned>(
        &self,
        response: &mut Response,
        kind: &str,
        other: &str,
    ) -> Result<T, Failure> {
        let bytes = self.read_document(response, kind)?;
        let document = serde_json::from_slice(&bytes);
        document
            .map_err(|_| Failure::Refused(format!("{} returned {other}", shown(&response.from))))
    }

    /// Returns all tags of the repository, in the registry's order (OCI distribution specification,
    /// "Listing Tags").
    pub(crate) fn tags(&self) -> Result<Vec<String>, Fatal> {
        if self.sources.access.offline {
            let message = format!("cannot list the tags of `{}` with --offline", self.shown());
            return Err(failure(Code::Offline, message, "run the command without `--offline`"));
        }

        let mut tags = Vec::new();
        let mut path = format!("tags/list?n={PAGE}");
        for _ in 0..MOST_PAGES {
            let (page, next) = self.page(&path)?;
            tags.extend(page);
            match next {
                Some(next) => path = next,
                None => return Ok(tags),
            }
        }

        let message = format!("`{}` has more than {} tags", self.shown(), MOST_PAGES * PAGE);
        Err(self.failed(Failure::too_much(message)))
    }

    /// Returns one page, and the address of the next one.
    fn page(&self, path: &str) -> Result<(Vec<String>, Option<String>), Fatal> {
        let missing = || format!("no tags found for `{}`", self.shown());
        self.with_retries(missing, || {
            let mut response = self.send(path, false, &Request::new(Method::GET))?;
            let next = next_page(&response);
            let list: TagList = self.read_json(&mut response, "list of tags", "no list of tags")?;
            // Registries written in Go return `null` for an empty list.
            Ok((list.tags.unwrap_or_default(), next))
        })
    }
}

/// Returns the address in the Link header (RFC 8288) with the relation `next`.
fn next_page(response: &Response) -> Option<String> {
    let link = response.header("link")?;
    let (address, parameters) = link.trim().strip_prefix('<')?.split_once('>')?;
    let is_next = parameters
        .split(';')
        .any(|parameter| matches!(parameter.trim(), "rel=next" | "rel=\"next\""));
    let next = join(&response.from, address).filter(|_| is_next)?;
    // Another host has no part of this repository's list.
    same_host(&next, &response.from).then(|| next.to_string())
}
