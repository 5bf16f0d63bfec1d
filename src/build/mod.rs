//! Builds charts: in, the configuration, its sources and the lock file; out, the charts in the output
//! directory, the files of deployment tools, and the lock file.

mod next_steps;
mod report;

use crate::config::{Config, Source};
use crate::deploy::{self, Release};
use crate::diag::{Code, Diagnostics};
use crate::lock::{self, Lock};
use crate::output::ownership::BUILD_REPORT;
use crate::output::{Changes, Mode, OutputDirectory, Staged, outdated, report_orphans};
use crate::pipeline::upgrade::{self, BuiltChart, Upgrades};
use crate::pipeline::{self, BuiltFiles, Inputs};
use crate::source::SourceResolver;
use std::path::{Path, PathBuf};

/// The charts to build, and where.
pub(crate) struct Request<'r> {
    pub config: &'r Config,
    /// The file of the configuration.
    pub config_path: &'r Path,
    pub sources: &'r SourceResolver,
    /// Names of bundles and models; none means all.
    pub names: &'r [String],
    /// The output directory.
    pub out: &'r Path,
    pub mode: Mode,
    /// True if the lock file must be complete, and is not written.
    pub locked: bool,
    /// Maximum number of threads.
    pub jobs: usize,
}

/// The result of a build.
pub(crate) struct Outcome<'r> {
    request: &'r Request<'r>,
    charts: Vec<BuiltChart>,
    releases: Vec<Release>,
    /// The files that were written, or that differ.
    changes: Changes,
    /// The lock file.
    lock_path: PathBuf,
    lock: LockFile,
    /// True if there was no output directory before.
    is_first: bool,
}

/// The lock file after a build.
struct LockFile {
    /// True if it has entries afterwards.
    has_entries: bool,
    is_stale: bool,
    /// The line about what was written; `None` without a change.
    written: Option<String>,
}

/// Builds charts. Returns a line for each filter and patch as well, also after an error.
pub(crate) fn build<'r>(
    request: &'r Request<'r>,
    diagnostics: &mut Diagnostics,
) -> (Vec<String>, Option<Outcome<'r>>) {
    let mut counts = Vec::new();
    let outcome = run(request, &mut counts, diagnostics);
    request.config.set_levels(diagnostics);
    (counts, outcome)
}

fn run<'r>(
    request: &'r Request<'r>,
    counts: &mut Vec<String>,
    diagnostics: &mut Diagnostics,
) -> Option<Outcome<'r>> {
    let Request { config, sources, names, out, .. } = *request;
    let lock_path = lock::path_of(request.config_path);
    let lock: Lock = diagnostics.report(lock::read(&lock_path)).unwrap_or_default();
    if request.locked {
        lock.check_complete(config, names, &lock_path, diagnostics);
    }
    not_in_source(out, config, diagnostics);
    diagnostics.no_errors()?;
    // Before the first chart is staged there.
    let is_first = !out.exists();
    // About the output directory; printed after the findings about bundles.
    let mut found = Diagnostics::new();
    let directory = OutputDirectory::open(out, request.mode, &mut found);

    let upgrades = Upgrades::new(out, config, sources);
    let finish = |chart| Finished::of(chart, out, config, &upgrades, directory.as_ref());
    let inputs = Inputs { config, sources, lock: &lock, jobs: request.jobs };
    let built = pipeline::build_with(&inputs, names, finish, diagnostics);
    *counts = built.counts;
    // A level can make an error of a warning, after which nothing may be written.
    config.set_levels(diagnostics);
    diagnostics.no_errors()?;

    // With --locked the lock file is not written.
    let new_lock = if request.locked { lock.clone() } else { lock.updated(config, built.locked) };
    let (charts, releases, staged) = collect(built.charts, found, diagnostics);
    // Files that cover all charts are only written by a build of all bundles.
    let deployment_files = names.is_empty().then(|| {
        let mut files = deploy::files(&releases, &config.deploy);
        files.insert(BUILD_REPORT.to_owned(), upgrade::summary(&charts).into_bytes());
        files
    });
    let keep = config.output.keep;
    let outdated_of = |BuiltChart { dir, version, .. }: &BuiltChart| {
        outdated(out, dir, version, keep, diagnostics)
    };
    let outdated: Vec<PathBuf> = charts.iter().flat_map(outdated_of).collect();
    // Without all bundles, charts of the others would look like orphans.
    if let Some(files) = &deployment_files {
        let dirs =
            charts.iter().map(|chart| chart.dir.as_path()).chain(files.keys().map(Path::new));
        let dirs: Vec<&Path> = dirs.collect();
        let argocd = config.deploy.argocd.as_ref();
        let are_installed = argocd.is_some_and(|argocd| argocd.discovery.is_some());
        report_orphans(out, &dirs, are_installed, diagnostics)?;
    }
    config.set_levels(diagnostics);
    diagnostics.no_errors()?;

    // The directory is missing only after an error that is reported above.
    let changes = directory?.finish(&staged, &outdated, deployment_files.as_ref(), diagnostics)?;
    let is_stale = new_lock != lock;
    // Written last, so that the lock file never has a bundle that was not built.
    let written = match request.mode {
        Mode::Write { .. } if is_stale => {
            diagnostics.report(lock::write(&lock_path, &new_lock))?.then(|| {
                let changes = lock::change::changes(&lock, &new_lock).len();
                let what = if lock.bundles.is_empty() { "locked" } else { "changed" };
                format!("{}: {changes} {what}; commit it", lock_path.display())
            })
        }
        _ => None,
    };
    let lock = LockFile { has_entries: !new_lock.bundles.is_empty(), is_stale, written };
    Some(Outcome { request, charts, releases, changes, lock_path, lock, is_first })
}

