//! Rules that classify changes as breaking, risky or informational, by subject.
//!
//! A rule sees one edit and both sides. Edits without a matching rule are informational.
//!
//! # Classes
//!
//! - **breaking**: action required, or something stops: the API server or Helm rejects the
//!   upgrade, objects or manifests that were valid are rejected, data is lost, or something that was
//!   served no longer is.
//! - **risky**: look before the upgrade. Whether it harms depends on the cluster, on values or on how
//!   the operator is used, which the charts do not say.
//! - **info**: no action required. The change is the upgrade itself, or allows more than before.
//!
//! The explanation of each rule says what Kubernetes, Helm or OLM does, which is why it has its
//! class. The table of mutations in the tests (`diff/table/mutations`) holds the rules against it.

mod bundle;
mod chart;
mod crd;
mod crd_schema;
mod faults;
mod fields;
mod image;
mod judgement;
mod lookup;
mod object;
pub(super) mod rbac;
mod references;
mod refused;
mod representatives;
mod service;
mod settings;
pub(super) mod subject;
mod watch;
mod webhook;
mod workload;
mod workload_pod;

pub(super) use crd_schema::schema_field;
pub(super) use image::is_image;
pub(super) use object::is_hook;
pub(super) use refused::has_immutable_field;

pub(super) use crate::diag::listed;

use super::harm::Harm;
use super::identity::{Pair, Renamed, renamed};
use super::path::{Path, Step};
use super::plan::StepKind;
use super::read::{self, account, items, keys, pod_keys, pod_spec, text};
use super::tree::Edit;
use super::{CHART_KIND, Class, Finding, Identity, Side};
use crate::diag::{Code, Explanation};
use judgement::Judgement;
use lookup::Lookup;
use serde_json::Value as Json;
use std::collections::HashSet;
use std::hash::Hash;
use std::ops::Deref;
use std::rc::Rc;

/// A rule of `diff`.
#[derive(Debug, PartialEq, Eq)]
pub struct Rule {
    /// Kebab-case name, stable and never reused.
    pub code: &'static str,
    /// Severity of its findings.
    pub class: Class,
    /// The damage that its findings tell of; `None` for informational rules.
    pub harm: Option<Harm>,
    /// The steps of a plan that its findings belong to; never empty for breaking rules.
    pub steps: &'static [StepKind],
    /// One-line summary.
    pub title: &'static str,
    /// Consequences, as a paragraph.
    pub explanation: &'static str,
    /// Findings are only counted unless all details are requested.
    pub counted: bool,
    /// Recommended action, if there is one.
    pub todo: Option<&'static str>,
}

impl Rule {
    /// Returns the position in the ranking by harm; lower is worse, and informational rules are last.
    ///
    /// Within a kind of harm, rules are in the order of the documentation.
    pub fn rank(&self) -> (bool, Option<Harm>, usize) {
        let position = all().position(|rule| rule.code == self.code);
        (self.harm.is_none(), self.harm, position.unwrap_or(usize::MAX))
    }

    /// Returns the recommended action; `None` for informational rules, which need none.
    pub(super) fn action(&self) -> Option<&'static str> {
        self.todo.filter(|_| self.class != Class::Info)
    }

    fn explained(&self) -> Explanation {
        let Rule { code, class, title, explanation, todo, .. } = *self;
        Explanation { code, level: class.as_str(), area: "diff", title, explanation, todo }
    }
}

