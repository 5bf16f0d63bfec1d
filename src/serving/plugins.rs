//! Categories of the plugins of endpoint pickers, and the roles that filters accept.
//!
//! Source: llm-d-router 0.10 and gateway-api-inference-extension 1.5. The plugins of each release are in
//! `releases`.

use super::releases::{GIE, LLM_D};

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
