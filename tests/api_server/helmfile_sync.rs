//! helmfile installs the whole of examples/llm-platform on a real API server: gates hold back what
//! depends on them, one that stays closed ends the run, and steps after are carried out once. There are
//! no operators and no nodes, so a thread acts for them when a hook waits.

use crate::command::Case;
use crate::control_plane::{ADMIN, Client, ControlPlane, Request};
use crate::helm::Run;
use crate::helmfile::Helmfile;
use crate::jobs::run_pod;
use crate::lifecycle::{Objects, settled};
use crate::llm_platform;
use bundle2chart::diff::Identity;
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;
use toml::Table;

/// The user of the thread, by which the audit log tells its requests from others.
const OPERATORS: &str = "system:serviceaccount:default:operators";

/// Its permissions, and the volume of the database.
const PREPARED: &str = "\
apiVersion: v1
kind: ServiceAccount
metadata: {name: operators, namespace: default}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: operators}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{kind: ServiceAccount, name: operators, namespace: default}]
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: database}
spec:
  accessModes: [ReadWriteOnce]
  capacity: {storage: 1Ti}
  hostPath: {path: /database}
";

/// The gate that does not open in the first run.
const CLOSED: &str = "istio.sailoperator.io/default";

/// Webhooks that istiod creates, and the step after changes.
const WEBHOOKS: [(&str, &str); 2] = [
    ("mutatingwebhookconfigurations", "istio-sidecar-injector"),
    ("validatingwebhookconfigurations", "istio-validator-istio-system"),
];

/// The work of operators and nodes, which follows the kubectl commands of hooks.
struct Operators {
    client: Client,
    /// A line for each kubectl command.
    log: PathBuf,
}

impl Operators {
    /// Acts until the run is `done`. The condition of the object `closed` stays as it is.
    fn work(&self, cluster: &ControlPlane, done: &AtomicBool, closed: Option<&str>) {
        let mut read = self.commands().len();
        while !done.load(Ordering::Relaxed) {
            self.start_pods(cluster);
            let commands = self.commands();
            for command in &commands[read..] {
                self.answer(command, closed);
            }
            read = commands.len();
            thread::sleep(Duration::from_millis(200));
        }
    }

