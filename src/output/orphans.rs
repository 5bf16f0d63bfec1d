//! Charts in the output directory that are no longer configured. Read-only.

use super::failure::walk_failed;
use super::ownership::is_marked;
use super::stage::STAGE;
use crate::diag::{Code, Diagnostic, Diagnostics, Fatal, Place};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use walkdir::{DirEntry, WalkDir};

/// Reports each chart that bundle2chart wrote and whose name is not the first of a path in `dirs`, which
/// are all charts and folders of deployment files. Older versions of a chart are kept on purpose.
///
/// With `are_installed`, a deployment tool installs whatever folder it finds there (Argo CD:
/// generator of Git directories), so that all other folders are errors.
pub fn report_orphans(
    out: &Path,
    dirs: &[&Path],
    are_installed: bool,
    diagnostics: &mut Diagnostics,
) -> Option<()> {
    for dir in diagnostics.report(orphans(out, dirs, are_installed))? {
        let folder = out.join(&dir).display().to_string();
        let found = match are_installed {
            true => Diagnostic::error(
                Code::OrphanChart,
                format!("`discover` installs `{}`, which is not configured", dir.display()),
            )
            .hint(format!("delete `{folder}`, or move it out of the output directory")),
            false => Diagnostic::warning(
                Code::OrphanChart,
                format!("chart `{}` is in the output directory, but not configured", dir.display()),
            )
            .hint(format!("delete `{folder}` if it is no longer installed")),
        };
        diagnostics.push(found.at(Place::file(&folder)));
    }
    Some(())
}

fn orphans(out: &Path, dirs: &[&Path], all_folders: bool) -> Result<Vec<PathBuf>, Fatal> {
    let names: BTreeSet<_> = dirs.iter().filter_map(|dir| dir.iter().next()).collect();
    let mut orphans: Vec<PathBuf> = Vec::new();
    if !out.exists() {
        return Ok(orphans);
    }
    let is_other = |entry: &DirEntry| {
        entry.depth() > 1 || entry.file_name() != STAGE && !names.contains(entry.file_name())
    };
    // Charts are at most two levels deep (`NAME/VERSION`).
    let walk = WalkDir::new(out).min_depth(1).max_depth(2).into_iter();
    for entry in walk.filter_entry(is_other) {
        let entry = entry.map_err(|e| walk_failed(out, e))?;
        let Ok(dir) = entry.path().strip_prefix(out) else { continue };
        let is_inside = orphans.last().is_some_and(|orphan| dir.starts_with(orphan));
        let is_orphan = all_folders && entry.depth() == 1 || is_marked(entry.path());
        if entry.file_type().is_dir() && is_orphan && !is_inside {
            orphans.push(dir.to_owned());
        }
    }
    orphans.sort();
    Ok(orphans)
}

#[cfg(test)]
mod tests;
