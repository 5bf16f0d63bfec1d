//! The upgrade plan: steps in order.

use super::group::{Group, groups};
use super::rules::{self, Sides};
use super::{Action, ChangeSet, Class, ObjectChange, Rule, is_description};
use crate::escape::shell::in_quotes;
use crate::kubectl::adopt_crds;
use indexmap::IndexSet;
use serde_json::Value as Json;
use std::collections::BTreeSet;

/// A step of the plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Stable identifier of the kind of step.
    pub id: &'static str,
    /// Instruction, in one sentence.
    pub title: &'static str,
    /// Affected objects, images or values; never empty.
    pub items: Vec<String>,
    /// The findings that the items are, as indices in [`groups`] of the change set; empty for items
    /// that are not findings.
    pub findings: Vec<usize>,
    /// Commands to copy, with placeholders in capitals.
    pub commands: Vec<String>,
}

/// Steps that do not depend on ignored changes: what the upgrade does even if a report omits it.
pub(super) struct UnconditionalSteps {
    images: Step,
    crds: Step,
    take_over: Step,
    delete: Step,
    upgrade: Step,
    restart: Step,
}

/// Returns the steps that follow from all changes, before ignored ones are removed.
pub(super) fn unconditional_steps(set: &ChangeSet, sides: &Sides<'_>) -> UnconditionalSteps {
    UnconditionalSteps {
        images: step("images", "Mirror the new images", images(set, sides)),
        crds: crds(set, sides),
        take_over: take_over(set),
        delete: delete(set),
        upgrade: upgrade(set, sides),
        restart: step("restart", "Expect these pods to restart", restarts(set, sides)),
    }
}

/// Returns the plan for a change set; empty without changes.
pub(super) fn plan(set: &ChangeSet, unconditional: UnconditionalSteps) -> Vec<Step> {
    if set.is_empty() {
        return Vec::new();
    }
    let groups = groups(set);

    // In the order in which an operator of the cluster does them.
    let UnconditionalSteps { images, crds, take_over, delete, upgrade, restart } = unconditional;
    let mut steps = vec![
        of_findings("final", "Back up: these changes cannot be rolled back", &groups, is_one_way),
        of_findings("check", "Fix what these breaking changes affect", &groups, is_breaking),
        of_findings("access", "Review the new RBAC permissions", &groups, is_access),
        step("values", "Update your values files", values(set)),
        images,
        crds,
        take_over,
        delete,
        upgrade,
        restart,
        of_findings("watch", "Monitor after the upgrade", &groups, is_watched),
    ];
    steps.retain(|step| !step.items.is_empty());
    steps
}

fn step(id: &'static str, title: &'static str, items: Vec<String>) -> Step {
    Step { id, title, items, findings: Vec::new(), commands: Vec::new() }
}

