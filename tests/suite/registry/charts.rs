//! `push`: charts in the real registry, which real Helm pulls and renders.

use super::distribution::{Distribution, certificate};
use super::project::{PASSWORD, Project};
use super::server::{Answer, Server};
use crate::support::command::{Case, Seen};
use crate::support::helm::Helm;
use crate::support::lamp::CSV_FILE;
use sha2::{Digest as _, Sha256};
use std::path::Path;

const CHART: &str = "out/lamp-operator/1.2.3";

/// A project with a built chart and access to the registry.
fn project(registry: &Distribution) -> Project {
    let case = Case::with_lamps();
    let config = case.read("bundles.toml");
    let host = &registry.host;
    let settings = format!("[[registry]]\nhost = \"{host}\"\nca = \"ca.pem\"\n\n");
    case.write("bundles.toml", settings + &config);
    case.write("ca.pem", &registry.authority);
    let project = Project { case };
    project.log_in(host, PASSWORD);
    assert_eq!(project.run(&["build", "-q"]).code, Some(0));
    project
}

/// Helm with the password and the authority of the registry, or over plain HTTP.
fn helm(helm: &Helm, project: &Project, tls: bool, arguments: &[&str]) -> String {
    let path = |name: &str| project.case.path(name).display().to_string();
    let (config, authority) = (path("auth.json"), path("ca.pem"));
    let tls = if tls { vec!["--ca-file", &authority] } else { vec!["--plain-http"] };
    let access = [vec!["--registry-config", &config], tls].concat();
    helm.run(arguments.iter().chain(&access)).expect_success()
}

#[track_caller]
fn push(project: &Project, registry: &str, more: &[&str]) -> Seen {
    let seen = project.run(&[&["push", registry], more].concat());
    assert_eq!(seen.code, Some(0), "{}", seen.text());
    project.assert_no_secret(&[&seen], &[]);
    seen
}

#[test]
fn helm_installs_pushed_charts_by_tag_and_by_digest() {
    // Helm 3.17 never uses TLS for this machine.
    let (all, mut with_tls) = (Helm::all_in_ci(), Helm::all_in_ci());
    with_tls.retain(|helm| !helm.version.starts_with("3.17."));
    assert_installs(&Distribution::start_plain(), &all, false);
    assert_installs(&Distribution::start(), &with_tls, true);
}

fn assert_installs(registry: &Distribution, helms: &[Helm], tls: bool) {
    let project = project(registry);
    let target = format!("oci://{}/team/charts", registry.host);
    let seen = push(&project, &target, &[]);
    let pinned = seen.stdout.trim();
    assert!(pinned.starts_with(&format!("{target}/lamp-operator:1.2.3@sha256:")), "{pinned}");
    assert!(seen.stderr.contains(": 1 pushed, 0 unchanged"), "{}", seen.stderr);
    let (reference, digest) = pinned.split_once('@').expect("a digest");
    assert!(project.case.read("out/charts.lock").contains(digest));

    project.run(&["package", "-d", "packages"]);
    let package = |folder: &str| {
        let path = project.case.path(&format!("{folder}/lamp-operator-1.2.3.tgz"));
        std::fs::read(path).expect("a package")
    };
    let repository = reference.rsplit_once(':').expect("a tag").0;
    let chart = project.case.path(CHART);
    for version in helms {
        let folder = format!("pulled-{}", version.version);
        std::fs::create_dir(project.case.path(&folder)).expect("a folder");
        let to = project.case.path(&folder).display().to_string();
        helm(version, &project, tls, &["pull", repository, "--version", "1.2.3", "-d", &to]);
        assert!(package(&folder) == package("packages"), "Helm {}", version.version);

        let expected = version.template("lamps", &chart, "lamps", &[]).expect_success();
        let start = ["template", "lamps", "--include-crds", "--namespace", "lamps"];
        let by_tag = [&start[..], &[repository, "--version", "1.2.3"]].concat();
        assert_eq!(helm(version, &project, tls, &by_tag), expected);
        let pinned = format!("{repository}@{digest}");
        assert_eq!(helm(version, &project, tls, &[&start[..], &[&pinned]].concat()), expected);
        let both = [&start[..], &[seen.stdout.trim()]].concat();
        assert_eq!(helm(version, &project, tls, &both), expected, "Helm {}", version.version);
    }
}

