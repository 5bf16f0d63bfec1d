//! Keys of an EndpointPickerConfig, and references to plugins among them.
//!
//! Source: the types of llm-d-router 0.10, which fails to start with unknown keys.

use crate::diag::suggest;
use crate::ir::push_key;
use serde_json::Value as Json;

/// A map in a configuration.
struct Table {
    /// Name in messages.
    name: &'static str,
    keys: &'static [(&'static str, Kind)],
}

/// Type of a key's value.
enum Kind {
    /// Any value, not checked further.
    Any,
    Table(&'static Table),
    List(&'static Table),
    /// A required reference to a plugin.
    Reference,
    /// An optional reference to a plugin.
    MayRefer,
}

use Kind::{Any, List, MayRefer, Reference};

static CONFIG: Table = Table {
    name: "an EndpointPickerConfig",
    keys: &[
        ("apiVersion", Any),
        ("kind", Any),
        ("featureGates", Any),
        ("plugins", List(&PLUGIN)),
        ("schedulingProfiles", List(&PROFILE)),
        ("dataLayer", Kind::Table(&DATA)),
        ("flowControl", Kind::Table(&FLOW)),
        ("requestHandler", Kind::Table(&HANDLER)),
        ("saturationDetector", Kind::Table(&DETECTOR)),
        ("parser", Kind::Table(&REFERENCE)),
    ],
};
static PLUGIN: Table =
    Table { name: "a plugin", keys: &[("name", Any), ("type", Any), ("parameters", Any)] };
static PROFILE: Table =
    Table { name: "a profile", keys: &[("name", Any), ("plugins", List(&SCHEDULED))] };
static SCHEDULED: Table =
    Table { name: "a reference", keys: &[("pluginRef", Reference), ("weight", Any)] };
static REFERENCE: Table = Table { name: "a reference", keys: &[("pluginRef", Reference)] };
static DETECTOR: Table = Table { name: "a reference", keys: &[("pluginRef", MayRefer)] };
static DATA: Table = Table {
    name: "dataLayer",
    keys: &[
        ("injectDefaults", Any),
        ("sources", List(&SOURCE)),
        ("discovery", Kind::Table(&REFERENCE)),
        ("peerDiscovery", Kind::Table(&REFERENCE)),
        ("crossReplicaSyncerPluginRef", MayRefer),
        ("crossReplicaSyncInterval", Any),
    ],
};
static SOURCE: Table =
    Table { name: "a source", keys: &[("pluginRef", Reference), ("extractors", List(&REFERENCE))] };
static HANDLER: Table = Table { name: "a request handler", keys: &[("parsers", List(&REFERENCE))] };
static FLOW: Table = Table {
    name: "flowControl",
    keys: &[
        ("maxBytes", Any),
        ("maxRequests", Any),
        ("defaultRequestTTL", Any),
        ("noEndpointRequestTTL", Any),
        ("defaultPriorityBand", Kind::Table(&BAND)),
        ("defaultNegativePriorityBand", Kind::Table(&BAND)),
        ("priorityBands", List(&BAND)),
        ("usageLimitPolicyPluginRef", MayRefer),
        ("saturationDetector", Kind::Table(&DETECTOR)),
        ("enableEviction", Any),
    ],
};
static BAND: Table = Table {
    name: "a priority band",
    keys: &[
        ("priority", Any),
        ("maxBytes", Any),
        ("maxRequests", Any),
        ("fairnessPolicyRef", MayRefer),
        ("orderingPolicyRef", MayRefer),
    ],
};

/// Receives findings: a path in the configuration, a message and a hint.
pub(super) type Report<'r> = dyn FnMut(&str, String, String) + 'r;

/// Reports unknown keys and references to missing plugins. `own` are the plugin names in the
/// configuration, `known` the types that policies can reference without a plugin entry.
pub(super) fn check(config: &Json, own: &[&str], known: &[&str], report: &mut Report<'_>) {
    walk(config, &CONFIG, "", own, known, report);
}

fn walk(
    json: &Json,
    table: &'static Table,
    path: &str,
    own: &[&str],
    known: &[&str],
    report: &mut Report<'_>,
) {
    let Some(map) = json.as_object() else {
        if !json.is_null() {
            let hint = format!("use keys such as `{}`", table.keys[0].0);
            report(path, format!("{} must be a map", table.name), hint);
        }
        return;
    };

    let names: Vec<&str> = table.keys.iter().map(|(name, _)| *name).collect();
    for key in map.keys().filter(|key| !names.contains(&key.as_str())) {
        let mut place = path.to_owned();
        push_key(&mut place, key);
        let hint = suggest::hint(key, &names, "keys");
        report(&place, format!("unknown key `{key}` in {}", table.name), hint);
    }

    for (key, kind) in table.keys {
        let value = map.get(*key).filter(|value| !value.is_null());
        let place = format!("{path}.{key}");
        match (kind, value) {
            (Any, _) | (Kind::Table(_) | List(_) | MayRefer, None) => {}
            (Kind::Table(inner), Some(value)) => walk(value, inner, &place, own, known, report),
            (List(inner), Some(Json::Array(items))) => {
                for (index, item) in items.iter().enumerate() {
                    walk(item, inner, &format!("{place}[{index}]"), own, known, report);
                }
            }
            (List(_), Some(_)) => {
                report(
                    &place,
                    format!("`{key}` must be a list"),
                    "write `- …` for each item".to_owned(),
                );
            }
            (Reference | MayRefer, value) => {
                let name = value.and_then(Json::as_str).unwrap_or_default();
                let by_type =
                    matches!(kind, MayRefer) && (name.is_empty() || known.contains(&name));
                if name.is_empty() && !by_type {
                    let message = format!("missing `{key}` in {}", table.name);
                    report(path, message, "set the name of a plugin".to_owned());
                } else if !own.contains(&name) && !by_type {
                    let hint = suggest::hint(name, own, "plugins");
                    report(path, format!("plugin `{name}` does not exist"), hint);
                }
            }
        }
    }
}
