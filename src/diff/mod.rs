//! Two sets of objects to one change set: what an upgrade does to each object, how much that
//! matters and why. All renderers write the same change set.
//!
//! [`compare`] pairs the objects ([`identity`]), finds the edits of each pair ([`tree`]), lets the
//! rules judge every edit ([`rules`]) and makes a plan of it ([`plan`]). Secrets are replaced before
//! anything is compared ([`redact`]), so that no renderer can print one.

pub mod identity;
pub mod plan;
pub mod redact;
mod renames;
pub mod render;
pub mod rules;
mod side;
pub mod tree;
pub mod values;

pub use crate::ir::field_path::{self as path, Path};
pub use crate::ir::{Identity, Ignore, Pattern};
pub use rules::Rule;
pub use side::{CHART_KIND, ChartFacts, Placement, Side};

use identity::Pairs;
use serde_json::Value as Json;
use std::collections::BTreeMap;
use tree::Edit;

/// How much a change matters; the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// The upgrade fails, or something that works stops working.
    Breaking,
    /// Somebody should look before the upgrade.
    Risky,
    /// For information.
    Info,
}

impl Class {
    /// Every class, the worst first.
    pub const ALL: [Class; 3] = [Class::Breaking, Class::Risky, Class::Info];

    /// The word shown to people and written in machine formats.
    pub fn as_str(self) -> &'static str {
        match self {
            Class::Breaking => "breaking",
            Class::Risky => "risky",
            Class::Info => "info",
        }
    }
}

/// What a rule says about a change.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The rule.
    pub rule: &'static Rule,
    /// What it saw, in one sentence without a final period.
    pub reason: String,
}

/// One difference of an object, judged.
#[derive(Clone, Debug)]
pub struct Change {
    /// Where in the object; empty for the object as a whole.
    pub path: Path,
    /// What was there; nothing when it is new.
    pub old: Option<Json>,
    /// What is there now; nothing when it is gone.
    pub new: Option<Json>,
    /// What the rules say; never empty, the worst first.
    pub findings: Vec<Finding>,
}

impl Change {
    /// The worst class of its findings.
    pub fn class(&self) -> Class {
        self.findings.first().map_or(Class::Info, |finding| finding.rule.class)
    }

    /// The code of its worst finding.
    pub fn code(&self) -> &'static str {
        self.findings.first().map_or("", |finding| finding.rule.code)
    }
}

/// What became of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// It is only on the new side.
    Added,
    /// It is only on the old side.
    Removed,
    /// It was called so on the old side.
    Renamed(Identity),
    /// It is on both sides and differs.
    Changed,
}

impl Action {
    /// The word shown to people and written in machine formats.
    pub fn as_str(&self) -> &'static str {
        match self {
            Action::Added => "added",
            Action::Removed => "removed",
            Action::Renamed(_) => "renamed",
            Action::Changed => "changed",
        }
    }
}

/// An object that differs.
#[derive(Clone, Debug)]
pub struct ObjectChange {
    /// Who it is, on the new side where it is there.
    pub id: Identity,
    /// What became of it.
    pub action: Action,
    /// Its differences, the worst first; never empty.
    pub changes: Vec<Change>,
}

impl ObjectChange {
    /// The worst class of its changes.
    pub fn class(&self) -> Class {
        self.changes.first().map_or(Class::Info, Change::class)
    }

    /// How many of its changes are of this class.
    pub fn count(&self, class: Class) -> usize {
        self.changes.iter().filter(|change| change.class() == class).count()
    }
}

/// An [`Ignore`], and how many changes it left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ignored {
    /// The pattern, as written.
    pub pattern: String,
    /// Why.
    pub reason: String,
    /// How many changes it left out.
    pub changes: usize,
}

/// What is compared, and what is left out.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// When there are any, only changes that one of these matches are kept.
    pub only: Vec<Pattern>,
    /// Changes that one of these matches are left out, and counted.
    pub ignore: Vec<Ignore>,
}

/// The differences of two sides.
#[derive(Clone, Debug)]
pub struct ChangeSet {
    /// What the old side is called.
    pub old: String,
    /// What the new side is called.
    pub new: String,
    /// What is to be known before everything else: that the sides are no upgrade.
    pub notices: Vec<Finding>,
    /// The objects that differ, the worst first, then by kind, namespace and name.
    pub objects: Vec<ObjectChange>,
    /// What was left out on demand.
    pub ignored: Vec<Ignored>,
    /// How many objects are on both sides without a difference.
    pub unchanged: usize,
    /// What to do, in order.
    pub plan: Vec<plan::Step>,
}

