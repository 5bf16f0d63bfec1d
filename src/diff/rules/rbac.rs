//! RBAC: what subjects gain, by set inclusion over what rules allow, not over how they are written.
//!
//! A permission that a subject already held through another role or binding is not gained.

use super::{Scene, found, listed, rules, texts};
use crate::diff::identity::{Pair, Pairs};
use crate::diff::path::Step;
use crate::diff::{Finding, Identity, Rule, Side};
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet, HashSet};

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

/// One permission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Grant<'a> {
    /// API group and resource, or empty and the URL.
    group: &'a str,
    resource: &'a str,
    /// Name of an object; empty for all.
    name: &'a str,
    verb: &'a str,
    url: bool,
}

impl Grant<'_> {
    fn is_wild(&self) -> bool {
        self.verb == "*" || self.group == "*" || self.resource.contains('*')
    }

    /// How it is called without its verb: `deployments.apps`.
    fn target(&self) -> String {
        let mut target = match (self.url, self.group) {
            (true, _) | (_, "") => self.resource.to_owned(),
            (_, "*") if self.resource == "*" => "everything".to_owned(),
            (_, group) => format!("{}.{group}", self.resource),
        };
        if !self.name.is_empty() {
            target.push_str(&format!(" `{}`", self.name));
        }
        target
    }
}

/// Permissions that can be asked for one.
#[derive(Clone, Debug, Default)]
struct Grants<'a> {
    all: HashSet<Grant<'a>>,
    /// Whether any has a wildcard.
    wild: bool,
    /// Bytes before the final `*` of URLs.
    url_prefixes: BTreeSet<usize>,
}

impl<'a> Grants<'a> {
    fn extend(&mut self, grants: &[Grant<'a>]) {
        self.wild |= grants.iter().any(Grant::is_wild);
        let urls = grants.iter().filter(|grant| grant.url);
        let prefixes = urls.filter_map(|grant| grant.resource.strip_suffix('*'));
        self.url_prefixes.extend(prefixes.map(str::len));
        self.all.extend(grants);
    }

    /// Whether having these is having `grant`, as kubernetes/pkg/apis/rbac/v1/evaluation_helpers.go
    /// matches verbs, groups, resources, names and URLs.
    ///
    /// What could include it is looked up, so more permissions do not take more time.
    fn cover(&self, grant: &Grant<'_>) -> bool {
        let names = if grant.name.is_empty() { &[""][..] } else { &["", grant.name] };
        let held =
            |wider: Grant<'_>| names.iter().any(|name| self.all.contains(&Grant { name, ..wider }));
        if !self.wild {
            return held(*grant);
        }

        let groups = if grant.url { &[grant.group][..] } else { &["*", grant.group] };
        self.resources_over(grant).iter().any(|resource| {
            groups.iter().any(|group| {
                ["*", grant.verb].iter().any(|verb| held(Grant { group, resource, verb, ..*grant }))
            })
        })
    }

    /// Returns the resources, or URLs, that may include those of `grant`.
    fn resources_over(&self, grant: &Grant<'_>) -> Vec<String> {
        let resource = grant.resource;
        let mut over = vec![resource.to_owned(), "*".to_owned()];
        if grant.url {
            let prefixes = self.url_prefixes.iter().filter_map(|end| resource.get(..*end));
            over.extend(prefixes.map(|prefix| format!("{prefix}*")));
        } else if let Some((_, sub)) = resource.split_once('/') {
            over.push(format!("*/{sub}"));
        }
        over
    }
}

/// What a rule of a role allows.
fn grants_of(rule: &Json) -> Vec<Grant<'_>> {
    let mut grants = Vec::new();
    let names = texts(rule.get("resourceNames"));
    let names = if names.is_empty() { vec![""] } else { names };
    for verb in texts(rule.get("verbs")) {
        for group in texts(rule.get("apiGroups")) {
            for resource in texts(rule.get("resources")) {
                let grant = |name| Grant { group, resource, name, verb, url: false };
                grants.extend(names.iter().copied().map(grant));
            }
        }
        for url in texts(rule.get("nonResourceURLs")) {
            grants.push(Grant { group: "", resource: url, name: "", verb, url: true });
        }
    }
    grants
}

