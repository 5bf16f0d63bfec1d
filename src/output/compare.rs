//! Compares the output directory with the charts of a build. Read-only.

use super::deployment_files::{self, DeploymentFiles, DeploymentInspection};
use super::failure::failed;
use super::ownership::{self, Ownership};
use super::stage::{STAGE, Site};
use super::tree::{ChartFiles, check_chart, check_charts, check_dirs};
use crate::chart::{CHART_LOCK, is_written_by_helm};
use crate::diag::{Code, Diagnostic, Diagnostics, Place};
use crate::regular_file;
use sha2::{Digest as _, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Metadata};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use walkdir::WalkDir;

/// Bytes of an ownership file that are read; a longer one is damaged.
pub(super) const OWNERSHIP_LIMIT: u64 = 8 << 20;

/// Bytes of a Chart.lock that are read; Helm's with one dependency has about 200.
const CHART_LOCK_LIMIT: u64 = 4 << 10;

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
}

impl Comparison {
    /// Returns true if a build would change nothing and report no error. Orphans are ignored.
    pub fn is_current(&self) -> bool {
        self.missing.is_empty()
            && self.stale.is_empty()
            && self.extra.is_empty()
            && self.foreign.is_empty()
    }

    /// Adds the differences of other charts.
    pub fn append(&mut self, other: Comparison) {
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

    /// Returns a warning for each orphan. Makes sense only where all configured charts were
    /// compared.
    pub fn orphan_warnings(&self, out: &Path) -> Diagnostics {
        let warning = |dir: &PathBuf| {
            let folder = out.join(dir).display().to_string();
            Diagnostic::warning(
                Code::OrphanChart,
                format!("chart `{}` is in the output directory, but not configured", dir.display()),
            )
            .at(Place::file(&folder))
            .hint(format!("delete `{folder}` if it is no longer installed"))
        };
        self.orphans.iter().map(warning).collect()
    }
}

/// Compares the output directory `out` with `charts`.
///
/// Nothing is written.
///
/// # Errors
/// [`Code::ChartPath`] for charts with invalid paths, [`Code::OutputUnsuitable`] if `out` is not a
/// directory, [`Code::OutputFailed`] if it cannot be read.
pub fn compare(out: &Path, charts: &[ChartFiles]) -> Result<Comparison, Diagnostics> {
    check_charts(charts)?;
    let mut comparison = Comparison::default();
    let mut problems = Diagnostics::new();
    let dirs: Vec<&Path> = charts.iter().map(|chart| chart.dir.as_path()).collect();
    let compared = charts.iter().map(|chart| compare_chart(out, chart));
    for found in compared.chain([compare_rest(out, &dirs, None)]) {
        match found {
            Ok(found) => comparison.append(found),
            Err(problem) => problems.append(problem),
        }
    }
    if problems.has_errors() { Err(problems) } else { Ok(comparison) }
}

/// Compares the directory of one chart in the output directory `out` with the chart.
///
/// # Errors
/// As [`compare`].
pub fn compare_chart(out: &Path, chart: &ChartFiles) -> Result<Comparison, Diagnostics> {
    check_chart(chart)?;
    let site = Site::of(out)?;
    let found = Inspection::of(&site.out, chart, &chart.ownership())?;
    let below = |paths: Vec<String>| paths.into_iter().map(|path| chart.dir.join(path)).collect();
    Ok(Comparison {
        missing: below(found.missing),
        stale: below(found.stale),
        extra: below(found.extra),
        foreign: found.foreign.iter().map(|path| chart.dir.join(path)).collect(),
        orphans: Vec::new(),
    })
}

/// Compares the output directory `out` apart from the charts in `dirs`: the deployment files
/// deployment files, if known, and orphaned charts.
///
/// # Errors
/// As [`compare`], and [`Code::OwnershipFile`] if the list of owned files is invalid.
pub fn compare_rest(
    out: &Path,
    dirs: &[&Path],
    deployment_files: Option<&DeploymentFiles>,
) -> Result<Comparison, Diagnostics> {
    check_dirs(dirs)?;
    let site = Site::of(out)?;
    let mut comparison = Comparison::default();
    if let Some(files) = deployment_files {
        deployment_files::check(files, dirs)?;
        let found = DeploymentInspection::of(&site.out, files)?;
        let damage = found.damage(&site.out);
        if damage.has_errors() {
            return Err(damage);
        }
        let paths = |paths: Vec<String>| paths.into_iter().map(PathBuf::from).collect();
        comparison.missing = paths(found.missing);
        comparison.stale = paths(found.stale);
        comparison.extra = paths(found.extra);
        comparison.foreign = paths(found.foreign);
    }
    comparison.orphans = orphans(&site.out, dirs)?;
    Ok(comparison)
}

/// The state of a chart's directory before it is written.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ChartState {
    /// No directory, or an empty one.
    Absent,
    /// A directory written by bundle2chart.
    Ours(Ownership),
    /// A directory whose ownership file has an error in this 1-based line.
    Damaged(usize),
    /// A directory with files but without an ownership file.
    Unmarked,
    /// This path is not a directory.
    InTheWay(PathBuf),
    /// This parent directory is itself a chart written by bundle2chart.
    InsideChart(PathBuf),
}

