//! Pushing: blobs that a repository does not have, then the manifest that names them.

use super::failure::{Failure, if_found};
use super::http::{Content, is_https, join, shown};
use super::{Repository, Request};
use crate::diag::Fatal;
use oci_spec::image::Descriptor;
use std::fs::File;
use std::io::{Seek as _, SeekFrom};
use ureq::http::Method;

impl Repository<'_> {
    /// Pushes a blob from a file at its start, unless the repository has it. Returns true if it was
    /// sent.
    pub(crate) fn push_blob(
        &self,
        descriptor: &Descriptor,
        open: impl Fn() -> Result<File, Fatal>,
    ) -> Result<bool, Fatal> {
        let path = format!("blobs/{}", descriptor.digest());

        // Given back before the upload, which may be long, and before a download on its way.
        let asking = self.host.slots.take();
        let known = self.with_retries(|| if_found(self.send(&Request::push(Method::HEAD, &path))));
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
            let begun = self.send(&Request::push(Method::POST, "blobs/uploads/"))?;
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
            self.send(&Request {
                headers: vec![("content-type", "application/octet-stream".to_owned())],
                body: Content::File(&file, descriptor.size()),
                ..Request::push(Method::PUT, &address)
            })
            .map(|_| ())
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
            self.send(&Request {
                headers: vec![("content-type", descriptor.media_type().to_string())],
                body: Content::Bytes(bytes),
                ..Request::push(Method::PUT, &path)
            })
            .map(|response| response.header("oci-subject").is_some())
        });
        pushed.map_err(|failure| self.not_pushed(failure))
    }

    fn not_pushed(&self, failure: Failure) -> Fatal {
        let failure = failure.not_found(|| format!("repository not found for {}", self.shown()));
        failure.diagnostic(&self.host.name).into()
    }
}
