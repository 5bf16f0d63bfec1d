//! Compares two sets of objects: changes of each object, their severity and the reason. All renderers
//! write the same change set.
//!
//! [`compare`] pairs the objects ([`identity`]), computes the edits of each pair ([`tree`]) without
//! those that the API server ignores or that write out a default ([`defaults`]), or follow from
//! Chart.yaml ([`version_metadata`]), classifies every edit ([`rules`]) and builds the upgrade plan
//! ([`plan`]). Secrets are redacted before the comparison ([`redact`]), so that no renderer can print
//! them.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod defaults;
pub mod group;
pub mod harm;
pub mod identity;
mod names;
pub mod plan;
mod read;
pub mod redact;
mod renames;
pub mod render;
pub mod rules;
mod side;
pub mod summary;
pub mod tree;
pub mod values;
mod values_schema;
mod version_metadata;

pub use crate::ir::field_path::{self as path, Path};
pub use crate::ir::{Identity, Ignore, Pattern};
pub use rules::Rule;
pub use side::{BundleFacts, CHART_KIND, ChartFacts, Placement, Side, is_description};

use bundle2chart_compile::{chart, field_ownership, kubectl, overlay, passes, permissions};
use bundle2chart_model::{diag, embedded, escape, ir};
use bundle2chart_yaml as yaml;
use identity::Pair;
use serde_json::Value as Json;
use std::collections::BTreeSet;
use tree::Edit;

/// Severity of a change, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// The upgrade fails, or something that works stops working.
    Breaking,
    /// Needs a review before the upgrade.
    Risky,
    /// For information.
    Info,
}

impl Class {
    /// Every class, the worst first.
    pub const ALL: [Class; 3] = [Class::Breaking, Class::Risky, Class::Info];

    /// Returns the name in all output formats.
    pub fn as_str(self) -> &'static str {
        match self {
            Class::Breaking => "breaking",
            Class::Risky => "risky",
            Class::Info => "info",
        }
    }
}

/// A finding of a rule about a change.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The rule.
    pub rule: &'static Rule,
    /// The specific change, in one sentence without a final period.
    pub reason: String,
}

/// One difference of an object, or one place of it that its surroundings affect, with its findings.
#[derive(Clone, Debug)]
pub struct Change {
    /// Path in the object; empty for the whole object.
    pub path: Path,
    /// Old value; `None` if added.
    pub old: Option<Json>,
    /// New value; `None` if removed, and `None` on both sides if only its surroundings changed.
    pub new: Option<Json>,
    /// Findings, the worst first; never empty.
    pub findings: Vec<Finding>,
}

impl Change {
    /// Returns the worst class of its findings.
    pub fn class(&self) -> Class {
        self.findings.first().map_or(Class::Info, |finding| finding.rule.class)
    }
}

/// The kind of change of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Only on the new side.
    Added,
    /// Only on the old side.
    Removed,
    /// Renamed from this identity.
    Renamed(Identity),
    /// On both sides, with differences.
    Changed,
    /// On both sides without differences, with findings whose cause is elsewhere.
    Affected,
}

impl Action {
    fn of(pair: &Pair<'_>) -> Self {
        match (&pair.old_id, pair.old, pair.new) {
            (_, None, _) => Action::Added,
            (_, _, None) => Action::Removed,
            (Some(from), _, _) if *from != pair.id => Action::Renamed(from.clone()),
            _ => Action::Changed,
        }
    }

    /// Returns the name in all output formats.
    pub fn as_str(&self) -> &'static str {
        match self {
            Action::Added => "added",
            Action::Removed => "removed",
            Action::Renamed(_) => "renamed",
            Action::Changed => "changed",
            Action::Affected => "affected",
        }
    }
}

/// An object with differences.
#[derive(Clone, Debug)]
pub struct ObjectChange {
    /// Identity on the new side, or on the old side if removed.
    pub id: Identity,
    /// Kind of change.
    pub action: Action,
    /// Its differences, the worst first; never empty.
    pub changes: Vec<Change>,
}

impl ObjectChange {
    /// Returns the worst class of its changes.
    pub fn class(&self) -> Class {
        self.changes.first().map_or(Class::Info, Change::class)
    }

