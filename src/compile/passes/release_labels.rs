//! Labels that show which release an object belongs to.

use super::Context;
use crate::config::{CRDS_SUFFIX, CrdPlacement, OPERANDS_SUFFIX};
use crate::diag::Diagnostics;
use crate::ir::{Condition, Expr, OPERANDS, Object, Origin, Phase, RELEASE_LABELS, Unit, Value};
use crate::ir::{WORKLOADS, pod_spec_keys};
use std::collections::BTreeSet;

const CRD: &str = "CustomResourceDefinition";

const INSTANCE: &str = RELEASE_LABELS[1];
const MANAGED_BY: &str = RELEASE_LABELS[2];
const CHART: &str = RELEASE_LABELS[4];

/// Number of the labels, the first ones, that have no version.
const STABLE_LABELS: usize = 3;

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

/// Adds the labels that Helm recommends to the metadata of all objects. Those of the bundle name its own
/// release (`kustomize`, `olm`), so they are replaced, unless something in the chart mentions the label.
/// Labels that a selector of the chart names are not added, because it would select more.
pub(super) fn release_labels(unit: &mut Unit, context: &Context, _: &mut Diagnostics) {
    let uses = uses(unit);
    for object in &mut unit.objects {
        let is_selected = |key| {
            uses.iter().any(|(kind, used)| {
                *used == key && kind.is_some_and(|kind| kind.is_empty() || kind == object.kind())
            })
        };
        let is_users = matches!(object.origin, Origin::Overlay { .. });
        let belongs =
            |key: &'static str| belongs_to_release(object, key, context) && !is_selected(key);
        let added = labels_of(object, context).filter(|(key, _)| belongs(key));
        for (key, value) in added.collect::<Vec<_>>() {
            let labels = object.metadata_mut().map_at("labels");
            // Helm itself replaces `managed-by` in the cluster, and no other chart has the object.
            let may_be_read =
                ![MANAGED_BY, CHART].contains(&key) && uses.iter().any(|(_, used)| *used == key);
            if !(labels.contains_key(key) && (is_users || may_be_read)) {
                labels.insert(key.to_owned(), value);
            }
        }
    }
}

/// Adds those of the labels that no version changes to pods that lack them, so that another version of
/// the chart does not restart pods. A label that a selector of pods or a text of the chart mentions is not
/// added.
pub(super) fn pod_labels(unit: &mut Unit, context: &Context, _: &mut Diagnostics) {
    let uses = uses(unit);
    let is_used =
        |key: &str| uses.iter().any(|(kind, used)| *used == key && kind.is_none_or(str::is_empty));
    let is_workload =
        |object: &&mut Object| WORKLOADS.contains(&object.kind()) && object.pod_spec().is_some();
    for object in unit.objects.iter_mut().filter(is_workload) {
        // The labels of a Pod are its own.
        let [first, keys @ .., _] = pod_spec_keys(object.kind()) else { continue };
        let added: Vec<_> = labels_of(object, context).take(STABLE_LABELS).collect();
        let template = keys.iter().fold(object.root.map_at(first), |map, key| map.map_at(key));
        let labels = template.map_at("metadata").map_at("labels");
        for (key, value) in added {
            if !is_used(key) && !labels.contains_key(key) {
                labels.insert(key.to_owned(), value);
            }
        }
    }
}

/// Returns the labels of the release of an object.
fn labels_of(object: &Object, context: &Context) -> impl Iterator<Item = (&'static str, Value)> {
    let chart = format!("{}{}", context.chart, suffix(object, context));
    let values = [
        Value::text(label(&chart)),
        Expr::ReleaseName.into(),
        Value::text("Helm"),
        Value::text(label(&context.version)),
        Value::text(label(&format!("{chart}-{}", context.chart_version))),
    ];
    RELEASE_LABELS.into_iter().zip(values)
}

/// Returns true if an object has this label of the release.
fn belongs_to_release(object: &Object, key: &str, context: &Context) -> bool {
    match (object.kind(), &object.origin) {
        // A cluster may have the real CRD.
        (CRD, Origin::Stub) => false,
        // Only templates know the name of the release.
        (CRD, _) if key == INSTANCE => {
            context.crds == CrdPlacement::Templates || object.has_expression()
        }
        // Another release or the operator sets the others: `helm upgrade` of Helm 4 would conflict.
        ("ServiceAccount", Origin::Added(OPERANDS)) => {
            let is_adopted = matches!(object.when, Some(Condition::Missing(_)));
            !is_adopted && [MANAGED_BY, CHART].contains(&key)
        }
        _ => true,
    }
}

