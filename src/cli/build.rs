//! `bundle2chart build`

use super::output::Output;
use super::{Exit, Invocation, cpus};
use crate::chart;
use crate::config::{Config, Deploy, Source};
use crate::deploy::{self, Planned, Release};
use crate::diag::{Code, Diagnostic, Diagnostics, listed};
use crate::escape::{self, Lines};
use crate::lock::{self, Lock};
use crate::output::ownership::{BUILD_REPORT, UPGRADE_REPORT};
use crate::output::{Changes, ChartFiles, Comparison, Mode, OutputDirectory, Staged, outdated};
use crate::pipeline::upgrade::{self, BuiltChart, Upgrades};
use crate::pipeline::{self, Inputs};
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

/// Lines of a small terminal window, which the output fits if it is enough to leave out notes.
const SCREEN: usize = 25;

/// Compile bundles to Helm charts.
#[derive(Debug, clap::Args)]
pub(super) struct Build {
    /// Names of bundles [default: all].
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Do not write anything; list missing, stale and extra files, and exit with 1 if there are any.
    #[arg(long)]
    check: bool,
    /// Overwrite existing chart versions with different content.
    #[arg(long, conflicts_with = "check")]
    replace: bool,
    /// Require an up-to-date lock file; do not write it.
    #[arg(long)]
    locked: bool,
    /// Output directory, overrides `dir` in the configuration.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Number of parallel jobs [default: number of CPUs].
    #[arg(short, long, value_name = "N", value_parser = at_least_one)]
    jobs: Option<NonZeroUsize>,
}

fn at_least_one(text: &str) -> Result<NonZeroUsize, String> {
    let number: usize = text.parse().map_err(|error| format!("{error}"))?;
    NonZeroUsize::new(number).ok_or_else(|| "it must be at least 1".to_owned())
}

impl Build {
    pub(super) fn run(&self, invocation: &mut Invocation<'_>) -> Option<Exit> {
        let (exit, last_lines) = self.build(invocation)?;
        let Invocation { global, output, diagnostics } = invocation;
        let left = SCREEN.saturating_sub(last_lines.as_str().lines().count());
        let most = if global.verbose > 0 { usize::MAX } else { left };
        output.diagnostics_within(diagnostics, most);

        // The summary comes last, where users look first.
        output.note(&last_lines);
        (!diagnostics.has_errors()).then_some(exit)
    }

