//! Inspects the output directory: what differs there from the files of a build, for the build and as text.
//! Read-only.

use super::chart_files::OwnedFiles;
use super::failure::{failed, metadata_of};
use super::ownership::{self, Ownership, Recorded, is_marked};
use crate::chart::{CHART_LOCK, is_written_by_helm};
use crate::diag::{Code, Diagnostics, Fatal};
use crate::regular_file;
use crate::source::chart as charts;
use crate::source::sha256_from;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::Metadata;
use std::io;
use std::path::{Path, PathBuf};

/// Bytes of a Chart.lock that are read; Helm's with one dependency has about 200.
const CHART_LOCK_LIMIT: u64 = 4 << 10;

/// The state of a directory before it is written.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) enum State {
    /// No directory, or an empty one.
    #[default]
    Absent,
    /// A directory with files, and its ownership file.
    There(Recorded),
    /// This path is not a directory.
    InTheWay(PathBuf),
    /// This parent directory is itself a chart written by bundle2chart.
    InsideChart(PathBuf),
}

/// The differences between a directory and the files of a build. Paths are relative to the
/// directory and sorted.
#[derive(Debug, Default)]
pub(super) struct Inspection {
    pub(super) state: State,
    /// Files that are there with the right content.
    pub(super) same: BTreeSet<String>,
    pub(super) missing: BTreeSet<String>,
    pub(super) stale: BTreeSet<String>,
    /// Files that bundle2chart wrote and the build does not have.
    pub(super) extra: BTreeSet<String>,
    /// Those of `stale` and `extra` that were edited after bundle2chart wrote them.
    pub(super) edited: BTreeSet<String>,
    /// Files that we did not write, except those that have the content that we want to write, and
    /// a Chart.lock that Helm wrote.
    pub(super) foreign: BTreeSet<PathBuf>,
}

impl Inspection {
    /// Inspects the place of files in the output directory `out`.
    pub(super) fn of(out: &Path, files: &OwnedFiles<'_>) -> Result<Self, Fatal> {
        if files.is_chart() { Self::of_chart(out, files) } else { Self::of_deployment(out, files) }
    }

    /// Inspects the directory of a chart. All files in it count.
    fn of_chart(out: &Path, chart: &OwnedFiles<'_>) -> Result<Self, Fatal> {
        let folder = out.join(chart.dir);
        let (mut state, mut entries) = (State::Absent, BTreeMap::new());
        if let Some(obstacle) = obstacle(out, chart.dir)? {
            state = obstacle;
        } else if let Some(metadata) = metadata_of(&folder)? {
            if metadata.is_dir() {
                entries = files_below(&folder)?;
            } else {
                state = State::InTheWay(chart.dir.to_owned());
            }
        }
        // Git does not keep empty directories, so one that is left over means nothing.
        if !entries.is_empty() {
            state = State::There(Ownership::of_chart(&folder)?);
        }
        Inspection { state, ..Inspection::default() }.compare(&folder, chart, entries)
    }

    /// Inspects the output directory for deployment files. They, the files listed in the ownership
    /// file, and those beside them in their folders count: tools install a folder as a whole.
    fn of_deployment(out: &Path, files: &OwnedFiles<'_>) -> Result<Self, Fatal> {
        let state = State::There(Ownership::read(out)?);
        let mut found = Inspection { state, ..Inspection::default() };
        let mut entries = BTreeMap::new();
        let mut add = |path: &str| -> Result<Option<PathBuf>, Fatal> {
            Ok(match obstacle(out, Path::new(path))? {
                Some(State::InTheWay(path) | State::InsideChart(path)) => Some(path),
                Some(_) => None,
                None => {
                    let metadata = metadata_of(&out.join(path))?;
                    entries.extend(metadata.map(|metadata| (PathBuf::from(path), metadata)));
                    None
                }
            })
        };

        for (path, _) in files.iter() {
            found.foreign.extend(add(path)?);
        }
        if let State::There(Recorded::Files(owned)) = &found.state {
            for path in owned.sums.keys() {
                // What is in the way of a file that is no longer wanted stays there.
                add(path)?;
            }
        }

        let folders: BTreeSet<&Path> =
            files.iter().filter_map(|(path, _)| Path::new(path).parent()).collect();
        for folder in folders.into_iter().filter(|folder| !folder.as_os_str().is_empty()) {
            if obstacle(out, &folder.join(ownership::FILE_NAME))?.is_none() {
                let beside = files_below(&out.join(folder))?.into_iter();
                entries.extend(beside.map(|(path, metadata)| (folder.join(path), metadata)));
            }
        }
        found.compare(out, files, entries)
    }

