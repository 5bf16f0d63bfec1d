//! Configurations of the endpoint picker.

use super::build::part;
use super::*;

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

/// Returns the EndpointPickerConfig.
pub(super) fn config_of(config: &ServingConfig) -> Json {
    let mut root = json!({
        "apiVersion": config.profile.picker_config,
        "kind": "EndpointPickerConfig",
    });
    let body = config.epp.config.clone().unwrap_or_else(|| preset(config));
    if let (Json::Object(root), Json::Object(body)) = (&mut root, body) {
        // The version is the profile's, also of a configuration that was written for another one.
        root.extend(body.into_iter().filter(|(key, _)| key != "apiVersion" && key != "kind"));
    }
    root
}

/// Returns the preset of a model, with plugins that the profile's picker has.
fn preset(config: &ServingConfig) -> Json {
    let text = match name_of(config) {
        "aggregated" => include_str!("objects/presets/aggregated.yaml"),
        "payload-agnostic" => include_str!("objects/presets/payload-agnostic.yaml"),
        "precise-prefix" => include_str!("objects/presets/precise-prefix.yaml"),
        "prefill-decode" => include_str!("objects/presets/prefill-decode.yaml"),
        _ => include_str!("objects/presets/default.yaml"),
    };
    // Pickers of GAIE up to 1.4 read the engines' metrics without plugins, and have no such extractor.
    let metrics = json!([
        {"type": "metrics-data-source", "parameters": {"scheme": "http", "path": "/metrics"}},
        {"type": "core-metrics-extractor"},
    ]);
    let disaggregated = config.prefill.is_some();
    let disaggregation = part(include_str!("objects/presets/disaggregation.yaml"), &Map::new());
    let holes = map! {
        "metrics": ?config.profile.llm_d.then_some(metrics),
        "served_name": &config.served_name,
        "tokenizer_port": TOKENIZER_PORT,
        "block_size": block_size(config).unwrap_or(engine::BLOCK_SIZE),
        "hash_seed": hash_seed(config),
        "events_port": engine::EVENTS_PORT,
        "engine_type": ?model_server::of(config).engine_type,
        "disaggregation": ?disaggregated.then_some(disaggregation),
        "single": ?(!disaggregated).then_some("default"),
        "prefill": ?disaggregated.then_some("prefill"),
        "decode": ?disaggregated.then_some("decode"),
    };
    Release::LITERAL.value(&part(text, &holes))
}
