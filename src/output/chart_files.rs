//! The content that a build writes to the output directory: charts and deployment files, in memory.

use super::ownership::{self, Ownership};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A chart as files in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChartFiles {
    /// Directory of the chart relative to the output directory, for example `lws-operator/1.0.0` or
    /// `lws-operator`. Its first component is the chart's name.
    pub dir: PathBuf,
    /// Version of the chart.
    pub version: String,
    /// Content by path relative to `dir`, `/`-separated. Without the ownership file.
    pub files: BTreeMap<String, Vec<u8>>,
}

/// The files next to the charts, for helmfile, Argo CD and Flux, and the build report: content by
/// `/`-separated path relative to the output directory.
pub type DeploymentFiles = BTreeMap<String, Vec<u8>>;

impl ChartFiles {
    /// Returns the chart's name.
    pub(crate) fn name(&self) -> &str {
        self.dir.iter().next().and_then(|name| name.to_str()).unwrap_or_default()
    }

    /// Returns what the ownership file of the chart says. Hashes all files.
    pub(crate) fn ownership(&self) -> Ownership {
        Ownership::of(Some(&self.version), &self.files)
    }

    /// Returns the number of templates, and the number of CRDs in all places.
    pub fn counts(&self) -> (usize, usize) {
        let manifests = || self.files.keys().filter(|path| path.ends_with(".yaml"));
        let templates = manifests().filter(|path| path.starts_with("templates/"));
        let (crds, templates): (Vec<&String>, Vec<&String>) =
            templates.partition(|path| path.starts_with("templates/customresourcedefinition-"));
        let folders = ["crds/", "charts/crds/crds/", "charts/crds/templates/"];
        let others = manifests().filter(|path| folders.iter().any(|start| path.starts_with(start)));
        (templates.len(), crds.len() + others.count())
    }
}

/// Files that belong together, and the ownership file that lists them.
pub(super) struct OwnedFiles<'a> {
    /// Their directory, relative to the output directory: empty for deployment files.
    pub(super) dir: &'a Path,
    files: &'a BTreeMap<String, Vec<u8>>,
    pub(super) ownership: Ownership,
    /// Content of the ownership file.
    pub(super) marker: String,
}

impl<'a> OwnedFiles<'a> {
    /// Returns the files of a chart. Hashes all of them.
    pub(super) fn of_chart(chart: &'a ChartFiles) -> Self {
        let ownership = chart.ownership();
        let marker = ownership.to_text();
        OwnedFiles { dir: &chart.dir, files: &chart.files, ownership, marker }
    }

    /// Returns the deployment files. Hashes all of them.
    pub(super) fn of_deployment(files: &'a DeploymentFiles) -> Self {
        let ownership = Ownership::of(None, files);
        let marker = ownership.to_text();
        OwnedFiles { dir: Path::new(""), files, ownership, marker }
    }

    /// Returns true for a chart, false for the deployment files.
    pub(super) fn is_chart(&self) -> bool {
        self.ownership.version.is_some()
    }

    /// Returns path and content of each file. The ownership file is the last, so that a directory
    /// in which all were written in this order is complete if it has one.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        let files = self.files.iter().map(|(path, content)| (path.as_str(), content.as_slice()));
        files.chain([(ownership::FILE_NAME, self.marker.as_bytes())])
    }
}

#[cfg(test)]
mod tests;
