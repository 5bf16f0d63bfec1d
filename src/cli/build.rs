//! `bundle2chart build`

use super::access::access;
use super::output::Output;
use super::{Exit, Global};
use crate::chart;
use crate::config::Config;
use crate::deploy;
use crate::diag::{Code, Diagnostic, Diagnostics, Place};
use crate::emit::ownership::BUILD_REPORT;
use crate::emit::{self, ChartFiles, Comparison, Written};
use crate::lock::{self, Lock};
use crate::pipeline::{self, upgrade};
use crate::source::Supply;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Compile bundles to charts.
#[derive(Debug, clap::Args)]
pub(super) struct Build {
    /// Names of bundles; all when there are none.
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Write nothing; list missing, stale and extra files, and exit with 1 if there are any.
    #[arg(long)]
    check: bool,
    /// Allow new content under a chart version that exists.
    #[arg(long, conflicts_with = "check")]
    replace: bool,
    /// Fail unless the lock file has everything that is built; it is not written.
    #[arg(long)]
    locked: bool,
    /// Output folder, instead of the configuration's.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// How many bundles to compile at a time; all processors by default.
    #[arg(short, long, value_name = "N")]
    jobs: Option<std::num::NonZeroUsize>,
}

impl Build {
    pub(super) fn run(&self, global: &Global, output: &mut Output) -> Exit {
        let (config, mut diagnostics) = Config::read(&global.config);
        let Some(config) = config else {
            output.diagnostics(&diagnostics);
            return Exit::Error;
        };
        let lock_path = lock::path_of(&global.config);
        let lock = lock::read(&lock_path).unwrap_or_else(|problems| {
            diagnostics.append(problems);
            Lock::default()
        });
        if self.locked {
            diagnostics.append(not_locked(&lock, &config, &self.names, &lock_path));
        }
        if diagnostics.has_errors() {
            output.diagnostics(&diagnostics);
            return Exit::Error;
        }
        let jobs = self.jobs.or_else(|| std::thread::available_parallelism().ok());
        let supply = Supply::of(&config, access(global));
        let built =
            pipeline::build(&config, &supply, &lock, &self.names, jobs.map_or(1, Into::into));
        diagnostics.append(built.diagnostics);
        if global.verbose > 0 {
            output.note(&built.counts.iter().fold(String::new(), |text, line| text + line + "\n"));
        }
        if diagnostics.has_errors() {
            output.diagnostics(&diagnostics);
            return Exit::Error;
        }
        let (mut charts, release_bytes) = (built.charts, built.release_bytes);
        let new_lock = lock.updated(&config, built.locked);
        let out = self.out.clone().unwrap_or_else(|| config.out());
        diagnostics.append(emit::crds_moved(&out, &charts));
        let jobs = jobs.map_or(1, Into::into);
        let reports = upgrade::reports(&mut charts, &out, &config, &supply, jobs);
        diagnostics.append(reports.diagnostics);
        // What is about some of the charts would forget the others.
        let beside = self.names.is_empty().then(|| {
            let mut files = deploy::files(&built.releases, &config.deploy);
            let report = upgrade::summary(&charts, &reports.upgrades);
            files.insert(BUILD_REPORT.to_owned(), report.into_bytes());
            files
        });
        let result = if self.check {
            let stale = (new_lock != lock).then_some(lock_path.as_path());
            emit::compare_with(&out, &charts, beside.as_ref())
                .map(|comparison| self.checked(&comparison, stale, output, &mut diagnostics, &out))
        } else {
            emit::write_with(&out, &charts, beside.as_ref(), self.replace).and_then(|written| {
                let mut summary = summary(&charts, &release_bytes, &written, &out);
                diagnostics.append(written.warnings);
                // Last, so that a lock never names what was not built.
                if new_lock != lock && lock::write(&lock_path, &new_lock)? {
                    let changes = lock::change::changes(&lock, &new_lock);
                    let _ = writeln!(
                        summary,
                        "{}: {} changed; commit it",
                        lock_path.display(),
                        changes.len()
                    );
                }
                Ok((Exit::Clean, summary))
            })
        };
        let (exit, last_words) = result.unwrap_or_else(|problems| {
            diagnostics.append(problems);
            (Exit::Error, String::new())
        });
        output.diagnostics(&diagnostics);
        // What a person looks for comes last.
        output.note(&last_words);
        exit
    }

