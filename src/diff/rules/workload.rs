//! Rules on workloads: containers, commands, arguments, environment, volumes. Rules on single fields
//! are in [`super::fields`], rules on images in [`super::image`].

use super::fields::plain;
use super::image::{self, Use, is_image};
use super::{RuleContext, found, listed, not_in, rules};
use crate::diff::Finding;
use serde_json::Value as Json;

rules! {
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
        "Arguments enable and disable features, and set addresses."
        "Check the added and removed flags.";
    ARGS_TUNED "args-tuned" Info
        "Arguments for logging, versions or images changed."
        "Only the level or format of logs, or the version that the program reports, differs."
        "Nothing.";
    ENV "env-changed" Info
        "Environment variable added or changed."
        "The new version sets it for itself."
        "Nothing, unless you set the variable yourself.";
    ENV_REMOVED "env-removed" Info
        "Environment variable removed."
        "The container uses its own default."
        "Nothing, unless you relied on it.";
    ACCOUNT "service-account-changed" Risky
        "ServiceAccount of pods changed."
        "Your own roles, pull secrets and cloud identities of the old ServiceAccount no longer apply."
        "Bind them to the new ServiceAccount.";
    VOLUME "volume-changed" Info
        "Volumes or volume mounts changed."
        "Containers see other files. Claims that are no longer mounted, missing Secrets and host paths are found separately."
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
    // Fields of the workload itself are judged by the table of fields.
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
        ["volumes", ..] => findings.push(found(&VOLUME, context.change())),
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
        (["image"], Some(old), Some(new)) => image::judge(label, old, new, Use::Runs, findings),
        (["command"], ..) => {
            findings.push(found(&COMMAND, format!("{label}: {}", delta(&list(old), &list(new)))));
        }
        (["args"], ..) => {
            let (old, new) = (list(old), list(new));
            let rule = if is_tuning(&old, &new) { &ARGS_TUNED } else { &ARGS };
            findings.push(found(rule, format!("{label}: {}", delta(&old, &new))));
        }

        // Operators start their operands from images in variables.
        (["env", "[]", "value"], Some(old), Some(new)) if is_image(old) && is_image(new) => {
            image::judge(label, old, new, Use::Operand, findings);
        }
        (["env", "[]", "value"], Some(old), Some(new))
            if image::judge_versions(label, old, new, findings) => {}
        (["env", "[]"], None, Some(new)) if new.get("value").is_some_and(is_image) => {
            image::added(label, new.get("value").unwrap_or(&Json::Null), findings);
        }
        (["env" | "envFrom"] | ["env", "[]"], Some(_), None) => {
            findings.push(found(&ENV_REMOVED, format!("{label} removed")));
        }
        (["env", "[]"], None, Some(new)) => {
            findings.push(found(&ENV, format!("{label}: added {}", source_of(new))));
        }
        (["env" | "envFrom", rest @ ..], ..) if rest != ["[order]"] => {
            findings.push(found(&ENV, context.change()));
        }
        (["volumeMounts" | "volumeDevices", ..], ..) => {
            findings.push(found(&VOLUME, context.change()));
        }
        _ => {}
    }
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

/// Flags that only change logs and versions.
const TUNING: [&str; 10] = [
    "v",
    "log-level",
    "loglevel",
    "log-format",
    "verbosity",
    "zap-log-level",
    "zap-devel",
    "zap-encoder",
    "zap-stacktrace-level",
    "zap-time-encoding",
];

/// Returns true if two lists of arguments differ only in flags for logs, and in versions and images
/// of the same flags.
fn is_tuning(old: &Json, new: &Json) -> bool {
    let flags = |list: &Json, other: &Json| -> Vec<(String, String)> {
        let split = |text: &str| match text.split_once('=') {
            Some((flag, value)) => (flag.to_owned(), value.to_owned()),
            None => (text.to_owned(), String::new()),
        };
        not_in(list, other).into_iter().filter_map(Json::as_str).map(split).collect()
    };
    let (gone, came) = (flags(old, new), flags(new, old));
    // Go's `flag` accepts one dash and two.
    let is_log = |flag: &str| TUNING.contains(&flag.trim_start_matches('-'));
    let is_version = |value: &str| {
        is_image(&Json::String(value.to_owned()))
            || semver::Version::parse(value.trim_start_matches('v')).is_ok()
    };
    // Flags with the operator's own version change with every release.
    let renewed = |(flag, value): &(String, String), others: &[(String, String)]| {
        is_version(value) && others.iter().any(|(other, value)| other == flag && is_version(value))
    };
    let harmless = |list: &[(String, String)], others: &[(String, String)]| {
        list.iter().all(|item| is_log(&item.0) || renewed(item, others))
    };
    !(gone.is_empty() && came.is_empty()) && harmless(&gone, &came) && harmless(&came, &gone)
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
