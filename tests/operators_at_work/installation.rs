//! An operator that is installed from its chart, and its custom resources.

use crate::charts;
use crate::cluster::Cluster;
use crate::helm::Helm;
use crate::lifecycle::Release;
use crate::objects::{self, is_ready, items, name};
use crate::operators::{Operator, Resource, Version};
use serde_json::{Value as Json, json};
use std::path::{Path, PathBuf};

/// The namespace of the operator.
pub(crate) const NAMESPACE: &str = "operator-system";

/// Namespaces that an operator watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Watch {
    All,
    Own,
    One,
    Several,
}

impl Watch {
    pub(crate) const EACH: [Watch; 4] = [Watch::All, Watch::Own, Watch::One, Watch::Several];

    /// Name of the install mode in CSVs.
    pub(crate) fn install_mode(self) -> &'static str {
        match self {
            Watch::All => "AllNamespaces",
            Watch::Own => "OwnNamespace",
            Watch::One => "SingleNamespace",
            Watch::Several => "MultiNamespace",
        }
    }

    /// The key of bundles.toml.
    pub(crate) fn setting(self) -> &'static str {
        match self {
            Watch::All => "watch = \"all\"",
            Watch::Own => "watch = \"own\"",
            Watch::One => "watch = [\"one\"]",
            Watch::Several => "watch = [\"one\", \"two\"]",
        }
    }

    /// Namespaces with custom resources that the operator works on.
    pub(crate) fn namespaces(self) -> &'static [&'static str] {
        match self {
            Watch::All => &[NAMESPACE, "elsewhere"],
            Watch::Own => &[NAMESPACE],
            Watch::One => &["one"],
            Watch::Several => &["one", "two"],
        }
    }

    /// A namespace that the operator does not watch.
    pub(crate) fn outside(self) -> Option<&'static str> {
        (self != Watch::All).then_some("elsewhere")
    }
}

/// A bundle's chart.
pub(crate) struct Chart {
    pub(crate) path: PathBuf,
    pub(crate) bundle: PathBuf,
}

impl Chart {
    /// Compiles a version of an operator, with these lines in its table of bundles.toml.
    ///
    /// # Panics
    /// When the bundle is refused.
    pub(crate) fn compile(
        corpus: &Path,
        operator: &Operator,
        version: &Version,
        settings: &str,
        folder: &Path,
    ) -> Self {
        let bundle = corpus.join(operator.package).join(version.bundle);
        let path = charts::compiled(&bundle, settings, folder);
        Chart { path: path.unwrap_or_else(|| panic!("{} is refused", bundle.display())), bundle }
    }

    /// Returns the names of the Deployment and its container in values.
    pub(crate) fn workload(&self) -> (String, String) {
        let text = std::fs::read_to_string(self.path.join("values.yaml")).expect("values");
        let values = objects::parse(&text).remove(0);
        let first = |map: &Json| map.as_object().expect("an object").keys().next().cloned();
        let deployment = first(&values["deployments"]).expect("a Deployment");
        let container = first(&values["deployments"][&deployment]["extraArgs"]);
        (deployment, container.expect("a container"))
    }
}

/// A release of an operator.
pub(crate) struct Installation<'a> {
    pub(crate) cluster: &'a Cluster,
    pub(crate) operator: &'a Operator,
    pub(crate) release: Release<'a>,
    pub(crate) watch: Watch,
    /// The folder of the bundle that runs now.
    pub(crate) bundle: PathBuf,
    /// The end of the audit log at the last check.
    pub(crate) mark: usize,
}

impl<'a> Installation<'a> {
    /// Installs a chart with Helm's defaults and these arguments.
    ///
    /// # Panics
    /// When Helm fails.
    pub(crate) fn install(
        cluster: &'a Cluster,
        operator: &'a Operator,
        helm: &'a Helm,
        watch: Watch,
        chart: &Chart,
        arguments: &[&str],
    ) -> Self {
        let mark = cluster.control_plane.audit_mark();
        let release = Release {
            cluster: &cluster.control_plane,
            helm,
            name: "operator",
            namespace: NAMESPACE,
        };
        let path = chart.path.to_str().expect("UTF-8");
        let install = ["install", release.name, path, "--create-namespace"];
        release.helm(&[&install[..], arguments].concat()).expect_success();
        Installation { cluster, operator, release, watch, bundle: chart.bundle.clone(), mark }
    }

