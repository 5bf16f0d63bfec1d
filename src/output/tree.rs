//! Writes charts to the output directory, safe against kills at any time.
//!
//! Each chart is staged after it is compiled. When all are staged, they are exchanged with those in
//! the output directory one by one, followed by the deployment files: a failed build changes
//! nothing, and after a kill each chart is either the old one or the new one. Files that
//! bundle2chart did not write are never overwritten: a chart directory with such files is an error.

use super::compare::{ChartState, Inspection, OWNERSHIP_LIMIT};
use super::deployment_files::{self, DeploymentFiles, DeploymentInspection};
use super::ownership::{self, Ownership, is_chart_path};
use super::stage::{Lock, Site};
use crate::diag::{self, Code, Diagnostic, Diagnostics, Place, Severity};
use crate::regular_file;
use crate::source::sha256;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// Maximum number of files that a message names.
const NAMED_FILES: usize = 5;

/// A chart as files in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChartFiles {
    /// Directory of the chart relative to the output directory, for example `lws-operator/1.0.0` or
    /// `lws-operator`. Its first component is the chart's name.
    pub dir: PathBuf,
    /// Version of the chart.
    pub version: String,
    /// Content by path relative to `dir`, `/`-separated. Without the ownership file.
    pub files: BTreeMap<String, Vec<u8>>,
}

impl ChartFiles {
    /// Returns the chart's ownership file.
    pub fn ownership(&self) -> Ownership {
        Ownership::of(&self.version, &self.files)
    }

    /// Returns the number of templates, and the number of CRDs in all places.
    pub fn counts(&self) -> (usize, usize) {
        let manifests = || self.files.keys().filter(|path| path.ends_with(".yaml"));
        let templates = manifests().filter(|path| path.starts_with("templates/"));
        let (crds, templates): (Vec<&String>, Vec<&String>) =
            templates.partition(|path| path.starts_with("templates/customresourcedefinition-"));
        let folders = ["crds/", "charts/crds/crds/", "charts/crds/templates/"];
        let others = manifests().filter(|path| folders.iter().any(|start| path.starts_with(start)));
        (templates.len(), crds.len() + others.count())
    }
}

/// The result of a build. Chart directories, relative to the output directory, in the order of the
/// charts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Charts that were not there.
    pub created: Vec<PathBuf>,
    /// Charts whose files changed.
    pub updated: Vec<PathBuf>,
    /// Charts that were there exactly so; none of their files was touched.
    pub unchanged: Vec<PathBuf>,
    /// Written or removed deployment files, sorted, without the ownership file.
    pub deployment_files: Vec<PathBuf>,
    /// Warnings about what could not be cleaned up after all was in place.
    pub warnings: Diagnostics,
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

/// A chart that is ready to take its place.
#[derive(Clone, Debug)]
pub struct Staged {
    /// Directory of the chart relative to the output directory.
    pub dir: PathBuf,
    /// The change.
    pub change: Change,
    /// Digest of its ownership file.
    marker: String,
}

/// A build that writes to an output directory.
///
/// If dropped without [`Writer::finish`], the output directory is unchanged.
#[derive(Debug)]
pub struct Writer {
    site: Site,
    replace: bool,
    /// Held since the first chart that changes.
    lock: Mutex<Option<Lock>>,
    /// True if a chart could not be staged. The next one would probably fail for the same reason,
    /// which is reported once.
    failed: AtomicBool,
}

impl Writer {
    /// Starts a build. `replace` allows different content under an existing chart version, and
    /// overwriting files edited by hand.
    ///
    /// # Errors
    /// [`Code::OutputUnsuitable`] if `out` is not a directory, and the errors of cleaning up after
    /// a killed build.
    pub fn new(out: &Path, replace: bool) -> Result<Self, Diagnostics> {
        let site = Site::of(out)?;
        let lock = if site.has_leftovers() { Some(site.lock()?) } else { None };
        Ok(Writer { site, replace, lock: Mutex::new(lock), failed: AtomicBool::new(false) })
    }

