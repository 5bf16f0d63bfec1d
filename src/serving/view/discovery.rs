//! Finds the pod templates of manifests: in the fields of known kinds, and wherever else an object
//! has a pod spec.

use super::Manifest;
use super::pods::{Part, PodSource, Template, list, text};
use super::shell::Budget;
use serde_json::Value as Json;

/// Kinds whose pods are derived from several objects by [`super::kserve`], or that only contain
/// text and schemas.
const NOT_SEARCHED: [&str; 6] = [
    "LLMInferenceService",
    "LLMInferenceServiceConfig",
    "InferenceService",
    "CustomResourceDefinition",
    "ConfigMap",
    "Secret",
];

/// Returns the pod templates of a manifest.
pub(super) fn templates<'a>(
    owner: usize,
    manifest: &'a Manifest,
    budget: &Budget,
) -> Vec<Template<'a>> {
    let spec = manifest.json.get("spec").unwrap_or(&Json::Null);

    let sources = match manifest.kind() {
        kind if NOT_SEARCHED.contains(&kind) => Vec::new(),
        "LeaderWorkerSet" => {
            let name = ("leaderworkerset.sigs.k8s.io/name", manifest.name());
            let named = |source| PodSource { extra_labels: vec![name], ..source };
            group(owner, ".spec", spec).into_iter().map(named).collect()
        }
        "DisaggregatedSet" => list(spec, "roles")
            .iter()
            .enumerate()
            .flat_map(|(index, role)| {
                let path = format!(".spec.roles[{index}].spec");
                group(owner, &path, role.get("spec").unwrap_or(&Json::Null))
            })
            .collect(),
        "Pod" => {
            let source = PodSource::template(owner, String::new(), &manifest.json);
            source.map(|source| PodSource { replicas: Some(1), ..source }).into_iter().collect()
        }
        _ => {
            let mut found = Vec::new();
            search(owner, manifest, spec, ".spec", &mut Vec::new(), &mut found);
            found
        }
    };

    sources.into_iter().map(|source| Template::new(source, budget)).collect()
}

/// Adds every pod spec inside `json`. `outer` are the maps around it, the innermost last: a pod spec
/// at the key `spec` has its labels in the map around it, and `replicas` next to the template.
fn search<'a>(
    owner: usize,
    manifest: &Manifest,
    json: &'a Json,
    path: &str,
    outer: &mut Vec<&'a Json>,
    found: &mut Vec<PodSource<'a>>,
) {
    let containers = list(json, "containers");
    let is_container = |item: &Json| item.get("image").is_some() || !text(item, "name").is_empty();
    if !containers.is_empty() && containers.iter().all(is_container) {
        let is_template = path.ends_with(".spec") && path != ".spec";
        let template = outer.last().filter(|_| is_template);
        let around = outer.len().checked_sub(2).and_then(|index| outer.get(index)).copied();
        found.push(PodSource {
            owner,
            path: path.strip_suffix(".spec").filter(|_| is_template).unwrap_or(path).to_owned(),
            spec_path: path.to_owned(),
            spec: json,
            labels: template.and_then(|t| t.pointer("/metadata/labels")?.as_object()),
            extra_labels: role_labels(manifest, around),
            part: Part::Single,
            size: 1,
            replicas: around.and_then(|around| around.get("replicas")?.as_u64()),
            completed: is_completed(manifest),
        });
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

/// Returns the labels that AIBrix adds to the pods of a role (its RoleSet controller).
fn role_labels<'a>(manifest: &Manifest, role: Option<&'a Json>) -> Vec<(&'static str, &'a str)> {
    let of_aibrix = matches!(manifest.kind(), "StormService" | "RoleSet");
    role.filter(|_| of_aibrix)
        .map(|role| ("role-name", text(role, "name")))
        .filter(|(_, name)| !name.is_empty())
        .into_iter()
        .collect()
}

/// Returns true if a controller adds volumes, probes or arguments to the pods of this kind: KubeRay
/// adds shared memory and probes, KServe the arguments of the model to a runtime.
fn is_completed(manifest: &Manifest) -> bool {
    manifest.group() == "ray.io"
        || matches!(manifest.kind(), "ServingRuntime" | "ClusterServingRuntime" | "RayClusterFleet")
}

/// Returns the templates of a group; a leader without a template uses that of the workers.
fn group<'a>(owner: usize, path: &str, spec: &'a Json) -> Vec<PodSource<'a>> {
    let Some(parts) = spec.get("leaderWorkerTemplate") else { return Vec::new() };
    let size = parts.get("size").and_then(Json::as_u64).unwrap_or(1);
    let size = u32::try_from(size).unwrap_or(u32::MAX);
    let replicas = spec.get("replicas").map_or(Some(1), Json::as_u64);
    let worker = parts.get("workerTemplate").map(|template| (template, "workerTemplate"));
    let leader =
        parts.get("leaderTemplate").map(|template| (template, "leaderTemplate")).or(worker);

    let pods = [(leader, Part::Leader), (worker.filter(|_| size > 1), Part::Worker)];
    pods.into_iter()
        .filter_map(|(template, part)| {
            let (template, key) = template?;
            let path = format!("{path}.leaderWorkerTemplate.{key}");
            let source = PodSource::template(owner, path, template)?;
            Some(PodSource { part, size, replicas, ..source })
        })
        .collect()
}
