//! bundles.toml with its filters, and the models that it has. Filters are compiled and not run: only
//! the worker process bounds their memory.

use super::super::memory::bounded;
use bundle2chart::config::Config;
use bundle2chart::diag::{Diagnostics, SourceText};
use bundle2chart::serving;
use std::path::Path;
use std::sync::Arc;

/// Checks one input.
pub fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let source = Arc::new(SourceText { name: "bundles.toml".into(), text: text.to_owned() });
    let mut diagnostics = Diagnostics::new();
    let base = Path::new("/nowhere");
    let config = bounded(128, || Config::parse(&source, base, &mut diagnostics));
    let Some(config) = config else {
        assert!(diagnostics.has_errors(), "rejected without an error");
        return;
    };
    assert!(!diagnostics.has_errors(), "accepted with an error");

    for model in &config.servings {
        bounded(128, || {
            if let Some(unit) = serving::compile(model, &mut diagnostics) {
                serving::check(&unit, model, &mut diagnostics);
            }
        });
    }
}
