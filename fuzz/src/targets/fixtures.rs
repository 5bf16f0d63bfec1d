//! The bundles of fixtures/, which targets change.

use super::objects::json;
use bundle2chart::source::BundleFiles;
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    // Inputs choose bundles by number, so the order must be the same everywhere.
    paths.sort();
    paths
}

fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = entries(folder).into_iter().filter_map(|path| {
        let name = path.file_name()?.to_str()?.to_owned();
        Some((name, fs::read(&path).ok()?))
    });
    files.collect()
}

/// Returns the bundles whose manifests have at most `limit` bytes: large ones make runs slow and
/// reach no other code.
///
/// # Panics
/// When there are none.
pub fn bundles(limit: usize) -> Vec<BundleFiles> {
    let root = Path::new(super::super::ROOT).join("fixtures/bundles");
    let versions = entries(&root).into_iter().flat_map(|package| entries(&package));
    let mut bundles = Vec::new();
    for version in versions {
        let manifests = files(&version.join("manifests"));
        let size: usize = manifests.values().map(Vec::len).sum();
        if !manifests.is_empty() && size <= limit {
            bundles.push(BundleFiles {
                manifests,
                metadata: files(&version.join("metadata")),
                manifests_dir: "manifests".into(),
                metadata_dir: "metadata".into(),
                ..BundleFiles::default()
            });
        }
    }
    assert!(!bundles.is_empty(), "no bundles in {}", root.display());
    bundles
}

/// Returns the documents of a manifest, none for one that is not UTF-8 or YAML.
pub fn documents(text: &[u8]) -> Vec<Json> {
    let text = std::str::from_utf8(text).unwrap_or_default();
    json(&bundle2chart::yaml::parse(text).unwrap_or_default())
}
