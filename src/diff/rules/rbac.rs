//! Rules on RBAC: permissions that subjects gain, by set inclusion over effective permissions.
//!
//! A permission that a subject already has through another role or binding is not a gain.

mod grants;
mod holdings;

use super::lookup::Lookup;
use super::{RuleContext, Sides, found, listed, rules};
use crate::diff::identity::Pair;
use crate::diff::{Finding, Identity, Rule};
use grants::{Grant, Grants, grants_of, role_grants};
use indexmap::IndexSet;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

pub(in crate::diff::rules) use holdings::{Bindings, EffectivePermissions};
use holdings::{Holder, Scope, bound, subject_name, subjects};

rules! {
    ESCALATION "rbac-escalation" Risky
        "RBAC widened: privilege escalation."
        "`bind` and `escalate` on roles, `impersonate`, and `create` on `serviceaccounts/token` allow a subject to obtain any permission."
        "Check why the operator needs it; it is equivalent to cluster-admin.";
    SECRETS "rbac-secrets" Risky
        "RBAC widened: access to Secrets."
        "Secrets contain the credentials of all workloads in their namespace, or in the cluster."
        "Check which Secrets the operator needs, and whether resourceNames or a namespace could limit the access.";
    WILDCARD "rbac-wildcard" Risky
        "RBAC widened: wildcard."
        "A wildcard also includes future resources and verbs."
        "Check why the operator needs a wildcard.";
    CLUSTER_SCOPE "rbac-cluster-scope" Risky
        "RBAC widened: from some namespaces to all."
        "A ClusterRoleBinding applies in all namespaces."
        "Check that the operator is meant to watch all namespaces.";
    WIDENED "rbac-widened" Risky
        "RBAC widened: additional permissions."
        "A subject has verbs or resources that it did not have in the old version."
        "Review the additional permissions; the operator's release notes should explain them.";
    SUBJECT "rbac-subject-added" Risky
        "RBAC widened: role bound to another subject."
        "The subject has all permissions of the role."
        "Check the subject.";
    NARROWED "rbac-narrowed" Info
        "RBAC narrowed: permissions removed from a role."
        "Subjects of the role that still need the permissions fail."
        "Nothing, unless you use the role for something else.";
    SAME "rbac-rewritten" Info
        "RBAC rewritten without a change of permissions."
        "Rules were regrouped, or moved between roles of the same subjects."
        "Nothing.";
}

/// Permissions and subjects of a role on both sides, shared by all of its edits.
pub(super) struct Access<'s> {
    held: Grants<'s>,
    holds: Grants<'s>,
    /// The subjects with the scopes of their bindings, as holders of old permissions.
    before: BTreeSet<(Holder, Scope<'s>)>,
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
        let bindings = sides.bindings.to(&pair.id);
        let held = |(subject, scope): &(&str, Scope<'s>)| (sides.before.holder(subject), *scope);
        let who: BTreeSet<&str> = bindings.iter().map(|(subject, _)| *subject).collect();
        let who: Vec<String> = who.into_iter().map(|subject| format!("`{subject}`")).collect();

        Some(Access {
            held: Grants::of(pair.old),
            holds: Grants::of(pair.new),
            before: bindings.iter().map(held).collect(),
            everywhere: bindings.iter().any(|(_, scope)| scope.is_none()),
            who: if who.is_empty() { "the role".to_owned() } else { listed(&who, 2) },
        })
    }
}

pub(super) fn judge(context: &RuleContext<'_, '_>, findings: &mut Vec<Finding>) {
    if context.pair.id.kind.ends_with("Binding") {
        binding(context, findings);
    } else {
        role(context, findings);
    }
}

