//! `bundle2chart outdated`

use super::{Exit, Format, Invocation};
use crate::outdated::{self, Status, json, text};
use crate::pipeline;

/// Show which locked bundles have newer versions.
///
/// Compares bundles.lock with the catalogs and registries: the newest version in the channel and
/// anywhere, whether the tag moved, the upgrade path with its required steps, and deprecations.
/// Nothing is written.
#[derive(Debug, clap::Args)]
pub(super) struct Outdated {
    /// Names of bundles [default: all].
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Output format.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Exit with 1 if a bundle is outdated.
    #[arg(long)]
    exit_code: bool,
}

impl Outdated {
    pub(super) fn run(&self, invocation: &mut Invocation<'_>) -> Option<Exit> {
        invocation.output.keep_stdout_for(self.format);
        let (config, lock) = invocation.configuration_and_lock()?;
        let sources = invocation.sources(&config);
        let Invocation { output, diagnostics, .. } = invocation;
        let bundles = pipeline::select_bundles(&config, &self.names, diagnostics)?;
        let statuses = outdated::statuses(&bundles, &lock, &sources, diagnostics);

        match self.format {
            Format::Text => output.list(&text(&statuses)),
            Format::Json => output.document(&json(&statuses)),
        }
        let count = statuses.iter().filter(|status| status.is_outdated()).count();
        output.note_line(format!("{count} of {} outdated", statuses.len()));
        // A bundle that could not be looked up is neither.
        diagnostics.no_errors()?;
        let found = self.exit_code && statuses.iter().any(Status::is_outdated);
        Some(if found { Exit::Findings } else { Exit::Clean })
    }
}
