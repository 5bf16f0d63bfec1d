//! The keys of `[[serving]]`.

use super::{accelerators, maas, profile};
use crate::keys::{
    Kind, MAINTAINER, NAME, NAMESPACE, PATCH_KEYS, SECRET, Table, optional, required,
};

/// Values of `topology`, the default first.
pub(crate) const TOPOLOGIES: &[&str] =
    &["single", "lws-mp", "lws-ray", "lws-dp-internal", "lws-dp-hybrid", "lws-dp-external"];
/// Values of `engine.kind`, the default first.
pub const ENGINES: &[&str] = &["vllm", "sglang"];
/// Values of `vendor`, the default first.
pub(crate) const VENDORS: &[&str] = &["nvidia", "amd", "intel", "gaudi", "tpu", "none"];
/// Values of `form`, the default first.
pub(crate) const FORMS: &[&str] = &["llm-d", "kserve"];
/// Values of `failure-mode`, the default first.
pub(crate) const FAILURE_MODES: &[&str] = &["FailOpen", "FailClose"];
/// Values of `preset`, the default first.
pub(crate) const PRESETS: &[&str] =
    &["default", "aggregated", "payload-agnostic", "prefill-decode", "precise-prefix"];
/// Values of `provider`, the default first.
pub(crate) const PROVIDERS: &[&str] = &["none", "istio", "gke"];
/// Values of `auth`, the default first.
pub(crate) const AUTHS: &[&str] = &["none", "kuadrant"];
/// Values of `autoscaling.metrics`, the default first.
pub(crate) const METRICS: &[&str] = &["prometheus-adapter", "gke"];
/// Values of `cache.access-mode`, the default first.
pub(crate) const ACCESS_MODES: &[&str] = &["ReadWriteMany", "ReadWriteOnce"];
/// Values of `autoscaling.kind`, the default first.
pub(crate) const AUTOSCALERS: &[&str] = &["hpa", "keda"];

const IMAGE: &str = "^[^\\s:/][^\\s]*$";
const HOST: &str = "^(\\*\\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";
const ARGS: &str = "Additional engine arguments, one per item, except those that other keys set \
    (model, ports, parallelism).";
const RESOURCES: &str = "Resource requests and limits of the engine container, except \
    accelerators, as in the Kubernetes API. A value of the chart.";
const TOPOLOGY: &str = "Topology of the engine. `single` (default): each replica is one pod. The \
    others are LeaderWorkerSets with groups of `nodes` pods: `lws-mp`: tensor and pipeline \
    parallelism with vLLM's own multiprocessing; `lws-ray`: the same with Ray, for images that \
    include it (vLLM's images do not since 0.19); `lws-dp-internal`: data parallelism behind one \
    port of the leader; `lws-dp-hybrid`: data parallelism, one port per pod; `lws-dp-external`: \
    data parallelism, one port per rank, as required for InferencePools with several ports, with \
    at least two ranks per pod. vLLM supports the last one for mixture-of-experts models only.";
const REPLICAS: &str =
    "Number of replicas (pods, or groups of pods). A value of the chart. Default: 1.";
const NODES: &str = "Pods per group, each on its own node. Default: 1.";
const TP: &str = "Tensor parallel size: devices that share each layer. Default: 1.";
const PP: &str = "Pipeline parallel size: stages of layers. Default: 1.";
const DP: &str = "Data parallel size: ranks of a replica over all its pods. Default: 1.";
const EXPERT: &str = "Expert parallelism over all ranks. Default: false.";

