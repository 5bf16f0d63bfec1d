//! Versions of charts above the number that the configuration keeps (`keep`).

use super::inspection::sha256_of;
use super::ownership::{self, Ownership, Recorded};
use crate::chart::CHART_LOCK;
use crate::diag::{Code, Diagnostic, Diagnostics, Place};
use crate::source::chart as charts;
use std::cmp::Reverse;
use std::io;
use std::path::{Path, PathBuf};

/// Returns the directories of earlier versions of a chart that exceed `keep` versions, relative to
/// the output directory `out`. The chart itself, in `dir` with this version, counts as one; later
/// versions are never removed. Directories that contain other files than those that bundle2chart
/// wrote are kept, with a warning.
pub fn outdated(
    out: &Path,
    dir: &Path,
    version: &str,
    keep: u32,
    diagnostics: &mut Diagnostics,
) -> Vec<PathBuf> {
    let parts: Vec<_> = dir.iter().collect();
    // The layout `flat` has one version per chart.
    let ([name, _], Ok(built)) = (parts.as_slice(), semver::Version::parse(version)) else {
        return Vec::new();
    };
    let folder = out.join(name);
    let mut earlier: Vec<(semver::Version, PathBuf)> = Vec::new();
    for version in diagnostics.report(charts::folders(&folder)).unwrap_or_default() {
        let is_ours = folder.join(&version).join(ownership::FILE_NAME).is_file();
        match semver::Version::parse(&version) {
            Ok(parsed) if is_ours && parsed < built => {
                earlier.push((parsed, Path::new(name).join(version)));
            }
            _ => {}
        }
    }
    // By precedence of versions, not by name: 1.10.0 is after 1.9.0.
    earlier.sort_by_key(|(version, _)| Reverse(version.clone()));

    let kept = usize::try_from(keep).unwrap_or(usize::MAX).saturating_sub(1);
    let mut outdated = Vec::new();
    for (_, dir) in earlier.into_iter().skip(kept) {
        let folder = out.join(&dir);
        let shown = folder.display().to_string();
        let (code, why, hint) = match foreign_file(&folder) {
            Ok(None) => {
                outdated.push(dir);
                continue;
            }
            Ok(Some(file)) => {
                let why = format!("`{}` in it was not written by bundle2chart", file.display());
                (Code::ForeignFile, why, "move the file away, or delete the directory")
            }
            Err(error) => (Code::OutputFailed, error.to_string(), "make the directory readable"),
        };
        let message = format!("`{shown}` is not removed: {why}");
        diagnostics.push(Diagnostic::warning(code, message).at(Place::file(shown)).hint(hint));
    }
    outdated
}

/// Returns a file in a chart directory that bundle2chart did not write, or that was edited.
fn foreign_file(folder: &Path) -> io::Result<Option<PathBuf>> {
    let recorded = Ownership::read(folder).map_err(|problem| io::Error::other(problem.message))?;
    let Recorded::Files(owned) = recorded else {
        return Ok(Some(PathBuf::from(ownership::FILE_NAME)));
    };
    for (path, metadata) in charts::files_below(folder).map_err(|(_, error)| error)? {
        let name = path.to_str().unwrap_or_default();
        if [ownership::FILE_NAME, CHART_LOCK].contains(&name) {
            continue;
        }
        let sum = owned.sums.get(name).filter(|_| metadata.is_file());
        let is_ours = match sum {
            Some(sum) => sha256_of(&folder.join(&path))? == *sum,
            None => false,
        };
        if !is_ours {
            return Ok(Some(path));
        }
    }
    Ok(None)
}
