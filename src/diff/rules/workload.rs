//! Rules on workloads: images, containers, commands, environment, probes, resources.

use super::lookup::Lookup;
use super::{RuleContext, at, display_value, found, not_in, rules};
use crate::diff::path::Step;
use crate::diff::{Finding, Rule};
use serde_json::Value as Json;

rules! {
    REGISTRY "image-registry-changed" Risky
        "Registry or repository of an image changed."
        "Pull secrets, mirrors, allow lists and network rules may cover only the old repository."
        "Before the upgrade, mirror the image and check that the pull secret has access.";
    IMAGE "image-changed" Risky
        "Image of a container changed."
        "The pods restart with the new image, as expected in an upgrade."
        "Mirror the image before the upgrade if clusters cannot reach its registry.";
    UNPINNED "image-unpinned" Risky
        "Image no longer pinned by digest."
        "A tag can move to another image without a change of the chart."
        "Pin the image with a value or a patch, or ask the vendor for a digest.";
    OPERAND_REGISTRY "operand-registry-changed" Risky
        "Registry or repository of an operand image changed."
        "Pull secrets, mirrors and allow lists may cover only the old repository."
        "Mirror the image before the upgrade.";
    OPERAND_IMAGE "operand-image-changed" Info
        "Operand image changed."
        "The operator restarts its operands with the new image after the upgrade."
        "Mirror the image before the upgrade if clusters cannot reach its registry.";
    CONTAINER_ADDED "container-added" Risky
        "Container added."
        "Another program runs with the ServiceAccount and volumes of the pod."
        "Mirror its image, and check its purpose.";
    CONTAINER_REMOVED "container-removed" Risky
        "Container removed."
        "Its function, such as an authenticating proxy, is gone or has moved to another container."
        "Check what replaces it, and review your settings for it.";
    COMMAND "command-changed" Risky
        "Command of a container changed."
        "Another program runs, or the same program in another way."
        "Check your debug wrappers, probes and policies that depend on the old command.";
    ARGS "args-changed" Risky
        "Arguments of a container changed."
        "Arguments enable and disable features."
        "Check the added and removed flags.";
    ENV "env-changed" Info
        "Environment variable changed."
        "Environment variables configure the container."
        "Nothing, unless you set the variable yourself.";
    ENV_REMOVED "env-removed" Info
        "Environment variable removed."
        "The container uses its own default."
        "Nothing, unless you relied on it.";
    ACCOUNT "service-account-changed" Risky
        "ServiceAccount of pods changed."
        "Your own roles, pull secrets and cloud identities of the old ServiceAccount no longer apply."
        "Bind them to the new ServiceAccount.";
    PROBE_REMOVED "probe-removed" Risky
        "Probe removed."
        "Kubernetes does not detect that the container hangs or is not ready."
        "Monitor the rollout by other means.";
    FEWER "replicas-lowered" Risky
        "Number of replicas lowered."
        "With one replica or none, the workload is unavailable while its node is drained."
        "Set the number of replicas that you need.";
    REPLICAS "replicas-changed" Info
        "Number of replicas raised."
        "More pods need more capacity."
        "Check the capacity of your nodes and quotas.";
    MEMORY "memory-limit-lowered" Risky
        "Memory limit lowered."
        "A container above its limit is OOM-killed."
        "Compare the limit with the memory usage in your clusters.";
    RESOURCES "resources-changed" Info
        "Resource requests or limits changed."
        "Requests affect scheduling, limits affect throttling and OOM kills."
        "Check quotas.";
    VOLUME "volume-changed" Info
        "Volumes or volume mounts changed."
        "Containers see other files."
        "Nothing, unless you add volumes yourself.";
}

/// Returns the path of the pod template for a kind; `None` for kinds without pods.
pub(in crate::diff) fn pod_template(kind: &str) -> Option<&'static [&'static str]> {
    Some(match kind {
        "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet" | "Job" => &["spec", "template"],
        "CronJob" => &["spec", "jobTemplate", "spec", "template"],
        "Pod" => &[],
        _ => return None,
    })
}

pub(super) fn judge(context: &RuleContext<'_, '_>, findings: &mut Vec<Finding>) {
    let Some(template) = pod_template(&context.pair.id.kind) else { return };
    let shape = context.shape();
    if let (["spec", "replicas"], Some(_)) = (shape.as_slice(), context.pair.old) {
        replicas(context, findings);
    }

    let Some(["spec", rest @ ..]) = shape.strip_prefix(template) else {
        return;
    };
    let (old, new) = (context.edit.old.as_ref(), context.edit.new.as_ref());
    match rest {
        ["serviceAccountName", ..] => {
            let name = |value: Option<&Json>| value.map_or("`default`".to_owned(), display_value);
            findings.push(found(&ACCOUNT, format!("{} → {}", name(old), name(new))));
        }
        ["volumes", ..] => findings.push(found(&VOLUME, "volumes of the pods changed")),
        ["containers" | "initContainers"] => {
            let images = |list: Option<&Json>| -> Vec<String> {
                let list = list.and_then(Json::as_array).into_iter().flatten();
                list.filter_map(|container| container.get("image")).map(display_value).collect()
            };
            match (old, new) {
                (None, _) => {
                    let reason = format!("new images: {}", super::listed(&images(new), 3));
                    findings.push(found(&CONTAINER_ADDED, reason));
                }
                (_, None) => {
                    let reason = format!("removed images: {}", super::listed(&images(old), 3));
                    findings.push(found(&CONTAINER_REMOVED, reason));
                }
                _ => {}
            }
        }
        ["containers" | "initContainers", "[]", rest @ ..] => {
            container(context, rest, findings);
        }
        _ => {}
    }
}

