//! The location of a catalog: a file, a directory, or an image.

use super::layers;
use crate::diag::{Code, Diagnostics, Fatal, listed, quoted};
use crate::image;
use crate::layout::{self, Layout, Wanted};
use crate::limits::{Limits, Watched, exceeded, in_bytes, is_exceeded};
use crate::regular_file;
use crate::resolver::{Located, SourceResolver};
use crate::{ImageIdentity, Pin, failure, local, unreadable};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use walkdir::WalkDir;

/// Most bundles that a hint names after the first one.
const MOST_NAMES: usize = 3;

/// A catalog that can be read, as often as needed.
pub(super) enum Catalog<'s> {
    /// A file, or a directory of files.
    Local { path: PathBuf, shown: String },
    /// The directory named by the labels of an image, which was found by reference or at a path.
    Image { image: Box<Located<'s>>, by_reference: bool },
}

/// An entry of a catalog directory.
pub(super) enum Item<'a> {
    /// A file.
    File(&'a mut dyn Read),
    /// Something else, in words that follow its path.
    Other(&'static str),
}

/// A visitor of the entries of a catalog, each with its path.
pub(super) type Visit<'a> = dyn FnMut(&str, Item<'_>) -> io::Result<()> + 'a;

/// Finds the catalog that `text` names; with a pin, the image with its digest where `text` is a
/// reference.
pub(super) fn open<'s>(
    text: &str,
    sources: &'s SourceResolver,
    pin: Option<Pin<'_>>,
    diagnostics: &mut Diagnostics,
) -> Result<Catalog<'s>, Fatal> {
    let spelt = ["./", "../", "/"].iter().any(|start| text.starts_with(start));
    let found = local::find(text, &sources.base);
    let is_layout = |path: &Path| path.join(layout::MARKER).is_file();

    match found {
        Some(found) if is_layout(&found.path) => {
            let wanted = Wanted::of_suffix(found.suffix)?;
            let layout = Layout::folder(found.path, found.shown, &sources.limits);
            let root = layout.locate(&wanted, diagnostics)?;
            let image = Box::new(Located { blobs: Box::new(layout), root, signature: None });
            Ok(Catalog::Image { image, by_reference: false })
        }
        Some(found) if found.suffix.is_empty() => {
            let shown = found.shown.trim_end_matches('/').to_owned();
            no_bundle(&found.path, &shown)?;
            Ok(Catalog::Local { path: found.path, shown })
        }
        // `./catalog` is a path even if nothing is there; `catalog` may be a repository.
        _ if spelt => Err(failure(
            Code::SourceNotFound,
            format!("`{}` does not exist", text.escape_debug()),
            "check the path: relative paths are relative to the directory of the configuration file",
        )),
        _ => {
            let image = Box::new(sources.open(text, pin, diagnostics)?);
            Ok(Catalog::Image { image, by_reference: true })
        }
    }
}

/// Returns an error if a directory is that of a bundle, a part of it, or has directories of bundles.
fn no_bundle(folder: &Path, shown: &str) -> Result<(), Fatal> {
    let below = |below| Path::new(shown).join(below).components().collect::<PathBuf>();
    let above = local::bundle_above(folder, shown).map(Path::to_owned);
    let bundles = above.iter().cloned().chain(local::bundles_in(folder).map(below));
    let bundles: Vec<String> = bundles.map(|bundle| bundle.display().to_string()).collect();
    let Some((first, others)) = bundles.split_first() else { return Ok(()) };

    let what = match above {
        Some(_) => "a part of a bundle",
        None if Path::new(first) == Path::new(shown) => "the directory of a bundle",
        None => "a directory of bundles",
    };
    let mut hint = format!(
        "write `path = \"{first}\"` instead of `catalog` and `package`, or run `bundle2chart add \
            {first}`"
    );
    if !others.is_empty() {
        hint.push_str(&format!("; it also has {}", listed(quoted(others), MOST_NAMES)));
    }
    Err(failure(Code::CatalogInvalid, format!("`{shown}` is {what}, not a catalog"), hint))
}

impl Catalog<'_> {
    /// Visits every file of the catalog, in no particular order. Returns its image, if it was found
    /// by a reference.
    pub(super) fn walk(
        &self,
        limits: &Limits,
        visit: &mut Visit<'_>,
        diagnostics: &mut Diagnostics,
    ) -> Result<Option<ImageIdentity>, Fatal> {
        match self {
            Catalog::Local { path, shown } => {
                walk_local(path, shown, limits, visit)?;
                Ok(None)
            }
            Catalog::Image { image, by_reference } => {
                let Located { blobs, root, signature } = image.as_ref();
                let opened = image::open(blobs.as_ref(), root, diagnostics)?;
                layers::walk(&opened, visit, diagnostics)?;
                let signature = signature.clone();
                Ok(by_reference.then(|| ImageIdentity { signature, ..opened.identity(root) }))
            }
        }
    }
}

fn walk_local(
    root: &Path,
    shown: &str,
    limits: &Limits,
    visit: &mut Visit<'_>,
) -> Result<(), Fatal> {
    // What all files may still have: each may grow while it is read.
    let mut budget = limits.expanded_bytes;
    let mut visit_file = |visit: &mut Visit<'_>, path: &Path, shown: &str| {
        let mut metered = Watched::new(regular_file::open(path)?, |bytes| {
            let rest = budget.checked_sub(bytes.len() as u64);
            budget = rest.ok_or_else(|| exceeded("the catalog is too large".to_owned()))?;
            Ok(())
        });
        visit(shown, Item::File(&mut metered))
    };
    if !root.is_dir() {
        return visit_file(visit, root, shown).map_err(|error| failed(shown, &error, limits));
    }

    let mut count = 0;
    // Sorted, so that of two faults the same one is reported on every machine.
    for entry in WalkDir::new(root).min_depth(1).follow_links(false).sort_by_file_name() {
        let entry = entry.map_err(|error| unreadable(shown, &io::Error::from(error)))?;
        count += 1;
        let relative = entry.path().strip_prefix(root).unwrap_or(entry.path());
        let below = crate::archive::show(relative.as_os_str().as_encoded_bytes());
        let path = format!("{shown}/{below}");
        let kind = entry.file_type();
        let visited = if count > limits.entries {
            Err(exceeded(format!("it has more than {} entries", limits.entries)))
        } else if kind.is_dir() {
            Ok(())
        } else if kind.is_file() {
            visit_file(visit, entry.path(), &path)
        } else {
            let what = if kind.is_symlink() { "is a symbolic link" } else { "is a special file" };
            visit(&path, Item::Other(what))
        };
        visited.map_err(|error| failed(&path, &error, limits))?;
    }

    Ok(())
}

fn failed(shown: &str, error: &io::Error, limits: &Limits) -> Fatal {
    if is_exceeded(error) {
        let limit = in_bytes(limits.expanded_bytes);
        let hint = format!("check that this is a catalog: all its files may have {limit} together");
        return failure(Code::SourceLimit, format!("`{shown}`: {error}"), hint);
    }
    unreadable(shown, error)
}