    /// Returns the number of its changes of a class.
    pub fn count(&self, class: Class) -> usize {
        self.changes.iter().filter(|change| change.class() == class).count()
    }
}

/// An [`Ignore`] with the number of ignored changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ignored {
    /// The pattern, as written.
    pub pattern: String,
    /// Reason from the configuration.
    pub reason: String,
    /// Number of ignored changes.
    pub changes: usize,
}

/// Filters of a comparison.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// If not empty, only matching changes are reported.
    pub only: Vec<Pattern>,
    /// Matching changes are ignored and counted.
    pub ignore: Vec<Ignore>,
    /// Names of the values files that the charts are rendered with, for reports.
    pub values: Vec<String>,
}

/// The differences of two sides.
#[derive(Clone, Debug)]
pub struct ChangeSet {
    /// Label of the old side.
    pub old: String,
    /// Label of the new side.
    pub new: String,
    /// Names of the values files, in the order in which Helm layers them.
    pub values: Vec<String>,
    /// Objects with findings, the worst first, then by kind, namespace and name. What reports say is
    /// derived from them: verdict, counts, exit code and plan.
    pub objects: Vec<ObjectChange>,
    /// Ignored changes by pattern.
    pub ignored: Vec<Ignored>,
    /// Patterns of [`Options::only`] that match no object of the two sides.
    pub unknown: Vec<String>,
    /// Objects whose only differences follow from the name and version of the chart: recommended
    /// labels, and the version annotation of CRDs. The upgrade changes them in the cluster.
    pub version_only: Vec<Identity>,
    /// Number of objects without differences.
    pub unchanged: usize,
    /// Upgrade plan, in order.
    pub plan: Vec<plan::Step>,
}

impl ChangeSet {
    /// Returns the worst class; `None` without findings.
    pub fn class(&self) -> Option<Class> {
        self.objects.iter().map(ObjectChange::class).min()
    }

    /// Returns the number of objects with this kind of change.
    pub fn acted(&self, action: &str) -> usize {
        self.objects.iter().filter(|object| object.action.as_str() == action).count()
    }

    /// Returns true without differences and findings.
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    /// Returns the counts of objects without changes of their own: `12 relabelled, 3 unchanged`.
    fn without_changes(&self) -> String {
        match self.version_only.len() {
            0 => format!("{} unchanged", self.unchanged),
            more => format!("{more} relabelled, {} unchanged", self.unchanged),
        }
    }

    fn sort(&mut self) {
        self.objects.sort_by(|a, b| (a.class(), &a.id).cmp(&(b.class(), &b.id)));
    }

    /// Removes and counts the changes that a pattern matches.
    fn remove_ignored(&mut self, ignore: &[Ignore]) {
        let mut counts = vec![0; ignore.len()];
        retain(&mut self.objects, |id, change| {
            // The first pattern that matches counts the change, so that the counts add up.
            let hit = ignore.iter().position(|i| i.pattern.matches(id, &change.path));
            if let Some(count) = hit.and_then(|hit| counts.get_mut(hit)) {
                *count += 1;
            }
            hit.is_none()
        });
        self.sort();

        self.ignored = ignore
            .iter()
            .zip(counts)
            .map(|(ignore, changes)| Ignored {
                pattern: ignore.pattern.to_string(),
                reason: ignore.reason.clone(),
                changes,
            })
            .collect();
    }

    /// Returns all changes with their object.
    pub fn changes(&self) -> impl Iterator<Item = (&ObjectChange, &Change)> {
        self.objects.iter().flat_map(|object| object.changes.iter().map(move |c| (object, c)))
    }
}

