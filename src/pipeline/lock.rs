//! `bundle2chart lock`: the entries of bundles in the lock file.

use super::compile::check_package;
use super::threads::for_each;
use super::upgrade_step;
use crate::bundle;
use crate::config::{BundleConfig, Source};
use crate::diag::Diagnostics;
use crate::lock::{Lock, Locked};
use crate::source::SourceResolver;

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
