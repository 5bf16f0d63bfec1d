//! Invariants of precise prefix cache routing: the picker indexes the KV events of the engines.

use super::super::invariants::Found;
use super::super::view::View;
use super::super::view::pods::{
    Engine, Program, Template, Variable, is_placeholder, list, text, variable,
};
use crate::diag::Severity;
use serde_json::Value as Json;

/// Plugins that index KV events.
const PRODUCERS: [&str; 2] = ["precise-prefix-cache-producer", "precise-prefix-cache-scorer"];

/// Default block size of the index, and of vLLM on GPUs.
const USUAL_BLOCK: u64 = 16;

/// The index of a picker.
struct Index<'p> {
    parameters: &'p Json,
    /// Manifest and path of the plugin.
    owner: usize,
    path: String,
}

/// Checks KV events, block size and hash seed of the engines against the picker's index.
pub(crate) fn precise(view: &View<'_>, found: &mut Found) {
    for picker in view.all_pickers() {
        let Some((owner, path, Ok(config))) = &picker.config else { continue };
        let Some((_, pods)) = view.pods_of(picker) else { continue };
        let plugins = list(config, "plugins");
        let is_producer = |plugin: &&Json| PRODUCERS.contains(&text(plugin, "type"));
        let at = plugins.iter().position(|plugin| is_producer(&plugin));
        let Some(at) = at else { continue };
        let index = Index {
            parameters: plugins[at].get("parameters").unwrap_or(&Json::Null),
            owner: *owner,
            path: format!("{path}.plugins[{at}].parameters"),
        };

        scorer(&index, config, path, found);
        for template in pods {
            let Some(engine) = &template.engine else { continue };
            let known = matches!(engine.program, Program::Vllm) && !engine.is_headless();
            let Some(flags) = engine.flags.as_ref().filter(|_| known) else { continue };
            if flags.go_on_in_a_file() {
                continue;
            }
            events(&index, template, engine, found);
            blocks(&index, template, engine, found);
        }
        hash_seeds(&index, view, picker, found);
    }
}

/// Checks that the scorer uses the index: without the name of a producer it uses an approximate one.
fn scorer(index: &Index<'_>, config: &Json, path: &str, found: &mut Found) {
    let plugins = list(config, "plugins");
    let producer = plugins.iter().find(|plugin| text(plugin, "type") == PRODUCERS[0]);
    let Some(producer) = producer else { return };
    let name = Some(text(producer, "name")).filter(|name| !name.is_empty()).unwrap_or(PRODUCERS[0]);
    for (at, plugin) in plugins.iter().enumerate() {
        if text(plugin, "type") != "prefix-cache-scorer" {
            continue;
        }
        let said = plugin.pointer("/parameters/prefixMatchInfoProducerName").and_then(Json::as_str);
        if said != Some(name) {
            let message = format!(
                "prefix-cache-scorer uses {}, not `{name}`",
                said.map_or("an approximate index".to_owned(), |said| format!("`{said}`"))
            );
            let hint = format!("write `parameters: {{prefixMatchInfoProducerName: {name}}}`");
            let path = format!("{path}.plugins[{at}]");
            found.push(index.owner, path, message, hint).severity = Some(Severity::Warning);
        }
    }
}

/// Returns the port at the end of a ZMQ endpoint.
fn port_of(endpoint: &str) -> Option<u64> {
    endpoint.rsplit_once(':')?.1.parse().ok()
}

fn events(index: &Index<'_>, template: &Template<'_>, engine: &Engine<'_>, found: &mut Found) {
    let Some(flags) = &engine.flags else { return };
    let path = template.path_of(engine.container);
    let mut report = |message: String, hint: &str| {
        found.push(template.owner, &path, message, hint).field = Some("engine.args");
    };
    if flags.has("enable-prefix-caching") && !flags.is_on("enable-prefix-caching")
        || flags.is_on("no-enable-prefix-caching")
    {
        report(
            "the picker routes by prefix cache, but the engine has none".to_owned(),
            "remove `--no-enable-prefix-caching`",
        );
        return;
    }
    if !flags.has("kv-events-config") {
        if !flags.has_part_of("kv-events-config") {
            report(
                "the picker indexes KV events, but the engine has no `--kv-events-config`"
                    .to_owned(),
                "add `--kv-events-config` with `enable_kv_cache_events` and an endpoint",
            );
        }
        return;
    }

    let Some(config) = flags.json("kv-events-config") else { return };
    if config.get("enable_kv_cache_events").and_then(Json::as_bool) != Some(true) {
        report(
            "`enable_kv_cache_events` is not true in `--kv-events-config`".to_owned(),
            "write `\"enable_kv_cache_events\": true`",
        );
    }
    let publisher = text(&config, "publisher");
    if publisher == "null" {
        report("`publisher` of KV events is `null`".to_owned(), "write `\"publisher\": \"zmq\"`");
    }

    // Topics begin with what the picker subscribes to.
    let events = index.parameters.get("kvEventsConfig").unwrap_or(&Json::Null);
    let filter = events.get("topicFilter").and_then(Json::as_str).unwrap_or("kv@");
    let topic = text(&config, "topic");
    if !is_placeholder(filter) && !topic.starts_with(filter) && !starts_unknown(topic) {
        report(
            format!("topic of KV events is `{topic}`, but the picker subscribes to `{filter}`"),
            "begin the topic with the picker's `topicFilter`",
        );
    }

    // The picker looks blocks up by the model of the request, and stores them by that of the topic.
    let mut served = flags.all("served-model-name");
    if served.is_empty() {
        served.extend(engine.model.as_deref());
    }
    let of_topic = topic.rsplit_once('@').map(|(_, model)| model).filter(|model| !model.is_empty());
    let is_known = |name: &&str| !is_placeholder(name);
    if let Some(model) = of_topic.filter(|_| topic.matches('@').count() > 1).filter(is_known)
        && !served.is_empty()
        && served.iter().all(is_known)
        && !served.contains(&model)
    {
        report(
            format!(
                "KV events are of the model `{model}`, but requests of `{}`",
                served.join("`, `")
            ),
            "end the topic with the name in `--served-model-name`",
        );
    }

    let discovers = events.get("discoverPods").and_then(Json::as_bool).unwrap_or(true);
    let endpoint = Some(text(&config, "endpoint")).filter(|endpoint| !endpoint.is_empty());
    let endpoint = endpoint.unwrap_or("tcp://*:5557");
    let local =
        ["tcp://127.0.0.1", "tcp://localhost"].iter().any(|start| endpoint.starts_with(start));
    if local {
        report(
            format!("KV events are published on `{endpoint}`, which the picker cannot connect to"),
            "write `tcp://*:PORT`",
        );
    }
    // With discovery the picker connects to the pods, otherwise they connect to it.
    let binds = endpoint.contains("://*") || endpoint.contains("://0.0.0.0");
    let wanted = if binds && discovers {
        let port = events.pointer("/podDiscoveryConfig/socketPort").and_then(Json::as_u64);
        Some(port.unwrap_or(5_557))
    } else if !binds && !discovers {
        events.get("zmqEndpoint").and_then(Json::as_str).and_then(port_of)
    } else {
        None
    };
    if let (Some(port), Some(wanted)) = (port_of(endpoint), wanted)
        && port != wanted
    {
        report(
            format!("KV events are published on port {port}, but the picker reads port {wanted}"),
            "use the same port in `--kv-events-config` and in the picker's `kvEventsConfig`",
        );
    }
    if binds && !discovers && events.get("zmqEndpoint").is_none() {
        report(
            "the engine waits for subscribers of KV events, but the picker does not discover pods"
                .to_owned(),
            "write `discoverPods: true` in the picker's `kvEventsConfig`",
        );
    }
}

