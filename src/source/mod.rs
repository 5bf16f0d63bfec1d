//! Bytes: the only reads of bundles, from folders, OCI image layouts and tars.
//!
//! Nothing is ever unpacked to disk, and only the regular files of a bundle's manifests and
//! metadata folders are kept, in memory. What is read is not trusted: digests and sizes of blobs
//! are checked, and [`Limits`] bound what reading may cost.

mod archive;
pub mod catalog;
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
pub use reference::Reference;

use crate::config::{CatalogSource, Mirror, MirrorTarget, Source};
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
    /// The image's reference, when a catalog named it and not the configuration.
    pub reference: Option<String>,
}

/// What identifies the image that a bundle came in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageIdentity {
    /// Digest of the manifest, for example `sha256:…`.
    pub digest: String,
    /// Digest and size in bytes of each layer, in order.
    pub layers: Vec<(String, u64)>,
}

/// Reads the bundle that `source` names; there are no files when there is an error. Relative paths
/// of sources and mirrors start from `base`, except those of [`from_argument`].
///
/// Findings name the place in the configuration, or the file inside the bundle, that they are
/// about.
pub fn fetch(
    source: &Source,
    base: &Path,
    mirrors: &[Mirror],
    limits: &Limits,
) -> (Option<BundleFiles>, Diagnostics) {
    let (outcome, span) = match source {
        Source::Catalog(wanted) => {
            let (selected, found) = catalog::select(wanted, base, mirrors, limits);
            return match selected {
                Some(selected) => fetch_selected(selected, found, wanted, base, mirrors, limits),
                None => (None, found),
            };
        }
        Source::Image { reference, span } => (fetch_image(reference, base, mirrors, limits), span),
        Source::Path { path, span } => {
            let base = if span.source.name == ARGUMENT { Path::new("") } else { base };
            (local::read(path, base, limits), span)
        }
    };
    let (files, found) = match outcome {
        Ok((files, found)) => (Some(files), found),
        Err(found) => (None, found),
    };
    (files, found.into_iter().map(|found| place(found, span)).collect())
}

/// Reads the bundle that a catalog led to; `found` is what was found on the way.
fn fetch_selected(
    selected: catalog::Selected,
    mut found: Diagnostics,
    wanted: &CatalogSource,
    base: &Path,
    mirrors: &[Mirror],
    limits: &Limits,
) -> (Option<BundleFiles>, Diagnostics) {
    let Some(reference) = selected.image else { return (selected.objects, found) };
    let span = wanted.catalog.span.clone();
    let image = Source::Image { reference: reference.clone(), span };
    let (files, more) = fetch(&image, base, mirrors, limits);
    found.append(more);
    (files.map(|files| BundleFiles { reference: Some(reference), ..files }), found)
}

/// Name of the text that findings about an argument point into.
const ARGUMENT: &str = "command line";

fn fetch_image(
    reference: &str,
    base: &Path,
    mirrors: &[Mirror],
    limits: &Limits,
) -> Result<(BundleFiles, Diagnostics), Diagnostics> {
    let reference = Reference::parse(reference)?;
    match mirror::find(mirrors, &reference) {
        Some((mirror, rest)) => match &mirror.to {
            MirrorTarget::Layout(folder) => {
                let shown = folder.display().to_string();
                let path = base.join(folder);
                if !path.join(layout::MARKER).is_file() {
                    return Err(no_layout(&shown, &path, &mirror.span));
                }
                Layout::folder(path, &shown).read(&Wanted::mirrored(&reference, rest), limits)
            }
        },
        // A registry client takes its place here: an `image::Blobs` over HTTPS, and the descriptor
        // that the registry gives for the tag, for `image::read`.
        None => Err(no_registry(&reference)),
    }
}

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

/// Places a finding that has no place of its own at the source's value.
fn place(mut found: Diagnostic, span: &Span) -> Diagnostic {
    if found.place == Place::default() {
        found.place = Place::span(span.clone());
    } else {
        found = found.related(Place::span(span.clone()), "the bundle comes from here");
    }
    found
}

/// An error that says what to do about it.
fn failure(code: Code, message: impl Into<String>, hint: impl Into<String>) -> Diagnostics {
    Diagnostic::error(code, message).hint(hint).into()
}

fn no_registry(reference: &Reference) -> Diagnostics {
    let host = reference.name.split('/').next().unwrap_or_default();
    let name = &reference.name;
    let message = format!(
        "no mirror has `{name}`, and this version of bundle2chart has no registry client to fetch it"
    );
    failure(
        Code::NoMirror,
        message,
        format!(
            "Copy the image into an OCI image layout, for example with `skopeo copy docker://{name}… \
         oci:DIR:{name}…`, and add a table to bundles.toml: [[mirror]] from = \"{host}\", to = \
         \"oci-layout:DIR\"."
        ),
    )
}

fn no_layout(shown: &str, path: &Path, span: &Span) -> Diagnostics {
    let (what, hint) = if path.symlink_metadata().is_ok() {
        ("is not an OCI image layout: it has no file `oci-layout`", "Name the folder that has it.")
    } else {
        ("does not exist", "A relative path starts from the folder of the configuration file.")
    };
    Diagnostic::error(Code::SourceNotFound, format!("the mirror's folder `{shown}` {what}"))
        .at(Place::span(span.clone()))
        .hint(hint)
        .into()
}

/// An error of the operating system about a file.
fn unreadable(name: &str, error: &io::Error) -> Diagnostics {
    failure(
        Code::SourceUnreadable,
        format!("`{name}` cannot be read: {error}"),
        "Check that the path is right, and that you may read it.",
    )
}
