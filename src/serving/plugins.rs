//! Categories of the plugins of endpoint pickers, and the roles that filters accept.
//!
//! Source: llm-d-router 0.10 and gateway-api-inference-extension 1.5. The plugins of each release are in
//! `releases`.

use super::releases::{GIE, LLM_D};
use crate::embedded;
use std::sync::LazyLock;

/// A key whose value is the name of a plugin: the path of the maps with it, in which `[]` stands for each
/// item of a list, the key, and true if it is required.
type Reference = (String, String, bool);

/// All references, of all releases. Source: the loader of llm-d-router 0.10, which fails to start with a
/// reference to a missing plugin.
pub(super) static REFERENCES: LazyLock<Vec<Reference>> =
    LazyLock::new(|| embedded::json(include_str!("releases/data/references.json")));

/// Returns true if any release of a picker has the plugin.
pub(super) fn is_known(kind: &str) -> bool {
    LLM_D.plugins.find(kind).is_some() || GIE.plugins.find(kind).is_some()
}

/// Returns true for plugins that remove endpoints.
pub(super) fn is_filter(kind: &str) -> bool {
    kind.ends_with("-filter") || matches!(kind, "by-label" | "by-label-selector")
}

/// Returns true for plugins that select among scheduling profiles.
pub(super) fn is_profile_handler(kind: &str) -> bool {
    kind.ends_with("-profile-handler")
}

/// Returns the role whose requests a decider of llm-d decides on; `None` for other plugins.
pub(super) fn decides(kind: &str) -> Option<&'static str> {
    let roles = [("-multimodal-decider", "encode"), ("-pd-decider", "prefill")];
    roles.into_iter().find_map(|(end, role)| kind.ends_with(end).then_some(role))
}

/// Returns true if a filter of endpoints is for pods of this role; `None` for plugins that are not role filters.
///
/// Source: llm-d-router, bylabel/roles.go: roles are joined by dashes, `both` is prefill and decode, and pods without
/// the label decode.
pub(super) fn accepts(filter: &str, role: Option<&str>) -> Option<bool> {
    let part = filter.strip_suffix("-filter")?;
    let accepts = match role {
        None => part == "decode",
        Some("both") => part != "encode",
        Some(role) => {
            "encode-prefill-decode".contains(role) && role.split('-').any(|one| one == part)
        }
    };
    matches!(part, "encode" | "prefill" | "decode").then_some(accepts)
}
