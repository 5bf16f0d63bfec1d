//! ServiceAccounts, Roles and bindings of the install strategy.
//!
//! OLM: operator-controller, generators for service accounts, permissions and cluster permissions.
//! Names differ from OLM's content hashes on purpose: they stay the same from version to version,
//! so that an upgrade shows a changed rule and not a new role.

use super::Targets;
use super::targets::Target;
use crate::bundle::{Bundle, Permission};
use crate::ir::{Expr, Map, Object, Origin, Value, map, value};
use indexmap::IndexMap;
use std::collections::BTreeSet;

const RBAC: &str = "rbac.authorization.k8s.io";

/// One ServiceAccount for each that a permission names, except `default`, which every namespace
/// has, and those that the bundle ships.
pub(super) fn service_accounts(bundle: &Bundle, shipped: &[Object]) -> Vec<Object> {
    let csv = &bundle.csv;
    let shipped = |name: &str| {
        shipped.iter().any(|object| object.kind() == "ServiceAccount" && object.name() == name)
    };
    // Permissions of one account are often in both lists; the account exists once.
    let mut accounts: IndexMap<&str, &Origin> = IndexMap::new();
    for permission in csv.permissions.iter().chain(&csv.cluster_permissions) {
        let name = permission.service_account.as_str();
        if name != "default" && !shipped(name) {
            accounts.entry(name).or_insert(&permission.origin);
        }
    }
    accounts
        .into_iter()
        .map(|(name, origin)| {
            let metadata = value!({"name": name, "namespace": Target::Release.value()});
            object("v1", "ServiceAccount", metadata, Map::new(), origin)
        })
        .collect()
}

/// Roles and RoleBindings in each watched namespace; ClusterRoles and ClusterRoleBindings when all
/// are watched, with the right to see namespaces, as OLM adds it.
pub(super) fn permissions(
    bundle: &Bundle,
    shipped: &[Object],
    chart: &str,
    targets: &Targets,
) -> Vec<Object> {
    let mut objects = Vec::new();
    let mut names = Names::new(chart, shipped);
    for permission in &bundle.csv.permissions {
        let (role, binding) = names.next(&permission.service_account, "role");
        if *targets == Targets::All {
            let mut rules = permission.rules.as_seq().unwrap_or_default().to_vec();
            // As OLM: an operator that watches all namespaces lists them.
            rules.push(value!({
                "verbs": ["get", "list", "watch"], "apiGroups": [""], "resources": ["namespaces"],
            }));
            objects.extend(cluster_role(&role, &binding, permission, Value::Seq(rules)));
            continue;
        }
        for target in targets.role_namespaces() {
            let metadata = |name: &str| value!({"name": name, "namespace": target.value()});
            let rules = map! {"rules": permission.rules.clone()};
            let api = "rbac.authorization.k8s.io/v1";
            objects.push(object(api, "Role", metadata(&role), rules, &permission.origin));
            let body = binding_body("Role", &role, permission);
            objects.push(object(api, "RoleBinding", metadata(&binding), body, &permission.origin));
        }
    }

    objects
}

/// Returns a ClusterRole and ClusterRoleBinding for each clusterPermissions entry.
pub(super) fn cluster_permissions(bundle: &Bundle, shipped: &[Object], chart: &str) -> Vec<Object> {
    let mut names = Names::new(chart, shipped);
    bundle
        .csv
        .cluster_permissions
        .iter()
        .flat_map(|permission| {
            let (role, binding) = names.next(&permission.service_account, "clusterrole");
            cluster_role(&role, &binding, permission, permission.rules.clone())
        })
        .collect()
}

fn cluster_role(role: &str, binding: &str, permission: &Permission, rules: Value) -> [Object; 2] {
    let api = "rbac.authorization.k8s.io/v1";
    let origin = &permission.origin;
    let bound = binding_body("ClusterRole", role, permission);
    [
        object(api, "ClusterRole", value!({"name": role}), map! {"rules": rules}, origin),
        object(api, "ClusterRoleBinding", value!({"name": binding}), bound, origin),
    ]
}

fn binding_body(role_kind: &str, role: &str, permission: &Permission) -> Map {
    map! {
        "roleRef": {"apiGroup": RBAC, "kind": role_kind, "name": role},
        "subjects": [{
            "kind": "ServiceAccount",
            "name": &permission.service_account,
            "namespace": Expr::ReleaseNamespace,
        }],
    }
}

fn object(api_version: &str, kind: &str, metadata: Value, body: Map, origin: &Origin) -> Object {
    let mut root = map! {"apiVersion": api_version, "kind": kind, "metadata": metadata};
    root.extend(body);
    Object::new(root, origin.clone())
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
    fn next(&mut self, account: &str, suffix: &str) -> (String, String) {
        let base = role_base(self.chart, account);
        let count = self.used.entry(base.clone()).or_insert(0);
        loop {
            *count += 1;
            // Names stay the same when a new version of the operator adds a permission at the end.
            let number = if *count == 1 { String::new() } else { format!("-{count}") };
            let names =
                [format!("{base}-{suffix}{number}"), format!("{base}-{suffix}binding{number}")];
            if !names.iter().any(|name| self.shipped.contains(name.as_str())) {
                let [role, binding] = names;
                return (role, binding);
            }
        }
    }
}
