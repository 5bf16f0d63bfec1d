//! Rules on RBAC: permissions that subjects gain and lose, by set inclusion over effective permissions.
//!
//! A permission that a subject already has through another role or binding is not a gain, and one
//! that it keeps through another is not a loss.

mod grants;
mod holdings;

use super::lookup::{Lookup, Memo};
use super::{RuleContext, Sides, found, listed, object, rules};
use crate::identity::Pair;
use crate::permissions::{READ, WRITE, in_words};
use crate::read;
use crate::{Finding, Identity, Rule, Side};
use grants::{EVERYTHING, Grant, Grants, grants_of, known_grants, role_grants};

pub(in crate::rules) use grants::{Entries, entries};
use indexmap::IndexMap;
use std::collections::{BTreeMap, BTreeSet, HashSet};

pub(in crate::rules) use holdings::{EffectivePermissions, SOME};
use holdings::{Holder, Scope, bound, subject_name, subjects};

rules! {
    /// RBAC widened: privilege escalation.
    ///
    /// `bind` and `escalate` on roles, `impersonate`, and `create` on `serviceaccounts/token` allow
    /// a subject to obtain any permission.
    ESCALATION "rbac-escalation" Risky(Escalation Access)
        "Check why the operator needs it; it is equivalent to cluster-admin.";
    /// RBAC widened: access to Secrets.
    ///
    /// Secrets contain the credentials of all workloads in their namespace, or in the cluster.
    SECRETS "rbac-secrets" Risky(Escalation Access)
        "Check which Secrets the operator needs, and whether resourceNames or a namespace could limit the access.";
    /// RBAC widened: wildcard.
    ///
    /// A wildcard also includes future resources and verbs.
    WILDCARD "rbac-wildcard" Risky(Escalation Access)
        "Check why the operator needs a wildcard.";
    /// RBAC widened: from some namespaces to all.
    ///
    /// A ClusterRoleBinding applies in all namespaces.
    CLUSTER_SCOPE "rbac-cluster-scope" Risky(PermissionsChanged Access)
        "Check that the operator is meant to watch all namespaces.";
    /// RBAC widened: additional permissions.
    ///
    /// A subject has verbs or resources that it did not have in the old version.
    WIDENED "rbac-widened" Risky(PermissionsChanged Access)
        "Review the additional permissions; the operator's release notes should explain them.";
    /// RBAC widened: role bound to another subject.
    ///
    /// The subject has all permissions of the role.
    SUBJECT "rbac-subject-added" Risky(PermissionsChanged Access)
        "Check the subject.";
    /// RBAC narrowed: permissions of a workload or user lost.
    ///
    /// Effective permissions, over all roles and bindings. The vendor removes what the new version
    /// does not need; requests that it still makes fail with Forbidden.
    LOST "rbac-lost" Risky(PermissionsChanged)
        "Check the operator's log for `forbidden` after the upgrade, and your own use of the role.";
    /// RBAC narrowed: role that the chart does not bind.
    ///
    /// The operator binds the role for its operands, or users do. Without the role or its
    /// permissions, these subjects fail with Forbidden.
    UNBOUND "rbac-unbound-role-narrowed" Risky(PermissionsChanged)
        "Look for bindings of the role in your clusters.";
    /// RBAC widened: role aggregated into view, edit or admin.
    ///
    /// Everyone with the aggregated role in a namespace, or in the cluster, gets the permissions.
    AGGREGATED "rbac-aggregated" Risky(Escalation)
        "Check that users of these roles may have the permissions.";
    /// RBAC narrowed: role no longer aggregated.
    ///
    /// Users with view, edit or admin lose the permissions of the role.
    UNAGGREGATED "rbac-aggregation-removed" Risky(PermissionsChanged)
        "Bind the role to the users who need it.";
    /// RBAC narrowed: permissions of an unused subject removed.
    ///
    /// No workload of the new version uses the ServiceAccount.
    NARROWED "rbac-narrowed" Info
        "Nothing, unless you use the ServiceAccount for something else.";
    /// RBAC rewritten without a change of permissions.
    ///
    /// Rules were regrouped, or moved between roles of the same subjects.
    SAME "rbac-rewritten" Info counted;
}

/// The name of a subject, its permissions, the scope of its binding, and true if it is used.
type Subject<'s> = (String, Holder, Scope<'s>, bool);

/// Permissions and subjects of a role on both sides, shared by all of its edits.
pub(super) struct Access<'s> {
    held: Grants<'s>,
    holds: Grants<'s>,
    /// The subjects with the scopes of their bindings, as holders of old permissions.
    before: BTreeSet<(Holder, Scope<'s>)>,
    /// The subjects of the old side, as holders of new permissions.
    after: BTreeSet<Subject<'s>>,
    /// True if one of the bindings applies in all namespaces.
    everywhere: bool,
    /// The subjects, as the subject of a sentence.
    who: String,
}

