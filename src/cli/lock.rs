//! `bundle2chart lock`

use super::{Exit, Invocation};
use crate::config::{BundleConfig, Source};
use crate::diag::Diagnostics;
use crate::escape::Lines;
use crate::lock::change::changes;
use crate::{add, lock, pipeline};

/// Resolve tags to digests and write bundles.lock.
///
/// Adds bundles that are missing from the lock file, and removes those that are no longer
/// configured. Locked bundles are only updated with `--upgrade`.
#[derive(Debug, clap::Args)]
pub(super) struct LockCommand {
    /// Resolve the tags of these bundles again [default: all].
    #[arg(long, value_name = "NAME", num_args = 0..)]
    upgrade: Option<Vec<String>>,
    /// With --upgrade, lock what bundles.toml selects, even if the catalog's upgrade path has required
    /// versions before it. Without, stop at the next required version.
    #[arg(long, requires = "upgrade")]
    latest: bool,
    /// With --upgrade and one NAME, set this tag of its image in bundles.toml.
    #[arg(long, value_name = "TAG", requires = "upgrade", conflicts_with = "check")]
    to: Option<String>,
    /// Do not write anything; exit with 1 if the lock file would change.
    #[arg(long)]
    check: bool,
    /// Number of parallel jobs [default: 16].
    #[arg(short, long, value_name = "N", value_parser = super::build::at_least_one)]
    jobs: Option<std::num::NonZeroUsize>,
}

impl LockCommand {
    pub(super) fn run(&self, invocation: &mut Invocation<'_>) -> Option<Exit> {
        let (mut config, old) = invocation.configuration_and_lock()?;
        let sources = invocation.sources(&config);
        let Invocation { global, output, diagnostics } = invocation;
        let names = self.upgrade.as_deref();
        let edited = match (&self.to, names) {
            (Some(tag), Some(names)) => Some(add::set_tag(&mut config, names, tag, diagnostics)?),
            _ => None,
        };
        let path = lock::path_of(&global.config);
        let upgraded = match names {
            Some(names) => pipeline::select_bundles(&config, names, diagnostics)?,
            None => Vec::new(),
        };
        // All of them, also with names: a lock file is for the whole configuration.
        let missing = old.missing(&config, &[]);
        let is_needed = |bundle: &&BundleConfig| {
            upgraded.iter().chain(&missing).any(|other| other.name == bundle.name)
        };
        let needed: Vec<&BundleConfig> = config.bundles.iter().filter(is_needed).collect();
        let jobs = self.jobs.map_or(pipeline::REGISTRY_JOBS, Into::into);
        let entries = pipeline::lock(&sources, &old, &needed, self.latest, jobs, diagnostics);
        config.set_levels(diagnostics);
        diagnostics.no_errors()?;
        let new = old.updated(&config, entries);
        let changes = changes(&old, &new);
        let count = changes.len();
        let mut lines = Lines::new();
        changes.into_iter().for_each(|change| lines.append(change));
        output.list(&lines);
        output.diagnostics(diagnostics);
        let (state, exit) = if count == 0 {
            ("unchanged".to_owned(), Exit::Clean)
        } else if self.check {
            (format!("{count} would change"), Exit::Findings)
        } else {
            // Separate, because all others are printed.
            let mut failed = Diagnostics::new();
            // bundles.toml first: an entry for the old tag is then another source's, and written
            // again by the next `lock` or `build`.
            let written = edited
                .is_none_or(|(path, text)| add::write(&path, &text, &mut failed).is_some())
                && failed.report(lock::write(&path, &new)).is_some();
            if !written {
                output.diagnostics(&failed);
                return None;
            }
            (format!("{count} changed"), Exit::Clean)
        };
        let line = format!("{}: {state}, {} locked", path.display(), new.bundles.len());
        let mut lines = Lines::from_iter([line]);
        let is_image = |bundle: &&BundleConfig| matches!(bundle.source, Source::Image { .. });
        if let (0, Some(bundle)) = (count, upgraded.iter().copied().find(is_image)) {
            lines.push(format!(
                "tags in {} are unchanged; set another one with `bundle2chart lock --upgrade {} --to TAG`",
                global.config.display(),
                bundle.name
            ));
        }
        output.note(&lines);
        Some(exit)
    }
}
