//! Invariants of addresses in commands and variables: names that resolve, ports that Services have, and
//! variables that Kubernetes expands.

use super::super::invariants::{Context, Found, Reporter};
use super::super::view::pods::{Part, all_containers, expanded_names, list, text, words};
use super::super::view::{Manifest, View};
use super::picker::service_port;
use super::pod::pods;
use serde_json::Value as Json;
use std::collections::BTreeSet;

/// Returns the words of a container, and the values of its variables.
fn texts(container: &Json) -> impl Iterator<Item = String> + '_ {
    let values = list(container, "env").iter().map(|variable| text(variable, "value").to_owned());
    words(container).into_iter().chain(values)
}

/// Returns true if clients of a Service cannot connect to this port of it. Without an address, they
/// connect to the pods.
pub(super) fn is_closed(service: &Manifest, port: u32) -> bool {
    let spec = service.spec();
    let has_address = text(spec, "clusterIP") != "None" && text(spec, "type") != "ExternalName";
    has_address && !list(spec, "ports").is_empty() && service_port(service, port.into()).is_none()
}

/// Checks that Services in the manifests have the ports of the addresses that containers name.
pub(crate) fn ports(view: &View<'_>, found: &mut Found) {
    for (template, container, path) in view.containers() {
        let mut seen = BTreeSet::new();
        for text in texts(container) {
            let is_outside = |c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | ':'));
            for (host, port) in text.split(is_outside).filter_map(|part| part.split_once(':')) {
                let Ok(port) = port.parse::<u32>() else { continue };
                let mut labels = host.split('.');
                let name = labels.next().unwrap_or_default();
                let namespace = labels.next().unwrap_or(template.manifest.namespace());
                let services = view.all_named("Service", name, namespace);
                let mut services = services.map(|(_, service)| service).peekable();
                let Some(service) = services.peek().copied() else { continue };
                if services.all(|service| is_closed(service, port))
                    && seen.insert((host.to_owned(), port))
                {
                    let message = format!("{service} has no port {port} of `{host}:{port}`");
                    let hint = "add the port to the Service, or write one that it has";
                    found.push(template.owner, &path, message, hint);
                }
            }
        }
    }
}

/// Checks that pods in the network of their node resolve names of the cluster.
pub(crate) fn names((_, template, engine): Context<'_>, found: &mut Reporter<'_>) {
    let spec = template.spec;
    let is_on_host = spec.get("hostNetwork").and_then(Json::as_bool) == Some(true);
    let resolves = matches!(text(spec, "dnsPolicy"), "ClusterFirstWithHostNet" | "None");
    let uses = template.part != Part::Single && template.size > 1
        || texts(engine.container).any(|text| text.contains(".svc"));
    if is_on_host && !resolves && uses {
        let message = "in the network of the node, names of the cluster do not resolve";
        found.push(message, "write `dnsPolicy: ClusterFirstWithHostNet`");
    }
}

/// Checks that variables are above those that use them.
pub(crate) fn order(view: &View<'_>, found: &mut Found) {
    for (owner, path, spec) in pods(view) {
        for (container, path) in all_containers(spec, &path) {
            let variables = list(container, "env");
            for (index, variable) in variables.iter().enumerate() {
                let is_named = |one: &Json, name: &String| text(one, "name") == name;
                let (above, below) = variables.split_at(index);
                let is_late = |name: &String| {
                    let mut below = below.iter().skip(1);
                    below.any(|one| is_named(one, name))
                        && !above.iter().any(|one| is_named(one, name))
                };
                let names = expanded_names(text(variable, "value"));
                if let Some(late) = names.into_iter().find(is_late) {
                    let name = text(variable, "name");
                    let message =
                        format!("`{name}` keeps the text `$({late})`: `{late}` is below it");
                    let path = format!("{path}.env[{index}]");
                    found.push(owner, path, message, format!("move `{late}` above `{name}`"));
                }
            }
        }
    }
}
