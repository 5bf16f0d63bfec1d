//! Workload objects: Deployments, LeaderWorkerSets and DisaggregatedSets.

use super::build::engine_labels;
use super::engine::Pod;
use super::*;

/// Returns the workloads and their ServiceAccount.
pub(super) fn objects(config: &ServingConfig, values: &mut Values<'_>) -> Vec<Object> {
    let workloads = Workload::all(config);
    let own = json!(config.service_account_annotations);
    let description = "Annotations of the ServiceAccount of the engine pods.";
    let annotations = values.annotations("serviceAccount", own, description);
    let holes = map! {"annotations": annotations};
    let mut objects = of_model(include_str!("objects/account.yaml"), config, holes);
    objects.extend(cache(config, values).unwrap_or_default());
    if config.disaggregated_set && workloads.iter().all(Workload::is_group) {
        objects.extend(disaggregated_set(config, values));
        return objects;
    }
    for workload in &workloads {
        let mut labels = engine_labels(config, &workload.name());
        if let Some(queue) = &config.queue {
            labels["kueue.x-k8s.io/queue-name"] = json!(queue);
        }
        // Pulling the image and loading a large model takes longer than the default ten minutes.
        let deadline = i64::from(config.engine.startup_minutes) * 60 + 900;
        let (text, mut holes) = if workload.is_group() {
            let spec = group(workload, values);
            (SPEC, map! {"api": config.profile.lws, "kind": "LeaderWorkerSet", "spec": spec})
        } else {
            let replicas = replicas(workload, values);
            let template = engine::template(workload, Pod::Every, values);
            let holes = map! {"replicas": ?replicas, "deadline": deadline, "template": template};
            (include_str!("objects/deployment.yaml"), holes)
        };
        holes.extend(map! {"name": workload.name(), "labels": labels});
        objects.extend(of_model(text, config, holes));
    }
    objects
}

/// An object with this spec.
const SPEC: &str = include_str!("objects/spec.yaml");

/// Returns the claim for downloaded models, if the chart creates it.
fn cache(config: &ServingConfig, values: &mut Values<'_>) -> Option<Vec<Object>> {
    let cache = config.cache.as_ref()?;
    let description = "Size of the volume for downloaded models.";
    let size = values.text(&["cache", "size"], cache.size.as_deref()?, description);
    let description = "StorageClass of the volume for downloaded models; empty for the default.";
    let path = &["cache", "storageClass"];
    let class = cache.storage_class.as_deref().unwrap_or_default();
    let holes = map! {
        "claim": pod_fields::cache_claim(config)?,
        "access_mode": cache.access_mode.as_str(),
        "class": values.whole(path, json!(class), Json::Null, description),
        "size": size,
    };
    Some(of_model(include_str!("objects/cache.yaml"), config, holes))
}

/// Returns the number of replicas; `None` with an autoscaler.
fn replicas(workload: &Workload<'_>, values: &mut Values<'_>) -> Option<Value> {
    // An upgrade would otherwise reset what the autoscaler has set.
    if workload.role == Role::Decode && workload.config.autoscaling.is_some() {
        return None;
    }
    let role = workload.role.as_str();
    let what = if workload.is_group() { "groups of pods" } else { "pods" };
    let description = format!("Number of {role} {what}.");
    Some(values.count(&[role, "replicas"], workload.shape.replicas, &description))
}

/// Returns the spec of a LeaderWorkerSet.
fn group(workload: &Workload<'_>, values: &mut Values<'_>) -> Value {
    let mut holes = map! {
        "replicas": ?replicas(workload, values),
        "size": workload.shape.nodes,
    };
    let has_equal_pods = workload.workers_serve();
    let pods = if has_equal_pods { &[Pod::Every][..] } else { &[Pod::Leader, Pod::Headless] };
    for pod in pods {
        let key = if *pod == Pod::Leader { "leader" } else { "worker" };
        holes.insert(key.to_owned(), engine::template(workload, *pod, values));
    }
    build::part(include_str!("objects/group.yaml"), &holes)
}

/// Returns a DisaggregatedSet, which rolls both roles out together.
fn disaggregated_set(config: &ServingConfig, values: &mut Values<'_>) -> Vec<Object> {
    let role = |workload: &Workload<'_>| {
        let mut spec = group(workload, values);
        // The DisaggregatedSet rolls out its roles together, and sets the partition of each itself.
        spec.as_map_mut().map(|spec| spec.shift_remove("rolloutStrategy"));
        value!({"name": workload.role.as_str(), "spec": spec})
    };
    let roles: Vec<Value> = Workload::all(config).iter().map(role).collect();
    let holes = map! {
        "api": ?config.profile.disaggregated_set,
        "kind": "DisaggregatedSet",
        "name": &config.name,
        "labels": engine_labels(config, &config.name),
        "spec": value!({"roles": roles}),
    };
    of_model(SPEC, config, holes)
}
