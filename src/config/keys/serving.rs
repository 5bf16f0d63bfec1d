//! The keys of `[[serving]]`.

use super::{Kind, NAME, NAMESPACE, SECRET, Table, optional, required};
use crate::config::serving::profile;

/// Values of `topology`, the default first.
pub(crate) const TOPOLOGIES: &[&str] =
    &["single", "lws-mp", "lws-ray", "lws-dp-internal", "lws-dp-hybrid", "lws-dp-external"];
/// Values of `vendor`, the default first.
pub(crate) const VENDORS: &[&str] = &["nvidia", "amd", "intel", "gaudi", "tpu", "none"];
/// Values of `form`, the default first.
pub(crate) const FORMS: &[&str] = &["llm-d", "kserve"];
/// Values of `failure-mode`, the default first.
pub(crate) const FAILURE_MODES: &[&str] = &["FailOpen", "FailClose"];
/// Values of `preset`, the default first.
pub(crate) const PRESETS: &[&str] =
    &["default", "aggregated", "payload-agnostic", "prefill-decode"];
/// Values of `provider`, the default first.
pub(crate) const PROVIDERS: &[&str] = &["none", "istio", "gke"];
/// Values of `auth`, the default first.
pub(crate) const AUTHS: &[&str] = &["none", "kuadrant"];
/// Values of `autoscaling.kind`, the default first.
pub(crate) const AUTOSCALERS: &[&str] = &["hpa", "keda"];

const IMAGE: &str = "^[^\\s:/][^\\s]*$";
const HOST: &str = "^(\\*\\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";
const ARGS: &str = "More arguments of the engine, each one item. What other keys decide (model, \
    ports, parallelism) does not belong here.";
const RESOURCES: &str = "Requests and limits of the engine's container besides accelerators, as in \
    the Kubernetes API. A value of the chart.";
const TOPOLOGY: &str = "How the engine is spread. `single` (default): each replica is one pod. The \
    others are LeaderWorkerSets whose groups have `nodes` pods: `lws-mp`: tensor and pipeline \
    parallelism with vLLM's own processes; `lws-ray`: the same with Ray, for images that have it, \
    which vLLM's own have not since 0.19; `lws-dp-internal`: data parallelism behind the leader's \
    one port; `lws-dp-hybrid`: data parallelism, one port a pod; `lws-dp-external`: data \
    parallelism, one port a rank, as InferencePools with several ports need, with at least two \
    ranks in a pod. vLLM takes the last one for mixtures of experts only.";
const REPLICAS: &str =
    "How many pods, or groups of pods, there are. A value of the chart. Default: 1.";
const NODES: &str = "Pods of a group, each on a node of its own. Default: 1.";
const TP: &str = "Tensor parallelism: devices that share each layer. Default: 1.";
const PP: &str = "Pipeline parallelism: stages of layers. Default: 1.";
const DP: &str = "Data parallelism: ranks of a replica, over all of its pods. Default: 1.";
const EXPERT: &str = "Whether experts are spread over all ranks. Default: false.";

/// `engine`
pub static ENGINE: Table = Table {
    header: "engine",
    doc: "The model server, which is vLLM.",
    exactly_one_of: &[],
    keys: &[
        required(
            "image",
            Kind::String(Some(IMAGE)),
            "Its image, with version and digest: `vllm/vllm-openai:v0.23.0@sha256:…`. A value of \
             the chart.",
        ),
        optional("args", Kind::Strings(None), ARGS),
        optional("env", Kind::Objects, "Variables of the engine's container."),
        optional("resources", Kind::Object, RESOURCES),
        optional(
            "shared-memory",
            Kind::String(Some("^[0-9]+(Mi|Gi)$")),
            "Size of /dev/shm. Default: `2Gi`, and none on TPUs and CPUs.",
        ),
        optional(
            "token-secret",
            Kind::String(Some(SECRET)),
            "A Secret with the key HF_TOKEN, for models that need one.",
        ),
        optional(
            "capabilities",
            Kind::Strings(Some("^[A-Z_]+$")),
            "Linux capabilities of the engine, such as IPC_LOCK for RDMA. Default: none.",
        ),
        optional(
            "startup-minutes",
            Kind::Integer(1, 1440),
            "How long loading the model may take. Default: 60.",
        ),
        optional("node-selector", Kind::Object, "Labels of nodes. A value of the chart."),
        optional("tolerations", Kind::Objects, "Tolerations. A value of the chart."),
    ],
};

/// `accelerator`
pub static ACCELERATOR: Table = Table {
    header: "accelerator",
    doc: "What the engine computes on.",
    exactly_one_of: &[],
    keys: &[
        optional(
            "vendor",
            Kind::OneOf(VENDORS),
            "Whose resource is asked for: `nvidia` (default), `amd`, `intel`, `gaudi`, `tpu`, or \
             `none` for CPUs.",
        ),
        optional(
            "per-node",
            Kind::Integer(1, 64),
            "How many of the resource a pod asks for. Default: what its ranks need.",
        ),
        optional(
            "devices-per-unit",
            Kind::Integer(1, 8),
            "Devices that a rank can use in one unit of the resource: 2 for TPU v7. Default: 1.",
        ),
    ],
};

