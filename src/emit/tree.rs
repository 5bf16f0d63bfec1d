//! Writes charts to the output folder: all of them or none, at whatever moment the process dies.
//!
//! The whole new output tree is staged beside the old one and then exchanged with it in one step.
//! Files that do not change are the same files in both trees. Files that bundle2chart did not
//! write are carried over, and never overwritten: a chart folder that holds any is refused.

use super::beside::{self, BesideFiles, BesideInspection};
use super::compare::{Inspection, Standing};
use super::ownership::{self, Ownership, is_chart_path};
use super::stage::Stage;
use super::swap::{Site, exists, remove_tree};
use crate::diag::{Code, Diagnostic, Diagnostics, Place};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// How many files a message names before it counts the rest.
const NAMED_FILES: usize = 5;

/// A chart as files in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChartFiles {
    /// Folder of the chart relative to the output folder, for example `lws-operator/1.0.0` or
    /// `lws-operator`. Its first component is the chart's name.
    pub dir: PathBuf,
    /// Version of the chart.
    pub version: String,
    /// Content by path relative to `dir`, `/`-separated. Without the ownership file.
    pub files: BTreeMap<String, Vec<u8>>,
}

impl ChartFiles {
    /// What the chart's ownership file says.
    pub fn ownership(&self) -> Ownership {
        Ownership::of(&self.version, &self.files)
    }

    /// How many templates there are, and how many CRDs, wherever those are.
    pub fn counts(&self) -> (usize, usize) {
        let manifests = || self.files.keys().filter(|path| path.ends_with(".yaml"));
        let templates = manifests().filter(|path| path.starts_with("templates/"));
        let (crds, templates): (Vec<&String>, Vec<&String>) =
            templates.partition(|path| path.starts_with("templates/customresourcedefinition-"));
        let folders = ["crds/", "charts/crds/crds/"];
        let others = manifests().filter(|path| folders.iter().any(|start| path.starts_with(start)));
        (templates.len(), crds.len() + others.count())
    }

    /// The text of the chart's ownership file, which is written beside `files`.
    pub(super) fn ownership_file(&self) -> String {
        self.ownership().to_text()
    }
}

/// What a build wrote. Chart folders, relative to the output folder, in the order of the charts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Charts that were not there.
    pub created: Vec<PathBuf>,
    /// Charts whose files changed.
    pub updated: Vec<PathBuf>,
    /// Charts that were there exactly so; none of their files was touched.
    pub unchanged: Vec<PathBuf>,
    /// Files beside the charts that were written or removed, sorted, without the ownership file.
    pub beside: Vec<PathBuf>,
    /// Warnings about what could not be cleaned up after the new tree was in place.
    pub warnings: Diagnostics,
}

/// Makes the output folder `out` hold exactly these `charts` beside whatever else it holds.
///
/// Other versions of a chart, charts not in `charts` and all files that bundle2chart did not
/// write are kept. When nothing differs, nothing on the disk is touched. `replace` allows new
/// content under a chart version that exists, and to overwrite files edited by hand.
///
/// # Errors
/// All reasons for which nothing was written, and then the output folder is as it was: the codes
/// of the section "the output folder" of [`Code`].
pub fn write(out: &Path, charts: &[ChartFiles], replace: bool) -> Result<Written, Diagnostics> {
    write_with(out, charts, None, replace)
}

/// [`write`], also with exactly these files of ours `beside` the charts; where they are not known,
/// those that are there stay.
///
/// # Errors
/// As [`write`].
pub fn write_with(
    out: &Path,
    charts: &[ChartFiles],
    beside: Option<&BesideFiles>,
    replace: bool,
) -> Result<Written, Diagnostics> {
    check_charts(charts)?;
    beside.map_or(Ok(()), |files| beside::check(files, charts))?;
    let site = Site::of(out)?;
    if !site.has_leftovers() {
        let plan = Plan::of(&site.out, charts, beside, replace)?;
        if plan.is_done() {
            return Ok(plan.written);
        }
    }
    let _lock = site.lock()?;
    site.recover()?;
    // Only what is seen under the lock counts.
    let mut plan = Plan::of(&site.out, charts, beside, replace)?;
    if plan.is_done() {
        return Ok(plan.written);
    }
    site.check_swappable()?;
    let warnings = plan.stage(&site).and_then(|()| site.swap(&plan.ours())).inspect_err(|_| {
        // What cannot be removed now is removed by the next build.
        let _ = if exists(&site.stage) { remove_tree(&site.stage) } else { Ok(()) };
    })?;
    plan.written.warnings = warnings;
    Ok(plan.written)
}

