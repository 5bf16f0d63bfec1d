//! A release of a model's chart in the cluster, and what it consists of.

use crate::cluster::Cluster;
use crate::helm::Run;
use crate::objects::{self, containers, is_ready, is_selected, items, label, name};
use serde_json::{Value as Json, json};
use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The namespace of all releases, which the charts' READMEs name.
pub(crate) const NAMESPACE: &str = "models";

/// Label of objects that users create.
const BY_TEST: &str = "example.com/by-test";

const LWS: &str = "apis/leaderworkerset.x-k8s.io/v1";
const POOLS: &str = "apis/inference.networking.k8s.io/v1";

/// A release.
pub(crate) struct Release<'a> {
    pub(crate) cluster: &'a Cluster,
    pub(crate) name: String,
    pub(crate) chart: PathBuf,
    /// Limit for pods to be ready.
    pub(crate) patience: Duration,
    /// The end of the audit log before the installation.
    pub(crate) mark: usize,
}

/// Pods of one role: a Deployment or a LeaderWorkerSet.
pub(crate) struct Workload {
    pub(crate) name: String,
    /// Replicas or groups, and pods of each.
    pub(crate) replicas: u64,
    pub(crate) size: u64,
    /// The label `llm-d.ai/role` is not used: it may be wrong.
    pub(crate) is_prefill: bool,
    /// Templates of its pods.
    pub(crate) templates: Vec<Json>,
}

/// The objects of a release at one time.
pub(crate) struct State<'a> {
    pub(crate) release: &'a Release<'a>,
    pub(crate) workloads: Vec<Workload>,
    pub(crate) pods: Vec<Json>,
    pub(crate) pool: Json,
    /// The Service that the pool names as its picker.
    pub(crate) picker_service: Option<Json>,
    /// The address of a picker that is ready, or why none is.
    pub(crate) picker: OnceCell<Result<SocketAddr, String>>,
}

impl<'a> Release<'a> {
    /// Installs a chart with Helm's defaults, and creates the Secrets that its pods read.
    pub(crate) fn install(
        cluster: &'a Cluster,
        name: &str,
        chart: &Path,
        patience: Duration,
    ) -> Self {
        let mark = cluster.control_plane.audit_mark();
        let (name, chart) = (name.to_owned(), chart.to_owned());
        let release = Release { cluster, name, chart, patience, mark };
        release.helm("install", &[]).expect_success();
        release.create_secrets();
        release
    }

    /// Upgrades to the same chart with these values.
    pub(crate) fn upgrade(&self, values: &[&str]) {
        let sets = values.iter().flat_map(|value| ["--set", value]);
        let arguments: Vec<&str> = ["--reuse-values"].into_iter().chain(sets).collect();
        self.helm("upgrade", &arguments).expect_success();
    }

    fn helm(&self, command: &str, more: &[&str]) -> Run {
        let chart = self.chart.to_str().expect("UTF-8");
        let start = [command, &self.name, chart, "--namespace", NAMESPACE];
        let kubeconfig = self.cluster.control_plane.kubeconfig();
        self.cluster.helm.run_on(&kubeconfig, [&start[..], more].concat())
    }

    /// Uninstalls the release, and returns the objects that are left: `KIND NAME`. Waits until
    /// controllers have deleted theirs.
    pub(crate) fn uninstall(&self, before: &BTreeSet<String>) -> BTreeSet<String> {
        let uninstall = ["uninstall", &self.name, "--namespace", NAMESPACE];
        let kubeconfig = self.cluster.control_plane.kubeconfig();
        self.cluster.helm.run_on(&kubeconfig, uninstall).expect_success();
        let begun = Instant::now();
        loop {
            let left: BTreeSet<String> =
                all_objects(self.cluster).difference(before).cloned().collect();
            let pods_end = left.iter().any(|object| object.starts_with("pods "));
            if left.is_empty() || begun.elapsed() > Duration::from_secs(10) && !pods_end {
                return left;
            }
            assert!(begun.elapsed() < Duration::from_secs(120), "pods are left: {left:?}");
            std::thread::sleep(Duration::from_secs(1));
        }
    }

    /// Creates the Secrets that variables of containers come from.
    fn create_secrets(&self) {
        let workloads = self.workloads();
        let templates = workloads.iter().flat_map(|workload| &workload.templates);
        for container in templates.flat_map(|template| containers(template).collect::<Vec<_>>()) {
            for variable in items(container, "/env") {
                let Some(reference) = variable.pointer("/valueFrom/secretKeyRef") else { continue };
                let key = reference["key"].as_str().expect("a key");
                let secret = json!({
                    "apiVersion": "v1",
                    "kind": "Secret",
                    "metadata": { "name": reference["name"], "labels": { BY_TEST: "true" } },
                    "stringData": { key: "value" },
                });
                let path = format!("/api/v1/namespaces/{NAMESPACE}/secrets");
                self.cluster.client.post(&path, &secret);
            }
        }
    }

