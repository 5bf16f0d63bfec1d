//! The configuration of models: tables of bundles.toml come in, checked types go out.
//!
//! `[[serving]]` is read by [`read`], `[chart.maas]` and `maas` by [`maas`]. [`keys`] has the tables of
//! their keys. They use the reader of `config`, which calls them for its tables.

pub mod accelerators;
pub mod keys;
pub mod maas;
pub mod profile;
mod read;

pub(crate) use maas::references::resolve;
pub(crate) use read::read;

use crate::diag::Span;
use crate::{Maintainer, PatchConfig};
use accelerators::{Rdma, Tpu};
use maas::MaasModel;
use profile::Profile;
use serde_json::{Map as JsonMap, Value as Json};
use std::collections::BTreeMap;

/// The source of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Model {
    /// Hugging Face: `ORGANISATION/NAME`.
    HuggingFace(String),
    /// An image with the files in its directory /models.
    Image(String),
    /// A PersistentVolumeClaim, and a directory in it (may be empty).
    Claim(String, String),
    /// `s3://…`, read by the engine itself.
    Bucket(String),
}

/// The topology of an engine: the distribution over pods.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Topology {
    /// A replica is one pod.
    #[default]
    Single,
    /// Groups; vLLM's own processes.
    Mp,
    /// Groups; Ray.
    Ray,
    /// Groups; ranks behind the leader's port.
    DpInternal,
    /// Groups; ranks of a pod behind its port.
    DpHybrid,
    /// Groups; each rank has a port.
    DpExternal,
}

/// Pods of one role.
#[derive(Clone, Debug, PartialEq)]
pub struct Shape {
    /// The topology.
    pub topology: Topology,
    /// Pods, or groups.
    pub replicas: u32,
    /// Pods of a group.
    pub nodes: u32,
    /// Tensor parallelism.
    pub tp: u32,
    /// Pipeline parallelism.
    pub pp: u32,
    /// Data parallelism, over the pods of a group.
    pub dp: u32,
    /// True if experts are distributed over all ranks.
    pub expert_parallel: bool,
    /// More arguments of the engine.
    pub args: Vec<String>,
    /// Requests and limits without accelerators.
    pub resources: Option<Json>,
}

/// `engine.kind`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EngineKind {
    /// vLLM.
    #[default]
    Vllm,
    /// SGLang.
    Sglang,
}

/// `engine`
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EngineConfig {
    /// The program in the image.
    pub kind: EngineKind,
    /// Reference of the image.
    pub image: String,
    /// Variables.
    pub env: Vec<Json>,
    /// Size of /dev/shm.
    pub shared_memory: Option<String>,
    /// Secret with HF_TOKEN.
    pub token_secret: Option<String>,
    /// Linux capabilities.
    pub capabilities: Vec<String>,
    /// Minutes that loading may take.
    pub startup_minutes: u32,
    /// Labels of nodes.
    pub node_selector: Option<Json>,
    /// Tolerations.
    pub tolerations: Vec<Json>,
    /// GiB of CPU memory for KV caches.
    pub kv_offload: Option<u32>,
}

/// `pod`: fields of the Kubernetes API by key of bundles.toml.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PodFields(pub BTreeMap<&'static str, Json>);

/// `cache`
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cache {
    /// An existing claim.
    Claim(String),
    /// A claim that the chart creates.
    Created {
        /// Requested storage.
        size: String,
        /// Storage class; the cluster's default if missing.
        storage_class: Option<String>,
        /// `ReadWriteMany` or `ReadWriteOnce`.
        access_mode: String,
    },
}

/// The source of a LoRA adapter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AdapterSource {
    /// Hugging Face: `ORGANISATION/NAME`.
    HuggingFace(String),
    /// A PersistentVolumeClaim, and a directory in it (may be empty).
    Claim(String, String),
}

/// An item of `adapters`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Adapter {
    /// The model name in requests.
    pub name: String,
    /// Its source.
    pub source: AdapterSource,
}

/// `tracing`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tracing {
    /// URL of the collector.
    pub endpoint: String,
    /// Percentage of requests.
    pub percent: u32,
}

/// `accelerator`
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Accelerator {
    /// Name of the resource; none for CPUs.
    pub resource: Option<&'static str>,
    /// Units of the device resource per pod; default: the number that its ranks need.
    pub per_node: Option<u32>,
    /// Devices in a unit.
    pub devices_per_unit: u32,
    /// The TPU generation, for node selectors.
    pub tpu: Option<&'static Tpu>,
    /// The network for transfers between pods.
    pub rdma: Option<&'static Rdma>,
    /// A ResourceClaimTemplate in place of the device resource.
    pub claim_template: Option<String>,
}

/// `epp`
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PickerConfig {
    /// Name of a preset.
    pub preset: Option<String>,
    /// A configuration custom.
    pub config: Option<Json>,
    /// Image.
    pub image: Option<String>,
    /// Pods.
    pub replicas: u32,
    /// `FailOpen` or `FailClose`.
    pub failure_mode: String,
    /// More flags.
    pub flags: JsonMap<String, Json>,
    /// Requests and limits.
    pub resources: Option<Json>,
    /// Image of the tokenizer.
    pub tokenizer_image: Option<String>,
    /// Additional fields of the pods.
    pub pod: PodFields,
}

