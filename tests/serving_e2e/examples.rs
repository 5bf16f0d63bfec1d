//! The charts of examples/serving, from their installation to their removal.

use crate::cluster::Cluster;
use crate::namespaces;
use crate::promises::{self, Broken};
use crate::release::{NAMESPACE, Release, all_objects, values};
use crate::serving_examples;
use serde_json::{Value as Json, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Limit for pods to be ready on a busy machine.
const PATIENCE: Duration = Duration::from_secs(300);

/// Examples that another controller makes the pods of.
const ELSEWHERE: &[&str] = &["llama-70b-kserve"];

#[test]
#[ignore = "needs Go 1.26: cargo test --test serving_e2e -- --ignored"]
fn examples() {
    namespaces::run("examples::examples", || {
        let cluster = Cluster::start();
        let mut failures = Vec::new();
        for (name, chart) in charts() {
            if ELSEWHERE.contains(&name.as_str()) || !namespaces::is_wanted(&name) {
                continue;
            }
            let begun = Instant::now();
            let broken = lifecycle(&cluster, &name, &chart);
            eprintln!("{name}: {} s, {} broken promises", begun.elapsed().as_secs(), broken.len());
            for (step, Broken { promise, detail }) in broken {
                failures.push(format!("{name} after {step}: {promise}: {detail}"));
            }
        }
        assert!(failures.is_empty(), "{}", failures.join("\n"));
    });
}

/// The charts of examples, by name.
pub(crate) fn charts() -> Vec<(String, PathBuf)> {
    let mut charts = Vec::new();
    for entry in fs::read_dir(serving_examples::charts()).expect("the examples") {
        let folder = entry.expect("an entry").path();
        let Ok(versions) = fs::read_dir(&folder) else { continue };
        let name = folder.file_name().expect("a name").to_string_lossy().into_owned();
        charts.extend(versions.map(|v| (name.clone(), v.expect("an entry").path())));
    }
    charts.sort();
    charts
}

/// Installs, scales, upgrades and uninstalls a chart, and checks its promises after each step.
pub(crate) fn lifecycle(
    cluster: &Cluster,
    name: &str,
    chart: &Path,
) -> Vec<(&'static str, Broken)> {
    let before = all_objects(cluster);
    let release = Release::install(cluster, name, chart, PATIENCE);
    let mut broken = Vec::new();
    let mut check = |step| {
        let found = promises::check(&release);
        let ready = !found.iter().any(|broken| broken.promise == promises::PODS);
        broken.extend(found.into_iter().map(|found| (step, found)));
        ready
    };

    // Without ready pods the next steps would only repeat the finding.
    if check("install") {
        scale(&release);
        if check("scaling") {
            let values = values(chart);
            let image = values["image"].as_str().expect("an image");
            let repository = image.rsplit_once(':').expect("a tag").0;
            release.upgrade(&[&format!("image={repository}:v99.9.9")]);
            check("upgrade");
        }
    }

    let left = release.uninstall(&before);
    broken.extend(unsaid(&left, chart).map(|detail| {
        ("uninstall", Broken { promise: "nothing is left that the README does not name", detail })
    }));
    delete_leases(cluster, &left);
    broken
}

/// Adds a replica to the decode pods: by the value, or as an autoscaler does.
fn scale(release: &Release) {
    let values = values(&release.chart);
    if let Some(replicas) = values["decode"]["replicas"].as_u64() {
        release.upgrade(&[&format!("decode.replicas={}", replicas + 1)]);
        return;
    }
    for workload in release.workloads().iter().filter(|workload| !workload.is_prefill) {
        let name = &workload.name;
        let path = format!("/apis/apps/v1/namespaces/{NAMESPACE}/deployments/{name}/scale");
        let scale = json!({ "spec": { "replicas": workload.replicas + 1 } });
        let answer = release.cluster.client.send("PATCH", &path, Some(&scale));
        assert!(answer.succeeded(), "{:?}", answer.body);
    }
}

/// Objects that are left, and that the chart's README does not name.
fn unsaid(left: &BTreeSet<String>, chart: &Path) -> impl Iterator<Item = String> {
    let readme = fs::read_to_string(chart.join("README.md")).expect("a README");
    let readme = readme.split_once("\n## Uninstall").map(|(_, text)| text.to_owned());
    let readme = readme.unwrap_or_default();
    let left: Vec<String> = left.iter().cloned().collect();
    left.into_iter().filter(move |object| {
        let (_, name) = object.split_once(' ').expect("a name");
        !readme.contains(name)
    })
}

/// Does what the README says of Leases.
fn delete_leases(cluster: &Cluster, left: &BTreeSet<String>) {
    for name in left.iter().filter_map(|object| object.strip_prefix("leases ")) {
        let path = format!("/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/{name}");
        cluster.client.send("DELETE", &path, None::<&Json>);
    }
}
