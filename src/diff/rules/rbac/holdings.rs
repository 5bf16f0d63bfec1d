//! Effective permissions: the subjects of bindings and their roles.

use super::grants::{Entries, Grant, Wildcards, known_grants};
use crate::identity::Renamed;
use crate::read::{items, text};
use crate::{Identity, Side};
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::rc::Rc;

/// Scope of a binding: a namespace, or `None` for all namespaces.
pub(super) type Scope<'a> = Option<&'a str>;

/// Returns `ServiceAccount/namespace/name`, without the release namespace, or `User/name`.
pub(super) fn subject_name(subject: &Json, release: &str) -> String {
    let [kind, name, namespace] = ["kind", "name", "namespace"].map(|key| text(subject, &[key]));
    // The user name by which the API server knows a ServiceAccount.
    let account = name.strip_prefix("system:serviceaccount:").filter(|_| kind == "User");
    let (kind, namespace, name) = match account.and_then(|account| account.split_once(':')) {
        Some((namespace, name)) => ("ServiceAccount", namespace, name),
        None => (kind, namespace, name),
    };
    if kind == "ServiceAccount" && !namespace.is_empty() && namespace != release {
        return format!("{kind}/{namespace}/{name}");
    }
    format!("{kind}/{name}")
}

/// The group of all ServiceAccounts, as a subject.
const ACCOUNTS: &str = "Group/system:serviceaccounts";

/// Returns the groups that the API server puts a ServiceAccount into, and those that contain such a
/// group, from the narrowest; empty for other subjects.
fn groups(subject: &str, release: &str) -> Vec<String> {
    let of_namespace = subject.strip_prefix("ServiceAccount/").map(|account| {
        let namespace = account.split_once('/').map_or(release, |(namespace, _)| namespace);
        format!("{ACCOUNTS}:{namespace}")
    });
    if of_namespace.is_none() && !subject.starts_with(ACCOUNTS) {
        return Vec::new();
    }
    let wider = [ACCOUNTS, "Group/system:authenticated"].map(str::to_owned);
    of_namespace.into_iter().chain(wider).collect()
}

pub(super) fn subjects<'j>(binding: impl Into<Option<&'j Json>>, release: &str) -> Vec<String> {
    items(binding, &["subjects"]).iter().map(|subject| subject_name(subject, release)).collect()
}

/// Returns the role and the scope of a binding.
pub(super) fn bound<'a>(id: &'a Identity, binding: &'a Json) -> Option<(Identity, Scope<'a>)> {
    let reference = binding.get("roleRef")?;
    let (kind, name) = (text(reference, &["kind"]), text(reference, &["name"]));
    let namespace = if kind == "Role" { id.namespace.as_str() } else { "" };
    let role = Identity::new(kind, "rbac.authorization.k8s.io", namespace, name);
    let scope = (id.kind == "RoleBinding").then_some(id.namespace.as_str());
    Some((role, scope))
}

/// Subjects with the scopes of their bindings, by role.
type Bindings<'a> = BTreeMap<Identity, BTreeSet<(String, Scope<'a>)>>;

/// Returns the bindings of a side, also of roles that are not part of it. Renamed ServiceAccounts have
/// their new name.
fn bindings<'a>(side: &'a Side, renamed: &Renamed<'_>) -> Bindings<'a> {
    let accounts = renamed.iter().filter(|(old, _)| old.kind == "ServiceAccount");
    let accounts: BTreeMap<String, String> =
        accounts.map(|(old, new)| (old.to_string(), new.to_string())).collect();
    let mut roles = Bindings::new();
    for (id, binding) in side.objects.iter().filter(|(id, _)| id.kind.ends_with("RoleBinding")) {
        let Some((role, scope)) = bound(id, binding) else { continue };
        let new_name = |subject| accounts.get(&subject).cloned().unwrap_or(subject);
        let subjects = subjects(binding, &side.namespace).into_iter().map(new_name);
        roles.entry(role).or_default().extend(subjects.map(|subject| (subject, scope)));
    }
    roles
}

/// Role numbers by scope.
type RolesByScope<'a> = BTreeMap<Scope<'a>, BTreeSet<usize>>;

/// Number of a group of subjects with the same roles in the same scopes; `None` without roles.
pub(in crate::rules) type Holder = Option<usize>;

/// Name in a permission for an object of any name; no object has it.
pub(in crate::rules) const SOME: &str = "/";

/// Roles of every cluster that only let a server delegate authentication and authorization.
const DELEGATION: [&str; 2] =
    ["system:auth-delegator", "extension-apiserver-authentication-reader"];

