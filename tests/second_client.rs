//! Images that a second registry client pulls and pushes: oci-client, in the program of
//! tests/oci_client.
//!
//! `cargo test --test second_client -- --ignored` builds that program the first time, with tokio and
//! reqwest, which is why it is not among the dependencies of the other tests.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "tests fail by panicking, and run programs"
)]

#[allow(dead_code, reason = "a part is used")]
#[path = "suite/registry/distribution.rs"]
mod distribution;
#[allow(dead_code, reason = "a part is used")]
#[path = "suite/registry/project.rs"]
mod project;
mod support {
    pub(crate) mod command;
    pub(crate) mod image;
    pub(crate) mod once;
}

use distribution::Distribution;
use project::{PASSWORD, Project, REPOSITORY, USER};
use serde_json::Value as Json;
use sha2::{Digest as _, Sha256};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use support::command::Case;
use support::once::{create_once, tools_dir};

/// The folder of the program's package.
fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/oci_client")
}

/// Returns the program; builds it unless this was done for these sources.
fn program() -> PathBuf {
    let mut hash = Sha256::new();
    for file in ["Cargo.toml", "Cargo.lock", "src/main.rs"] {
        hash.update(fs::read(sources().join(file)).expect("a source"));
    }
    let hash: String = hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    let folder = tools_dir().join("oci_client");
    let path = folder.join(hash).join("oci_client");
    let build = |staged: &Path| {
        let target = folder.join("target");
        let output = Command::new(env!("CARGO"))
            .args(["build", "--locked", "--manifest-path"])
            .arg(sources().join("Cargo.toml"))
            .arg("--target-dir")
            .arg(&target)
            .output()
            .map_err(|error| error.to_string())?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
        let built = target.join("debug/oci_client");
        fs::copy(built, staged).map(drop).map_err(|error| error.to_string())
    };
    if let Err(reason) = create_once(&path, build) {
        panic!(
            "this test needs tests/oci_client and could not build it: {reason}\n\
             hint: it needs the registry of cargo packages, or a mirror of it"
        );
    }
    path
}

/// Runs the program and returns what it printed.
fn oci_client(arguments: &[&str]) -> String {
    let mut command = Command::new(program());
    command.args(arguments).env("REGISTRY_USER", USER).env("REGISTRY_PASSWORD", PASSWORD);
    let output = command.output().expect("oci_client runs");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {stderr}");
    String::from_utf8(output.stdout).expect("UTF-8").trim().to_owned()
}

fn run(project: &Project, arguments: &[&str]) {
    let seen = project.run(arguments);
    assert_eq!(seen.code, Some(0), "{arguments:?}: {}\n{}", seen.stdout, seen.stderr);
}

#[test]
#[ignore = "builds tokio and reqwest: cargo test --test second_client -- --ignored"]
fn it_pulls_what_vendor_pushes_byte_for_byte() {
    let registry = Distribution::start_plain();
    let host = &registry.host;
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/registry");
    let images = [
        "sealing-wax/sealing-wax-operator-bundle:1.1.0",
        "mesh/mesh-operator-bundle:2.3.1",
        "pod-groups/pod-group-operator-bundle:1.0.0",
    ];
    let mut text = format!(
        "[[mirror]]\nfrom = \"registry.example.com\"\nto = \"oci-layout:{}\"\n",
        fixtures.display()
    );
    for (index, image) in images.iter().enumerate() {
        let image = format!("registry.example.com/{image}");
        text.push_str(&format!("[[bundle]]\nname = \"bundle-{index}\"\nimage = \"{image}\"\n"));
    }
    let case = Case::new();
    case.write("bundles.toml", text);
    let project = Project { case };
    project.log_in(host, PASSWORD);
    run(&project, &["lock"]);
    run(&project, &["vendor", "--to", &format!("{host}/mirror")]);

    for image in images {
        let folder = project.case.path("pulled");
        let folder = folder.to_str().expect("UTF-8");
        let digest = oci_client(&["pull", &format!("{host}/mirror/{image}"), folder]);
        assert!(project.case.path("pulled").join(&digest).is_file(), "{image}");
        let pulled = project.files("pulled");
        assert!(pulled.len() > 2, "{image}: {:?}", pulled.keys());
        for (name, bytes) in pulled {
            let name = name.to_str().expect("UTF-8");
            let original = fixtures.join("blobs").join(name.replace(':', "/"));
            assert!(fs::read(original).expect("a blob") == bytes, "{image}: {name}");
        }
        fs::remove_dir_all(project.case.path("pulled")).expect("a folder");
    }
}

