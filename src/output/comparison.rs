//! The changes that a build would make in the output directory, as text. Read-only.

use super::inspection::Inspection;
use crate::diag::{Code, Diagnostics};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

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
    /// True if a build needs `--replace`: it would discard edits, or change a released version.
    pub needs_replace: bool,
    /// The first reason for which a build fails, also with `--replace`.
    pub refusal: Option<String>,
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
            needs_replace: refused.iter().any(|found| is_for_replace(found.code)),
            refusal: refused
                .iter()
                .find(|found| !is_for_replace(found.code))
                .map(|found| found.message.clone()),
        }
    }

    /// Returns true if a build would change nothing and report no error.
    pub fn is_current(&self) -> bool {
        *self == Comparison::default()
    }

    /// Adds the differences of other charts.
    pub fn append(&mut self, other: Comparison) {
        self.needs_replace |= other.needs_replace;
        self.refusal = self.refusal.take().or(other.refusal);
        for (list, more) in [
            (&mut self.missing, other.missing),
            (&mut self.stale, other.stale),
            (&mut self.extra, other.extra),
            (&mut self.foreign, other.foreign),
        ] {
            list.extend(more);
            list.sort();
        }
    }
}

#[cfg(test)]
mod tests;
