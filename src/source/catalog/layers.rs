//! The files of a catalog image, while its layers stream by.
//!
//! The last layer comes first: what a later layer has replaced or deleted is known when an earlier
//! one comes, so nothing need be kept of any file.

use super::place::{Item, Visit};
use crate::archive::{EntryKind, Meter, TarEntry, show};
use crate::diag::{Code, Diagnostics, Fatal};
use crate::failure;
use crate::folders::{CATALOG_KEY, MANIFESTS_KEY};
use crate::image::Opened;
use crate::tree::{Whiteout, is_below, normalise, whiteout};
use std::collections::BTreeSet;
use std::io;

/// Label of old catalogs, which are SQLite databases.
const DATABASE_LABEL: &str = "operators.operatorframework.io.index.database.v1";

const DEFAULT_CONFIGS: &str = "configs";

/// Visits the files of the catalog in an image.
pub(super) fn walk(
    image: &Opened<'_>,
    visit: &mut Visit<'_>,
    diagnostics: &mut Diagnostics,
) -> Result<(), Fatal> {
    let folder = folder(image)?;
    let limits = image.blobs.limits();
    let meter = Meter::new(limits);
    let mut later = Seen::default();
    let mut name_bytes = 0;
    let mut files = 0_u64;

    // From the last layer to the first, so that replaced files are known before they are read.
    for layer in image.layers.iter().rev() {
        let mut own = Seen::default();
        let visit = &mut |entry: &mut TarEntry<'_>| {
            let (path, climbs) = normalise(&entry.path);
            let inside = is_below(&path, &folder);
            let is_near = inside || path == folder || is_below(&folder, &path);
            // A whiteout next to the folder can remove it.
            if !is_near && !reaches(&path, &folder) {
                return Ok(());
            }
            if climbs {
                let message = format!("`{}` escapes the image with `..`", show(&entry.path));
                return Err(io::Error::new(io::ErrorKind::InvalidData, message));
            }
            limits.count_name(&mut name_bytes, path.len(), "the file names")?;
            let shown = show(&path);
            // Noted even if hidden: it hides what is in layers below.
            if !own.note(&path, &entry.kind) || later.hides(&path, &entry.kind) {
                return Ok(());
            }
            // Links count as well: they have another error, which "no catalog" would hide.
            files += u64::from(entry.kind != EntryKind::Folder);
            let what = match &entry.kind {
                EntryKind::Folder => return Ok(()),
                EntryKind::File if inside => return visit(&shown, Item::File(&mut *entry.content)),
                EntryKind::File => "is a file, not the catalog directory",
                EntryKind::Symlink(_) => "is a symbolic link",
                EntryKind::HardLink(_) => "is a hard link",
                EntryKind::Special(_) => "is a special file",
            };
            visit(&shown, Item::Other(what))
        };
        image.walk_layer(layer, &meter, visit, diagnostics)?;
        // After the whole layer, because whiteouts hide lower layers only.
        later.add(own);
    }

    if files == 0 {
        return Err(no_catalog(image, &show(&folder)));
    }
    Ok(())
}

/// Returns the catalog directory from the label.
fn folder(image: &Opened<'_>) -> Result<Vec<u8>, Fatal> {
    let label = image.labels.get(CATALOG_KEY);
    if label.is_none() && image.labels.contains_key(MANIFESTS_KEY) {
        let hint = "use `image` instead of `catalog`, without `package`";
        return Err(failure(Code::NotACatalog, "the image is a bundle, not a catalog", hint));
    }

    // Catalogs of OpenShift up to 4.10, and of some vendors still.
    if label.is_none() && image.labels.contains_key(DATABASE_LABEL) {
        let hint = "use a file-based release of the catalog, or convert it with `opm migrate`";
        return Err(failure(Code::NotACatalog, "SQLite database catalogs are not supported", hint));
    }

    // The directory of the Dockerfile that `opm generate dockerfile` writes.
    let text = label.map_or(DEFAULT_CONFIGS, String::as_str);
    let (path, climbs) = normalise(text.trim().as_bytes());
    if climbs || path.is_empty() {
        let text: String = text.chars().take(200).collect();
        return Err(failure(
            Code::NotACatalog,
            format!("the label `{CATALOG_KEY}` is not a directory of the image: {text:?}"),
            "set the label to a directory, usually `/configs`",
        ));
    }

    Ok(path)
}

fn no_catalog(image: &Opened<'_>, folder: &str) -> Fatal {
    let message = match image.labels.contains_key(CATALOG_KEY) {
        true => format!("the catalog image has no files in `/{folder}`"),
        false => format!("the image is not a catalog: it has no files in `/{folder}`"),
    };
    let hint = format!(
        "use an image with JSON and YAML files in the directory named by its label `{CATALOG_KEY}`"
    );
    failure(Code::NotACatalog, message, hint)
}

/// Returns true if a whiteout at `path` deletes `folder` or one of its parents.
fn reaches(path: &[u8], folder: &[u8]) -> bool {
    match whiteout(path) {
        Some(Whiteout::Path(hidden) | Whiteout::Below(hidden)) => {
            hidden == folder || is_below(folder, &hidden)
        }
        Some(Whiteout::Other) | None => false,
    }
}

/// The paths of later layers that hide paths of earlier ones.
#[derive(Default)]
struct Seen {
    /// Files, links and whiteouts: hide the same path and everything below it.
    whole: BTreeSet<Vec<u8>>,
    /// Directories: hide everything but directories.
    folders: BTreeSet<Vec<u8>>,
    /// Directories that hide all that earlier layers have below.
    opaque: BTreeSet<Vec<u8>>,
}

impl Seen {
    /// Notes an entry; false when it only deletes.
    fn note(&mut self, path: &[u8], kind: &EntryKind) -> bool {
        let mark = whiteout(path);
        let is_entry = mark.is_none();
        let (set, hidden) = match mark {
            Some(Whiteout::Other) => return false,
            Some(Whiteout::Below(folder)) => (&mut self.opaque, folder),
            Some(Whiteout::Path(hidden)) => (&mut self.whole, hidden),
            None if *kind == EntryKind::Folder => (&mut self.folders, path.to_vec()),
            None => (&mut self.whole, path.to_vec()),
        };
        set.insert(hidden);
        is_entry
    }

    /// Returns true if an entry of an earlier layer is hidden.
    fn hides(&self, path: &[u8], kind: &EntryKind) -> bool {
        let is_folder = *kind == EntryKind::Folder;
        if self.whole.contains(path) || (!is_folder && self.folders.contains(path)) {
            return true;
        }
        let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(end, _)| end);
        // The empty path is the root of the image, which a whiteout can clear like any directory.
        std::iter::once(0)
            .chain(ends)
            .any(|end| self.whole.contains(&path[..end]) || self.opaque.contains(&path[..end]))
    }

    fn add(&mut self, other: Seen) {
        self.whole.extend(other.whole);
        self.folders.extend(other.folders);
        self.opaque.extend(other.opaque);
    }
}
