//! Invariants of model-serving manifests, as one table.
//!
//! They check objects as an API server would receive them, so they apply to generated charts and to
//! third-party manifests.

use super::rules;
use super::view::pods::{Engine, Template};
use super::view::{Manifest, View};
use crate::diag::{Code, Diagnostic, Diagnostics, Place, Severity, Span};
use crate::ir::{Step, path_of, steps, value_at};
use serde_json::Value as Json;
use std::collections::BTreeSet;

/// A rule for a set of manifests.
#[derive(Debug)]
pub struct Invariant {
    /// Code of its findings.
    pub code: Code,
    /// Severity of its findings, unless a finding overrides it.
    pub severity: Severity,
    /// The key of `[[serving]]` that determines it.
    pub field: &'static str,
    /// Source of the rule: an issue, an API or a program.
    pub source: &'static str,
    /// Consequence of a violation.
    pub reason: &'static str,
    /// Reports violations.
    pub(super) check: fn(&View<'_>, &mut Found),
}

/// A violation of an invariant.
#[derive(Clone, Debug, Default)]
pub(super) struct Finding {
    /// Overrides the severity of the invariant.
    pub(super) severity: Option<Severity>,
    /// Overrides the key of `[[serving]]`.
    pub(super) field: Option<&'static str>,
    /// Overrides the code.
    pub(super) code: Option<Code>,
    /// Overrides reason and source.
    pub(super) why: Option<(&'static str, &'static str)>,
    /// True if it says that objects are missing from the file, so that errors about it may be false.
    pub(super) is_incomplete: bool,
    pub(super) message: String,
    /// Index of the manifest.
    pub(super) owner: usize,
    /// JSON path in it.
    pub(super) path: String,
    pub(super) hint: String,
}

impl Finding {
    /// Makes it a warning.
    pub(super) fn warning(&mut self) -> &mut Self {
        self.severity = Some(Severity::Warning);
        self
    }

    /// Makes it a note.
    pub(super) fn note(&mut self) -> &mut Self {
        self.severity = Some(Severity::Note);
        self
    }

    /// Overrides the severity under a condition.
    pub(super) fn lower_if(&mut self, condition: bool, severity: Severity) -> &mut Self {
        self.severity = condition.then_some(severity).or(self.severity);
        self
    }

    /// Sets the reason of the CEL rules in Gateway API's CRDs.
    pub(super) fn rejected(&mut self) -> &mut Self {
        self.why("the API server rejects the object", "Gateway API, CEL rules")
    }

    /// Sets the key of `[[serving]]`.
    pub(super) fn field(&mut self, field: &'static str) -> &mut Self {
        self.field = Some(field);
        self
    }

    /// Sets the code.
    pub(super) fn code(&mut self, code: Code) -> &mut Self {
        self.code = Some(code);
        self
    }

    /// Sets reason and source.
    pub(super) fn why(&mut self, reason: &'static str, source: &'static str) -> &mut Self {
        self.why = Some((reason, source));
        self
    }
}

/// Collects findings.
#[derive(Debug)]
pub(super) struct Found {
    /// Code of the invariant.
    pub(super) code: Code,
    pub(super) all: Vec<Finding>,
}

impl Found {
    /// Adds a finding and returns it, for overrides.
    pub(super) fn push(
        &mut self,
        owner: usize,
        path: impl Into<String>,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> &mut Finding {
        let (message, path, hint) = (message.into(), path.into(), hint.into());
        self.all.push(Finding { message, owner, path, hint, ..Finding::default() });
        let last = self.all.len() - 1;
        &mut self.all[last]
    }

    /// Returns a reporter of findings at one place.
    pub(super) fn at(&mut self, owner: usize, path: impl Into<String>) -> Reporter<'_> {
        Reporter { found: self, owner, path: path.into(), field: None }
    }
}

/// Adds findings at one place.
pub(super) struct Reporter<'f> {
    found: &'f mut Found,
    owner: usize,
    path: String,
    field: Option<&'static str>,
}

