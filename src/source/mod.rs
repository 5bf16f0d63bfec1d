//! Bytes: the only reads of bundles, from folders, tars, OCI image layouts and registries.
//!
//! Nothing is ever unpacked to disk, and only the regular files of a bundle's manifests and
//! metadata folders are kept, in memory. What is read is not trusted: digests and sizes of blobs
//! are checked, and [`Limits`] bound what reading may cost.

mod access;
mod archive;
mod cache;
pub mod catalog;
pub mod chart;
mod compression;
mod digest;
mod directory;
mod docker_archive;
mod folders;
mod image;
mod layout;
mod limits;
mod local;
mod manifests;
mod mirror;
mod overlays;
mod process;
mod reference;
mod registry;
mod supply;
mod tarball;
mod tree;
mod vendor;

pub(crate) use digest::{digest_of_parts, hexadecimal, sha256};

pub use access::{Access, Download, Environment, Reporter};
pub use limits::Limits;
pub use manifests::manifests;
pub use overlays::OverlayFile;
pub use reference::Reference;
pub use supply::{Pin, Supply};
pub use vendor::Vendored;

use crate::config::{Mirror, Network, Source};
use crate::diag::{Code, Diagnostic, Diagnostics, SourceText, Span};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// The files of a bundle, in memory, and what is known of the image that they came in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BundleFiles {
    /// Regular files of the manifests folder by path relative to it.
    pub manifests: BTreeMap<String, Vec<u8>>,
    /// Regular files of the metadata folder by path relative to it.
    pub metadata: BTreeMap<String, Vec<u8>>,
    /// Name of the manifests folder as the bundle has it, for places; normally `manifests`.
    pub manifests_dir: String,
    /// Name of the metadata folder as the bundle has it, for places; normally `metadata`.
    pub metadata_dir: String,
    /// Labels of the image; empty for a folder.
    pub labels: BTreeMap<String, String>,
    /// The image, when the bundle came in one.
    pub image: Option<ImageIdentity>,
    /// The image's reference, when a catalog named it and not the configuration.
    pub reference: Option<String>,
    /// The image of the catalog, when the bundle came in that.
    pub catalog: Option<ImageIdentity>,
    /// What the configuration keeps beside the bundle, in its order.
    pub overlays: Vec<OverlayFile>,
}

impl BundleFiles {
    /// A digest of all files, for a bundle that came in no image.
    pub fn digest(&self) -> String {
        let folders = [("manifests", &self.manifests), ("metadata", &self.metadata)];
        digest_of_parts(folders.into_iter().flat_map(|(folder, files)| {
            files.iter().flat_map(move |(path, content)| {
                [folder.as_bytes(), path.as_bytes(), content.as_slice()]
            })
        }))
    }
}

/// What identifies the image that a bundle came in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageIdentity {
    /// Digest of the manifest, for example `sha256:…`.
    pub digest: String,
    /// Size of the manifest in bytes.
    pub size: u64,
    /// Digest of the index that the manifest was picked from, when there was one.
    pub index: Option<String>,
    /// Which of the index's platforms was picked, for example `linux/amd64`.
    pub platform: Option<String>,
    /// Digest and size in bytes of the image's configuration.
    pub config: (String, u64),
    /// Digest and size in bytes of each layer, in order.
    pub layers: Vec<(String, u64)>,
}

/// Reads the bundle that `source` names, without a network; there are no files when there is an
/// error. Relative paths of sources and mirrors start from `base`, except those of
/// [`from_argument`].
///
/// Findings name the place in the configuration, or the file inside the bundle, that they are
/// about.
pub fn fetch(
    source: &Source,
    base: &Path,
    mirrors: &[Mirror],
    limits: &Limits,
) -> (Option<BundleFiles>, Diagnostics) {
    let access = Access { offline: true, ..Access::default() };
    Supply::new(base, mirrors, &[], &Network::default(), limits, access).fetch(source, None)
}

/// Name of the text that findings about an argument point into.
const ARGUMENT: &str = "command line";

/// What an argument of the command line names: an existing path, with or without `:TAG` or
/// `@DIGEST` and relative to the working folder, else a reference.
pub fn from_argument(argument: &str) -> Source {
    let text = Arc::new(SourceText { name: ARGUMENT.to_owned(), text: argument.to_owned() });
    let span = Span::new(&text, 0..argument.len());
    // What is spelt like a path is one also when it does not exist, for the better message.
    let spelt = ["/", "./", "../", "~"].iter().any(|start| argument.starts_with(start))
        || matches!(argument, "" | "." | "..")
        || [".tar", ".tgz", ".tar.gz", ".tar.zst"].iter().any(|end| argument.ends_with(end));
    if spelt || local::find(argument, Path::new("")).is_some() {
        Source::Path { path: argument.to_owned(), span }
    } else {
        Source::Image { reference: argument.to_owned(), span }
    }
}

/// An error that says what to do about it.
fn failure(code: Code, message: impl Into<String>, hint: impl Into<String>) -> Diagnostics {
    Diagnostic::error(code, message).hint(hint).into()
}

/// An error of the operating system about a file.
fn unreadable(name: &str, error: &io::Error) -> Diagnostics {
    failure(
        Code::SourceUnreadable,
        format!("`{name}` cannot be read: {error}"),
        "Check that the path is right, and that you may read it.",
    )
}
