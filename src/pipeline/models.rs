//! The compiler of models, which a build without the feature `serving` does not have.

use crate::diag::{Code, Diagnostic, Diagnostics, Place, Span};
use bundle2chart_compile::models::ModelCompiler;

/// The compiler of `[[serving]]` and `[chart.maas]`.
pub(super) const MODELS: Option<&ModelCompiler> = {
    #[cfg(feature = "serving")]
    {
        Some(&bundle2chart_serving::MODELS)
    }
    #[cfg(not(feature = "serving"))]
    {
        None
    }
};

/// Returns the compiler for a table; without one the table is an error, so that no model is left out
/// silently.
pub(super) fn compiler(
    table: &str,
    span: &Span,
    diagnostics: &mut Diagnostics,
) -> Option<&'static ModelCompiler> {
    if MODELS.is_none() {
        let message = format!("`{table}`: this build of bundle2chart has no serving charts");
        diagnostics.push(
            Diagnostic::error(Code::InvalidValue, message)
                .at(Place::span(span.clone()))
                .hint("use a build with the feature `serving`, which is on by default"),
        );
    }
    MODELS
}
