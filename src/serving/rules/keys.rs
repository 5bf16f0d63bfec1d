//! References to plugins in an EndpointPickerConfig.
//!
//! Source: the loader of llm-d-router 0.10, which fails to start with a reference to a missing plugin.

use super::super::invariants::Reporter;
use super::super::plugins;
use crate::diag::suggest;
use serde_json::Value as Json;

/// A key whose value is the name of a plugin: the path of the maps with it, in which `[]` stands for each
/// item of a list, the key, and true if it is required.
type Reference = (&'static str, &'static str, bool);

/// All references, of all releases.
const REFERENCES: &[Reference] = &[
    ("schedulingProfiles.[].plugins.[]", "pluginRef", true),
    ("dataLayer.sources.[]", "pluginRef", true),
    ("dataLayer.sources.[].extractors.[]", "pluginRef", true),
    ("dataLayer.discovery", "pluginRef", true),
    ("dataLayer.peerDiscovery", "pluginRef", true),
    ("data.sources.[]", "pluginRef", true),
    ("data.sources.[].extractors.[]", "pluginRef", true),
    ("requestHandler.parsers.[]", "pluginRef", true),
    ("parser", "pluginRef", true),
    ("saturationDetector", "pluginRef", false),
    ("dataLayer", "crossReplicaSyncerPluginRef", false),
    ("flowControl", "usageLimitPolicyPluginRef", false),
    ("flowControl.saturationDetector", "pluginRef", false),
    ("flowControl.defaultPriorityBand", "fairnessPolicyRef", false),
    ("flowControl.defaultPriorityBand", "orderingPolicyRef", false),
    ("flowControl.defaultNegativePriorityBand", "fairnessPolicyRef", false),
    ("flowControl.defaultNegativePriorityBand", "orderingPolicyRef", false),
    ("flowControl.priorityBands.[]", "fairnessPolicyRef", false),
    ("flowControl.priorityBands.[]", "orderingPolicyRef", false),
];

/// Reports references to missing plugins. `own` are the plugin names in the configuration.
pub(super) fn check(config: &Json, own: &[&str], found: &mut Reporter<'_>) {
    for (path, key, is_required) in REFERENCES {
        walk(config, path, "", &mut |map, place| {
            let name = map.get(*key).and_then(Json::as_str).unwrap_or_default();
            // Policies and detectors can be referenced by type, without a plugin entry.
            let by_type = !is_required && (name.is_empty() || plugins::is_known(name));
            if own.contains(&name) || by_type {
                return;
            }
            if name.is_empty() {
                found.below(place, format!("missing `{key}`"), "set the name of a plugin");
            } else {
                let message = format!("plugin `{name}` does not exist");
                let hint = suggest::hint(name, own, "plugins");
                found.below(&format!("{place}.{key}"), message, hint);
            }
        });
    }
}

/// Calls `visit` with each map at a path, and with its place.
fn walk(json: &Json, path: &str, place: &str, visit: &mut dyn FnMut(&Json, &str)) {
    let (first, rest) = path.split_once('.').unwrap_or((path, ""));
    if path.is_empty() {
        if json.is_object() {
            visit(json, place);
        }
    } else if first == "[]" {
        for (index, item) in json.as_array().into_iter().flatten().enumerate() {
            walk(item, rest, &format!("{place}[{index}]"), visit);
        }
    } else if let Some(value) = json.get(first).filter(|value| !value.is_null()) {
        walk(value, rest, &format!("{place}.{first}"), visit);
    }
}
