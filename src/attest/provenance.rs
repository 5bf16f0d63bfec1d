//! SLSA provenance of a chart, as an in-toto statement.
//!
//! <https://in-toto.io/Statement/v1>, <https://slsa.dev/spec/v1.0/provenance>

use super::materials;
use crate::diag::Diagnostics;
use crate::package::Package;
use crate::pipeline::Inputs;
use crate::source::cosign::STATEMENT_TYPE;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value as Json, json};
use std::path::Path;

/// Predicate type of a provenance.
pub(super) const PREDICATE_TYPE: &str = "https://slsa.dev/provenance/v1";

/// The parameters below `externalParameters` and the order of `resolvedDependencies`, as
/// docs/verifying.md describes them.
const BUILD_TYPE: &str = "urn:bundle2chart:build:v1";
const BUILDER: &str = "urn:bundle2chart";

/// Returns the statement about a package: the OCI manifest and the `.tgz` are its subjects.
pub(super) fn of(
    package: &Package,
    table: &str,
    inputs: &Inputs<'_>,
    config_path: &Path,
    diagnostics: &mut Diagnostics,
) -> Option<Vec<u8>> {
    let materials = materials::of(table, inputs, config_path, diagnostics)?;
    let predicate = json!({
        "buildDefinition": {
            "buildType": BUILD_TYPE,
            "externalParameters": {
                "table": table,
                "chart": package.name,
                "version": package.version,
            },
            "resolvedDependencies": materials,
        },
        "runDetails": {
            "builder": { "id": BUILDER, "version": { "bundle2chart": env!("CARGO_PKG_VERSION") } },
        },
    });
    Some(statement(package, PREDICATE_TYPE, &predicate))
}

/// Returns an in-toto statement about a package.
pub(super) fn statement(package: &Package, predicate_type: &str, predicate: &Json) -> Vec<u8> {
    let subject = |name: &str, digest: &str| {
        let digest = digest.strip_prefix("sha256:").unwrap_or(digest);
        json!({ "name": name, "digest": { "sha256": digest } })
    };
    let statement = json!({
        "_type": STATEMENT_TYPE,
        "subject": [
            // Both, because users have either the reference in a registry or the file.
            subject(&package.name, &package.artifact.digest),
            subject(&package.file_name(), package.artifact.layer_digest()),
        ],
        "predicateType": predicate_type,
        "predicate": predicate,
    });
    statement.to_string().into_bytes()
}

/// Returns the version of bundle2chart that a provenance names, a statement or a sigstore bundle with
/// one; `None` if it is about another file than the one with the digest `subject`. Signatures are not
/// verified: the version only explains differences.
pub(crate) fn built_by(document: &[u8], subject: &str) -> Option<String> {
    let document: Json = serde_json::from_slice(document).ok()?;
    let statement = match document["dsseEnvelope"]["payload"].as_str() {
        Some(payload) => serde_json::from_slice(&STANDARD.decode(payload).ok()?).ok()?,
        None => document,
    };
    let hex = subject.strip_prefix("sha256:").unwrap_or(subject);
    let subjects = statement["subject"].as_array()?;
    // A provenance next to a file may be that of another version.
    let is_subject = subjects.iter().any(|subject| subject["digest"]["sha256"] == hex);
    let version = &statement["predicate"]["runDetails"]["builder"]["version"]["bundle2chart"];
    version.as_str().filter(|_| is_subject).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_provenance_names_the_version_that_built_its_subject() {
        let statement = json!({
            "subject": [{ "digest": { "sha256": "1" } }, { "digest": { "sha256": "2" } }],
            "predicate": { "runDetails": { "builder": { "version": { "bundle2chart": "0.0.9" } } } },
        });
        let payload = STANDARD.encode(statement.to_string());
        let bundle = json!({ "dsseEnvelope": { "payload": payload } });
        for document in [&statement, &bundle] {
            let bytes = document.to_string().into_bytes();
            assert_eq!(built_by(&bytes, "sha256:2").as_deref(), Some("0.0.9"));
            assert_eq!(built_by(&bytes, "sha256:3"), None);
        }
        assert_eq!(built_by(b"{}", "sha256:1"), None);
        assert_eq!(built_by(b"no JSON", "sha256:1"), None);
    }
}
