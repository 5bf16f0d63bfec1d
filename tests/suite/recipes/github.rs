//! action.yml: its steps are run as the runner does, with the expressions replaced.

use super::pull_request::{PullRequest, read, root, yaml};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A `gh` that keeps comments in a file: `api --paginate PATH --jq FILTER`, which needs jq, and
/// `api --silent --method METHOD PATH --field body=@FILE`. Tokens of pull requests from forks may only
/// read.
const GH: &str = r#"#!/bin/bash
set -euo pipefail
[ "$1" = api ]; shift
[ -n "$GH_TOKEN" ]
if [ "$1" = --paginate ]; then
  [ "$2" = repos/team/charts/issues/7/comments ] && [ "$3" = --jq ]
  exec jq --raw-output "$4" "$STATE/comments.json"
fi
[ "$1 $2 $5" = "--silent --method --field" ]
[ "$GH_TOKEN" != read-only ] || { echo 'HTTP 403: Resource not accessible by integration' >&2; exit 1; }
echo "$3 $4" >> "$STATE/requests"
cp "${6#body=@}" "$STATE/body"
if [ "$3 $4" = "POST repos/team/charts/issues/7/comments" ]; then
  jq --rawfile body "$STATE/body" '. + [{ id: 42, user: { login: "github-actions[bot]" }, body: $body }]' \
    "$STATE/comments.json" > "$STATE/new" && mv "$STATE/new" "$STATE/comments.json"
fi
"#;

/// A run of the action on a pull request.
struct Run<'r> {
    request: &'r PullRequest,
    inputs: BTreeMap<String, String>,
    event: &'r str,
}

/// The result of a run.
#[derive(Debug)]
struct Result {
    succeeded: bool,
    /// Names of the steps that ran.
    steps: Vec<String>,
    text: String,
    summary: String,
}

impl Run<'_> {
    /// Runs all steps; `with` are the inputs of a workflow.
    fn start(request: &PullRequest, event: &str, with: &[(&str, &str)]) -> Result {
        let action = yaml("action.yml");
        let inputs = action["inputs"].as_object().expect("inputs");
        let mut values: BTreeMap<String, String> = inputs
            .iter()
            .map(|(name, input)| (name.clone(), input["default"].as_str().unwrap().to_owned()))
            .collect();
        for (name, value) in with {
            assert!(values.insert((*name).to_owned(), (*value).to_owned()).is_some(), "{name}");
        }
        Run { request, inputs: values, event }.steps(&action["runs"]["steps"])
    }

    fn steps(&self, steps: &Value) -> Result {
        let state = self.request.case.path(".").display().to_string();
        let file = |name: &str| self.request.case.path(name).display().to_string();
        let mut outputs: BTreeMap<String, String> = BTreeMap::new();
        let mut result = Result {
            succeeded: true,
            steps: Vec::new(),
            text: String::new(),
            summary: String::new(),
        };
        self.request.case.write("summary", "");
        for step in steps.as_array().expect("steps") {
            let text = |key: &str| step[key].as_str().unwrap_or_default().to_owned();
            if !result.succeeded || !self.holds(&text("if"), &outputs) {
                continue;
            }
            assert_eq!(text("shell"), "bash");
            // Texts of a pull request in a script would be commands.
            assert!(!text("run").contains("${{"), "{step}");
            result.steps.push(text("name"));
            self.request.case.write("outputs", "");
            let mut variables = vec![
                ("GITHUB_OUTPUT".to_owned(), file("outputs")),
                ("GITHUB_STEP_SUMMARY".to_owned(), file("summary")),
                ("GITHUB_PATH".to_owned(), file("path")),
                ("GITHUB_REPOSITORY".to_owned(), "team/charts".to_owned()),
                ("STATE".to_owned(), state.clone()),
            ];
            for (name, value) in step["env"].as_object().expect("variables") {
                variables.push((name.clone(), self.replaced(value.as_str().unwrap(), &outputs)));
            }

            let done = self.request.script(&text("run"), &variables);
            result.text.push_str(&done.text);
            result.succeeded = done.code == Some(0);
            let id = text("id");
            let outcome = if result.succeeded { "success" } else { "failure" };
            outputs.insert(format!("steps.{id}.outcome"), outcome.to_owned());
            for line in self.request.case.read("outputs").lines() {
                let (name, value) = line.split_once('=').expect("an output");
                outputs.insert(format!("steps.{id}.outputs.{name}"), value.to_owned());
            }
        }
        result.summary = self.request.case.read("summary");
        result
    }

    /// Returns the value of an expression's variable; that of a step that did not run is empty.
    fn value(&self, name: &str, outputs: &BTreeMap<String, String>) -> String {
        if let Some(input) = name.strip_prefix("inputs.") {
            let value = &self.inputs[input];
            return self.replaced(value, outputs);
        }
        match name {
            "github.event_name" => self.event.to_owned(),
            "github.base_ref" => "main".to_owned(),
            "github.event.pull_request.number" => "7".to_owned(),
            "github.token" => "token".to_owned(),
            "github.action_path" => root("").display().to_string(),
            "runner.temp" => self.request.case.path("").display().to_string(),
            "github.server_url" => "https://github.com".to_owned(),
            "github.action_repository" => "team/bundle2chart".to_owned(),
            step if step.starts_with("steps.") => outputs.get(step).cloned().unwrap_or_default(),
            _ => panic!("unknown variable {name}"),
        }
    }

    /// Replaces the expressions in a text.
    fn replaced(&self, text: &str, outputs: &BTreeMap<String, String>) -> String {
        let expression = regex::Regex::new(r"\$\{\{ ([a-z_.-]+) \}\}").expect("a pattern");
        let replace = |found: &regex::Captures<'_>| self.value(&found[1], outputs);
        let text = expression.replace_all(text, replace).into_owned();
        assert!(!text.contains("${{"), "{text}");
        text
    }

    /// Evaluates `if`: comparisons with `&&`.
    fn holds(&self, condition: &str, outputs: &BTreeMap<String, String>) -> bool {
        condition.split(" && ").filter(|part| !part.is_empty()).all(|part| {
            let (name, value, equal) = match (part.split_once(" == "), part.split_once(" != ")) {
                (Some((name, value)), _) => (name, value, true),
                (_, Some((name, value))) => (name, value, false),
                _ => panic!("{part}"),
            };
            (self.value(name, outputs) == value.trim_matches('\'')) == equal
        })
    }
}

