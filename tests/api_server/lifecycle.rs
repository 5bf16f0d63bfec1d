//! A release from its installation to its end, and what the server saw of each step.

use crate::control_plane::{ADMIN, ControlPlane, Request};
use crate::helm::{Helm, Run};
use bundle2chart::diff::Identity;
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

/// A release on a cluster, managed with one Helm.
pub(crate) struct Release<'a> {
    pub(crate) cluster: &'a ControlPlane,
    pub(crate) helm: &'a Helm,
    pub(crate) name: &'a str,
    pub(crate) namespace: &'a str,
}

/// Objects, by who they are; namespaces are always said.
pub(crate) type Objects = BTreeMap<Identity, Json>;

/// Requests of a step by object.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Effect {
    pub(crate) created: BTreeSet<String>,
    pub(crate) changed: BTreeSet<String>,
    pub(crate) deleted: BTreeSet<String>,
    /// Workloads whose pods are replaced.
    pub(crate) restarted: BTreeSet<String>,
    /// CRDs whose objects are stored in another version from now on, which no rollback undoes.
    pub(crate) stored: BTreeSet<String>,
}

impl fmt::Display for Effect {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Effect { created, changed, deleted, .. } = self;
        let (created, changed, deleted) = (created.len(), changed.len(), deleted.len());
        write!(formatter, "{created} created, {changed} changed, {deleted} deleted")
    }
}

impl Release<'_> {
    /// `helm ARGUMENTS --namespace NAMESPACE` with Helm's own defaults.
    pub(crate) fn helm(&self, arguments: &[&str]) -> Run {
        let all = arguments.iter().copied().chain(["--namespace", self.namespace]);
        self.helm.run_on(&self.cluster.kubeconfig(), all)
    }

    /// `helm COMMAND NAME CHART`, once the server has the APIs that the chart requires: it shows those of
    /// a chart a moment after its installation.
    pub(crate) fn run(&self, command: &str, chart: &Path) -> Run {
        self.cluster.wait_for("an API of another chart", || {
            let run = self.run_once(command, chart);
            let is_early = run.stderr.contains("which this cluster does not have");
            (!is_early).then_some(run)
        })
    }

    /// `helm COMMAND NAME CHART`.
    pub(crate) fn run_once(&self, command: &str, chart: &Path) -> Run {
        let chart = chart.to_str().expect("UTF-8");
        match command {
            "install" => self.helm(&[command, self.name, chart, "--create-namespace"]),
            _ => self.helm(&[command, self.name, chart]),
        }
    }

    /// All manifests of the release, hooks too.
    pub(crate) fn manifests(&self) -> String {
        let part = |part: &str| self.helm(&["get", part, self.name]).expect_success();
        format!("{}\n---\n{}", part("manifest"), part("hooks"))
    }

    /// The objects of these manifests as the server has them, without what changes by itself.
    pub(crate) fn objects(&self, manifests: &str) -> Objects {
        let arguments = ["get", "--ignore-not-found", "--output", "json", "--filename", "-"];
        let kubeconfig = self.cluster.kubeconfig_in(self.namespace);
        let text = self.cluster.kubectl_as(&kubeconfig, &arguments, manifests).expect_success();
        let found: Json = serde_json::from_str(&text).unwrap_or(Json::Null);
        let objects = match found["items"].as_array() {
            Some(items) => items.clone(),
            None if found.is_null() => Vec::new(),
            None => vec![found],
        };
        objects.into_iter().map(|object| (Identity::of(&object), settled(object))).collect()
    }
}

/// Without what a server or its controllers write.
pub(crate) fn settled(mut object: Json) -> Json {
    object.as_object_mut().expect("an object").remove("status");
    let metadata = object["metadata"].as_object_mut().expect("metadata");
    for key in ["resourceVersion", "managedFields", "generation", "creationTimestamp", "uid"] {
        metadata.remove(key);
    }
    if let Some(annotations) = metadata.get_mut("annotations").and_then(Json::as_object_mut) {
        annotations.remove("deployment.kubernetes.io/revision");
    }
    // Another address when a Service is created again.
    if object["kind"] == "Service" && object["spec"]["clusterIP"] != "None" {
        let spec = object["spec"].as_object_mut().expect("a spec");
        spec.retain(|key, _| !key.starts_with("clusterIP"));
    }
    object
}

/// Requests of Helm: objects by resource, without Helm's own Secrets and the namespace of
/// the release, which `--create-namespace` makes.
pub(crate) fn effects(
    requests: &[Request],
    namespace: &str,
) -> (BTreeSet<Touched>, BTreeSet<Touched>) {
    let (mut created, mut deleted) = (BTreeSet::new(), BTreeSet::new());
    let of_helm = requests
        .iter()
        .filter(|request| request.user == ADMIN && request.succeeded() && !request.dry_run);
    for request in of_helm {
        let own = (request.resource == "secrets" && request.name.starts_with("sh.helm.release"))
            || (request.resource == "namespaces" && request.name == namespace);
        let touched = Touched {
            resource: request.resource.clone(),
            namespace: request.namespace.clone(),
            name: request.name.clone(),
        };
        if own || !request.subresource.is_empty() {
            continue;
        } else if request.verb == "delete" {
            created.remove(&touched);
            deleted.insert(touched);
        } else if request.code == 201 {
            // What is deleted and created again is there as before.
            if !deleted.remove(&touched) {
                created.insert(touched);
            }
        }
    }
    (created, deleted)
}

