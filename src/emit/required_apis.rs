//! The template that fails if the cluster lacks a required API.

use super::template::quoted;
use std::fmt::Write as _;

/// Path in a chart. Helm evaluates `.tpl` files whose name has no leading underscore, and the
/// rendered text is empty, so it adds nothing to the release.
pub const REQUIRED_APIS: &str = "templates/required-apis.tpl";

/// Returns a template that fails if the cluster lacks an API. `apis` are `GROUP/VERSION/KIND`, each
/// with its message.
///
/// Without a cluster (`helm template`, `helm lint`), Helm only knows group versions and no kinds,
/// so nothing fails (Helm: `chart/common`, default capabilities).
pub fn required_apis(apis: &[(String, String)]) -> String {
    let mut text = "\
{{- /* Fails where the cluster lacks an API that this chart needs. Without a cluster (helm template, helm lint) it does \
nothing. */ -}}
{{- if .Capabilities.APIVersions.Has \"apps/v1/Deployment\" -}}
"
    .to_owned();
    for (api, sentence) in apis {
        let _ = writeln!(
            text,
            "{{{{- if not (.Capabilities.APIVersions.Has {}) -}}}}\n{{{{- fail {} -}}}}\n{{{{- end -}}}}",
            quoted(api),
            quoted(sentence)
        );
    }
    text.push_str("{{- end -}}\n");
    text
}
