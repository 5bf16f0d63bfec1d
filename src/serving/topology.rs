//! Workloads of a shape: pods, servers and ports.

use super::view::can_be_several;
use super::*;
use config::serving::{AccessMode, Shape};

/// Port for requests; with one port per rank, the first of them.
pub(super) const SERVING_PORT: u16 = 8000;
/// Port of the engine behind a routing sidecar; with one port per rank, the first of them.
pub(super) const BEHIND_SIDECAR_PORT: u16 = 8200;
/// Port for the health of vLLM's multi-port supervisor.
pub(super) const SUPERVISOR_PORT: u16 = 8208;
/// Port for the coordination of data-parallel ranks.
pub(super) const RANKS_PORT: u16 = 5555;

/// Role of pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Role {
    /// Generates responses, alone or after prefill.
    Decode,
    /// Processes prompts only.
    Prefill,
}

impl Role {
    /// Returns the name for names and labels.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Role::Decode => "decode",
            Role::Prefill => "prefill",
        }
    }
}

/// Pods of one role.
#[derive(Clone, Copy, Debug)]
pub(super) struct Workload<'a> {
    /// The configuration of the model.
    pub(super) config: &'a ServingConfig,
    /// Role of the pods.
    pub(super) role: Role,
    /// Configured shape.
    pub(super) shape: &'a Shape,
    /// Data-parallel ranks per pod.
    pub(super) local_ranks: u32,
    /// True with prefill/decode disaggregation.
    pub(super) disaggregated: bool,
}

impl<'a> Workload<'a> {
    /// Returns the workloads of a model.
    pub(super) fn all(config: &'a ServingConfig) -> Vec<Workload<'a>> {
        let disaggregated = config.prefill.is_some();
        let workload = |role, shape: &'a Shape| {
            let local_ranks = (shape.dp / shape.nodes.max(1)).max(1);
            Workload { config, role, shape, local_ranks, disaggregated }
        };
        let prefill = config.prefill.iter().map(|shape| workload(Role::Prefill, shape));
        [workload(Role::Decode, &config.decode)].into_iter().chain(prefill).collect()
    }

    /// Returns true if replicas are groups of pods.
    pub(super) fn is_group(&self) -> bool {
        self.shape.topology != Topology::Single
    }

    /// Returns true if the ranks of data parallelism are in several pods.
    pub(super) fn has_ranks(&self) -> bool {
        let topology = self.shape.topology;
        matches!(topology, Topology::DpInternal | Topology::DpHybrid | Topology::DpExternal)
    }

    /// Returns the name of the workload's objects.
    pub(super) fn name(&self) -> String {
        format!("{}-{}", self.config.name, self.role.as_str())
    }

    /// Returns true if all pods of a group have a server, not only the leader.
    pub(super) fn workers_serve(&self) -> bool {
        // Hybrid and external balancing have an API server in each pod (vLLM, data parallel deployment).
        let topology = self.shape.topology;
        matches!(topology, Topology::Single | Topology::DpHybrid | Topology::DpExternal)
    }

    /// Returns true for decode pods next to prefill pods, whose engines have a routing sidecar.
    pub(super) fn only_decodes(&self) -> bool {
        self.disaggregated && self.role == Role::Decode
    }

    /// Returns the number of request ports of a pod with a server.
    pub(super) fn port_count(&self) -> u16 {
        match self.shape.topology {
            Topology::DpExternal => u16::try_from(self.local_ranks).unwrap_or(u16::MAX),
            _ => 1,
        }
    }

    /// Returns the ranks that have a request port each, and the names of the ports.
    pub(super) fn ports_by_rank(&self) -> impl Iterator<Item = (u16, String)> + use<> {
        // More ranks than a pool takes are an error already: the limit bounds what is written.
        let name = |rank| if rank == 0 { "engine".to_owned() } else { format!("rank-{rank}") };
        (0..self.port_count().min(64)).map(move |rank| (rank, name(rank)))
    }

    /// Returns the request ports of a pod with a server.
    pub(super) fn ports(&self) -> Vec<u16> {
        self.ports_by_rank().map(|(rank, _)| SERVING_PORT + rank).collect()
    }

    /// Returns the engine's first port.
    pub(super) fn engine_port(&self) -> u16 {
        if self.only_decodes() { BEHIND_SIDECAR_PORT } else { SERVING_PORT }
    }

