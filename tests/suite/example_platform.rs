//! examples/llm-platform: it parses, its schema holds, its order is sound; and with the shared test
//! data, those bundles that are there are built with its settings.

use crate::support::json_schema::JsonSchema;
use crate::support::llm_platform;
use bundle2chart::config::Config;
use bundle2chart::config::schema::json_schema;
use bundle2chart::deploy::{Install, Release, plan};
use bundle2chart::diag::Diagnostics;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use toml::Table;

fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/llm-platform")
}

fn text() -> String {
    fs::read_to_string(example().join("bundles.toml")).expect("the example")
}

fn config() -> Config {
    let mut diagnostics = Diagnostics::new();
    let config = Config::read(&example().join("bundles.toml"), &mut diagnostics);
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    config.expect("a configuration")
}

#[test]
fn it_parses_without_a_word() {
    let config = config();
    assert_eq!(config.bundles.len(), 20);
    let governed = config.servings.iter().filter(|model| model.maas.is_some());
    assert_eq!(governed.count(), 1);
    assert!(config.deploy.argocd.is_some() && config.deploy.flux.is_some());
}

#[test]
fn its_schema_holds() {
    let file: Table = text().parse().expect("TOML");
    let json = serde_json::to_value(file).expect("JSON");
    let errors = JsonSchema::new(&json_schema()).problems(&json);
    assert!(errors.is_empty(), "{errors:#?}");
}

/// The file is to be read from the top, so nothing in it depends on what comes later.
#[test]
fn it_stands_in_the_order_in_which_it_is_installed() {
    let config = config();
    let mut before: Vec<&str> = Vec::new();
    for bundle in &config.bundles {
        for needed in &bundle.depends_on {
            assert!(before.contains(&needed.as_str()), "{} before {needed}", bundle.name);
        }
        before.push(&bundle.name);
    }
    let releases: Vec<Release> = config
        .bundles
        .iter()
        .map(|bundle| Release {
            name: bundle.name.clone(),
            bundle: bundle.name.clone(),
            namespace: bundle.namespace.clone().expect("every namespace is said"),
            dir: bundle.name.clone(),
            depends_on: bundle.depends_on.clone(),
            install: Install::default(),
        })
        .collect();
    let mut levels = String::new();
    for planned in plan(&releases) {
        let _ = writeln!(levels, "{} {}", planned.level, planned.release.name);
    }
    insta::assert_snapshot!(levels);
}

/// Nothing in the file is only there because the program cannot express it: no bundle of CRDs, no gate
/// in a comment, and no object to be applied by hand.
#[test]
fn everything_is_data() {
    let text = text();
    assert!(!text.contains("GATE:"), "a gate in a comment");
    let readme = fs::read_to_string(example().join("README.md")).expect("a README");
    assert!(!readme.contains("by hand"), "{readme}");
    // Each gate of the file is in the README, by its object.
    for bundle in config().bundles {
        for gate in &bundle.gates {
            assert!(readme.contains(&gate.target.name), "{}: {}", bundle.name, gate.target.name);
        }
    }
}

#[test]
fn operands_are_named_in_the_readme() {
    let readme = fs::read_to_string(example().join("README.md")).expect("a README");
    let config = config();
    for bundle in &config.bundles {
        let family = bundle.name.trim_end_matches("operator");
        assert!(readme.contains(&bundle.name) || readme.contains(family), "{}", bundle.name);
    }
    for entry in fs::read_dir(example().join("operands")).expect("operands") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        assert!(readme.contains(&format!("operands/{name}")), "{name}");
        let documents =
            serde_yaml::Deserializer::from_str(&fs::read_to_string(&path).expect("a text"))
                .map(|document| {
                    use serde::Deserialize as _;
                    serde_json::Value::deserialize(document).expect("YAML")
                })
                .collect::<Vec<_>>();
        assert!(
            documents.iter().all(|d| d["kind"].is_string() && d["metadata"]["name"].is_string())
        );
    }
}

#[test]
fn bundles_of_the_shared_data_are_built() {
    let Some(case) = llm_platform::case() else { return };
    let seen = case.run(&["build", "--offline"]);
    assert_eq!(seen.code, Some(0), "{}", seen.text());
    let warnings: Vec<&str> =
        seen.stderr.lines().filter(|line| line.starts_with("warning")).collect();
    insta::assert_snapshot!("warnings", warnings.join("\n"));
    let helmfile: serde_json::Value =
        serde_yaml::from_str(&case.read("out/helmfile.yaml")).expect("YAML");
    let names: Vec<&str> = helmfile["releases"]
        .as_array()
        .unwrap()
        .iter()
        .map(|release| release["name"].as_str().unwrap())
        .collect();
    // Each operator, and the operand charts of those that have operands of their own kinds.
    insta::assert_snapshot!("releases", names.join("\n"));
    let at = |name: &str| names.iter().position(|found| *found == name).expect(name);
    assert!(at("cert-manager-operator") < at("lws-operator"));
    assert!(at("lws-operator") < at("lws-operator-operands"));
    // Models come last, after the platform that they name.
    for needed in ["issuers", "maas-platform", "rhods-operator", "maas-tenant"] {
        assert!(at("cert-manager-operator") < at(needed) && at(needed) < at("granite"), "{needed}");
    }
    let lws = case.listing("out/lws-operator");
    assert!(lws.contains("auth-reader.kube-system.yaml"), "auth-reader: {lws}");
    // What the defaults leave out is in no chart.
    let charts = case.tree("out");
    let templates =
        charts.iter().filter(|(path, _)| path.to_string_lossy().contains("/templates/"));
    for (path, (content, _)) in templates {
        let content = String::from_utf8_lossy(content);
        for foreign in ["monitoring.coreos.com/v1\n", "kind: SecurityContextConstraints"] {
            assert!(!content.contains(foreign), "{}: {foreign}", path.display());
        }
    }
    let check = case.run(&["build", "--offline", "--check"]);
    assert_eq!(check.code, Some(0), "{}", check.text());
}