    /// Builds, and returns the lines to print last; `None` after an error.
    fn build(&self, invocation: &mut Invocation<'_>) -> Option<(Exit, Lines)> {
        let config = invocation.configuration()?;
        let sources = invocation.sources(&config);
        let Invocation { global, output, diagnostics } = invocation;
        let lock_path = lock::path_of(&global.config);
        let lock: Lock = diagnostics.report(lock::read(&lock_path)).unwrap_or_default();
        if self.locked {
            lock.check_complete(&config, &self.names, &lock_path, diagnostics);
        }
        diagnostics.no_errors()?;

        let out = self.out.clone().unwrap_or_else(|| config.out());
        not_in_source(&out, &config, diagnostics);
        diagnostics.no_errors()?;
        // Before the first chart is staged there.
        let is_first = !out.exists();
        // About the output directory; printed after the findings about bundles.
        let mut found = Diagnostics::new();
        let mode = if self.check { Mode::Check } else { Mode::Write { replace: self.replace } };
        let directory = OutputDirectory::open(&out, mode, &mut found);

        let upgrades = Upgrades::new(&out, &config, &sources);
        let finish = |chart| Finished::of(chart, &out, &config, &upgrades, directory.as_ref());
        let jobs = self.jobs.map_or_else(cpus, Into::into);
        let inputs = Inputs { config: &config, sources: &sources, lock: &lock, jobs };
        let built = pipeline::build_with(&inputs, &self.names, finish, diagnostics);
        if global.verbose > 0 {
            output.note(&built.counts.iter().collect());
        }
        // A level can make an error of a warning, after which nothing may be written.
        config.set_levels(diagnostics);
        diagnostics.no_errors()?;

        // With --locked the lock file is not written.
        let new_lock = if self.locked { lock.clone() } else { lock.updated(&config, built.locked) };
        let stale = (new_lock != lock).then_some(lock_path.as_path());

        let (charts, staged) = collect(built.charts, found, diagnostics);
        // Files that cover all charts are only written by a build of all bundles.
        let deployment_files = self.names.is_empty().then(|| {
            let mut files = deploy::files(&built.releases, &config.deploy);
            files.insert(BUILD_REPORT.to_owned(), upgrade::summary(&charts).into_bytes());
            files
        });
        let keep = config.output.keep;
        let outdated_of = |BuiltChart { dir, version, .. }: &BuiltChart| {
            outdated(&out, dir, version, keep, diagnostics)
        };
        let outdated: Vec<PathBuf> = charts.iter().flat_map(outdated_of).collect();
        config.set_levels(diagnostics);
        diagnostics.no_errors()?;

        // The directory is missing only after an error that is reported above.
        let finished =
            directory?.finish(&staged, &outdated, deployment_files.as_ref(), diagnostics);
        let ended = finished.and_then(|changes| {
            if self.check {
                let comparison = &changes.differences;
                return Some(self.checked(comparison, stale, output, diagnostics, &out));
            }
            let mut summary = summary(&charts, &built.release_bytes, &changes, &out, is_first);
            // Written last, so that the lock file never has a bundle that was not built.
            if let Some(path) = stale
                && diagnostics.report(lock::write(path, &new_lock))?
            {
                let changes = lock::change::changes(&lock, &new_lock).len();
                let what = if lock.bundles.is_empty() { "locked" } else { "changed" };
                summary.push(format!("{}: {changes} {what}; commit it", path.display()));
            }
            let is_changed = |chart: &&BuiltChart| {
                changes.created.contains(&chart.dir) || changes.updated.contains(&chart.dir)
            };
            let changed: Vec<&BuiltChart> = charts.iter().filter(is_changed).collect();
            let mut files = changes.deployment_files.iter();
            let tools = tool_commands(&config.deploy, &out);
            let has_files =
                !tools.is_empty() && files.any(|file| file.as_path() != Path::new(BUILD_REPORT));
            if !changed.is_empty() || has_files {
                let lock = (!new_lock.bundles.is_empty()).then_some(lock_path.as_path());
                let files = [global.config.as_path()].into_iter().chain(lock);
                let next = NextSteps {
                    changed,
                    releases: &built.releases,
                    tools,
                    is_whole: self.names.is_empty(),
                    files: files.chain([out.as_path()]).collect(),
                    out: &out,
                    is_first,
                };
                summary.append(next.lines());
            }
            Some((Exit::Clean, summary))
        });
        config.set_levels(diagnostics);
        ended
    }

    fn checked(
        &self,
        comparison: &Comparison,
        stale_lock: Option<&Path>,
        output: &mut Output,
        diagnostics: &mut Diagnostics,
        out: &Path,
    ) -> (Exit, Lines) {
        // Without all bundles, charts of the others would look like orphans.
        if self.names.is_empty() {
            comparison.warn_about_orphans(out, diagnostics);
        }
        let mut lines = Lines::new();
        for (word, paths) in [
            ("missing", &comparison.missing),
            ("stale", &comparison.stale),
            ("extra", &comparison.extra),
            ("foreign", &comparison.foreign),
        ] {
            for path in paths {
                lines.push(format!("{word} {}", out.join(path).display()));
            }
        }

        if let Some(path) = stale_lock {
            lines.push(format!("stale {}", path.display()));
        }
        output.list(&lines);
        if comparison.is_current() && stale_lock.is_none() {
            let line = format!("{} is up to date", out.display());
            return (Exit::Clean, Lines::from_iter([line]));
        }

        let replace = match comparison.needs_replace {
            true => " --replace`, or declare the edits and raise `chart-version",
            false => "",
        };
        let line = format!("{} is out of date: run `bundle2chart build{replace}`", out.display());
        (Exit::Findings, Lines::from_iter([line]))
    }
}

/// The results of a chart, without its files, which are freed early.
struct Finished {
    built: BuiltChart,
    /// A warning that the CRDs moved, and an error that the operator would watch other namespaces.
    changed: Diagnostics,
    /// Warnings: the previous version cannot be compared.
    problems: Diagnostics,
    /// `None` after an error.
    staged: Option<Staged>,
    /// Errors: the chart cannot be compared or written.
    unsuitable: Diagnostics,
}

