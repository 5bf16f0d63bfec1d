//! Invariants of InferencePools and references to them.

use super::super::invariants::Found;
use super::super::releases::{GIE, image};
use super::super::view::pods::{list, text};
use super::super::view::{Manifest, Picker, View};
use super::ranges;
use crate::diag::{Severity, suggest};
use crate::ir::is_label_value;
use serde_json::Value as Json;
use std::collections::BTreeSet;

/// Fields of `spec` in the pools of all profiles.
const POOL_FIELDS: &[&str] = &["selector", "targetPorts", "appProtocol", "endpointPickerRef"];

/// Returns the target ports of a pool.
pub(super) fn ports(pool: &Manifest) -> Vec<u32> {
    let list = pool.json.pointer("/spec/targetPorts").and_then(Json::as_array);
    let number = |port: &Json| u32::try_from(port.get("number")?.as_u64()?).ok();
    list.into_iter().flatten().filter_map(number).collect()
}

/// Checks the validation rules of the CRD.
pub(crate) fn shape(view: &View<'_>, found: &mut Found) {
    for (owner, pool) in view.pools() {
        // Other versions have other fields; `serving-api` checks if they are served.
        if pool.api_version() != view.profile.pool {
            continue;
        }
        let ports = ports(pool);
        let unique: BTreeSet<&u32> = ports.iter().collect();
        let fits = (1..=view.profile.most_ports).contains(&ports.len());
        if !fits || unique.len() < ports.len() || ports.iter().any(|p| !(1..=65_535).contains(p)) {
            let message = match ports.len() {
                0 => format!("{} has no ports", pool.label()),
                count => format!("{} has {count} ports: {}", pool.label(), ranges(&ports)),
            };
            let hint = format!(
                "use 1 to {} unique ports from 1 to 65535, for example with fewer ranks per pod",
                view.profile.most_ports
            );
            found.push(owner, ".spec.targetPorts", message, hint).field = Some("topology");
        }
        let spec = pool.json.get("spec").and_then(Json::as_object);
        for name in spec.into_iter().flatten().map(|(name, _)| name.as_str()) {
            if POOL_FIELDS.contains(&name) {
                continue;
            }
            // The fields of v1alpha2 have other names.
            let hint = match name {
                "extensionRef" => "rename it to `endpointPickerRef`".to_owned(),
                "targetPortNumber" => "write `targetPorts: [{number: PORT}]`".to_owned(),
                _ => suggest::hint(name, POOL_FIELDS, "fields"),
            };
            let message = format!("{} has no field `{name}`", pool.api_version());
            let finding = found.push(owner, format!(".spec.{name}"), message, hint);
            finding.why = Some(("the API server drops or rejects it", "InferencePool CRD"));
        }
        let protocol = pool.json.pointer("/spec/appProtocol").and_then(Json::as_str);
        if let Some(protocol) = protocol.filter(|p| !matches!(*p, "http" | "kubernetes.io/h2c")) {
            let message = format!("unsupported appProtocol `{protocol}`");
            found.push(owner, ".spec.appProtocol", message, "write `http` or `kubernetes.io/h2c`");
        }
        let reference = pool.json.pointer("/spec/endpointPickerRef");
        if reference.is_none() && view.profile.needs_picker {
            let message = format!("{} has no endpointPickerRef", pool.label());
            let hint = "add `endpointPickerRef`, which is optional since GAIE 1.6";
            found.push(owner, ".spec", message, hint).field = Some("epp");
        }
        let kind = reference.map_or("", |reference| text(reference, "kind"));
        if !matches!(kind, "" | "Service") {
            let message = format!("endpointPickerRef of {} has kind {kind}", pool.label());
            let path = ".spec.endpointPickerRef.kind";
            let finding = found.push(owner, path, message, "reference the Service of the picker");
            finding.severity = Some(Severity::Warning);
            finding.why = Some(("Gateways support Services only", "GAIE InferencePool API"));
        }
        let mode = pool.json.pointer("/spec/endpointPickerRef/failureMode").and_then(Json::as_str);
        if let Some(mode) = mode.filter(|mode| !matches!(*mode, "FailOpen" | "FailClose")) {
            let message = format!("unknown failureMode `{mode}`");
            let path = ".spec.endpointPickerRef.failureMode";
            found.push(owner, path, message, "write `FailOpen` or `FailClose`");
        }
        let selector = pool.json.pointer("/spec/selector").and_then(Json::as_object);
        let labels = selector.and_then(|selector| selector.get("matchLabels")?.as_object());
        let others = selector.is_some_and(|selector| selector.len() > 1);
        if others || labels.is_none_or(|labels| labels.is_empty() || labels.len() > 64) {
            let message = format!("{} must select by 1 to 64 `matchLabels` only", pool.label());
            found.push(owner, ".spec.selector", message, "use a label of the pods with a server");
        }
        for (key, value) in labels.into_iter().flatten() {
            let value = value.as_str().filter(|value| is_label_value(value));
            let name = key.rsplit('/').next().unwrap_or_default();
            if value.is_none() || name.is_empty() || !is_label_value(name) {
                let message =
                    format!("{} selects by `{key}`, which is not a valid label", pool.label());
                let hint = "use names and values of at most 63 letters, digits and `-_.`";
                found.push(owner, ".spec.selector.matchLabels", message, hint);
            }
        }
    }

    for (owner, import) in view.of_kind("InferencePoolImport") {
        let message = format!("{} is managed by a controller", import.label());
        let hint = "remove it: the multi-cluster controller creates it from exported pools";
        let finding = found.push(owner, "", message, hint);
        finding.severity = Some(Severity::Warning);
        finding.why = Some(("the controller does not manage it", "GAIE API, InferencePoolImport"));
    }

    for (owner, objective) in view.of_kind("InferenceObjective") {
        let priority = objective.json.pointer("/spec/priority");
        let fits = |value: &Json| value.as_i64().is_some_and(|n| i32::try_from(n).is_ok());
        if !priority.is_none_or(fits) {
            let message = format!("priority of {} is not a 32-bit integer", objective.label());
            let hint = "use a 32-bit integer";
            found.push(owner, ".spec.priority", message, hint).field = Some("objectives");
        }
    }

    for (owner, rewrite) in view.of_kind("InferenceModelRewrite") {
        let rules = rewrite.json.get("spec").map_or(&[][..], |spec| list(spec, "rules"));
        for (index, rule) in rules.iter().enumerate() {
            let targets = list(rule, "targets");
            let fits = |target: &Json| {
                let weight = target.get("weight").map_or(Some(1), Json::as_u64);
                !text(target, "modelRewrite").is_empty()
                    && weight.is_some_and(|weight| (1..=1_000_000).contains(&weight))
            };
            if targets.is_empty() || !targets.iter().all(fits) {
                let message = format!("{} has a rule with invalid targets", rewrite.label());
                let hint = "give each target a `modelRewrite`, and a weight from 1 to 1000000";
                let path = format!(".spec.rules[{index}].targets");
                found.push(owner, path, message, hint).field = Some("rewrites");
            }
        }
    }
}

