//! The report of outdated bundles as JSON, for bots.

use super::Status;
use crate::escape;
use serde_json::{Value as Json, json};

/// Returns the report: an object whose `bundles` are in the order of bundles.toml. Keys are only
/// added, and never change their meaning. Facts that are not known are `null`.
pub(crate) fn report(statuses: &[Status<'_>]) -> String {
    let bundles: Vec<Json> = statuses.iter().map(bundle).collect();
    escape::json(&format!("{:#}\n", json!({ "bundles": bundles }))).into_owned()
}

fn bundle(status: &Status<'_>) -> Json {
    let text = |version: &semver::Version| version.to_string();
    let at = if status.kind() == "catalog" { "channel" } else { "tag" };
    let upgrades = status.upgrades.as_ref();
    let deprecations = upgrades.map(|upgrades| upgrades.deprecations.as_slice());
    // `None` would say that a catalog has no way to the new version.
    let path = upgrades.map_or(Some([].as_slice()), |upgrades| upgrades.path.as_deref());

    json!({
        "name": status.bundle.name,
        "outdated": status.is_outdated(),
        "kind": status.kind(),
        "source": status.bundle.source.text(),
        "locked": status.locked.map(|locked| json!({
            "version": locked.csv_version, "csv": locked.csv, "digest": locked.digest(),
        })),
        "channel": upgrades.map(|upgrades| json!({
            "name": upgrades.channel,
            "newest": upgrades.head.as_ref().map(text),
            "selected": text(&upgrades.selected),
        })),
        "newest": status.newest().map(|(version, place)| {
            json!({ "version": text(version), at: place })
        }),
        "tag": status.tag.as_ref().map(|tag| json!({
            "name": tag.name, "digest": tag.digest, "moved": tag.moved,
        })),
        "path": path.map(|path| path.iter().map(|step| json!({
            "bundle": step.bundle,
            "version": text(&step.version),
            "skips": step.skips.iter().map(text).collect::<Vec<_>>(),
        })).collect::<Vec<_>>()),
        "deprecations": deprecations.unwrap_or_default().iter().map(|deprecated| json!({
            "kind": deprecated.kind, "name": deprecated.name, "message": deprecated.message,
        })).collect::<Vec<_>>(),
    })
}
