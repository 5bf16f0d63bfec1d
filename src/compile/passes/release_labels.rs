//! Labels that show which release an object belongs to.

use super::Context;
use crate::config::OPERANDS_SUFFIX;
use crate::diag::Diagnostics;
use crate::ir::{Expr, Phase, Unit, Value};

/// Length of a label's value.
const LONGEST: usize = 63;

/// Adds the labels that Helm recommends to the metadata of all objects. Labels of the bundle stay,
/// because selectors may use them. CRDs have none: they outlive the release.
pub(super) fn release_labels(unit: &mut Unit, context: &Context, _: &mut Diagnostics) {
    if !context.toggles.release_labels {
        return;
    }
    for object in &mut unit.objects {
        if object.kind() == "CustomResourceDefinition" {
            continue;
        }
        let suffix = if object.phase == Phase::Operand { OPERANDS_SUFFIX } else { "" };
        let chart = label(&format!("{}{suffix}-{}", context.chart, context.chart_version));
        let labels = object.metadata_mut().map_at("labels");
        for (key, value) in [
            ("app.kubernetes.io/instance", Expr::ReleaseName.into()),
            ("app.kubernetes.io/managed-by", Value::text("Helm")),
            ("app.kubernetes.io/version", Value::text(label(&context.version))),
            ("helm.sh/chart", Value::text(chart)),
        ] {
            labels.entry(key.to_owned()).or_insert(value);
        }
    }
}

/// Returns a text as the value of a label.
fn label(text: &str) -> String {
    let text = text.replace('+', "_");
    // `str::floor_char_boundary` is newer than the minimum Rust version.
    let mut ends = (0..=LONGEST.min(text.len())).rev();
    let end = ends.find(|end| text.is_char_boundary(*end)).unwrap_or_default();
    text[..end].trim_end_matches(['-', '_', '.']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Toggles;
    use crate::ir::{Object, Origin, Release};
    use serde_json::json;

    #[test]
    fn labels_of_the_bundle_stay() {
        let root = json!({
            "kind": "Service",
            "metadata": {"labels": {"app.kubernetes.io/managed-by": "kustomize"}},
        });
        let crd = json!({"kind": "CustomResourceDefinition", "metadata": {"name": "widgets"}});
        let mut unit = Unit::default();
        for root in [&root, &crd] {
            let Value::Map(root) = Value::from(root) else { unreachable!("a map") };
            unit.objects.push(Object::new(*root, Origin::Added("test")));
        }
        let context = Context {
            chart: "widget-operator".to_owned(),
            version: "1.0.0+build".to_owned(),
            chart_version: "1.0.0+build".to_owned(),
            toggles: Toggles { release_labels: true, ..Toggles::default() },
            ..Context::default()
        };
        release_labels(&mut unit, &context, &mut Diagnostics::new());

        let service = Release::LITERAL.object(&unit.objects[0]).unwrap();
        assert_eq!(
            service["metadata"]["labels"],
            json!({
                "app.kubernetes.io/managed-by": "kustomize",
                "app.kubernetes.io/instance": "release-name",
                "app.kubernetes.io/version": "1.0.0_build",
                "helm.sh/chart": "widget-operator-1.0.0_build",
            })
        );
        assert_eq!(Release::LITERAL.object(&unit.objects[1]).unwrap(), crd);
    }
}