/// Adds the findings for an edit of a role.
fn role<'a>(context: &RuleContext<'_, 'a>, findings: &mut Vec<Finding>) {
    let keys = context.shape();
    let in_rules = keys.first() == Some(&"rules");
    if !in_rules && !keys.is_empty() {
        return;
    }
    // The rule that contains the edit, or all rules.
    let part = |object: &Lookup<'a>| -> Vec<Grant<'a>> {
        match context.steps().get(..2) {
            Some(rule) => object.at(rule).map(grants_of).unwrap_or_default(),
            None => object.root().map(role_grants).unwrap_or_default(),
        }
    };
    let (before, after) = (part(context.old), part(context.new));
    let Some(access) = context.access else { return };
    let Access { held, holds, before: holders, .. } = access;
    let gained: Vec<&Grant<'_>> = after.iter().filter(|grant| !held.cover(grant)).collect();
    let lost: Vec<&Grant<'_>> = before.iter().filter(|grant| !holds.cover(grant)).collect();

    let mut has_gains = false;
    if context.pair.new.is_some() {
        let is_gained = |grant: &&&Grant<'_>| {
            let lacks = |(holder, scope): &(Holder, Scope<'_>)| {
                !context.sides.before.has(*holder, *scope, grant)
            };
            holders.is_empty() || holders.iter().any(lacks)
        };
        let gained: Vec<&Grant<'_>> = gained.iter().filter(is_gained).copied().collect();
        // A new role without subjects grants nothing.
        if !(gained.is_empty() || context.pair.old.is_none() && holders.is_empty()) {
            has_gains = true;
            gains(context.sides, access, &gained, findings);
        }
    }
    if context.pair.old.is_some() && context.pair.new.is_some() && in_rules {
        if !lost.is_empty() {
            findings.push(found(&NARROWED, format!("no longer allows: {}", summary(&lost))));
        } else if !has_gains {
            findings.push(found(&SAME, "effective permissions unchanged"));
        }
    }
}

