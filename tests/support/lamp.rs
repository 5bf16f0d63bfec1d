//! The smallest bundle that has a bit of everything, to be broken in one place at a time.

#![allow(dead_code, reason = "each test program uses a part")]

use super::command::Case;

/// A bundle named lamp-operator, read from the folder `bundle`.
pub(crate) const CONFIG: &str = "\
[[bundle]]
name = \"lamp-operator\"
path = \"bundle\"
";

pub(crate) const ANNOTATIONS: &str = "\
annotations:
  operators.operatorframework.io.bundle.mediatype.v1: registry+v1
  operators.operatorframework.io.bundle.manifests.v1: manifests/
  operators.operatorframework.io.bundle.metadata.v1: metadata/
  operators.operatorframework.io.bundle.package.v1: lamp-operator
  operators.operatorframework.io.bundle.channels.v1: stable
";

pub(crate) const CSV: &str = "\
apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata:
  name: lamp-operator.v1.2.3
spec:
  displayName: Lamps
  version: 1.2.3
  installModes:
  - type: OwnNamespace
    supported: true
  - type: SingleNamespace
    supported: true
  - type: MultiNamespace
    supported: false
  - type: AllNamespaces
    supported: true
  customresourcedefinitions:
    owned:
    - name: lamps.light.example.com
      kind: Lamp
      version: v1
  install:
    strategy: deployment
    spec:
      clusterPermissions:
      - serviceAccountName: lamp-operator
        rules:
        - apiGroups: [light.example.com]
          resources: [lamps]
          verbs: ['*']
      deployments:
      - name: lamp-operator
        spec:
          replicas: 1
          selector:
            matchLabels:
              app: lamp-operator
          template:
            metadata:
              labels:
                app: lamp-operator
            spec:
              serviceAccountName: lamp-operator
              containers:
              - name: manager
                image: registry.example.com/lamps/operator@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
                resources:
                  requests: {cpu: 10m, memory: 64Mi}
                ports:
                - containerPort: 8080
";

pub(crate) const CRD: &str = "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: lamps.light.example.com
spec:
  group: light.example.com
  scope: Namespaced
  names:
    kind: Lamp
    plural: lamps
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
";

/// Paths in the folder of the case.
pub(crate) const CSV_FILE: &str = "bundle/manifests/lamp.clusterserviceversion.yaml";
pub(crate) const CRD_FILE: &str = "bundle/manifests/light.example.com_lamps.yaml";
pub(crate) const ANNOTATIONS_FILE: &str = "bundle/metadata/annotations.yaml";

/// The files of the bundle, by path in it.
pub(crate) fn files() -> [(&'static str, &'static str); 3] {
    [
        ("manifests/lamp.clusterserviceversion.yaml", CSV),
        ("manifests/light.example.com_lamps.yaml", CRD),
        ("metadata/annotations.yaml", ANNOTATIONS),
    ]
}

impl Case {
    /// A folder with the bundle and a configuration that builds it.
    pub(crate) fn with_lamps() -> Self {
        let case = Case::new();
        case.write("bundles.toml", CONFIG);
        for (path, content) in files() {
            case.write(&format!("bundle/{path}"), content);
        }
        case
    }
}
