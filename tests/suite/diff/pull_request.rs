//! Reports in pull requests: all charts since a revision, environments, and reports of builds whose
//! output directory has one version per chart.

use super::{FIXTURES, NAME, built, config, git};
use crate::support::command::Case;
use crate::support::json_schema::JsonSchema;
use bundle2chart::diff::render::markdown;
use serde_json::{Value as Json, json};
use std::path::Path;
use walkdir::WalkDir;

const OTHER: &str = "pod-group-operator";

/// A repository with the charts of two bundles, committed, and the upgrade of one built over it.
fn repository(output: &str) -> Case {
    let case = Case::new();
    std::os::unix::fs::symlink(FIXTURES, case.path("bundles")).expect("a link");
    git(&case, &["init", "--quiet"]);
    case.write("bundles.toml", two("1.0.0", output));
    assert_eq!(case.run(&["build"]).code, Some(0));
    git(&case, &["add", "."]);
    git(&case, &["commit", "--quiet", "-m", "one"]);
    case.write("bundles.toml", two("1.1.0", output));
    let seen = case.run(&["build"]);
    assert_eq!(seen.code, Some(0), "{}", seen.stderr);
    case
}

fn two(version: &str, output: &str) -> String {
    let other = format!("[[bundle]]\nname = \"{OTHER}\"\npath = \"bundles/{OTHER}/1.0.0\"\n");
    format!("{output}{}{other}", config(version, ""))
}

#[test]
fn all_charts_are_compared_with_a_revision() {
    for output in ["", "[output]\nlayout = \"flat\"\n"] {
        let case = repository(output);
        let seen = case.run(&["diff", "--rev", "HEAD", "--format", "json"]);
        assert_eq!(seen.code, Some(0), "{}", seen.stderr);
        let report: Json = serde_json::from_str(&seen.stdout).expect("JSON");
        assert_eq!(report["unchanged"], json!([OTHER]), "{}", seen.stdout);
        assert_eq!(report["comparisons"][0]["name"], NAME);
        assert_eq!(report["comparisons"][0]["report"]["old"], format!("{NAME} 1.0.0 at HEAD"));
        let schema = JsonSchema::new(&super::report_schema());
        assert!(schema.problems(&report).is_empty(), "{}", seen.stdout);

        let seen = case.run(&["diff", "--rev", "HEAD", "--format", "markdown"]);
        assert!(seen.stdout.len() <= markdown::LIMIT);
        assert!(seen.stdout.contains(&format!("| {NAME} | ")), "{}", seen.stdout);
        assert!(seen.stdout.contains("## Plan"), "{}", seen.stdout);
        assert!(
            case.run(&["diff", "--rev", "HEAD", "--format", "html"]).stdout.contains("chart-1")
        );
        let failing = ["diff", "--rev", "HEAD", "--fail-on", "breaking"];
        assert_eq!(case.run(&failing).code, Some(1));

        // A chart that is new, and one that is gone.
        std::fs::remove_dir_all(case.path(&format!("out/{OTHER}"))).expect("removed");
        let gone = case.run(&["diff", "--rev", "HEAD"]).stdout;
        assert!(
            gone.contains(&format!(
                "== {OTHER} ==\n{OTHER} 1.0.0 at HEAD → (none) in namespace {OTHER}\n"
            )),
            "{gone}"
        );
    }
    let case = Case::new();
    git(&case, &["init", "--quiet"]);
    case.write("a", "a");
    git(&case, &["add", "."]);
    git(&case, &["commit", "--quiet", "-m", "one"]);
    let seen = case.run(&["diff", "--rev", "HEAD"]);
    assert_eq!(seen.code, Some(2));
    assert!(seen.stderr.contains("error[chart-not-found]"), "{}", seen.stderr);
    assert_eq!(case.run(&["diff", "--rev", "no-such"]).code, Some(2));
}

