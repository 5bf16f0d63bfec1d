//! The upgrade plan: steps in order.

use super::group::{Group, groups};
use super::read::{containers, entries, is_true, items, pod_spec, pod_template, text, texts};
use super::rules::{self, Sides};
use super::{Action, ChangeSet, Finding, Identity, ObjectChange, is_description};
use crate::diag::{counted, join};
use crate::escape::shell::{in_quotes, quoted};
use crate::kubectl::{adopt_crds, make_helm_owner};
use indexmap::IndexSet;
use serde_json::{Value as Json, json};
use std::collections::BTreeSet;

/// Declares [`StepKind`]: a variant, its name in JSON, and the instruction, in one sentence.
macro_rules! step_kinds {
    ($($kind:ident $id:literal $title:literal;)*) => {
        /// The kind of a step, in the order in which an operator of the cluster does the steps. Rules
        /// name the ones that their findings belong to.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum StepKind {
            $(#[doc = $title] $kind,)*
        }

        impl StepKind {
            /// Returns the name in JSON.
            pub fn id(self) -> &'static str {
                match self { $(StepKind::$kind => $id),* }
            }

            /// Returns the instruction, in one sentence.
            pub fn title(self) -> &'static str {
                match self { $(StepKind::$kind => $title),* }
            }
        }
    };
}

step_kinds! {
    BackUp "final" "Back up: these changes cannot be rolled back";
    Provide "provide" "Provide what the new version needs of the cluster";
    Fix "check" "Fix what these breaking changes affect";
    Keep "keep" "Keep these CRDs, which Helm deletes otherwise";
    Access "access" "Review the new RBAC permissions";
    Values "values" "Update your values files";
    Images "images" "Mirror the new images";
    Storage "storage"
        "Store all objects in a version that stays, or the API server rejects the new CRDs";
    SeparateCrds "separate-crds" "Upgrade the chart of these CRDs first; it is another release";
    Crds "crds" "Create and replace the CRDs with kubectl; `helm upgrade` does not update them";
    TakeOver "take-over" "Adopt existing CRDs into the release with this upgrade";
    Delete "delete"
        "Delete objects that the API server does not update right before the upgrade, or a rollback, \
         which recreates them";
    Upgrade "upgrade" "Upgrade";
    Restart "restart" "Expect these pods to restart";
    Watch "watch" "Monitor after the upgrade";
}

/// A step of the plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The kind of step.
    pub kind: StepKind,
    /// Affected objects, images or values; never empty.
    pub items: Vec<String>,
    /// The findings that the items are, as indices in [`groups`] of the change set; empty for items
    /// that are not findings.
    pub findings: Vec<usize>,
    /// Commands to copy, with placeholders in capitals.
    pub commands: Vec<String>,
}

impl Step {
    /// Creates a step of items that are not findings, without commands.
    fn new(kind: StepKind, items: Vec<String>) -> Self {
        Step { kind, items, findings: Vec::new(), commands: Vec::new() }
    }
}

/// Returns the steps that follow from all changes, before ignored ones are removed: what the upgrade
/// does even if a report omits it.
pub(super) fn unconditional_steps(set: &ChangeSet, sides: &Sides<'_>) -> Vec<Step> {
    vec![
        keep(set),
        Step::new(StepKind::Images, images(set, sides)),
        storage(set, sides),
        separate_crds(set, sides),
        crds(set, sides),
        take_over(set),
        delete(set),
        upgrade(set, sides),
        Step::new(StepKind::Restart, restarts(set, sides)),
    ]
}

/// Kinds of steps whose items are findings.
const OF_FINDINGS: [StepKind; 5] =
    [StepKind::BackUp, StepKind::Provide, StepKind::Fix, StepKind::Access, StepKind::Watch];

