//! Invariants of endpoint pickers and their Services.

use super::super::invariants::Found;
use super::super::view::pods::{is_placeholder, list, text};
use super::super::view::{Manifest, Picker, View, has_labels, pairs};
use crate::diag::Severity;
use serde_json::Value as Json;
use std::collections::BTreeSet;

/// Default of `--grpc-port`.
const USUAL_PORT: u32 = 9_002;

/// Services of the health check of pickers with leader election; without, all names are known.
const HEALTH_SERVICES: &[&str] =
    &["", "liveness", "readiness", "envoy.service.ext_proc.v3.ExternalProcessor"];

/// Returns a port by its number, or by its name in the container.
fn container_port(container: &Json, port: &Json) -> Option<u32> {
    let number = match port.as_str() {
        Some(name) => {
            let named = list(container, "ports").iter().find(|port| text(port, "name") == name);
            named?.get("containerPort")?.as_u64()
        }
        None => port.as_u64(),
    };
    number?.try_into().ok()
}

/// Returns the Service that a pool references, with its manifest index.
pub(super) fn service_of<'a>(view: &View<'a>, pool: &Manifest) -> Option<(usize, &'a Manifest)> {
    let name = pool.json.pointer("/spec/endpointPickerRef/name")?.as_str()?;
    view.named("Service", name, pool)
}

/// Returns the port of a Service with this number.
fn service_port(service: &Manifest, number: u64) -> Option<&Json> {
    let ports = list(service.json.get("spec")?, "ports");
    ports.iter().find(|port| port.get("port").and_then(Json::as_u64) == Some(number))
}

/// Returns the port number of the pool's `endpointPickerRef`.
fn asked(pool: &Manifest) -> Option<u64> {
    pool.json.pointer("/spec/endpointPickerRef/port/number")?.as_u64()
}

/// Returns the pickers that a Service selects.
pub(super) fn behind<'v, 'a>(view: &'v View<'a>, service: &Manifest) -> Vec<&'v Picker<'a>> {
    let selector = service.json.pointer("/spec/selector").and_then(Json::as_object);
    let Some(selector) = selector.filter(|selector| !selector.is_empty()) else {
        return Vec::new();
    };
    let candidates = view.index.pickers.candidates(pairs(selector), Some(service)).into_iter();
    candidates
        .map(|number| &view.pickers[number])
        .filter(|picker| {
            let owner = &view.manifests[picker.owner].json;
            has_labels(owner.pointer("/spec/template/metadata/labels"), selector)
        })
        .collect()
}

/// Returns true if a Service selects unknown pods, such as a third-party picker.
fn leads_somewhere(view: &View<'_>, service: &Manifest) -> bool {
    let selector = service.json.pointer("/spec/selector").and_then(Json::as_object);
    let Some(selector) = selector.filter(|selector| !selector.is_empty()) else { return false };
    view.with_labels(selector, service).any(|template| template.engine.is_none())
}

/// Checks that the Service of a pool exists, has the port, and selects a picker.
pub(crate) fn missing(view: &View<'_>, found: &mut Found) {
    for (owner, pool) in view.pools() {
        let Some(reference) = pool.json.pointer("/spec/endpointPickerRef") else { continue };
        let path = ".spec.endpointPickerRef";
        if !matches!(text(reference, "kind"), "" | "Service") {
            continue;
        }

        let name = text(reference, "name");
        let Some((_, service)) = service_of(view, pool) else {
            let message =
                format!("{} references Service/{name}, which does not exist", pool.label());
            let hint = "add the picker with its Service, or fix the name";
            let finding = found.push(owner, path, message, hint);
            // Without any picker, it is in other manifests.
            let is_elsewhere = view.pickers.is_empty() && !view.is_generated;
            finding.severity = is_elsewhere.then_some(Severity::Note);
            continue;
        };

        let Some(port) = asked(pool) else {
            let message =
                format!("endpointPickerRef of {} has no port for Service/{name}", pool.label());
            found.push(owner, path, message, "add `port: {number: 9002}`");
            continue;
        };

        if service_port(service, port).is_none() {
            let message =
                format!("Service/{name} has no port {port}, which {} references", pool.label());
            found.push(owner, path, message, "use the same port in both");
        } else if behind(view, service).is_empty() && !leads_somewhere(view, service) {
            let message = format!("Service/{name} does not select a picker");
            let hint = "select labels of the picker's pods";
            found.push(owner, path, message, hint);
        }
    }
}

