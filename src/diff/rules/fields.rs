//! Rules on single fields of workloads, pods, containers and other objects, as one table
//! (fields.json): a field, a condition, and the rule.
//!
//! A row compares the values that take effect: a missing field has the default of the row, so that
//! it does not matter whether a default is written out.

mod table;

pub(super) use table::{BUDGET, DEFAULT_CLASS, EXPOSED, LIMIT, ROUTING, TABLE, TLS_UNVERIFIED};

use super::judgement::Judgement;
use super::workload::delta;
use super::{display_value, found};
use crate::defaults::default_of;
use crate::embedded;
use crate::identity::Pair;
use crate::ir::quantity;
use crate::path::Step;
use crate::read::{CONTAINERS, at, entries, items, keys, named, pod_keys, pod_spec};
use crate::tree::{self, Edit};
use crate::{Identity, Rule};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::Value as Json;
use std::collections::{BTreeSet, HashMap};
use std::sync::LazyLock;

/// The part of an object that a row is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Part {
    /// The `spec` of pods, in every kind that has pods.
    Pod,
    /// Containers and init containers that are on both sides.
    Container,
    /// Webhooks of a configuration that are on both sides.
    Webhook,
}

/// The condition of a row, on the value of the field on both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
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
    /// The number is lower, and the new part does not have this field, which makes up for it: liveness
    /// probes wait for the startup probe.
    LoweredWithout(&'static str),
    /// The values differ, and this field of the part is the same.
    ChangedWithSame(&'static str),
    /// The number, percentage or quantity is higher.
    Raised,
    /// The quantity is ten times as high or more, and was not the limit, which a missing request is.
    Multiplied,
    /// The new list has all items of the old one, and more.
    Extended,
    /// The old list or map has an item that the new one does not have.
    Loses,
    /// The new list or map has an item that the old one does not have.
    Gains,
    /// The new list has this text, and the old one does not.
    GainsItem(&'static str),
    /// An item of the new list has a value of this field that no item of the old one has.
    GainsIn(&'static str),
}

/// Rows about the same part of objects.
#[derive(Deserialize)]
#[serde(bound = "'de: 'static")]
struct Rows {
    /// `None` for the whole object.
    part: Option<Part>,
    /// Kinds of objects; empty for all.
    #[serde(default)]
    kinds: Vec<&'static str>,
    fields: Vec<Field>,
}

/// A row of the table.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Field {
    /// Map keys from the start of the part; `*` is any key of a map, `a|b` each of the two, and a key
    /// with dots is in brackets.
    path: &'static str,
    /// True if a missing field has the default that the Kubernetes API has.
    #[serde(default)]
    api_default: bool,
    /// The value of a missing field, which is still different from it.
    missing: Option<Json>,
    when: When,
    #[serde(deserialize_with = "rule")]
    rule: &'static Rule,
}

/// All rows. For one field, the first row whose condition is true decides; a row about a whole map
/// or list is below those about its parts.
static FIELDS: LazyLock<Vec<Rows>> = LazyLock::new(|| embedded::json(include_str!("fields.json")));

/// Returns the rule with a code.
fn rule<'de: 'static, D: Deserializer<'de>>(code: D) -> Result<&'static Rule, D::Error> {
    let code = <&str>::deserialize(code)?;
    super::all().find(|rule| rule.code == code).ok_or_else(|| D::Error::custom(code))
}

/// Adds the findings of the table to the edits of an object that is on both sides.
pub(super) fn add_findings(pair: &Pair<'_>, judgement: &mut Judgement<'_>) {
    let (Some(old), Some(new)) = (pair.old, pair.new) else { return };
    let id = &pair.id;
    let part = |of, path, old, new| ComparedPart { id, of, label: String::new(), path, old, new };
    let whole = part(None, Vec::new(), old, new);
    let mut parts = Vec::new();
    if id.kind.ends_with("WebhookConfiguration") {
        parts = whole.items(Part::Webhook, "webhooks");
    } else if let (Some(old), Some(new)) = (pod_spec(&id.kind, old), pod_spec(&id.kind, new)) {
        let path = keys(pod_keys(&id.kind).unwrap_or_default());
        let pod = part(Some(Part::Pod), path, old, new);
        parts = CONTAINERS.iter().flat_map(|list| pod.items(Part::Container, list)).collect();
        parts.insert(0, pod);
    }
    parts.insert(0, whole);

    for part in &parts {
        let is_about = |rows: &&Rows| {
            rows.part == part.of
                && (rows.kinds.is_empty() || rows.kinds.contains(&id.kind.as_str()))
        };
        for field in FIELDS.iter().filter(is_about).flat_map(|rows| &rows.fields) {
            part.add_findings(field, judgement);
        }
    }
}

/// A part of an object on both sides.
struct ComparedPart<'j> {
    id: &'j Identity,
    /// `None` for the whole object.
    of: Option<Part>,
    /// Begins the reasons: `container manager: `, or nothing.
    label: String,
    path: Vec<Step>,
    old: &'j Json,
    new: &'j Json,
}

impl<'j> ComparedPart<'j> {
    /// Returns the items of a list that both sides have, by name.
    fn items(&self, of: Part, list: &str) -> Vec<Self> {
        let name = |item: &'j Json| item.get("name").and_then(Json::as_str);
        let twin = |old| Some((name(old)?, old));
        let twins: HashMap<&str, &Json> =
            items(self.old, &[list]).iter().filter_map(twin).collect();
        let part = |new| {
            let name = name(new)?;
            let path = [self.path.as_slice(), &keys(&[list]), &[named(name)]].concat();
            let is_container = of == Part::Container;
            let label = if is_container { format!("container {name}: ") } else { String::new() };
            Some(ComparedPart {
                id: self.id,
                of: Some(of),
                label,
                path,
                old: twins.get(name)?,
                new,
            })
        };
        items(self.new, &[list]).iter().filter_map(part).collect()
    }

    fn add_findings(&self, field: &Field, judgement: &mut Judgement<'_>) {
        for keys in self.paths(field) {
            let value = |part| at(part, &keys).filter(|value| !value.is_null());
            let sides @ [old, new] = [value(self.old), value(self.new)];
            if old == new {
                continue;
            }
            let applies = match field.when {
                When::LoweredWithout(other) => self.new.get(other).is_none(),
                When::ChangedWithSame(other) => self.old.get(other) == self.new.get(other),
                When::Multiplied => {
                    let limit =
                        keys.last().and_then(|key| at(self.old, &["resources", "limits", key]));
                    old.is_some() || limit.is_none() || number(limit) < number(new)
                }
                _ => true,
            };
            if !applies {
                continue;
            }

            let path = [self.path.as_slice(), &super::keys(&keys)].concat();
            let default = field.missing.as_ref();
            let default = if field.api_default { default_of(self.id, &path) } else { default };
            let Some(change) = field.when.change(sides, default) else { continue };
            let Some(findings) = judgement.touching(&path) else { continue };
            // The first row of a field decides, and a row of a parent that is new or removed: the
            // fields of a new probe are no changes of their own. Lost and gained items are two changes.
            let shown = format!("{}{}", self.label, keys.join("."));
            let others = match field.when {
                When::Gains => ": removed ",
                When::Loses => ": added ",
                _ => " ",
            };
            let is_parent = |reason: &str| {
                let parents = (1..keys.len()).filter_map(|length| keys.get(..length));
                let mut parents = parents.map(|keys| format!("{}{}:", self.label, keys.join(".")));
                parents.any(|parent| reason.starts_with(&parent))
            };
            let decided = findings.iter().any(|finding| {
                let below = finding.reason.strip_prefix(&shown);
                below.is_some_and(|rest| rest.starts_with([':', '.']) && !rest.starts_with(others))
                    || is_parent(&finding.reason)
            });
            if !decided {
                findings.push(found(field.rule, format!("{shown}: {change}")));
            }
        }
    }

    /// Returns the paths of a row.
    fn paths(&self, field: &Field) -> Vec<Vec<&'j str>> {
        let (start, dotted) = field.path.split_once('[').unwrap_or((field.path, ""));
        let dotted = Some(dotted.trim_end_matches(']')).filter(|key| !key.is_empty());
        let mut paths = vec![Vec::new()];
        for segment in start.split('.').chain(dotted) {
            let keys = |path: &[&str]| -> Vec<&'j str> {
                if segment != "*" {
                    return segment.split('|').collect();
                }
                let maps = [self.old, self.new].into_iter();
                let keys = maps.flat_map(|side| entries(side, path)).map(|(key, _)| key.as_str());
                keys.collect::<BTreeSet<_>>().into_iter().collect()
            };
            let below = |path: Vec<&'j str>| {
                keys(&path).into_iter().map(move |key| [path.as_slice(), &[key]].concat())
            };
            paths = paths.into_iter().flat_map(below).collect();
        }
        paths
    }
}

