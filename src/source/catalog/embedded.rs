//! Bundles that are embedded in a catalog, as the files of a bundle image.

use super::contents::Contents;
use super::objects::Properties;
use crate::BundleFiles;
use crate::limits::{Limits, in_bytes};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;

/// Longest name of a file.
const LONGEST_NAME: usize = 200;

/// Returns the files of a bundle, or an error if its properties are invalid.
///
/// Restores what the catalog derived from metadata: `olm.package.required` and `olm.gvk.required`
/// are from dependencies.yaml, or from the ClusterServiceVersion, which has them too; `olm.package`
/// and `olm.gvk` are from the manifests.
pub(super) fn files(
    properties: &Properties,
    contents: &Contents,
    bundle: &str,
    limits: &Limits,
) -> Result<BundleFiles, String> {
    let mut manifests = BTreeMap::new();
    let mut size = 0;
    let mut has_csv = false;
    for data in &properties.manifests {
        let bytes = STANDARD
            .decode(data)
            .map_err(|error| format!("a manifest is not valid base64 ({error})"))?;
        size += bytes.len() as u64;
        let (file, all) = (limits.kept_file_bytes, limits.kept_bytes);
        if bytes.len() as u64 > file {
            return Err(format!("a manifest is larger than {}", in_bytes(file)));
        }
        if size > all {
            return Err(format!("its manifests are larger than {}", in_bytes(all)));
        }
        // Manifests in a catalog have no file names.
        let (kind, name) = identity(&bytes)?;
        has_csv |= kind == "clusterserviceversion";
        manifests.insert(free_name(&manifests, &kind, &name), bytes);
    }

    if !has_csv {
        return Err(
            "the catalog has manifests of the bundle, but no ClusterServiceVersion".to_owned()
        );
    }

    let mut dependencies = Vec::new();
    let mut others = Vec::new();
    for (kind, value) in &properties.others {
        let (list, kind) = match kind.as_str() {
            // What the bundle itself provides, which its CSV and annotations say as well.
            "olm.package" | "olm.gvk" => continue,
            "olm.gvk.required" => (&mut dependencies, "olm.gvk"),
            "olm.constraint" => (&mut dependencies, "olm.constraint"),
            // The same dependency has another spelling in metadata/dependencies.yaml.
            "olm.package.required" => {
                let value = json!({
                    "packageName": value["packageName"],
                    "version": value["versionRange"],
                });
                dependencies.push(json!({ "type": "olm.package", "value": value }));
                continue;
            }
            other => (&mut others, other),
        };
        list.push(json!({ "type": kind, "value": value }));
    }

    let mut metadata = BTreeMap::new();
    metadata.insert("annotations.yaml".to_owned(), text(&annotations(contents, bundle)));
    for (name, key, list) in [
        ("dependencies.yaml", "dependencies", dependencies),
        ("properties.yaml", "properties", others),
    ] {
        if !list.is_empty() {
            metadata.insert(name.to_owned(), text(&json!({ key: list })));
        }
    }

    Ok(BundleFiles {
        manifests,
        metadata,
        manifests_dir: "manifests".to_owned(),
        metadata_dir: "metadata".to_owned(),
        ..BundleFiles::default()
    })
}

fn text(json: &Json) -> Vec<u8> {
    format!("{json:#}\n").into_bytes()
}

fn annotations(contents: &Contents, bundle: &str) -> Json {
    let channels = contents.channels.iter();
    let in_it = channels
        .filter(|(_, entries)| entries.iter().any(|entry| entry.name == bundle))
        .map(|(name, _)| name.as_str());
    let channels = in_it.collect::<Vec<_>>().join(",");
    let prefix = "operators.operatorframework.io.bundle";
    let mut annotations = json!({
        format!("{prefix}.mediatype.v1"): "registry+v1",
        format!("{prefix}.manifests.v1"): "manifests/",
        format!("{prefix}.metadata.v1"): "metadata/",
        format!("{prefix}.package.v1"): contents.package,
        format!("{prefix}.channels.v1"): channels,
    });
    if let Some(default) = &contents.default_channel {
        annotations[format!("{prefix}.channel.default.v1")] = json!(default);
    }
    json!({ "annotations": annotations })
}

/// Returns the kind and the name of a manifest, for the name of its file. Other errors in the
/// manifest are reported when the bundle is parsed.
fn identity(bytes: &[u8]) -> Result<(String, String), String> {
    #[derive(Default, Deserialize)]
    struct Metadata {
        name: Option<String>,
    }
    #[derive(Deserialize)]
    struct Manifest {
        kind: Option<String>,
        metadata: Option<Metadata>,
    }
    let manifest: Manifest = super::objects::read(bytes)
        .map_err(|error| format!("a manifest is not valid JSON ({error})"))?;
    let name = manifest.metadata.unwrap_or_default().name;
    Ok((plain(&manifest.kind.unwrap_or_default()), plain(&name.unwrap_or_default())))
}

fn plain(text: &str) -> String {
    // Names of roles may have any character but `/` and `%`, for example `:`.
    let character = |c: char| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' };
    text.to_lowercase().chars().map(character).take(LONGEST_NAME).collect()
}

/// Returns `KIND-NAME.json`, with a number if the name is in use.
fn free_name(taken: &BTreeMap<String, Vec<u8>>, kind: &str, name: &str) -> String {
    let mut file = format!("{kind}-{name}.json");
    let mut number = 2;
    while taken.contains_key(&file) {
        file = format!("{kind}-{name}-{number}.json");
        number += 1;
    }
    file
}