#[test]
#[ignore = "builds tokio and reqwest: cargo test --test second_client -- --ignored"]
fn a_build_reads_what_it_pushes() {
    let registry = Distribution::start_plain();
    let project = Project::new(&registry.host);
    project.log_in(&registry.host, PASSWORD);
    let files = project::lamp();
    for (path, bytes) in &files {
        if let Some(digest) = path.strip_prefix("blobs/sha256/") {
            project.case.write(&format!("image/sha256:{digest}"), bytes);
        }
    }
    let index: Json = serde_json::from_slice(&files["index.json"]).expect("an index");
    let digest = index["manifests"][0]["digest"].as_str().expect("a digest");
    let image = format!("{}/{REPOSITORY}:1.0.0", registry.host);
    let folder = project.case.path("image");
    oci_client(&["push", &image, folder.to_str().expect("UTF-8"), digest]);

    let seen = project.run(&["build"]);
    project::assert_built(&project, &seen);
    assert!(project.case.read("bundles.lock").contains(digest));
}

#[test]
#[ignore = "builds tokio and reqwest: cargo test --test second_client -- --ignored"]
fn it_finds_the_attestations_of_pushed_charts() {
    let registry = Distribution::start_plain();
    let host = &registry.host;
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/registry");
    let case = Case::new();
    case.write(
        "bundles.toml",
        format!(
            "[[mirror]]\nfrom = \"registry.example.com\"\nto = \"oci-layout:{}\"\n\
             [[bundle]]\nname = \"wax\"\n\
             image = \"registry.example.com/sealing-wax/sealing-wax-operator-bundle:1.1.0\"\n",
            fixtures.display()
        ),
    );
    let project = Project { case };
    project.log_in(host, PASSWORD);
    run(&project, &["build", "-q"]);
    let seen = project.run(&["push", &format!("oci://{host}/charts")]);
    assert_eq!(seen.code, Some(0), "{}\n{}", seen.stdout, seen.stderr);
    let chart = seen.stdout.trim().rsplit_once('@').expect("a digest").1.to_owned();

    let bundle = project.case.read("bundles.lock");
    let bundle = bundle.split("manifest = { digest = \"sha256:").nth(1).expect("a digest");
    for (artifact_type, content) in [
        ("application/vnd.cyclonedx+json", "\"bomFormat\":\"CycloneDX\"".to_owned()),
        ("application/vnd.in-toto+json", format!("\"sha256\":\"{}\"", &bundle[..64])),
    ] {
        let repository = format!("{host}/charts/wax");
        let found = oci_client(&["referrers", &format!("{repository}@{chart}"), artifact_type]);
        assert_eq!(found.lines().count(), 1, "{artifact_type}: {found}");
        let folder = project.case.path("pulled");
        oci_client(&["pull", &format!("{repository}@{found}"), folder.to_str().expect("UTF-8")]);
        let pulled = project.files("pulled");
        let texts: Vec<String> =
            pulled.values().map(|bytes| String::from_utf8_lossy(bytes).into_owned()).collect();
        assert!(texts.iter().any(|text| text.contains(&content)), "{artifact_type}: {texts:?}");
        fs::remove_dir_all(folder).expect("a folder");
    }
}