/// What a build has to change.
struct Plan<'a> {
    changed: Vec<(&'a ChartFiles, Inspection)>,
    /// The files beside the charts, where any of them changes.
    beside: Option<(&'a BesideFiles, BesideInspection)>,
    written: Written,
}

impl<'a> Plan<'a> {
    fn of(
        root: &Path,
        charts: &'a [ChartFiles],
        beside: Option<&'a BesideFiles>,
        replace: bool,
    ) -> Result<Self, Diagnostics> {
        let mut plan = Plan { changed: Vec::new(), beside: None, written: Written::default() };
        let mut problems = Diagnostics::new();
        if let Some(files) = beside {
            let found = BesideInspection::of(root, files)?;
            problems.append(found.refusals(root, replace));
            if !found.is_current() {
                let paths = [&found.missing, &found.stale, &found.extra].into_iter().flatten();
                plan.written.beside =
                    paths.filter(|p| *p != ownership::FILE_NAME).map(PathBuf::from).collect();
                plan.written.beside.sort();
                plan.beside = Some((files, found));
            }
        }
        for chart in charts {
            let found = match Inspection::of(root, chart) {
                Ok(found) => found,
                Err(problem) => {
                    problems.append(problem);
                    continue;
                }
            };
            problems.append(refusals(root, chart, &found, replace));
            let list = match found.standing {
                _ if found.is_current() => &mut plan.written.unchanged,
                Standing::Absent => &mut plan.written.created,
                _ => &mut plan.written.updated,
            };
            list.push(chart.dir.clone());
            if !found.is_current() {
                plan.changed.push((chart, found));
            }
        }
        if problems.is_empty() { Ok(plan) } else { Err(problems) }
    }

    fn is_done(&self) -> bool {
        self.changed.is_empty() && self.beside.is_none()
    }

    fn stage(&self, site: &Site) -> Result<(), Diagnostics> {
        let mut rewritten: BTreeSet<&Path> =
            self.changed.iter().map(|(chart, _)| chart.dir.as_path()).collect();
        if let Some((_, found)) = &self.beside {
            rewritten.extend(found.rewritten());
        }
        let mut stage = Stage::carry(&site.out, &site.stage, &rewritten)?;
        for (chart, found) in &self.changed {
            stage.add_chart(chart, found)?;
        }
        if let Some((files, found)) = &self.beside {
            for (path, content) in found.contents(files) {
                stage.add_file(Path::new(path), content)?;
            }
        }
        stage.finish()
    }

    /// Files, relative to the output folder, that may disappear with the old tree.
    fn ours(&self) -> BTreeSet<PathBuf> {
        let mut ours = BTreeSet::new();
        if let Some((_, found)) = &self.beside {
            ours.extend(found.disposable());
        }
        for (chart, found) in &self.changed {
            let recorded = match &found.standing {
                Standing::Ours(recorded) => Some(recorded.sums.keys()),
                _ => None,
            };
            ours.extend(
                recorded.into_iter().flatten().chain(&found.same).map(|p| chart.dir.join(p)),
            );
            ours.insert(chart.dir.join(ownership::FILE_NAME));
        }
        ours
    }
}

/// Why a chart must not be written over what is there.
fn refusals(root: &Path, chart: &ChartFiles, found: &Inspection, replace: bool) -> Diagnostics {
    let folder = root.join(&chart.dir);
    let error = |code, message: String| {
        Diagnostic::error(code, message).at(Place::file(folder.display().to_string()))
    };
    let shown = folder.display();
    let recorded = match &found.standing {
        Standing::Absent => return Diagnostics::new(),
        Standing::InTheWay(path) => {
            let path = root.join(path).display().to_string();
            return error(Code::NotOurs, format!("`{path}` is in the way of a chart folder"))
                .at(Place::file(path))
                .hint("move it away, or give the bundle another name")
                .into();
        }
        Standing::InsideChart(outer) => {
            let outer = root.join(outer);
            return error(
                Code::LayoutChanged,
                format!(
                    "the chart folder `{shown}` would be inside the chart `{}`",
                    outer.display()
                ),
            )
            .hint(format!("delete `{}` if nobody installs it any more", outer.display()))
            .into();
        }
        Standing::Damaged(line) => {
            let file = folder.join(ownership::FILE_NAME).display().to_string();
            return error(
                Code::OwnershipFile,
                format!("`{file}` is damaged, so it is not known which files are bundle2chart's"),
            )
            .at(Place { line: Some(*line), ..Place::file(file) })
            .hint(format!("restore it from Git, or delete `{shown}` and build again"))
            .into();
        }
        Standing::Unmarked => None,
        Standing::Ours(recorded) => Some(recorded),
    };
    let inner = found.foreign.iter().find(|path| path.ends_with(ownership::FILE_NAME));
    if let Some(inner) = inner.and_then(|marker| marker.parent()) {
        let inner = folder.join(inner);
        return error(
            Code::LayoutChanged,
            format!("the chart folder `{shown}` holds the chart `{}`", inner.display()),
        )
        .hint("move or delete the charts of the old layout, or build with another `--out`")
        .into();
    }
    let Some(recorded) = recorded else {
        return error(
            Code::NotOurs,
            format!("the folder `{shown}` was not written by bundle2chart, so it is not touched"),
        )
        .hint("move it away, give the bundle another name, or choose another folder with `--out`")
        .into();
    };
    let mut problems = Diagnostics::new();
    for path in &found.foreign {
        let file = folder.join(path).display().to_string();
        problems.push(
            error(Code::ForeignFile, format!("`{file}` was not written by bundle2chart"))
                .at(Place::file(file))
                .hint(
                    "move it out of the chart folder, or declare it in bundles.toml with \
                     `[[bundle.overlay]]`",
                ),
        );
    }
    if replace || found.is_current() {
        return problems;
    }
    let refused =
        if recorded.version == chart.version && !recorded.is_same_chart(&chart.ownership()) {
            error(
                Code::ChartVersionExists,
                format!(
                    "the chart `{shown}` exists with version {} and other content: {}",
                    chart.version,
                    name_some(&differing(found))
                ),
            )
            .hint(
                "raise `chart-version` of this bundle in bundles.toml; where nobody has installed \
             the old chart, build with `--replace`",
            )
        } else if !found.edited.is_empty() {
            error(
                Code::ChartEdited,
                format!("files of the chart `{shown}` were edited: {}", name_some(&found.edited)),
            )
            .hint(
                "declare the change in bundles.toml so that it outlives the next build, or discard \
             it with `--replace`",
            )
        } else {
            return problems;
        };
    problems.push(found.edited.iter().fold(refused, |refused, path| {
        refused.related(
            Place::file(folder.join(path).display().to_string()),
            "edited since bundle2chart wrote it; replacing it would lose the edit",
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

/// `a`, `a, b`, … and how many more.
pub(super) fn name_some(paths: &[String]) -> String {
    let named: Vec<_> = paths.iter().take(NAMED_FILES).map(|path| format!("`{path}`")).collect();
    match paths.len().saturating_sub(NAMED_FILES) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

/// Refuses charts that could not be written to any folder.
pub(super) fn check_charts(charts: &[ChartFiles]) -> Result<(), Diagnostics> {
    let mut problems = Diagnostics::new();
    let mut refuse = |chart: &ChartFiles, message: String| {
        problems.push(
            Diagnostic::error(Code::ChartPath, message)
                .at(Place::file(chart.dir.display().to_string())),
        );
    };
    let mut dirs = BTreeSet::new();
    for chart in charts {
        let shown = chart.dir.display();
        if !chart.dir.to_str().is_some_and(is_chart_path) {
            refuse(chart, format!("`{shown}` cannot be the folder of a chart"));
        }
        if !dirs.insert(chart.dir.as_path()) {
            refuse(chart, format!("two charts have the folder `{shown}`"));
        }
        if chart.version.chars().any(char::is_control) {
            refuse(chart, format!("the version of the chart `{shown}` has control characters"));
        }
        for path in chart.files.keys() {
            if !is_chart_path(path) {
                refuse(chart, format!("`{path}` cannot be the path of a file in a chart"));
            }
            let as_folder = path.match_indices('/').filter_map(|(end, _)| path.get(..end));
            for folder in as_folder.filter(|folder| chart.files.contains_key(*folder)) {
                refuse(chart, format!("`{folder}` would be a file and the folder of `{path}`"));
            }
        }
    }
    for chart in charts {
        for outer in chart.dir.ancestors().skip(1).filter(|outer| dirs.contains(outer)) {
            let (inner, outer) = (chart.dir.display(), outer.display());
            refuse(chart, format!("the chart `{inner}` would be inside the chart `{outer}`"));
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}