    fn list(&self, api: &str, plural: &str) -> Vec<Json> {
        self.cluster.list(api, NAMESPACE, plural)
    }

    /// The workloads of engines.
    pub(crate) fn workloads(&self) -> Vec<Workload> {
        let is_engine = |object: &Json| label(object, "app.kubernetes.io/component") == "engine";
        let mut workloads = Vec::new();
        for object in self.list("apis/apps/v1", "deployments").into_iter().filter(is_engine) {
            workloads.push(Workload {
                name: name(&object).to_owned(),
                replicas: object["spec"]["replicas"].as_u64().unwrap_or(1),
                size: 1,
                is_prefill: name(&object).ends_with("-prefill"),
                templates: vec![object["spec"]["template"].clone()],
            });
        }
        for object in self.list(LWS, "leaderworkersets").into_iter().filter(is_engine) {
            let group = &object["spec"]["leaderWorkerTemplate"];
            let templates = [&group["workerTemplate"], &group["leaderTemplate"]];
            workloads.push(Workload {
                name: name(&object).to_owned(),
                replicas: object["spec"]["replicas"].as_u64().unwrap_or(1),
                size: group["size"].as_u64().unwrap_or(1),
                is_prefill: name(&object).ends_with("-prefill"),
                templates: templates.into_iter().filter(|t| !t.is_null()).cloned().collect(),
            });
        }
        workloads
    }