impl Reporter<'_> {
    /// Sets the key of `[[serving]]` of the findings.
    pub(super) fn field(self, field: &'static str) -> Self {
        Self { field: Some(field), ..self }
    }

    /// Returns a reporter of findings at a path below the place.
    pub(super) fn inside(&mut self, path: &str) -> Reporter<'_> {
        let path = format!("{}{path}", self.path);
        Reporter { found: &mut *self.found, path, ..*self }
    }

    /// Adds a finding and returns it, for overrides.
    pub(super) fn push(
        &mut self,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> &mut Finding {
        self.below("", message, hint)
    }

    /// Adds a finding at a path below the place and returns it, for overrides.
    pub(super) fn below(
        &mut self,
        path: &str,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> &mut Finding {
        let finding = self.found.push(self.owner, format!("{}{path}", self.path), message, hint);
        finding.field = self.field;
        finding
    }
}

/// An engine with its pods, and the manifests around them.
pub(super) type Context<'v> = (&'v View<'v>, &'v Template<'v>, &'v Engine<'v>);

/// A container with its pods, and the manifests around them.
pub(super) type ContainerContext<'v> = (&'v View<'v>, &'v Template<'v>, &'v Json);

/// Checks each engine by a rule, which reports at its container.
fn each(view: &View<'_>, found: &mut Found, rule: fn(Context<'_>, &mut Reporter<'_>)) {
    for (template, engine) in view.engines() {
        rule((view, template, engine), &mut found.at(template.owner, &engine.path));
    }
}

/// A rule for a container, which reports at it.
type ContainerRule = fn(ContainerContext<'_>, &mut Reporter<'_>);

/// Checks each long-running container by a rule.
fn of_containers(view: &View<'_>, found: &mut Found, rule: ContainerRule) {
    for (template, container, path) in view.containers() {
        rule((view, template, container), &mut found.at(template.owner, path));
    }
}

/// KServe's kinds with pods of model servers, of which the second one completes the first. Their CRDs have the
/// types of pods.
pub(super) const SERVICES: [&str; 2] = ["LLMInferenceService", "LLMInferenceServiceConfig"];

/// Kinds of routes and of what belongs to them, which reference other objects.
const ROUTES: &[&str] =
    &["GCPBackendPolicy", "GRPCRoute", "Gateway", "HTTPRoute", "HealthCheckPolicy", "Ingress"];

/// A rule for an object, which reports at it.
type ObjectRule = fn(&View<'_>, &Manifest, &mut Reporter<'_>);

/// Checks each object of a kind by a rule.
fn of_kind(view: &View<'_>, found: &mut Found, kind: &str, rule: ObjectRule) {
    for (owner, object) in view.of_kind(kind) {
        rule(view, object, &mut found.at(owner, ""));
    }
}

// Rules of one code, severity and key follow it, each with its source and its reason.
macro_rules! invariants {
    ($($code:ident $severity:ident $field:literal
        $($source:literal $check:expr, $reason:literal;)+)*) => {
        /// All invariants.
        pub static INVARIANTS: &[Invariant] = &[$($(Invariant {
            code: Code::$code,
            severity: Severity::$severity,
            field: $field,
            source: $source,
            reason: $reason,
            check: $check,
        },)+)*];
    };
}