/// `engine`
pub static ENGINE: Table = Table {
    header: "engine",
    doc: "The model server.",
    exactly_one_of: &[],
    keys: &[
        optional(
            "kind",
            Kind::OneOf(ENGINES),
            "Program in `image`: `vllm` (default) or `sglang`. Groups of SGLang are `lws-mp` and \
                `lws-dp-internal`.",
        ),
        required(
            "image",
            Kind::String(Some(IMAGE)),
            "Image of the engine, with tag and digest: `vllm/vllm-openai:v0.23.0@sha256:…`. A \
                value of the chart.",
        ),
        optional("args", Kind::Strings(None), ARGS),
        optional("env", Kind::Objects, "Environment variables of the engine container."),
        optional("resources", Kind::Object, RESOURCES),
        optional(
            "shared-memory",
            Kind::String(Some("^[0-9]+(Mi|Gi)$")),
            "Size of /dev/shm. Default: `2Gi`, and none on TPUs and CPUs.",
        ),
        optional(
            "token-secret",
            Kind::String(Some(SECRET)),
            "Name of a Secret with the key HF_TOKEN, for gated models.",
        ),
        optional(
            "capabilities",
            Kind::Strings(Some("^[A-Z_]+$")),
            "Linux capabilities of the engine container, such as IPC_LOCK for RDMA. Default: none.",
        ),
        optional(
            "startup-minutes",
            Kind::Integer(1, 1440),
            "Startup timeout in minutes, for loading the model. Default: 60.",
        ),
        optional("node-selector", Kind::Object, "Node selector. A value of the chart."),
        optional("tolerations", Kind::Objects, "Tolerations. A value of the chart."),
        optional(
            "kv-offload",
            Kind::String(Some("^[1-9][0-9]{0,4}Gi$")),
            "Size of the part of the KV cache in CPU memory, for all devices of a pod: `64Gi`. The \
                memory of `resources` must include it. SGLang requires more than the KV cache of \
                the devices, and with `prefill` only prefill pods have it. Default: none.",
        ),
    ],
};

/// `pod`
pub static POD: Table = Table {
    header: "pod",
    doc: "Additional fields of the engine pods, as in the Kubernetes API.",
    exactly_one_of: &[],
    keys: &[
        optional("labels", Kind::Object, "Additional labels of the pods."),
        optional("volumes", Kind::Objects, "Additional volumes."),
        optional("volume-mounts", Kind::Objects, "Additional volume mounts of the main container."),
        optional("init-containers", Kind::Objects, "Additional init containers."),
        optional("sidecars", Kind::Objects, "Additional containers."),
        optional(
            "env-from",
            Kind::Objects,
            "Sources of environment variables of the main container.",
        ),
        optional(
            "priority-class",
            Kind::String(Some(SECRET)),
            "Name of the PriorityClass. A value of the chart.",
        ),
        optional(
            "topology-spread",
            Kind::Objects,
            "Topology spread constraints. A value of the chart.",
        ),
        optional("scheduler", Kind::String(Some(SECRET)), "Name of the scheduler."),
        optional("runtime-class", Kind::String(Some(SECRET)), "Name of the RuntimeClass."),
        optional(
            "security-context",
            Kind::Object,
            "Security context of the pods. A value of the chart.",
        ),
        optional("host-aliases", Kind::Objects, "Entries for /etc/hosts."),
        optional("dns-config", Kind::Object, "DNS parameters."),
    ],
};

/// `cache`
pub static CACHE: Table = Table {
    header: "cache",
    doc: "A volume for downloaded models, so that new pods do not download them again.",
    exactly_one_of: &["claim", "size"],
    keys: &[
        optional(
            "claim",
            Kind::String(Some(SECRET)),
            "Name of an existing PersistentVolumeClaim. A value of the chart.",
        ),
        optional(
            "size",
            Kind::String(Some("^[1-9][0-9]*(Gi|Ti)$")),
            "Size of a PersistentVolumeClaim that the chart creates. A value of the chart.",
        ),
        optional(
            "storage-class",
            Kind::String(Some(SECRET)),
            "StorageClass of the created claim. Default: the default of the cluster.",
        )
        .with(&["size"]),
        optional(
            "access-mode",
            Kind::OneOf(ACCESS_MODES),
            "Access mode of the created claim: `ReadWriteMany` (default) for several pods; \
                `ReadWriteOnce` for one pod.",
        )
        .with(&["size"]),
    ],
};

