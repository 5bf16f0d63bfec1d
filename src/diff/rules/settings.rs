//! Settings of programs: flags, environment variables and lines of configuration files.
//!
//! The content of a setting counts, not its place: the same change has the same class in all three.

use super::fields::{self, edited, plain};
use super::image::{self, Use, is_image};
use super::object::ORDER;
use super::workload::{ARGS, ARGS_TUNED, delta};
use super::{RuleContext, found, listed, missing, rules};
use crate::chart::single_map;
use crate::path::Step;
use crate::read::{at, entries, items, letters, plain_text};
use crate::{Finding, tree};
use serde_json::{Value as Json, json};
use std::collections::{HashMap, HashSet};

rules! {
    /// Content of a ConfigMap or Secret changed.
    ///
    /// Programs read their settings from ConfigMaps and Secrets, as from arguments: they enable and
    /// disable features, and set addresses.
    CONFIG "config-changed" Risky(Behaviour)
        "Check the changed settings.";
    /// Settings for logging, versions or images in a ConfigMap changed, or none.
    ///
    /// Only the level or format of logs, a version or an image differs; or the text says the same
    /// in another form, or a file is new, which nothing reads unless another change says so.
    CONFIG_TUNED "config-tuned" Info;
}

/// A setting of a program.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Setting {
    pub(super) name: String,
    pub(super) value: String,
}

impl Setting {
    pub(super) fn new(name: &str, value: &str) -> Self {
        Setting { name: name.to_owned(), value: value.to_owned() }
    }

    /// Returns true if it sets the level or format of logs, in any spelling: `--zap-log-level`,
    /// `LOG_LEVEL`, `logLevel`.
    fn is_log(&self) -> bool {
        let name = letters(&self.name);
        // `-v` is the verbosity of klog.
        name == "v" || LOGS.iter().any(|end| name.ends_with(end))
    }
}

/// Ends of names of settings for logs, in lower case and without punctuation.
const LOGS: [&str; 7] = [
    "loglevel",
    "logformat",
    "verbosity",
    "zapdevel",
    "zapencoder",
    "zapstacktracelevel",
    "zaptimeencoding",
];

/// Returns true if two sets of settings differ only in logs, in versions and images, and in empty
/// values, which programs read as none.
fn is_tuning<'s>(
    gone: impl IntoIterator<Item = &'s Setting>,
    came: impl IntoIterator<Item = &'s Setting>,
) -> bool {
    let (gone, came) = (Vec::from_iter(gone), Vec::from_iter(came));
    let harmless = |settings: &[&Setting], others: &[&Setting]| {
        let others: HashMap<&str, &str> =
            others.iter().map(|other| (other.name.as_str(), other.value.as_str())).collect();
        settings.iter().all(|setting| match others.get(setting.name.as_str()) {
            _ if setting.is_log() => true,
            Some(other) => without_versions(&setting.value) == without_versions(other),
            // An image to mirror, as that of a container.
            None => setting.value.is_empty() || is_image(&setting.value),
        })
    };
    harmless(&gone, &came) && harmless(&came, &gone)
}

/// Returns a value without the versions in it: the operator's own version changes with every release.
/// Of an image, what is before its tag or digest.
fn without_versions(value: &str) -> String {
    if is_image(value) {
        return image::repository(value);
    }
    let mut text = String::new();
    let is_part = |c: char| c.is_ascii_digit() || c == '.';
    let mut rest = value;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let end = rest[start..].find(|c| !is_part(c)).map_or(rest.len(), |at| start + at);
        let run = rest[start..end].trim_end_matches('.');
        // Three numbers; addresses have four, and durations fewer.
        let version = run.split('.').count() == 3 && run.split('.').all(|part| !part.is_empty());
        let end = if version { start + run.len() } else { end };
        text.push_str(rest[..start].trim_end_matches('v'));
        // No text has a NUL, so that a version is no word.
        if version {
            text.push('\0')
        } else {
            text.push_str(&rest[start..end])
        }
        rest = &rest[end..];
    }
    text + rest
}

/// Returns the findings for a changed list of arguments.
pub(super) fn arguments(place: &str, [old, new]: [Option<&Json>; 2]) -> Vec<Finding> {
    let [before, after] = [old, new].map(|list| Arguments::of(items(list, &[])));
    if before.positional == after.positional && before.by_name() == after.by_name() {
        let reason = format!("{place}: the same flags in another order or form");
        return vec![found(&ORDER, reason)];
    }
    let (gone, came) = (missing(&before.flags, &after.flags), missing(&after.flags, &before.flags));

    // Operands are started from images in flags, as from those in variables.
    let mut renewed: HashMap<&str, &Setting> = HashMap::new();
    gone.iter().for_each(|old| _ = renewed.entry(&old.name).or_insert(old));
    let images = came.iter().filter_map(|new| Some((*renewed.get(new.name.as_str())?, *new)));
    let images = images.filter(|(old, new)| is_image(&old.value) && is_image(&new.value));
    let pairs: Vec<(&Setting, &Setting)> = images.collect();
    let of_image = |(old, new): &(&Setting, &Setting)| {
        let place = format!("{place}[{}]", new.name);
        image::changed(&place, &old.value, &new.value, Use::Operand)
    };
    let mut findings: Vec<Finding> = pairs.iter().flat_map(of_image).collect();

    let images: HashSet<&str> = pairs.iter().map(|(_, new)| new.name.as_str()).collect();
    let [gone, came] = [gone, came].map(|settings| -> Vec<&Setting> {
        settings.into_iter().filter(|setting| !images.contains(setting.name.as_str())).collect()
    });
    let same = before.positional == after.positional && gone.is_empty() && came.is_empty();
    if !same || pairs.is_empty() {
        let is_tuned = before.positional == after.positional && !same && is_tuning(gone, came);
        let rule = if is_tuned { &ARGS_TUNED } else { &ARGS };
        findings.push(found(rule, format!("{place}: {}", delta(old, new))));
    }
    findings
}