/// `prefill`
pub static PREFILL: Table = Table {
    header: "prefill",
    doc: "Pods of their own for reading prompts. Those of the table above then only write answers, \
        behind a routing sidecar.",
    exactly_one_of: &[],
    keys: &[
        optional(
            "topology",
            Kind::OneOf(TOPOLOGIES),
            "How the engine is spread, as above. Default: as the decoding pods.",
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
            "Arguments in place of those in `engine`. Default: the same.",
        ),
        optional(
            "resources",
            Kind::Object,
            "Requests and limits in place of those in `engine`. A value of the chart. Default: the \
             same.",
        ),
        optional(
            "sidecar-image",
            Kind::String(Some(IMAGE)),
            "Image of the routing sidecar. Default: that of the API profile, by tag.",
        ),
    ],
};

/// `epp`
pub static EPP: Table = Table {
    header: "epp",
    doc: "The endpoint picker, which finds the best pod for each request.",
    exactly_one_of: &[],
    keys: &[
        optional(
            "preset",
            Kind::OneOf(PRESETS),
            "Its configuration: `default`: queue, cache and prefix; `aggregated`: the same and new \
             prompts spread; `payload-agnostic`: for requests that cannot be parsed; \
             `prefill-decode`: for `prefill`, and the default there.",
        ),
        optional(
            "config",
            Kind::Object,
            "An EndpointPickerConfig of one's own, without apiVersion and kind.",
        ),
        optional(
            "image",
            Kind::String(Some(IMAGE)),
            "Its image. A value of the chart. Default: that of the API profile, by tag.",
        ),
        optional(
            "replicas",
            Kind::Integer(1, 9),
            "Its pods. With more than one, one works and the others wait. Default: 1.",
        ),
        optional(
            "failure-mode",
            Kind::OneOf(FAILURE_MODES),
            "What happens to requests while there is no picker: `FailOpen` (default): any pod gets \
             them; `FailClose`: they fail.",
        ),
        optional(
            "flags",
            Kind::Object,
            "More flags: a name without dashes, and a string, number or boolean.",
        ),
        optional("resources", Kind::Object, "Its requests and limits. A value of the chart."),
    ],
};

/// `route`
pub static ROUTE: Table = Table {
    header: "route",
    doc: "The way from a Gateway to the model.",
    exactly_one_of: &[],
    keys: &[
        required("gateway", Kind::String(Some(SECRET)), "Name of the Gateway."),
        optional(
            "gateway-namespace",
            Kind::String(Some(NAMESPACE)),
            "Its namespace. Default: that of the release.",
        ),
        optional(
            "gateway-class",
            Kind::String(Some(SECRET)),
            "Makes the Gateway, in the release namespace and of this class.",
        ),
        optional(
            "provider",
            Kind::OneOf(PROVIDERS),
            "Whose Gateway it is, for objects that only it has: `none` (default), `istio`, `gke`.",
        ),
        optional("hosts", Kind::Strings(Some(HOST)), "Host names. Default: any."),
        optional(
            "paths",
            Kind::Strings(Some("^/[^\\s?#]*$")),
            "Prefixes of paths. One that is not of the engine's API, such as `/team/chat`, is taken \
             off on the way, so that `/team/chat/v1/models` asks for `/v1/models`. Default: `/`.",
        ),
        optional(
            "model-header",
            Kind::String(Some("^[A-Za-z0-9!#$%&'*+.^_|~-]{1,256}$")),
            "A header that must have the model's name, where several models share host and path.",
        ),
        optional(
            "request-timeout",
            Kind::String(Some("^([0-9]{1,5}(h|m|s|ms)){1,4}$")),
            "How long an answer may take; `0s` is for ever. Default: `300s`.",
        ),
        optional(
            "auth",
            Kind::OneOf(AUTHS),
            "Who may send requests: `none` (default): anybody; `kuadrant`: whoever has a token of \
             the cluster, by an AuthPolicy.",
        ),
    ],
};

/// `monitoring`
pub static MONITORING: Table = Table {
    header: "monitoring",
    doc: "Objects of the Prometheus operator: a PodMonitor for engines, a ServiceMonitor for the \
        picker.",
    exactly_one_of: &[],
    keys: &[
        optional(
            "interval",
            Kind::String(Some("^[0-9]+(s|m)$")),
            "How often metrics are read. Default: `10s`.",
        ),
        optional("labels", Kind::Object, "Labels that the Prometheus looks for. Default: none."),
    ],
};

