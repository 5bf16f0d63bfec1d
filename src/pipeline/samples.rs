//! Configurations and bundles for tests.

#![expect(clippy::disallowed_methods, reason = "writes the files of a bundle")]

use crate::config::Config;
use crate::diag::{Diagnostics, SourceText};
use std::fs;
use std::path::Path;
use std::sync::Arc;

/// A table of one bundle.
pub(super) const LAMP: &str = "[[bundle]]\nname = \"lamp\"\npath = \"bundle\"\n";

/// Parses a bundles.toml without mistakes.
pub(super) fn config(text: &str) -> Config {
    let source = SourceText { name: "bundles.toml".to_owned(), text: text.to_owned() };
    let mut found = Diagnostics::new();
    let config = Config::parse(&Arc::new(source), Path::new("."), &mut found);
    config.unwrap_or_else(|| panic!("{found:?}"))
}

/// The files of a small bundle: path and content.
const FILES: [(&str, &str); 4] = [
    (
        "manifests/csv.yaml",
        "apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata:
  name: lamp-operator.v1.2.3
spec:
  version: 1.2.3
  installModes:
  - type: OwnNamespace
    supported: true
  customresourcedefinitions:
    owned:
    - name: lamps.light.example.com
      kind: Lamp
      version: v1
  install:
    strategy: deployment
    spec:
      deployments:
      - name: lamp-operator
        spec:
          selector:
            matchLabels: {app: lamp-operator}
          template:
            metadata:
              labels: {app: lamp-operator}
            spec:
              containers:
              - name: manager
                image: registry.example.com/lamps/operator:1.2.3
                resources:
                  requests: {cpu: 10m, memory: 64Mi}
",
    ),
    (
        "manifests/crd.yaml",
        "apiVersion: apiextensions.k8s.io/v1
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
",
    ),
    (
        "metadata/annotations.yaml",
        "annotations:
  operators.operatorframework.io.bundle.mediatype.v1: registry+v1
  operators.operatorframework.io.bundle.manifests.v1: manifests/
  operators.operatorframework.io.bundle.metadata.v1: metadata/
  operators.operatorframework.io.bundle.package.v1: lamp-operator
",
    ),
    (
        "manifests/settings.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: lamp-settings}\n",
    ),
];

/// Writes the bundle to a folder.
pub(super) fn write_bundle(folder: &Path) {
    for (path, content) in FILES {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
}
