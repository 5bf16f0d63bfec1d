//! Admission webhooks: who is stopped when, by whom.

use super::{Scene, found, listed, rules, spoken, texts};
use crate::diff::Finding;
use crate::diff::path::Step;
use serde_json::Value as Json;

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

pub(super) fn judge(scene: &Scene<'_>, findings: &mut Vec<Finding>) {
    let edit = scene.edit;
    match (scene.shape().as_slice(), &edit.old, &edit.new) {
        ([] | ["webhooks"], old, Some(new)) => {
            let known: Vec<&Json> = webhooks(old.as_ref());
            for webhook in webhooks(Some(new)) {
                if !known.iter().any(|old| old.get("name") == webhook.get("name")) {
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

/// What a webhook is asked about: group, version, resource, operation, scope.
fn asked(webhook: &Json) -> Vec<[String; 5]> {
    let mut all = Vec::new();
    for rule in webhook.get("rules").and_then(Json::as_array).into_iter().flatten() {
        let scope = rule.get("scope").and_then(Json::as_str).unwrap_or("*");
        for group in texts(rule.get("apiGroups")) {
            for version in texts(rule.get("apiVersions")) {
                for resource in texts(rule.get("resources")) {
                    for operation in texts(rule.get("operations")) {
                        all.push([group, version, resource, operation, scope].map(str::to_owned));
                    }
                }
            }
        }
    }
    all
}

fn covers(held: &[String; 5], asked: &[String; 5]) -> bool {
    held.iter().zip(asked).enumerate().all(|(part, (held, asked))| {
        held == "*"
            || held == asked
            || (part == 2 && held == "*/*")
            || (part == 2
                && held.strip_suffix("/*").is_some_and(|r| asked.starts_with(&format!("{r}/"))))
    })
}

/// Groups of Kubernetes itself; everybody's workloads depend on them.
fn is_core(group: &str) -> bool {
    matches!(group, "" | "*" | "apps" | "batch" | "policy" | "autoscaling")
        || group.ends_with(".k8s.io") && !group.starts_with("gateway.")
}

fn targets(asked: &[[String; 5]]) -> Vec<String> {
    let mut names: Vec<String> = asked
        .iter()
        .map(|[group, _, resource, _, _]| match group.as_str() {
            "" => resource.clone(),
            group => format!("{resource}.{group}"),
        })
        .collect();
    names.sort();
    names.dedup();
    names
}

fn added(webhook: &Json, findings: &mut Vec<Finding>) {
    let asked = asked(webhook);
    let name = webhook.get("name").map(spoken).unwrap_or_default();
    let what = listed(&targets(&asked), 5);
    let policy = webhook.get("failurePolicy").and_then(Json::as_str).unwrap_or("Fail");
    let reason = format!("{name} is asked about {what}, with failurePolicy {policy}");
    let core = asked.iter().any(|[group, ..]| is_core(group));
    findings.push(found(if core { &CORE } else { &ADDED }, reason));
}

fn changed(scene: &Scene<'_>, rest: &[&str], findings: &mut Vec<Finding>) {
    let webhook = |object: Option<&Json>| -> Option<Json> {
        super::lookup(object?, scene.steps().get(..2)?).cloned()
    };
    let (Some(before), Some(after)) = (webhook(scene.pair.old), webhook(scene.pair.new)) else {
        return;
    };
    let text = |webhook: &Json, field: &str, usual: &str| {
        webhook.get(field).and_then(Json::as_str).unwrap_or(usual).to_owned()
    };
    match rest {
        ["failurePolicy"] => {
            let policy = |webhook| text(webhook, "failurePolicy", "Fail");
            if policy(&before) == "Ignore" && policy(&after) == "Fail" {
                findings.push(found(&POLICY, "Ignore became Fail"));
            }
        }
        ["rules", ..] | ["matchPolicy"] => {
            let held = asked(&before);
            let part = match scene.steps().get(3) {
                Some(step @ (Step::Item(_) | Step::Index(_))) => after
                    .get("rules")
                    .and_then(|rules| super::lookup(rules, std::slice::from_ref(step)))
                    .map(|rule| asked(&serde_json::json!({"rules": [rule]})))
                    .unwrap_or_default(),
                _ => asked(&after),
            };
            let gained: Vec<[String; 5]> = part
                .into_iter()
                .filter(|asked| !held.iter().any(|held| covers(held, asked)))
                .collect();
            if gained.iter().any(|[group, ..]| is_core(group))
                && !held.iter().any(|[group, ..]| is_core(group))
            {
                let reason = format!("it is now also asked about {}", listed(&targets(&gained), 5));
                findings.push(found(&CORE, reason));
            } else if !gained.is_empty() {
                let mut operations: Vec<&str> = gained.iter().map(|g| g[3].as_str()).collect();
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
            let parts = |webhook: &Json| selector_parts(webhook.get(field));
            let (old, new) = (parts(&before), parts(&after));
            let gone: Vec<String> = old.into_iter().filter(|part| !new.contains(part)).collect();
            if !gone.is_empty() {
                findings.push(found(&SELECTOR, format!("`{field}` lost {}", listed(&gone, 3))));
            }
        }
        ["timeoutSeconds"] => {
            let seconds =
                |webhook: &Json| webhook.get("timeoutSeconds").and_then(Json::as_i64).unwrap_or(10);
            let (old, new) = (seconds(&before), seconds(&after));
            if new > old {
                findings.push(found(&TIMEOUT, format!("{old} seconds became {new}")));
            }
        }
        ["sideEffects"] => {
            let effects = |webhook: &Json| {
                ["Some", "Unknown"].contains(&text(webhook, "sideEffects", "Unknown").as_str())
            };
            if effects(&after) && !effects(&before) {
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
