//! Effective permissions: the subjects of bindings and their roles.

use super::grants::{Entries, Grant, Wildcards, role_grants};
use crate::identity::{Pair, Pairs};
use crate::read::{items, text};
use crate::{Identity, Side};
use indexmap::IndexSet;
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::rc::Rc;

/// Scope of a binding: a namespace, or `None` for all namespaces.
pub(super) type Scope<'a> = Option<&'a str>;

/// Returns `ServiceAccount/namespace/name`, without the release namespace, or `User/name`.
pub(super) fn subject_name(subject: &Json, release: &str) -> String {
    let (name, namespace) = (text(subject, &["name"]), text(subject, &["namespace"]));
    match text(subject, &["kind"]) {
        kind @ "ServiceAccount" if !namespace.is_empty() && namespace != release => {
            format!("{kind}/{namespace}/{name}")
        }
        kind => format!("{kind}/{name}"),
    }
}

pub(super) fn subjects(binding: &Json, release: &str) -> Vec<String> {
    items(binding, &["subjects"]).iter().map(|subject| subject_name(subject, release)).collect()
}

/// Returns the subjects of a list that a binding on the other side does not have.
pub(super) fn other_subjects(
    (list, release): (&Json, &str),
    (binding, other_release): (Option<&Json>, &str),
) -> Vec<String> {
    let known = binding.map(|binding| subjects(binding, other_release)).unwrap_or_default();
    let known: HashSet<String> = known.into_iter().collect();
    let all = items(list, &[]).iter().map(|subject| subject_name(subject, release));
    all.filter(|subject| !known.contains(subject)).collect()
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

/// Returns the bindings of a side: the role and the scope, with the subjects. Renamed ServiceAccounts
/// have their new name.
fn bindings<'a>(
    side: &'a Side,
    renamed: &Renames<'_>,
) -> impl Iterator<Item = (Identity, Scope<'a>, Vec<String>)> {
    let accounts = renamed.subjects();
    let bindings = side.objects.iter().filter(|(id, _)| id.kind.ends_with("RoleBinding"));
    bindings.filter_map(move |(id, binding)| {
        let (role, scope) = bound(id, binding)?;
        let new_name = |subject| accounts.get(&subject).cloned().unwrap_or(subject);
        let subjects = subjects(binding, &side.namespace).into_iter().map(new_name);
        Some((role, scope, subjects.collect()))
    })
}

/// Role numbers by scope.
type RolesByScope<'a> = BTreeMap<Scope<'a>, BTreeSet<usize>>;

/// Number of a group of subjects with the same roles in the same scopes; `None` without roles.
pub(in crate::rules) type Holder = Option<usize>;

/// Effective permissions of all subjects of the old side.
pub(in crate::rules) struct EffectivePermissions<'a> {
    /// Holder of each subject.
    subjects: HashMap<String, usize>,
    /// The roles of each holder.
    holders: Vec<RolesByScope<'a>>,
    /// Sorted numbers of the roles with each permission.
    grants: HashMap<Grant<'a>, Vec<usize>>,
    wildcards: Wildcards,
    entries: Rc<Entries<'a>>,
    /// Bound roles by subject and scope, including roles that are not part of the side.
    bound: BTreeSet<(String, Scope<'a>, Identity)>,
}