/// Checks that every port of a pool is open on every pod, and that the pool has the ports of all
/// ranks.
pub(crate) fn ports_open(view: &View<'_>, found: &mut Found) {
    for (owner, pool) in view.pools() {
        let wanted = ports(pool);
        for template in view.selected(pool) {
            let headless = template.engine.as_ref().is_some_and(|engine| engine.is_headless());
            let Some(open) = template.ports().filter(|_| !headless) else { continue };
            let whose = view.manifests[template.owner].label();
            let closed: Vec<u32> =
                wanted.iter().copied().filter(|port| !open.contains(port)).collect();
            if !closed.is_empty() {
                let message = format!(
                    "{} sends requests to port {} of the pods of {whose}, which is closed",
                    pool.label(),
                    ranges(&closed)
                );
                let known = template.sidecar.as_ref().and_then(|sidecar| sidecar.ports());
                let known = known.or_else(|| template.engine.as_ref()?.ports());
                let hint = format!(
                    "the pods listen on {}: use the same ports in the pool",
                    ranges(&known.unwrap_or(open))
                );
                let finding = found.push(owner, ".spec.targetPorts", message, hint);
                if template.role() == Some("prefill") {
                    finding.field = Some("prefill.topology");
                }
                continue;
            }
            // Requests go to the sidecar if there is one, so its ports are used.
            let ranks = match (&template.sidecar, &template.engine) {
                (Some(sidecar), _) => sidecar.ports(),
                (None, Some(engine)) => engine.ports(),
                (None, None) => None,
            };
            let idle: Vec<u32> = ranks
                .unwrap_or_default()
                .into_iter()
                .filter(|port| !wanted.contains(port))
                .collect();
            if !idle.is_empty() {
                let message = format!(
                    "port {} of the pods of {whose} is not in {}, so its ranks are idle",
                    ranges(&idle),
                    pool.label()
                );
                let hint = "add the ports to the pool's `targetPorts`";
                found.push(owner, ".spec.targetPorts", message, hint);
            }
        }
    }
}