/// Returns true if the beginning of a text is not known.
fn starts_unknown(text: &str) -> bool {
    text.get(..2).is_some_and(is_placeholder)
}

/// Checks the block sizes. Pickers since 0.9 hash tokens of events again, so that a difference is
/// inexact instead of useless.
fn blocks(index: &Index<'_>, template: &Template<'_>, engine: &Engine<'_>, found: &mut Found) {
    let Some(flags) = &engine.flags else { return };
    let said = index.parameters.pointer("/tokenProcessorConfig/blockSize");
    let said = said.or_else(|| index.parameters.pointer("/tokenProcessorConfig/blockSizeTokens"));
    let ours = said.map_or(Some(USUAL_BLOCK), Json::as_u64);
    let theirs = if flags.has("block-size") {
        flags.text("block-size").and_then(|text| text.parse().ok())
    } else {
        // The default differs between CPUs and accelerators, and between attention backends.
        super::super::view::pods::accelerators(engine.container)
            .filter(|(resource, _)| *resource == "nvidia.com/gpu" && said.is_some())
            .map(|_| USUAL_BLOCK)
    };
    if let (Some(ours), Some(theirs)) = (ours, theirs)
        && ours != theirs
    {
        let message = format!(
            "the picker indexes blocks of {ours} tokens, but {} caches blocks of {theirs}",
            template.role().map_or("the engine".to_owned(), |role| format!("{role} engine"))
        );
        let hint = format!("write `blockSize: {theirs}`, or `--block-size={ours}`");
        let path = format!("{}.tokenProcessorConfig.blockSize", index.path);
        found.push(index.owner, path, message, hint).severity = Some(Severity::Warning);
    }
}

/// Checks that engines have one hash seed, that of the picker if it has one.
fn hash_seeds(
    index: &Index<'_>,
    view: &View<'_>,
    picker: &super::super::view::Picker<'_>,
    found: &mut Found,
) {
    let Some((_, pods)) = view.pods_of(picker) else { return };
    let said = index.parameters.pointer("/tokenProcessorConfig/hashSeed").and_then(Json::as_str);
    let wanted = said.filter(|seed| !seed.is_empty() && !is_placeholder(seed));

    // Without a seed of the picker, the first pod's is compared with the others.
    let mut first: Option<&str> = None;
    for template in pods {
        let Some(engine) = template.engine.as_ref().filter(|e| e.program == Program::Vllm) else {
            continue;
        };
        let seed = match variable(engine.container, "PYTHONHASHSEED") {
            Some(Variable::Text(seed)) => Some(seed),
            None => None,
            Some(_) => continue,
        };

        let message = match (wanted, seed, first) {
            (Some(wanted), Some(seed), _) if seed != wanted => {
                format!("PYTHONHASHSEED is `{seed}`, but the picker's hashSeed is `{wanted}`")
            }
            (Some(wanted), None, _) => {
                format!("PYTHONHASHSEED is not set, but the picker's hashSeed is `{wanted}`")
            }
            (None, Some(seed), Some(first)) if seed != first => {
                format!("PYTHONHASHSEED is `{seed}`, but `{first}` in other pods of the pool")
            }
            _ => {
                first = first.or(seed);
                continue;
            }
        };

        let path = format!("{}.env", template.path_of(engine.container));
        let finding = found.push(template.owner, path, message, "use one seed everywhere");
        finding.severity = Some(Severity::Warning);
        finding.field = Some("engine.env");
    }
}