    /// `helm upgrade` with these arguments.
    ///
    /// # Panics
    /// When Helm fails.
    pub(crate) fn upgrade(&self, chart: &Chart, arguments: &[&str]) {
        let path = chart.path.to_str().expect("UTF-8");
        let upgrade = ["upgrade", self.release.name, path];
        self.release.helm(&[&upgrade[..], arguments].concat()).expect_success();
    }

    /// A namespace that the operator leaves alone.
    pub(crate) fn outside(&self) -> Option<&'static str> {
        self.watch.outside().filter(|_| self.operator.is_limited)
    }

    /// Deployments of the release.
    pub(crate) fn deployments(&self) -> Vec<Json> {
        let all = self.cluster.list(&format!("/apis/apps/v1/namespaces/{NAMESPACE}/deployments"));
        let of_helm =
            |object: &Json| objects::label(object, "app.kubernetes.io/managed-by") == "Helm";
        all.into_iter().filter(of_helm).collect()
    }

    /// Pods of the release's Deployments: those that are not being deleted.
    pub(crate) fn pods(&self) -> Vec<Json> {
        let deployments = self.deployments();
        let pods = self.cluster.list(&format!("/api/v1/namespaces/{NAMESPACE}/pods"));
        let is_own = |pod: &Json| {
            pod["metadata"]["deletionTimestamp"].is_null()
                && deployments.iter().any(|deployment| {
                    objects::is_selected(pod, &deployment["spec"]["selector"]["matchLabels"])
                })
        };
        pods.into_iter().filter(is_own).collect()
    }

    /// True if all pods of the Deployments are Ready, and those of the current template.
    pub(crate) fn is_ready(&self) -> bool {
        let deployments = self.deployments();
        let is_up_to_date = |deployment: &Json| {
            let status = &deployment["status"];
            let wanted = deployment["spec"]["replicas"].as_u64().unwrap_or(1);
            let is = |key: &str| status[key].as_u64().unwrap_or_default() == wanted;
            status["observedGeneration"] == deployment["metadata"]["generation"]
                && is("replicas")
                && is("updatedReplicas")
                && is("readyReplicas")
        };
        let replicas: u64 =
            deployments.iter().map(|d| d["spec"]["replicas"].as_u64().unwrap_or(1)).sum();
        let pods = self.pods();
        !deployments.is_empty()
            && deployments.iter().all(is_up_to_date)
            && pods.len() as u64 == replicas
            && pods.iter().all(is_ready)
    }

    /// Names of pods that hold a Lease.
    pub(crate) fn leaders(&self) -> Vec<String> {
        let path = format!("/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases");
        let pods = self.pods();
        let mut leaders = Vec::new();
        for lease in self.cluster.list(&path) {
            let holder = lease["spec"]["holderIdentity"].as_str().unwrap_or_default().to_owned();
            let pods = pods.iter().map(|pod| name(pod).to_owned());
            leaders.extend(pods.filter(|pod| holder.starts_with(pod)));
        }
        leaders
    }

    /// The last lines of the operator's logs, and why its pods do not run.
    pub(crate) fn logs(&self) -> String {
        let mut logs = String::new();
        for pod in self.pods() {
            let uid = pod["metadata"]["uid"].as_str().expect("a uid");
            logs += &format!("{}: {}\n", name(&pod), pod["status"]["containerStatuses"]);
            for container in objects::containers(&pod) {
                let file = format!("{}.log", container["name"].as_str().expect("a name"));
                let folder = Path::new("pods").join(NAMESPACE).join(name(&pod)).join(uid);
                let log = self.cluster.log(&folder.join(file));
                let lines: Vec<&str> = log.lines().collect();
                logs += &lines[lines.len().saturating_sub(15)..].join("\n");
            }
        }
        logs
    }

    /// The custom resource of the bundle's example under another name; the answer of the server if it is
    /// refused.
    pub(crate) fn create(
        &self,
        resource: &Resource,
        namespace: &str,
        name: &str,
        change: Option<&Json>,
    ) -> Result<Json, String> {
        let mut object = Operator::example(resource, &self.bundle);
        object["metadata"]["name"] = json!(name);
        object["metadata"]["namespace"] = json!(namespace);
        if let Some(change) = change {
            merge(&mut object, change);
        }
        let answer = self.cluster.client.post(&self.list_path(resource, namespace), &object);
        if answer.succeeded() {
            return Ok(answer.body);
        }
        Err(answer.body["message"].as_str().unwrap_or_default().to_owned())
    }

    /// A custom resource.
    pub(crate) fn resource(
        &self,
        resource: &Resource,
        namespace: &str,
        name: &str,
    ) -> Option<Json> {
        self.cluster.get(&format!("{}/{name}", self.list_path(resource, namespace)))
    }

    /// Deletes all custom resources; those that are left when the time is over.
    pub(crate) fn delete_resources(&self, patience: std::time::Duration) -> Vec<String> {
        let mut paths = Vec::new();
        for resource in self.operator.resources.iter().rev() {
            for namespace in [NAMESPACE].iter().chain(&crate::cluster::NAMESPACES) {
                let list = self.list_path(resource, namespace);
                for object in self.cluster.list(&list) {
                    let path = format!("{list}/{}", name(&object));
                    self.cluster.client.send("DELETE", &path, None);
                    paths.push(path);
                }
            }
        }
        self.cluster.within(patience, || {
            paths.retain(|path| self.cluster.get(path).is_some());
            paths.is_empty().then_some(())
        });
        paths
    }

    /// Removes the finalizers of custom resources that no operator removes.
    pub(crate) fn remove_finalizers(&self) {
        let change = json!({ "metadata": { "finalizers": null } });
        for resource in self.operator.resources {
            for namespace in [NAMESPACE].iter().chain(&crate::cluster::NAMESPACES) {
                let list = self.list_path(resource, namespace);
                for object in self.cluster.list(&list) {
                    let path = format!("{list}/{}", name(&object));
                    self.cluster.client.send("PATCH", &path, Some(&change));
                    self.cluster.client.send("DELETE", &path, None);
                }
            }
        }
    }

    fn list_path(&self, resource: &Resource, namespace: &str) -> String {
        let example = Operator::example(resource, &self.bundle);
        let api = example["apiVersion"].as_str().expect("an API");
        format!("/apis/{api}/namespaces/{namespace}/{}", resource.plural)
    }

    /// The uid of each object of a custom resource's work; those that are missing have none.
    pub(crate) fn work(
        &self,
        resource: &Resource,
        namespace: &str,
        name: &str,
    ) -> Vec<(String, Option<String>)> {
        let object = |(api, plural, pattern): &(&str, &str, &str)| {
            let object = pattern.replace("{}", name);
            let path = format!("/{api}/namespaces/{namespace}/{plural}/{object}");
            let uid = self
                .cluster
                .get(&path)
                .map(|found| found["metadata"]["uid"].as_str().expect("a uid").to_owned());
            (format!("{plural} {namespace}/{object}"), uid)
        };
        resource.work.iter().map(object).collect()
    }

    /// The environment and the arguments of each process of the operator.
    pub(crate) fn processes(&self) -> Vec<(String, String)> {
        let pods = self.pods();
        let hosts: Vec<String> =
            pods.iter().map(|pod| format!("HOSTNAME={}\n", name(pod))).collect();
        let entries = std::fs::read_dir("/proc").expect("processes");
        let mut found = Vec::new();
        for entry in entries.map(|entry| entry.expect("an entry").path()) {
            let read = |file: &str| {
                let bytes = std::fs::read(entry.join(file)).unwrap_or_default();
                String::from_utf8_lossy(&bytes).replace('\0', "\n")
            };
            let environment = read("environ");
            if hosts.iter().any(|host| environment.contains(host)) {
                found.push((environment, read("cmdline")));
            }
        }
        found
    }

    /// Requests of the operator's pods since the last check. Pods of a former version may still ask for
    /// what its roles no longer allow, and their watches are logged when they end.
    pub(crate) fn requests(&self) -> Vec<crate::control_plane::Request> {
        let pods = self.pods();
        let mut requests = self.cluster.control_plane.requests_since(self.mark);
        requests.retain(|request| pods.iter().any(|pod| name(pod) == request.pod));
        requests
    }

    /// Images of the operator's pods.
    pub(crate) fn images(&self) -> Vec<String> {
        let pods = self.pods();
        let images = pods.iter().flat_map(|pod| items(pod, "/spec/containers"));
        images.map(|container| container["image"].as_str().expect("an image").to_owned()).collect()
    }
}

/// Applies a merge patch.
fn merge(object: &mut Json, change: &Json) {
    let Some(change) = change.as_object() else {
        *object = change.clone();
        return;
    };
    for (key, value) in change {
        merge(&mut object[key.as_str()], value);
    }
}