/// Declares rules: name, code, class with the harm and the steps of the plan, or `counted`, title,
/// explanation, and todo, if there is something to do.
macro_rules! rules {
    (@counted) => { false };
    (@counted counted) => { true };
    (@option) => { None };
    (@option $value:expr) => { Some($value) };
    ($(
        #[doc = $title:literal]
        #[doc = $blank:literal]
        $(#[doc = $explanation:literal])+
        $name:ident $code:literal $class:ident $(($harm:ident $($step:ident)*))? $($counted:ident)?
            $($todo:literal)?;
    )*) => {
        $(#[doc = $title]
        #[doc = $blank]
        $(#[doc = $explanation])+
        pub(in crate::rules) static $name: $crate::Rule = $crate::Rule {
            code: $code,
            class: $crate::Class::$class,
            harm: $crate::rules::rules!(@option $($crate::harm::Harm::$harm)?),
            steps: &[$($($crate::plan::StepKind::$step),*)?],
            counted: $crate::rules::rules!(@counted $($counted)?),
            title: $title.trim_ascii_start(),
            explanation: concat!($($explanation),+).trim_ascii_start(),
            todo: $crate::rules::rules!(@option $($todo)?),
        };)*
        pub(in crate::rules) static TABLE: &[&$crate::Rule] = &[$(&$name),*];
    };
}
use rules;

/// Returns all rules in the order of the documentation.
pub fn all() -> impl Iterator<Item = &'static Rule> {
    [
        crd::TABLE,
        crd_schema::TABLE,
        rbac::TABLE,
        image::TABLE,
        workload::TABLE,
        fields::TABLE,
        faults::TABLE,
        settings::TABLE,
        watch::TABLE,
        workload_pod::TABLE,
        webhook::TABLE,
        service::TABLE,
        chart::TABLE,
        bundle::TABLE,
        subject::TABLE,
        refused::TABLE,
        object::TABLE,
    ]
    .into_iter()
    .flatten()
    .copied()
}

/// Returns the explanations of all codes of diagnostics and of all rules.
pub fn explanations() -> impl Iterator<Item = Explanation> {
    Code::ALL.iter().map(|code| code.explanation()).chain(all().map(Rule::explained))
}

/// A finding with the path of what it is about.
pub(super) type Judged = (Path, Finding);

/// Both sides, with indexes over all of their objects.
pub(super) struct Sides<'a> {
    pub(super) old: &'a Side,
    pub(super) new: &'a Side,
    entries: Rc<rbac::Entries<'a>>,
    before: rbac::EffectivePermissions<'a>,
    after: rbac::EffectivePermissions<'a>,
    /// ServiceAccounts of the workloads of the new side, as subjects.
    used: HashSet<String>,
    pub(super) faults: faults::Faults,
    gains: rbac::Gains,
    old_references: references::References,
    references: references::References,
    renamed: Renamed<'a>,
    /// Groups and kinds that the old side has objects of, or that a CRD of a side defines.
    known_kinds: HashSet<(&'a str, &'a str)>,
}

/// A pair of objects with its context: both sides, and indexes that its edits share.
pub(super) struct PairContext<'s, 'a> {
    pub(super) sides: &'s Sides<'a>,
    pub(super) pair: &'s Pair<'a>,
    /// Finds values in the old object and in the new one.
    old: Lookup<'a>,
    new: Lookup<'a>,
    /// Permissions of a role.
    access: Option<rbac::Access<'a>>,
    /// Added values of a chart.
    new_values: chart::NewValues<'s>,
    /// Added properties of a CRD.
    new_properties: crd_schema::NewProperties<'s>,
    /// Validations of a CRD.
    old_rules: crd_schema::OldRules,
    /// Webhooks of a webhook configuration.
    webhooks: webhook::Webhooks<'a>,
    /// Ports of a Service.
    ports: service::Ports,
}

/// An edit of a pair of objects.
pub(super) struct RuleContext<'s, 'a> {
    pub(super) edit: &'s Edit,
    of: &'s PairContext<'s, 'a>,
}

impl<'s, 'a> Deref for RuleContext<'s, 'a> {
    type Target = PairContext<'s, 'a>;

    fn deref(&self) -> &Self::Target {
        self.of
    }
}

