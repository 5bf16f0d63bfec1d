//! Charts against a real API server: what it does not take, no cluster takes.
//!
//! `cargo test --test api_server -- --ignored` makes the server the first time, which takes about
//! ten minutes and needs Debian 12 and root, so it is no part of `cargo test`. There are no
//! controllers: webhooks and APIs that an operator would serve do not answer.
//!
//! The server is 1.20.2, the newest whose source Debian has. What is newer than that is left out of
//! the copies of charts that are installed here: the version that a chart requires, and objects of
//! the kinds in `NEWER`.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a test"
)]

#[path = "support/api_server.rs"]
mod api_server;
#[path = "support/helm.rs"]
mod helm;
#[path = "support/offline.rs"]
mod offline;
#[path = "support/shared.rs"]
mod shared;

use api_server::ApiServer;
use bundle2chart::config::Config;
use bundle2chart::emit;
use helm::{Helm, HelmRun};
use serde_json::Value as Json;
use shared::shared;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Kinds that came with a later Kubernetes than the server's.
const NEWER: &[(&str, &str)] = &[
    ("autoscaling/v2", "HorizontalPodAutoscaler"),
    ("batch/v1", "CronJob"),
    ("flowcontrol.apiserver.k8s.io/v1", "FlowSchema"),
    ("flowcontrol.apiserver.k8s.io/v1", "PriorityLevelConfiguration"),
    ("policy/v1", "PodDisruptionBudget"),
];

/// Kinds that charts have from other operators: group, version, plural and kind.
const OTHERS: &[(&str, &str, &str, &str)] = &[
    ("cert-manager.io", "v1", "certificates", "Certificate"),
    ("cert-manager.io", "v1", "issuers", "Issuer"),
    ("monitoring.coreos.com", "v1", "servicemonitors", "ServiceMonitor"),
    ("monitoring.coreos.com", "v1", "podmonitors", "PodMonitor"),
    ("monitoring.coreos.com", "v1", "prometheusrules", "PrometheusRule"),
];

/// What is wrong in bundles themselves and carried through: a line, and what it should have been.
const FAULTS: &[(&str, &str)] = &[
    // A port's name needs a letter. In the list of the awkward operator, whose strings stay strings.
    ("targetPort: \"8080\"", "targetPort: 8080"),
];

/// Real bundles that are refused for what is in them, and what the server says.
const REFUSED: &[(&str, &str)] = &[
    // It ships an example of its own resource, without what its own CRD requires.
    ("ack-secretsmanager-controller/1.4.1 install", "spec.name: Required value"),
];

/// What the API server says where an operator does not answer it.
const NO_CONTROLLER: &[&str] = &["failed calling webhook", "conversion webhook for"];

/// What the server says of a resource that does not fit its CRD.
const MISFIT: &str = " is invalid: ";

/// A chart as it is installed here.
struct Copy {
    folder: PathBuf,
    /// Objects that were left out.
    left_out: Vec<String>,
}

/// Copies a chart without what is newer than the server.
fn copy(chart: &Path, to: &Path) -> Copy {
    let mut left_out = Vec::new();
    for entry in walkdir::WalkDir::new(chart).sort_by_file_name() {
        let entry = entry.expect("an entry");
        let relative = entry.path().strip_prefix(chart).expect("below");
        let target = to.join(relative);
        if entry.file_type().is_dir() {
            fs::create_dir_all(target).expect("a folder");
            continue;
        }
        let mut text = fs::read_to_string(entry.path()).expect("a text");
        for (wrong, right) in FAULTS {
            text = text.replace(wrong, right);
        }
        let has = |line: String| text.lines().any(|found| found == line);
        let newer = NEWER.iter().any(|(version, kind)| {
            has(format!("apiVersion: {version}")) && has(format!("kind: {kind}"))
        });
        if newer {
            left_out.push(relative.display().to_string());
        } else if relative == Path::new("Chart.yaml") {
            let lines = text.lines().filter(|line| !line.starts_with("kubeVersion:"));
            fs::write(target, lines.collect::<Vec<_>>().join("\n")).expect("a file");
        } else {
            fs::write(target, text).expect("a file");
        }
    }
    Copy { folder: to.to_owned(), left_out }
}

/// A chart with these files.
fn chart(folder: &Path, name: &str, files: &[(String, String)]) -> PathBuf {
    let folder = folder.join(name);
    let metadata = format!("apiVersion: v2\nname: {name}\nversion: 1.0.0\n");
    let all = files.iter().cloned().chain([("Chart.yaml".to_owned(), metadata)]);
    for (path, text) in all {
        let file = folder.join(path);
        fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        fs::write(file, text).expect("a file");
    }
    folder
}

