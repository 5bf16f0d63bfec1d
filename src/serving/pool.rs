//! InferencePool, objectives and rewrites.

use super::*;

/// Returns the pool, its objectives and rewrites.
pub(super) fn objects(config: &ServingConfig) -> Vec<Object> {
    let labels = picker::labels(config);
    // A pool has one list of ports for all its pods, whatever their role.
    let ports = Workload::all(config).iter().map(Workload::ports).max_by_key(Vec::len);
    let ports = ports.into_iter().flatten().map(|port| json!({"number": port}));
    let holes = map! {
        "api": config.profile.pool,
        "labels": &labels,
        "ports": ports.collect::<Json>(),
        "failure_mode": config.epp.failure_mode.as_str(),
    };
    let mut objects = of_model(include_str!("objects/pool.yaml"), config, holes);

    let api = config.profile.objective;
    for (name, priority) in &config.objectives {
        let holes = map! {"api": api, "name": name, "labels": &labels, "priority": *priority};
        objects.extend(of_model(include_str!("objects/objective.yaml"), config, holes));
    }
    let target = |(model, weight): &(String, u32)| json!({"modelRewrite": model, "weight": weight});
    let rules = config.rewrites.iter().map(|(model, targets)| {
        json!({
            "matches": [{"model": {"type": "Exact", "value": model}}],
            "targets": targets.iter().map(target).collect::<Json>(),
        })
    });
    if !config.rewrites.is_empty() {
        let holes = map! {"api": api, "labels": &labels, "rules": rules.collect::<Json>()};
        objects.extend(of_model(include_str!("objects/rewrite.yaml"), config, holes));
    }
    objects
}
