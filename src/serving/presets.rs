//! Configurations of the endpoint picker.

use super::view::flags::Flags;
use super::{Profile, engine, model_server};
use crate::config::serving::ServingConfig;
use serde_json::{Value as Json, json};

/// Returns the name of the preset in use.
pub(super) fn name_of(config: &ServingConfig) -> &str {
    match &config.epp.preset {
        Some(preset) => preset.as_str(),
        None if config.prefill.is_some() => "prefill-decode",
        None => "default",
    }
}

/// Seed of the hashes of KV cache blocks, which engines and picker share.
pub(super) const HASH_SEED: &str = "42";

/// Port of the tokenizer in the picker pod.
pub(super) const TOKENIZER_PORT: u16 = 8010;

/// Returns true if the picker indexes the KV cache events of the engines.
pub(super) fn is_precise(config: &ServingConfig) -> bool {
    config.epp.config.is_none() && name_of(config) == "precise-prefix"
}

/// Returns the block size in the arguments of the engine.
pub(super) fn block_size(config: &ServingConfig) -> Option<u32> {
    let flag = model_server::of(config).block_size_flag;
    Flags::parse(&config.decode.args).text(flag)?.parse().ok()
}

/// Returns the hash seed: that in the variables of the engine, else the default.
fn hash_seed(config: &ServingConfig) -> &str {
    let own = config.engine.env.iter().find(|variable| variable["name"] == "PYTHONHASHSEED");
    own.and_then(|variable| variable["value"].as_str()).unwrap_or(HASH_SEED)
}

/// Returns the configuration of precise prefix routing. The five parts that must agree with the engine
/// are the model's name, block size, hash seed, topic and port of the events.
fn precise(config: &ServingConfig) -> Json {
    let producer = "precise-prefix-cache-producer";
    let with = |kind: &str, parameters: Json| json!({"type": kind, "parameters": parameters});
    let mut events = json!({
        "topicFilter": "kv@",
        "discoverPods": true,
        "podDiscoveryConfig": {"socketPort": engine::EVENTS_PORT},
    });
    if let Some(kind) = model_server::of(config).engine_type {
        events["engineType"] = json!(kind);
    }
    let tokens = json!({
        "modelName": config.served_name,
        "vllm": {"url": format!("http://localhost:{TOKENIZER_PORT}")},
    });
    let index = json!({
        "tokenProcessorConfig": {
            "blockSize": block_size(config).unwrap_or(engine::BLOCK_SIZE),
            "hashSeed": hash_seed(config),
        },
        "kvEventsConfig": events,
    });
    let mut plugins = vec![
        with("token-producer", tokens),
        plugin("endpoint-notification-source"),
        with(producer, index),
        with("prefix-cache-scorer", json!({"prefixMatchInfoProducerName": producer})),
        plugin("kv-cache-utilization-scorer"),
        plugin("queue-scorer"),
    ];

    let scorers =
        [("prefix-cache-scorer", 3), ("kv-cache-utilization-scorer", 2), ("queue-scorer", 2)];
    let profiles = if config.prefill.is_some() {
        plugins.extend(DISAGGREGATION.iter().chain(DECODING).map(|kind| plugin(kind)));
        disaggregated(&scorers)
    } else {
        vec![profile("default", &scorers)]
    };
    json!({
        "plugins": plugins,
        "dataLayer": {"sources": [{
            "pluginRef": "endpoint-notification-source",
            "extractors": [{"pluginRef": producer}],
        }]},
        "schedulingProfiles": profiles,
    })
}

/// Returns the EndpointPickerConfig.
pub(super) fn config_of(config: &ServingConfig) -> Json {
    let mut root = json!({
        "apiVersion": config.profile.picker_config,
        "kind": "EndpointPickerConfig",
    });
    let body = match &config.epp.config {
        Some(own) => own.clone(),
        None if is_precise(config) => precise(config),
        None => preset(name_of(config), config.profile),
    };
    if let (Json::Object(root), Json::Object(body)) = (&mut root, body) {
        // The version is the profile's, also of a configuration that was written for another one.
        root.extend(body.into_iter().filter(|(key, _)| key != "apiVersion" && key != "kind"));
    }
    root
}

/// Returns the preset with this name, with plugins that the profile's picker has.
fn preset(name: &str, api: &Profile) -> Json {
    // Queue, cache and prefix, and what spreads new prompts.
    // Weights of llm-d-router's default-plugins.yaml; `aggregated` is the default of KServe.
    let scorers = [
        ("queue-scorer", 2),
        ("kv-cache-utilization-scorer", 2),
        ("prefix-cache-scorer", 3),
        ("no-hit-lru-scorer", 2),
    ];
    let scorers = if name == "aggregated" { &scorers[..] } else { &scorers[..3] };
    let blind = [("queue-scorer", 1), ("active-request-scorer", 1)];
    let is_blind = name == "payload-agnostic";
    let used = if is_blind { &blind[..] } else { scorers };

    let mut plugins: Vec<&str> = used.iter().map(|(kind, _)| *kind).collect();
    let mut profiles = vec![profile("default", used)];
    if is_blind {
        plugins.insert(0, "passthrough-parser");
    } else if name == "prefill-decode" {
        plugins = [DISAGGREGATION, &plugins, DECODING].concat();
        profiles = disaggregated(used);
    }
    // Pickers of GAIE up to 1.4 read the engines' metrics without plugins, and have no such extractor.
    if api.llm_d && !is_blind {
        plugins.extend(["metrics-data-source", "core-metrics-extractor"]);
    }

    let plugins: Vec<Json> = plugins.into_iter().map(plugin).collect();
    let mut config = json!({"plugins": plugins});
    if is_blind {
        config["requestHandler"] = json!({"parsers": [{"pluginRef": "passthrough-parser"}]});
    }
    config["schedulingProfiles"] = json!(profiles);
    config
}

/// Plugins that send each request to a prefill and a decode pod.
const DISAGGREGATION: &[&str] =
    &["always-disagg-pd-decider", "disagg-profile-handler", "prefill-filter", "decode-filter"];

/// Plugins that select a decode pod together with the scorers of all profiles.
const DECODING: &[&str] = &["active-request-scorer", "max-score-picker"];

/// Returns the entry of a plugin, with the parameters that it has in all presets.
fn plugin(kind: &str) -> Json {
    let parameters = match kind {
        "disagg-profile-handler" => json!({"deciders": {"prefill": "always-disagg-pd-decider"}}),
        "metrics-data-source" => json!({"scheme": "http", "path": "/metrics"}),
        _ => return json!({"type": kind}),
    };
    json!({"type": kind, "parameters": parameters})
}

/// Returns a scheduling profile with these plugins and their weights; 0 for plugins that are no scorers.
fn profile(name: &str, used: &[(&str, u32)]) -> Json {
    let used = used.iter().map(|(kind, weight)| match weight {
        0 => json!({"pluginRef": kind}),
        weight => json!({"pluginRef": kind, "weight": weight}),
    });
    json!({"name": name, "plugins": used.collect::<Vec<Json>>()})
}

/// Returns the profiles of prefill, with these scorers, and decode.
fn disaggregated(scorers: &[(&str, u32)]) -> Vec<Json> {
    let picks = ("max-score-picker", 0);
    // Profiles and weights of KServe's scheduler (llmisvc/scheduler.go).
    let prefill = [&[("prefill-filter", 0)], scorers, &[picks]].concat();
    let decode =
        [("decode-filter", 0), ("active-request-scorer", 2), ("prefix-cache-scorer", 3), picks];
    vec![profile("prefill", &prefill), profile("decode", &decode)]
}