    fn commands(&self) -> Vec<String> {
        let text = fs::read_to_string(&self.log).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// Pods run, and are ready. Those of Jobs run their commands.
    fn start_pods(&self, cluster: &ControlPlane) {
        let pods = self.client.get("/api/v1/pods?fieldSelector=status.phase%3DPending");
        for pod in pods.body["items"].as_array().expect("a list") {
            let text = |pointer: &str| pod.pointer(pointer).and_then(Json::as_str);
            let namespace = text("/metadata/namespace").expect("a namespace");
            let name = text("/metadata/name").expect("a name");
            let status = match text("/metadata/labels/batch.kubernetes.io~1job-name") {
                Some(_) => {
                    let account = text("/spec/serviceAccountName").expect("a ServiceAccount");
                    let kubeconfig = cluster.kubeconfig_of(namespace, account);
                    let ran = run_pod(cluster, pod, &kubeconfig);
                    ran.unwrap_or_else(|printed| panic!("{name}: {printed}"));
                    json!({"phase": "Succeeded"})
                }
                None => json!({
                    "phase": "Running",
                    "conditions": [{"type": "Ready", "status": "True"}],
                }),
            };
            let path = format!("/api/v1/namespaces/{namespace}/pods/{name}/status");
            // A pod may be gone meanwhile.
            self.client.send("PATCH", &path, Some(&json!({"status": status})));
        }
    }

    /// Does what a command of a hook waits for.
    fn answer(&self, command: &str, closed: Option<&str>) {
        let words: Vec<&str> = command.split(' ').collect();
        let after = |flag: &str| words.iter().skip_while(|word| **word != flag).nth(1).copied();
        let awaited = words.iter().find_map(|word| word.strip_prefix("--for="));
        let (Some(awaited), false) = (awaited, words.contains(&"--filename")) else { return };
        let object = words.last().expect("an object");
        let (kind, name) = object.split_once('/').expect("an object");
        let namespace = after("--namespace").unwrap_or("default");
        if awaited == "create" {
            self.create(kind, namespace, name);
        } else if kind != "crd" && closed != Some(*object) {
            let (kind, group) = kind.split_once('.').expect("a group");
            self.open(&self.path(group, kind, namespace, name), awaited);
        }
    }

    /// Creates what an operator creates.
    fn create(&self, kind: &str, namespace: &str, name: &str) {
        let metadata = json!({"name": name});
        let (path, object) = match kind {
            "crd" => {
                let text = match name {
                    "tenants.maas.opendatahub.io" => llm_platform::tenants_crd().to_owned(),
                    "leaderworkersets.leaderworkerset.x-k8s.io" => {
                        let api = "leaderworkerset.x-k8s.io/v1";
                        llm_platform::any_crd(api, "LeaderWorkerSet", "Namespaced")
                    }
                    // Of a chart.
                    _ => return,
                };
                let crd = serde_yaml::from_str(&text).expect("YAML");
                ("/apis/apiextensions.k8s.io/v1/customresourcedefinitions".to_owned(), crd)
            }
            "deployment" => {
                let labels = json!({"app": name});
                let container = json!({"name": "main", "image": "registry.example.com/main:1"});
                let template = json!({
                    "metadata": {"labels": labels},
                    "spec": {"containers": [container]},
                });
                let spec = json!({"selector": {"matchLabels": labels}, "template": template});
                let deployment = json!({
                    "apiVersion": "apps/v1",
                    "kind": "Deployment",
                    "metadata": metadata,
                    "spec": spec,
                });
                (format!("/apis/apps/v1/namespaces/{namespace}/deployments"), deployment)
            }
            _ => {
                let api = "admissionregistration.k8s.io/v1";
                let found = WEBHOOKS.iter().find(|(_, webhook)| *webhook == name);
                let Some((resource, _)) = found else { return };
                let kind = match *resource {
                    "mutatingwebhookconfigurations" => "MutatingWebhookConfiguration",
                    _ => "ValidatingWebhookConfiguration",
                };
                let webhooks = json!({"apiVersion": api, "kind": kind, "metadata": metadata});
                (format!("/apis/{api}/{resource}"), webhooks)
            }
        };

        let answer = self.client.post(&path, &object);
        // The chart, or another hook, may have it already.
        assert!(answer.succeeded() || answer.status == 409, "{path}: {answer:?}");
    }

    /// Writes the status that is awaited: `condition=Ready` or `jsonpath={.status.state}=ready`.
    fn open(&self, path: &str, awaited: &str) {
        let mut status = self.client.get(path).body["status"].clone();
        if let Some(condition) = awaited.strip_prefix("condition=") {
            let mut conditions = status["conditions"].as_array().cloned().unwrap_or_default();
            conditions.retain(|other| other["type"] != condition);
            conditions.push(json!({
                "type": condition, "status": "True", "reason": "Test", "message": "",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }));
            status["conditions"] = json!(conditions);
        } else {
            let (path, value) = awaited.rsplit_once("}=").expect("a value");
            let field = path.strip_prefix("jsonpath={.status.").expect("a field of the status");
            status[field] = json!(value);
        }
        let status = json!({"status": status});
        let answer = self.client.send("PATCH", &format!("{path}/status"), Some(&status));
        assert!(answer.succeeded(), "{path}: {answer:?}");
    }

    /// Returns the path of a custom resource, whose kind is in small letters.
    fn path(&self, group: &str, kind: &str, namespace: &str, name: &str) -> String {
        let found = self.client.get(&format!("/apis/{group}")).body;
        let version = found["preferredVersion"]["groupVersion"].as_str().expect("a version");
        let resources = self.client.get(&format!("/apis/{version}")).body;
        let resources = resources["resources"].as_array().expect("resources");
        let text = |resource: &Json, key: &str| resource[key].as_str().expect("a text").to_owned();
        let is_kind = |resource: &&Json| {
            text(resource, "kind").to_lowercase() == kind && !text(resource, "name").contains('/')
        };
        let resource = resources.iter().find(is_kind).unwrap_or_else(|| panic!("{kind}.{group}"));
        let plural = text(resource, "name");
        match resource["namespaced"].as_bool() {
            Some(true) => format!("/apis/{version}/namespaces/{namespace}/{plural}/{name}"),
            _ => format!("/apis/{version}/{plural}/{name}"),
        }
    }
}

/// The platform on a cluster.
struct Platform {
    cluster: ControlPlane,
    case: Case,
    helmfile: Helmfile,
    operators: Operators,
    /// A folder with a kubectl that logs its commands.
    programs: PathBuf,
}

impl Platform {
    fn of(case: Case) -> Self {
        let cluster = ControlPlane::start();
        cluster.apply(PREPARED);
        let (log, kubectl) = (case.path("commands"), cluster.kubectl_folder().join("kubectl"));
        let script = format!(
            "#!/bin/sh\necho \"$*\" >> '{}'\nexec '{}' \"$@\"\n",
            log.display(),
            kubectl.display()
        );
        case.write("programs/kubectl", script);
        let programs = case.path("programs");
        fs::set_permissions(programs.join("kubectl"), Permissions::from_mode(0o755))
            .expect("a program");
        let operators = Operators { client: cluster.client_of("default", "operators"), log };
        Platform { cluster, case, helmfile: Helmfile::ready(), operators, programs }
    }