impl<'s> Access<'s> {
    /// Returns the access of a role; `None` for other kinds.
    pub(super) fn of(pair: &Pair<'s>, sides: &Sides<'s>) -> Option<Self> {
        if !["Role", "ClusterRole"].contains(&pair.id.kind.as_str()) {
            return None;
        }
        let bindings = sides.after.subjects_of(&pair.id);
        let held = |(subject, scope): &(&str, Scope<'s>)| (sides.before.holder(subject), *scope);
        let old_bindings = sides.before.subjects_of(&pair.id);
        let holds = |(subject, scope): &(&str, Scope<'s>)| {
            ((*subject).to_owned(), sides.after.holder(subject), *scope, sides.is_used(subject))
        };
        let who: BTreeSet<&str> = bindings.iter().map(|(subject, _)| *subject).collect();

        Some(Access {
            held: Grants::of(pair.old, &sides.entries),
            holds: Grants::of(pair.new, &sides.entries),
            before: bindings.iter().map(held).collect(),
            after: old_bindings.iter().map(holds).collect(),
            everywhere: bindings.iter().any(|(_, scope)| scope.is_none()),
            who: if who.is_empty() { "the role".to_owned() } else { listed(who, 2) },
        })
    }
}

pub(super) fn add_findings(context: &RuleContext<'_, '_>, findings: &mut Vec<Finding>) {
    if context.pair.id.kind.ends_with("Binding") {
        findings.extend(unbound(context));
        findings.extend(binding(context));
    } else {
        role(context, findings);
    }
}

/// Adds the findings for an edit of a role.
fn role<'a>(context: &RuleContext<'_, 'a>, findings: &mut Vec<Finding>) {
    let keys = context.shape();
    aggregation(context, &keys, findings);
    // Bindings of the chart that name the role are followed; those of users are not.
    if object::renamed_from(context).is_some()
        && context.access.as_ref().is_some_and(|access| access.after.is_empty())
        && context.old.root.is_some_and(|role| role.pointer("/rules/0").is_some())
    {
        findings.push(found(&UNBOUND, "renamed, and the chart does not bind the old name"));
    }
    let in_rules = keys.first() == Some(&"rules");
    if !in_rules && !keys.is_empty() {
        return;
    }
    // The rule that contains the edit, or all rules.
    let entries = &context.sides.entries;
    let part = |object: &Lookup<'a>| -> Vec<Grant<'a>> {
        match context.steps().get(..2) {
            Some(rule) => object.at(rule).map(|rule| grants_of(rule, entries)),
            None => object.root.map(|role| role_grants(role, entries)),
        }
        .unwrap_or_default()
    };
    let (before, after) = (part(&context.old), part(&context.new));
    let Some(access) = &context.access else { return };
    let Access { held, holds, before: holders, .. } = access;
    let is_gained = |grant: &&Grant<'_>| {
        let lacks = |(holder, scope): &(Holder, Scope<'_>)| {
            !context.sides.before.has(*holder, *scope, grant)
        };
        !held.cover(grant) && (holders.is_empty() || holders.iter().any(lacks))
    };
    let gained: Vec<&Grant<'_>> = after.iter().filter(is_gained).collect();
    // Covered by all rules of the role, not only by the one that was edited: rules are often
    // regrouped.
    let lost: Vec<&Grant<'_>> = before.iter().filter(|grant| !holds.cover(grant)).collect();

    // A new role without subjects grants nothing.
    let is_unused = context.pair.old.is_none() && holders.is_empty();
    let has_gains = !gained.is_empty() && !is_unused;
    if has_gains {
        findings.extend(gains(context.sides, access, &gained));
    }
    if !lost.is_empty() {
        findings.extend(losses(context, access, &lost));
    } else if context.pair.old.is_some() && context.pair.new.is_some() && !has_gains {
        let is_rule = keys.get(1) == Some(&"[]");
        let reason = match is_rule {
            true => "this rule: no permission gained or lost",
            false => "effective permissions unchanged",
        };
        findings.push(found(&SAME, reason));
    }
}