/// `tracing`
pub static TRACING: Table = Table {
    header: "tracing",
    doc: "OpenTelemetry traces of engine, routing sidecar and picker.",
    exactly_one_of: &[],
    keys: &[
        required(
            "endpoint",
            Kind::String(Some("^https?://[^\\s/]+:[0-9]+$")),
            "URL of the collector's OTLP gRPC receiver: `http://collector.observability:4317`.",
        ),
        optional(
            "percent",
            Kind::Integer(1, 100),
            "Percentage of requests that are traced. Default: 10.",
        ),
    ],
};

/// `[[serving.patch]]`
pub static SERVING_PATCH: Table = Table {
    header: "[[serving.patch]]",
    doc: "A change to the objects of the chart. The changed objects are checked like all others.",
    exactly_one_of: &[],
    keys: PATCH_KEYS,
};

/// `accelerator`
pub static ACCELERATOR: Table = Table {
    header: "accelerator",
    doc: "Accelerators of the engine.",
    exactly_one_of: &[],
    keys: &[
        optional(
            "vendor",
            Kind::OneOf(VENDORS),
            "Vendor of the device resource: `nvidia` (default), `amd`, `intel`, `gaudi`, `tpu`, or \
                `none` for CPUs.",
        ),
        optional(
            "per-node",
            Kind::Integer(1, 64),
            "Number of devices that a pod requests. Default: the number that its ranks need.",
        ),
        optional(
            "devices-per-unit",
            Kind::Integer(1, 8),
            "Devices per unit of the resource: 2 for TPU v7. Default: 1.",
        ),
        optional(
            "tpu",
            Kind::OneOf(accelerators::TPU_NAMES),
            "TPU generation of `vendor = \"tpu\"`: sets `devices-per-unit` and the node selector, by \
                the number of chips per pod.",
        ),
        optional(
            "rdma",
            Kind::OneOf(accelerators::RDMA_NAMES),
            "Network for transfers between pods: `ib` (`rdma/ib`), `roce` (`rdma/roce_gdr`) or `efa` \
                (`vpc.amazonaws.com/efa`): requests one device per accelerator, and sets \
                capabilities and environment variables.",
        ),
        optional(
            "claim-template",
            Kind::String(Some(SECRET)),
            "Name of a ResourceClaimTemplate (dynamic resource allocation) for the devices of a pod, \
                instead of the resource of `vendor`.",
        ),
    ],
};

/// `prefill`
pub static PREFILL: Table = Table {
    header: "prefill",
    doc: "Separate pods for prefill. The pods of the table above then only decode, behind a \
        routing sidecar.",
    exactly_one_of: &[],
    keys: &[
        optional(
            "topology",
            Kind::OneOf(TOPOLOGIES),
            "Topology of the prefill engine, as above. Default: the topology of the decode pods.",
        ),
        optional("replicas", Kind::Integer(0, 10_000), REPLICAS),
        optional("nodes", Kind::Integer(1, 1_000), NODES),
        optional("tp", Kind::Integer(1, 1_024), TP),
        optional("pp", Kind::Integer(1, 1_024), PP),
        optional("dp", Kind::Integer(1, 8_192), DP),
        optional("expert-parallel", Kind::Boolean, EXPERT),
        optional(
            "args",
            Kind::Strings(None),
            "Arguments that replace those in `engine`. Default: the same.",
        ),
        optional(
            "resources",
            Kind::Object,
            "Resource requests and limits that replace those in `engine`. A value of the chart. \
                Default: the same.",
        ),
        optional(
            "sidecar-image",
            Kind::String(Some(IMAGE)),
            "Image of the routing sidecar. Default: from the API profile, by tag.",
        ),
    ],
};