/// An object that a request named.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Touched {
    /// The resource with its group.
    pub(crate) resource: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
}

/// Kinds by resource, as the server has them.
pub(crate) fn kinds(cluster: &ControlPlane) -> BTreeMap<String, String> {
    let table = cluster.kubectl(&["api-resources", "--no-headers"]).expect_success();
    let row = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [name, .., version, _, kind] = words[..] else { panic!("a resource: {line}") };
        let group = version.split_once('/').map(|(group, _)| format!(".{group}"));
        (format!("{name}{}", group.unwrap_or_default()), kind.to_owned())
    };
    table.lines().map(row).collect()
}

/// `Kind/namespace/name` of what requests touched.
pub(crate) fn named(
    touched: &BTreeSet<Touched>,
    kinds: &BTreeMap<String, String>,
) -> BTreeSet<String> {
    let label = |object: &Touched| {
        let kind = kinds.get(&object.resource).unwrap_or(&object.resource);
        identified(kind, &object.namespace, &object.name)
    };
    touched.iter().map(label).collect()
}

/// `Kind/namespace/name` of an object.
pub(crate) fn label(id: &Identity) -> String {
    identified(&id.kind, &id.namespace, &id.name)
}

fn identified(kind: &str, namespace: &str, name: &str) -> String {
    match namespace {
        "" => format!("{kind}/{name}"),
        _ => format!("{kind}/{namespace}/{name}"),
    }
}

/// Waits until the aggregated ClusterRoles have rules, which their controller then owns; those that
/// select no ClusterRole keep none.
pub(crate) fn settled_rules(cluster: &ControlPlane) {
    let roles = cluster.get(&["clusterroles"]);
    let roles = roles["items"].as_array().expect("a list").iter();
    if roles
        .filter(|role| role.get("aggregationRule").is_some())
        .any(|role| role["rules"].is_null())
    {
        sleep(Duration::from_secs(1));
    }
}

/// A shell with this helm and the kubectl of the cluster, in a folder, as for a person.
pub(crate) fn shell(cluster: &ControlPlane, helm: &Helm, folder: &Path, script: &str) -> Run {
    let kubectl = cluster.kubectl_folder();
    let helm = helm.path.parent().expect("a folder");
    let path = [helm, &kubectl, Path::new("/usr/bin"), Path::new("/bin")];
    let output = Command::new("sh")
        .args(["-c", script])
        .current_dir(folder)
        .env_clear()
        .env("PATH", std::env::join_paths(path).expect("a path"))
        .env("HOME", &kubectl)
        .env("KUBECONFIG", cluster.kubeconfig())
        .output()
        .expect("a shell");
    Run::of("sh", &output)
}

