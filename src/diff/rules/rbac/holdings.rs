//! Effective permissions: the subjects of bindings and their roles.

use super::grants::{Entries, Grant, Wildcards, role_grants};
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

/// Bindings and effective permissions of all subjects of a side.
pub(in crate::rules) struct EffectivePermissions<'a> {
    /// Holder of each subject.
    subjects: HashMap<String, usize>,
    /// The roles of each holder.
    holders: Vec<RolesByScope<'a>>,
    /// Sorted numbers of the roles with each permission.
    grants: HashMap<Grant<'a>, Vec<usize>>,
    wildcards: Wildcards,
    entries: Rc<Entries<'a>>,
    bindings: Bindings<'a>,
    /// Bound roles by subject and scope, under their new names.
    bound: BTreeSet<(String, Scope<'a>, Identity)>,
}

impl<'a> EffectivePermissions<'a> {
    /// Returns the permissions of a side. Renamed roles and ServiceAccounts have their new name.
    pub(in crate::rules) fn of(
        side: &'a Side,
        renamed: &Renamed<'_>,
        entries: &Rc<Entries<'a>>,
    ) -> Self {
        let bindings = bindings(side, renamed);
        let mut roles: BTreeMap<String, RolesByScope<'a>> = BTreeMap::new();
        let mut bound = BTreeSet::new();
        for (number, (role, subjects)) in bindings.iter().enumerate() {
            let role = renamed.get(role).copied().unwrap_or(role);
            for (subject, scope) in subjects {
                let scopes = roles.entry(subject.clone()).or_default();
                scopes.entry(*scope).or_default().insert(number);
                bound.insert((subject.clone(), *scope, role.clone()));
            }
        }

        let mut permissions = EffectivePermissions {
            subjects: HashMap::new(),
            holders: Vec::new(),
            grants: HashMap::new(),
            wildcards: Wildcards::default(),
            entries: Rc::clone(entries),
            bindings,
            bound,
        };
        permissions.add_subjects(roles);
        permissions.add_grants(side);
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

    fn add_grants(&mut self, side: &'a Side) {
        for (number, role) in self.bindings.keys().enumerate() {
            let role = side.objects.get(role);
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

    /// Returns the subjects of a role with the scopes of their bindings.
    pub(super) fn subjects_of(&self, role: &Identity) -> Vec<(&str, Scope<'a>)> {
        let subjects = self.bindings.get(role).into_iter().flatten();
        subjects.map(|(subject, scope)| (subject.as_str(), *scope)).collect()
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
                let may = permissions.may(holder, group, resource, verb);
                assert_eq!(may, is_held && expected, "{group} {resource} {verb}");
            }
        }
    }
}