/// Arguments as flags and the rest, whose order counts.
pub(super) struct Arguments {
    pub(super) flags: Vec<Setting>,
    positional: Vec<String>,
}

impl Arguments {
    pub(super) fn of(list: &[Json]) -> Self {
        let mut arguments = Arguments { flags: Vec::new(), positional: Vec::new() };
        let mut items = list.iter().map(plain_text).peekable();
        while let Some(text) = items.next() {
            if !text.starts_with('-') || text.trim_matches('-').is_empty() {
                arguments.positional.push(text);
                continue;
            }
            // Only the program knows whether a flag has a value; a wrong guess is the same on both
            // sides.
            let value = items.next_if(|next| !text.contains('=') && !next.starts_with('-'));
            // Go's `flag` accepts one dash and two, and a flag without a value is true.
            let flag = text.trim_start_matches('-');
            let (name, value) = match &value {
                Some(value) => (flag, value.as_str()),
                None => flag.split_once('=').unwrap_or((flag, "true")),
            };
            arguments.flags.push(Setting::new(name, value));
        }
        arguments
    }

    /// Returns the values by flag: of one flag, the last value wins, or all count in their order.
    fn by_name(&self) -> HashMap<&str, Vec<&str>> {
        let mut values: HashMap<&str, Vec<&str>> = HashMap::new();
        for flag in &self.flags {
            values.entry(&flag.name).or_default().push(&flag.value);
        }
        values
    }
}

/// Returns true if an added, removed or changed environment variable is no setting of the program:
/// it is about logs, versions and images, is empty, or tells the container about its own pod.
pub(super) fn is_tuned_variable(name: &str, old: Option<&Json>, new: Option<&Json>) -> bool {
    let from = |variable: Option<&Json>| variable?.get("valueFrom").cloned();
    if old.is_none()
        && let Some(source) = from(new)
    {
        // Without its Secret or ConfigMap, an optional variable is unset.
        let optional = |source: &Json| source.get("optional") == Some(&Json::Bool(true));
        let of_pod = |kind: &str| ["fieldRef", "resourceFieldRef"].contains(&kind);
        let sources = source.as_object().into_iter().flatten();
        return sources.into_iter().all(|(kind, source)| of_pod(kind) || optional(source));
    }
    if from(old).is_some() || from(new).is_some() {
        return false;
    }
    let value = |variable: &Json| {
        let value = variable.get("value").map(plain_text).unwrap_or_default();
        Setting::new(name, &value)
    };
    let (gone, came) = (old.map(value), new.map(value));
    is_tuning(&gone, &came)
}

/// Labels of ConfigMaps with dashboards, which are no settings: of Grafana's sidecar (`sidecar.
/// dashboards.label` of its chart) and of the OpenShift console (openshift/console-operator).
const DASHBOARDS: [&str; 2] = ["grafana_dashboard", "console.openshift.io/dashboard"];

/// Adds the finding for an edit of the content of a ConfigMap or Secret.
pub(super) fn content(context: &RuleContext<'_, '_>, findings: &mut Vec<Finding>) {
    let (old, new) = (context.edit.old.as_ref(), context.edit.new.as_ref());
    let is_content = |map: &str| ["data", "binaryData"].contains(&map);
    let labels = at(context.pair.new, &["metadata", "labels"]);
    let is_dashboard = DASHBOARDS.iter().any(|label| at(labels, &[label]).is_some());
    let mut judge = |key: &str, label: String, old: Option<&Json>, new: Option<&Json>| {
        let (is_tuned, change) = match (old, new) {
            (Some(old), Some(new)) => text(key, &plain_text(old), &plain_text(new)),
            _ => {
                let value = old.or(new).map(plain_text).unwrap_or_default();
                let is_new_file = old.is_none() && value.trim_end().contains('\n');
                let change = if old.is_none() { "added" } else { "removed" };
                let is_tuned = is_new_file || is_tuning([&Setting::new(key, &value)], []);
                (is_tuned, change.to_owned())
            }
        };
        let rule = if is_tuned || is_dashboard { &CONFIG_TUNED } else { &CONFIG };
        findings.push(found(rule, format!("{label}: {change}")));
    };

    match context.steps() {
        [Step::Key(map), Step::Key(key)] if is_content(map) => {
            judge(key, format!("{map}[{key}]"), old, new);
        }
        [Step::Key(map)] if is_content(map) => {
            for (key, _) in [old, new].into_iter().flat_map(|side| entries(side, &[])) {
                judge(key, format!("{map}[{key}]"), at(old, &[key]), at(new, &[key]));
            }
        }
        _ => {}
    }
}

