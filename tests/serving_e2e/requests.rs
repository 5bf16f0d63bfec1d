//! Requests through the picker, and what engines recorded of them.

use crate::objects::{containers, items, name};
use crate::release::{NAMESPACE, State};
use serde::Deserialize;
use serde_json::Value as Json;
use std::process::Command;
use std::time::Duration;
use ureq::Agent;

/// The result of a request: a line that `serving_programs ask` prints.
#[derive(Debug, Deserialize)]
#[allow(dead_code, reason = "the error is for messages")]
pub(crate) struct Answered {
    /// `ADDRESS:PORT` of the endpoint, and of the prefiller.
    #[serde(default)]
    pub(crate) destination: String,
    #[serde(default)]
    pub(crate) prefiller: String,
    #[serde(default)]
    pub(crate) status: u16,
    /// The pod that answered.
    #[serde(default)]
    pub(crate) served_by: String,
    #[serde(default)]
    pub(crate) error: String,
}

/// Sends requests through the picker at an address.
///
/// # Panics
/// When the program cannot be run.
pub(crate) fn ask(state: &State, address: &str, count: usize) -> Vec<Answered> {
    let model = served_name(state).unwrap_or_default();
    let output = Command::new(&state.release.cluster.programs)
        .args(["ask", address, &model, &count.to_string()])
        .output()
        .expect("the program runs");
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// Returns the name of the model that engines serve, which is an argument of theirs.
fn served_name(state: &State) -> Option<String> {
    let pod = state.engines().next()?;
    let mut arguments = containers(pod).flat_map(|container| items(container, "/args"));
    arguments.find_map(|argument| {
        Some(argument.as_str()?.strip_prefix("--served-model-name=")?.to_owned())
    })
}

/// Returns the requests that a pod's engine answered: lines of the stand-in's log.
pub(crate) fn recorded(state: &State, pod: &Json) -> Vec<Json> {
    let uid = pod["metadata"]["uid"].as_str().expect("a uid");
    let file = format!("pods/{NAMESPACE}/{}/{uid}/requests.jsonl", name(pod));
    let log = state.release.cluster.log(&file);
    log.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// Sends `GET http://ADDRESS:PORT/PATH`; status and body, or status 0 and the error.
pub(crate) fn get(address: &str, port: u16, path: &str, token: Option<&str>) -> (u16, String) {
    let config = Agent::config_builder()
        .proxy(None)
        .http_status_as_error(false)
        .timeout_global(Some(Duration::from_secs(10)))
        .build();
    let mut request = Agent::from(config).get(format!("http://{address}:{port}{path}"));
    if let Some(token) = token {
        request = request.header("Authorization", format!("Bearer {token}"));
    }
    match request.call() {
        Ok(mut answer) => {
            let body = answer.body_mut().read_to_string().unwrap_or_default();
            (answer.status().as_u16(), body)
        }
        Err(error) => (0, error.to_string()),
    }
}
