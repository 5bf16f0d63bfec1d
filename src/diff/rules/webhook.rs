//! Admission webhooks: who is stopped when, by whom.

use super::{Scene, found, listed, rules, spoken, texts};
use crate::diff::Finding;
use crate::diff::path::Step;
use serde_json::Value as Json;
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

rules! {
    CORE "webhook-on-core-added" Risky
        "A webhook intercepts requests for resources of Kubernetes itself."
        "When it does not answer, pods, namespaces or workloads of everybody may not be created or changed; a deadlock can stop the whole cluster."
        "Check that its selectors leave out kube-system and its own namespace.";
    ADDED "webhook-added" Risky
        "A webhook is new."
        "Requests that it is asked about fail when it does not answer, if its failurePolicy is Fail."
        "Check that the operator is up before objects of this kind are applied.";
    REMOVED "webhook-removed" Info
        "A webhook is gone."
        "What it refused or filled in is no longer refused or filled in."
        "Nothing, unless you relied on it.";
    POLICY "webhook-policy-hardened" Risky
        "Requests fail when a webhook does not answer."
        "With failurePolicy Fail, objects cannot be written while the operator is down."
        "Run the webhook with more than one replica.";
    WIDENED "webhook-rules-widened" Risky
        "A webhook is asked about more requests."
        "More requests wait for it, and fail with it."
        "Check what else is intercepted.";
    SELECTOR "webhook-selector-removed" Risky
        "A webhook no longer leaves out what it left out."
        "A namespace or object selector, or a match condition, went, so more requests are intercepted."
        "Check that system namespaces are still left out.";
    TIMEOUT "webhook-timeout-raised" Risky
        "Requests wait longer for a webhook."
        "While it does not answer, every request that it is asked about hangs that long."
        "Nothing, unless clients have short timeouts.";
    EFFECTS "webhook-side-effects" Risky
        "A webhook has side effects."
        "Dry runs that it is asked about fail."
        "Expect `kubectl diff` and server-side dry runs to fail.";
}

pub(super) fn judge(scene: &Scene<'_, '_>, findings: &mut Vec<Finding>) {
    let edit = scene.edit;
    match (scene.shape().as_slice(), &edit.old, &edit.new) {
        ([] | ["webhooks"], old, Some(new)) => {
            let names = webhooks(old.as_ref()).into_iter().map(|old| old.get("name"));
            let known: HashSet<Option<&Json>> = names.collect();
            for webhook in webhooks(Some(new)) {
                if !known.contains(&webhook.get("name")) {
                    added(webhook, findings);
                }
            }
        }
        (["webhooks", "[]"], None, Some(new)) => added(new, findings),
        ([] | ["webhooks"] | ["webhooks", "[]"], Some(_), None) => {
            findings.push(found(&REMOVED, "requests are no longer intercepted"));
        }
        (["webhooks", "[]", rest @ ..], ..) => changed(scene, rest, findings),
        _ => {}
    }
}

/// The webhooks of a configuration, or of a list of them.
fn webhooks(value: Option<&Json>) -> Vec<&Json> {
    let list = value.map(|value| value.get("webhooks").unwrap_or(value));
    list.and_then(Json::as_array).into_iter().flatten().collect()
}

/// A kind of request that a webhook is called for: group, version, resource, operation, scope.
type Request<'j> = [&'j str; 5];

/// Index of the resource in a request.
const RESOURCE: usize = 2;

/// Returns the requests that a webhook is called for.
fn requests(webhook: &Json) -> Vec<Request<'_>> {
    let rules = webhook.get("rules").and_then(Json::as_array).into_iter().flatten();
    rules.flat_map(requests_of).collect()
}

/// Returns the requests of one rule.
fn requests_of(rule: &Json) -> Vec<Request<'_>> {
    let mut all = Vec::new();
    let scope = rule.get("scope").and_then(Json::as_str).unwrap_or("*");
    for group in texts(rule.get("apiGroups")) {
        for version in texts(rule.get("apiVersions")) {
            for resource in texts(rule.get("resources")) {
                for operation in texts(rule.get("operations")) {
                    all.push([group, version, resource, operation, scope]);
                }
            }
        }
    }
    all
}