    /// Stages a chart, unless the output directory is up to date. Can be called by several threads
    /// at a time.
    ///
    /// # Errors
    /// All reasons for which the chart cannot be written: the codes of the section "the output
    /// directory" of [`Code`].
    pub fn stage(&self, chart: &ChartFiles) -> Result<Staged, Diagnostics> {
        check_chart(chart)?;
        let ownership = chart.ownership();
        let mut found = self.inspect(chart, &ownership)?;
        if !found.is_current() && self.lock()? {
            // The state under the lock is authoritative.
            found = self.inspect(chart, &ownership)?;
        }

        let change = match found.state {
            _ if found.is_current() => Change::Unchanged,
            ChartState::Absent => Change::Created,
            _ => Change::Updated,
        };
        if change != Change::Unchanged {
            if self.failed.load(Ordering::Relaxed) {
                return Err(Diagnostics::new());
            }
            let staged = self.site.stage_chart(chart, &found);
            staged.inspect_err(|_| self.failed.store(true, Ordering::Relaxed))?;
        }
        let marker = sha256(found.marker.as_bytes());
        Ok(Staged { dir: chart.dir.clone(), change, marker })
    }

    fn inspect(
        &self,
        chart: &ChartFiles,
        ownership: &Ownership,
    ) -> Result<Inspection, Diagnostics> {
        let found = Inspection::of(&self.site.out, chart, ownership)?;
        let refused = refusals(&self.site.out, chart, ownership, &found, self.replace);
        if refused.is_empty() { Ok(found) } else { Err(refused) }
    }

    /// Locks the output directory; returns true if it was not locked before.
    fn lock(&self) -> Result<bool, Diagnostics> {
        let mut lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        if lock.is_some() {
            return Ok(false);
        }
        *lock = Some(self.site.lock()?);
        Ok(true)
    }

    /// Installs the staged charts and exactly these deployment files; if they are not
    /// known, existing ones are kept. Other versions, other charts and all other files are kept. If
    /// nothing differs, nothing is written.
    ///
    /// # Errors
    /// All reasons for which nothing was changed.
    pub fn finish(
        self,
        charts: &[Staged],
        deployment_files: Option<&DeploymentFiles>,
    ) -> Result<Written, Diagnostics> {
        let dirs: Vec<&Path> = charts.iter().map(|chart| chart.dir.as_path()).collect();
        check_dirs(&dirs)?;
        let mut written = Written::default();
        for chart in charts {
            let list = match chart.change {
                Change::Created => &mut written.created,
                Change::Updated => &mut written.updated,
                Change::Unchanged => &mut written.unchanged,
            };
            list.push(chart.dir.clone());
        }
        let deployment_files = deployment_files
            .map_or(Ok(Vec::new()), |files| self.stage_deployment_files(files, &dirs))?;
        let changed: Vec<&Path> = charts
            .iter()
            .filter(|chart| chart.change != Change::Unchanged)
            .map(|chart| chart.dir.as_path())
            .collect();
        if changed.is_empty() && deployment_files.is_empty() {
            return Ok(written);
        }

        self.check_unchanged(charts)?;
        self.check_working_folder(&changed)?;
        let left = self.site.install(&changed)?;
        let warning = |problem: Diagnostic| Diagnostic {
            severity: Severity::Warning,
            hint: Some("the new output is complete; the next build cleans up".to_owned()),
            ..problem
        };
        written.warnings = left.into_iter().map(warning).collect();
        let is_marker = |path: &PathBuf| path.as_os_str() == ownership::FILE_NAME;
        written.deployment_files =
            deployment_files.into_iter().filter(|path| !is_marker(path)).collect();
        Ok(written)
    }

    /// Stages the changed deployment files, and returns their paths.
    fn stage_deployment_files(
        &self,
        files: &DeploymentFiles,
        dirs: &[&Path],
    ) -> Result<Vec<PathBuf>, Diagnostics> {
        deployment_files::check(files, dirs)?;
        let inspect = || -> Result<DeploymentInspection, Diagnostics> {
            let found = DeploymentInspection::of(&self.site.out, files)?;
            let refused = found.refusals(&self.site.out, self.replace);
            if refused.is_empty() { Ok(found) } else { Err(refused) }
        };
        let mut found = inspect()?;
        if !found.is_current() && self.lock()? {
            found = inspect()?;
        }
        if found.is_current() {
            return Ok(Vec::new());
        }

        for (path, content) in found.changed(files) {
            self.site.stage_deployment_files(path, content)?;
        }
        let paths = [&found.missing, &found.stale, &found.extra].into_iter().flatten();
        let mut paths: Vec<PathBuf> = paths.map(PathBuf::from).collect();
        paths.sort();
        Ok(paths)
    }