    /// The objects now.
    pub(crate) fn state(&'a self) -> State<'a> {
        let pool = self.list(POOLS, "inferencepools").into_iter().next().unwrap_or_default();
        let services = self.list("api/v1", "services");
        let picker = &pool["spec"]["endpointPickerRef"]["name"];
        State {
            release: self,
            workloads: self.workloads(),
            pods: self.list("api/v1", "pods"),
            picker_service: services.into_iter().find(|s| s["metadata"]["name"] == *picker),
            pool,
            picker: OnceCell::new(),
        }
    }

    /// Waits until the pods of engines are those of the workloads, and Ready; the state, or what is
    /// missing.
    pub(crate) fn settled(&'a self) -> Result<State<'a>, String> {
        let begun = Instant::now();
        loop {
            let state = self.state();
            let missing = state.unsettled();
            if missing.is_empty() {
                return Ok(state);
            }
            if begun.elapsed() > self.patience {
                return Err(format!("{}\n{}", missing.join("\n"), state.logs()));
            }
            std::thread::sleep(Duration::from_millis(500));
        }
    }
}

impl State<'_> {
    /// Pods of engines, of all roles.
    pub(crate) fn engines(&self) -> impl Iterator<Item = &Json> {
        self.pods.iter().filter(|pod| label(pod, "app.kubernetes.io/component") == "engine")
    }

    /// Pods of a workload.
    pub(crate) fn pods_of(&self, workload: &Workload) -> Vec<&Json> {
        let of = |pod: &&Json| label(pod, "app.kubernetes.io/name") == workload.name;
        self.engines().filter(of).collect()
    }

    /// Pods that the pool selects.
    pub(crate) fn pool_members(&self) -> Vec<&Json> {
        let labels = &self.pool["spec"]["selector"]["matchLabels"];
        self.pods.iter().filter(|pod| is_selected(pod, labels)).collect()
    }

    /// Ports of the pool.
    pub(crate) fn pool_ports(&self) -> Vec<u16> {
        let ports = items(&self.pool, "/spec/targetPorts");
        ports.filter_map(|port| u16::try_from(port["number"].as_u64()?).ok()).collect()
    }

    /// Pods behind the Service of the picker.
    pub(crate) fn pickers(&self) -> Vec<&Json> {
        let Some(service) = &self.picker_service else { return Vec::new() };
        self.pods.iter().filter(|pod| is_selected(pod, &service["spec"]["selector"])).collect()
    }

    /// The workload with the pod at this address.
    pub(crate) fn workload_at(&self, address: &str) -> Option<&Workload> {
        let pod = self.engines().find(|pod| pod["status"]["podIP"] == address)?;
        let of = |workload: &&Workload| label(pod, "app.kubernetes.io/name") == workload.name;
        self.workloads.iter().find(of)
    }

    /// Returns the differences from a state in which all engines are up to date and Ready.
    fn unsettled(&self) -> Vec<String> {
        let mut missing = Vec::new();
        if self.workloads.is_empty() {
            missing.push("no workload".to_owned());
        }
        for workload in &self.workloads {
            let pods = self.pods_of(workload);
            let wanted = workload.replicas * workload.size;
            let images: Vec<&Json> =
                workload.templates.iter().flat_map(containers).map(|c| &c["image"]).collect();
            let current = |pod: &Json| containers(pod).all(|c| images.contains(&&c["image"]));
            let ready = pods.iter().filter(|pod| is_ready(pod) && current(pod)).count();
            if pods.len() as u64 != wanted || ready as u64 != wanted {
                let (name, found) = (&workload.name, pods.len());
                missing.push(format!("{name}: {wanted} pods wanted, {found} there, {ready} ready"));
            }
        }
        missing
    }

    /// Last lines of the logs of pods that are not Ready.
    pub(crate) fn logs(&self) -> String {
        let mut logs = String::new();
        for pod in self.pods.iter().filter(|pod| !is_ready(pod)) {
            let uid = pod["metadata"]["uid"].as_str().expect("a uid");
            logs += &format!("{}: {}\n", name(pod), pod["status"]["containerStatuses"]);
            for container in containers(pod) {
                let container = container["name"].as_str().expect("a name");
                let file = format!("pods/{NAMESPACE}/{}/{uid}/{container}.log", name(pod));
                let log = self.release.cluster.log(&file);
                let lines: Vec<&str> = log.lines().collect();
                logs += &format!(
                    "{container}: {}\n",
                    lines[lines.len().saturating_sub(5)..].join("\n")
                );
            }
        }
        logs
    }
}

/// Objects of the namespace and of the cluster that a release may leave: `RESOURCE NAME`.
pub(crate) fn all_objects(cluster: &Cluster) -> BTreeSet<String> {
    let namespaced = [
        ("api/v1", "configmaps"),
        ("api/v1", "persistentvolumeclaims"),
        ("api/v1", "pods"),
        ("api/v1", "secrets"),
        ("api/v1", "serviceaccounts"),
        ("api/v1", "services"),
        ("apis/apps/v1", "controllerrevisions"),
        ("apis/apps/v1", "deployments"),
        ("apis/apps/v1", "replicasets"),
        ("apis/apps/v1", "statefulsets"),
        ("apis/autoscaling/v2", "horizontalpodautoscalers"),
        ("apis/coordination.k8s.io/v1", "leases"),
        ("apis/gateway.networking.k8s.io/v1", "httproutes"),
        ("apis/keda.sh/v1alpha1", "scaledobjects"),
        ("apis/llm-d.ai/v1alpha2", "inferencemodelrewrites"),
        ("apis/llm-d.ai/v1alpha2", "inferenceobjectives"),
        ("apis/monitoring.coreos.com/v1", "podmonitors"),
        ("apis/monitoring.coreos.com/v1", "servicemonitors"),
        ("apis/monitoring.googleapis.com/v1", "podmonitorings"),
        ("apis/networking.gke.io/v1", "gcpbackendpolicies"),
        ("apis/networking.gke.io/v1", "healthcheckpolicies"),
        ("apis/networking.istio.io/v1beta1", "destinationrules"),
        ("apis/networking.k8s.io/v1", "networkpolicies"),
        ("apis/policy/v1", "poddisruptionbudgets"),
        ("apis/rbac.authorization.k8s.io/v1", "rolebindings"),
        ("apis/rbac.authorization.k8s.io/v1", "roles"),
        (LWS, "leaderworkersets"),
        (POOLS, "inferencepools"),
    ];
    let mut found = BTreeSet::new();
    for (api, plural) in namespaced {
        let objects = cluster.list(api, NAMESPACE, plural);
        let objects = objects.iter().filter(|object| label(object, BY_TEST).is_empty());
        found.extend(objects.map(|object| format!("{plural} {}", name(object))));
    }
    for plural in ["clusterroles", "clusterrolebindings"] {
        let path = format!("/apis/rbac.authorization.k8s.io/v1/{plural}");
        let list = cluster.client.get(&path).body;
        found.extend(items(&list, "/items").map(|object| format!("{plural} {}", name(object))));
    }
    found
}

/// Reads the values of a chart.
pub(crate) fn values(chart: &Path) -> Json {
    let text = std::fs::read_to_string(chart.join("values.yaml")).expect("values");
    objects::parse(&text).remove(0)
}
