//! Labels that show which release an object belongs to.

use super::Context;
use crate::config::OPERANDS_SUFFIX;
use crate::diag::Diagnostics;
use crate::ir::{Expr, OPERANDS, Object, Origin, Phase, RELEASE_LABELS, Unit, Value};
use std::collections::BTreeSet;

/// Length of a label's value.
const LONGEST: usize = 63;

/// Selectors of objects other than pods, whose labels do not change: the kind that has it, the field,
/// and the kind that it selects. An empty kind is any.
const SELECTORS: [(&str, &str, &str); 4] = [
    ("ServiceMonitor", "selector", "Service"),
    ("", "clusterRoleSelectors", "ClusterRole"),
    ("", "namespaceSelector", "Namespace"),
    ("", "objectSelector", ""),
];

/// Adds the labels that Helm recommends to the metadata of all objects. Labels of the bundle stay, and
/// labels that a selector of the chart names are not added, because it would select more. CRDs have
/// none: they outlive the release.
pub(super) fn release_labels(unit: &mut Unit, context: &Context, _: &mut Diagnostics) {
    let selected = selected(unit);
    for object in unit.objects.iter_mut().filter(|object| belongs_to_release(object)) {
        let suffix = if object.phase == Phase::Operand { OPERANDS_SUFFIX } else { "" };
        let chart = format!("{}{suffix}", context.chart);
        let values = [
            Value::text(label(&chart)),
            Expr::ReleaseName.into(),
            Value::text("Helm"),
            Value::text(label(&context.version)),
            Value::text(label(&format!("{chart}-{}", context.chart_version))),
        ];

        let kind = object.kind().to_owned();
        let labels = object.metadata_mut().map_at("labels");
        for (key, value) in RELEASE_LABELS.into_iter().zip(values) {
            let mut selected = selected.iter();
            if !selected.any(|(of, name)| name == key && (of.is_empty() || *of == kind)) {
                labels.entry(key.to_owned()).or_insert(value);
            }
        }
    }
}

/// Returns false for CRDs, and for ServiceAccounts that another release or the operator takes over
/// with its own labels: `helm upgrade` of Helm 4 would conflict with it.
fn belongs_to_release(object: &Object) -> bool {
    let taken_over = object.kind() == "ServiceAccount" && object.origin == Origin::Added(OPERANDS);
    object.kind() != "CustomResourceDefinition" && !taken_over
}

/// Returns the kinds and the labels by which objects other than pods are selected.
fn selected(unit: &Unit) -> BTreeSet<(&'static str, String)> {
    fn visit(value: &Value, kind: &str, field: &str, found: &mut BTreeSet<(&'static str, String)>) {
        let is_here =
            |row: &&(&str, &str, &str)| row.1 == field && (row.0.is_empty() || row.0 == kind);
        match value {
            Value::Map(map) => {
                if let Some((_, _, selects)) = SELECTORS.iter().find(is_here) {
                    let labels = map.get("matchLabels").and_then(Value::as_map);
                    found.extend(labels.into_iter().flat_map(|labels| {
                        labels.keys().map(|label| (*selects, label.to_owned()))
                    }));
                    let expressions = map.get("matchExpressions").and_then(Value::as_seq);
                    found.extend(expressions.into_iter().flatten().filter_map(|expression| {
                        Some((*selects, expression.as_map()?.get("key")?.as_str()?.to_owned()))
                    }));
                }
                map.iter().for_each(|(field, value)| visit(value, kind, field, found));
            }
            Value::Seq(items) => items.iter().for_each(|item| visit(item, kind, field, found)),
            _ => {}
        }
    }

    let mut found = BTreeSet::new();
    // Schemas have no selectors, and are most of a chart.
    let objects = unit.objects.iter().filter(|object| object.kind() != "CustomResourceDefinition");
    for object in objects {
        object.root.iter().for_each(|(field, value)| {
            visit(value, object.kind(), field, &mut found);
        });
    }
    found
}

/// Returns a text as the value of a label.
fn label(text: &str) -> String {
    // Versions may have a `+`, which values of labels must not have; charts of `helm create` write
    // `_` as well.
    let text = text.replace('+', "_");
    // `str::floor_char_boundary` is newer than the minimum Rust version.
    let mut ends = (0..=LONGEST.min(text.len())).rev();
    let end = ends.find(|end| text.is_char_boundary(*end)).unwrap_or_default();
    text[..end].trim_end_matches(['-', '_', '.']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::Release;
    use crate::passes::sample;
    use serde_json::{Value as Json, json};

    /// Returns the objects of manifests with the labels that they get.
    fn labelled(mut unit: Unit) -> Vec<Json> {
        let context = Context {
            chart: "widget-operator".to_owned(),
            version: "1.0.0+build".to_owned(),
            chart_version: "1.0.0+build".to_owned(),
            ..Context::default()
        };
        release_labels(&mut unit, &context, &mut Diagnostics::new());
        unit.objects.iter().map(|object| Release::LITERAL.object(object).unwrap()).collect()
    }

    #[test]
    fn values_of_labels_have_at_most_63_bytes() {
        for (text, expected) in [
            ("a".repeat(63), "a".repeat(63)),
            ("a".repeat(64), "a".repeat(63)),
            ("a".repeat(62) + "é", "a".repeat(62)),
            ("a".repeat(60) + "-_.b", "a".repeat(60)),
            ("1+2".to_owned(), "1_2".to_owned()),
        ] {
            assert_eq!(label(&text), expected);
        }
    }

    #[test]
    fn labels_of_the_bundle_stay() {
        let objects = labelled(sample::overlay(
            "
apiVersion: v1
kind: Service
metadata: {name: a, labels: {app.kubernetes.io/managed-by: kustomize}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets}
",
        ));
        assert_eq!(
            objects[0]["metadata"]["labels"],
            json!({
                "app.kubernetes.io/managed-by": "kustomize",
                "app.kubernetes.io/name": "widget-operator",
                "app.kubernetes.io/instance": "release-name",
                "app.kubernetes.io/version": "1.0.0_build",
                "helm.sh/chart": "widget-operator-1.0.0_build",
            })
        );
        assert_eq!(objects[1]["metadata"], json!({"name": "widgets"}));
    }

    #[test]
    fn selectors_select_no_more_than_before() {
        let objects = labelled(sample::overlay(
            "
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: a}
spec: {selector: {matchLabels: {app.kubernetes.io/name: metrics}}}
---
apiVersion: v1
kind: Service
metadata: {name: webhook}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: a}
webhooks:
- namespaceSelector:
    matchExpressions: [{key: app.kubernetes.io/managed-by, operator: DoesNotExist}]
---
apiVersion: v1
kind: Namespace
metadata: {name: a}
",
        ));
        let has = |index: usize, key: &str| objects[index]["metadata"]["labels"].get(key).is_some();
        assert!(has(0, "app.kubernetes.io/name"));
        assert!(!has(1, "app.kubernetes.io/name"));
        assert!(has(1, "app.kubernetes.io/managed-by"));
        assert!(!has(3, "app.kubernetes.io/managed-by"));
        assert!(has(3, "app.kubernetes.io/name"));
    }

    #[test]
    fn service_accounts_of_operands_get_the_labels_of_the_operator() {
        let mut unit =
            sample::overlay("{apiVersion: v1, kind: ServiceAccount, metadata: {name: a}}");
        unit.objects[0].origin = Origin::Added(OPERANDS);
        assert_eq!(labelled(unit)[0]["metadata"], json!({"name": "a"}));
    }
}
