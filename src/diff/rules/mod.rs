//! What makes a change breaking or risky: one table of rules, by what they are about.
//!
//! A rule judges an edit with both sides at hand. An edit that no rule knows is for information.

mod chart;
mod crd;
mod crd_schema;
mod lookup;
mod object;
pub(super) mod rbac;
mod references;
mod service;
pub(super) mod subject;
mod webhook;
mod workload;
mod workload_pod;

pub(super) use object::is_hook;
pub(super) use workload::pod_template;

use super::identity::{Pair, Pairs};
use super::path::Step;
use super::tree::Edit;
use super::{Class, Finding, Side};
use lookup::Lookup;
use serde_json::Value as Json;
use std::collections::HashSet;

/// A rule: what every finding of it has in common.
#[derive(Debug, PartialEq, Eq)]
pub struct Rule {
    /// Kebab-case name. Stable: never reused for something else.
    pub code: &'static str,
    /// How much it matters.
    pub class: Class,
    /// What happened, in one line.
    pub title: &'static str,
    /// Why it matters, in a paragraph.
    pub explanation: &'static str,
    /// What to do.
    pub todo: &'static str,
}

/// Declares rules: a name, the code, the class, what happened, why it matters, what to do.
macro_rules! rules {
    ($($name:ident $code:literal $class:ident $title:literal $explanation:literal $todo:literal;)*) => {
        $(pub(super) static $name: $crate::diff::Rule = $crate::diff::Rule {
            code: $code,
            class: $crate::diff::Class::$class,
            title: $title,
            explanation: $explanation,
            todo: $todo,
        };)*
        pub(super) static TABLE: &[&$crate::diff::Rule] = &[$(&$name),*];
    };
}
use rules;

/// Every rule, in the order of the documentation.
pub fn all() -> impl Iterator<Item = &'static Rule> {
    [
        crd::TABLE,
        crd_schema::TABLE,
        rbac::TABLE,
        workload::TABLE,
        workload_pod::TABLE,
        webhook::TABLE,
        service::TABLE,
        chart::TABLE,
        subject::TABLE,
        object::TABLE,
    ]
    .into_iter()
    .flatten()
    .copied()
}

/// Both sides, with what rules ask of them as a whole.
pub(super) struct Sides<'a> {
    pub(super) old: &'a Side,
    pub(super) new: &'a Side,
    before: rbac::Holdings<'a>,
    bindings: rbac::Bindings<'a>,
    gains: rbac::Gains,
    references: references::References,
}

/// An edit in its surroundings: one of those that turn one object of a pair into the other.
pub(super) struct Scene<'s, 'a> {
    pub(super) sides: &'s Sides<'a>,
    pub(super) pair: &'s Pair<'a>,
    pub(super) edit: &'s Edit,
    /// Finds values in the old object and in the new one.
    old: &'s Lookup<'a>,
    new: &'s Lookup<'a>,
    /// For a role, what it allows.
    access: Option<&'s rbac::Access<'a>>,
    /// For a chart, the values that it got.
    new_values: &'s chart::NewValues<'s>,
    /// For a CRD, the properties that it got.
    new_properties: &'s crd_schema::NewProperties<'s>,
    /// For a configuration of webhooks, what several edits need to know of them.
    webhooks: &'s webhook::Webhooks<'a>,
    /// For a Service, its ports.
    ports: &'s service::Ports,
}

impl<'a> Sides<'a> {
    pub(super) fn new(old: &'a Side, new: &'a Side, pairs: &Pairs<'a>) -> Self {
        Sides {
            old,
            new,
            before: rbac::Holdings::of(old, pairs),
            bindings: rbac::Bindings::of(new),
            gains: rbac::Gains::default(),
            references: references::References::of(new),
        }
    }

