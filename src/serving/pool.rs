//! InferencePool, objectives and rewrites.

use super::build::{object, with};
use super::picker;
use super::topology::Workload;
use crate::config::serving::ServingConfig;
use crate::ir::Object;
use serde_json::{Value as Json, json};

/// Returns the API group of InferencePools.
fn group(config: &ServingConfig) -> &'static str {
    config.profile.pool.split_once('/').map_or("", |(group, _)| group)
}

/// Returns the pool, its objectives and rewrites.
pub(super) fn objects(config: &ServingConfig, workloads: &[Workload<'_>]) -> Vec<Object> {
    let labels = picker::labels(config);
    let ports = workloads.iter().map(Workload::ports).max_by_key(Vec::len).unwrap_or_default();
    let ports: Vec<Json> = ports.into_iter().map(|port| json!({"number": port})).collect();
    let spec = json!({
        "targetPorts": ports,
        "appProtocol": "http",
        "selector": {"matchLabels": {"app": config.name}},
        "endpointPickerRef": {
            "name": picker::name(config),
            "port": {"number": picker::PICKER_PORT},
            "failureMode": config.epp.failure_mode.as_str(),
        },
    });

    let pool = object(config.profile.pool, "InferencePool", &config.name, &labels);
    let mut objects = vec![with(pool, "spec", &spec)];
    let reference = json!({"group": group(config), "name": config.name});
    for (name, priority) in &config.objectives {
        let spec = json!({"priority": priority, "poolRef": reference});
        let objective = object(config.profile.objective, "InferenceObjective", name, &labels);
        objects.push(with(objective, "spec", &spec));
    }

    if !config.rewrites.is_empty() {
        let rules: Vec<Json> = config
            .rewrites
            .iter()
            .map(|(model, targets)| {
                let targets: Vec<Json> = targets
                    .iter()
                    .map(|(model, weight)| json!({"modelRewrite": model, "weight": weight}))
                    .collect();
                json!({
                    "matches": [{"model": {"type": "Exact", "value": model}}],
                    "targets": targets,
                })
            })
            .collect();
        let spec = json!({"poolRef": reference, "rules": rules});
        let kind = "InferenceModelRewrite";
        let rewrite = object(config.profile.objective, kind, &config.name, &labels);
        objects.push(with(rewrite, "spec", &spec));
    }

    objects
}

/// Returns the backend reference of routes to the pool.
pub(super) fn backend(config: &ServingConfig) -> Json {
    json!({"group": group(config), "kind": "InferencePool", "name": config.name})
}
