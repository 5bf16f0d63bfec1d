//! The files beside the charts: what installs them.
//!
//! They are not in folders of their own, so an ownership file in the output folder itself lists
//! them. Whatever it does not list is not ours, is kept, and is never overwritten.

#![expect(clippy::disallowed_methods, reason = "compares with what is in the output folder")]

use super::compare::{OWNERSHIP_LIMIT, has_content, is_marked, sha256_of};
use super::failure::failed;
use super::ownership::{self, is_chart_path};
use super::tree::{ChartFiles, name_some};
use crate::diag::{Code, Diagnostic, Diagnostics, Place};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Content by `/`-separated path from the output folder.
pub type BesideFiles = BTreeMap<String, Vec<u8>>;

/// How the files that are there differ from those that a build makes.
#[derive(Debug, Default)]
pub(super) struct BesideInspection {
    /// Files that are not there; the ownership file among them.
    pub(super) missing: Vec<String>,
    /// Files with other content; the ownership file among them.
    pub(super) stale: Vec<String>,
    /// Files that we wrote and that are no longer wanted.
    pub(super) extra: Vec<String>,
    /// Those of `stale` and `extra` whose content is not what we wrote.
    edited: Vec<String>,
    /// What is in the way of a file and is not ours.
    pub(super) foreign: Vec<String>,
    /// The 1-based line of the ownership file that cannot be understood.
    damaged: Option<usize>,
    /// The ownership file; nothing when there are no files.
    marker: Option<String>,
    /// Every path that is wanted or was written by us.
    ours: BTreeSet<PathBuf>,
}

impl BesideInspection {
    /// Inspects the output folder `root` for `files`.
    pub(super) fn of(root: &Path, files: &BesideFiles) -> Result<Self, Diagnostics> {
        let mut found = BesideInspection::default();
        let marker = root.join(ownership::FILE_NAME);
        let recorded = match fs::symlink_metadata(&marker) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(failed("read", &marker, &error)),
            Ok(metadata) if metadata.is_file() && metadata.len() <= OWNERSHIP_LIMIT => {
                Some(fs::read_to_string(&marker).map_err(|e| failed("read", &marker, &e))?)
            }
            Ok(_) => {
                found.damaged = Some(1);
                return Ok(found);
            }
        };
        let owned = match recorded.as_deref().map(ownership::parse_beside) {
            Some(Ok(owned)) => owned,
            Some(Err(line)) => {
                found.damaged = Some(line);
                return Ok(found);
            }
            None => BTreeMap::new(),
        };
        found.marker = (!files.is_empty()).then(|| ownership::beside_text(files));
        match (&recorded, &found.marker) {
            (None, Some(_)) => found.missing.push(ownership::FILE_NAME.to_owned()),
            (Some(_), None) => found.extra.push(ownership::FILE_NAME.to_owned()),
            (Some(old), Some(new)) if old != new => {
                found.stale.push(ownership::FILE_NAME.to_owned());
            }
            _ => {}
        }
        for (path, content) in files {
            found.wanted(root, path, content, owned.get(path))?;
        }
        for (path, sum) in owned.iter().filter(|(path, _)| !files.contains_key(*path)) {
            let file = root.join(path);
            if obstacle(root, path)?.is_none() && fs::symlink_metadata(&file).is_ok() {
                found.extra.push(path.clone());
                found.note_edit(&file, path, sum)?;
            }
        }
        let paths = files.keys().chain(owned.keys()).map(PathBuf::from);
        found.ours = paths.chain([PathBuf::from(ownership::FILE_NAME)]).collect();
        let BesideInspection { missing, stale, extra, edited, foreign, .. } = &mut found;
        for list in [missing, stale, extra, edited, foreign] {
            list.sort();
            list.dedup();
        }
        Ok(found)
    }

    fn wanted(
        &mut self,
        root: &Path,
        path: &str,
        content: &[u8],
        sum: Option<&String>,
    ) -> Result<(), Diagnostics> {
        if let Some(obstacle) = obstacle(root, path)? {
            self.foreign.push(obstacle);
            return Ok(());
        }
        let file = root.join(path);
        let metadata = match fs::symlink_metadata(&file) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.missing.push(path.to_owned());
                return Ok(());
            }
            Err(error) => return Err(failed("read", &file, &error)),
        };
        if has_content(&file, &metadata, content).map_err(|e| failed("read", &file, &e))? {
            return Ok(());
        }
        match sum {
            Some(sum) => {
                self.stale.push(path.to_owned());
                self.note_edit(&file, path, sum)
            }
            None => {
                self.foreign.push(path.to_owned());
                Ok(())
            }
        }
    }

    fn note_edit(&mut self, file: &Path, path: &str, sum: &str) -> Result<(), Diagnostics> {
        let is_file = fs::symlink_metadata(file).is_ok_and(|metadata| metadata.is_file());
        if !is_file || sha256_of(file).map_err(|e| failed("read", file, &e))? != sum {
            self.edited.push(path.to_owned());
        }
        Ok(())
    }

    /// Whether a build would change nothing.
    pub(super) fn is_current(&self) -> bool {
        self.missing.is_empty() && self.stale.is_empty() && self.extra.is_empty()
    }

    /// Paths from the output folder that the new tree does not have from the old one.
    pub(super) fn rewritten(&self) -> impl Iterator<Item = &Path> {
        self.ours.iter().map(PathBuf::as_path)
    }

    /// Paths from the output folder that may disappear with the old tree.
    pub(super) fn disposable(&self) -> impl Iterator<Item = PathBuf> {
        let missing: BTreeSet<&Path> = self.missing.iter().map(Path::new).collect();
        self.ours.iter().filter(move |path| !missing.contains(path.as_path())).cloned()
    }

    /// What the new tree has of them.
    pub(super) fn contents<'a>(
        &'a self,
        files: &'a BesideFiles,
    ) -> impl Iterator<Item = (&'a str, &'a [u8])> {
        let marker = self.marker.iter().map(|text| (ownership::FILE_NAME, text.as_bytes()));
        files.iter().map(|(path, content)| (path.as_str(), content.as_slice())).chain(marker)
    }

    /// Why it is not known which files are ours.
    pub(super) fn damage(&self, root: &Path) -> Diagnostics {
        let mut problems = Diagnostics::new();
        if let Some(line) = self.damaged {
            let file = root.join(ownership::FILE_NAME).display().to_string();
            problems.push(
                Diagnostic::error(
                    Code::OwnershipFile,
                    format!("`{file}` is damaged, so it is not known which files are bundle2chart's"),
                )
                .at(Place { line: Some(line), ..Place::file(&file) })
                .hint(format!(
                    "restore it from Git, or delete `{file}` and the files that it lists, and build \
                     again"
                )),
            );
        }
        problems
    }

    /// Why the files must not be written over what is there.
    pub(super) fn refusals(&self, root: &Path, replace: bool) -> Diagnostics {
        let mut problems = self.damage(root);
        for path in &self.foreign {
            let file = root.join(path).display().to_string();
            problems.push(
                Diagnostic::error(
                    Code::NotOurs,
                    format!("`{file}` was not written by bundle2chart, so it is not replaced"),
                )
                .at(Place::file(file))
                .hint("move it away, or have `[deploy]` use another name"),
            );
        }
        if !replace && !self.edited.is_empty() {
            let files = name_some(&self.edited);
            let refused = Diagnostic::error(
                Code::ChartEdited,
                format!("files beside the charts were edited: {files}"),
            )
            .at(Place::file(root.display().to_string()))
            .hint(
                "say it in `[deploy]` so that it outlives the next build, or discard it with \
                 `--replace`",
            );
            problems.push(self.edited.iter().fold(refused, |refused, path| {
                refused.related(
                    Place::file(root.join(path).display().to_string()),
                    "edited since bundle2chart wrote it; replacing it would lose the edit",
                )
            }));
        }
        problems
    }
}