    /// What the rules say about each of the edits that turn one object of a pair into the other.
    pub(super) fn judge(&self, pair: &Pair<'a>, edits: &[Edit]) -> Vec<Vec<Finding>> {
        let access = rbac::Access::of(pair, self);
        let access = access.as_ref();
        let (old, new) = (&Lookup::new(pair.old), &Lookup::new(pair.new));
        let is_crd = pair.id.kind == "CustomResourceDefinition";
        let new_properties = &crd_schema::NewProperties::of(if is_crd { edits } else { &[] });
        let (webhooks, ports) = (&webhook::Webhooks::default(), &service::Ports::of(pair));
        let is_chart = pair.id.kind == super::CHART_KIND && pair.id.group == "bundle2chart";
        let new_values = &chart::NewValues::of(if is_chart { edits } else { &[] });
        let scene = |edit| Scene {
            sides: self,
            pair,
            edit,
            old,
            new,
            access,
            new_values,
            new_properties,
            webhooks,
            ports,
        };
        let mut judged: Vec<Vec<Finding>> = edits
            .iter()
            .map(|edit| {
                let scene = scene(edit);
                let mut findings = Vec::new();
                match pair.id.kind.as_str() {
                    "CustomResourceDefinition" => crd::judge(&scene, &mut findings),
                    "Role" | "ClusterRole" | "RoleBinding" | "ClusterRoleBinding" => {
                        rbac::judge(&scene, &mut findings);
                    }
                    "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration" => {
                        webhook::judge(&scene, &mut findings);
                    }
                    "Service" | "NetworkPolicy" => service::judge(&scene, &mut findings),
                    _ if is_chart => chart::judge(&scene, &mut findings),
                    _ => workload::judge(&scene, &mut findings),
                }
                object::judge(&scene, &mut findings);
                findings
            })
            .collect();
        workload_pod::judge(pair, edits, &mut judged);
        for (findings, edit) in judged.iter_mut().zip(edits) {
            if findings.is_empty() {
                findings.push(object::otherwise(&scene(edit)));
            }
            findings.sort_by_key(|finding| finding.rule.class);
        }
        judged
    }
}

impl Scene<'_, '_> {
    /// The steps of the edit's path.
    fn steps(&self) -> &[Step] {
        self.edit.path.steps()
    }

    /// The keys of the edit's path, `[]` for each list item.
    fn shape(&self) -> Vec<&str> {
        self.steps()
            .iter()
            .map(|step| match step {
                Step::Key(key) => key.as_str(),
                Step::Order(_) => "[order]",
                _ => "[]",
            })
            .collect()
    }

    /// What is at `keys` of the old object.
    fn old_at(&self, keys: &[&str]) -> Option<&Json> {
        at(self.pair.old?, keys)
    }

    /// What is at `keys` of the new object.
    fn new_at(&self, keys: &[&str]) -> Option<&Json> {
        at(self.pair.new?, keys)
    }
}

/// A finding.
fn found(rule: &'static Rule, reason: impl Into<String>) -> Finding {
    Finding { rule, reason: reason.into() }
}

/// What is at the end of these map keys.
pub(super) fn at<'j>(value: &'j Json, keys: &[&str]) -> Option<&'j Json> {
    keys.iter().try_fold(value, |value, key| value.get(key))
}

/// The texts of a list, or none.
pub(super) fn texts(value: Option<&Json>) -> Vec<&str> {
    value.and_then(Json::as_array).into_iter().flatten().filter_map(Json::as_str).collect()
}

/// Values of a list that the other one does not have.
fn not_in<'j>(list: &'j Json, other: &Json) -> Vec<&'j Json> {
    let other: HashSet<&Json> = other.as_array().into_iter().flatten().collect();
    list.as_array().into_iter().flatten().filter(|value| !other.contains(value)).collect()
}

/// A value in a sentence: short, and text without quotes.
pub(super) fn spoken(value: &Json) -> String {
    let text = match value {
        Json::String(text) => text.clone(),
        other => other.to_string(),
    };
    let mut shown: String = text.chars().take(80).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    format!("`{}`", shown.replace('`', "'").replace(['\n', '\r'], " "))
}

/// `a`, `a and b`, `a, b and 3 more`.
pub(super) fn listed<S: AsRef<str>>(items: &[S], most: usize) -> String {
    let shown: Vec<&str> = items.iter().take(most).map(AsRef::as_ref).collect();
    match (items.len().saturating_sub(most), shown.as_slice()) {
        (0, [rest @ .., last]) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        (0, _) => shown.join(", "),
        (more, _) => format!("{} and {more} more", shown.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    #[test]
    fn codes_are_unique_and_texts_are_sentences() {
        let mut codes = BTreeSet::new();
        for rule in super::all() {
            assert!(codes.insert(rule.code), "{} is used twice", rule.code);
            assert!(
                rule.code
                    .split('-')
                    .all(|word| !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase())),
                "{}",
                rule.code
            );
            for text in [rule.title, rule.explanation, rule.todo] {
                let begins = text.starts_with(|c: char| c.is_uppercase() || c == '`');
                assert!(begins && text.ends_with('.'), "{}: {text}", rule.code);
            }
        }
        for code in crate::diag::Code::ALL {
            assert!(!codes.contains(code.as_str()), "{} is also a diagnostic", code.as_str());
        }
    }
}
