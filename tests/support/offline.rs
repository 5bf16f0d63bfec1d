//! Builds without a network and without a lock.

use bundle2chart::config::Config;
use bundle2chart::diag::Diagnostics;
use bundle2chart::lock::Lock;
use bundle2chart::output::ChartFiles;
use bundle2chart::pipeline::{self, Inputs};
use bundle2chart::source::{Access, SourceResolver};

/// The charts of the named bundles; all when none is named.
pub(crate) fn build(config: &Config, names: &[&str]) -> (Vec<ChartFiles>, Diagnostics) {
    let sources = SourceResolver::of(config, Access { offline: true, ..Access::default() });
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let mut diagnostics = Diagnostics::new();
    let lock = Lock::default();
    let inputs = Inputs { config, sources: &sources, lock: &lock, jobs: 2 };
    let built = pipeline::build(&inputs, &names, &mut diagnostics);
    let charts = built.charts.into_iter().map(|chart| chart.files);
    (charts.collect(), diagnostics)
}
