//! Pods of the engine: containers, probes, volumes, and the routing sidecar. What depends on the model
//! server is in `model_server`.

use super::build::{engine_labels, pod_ip_variable, variable};
use super::model_server::is_mounted;
use super::pod_fields::Pods;
use super::topology::SUPERVISOR_PORT;
use super::*;
use config::serving::Tracing;
use config::serving::accelerators::RDMA_CAPABILITIES;

/// Port for KV cache events.
pub(super) const EVENTS_PORT: u16 = 5556;
/// Block size with preset `precise-prefix`, unless arguments set another one.
pub(super) const BLOCK_SIZE: u32 = 64;

/// The pods of a group that a template is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pod {
    /// All pods, or the only one.
    Every,
    /// The leader.
    Leader,
    /// Workers without a server.
    Headless,
}

/// Shell script that sets `leader`; `$ADDRESS` stands for the variable with the pod's IP address. The
/// leader uses its own IP address, because a socket cannot be
/// bound to every name; workers wait until its name resolves, which needs a running pod (lws#746).
const LEADER: &str = include_str!("scripts/leader.sh");

/// Returns the pod template.
pub(super) fn template(workload: &Workload<'_>, pod: Pod, values: &mut Values<'_>) -> Value {
    let Workload { config, role, .. } = *workload;
    let role = role.as_str();
    let description = format!("Additional annotations for the {role} pods.");
    let annotations = values.annotations(role, json!({}), &description);
    let has_sidecar = workload.only_decodes() && pod != Pod::Headless;
    let (command, args) = command(workload, pod);
    let default = workload.shape.resources.clone().unwrap_or(json!({}));
    let shared_memory = shared_memory(workload);
    let (model_image, claim) = match &config.model {
        Model::Image(reference) => (Some(reference), None),
        Model::Claim(claim, _) => (None, Some(claim)),
        Model::HuggingFace(_) | Model::Bucket(_) => (None, None),
    };

    let mut holes = map! {
        "model": &config.name,
        "labels": labels(workload, pod != Pod::Headless),
        "annotations": annotations,
        "pull_secrets": values.pull_secrets(config.pull_secret.as_deref()),
        "sidecars": ?has_sidecar.then(|| vec![sidecar(workload, values)]),
        "image": values.text(&["image"], &config.engine.image, "Engine image of all pods."),
        "command": Value::texts(command),
        "args": ?(!args.is_empty()).then(|| Value::texts(args)),
        "env": environment(workload),
        "ports": ?Some(ports(workload, pod)).filter(|ports| !ports.is_empty()).map(Json::Array),
        "resources": values.resources(role, &default, &devices(workload)),
        "capabilities": ?capabilities(config),
        "shared_memory": ?shared_memory.as_ref().map(|_| "shared-memory"),
        "shared_memory_size": ?shared_memory,
        "mounted": ?is_mounted(&config.model).then_some("model"),
        "model_image": ?model_image,
        "claim": ?claim,
    };
    if pod != Pod::Headless {
        holes.extend(probes(workload));
    }
    holes.extend(scheduling(workload, values));
    let mut template = build::part(include_str!("objects/engine.yaml"), &holes);
    if let Value::Map(template) = &mut template {
        Pods { role, config, values }.complete(template);
    }
    template
}

/// Returns the capabilities that the container of the engine adds: those of the configuration, of the network
/// and of the preset.
fn capabilities(config: &ServingConfig) -> Option<Json> {
    let of_network = config.accelerator.rdma.map_or(&[][..], |_| RDMA_CAPABILITIES);
    let of_preset = if wide_ep::is_used(config) { wide_ep::CAPABILITIES } else { &[] };
    let own = config.engine.capabilities.iter().map(String::as_str);
    let more = of_network.iter().chain(of_preset).copied();
    let more = more.filter(|name| !own.clone().any(|own| own == *name));
    let all: Vec<&str> = own.clone().chain(more).collect();
    (!all.is_empty()).then(|| json!(all))
}

/// Returns the labels of pods. Only pods with a server have the labels of the pool's selector.
pub(super) fn labels(workload: &Workload<'_>, serving: bool) -> Json {
    let mut labels = engine_labels(workload.config, &workload.name());
    if serving {
        labels["app"] = json!(workload.config.name);
        if workload.disaggregated {
            labels["llm-d.ai/role"] = json!(workload.role.as_str());
        }
        if let Some(kind) = model_server::of(workload.config).engine_type {
            labels["llm-d.ai/engine-type"] = json!(kind);
        }
    }
    labels
}

/// Declares the scheduling values of a role, and returns them by their keys.
pub(super) fn scheduling(workload: &Workload<'_>, values: &mut Values<'_>) -> Map {
    let tolerations = Json::Array(workload.config.engine.tolerations.clone());
    let role = workload.role.as_str();
    let defaults = vec![node_selector(workload), tolerations, json!({})];
    values.scheduling(role, &format!("{role} pods"), defaults)
}

