//! Compares charts with the output directory, or writes them to it, safe against kills at any time.
//!
//! Each chart is staged after it is compiled. When all are staged, they are exchanged with those in
//! the output directory one by one, followed by the deployment files: a failed build changes
//! nothing, and after a kill each chart is either the old one or the new one. Files that
//! bundle2chart did not write are never overwritten: a chart directory with such files is an error.

use super::chart_files::{ChartFiles, DeploymentFiles, OwnedFiles};
use super::failure::error;
use super::inspection::{Comparison, Inspection, State};
use super::lock::{LOCK, Lock};
use super::ownership;
use super::stage::{Stage, check_directory};
use super::{paths, refusals};
use crate::diag::{Code, Diagnostic, Diagnostics, Fatal, Severity};
use crate::regular_file;
use crate::source::sha256;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// The way in which a build uses the output directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Nothing is written, and files of others are no errors.
    Check,
    /// Charts are written.
    Write {
        /// Allows different content under an existing chart version, and overwriting files edited
        /// by hand.
        replace: bool,
    },
}

/// The result of a build: what was changed, or would be. Chart directories, relative to the output
/// directory, in the order of the charts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Charts that were not there.
    pub created: Vec<PathBuf>,
    /// Charts whose files changed.
    pub updated: Vec<PathBuf>,
    /// Earlier versions that were removed.
    pub removed: Vec<PathBuf>,
    /// Charts that were there exactly so; none of their files was touched.
    pub unchanged: Vec<PathBuf>,
    /// Written or removed deployment files, sorted, without the ownership file.
    pub deployment_files: Vec<PathBuf>,
    /// The differences between the directory and the build; only with [`Mode::Check`].
    pub differences: Comparison,
}

/// The change of a chart directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// There was none.
    Created,
    /// Files of the chart change.
    Updated,
    /// The directory is up to date.
    Unchanged,
}

/// A chart that is ready to take its place, or was compared.
#[derive(Clone, Debug)]
pub struct Staged {
    /// Directory of the chart relative to the output directory.
    pub dir: PathBuf,
    /// The change.
    pub change: Change,
    /// Digest of its ownership file.
    marker: String,
    /// Only with [`Mode::Check`].
    differences: Comparison,
}

/// An output directory and the build that uses it.
///
/// If dropped without [`OutputDirectory::finish`], it is unchanged.
#[derive(Debug)]
pub struct OutputDirectory {
    out: PathBuf,
    stage: Stage,
    mode: Mode,
    /// Held since the first chart that changes.
    lock: Mutex<Option<Lock>>,
    /// True if a chart could not be staged. The next one would probably fail for the same reason,
    /// which is reported once.
    failed: AtomicBool,
}

impl OutputDirectory {
    /// Starts a build.
    ///
    /// Reports [`Code::OutputUnsuitable`] if `out` is not a directory, and errors of cleaning up
    /// after a killed build.
    pub fn open(out: &Path, mode: Mode, diagnostics: &mut Diagnostics) -> Option<Self> {
        diagnostics.report(check_directory(out))?;
        let directory = OutputDirectory {
            out: out.to_owned(),
            stage: Stage::of(out),
            mode,
            lock: Mutex::new(None),
            failed: AtomicBool::new(false),
        };
        // A check must not write, so it compares what is there; a build first completes what was
        // interrupted.
        let has_leftovers = directory.stage.exists() || out.join(LOCK).exists();
        if has_leftovers && mode != Mode::Check {
            diagnostics.report(directory.lock())?;
        }
        Some(directory)
    }

    /// Stages a chart, unless the output directory is up to date; with [`Mode::Check`], only
    /// compares it. Can be called by several threads at a time.
    ///
    /// Reports all reasons for which the chart cannot be written: the codes of the section "the
    /// output directory" of [`Code`].
    pub fn stage(&self, chart: &ChartFiles, diagnostics: &mut Diagnostics) -> Option<Staged> {
        paths::check_chart(chart, diagnostics)?;
        let files = OwnedFiles::of_chart(chart);
        let found = self.stage_files(&files, diagnostics)?;
        let change = match found.state {
            _ if found.is_current() => Change::Unchanged,
            State::Absent => Change::Created,
            _ => Change::Updated,
        };
        let differences = self.differences(&files, found);
        let marker = sha256(files.marker.as_bytes());
        Some(Staged { dir: chart.dir.clone(), change, marker, differences })
    }

