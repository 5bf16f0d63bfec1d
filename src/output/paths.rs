//! Rejects paths that lead out of their directory, need quoting, or conflict.

use super::chart_files::{ChartFiles, DeploymentFiles};
use super::failure::error;
use super::ownership::is_chart_path;
use crate::diag::{Code, Diagnostics};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Checks the paths in a chart; `None` if there is an error.
pub(super) fn check_chart(chart: &ChartFiles, diagnostics: &mut Diagnostics) -> Option<()> {
    let before = diagnostics.mark();
    let (dir, shown) = (&chart.dir, chart.dir.display());
    if !dir.to_str().is_some_and(is_chart_path) {
        refuse(dir, format!("invalid chart directory `{shown}`"), diagnostics);
    }
    if chart.version.chars().any(char::is_control) {
        refuse(dir, format!("the version of chart `{shown}` has control characters"), diagnostics);
    }
    check_files(&chart.files, Some(dir), diagnostics);
    diagnostics.no_errors_since(before)
}

/// Checks that no chart's directory is in another chart's; `None` if there is an error.
pub(super) fn check_dirs(dirs: &[&Path], diagnostics: &mut Diagnostics) -> Option<()> {
    let before = diagnostics.mark();
    let mut known = BTreeSet::new();
    for dir in dirs {
        if !known.insert(*dir) {
            let message = format!("two charts have the directory `{}`", dir.display());
            refuse(dir, message, diagnostics);
        }
    }
    for dir in dirs {
        for outer in dir.ancestors().skip(1).filter(|outer| known.contains(outer)) {
            let (inner, outer) = (dir.display(), outer.display());
            let message = format!("the chart `{inner}` would be inside the chart `{outer}`");
            refuse(dir, message, diagnostics);
        }
    }
    diagnostics.no_errors_since(before)
}

/// Checks the paths of deployment files next to the charts in `dirs`; `None` if there is an
/// error.
pub(super) fn check_deployment(
    files: &DeploymentFiles,
    dirs: &[&Path],
    diagnostics: &mut Diagnostics,
) -> Option<()> {
    let before = diagnostics.mark();
    check_files(files, None, diagnostics);
    let charts: BTreeSet<&Path> = dirs.iter().copied().collect();
    let around: BTreeMap<&Path, &Path> =
        dirs.iter().flat_map(|dir| dir.ancestors().map(move |around| (around, *dir))).collect();
    for file in files.keys().map(Path::new) {
        let outer = file.ancestors().find(|folder| charts.contains(folder));
        if let Some(dir) = outer.or_else(|| around.get(file).copied()) {
            let (path, dir) = (file.display(), dir.display());
            refuse(file, format!("`{path}` conflicts with the chart `{dir}`"), diagnostics);
        }
    }
    diagnostics.no_errors_since(before)
}

/// Checks the paths of files that have one directory. Errors have the place `place`, or the file.
fn check_files(
    files: &BTreeMap<String, Vec<u8>>,
    place: Option<&Path>,
    diagnostics: &mut Diagnostics,
) {
    for path in files.keys() {
        let place = place.unwrap_or(Path::new(path));
        if !is_chart_path(path) {
            refuse(place, format!("invalid path `{path}` of a generated file"), diagnostics);
        }
        let folders = path.match_indices('/').filter_map(|(end, _)| path.get(..end));
        for folder in folders.filter(|folder| files.contains_key(*folder)) {
            let message = format!("`{folder}` would be both a file and the directory of `{path}`");
            refuse(place, message, diagnostics);
        }
    }
}

fn refuse(place: &Path, message: String, diagnostics: &mut Diagnostics) {
    diagnostics.push(error(Code::ChartPath, message, place));
}