#[test]
fn pushes_are_idempotent_and_move_no_tag() {
    let registry = Distribution::start();
    let project = project(&registry);
    project.case.replace("bundles.toml", "path =", "chart-version = \"1.2.3+4\"\npath =");
    assert_eq!(project.run(&["build", "-q"]).code, Some(0));
    let target = format!("oci://{}/charts", registry.host);
    let check = project.run(&["push", &target, "--check"]);
    assert_eq!(check.code, Some(1), "{}", check.text());
    assert!(check.stdout.starts_with("missing oci://"), "{}", check.stdout);

    let first = push(&project, &target, &[]);
    assert!(first.stdout.contains("/lamp-operator:1.2.3_4@sha256:"), "{}", first.stdout);
    let again = push(&project, &target, &[]);
    assert_eq!(again.stdout, first.stdout);
    assert!(again.stderr.contains(": 0 pushed, 1 unchanged"), "{}", again.stderr);
    let check = project.run(&["push", &target, "--check"]);
    assert_eq!((check.code, check.stdout.as_str()), (Some(0), ""));

    // Other content under the same version.
    project.case.replace(CSV_FILE, "displayName: Lamps", "displayName: Lights");
    assert_eq!(project.run(&["build", "-q", "--replace"]).code, Some(0));
    let refused = project.run(&["push", &target]);
    assert_eq!(refused.code, Some(2), "{}", refused.text());
    assert!(refused.stderr.contains("error[tag-exists]"), "{}", refused.stderr);
    assert!(refused.stderr.contains("push --replace"), "{}", refused.stderr);
    let check = project.run(&["push", &target, "--check"]);
    assert!(check.stdout.starts_with("different oci://"), "{}", check.stdout);
    let replaced = push(&project, &target, &["--replace"]);
    assert_ne!(replaced.stdout, first.stdout);
    assert_eq!(project.run(&["push", &target, "--check"]).code, Some(0));
}

#[test]
fn helm_pushes_the_same_package() {
    let registry = Distribution::start();
    let project = project(&registry);
    project.run(&["package", "-d", "packages"]);
    let target = format!("oci://{}/by-helm", registry.host);
    let archive = project.case.path("packages/lamp-operator-1.2.3.tgz").display().to_string();
    helm(&Helm::newest(), &project, true, &["push", &archive, &target]);

    // Helm's manifest has the time of the push, so the tag is another one, and is not moved.
    let seen = project.run(&["push", &target]);
    assert_eq!(seen.code, Some(2), "{}", seen.text());
    assert!(seen.stderr.contains("error[tag-exists]"), "{}", seen.stderr);
    // `verify` says that only the manifest is another one.
    let digest = seen.stderr.split("exists with digest ").nth(1).expect("a digest");
    let digest = digest.split(',').next().expect("a digest");
    let seen = project.run(&["verify", &format!("{target}/lamp-operator@{digest}")]);
    assert_eq!(seen.code, Some(1), "{}", seen.text());
    assert!(seen.stdout.contains("\n  manifest\n"), "{}", seen.stdout);
    assert!(seen.stdout.contains("reason: the package is the same"), "{}", seen.stdout);

    let pulled = project.case.path("pulled").display().to_string();
    std::fs::create_dir(project.case.path("pulled")).expect("a folder");
    let repository = format!("{target}/lamp-operator");
    helm(
        &Helm::newest(),
        &project,
        true,
        &["pull", &repository, "--version", "1.2.3", "-d", &pulled],
    );
    let digest = |path: &Path| Sha256::digest(std::fs::read(path).expect("a package"));
    let pulled = project.case.path("pulled/lamp-operator-1.2.3.tgz");
    assert_eq!(digest(&pulled), digest(Path::new(&archive)));
}

