//! `bundle2chart verify`

use super::{Exit, Format, Invocation};
use crate::diag::counted;
use crate::lock;
use crate::pipeline::Inputs;
use crate::verify::{self, Subject, json, text};
use std::path::PathBuf;

/// Check that a chart is byte for byte what its bundle compiles to.
///
/// Compiles the chart again from bundles.toml, bundles.lock and the locked bundle, compares all
/// files, shows the first difference of each, and exits with 1 if anything differs. Nothing is
/// written. Bundles that are vendored or cached need no network: add `--offline`.
#[derive(Debug, clap::Args)]
pub(super) struct Verify {
    /// A chart directory, a .tgz, a chart in the output directory (NAME for the highest version, or
    /// NAME@VERSION), or oci://HOST/PATH/NAME@DIGEST, as `push` prints it.
    #[arg(value_name = "CHART")]
    chart: String,
    /// Output format.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Output directory, overrides `dir` in the configuration.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

impl Verify {
    pub(super) fn run(&self, invocation: &mut Invocation<'_>) -> Option<Exit> {
        invocation.output.keep_stdout_for(self.format);
        let (config, lock) = invocation.configuration_and_lock()?;
        let sources = invocation.sources(&config);
        let Invocation { global, output, diagnostics } = invocation;
        let out = self.out.clone().unwrap_or_else(|| config.out());
        let subject = Subject::read(&self.chart, &out, &sources, diagnostics)?;

        // Without a lock entry, a tag would be resolved now, which proves nothing.
        let table = subject.table(&config, diagnostics)?.to_owned();
        let lock_path = lock::path_of(&global.config);
        lock.check_complete(&config, std::slice::from_ref(&table), &lock_path, diagnostics)?;

        // One table is one job.
        let inputs = Inputs { config: &config, sources: &sources, lock: &lock, jobs: 1 };
        let verification = verify::verify(subject, &inputs, &table, diagnostics)?;
        match self.format {
            Format::Text => output.list(&text(&verification)),
            Format::Json => output.document(&json(&verification)),
        }
        if verification.is_same() {
            return Some(Exit::Clean);
        }
        let differences = counted(verification.differences.len(), "difference");
        output.note_line(format!("{}: {differences}", self.chart));
        Some(Exit::Findings)
    }
}
