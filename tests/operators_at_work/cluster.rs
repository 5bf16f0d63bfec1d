//! A cluster for operators: a control plane, a node, and the kubelet of tests/serving_programs.

use crate::charts;
use crate::control_plane::{Client, ControlPlane, Process};
use crate::go;
use crate::operators::{Operator, Version};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Name of the kubelet's program below tests/.
const PROGRAMS: &str = "serving_programs";

/// Namespaces for custom resources; [`crate::installation::NAMESPACE`] is created by Helm.
pub(crate) const NAMESPACES: [&str; 3] = ["one", "two", "elsewhere"];

/// Logs all requests of ServiceAccounts except the test's, and changes by users, for tests/api_server.
const AUDIT_POLICY: &str = "\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: None, users: [\"system:serviceaccount:default:default\"]}
- {level: Metadata, userGroups: [\"system:serviceaccounts\"]}
- {level: None, verbs: [get, list, watch]}
- {level: Metadata}
";

/// Limit for a node to be there on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// A running cluster. Ends with the test.
pub(crate) struct Cluster {
    // Fields are dropped in this order.
    _kubelet: Process,
    pub(crate) control_plane: ControlPlane,
    /// A ServiceAccount with all permissions.
    pub(crate) client: Client,
    /// The kubelet's folder, with a folder per pod.
    folder: TempDir,
}

impl Cluster {
    /// Builds what every cluster runs.
    ///
    /// # Panics
    /// When a program cannot be built.
    pub(crate) fn build_programs() {
        ControlPlane::build();
        go::program(PROGRAMS);
    }

    /// Starts a cluster whose images have the operator's programs: those that its bundles name, from any
    /// registry.
    ///
    /// # Panics
    /// When a program does not become ready.
    pub(crate) fn start(operator: &Operator, corpus: &Path) -> Self {
        let control_plane = ControlPlane::start_logging(AUDIT_POLICY);
        for name in NAMESPACES {
            control_plane
                .apply(&format!("apiVersion: v1\nkind: Namespace\nmetadata: {{name: {name}}}\n"));
        }
        let client = control_plane.administrator();

        let folder = tempfile::tempdir().expect("a folder");
        let programs = operator.versions.iter().map(|version| image(operator, version, corpus));
        let settings = json!({
            "apiServer": control_plane.address().trim_start_matches("https://"),
            "kubeconfig": control_plane.kubeconfig(),
            "programs": programs.collect::<Vec<Json>>(),
            "nodes": [{
                "name": "node",
                "labels": { "kubernetes.io/os": "linux" },
                "capacity": { "cpu": "192", "memory": "2Ti", "pods": "110" },
            }],
        });
        fs::write(folder.path().join("kubelet.json"), settings.to_string()).expect("a file");
        let arguments = ["kubelet".to_owned(), folder.path().display().to_string()];
        let log = folder.path().join("kubelet.log");
        let kubelet = Process::start(&go::program(PROGRAMS), &arguments, &log);

        let cluster = Cluster { _kubelet: kubelet, control_plane, client, folder };
        let node = cluster.within(PATIENCE, || cluster.get("/api/v1/nodes/node"));
        assert!(node.is_some(), "no node:\n{}", cluster.log(Path::new("kubelet.log")));
        cluster
    }

    /// Calls `done` until it gives something, or the time is over.
    pub(crate) fn within<T>(
        &self,
        patience: Duration,
        mut done: impl FnMut() -> Option<T>,
    ) -> Option<T> {
        let begun = Instant::now();
        loop {
            match done() {
                None if begun.elapsed() < patience => {
                    std::thread::sleep(Duration::from_millis(500));
                }
                result => return result,
            }
        }
    }

    /// The object at a path.
    pub(crate) fn get(&self, path: &str) -> Option<Json> {
        let answer = self.client.get(path);
        answer.succeeded().then_some(answer.body)
    }

    /// The objects of a list.
    pub(crate) fn list(&self, path: &str) -> Vec<Json> {
        let list = self.get(path).unwrap_or_default();
        list["items"].as_array().cloned().unwrap_or_default()
    }

    /// A file in the kubelet's folder.
    pub(crate) fn log(&self, path: &Path) -> String {
        fs::read_to_string(self.folder.path().join(path)).unwrap_or_default()
    }
}

/// An entry of kubelet.json for the image that the Deployment of a bundle has.
fn image(operator: &Operator, version: &Version, corpus: &Path) -> Json {
    let program = operator.program(version);
    let csv = charts::csv(&corpus.join(operator.package).join(version.bundle));
    let deployments = csv["spec"]["install"]["spec"]["deployments"].as_array().expect("a list");
    let mut images = deployments
        .iter()
        .flat_map(|deployment| crate::objects::containers(&deployment["spec"]["template"]))
        .map(|container| container["image"].as_str().expect("an image"));
    let reference = images.find(|reference| reference.contains(operator.image)).expect("an image");

    let start = reference.find(operator.image).expect("the repository");
    let pattern = format!("(^|/){}$", regex::escape(&reference[start..]));
    let files: serde_json::Map<String, Json> =
        operator.files.iter().map(|path| ((*path).to_owned(), json!(program))).collect();
    let env: BTreeMap<&str, &str> = operator.env.iter().copied().collect();
    let entrypoint = [operator.files[0]];
    json!({ "image": pattern, "entrypoint": entrypoint, "env": env, "path": "", "files": files })
}