    /// Returns the devices that the ranks of a pod use.
    pub(super) fn devices(&self) -> u32 {
        // The keys are checked one by one, so that their product may be too large for the type.
        let whole = self.shape.tp.saturating_mul(self.shape.pp).saturating_mul(self.shape.dp);
        whole.div_ceil(self.shape.nodes.max(1))
    }

    /// Returns the accelerator units that a pod requests.
    pub(super) fn units(&self) -> u32 {
        let accelerator = &self.config.accelerator;
        let needed = self.devices().div_ceil(accelerator.devices_per_unit.max(1));
        accelerator.per_node.unwrap_or(needed)
    }
}

/// Reports combinations of settings that have no effect or that an engine, a picker or the API profile
/// rejects.
pub(super) fn check(config: &ServingConfig, diagnostics: &mut Diagnostics) {
    let workloads = Workload::all(config);
    for workload in &workloads {
        check_shape(workload, diagnostics);
    }
    if config.autoscaling.is_some() && config.written("replicas").is_some() {
        let hint = "remove `replicas`, and use `min` of `autoscaling`";
        let message = "`replicas` and `autoscaling` are both set";
        diagnostics.error(Code::ServingAutoscaler, config.place("replicas"), message, hint);
    }
    let elects = config.epp.flags.get("ha-enable-leader-election");
    let no = |value: &Json| value == "false" || value.as_bool() == Some(false);
    let replicas = config.epp.replicas;
    if replicas > 1 && elects.is_some_and(no) && !can_be_several(&presets::config_of(config)) {
        let message = format!("{replicas} picker replicas without leader election");
        let hint = "remove the flag, or use one replica";
        diagnostics.error(Code::ServingPickerReplicas, config.place("epp.flags"), message, hint);
    }

    check_additions(config, diagnostics);
    model_server::check(config, diagnostics);

    let profile = config.profile;
    if config.prefill.is_some() && profile.sidecar_image.is_none() && !config.kserve {
        let message = format!("API profile {} does not support prefill", profile.name);
        let hint = "use a profile with a routing sidecar: `api = \"llm-d-0.10\"`";
        diagnostics.error(Code::ServingProfile, config.place("prefill"), message, hint);
    }
    // A role of a DisaggregatedSet is the spec of a LeaderWorkerSet.
    let place = config.place("disaggregated-set");
    if config.disaggregated_set && !workloads.iter().all(Workload::is_group) {
        let message = "DisaggregatedSet needs groups, but a role has single pods";
        let hint = "use a topology with groups for both roles, or remove `disaggregated-set`";
        diagnostics.error(Code::ServingGroupSize, place, message, hint);
    }
    if config.disaggregated_set && profile.disaggregated_set.is_none() {
        let message = format!("API profile {} does not support DisaggregatedSets", profile.name);
        let hint = "use a newer `api`, or remove `disaggregated-set`";
        diagnostics.error(Code::ServingProfile, place, message, hint);
    }
}

