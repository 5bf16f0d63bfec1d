//! The charts at a Git revision and now, in pairs.

use crate::config::{CRDS_SUFFIX, Config, OPERANDS_SUFFIX};
use crate::diag::{Diagnostics, Fatal, SourceText};
use crate::lock::{self, Lock};
use crate::output::chart_versions::{versions_in_paths, versions_on_disk};
use crate::replace_file::folder_of;
use crate::source::chart as charts;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

/// A chart at a revision and now, as operands of `diff`: `NAME@VERSION`, or `NAME`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChartPair {
    /// Name of the chart.
    pub name: String,
    /// The chart at the revision; `None` if it is new.
    pub old: Option<String>,
    /// The chart now; `None` if it was removed.
    pub new: Option<String>,
}

/// Pairs all charts in the output directory now with those at the Git revision. If several
/// versions are in the output directory, the one that bundles.toml or bundles.lock names was
/// built, else the highest. If the output directory is not committed, the old charts are the
/// bundles in bundles.lock at the revision.
///
/// # Errors
/// Fails if the revision cannot be read.
pub fn chart_pairs(
    config: Option<&Config>,
    config_path: &Path,
    out: &Path,
    revision: &str,
) -> Result<Vec<ChartPair>, Fatal> {
    let lock_path = lock::path_of(config_path);
    let paths = charts::list_revision(out, revision).or_else(|problems| {
        // There may be no output directory now, or none at the revision.
        let folder = folder_of(config_path);
        charts::list_revision(folder, revision).map(|_| Vec::new()).map_err(|_| problems)
    })?;
    let old_lock = lock_at(&lock_path, revision)?.unwrap_or_default();
    let old_config = config_at(config_path, revision);
    let new_lock = lock::read(&lock_path).unwrap_or_default();

    let chart_names: BTreeSet<&str> = paths
        .iter()
        .filter_map(|path| path.strip_suffix("/Chart.yaml")?.split('/').next())
        .collect();
    let built = built_versions(old_config.as_ref(), &old_lock);
    let old = chart_names
        .into_iter()
        .map(|name| (name.to_owned(), operand(name, &versions_in_paths(&paths, name), &built)));
    let mut old: BTreeMap<String, String> = old.collect();
    if old.is_empty() {
        let locked = old_lock.bundles.iter().map(|entry| entry.name.clone());
        old.extend(locked.map(|name| (name.clone(), name)));
    }

    let mut new = BTreeMap::new();
    let built = built_versions(config, &new_lock);
    for name in charts::folders(out)? {
        let versions = versions_on_disk(out, &name)?;
        if !versions.is_empty() {
            new.insert(name.clone(), operand(&name, &versions, &built));
        }
    }

    let names: BTreeSet<String> = old.keys().chain(new.keys()).cloned().collect();
    let pair = |name: String| {
        let (old, new) = (old.get(&name).cloned(), new.get(&name).cloned());
        ChartPair { name, old, new }
    };
    Ok(names.into_iter().map(pair).collect())
}

/// Returns a file at a revision; `None` if it was not committed.
fn file_at(path: &Path, revision: &str) -> Option<SourceText> {
    let name = path.file_name()?.to_str()?;
    let tree = charts::read_revision(folder_of(path), revision, name).ok()?;
    let text = String::from_utf8_lossy(tree.get(name)?).into_owned();
    Some(SourceText { name: format!("{name} at {revision}"), text })
}

/// Returns the configuration at the revision, if it was committed and is valid.
fn config_at(config_path: &Path, revision: &str) -> Option<Config> {
    let source = Arc::new(file_at(config_path, revision)?);
    // Errors are ignored: the old file only tells which version was built, and cannot be
    // mended.
    Config::parse(&source, folder_of(config_path), &mut Diagnostics::new())
}

/// Returns the lock file at a revision; `None` if it was not committed.
///
/// # Errors
/// Fails if it cannot be parsed.
pub(super) fn lock_at(lock: &Path, revision: &str) -> Result<Option<Lock>, Fatal> {
    let file = file_at(lock, revision);
    file.map(|SourceText { name, text }| lock::parse(name, text)).transpose()
}

/// Returns the chart version of each bundle that the configuration or the lock file names.
fn built_versions(config: Option<&Config>, lock: &Lock) -> BTreeMap<String, String> {
    let locked = lock.bundles.iter().map(|entry| (entry.name.clone(), entry.csv_version.clone()));
    let mut versions: BTreeMap<String, String> = locked.collect();
    for bundle in config.map(|config| config.bundles.as_slice()).unwrap_or_default() {
        if let Some(version) = &bundle.chart_version {
            versions.insert(bundle.name.clone(), version.to_string());
        }
    }
    versions
}

/// Returns the operand of a chart with these versions: the built one, if it is known and there.
fn operand(name: &str, versions: &[(String, String)], built: &BTreeMap<String, String>) -> String {
    let bundle = name.strip_suffix(CRDS_SUFFIX).or_else(|| name.strip_suffix(OPERANDS_SUFFIX));
    // The whole name first: a bundle may be named like the CRDs of another one.
    let version = built.get(name).or_else(|| built.get(bundle?));
    match version.filter(|version| versions.iter().any(|(_, known)| known == *version)) {
        Some(version) => format!("{name}@{version}"),
        None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests;
