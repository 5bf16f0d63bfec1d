//! The examples are installed with every Helm, where the shared test data has the CRDs that they need.

use crate::charts::{self, folders, label, version};
use crate::control_plane::ControlPlane;
use crate::gates::shell;
use crate::helm::Helm;
use crate::install::{apply_crds, prepare, wait_for_crds};
use crate::lifecycle::{Release, effects};
use crate::llm_platform;
use crate::serving_examples;
use crate::shared::shared;
use crate::table::{self, Row};
use serde_json::{Value as Json, json};
use std::path::Path;

/// Kinds of charts that serve models, whose CRDs are not in the shared data.
const MORE: &[(&str, &str, &str, &str)] = &[
    ("keda.sh", "v1alpha1", "scaledobjects", "ScaledObject"),
    ("monitoring.googleapis.com", "v1", "podmonitorings", "PodMonitoring"),
    ("networking.gke.io", "v1", "gcpbackendpolicies", "GCPBackendPolicy"),
    ("networking.gke.io", "v1", "healthcheckpolicies", "HealthCheckPolicy"),
    ("networking.istio.io", "v1beta1", "destinationrules", "DestinationRule"),
    ("serving.kserve.io", "v1alpha2", "llminferenceservices", "LLMInferenceService"),
];

#[test]
#[ignore = "needs Go 1.26: cargo test --test api_server -- --ignored"]
fn serving_and_llm_platform() {
    let (Some(crds), Some(platform)) = (shared("serving/crds"), llm_platform::case()) else {
        return;
    };
    let build = platform.run(&["build", "--offline"]);
    assert_eq!(build.code, Some(0), "{}", build.text());

    let all = Helm::all();
    let mut rows = Vec::new();
    for helm in &all {
        let cluster = ControlPlane::start();
        let mut of_helm = Vec::new();
        for release in charts::releases(&platform.path("out")) {
            of_helm.push(install(
                &cluster,
                helm,
                &release.name,
                &release.namespace,
                &release.chart,
            ));
        }
        gates_hold_back_models(&cluster, &platform.read("out/helmfile.yaml"));
        prepare(&cluster);
        apply_crds(&cluster, MORE);
        // Those of the platform belong to its releases.
        cluster
            .kubectl(&["apply", "--server-side", "--force-conflicts", "--filename", utf8(&crds)])
            .expect_success();
        wait_for_crds(&cluster);
        for chart in folders(serving_examples::charts()) {
            let (name, chart) = (label(&chart), folders(&chart).pop().expect("a version"));
            of_helm.push(install(&cluster, helm, &name, "serving", &chart));
        }
        rows.push(of_helm);
    }
    let versions: Vec<&str> = all.iter().map(|helm| helm.version).collect();
    table::check("Examples", &versions, &rows);
}

/// Installs a chart, and upgrades it to itself.
fn install(cluster: &ControlPlane, helm: &Helm, name: &str, namespace: &str, chart: &Path) -> Row {
    let release = Release { cluster, helm, name, namespace };
    let mark = cluster.audit_mark();
    release.run("install", chart).expect_success();
    let (created, _) = effects(&cluster.requests_since(mark), namespace);
    release.run("upgrade", chart).expect_success();
    Row {
        bundle: format!("{name} {}", version(chart)),
        step: "install",
        objects: format!("{} created", created.len()),
        result: "yes".to_owned(),
    }
}

/// Runs the commands with which helmfile waits before it installs the model: closed until the Gateway
/// and the tenant have their conditions, then open.
fn gates_hold_back_models(cluster: &ControlPlane, helmfile: &str) {
    let helmfile: Json = serde_yaml::from_str(helmfile).expect("YAML");
    let releases = helmfile["releases"].as_array().expect("releases");
    let model = releases.iter().find(|release| release["name"] == "granite").expect("the model");
    let hooks = model["hooks"].as_array().expect("hooks").iter();
    let waits: Vec<String> = hooks
        .map(|hook| {
            assert_eq!(hook["events"][0], "presync");
            let script = hook["args"][1].as_str().expect("a script");
            // Enough for what is there or never comes.
            script.replace("--timeout=600s", "--timeout=2s")
        })
        .collect();

    for (kind, namespace, name, condition) in [
        ("gateway", "maas-gateway", "maas-default-gateway", "Programmed"),
        ("tenant", "models-as-a-service", "default-tenant", "Ready"),
    ] {
        let is_of = |wait: &&String| wait.contains(name) && wait.contains(condition);
        let wait = waits.iter().find(is_of).expect("a gate");
        let closed = shell(cluster, &cluster.kubeconfig(), wait);
        let message = String::from_utf8_lossy(&closed.stderr);
        assert!(!closed.status.success(), "{kind} is open without its condition");
        assert!(message.contains("gate closed") && message.contains(name), "{message}");
        let status = json!({"status": {"conditions": [{
            "type": condition, "status": "True", "reason": "Test", "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }]}});
        let arguments = [
            "--namespace",
            namespace,
            "patch",
            kind,
            name,
            "--subresource=status",
            "--type=merge",
            "--patch",
            &status.to_string(),
        ];
        cluster.kubectl(&arguments).expect_success();
        let open = shell(cluster, &cluster.kubeconfig(), wait);
        assert!(open.status.success(), "{}", String::from_utf8_lossy(&open.stderr));
    }
}

fn utf8(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}