invariants! {
    ServingPoolShape Error "epp.failure-mode"
        "InferencePool CRD" rules::pool::shape, "the API server rejects the pool";
    ServingPoolPorts Error "topology"
        "llm-d#1855" rules::pool::ports_open, "requests to closed ports fail";
    ServingHeadlessSelected Error "topology"
        "llm-d-router#220" rules::pool::headless, "pods without a server get requests";
    ServingPoolMissing Error "route"
        "GAIE conformance, HTTPRoute to InferencePool" rules::pool::missing, "the reference has no effect, without an error";
    ServingPickerMissing Error "epp"
        "GAIE#2915" |view, found| of_kind(view, found, "InferencePool", rules::picker::missing), "gateways do not accept routes to the pool";
    ServingPickerPort Error "epp.flags"
        "llm-d-router chart, extProcPort" rules::picker::port, "the gateway cannot connect to the picker";
    ServingPickerPool Error "epp.flags"
        "llm-d-router, --pool-name" rules::picker::pool, "the picker schedules for another pool";
    ServingPickerFlags Error "epp.flags"
        "llm-d-router, options of the picker" rules::picker::flags, "the picker fails to start, or is never ready";
        "sources of the picker's release" rules::by_release::verdicts, "the picker fails to start";
    ServingPickerRights Error "epp"
        "istio.io#17528" rules::picker::rights, "the picker never becomes ready";
        "Kubernetes API, RBAC" rules::picker::resources, "the rule grants nothing";
    ServingPickerReplicas Error "epp.replicas"
        "GAIE#1619" rules::picker::replicas, "a rollout of the picker never completes";
    ServingPickerConfig Error "epp.config"
        "llm-d-router#1134" rules::config::valid, "the picker fails to start";
        "sources of the picker's release" rules::by_release::verdicts, "the picker fails to start";
    ServingDeprecated Warning "epp.config"
        "llm-d-router#936" rules::by_release::verdicts, "a later release fails to start with it";
    ServingApi Error "api"
        "CRDs of the release" rules::by_release::verdicts, "the API server rejects the object";
    ServingRelease Note "engine.image"
        "sources of all releases" rules::by_release::verdicts, "another release may not start";
    ServingRoles Error "epp.config"
        "llm-d-router#220" rules::config::roles, "requests get no pod or the wrong one";
    ServingModel Error "model"
        "llm-d#2221" rules::config::model, "prefix cache lookups never match";
    ServingDevices Error "accelerator"
        "kserve#4946" |view, found| each(view, found, rules::engine::devices), "ranks wait for missing devices, or devices are idle";
    ServingGroupSize Error "nodes"
        "kserve#4946" |view, found| each(view, found, rules::engine::group_size), "ranks wait for missing pods";
    ServingJoin Error "topology"
        "llm-d-modelservice, multi-node" rules::join::join, "ranks wait for missing pods";
    ServingEngineFlags Error "topology"
        "vLLM, checks of its flags" |view, found| each(view, found, rules::join::refused), "the engine fails to start";
    ServingEngineFlags Error "engine.args"
        "vLLM, ModelConfig" |view, found| each(view, found, rules::checkpoint::arguments), "the engine fails to start";
        "SGLang, ModelConfig" |view, found| each(view, found, rules::checkpoint::sglang), "the engine fails to start";
        "sources of the engine's release" rules::by_release::verdicts, "the engine fails to start";
        "commands of vLLM and SGLang" |view, found| of_containers(view, found, rules::program::names), "the engine fails to start";
    ServingEngineFlags Error "engine.image"
        "images of vLLM and SGLang, POSIX shell" rules::program::in_image, "the engine fails to start";
    ServingEngineFlags Warning "engine.args"
        "llm-d-router, core metrics" rules::program::metrics, "all pods have the same score";
    ServingRay Error "engine.image"
        "lws#835" |view, found| of_containers(view, found, rules::join::ray), "the command is not found";
        "Ray, check of versions" rules::join::ray_releases, "the workers do not join";
    ServingRay Error "topology"
        "Ray docs, Serve and models" rules::ray::clusters, "Ray does not start all replicas of the application";
    ServingStartup Error "topology"
        "lws#135" rules::group::startup, "leader and workers wait for each other";
    ServingGroup Error "topology"
        "lws webhook" rules::group::webhook, "the API server rejects the object";
        "LeaderWorkerSet API, vLLM's launch script" rules::group::members, "the group waits for members, or has none";
    ServingLeaderAddress Note "topology"
        "lws#746" |view, found| of_containers(view, found, rules::group::leader_address), "the group restarts if a worker starts before the leader";
    ServingSidecar Error "prefill"
        "llm-d-router#329" rules::engine::sidecar, "requests do not reach the engine, or prefill gets none";
    ServingSidecarFlag Error "prefill.sidecar-image"
        "llm-d-router#761" rules::by_release::verdicts, "the sidecar fails to start";
    ServingPortClash Error "engine.args"
        "llm-d-router#329" |view, found| each(view, found, rules::engine::port_clash), "one of the containers fails to start";
    ServingProbe Error "engine.args"
        "aibrix#2116" |view, found| each(view, found, rules::engine::probes), "the pod is never ready, or restarted";
        "Kubernetes API, Probe" |view, found| of_containers(view, found, rules::probe::named), "the pod is never ready, or restarted";
    ServingImage Error "engine.image"
        "Kubernetes API" rules::engine::images, "the pod does not start";
    ServingSharedMemory Warning "engine.shared-memory"
        "llm-d#352" |view, found| of_containers(view, found, rules::engine::shared_memory), "the engine fails under load";
    ServingPair Error "prefill.args"
        "vLLM NIXL connector" rules::engine::pair, "KV caches cannot be transferred";
    ServingTransfer Error "prefill.args"
        "vLLM, KVTransferConfig" rules::transfer::connector, "decode computes every prompt again";
    ServingTransfer Error "prefill"
        "llm-d-router, --kv-connector" rules::transfer::protocol, "requests to prefill and decode fail";
    ServingTransfer Error "prefill.args"
        "SGLang docs, PD disaggregation" rules::transfer::router, "requests to prefill and decode fail";
    ServingTransfer Error "engine.env"
        "vllm#27083, kthena#503" rules::transfer::side_channel, "decode cannot connect to prefill";
    ServingTransfer Error "engine.env"
        "LMCache docs, controller" |view, found| each(view, found, rules::transfer::instances), "the controller knows one of them";
    ServingAdapters Error "rewrites"
        "llm-d-router, InferenceModelRewrite" |view, found| of_kind(view, found, "InferenceModelRewrite", rules::adapters::rewrites), "rewritten requests get 404";
    ServingPrefixCache Error "epp.config"
        "llm-d-router#2274" rules::prefix_cache::precise, "prefix cache lookups never match";
    ServingProbe Error "engine.args"
        "vllm#1245, production-stack#150" |view, found| each(view, found, rules::probe::answered), "the pod is never ready, or restarted";
    ServingProbe Warning "engine.startup-minutes"
        "kserve#5062, aibrix#772" |view, found| each(view, found, rules::probe::budget), "the pod is restarted again and again";
        "Kubernetes API, DeploymentSpec" |view, found| each(view, found, rules::probe::deadline), "tools take the rollout for failed";
    ServingAddress Error "engine.args"
        "vLLM, --host" |view, found| each(view, found, rules::probe::address), "probes and requests cannot connect";
    ServingAddress Error "prefill"
        "llm-d-router, --enable-tls" rules::probe::proxied_tls, "requests do not reach the engine";
    ServingServiceLinks Error "name"
        "vllm#34199" |view, found| each(view, found, rules::pod::service_links), "the engine fails to start";
    ServingPod Error "engine"
        "Kubernetes API" rules::pod::mounts, "the API server rejects the pod";
        "Kubernetes API, types" rules::pod::types, "the API server rejects the object";
    ServingPod Error "engine.resources"
        "Kubernetes API" rules::pod::resources, "the API server rejects the pod";
    ServingPod Error "engine.env"
        "Kubernetes API" rules::references::references_exist, "the pod does not start";
        "Kubernetes API, Secrets" |view, found| rules::references::exist(view, &["Secret"], found), "the controller deletes it";
    ServingEngineFlags Error "engine.args"
        "Kubernetes API, variables in arguments" rules::runtime::expanded, "the engine gets the text instead of a value";
        "vLLM, --lora-modules" |view, found| each(view, found, rules::adapters::forms), "the engine fails to start";
    ServingPod Warning "engine"
        "Kubernetes docs, termination of pods" |view, found| each(view, found, rules::runtime::grace_period), "every rollout fails requests";
    ServingPod Error "engine"
        "Kubernetes docs, volumes" |view, found| each(view, found, rules::runtime::files), "the engine does not find its files";
    ServingPod Error "engine.env"
        "huggingface_hub, cache of models" |view, found| each(view, found, rules::runtime::downloaded), "the engine does not find its files";
    ServingDevices Error "engine.env"
        "CUDA, device plugins" |view, found| each(view, found, rules::runtime::visible_devices), "the engine finds no device";
    ServingJoin Error "engine.env"
        "NCCL and Gloo, network interfaces" |view, found| of_containers(view, found, rules::runtime::interfaces), "ranks do not find each other";
    ServingPod Error "engine"
        "GKE docs, Cloud Storage FUSE" rules::runtime::buckets, "the pod does not start";
    ServingSelector Error "name"
        "Kubernetes API, Services" rules::selector::ports, "connections fail";
    ServingSelector Warning "pod"
        "Kubernetes docs, inter-pod affinity" rules::selector::affinity, "the pod stays Pending";
    ServingSelector Error "name"
        "Kubernetes API, selectors" rules::selector::nothing, "the object has no effect, without an error";
    ServingGateway Error "route"
        "Gateway API, ParentReference and BackendRef" rules::gateway::routes, "the route has no effect";
        "Gateway API, references" |view, found| rules::references::exist(view, ROUTES, found), "it has no effect";
        "GKE docs, policies of Gateways" rules::gateway::policies, "the policy has no effect, or the load balancer takes no pod for healthy";
    ServingGateway Error "network-policy"
        "Kubernetes API, NetworkPolicies" rules::network_policy::connections, "requests do not reach the pods";
    ServingPickerFlags Error "epp.flags"
        "llm-d-router, servers of the picker" rules::picker_server::server, "the picker fails to start, or gateways cannot connect to it";
    ServingAutoscaler Error "autoscaling"
        "Kubernetes API" rules::extras::autoscaler, "the number of pods is wrong";
        "KEDA docs, authentication" |view, found| rules::references::exist(view, &["ScaledObject", "TriggerAuthentication"], found), "the number of pods stays";
    ServingSelector Warning "monitoring"
        "vLLM docs, metrics" rules::metrics::names, "the expression returns nothing";
    ServingDisruption Warning "disruption-budget"
        "Kubernetes API" rules::extras::disruption, "nodes cannot be drained";
    ServingDestination Error "route.provider"
        "llm-d-router chart, DestinationRule" rules::extras::destination, "Istio does not trust the picker";
    ServingSelector Error "name"
        "Kubernetes docs, Services" |view, found| of_containers(view, found, rules::addresses::ports), "connections fail";
    ServingSelector Error "epp.config"
        "Kubernetes docs, Services" rules::addresses::of_pickers, "connections fail";
    ServingAddress Error "pod"
        "Kubernetes docs, DNS for pods" |view, found| each(view, found, rules::addresses::names), "pods do not find each other";
    ServingPod Error "engine.env"
        "Kubernetes API, variables of containers" rules::addresses::order, "the program gets the text instead of a value";
    ServingPod Error "pod"
        "Kubernetes docs, Pod Security Standards" rules::pod::standards, "the API server rejects the pod";
    ServingPod Error "engine.resources"
        "Kubernetes docs, quotas" rules::pod::quotas, "the API server rejects the pod";
    ServingDevices Error "engine.image"
        "images of vLLM and SGLang, devices of Kubernetes" |view, found| each(view, found, rules::hardware::fits), "the engine finds no device";
    ServingDevices Error "accelerator"
        "sizes of models and devices" |view, found| each(view, found, rules::hardware::weights), "the engine runs out of memory";
    ServingPod Error "pod"
        "sizes of models" |view, found| each(view, found, rules::hardware::cache), "the model is not downloaded";
        "caches of vLLM, LMCache and Mooncake" |view, found| each(view, found, rules::hardware::host), "the container is killed";
        "formats of variables and files" rules::program::values, "the program fails to start";
    ServingAdapters Error "engine.env"
        "GAIE, lora-syncer" |view, found| each(view, found, rules::adapters::loading), "adapters are not loaded";
    ServingJoin Error "topology"
        "Kubernetes docs, StatefulSets" |view, found| each(view, found, rules::join::parallel), "ranks wait for missing pods";
    ServingKserve Error "dp"
        "kserve#4946" |view, found| of_kind(view, found, "LLMInferenceService", rules::kserve::parallelism), "KServe rejects the service, or creates pods that wait for others";
        "KServe, webhook" |view, found| of_kind(view, found, "LLMInferenceService", rules::kserve::exclusive), "the webhook rejects the service";
    ServingKserve Error "model"
        "KServe, storage of models" |view, found| of_kind(view, found, "LLMInferenceService", rules::kserve::model), "the model is not downloaded";
    ServingKserve Error "engine"
        "KServe, MergeServingRuntimeAndInferenceServiceSpecs" rules::kserve::runtime, "KServe creates no pods";
    ServingKserve Error "model"
        "KServe, constants" |view, found| each(view, found, rules::kserve::place), "the engine does not find the model";
    ServingKserve Error "engine"
        "KServe, presets" |view, found| SERVICES.iter().for_each(|kind| of_kind(view, found, kind, rules::kserve::container)), "the server does not have the arguments";
        "KServe, presets" |view, found| of_kind(view, found, SERVICES[1], rules::kserve::template), "KServe creates no pods";
        "KServe, presets and storage" |view, found| rules::references::exist(view, &[SERVICES[0], "InferenceService"], found), "KServe creates no pods";
        "KServe, annotations" rules::kserve::annotations, "KServe does not read it";
    ServingTwice Warning "name"
        "llm-d-router chart, names of objects" rules::set::twice, "one of them overwrites the other";
    ServingRoute Warning "route"
        "Gateway API, HTTPRouteRule" rules::set::routes, "the older route gets all requests, the other none";
    ServingUnread Note "form"
        "bundle2chart" rules::set::unread, "violations are not found";
}

