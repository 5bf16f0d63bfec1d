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
    let plugin = |kind: &str, parameters: Json| json!({"type": kind, "parameters": parameters});
    let used = |kind: &str, weight: u32| json!({"pluginRef": kind, "weight": weight});

    let mut events = json!({
        "topicFilter": "kv@",
        "discoverPods": true,
        "podDiscoveryConfig": {"socketPort": engine::EVENTS_PORT},
    });
    if let Some(kind) = model_server::of(config).engine_type {
        events["engineType"] = json!(kind);
    }
    let mut plugins = vec![
        plugin(
            "token-producer",
            json!({
                "modelName": config.served_name,
                "vllm": {"url": format!("http://localhost:{TOKENIZER_PORT}")},
            }),
        ),
        json!({"type": "endpoint-notification-source"}),
        plugin(
            producer,
            json!({
                "tokenProcessorConfig": {
                    "blockSize": engine::events_block_size(config),
                    "hashSeed": hash_seed(config),
                },
                "kvEventsConfig": events,
            }),
        ),
        plugin("prefix-cache-scorer", json!({"prefixMatchInfoProducerName": producer})),
        json!({"type": "kv-cache-utilization-scorer"}),
        json!({"type": "queue-scorer"}),
    ];

    let scorers = [
        used("prefix-cache-scorer", 3),
        used("kv-cache-utilization-scorer", 2),
        used("queue-scorer", 2),
    ];
    let profiles = if config.prefill.is_some() {
        plugins.extend(disaggregation());
        let picks = json!({"pluginRef": "max-score-picker"});
        let mut prefill = vec![json!({"pluginRef": "prefill-filter"})];
        prefill.extend(scorers);
        prefill.push(picks.clone());
        let decode = json!([
            {"pluginRef": "decode-filter"},
            used("active-request-scorer", 2),
            used("prefix-cache-scorer", 3),
            picks,
        ]);
        json!([{"name": "prefill", "plugins": prefill}, {"name": "decode", "plugins": decode}])
    } else {
        json!([{"name": "default", "plugins": scorers}])
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

/// Returns the plugins that send each request to a prefill and a decode pod.
fn disaggregation() -> [Json; 6] {
    let plugin = |kind: &str| json!({"type": kind});
    [
        plugin("always-disagg-pd-decider"),
        json!({
            "type": "disagg-profile-handler",
            "parameters": {"deciders": {"prefill": "always-disagg-pd-decider"}},
        }),
        plugin("prefill-filter"),
        plugin("decode-filter"),
        plugin("active-request-scorer"),
        plugin("max-score-picker"),
    ]
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
        root.extend(body.into_iter().filter(|(key, _)| key != "apiVersion" && key != "kind"));
    }
    root
}

/// Returns the preset with this name, with plugins that the profile's picker has.
fn preset(name: &str, profile: &Profile) -> Json {
    let plugin = |kind: &str| json!({"type": kind});
    let used = |kind: &str, weight: u32| json!({"pluginRef": kind, "weight": weight});
    // Pickers of GAIE up to 1.4 read the engines' metrics without plugins, and have no such extractor.
    let metrics = if profile.llm_d {
        vec![
            json!({"type": "metrics-data-source", "parameters": {"scheme": "http", "path": "/metrics"}}),
            plugin("core-metrics-extractor"),
        ]
    } else {
        Vec::new()
    };
    let with_metrics = |plugins: Vec<Json>| [plugins, metrics.clone()].concat();

    let spread = |scorers: &[(&str, u32)]| {
        let plugins = with_metrics(scorers.iter().map(|(kind, _)| plugin(kind)).collect());
        let profile: Vec<Json> = scorers.iter().map(|(kind, weight)| used(kind, *weight)).collect();
        json!({
            "plugins": plugins,
            "schedulingProfiles": [{"name": "default", "plugins": profile}],
        })
    };

    match name {
        "payload-agnostic" => json!({
            "plugins": [
                plugin("passthrough-parser"),
                plugin("queue-scorer"),
                plugin("active-request-scorer"),
            ],
            "requestHandler": {"parsers": [{"pluginRef": "passthrough-parser"}]},
            "schedulingProfiles": [{
                "name": "default",
                "plugins": [used("queue-scorer", 1), used("active-request-scorer", 1)],
            }],
        }),
        "prefill-decode" => json!({
            "plugins": with_metrics(vec![
                plugin("always-disagg-pd-decider"),
                json!({
                    "type": "disagg-profile-handler",
                    "parameters": {"deciders": {"prefill": "always-disagg-pd-decider"}},
                }),
                plugin("prefill-filter"),
                plugin("decode-filter"),
                plugin("queue-scorer"),
                plugin("kv-cache-utilization-scorer"),
                plugin("prefix-cache-scorer"),
                plugin("active-request-scorer"),
                plugin("max-score-picker"),
            ]),
            "schedulingProfiles": [
                {
                    "name": "prefill",
                    "plugins": [
                        {"pluginRef": "prefill-filter"},
                        used("queue-scorer", 2),
                        used("kv-cache-utilization-scorer", 2),
                        used("prefix-cache-scorer", 3),
                        {"pluginRef": "max-score-picker"},
                    ],
                },
                {
                    "name": "decode",
                    "plugins": [
                        {"pluginRef": "decode-filter"},
                        used("active-request-scorer", 2),
                        used("prefix-cache-scorer", 3),
                        {"pluginRef": "max-score-picker"},
                    ],
                },
            ],
        }),
        "aggregated" => spread(&[
            ("queue-scorer", 2),
            ("kv-cache-utilization-scorer", 2),
            ("prefix-cache-scorer", 3),
            ("no-hit-lru-scorer", 2),
        ]),
        _ => spread(&[
            ("queue-scorer", 2),
            ("kv-cache-utilization-scorer", 2),
            ("prefix-cache-scorer", 3),
        ]),
    }
}