fn role_grants(role: &Json) -> Vec<Grant<'_>> {
    let rules = role.get("rules").and_then(Json::as_array);
    rules.into_iter().flatten().flat_map(grants_of).collect()
}

/// A subject, and where a binding gives it something: everywhere, or in a namespace.
type Scope<'a> = Option<&'a str>;

/// `namespace/name` of a ServiceAccount, without the namespace of the release; `User name`.
fn subject_name(subject: &Json, release: &str) -> String {
    let text = |key: &str| subject.get(key).and_then(Json::as_str).unwrap_or_default();
    let namespace = text("namespace");
    match text("kind") {
        "ServiceAccount" if namespace.is_empty() || namespace == release => text("name").to_owned(),
        "ServiceAccount" => format!("{namespace}/{}", text("name")),
        kind => format!("{kind} {}", text("name")),
    }
}

fn subjects(binding: &Json, release: &str) -> Vec<String> {
    let list = binding.get("subjects").and_then(Json::as_array);
    list.into_iter().flatten().map(|subject| subject_name(subject, release)).collect()
}

/// The role that a binding is about, and where it holds.
fn bound<'a>(id: &'a Identity, binding: &'a Json) -> Option<(Identity, Scope<'a>)> {
    let reference = binding.get("roleRef")?;
    let text = |key: &str| reference.get(key).and_then(Json::as_str).unwrap_or_default();
    let role = Identity {
        kind: text("kind").to_owned(),
        group: "rbac.authorization.k8s.io".to_owned(),
        namespace: if text("kind") == "Role" { id.namespace.clone() } else { String::new() },
        name: text("name").to_owned(),
    };
    let scope = (id.kind == "RoleBinding").then_some(id.namespace.as_str());
    Some((role, scope))
}

/// What every subject of the old side may do, and what old roles were called.
pub(super) struct Holdings<'a> {
    /// By subject and scope.
    grants: BTreeMap<String, BTreeMap<Scope<'a>, Grants<'a>>>,
    /// Roles that are bound by subject and scope, also those that the side does not have.
    roles: BTreeSet<(String, Scope<'a>, Identity)>,
}

impl<'a> Holdings<'a> {
    /// The holdings of the old side. A role or account that was renamed has its new name.
    pub(super) fn of(side: &'a Side, pairs: &Pairs<'_>) -> Self {
        let renamed: BTreeMap<&Identity, &Identity> = pairs
            .list
            .iter()
            .filter_map(|pair| pair.old_id.as_ref().map(|old| (old, &pair.id)))
            .filter(|(old, new)| old != new)
            .collect();
        let accounts = renamed.iter().filter(|(old, _)| old.kind == "ServiceAccount");
        let accounts: BTreeMap<String, String> =
            accounts.map(|(old, new)| (subject_name_of(old), subject_name_of(new))).collect();

        let mut holdings = Holdings { grants: BTreeMap::new(), roles: BTreeSet::new() };
        for (id, binding) in side.objects.iter().filter(|(id, _)| id.kind.ends_with("RoleBinding"))
        {
            let Some((role, scope)) = bound(id, binding) else { continue };
            let grants = side.objects.get(&role).map(role_grants).unwrap_or_default();
            let role = renamed.get(&role).map_or(role, |new| (*new).clone());
            for subject in subjects(binding, &side.namespace) {
                let subject = accounts.get(&subject).cloned().unwrap_or(subject);
                let held = holdings.grants.entry(subject.clone()).or_default();
                held.entry(scope).or_default().extend(&grants);
                holdings.roles.insert((subject, scope, role.clone()));
            }
        }
        holdings
    }

    /// Whether a subject held a permission in a scope, or in a wider one.
    fn has(&self, subject: &str, scope: Scope<'_>, grant: &Grant<'_>) -> bool {
        let Some(scopes) = self.grants.get(subject) else { return false };
        let held = |scope| scopes.get(&scope).is_some_and(|grants| grants.cover(grant));
        held(None) || (scope.is_some() && held(scope))
    }

    /// Whether it held it anywhere.
    fn somewhere(&self, subject: &str, grant: &Grant<'_>) -> bool {
        let scopes = self.grants.get(subject);
        scopes.is_some_and(|scopes| scopes.values().any(|grants| grants.cover(grant)))
    }
}

