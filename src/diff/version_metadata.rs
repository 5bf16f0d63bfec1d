//! Labels and annotations that follow from Chart.yaml and the name of the release.

use super::read::shape;
use super::tree::Edit;
use crate::ir::{RELEASE_LABELS, VERSION_METADATA};
use serde_json::Value as Json;

/// Returns true for an edit of an object's own labels and annotations that a report leaves out: a
/// recommended label is added, or what names the version of the chart differs. Those of pods are
/// differences, because they restart them.
pub(super) fn follows_version(edit: &Edit) -> bool {
    let is_added = edit.old.is_none();
    let follows =
        |key: &str| VERSION_METADATA.contains(&key) || is_added && RELEASE_LABELS.contains(&key);
    match shape(edit.path.steps()).as_slice() {
        ["metadata", "annotations" | "labels", key] => follows(key),
        ["metadata", "annotations" | "labels"] => {
            // One edit for all of them: the other side has no labels or annotations.
            let whole = edit.old.as_ref().xor(edit.new.as_ref()).and_then(Json::as_object);
            whole.is_some_and(|map| map.keys().all(|key| follows(key)))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use crate::{ChartFacts, Options, Placement, Side, compare};
    use serde_json::{Value as Json, json};

    /// Returns the paths of the differences of two Deployments with these labels.
    fn differences(old: Json, new: Json) -> Vec<String> {
        let side = |labels: Json| {
            let mut deployment = json!({
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "metadata": {"name": "a"},
                "spec": {"template": {"metadata": {}}},
            });
            if !labels.is_null() {
                deployment["metadata"]["labels"] = labels.clone();
                deployment["spec"]["template"]["metadata"]["labels"] = labels;
            }
            Side::new("", [deployment], "", None)
        };
        let set = compare(side(old), side(new), &Options::default());
        set.changes().map(|(_, change)| change.path.to_string()).collect()
    }

    #[test]
    fn versions_are_differences_of_pods_only() {
        let chart = |version: &str| json!({"helm.sh/chart": format!("a-{version}"), "app.kubernetes.io/version": version});
        let of_pods = ".spec.template.metadata.labels";
        let found = differences(chart("1.0.0"), chart("1.1.0"));
        assert!(
            !found.is_empty() && found.iter().all(|path| path.starts_with(of_pods)),
            "{found:?}"
        );
        let found = differences(Json::Null, chart("1.0.0"));
        assert!(found.iter().all(|path| path.starts_with(of_pods)), "{found:?}");
    }

    #[test]
    fn objects_of_which_only_labels_follow_the_version_are_changed_by_the_upgrade() {
        let side = |version: &str, text: &str| {
            let object = |kind: &str, data: &str| {
                json!({
                    "apiVersion": "v1", "kind": kind, "data": data,
                    "metadata": {"name": "a", "labels": {"helm.sh/chart": format!("a-{version}")}},
                })
            };
            let crd = json!({
                "apiVersion": "apiextensions.k8s.io/v1",
                "kind": "CustomResourceDefinition",
                "metadata": {"name": "as.g", "annotations": {"bundle2chart/version": version}},
            });
            let chart = ChartFacts {
                crds: [("as.g".to_owned(), Placement::Templates)].into(),
                version: version.to_owned(),
                ..ChartFacts::default()
            };
            Side::new("", [object("Service", ""), object("Secret", text), crd], "", Some(chart))
        };
        let set = compare(side("1.0.0", "a"), side("1.1.0", "b"), &Options::default());
        let kinds: Vec<&str> = set.version_only.iter().map(|id| id.kind.as_str()).collect();
        assert_eq!(kinds, ["CustomResourceDefinition", "Service"]);
        assert_eq!(set.unchanged, 0);
        let upgrade = set.plan.iter().find(|step| step.kind.id() == "upgrade").expect("a step");
        let [objects, labels] = &upgrade.items[..] else { panic!("{upgrade:?}") };
        assert_eq!(objects, "0 created, 1 changed, 0 deleted");
        assert_eq!(labels, "labels or annotations of 2 objects follow the version");

        let set = compare(side("1.0.0", "a"), side("1.0.0", "a"), &Options::default());
        assert!(set.version_only.is_empty());
        assert_eq!(set.unchanged, 4);
    }

    #[test]
    fn other_labels_and_removals_are_differences() {
        let labels = |name: &str| json!({"app.kubernetes.io/name": name, "app": "a"});
        for (old, new) in [
            (labels("a"), labels("b")),
            (labels("a"), json!({"app": "a"})),
            (Json::Null, labels("a")),
        ] {
            let found = differences(old, new);
            assert!(found.iter().any(|path| path.starts_with(".metadata.labels")), "{found:?}");
        }
    }
}
