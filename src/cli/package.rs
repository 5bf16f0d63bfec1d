//! `bundle2chart package`

use super::output::Output;
use super::{Exit, Invocation};
use crate::attest::{Attestations, PROVENANCE_FILE, SBOM_FILE, helm_provenance};
use crate::diag::Diagnostics;
use crate::escape::Lines;
use crate::package::{self, Packages, record};
use crate::replace_file::write_changed;
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
    /// Write the provenance (NAME-VERSION.provenance.json) and the SBOM (NAME-VERSION.cdx.json) of
    /// each package next to it. Compiles the charts again.
    #[arg(long, conflicts_with = "check")]
    attest: bool,
    /// Sign each package with this OpenPGP key by gpg: writes a .prov file, for `helm verify`.
    #[arg(long, value_name = "KEY", conflicts_with = "check")]
    pgp_key: Option<String>,
    /// Output directory, overrides `dir` in the configuration.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

impl Package {
    pub(super) fn run(&self, invocation: &mut Invocation<'_>) -> Option<Exit> {
        let config = invocation.configuration()?;
        let sources = invocation.sources(&config);
        let out = self.out.clone().unwrap_or_else(|| config.out());
        let packages = package::packages(&out, &self.charts, &mut invocation.diagnostics)?;
        if self.check {
            return Some(check_record(&packages, &out, &mut invocation.output));
        }

        // Before the first package is written, so that an error leaves the directory as it is.
        let attestations = if self.attest {
            invocation.attestations(&packages.selected, &config, &sources)?
        } else {
            Vec::new()
        };

        let Invocation { output, diagnostics, .. } = invocation;
        let mut lines = Lines::new();
        for package in &packages.selected {
            let path = self.write(&package.file_name(), &package.archive, diagnostics)?;
            lines.push(format!("{path}  {}", package.artifact.layer_digest()));
            if let Some(key) = &self.pgp_key {
                let signed = diagnostics.report(helm_provenance(package, key))?;
                let name = format!("{}.prov", package.file_name());
                lines.push(self.write(&name, &signed, diagnostics)?);
            }
        }
        for (package, documents) in packages.selected.iter().zip(&attestations) {
            let Attestations { provenance, sbom } = documents;
            let documents = [(PROVENANCE_FILE, provenance.as_ref()), (SBOM_FILE, Some(sbom))];
            for (suffix, content) in documents {
                let Some(content) = content else { continue };
                let name = format!("{}.{suffix}", package.stem());
                lines.push(self.write(&name, content, diagnostics)?);
            }
        }
        output.list(&lines);
        write_record(&packages, &out, output, diagnostics)?;
        Some(Exit::Clean)
    }

    /// Writes a file to the destination; returns its path.
    fn write(&self, name: &str, content: &[u8], diagnostics: &mut Diagnostics) -> Option<String> {
        let path = self.destination.join(name);
        let hint = "make the directory writable, or set another `--destination`";
        diagnostics.report(write_changed(&path, content, hint))?;
        Some(path.display().to_string())
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
    output.note_line(format!("{} {state}", path.display()));
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
        output.note_line(format!("{}: {changed} changed; commit it", path.display()));
    }
    Some(())
}
