//! The report of outdated bundles: a table and a line for each thing to know, and JSON for bots.

use super::Status;
use crate::escape::{self, Lines};
use crate::source::catalog::{Step, Upgrades};
use serde_json::{Value as Json, json};

/// Returns the report: a table of all bundles, then upgrade paths, moved tags and deprecations.
pub(crate) fn text(statuses: &[Status<'_>]) -> Lines {
    let mut rows = vec![["bundle", "locked", "in channel", "newest", ""].map(str::to_owned)];
    rows.extend(statuses.iter().map(row));
    let mut widths = [0; 5];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }

    let mut lines = Lines::new();
    for row in &rows {
        let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}"));
        lines.push(cells.collect::<Vec<_>>().join("  ").trim_end());
    }
    for status in statuses {
        details(status).iter().for_each(|line| lines.push(line));
    }
    lines
}

fn row(status: &Status<'_>) -> [String; 5] {
    let none = || "-".to_owned();
    let channel = status.upgrades.as_ref().map(|upgrades| {
        let head = upgrades.head.as_ref().map_or_else(none, ToString::to_string);
        format!("{head} ({})", upgrades.channel)
    });
    let newest = status.newest().map(|(version, place)| format!("{version} ({place})"));
    let state = match (status.locked, status.kind()) {
        (_, "path" | "manifests") => "local",
        (None, _) => "not locked",
        // First, because a moved tag counts as outdated, too.
        _ if status.tag.as_ref().is_some_and(|tag| tag.moved) => "tag moved",
        _ if status.is_outdated() => "outdated",
        _ => "",
    };
    [
        status.bundle.name.clone(),
        status.locked.map_or_else(none, |locked| locked.csv_version.clone()),
        channel.unwrap_or_else(none),
        newest.unwrap_or_else(none),
        state.to_owned(),
    ]
}

fn details(status: &Status<'_>) -> Vec<String> {
    let name = &status.bundle.name;
    let Some(locked) = status.locked else { return Vec::new() };
    let mut lines = Vec::new();
    if let Some(Upgrades { channel, selected, path, .. }) = &status.upgrades {
        let from = &locked.csv_version;
        match path.as_deref() {
            Some([]) => {}
            Some(path) => lines.push(format!("{name}: {}", describe(from, path))),
            None => lines.push(format!(
                "{name}: no upgrade path from {from} to {selected} in channel {channel}"
            )),
        }
    }

    if let Some(tag) = status.tag.as_ref().filter(|tag| tag.moved) {
        lines.push(format!(
            "{name}: tag {} moved from {} to {}",
            tag.name,
            locked.digest(),
            tag.digest
        ));
    }

    if let Some(tag) = status.newer_tag() {
        lines.push(format!(
            "{name}: run `bundle2chart lock --upgrade {name} --to {tag}`, which sets the tag in bundles.toml"
        ));
    }

    for deprecated in status.upgrades.iter().flat_map(|upgrades| &upgrades.deprecations) {
        let message = Some(deprecated.message.as_str()).filter(|message| !message.is_empty());
        lines.push(format!(
            "{name}: {} {} is deprecated: {}",
            deprecated.kind,
            deprecated.name,
            message.unwrap_or("no reason given")
        ));
    }

    lines
}

/// Describes a path: `1.0.0 → 1.1.0 → 1.2.0 (skips 1.0.1)`.
fn describe(from: &str, path: &[Step]) -> String {
    let mut text = from.to_owned();
    for step in path {
        text.push_str(&format!(" → {}", step.version));
        if !step.skips.is_empty() {
            let skips: Vec<String> = step.skips.iter().map(ToString::to_string).collect();
            text.push_str(&format!(" (skips {})", skips.join(", ")));
        }
    }
    text
}

/// Returns the report: an object whose `bundles` are in the order of bundles.toml. Keys are only
/// added, and never change their meaning. Facts that are not known are `null`.
pub(crate) fn json(statuses: &[Status<'_>]) -> String {
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