    /// Rejects to go on when another build changed a chart before this one had the lock.
    fn check_unchanged(&self, charts: &[Staged]) -> Result<(), Diagnostics> {
        for chart in charts.iter().filter(|chart| chart.change == Change::Unchanged) {
            let folder = self.site.out.join(&chart.dir);
            let marker = folder.join(ownership::FILE_NAME);
            let marker = regular_file::read(&marker, OWNERSHIP_LIMIT).unwrap_or_default();
            if sha256(&marker) != chart.marker {
                let message =
                    format!("another build wrote `{}` at the same time", folder.display());
                return Err(Diagnostic::error(Code::OutputBusy, message)
                    .at(Place::file(folder.display().to_string()))
                    .hint("build again")
                    .into());
            }
        }
        Ok(())
    }

    /// Reports an error if the working directory of this process would be replaced: the process
    /// would continue in the old one.
    fn check_working_folder(&self, charts: &[&Path]) -> Result<(), Diagnostics> {
        let Ok(here) = fs::canonicalize(".") else { return Ok(()) };
        for folder in charts.iter().map(|chart| self.site.out.join(chart)) {
            if fs::canonicalize(&folder).is_ok_and(|folder| here.starts_with(folder)) {
                let shown = folder.display();
                let message =
                    format!("cannot replace `{shown}`: it contains the working directory");
                return Err(Diagnostic::error(Code::OutputUnsuitable, message)
                    .at(Place::file(shown.to_string()))
                    .hint("change to a directory outside the chart and build again")
                    .into());
            }
        }
        Ok(())
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let lock = self.lock.get_mut().unwrap_or_else(PoisonError::into_inner);
        if lock.is_some() {
            // The next build removes the remaining files.
            let _ = self.site.remove_stage();
        }
    }
}

/// Writes exactly these `charts` to the output directory `out`, in addition to other files there.
///
/// # Errors
/// All reasons for which nothing was written; the output directory is then unchanged.
pub fn write(out: &Path, charts: &[ChartFiles], replace: bool) -> Result<Written, Diagnostics> {
    write_with(out, charts, None, replace)
}

/// Like [`write`], with exactly these deployment files; if they are not known, existing
/// ones are kept.
///
/// # Errors
/// As [`write`].
pub fn write_with(
    out: &Path,
    charts: &[ChartFiles],
    deployment_files: Option<&DeploymentFiles>,
    replace: bool,
) -> Result<Written, Diagnostics> {
    check_charts(charts)?;
    let writer = Writer::new(out, replace)?;
    let mut problems = Diagnostics::new();
    let mut staged = Vec::new();
    for chart in charts {
        match writer.stage(chart) {
            Ok(chart) => staged.push(chart),
            Err(found) => problems.append(found),
        }
    }
    if problems.is_empty() { writer.finish(&staged, deployment_files) } else { Err(problems) }
}

/// Returns the reasons why the existing chart must not be overwritten.
fn refusals(
    root: &Path,
    chart: &ChartFiles,
    ownership: &Ownership,
    found: &Inspection,
    replace: bool,
) -> Diagnostics {
    let folder = root.join(&chart.dir);
    let error = |code, message: String| {
        Diagnostic::error(code, message).at(Place::file(folder.display().to_string()))
    };
    let shown = folder.display();
    let recorded = match &found.state {
        ChartState::Absent => return Diagnostics::new(),
        ChartState::InTheWay(path) => {
            let path = root.join(path).display().to_string();
            return error(Code::NotOurs, format!("`{path}` blocks a chart directory"))
                .at(Place::file(path))
                .hint("move it away, or rename the bundle")
                .into();
        }
        ChartState::InsideChart(outer) => {
            let outer = root.join(outer);
            return error(
                Code::LayoutChanged,
                format!(
                    "the chart directory `{shown}` would be inside the chart `{}`",
                    outer.display()
                ),
            )
            .hint(format!("delete `{}` if it is no longer installed", outer.display()))
            .into();
        }
        ChartState::Damaged(line) => {
            let file = folder.join(ownership::FILE_NAME).display().to_string();
            return error(
                Code::OwnershipFile,
                format!("cannot parse `{file}`, which lists the files that bundle2chart owns"),
            )
            .at(Place { line: Some(*line), ..Place::file(file) })
            .hint(format!("restore it from Git, or delete `{shown}` and build again"))
            .into();
        }
        ChartState::Unmarked => None,
        ChartState::Ours(recorded) => Some(recorded),
    };

    let inner = found.foreign.iter().find(|path| path.ends_with(ownership::FILE_NAME));
    if let Some(inner) = inner.and_then(|marker| marker.parent()) {
        let inner = folder.join(inner);
        return error(
            Code::LayoutChanged,
            format!("the chart directory `{shown}` contains the chart `{}`", inner.display()),
        )
        .hint("move or delete the charts of the old layout, or build with another `--out`")
        .into();
    }

    let Some(recorded) = recorded else {
        return error(
            Code::NotOurs,
            format!("the directory `{shown}` was not written by bundle2chart and is not changed"),
        )
        .hint("move it away, rename the bundle, or use another directory with `--out`")
        .into();
    };

    let mut problems = Diagnostics::new();
    for path in &found.foreign {
        let file = folder.join(path).display().to_string();
        problems.push(
            error(Code::ForeignFile, format!("`{file}` was not written by bundle2chart"))
                .at(Place::file(file))
                .hint(
                    "move it out of the chart directory, or declare it in bundles.toml with \
                        `[[bundle.overlay]]`",
                ),
        );
    }

    if replace || found.is_current() {
        return problems;
    }
    let refused = if recorded.version == chart.version && !recorded.is_same_chart(ownership) {
        error(
            Code::ChartVersionExists,
            format!(
                "chart `{shown}` exists with version {} and different content: {}",
                chart.version,
                name_some(&differing(found))
            ),
        )
        .hint(
            "raise `chart-version` of this bundle in bundles.toml, or build with `--replace` if \
                the old chart was never installed",
        )
    } else if !found.edited.is_empty() {
        error(
            Code::ChartEdited,
            format!("generated files of chart `{shown}` were edited: {}", name_some(&found.edited)),
        )
        .hint("declare the change in bundles.toml, or discard it with `--replace`")
    } else {
        return problems;
    };

    problems.push(found.edited.iter().fold(refused, |refused, path| {
        refused.related(
            Place::file(folder.join(path).display().to_string()),
            "edited since bundle2chart wrote it",
        )
    }));

    problems
}

