//! CRDs that belong to a release outlive it.

use super::Context;
use crate::config::CrdPlacement;
use crate::diag::Diagnostics;
use crate::ir::{Condition, Map, Object, Origin, Phase, Unit, Value, ValueSpec, ValuesPath};
use serde_json::json;

/// Adds `helm.sh/resource-policy: keep` to every CRD that becomes a template, by configuration or
/// because it holds an expression: deleting a CRD would delete every custom resource of its kind.
/// Those that are templates by configuration can be switched off, for clusters where somebody else
/// installs them.
pub(super) fn keep_crds(unit: &mut Unit, context: &Context, _: &mut Diagnostics) {
    let enabled = ValuesPath::new(["crds", "enabled"]);
    let mut optional = false;
    for object in &mut unit.objects {
        if object.kind() != "CustomResourceDefinition" || object.origin == Origin::Stub {
            continue;
        }
        let configured = match context.crds {
            CrdPlacement::Templates | CrdPlacement::Separate => true,
            CrdPlacement::Subchart | CrdPlacement::Crds => false,
        };
        if !(configured || object.has_expression() || object.phase == Phase::Operand) {
            continue;
        }
        keep(object);
        if context.crds == CrdPlacement::Templates && object.phase != Phase::Operand {
            object.when = Some(Condition::Set(enabled.clone()));
            optional = true;
        }
    }
    if optional {
        unit.values.push(ValueSpec {
            path: enabled,
            default: json!(true),
            schema: json!({"type": "boolean"}),
            description: "Whether the CustomResourceDefinitions are part of the release. When it is switched off, \
                          they stay in the cluster and are no longer updated."
                .to_owned(),
        });
    }
}

/// Adds the annotation.
pub(super) fn keep(object: &mut Object) {
    let annotations = object.metadata_mut().entry("annotations".to_owned()).or_insert(Value::Null);
    if annotations.as_map().is_none() {
        *annotations = Value::from(Map::new());
    }
    if let Some(annotations) = annotations.as_map_mut() {
        annotations.insert("helm.sh/resource-policy".to_owned(), Value::text("keep"));
    }
}
