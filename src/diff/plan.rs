//! What to do for an upgrade, in order.

use super::rules::{self, Sides};
use super::{Action, CHART_KIND, ChangeSet, Class, ObjectChange};
use indexmap::IndexSet;
use serde_json::Value as Json;
use std::collections::BTreeSet;

/// A step of the plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Stable name of the kind of step.
    pub id: &'static str,
    /// What to do, in one sentence.
    pub title: &'static str,
    /// With what, one by one; never empty.
    pub items: Vec<String>,
    /// Commands to copy; may have placeholders in capitals.
    pub commands: Vec<String>,
}

/// The steps about what happens, whether or not somebody reads of it.
pub(super) struct Happening {
    images: Step,
    crds: Step,
    take_over: Step,
    delete: Step,
    upgrade: Step,
    restart: Step,
}

/// What the changes of a set make happen.
pub(super) fn happening(set: &ChangeSet, sides: &Sides<'_>) -> Happening {
    Happening {
        images: step("images", "Mirror the images that are new", images(set, sides)),
        crds: crds(set, sides),
        take_over: take_over(set),
        delete: delete(set),
        upgrade: upgrade(set, sides),
        restart: step("restart", "Expect these pods to restart", restarts(set, sides)),
    }
}

/// The plan for a change set.
pub(super) fn plan(set: &ChangeSet, happening: Happening) -> Vec<Step> {
    // An upgrade that changes nothing needs no plan.
    if set.is_empty() {
        return Vec::new();
    }
    let Happening { images, crds, take_over, delete, upgrade, restart } = happening;
    let mut steps = vec![
        step("final", "Know what cannot be rolled back, and back it up first", one_way(set)),
        step("check", "Check what would break, and change it where you use it", breaking(set)),
        step("access", "Have somebody agree to the permissions that are gained", access(set)),
        step("values", "Change your values files", values(set)),
        images,
        crds,
        take_over,
        delete,
        upgrade,
        restart,
        step("watch", "Watch afterwards", watch(set)),
    ];
    steps.retain(|step| !step.items.is_empty());
    steps
}

fn step(id: &'static str, title: &'static str, items: Vec<String>) -> Step {
    Step { id, title, items, commands: Vec::new() }
}

/// Reasons of one object that an item names before it counts the rest.
const REASONS: usize = 5;

/// Objects with a finding that is wanted, each with the reasons.
fn with(set: &ChangeSet, wanted: impl Fn(&super::Finding) -> bool) -> Vec<String> {
    let mut items = Vec::new();
    for object in &set.objects {
        let findings = object.changes.iter().flat_map(|change| &change.findings);
        let findings = findings.filter(|finding| wanted(finding));
        let reasons: IndexSet<&str> = findings.map(|finding| finding.reason.as_str()).collect();
        let more = match reasons.len().saturating_sub(REASONS) {
            0 => String::new(),
            more => format!("; and {more} more"),
        };
        let reasons: Vec<&str> = reasons.into_iter().take(REASONS).collect();
        if !reasons.is_empty() {
            items.push(format!("{}: {}{more}", object.id, reasons.join("; ")));
        }
    }
    items
}

/// Objects with a finding of one of these codes, each with the reasons.
fn with_codes(set: &ChangeSet, codes: &[&str]) -> Vec<String> {
    with(set, |finding| codes.contains(&finding.rule.code))
}

fn one_way(set: &ChangeSet) -> Vec<String> {
    with_codes(
        set,
        &[
            "crd-storage-moved",
            "crd-stored-version-removed",
            "crd-removed",
            "crd-scope-changed",
            "crd-property-removed",
            "crd-free-fields-pruned",
            "crd-unknown-fields-pruned",
            "crd-placement-left-templates",
            "data-removed",
        ],
    )
}

