//! The OCI artifact of a chart, with Helm's media types.
//!
//! <https://helm.sh/docs/topics/registries/#oci-manifest-registry-contents>

use crate::source::OciArtifact;
use serde_json::Value as Json;
use std::collections::BTreeMap;

/// Media type of the configuration: Chart.yaml as JSON.
const CONFIG_TYPE: &str = "application/vnd.cncf.helm.config.v1+json";
/// Media type of the layer: the `.tgz`.
pub(crate) const LAYER_TYPE: &str = "application/vnd.cncf.helm.chart.content.v1.tar+gzip";

/// Returns the artifact of a package; `metadata` is its Chart.yaml as JSON.
pub(super) fn artifact(metadata: &Json, archive: &[u8]) -> OciArtifact {
    let config = metadata.to_string().into_bytes();
    OciArtifact::new((CONFIG_TYPE, config), (LAYER_TYPE, archive.to_vec()), &annotations(metadata))
}

/// Returns the annotations of the manifest: those of Chart.yaml, which have the digest of the bundle,
/// and the predefined ones that Helm sets, apart from the time of creation.
fn annotations(metadata: &Json) -> BTreeMap<String, String> {
    let text = |key: &str| metadata.get(key).and_then(Json::as_str).map(str::to_owned);
    let sources = metadata.get("sources").and_then(Json::as_array);
    let source = sources.and_then(|sources| sources.first()?.as_str().map(str::to_owned));
    let predefined = [
        ("description", text("description")),
        ("url", text("home")),
        ("source", source),
        ("authors", authors(metadata)),
    ];
    // They follow from other fields; those of Chart.yaml may override them, but not the last ones.
    let declared = metadata.get("annotations").and_then(Json::as_object).into_iter().flatten();
    let declared = declared.map(|(key, value)| (key.clone(), value.as_str().map(str::to_owned)));
    let fixed = [("title", text("name")), ("version", text("version"))];
    let named = |(key, value)| (format!("org.opencontainers.image.{key}"), value);
    let all = predefined.map(named).into_iter().chain(declared).chain(fixed.map(named));
    // As Helm's `addToMap`.
    all.filter_map(|(key, value)| Some((key, value.filter(|value| !value.is_empty())?))).collect()
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
            "annotations": {
                "bundle2chart/digest": "sha256:1", "org.opencontainers.image.title": "other",
            },
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
