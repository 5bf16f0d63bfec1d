//! Pods: users, images, ports and selectors.

use super::few;
use crate::diag::{Code, Diagnostic, Diagnostics};
use crate::fields::{integer, list, texts_of};
use crate::ir::{ImageParts, LASTING_WORKLOADS, Map, Object, Release, Unit, Value};
use crate::source::Reference;
use serde_json::Value as Json;
use std::collections::BTreeSet;

/// Returns the workloads whose pods run all the time.
fn workloads(unit: &Unit) -> impl Iterator<Item = &Object> {
    unit.objects.iter().filter(|object| LASTING_WORKLOADS.contains(&object.kind()))
}

/// Users and resources of pods. Both are values, so they are judged by the defaults.
pub(super) fn pods(unit: &Unit, diagnostics: &mut Diagnostics) {
    let values = unit.default_values();
    let release = Release { values: &values, ..Release::LITERAL };
    for workload in workloads(unit) {
        let Some(rendered) = release.object(workload) else { continue };
        let pod = &rendered["spec"]["template"]["spec"];
        let containers = ["initContainers", "containers"].map(|key| pod[key].as_array());
        let containers: Vec<&Json> = containers.into_iter().flatten().flatten().collect();

        // A note, because the image may have a numeric USER, which only its registry knows.
        let without_user = containers.iter().filter(|container| lacks_user(container, pod));
        let without_user: Vec<&str> =
            without_user.filter_map(|container| container["name"].as_str()).collect();
        if !without_user.is_empty() {
            let message = format!(
                "{workload} sets runAsNonRoot without runAsUser for {}: off OpenShift, pods fail with \
                    CreateContainerConfigError unless the image has a numeric USER",
                few(&without_user)
            );
            diagnostics.push(workload.note(Code::RunAsUserMissing, message));
        }

        let mut parts = containers.into_iter().chain([pod]);
        if !parts.any(has_resources) {
            let message = format!(
                "{workload} has no requests or limits for CPU and memory: a node that runs out of memory \
                    evicts its pods first"
            );
            diagnostics.push(workload.note(Code::ResourcesMissing, message));
        }
    }
}

/// Returns true if the container may not run as root and does not say as whom: OpenShift picks a
/// user.
fn lacks_user(container: &Json, pod: &Json) -> bool {
    // A container's own setting overrides that of its pod.
    let set = |key: &str| {
        let contexts = [&container["securityContext"], &pod["securityContext"]];
        contexts.into_iter().find_map(|context| context.get(key))
    };
    set("runAsNonRoot") == Some(&Json::Bool(true)) && set("runAsUser").is_none()
}

/// Returns true if a container or a pod has requests or limits for CPU or memory.
fn has_resources(part: &Json) -> bool {
    let mut amounts = ["requests", "limits"].iter().map(|key| &part["resources"][key]);
    amounts.any(|amounts| !amounts["cpu"].is_null() || !amounts["memory"].is_null())
}

/// Images that are not pinned by digest, and references that are none.
pub(super) fn images(unit: &Unit, diagnostics: &mut Diagnostics) {
    for workload in workloads(unit) {
        // Containers of one pod often have one image.
        let images = workload.containers();
        let images: BTreeSet<_> =
            images.filter_map(|c| c.get("image")?.text_by_default()).collect();
        let images = images.iter().map(AsRef::as_ref).filter(|image| !image.is_empty());
        let (valid, invalid): (Vec<&str>, Vec<&str>) = images.partition(|i| Reference::is_valid(i));
        let by_tag = valid.into_iter().filter(|image| !image.contains('@'));
        let (latest, tagged): (Vec<&str>, Vec<&str>) =
            by_tag.partition(|image| ImageParts::of(image).is_moving());

        if !invalid.is_empty() {
            let message = format!("{workload} has an invalid image reference: {}", few(&invalid));
            let hint = "set `image` with a `[[bundle.patch]]`: pods fail with InvalidImageName";
            diagnostics.push(workload.warning(Code::InvalidReference, message).hint(hint));
        }
        if !latest.is_empty() {
            let message = format!("{workload} uses an untagged or :latest image: {}", few(&latest));
            let hint = "use a bundle with digests: every pull can give another image";
            diagnostics.push(workload.warning(Code::ImageNotPinned, message).hint(hint));
        }
        if !tagged.is_empty() {
            let message =
                format!("{workload} uses images that are not pinned by digest: {}", few(&tagged));
            diagnostics.push(workload.note(Code::ImageNotPinned, message));
        }
    }
}

/// Labels of a Deployment's pods.
fn labels(workload: &Object) -> Option<&Map> {
    workload.at(&["spec", "template", "metadata", "labels"]).and_then(Value::as_map)
}

