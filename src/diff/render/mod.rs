//! Renders change sets as text, Markdown, JSON and HTML. All formats have the same content and begin
//! with the same first screen: the verdict, the findings that matter most, the plan. They omit values
//! that do not fit, and report it; JSON has all.

pub mod html;
mod joined;
pub mod json;
pub mod markdown;
pub mod report;
pub mod text;

use super::group::{Group, Place};
use super::summary::Summary;
use super::{Action, Change, ChangeSet, Class, Ignored};
use crate::diag::{counted, join};
use crate::escape::visible;
use crate::ir::{Map, Value};
use crate::yaml;
use indexmap::IndexMap;
use serde_json::Value as Json;
use similar::algorithms::{Capture, Compact, Replace, myers};
use similar::{ChangeTag, group_diff_ops};
use std::collections::{HashMap, HashSet};

/// Side of a line of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    /// Only on the old side.
    Old,
    /// Only on the new side.
    New,
    /// On both sides.
    Both,
}

impl Sign {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Sign::Old => "-",
            Sign::New => "+",
            Sign::Both => " ",
        }
    }
}

/// Returns escaped HTML with text in backticks as `<code>`, if all backticks are in pairs.
pub(super) fn code_in_html(html: &str) -> String {
    let pieces: Vec<&str> = html.split('`').collect();
    if pieces.len().is_multiple_of(2) {
        return html.to_owned();
    }
    let piece = |(index, piece): (usize, &&str)| match index % 2 {
        1 => format!("<code>{piece}</code>"),
        _ => (*piece).to_owned(),
    };
    pieces.iter().enumerate().map(piece).collect()
}

/// Maximum product of the line counts of two texts that are compared line by line.
const LONGEST: usize = 25_000_000;

/// Number of context lines around a difference.
const CONTEXT: usize = 1;

/// Returns the old and the new value as at most `most` lines, and the number of omitted lines.
pub(super) fn lines(change: &Change, most: usize) -> (Vec<(Sign, String)>, usize) {
    let mut all: Vec<(Sign, String)> = Vec::new();
    match (&change.old, &change.new) {
        (Some(Json::Array(old)), Some(Json::Array(new))) if plain(old) && plain(new) => {
            let spelled = |sign, items: &[Json], other: &[Json]| -> Vec<(Sign, String)> {
                let other: HashSet<&Json> = other.iter().collect();
                items.iter().filter(|i| !other.contains(i)).map(|i| (sign, item(i))).collect()
            };
            all.extend(spelled(Sign::Old, old, new));
            all.extend(spelled(Sign::New, new, old));
            if all.is_empty() {
                all.extend(old.iter().map(|i| (Sign::Old, item(i))));
                all.extend(new.iter().map(|i| (Sign::New, item(i))));
            }
        }
        (Some(old), Some(new)) => {
            let (old, new) = (spell(old), spell(new));
            if old.contains('\n') || new.contains('\n') {
                all = differing_lines(&old, &new);
            } else {
                all.extend([(Sign::Old, old), (Sign::New, new)]);
            }
        }
        (old, new) => {
            for (sign, value) in [(Sign::Old, old), (Sign::New, new)] {
                let text = value.as_ref().map(spell).unwrap_or_default();
                all.extend(text.lines().map(|line| (sign, line.to_owned())));
            }
        }
    }
    // The line that counts omitted lines is not shorter than two more lines.
    let most = if all.len() <= most.saturating_add(2) { all.len() } else { most };
    let more = all.len() - most;
    all.truncate(most);
    let visible = |(sign, line): (Sign, String)| (sign, visible(&line).into_owned());
    (all.into_iter().map(visible).collect(), more)
}

fn item(value: &Json) -> String {
    format!("- {}", spell(value))
}

/// Returns true if all items are scalars.
fn plain(items: &[Json]) -> bool {
    items.iter().all(|item| !item.is_object() && !item.is_array())
}

fn differing_lines(old: &str, new: &str) -> Vec<(Sign, String)> {
    let mut all = Vec::new();
    // The time is the product of both lengths, so long texts are shown completely.
    if old.lines().count().saturating_mul(new.lines().count()) > LONGEST {
        all.extend(old.lines().map(|line| (Sign::Old, line.to_owned())));
        all.extend(new.lines().map(|line| (Sign::New, line.to_owned())));
        return all;
    }
    let old: Vec<&str> = old.split_inclusive('\n').collect();
    let new: Vec<&str> = new.split_inclusive('\n').collect();
    let mut found = Compact::new(Replace::new(Capture::new()), &old, &new);
    // One algorithm: `TextDiff` is compiled with all of them.
    let Ok(()) = myers::diff(&mut found, &old, 0..old.len(), &new, 0..new.len());
    let found = found.into_inner().into_inner().into_ops();
    for (index, group) in group_diff_ops(found, CONTEXT).iter().enumerate() {
        if index > 0 {
            all.push((Sign::Both, "…".to_owned()));
        }
        for change in group.iter().flat_map(|op| op.iter_changes(&old, &new)) {
            let sign = match change.tag() {
                ChangeTag::Delete => Sign::Old,
                ChangeTag::Insert => Sign::New,
                ChangeTag::Equal => Sign::Both,
            };
            all.push((sign, change.value().trim_end_matches(['\n', '\r']).to_owned()));
        }
    }
    all
}