/// The differences between a chart's directory and the chart. Paths are relative to the directory
/// and sorted.
#[derive(Debug)]
pub(super) struct Inspection {
    pub(super) state: ChartState,
    /// The ownership file that belongs to the chart.
    pub(super) marker: String,
    /// Files of the chart that are there with the right content.
    pub(super) same: BTreeSet<String>,
    pub(super) missing: Vec<String>,
    pub(super) stale: Vec<String>,
    pub(super) extra: Vec<String>,
    /// Those of `stale` and `extra` that were edited after bundle2chart wrote them.
    pub(super) edited: Vec<String>,
    /// Files that we did not write, except those that have the content that we want to write, and
    /// a Chart.lock that Helm wrote.
    pub(super) foreign: Vec<PathBuf>,
}

impl Inspection {
    /// Inspects the directory of `chart` in the output directory `root`. `ownership` is the
    /// chart's; computing it hashes all files, so it is passed in.
    pub(super) fn of(
        root: &Path,
        chart: &ChartFiles,
        ownership: &Ownership,
    ) -> Result<Self, Diagnostics> {
        let mut found = Inspection {
            state: ChartState::Absent,
            marker: ownership.to_text(),
            same: BTreeSet::new(),
            missing: Vec::new(),
            stale: Vec::new(),
            extra: Vec::new(),
            edited: Vec::new(),
            foreign: Vec::new(),
        };
        let folder = root.join(&chart.dir);
        let mut entries = BTreeMap::new();
        match obstacle(root, &chart.dir)? {
            Some(obstacle) => found.state = obstacle,
            None => {
                entries = files_below(&folder)?;
                if !entries.is_empty() {
                    found.state = chart_state(&folder)?;
                }
            }
        }
        found.sort_entries(&folder, chart, entries)?;
        Ok(found)
    }

    /// Returns true if the directory equals the chart.
    pub(super) fn is_current(&self) -> bool {
        self.missing.is_empty()
            && self.stale.is_empty()
            && self.extra.is_empty()
            && self.foreign.is_empty()
    }

    fn sort_entries(
        &mut self,
        folder: &Path,
        chart: &ChartFiles,
        mut entries: BTreeMap<PathBuf, Metadata>,
    ) -> Result<(), Diagnostics> {
        let none = BTreeMap::new();
        let owned = match &self.state {
            ChartState::Ours(ownership) => ownership.sums.clone(),
            _ => none,
        };
        let marker = std::mem::take(&mut self.marker);
        let wanted = chart
            .files
            .iter()
            .map(|(path, content)| (path.as_str(), content.as_slice()))
            .chain([(ownership::FILE_NAME, marker.as_bytes())]);

        for (path, content) in wanted {
            let file = folder.join(path);
            let Some(metadata) = entries.remove(Path::new(path)) else {
                self.missing.push(path.to_owned());
                continue;
            };
            let same = has_content(&file, &metadata, content);
            if same.map_err(|e| failed("read", &file, &e))? {
                self.same.insert(path.to_owned());
                continue;
            }
            self.stale.push(path.to_owned());
            if path == ownership::FILE_NAME {
                continue;
            }
            match owned.get(path) {
                Some(sum) => self.note_edit(path, &file, &metadata, sum)?,
                None if is_lock_of_helm(&file, path, &metadata)? => {}
                None => self.foreign.push(PathBuf::from(path)),
            }
        }

        for (path, metadata) in entries {
            let name = path.to_str().map(str::to_owned);
            match name.and_then(|name| owned.get(&name).map(|sum| (name, sum))) {
                Some((name, sum)) => {
                    self.note_edit(&name, &folder.join(&path), &metadata, sum)?;
                    self.extra.push(name);
                }
                None if is_lock_of_helm(&folder.join(&path), &path, &metadata)? => {
                    self.extra.push(CHART_LOCK.to_owned());
                }
                None => self.foreign.push(path),
            }
        }

        self.marker = marker;
        self.missing.sort();
        self.stale.sort();
        self.edited.sort();
        self.foreign.sort();

        Ok(())
    }

    fn note_edit(
        &mut self,
        path: &str,
        file: &Path,
        metadata: &Metadata,
        sum: &str,
    ) -> Result<(), Diagnostics> {
        let as_written =
            metadata.is_file() && sha256_of(file).map_err(|e| failed("read", file, &e))? == sum;
        if !as_written {
            self.edited.push(path.to_owned());
        }
        Ok(())
    }
}

/// Returns true if this file of a chart directory is a Chart.lock written by Helm.
fn is_lock_of_helm(
    file: &Path,
    path: impl AsRef<Path>,
    metadata: &Metadata,
) -> Result<bool, Diagnostics> {
    if path.as_ref() != Path::new(CHART_LOCK)
        || !metadata.is_file()
        || metadata.len() > CHART_LOCK_LIMIT
    {
        return Ok(false);
    }
    let content =
        regular_file::read(file, CHART_LOCK_LIMIT).map_err(|e| failed("read", file, &e))?;
    Ok(std::str::from_utf8(&content).is_ok_and(is_written_by_helm))
}

