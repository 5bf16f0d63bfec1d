//! The charts in the output directory.

use super::{Package, archive, artifact};
use crate::diag::{Code, Diagnostic, Diagnostics, Fatal, Place, quoted, suggest};
use crate::output::ChartFiles;
use crate::output::chart_versions::{ChartName, precedence};
use crate::output::ownership::{FILE_NAME, Ownership, Recorded, UPGRADE_REPORT};
use crate::source::chart as charts;
use crate::source::sha256;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A directory with a chart that bundle2chart wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ChartDirectory {
    /// Name of the chart.
    name: String,
    /// Version of the chart.
    version: String,
    /// The output directory.
    out: PathBuf,
    /// The directory relative to the output directory.
    dir: String,
    /// The directory.
    path: PathBuf,
    /// The files that bundle2chart wrote.
    ownership: Ownership,
}

/// Returns the charts in the output directory that bundle2chart wrote, sorted by name and version:
/// `NAME/VERSION` or, in the flat layout, `NAME`.
///
/// `None` if there is no chart, or if an ownership file is invalid.
pub(super) fn charts_in(out: &Path, diagnostics: &mut Diagnostics) -> Option<Vec<ChartDirectory>> {
    let mut found = Vec::new();
    let start = diagnostics.mark();
    for name in diagnostics.report(charts::folders(out))? {
        let folder = out.join(&name);
        let dirs: Vec<String> = if charts::is_chart(&folder) {
            vec![name.clone()]
        } else {
            let versions = diagnostics.report(charts::folders(&folder))?;
            versions.iter().map(|version| format!("{name}/{version}")).collect()
        };
        for dir in dirs {
            let path = out.join(&dir);
            if !path.join(FILE_NAME).is_file() {
                continue;
            }
            // All faults are reported before the command fails.
            if let Some(ownership) = ownership(&path, diagnostics) {
                let (name, out) = (name.clone(), out.to_owned());
                let version = ownership.version.clone().unwrap_or_default();
                found.push(ChartDirectory { name, version, out, dir, path, ownership });
            }
        }
    }

    diagnostics.no_errors_since(start)?;
    if found.is_empty() {
        let message = format!("no charts in `{}`", out.display());
        let hint = "run `bundle2chart build`";
        return diagnostics.fail(Diagnostic::error(Code::ChartNotFound, message).hint(hint));
    }
    found.sort_by_cached_key(|chart| (chart.name.clone(), precedence(&chart.version)));
    Some(found)
}

/// Reads the ownership file of a chart.
fn ownership(folder: &Path, diagnostics: &mut Diagnostics) -> Option<Ownership> {
    let line = match diagnostics.report(Ownership::of_chart(folder))? {
        Recorded::Files(ownership) => return Some(ownership),
        Recorded::Damaged(line) => line,
        Recorded::Missing => 1,
    };
    let file = folder.join(FILE_NAME).display().to_string();
    let message = format!("cannot use `{file}`: line {line} is not valid");
    let place = Place { line: Some(line), ..Place::file(&file) };
    let hint = "restore it from Git, or delete the chart's directory and build again";
    diagnostics.fail(Diagnostic::error(Code::OwnershipFile, message).at(place).hint(hint))
}

/// Returns the indexes of the selected charts; `names` are as in [`super::packages`]. `None` if there
/// is no chart of a name.
pub(super) fn select(
    charts: &[ChartDirectory],
    names: &[String],
    out: &Path,
    diagnostics: &mut Diagnostics,
) -> Option<BTreeSet<usize>> {
    let newest = |name: &str| charts.iter().rposition(|chart| chart.name == name);
    if names.is_empty() {
        return Some(charts.iter().filter_map(|chart| newest(&chart.name)).collect());
    }
    let mut selected = BTreeSet::new();
    let start = diagnostics.mark();
    for argument in names {
        let ChartName { name, version } = ChartName::parse(argument, out);
        let found = match version {
            Some(version) => {
                charts.iter().position(|chart| chart.name == name && chart.version == version)
            }
            None => newest(name),
        };
        if found.is_none() {
            diagnostics.push(not_found(charts, argument, name, out));
        }
        selected.extend(found);
    }

    (!diagnostics.has_errors_since(start)).then_some(selected)
}