/// Returns a step with one item per group of findings that is wanted, with its extent.
fn of_findings(
    id: &'static str,
    title: &'static str,
    groups: &[Group<'_>],
    wanted: impl Fn(&Rule) -> bool,
) -> Step {
    let found = groups.iter().enumerate().filter(|(_, group)| wanted(group.rule));
    let item = |group: &Group<'_>| format!("{} ({})", group.reason, group.extent());
    let (findings, items) = found.map(|(index, group)| (index, item(group))).unzip();
    Step { findings, ..step(id, title, items) }
}

fn is_one_way(rule: &Rule) -> bool {
    [
        "crd-storage-moved",
        "crd-stored-version-removed",
        "crd-removed",
        "crd-scope-changed",
        "crd-property-removed",
        "crd-free-fields-pruned",
        "crd-unknown-fields-pruned",
        "crd-placement-left-templates",
        "data-removed",
    ]
    .contains(&rule.code)
}

/// Returns true for changes that would fail the upgrade, and for breaking changes without their own
/// step.
fn is_breaking(rule: &Rule) -> bool {
    // They have a step of their own.
    let elsewhere = |code: &str| {
        code.starts_with("value-")
            || ["immutable-field", "stored-default-refused"].contains(&code)
            || code == "crd-placement-left-templates"
            || [
                "data-removed",
                "crd-stored-version-removed",
                "crd-property-removed",
                "crd-free-fields-pruned",
            ]
            .contains(&code)
    };
    // The only risky change that can fail the upgrade itself.
    let stored = |code: &str| code == "crd-unserved-version-removed";
    stored(rule.code) || (rule.class == Class::Breaking && !elsewhere(rule.code))
}

fn values(set: &ChangeSet) -> Vec<String> {
    let codes = ["value-removed", "value-renamed", "value-type-changed", "value-narrowed"];
    let changes = set.changes().flat_map(|(_, change)| &change.findings);
    let found = changes.filter(|finding| codes.contains(&finding.rule.code));
    found.map(|finding| finding.reason.clone()).collect()
}

/// Returns images of changed objects that the old side does not use.
fn images(set: &ChangeSet, sides: &Sides<'_>) -> Vec<String> {
    let here: BTreeSet<&super::Identity> = set.objects.iter().map(|object| &object.id).collect();
    let all = |side: &super::Side, here: Option<&BTreeSet<&super::Identity>>| {
        let mut images = BTreeSet::new();
        for (id, object) in
            side.objects.iter().filter(|(id, _)| here.is_none_or(|h| h.contains(id)))
        {
            if let Some(template) = rules::pod_template(&id.kind)
                && let Some(spec) = rules::at(object, template).and_then(|t| t.get("spec"))
            {
                collect(spec, &mut images);
            }
        }
        images
    };
    // Of changed objects only: an image that the old chart has anywhere is mirrored already.
    all(sides.new, Some(&here)).difference(&all(sides.old, None)).cloned().collect()
}

/// Collects images of containers, and operand images from environment variables.
fn collect(spec: &Json, images: &mut BTreeSet<String>) {
    for list in ["initContainers", "containers"] {
        for container in spec.get(list).and_then(Json::as_array).into_iter().flatten() {
            let image = container.get("image").and_then(Json::as_str);
            images.extend(image.map(str::to_owned));
            for variable in container.get("env").and_then(Json::as_array).into_iter().flatten() {
                let name = variable.get("name").and_then(Json::as_str).unwrap_or_default();
                let value = variable.get("value").and_then(Json::as_str);
                // Operators start pods from images in RELATED_IMAGE_ variables and the like, which
                // have to be mirrored as well.
                if name.contains("IMAGE") {
                    // Some variables have a list of `version=image` lines.
                    let words = value.into_iter().flat_map(|v| v.split([' ', '\n', ',', ';']));
                    let words = words.map(|word| word.rsplit('=').next().unwrap_or(word));
                    let image = |word: &&str| word.contains('/') && word.contains([':', '@']);
                    images.extend(words.filter(image).map(str::to_owned));
                }
            }
        }
    }
}

/// Returns true for CRDs outside of the release, in folders that `helm upgrade` ignores.
fn is_outside_release(object: &ObjectChange, sides: &Sides<'_>) -> bool {
    let chart = sides.new.chart.as_ref();
    let placement = chart.and_then(|chart| chart.crds.get(&object.id.name));
    object.id.kind == "CustomResourceDefinition" && placement != Some(&super::Placement::Templates)
}

/// Returns the step for CRDs outside of the release.
///
/// `kubectl replace` removes obsolete fields whatever applied the CRD before, but only works on
/// existing CRDs; hence `kubectl create` for added ones.
fn crds(set: &ChangeSet, sides: &Sides<'_>) -> Step {
    let here = |object: &&ObjectChange| {
        object.action != Action::Removed && is_outside_release(object, sides)
    };
    let found: Vec<&ObjectChange> = set.objects.iter().filter(here).collect();
    let items = found.iter().map(|crd| format!("{} ({})", crd.id.name, crd.action.as_str()));
    let mut step = step(
        "crds",
        "Create and replace the CRDs with kubectl; `helm upgrade` does not update them",
        items.collect(),
    );

    let chart = sides.new.chart.as_ref();
    let folder = chart.map_or("", |chart| chart.crds_folder.as_str());
    let folder =
        if folder.is_empty() { "CRDS".to_owned() } else { shell(&format!("CHART/{folder}")) };
    let added = found.iter().filter(|crd| crd.action != Action::Changed);
    let file = |crd: &&ObjectChange| chart?.crd_files.get(&crd.id.name);
    let files: IndexSet<String> =
        added.clone().filter_map(file).map(|path| shell(&format!("CHART/{path}"))).collect();
    if !files.is_empty() {
        let files: Vec<String> = files.into_iter().collect();
        step.commands.push(format!("kubectl create -f {}", files.join(" -f ")));
    } else if added.count() > 0 {
        step.commands.push(format!("kubectl create -f {folder}"));
    }
    if found.iter().any(|crd| crd.action == Action::Changed) {
        step.commands.push(format!("kubectl replace -f {folder}"));
    }
    step
}

/// Returns the step for CRDs that become objects of the release.
fn take_over(set: &ChangeSet) -> Step {
    let codes = ["crd-placement-entered-templates"];
    let changes = set.changes().flat_map(|(_, change)| &change.findings);
    let found = changes.filter(|finding| codes.contains(&finding.rule.code));
    let mut step = step(
        "take-over",
        "Adopt existing CRDs into the release with this upgrade",
        found.map(|finding| finding.reason.clone()).collect(),
    );
    step.commands.extend(adopt_crds("crds CHART/charts/crds"));
    step
}

/// Returns the step for objects that the API server does not update to the new version.
fn delete(set: &ChangeSet) -> Step {
    let of_code = |wanted: &'static str| {
        let changes = set.changes().filter(move |(_, change)| {
            change.findings.iter().any(|finding| finding.rule.code == wanted)
        });
        changes.map(|(object, _)| &object.id).collect::<IndexSet<_>>()
    };
    let (fixed, stored) = (of_code("immutable-field"), of_code("stored-default-refused"));
    let found: IndexSet<&super::Identity> = fixed.union(&stored).copied().collect();
    let holds_data = |id: &&&super::Identity| {
        ["PersistentVolumeClaim", "PersistentVolume"].contains(&id.kind.as_str())
    };
    let item = |id: &&super::Identity| match holds_data(&id) {
        true => format!("{id}: deletes its data, copy it first"),
        false => id.to_string(),
    };
    let mut step = step(
        "delete",
        "Delete objects that the API server does not update right before the upgrade, which recreates them",
        found.iter().map(item).collect(),
    );
    // No command for objects with data, so that a pasted command never deletes data.
    step.commands = found
        .iter()
        .filter(|id| !holds_data(id))
        .map(|id| {
            // There is no cluster to ask; these are the kinds whose fields are immutable and that
            // have no namespace.
            let cluster = id.kind.starts_with("Cluster") || id.kind.ends_with("Class");
            let namespace = match (cluster, id.namespace.as_str()) {
                (true, _) => String::new(),
                (_, "") => " --namespace NAMESPACE".to_owned(),
                (_, namespace) => format!(" --namespace {}", shell(namespace)),
            };
            // Keeps the pods running; the new object adopts them, unless its selector changes.
            let adopts = id.kind == "StatefulSet" || !fixed.contains(*id);
            let orphan = if adopts { " --cascade=orphan" } else { "" };
            let kind = id.kind.to_lowercase();
            format!("kubectl{namespace} delete{orphan} {kind} {}", shell(&id.name))
        })
        .collect();
    step
}