/// The requests that a webhook of the old side was called for.
struct Intercepted<'j> {
    all: HashSet<Request<'j>>,
    /// Which parts of any of them are `*`.
    wild: [bool; 5],
    /// Whether any is for a resource of Kubernetes itself.
    core: bool,
}

impl<'j> Intercepted<'j> {
    fn by(webhook: &'j Json) -> Self {
        let all = requests(webhook);
        let mut wild = [false; 5];
        for request in &all {
            for (wild, part) in wild.iter_mut().zip(request) {
                *wild |= *part == "*";
            }
        }
        let core = all.iter().any(|[group, ..]| is_core(group));
        let all = all.into_iter().collect();
        Intercepted { all, wild, core }
    }

    /// Whether they include a request. What could include it is looked up, so that more requests do
    /// not take more time.
    fn include(&self, request: &Request<'_>) -> bool {
        let [group, version, resource, operation, scope] = *request;
        let any = |part: usize| self.wild.get(part).copied().unwrap_or_default().then_some("*");
        let parents = resource.match_indices('/').map(|(at, _)| format!("{}/*", &resource[..at]));
        let parents: Vec<String> = parents.chain(["*/*".to_owned()]).collect();
        let resources = [Some(resource), any(RESOURCE)];
        let resources =
            || resources.into_iter().flatten().chain(parents.iter().map(String::as_str));
        let either = |part: usize, text| [Some(text), any(part)].into_iter().flatten();

        either(0, group).any(|group| {
            either(1, version).any(|version| {
                either(3, operation).any(|operation| {
                    either(4, scope).any(|scope| {
                        resources().any(|resource| {
                            self.all.contains(&[group, version, resource, operation, scope])
                        })
                    })
                })
            })
        })
    }
}

/// The webhooks of one configuration as far as several edits need to know them; by the address of a
/// webhook of the old side, which stays where it is while it is borrowed.
#[derive(Default)]
pub(super) struct Webhooks<'j> {
    intercepted: RefCell<HashMap<*const Json, Rc<Intercepted<'j>>>>,
    /// The parts that a selector lost, by its field.
    lost: RefCell<HashMap<(*const Json, String), Option<String>>>,
}

