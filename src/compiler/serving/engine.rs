//! Pods of the engine: vLLM's command for each topology, and its container.

use super::build::{Values, map};
use super::topology::{RANKS_PORT, Role, SUPERVISOR_PORT, Servers, TRANSFER_PORT, Workload};
use super::{pod_fields, presets};
use crate::config::{Model, ServingConfig, Topology, Tracing};
use crate::ir::{Map, Value};
use serde_json::{Value as Json, json};

/// Port for KV cache events.
pub(super) const EVENTS_PORT: u16 = 5556;
/// Block size with preset `precise-prefix`, unless arguments set another one.
const BLOCK_SIZE: u32 = 64;

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

/// Shell script that sets `leader`. The leader uses its own IP address, because a socket cannot be
/// bound to every name; workers wait until its name resolves, which needs a running pod (lws#746).
const LEADER: &str = "\
set -eu
leader=$VLLM_HOST_IP
if [ \"$LWS_WORKER_INDEX\" != 0 ]; then
  leader=$LWS_LEADER_ADDRESS
  tries=0
  until getent hosts \"$leader\" >/dev/null; do
    tries=$((tries + 1))
    if [ \"$tries\" -ge 300 ]; then
      echo \"the leader $leader has no address after ten minutes\" >&2
      exit 1
    fi
    sleep 2
  done
fi
";

/// Shell script that waits for the Ray head. Ray workers exit if the head is not reachable, which
/// would restart the whole group.
const JOIN_RAY: &str = "\
until python3 -c \"import socket, sys
socket.create_connection((sys.argv[1], 6379), 5)\" \"$leader\" 2>/dev/null; do
  tries=$((tries + 1))
  if [ \"$tries\" -ge 900 ]; then
    echo \"no Ray at $leader:6379 after half an hour\" >&2
    exit 1
  fi
  sleep 2
done
exec ray start --address=\"$leader:6379\" --block
";

/// Returns the pod template.
pub(super) fn template(workload: &Workload<'_>, pod: Pod, values: &mut Values) -> Value {
    let role = workload.role.as_str();
    let mut metadata = Map::new();
    metadata.insert("labels".to_owned(), labels(workload, pod != Pod::Headless).into());
    let description = format!("Additional annotations for the {role} pods.");
    metadata
        .insert("annotations".to_owned(), values.annotations(&[role, "annotations"], &description));
    map([("metadata", metadata.into()), ("spec", spec(workload, pod, values))])
}

/// Returns the labels of pods. Only pods with a server have the labels of the pool's selector.
pub(super) fn labels(workload: &Workload<'_>, serving: bool) -> Json {
    let mut labels = json!({
        "app.kubernetes.io/name": workload.name(),
        "app.kubernetes.io/part-of": workload.config.name,
        "app.kubernetes.io/component": "engine",
    });
    if serving {
        labels["app"] = json!(workload.config.name);
        if workload.disaggregated {
            labels["llm-d.ai/role"] = json!(workload.role.as_str());
        }
    }
    labels
}

fn spec(workload: &Workload<'_>, pod: Pod, values: &mut Values) -> Value {
    let config = workload.config;
    let mut spec = Map::new();
    let mut set = |key: &str, value: Value| {
        spec.insert(key.to_owned(), value);
    };
    set("serviceAccountName", Value::text(&config.name));
    set("automountServiceAccountToken", false.into());
    // A Service named like a variable of the engine would set it (vllm#34199).
    set("enableServiceLinks", false.into());
    set("imagePullSecrets", values.pull_secrets(config.pull_secret.as_deref()));
    set("terminationGracePeriodSeconds", 130i64.into());
    if workload.has_sidecar() && pod != Pod::Headless {
        set("initContainers", Value::Seq(vec![sidecar(workload, values)]));
    }
    set("containers", Value::Seq(vec![container(workload, pod, values)]));
    scheduling(workload, values, &mut spec);
    spec.insert("volumes".to_owned(), volumes(workload).into());
    spec.into()
}

/// Adds the scheduling values: node selector, tolerations and affinity.
pub(super) fn scheduling(workload: &Workload<'_>, values: &mut Values, spec: &mut Map) {
    let config = workload.config;
    let role = workload.role.as_str();
    let mut set = |key: &str, value: Value| {
        spec.insert(key.to_owned(), value);
    };
    let selector = node_selector(workload);
    let text = json!({"type": "string"});
    let description = format!("Node selector of the {role} pods.");
    set("nodeSelector", values.whole(&[role, "nodeSelector"], selector, text, &description));
    let tolerations = Json::Array(config.engine.tolerations.clone());
    let object = json!({"type": "object"});
    let description = format!("Tolerations of the {role} pods.");
    set(
        "tolerations",
        values.whole(&[role, "tolerations"], tolerations, object.clone(), &description),
    );
    let description = format!("Affinity of the {role} pods.");
    set("affinity", values.whole(&[role, "affinity"], json!({}), object, &description));
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
    if let (Json::Object(all), Some(Json::Object(own))) =
        (&mut selector, &config.engine.node_selector)
    {
        all.extend(own.clone());
    }
    selector
}

/// Returns the devices that a pod requests: accelerators, and network devices for transfers.
pub(super) fn devices<'a>(workload: &Workload<'a>) -> Vec<(&'a str, u32)> {
    let accelerator = &workload.config.accelerator;
    let mut devices: Vec<(&str, u32)> = Vec::new();
    devices.extend(accelerator.resource.map(|name| (name, workload.units())));
    devices.extend(accelerator.rdma.map(|rdma| (rdma.resource, workload.units())));
    devices
}

/// Returns true if the model is on a volume instead of being downloaded by the engine.
fn mounted(model: &Model) -> Option<String> {
    match model {
        Model::HuggingFace(_) | Model::Bucket(_) => None,
        Model::Image(_) => Some("/mnt/model/models".to_owned()),
        Model::Claim(_, folder) if folder.is_empty() => Some("/mnt/model".to_owned()),
        Model::Claim(_, folder) => Some(format!("/mnt/model/{}", folder.trim_matches('/'))),
    }
}

/// Returns the model argument of the engine.
pub(super) fn model_argument(model: &Model) -> String {
    match (mounted(model), model) {
        (Some(path), _) => path,
        (None, Model::HuggingFace(text) | Model::Bucket(text)) => text.clone(),
        (None, Model::Image(text) | Model::Claim(text, _)) => text.clone(),
    }
}

fn shared_memory<'a>(workload: &Workload<'a>) -> Option<&'a str> {
    let config = workload.config;
    let has_devices = config.accelerator.claim_template.is_some();
    let gpu = has_devices || !matches!(config.accelerator.resource, None | Some("google.com/tpu"));
    config.engine.shared_memory.as_deref().or(gpu.then_some("2Gi"))
}

