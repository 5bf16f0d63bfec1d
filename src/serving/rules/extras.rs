//! Invariants of autoscalers, disruption budgets and Istio DestinationRules.

use super::super::invariants::Found;
use super::super::view::pods::{Part, Template, is_placeholder, text};
use super::super::view::{Manifest, View};
use crate::diag::Severity;
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};

/// Checks that every autoscaler has an existing target that no other one scales.
pub(crate) fn autoscaler(view: &View<'_>, found: &mut Found) {
    // KEDA's default kind is Deployment.
    let target = |scaler: &Manifest| {
        let target = scaler.json.pointer("/spec/scaleTargetRef")?;
        let kind = Some(text(target, "kind")).filter(|k| !k.is_empty()).unwrap_or("Deployment");
        Some((scaler.namespace().to_owned(), kind.to_owned(), text(target, "name").to_owned()))
    };
    let scalers = || SCALERS.iter().flat_map(|kind| view.of_kind(kind));
    let scaled: BTreeSet<usize> = scalers()
        .filter_map(|(_, scaler)| {
            let (_, kind, name) = target(scaler)?;
            Some(view.named(&kind, &name, scaler)?.0)
        })
        .collect();
    let engines = view.templates.iter().filter(|template| template.engine.is_some());
    let unscaled: BTreeSet<usize> =
        engines.map(|template| template.owner).filter(|owner| !scaled.contains(owner)).collect();
    let namespaces: BTreeSet<&str> =
        unscaled.iter().map(|owner| view.manifests[*owner].namespace()).collect();

    let mut seen: BTreeMap<(String, String, String), String> = BTreeMap::new();
    for (owner, scaler) in scalers() {
        let path = ".spec.scaleTargetRef";
        let Some(key) = target(scaler) else { continue };
        let (_, kind, name) = key.clone();
        let label = format!("{kind}/{name}");
        // A VariantAutoscaling works together with the autoscaler that reads its metric.
        let is_variant = scaler.kind() == "VariantAutoscaling";
        if let Some(other) =
            Some(key).filter(|_| !is_variant).and_then(|key| seen.insert(key, scaler.label()))
        {
            let message = format!("{} and {other} both scale {label}", scaler.label());
            found.push(owner, path, message, "remove one of them");
        }
        let Some((number, target)) = view.named(&kind, &name, scaler) else {
            // The target may be in other manifests, unless these have an engine that nothing scales.
            let is_meant = namespaces.iter().any(|namespace| scaler.may_be_in(namespace));
            if is_meant && !is_placeholder(&name) {
                let message = format!("{} scales {label}, which does not exist", scaler.label());
                found.push(owner, path, message, "fix the kind and name");
            }
            continue;
        };
        if view.picker_of(number).is_some() {
            let message = format!("{} scales the picker {label}", scaler.label());
            let hint = "raise its resources instead: the picker is stateful";
            found.push(owner, path, message, hint).severity = Some(Severity::Warning);
        } else if target.json.pointer("/spec/replicas").is_some() && !is_variant {
            let message = format!("{label} sets replicas, but is scaled by {}", scaler.label());
            let hint = "remove `replicas`, otherwise every upgrade resets it";
            found.push(number, ".spec.replicas", message, hint).severity = Some(Severity::Warning);
        }
    }
}

/// Kinds with a `scaleTargetRef`.
const SCALERS: [&str; 3] = ["HorizontalPodAutoscaler", "ScaledObject", "VariantAutoscaling"];

/// Checks that disruption budgets allow evictions.
pub(crate) fn disruption(view: &View<'_>, found: &mut Found) {
    for (owner, budget) in view.of_kind("PodDisruptionBudget") {
        let Some(spec) = budget.json.get("spec") else { continue };
        let whole = |key: &str| {
            let value = spec.get(key)?;
            value.as_u64().or_else(|| value.as_str()?.parse().ok())
        };
        let never = whole("maxUnavailable") == Some(0)
            || spec.get("maxUnavailable").and_then(Json::as_str) == Some("0%")
            || spec.get("minAvailable").and_then(Json::as_str) == Some("100%");
        let wanted = spec.pointer("/selector/matchLabels").and_then(Json::as_object);
        let Some(wanted) = wanted.filter(|wanted| !wanted.is_empty()) else { continue };
        let protected: Vec<&Template<'_>> = view.with_labels(wanted, budget).collect();
        // Ignore budgets of other applications.
        if protected.iter().all(|template| template.engine.is_none()) {
            continue;
        }
        let groups = protected.iter().filter(|template| template.part != Part::Worker);
        let pods = groups
            .map(|template| template.replicas?.checked_mul(u64::from(template.size)))
            .try_fold(0u64, |all, pods| all.checked_add(pods?));
        let all = pods.filter(|pods| *pods > 0);
        let least = whole("minAvailable");
        if never || matches!((least, all), (Some(least), Some(all)) if least >= all) {
            let message = format!("{} allows no evictions", budget.label());
            let hint = "write `maxUnavailable: 1`";
            found.push(owner, ".spec", message, hint);
        }
    }
}

/// Checks that the DestinationRule of the picker has its host and trusts its certificate.
pub(crate) fn destination(view: &View<'_>, found: &mut Found) {
    // By the names of their Services and their own.
    let mut rules: BTreeMap<&str, BTreeMap<usize, &Manifest>> = BTreeMap::new();
    for (owner, rule) in view.of_kind("DestinationRule") {
        let host = rule.json.pointer("/spec/host").and_then(Json::as_str).unwrap_or_default();
        for name in [host.split('.').next().unwrap_or_default(), rule.name()] {
            rules.entry(name).or_default().insert(owner, rule);
        }
    }
    for (_, pool) in view.pools() {
        let name = pool.json.pointer("/spec/endpointPickerRef/name").and_then(Json::as_str);
        let Some(name) = name else { continue };
        for (owner, rule) in rules.get(name).into_iter().flatten() {
            let Some(spec) = rule.json.get("spec") else { continue };
            let host = text(spec, "host");
            let mut parts = host.split('.');
            let service = parts.next().unwrap_or_default();
            let namespace = parts.next();
            let own = pool.namespace();
            let elsewhere = namespace.is_some_and(|said| !own.is_empty() && said != own);
            if elsewhere && !rule.may_share_namespace(pool) {
                // It is for the picker of the same name in its own namespace.
                continue;
            }
            if service != name || elsewhere {
                let message = format!("{} has host {host}, but the picker is {name}", rule.label());
                let place = if own.is_empty() {
                    String::new()
                } else {
                    format!(".{own}.svc.cluster.local")
                };

                found.push(*owner, ".spec.host", message, format!("write `{name}{place}`"));
            }
            let tls = spec.pointer("/trafficPolicy/tls");
            let skips = tls.and_then(|tls| tls.get("insecureSkipVerify")?.as_bool()) == Some(true);
            let named = tls.is_some_and(|tls| {
                ["caCertificates", "credentialName"].iter().any(|key| tls.get(key).is_some())
            });

            if tls.is_none_or(|tls| text(tls, "mode") != "SIMPLE") || !(skips || named) {
                let message =
                    format!("{} does not trust the certificate of the picker", rule.label());
                let hint = "write `tls: {mode: SIMPLE, insecureSkipVerify: true}`, or name its CA";
                found.push(*owner, ".spec.trafficPolicy", message, hint);
            }
        }
    }
}