/// Returns the plan for a change set; empty without changes.
pub(super) fn plan(set: &ChangeSet, unconditional: Vec<Step>) -> Vec<Step> {
    if set.is_empty() {
        return Vec::new();
    }
    let groups = groups(set);
    let mut steps = unconditional;
    steps.extend(OF_FINDINGS.map(|kind| of_findings(kind, &groups)));
    steps.push(Step::new(StepKind::Values, reasons(set, StepKind::Values)));
    steps.retain(|step| !step.items.is_empty());
    steps.sort_by_key(|step| step.kind);
    steps
}

/// Returns a step with one item per group of findings that belongs to it, with its extent.
fn of_findings(kind: StepKind, groups: &[Group<'_>]) -> Step {
    let found = groups.iter().enumerate().filter(|(_, group)| group.rule.steps.contains(&kind));
    let item = |group: &Group<'_>| format!("{} ({})", group.reason, group.extent());
    let (findings, items) = found.map(|(index, group)| (index, item(group))).unzip();
    Step { findings, ..Step::new(kind, items) }
}

/// Returns the objects with findings that belong to a step, each once, with the findings.
fn objects(set: &ChangeSet, kind: StepKind) -> Vec<(&ObjectChange, Vec<&Finding>)> {
    let belongs = |finding: &&Finding| finding.rule.steps.contains(&kind);
    let of_object = |object| -> Vec<&Finding> {
        let object: &ObjectChange = object;
        object.changes.iter().flat_map(|change| &change.findings).filter(belongs).collect()
    };
    let found = set.objects.iter().map(|object| (object, of_object(object)));
    found.filter(|(_, findings)| !findings.is_empty()).collect()
}

/// Returns the reasons of the findings that belong to a step.
fn reasons(set: &ChangeSet, kind: StepKind) -> Vec<String> {
    let findings = objects(set, kind).into_iter().flat_map(|(_, findings)| findings);
    findings.map(|finding| finding.reason.clone()).collect()
}

/// Returns the step for CRDs that leave the release and stay in use.
fn keep(set: &ChangeSet) -> Step {
    // Reasons are the names in backticks.
    let names = reasons(set, StepKind::Keep).into_iter();
    let names: Vec<String> = names.map(|name| name.trim_matches('`').to_owned()).collect();
    let command = |name: &String| {
        format!("kubectl annotate crd {} helm.sh/resource-policy=keep --overwrite", quoted(name))
    };
    Step { commands: names.iter().map(command).collect(), ..Step::new(StepKind::Keep, names) }
}

/// Returns the step for CRDs that lose a version in which objects may be stored.
///
/// The API server rejects a CRD without a version that is in `status.storedVersions`, so all objects
/// are first written in a version that both sides have.
fn storage(set: &ChangeSet, sides: &Sides<'_>) -> Step {
    let mut step = Step::new(StepKind::Storage, Vec::new());
    for (object, findings) in objects(set, StepKind::Storage) {
        let name = &object.id.name;
        let gone = join(findings.iter().map(|finding| &finding.reason), "; ");
        let (old, new) = (sides.old.objects.get(&object.id), sides.new.objects.get(&object.id));
        let kept = old.zip(new).and_then(|(old, new)| kept_version(old, new));
        let Some((kept, flags)) = kept else {
            step.items.push(format!(
                "{name}: {gone}. No version stays: export the objects, convert them, delete the CRD, \
                 and create them again after the upgrade"
            ));
            continue;
        };
        step.items.push(format!("{name}: {gone}. `{kept}` stays"));

        let crd = quoted(name);
        if !flags.is_empty() {
            let patch = in_quotes(&Json::Array(flags).to_string());
            step.commands.push(format!("kubectl patch crd {crd} --type=json --patch {patch}"));
            if !is_outside_release(&object.id, sides) {
                // Or the upgrade conflicts with this change of `spec.versions` (Helm 4).
                step.commands.push(make_helm_owner(&format!("crd {crd}")));
            }
        }
        // A write stores an object in the storage version, even if it is unchanged. A CRD is named
        // PLURAL.GROUP, as kubectl names the resource. Without objects there is nothing to replace,
        // which kubectl says.
        step.commands.push(format!(
            "kubectl get {crd} --all-namespaces --output json | kubectl replace -f -"
        ));
        let status = json!({"status": {"storedVersions": [kept]}}).to_string();
        step.commands.push(format!(
            "kubectl patch crd {crd} --subresource=status --type=merge --patch {}",
            in_quotes(&status)
        ));
    }
    step
}

/// Returns the version of the old CRD that the new one has, too, for storing objects before the upgrade:
/// the old storage version, else the new one, else the first. With it are the operations of a JSON patch
/// that make it the storage version; none if it is that already.
fn kept_version<'c>(old: &'c Json, new: &Json) -> Option<(&'c str, Vec<Json>)> {
    let name = |version: &'c Json| version.get("name").and_then(Json::as_str);
    let is_stored = |version: &Json| is_true(version, &["storage"]);
    let before = items(old, &["spec", "versions"]);
    let after = items(new, &["spec", "versions"]);
    let in_new = |wanted: &Json| after.iter().find(|new| new.get("name") == wanted.get("name"));
    let kept: Vec<&Json> = before.iter().filter(|old| in_new(old).is_some()).collect();
    let stored = kept.iter().find(|version| is_stored(version));
    let next = || kept.iter().find(|version| in_new(version).is_some_and(is_stored));
    // With the old storage version, the CRD needs no change before the upgrade; with the new one, none
    // after it.
    let chosen = *stored.or_else(next).or_else(|| kept.first())?;

    let is_wrong =
        |(_, version): &(usize, &'c Json)| is_stored(version) != (name(version) == name(chosen));
    let flag = |(index, version): (usize, &Json)| {
        json!({"op": "add", "path": format!("/spec/versions/{index}/storage"),
            "value": !is_stored(version)})
    };
    Some((name(chosen)?, before.iter().enumerate().filter(is_wrong).map(flag).collect()))
}

/// Returns images of changed objects that the old side does not use.
fn images(set: &ChangeSet, sides: &Sides<'_>) -> Vec<String> {
    let here: BTreeSet<&Identity> = set.objects.iter().map(|object| &object.id).collect();
    let changed = sides.new.objects.iter().filter(|(id, _)| here.contains(id));
    // Of changed objects only: an image that the old chart has anywhere is mirrored already.
    images_of(changed).difference(&images_of(&sides.old.objects)).cloned().collect()
}

/// Returns the images that objects mention.
fn images_of<'o>(objects: impl IntoIterator<Item = (&'o Identity, &'o Json)>) -> BTreeSet<String> {
    let mut images = BTreeSet::new();
    for (id, object) in objects {
        if let Some(spec) = pod_spec(&id.kind, object) {
            collect(spec, &mut images);
        } else if id.kind == "ConfigMap" {
            let texts = entries(object, &["data"]).filter_map(|(_, text)| text.as_str());
            texts.for_each(|text| images.extend(mentioned(text, false)));
        }
    }
    images
}