fn volumes(workload: &Workload<'_>) -> Json {
    let mut volumes = vec![json!({"name": "cache", "emptyDir": {}})];
    if let Some(size) = shared_memory(workload) {
        volumes.push(json!({
            "name": "shared-memory",
            "emptyDir": {"medium": "Memory", "sizeLimit": size},
        }));
    }
    match &workload.config.model {
        Model::Image(reference) => volumes.push(json!({
            "name": "model",
            "image": {"reference": reference, "pullPolicy": "IfNotPresent"},
        })),
        Model::Claim(claim, _) => volumes.push(json!({
            "name": "model",
            "persistentVolumeClaim": {"claimName": claim, "readOnly": true},
        })),
        Model::HuggingFace(_) | Model::Bucket(_) => {}
    }
    Json::Array(volumes)
}

fn container(workload: &Workload<'_>, pod: Pod, values: &mut Values) -> Value {
    let config = workload.config;
    let role = workload.role.as_str();
    let mut container = Map::new();
    let mut set = |key: &str, value: Value| {
        container.insert(key.to_owned(), value);
    };
    set("name", "engine".into());
    set("image", values.text(&["image"], &config.engine.image, "Engine image of all pods."));
    let (command, args) = command(workload, pod);
    set("command", Value::texts(command));
    if !args.is_empty() {
        set("args", Value::texts(args));
    }
    set("env", environment(workload).into());
    let ports = ports(workload, pod);
    if ports.as_array().is_some_and(|ports| !ports.is_empty()) {
        set("ports", ports.into());
    }
    let default = workload.shape.resources.clone().unwrap_or(json!({}));
    set("resources", values.resources(&[role, "resources"], &default, &devices(workload)));
    if pod != Pod::Headless {
        let supervised = workload.shape.topology == Topology::DpExternal;
        let (port, ready) = if supervised {
            (json!("supervisor"), "/readyz")
        } else {
            (json!("engine"), "/v1/models")
        };
        let probe = |path: &str, period: u32, failures: u32| {
            json!({
                "httpGet": {"path": path, "port": port},
                "periodSeconds": period,
                "timeoutSeconds": 5,
                "failureThreshold": failures,
            })
        };
        let failures = config.engine.startup_minutes.saturating_mul(6);
        set("startupProbe", probe("/health", 10, failures).into());
        set("livenessProbe", probe("/health", 10, 3).into());
        set("readinessProbe", probe(ready, 5, 3).into());
        // Gateways remove the endpoint with a delay.
        set("lifecycle", json!({"preStop": {"sleep": {"seconds": 15}}}).into());
    }
    let mut security = json!({
        "allowPrivilegeEscalation": false,
        "seccompProfile": {"type": "RuntimeDefault"},
        "capabilities": {"drop": ["ALL"]},
    });
    let of_network = config.accelerator.rdma.map_or(&[][..], |rdma| rdma.capabilities);
    let own = config.engine.capabilities.iter().map(String::as_str);
    let more = of_network.iter().copied().filter(|name| !own.clone().any(|own| own == *name));
    let capabilities: Vec<&str> = own.clone().chain(more).collect();
    if !capabilities.is_empty() {
        security["capabilities"]["add"] = json!(capabilities);
    }
    set("securityContext", security.into());
    let mut mounts = vec![json!({"name": "cache", "mountPath": "/var/cache/engine"})];
    if shared_memory(workload).is_some() {
        mounts.push(json!({"name": "shared-memory", "mountPath": "/dev/shm"}));
    }
    if mounted(&config.model).is_some() {
        mounts.push(json!({"name": "model", "mountPath": "/mnt/model", "readOnly": true}));
    }
    set("volumeMounts", Json::Array(mounts).into());
    container.into()
}

