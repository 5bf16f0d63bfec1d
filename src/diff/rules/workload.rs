//! Workloads: what runs, how it is called and told what to do.

use super::lookup::Lookup;
use super::{Scene, at, found, not_in, rules, spoken};
use crate::diff::path::Step;
use crate::diff::{Finding, Rule};
use serde_json::Value as Json;

rules! {
    REGISTRY "image-registry-changed" Risky
        "An image comes from another registry or repository."
        "Pull secrets, mirrors, allow lists and network rules that know the old place do not know the new one."
        "Mirror the image, and give the pull secret access, before the upgrade.";
    IMAGE "image-changed" Risky
        "A container runs another image."
        "This is what an upgrade is for: the pods restart with other software."
        "Mirror the image before the upgrade where clusters do not reach its registry.";
    UNPINNED "image-unpinned" Risky
        "An image is no longer named by digest."
        "A tag can lead to other bytes tomorrow, without anybody changing the chart."
        "Ask for a digest, or pin it with a value or a filter of your own.";
    OPERAND_REGISTRY "operand-registry-changed" Risky
        "An image that the operator starts later comes from another registry or repository."
        "Pull secrets, mirrors and allow lists that know the old place do not know the new one."
        "Mirror the image before the upgrade.";
    OPERAND_IMAGE "operand-image-changed" Info
        "An image that the operator starts later changed."
        "The operator replaces the pods of its operands by itself after the upgrade."
        "Mirror the image before the upgrade where clusters do not reach its registry.";
    CONTAINER_ADDED "container-added" Risky
        "Pods have one more container."
        "One more program runs with the pod's account and volumes, from an image of its own."
        "Mirror its image, and find out what it is for.";
    CONTAINER_REMOVED "container-removed" Risky
        "Pods have one container less."
        "What it did is no longer done, or done by another container: a proxy that authenticated callers, for example."
        "Find out what does its work now, and what you had configured for it.";
    COMMAND "command-changed" Risky
        "A container starts another command."
        "Another program runs, or the same one in another way."
        "Compare what you know of the old command: debug wrappers, probes, policies.";
    ARGS "args-changed" Risky
        "A container has other arguments."
        "Arguments switch features on and off."
        "Read what each flag that came or went does.";
    ENV "env-changed" Info
        "An environment variable changed."
        "Environment variables configure the container."
        "Nothing, unless you set the variable yourself.";
    ENV_REMOVED "env-removed" Info
        "An environment variable is gone."
        "The container falls back to its own default."
        "Nothing, unless you relied on it.";
    ACCOUNT "service-account-changed" Risky
        "Pods run under another ServiceAccount."
        "What is bound to the old account by you, such as roles, pull secrets and cloud identities, no longer holds."
        "Bind the same to the new account.";
    PROBE_REMOVED "probe-removed" Risky
        "A container lost a probe."
        "Without it Kubernetes does not notice that the container hangs or is not ready."
        "Watch the rollout by other means.";
    FEWER "replicas-lowered" Risky
        "A workload has fewer replicas."
        "With one replica, or none, it is down whenever a node is drained."
        "Set the replicas that you need.";
    REPLICAS "replicas-changed" Info
        "A workload has another number of replicas."
        "More pods need more room."
        "Check that there is room.";
    MEMORY "memory-limit-lowered" Risky
        "A container may use less memory."
        "Over its limit it is killed."
        "Compare the limit with what the container uses in your clusters.";
    RESOURCES "resources-changed" Info
        "A container asks for other resources."
        "Requests decide where a pod finds room, limits when it is slowed down or killed."
        "Check quotas.";
    VOLUME "volume-changed" Info
        "Pods have other volumes or mounts."
        "Files come from somewhere else."
        "Nothing, unless you mount something there yourself.";
}

/// Where the template of a workload's pods is.
pub(in crate::diff) fn pod_template(kind: &str) -> Option<&'static [&'static str]> {
    Some(match kind {
        "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet" | "Job" => &["spec", "template"],
        "CronJob" => &["spec", "jobTemplate", "spec", "template"],
        "Pod" => &[],
        _ => return None,
    })
}