/// Compares two sides and returns their differences with an upgrade plan.
pub fn compare(mut old: Side, mut new: Side, options: &Options) -> ChangeSet {
    side::add_charts(&mut old, &mut new);
    side::add_bundles(&mut old, &mut new);
    [&mut old, &mut new].into_iter().for_each(Side::complete);
    redact::redact(&mut old, &mut new);

    let pairs = identity::pairs(&old, &new);
    let sides = rules::Sides::new(&old, &new, &pairs);
    let (mut version_only, mut unchanged) = (Vec::new(), 0);
    let mut edited = BTreeSet::new();
    let mut objects = Vec::new();
    for pair in &pairs {
        let (edits, follows_version) = effective_edits(pair);
        if edits.is_empty() {
            match follows_version {
                true => version_only.push(pair.id.clone()),
                false => unchanged += 1,
            }
            continue;
        }
        edited.insert(&pair.id);

        let judged = sides.findings(pair, &edits);
        let change = |(Edit { path, old, new }, findings)| Change { path, old, new, findings };
        let changes = edits.into_iter().zip(judged).map(change).collect();
        objects.push(ObjectChange { id: pair.id.clone(), action: Action::of(pair), changes });
    }

    let of_upgrade = rules::subject::findings(&old, &new);
    let of_upgrade = of_upgrade.into_iter().map(|finding| (Path::default(), finding)).collect();
    let upgrade = side::upgrade();
    // Without edits of their own: the cause is in another object.
    let affected = sides.faults.iter().filter(|(id, _)| !edited.contains(id));
    for (id, judged) in affected.chain([(&upgrade, &of_upgrade)]) {
        let change = |(path, finding): &(Path, Finding)| Change {
            path: path.clone(),
            old: None,
            new: None,
            findings: vec![finding.clone()],
        };
        let changes = judged.iter().map(change).collect();
        objects.push(ObjectChange { id: id.clone(), action: Action::Affected, changes });
    }

    let ids = || pairs.iter().flat_map(|pair| pair.old_id.iter().chain([&pair.id]));
    let is_unknown = |only: &&Pattern| !ids().any(|id| only.matches_object(id));
    let unknown = options.only.iter().filter(is_unknown).map(Pattern::to_string).collect();
    let not_selected = select(&mut objects, &options.only);
    let mut set = ChangeSet {
        old: old.label.clone(),
        new: new.label.clone(),
        values: options.values.clone(),
        objects,
        ignored: Vec::new(),
        unknown,
        version_only,
        unchanged,
        plan: Vec::new(),
    };
    set.sort();

    // Ignored changes still take effect in the cluster, so these steps are computed before.
    let unconditional = plan::unconditional_steps(&set, &sides);
    set.remove_ignored(&options.ignore);
    if not_selected > 0 {
        let patterns = diag::join(options.only.iter().map(Pattern::to_string), " --only ");
        set.ignored.push(Ignored {
            pattern: format!("--only {patterns}"),
            reason: "not selected".to_owned(),
            changes: not_selected,
        });
    }
    set.plan = plan::plan(&set, unconditional);
    set
}

/// Returns the edits of a pair that have an effect in the cluster, and true if there are others that
/// only follow from the version of the chart.
fn effective_edits(pair: &Pair<'_>) -> (Vec<Edit>, bool) {
    let (Some(old), Some(new)) = (pair.old, pair.new) else {
        let (old, new) = (pair.old.cloned(), pair.new.cloned());
        return (vec![Edit { path: Path::default(), old, new }], false);
    };
    let mut edits = tree::edits(old, new);
    edits.retain(|edit| !defaults::is_without_effect(&pair.id, old, new, edit));
    let all = edits.len();
    edits.retain(|edit| !version_metadata::follows_version(edit));
    let follows_version = edits.len() < all;
    (edits, follows_version)
}

/// Removes the changes that no pattern matches, and returns their number. Without patterns all are
/// kept, and findings about the sides as a whole always are: a downgrade is one in any selection.
fn select(objects: &mut Vec<ObjectChange>, only: &[Pattern]) -> usize {
    let mut not_selected = 0;
    retain(objects, |id, change| {
        let kept = only.is_empty()
            || side::is_upgrade(id)
            || only.iter().any(|pattern| pattern.matches(id, &change.path));
        not_selected += usize::from(!kept);
        kept
    });
    // A stable sort: changes of a class stay in the order of the object.
    objects.iter_mut().for_each(|object| object.changes.sort_by_key(Change::class));
    not_selected
}

/// Keeps these changes, and the objects that have any.
fn retain(objects: &mut Vec<ObjectChange>, mut is_kept: impl FnMut(&Identity, &Change) -> bool) {
    objects.retain_mut(|ObjectChange { id, changes, .. }| {
        changes.retain(|change| is_kept(id, change));
        !changes.is_empty()
    });
}

#[cfg(test)]
mod table;