fn replicas(context: &RuleContext<'_, '_>, findings: &mut Vec<Finding>) {
    // The default is 1.
    let count = |value: &Option<Json>| value.as_ref().map_or(Some(1), Json::as_i64);
    let (Some(old), Some(new)) = (count(&context.edit.old), count(&context.edit.new)) else {
        return;
    };
    let rule = if new < old { &FEWER } else { &REPLICAS };
    findings.push(found(rule, format!("{old} → {new}")));
}

/// Adds the findings for an edit inside of a container.
fn container(context: &RuleContext<'_, '_>, rest: &[&str], findings: &mut Vec<Finding>) {
    let (old, new) = (context.edit.old.as_ref(), context.edit.new.as_ref());
    let list = |value: Option<&Json>| value.cloned().unwrap_or(Json::Array(Vec::new()));
    match (rest, old, new) {
        ([], None, Some(new)) => {
            let image = new.get("image").map_or("no image".to_owned(), display_value);
            findings.push(found(&CONTAINER_ADDED, format!("new container with image {image}")));
        }
        ([], Some(old), None) => {
            let image = old.get("image").map_or("no image".to_owned(), display_value);
            findings
                .push(found(&CONTAINER_REMOVED, format!("removed container with image {image}")));
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
            findings.push(found(&ENV_REMOVED, "the container uses its own default"));
        }
        (["env", "[]"], None, Some(new)) if new.get("value").is_some_and(is_image) => {
            findings.push(found(
                &OPERAND_IMAGE,
                format!("new image {}", new.get("value").map(display_value).unwrap_or_default()),
            ));
        }
        (["env" | "envFrom", rest @ ..], ..) if rest != ["[order]"] => {
            findings.push(found(&ENV, "environment of the container changed"));
        }
        ([probe @ ("livenessProbe" | "readinessProbe" | "startupProbe")], Some(_), None) => {
            findings.push(found(&PROBE_REMOVED, format!("`{probe}` removed")));
        }
        (["volumeMounts" | "volumeDevices", ..], ..) => {
            findings.push(found(&VOLUME, "volume mounts of the container changed"));
        }
        (["resources", ..], ..) => {
            let memory = |object: &Lookup<'_>| {
                let end =
                    context.steps().iter().rposition(|s| *s == Step::Key("resources".into()))?;
                let resources = object.at(context.steps().get(..=end)?)?;
                at(resources, &["limits", "memory"]).and_then(quantity)
            };

            let touches = ["resources", "resources limits", "resources limits memory"]
                .contains(&rest.join(" ").as_str());
            match (memory(context.old), memory(context.new)) {
                (Some(old), Some(new)) if new < old && touches => {
                    findings.push(found(&MEMORY, "memory limit lowered"));
                }
                (None, Some(_)) if touches => {
                    findings.push(found(&MEMORY, "new memory limit"));
                }
                _ => findings.push(found(&RESOURCES, "requests or limits changed")),
            }
        }
        _ => {}
    }
}

/// Returns the difference of two lists: `added --a and --b; removed --c`.
fn delta(old: &Json, new: &Json) -> String {
    let display_value = |list: &Json, other: &Json| -> Vec<String> {
        not_in(list, other).into_iter().map(display_value).collect()
    };
    let (gone, came) = (display_value(old, new), display_value(new, old));
    match (came.is_empty(), gone.is_empty()) {
        (true, true) => "same items in another order".to_owned(),
        (false, true) => format!("added {}", super::listed(&came, 5)),
        (true, false) => format!("removed {}", super::listed(&gone, 5)),
        _ => format!("added {}; removed {}", super::listed(&came, 5), super::listed(&gone, 5)),
    }
}

/// Parses a quantity such as `128Mi`; `None` if it is invalid.
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

/// The parts of an image reference.
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

/// Returns true if a text is an image reference with a registry host, a repository, and a tag or
/// digest.
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
    let text = |text: &str| display_value(&Json::String(text.to_owned()));
    if before.repository != after.repository {
        let reason = format!("{} → {}", text(before.repository), text(after.repository));
        findings.push(found(moved, reason));
    } else {
        // Show the digests if only they differ.
        let same_tag = before.tag == after.tag;
        let part = |image: &Image<'_>| {
            let digest = image.digest.filter(|_| same_tag);
            digest.or(image.tag).or(image.digest).map_or("no tag".to_owned(), |part| {
                text(&part.chars().take(19).collect::<String>())
            })
        };
        findings.push(found(changed, format!("{} → {}", part(&before), part(&after))));
    }
    if runs && before.digest.is_some() && after.digest.is_none() {
        findings.push(found(&UNPINNED, "pinned by tag instead of digest"));
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
