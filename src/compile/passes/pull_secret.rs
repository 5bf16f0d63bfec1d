//! Pull secrets: a cluster without OpenShift's global one needs them on every ServiceAccount.

use super::Context;
use crate::diag::Diagnostics;
use crate::fields::text;
use crate::ir::{
    Condition, Expr, Map, Object, Origin, PULL_SECRET, Phase, Unit, Value, ValueSpec, ValuesPath,
    WORKLOADS, account, map, value,
};
use crate::overlay::namespace_value;
use serde_json::json;
use std::collections::BTreeSet;

/// Adds the pull secrets of the values to every ServiceAccount, and to the pods of workloads whose
/// ServiceAccount is not in the chart (such as `default`), or that have pull secrets of their own, with
/// which those of the ServiceAccount are not used; and adds a Secret that is created if the values have
/// its content.
pub(super) fn pull_secret(unit: &mut Unit, context: &Context, _: &mut Diagnostics) {
    let accounts = unit.names("ServiceAccount");
    // The namespaces of objects that pull images, each with the phase of the first chart that needs
    // it.
    let mut namespaces: Vec<(Value, Phase)> = Vec::new();
    for object in &mut unit.objects {
        let holder = match object.kind() {
            "ServiceAccount" => Some(&mut object.root),
            kind if WORKLOADS.contains(&kind) => object.pod_spec_mut().filter(|pod| {
                !accounts.contains(account(pod)) || pod.contains_key("imagePullSecrets")
            }),
            _ => None,
        };
        if let Some(holder) = holder {
            add(holder, context.settings.pull_secret());
            let namespace = object.metadata("namespace").cloned();
            let namespace = namespace.unwrap_or(Value::Expr(Expr::ReleaseNamespace));
            // Operands are a chart of their own; what is only needed there is installed with it.
            let phase = if object.phase == Phase::Operand { Phase::Operand } else { Phase::With };
            match namespaces.iter_mut().find(|(known, _)| *known == namespace) {
                Some((_, first)) => *first = phase.min(*first),
                None => namespaces.push((namespace, phase)),
            }
        }
    }
    if !namespaces.is_empty() {
        // The release namespace, and the operand namespaces, where the operator creates pods.
        let operands = context.operand_namespaces.keys();
        let operands = operands.map(|name| Expr::Text(namespace_value(name)));
        let always = std::iter::once(Expr::ReleaseNamespace).chain(operands).map(Value::Expr);
        let always: Vec<_> = always.map(|namespace| (namespace, Phase::With)).collect();
        // Otherwise two Secrets of one name would be in one namespace.
        namespaces.retain(|(namespace, _)| always.iter().all(|(known, _)| known != namespace));
        let secrets = always.into_iter().chain(namespaces);
        unit.objects.extend(secrets.map(|(namespace, phase)| secret(namespace, phase)));
        unit.values.extend(values(context.settings.pull_secret()));
        // Otherwise only the API server would refuse the Secret without a name.
        unit.constraints.push(content_needs_name());
    }
}

/// Adds the pull secrets of the values. The list has each name once, or server-side apply (the default of
/// Helm 4) refuses it.
fn add(holder: &mut Map, default: &str) {
    let list = holder.list_at("imagePullSecrets");
    let mut seen = BTreeSet::from([default.to_owned()]);
    list.retain(|item| text(item, "name").is_none_or(|name| seen.insert(name.to_owned())));
    list.push(Value::when(
        Condition::Set(secret_name()),
        value!({"name": Expr::Text(secret_name())}),
    ));
    list.push(Value::Expr(Expr::Values(ValuesPath::new(["imagePullSecrets"]))));
}

fn secret_name() -> ValuesPath {
    ValuesPath::new(["pullSecret", "name"])
}

fn secret_content() -> ValuesPath {
    ValuesPath::new(["pullSecret", "dockerConfigJson"])
}

fn secret(namespace: Value, phase: Phase) -> Object {
    let root = map! {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": Expr::Text(secret_name()), "namespace": namespace},
        "type": "kubernetes.io/dockerconfigjson",
        "data": {".dockerconfigjson": Expr::Base64(secret_content())},
    };
    // Without content the Secret is the user's, under the same name.
    let when = Some(Condition::Set(secret_content()));
    Object { phase, when, ..Object::new(root, Origin::Added(PULL_SECRET)) }
}

/// Returns the constraint that a pull secret with content needs a name.
fn content_needs_name() -> serde_json::Value {
    let filled = |key: &str| json!({"properties": {"pullSecret": {"properties": {key: {"minLength": 1}}, "required": [key]}}});
    json!({"if": filled("dockerConfigJson"), "then": filled("name")})
}

