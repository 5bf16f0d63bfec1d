//! Rules on workloads: containers, commands, arguments, environment, volumes. Rules on single fields
//! are in [`super::fields`], rules on images in [`super::image`].

use super::faults::elects_leader;
use super::fields::{self, plain};
use super::image::{self, Use, is_image};
use super::lookup::Lookup;
use super::{RuleContext, at, found, listed, not_in, object, rules, settings};
use crate::ir::quantity;
use crate::path::Step;
use crate::{Finding, Identity};
use serde_json::Value as Json;

rules! {
    /// Container added.
    ///
    /// Another program runs with the ServiceAccount and volumes of the pod.
    CONTAINER_ADDED "container-added" Risky(Behaviour)
        "Mirror its image, and check its purpose.";
    /// Container removed.
    ///
    /// Its function, such as an authenticating proxy, is gone or has moved to another container.
    CONTAINER_REMOVED "container-removed" Risky(Behaviour Watch)
        "Check what replaces it, and review your settings for it.";
    /// Command of a container changed.
    ///
    /// Another program runs, or the same program in another way.
    COMMAND "command-changed" Risky(Behaviour)
        "Check your debug wrappers, probes and policies that depend on the old command.";
    /// Arguments of a container changed.
    ///
    /// Arguments enable and disable features, and set addresses.
    ARGS "args-changed" Risky(Behaviour)
        "Check the added and removed flags.";
    /// Arguments for logging, versions or images changed.
    ///
    /// Only the level or format of logs, or the version that the program reports, differs.
    ARGS_TUNED "args-tuned" Info;
    /// Environment variable added or changed.
    ///
    /// Variables enable and disable features, and set addresses, as arguments do.
    ENV "env-changed" Risky(Behaviour)
        "Check the variable.";
    /// Environment variable for logging, versions or images changed.
    ///
    /// Only the level or format of logs, a version or an image differs, or the variable is empty,
    /// or tells the container about its own pod.
    ENV_TUNED "env-tuned" Info;
    /// Environment variable removed.
    ///
    /// The container uses its own default.
    ENV_REMOVED "env-removed" Risky(Behaviour)
        "Check whether the default fits.";
    /// Old and new pods run at the same time during rollouts.
    ///
    /// With `Recreate`, the old pods end before the new ones start. Without leader election, two of
    /// them now act at once, and volumes that only one node can mount keep the new pod waiting.
    OVERLAP "rollout-overlaps" Risky(Behaviour)
        "Check that the program tolerates a second one.";
    /// ServiceAccount of pods changed.
    ///
    /// Your own roles, pull secrets and cloud identities of the old ServiceAccount no longer apply.
    ACCOUNT "service-account-changed" Risky(PermissionsChanged)
        "Bind them to the new ServiceAccount.";
    /// Volumes or volume mounts changed.
    ///
    /// Containers see other files. Claims that are no longer mounted, missing Secrets and host
    /// paths are found separately.
    VOLUME "volume-changed" Info
        "Nothing, unless you add volumes yourself.";
    /// Mount removed or changed for the same image.
    ///
    /// A new image knows where its files are. The image is the same, so it looks for them at the
    /// old path.
    MOUNT "mount-moved" Risky(Unavailable)
        "Check which paths the program reads and writes.";
    /// Source of a volume changed.
    ///
    /// Containers find other content at the same place, as if the files had changed.
    SOURCE "volume-source-changed" Risky(Behaviour)
        "Compare the two sources.";
}

/// Returns the path of the pod template for a kind; `None` for kinds without pods.
pub(crate) fn pod_template(kind: &str) -> Option<&'static [&'static str]> {
    Some(match kind {
        "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet" | "Job" => &["spec", "template"],
        "CronJob" => &["spec", "jobTemplate", "spec", "template"],
        "Pod" => &[],
        _ => return None,
    })
}

pub(super) fn add_findings(context: &RuleContext<'_, '_>, findings: &mut Vec<Finding>) {
    let Some(template) = pod_template(&context.pair.id.kind) else { return };
    let shape = context.shape();
    if shape.starts_with(&["spec", "strategy"]) {
        overlap(context, template, findings);
    }
    // Other fields of the workload itself are judged by the table of fields.
    let Some(["spec", rest @ ..]) = shape.strip_prefix(template) else {
        return;
    };

    let (old, new) = (context.edit.old.as_ref(), context.edit.new.as_ref());
    let label = context.label();

    match rest {
        ["serviceAccountName", ..] => {
            let name = |value: Option<&Json>| value.map_or("default".to_owned(), plain);
            findings.push(found(&ACCOUNT, format!("{label}: {} → {}", name(old), name(new))));
        }
        ["volumes", ..] => volume(context, template, findings),
        ["containers" | "initContainers"] => {
            let images = |list: Option<&Json>| -> Vec<String> {
                let list = list.and_then(Json::as_array).into_iter().flatten();
                list.filter_map(|container| container.get("image")).map(plain).collect()
            };
            match (old, new) {
                (None, _) => {
                    let reason = format!("{label}: new images {}", listed(&images(new), 3));
                    findings.push(found(&CONTAINER_ADDED, reason));
                }
                (_, None) => {
                    let reason = format!("{label}: removed images {}", listed(&images(old), 3));
                    findings.push(found(&CONTAINER_REMOVED, reason));
                }
                _ => {}
            }
        }
        ["containers" | "initContainers", "[]", rest @ ..] => {
            container(context, rest, &label, findings);
        }
        _ => {}
    }
}

