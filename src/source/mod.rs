//! Bytes: the only reads of bundles, from folders, OCI image layouts and tars.
//!
//! Nothing is ever unpacked to disk, and only the regular files of a bundle's manifests and
//! metadata folders are kept, in memory. What is read is not trusted: digests and sizes of blobs
//! are checked, and [`Limits`] bound what reading may cost.

mod archive;
mod compression;
mod digest;
mod directory;
mod folders;
mod image;
mod layout;
mod limits;
mod local;
mod mirror;
mod reference;
mod tarball;
mod tree;

pub use limits::Limits;
pub use mirror::Mirrors;
pub use reference::Reference;

use crate::config::{MirrorTarget, Source};
use crate::diag::{Code, Diagnostic, Diagnostics, Place, SourceText, Span};
use layout::{Layout, Wanted};
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
}

/// What identifies the image that a bundle came in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageIdentity {
    /// Digest of the manifest, for example `sha256:…`.
    pub digest: String,
    /// Digest and size in bytes of each layer, in order.
    pub layers: Vec<(String, u64)>,
}

/// Reads the bundle that `source` names; relative paths in it start from `base`.
///
/// Warnings and notes come with the files. Errors name the place in the configuration, or the
/// file inside the bundle, that they are about.
pub fn fetch(
    source: &Source,
    base: &Path,
    mirrors: Mirrors<'_>,
    limits: &Limits,
) -> Result<(BundleFiles, Diagnostics), Diagnostics> {
    let (outcome, span) = match source {
        Source::Image { reference, span } => (fetch_image(reference, mirrors, limits), span),
        Source::Path { path, span } => (local::read(path, base, limits), span),
    };
    let placed = |found: Diagnostics| {
        found.into_iter().map(|found| place(found, span)).collect::<Diagnostics>()
    };
    outcome.map(|(files, notes)| (files, placed(notes))).map_err(placed)
}

fn fetch_image(
    reference: &str,
    mirrors: Mirrors<'_>,
    limits: &Limits,
) -> Result<(BundleFiles, Diagnostics), Diagnostics> {
    let reference = Reference::parse(reference)?;
    match mirrors.find(&reference) {
        Some((mirror, rest)) => match &mirror.to {
            MirrorTarget::Layout(folder) => {
                let shown = folder.display().to_string();
                let path = mirrors.base.join(folder);
                if !path.join(layout::MARKER).is_file() {
                    return Err(no_layout(&shown, &path, &mirror.span).into());
                }
                Layout::folder(path, &shown).read(&Wanted::mirrored(&reference, rest), limits)
            }
        },
        // A registry client takes its place here: an `image::Blobs` over HTTPS, and the descriptor
        // that the registry gives for the tag, for `image::read`.
        None => Err(no_registry(&reference).into()),
    }
}

/// What an argument of the command line names: an existing path, with or without `:TAG` or
/// `@DIGEST`, else a reference. `base` is the working folder.
///
/// Messages about it show the argument itself.
pub fn from_argument(argument: &str, base: &Path) -> Source {
    let text = Arc::new(SourceText { name: "argument".to_owned(), text: argument.to_owned() });
    let span = Span::new(&text, 0..argument.len());
    // What is spelt like a path is one also when it does not exist, for the better message.
    let spelt = ["/", "./", "../", "~"].iter().any(|start| argument.starts_with(start))
        || matches!(argument, "" | "." | "..")
        || [".tar", ".tgz", ".tar.gz", ".tar.zst"].iter().any(|end| argument.ends_with(end));
    if spelt || local::find(argument, base).is_some() {
        Source::Path { path: argument.to_owned(), span }
    } else {
        Source::Image { reference: argument.to_owned(), span }
    }
}

/// Places a finding that has no place of its own at the source's value.
fn place(mut found: Diagnostic, span: &Span) -> Diagnostic {
    if found.place == Place::default() {
        found.place = Place::span(span.clone());
    } else {
        found = found.related(Place::span(span.clone()), "the bundle comes from here");
    }
    found
}

fn no_registry(reference: &Reference) -> Diagnostic {
    let host = reference.name.split('/').next().unwrap_or_default();
    let name = &reference.name;
    let message = format!(
        "no mirror has `{name}`, and this version of bundle2chart has no registry client to fetch it"
    );
    Diagnostic::error(Code::NoMirror, message).hint(format!(
        "Copy the image into an OCI image layout, for example with `skopeo copy docker://{name}… \
         oci:DIR:{name}…`, and add a table to bundles.toml: [[mirror]] from = \"{host}\", to = \
         \"oci-layout:DIR\"."
    ))
}

fn no_layout(shown: &str, path: &Path, span: &Span) -> Diagnostic {
    let (what, hint) = if path.symlink_metadata().is_ok() {
        ("is not an OCI image layout: it has no file `oci-layout`", "Name the folder that has it.")
    } else {
        ("does not exist", "A relative path starts from the folder of the configuration file.")
    };
    Diagnostic::error(Code::SourceNotFound, format!("the mirror's folder `{shown}` {what}"))
        .at(Place::span(span.clone()))
        .hint(hint)
}

/// An error of the operating system about a file.
fn unreadable(name: &str, error: &io::Error) -> Diagnostic {
    Diagnostic::error(Code::SourceUnreadable, format!("`{name}` cannot be read: {error}"))
        .hint("Check that the path is right, and that you may read it.")
}
