//! A catalog with lamps in it, spelled in every way.

use crate::support::command::Case;
use crate::support::image::{Compression, Image, Layer, Layout};
use crate::support::lamp::{ANNOTATIONS, CRD, CSV};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use std::collections::BTreeMap;

pub(crate) const CATALOG_LABEL: &str = "operators.operatorframework.io.index.configs.v1";

pub(crate) const CONFIG: &str = "\
[[mirror]]
from = \"registry.example.com\"
to = \"oci-layout:images\"

[[bundle]]
name = \"lamp-operator\"
catalog = \"./catalog\"
package = \"lamp-operator\"
";

pub(crate) fn image_of(version: &str) -> String {
    format!("registry.example.com/lamps/bundle:{version}")
}

pub(crate) fn package() -> Value {
    json!({ "schema": "olm.package", "name": "lamp-operator", "defaultChannel": "stable",
            "icon": { "base64data": "AAAA", "mediatype": "image/svg+xml" } })
}

pub(crate) fn channel() -> Value {
    json!({ "schema": "olm.channel", "package": "lamp-operator", "name": "stable", "entries": [
        { "name": "lamp-operator.v1.2.3", "replaces": "lamp-operator.v1.2.2" },
        { "name": "lamp-operator.v1.2.2" },
    ] })
}

pub(crate) fn bundle(version: &str) -> Value {
    json!({
        "schema": "olm.bundle", "package": "lamp-operator",
        "name": format!("lamp-operator.v{version}"), "image": image_of(version),
        "properties": [
            { "type": "olm.gvk", "value": { "group": "light.example.com", "kind": "Lamp", "version": "v1" } },
            { "type": "olm.package", "value": { "packageName": "lamp-operator", "version": version } },
            { "type": "olm.csv.metadata", "value": { "annotations": { "alm-examples": "[{\"a\": \"b\"}]" } } },
        ],
        "relatedImages": [{ "name": "", "image": image_of(version) }],
    })
}

/// The objects of the lamp's package and of another one.
pub(crate) fn catalog() -> Vec<Value> {
    let other = json!({ "schema": "olm.package", "name": "lantern-operator", "defaultChannel": 7 });
    let others = json!({ "schema": "olm.bundle", "package": "lantern-operator", "name": [1],
                         "properties": "none" });
    let unknown = json!({ "schema": "acme.notes", "package": "lamp-operator", "name": {} });
    vec![other, package(), channel(), unknown, bundle("1.2.2"), others, bundle("1.2.3")]
}

pub(crate) fn as_json(objects: &[Value]) -> String {
    objects.iter().map(|object| format!("{object:#}\n")).collect()
}

pub(crate) fn as_yaml(objects: &[Value]) -> String {
    objects.iter().fold(String::new(), |text, object| {
        text + "---\n" + &serde_yaml::to_string(object).expect("YAML")
    })
}

/// An image of the lamp bundle at a version.
pub(crate) fn bundle_image(version: &str) -> Image {
    let mut layer = Layer::new();
    layer
        .file("manifests/csv.yaml", CSV.replace("1.2.3", version).as_bytes())
        .file("manifests/crd.yaml", CRD.as_bytes())
        .file("metadata/annotations.yaml", ANNOTATIONS.as_bytes());
    Image {
        architecture: "amd64",
        labels: BTreeMap::new(),
        layers: vec![(Compression::Gzip, layer.into_tar())],
    }
}

/// A case with bundle images in a mirror, and further images.
pub(crate) fn case(more: &[(&str, Image)]) -> Case {
    let case = Case::new();
    let mut layout = Layout::default();
    for version in ["1.2.2", "1.2.3"] {
        layout.image(&image_of(version), &bundle_image(version));
    }
    for (reference, image) in more {
        layout.image(reference, image);
    }
    for (path, content) in layout.into_files() {
        case.write(&format!("images/{path}"), content);
    }
    case.write("bundles.toml", CONFIG);
    case
}

pub(crate) fn configure(case: &Case, more: &str) {
    case.write("bundles.toml", format!("{CONFIG}{more}\n"));
}

/// Builds without any finding; the versions of the chart.
#[track_caller]
pub(crate) fn built(case: &Case) -> String {
    let seen = case.run(&["build"]);
    assert_eq!(seen.code, Some(0), "{}", seen.text());
    assert!(!seen.stderr.contains("warning"), "{}", seen.text());
    let listing = case.listing("out");
    let versions: Vec<&str> = listing.lines().filter_map(|line| line.split('/').nth(1)).collect();
    versions.first().map(|version| (*version).to_owned()).unwrap_or_default()
}
/// A catalog image of these layers, each a list of paths and contents.
pub(crate) fn catalog_image(label: Option<&str>, layers: Vec<Layer>) -> Image {
    Image {
        architecture: "amd64",
        labels: label
            .map(|label| (CATALOG_LABEL.to_owned(), label.to_owned()))
            .into_iter()
            .collect(),
        layers: layers.into_iter().map(|layer| (Compression::Gzip, layer.into_tar())).collect(),
    }
}

pub(crate) const CATALOG_IMAGE: &str = "registry.example.com/catalogs/index:v1";

pub(crate) fn with_catalog_image(image: Image) -> Case {
    let case = case(&[(CATALOG_IMAGE, image)]);
    case.write("bundles.toml", CONFIG.replace("./catalog", CATALOG_IMAGE));
    case
}

/// A bundle without an image whose manifests are in the catalog.
pub(crate) fn embedded(objects: &[String]) -> Value {
    let mut bundle = bundle("1.2.3");
    bundle["image"] = json!("");
    let properties = bundle["properties"].as_array_mut().expect("a list");
    for object in objects {
        properties.push(
            json!({ "type": "olm.bundle.object", "value": { "data": STANDARD.encode(object) } }),
        );
    }
    bundle
}

pub(crate) fn lamp_json() -> Vec<String> {
    let json = |text: &str| serde_yaml::from_str::<Value>(text).expect("YAML").to_string();
    vec![json(CSV), json(CRD)]
}
