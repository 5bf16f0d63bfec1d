//! The SBOM of a chart: a CycloneDX document with the images that it deploys.
//!
//! <https://cyclonedx.org/docs/1.6/json/>

use super::purl;
use crate::bundle;
use crate::diag::{Diagnostics, Fatal};
use crate::images;
use crate::package::Package;
use crate::pipeline::operand::Operands;
use crate::source::SourceResolver;
use crate::source::chart::{self as charts, ChartTree, Form, documents};
use serde_json::{Value as Json, json};
use std::collections::BTreeSet;
use std::path::Path;

/// Annotation of Chart.yaml with all images of an operator, also those that it deploys itself.
const IMAGES: &str = "artifacthub.io/images";

/// Returns the document: images of the rendered chart, with default values, and those in Chart.yaml.
/// `None` if the chart cannot be rendered.
pub(super) fn of(
    package: &Package,
    sources: &SourceResolver,
    diagnostics: &mut Diagnostics,
) -> Option<Vec<u8>> {
    let shown = package.file_name();
    let tree = charts::read_archive(package.archive.as_slice(), &shown);
    let tree = diagnostics.report(tree)?.unwrap_or_default();
    let images = images_of(&tree, sources).map_err(|found| charts::located(&shown, found));
    let images = diagnostics.report(images)?;
    Some(document(package, &images).to_string().into_bytes())
}

fn images_of(tree: &ChartTree, sources: &SourceResolver) -> Result<BTreeSet<String>, Fatal> {
    // The chart is of bundle2chart, so its own renderer is enough, and Helm need not be installed.
    let side = Operands::new(sources, Path::new("")).chart(tree, Form::Package)?;
    let objects: Vec<_> = side
        .objects
        .values()
        // JSON is YAML. Objects without pods have no images, whatever is reported about them.
        .flat_map(|object| {
            bundle::manifests("", object.to_string().as_bytes(), &mut Diagnostics::new())
        })
        .collect();
    let mut found: BTreeSet<String> =
        images::pulled(&images::collect(&objects, None, None)).into_iter().collect();

    // Operators deploy images that no object of the chart names.
    let (file, empty) = ("Chart.yaml", Vec::new());
    let metadata = documents(file, tree.get(file).unwrap_or(&empty))?;
    let declared = metadata.first().and_then(|metadata| metadata["annotations"][IMAGES].as_str());
    for list in documents(file, declared.unwrap_or_default().as_bytes())? {
        let images = list.as_array().into_iter().flatten();
        found.extend(images.filter_map(|image| image["image"].as_str().map(str::to_owned)));
    }
    Ok(found)
}

fn document(package: &Package, images: &BTreeSet<String>) -> Json {
    let Package { name, version, .. } = package;
    let hex = |digest: &str| digest.strip_prefix("sha256:").unwrap_or(digest).to_owned();
    let chart = format!("chart:{name}@{version}");
    let components: Vec<Json> = images.iter().map(|image| component(image)).collect();
    let refs: Vec<Json> = components.iter().map(|component| component["bom-ref"].clone()).collect();

    json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": serial_number(&hex(&package.artifact.digest)),
        "version": 1,
        "metadata": {
            "tools": {
                "components": [{
                    "type": "application",
                    "name": "bundle2chart",
                    "version": env!("CARGO_PKG_VERSION"),
                }],
            },
            "component": {
                "type": "application",
                "bom-ref": chart,
                "name": name,
                "version": version,
                "hashes": [{ "alg": "SHA-256", "content": hex(package.artifact.layer_digest()) }],
            },
        },
        "components": components,
        "dependencies": [{ "ref": chart, "dependsOn": refs }],
    })
}

/// Returns an image as a component. Its version is the digest, else the tag.
fn component(image: &str) -> Json {
    let mut component = json!({ "type": "container", "bom-ref": format!("image:{image}") });
    let parsed = purl::parse(image);
    let name = parsed.as_ref().map_or(image, |parsed| parsed.name.as_str());
    component["name"] = json!(name);
    if let Some(parsed) = &parsed {
        let digest = parsed.digest.as_ref().map(ToString::to_string);
        component["version"] = json!(digest.or(parsed.tag.clone()));
        component["purl"] = json!(purl::of_image(image, None));
    }
    component["properties"] = json!([{ "name": "bundle2chart:reference", "value": image }]);
    component
}

/// Returns a UUID (version 8, RFC 9562) from the chart's digest, so that it is the same on every
/// machine.
fn serial_number(hex: &str) -> String {
    // The digits at 12 and 16 are replaced by the version, 8, and the variant, which is 8 to b.
    let part = |start: usize, end: usize| hex.get(start..end).unwrap_or_default();
    format!(
        "urn:uuid:{}-{}-8{}-8{}-{}",
        part(0, 8),
        part(8, 12),
        part(13, 16),
        part(17, 20),
        part(20, 32)
    )
}

#[cfg(test)]
mod tests;
