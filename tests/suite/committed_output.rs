//! The charts in `out/` are those that `bundles.toml` describes.

use crate::support::helm::Helm;
use crate::support::rendered::documents;
use serde_json::Value as Json;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use walkdir::WalkDir;

#[test]
fn is_what_a_build_makes() {
    let run = Command::new(env!("CARGO_BIN_EXE_bundle2chart"))
        .args(["build", "--check"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("bundle2chart runs");
    let (differences, words) =
        (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
    assert!(
        run.status.code() == Some(0) && differences.is_empty(),
        "out/ is not what bundles.toml describes: run `cargo run -- build --replace`, and read \
         the change before it is committed\n{differences}{words}"
    );
}

/// Every chart in `out/`.
fn charts() -> Vec<PathBuf> {
    let out = Path::new(env!("CARGO_MANIFEST_DIR")).join("out");
    let folders = WalkDir::new(out).min_depth(1).max_depth(2).sort_by_file_name();
    let folders = folders.into_iter().map(|entry| entry.expect("a folder").into_path());
    let charts: Vec<PathBuf> = folders.filter(|path| path.join("Chart.yaml").is_file()).collect();
    assert!(charts.len() >= 8, "{charts:?}");
    charts
}

fn text<'a>(object: &'a Json, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Json::as_str).unwrap_or_default()
}

/// Objects that stay when their release is uninstalled, as a README names them.
fn leftover(object: &Json) -> Option<String> {
    let (kind, name) = (text(object, "/kind"), text(object, "/metadata/name"));
    let hook = text(object, "/metadata/annotations/helm.sh~1hook");
    let policy = text(object, "/metadata/annotations/helm.sh~1hook-delete-policy");
    let kept = text(object, "/metadata/annotations/helm.sh~1resource-policy") == "keep";
    match kind {
        "CustomResourceDefinition" => None,
        "Certificate" => Some(format!("Secret `{}`", text(object, "/spec/secretName"))),
        _ if kept || (!hook.is_empty() && !policy.contains("hook-succeeded")) => {
            Some(format!("{kind} `{name}`"))
        }
        _ => None,
    }
}

/// The list of a README, without the namespace of the release, which no manifest has.
fn told(readme: &str) -> BTreeSet<String> {
    let list = readme.lines().find_map(|line| line.strip_prefix("These stay in the cluster: "));
    let items = list.into_iter().flat_map(|list| list.trim_end_matches('.').split("; "));
    let named = items.filter_map(|item| item.strip_prefix("the "));
    let names = named.map(|item| item.split(',').next().unwrap_or_default().to_owned());
    names.filter(|name| !name.ends_with("of the release")).collect()
}

#[test]
fn readmes_name_what_stays_and_what_a_cluster_can_have_once() {
    let helm = Helm::newest();
    let (mut hooks, mut alone) = (0, 0);
    for chart in charts() {
        let readme = std::fs::read_to_string(chart.join("README.md")).expect("a README");
        let rendered = helm.template("release", &chart, "home", &["--kube-version=1.35"]);
        let objects = documents(&rendered.expect_success());

        let left: BTreeSet<String> = objects.iter().filter_map(leftover).collect();
        assert_eq!(told(&readme), left, "{}", chart.display());
        let crds: Vec<&str> = objects
            .iter()
            .filter(|object| text(object, "/kind") == "CustomResourceDefinition")
            .map(|crd| text(crd, "/metadata/name"))
            .collect();
        let says = ["stay in the cluster: CustomResourceDefinitions", "keeps them", "stubs stay"];
        assert!(crds.is_empty() || says.iter().any(|says| readme.contains(says)), "{chart:?}");
        hooks += left.iter().filter(|name| name.contains("ServiceAccount")).count();

        // Files of crds/ folders belong to no release, and Helm replaces hooks.
        let path = chart.to_str().expect("a UTF-8 path");
        let owned =
            helm.run(["template", "release", path, "--namespace=home", "--kube-version=1.35"]);
        let owned = documents(&owned.expect_success());
        let cluster_scoped: BTreeSet<&str> = owned
            .iter()
            .filter(|object| text(object, "/metadata/namespace").is_empty())
            .filter(|object| text(object, "/metadata/annotations/helm.sh~1hook").is_empty())
            .map(|object| text(object, "/kind"))
            .collect();
        let once =
            readme.lines().find(|line| line.contains("Install one release of it per cluster"));
        assert_eq!(once.is_some(), !cluster_scoped.is_empty(), "{chart:?}: {cluster_scoped:?}");
        for kind in &cluster_scoped {
            assert!(once.unwrap_or_default().contains(&format!("`{kind}`")), "{chart:?}: {kind}");
        }
        alone += usize::from(cluster_scoped.is_empty());
    }
    assert!(hooks > 0 && alone > 0, "neither case may be missing: {hooks}, {alone}");
}
