//! The compiler of models, which a build without the feature `serving` does not have.

use crate::diag::{Code, Diagnostics, Span};
use bundle2chart_compile::models::ModelCompiler;

/// The compiler of `[[serving]]` and `[chart.maas]`.
#[cfg(feature = "serving")]
pub(super) const MODELS: Option<&ModelCompiler> = Some(&bundle2chart_serving::MODELS);
#[cfg(not(feature = "serving"))]
pub(super) const MODELS: Option<&ModelCompiler> = None;

/// Returns the compiler for a table; without one the table is an error, so that no model is left out
/// silently.
pub(super) fn compiler(
    table: &str,
    span: &Span,
    diagnostics: &mut Diagnostics,
) -> Option<&'static ModelCompiler> {
    if MODELS.is_none() {
        let message = format!("`{table}`: this build of bundle2chart has no serving charts");
        let hint = "use a build with the feature `serving`, which is on by default";
        diagnostics.error(Code::InvalidValue, span, message, hint);
    }
    MODELS
}

#[cfg(test)]
#[cfg(not(feature = "serving"))]
mod tests {
    use crate::config::Config;
    use crate::diag::{Code, Diagnostics, SourceText};
    use crate::lock::Lock;
    use crate::pipeline;
    use crate::source::{Access, SourceResolver};
    use std::path::Path;
    use std::sync::Arc;

    #[test]
    fn models_and_their_platform_are_refused_by_name() {
        let text = "
[[chart]]
name = \"gateway\"
chart-version = \"1.0.0\"
[chart.maas.gateway]
class = \"istio\"
hostname = \"maas.example.com\"
tls-secret = \"maas-gateway-tls\"
namespaces = [\"models\"]

[[serving]]
name = \"qwen3-8b\"
model = \"hf://Qwen/Qwen3-8B\"
engine = { image = \"vllm/vllm-openai:v0.33.0\" }
";
        let text = SourceText { name: "bundles.toml".to_owned(), text: text.to_owned() };
        let mut diagnostics = Diagnostics::new();
        let config = Config::parse(&Arc::new(text), Path::new("."), &mut diagnostics).unwrap();
        let sources = SourceResolver::of(&config, Access::default());
        let lock = Lock::default();
        let inputs = pipeline::Inputs { config: &config, sources: &sources, lock: &lock, jobs: 1 };
        let built = pipeline::build(&inputs, &[], &mut diagnostics);

        assert!(built.charts.is_empty());
        let found: Vec<(Code, &str)> =
            diagnostics.iter().map(|found| (found.code, found.message.as_str())).collect();
        let refused =
            |table: &str| format!("`{table}`: this build of bundle2chart has no serving charts");
        assert_eq!(
            found,
            [
                (Code::InvalidValue, refused("[chart.maas]").as_str()),
                (Code::InvalidValue, refused("[[serving]]").as_str()),
            ]
        );
    }
}