impl Finished {
    /// Reports the upgrade of a chart, and compares or stages its files.
    fn of(
        mut chart: ChartFiles,
        out: &Path,
        config: &Config,
        upgrades: &Upgrades<'_>,
        directory: Option<&OutputDirectory>,
    ) -> Self {
        let moved = pipeline::crds_moved(out, &chart).into_iter();
        let mut problems = Diagnostics::new();
        let upgrade = upgrades.report(&mut chart, &mut problems);
        let mut unsuitable = Diagnostics::new();
        Finished {
            built: BuiltChart::new(&chart, upgrade),
            changed: moved.chain(pipeline::watch_changed(out, &chart, &config.bundles)).collect(),
            problems,
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
) -> (Vec<BuiltChart>, Vec<Staged>) {
    // In the order of bundles.toml, whichever thread was first.
    let (mut charts, mut staged, mut warnings) = (Vec::new(), Vec::new(), Diagnostics::new());
    for finished in finished {
        diagnostics.append(finished.changed);
        warnings.append(finished.problems);
        found.append(finished.unsuitable);
        charts.push(finished.built);
        staged.extend(finished.staged);
    }
    diagnostics.append(warnings);
    diagnostics.append(found);
    (charts, staged)
}

/// Reports bundles in whose directory the charts would be written, unless the configuration is there,
/// too.
fn not_in_source(out: &Path, config: &Config, diagnostics: &mut Diagnostics) {
    let place = out.ancestors().find_map(|folder| folder.canonicalize().ok());
    let (Some(place), Ok(base)) = (place, config.base.canonicalize()) else { return };
    for bundle in &config.bundles {
        let Source::Path { path, span } = &bundle.source else { continue };
        let folder = base.join(path).canonicalize().ok();
        if folder.is_some_and(|folder| place.starts_with(&folder) && !base.starts_with(&folder)) {
            let (out, name) = (out.display(), &bundle.name);
            let message = format!("`{out}` is in the directory of the bundle `{name}`");
            diagnostics.push(
                Diagnostic::error(Code::OverlappingOutput, message).at(span).hint(
                    "use another directory for the charts: `--out DIR`, or `dir` in `[output]`",
                ),
            );
        }
    }
}

/// The facts that the next steps after a build depend on.
struct NextSteps<'b> {
    /// The charts that were created or updated.
    changed: Vec<&'b BuiltChart>,
    releases: &'b [Release],
    /// The commands of the deployment tools that the configuration has.
    tools: Vec<String>,
    /// True if all bundles were built: only then are the files of deployment tools written.
    is_whole: bool,
    /// The files to commit.
    files: Vec<&'b Path>,
    out: &'b Path,
    /// True if there was no chart before.
    is_first: bool,
}

impl NextSteps<'_> {
    /// Returns the reports to read, and the commands of the deployment tools that the configuration has,
    /// else one of Helm for each release.
    fn lines(&self) -> Lines {
        let Self { releases, out, .. } = self;
        let mut lines = Lines::new();
        for chart in &self.changed {
            let Some(upgrade) = &chart.upgrade else { continue };
            let report = out.join(&chart.dir).join(UPGRADE_REPORT);
            lines.push(format!("{}: {upgrade}", report.display()));
        }
        if !self.tools.is_empty() && !self.is_whole && !self.is_first {
            lines
                .push("next: run `bundle2chart build`, which writes the files of deployment tools");
            return lines;
        }

        // A first build of some bundles is a trial.
        let tools = if self.is_whole { self.tools.as_slice() } else { &[] };
        // Each of the tools installs all charts.
        let with = if tools.len() > 1 { " with one of" } else { "" };
        let files: Vec<String> = self.files.iter().map(|file| file.display().to_string()).collect();
        let files = listed(&files, 3);
        let (what, command) = match self.is_first {
            true => ("install", "install"),
            // Some releases may be in the cluster.
            false => ("install or upgrade", "upgrade --install"),
        };
        let read = match self.changed.iter().any(|chart| chart.upgrade.is_some()) {
            true => format!("read {UPGRADE_REPORT}, "),
            false => String::new(),
        };
        lines.push(format!("next: {read}commit {files}, and {what} the charts{with}:"));
        for (needed, name) in not_built(releases, out) {
            lines.push(format!(
                "  bundle2chart build {needed} # first, because {name} depends on it"
            ));
        }
        let plan = deploy::plan(releases).into_iter().filter(|_| tools.is_empty());
        for Planned { release, creates_namespace, .. } in plan {
            let Release { name, namespace, dir, .. } = release;
            if self.changed.iter().any(|chart| chart.dir == Path::new(dir)) {
                let create = if creates_namespace { " --create-namespace" } else { "" };
                let chart = shell(&out.join(dir));
                lines.push(format!(
                    "  helm {command} {name} {chart} --namespace {namespace}{create}"
                ));
            }
        }
        tools.iter().for_each(|tool| lines.push(tool));
        lines
    }
}

