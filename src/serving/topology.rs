//! From a shape to workloads: which pods there are, which of them answer, and on which ports.

use super::presets;
use super::view::can_be_several;
use crate::config::{ServingConfig, Shape, Topology};
use crate::diag::{Code, Diagnostic, Diagnostics, Place};
use serde_json::Value as Json;

/// The port that requests come to; with a port a rank, the first of them.
pub const SERVING_PORT: u16 = 8000;
/// The engine's port behind a routing sidecar; with a port a rank, the first of them.
pub const BEHIND_SIDECAR_PORT: u16 = 8200;
/// Where vLLM's supervisor of several ports says how they are.
pub const SUPERVISOR_PORT: u16 = 8208;
/// Where ranks of data parallelism meet.
pub const RANKS_PORT: u16 = 5555;
/// Where caches are handed from prefill to decode.
pub const TRANSFER_PORT: u16 = 5600;

/// What pods do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// They answer, alone or after prefill.
    Decode,
    /// They only read prompts.
    Prefill,
}

impl Role {
    /// The word in names and labels.
    pub fn as_str(self) -> &'static str {
        match self {
            Role::Decode => "decode",
            Role::Prefill => "prefill",
        }
    }
}

/// Which pods of a group have a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Servers {
    /// The leader; the others are headless.
    Leader,
    /// Every pod.
    All,
}

/// Pods of one role, worked out.
#[derive(Clone, Copy, Debug)]
pub struct Workload<'a> {
    /// The configuration of the model.
    pub config: &'a ServingConfig,
    /// What the pods do.
    pub role: Role,
    /// As configured.
    pub shape: &'a Shape,
    /// Ranks of data parallelism in a pod.
    pub local_ranks: u32,
    /// Whether prefill and decode are apart.
    pub disaggregated: bool,
}

impl<'a> Workload<'a> {
    /// The workloads of a model, or what keeps them from being worked out.
    pub fn all(config: &'a ServingConfig) -> (Vec<Workload<'a>>, Diagnostics) {
        let mut found = Diagnostics::new();
        let disaggregated = config.prefill.is_some();
        let roles =
            [(Role::Decode, Some(&config.decode)), (Role::Prefill, config.prefill.as_ref())];
        let mut workloads = Vec::new();
        for (role, shape) in roles {
            let Some(shape) = shape else { continue };
            check(config, role, shape, &mut found);
            let local_ranks = (shape.dp / shape.nodes.max(1)).max(1);
            workloads.push(Workload { config, role, shape, local_ranks, disaggregated });
        }
        if let (Some(_), Some(span)) = (&config.autoscaling, config.spans.get("replicas")) {
            let message = "an autoscaler decides how many replicas there are";
            found.push(
                Diagnostic::error(Code::ServingAutoscaler, message)
                    .at(Place::span(span.clone()))
                    .hint("remove `replicas`; `min` of `autoscaling` is the least"),
            );
        }
        let elects = config.epp.flags.get("ha-enable-leader-election");
        let no = |value: &Json| value == "false" || value.as_bool() == Some(false);
        if config.epp.replicas > 1
            && elects.is_some_and(no)
            && !can_be_several(&presets::config_of(config))
        {
            let message = format!(
                "{} pickers that elect no leader choose without each other",
                config.epp.replicas
            );
            found.push(
                Diagnostic::error(Code::ServingPickerReplicas, message)
                    .at(Place::span(config.place("epp.flags").clone()))
                    .hint("remove the flag, or take one replica"),
            );
        }
        if disaggregated && config.profile.sidecar_image.is_none() && !config.kserve {
            let message = format!("the API profile {} has no prefill", config.profile.name);
            found.push(
                Diagnostic::error(Code::ServingProfile, message)
                    .at(Place::span(config.place("prefill").clone()))
                    .hint("take a profile with a routing sidecar: `api = \"llm-d-0.10\"`"),
            );
        }
        if config.disaggregated_set && !workloads.iter().all(Workload::is_group) {
            let message = "a DisaggregatedSet is made of groups, and a role here has single pods";
            found.push(
                Diagnostic::error(Code::ServingGroupSize, message)
                    .at(Place::span(config.place("disaggregated-set").clone()))
                    .hint("choose a topology of groups for both roles, or leave the set out"),
            );
        }
        if config.disaggregated_set && config.profile.disaggregated_set.is_none() {
            let message =
                format!("the API profile {} has no DisaggregatedSet", config.profile.name);
            found.push(
                Diagnostic::error(Code::ServingProfile, message)
                    .at(Place::span(config.place("disaggregated-set").clone()))
                    .hint("take a newer `api`, or leave the set out"),
            );
        }
        (workloads, found)
    }

