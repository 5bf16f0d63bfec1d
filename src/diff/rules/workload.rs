//! Rules on workloads: containers, commands, arguments, environment, volumes. Rules on single fields
//! are in [`super::fields`], rules on images in [`super::image`].

use super::faults::elects_leader;
use super::fields::{self, plain};
use super::image::{self, Use, is_image};
use super::lookup::Lookup;
use super::{RuleContext, found, listed, not_in, rules, settings};
use crate::diag::join;
use crate::ir::quantity;
use crate::path::Step;
use crate::read::{at, items, pod_spec, pod_template, text};
use crate::{Finding, Identity};
use serde_json::Value as Json;
use std::collections::BTreeMap;

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

pub(super) fn add_findings(context: &RuleContext<'_, '_>, findings: &mut Vec<Finding>) {
    let Some(template) = pod_template(&context.pair.id.kind) else { return };
    let shape = context.shape();
    if shape.starts_with(&["spec", "strategy"]) {
        findings.extend(overlap(context));
    }
    // Other fields of the workload itself are judged by the table of fields.
    let Some(["spec", rest @ ..]) = shape.strip_prefix(template) else { return };

    let (old, new) = (context.edit.old.as_ref(), context.edit.new.as_ref());
    let label = context.label();
    let images = |list| {
        let images = items(list, &[]).iter().filter_map(|container| container.get("image"));
        listed(images.map(plain), 3)
    };
    let finding = match (rest, old, new) {
        (["volumes", ..], ..) => Some(volume(context, template)),
        (["containers" | "initContainers"], None, _) => {
            Some(found(&CONTAINER_ADDED, format!("{label}: new images {}", images(new))))
        }
        (["containers" | "initContainers"], _, None) => {
            Some(found(&CONTAINER_REMOVED, format!("{label}: removed images {}", images(old))))
        }
        (["containers" | "initContainers", "[]", rest @ ..], ..) => {
            return findings.extend(container(context, rest, &label));
        }
        _ => None,
    };
    findings.extend(finding);
}

/// Returns the findings for an edit inside of a container.
fn container(context: &RuleContext<'_, '_>, rest: &[&str], label: &str) -> Vec<Finding> {
    let (old, new) = (context.edit.old.as_ref(), context.edit.new.as_ref());
    let with_image = |container: &Json| {
        let image = container.get("image");
        image.map_or("no image".to_owned(), |image| format!("image {}", plain(image)))
    };
    let finding = match (rest, old, new) {
        ([], None, Some(new)) => {
            Some(found(&CONTAINER_ADDED, format!("{label} added with {}", with_image(new))))
        }
        ([], Some(old), None) => {
            Some(found(&CONTAINER_REMOVED, format!("{label} removed with {}", with_image(old))))
        }
        (["image"], Some(Json::String(old)), Some(Json::String(new))) => {
            return image::changed(label, old, new, Use::Runs);
        }
        (["command"], ..) => Some(found(&COMMAND, format!("{label}: {}", delta(old, new)))),
        (["args"], ..) => return settings::arguments(label, [old, new]),

        // Operators start their operands from images in variables.
        (["env", "[]", "value"], Some(Json::String(old)), Some(Json::String(new))) => {
            let operands = image::changed_operands(label, old, new);
            return operands.unwrap_or_else(|| variable(context, label).into_iter().collect());
        }
        (["env", "[]"], None, Some(new)) if is_image(text(new, &["value"])) => {
            Some(image::added(label, text(new, &["value"])))
        }
        (["env", "[]", ..], ..) => variable(context, label),
        (["env" | "envFrom"], Some(_), None) => {
            Some(found(&ENV_REMOVED, format!("{label} removed")))
        }
        (["env", "[order]"], ..) => variables_in_order(context, label),
        (["env" | "envFrom", rest @ ..], ..) if rest != ["[order]"] => {
            Some(found(&ENV, context.change()))
        }
        (["volumeMounts" | "volumeDevices", rest @ ..], ..) => {
            // A mount or device at a new path removes nothing.
            let is_new = rest.len() <= 1 && old.is_none();
            let moved = !is_new && rest != ["[order]"] && has_same_image(context);
            Some(found(if moved { &MOUNT } else { &VOLUME }, context.change()))
        }
        _ => None,
    };
    finding.into_iter().collect()
}

/// Returns true if the container with the edit has the same image on both sides.
fn has_same_image(context: &RuleContext<'_, '_>) -> bool {
    let steps = context.steps();
    let container = steps.iter().position(|step| matches!(step, Step::Item(_) | Step::Index(_)));
    let image = |side: &Lookup<'_>| side.at(steps.get(..=container?)?)?.get("image").cloned();
    image(&context.old) == image(&context.new)
}

/// Returns the value of an environment variable: `"info"`, or its source: `from fieldRef
/// metadata.name`.
fn source_of(variable: &Json) -> String {
    let Some(source) = variable.get("valueFrom").and_then(Json::as_object) else {
        return format!("\"{}\"", plain(&Json::from(text(variable, &["value"]))));
    };
    let shown = |(kind, source): (&String, &Json)| {
        let keys = ["name", "key", "fieldPath", "resource"].into_iter();
        format!("{kind} {}", join(keys.filter_map(|key| source.get(key)).map(plain), "/"))
    };
    format!("from {}", listed(source.iter().map(shown), 2))
}