/// Adds the findings for an edit inside of a container.
fn container(
    context: &RuleContext<'_, '_>,
    rest: &[&str],
    label: &str,
    findings: &mut Vec<Finding>,
) {
    let (old, new) = (context.edit.old.as_ref(), context.edit.new.as_ref());
    let list = |value: Option<&Json>| value.cloned().unwrap_or(Json::Array(Vec::new()));
    let with_image = |container: &Json| {
        container
            .get("image")
            .map_or("no image".to_owned(), |image| format!("image {}", plain(image)))
    };
    match (rest, old, new) {
        ([], None, Some(new)) => {
            let reason = format!("{label} added with {}", with_image(new));
            findings.push(found(&CONTAINER_ADDED, reason));
        }
        ([], Some(old), None) => {
            let reason = format!("{label} removed with {}", with_image(old));
            findings.push(found(&CONTAINER_REMOVED, reason));
        }
        (["image"], Some(old), Some(new)) => {
            image::add_findings(label, old, new, Use::Runs, findings)
        }
        (["command"], ..) => {
            findings.push(found(&COMMAND, format!("{label}: {}", delta(&list(old), &list(new)))));
        }
        (["args"], ..) => {
            let (old, new) = (list(old), list(new));
            let items = |list: &'_ Json| list.as_array().cloned().unwrap_or_default();
            let rules = [&ARGS, &ARGS_TUNED, &object::ORDER];
            let delta = delta(&old, &new);
            settings::arguments(label, [&items(&old), &items(&new)], rules, &delta, findings);
        }

        // Operators start their operands from images in variables.
        (["env", "[]", "value"], Some(old), Some(new)) if is_image(old) && is_image(new) => {
            image::add_findings(label, old, new, Use::Operand, findings);
        }
        (["env", "[]", "value"], Some(old), Some(new))
            if image::judge_versions(label, old, new, findings) => {}
        (["env", "[]"], None, Some(new)) if new.get("value").is_some_and(is_image) => {
            image::added(label, new.get("value").unwrap_or(&Json::Null), findings);
        }
        (["env", "[]", ..], ..) => variable(context, label, findings),
        (["env" | "envFrom"], Some(_), None) => {
            findings.push(found(&ENV_REMOVED, format!("{label} removed")));
        }
        (["env" | "envFrom", rest @ ..], ..) if rest != ["[order]"] => {
            findings.push(found(&ENV, context.change()));
        }
        (["volumeMounts" | "volumeDevices", rest @ ..], ..) => {
            // A mount or device at a new path removes nothing.
            let is_new = rest.len() <= 1 && old.is_none();
            let moved = !is_new && rest != ["[order]"] && has_same_image(context);
            findings.push(found(if moved { &MOUNT } else { &VOLUME }, context.change()));
        }
        _ => {}
    }
}

/// Returns true if the container with the edit has the same image on both sides.
fn has_same_image(context: &RuleContext<'_, '_>) -> bool {
    let steps = context.steps();
    let container = steps.iter().position(|step| matches!(step, Step::Item(_) | Step::Index(_)));
    let image = |side: &Lookup<'_>| side.at(steps.get(..=container?)?)?.get("image").cloned();
    image(context.old) == image(context.new)
}

/// Returns the value of an environment variable: `"info"`, or its source: `from fieldRef
/// metadata.name`.
fn source_of(variable: &Json) -> String {
    let Some(source) = variable.get("valueFrom").and_then(Json::as_object) else {
        let value = variable.get("value").and_then(Json::as_str).unwrap_or_default();
        return format!("\"{}\"", plain(&Json::String(value.to_owned())));
    };
    let text = |(kind, source): (&String, &Json)| {
        let keys = ["name", "key", "fieldPath", "resource"].into_iter();
        let parts: Vec<String> = keys.filter_map(|key| source.get(key)).map(plain).collect();
        format!("{kind} {}", parts.join("/"))
    };
    let sources: Vec<String> = source.iter().map(text).collect();
    format!("from {}", listed(&sources, 2))
}