    /// `helmfile sync`, while operators act.
    fn sync(&self, file: &Path, closed: Option<&str>) -> Run {
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            let operators = scope.spawn(|| self.operators.work(&self.cluster, &done, closed));
            let kubeconfig = self.cluster.kubeconfig();
            // Few at a time: the API server takes seconds for each large CRD.
            let arguments = ["sync", "--concurrency", "2"];
            let run = self.helmfile.run_on(&kubeconfig, file, &arguments, Some(&self.programs));
            done.store(true, Ordering::Relaxed);
            operators.join().expect("operators");
            run
        })
    }

    /// A copy of the helmfile in which gates have other limits: long ones are shorter, so that a test
    /// that is wrong ends, and that of `closed` is the shortest.
    fn helmfile_with_limits(&self, name: &str, closed: Option<&str>) -> PathBuf {
        let text = self.case.read("out/helmfile.yaml");
        let limited = text.lines().map(|line| {
            let is_closed = closed.is_some_and(|object| line.contains(object));
            let limit = if is_closed { "5s" } else { "180s" };
            let limits = ["1800s", "1200s", "900s", "600s"];
            limits.iter().fold(line.to_owned(), |line, other| line.replace(other, limit)) + "\n"
        });
        let path = format!("out/{name}");
        self.case.write(&path, limited.collect::<String>());
        self.case.path(&path)
    }

    /// Everything on the cluster but what changes by itself, and the Secrets of releases.
    fn objects(&self) -> Objects {
        let names = ["api-resources", "--verbs=list", "--output=name"];
        let names = self.cluster.kubectl(&names).expect_success();
        let passing = ["events", "events.events.k8s.io", "leases.coordination.k8s.io"];
        let names: Vec<&str> = names.lines().filter(|name| !passing.contains(name)).collect();
        let list = self.cluster.get(&[&names.join(","), "--all-namespaces"]);
        let objects = list["items"].as_array().expect("a list").iter();
        let objects = objects.filter(|object| object["type"] != "helm.sh/release.v1");
        objects.map(|object| (Identity::of(object), settled(object.clone()))).collect()
    }

    fn webhooks(&self) -> Vec<Json> {
        WEBHOOKS.iter().map(|(resource, name)| self.cluster.get(&[resource, name])).collect()
    }
}