/// Checks that the Service targets the port that the picker listens on.
pub(crate) fn port(view: &View<'_>, found: &mut Found) {
    for (_, pool) in view.pools() {
        let Some((number, service)) = service_of(view, pool) else { continue };
        let Some(asked) = asked(pool) else { continue };
        let Some(port) = service_port(service, asked) else { continue };
        for picker in behind(view, service) {
            let Some(listens) = picker.flags.number("grpc-port", USUAL_PORT) else { continue };
            let target = match port.get("targetPort") {
                None => Some(asked),
                Some(Json::String(name)) => list(picker.container, "ports")
                    .iter()
                    .find(|port| text(port, "name") == name)
                    .and_then(|port| port.get("containerPort")?.as_u64()),
                Some(other) => other.as_u64(),
            };

            if target != Some(u64::from(listens)) {
                let label = view.manifests[picker.owner].label();
                let message = format!(
                    "{} targets port {} of {label}, which listens on {listens}",
                    service.label(),
                    target.map_or("?".to_owned(), |target| target.to_string())
                );

                let hint = "set `targetPort` of the Service, or the picker's `--grpc-port`";
                found.push(number, ".spec.ports", message, hint);
            }
        }
    }
}

/// Checks that the flags of a picker match the pool that references it.
pub(crate) fn pool(view: &View<'_>, found: &mut Found) {
    for (_, pool) in view.pools() {
        let Some((_, service)) = service_of(view, pool) else { continue };
        for picker in behind(view, service) {
            let owner = &view.manifests[picker.owner];
            let (name, namespace) = (pool.name(), pool.namespace());
            let path = ".spec.template.spec.containers";
            let mut report = |flag: &str, said: &str, right: &str| {
                let message = format!(
                    "{} is the picker of {}, but has `--{flag}={said}`",
                    owner.label(),
                    pool.label()
                );
                found.push(picker.owner, path, message, format!("write `--{flag}={right}`"));
            };
            match picker.flags.text("pool-name") {
                Some(said) if said != name => report("pool-name", said, name),
                _ => {}
            }

            match picker.flags.text("pool-namespace") {
                Some(said) if !namespace.is_empty() && said != namespace => {
                    report("pool-namespace", said, namespace);
                }
                _ => {}
            }

            match picker.flags.text("pool-group") {
                Some(said) if said != pool.group() => report("pool-group", said, pool.group()),
                _ => {}
            }
        }
    }
}

/// Returns the RBAC rules of a ServiceAccount.
fn rules_of<'a>(view: &View<'a>, account: &str, picker: &Manifest) -> Vec<&'a Json> {
    let mut rules = Vec::new();
    for binding in view.bindings_of(account, picker) {
        let bound = list(&binding.json, "subjects").iter().any(|subject| {
            let namespace = text(subject, "namespace");
            let own = picker.namespace();
            text(subject, "kind") == "ServiceAccount"
                && text(subject, "name") == account
                && (namespace.is_empty() || own.is_empty() || namespace == own)
        });
        if !bound {
            continue;
        }
        let Some(reference) = binding.json.get("roleRef") else { continue };
        let role = view.named(text(reference, "kind"), text(reference, "name"), binding);
        rules.extend(role.into_iter().flat_map(|(_, role)| list(&role.json, "rules")));
    }
    rules
}