/// Returns the end of the name of the object's chart.
fn suffix(object: &Object, context: &Context) -> &'static str {
    let is_separate = context.crds == CrdPlacement::Separate && !object.has_expression();
    match object.phase {
        Phase::Operand => OPERANDS_SUFFIX,
        _ if object.kind() == CRD && is_separate => CRDS_SUFFIX,
        _ => "",
    }
}

/// Returns the labels of releases that the objects of a chart mention outside of labels: in a selector of
/// this kind, or without a kind in a selector of pods, an argument or other text.
fn uses(unit: &Unit) -> BTreeSet<(Option<&'static str>, &'static str)> {
    fn visit(
        value: &Value,
        (kind, field, selected): (&str, &str, Option<&'static str>),
        found: &mut BTreeSet<(Option<&'static str>, &'static str)>,
    ) {
        let mut rows = SELECTORS.iter();
        let row = rows.find(|row| row.1 == field && (row.0.is_empty() || row.0 == kind));
        let selected = row.map(|row| row.2).or(selected);
        let mentioned = |text: &str| {
            let labels = RELEASE_LABELS.into_iter().filter(|label| text.contains(label));
            labels.map(|label| (selected, label)).collect::<Vec<_>>()
        };
        match value {
            // The labels themselves do not count.
            Value::Map(_) if field == "labels" => {}
            Value::Map(map) => map.iter().for_each(|(field, value)| {
                found.extend(mentioned(field));
                visit(value, (kind, field, selected), found);
            }),
            Value::Seq(items) => {
                items.iter().for_each(|item| visit(item, (kind, field, selected), found));
            }
            Value::Text(text) => found.extend(mentioned(text)),
            _ => {}
        }
    }

    let mut found = BTreeSet::new();
    // Schemas have no selectors, and are most of a chart.
    for object in unit.objects.iter().filter(|object| object.kind() != CRD) {
        for (field, value) in object.root.iter() {
            visit(value, (object.kind(), field, None), &mut found);
        }
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
    use crate::ir::ClusterObject;
    use crate::ir::{Condition, Release};
    use crate::passes::sample;
    use serde_json::{Value as Json, json};

    /// Returns the objects of manifests with the labels that they get.
    fn labelled(unit: Unit) -> Vec<Json> {
        labelled_with(unit, CrdPlacement::Templates)
    }

    fn labelled_with(mut unit: Unit, crds: CrdPlacement) -> Vec<Json> {
        let context = Context {
            crds,
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
    fn labels_of_the_bundle_stay_where_something_reads_them() {
        let bundle = "
apiVersion: v1
kind: Service
metadata:
  name: a
  labels: {app.kubernetes.io/managed-by: kustomize, app.kubernetes.io/name: a, app.kubernetes.io/instance: a, helm.sh/chart: a}
spec: {selector: {app.kubernetes.io/name: a, app.kubernetes.io/managed-by: kustomize, helm.sh/chart: a}}
";
        let all = json!({
            "app.kubernetes.io/managed-by": "Helm",
            "app.kubernetes.io/name": "a",
            "app.kubernetes.io/instance": "release-name",
            "app.kubernetes.io/version": "1.0.0_build",
            "helm.sh/chart": "widget-operator-1.0.0_build",
        });
        let mut unit = sample::overlay(bundle);
        // Those of a user's overlay always stay.
        let own = labelled(unit.clone());
        assert_eq!(own[0]["metadata"]["labels"]["app.kubernetes.io/managed-by"], "kustomize");
        assert_eq!(own[0]["metadata"]["labels"]["app.kubernetes.io/version"], "1.0.0_build");
        unit.objects[0].origin = Origin::Added("test");
        assert_eq!(labelled(unit)[0]["metadata"]["labels"], all);
    }

    #[test]
    fn crds_have_the_labels_that_need_no_template() {
        let crd = "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: widgets}}";
        for (crds, chart, has_instance) in [
            (CrdPlacement::Templates, "widget-operator", true),
            (CrdPlacement::Crds, "widget-operator", false),
            (CrdPlacement::Separate, "widget-operator-crds", false),
        ] {
            let labels = &labelled_with(sample::overlay(crd), crds)[0]["metadata"]["labels"];
            assert_eq!(labels["app.kubernetes.io/name"], chart);
            assert_eq!(labels["helm.sh/chart"], format!("{chart}-1.0.0_build"));
            assert_eq!(labels.get("app.kubernetes.io/instance").is_some(), has_instance, "{chart}");
        }
        let mut stub = sample::overlay(crd);
        stub.objects[0].origin = Origin::Stub;
        assert_eq!(labelled(stub)[0]["metadata"], json!({"name": "widgets"}));
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
    fn pods_have_the_labels_that_no_version_changes_unless_something_reads_them() {
        let labels = |kind: &str, template: &str, other: &str| {
            let mut unit = sample::bundle(&format!(
                "{{apiVersion: v1, kind: {kind}, metadata: {{name: a}}, spec: {template}}}\n---\n{other}"
            ));
            let context = Context { chart: "widget-operator".to_owned(), ..Context::default() };
            pod_labels(&mut unit, &context, &mut Diagnostics::new());
            let object = Release::LITERAL.object(&unit.objects[0]).unwrap();
            let jobs = object.pointer("/spec/jobTemplate/spec/template/metadata/labels");
            let labels = object.pointer("/spec/template/metadata/labels").or(jobs).cloned();
            labels.unwrap_or_else(|| json!(object["metadata"]["labels"]))
        };
        let all = json!({
            "app.kubernetes.io/name": "widget-operator",
            "app.kubernetes.io/instance": "release-name",
            "app.kubernetes.io/managed-by": "Helm",
        });
        let namespace = "{apiVersion: v1, kind: Namespace, metadata: {name: a}}";
        let template = "{template: {spec: {containers: []}}}";
        for kind in ["Deployment", "StatefulSet", "DaemonSet", "Job"] {
            assert_eq!(labels(kind, template, namespace), all, "{kind}");
        }
        assert_eq!(
            labels("CronJob", &format!("{{jobTemplate: {{spec: {template}}}}}"), namespace),
            all
        );
        // They have labels of their own, or no pods.
        for (kind, spec) in [("Pod", "{containers: []}"), ("Widget", template), ("Job", "{}")] {
            assert_eq!(labels(kind, spec, namespace), Json::Null, "{kind}");
        }

        let own = "{template: {metadata: {labels: {app.kubernetes.io/name: a, app.kubernetes.io/managed-by: \
                   kustomize}}, spec: {containers: []}}}";
        let kept = json!({
            "app.kubernetes.io/name": "a",
            "app.kubernetes.io/managed-by": "kustomize",
            "app.kubernetes.io/instance": "release-name",
        });
        assert_eq!(labels("Deployment", own, namespace), kept);
        for (other, is_added) in [
            (
                "{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {selector: {app.kubernetes.io/name: b}}}",
                false,
            ),
            (
                "{apiVersion: v1, kind: Webhooks, metadata: {name: a}, webhooks: [{objectSelector: {matchLabels: {app.kubernetes.io/name: b}}}]}",
                false,
            ),
            (
                "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: app.kubernetes.io/name=b}}",
                false,
            ),
            (
                "{apiVersion: monitoring.coreos.com/v1, kind: ServiceMonitor, metadata: {name: a}, spec: {selector: {matchLabels: {app.kubernetes.io/name: b}}}}",
                true,
            ),
        ] {
            let found = labels("Deployment", template, other);
            assert_eq!(found.get("app.kubernetes.io/name").is_some(), is_added, "{other}");
            assert_eq!(found["app.kubernetes.io/instance"], "release-name", "{other}");
        }
    }

    #[test]
    fn service_accounts_of_operands_have_no_labels_that_others_set() {
        let mut unit =
            sample::overlay("{apiVersion: v1, kind: ServiceAccount, metadata: {name: a}}");
        unit.objects[0].origin = Origin::Added(OPERANDS);
        let chart = "widget-operator-1.0.0_build";
        assert_eq!(
            labelled(unit.clone())[0]["metadata"]["labels"],
            json!({"app.kubernetes.io/managed-by": "Helm", "helm.sh/chart": chart})
        );
        // Another release adopts it.
        unit.objects[0].when = Some(Condition::Missing(ClusterObject {
            api_version: "v1",
            kind: "ServiceAccount",
            namespace: None,
            name: "a".to_owned(),
        }));
        assert_eq!(labelled(unit)[0]["metadata"], json!({"name": "a"}));
    }
}
