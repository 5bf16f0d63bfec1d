//! RBAC: what subjects gain, by set inclusion over what rules allow, not over how they are written.
//!
//! A permission that a subject already held through another role or binding is not gained.

mod grants;
mod holdings;

use super::lookup::Lookup;
use super::{Scene, Sides, found, listed, rules};
use crate::diff::identity::Pair;
use crate::diff::{Finding, Identity, Rule};
use grants::{Grant, Grants, grants_of, role_grants};
use indexmap::IndexSet;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

pub(in crate::diff::rules) use holdings::{Bindings, Holdings};
use holdings::{Holder, Scope, bound, subject_name, subjects};

rules! {
    ESCALATION "rbac-escalation" Risky
        "A subject may raise its own or others' permissions."
        "`bind` and `escalate` on roles, `impersonate`, and `create` on `serviceaccounts/token` give whoever has them any permission that exists."
        "Find out why the operator needs it; it is as good as cluster-admin.";
    SECRETS "rbac-secrets" Risky
        "A subject may read or write Secrets that it could not."
        "Secrets hold the credentials of everybody in their namespace; with cluster scope, of everybody."
        "Find out which Secrets are meant, and whether names or a namespace could limit it.";
    WILDCARD "rbac-wildcard" Risky
        "A subject gained a permission with `*`."
        "A wildcard also covers resources and verbs that do not exist yet."
        "Find out why the operator needs all of it.";
    CLUSTER_SCOPE "rbac-cluster-scope" Risky
        "A subject may do in every namespace what it could do in some."
        "A ClusterRoleBinding holds in all namespaces, those of others included."
        "Check that the operator is meant to watch all namespaces.";
    WIDENED "rbac-widened" Risky
        "A subject may do more than before."
        "The permissions of the new version include verbs or resources that those of the old one do not."
        "Read what was gained; the operator's release notes should say why.";
    SUBJECT "rbac-subject-added" Risky
        "A role is bound to one more subject, or a subject to one more role."
        "The subject gains all that the role allows."
        "Check who the subject is.";
    NARROWED "rbac-narrowed" Info
        "A role allows less than before."
        "Least privilege got better. What used the permission fails, should it still need it."
        "Nothing, unless you use the role for something else.";
    SAME "rbac-rewritten" Info
        "A role says otherwise what it said before."
        "Nobody gains or loses a permission: rules were regrouped, or moved between roles of the same subjects."
        "Nothing.";
}

/// What a role allows on both sides, and who has it: the same for each of its edits.
pub(super) struct Access<'s> {
    held: Grants<'s>,
    holds: Grants<'s>,
    /// What the subjects held before, with the scopes of their bindings, each once.
    before: BTreeSet<(Holder, Scope<'s>)>,
    /// Whether one of the bindings holds in every namespace.
    everywhere: bool,
    /// The subjects, in a sentence.
    who: String,
}

impl<'s> Access<'s> {
    /// The access that a role gives; nothing for objects of other kinds.
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
            who: if who.is_empty() { "who has the role".to_owned() } else { listed(&who, 2) },
        })
    }
}

pub(super) fn judge(scene: &Scene<'_, '_>, findings: &mut Vec<Finding>) {
    if scene.pair.id.kind.ends_with("Binding") {
        binding(scene, findings);
    } else {
        role(scene, findings);
    }
}

/// Rules of a role that came or changed.
fn role<'a>(scene: &Scene<'_, 'a>, findings: &mut Vec<Finding>) {
    let keys = scene.shape();
    let in_rules = keys.first() == Some(&"rules");
    if !in_rules && !keys.is_empty() {
        return;
    }
    // The whole role or list of rules, or the rule that the edit is in.
    let part = |object: &Lookup<'a>| -> Vec<Grant<'a>> {
        match scene.steps().get(..2) {
            Some(rule) => object.at(rule).map(grants_of).unwrap_or_default(),
            None => object.root().map(role_grants).unwrap_or_default(),
        }
    };
    let (before, after) = (part(scene.old), part(scene.new));
    let Some(access) = scene.access else { return };
    let Access { held, holds, before: holders, .. } = access;
    let gained: Vec<&Grant<'_>> = after.iter().filter(|grant| !held.cover(grant)).collect();
    let lost: Vec<&Grant<'_>> = before.iter().filter(|grant| !holds.cover(grant)).collect();
    let mut told = false;
    if scene.pair.new.is_some() {
        let new_to_somebody = |grant: &&&Grant<'_>| {
            let lacks = |(holder, scope): &(Holder, Scope<'_>)| {
                !scene.sides.before.has(*holder, *scope, grant)
            };
            holders.is_empty() || holders.iter().any(lacks)
        };
        let gained: Vec<&Grant<'_>> = gained.iter().filter(new_to_somebody).copied().collect();
        // A new role that nobody has yet gives nothing to anybody.
        if !(gained.is_empty() || scene.pair.old.is_none() && holders.is_empty()) {
            told = true;
            gains(scene.sides, access, &gained, findings);
        }
    }
    if scene.pair.old.is_some() && scene.pair.new.is_some() && in_rules {
        if !lost.is_empty() {
            findings.push(found(&NARROWED, format!("no longer {}", summary(&lost))));
        } else if !told {
            findings.push(found(&SAME, "nobody gains or loses a permission by it"));
        }
    }
}

