//! Blobs from a registry into the cache: checked while they are read, resumed when they break off.
//! And pushing: blobs that a repository does not have, then the manifest that names them.

use super::super::access::Download;
use super::super::cache::Partial;
use super::super::image::{Blobs, is_manifest};
use super::super::limits::Limits;
use super::super::reference::Reference;
use super::super::signature::Attachment;
use super::failure::{Failure, if_found};
use super::http::{Content, Request, Response, is_https};
use super::retry::time_limited;
use super::{Repository, accepted, broken, join, offline, shown};
use crate::diag::Fatal;
use crate::parallel::{in_parallel, locked};
use oci_spec::image::{Descriptor, Digest};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Read, Seek as _, SeekFrom};
use std::sync::atomic::{AtomicBool, Ordering};
use ureq::http::Method;

/// Stack size in bytes of threads that download.
const DOWNLOAD_STACK: usize = 2 << 20;

impl Blobs for Repository<'_> {
    fn limits(&self) -> &Limits {
        &self.sources.limits
    }

    fn open(&self, descriptor: &Descriptor) -> Result<Option<Box<dyn Read>>, Fatal> {
        if self.client.cache.open(descriptor.digest(), descriptor.size())?.is_none() {
            self.download(descriptor)?;
        }
        let found = self.client.cache.open(descriptor.digest(), descriptor.size())?;
        Ok(found.map(|(file, _)| -> Box<dyn Read> { Box::new(file) }))
    }

    fn prepare(&self, descriptors: &[Descriptor]) -> Result<(), Fatal> {
        let mut seen = BTreeSet::new();
        let mut missing = Vec::new();
        // Images often have the same empty layer several times.
        for descriptor in descriptors.iter().filter(|d| seen.insert(d.digest().to_string())) {
            if self.client.cache.open(descriptor.digest(), descriptor.size())?.is_none() {
                missing.push(descriptor);
            }
        }

        // The list of missing blobs need not be complete: after a failure none is begun.
        let has_failed = AtomicBool::new(false);
        let jobs = self.sources.network.downloads as usize;
        let outcomes = in_parallel(&missing, jobs, DOWNLOAD_STACK, |descriptor| {
            if has_failed.load(Ordering::Relaxed) {
                return Ok(());
            }
            self.download(descriptor).inspect_err(|_| has_failed.store(true, Ordering::Relaxed))
        });
        // The first error by the order of layers, not by time.
        outcomes.into_iter().collect()
    }

    fn find(&self, digest: &Digest) -> Result<Option<Descriptor>, Fatal> {
        let (name, tag) = (self.shown(), None);
        self.manifest(&Reference { name, tag, digest: Some(digest.clone()) }).map(Some)
    }

    fn signatures(&self, of: &Digest, attachment: Attachment) -> Result<Vec<Descriptor>, Fatal> {
        self.attached_signatures(of, attachment)
    }
}

