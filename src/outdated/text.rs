//! The report of outdated bundles as a table, and a line for each thing to know.

use super::Status;
use crate::escape::Lines;
use crate::source::catalog::{Step, Upgrades};

/// Returns the report: a table of all bundles, then upgrade paths, moved tags and deprecations.
pub(crate) fn report(statuses: &[Status<'_>]) -> Lines {
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
