//! Jobs without nodes: a test runs the containers' commands, as a kubelet does.

use crate::control_plane::ControlPlane;
use crate::gates::shell;
use serde_json::{Value as Json, json};
use std::fmt::Write as _;
use std::path::Path;

/// Runs a pod's containers one after the other, as a kubelet does, until one fails; returns what the
/// last of them printed.
pub(crate) fn run_pod(
    cluster: &ControlPlane,
    pod: &Json,
    kubeconfig: &Path,
) -> Result<String, String> {
    let mut printed = String::new();
    for container in ["initContainers", "containers"]
        .iter()
        .flat_map(|key| pod["spec"][key].as_array().cloned().unwrap_or_default())
    {
        let command = container["command"].as_array().expect("a command");
        assert_eq!([&command[0], &command[1]], ["/bin/sh", "-c"]);
        let mut script = String::new();
        for variable in container["env"].as_array().into_iter().flatten() {
            let text = |key: &str| variable[key].as_str().expect("a text");
            let _ = writeln!(script, "export {}='{}'", text("name"), text("value"));
        }
        script += command[2].as_str().expect("a script");
        let output = shell(cluster, kubeconfig, &script);
        printed = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        if !output.status.success() {
            return Err(printed);
        }
    }
    Ok(printed)
}

/// Waits for the pod of a Job.
pub(crate) fn pending_pod(cluster: &ControlPlane, namespace: &str, job: &str) -> Json {
    cluster.wait_for("the pod of the Job", || {
        let selector = format!("batch.kubernetes.io/job-name={job}");
        let arguments = ["pods", "--namespace", namespace, "--selector", &selector];
        let list = cluster.get(&arguments);
        let mut pods = list["items"].as_array().expect("a list").iter();
        pods.find(|pod| pod["status"]["phase"] == "Pending").cloned()
    })
}

/// Waits for the pod of a Job whose ServiceAccount has its name, runs it, and reports its end to the
/// API server.
pub(crate) fn be_the_kubelet(
    cluster: &ControlPlane,
    namespace: &str,
    job: &str,
) -> (Json, Result<String, String>) {
    let pod = pending_pod(cluster, namespace, job);
    let kubeconfig = cluster.kubeconfig_of(namespace, job);
    let ran = run_pod(cluster, &pod, &kubeconfig);
    let phase = if ran.is_ok() { "Succeeded" } else { "Failed" };
    let name = pod["metadata"]["name"].as_str().expect("a name");
    let status = json!({"status": {"phase": phase}}).to_string();
    let arguments = [
        "patch",
        "pod",
        name,
        "--namespace",
        namespace,
        "--subresource=status",
        "--type=merge",
        "--patch",
        &status,
    ];
    cluster.kubectl(&arguments).expect_success();
    (pod, ran)
}
