//! `[[serving]]`: a model, and `[chart.maas]` and `maas`: models as a service.

pub mod accelerators;
pub mod engine;
pub mod maas;
pub mod picker;
pub mod pods;
pub mod profile;
pub mod traffic;

pub use engine::{Accelerator, EngineConfig, EngineKind, EnginePreset, Shape, Topology};
pub(crate) use maas::references::resolve;
pub use picker::{FailureMode, PickerConfig, Preset};
pub use pods::{AccessMode, Adapter, Cache, PodFields, PodTable, Tracing};
pub use traffic::{Autoscaling, GatewayProvider, Monitoring, NetworkPolicy, RouteConfig};

// What most of the tables of models speak of.
use super::*;
use crate::declare::{Derived, Flat, Header, OrEmpty, choices, table, words};
use crate::forms::{
    ChartVersion, Integer, Label, Listed, NAMESPACE_LIMIT, Name, Namespace, ObjectName, PullSecret,
    Reference, Rule, Word, patterns,
};
use crate::ir::label_fault;
use crate::kubernetes::{Api, ApiList, TextMap};
use engine::PrefillTable;
use k8s_openapi::api::core::v1::ResourceRequirements;
use maas::MaasModel;
use picker::{Objectives, Rewrite};
use pods::Labels;
use profile::ProfileName;
use traffic::MetricName;

table! {
    /// A model to serve: one chart with the engine, the endpoint picker, the InferencePool and the
    /// route.
    pub struct ServingConfig at "[[serving]]", checked by complete {
        /// Name of the chart and of the pool: lower-case letters, digits and dashes, starting with a
        /// letter, at most 40 characters.
        name: ModelName;
        /// Source of the model: `hf://ORGANISATION/NAME`, `oci://IMAGE` with the files in /models,
        /// `pvc://CLAIM/FOLDER`, or `s3://BUCKET/FOLDER`.
        model: Model;
        /// Model name in requests. Default: `ORGANISATION/NAME` for hf, else `name`.
        served_name: MetricName = String::new();
        /// API profile: API versions, flags and images. Default: the newest.
        profile as "api": ProfileName;
        /// Allow images in this table to be pinned by tag only, although tags can move. Default:
        /// false.
        allow_tags: bool;
        /// `llm-d` (default): plain objects; `kserve`: an LLMInferenceService, from which KServe
        /// creates the rest.
        kserve as "form": KserveForm;
        /// Version of the chart. Default: 0.1.0.
        chart_version: ChartVersion = semver::Version::new(0, 1, 0);
        /// Suggested namespace in the chart's README and NOTES. Default: `models`.
        namespace: Namespace = "models".to_owned();
        /// Name of the image pull secret of all pods. Default: none. A value of the chart.
        pull_secret: PullSecret = None;
        maintainers: Vec<Maintainer>;
        /// Names of bundles and models in this file that must be installed before this one, such as
        /// the LeaderWorkerSet operator.
        depends_on: Vec<Listed>;
        engine: EngineConfig;
        pod: OrEmpty<PodTable>;
        /// Additional labels of all objects.
        labels: Labels = Default::default();
        /// Annotations of the engine's ServiceAccount, for cloud identities. A value of the chart.
        service_account_annotations: TextMap = Default::default();
        /// LocalQueue of Kueue that admits the engine pods. Default: none.
        queue: Option<Namespace>;
        cache: Option<Cache>;
        /// LoRA adapters: `{ name = "…", source = "hf://ORGANISATION/NAME" }`, or a source
        /// `pvc://CLAIM/FOLDER`. Requests select them by name; with SGLang by `MODEL:NAME`.
        adapters: Vec<Adapter>;
        /// Maximum rank of the adapters. Default: the engine's, 16.
        adapter_rank: Option<Integer<1, 512>>, needs ["adapters"];
        tracing: Option<Tracing>;
        accelerator: OrEmpty<Accelerator>;
        /// The pods that answer.
        decode: Flat<Shape>;
        prefill: Option<PrefillTable>;
        /// Deploy prefill and decode as one DisaggregatedSet, which rolls out together. Default:
        /// false.
        disaggregated_set: bool, needs ["prefill"];
        epp: OrEmpty<PickerConfig>;
        route: Option<RouteConfig>;
        maas: Option<MaasModel>;
        /// InferenceObjectives: name and priority (an integer).
        objectives: Objectives = Default::default();
        /// Model aliases: `{ model = "…", targets = [{ model = "…", weight = 1 }] }`.
        rewrites: Vec<Rewrite>;
        monitoring: Option<Monitoring>;
        network_policy: Option<NetworkPolicy>;
        autoscaling: Option<Autoscaling>;
        /// Maximum number of evicted pods at a time, as PodDisruptionBudgets. Default: no budgets.
        disruption_budget: Option<Integer<1, 1_000>>;
        patches as "patch": Vec<ServingPatch>;
        /// The table's header.
        span: Header;
        /// The span of each key, by its path such as `engine.args`.
        spans: KeySpans;
    }
}

