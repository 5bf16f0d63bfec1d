//! Annotations of Chart.yaml that Artifact Hub shows, from the CSV.

use crate::bundle::ClusterServiceVersion;
use crate::ir::{Map, Value};
use crate::yaml;

/// Values of the CSV's annotation `capabilities`, which Artifact Hub knows, too.
const CAPABILITIES: [&str; 5] =
    ["Basic Install", "Seamless Upgrades", "Full Lifecycle", "Deep Insights", "Auto Pilot"];

/// The annotation with examples of custom resources.
pub const CRDS_EXAMPLES: &str = "artifacthub.io/crdsExamples";

/// Returns the annotations of an operator that uses these images.
pub(super) fn annotations(csv: &ClusterServiceVersion, images: &[String]) -> Map {
    let mut found = Map::from_iter([("artifacthub.io/operator".to_owned(), Value::text("true"))]);
    let own = |key: &str| csv.object.metadata("annotations")?.get(key)?.as_str();
    if let Some(level) = own("capabilities").filter(|level| CAPABILITIES.contains(level)) {
        found.insert("artifacthub.io/operatorCapabilities".to_owned(), Value::text(level));
    }
    if let Some(license) = own("license") {
        found.insert("artifacthub.io/license".to_owned(), Value::text(license));
    }

    let mut list = |key: &str, items: Vec<Value>| {
        found.extend(list_of(key, items));
    };
    list("artifacthub.io/links", entries(csv, &["spec", "links"], &["name", "url"], &[]));
    let owned = ["spec", "customresourcedefinitions", "owned"];
    let required = ["kind", "version", "name", "displayName", "description"];
    list("artifacthub.io/crds", entries(csv, &owned, &["kind", "version", "name"], &required[3..]));
    list(CRDS_EXAMPLES, own("alm-examples").map(examples).unwrap_or_default());
    found.extend(images_of(images));
    found
}

/// Returns the annotation with these images; `None` without images.
pub fn images_of(images: &[String]) -> Option<(String, Value)> {
    list_of("artifacthub.io/images", images.iter().map(|image| image_entry(image)).collect())
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
    let list = csv.object.at(path).and_then(Value::as_seq).unwrap_or_default();
    let text = |item: &Value, key: &str| {
        item.get(key).and_then(Value::as_str).filter(|text| !text.is_empty()).map(Value::text)
    };
    list.iter()
        .filter(|item| required.iter().all(|key| text(item, key).is_some()))
        .map(|item| {
            let keys = required.iter().chain(optional);
            Value::map(keys.filter_map(|key| Some((*key, text(item, key)?))))
        })
        .collect()
}

/// Returns the examples of custom resources; none if they are not a JSON list.
fn examples(text: &str) -> Vec<Value> {
    match serde_json::from_str(text) {
        Ok(serde_json::Value::Array(items)) => items.into_iter().map(Value::from).collect(),
        _ => Vec::new(),
    }
}

/// Returns an image with the last part of its repository as the name.
fn image_entry(reference: &str) -> Value {
    let last = reference.rsplit('/').next().unwrap_or(reference);
    let name = last.split(['@', ':']).next().unwrap_or(last);
    Value::map([("name", Value::text(name)), ("image", Value::text(reference))])
}