/// Returns the node selector: of the TPU generation, and of `engine`.
fn node_selector(workload: &Workload<'_>) -> Json {
    let config = workload.config;
    let mut selector = json!({});
    if let Some(tpu) = config.accelerator.tpu {
        selector["cloud.google.com/gke-tpu-accelerator"] = json!(tpu.accelerator);
        let topology = tpu.topologies.iter().find(|(chips, _)| *chips == workload.units());
        if let Some((_, topology)) = topology {
            selector["cloud.google.com/gke-tpu-topology"] = json!(topology);
        }
    }
    // The user's labels come last: they may choose another topology with as many chips.
    for (label, value) in config.engine.node_selector.iter().filter_map(Json::as_object).flatten() {
        selector[label] = value.clone();
    }
    selector
}

/// Returns the devices that a pod requests: accelerators, and network devices for transfers.
pub(super) fn devices<'a>(workload: &Workload<'a>) -> Vec<(&'a str, u32)> {
    let accelerator = &workload.config.accelerator;
    let own = accelerator.resource.map(|name| (name, workload.units()));
    let number = accelerator.rdma_devices.unwrap_or_else(|| workload.units());
    own.into_iter().chain(accelerator.rdma.map(|rdma| (rdma.resource, number))).collect()
}

/// Returns the size of /dev/shm: 1 GiB for NCCL and others, and 256 MiB per device.
fn shared_memory(workload: &Workload<'_>) -> Option<String> {
    let config = workload.config;
    // vLLM, multiproc_executor.py: each worker answers through a MessageQueue, and one sends to all of
    // them. Those of workers have 10 chunks of 24 MiB (shm_broadcast.py), 240 MiB each; that to all has 10
    // of VLLM_MQ_MAX_CHUNK_BYTES_MB, by default 16 MiB, 160 MiB in all.
    let has_devices = config.accelerator.claim_template.is_some();
    let gpu = has_devices || !matches!(config.accelerator.resource, None | Some("google.com/tpu"));
    let gibibytes = workload.devices().div_ceil(4).saturating_add(1).max(2);
    config.engine.shared_memory.clone().or(gpu.then(|| format!("{gibibytes}Gi")))
}

/// Returns the probes of a pod with a server, and the hook that keeps it running while Gateways remove
/// its endpoint.
fn probes(workload: &Workload<'_>) -> Map {
    let config = workload.config;
    let supervised = workload.shape.topology == Topology::DpExternal;
    let server = model_server::of(config);
    let (port, ready) =
        if supervised { ("supervisor", "/readyz") } else { ("engine", server.ready_path) };
    let probe = |path: &str, period: u32, failures: u32| {
        json!({
            "httpGet": {"path": path, "port": port},
            "periodSeconds": period,
            "timeoutSeconds": server.probe_timeout,
            "failureThreshold": failures,
        })
    };
    // Every 10 seconds a probe: six failures are a minute.
    let startup = config.engine.startup_minutes.saturating_mul(6);
    map! {
        "startup": probe("/health", 10, startup),
        "live": probe("/health", 10, 3),
        "ready": probe(ready, 5, 3),
        // vLLM stops accepting connections at SIGTERM, and readiness is probed every 5 seconds
        // only.
        "lifecycle": {"preStop": {"sleep": {"seconds": 15}}},
    }
}

fn environment(workload: &Workload<'_>) -> Json {
    let config = workload.config;
    let engine = &config.engine;
    let downloads =
        if config.cache.is_some() { pod_fields::MODELS } else { "/var/cache/engine/huggingface" };
    let server = model_server::of(config);
    let mut env = vec![variable("HOME", "/var/cache/engine"), variable("HF_HUB_CACHE", downloads)];
    env.extend(server.cache_variables.iter().map(|(name, value)| variable(name, value)));
    env.extend(engine.token_secret.as_deref().map(token_variable));
    env.extend(workload.is_group().then(|| pod_ip_variable(server.address_variable)));
    env.extend((server.variables)(workload));
    if presets::is_precise(config) {
        env.push(pod_ip_variable("POD_IP"));
        env.push(variable("PYTHONHASHSEED", presets::HASH_SEED));
    }
    let of_network = config.accelerator.rdma.map_or(&[][..], |rdma| rdma.env).iter().copied();
    let of_preset = wide_ep::variables(workload);
    env.extend(of_network.chain(of_preset).map(|(name, value)| variable(name, value)));
    let tracing = config.tracing.iter();
    env.extend(tracing.flat_map(|tracing| trace_variables(tracing, &workload.name())));
    // Variables from bundles.toml replace the defaults.
    let own = |name: &Json| engine.env.iter().any(|variable| &variable["name"] == name);
    env.retain(|variable| !own(&variable["name"]));
    env.extend(engine.env.iter().cloned());
    Json::Array(env)
}

