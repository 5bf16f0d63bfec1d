//! CRDs that belong to a release outlive it.

use super::Context;
use crate::diag::Diagnostics;
use crate::ir::{Map, Unit, Value};

/// Adds `helm.sh/resource-policy: keep` to every CRD that becomes a template, by configuration or
/// because it holds an expression: deleting a CRD would delete every custom resource of its kind.
pub(super) fn keep_crds(unit: &mut Unit, context: &Context, _: &mut Diagnostics) {
    for object in &mut unit.objects {
        if object.kind() != "CustomResourceDefinition"
            || !(context.crds_in_templates || object.has_expression())
        {
            continue;
        }
        let annotations =
            object.metadata_mut().entry("annotations".to_owned()).or_insert(Value::Null);
        if annotations.as_map().is_none() {
            *annotations = Value::from(Map::new());
        }
        if let Some(annotations) = annotations.as_map_mut() {
            annotations.insert("helm.sh/resource-policy".to_owned(), Value::text("keep"));
        }
    }
}
