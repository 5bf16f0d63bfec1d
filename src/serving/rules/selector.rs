//! Invariants of selectors and named ports: workloads, Services and monitors.

use super::super::invariants::Found;
use super::super::view::pods::{Template, is_placeholder, list, text};
use super::super::view::{Manifest, View, has_labels};
use super::pod::is_typo;
use crate::diag::Severity;
use serde_json::{Map, Value as Json};
use std::collections::BTreeMap;

type Labels = Map<String, Json>;

/// Returns the labels that a label selector requires; `None` with expressions.
fn match_labels(selector: Option<&Json>) -> Option<&Labels> {
    let selector = selector?;
    let labels = selector.get("matchLabels")?.as_object().filter(|labels| !labels.is_empty())?;
    (list(selector, "matchExpressions").is_empty()).then_some(labels)
}

/// The labels of pods, or of other objects.
type Known<'v> = BTreeMap<&'v str, &'v str>;

fn labels_of(manifest: &Manifest) -> Known<'_> {
    let labels = manifest.json.pointer("/metadata/labels").and_then(Json::as_object);
    let pairs = labels.into_iter().flatten();
    pairs.filter_map(|(key, value)| Some((key.as_str(), value.as_str()?))).collect()
}

fn selects(wanted: &Labels, labels: &Known<'_>) -> bool {
    wanted.iter().all(|(key, value)| labels.get(key.as_str()).copied() == value.as_str())
}

/// Returns the label that a selector has to change to match: all others match, and its key or value
/// has a typing error. With `is_meant`, a value with another ending is wrong as well.
fn mistyped(wanted: &Labels, labels: &Known<'_>, is_meant: bool) -> Option<String> {
    let fits = |key: &str, value: &Json| labels.get(key).copied() == value.as_str();
    let mut wrong = wanted.iter().filter(|(key, value)| !fits(key, value));
    let (Some((key, value)), None) = (wrong.next(), wrong.next()) else { return None };
    let value = value.as_str().filter(|value| !is_placeholder(value))?;
    match labels.get(key.as_str()) {
        Some(known) => {
            let extended = value.starts_with(known) || known.starts_with(value);
            let similar = is_typo(value, known) || (is_meant && extended);
            (similar && !is_placeholder(known)).then(|| format!("{key}: {known}"))
        }
        None => {
            let near = labels.iter().find(|(other, known)| **known == value && is_typo(key, other));
            near.map(|(key, known)| format!("{key}: {known}"))
        }
    }
}

/// Returns true if a Service targets a port that these pods declare.
fn targets(service: &Json, pods: &Json) -> bool {
    let names = port_names(pods);
    let declared: Vec<u32> =
        list(pods, "containers").iter().flat_map(super::super::view::pods::declared).collect();
    list(service, "ports").iter().any(|port| match port.get("targetPort").or(port.get("port")) {
        Some(Json::String(name)) => names.contains(&name.as_str()),
        Some(number) => {
            number.as_u64().is_some_and(|n| declared.iter().any(|d| u64::from(*d) == n))
        }
        None => false,
    })
}

/// Pods: their labels, their template unless they are a picker's, and their spec.
type Pods<'v> = (Known<'v>, Option<&'v Template<'v>>, &'v Json);

/// Returns the pods in the namespace of `near`, or in all namespaces, that may have these labels.
fn pods_like<'v>(view: &'v View<'_>, wanted: &Labels, near: Option<&Manifest>) -> Vec<Pods<'v>> {
    let templates = view.index.templates.candidates(wanted, near);
    let mut all: Vec<Pods<'v>> = templates
        .iter()
        .map(|number| &view.templates[*number])
        .map(|template| (template.labels.clone(), Some(template), template.spec))
        .collect();
    for number in view.index.pickers.candidates(wanted, near) {
        let owner = &view.manifests[view.pickers[number].owner];
        let Some(template) = owner.json.pointer("/spec/template") else { continue };
        let labels = template.pointer("/metadata/labels").and_then(Json::as_object);
        let labels = labels.into_iter().flatten();
        let labels = labels.filter_map(|(key, value)| Some((key.as_str(), value.as_str()?)));
        all.push((labels.collect(), None, template.get("spec").unwrap_or(&Json::Null)));
    }
    all
}

/// Returns those of [`pods_like`] that have the labels.
fn pods_with<'v>(view: &'v View<'_>, wanted: &Labels, near: Option<&Manifest>) -> Vec<Pods<'v>> {
    let mut pods = pods_like(view, wanted, near);
    pods.retain(|(labels, ..)| selects(wanted, labels));
    pods
}