/// Returns the finding for permissions that a role no longer has; `None` if its subjects may have them by
/// roles whose permissions are not known.
fn losses(
    context: &RuleContext<'_, '_>,
    access: &Access<'_>,
    lost: &[&Grant<'_>],
) -> Option<Finding> {
    // Roles for users, which they bind themselves.
    if access.after.is_empty() {
        let reason = format!("no longer grants: {}; the chart does not bind it", summary(lost));
        return Some(found(&UNBOUND, reason));
    }
    // The subjects may hold the permission through another role of the chart.
    let permissions = &context.sides.after;
    let loses = |(_, holder, scope, _): &&Subject<'_>, grant: &Grant<'_>| {
        permissions.lacks(*holder, *scope, grant)
    };
    let any_lost = |subject: &&Subject<'_>| lost.iter().any(|grant| loses(subject, grant));
    let losers: Vec<&Subject<'_>> = access.after.iter().filter(any_lost).collect();
    if losers.is_empty() {
        let has_all = |(_, holder, scope, _): &Subject<'_>| {
            lost.iter().all(|grant| permissions.has(*holder, *scope, grant))
        };
        let reason = "permissions moved to other roles of the same subjects";
        return access.after.iter().all(has_all).then(|| found(&SAME, reason));
    }

    let is_gone = |grant: &&&Grant<'_>| losers.iter().any(|subject| loses(subject, grant));
    let gone: Vec<&Grant<'_>> = lost.iter().filter(is_gone).copied().collect();
    let names: BTreeSet<&str> = losers.iter().map(|(name, ..)| name.as_str()).collect();
    let reason = format!("{} can no longer {}", listed(names, 2), summary(&gone));
    let is_used = losers.iter().any(|(.., is_used)| *is_used);
    Some(found(if is_used { &LOST } else { &NARROWED }, reason))
}

/// Prefix of the labels that aggregate a ClusterRole into another one.
const AGGREGATE_TO: &str = "rbac.authorization.k8s.io/aggregate-to-";

/// Adds the findings for labels that aggregate a ClusterRole into another one.
fn aggregation(context: &RuleContext<'_, '_>, keys: &[&str], findings: &mut Vec<Finding>) {
    let in_labels = matches!(keys, [] | ["metadata"] | ["metadata", "labels"])
        || matches!(keys, ["metadata", "labels", label] if label.starts_with(AGGREGATE_TO));

    if keys.first() == Some(&"aggregationRule") {
        findings.push(found(&AGGREGATED, context.change()));
    }
    if !in_labels {
        return;
    }

    // The aggregation rules of `admin`, `edit` and `view` select the value `true`.
    let [old, new] = [context.pair.old, context.pair.new].map(|role| -> BTreeSet<&str> {
        let on = read::entries(role, &["metadata", "labels"]).filter(|(_, value)| *value == "true");
        on.filter_map(|(key, _)| key.strip_prefix(AGGREGATE_TO)).collect()
    });
    let names = |set: Vec<&&str>| listed(set, 4);
    let came: Vec<&&str> = new.difference(&old).collect();
    if !came.is_empty() {
        let grants = context.pair.new.map(|role| role_grants(role, &context.sides.entries));
        let grants = grants.unwrap_or_default();
        let grants: Vec<&Grant<'_>> = grants.iter().collect();
        let reason = format!("everyone with {} can now {}", names(came), summary(&grants));
        findings.push(found(&AGGREGATED, reason));
    }

    let gone: Vec<&&str> = old.difference(&new).collect();
    if !gone.is_empty() {
        let reason = format!("everyone with {} loses its permissions", names(gone));
        findings.push(found(&UNAGGREGATED, reason));
    }
}