impl When {
    /// Returns the change as text if the condition is true.
    fn change(self, [old, new]: [Option<&Json>; 2], default: Option<&Json>) -> Option<String> {
        let (before, after) = (old.or(default), new.or(default));
        if before == after {
            return None;
        }

        let is = |value: Option<&Json>, text: &str| {
            value.is_some_and(|value| match value {
                Json::String(value) => value == text,
                value => format!("{value}") == text,
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
            When::Limited if before.is_none() => number(after).is_some(),
            When::Limited | When::Lowered | When::LoweredWithout(_) => {
                numbers.is_some_and(|(before, after)| after < before)
            }
            When::Multiplied => numbers.is_some_and(|(before, after)| after >= 10.0 * before),
            When::Raised => numbers.is_some_and(|(before, after)| after > before),
            When::Extended if before.is_none() || missing(before, after).is_some() => false,
            When::Loses => return missing(before, after).map(|gone| format!("removed {gone}")),
            When::Gains | When::Extended => {
                return missing(after, before).map(|came| format!("added {came}"));
            }
            When::GainsItem(item) => {
                let has = |list| items(list, &[]).iter().any(|one| one == item);
                has(after) && !has(before)
            }
            When::GainsIn(field) => {
                let values = |list| -> Json {
                    items(list, &[]).iter().filter_map(|item| item.get(field)).cloned().collect()
                };
                let came = missing(Some(&values(after)), Some(&values(before)));
                return came.map(|came| format!("added {came}"));
            }
        };

        let shown = |value: Option<&Json>| match value {
            Some(Json::String(text)) if text.is_empty() => {
                // `priorityClassName: ""` is the default.
                if default == value { "unset" } else { "\"\"" }.to_owned()
            }
            value => value.map_or("unset".to_owned(), plain),
        };
        // A request is not set by default.
        let shows_default = !matches!(self, When::Multiplied);
        let (before, after) = if shows_default { (before, after) } else { (old, new) };
        holds.then(|| match (before, after) {
            (Some(before), Some(after)) if are_cut(before, after) => differences(before, after),
            _ => format!("{} → {}", shown(before), shown(after)),
        })
    }
}

/// Returns a change of a value as text: `1 → 2`.
pub(super) fn change(old: Option<&Json>, new: Option<&Json>) -> String {
    match (old, new) {
        (Some(old), Some(new)) if are_cut(old, new) => differences(old, new),
        (Some(old), Some(new)) => format!("{} → {}", plain(old), plain(new)),
        (None, new) => format!("added {}", new.map(plain).unwrap_or_default()),
        (Some(old), None) => format!("removed {}", plain(old)),
    }
}

/// Returns an edit as text: `spec.replicas: 1 → 2`.
pub(super) fn edited(edit: &Edit) -> String {
    let path = edit.path.to_string();
    format!("{}: {}", path.trim_start_matches('.'), change(edit.old.as_ref(), edit.new.as_ref()))
}

/// Returns true if two values look the same, or if only the start of one would be shown.
fn are_cut(old: &Json, new: &Json) -> bool {
    let [old, new] = [old, new].map(plain);
    old == new || old.ends_with('…') || new.ends_with('…')
}

/// Returns where two values differ.
fn differences(old: &Json, new: &Json) -> String {
    match (old, new) {
        (Json::String(old), Json::String(new)) => {
            let mut pairs = old.char_indices().zip(new.chars());
            let first = pairs.find(|((_, old), new)| old != new);
            let start = first.map_or(old.len().min(new.len()), |((start, _), _)| start);
            let dots = if start == 0 { "" } else { "…" };
            let [old, new] =
                [old, new].map(|text| plain(&format!("{dots}{}", &text[start..]).into()));
            format!("{old} → {new}")
        }
        (Json::Array(_), Json::Array(_)) | (Json::Object(_), Json::Object(_)) => {
            let edits = tree::edits(old, new);
            match edits.as_slice() {
                [whole] if whole.path.steps().is_empty() => {
                    let (gone, came) = (super::not_in(old, new), super::not_in(new, old));
                    match (gone.as_slice(), came.as_slice()) {
                        ([gone], [came]) => change(Some(gone), Some(came)),
                        _ => delta(Some(old), Some(new)),
                    }
                }
                edits => super::listed(edits.iter().map(edited), 3),
            }
        }
        _ if plain(old) == plain(new) => format!("{old} → {new}"),
        _ => format!("{} → {}", plain(old), plain(new)),
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
fn missing(list: Option<&Json>, other: Option<&Json>) -> Option<String> {
    let missing: Vec<String> = match list? {
        list @ Json::Array(_) => super::not_in(list, other).into_iter().map(plain).collect(),
        Json::Object(map) => map
            .iter()
            .filter(|(key, value)| at(other, &[key]) != Some(value))
            .map(|(key, value)| format!("{key}={}", plain(value)))
            .collect(),
        _ => return None,
    };
    (!missing.is_empty()).then(|| super::listed(&missing, 4))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// A typing error in the path of a row, or a default that is gone, would be no default.
    #[test]
    fn rows_with_a_default_of_the_api_have_one() {
        let item = || Step::Item(vec![("name".to_owned(), "x".to_owned())]);
        let mut count = 0;
        let rows =
            FIELDS.iter().flat_map(|rows| rows.fields.iter().map(move |field| (rows, field)));
        for (rows, field) in rows.filter(|(_, field)| field.api_default) {
            let (kinds, start): (&[&str], Vec<Step>) = match rows.part {
                None => (&rows.kinds, Vec::new()),
                Some(Part::Pod) => (&["Pod"], keys(&["spec"])),
                Some(Part::Container) => {
                    (&["Pod"], [keys(&["spec", "containers"]), vec![item()]].concat())
                }
                Some(Part::Webhook) => (
                    &["ValidatingWebhookConfiguration"],
                    [keys(&["webhooks"]), vec![item()]].concat(),
                ),
            };
            let ids: Vec<Identity> =
                kinds.iter().map(|kind| Identity::new(kind, "", "", "x")).collect();
            let part = ComparedPart {
                id: &ids[0],
                of: None,
                label: String::new(),
                path: start,
                old: &Json::Null,
                new: &Json::Null,
            };
            for path in part.paths(field) {
                let whole = [part.path.as_slice(), &keys(&path)].concat();
                let has_default = |id: &Identity| default_of(id, &whole).is_some();
                assert!(ids.iter().any(has_default), "{kinds:?} {path:?}");
                count += 1;
            }
        }
        assert!(count > 20, "only {count}");
    }

    /// `apps.kruise.io` has a StatefulSet with more features than that of Kubernetes.
    #[test]
    fn workloads_of_other_groups_have_the_defaults_of_their_kind() {
        for group in ["apps", "apps.kruise.io"] {
            let id = Identity::new("StatefulSet", group, "", "x");
            assert_eq!(default_of(&id, &keys(&["spec", "replicas"])), Some(&json!(1)), "{group}");
        }
    }
}