/// What keeps the folders above `path` from being folders for files beside the charts.
fn obstacle(root: &Path, path: &str) -> Result<Option<String>, Diagnostics> {
    for (end, _) in path.match_indices('/') {
        let Some(folder) = path.get(..end) else { continue };
        let full = root.join(folder);
        match fs::symlink_metadata(&full) {
            Ok(metadata) if metadata.is_dir() && !is_marked(&full) => {}
            Ok(_) => return Ok(Some(folder.to_owned())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed("read", &full, &error)),
        }
    }
    Ok(None)
}

/// Refuses files that could not be written beside these charts in any folder.
pub(super) fn check(files: &BesideFiles, charts: &[ChartFiles]) -> Result<(), Diagnostics> {
    let mut problems = Diagnostics::new();
    let mut refuse = |path: &str, why: String| {
        problems.push(Diagnostic::error(Code::ChartPath, why).at(Place::file(path)));
    };
    for path in files.keys() {
        if !is_chart_path(path) {
            refuse(path, format!("`{path}` cannot be the path of a file beside the charts"));
        }
        let as_folder = path.match_indices('/').filter_map(|(end, _)| path.get(..end));
        for folder in as_folder.filter(|folder| files.contains_key(*folder)) {
            refuse(path, format!("`{folder}` would be a file and the folder of `{path}`"));
        }
        let file = Path::new(path);
        for chart in charts {
            if file.starts_with(&chart.dir) || chart.dir.starts_with(file) {
                let dir = chart.dir.display();
                refuse(path, format!("`{path}` would be in the way of the chart `{dir}`"));
            }
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}