/// Returns the finding for an edit of an environment variable.
fn variable(context: &RuleContext<'_, '_>, label: &str) -> Option<Finding> {
    let steps = context.steps();
    let at = steps.iter().rposition(|step| matches!(step, Step::Item(_)))?;
    let path = steps.get(..=at)?;
    let (old, new) = (context.old.at(path), context.new.at(path));
    let name = path.last().map(Step::label).unwrap_or_default();
    let (rule, reason) = match (old, new) {
        (Some(_), None) => (&ENV_REMOVED, format!("{label} removed")),
        (None, Some(new)) => (&ENV, format!("{label}: added {}", source_of(new))),
        _ => (&ENV, context.change()),
    };
    let is_tuned = settings::is_tuned_variable(&name, old, new);
    Some(found(if is_tuned { &ENV_TUNED } else { rule }, reason))
}

/// Returns the finding for another order of variables, if it changes the value of one: the kubelet puts
/// only the values of variables before it in place of `$(NAME)`.
fn variables_in_order(context: &RuleContext<'_, '_>, label: &str) -> Option<Finding> {
    let (_, list) = context.steps().split_last()?;
    let [old, new] = [&context.old, &context.new].map(|side| uses(items(side.at(list), &[])));
    let moved = new.into_iter().filter(|(pair, is_before)| old.get(pair) == Some(&!is_before));
    let shown = moved.map(|((user, used), is_before)| {
        let place = if is_before { "before" } else { "after" };
        format!("{user} uses {used}, which now comes {place} it")
    });
    let shown: Vec<String> = shown.collect();
    let label = label.trim_end_matches("[order]");
    (!shown.is_empty()).then(|| found(&ENV, format!("{label}: {}", listed(&shown, 3))))
}

/// Returns the pairs of variables of which the first has `$(NAME)` of the second in its value, and
/// whether the second is before it.
fn uses(variables: &[Json]) -> BTreeMap<(&str, &str), bool> {
    let name = |variable| text(variable, &["name"]);
    let mut uses = BTreeMap::new();
    for (at, user) in variables.iter().enumerate() {
        let value = text(user, &["value"]);
        let others = variables.iter().enumerate().filter(|(place, _)| *place != at);
        for (place, used) in others.filter(|_| value.contains("$(")) {
            // `$$(NAME)` is the text `$(NAME)`.
            let reference = format!("$({})", name(used));
            if value.split("$$").any(|part| part.contains(&reference)) {
                uses.insert((name(user), name(used)), place < at);
            }
        }
    }
    uses
}

/// Returns the finding if pods that replaced each other now overlap.
fn overlap(context: &RuleContext<'_, '_>) -> Option<Finding> {
    let [before, after] = [context.pair.old, context.pair.new].map(|object| {
        let strategy = at(object, &["spec", "strategy", "type"]).and_then(Json::as_str);
        // The default of Deployments; no other workload has `Recreate`.
        strategy.unwrap_or("RollingUpdate")
    });
    if before != "Recreate" || after == "Recreate" {
        return None;
    }
    let id = &context.pair.id;
    let elects = pod_spec(&id.kind, context.pair.new)
        .is_some_and(|spec| elects_leader(context.sides.new, &id.namespace, spec));
    let reason = format!("spec.strategy.type: {before} → {after}, without leader election");
    (!elects).then(|| found(&OVERLAP, reason))
}

/// Keys of the source of a volume that do not determine its content.
const FORM: [&str; 4] = ["defaultMode", "optional", "items", "sizeLimit"];

/// Returns the finding for an edit of a volume.
fn volume(context: &RuleContext<'_, '_>, template: &[&str]) -> Finding {
    let limit = |value: &Option<Json>| value.as_ref().and_then(quantity);
    if context.shape().ends_with(&["emptyDir", "sizeLimit"])
        && let Some(new) = limit(&context.edit.new)
        && limit(&context.edit.old).is_none_or(|old| new < old)
    {
        return found(&fields::LIMIT, context.change());
    }

    let path = context.steps().get(..template.len() + 3);
    let sides = path.and_then(|path| Some((context.old.at(path)?, context.new.at(path)?)));
    let moved = sides.is_some_and(|(old, new)| {
        let follows = |(kind, keys): (&str, [&str; 2])| {
            let id = |volume| {
                let name = at(volume, &keys)?.as_str()?;
                Some(Identity::new(kind, "", &context.pair.id.namespace, name))
            };
            let renamed = id(old).zip(id(new));
            renamed.is_some_and(|(old, new)| context.sides.renamed.get(&old) == Some(&&new))
        };
        let named = [("ConfigMap", ["configMap", "name"]), ("Secret", ["secret", "secretName"])];
        source(old) != source(new) && !named.into_iter().any(follows)
    });
    found(if moved { &SOURCE } else { &VOLUME }, context.change())
}

/// Returns the source of a volume, reduced to the fields that determine its content.
fn source(volume: &Json) -> Json {
    let mut volume = volume.clone();
    let sources = volume.as_object_mut().into_iter().flat_map(|map| map.values_mut());
    for source in sources.filter_map(Json::as_object_mut) {
        source.retain(|key, _| !FORM.contains(&key.as_str()));
    }
    volume
}

/// Returns the difference of two lists: `added --a and --b; removed --c`.
pub(super) fn delta(old: Option<&Json>, new: Option<&Json>) -> String {
    let [gone, came] = [not_in(old, new), not_in(new, old)]
        .map(|list| list.into_iter().map(plain).collect::<Vec<String>>());
    let [before, after] = [old, new].map(|list| items(list, &[]).len());
    match (came.is_empty(), gone.is_empty()) {
        (true, true) if before != after => format!("same items, {after} instead of {before}"),
        (true, true) => "same items in another order".to_owned(),
        (false, true) => format!("added {}", listed(&came, 5)),
        (true, false) => format!("removed {}", listed(&gone, 5)),
        _ => format!("added {}; removed {}", listed(&came, 5), listed(&gone, 5)),
    }
}