/// A gate of bundles.toml, and the releases that it holds back.
struct Gate {
    /// The entry of `ready`.
    entry: Table,
    holds_back: Vec<String>,
}

impl Gate {
    /// Returns true if a request opens it.
    fn is_opened_by(&self, request: &Request) -> bool {
        let text = |key: &str| self.entry.get(key).and_then(toml::Value::as_str);
        if let Some(crd) = text("crd") {
            return request.name == crd && request.code == 201;
        }
        if request.user != OPERATORS || !request.succeeded() {
            return false;
        }
        if let Some(workload) = text("rollout") {
            let (_, name) = workload.split_once('/').expect("a name");
            return request.resource == "pods" && request.name.starts_with(&format!("{name}-"));
        }
        let object: Vec<&str> = text("object").expect("an object").split('/').collect();
        let [group, _, kind, name] = object[..] else { panic!("{object:?}") };
        request.subresource == "status"
            && request.name == name
            // `ies` is the plural of `y`.
            && request.resource.starts_with(kind.to_lowercase().trim_end_matches('y'))
            && request.resource.ends_with(&format!(".{group}"))
    }
}

/// Returns the gates of the example, with the releases that must come after them.
fn gates(case: &Case, releases: &BTreeSet<String>) -> Vec<Gate> {
    let file: Table = case.read("bundles.toml").parse().expect("TOML");
    let of_key = |key: &str| file[key].as_array().expect("tables").clone();
    let tables: Vec<toml::Value> = [of_key("bundle"), of_key("chart")].concat();
    let name = |table: &toml::Value| table["name"].as_str().expect("a name").to_owned();

    let mut gates = Vec::new();
    for table in &tables {
        let own = name(table);
        let depends = |other: &&toml::Value| {
            let needed = other.get("depends-on").and_then(toml::Value::as_array);
            needed.is_some_and(|needed| needed.iter().any(|needed| needed.as_str() == Some(&own)))
        };
        let mut later: Vec<String> = tables.iter().filter(depends).map(name).collect();
        // Models depend on what they name.
        if own.starts_with("maas-") {
            later.push("granite".to_owned());
        }
        later.extend(later.clone().iter().map(|name| format!("{name}-operands")));

        let ready = table.get("ready").and_then(toml::Value::as_array);
        for entry in ready.into_iter().flatten() {
            let entry = entry.as_table().expect("a table").clone();
            let mut holds_back = later.clone();
            if !entry.contains_key("phase") {
                holds_back.push(format!("{own}-operands"));
            }
            holds_back.retain(|name| releases.contains(name));
            gates.push(Gate { entry, holds_back });
        }
    }
    gates
}

/// Returns the number of the request that created the Secret of a release.
fn installed(requests: &[Request], release: &str) -> Option<usize> {
    let secret = format!("sh.helm.release.v1.{release}.v1");
    requests.iter().position(|request| request.name == secret && request.code == 201)
}

/// Returns the releases of the helmfile, each with all that it needs, in every step.
fn needs(case: &Case) -> BTreeMap<String, BTreeSet<String>> {
    let helmfile: Json = serde_yaml::from_str(&case.read("out/helmfile.yaml")).expect("YAML");
    let mut needs: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    // Each release is after those that it needs.
    for release in helmfile["releases"].as_array().expect("releases") {
        let mut all = BTreeSet::new();
        for need in release["needs"].as_array().into_iter().flatten() {
            let (_, need) = need.as_str().expect("a text").split_once('/').expect("a namespace");
            all.insert(need.to_owned());
            all.extend(needs[need].clone());
        }
        needs.insert(release["name"].as_str().expect("a name").to_owned(), all);
    }
    needs
}

