//! Versions of charts above the number that the configuration keeps (`keep`).

use super::chart_versions::older;
use super::inspection::sha256_of;
use super::ownership::{self, Ownership, Recorded};
use crate::chart::CHART_LOCK;
use crate::diag::{Code, Diagnostic, Diagnostics, Place};
use crate::source::chart as charts;
use std::io;
use std::path::{Path, PathBuf};

/// Returns the directories of earlier versions of a chart that exceed `keep` versions, relative to
/// the output directory `out`. The chart itself, in `dir` with this version, counts as one; later
/// versions are never removed. Directories that contain other files than those that bundle2chart
/// wrote are kept, with a warning. Without `keep`, all versions are kept.
pub fn outdated(
    out: &Path,
    dir: &Path,
    version: &str,
    keep: Option<u32>,
    diagnostics: &mut Diagnostics,
) -> Vec<PathBuf> {
    // The layout `flat` has one version per chart.
    let has_versions = dir.iter().count() == 2;
    let Some(keep) = keep.filter(|_| has_versions) else { return Vec::new() };
    let mut earlier = diagnostics.report(older(out, dir, version)).unwrap_or_default();
    // Others have no order.
    earlier.retain(|(_, version)| semver::Version::parse(version).is_ok());

    let kept = usize::try_from(keep).unwrap_or(usize::MAX).saturating_sub(1);
    let mut outdated = Vec::new();
    for (dir, _) in earlier.into_iter().skip(kept) {
        let folder = out.join(&dir);
        let shown = folder.display().to_string();
        let (code, why, hint) = match foreign_file(&folder) {
            Ok(None) => {
                outdated.push(PathBuf::from(dir));
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

#[cfg(test)]
mod tests;