/// Collects images of volumes and containers, and those that their programs start, from arguments and
/// environment variables.
fn collect(spec: &Json, images: &mut BTreeSet<String>) {
    let volumes =
        items(spec, &["volumes"]).iter().map(|volume| text(volume, &["image", "reference"]));
    images.extend(volumes.filter(|image| !image.is_empty()).map(str::to_owned));
    for container in containers(spec) {
        let image = container.get("image").and_then(Json::as_str);
        images.extend(image.map(str::to_owned));
        for text in ["command", "args"].into_iter().flat_map(|key| texts(container, &[key])) {
            let flag = text.split('=').next().unwrap_or_default().to_ascii_uppercase();
            images.extend(mentioned(text, flag.contains("IMAGE")));
        }
        for variable in items(container, &["env"]) {
            let is_named = text(variable, &["name"]).contains("IMAGE");
            images.extend(mentioned(text(variable, &["value"]), is_named));
        }
    }
}

/// Returns the images in a text, such as a list of `version=image` lines; `is_named` if its name says
/// that it holds images, so that they need no registry host.
fn mentioned(text: &str, is_named: bool) -> impl Iterator<Item = String> {
    let quotes: &[char] = &['"', '\''];
    let words = text.split([' ', '\n', ',', ';', '=']).map(move |word| word.trim_matches(quotes));
    let is_image = move |word: &&str| {
        rules::is_image(word) || (is_named && word.contains('/') && word.contains([':', '@']))
    };
    words.filter(is_image).map(str::to_owned)
}