/// Returns the reason why the chart cannot have a directory at `dir`, or that there is none yet.
fn obstacle(root: &Path, dir: &Path) -> Result<Option<ChartState>, Diagnostics> {
    let mut path = PathBuf::new();
    for component in dir {
        if !path.as_os_str().is_empty() && is_marked(&root.join(&path)) {
            return Ok(Some(ChartState::InsideChart(path)));
        }
        path.push(component);
        let folder = root.join(&path);
        match fs::symlink_metadata(&folder) {
            Ok(metadata) if metadata.is_dir() => {}
            Ok(_) => return Ok(Some(ChartState::InTheWay(path))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Some(ChartState::Absent));
            }
            Err(error) => return Err(failed("read", &folder, &error)),
        }
    }
    Ok(None)
}

/// Reads the ownership file of a directory that contains at least one file.
fn chart_state(folder: &Path) -> Result<ChartState, Diagnostics> {
    let file = folder.join(ownership::FILE_NAME);
    match fs::symlink_metadata(&file) {
        Ok(metadata) if metadata.is_file() && metadata.len() <= OWNERSHIP_LIMIT => {}
        Ok(_) => return Ok(ChartState::Damaged(1)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(ChartState::Unmarked),
        Err(error) => return Err(failed("read", &file, &error)),
    }
    let content =
        regular_file::read(&file, OWNERSHIP_LIMIT).map_err(|e| failed("read", &file, &e))?;
    Ok(match String::from_utf8(content).map(|text| Ownership::parse(&text)) {
        Ok(Ok(ownership)) => ChartState::Ours(ownership),
        Ok(Err(line)) => ChartState::Damaged(line),
        Err(_) => ChartState::Damaged(1),
    })
}

/// Lists everything below `folder` except directories, by relative path.
fn files_below(folder: &Path) -> Result<BTreeMap<PathBuf, Metadata>, Diagnostics> {
    let mut files = BTreeMap::new();
    for entry in WalkDir::new(folder) {
        let entry = entry.map_err(|e| walk_failed(folder, e))?;
        if !entry.file_type().is_dir()
            && let Ok(path) = entry.path().strip_prefix(folder)
        {
            let metadata = entry.metadata().map_err(|e| walk_failed(folder, e))?;
            files.insert(path.to_owned(), metadata);
        }
    }
    Ok(files)
}

/// Reports an error of walking `folder`.
pub(super) fn walk_failed(folder: &Path, error: walkdir::Error) -> Diagnostics {
    let path = error.path().unwrap_or(folder).to_owned();
    let error = error.into_io_error().unwrap_or_else(|| io::Error::other("a symbolic link loop"));
    failed("read", &path, &error)
}

/// Directories that we wrote, of charts that are not among those in `dirs`.
fn orphans(root: &Path, dirs: &[&Path]) -> Result<Vec<PathBuf>, Diagnostics> {
    let names: BTreeSet<_> = dirs.iter().filter_map(|dir| dir.iter().next()).collect();
    let mut orphans = Vec::new();
    if fs::symlink_metadata(root).is_err() {
        return Ok(orphans);
    }
    // Charts are at most two levels deep (`NAME/VERSION`).
    let mut walk = WalkDir::new(root).min_depth(1).max_depth(2).into_iter();
    while let Some(entry) = walk.next() {
        let entry = entry.map_err(|e| walk_failed(root, e))?;
        if !entry.file_type().is_dir() {
            continue;
        }
        let configured = names.contains(entry.file_name()) || entry.file_name() == STAGE;
        if entry.depth() == 1 && configured {
            walk.skip_current_dir();
        } else if is_marked(entry.path())
            && let Ok(dir) = entry.path().strip_prefix(root)
        {
            orphans.push(dir.to_owned());
            if entry.depth() == 1 {
                walk.skip_current_dir();
            }
        }
    }
    Ok(orphans)
}

pub(super) fn is_marked(folder: &Path) -> bool {
    fs::symlink_metadata(folder.join(ownership::FILE_NAME)).is_ok()
}

/// Returns true if the path is a regular file with this content. Reads it only if the size matches.
pub(super) fn has_content(file: &Path, metadata: &Metadata, content: &[u8]) -> io::Result<bool> {
    if !metadata.is_file() || metadata.len() != content.len() as u64 {
        return Ok(false);
    }
    let mut found = Vec::with_capacity(content.len());
    regular_file::open(file)?.take(metadata.len() + 1).read_to_end(&mut found)?;
    Ok(found == content)
}

pub(super) fn sha256_of(file: &Path) -> io::Result<String> {
    let mut file = regular_file::open(file)?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 64 << 10];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(crate::source::hexadecimal(&hasher.finalize())),
            Ok(count) => hasher.update(buffer.get(..count).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
