//! `bundle2chart lock`

use super::access::access;
use super::output::Output;
use super::{Exit, Global};
use crate::config::BundleConfig;
use crate::diag::Diagnostics;
use crate::escape::Lines;
use crate::lock::change::{Change, changes};
use crate::source::SourceResolver;
use crate::{lock, pipeline};

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
    /// Do not write anything; exit with 1 if the lock file would change.
    #[arg(long)]
    check: bool,
    /// Number of parallel jobs [default: 16].
    #[arg(short, long, value_name = "N")]
    jobs: Option<std::num::NonZeroUsize>,
}

impl LockCommand {
    pub(super) fn run(&self, global: &Global, output: &mut Output) -> Exit {
        let mut diagnostics = Diagnostics::new();
        self.update(global, output, &mut diagnostics).unwrap_or_else(|| {
            output.diagnostics(&diagnostics);
            Exit::Error
        })
    }

    /// Updates the lock file and prints the changes; `None` after an error that is not printed yet.
    fn update(
        &self,
        global: &Global,
        output: &mut Output,
        diagnostics: &mut Diagnostics,
    ) -> Option<Exit> {
        let (config, old) = super::configuration_and_lock(global, output, diagnostics)?;
        let path = lock::path_of(&global.config);
        let upgraded = match &self.upgrade {
            Some(names) => pipeline::select_bundles(&config, names, diagnostics)?,
            None => Vec::new(),
        };
        let missing = old.missing(&config, &[]);
        let is_needed = |bundle: &&BundleConfig| {
            upgraded.iter().chain(&missing).any(|other| other.name == bundle.name)
        };
        let needed: Vec<&BundleConfig> = config.bundles.iter().filter(is_needed).collect();
        let sources = SourceResolver::of(&config, access(global));
        let jobs = self.jobs.map_or(pipeline::REGISTRY_JOBS, Into::into);
        let entries = pipeline::lock(&sources, &old, &needed, self.latest, jobs, diagnostics);
        config.set_levels(diagnostics);
        if diagnostics.has_errors() {
            return None;
        }
        let new = old.updated(&config, entries);
        let changes = changes(&old, &new);
        let mut lines = Lines::new();
        changes.iter().map(Change::describe).for_each(|change| lines.append(change));
        output.list(&lines);
        output.diagnostics(diagnostics);
        let count = changes.len();
        let (state, exit) = if changes.is_empty() {
            ("unchanged".to_owned(), Exit::Clean)
        } else if self.check {
            (format!("{count} would change"), Exit::Findings)
        } else {
            if let Err(fatal) = lock::write(&path, &new) {
                output.diagnostics(&Diagnostics::from(fatal));
                return Some(Exit::Error);
            }
            (format!("{count} changed"), Exit::Clean)
        };
        let line = format!("{}: {state}, {} locked", path.display(), new.bundles.len());
        output.note(&Lines::from_iter([line]));
        Some(exit)
    }
}
