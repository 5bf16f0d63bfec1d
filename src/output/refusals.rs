//! The reasons why a build must not overwrite what is in the output directory.

use super::chart_files::OwnedFiles;
use super::failure::error;
use super::inspection::{Inspection, State};
use super::ownership::{self, Recorded};
use crate::diag::{self, Code, Diagnostic, Diagnostics, Fatal, Place};
use crate::regular_file;
use crate::source::chart::{Committed, committed};
use std::collections::BTreeSet;
use std::path::Path;

/// Maximum number of files that a message names.
const NAMED_FILES: usize = 5;

/// Bytes of a file that are compared line by line.
const FILE_LIMIT: u64 = 64 << 20;

/// Reports why files must not be written to the output directory `out`, if so. `replace` allows to
/// discard edits and different content under an existing version of a chart.
pub(super) fn of(
    out: &Path,
    wanted: &OwnedFiles<'_>,
    found: &Inspection,
    replace: bool,
    diagnostics: &mut Diagnostics,
) {
    let Some(version) = &wanted.ownership.version else {
        return of_deployment(out, found, replace, diagnostics);
    };
    let folder = out.join(wanted.dir);
    let shown = folder.display();
    if let Some(refused) = misplaced(out, &folder, found) {
        return diagnostics.push(refused);
    }
    if let Err(damage) = damage(&folder, found) {
        let hint = format!("restore it from Git, or delete `{shown}` and build again");
        return diagnostics.push(damage.hint(hint));
    }
    // The order matters: an error in the place of the chart explains all errors of its files.
    let recorded = match &found.state {
        State::There(Recorded::Files(recorded)) => recorded,
        State::Absent => return,
        _ => {
            let message = format!(
                "the directory `{shown}` was not written by bundle2chart and is not changed"
            );
            let hint = "move it away, rename the bundle, or use another directory with `--out`";
            return diagnostics.push(error(Code::NotOurs, message, &folder).hint(hint));
        }
    };

    for path in &found.foreign {
        let file = folder.join(path);
        let message = format!("`{}` was not written by bundle2chart", file.display());
        diagnostics.push(error(Code::ForeignFile, message, &file).hint(
            "move it out of the chart directory, or declare it in bundles.toml with \
                `[[bundle.overlay]]`",
        ));
    }

    if replace {
        return;
    }
    let is_other =
        recorded.version.as_ref() == Some(version) && !recorded.is_same_chart(&wanted.ownership);
    // Asked last, because it starts git.
    let is_released = || !is_unreleased(out, wanted.dir, recorded.to_text().as_bytes());
    if is_other && (!found.edited.is_empty() || is_released()) {
        let message = format!(
            "chart `{shown}` exists with version {version} and different content: {}",
            name_some(&differing(found))
        );
        let refused = error(Code::ChartVersionExists, message, &folder).hint(
            "raise `chart-version` of this bundle in bundles.toml, or build with `--replace` if \
                the old chart was never installed",
        );
        let refused = match first_difference(&folder, wanted, found) {
            Some(place) => refused.related(place, "first line that differs"),
            None => refused,
        };
        diagnostics.push(with_edits(refused, &folder, found));
    } else if !found.edited.is_empty() {
        let edited = name_some(&found.edited);
        let message = format!("generated files of chart `{shown}` were edited: {edited}");
        let refused = error(Code::ChartEdited, message, &folder)
            .hint("declare the change in bundles.toml, or discard it with `--replace`");
        diagnostics.push(with_edits(refused, &folder, found));
    }
}

fn of_deployment(out: &Path, found: &Inspection, replace: bool, diagnostics: &mut Diagnostics) {
    if let Err(damage) = damage(out, found) {
        return diagnostics.push(*damage);
    }

    for path in &found.foreign {
        let file = out.join(path);
        let message =
            format!("`{}` was not written by bundle2chart and is not replaced", file.display());
        let hint = "move it away, or use another name in `[deploy]`";
        diagnostics.push(error(Code::NotOurs, message, &file).hint(hint));
    }

    if !replace && !found.edited.is_empty() {
        let edited = name_some(&found.edited);
        let message = format!("generated deployment files were edited: {edited}");
        let refused = error(Code::ChartEdited, message, out)
            .hint("make the change in `[deploy]`, or discard it with `--replace`");
        diagnostics.push(with_edits(refused, out, found));
    }
}