/// `route`
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RouteConfig {
    /// Name of the Gateway.
    pub gateway: String,
    /// Namespace of the Gateway; the release namespace if missing.
    pub gateway_namespace: Option<String>,
    /// Class of the Gateway, if the chart creates it.
    pub gateway_class: Option<String>,
    /// `none`, `istio` or `gke`.
    pub provider: String,
    /// Host names.
    pub hosts: Vec<String>,
    /// Prefixes of paths, never empty.
    pub paths: Vec<String>,
    /// Header with the model's name.
    pub model_header: Option<String>,
    /// A duration of the Gateway API.
    pub request_timeout: String,
    /// True if an AuthPolicy requires a token.
    pub auth: bool,
}

/// `monitoring`
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Monitoring {
    /// A duration of Prometheus.
    pub interval: String,
    /// Labels of the monitors.
    pub labels: JsonMap<String, Json>,
}

/// `network-policy`
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NetworkPolicy {
    /// Namespaces of Gateways' pods; that of the release when empty.
    pub gateways: Vec<String>,
    /// Namespaces of Prometheus.
    pub monitoring: Vec<String>,
}

/// `autoscaling`
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Autoscaling {
    /// True for a KEDA ScaledObject, false for a HorizontalPodAutoscaler.
    pub keda: bool,
    /// Least replicas.
    pub min: u32,
    /// Most replicas.
    pub max: u32,
    /// Waiting requests for each replica.
    pub waiting: u32,
    /// Address of Prometheus.
    pub prometheus: Option<String>,
    /// True if pod metrics have the names of Google Cloud Managed Service for Prometheus.
    pub gke: bool,
    /// Name of the pod metric.
    pub metric: Option<String>,
}

/// `[[serving]]`
#[derive(Clone, Debug)]
pub struct ServingConfig {
    /// Name of the chart and the pool.
    pub name: String,
    /// The source of the model.
    pub model: Model,
    /// The model name in requests.
    pub served_name: String,
    /// Versions of APIs.
    pub profile: &'static Profile,
    /// True for an LLMInferenceService.
    pub kserve: bool,
    /// True if images can be pinned by tag only.
    pub allow_tags: bool,
    /// Version of the chart.
    pub chart_version: semver::Version,
    /// Namespace for texts.
    pub namespace: String,
    /// Maintainers of the chart.
    pub maintainers: Vec<Maintainer>,
    /// Pull secret of all pods.
    pub pull_secret: Option<String>,
    /// The model server.
    pub engine: EngineConfig,
    /// Additional fields of the engine pods.
    pub pod: PodFields,
    /// Additional labels of all objects.
    pub labels: JsonMap<String, Json>,
    /// Annotations of the engine's ServiceAccount.
    pub service_account_annotations: JsonMap<String, Json>,
    /// Kueue's LocalQueue.
    pub queue: Option<String>,
    /// Volume for downloaded models.
    pub cache: Option<Cache>,
    /// LoRA adapters.
    pub adapters: Vec<Adapter>,
    /// Maximum rank of the adapters.
    pub adapter_rank: Option<u32>,
    /// Traces.
    pub tracing: Option<Tracing>,
    /// Changes of the objects.
    pub patches: Vec<PatchConfig>,
    /// The accelerator.
    pub accelerator: Accelerator,
    /// The pods that answer.
    pub decode: Shape,
    /// The pods that only read prompts.
    pub prefill: Option<Shape>,
    /// Image of the routing sidecar.
    pub sidecar_image: Option<String>,
    /// True if prefill and decode are one DisaggregatedSet.
    pub disaggregated_set: bool,
    /// The endpoint picker.
    pub epp: PickerConfig,
    /// The route.
    pub route: Option<RouteConfig>,
    /// Access and limits of models as a service.
    pub maas: Option<MaasModel>,
    /// Priorities by name.
    pub objectives: BTreeMap<String, i64>,
    /// Rewrites of names, as in the API.
    pub rewrites: Vec<(String, Vec<(String, u32)>)>,
    /// Monitors.
    pub monitoring: Option<Monitoring>,
    /// Network policies.
    pub network_policy: Option<NetworkPolicy>,
    /// Autoscaling of the decoding pods.
    pub autoscaling: Option<Autoscaling>,
    /// Pods that may be evicted at a time.
    pub disruption_budget: Option<u32>,
    /// Bundles and models that must be ready before this one.
    pub depends_on: Vec<String>,
    /// The table's header.
    pub span: Span,
    /// The span of each key, by its path such as `engine.args`.
    pub spans: BTreeMap<String, Span>,
}

impl ServingConfig {
    /// Returns the span of a key, or of the nearest table around it.
    pub fn place(&self, key: &str) -> &Span {
        let mut key = key;
        loop {
            if let Some(span) = self.spans.get(key) {
                return span;
            }
            match key.rsplit_once('.') {
                Some((table, _)) => key = table,
                None => return &self.span,
            }
        }
    }

    /// Returns the span of a key of the table, if the key is set.
    pub fn written(&self, key: &str) -> Option<&Span> {
        self.spans.get(key)
    }
}
