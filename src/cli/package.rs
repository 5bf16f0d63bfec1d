//! `bundle2chart package`

use super::output::Output;
use super::{Exit, Global};
use crate::diag::{Code, Diagnostic, Diagnostics, Place};
use crate::escape::Lines;
use crate::package::{self, Packages, record};
use std::path::{Path, PathBuf};

/// Package charts as .tgz files, and write charts.lock.
///
/// The same chart gives the same bytes on any machine. charts.lock in the output directory has the
/// digests of all charts there.
#[derive(Debug, clap::Args)]
pub(super) struct Package {
    /// Charts in the output directory: NAME for the highest version, or NAME@VERSION [default: the
    /// highest version of every chart].
    #[arg(value_name = "CHART")]
    charts: Vec<String>,
    /// Directory of the packages; created if missing.
    #[arg(short, long, value_name = "DIR", default_value = ".")]
    destination: PathBuf,
    /// Do not write anything; list what is missing, stale or extra in charts.lock, and exit with 1
    /// if anything is.
    #[arg(long)]
    check: bool,
    /// Output directory, overrides `dir` in the configuration.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

impl Package {
    pub(super) fn run(&self, global: &Global, output: &mut Output) -> Exit {
        super::reporting(output, |output, diagnostics| self.package(global, output, diagnostics))
    }

    fn package(
        &self,
        global: &Global,
        output: &mut Output,
        diagnostics: &mut Diagnostics,
    ) -> Option<Exit> {
        let config = super::configuration(global, output, diagnostics)?;
        let out = self.out.clone().unwrap_or_else(|| config.out());
        let packages = package::packages(&out, &self.charts, diagnostics)?;
        if self.check {
            return Some(check_record(&packages, &out, output));
        }

        let mut lines = Lines::new();
        for package in &packages.selected {
            let path = self.destination.join(package.file_name()).display().to_string();
            match package.write(&self.destination) {
                Ok(_) => lines.push(format!("{path}  {}", package.artifact.layer_digest())),
                Err(error) => {
                    let message = format!("cannot write `{path}`: {error}");
                    diagnostics.push(
                        Diagnostic::error(Code::OutputFailed, message)
                            .at(Place::file(path))
                            .hint("make the directory writable, or set another `--destination`"),
                    );
                    return None;
                }
            }
        }
        output.list(&lines);
        write_record(&packages, &out, output, diagnostics)?;
        Some(Exit::Clean)
    }
}

/// Lists the differences between charts.lock and the charts.
fn check_record(packages: &Packages, out: &Path, output: &mut Output) -> Exit {
    let path = record::path_of(out);
    let differences = packages.record.differences(&path);
    let (exit, state) = if differences.is_empty() {
        (Exit::Clean, "is up to date")
    } else {
        (Exit::Findings, "is out of date: run `bundle2chart package`")
    };
    output.list(&differences.into_iter().collect());
    output.note(&Lines::from_iter([format!("{} {state}", path.display())]));
    exit
}

/// Writes charts.lock, and says so if it changed.
pub(super) fn write_record(
    packages: &Packages,
    out: &Path,
    output: &mut Output,
    diagnostics: &mut Diagnostics,
) -> Option<()> {
    let path = record::path_of(out);
    let changed = packages.record.differences(&path).len();
    if packages.record.write(&path, diagnostics)? {
        let line = format!("{}: {changed} changed; commit it", path.display());
        output.note(&Lines::from_iter([line]));
    }
    Some(())
}
