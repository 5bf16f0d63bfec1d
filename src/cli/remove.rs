//! `bundle2chart remove`

use super::{Exit, Invocation};
use crate::add;

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
    pub(super) fn run(&self, invocation: &mut Invocation<'_>) -> Option<Exit> {
        let Invocation { global, output, diagnostics } = invocation;
        let text = add::remove(&global.config, &self.name, diagnostics)?;
        add::write(&global.config, &text, diagnostics)?;
        output.diagnostics(diagnostics);
        let (path, name) = (global.config.display(), &self.name);
        output.note_line(format!(
            "{path}: `{name}` removed; uninstall its releases, delete its charts, and run \
                `bundle2chart lock`"
        ));
        Some(Exit::Clean)
    }
}