/// Subjects that a side binds to each role, and where; sorted, each once.
pub(super) struct Bindings<'a>(BTreeMap<Identity, BTreeSet<(String, Scope<'a>)>>);

impl<'a> Bindings<'a> {
    /// The bindings of a side.
    pub(super) fn of(side: &'a Side) -> Self {
        let mut bindings = Bindings(BTreeMap::new());
        for (id, binding) in side.objects.iter().filter(|(id, _)| id.kind.ends_with("RoleBinding"))
        {
            let Some((role, scope)) = bound(id, binding) else { continue };
            let subjects = subjects(binding, &side.namespace);
            let subjects = subjects.into_iter().map(|subject| (subject, scope));
            bindings.0.entry(role).or_default().extend(subjects);
        }
        bindings
    }

    fn to(&self, role: &Identity) -> Vec<(&str, Scope<'a>)> {
        let subjects = self.0.get(role).into_iter().flatten();
        subjects.map(|(subject, scope)| (subject.as_str(), *scope)).collect()
    }
}

fn subject_name_of(id: &Identity) -> String {
    if id.namespace.is_empty() { id.name.clone() } else { format!("{}/{}", id.namespace, id.name) }
}

/// What a role allows on both sides, and who has it: the same for each of its edits.
pub(super) struct Access<'s> {
    held: Grants<'s>,
    holds: Grants<'s>,
    bindings: Vec<(&'s str, Scope<'s>)>,
}

impl<'s> Access<'s> {
    /// The access that a role gives; nothing for objects of other kinds.
    pub(super) fn of(pair: &Pair<'s>, bindings: &'s Bindings<'_>) -> Option<Self> {
        if !["Role", "ClusterRole"].contains(&pair.id.kind.as_str()) {
            return None;
        }
        let all = |object: Option<&'s Json>| {
            let mut grants = Grants::default();
            grants.extend(&object.map(role_grants).unwrap_or_default());
            grants
        };
        Some(Access { held: all(pair.old), holds: all(pair.new), bindings: bindings.to(&pair.id) })
    }
}

pub(super) fn judge(scene: &Scene<'_>, findings: &mut Vec<Finding>) {
    if scene.pair.id.kind.ends_with("Binding") {
        binding(scene, findings);
    } else {
        role(scene, findings);
    }
}

