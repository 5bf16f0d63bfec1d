//! `engine`, `accelerator`, `prefill`, and the keys of topologies.

use super::accelerators::{RdmaName, TpuName};
use super::*;
use crate::forms::Any;
use crate::kubernetes::Strings;
use k8s_openapi::api::core::v1::{EnvVar, Toleration};

table! {
    /// The model server.
    #[derive(PartialEq)]
    pub struct EngineConfig at "engine" {
        /// Program in `image`: `vllm` (default) or `sglang`. Groups of SGLang are `lws-mp` and
        /// `lws-dp-internal`.
        kind: EngineKind;
        /// Image of the engine, with tag and digest: `vllm/vllm-openai:v0.33.0@sha256:…`. A value of
        /// the chart.
        image: Reference;
        /// `wide-ep`: the kernels of expert parallelism over several nodes (DeepEP, DeepGEMM), with
        /// their arguments, environment variables and capabilities, as in llm-d's guide. It requires
        /// `expert-parallel`, data parallelism in groups of vLLM, and `rdma = "ib"` or `"roce"`; the
        /// image must have the kernels, as `ghcr.io/llm-d/llm-d-cuda` has. `args` and `env` replace
        /// what it sets. Default: none.
        preset: Option<EnginePreset>;
        /// Additional engine arguments, one per item, except those that other keys set (model,
        /// ports, parallelism).
        args: Vec<Any>;
        /// Environment variables of the engine container.
        env: ApiList<EnvVar>;
        /// Resource requests and limits of the engine container, except accelerators, as in the
        /// Kubernetes API. A value of the chart.
        resources: Option<Api<ResourceRequirements>>;
        /// Size of /dev/shm. Default: `1Gi`, and `256Mi` for each device of a pod, at least `2Gi`; none
        /// on TPUs and CPUs.
        shared_memory: Option<Memory>;
        /// Name of a Secret with the key HF_TOKEN, for gated models.
        token_secret: Option<ObjectName>;
        /// Linux capabilities of the engine container, such as IPC_LOCK for RDMA. Default: none.
        capabilities: Vec<Capability>;
        /// Startup timeout in minutes, for loading the model. Default: 60.
        startup_minutes: Integer<1, 1440> = 60;
        /// Node selector. A value of the chart.
        node_selector: Option<Strings>;
        /// Tolerations. A value of the chart.
        tolerations: ApiList<Toleration>;
        /// Size of the part of the KV cache in CPU memory, for all devices of a pod: `64Gi`. The
        /// memory of `resources` must include it. SGLang requires more than the KV cache of the
        /// devices, and with `prefill` only prefill pods have it. Default: none.
        kv_offload: Option<Gibibytes>;
    }
}

choices! {
    /// `engine.kind`
    pub enum EngineKind {
        /// vLLM.
        Vllm = "vllm",
        /// SGLang.
        Sglang = "sglang",
    }
}

choices! {
    /// `engine.preset`
    pub enum EnginePreset {
        /// Expert parallelism over several nodes.
        WideEp = "wide-ep",
    }
}

patterns! {
    /// An amount of memory.
    Memory = "^[0-9]+(Mi|Gi)$";
    /// The text of [`Gibibytes`].
    GibibytesText = "^[1-9][0-9]{0,4}Gi$";
    /// A Linux capability.
    Capability = "^[A-Z_]+$";
}

/// An amount of memory in GiB.
pub struct Gibibytes;

impl Form for Gibibytes {
    type Value = u32;
    const KIND: Kind = GibibytesText::KIND;

    fn read(reader: &mut Reader<'_>, key: &Key, value: &Node<'_>) -> Option<u32> {
        GibibytesText::read(reader, key, value)?.strip_suffix("Gi")?.parse().ok()
    }
}

choices! {
    /// The topology of an engine: the distribution over pods.
    pub enum Topology {
        /// A replica is one pod.
        Single = "single",
        /// Groups; vLLM's own processes.
        Mp = "lws-mp",
        /// Groups; Ray.
        Ray = "lws-ray",
        /// Groups; ranks behind the leader's port.
        DpInternal = "lws-dp-internal",
        /// Groups; ranks of a pod behind its port.
        DpHybrid = "lws-dp-hybrid",
        /// Groups; each rank has a port.
        DpExternal = "lws-dp-external",
    }
}