/// Returns the span of a key of bundles.toml, for a finding in the manifest with this index.
pub(super) type Placing<'p> = dyn Fn(usize, &'static str) -> Option<Span> + 'p;

/// Returns a path, or for one of an item that a controller adds, such as a container of a preset, that of the
/// part of the object to which it is added. Paths in texts stay.
fn existing(object: &Json, path: &str) -> String {
    let all = steps(path);
    let known = (0..all.len()).rev().find_map(|end| Some((end, value_at(object, &all[..end])?)));
    let (end, part) = known.unwrap_or((0, object));
    let is_item = all[end..].iter().skip(1).any(|step| matches!(step, Step::Index(_)));
    match (part, all.get(end)) {
        (Json::Object(_), Some(Step::Key(key))) if is_item && part.get(key).is_none() => {
            path_of(&all[..end])
        }
        _ => path.to_owned(),
    }
}

/// Checks the invariants for which `wanted` is true, and reports violations.
pub(super) fn check(
    view: &View<'_>,
    wanted: fn(&Invariant) -> bool,
    placing: &Placing<'_>,
    diagnostics: &mut Diagnostics,
) {
    let start = diagnostics.mark();
    // All rules run before anything is reported: any of them may find that a file is incomplete.
    let mut all: Vec<(&Invariant, Finding)> = Vec::new();
    for invariant in INVARIANTS.iter().filter(|invariant| wanted(invariant)) {
        let mut found = Found { code: invariant.code, all: Vec::new() };
        (invariant.check)(view, &mut found);
        all.extend(found.all.into_iter().map(|finding| (invariant, finding)));
    }
    let file = |finding: &Finding| view.manifests[finding.owner].place.file.as_deref();
    let each = all.iter().map(|(_, finding)| finding);
    let incomplete: BTreeSet<Option<&str>> =
        each.filter(|finding| finding.is_incomplete).map(file).collect();

    for (invariant, finding) in all {
        let severity = finding.severity.unwrap_or(invariant.severity);
        // Warnings and notes stay: they do not depend on objects that the file leaves out.
        if severity == Severity::Error && incomplete.contains(&file(&finding)) {
            continue;
        }
        let manifest = &view.manifests[finding.owner];
        let path = existing(&manifest.json, &finding.path);
        let place = manifest.place.clone().object(manifest.to_string()).path(&path);
        let span = placing(finding.owner, finding.field.unwrap_or(invariant.field));
        let (reason, source) = finding.why.unwrap_or((invariant.reason, invariant.source));
        let hint = format!("{} ({reason}; {source})", finding.hint);
        let code = finding.code.unwrap_or(invariant.code);
        let diagnostic = Diagnostic::error(code, finding.message).hint(hint);
        let diagnostic = Diagnostic { severity, ..diagnostic.at(Place { span, ..place }) };
        // Leader and workers may share a template, and several templates a key of bundles.toml.
        let place = &diagnostic.place;
        let same = |known: &Diagnostic| {
            let at_key = known.place.span.is_some() && known.place.span == place.span;
            known.code == diagnostic.code
                && known.message == diagnostic.message
                && (at_key || known.place == *place)
        };
        if !diagnostics.since(start).iter().any(same) {
            diagnostics.push(diagnostic);
        }
    }
}
