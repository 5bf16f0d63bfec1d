//! Faults of Services, and of webhooks, conversions and aggregated APIs behind them.

use super::pods::Pod;
use super::{BACKEND, Fault, PORT, SELECTS_NONE, UNDECLARED};
use crate::read::{at, entries, items, keys, text};
use crate::{Identity, Side};
use serde_json::Value as Json;
use std::collections::HashMap;

/// Returns the faults of all Services of a side, and of the webhooks, conversions and APIs behind
/// them.
pub(super) fn faults(side: &Side, pods: &[Pod<'_>]) -> Vec<Fault> {
    let mut index = PodsByLabel::new();
    for pod in pods {
        for (key, value) in entries(pod.labels, &[]) {
            index.entry(label(key, value)).or_default().push(pod);
        }
    }

    let mut faults = Vec::new();

    for (id, object) in &side.objects {
        match id.kind.as_str() {
            "Service" => service(id, object, &index, &mut faults),
            "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration" => {
                for webhook in items(object, &["webhooks"]) {
                    let what = format!("webhook {}", text(webhook, &["name"]));
                    let service = at(webhook, &["clientConfig", "service"]);
                    faults.extend(backend(side, id, &what, service));
                }
            }
            "CustomResourceDefinition" => {
                let client = &["spec", "conversion", "webhook", "clientConfig", "service"];
                faults.extend(backend(side, id, "conversion webhook", at(object, client)));
            }
            "APIService" => {
                let service = at(object, &["spec", "service"]);
                faults.extend(backend(side, id, "aggregated API", service));
            }
            _ => {}
        }
    }

    faults
}

/// Pods by one of their labels, so that thousands of Services do not look at all pods each.
type PodsByLabel<'p, 'a> = HashMap<String, Vec<&'p Pod<'a>>>;

fn label(key: &str, value: &Json) -> String {
    format!("{key}={}", value.as_str().unwrap_or_default())
}

fn service(id: &Identity, service: &Json, index: &PodsByLabel<'_, '_>, faults: &mut Vec<Fault>) {
    let selector = at(service, &["spec", "selector"]).and_then(Json::as_object);
    let Some(selector) = selector.filter(|selector| !selector.is_empty()) else { return };
    let with_label = |(key, value): (&String, &Json)| index.get(&label(key, value));
    let rarest = selector.iter().map(|entry| with_label(entry).map_or(&[][..], Vec::as_slice));
    let rarest = rarest.min_by_key(|pods| pods.len()).unwrap_or_default();
    let has_all = |pod: &&&Pod<'_>| {
        pod.id.namespace == id.namespace
            && selector.iter().all(|(key, value)| at(pod.labels, &[key]) == Some(value))
    };
    let pods: Vec<&Pod<'_>> = rarest.iter().filter(has_all).copied().collect();
    if pods.is_empty() {
        let text = "spec.selector: no pods of the chart have these labels".to_owned();
        faults.push(Fault::new(id, &SELECTS_NONE, text, keys(&["spec", "selector"])));
        return;
    }

    let is_unknown = |port| !pods.iter().any(|pod| pod.mentions(port));
    for port in items(service, &["spec", "ports"]) {
        let path = keys(&["spec", "ports"]);
        // `SetDefaults_Service` in pkg/apis/core/v1: without a target, it is the port itself.
        match port.get("targetPort").or_else(|| port.get("port")) {
            Some(Json::String(name)) if !pods.iter().any(|pod| pod.has_port(name)) => {
                let text = format!("targetPort {name}: no container of its pods has this port");
                faults.push(Fault::new(id, &PORT, text, path));
            }
            Some(Json::Number(number)) if number.as_i64().is_some_and(is_unknown) => {
                let text = format!("targetPort {number}: no container of its pods declares it");
                faults.push(Fault::new(id, &UNDECLARED, text, path));
            }
            _ => {}
        }
    }
}

/// Returns the fault of a Service that the API server calls and that is missing, or has not the port.
fn backend(side: &Side, id: &Identity, what: &str, service: Option<&Json>) -> Option<Fault> {
    let service = service?;
    let (name, namespace) = (text(service, &["name"]), text(service, &["namespace"]));
    // Services of other namespaces are not part of the chart.
    let namespace = if namespace == side.namespace { "" } else { namespace };
    let known = side.objects.get(&Identity::new("Service", "", namespace, name));
    // 443 is the default in webhooks, conversions and APIServices.
    let port = service.get("port").and_then(Json::as_i64).unwrap_or(443);
    let has_port = |service: &Json| {
        let mut ports = items(service, &["spec", "ports"]).iter();
        ports.any(|own| own.get("port").and_then(Json::as_i64) == Some(port))
    };
    let reason = match known {
        None if namespace.is_empty() => {
            format!("{what}: Service {name} is not part of the chart")
        }
        Some(known) if !has_port(known) => format!("{what}: Service {name} has no port {port}"),
        _ => return None,
    };
    Some(Fault::new(id, &BACKEND, reason, Vec::new()))
}