/// Returns true for CRDs outside of the release, in folders that `helm upgrade` ignores.
fn is_outside_release(id: &Identity, sides: &Sides<'_>) -> bool {
    let chart = sides.new.chart.as_ref();
    let placement = chart.and_then(|chart| chart.crds.get(&id.name));
    id.kind == "CustomResourceDefinition" && placement != Some(&super::Placement::Templates)
}

/// Returns the added and changed CRDs outside of the release: those in NAME-crds, or all others.
fn outside<'s>(set: &'s ChangeSet, sides: &Sides<'_>, is_separate: bool) -> Vec<&'s ObjectChange> {
    let chart = sides.new.chart.as_ref();
    let here = |object: &&ObjectChange| {
        !matches!(object.action, Action::Removed | Action::Affected)
            && is_outside_release(&object.id, sides)
            && chart.is_some_and(|chart| chart.separate_crds.contains(&object.id.name))
                == is_separate
    };
    set.objects.iter().filter(here).collect()
}

/// Returns the step that creates or changes CRDs.
fn of_crds(kind: StepKind, found: &[&ObjectChange]) -> Step {
    let items = found.iter().map(|crd| format!("{} ({})", crd.id.name, crd.action.as_str()));
    Step::new(kind, items.collect())
}

/// Returns the step for CRDs in the chart NAME-crds.
fn separate_crds(set: &ChangeSet, sides: &Sides<'_>) -> Step {
    let mut step = of_crds(StepKind::SeparateCrds, &outside(set, sides, true));
    let name = sides.new.chart.as_ref().map(|chart| quoted(&format!("{}-crds", chart.name)));
    step.commands.extend(
        name.map(|name| format!("helm upgrade --install {name} CHART-crds --namespace NAMESPACE")),
    );
    step
}

