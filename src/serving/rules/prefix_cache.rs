//! Invariants of precise prefix cache routing: the picker indexes the KV events of the engines.

use super::*;

/// Plugins that index KV events.
const PRODUCERS: [&str; 2] = ["precise-prefix-cache-producer", "precise-prefix-cache-scorer"];

/// Default block size of the index, and of vLLM on GPUs.
const USUAL_BLOCK: u64 = 16;

/// Checks KV events, block size and hash seed of the engines against the picker's index.
pub(crate) fn precise(view: &View<'_>, found: &mut Found) {
    let mut namespaces = BTreeSet::new();
    for picker in view.all_pickers() {
        let Some((owner, path, config)) = picker.known_config() else { continue };
        let mut plugins = items(config, "plugins", path);
        let producer = plugins.find(|(plugin, _)| PRODUCERS.contains(&text(plugin, "type")));
        let Some((producer, place)) = producer else { continue };
        namespaces.insert(picker.manifest.namespace());
        let Some((_, pods)) = view.pods_of(picker) else { continue };
        let index = producer.get("parameters").unwrap_or(&Json::Null);

        scorer(config, found.at(owner, path));
        for template in &pods {
            let Some(engine) = &template.engine else { continue };
            let flags = &engine.flags;
            if engine.program.table().is_none() || !flags.are_read() || engine.is_headless() {
                continue;
            }
            let reporter = found.at(template.owner, &engine.path).field("engine.args");
            let ports = template.request_ports().unwrap_or_default();
            events(index, (engine, &ports), flags, reporter);
            let reporter = found.at(owner, format!("{place}.parameters"));
            blocks(index, (view, template, engine), reporter);
        }
        hash_seeds(index, &pods, found);
    }

    // Engines of a pool that is elsewhere. `false` may be meant.
    for (template, engine) in view.engines().filter(|(_, one)| one.program == Program::Vllm) {
        let config = engine.flags.json("kv-events-config");
        let lacks = |config: &Json| {
            let is_off = config.get("publisher").is_some_and(|name| name == "null");
            config.is_object() && config.get(ENABLED).is_none() && !is_off
        };
        if config.as_ref().is_some_and(lacks) && !engine.flags.has_part_of("kv-events-config") {
            let mut found = found.at(template.owner, &engine.path).field("engine.args");
            let finding = disabled(&mut found);
            if !namespaces.contains(template.manifest.namespace()) {
                finding.warning().why("the engine publishes no events", "vLLM, KVEventsConfig");
            }
        }
    }
}

/// The field of `--kv-events-config` without which vLLM publishes nothing, in all releases.
const ENABLED: &str = "enable_kv_cache_events";

fn disabled<'f>(found: &'f mut Reporter<'_>) -> &'f mut Finding {
    let message = format!("`{ENABLED}` is not true in `--kv-events-config`");
    found.push(message, format!("write `\"{ENABLED}\": true`"))
}

/// Checks that the scorer uses the index: without the name of a producer it uses an approximate one.
fn scorer(config: &Json, mut found: Reporter<'_>) {
    let producer = list(config, "plugins").iter().find(|one| text(one, "type") == PRODUCERS[0]);
    let Some(producer) = producer else { return };
    let name = text_or(producer, "name", PRODUCERS[0]);
    for (plugin, path) in items(config, "plugins", "") {
        let said = text_at(plugin, "/parameters/prefixMatchInfoProducerName");
        if text(plugin, "type") != "prefix-cache-scorer" || said == Some(name) {
            continue;
        }
        let used = said.map_or("an approximate index".to_owned(), |said| format!("`{said}`"));
        let message = format!("prefix-cache-scorer uses {used}, not `{name}`");
        let hint = format!("write `parameters: {{prefixMatchInfoProducerName: {name}}}`");
        found.below(&path, message, hint).warning();
    }
}

/// Returns the port at the end of a ZMQ endpoint.
fn port_of(endpoint: &str) -> Option<u64> {
    endpoint.rsplit_once(':')?.1.parse().ok()
}

/// Returns the address at which vLLM publishes KV events.
fn events_endpoint(config: &Json) -> &str {
    // Its default (KVEventsConfig).
    text_or(config, "endpoint", "tcp://*:5557")
}