impl<'a> EffectivePermissions<'a> {
    /// Returns the permissions of a side. Renamed roles and ServiceAccounts have their new name.
    pub(in crate::rules) fn of(
        side: &'a Side,
        renamed: &Renames<'_>,
        entries: &Rc<Entries<'a>>,
    ) -> Self {
        let mut numbers: IndexSet<Identity> = IndexSet::new();
        let mut roles: BTreeMap<String, RolesByScope<'a>> = BTreeMap::new();
        let mut bound_roles = BTreeSet::new();
        for (role, scope, subjects) in bindings(side, renamed) {
            let (number, _) = numbers.insert_full(role.clone());
            let role = renamed.0.get(&role).map_or(role, |new| (*new).clone());
            for subject in subjects {
                let scopes = roles.entry(subject.clone()).or_default();
                scopes.entry(scope).or_default().insert(number);
                bound_roles.insert((subject, scope, role.clone()));
            }
        }

        let mut permissions = EffectivePermissions {
            subjects: HashMap::new(),
            holders: Vec::new(),
            grants: HashMap::new(),
            wildcards: Wildcards::default(),
            entries: Rc::clone(entries),
            bound: bound_roles,
        };
        permissions.add_subjects(roles);
        permissions.add_roles(side, numbers);
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

    fn add_roles(&mut self, side: &'a Side, roles: IndexSet<Identity>) {
        for (number, role) in roles.into_iter().enumerate() {
            let role = side.objects.get(&role);
            let grants = role.map(|role| role_grants(role, &self.entries)).unwrap_or_default();
            self.wildcards.add(&grants);
            for grant in grants {
                let roles = self.grants.entry(grant).or_default();
                if roles.last() != Some(&number) {
                    roles.push(number);
                }
            }
        }
    }

    /// Returns the holder of a subject. Subjects with the same roles share a holder, so each permission
    /// is looked up once for all of them.
    pub(in crate::rules) fn holder(&self, subject: &str) -> Holder {
        self.subjects.get(subject).copied()
    }

    /// Returns true if a role is bound to a subject in a scope.
    pub(super) fn is_bound(&self, subject: &str, scope: Scope<'a>, role: &Identity) -> bool {
        self.bound.contains(&(subject.to_owned(), scope, role.clone()))
    }

    /// Returns true if a holder has a permission in a scope or in all namespaces.
    pub(super) fn has(&self, holder: Holder, scope: Scope<'_>, grant: &Grant<'_>) -> bool {
        let Some(scopes) = holder.and_then(|holder| self.holders.get(holder)) else { return false };
        let held = |scope| scopes.get(&scope).is_some_and(|roles| self.cover(roles, grant));
        held(None) || held(scope)
    }

    /// Returns true if a holder has a permission in any scope.
    pub(super) fn somewhere(&self, holder: Holder, grant: &Grant<'_>) -> bool {
        let scopes = holder.and_then(|holder| self.holders.get(holder));
        scopes.is_some_and(|scopes| scopes.values().any(|roles| self.cover(roles, grant)))
    }

    /// Returns true if a holder may use a verb on a resource in any scope.
    pub(in crate::rules) fn may(
        &self,
        holder: Holder,
        group: &str,
        resource: &str,
        verb: &str,
    ) -> bool {
        let [group, resource, verb] = [(0, group), (1, resource), (3, verb)]
            .map(|(list, entry)| self.entries.one(list, entry));
        self.somewhere(holder, &Grant { group, resource, name: "", verb, url: false })
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

/// Subjects and scopes by role.
pub(in crate::rules) struct Bindings<'a>(BTreeMap<Identity, BTreeSet<(String, Scope<'a>)>>);

impl<'a> Bindings<'a> {
    /// Returns the bindings of a side. Renamed ServiceAccounts have their new name.
    pub(in crate::rules) fn of(side: &'a Side, renamed: &Renames<'_>) -> Self {
        let mut roles: BTreeMap<Identity, BTreeSet<_>> = BTreeMap::new();
        for (role, scope, subjects) in bindings(side, renamed) {
            let subjects = subjects.into_iter().map(|subject| (subject, scope));
            roles.entry(role).or_default().extend(subjects);
        }
        Bindings(roles)
    }

    /// Returns the subjects of a role with the scopes of their bindings.
    pub(super) fn to(&self, role: &Identity) -> Vec<(&str, Scope<'a>)> {
        let subjects = self.0.get(role).into_iter().flatten();
        subjects.map(|(subject, scope)| (subject.as_str(), *scope)).collect()
    }
}

/// Renamed objects of two sides, by their old identity.
pub(in crate::rules) struct Renames<'p>(BTreeMap<&'p Identity, &'p Identity>);

impl<'p> Renames<'p> {
    /// Returns the renamed objects among the pairs.
    pub(in crate::rules) fn of(pairs: &'p Pairs<'_>) -> Self {
        let old = |pair: &'p Pair<'_>| pair.old_id.as_ref().map(|old| (old, &pair.id));
        Renames(pairs.list.iter().filter_map(old).filter(|(old, new)| old != new).collect())
    }

    /// Returns no renames, for the new side.
    pub(in crate::rules) fn none() -> Self {
        Renames(BTreeMap::new())
    }

    /// Returns the new identities of renamed objects, by their old ones.
    pub(in crate::rules) fn identities(&self) -> HashMap<Identity, Identity> {
        self.0.iter().map(|(old, new)| ((*old).clone(), (*new).clone())).collect()
    }

    /// Returns the new names of ServiceAccounts as subjects, by their old ones.
    fn subjects(&self) -> BTreeMap<String, String> {
        let accounts = self.0.iter().filter(|(old, _)| old.kind == "ServiceAccount");
        accounts.map(|(old, new)| (old.to_string(), new.to_string())).collect()
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
            let permissions = EffectivePermissions::of(&side, &Renames::none(), &entries);
            let holder = permissions.holder("User/u");
            for (group, resource, verb, is_held) in [
                ("h", "ls", "v7", true),
                ("g", "ks", "v0", true),
                ("i", "ls", "v7", false),
                ("h", "ms", "v7", false),
                ("h", "ls", "w", false),
            ] {
                let may = permissions.may(holder, group, resource, verb);
                assert_eq!(may, is_held && expected, "{group} {resource} {verb}");
            }
        }
    }
}