pub(super) fn judge(scene: &Scene<'_, '_>, findings: &mut Vec<Finding>) {
    let Some(template) = pod_template(&scene.pair.id.kind) else { return };
    let shape = scene.shape();
    if let (["spec", "replicas"], Some(_)) = (shape.as_slice(), scene.pair.old) {
        replicas(scene, findings);
    }
    let Some(["spec", rest @ ..]) = shape.strip_prefix(template) else {
        return;
    };
    let (old, new) = (scene.edit.old.as_ref(), scene.edit.new.as_ref());
    match rest {
        ["serviceAccountName", ..] => {
            let name = |value: Option<&Json>| value.map_or("`default`".to_owned(), spoken);
            findings.push(found(&ACCOUNT, format!("{} became {}", name(old), name(new))));
        }
        ["volumes", ..] => findings.push(found(&VOLUME, "volumes of the pods")),
        ["containers" | "initContainers"] => {
            let images = |list: Option<&Json>| -> Vec<String> {
                let list = list.and_then(Json::as_array).into_iter().flatten();
                list.filter_map(|container| container.get("image")).map(spoken).collect()
            };
            match (old, new) {
                (None, _) => {
                    let reason = format!("they run {}", super::listed(&images(new), 3));
                    findings.push(found(&CONTAINER_ADDED, reason));
                }
                (_, None) => {
                    let reason = format!("they ran {}", super::listed(&images(old), 3));
                    findings.push(found(&CONTAINER_REMOVED, reason));
                }
                _ => {}
            }
        }
        ["containers" | "initContainers", "[]", rest @ ..] => {
            container(scene, rest, findings);
        }
        _ => {}
    }
}

fn replicas(scene: &Scene<'_, '_>, findings: &mut Vec<Finding>) {
    // What is not said is 1.
    let count = |value: &Option<Json>| value.as_ref().map_or(Some(1), Json::as_i64);
    let (Some(old), Some(new)) = (count(&scene.edit.old), count(&scene.edit.new)) else { return };
    let rule = if new < old { &FEWER } else { &REPLICAS };
    findings.push(found(rule, format!("{old} became {new}")));
}

fn container(scene: &Scene<'_, '_>, rest: &[&str], findings: &mut Vec<Finding>) {
    let (old, new) = (scene.edit.old.as_ref(), scene.edit.new.as_ref());
    let list = |value: Option<&Json>| value.cloned().unwrap_or(Json::Array(Vec::new()));
    match (rest, old, new) {
        ([], None, Some(new)) => {
            let image = new.get("image").map_or("no image".to_owned(), spoken);
            findings.push(found(&CONTAINER_ADDED, format!("it runs {image}")));
        }
        ([], Some(old), None) => {
            let image = old.get("image").map_or("no image".to_owned(), spoken);
            findings.push(found(&CONTAINER_REMOVED, format!("it ran {image}")));
        }
        (["image"], Some(old), Some(new)) => {
            image(old, new, [&REGISTRY, &IMAGE], true, findings);
        }
        (["command"], ..) => {
            findings.push(found(&COMMAND, delta(&list(old), &list(new))));
        }
        (["args"], ..) => {
            findings.push(found(&ARGS, delta(&list(old), &list(new))));
        }
        (["env", "[]", "value"], Some(old), Some(new)) if is_image(old) && is_image(new) => {
            image(old, new, [&OPERAND_REGISTRY, &OPERAND_IMAGE], false, findings);
        }
        (["env" | "envFrom"] | ["env", "[]"], Some(_), None) => {
            findings.push(found(&ENV_REMOVED, "the container's own default holds"));
        }
        (["env", "[]"], None, Some(new)) if new.get("value").is_some_and(is_image) => {
            findings.push(found(
                &OPERAND_IMAGE,
                format!("{} is new", new.get("value").map(spoken).unwrap_or_default()),
            ));
        }
        (["env" | "envFrom", rest @ ..], ..) if rest != ["[order]"] => {
            findings.push(found(&ENV, "the container is configured with it"));
        }
        ([probe @ ("livenessProbe" | "readinessProbe" | "startupProbe")], Some(_), None) => {
            findings.push(found(&PROBE_REMOVED, format!("`{probe}` is gone")));
        }
        (["volumeMounts" | "volumeDevices", ..], ..) => {
            findings.push(found(&VOLUME, "mounts of the container"));
        }
        (["resources", ..], ..) => {
            let memory = |object: &Lookup<'_>| {
                let end =
                    scene.steps().iter().rposition(|s| *s == Step::Key("resources".into()))?;
                let resources = object.at(scene.steps().get(..=end)?)?;
                at(resources, &["limits", "memory"]).and_then(quantity)
            };
            let touches = ["resources", "resources limits", "resources limits memory"]
                .contains(&rest.join(" ").as_str());
            match (memory(scene.old), memory(scene.new)) {
                (Some(old), Some(new)) if new < old && touches => {
                    findings.push(found(&MEMORY, "the limit is lower than it was"));
                }
                (None, Some(_)) if touches => {
                    findings.push(found(&MEMORY, "there was no limit, and there is one"));
                }
                _ => findings.push(found(&RESOURCES, "requests or limits")),
            }
        }
        _ => {}
    }
}

