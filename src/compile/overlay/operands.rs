//! Namespaces and ServiceAccounts that are there before the operator makes its operands.

use crate::config::{Account, Operands};
use crate::ir::{
    ClusterObject, Condition, Expr, OPERANDS, Object, Origin, Part, Phase, Unit, Value, ValueSpec,
    ValuesPath, map, value,
};
use serde_json::json;
use std::collections::BTreeMap;

/// Namespaces that every cluster has, so that no release can create them.
const EXISTING: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];

/// Returns the value that names a namespace of operands.
pub fn namespace_value(name: &str) -> ValuesPath {
    ValuesPath::new(["namespaces", name])
}

/// Returns the value that names a namespace, if it is one of `operands`: namespaces by name of the value.
pub fn operand_namespace(operands: &BTreeMap<String, String>, namespace: &str) -> Option<Expr> {
    let (name, _) = operands.iter().find(|(_, known)| *known == namespace)?;
    Some(Expr::Text(namespace_value(name)))
}

/// Returns the value that says whether the chart creates the namespaces.
fn create_namespaces() -> ValueSpec {
    ValueSpec::switch(
        ValuesPath::new(["createNamespaces"]),
        true,
        "Create these namespaces. They are kept on uninstall, because they may contain other \
                objects; set to false if they exist already.",
    )
}

/// Returns the namespaces and ServiceAccounts.
pub fn operands(operands: &Operands) -> Unit {
    let mut unit = Unit::default();
    let mut others = vec![Expr::ReleaseNamespace];
    for (name, namespace) in &operands.namespaces {
        let own = Expr::Text(namespace_value(name));
        let metadata = value!({
            "name": own.clone(),
            "annotations": {"helm.sh/resource-policy": "keep"},
        });
        // Helm installs to a namespace that exists, and fails at two objects of one name.
        let differ = |other: &Expr| Condition::Differ(Box::new([own.clone(), other.clone()]));
        let create = Condition::Set(create_namespaces().path);
        let existing = EXISTING.contains(&namespace.as_str());
        let existing = existing.then(|| Expr::Concat(vec![Part::Text(namespace.clone())]));
        let differ = others.iter().chain(&existing).map(differ);
        let when = Condition::all(std::iter::once(create).chain(differ));
        unit.objects.push(object("Namespace", metadata, when));
        others.push(own);
        unit.values.push(ValueSpec::new(
            namespace_value(name),
            json!(namespace),
            json!({
                "type": "string",
                // Kubernetes: names of namespaces are labels of DNS (RFC 1123).
                "pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$",
                "maxLength": 63,
            }),
            "Namespace of the operator's operands. Do not change it if the operator \
                hard-codes it.",
        ));
    }

    if !unit.objects.is_empty() {
        unit.values.push(create_namespaces());
    }

    unit.objects.extend(operands.accounts.iter().map(account_object));
    unit
}

fn object(kind: &str, metadata: Value, when: Option<Condition>) -> Object {
    let root = map! {"apiVersion": "v1", "kind": kind, "metadata": metadata};
    Object { phase: Phase::Before, when, ..Object::new(root, Origin::Added(OPERANDS)) }
}

/// Creates a ServiceAccount. One that another release adopts is a hook, because Helm overwrites the
/// release annotations of all other objects. It is created on installation only, and not changed
/// later. It is rendered only if there is none: Helm deletes a hook before it creates it again, so a
/// second installation would delete the ServiceAccount that the other release has adopted.
fn account_object(account: &Account) -> Object {
    let namespace = match &account.namespace {
        Some(name) => Expr::Text(namespace_value(name)),
        None => Expr::ReleaseNamespace,
    };
    let mut metadata = map! {"name": &account.name, "namespace": namespace.clone()};
    if let Some(adoption) = &account.adopted_by {
        let namespace = match &adoption.namespace {
            Some(namespace) => Value::text(namespace),
            None => Value::from(Expr::ReleaseNamespace),
        };
        metadata.extend(map! {
            "labels": {"app.kubernetes.io/managed-by": "Helm"},
            "annotations": {
                "helm.sh/hook": "pre-install",
                // Argo CD runs hooks on each sync, and by default deletes the objects of the
                // previous run.
                "argocd.argoproj.io/hook-delete-policy": "HookFailed",
                "meta.helm.sh/release-name": &adoption.release,
                "meta.helm.sh/release-namespace": namespace,
            },
        });
    }
    let when = account.adopted_by.as_ref().map(|_| {
        Condition::Missing(ClusterObject {
            api_version: "v1",
            kind: "ServiceAccount",
            namespace: Some(namespace),
            name: account.name.clone(),
        })
    });
    object("ServiceAccount", metadata.into(), when)
}
