//! Steps after the installation on a real API server: the Job of the chart runs under restricted pod
//! security, with the token of its own ServiceAccount and nothing more than its Role. There are no
//! nodes, so the test runs the containers' commands in place of a kubelet.

use crate::command::Case;
use crate::control_plane::{ControlPlane, Request};
use crate::gates::shell;
use crate::helm::Helm;
use crate::install::apply_crds;
use crate::jobs::{be_the_kubelet, run_pod};
use serde_json::{Value as Json, json};
use std::fmt::Write as _;
use std::thread;

const CONFIG: &str = r#"
[[chart]]
name = "mesh"
chart-version = "1.0.0"
namespace = "mesh-system"
manifests = ["mesh.yaml"]
scopes = { "mesh.example.com/Mesh" = "Namespaced" }
[[chart.after]]
object = "admissionregistration.k8s.io/v1/MutatingWebhookConfiguration/sidecar-injector"
annotations = { "mesh.example.com/ignore" = "true" }
timeout = "5s"
[[chart.after.ready]]
condition = "Ready"
object = "mesh.example.com/v1/Mesh/default"
namespace = "hall"
timeout = "5s"
[[chart.after]]
object = "v1/ConfigMap/controller"
annotations = { "mesh.example.com/managed" = "false" }
reset = "once"
timeout = "5s"
[[chart.after]]
object = "v1/ConfigMap/controller"
patch = '{data: {mode: strict, old: null}}'
timeout = "5s"
[deploy]
helmfile = true
"#;

const OBJECTS: &str = "\
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: sidecar-injector}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: another}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: controller, namespace: mesh-system, annotations: {mesh.example.com/managed: 'false'}}
data: {old: value, kept: value}
---
apiVersion: mesh.example.com/v1
kind: Mesh
metadata: {name: default, namespace: hall}
status: {conditions: [{type: Ready, status: 'True'}]}
";

/// The Job's ServiceAccount, for the audit log.
const ACCOUNT: &str = "system:serviceaccount:mesh-system:mesh-after";

fn prepare(cluster: &ControlPlane) {
    let mut namespaces = String::new();
    for name in ["hall", "mesh-system"] {
        let _ = writeln!(
            namespaces,
            "---\napiVersion: v1\nkind: Namespace\nmetadata:\n  name: {name}\n  labels:\n    \
             pod-security.kubernetes.io/enforce: restricted"
        );
    }
    cluster.apply(&namespaces);
    apply_crds(cluster, &[("mesh.example.com", "v1", "meshes", "Mesh")]);
}

fn built() -> Case {
    let case = Case::new();
    case.write("bundles.toml", CONFIG);
    case.write("mesh.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: mesh}\n");
    let seen = case.run(&["build"]);
    assert_eq!(seen.code, Some(0), "{}", seen.text());
    case
}

/// The objects that the steps change, with their versions.
fn changed(cluster: &ControlPlane) -> [Json; 2] {
    [
        cluster.get(&["mutatingwebhookconfiguration", "sidecar-injector"]),
        cluster.get(&["configmap", "controller", "--namespace", "mesh-system"]),
    ]
}

fn patches(requests: &[Request]) -> usize {
    let of_job = requests.iter().filter(|request| request.user == ACCOUNT);
    of_job.filter(|request| request.verb == "patch" && request.succeeded()).count()
}

