//! vLLM.

use super::*;
use crate::build::{pod_ip_variable, variable};
use crate::releases::VLLM;
use crate::topology::{RANKS_PORT, SUPERVISOR_PORT};

/// Port of the NIXL side channel.
const SIDE_CHANNEL_PORT: u16 = 5600;

/// The table of vLLM.
pub(super) static SERVER: ModelServer = ModelServer {
    table: &VLLM,
    command: &["vllm", "serve"],
    arguments,
    group_script,
    limits: &[
        Limit {
            key: "engine.preset",
            applies: |workload| {
                let fits = workload.has_ranks() && workload.shape.expert_parallel;
                wide_ep::is_used(workload.config) && !fits
            },
            message: "`wide-ep` is for expert parallelism over groups of vLLM",
            hint: "set `expert-parallel = true`, `nodes`, `dp`, and `topology = \"lws-dp-external\"`",
        },
        Limit {
            key: "engine.preset",
            applies: |workload| {
                wide_ep::is_used(workload.config) && !wide_ep::has_network(workload)
            },
            message: "`wide-ep` of vLLM needs GPUs of NVIDIA with InfiniBand or RoCE",
            hint: "write `accelerator = { rdma = \"ib\" }`, or `\"roce\"`",
        },
    ],
    variables,
    address_variable: "VLLM_HOST_IP",
    cache_variables: &[("VLLM_CACHE_ROOT", "/var/cache/engine/vllm")],
    ready_path: "/v1/models",
    probe_timeout: 5,
    waiting_metric: "vllm:num_requests_waiting",
    engine_type: None,
    transfer_port: SIDE_CHANNEL_PORT,
    kv_connector: "nixlv2",
    block_size_flag: "block-size",
};

fn arguments(workload: &Workload<'_>, pod: Pod) -> Vec<String> {
    let Workload { config, shape, .. } = *workload;
    let with_server = pod != Pod::Headless;
    [
        vec![model_argument(&config.model)],
        flag("served-model-name", &config.served_name),
        flag_of("port", with_server.then(|| workload.engine_port())),
        flag("tensor-parallel-size", shape.tp),
        pipeline_stages(workload),
        topology(workload, pod),
        flag_if(shape.expert_parallel, "enable-expert-parallel"),
        wide_ep::arguments(workload),
        load_format(workload),
        flag_of("kv-transfer-config", workload.disaggregated.then(|| transfer_config(workload))),
        flag_if(!with_server, "headless"),
        adapters(workload, "max-loras", "lora-modules"),
        offloading(workload),
        events(workload, "block-size", json!({"enable_kv_cache_events": true})),
        flag_of("otlp-traces-endpoint", config.tracing.as_ref().map(|one| &one.endpoint)),
    ]
    .concat()
}

/// Returns the arguments that distribute an engine over ranks and pods.
fn topology(workload: &Workload<'_>, pod: Pod) -> Vec<String> {
    let shape = workload.shape;
    let mut args = match shape.topology {
        Topology::Single => {
            flag_of("data-parallel-size", Some(shape.dp).filter(|ranks| *ranks > 1))
        }
        Topology::Mp => flag("nnodes", shape.nodes),
        Topology::Ray => flag("distributed-executor-backend", "ray"),
        Topology::DpInternal | Topology::DpHybrid | Topology::DpExternal => [
            flag("data-parallel-size", shape.dp),
            flag("data-parallel-size-local", workload.local_ranks),
            flag("data-parallel-rpc-port", RANKS_PORT),
        ]
        .concat(),
    };

    args.extend(match (shape.topology, pod) {
        // Workers have no API servers: vLLM refuses the flag together with `--headless`.
        (Topology::DpInternal, Pod::Leader) => flag("api-server-count", workload.local_ranks),
        (Topology::DpHybrid, _) => flag_if(true, "data-parallel-hybrid-lb"),
        (Topology::DpExternal, _) => [
            flag("data-parallel-supervisor-port", SUPERVISOR_PORT),
            flag_if(true, "data-parallel-multi-port-external-lb"),
        ]
        .concat(),
        _ => Vec::new(),
    });
    args
}

/// Returns the bytes of CPU memory that one engine of a pod uses: ranks of data parallelism are engines of
/// their own, and an engine over several pods has the memory of all.
fn offloaded_bytes(workload: &Workload<'_>) -> Option<u64> {
    let gibibytes = u64::from(workload.config.engine.kv_offload?);
    let shape = workload.shape;
    let of_pods = (gibibytes << 30) * u64::from(shape.nodes.max(1));
    Some(of_pods / u64::from(shape.dp.max(1)))
}

/// Returns the connectors that move KV caches from prefill to decode pods. vLLM has one connector, so
/// with `kv-offload` it is one that combines others.
pub(crate) fn transfer_config(workload: &Workload<'_>) -> Json {
    let Some(bytes) = offloaded_bytes(workload) else {
        let role = if workload.role == Role::Prefill { "kv_producer" } else { "kv_consumer" };
        return json!({"kv_connector": "NixlConnector", "kv_role": role});
    };
    json!({
        "kv_connector": "MultiConnector",
        "kv_role": "kv_both",
        "kv_connector_extra_config": {"connectors": [
            {"kv_connector": "NixlConnector", "kv_role": "kv_both"},
            {
                "kv_connector": "OffloadingConnector",
                "kv_role": "kv_both",
                "kv_connector_extra_config": {"cpu_bytes_to_use": bytes},
            },
        ]},
    })
}

fn offloading(workload: &Workload<'_>) -> Vec<String> {
    let bytes = offloaded_bytes(workload).filter(|_| !workload.disaggregated);
    let Some(bytes) = bytes else { return Vec::new() };
    let mebibytes = bytes >> 20;
    // The flag is a number of GiB with decimals, the connector's setting one of bytes.
    let size = match mebibytes % 1024 {
        0 => (mebibytes / 1024).to_string(),
        rest => format!("{}.{:03}", mebibytes / 1024, rest * 1000 / 1024),
    };
    [flag("kv-offloading-size", size), flag("kv-offloading-backend", "native")].concat()
}

fn variables(workload: &Workload<'_>) -> Vec<Json> {
    if !workload.disaggregated {
        return Vec::new();
    }
    vec![
        // By default it is localhost, which prefill would tell decode pods as its address.
        pod_ip_variable("VLLM_NIXL_SIDE_CHANNEL_HOST"),
        variable("VLLM_NIXL_SIDE_CHANNEL_PORT", &SIDE_CHANNEL_PORT.to_string()),
    ]
}

fn group_script(workload: &Workload<'_>, pod: Pod) -> Option<String> {
    let local = workload.local_ranks;
    Some(match workload.shape.topology {
        Topology::Single => return None,
        Topology::Mp => "exec vllm serve \"$@\" --node-rank=\"$LWS_WORKER_INDEX\" \
             --master-addr=\"$leader\"\n"
            .to_owned(),
        // It waits for the Ray head: Ray workers exit if the head is not reachable, which would
        // restart the whole group.
        Topology::Ray if pod == Pod::Headless => include_str!("../scripts/join_ray.sh").to_owned(),
        // Ray places the engine's workers when it starts, so all nodes must have joined.
        Topology::Ray => include_str!("../scripts/head_ray.sh").to_owned(),
        Topology::DpInternal | Topology::DpHybrid | Topology::DpExternal => format!(
            "exec vllm serve \"$@\" --data-parallel-address=\"$leader\" \
             --data-parallel-start-rank=\"$((LWS_WORKER_INDEX * {local}))\"\n"
        ),
    })
}