/// `network-policy`
pub static NETWORK_POLICY: Table = Table {
    header: "network-policy",
    doc: "Who may connect to the pods: Gateways, Prometheus, the picker, and the pods among \
        themselves.",
    exactly_one_of: &[],
    keys: &[
        optional(
            "gateway-namespaces",
            Kind::Strings(Some(NAMESPACE)),
            "Namespaces of the pods of Gateways. Default: `gateway-namespace` of `route`, else that \
             of the release.",
        ),
        optional(
            "monitoring-namespaces",
            Kind::Strings(Some(NAMESPACE)),
            "Namespaces of Prometheus, which `monitoring` and `autoscaling` need. Default: none.",
        ),
    ],
};

/// `autoscaling`
pub static AUTOSCALING: Table = Table {
    header: "autoscaling",
    doc: "More or fewer replicas by how many requests wait in an engine. With prefill, this is about \
        the decoding pods.",
    exactly_one_of: &[],
    keys: &[
        optional(
            "kind",
            Kind::OneOf(AUTOSCALERS),
            "`hpa` (default): a HorizontalPodAutoscaler on the pods' metric; `keda`: a ScaledObject \
             that asks Prometheus.",
        ),
        optional(
            "min",
            Kind::Integer(1, 10_000),
            "Least replicas. Without a pod nobody counts waiting requests, so that it cannot be 0. \
             Default: 1.",
        ),
        required("max", Kind::Integer(1, 10_000), "Most replicas."),
        optional(
            "waiting",
            Kind::Integer(1, 100_000),
            "Waiting requests for each replica. Default: 5.",
        ),
        optional(
            "prometheus",
            Kind::String(Some("^https?://[^\\s]+$")),
            "Address of Prometheus, for `keda`.",
        ),
    ],
};

/// `[[serving]]`
pub static SERVING: Table = Table {
    header: "[[serving]]",
    doc: "A model to serve: one chart with the engine, the endpoint picker, the InferencePool and \
        the route to it.",
    exactly_one_of: &[],
    keys: &[
        required(
            "name",
            Kind::String(Some(NAME)),
            "Name of the chart and of the pool: lower-case letters, digits and dashes, beginning \
             with a letter, at most 40 characters.",
        ),
        required(
            "model",
            Kind::String(Some("^(hf|oci|pvc|s3)://[^\\s]+$")),
            "Where the model is: `hf://ORGANISATION/NAME`, `oci://IMAGE` with the files in /models, \
             `pvc://CLAIM/FOLDER`, or `s3://BUCKET/FOLDER`.",
        ),
        optional(
            "served-name",
            Kind::String(Some("^[^\\s\"'\\\\]+$")),
            "What requests call the model. Default: `ORGANISATION/NAME` for hf, else `name`.",
        ),
        optional(
            "api",
            Kind::OneOf(profile::NAMES),
            "Which versions of the APIs, flags and images are used. Default: the newest.",
        ),
        optional(
            "allow-tags",
            Kind::Boolean,
            "Whether images of this table may be named by tag only, which may mean another image \
             tomorrow. Default: false.",
        ),
        optional(
            "form",
            Kind::OneOf(FORMS),
            "`llm-d` (default): plain objects; `kserve`: an LLMInferenceService, of which KServe \
             makes the rest.",
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
            "Namespace that the chart's texts suggest. Default: `models`.",
        ),
        optional(
            "pull-secret",
            Kind::StringOrFalse(SECRET),
            "Name of the pull secret of all pods. Default: none. A value of the chart.",
        ),
        optional(
            "depends-on",
            Kind::Strings(Some(NAME)),
            "Names of bundles and models in this file that must be installed before this one, such \
             as the operator of LeaderWorkerSets.",
        ),
        required("engine", Kind::Table(&ENGINE), ENGINE.doc),
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
            "Whether prefill and decode are one DisaggregatedSet, which is rolled out as one. \
             Default: false.",
        )
        .with(&["prefill"]),
        optional("epp", Kind::Table(&EPP), EPP.doc),
        optional("route", Kind::Table(&ROUTE), ROUTE.doc),
        optional(
            "objectives",
            Kind::Object,
            "InferenceObjectives: a name, and its priority, a whole number.",
        ),
        optional(
            "rewrites",
            Kind::Objects,
            "Other names of the model: `{ model = \"…\", targets = [{ model = \"…\", weight = 1 }] }`.",
        ),
        optional("monitoring", Kind::Table(&MONITORING), MONITORING.doc),
        optional("network-policy", Kind::Table(&NETWORK_POLICY), NETWORK_POLICY.doc),
        optional("autoscaling", Kind::Table(&AUTOSCALING), AUTOSCALING.doc),
        optional(
            "disruption-budget",
            Kind::Integer(1, 1_000),
            "Pods that may be evicted at a time, as PodDisruptionBudgets. Default: no budgets.",
        ),
    ],
};
