//! Endpoint picker: Deployment, Service, configuration and RBAC.

use super::pod_fields::Pods;
use super::releases::VLLM;
use super::view::pods::as_text;
use super::*;

/// Port for gateways (ext-proc). This and the next two are the defaults of pickers.
pub(super) const PICKER_PORT: u16 = 9002;
/// Port for health checks.
pub(super) const HEALTH_PORT: u16 = 9003;
/// Port for metrics.
pub(super) const METRICS_PORT: u16 = 9090;
/// Label that selects the picker's pods.
pub(super) const SELECTOR: &str = "llm-d-router-gateway";

/// Returns the name of the picker's objects.
pub(super) fn name(config: &ServingConfig) -> String {
    format!("{}-epp", config.name)
}

/// Returns the labels of the picker's objects.
pub(super) fn labels(config: &ServingConfig) -> Json {
    json!({
        "app.kubernetes.io/name": name(config),
        "app.kubernetes.io/version": config.profile.version,
        "app.kubernetes.io/part-of": config.name,
        "app.kubernetes.io/component": "endpoint-picker",
    })
}

/// Returns the name of the configuration file.
fn file_name(config: &ServingConfig) -> String {
    match (&config.epp.config, presets::name_of(config)) {
        (None, "payload-agnostic") => "payload-agnostic.yaml".to_owned(),
        (None, "default" | "aggregated") => "default-plugins.yaml".to_owned(),
        (None, preset) => format!("{preset}.yaml"),
        (Some(_), _) => "plugins.yaml".to_owned(),
    }
}

/// Returns the flags that differ between pickers.
fn flags(config: &ServingConfig) -> Value {
    let mut args: Vec<Value> = Vec::new();
    if config.epp.replicas > 1 {
        args.push("--ha-enable-leader-election".into());
    }
    let mut flags = config.epp.flags.clone();
    if config.profile.llm_d {
        // The picker's default is true, also without a collector.
        flags.entry("tracing").or_insert(json!(config.tracing.is_some()));
    }
    // The profiler is enabled by default and only needed for debugging.
    flags.entry("enable-pprof").or_insert(json!(false));
    for (flag, value) in flags {
        args.push(Value::text(format!("--{flag}={}", as_text(&value))));
    }
    Value::Seq(args)
}

/// Returns all objects of the picker.
pub(super) fn objects(config: &ServingConfig, values: &mut Values<'_>) -> Vec<Object> {
    let several = config.epp.replicas > 1;
    let image = config.epp.image.as_deref().unwrap_or(config.profile.picker_image);
    // Those of llm-d-router's chart.
    let default = config.epp.resources.clone().unwrap_or_else(
        || json!({"requests": {"cpu": "8", "memory": "8Gi"}, "limits": {"memory": "16Gi"}}),
    );
    // With leader election a standby is alive, but not ready, so there are two gRPC health
    // services.
    let usual = "inference-extension";
    let (alive, ready) = if several { ("liveness", "readiness") } else { (usual, usual) };
    let tracing = config.tracing.as_ref().map(|one| engine::trace_variables(one, &name(config)));
    let labels = labels(config);
    let mut workload_labels = labels.clone();
    workload_labels["llm-d.ai/igw-mode"] = json!(SELECTOR);
    let text = yaml::plain_value(&Value::from(&presets::config_of(config))).unwrap_or_default();

    let is_precise = presets::is_precise(config);
    let description = "Additional annotations for the endpoint picker pods.";
    let mut holes = map! {
        "labels": labels,
        "workload_labels": workload_labels,
        "file": file_name(config),
        "config": text,
        "health_port": HEALTH_PORT,
        "grpc_port": PICKER_PORT.to_string(),
        "grpc_health_port": HEALTH_PORT.to_string(),
        "router_groups": ?config.profile.llm_d.then(|| json!(["llm-d.ai"])),
        "replicas": config.epp.replicas,
        "flags": flags(config),
        "alive": alive,
        "ready": ready,
        "tracing": ?tracing.map(Json::Array),
        "image": values.text(&["epp", "image"], image, "Image of the endpoint picker."),
        "resources": values.resources("epp", &default, &[]),
        "pull_secrets": values.pull_secrets(config.pull_secret.as_deref()),
        "tokenizer": ?is_precise.then(|| tokenizer(config, values)),
        "cache": ?is_precise.then_some("tokenizer-cache"),
    };
    let of_nodes = values.scheduling("epp", "endpoint picker", vec![json!({}), json!([])]);
    let annotations = values.annotations("epp", json!({}), description);
    holes.extend(of_nodes);
    holes.extend(map! {"annotations": annotations});

    let election = several.then_some(include_str!("objects/picker_election.yaml"));
    let metrics =
        config.monitoring.is_some().then_some(include_str!("objects/picker_metrics.yaml"));
    let texts = [include_str!("objects/picker.yaml")].into_iter().chain(election).chain(metrics);
    let mut objects: Vec<Object> =
        texts.flat_map(|text| of_model(text, config, holes.clone())).collect();
    if let Some(deployment) = objects.iter_mut().find(|object| object.kind() == "Deployment") {
        let template = deployment.root.map_at("spec").map_at("template");
        Pods { role: "epp", config, values }.complete(template);
    }
    objects
}

/// Returns the release of vLLM that tokenizes prompts for an engine: its own, because others may make other
/// tokens of a prompt, or the newest if it is unknown or has no `vllm launch render` (vllm#36166).
fn tokenizer_release(image: &str) -> &'static str {
    let own = VLLM.index(image).filter(|_| VLLM.is_since(image, "0.18.0") == Some(true));
    own.map_or(VLLM.releases.newest(), |own| VLLM.releases.name(own))
}

/// Returns the container that renders prompts to tokens as the engine does.
fn tokenizer(config: &ServingConfig, values: &mut Values<'_>) -> Value {
    let usual = || format!("vllm/vllm-openai-cpu:v{}", tokenizer_release(&config.engine.image));
    let image = config.epp.tokenizer_image.clone().unwrap_or_else(usual);
    let description = "Image of the tokenizer in the endpoint picker pods.";
    let holes = map! {
        "image": values.text(&["epp", "tokenizerImage"], &image, description),
        "model": model_server::model_argument(&config.model),
        "served_name": &config.served_name,
        "port": presets::TOKENIZER_PORT,
        "token": ?config.engine.token_secret.as_deref().map(engine::token_variable),
    };
    build::part(include_str!("objects/tokenizer.yaml"), &holes)
}
