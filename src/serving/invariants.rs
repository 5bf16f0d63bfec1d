//! The invariants that manifests for serving models must keep, as one table.
//!
//! They look at objects as an API server would receive them, so that they hold for our own charts
//! and for what others wrote alike.

use super::rules;
use super::view::{Manifest, View};
use crate::diag::{Code, Diagnostic, Place, Severity};

/// A rule about a set of manifests.
pub struct Invariant {
    /// What its findings are called.
    pub code: Code,
    /// How bad they are, unless a finding says otherwise.
    pub severity: Severity,
    /// The key of `[[serving]]` that decides it.
    pub field: &'static str,
    /// Where it is known from: an issue, or the API or program that has the rule.
    pub source: &'static str,
    /// Why it must hold.
    pub reason: &'static str,
    /// Looks for what breaks it.
    pub(super) check: fn(&View<'_>, &mut Found),
}

impl std::fmt::Debug for Invariant {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_tuple("Invariant").field(&self.code.as_str()).finish()
    }
}

/// What breaks an invariant.
#[derive(Debug)]
pub(super) struct Finding {
    /// How bad it is, where that is not what the invariant says.
    pub(super) severity: Option<Severity>,
    /// The key of `[[serving]]`, where it is not the invariant's.
    pub(super) field: Option<&'static str>,
    /// The code, where it is not the invariant's.
    pub(super) code: Option<Code>,
    /// Why it matters and where that is known from, where it is not what the invariant says.
    pub(super) why: Option<(&'static str, &'static str)>,
    pub(super) message: String,
    /// Number of the manifest.
    pub(super) owner: usize,
    /// JSON path in it.
    pub(super) path: String,
    pub(super) hint: String,
}

/// Collects findings.
#[derive(Debug, Default)]
pub(super) struct Found(Vec<Finding>);

