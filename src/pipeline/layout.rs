//! The charts of a bundle or model: their files in the output directory, and their releases.

use super::compile::Compiled;
use super::models::MODELS;
use crate::bundle::Bundle;
use crate::chart::{self, Chart, Description};
use crate::config::{BundleConfig, Layout, Source};
use crate::deploy::Release;
use crate::diag::{Code, Diagnostic, Diagnostics};
use crate::images;
use crate::output::ChartFiles;
use std::path::PathBuf;

/// A chart that was built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuiltFiles {
    /// Its files in the output directory.
    pub files: ChartFiles,
    /// Its release.
    pub release: Release,
    /// Upper bound of the release Secret's size.
    pub release_bytes: usize,
}

/// Moves the objects of a compiled bundle into charts, in the order of their installation.
pub(super) fn charts(
    compiled: &mut Compiled,
    config: &BundleConfig,
    version: &semver::Version,
    origin: &str,
    layout: Layout,
    warnings: &[String],
) -> Vec<Chart> {
    let unit = std::mem::take(&mut compiled.unit);
    let additions = match &config.source {
        Source::Manifests(manifests) => {
            MODELS.and_then(|compiler| manifests.maas.as_ref().map(compiler.additions))
        }
        _ => None,
    };
    let images = images::pulled(&images::collect(&unit.objects, compiled.bundle.as_ref(), None));

    chart::charts(
        unit,
        &Description {
            bundle: compiled.bundle.as_ref(),
            config,
            version,
            namespace: &compiled.namespace,
            watch: compiled.watch.as_ref(),
            origin,
            images: &images,
            layout,
            crds: compiled.crds,
            warnings,
            additions: &additions.unwrap_or_default(),
        },
    )
}

/// Returns the configured version, or the CSV's; reports an error if that is not a version.
pub(super) fn chart_version(
    bundle: Option<&Bundle>,
    config: &BundleConfig,
    diagnostics: &mut Diagnostics,
) -> Option<semver::Version> {
    if let Some(version) = &config.chart_version {
        return Some(version.clone());
    }

    let csv = &bundle?.csv;
    diagnostics.report(semver::Version::parse(&csv.version).map_err(|why| {
        let message =
            format!("the CSV version `{}` is not a valid chart version: {why}", csv.version);
        Diagnostic::error(Code::InvalidVersion, message)
            .at(csv.place(".spec.version"))
            .hint("set a version for the chart, for example chart-version = \"1.0.0\"")
            .into()
    }))
}

/// Lays out a chart of the bundle or model `name`, whose release is in `namespace`.
pub(super) fn lay_out(
    chart: Chart,
    name: &str,
    namespace: &str,
    depends_on: &[String],
    layout: Layout,
) -> BuiltFiles {
    let version = chart.version.to_string();
    let dir = match layout {
        Layout::Versioned => format!("{}/{version}", chart.name),
        // A chart of `flat` is replaced in place, so that its path does not change with its
        // version.
        Layout::Flat => chart.name.clone(),
    };

    BuiltFiles {
        files: ChartFiles { dir: PathBuf::from(&dir), version, files: chart.files },
        release: Release {
            name: chart.name,
            bundle: name.to_owned(),
            namespace: namespace.to_owned(),
            dir,
            depends_on: depends_on.to_vec(),
            install: chart.install,
        },
        release_bytes: chart.release_bytes,
    }
}
