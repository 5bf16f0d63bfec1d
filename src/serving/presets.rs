//! Configurations of the endpoint picker.

use super::Profile;
use crate::config::ServingConfig;
use serde_json::{Value as Json, json};

/// Returns the name of the preset in use.
pub(super) fn name_of(config: &ServingConfig) -> &str {
    match &config.epp.preset {
        Some(preset) => preset,
        None if config.prefill.is_some() => "prefill-decode",
        None => "default",
    }
}

/// Returns the EndpointPickerConfig.
pub(super) fn config_of(config: &ServingConfig) -> Json {
    let mut root = json!({
        "apiVersion": config.profile.picker_config,
        "kind": "EndpointPickerConfig",
    });
    let body = config.epp.config.clone().unwrap_or_else(|| preset(name_of(config), config.profile));
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
