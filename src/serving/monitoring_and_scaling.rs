//! Monitors, network policies, disruption budgets and autoscalers.

use super::*;
use config::serving::{Autoscaling, Monitoring, NetworkPolicy};

/// Returns the optional objects: monitors, network policies, disruption budgets, autoscalers.
pub(super) fn objects(config: &ServingConfig) -> Vec<Object> {
    let workloads = Workload::all(config);
    let mut objects = Vec::new();
    if let Some(monitoring) = &config.monitoring {
        objects.extend(monitors(config, monitoring));
    }
    if let Some(policy) = &config.network_policy {
        objects.extend(policies(config, policy));
    }
    if let Some(pods) = config.disruption_budget {
        let text = include_str!("objects/disruption_budget.yaml");
        let budget = |workload: &Workload<'_>| map! {"name": workload.name(), "pods": pods};
        objects.extend(workloads.iter().flat_map(|one| of_model(text, config, budget(one))));
    }
    if let Some(scaling) = &config.autoscaling {
        let workload = workloads.iter().find(|workload| workload.role == Role::Decode);
        objects.extend(workload.into_iter().flat_map(|workload| autoscaler(workload, scaling)));
        // The adapter of GKE reads metrics that Managed Prometheus collected, not those of a
        // PodMonitor.
        if scaling.gke {
            let interval = config.monitoring.as_ref().map_or("10s", |own| &own.interval);
            let kind = ["monitoring.googleapis.com/v1", "PodMonitoring", "endpoints"];
            let labels = json!({"app.kubernetes.io/part-of": config.name});
            let monitor = |workload| pod_monitor(kind, workload, interval, &labels);
            objects.extend(workloads.iter().flat_map(monitor));
        }
    }
    objects
}

fn monitors(config: &ServingConfig, monitoring: &Monitoring) -> Vec<Object> {
    let mut own = picker::labels(config);
    let mut engine = json!({"app.kubernetes.io/part-of": config.name});
    // A Prometheus selects its monitors by labels, which differ between installations.
    for (key, value) in &monitoring.labels {
        own[key] = json!(value);
        engine[key] = json!(value);
    }
    let holes = map! {"labels": own, "interval": &monitoring.interval};

    let mut objects = of_model(include_str!("objects/service_monitor.yaml"), config, holes);
    let kind = ["monitoring.coreos.com/v1", "PodMonitor", "podMetricsEndpoints"];
    let monitor = |workload| pod_monitor(kind, workload, &monitoring.interval, &engine);
    objects.extend(Workload::all(config).iter().flat_map(monitor));
    objects
}

/// Returns the object by which the metrics of engines are collected: of this `apiVersion` and kind, with
/// the ports at this key.
fn pod_monitor(
    [api, kind, key]: [&str; 3],
    workload: &Workload<'_>,
    interval: &str,
    labels: &Json,
) -> Vec<Object> {
    let endpoint = |(_, port)| json!({"port": port, "path": "/metrics", "interval": interval});
    let holes = map! {
        "api": api,
        "kind": kind,
        "key": key,
        "name": workload.name(),
        "labels": labels,
        "endpoints": workload.ports_by_rank().map(endpoint).collect::<Json>(),
    };
    of_model(include_str!("objects/pod_monitor.yaml"), workload.config, holes)
}

fn policies(config: &ServingConfig, policy: &NetworkPolicy) -> Vec<Object> {
    let mut serving: Vec<u16> = Vec::new();
    for workload in Workload::all(config) {
        serving.extend(workload.ports());
        serving.extend(workload.ports_by_rank().map(|(rank, _)| workload.engine_port() + rank));
        if workload.shape.topology == Topology::DpExternal {
            serving.push(super::topology::SUPERVISOR_PORT);
        }
    }
    // Decode and prefill have most of their ports in common.
    serving.sort_unstable();
    serving.dedup();
    let ports = serving.iter().map(|port| json!({"protocol": "TCP", "port": port}));
    let is_monitored = !policy.monitoring.is_empty();
    let holes = map! {
        "ports": ports.collect::<Json>(),
        "gateways": route::peers(&policy.gateways),
        "monitoring": ?is_monitored.then(|| route::peers(&policy.monitoring)),
    };
    of_model(include_str!("objects/network_policies.yaml"), config, holes)
}

/// Returns the name under which an adapter serves the number of waiting requests.
pub(super) fn pod_metric(config: &ServingConfig, scaling: &Autoscaling) -> String {
    let name = model_server::of(config).waiting_metric;
    match &scaling.metric {
        Some(own) => own.clone(),
        // The name of a metric of Managed Prometheus in the Custom Metrics Stackdriver Adapter.
        None if scaling.gke => format!("prometheus.googleapis.com|{name}|gauge"),
        None => name.to_owned(),
    }
}

fn autoscaler(workload: &Workload<'_>, scaling: &Autoscaling) -> Vec<Object> {
    let config = workload.config;
    let (api, kind) = if workload.is_group() {
        (config.profile.lws, "LeaderWorkerSet")
    } else {
        ("apps/v1", "Deployment")
    };

    // KEDA asks Prometheus, where the metric has the name of the engine.
    let (text, metric) = if scaling.keda {
        let metric = model_server::of(config).waiting_metric.to_owned();
        (include_str!("objects/scaled_object.yaml"), metric)
    } else {
        (include_str!("objects/pod_autoscaler.yaml"), pod_metric(config, scaling))
    };
    let holes = map! {
        "name": workload.name(),
        "api": api,
        "kind": kind,
        "min": scaling.min,
        "max": scaling.max,
        "metric": metric,
        "waiting": scaling.waiting.to_string(),
        "prometheus": scaling.prometheus.as_deref().unwrap_or_default(),
    };
    of_model(text, config, holes)
}