/// What would stop the upgrade, and breaking changes that no other step is about.
fn breaking(set: &ChangeSet) -> Vec<String> {
    let elsewhere = |code: &str| {
        code.starts_with("value-")
            || code == "immutable-field"
            || code == "crd-placement-left-templates"
            || [
                "data-removed",
                "crd-stored-version-removed",
                "crd-property-removed",
                "crd-free-fields-pruned",
            ]
            .contains(&code)
    };
    // The only risk that shows before the upgrade does anything.
    let stored = |code: &str| code == "crd-unserved-version-removed";
    with(set, |finding| {
        let rule = finding.rule;
        stored(rule.code) || (rule.class == Class::Breaking && !elsewhere(rule.code))
    })
}

fn values(set: &ChangeSet) -> Vec<String> {
    let codes = ["value-removed", "value-renamed", "value-type-changed"];
    let changes = set.changes().flat_map(|(_, change)| &change.findings);
    let found = changes.filter(|finding| codes.contains(&finding.rule.code));
    found.map(|finding| finding.reason.clone()).collect()
}

/// Images of the new side that the old one does not have, in objects of the change set.
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
    all(sides.new, Some(&here)).difference(&all(sides.old, None)).cloned().collect()
}

/// Images of containers, and environment variables that are for images of operands.
fn collect(spec: &Json, images: &mut BTreeSet<String>) {
    for list in ["initContainers", "containers"] {
        for container in spec.get(list).and_then(Json::as_array).into_iter().flatten() {
            let image = container.get("image").and_then(Json::as_str);
            images.extend(image.map(str::to_owned));
            for variable in container.get("env").and_then(Json::as_array).into_iter().flatten() {
                let name = variable.get("name").and_then(Json::as_str).unwrap_or_default();
                let value = variable.get("value").and_then(Json::as_str);
                if name.contains("IMAGE") {
                    // Some hold a list, as `version=image` in lines.
                    let words = value.into_iter().flat_map(|v| v.split([' ', '\n', ',', ';']));
                    let words = words.map(|word| word.rsplit('=').next().unwrap_or(word));
                    let image = |word: &&str| word.contains('/') && word.contains([':', '@']);
                    images.extend(words.filter(image).map(str::to_owned));
                }
            }
        }
    }
}

/// Whether an object is no part of the release: a CRD in a folder that `helm upgrade` does not touch.
fn beside_release(object: &ObjectChange, sides: &Sides<'_>) -> bool {
    let chart = sides.new.chart.as_ref();
    let placement = chart.and_then(|chart| chart.crds.get(&object.id.name));
    object.id.kind == "CustomResourceDefinition" && placement != Some(&super::Placement::Templates)
}