/// Checks the RBAC of pickers and sidecars.
pub(crate) fn rights(view: &View<'_>, found: &mut Found) {
    let (scraped, unused) = (scraped(view), unused_accounts(view));
    for picker in &view.pickers {
        let owner = &view.manifests[picker.owner];
        let account = owner.json.pointer("/spec/template/spec/serviceAccountName");
        let account = account.and_then(Json::as_str).unwrap_or("default");
        let is_here = view.named("ServiceAccount", account, owner).is_some();
        // A ServiceAccount outside of the manifests has its RBAC there, too.
        if !is_here {
            if let Some(meant) = unused_account(view, picker, account, &unused) {
                let message = format!(
                    "{} runs as ServiceAccount `{account}`, but `{meant}` has the permissions of a \
                     picker",
                    owner.label()
                );
                let hint = format!("write `serviceAccountName: {meant}`");
                let path = ".spec.template.spec.serviceAccountName";
                found.push(picker.owner, path, message, hint);
            }
            continue;
        }
        let rules = rules_of(view, account, owner);
        let read: &[&str] = &["get", "list", "watch"];
        let group = picker.flags.text("pool-group").unwrap_or("inference.networking.k8s.io");
        let mut needed: Vec<(&str, &str, &[&str])> = vec![("", "pods", read)];
        if picker.flags.has("pool-name") {
            let objective = view.profile.objective.split_once('/').map_or("", |(group, _)| group);
            needed.push((group, "inferencepools", read));
            for resource in ["inferenceobjectives", "inferencemodelrewrites"] {
                // Pickers under other names watch the group in which these kinds were before.
                let image = text(picker.container, "image");
                let may_be_older = !image.contains("llm-d-router-endpoint-picker");
                let before = [("inference.networking.x-k8s.io", resource, read)];
                if !(may_be_older && lacking(&rules, &before).is_empty()) {
                    needed.push((objective, resource, read));
                }
            }
        }
        if picker.flags.is_on("ha-enable-leader-election") {
            let write: &[&str] = &["get", "create", "update"];
            needed.push(("coordination.k8s.io", "leases", write));
        }
        if scraped.contains(&picker.owner) && picker.flags.is_on_or("metrics-endpoint-auth", true) {
            let create: &[&str] = &["create"];
            needed.push(("authentication.k8s.io", "tokenreviews", create));
            needed.push(("authorization.k8s.io", "subjectaccessreviews", create));
        }
        for what in lacking(&rules, &needed) {
            let message = format!("ServiceAccount of {} cannot {what}", owner.label());
            let hint = format!("add the rule to a Role of ServiceAccount/{account}");
            let path = ".spec.template.spec.serviceAccountName";
            found.push(picker.owner, path, message, hint);
        }
    }
    // With SSRF protection, sidecars watch the pods of the pool.
    for template in &view.templates {
        let Some(sidecar) = &template.sidecar else { continue };
        let owner = &view.manifests[template.owner];
        let account = text(template.spec, "serviceAccountName");
        let is_here = view.named("ServiceAccount", account, owner).is_some();
        if !sidecar.flags.is_on("enable-ssrf-protection") || !is_here {
            continue;
        }
        let read: &[&str] = &["get", "list", "watch"];
        let group = sidecar.flags.text("pool-group").unwrap_or("inference.networking.k8s.io");
        let needed = [("", "pods", read), (group, "inferencepools", read)];
        for what in lacking(&rules_of(view, account, owner), &needed) {
            let message = format!("sidecar of {} cannot {what}", owner.label());
            let hint = format!("add the rule to a Role of ServiceAccount/{account}");
            let path = format!("{}.serviceAccountName", template.spec_path);
            found.push(template.owner, path, message, hint).field = Some("prefill");
        }
    }
}