/// Adds the finding for an edit of an environment variable.
fn variable(context: &RuleContext<'_, '_>, label: &str, findings: &mut Vec<Finding>) {
    let steps = context.steps();
    let Some(at) = steps.iter().rposition(|step| matches!(step, Step::Item(_))) else { return };
    let Some(path) = steps.get(..=at) else { return };
    let (old, new) = (context.old.at(path), context.new.at(path));
    let name = path.last().map(Step::label).unwrap_or_default();
    let (rule, reason) = match (old, new) {
        (Some(_), None) => (&ENV_REMOVED, format!("{label} removed")),
        (None, Some(new)) => (&ENV, format!("{label}: added {}", source_of(new))),
        _ => (&ENV, context.change()),
    };
    let is_tuned = settings::is_tuned_variable(&name, old, new);
    findings.push(found(if is_tuned { &ENV_TUNED } else { rule }, reason));
}

/// Adds the finding if pods that replaced each other now overlap.
fn overlap(context: &RuleContext<'_, '_>, template: &[&str], findings: &mut Vec<Finding>) {
    let strategy = |object: Option<&Json>| {
        let kind = object.and_then(|object| at(object, &["spec", "strategy", "type"]));
        kind.and_then(Json::as_str).unwrap_or("RollingUpdate").to_owned()
    };
    let (before, after) = (strategy(context.pair.old), strategy(context.pair.new));
    let elects = || {
        let spec = context.pair.new.and_then(|new| at(new, template)?.get("spec"));
        spec.is_some_and(|spec| elects_leader(context.sides.new, &context.pair.id.namespace, spec))
    };
    if before == "Recreate" && after != "Recreate" && !elects() {
        let reason = format!("spec.strategy.type: {before} → {after}, without leader election");
        findings.push(found(&OVERLAP, reason));
    }
}

/// Keys of a volume and of its source that do not say what is in it.
const FORM: [&str; 5] = ["name", "defaultMode", "optional", "items", "sizeLimit"];

/// Adds the finding for an edit of a volume.
fn volume(context: &RuleContext<'_, '_>, template: &[&str], findings: &mut Vec<Finding>) {
    let limit = |value: Option<&Json>| value.and_then(quantity);
    if context.shape().ends_with(&["emptyDir", "sizeLimit"])
        && let Some(new) = limit(context.edit.new.as_ref())
        && limit(context.edit.old.as_ref()).is_none_or(|old| new < old)
    {
        findings.push(found(&fields::LIMIT, context.change()));
        return;
    }

    let path = context.steps().get(..template.len() + 3);
    let sides = path.and_then(|path| Some((context.old.at(path)?, context.new.at(path)?)));
    let moved = sides.is_some_and(|(old, new)| {
        let renamed = |kind: &str, old: &str, new: &str| {
            let id = |name: &str| Identity {
                kind: kind.to_owned(),
                group: String::new(),
                namespace: context.pair.id.namespace.clone(),
                name: name.to_owned(),
            };
            context.sides.is_renamed(&id(old), &id(new))
        };
        let named = |volume: &Json, [source, field]: [&str; 2]| {
            at(volume, &[source, field]).and_then(Json::as_str).map(str::to_owned)
        };
        let followed = [["configMap", "name"], ["secret", "secretName"]].into_iter().any(|keys| {
            let kind = if keys[0] == "secret" { "Secret" } else { "ConfigMap" };
            let names = named(old, keys).zip(named(new, keys));
            names.is_some_and(|(old, new)| renamed(kind, &old, &new))
        });
        source(old) != source(new) && !followed
    });
    findings.push(found(if moved { &SOURCE } else { &VOLUME }, context.change()));
}

/// Returns the source of a volume without what does not say what is in it.
fn source(volume: &Json) -> Json {
    let mut volume = volume.clone();
    if let Some(map) = volume.as_object_mut() {
        map.shift_remove("name");
        for source in map.values_mut().filter_map(Json::as_object_mut) {
            // A ConfigMap's own name is its content.
            let kept = source.get("name").cloned();
            source.retain(|key, _| !FORM.contains(&key.as_str()));
            kept.into_iter().for_each(|name| {
                source.insert("name".to_owned(), name);
            });
        }
    }
    volume.sort_all_objects();
    volume
}

/// Returns the difference of two lists: `added --a and --b; removed --c`.
fn delta(old: &Json, new: &Json) -> String {
    let missing = |list: &Json, other: &Json| -> Vec<String> {
        not_in(list, other).into_iter().map(plain).collect()
    };
    let (gone, came) = (missing(old, new), missing(new, old));
    let length = |list: &Json| list.as_array().map_or(0, Vec::len);
    match (came.is_empty(), gone.is_empty()) {
        (true, true) if length(old) != length(new) => {
            format!("same items, {} instead of {}", length(new), length(old))
        }
        (true, true) => "same items in another order".to_owned(),
        (false, true) => format!("added {}", listed(&came, 5)),
        (true, false) => format!("removed {}", listed(&gone, 5)),
        _ => format!("added {}; removed {}", listed(&came, 5), listed(&gone, 5)),
    }
}