table! {
    /// A change to the objects of the chart. The changed objects are checked like all others.
    pub struct ServingPatch at "[[serving.patch]]", checked by serving_patch as PatchConfig {
        /// Its keys.
        keys: Flat<PatchConfig>;
    }
}

words! {
    /// True for an LLMInferenceService.
    KserveForm: bool = "llm-d" => false, "kserve" => true;
}

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

fn serving_patch(table: ServingPatch, _: &mut Reader<'_>, _: &Fields<'_>) -> Option<PatchConfig> {
    Some(table.keys)
}

/// Completes a model from its other keys and `[defaults]`, and checks its keys together.
fn complete(model: &mut ServingConfig, reader: &mut Reader<'_>, fields: &Fields<'_>) {
    if !fields.has("served-name") {
        // vLLM's default is its `--model`, which for other sources would be a path in the pod.
        model.served_name = match &model.model {
            Model::HuggingFace(repository) => repository.clone(),
            _ => model.name.clone(),
        };
    }
    if !fields.has("pull-secret") {
        model.pull_secret = reader.defaults.settings.pull_secret.clone().flatten();
    }
    if !fields.has("maintainers") {
        model.maintainers = reader.defaults.settings.maintainers.clone().unwrap_or_default();
    }

    // Charts read both roles as shapes, so that they need not know which one is in `engine`.
    model.decode.args.clone_from(&model.engine.args);
    model.decode.resources.clone_from(&model.engine.resources);
    if let Some(prefill) = &mut model.prefill {
        // By their spans: a default cannot be told from the same value in the file.
        let written = |key: &str| model.spans.contains_key(&format!("prefill.{key}"));
        if !written("topology") {
            prefill.topology = model.decode.topology;
        }
        if !written("args") {
            prefill.args.clone_from(&model.decode.args);
        }
        if !written("resources") {
            prefill.resources.clone_from(&model.decode.resources);
        }
    }

    let own_gateways = model.spans.contains_key("network-policy.gateway-namespaces");
    if let (Some(policy), Some(route)) = (&mut model.network_policy, &model.route)
        && !own_gateways
    {
        policy.gateways.extend(route.gateway_namespace.clone());
    }
    // After completion, so that rules see what charts are built from.
    check_policy(model, reader);
    check_autoscaling(model, reader);
    check_adapters(model, reader);
    check_resources(model, reader);
    if let Some(maas) = &model.maas {
        maas::check(reader, model, maas);
    }
}

fn check_policy(model: &ServingConfig, reader: &mut Reader<'_>) {
    let Some(policy) = &model.network_policy else { return };
    let place = model.place("network-policy");
    if model.route.as_ref().is_some_and(|route| route.provider == GatewayProvider::Gke) {
        let message = "a NetworkPolicy cannot allow GKE Gateways, because they have no pods";
        let hint = "remove `network-policy`, or write one by hand for the IP ranges of your load \
            balancers";
        reader.found.error(Code::InvalidValue, place, message, hint);
    }
    // Autoscalers read metrics that Prometheus scrapes, also without `monitoring`.
    let is_scraped = model.monitoring.is_some() || model.written("autoscaling").is_some();
    if policy.monitoring.is_empty() && is_scraped {
        let message = "this NetworkPolicy blocks Prometheus, which `monitoring` and `autoscaling` \
            need";
        let hint = "add its namespace: `monitoring-namespaces = [\"monitoring\"]`";
        reader.found.error(Code::InvalidValue, place, message, hint);
    }
}

fn check_autoscaling(model: &ServingConfig, reader: &mut Reader<'_>) {
    let Some(scaling) = &model.autoscaling else { return };
    // With KServe, its controller has the URL of Prometheus.
    if scaling.keda && scaling.prometheus.is_none() && !model.kserve {
        let hint = "add it: `prometheus = \"http://prometheus.monitoring:9090\"`";
        let message = "`keda` requires the URL of Prometheus";
        reader.found.error(Code::MissingKey, model.place("autoscaling"), message, hint);
    }
}

/// Reports devices among the resources of engines: their number follows from the topology.
fn check_resources(model: &ServingConfig, reader: &mut Reader<'_>) {
    let own =
        [("engine.resources", Some(&model.decode)), ("prefill.resources", model.prefill.as_ref())];
    for (key, shape) in own.into_iter().filter(|(key, _)| model.written(key).is_some()) {
        let resources = shape.and_then(|shape| shape.resources.as_ref());
        let groups = || ["requests", "limits"].iter().filter_map(|key| resources?.get(key));
        let has = |name: &&str| groups().any(|group| group.get(*name).is_some());
        let accelerator = &model.accelerator;
        let devices = [accelerator.resource, accelerator.rdma.map(|rdma| rdma.resource)];
        for name in devices.into_iter().flatten().filter(has) {
            let message = format!("`{key}` has `{name}`, whose number follows from the topology");
            let hint = "remove it: `per-node` and `rdma-devices` of `accelerator` set the numbers \
                for a pod";
            reader.found.error(Code::InvalidValue, model.place(key), message, hint);
        }
    }
}

