//! The deployment files next to the charts (helmfile, Argo CD, Flux).
//!
//! They are in the output directory itself, so an ownership file there lists them. Files that it
//! does not list are never overwritten or deleted.

use super::compare::{OWNERSHIP_LIMIT, has_content, is_marked, sha256_of};
use super::failure::failed;
use super::ownership::{self, is_chart_path};
use super::tree::name_some;
use crate::diag::{Code, Diagnostic, Diagnostics, Place};
use crate::regular_file;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

/// Content by `/`-separated path relative to the output directory.
pub type DeploymentFiles = BTreeMap<String, Vec<u8>>;

/// The differences between the existing files and those of a build.
#[derive(Debug, Default)]
pub(super) struct DeploymentInspection {
    /// Files that are not there; the ownership file among them.
    pub(super) missing: Vec<String>,
    /// Files with other content; the ownership file among them.
    pub(super) stale: Vec<String>,
    /// Owned files that are no longer generated.
    pub(super) extra: Vec<String>,
    /// Those of `stale` and `extra` that were edited after bundle2chart wrote them.
    edited: Vec<String>,
    /// Files of others that block a path.
    pub(super) foreign: Vec<String>,
    /// The 1-based line of the ownership file that cannot be understood.
    damaged: Option<usize>,
    /// The ownership file; it is not written when there are no files.
    marker: String,
}

impl DeploymentInspection {
    /// Inspects the output directory `root` for `files`.
    pub(super) fn of(root: &Path, files: &DeploymentFiles) -> Result<Self, Diagnostics> {
        let mut found = DeploymentInspection::default();
        let marker = root.join(ownership::FILE_NAME);
        let recorded = match fs::symlink_metadata(&marker) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(failed("read", &marker, &error)),
            Ok(metadata) if metadata.is_file() && metadata.len() <= OWNERSHIP_LIMIT => {
                let text = regular_file::read(&marker, OWNERSHIP_LIMIT);
                let text = text.map_err(|e| failed("read", &marker, &e))?;
                match String::from_utf8(text) {
                    Ok(text) => Some(text),
                    Err(_) => {
                        found.damaged = Some(1);
                        return Ok(found);
                    }
                }
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

        found.marker = ownership::beside_text(files);
        match &recorded {
            None if files.is_empty() => {}
            None => found.missing.push(ownership::FILE_NAME.to_owned()),
            Some(_) if files.is_empty() => found.extra.push(ownership::FILE_NAME.to_owned()),
            Some(old) if *old != found.marker => {
                found.stale.push(ownership::FILE_NAME.to_owned());
            }
            Some(_) => {}
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

        let DeploymentInspection { missing, stale, extra, edited, foreign, .. } = &mut found;
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

    /// Returns true if a build would change nothing.
    pub(super) fn is_current(&self) -> bool {
        self.missing.is_empty() && self.stale.is_empty() && self.extra.is_empty()
    }

    /// Returns the files to stage: the changed files, and always the ownership file.
    pub(super) fn changed<'a>(
        &'a self,
        files: &'a DeploymentFiles,
    ) -> impl Iterator<Item = (&'a str, &'a [u8])> {
        // Both are sorted.
        let lists = [&self.missing, &self.stale];
        let differs = move |path: &String| lists.iter().any(|l| l.binary_search(path).is_ok());
        let changed = files.iter().filter(move |(path, _)| differs(path));
        let marker = [(ownership::FILE_NAME, self.marker.as_bytes())];
        changed.map(|(path, content)| (path.as_str(), content.as_slice())).chain(marker)
    }

    /// Reports an invalid ownership file.
    pub(super) fn damage(&self, root: &Path) -> Diagnostics {
        let mut problems = Diagnostics::new();
        if let Some(line) = self.damaged {
            let file = root.join(ownership::FILE_NAME).display().to_string();
            problems.push(
                Diagnostic::error(
                    Code::OwnershipFile,
                    format!("cannot parse `{file}`, which lists the files that bundle2chart owns"),
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

    /// Returns the reasons why the existing files must not be overwritten.
    pub(super) fn refusals(&self, root: &Path, replace: bool) -> Diagnostics {
        let mut problems = self.damage(root);
        for path in &self.foreign {
            let file = root.join(path).display().to_string();
            problems.push(
                Diagnostic::error(
                    Code::NotOurs,
                    format!("`{file}` was not written by bundle2chart and is not replaced"),
                )
                .at(Place::file(file))
                .hint("move it away, or use another name in `[deploy]`"),
            );
        }

        if !replace && !self.edited.is_empty() {
            let files = name_some(&self.edited);
            let refused = Diagnostic::error(
                Code::ChartEdited,
                format!("generated deployment files were edited: {files}"),
            )
            .at(Place::file(root.display().to_string()))
            .hint("make the change in `[deploy]`, or discard it with `--replace`");
            problems.push(self.edited.iter().fold(refused, |refused, path| {
                refused.related(
                    Place::file(root.join(path).display().to_string()),
                    "edited since bundle2chart wrote it",
                )
            }));
        }

        problems
    }
}

/// Returns the path that prevents the parent directories of `path` from being created, if any.
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

/// Rejects files whose paths are invalid or conflict with charts.
pub(super) fn check(files: &DeploymentFiles, dirs: &[&Path]) -> Result<(), Diagnostics> {
    let around = dirs.iter().flat_map(|dir| dir.ancestors().map(move |around| (around, *dir)));
    let around: BTreeMap<&Path, &Path> = around.collect();
    let mut problems = Diagnostics::new();
    let mut refuse = |path: &str, why: String| {
        problems.push(Diagnostic::error(Code::ChartPath, why).at(Place::file(path)));
    };
    for path in files.keys() {
        if !is_chart_path(path) {
            refuse(path, format!("invalid path `{path}` for a deployment file"));
        }
        let as_folder = path.match_indices('/').filter_map(|(end, _)| path.get(..end));
        for folder in as_folder.filter(|folder| files.contains_key(*folder)) {
            refuse(path, format!("`{folder}` would be both a file and the directory of `{path}`"));
        }
        let file = Path::new(path);
        let inside = |folder: &Path| around.get(folder).filter(|dir| **dir == folder);
        if let Some(dir) = around.get(file).or_else(|| file.ancestors().find_map(inside)) {
            let dir = dir.display();
            refuse(path, format!("`{path}` conflicts with the chart `{dir}`"));
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}
