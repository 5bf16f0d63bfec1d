//! `bundle2chart build`

use super::{Exit, Invocation, cpus};
use crate::build::{self, Request};
use crate::escape::Lines;
use crate::output::Mode;
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// Lines of a small terminal window, which the output fits if it is enough to leave out notes.
const SCREEN: usize = 25;

/// Compile bundles to Helm charts.
#[derive(Debug, clap::Args)]
pub(super) struct Build {
    /// Names of bundles [default: all].
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Do not write anything; list missing, stale and extra files, and exit with 1 if there are any.
    #[arg(long)]
    check: bool,
    /// Overwrite existing chart versions with different content.
    #[arg(long, conflicts_with = "check")]
    replace: bool,
    /// Require an up-to-date lock file; do not write it.
    #[arg(long)]
    locked: bool,
    /// Output directory, overrides `dir` in the configuration.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Number of parallel jobs [default: number of CPUs].
    #[arg(short, long, value_name = "N", value_parser = at_least_one)]
    jobs: Option<NonZeroUsize>,
}

pub(super) fn at_least_one(text: &str) -> Result<NonZeroUsize, String> {
    let number: usize = text.parse().map_err(|error| format!("{error}"))?;
    NonZeroUsize::new(number).ok_or_else(|| "it must be at least 1".to_owned())
}

impl Build {
    pub(super) fn run(&self, invocation: &mut Invocation<'_>) -> Option<Exit> {
        let (exit, last_lines) = self.build(invocation)?;
        let Invocation { global, output, diagnostics } = invocation;
        let left = SCREEN.saturating_sub(last_lines.as_str().lines().count());
        let most = if global.verbose > 0 { usize::MAX } else { left };
        output.diagnostics_within(diagnostics, most);

        // The summary comes last, where users look first.
        output.note(&last_lines);
        (!diagnostics.has_errors()).then_some(exit)
    }

    /// Builds, and returns the lines to print last; `None` after an error.
    fn build(&self, invocation: &mut Invocation<'_>) -> Option<(Exit, Lines)> {
        let config = invocation.configuration()?;
        let sources = invocation.sources(&config);
        let Invocation { global, output, diagnostics } = invocation;
        let request = Request {
            config: &config,
            config_path: &global.config,
            sources: &sources,
            names: &self.names,
            out: &self.out.clone().unwrap_or_else(|| config.out()),
            mode: if self.check { Mode::Check } else { Mode::Write { replace: self.replace } },
            locked: self.locked,
            jobs: self.jobs.map_or_else(cpus, Into::into),
        };
        let (counts, outcome) = build::build(&request, diagnostics);
        if global.verbose > 0 {
            output.note(&counts.iter().collect());
        }
        let outcome = outcome?;
        if !self.check {
            return Some((Exit::Clean, outcome.written()));
        }
        output.differences(&outcome.differences(), &outcome.verdict(), diagnostics);
        let exit = if outcome.is_current() { Exit::Clean } else { Exit::Findings };
        Some((exit, Lines::from_iter([outcome.verdict()])))
    }
}
