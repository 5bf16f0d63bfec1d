//! chart-testing accepts the committed charts, those of real operators and those of models: `ct
//! lint` checks Chart.yaml by its schema and the style of YAML files, and runs `helm dependency
//! build` and `helm lint`.
//!
//! The test is ignored because it builds `ct`: `cargo test --test suite -- --ignored chart_testing::`

use super::reviewers::operators;
use crate::support::go::Module;
use crate::support::helm::Helm;
use crate::support::once::{create_once, tools_dir};
use crate::support::serving_examples;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;
use walkdir::WalkDir;

const CT: Module = Module {
    path: "github.com/helm/chart-testing/v3",
    version: "v3.14.0",
    sum: Some("h1:OpvIyKdogEeeLK/LIWx3T/M4EC/mkYx4OUw64EODaB8="),
    package: "./ct",
    not_replaced: &[],
};

/// The programs in Python that `ct lint` runs.
const LINTERS: [&str; 2] = ["yamllint==1.37.1", "yamale==6.0.0"];

/// Returns the program, built once.
fn ct(tools: &Path) -> PathBuf {
    let path = tools.join(format!("chart-testing-{}", CT.version)).join("ct");
    if let Err(reason) = create_once(&path, |staged| CT.build(tools, staged)) {
        panic!(
            "cannot build {} {}: {reason}\n\
             hint: install Go 1.26; GOPROXY sets the proxy for Go modules",
            CT.path, CT.version
        );
    }
    path
}

/// Returns the folder of the linters, installed once.
fn linters(tools: &Path) -> PathBuf {
    let folder = tools.join("chart-testing-linters");
    let installed = create_once(&folder.join("installed"), |staged| {
        let output = Command::new("python3")
            .args(["-m", "pip", "--disable-pip-version-check", "--no-input", "install", "--quiet"])
            .args(["--no-warn-script-location", "--upgrade", "--target"])
            .arg(&folder)
            .args(LINTERS)
            .output()
            .map_err(|error| format!("python3 does not start: {error}"))?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned());
        }
        fs::write(staged, LINTERS.join("\n")).map_err(|error| error.to_string())
    });
    if let Err(reason) = installed {
        panic!("cannot install {LINTERS:?} with pip: {reason}");
    }
    folder
}

/// Copies the committed charts, those of real operators and those of models below `to`; returns
/// their folders.
fn charts(to: &Path) -> Vec<PathBuf> {
    let committed = Path::new(env!("CARGO_MANIFEST_DIR")).join("out");
    let real = operators();
    let mut found = Vec::new();
    let mut trees = vec![("operators", committed), ("models", serving_examples::charts().into())];
    trees.extend(real.iter().map(|case| ("real", case.path("out"))));
    for (name, out) in &trees {
        for entry in WalkDir::new(out).sort_by_file_name() {
            let entry = entry.expect("an entry");
            let copy = to.join(name).join(entry.path().strip_prefix(out).expect("below"));
            if entry.file_type().is_dir() {
                fs::create_dir_all(copy).expect("a folder");
                continue;
            }
            fs::copy(entry.path(), &copy).expect("a file");
            let folder = copy.parent().expect("a folder");
            let is_chart = entry.file_name() == "Chart.yaml";
            if is_chart && !folder.ends_with("charts/crds") {
                found.push(folder.to_owned());
            }
        }
    }
    found
}

/// `helm dependency build` writes into charts, so they are copies. Not checked are what needs a network
/// or history: accounts of maintainers, and that the version is higher than on the main branch.
#[test]
#[ignore = "builds chart-testing, which needs Go 1.26, and installs yamllint and yamale with pip"]
fn ct_lint_accepts_the_charts() {
    let tools = tools_dir();
    let (ct, linters) = (ct(&tools), linters(&tools));
    let rules = CT.download(&tools).expect("the module of chart-testing").join("etc");
    let temporary = TempDir::new().expect("a folder");
    let charts = charts(temporary.path());
    assert!(charts.len() >= 15, "{charts:?}");
    // A warning of yamllint is a success, and `ct` may end before it has read what a linter wrote.
    let warned = fs::read_to_string(rules.join("lintconf.yaml")).expect("the rules of yamllint");
    let strict = temporary.path().join("lintconf.yaml");
    fs::write(&strict, warned.replace("level: warning", "level: error")).expect("a file");

    let helm = Helm::newest().path;
    let folders = [linters.join("bin"), helm.parent().expect("a folder").to_owned()];
    let inherited = std::env::var_os("PATH").expect("PATH");
    let path = std::env::join_paths(folders.into_iter().chain(std::env::split_paths(&inherited)));
    let list: Vec<String> = charts.iter().map(|chart| chart.display().to_string()).collect();
    let output = Command::new(ct)
        .args(["lint", "--check-version-increment=false", "--validate-maintainers=false"])
        .args(["--helm-lint-extra-args=--strict", "--charts", &list.join(",")])
        .arg("--lint-conf")
        .arg(strict)
        .arg("--chart-yaml-schema")
        .arg(rules.join("chart_schema.yaml"))
        .current_dir(temporary.path())
        .env("PATH", path.expect("a path"))
        .env("PYTHONPATH", &linters)
        .env("HOME", temporary.path())
        .env("KUBECONFIG", temporary.path().join("no-cluster"))
        .output()
        .expect("ct starts");
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success(), "{text}");
    let accepted = text.lines().filter(|line| line.starts_with(" \u{2714}")).count();
    assert_eq!(accepted, charts.len(), "{text}");
}