/// Sorts gained permissions into findings.
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
        // URLs are in no namespace.
        let place = *everywhere && grants.iter().any(|grant| !grant.url);
        let place = if place { " in every namespace" } else { "" };
        findings.push(found(KINDS[kind], format!("{who} may {}{place}", summary(&grants))));
    }
}

const KINDS: [&Rule; 5] = [&ESCALATION, &SECRETS, &WILDCARD, &CLUSTER_SCOPE, &WIDENED];

/// Index of the rule that a gained permission falls under.
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

/// `create and delete deployments.apps; get pods and 3 more`
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
        more => format!("{}; and {more} more kinds of access", parts[..6].join("; ")),
    }
}

/// A binding that came, or got other subjects.
fn binding(scene: &Scene<'_, '_>, findings: &mut Vec<Finding>) {
    let Some(new) = scene.pair.new else { return };
    let steps = scene.steps();
    let release = scene.sides.new.namespace.as_str();
    let came: Vec<String> = match (scene.shape().as_slice(), &scene.edit.new) {
        ([], Some(new)) => subjects(new, release),
        (["subjects"], Some(new)) => {
            let before = scene.pair.old.map(|old| subjects(old, &scene.sides.old.namespace));
            let before: BTreeSet<String> = before.into_iter().flatten().collect();
            let wrapped = serde_json::json!({"subjects": new});
            subjects(&wrapped, release).into_iter().filter(|s| !before.contains(s)).collect()
        }
        // Another role: all of them gain it.
        (["roleRef", ..], Some(_)) => subjects(new, release),
        (["subjects", "[]"], Some(new)) => vec![subject_name(new, release)],
        (["subjects", "[]", ..], Some(_)) => {
            let subject = steps.get(..2).and_then(|path| scene.new.at(path));
            subject.map(|subject| subject_name(subject, release)).into_iter().collect()
        }
        _ => return,
    };
    let Some((role, scope)) = bound(&scene.pair.id, new) else { return };
    let sides = scene.sides;
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
        None => " in every namespace".to_owned(),
        Some("") => String::new(),
        Some(namespace) => format!(" in namespace `{namespace}`"),
    };
    let who = listed(&who, 2);
    match &*gain {
        Gain::Unknown => {
            let reason = format!(
                "{who} gains {} `{}`{place}, which is not part of this chart",
                role.kind, role.name
            );
            findings.push(found(&SUBJECT, reason));
        }
        Gain::Nothing => findings.push(found(&SAME, format!("{who} had all of it before"))),
        // What is new in a role that was not there is said of the role.
        Gain::Some { wider, summary } if was_there => {
            let rule = if *wider { &CLUSTER_SCOPE } else { &SUBJECT };
            findings.push(found(rule, format!("{who} may {summary}{place}")));
        }
        Gain::Some { .. } => {}
    }
}

/// What somebody gains who gets a role.
enum Gain {
    /// The role is not part of the side.
    Unknown,
    /// They had all of it.
    Nothing,
    /// Permissions.
    Some {
        /// Whether they had all of them in some namespaces, and now have them in all.
        wider: bool,
        /// The permissions, in words.
        summary: String,
    },
}

/// A role that is bound in a scope, and what those whom it is bound to held before.
type Grantees = (Identity, Option<String>, BTreeSet<Holder>);

/// What is gained by bindings: the same for all with the same role and like subjects, of which there
/// may be thousands.
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
