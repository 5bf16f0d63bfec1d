//! InferencePool, objectives and rewrites.

use super::build::with_spec;
use super::picker;
use super::topology::Workload;
use super::view::group_of;
use crate::config::serving::ServingConfig;
use crate::ir::Object;
use serde_json::{Value as Json, json};

/// Returns the pool, its objectives and rewrites.
pub(super) fn objects(config: &ServingConfig) -> Vec<Object> {
    let labels = picker::labels(config);
    // A pool has one list of ports for all its pods, whatever their role.
    let ports = Workload::all(config).iter().map(Workload::ports).max_by_key(Vec::len);
    let ports: Vec<Json> =
        ports.into_iter().flatten().map(|port| json!({"number": port})).collect();
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

    let kind = (config.profile.pool, "InferencePool");
    let mut objects = vec![with_spec(kind, &config.name, &labels, &spec)];
    let reference = json!({"group": group_of(config.profile.pool), "name": config.name});
    for (name, priority) in &config.objectives {
        let spec = json!({"priority": priority, "poolRef": reference});
        let kind = (config.profile.objective, "InferenceObjective");
        objects.push(with_spec(kind, name, &labels, &spec));
    }

    if !config.rewrites.is_empty() {
        let target =
            |(model, weight): &(String, u32)| json!({"modelRewrite": model, "weight": weight});
        let rules = config.rewrites.iter().map(|(model, targets)| {
            json!({
                "matches": [{"model": {"type": "Exact", "value": model}}],
                "targets": targets.iter().map(target).collect::<Json>(),
            })
        });
        let rules: Json = rules.collect();
        let spec = json!({"poolRef": reference, "rules": rules});
        let kind = (config.profile.objective, "InferenceModelRewrite");
        objects.push(with_spec(kind, &config.name, &labels, &spec));
    }

    objects
}

/// Returns the backend reference of routes to the pool.
pub(super) fn backend(config: &ServingConfig) -> Json {
    json!({"group": group_of(config.profile.pool), "kind": "InferencePool", "name": config.name})
}
