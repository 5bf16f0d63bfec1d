//! Local sources: a bundle directory, an image layout, a tar of either, or a Docker archive.

use super::layout::{Layout, MARKER, Wanted};
use super::limits::Limits;
use super::reference::Reference;
use super::tarball::{TarContent, Tarball};
use super::{BundleFiles, directory, docker_archive, failure, folders, image, unreadable};
use crate::diag::{Code, Diagnostics, Fatal, suggest};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use walkdir::WalkDir;

const EXPECTED: &str = "use a bundle directory (with `manifests/`), an OCI image layout (with \
    `oci-layout`; `:TAG` or `@sha256:…` after the path selects an image), or a tar of either or a \
    Docker archive (uncompressed, gzip or zstd), not a Helm chart";

/// Maximum number of directory entries to search for a similar name.
const MOST_NAMES: usize = 1_000;

/// An existing path and its suffix: `:TAG` or `@DIGEST`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LocalPath<'t> {
    pub(super) path: PathBuf,
    /// The path as written.
    pub(super) shown: &'t str,
    pub(super) suffix: &'t str,
}

/// Splits a path from its optional suffix. An existing path with the whole text wins; else the
/// longest part before a `:` or `@` that exists.
pub(super) fn find<'t>(text: &'t str, base: &Path) -> Option<LocalPath<'t>> {
    let exists = |shown: &str| !shown.is_empty() && base.join(shown).symlink_metadata().is_ok();
    let ends = text.char_indices().rev().filter(|(_, c)| matches!(c, ':' | '@')).map(|(i, _)| i);
    let end = std::iter::once(text.len()).chain(ends).find(|end| exists(&text[..*end]))?;
    let (shown, suffix) = text.split_at(end);
    Some(LocalPath { path: base.join(shown), shown, suffix })
}

/// Reads the bundle that a path names.
pub(super) fn read(
    text: &str,
    base: &Path,
    limits: &Limits,
    diagnostics: &mut Diagnostics,
) -> Result<BundleFiles, Fatal> {
    let Some(LocalPath { path, shown, suffix }) = find(text, base) else {
        let message = format!("`{}` does not exist", text.escape_debug());
        let hint = match similar_path(text, base) {
            Some(near) => format!("did you mean `{near}`?"),
            None if is_image(text) => format!("for an image, write `image = {text:?}`"),
            None => "check the path: relative to bundles.toml or the working directory".to_owned(),
        };
        return Err(failure(Code::SourceNotFound, message, hint));
    };

    let kind = path.metadata().map_err(|error| unreadable(shown, &error))?;
    let layout = if kind.is_dir() {
        let has_marker = path.join(MARKER).symlink_metadata().is_ok();
        // A layout may have directories of a bundle next to its own; a suffix asks for an image.
        if directory::is_bundle(&path) && (suffix.is_empty() || !has_marker) {
            no_suffix(shown, suffix)?;
            return directory::read(&path, shown, limits, diagnostics);
        }
        if !has_marker {
            return Err(unknown(shown, bundle_near(&path, shown)));
        }
        Layout::folder(path, shown, limits)
    } else if kind.is_file() {
        let near = bundle_near(&path, shown);
        let tarball = Tarball::open_file(path, shown, limits)?;
        match tarball.content() {
            TarContent::Layout => Layout::tar(tarball, shown),
            TarContent::Bundle => {
                no_suffix(shown, suffix)?;
                let read = |folders, _: &mut Diagnostics| tarball.tree(folders);
                return folders::bundle(&BTreeMap::new(), read, diagnostics);
            }
            TarContent::DockerArchive => {
                let wanted = Wanted::of_suffix(suffix)?;
                return docker_archive::read(&tarball, &wanted, diagnostics);
            }
            TarContent::Unknown => return Err(unknown(shown, near)),
        }
    } else {
        let error = io::Error::other("it is neither a file nor a directory");
        return Err(unreadable(shown, &error));
    };

    let root = layout.locate(&Wanted::of_suffix(suffix)?, diagnostics)?;
    image::read(&layout, &root, diagnostics)
}