#[test]
fn environments_have_a_report_each_where_they_differ() {
    let case = built();
    case.write("base.yaml", "{}\n");
    case.write("secret.yaml", "pullSecret:\n  dockerConfigJson: '{\"auths\": {}}'\n");
    let one = format!("{NAME}@1.0.0");
    let run = |files: &[&str]| -> Json {
        let mut arguments = vec!["diff", &one, NAME, "--format", "json"];
        files.iter().for_each(|file| arguments.extend(["-f", file]));
        let seen = case.run(&arguments);
        assert_eq!(seen.code, Some(0), "{}", seen.stderr);
        serde_json::from_str(&seen.stdout).expect("JSON")
    };
    let same = run(&["base.yaml", "test=base.yaml", "prod=base.yaml"]);
    assert_eq!(same["values"], json!(["base.yaml", "base.yaml"]), "{same}");
    let differ = run(&["base.yaml", "test=base.yaml", "prod=secret.yaml"]);
    let names: Vec<&Json> =
        differ["comparisons"].as_array().expect("two").iter().map(|one| &one["name"]).collect();
    assert_eq!(names, [&json!("prod"), &json!("test")]);
    assert_eq!(differ["comparisons"][0]["report"]["values"], json!(["base.yaml", "secret.yaml"]));
}

#[test]
fn the_flat_layout_has_reports_that_stay() {
    let case = repository("[output]\nlayout = \"flat\"\n");
    let upgrade = format!("out/{NAME}/UPGRADE.md");
    let report = case.read(&upgrade);
    assert!(report.starts_with(&format!("# {NAME} 1.0.0 → 1.1.0\n")), "{report}");
    assert!(case.read("out/REPORT.md").contains(&format!("[1.0.0]({NAME}/UPGRADE.md)")));
    let before = case.tree("out");
    for committed in [false, true] {
        if committed {
            git(&case, &["add", "."]);
            git(&case, &["commit", "--quiet", "-m", "two"]);
        }
        let seen = case.run(&["build", "--check"]);
        assert_eq!((seen.code, seen.stdout.as_str()), (Some(0), ""), "{}", seen.stderr);
        assert_eq!(case.run(&["build"]).code, Some(0));
        assert_eq!(case.tree("out"), before);
    }
    // An edited report is not taken over.
    case.write(&upgrade, format!("{report}mine\n"));
    assert_eq!(case.run(&["build", "--check"]).code, Some(1));
    assert!(case.run(&["build"]).stderr.contains("error[chart-edited]"));
}

#[test]
fn earlier_versions_above_keep_are_removed() {
    let keep = |count: u32| format!("[output]\nkeep = {count}\n");
    let case = built();
    let old = format!("out/{NAME}/1.0.0");
    case.write("bundles.toml", format!("{}{}", keep(2), config("1.1.0", "")));
    assert_eq!(case.run(&["build", "--check"]).code, Some(0));
    case.write("bundles.toml", format!("{}{}", keep(1), config("1.1.0", "")));
    let seen = case.run(&["build", "--check"]);
    assert_eq!(seen.code, Some(1));
    assert!(seen.stdout.contains(&format!("extra out/{NAME}/1.0.0\n")), "{}", seen.stdout);
    // A foreign file keeps the directory.
    case.write(&format!("{old}/mine"), "mine");
    let seen = case.run(&["build"]);
    assert!(seen.stderr.contains("warning[foreign-file]"), "{}", seen.stderr);
    assert!(case.path(&old).is_dir());
    case.remove(&format!("{old}/mine"));
    let seen = case.run(&["build"]);
    assert_eq!(seen.code, Some(0), "{}", seen.stderr);
    assert!(seen.stderr.contains(&format!("{NAME}/1.0.0  removed")), "{}", seen.stderr);
    assert!(!case.path(&old).exists());
    assert!(case.read(&format!("out/{NAME}/1.1.0/UPGRADE.md")).contains("1.0.0 → "));
    let seen = case.run(&["build", "--check"]);
    assert_eq!((seen.code, seen.stdout.as_str()), (Some(0), ""), "{}", seen.stderr);
}

/// Writes a bundle of a version that the fixtures do not have, made of 1.1.0.
fn later_bundle(case: &Case, version: &str) -> String {
    let folder = Path::new(FIXTURES).join(NAME).join("1.1.0");
    for entry in WalkDir::new(&folder) {
        let entry = entry.expect("a fixture");
        if entry.file_type().is_file() {
            let path = entry.path().strip_prefix(&folder).expect("below").display().to_string();
            let text = std::fs::read_to_string(entry.path()).expect("text");
            case.write(&format!("later/{version}/{path}"), text.replace("1.1.0", version));
        }
    }
    format!("[[bundle]]\nname = \"{NAME}\"\npath = \"later/{version}\"\n")
}

