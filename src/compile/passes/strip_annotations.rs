//! Removes annotations that only catalogs and consoles read.

use super::Context;
use crate::diag::Diagnostics;
use crate::ir::{Map, Object, Origin, Unit, Value};

/// Annotations of a ClusterServiceVersion that describe it, and which OLM copies to pods.
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

/// Removes descriptive annotations from the pods of the CSV's Deployments, except those that the pod
/// reads itself with the downward API.
pub(super) fn strip_annotations(unit: &mut Unit, context: &Context, _: &mut Diagnostics) {
    if !context.toggles.strip_annotations {
        return;
    }
    for object in &mut unit.objects {
        if object.kind() != "Deployment" || !matches!(object.origin, Origin::Csv { .. }) {
            continue;
        }
        let read = annotations_read(object);
        let template = object.root.get_mut("spec").and_then(Value::as_map_mut);
        let metadata = template
            .and_then(|spec| spec.get_mut("template")?.as_map_mut()?.get_mut("metadata"))
            .and_then(Value::as_map_mut);
        let Some(metadata) = metadata else { continue };
        let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_map_mut) else {
            continue;
        };

        let kept = std::mem::take(annotations)
            .into_iter()
            .filter(|(key, _)| !is_descriptive(key) || read.contains(key));
        *annotations = kept.collect::<Map>();
        if annotations.is_empty() {
            metadata.shift_remove("annotations");
        }
    }
}

fn is_descriptive(key: &str) -> bool {
    DESCRIPTIVE.contains(&key) || PREFIXES.iter().any(|prefix| key.starts_with(prefix))
}

/// Returns the annotations that the pods read by `fieldPath: metadata.annotations['KEY']`.
fn annotations_read(object: &Object) -> Vec<String> {
    fn visit(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Map(map) => {
                let path = map.get("fieldPath").and_then(Value::as_str).unwrap_or_default();
                let key = path.strip_prefix("metadata.annotations['");
                found.extend(key.and_then(|key| key.strip_suffix("']")).map(str::to_owned));
                map.values().for_each(|value| visit(value, found));
            }
            Value::Seq(items) => items.iter().for_each(|item| visit(item, found)),
            _ => {}
        }
    }
    let mut found = Vec::new();
    object.pod_spec().into_iter().flat_map(Map::values).for_each(|value| visit(value, &mut found));
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Toggles;
    use crate::passes::sample;
    use serde_json::json;

    fn stripped(strip_annotations: bool, annotations: serde_json::Value) -> serde_json::Value {
        let root = json!({
            "kind": "Deployment",
            "spec": {"template": {
                "metadata": {"annotations": annotations},
                "spec": {"containers": [{"env": [{"valueFrom": {"fieldRef": {
                    "fieldPath": "metadata.annotations['support']",
                }}}]}]},
            }},
        });
        let Value::Map(root) = Value::from(&root) else { unreachable!("a map") };
        let csv = Origin::Csv { file: String::new(), document: 1, path: String::new() };
        let mut unit = Unit::default();
        unit.objects.push(Object::new(*root, csv));
        let toggles = Toggles { strip_annotations, ..Toggles::default() };
        let context = Context { toggles, ..Context::default() };
        super::strip_annotations(&mut unit, &context, &mut Diagnostics::new());
        let object = crate::ir::Release::LITERAL.object(&unit.objects[0]).unwrap();
        object["spec"]["template"]["metadata"].clone()
    }

    #[test]
    fn descriptive_annotations_are_removed_unless_the_pod_reads_them() {
        let all = json!({
            "alm-examples": "[]",
            "operators.openshift.io/valid-subscription": "[]",
            "support": "Widgets Ltd",
            "olm.targetNamespaces": "",
            "prometheus.io/scrape": "true",
        });
        assert_eq!(stripped(false, all.clone()), json!({"annotations": all}));
        assert_eq!(
            stripped(true, all),
            json!({"annotations": {
                "support": "Widgets Ltd", "olm.targetNamespaces": "", "prometheus.io/scrape": "true",
            }})
        );
        assert_eq!(stripped(true, json!({"capabilities": "Basic Install"})), json!({}));
    }

    #[test]
    fn annotations_of_other_objects_stay() {
        let manifest = |kind: &str| {
            format!(
                "{{apiVersion: apps/v1, kind: {kind}, metadata: {{name: a}}, \
                 spec: {{template: {{metadata: {{annotations: {{support: me}}}}}}}}}}"
            )
        };
        let toggles = Toggles { strip_annotations: true, ..Toggles::default() };
        let context = Context { toggles, ..Context::default() };
        for mut unit in
            [sample::overlay(&manifest("Deployment")), sample::generated(&manifest("Widget"))]
        {
            let before = unit.objects.clone();
            super::strip_annotations(&mut unit, &context, &mut Diagnostics::new());
            assert_eq!(unit.objects, before);
        }
    }
}