/// Quotes a word for a shell. Commands are pasted, and third-party charts may contain any text.
fn shell(word: &str) -> String {
    // Names come from charts, which are untrusted, and commands are pasted.
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:".contains(c);
    if !word.is_empty() && !word.starts_with('-') && word.chars().all(plain) {
        return word.to_owned();
    }
    in_quotes(word)
}

fn is_access(rule: &Rule) -> bool {
    [
        "rbac-escalation",
        "rbac-secrets",
        "rbac-wildcard",
        "rbac-cluster-scope",
        "rbac-widened",
        "rbac-subject-added",
    ]
    .contains(&rule.code)
}

/// Returns the step with the upgrade command and the number of changed objects.
fn upgrade(set: &ChangeSet, sides: &Sides<'_>) -> Step {
    let count = |action| {
        set.objects
            .iter()
            .filter(|o| {
                !is_description(&o.id)
                    && !is_outside_release(o, sides)
                    && o.action.as_str() == action
            })
            .count()
    };

    let (added, removed, changed, renamed) =
        (count("added"), count("removed"), count("changed"), count("renamed"));
    let items = if added + removed + changed + renamed == 0 {
        Vec::new()
    } else {
        // Helm creates a renamed object and deletes the old one.
        vec![format!(
            "{} created, {} changed, {} deleted",
            added + renamed,
            changed,
            removed + renamed
        )]
    };

    let items: Vec<String> = items.into_iter().chain(version_only(sides)).collect();
    let mut step = step("upgrade", "Upgrade", items);
    if sides.new.chart.is_some() {
        // Helm refuses objects that exist without its labels.
        let option = if take_over(set).items.is_empty() { "" } else { " --take-ownership" };
        step.commands.push(format!(
            "helm upgrade RELEASE CHART --namespace NAMESPACE --values VALUES{option}"
        ));
    }

    step
}

/// Returns an item for CRDs of the release that change only in the version annotation.
fn version_only(sides: &Sides<'_>) -> Option<String> {
    let crds = sides.new.objects.iter().filter(|(id, object)| {
        let version = |side: &super::Side| side.crd_versions.get(&id.name).cloned();
        id.kind == "CustomResourceDefinition"
            && sides.old.objects.get(id) == Some(object)
            && version(sides.new).is_some()
            && version(sides.new) != version(sides.old)
    });
    match crds.count() {
        0 => None,
        1 => Some("1 CRD with a new version annotation only".to_owned()),
        more => Some(format!("{more} CRDs with a new version annotation only")),
    }
}

/// Returns the workloads whose pod template changes.
fn restarts(set: &ChangeSet, sides: &Sides<'_>) -> Vec<String> {
    let mut items = Vec::new();
    for object in &set.objects {
        let Some(template) = rules::pod_template(&object.id.kind) else { continue };
        let here = |change: &super::Change| change.path.keys().starts_with(template);
        // Hooks run in every upgrade or test anyway.
        let hook = sides.new.objects.get(&object.id).is_some_and(rules::is_hook);
        match object.action {
            _ if hook => {}
            Action::Changed if object.changes.iter().any(here) => {
                items.push(object.id.to_string());
            }
            Action::Renamed(_) => items.push(format!("{} (renamed)", object.id)),
            _ => {}
        }
    }
    items
}

fn is_watched(rule: &Rule) -> bool {
    [
        "webhook-on-core-added",
        "webhook-added",
        "webhook-policy-hardened",
        "webhook-selector-removed",
        "webhook-rules-widened",
        "crd-conversion-changed",
        "network-policy-added",
        "network-policy-changed",
        "service-selector-changed",
        "container-removed",
        "replicas-lowered",
        "probe-removed",
        "memory-limit-lowered",
    ]
    .contains(&rule.code)
}
