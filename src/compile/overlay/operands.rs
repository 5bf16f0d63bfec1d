//! Namespaces and ServiceAccounts that are there before the operator makes its operands.

use crate::config::{Account, Operands};
use crate::ir::{
    ClusterObject, Condition, Expr, Map, Object, Origin, Phase, Value, ValueSpec, ValuesPath,
};
use serde_json::json;

/// Returns the value that names a namespace of operands.
pub fn namespace_value(name: &str) -> ValuesPath {
    ValuesPath::new(["namespaces", name])
}

/// Returns the value that says whether the chart makes them.
pub(crate) fn create_namespaces() -> ValuesPath {
    ValuesPath::new(["createNamespaces"])
}

/// Returns the objects, and the values that they read.
pub fn operands(operands: &Operands) -> (Vec<Object>, Vec<ValueSpec>) {
    let mut objects = Vec::new();
    let mut values = Vec::new();
    for (name, namespace) in &operands.namespaces {
        let mut object = made(namespace_object(name));
        object.when = Some(Condition::Set(create_namespaces()));
        objects.push(object);
        values.push(ValueSpec {
            path: namespace_value(name),
            default: json!(namespace),
            schema: json!({
                "type": "string",
                "pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$",
                "maxLength": 63,
            }),
            documented_default: None,
            description: "Namespace of the operator's operands. Do not change it if the operator \
                hard-codes it."
                .to_owned(),
        });
    }

    if !objects.is_empty() {
        values.push(ValueSpec {
            path: create_namespaces(),
            default: json!(true),
            schema: json!({"type": "boolean"}),
            documented_default: None,
            description: "Create these namespaces. They are kept on uninstall, because they may \
                contain other objects; set to false if they exist already."
                .to_owned(),
        });
    }

    objects.extend(operands.accounts.iter().map(account_object));
    (objects, values)
}

fn made(root: Map) -> Object {
    let mut object = Object::new(root, Origin::Added("operands"));
    object.phase = Phase::Before;
    object
}

fn root(kind: &str, metadata: Value) -> Map {
    Map::from_iter([
        ("apiVersion".to_owned(), Value::text("v1")),
        ("kind".to_owned(), Value::text(kind)),
        ("metadata".to_owned(), metadata),
    ])
}

fn namespace_object(name: &str) -> Map {
    let metadata = Value::map([
        ("name", Value::from(Expr::Text(namespace_value(name)))),
        ("annotations", Value::map([("helm.sh/resource-policy", Value::text("keep"))])),
    ]);
    root("Namespace", metadata)
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
    let mut metadata =
        vec![("name", Value::text(&account.name)), ("namespace", Value::from(namespace.clone()))];
    if let Some(adoption) = &account.adopted_by {
        let namespace = match &adoption.namespace {
            Some(namespace) => Value::text(namespace),
            None => Value::from(Expr::ReleaseNamespace),
        };
        let labels = Value::map([("app.kubernetes.io/managed-by", Value::text("Helm"))]);
        let annotations = Value::map([
            ("helm.sh/hook", Value::text("pre-install")),
            // Argo CD runs hooks on each sync, and by default deletes the objects of the previous
            // run.
            ("argocd.argoproj.io/hook-delete-policy", Value::text("HookFailed")),
            ("meta.helm.sh/release-name", Value::text(&adoption.release)),
            ("meta.helm.sh/release-namespace", namespace),
        ]);
        metadata.extend([("labels", labels), ("annotations", annotations)]);
    }
    let mut object = made(root("ServiceAccount", Value::map(metadata)));
    object.when = account.adopted_by.as_ref().map(|_| {
        Condition::Missing(ClusterObject {
            api_version: "v1",
            kind: "ServiceAccount",
            namespace: Some(namespace),
            name: account.name.clone(),
        })
    });
    object
}
