//! Configurations for tests.

use crate::config::Config;
use crate::diag::{Diagnostics, SourceText};
use std::path::Path;
use std::sync::Arc;

/// A table of one bundle.
pub(super) const LAMP: &str = "[[bundle]]\nname = \"lamp\"\npath = \"bundle\"\n";

/// Parses a bundles.toml without mistakes.
pub(super) fn config(text: &str) -> Config {
    let source = SourceText { name: "bundles.toml".to_owned(), text: text.to_owned() };
    let mut found = Diagnostics::new();
    let config = Config::parse(&Arc::new(source), Path::new("."), &mut found);
    config.unwrap_or_else(|| panic!("{found:?}"))
}
