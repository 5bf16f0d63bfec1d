//! The names and versions of charts in an output directory.

use super::ownership;
use crate::diag::{Code, Diagnostic, Fatal};
use crate::source::chart::{self as charts, ChartTree, Identity};
use std::cmp::Reverse;
use std::path::Path;

/// A chart in an output directory, as users name it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChartName<'t> {
    /// Name of the chart.
    pub(crate) name: &'t str,
    /// The version; `None` for the highest one.
    pub(crate) version: Option<&'t str>,
}

impl<'t> ChartName<'t> {
    /// Parses `NAME@VERSION`, `NAME`, or the path of a chart in the output directory `out`, which is
    /// what a shell completes.
    pub(crate) fn parse(text: &'t str, out: &Path) -> Self {
        let inside = Path::new(text).strip_prefix(out).ok().and_then(Path::to_str);
        let text = inside.unwrap_or(text).trim_end_matches('/');
        match text.split_once(['@', '/']) {
            Some((name, version)) => ChartName { name, version: Some(version) },
            None => ChartName { name: text, version: None },
        }
    }
}

/// Returns the versions of a chart and their directories, relative to the output directory.
pub(crate) fn versions_in(tree: &ChartTree, name: &str) -> Vec<(String, String)> {
    let flat = tree.get(&format!("{name}/Chart.yaml")).and_then(|metadata| {
        // Identities are read from this file alone.
        let chart = ChartTree::from([("Chart.yaml".to_owned(), metadata.clone())]);
        Some((name.to_owned(), Identity::of(&chart).ok()?.version))
    });
    versions_in_paths(tree.keys(), name).into_iter().chain(flat).collect()
}

/// Returns the same by the paths of files; none for the flat layout, in which no directory has the name
/// of a version.
pub(crate) fn versions_in_paths<'p>(
    paths: impl IntoIterator<Item = &'p String>,
    name: &str,
) -> Vec<(String, String)> {
    let version = |path: &String| {
        let folder = path.strip_suffix("/Chart.yaml")?;
        let version = folder.strip_prefix(name)?.strip_prefix('/')?;
        (!version.contains('/')).then(|| (folder.to_owned(), version.to_owned()))
    };
    paths.into_iter().filter_map(version).collect()
}

/// Returns the same on disk.
///
/// # Errors
/// If a directory cannot be read.
pub(crate) fn versions_on_disk(out: &Path, name: &str) -> Result<Vec<(String, String)>, Fatal> {
    let folder = out.join(name);
    if charts::is_chart(&folder) {
        let identity = Identity::of(&charts::read_folder(&folder)?);
        let version = identity.map(|identity| identity.version).unwrap_or_default();
        return Ok(vec![(name.to_owned(), version)]);
    }
    let versions = charts::folders(&folder)?.into_iter();
    Ok(versions
        .filter(|version| charts::is_chart(&folder.join(version)))
        .map(|version| (format!("{name}/{version}"), version))
        .collect())
}

/// Returns the directories and versions of generated charts that are older versions of the chart in
/// `dir`, the newest first.
///
/// # Errors
/// If a directory cannot be read.
pub(crate) fn older(out: &Path, dir: &Path, version: &str) -> Result<Vec<(String, String)>, Fatal> {
    let name = dir.iter().next().and_then(|name| name.to_str()).unwrap_or_default();
    let new = precedence(version);
    // In the flat layout the chart on disk is the one that is replaced: nothing need be read.
    if dir == Path::new(name) && charts::is_chart(&out.join(name)) {
        return Ok(Vec::new());
    }

    let mut older = versions_on_disk(out, name)?;
    older.retain(|(folder, version)| {
        // Folders without this file are charts of others.
        precedence(version) < new
            && Path::new(folder) != dir
            && out.join(folder).join(ownership::FILE_NAME).is_file()
    });
    older.sort_by_cached_key(|(_, version)| Reverse(precedence(version)));
    Ok(older)
}

/// Selects the directory of the requested version, or of the highest one.
pub(crate) fn pick(
    name: &str,
    version: Option<&str>,
    versions: &[(String, String)],
) -> Result<(String, String), Fatal> {
    let found = match version {
        Some(version) => versions.iter().find(|(_, v)| v == version),
        None => versions.iter().max_by_key(|(_, version)| precedence(version)),
    };
    found.cloned().ok_or_else(|| {
        let known: Vec<String> =
            versions.iter().map(|(_, version)| format!("`{name}@{version}`")).collect();
        let message = match version {
            Some(version) => format!("version {version} of chart `{name}` not found"),
            None => format!("chart `{name}` not found"),
        };
        let hint = match known.as_slice() {
            [] => "build it first, or pass another chart".to_owned(),
            known => format!("write {}", known.join(" or ")),
        };
        Diagnostic::error(Code::ChartNotFound, message).hint(hint).into()
    })
}

/// Semantic versions in their order, after everything that is none.
pub(crate) fn precedence(version: &str) -> (Option<semver::Version>, String) {
    (semver::Version::parse(version).ok(), version.to_owned())
}

#[cfg(test)]
mod tests;
