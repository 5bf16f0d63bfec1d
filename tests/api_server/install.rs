//! Charts are installed with every Helm and its default flags, and upgraded to themselves.

use crate::charts;
use crate::control_plane::ControlPlane;
use crate::helm::Helm;
use crate::leftovers;
use crate::lifecycle::{Release, effects, kinds};
use crate::table::{self, Row};
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

/// Objects of the awkward operator that no server accepts, and what it should have
/// been: the name of a port needs a letter.
const FAULTS: &[(&str, &str)] = &[("targetPort: \"8080\"", "targetPort: 8080")];

/// Objects that only Helm 4 refuses: it sends objects as YAML, whose
/// text has no such characters.
const HELM_4_FAULTS: &[(&str, &str)] = &[("\\x7f", " "), ("\\x80", " "), ("\\ufeff", " ")];

/// Examples of an operator that the API server does not take, and what it says: the operator does
/// not run, and CRDs in fixtures are made up as much as their examples are.
const REFUSALS: &[&str] =
    &["failed calling webhook", "conversion webhook for", " is invalid: ", "unknown field"];

/// Creates what charts count on: namespaces, and CRDs of other operators, without their schemas.
pub(crate) fn prepare(cluster: &ControlPlane) {
    let mut manifests = String::new();
    for name in WATCHED {
        let _ =
            write!(manifests, "apiVersion: v1\nkind: Namespace\nmetadata: {{name: {name}}}\n---\n");
    }
    cluster.apply(&manifests);
    apply_crds(cluster, OTHERS);
}

/// Creates CRDs without schemas: group, version, plural and kind.
pub(crate) fn apply_crds(cluster: &ControlPlane, crds: &[(&str, &str, &str, &str)]) {
    let mut manifests = String::new();
    for (group, version, plural, kind) in crds {
        let _ = write!(
            manifests,
            "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n\
             metadata:\n  name: {plural}.{group}\nspec:\n  group: {group}\n  scope: Namespaced\n\
             \x20 names: {{plural: {plural}, kind: {kind}}}\n  versions:\n  - name: {version}\n\
             \x20   served: true\n    storage: true\n    schema:\n      openAPIV3Schema:\n\
             \x20       type: object\n        x-kubernetes-preserve-unknown-fields: true\n---\n"
        );
    }
    let apply = ["apply", "--server-side", "--force-conflicts", "--filename", "-"];
    cluster.kubectl_as(&cluster.kubeconfig(), &apply, &manifests).expect_success();
    wait_for_crds(cluster);
}

/// Waits until all CRDs are resources of the server.
pub(crate) fn wait_for_crds(cluster: &ControlPlane) {
    let crds = cluster.get(&["crds"]);
    let crds = crds["items"].as_array().expect("a list");
    let names: Vec<&str> =
        crds.iter().map(|crd| crd["metadata"]["name"].as_str().expect("a name")).collect();
    cluster.wait_for("a CRD", || {
        let found = kinds(cluster);
        names.iter().all(|name| found.contains_key(*name)).then_some(())
    });
}

/// A copy of a fixture's chart, without what the server or this Helm refuses.
pub(crate) fn installable(helm: &Helm, chart: &Path, folder: &Path) -> PathBuf {
    let helm_4 = helm.version.starts_with("4.");
    let faults = FAULTS.iter().chain(if helm_4 { HELM_4_FAULTS } else { &[] });
    charts::copy(chart, &folder.join(charts::label(chart)), &faults.copied().collect::<Vec<_>>())
}

/// In the order of the committed helmfile, with the examples that operators ship; and uninstalled in
/// the opposite order.
#[test]
#[ignore = "needs Go 1.26: cargo test --test api_server -- --ignored"]
fn fixtures_in_their_order() {
    let mut rows = Vec::new();
    let all = Helm::all();
    for helm in &all {
        let cluster = ControlPlane::start();
        rows.push(install_fixtures(&cluster, helm));
    }
    let versions: Vec<&str> = all.iter().map(|helm| helm.version).collect();
    table::check("Fixtures", &versions, &rows);
}

fn install_fixtures(cluster: &ControlPlane, helm: &Helm) -> Vec<Row> {
    let temporary = TempDir::new().expect("a folder");
    prepare(cluster);
    let (mut rows, mut seen, mut installed) = (Vec::new(), String::new(), Vec::new());
    let fixtures = charts::fixtures();
    for charts::Release { name, namespace, chart, bundle } in &fixtures {
        let release = Release { cluster, helm, name, namespace };
        let chart = installable(helm, chart, &temporary.path().join(name));
        let mark = cluster.audit_mark();
        release.run("install", &chart).expect_success();
        let (created, _) = effects(&cluster.requests_since(mark), namespace);
        let _ = writeln!(seen, "{name}: installed");
        let examples = bundle.as_deref().map(charts::examples).unwrap_or_default();
        // Helm does not wait for CRDs that are templates.
        wait_for_crds(cluster);
        for (index, example) in examples.iter().enumerate() {
            let result = create(cluster, namespace, example);
            let _ = writeln!(seen, "  example {index}: {result}");
        }

        // And again, as an upgrade to the same: nothing is immutable, in conflict, or changed.
        let manifests = release.manifests();
        let before = release.objects(&manifests);
        release.run("upgrade", &chart).expect_success();
        let after = release.objects(&manifests);
        assert_eq!(before, after, "{name} with Helm {}", helm.version);
        rows.push(Row {
            bundle: format!("{name} {}", charts::label(&chart)),
            step: "install",
            objects: format!("{} created", created.len()),
            result: "yes".to_owned(),
        });
        installed.push((release, chart, created));
    }
    insta::assert_snapshot!("fixtures", seen);

    let mut wrong = Vec::new();
    while let Some((release, chart, created)) = installed.pop() {
        let mark = cluster.audit_mark();
        release.helm(&["uninstall", release.name]).expect_success();
        let (_, deleted) = effects(&cluster.requests_since(mark), release.namespace);
        let left = created.difference(&deleted).cloned().collect();
        let companion = format!("{}-crds", release.name);
        let companion = fixtures.iter().any(|fixture| fixture.name == companion);
        wrong.extend(leftovers::unsaid(&left, &chart, companion));
    }
    assert!(wrong.is_empty(), "Helm {}: {wrong:#?}", helm.version);
    rows
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