/// Returns the values of the pull secret; `name` is the default of its name.
fn values(name: &str) -> [ValueSpec; 3] {
    [
        ValueSpec::new(
            secret_name(),
            json!(name),
            json!({"type": "string", "maxLength": 253, "pattern": "^([a-z0-9]([-a-z0-9.]*[a-z0-9])?)?$"}),
            "Name of the image pull secret for all ServiceAccounts of the chart; empty for \
                none. It must exist in their namespaces, unless `dockerConfigJson` is set.",
        ),
        ValueSpec::text(
            secret_content(),
            "",
            "Content of a Docker config.json. If set, the chart creates the pull secret; \
                pass it with `--set-file` and do not commit it to Git.",
        ),
        ValueSpec::new(
            ValuesPath::new(["imagePullSecrets"]),
            json!([]),
            json!({
                "type": "array",
                "uniqueItems": true,
                "items": {
                    "type": "object",
                    "properties": {"name": {"type": "string", "minLength": 1}},
                    "required": ["name"],
                    "additionalProperties": false
                }
            }),
            "Additional image pull secrets that exist in the release namespace, as a list \
                of `name: …`.",
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pods that run as an account which the chart does not make pull with the secret themselves.
    #[test]
    fn pods_of_every_kind_pull_with_the_secret() {
        let pod = json!({"spec": {"containers": []}});
        for (kind, root) in [
            ("Pod", pod.clone()),
            ("Job", json!({"spec": {"template": pod}})),
            ("StatefulSet", json!({"spec": {"template": pod}})),
            ("CronJob", json!({"spec": {"jobTemplate": {"spec": {"template": pod}}}})),
        ] {
            let Value::Map(mut root) = Value::from(&root) else { unreachable!("a map") };
            root.insert("kind".to_owned(), Value::text(kind));
            let mut unit = Unit::default();
            unit.objects.push(Object::new(*root, Origin::Added("test")));
            pull_secret(&mut unit, &Context::default(), &mut Diagnostics::new());
            let pod = unit.objects[0].pod_spec().unwrap();
            assert!(pod.contains_key("imagePullSecrets"), "{kind}");
            assert_eq!(unit.objects[1].kind(), "Secret", "{kind}");
        }
    }

    /// The API server copies the pull secrets of a ServiceAccount to pods without any only.
    #[test]
    fn pods_with_own_pull_secrets_get_those_of_the_values() {
        let mut unit = crate::passes::sample::overlay(
            "
apiVersion: v1
kind: ServiceAccount
metadata: {name: operator}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: operator}
spec: {template: {spec: {serviceAccountName: operator, imagePullSecrets: [{name: own}], containers: []}}}
",
        );
        pull_secret(&mut unit, &Context::default(), &mut Diagnostics::new());
        let deployment = unit.objects.iter().find(|object| object.kind() == "Deployment");
        let pod = deployment.unwrap().pod_spec().unwrap();
        let secrets = pod.get("imagePullSecrets").unwrap();
        let Value::Seq(secrets) = secrets else { panic!("{secrets:?}") };
        assert_eq!(secrets.len(), 3, "{secrets:?}");
    }

    #[test]
    fn each_pull_secret_is_in_a_list_once() {
        let mut unit = crate::passes::sample::bundle(
            "
apiVersion: v1
kind: ServiceAccount
metadata: {name: operator}
imagePullSecrets: [{name: a}, {name: pull}, {name: b}, {name: a}]
",
        );
        let mut context = Context::default();
        context.settings.pull_secret = Some(Some("pull".to_owned()));
        pull_secret(&mut unit, &context, &mut Diagnostics::new());
        let values = unit.default_values();
        let release = crate::ir::Release { values: &values, ..crate::ir::Release::LITERAL };
        let account = release.object(&unit.objects[0]).unwrap();
        let expected = json!([{"name": "a"}, {"name": "b"}, {"name": "pull"}]);
        assert_eq!(account["imagePullSecrets"], expected);
    }

    #[test]
    fn pod_templates_of_custom_resources_stay_as_they_are() {
        let mut unit = crate::passes::sample::overlay(
            "
apiVersion: example.com/v1
kind: Widget
metadata: {name: small}
spec: {template: {spec: {containers: []}}}
",
        );
        let before = unit.objects.clone();
        pull_secret(&mut unit, &Context::default(), &mut Diagnostics::new());
        assert_eq!(unit.objects, before);
    }
}
