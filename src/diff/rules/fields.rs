//! Rules on single fields of workloads, pods, containers and other objects, as one table
//! ([`table::FIELDS`]): a field, a condition, and the rule.
//!
//! A row compares the values that take effect: a missing field has the default of the row, so that
//! it does not matter whether a default is written out.

mod table;

pub(super) use table::{BUDGET, DEFAULT_CLASS, EXPOSED, LIMIT, TABLE};

use super::nearest::Nearest;
use super::{display_value, found, pod_template};
use crate::identity::Pair;
use crate::ir::quantity;
use crate::path::Step;
use crate::tree::Edit;
use crate::{Finding, Rule};
use serde_json::Value as Json;
use std::cell::OnceCell;
use std::collections::HashMap;

/// The part of an object that a row is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Of {
    /// Objects of every kind, from their root.
    Every,
    /// Objects of these kinds, from their root.
    Kinds(&'static [&'static str]),
    /// The `spec` of pods, in every kind that has pods.
    Pod,
    /// Containers and init containers that are on both sides.
    Container,
}

/// The condition of a row, on the value of the field on both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    /// The values differ.
    Changed,
    /// Only the new side has the field.
    Added,
    /// Only the old side has the field.
    Removed,
    /// The new value is this one, as JSON or text, and the old one is not.
    To(&'static str),
    /// The old value is this one, and the new one is not.
    From(&'static str),
    /// The number, percentage or quantity is lower, or there is one where there was none.
    Limited,
    /// The number, percentage or quantity is lower.
    Lowered,
    /// The number is lower, and the new part does not have this field, which makes up for it.
    LoweredWithout(&'static str),
    /// The values differ, and this field of the part is the same.
    ChangedWithSame(&'static str),
    /// The number, percentage or quantity is higher.
    Raised,
    /// The quantity is ten times as high or more.
    Multiplied,
    /// The old list or map has an item that the new one does not have.
    Loses,
    /// The new list or map has an item that the old one does not have.
    Gains,
}

/// A row of the table.
struct Field {
    of: Of,
    /// Map keys from the start of the part; `*` is any key of a map.
    path: &'static [&'static str],
    /// JSON of the value that a missing field has; empty if it has none.
    default: &'static str,
    when: When,
    rule: &'static Rule,
}

/// Adds the findings of the table to the edits of an object that is on both sides.
pub(super) fn add_findings(pair: &Pair<'_>, edits: &[Edit], judged: &mut [Vec<Finding>]) {
    let (Some(old), Some(new)) = (pair.old, pair.new) else { return };
    let mut parts =
        vec![ComparedPart { of: None, label: String::new(), path: Vec::new(), old, new }];
    if let Some(template) = pod_template(&pair.id.kind) {
        let start: Vec<Step> =
            template.iter().chain(["spec"].iter()).map(|key| named(key)).collect();
        let spec = |object| start.iter().try_fold(object, child);
        if let (Some(old), Some(new)) = (spec(old), spec(new)) {
            parts.push(ComparedPart {
                of: Some(Of::Pod),
                label: String::new(),
                path: start.clone(),
                old,
                new,
            });
            parts.extend(containers(&start, old, new));
        }
    }

    // Most objects have no row that applies, and some have thousands of edits.
    let nearest = OnceCell::new();
    let nearest = || nearest.get_or_init(|| Nearest::of(edits));
    for part in &parts {
        for field in table::FIELDS {
            let applies = match field.of {
                Of::Every => part.of.is_none(),
                Of::Kinds(kinds) => part.of.is_none() && kinds.contains(&pair.id.kind.as_str()),
                of => part.of == Some(of),
            };
            if applies {
                part.add_findings(field, nearest, judged);
            }
        }
    }
}

/// A part of an object on both sides.
struct ComparedPart<'j> {
    /// `None` for the whole object.
    of: Option<Of>,
    /// Begins the reasons: `container manager: `, or nothing.
    label: String,
    path: Vec<Step>,
    old: &'j Json,
    new: &'j Json,
}

/// Returns the containers that are on both sides.
fn containers<'j>(start: &[Step], old: &'j Json, new: &'j Json) -> Vec<ComparedPart<'j>> {
    let list = |spec: &'j Json, key: &str| {
        spec.get(key).and_then(Json::as_array).map(Vec::as_slice).unwrap_or_default()
    };
    let name = |container: &'j Json| container.get("name").and_then(Json::as_str);
    let mut parts = Vec::new();
    for key in ["containers", "initContainers"] {
        let twins: HashMap<&str, &Json> =
            list(old, key).iter().filter_map(|old| Some((name(old)?, old))).collect();
        for new in list(new, key) {
            let Some((name, old)) = name(new).and_then(|name| Some((name, *twins.get(name)?)))
            else {
                continue;
            };
            let item = Step::Item(vec![("name".to_owned(), name.to_owned())]);
            let path = start.iter().cloned().chain([named(key), item]).collect();
            let label = format!("container {name}: ");
            parts.push(ComparedPart { of: Some(Of::Container), label, path, old, new });
        }
    }
    parts
}