/// Rules of a role that came or changed.
fn role<'a>(scene: &Scene<'a>, findings: &mut Vec<Finding>) {
    let keys = scene.shape();
    let in_rules = keys.first() == Some(&"rules");
    if !in_rules && !keys.is_empty() {
        return;
    }
    // The whole role or list of rules, or the rule that the edit is in.
    let part = |object: Option<&'a Json>| -> Vec<Grant<'a>> {
        let Some(object) = object else { return Vec::new() };
        match scene.steps().get(1) {
            Some(Step::Order(_)) => Vec::new(),
            Some(step) => {
                let path = [Step::Key("rules".to_owned()), step.clone()];
                super::lookup(object, &path).map(grants_of).unwrap_or_default()
            }
            None => role_grants(object),
        }
    };
    let (before, after) = (part(scene.pair.old), part(scene.pair.new));
    let Some(Access { held, holds, bindings }) = scene.access else { return };
    let gained: Vec<&Grant<'_>> = after.iter().filter(|grant| !held.cover(grant)).collect();
    let lost: Vec<&Grant<'_>> = before.iter().filter(|grant| !holds.cover(grant)).collect();
    let mut told = false;
    if scene.pair.new.is_some() {
        let new_to_somebody = |grant: &&&Grant<'_>| {
            bindings.is_empty()
                || bindings
                    .iter()
                    .any(|(subject, scope)| !scene.sides.before.has(subject, *scope, grant))
        };
        let gained: Vec<&Grant<'_>> = gained.iter().filter(new_to_somebody).copied().collect();
        // A new role that nobody has yet gives nothing to anybody.
        if !(gained.is_empty() || scene.pair.old.is_none() && bindings.is_empty()) {
            told = true;
            gains(scene, &gained, bindings, findings);
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
    scene: &Scene<'_>,
    gained: &[&Grant<'_>],
    bindings: &[(&str, Scope<'_>)],
    findings: &mut Vec<Finding>,
) {
    let mut sorted: BTreeMap<usize, Vec<&Grant<'_>>> = BTreeMap::new();
    let everywhere = bindings.iter().any(|(_, scope)| scope.is_none());
    for grant in gained {
        let wider = everywhere
            && bindings.iter().all(|(subject, _)| scene.sides.before.somewhere(subject, grant));
        sorted.entry(kind_of(grant, wider)).or_default().push(grant);
    }
    let who: BTreeSet<&str> = bindings.iter().map(|(subject, _)| *subject).collect();
    let who: Vec<String> = who.into_iter().map(|subject| format!("`{subject}`")).collect();
    let who = if who.is_empty() { "who has the role".to_owned() } else { listed(&who, 2) };
    for (kind, grants) in sorted {
        // URLs are in no namespace.
        let place = everywhere && grants.iter().any(|grant| !grant.url);
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
    let mut verbs: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for grant in grants {
        let list = verbs.entry(grant.target()).or_default();
        if !list.contains(&grant.verb) {
            list.push(grant.verb);
        }
    }
    let mut targets: BTreeMap<Vec<&str>, Vec<String>> = BTreeMap::new();
    for (target, verbs) in verbs {
        targets.entry(verbs).or_default().push(target);
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
fn binding(scene: &Scene<'_>, findings: &mut Vec<Finding>) {
    let Some(new) = scene.pair.new else { return };
    let steps = scene.steps();
    let release = scene.sides.new.namespace.as_str();
    let came: Vec<String> = match (scene.shape().as_slice(), &scene.edit.new) {
        ([], Some(new)) => subjects(new, release),
        (["subjects"], Some(new)) => {
            let before = scene
                .pair
                .old
                .map(|old| subjects(old, &scene.sides.old.namespace))
                .unwrap_or_default();
            let wrapped = serde_json::json!({"subjects": new});
            subjects(&wrapped, release).into_iter().filter(|s| !before.contains(s)).collect()
        }
        // Another role: all of them gain it.
        (["roleRef", ..], Some(_)) => subjects(new, release),
        (["subjects", "[]"], Some(new)) => vec![subject_name(new, release)],
        (["subjects", "[]", ..], Some(_)) => super::lookup(new, &steps[..2])
            .map(|subject| vec![subject_name(subject, release)])
            .unwrap_or_default(),
        _ => return,
    };
    let Some((role, scope)) = bound(&scene.pair.id, new) else { return };
    let sides = scene.sides;
    let fresh: Vec<String> = came
        .iter()
        .filter(|subject| {
            let bound =
                |scope| sides.before.roles.contains(&((*subject).clone(), scope, role.clone()));
            !(bound(scope) || bound(None))
        })
        .cloned()
        .collect();
    if fresh.is_empty() {
        return;
    }
    // What a role of this side allows: the role's own change says what is new in it.
    let known = sides.new.objects.get(&role);
    let grants = known.map(role_grants).unwrap_or_default();
    let was_there = sides.old.objects.contains_key(&role);
    let gained: Vec<&Grant<'_>> = grants
        .iter()
        .filter(|grant| fresh.iter().any(|subject| !sides.before.has(subject, scope, grant)))
        .collect();
    let who: Vec<String> = fresh.iter().map(|subject| format!("`{subject}`")).collect();
    let place = match scope {
        None => " in every namespace".to_owned(),
        Some("") => String::new(),
        Some(namespace) => format!(" in namespace `{namespace}`"),
    };
    if known.is_none() {
        let reason = format!(
            "{} gains {} `{}`{place}, which is not part of this chart",
            listed(&who, 2),
            role.kind,
            role.name
        );
        findings.push(found(&SUBJECT, reason));
    } else if gained.is_empty() {
        findings.push(found(&SAME, format!("{} had all of it before", listed(&who, 2))));
    } else if was_there {
        let wider = scope.is_none()
            && gained.iter().all(|grant| fresh.iter().all(|s| sides.before.somewhere(s, grant)));
        let rule = if wider { &CLUSTER_SCOPE } else { &SUBJECT };
        findings.push(found(rule, format!("{} may {}{place}", listed(&who, 2), summary(&gained))));
    }
}