/// Returns the variable with the token for gated models.
pub(super) fn token_variable(secret: &str) -> Json {
    let source = json!({"secretKeyRef": {"name": secret, "key": "HF_TOKEN"}});
    json!({"name": "HF_TOKEN", "valueFrom": source})
}

/// Returns the share of requests that are traced, from `0.01` to `1.00`.
pub(super) fn trace_ratio(tracing: &Tracing) -> String {
    format!("{}.{:02}", tracing.percent / 100, tracing.percent % 100)
}

/// Returns the variables that OpenTelemetry's libraries read.
pub(super) fn trace_variables(tracing: &Tracing, service: &str) -> Vec<Json> {
    vec![
        variable("OTEL_SERVICE_NAME", service),
        variable("OTEL_EXPORTER_OTLP_ENDPOINT", &tracing.endpoint),
        variable("OTEL_TRACES_EXPORTER", "otlp"),
        variable("OTEL_TRACES_SAMPLER", "parentbased_traceidratio"),
        variable("OTEL_TRACES_SAMPLER_ARG", &trace_ratio(tracing)),
    ]
}

fn ports(workload: &Workload<'_>, pod: Pod) -> Vec<Json> {
    let port = |name: &str, number: u16| json!({"name": name, "containerPort": number});
    let config = workload.config;
    let mut ports = Vec::new();
    if pod != Pod::Headless {
        let first = workload.engine_port();
        ports.extend(workload.ports_by_rank().map(|(rank, name)| port(&name, first + rank)));
        let is_supervised = workload.shape.topology == Topology::DpExternal;
        ports.extend(is_supervised.then(|| port("supervisor", SUPERVISOR_PORT)));
        // The picker connects to pods itself (`discoverPods`), so the engine only has to be
        // reachable.
        ports.extend(presets::is_precise(config).then(|| port("kv-events", EVENTS_PORT)));
    }
    let transfer_port = model_server::of(config).transfer_port;
    ports.extend(workload.disaggregated.then(|| port("transfer", transfer_port)));
    ports
}

/// Returns the command and arguments of the engine.
fn command(workload: &Workload<'_>, pod: Pod) -> (Vec<String>, Vec<String>) {
    let server = model_server::of(workload.config);
    let joins_ray = workload.shape.topology == Topology::Ray && pod == Pod::Headless;
    let args = if joins_ray {
        Vec::new()
    } else {
        [(server.arguments)(workload, pod), workload.shape.args.clone()].concat()
    };

    let texts = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    let Some(script) = (server.group_script)(workload, pod) else {
        return (texts(server.command), args);
    };
    let leader = LEADER.replace("$ADDRESS", &format!("${}", server.address_variable));
    let script = format!("{leader}{script}");
    // The arguments after the script start with `$0`.
    (texts(&["/bin/bash", "-c", &script, server.table.key]), args)
}

/// Returns the routing sidecar of decode pods: an init container with restartPolicy Always.
fn sidecar(workload: &Workload<'_>, values: &mut Values<'_>) -> Value {
    let config = workload.config;
    let own = config.prefill.as_ref().and_then(|prefill| prefill.sidecar_image.as_deref());
    let default = own.or(config.profile.sidecar_image);
    let image = values.text(
        &["sidecar", "image"],
        default.unwrap_or_default(),
        "Image of the routing sidecar of the decode pods.",
    );

    // The sidecar has the port of requests; the engine listens behind it.
    let count = workload.port_count();
    let mut args = vec![
        format!("--port={}", super::topology::SERVING_PORT),
        format!("--{}={}", config.profile.sidecar_engine_port, workload.engine_port()),
        format!("--kv-connector={}", model_server::of(config).kv_connector),
        // The default is TLS with a self-signed certificate, but the pool's protocol is plain HTTP.
        "--secure-proxy=false".to_owned(),
    ];
    args.extend((count > 1).then(|| format!("--data-parallel-size={count}")));
    let port = |(rank, port)| json!({"name": format!("routing-{rank}"), "containerPort": port});
    let resources = json!({
        "requests": {"cpu": "500m", "memory": "256Mi"},
        "limits": {"memory": "1Gi"},
    });
    let service = format!("{}-routing", workload.name());
    let env = config.tracing.as_ref().map(|tracing| trace_variables(tracing, &service));
    let holes = map! {
        "image": image,
        "args": Value::texts(args),
        "ports": workload.ports().into_iter().enumerate().map(port).collect::<Json>(),
        "resources": values.resources("sidecar", &resources, &[]),
        "env": ?env.map(Json::Array),
    };
    build::part(include_str!("objects/sidecar.yaml"), &holes)
}
