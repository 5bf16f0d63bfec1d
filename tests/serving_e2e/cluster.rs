//! A cluster that serves models: a control plane, the LeaderWorkerSet controller, nodes, and the kubelet
//! of tests/serving_programs.

use crate::control_plane::{Client, ControlPlane, Process};
use crate::go::{self, Module};
use crate::helm::Helm;
use crate::objects;
use crate::once::tools_dir;
use rcgen::{CertificateParams, KeyPair, SanType};
use serde_json::{Value as Json, json};
use std::fmt::Write as _;
use std::fs::{self, Permissions};
use std::net::{IpAddr, Ipv4Addr, TcpListener};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Name of the stand-ins below tests/.
const PROGRAMS: &str = "serving_programs";

/// Endpoint picker and routing proxy of the newest profile (src/config/serving/profile.rs). A
/// chart with another image has no program for it.
const PICKER: Module = Module {
    path: "github.com/llm-d/llm-d-router",
    version: "v0.10.0",
    sum: None,
    package: "./cmd/epp",
    not_replaced: &[],
};
const ROUTING_PROXY: Module = Module { package: "./cmd/pd-sidecar", ..PICKER };
const LWS: Module =
    Module { package: "./cmd", path: "sigs.k8s.io/lws", version: "v0.9.0", ..PICKER };
/// The module with the CRD of InferencePools, in the version that the picker requires.
const INFERENCE_EXTENSION: Module = Module {
    path: "sigs.k8s.io/gateway-api-inference-extension",
    version: "v1.5.0",
    sum: None,
    package: "./cmd/epp",
    not_replaced: &[],
};

/// Kinds without a controller here, whose CRDs have no schemas: group, version, plural and kind.
/// tests/api_server and tests/suite check objects against schemas.
const SCHEMALESS: &[(&str, &str, &str, &str)] = &[
    ("gateway.networking.k8s.io", "v1", "httproutes", "HTTPRoute"),
    ("keda.sh", "v1alpha1", "scaledobjects", "ScaledObject"),
    ("monitoring.coreos.com", "v1", "podmonitors", "PodMonitor"),
    ("monitoring.coreos.com", "v1", "servicemonitors", "ServiceMonitor"),
    ("monitoring.googleapis.com", "v1", "podmonitorings", "PodMonitoring"),
    ("networking.gke.io", "v1", "gcpbackendpolicies", "GCPBackendPolicy"),
    ("networking.gke.io", "v1", "healthcheckpolicies", "HealthCheckPolicy"),
    ("networking.istio.io", "v1beta1", "destinationrules", "DestinationRule"),
];

/// Prerequisites of charts: the namespace, and names that examples use.
const PREREQUISITES: &str = "\
apiVersion: v1
kind: Namespace
metadata: {name: models}
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: inference}
value: 1000
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: tests, namespace: kube-system}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: tests}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{kind: ServiceAccount, name: tests, namespace: kube-system}]
";

