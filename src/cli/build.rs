//! `bundle2chart build`

use super::Exit;
use super::output::Output;
use crate::config::Config;
use crate::diag::Diagnostics;
use crate::emit::{self, ChartFiles, Comparison, Written};
use crate::pipeline;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Compile bundles to charts.
#[derive(Debug, clap::Args)]
pub(super) struct Build {
    /// Names of bundles; all when there are none.
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Write nothing; list missing, stale and extra files, and exit with 1 if there are any.
    #[arg(long)]
    check: bool,
    /// Allow new content under a chart version that exists.
    #[arg(long, conflicts_with = "check")]
    replace: bool,
    /// Output folder, instead of the configuration's.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// How many bundles to compile at a time; all processors by default.
    #[arg(short, long, value_name = "N")]
    jobs: Option<std::num::NonZeroUsize>,
}

impl Build {
    pub(super) fn run(&self, config: &Path, output: &mut Output) -> Exit {
        let (config, mut diagnostics) = Config::read(config);
        let Some(config) = config else {
            output.diagnostics(&diagnostics);
            return Exit::Error;
        };
        let jobs = self.jobs.or_else(|| std::thread::available_parallelism().ok());
        let (charts, found) = pipeline::build(&config, &self.names, jobs.map_or(1, Into::into));
        diagnostics.append(found);
        if diagnostics.has_errors() {
            output.diagnostics(&diagnostics);
            return Exit::Error;
        }
        let configured = config.base.join(&config.output.dir);
        // `./out` is `out` to people.
        let plain = configured.strip_prefix(".").ok().filter(|path| !path.as_os_str().is_empty());
        let out = self.out.clone().unwrap_or_else(|| plain.unwrap_or(&configured).to_owned());
        let result = if self.check {
            emit::compare(&out, &charts)
                .map(|comparison| self.checked(&comparison, output, &mut diagnostics, &out))
        } else {
            emit::write(&out, &charts, self.replace).map(|written| {
                output.note(&summary(&charts, &written, &out));
                diagnostics.append(written.warnings);
                Exit::Clean
            })
        };
        let exit = result.unwrap_or_else(|problems| {
            diagnostics.append(problems);
            Exit::Error
        });
        output.diagnostics(&diagnostics);
        exit
    }

    fn checked(
        &self,
        comparison: &Comparison,
        output: &mut Output,
        diagnostics: &mut Diagnostics,
        out: &Path,
    ) -> Exit {
        if self.names.is_empty() {
            diagnostics.append(comparison.orphan_warnings(out));
        }
        let mut lines = String::new();
        for (word, paths) in [
            ("missing", &comparison.missing),
            ("stale", &comparison.stale),
            ("extra", &comparison.extra),
            ("foreign", &comparison.foreign),
        ] {
            for path in paths {
                let _ = writeln!(lines, "{word} {}", path.display());
            }
        }
        output.data(&lines);
        if comparison.is_current() { Exit::Clean } else { Exit::Findings }
    }
}

/// A line for each chart, and one for all.
fn summary(charts: &[ChartFiles], written: &Written, out: &Path) -> String {
    let mut text = String::new();
    let width = charts.iter().map(|chart| chart.dir.as_os_str().len()).max().unwrap_or(0);
    for chart in charts {
        let what = if written.created.contains(&chart.dir) {
            "created"
        } else if written.updated.contains(&chart.dir) {
            "updated"
        } else {
            "unchanged"
        };
        let crds = chart
            .files
            .keys()
            .filter(|path| path.contains("crds/") && path.ends_with(".yaml"))
            .count();
        let crds = crds - usize::from(chart.files.contains_key("charts/crds/Chart.yaml"));
        let templates = chart
            .files
            .keys()
            .filter(|p| p.starts_with("templates/") && p.ends_with(".yaml"))
            .count();
        let bytes: usize = chart.files.values().map(Vec::len).sum();
        let _ = writeln!(
            text,
            "{:<width$}  {what:<9}  {templates:>3} templates  {crds:>3} CRDs  {:>5} KiB",
            chart.dir.display(),
            bytes.div_ceil(1024),
        );
    }
    let _ = writeln!(
        text,
        "{}: {} created, {} updated, {} unchanged",
        out.display(),
        written.created.len(),
        written.updated.len(),
        written.unchanged.len()
    );
    text
}