impl Repository<'_> {
    /// Fetches a blob into the cache.
    fn download(&self, descriptor: &Descriptor) -> Result<(), Fatal> {
        let _claim = self.client.claims.take(&descriptor.digest().to_string());
        let name = format!("{}@{}", self.shown(), descriptor.digest());
        // Bundles share layers; a failure is reported for each, and asked for once.
        if let Some(Err(known)) = locked(&self.client.outcomes).get(&name) {
            return Err(known.clone());
        }
        self.download_now(descriptor, &name).inspect_err(|problems| {
            locked(&self.client.outcomes).insert(name.clone(), Err(problems.clone()));
        })
    }

    fn download_now(&self, descriptor: &Descriptor, name: &str) -> Result<(), Fatal> {
        let digest = descriptor.digest();
        if self.sources.access.offline {
            return Err(offline(name));
        }
        // While this one waited, another thread may have fetched it.
        if self.client.cache.open(digest, descriptor.size())?.is_some() {
            return Ok(());
        }
        let mut partial = self.client.cache.begin(digest)?;
        let reporter = self.sources.access.reporter.as_ref();
        let mut progress = None;
        let missing = || format!("blob {digest} not found in {}", self.shown());
        self.with_retries(missing, || {
            // Not before its turn.
            let progress = progress.get_or_insert_with(|| {
                reporter.map(|reporter| reporter.download(name, descriptor.size()))
            });
            self.fetch(descriptor, &mut partial, progress.as_deref())
        })?;
        partial.commit()?.map_err(|found| {
            let message = format!("blob {digest} of {} has digest {found}", self.shown());
            self.failed(Failure::mismatch(message))
        })
    }

    /// Reads what is still missing of a blob.
    fn fetch(
        &self,
        descriptor: &Descriptor,
        partial: &mut Partial<'_>,
        progress: Option<&dyn Download>,
    ) -> Result<(), Failure> {
        let (digest, size) = (descriptor.digest(), descriptor.size());
        let (path, mut headers) = if is_manifest(descriptor) {
            (format!("manifests/{digest}"), vec![accepted()])
        } else {
            (format!("blobs/{digest}"), Vec::new())
        };
        let begun = partial.size;
        if begun > 0 {
            headers.push(("range", format!("bytes={begun}-")));
        }
        let response = match self.send(&path, false, &Request::get(headers)) {
            // The partial file may be longer than the registry's blob.
            Err(Failure::Refused(_)) if begun > 0 => {
                partial.restart().map_err(Failure::Reported)?;
                return Err(Failure::Unreachable(format!("{digest} cannot be resumed")));
            }
            other => other?,
        };
        let place = shown(&response.from);
        // A server may ignore the range and send everything.
        let resumed = response.status.as_u16() == 206
            && response
                .header("content-range")
                .is_some_and(|range| range.starts_with(&format!("bytes {begun}-")));
        if !resumed {
            partial.restart().map_err(Failure::Reported)?;
        }
        // The descriptor's size bounds what is written to disk.
        // Not negative: a partial file belongs to one descriptor, and the loop below never exceeds
        // its size.
        let left = size - partial.size;
        let announced: Option<u64> = response.header("content-length").and_then(|v| v.parse().ok());
        let mut body = time_limited(response.body, self.sources.network.timeout, left);
        let mut buffer = vec![0; 64 << 10];
        loop {
            let count = body.read(&mut buffer).map_err(|error| broken(&place, &error))?;
            if count == 0 {
                break;
            }
            if partial.size + count as u64 > size {
                let message = format!("{place} is longer than the {size} bytes in its descriptor");
                return Err(Failure::mismatch(message));
            }
            partial.write(&buffer[..count]).map_err(Failure::Reported)?;
            if let Some(progress) = progress {
                progress.reached(partial.size);
            }
        }
        if partial.size == size {
            return Ok(());
        }
        // A registry that says itself that it has less will not have more the next time.
        let message = format!("{place} ended after {} of {size} bytes", partial.size);
        if announced.is_some_and(|announced| announced < left) {
            return Err(Failure::mismatch(message));
        }
        Err(Failure::Unreachable(message))
    }
    /// Pushes a blob from a file, unless the repository has it. Returns true if it was sent.
    pub(crate) fn push_blob(
        &self,
        descriptor: &Descriptor,
        open: impl Fn() -> Result<File, Fatal>,
    ) -> Result<bool, Fatal> {
        let path = format!("blobs/{}", descriptor.digest());
        let head = || if_found(self.send(&path, true, &Request::new(Method::HEAD)));
        if self.with_retries(String::new, head)?.is_some() {
            return Ok(false);
        }
        let mut file = open()?;
        self.with_retries(
            || self.no_repository(),
            || {
                // A retry sends the file from its start.
                file.seek(SeekFrom::Start(0)).map_err(|error| {
                    Failure::Refused(format!("cannot read a copied blob: {error}"))
                })?;
                let begin = Request::new(Method::POST);
                let begun = self.send("blobs/uploads/", true, &begin)?;
                let place = shown(&begun.from);
                let location = begun.header("location").and_then(|l| join(&begun.from, l));
                let Some(location) = location else {
                    return Err(Failure::Refused(format!("{place} returned no upload location")));
                };
                // The client's check of redirects does not see this address: it comes with a success.
                if is_https(&begun.from) && !is_https(&location) {
                    return Err(Failure::unsafe_redirect(format!(
                        "{place} returned the upload location {}, which is not HTTPS",
                        shown(&location)
                    )));
                }
                let separator = if location.query().is_some() { '&' } else { '?' };
                // The location may have a query, which belongs to the upload and must be kept.
                let address = format!("{location}{separator}digest={}", descriptor.digest());
                self.put(
                    &address,
                    "application/octet-stream",
                    Content::File(&file, descriptor.size()),
                )
            },
        )?;
        Ok(true)
    }

    /// Pushes a manifest or an index under a tag, or under its digest. Returns true if the registry
    /// lists it as a referrer of its subject (OCI distribution specification, "Pushing Manifests with
    /// Subject").
    pub(crate) fn push_manifest(
        &self,
        descriptor: &Descriptor,
        tag: Option<&str>,
        bytes: &[u8],
    ) -> Result<bool, Fatal> {
        let path = format!("manifests/{}", tag.unwrap_or(descriptor.digest().as_ref()));
        self.with_retries(
            || self.no_repository(),
            || {
                self.put(&path, descriptor.media_type().as_ref(), Content::Bytes(bytes))
                    .map(|response| response.header("oci-subject").is_some())
            },
        )
    }

    fn put(&self, path: &str, kind: &str, body: Content<'_>) -> Result<Response, Failure> {
        let headers = vec![("content-type", kind.to_owned())];
        self.send(path, true, &Request { method: Method::PUT, headers, body })
    }

    fn no_repository(&self) -> String {
        format!("repository not found for {}", self.shown())
    }
}
