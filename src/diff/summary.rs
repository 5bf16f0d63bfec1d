//! The first screen of every report: the verdict, and the findings that matter most.

use super::group::{Group, groups};
use super::harm::Harm;
use super::{ChangeSet, Class};
use crate::diag::{counted, listed};
use std::collections::{BTreeMap, BTreeSet};

/// Number of findings on the first screen.
const MOST_IMPORTANT: usize = 5;

/// Number of consequences that the verdict names.
const CONSEQUENCES: usize = 3;

/// The first screen of a report, and all groups for its details.
#[derive(Clone, Debug)]
pub struct Summary<'s> {
    /// The worst class; `None` without differences.
    pub class: Option<Class>,
    /// Number of distinct findings of each class, in the order of [`Class::ALL`].
    pub counts: [usize; 3],
    /// The advice about the upgrade, in one sentence without a final period.
    pub verdict: String,
    /// All groups, the worst first.
    pub groups: Vec<Group<'s>>,
}

impl<'s> Summary<'s> {
    /// Summarizes a change set.
    pub fn of(set: &'s ChangeSet) -> Self {
        let groups = groups(set);
        let counts = counts(groups.iter());
        let mut summary = Summary { class: set.class(), counts, verdict: String::new(), groups };
        summary.verdict = summary.verdict(set);
        summary
    }

    /// Returns the number of distinct findings of a class.
    pub fn count(&self, class: Class) -> usize {
        self.counts[class as usize]
    }

    /// Returns the advice about the upgrade, with its reason.
    fn verdict(&self, set: &ChangeSet) -> String {
        let Some(class) = self.class else {
            let relabelled = match set.version_only.len() {
                0 => String::new(),
                more => format!(", {more} relabelled"),
            };
            let objects = counted(set.unchanged, "object");
            return format!("no differences in {objects}{relabelled}");
        };
        // The worst first.
        let harms: BTreeSet<Harm> =
            self.of_class(class).filter_map(|group| group.rule.harm).collect();
        let consequences = harms.into_iter().map(Harm::consequence).take(CONSEQUENCES);
        let consequences: Vec<&str> = consequences.collect();
        let because = match consequences.is_empty() {
            true => String::new(),
            false => format!(", because {}", listed(&consequences, CONSEQUENCES)),
        };

        let findings = counted(self.count(class), &format!("{} finding", class.as_str()));
        match class {
            Class::Breaking => format!("breaking: act before this upgrade{because} ({findings})"),
            Class::Risky => format!("risky: review before this upgrade{because} ({findings})"),
            Class::Info => "info: nothing to do before this upgrade".to_owned(),
        }
    }

    /// Returns the class and the rest of the verdict.
    pub(super) fn advice(&self) -> (&str, &str) {
        self.verdict.split_once(": ").unwrap_or(("", &self.verdict))
    }

    /// Returns the findings that matter most, with their index in `groups`.
    pub fn top(&self) -> Vec<(usize, &Group<'s>)> {
        let groups = self.groups.iter().enumerate();
        let mut top: Vec<_> = groups.filter(|(_, group)| group.is_important).collect();
        top.sort_by_key(|(_, group)| group.number);
        top
    }

    /// Returns the groups of a class.
    pub fn of_class(&self, class: Class) -> impl Iterator<Item = &Group<'s>> {
        self.groups.iter().filter(move |group| group.class() == class)
    }

    /// Returns the number of further groups with the same rule as a finding that matters most,
    /// which are not among them.
    pub fn more_like(&self, group: &Group<'_>) -> usize {
        let of_rule = || self.groups.iter().filter(|other| other.rule.code == group.rule.code);
        let (top, more): (Vec<_>, Vec<_>) = of_rule().partition(|other| other.is_important);
        // Counted at the first of them.
        let is_first = top.iter().map(|other| other.number).min() == Some(group.number);
        if is_first { more.len() } else { 0 }
    }
}