/// Returns the commands with which deployment tools install all charts.
fn tool_commands(deploy: &Deploy, out: &Path) -> Vec<String> {
    let Deploy { helmfile, argocd, flux, .. } = deploy;
    let commands = [
        (helmfile.as_ref(), "helmfile --file", " apply"),
        (argocd.as_ref().map(|argocd| &argocd.dir), "kubectl apply --filename", ""),
        (flux.as_ref().map(|flux| &flux.dir), "kubectl apply --kustomize", ""),
    ];
    let commands = commands.into_iter().filter_map(|(file, command, end)| {
        Some(format!("  {command} {}{end}", shell(&out.join(file?))))
    });
    commands.collect()
}

/// Returns a path as a word of a command.
fn shell(path: &Path) -> String {
    escape::shell::quoted(&path.display().to_string())
}

/// Returns the dependencies that have no chart in the output directory, each with a bundle that has it.
fn not_built<'r>(releases: &'r [Release], out: &Path) -> BTreeMap<&'r str, &'r str> {
    let is_missing = |bundle: &String| {
        releases.iter().all(|it| it.bundle != *bundle) && !out.join(bundle).exists()
    };
    let needed = releases.iter().flat_map(|it| it.depends_on.iter().map(move |name| (name, it)));
    let missing = needed.filter(|(name, _)| is_missing(name));
    missing.map(|(name, it)| (name.as_str(), it.bundle.as_str())).collect()
}

/// Returns the build summary: a line per chart, and a total.
fn summary(
    charts: &[BuiltChart],
    release_bytes: &BTreeMap<PathBuf, usize>,
    changes: &Changes,
    out: &Path,
    is_first: bool,
) -> Lines {
    let mut text = Lines::new();
    let width = charts.iter().map(|chart| chart.dir.as_os_str().len()).max().unwrap_or(0);
    for chart in charts {
        let what = if changes.created.contains(&chart.dir) {
            "created"
        } else if changes.updated.contains(&chart.dir) {
            "updated"
        } else {
            "unchanged"
        };
        let BuiltChart { templates, crds, bytes, .. } = chart;
        let bytes_of_release = release_bytes.get(&chart.dir).copied().unwrap_or(0);
        let share = chart::release_share(bytes_of_release);
        text.push(format!(
            "{:<width$}  {what:<9}  {templates:>3} template{}  {crds:>3} CRD{}  release Secret \
                {share:>7} of 1 MiB  {:>5} KiB",
            chart.dir.display(),
            if *templates == 1 { " " } else { "s" },
            if *crds == 1 { " " } else { "s" },
            bytes.div_ceil(1024),
        ));
    }
    for dir in &changes.removed {
        text.push(format!("{:<width$}  removed", dir.display()));
    }
    let mut deployment_files: BTreeMap<_, usize> = BTreeMap::new();
    // REPORT.md is about all charts, and installs none.
    let reported =
        changes.deployment_files.iter().filter(|file| file.as_path() != Path::new(BUILD_REPORT));
    for first in reported.filter_map(|file| file.iter().next()) {
        *deployment_files.entry(first).or_default() += 1;
    }
    for (name, count) in deployment_files {
        let files = if count == 1 { "file" } else { "files" };
        let what = if is_first { "created" } else { "updated" };
        text.push(format!("{:<width$}  {what:<9}  {count:>3} {files}", name.display()));
    }
    text.push(format!(
        "{}: {} created, {} updated, {} unchanged",
        out.display(),
        changes.created.len(),
        changes.updated.len(),
        changes.unchanged.len()
    ));
    text
}
