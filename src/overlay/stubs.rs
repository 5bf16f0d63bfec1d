//! Stub CRDs: small CRDs of other projects that operators expect and clusters may not have.
//!
//! A stub must never change a real CRD, so it is no object of the release but a hook, rendered only
//! while the cluster has no CRD of its name. Helm never deletes hooks of this kind, neither before it
//! creates them nor with the release (pkg/action/hooks.go). Argo CD does delete hooks before it
//! creates them, and has no `lookup`, so it is told to skip this one.

use crate::config::Text;
use crate::ir::{Condition, Map, Object, Origin, Phase, Value, ValueSpec, ValuesPath};
use serde_json::json;

/// OpenShift's description of a cluster. Operators ask it for the platform; its status is no
/// subresource here, because people write it themselves.
const INFRASTRUCTURES: &str = "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: infrastructures.config.openshift.io
spec:
  group: config.openshift.io
  names:
    kind: Infrastructure
    listKind: InfrastructureList
    plural: infrastructures
    singular: infrastructure
  scope: Cluster
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          apiVersion:
            type: string
          kind:
            type: string
          metadata:
            type: object
          spec:
            type: object
            x-kubernetes-preserve-unknown-fields: true
          status:
            type: object
            x-kubernetes-preserve-unknown-fields: true
";

/// What the Prometheus operator collects metrics by. Operators make such objects, and nobody looks
/// at them where that operator is not.
const SERVICE_MONITORS: &str = "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: servicemonitors.monitoring.coreos.com
spec:
  group: monitoring.coreos.com
  names:
    categories:
    - prometheus-operator
    kind: ServiceMonitor
    listKind: ServiceMonitorList
    plural: servicemonitors
    shortNames:
    - smon
    singular: servicemonitor
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        required:
        - spec
        properties:
          apiVersion:
            type: string
          kind:
            type: string
          metadata:
            type: object
          spec:
            type: object
            x-kubernetes-preserve-unknown-fields: true
          status:
            type: object
            x-kubernetes-preserve-unknown-fields: true
    subresources:
      status: {}
";

/// Returns the stub CRDs of these names, with the values that they read.
pub fn stubs(names: &[Text]) -> (Vec<Object>, Vec<ValueSpec>) {
    let stubs: Vec<Object> = names.iter().filter_map(|name| stub(&name.text)).collect();
    let values = if stubs.is_empty() { Vec::new() } else { values() };
    (stubs, values)
}

fn enabled() -> ValuesPath {
    ValuesPath::new(["stubs", "enabled"])
}

fn hook() -> ValuesPath {
    ValuesPath::new(["stubs", "hook"])
}

fn values() -> Vec<ValueSpec> {
    let value = |path, description: &str| ValueSpec {
        path,
        default: json!(true),
        schema: json!({"type": "boolean"}),
        description: description.to_owned(),
    };
    vec![
        value(enabled(), "Create the stub CRDs that the cluster does not have"),
        value(
            hook(),
            "Create them with a hook, which never changes a CRD of the cluster. Set to false only for tools that \
             render charts without a cluster, such as Argo CD, together with an ignored `spec`",
        ),
    ]
}

fn stub(name: &str) -> Option<Object> {
    let text = match name {
        "infrastructures.config.openshift.io" => INFRASTRUCTURES,
        "servicemonitors.monitoring.coreos.com" => SERVICE_MONITORS,
        _ => return None,
    };
    let Some(Value::Map(root)) = crate::yaml::parse(text).ok()?.pop() else { return None };
    let mut object = Object::new(*root, Origin::Stub);
    object.phase = Phase::Before;

    let only_as_hook = |text: &str| Value::when(Condition::Set(hook()), Value::text(text));
    let annotations = Map::from_iter([
        // Without the hook, what is deleted or pruned might be the real CRD, with all its objects.
        ("argocd.argoproj.io/sync-options".to_owned(), Value::text("Delete=false,Prune=false")),
        ("helm.sh/resource-policy".to_owned(), Value::text("keep")),
        ("argocd.argoproj.io/hook".to_owned(), only_as_hook("Skip")),
        ("helm.sh/hook".to_owned(), only_as_hook("pre-install,pre-upgrade")),
    ]);
    object.metadata_mut().insert("annotations".to_owned(), Value::from(annotations));
    let missing = Condition::CrdMissing(name.to_owned());
    object.when = Some(Condition::All(vec![
        Condition::Set(enabled()),
        Condition::Any(vec![Condition::Unset(hook()), missing]),
    ]));
    Some(object)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::STUBS;

    #[test]
    fn every_name_has_one() {
        for name in STUBS {
            let stub = stub(name).unwrap();
            assert_eq!(stub.name(), name);
            let at = |key: &str| stub.at(&["spec", key]);
            let plural = stub.at(&["spec", "names", "plural"]).and_then(Value::as_str).unwrap();
            let group = at("group").and_then(Value::as_str).unwrap();
            assert_eq!(format!("{plural}.{group}"), name);
        }
    }
}