/// Returns true if a container of the pods has a port with this name.
fn has_port(spec: &Json, name: &str) -> bool {
    port_names(spec).contains(&name)
}

fn port_names(spec: &Json) -> Vec<&str> {
    ["containers", "initContainers"]
        .iter()
        .flat_map(|key| list(spec, key))
        .flat_map(|container| list(container, "ports"))
        .map(|port| text(port, "name"))
        .filter(|name| !name.is_empty())
        .collect()
}

/// Checks that workloads select their own pods, which the API server requires.
pub(crate) fn workloads(view: &View<'_>, found: &mut Found) {
    for (owner, manifest) in view.manifests.iter().enumerate() {
        let is_workload =
            matches!(manifest.kind(), "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet");
        let is_ours = view.templates_of(owner).any(|template| template.engine.is_some())
            || view.picker_of(owner).is_some();
        let wanted = match_labels(manifest.json.pointer("/spec/selector"));
        let (true, true, Some(wanted)) = (is_workload, is_ours, wanted) else { continue };
        let labels = manifest.json.pointer("/spec/template/metadata/labels");
        if !has_labels(labels, wanted) {
            let message = format!("{} does not select its own pods", manifest.label());
            let hint = "use the same labels in `selector` and in the template";
            found.push(owner, ".spec.selector", message, hint);
        }
    }
}

/// Checks that Services of engines and pickers select them, and that their target ports exist.
pub(crate) fn services(view: &View<'_>, found: &mut Found) {
    for (owner, service) in view.of_kind("Service") {
        let Some(spec) = service.json.get("spec") else { continue };
        let wanted = spec.get("selector").and_then(Json::as_object).filter(|s| !s.is_empty());
        let Some(wanted) = wanted else { continue };
        let selected = pods_with(view, wanted, Some(service));
        if selected.is_empty() {
            let pods = pods_like(view, &Labels::new(), Some(service));
            let near = pods.iter().filter(|(_, template, _)| {
                template.is_none_or(|template| template.engine.is_some())
            });
            let mut near =
                near.filter_map(|(labels, _, pods)| mistyped(wanted, labels, targets(spec, pods)));
            if let Some(label) = near.next() {
                let message = format!("{} selects no pods", service.label());
                let hint = format!("select by `{label}`, which the pods have");
                found.push(owner, ".spec.selector", message, hint);
            }
            continue;
        }

        for (index, port) in list(spec, "ports").iter().enumerate() {
            let path = format!(".spec.ports[{index}].targetPort");
            match port.get("targetPort") {
                Some(Json::String(name))
                    if name.parse::<u32>().is_err() && !is_placeholder(name) =>
                {
                    // A controller may add containers.
                    let is_known = selected.iter().all(|(_, t, _)| t.is_none_or(|t| !t.completed));
                    if is_known && !selected.iter().any(|(_, _, spec)| has_port(spec, name)) {
                        let message = format!(
                            "{} targets port `{name}`, which no selected pod declares",
                            service.label()
                        );
                        let names: Vec<&str> =
                            selected.iter().flat_map(|(_, _, spec)| port_names(spec)).collect();
                        let hint = crate::diag::suggest::hint(name, &names, "ports");
                        found.push(owner, path, message, hint);
                    }
                }
                target => {
                    let number = target.or(port.get("port")).and_then(Json::as_u64);
                    let number = number.and_then(|number| u32::try_from(number).ok());
                    let open = open_ports(&selected);
                    let (Some(number), Some(open)) = (number, open) else { continue };
                    if !open.contains(&number) {
                        let message = format!(
                            "{} targets port {number}, but the pods listen on {}",
                            service.label(),
                            super::ranges(&open)
                        );
                        let hint = "set `targetPort` to a port of the engine";
                        found.push(owner, path, message, hint);
                    }
                }
            }
        }
    }
}