impl<'j> Webhooks<'j> {
    fn intercepted(&self, webhook: &'j Json) -> Rc<Intercepted<'j>> {
        let mut all = self.intercepted.borrow_mut();
        let entry = all.entry(std::ptr::from_ref(webhook));
        Rc::clone(entry.or_insert_with(|| Rc::new(Intercepted::by(webhook))))
    }

    /// Returns a sentence about the parts that a selector of a webhook lost.
    fn lost(&self, before: &Json, after: &Json, field: &str) -> Option<String> {
        let lost = || {
            let new: HashSet<String> = selector_parts(after.get(field)).into_iter().collect();
            let old = selector_parts(before.get(field)).into_iter();
            let gone: Vec<String> = old.filter(|part| !new.contains(part)).collect();
            (!gone.is_empty()).then(|| format!("`{field}` lost {}", listed(&gone, 3)))
        };
        let mut known = self.lost.borrow_mut();
        known.entry((std::ptr::from_ref(before), field.to_owned())).or_insert_with(lost).clone()
    }
}

/// Groups of Kubernetes itself; everybody's workloads depend on them.
fn is_core(group: &str) -> bool {
    matches!(group, "" | "*" | "apps" | "batch" | "policy" | "autoscaling")
        || group.ends_with(".k8s.io") && !group.starts_with("gateway.")
}

fn targets(requests: &[Request<'_>]) -> Vec<String> {
    let mut names: Vec<String> = requests
        .iter()
        .map(|[group, _, resource, _, _]| match *group {
            "" => (*resource).to_owned(),
            group => format!("{resource}.{group}"),
        })
        .collect();
    names.sort();
    names.dedup();
    names
}

fn added(webhook: &Json, findings: &mut Vec<Finding>) {
    let asked = requests(webhook);
    let name = webhook.get("name").map(spoken).unwrap_or_default();
    let what = listed(&targets(&asked), 5);
    let policy = webhook.get("failurePolicy").and_then(Json::as_str).unwrap_or("Fail");
    let reason = format!("{name} is asked about {what}, with failurePolicy {policy}");
    let core = asked.iter().any(|[group, ..]| is_core(group));
    findings.push(found(if core { &CORE } else { &ADDED }, reason));
}

fn changed(scene: &Scene<'_, '_>, rest: &[&str], findings: &mut Vec<Finding>) {
    let Some(path) = scene.steps().get(..2) else { return };
    let (Some(before), Some(after)) = (scene.old.at(path), scene.new.at(path)) else { return };
    let text = |webhook: &Json, field: &str, usual: &str| {
        webhook.get(field).and_then(Json::as_str).unwrap_or(usual).to_owned()
    };
    match rest {
        ["failurePolicy"] => {
            let policy = |webhook| text(webhook, "failurePolicy", "Fail");
            if policy(before) == "Ignore" && policy(after) == "Fail" {
                findings.push(found(&POLICY, "Ignore became Fail"));
            }
        }
        ["rules", ..] | ["matchPolicy"] => {
            let held = scene.webhooks.intercepted(before);
            let part = match scene.steps().get(3) {
                Some(step @ (Step::Item(_) | Step::Index(_))) => {
                    let rule = after.get("rules").and_then(|rules| scene.new.step(rules, step));
                    rule.map(requests_of).unwrap_or_default()
                }
                _ => requests(after),
            };
            let gained: Vec<Request<'_>> =
                part.into_iter().filter(|request| !held.include(request)).collect();
            if gained.iter().any(|[group, ..]| is_core(group)) && !held.core {
                let reason = format!("it is now also asked about {}", listed(&targets(&gained), 5));
                findings.push(found(&CORE, reason));
            } else if !gained.is_empty() {
                let mut operations: Vec<&str> = gained.iter().map(|g| g[3]).collect();
                operations.sort_unstable();
                operations.dedup();
                findings.push(found(
                    &WIDENED,
                    format!(
                        "it is now also asked about {} of {}",
                        listed(&operations, 4),
                        listed(&targets(&gained), 5)
                    ),
                ));
            }
        }
        [field @ ("namespaceSelector" | "objectSelector" | "matchConditions"), ..] => {
            let lost = scene.webhooks.lost(before, after, field);
            findings.extend(lost.map(|reason| found(&SELECTOR, reason)));
        }
        ["timeoutSeconds"] => {
            let seconds =
                |webhook: &Json| webhook.get("timeoutSeconds").and_then(Json::as_i64).unwrap_or(10);
            let (old, new) = (seconds(before), seconds(after));
            if new > old {
                findings.push(found(&TIMEOUT, format!("{old} seconds became {new}")));
            }
        }
        ["sideEffects"] => {
            let effects = |webhook: &Json| {
                ["Some", "Unknown"].contains(&text(webhook, "sideEffects", "Unknown").as_str())
            };
            if effects(after) && !effects(before) {
                findings.push(found(&EFFECTS, "dry runs are refused"));
            }
        }
        _ => {}
    }
}

/// The parts of a selector or list of conditions, each of which leaves something out.
fn selector_parts(selector: Option<&Json>) -> Vec<String> {
    match selector {
        Some(Json::Array(conditions)) => {
            conditions.iter().filter_map(|c| c.get("expression")).map(spoken).collect()
        }
        Some(Json::Object(map)) => {
            let labels = map.get("matchLabels").and_then(Json::as_object).into_iter().flatten();
            let labels = labels
                .map(|(key, value)| format!("`{key}={}`", value.as_str().unwrap_or_default()));
            let expressions = map.get("matchExpressions").and_then(Json::as_array);
            let expressions = expressions.into_iter().flatten().map(spoken);
            labels.chain(expressions).collect()
        }
        _ => Vec::new(),
    }
}
