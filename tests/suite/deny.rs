//! Licenses, sources and bans of dependencies, by deny.toml: those of the program, of the fuzz targets
//! and of the second registry client.
//!
//! `cargo test --test suite -- --ignored deny::` compiles and runs cargo-deny, which also checks
//! advisories and yanked versions. Licenses, sources and bans are checked without it in each run.

use crate::support::cargo_program;
use serde_json::Value as Json;
use std::fs;
use std::iter::Peekable;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The version of cargo-deny.
const VERSION: &str = "0.20.2";

const WORKSPACES: [&str; 3] = [".", "fuzz", "tests/oci_client"];

/// The packages of this repository.
const LOCAL: [&str; 4] =
    ["bundle2chart", "bundle2chart-compiler", "bundle2chart-fuzz", "oci_client"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn manifest(workspace: &str) -> PathBuf {
    root().join(workspace).join("Cargo.toml")
}

/// A part of deny.toml.
fn rules(table: &str, key: &str) -> Vec<toml::Value> {
    let text = fs::read_to_string(root().join("deny.toml")).expect("deny.toml");
    let rules: toml::Table = text.parse().expect("TOML");
    rules[table][key].as_array().unwrap_or_else(|| panic!("no list {table}.{key}")).clone()
}

fn texts(values: Vec<toml::Value>) -> Vec<String> {
    values.into_iter().map(|value| value.as_str().expect("a text").to_owned()).collect()
}

/// Returns true if licenses of a list meet an SPDX expression. Old packages write `/` for `OR`.
fn is_met(expression: &str, is_allowed: &dyn Fn(&str) -> bool) -> bool {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let mut words = spaced.split_whitespace().peekable();
    let is_met = any(&mut words, is_allowed);
    assert_eq!(words.next(), None, "the rest of {expression}");
    is_met
}

type Words<'w> = Peekable<std::str::SplitWhitespace<'w>>;

fn any(words: &mut Words<'_>, is_allowed: &dyn Fn(&str) -> bool) -> bool {
    let mut is_met = all(words, is_allowed);
    while words.next_if_eq(&"OR").is_some() {
        is_met |= all(words, is_allowed);
    }
    is_met
}

fn all(words: &mut Words<'_>, is_allowed: &dyn Fn(&str) -> bool) -> bool {
    let mut is_met = one(words, is_allowed);
    while words.next_if_eq(&"AND").is_some() {
        is_met &= one(words, is_allowed);
    }
    is_met
}

fn one(words: &mut Words<'_>, is_allowed: &dyn Fn(&str) -> bool) -> bool {
    let word = words.next().expect("a license");
    if word == "(" {
        let is_met = any(words, is_allowed);
        assert_eq!(words.next(), Some(")"));
        return is_met;
    }
    match words.next_if_eq(&"WITH") {
        Some(_) => is_allowed(&format!("{word} WITH {}", words.next().expect("an exception"))),
        None => is_allowed(word),
    }
}

#[test]
fn license_expressions_are_evaluated() {
    let is_allowed = |license: &str| ["MIT", "ISC", "A WITH B"].contains(&license);
    for (expression, expected) in [
        ("MIT", true),
        ("GPL-3.0-only", false),
        ("MIT OR GPL-3.0-only", true),
        ("GPL-3.0-only/MIT", true),
        ("MIT AND GPL-3.0-only", false),
        ("GPL-3.0-only AND MIT OR ISC", true),
        ("GPL-3.0-only AND (MIT OR ISC)", false),
        ("(GPL-3.0-only OR MIT) AND ISC", true),
        ("A WITH B", true),
        ("A", false),
        ("MIT WITH B", false),
    ] {
        assert_eq!(is_met(expression, &is_allowed), expected, "{expression}");
    }
}

/// Returns the packages that a build for one of the targets in deny.toml uses, also for tests.
fn packages(workspace: &str) -> Vec<Json> {
    let mut command = Command::new(env!("CARGO"));
    command.args(["metadata", "--locked", "--format-version=1", "--manifest-path"]);
    command.arg(manifest(workspace));
    for target in texts(rules("graph", "targets")) {
        command.arg(format!("--filter-platform={target}"));
    }
    let output = command.output().expect("cargo runs");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{workspace}: {error}\nhint: cargo needs its package registry"
    );

    let metadata: Json = serde_json::from_slice(&output.stdout).expect("JSON");
    let nodes = metadata["resolve"]["nodes"].as_array().expect("nodes");
    let packages = metadata["packages"].as_array().expect("packages").iter();
    let is_used = |package: &&Json| nodes.iter().any(|node| node["id"] == package["id"]);
    packages.filter(is_used).cloned().collect()
}