/// Returns the directory of one chart, `NAME` or `NAME@VERSION` as in [`super::packages`].
pub(crate) fn chart_in(out: &Path, name: &str, diagnostics: &mut Diagnostics) -> Option<PathBuf> {
    let charts = charts_in(out, diagnostics)?;
    let selected = select(&charts, &[name.to_owned()], out, diagnostics)?;
    Some(charts.get(*selected.first()?)?.path.clone())
}

fn not_found(charts: &[ChartDirectory], argument: &str, name: &str, out: &Path) -> Diagnostic {
    let versions: Vec<&str> = charts
        .iter()
        .filter(|chart| chart.name == name)
        .map(|chart| chart.version.as_str())
        .collect();
    let hint = if versions.is_empty() {
        let mut names: Vec<&str> = charts.iter().map(|chart| chart.name.as_str()).collect();
        names.dedup();
        suggest::hint(name, &names, "charts")
    } else {
        format!("use one of the versions {}", quoted(&versions).join(", "))
    };
    let argument = argument.escape_debug();
    let message = format!("chart `{argument}` not found in `{}`", out.display());
    Diagnostic::error(Code::ChartNotFound, message).hint(hint)
}

impl ChartDirectory {
    /// Packages the chart, without the ownership file and the upgrade report, which `.helmignore`
    /// excludes too.
    ///
    /// `None` if the directory differs from what bundle2chart wrote: a package cannot be reviewed
    /// like a directory in Git, so nothing else may get into it.
    pub(super) fn package(&self, diagnostics: &mut Diagnostics) -> Option<Package> {
        let mut files = diagnostics.report(charts::read_built(&self.out, &self.dir))?;
        files.remove(FILE_NAME);
        let shown = |file: &str| self.path.join(file).display().to_string();
        let start = diagnostics.mark();
        for (path, sum) in &self.ownership.sums {
            let what = match files.get(path) {
                None => "is missing",
                // Only the bytes count: modes and times are not in a package.
                Some(content) if sha256(content) != *sum => "was edited",
                Some(_) => continue,
            };
            let (file, hint) = (shown(path), "restore it with `bundle2chart build --replace`");
            let message = format!("`{file}` {what}");
            diagnostics.error(Code::ChartEdited, Place::file(file), message, hint);
        }
        for path in files.keys().filter(|path| !self.ownership.sums.contains_key(*path)) {
            let file = shown(path);
            let message = format!("`{file}` was not written by bundle2chart");
            let hint = "move the file out of the chart, or declare it as an overlay";
            diagnostics.error(Code::ForeignFile, Place::file(file), message, hint);
        }

        diagnostics.no_errors_since(start)?;
        // After the checks, in which it is a file of the chart like others.
        files.remove(UPGRADE_REPORT);
        let (dir, version) = (PathBuf::from(&self.dir), self.version.clone());
        package(&ChartFiles { dir, version, files }, &self.path, diagnostics)
    }
}

/// Packages the files of a chart, without those that `.helmignore` excludes; `folder` is for messages.
pub(crate) fn package(
    chart: &ChartFiles,
    folder: &Path,
    diagnostics: &mut Diagnostics,
) -> Option<Package> {
    let ChartFiles { version, files, .. } = chart;
    let refused = |path: &Path, message: String| -> Fatal {
        Diagnostic::error(Code::ChartUnreadable, message)
            .at(Place::file(path.display().to_string()))
            .hint("delete the chart's directory and build again")
            .into()
    };
    let metadata =
        charts::metadata(files).and_then(|metadata| match metadata["version"] == **version {
            true => Ok(metadata),
            false => Err(format!("it does not have version {version}")),
        });
    let metadata = diagnostics.report(metadata.map_err(|why| {
        let path = folder.join("Chart.yaml");
        refused(&path, format!("cannot use `{}`: {why}", path.display()))
    }))?;
    let archive = diagnostics.report(archive::tgz(chart.name(), files).map_err(|error| {
        refused(folder, format!("cannot package `{}`: {error}", folder.display()))
    }))?;

    Some(Package {
        name: chart.name().to_owned(),
        version: version.clone(),
        artifact: artifact::artifact(&metadata, &archive),
        archive,
    })
}
