//! Annotations of the ClusterServiceVersion that pods get.

use crate::ir::{Map, Value};

/// Annotations that describe an operator to catalogs and consoles.
const DESCRIPTIVE: [&str; 13] = [
    "alm-examples",
    "alm-examples-metadata",
    "capabilities",
    "categories",
    "certified",
    "containerImage",
    "createdAt",
    "description",
    "license",
    "olm.skipRange",
    "operator.openshift.io/uninstall-message",
    "repository",
    "support",
];

/// Prefixes of such annotations.
const PREFIXES: [&str; 6] = [
    "console.openshift.io/",
    "features.operators.openshift.io/",
    "olm.properties",
    "operatorframework.io/",
    "operators.openshift.io/",
    "operators.operatorframework.io/",
];

/// Returns the annotations of the ClusterServiceVersion without those that only catalogs and consoles
/// read. Those that the pod reads itself with the downward API stay.
pub(super) fn copied_to_pods(annotations: &Map, template: &Map) -> Map {
    let mut paths = Vec::new();
    template.values().for_each(|value| field_paths(value, &mut paths));
    let is_read = |key: &str| {
        paths.iter().any(|path| {
            let rest = path.strip_prefix("metadata.annotations");
            // Without a key, the downward API has all annotations in one file.
            rest.is_some_and(|rest| rest.is_empty() || rest == format!("['{key}']"))
        })
    };
    let copied = annotations.iter().filter(|(key, _)| !is_descriptive(key) || is_read(key));
    copied.map(|(key, value)| (key.to_owned(), value.clone())).collect()
}

/// Returns true for annotations that only catalogs and consoles read.
pub fn is_descriptive(key: &str) -> bool {
    DESCRIPTIVE.contains(&key) || PREFIXES.iter().any(|prefix| key.starts_with(prefix))
}

/// Adds every `fieldPath` below a value.
fn field_paths<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
    match value {
        Value::Map(map) => {
            found.extend(map.get("fieldPath").and_then(Value::as_str));
            map.values().for_each(|value| field_paths(value, found));
        }
        Value::Seq(items) => items.iter().for_each(|item| field_paths(item, found)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value as Json, json};

    /// Returns the names of the annotations that a pod with this variable gets.
    fn copied(field_path: &str) -> Vec<String> {
        let map = |json: Json| {
            let Value::Map(map) = Value::from(&json) else { unreachable!("a map") };
            *map
        };
        let annotations = map(json!({
            "alm-examples": "[]",
            "operators.openshift.io/valid-subscription": "[]",
            "support": "Widgets Ltd",
            "prometheus.io/scrape": "true",
        }));
        let template = map(json!({"spec": {"containers": [
            {"env": [{"valueFrom": {"fieldRef": {"fieldPath": field_path}}}]},
        ]}}));
        copied_to_pods(&annotations, &template).keys().cloned().collect()
    }

    #[test]
    fn annotations_for_catalogs_and_consoles() {
        for key in [
            "alm-examples",
            "alm-examples-metadata",
            "capabilities",
            "categories",
            "certified",
            "console.openshift.io/plugins",
            "containerImage",
            "createdAt",
            "description",
            "features.operators.openshift.io/fips-compliant",
            "license",
            "olm.properties",
            "olm.properties.extra",
            "olm.skipRange",
            "operator.openshift.io/uninstall-message",
            "operatorframework.io/suggested-namespace",
            "operators.openshift.io/infrastructure-features",
            "operators.operatorframework.io/builder",
            "repository",
            "support",
        ] {
            assert!(is_descriptive(key), "{key}");
        }
        for key in [
            "olm.targetNamespaces",
            "description.example.com",
            "prometheus.io/scrape",
            "a.operators.openshift.io/b",
        ] {
            assert!(!is_descriptive(key), "{key}");
        }
    }

    #[test]
    fn descriptive_annotations_are_not_copied_unless_the_pod_reads_them() {
        assert_eq!(copied("metadata.name"), ["prometheus.io/scrape"]);
        assert_eq!(copied("metadata.annotations['support']"), ["support", "prometheus.io/scrape"]);
        assert_eq!(copied("metadata.annotations").len(), 4);
    }
}