/// `epp`
pub static EPP: Table = Table {
    header: "epp",
    doc: "The endpoint picker, which selects a pod for each request.",
    exactly_one_of: &[],
    keys: &[
        optional(
            "preset",
            Kind::OneOf(PRESETS),
            "Picker configuration preset: `default`: queue, cache and prefix; `aggregated`: the \
                same, and spreads new prompts; `payload-agnostic`: for requests that cannot be \
                parsed; `prefill-decode`: for `prefill`, where it is the default; `precise-prefix`: \
                by the KV cache events of the engines, which it enables, with a tokenizer in the \
                picker pod.",
        ),
        optional(
            "config",
            Kind::Object,
            "A custom EndpointPickerConfig, without apiVersion and kind.",
        ),
        optional(
            "image",
            Kind::String(Some(IMAGE)),
            "Image of the picker. A value of the chart. Default: from the API profile, by tag.",
        ),
        optional(
            "replicas",
            Kind::Integer(1, 9),
            "Number of picker replicas. With more than one, one is active and the others are on \
                standby. Default: 1.",
        ),
        optional(
            "failure-mode",
            Kind::OneOf(FAILURE_MODES),
            "Failure mode if no picker is available: `FailOpen` (default): requests go to any pod; \
                `FailClose`: requests fail.",
        ),
        optional(
            "flags",
            Kind::Object,
            "Additional flags: names without leading dashes, and strings, numbers or booleans.",
        ),
        optional(
            "resources",
            Kind::Object,
            "Resource requests and limits of the picker. A value \
            of the chart.",
        ),
        optional(
            "tokenizer-image",
            Kind::String(Some(IMAGE)),
            "Image of the tokenizer of preset `precise-prefix`, with vLLM for CPUs. A value of the \
                chart. Default: `vllm/vllm-openai-cpu:v0.23.0`, by tag.",
        ),
        optional("pod", Kind::Table(&POD), "Additional fields of the picker pods, as in `pod`."),
    ],
};

/// `route`
pub static ROUTE: Table = Table {
    header: "route",
    doc: "Route from a Gateway to the model.",
    exactly_one_of: &[],
    keys: &[
        required("gateway", Kind::String(Some(SECRET)), "Name of the Gateway."),
        optional(
            "gateway-namespace",
            Kind::String(Some(NAMESPACE)),
            "Namespace of the Gateway. Default: the release namespace.",
        ),
        optional(
            "gateway-class",
            Kind::String(Some(SECRET)),
            "Creates the Gateway, in the release namespace and with this class.",
        ),
        optional(
            "provider",
            Kind::OneOf(PROVIDERS),
            "Gateway implementation, for objects specific to it: `none` (default), `istio`, `gke`.",
        ),
        optional("hosts", Kind::Strings(Some(HOST)), "Host names. Default: any."),
        optional(
            "paths",
            Kind::Strings(Some("^/[^\\s?#]*$")),
            "Path prefixes. A prefix that is not part of the engine's API, such as `/team/chat`, \
                is removed from requests, so that `/team/chat/v1/models` requests `/v1/models`. \
                Default: `/`.",
        ),
        optional(
            "model-header",
            Kind::String(Some("^[A-Za-z0-9!#$%&'*+.^_|~-]{1,256}$")),
            "A header that must match the model's name, if several models share host and path.",
        ),
        optional(
            "request-timeout",
            Kind::String(Some("^([0-9]{1,5}(h|m|s|ms)){1,4}$")),
            "Request timeout; `0s` disables it. Default: `300s`.",
        ),
        optional(
            "auth",
            Kind::OneOf(AUTHS),
            "Authentication of requests: `none` (default): no authentication; `kuadrant`: requires \
                a token of the cluster, with an AuthPolicy.",
        ),
    ],
};

/// `monitoring`
pub static MONITORING: Table = Table {
    header: "monitoring",
    doc: "Prometheus operator objects: a PodMonitor for engines, a ServiceMonitor for the picker.",
    exactly_one_of: &[],
    keys: &[
        optional(
            "interval",
            Kind::String(Some("^[0-9]+(s|m)$")),
            "Scrape interval. Default: `10s`.",
        ),
        optional("labels", Kind::Object, "Labels that your Prometheus selects. Default: none."),
    ],
};

