//! Deployments of the install strategy.

use super::Targets;
use super::pod_annotations::copied_to_pods;
use super::webhook_server::Server;
use crate::bundle::{Bundle, Permission, StrategyDeployment};
use crate::diag::{Code, Diagnostic, Diagnostics};
use crate::fields::{map_mut, maps_mut, texts};
use crate::ir::{Expr, Map, Object, Value, map, value};

/// Returns the Deployment of a strategy entry.
///
/// OLM: operator-controller, bundle deployment generator. The pod template gets the CSV's
/// annotations ([`copied_to_pods`]), overlaid by its own, then `olm.targetNamespaces` and
/// `olm.operatorNamespace`; `revisionHistoryLimit` is 1. `OPERATOR_CONDITION_NAME` is OLM v0's, and set only for operators
/// that may read OperatorConditions.
pub(super) fn deployment(
    bundle: &Bundle,
    entry: &StrategyDeployment,
    targets: &Targets,
    server: Option<&Server<'_>>,
) -> Object {
    let mut spec = entry.spec.as_map().cloned().unwrap_or_default();
    // As OLM: one replaced ReplicaSet is kept.
    spec.insert("revisionHistoryLimit".to_owned(), Value::from(1));
    let template = spec.map_at("template");
    let template_metadata = template.map_at("metadata");
    // controller-gen writes `creationTimestamp: null`, which means nothing.
    if template_metadata.get("creationTimestamp").is_some_and(Value::is_null) {
        template_metadata.shift_remove("creationTimestamp");
    }

    // Operators read their namespaces from these annotations through the downward API.
    let own = template_metadata.get("annotations").and_then(Value::as_map).cloned();
    let of_csv = bundle.csv.object.at(&["metadata", "annotations"]).and_then(Value::as_map);
    let mut annotations = of_csv.map(|of_csv| copied_to_pods(of_csv, template)).unwrap_or_default();
    annotations.extend(own.unwrap_or_default());
    annotations.insert("olm.targetNamespaces".to_owned(), targets.annotation());
    annotations.insert("olm.operatorNamespace".to_owned(), Value::Expr(Expr::ReleaseNamespace));
    template.map_at("metadata").insert("annotations".to_owned(), Value::from(annotations));

    if operator_condition_rule(bundle).is_some() {
        name_operator_condition(template, bundle.csv.name());
    }
    if let Some(server) = server {
        server.mount_certificate(template);
    }

    let root = map! {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": &entry.name,
            "namespace": Expr::ReleaseNamespace,
            // As OLM: labels of the strategy entry, not those of the pods.
            "labels": ?entry.label.clone(),
        },
        "spec": spec,
    };
    Object::new(root, entry.origin.clone())
}

/// Returns the permission of the CSV for OperatorConditions, if any.
fn operator_condition_rule(bundle: &Bundle) -> Option<&Permission> {
    let csv = &bundle.csv;
    csv.permissions.iter().chain(&csv.cluster_permissions).find(|permission| {
        permission.rules.as_seq().unwrap_or_default().iter().any(|rule| {
            let name = |resource: &str| resource.split('/').next() == Some("operatorconditions");
            texts(rule.get("resources")).any(name)
        })
    })
}

/// Reports RBAC for an OperatorCondition, which OLM creates together with its CRD.
pub(super) fn report_operator_condition(bundle: &Bundle, diagnostics: &mut Diagnostics) {
    let Some(permission) = operator_condition_rule(bundle) else { return };
    let message = format!(
        "the operator has RBAC for OperatorCondition/{}, which OLM creates and the chart does not",
        bundle.csv.name()
    );
    let hint = "if the operator does not start without it, add the CRD \
                operatorconditions.operators.coreos.com and the object in an overlay with phase = \
                \"before\"; its name is in OPERATOR_CONDITION_NAME";
    let found = Diagnostic::warning(Code::OperatorCondition, message);
    diagnostics.push(found.at(permission.origin.place()).hint(hint));
}

/// Sets OPERATOR_CONDITION_NAME in every container that does not set it itself.
fn name_operator_condition(template: &mut Map, csv_name: &str) {
    const NAME: &str = "OPERATOR_CONDITION_NAME";
    let pod = map_mut(template, &["spec"]);
    for container in pod.into_iter().flat_map(|pod| maps_mut(pod, "containers")) {
        let env = container.list_at("env");
        if !env.iter().any(|entry| entry.get("name").and_then(Value::as_str) == Some(NAME)) {
            env.push(value!({"name": NAME, "value": csv_name}));
        }
    }
}
