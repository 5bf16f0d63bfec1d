//! `bundle2chart remove`

use super::output::Output;
use super::{Exit, Global};
use crate::add;
use crate::diag::Diagnostics;
use crate::escape::Lines;

/// Remove a bundle from bundles.toml.
///
/// Removes the [[bundle]] table with its subtables and the comments directly above it. Charts in the
/// output directory are kept, because they may be installed.
#[derive(Debug, clap::Args)]
pub(super) struct Remove {
    /// Name of the bundle.
    #[arg(value_name = "NAME")]
    name: String,
}

impl Remove {
    pub(super) fn run(&self, global: &Global, output: &mut Output) -> Exit {
        let mut diagnostics = Diagnostics::new();
        let text = add::remove(&global.config, &self.name, &mut diagnostics);
        let written = text.is_some_and(|text| add::write(&global.config, &text, &mut diagnostics));
        output.diagnostics(&diagnostics);
        if !written {
            return Exit::Error;
        }
        let (path, name) = (global.config.display(), &self.name);
        let line = format!(
            "{path}: `{name}` removed; uninstall its releases, delete its charts, and run \
                `bundle2chart lock`"
        );
        output.note(&Lines::from_iter([line]));
        Exit::Clean
    }
}
