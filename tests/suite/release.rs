//! The release scripts, run dry: archives of programs, their checksums, the container image, and the
//! installation from them.
//!
//! The ignored test builds the static program and runs it in the image's files alone:
//! `cargo test --test suite -- --ignored release::`

use crate::registry::server::{Answer, Server};
use crate::support::command::Case;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The targets of the workflow.
const TARGETS: [&str; 4] = [
    "aarch64-apple-darwin",
    "aarch64-unknown-linux-musl",
    "x86_64-apple-darwin",
    "x86_64-unknown-linux-musl",
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Runs a script of this repository; returns its output.
#[track_caller]
fn script(path: &str, arguments: &[&str], variables: &[(&str, &str)]) -> Result<String, String> {
    let done = Command::new(root().join(path))
        .args(arguments)
        .envs(variables.iter().copied())
        .output()
        .expect("bash runs");
    let text = String::from_utf8([&done.stdout[..], &done.stderr[..]].concat()).expect("UTF-8");
    if done.status.success() { Ok(text) } else { Err(text) }
}

/// Programs of all targets, of which only `native` runs here.
fn programs(case: &Case, native: &Path) -> String {
    for target in TARGETS {
        case.write(&format!("programs/{target}/bundle2chart"), "not for this machine");
    }
    let target = format!("programs/{}-unknown-linux-musl/bundle2chart", std::env::consts::ARCH);
    // A script: compressing the program of the tests takes a minute.
    case.write(&target, format!("#!/bin/sh\nexec '{}' \"$@\"\n", native.display()));
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(case.path(&target), mode).expect("a program");
    case.path("programs").display().to_string()
}

/// Returns the files of an archive with their modes.
fn content(archive: &Path) -> BTreeMap<String, u32> {
    let file = fs::File::open(archive).expect("an archive");
    let mut tar = tar::Archive::new(flate2::read::GzDecoder::new(file));
    let entries = tar.entries().expect("entries");
    entries
        .map(|entry| {
            let entry = entry.expect("an entry");
            let header = entry.header();
            assert_eq!((header.mtime().unwrap(), header.uid().unwrap()), (0, 0));
            let path = entry.path().expect("a path").display().to_string();
            (path, header.mode().expect("a mode"))
        })
        .collect()
}

#[test]
#[ignore = "makes what a release publishes"]
fn archives_have_the_program_completions_and_man_pages() {
    let case = Case::new();
    let native = Path::new(env!("CARGO_BIN_EXE_bundle2chart"));
    let programs = programs(&case, native);
    let dist = case.path("dist").display().to_string();
    script("release/archives.sh", &[VERSION, &programs, &dist], &[]).expect("archives");
    let sums = case.read("dist/SHA256SUMS");
    assert_eq!(sums.lines().count(), TARGETS.len());

    for target in TARGETS {
        let name = format!("bundle2chart-{VERSION}-{target}");
        let files = content(&case.path(&format!("dist/{name}.tar.gz")));
        let mode = |path: &str| files.get(&format!("{name}/{path}")).copied();
        assert_eq!(mode("bundle2chart"), Some(0o755), "{files:?}");
        for path in [
            "LICENSE",
            "README.md",
            "THIRD-PARTY-LICENSES",
            "completions/_bundle2chart",
            "completions/bundle2chart.bash",
            "completions/bundle2chart.fish",
            "man/man1/bundle2chart.1",
            "man/man1/bundle2chart-build.1",
        ] {
            assert_eq!(mode(path), Some(0o644), "{path} in {files:?}");
        }
    }
    // The same programs give the same bytes.
    let again = case.path("again").display().to_string();
    script("release/archives.sh", &[VERSION, &programs, &again], &[]).expect("archives");
    assert_eq!(case.read("again/SHA256SUMS"), sums);
    let wrong = script("release/archives.sh", &["9.9.9", &programs, &again], &[]);
    assert!(wrong.is_err_and(|text| text.contains("not 9.9.9")));
}

#[test]
#[ignore = "makes what a release publishes"]
fn an_installation_verifies_the_checksum() {
    let case = Case::new();
    let native = Path::new(env!("CARGO_BIN_EXE_bundle2chart"));
    let programs = programs(&case, native);
    let dist = case.path("dist");
    let shown = dist.display().to_string();
    script("release/archives.sh", &[VERSION, &programs, &shown], &[]).expect("archives");
    let prefix = format!("/download/v{VERSION}/");
    let server = Server::start(move |asked| {
        let name = asked.target.strip_prefix(&prefix).unwrap_or("none");
        fs::read(dist.join(name)).map_or_else(|_| Answer::new(404, ""), |it| Answer::new(200, it))
    });
    let releases = format!("http://{}/download", server.host());
    let to = case.path("installed").display().to_string();
    let install = |version: &str| {
        let variables = [("RELEASES", releases.as_str()), ("NO_PROXY", "127.0.0.1")];
        script("recipes/install.sh", &[version, &to], &variables)
    };
    install(VERSION).expect("an installation");
    let installed = case.path("installed/bundle2chart");
    let done = Command::new(&installed).arg("--version").output().expect("the program runs");
    assert_eq!(String::from_utf8_lossy(&done.stdout), format!("bundle2chart {VERSION}\n"));

    // Another archive than the one of the checksum, a checksum that is missing, and no such version.
    fs::remove_file(&installed).expect("removed");
    let archive =
        format!("dist/bundle2chart-{VERSION}-{}-unknown-linux-musl.tar.gz", std::env::consts::ARCH);
    let bytes = fs::read(case.path(&archive)).expect("an archive");
    case.write(&archive, [&bytes[..], b"\0"].concat());
    assert!(install(VERSION).is_err());
    case.write(&archive, &bytes);
    let sums = case.read("dist/SHA256SUMS");
    case.write("dist/SHA256SUMS", "");
    assert!(install(VERSION).is_err());
    case.write("dist/SHA256SUMS", sums);
    assert!(install("9.9.9").is_err());
    assert!(!installed.exists());
    install(&format!("v{VERSION}")).expect("an installation");
}

/// Returns a blob of a layout as JSON, if it is what its digest says.
fn blob(layout: &Path, descriptor: &Value) -> (Vec<u8>, Value) {
    let digest = descriptor["digest"].as_str().expect("a digest");
    let hex = digest.strip_prefix("sha256:").expect("SHA-256");
    let bytes = fs::read(layout.join("blobs/sha256").join(hex)).expect("a blob");
    let found: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!((found.as_str(), descriptor["size"].as_u64()), (hex, Some(bytes.len() as u64)));
    let json = serde_json::from_slice(&bytes).unwrap_or_default();
    (bytes, json)
}

/// Writes an image with the programs, and returns the index and its layout.
fn image(case: &Case, programs: &str, name: &str) -> (PathBuf, Value) {
    case.write("ca.crt", "certificates");
    let layout = case.path(name);
    let certificates = case.path("ca.crt").display().to_string();
    let arguments = [VERSION, programs, &certificates, &layout.display().to_string()];
    script("release/image.sh", &arguments, &[]).expect("an image");
    let top: Value =
        serde_json::from_slice(&fs::read(layout.join("index.json")).expect("an index"))
            .expect("JSON");
    let (_, index) = blob(&layout, &top["manifests"][0]);
    (layout, index)
}

#[test]
#[ignore = "makes what a release publishes"]
fn the_image_has_the_program_and_certificates_alone() {
    let case = Case::new();
    let programs = programs(&case, Path::new(env!("CARGO_BIN_EXE_bundle2chart")));
    let (layout, index) = image(&case, &programs, "layout");
    let mut platforms = Vec::new();
    for descriptor in index["manifests"].as_array().expect("manifests") {
        platforms
            .push(descriptor["platform"]["architecture"].as_str().expect("a platform").to_owned());
        let (_, manifest) = blob(&layout, descriptor);
        let (_, config) = blob(&layout, &manifest["config"]);
        assert_eq!(config["config"]["Entrypoint"][0], "/bundle2chart");
        assert_eq!(config["config"]["User"], "65532:65532");
        let (layer, _) = blob(&layout, &manifest["layers"][0]);
        case.write("layer.tar.gz", &layer);
        let files = content(&case.path("layer.tar.gz"));
        let found = |path: &str| files.get(path).copied();
        assert_eq!(found("bundle2chart"), Some(0o755), "{files:?}");
        assert_eq!(found("THIRD-PARTY-LICENSES"), Some(0o644), "{files:?}");
        assert_eq!(found("etc/ssl/certs/ca-certificates.crt"), Some(0o644), "{files:?}");
        assert_eq!(found("tmp/").map(|mode| mode & 0o7777), Some(0o1777), "{files:?}");
        assert_eq!(files.len(), 8, "{files:?}");
    }
    assert_eq!(platforms, ["amd64", "arm64"]);
    let (_, again) = image(&case, &programs, "again");
    assert_eq!(again, index);
}

/// The workflow calls the scripts, for the targets that the installation knows.
#[test]
fn the_workflow_builds_what_is_installed() {
    let read = |path: &str| fs::read_to_string(root().join(path)).expect("a file");
    let workflow: Value =
        serde_yaml::from_str(&read(".github/workflows/release.yml")).expect("YAML");
    let matrix = &workflow["jobs"]["build"]["strategy"]["matrix"]["include"];
    let mut targets: Vec<&str> = matrix
        .as_array()
        .expect("targets")
        .iter()
        .map(|it| it["target"].as_str().unwrap())
        .collect();
    targets.sort_unstable();
    assert_eq!(targets, TARGETS);
    let install = read("recipes/install.sh");
    assert!(TARGETS.iter().all(|target| install.contains(&format!("target={target} "))));
    let text = read(".github/workflows/release.yml");
    for name in ["version", "archives", "image"] {
        assert!(text.contains(&format!("release/{name}.sh ")), "{name}");
    }
    let tag = concat!("v", env!("CARGO_PKG_VERSION"));
    script("release/version.sh", &[tag], &[]).expect("CHANGELOG.md has the version");
    let wrong = script("release/version.sh", &["v9.9.9"], &[]);
    assert!(wrong.is_err_and(|text| text.contains("tag v9.9.9")));
}

/// A release needs a green CI, which runs .ci/run, and the oldest compiler that Cargo.toml states.
#[test]
fn a_release_needs_a_green_ci() {
    let workflow = |name: &str| -> Value {
        let path = root().join(".github/workflows").join(name);
        serde_yaml::from_str(&fs::read_to_string(path).expect("a workflow")).expect("YAML")
    };
    let jobs = &workflow("release.yml")["jobs"];
    assert_eq!(jobs["ci"]["uses"], "./.github/workflows/ci.yml");
    assert_eq!(
        (&jobs["build"]["needs"], &jobs["publish"]["needs"]),
        (&"ci".into(), &"build".into())
    );
    let ci = workflow("ci.yml");
    assert!(ci["on"].as_object().is_some_and(|on| on.contains_key("workflow_call")));
    let text = ci["jobs"].to_string();
    for part in ["\".ci/run\"", "macos-", "^rust-version = "] {
        assert!(text.contains(part), "{part}");
    }
}

/// Clippy checks what this program calls of the standard library (`incompatible_msrv`).
#[test]
fn no_dependency_needs_a_newer_compiler_than_cargo_toml_states() {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--locked", "--format-version", "1"])
        .current_dir(root())
        .output()
        .expect("cargo runs");
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let packages = metadata["packages"].as_array().expect("packages");
    let minor = |package: &Value| -> Option<u32> {
        package["rust_version"].as_str()?.split('.').nth(1)?.parse().ok()
    };
    let own = packages.iter().find(|package| package["name"] == "bundle2chart").and_then(minor);

    let newer: Vec<&Value> = packages
        .iter()
        .filter(|package| minor(package) > own)
        .map(|package| &package["name"])
        .collect();
    assert!(own.is_some() && packages.len() > 100);
    assert_eq!(newer, Vec::<&Value>::new());
}

#[test]
#[ignore = "makes what a release publishes"]
fn licenses_of_all_crates_are_listed_with_their_texts() {
    let target = format!("{}-unknown-linux-musl", std::env::consts::ARCH);
    let text = script("release/licenses.sh", &[&target], &[]).expect("licenses");
    let (list, texts) = text.split_once("\n---- ").expect("a list, and texts");
    let crates: Vec<&str> = list.lines().filter(|line| line.contains(": ")).collect();
    assert!(crates.len() > 100, "{list}");
    assert!(crates.iter().any(|line| line.starts_with("serde ")), "{list}");
    assert!(!list.contains("insta "), "a crate of the tests in {list}");
    assert!(texts.contains("Apache License") && texts.contains("Permission is hereby granted"));
    // The heads of texts name the crates: `serde-1.0.1, serde_json-1.0.2` or `hifijson 0.5.0`.
    let heads: BTreeSet<String> = text
        .lines()
        .filter_map(|line| line.strip_prefix("---- "))
        .flat_map(|head| head.split(", "))
        .map(|name| name.replace(' ', "-"))
        .collect();
    let without: Vec<&str> = crates
        .iter()
        .filter_map(|line| line.split_once(": ").map(|(name, _)| name))
        .filter(|name| !heads.contains(&name.replace(' ', "-")))
        .collect();
    assert_eq!(without, Vec::<&str>::new());
}

/// Every member of the workspace can be packaged, with what a registry shows, and without tests.
#[test]
#[ignore = "makes what a release publishes"]
fn all_crates_are_packaged() {
    let run = |arguments: &[&str]| {
        let done = Command::new(env!("CARGO"))
            .args(arguments)
            .current_dir(root())
            .output()
            .expect("cargo runs");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        done.stdout
    };
    let metadata = run(&["metadata", "--no-deps", "--locked", "--format-version", "1"]);
    let metadata: Value = serde_json::from_slice(&metadata).expect("JSON");
    let case = Case::new();
    let target = case.path("target").display().to_string();
    let package = ["package", "--workspace", "--no-verify", "--allow-dirty", "--locked"];
    run(&[&package[..], &["--target-dir", &target]].concat());

    for package in metadata["packages"].as_array().expect("packages") {
        let name = package["name"].as_str().expect("a name");
        for key in ["description", "license", "repository"] {
            assert!(package[key].is_string(), "{name}: no {key}");
        }
        assert!(package["keywords"].as_array().is_some_and(|list| !list.is_empty()), "{name}");
        let file = case.path(&format!("target/package/{name}-{VERSION}.crate"));
        let tar = flate2::read::GzDecoder::new(fs::File::open(file).expect("a package"));
        let mut tar = tar::Archive::new(tar);
        let files: Vec<String> = tar
            .entries()
            .expect("entries")
            .map(|entry| entry.expect("an entry").path().expect("a path").display().to_string())
            .collect();
        for path in ["README.md", "LICENSE"] {
            assert!(files.contains(&format!("{name}-{VERSION}/{path}")), "{name}: no {path}");
        }
        let strays: Vec<&String> = files
            .iter()
            .filter(|path| ["/tests/", "/fixtures/", "/out/"].iter().any(|it| path.contains(it)))
            .filter(|path| !path.ends_with(".rs"))
            .collect();
        assert!(strays.is_empty() && files.len() < 700, "{name}: {} {strays:?}", files.len());
    }
}

/// The owner of the repository is a fact of Cargo.toml, which `release/owner.sh` sets.
#[test]
fn pages_have_the_owner_of_cargo_toml() {
    let own = env!("CARGO_PKG_REPOSITORY").trim_start_matches("https://github.com/");
    let named =
        regex::Regex::new(r"(?:ghcr\.io/|uses: )([^/\s]+/bundle2chart)").expect("a pattern");
    let pages = ["docs/install.md", "docs/pull-requests.md"];
    let text = pages.map(|page| fs::read_to_string(root().join(page)).expect("a page")).concat();
    let found: Vec<&str> = named.captures_iter(&text).map(|it| it.extract::<1>().1[0]).collect();
    assert_eq!(found, [own, own]);
}

#[test]
#[ignore = "compiles the program once more, with optimizations and musl's C library"]
fn the_static_program_runs_in_the_image_alone() {
    let target = format!("{}-unknown-linux-musl", std::env::consts::ARCH);
    let done = Command::new(env!("CARGO"))
        .args(["build", "--profile", "dist", "--locked", "--target", &target])
        .current_dir(root())
        .status()
        .expect("cargo runs");
    assert!(
        done.success(),
        "hint: `rustup target add {target}`, and on Debian and Ubuntu `apt-get install musl-tools`"
    );
    let directory =
        std::env::var_os("CARGO_TARGET_DIR").map_or(root().join("target"), PathBuf::from);
    let program = directory.join(&target).join("dist/bundle2chart");
    let case = Case::new();
    fs::create_dir_all(case.path(&format!("programs/{target}"))).expect("a directory");
    fs::copy(&program, case.path(&format!("programs/{target}/bundle2chart"))).expect("a program");
    let programs = case.path("programs").display().to_string();
    let (layout, index) = image(&case, &programs, "layout");
    let (_, manifest) = blob(&layout, &index["manifests"][0]);
    let (layer, _) = blob(&layout, &manifest["layers"][0]);
    let tar = flate2::read::GzDecoder::new(&layer[..]);
    tar::Archive::new(tar).unpack(case.path("image")).expect("the files of the image");

    // A build with filters, which start the program once more, without any other file.
    let bundle = root().join("fixtures/bundles/pod-group-operator/1.0.0");
    for entry in walkdir::WalkDir::new(&bundle) {
        let entry = entry.expect("an entry");
        if entry.file_type().is_file() {
            let path = entry.path().strip_prefix(&bundle).expect("a path below");
            let bytes = fs::read(entry.path()).expect("a file");
            case.write(&format!("image/src/bundle/{}", path.display()), bytes);
        }
    }
    let config =
        "[[bundle]]\nname = \"pods\"\npath = \"bundle\"\nexclude = ['.kind == \"Route\"']\n";
    case.write("image/src/bundles.toml", config);
    let done = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "bash", "-ec"])
        .arg(
            "mkdir image/proc && mount --rbind /proc image/proc && cd image && \
              chroot . /bundle2chart build --config src/bundles.toml --out src/out",
        )
        .current_dir(case.path("."))
        .env_clear()
        .env("PATH", std::env::var_os("PATH").expect("PATH"))
        .output()
        .expect("unshare runs");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    assert!(case.path("image/src/out/pods/1.0.0/Chart.yaml").is_file());
}
