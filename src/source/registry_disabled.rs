//! The registry client of a build without the feature `registry`: no registry can be reached, and
//! references to images lead to mirrors in directories only.

use super::access::Access;
use super::failure;
use super::image::Blobs;
use super::limits::Limits;
use super::reference::Reference;
use crate::config::{Network, Registry};
use crate::diag::{Code, Fatal};
use oci_spec::image::Descriptor;
use std::io::Read;
use std::path::PathBuf;

/// No registries.
pub(super) struct Client;

/// A repository in a registry; this build has none.
pub(super) enum Repository {}

impl Client {
    pub(super) fn new(_: &[Registry], _: PathBuf, _: &Network, _: Access) -> Result<Client, Fatal> {
        Ok(Client)
    }

    /// Returns the error that this build has no client. Its code is the one of `--offline`, so that
    /// mirrors with `fallback` are treated as with it.
    pub(super) fn repository(&self, name: &str, _: &Limits) -> Result<Repository, Fatal> {
        Err(failure(
            Code::Offline,
            format!("cannot read `{name}`: bundle2chart was built without its registry client"),
            "enable the feature `registry`, or copy the images to a directory with \
                `bundle2chart vendor DIR` and add it as a `[[mirror]]`",
        ))
    }
}

impl Repository {
    pub(super) fn manifest(&self, _: &Reference) -> Result<Descriptor, Fatal> {
        match *self {}
    }

    pub(super) fn tags(&self) -> Result<Vec<String>, Fatal> {
        match *self {}
    }
}

impl Blobs for Repository {
    fn limits(&self) -> &Limits {
        match *self {}
    }

    fn open(&self, _: &Descriptor) -> Result<Option<Box<dyn Read>>, Fatal> {
        match *self {}
    }
}
