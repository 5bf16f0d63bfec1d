//! Charts are installed with every Helm and its default flags, and upgraded to themselves.

use crate::charts::{self, Release};
use crate::control_plane::ControlPlane;
use crate::helm::{Helm, HelmRun};
use serde_json::Value as Json;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Kinds of other operators that charts have objects of: group, version, plural and kind.
pub(crate) const OTHERS: &[(&str, &str, &str, &str)] = &[
    ("cert-manager.io", "v1", "certificates", "Certificate"),
    ("cert-manager.io", "v1", "issuers", "Issuer"),
    ("monitoring.coreos.com", "v1", "servicemonitors", "ServiceMonitor"),
    ("monitoring.coreos.com", "v1", "podmonitors", "PodMonitor"),
    ("monitoring.coreos.com", "v1", "prometheusrules", "PrometheusRule"),
];

/// Namespaces that bundles.toml has operators watch.
const WATCHED: &[&str] = &["letters", "parcels"];

/// What no server takes of the awkward operator, whose strings stay strings, and what it should have
/// been: the name of a port needs a letter.
const FAULTS: &[(&str, &str)] = &[("targetPort: \"8080\"", "targetPort: 8080")];

/// What Helm 4 refuses besides, which Helm 3 and Kubernetes do not: it sends objects as YAML, whose
/// text has no such characters.
const HELM_4_FAULTS: &[(&str, &str)] = &[("\\x7f", " "), ("\\x80", " "), ("\\ufeff", " ")];

/// Examples of an operator that the API server does not take, and what it says: the operator does
/// not run, and CRDs in fixtures are made up as much as their examples are.
const REFUSALS: &[&str] =
    &["failed calling webhook", "conversion webhook for", " is invalid: ", "unknown field"];

/// Creates what charts count on: namespaces, and CRDs of other operators, without their schemas.
pub(crate) fn prepare(cluster: &ControlPlane) {
    let mut manifests = String::new();
    for (group, version, plural, kind) in OTHERS {
        let _ = write!(
            manifests,
            "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n\
             metadata:\n  name: {plural}.{group}\nspec:\n  group: {group}\n  scope: Namespaced\n\
             \x20 names: {{plural: {plural}, kind: {kind}}}\n  versions:\n  - name: {version}\n\
             \x20   served: true\n    storage: true\n    schema:\n      openAPIV3Schema:\n\
             \x20       type: object\n        x-kubernetes-preserve-unknown-fields: true\n---\n"
        );
    }
    for name in WATCHED {
        let _ =
            write!(manifests, "apiVersion: v1\nkind: Namespace\nmetadata: {{name: {name}}}\n---\n");
    }
    cluster.apply(&manifests);
    for (group, _, plural, _) in OTHERS {
        let crd = format!("crd/{plural}.{group}");
        let established = ["wait", "--for=condition=Established", "--timeout=300s", &crd];
        cluster.kubectl(&established).expect_success();
    }
}

/// A copy of a fixture's chart, without what the server or this Helm refuses.
pub(crate) fn installable(helm: &Helm, chart: &Path, folder: &Path) -> PathBuf {
    let helm_4 = helm.version.starts_with("4.");
    let faults = FAULTS.iter().chain(if helm_4 { HELM_4_FAULTS } else { &[] });
    charts::copy(chart, &folder.join(charts::label(chart)), &faults.copied().collect::<Vec<_>>())
}

/// `helm COMMAND NAME CHART --namespace NAMESPACE` with Helm's own defaults.
pub(crate) fn run(
    cluster: &ControlPlane,
    helm: &Helm,
    command: &str,
    (name, namespace): (&str, &str),
    chart: &Path,
) -> HelmRun {
    let mut arguments = vec![command, name, "--namespace", namespace];
    if command == "install" {
        arguments.push("--create-namespace");
    }
    let chart = chart.to_str().expect("UTF-8");
    arguments.push(chart);
    helm.run_on(&cluster.kubeconfig(), arguments)
}

/// In the order of the committed helmfile, with the examples that operators ship.
#[test]
fn fixtures_in_their_order() {
    for helm in Helm::all() {
        let Some(cluster) = ControlPlane::start() else { return };
        let temporary = TempDir::new().expect("a folder");
        prepare(&cluster);
        let mut seen = String::new();
        for Release { name, namespace, chart, bundle } in &charts::fixtures() {
            let release = (name.as_str(), namespace.as_str());
            let chart = installable(&helm, chart, &temporary.path().join(name));
            run(&cluster, &helm, "install", release, &chart).expect_success();
            let _ = writeln!(seen, "{name}: installed");
            let examples = bundle.as_deref().map(charts::examples).unwrap_or_default();
            for (index, example) in examples.iter().enumerate() {
                let result = create(&cluster, namespace, example);
                let _ = writeln!(seen, "  example {index}: {result}");
            }
            // And again, as an upgrade to the same: nothing may be immutable or in conflict.
            run(&cluster, &helm, "upgrade", release, &chart).expect_success();
        }
        insta::assert_snapshot!("fixtures", seen);
    }
}

/// Has the server judge an object, without storing it.
fn create(cluster: &ControlPlane, namespace: &str, object: &Json) -> &'static str {
    let namespace = object["metadata"]["namespace"].as_str().unwrap_or(namespace);
    let arguments = ["create", "--dry-run=server", "--namespace", namespace, "--filename", "-"];
    let run = cluster.kubectl_as(&cluster.kubeconfig(), &arguments, &object.to_string());
    let refusal = REFUSALS.iter().find(|words| run.stderr.contains(**words));
    match refusal {
        _ if run.success => "taken",
        Some(words) => words.trim(),
        None => panic!("{object}: {}", run.stderr),
    }
}