/// Returns the ServiceAccount in the manifests that can read pods and pools, if no picker runs as it and
/// `account` is bound to nothing.
fn unused_account<'a>(
    view: &View<'a>,
    picker: &Picker<'_>,
    account: &str,
    unused: &[&'a Manifest],
) -> Option<&'a str> {
    let owner = &view.manifests[picker.owner];
    if is_placeholder(account) || !rules_of(view, account, owner).is_empty() {
        return None;
    }
    let group = picker.flags.text("pool-group").unwrap_or("inference.networking.k8s.io");
    let read: &[&str] = &["get", "list", "watch"];
    let needed = [("", "pods", read), (group, "inferencepools", read)];
    let near = unused.iter().filter(|account| account.may_share_namespace(owner));
    near.map(|account| account.name())
        .find(|name| lacking(&rules_of(view, name, owner), &needed).is_empty())
}

/// Returns the bound ServiceAccounts that no picker runs as.
fn unused_accounts<'a>(view: &View<'a>) -> Vec<&'a Manifest> {
    let specs = view.pickers.iter();
    let specs =
        specs.filter_map(|picker| view.manifests[picker.owner].json.pointer("/spec/template/spec"));
    let used: BTreeSet<&str> = specs.map(|spec| text(spec, "serviceAccountName")).collect();
    let accounts = view.of_kind("ServiceAccount").map(|(_, account)| account);
    let is_bound = |account: &Manifest| view.bindings_of(account.name(), account).next().is_some();
    accounts.filter(|account| !used.contains(account.name()) && is_bound(account)).collect()
}

/// Returns the manifests of the pickers whose Service a ServiceMonitor selects.
fn scraped(view: &View<'_>) -> BTreeSet<usize> {
    let monitors = view.of_kind("ServiceMonitor").filter_map(|(_, monitor)| {
        let wanted = monitor.json.pointer("/spec/selector/matchLabels").and_then(Json::as_object);
        let anywhere = monitor.json.pointer("/spec/namespaceSelector").is_some();
        let wanted = wanted.filter(|wanted| !wanted.is_empty())?;
        Some((wanted, (!anywhere).then_some(monitor)))
    });
    let services = monitors.flat_map(|(wanted, near)| {
        let services = view.services_like(pairs(wanted), near).into_iter();
        services.filter(|service| has_labels(service.json.pointer("/metadata/labels"), wanted))
    });
    services.flat_map(|service| behind(view, service)).map(|picker| picker.owner).collect()
}

/// Returns the permissions that the rules do not grant, as text: `get, list pods`.
fn lacking(rules: &[&Json], needed: &[(&str, &str, &[&str])]) -> Vec<String> {
    let has = |rule: &Json, key: &str, wanted: &str| {
        list(rule, key).iter().any(|item| item == wanted || item == "*")
    };
    let mut words = Vec::new();
    for (group, resource, verbs) in needed {
        let allowed = |verb: &str| {
            rules.iter().any(|rule| {
                has(rule, "apiGroups", group)
                    && has(rule, "resources", resource)
                    && has(rule, "verbs", verb)
            })
        };
        let verbs: Vec<&str> = verbs.iter().copied().filter(|verb| !allowed(verb)).collect();
        if !verbs.is_empty() {
            let group = if group.is_empty() { String::new() } else { format!(".{group}") };
            words.push(format!("{} {resource}{group}", verbs.join(", ")));
        }
    }
    words
}

