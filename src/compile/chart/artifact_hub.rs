//! Annotations of Chart.yaml that Artifact Hub shows, from the CSV.

use crate::bundle::ClusterServiceVersion;
use crate::fields::list;
use crate::images::base_name;
use crate::ir::{Map, Value, map, value};
use crate::yaml;

/// Values of the CSV's annotation `capabilities`, which Artifact Hub knows, too.
const CAPABILITIES: [&str; 5] =
    ["Basic Install", "Seamless Upgrades", "Full Lifecycle", "Deep Insights", "Auto Pilot"];

/// The annotation with examples of custom resources.
pub const CRDS_EXAMPLES: &str = "artifacthub.io/crdsExamples";

/// Returns the annotations of an operator that uses these images.
pub(super) fn annotations(csv: &ClusterServiceVersion, images: &[String]) -> Map {
    let level = csv.annotation("capabilities").filter(|level| CAPABILITIES.contains(level));
    let mut found = map! {
        "artifacthub.io/operator": "true",
        "artifacthub.io/operatorCapabilities": ?level,
        "artifacthub.io/license": ?csv.annotation("license"),
    };

    let links = entries(csv, &["spec", "links"], &["name", "url"], &[]);
    let owned = ["spec", "customresourcedefinitions", "owned"];
    let crds = entries(csv, &owned, &["kind", "version", "name"], &["displayName", "description"]);
    found.extend(list_of("artifacthub.io/links", links));
    found.extend(list_of("artifacthub.io/crds", crds));
    found.extend(list_of(CRDS_EXAMPLES, csv.examples().iter().map(Value::from).collect()));
    found.extend(images_of(images));
    found
}

/// Returns the annotation with these images; `None` without images.
pub fn images_of(images: &[String]) -> Option<(String, Value)> {
    // The last part of its repository is the name of an image.
    let entry = |image: &String| value!({"name": base_name(image), "image": image});
    list_of("artifacthub.io/images", images.iter().map(entry).collect())
}

/// Returns an annotation whose text is a YAML list; `None` for an empty list.
fn list_of(key: &str, items: Vec<Value>) -> Option<(String, Value)> {
    if items.is_empty() {
        return None;
    }
    let text = yaml::plain_value(&Value::Seq(items)).ok()?;
    Some((key.to_owned(), Value::text(text)))
}

/// Returns the items of a list of the CSV that have all `required` keys, with these and `optional`
/// keys.
fn entries(
    csv: &ClusterServiceVersion,
    path: &[&str],
    required: &[&'static str],
    optional: &[&'static str],
) -> Vec<Value> {
    let text = |item: &Value, key: &str| {
        item.get(key).and_then(Value::as_str).filter(|text| !text.is_empty()).map(Value::text)
    };
    let items = list(csv.object.at(path)).iter();
    let items = items.filter(|item| required.iter().all(|key| text(item, key).is_some()));
    let entry = |item| {
        let keys = required.iter().chain(optional);
        Value::map(keys.filter_map(|key| Some((*key, text(item, key)?))))
    };
    items.map(entry).collect()
}