/// `kubectl replace` removes what the new version removed, whatever applied the CRD before; it knows
/// only what is there.
fn crds(set: &ChangeSet, sides: &Sides<'_>) -> Step {
    let here =
        |object: &&ObjectChange| object.action != Action::Removed && beside_release(object, sides);
    let found: Vec<&ObjectChange> = set.objects.iter().filter(here).collect();
    let items = found.iter().map(|crd| format!("{} ({})", crd.id.name, crd.action.as_str()));
    let mut step = step(
        "crds",
        "Create and replace the CRDs with kubectl, before the rest; `helm upgrade` leaves them alone",
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

/// CRDs that become objects of the release.
fn take_over(set: &ChangeSet) -> Step {
    let codes = ["crd-placement-entered-templates"];
    let changes = set.changes().flat_map(|(_, change)| &change.findings);
    let found = changes.filter(|finding| codes.contains(&finding.rule.code));
    let mut step = step(
        "take-over",
        "Have the release take over CRDs that it does not own, with this upgrade; Helm 4 also needs \
         `--server-side=true --force-conflicts`",
        found.map(|finding| finding.reason.clone()).collect(),
    );
    step.commands.push("helm template crds CHART/charts/crds | kubectl replace -f -".to_owned());
    step
}

fn delete(set: &ChangeSet) -> Step {
    let mut found: Vec<&super::Identity> = Vec::new();
    for (object, change) in set.changes() {
        let fixed = change.findings.iter().any(|f| f.rule.code == "immutable-field");
        // The changes of an object come one after the other.
        if fixed && found.last() != Some(&&object.id) {
            found.push(&object.id);
        }
    }
    let holds_data = |id: &&&super::Identity| {
        ["PersistentVolumeClaim", "PersistentVolume"].contains(&id.kind.as_str())
    };
    let item = |id: &&super::Identity| match holds_data(&id) {
        true => format!("{id}: its data goes with it, so copy it to another one first"),
        false => id.to_string(),
    };
    let mut step = step(
        "delete",
        "Delete what cannot be updated, right before the upgrade, which creates it anew",
        found.iter().map(item).collect(),
    );
    // Nobody should delete data by copying a command.
    step.commands = found
        .iter()
        .filter(|id| !holds_data(id))
        .map(|id| {
            let cluster = id.kind.starts_with("Cluster") || id.kind.ends_with("Class");
            let namespace = match (cluster, id.namespace.as_str()) {
                (true, _) => String::new(),
                (_, "") => " --namespace NAMESPACE".to_owned(),
                (_, namespace) => format!(" --namespace {}", shell(namespace)),
            };
            // Its pods go on, and the new one takes them over.
            let orphan = if id.kind == "StatefulSet" { " --cascade=orphan" } else { "" };
            let kind = id.kind.to_lowercase();
            format!("kubectl{namespace} delete{orphan} {kind} {}", shell(&id.name))
        })
        .collect();
    step
}

/// A word of a command, which somebody will paste into a shell: charts of others hold any text.
fn shell(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:".contains(c);
    if !word.is_empty() && !word.starts_with('-') && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

fn access(set: &ChangeSet) -> Vec<String> {
    with_codes(
        set,
        &[
            "rbac-escalation",
            "rbac-secrets",
            "rbac-wildcard",
            "rbac-cluster-scope",
            "rbac-widened",
            "rbac-subject-added",
        ],
    )
}

fn upgrade(set: &ChangeSet, sides: &Sides<'_>) -> Step {
    let count = |action| {
        set.objects
            .iter()
            .filter(|o| {
                o.id.kind != CHART_KIND && !beside_release(o, sides) && o.action.as_str() == action
            })
            .count()
    };
    let (added, removed, changed, renamed) =
        (count("added"), count("removed"), count("changed"), count("renamed"));
    let items = if added + removed + changed + renamed == 0 {
        Vec::new()
    } else {
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
        let option = if take_over(set).items.is_empty() { "" } else { " --take-ownership" };
        step.commands.push(format!(
            "helm upgrade RELEASE CHART --namespace NAMESPACE --values VALUES{option}"
        ));
    }
    step
}

/// CRDs of the release that change in nothing but the annotation with the version that they are from.
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
        1 => Some("1 CRD gets a new version in its annotations, and no other change".to_owned()),
        more => {
            Some(format!("{more} CRDs get a new version in their annotations, and no other change"))
        }
    }
}

/// Workloads whose pod template changes.
fn restarts(set: &ChangeSet, sides: &Sides<'_>) -> Vec<String> {
    let mut items = Vec::new();
    for object in &set.objects {
        let Some(template) = rules::pod_template(&object.id.kind) else { continue };
        let here = |change: &super::Change| change.path.keys().starts_with(template);
        // Hooks run for every upgrade or test anew.
        let hook = sides.new.objects.get(&object.id).is_some_and(rules::is_hook);
        match object.action {
            _ if hook => {}
            Action::Changed if object.changes.iter().any(here) => {
                items.push(object.id.to_string());
            }
            Action::Renamed(_) => items.push(format!("{} (under another name)", object.id)),
            _ => {}
        }
    }
    items
}

fn watch(set: &ChangeSet) -> Vec<String> {
    with_codes(
        set,
        &[
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
        ],
    )
}
