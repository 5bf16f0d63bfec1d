//! References to plugins in an EndpointPickerConfig.
//!
//! Source: the loader of llm-d-router 0.10, which fails to start with a reference to a missing plugin.

use super::super::plugins;
use crate::diag::suggest;
use serde_json::Value as Json;

/// Keys whose value is the name of a plugin.
struct Reference {
    /// Keys from the root; `[]` stands for each item of a list.
    path: &'static [&'static str],
    /// The key of the name.
    key: &'static str,
    /// True if the key is required.
    is_required: bool,
}

const fn required(path: &'static [&'static str]) -> Reference {
    Reference { path, key: "pluginRef", is_required: true }
}

const fn optional(path: &'static [&'static str], key: &'static str) -> Reference {
    Reference { path, key, is_required: false }
}

/// All references, of all releases.
const REFERENCES: &[Reference] = &[
    required(&["schedulingProfiles", "[]", "plugins", "[]"]),
    required(&["dataLayer", "sources", "[]"]),
    required(&["dataLayer", "sources", "[]", "extractors", "[]"]),
    required(&["dataLayer", "discovery"]),
    required(&["dataLayer", "peerDiscovery"]),
    required(&["data", "sources", "[]"]),
    required(&["data", "sources", "[]", "extractors", "[]"]),
    required(&["requestHandler", "parsers", "[]"]),
    required(&["parser"]),
    optional(&["saturationDetector"], "pluginRef"),
    optional(&["dataLayer"], "crossReplicaSyncerPluginRef"),
    optional(&["flowControl"], "usageLimitPolicyPluginRef"),
    optional(&["flowControl", "saturationDetector"], "pluginRef"),
    optional(&["flowControl", "defaultPriorityBand"], "fairnessPolicyRef"),
    optional(&["flowControl", "defaultPriorityBand"], "orderingPolicyRef"),
    optional(&["flowControl", "defaultNegativePriorityBand"], "fairnessPolicyRef"),
    optional(&["flowControl", "defaultNegativePriorityBand"], "orderingPolicyRef"),
    optional(&["flowControl", "priorityBands", "[]"], "fairnessPolicyRef"),
    optional(&["flowControl", "priorityBands", "[]"], "orderingPolicyRef"),
];

/// Receives findings: a path in the configuration, a message and a hint.
pub(super) type Report<'r> = dyn FnMut(&str, String, String) + 'r;

/// Reports references to missing plugins. `own` are the plugin names in the configuration.
pub(super) fn check(config: &Json, own: &[&str], report: &mut Report<'_>) {
    for reference in REFERENCES {
        walk(config, reference.path, "", &mut |map, path| {
            check_one(map, reference, path, own, report);
        });
    }
}

/// Calls `visit` with each map at a path.
fn walk(json: &Json, path: &[&str], place: &str, visit: &mut dyn FnMut(&Json, &str)) {
    let Some((first, rest)) = path.split_first() else {
        if json.is_object() {
            visit(json, place);
        }
        return;
    };
    if *first == "[]" {
        for (index, item) in json.as_array().into_iter().flatten().enumerate() {
            walk(item, rest, &format!("{place}[{index}]"), visit);
        }
    } else if let Some(value) = json.get(*first).filter(|value| !value.is_null()) {
        walk(value, rest, &format!("{place}.{first}"), visit);
    }
}

fn check_one(map: &Json, reference: &Reference, path: &str, own: &[&str], report: &mut Report<'_>) {
    let key = reference.key;
    let name = map.get(key).and_then(Json::as_str).unwrap_or_default();
    // Policies and detectors can be referenced by type, without a plugin entry.
    let by_type = !reference.is_required && (name.is_empty() || plugins::is_known(name));
    if own.contains(&name) || by_type {
        return;
    }
    if name.is_empty() {
        let hint = "set the name of a plugin".to_owned();
        report(path, format!("missing `{key}`"), hint);
    } else {
        let hint = suggest::hint(name, own, "plugins");
        report(&format!("{path}.{key}"), format!("plugin `{name}` does not exist"), hint);
    }
}