    /// Whether replicas are groups of pods.
    pub fn is_group(&self) -> bool {
        self.shape.topology != Topology::Single
    }

    /// Name of the workload's objects.
    pub fn name(&self) -> String {
        format!("{}-{}", self.config.name, self.role.as_str())
    }

    /// Which pods of a group have a server.
    pub fn servers(&self) -> Servers {
        match self.shape.topology {
            Topology::Mp | Topology::Ray | Topology::DpInternal => Servers::Leader,
            Topology::Single | Topology::DpHybrid | Topology::DpExternal => Servers::All,
        }
    }

    /// Whether a routing sidecar stands before the engine.
    pub fn has_sidecar(&self) -> bool {
        self.disaggregated && self.role == Role::Decode
    }

    /// How many ports a serving pod has.
    pub fn port_count(&self) -> u16 {
        match self.shape.topology {
            Topology::DpExternal => u16::try_from(self.local_ranks).unwrap_or(u16::MAX),
            _ => 1,
        }
    }

    /// The ports of a serving pod that requests come to.
    pub fn ports(&self) -> Vec<u16> {
        (0..self.port_count().min(64)).map(|rank| SERVING_PORT + rank).collect()
    }

    /// The engine's first port.
    pub fn engine_port(&self) -> u16 {
        if self.has_sidecar() { BEHIND_SIDECAR_PORT } else { SERVING_PORT }
    }

    /// Devices that the ranks of a pod use.
    pub fn devices(&self) -> u32 {
        let whole = self.shape.tp.saturating_mul(self.shape.pp).saturating_mul(self.shape.dp);
        whole.div_ceil(self.shape.nodes.max(1))
    }

    /// Units of the accelerator that a pod asks for.
    pub fn units(&self) -> u32 {
        let accelerator = &self.config.accelerator;
        let needed = self.devices().div_ceil(accelerator.devices_per_unit.max(1));
        accelerator.per_node.unwrap_or(needed)
    }
}

/// What cannot be turned into flags.
fn check(config: &ServingConfig, role: Role, shape: &Shape, found: &mut Diagnostics) {
    let prefix = if role == Role::Prefill { "prefill." } else { "" };
    let mut report = |key: &str, message: String, hint: &str| {
        let place = Place::span(config.place(&format!("{prefix}{key}")).clone());
        found.push(Diagnostic::error(Code::ServingGroupSize, message).at(place).hint(hint));
    };
    let ranks =
        matches!(shape.topology, Topology::DpInternal | Topology::DpHybrid | Topology::DpExternal);
    match shape.topology {
        Topology::Single if shape.nodes > 1 => report(
            "nodes",
            format!("a single pod cannot be on {} nodes", shape.nodes),
            "choose a `topology` of groups, such as `lws-mp`",
        ),
        Topology::Mp | Topology::Ray if shape.dp > 1 => report(
            "dp",
            "this topology has no data parallelism".to_owned(),
            "choose `lws-dp-hybrid` or `lws-dp-external`, or more `replicas`",
        ),
        Topology::Mp | Topology::Ray if shape.nodes < 2 => report(
            "topology",
            "a group of one pod has nothing to share".to_owned(),
            "set `nodes`, or choose `topology = \"single\"`",
        ),
        _ if ranks && shape.pp > 1 => report(
            "pp",
            "ranks of data parallelism cannot be pipelines here".to_owned(),
            "set `pp = 1`: vLLM's load balancers of several pods take tensor parallelism only",
        ),
        _ if ranks && !shape.dp.is_multiple_of(shape.nodes) => report(
            "dp",
            format!("{} ranks cannot be shared evenly by {} nodes", shape.dp, shape.nodes),
            "every pod of a group has the same number of ranks (kserve#4946 divides and drops the rest)",
        ),
        Topology::DpExternal if shape.dp / shape.nodes.max(1) < 2 => report(
            "topology",
            "one rank in a pod needs no port for each rank, and vLLM refuses it".to_owned(),
            "choose `lws-dp-hybrid`, which has one port a pod, or fewer `nodes`",
        ),
        _ => {}
    }
}