    /// Moves the staged charts and exactly these deployment files into place; if they are not
    /// known, existing ones are kept. The directories `outdated` are removed; other versions,
    /// other charts and all other files are kept. If nothing differs, nothing is written. With
    /// [`Mode::Check`], only compares the rest.
    ///
    /// Reports all reasons for which nothing was changed, and warnings about what could not be
    /// cleaned up after all was in place.
    pub fn finish(
        self,
        charts: &[Staged],
        outdated: &[PathBuf],
        deployment_files: Option<&DeploymentFiles>,
        diagnostics: &mut Diagnostics,
    ) -> Option<Changes> {
        let dirs: Vec<&Path> = charts.iter().map(|chart| chart.dir.as_path()).collect();
        paths::check_dirs(&dirs, diagnostics)?;
        let with = |change| charts.iter().filter(move |chart| chart.change == change);
        let dirs_with = |change| with(change).map(|chart| chart.dir.clone()).collect();
        let mut changes = Changes {
            created: dirs_with(Change::Created),
            updated: dirs_with(Change::Updated),
            removed: outdated.to_vec(),
            unchanged: dirs_with(Change::Unchanged),
            ..Changes::default()
        };
        if let Some(files) = deployment_files {
            self.add_deployment_files(files, &dirs, &mut changes, diagnostics)?;
        }
        if self.mode == Mode::Check {
            charts.iter().for_each(|chart| changes.differences.append(chart.differences.clone()));
            // `keep` removes them in a build.
            changes.differences.extra.extend(outdated.iter().cloned());
            return Some(changes);
        }
        let changed = [&changes.created, &changes.updated, &changes.removed];
        let changed: Vec<&Path> = changed.into_iter().flatten().map(PathBuf::as_path).collect();
        if !outdated.is_empty() {
            diagnostics.report(self.lock())?;
        }

        // Without the lock nothing is staged.
        if self.lock.lock().unwrap_or_else(PoisonError::into_inner).is_some() {
            // Without the lock they were compared before another build may have ended.
            let mut unchanged = with(Change::Unchanged);
            diagnostics.report(unchanged.try_for_each(|chart| self.check_unchanged(chart)))?;
            diagnostics.report(self.check_working_directory(&changed))?;
            diagnostics.report(self.stage.install(&changed))?;
            if let Err(problem) = self.stage.clean_up() {
                diagnostics.push(Diagnostic {
                    severity: Severity::Warning,
                    hint: Some("the new output is complete; the next build cleans up".to_owned()),
                    ..*problem
                });
            }
        }
        Some(changes)
    }

    /// Locks the output directory and cleans up after a killed build, unless this was done.
    fn lock(&self) -> Result<(), Fatal> {
        let mut lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        if lock.is_none() {
            *lock = Some(Lock::acquire(&self.out)?);
            self.stage.recover()?;
        }
        Ok(())
    }

    /// Stages files, unless the output directory is up to date; with [`Mode::Check`], only inspects it.
    fn stage_files(
        &self,
        files: &OwnedFiles<'_>,
        diagnostics: &mut Diagnostics,
    ) -> Option<Inspection> {
        let mut found = self.inspect(files, diagnostics)?;
        if found.is_current() || self.mode == Mode::Check {
            return Some(found);
        }
        // Another build may have ended before we had the lock, so its state counts.
        diagnostics.report(self.lock())?;
        found = self.inspect(files, diagnostics)?;
        if !found.is_current() {
            if self.failed.load(Ordering::Relaxed) {
                return None;
            }
            let staged = self.stage.write(files, &found);
            // A full disk fails for every chart that follows.
            self.failed.fetch_or(staged.is_err(), Ordering::Relaxed);
            diagnostics.report(staged)?;
        }
        Some(found)
    }

