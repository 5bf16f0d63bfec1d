//! Fetches bundles of a configuration: one to compile it, or several for the entries of the lock file.

use super::Inputs;
use super::compile::{Compiled, check_package, compile};
use super::threads::for_each;
use super::upgrade_step;
use crate::bundle;
use crate::config::{BundleConfig, Source};
use crate::diag::{Diagnostic, Diagnostics, Severity};
use crate::lock::{Lock, Locked};
use crate::source::{BundleFiles, SourceResolver};

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

/// Locks bundles to what their sources lead to now, on up to `jobs` threads. Decisions that `old`
/// records of a bundle are kept, and conflicts with them are reported. Bundles that `old` has with the
/// same source move one required step along the upgrade path of their catalog; with `latest`, and from
/// another source of the same package, all the way.
pub fn lock(
    sources: &SourceResolver,
    old: &Lock,
    bundles: &[&BundleConfig],
    latest: bool,
    jobs: usize,
    diagnostics: &mut Diagnostics,
) -> Vec<Locked> {
    for_each(
        bundles,
        jobs,
        |bundle| bundle.name.as_str(),
        diagnostics,
        |config, diagnostics| {
            // Manifests of a `[[chart]]` are versioned by Git, like bundles of a path.
            if matches!(config.source, Source::Manifests(_)) {
                return None;
            }
            let source = upgrade_step::source(config, old, latest, sources, diagnostics)?;
            let files = sources.fetch(&source, None, diagnostics)?;
            let start = diagnostics.mark();
            let bundle = bundle::load(&files, diagnostics);
            if let Some(bundle) = &bundle {
                check_package(config, bundle, diagnostics);
                old.check_decisions(config, bundle, diagnostics);
            }
            bundle::locate(diagnostics.since(start), &files);
            Locked::new(config, &files, &bundle?)
        },
    )
}
