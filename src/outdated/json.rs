//! The report of outdated bundles as JSON, for bots.

use super::Status;
use crate::escape;
use serde_json::{Value as Json, json};

/// Returns the report: an object whose `bundles` are in the order of bundles.toml. Keys are only
/// added, and never change their meaning. Facts that are not known are `null`.
pub(crate) fn report(statuses: &[Status]) -> String {
    let bundles: Vec<Json> = statuses.iter().map(bundle).collect();
    escape::json(&format!("{:#}\n", json!({ "bundles": bundles }))).into_owned()
}

fn bundle(status: &Status) -> Json {
    let text = |version: &semver::Version| version.to_string();
    let at = if status.kind == "catalog" { "channel" } else { "tag" };

    json!({
        "name": status.name,
        "outdated": status.is_outdated(),
        "kind": status.kind,
        "source": status.source,
        "locked": status.locked.as_ref().map(|locked| json!({
            "version": locked.version, "csv": locked.csv, "digest": locked.digest,
        })),
        "channel": status.channel.as_ref().map(|channel| json!({
            "name": channel.name,
            "newest": channel.newest.as_ref().map(text),
            "selected": text(&channel.selected),
        })),
        "newest": status.newest.as_ref().map(|newest| {
            json!({ "version": text(&newest.version), at: newest.at })
        }),
        "tag": status.tag.as_ref().map(|tag| json!({
            "name": tag.name, "digest": tag.digest, "moved": tag.moved,
        })),
        "path": status.path.as_ref().map(|path| path.iter().map(|step| json!({
            "bundle": step.bundle,
            "version": text(&step.version),
            "skips": step.skips.iter().map(text).collect::<Vec<_>>(),
        })).collect::<Vec<_>>()),
        "deprecations": status.deprecations.iter().map(|deprecated| json!({
            "kind": deprecated.kind, "name": deprecated.name, "message": deprecated.message,
        })).collect::<Vec<_>>(),
    })
}