/// Returns a value as shown in reports: strings verbatim, everything else as YAML.
fn spell(value: &Json) -> String {
    match value {
        Json::String(text) if text.is_empty() => "\"\"".to_owned(),
        Json::String(text) => text.clone(),
        Json::Object(map) if !map.is_empty() => {
            let root: Map =
                map.iter().map(|(key, value)| (key.clone(), Value::from(value))).collect();
            yaml::plain(&root).unwrap_or_else(|_| value.to_string())
        }
        Json::Array(items) if !plain(items) => {
            let root = Map::from_iter([("items".to_owned(), Value::from(value))]);
            let text = yaml::plain(&root).unwrap_or_else(|_| value.to_string());
            text.strip_prefix("items:\n").unwrap_or(&text).to_owned()
        }
        Json::Array(items) => join(items.iter().map(item), "\n"),
        other => other.to_string(),
    }
}

/// Returns the two versions, with their name once if it is the same: `widget-operator 1.0.0 → 1.1.0`.
pub(super) fn title(set: &ChangeSet) -> String {
    let name = |label: &str| label.rsplit_once(' ').map(|(name, _)| name.to_owned());
    let new = match set.new.rsplit_once(' ') {
        Some((same, version)) if name(&set.old).as_deref() == Some(same) => version,
        _ => &set.new,
    };
    format!("{} → {new}", set.old)
}

/// Returns the values files of a report; empty without.
pub(super) fn values(set: &ChangeSet) -> String {
    match set.values.as_slice() {
        [] => String::new(),
        files => format!("values: {}", files.join(", ")),
    }
}

/// The values of changes that a page has, as they stand there: a change may have many findings.
type Rendered = HashMap<*const Change, String>;

/// Returns counts by class: `2 breaking, 5 risky, 40 info`.
pub(super) fn counts(counts: &[usize; 3]) -> String {
    let count = |(class, count): (Class, &usize)| format!("{count} {}", class.as_str());
    join(Class::ALL.into_iter().zip(counts).map(count), ", ")
}

/// Returns the counts of findings, changed places and objects in one line.
pub(super) fn totals(set: &ChangeSet, summary: &Summary<'_>) -> String {
    let is_change = |change: &&Change| change.old.is_some() || change.new.is_some();
    let changes = set.changes().map(|(_, change)| change).filter(is_change).count();
    let changes = counted(changes, "change");
    format!("{}: {changes} in {}", counts(&summary.counts), objects(set))
}

/// Returns the counts of objects: `12 objects (1 added, 10 changed, 1 removed), 20 unchanged`.
pub(super) fn objects(set: &ChangeSet) -> String {
    let actions: Vec<String> = ["added", "removed", "renamed", "changed"]
        .into_iter()
        .filter(|action| set.acted(action) > 0)
        .map(|action| format!("{} {action}", set.acted(action)))
        .collect();
    // Affected objects are among those that are unchanged.
    let total = set.objects.iter().filter(|object| object.action != Action::Affected).count();
    let actions = match actions.is_empty() {
        true => String::new(),
        false => format!(" ({})", actions.join(", ")),
    };
    format!("{}{actions}, {}", counted(total, "object"), set.without_changes())
}

/// Returns a finding in one line: `crd-enum-narrowed: reason (extent)`, without the class.
pub(super) fn headline(group: &Group<'_>) -> String {
    format!("{} ({})", group.reason, group.extent())
}

/// Returns the note on further findings of the same rule: `; 5 more crd-enum-narrowed`.
pub(super) fn more_like(summary: &Summary<'_>, group: &Group<'_>) -> String {
    match summary.more_like(group) {
        0 => String::new(),
        more => format!("; {more} more {}", group.rule.code),
    }
}

/// Returns the fields of a schema at these places with their versions: each once.
pub(super) fn fields(places: &[&Place<'_>]) -> Vec<String> {
    let mut fields: IndexMap<&str, Vec<&str>> = IndexMap::new();
    for schema in places.iter().filter_map(|place| place.schema.as_ref()) {
        fields.entry(&schema.field).or_default().push(&schema.version);
    }
    let versions: HashSet<&Vec<&str>> = fields.values().collect();
    // The versions are said once if they are the same for all fields.
    let same = versions.len() <= 1;
    let last = fields.len().saturating_sub(1);
    let field = |(index, (field, versions)): (usize, (&str, Vec<&str>))| {
        let name = if field.is_empty() { "(the whole object)" } else { field };
        match same && index < last {
            true => name.to_owned(),
            false => format!("{name} ({})", versions.join(", ")),
        }
    };
    fields.into_iter().enumerate().map(field).collect()
}

/// Returns the fields of the places in an object, or their paths outside of schemas.
pub(super) fn names(places: &[&Place<'_>]) -> Vec<String> {
    let mut names = fields(places);
    if names.is_empty() {
        names.extend(places.iter().map(|place| place.change.path.to_string()));
    }
    names.retain(|name| !name.is_empty());
    names
}

/// Returns the ignored patterns that have changes, with the start of their sentence.
pub(super) fn ignored(set: &ChangeSet) -> impl Iterator<Item = (String, &Ignored)> {
    let ignored = set.ignored.iter().filter(|ignored| ignored.changes > 0);
    ignored.map(|ignored| (format!("{} changes ignored by", ignored.changes), ignored))
}

/// Returns true if the values need no lines of their own: scalars of one line, which reasons name.
pub(super) fn is_short(change: &Change) -> bool {
    let short = |value: &Option<Json>| match value {
        None | Some(Json::Null | Json::Bool(_) | Json::Number(_)) => true,
        Some(Json::String(text)) => text.chars().count() <= 80 && !text.contains('\n'),
        Some(Json::Array(_) | Json::Object(_)) => false,
    };
    short(&change.old) && short(&change.new)
}
