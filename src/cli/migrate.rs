//! `bundle2chart migrate`

use super::access::access;
use super::add::write;
use super::{Exit, Invocation};
use crate::diag::{Code, Diagnostic, Fatal};
use crate::escape::shell::in_quotes;
use crate::migrate::{self, Installed};
use crate::pipeline::operand;
use crate::source::chart as charts;
use crate::source::{self, Limits};
use std::path::{Path, PathBuf};

/// Add what is installed today to bundles.toml.
///
/// From OLM: reads the output of `kubectl get subscriptions,csvs,operatorgroups,catalogsources
/// --all-namespaces -o yaml`, and appends a [[bundle]] table for each Subscription. From a hand-made
/// chart and its bundle: objects and fields that only the chart has become overlays and patches. What
/// is not carried over is reported.
#[derive(Debug, clap::Args)]
pub(super) struct Migrate {
    /// Output of kubectl (`-` for stdin); with BUNDLE, the directory or package of a chart.
    #[arg(value_name = "FILE|CHART")]
    source: String,
    /// Bundle of the hand-made chart: an image reference, a directory, an OCI layout or a tar.
    #[arg(value_name = "BUNDLE")]
    bundle: Option<String>,
    /// Image of a CatalogSource that is not in FILE; can be repeated.
    #[arg(long, value_name = "NAME=REFERENCE", value_parser = named, conflicts_with = "bundle")]
    catalog: Vec<(String, String)>,
    /// Values file for the hand-made chart; can be repeated.
    #[arg(long, value_name = "FILE", requires = "bundle")]
    values: Vec<PathBuf>,
    /// Only print the tables.
    #[arg(long)]
    dry_run: bool,
}

fn named(text: &str) -> Result<(String, String), String> {
    let parts = text.split_once('=').filter(|(name, image)| !name.is_empty() && !image.is_empty());
    let (name, image) = parts.ok_or("write NAME=REFERENCE")?;
    Ok((name.to_owned(), image.to_owned()))
}

impl Migrate {
    pub(super) fn run(&self, invocation: &mut Invocation<'_>) -> Option<Exit> {
        let Invocation { global, output, diagnostics } = invocation;
        // Before anything is read: swapped arguments would fail with errors about their content.
        diagnostics.report(self.in_order())?;
        let (chart, config) = (&self.source, &global.config);
        let migrated = match &self.bundle {
            Some(bundle) => {
                let values = diagnostics.report(operand::read_values(&self.values))?;
                output.repository.add_argument(bundle);
                migrate::hand_made(chart, bundle, values, config, access(global), diagnostics)?
            }
            None => {
                let start = diagnostics.mark();
                let files = source::manifests(&self.source, &Limits::default(), diagnostics);
                diagnostics.no_errors_since(start)?;
                let installed =
                    Installed { file: &self.source, files: &files, catalogs: &self.catalog };
                migrate::subscriptions(&installed, config, diagnostics)?
            }
        };
        write(&migrated, self.dry_run, invocation)
    }

    /// Checks that a chart comes first, and its bundle after it.
    fn in_order(&self) -> Result<(), Fatal> {
        let is_chart = |path: &str| charts::is_chart(Path::new(path));
        let source = in_quotes(&self.source);
        let (message, hint) = match &self.bundle {
            None if is_chart(&self.source) => (
                format!("`{}` is a chart, and its bundle is missing", self.source),
                format!("write the bundle after it: `bundle2chart migrate {source} BUNDLE`"),
            ),
            None if source::is_bundle(Path::new(&self.source)) => (
                format!("`{}` is a bundle, and the hand-made chart is missing", self.source),
                format!("write the chart before it: `bundle2chart migrate CHART {source}`"),
            ),
            Some(bundle) if is_chart(bundle) && !is_chart(&self.source) => (
                format!("`{bundle}` is a chart, not a bundle"),
                format!(
                    "write the chart first: `bundle2chart migrate {} {source}`",
                    in_quotes(bundle)
                ),
            ),
            Some(_) if source::is_bundle(Path::new(&self.source)) => (
                format!("`{}` is a bundle, not a chart", self.source),
                format!("run `bundle2chart add {source}`"),
            ),
            _ => return Ok(()),
        };

        Err(Diagnostic::error(Code::NotMigrated, message).hint(hint).into())
    }
}
