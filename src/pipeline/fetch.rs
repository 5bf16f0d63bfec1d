//! Fetches and compiles one bundle of a configuration.

use super::Inputs;
use super::compile::{Compiled, compile};
use super::upgrade_step;
use crate::bundle;
use crate::config::BundleConfig;
use crate::diag::{Diagnostic, Diagnostics, Severity};
use crate::lock::Locked;
use crate::source::BundleFiles;

/// A bundle that was fetched and compiled.
pub(super) struct Fetched {
    pub(super) files: BundleFiles,
    pub(super) compiled: Compiled,
    /// Warnings that depend on the bundle and its configuration only.
    pub(super) warnings: Vec<Diagnostic>,
}

/// Fetches a bundle, by its lock entry if there is one, and compiles it; `None` after an error.
pub(super) fn fetch_and_compile(
    inputs: &Inputs<'_>,
    bundle: &BundleConfig,
    diagnostics: &mut Diagnostics,
) -> Option<Fetched> {
    let before = diagnostics.mark();
    let Inputs { sources, lock, .. } = *inputs;
    let entry = lock.entry(bundle);
    // Without an entry, what bundles.toml selects now is locked at once; steps that the upgrade path of
    // its catalog requires before it are reported, as by `lock`.
    if entry.is_none() {
        upgrade_step::source(bundle, lock, true, sources, diagnostics)?;
    }
    let mut files = sources.fetch(&bundle.source, entry.and_then(Locked::pin), diagnostics)?;
    files.overlays = sources.overlays(&bundle.overlays, diagnostics);
    let start = diagnostics.mark();
    let compiled = compile(&files, bundle, diagnostics);
    let found = diagnostics.since(start).iter();
    let warnings = found.filter(|found| found.severity == Severity::Warning).cloned().collect();

    // The lock file has what the configuration leaves to the bundle.
    if let Some(loaded) = compiled.as_ref().and_then(|compiled| compiled.bundle.as_ref()) {
        let start = diagnostics.mark();
        lock.check_decisions(bundle, loaded, diagnostics);
        bundle::locate(diagnostics.since(start), &files);
    }
    let compiled = compiled.filter(|_| !diagnostics.has_errors_since(before))?;
    Some(Fetched { files, compiled, warnings })
}