fn check_adapters(model: &ServingConfig, reader: &mut Reader<'_>) {
    for (index, adapter) in model.adapters.iter().enumerate() {
        let earlier = model.adapters.iter().take(index).map(|adapter| &adapter.name);
        // Requests select both by the same field, `model`.
        if earlier.chain([&model.served_name]).any(|name| *name == adapter.name) {
            let message = format!("the model name `{}` is used twice", adapter.name);
            let hint = "give each adapter a name that differs from `served-name`";
            reader.found.error(Code::InvalidValue, model.place("adapters"), message, hint);
        }
    }
}

/// The name of a model: `NAME-prefill-0-99` and what LeaderWorkerSets add to it must stay a DNS label
/// of 63 characters.
pub struct ModelName;

impl Rule for ModelName {
    const PATTERN: Option<&'static str> = Name::PATTERN;

    fn fault(key: &Key, text: &str) -> Option<(String, String)> {
        /// Longest name.
        const LIMIT: usize = 40;
        // LeaderWorkerSets are named like Services (RFC 1035): their webhook has
        // `NameIsDNS1035Label`.
        let letter = text.starts_with(|c: char| c.is_ascii_lowercase());
        let message = format!("`{text}` is not a valid name for a model");
        let hint = format!(
            "start with a letter and use at most {LIMIT} characters: the names of LeaderWorkerSets \
                and their pods must be DNS labels"
        );
        let own = text.len() > LIMIT || !letter;
        Name::fault(key, text).or_else(|| own.then_some((message, hint)))
    }
}

impl Form for Model {
    type Value = Model;
    const KIND: Kind = Kind::String(Some("^(hf|oci|pvc|s3)://[^\\s]+$"));

    fn read(reader: &mut Reader<'_>, _: &Key, value: &Node<'_>) -> Option<Model> {
        let text = value.get_ref().as_str()?;
        let found = source(text);
        if found.is_none() {
            let message = format!("invalid model source `{text}`");
            let hint = "write `hf://ORGANISATION/NAME`, `oci://IMAGE`, `pvc://CLAIM/FOLDER` or \
                `s3://BUCKET/FOLDER`";
            reader.error(Code::InvalidValue, &value.span(), message, hint);
        }
        found
    }
}

/// Returns the source of a model that a text names.
fn source(text: &str) -> Option<Model> {
    let rest = |scheme: &str| text.strip_prefix(scheme).filter(|rest| !rest.is_empty());
    if text.contains(char::is_whitespace) {
        None
    } else if let Some(rest) = rest("hf://") {
        let parts: Vec<&str> = rest.split('/').collect();
        let whole = parts.len() == 2 && parts.iter().all(|part| !part.is_empty());
        whole.then(|| Model::HuggingFace(rest.to_owned()))
    } else if let Some(rest) = rest("oci://") {
        Some(Model::Image(rest.to_owned()))
    } else if let Some(rest) = rest("pvc://") {
        let (claim, folder) = rest.split_once('/').unwrap_or((rest, ""));
        // `..` would lead out of the volume, which is mounted at `/mnt/model`.
        let inside = !folder.split('/').any(|part| part == "..");
        (inside && !claim.is_empty()).then(|| Model::Claim(claim.to_owned(), folder.to_owned()))
    } else {
        rest("s3://").map(|_| Model::Bucket(text.to_owned()))
    }
}

/// No key: the spans of all keys, by their paths; items of lists of tables have their numbers.
pub struct KeySpans;

impl Form for KeySpans {
    type Value = BTreeMap<String, Span>;

    fn keys() -> Option<&'static [Key]> {
        Some(&[])
    }

    fn find(reader: &mut Reader<'_>, fields: &Fields<'_>, _: &str) -> Option<Self::Value> {
        let mut spans = BTreeMap::new();
        for (key, value) in fields.all() {
            note(reader, &key.name, (key, value), &mut spans);
        }
        Some(spans)
    }
}

/// Notes the span of a value at `path`, and of those in it.
fn note(
    reader: &Reader<'_>,
    path: &str,
    (key, value): (&Key, &Node<'_>),
    spans: &mut BTreeMap<String, Span>,
) {
    spans.insert(path.to_owned(), reader.span(value.span()));
    let Some(table) = key.kind.table() else { return };
    let whole = value.get_ref().as_table().map(|tree| (path.to_owned(), tree));
    let listed = items(value).filter_map(|item| item.get_ref().as_table()).enumerate();
    let listed = listed.map(|(number, tree)| (format!("{path}.{number}"), tree));
    for (path, tree) in whole.into_iter().chain(listed) {
        for (name, value) in tree {
            if let Some(key) = table.key(name.get_ref()) {
                note(reader, &format!("{path}.{}", key.name), (key, value), spans);
            }
        }
    }
}

impl ServingConfig {
    /// Returns the span of a key, or of the nearest table around it.
    pub fn place(&self, key: &str) -> &Span {
        // Keys that are not written have no span, such as those with defaults.
        let mut keys = std::iter::successors(Some(key), |key| Some(key.rsplit_once('.')?.0));
        keys.find_map(|key| self.spans.get(key)).unwrap_or(&self.span)
    }

    /// Returns the span of a key of the table, if the key is set.
    pub fn written(&self, key: &str) -> Option<&Span> {
        self.spans.get(key)
    }
}
