//! Attestations of packaged charts: in, packages and the files that they are compiled from; out, for
//! each an in-toto statement with its provenance, and an SBOM of its images.
//!
//! A statement is only made about a chart that was compiled again to the same bytes, so it says what
//! is true and not what a configuration claims. Both documents are the same on every machine: they
//! have no times, host names or paths of the machine.

mod attach;
mod provenance;
mod purl;
mod sbom;
mod signing;

pub(crate) use attach::attach;
pub(crate) use provenance::built_by;
pub(crate) use signing::{KEY_VARIABLE, Signer};

use crate::diag::{Code, Diagnostic, Diagnostics, Fatal};
use crate::lock;
use crate::package::{self, Package};
use crate::pipeline::{self, BuiltFiles, Inputs};
use crate::source::chart as charts;
use crate::source::clear_sign;
use crate::source::cosign::STATEMENT_MEDIA_TYPE;
use attach::BUNDLE_TYPE;
use std::collections::BTreeSet;
use std::path::Path;

/// Media types of documents that may have a provenance: a statement, and a sigstore bundle.
pub(crate) const PROVENANCE_TYPES: [&str; 2] = [STATEMENT_MEDIA_TYPE, BUNDLE_TYPE];

/// End of the name of the file with the provenance of a package.
pub(crate) const PROVENANCE_FILE: &str = "provenance.json";
/// End of the name of the file with the SBOM of a package.
pub(crate) const SBOM_FILE: &str = "cdx.json";

/// The attestations of a package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Attestations {
    /// An in-toto statement with SLSA provenance as JSON; `None` for a chart that the configuration
    /// does not compile to.
    pub provenance: Option<Vec<u8>>,
    /// A CycloneDX document as JSON.
    pub sbom: Vec<u8>,
}

/// Returns the attestations of each package, in their order; charts without provenance are reported
/// by a warning. `config_path` is the file of the configuration.
///
/// `None` if a chart cannot be read, or its bundle is not locked or does not compile.
pub(crate) fn attestations(
    packages: &[Package],
    inputs: &Inputs<'_>,
    config_path: &Path,
    diagnostics: &mut Diagnostics,
) -> Option<Vec<Attestations>> {
    let compiled = compiled(packages, inputs, config_path, diagnostics)?;
    let mut attestations = Vec::new();
    for package in packages {
        let sbom = sbom::of(package, inputs.sources, diagnostics)?;
        let table = inputs.config.table_of_chart(&package.name);
        // A name is a claim; equal bytes are the proof.
        let table = table.filter(|_| compiled.contains(&package.artifact.digest));
        let provenance = match table {
            Some(table) => Some(provenance::of(package, table, inputs, config_path, diagnostics)?),
            None => {
                let Package { name, version, .. } = package;
                let message = format!(
                    "chart `{name}` {version} has no provenance: the configuration does not compile \
                     to it"
                );
                let hint = format!(
                    "run `bundle2chart verify {name}@{version}` to see the difference; for an older \
                     version, check out the commit that built it"
                );
                diagnostics.push(Diagnostic::warning(Code::NotReproduced, message).hint(hint));
                None
            }
        };
        attestations.push(Attestations { provenance, sbom });
    }
    Some(attestations)
}

/// Compiles the tables of the packages again; returns the digests of the OCI manifests of all their
/// charts.
fn compiled(
    packages: &[Package],
    inputs: &Inputs<'_>,
    config_path: &Path,
    diagnostics: &mut Diagnostics,
) -> Option<BTreeSet<String>> {
    let Inputs { config, lock, .. } = *inputs;
    let tables = packages.iter().filter_map(|package| config.table_of_chart(&package.name));
    let tables: Vec<String> = tables.map(str::to_owned).collect();
    // No name would mean all of them.
    if tables.is_empty() {
        return Some(BTreeSet::new());
    }

    lock.check_complete(config, &tables, &lock::path_of(config_path), diagnostics)?;
    // By digest, so that each chart is dropped on the thread that compiled it.
    let digest = |chart: BuiltFiles| {
        let package = package::package(&chart.files, &chart.files.dir, &mut Diagnostics::new())?;
        Some(package.artifact.digest)
    };
    let digests = pipeline::rebuild(inputs, &tables, digest, diagnostics)?;
    Some(digests.into_iter().flatten().collect())
}

/// Returns the content of the `.prov` file of a package, signed by gpg with the key `key`: Chart.yaml and
/// the digest of the package, as two YAML documents, which Helm separates by `...`.
///
/// <https://helm.sh/docs/topics/provenance/>
///
/// # Errors
/// If gpg is missing or does not sign.
pub(crate) fn helm_provenance(package: &Package, key: &str) -> Result<Vec<u8>, Fatal> {
    let name = package.file_name();
    let tree = charts::read_archive(package.archive.as_slice(), &name)?.unwrap_or_default();
    let metadata = tree.get("Chart.yaml").map(Vec::as_slice).unwrap_or_default();
    let metadata = String::from_utf8_lossy(metadata);
    // Not `---`: lines of a clear-signed text cannot begin with a dash (RFC 4880, 7.1).
    let (metadata, digest) = (metadata.trim_end(), package.artifact.layer_digest());
    clear_sign(key, &format!("{metadata}\n\n...\nfiles:\n  {name}: {digest}\n"))
}