/// Returns the step for CRDs outside of all releases.
///
/// `kubectl replace` removes obsolete fields whatever applied the CRD before, but only works on
/// existing CRDs; hence `kubectl create` for added ones.
fn crds(set: &ChangeSet, sides: &Sides<'_>) -> Step {
    let found = outside(set, sides, false);
    let mut step = of_crds(StepKind::Crds, &found);

    let chart = sides.new.chart.as_ref();
    let folder = chart.map_or("", |chart| chart.crds_folder.as_str());
    let folder =
        if folder.is_empty() { "CRDS".to_owned() } else { quoted(&format!("CHART/{folder}")) };
    let added = found.iter().filter(|crd| crd.action != Action::Changed);
    let file = |crd: &&ObjectChange| chart?.crd_files.get(&crd.id.name);
    let files: IndexSet<String> =
        added.clone().filter_map(file).map(|path| quoted(&format!("CHART/{path}"))).collect();
    if !files.is_empty() {
        step.commands.push(format!("kubectl create -f {}", join(files, " -f ")));
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
    let items = reasons(set, StepKind::TakeOver);
    let commands = adopt_crds("crds CHART/charts/crds").into();
    Step { commands, ..Step::new(StepKind::TakeOver, items) }
}

/// Returns the step for objects that the API server does not update to the new version.
fn delete(set: &ChangeSet) -> Step {
    let mut step = Step::new(StepKind::Delete, Vec::new());
    for (ObjectChange { id, .. }, findings) in objects(set, StepKind::Delete) {
        // No command for objects with data, so that a pasted command never deletes data.
        if ["PersistentVolumeClaim", "PersistentVolume"].contains(&id.kind.as_str()) {
            step.items.push(format!("{id}: deletes its data, copy it first"));
            continue;
        }
        step.items.push(id.to_string());

        // There is no cluster to ask; these are the kinds whose fields are immutable and that have no
        // namespace.
        let cluster = id.kind.starts_with("Cluster") || id.kind.ends_with("Class");
        let namespace = match (cluster, id.namespace.as_str()) {
            (true, _) => String::new(),
            (_, "") => " --namespace NAMESPACE".to_owned(),
            (_, namespace) => format!(" --namespace {}", quoted(namespace)),
        };
        // Keeps the pods running; the new object adopts them, unless its selector changes.
        let adopts = id.kind == "StatefulSet" || !rules::has_immutable_field(&findings);
        let orphan = if adopts { " --cascade=orphan" } else { "" };
        let (kind, name) = (id.kind.to_lowercase(), quoted(&id.name));
        step.commands.push(format!("kubectl{namespace} delete{orphan} {kind} {name}"));
    }
    step
}

/// Returns the step with the upgrade command and the number of changed objects.
fn upgrade(set: &ChangeSet, sides: &Sides<'_>) -> Step {
    let is_released =
        |o: &&ObjectChange| !is_description(&o.id) && !is_outside_release(&o.id, sides);
    let released = || set.objects.iter().filter(is_released);
    let count = |action| released().filter(|o| o.action.as_str() == action).count();

    // Helm creates a renamed object and deletes the old one.
    let [added, removed, changed, renamed] = ["added", "removed", "changed", "renamed"].map(count);
    let (created, deleted) = (added + renamed, removed + renamed);
    let items = (created + changed + deleted > 0)
        .then(|| format!("{created} created, {changed} changed, {deleted} deleted"));

    let version_only = set.version_only.iter().filter(|id| !is_outside_release(id, sides));
    let version_only = Some(version_only.count()).filter(|count| *count > 0).map(|count| {
        format!("labels or annotations of {} follow the version", counted(count, "object"))
    });
    let items: Vec<String> = items.into_iter().chain(version_only).collect();
    let mut step = Step::new(StepKind::Upgrade, items);
    if sides.new.chart.is_some() {
        // Helm refuses objects that exist without its labels.
        let option = if take_over(set).items.is_empty() { "" } else { " --take-ownership" };
        step.commands.push(format!(
            "helm upgrade RELEASE CHART --namespace NAMESPACE --values VALUES{option}"
        ));
    }

    step
}

/// Returns the workloads whose pod template changes, and whose controller replaces pods for it.
fn restarts(set: &ChangeSet, sides: &Sides<'_>) -> Vec<String> {
    let restarted = |object: &ObjectChange| {
        let template = pod_template(&object.id.kind)?;
        let here = |change: &super::Change| change.path.keys().starts_with(template);
        let new = sides.new.objects.get(&object.id)?;
        // Hooks run in every upgrade or test anyway, and pods of a CronJob start at its next time.
        let is_kept = rules::is_hook(new)
            || object.id.kind == "CronJob"
            || is_true(new, &["spec", "paused"])
            || text(new, &["spec", "updateStrategy", "type"]) == "OnDelete";
        match object.action {
            _ if is_kept => None,
            Action::Changed => object.changes.iter().any(here).then(|| object.id.to_string()),
            Action::Renamed(_) => Some(format!("{} (renamed)", object.id)),
            _ => None,
        }
    };
    set.objects.iter().filter_map(restarted).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ChartFacts, Options, Placement, Side, compare};

    /// A CRD that only lost the Service behind its conversion is neither created nor replaced.
    #[test]
    fn only_changed_crds_are_applied() {
        let service = json!({"apiVersion": "v1", "kind": "Service",
            "metadata": {"name": "hooks", "namespace": "ns"}, "spec": {"ports": [{"port": 443}]}});
        let crd = |name: &str, scope: &str| {
            json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
                "metadata": {"name": name}, "spec": {"scope": scope, "conversion":
                    {"webhook": {"clientConfig": {"service": {"name": "hooks", "namespace": "ns"}}}}}})
        };
        let side = |objects: Vec<Json>| {
            let crds = ["as-before", "changed", "new"];
            let crds = crds.map(|name| (name.to_owned(), Placement::Crds)).into();
            Side::new("widgets", objects, "ns", Some(ChartFacts { crds, ..ChartFacts::default() }))
        };

        let old = side(vec![service, crd("as-before", "Cluster"), crd("changed", "Cluster")]);
        let named = ["as-before", "changed", "new"];
        let new =
            named.map(|name| crd(name, if name == "changed" { "Namespaced" } else { "Cluster" }));
        let set = compare(old, side(new.to_vec()), &Options::default());

        let affected = set.objects.iter().find(|object| object.action == Action::Affected);
        assert_eq!(affected.map(|object| object.id.name.as_str()), Some("as-before"));
        let step = set.plan.iter().find(|step| step.kind == StepKind::Crds).expect("a step");
        assert_eq!(step.items, ["changed (changed)", "new (added)"]);
        assert_eq!(step.commands, ["kubectl create -f CRDS", "kubectl replace -f CRDS"]);
    }

    /// Pods stay if their controller does not replace them, or starts others later.
    #[test]
    fn restarted_pods_are_those_that_their_controller_replaces() {
        let template =
            |image: &str| json!({"spec": {"containers": [{"name": "c", "image": image}]}});
        let workload =
            |kind: &str, spec: Json| json!({"kind": kind, "metadata": {"name": "w"}, "spec": spec});
        for (kind, fields, restarts) in [
            ("Deployment", json!({}), true),
            ("Deployment", json!({"paused": true}), false),
            ("StatefulSet", json!({"updateStrategy": {"type": "RollingUpdate"}}), true),
            ("StatefulSet", json!({"updateStrategy": {"type": "OnDelete"}}), false),
            ("CronJob", json!({}), false),
        ] {
            let side = |image: &str| {
                let mut spec = fields.clone();
                match kind {
                    "CronJob" => {
                        spec["jobTemplate"] = json!({"spec": {"template": template(image)}})
                    }
                    _ => spec["template"] = template(image),
                }
                Side::new("widgets", [workload(kind, spec)], "ns", None)
            };
            let set = compare(side("r.io/a:1"), side("r.io/a:2"), &Options::default());
            let is_listed = set.plan.iter().any(|step| step.kind == StepKind::Restart);
            assert_eq!(is_listed, restarts, "{kind} {fields}");
        }
    }

    #[test]
    fn crds_of_the_separate_chart_are_upgraded_with_it() {
        let side = |version: &str, separate_crds: BTreeSet<String>| {
            let crd = json!({"apiVersion": "apiextensions.k8s.io/v1",
                "kind": "CustomResourceDefinition", "metadata": {"name": "stub"},
                "spec": {"versions": [{"name": version, "served": true, "storage": true}]}});
            let name = "widgets".to_owned();
            let crds = [("stub".to_owned(), Placement::Crds)].into();
            let chart = ChartFacts { name, crds, separate_crds, ..ChartFacts::default() };
            Side::new("widgets", vec![crd], "ns", Some(chart))
        };
        let new = side("v2", BTreeSet::from(["stub".to_owned()]));
        let set = compare(side("v1", BTreeSet::new()), new, &Options::default());
        assert!(set.plan.iter().all(|step| step.kind != StepKind::Crds));
        let step = set.plan.iter().find(|step| step.kind == StepKind::SeparateCrds).expect("one");
        assert_eq!(step.items, ["stub (changed)"]);
        let command = "helm upgrade --install widgets-crds CHART-crds --namespace NAMESPACE";
        assert_eq!(step.commands, [command]);
    }
}
