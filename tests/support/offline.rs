//! Builds without a network and without a lock.

use bundle2chart::config::Config;
use bundle2chart::diag::Diagnostics;
use bundle2chart::lock::Lock;
use bundle2chart::output::ChartFiles;
use bundle2chart::pipeline::{self, Build};
use bundle2chart::source::{Access, SourceResolver};

/// The charts of the named bundles; all when none is named.
pub(crate) fn build(config: &Config, names: &[&str]) -> (Vec<ChartFiles>, Diagnostics) {
    let sources = SourceResolver::of(config, Access { offline: true, ..Access::default() });
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let Build { charts, diagnostics, .. } =
        pipeline::build(config, &sources, &Lock::default(), &names, 2);
    (charts, diagnostics)
}