impl ChangeSet {
    /// How many changes are of this class.
    pub fn count(&self, class: Class) -> usize {
        self.objects.iter().map(|object| object.count(class)).sum()
    }

    /// Whether a change or a notice is of this class.
    pub fn has(&self, class: Class) -> bool {
        self.count(class) > 0 || self.notices.iter().any(|notice| notice.rule.class == class)
    }

    /// How many objects became so.
    pub fn acted(&self, action: &str) -> usize {
        self.objects.iter().filter(|object| object.action.as_str() == action).count()
    }

    /// Whether nothing differs.
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    fn sort(&mut self) {
        self.objects.sort_by(|a, b| (a.class(), &a.id).cmp(&(b.class(), &b.id)));
    }

    /// Takes out the changes that a pattern matches, and counts them.
    fn leave_out(&mut self, ignore: &[Ignore]) {
        let mut counts = vec![0; ignore.len()];
        for object in &mut self.objects {
            let id = &object.id;
            object.changes.retain(|change| {
                let hit = ignore.iter().position(|i| i.pattern.matches(id, &change.path));
                let count = hit.and_then(|hit| counts.get_mut(hit));
                let kept = count.is_none();
                count.into_iter().for_each(|count| *count += 1);
                kept
            });
        }
        self.objects.retain(|object| !object.changes.is_empty());
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

    /// Every change with its object.
    pub fn changes(&self) -> impl Iterator<Item = (&ObjectChange, &Change)> {
        self.objects.iter().flat_map(|object| object.changes.iter().map(move |c| (object, c)))
    }
}

/// Compares two sides.
pub fn compare(old: Side, new: Side, options: &Options) -> ChangeSet {
    let (mut old, mut new) = (old, new);
    if old.chart.is_some() && new.chart.is_some() {
        old.add_chart();
        new.add_chart();
    }
    redact::redact(&mut old, &mut new);
    let pairs = Pairs::of(&old, &new);
    let sides = rules::Sides::new(&old, &new, &pairs);
    let mut unasked = 0;
    let mut objects = Vec::new();
    let mut unchanged = 0;
    for pair in &pairs.list {
        let edits = match (pair.old, pair.new) {
            (Some(old), Some(new)) => tree::edits(old, new),
            (old, new) => vec![Edit {
                path: Path::default(),
                old: old.cloned(),
                new: new.cloned(),
                index: None,
            }],
        };
        if edits.is_empty() {
            unchanged += 1;
            continue;
        }
        let action = match (&pair.old_id, pair.old, pair.new) {
            (_, None, _) => Action::Added,
            (_, _, None) => Action::Removed,
            (Some(from), _, _) if *from != pair.id => Action::Renamed(from.clone()),
            _ => Action::Changed,
        };
        let judged = sides.judge(pair, &edits);
        let mut changes = Vec::new();
        for (edit, findings) in edits.into_iter().zip(judged) {
            let matches = |pattern: &Pattern| pattern.matches(&pair.id, &edit.path);
            if !options.only.is_empty() && !options.only.iter().any(matches) {
                unasked += 1;
                continue;
            }
            let Edit { path, old, new, .. } = edit;
            changes.push(Change { path, old, new, findings });
        }
        if changes.is_empty() {
            continue;
        }
        changes.sort_by_key(Change::class);
        objects.push(ObjectChange { id: pair.id.clone(), action, changes });
    }
    let mut set = ChangeSet {
        old: old.label.clone(),
        new: new.label.clone(),
        notices: rules::subject::judge(&old, &new),
        objects,
        ignored: Vec::new(),
        unchanged,
        plan: Vec::new(),
    };
    set.sort();
    // What happens, happens also where nobody wants to read of it.
    let happening = plan::happening(&set, &sides);
    set.leave_out(&options.ignore);
    if unasked > 0 {
        let patterns: Vec<String> = options.only.iter().map(Pattern::to_string).collect();
        set.ignored.push(Ignored {
            pattern: format!("--only {}", patterns.join(" --only ")),
            reason: "not asked for".to_owned(),
            changes: unasked,
        });
    }
    set.plan = plan::plan(&set, happening);
    set
}

/// How many changes and notices there are of each code, for summaries.
pub fn codes(set: &ChangeSet) -> BTreeMap<(Class, &'static str), usize> {
    let mut codes = BTreeMap::new();
    for notice in &set.notices {
        *codes.entry((notice.rule.class, notice.rule.code)).or_default() += 1;
    }
    for (_, change) in set.changes() {
        *codes.entry((change.class(), change.code())).or_default() += 1;
    }
    codes
}

#[cfg(test)]
mod table;
