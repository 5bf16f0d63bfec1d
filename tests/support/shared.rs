//! Test data that is not part of the project.

use super::unchecked::not_checked;
use std::path::PathBuf;

/// The folder `name` of the shared test data, or nothing where there is no such data, which is said.
///
/// # Panics
/// When there is such data, but not this folder.
pub(crate) fn shared(name: &str) -> Option<PathBuf> {
    let root = std::env::var_os("BUNDLE2CHART_SHARED")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared"), PathBuf::from);
    if !root.exists() {
        not_checked(&format!("real bundles, because there is no folder {}", root.display()));
        return None;
    }
    let folder = root.join(name);
    assert!(folder.exists(), "there is no {}", folder.display());
    Some(folder)
}