impl<'a> Sides<'a> {
    pub(super) fn new(old: &'a Side, new: &'a Side, pairs: &'a [Pair<'a>]) -> Self {
        let renamed = renamed(pairs);
        let entries = Rc::new(rbac::entries([old, new]));
        let before = rbac::EffectivePermissions::of(old, &renamed, &entries);
        let after = rbac::EffectivePermissions::of(new, &Renamed::new(), &entries);
        let pods = new.objects.iter().filter_map(|(id, o)| Some((id, pod_spec(&id.kind, o)?)));
        let used = pods.map(|(id, spec)| account_subject(id, spec)).collect();
        let faults = faults::between([old, new], pairs, &renamed, [&before, &after], &used);
        Sides {
            old,
            new,
            entries,
            before,
            after,
            used,
            faults,
            gains: rbac::Gains::default(),
            old_references: references::References::of(old),
            references: references::References::of(new),
            renamed,
            known_kinds: known_kinds(old, new),
        }
    }

    /// Returns true for subjects that something uses: ServiceAccounts of workloads, users and groups.
    fn is_used(&self, subject: &str) -> bool {
        !subject.starts_with("ServiceAccount/") || self.used.contains(subject)
    }

    /// Returns the findings of each edit of a pair of objects; at least one for every edit.
    pub(super) fn findings(&self, pair: &Pair<'a>, edits: &[Edit]) -> Vec<Vec<Finding>> {
        let of = PairContext::new(self, pair, edits);
        let mut judgement = Judgement::new(edits, |edit| of_edit(&RuleContext { edit, of: &of }));

        workload_pod::add_findings(pair, &mut judgement);
        fields::add_findings(pair, &mut judgement);
        if !super::is_description(&pair.id) {
            let release = [self.old.namespace.as_str(), self.new.namespace.as_str()];
            watch::add_findings(pair, release, &mut judgement);
        }
        for (path, finding) in self.faults.get(&pair.id).into_iter().flatten() {
            judgement.add(path.steps(), finding.clone());
        }
        judgement.finish(|edit| object::fallback(&RuleContext { edit, of: &of }))
    }
}

impl<'s, 'a> PairContext<'s, 'a> {
    fn new(sides: &'s Sides<'a>, pair: &'s Pair<'a>, edits: &'s [Edit]) -> Self {
        let edits_of = |kind: &str| if pair.id.kind == kind { edits } else { &[] };
        PairContext {
            sides,
            pair,
            old: Lookup::new(pair.old),
            new: Lookup::new(pair.new),
            access: rbac::Access::of(pair, sides),
            new_values: chart::NewValues::of(edits_of(CHART_KIND)),
            new_properties: crd_schema::NewProperties::of(edits_of("CustomResourceDefinition")),
            old_rules: crd_schema::OldRules::default(),
            webhooks: webhook::Webhooks::of(pair),
            ports: service::ports_of(pair),
        }
    }
}

/// Returns the findings about an edit by itself.
fn of_edit(context: &RuleContext<'_, '_>) -> Vec<Finding> {
    let id = &context.pair.id;
    let mut findings = Vec::new();
    let add = match id.kind.as_str() {
        "CustomResourceDefinition" => crd::add_findings,
        "Role" | "ClusterRole" | "RoleBinding" | "ClusterRoleBinding" => rbac::add_findings,
        "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration" => webhook::add_findings,
        "Service" | "NetworkPolicy" => service::add_findings,
        "ConfigMap" | "Secret" => settings::content,
        kind if super::is_description(id) && kind == CHART_KIND => chart::add_findings,
        _ if super::is_description(id) => bundle::add_findings,
        _ => workload::add_findings,
    };
    add(context, &mut findings);
    object::add_findings(context, &mut findings);
    findings
}

/// Returns the ServiceAccount of the pods of an object, as a subject of bindings.
fn account_subject(id: &Identity, spec: &Json) -> String {
    Identity::new("ServiceAccount", "", &id.namespace, account(spec)).to_string()
}

/// Returns the groups and kinds that the old side has objects of, or that a CRD of a side defines.
fn known_kinds<'a>(old: &'a Side, new: &'a Side) -> HashSet<(&'a str, &'a str)> {
    let defined = [old, new]
        .into_iter()
        .flat_map(|side| side.crds())
        .map(|(_, crd)| (text(crd, &["spec", "group"]), text(crd, &["spec", "names", "kind"])));
    let had = old.objects.keys().map(|id| (id.group.as_str(), id.kind.as_str()));
    defined.chain(had).collect()
}