/// Reports keys that have no effect on this model, or not with the other keys.
fn check_additions(config: &ServingConfig, diagnostics: &mut Diagnostics) {
    let mut report = |key: &str, message: &str, hint: &str| {
        diagnostics.error(Code::InvalidValue, config.place(key), message, hint);
    };
    let workloads = Workload::all(config);
    let is_downloaded = matches!(config.model, Model::HuggingFace(_));
    if config.cache.is_some() && !is_downloaded {
        let hint = "remove it: models of `oci`, `pvc` and `s3` are not downloaded to a cache";
        report("cache", "`cache` has no effect on this `model`", hint);
    }
    if let Some(cache) = config.cache.as_ref().filter(|cache| cache.size.is_some()) {
        let is_single = |one: &Workload<'_>| !one.is_group() && one.shape.replicas <= 1;
        let is_one = workloads.len() == 1 && workloads.iter().all(is_single);
        let is_one = is_one && config.autoscaling.is_none();
        if cache.access_mode == AccessMode::ReadWriteOnce && !is_one {
            let hint = "use a StorageClass with `access-mode = \"ReadWriteMany\"`";
            report("cache", "`ReadWriteOnce` is for one node, but the model has more pods", hint);
        }
    }

    if config.queue.is_some() && config.disaggregated_set {
        let hint = "remove `queue`, or `disaggregated-set`";
        report("queue", "Kueue does not manage DisaggregatedSets", hint);
    }
    let per_node = "accelerator.per-node";
    if config.accelerator.claim_template.is_some() && config.written(per_node).is_some() {
        let hint = "remove `per-node`, and set the number in the ResourceClaimTemplate";
        report(per_node, "`per-node` has no effect with `claim-template`", hint);
    }

    let is_precise = presets::is_precise(config);
    if config.epp.tokenizer_image.is_some() && !is_precise {
        let hint = "remove it, or write `preset = \"precise-prefix\"`";
        report("epp.tokenizer-image", "this picker has no tokenizer", hint);
    }
    // Each rank publishes its events on its own port, counted over all pods of a group.
    if is_precise && workloads.iter().any(|one| one.shape.dp > 1) {
        let message = "`precise-prefix` does not support data parallelism: the picker reads the \
            KV events of one rank per port of requests";
        report("epp.preset", message, "use `preset = \"default\"`, or write `config`");
    }
    if is_precise && !is_downloaded {
        let hint = "use a model `hf://…`: the tokenizer downloads it";
        report("epp.preset", "`precise-prefix` needs a tokenizer for this `model`", hint);
    }

    if let Some(tpu) = config.accelerator.tpu {
        let label = "cloud.google.com/gke-tpu-topology";
        let selects =
            config.engine.node_selector.as_ref().is_some_and(|all| all.get(label).is_some());
        let numbers: Vec<u32> = tpu.topologies.iter().map(|(number, _)| *number).collect();
        if !selects && !workloads.iter().all(|one| numbers.contains(&one.units())) {
            let numbers = numbers.iter().map(u32::to_string).collect::<Vec<String>>().join(", ");
            let message = format!("nodes with TPU {} have {numbers} chips", tpu.name);
            let hint = format!("change the parallelism, or set `{label}` in `node-selector`");
            report("accelerator.tpu", &message, &hint);
        }
    }
}

/// Reports shapes that vLLM does not support.
fn check_shape(workload: &Workload<'_>, diagnostics: &mut Diagnostics) {
    let Workload { config, role, shape, .. } = *workload;
    let prefix = if role == Role::Prefill { "prefill." } else { "" };
    let mut report = |key: &str, message: String, hint: &str| {
        let place = config.place(&format!("{prefix}{key}"));
        diagnostics.error(Code::ServingGroupSize, place, message, hint);
    };

    let ranks = workload.has_ranks();
    match shape.topology {
        Topology::Single if shape.nodes > 1 => report(
            "nodes",
            format!("topology single does not support {} nodes", shape.nodes),
            "use a `topology` with groups, such as `lws-mp`",
        ),
        Topology::Mp | Topology::Ray if shape.dp > 1 => report(
            "dp",
            "topology does not support data parallelism".to_owned(),
            "use `lws-dp-hybrid` or `lws-dp-external`, or more `replicas`",
        ),
        Topology::Mp | Topology::Ray if shape.nodes < 2 => report(
            "topology",
            "group has only one pod".to_owned(),
            "set `nodes`, or use `topology = \"single\"`",
        ),
        _ if ranks && shape.pp > 1 => report(
            "pp",
            "topology does not support pipeline parallelism".to_owned(),
            "set `pp = 1`: load balancing over ranks supports tensor parallelism only",
        ),
        _ if ranks && !shape.dp.is_multiple_of(shape.nodes) => report(
            "dp",
            format!("{} ranks are not divisible by {} nodes", shape.dp, shape.nodes),
            "use a multiple: all pods of a group have the same number of ranks (kserve#4946)",
        ),
        Topology::DpExternal if workload.local_ranks < 2 => report(
            "topology",
            "vLLM rejects one port per rank with a single rank per pod".to_owned(),
            "use `lws-dp-hybrid`, which has one port per pod, or fewer `nodes`",
        ),
        // The CRD of InferencePools.
        Topology::DpExternal if workload.port_count() > 8 => report(
            "topology",
            format!("pools have at most 8 ports, but pods have {} ranks", workload.port_count()),
            "use more `nodes`, or `lws-dp-hybrid`, which has one port per pod",
        ),
        _ => {}
    }
}