impl Found {
    /// Adds one; what is the matter with two templates of one object is said once.
    pub(super) fn push(
        &mut self,
        owner: usize,
        path: impl Into<String>,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> &mut Finding {
        self.0.push(Finding {
            severity: None,
            field: None,
            code: None,
            why: None,
            message: message.into(),
            owner,
            path: path.into(),
            hint: hint.into(),
        });
        let last = self.0.len() - 1;
        &mut self.0[last]
    }
}

macro_rules! invariants {
    ($($code:ident $severity:ident $field:literal $source:literal $check:path, $reason:literal;)*) => {
        /// Every invariant.
        pub static INVARIANTS: &[Invariant] = &[$(Invariant {
            code: Code::$code,
            severity: Severity::$severity,
            field: $field,
            source: $source,
            reason: $reason,
            check: $check,
        }),*];
    };
}

invariants! {
    ServingPoolShape Error "epp.failure-mode" "InferencePool CRD"
        rules::pool::shape, "the API server refuses the pool";
    ServingPoolEmpty Error "name" "GAIE InferencePool API"
        rules::pool::empty, "a pool without pods answers 503";
    ServingPoolPorts Error "topology" "llm-d#1855"
        rules::pool::ports_open, "requests to closed ports fail";
    ServingHeadlessSelected Error "topology" "llm-d-router#220"
        rules::pool::headless, "pods without a server get requests";
    ServingPoolMissing Error "route" "GAIE conformance, HTTPRoute to InferencePool"
        rules::pool::missing, "the reference leads nowhere, and nobody says so";
    ServingPickerMissing Error "epp" "GAIE#2915"
        rules::picker::missing, "gateways do not accept routes to the pool";
    ServingPickerPort Error "epp.flags" "llm-d-router chart, extProcPort"
        rules::picker::port, "nobody answers the gateway";
    ServingPickerPool Error "epp.flags" "llm-d-router, --pool-name"
        rules::picker::pool, "the picker works for another pool";
    ServingPickerFlags Error "epp.flags" "llm-d-router, options of the picker"
        rules::picker::flags, "the picker stops when it starts, or is never ready";
    ServingPickerRights Error "epp" "istio.io#17528"
        rules::picker::rights, "the picker never becomes ready";
    ServingPickerReplicas Error "epp.replicas" "GAIE#1619"
        rules::picker::replicas, "an update of the picker never ends";
    ServingPickerConfig Error "epp.config" "llm-d-router#1134"
        rules::config::valid, "the picker stops when it starts";
    ServingDeprecated Warning "epp.config" "llm-d-router#936"
        rules::config::deprecated, "the next release of the picker stops when it starts";
    ServingRoles Error "epp.config" "llm-d-router#220"
        rules::config::roles, "requests find no pod, or the wrong one";
    ServingModel Error "model" "llm-d#2221"
        rules::config::model, "prefixes are never found";
    ServingDevices Error "accelerator" "kserve#4946"
        rules::engine::devices, "ranks wait for devices that never come, or devices idle";
    ServingGroupSize Error "nodes" "kserve#4946"
        rules::engine::group_size, "ranks wait for pods that never come";
    ServingJoin Error "topology" "llm-d-modelservice, multi-node"
        rules::join::join, "ranks wait for pods that never come";
    ServingEngineFlags Error "topology" "vLLM, checks of its flags"
        rules::join::refused, "the engine stops when it starts";
    ServingRay Error "engine.image" "lws#835"
        rules::join::ray, "the command is not found";
    ServingStartup Error "topology" "lws#135"
        rules::group::startup, "leader and workers wait for each other";
    ServingGroup Error "topology" "lws webhook"
        rules::group::webhook, "the API server refuses the object";
    ServingLeaderAddress Note "topology" "lws#746"
        rules::group::leader_address, "the group starts over when the worker is faster";
    ServingSidecar Error "prefill" "llm-d-router#329"
        rules::engine::sidecar, "requests do not reach the engine, or prefill is never asked";
    ServingSidecarFlag Error "prefill.sidecar-image" "llm-d-router#761"
        rules::engine::sidecar_flags, "the sidecar stops when it starts";
    ServingPortClash Error "engine.args" "llm-d-router#329"
        rules::engine::port_clash, "one of the containers never starts";
    ServingProbe Error "engine.args" "aibrix#2116"
        rules::engine::probes, "the pod is never ready, or killed";
    ServingImage Error "engine.image" "Kubernetes API"
        rules::engine::images, "the pod does not start";
    ServingSharedMemory Warning "engine.shared-memory" "llm-d#352"
        rules::engine::shared_memory, "the engine fails under load";
    ServingPair Error "prefill.args" "vLLM NIXL connector"
        rules::engine::pair, "caches cannot be handed over";
    ServingAutoscaler Error "autoscaling" "Kubernetes API"
        rules::extras::autoscaler, "the number of pods is not what was meant";
    ServingDisruption Warning "disruption-budget" "Kubernetes API"
        rules::extras::disruption, "nodes cannot be drained";
    ServingDestination Error "route.provider" "llm-d-router chart, DestinationRule"
        rules::extras::destination, "Istio does not trust the picker";
    ServingKserve Error "dp" "kserve#4946"
        rules::kserve::parallelism, "KServe refuses the service, or makes pods that wait for others";
    ServingTwice Warning "name" "llm-d-router chart, names of objects"
        rules::set::twice, "one of them takes the place of the other";
    ServingRoute Warning "route" "Gateway API, HTTPRouteRule"
        rules::set::routes, "the older route gets all requests, and the other model none";
    ServingUnread Note "form" "bundle2chart"
        rules::set::unread, "what is wrong with them is not found";
}

/// What is known to fail and is no invariant, each with the reason.
pub static NOT_CHECKED: &[(&str, &str)] = &[
    (
        "unknown parameters of a plugin stop the picker (llm-d-router#1134)",
        "each plugin and release has its own; only `deciders` and `modelName` are looked at",
    ),
    (
        "vLLM refuses external load balancing of ranks for models without experts",
        "manifests do not say what a model is made of; the texts of `topology` do",
    ),
    (
        "Istio ignores pools without ENABLE_GATEWAY_API_INFERENCE_EXTENSION, and some of its \
         releases all ports of a pool but the first (istio#57638)",
        "this is about istiod; the README of a chart says it",
    ),
    (
        "with the CRDs of both groups, pickers read objectives and rewrites of llm-d.ai only \
         (llm-d-router#1449)",
        "this is about the cluster; objects of a group that the profile's picker does not read are \
         found (`serving-pool-missing`)",
    ),
    (
        "an update of the chart of LeaderWorkerSet from 0.7 to 0.8 deletes its CRD and all groups \
         (lws#880)",
        "this is about installing LeaderWorkerSet",
    ),
    (
        "a cluster with another domain than cluster.local has other hosts",
        "manifests do not know the domain; upstream's DestinationRule has the same",
    ),
    ("Gateways ignore the port of a route's reference to a pool", "it does no harm"),
    (
        "drivers, NCCL and RDMA of nodes do not fit the engine",
        "manifests do not say what nodes have",
    ),
];

/// Where a finding about the manifest of this number belongs: there, or at a key of bundles.toml.
pub(super) type Placing<'p> = dyn Fn(usize, &'static str, Place) -> Place + 'p;

/// What breaks invariants in these manifests; those of which `wanted` is true are looked for.
pub(super) fn check(
    view: &View<'_>,
    manifests: &[Manifest],
    wanted: fn(&Invariant) -> bool,
    placing: &Placing<'_>,
) -> Vec<Diagnostic> {
    let mut diagnostics: Vec<Diagnostic> = Vec::new();
    for invariant in INVARIANTS.iter().filter(|invariant| wanted(invariant)) {
        let mut found = Found::default();
        (invariant.check)(view, &mut found);
        for finding in found.0 {
            let manifest = &manifests[finding.owner];
            let mut place = manifest.place.clone().object(manifest.label());
            if let Some(path) = Some(&finding.path).filter(|path| !path.is_empty()) {
                place = place.path(path);
            }
            let severity = finding.severity.unwrap_or(invariant.severity);
            let (reason, source) = finding.why.unwrap_or((invariant.reason, invariant.source));
            let diagnostic = Diagnostic {
                code: finding.code.unwrap_or(invariant.code),
                severity,
                message: finding.message,
                place: placing(finding.owner, finding.field.unwrap_or(invariant.field), place),
                related: Vec::new(),
                hint: Some(format!("{} ({reason}; {source})", finding.hint)),
            };
            // Leader and workers may have one template, and templates one key of bundles.toml.
            let same = |known: &Diagnostic| {
                known.code == diagnostic.code
                    && known.message == diagnostic.message
                    && match (&known.place.span, &diagnostic.place.span) {
                        (Some(one), Some(other)) => one == other,
                        _ => known.place == diagnostic.place,
                    }
            };
            if !diagnostics.iter().any(same) {
                diagnostics.push(diagnostic);
            }
        }
    }
    diagnostics
}