/// Finds an existing path with a similar last component.
fn similar_path(text: &str, base: &Path) -> Option<String> {
    let path = Path::new(text);
    let folder = path.parent()?;
    let name = path.file_name()?.to_str()?;
    let entries = base.join(folder).read_dir().ok()?;
    let names =
        entries.take(MOST_NAMES).filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut names: Vec<String> = names.collect();
    // The order of a directory is that of its file system.
    names.sort_unstable();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let near = suggest::nearest(name, &names)?;
    Some(folder.join(near).display().to_string())
}

fn no_suffix(shown: &str, suffix: &str) -> Result<(), Fatal> {
    if suffix.is_empty() {
        return Ok(());
    }
    let suffix = suffix.escape_debug();
    let message =
        format!("`{shown}` is a bundle directory, so the suffix `{suffix}` is not allowed");
    Err(failure(Code::SourceNotFound, message, format!("write `{shown}`")))
}

/// Returns true for text that names an image of a registry: the part before the first `/` is a host.
fn is_image(text: &str) -> bool {
    let host = text.split_once('/').map(|(host, _)| host).unwrap_or_default();
    host.contains('.') && !host.starts_with('.') && Reference::parse(text).is_ok()
}

/// Finds the bundle that a path is a part of: one of its two directories, or a file in one, such as the
/// CSV.
pub(super) fn bundle_above<'s>(path: &Path, shown: &'s str) -> Option<&'s Path> {
    let mut above = path.ancestors().zip(Path::new(shown).ancestors()).skip(1).take(2);
    let (_, shown) = above.find(|(folder, _)| directory::is_bundle(folder))?;
    Some(if shown == Path::new("") { Path::new(".") } else { shown })
}

/// Finds a bundle above or below a path that is none; says what to write instead.
fn bundle_near(path: &Path, shown: &str) -> Option<String> {
    if path.join("Chart.yaml").is_file() {
        return Some("write the path of the bundle: this is a Helm chart".to_owned());
    }
    if let Some(bundle) = bundle_above(path, shown) {
        return Some(format!("write `{}`: this is a part of that bundle", bundle.display()));
    }
    let below = bundles_in(path).map(|folder| Path::new(shown).join(folder));
    let bundles: Vec<String> = below.map(|path| format!("`{}`", path.display())).collect();
    (!bundles.is_empty()).then(|| format!("write {}, which is a bundle", listed_or(&bundles)))
}

/// Returns the directories of bundles at `path` or below it, relative to it and sorted: a bundle is often
/// in the directory of its version, which is in that of its package.
pub(super) fn bundles_in(path: &Path) -> impl Iterator<Item = PathBuf> {
    let folders = WalkDir::new(path).max_depth(2).sort_by_file_name().into_iter().flatten();
    let is_bundle =
        |path: &PathBuf| path.join("manifests").is_dir() && path.join("metadata").is_dir();
    let bundles = folders.take(MOST_NAMES).map(walkdir::DirEntry::into_path).filter(is_bundle);
    bundles.filter_map(move |bundle| Some(bundle.strip_prefix(path).ok()?.to_owned()))
}

/// Joins names as "`a` or `b`". Of many names it uses the last ones, which have the newest
/// versions.
fn listed_or(names: &[String]) -> String {
    const MOST: usize = 3;
    names.get(names.len().saturating_sub(MOST)..).unwrap_or_default().join(" or ")
}

/// Returns the error for a path that has no bundle; `near` is a better hint than the list of
/// sources.
fn unknown(shown: &str, near: Option<String>) -> Fatal {
    let message = format!("`{shown}` is not a bundle directory, OCI layout or archive");
    failure(Code::UnknownSource, message, near.unwrap_or_else(|| EXPECTED.to_owned()))
}
