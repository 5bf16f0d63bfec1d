//! Plugins of endpoint pickers, by release.
//!
//! Source: the registrations of llm-d-router 0.9 and 0.10, and of gateway-api-inference-extension
//! up to 1.4.

use crate::config::serving::profile::Profile;

/// Category of a plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    /// Filters endpoints.
    Filter,
    /// Scores endpoints.
    Scorer,
    /// Picks an endpoint.
    Picker,
    /// Selects scheduling profiles.
    Handler,
    /// Decides on prefill/decode disaggregation of a request.
    Decider,
    /// Produces data for other plugins.
    Producer,
    /// Collects data.
    Source,
    /// Parses requests.
    Parser,
    /// Detects saturation.
    Detector,
    /// Modifies requests or responses.
    Header,
    /// Orders queued requests.
    Policy,
}

/// A type of plugin.
#[derive(Debug)]
pub(super) struct Plugin {
    /// Its `type`.
    pub(super) name: &'static str,
    /// Its category.
    pub(super) sort: Sort,
    /// True if it needs `--allow-experimental-plugins`.
    pub(super) alpha: bool,
    /// The release that removes it, and its replacement.
    pub(super) removed: Option<((u32, u32), &'static str)>,
    /// True if the picker of GAIE 1.4 has it.
    pub(super) gie: bool,
}

const fn plugin(name: &'static str, sort: Sort) -> Plugin {
    Plugin { name, sort, alpha: false, removed: None, gie: false }
}

const fn alpha(name: &'static str, sort: Sort) -> Plugin {
    Plugin { name, sort, alpha: true, removed: None, gie: false }
}

/// A plugin of both pickers.
const fn both(name: &'static str, sort: Sort) -> Plugin {
    Plugin { name, sort, alpha: false, removed: None, gie: true }
}

/// A deprecated plugin, removed in 0.11 (llm-d-router#936).
const fn leaving(name: &'static str, sort: Sort, instead: &'static str) -> Plugin {
    Plugin { name, sort, alpha: false, removed: Some(((0, 11), instead)), gie: false }
}

use Sort::{
    Decider, Detector, Filter, Handler, Header, Parser, Picker, Policy, Producer, Scorer, Source,
};

static PLUGINS: [Plugin; 69] = [
    plugin("label-selector-filter", Filter),
    plugin("encode-filter", Filter),
    plugin("prefill-filter", Filter),
    plugin("decode-filter", Filter),
    alpha("session-affinity-filter", Filter),
    alpha("endpoint-attribute-filter", Filter),
    alpha("topology-affinity-filter", Filter),
    alpha("utilization-filter", Filter),
    plugin("prefix-cache-affinity-filter", Filter),
    plugin("slo-headroom-tier-filter", Filter),
    both("queue-scorer", Scorer),
    both("kv-cache-utilization-scorer", Scorer),
    both("prefix-cache-scorer", Scorer),
    both("running-requests-size-scorer", Scorer),
    both("lora-affinity-scorer", Scorer),
    plugin("token-load-scorer", Scorer),
    plugin("no-hit-lru-scorer", Scorer),
    plugin("active-request-scorer", Scorer),
    plugin("load-aware-scorer", Scorer),
    plugin("context-length-aware", Scorer),
    alpha("session-affinity-scorer", Scorer),
    plugin("latency-scorer", Scorer),
    plugin("mm-embeddings-cache-scorer", Scorer),
    alpha("topology-affinity-scorer", Scorer),
    both("max-score-picker", Picker),
    both("random-picker", Picker),
    both("weighted-random-picker", Picker),
    both("single-profile-handler", Handler),
    plugin("disagg-profile-handler", Handler),
    plugin("data-parallel-profile-handler", Handler),
    alpha("header-profile-handler", Handler),
    plugin("always-disagg-pd-decider", Decider),
    plugin("prefix-based-pd-decider", Decider),
    plugin("always-disagg-multimodal-decider", Decider),
    plugin("approx-prefix-cache-producer", Producer),
    plugin("precise-prefix-cache-producer", Producer),
    plugin("token-producer", Producer),
    plugin("inflight-load-producer", Producer),
    plugin("predicted-latency-producer", Producer),
    alpha("burst-prefix-cache-producer", Producer),
    alpha("p2p-source-producer", Producer),
    both("metrics-data-source", Source),
    both("core-metrics-extractor", Source),
    plugin("models-data-source", Source),
    plugin("endpoint-notification-source", Source),
    plugin("k8s-notification-source", Source),
    both("openai-parser", Parser),
    plugin("anthropic-parser", Parser),
    plugin("vllmgrpc-parser", Parser),
    plugin("vllmhttp-parser", Parser),
    plugin("sglanghttp-parser", Parser),
    plugin("vertexai-parser", Parser),
    plugin("passthrough-parser", Parser),
    both("utilization-detector", Detector),
    plugin("concurrency-detector", Detector),
    plugin("global-strict-fairness-policy", Policy),
    plugin("round-robin-fairness-policy", Policy),
    plugin("fcfs-ordering-policy", Policy),
    plugin("edf-ordering-policy", Policy),
    plugin("slo-deadline-ordering-policy", Policy),
    plugin("static-usage-limit-policy", Policy),
    plugin("request-attribute-reporter", Header),
    leaving("by-label", Filter, "label-selector-filter"),
    leaving("by-label-selector", Filter, "label-selector-filter"),
    leaving("disagg-headers-handler", Header, "disagg-profile-handler, which includes it"),
    leaving("prefill-header-handler", Header, "disagg-profile-handler, which includes it"),
    leaving("tokenizer", Producer, "token-producer"),
    leaving("pd-profile-handler", Handler, "disagg-profile-handler"),
    leaving("precise-prefix-cache-scorer", Scorer, "prefix-cache-scorer"),
];

/// Returns the feature gates of the profile's picker.
pub(super) fn gates(profile: &Profile) -> &'static [&'static str] {
    if profile.llm_d {
        &["dataLayer", "enableLegacyMetrics", "flowControl"]
    } else {
        &["dataLayer", "flowControl", "prepareDataPlugins"]
    }
}

/// Returns the plugin of this type of the profile's picker.
pub(super) fn find(name: &str, profile: &Profile) -> Option<&'static Plugin> {
    PLUGINS.iter().find(|plugin| plugin.name == name && (profile.llm_d || plugin.gie))
}

/// Returns the plugin types of the profile's picker.
pub(super) fn names(profile: &Profile) -> Vec<&'static str> {
    PLUGINS.iter().filter(|plugin| profile.llm_d || plugin.gie).map(|plugin| plugin.name).collect()
}

/// Returns the roles that a role filter accepts; `None` in the list means pods without the label.
/// Returns `None` for plugins that are not role filters.
pub(super) fn roles(filter: &str) -> Option<&'static [Option<&'static str>]> {
    match filter {
        "prefill-filter" => Some(&[
            Some("prefill"),
            Some("encode-prefill"),
            Some("prefill-decode"),
            Some("both"),
            Some("encode-prefill-decode"),
        ]),
        "decode-filter" => Some(&[
            Some("decode"),
            Some("prefill-decode"),
            Some("both"),
            Some("encode-prefill-decode"),
            None,
        ]),
        "encode-filter" => {
            Some(&[Some("encode"), Some("encode-prefill"), Some("encode-prefill-decode")])
        }
        _ => None,
    }
}
