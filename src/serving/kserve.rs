//! `form = "kserve"`: one LLMInferenceService, from which the KServe controller creates workloads,
//! picker, pool and route.

use super::build::{Values, map, object, with};
use super::model_server::{self, model_argument};
use super::topology::{Role, SERVING_PORT, Workload};
use super::{engine, presets, route};
use crate::config::serving::{
    Adapter, AdapterSource, Autoscaling, EngineKind, Model, RouteConfig, ServingConfig, Topology,
};
use crate::diag::{Code, Diagnostic, Diagnostics, Place};
use crate::ir::{Map, Object, Value};
use serde_json::{Map as JsonMap, Value as Json, json};

/// `apiVersion` of LLMInferenceServices.
const API: &str = "serving.kserve.io/v1alpha2";

/// Returns the LLMInferenceService.
pub(super) fn service(
    config: &ServingConfig,
    workloads: &[Workload<'_>],
    values: &mut Values,
) -> Object {
    let mut spec = Map::new();
    let uri = match &config.model {
        Model::HuggingFace(repository) => format!("hf://{repository}"),
        Model::Image(image) => format!("oci://{image}"),
        Model::Claim(claim, folder) => format!("pvc://{claim}/{folder}"),
        model @ Model::Bucket(_) => model_argument(model),
    };

    let mut model = json!({"uri": uri, "name": config.served_name});
    if !config.adapters.is_empty() {
        model["lora"] = adapters(config);
    }
    spec.insert("model".to_owned(), (&model).into());
    for workload in workloads {
        let shape = part(workload, values);
        match workload.role {
            Role::Decode => spec.extend(shape),
            Role::Prefill => {
                spec.insert("prefill".to_owned(), shape.into());
            }
        }
    }

    spec.insert("router".to_owned(), router(config, values));
    if let Some(tracing) = &config.tracing {
        let tracing = json!({
            "exporterEndpoint": tracing.endpoint,
            "samplerArg": engine::trace_ratio(tracing),
        });
        spec.insert("tracing".to_owned(), (&tracing).into());
    }
    let labels = json!({"app.kubernetes.io/part-of": config.name});
    with(object(API, "LLMInferenceService", &config.name, &labels), "spec", Value::from(spec))
}

/// Returns the adapters, which the controller downloads or mounts.
fn adapters(config: &ServingConfig) -> Json {
    let adapter = |adapter: &Adapter| {
        let uri = match &adapter.source {
            AdapterSource::HuggingFace(repository) => format!("hf://{repository}"),
            AdapterSource::Claim(claim, folder) => format!("pvc://{claim}/{folder}"),
        };
        json!({"name": adapter.name, "uri": uri})
    };
    let mut lora = json!({"adapters": config.adapters.iter().map(adapter).collect::<Vec<_>>()});
    if let Some(rank) = config.adapter_rank {
        lora["maxRank"] = json!(rank);
    }
    lora
}

/// Returns gateway, route and picker.
fn router(config: &ServingConfig, values: &mut Values) -> Value {
    let mut scheduler = Map::new();
    if config.written("epp.replicas").is_some() {
        scheduler.insert("replicas".to_owned(), i64::from(config.epp.replicas).into());
    }
    let mut container = Map::new();
    if let Some(image) = &config.epp.image {
        let image = values.text(&["epp", "image"], image, "Image of the endpoint picker.");
        container.insert("image".to_owned(), image);
    }
    if let Some(resources) = &config.epp.resources {
        let resources = values.resources(&["epp", "resources"], resources, &[]);
        container.insert("resources".to_owned(), resources);
    }
    if !container.is_empty() {
        // The name by which the controller merges it into the container of its preset.
        container.insert("name".to_owned(), "main".into());
        let template = map([("containers", Value::Seq(vec![container.into()]))]);
        scheduler.insert("template".to_owned(), template);
    }
    if config.epp.config.is_some() || config.epp.preset.is_some() {
        let inline = json!({"inline": presets::config_of(config)});
        scheduler.insert("config".to_owned(), (&inline).into());
    }

    let route = config.route.as_ref();
    let mut router = map([
        ("route", (&route.map_or(json!({}), |route| http_route(config, route))).into()),
        ("scheduler", scheduler.into()),
    ]);
    if let (Some(route), Some(router)) = (route, router.as_map_mut()) {
        let mut reference = json!({"name": route.gateway});
        if let Some(namespace) = &route.gateway_namespace {
            reference["namespace"] = json!(namespace);
        }
        router.insert("gateway".to_owned(), (&json!({"refs": [reference]})).into());
    }
    router
}

/// Keys of `route` that replace the rules of KServe's route.
const RULES: &[&str] = &["route.paths", "route.model-header", "route.request-timeout"];

/// Returns the changes of KServe's route, which keeps its rules unless a key replaces them. The
/// controller sets the references to the Gateway.
fn http_route(config: &ServingConfig, route: &RouteConfig) -> Json {
    let mut spec = json!({});
    if !route.hosts.is_empty() {
        spec["hostnames"] = json!(route.hosts);
    }
    if RULES.iter().any(|key| config.written(key).is_some()) {
        let backend = json!({
            "group": "inference.networking.k8s.io",
            "kind": "InferencePool",
            "name": format!("{}-inference-pool", config.name),
            "port": SERVING_PORT,
        });
        spec["rules"] = json!(route::rules(config, route, &backend));
    }
    match spec.as_object().is_some_and(JsonMap::is_empty) {
        true => json!({}),
        false => json!({"http": {"spec": spec}}),
    }
}

/// Returns the autoscaling of the decode pods: KServe's controller scales by its own metrics.
fn scaling(scaling: &Autoscaling) -> Json {
    let actuator = if scaling.keda { "keda" } else { "hpa" };
    json!({
        "minReplicas": scaling.min,
        "maxReplicas": scaling.max,
        "wva": {actuator: {}},
    })
}

/// Returns replicas, parallelism and pods of one role.
fn part(workload: &Workload<'_>, values: &mut Values) -> Map {
    let shape = workload.shape;
    let role = workload.role.as_str();
    let mut part = Map::new();
    let config = workload.config;
    match config.autoscaling.as_ref().filter(|_| workload.role == Role::Decode) {
        Some(autoscaling) => {
            part.insert("scaling".to_owned(), (&scaling(autoscaling)).into());
        }
        None => {
            let description = format!("Number of {role} replicas.");
            let replicas = values.count(&[role, "replicas"], shape.replicas, &description);
            part.insert("replicas".to_owned(), replicas);
        }
    }
    if let Some(labels) = config.pod.0.get("labels") {
        part.insert("labels".to_owned(), labels.into());
    }
    // With prefill the pods' connector combines both.
    if let Some(size) = config.engine.kv_offload.filter(|_| !workload.disaggregated) {
        let offloading = json!({"cpu": format!("{size}Gi")});
        part.insert("kvCacheOffloading".to_owned(), (&offloading).into());
    }

    let mut parallelism = json!({"tensor": shape.tp});
    if shape.pp > 1 {
        parallelism["pipeline"] = json!(shape.pp);
    }

    if shape.dp > 1 {
        parallelism["data"] = json!(shape.dp);
        parallelism["dataLocal"] = json!(workload.local_ranks);
    }

    if shape.expert_parallel {
        parallelism["expert"] = json!(true);
    }
    part.insert("parallelism".to_owned(), (&parallelism).into());
    part.insert("template".to_owned(), pod(workload, values));
    if shape.topology != Topology::Single {
        part.insert("worker".to_owned(), pod(workload, values));
    }

    part
}

fn pod(workload: &Workload<'_>, values: &mut Values) -> Value {
    let config = workload.config;
    let role = workload.role.as_str();
    let default = workload.shape.resources.clone().unwrap_or(json!({}));
    let devices = engine::devices(workload);
    let mut container = Map::new();
    container.insert("name".to_owned(), "main".into());
    let description = "Engine image of all pods.";
    container
        .insert("image".to_owned(), values.text(&["image"], &config.engine.image, description));
    if !workload.shape.args.is_empty() {
        container.insert("args".to_owned(), Value::texts(workload.shape.args.clone()));
    }

    let mut env = config.engine.env.clone();
    env.extend(config.engine.token_secret.as_deref().map(engine::token_variable));

    if workload.disaggregated {
        let own = |env: &[Json], name: &str| env.iter().any(|variable| variable["name"] == name);
        for variable in transfer(workload) {
            if !own(&env, variable["name"].as_str().unwrap_or_default()) {
                env.push(variable);
            }
        }
    }
    if !env.is_empty() {
        container.insert("env".to_owned(), (&Json::Array(env)).into());
    }
    container
        .insert("resources".to_owned(), values.resources(&[role, "resources"], &default, &devices));
    let mut pod = Map::new();
    pod.insert("imagePullSecrets".to_owned(), values.pull_secrets(config.pull_secret.as_deref()));
    // A Service named like a variable of the engine would set it (vllm#34199).
    pod.insert("enableServiceLinks".to_owned(), false.into());
    pod.insert("containers".to_owned(), Value::Seq(vec![container.into()]));
    engine::scheduling(workload, values, &mut pod);
    pod.into()
}

/// Returns the variables with which pods of this role transfer KV caches. KServe's presets evaluate
/// VLLM_ADDITIONAL_ARGS as a shell does; in arguments the quotes of JSON would be lost.
fn transfer(workload: &Workload<'_>) -> [Json; 2] {
    let config = model_server::transfer_config(workload);
    [
        json!({
            "name": "VLLM_NIXL_SIDE_CHANNEL_HOST",
            "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}},
        }),
        json!({
            "name": "VLLM_ADDITIONAL_ARGS",
            "value": format!("--kv-transfer-config '{config}'"),
        }),
    ]
}

/// Keys of `[[serving]]` without effect, by what decides in their place.
const NOT_OURS: &[(&[&str], &str)] = &[
    (
        &[
            "engine.shared-memory",
            "engine.capabilities",
            "engine.startup-minutes",
            "service-account-annotations",
            "queue",
            "cache",
            "epp.pod",
            "epp.tokenizer-image",
            "prefill.sidecar-image",
            "disaggregated-set",
            "epp.failure-mode",
            "epp.flags",
            "route.gateway-class",
            "route.provider",
            "route.auth",
            "objectives",
            "rewrites",
            "monitoring",
            "network-policy",
            "disruption-budget",
        ],
        "remove the key, which KServe's presets decide, or `form`",
    ),
    (
        &[
            "autoscaling.waiting",
            "autoscaling.prometheus",
            "autoscaling.metrics",
            "autoscaling.metric",
        ],
        "remove the key: KServe's controller has the metrics and the URL of Prometheus",
    ),
];

/// Reports an error for each key without effect.
pub(super) fn check(config: &ServingConfig, diagnostics: &mut Diagnostics) {
    let mut report = |key: &str, hint: &str| {
        let message = format!("`{key}` is not supported with `form = \"kserve\"`");
        diagnostics.push(
            Diagnostic::error(Code::ServingProfile, message)
                .at(Place::span(config.place(key).clone()))
                .hint(hint),
        );
    };
    for (keys, hint) in NOT_OURS {
        for key in keys.iter().filter(|key| config.written(key).is_some()) {
            report(key, hint);
        }
    }
    if config.engine.kind != EngineKind::Vllm {
        report("engine.kind", "remove the key, or `form`: KServe's presets start vLLM");
    }
    if presets::is_precise(config) {
        report("epp.preset", "write `config`, or remove `form`: KServe's picker has no tokenizer");
    }
}