/// Checks that pools do not select pods without a server.
pub(crate) fn headless(view: &View<'_>, found: &mut Found) {
    for (_, pool) in view.pools() {
        for template in view.selected(pool) {
            // Ray's workers run no engine of their own, but join the leader's.
            let joins_ray = template.engine.is_none()
                && template.part == super::super::view::pods::Part::Worker
                && template.containers().any(|(container, _)| {
                    ["command", "args"].iter().flat_map(|key| list(container, key)).any(|word| {
                        word.as_str().is_some_and(|word| {
                            word.contains("ray start --address") || word.contains("--ray_address")
                        })
                    })
                });

            let headless = template.engine.as_ref().is_some_and(|engine| engine.is_headless());
            if headless || joins_ray {
                let message = format!(
                    "{} selects the workers of {}, which have no server",
                    pool.label(),
                    view.manifests[template.owner].label()
                );
                let hint = "add the labels of the pool's selector to the `leaderTemplate` only";
                let path = format!("{}.metadata.labels", template.path);
                found.push(template.owner, path, message, hint);
            }
        }
    }
}

/// Checks that routes, objectives and rewrites reference existing pools.
pub(crate) fn missing(view: &View<'_>, found: &mut Found) {
    let group = view.profile.pool.split_once('/').map_or("", |(group, _)| group);
    let mut refer = |owner: usize, path: String, reference: &Json, usual_group: &str, field| {
        let manifest = &view.manifests[owner];
        let (name, namespace) = (text(reference, "name"), text(reference, "namespace"));
        let said = reference.get("group").map_or(usual_group, |group| group.as_str().unwrap_or(""));
        let namespace = if namespace.is_empty() { manifest.namespace() } else { namespace };
        let is_there = view.all_named("InferencePool", name, namespace).next().is_some();
        if said != group {
            let message =
                format!("{} references InferencePools in group `{said}`", manifest.label());
            let hint = format!("write `group: {group}`");
            found.push(owner, path, message, hint).field = Some(field);
        } else if !is_there {
            let message = format!(
                "{} references InferencePool/{name}, which does not exist",
                manifest.label()
            );
            found.push(owner, path, message, "fix the name, or add the pool").field = Some(field);
        }
    };
    for (owner, route) in view.of_kind("HTTPRoute") {
        let rules = route.json.get("spec").map_or(&[][..], |spec| list(spec, "rules"));
        for (rule, refs) in rules.iter().enumerate() {
            for (index, reference) in list(refs, "backendRefs").iter().enumerate() {
                if text(reference, "kind") == "InferencePool" {
                    let path = format!(".spec.rules[{rule}].backendRefs[{index}]");
                    // The default group of a backend is the core group.
                    refer(owner, path, reference, "", "route");
                }
            }
        }
    }
    for (kind, field) in
        [("InferenceObjective", "objectives"), ("InferenceModelRewrite", "rewrites")]
    {
        for (owner, manifest) in view.of_kind(kind) {
            if let Some(reference) = manifest.json.pointer("/spec/poolRef") {
                refer(owner, ".spec.poolRef".to_owned(), reference, group, field);
            }
        }
    }
    for kind in ["InferenceObjective", "InferenceModelRewrite"] {
        // Another picker, in other manifests, may watch it, and one of the inference extension does.
        let is_llm_d =
            |picker: &Picker<'_>| !image::is_of(text(picker.container, "image"), GIE.key);
        let is_watched = view.is_generated || view.all_pickers().any(is_llm_d);
        for (owner, manifest) in view.of_kind(kind).filter(|_| is_watched) {
            let own = view.profile.objective;
            if manifest.api_version() != own {
                let message = format!(
                    "{} has apiVersion {}, which the picker does not watch",
                    manifest.label(),
                    manifest.api_version()
                );
                found.push(owner, ".apiVersion", message, format!("write `{own}`")).field =
                    Some("api");
            }
        }
    }
}