/// `network-policy`
pub static NETWORK_POLICY: Table = Table {
    header: "network-policy",
    doc: "NetworkPolicies for the pods: allows Gateways, Prometheus, the picker, and the pods \
        themselves to connect.",
    exactly_one_of: &[],
    keys: &[
        optional(
            "gateway-namespaces",
            Kind::Strings(Some(NAMESPACE)),
            "Namespaces of the Gateway pods. Default: `gateway-namespace` of `route`, else the \
                release namespace.",
        ),
        optional(
            "monitoring-namespaces",
            Kind::Strings(Some(NAMESPACE)),
            "Namespaces of Prometheus; required for `monitoring` and `autoscaling`. Default: none.",
        ),
    ],
};

/// `autoscaling`
pub static AUTOSCALING: Table = Table {
    header: "autoscaling",
    doc: "Autoscaling by the number of waiting requests per engine. With prefill, this scales the \
        decode pods.",
    exactly_one_of: &[],
    keys: &[
        optional(
            "kind",
            Kind::OneOf(AUTOSCALERS),
            "`hpa` (default): a HorizontalPodAutoscaler on the pods' metric; `keda`: a \
                ScaledObject that queries Prometheus.",
        ),
        optional(
            "min",
            Kind::Integer(1, 10_000),
            "Minimum number of replicas. It cannot be 0, because waiting requests are counted by \
                the pods. Default: 1.",
        ),
        required("max", Kind::Integer(1, 10_000), "Most replicas."),
        optional(
            "waiting",
            Kind::Integer(1, 100_000),
            "Target number of waiting requests per replica. Default: 5.",
        ),
        optional(
            "prometheus",
            Kind::String(Some("^https?://[^\\s]+$")),
            "URL of Prometheus, for `keda`.",
        ),
        optional(
            "metrics",
            Kind::OneOf(METRICS),
            "Adapter that serves pod metrics for `hpa`, which determines their names: \
                `prometheus-adapter` (default), or `gke` for Google Cloud Managed Service for \
                Prometheus.",
        ),
        optional(
            "metric",
            Kind::String(Some("^[^\\s\"'\\\\]+$")),
            "Name of the pod metric for `hpa`, if the adapter renames it. Default: by `metrics`.",
        ),
    ],
};