table! {
    /// Pods of one role.
    #[derive(PartialEq)]
    pub struct Shape at "[[serving]]" {
        /// Topology of the engine. `single` (default): each replica is one pod. The others are
        /// LeaderWorkerSets with groups of `nodes` pods: `lws-mp`: tensor and pipeline parallelism
        /// with vLLM's own multiprocessing; `lws-ray`: the same with Ray, for images that include it
        /// (vLLM's images do not since 0.19); `lws-dp-internal`: data parallelism behind one port of
        /// the leader; `lws-dp-hybrid`: data parallelism, one port per pod; `lws-dp-external`: data
        /// parallelism, one port per rank, as required for InferencePools with several ports, with
        /// at least two ranks per pod. vLLM supports the last one for mixture-of-experts models
        /// only. Default with `prefill`: the topology of the decode pods.
        topology: Topology;
        /// Number of replicas (pods, or groups of pods). A value of the chart. Default: 1.
        replicas: Integer<0, 10_000> = 1;
        /// Pods per group, each on its own node. Default: 1.
        nodes: Integer<1, 1_000> = 1;
        /// Tensor parallel size: devices that share each layer. Default: 1.
        tp: Integer<1, 1_024> = 1;
        /// Pipeline parallel size: stages of layers. Default: 1.
        pp: Integer<1, 1_024> = 1;
        /// Data parallel size: ranks of a replica over all its pods. Default: 1.
        dp: Integer<1, 8_192> = 1;
        /// Expert parallelism over all ranks. Default: false.
        expert_parallel: bool;
        /// Additional engine arguments.
        args: Derived<Vec<String>>;
        /// Resource requests and limits without accelerators.
        resources: Derived<Option<Json>>;
        /// Image of the routing sidecar, if the pods are those of `prefill` and it is set.
        sidecar_image: Derived<Option<String>>;
    }
}

table! {
    /// Separate pods for prefill. The pods of the table above then only decode, behind a routing
    /// sidecar.
    pub struct PrefillTable at "prefill", checked by prefill as Shape {
        /// Its pods.
        shape: Flat<Shape>;
        /// Arguments that replace those in `engine`. Default: the same.
        args: Vec<Any>;
        /// Resource requests and limits that replace those in `engine`. A value of the chart.
        /// Default: the same.
        resources: Option<Api<ResourceRequirements>>;
        /// Image of the routing sidecar. Default: from the API profile, by tag.
        sidecar_image: Option<Reference>;
    }
}

fn prefill(table: PrefillTable, _: &mut Reader<'_>, _: &Fields<'_>) -> Option<Shape> {
    let (args, resources, sidecar_image) = (table.args, table.resources, table.sidecar_image);
    Some(Shape { args, resources, sidecar_image, ..table.shape })
}

table! {
    /// Accelerators of the engine.
    #[derive(PartialEq, Eq)]
    pub struct Accelerator at "accelerator", checked by accelerator {
        /// Vendor of the device resource: `nvidia` (default), `amd`, `intel`, `gaudi`, `tpu`, or
        /// `none` for CPUs.
        resource as "vendor": Vendor;
        /// Number of devices that a pod requests. Default: the number that its ranks need.
        per_node: Option<Integer<1, 64>>;
        /// Devices per unit of the resource: 2 for TPU v7. Default: 1.
        devices_per_unit: Integer<1, 8> = 1;
        /// TPU generation of `vendor = "tpu"`: sets `devices-per-unit` and the node selector, by the
        /// number of chips per pod.
        tpu: Option<TpuName>;
        /// Network for transfers between pods: `ib` (`rdma/ib`), `roce` (`rdma/roce_gdr`) or `efa`
        /// (`vpc.amazonaws.com/efa`): requests its devices, and sets capabilities and environment
        /// variables.
        rdma: Option<RdmaName>;
        /// Number of devices of `rdma` that a pod requests; 1 where the device plugin shares all
        /// network cards of a node. Default: one per accelerator.
        rdma_devices: Option<Integer<1, 64>>, needs ["rdma"];
        /// Name of a ResourceClaimTemplate (dynamic resource allocation) for the devices of a pod,
        /// instead of the resource of `vendor`.
        claim_template: Option<ObjectName>;
    }
}

words! {
    /// The name of the device resource of a vendor; `None` for CPUs.
    Vendor: Option<&'static str> =
        "nvidia" => Some("nvidia.com/gpu"),
        "amd" => Some("amd.com/gpu"),
        "intel" => Some("gpu.intel.com/xe"),
        "gaudi" => Some("habana.ai/gaudi"),
        "tpu" => Some("google.com/tpu"),
        "none" => None;
}

fn accelerator(table: &mut Accelerator, reader: &mut Reader<'_>, fields: &Fields<'_>) {
    // Every other key describes devices.
    let others = fields.all().iter().filter(|(key, _)| key.name != "vendor");
    for (key, value) in others.filter(|_| table.resource.is_none()) {
        let message = format!("`{}` requires an accelerator, but `vendor` is \"none\"", key.name);
        let hint = "remove it, or set a `vendor`";
        reader.error(Code::InvalidValue, &value.span(), message, hint);
    }
    if let Some(tpu) = table.tpu {
        if table.resource != Some("google.com/tpu") {
            let message = format!("`tpu = \"{}\"` requires `vendor = \"tpu\"`", tpu.name);
            let hint = "add `vendor = \"tpu\"`, or remove it";
            reader.error(Code::InvalidValue, &fields.place("tpu"), message, hint);
        }
        if !fields.has("devices-per-unit") {
            table.devices_per_unit = tpu.devices_per_unit;
        }
    }

    // A ResourceClaim allocates the devices, so pods request no extended resource.
    table.resource = table.resource.filter(|_| table.claim_template.is_none());
}
