//! The hook for pre-commit, the pipeline for Jenkins, and the configuration of Renovate.

use super::pull_request::{PullRequest, read, yaml};
use regex::Regex;
use serde_json::Value;

#[test]
fn the_hook_fails_for_edited_charts() {
    let hooks = yaml(".pre-commit-hooks.yaml");
    let hook = &hooks[0];
    // pre-commit builds the program with cargo, and runs it once, without file names.
    assert_eq!((&hook["language"], &hook["pass_filenames"]), (&"rust".into(), &false.into()));
    let entry = hook["entry"].as_str().expect("a command");
    let request = PullRequest::new();
    let done = request.script(entry, &[]);
    assert_eq!(done.code, Some(0), "{}", done.text);
    request.edit();
    let done = request.script(entry, &[]);
    assert_eq!(done.code, Some(1), "{}", done.text);
    assert!(
        done.text.contains("stale out/sealing-wax-operator/1.1.0/values.yaml"),
        "{}",
        done.text
    );
}

#[test]
fn the_pipeline_for_jenkins_writes_its_reports() {
    let request = PullRequest::new();
    let text = read("recipes/Jenkinsfile");
    let step = Regex::new(r"(?m)^\s*sh '([^']+)'$").expect("a pattern");
    let steps: Vec<String> = step.captures_iter(&text).map(|found| found[1].to_owned()).collect();
    assert_eq!(steps.len(), text.matches("sh '").count());
    let variables = [("CHANGE_TARGET".to_owned(), "main".to_owned())];
    for step in &steps {
        let done = request.script(step, &variables);
        assert_eq!(done.code, Some(0), "{step}: {}", done.text);
    }
    let sarif: Value =
        serde_json::from_str(&request.case.read("clone/bundle2chart.sarif")).expect("SARIF");
    assert!(!sarif["runs"][0]["results"].as_array().expect("results").is_empty());
    assert!(request.case.read("clone/upgrade.html").contains("1.0.0 → 1.1.0"));
    request.edit();
    assert_eq!(request.script(&steps[0], &variables).code, Some(1));
}

/// The regular expression finds what a build reads, and nothing else.
#[test]
fn renovate_finds_the_tags_of_images_and_catalogs() {
    let config: Value = serde_json::from_str(&read("recipes/renovate.json")).expect("JSON");
    let manager = &config["customManagers"][0];
    let pattern = Regex::new(manager["matchStrings"][0].as_str().expect("a pattern")).expect("RE2");
    let digest = format!("sha256:{}", "0".repeat(64));
    let text = format!(
        "[[bundle]]\nname = \"a\"\nimage = \"quay.io/team/a-bundle:v1.2.3\" # a comment\n\
         # image = \"quay.io/team/old:1\"\n  catalog   = 'registry.example.com:5000/index:v4.20'\n\
         image = \"quay.io/team/b:1.0@{digest}\"\nimage = \"quay.io/team/c@{digest}\"\n\
         catalog = \"./catalog\"\nengine = {{ image = \"vllm/vllm-openai:v0.33.0\" }}\n"
    );
    let found = |text: &str| -> Vec<String> {
        let name = |found: &regex::Captures<'_>, name: &str| {
            found.name(name).map_or("", |part| part.as_str()).to_owned()
        };
        pattern
            .captures_iter(text)
            .map(|found| {
                let [image, tag, digest] =
                    ["depName", "currentValue", "currentDigest"].map(|part| name(&found, part));
                format!("{image} {tag} {digest}").trim().to_owned()
            })
            .collect()
    };
    let expected = [
        "quay.io/team/a-bundle v1.2.3".to_owned(),
        "registry.example.com:5000/index v4.20".to_owned(),
        format!("quay.io/team/b 1.0 {digest}"),
    ];
    assert_eq!(found(&text), expected);

    // All bundles of this repository, and the files that the manager reads.
    let own = read("bundles.toml");
    assert_eq!(found(&own).len(), own.matches("\nimage = \"").count());
    let file = manager["managerFilePatterns"][0].as_str().expect("a pattern").trim_matches('/');
    let file = Regex::new(file).expect("a pattern");
    assert!(file.is_match("bundles.toml") && file.is_match("team/bundles.toml"));
    assert!(!file.is_match("my-bundles.toml") && !file.is_match("bundles.toml.orig"));

    // After an update the charts are built again, and committed with the lock.
    let tasks = &config["packageRules"][0]["postUpgradeTasks"];
    let command = tasks["commands"][0].as_str().expect("a command");
    let command = command.replace("{{{packageFile}}}", "bundles.toml");
    let request = PullRequest::new();
    let done = request.script(&command, &[]);
    assert_eq!(done.code, Some(0), "{}", done.text);
    assert!(done.text.contains("0 created, 0 updated, 1 unchanged"), "{}", done.text);
}