/// A pull request on which a stranger wrote what looks like our comment.
fn pull_request() -> PullRequest {
    let request = PullRequest::new();
    request.install("gh", GH);
    let stranger = json!([{ "id": 1, "user": { "login": "stranger" }, "body": "<!-- bundle2chart: bundles.toml -->" }]);
    request.case.write("comments.json", stranger.to_string());
    request
}

#[test]
fn a_pull_request_has_one_comment_with_the_report() {
    let request = pull_request();
    let run = Run::start(&request, "pull_request", &[]);
    assert!(run.succeeded, "{run:#?}");
    assert_eq!(run.steps, ["Check", "Report", "Comment", "Result"]);
    // The note of the build, at a file of the repository.
    assert!(run.text.contains("::notice file=bundles/sealing-wax-operator/1.1.0/"), "{}", run.text);
    let requests = || request.case.read("requests");
    assert_eq!(requests(), "POST repos/team/charts/issues/7/comments\n");
    let body = request.case.read("body");
    assert!(body.starts_with("<!-- bundle2chart: bundles.toml -->\n"), "{body}");
    assert!(body.contains("sealing-wax-operator") && body.contains("1.0.0 → 1.1.0"), "{body}");
    assert!(run.summary.contains("1.0.0 → 1.1.0"), "{}", run.summary);

    // The next push: the same comment, and that of the stranger as it is.
    let run = Run::start(&request, "pull_request", &[]);
    assert!(run.succeeded, "{run:#?}");
    let expected =
        "POST repos/team/charts/issues/7/comments\nPATCH repos/team/charts/issues/comments/42\n";
    assert_eq!(requests(), expected);
}

#[test]
fn stale_charts_and_findings_fail_with_the_report() {
    let request = pull_request();
    let run = Run::start(&request, "pull_request", &[("fail-on", "breaking")]);
    assert!(!run.succeeded, "{run:#?}");
    assert!(run.text.contains("::error::the upgrade has findings"), "{}", run.text);
    assert!(request.case.read("body").contains("breaking"));

    request.edit();
    let run = Run::start(&request, "pull_request", &[("comment", "false")]);
    assert!(!run.succeeded, "{run:#?}");
    assert_eq!(run.steps, ["Check", "Report", "Result"]);
    assert!(run.text.contains("::error::out/ is out of date"), "{}", run.text);
    let stale = "out-of-date::out/sealing-wax-operator/1.1.0/values.yaml is stale";
    assert!(run.text.contains(stale), "{}", run.text);
    assert_eq!(request.case.read("requests").lines().count(), 1);
    assert!(run.summary.contains("1.0.0 → 1.1.0"), "{}", run.summary);
}

#[test]
fn forks_have_the_report_in_the_summary_and_pushes_only_the_check() {
    let request = pull_request();
    let run = Run::start(&request, "pull_request", &[("token", "read-only")]);
    assert!(run.succeeded, "{run:#?}");
    assert!(run.text.contains("::warning::the token may not comment"), "{}", run.text);
    assert!(run.summary.contains("1.0.0 → 1.1.0"), "{}", run.summary);

    let run = Run::start(&request, "push", &[]);
    assert_eq!(
        (run.succeeded, &run.steps[..]),
        (true, &["Check", "Result"].map(str::to_owned)[..])
    );
    request.case.write("clone/bundles.toml", "nonsense\n");
    let run = Run::start(&request, "pull_request", &[]);
    assert!(!run.succeeded, "{run:#?}");
    assert_eq!(run.steps, ["Check", "Result"]);
    let text = "::error::the charts were not checked (exit code 2)";
    assert!(run.text.contains(text) && !run.text.contains("are not what"), "{}", run.text);
}

/// The workflow in the book has only inputs of the action, and the permissions that it needs.
#[test]
fn the_workflow_of_the_book_fits_the_action() {
    let page = read("docs/pull-requests.md");
    let workflow = page
        .split("```yaml\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next())
        .find(|block| block.contains("/bundle2chart@"))
        .expect("a workflow");
    let workflow: Value = serde_yaml::from_str(workflow).expect("YAML");
    assert_eq!(workflow["permissions"], json!({ "contents": "read", "pull-requests": "write" }));
    let steps = workflow["jobs"]["charts"]["steps"].as_array().expect("steps");
    let uses =
        |step: &&Value| step["uses"].as_str().is_some_and(|uses| uses.contains("/bundle2chart@"));
    let with = steps.iter().find(uses).expect("the action")["with"].clone();
    let action = yaml("action.yml");
    for name in with.as_object().expect("inputs").keys() {
        assert!(action["inputs"][name].is_object(), "{name}");
    }
}
