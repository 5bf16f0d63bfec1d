//! Test data that is not part of the project.

#![allow(clippy::print_stderr, reason = "says what was not checked")]

use std::path::PathBuf;

/// The folder `name` of the shared test data, or nothing where the data is absent, which is said.
pub(crate) fn shared(name: &str) -> Option<PathBuf> {
    let root = std::env::var_os("BUNDLE2CHART_SHARED")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared"), PathBuf::from);
    let folder = root.join(name);
    if folder.exists() {
        return Some(folder);
    }
    eprintln!("not checked: there is no {}", folder.display());
    None
}
