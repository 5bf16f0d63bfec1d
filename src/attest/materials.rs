//! The inputs of a chart, with digests: configuration, lock, bundle and overlays.

use super::purl;
use crate::config::{BundleConfig, Source};
use crate::diag::{Code, Diagnostic, Diagnostics, Place};
use crate::lock;
use crate::pipeline::Inputs;
use crate::regular_file;
use crate::source::sha256;
use serde_json::{Value as Json, json};
use std::path::Path;

/// Bytes of a configuration or lock that are read.
const SIZE_LIMIT: u64 = 16 << 20;

/// Returns the resource descriptors of the inputs of the table `table`; `None` if one cannot be read.
pub(super) fn of(
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
mod tests;