#[test]
#[ignore = "needs Go 1.26: cargo test --test api_server -- --ignored"]
fn helmfile_installs_the_llm_platform_in_the_order_of_its_gates() {
    let Some(case) = llm_platform::whole() else { return };
    let build = case.run(&["build", "--offline"]);
    assert_eq!(build.code, Some(0), "{}", build.text());
    let needs = needs(&case);
    let releases: BTreeSet<String> = needs.keys().cloned().collect();
    let gates = gates(&case, &releases);
    let platform = Platform::of(case);
    let cluster = &platform.cluster;

    // Istio does not become ready: the run ends with the gate's name.
    let mark = cluster.audit_mark();
    let first =
        platform.sync(&platform.helmfile_with_limits("short.yaml", Some(CLOSED)), Some(CLOSED));
    let output = format!("{}\n{}", first.stdout, first.stderr);
    assert!(!first.success, "{output}");
    let message = "gate closed: condition Ready of Istio/default in namespace istio-system (time limit 5s); \
                   to see why: kubectl --namespace istio-system get istio.sailoperator.io/default";
    assert!(output.contains(message), "{output}");
    let requests = cluster.requests_since(mark);
    let held = needs.iter().filter(|(_, needs)| needs.contains("servicemesh-operator-operands"));
    let held: Vec<&str> = held.map(|(name, _)| name.as_str()).collect();
    for name in ["rhcl-operator", "maas-platform", "rhods-operator", "maas-tenant", "granite"] {
        assert!(held.contains(&name), "{held:?}");
    }
    for name in &held {
        assert_eq!(installed(&requests, name), None, "{name} is installed before Istio is ready");
    }
    assert!(installed(&requests, "servicemesh-operator-operands").is_some(), "{output}");

    // The step after was carried out before.
    for (resource, name) in WEBHOOKS {
        let patches = requests.iter().filter(|request| {
            let is_webhook = request.resource.starts_with(resource) && request.name == name;
            request.user == ADMIN && request.verb == "patch" && is_webhook
        });
        assert_eq!(patches.count(), 1, "{name}");
    }
    let webhooks = platform.webhooks();
    for webhook in &webhooks {
        assert_eq!(webhook["metadata"]["annotations"]["sailoperator.io/ignore"], "true");
    }

    // Istio becomes ready: the next run installs the rest.
    let file = platform.helmfile_with_limits("long.yaml", None);
    platform.sync(&file, None).expect_success();
    let requests = cluster.requests_since(mark);
    let mut held_back = 0;
    for gate in &gates {
        let opened = requests.iter().position(|request| gate.is_opened_by(request));
        let opened = opened.unwrap_or_else(|| panic!("never opened: {:?}", gate.entry));
        for name in &gate.holds_back {
            let installed = installed(&requests, name);
            let installed = installed.unwrap_or_else(|| panic!("not installed: {name}"));
            assert!(opened < installed, "{name} before its gate {:?}", gate.entry);
            held_back += 1;
        }
    }
    assert!(held_back > 30, "{held_back} pairs of gates and releases");
    for name in &releases {
        assert!(installed(&requests, name).is_some(), "{name} is not installed");
    }

    // Models as a service is turned on by the switch, whose Job has waited.
    let job = "rhods-operator-operands-models-as-a-service-gates";
    let ran = |request: &Request| request.resource == "jobs.batch" && request.name == job;
    assert!(requests.iter().any(ran), "no Job {job}");
    let state = cluster.get(&["datascienceclusters", "default-dsc"]);
    let components = &state["spec"]["components"]["kserve"];
    assert_eq!(components["modelsAsService"]["managementState"], "Managed");

    // Another run changes nothing, and no step is carried out again.
    let before = platform.objects();
    platform.sync(&file, None).expect_success();
    let after = platform.objects();
    for (id, object) in &before {
        assert_eq!(after.get(id), Some(object), "{id:?}");
    }
    assert_eq!(before.len(), after.len());
    assert_eq!(platform.webhooks(), webhooks, "the step was carried out again");
}
