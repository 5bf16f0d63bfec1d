//! The OCI artifact of a chart, with Helm's media types.
//!
//! <https://helm.sh/docs/topics/registries/#oci-manifest-registry-contents>

use crate::source::OciArtifact;
use serde_json::{Map, Value as Json};
use std::collections::BTreeMap;

/// Media type of the configuration: Chart.yaml as JSON.
const CONFIG_TYPE: &str = "application/vnd.cncf.helm.config.v1+json";
/// Media type of the layer: the `.tgz`.
pub(crate) const LAYER_TYPE: &str = "application/vnd.cncf.helm.chart.content.v1.tar+gzip";

/// Annotations that Chart.yaml cannot override, as in Helm.
const TITLE: &str = "org.opencontainers.image.title";
const VERSION: &str = "org.opencontainers.image.version";

/// Returns the artifact of a package; `metadata` is its Chart.yaml as JSON.
pub(super) fn artifact(metadata: &Json, archive: &[u8]) -> OciArtifact {
    let config = metadata.to_string().into_bytes();
    OciArtifact::new((CONFIG_TYPE, config), (LAYER_TYPE, archive.to_vec()), &annotations(metadata))
}

/// Returns the annotations of the manifest: those of Chart.yaml, which have the digest of the bundle,
/// and the predefined ones that Helm sets, apart from the time of creation.
fn annotations(metadata: &Json) -> BTreeMap<String, String> {
    let text = |key: &str| metadata.get(key).and_then(Json::as_str).map(str::to_owned);
    let own = |key: &str| format!("org.opencontainers.image.{key}");
    let sources = metadata.get("sources").and_then(Json::as_array);
    let source = sources.and_then(|sources| sources.first()?.as_str().map(str::to_owned));
    let mut annotations = BTreeMap::new();
    let mut set = |key: String, value: Option<String>| {
        // As Helm's `addToMap`.
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            annotations.insert(key, value);
        }
    };
    set(own("description"), text("description"));
    set(own("url"), text("home"));
    set(own("source"), source);
    set(own("authors"), authors(metadata));

    // After those that follow from other fields, which they may override.
    let declared = metadata.get("annotations").and_then(Json::as_object);
    for (key, value) in declared.into_iter().flat_map(Map::iter) {
        set(key.clone(), value.as_str().map(str::to_owned));
    }

    set(TITLE.to_owned(), text("name"));
    set(VERSION.to_owned(), text("version"));
    annotations
}

/// Returns the maintainers as Helm joins them: `NAME (EMAIL), NAME`.
fn authors(metadata: &Json) -> Option<String> {
    let maintainers = metadata.get("maintainers")?.as_array()?;
    let author = |maintainer: &Json| {
        let name = maintainer.get("name")?.as_str()?;
        let email = maintainer.get("email").and_then(Json::as_str);
        Some(email.map_or_else(|| name.to_owned(), |email| format!("{name} ({email})")))
    };
    Some(maintainers.iter().filter_map(author).collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn manifests_have_the_annotations_of_the_chart() {
        let metadata = json!({
            "name": "lamp-operator", "version": "1.0.0+2", "description": "Lamps",
            "home": "https://lamps.example.com", "sources": ["https://git.example.com/lamps"],
            "maintainers": [{"name": "Ann", "email": "ann@example.com"}, {"name": "Bob"}],
            "annotations": {"bundle2chart/digest": "sha256:1", TITLE: "other"},
        });
        let artifact = artifact(&metadata, b"tgz");
        let manifest: Json = serde_json::from_slice(&artifact.manifest).unwrap();
        assert_eq!(manifest["config"]["mediaType"], CONFIG_TYPE);
        assert_eq!(manifest["layers"][0]["mediaType"], LAYER_TYPE);
        assert_eq!(
            manifest["annotations"],
            json!({
                "bundle2chart/digest": "sha256:1",
                "org.opencontainers.image.authors": "Ann (ann@example.com), Bob",
                "org.opencontainers.image.description": "Lamps",
                "org.opencontainers.image.source": "https://git.example.com/lamps",
                "org.opencontainers.image.title": "lamp-operator",
                "org.opencontainers.image.url": "https://lamps.example.com",
                "org.opencontainers.image.version": "1.0.0+2",
            })
        );
    }
}
