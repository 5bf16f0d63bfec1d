//! ServiceAccounts, Roles and bindings of the install strategy.
//!
//! OLM: operator-controller, generators for service accounts, permissions and cluster permissions.
//! Names differ from OLM's content hashes on purpose: they stay the same from version to version,
//! so that an upgrade shows a changed rule and not a new role.

use super::Targets;
use crate::bundle::{Bundle, Permission};
use crate::ir::{Expr, Map, Object, Origin, Value, map, value};
use indexmap::IndexMap;
use std::collections::BTreeSet;

const RBAC: &str = "rbac.authorization.k8s.io";

/// Returns one ServiceAccount for each that a permission names, except `default`, which every
/// namespace has, and those that the bundle ships.
pub(super) fn service_accounts(bundle: &Bundle, shipped: &[Object]) -> Vec<Object> {
    let csv = &bundle.csv;
    let shipped = |name: &str| {
        shipped.iter().any(|object| object.kind() == "ServiceAccount" && object.name() == name)
    };
    // Permissions of one account are often in both lists; the account exists once.
    let mut accounts: IndexMap<&str, &Origin> = IndexMap::new();
    for permission in csv.permissions.iter().chain(&csv.cluster_permissions) {
        let name = permission.service_account.as_str();
        // Helm would fail at two objects of one name, where OLM v1 renders both.
        if name != "default" && !shipped(name) {
            accounts.entry(name).or_insert(&permission.origin);
        }
    }
    let account = |(name, origin): (&str, &Origin)| {
        let root = map! {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": name, "namespace": Expr::ReleaseNamespace},
        };
        Object::new(root, origin.clone())
    };
    accounts.into_iter().map(account).collect()
}

/// Returns Roles and RoleBindings in each watched namespace; ClusterRoles and ClusterRoleBindings when
/// all are watched, with the right to see namespaces, as OLM adds it, and for each clusterPermissions
/// entry.
pub(super) fn permissions(
    bundle: &Bundle,
    shipped: &[Object],
    chart: &str,
    targets: &Targets,
) -> Vec<Object> {
    let mut objects = Vec::new();
    let mut names = Names::new(chart, shipped);
    for permission in &bundle.csv.permissions {
        let names = names.next(&permission.service_account, "role");
        let Some(namespaces) = targets.role_namespaces() else {
            let mut rules = permission.rules.as_seq().unwrap_or_default().to_vec();
            // As OLM: an operator that watches all namespaces lists them.
            rules.push(value!({
                "verbs": ["get", "list", "watch"], "apiGroups": [""], "resources": ["namespaces"],
            }));
            objects.extend(bound("ClusterRole", &names, None, permission, Value::Seq(rules)));
            continue;
        };

        for namespace in namespaces {
            let rules = permission.rules.clone();
            objects.extend(bound("Role", &names, Some(namespace), permission, rules));
        }
    }

    for permission in &bundle.csv.cluster_permissions {
        let names = names.next(&permission.service_account, "clusterrole");
        let rules = permission.rules.clone();
        objects.extend(bound("ClusterRole", &names, None, permission, rules));
    }
    objects
}

/// Returns a role of this kind and its binding, which have these names, for the account of a
/// permission.
fn bound(
    kind: &str,
    [role_name, binding_name]: &[String; 2],
    namespace: Option<Value>,
    permission: &Permission,
    rules: Value,
) -> [Object; 2] {
    let metadata = |name: &str| value!({"name": name, "namespace": ?namespace.clone()});
    let role = role(kind, metadata(role_name), rules);
    let binding = binding(metadata(binding_name), [kind, role_name], &permission.service_account);
    [role, binding].map(|root| Object::new(root, permission.origin.clone()))
}

/// Returns a Role or ClusterRole.
pub(crate) fn role(kind: &str, metadata: Value, rules: Value) -> Map {
    map! {
        "apiVersion": format!("{RBAC}/v1"),
        "kind": kind,
        "metadata": metadata,
        "rules": rules,
    }
}

/// Returns the binding of a Role or ClusterRole to an account in the release namespace.
pub(crate) fn binding(metadata: Value, [kind, name]: [&str; 2], account: &str) -> Map {
    map! {
        "apiVersion": format!("{RBAC}/v1"),
        "kind": format!("{kind}Binding"),
        "metadata": metadata,
        "roleRef": {"apiGroup": RBAC, "kind": kind, "name": name},
        "subjects": [{
            "kind": "ServiceAccount",
            "name": account,
            "namespace": Expr::ReleaseNamespace,
        }],
    }
}

/// Returns the name prefix of an account's roles: the account, prefixed with the chart's name
/// unless it contains it, because cluster-wide names must not collide with those of another
/// operator's `controller-manager`.
pub fn role_base(chart: &str, account: &str) -> String {
    if account.contains(chart) { account.to_owned() } else { format!("{chart}-{account}") }
}

/// Names of roles in order: `BASE-role`, `BASE-role-2`, …, without those that the bundle ships.
struct Names<'a> {
    chart: &'a str,
    shipped: BTreeSet<&'a str>,
    used: IndexMap<String, usize>,
}

impl<'a> Names<'a> {
    fn new(chart: &'a str, shipped: &'a [Object]) -> Self {
        let kinds = ["Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"];
        let shipped = shipped.iter().filter(|object| kinds.contains(&object.kind()));
        Names { chart, shipped: shipped.map(Object::name).collect(), used: IndexMap::new() }
    }

    /// Returns the names of the next role of this account and of its binding.
    fn next(&mut self, account: &str, suffix: &str) -> [String; 2] {
        let base = format!("{}-{suffix}", role_base(self.chart, account));
        let count = self.used.entry(base.clone()).or_insert(0);
        loop {
            *count += 1;
            // Names stay the same when a new version of the operator adds a permission at the end.
            let number = if *count == 1 { String::new() } else { format!("-{count}") };
            let names = [format!("{base}{number}"), format!("{base}binding{number}")];
            if !names.iter().any(|name| self.shipped.contains(name.as_str())) {
                return names;
            }
        }
    }
}
