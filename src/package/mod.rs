//! Packages charts: in, the chart directories in the output directory; out, for each chart the bytes
//! of its `.tgz`, and the OCI artifact that Helm installs it from.
//!
//! Packages are a pure function of the chart's files. Names, order, modes and times in the archive
//! are fixed, and the compressor is a part of this program, so the bytes and the digests are the
//! same on any machine. [`record`] writes the digests to `charts.lock` in the output directory.

mod archive;
mod artifact;
mod charts;
pub(crate) mod push;
pub(crate) mod record;

pub(crate) use artifact::LAYER_TYPE;
pub(crate) use charts::{chart_in, package};

use crate::diag::Diagnostics;
use crate::source::OciArtifact;
use record::{Blob, Record, Recorded};
use std::path::Path;

/// A packaged chart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Package {
    /// Name of the chart.
    pub name: String,
    /// Version of the chart.
    pub version: String,
    /// The content of the `.tgz`.
    pub archive: Vec<u8>,
    /// The OCI artifact, whose layer is the `.tgz`.
    pub artifact: OciArtifact,
}

/// The packages that a command selects, and the record of all charts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Packages {
    /// The selected packages, sorted by name and version.
    pub selected: Vec<Package>,
    /// The digests of all charts in the output directory, whether selected or not.
    pub record: Record,
}

impl Package {
    /// Returns the name of the package's file, as `helm package` has it.
    pub(crate) fn file_name(&self) -> String {
        format!("{}.tgz", self.stem())
    }

    /// Returns the name of the package's file without `.tgz`.
    pub(crate) fn stem(&self) -> String {
        format!("{}-{}", self.name, self.version)
    }

    /// Returns the tag of the artifact: the version, with `_` for `+`, which tags cannot have. Helm
    /// translates it in the same way.
    pub(crate) fn tag(&self) -> String {
        self.version.replace('+', "_")
    }

    fn recorded(&self) -> Recorded {
        Recorded {
            name: self.name.clone(),
            version: self.version.clone(),
            package: Blob {
                digest: self.artifact.layer_digest().to_owned(),
                size: self.archive.len() as u64,
            },
            manifest: self.artifact.digest.clone(),
        }
    }
}

/// Packages the charts in the output directory `out`. `names` selects charts, as `NAME` for the
/// highest version or `NAME@VERSION`; without names, the highest version of every chart is selected.
///
/// `None` if a chart cannot be packaged, for example because a file was edited; all such charts are
/// reported.
pub(crate) fn packages(
    out: &Path,
    names: &[String],
    diagnostics: &mut Diagnostics,
) -> Option<Packages> {
    let charts = charts::charts_in(out, diagnostics)?;
    let selected = charts::select(&charts, names, out, diagnostics)?;
    let mut packages = Packages { selected: Vec::new(), record: Record::default() };
    let start = diagnostics.mark();

    for (index, chart) in charts.iter().enumerate() {
        // A faulty chart does not hide the faults of the next one.
        let Some(package) = chart.package(diagnostics) else { continue };
        // Also charts that are not selected: the record would lose them.
        packages.record.charts.push(package.recorded());
        if selected.contains(&index) {
            packages.selected.push(package);
        }
    }

    (!diagnostics.has_errors_since(start)).then_some(packages)
}
