//! Invariants of HTTPRoutes and their Gateways.

use super::super::invariants::Found;
use super::super::view::pods::{is_placeholder, list, text};
use super::super::view::{Manifest, View};
use crate::diag::Severity;
use crate::diag::suggest;
use serde_json::Value as Json;

/// Checks that routes reference Gateways, listeners and Services that exist in the manifests.
pub(crate) fn routes(view: &View<'_>, found: &mut Found) {
    for (owner, route) in view.of_kind("HTTPRoute").chain(view.of_kind("GRPCRoute")) {
        let Some(spec) = route.json.get("spec") else { continue };
        for (index, parent) in list(spec, "parentRefs").iter().enumerate() {
            if !matches!(text(parent, "kind"), "" | "Gateway") {
                continue;
            }
            let path = format!(".spec.parentRefs[{index}]");
            parent_of(view, route, owner, parent, &path, found);
        }
        for (rule_index, rule) in list(spec, "rules").iter().enumerate() {
            let backends = list(rule, "backendRefs");
            let is_off = |backend: &Json| backend.get("weight").and_then(Json::as_u64) == Some(0);
            if !backends.is_empty() && backends.iter().all(is_off) {
                let message = format!("all backends of a rule of {} have weight 0", route.label());
                let path = format!(".spec.rules[{rule_index}].backendRefs");
                found.push(owner, path, message, "give a backend a weight of 1 or more");
            }
            for (index, backend) in list(rule, "backendRefs").iter().enumerate() {
                let path = format!(".spec.rules[{rule_index}].backendRefs[{index}]");
                backend_of(view, route, owner, backend, &path, found);
            }
        }
    }
}

fn parent_of(
    view: &View<'_>,
    route: &Manifest,
    owner: usize,
    parent: &Json,
    path: &str,
    found: &mut Found,
) {
    let (name, namespace) = (text(parent, "name"), text(parent, "namespace"));
    if is_placeholder(name) || is_placeholder(namespace) || view.of_kind("Gateway").next().is_none()
    {
        return;
    }
    let namespace = if namespace.is_empty() { route.namespace() } else { namespace };
    let Some((_, gateway)) = view.all_named("Gateway", name, namespace).next() else {
        let names: Vec<&str> = view.of_kind("Gateway").map(|(_, gateway)| gateway.name()).collect();
        if names.iter().any(|name| is_placeholder(name)) {
            return;
        }
        let message =
            format!("{} references Gateway/{name}, which is not in the manifests", route.label());
        let hint = suggest::hint(name, &names, "Gateways");
        // The Gateway may be in the cluster, unless the name is nearly that of another one.
        let is_near = names.contains(&name) || suggest::nearest(name, &names).is_some();
        if !is_near {
            found.push(owner, path, message, hint).severity = Some(Severity::Warning);
        } else {
            found.push(owner, path, message, hint);
        }
        return;
    };

    let listeners = gateway.json.get("spec").map_or(&[][..], |spec| list(spec, "listeners"));
    let section = text(parent, "sectionName");
    let named: Vec<&Json> = listeners
        .iter()
        .filter(|listener| section.is_empty() || text(listener, "name") == section)
        .collect();
    if named.is_empty() && !listeners.is_empty() && !is_placeholder(section) {
        let names: Vec<&str> = listeners.iter().map(|listener| text(listener, "name")).collect();
        let message = format!(
            "{} references listener `{section}`, which {} does not have",
            route.label(),
            gateway.label()
        );
        let hint = suggest::hint(section, &names, "listeners");
        found.push(owner, format!("{path}.sectionName"), message, hint);
        return;
    }
    let port = parent.get("port").and_then(Json::as_u64);
    let has_port = |port: u64| {
        named.iter().any(|listener| listener.get("port").and_then(Json::as_u64) == Some(port))
    };
    if let Some(port) = port.filter(|port| !named.is_empty() && !has_port(*port)) {
        let message = format!(
            "{} references port {port}, which {} does not have",
            route.label(),
            gateway.label()
        );
        found.push(owner, format!("{path}.port"), message, "use the port of a listener");
        return;
    }

    // By default a listener accepts routes of its own namespace only.
    let (one, other) = (route.namespace(), gateway.namespace());
    let allows = |listener: &&Json| {
        let from = listener.pointer("/allowedRoutes/namespaces/from").and_then(Json::as_str);
        from.is_some_and(|from| from != "Same")
    };
    let differ = !one.is_empty() && !other.is_empty() && one != other;
    if differ && !named.is_empty() && !named.iter().any(allows) {
        let message = format!(
            "{} does not accept {}, which is in another namespace",
            gateway.label(),
            route.label()
        );
        let hint = "set `allowedRoutes: {namespaces: {from: All}}` in the listener";
        found.push(owner, path, message, hint);
    }
}

fn backend_of(
    view: &View<'_>,
    route: &Manifest,
    owner: usize,
    backend: &Json,
    path: &str,
    found: &mut Found,
) {
    if !matches!(text(backend, "kind"), "" | "Service") || !text(backend, "group").is_empty() {
        return;
    }
    let name = text(backend, "name");
    // A pool is often meant: its kind and group are not the defaults.
    let pool = view.named("InferencePool", name, route);
    let namespace = match text(backend, "namespace") {
        "" => route.namespace(),
        namespace => namespace,
    };
    let Some((_, service)) = view.all_named("Service", name, namespace).next() else {
        if is_placeholder(name) {
            return;
        }
        let services = view.of_kind("Service");
        let services = services.filter(|(_, service)| service.may_be_in(namespace));
        let names: Vec<&str> = services.map(|(_, service)| service.name()).collect();
        if let Some((_, pool)) = pool {
            let message =
                format!("{} references Service/{name}, but {} exists", route.label(), pool.label());
            let hint = "add `group: inference.networking.k8s.io` and `kind: InferencePool`";
            found.push(owner, path, message, hint);
        } else if let Some(near) = names.iter().find(|other| super::pod::is_typo(name, other)) {
            let message =
                format!("{} references Service/{name}, which does not exist", route.label());
            found.push(owner, path, message, format!("write `name: {near}`"));
        }
        return;
    };

    let ports = service.json.get("spec").map_or(&[][..], |spec| list(spec, "ports"));
    let has =
        |number: u64| ports.iter().any(|p| p.get("port").and_then(Json::as_u64) == Some(number));
    match backend.get("port").and_then(Json::as_u64) {
        None if backend.get("port").is_none() => {
            let message = format!("backend Service/{name} of {} has no port", route.label());
            found.push(owner, path, message, "add `port`, which Services require");
        }
        Some(port) if !has(port) && !ports.is_empty() => {
            let message = format!(
                "{} references port {port} of Service/{name}, which it does not have",
                route.label()
            );
            found.push(owner, format!("{path}.port"), message, "use a port of the Service");
        }
        _ => {}
    }
}
