//! The registry client of a build without the feature `registry`: no registry can be reached, and
//! references to images lead to mirrors in directories only.

use super::failure;
use super::reference::Reference;
use super::resolver::{Located, SourceResolver};
use crate::diag::{Code, Fatal};

/// No registries.
pub(super) type Client = ();

impl SourceResolver {
    pub(super) fn open_registry(&self, reference: &Reference) -> Result<Located<'_>, Fatal> {
        Err(no_client(&reference.name))
    }

    pub(super) fn tags_in(&self, name: &str) -> Result<Vec<String>, Fatal> {
        Err(no_client(name))
    }
}

/// Returns the error that this build has no client. Its code is the one of `--offline`, so that
/// mirrors with `fallback` are treated as with it.
fn no_client(name: &str) -> Fatal {
    failure(
        Code::Offline,
        format!("cannot read `{name}`: bundle2chart was built without its registry client"),
        "enable the feature `registry`, or copy the images to a directory with \
            `bundle2chart vendor DIR` and add it as a `[[mirror]]`",
    )
}
