//! Helm's provenance file: Chart.yaml and the digest of the package, clear-signed with OpenPGP.
//!
//! <https://helm.sh/docs/topics/provenance/>

use crate::diag::Fatal;
use crate::package::Package;
use crate::source::chart as charts;
use crate::source::clear_sign;

/// Returns the content of the `.prov` file of a package, signed by gpg with the key `key`.
///
/// # Errors
/// If gpg is missing or does not sign.
pub(crate) fn helm_provenance(package: &Package, key: &str) -> Result<Vec<u8>, Fatal> {
    let name = package.file_name();
    let tree = charts::read_archive(package.archive.as_slice(), &name)?.unwrap_or_default();
    let metadata = tree.get("Chart.yaml").map(Vec::as_slice).unwrap_or_default();
    let metadata = String::from_utf8_lossy(metadata);
    clear_sign(key, &message(&metadata, &name, package.artifact.layer_digest()))
}

/// Returns the signed text: two YAML documents, which Helm separates by `...`.
fn message(metadata: &str, file: &str, digest: &str) -> String {
    // Not `---`: lines of a clear-signed text cannot begin with a dash (RFC 4880, 7.1).
    format!("{}\n\n...\nfiles:\n  {file}: {digest}\n", metadata.trim_end())
}
