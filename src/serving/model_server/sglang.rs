//! SGLang. Source: `ServerArgs` and the HTTP server of SGLang 0.5.23, and the connector `sglang` of
//! llm-d-router 0.10.

use super::*;
use crate::releases::SGLANG;

/// Port on which the pods of a group meet; SGLang uses the next six, too.
const GROUP_PORT: &str = "5000";
/// Port on which decode pods ask prefill pods for KV caches. The routing sidecar sends its default in
/// requests.
const BOOTSTRAP_PORT: u16 = 8998;

/// The table of SGLang.
pub(super) static SERVER: ModelServer = ModelServer {
    table: &SGLANG,
    command: &["python3", "-m", "sglang.launch_server"],
    arguments,
    group_script: |workload, _| match workload.shape.topology {
        Topology::Single => None,
        // An IPv6 address is in brackets before a port.
        _ => Some(include_str!("../scripts/sglang_group.sh").replace("PORT", GROUP_PORT)),
    },
    limits: &[
        Limit {
            key: "engine.preset",
            applies: |workload| wide_ep::is_used(workload.config),
            message: "SGLang has no preset `wide-ep`",
            hint: "remove it, and set the flags in `args`",
        },
        Limit {
            key: "topology",
            applies: |workload| workload.shape.topology == Topology::Ray,
            message: "SGLang's groups do not use Ray",
            hint: "use `topology = \"lws-mp\"`",
        },
        Limit {
            key: "topology",
            applies: |workload| {
                matches!(workload.shape.topology, Topology::DpHybrid | Topology::DpExternal)
            },
            message: "SGLang serves all ranks of a group on one port, that of its leader",
            hint: "use `topology = \"lws-dp-internal\"`",
        },
        Limit {
            key: "api",
            applies: |workload| !workload.config.profile.llm_d,
            message: "the picker of this `api` reads no metrics of SGLang",
            hint: "use a profile of llm-d: `api = \"llm-d-0.10\"`",
        },
        Limit {
            key: "engine.kv-offload",
            applies: |workload| {
                workload.config.engine.kv_offload.is_some() && gigabytes_per_rank(workload) == 0
            },
            message: "`kv-offload` is less than 1 GB per device, the least size of SGLang",
            hint: "use at least `1Gi` per device of a pod",
        },
    ],
    variables: |_| Vec::new(),
    address_variable: "HOST_IP",
    cache_variables: &[],
    // A check waits until the engine generates a token, up to 20 seconds. Until the first one has
    // succeeded the status is 503.
    ready_path: "/health",
    probe_timeout: 25,
    waiting_metric: "sglang:num_queue_reqs",
    engine_type: Some("sglang"),
    transfer_port: BOOTSTRAP_PORT,
    kv_connector: "sglang",
    block_size_flag: "page-size",
};

/// Returns true if data-parallel ranks share the devices of tensor parallelism and distribute attention
/// only. Experts over all ranks and groups require it.
fn is_attention_parallel(workload: &Workload<'_>) -> bool {
    let shape = workload.shape;
    shape.dp > 1 && (shape.expert_parallel || shape.topology != Topology::Single)
}

fn arguments(workload: &Workload<'_>, pod: Pod) -> Vec<String> {
    let Workload { config, shape, .. } = *workload;
    // Ranks that share devices distribute attention only.
    let sharing = if is_attention_parallel(workload) { shape.dp } else { 1 };
    let experts = shape.expert_parallel.then_some(shape.tp * shape.dp);
    let mut args = flag("model-path", model_argument(&config.model));
    args.extend(flag("served-model-name", &config.served_name));
    if pod != Pod::Headless {
        // By default it listens on localhost, and has no metrics.
        args.extend(flag("host", "0.0.0.0"));
        args.extend(flag("port", workload.engine_port()));
        args.extend(flag_if(true, "enable-metrics"));
    }

    args.extend(flag("tensor-parallel-size", shape.tp * sharing));
    args.extend(pipeline_stages(workload));
    args.extend(topology(workload));
    args.extend(flag_of("expert-parallel-size", experts));
    args.extend(load_format(workload));
    if workload.disaggregated {
        args.extend(flag("disaggregation-mode", workload.role.as_str()));
    }
    if workload.role == Role::Prefill {
        args.extend(flag("disaggregation-bootstrap-port", BOOTSTRAP_PORT));
    }
    args.extend(adapters(workload, "max-loras-per-batch", "lora-paths"));
    args.extend(offloading(workload));
    args.extend(events(workload, "page-size", json!({})));
    if let Some(tracing) = &config.tracing {
        // The key is a URL, as OpenTelemetry's variables want it; SGLang's flag is HOST:PORT.
        let (_, address) = tracing.endpoint.split_once("://").unwrap_or_default();
        args.extend(flag_if(true, "enable-trace"));
        args.extend(flag("otlp-traces-endpoint", address));
    }
    args
}

fn topology(workload: &Workload<'_>) -> Vec<String> {
    let shape = workload.shape;
    let mut args = Vec::new();
    if is_attention_parallel(workload) {
        let index = SGLANG.index(&workload.config.engine.image);
        // Of releases that are not known the newest is the most likely one.
        let newest = SGLANG.releases.len().checked_sub(1);
        if SGLANG.flags.has("attn-dp-size", index.or(newest)) {
            args.extend(flag("attn-dp-size", shape.dp));
        } else {
            args.extend(flag("data-parallel-size", shape.dp));
            args.push("--enable-dp-attention".to_owned());
        }
    } else if shape.dp > 1 {
        args.extend(flag("data-parallel-size", shape.dp));
    }
    if workload.is_group() {
        args.extend(flag("nnodes", shape.nodes));
    }
    args
}

/// Returns the gigabytes (not gibibytes) of CPU memory for each rank of a pod.
fn gigabytes_per_rank(workload: &Workload<'_>) -> u64 {
    let gibibytes = u64::from(workload.config.engine.kv_offload.unwrap_or_default());
    (gibibytes << 30) / u64::from(workload.devices().max(1)) / 1_000_000_000
}

fn offloading(workload: &Workload<'_>) -> Vec<String> {
    // Decode pods keep no caches of earlier requests that could be offloaded.
    if workload.config.engine.kv_offload.is_none() || workload.only_decodes() {
        return Vec::new();
    }
    [flag_if(true, "enable-hierarchical-cache"), flag("hicache-size", gigabytes_per_rank(workload))]
        .concat()
}
