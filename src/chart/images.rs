//! The images that a chart needs.

use crate::bundle::Bundle;
use crate::ir::{Object, Value};
use std::collections::BTreeSet;

/// Every image of the Deployments' containers and init containers, of their `RELATED_IMAGE_`
/// environment, and of the CSV's relatedImages; sorted, each once.
pub fn images(objects: &[Object], bundle: &Bundle) -> Vec<String> {
    let mut images: BTreeSet<String> =
        bundle.csv.related_images.iter().map(|(_, image)| image.clone()).collect();
    for container in
        objects.iter().filter(|o| o.kind() == "Deployment").flat_map(Object::containers)
    {
        images.extend(container.get("image").and_then(Value::as_str).map(str::to_owned));
        for variable in container.get("env").and_then(Value::as_seq).unwrap_or_default() {
            let text = |key: &str| variable.get(key).and_then(Value::as_str);
            if text("name").is_some_and(|name| name.starts_with("RELATED_IMAGE_")) {
                images.extend(text("value").map(str::to_owned));
            }
        }
    }
    images.remove("");
    images.into_iter().collect()
}
