//! The changes that a build would make in the output directory, as text. Read-only.

use super::failure::walk_failed;
use super::inspection::Inspection;
use super::ownership::is_marked;
use super::stage::STAGE;
use crate::diag::{Code, Diagnostic, Diagnostics, Fatal, Place};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use walkdir::{DirEntry, WalkDir};

/// Differences between the output directory and the charts. Paths are relative to the output
/// directory and sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Files that a build would add.
    pub missing: Vec<PathBuf>,
    /// Files whose content is another one.
    pub stale: Vec<PathBuf>,
    /// Files that bundle2chart wrote and a build would remove.
    pub extra: Vec<PathBuf>,
    /// Files in chart directories that bundle2chart did not write; they fail a build.
    pub foreign: Vec<PathBuf>,
    /// Chart directories written by bundle2chart whose chart is not built in any version; they are
    /// kept. Older versions of a chart are not in this list.
    pub orphans: Vec<PathBuf>,
    /// True if a build needs `--replace`: it would discard edits, or change a released version.
    pub needs_replace: bool,
}

impl Comparison {
    /// Returns the differences that were found in a directory, which a build refuses to change for
    /// these reasons.
    pub(super) fn of(dir: &Path, found: Inspection, refused: &Diagnostics) -> Self {
        let is_for_replace = |code| matches!(code, Code::ChartEdited | Code::ChartVersionExists);
        let below = |paths: BTreeSet<String>| paths.iter().map(|path| dir.join(path)).collect();
        Comparison {
            missing: below(found.missing),
            stale: below(found.stale),
            extra: below(found.extra),
            foreign: found.foreign.iter().map(|path| dir.join(path)).collect(),
            orphans: Vec::new(),
            needs_replace: refused.iter().any(|found| is_for_replace(found.code)),
        }
    }

    /// Returns true if a build would change nothing and report no error. Orphans are ignored.
    pub fn is_current(&self) -> bool {
        self.missing.is_empty()
            && self.stale.is_empty()
            && self.extra.is_empty()
            && self.foreign.is_empty()
    }

    /// Adds the differences of other charts.
    pub fn append(&mut self, other: Comparison) {
        self.needs_replace |= other.needs_replace;
        for (list, more) in [
            (&mut self.missing, other.missing),
            (&mut self.stale, other.stale),
            (&mut self.extra, other.extra),
            (&mut self.foreign, other.foreign),
            (&mut self.orphans, other.orphans),
        ] {
            list.extend(more);
            list.sort();
        }
    }

    /// Adds a warning for each orphan. Makes sense only where all configured charts were compared.
    pub fn warn_about_orphans(&self, out: &Path, diagnostics: &mut Diagnostics) {
        diagnostics.extend(self.orphans.iter().map(|dir| {
            let folder = out.join(dir).display().to_string();
            Diagnostic::warning(
                Code::OrphanChart,
                format!("chart `{}` is in the output directory, but not configured", dir.display()),
            )
            .at(Place::file(&folder))
            .hint(format!("delete `{folder}` if it is no longer installed"))
        }));
    }
}

/// Returns the directories that we wrote, of charts that are not among those in `dirs`.
pub(super) fn orphans(out: &Path, dirs: &[&Path]) -> Result<Vec<PathBuf>, Fatal> {
    let names: BTreeSet<_> = dirs.iter().filter_map(|dir| dir.iter().next()).collect();
    let mut orphans: Vec<PathBuf> = Vec::new();
    if !out.exists() {
        return Ok(orphans);
    }
    // Older versions of a configured chart are kept on purpose.
    let is_other = |entry: &DirEntry| {
        entry.depth() > 1 || entry.file_name() != STAGE && !names.contains(entry.file_name())
    };
    // Charts are at most two levels deep (`NAME/VERSION`).
    let walk = WalkDir::new(out).min_depth(1).max_depth(2).into_iter();
    for entry in walk.filter_entry(is_other) {
        let entry = entry.map_err(|e| walk_failed(out, e))?;
        let Ok(dir) = entry.path().strip_prefix(out) else { continue };
        let is_inside = orphans.last().is_some_and(|orphan| dir.starts_with(orphan));
        if entry.file_type().is_dir() && is_marked(entry.path()) && !is_inside {
            orphans.push(dir.to_owned());
        }
    }
    orphans.sort();
    Ok(orphans)
}

#[cfg(test)]
mod tests;