/// Bindings and effective permissions of all subjects of a side.
pub(in crate::rules) struct EffectivePermissions<'a> {
    /// Holder of each subject.
    subjects: HashMap<String, usize>,
    /// The roles of each holder.
    holders: Vec<RolesByScope<'a>>,
    /// Sorted numbers of the roles with each permission.
    grants: HashMap<Grant<'a>, Vec<usize>>,
    /// Holders of roles whose permissions are not known.
    unknown: HashSet<usize>,
    release: &'a str,
    wildcards: Wildcards,
    entries: Rc<Entries<'a>>,
    /// Subjects by role, under their new names.
    bindings: Bindings<'a>,
}

impl<'a> EffectivePermissions<'a> {
    /// Returns the permissions of a side. Renamed roles and ServiceAccounts have their new name.
    pub(in crate::rules) fn of(
        side: &'a Side,
        renamed: &Renamed<'_>,
        entries: &Rc<Entries<'a>>,
    ) -> Self {
        let own = bindings(side, renamed);
        let mut roles: BTreeMap<String, RolesByScope<'a>> = BTreeMap::new();
        let mut bindings = Bindings::new();
        for (number, (role, subjects)) in own.iter().enumerate() {
            for (subject, scope) in subjects {
                let scopes = roles.entry(subject.clone()).or_default();
                scopes.entry(*scope).or_default().insert(number);
            }
            let role = renamed.get(role).copied().unwrap_or(role);
            bindings.entry(role.clone()).or_default().extend(subjects.iter().cloned());
        }

        let is_group = |(subject, _): &(&String, _)| subject.starts_with("Group/system:");
        let groups_of_accounts = roles.iter().filter(is_group);
        let of_groups: BTreeMap<String, RolesByScope<'a>> =
            groups_of_accounts.map(|(group, scopes)| (group.clone(), scopes.clone())).collect();
        for (subject, scopes) in &mut roles {
            let groups = groups(subject, &side.namespace);
            for (scope, more) in groups.iter().filter_map(|group| of_groups.get(group)).flatten() {
                scopes.entry(*scope).or_default().extend(more);
            }
        }

        let mut permissions = EffectivePermissions {
            subjects: HashMap::new(),
            holders: Vec::new(),
            grants: HashMap::new(),
            unknown: HashSet::new(),
            release: &side.namespace,
            wildcards: Wildcards::default(),
            entries: Rc::clone(entries),
            bindings,
        };
        permissions.add_subjects(roles);
        permissions.add_grants(side, own.keys());
        permissions
    }

    fn add_subjects(&mut self, roles: BTreeMap<String, RolesByScope<'a>>) {
        let mut known: BTreeMap<RolesByScope<'a>, usize> = BTreeMap::new();
        for (subject, roles) in roles {
            let next = known.len();
            let holder = *known.entry(roles.clone()).or_insert(next);
            if holder == next {
                self.holders.push(roles);
            }
            self.subjects.insert(subject, holder);
        }
    }

    fn add_grants<'i>(&mut self, side: &'a Side, bound: impl Iterator<Item = &'i Identity>) {
        let mut unknown = BTreeSet::new();
        for (number, role) in bound.enumerate() {
            let known = known_grants(side, role, &self.entries);
            if known.is_none() && !DELEGATION.contains(&role.name.as_str()) {
                unknown.insert(number);
            }
            let grants = known.unwrap_or_default();
            self.wildcards.add(&grants);
            let named = grants.iter().filter(|grant| !grant.name.is_empty());
            let of_some: Vec<Grant<'a>> =
                named.map(|grant| Grant { name: SOME, ..*grant }).collect();
            for grant in grants.into_iter().chain(of_some) {
                let roles = self.grants.entry(grant).or_default();
                if roles.last() != Some(&number) {
                    roles.push(number);
                }
            }
        }

