#![no_main]
//! bundles.toml with its filters, and the models that it has. Filters are compiled and not run: only
//! the worker process bounds their memory.

use bundle2chart::config::Config;
use bundle2chart::diag::{Diagnostics, SourceText};
use bundle2chart::serving;
use bundle2chart_fuzz::memory::bounded;
use std::path::Path;
use std::sync::Arc;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
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
});