/// The report of `bundle2chart diff`.
pub(crate) fn report(old: &Path, new: &Path, namespace: &str) -> Json {
    let output = Command::new(env!("CARGO_BIN_EXE_bundle2chart"))
        .args(["diff", "--format", "json", "--quiet"])
        .args(["--namespace", namespace])
        .args([old, new])
        .output()
        .expect("bundle2chart runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// The commands of a report's plan in their order, for this release and a shell in the folder of the
/// new chart.
pub(crate) fn plan_commands(report: &Json, release: &Release<'_>) -> String {
    commands_of(report, release, |_| true)
}

/// The commands that delete objects before an upgrade, and before a rollback.
pub(crate) fn delete_commands(report: &Json, release: &Release<'_>) -> String {
    commands_of(report, release, |step| step["id"] == "delete")
}

fn commands_of(report: &Json, release: &Release<'_>, wanted: fn(&Json) -> bool) -> String {
    let steps = report["plan"].as_array().expect("a plan").iter().filter(|step| wanted(step));
    let commands = steps.flat_map(|step| step["commands"].as_array().expect("commands"));
    let commands: Vec<&str> = commands.map(|command| command.as_str().expect("a text")).collect();
    for_release(&commands.join("\n"), release.name, release.namespace)
}

/// Commands with the words of a release, for a shell in the folder of its chart, in place of their
/// placeholders.
pub(crate) fn for_release(commands: &str, name: &str, namespace: &str) -> String {
    let words = [
        ("CHART/", "./"),
        (" CHART", " ."),
        ("RELEASE", name),
        (" --values VALUES", ""),
        ("NAMESPACE", namespace),
    ];
    words.iter().fold(commands.to_owned(), |commands, (from, to)| commands.replace(from, to))
}

/// Uninstalls a release as the README of its chart says.
pub(crate) fn uninstall(release: &Release<'_>, chart: &Path) -> Option<String> {
    let readme = fs::read_to_string(chart.join("README.md")).expect("a README");
    let section = readme.split("## Uninstall\n\n```sh\n").nth(1).expect("a section");
    let commands = section.split("```").next().expect("a block").lines();
    let [uninstall, others]: [Vec<&str>; 2] = ["helm uninstall operator ", "kubectl "]
        .map(|start| commands.clone().filter(|command| command.starts_with(start)).collect());
    assert_eq!(uninstall.len(), 1, "{section}");
    let wrong = expect("uninstall", release.helm(&["uninstall", release.name]));
    if !others.is_empty() {
        // The controller may create ClusterRoles again until it has seen that they are deleted.
        sleep(Duration::from_secs(1));
    }
    let script = others.join("\n");
    wrong.or_else(|| expect(&script, shell(release.cluster, release.helm, chart, &script)))
}

/// The text of a step that failed.
pub(crate) fn expect(step: &str, run: Run) -> Option<String> {
    (!run.success).then(|| format!("{step}: {}", run.stderr))
}

/// Upgrades by the commands of the plan, as printed; returns the report.
pub(crate) fn upgrade(release: &Release<'_>, old: &Path, new: &Path) -> (Json, Run) {
    let report = report(old, new, release.namespace);
    let script = format!("set -e\n{}", plan_commands(&report, release));
    assert!(script.contains("helm upgrade "), "{script}");
    let run = shell(release.cluster, release.helm, new, &script);
    (report, run)
}

/// The effects of an upgrade by `bundle2chart diff`. CRDs in a folder of their own are no part of
/// a release.
pub(crate) fn planned(report: &Json, namespace: &str, known: &BTreeSet<String>) -> Effect {
    let mut effect = Effect::default();
    let id = |id: &Json| {
        let text = |key: &str| id[key].as_str().unwrap_or_default();
        // The report leaves the release namespace out, as it does for cluster scope.
        let label = identified(text("kind"), text("namespace"), text("name"));
        let here = identified(text("kind"), namespace, text("name"));
        if known.contains(&here) && text("namespace").is_empty() { here } else { label }
    };
    let version_only = report["version_only"].as_array().expect("objects").iter().map(id);
    effect.changed.extend(version_only.filter(|id| known.contains(id)));
    for object in report["objects"].as_array().expect("objects") {
        // What is no object of the cluster.
        if object["id"]["group"] == "bundle2chart" {
            continue;
        }
        let this = id(&object["id"]);
        if !known.contains(&this) && this.starts_with("CustomResourceDefinition/") {
            continue;
        }
        match object["action"].as_str().expect("an action") {
            "added" => effect.created.insert(this),
            // Helm keeps them, as the finding says.
            "removed" if this.starts_with("CustomResourceDefinition/") => false,
            "removed" => effect.deleted.insert(this),
            "renamed" => {
                effect.deleted.insert(id(&object["from"]));
                effect.created.insert(this)
            }
            _ => effect.changed.insert(this),
        };
    }
    let plan = report["plan"].as_array().expect("a plan");
    let items = |id: &'static str| {
        let steps = plan.iter().filter(move |step| step["id"] == id);
        let items = steps.flat_map(|step| step["items"].as_array().expect("items"));
        items.map(|item| item.as_str().expect("a text"))
    };
    for object in report["objects"].as_array().expect("objects") {
        let changes = object["changes"].as_array().expect("changes").iter();
        let mut findings =
            changes.flat_map(|change| change["findings"].as_array().expect("findings"));
        let name = object["id"]["name"].as_str().expect("a name");
        let crd = identified("CustomResourceDefinition", "", name);
        if known.contains(&crd) && findings.any(|finding| finding["code"] == "crd-storage-moved") {
            // No rollback is possible, and the first step says so.
            assert!(items("final").any(|item| item.contains("storage version")), "{name}");
            effect.stored.insert(crd);
        }
    }
    for item in items("restart") {
        // Pods of a Deployment that is created are no restart for the server.
        if item.ends_with("(renamed)") {
            continue;
        }
        let (kind, name) = item.split(' ').next().unwrap_or(item).split_once('/').expect("a kind");
        effect.restarted.insert(identified(kind, namespace, name));
    }
    effect
}

/// The version in which a server stores objects of a CRD.
fn stored_version(crd: &Json) -> Option<&str> {
    let versions = crd["spec"]["versions"].as_array()?;
    versions.iter().find(|version| version["storage"] == true)?["name"].as_str()
}

/// The effects of an upgrade, by the audit log and the objects before and after it.
pub(crate) fn observed(
    (created, deleted): (BTreeSet<String>, BTreeSet<String>),
    before: &Objects,
    after: &Objects,
) -> Effect {
    let mut effect = Effect { created, deleted, ..Effect::default() };
    let template = |object: &Json| object["spec"]["template"].clone();
    for (id, object) in after {
        let Some(old) = before.get(id) else { continue };
        if old != object {
            effect.changed.insert(label(id));
        }
        if stored_version(old) != stored_version(object) {
            effect.stored.insert(label(id));
        }
        if template(old) != template(object) && template(object) != json!(null) {
            effect.restarted.insert(label(id));
        }
    }
    effect
}