impl RuleContext<'_, '_> {
    /// Returns the steps of the edit's path.
    fn steps(&self) -> &[Step] {
        self.edit.path.steps()
    }

    /// Returns the keys of the edit's path, with `[]` for list items.
    fn shape(&self) -> Vec<&str> {
        read::shape(self.steps())
    }

    /// Returns the edited field for a reason: `spec.replicas`, `container manager: image`.
    fn label(&self) -> String {
        let spec = pod_keys(&self.pair.id.kind).map(keys);
        match spec.and_then(|spec| self.steps().strip_prefix(spec.as_slice())) {
            None | Some([]) => text_of(self.steps()),
            Some([Step::Key(list), item @ Step::Item(_), rest @ ..])
                if read::CONTAINERS.contains(&list.as_str()) =>
            {
                let container = format!("container {}", item.label());
                if rest.is_empty() { container } else { format!("{container}: {}", text_of(rest)) }
            }
            Some(rest) => text_of(rest),
        }
    }

    /// Returns the edit as text: `spec.replicas: 1 → 2`.
    fn change(&self) -> String {
        let change = fields::change(self.edit.old.as_ref(), self.edit.new.as_ref());
        format!("{}: {change}", self.label())
    }
}

/// Returns a path as text, without the dot at its start.
fn text_of(steps: &[Step]) -> String {
    Path(steps.to_vec()).to_string().trim_start_matches('.').to_owned()
}

/// Creates a finding.
fn found(rule: &'static Rule, reason: impl Into<String>) -> Finding {
    Finding { rule, reason: reason.into() }
}

/// Returns the items of `list` that are not in `other`.
fn missing<'s, T: Eq + Hash>(list: &'s [T], other: &[T]) -> Vec<&'s T> {
    let other: HashSet<&T> = other.iter().collect();
    list.iter().filter(|item| !other.contains(item)).collect()
}

/// Returns the values of `list` that are not in `other`; a value that is no list has none.
fn not_in<'j, 'o>(
    list: impl Into<Option<&'j Json>>,
    other: impl Into<Option<&'o Json>>,
) -> Vec<&'j Json> {
    missing(items(list, &[]), items(other, &[]))
}

/// Returns a value for a sentence: in backticks, truncated, strings without quotes.
pub(super) fn display_value(value: &Json) -> String {
    let text = read::plain_text(value);
    let mut shown: String = text.chars().take(80).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    format!("`{}`", shown.replace('`', "'").replace(['\n', '\r'], " "))
}

#[cfg(test)]
mod tests {
    use super::display_value;
    use crate::Class;
    use serde_json::json;
    use std::collections::BTreeSet;

    #[test]
    fn values_are_shown_in_one_line_of_code() {
        assert_eq!(display_value(&json!("a`b\nc")), "`a'b c`");
        assert_eq!(display_value(&json!(["a"])), "`[\"a\"]`");
        assert_eq!(display_value(&json!("x".repeat(81))), format!("`{}…`", "x".repeat(80)));
    }

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
            for text in [rule.title, rule.explanation].into_iter().chain(rule.todo) {
                let begins = text.starts_with(|c: char| c.is_uppercase() || c == '`');
                assert!(begins && text.ends_with('.'), "{}: {text}", rule.code);
            }
        }
        for rule in super::all() {
            let (class, code) = (rule.class, rule.code);
            assert_eq!(rule.explained().area, "diff", "{code}");
            assert_eq!(rule.harm.is_none(), class == Class::Info, "{code}: harm");
            assert!(class != Class::Breaking || !rule.steps.is_empty(), "{code}: no step");
            assert!(class == Class::Info || rule.todo.is_some(), "{code}: nothing to do");
        }
        for code in crate::diag::Code::ALL {
            assert!(!codes.contains(code.as_str()), "{} is also a diagnostic", code.as_str());
        }
    }
}