/// Returns the number of groups of each class, in the order of [`Class::ALL`].
pub(super) fn counts<'g, 's: 'g>(
    groups: impl Iterator<Item = &'g Group<'s>> + Clone,
) -> [usize; 3] {
    Class::ALL.map(|class| groups.clone().filter(|group| group.class() == class).count())
}

/// Returns the index of each group with its round: the first groups of all rules are round 0, the
/// second ones round 1, and so on. Sorted by round, so that many findings of one rule do not hide
/// another rule.
pub(super) fn rounds(groups: &[Group<'_>]) -> Vec<(usize, usize)> {
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    let mut rounds: Vec<(usize, usize)> = Vec::new();
    for (index, group) in groups.iter().enumerate() {
        let round = seen.entry(group.rule.code).or_default();
        rounds.push((*round, index));
        *round += 1;
    }
    rounds.sort_unstable();
    rounds
}

/// Returns the findings that matter most: those about the upgrade as a whole, then of every rule one,
/// before any has a second one.
pub(super) fn most_important(groups: &[Group<'_>]) -> Vec<usize> {
    // Groups are sorted by class, informational ones last.
    let serious = groups.iter().take_while(|group| group.class() != Class::Info).count();
    let is_first = |index: &usize| groups.get(*index).is_some_and(Group::is_of_upgrade);
    let rounds = rounds(groups.get(..serious).unwrap_or_default());
    let (mut chosen, mut others): (Vec<usize>, Vec<usize>) =
        rounds.into_iter().map(|(_, index)| index).partition(is_first);
    others.truncate(MOST_IMPORTANT.saturating_sub(chosen.len()));
    // Back to the order of groups, which is that of harm.
    chosen.sort_unstable();
    others.sort_unstable();
    chosen.extend(others);
    chosen
}

#[cfg(test)]
mod tests {
    use super::Summary;
    use crate::{Options, Side, compare};
    use serde_json::{Value as Json, json};

    fn crd(properties: &Json) -> Json {
        json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "widgets.example.com"}, "spec": {"versions": [{"name": "v1",
                "served": true, "storage": true, "schema": {"openAPIV3Schema":
                    {"type": "object", "properties": properties}}}]}})
    }

    #[test]
    fn one_object_is_counted_as_one() {
        let side = || Side::new("a", [crd(&json!({}))], "ns", None);
        let set = compare(side(), side(), &Options::default());
        assert_eq!(Summary::of(&set).verdict, "no differences in 1 object");
    }

    #[test]
    fn many_findings_of_one_rule_do_not_hide_another() {
        let mut old: serde_json::Map<String, Json> =
            (0..9).map(|n| (format!("gone{n}"), json!({"type": "string"}))).collect();
        old.insert("type".to_owned(), json!({"type": "string", "enum": ["a", "b"]}));
        let new = json!({"type": {"type": "string", "enum": ["a"]}});
        let (old, new) = (crd(&Json::Object(old)), crd(&new));
        let set = compare(
            Side::new("a", [old], "ns", None),
            Side::new("b", [new], "ns", None),
            &Options::default(),
        );
        let summary = Summary::of(&set);
        let codes: Vec<&str> = summary.top().iter().map(|(_, group)| group.rule.code).collect();
        assert_eq!(codes.len(), 5);
        assert!(codes.contains(&"crd-enum-narrowed"), "{codes:?}");
        assert_eq!(codes.first(), Some(&"crd-property-removed"));
        assert_eq!(summary.more_like(&summary.groups[0]), 5);
        // The five are numbered first: two of the ten are among them.
        let first: Vec<usize> = summary.top().iter().map(|(_, group)| group.number).collect();
        assert_eq!(first, [1, 2, 3, 4, 5]);
        let mut numbers: Vec<usize> = summary.groups.iter().map(|group| group.number).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (1..=summary.groups.len()).collect::<Vec<_>>());
        assert_eq!(
            summary.verdict,
            "breaking: act before this upgrade, because stored data can be lost and objects can be \
             rejected (10 breaking findings)"
        );
    }
}