#[test]
fn pushed_charts_are_verified_by_digest() {
    let registry = Distribution::start();
    let project = project(&registry);
    let target = format!("oci://{}/charts", registry.host);
    let pinned = push(&project, &target, &[]).stdout.trim().to_owned();
    let seen = project.run(&["verify", &pinned]);
    assert_eq!(seen.code, Some(0), "{}", seen.text());
    assert!(seen.stdout.starts_with(&format!("{pinned} is byte for byte")), "{}", seen.stdout);
    // Pulled by digest, so that the cache has it.
    assert_eq!(project.run(&["verify", &pinned, "--offline"]).code, Some(0));

    project.case.replace(CSV_FILE, "displayName: Lamps", "displayName: Lights");
    let seen = project.run(&["verify", &pinned]);
    assert_eq!(seen.code, Some(1), "{}", seen.text());
    assert!(seen.stdout.contains("  changed  Chart.yaml, from line "), "{}", seen.stdout);
    let other =
        format!("{}{}", &pinned[..pinned.len() - 1], if pinned.ends_with('0') { 1 } else { 0 });
    let seen = project.run(&["verify", &other]);
    assert_eq!(seen.code, Some(2), "{}", seen.text());
    assert!(seen.stderr.contains("error[image-not-found]"), "{}", seen.stderr);
}

#[test]
fn what_keeps_charts_from_a_registry_is_reported() {
    let registry = Distribution::start();
    let project = project(&registry);
    let target = format!("oci://{}/charts", registry.host);
    project.log_in(&registry.host, "wrong-password-4711");
    let seen = project.run(&["push", &target]);
    assert_eq!(seen.code, Some(2), "{}", seen.text());
    assert!(seen.stderr.contains("error[registry-denied]"), "{}", seen.stderr);
    project.assert_no_secret(&[&seen], &["wrong-password-4711"]);
    let seen = project.run(&["push", &target, "--offline"]);
    assert!(seen.stderr.contains("error[offline]: cannot push"), "{}", seen.stderr);
    let seen = project.run(&["push", "https://registry.example.com/charts"]);
    assert!(seen.stderr.contains("write oci://HOST/PATH"), "{}", seen.stderr);
    assert_eq!(seen.code, Some(2));
    assert!(!project.case.path("out/charts.lock").exists());
}

#[test]
fn a_failing_registry_leaves_the_tag_and_the_record_alone() {
    let (authority, leaf, key) = certificate();
    let server = Server::start_tls(leaf, key, |asked| match asked.method.as_str() {
        "GET" | "HEAD" => Answer::new(404, ""),
        "POST" => Answer::new(202, "").with("location", "/upload"),
        _ if asked.target.starts_with("/upload") => Answer::new(201, ""),
        _ => Answer::new(400, ""),
    });
    let case = Case::with_lamps();
    let config = case.read("bundles.toml");
    let host = server.host();
    case.write(
        "bundles.toml",
        format!("[[registry]]\nhost = \"{host}\"\nca = \"ca.pem\"\n\n{config}"),
    );
    case.write("ca.pem", &authority);
    let project = Project { case };
    assert_eq!(project.run(&["build", "-q"]).code, Some(0));
    let seen = project.run(&["push", &format!("oci://{host}/charts")]);
    assert_eq!((seen.code, seen.stdout.as_str()), (Some(2), ""), "{}", seen.text());
    assert!(seen.stderr.contains("error[registry-failed]"), "{}", seen.stderr);
    assert!(!project.case.path("out/charts.lock").exists());
    // The blobs come before the manifest, which is what makes them a chart.
    let mut put: Vec<String> = server
        .asked()
        .into_iter()
        .filter(|asked| asked.method == "PUT")
        .map(|asked| asked.target.split('?').next().unwrap_or_default().to_owned())
        .collect();
    put.dedup(); // two blobs, one after the other
    assert_eq!(put, ["/upload", "/v2/charts/lamp-operator/manifests/1.2.3"]);
}