/// Checks required and mutually exclusive flags of pickers.
pub(crate) fn flags(view: &View<'_>, found: &mut Found) {
    for picker in &view.pickers {
        let label = view.manifests[picker.owner].label();
        let path = ".spec.template.spec.containers[0].args";
        let mut report = |message: String, hint: &str| {
            found.push(picker.owner, path, message, hint);
        };

        let both = |one: &str, other: &str| (picker.flags.has(one), picker.flags.has(other));
        match both("pool-name", "endpoint-selector") {
            (true, true) => report(
                format!("{label} has both `--pool-name` and `--endpoint-selector`"),
                "remove one of them",
            ),
            (false, false) if !picker.discovers() => report(
                format!("{label} has neither `--pool-name` nor `--endpoint-selector`"),
                "add `--pool-name`, or `--endpoint-selector` without a pool",
            ),
            _ => {}
        }

        if both("config-file", "config-text") == (true, true) {
            report(
                format!("{label} has both `--config-file` and `--config-text`"),
                "remove one of them",
            );
        }

        let Some(health) = picker.flags.number("grpc-health-port", 9_003) else { continue };
        for probe in ["startupProbe", "livenessProbe", "readinessProbe"] {
            let port = picker.container.pointer(&format!("/{probe}/grpc/port"));
            if let Some(port) = port.and_then(Json::as_u64).filter(|p| *p != u64::from(health)) {
                let message = format!(
                    "{probe} of {label} uses port {port}, but the picker serves health checks on {health}"
                );
                report(message, "set `--grpc-health-port` to the port of the probes");
            }

            // Both ports of the picker speak gRPC.
            let grpc = [Some(health), picker.flags.number("grpc-port", USUAL_PORT)];
            let get = picker.container.pointer(&format!("/{probe}/httpGet/port"));
            let port = get.and_then(|port| container_port(picker.container, port));
            if let Some(port) = port.filter(|port| grpc.iter().flatten().any(|p| p == port)) {
                let message =
                    format!("{probe} of {label} sends HTTP to port {port}, which is gRPC");
                report(message, "write `grpc: {port: 9003}` instead of `httpGet`");
            }

            let service = picker.container.pointer(&format!("/{probe}/grpc/service"));
            let service = service.and_then(Json::as_str).unwrap_or_default();
            if picker.flags.is_on("ha-enable-leader-election")
                && !HEALTH_SERVICES.contains(&service)
                && !is_placeholder(service)
            {
                let message = format!(
                    "{probe} of {label} checks the service `{service}`, which pickers with leader \
                     election do not have"
                );
                report(message, "write `service: readiness`, or `liveness` for the livenessProbe");
            }
        }
    }
}

/// Checks the settings of pickers with several replicas.
pub(crate) fn replicas(view: &View<'_>, found: &mut Found) {
    for picker in &view.pickers {
        let owner = &view.manifests[picker.owner];
        let flag = "ha-enable-leader-election";
        let elects = picker.flags.is_on(flag);
        let count = owner.json.pointer("/spec/replicas").and_then(Json::as_u64).unwrap_or(1);
        if elects && owner.kind() == "Deployment" {
            let strategy = owner.json.pointer("/spec/strategy/type").and_then(Json::as_str);
            if strategy != Some("Recreate") {
                let message =
                    format!("{} uses leader election with a rolling update", owner.label());
                let hint = "write `strategy: {type: Recreate}`";
                found.push(picker.owner, ".spec.strategy", message, hint);
            }
            for (probe, wanted) in [("livenessProbe", "liveness"), ("readinessProbe", "readiness")]
            {
                let service = picker.container.pointer(&format!("/{probe}/grpc/service"));
                if let Some(service) = service.and_then(Json::as_str).filter(|s| *s != wanted) {
                    let message = format!(
                        "{} uses leader election, but its {probe} checks service `{service}`",
                        owner.label()
                    );
                    let path = format!(".spec.template.spec.containers[0].{probe}");
                    found.push(picker.owner, path, message, format!("check service `{wanted}`"));
                }
            }
        } else if count > 1 && !picker.can_be_several() {
            let message = format!("{} has {count} replicas without leader election", owner.label());
            let hint = "add `--ha-enable-leader-election`, or use one replica";
            let finding = found.push(picker.owner, ".spec.replicas", message, hint);
            finding.why = Some((
                "each replica schedules without the state of the others",
                "llm-d-router chart, replicas",
            ));
            // Only a warning: the user set it explicitly.
            if picker.flags.has(flag) {
                finding.severity = Some(Severity::Warning);
            }
        }
    }
}