/// Ports of a Service (a disruption budget has none) that lead to the name of a port that none of its pods has.
fn targets(
    unit: &Unit,
    service: &Object,
    selects: &dyn Fn(&&Map) -> bool,
    diagnostics: &mut Diagnostics,
) {
    let is_selected = |workload: &&Object| labels(workload).is_some_and(|own| selects(&own));
    let containers = workloads(unit).filter(is_selected).flat_map(Object::containers);
    let known: Vec<&str> =
        containers.flat_map(|container| texts_of(container.get("ports"), "name")).collect();
    for (index, port) in list(service.at(&["spec", "ports"])).iter().enumerate() {
        let Some(target) = port.get("targetPort").and_then(Value::as_str) else { continue };
        // Numbers in quotes are reported elsewhere.
        if !known.contains(&target) && target.parse::<u16>().is_err() {
            let message =
                format!("{service} has target port `{target}`, which no container of its pods has");
            let place = service.place_at(&format!(".spec.ports[{index}].targetPort"));
            let found = Diagnostic::warning(Code::SelectorMatchesNothing, message).at(place);
            let hint = "use the name or number of a container port: connections to this port fail";
            diagnostics.push(found.hint(hint));
        }
    }
}

/// Reports duplicates in a container. The last one is used, except with server-side apply.
pub(super) fn twice(unit: &Unit, diagnostics: &mut Diagnostics) {
    for workload in workloads(unit) {
        for container in workload.containers() {
            let variables = texts_of(container.get("env"), "name");
            let variables = variables.map(|name| format!("env var {name}"));
            let ports = list(container.get("ports")).iter().filter_map(|item| {
                // One number may be used for TCP and for UDP.
                let protocol = item.get("protocol").and_then(Value::as_str).unwrap_or("TCP");
                let port = integer(item.get("containerPort"))?;
                Some(format!("port {port}/{protocol}"))
            });

            let items: Vec<String> = variables.chain(ports).collect();
            let mut seen = BTreeSet::new();
            let items = items.iter().map(String::as_str);
            let twice: BTreeSet<&str> = items.filter(|item| !seen.insert(*item)).collect();
            if twice.is_empty() {
                continue;
            }

            let name = container.get("name").and_then(Value::as_str).unwrap_or_default();
            let message = format!("container `{name}` of {workload} has duplicate {}", few(&twice));
            let hint = "remove one of them with a `[[bundle.patch]]`: the last one is used, but \
                    server-side apply (the default of Helm 4) rejects duplicates";
            diagnostics.push(workload.warning(Code::ApiRefuses, message).hint(hint));
        }
    }
}

/// Services and disruption budgets of the bundle that select none of the chart's pods. They may be
/// for pods that the operator makes.
pub(super) fn selectors(unit: &Unit, diagnostics: &mut Diagnostics) {
    let pods: Vec<&Map> = workloads(unit).filter_map(labels).collect();
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
        // Services without pods of the chart are for operands, whose ports are unknown.
        if pods.iter().any(selects) {
            targets(unit, object, &selects, diagnostics);
        } else {
            let message = format!("{object} selects no pods of the chart");
            diagnostics.push(object.note(Code::SelectorMatchesNothing, message));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::passes::sample::{bundle, reported};

    #[test]
    fn what_is_latest() {
        for (image, latest) in [
            ("quay.io/a/b", true),
            ("quay.io:443/a/b", true),
            ("quay.io/a/b:latest", true),
            ("quay.io:443/a/b:1.0", false),
            ("b:v1", false),
        ] {
            assert_eq!(ImageParts::of(image).is_moving(), latest, "{image}");
        }
    }

    #[test]
    fn selectors_that_select_no_pods() {
        let deployment = "
apiVersion: apps/v1
kind: Deployment
metadata: {name: widget-operator}
spec: {template: {metadata: {labels: {app: widget-operator, tier: control}}}}
---
";
        for (kind, selector, is_empty) in [
            ("Service", "{app: widget-operator}", true),
            ("Service", "{app: widget}", false),
            ("Service", "{}", true),
            ("PodDisruptionBudget", "{matchLabels: {app: widget-operator}}", true),
            ("PodDisruptionBudget", "{matchLabels: {app: widget}}", false),
            ("NetworkPolicy", "{matchLabels: {app: widget}}", true),
        ] {
            let unit = bundle(&format!(
                "{deployment}{{kind: {kind}, metadata: {{name: a}}, spec: {{selector: {selector}}}}}"
            ));
            let note = format!("note: {kind}/a selects no pods of the chart");
            let expected = if is_empty { vec![] } else { vec![note] };
            assert_eq!(reported(selectors, &unit), expected, "{kind} {selector}");
        }
    }
}