/// The results of a chart, without its files, which are freed early.
struct Finished {
    built: BuiltChart,
    release: Release,
    /// The CRDs moved, the operator would watch other namespaces, or the previous version cannot be
    /// compared.
    changed: Diagnostics,
    /// `None` after an error.
    staged: Option<Staged>,
    /// Errors: the chart cannot be compared or written.
    unsuitable: Diagnostics,
}

impl Finished {
    /// Reports the upgrade of a chart, and compares or stages its files.
    fn of(
        built: BuiltFiles,
        out: &Path,
        config: &Config,
        upgrades: &Upgrades<'_>,
        directory: Option<&OutputDirectory>,
    ) -> Self {
        let BuiltFiles { files: mut chart, release, release_bytes } = built;
        let mut changed: Diagnostics = pipeline::crds_moved(out, &chart).into_iter().collect();
        changed.extend(pipeline::watch_changed(out, &chart, &config.bundles));
        let upgrade = upgrades.report(&mut chart, &mut changed);
        let mut unsuitable = Diagnostics::new();
        Finished {
            built: BuiltChart::new(&chart, release_bytes, upgrade),
            release,
            changed,
            staged: directory.and_then(|directory| directory.stage(&chart, &mut unsuitable)),
            unsuitable,
        }
    }
}

/// Splits the results, with the findings about bundles before those about the output directory,
/// which begin with `found`.
fn collect(
    finished: Vec<Finished>,
    mut found: Diagnostics,
    diagnostics: &mut Diagnostics,
) -> (Vec<BuiltChart>, Vec<Release>, Vec<Staged>) {
    // In the order of bundles.toml, whichever thread was first.
    let (mut charts, mut releases, mut staged) = (Vec::new(), Vec::new(), Vec::new());
    for finished in finished {
        diagnostics.append(finished.changed);
        found.append(finished.unsuitable);
        charts.push(finished.built);
        releases.push(finished.release);
        staged.extend(finished.staged);
    }
    diagnostics.append(found);
    (charts, releases, staged)
}

/// Reports bundles and manifests in whose directory the charts would be written. A bundle may have the
/// configuration in its directory, too.
fn not_in_source(out: &Path, config: &Config, diagnostics: &mut Diagnostics) {
    let place = out.ancestors().find_map(|folder| folder.canonicalize().ok());
    let (Some(place), Ok(base)) = (place, config.base.canonicalize()) else { return };
    let folders = config.bundles.iter().flat_map(|bundle| match &bundle.source {
        Source::Path { path, span } => vec![(bundle, path, span)],
        Source::Manifests(manifests) => {
            manifests.paths.iter().map(|path| (bundle, &path.text, &path.span)).collect()
        }
        _ => Vec::new(),
    });
    for (bundle, path, span) in folders {
        let folder = base.join(path).canonicalize().ok();
        // Only `manifests` and `metadata` of the directory of a bundle are read.
        let is_read = |folder: &Path| {
            matches!(bundle.source, Source::Manifests(_)) || !base.starts_with(folder)
        };
        if folder.is_some_and(|folder| place.starts_with(&folder) && is_read(&folder)) {
            let (out, name) = (out.display(), &bundle.name);
            let message = format!("`{out}` is in the directory of the bundle or chart `{name}`");
            let hint = "use another directory for the charts: `--out DIR`, or `dir` in `[output]`";
            diagnostics.error(Code::OverlappingOutput, span, message, hint);
        }
    }
}
