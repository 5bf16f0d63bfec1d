//! Objects for Argo CD and Flux on a real API server with their CRDs: all fields
//! are known, and their values are valid.

use crate::command::Case;
use crate::control_plane::ControlPlane;
use crate::go::go;
use crate::install::wait_for_crds;
use crate::llm_platform;
use serde_json::Value as Json;
use std::fs;

/// Go modules with CRDs, and the folder in each.
const CRDS: [(&str, &str); 2] = [
    ("github.com/argoproj/argo-cd/v3@v3.2.0", "manifests/crds"),
    ("github.com/fluxcd/helm-controller@v1.4.0", "config/crd/bases"),
];

const CHARTS: &str = r#"
[[chart]]
name = "mesh"
chart-version = "1.0.0"
namespace = "mesh-system"
manifests = ["mesh.yaml"]
ready = [
  { rollout = "deployment/istiod" },
  { crd = "policies.mesh.example.com" },
  { condition = "Ready", object = "mesh.example.com/v1/Mesh/default" },
  { jsonpath = ".status.state", value = "running", object = "mesh.example.com/v1/Mesh/default" },
]
[[chart.after]]
object = "apps/v1/Deployment/istiod"
annotations = { "mesh.example.com/injector" = "done" }
[[chart.switch]]
name = "ambient"
ready = [{ rollout = "daemonset/ztunnel" }]
[[chart.overlay]]
phase = "operand"
switch = "ambient"
inline = '{apiVersion: v1, kind: ConfigMap, metadata: {name: ambient}}'

[[chart]]
name = "routes"
chart-version = "1.0.0"
namespace = "routes"
manifests = ["mesh.yaml"]
depends-on = ["mesh"]
"#;

const ALL_AT_ONCE: &str = r#"
[deploy.argocd]
repo = "https://git.example.com/mesh.git"
[deploy.flux]
source-name = "mesh"
"#;

const APP_OF_APPS: &str = r#"
[deploy]
values = "values"
profile = "small"
[deploy.argocd]
repo = "https://git.example.com/mesh.git"
style = "app-of-apps"
prune = true
[deploy.flux]
source-name = "mesh"
"#;

const DISCOVERED: &str = r#"
[output]
layout = "flat"
[deploy]
values = "values"
[deploy.argocd]
repo = "https://git.example.com/mesh.git"
discover = "routes"
[[deploy.argocd.application]]
chart = "mesh"
[[deploy.argocd.application.ignore-differences]]
kind = "Service"
json-pointers = ["/spec"]
"#;

#[test]
#[ignore = "needs Go 1.26: cargo test --test api_server -- --ignored"]
fn argocd_and_flux_take_every_object() {
    let cluster = ControlPlane::start();
    for (module, folder) in CRDS {
        apply_crds_of(&cluster, module, folder);
    }
    wait_for_crds(&cluster);
    for namespace in ["argocd", "flux-system"] {
        cluster
            .apply(&format!("apiVersion: v1\nkind: Namespace\nmetadata: {{name: {namespace}}}\n"));
    }

    let mut kinds = Vec::new();
    for deploy in [ALL_AT_ONCE, APP_OF_APPS, DISCOVERED] {
        let case = Case::new();
        case.write("bundles.toml", format!("{CHARTS}{deploy}"));
        case.write("mesh.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: mesh}\n");
        case.write("values/mesh.yaml", "{}\n");
        kinds.extend(taken(&cluster, &case));
    }
    kinds.sort();
    kinds.dedup();
    assert_eq!(kinds, ["Application", "ApplicationSet", "ConfigMap", "HelmRelease"]);

    if let Some(platform) = llm_platform::case() {
        assert!(taken(&cluster, &platform).len() > 10);
    }
}

/// Builds, asks the server to create each object of Argo CD and Flux, and returns their kinds.
fn taken(cluster: &ControlPlane, case: &Case) -> Vec<String> {
    let seen = case.run(&["build", "--offline"]);
    assert_eq!(seen.code, Some(0), "{}", seen.text());
    let listing = case.listing("out");
    let files = listing
        .lines()
        .filter(|path| path.starts_with("argocd/") || path.starts_with("flux/releases/"));
    let mut kinds = Vec::new();
    for path in files {
        let manifest = case.read(&format!("out/{path}"));
        create(cluster, &manifest).unwrap_or_else(|reason| panic!("{path}: {reason}\n{manifest}"));
        // The server reads every field: it refuses one that it does not know.
        let mut object: Json = serde_yaml::from_str(&manifest).expect("one object");
        kinds.push(object["kind"].as_str().expect("a kind").to_owned());
        let place = if object["spec"].is_object() { &mut object["spec"] } else { &mut object };
        place["unknwon"] = "field".into();
        let refused = create(cluster, &object.to_string()).expect_err("an unknown field");
        assert!(refused.contains("unknwon"), "{refused}");
    }
    kinds
}

/// Asks the server to create an object, which it checks and does not store.
fn create(cluster: &ControlPlane, manifest: &str) -> Result<(), String> {
    let arguments = ["create", "--dry-run=server", "--validate=strict", "--filename", "-"];
    let run = cluster.kubectl_as(&cluster.kubeconfig(), &arguments, manifest);
    if run.success { Ok(()) } else { Err(run.stderr) }
}

/// Creates the CRDs in a folder of a Go module, whose archive the module proxy has.
fn apply_crds_of(cluster: &ControlPlane, module: &str, folder: &str) {
    let case = Case::new();
    let answer = go(&case.path("."), &["mod", "download", "-json", module]);
    let answer = answer.unwrap_or_else(|reason| panic!("{module}: {reason}"));
    let answer: Json = serde_json::from_str(&answer).expect("JSON");
    let folder = std::path::Path::new(answer["Dir"].as_str().expect("a folder")).join(folder);
    for entry in fs::read_dir(&folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let text = fs::read_to_string(&path).expect("a file");
        if text.contains("kind: CustomResourceDefinition") {
            cluster.apply(&text);
        }
    }
}