    fn checked(
        &self,
        comparison: &Comparison,
        stale_lock: Option<&Path>,
        output: &mut Output,
        diagnostics: &mut Diagnostics,
        out: &Path,
    ) -> (Exit, String) {
        if self.names.is_empty() {
            diagnostics.append(comparison.orphan_warnings(out));
        }
        let mut lines = String::new();
        for (word, paths) in [
            ("missing", &comparison.missing),
            ("stale", &comparison.stale),
            ("extra", &comparison.extra),
            ("foreign", &comparison.foreign),
        ] {
            for path in paths {
                let _ = writeln!(lines, "{word} {}", path.display());
            }
        }
        if let Some(path) = stale_lock {
            let _ = writeln!(lines, "stale {}", path.display());
        }
        output.list(&lines);
        if comparison.is_current() && stale_lock.is_none() {
            return (Exit::Clean, format!("{} is up to date\n", out.display()));
        }
        let last_words = format!(
            "{} is not what {} compiles to; run `bundle2chart build`\n",
            out.display(),
            if self.names.is_empty() { "the configuration" } else { "the bundle" }
        );
        (Exit::Findings, last_words)
    }
}

/// An error for each bundle that the lock does not have, and for each entry that is of no use.
pub(super) fn not_locked(
    lock: &Lock,
    config: &Config,
    names: &[String],
    path: &Path,
) -> Diagnostics {
    let path = path.display();
    let stale = |message: String| {
        Diagnostic::error(Code::LockStale, message)
            .hint("run `bundle2chart lock`, and commit the lock file with the configuration")
    };
    let mut found: Diagnostics = lock
        .missing(config, names)
        .into_iter()
        .map(|bundle| {
            stale(format!("{path} does not have `{}` from this source", bundle.name))
                .at(Place::span(bundle.span.clone()))
        })
        .collect();
    if names.is_empty() && found.is_empty() {
        found.extend(lock.unused(config).into_iter().map(|entry| {
            let message = format!("{path} has `{}`, which the configuration has not", entry.name);
            stale(message).at(Place::file(path.to_string()))
        }));
    }
    found
}

/// A line for each chart, and one for all.
fn summary(
    charts: &[ChartFiles],
    release_bytes: &BTreeMap<PathBuf, usize>,
    written: &Written,
    out: &Path,
) -> String {
    let mut text = String::new();
    let width = charts.iter().map(|chart| chart.dir.as_os_str().len()).max().unwrap_or(0);
    for chart in charts {
        let what = if written.created.contains(&chart.dir) {
            "created"
        } else if written.updated.contains(&chart.dir) {
            "updated"
        } else {
            "unchanged"
        };
        let (templates, crds) = chart.counts();
        // The report is for people; Helm ignores it.
        let report = emit::ownership::UPGRADE_REPORT;
        let files = chart.files.iter().filter(|(path, _)| *path != report);
        let bytes: usize = files.map(|(_, content)| content.len()).sum();
        let share = chart::release_percent(release_bytes.get(&chart.dir).copied().unwrap_or(0));
        let _ = writeln!(
            text,
            "{:<width$}  {what:<9}  {templates:>3} templates  {crds:>3} CRD{}  {share:>3} % of a release  {:>5} KiB",
            chart.dir.display(),
            if crds == 1 { " " } else { "s" },
            bytes.div_ceil(1024),
        );
    }
    let mut beside: BTreeMap<_, usize> = BTreeMap::new();
    let said = written.beside.iter().filter(|file| file.as_path() != Path::new(BUILD_REPORT));
    for first in said.filter_map(|file| file.iter().next()) {
        *beside.entry(first).or_default() += 1;
    }
    for (name, count) in beside {
        let files = if count == 1 { "file" } else { "files" };
        let _ = writeln!(text, "{:<width$}  updated    {count:>3} {files}", name.display());
    }
    let _ = writeln!(
        text,
        "{}: {} created, {} updated, {} unchanged",
        out.display(),
        written.created.len(),
        written.updated.len(),
        written.unchanged.len()
    );
    text
}