/// Number of changed lines that a reason shows.
const LINES: usize = 2;

/// Compares two texts: returns true if they are equal or differ only in tuning, and the difference.
fn text(key: &str, old: &str, new: &str) -> (bool, String) {
    let is_line = |text: &str| !text.trim_end().contains('\n');
    // A configuration file in YAML or JSON.
    if let (Some(before), Some(after)) = (single_map(old), single_map(new)) {
        return parsed(&before, &after);
    }
    if is_line(old) && is_line(new) {
        let [before, after] = [old, new].map(|text| Setting::new(key, text.trim()));
        return (
            is_tuning([&before], [&after]),
            fields::change(Some(&json!(old)), Some(&json!(new))),
        );
    }

    let (before, after) = (lines(old), lines(new));
    if before == after {
        return (true, "the same in another form".to_owned());
    }
    let (gone, came) = (missing(&before, &after), missing(&after, &before));
    let [of_gone, of_came] =
        [&gone, &came].map(|lines| lines.iter().map(|line| of_line(line)).collect::<Vec<_>>());
    let changed = !(gone.is_empty() && came.is_empty());
    let change = match (gone.as_slice(), came.as_slice()) {
        ([], []) => "the same lines in another order".to_owned(),
        ([one], [other]) => fields::change(Some(&json!(one)), Some(&json!(other))),
        (gone, []) => format!("removed {}", shown(gone)),
        ([], came) => format!("added {}", shown(came)),
        (gone, came) => format!("removed {}; added {}", shown(gone), shown(came)),
    };
    (changed && is_tuning(&of_gone, &of_came), change)
}

fn shown(lines: &[&&str]) -> String {
    listed(lines.iter().map(|line| plain(&json!(line))), LINES)
}

/// Compares two documents: returns true if they are equal or differ only in tuning, and the
/// difference.
fn parsed(old: &Json, new: &Json) -> (bool, String) {
    let edits = tree::edits(old, new);
    if edits.is_empty() {
        return (true, "the same in another form".to_owned());
    }
    // Settings of one name at two places are different settings.
    let is_tuned = edits.iter().all(|edit| {
        let name = edit.path.last_key().unwrap_or_default();
        let setting = |value: &Json| Setting::new(name, &plain_text(value));
        let of = |value: &Option<Json>| value.as_ref().map(setting);
        is_tuning(&of(&edit.old), &of(&edit.new))
    });

    (is_tuned, listed(edits.iter().map(edited), LINES))
}

/// Returns the lines of a text without blanks at their ends, empty lines and comments.
fn lines(text: &str) -> Vec<&str> {
    let is_comment = |line: &str| ["#", "//", ";"].iter().any(|start| line.starts_with(start));
    text.lines().map(str::trim).filter(|line| !line.is_empty() && !is_comment(line)).collect()
}

/// Returns the setting of a line: `name = value` or `name: value`.
pub(super) fn of_line(line: &str) -> Setting {
    let quotes: &[char] = &['"', '\'', ' ', ','];
    let (name, value) = line.split_once(['=', ':']).unwrap_or((line, ""));
    // A line without a value is no empty setting.
    let value = if value.trim().is_empty() { "true" } else { value };
    Setting::new(name.trim_matches(quotes), value.trim_matches(quotes))
}

#[cfg(test)]
mod tests {
    use super::{Setting, is_tuning, without_versions};

    #[test]
    fn versions_in_values() {
        for (one, other, same) in [
            ("1.0.0", "v1.1.0", true),
            ("widgets.v1.4.0", "widgets.v1.5.0", true),
            ("r.io/a:1", "r.io/a:2", true),
            ("r.io/a:1", "r.io/b:1", false),
            ("10.0.0.1", "10.0.0.2", false),
            ("30s", "40s", false),
            ("a1.2.3b", "c1.2.3b", false),
            ("1..2", "1..3", false),
            ("1.0.0", "VERSION", false),
        ] {
            assert_eq!(without_versions(one) == without_versions(other), same, "{one}, {other}");
        }
    }

    #[test]
    fn names_of_logs() {
        for (name, log) in [
            ("zap-log-level", true),
            ("APP_LOG_LEVEL", true),
            ("logFormat", true),
            ("v", true),
            ("verbosity", true),
            ("zap-devel", true),
            ("zap-encoder", true),
            ("zap-stacktrace-level", true),
            ("zap-time-encoding", true),
            ("level", false),
            ("encoder", false),
            ("zap-feature", false),
        ] {
            let setting = |value: &str| Setting::new(name, value);
            assert_eq!(is_tuning([&setting("a")], [&setting("b")]), log, "{name}");
        }
    }
}
