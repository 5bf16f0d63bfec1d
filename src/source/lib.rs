//! Reads bundles from directories, tars, OCI image layouts and registries.
//!
//! Nothing is unpacked to disk, and only the regular files in a bundle's manifests and metadata
//! directories are kept, in memory. Input is not trusted: digests and sizes of blobs are checked,
//! and [`Limits`] bound the resources.

#![forbid(unsafe_code)]
#![warn(missing_docs)]
#![cfg_attr(
    not(feature = "keyless"),
    allow(dead_code, reason = "keyless signatures; without `registry`, the cache and credentials")
)]

mod access;
mod archive;
#[cfg(feature = "registry")]
mod artifact;
mod cache;
pub mod catalog;
pub mod chart;
mod compression;
mod digest;
mod directory;
mod docker_archive;
mod folders;
#[doc(hidden)]
pub mod fuzzing;
mod image;
mod layout;
mod limits;
mod local;
mod own_files;
mod parallel;
mod process;
mod reference;
#[cfg(feature = "registry")]
mod registry;
#[cfg(not(feature = "registry"))]
#[path = "registry_disabled.rs"]
mod registry;
mod resolver;
mod sign_command;
mod signature;
mod tarball;
mod tree;
mod vendor;
mod yaml_files;

pub use digest::{digest_of, digest_of_parts, sha256, sha256_from};
pub use sign_command::{clear_sign, sign_with};

pub use access::{Access, Download, Environment, Reporter};
#[cfg(feature = "registry")]
pub use artifact::{Attachment, OciArtifact, PulledArtifact};
pub use directory::is_bundle;
pub use limits::Limits;
pub use own_files::OverlayFile;
pub use parallel::in_parallel;
pub use reference::Reference;
pub use resolver::{Pin, SourceResolver};
pub use signature::{Signature, Signer, Verified, cosign};
pub use vendor::Vendored;
pub use yaml_files::manifests;

use crate::config::{COMMAND_LINE, Manifests, Mirror, Source, Text};
use crate::diag::{Code, Diagnostic, Diagnostics, Fatal, SourceText, Span};
use crate::ir::UpgradeEdges;
use bundle2chart_config as config;
use bundle2chart_model::{diag, ir, regular_file};
use bundle2chart_yaml as yaml;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The files of a bundle, in memory, and what is known of the image that they came in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BundleFiles {
    /// Regular files in the manifests directory, by relative path.
    pub manifests: BTreeMap<String, Vec<u8>>,
    /// Regular files in the metadata directory, by relative path.
    pub metadata: BTreeMap<String, Vec<u8>>,
    /// Name of the manifests directory in the bundle, for places; usually `manifests`. Empty for a
    /// `[[chart]]`, whose manifests have paths relative to the configuration.
    pub manifests_dir: String,
    /// Name of the metadata directory in the bundle, for places; usually `metadata`.
    pub metadata_dir: String,
    /// Labels of the image; empty for a directory.
    pub labels: BTreeMap<String, String>,
    /// The image, when the bundle came in one.
    pub image: Option<ImageIdentity>,
    /// The image's reference, when a catalog named it and not the configuration.
    pub reference: Option<String>,
    /// The image of the catalog, when the bundle came in that.
    pub catalog: Option<ImageIdentity>,
    /// The edges that lead to the bundle in the catalog that it was selected from.
    pub edges: Option<UpgradeEdges>,
    /// Overlay files of the configuration, in its order.
    pub overlays: Vec<OverlayFile>,
}

impl BundleFiles {
    /// Returns the name in places of a file in the manifests directory.
    pub fn manifest_name(&self, name: &str) -> String {
        match self.manifests_dir.as_str() {
            "" => name.to_owned(),
            folder => format!("{folder}/{name}"),
        }
    }

    /// Returns a digest of all files, for a bundle that came in no image.
    pub fn digest(&self) -> String {
        let folders = [("manifests", &self.manifests), ("metadata", &self.metadata)];
        digest_of_parts(folders.into_iter().flat_map(|(folder, files)| {
            files.iter().flat_map(move |(path, content)| {
                [folder.as_bytes(), path.as_bytes(), content.as_slice()]
            })
        }))
    }
}

/// The identity of the image of a bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageIdentity {
    /// Digest of the manifest, for example `sha256:…`.
    pub digest: String,
    /// Size of the manifest in bytes.
    pub size: u64,
    /// Digest of the index that the manifest was picked from, when there was one.
    pub index: Option<String>,
    /// The platform selected from an index, for example `linux/amd64`.
    pub platform: Option<String>,
    /// Digest and size in bytes of the image's configuration.
    pub config: (String, u64),
    /// Digest and size in bytes of each layer, in order.
    pub layers: Vec<(String, u64)>,
    /// The signature that was verified, if a `[[verify]]` table requires one.
    pub signature: Option<Signature>,
}

/// Reads the bundle that `source` names, without a network; `None` after an error. Relative paths
/// of sources and mirrors start from `base`, except those of [`from_argument`].
///
/// Findings name the place in the configuration, or the file inside the bundle, that they are
/// about.
pub fn fetch(
    source: &Source,
    base: &Path,
    mirrors: &[Mirror],
    limits: &Limits,
    diagnostics: &mut Diagnostics,
) -> Option<BundleFiles> {
    let access = Access { offline: true, ..Access::default() };
    SourceResolver::new(base, mirrors, limits, access).fetch(source, None, diagnostics)
}

/// Parses a command line argument: an existing path, with or without `:TAG` or `@DIGEST` and
/// relative to the working directory, else a reference. A YAML or JSON file, and a directory with
/// such files that is not a bundle, are manifests.
pub fn from_argument(argument: &str) -> Source {
    let text = Arc::new(SourceText { name: COMMAND_LINE.to_owned(), text: argument.to_owned() });
    let span = Span::new(&text, 0..argument.len());
    if yaml_files::are_at(Path::new(argument)) {
        let text = argument.to_owned();
        let paths = vec![Text { text: text.clone(), span: span.clone() }];
        return Source::Manifests(Box::new(Manifests {
            paths,
            vendored: Vec::new(),
            maas: None,
            text,
            span,
        }));
    }
    // Text that looks like a path is a path even if it does not exist, for a better message.
    let is_path_like = ["/", "./", "../", "~"].iter().any(|start| argument.starts_with(start))
        || matches!(argument, "" | "." | "..")
        || [".tar", ".tgz", ".tar.gz", ".tar.zst"].iter().any(|end| argument.ends_with(end));
    if is_path_like || local::find(argument, Path::new("")).is_some() {
        Source::Path { path: argument.to_owned(), span }
    } else {
        Source::Image { reference: argument.to_owned(), span }
    }
}

/// Returns an error with its remedy.
fn failure(code: Code, message: impl Into<String>, hint: impl Into<String>) -> Fatal {
    Diagnostic::error(code, message).hint(hint).into()
}

/// Returns the path at which a walk of `folder` failed, and why.
pub fn walk_error(folder: &Path, error: walkdir::Error) -> (PathBuf, io::Error) {
    let path = error.path().unwrap_or(folder).to_owned();
    (path, error.into_io_error().unwrap_or_else(|| io::Error::other("a symbolic link loop")))
}

/// Returns an error of the operating system about a file.
fn unreadable(name: &str, error: &io::Error) -> Fatal {
    let message = format!("cannot read `{name}`: {error}");
    failure(Code::SourceUnreadable, message, "check the path and its permissions")
}