/// Namespaces that bundles.toml has operators watch.
const WATCHED: &[&str] = &["letters", "parcels"];

/// What charts count on: namespaces, and the kinds of other operators, without their schemas.
fn others(folder: &Path) -> PathBuf {
    let crd = |(group, version, plural, kind): &(&str, &str, &str, &str)| {
        let text = format!(
            "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n\
             metadata:\n  name: {plural}.{group}\nspec:\n  group: {group}\n  scope: Namespaced\n\
             \x20 names: {{plural: {plural}, kind: {kind}}}\n  versions:\n  - name: {version}\n\
             \x20   served: true\n    storage: true\n    schema:\n      openAPIV3Schema:\n\
             \x20       type: object\n        x-kubernetes-preserve-unknown-fields: true\n"
        );
        (format!("crds/{plural}.{group}.yaml"), text)
    };
    let namespace = |name: &&str| {
        let text = format!("apiVersion: v1\nkind: Namespace\nmetadata: {{name: {name}}}\n");
        (format!("templates/{name}.yaml"), text)
    };
    let files = OTHERS.iter().map(crd).chain(WATCHED.iter().map(namespace));
    chart(folder, "others", &files.collect::<Vec<_>>())
}

fn install(server: &ApiServer, helm: &Helm, command: &str, name: &str, folder: &Path) -> HelmRun {
    let namespace = format!("{name}-system");
    let mut start = vec![command, name, "--namespace", &namespace];
    if command == "install" {
        start.push("--create-namespace");
    }
    // Helm judges by schemas that the server publishes a while after a CRD; the server always does.
    start.push("--disable-openapi-validation");
    // What a server of this age cannot apply itself, later ones can: ports without a protocol, and
    // quantities that are numbers.
    if helm.version.starts_with("4.") {
        start.push("--server-side=false");
    }
    let arguments = start.iter().map(std::ffi::OsStr::new).chain([folder.as_os_str()]);
    helm.run_on(&server.kubeconfig(), arguments)
}

fn uninstall(server: &ApiServer, helm: &Helm, name: &str) -> HelmRun {
    let namespace = format!("{name}-system");
    let arguments = ["uninstall", name, "--namespace", &namespace];
    helm.run_on(&server.kubeconfig(), arguments.iter().map(std::ffi::OsStr::new))
}

/// Examples of the operator's own resources, one object a chart: `alm-examples` of its bundle.
fn operands(bundle: &Path, folder: &Path, name: &str) -> Vec<PathBuf> {
    // CRDs and operands have charts of their own, which have no examples.
    let Ok(manifests) = fs::read_dir(bundle.join("manifests")) else { return Vec::new() };
    let csv: Json = manifests
        .map(|entry| entry.expect("an entry").path())
        .find(|path| path.to_string_lossy().contains("clusterserviceversion"))
        .map(|path| serde_yaml::from_str(&fs::read_to_string(path).expect("a text")).expect("YAML"))
        .expect("a CSV");
    let examples = csv["metadata"]["annotations"]["alm-examples"].as_str().unwrap_or("[]");
    let examples: Vec<Json> = serde_json::from_str(examples).expect("JSON");
    examples
        .iter()
        .enumerate()
        .map(|(index, example)| {
            let text = emit::escape(&example.to_string());
            let file = ("templates/operand.yaml".to_owned(), text);
            chart(folder, &format!("{name}-operand-{index}"), &[file])
        })
        .collect()
}

