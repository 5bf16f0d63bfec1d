//! The audit log: every request that the policy selects.

use serde_json::Value as Json;
use std::fs;
use std::path::Path;

/// The policy for requests that are not reads, with their metadata, once they are answered.
pub(crate) const CHANGES: &str = "\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: None, verbs: [get, list, watch]}
- {level: Metadata}
";

/// A request from the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Request {
    /// The user of the request.
    pub(crate) user: String,
    /// The pod whose token the request has, or empty.
    pub(crate) pod: String,
    /// `create`, `update`, `patch`, `delete` or `deletecollection`.
    pub(crate) verb: String,
    /// The resource with its group, as CRDs are named: `deployments.apps`.
    pub(crate) resource: String,
    /// Empty, or for example `status`.
    pub(crate) subresource: String,
    /// The path with its query.
    pub(crate) uri: String,
    /// Empty for objects without one.
    pub(crate) namespace: String,
    /// Empty where the server made it.
    pub(crate) name: String,
    /// The HTTP status of the answer.
    pub(crate) code: u64,
    /// True if RBAC refused it.
    pub(crate) forbidden: bool,
    /// True if nothing was to be stored: `dryRun=All`.
    pub(crate) dry_run: bool,
}

impl Request {
    /// Returns true if the request succeeded.
    pub(crate) fn succeeded(&self) -> bool {
        (200..300).contains(&self.code)
    }

    fn of(event: &Json) -> Self {
        let text = |pointer: &str| {
            event.pointer(pointer).and_then(Json::as_str).unwrap_or_default().to_owned()
        };
        let (resource, group) = (text("/objectRef/resource"), text("/objectRef/apiGroup"));
        Request {
            user: text("/user/username"),
            pod: text("/user/extra/authentication.kubernetes.io~1pod-name/0"),
            verb: text("/verb"),
            resource: if group.is_empty() { resource } else { format!("{resource}.{group}") },
            subresource: text("/objectRef/subresource"),
            uri: text("/requestURI"),
            namespace: text("/objectRef/namespace"),
            name: text("/objectRef/name"),
            code: event["responseStatus"]["code"].as_u64().unwrap_or_default(),
            forbidden: text("/annotations/authorization.k8s.io~1decision") == "forbid",
            dry_run: text("/requestURI").contains("dryRun=All"),
        }
    }
}

/// The requests in a log, from this byte on, and where the log ends.
///
/// # Panics
/// When a line is no event.
pub(super) fn requests(log: &Path, from: usize) -> (Vec<Request>, usize) {
    let text = fs::read_to_string(log).unwrap_or_default();
    // A line that is still being written is read the next time.
    let end = text.rfind('\n').map_or(0, |last| last + 1);
    let events = text[from.min(end)..end]
        .lines()
        .map(|line| Request::of(&serde_json::from_str(line).expect("an event of the audit log")))
        .collect();
    (events, end)
}
