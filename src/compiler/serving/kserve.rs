//! `form = "kserve"`: one LLMInferenceService, from which the KServe controller creates workloads,
//! picker, pool and route.

use super::build::{Values, object, with};
use super::engine::{self, model_argument};
use super::presets;
use super::topology::{Role, Workload};
use crate::config::{Model, ServingConfig, Topology};
use crate::diag::{Code, Diagnostic, Diagnostics, Place};
use crate::ir::{Map, Object, Value};
use serde_json::{Value as Json, json};

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

    spec.insert("model".to_owned(), (&json!({"uri": uri, "name": config.served_name})).into());
    for workload in workloads {
        let shape = part(workload, values);
        match workload.role {
            Role::Decode => spec.extend(shape),
            Role::Prefill => {
                spec.insert("prefill".to_owned(), shape.into());
            }
        }
    }

    let mut router = json!({"route": {}, "scheduler": {}});
    let own = config.epp.config.is_some() || config.epp.preset.is_some();
    if own {
        router["scheduler"] = json!({"config": {"inline": presets::config_of(config)}});
    }

    if let Some(route) = &config.route {
        let mut reference = json!({"name": route.gateway});
        if let Some(namespace) = &route.gateway_namespace {
            reference["namespace"] = json!(namespace);
        }
        router["gateway"] = json!({"refs": [reference]});
    }

    spec.insert("router".to_owned(), (&router).into());
    let labels = json!({"app.kubernetes.io/part-of": config.name});
    with(object(API, "LLMInferenceService", &config.name, &labels), "spec", Value::from(spec))
}

/// Returns replicas, parallelism and pods of one role.
fn part(workload: &Workload<'_>, values: &mut Values) -> Map {
    let shape = workload.shape;
    let role = workload.role.as_str();
    let mut part = Map::new();
    let description = format!("Number of {role} replicas.");
    part.insert(
        "replicas".to_owned(),
        values.count(&[role, "replicas"], shape.replicas, &description),
    );

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
        for variable in transfer(workload.role) {
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
fn transfer(role: Role) -> [Json; 2] {
    let role = if role == Role::Prefill { "kv_producer" } else { "kv_consumer" };
    let config = json!({"kv_connector": "NixlConnector", "kv_role": role});
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

/// Keys of `[[serving]]` that KServe decides itself.
const NOT_OURS: &[&str] = &[
    "engine.shared-memory",
    "engine.capabilities",
    "engine.startup-minutes",
    "engine.kv-offload",
    "pod.labels",
    "service-account-annotations",
    "queue",
    "cache",
    "adapters",
    "tracing",
    "epp.pod",
    "epp.tokenizer-image",
    "prefill.sidecar-image",
    "disaggregated-set",
    "epp.image",
    "epp.replicas",
    "epp.failure-mode",
    "epp.flags",
    "epp.resources",
    "route.gateway-class",
    "route.provider",
    "route.hosts",
    "route.paths",
    "route.model-header",
    "route.request-timeout",
    "route.auth",
    "objectives",
    "rewrites",
    "monitoring",
    "network-policy",
    "autoscaling",
    "disruption-budget",
];

/// Reports an error for each key without effect.
pub(super) fn check(config: &ServingConfig, diagnostics: &mut Diagnostics) {
    for key in NOT_OURS {
        let Some(span) = config.spans.get(*key) else { continue };
        let message = format!("`{key}` is not supported with `form = \"kserve\"`");
        diagnostics.push(
            Diagnostic::error(Code::ServingProfile, message)
                .at(Place::span(span.clone()))
                .hint("remove the key, which KServe's presets decide, or `form`"),
        );
    }
}
