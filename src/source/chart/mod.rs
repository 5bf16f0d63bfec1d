#![expect(clippy::disallowed_methods, reason = "reads charts")]
//! Charts as files: directories, packages, and directories in a Git revision.
//!
//! The only reader of charts. It refuses a chart with a file that Helm reads under another name, or
//! that another system does, so that what is verified, packaged and compared is what Helm installs
//! (Helm: `pkg/chart/v2/loader` and `pkg/chart/loader/archive`).

mod collector;
mod directory;
mod helm;
mod revision;

pub use collector::is_portable_path;
pub use directory::{
    files_below, folders, is_chart, read_archive, read_built, read_folder, read_package,
};
pub use helm::{RELEASE, helm_template};
pub use revision::{Committed, committed, list_revision, read_revision};

use super::failure;
use crate::diag::{Code, Diagnostic, Fatal, Place};
use crate::ir::Release;
use crate::regular_file;
use crate::yaml;
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::time::Duration;

/// Files of a chart by `/`-separated path.
pub type ChartTree = BTreeMap<String, Vec<u8>>;

/// Size limit for all files of a chart, in bytes: that of Helm.
pub const CHART_BYTES: u64 = 100 << 20;
/// Files of a chart.
const CHART_FILES: usize = 20_000;

/// Time that `helm` and `git` may take; the largest charts that are published take seconds.
const PROGRAM_TIME: Duration = Duration::from_secs(120);

/// Size limit for a values file, in bytes; a release, which includes the values, stores at most 1
/// MiB.
const VALUES_BYTES: u64 = 16 << 20;

/// The form in which Helm reads a chart. It applies .helmignore, and ignores hidden files in
/// `templates/`, in directories only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A directory, also one in a Git revision.
    Directory,
    /// A `.tgz`.
    Package,
}

/// Name and version of a chart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// `name` in Chart.yaml.
    pub name: String,
    /// `version` in Chart.yaml.
    pub version: String,
}

impl Identity {
    /// Reads the Chart.yaml of a chart.
    ///
    /// # Errors
    /// Why there is no name or version.
    pub fn of(files: &ChartTree) -> Result<Self, String> {
        let metadata = metadata(files)?;
        let text = |key: &str| {
            let value = metadata[key].as_str().map(str::to_owned);
            value.ok_or_else(|| format!("it has no `{key}`"))
        };
        Ok(Identity { name: text("name")?, version: text("version")? })
    }
}

/// Returns the documents of a chart's file that are not empty.
///
/// # Errors
/// When the file is no UTF-8 text, or no YAML.
pub fn documents(path: &str, content: &[u8]) -> Result<Vec<Json>, Fatal> {
    let unreadable = |why: String, hint| {
        Diagnostic::error(Code::ChartUnreadable, format!("`{path}` is {why}"))
            .at(Place::file(path))
            .hint(hint)
    };
    let text = str::from_utf8(content)
        .map_err(|_| unreadable("not UTF-8 text".to_owned(), "convert the file to UTF-8"))?;
    let documents = yaml::parse(text).map_err(|why| {
        unreadable(format!("not valid YAML: {why}"), "check the rendered template")
    })?;
    let values = documents.iter().map(|document| Release::LITERAL.value(document));
    Ok(values.filter(|value| !value.is_null()).collect())
}

/// Returns the Chart.yaml of a chart.
///
/// # Errors
/// Why it cannot be read.
pub fn metadata(files: &ChartTree) -> Result<Json, String> {
    let content = files.get("Chart.yaml").ok_or("it is missing")?;
    let text = str::from_utf8(content).map_err(|_| "it is not UTF-8 text")?;
    let documents = yaml::parse(text).map_err(|why| why.to_string())?;
    // Helm's decoder reads the first document of the file only.
    let metadata = documents.first().map(|document| Release::LITERAL.value(document));
    metadata.ok_or_else(|| "it is empty".to_owned())
}

/// Adds the chart's `path`, as the user wrote it, to the place of an error in the chart: before the
/// file if there is one, else the error is about the whole chart.
pub fn located(path: &str, mut error: Fatal) -> Fatal {
    let place = &mut error.place;
    if place.span.is_none() {
        let inside = place.file.as_ref().map(|file| format!("{path}/{file}"));
        place.file = Some(inside.unwrap_or_else(|| path.to_owned()));
    }
    error
}

/// Returns the files below a directory of a tree, by their paths in it.
pub fn below(tree: ChartTree, folder: &str) -> ChartTree {
    let start = format!("{folder}/");
    let path = |path: String| path.strip_prefix(&start).map(str::to_owned);
    tree.into_iter().filter_map(|(key, content)| Some((path(key)?, content))).collect()
}

/// Returns a file of values.
///
/// # Errors
/// If it cannot be read.
pub fn read_values(file: &Path) -> Result<String, Fatal> {
    let shown = file.display();
    let text = regular_file::read(file, VALUES_BYTES).and_then(|bytes| {
        String::from_utf8(bytes).map_err(|_| io::Error::other("it is not UTF-8 text"))
    });
    text.map_err(|error| {
        let message = format!("cannot read values `{shown}`: {error}");
        failure(Code::SourceUnreadable, message, "pass a readable YAML file")
    })
}

#[cfg(test)]
mod tests;