/// Returns true if the chart in the directory `dir` of the output directory is in a Git work tree
/// and HEAD does not have it as it is, so that replacing it changes no released version. False
/// without Git, and if Git ignores the directory.
fn is_unreleased(out: &Path, dir: &Path, marker: &[u8]) -> bool {
    let path = dir.join(ownership::FILE_NAME);
    match path.to_str().map(|path| committed(out, path)) {
        None | Some(Committed::Unknown) => false,
        Some(Committed::Absent) => true,
        Some(Committed::File(content)) => content != marker,
    }
}

/// Returns an error if the ownership file of `folder` is invalid.
pub(super) fn damage(folder: &Path, found: &Inspection) -> Result<(), Fatal> {
    let State::There(Recorded::Damaged(line)) = found.state else { return Ok(()) };
    let file = folder.join(ownership::FILE_NAME).display().to_string();
    let message = format!("cannot parse `{file}`, which lists the files that bundle2chart owns");
    let hint = format!(
        "restore it from Git, or delete `{file}` and the files that it lists, and build again"
    );
    let place = Place { line: Some(line), ..Place::file(file) };
    Err(Diagnostic::error(Code::OwnershipFile, message).at(place).hint(hint).into())
}

/// Returns an error if the chart's directory would be inside another chart's, or the other way
/// around, or something else has its path.
fn misplaced(out: &Path, folder: &Path, found: &Inspection) -> Option<Diagnostic> {
    let shown = folder.display();
    let layout_changed = |message| error(Code::LayoutChanged, message, folder);
    match &found.state {
        State::InTheWay(path) => {
            let path = out.join(path);
            let message = format!("`{}` blocks a chart directory", path.display());
            let hint = "move it away, or rename the bundle";
            return Some(error(Code::NotOurs, message, &path).hint(hint));
        }
        State::InsideChart(outer) => {
            let outer = out.join(outer);
            let outer = outer.display();
            let message =
                format!("the chart directory `{shown}` would be inside the chart `{outer}`");
            let hint = format!("delete `{outer}` if it is no longer installed");
            return Some(layout_changed(message).hint(hint));
        }
        _ => {}
    }

    // Layouts `versioned` and `flat` nest into each other: out/NAME is a chart of one and holds
    // those of the other.
    let marker = found.foreign.iter().find(|path| path.ends_with(ownership::FILE_NAME))?;
    let inner = folder.join(marker.parent()?);
    let inner = inner.display();
    let message = format!("the chart directory `{shown}` contains the chart `{inner}`");
    let hint = "move or delete the charts of the old layout, or build with another `--out`";
    Some(layout_changed(message).hint(hint))
}

/// Adds the edited files to an error.
fn with_edits(refused: Diagnostic, folder: &Path, found: &Inspection) -> Diagnostic {
    found.edited.iter().fold(refused, |refused, path| {
        let place = Place::file(folder.join(path).display().to_string());
        refused.related(place, "edited since bundle2chart wrote it")
    })
}

/// Returns the first line that differs, in the first stale file; documents come last, because they
/// follow from the rest. The content is not shown: it may be a Secret of an overlay.
fn first_difference(folder: &Path, wanted: &OwnedFiles<'_>, found: &Inspection) -> Option<Place> {
    let stale = wanted
        .iter()
        .filter(|(path, _)| found.stale.contains(*path) && *path != ownership::FILE_NAME);
    let (path, content) = stale.min_by_key(|(path, _)| (path.ends_with(".md"), *path))?;
    let file = folder.join(path);
    let old = regular_file::read(&file, FILE_LIMIT).ok()?;

    let lines = old.split(|byte| *byte == b'\n').zip(content.split(|byte| *byte == b'\n'));
    let same = lines.take_while(|(old, new)| old == new).count();
    Some(Place { line: Some(same + 1), ..Place::file(file.display().to_string()) })
}

/// Files that differ, for a person: the ownership file says nothing new unless it is the only one.
fn differing(found: &Inspection) -> BTreeSet<String> {
    let mut all = &(&found.missing | &found.stale) | &found.extra;
    if all.len() > 1 {
        all.remove(ownership::FILE_NAME);
    }
    all
}

/// Returns a few quoted paths for a sentence.
fn name_some(paths: &BTreeSet<String>) -> String {
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    diag::listed(diag::quoted(&paths), NAMED_FILES)
}

#[cfg(test)]
mod tests;
