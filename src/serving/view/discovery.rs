//! Finds the pod templates of manifests: in the fields of known kinds, and wherever else an object
//! has a pod spec.

use super::pods::{Part, number};
use super::*;

/// Returns the pod templates of a manifest.
pub(super) fn templates<'a>(
    owner: usize,
    manifest: &'a Manifest,
    budget: &Budget,
) -> Vec<Template<'a>> {
    let found = match manifest.kind() {
        kind if NAMES.not_searched.contains(&kind) => Vec::new(),
        "LeaderWorkerSet" | "DisaggregatedSet" => {
            groups(manifest).into_iter().flat_map(|one| group(owner, manifest, &one)).collect()
        }
        "Pod" => {
            let pod = |spec| Template {
                replicas: Some(1),
                ..Template::of(owner, manifest, ".spec", spec, Some(&manifest.json))
            };
            manifest.json.get("spec").map(pod).into_iter().collect()
        }
        _ => {
            let mut found = Vec::new();
            search(owner, manifest, manifest.spec(), ".spec", &mut Vec::new(), &mut found);
            found
        }
    };

    found.into_iter().map(|template| template.parse(budget)).collect()
}

/// Adds every pod spec inside `json`. `outer` are the maps around it, the innermost last: a pod spec
/// at the key `spec` has its labels in the map around it, and `replicas` next to the template.
fn search<'a>(
    owner: usize,
    manifest: &'a Manifest,
    json: &'a Json,
    path: &str,
    outer: &mut Vec<&'a Json>,
    found: &mut Vec<Template<'a>>,
) {
    let containers = list(json, "containers");
    // A list `containers` of other kinds may have anything in it, such as names of containers.
    let is_container = |item: &Json| item.get("image").is_some() || !text(item, "name").is_empty();
    if !containers.is_empty() && containers.iter().all(is_container) {
        let template = outer.last().copied().filter(|_| path.ends_with(".spec"));
        let around = outer.len().checked_sub(2).and_then(|index| outer.get(index)).copied();
        let mut pods = Template::of(owner, manifest, path, json, template);
        pods.labels.extend(role_label(manifest, around));
        pods.replicas = around.and_then(|around| around.get("replicas")?.as_u64());
        pods.completed = is_completed(manifest);
        found.push(pods);

        // Only multi-node runtimes have a pod spec inside another.
        if let Some(worker) = json.get("workerSpec") {
            search(owner, manifest, worker, &format!("{path}.workerSpec"), outer, found);
        }
        return;
    }

    match json {
        Json::Object(map) => {
            outer.push(json);
            for (key, value) in map {
                let mut inner = path.to_owned();
                crate::ir::push_key(&mut inner, key);
                search(owner, manifest, value, &inner, outer, found);
            }
            outer.pop();
        }
        Json::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                search(owner, manifest, item, &format!("{path}[{index}]"), outer, found);
            }
        }
        _ => {}
    }
}

/// Returns the label that AIBrix adds to the pods of a role (its RoleSet controller).
fn role_label<'a>(manifest: &Manifest, role: Option<&'a Json>) -> Option<(&'static str, &'a str)> {
    let of_aibrix = matches!(manifest.kind(), "StormService" | "RoleSet");
    let name = role.filter(|_| of_aibrix).map(|role| text(role, "name"));
    name.filter(|name| !name.is_empty()).map(|name| ("role-name", name))
}

/// Returns true if labels, variables, volumes, probes or arguments of the pods may be elsewhere:
/// kustomize merges patches with an object, and all controllers but those of Kubernetes may add to
/// pods, such as KubeRay shared memory and probes, KServe the arguments of the model to a runtime, rbg the
/// fields of another template.
pub(crate) fn is_completed(manifest: &Manifest) -> bool {
    const WHOLE: [&str; 4] = ["", "apps", "batch", "leaderworkerset.x-k8s.io"];
    !WHOLE.contains(&manifest.group()) || is_patch(manifest)
}

/// Returns true for a Deployment, StatefulSet or DaemonSet of a file without a selector, which the API
/// server requires: most are patches, which kustomize merges with an object that has one.
pub(crate) fn is_patch(manifest: &Manifest) -> bool {
    let is_workload = ["Deployment", "StatefulSet", "DaemonSet"].contains(&manifest.kind());
    manifest.place.file.is_some() && is_workload && manifest.spec().get("selector").is_none()
}

/// A group of pods.
pub(crate) struct Group<'a> {
    /// JSON path of its spec.
    pub(crate) path: String,
    /// The spec of a LeaderWorkerSet.
    pub(crate) spec: &'a Json,
    /// The labels that controllers add to its pods, by which Services select them.
    labels: Vec<(&'static str, &'a str)>,
}

/// Returns the groups of a LeaderWorkerSet, or those of the roles of a DisaggregatedSet.
pub(crate) fn groups<'a>(manifest: &'a Manifest) -> Vec<Group<'a>> {
    let (spec, name) = (manifest.spec(), manifest.name());
    if manifest.kind() == "LeaderWorkerSet" {
        let labels = vec![("leaderworkerset.sigs.k8s.io/name", name)];
        return vec![Group { path: ".spec".to_owned(), spec, labels }];
    }
    let group = |(index, role): (usize, &'a Json)| {
        // LWS, lws_manager.go: labels of the pod templates of each role.
        let labels = vec![
            ("disaggregatedset.x-k8s.io/name", name),
            ("disaggregatedset.x-k8s.io/role", text(role, "name")),
        ];
        Some(Group { path: format!(".spec.roles[{index}].spec"), spec: role.get("spec")?, labels })
    };
    list(spec, "roles").iter().enumerate().filter_map(group).collect()
}

/// Returns the templates of a group; a leader without a template uses that of the workers.
fn group<'a>(owner: usize, manifest: &'a Manifest, group: &Group<'a>) -> Vec<Template<'a>> {
    let Group { path, spec, labels } = group;
    let Some(parts) = spec.get("leaderWorkerTemplate") else { return Vec::new() };
    let size = number(parts, "size").unwrap_or(1);
    let replicas = spec.get("replicas").map_or(Some(1), Json::as_u64);
    let [leader, worker] = ["leaderTemplate", "workerTemplate"]
        .map(|key| parts.get(key).map(|template| (template, key)));

    let pods = [(leader.or(worker), Part::Leader), (worker.filter(|_| size > 1), Part::Worker)];
    pods.into_iter()
        .filter_map(|(template, part)| {
            let (template, key) = template?;
            let path = format!("{path}.leaderWorkerTemplate.{key}.spec");
            let spec = template.get("spec")?;
            let mut pods = Template::of(owner, manifest, &path, spec, Some(template));
            pods.labels.extend(labels.iter().copied());
            Some(Template { part, size, replicas, ..pods })
        })
        .collect()
}
