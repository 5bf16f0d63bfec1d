//! recipes/gitlab.yml: the script of the job, with an HTTP server as GitLab's API.

use super::pull_request::{Done, PullRequest, root, yaml};
use crate::registry::server::{Answer, Server};
use serde_json::{Value, json};

const TOKEN: &str = "glpat-canary-4711";
const NOTES: &str = "/api/v4/projects/3/merge_requests/7/notes";

/// GitLab with notes on two pages: those of strangers, and on the second page `own`.
fn gitlab(own: &Value) -> Server {
    let marker = "<!-- bundle2chart: bundles.toml -->\nold";
    let strangers = json!([{ "id": 1, "author": { "id": 8 }, "body": marker }]).to_string();
    let own = own.to_string();
    Server::start(move |asked| {
        if asked.header("private-token") != Some(TOKEN) {
            return Answer::new(401, "{}");
        }
        match (asked.method.as_str(), asked.target.as_str()) {
            ("GET", "/api/v4/user") => Answer::new(200, "{\"id\": 9}"),
            ("GET", path) if path == format!("{NOTES}?per_page=100&page=1") => {
                Answer::new(200, strangers.as_bytes())
            }
            ("GET", path) if path == format!("{NOTES}?per_page=100&page=2") => {
                Answer::new(200, own.as_bytes())
            }
            ("GET", _) => Answer::new(200, "[]"),
            ("POST", NOTES) | ("PUT", "/api/v4/projects/3/merge_requests/7/notes/5") => {
                Answer::new(200, "{}")
            }
            _ => Answer::new(404, "{}"),
        }
    })
}

/// Runs the job.
fn run(request: &PullRequest, server: &Server, more: &[(&str, &str)]) -> Done {
    let template = yaml("recipes/gitlab.yml");
    let job = &template["bundle2chart"];
    let lines: Vec<&str> = job["script"]
        .as_array()
        .expect("a script")
        .iter()
        .map(|line| line.as_str().unwrap())
        .collect();
    let mut variables: Vec<(String, String)> = template["variables"]
        .as_object()
        .expect("variables")
        .iter()
        .map(|(name, value)| (name.clone(), value.as_str().unwrap().to_owned()))
        .collect();
    let text = |name: &str, value: String| (name.to_owned(), value);
    variables.extend([
        text("RECIPES", root("recipes").display().to_string()),
        text("CI_API_V4_URL", format!("http://{}/api/v4", server.host())),
        text("CI_PROJECT_ID", "3".to_owned()),
        text("CI_MERGE_REQUEST_IID", "7".to_owned()),
        text("CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "main".to_owned()),
        text("NO_PROXY", "127.0.0.1".to_owned()),
    ]);
    variables.extend(more.iter().map(|(name, value)| text(name, (*value).to_owned())));
    let done = request.script(&lines.join("\n"), &variables);
    assert!(!done.text.contains(TOKEN), "{}", done.text);
    done
}

/// Returns the requests that write, with the note.
fn written(server: &Server) -> Vec<(String, String)> {
    let asked = server.asked().into_iter().filter(|asked| asked.method != "GET");
    asked
        .map(|asked| {
            let body: Value = serde_json::from_slice(&asked.body).expect("JSON");
            let body = body["body"].as_str().expect("a note").to_owned();
            (format!("{} {}", asked.method, asked.target), body)
        })
        .collect()
}

#[test]
fn a_merge_request_has_one_note_with_the_report() {
    let request = PullRequest::new();
    let token = [("BUNDLE2CHART_TOKEN", TOKEN)];
    let server = gitlab(&json!([]));
    let done = run(&request, &server, &token);
    assert_eq!(done.code, Some(0), "{}", done.text);
    let [(target, note)] = &written(&server)[..] else { panic!("{:?}", written(&server)) };
    assert_eq!(*target, format!("POST {NOTES}"));
    assert!(note.starts_with("<!-- bundle2chart: bundles.toml -->\n"), "{note}");
    assert!(note.contains("1.0.0 → 1.1.0"), "{note}");

    let own = json!([{ "id": 5, "author": { "id": 9 }, "body": note }]);
    let server = gitlab(&own);
    let done = run(&request, &server, &token);
    assert_eq!(done.code, Some(0), "{}", done.text);
    let [(target, _)] = &written(&server)[..] else { panic!("{:?}", written(&server)) };
    assert_eq!(*target, format!("PUT {NOTES}/5"));
}

#[test]
fn findings_and_stale_charts_fail_the_job() {
    let request = PullRequest::new();
    let server = gitlab(&json!([]));
    let breaking = ("BUNDLE2CHART_FAIL_ON", "breaking");
    let done = run(&request, &server, &[breaking, ("BUNDLE2CHART_TOKEN", TOKEN)]);
    assert_eq!(done.code, Some(1), "{}", done.text);
    assert_eq!(written(&server).len(), 1);
    // Without a token the report is an artifact.
    let server = gitlab(&json!([]));
    assert_eq!(run(&request, &server, &[]).code, Some(0));
    assert!(server.asked().is_empty());
    assert!(request.case.read("clone/report.md").contains("1.0.0 → 1.1.0"));
    // A wrong token is an error.
    assert_ne!(run(&request, &server, &[("BUNDLE2CHART_TOKEN", "wrong")]).code, Some(0));
    request.edit();
    assert_eq!(run(&request, &server, &[]).code, Some(1));
}