/// Returns the ports of pods, if all are engines with known ports.
fn open_ports(selected: &[Pods<'_>]) -> Option<Vec<u32>> {
    let mut open = Vec::new();
    for (_, template, spec) in selected {
        let template = template.filter(|t| t.engine.is_some() && !t.completed)?;
        let engine = template.engine.as_ref()?;
        if engine.is_headless() {
            continue;
        }
        let known = template.ports().filter(|_| engine.flags.is_some())?;
        open.extend(known);
        // A process may open ports that only its declaration names, such as metrics or KV events.
        for container in list(spec, "containers") {
            open.extend(super::super::view::pods::declared(container));
        }
        open.extend(super::engine::supervisor(engine).filter(|_| engine.has_port_for_each_rank()));
    }
    (!open.is_empty()).then_some(open)
}

/// Checks that PodMonitors and ServiceMonitors select something, by ports that exist.
pub(crate) fn monitors(view: &View<'_>, found: &mut Found) {
    for (owner, monitor) in view.of_kind("PodMonitor") {
        let Some(spec) = monitor.json.get("spec") else { continue };
        let Some(wanted) = match_labels(spec.get("selector")) else { continue };
        let elsewhere = spec.get("namespaceSelector").is_some();
        let near = (!elsewhere).then_some(monitor);
        let selected = pods_with(view, wanted, near);

        // The pods may be in other manifests, so only labels that look mistyped are reported.
        if selected.is_empty() {
            let named = |pods: &Json| {
                let endpoints = list(spec, "podMetricsEndpoints");
                endpoints.iter().any(|endpoint| has_port(pods, text(endpoint, "port")))
            };
            let pods = pods_like(view, &Labels::new(), near);
            let near = pods.iter().filter(|(_, t, _)| t.is_none_or(|t| t.engine.is_some()));
            let mut near =
                near.filter_map(|(labels, _, pods)| mistyped(wanted, labels, named(pods)));
            if let Some(label) = near.next() {
                let message = format!("{} selects no pods", monitor.label());
                let hint = format!("select by `{label}`, which the pods have");
                found.push(owner, ".spec.selector", message, hint).field = Some("monitoring");
            }
            continue;
        }

        // Controllers add ports to completed pods.
        if selected.iter().any(|(_, template, _)| template.is_some_and(|t| t.completed)) {
            continue;
        }
        for (index, endpoint) in list(spec, "podMetricsEndpoints").iter().enumerate() {
            let by_name = text(endpoint, "port");
            let by_target = endpoint.get("targetPort").and_then(Json::as_str).unwrap_or_default();
            let name = if by_name.is_empty() { by_target } else { by_name };
            if name.is_empty() || is_placeholder(name) {
                continue;
            }
            if !selected.iter().any(|(_, _, spec)| has_port(spec, name)) {
                let message = format!(
                    "{} uses port `{name}`, which no selected pod declares",
                    monitor.label()
                );
                let names: Vec<&str> =
                    selected.iter().flat_map(|(_, _, spec)| port_names(spec)).collect();
                let hint = crate::diag::suggest::hint(name, &names, "ports");
                let path = format!(".spec.podMetricsEndpoints[{index}].port");
                found.push(owner, path, message, hint).field = Some("monitoring");
            }
        }
    }

    for (owner, monitor) in view.of_kind("ServiceMonitor") {
        let Some(spec) = monitor.json.get("spec") else { continue };
        let Some(wanted) = match_labels(spec.get("selector")) else { continue };
        let anywhere = spec.get("namespaceSelector").is_some();
        let near = (!anywhere).then_some(monitor);
        let selected: Vec<&Manifest> = view
            .services_like(wanted, near)
            .filter(|service| selects(wanted, &labels_of(service)))
            .collect();
        if selected.is_empty() {
            let services = view.services_like(&Labels::new(), near);
            let mut near =
                services.filter_map(|service| mistyped(wanted, &labels_of(service), false));
            if let Some(label) = near.next() {
                let message = format!("{} selects no Services", monitor.label());
                let hint = format!("select by `{label}`, which the Service has");
                found.push(owner, ".spec.selector", message, hint).field = Some("monitoring");
            }
            continue;
        }
        for (index, endpoint) in list(spec, "endpoints").iter().enumerate() {
            let name = text(endpoint, "port");
            let names: Vec<&str> = selected
                .iter()
                .flat_map(|service| service.json.get("spec").map_or(&[][..], |s| list(s, "ports")))
                .map(|port| text(port, "name"))
                .collect();
            if name.is_empty() || is_placeholder(name) || names.contains(&name) {
                continue;
            }
            let message =
                format!("{} uses port `{name}`, which no selected Service has", monitor.label());
            let hint = crate::diag::suggest::hint(name, &names, "ports");
            let path = format!(".spec.endpoints[{index}].port");
            let finding = found.push(owner, path, message, hint);
            finding.field = Some("monitoring");
            finding.severity = Some(Severity::Error);
        }
    }
}