impl ComparedPart<'_> {
    fn add_findings<'n, 'e: 'n>(
        &self,
        field: &Field,
        nearest: impl Fn() -> &'n Nearest<'e>,
        judged: &mut [Vec<Finding>],
    ) {
        for keys in self.paths(field) {
            let steps: Vec<Step> = keys.iter().map(|key| named(key)).collect();
            let value = |part| steps.iter().try_fold(part, child).filter(|value| !value.is_null());
            let (old, new) = (value(self.old), value(self.new));
            if old == new {
                continue;
            }
            let applies = match field.when {
                When::LoweredWithout(other) => self.new.get(other).is_none(),
                When::ChangedWithSame(other) => self.old.get(other) == self.new.get(other),
                _ => true,
            };
            if !applies {
                continue;
            }
            let default: Option<Json> = serde_json::from_str(field.default).ok();
            let Some(change) = field.when.change(old, new, default.as_ref()) else { continue };
            let path: Vec<Step> = self.path.iter().cloned().chain(steps).collect();
            let Some(findings) = nearest().touching(&path).and_then(|at| judged.get_mut(at)) else {
                continue;
            };
            // The first row of a field decides, and a row of a parent that is new or removed: the
            // fields of a new probe are no changes of their own.
            let shown = format!("{}{}", self.label, keys.join("."));
            let is_parent = |reason: &str| {
                let parents = (1..keys.len()).filter_map(|length| keys.get(..length));
                let mut parents = parents.map(|keys| format!("{}{}:", self.label, keys.join(".")));
                parents.any(|parent| reason.starts_with(&parent))
            };
            let decided = findings.iter().any(|finding| {
                let below = finding.reason.strip_prefix(&shown);
                below.is_some_and(|rest| rest.starts_with([':', '.'])) || is_parent(&finding.reason)
            });
            if !decided {
                findings.push(found(field.rule, format!("{shown}: {change}")));
            }
        }
    }

    /// Returns the paths of a row, with the keys in place of `*`.
    fn paths(&self, field: &Field) -> Vec<Vec<String>> {
        let Some(star) = field.path.iter().position(|key| *key == "*") else {
            return vec![field.path.iter().map(|key| (*key).to_owned()).collect()];
        };
        let (start, rest) = field.path.split_at(star);
        let map = |part| start.iter().try_fold(part, |value: &Json, key| value.get(key));
        let mut keys: Vec<&String> = [self.old, self.new]
            .into_iter()
            .filter_map(map)
            .filter_map(Json::as_object)
            .flat_map(|map| map.keys())
            .collect();
        keys.sort();
        keys.dedup();
        let path = |key: &String| -> Vec<String> {
            let start = start.iter().map(|key| (*key).to_owned());
            let rest = rest.iter().skip(1).map(|key| (*key).to_owned());
            start.chain([key.clone()]).chain(rest).collect()
        };
        keys.into_iter().map(path).collect()
    }
}

impl When {
    /// Returns the change as text if the condition is true.
    fn change(
        self,
        old: Option<&Json>,
        new: Option<&Json>,
        default: Option<&Json>,
    ) -> Option<String> {
        let (before, after) = (old.or(default), new.or(default));
        if before == after {
            return None;
        }

        let is = |value: Option<&Json>, text: &str| {
            value.is_some_and(|value| {
                let json = value.to_string();
                value.as_str() == Some(text) || json == text
            })
        };

        let numbers = number(before).zip(number(after));
        let holds = match self {
            When::Changed | When::ChangedWithSame(_) => true,
            When::Added => before.is_none(),
            When::Removed => after.is_none(),
            When::To(text) => is(after, text) && !is(before, text),
            When::From(text) => is(before, text) && !is(after, text),
            // A first limit restricts, too.
            When::Limited => match (number(before), number(after)) {
                (Some(before), Some(after)) => after < before,
                (None, Some(_)) => before.is_none(),
                _ => false,
            },
            When::Lowered | When::LoweredWithout(_) => {
                numbers.is_some_and(|(before, after)| after < before)
            }
            When::Multiplied => numbers.is_some_and(|(before, after)| after >= 10.0 * before),
            When::Raised => numbers.is_some_and(|(before, after)| after > before),
            When::Loses => return items(before, after).map(|gone| format!("removed {gone}")),
            When::Gains => return items(after, before).map(|came| format!("added {came}")),
        };

        let shown = |value: Option<&Json>| match value {
            Some(Json::String(text)) if text.is_empty() => {
                // `priorityClassName: ""` is the default.
                if default == value { "unset" } else { "\"\"" }.to_owned()
            }
            value => value.map_or("unset".to_owned(), plain),
        };
        holds.then(|| format!("{} → {}", shown(before), shown(after)))
    }
}

/// Returns a value for a reason, shortened.
pub(super) fn plain(value: &Json) -> String {
    let text = display_value(value);
    text.trim_matches('`').to_owned()
}

/// Returns a number, percentage or quantity; percentages are fractions.
fn number(value: Option<&Json>) -> Option<f64> {
    let value = value?;
    let percent = value.as_str().and_then(|text| text.strip_suffix('%'));
    match percent {
        Some(percent) => Some(percent.parse::<f64>().ok()? / 100.0),
        None => quantity(value),
    }
}

/// Returns the items of a list, or the entries of a map, that another one does not have.
fn items(list: Option<&Json>, other: Option<&Json>) -> Option<String> {
    let missing: Vec<String> = match (list?, other) {
        (list @ Json::Array(_), other) => {
            let other = other.unwrap_or(&Json::Null);
            super::not_in(list, other).into_iter().map(plain).collect()
        }
        (Json::Object(map), other) => map
            .iter()
            .filter(|(key, value)| other.and_then(|other| other.get(key.as_str())) != Some(value))
            .map(|(key, value)| format!("{key}={}", plain(value)))
            .collect(),
        _ => return None,
    };
    (!missing.is_empty()).then(|| super::listed(&missing, 4))
}

fn named(key: &str) -> Step {
    Step::Key(key.to_owned())
}

fn child<'j>(value: &'j Json, step: &Step) -> Option<&'j Json> {
    match step {
        Step::Key(key) => value.get(key),
        _ => None,
    }
}