/// `[[serving]]`
pub static SERVING: Table = Table {
    header: "[[serving]]",
    doc: "A model to serve: one chart with the engine, the endpoint picker, the InferencePool and \
        the route.",
    exactly_one_of: &[],
    keys: &[
        required(
            "name",
            Kind::String(Some(NAME)),
            "Name of the chart and of the pool: lower-case letters, digits and dashes, starting \
                with a letter, at most 40 characters.",
        ),
        required(
            "model",
            Kind::String(Some("^(hf|oci|pvc|s3)://[^\\s]+$")),
            "Source of the model: `hf://ORGANISATION/NAME`, `oci://IMAGE` with the files in \
                /models, `pvc://CLAIM/FOLDER`, or `s3://BUCKET/FOLDER`.",
        ),
        optional(
            "served-name",
            Kind::String(Some("^[^\\s\"'\\\\]+$")),
            "Model name in requests. Default: `ORGANISATION/NAME` for hf, else `name`.",
        ),
        optional(
            "api",
            Kind::OneOf(profile::NAMES),
            "API profile: API versions, flags and images. Default: the newest.",
        ),
        optional(
            "allow-tags",
            Kind::Boolean,
            "Allow images in this table to be pinned by tag only, although tags can move. Default: \
                false.",
        ),
        optional(
            "form",
            Kind::OneOf(FORMS),
            "`llm-d` (default): plain objects; `kserve`: an LLMInferenceService, from which KServe \
                creates the rest.",
        ),
        optional(
            "chart-version",
            Kind::String(Some(
                "^(0|[1-9][0-9]*)\\.(0|[1-9][0-9]*)\\.(0|[1-9][0-9]*)(-[0-9A-Za-z.-]+)?(\\+[0-9A-Za-z.-]+)?$",
            )),
            "Version of the chart. Default: 0.1.0.",
        ),
        optional(
            "namespace",
            Kind::String(Some(NAMESPACE)),
            "Suggested namespace in the chart's README and NOTES. Default: `models`.",
        ),
        optional(
            "pull-secret",
            Kind::StringOrFalse(SECRET),
            "Name of the image pull secret of all pods. Default: none. A value of the chart.",
        ),
        optional("maintainers", Kind::Tables(&MAINTAINER), MAINTAINER.doc),
        optional(
            "depends-on",
            Kind::Strings(Some(NAME)),
            "Names of bundles and models in this file that must be installed before this one, such \
                as the LeaderWorkerSet operator.",
        ),
        required("engine", Kind::Table(&ENGINE), ENGINE.doc),
        optional("pod", Kind::Table(&POD), POD.doc),
        optional("labels", Kind::Object, "Additional labels of all objects."),
        optional(
            "service-account-annotations",
            Kind::Object,
            "Annotations of the engine's ServiceAccount, for cloud identities. A value of the chart.",
        ),
        optional(
            "queue",
            Kind::String(Some(NAMESPACE)),
            "LocalQueue of Kueue that admits the engine pods. Default: none.",
        ),
        optional("cache", Kind::Table(&CACHE), CACHE.doc),
        optional(
            "adapters",
            Kind::Objects,
            "LoRA adapters: `{ name = \"…\", source = \"hf://ORGANISATION/NAME\" }`, or a source \
                `pvc://CLAIM/FOLDER`. Requests select them by name; with SGLang by \
                `MODEL:NAME`.",
        ),
        optional(
            "adapter-rank",
            Kind::Integer(1, 512),
            "Maximum rank of the adapters. Default: the engine's, 16.",
        )
        .with(&["adapters"]),
        optional("tracing", Kind::Table(&TRACING), TRACING.doc),
        optional("accelerator", Kind::Table(&ACCELERATOR), ACCELERATOR.doc),
        optional("topology", Kind::OneOf(TOPOLOGIES), TOPOLOGY),
        optional("replicas", Kind::Integer(0, 10_000), REPLICAS),
        optional("nodes", Kind::Integer(1, 1_000), NODES),
        optional("tp", Kind::Integer(1, 1_024), TP),
        optional("pp", Kind::Integer(1, 1_024), PP),
        optional("dp", Kind::Integer(1, 8_192), DP),
        optional("expert-parallel", Kind::Boolean, EXPERT),
        optional("prefill", Kind::Table(&PREFILL), PREFILL.doc),
        optional(
            "disaggregated-set",
            Kind::Boolean,
            "Deploy prefill and decode as one DisaggregatedSet, which rolls out together. Default: \
                false.",
        )
        .with(&["prefill"]),
        optional("epp", Kind::Table(&EPP), EPP.doc),
        optional("route", Kind::Table(&ROUTE), ROUTE.doc),
        optional("maas", Kind::Table(&maas::keys::MODEL), maas::keys::MODEL.doc),
        optional(
            "objectives",
            Kind::Object,
            "InferenceObjectives: name and priority (an integer).",
        ),
        optional(
            "rewrites",
            Kind::Objects,
            "Model aliases: `{ model = \"…\", targets = [{ model = \"…\", weight = 1 }] }`.",
        ),
        optional("monitoring", Kind::Table(&MONITORING), MONITORING.doc),
        optional("network-policy", Kind::Table(&NETWORK_POLICY), NETWORK_POLICY.doc),
        optional("autoscaling", Kind::Table(&AUTOSCALING), AUTOSCALING.doc),
        optional(
            "disruption-budget",
            Kind::Integer(1, 1_000),
            "Maximum number of evicted pods at a time, as PodDisruptionBudgets. Default: no \
                budgets.",
        ),
        optional("patch", Kind::Tables(&SERVING_PATCH), SERVING_PATCH.doc),
    ],
};
