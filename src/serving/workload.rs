//! Workload objects: Deployments, LeaderWorkerSets and DisaggregatedSets.

use super::build::{Values, engine_labels, object, part_of, with, with_spec};
use super::engine::{self, Pod};
use super::pod_fields;
use super::topology::{Role, Workload};
use crate::config::serving::ServingConfig;
use crate::ir::{Object, Value, map, value};
use serde_json::{Value as Json, json};

/// Returns the workloads and their ServiceAccount.
pub(super) fn objects(config: &ServingConfig, values: &mut Values) -> Vec<Object> {
    let workloads = Workload::all(config);
    let labels = part_of(config);
    let mut account = object("v1", "ServiceAccount", &config.name, &labels);
    let annotations = values.annotations(
        &["serviceAccount", "annotations"],
        json!(config.service_account_annotations),
        "Annotations of the ServiceAccount of the engine pods.",
    );
    account.metadata_mut().insert("annotations".to_owned(), annotations);

    let mut objects = vec![with(account, "automountServiceAccountToken", false)];
    objects.extend(cache(config, &labels, values));
    if config.disaggregated_set && workloads.iter().all(Workload::is_group) {
        objects.extend(disaggregated_set(config, values));
        return objects;
    }
    for workload in &workloads {
        let (kind, spec) = if workload.is_group() {
            ((config.profile.lws, "LeaderWorkerSet"), group(workload, values))
        } else {
            (("apps/v1", "Deployment"), deployment(workload, values))
        };
        let mut labels = engine_labels(config, &workload.name());
        if let Some(queue) = &config.queue {
            labels["kueue.x-k8s.io/queue-name"] = json!(queue);
        }
        objects.push(with_spec(kind, &workload.name(), &labels, spec));
    }
    objects
}

/// Returns the claim for downloaded models, if the chart creates it.
fn cache(config: &ServingConfig, labels: &Json, values: &mut Values) -> Option<Object> {
    let cache = config.cache.as_ref()?;
    let description = "Size of the volume for downloaded models.";
    let size = values.text(&["cache", "size"], cache.size.as_deref()?, description);
    let description = "StorageClass of the volume for downloaded models; empty for the default.";
    let class = cache.storage_class.as_deref().unwrap_or_default();
    let class = values.optional_text(&["cache", "storageClass"], class, description);
    let spec = value!({
        "accessModes": [cache.access_mode.as_str()],
        "storageClassName": class,
        "resources": {"requests": {"storage": size}},
    });
    let name = pod_fields::cache_claim(config)?;
    Some(with_spec(("v1", "PersistentVolumeClaim"), &name, labels, spec))
}

/// Returns the number of replicas; `None` with an autoscaler.
fn replicas(workload: &Workload<'_>, values: &mut Values) -> Option<Value> {
    // An upgrade would otherwise reset what the autoscaler has set.
    if workload.role == Role::Decode && workload.config.autoscaling.is_some() {
        return None;
    }
    let role = workload.role.as_str();
    let what = if workload.is_group() { "groups of pods" } else { "pods" };
    let description = format!("Number of {role} {what}.");
    Some(values.count(&[role, "replicas"], workload.shape.replicas, &description))
}

/// Returns the spec of a Deployment.
fn deployment(workload: &Workload<'_>, values: &mut Values) -> Value {
    // Pulling the image and loading a large model takes longer than the default ten minutes.
    let deadline = i64::from(workload.config.engine.startup_minutes) * 60 + 900;
    value!({
        "replicas": ?replicas(workload, values),
        "progressDeadlineSeconds": deadline,
        // There are rarely free accelerators for an additional pod.
        "strategy": {
            "type": "RollingUpdate",
            "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1},
        },
        "selector": {"matchLabels": {"app.kubernetes.io/name": workload.name()}},
        "template": engine::template(workload, Pod::Every, values),
    })
}

/// Returns the spec of a LeaderWorkerSet.
fn group(workload: &Workload<'_>, values: &mut Values) -> Value {
    let replicas = replicas(workload, values);
    let mut template = map! {
        "size": workload.shape.nodes,
        "restartPolicy": "RecreateGroupOnPodRestart",
    };
    for pod in engine::templates(workload) {
        let key = if *pod == Pod::Leader { "leaderTemplate" } else { "workerTemplate" };
        template.insert(key.to_owned(), engine::template(workload, *pod, values));
    }
    value!({
        "replicas": ?replicas,
        // The leader is ready only after its workers have joined, so they must not wait for it.
        "startupPolicy": "LeaderCreated",
        "leaderWorkerTemplate": template,
        "rolloutStrategy": {
            "type": "RollingUpdate",
            "rollingUpdateConfiguration": {"maxUnavailable": 1, "maxSurge": 0},
        },
    })
}

/// Returns a DisaggregatedSet, which rolls both roles out together.
fn disaggregated_set(config: &ServingConfig, values: &mut Values) -> Option<Object> {
    let role = |workload: &Workload<'_>| {
        let mut spec = group(workload, values);
        // The DisaggregatedSet rolls out its roles together, and sets the partition of each itself.
        spec.as_map_mut().map(|spec| spec.shift_remove("rolloutStrategy"));
        value!({"name": workload.role.as_str(), "spec": spec})
    };
    let roles: Vec<Value> = Workload::all(config).iter().map(role).collect();
    let kind = (config.profile.disaggregated_set?, "DisaggregatedSet");
    let labels = engine_labels(config, &config.name);
    Some(with_spec(kind, &config.name, &labels, value!({"roles": roles})))
}
