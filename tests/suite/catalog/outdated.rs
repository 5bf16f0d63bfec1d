//! Reports of `outdated` about bundles of catalogs, and the end of `lock --upgrade`.

use super::fixture::*;
use crate::support::command::Case;
use serde_json::{Value, json};

fn entry(version: &str, replaces: &str, more: Value) -> Value {
    let mut entry = json!({ "name": format!("lamp-operator.v{version}") });
    if !replaces.is_empty() {
        entry["replaces"] = json!(format!("lamp-operator.v{replaces}"));
    }
    if let (Value::Object(entry), Value::Object(more)) = (&mut entry, more) {
        entry.extend(more);
    }
    entry
}

fn channel_of(name: &str, entries: &[Value]) -> Value {
    json!({ "schema": "olm.channel", "package": "lamp-operator", "name": name, "entries": entries })
}

const VERSIONS: [&str; 4] = ["1.2.0", "1.2.1", "1.2.2", "1.2.3"];

/// A project that is locked to 1.2.0, whose catalog has gone on since.
pub(crate) fn outdated() -> Case {
    let names = [image_of("1.2.0"), image_of("1.2.1")];
    let case = case(&[(&names[0], bundle_image("1.2.0")), (&names[1], bundle_image("1.2.1"))]);
    let old = [package(), channel_of("stable", &[entry("1.2.0", "", json!({}))]), bundle("1.2.0")];
    case.write("catalog/index.json", as_json(&old));
    let seen = case.run(&["lock"]);
    assert_eq!(seen.code, Some(0), "{}", seen.text());

    let mut new = vec![
        package(),
        channel_of(
            "stable",
            &[
                entry("1.2.0", "", json!({})),
                entry("1.2.1", "1.2.0", json!({})),
                entry("1.2.2", "1.2.0", json!({ "skips": ["lamp-operator.v1.2.1"] })),
                entry("1.2.3", "1.2.2", json!({})),
            ],
        ),
        channel_of("fast", &[entry("2.0.0", "", json!({}))]),
        bundle("2.0.0"),
        json!({ "schema": "olm.deprecations", "package": "lamp-operator", "entries": [
            { "reference": { "schema": "olm.bundle", "name": "lamp-operator.v1.2.0" },
              "message": "1.2.0 leaks light.\nUse 1.2.2." },
            { "reference": { "schema": "olm.bundle", "name": "lamp-operator.v1.2.1" },
              "message": "not installed" },
        ] }),
    ];
    new.extend(VERSIONS.map(bundle));
    case.write("catalog/index.json", as_json(&new));
    case
}

fn locked(case: &Case) -> String {
    let lock = case.read("bundles.lock");
    let line = lock.lines().find(|line| line.starts_with("csv-version")).expect("a version");
    line.split('"').nth(1).expect("a version").to_owned()
}

#[test]
fn newer_versions_and_the_path_to_them_are_reported() {
    let case = outdated();
    let before = case.read("bundles.lock");
    let seen = case.run(&["outdated"]);
    insta::assert_snapshot!("outdated", seen.text());
    let seen = case.run(&["outdated", "--exit-code", "--format", "json", "lamp-operator"]);
    assert_eq!(seen.code, Some(1));
    let report: Value = serde_json::from_str(&seen.stdout).expect("JSON");
    let bundle = &report["bundles"][0];
    assert_eq!(bundle["outdated"], true);
    assert_eq!(bundle["locked"]["version"], "1.2.0");
    let channel = json!({ "name": "stable", "newest": "1.2.3", "selected": "1.2.3" });
    assert_eq!(bundle["channel"], channel);
    assert_eq!(bundle["newest"], json!({ "version": "2.0.0", "channel": "fast" }));
    let step = |version: &str, skips: &[&str]| json!({ "bundle": format!("lamp-operator.v{version}"), "version": version, "skips": skips });
    assert_eq!(bundle["path"], json!([step("1.2.2", &["1.2.1"]), step("1.2.3", &[])]));
    assert_eq!(bundle["deprecations"][0]["message"], "1.2.0 leaks light. Use 1.2.2.");
    assert_eq!(bundle["deprecations"].as_array().map(Vec::len), Some(1));
    assert_eq!(case.read("bundles.lock"), before);
}

#[test]
fn an_upgrade_stops_at_the_next_required_version() {
    let case = outdated();
    let seen = case.run(&["lock", "--upgrade"]);
    insta::assert_snapshot!("upgrade_first_step", seen.text());
    assert_eq!(locked(&case), "1.2.2");
    assert_eq!(case.run(&["build", "--locked", "-q"]).code, Some(0));
    assert!(case.path("out/lamp-operator/1.2.2/Chart.yaml").is_file());
    // Without --upgrade nothing moves.
    assert_eq!(case.run(&["lock", "--check"]).code, Some(0));

    let seen = case.run(&["lock", "--upgrade"]);
    assert_eq!(seen.code, Some(0), "{}", seen.text());
    assert!(!seen.stderr.contains("upgrade-path"), "{}", seen.stderr);
    assert_eq!(locked(&case), "1.2.3");
    assert_eq!(case.run(&["outdated", "--exit-code"]).code, Some(0));
}

#[test]
fn the_required_versions_can_be_left_out() {
    let case = outdated();
    let seen = case.run(&["lock", "--upgrade", "--latest"]);
    insta::assert_snapshot!("upgrade_latest", seen.text());
    assert_eq!(locked(&case), "1.2.3");
    assert_eq!(case.run(&["lock", "--latest"]).code, Some(2));

    // An exact version or another channel in bundles.toml is an instruction of its own.
    let case = outdated();
    let before = case.read("bundles.lock");
    let warning = "the upgrade from 1.2.0 to 1.2.3 leaves out the required 1.2.2";
    for source in ["version = \"1.2.3\"", "channel = \"stable\"", "version = \">=1.2.1\""] {
        for command in ["lock", "build"] {
            case.write("bundles.lock", &before);
            configure(&case, source);
            let seen = case.run(&[command]);
            assert_eq!(seen.code, Some(0), "{}", seen.text());
            assert_eq!(seen.stderr.matches(warning).count(), 1, "{source}: {}", seen.stderr);
            assert_eq!(locked(&case), "1.2.3");
        }
    }
    // What is locked is not reported again.
    assert!(!case.run(&["build"]).stderr.contains("upgrade-path"));
    // An older version is no upgrade.
    configure(&case, "version = \"1.2.2\"");
    let seen = case.run(&["lock"]);
    assert!(seen.stderr.contains("no upgrade path from 1.2.3 to 1.2.2"), "{}", seen.stderr);
    assert_eq!(locked(&case), "1.2.2");
}

#[test]
fn a_missing_path_is_a_warning() {
    let case = outdated();
    let catalog =
        [package(), channel_of("stable", &[entry("1.2.3", "1.2.2", json!({}))]), bundle("1.2.3")];
    case.write("catalog/index.json", as_json(&catalog));
    let seen = case.run(&["outdated"]);
    assert!(
        seen.stdout.contains("no upgrade path from 1.2.0 to 1.2.3 in channel stable"),
        "{}",
        seen.stdout
    );
    let seen = case.run(&["lock", "--upgrade"]);
    assert_eq!(seen.code, Some(0), "{}", seen.text());
    assert!(seen.stderr.contains("warning[upgrade-path]: no upgrade path"), "{}", seen.stderr);
    assert_eq!(locked(&case), "1.2.3");
}
