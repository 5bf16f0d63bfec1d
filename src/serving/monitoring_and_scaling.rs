//! Monitors, network policies, disruption budgets and autoscalers.

use super::build::{part_of, with_spec};
use super::topology::{Role, Workload};
use super::{model_server, picker, route};
use crate::config::serving::{Autoscaling, Monitoring, NetworkPolicy, ServingConfig, Topology};
use crate::ir::{Expr, Object, Part, value};
use serde_json::{Value as Json, json};

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
        objects.extend(workloads.iter().map(|workload| budget(workload, pods)));
    }
    if let Some(scaling) = &config.autoscaling {
        let workload = workloads.iter().find(|workload| workload.role == Role::Decode);
        objects.extend(workload.map(|workload| autoscaler(workload, scaling)));
        // The adapter of GKE reads metrics that Managed Prometheus collected, not those of a
        // PodMonitor.
        if scaling.gke {
            let interval = config.monitoring.as_ref().map_or("10s", |own| &own.interval);
            let kind = ("monitoring.googleapis.com/v1", "PodMonitoring");
            let labels = part_of(config);
            let monitor = |workload| pod_monitor(kind, "endpoints", workload, interval, &labels);
            objects.extend(workloads.iter().map(monitor));
        }
    }
    objects
}

fn monitors(config: &ServingConfig, monitoring: &Monitoring) -> Vec<Object> {
    let mut own = picker::labels(config);
    let mut engine = part_of(config);
    // A Prometheus selects its monitors by labels, which differ between installations.
    for (key, value) in &monitoring.labels {
        own[key] = json!(value);
        engine[key] = json!(value);
    }
    let api = "monitoring.coreos.com/v1";
    let name = picker::name(config);
    let spec = value!({
        "endpoints": [{
            "interval": &monitoring.interval,
            "port": "http-metrics",
            "path": "/metrics",
            "authorization": {
                "credentials": {"key": "token", "name": picker::metrics_secret(config)},
            },
        }],
        "jobLabel": "app.kubernetes.io/name",
        "namespaceSelector": {"matchNames": [Expr::ReleaseNamespace]},
        "selector": {"matchLabels": {"app.kubernetes.io/name": &name}},
    });

    let name = format!("{name}-monitor");
    let mut objects = vec![with_spec((api, "ServiceMonitor"), &name, &own, spec)];
    let (kind, key) = ((api, "PodMonitor"), "podMetricsEndpoints");
    let monitor = |workload| pod_monitor(kind, key, workload, &monitoring.interval, &engine);
    objects.extend(Workload::all(config).iter().map(monitor));
    objects
}

/// Returns the object by which the metrics of engines are collected: of this `apiVersion` and kind, with
/// the ports at this key.
fn pod_monitor(
    kind: (&str, &str),
    key: &str,
    workload: &Workload<'_>,
    interval: &str,
    labels: &Json,
) -> Object {
    let endpoint = |(_, port)| json!({"port": port, "path": "/metrics", "interval": interval});
    let endpoints: Vec<Json> = workload.ports_by_rank().map(endpoint).collect();
    // Headless pods have no metrics; only pods with a server have the label.
    let spec = json!({
        "selector": {"matchLabels": {
            "app": workload.config.name,
            "app.kubernetes.io/name": workload.name(),
        }},
        key: endpoints,
    });
    with_spec(kind, &workload.name(), labels, &spec)
}

fn policies(config: &ServingConfig, policy: &NetworkPolicy) -> Vec<Object> {
    let ports = |numbers: &[u16]| -> Json {
        numbers.iter().map(|port| json!({"protocol": "TCP", "port": port})).collect()
    };
    let rule = |from: Json, to: Json| json!({"from": from, "ports": to});
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
    let picker_name = picker::name(config);
    let same = json!({"podSelector": {"matchLabels": {"app.kubernetes.io/part-of": config.name}}});
    let mut engine = vec![
        // Pods of a group use dynamic ports, and the picker scrapes metrics.
        json!({"from": [same]}),
        rule(route::peers(&policy.gateways), ports(&serving)),
    ];
    let mut picking = vec![rule(route::peers(&policy.gateways), ports(&[picker::PICKER_PORT]))];
    if !policy.monitoring.is_empty() {
        engine.push(rule(route::peers(&policy.monitoring), ports(&serving)));
        picking.push(rule(route::peers(&policy.monitoring), ports(&[picker::METRICS_PORT])));
    }
    let api = "networking.k8s.io/v1";
    let spec = |selector: Json, ingress: Vec<Json>| {
        json!({
            "podSelector": {"matchLabels": selector},
            // Egress stays open: engines download models, and pickers call the API server.
            "policyTypes": ["Ingress"],
            "ingress": ingress,
        })
    };
    let engine_pods = json!({
        "app.kubernetes.io/part-of": config.name,
        "app.kubernetes.io/component": "engine",
    });
    let picker_pods = json!({"llm-d-router-gateway": picker_name});
    let policies =
        [(&config.name, spec(engine_pods, engine)), (&picker_name, spec(picker_pods, picking))];
    policies
        .map(|(name, spec)| with_spec((api, "NetworkPolicy"), name, &part_of(config), spec))
        .into()
}

fn budget(workload: &Workload<'_>, pods: u32) -> Object {
    let name = workload.name();
    let spec = json!({
        "maxUnavailable": pods,
        "selector": {"matchLabels": {"app.kubernetes.io/name": name}},
    });
    with_spec(("policy/v1", "PodDisruptionBudget"), &name, &part_of(workload.config), &spec)
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

fn autoscaler(workload: &Workload<'_>, scaling: &Autoscaling) -> Object {
    let config = workload.config;
    let name = workload.name();
    let (api, kind) = if workload.is_group() {
        (config.profile.lws, "LeaderWorkerSet")
    } else {
        ("apps/v1", "Deployment")
    };
    let target = json!({"apiVersion": api, "kind": kind, "name": name});
    if !scaling.keda {
        let metric = pod_metric(config, scaling);
        let spec = json!({
            "scaleTargetRef": target,
            "minReplicas": scaling.min,
            "maxReplicas": scaling.max,
            "metrics": [{
                "type": "Pods",
                "pods": {
                    "metric": {"name": metric},
                    // The HPA divides the sum by the number of pods, so that the key is a number
                    // per pod.
                    "target": {"type": "AverageValue", "averageValue": scaling.waiting.to_string()},
                },
            }],
        });
        let kind = ("autoscaling/v2", "HorizontalPodAutoscaler");
        return with_spec(kind, &name, &part_of(config), &spec);
    }
    // Another namespace may serve a model with the same name.
    let metric = model_server::of(config).waiting_metric;
    let query = Expr::Concat(vec![
        Part::Text(format!("sum({metric}{{namespace=\"")),
        Part::ReleaseNamespace,
        Part::Text(format!("\",model_name=\"{}\"}})", config.served_name)),
    ]);
    let spec = value!({
        "scaleTargetRef": target,
        "minReplicaCount": scaling.min,
        "maxReplicaCount": scaling.max,
        "triggers": [{
            "type": "prometheus",
            "metricType": "AverageValue",
            "metadata": {
                "serverAddress": scaling.prometheus.as_deref().unwrap_or_default(),
                "query": query,
                "threshold": scaling.waiting.to_string(),
            },
        }],
    });
    with_spec(("keda.sh/v1alpha1", "ScaledObject"), &name, &part_of(config), spec)
}