    fn inspect(&self, files: &OwnedFiles<'_>, diagnostics: &mut Diagnostics) -> Option<Inspection> {
        let before = diagnostics.mark();
        let found = diagnostics.report(Inspection::of(&self.out, files))?;
        match self.mode {
            Mode::Write { replace } => {
                refusals::of(&self.out, files, &found, replace, diagnostics);
            }
            // Without their list, it is not known which deployment files there are.
            Mode::Check if !files.is_chart() => {
                diagnostics.report(refusals::damage(&self.out, &found))?;
            }
            Mode::Check => {}
        }
        diagnostics.no_errors_since(before)?;
        Some(found)
    }

    /// Returns the differences from files, and none unless in [`Mode::Check`].
    fn differences(&self, files: &OwnedFiles<'_>, found: Inspection) -> Comparison {
        if self.mode != Mode::Check {
            return Comparison::default();
        }
        let mut refused = Diagnostics::new();
        refusals::of(&self.out, files, &found, false, &mut refused);
        Comparison::of(files.dir, found, &refused)
    }

    /// Stages the deployment files if one differs, and adds the differences.
    fn add_deployment_files(
        &self,
        files: &DeploymentFiles,
        dirs: &[&Path],
        changes: &mut Changes,
        diagnostics: &mut Diagnostics,
    ) -> Option<()> {
        paths::check_deployment(files, dirs, diagnostics)?;
        let files = OwnedFiles::of_deployment(files);
        let found = self.stage_files(&files, diagnostics)?;
        // The ownership file changes with every other one, and says nothing to a person.
        let mut changed = &(&found.missing | &found.stale) | &found.extra;
        changed.remove(ownership::FILE_NAME);
        changes.deployment_files = changed.into_iter().map(PathBuf::from).collect();
        changes.differences.append(self.differences(&files, found));
        Some(())
    }

    /// Checks that no other build changed a chart before this one had the lock.
    fn check_unchanged(&self, chart: &Staged) -> Result<(), Fatal> {
        let folder = self.out.join(&chart.dir);
        let marker = regular_file::read(&folder.join(ownership::FILE_NAME), ownership::SIZE_LIMIT);
        if marker.is_ok_and(|marker| sha256(&marker) == chart.marker) {
            return Ok(());
        }
        let message = format!("another build wrote `{}` at the same time", folder.display());
        Err(error(Code::OutputBusy, message, &folder).hint("build again").into())
    }

    /// Checks that the working directory of this process is not replaced: the process would
    /// continue in the old one.
    fn check_working_directory(&self, charts: &[&Path]) -> Result<(), Fatal> {
        let Ok(here) = fs::canonicalize(".") else { return Ok(()) };
        for folder in charts.iter().map(|chart| self.out.join(chart)) {
            if fs::canonicalize(&folder).is_ok_and(|folder| here.starts_with(folder)) {
                let shown = folder.display();
                let message =
                    format!("cannot replace `{shown}`: it contains the working directory");
                let hint = "change to a directory outside the chart and build again";
                return Err(error(Code::OutputUnsuitable, message, &folder).hint(hint).into());
            }
        }
        Ok(())
    }
}

impl Drop for OutputDirectory {
    fn drop(&mut self) {
        let lock = self.lock.get_mut().unwrap_or_else(PoisonError::into_inner);
        if lock.is_some() {
            // If this fails, the next build does it.
            let _ = self.stage.recover();
        }
    }
}

/// Compares the output directory `out` with exactly these `charts`, in addition to other files there,
/// and exactly these deployment files, or writes them; if the latter are not known, existing ones are
/// kept.
///
/// Reports all reasons for which nothing was written; the output directory is then unchanged.
pub fn write(
    out: &Path,
    charts: &[ChartFiles],
    deployment_files: Option<&DeploymentFiles>,
    mode: Mode,
    diagnostics: &mut Diagnostics,
) -> Option<Changes> {
    let before = diagnostics.mark();
    let dirs: Vec<&Path> = charts.iter().map(|chart| chart.dir.as_path()).collect();
    paths::check_dirs(&dirs, diagnostics)?;
    let directory = OutputDirectory::open(out, mode, diagnostics)?;
    let stage = |chart| directory.stage(chart, diagnostics);
    let staged: Vec<Staged> = charts.iter().filter_map(stage).collect();
    diagnostics.no_errors_since(before)?;
    directory.finish(&staged, &[], deployment_files, diagnostics)
}

#[cfg(test)]
mod tests;