/// Returns one finding for each kind of gained permission.
fn gains(sides: &Sides<'_>, access: &Access<'_>, gained: &[&Grant<'_>]) -> Vec<Finding> {
    let Access { before, everywhere, who, .. } = access;
    let mut sorted: BTreeMap<usize, Vec<&Grant<'_>>> = BTreeMap::new();
    for grant in gained {
        let wider =
            *everywhere && before.iter().all(|(holder, _)| sides.before.somewhere(*holder, grant));
        sorted.entry(kind_of(grant, wider)).or_default().push(grant);
    }
    let finding = |(kind, grants): (usize, Vec<&Grant<'_>>)| {
        // URLs have no namespace.
        let place = *everywhere && grants.iter().any(|grant| !grant.url);
        let place = if place { " in all namespaces" } else { "" };
        found(KINDS[kind], format!("{who} can now {}{place}", summary(&grants)))
    };
    sorted.into_iter().map(finding).collect()
}

const KINDS: [&Rule; 5] = [&ESCALATION, &SECRETS, &WILDCARD, &CLUSTER_SCOPE, &WIDENED];

/// Returns the index in [`KINDS`] of the rule for a gained permission.
fn kind_of(grant: &Grant<'_>, wider: bool) -> usize {
    // Verbs by which a subject obtains permissions that it does not have (Kubernetes, RBAC good
    // practices).
    let writes = ["create", "*"].contains(&grant.verb);
    if ["bind", "escalate", "impersonate"].contains(&grant.verb)
        || (grant.resource == "serviceaccounts/token" && writes)
        || (grant.verb == "*" && grant.group == "*" && grant.resource == "*")
        || (grant.verb == "*"
            && grant.group == "rbac.authorization.k8s.io"
            && (grant.resource == "*" || grant.resource.ends_with("roles")))
    {
        0
    } else if grant.resource == "secrets" && grant.group.is_empty() {
        1
    } else if wider {
        3
    } else if grant.is_wild() {
        2
    } else {
        4
    }
}

/// Returns permissions as text: `create and delete deployments.apps; get pods and 3 more`.
fn summary(grants: &[&Grant<'_>]) -> String {
    // By target, then by equal verbs: "read a, b and c" is shorter than three times "read".
    let mut verbs: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for grant in grants {
        verbs.entry(grant.target()).or_default().insert(grant.verb);
    }
    let mut targets: BTreeMap<Vec<&str>, Vec<String>> = BTreeMap::new();
    for (target, verbs) in verbs {
        let mut verbs: Vec<&str> = verbs.into_iter().collect();
        verbs.sort_by_key(|verb| {
            let usual = READ.iter().chain(&WRITE).position(|usual| usual == verb);
            (usual.unwrap_or(usize::MAX), *verb)
        });
        targets.entry(verbs).or_default().push(target);
    }
    let parts: Vec<String> = targets
        .into_iter()
        .map(|(verbs, targets)| {
            let verbs = match verbs.contains(&"*") {
                true => "do anything with".to_owned(),
                false => listed(in_words(&verbs), 8),
            };
            format!("{verbs} {}", listed(with_subresources(targets), 6))
        })
        .collect();
    match parts.len().saturating_sub(6) {
        0 => parts.join("; "),
        more => format!("{}; and {more} more permissions", parts[..6].join("; ")),
    }
}

/// Returns sorted targets, with subresources at their resource:
/// `deployments.apps (and /scale, /status)`.
fn with_subresources(targets: Vec<String>) -> Vec<String> {
    let mut resources: IndexMap<String, Vec<String>> = IndexMap::new();
    for target in targets {
        // URLs begin with a slash, and no resource is without a name.
        match target.find('/').map(|at| target.split_at(at)) {
            Some((resource, sub)) if resources.contains_key(resource) => {
                resources.entry(resource.to_owned()).or_default().push(sub.to_owned());
            }
            _ => {
                resources.entry(target).or_default();
            }
        }
    }
    let text = |(resource, subs): (String, Vec<String>)| match subs.is_empty() {
        true => resource,
        false => format!("{resource} (and {})", subs.join(", ")),
    };
    resources.into_iter().map(text).collect()
}

/// Returns the subjects of the first side of a binding that an edit is about, and that the second does not
/// have there.
fn edited(context: &RuleContext<'_, '_>, sides: [(&Lookup<'_>, &Side); 2]) -> Vec<String> {
    let all = |(binding, side): (&Lookup<'_>, &Side)| subjects(binding.root, &side.namespace);
    let [here @ (binding, side), there] = sides;
    match context.shape().as_slice() {
        // Another role: all subjects gain it, or lose it.
        [] | ["roleRef", ..] => all(here),
        ["subjects"] => {
            let known: HashSet<String> = all(there).into_iter().collect();
            all(here).into_iter().filter(|subject| !known.contains(subject)).collect()
        }
        // A changed field of a subject makes it another subject.
        ["subjects", "[]", ..] => {
            let subject = context.steps().get(..2).and_then(|path| binding.at(path));
            subject.map(|subject| subject_name(subject, &side.namespace)).into_iter().collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the finding for subjects that a binding did not have, or did not bind to the role.
fn binding(context: &RuleContext<'_, '_>) -> Option<Finding> {
    let new = context.pair.new?;
    let came =
        edited(context, [(&context.new, context.sides.new), (&context.old, context.sides.old)]);
    let (role, scope) = bound(&context.pair.id, new)?;
    let sides = context.sides;
    let is_bound = |subject: &str| {
        sides.before.is_bound(subject, scope, &role) || sides.before.is_bound(subject, None, &role)
    };
    let fresh: Vec<String> = came.into_iter().filter(|subject| !is_bound(subject)).collect();
    if fresh.is_empty() {
        return None;
    }

    let holders: BTreeSet<Holder> =
        fresh.iter().map(|subject| sides.before.holder(subject)).collect();
    // Bindings with many subjects ask the same question for each of them.
    let grantees = (role, scope.map(str::to_owned), holders);
    let gain = sides.gains.get(grantees, |(role, _, holders)| gain_of(sides, role, scope, holders));
    let (rule, change) = gain?;
    Some(found(rule, format!("{} {change}", listed(&fresh, 2))))
}

/// Returns the scope of a binding for the end of a sentence.
fn place(scope: Scope<'_>) -> String {
    match scope {
        None => " in all namespaces".to_owned(),
        Some("") => String::new(),
        Some(namespace) => format!(" in namespace {namespace}"),
    }
}

/// Returns the finding for subjects that a binding no longer has. Permissions of a removed role are
/// reported at the role.
fn unbound(context: &RuleContext<'_, '_>) -> Option<Finding> {
    let (old, old_id) = (context.pair.old?, context.pair.old_id.as_ref()?);
    let sides = context.sides;
    let gone = edited(context, [(&context.old, sides.old), (&context.new, sides.new)]);
    let (role, scope) = bound(old_id, old)?;
    if is_only_in(sides.old, sides.new, &role) {
        return None;
    }

    let known = known_grants(sides.old, &role, &sides.entries);
    let grants = known.clone().unwrap_or_else(|| EVERYTHING.to_vec());
    let (mut losers, mut used) = (Vec::new(), false);
    let mut lost: BTreeSet<&Grant<'_>> = BTreeSet::new();
    for subject in gone {
        let holder = sides.after.holder(&subject);
        let missing: Vec<&Grant<'_>> =
            grants.iter().filter(|grant| sides.after.lacks(holder, scope, grant)).collect();
        if !missing.is_empty() {
            used |= sides.is_used(&subject);
            lost.extend(missing);
            losers.push(subject);
        }
    }
    if lost.is_empty() {
        return None;
    }
    let lost: Vec<&Grant<'_>> = lost.into_iter().collect();
    let change = match known {
        Some(_) => format!("can no longer {}{}", summary(&lost), place(scope)),
        None => format!("is no longer bound to {}", elsewhere(&role, scope)),
    };
    let reason = format!("{} {change}", listed(&losers, 2));
    Some(found(if used { &LOST } else { &NARROWED }, reason))
}

/// Returns true if a role is on one side and not on the other: then its own finding is about its
/// permissions.
fn is_only_in(side: &Side, other: &Side, role: &Identity) -> bool {
    side.objects.contains_key(role) && !other.objects.contains_key(role)
}

/// Returns a role whose permissions are not known, for the end of a sentence.
fn elsewhere(role: &Identity, scope: Scope<'_>) -> String {
    format!("{}/{}{}, which is not part of this chart", role.kind, role.name, place(scope))
}

/// The rule for the permissions that subjects gain from a binding, and the gain as a predicate; `None`
/// if it is reported elsewhere.
type Gain = Option<(&'static Rule, String)>;

/// A role, the scope of its binding, and the holders of old permissions that it is bound to.
type Grantees = (Identity, Option<String>, BTreeSet<Holder>);

/// Gains by binding. Thousands of bindings may share a role and holder.
pub(super) type Gains = Memo<Grantees, Gain>;

/// Returns what holders gain from a role that is bound in a scope.
fn gain_of(
    sides: &Sides<'_>,
    role: &Identity,
    scope: Scope<'_>,
    holders: &BTreeSet<Holder>,
) -> Gain {
    let Some(grants) = known_grants(sides.new, role, &sides.entries) else {
        return Some((&SUBJECT, format!("is now bound to {}", elsewhere(role, scope))));
    };
    let has = |grant: &Grant<'_>| holders.iter().all(|h| sides.before.has(*h, scope, grant));
    let gained: Vec<&Grant<'_>> = grants.iter().filter(|grant| !has(grant)).collect();
    if gained.is_empty() {
        return Some((&SAME, "already had all of its permissions".to_owned()));
    }
    if is_only_in(sides.new, sides.old, role) {
        return None;
    }
    let somewhere = |grant: &Grant<'_>| holders.iter().all(|h| sides.before.somewhere(*h, grant));
    let wider = scope.is_none() && gained.iter().all(|grant| somewhere(grant));
    let escalates = gained.iter().any(|grant| KINDS[kind_of(grant, wider)] == &ESCALATION);
    let rule = match (escalates, wider) {
        (true, _) => &ESCALATION,
        (_, true) => &CLUSTER_SCOPE,
        _ => &SUBJECT,
    };
    Some((rule, format!("can now {}{}", summary(&gained), place(scope))))
}