/// Adds one finding for each kind of gained permission.
fn gains(
    sides: &Sides<'_>,
    access: &Access<'_>,
    gained: &[&Grant<'_>],
    findings: &mut Vec<Finding>,
) {
    let Access { before, everywhere, who, .. } = access;
    let mut sorted: BTreeMap<usize, Vec<&Grant<'_>>> = BTreeMap::new();
    for grant in gained {
        let wider =
            *everywhere && before.iter().all(|(holder, _)| sides.before.somewhere(*holder, grant));
        sorted.entry(kind_of(grant, wider)).or_default().push(grant);
    }
    for (kind, grants) in sorted {
        // URLs have no namespace.
        let place = *everywhere && grants.iter().any(|grant| !grant.url);
        let place = if place { " in all namespaces" } else { "" };
        findings.push(found(KINDS[kind], format!("{who} can now {}{place}", summary(&grants))));
    }
}

const KINDS: [&Rule; 5] = [&ESCALATION, &SECRETS, &WILDCARD, &CLUSTER_SCOPE, &WIDENED];

/// Returns the index in [`KINDS`] of the rule for a gained permission.
fn kind_of(grant: &Grant<'_>, wider: bool) -> usize {
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
    let mut verbs: BTreeMap<String, IndexSet<&str>> = BTreeMap::new();
    for grant in grants {
        verbs.entry(grant.target()).or_default().insert(grant.verb);
    }
    let mut targets: BTreeMap<Vec<&str>, Vec<String>> = BTreeMap::new();
    for (target, verbs) in verbs {
        targets.entry(verbs.into_iter().collect()).or_default().push(target);
    }
    let parts: Vec<String> = targets
        .into_iter()
        .map(|(verbs, targets)| {
            let verbs = if verbs.contains(&"*") {
                "do anything with".to_owned()
            } else {
                listed(&verbs, 8)
            };
            format!("{verbs} {}", listed(&targets, 6))
        })
        .collect();
    match parts.len().saturating_sub(6) {
        0 => parts.join("; "),
        more => format!("{}; and {more} more permissions", parts[..6].join("; ")),
    }
}

/// Adds the findings for an edit of a binding.
fn binding(context: &RuleContext<'_, '_>, findings: &mut Vec<Finding>) {
    let Some(new) = context.pair.new else { return };
    let steps = context.steps();
    let release = context.sides.new.namespace.as_str();
    let came: Vec<String> = match (context.shape().as_slice(), &context.edit.new) {
        ([], Some(new)) => subjects(new, release),
        (["subjects"], Some(new)) => {
            let before = context.pair.old.map(|old| subjects(old, &context.sides.old.namespace));
            let before: BTreeSet<String> = before.into_iter().flatten().collect();
            let wrapped = serde_json::json!({"subjects": new});
            subjects(&wrapped, release).into_iter().filter(|s| !before.contains(s)).collect()
        }
        // Another role: all subjects gain it.
        (["roleRef", ..], Some(_)) => subjects(new, release),
        (["subjects", "[]"], Some(new)) => vec![subject_name(new, release)],
        (["subjects", "[]", ..], Some(_)) => {
            let subject = steps.get(..2).and_then(|path| context.new.at(path));
            subject.map(|subject| subject_name(subject, release)).into_iter().collect()
        }
        _ => return,
    };
    let Some((role, scope)) = bound(&context.pair.id, new) else { return };
    let sides = context.sides;
    let is_bound = |subject: &str| {
        sides.before.is_bound(subject, scope, &role) || sides.before.is_bound(subject, None, &role)
    };
    let fresh: Vec<String> = came.into_iter().filter(|subject| !is_bound(subject)).collect();
    if fresh.is_empty() {
        return;
    }

    let holders: BTreeSet<Holder> =
        fresh.iter().map(|subject| sides.before.holder(subject)).collect();
    let gain = sides.gains.of(sides, &role, scope, holders);
    let was_there = sides.old.objects.contains_key(&role);
    let who: Vec<String> = fresh.iter().map(|subject| format!("`{subject}`")).collect();
    let place = match scope {
        None => " in all namespaces".to_owned(),
        Some("") => String::new(),
        Some(namespace) => format!(" in namespace `{namespace}`"),
    };
    let who = listed(&who, 2);
    match &*gain {
        Gain::Unknown => {
            let reason = format!(
                "{who} is now bound to {} `{}`{place}, which is not part of this chart",
                role.kind, role.name
            );
            findings.push(found(&SUBJECT, reason));
        }
        Gain::Nothing => {
            findings.push(found(&SAME, format!("{who} already had all of its permissions")))
        }
        // Permissions of a new role are reported at the role.
        Gain::Some { wider, summary } if was_there => {
            let rule = if *wider { &CLUSTER_SCOPE } else { &SUBJECT };
            findings.push(found(rule, format!("{who} can now {summary}{place}")));
        }
        Gain::Some { .. } => {}
    }
}

/// Permissions that subjects gain from a binding.
enum Gain {
    /// The role is not part of the side.
    Unknown,
    /// They already had all permissions.
    Nothing,
    /// Permissions.
    Some {
        /// True if they had all of them in some namespaces and now have them in all.
        wider: bool,
        /// The permissions as text.
        summary: String,
    },
}

/// A role, the scope of its binding, and the holders of old permissions that it is bound to.
type Grantees = (Identity, Option<String>, BTreeSet<Holder>);

/// Cache of gains by binding. Thousands of bindings may share a role and holder.
#[derive(Default)]
pub(super) struct Gains(RefCell<HashMap<Grantees, Rc<Gain>>>);

impl Gains {
    fn of(
        &self,
        sides: &Sides<'_>,
        role: &Identity,
        scope: Scope<'_>,
        holders: BTreeSet<Holder>,
    ) -> Rc<Gain> {
        let gain = || {
            let Some(known) = sides.new.objects.get(role) else { return Gain::Unknown };
            let has =
                |grant: &Grant<'_>| holders.iter().all(|h| sides.before.has(*h, scope, grant));
            let somewhere =
                |grant: &Grant<'_>| holders.iter().all(|h| sides.before.somewhere(*h, grant));

            let grants = role_grants(known);
            let gained: Vec<&Grant<'_>> = grants.iter().filter(|grant| !has(grant)).collect();
            if gained.is_empty() {
                return Gain::Nothing;
            }
            let wider = scope.is_none() && gained.iter().all(|grant| somewhere(grant));
            Gain::Some { wider, summary: summary(&gained) }
        };
        let key = (role.clone(), scope.map(str::to_owned), holders.clone());
        let mut known = self.0.borrow_mut();
        Rc::clone(known.entry(key).or_insert_with(|| Rc::new(gain())))
    }
}
