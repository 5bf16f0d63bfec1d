//! What a path names: a bundle folder, an image layout, a tar of either, or a Docker archive.

use super::layout::{Layout, MARKER, Wanted};
use super::limits::Limits;
use super::tarball::{Holds, Tarball};
use super::{BundleFiles, directory, docker_archive, failure, unreadable};
use crate::diag::suggest;
use crate::diag::{Code, Diagnostics};
use std::io;
use std::path::{Path, PathBuf};

const EXPECTED: &str = "A path names a bundle folder (with `manifests/`), an OCI image layout (with \
                        `oci-layout`; `:TAG` or `@sha256:…` after the path picks an image), or a \
                        tar of either or a Docker archive (plain, gzip or zstd).";

/// Names in a folder that are looked at for one that may be meant.
const MOST_NAMES: usize = 1_000;

/// A path that exists, and what stands after it: `:TAG` or `@DIGEST`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Found<'t> {
    pub(super) path: PathBuf,
    /// The path as written.
    pub(super) shown: &'t str,
    pub(super) suffix: &'t str,
}

/// Takes a path with an optional suffix apart. What exists literally wins; else the longest part
/// before a `:` or `@` that exists.
pub(super) fn find<'t>(text: &'t str, base: &Path) -> Option<Found<'t>> {
    let exists = |shown: &str| !shown.is_empty() && base.join(shown).symlink_metadata().is_ok();
    let ends = text.char_indices().rev().filter(|(_, c)| matches!(c, ':' | '@')).map(|(i, _)| i);
    let end = std::iter::once(text.len()).chain(ends).find(|end| exists(&text[..*end]))?;
    let (shown, suffix) = text.split_at(end);
    Some(Found { path: base.join(shown), shown, suffix })
}

/// Reads the bundle that a path names.
pub(super) fn read(
    text: &str,
    base: &Path,
    limits: &Limits,
) -> Result<(BundleFiles, Diagnostics), Diagnostics> {
    let Some(Found { path, shown, suffix }) = find(text, base) else {
        let message = format!("`{}` does not exist", text.escape_debug());
        let hint = match beside(text, base) {
            Some(near) => format!("Did you mean `{near}`?"),
            None => EXPECTED.to_owned(),
        };
        return Err(failure(Code::SourceNotFound, message, hint));
    };
    let kind = path.metadata().map_err(|error| unreadable(shown, &error))?;
    let layout = if kind.is_dir() {
        let has_marker = path.join(MARKER).symlink_metadata().is_ok();
        if directory::is_bundle(&path) && (suffix.is_empty() || !has_marker) {
            no_suffix(shown, suffix)?;
            return directory::read(&path, shown, limits);
        }
        if !has_marker {
            return Err(unknown(shown));
        }
        Layout::folder(path, shown)
    } else if kind.is_file() {
        let tarball = Tarball::open_file(path, shown, limits)?;
        match tarball.holds() {
            Holds::Layout => Layout::tar(tarball, shown),
            Holds::Bundle => {
                no_suffix(shown, suffix)?;
                return tarball.read_bundle();
            }
            Holds::DockerArchive => {
                let wanted = wanted(suffix)?;
                return docker_archive::read(&tarball, shown, &wanted, limits);
            }
            Holds::Unknown => return Err(unknown(shown)),
        }
    } else {
        let error = io::Error::other("it is neither a file nor a folder");
        return Err(unreadable(shown, &error));
    };
    layout.read(&wanted(suffix)?, limits)
}

/// The image that a suffix asks for.
fn wanted(suffix: &str) -> Result<Wanted, Diagnostics> {
    if suffix.is_empty() { Ok(Wanted::Only) } else { Wanted::of_suffix(suffix) }
}

/// What exists where `text` points to and has a name like its last part.
fn beside(text: &str, base: &Path) -> Option<String> {
    let path = Path::new(text);
    let folder = path.parent()?;
    let name = path.file_name()?.to_str()?;
    let entries = base.join(folder).read_dir().ok()?;
    let names =
        entries.take(MOST_NAMES).filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut names: Vec<String> = names.collect();
    names.sort_unstable();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let near = suggest::nearest(name, &names)?;
    Some(folder.join(near).display().to_string())
}

fn no_suffix(shown: &str, suffix: &str) -> Result<(), Diagnostics> {
    if suffix.is_empty() {
        return Ok(());
    }
    let suffix = suffix.escape_debug();
    let message = format!("`{shown}` is a bundle folder, so `{suffix}` after it has no meaning");
    Err(failure(Code::SourceNotFound, message, format!("Write `{shown}`.")))
}

fn unknown(shown: &str) -> Diagnostics {
    failure(Code::UnknownSource, format!("`{shown}` is nothing that holds a bundle"), EXPECTED)
}