fn environment(workload: &Workload<'_>) -> Json {
    let config = workload.config;
    let engine = &config.engine;
    let downloads =
        if config.cache.is_some() { pod_fields::MODELS } else { "/var/cache/engine/huggingface" };
    let mut env = vec![
        json!({"name": "HOME", "value": "/var/cache/engine"}),
        json!({"name": "HF_HUB_CACHE", "value": downloads}),
        json!({"name": "VLLM_CACHE_ROOT", "value": "/var/cache/engine/vllm"}),
    ];
    env.extend(engine.token_secret.as_deref().map(token_variable));
    let pod_ip = json!({"fieldRef": {"fieldPath": "status.podIP"}});
    if workload.is_group() {
        env.push(json!({"name": "VLLM_HOST_IP", "valueFrom": pod_ip}));
    }
    if workload.disaggregated {
        env.push(json!({"name": "VLLM_NIXL_SIDE_CHANNEL_HOST", "valueFrom": pod_ip}));
        let port = TRANSFER_PORT.to_string();
        env.push(json!({"name": "VLLM_NIXL_SIDE_CHANNEL_PORT", "value": port}));
    }
    if presets::is_precise(config) {
        env.push(json!({"name": "POD_IP", "valueFrom": pod_ip}));
        env.push(json!({"name": "PYTHONHASHSEED", "value": presets::HASH_SEED}));
    }
    for (name, value) in config.accelerator.rdma.map_or(&[][..], |rdma| rdma.env) {
        env.push(json!({"name": name, "value": value}));
    }
    if let Some(tracing) = &config.tracing {
        env.extend(trace_variables(tracing, &workload.name()));
    }
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

/// Returns the variables that OpenTelemetry's libraries read.
pub(super) fn trace_variables(tracing: &Tracing, service: &str) -> Vec<Json> {
    let ratio = format!("{}.{:02}", tracing.percent / 100, tracing.percent % 100);
    let variables = [
        ("OTEL_SERVICE_NAME", service),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", &tracing.endpoint),
        ("OTEL_TRACES_EXPORTER", "otlp"),
        ("OTEL_TRACES_SAMPLER", "parentbased_traceidratio"),
        ("OTEL_TRACES_SAMPLER_ARG", &ratio),
    ];
    variables.into_iter().map(|(name, value)| json!({"name": name, "value": value})).collect()
}

fn ports(workload: &Workload<'_>, pod: Pod) -> Json {
    let mut ports = Vec::new();
    if pod != Pod::Headless {
        for rank in 0..workload.port_count().min(64) {
            let name = if rank == 0 { "engine".to_owned() } else { format!("rank-{rank}") };
            ports.push(json!({"name": name, "containerPort": workload.engine_port() + rank}));
        }
        if workload.shape.topology == Topology::DpExternal {
            ports.push(json!({"name": "supervisor", "containerPort": SUPERVISOR_PORT}));
        }
    }
    if presets::is_precise(workload.config) && pod != Pod::Headless {
        ports.push(json!({"name": "kv-events", "containerPort": EVENTS_PORT}));
    }
    if workload.disaggregated {
        ports.push(json!({"name": "transfer", "containerPort": TRANSFER_PORT}));
    }
    Json::Array(ports)
}

/// Returns the command and arguments of the engine.
fn command(workload: &Workload<'_>, pod: Pod) -> (Vec<String>, Vec<String>) {
    let args = arguments(workload, pod);
    let texts = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    let Some(script) = script(workload, pod) else { return (texts(&["vllm", "serve"]), args) };
    // The arguments after the script start with `$0`.
    (texts(&["/bin/bash", "-c", &script, "vllm"]), args)
}

/// Returns the arguments that are the same for all pods of a group.
fn arguments(workload: &Workload<'_>, pod: Pod) -> Vec<String> {
    let (config, shape) = (workload.config, workload.shape);
    if workload.shape.topology == Topology::Ray && pod == Pod::Headless {
        return Vec::new();
    }

    let mut args = vec![model_argument(&config.model)];
    let mut flag = |name: &str, value: String| args.push(format!("--{name}={value}"));
    flag("served-model-name", config.served_name.clone());
    if pod != Pod::Headless {
        flag("port", workload.engine_port().to_string());
    }

    flag("tensor-parallel-size", shape.tp.to_string());
    if shape.pp > 1 {
        flag("pipeline-parallel-size", shape.pp.to_string());
    }

    match shape.topology {
        Topology::Single if shape.dp > 1 => flag("data-parallel-size", shape.dp.to_string()),
        Topology::Single => {}
        Topology::Mp => flag("nnodes", shape.nodes.to_string()),
        Topology::Ray => flag("distributed-executor-backend", "ray".to_owned()),
        Topology::DpInternal | Topology::DpHybrid | Topology::DpExternal => {
            flag("data-parallel-size", shape.dp.to_string());
            flag("data-parallel-size-local", workload.local_ranks.to_string());
            flag("data-parallel-rpc-port", RANKS_PORT.to_string());
        }
    }

    match (shape.topology, pod) {
        (Topology::DpInternal, Pod::Leader) => {
            flag("api-server-count", workload.local_ranks.to_string());
        }
        (Topology::DpHybrid, _) => args.push("--data-parallel-hybrid-lb".to_owned()),
        (Topology::DpExternal, _) => {
            flag("data-parallel-supervisor-port", SUPERVISOR_PORT.to_string());
            args.push("--data-parallel-multi-port-external-lb".to_owned());
        }
        _ => {}
    }

    if shape.expert_parallel {
        args.push("--enable-expert-parallel".to_owned());
    }
    if matches!(config.model, Model::Bucket(_)) {
        args.push("--load-format=runai_streamer".to_owned());
    }

    if workload.disaggregated {
        let role = if workload.role == Role::Prefill { "kv_producer" } else { "kv_consumer" };
        args.push(format!(
            "--kv-transfer-config={{\"kv_connector\":\"NixlConnector\",\"kv_role\":\"{role}\"}}"
        ));
    }

    if pod == Pod::Headless {
        args.push("--headless".to_owned());
    }
    args.extend(optional_arguments(workload));
    args.extend(shape.args.iter().cloned());
    args
}

/// Returns the arguments of adapters, KV cache offloading, KV cache events and traces.
fn optional_arguments(workload: &Workload<'_>) -> Vec<String> {
    let config = workload.config;
    let mut args = Vec::new();
    if !config.adapters.is_empty() {
        args.push("--enable-lora".to_owned());
        // Every slot needs memory of the device, so more adapters take turns.
        args.push(format!("--max-loras={}", config.adapters.len().min(8)));
        args.extend(config.adapter_rank.map(|rank| format!("--max-lora-rank={rank}")));
        args.push("--lora-modules".to_owned());
        let path = pod_fields::adapter_path;
        args.extend(config.adapters.iter().map(|one| format!("{}={}", one.name, path(one))));
    }
    if let Some(gibibytes) = config.engine.kv_offload {
        args.push(format!("--kv-offloading-size={gibibytes}"));
        args.push("--kv-offloading-backend=native".to_owned());
    }
    if presets::is_precise(config) {
        if presets::block_size(config).is_none() {
            args.push(format!("--block-size={BLOCK_SIZE}"));
        }
        let topic = format!("kv@$(POD_IP):{}@{}", workload.engine_port(), config.served_name);
        let events = json!({
            "enable_kv_cache_events": true,
            "publisher": "zmq",
            "endpoint": format!("tcp://*:{EVENTS_PORT}"),
            "topic": topic,
        });
        args.push(format!("--kv-events-config={events}"));
    }
    if let Some(tracing) = &config.tracing {
        args.push(format!("--otlp-traces-endpoint={}", tracing.endpoint));
    }
    args
}

/// Returns the block size of the KV cache with preset `precise-prefix`.
pub(super) fn events_block_size(config: &ServingConfig) -> u32 {
    presets::block_size(config).unwrap_or(BLOCK_SIZE)
}

/// Returns the script that starts the engine, if its arguments depend on the pod's index in the group.
fn script(workload: &Workload<'_>, pod: Pod) -> Option<String> {
    let local = workload.local_ranks;
    let last = match workload.shape.topology {
        Topology::Single => return None,
        Topology::Mp => "exec vllm serve \"$@\" --node-rank=\"$LWS_WORKER_INDEX\" \
             --master-addr=\"$leader\"\n"
            .to_owned(),
        Topology::Ray if pod == Pod::Headless => JOIN_RAY.to_owned(),
        // Ray places the engine's workers when it starts, so all nodes must have joined.
        Topology::Ray => "\
ray start --head --port=6379
until python3 -c \"import ray, sys
ray.init(address='auto', log_to_driver=False)
alive = [node for node in ray.nodes() if node['Alive']]
sys.exit(len(alive) < $LWS_GROUP_SIZE)\"; do
  sleep 5
done
exec vllm serve \"$@\"
"
        .to_owned(),
        Topology::DpInternal | Topology::DpHybrid | Topology::DpExternal => format!(
            "exec vllm serve \"$@\" --data-parallel-address=\"$leader\" \
             --data-parallel-start-rank=\"$((LWS_WORKER_INDEX * {local}))\"\n"
        ),
    };

    Some(format!("{LEADER}{last}"))
}

/// Returns the routing sidecar of decode pods: an init container with restartPolicy Always.
fn sidecar(workload: &Workload<'_>, values: &mut Values) -> Value {
    let config = workload.config;
    let default = config.sidecar_image.as_deref().or(config.profile.sidecar_image);
    let image = values.text(
        &["sidecar", "image"],
        default.unwrap_or_default(),
        "Image of the routing sidecar of the decode pods.",
    );

    // The sidecar has the port of requests; the engine listens behind it.
    let mut args = vec![
        format!("--port={}", super::topology::SERVING_PORT),
        format!("--{}={}", config.profile.sidecar_engine_port, workload.engine_port()),
        "--kv-connector=nixlv2".to_owned(),
        "--secure-proxy=false".to_owned(),
    ];

    if workload.port_count() > 1 {
        args.push(format!("--data-parallel-size={}", workload.port_count()));
    }
    let ports: Vec<Json> = workload
        .ports()
        .into_iter()
        .enumerate()
        .map(|(rank, port)| json!({"name": format!("routing-{rank}"), "containerPort": port}))
        .collect();
    let resources = json!({
        "requests": {"cpu": "500m", "memory": "256Mi"},
        "limits": {"memory": "1Gi"},
    });

    let env = match &config.tracing {
        Some(tracing) => {
            Json::Array(trace_variables(tracing, &format!("{}-routing", workload.name())))
        }
        None => json!([]),
    };
    // The proxy forwards the request, so that it is ready only if it reaches its engine.
    let ready = json!({
        "httpGet": {"path": "/v1/models", "port": "routing-0"},
        "periodSeconds": 5,
        "timeoutSeconds": 5,
        "failureThreshold": 3,
    });

    let mut container = map([
        ("name", "routing-proxy".into()),
        ("image", image),
        ("args", Value::texts(args)),
        ("restartPolicy", "Always".into()),
        ("readinessProbe", ready.into()),
        ("ports", Json::Array(ports).into()),
        ("resources", values.resources(&["sidecar", "resources"], &resources, &[])),
        (
            "securityContext",
            json!({
                "allowPrivilegeEscalation": false,
                "runAsNonRoot": true,
                "capabilities": {"drop": ["ALL"]},
                "seccompProfile": {"type": "RuntimeDefault"},
            })
            .into(),
        ),
    ]);
    if let Some(container) = container.as_map_mut().filter(|_| config.tracing.is_some()) {
        container.insert("env".to_owned(), env.into());
    }
    container
}

/// Returns the templates of a group.
pub(super) fn templates(workload: &Workload<'_>) -> &'static [Pod] {
    match workload.servers() {
        Servers::All => &[Pod::Every],
        Servers::Leader => &[Pod::Leader, Pod::Headless],
    }
}
