//! A switch changes an object of an installed release in place, on a real API server: off, on, and
//! back. Its Job first waits for the gates, with the permissions of its ServiceAccount.

use crate::command::Case;
use crate::control_plane::ControlPlane;
use crate::helm::Helm;
use crate::install::apply_crds;
use crate::jobs::{be_the_kubelet, pending_pod, run_pod};
use serde_json::{Value as Json, json};
use std::thread;

const CONFIG: &str = r#"
[[chart]]
name = "platform"
chart-version = "1.0.0"
manifests = ["platform.yaml"]
[[chart.switch]]
name = "models"
[[chart.switch.ready]]
condition = "Ready"
object = "platform.example.com/v1/Database/main"
namespace = "database"
timeout = "5s"
[[chart.overlay]]
phase = "operand"
inline = '{apiVersion: platform.example.com/v1, kind: Cluster, metadata: {name: default}, spec: {models: Removed}}'
[[chart.overlay]]
phase = "operand"
switch = "models"
inline = '{apiVersion: platform.example.com/v1, kind: Cluster, metadata: {name: default}, spec: {models: Managed}}'
[chart.scopes]
"platform.example.com/Cluster" = "Namespaced"
"#;

/// The object that the switch awaits, without its condition.
const DATABASE: &str = "\
apiVersion: v1
kind: Namespace
metadata: {name: database}
---
apiVersion: platform.example.com/v1
kind: Database
metadata: {name: main, namespace: database}
";

/// The Job that waits for it, and its ServiceAccount.
const JOB: &str = "platform-operands-models-gates";

#[test]
#[ignore = "needs Go 1.26: cargo test --test api_server -- --ignored"]
fn an_object_is_changed_in_place_when_the_gates_are_open() {
    let cluster = ControlPlane::start();
    apply_crds(
        &cluster,
        &[
            ("platform.example.com", "v1", "clusters", "Cluster"),
            ("platform.example.com", "v1", "databases", "Database"),
        ],
    );
    cluster.apply(DATABASE);
    cluster.kubectl_folder();
    let case = Case::new();
    case.write("bundles.toml", CONFIG);
    case.write("platform.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: platform}\n");
    let seen = case.run(&["build"]);
    assert_eq!(seen.code, Some(0), "{}", seen.text());
    let chart = case.path("out/platform-operands/1.0.0");
    for helm in Helm::all() {
        let namespace = format!("platform-{}", helm.version.replace('.', "-"));
        let apply = |on: &str| {
            let switch = format!("switches.models={on}");
            let arguments = [
                "upgrade",
                "--install",
                "platform-operands",
                chart.to_str().expect("UTF-8"),
                "--namespace",
                &namespace,
                "--create-namespace",
                "--timeout=9m",
                "--set",
                &switch,
            ];
            helm.run_on(&cluster.kubeconfig(), arguments).expect_success();
        };
        let state = || {
            let object = ["clusters.platform.example.com", "default", "--namespace", &namespace];
            let object = cluster.get(&object);
            let text = |path: &str| object.pointer(path).and_then(Json::as_str).map(str::to_owned);
            (text("/metadata/uid").expect("a UID"), text("/spec/models").expect("a state"))
        };

        apply("false");
        let (uid, off) = state();
        assert_eq!(off, "Removed", "Helm {}", helm.version);

        set_ready(&cluster, "False");
        thread::scope(|scope| {
            let upgrade = scope.spawn(|| apply("true"));
            // The gate is closed: the Job says so, and nothing is changed.
            let pod = pending_pod(&cluster, &namespace, JOB);
            let closed = run_pod(&cluster, &pod, &cluster.kubeconfig_of(&namespace, JOB));
            let message = closed.expect_err("a closed gate");
            let expected = "gate closed: condition Ready of Database/main in namespace database (time limit 5s)";
            assert!(message.contains(expected), "{message}");
            assert_eq!(state().1, "Removed", "Helm {}", helm.version);

            set_ready(&cluster, "True");
            be_the_kubelet(&cluster, &namespace, JOB).1.expect("an open gate");
            upgrade.join().expect("helm");
        });
        assert_eq!(state(), (uid.clone(), "Managed".to_owned()), "Helm {}", helm.version);
        for resource in ["jobs", "serviceaccounts", "roles", "rolebindings"] {
            for scope in [&namespace, "database"] {
                let list = cluster.get(&[resource, "--namespace", scope]).to_string();
                assert!(!list.contains(JOB), "Helm {} left {list}", helm.version);
            }
        }

        apply("false");
        assert_eq!(state(), (uid, "Removed".to_owned()), "Helm {}", helm.version);
    }
}

/// Sets the condition that the switch awaits.
fn set_ready(cluster: &ControlPlane, status: &str) {
    let conditions = json!([{"type": "Ready", "status": status}]);
    let patch = json!({"status": {"conditions": conditions}}).to_string();
    let database = ["patch", "database.platform.example.com", "main", "--namespace", "database"];
    let patch = ["--type=merge", "--patch", &patch];
    cluster.kubectl(&[&database[..], &patch].concat()).expect_success();
}