/// Files that differ, for a person: the ownership file says nothing new unless it is the only one.
fn differing(found: &Inspection) -> Vec<String> {
    let all: BTreeSet<_> =
        [&found.missing, &found.stale, &found.extra].into_iter().flatten().collect();
    let only_marker = all.len() == 1;
    all.into_iter().filter(|p| only_marker || *p != ownership::FILE_NAME).cloned().collect()
}

/// Returns a few quoted paths for a sentence.
pub(super) fn name_some(paths: &[String]) -> String {
    diag::listed(&diag::quoted(paths), NAMED_FILES)
}

/// Rejects charts with invalid paths.
pub(super) fn check_charts(charts: &[ChartFiles]) -> Result<(), Diagnostics> {
    let dirs: Vec<&Path> = charts.iter().map(|chart| chart.dir.as_path()).collect();
    let mut problems = Diagnostics::new();
    for checked in charts.iter().map(check_chart).chain([check_dirs(&dirs)]) {
        problems.append(checked.err().unwrap_or_default());
    }
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

/// Rejects a chart with invalid paths.
pub(super) fn check_chart(chart: &ChartFiles) -> Result<(), Diagnostics> {
    let mut problems = Diagnostics::new();
    let mut refuse = |message: String| problems.push(bad_path(&chart.dir, message));
    let shown = chart.dir.display();
    if !chart.dir.to_str().is_some_and(is_chart_path) {
        refuse(format!("invalid chart directory `{shown}`"));
    }
    if chart.version.chars().any(char::is_control) {
        refuse(format!("the version of chart `{shown}` has control characters"));
    }
    for path in chart.files.keys() {
        if !is_chart_path(path) {
            refuse(format!("invalid path `{path}` of a file in a chart"));
        }
        let as_folder = path.match_indices('/').filter_map(|(end, _)| path.get(..end));
        for folder in as_folder.filter(|folder| chart.files.contains_key(*folder)) {
            refuse(format!("`{folder}` would be both a file and the directory of `{path}`"));
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

/// Rejects chart directories that are nested or equal.
pub(super) fn check_dirs(dirs: &[&Path]) -> Result<(), Diagnostics> {
    let mut problems = Diagnostics::new();
    let mut known = BTreeSet::new();
    for dir in dirs {
        if !known.insert(*dir) {
            problems
                .push(bad_path(dir, format!("two charts have the directory `{}`", dir.display())));
        }
    }
    for dir in dirs {
        for outer in dir.ancestors().skip(1).filter(|outer| known.contains(outer)) {
            let (inner, outer) = (dir.display(), outer.display());
            let message = format!("the chart `{inner}` would be inside the chart `{outer}`");
            problems.push(bad_path(dir, message));
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

fn bad_path(dir: &Path, message: String) -> Diagnostic {
    Diagnostic::error(Code::ChartPath, message).at(Place::file(dir.display().to_string()))
}
