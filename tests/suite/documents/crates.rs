//! ARCHITECTURE.md draws the crates of the workspace with what each uses.

use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Returns the folder of each crate below src/, with those of the crates that it uses.
fn crates() -> BTreeMap<String, BTreeSet<String>> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo metadata");
    let metadata: Json = serde_json::from_slice(&output.stdout).expect("JSON");
    let folder = |name: &str| name.strip_prefix("bundle2chart-").map(str::to_owned);
    let used = |package: &Json| {
        let dependencies = package["dependencies"].as_array().expect("dependencies");
        let normal = dependencies.iter().filter(|dependency| dependency["kind"].is_null());
        normal.filter_map(|dependency| folder(dependency["name"].as_str()?)).collect()
    };
    let packages = metadata["packages"].as_array().expect("packages");
    packages.iter().filter_map(|one| Some((folder(one["name"].as_str()?)?, used(one)))).collect()
}

#[test]
fn crates_are_as_drawn() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("ARCHITECTURE.md");
    let text = fs::read_to_string(path).expect("ARCHITECTURE.md");
    let rows = text.lines().filter_map(|line| line.strip_prefix("| `src/")?.split_once('`'));
    let drawn: Vec<(&str, BTreeSet<String>)> = rows
        .filter_map(|(name, rest)| {
            let uses = rest.strip_prefix(" | ")?.split(" | ").nth(1)?;
            let names = uses.split('`').skip(1).step_by(2).map(str::to_owned);
            Some((name, names.collect()))
        })
        .collect();

    let crates = crates();
    for (at, (name, uses)) in drawn.iter().enumerate() {
        assert_eq!(crates.get(*name), Some(uses), "what src/{name} uses");
        let below: BTreeSet<&str> = drawn[at + 1..].iter().map(|(name, _)| *name).collect();
        assert!(
            uses.iter().all(|name| below.contains(name.as_str())),
            "src/{name} is drawn too low"
        );
    }
    assert_eq!(drawn.len(), crates.len(), "a crate is not drawn");
    let of_serving: Vec<&String> =
        crates.iter().filter(|(_, uses)| uses.contains("serving")).map(|(name, _)| name).collect();
    assert!(of_serving.is_empty(), "only the program uses serving: {of_serving:?}");
}
