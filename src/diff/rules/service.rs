//! Services and network policies: who reaches whom.

use super::lookup::Lookup;
use super::{Scene, found, rules, spoken};
use crate::diff::Finding;
use crate::diff::identity::Pair;
use serde_json::Value as Json;
use std::collections::BTreeSet;

rules! {
    PORT "service-port-changed" Breaking
        "A Service no longer has a port."
        "Clients that use the port cannot connect."
        "Change the port in clients, Ingresses and monitoring.";
    PORT_ADDED "service-port-added" Info
        "A Service has one more port."
        "One more thing to reach."
        "Nothing.";
    PORT_RENAMED "service-port-renamed" Risky
        "A port of a Service has another name."
        "ServiceMonitors, Ingresses and service meshes may refer to a port by name."
        "Change what names the port.";
    SELECTOR "service-selector-changed" Risky
        "A Service selects other pods."
        "Until pods with the new labels are ready, nothing answers; pods of others with these labels would."
        "Watch the Service's endpoints during the upgrade.";
    TYPE "service-type-changed" Risky
        "A Service is of another type."
        "Addresses outside of the cluster come or go with the type."
        "Check load balancers, DNS and firewalls.";
    POLICY_ADDED "network-policy-added" Risky
        "A NetworkPolicy is new."
        "Traffic of the pods that it selects is dropped unless a policy allows it."
        "Check monitoring, webhooks, DNS and the API server's way to the pods.";
    POLICY_NARROWED "network-policy-changed" Risky
        "A NetworkPolicy allows other traffic."
        "What is not allowed any more is dropped."
        "Check who talks to the pods.";
}

pub(super) fn judge(scene: &Scene<'_, '_>, findings: &mut Vec<Finding>) {
    let edit = scene.edit;
    let shape = scene.shape();
    if scene.pair.id.kind == "NetworkPolicy" {
        match (shape.as_slice(), &edit.old, &edit.new) {
            ([], None, Some(_)) => {
                findings.push(found(&POLICY_ADDED, "pods that it selects are closed to the rest"));
            }
            (["spec", ..], ..) => {
                findings.push(found(&POLICY_NARROWED, "other traffic is allowed"));
            }
            _ => {}
        }
        return;
    }
    if scene.pair.old.is_none() || scene.pair.new.is_none() {
        return;
    }
    match (shape.as_slice(), &edit.old, &edit.new) {
        (["spec", "selector", ..], Some(_), _) => {
            findings.push(found(&SELECTOR, "it selects pods by other labels"));
        }
        (["spec", "selector", ..], None, _) => {
            findings.push(found(&SELECTOR, "it selects pods by more labels"));
        }
        (["spec", "type"], old, new) => {
            let word = |value: &Option<Json>| {
                value.as_ref().and_then(Json::as_str).unwrap_or("ClusterIP").to_owned()
            };
            if word(old) != word(new) {
                findings.push(found(&TYPE, format!("{} became {}", word(old), word(new))));
            }
        }
        (["spec", "ports", ..], ..) => ports(scene, &shape, findings),
        _ => {}
    }
}

/// Number and protocol of every port of a Service, on both sides.
#[derive(Default)]
pub(super) struct Ports {
    old: BTreeSet<(i64, String)>,
    new: BTreeSet<(i64, String)>,
}

impl Ports {
    /// Returns the ports; none for objects of other kinds.
    pub(super) fn of(pair: &Pair<'_>) -> Self {
        if pair.id.kind != "Service" {
            return Ports::default();
        }
        let set = |object| numbers(object).into_iter().collect();
        Ports { old: set(pair.old), new: set(pair.new) }
    }
}

fn numbers(service: Option<&Json>) -> Vec<(i64, String)> {
    let ports = service.and_then(|s| s.pointer("/spec/ports")).and_then(Json::as_array);
    ports.into_iter().flatten().filter_map(number).collect()
}

fn number(port: &Json) -> Option<(i64, String)> {
    let protocol = port.get("protocol").and_then(Json::as_str).unwrap_or("TCP");
    Some((port.get("port")?.as_i64()?, protocol.to_owned()))
}

fn ports(scene: &Scene<'_, '_>, shape: &[&str], findings: &mut Vec<Finding>) {
    let edit = scene.edit;
    let Ports { old: had, new: has } = scene.ports;
    let part = |object: &Lookup<'_>| -> Vec<(i64, String)> {
        match scene.steps().get(..3) {
            Some(path) => object.at(path).and_then(number).into_iter().collect(),
            None => numbers(object.root()),
        }
    };
    // Only what says which port it is.
    let decides = shape.len() <= 3 || ["port", "protocol"].contains(&shape[3]);
    let gone: Vec<(i64, String)> =
        part(scene.old).into_iter().filter(|port| !has.contains(port)).collect();
    if decides && !gone.is_empty() {
        let names: Vec<String> = gone.iter().map(|(n, p)| format!("{n}/{p}")).collect();
        findings.push(found(&PORT, format!("{} is gone", super::listed(&names, 5))));
        return;
    }
    let came: Vec<(i64, String)> =
        part(scene.new).into_iter().filter(|port| !had.contains(port)).collect();
    if decides && !came.is_empty() {
        let names: Vec<String> = came.iter().map(|(n, p)| format!("{n}/{p}")).collect();
        findings.push(found(&PORT_ADDED, format!("{} is new", super::listed(&names, 5))));
    } else if shape.len() == 3 {
        // Ports are told apart by name: the same number under another one.
        let name = edit.old.as_ref().or(edit.new.as_ref()).and_then(|port| port.get("name"));
        let reason = name.map(|name| format!("{} is another name of a port", spoken(name)));
        findings.push(found(&PORT_RENAMED, reason.unwrap_or_default()));
    } else if shape.last() == Some(&"name") {
        findings.push(found(&PORT_RENAMED, "the port's name changed"));
    }
}
