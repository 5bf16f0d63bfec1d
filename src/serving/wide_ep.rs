//! Preset `wide-ep`: expert parallelism over several nodes, with the kernels of DeepEP and DeepGEMM.
//!
//! Source: the manifests of llm-d's guide wide-ep-lws for DeepSeek-R1 (llm-d 0.8), except for what is the
//! chart's (ports, ranks, caches), and paths in its image.

use super::*;
use config::serving::EnginePreset;

/// Linux capabilities besides those of the network: the GPUs write to registers of the network cards (IBGDA).
pub(super) const CAPABILITIES: &[&str] = &["SYS_RAWIO"];

/// Arguments of all pods, and more for those that only decode or not.
const ARGUMENTS: &[(&str, &str)] = &[("moe-backend", "deep_gemm")];
const OF_PROMPTS: &[(&str, &str)] = &[("all2all-backend", "deepep_high_throughput")];
const OF_DECODE: &[(&str, &str)] = &[
    ("all2all-backend", "deepep_low_latency"),
    // The buffers of these kernels are for this number of tokens.
    ("max-num-batched-tokens", "256"),
    ("max-num-seqs", "256"),
    // One half of a batch is computed while the other is sent.
    ("enable-dbo", ""),
    ("dbo-decode-token-threshold", "32"),
];

/// Variables of vLLM and of the libraries of the network, and one for the buffers of pods that only
/// decode. NVSHMEM starts connections over the network of the pod.
const VARIABLES: &[(&str, &str)] = &[
    ("GLOO_SOCKET_IFNAME", "eth0"),
    ("NCCL_SOCKET_IFNAME", "eth0"),
    ("NVIDIA_GDRCOPY", "enabled"),
    ("NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME", "eth0"),
    ("NVSHMEM_IB_ENABLE_IBGDA", "true"),
    ("NVSHMEM_REMOTE_TRANSPORT", "ibgda"),
    ("VLLM_RANDOMIZE_DP_DUMMY_INPUTS", "1"),
    ("VLLM_SKIP_P2P_CHECK", "1"),
];
const BUFFERS: (&str, &str) = ("NVSHMEM_SYMMETRIC_SIZE", "16G");

/// Returns true if the model has the preset.
pub(super) fn is_used(config: &ServingConfig) -> bool {
    config.engine.preset == Some(EnginePreset::WideEp)
}

/// Returns true if the network has what the kernels use.
pub(super) fn has_network(workload: &Workload<'_>) -> bool {
    let accelerator = &workload.config.accelerator;
    accelerator.rdma.is_some_and(|rdma| matches!(rdma.name, "ib" | "roce"))
        && matches!(accelerator.resource, None | Some("nvidia.com/gpu"))
}

/// Returns the arguments of a pod, without those that the user sets.
pub(super) fn arguments(workload: &Workload<'_>) -> Vec<String> {
    if !is_used(workload.config) {
        return Vec::new();
    }
    // A flag twice would work, since the last one counts, but the chart would contradict itself.
    let own = Flags::parse(&workload.shape.args);
    let of_role = if workload.only_decodes() { OF_DECODE } else { OF_PROMPTS };
    let all = ARGUMENTS.iter().chain(of_role).filter(|(name, _)| !own.has(name));
    let written = all.map(|(name, value)| match *value {
        "" => format!("--{name}"),
        value => format!("--{name}={value}"),
    });
    written.collect()
}

/// Returns the environment variables of a pod.
pub(super) fn variables(workload: &Workload<'_>) -> Vec<(&'static str, &'static str)> {
    let more = Some(BUFFERS).filter(|_| workload.only_decodes());
    let all = VARIABLES.iter().copied().chain(more);
    all.filter(|_| is_used(workload.config)).collect()
}