    /// Returns true if the directory equals the files.
    pub(super) fn is_current(&self) -> bool {
        self.missing.is_empty()
            && self.stale.is_empty()
            && self.extra.is_empty()
            && self.foreign.is_empty()
    }

    /// Compares the `entries` of a directory with the files of a build.
    fn compare(
        mut self,
        folder: &Path,
        wanted: &OwnedFiles<'_>,
        mut entries: BTreeMap<PathBuf, Metadata>,
    ) -> Result<Self, Fatal> {
        let owned = match &self.state {
            // Without a readable ownership file everything is foreign.
            State::There(Recorded::Files(ownership)) => ownership.sums.clone(),
            _ => BTreeMap::new(),
        };
        for (path, content) in wanted.iter() {
            let Some(metadata) = entries.remove(Path::new(path)) else {
                self.missing.insert(path.to_owned());
                continue;
            };
            let file = folder.join(path);
            if has_content(&file, &metadata, content).map_err(|e| failed("read", &file, &e))? {
                self.same.insert(path.to_owned());
                continue;
            }
            self.stale.insert(path.to_owned());
            if path != ownership::FILE_NAME {
                self.assign(Path::new(path), &file, &metadata, &owned)?;
            }
        }

        for (path, metadata) in entries {
            if self.assign(&path, &folder.join(&path), &metadata, &owned)? {
                self.extra.insert(path.to_string_lossy().into_owned());
            }
        }
        Ok(self)
    }

    /// Notes a file that is not as the build wants it as edited or foreign, if it is. Returns false
    /// if it is foreign.
    fn assign(
        &mut self,
        path: &Path,
        file: &Path,
        metadata: &Metadata,
        owned: &BTreeMap<String, String>,
    ) -> Result<bool, Fatal> {
        let unreadable = |e: io::Error| failed("read", file, &e);

        match path.to_str().and_then(|path| owned.get_key_value(path)) {
            Some((path, sum)) => {
                // A link in place of a file is not ours, even if its target has our
                // content.
                let written = metadata.is_file() && sha256_of(file).map_err(unreadable)? == *sum;
                if !written {
                    self.edited.insert(path.clone());
                }
                Ok(true)
            }
            // `helm dependency build` writes it, with a timestamp.
            None if path == CHART_LOCK
                && is_lock_of_helm(file, metadata).map_err(unreadable)? =>
            {
                Ok(true)
            }
            None => {
                self.foreign.insert(path.to_owned());
                Ok(false)
            }
        }
    }
}

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

/// Returns what keeps the parent directories of `path` from being created, or that one is missing.
fn obstacle(out: &Path, path: &Path) -> Result<Option<State>, Fatal> {
    let mut parents: Vec<&Path> = path.ancestors().skip(1).collect();
    // The last is the output directory itself, which has the marker of the deployment files.
    parents.pop();
    for parent in parents.into_iter().rev() {
        let folder = out.join(parent);
        match metadata_of(&folder)? {
            None => return Ok(Some(State::Absent)),
            Some(metadata) if !metadata.is_dir() => {
                return Ok(Some(State::InTheWay(parent.to_owned())));
            }
            Some(_) if is_marked(&folder) => {
                return Ok(Some(State::InsideChart(parent.to_owned())));
            }
            Some(_) => {}
        }
    }
    Ok(None)
}

/// Lists everything below `folder` except directories, by relative path.
pub(super) fn files_below(folder: &Path) -> Result<BTreeMap<PathBuf, Metadata>, Fatal> {
    charts::files_below(folder).map_err(|(path, error)| failed("read", &path, &error))
}

/// Returns true if a Chart.lock was written by Helm.
fn is_lock_of_helm(file: &Path, metadata: &Metadata) -> io::Result<bool> {
    // A larger one has other dependencies than ours, or is no Chart.lock.
    if !metadata.is_file() || metadata.len() > CHART_LOCK_LIMIT {
        return Ok(false);
    }
    let content = regular_file::read(file, CHART_LOCK_LIMIT)?;
    Ok(std::str::from_utf8(&content).is_ok_and(is_written_by_helm))
}

/// Returns true if the path is a regular file with this content. Reads it only if the size matches.
fn has_content(file: &Path, metadata: &Metadata, content: &[u8]) -> io::Result<bool> {
    // Spares reading most of the stale files.
    if !metadata.is_file() || metadata.len() != content.len() as u64 {
        return Ok(false);
    }
    Ok(regular_file::read(file, metadata.len())? == content)
}

/// Hashes a file of any size.
pub(super) fn sha256_of(file: &Path) -> io::Result<String> {
    sha256_from(regular_file::open(file)?)
}

#[cfg(test)]
mod tests;
