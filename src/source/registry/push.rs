//! Pushing: blobs that a repository does not have, then the manifest that names them.

use super::Repository;
use super::failure::{Failure, if_found};
use super::http::{Content, Request, Response, is_https, join, shown};
use crate::diag::Fatal;
use oci_spec::image::Descriptor;
use std::fs::File;
use std::io::{Seek as _, SeekFrom};
use ureq::http::Method;

impl Repository<'_> {
    /// Pushes a blob from a file, unless the repository has it. Returns true if it was sent.
    pub(crate) fn push_blob(
        &self,
        descriptor: &Descriptor,
        open: impl Fn() -> Result<File, Fatal>,
    ) -> Result<bool, Fatal> {
        let path = format!("blobs/{}", descriptor.digest());

        // Given back before the upload, which may be long, and before a download on its way.
        let asking = self.host.slots.take();
        let known =
            self.with_retries(|| if_found(self.send(&path, true, &Request::new(Method::HEAD))));
        drop(asking);
        if known.map_err(|failure| failure.diagnostic(&self.host.name))?.is_some() {
            return Ok(false);
        }
        // Opening may start a download, which needs its own slot.
        let mut file = open()?;
        let _slot = self.host.slots.take();
        let pushed = self.with_retries(|| {
            // A retry sends the file from its start.
            file.seek(SeekFrom::Start(0))
                .map_err(|error| Failure::Refused(format!("cannot read a copied blob: {error}")))?;
            let begin = Request::new(Method::POST);
            let begun = self.send("blobs/uploads/", true, &begin)?;
            let place = shown(&begun.from);
            let location = begun.header("location").and_then(|l| join(&begun.from, l));
            let Some(location) = location else {
                return Err(Failure::Refused(format!("{place} returned no upload location")));
            };
            // The client's check of redirects does not see this address: it comes with a success.
            if is_https(&begun.from) && !is_https(&location) {
                return Err(Failure::UnsafeRedirect(format!(
                    "{place} returned the upload location {}, which is not HTTPS",
                    shown(&location)
                )));
            }
            let separator = if location.query().is_some() { '&' } else { '?' };
            // The location may have a query, which belongs to the upload and must be kept.
            let address = format!("{location}{separator}digest={}", descriptor.digest());
            self.put(&address, "application/octet-stream", Content::File(&file, descriptor.size()))
                .map(drop)
        });
        pushed.map(|()| true).map_err(|failure| self.not_pushed(failure))
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
        let _slot = self.host.slots.take();
        let path = format!("manifests/{}", tag.unwrap_or(descriptor.digest().as_ref()));
        let pushed = self.with_retries(|| {
            self.put(&path, descriptor.media_type().as_ref(), Content::Bytes(bytes))
                .map(|response| response.header("oci-subject").is_some())
        });
        pushed.map_err(|failure| self.not_pushed(failure))
    }

    fn put(&self, path: &str, kind: &str, body: Content<'_>) -> Result<Response, Failure> {
        let headers = vec![("content-type", kind.to_owned())];
        self.send(path, true, &Request { method: Method::PUT, headers, body })
    }

    fn not_pushed(&self, failure: Failure) -> Fatal {
        let failure = failure.not_found(|| format!("repository not found for {}", self.shown()));
        failure.diagnostic(&self.host.name).into()
    }
}