#[test]
#[ignore = "needs Go 1.26: cargo test --test api_server -- --ignored"]
fn a_step_is_carried_out_once_with_the_rights_of_its_role() {
    let cluster = ControlPlane::start();
    prepare(&cluster);
    cluster.apply(OBJECTS);
    cluster.kubectl_folder();
    let case = built();
    let chart = case.path("out/mesh/1.0.0");
    let chart = chart.to_str().expect("UTF-8");
    let helm = Helm::newest();
    let release = |command: &str| {
        let arguments = [command, "mesh", chart, "--namespace", "mesh-system", "--timeout", "9m"];
        thread::scope(|scope| {
            let helm = scope.spawn(|| helm.run_on(&cluster.kubeconfig(), arguments));
            let (pod, ran) = be_the_kubelet(&cluster, "mesh-system", "mesh-after");
            ran.expect("the commands succeed");
            helm.join().expect("helm").expect_success();
            pod
        })
    };

    // The first time, everything is changed; the annotation is removed and set again.
    let mark = cluster.audit_mark();
    let pod = release("install");
    let first = changed(&cluster);
    let [webhook, settings] = &first;
    assert_eq!(webhook["metadata"]["annotations"], json!({"mesh.example.com/ignore": "true"}));
    let annotations = settings["metadata"]["annotations"].as_object().expect("annotations");
    assert_eq!(annotations["mesh.example.com/managed"], "false");
    assert_eq!(annotations.values().filter(|value| *value == "done").count(), 1);
    assert_eq!(settings["data"], json!({"kept": "value", "mode": "strict"}));
    assert_eq!(patches(&cluster.requests_since(mark)), 4);

    // Helm deletes the Job that succeeded.
    let jobs = ["jobs", "--namespace", "mesh-system"];
    assert_eq!(cluster.get(&jobs)["items"], json!([]));

    // An upgrade runs it again, and nothing changes.
    release("upgrade");
    assert_eq!(changed(&cluster), first);

    // helmfile's hooks do the same, so after the Job there is nothing to do.
    let helmfile: Json = serde_yaml::from_str(&case.read("out/helmfile.yaml")).expect("YAML");
    for hook in helmfile["releases"][0]["hooks"].as_array().expect("hooks") {
        let script = hook["args"][1].as_str().expect("a script");
        let output = shell(&cluster, &cluster.kubeconfig(), script);
        assert!(output.status.success(), "{output:?}");
    }
    assert_eq!(changed(&cluster), first);

    // A new object of the same name is changed again.
    let name = ["delete", "configmap", "controller", "--namespace", "mesh-system"];
    cluster.kubectl(&name).expect_success();
    cluster.apply(OBJECTS);
    let kubeconfig = cluster.kubeconfig_of("mesh-system", "mesh-after");
    run_pod(&cluster, &pod, &kubeconfig).expect("the commands succeed");
    let [_, settings] = changed(&cluster);
    assert_eq!(settings["data"]["mode"], "strict");

    // Nothing but that is allowed.
    let patch = r#"{"metadata":{"labels":{"a":"b"}}}"#;
    for forbidden in [
        &["patch", "mutatingwebhookconfiguration", "another", "--patch", patch][..],
        &["delete", "mutatingwebhookconfiguration", "sidecar-injector"],
        &["get", "mutatingwebhookconfigurations"],
        &["get", "configmaps"],
        &["patch", "configmap", "mesh", "--patch", patch],
        &[
            "patch",
            "mesh.mesh.example.com",
            "default",
            "--namespace",
            "hall",
            "--type=merge",
            "--patch",
            patch,
        ],
        &["get", "secrets"],
        &["get", "configmap", "controller", "--namespace", "hall"],
    ] {
        let run = cluster.kubectl_as(&kubeconfig, forbidden, "");
        assert!(!run.success && run.stderr.contains("Forbidden"), "{forbidden:?}: {run:?}");
    }

    // Without one of its verbs the step fails, so the checks above see what a Role grants.
    let patch = r#"[{"op": "replace", "path": "/rules/0/verbs", "value": ["get"]}]"#;
    let arguments = ["patch", "clusterrole", "mesh-after", "--type=json", "--patch", patch];
    cluster.kubectl(&arguments).expect_success();
    let remove = [
        "annotate",
        "mutatingwebhookconfiguration",
        "sidecar-injector",
        "mesh.example.com/ignore-",
    ];
    cluster.kubectl(&remove).expect_success();
    let message = run_pod(&cluster, &pod, &kubeconfig).expect_err("a verb is missing");
    assert!(
        message.contains("cannot patch MutatingWebhookConfiguration/sidecar-injector"),
        "{message}"
    );

    // What is awaited is named: the gate, and the object itself.
    let closed = r#"{"status":{"conditions":[]}}"#;
    let mesh = ["patch", "mesh.mesh.example.com", "default", "--namespace", "hall", "--type=merge"];
    cluster.kubectl(&[&mesh[..], &["--patch", closed]].concat()).expect_success();
    let message = run_pod(&cluster, &pod, &kubeconfig).expect_err("the gate is closed");
    let expected = "gate closed: condition Ready of Mesh/default in namespace hall (time limit 5s)";
    assert!(message.contains(expected), "{message}");
    let delete = ["delete", "mutatingwebhookconfiguration", "sidecar-injector"];
    cluster.kubectl(&delete).expect_success();
    let message = run_pod(&cluster, &pod, &kubeconfig).expect_err("the object is missing");
    let expected = "no MutatingWebhookConfiguration/sidecar-injector (time limit 5s)";
    assert!(message.contains(expected), "{message}");
}
