//! Rules on Services and NetworkPolicies.

use super::lookup::Lookup;
use super::{RuleContext, display_value, fields, found, listed, rules};
use crate::Finding;
use crate::identity::Pair;
use crate::read::items;
use serde_json::Value as Json;
use std::collections::BTreeSet;

rules! {
    /// Port of a Service removed.
    ///
    /// Clients that use the port cannot connect.
    PORT "service-port-changed" Breaking(Unavailable Fix)
        "Change the port in clients, Ingresses and monitoring.";
    /// Port of a Service added.
    ///
    /// The Service exposes an additional port.
    PORT_ADDED "service-port-added" Info;
    /// Port of a Service renamed.
    ///
    /// ServiceMonitors, Ingresses and service meshes may reference a port by name.
    PORT_RENAMED "service-port-renamed" Risky(Unavailable)
        "Change references to the old name.";
    /// Selector of a Service changed.
    ///
    /// The Service has no endpoints until pods with the new labels are ready, and it also selects
    /// other pods with these labels.
    SELECTOR "service-selector-changed" Risky(Unavailable Watch)
        "Watch the Service's endpoints during the upgrade.";
    /// NetworkPolicy added.
    ///
    /// Traffic of the selected pods is dropped unless a policy allows it.
    POLICY_ADDED "network-policy-added" Risky(Unavailable Watch)
        "Check that monitoring, webhooks, DNS and the API server can still reach the pods.";
    /// NetworkPolicy removed.
    ///
    /// Pods that no other policy selects accept all traffic.
    POLICY_REMOVED "network-policy-removed" Risky(Escalation)
        "Create your own policy if you rely on the isolation.";
    /// NetworkPolicy changed.
    ///
    /// Traffic that is no longer allowed is dropped.
    POLICY_NARROWED "network-policy-changed" Risky(Unavailable Watch)
        "Check which clients connect to the pods.";
}

pub(super) fn add_findings(context: &RuleContext<'_, '_>, findings: &mut Vec<Finding>) {
    let edit = context.edit;
    let shape = context.shape();
    // New and removed Services, which have no path, have rules of their own.
    let is_policy = context.pair.id.kind == "NetworkPolicy";
    let finding = match (shape.as_slice(), &edit.old, &edit.new) {
        ([], None, _) if is_policy => {
            Some(found(&POLICY_ADDED, "restricts traffic of the selected pods"))
        }
        ([], _, None) if is_policy => {
            Some(found(&POLICY_REMOVED, "no longer restricts traffic of its pods"))
        }
        (["spec", "ports", ..], ..) => ports(context, &shape),
        _ => None,
    };
    findings.extend(finding);
}

/// Port numbers and protocols of a Service on both sides.
pub(super) type Ports = [BTreeSet<(i64, String)>; 2];

/// Returns the ports of a Service; empty for other kinds.
pub(super) fn ports_of(pair: &Pair<'_>) -> Ports {
    let service =
        |object: Option<&'_ Json>| numbers(object.filter(|_| pair.id.kind == "Service")).collect();
    [pair.old, pair.new].map(service)
}

fn numbers(service: Option<&Json>) -> impl Iterator<Item = (i64, String)> {
    items(service, &["spec", "ports"]).iter().filter_map(number)
}

fn number(port: &Json) -> Option<(i64, String)> {
    let protocol = port.get("protocol").and_then(Json::as_str).unwrap_or("TCP");
    Some((port.get("port")?.as_i64()?, protocol.to_owned()))
}

/// Returns the finding for an edit of ports. Only number and protocol identify a port; other fields
/// do not remove it.
fn ports(context: &RuleContext<'_, '_>, shape: &[&str]) -> Option<Finding> {
    let edit = context.edit;
    if shape.last() == Some(&"[order]") {
        return None;
    }
    let [old, new] = &context.ports;
    let decides = shape.len() <= 3 || ["port", "protocol"].contains(&shape[3]);
    let missing = |object: &Lookup<'_>, others: &BTreeSet<(i64, String)>| {
        let mut ports: Vec<(i64, String)> = match context.steps().get(..3) {
            Some(path) => object.at(path).and_then(number).into_iter().collect(),
            None => numbers(object.root).collect(),
        };
        ports.retain(|port| decides && !others.contains(port));
        let names: Vec<String> = ports.iter().map(|(n, p)| format!("{n}/{p}")).collect();
        (!names.is_empty()).then(|| listed(&names, 5))
    };
    if let Some(gone) = missing(&context.old, new) {
        return Some(found(&PORT, format!("port {gone} removed")));
    }
    if let Some(came) = missing(&context.new, old) {
        return Some(found(&PORT_ADDED, format!("new port {came}")));
    }
    if shape.len() == 3 {
        // Ports are merged by name, so a renamed port is a removed and an added item.
        let name = edit.old.as_ref().or(edit.new.as_ref()).and_then(|port| port.get("name"));
        let reason = name.map(|name| format!("name of a port changed: {}", display_value(name)));
        return Some(found(&PORT_RENAMED, reason.unwrap_or_default()));
    }
    match *shape.last()? {
        "name" => Some(found(&PORT_RENAMED, context.change())),
        // Names that swap their ports.
        "port" | "protocol" => {
            let reason = format!("{}, which had another name", context.change());
            Some(found(&PORT_RENAMED, reason))
        }
        // Without a number, the API server keeps the one that it has allocated.
        "nodePort" if edit.new.is_some() => Some(found(&fields::ROUTING, context.change())),
        _ => None,
    }
}
