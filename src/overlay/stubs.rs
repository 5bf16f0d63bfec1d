//! Small stand-ins for CRDs of other projects, which operators look for and clusters may not have.

use crate::bundle;
use crate::config::Text;
use crate::ir::{Object, Origin, Phase, Value};

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

/// The stand-ins of these names.
pub fn stubs(names: &[Text]) -> Vec<Object> {
    names.iter().filter_map(|name| stub(&name.text)).collect()
}

fn stub(name: &str) -> Option<Object> {
    let text = match name {
        "infrastructures.config.openshift.io" => INFRASTRUCTURES,
        "servicemonitors.monitoring.coreos.com" => SERVICE_MONITORS,
        _ => return None,
    };
    let Some(Value::Map(root)) = bundle::parse(text).ok()?.pop() else { return None };
    let mut object = Object::new(*root, Origin::Stub);
    object.phase = Phase::Before;
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
