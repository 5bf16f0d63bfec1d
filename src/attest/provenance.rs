//! SLSA provenance of a chart, as an in-toto statement: its materials are the inputs of the chart, with
//! digests: configuration, lock, bundle and overlays.
//!
//! <https://in-toto.io/Statement/v1>, <https://slsa.dev/spec/v1.0/provenance>

use super::purl;
use crate::config::{BundleConfig, Source};
use crate::diag::{Code, Diagnostic, Diagnostics, Place};
use crate::lock;
use crate::package::Package;
use crate::pipeline::Inputs;
use crate::regular_file;
use crate::source::cosign::STATEMENT_TYPE;
use crate::source::sha256;
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

/// Bytes of a configuration or lock that are read.
const SIZE_LIMIT: u64 = 16 << 20;

/// Returns the statement about a package: the OCI manifest and the `.tgz` are its subjects.
pub(super) fn of(
    package: &Package,
    table: &str,
    inputs: &Inputs<'_>,
    config_path: &Path,
    diagnostics: &mut Diagnostics,
) -> Option<Vec<u8>> {
    let materials = materials(table, inputs, config_path, diagnostics)?;
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

/// Returns the resource descriptors of the inputs of the table `table`; `None` if one cannot be read.
fn materials(
    table: &str,
    inputs: &Inputs<'_>,
    config_path: &Path,
    diagnostics: &mut Diagnostics,
) -> Option<Vec<Json>> {
    let config = inputs.config;
    let mut materials = vec![file(config_path, diagnostics)?];
    let bundle = config.bundles.iter().find(|bundle| bundle.name == table);
    let span = config.tables().find(|(name, _)| *name == table).map(|(_, span)| span);

    // A table of an included file.
    if let Some(source) = span.map(|span| &span.source)
        && Path::new(&source.name) != config_path
    {
        let name = Path::new(&source.name);
        let name = name.strip_prefix(&config.base).unwrap_or(name).display().to_string();
        materials.push(content(&name, source.text.as_bytes()));
    }
    if let Some(bundle) = bundle {
        let lock_path = lock::path_of(config_path);
        if lock_path.is_file() {
            materials.push(file(&lock_path, diagnostics)?);
        }
        // Models have no bundle, and no entry in the lock.
        of_bundle(bundle, inputs, &mut materials, diagnostics)?;
    }
    Some(materials)
}

/// Adds the bundle, by the digest of its image or by those of its files, and the overlay files.
fn of_bundle(
    bundle: &BundleConfig,
    inputs: &Inputs<'_>,
    materials: &mut Vec<Json>,
    diagnostics: &mut Diagnostics,
) -> Option<()> {
    let start = diagnostics.mark();
    match inputs.lock.entry(bundle).map(|entry| &entry.image) {
        Some(Some(image)) => {
            let digest = &image.identity.digest;
            let uri = purl::of_image(&image.reference, Some(digest));
            materials.push(json!({ "uri": uri, "digest": digests(digest) }));
        }
        // The files of a local catalog are read with it.
        Some(None) => {}
        None => {
            let files = inputs.sources.fetch(&bundle.source, None, diagnostics)?;
            let folder = match &bundle.source {
                Source::Path { path, .. } => format!("{path}/"),
                _ => String::new(),
            };
            if let Some(image) = &files.image {
                let digest = &image.digest;
                materials.push(json!({ "name": bundle.source.text(), "digest": digests(digest) }));
            } else {
                for (name, bytes) in &files.manifests {
                    let name = format!("{folder}{}", files.manifest_name(name));
                    materials.push(content(&name, bytes));
                }
                for (name, bytes) in &files.metadata {
                    let name = format!("{folder}{}/{name}", files.metadata_dir);
                    materials.push(content(&name, bytes));
                }
            }
        }
    }

    // Inline overlays are in the configuration.
    for overlay in inputs.sources.overlays(&bundle.overlays, diagnostics) {
        if overlay.inline.is_none() {
            materials.push(content(&overlay.name, &overlay.content));
        }
    }
    diagnostics.no_errors_since(start)
}

/// Returns the digest set of `ALGORITHM:HEX`.
fn digests(digest: &str) -> Json {
    let (algorithm, hex) = digest.split_once(':').unwrap_or(("sha256", digest));
    json!({ algorithm: hex })
}

/// Returns the descriptor of a file in memory.
fn content(name: &str, bytes: &[u8]) -> Json {
    json!({ "name": name, "digest": { "sha256": sha256(bytes) } })
}

/// Returns the descriptor of a file by its name without directories, which differ by machine.
fn file(path: &Path, diagnostics: &mut Diagnostics) -> Option<Json> {
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    let shown = path.display().to_string();
    let read = regular_file::read(path, SIZE_LIMIT).map_err(|error| {
        Diagnostic::error(Code::SourceUnreadable, format!("cannot read `{shown}`: {error}"))
            .at(Place::file(&shown))
            .hint("check the path and its permissions")
            .into()
    });
    Some(content(&name, &diagnostics.report(read)?))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests write files")]
mod tests {
    use super::*;
    use std::fs::File;

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

    #[test]
    fn files_are_read_up_to_a_size_and_named_without_their_directory() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("bundles.toml");
        let mut found = Diagnostics::new();
        let limit = 16 * 1024 * 1024;
        File::create(&path).unwrap().set_len(limit).unwrap();
        let digest = sha256(&vec![0; usize::try_from(limit).unwrap()]);
        let expected = json!({ "name": "bundles.toml", "digest": { "sha256": digest } });
        assert_eq!(file(&path, &mut found), Some(expected));
        assert!(found.is_empty());

        File::create(&path).unwrap().set_len(limit + 1).unwrap();
        assert_eq!(file(&path, &mut found), None);
        let shown = path.display().to_string();
        let message = format!("cannot read `{shown}`: it has more than {limit} bytes");
        let expected = Diagnostic::error(Code::SourceUnreadable, message)
            .at(Place::file(&shown))
            .hint("check the path and its permissions");
        assert_eq!(found.iter().collect::<Vec<_>>(), [&expected]);
    }

    #[test]
    fn digests_have_their_algorithm() {
        assert_eq!(digests("sha512:0"), json!({ "sha512": "0" }));
        assert_eq!(digests("0"), json!({ "sha256": "0" }));
    }
}