/// In the order of the committed helmfile: CRDs come with their operators, and operands after them.
/// With every Helm.
#[test]
#[ignore = "makes an API server, which takes ten minutes"]
fn fixtures_are_taken_in_their_order() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let helmfile: Json = serde_yaml::from_str(
        &fs::read_to_string(root.join("out/helmfile.yaml")).expect("a helmfile"),
    )
    .expect("YAML");
    for helm in Helm::all() {
        let server = ApiServer::start();
        let temporary = TempDir::new().expect("a folder");
        install(&server, &helm, "install", "others", &others(temporary.path())).expect_success();
        let mut seen = String::new();
        for release in helmfile["releases"].as_array().expect("releases") {
            let name = release["name"].as_str().expect("a name");
            let path = release["chart"].as_str().expect("a chart");
            let copy = copy(&root.join("out").join(path), &temporary.path().join(name));
            install(&server, &helm, "install", name, &copy.folder).expect_success();
            let _ = writeln!(seen, "{name}: installed");
            for file in &copy.left_out {
                let _ = writeln!(seen, "  newer than the server: {file}");
            }
            let version = path.rsplit('/').next().expect("a version");
            let version = version.split_once("-fixture").map_or(version, |(version, _)| version);
            let bundle = root.join("fixtures/bundles").join(name).join(version);
            for operand in operands(&bundle, temporary.path(), name) {
                let release = operand.file_name().expect("a name").to_string_lossy().into_owned();
                let run = install(&server, &helm, "install", &release, &operand);
                let unanswered = NO_CONTROLLER.iter().find(|words| run.stderr.contains(**words));
                let what = match unanswered {
                    _ if run.success => "taken",
                    Some(words) => words,
                    // Examples in the fixtures are made up, as their CRDs are.
                    None if run.stderr.contains(MISFIT) => "not as its CRD says",
                    None => panic!("{release} with Helm {}: {}", helm.version, run.stderr),
                };
                let _ = writeln!(seen, "  {release}: {what}");
                if run.success {
                    // A chart NAME-operands may have an object of this name.
                    uninstall(&server, &helm, &release).expect_success();
                }
            }
            // And again, as an upgrade to the same: nothing may be immutable or in conflict.
            install(&server, &helm, "upgrade", name, &copy.folder).expect_success();
        }
        insta::assert_snapshot!("fixtures", seen);
    }
}

/// Every real bundle that compiles is installed, and upgraded to its next version where there is one.
#[test]
#[ignore = "makes an API server, which takes ten minutes"]
fn real_bundles_are_taken() {
    let Some(corpus) = shared("corpus") else { return };
    let helm = Helm::all().into_iter().find(|helm| helm.version.starts_with("3.19")).unwrap();
    let server = ApiServer::start();
    let temporary = TempDir::new().expect("a folder");
    install(&server, &helm, "install", "others", &others(temporary.path())).expect_success();
    let (mut installed, mut upgraded, mut refused) = (0, 0, Vec::new());
    for package in folders(&corpus) {
        let package_name = label(&package);
        let mut command = "install";
        for bundle in folders(&package) {
            let case = temporary.path().join(format!("{package_name}-{}", label(&bundle)));
            let Some(chart) = built(&bundle, &case) else { continue };
            let copy = copy(&chart, &case.join("copy"));
            // Versions bring CRDs that are there from the one before.
            let run = install(&server, &helm, command, "operator", &copy.folder);
            let shown = format!("{package_name}/{} {command}", label(&bundle));
            println!("{shown}: {}", if run.success { "taken" } else { &run.stderr });
            for file in copy.left_out {
                println!("  newer than the server: {file}");
            }
            if run.success && command == "install" {
                (installed, command) = (installed + 1, "upgrade");
            } else if run.success {
                upgraded += 1;
            } else if !REFUSED.iter().any(|(n, why)| *n == shown && run.stderr.contains(why)) {
                refused.push(format!("{shown}: {}", run.stderr));
            }
        }
        let uninstall = ["uninstall", "operator", "--namespace", "operator-system"];
        helm.run_on(&server.kubeconfig(), uninstall);
    }
    println!("{installed} installed, {upgraded} upgraded");
    assert!(refused.is_empty(), "{} refused:\n{}", refused.len(), refused.join("\n"));
    assert!(installed > 50, "{installed}");
}

/// The chart of a bundle folder; nothing for a bundle that is refused.
fn built(bundle: &Path, folder: &Path) -> Option<PathBuf> {
    fs::create_dir_all(folder).expect("a folder");
    let file = folder.join("bundles.toml");
    let path = serde_json::to_string(bundle).expect("UTF-8"); // spelled alike in TOML
    let text = format!("[[bundle]]\nname = \"operator\"\npath = {path}\n");
    fs::write(&file, text).expect("bundles.toml");
    let config = Config::read(&file).0.expect("a configuration");
    let (charts, diagnostics) = offline::build(&config, &["operator"]);
    if diagnostics.has_errors() {
        return None;
    }
    let out = folder.join("out");
    emit::write(&out, &charts, false).expect("an empty folder takes every chart");
    Some(out.join(&charts[0].dir))
}

fn folders(root: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(root).expect("a readable folder");
    let mut folders: Vec<PathBuf> =
        entries.map(|entry| entry.expect("an entry").path()).filter(|p| p.is_dir()).collect();
    folders.sort();
    folders
}

fn label(path: &Path) -> String {
    path.file_name().expect("a name").to_string_lossy().into_owned()
}
