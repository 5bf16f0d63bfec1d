//! `bundle2chart outdated`: the state of locked bundles.

use super::threads::{REGISTRY_JOBS, for_each};
use crate::config::BundleConfig;
use crate::diag::Diagnostics;
use crate::lock::Lock;
use crate::outdated::{Status, status};
use crate::source::SourceResolver;

/// Returns the state of each of the bundles.
pub(crate) fn outdated(
    bundles: &[&BundleConfig],
    lock: &Lock,
    sources: &SourceResolver,
    diagnostics: &mut Diagnostics,
) -> Vec<Status> {
    for_each(
        bundles,
        REGISTRY_JOBS,
        |bundle| bundle.name.as_str(),
        diagnostics,
        |bundle, diagnostics| Some(status(bundle, lock.entry(bundle), sources, diagnostics)),
    )
}