#[test]
fn dependencies_have_licenses_of_the_list() {
    let allowed = texts(rules("licenses", "allow"));
    let exceptions = rules("licenses", "exceptions");
    let mut denied = Vec::new();
    for workspace in WORKSPACES {
        let packages = packages(workspace);
        assert!(packages.len() > 100, "{workspace}: only {} packages", packages.len());
        for package in packages {
            let name = package["name"].as_str().expect("a name");
            let exceptions = exceptions.iter().filter(|one| one["crate"].as_str() == Some(name));
            let exceptions: Vec<String> = exceptions
                .flat_map(|one| texts(one["allow"].as_array().expect("a list").clone()))
                .collect();
            let is_allowed =
                |license: &str| allowed.iter().chain(&exceptions).any(|one| one == license);
            let license = package["license"].as_str();
            if !license.is_some_and(|license| is_met(license, &is_allowed)) {
                denied.push(format!("{workspace}: {name}: {}", license.unwrap_or("no license")));
            }
        }
    }
    assert!(denied.is_empty(), "deny.toml does not allow:\n{}", denied.join("\n"));
}

#[test]
fn dependencies_come_from_the_default_registry_and_none_is_banned() {
    let banned: Vec<String> = rules("bans", "deny")
        .iter()
        .map(|rule| rule["crate"].as_str().expect("a name").to_owned())
        .collect();
    for workspace in WORKSPACES {
        let text = fs::read_to_string(root().join(workspace).join("Cargo.lock"));
        let lock: toml::Table = text.expect("Cargo.lock").parse().expect("TOML");
        for package in lock["package"].as_array().expect("packages") {
            let name = package["name"].as_str().expect("a name");
            assert!(!banned.iter().any(|banned| banned == name), "{workspace}: {name} is banned");
            match package.get("source").and_then(toml::Value::as_str) {
                None => assert!(LOCAL.contains(&name), "{workspace}: {name} has no source"),
                Some(source) => assert!(
                    source.starts_with("registry+") && source.ends_with("/crates.io-index"),
                    "{workspace}: {name} comes from {source}"
                ),
            }
        }
    }
}

/// Returns cargo-deny: the program on the PATH, or one that it compiles.
fn cargo_deny() -> PathBuf {
    let on_path = PathBuf::from("cargo-deny");
    match Command::new(&on_path).arg("--version").output() {
        Ok(output) if output.status.success() => on_path,
        _ => cargo_program::installed("cargo-deny", VERSION, &[]),
    }
}

#[test]
#[ignore = "compiles cargo-deny"]
fn cargo_deny_finds_nothing() {
    let program = cargo_deny();
    let run = |workspace: &str, arguments: &[&str]| {
        let mut command = Command::new(&program);
        command.arg("--manifest-path").arg(manifest(workspace));
        command.arg("--config").arg(root().join("deny.toml"));
        let output = command.args(arguments).output().expect("cargo-deny runs");
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    for workspace in WORKSPACES {
        let (is_fine, text) = run(workspace, &["check", "licenses", "bans", "sources"]);
        assert!(is_fine, "{workspace}: {text}");
    }

    // This command reports no finding, so it fails only if the database cannot be fetched.
    let (is_fetched, why) = run(".", &["fetch", "db"]);
    if !is_fetched {
        println!("not checked: advisories and yanked versions, without their database: {why}");
        return;
    }
    for workspace in WORKSPACES {
        let (is_fine, text) = run(workspace, &["check", "advisories"]);
        assert!(is_fine, "{workspace}: {text}");
    }
}