/// `--a, --b came; --c went`
fn delta(old: &Json, new: &Json) -> String {
    let spoken = |list: &Json, other: &Json| -> Vec<String> {
        not_in(list, other).into_iter().map(spoken).collect()
    };
    let (gone, came) = (spoken(old, new), spoken(new, old));
    match (came.is_empty(), gone.is_empty()) {
        (true, true) => "the same in another order".to_owned(),
        (false, true) => format!("{} came", super::listed(&came, 5)),
        (true, false) => format!("{} went", super::listed(&gone, 5)),
        _ => format!("{} came; {} went", super::listed(&came, 5), super::listed(&gone, 5)),
    }
}

/// Bytes of a quantity, such as `128Mi`.
fn quantity(value: &Json) -> Option<f64> {
    let text = match value {
        Json::String(text) => text.clone(),
        Json::Number(number) => number.to_string(),
        _ => return None,
    };
    let end = text.find(|c: char| c.is_ascii_alphabetic() && c != 'e').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let factor = match unit {
        "" => 1.0,
        "m" => 1e-3,
        "k" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        "T" => 1e12,
        "Ki" => 1024.0,
        "Mi" => 1024.0 * 1024.0,
        "Gi" => 1024.0 * 1024.0 * 1024.0,
        "Ti" => 1024.0 * 1024.0 * 1024.0 * 1024.0,
        _ => return None,
    };
    Some(number.parse::<f64>().ok()? * factor)
}

/// A reference to an image, taken apart.
#[derive(Debug, PartialEq, Eq)]
struct Image<'t> {
    repository: &'t str,
    tag: Option<&'t str>,
    digest: Option<&'t str>,
}

fn parse(text: &str) -> Image<'_> {
    let (rest, digest) = match text.split_once('@') {
        Some((rest, digest)) => (rest, Some(digest)),
        None => (text, None),
    };
    let slash = rest.rfind('/').map_or(0, |at| at + 1);
    let (repository, tag) = match rest[slash..].find(':') {
        Some(colon) => (&rest[..slash + colon], Some(&rest[slash + colon + 1..])),
        None => (rest, None),
    };
    Image { repository, tag, digest }
}

/// Whether a text is a reference to an image: a registry host, a repository, and a tag or digest.
fn is_image(value: &Json) -> bool {
    let Some(text) = value.as_str() else { return false };
    let image = parse(text);
    let host = image.repository.split('/').next().unwrap_or_default();
    !text.contains("://")
        && !text.contains(char::is_whitespace)
        && image.repository.contains('/')
        && (host.contains('.') || host.contains(':') || host == "localhost")
        && (image.tag.is_some() || image.digest.is_some())
}

fn image(
    old: &Json,
    new: &Json,
    [moved, changed]: [&'static Rule; 2],
    runs: bool,
    findings: &mut Vec<Finding>,
) {
    let (Some(before), Some(after)) = (old.as_str(), new.as_str()) else { return };
    let (before, after) = (parse(before), parse(after));
    let text = |text: &str| spoken(&Json::String(text.to_owned()));
    if before.repository != after.repository {
        let reason = format!("{} became {}", text(before.repository), text(after.repository));
        findings.push(found(moved, reason));
    } else {
        // The tag says nothing where only the digest differs.
        let same_tag = before.tag == after.tag;
        let part = |image: &Image<'_>| {
            let digest = image.digest.filter(|_| same_tag);
            digest.or(image.tag).or(image.digest).map_or("no tag".to_owned(), |part| {
                text(&part.chars().take(19).collect::<String>())
            })
        };
        findings.push(found(changed, format!("{} became {}", part(&before), part(&after))));
    }
    if runs && before.digest.is_some() && after.digest.is_none() {
        findings.push(found(&UNPINNED, "it was named by digest, and is by tag"));
    }
}

#[cfg(test)]
mod tests {
    use super::{Image, is_image, parse, quantity};
    use serde_json::json;

    #[test]
    fn references_come_apart() {
        for (text, repository, tag, digest) in [
            ("a", "a", None, None),
            ("a:1", "a", Some("1"), None),
            ("r.io:5000/a", "r.io:5000/a", None, None),
            ("r.io:5000/a/b:1@sha256:0", "r.io:5000/a/b", Some("1"), Some("sha256:0")),
        ] {
            assert_eq!(parse(text), Image { repository, tag, digest });
        }
        for text in ["r.io/a:1", "r.io/a@sha256:0", "localhost/a:1"] {
            assert!(is_image(&json!(text)), "{text}");
        }
        for text in ["a:1", "r.io/a", "https://r.io/a:1", "r.io/a:1 b", "info", "0.0.0.0:8080"] {
            assert!(!is_image(&json!(text)), "{text}");
        }
    }

    #[test]
    fn quantities() {
        assert_eq!(quantity(&json!("1Ki")), Some(1024.0));
        assert_eq!(quantity(&json!("500m")), Some(0.5));
        assert_eq!(quantity(&json!(3)), Some(3.0));
        assert_eq!(quantity(&json!("x")), None);
    }
}
