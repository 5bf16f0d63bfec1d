//! Pods: users, images, and who selects them.

use super::few;
use crate::diag::{Code, Diagnostic, Diagnostics};
use crate::ir::{Map, Object, Unit, Value};

fn deployments(unit: &Unit) -> impl Iterator<Item = &Object> {
    unit.objects.iter().filter(|object| object.kind() == "Deployment")
}

/// Containers that may not run as root and do not say as whom: OpenShift picks a user.
pub(super) fn users(unit: &Unit, diagnostics: &mut Diagnostics) {
    for deployment in deployments(unit) {
        let pod = deployment.at(&["spec", "template", "spec", "securityContext"]);
        let sets = |context: Option<&Value>, key: &str| context.and_then(|c| c.get(key)).cloned();
        let missing: Vec<&str> = deployment
            .containers()
            .filter(|container| {
                let own = container.get("securityContext");
                let non_root = sets(own, "runAsNonRoot").or_else(|| sets(pod, "runAsNonRoot"));
                let user = sets(own, "runAsUser").or_else(|| sets(pod, "runAsUser"));
                non_root == Some(Value::Bool(true)) && user.is_none()
            })
            .filter_map(|container| container.get("name").and_then(Value::as_str))
            .collect();
        if !missing.is_empty() {
            diagnostics.push(
                Diagnostic::note(
                    Code::RunAsUserMissing,
                    format!(
                        "{} sets runAsNonRoot without runAsUser for {}: OpenShift picks a user, elsewhere the image must name a numeric one",
                        deployment.label(),
                        few(&missing)
                    ),
                )
                .at(deployment.place()),
            );
        }
    }
}

/// Whether a reference means something else tomorrow without anybody having changed it.
fn is_latest(image: &str) -> bool {
    let name = image.rsplit('/').next().unwrap_or(image);
    !image.contains('@') && name.split_once(':').is_none_or(|(_, tag)| tag == "latest")
}

/// Images that are not pinned by digest.
pub(super) fn images(unit: &Unit, diagnostics: &mut Diagnostics) {
    for deployment in deployments(unit) {
        let images: Vec<_> = deployment
            .containers()
            .filter_map(|container| container.get("image").and_then(Value::text_by_default))
            .collect();
        let mut images: Vec<&str> = images
            .iter()
            .map(AsRef::as_ref)
            .filter(|image: &&str| !image.contains("@sha256:"))
            .collect();
        images.sort_unstable();
        images.dedup();
        let (latest, tagged): (Vec<&str>, Vec<&str>) =
            images.into_iter().partition(|image| is_latest(image));
        if !latest.is_empty() {
            diagnostics.push(
                Diagnostic::warning(
                    Code::ImageNotPinned,
                    format!("{} runs what is latest: {}", deployment.label(), few(&latest)),
                )
                .at(deployment.place())
                .hint("every pull may give another program; ask for a bundle with digests"),
            );
        }
        if !tagged.is_empty() {
            diagnostics.push(
                Diagnostic::note(
                    Code::ImageNotPinned,
                    format!(
                        "{} runs images that are not pinned by digest: {}",
                        deployment.label(),
                        few(&tagged)
                    ),
                )
                .at(deployment.place()),
            );
        }
    }
}

/// Services and disruption budgets of the bundle that select none of the chart's pods. They may be
/// for pods that the operator makes.
pub(super) fn selectors(unit: &Unit, diagnostics: &mut Diagnostics) {
    let pods: Vec<&Map> = deployments(unit)
        .filter_map(|d| d.at(&["spec", "template", "metadata", "labels"]).and_then(Value::as_map))
        .collect();
    for object in &unit.objects {
        let selector = match object.kind() {
            "Service" => object.at(&["spec", "selector"]),
            "PodDisruptionBudget" => object.at(&["spec", "selector", "matchLabels"]),
            _ => None,
        };
        let Some(selector) = selector.and_then(Value::as_map).filter(|map| !map.is_empty()) else {
            continue;
        };
        let selects =
            |labels: &&Map| selector.iter().all(|(key, value)| labels.get(key) == Some(value));
        if !pods.iter().any(selects) {
            diagnostics.push(
                Diagnostic::note(
                    Code::SelectorMatchesNothing,
                    format!("{} selects no pod of the chart", object.label()),
                )
                .at(object.place()),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::is_latest;

    #[test]
    fn what_is_latest() {
        for (image, latest) in [
            ("quay.io/a/b", true),
            ("quay.io:443/a/b", true),
            ("quay.io/a/b:latest", true),
            ("quay.io:443/a/b:1.0", false),
            ("b:v1", false),
            ("quay.io/a/b@sha256:0", false),
            ("quay.io/a/b:latest@sha256:0", false),
        ] {
            assert_eq!(is_latest(image), latest, "{image}");
        }
    }
}
