//! Model servers. Each is one table: the arguments that keys of `[[serving]]` become, the settings that
//! it does not support, and what probes, metrics and other objects must know about it.

mod sglang;
mod vllm;

use super::build::push_new;
use super::engine::{BLOCK_SIZE, EVENTS_PORT, Pod};
use super::releases::{ProgramTable, engines};
use super::topology::SERVING_PORT;
use super::*;
use config::serving::EngineKind;
use std::sync::LazyLock;

pub(super) use vllm::transfer_config;

/// The program of an engine.
pub(super) struct ModelServer {
    /// Facts about its releases. Its key is the value of `engine.kind`.
    pub(super) table: &'static LazyLock<ProgramTable>,
    /// Words that start it.
    pub(super) command: &'static [&'static str],
    /// Returns the arguments that keys become, in order.
    pub(super) arguments: fn(&Workload<'_>, Pod) -> Vec<String>,
    /// Returns the end of the script that starts a pod of a group, after `leader` is set; `None` if
    /// the command does not depend on the pod's index.
    pub(super) group_script: fn(&Workload<'_>, Pod) -> Option<String>,
    /// Settings that it does not support.
    pub(super) limits: &'static [Limit],
    /// Returns its environment variables.
    pub(super) variables: fn(&Workload<'_>) -> Vec<Json>,
    /// Variable with the pod's IP address in groups.
    pub(super) address_variable: &'static str,
    /// Directories for caches, by variable.
    pub(super) cache_variables: &'static [(&'static str, &'static str)],
    /// Path for readiness; that for startup and liveness is `/health`.
    pub(super) ready_path: &'static str,
    /// Seconds until it answers a probe.
    pub(super) probe_timeout: u32,
    /// Gauge of waiting requests.
    pub(super) waiting_metric: &'static str,
    /// Value of the label from which the picker knows its metrics; `None` for the picker's default.
    pub(super) engine_type: Option<&'static str>,
    /// Port on which prefill pods offer KV caches.
    pub(super) transfer_port: u16,
    /// The routing sidecar's name of its KV cache transfer.
    pub(super) kv_connector: &'static str,
    /// Flag with the number of tokens in a block of the KV cache.
    pub(super) block_size_flag: &'static str,
}

/// Arguments that keys set, with the key; `port` is set by the chart.
const OWNED: [(&str, &str); 5] = [
    ("data-parallel-size", "dp"),
    ("pipeline-parallel-size", "pp"),
    ("port", ""),
    ("served-model-name", "served-name"),
    ("tensor-parallel-size", "tp"),
];

/// Reports arguments that change what a key says, so that other objects do not fit.
fn owned(workload: &Workload<'_>, diagnostics: &mut Diagnostics) {
    let config = workload.config;
    let flags = Flags::parse(&workload.shape.args);
    for (flag, key) in OWNED.iter().filter(|(flag, _)| flags.has(flag)) {
        let own = workload.role == Role::Prefill && config.written("prefill.args").is_some();
        let place = config.place(if own { "prefill.args" } else { "engine.args" });
        let value = flags.text(flag).unwrap_or("VALUE");
        // The keys of two letters, `dp`, `pp` and `tp`, have numbers; text needs quotes in TOML.
        let value = if key.len() == 2 { value.to_owned() } else { format!("{value:?}") };
        let (message, hint) = match *key {
            "" => (
                format!("`--{flag}` in `args`: the chart sets the ports"),
                "remove it: pool, probes and sidecar have the port of the chart".to_owned(),
            ),
            key => (
                format!("`--{flag}` in `args` is what the key `{key}` sets"),
                format!("remove it, and write `{key} = {value}`"),
            ),
        };

        // Prefill pods may have the same arguments.
        let warning = Diagnostic::warning(Code::ServingEngineFlags, message).hint(hint);
        push_new(warning.at(place), diagnostics);
    }
}

/// A setting that a model server does not support.
pub(super) struct Limit {
    /// The key in bundles.toml.
    key: &'static str,
    /// Returns true for pods with the setting.
    applies: fn(&Workload<'_>) -> bool,
    /// The message of the error.
    message: &'static str,
    hint: &'static str,
}

/// Returns the model server of a configuration.
pub(super) fn of(config: &ServingConfig) -> &'static ModelServer {
    match config.engine.kind {
        EngineKind::Vllm => &vllm::SERVER,
        EngineKind::Sglang => &sglang::SERVER,
    }
}

/// Reports settings that the model server does not support, and an image of another one.
pub(super) fn check(config: &ServingConfig, diagnostics: &mut Diagnostics) {
    let server = of(config);
    let start = diagnostics.mark();
    for workload in &Workload::all(config) {
        for limit in server.limits.iter().filter(|limit| (limit.applies)(workload)) {
            let own = format!("prefill.{}", limit.key);
            let is_own = workload.role == Role::Prefill && config.written(&own).is_some();
            let key = if is_own { &own } else { limit.key };
            let place = Place::span(config.place(key).clone());
            let is_known = |known: &Diagnostic| known.place == place;
            if !diagnostics.since(start).iter().any(is_known) {
                diagnostics.error(Code::InvalidValue, place, limit.message, limit.hint);
            }
        }
        owned(workload, diagnostics);
    }

    let image = &config.engine.image;
    let own = server.table;
    let other = engines().into_iter().find(|other| image::is_of(image, other.key));
    if let Some(ProgramTable { name, key, .. }) = other.filter(|_| !image::is_of(image, own.key)) {
        let message =
            format!("image `{image}` is one of {name}, but the chart starts {}", own.name);
        let hint = format!("write `kind = \"{key}\"` in `engine`, or use another image");
        diagnostics.error(Code::InvalidValue, config.place("engine.image"), message, hint);
    }
}

/// Returns true if a model is on a volume; others are downloaded by the server.
pub(super) fn is_mounted(model: &Model) -> bool {
    matches!(model, Model::Image(_) | Model::Claim(..))
}

/// Returns the path of a folder on a volume (empty for its root), given the path of the mount.
pub(super) fn inside(mount: &str, folder: &str) -> String {
    if folder.is_empty() {
        mount.to_owned()
    } else {
        format!("{mount}/{}", folder.trim_matches('/'))
    }
}

/// Returns the path or name from which the server loads the model.
pub(super) fn model_argument(model: &Model) -> String {
    match model {
        Model::HuggingFace(text) | Model::Bucket(text) => text.clone(),
        // Images of models have their files in /models, as KServe's modelcars do.
        Model::Image(_) => "/mnt/model/models".to_owned(),
        Model::Claim(_, folder) => inside("/mnt/model", folder),
    }
}

/// Returns `--NAME=VALUE`.
fn flag(name: &str, value: impl std::fmt::Display) -> Vec<String> {
    vec![format!("--{name}={value}")]
}

/// Returns `--NAME=VALUE`, if there is a value.
fn flag_of(name: &str, value: Option<impl std::fmt::Display>) -> Vec<String> {
    value.into_iter().flat_map(|value| flag(name, value)).collect()
}

/// Returns the flag if the condition is true.
fn flag_if(condition: bool, name: &str) -> Vec<String> {
    if condition { vec![format!("--{name}")] } else { Vec::new() }
}

/// Returns the argument for pipeline parallelism.
fn pipeline_stages(workload: &Workload<'_>) -> Vec<String> {
    flag_of("pipeline-parallel-size", Some(workload.shape.pp).filter(|stages| *stages > 1))
}

/// Returns the argument with which an engine reads models in a bucket.
fn load_format(workload: &Workload<'_>) -> Vec<String> {
    let is_bucket = matches!(workload.config.model, Model::Bucket(_));
    flag_of("load-format", is_bucket.then_some("runai_streamer"))
}

/// Returns the arguments for LoRA adapters, given the flags for the number of slots and for the list.
fn adapters(workload: &Workload<'_>, slots: &str, list: &str) -> Vec<String> {
    let config = workload.config;
    if config.adapters.is_empty() {
        return Vec::new();
    }
    let mut args = vec!["--enable-lora".to_owned()];
    // Every slot needs memory of the device, so more adapters take turns.
    args.extend(flag(slots, config.adapters.len().min(8)));
    args.extend(flag_of("max-lora-rank", config.adapter_rank));
    args.push(format!("--{list}"));
    let path = pod_fields::adapter_path;
    args.extend(config.adapters.iter().map(|one| format!("{}={}", one.name, path(one))));
    args
}

/// Returns the arguments with which an engine publishes the events of its KV cache, given the flag for
/// the size of a block, and the engine's own settings.
fn events(workload: &Workload<'_>, block_size: &str, mut settings: Json) -> Vec<String> {
    let config = workload.config;
    if !presets::is_precise(config) {
        return Vec::new();
    }
    let is_own = presets::block_size(config).is_some();
    settings["publisher"] = json!("zmq");
    settings["endpoint"] = json!(format!("tcp://*:{EVENTS_PORT}"));
    // `kv@POD@MODEL` (llm-d-router, kvevents/engineadapter); Kubernetes expands the variable.
    settings["topic"] = json!(format!("kv@$(POD_IP):{SERVING_PORT}@{}", config.served_name));
    let size = flag_of(block_size, (!is_own).then_some(BLOCK_SIZE));
    [size, flag("kv-events-config", settings)].concat()
}

#[cfg(test)]
mod tests {
    use super::{ModelServer, sglang, vllm};
    use crate::config::serving::{EngineKind, ServingConfig};

    static ALL: [&ModelServer; 2] = [&vllm::SERVER, &sglang::SERVER];

    #[test]
    fn every_kind_has_a_server() {
        let keys: Vec<&str> = ALL.iter().map(|server| server.table.key).collect();
        assert_eq!(keys, EngineKind::NAMES);
    }

    #[test]
    fn limits_are_at_keys() {
        for server in &ALL {
            for limit in server.limits {
                let first = limit.key.split('.').next().unwrap_or_default();
                assert!(ServingConfig::table().key(first).is_some(), "{}", limit.key);
                assert!(limit.message.contains(server.table.name), "{}", limit.message);
            }
        }
    }
}