        let has_unknown = |(_, roles): &(usize, &RolesByScope<'a>)| {
            roles.values().any(|roles| !roles.is_disjoint(&unknown))
        };
        let holders = self.holders.iter().enumerate().filter(has_unknown);
        self.unknown = holders.map(|(holder, _)| holder).collect();
    }

    /// Returns the holder of a subject. Subjects with the same roles share a holder, so each permission
    /// is looked up once for all of them. A ServiceAccount without bindings has those of its groups.
    pub(in crate::rules) fn holder(&self, subject: &str) -> Holder {
        let of_group =
            || groups(subject, self.release).iter().find_map(|group| self.subjects.get(group));
        self.subjects.get(subject).or_else(of_group).copied()
    }

    /// Returns true if a binding names a subject, not only one of its groups.
    pub(in crate::rules) fn names(&self, subject: &str) -> bool {
        self.subjects.contains_key(subject)
    }

    /// Returns the subjects of a role with the scopes of their bindings.
    pub(super) fn subjects_of(&self, role: &Identity) -> Vec<(&str, Scope<'a>)> {
        let subjects = self.bindings.get(role).into_iter().flatten();
        subjects.map(|(subject, scope)| (subject.as_str(), *scope)).collect()
    }

    /// Returns true if a role is bound to a subject in a scope.
    pub(super) fn is_bound(&self, subject: &str, scope: Scope<'a>, role: &Identity) -> bool {
        let subjects = self.bindings.get(role);
        subjects.is_some_and(|subjects| subjects.contains(&(subject.to_owned(), scope)))
    }

    /// Returns true if a holder has a permission in a scope or in all namespaces.
    pub(super) fn has(&self, holder: Holder, scope: Scope<'_>, grant: &Grant<'_>) -> bool {
        let Some(scopes) = holder.and_then(|holder| self.holders.get(holder)) else { return false };
        let held = |scope| scopes.get(&scope).is_some_and(|roles| self.cover(roles, grant));
        held(None) || held(scope)
    }

    /// Returns true if a holder does not have a permission, and no role whose permissions are not known.
    pub(super) fn lacks(&self, holder: Holder, scope: Scope<'_>, grant: &Grant<'_>) -> bool {
        !self.is_unknown(holder) && !self.has(holder, scope, grant)
    }

    /// Returns true if a holder has a role whose permissions are not known.
    pub(in crate::rules) fn is_unknown(&self, holder: Holder) -> bool {
        holder.is_some_and(|holder| self.unknown.contains(&holder))
    }

    /// Returns true if a holder has a permission in any scope.
    pub(super) fn somewhere(&self, holder: Holder, grant: &Grant<'_>) -> bool {
        let scopes = holder.and_then(|holder| self.holders.get(holder));
        scopes.is_some_and(|scopes| scopes.values().any(|roles| self.cover(roles, grant)))
    }

    /// Returns true if a holder may use a verb on objects of a resource in any scope: on objects of all
    /// names, or on [`SOME`].
    pub(in crate::rules) fn may(
        &self,
        holder: Holder,
        group: &str,
        resource: &str,
        name: &str,
        verb: &str,
    ) -> bool {
        let [group, resource, verb] = [(0, group), (1, resource), (3, verb)]
            .map(|(list, entry)| self.entries.one(list, entry));
        self.somewhere(holder, &Grant { group, resource, name, verb, url: false })
    }

    /// Returns true if one of these roles has a permission.
    fn cover(&self, roles: &BTreeSet<usize>, grant: &Grant<'_>) -> bool {
        self.wildcards.any_over(grant, |wider| {
            let Some(with) = self.grants.get(wider) else { return false };
            if with.len() < roles.len() {
                with.iter().any(|role| roles.contains(role))
            } else {
                roles.iter().any(|role| with.binary_search(role).is_ok())
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::rbac::entries;
    use serde_json::json;

    /// Long lists are compared by representatives, also for what is asked.
    #[test]
    fn permissions_of_long_lists() {
        let verbs: Vec<String> = (0..20_000).map(|number| format!("v{number}")).collect();
        for (names, expected) in [(json!([]), true), (json!(["a", "b"]), false)] {
            let rule = json!({"apiGroups": ["g", "h"], "resources": ["ks", "ls"],
                "resourceNames": names, "verbs": verbs});
            let api = "rbac.authorization.k8s.io";
            let object = |kind: &str, rest: Json| {
                let mut object = json!({"apiVersion": format!("{api}/v1"), "kind": kind,
                    "metadata": {"name": "r"}});
                object.as_object_mut().unwrap().extend(rest.as_object().cloned().unwrap());
                object
            };
            let side = Side::new(
                "x",
                [
                    object("ClusterRole", json!({"rules": [rule]})),
                    object(
                        "ClusterRoleBinding",
                        json!({"roleRef": {"kind": "ClusterRole", "name": "r"},
                            "subjects": [{"kind": "User", "name": "u"}]}),
                    ),
                ],
                "ns",
                None,
            );
            let entries = Rc::new(entries([&side, &side]));
            let permissions = EffectivePermissions::of(&side, &Renamed::new(), &entries);
            let holder = permissions.holder("User/u");
            for (group, resource, verb, is_held) in [
                ("h", "ls", "v7", true),
                ("g", "ks", "v0", true),
                ("i", "ls", "v7", false),
                ("h", "ms", "v7", false),
                ("h", "ls", "w", false),
            ] {
                let may = permissions.may(holder, group, resource, "", verb);
                assert_eq!(may, is_held && expected, "{group} {resource} {verb}");
            }
        }
    }
}