/// Logs all requests of ServiceAccounts, also reads: a chart's accounts must not be denied any.
const AUDIT_POLICY: &str = "\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: None, users: [\"system:serviceaccount:kube-system:tests\"]}
- {level: Metadata, userGroups: [\"system:serviceaccounts\"]}
- {level: None}
";

/// Limit for servers to be ready on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// A running cluster. Ends with the test.
pub(crate) struct Cluster {
    // Fields are dropped in this order.
    _kubelet: Process,
    _lws: Process,
    pub(crate) control_plane: ControlPlane,
    pub(crate) client: Client,
    pub(crate) helm: Helm,
    /// tests/serving_programs, built.
    pub(crate) programs: PathBuf,
    /// The kubelet's folder, with a folder per pod.
    pub(crate) folder: TempDir,
}

impl Cluster {
    /// Builds and downloads all programs, where that was not done yet: a cluster has no network.
    ///
    /// # Panics
    /// When a program cannot be built.
    pub(crate) fn build_programs() {
        ControlPlane::build();
        Helm::newest();
        go::program(PROGRAMS);
        module_programs();
        sources(&INFERENCE_EXTENSION);
    }

    /// Starts a cluster in the namespaces of this process.
    ///
    /// # Panics
    /// When a program does not become ready.
    pub(crate) fn start() -> Self {
        let programs = go::program(PROGRAMS);
        let [picker, proxy, lws] = module_programs();
        let control_plane = ControlPlane::start_logging(AUDIT_POLICY);
        control_plane.apply(PREREQUISITES);
        apply_crds(&control_plane);
        let client = control_plane.client_of("kube-system", "tests");
        let folder = tempfile::tempdir().expect("a folder");

        let lws = start_lws(&control_plane, &lws, folder.path());
        let engines = folder.path().join("bin");
        write_engines(&programs, &engines);
        let settings = json!({
            "apiServer": control_plane.address().trim_start_matches("https://"),
            "kubeconfig": control_plane.kubeconfig(),
            "programs": [
                image_program("llm-d-router-endpoint-picker", &PICKER, &picker),
                image_program("llm-d-router-disagg-sidecar", &ROUTING_PROXY, &proxy),
                { "image": "/vllm-", "entrypoint": ["vllm", "serve"], "path": engines },
                { "image": "/sglang:", "entrypoint": [], "path": engines },
            ],
            "nodes": nodes(),
        });
        fs::write(folder.path().join("kubelet.json"), settings.to_string()).expect("a file");
        let arguments = ["kubelet".to_owned(), folder.path().display().to_string()];
        let kubelet = Process::start(&programs, &arguments, &folder.path().join("kubelet.log"));

        let helm = Helm::newest();
        let cluster =
            Cluster { _kubelet: kubelet, _lws: lws, control_plane, client, helm, programs, folder };
        cluster.wait_for_nodes();
        cluster
    }

    fn wait_for_nodes(&self) {
        let begun = Instant::now();
        while self.client.get("/api/v1/nodes").body["items"] == json!([]) {
            assert!(begun.elapsed() < PATIENCE, "no nodes:\n{}", self.log("kubelet.log"));
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    /// The objects at a path of the API, in a namespace: for example `api/v1` and `pods`.
    pub(crate) fn list(&self, api: &str, namespace: &str, plural: &str) -> Vec<Json> {
        let begun = Instant::now();
        loop {
            let answer = self.client.get(&format!("/{api}/namespaces/{namespace}/{plural}"));
            if answer.succeeded() {
                return answer.body["items"].as_array().expect("a list").clone();
            }
            // The storage of a new CRD is not ready at once.
            let is_early = answer.status == 429 && begun.elapsed() < PATIENCE;
            assert!(is_early, "{api} {plural}: {:?}", answer.body);
            std::thread::sleep(Duration::from_millis(500));
        }
    }

    /// A log in the kubelet's folder.
    pub(crate) fn log(&self, name: &str) -> String {
        fs::read_to_string(self.folder.path().join(name)).unwrap_or_default()
    }
}

/// Returns endpoint picker, routing proxy and the LeaderWorkerSet controller.
fn module_programs() -> [PathBuf; 3] {
    [("epp", &PICKER), ("pd-sidecar", &ROUTING_PROXY), ("lws", &LWS)]
        .map(|(name, module)| go::module_program(name, module))
}

/// Returns the sources of a module.
fn sources(module: &Module) -> PathBuf {
    module.download(&tools_dir()).unwrap_or_else(|reason| panic!("{reason}"))
}

/// An entry of kubelet.json for an image of this version.
fn image_program(image: &str, module: &Module, program: &Path) -> Json {
    let tag = module.version.replace('.', "\\.");
    json!({ "image": format!("{image}:{tag}(@|$)"), "entrypoint": [program], "path": "" })
}

/// Writes the programs that images of engines have: stand-ins, and the machine's Python with stand-ins
/// of the modules that charts run.
fn write_engines(programs: &Path, folder: &Path) {
    fs::create_dir_all(folder).expect("a folder");
    for name in ["vllm", "sglang", "ray"] {
        std::os::unix::fs::symlink(programs, folder.join(name)).expect("a link");
    }
    let modules = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/serving_e2e/python");
    let executable =
        Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output();
    let executable = executable.expect("this test needs python3").stdout;
    let script = format!(
        "#!/bin/sh\nPYTHONDONTWRITEBYTECODE=1 PYTHONPATH={} exec {} \"$@\"\n",
        modules.display(),
        String::from_utf8_lossy(&executable).trim(),
    );
    let python = folder.join("python3");
    fs::write(&python, script).expect("a file");
    fs::set_permissions(&python, Permissions::from_mode(0o755)).expect("permissions");
}

/// Nodes with GPUs and RDMA, with TPUs, and without accelerators.
fn nodes() -> Vec<Json> {
    let node = |name: String, labels: Json, accelerators: Json| {
        let mut capacity = json!({ "cpu": "192", "memory": "2Ti", "pods": "110" });
        for (name, count) in accelerators.as_object().expect("an object") {
            capacity[name] = count.clone();
        }
        json!({ "name": name, "labels": labels, "capacity": capacity })
    };
    let mut nodes = vec![node("cpu-0".to_owned(), json!({}), json!({}))];
    for index in 0..8 {
        let accelerators = json!({ "nvidia.com/gpu": "8", "rdma/ib": "8" });
        nodes.push(node(format!("gpu-{index}"), json!({}), accelerators));
    }
    let tpu = json!({
        "cloud.google.com/gke-tpu-accelerator": "tpu7x",
        "cloud.google.com/gke-tpu-topology": "2x2x1",
    });
    for index in 0..3 {
        nodes.push(node(format!("tpu-{index}"), tpu.clone(), json!({ "google.com/tpu": "4" })));
    }
    nodes
}

/// Applies the CRDs of the kinds that charts create: those with a reader here from its module.
fn apply_crds(control_plane: &ControlPlane) {
    for module in [&LWS, &PICKER, &INFERENCE_EXTENSION] {
        let folder = sources(module);
        let crds = folder.join("config/crd/bases");
        let crds = crds.to_str().expect("UTF-8");
        control_plane
            .kubectl(&["apply", "--server-side", "--force-conflicts", "--filename", crds])
            .expect_success();
    }

    let mut manifests = String::new();
    for (group, version, plural, kind) in SCHEMALESS {
        let crd = json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": { "name": format!("{plural}.{group}") },
            "spec": {
                "group": group,
                "scope": "Namespaced",
                "names": { "plural": plural, "kind": kind },
                "versions": [{
                    "name": version,
                    "served": true,
                    "storage": true,
                    "schema": { "openAPIV3Schema": {
                        "type": "object", "x-kubernetes-preserve-unknown-fields": true,
                    } },
                }],
            },
        });
        let _ = write!(manifests, "---\n{crd}\n");
    }
    // Without the annotation the API server refuses CRDs in groups of kubernetes.io.
    let manifests = manifests.replace(
        "\"metadata\":{",
        "\"metadata\":{\"annotations\":{\"api-approved.kubernetes.io\":\"unapproved, a test\"},",
    );
    control_plane.apply(&manifests);
    let wait = ["wait", "--for=condition=Established", "crds", "--all", "--timeout=300s"];
    control_plane.kubectl(&wait).expect_success();
}

/// Starts the LeaderWorkerSet controller with its webhooks, which the API server calls by URL.
fn start_lws(control_plane: &ControlPlane, program: &Path, folder: &Path) -> Process {
    let [webhooks, health, metrics] = [(); 3]
        .map(|()| TcpListener::bind("127.0.0.1:0").expect("a port"))
        .map(|listener| listener.local_addr().expect("an address").port());
    let certificates = folder.join("lws");
    let authority = write_certificate(&certificates);
    let configuration = json!({
        "apiVersion": "config.lws.x-k8s.io/v1alpha1",
        "kind": "Configuration",
        "webhook": { "port": webhooks, "host": "127.0.0.1", "certDir": certificates },
        "internalCertManagement": { "enable": false },
        "leaderElection": { "leaderElect": false },
        "health": { "healthProbeBindAddress": format!("127.0.0.1:{health}") },
        "metrics": { "bindAddress": format!("127.0.0.1:{metrics}") },
    });
    let file = folder.join("lws.yaml");
    fs::write(&file, configuration.to_string()).expect("a file");

    // The controller has no flag for a kubeconfig but this one of controller-runtime.
    let arguments = [
        format!("--config={}", file.display()),
        format!("--kubeconfig={}", control_plane.kubeconfig().display()),
    ];
    let process = Process::start(program, &arguments, &folder.join("lws.log"));
    let begun = Instant::now();
    while std::net::TcpStream::connect(("127.0.0.1", webhooks)).is_err() {
        let log = || fs::read_to_string(folder.join("lws.log")).unwrap_or_default();
        assert!(begun.elapsed() < PATIENCE, "LWS is not ready:\n{}", log());
        std::thread::sleep(Duration::from_millis(200));
    }
    control_plane.apply(&objects::to_yaml(&lws_webhooks(webhooks, &authority)));
    process
}

/// Writes a self-signed certificate for 127.0.0.1, and returns it.
fn write_certificate(folder: &Path) -> String {
    let mut parameters = CertificateParams::default();
    parameters.subject_alt_names.push(SanType::IpAddress(IpAddr::V4(Ipv4Addr::LOCALHOST)));
    let key = KeyPair::generate().expect("a key");
    let certificate = parameters.self_signed(&key).expect("a certificate").pem();
    fs::create_dir_all(folder).expect("a folder");
    fs::write(folder.join("tls.crt"), &certificate).expect("a file");
    fs::write(folder.join("tls.key"), key.serialize_pem()).expect("a file");
    certificate
}

/// The webhook configurations of the module, with a URL instead of the Service, and with the selector
/// that its kustomization adds: pods of LeaderWorkerSets only.
fn lws_webhooks(port: u16, authority: &str) -> Vec<Json> {
    use base64::Engine as _;
    let authority = base64::engine::general_purpose::STANDARD.encode(authority);
    let file = sources(&LWS).join("config/webhook/manifests.yaml");
    let mut configurations = objects::parse(&fs::read_to_string(file).expect("the webhooks"));
    for configuration in &mut configurations {
        for webhook in configuration["webhooks"].as_array_mut().expect("webhooks") {
            let path = webhook["clientConfig"]["service"]["path"].as_str().expect("a path");
            let url = format!("https://127.0.0.1:{port}{path}");
            webhook["clientConfig"] = json!({ "url": url, "caBundle": authority });
            if webhook["rules"][0]["resources"] == json!(["pods"]) {
                webhook["objectSelector"] = json!({ "matchExpressions": [
                    { "key": "leaderworkerset.sigs.k8s.io/name", "operator": "Exists" },
                ] });
            }
        }
    }
    configurations
}