/// Returns the port at which vLLM listens for subscribers of KV events, if it does.
pub(super) fn events_port(flags: &Flags) -> Option<u32> {
    let config = flags.json("kv-events-config")?;
    let is_on = config.get(ENABLED) == Some(&Json::Bool(true));
    let endpoint = events_endpoint(&config);
    port_of(endpoint).filter(|_| is_on && endpoint.contains('*'))?.try_into().ok()
}

/// Checks that the engine publishes events, and that the picker reads them.
fn events(index: &Json, server: (&Engine<'_>, &[u32]), flags: &Flags, mut found: Reporter<'_>) {
    let off = ["no-enable-prefix-caching", "disable-radix-cache"];
    let off = off.into_iter().find(|flag| flags.is_on(flag));
    if let Some(off) = off {
        let message = "the picker routes by prefix cache, but the engine has none";
        found.push(message, format!("remove `--{off}`"));
        return;
    }
    // Single fields of the flag, after a dot, are not put together here.
    let is_told = flags.has("kv-events-config") || flags.has_part_of("kv-events-config");
    if !is_told && !flags.are_open() {
        let message = "the picker indexes KV events, but the engine has no `--kv-events-config`";
        let hint = "add `--kv-events-config` with `enable_kv_cache_events` and an endpoint";
        found.push(message, hint);
    }

    let Some(config) = flags.json("kv-events-config") else { return };
    // SGLang has no such field, and publishes nothing by default.
    let is_sglang = server.0.program == Program::Sglang;
    if config.get(ENABLED) != Some(&Json::Bool(true)) && !is_sglang {
        disabled(&mut found);
    }
    let publisher = text_or(&config, "publisher", if is_sglang { "null" } else { "zmq" });
    if publisher != "zmq" && !is_placeholder(publisher) {
        let message = format!("`publisher` of KV events is `{publisher}`");
        found.push(message, "write `\"publisher\": \"zmq\"`");
    }
    let subscribed = index.get("kvEventsConfig").unwrap_or(&Json::Null);
    topic(text(&config, "topic"), subscribed, server, &mut found);
    endpoint(events_endpoint(&config), subscribed, &mut found);
}

/// Checks the block sizes. Pickers since 0.9 hash tokens of events again, so that a difference is
/// inexact instead of useless.
fn blocks(index: &Json, (_, template, engine): Context<'_>, mut found: Reporter<'_>) {
    let said = ["blockSize", "blockSizeTokens"]
        .iter()
        .find_map(|key| index.pointer(&format!("/tokenProcessorConfig/{key}")));
    let ours = said.map_or(Some(USUAL_BLOCK), Json::as_u64);
    let is_sglang = engine.program == Program::Sglang;
    let flag = if is_sglang { "page-size" } else { "block-size" };
    let theirs = if engine.flags.has(flag) || is_sglang {
        engine.flags.text(flag).and_then(|text| text.parse().ok())
    } else {
        // The default differs between CPUs and accelerators, and between attention backends.
        accelerators(engine.container)
            .filter(|_| !engine.flags.are_open())
            .filter(|(resource, _)| *resource == "nvidia.com/gpu" && said.is_some())
            .map(|_| USUAL_BLOCK)
    };
    let Some((ours, theirs)) = differing(ours, theirs) else { return };
    let role = template.role().filter(|role| *role != "both");
    let whose = role.map_or("the engine".to_owned(), |role| format!("{role} engine"));
    let message = format!(
        "the picker indexes blocks of {ours} tokens, but {whose} caches blocks of {theirs}"
    );
    let hint = format!("write `blockSize: {theirs}`, or `--{flag}={ours}`");
    found.below(".tokenProcessorConfig.blockSize", message, hint).warning();
}

/// Checks that engines have one hash seed, that of the picker if it has one.
fn hash_seeds(index: &Json, pods: &[&Template<'_>], found: &mut Found) {
    let said = text_at(index, "/tokenProcessorConfig/hashSeed");
    let wanted = said.filter(|seed| !seed.is_empty() && !is_placeholder(seed));

    // Without a seed of the picker, the first pod's is compared with the others.
    let mut right = wanted;
    for template in pods {
        let engine = template.engine.as_ref();
        let Some(engine) = engine.filter(|e| e.program == Program::Vllm) else { continue };
        let Some(seed) = variable_or(engine.container, "PYTHONHASHSEED", "") else { continue };
        let seed = Some(seed).filter(|seed| !seed.is_empty());

        right = right.or(seed);
        let Some(right) = right.filter(|right| seed.map_or(wanted.is_some(), |s| s != *right))
        else {
            continue;
        };
        let said = seed.map_or("not set".to_owned(), |seed| format!("`{seed}`"));
        let other = match wanted {
            Some(_) => format!("the picker's hashSeed is `{right}`"),
            None => format!("`{right}` in other pods of the pool"),
        };
        let message = format!("PYTHONHASHSEED is {said}, but {other}");
        let path = format!("{}.env", engine.path);
        let finding = found.push(template.owner, path, message, "use one seed everywhere");
        finding.warning().field("engine.env");
    }
}

/// Checks that topics begin with what the picker subscribes to, and end with the model.
fn topic(
    topic: &str,
    subscribed: &Json,
    (engine, ports): (&Engine<'_>, &[u32]),
    found: &mut Reporter<'_>,
) {
    let filter = text_at(subscribed, "/topicFilter").unwrap_or("kv@");
    let starts_unknown = topic.get(..2).is_some_and(is_placeholder);
    if !is_placeholder(filter) && !topic.starts_with(filter) && !starts_unknown {
        let message =
            format!("topic of KV events is `{topic}`, but the picker subscribes to `{filter}`");
        found.push(message, "begin the topic with the picker's `topicFilter`");
    }

    // The picker finds the pod by its address and the port of requests.
    let port = topic.split('@').nth(1).and_then(|pod| pod.rsplit_once(':')?.1.parse::<u32>().ok());
    if let Some(port) = port.filter(|port| !ports.is_empty() && !ports.contains(port)) {
        let message = format!("KV events are of port {port}, requests of {}", ranges(ports));
        found.push(message, "write the port of requests in the topic");
    }

    // The picker looks blocks up by the model of the request, and stores them by that of the topic.
    let served = engine.names();
    let of_topic = topic.rsplit_once('@').map(|(_, model)| model).filter(|model| !model.is_empty());
    let is_known = |name: &&str| !is_placeholder(name);
    if let Some(model) = of_topic.filter(|_| topic.matches('@').count() > 1).filter(is_known)
        && !served.is_empty()
        && served.iter().all(is_known)
        && !served.contains(&model)
    {
        let served = suggest::list(&served);
        let message = format!("KV events are of the model `{model}`, but requests of {served}");
        found.push(message, "end the topic with the name in `--served-model-name`");
    }
}

/// Checks that engine and picker connect: with discovery the picker connects to the pods, otherwise they
/// connect to it.
fn endpoint(endpoint: &str, subscribed: &Json, found: &mut Reporter<'_>) {
    let discovers = subscribed.get("discoverPods").and_then(Json::as_bool).unwrap_or(true);
    if ["tcp://127.0.0.1", "tcp://localhost"].iter().any(|start| endpoint.starts_with(start)) {
        let message =
            format!("KV events are published on `{endpoint}`, which the picker cannot connect to");
        found.push(message, "write `tcp://*:PORT`");
    }

    let binds = endpoint.contains("://*") || endpoint.contains("://0.0.0.0");
    let wanted = match (binds, discovers) {
        (true, true) => {
            let port = subscribed.pointer("/podDiscoveryConfig/socketPort").and_then(Json::as_u64);
            Some(port.unwrap_or(5_557))
        }
        (false, false) => text_at(subscribed, "/zmqEndpoint").and_then(port_of),
        _ => None,
    };
    if let Some((port, wanted)) = differing(port_of(endpoint), wanted) {
        let message =
            format!("KV events are published on port {port}, but the picker reads port {wanted}");
        let hint = "use the same port in `--kv-events-config` and in the picker's `kvEventsConfig`";
        found.push(message, hint);
    }
    let is_told = subscribed.get("discoverPods").is_some() && endpoint.starts_with("tcp://");
    if !binds && discovers && is_told && subscribed.get("zmqEndpoint").is_none() {
        let message =
            "the engine connects to the picker with its KV events, but the picker connects to pods";
        found.push(message, "write `tcp://*:PORT`, with the picker's `socketPort`").warning();
    }
    if binds && !discovers && subscribed.get("zmqEndpoint").is_none() {
        let message =
            "the engine waits for subscribers of KV events, but the picker does not discover pods";
        found.push(message, "write `discoverPods: true` in the picker's `kvEventsConfig`");
    }
}