#[test]
fn the_newest_versions_stay_whichever_is_built() {
    let case = built();
    let keep = |count: u32, bundle: &str| format!("[output]\nkeep = {count}\n{bundle}");
    let versions = || -> Vec<String> {
        let mut versions: Vec<String> = std::fs::read_dir(case.path(&format!("out/{NAME}")))
            .expect("a directory")
            .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
            .collect();
        versions.sort();
        versions
    };
    // Two of three: the earliest goes.
    let later = later_bundle(&case, "1.2.0");
    case.write("bundles.toml", keep(2, &later));
    let seen = case.run(&["build"]);
    assert_eq!(seen.code, Some(0), "{}", seen.stderr);
    assert_eq!(versions(), ["1.1.0", "1.2.0"]);
    assert!(seen.stderr.contains(&format!("{NAME}/1.0.0  removed")), "{}", seen.stderr);
    // The reports compare with the version that stays.
    let upgrade = case.read(&format!("out/{NAME}/1.2.0/UPGRADE.md"));
    assert!(upgrade.starts_with(&format!("# {NAME} 1.1.0 → 1.2.0\n")), "{upgrade}");
    assert!(case.read("out/REPORT.md").contains(&format!("[1.1.0]({NAME}/1.2.0/UPGRADE.md)")));
    let seen = case.run(&["build", "--check"]);
    assert_eq!((seen.code, seen.stdout.as_str()), (Some(0), ""), "{}", seen.stderr);

    // A later version than the one that is built is never removed.
    case.write("bundles.toml", keep(1, &config("1.1.0", "")));
    let seen = case.run(&["build"]);
    assert_eq!(seen.code, Some(0), "{}", seen.stderr);
    assert_eq!(versions(), ["1.1.0", "1.2.0"]);

    // Neither is a version with an edited file.
    let edited = format!("out/{NAME}/1.1.0/values.yaml");
    case.write(&edited, format!("{}# mine\n", case.read(&edited)));
    case.write("bundles.toml", keep(1, &later));
    let seen = case.run(&["build"]);
    assert!(seen.stderr.contains("warning[foreign-file]"), "{}", seen.stderr);
    assert!(seen.stderr.contains("values.yaml"), "{}", seen.stderr);
    assert_eq!(versions(), ["1.1.0", "1.2.0"]);
    assert!(case.read(&edited).ends_with("# mine\n"));
}

#[test]
fn versions_that_head_does_not_have_need_no_replace() {
    let case = repository("");
    let changed = format!("{}[bundle.namespaces]\noperand = \"other\"\n", config("1.1.0", ""));
    // 1.1.0 is built and not committed.
    case.write("bundles.toml", &changed);
    let seen = case.run(&["build"]);
    assert_eq!(seen.code, Some(0), "{}", seen.stderr);
    // Committed, it is released.
    git(&case, &["add", "."]);
    git(&case, &["commit", "--quiet", "-m", "two"]);
    case.write("bundles.toml", config("1.1.0", ""));
    let seen = case.run(&["build"]);
    assert_eq!(seen.code, Some(2), "{}", seen.stderr);
    assert!(seen.stderr.contains("error[chart-version-exists]"), "{}", seen.stderr);
    assert_eq!(case.run(&["build", "--replace"]).code, Some(0));
    // Changed since HEAD: replaced again without the option.
    case.write("bundles.toml", &changed);
    assert_eq!(case.run(&["build"]).code, Some(0));
    // In the flat layout, too.
    let flat = repository("[output]\nlayout = \"flat\"\n");
    let changed = format!("[output]\nlayout = \"flat\"\n{changed}");
    flat.write("bundles.toml", &changed);
    let seen = flat.run(&["build"]);
    assert_eq!(seen.code, Some(0), "{}", seen.stderr);
    // Directories that Git ignores have no released versions to compare with.
    case.write(".gitignore", "out/\n");
    git(&case, &["rm", "-r", "--cached", "--quiet", "out"]);
    git(&case, &["add", ".gitignore"]);
    git(&case, &["commit", "--quiet", "-m", "ignored"]);
    case.write("bundles.toml", config("1.1.0", ""));
    assert_eq!(case.run(&["build"]).code, Some(2));
    case.write("bundles.toml", changed.replace("[output]\nlayout = \"flat\"\n", ""));
    assert_eq!(case.run(&["build"]).code, Some(0));
    // Without Git every version counts as released.
    std::fs::remove_dir_all(case.path(".git")).expect("removed");
    case.write("bundles.toml", config("1.1.0", ""));
    assert_eq!(case.run(&["build"]).code, Some(2));
}
