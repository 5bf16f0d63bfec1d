//! Gates on a real API server, by the hooks as generated: closed, then open, and a time limit that
//! names what was awaited. There are no nodes, so a test writes the status.

use crate::command::Case;
use crate::control_plane::ControlPlane;
use crate::install::apply_crds;
use serde_json::Value as Json;
use std::path::Path;
use std::process::{Command, Output};
use std::thread;
use std::time::Duration;

/// A chart whose gates await objects that others create; TIMEOUT is the limit of each.
const CONFIG: &str = r#"
[[chart]]
name = "mesh"
chart-version = "1.0.0"
namespace = "mesh-system"
manifests = ["mesh.yaml"]
ready = [
  { rollout = "deployment/istiod", timeout = "TIMEOUT" },
  { crd = "policies.mesh.example.com", timeout = "TIMEOUT" },
  { condition = "Ready", object = "mesh.example.com/v1/Mesh/default", timeout = "TIMEOUT" },
  { jsonpath = ".status.zones[1].state", value = "up and running", object = "mesh.example.com/v1/Mesh/default", timeout = "TIMEOUT" },
]
[deploy]
helmfile = true
"#;

const DEPLOYMENT: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: istiod, namespace: mesh-system}
spec:
  selector: {matchLabels: {app: istiod}}
  template:
    metadata: {labels: {app: istiod}}
    spec: {containers: [{name: istiod, image: registry.example.com/istiod:1}]}
";

const MESH: &str = "\
apiVersion: mesh.example.com/v1
kind: Mesh
metadata: {name: default, namespace: mesh-system}
";

/// The condition of a gate, in the words of its message, and the way to open it.
struct Trial {
    describe: &'static str,
    /// Creates the object with a closed gate; empty for a CRD, which is open as soon as it is there.
    pending: &'static str,
    open: fn(&ControlPlane),
}

const TRIALS: [Trial; 4] = [
    Trial {
        describe: "rollout of Deployment/istiod in namespace mesh-system",
        pending: DEPLOYMENT,
        open: |cluster| {
            // The controller of Deployments makes pods, which nobody starts.
            let deployment = ["deployment", "istiod", "--namespace", "mesh-system"];
            let replica_set = cluster.wait_for("a ReplicaSet", || {
                let list = cluster.get(&["replicasets", "--namespace", "mesh-system"]);
                Some(list["items"][0]["metadata"]["name"].as_str()?.to_owned())
            });
            cluster.wait_for("a pod", || {
                let list = cluster.get(&["pods", "--namespace", "mesh-system"]);
                let name = list["items"][0]["metadata"]["name"].as_str()?.to_owned();
                let ready = r#"{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}"#;
                patch_status(cluster, &format!("pod/{name}"), ready);
                Some(())
            });
            assert!(replica_set.starts_with("istiod-"), "{:?}", cluster.get(&deployment));
        },
    },
    Trial {
        describe: "condition Established of CustomResourceDefinition/policies.mesh.example.com",
        pending: "",
        open: |cluster| {
            apply_crds(cluster, &[("mesh.example.com", "v1", "policies", "Policy")]);
        },
    },
    Trial {
        describe: "condition Ready of Mesh/default in namespace mesh-system",
        pending: MESH,
        open: |cluster| {
            let ready = r#"{"status":{"conditions":[{"type":"Ready","status":"True"}]}}"#;
            merge(cluster, ready);
        },
    },
    Trial {
        describe: ".status.zones[1].state = up and running of Mesh/default in namespace mesh-system",
        pending: MESH,
        open: |cluster| {
            merge(cluster, r#"{"status":{"zones":[{},{"state":"up and running"}]}}"#);
        },
    },
];

fn patch_status(cluster: &ControlPlane, object: &str, patch: &str) {
    let arguments = [
        "patch",
        object,
        "--namespace",
        "mesh-system",
        "--subresource=status",
        "--type=merge",
        "--patch",
        patch,
    ];
    cluster.kubectl(&arguments).expect_success();
}

fn merge(cluster: &ControlPlane, patch: &str) {
    let object = "mesh.mesh.example.com/default";
    let arguments =
        ["patch", object, "--namespace", "mesh-system", "--type=merge", "--patch", patch];
    cluster.kubectl(&arguments).expect_success();
}

/// Returns the scripts of the hooks, which end after this limit.
fn scripts(limit: &str) -> Vec<String> {
    let case = Case::new();
    case.write("bundles.toml", CONFIG.replace("TIMEOUT", limit));
    case.write("mesh.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: mesh}\n");
    let seen = case.run(&["build"]);
    assert_eq!(seen.code, Some(0), "{}", seen.text());
    let helmfile: Json = serde_yaml::from_str(&case.read("out/helmfile.yaml")).expect("YAML");
    let hooks = helmfile["releases"][0]["hooks"].as_array().expect("hooks");
    let script = |hook: &Json| {
        assert_eq!(hook["command"], "sh");
        hook["args"][1].as_str().expect("a script").to_owned()
    };
    hooks.iter().map(script).collect()
}

/// Runs a script as helmfile does, in the current context.
pub(crate) fn shell(cluster: &ControlPlane, kubeconfig: &Path, script: &str) -> Output {
    Command::new("/bin/sh")
        .args(["-c", script])
        .env_clear()
        .env("PATH", format!("{}:/usr/bin:/bin", cluster.kubectl_folder().display()))
        .env("KUBECONFIG", kubeconfig)
        // As in a container without a writable disk.
        .env("HOME", "/nonexistent")
        .output()
        .expect("sh runs")
}

#[test]
#[ignore = "needs Go 1.26: cargo test --test api_server -- --ignored"]
fn gates_are_closed_then_open_and_name_what_they_await() {
    let cluster = ControlPlane::start();
    cluster.apply("apiVersion: v1\nkind: Namespace\nmetadata: {name: mesh-system}\n");
    apply_crds(&cluster, &[("mesh.example.com", "v1", "meshes", "Mesh")]);
    let kubeconfig = cluster.kubeconfig();
    cluster.kubectl_folder();
    let (short, long) = (scripts("2s"), scripts("10m"));
    assert_eq!(short.len(), TRIALS.len());
    for ((Trial { describe, pending, open }, short), long) in TRIALS.iter().zip(&short).zip(&long) {
        // Without the object, and with one that is not ready.
        for manifest in ["", *pending] {
            if !manifest.is_empty() {
                cluster.apply(manifest);
            }
            let output = shell(&cluster, &kubeconfig, short);
            let message = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(1), "{describe}: {message}");
            let last = message.lines().next_back().unwrap_or_default();
            let expected = format!("gate closed: {describe} (time limit 2s); to see why: kubectl ");
            assert!(last.starts_with(&expected), "{message}");
        }
        // The commands of the message are commands.
        if !pending.is_empty() {
            let (_, shows) = short.split_once("to see why: ").expect("commands");
            let (shows, _) = shows.split_once("' >&2").expect("the end of the message");
            for show in shows.split("; ") {
                let output = shell(&cluster, &kubeconfig, show);
                assert!(output.status.success(), "{show}: {output:?}");
            }
        }

        thread::scope(|scope| {
            let waiting = scope.spawn(|| shell(&cluster, &kubeconfig, long));
            thread::sleep(Duration::from_secs(3));
            assert!(!waiting.is_finished(), "{describe}: open already");
            open(&cluster);
            let output = waiting.join().expect("a shell");
            assert!(output.status.success(), "{describe}: {output:?}");
        });
        // An open gate stays open.
        assert!(shell(&cluster, &kubeconfig, long).status.success(), "{describe}");
    }
}
