//! Invariants of autoscalers, disruption budgets and Istio DestinationRules.

use super::picker::service_of;
use super::pod::requests;
use super::*;
use crate::view::{Indexed, config_map};

/// Reports bounds of autoscalers, and of KServe's services, that exclude each other.
fn bounds(view: &View<'_>, found: &mut Found) {
    let scaled: [(&str, &[&str]); 2] = [
        ("LLMInferenceService", &["/spec/scaling", "/spec/prefill/scaling"]),
        ("InferenceService", &["/spec/predictor", "/spec/transformer", "/spec/explainer"]),
    ];
    let of_services = scaled.into_iter().flat_map(|(kind, pointers)| {
        view.of_kind(kind).flat_map(|one| pointers.iter().map(move |pointer| (one, *pointer)))
    });
    for ((owner, object), pointer) in scalers(view).map(|one| (one, "/spec")).chain(of_services) {
        let Some(spec) = object.json.pointer(pointer) else { continue };
        let mut found = found.at(owner, "");
        // Those of a HorizontalPodAutoscaler are checked with its type.
        let keys = [["minReplicas", "maxReplicas"], ["minReplicaCount", "maxReplicaCount"]];
        for keys in keys.into_iter().filter(|_| object.kind() != SCALERS[0]) {
            super::ray::bounds(spec, keys, &mut found.inside(&pointer.replace('/', ".")));
        }

        // KEDA, CheckReplicaCountBoundsAreValid: 0 is raised to 1, and a missing minimum is not.
        let idle = spec.get("idleReplicaCount").and_then(Json::as_u64);
        let least = spec.get("minReplicaCount").and_then(Json::as_u64);
        let most_idle = least.map_or(0, |least| least.max(1));
        if let Some(idle) = idle.filter(|idle| *idle >= most_idle) {
            let message =
                format!("{object} has {idle} replicas when idle, not less than its minimum");
            let hint = "raise `minReplicaCount`, or write `idleReplicaCount: 0`";
            found.below(".spec.idleReplicaCount", message, hint);
        }

        // Kubernetes API, validateScalingRules: MaxPeriodSeconds, MaxStabilizationWindowSeconds.
        // Types of autoscalers are checked with all others.
        for direction in ["scaleUp", "scaleDown"] {
            let at = "advanced/horizontalPodAutoscalerConfig/behavior";
            let Some(rules) = spec.pointer(&format!("/{at}/{direction}")) else { continue };
            let policies = list(rules, "policies").iter();
            let periods = policies.map(|policy| (policy, "periodSeconds", 1_800));
            let all = periods.chain([(rules, "stabilizationWindowSeconds", 3_600)]);
            for (holder, key, most) in all {
                let said = holder.get(key).and_then(Json::as_u64);
                let Some(said) = said.filter(|said| *said > most) else { continue };
                let message = format!("{object} has {key} {said}, more than {most}");
                let path = format!(".spec.{}.{direction}", at.replace('/', "."));
                found.below(&path, message, format!("write at most {most}"));
            }
        }
    }
}

/// Returns the metrics of whole HorizontalPodAutoscalers, with their JSON paths.
pub(super) fn metrics<'v>(
    view: &View<'v>,
) -> impl Iterator<Item = (usize, &'v Manifest, Located<'v>)> {
    let scalers = view.of_kind(SCALERS[0]);
    // What has no target is completed by an overlay.
    let whole = scalers.filter(|(_, scaler)| {
        scaler.api_version() == "autoscaling/v2" && reference(scaler).is_some()
    });
    whole.flat_map(|(owner, scaler)| {
        items(scaler.spec(), "metrics", ".spec").map(move |one| (owner, scaler, one))
    })
}

/// Returns the names of the metrics that Prometheus Adapters in the manifests serve by a list of rules;
/// `None` without one, or if a name depends on series.
fn adapted(view: &View<'_>, rules: &str) -> Option<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    let maps = view.of_kind("ConfigMap").filter_map(|(_, map)| map.map("/data"));
    let texts = maps.flat_map(serde_json::Map::values).filter_map(Json::as_str);
    for text_of_file in texts.filter(|text| text.contains("seriesQuery:")) {
        let config = config_map::parse(text_of_file).ok()?;
        for rule in list(&config, rules) {
            let series = text(rule, "seriesQuery").split('{').next();
            let name = rule.get("name").map_or(series, |name| text_at(name, "/as"));
            names.insert(name.filter(|name| !name.is_empty() && !name.contains('$'))?.to_owned());
        }
    }
    (!names.is_empty()).then_some(names)
}

/// Reports metrics that the adapter in the manifests does not serve.
fn adapter(view: &View<'_>, found: &mut Found) {
    let kinds: [(&str, &[&str]); 2] =
        [("rules", &["pods", "object"]), ("externalRules", &["external"])];
    for (rules, keys) in kinds {
        let Some(known) = adapted(view, rules) else { continue };
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        for (owner, scaler, (metric, path)) in metrics(view) {
            for key in keys {
                let name = text_at(metric, &format!("/{key}/metric/name"));
                let Some(name) = name.filter(|name| !known.contains(name)) else { continue };
                let message =
                    format!("{scaler} uses metric `{name}`, which the adapter does not serve");
                let path = format!("{path}.{key}.metric.name");
                // Another adapter may.
                found.push(owner, path, message, suggest::hint(name, &known, "metrics")).warning();
            }
        }
    }
}

/// Reports autoscalers that scale by the metric of another variant: WVA names the target of each.
fn variants(view: &View<'_>, found: &mut Found) {
    for (owner, scaler, (metric, path)) in metrics(view) {
        let of_variant = text_at(metric, "/external/metric/selector/matchLabels/variant_name");
        let own = target(view, scaler).map(|(_, target)| target.name());
        let is_variant = |name: &&str| view.of_kind(SCALERS[2]).any(|(_, one)| one.name() == *name);
        let both = differing(of_variant.filter(|name| !is_variant(name)), own);
        if let Some((variant, own)) = both.filter(|(variant, _)| !is_placeholder(variant)) {
            let message = format!("{scaler} scales {own} by the metric of variant `{variant}`");
            let path = format!("{path}.external.metric.selector");
            found.push(owner, path, message, format!("write `variant_name: {own}`"));
        }
    }
}

/// Returns the queries of a ScaledObject, one for each trigger.
pub(super) fn queries(scaler: &Manifest) -> impl Iterator<Item = &str> {
    let triggers = list(scaler.spec(), "triggers").iter();
    triggers.map(|trigger| text_at(trigger, "/metadata/query").unwrap_or_default())
}

/// Reports scaling from 0 by metrics of the pods themselves.
fn idle(view: &View<'_>, found: &mut Found) {
    for (owner, scaler) in view.of_kind(SCALERS[1]) {
        let target = target(view, scaler);
        let pods = target.into_iter().flat_map(|(number, _)| view.templates_of(number));
        let engines = pods.filter(|pods| pods.engine.is_some()).count();
        // Without pods, engines have no metrics; a sum with a constant has a value.
        let is_own = |query: &str| {
            ["vllm:", "sglang:"].iter().any(|start| query.contains(start))
                && !["vector(", " or ", "absent("].iter().any(|part| query.contains(part))
        };
        let mut least = ["idleReplicaCount", "minReplicaCount"].iter();
        if least.any(|key| scaler.spec().get(*key).is_some_and(|count| *count == 0))
            && queries(scaler).next().is_some()
            && queries(scaler).all(is_own)
            && engines > 0
            // Other engines may have the metrics.
            && view.engines().count() == engines
            && scaler.spec().get("fallback").is_none()
        {
            let message =
                format!("{scaler} scales up from 0 by metrics that only running pods have");
            let hint =
                "write `minReplicaCount: 1`, or add a trigger that counts requests elsewhere";
            let finding = found.push(owner, ".spec.triggers", message, hint);
            finding.why("the number of pods stays 0", "KEDA docs, activation");
        }
    }
}

/// Returns the apiVersion, kind and name of what an autoscaler scales. KEDA's defaults are those of
/// Deployments.
fn reference(scaler: &Manifest) -> Option<(&str, &str, &str)> {
    let target = scaler.spec().get("scaleTargetRef")?;
    let kind = text_or(target, "kind", "Deployment");
    Some((text_or(target, "apiVersion", "apps/v1"), kind, text(target, "name")))
}

/// Returns what an autoscaler scales.
pub(super) fn target<'a>(view: &View<'a>, scaler: &Manifest) -> Option<Indexed<'a>> {
    let (_, kind, name) = reference(scaler)?;
    view.named(kind, name, scaler)
}

/// Returns the most replicas that autoscalers of an object allow.
pub(super) fn most_replicas(view: &View<'_>, owner: usize) -> Option<u64> {
    let is_own = |(_, one): &Indexed<'_>| target(view, one).is_some_and(|(of, _)| of == owner);
    let bounds = scalers(view).filter(is_own).flat_map(|(_, scaler)| {
        ["maxReplicas", "maxReplicaCount"].map(|key| scaler.spec().get(key)?.as_u64())
    });
    bounds.flatten().max()
}

/// Returns all autoscalers.
fn scalers<'a>(view: &View<'a>) -> impl Iterator<Item = Indexed<'a>> {
    SCALERS.iter().flat_map(|kind| view.of_kind(kind))
}

/// Checks that every autoscaler has an existing target that no other one scales.
pub(crate) fn autoscaler(view: &View<'_>, found: &mut Found) {
    bounds(view, found);
    adapter(view, found);
    variants(view, found);
    idle(view, found);
    let scaled: BTreeSet<usize> =
        scalers(view).filter_map(|(_, scaler)| Some(target(view, scaler)?.0)).collect();
    let unscaled = view.engines().filter(|(template, _)| !scaled.contains(&template.owner));
    let namespaces: BTreeSet<&str> = unscaled.map(|(one, _)| one.manifest.namespace()).collect();

    let mut seen: BTreeMap<(&str, String), &Manifest> = BTreeMap::new();
    for (owner, scaler) in scalers(view) {
        let mut of_scaler = found.at(owner, ".spec.scaleTargetRef");
        let Some((version, kind, name)) = reference(scaler) else { continue };
        let label = format!("{kind}/{name}");
        // A VariantAutoscaling works together with the autoscaler that reads its metric.
        let is_variant = scaler.kind() == "VariantAutoscaling";
        if !is_variant && let Some(other) = seen.insert((scaler.namespace(), label.clone()), scaler)
        {
            let message = format!("{scaler} and {other} both scale {label}");
            of_scaler.push(message, "remove one of them");
        }
        let Some((number, target)) = target(view, scaler) else {
            // The target may be in other manifests, unless these have an engine that nothing scales.
            let is_meant = namespaces.iter().any(|namespace| scaler.may_be_in(namespace));
            if is_meant && !is_placeholder(name) {
                let message = format!("{scaler} scales {label}, which does not exist");
                of_scaler.push(message, "fix the kind and name");
            }
            continue;
        };

        // Without requests, Kubernetes does not compute a share of them; a LimitRange may set some.
        let metrics = list(scaler.spec(), "metrics").iter();
        let shares = metrics.filter_map(|metric| metric.get("resource")).filter(|resource| {
            resource.pointer("/target/type").is_some_and(|kind| kind == "Utilization")
        });
        for name in shares.map(|resource| text(resource, "name")).filter(|name| !name.is_empty()) {
            // Pods may have resources of their own, for all containers.
            let mut pods = view
                .templates_of(number)
                .filter(|template| !template.completed && template.spec.get("resources").is_none());
            if pods.any(|pods| !pods.containers().all(|(container, _)| requests(container, name))) {
                let message =
                    format!("{scaler} uses a share of {name}, which {label} does not request");
                let finding =
                    of_scaler.push(message, format!("add a request for {name}")).warning();
                finding.why("the number of pods stays", "Kubernetes docs, autoscaling");
            }
        }
        if group_of(version) != target.group() && !is_variant {
            let message = format!("{scaler} scales {label} of `{version}`, which does not exist");
            of_scaler.push(message, format!("write `apiVersion: {}`", target.api_version()));
        } else if view.picker_of(number).is_some() {
            let message = format!("{scaler} scales the picker {label}");
            of_scaler.push(message, "raise its resources: the picker is stateful").warning();
        } else if target.spec().get("replicas").is_some() && !is_variant {
            let message = format!("{label} sets replicas, but is scaled by {scaler}");
            let hint = "remove `replicas`, otherwise every upgrade resets it";
            found.push(number, ".spec.replicas", message, hint).warning();
        }
    }
}

/// Kinds with a `scaleTargetRef`.
const SCALERS: [&str; 3] = ["HorizontalPodAutoscaler", "ScaledObject", "VariantAutoscaling"];

/// Checks that disruption budgets allow evictions.
pub(crate) fn disruption(view: &View<'_>, found: &mut Found) {
    let mut budgets: BTreeMap<(usize, &str), &Manifest> = BTreeMap::new();
    for (owner, budget) in view.of_kind("PodDisruptionBudget") {
        let spec = budget.spec();
        let whole = |key: &str| {
            let value = spec.get(key)?;
            value.as_u64().or_else(|| value.as_str()?.parse().ok())
        };
        if spec.get("minAvailable").is_some() && spec.get("maxUnavailable").is_some() {
            let message = format!("{budget} has both `minAvailable` and `maxUnavailable`");
            let finding = found.push(owner, ".spec", message, "remove one of them");
            finding.code(Code::ServingPod).severity = Some(Severity::Error);
        }
        let never = whole("maxUnavailable") == Some(0)
            || text(spec, "maxUnavailable") == "0%"
            || text(spec, "minAvailable") == "100%";
        let wanted = budget.map("/spec/selector/matchLabels");
        let Some(wanted) = wanted.filter(|wanted| !wanted.is_empty()) else { continue };
        let protected = view.labelled(pairs(wanted), budget.namespace());
        // Ignore budgets of other applications.
        if protected.iter().all(|template| template.engine.is_none()) {
            continue;
        }
        let is_labels = spec.pointer("/selector/matchExpressions").is_none();
        for template in protected.iter().filter(|_| is_labels) {
            let first = *budgets.entry((template.owner, template.path.as_str())).or_insert(budget);
            if !std::ptr::eq(first, budget) {
                let message = format!("{first} and {budget} both select pods of {template}");
                let finding = found.push(owner, ".spec.selector", message, "keep one of them");
                finding.why("the API server evicts no pod of several budgets", "Kubernetes API");
                break;
            }
        }

        // The leader's template has the size of the whole group.
        let groups = protected.iter().filter(|template| template.part != Part::Worker);
        let pods = groups
            .map(|template| template.replicas?.checked_mul(u64::from(template.size)))
            .try_fold(0u64, |all, pods| all.checked_add(pods?));
        let all = pods.filter(|pods| *pods > 0);
        if never || matches!((whole("minAvailable"), all), (Some(least), Some(all)) if least >= all)
        {
            let message = format!("{budget} allows no evictions");
            found.push(owner, ".spec", message, "write `maxUnavailable: 1`");
        }
    }
}

/// Returns the name of the Service in the host of a DestinationRule.
fn service_in(rule: &Manifest) -> &str {
    text(rule.spec(), "host").split('.').next().unwrap_or_default()
}

/// Checks that the DestinationRule of the picker has its host, and connects as the picker serves.
pub(crate) fn destination(view: &View<'_>, found: &mut Found) {
    // By the names of their Services and their own: a rule with a wrong host is found by its name, which
    // upstream's chart takes from the picker.
    let rules = grouped(view.of_kind("DestinationRule").flat_map(|(owner, rule)| {
        BTreeSet::from([service_in(rule), rule.name()]).into_iter().map(move |n| (n, (owner, rule)))
    }));
    for (_, pool) in view.pools() {
        let Some(name) = pool.text("/spec/endpointPickerRef/name") else { continue };
        // A rule of the picker's namespace for a Service that is nowhere.
        let is_stray = |rule: &Manifest| {
            let host = service_in(rule);
            rule.may_share_namespace(pool)
                && rule.spec().pointer("/trafficPolicy/tls").is_some()
                && !host.contains('*')
                && view.all_named("Service", host, "").next().is_none()
        };
        let mut strays = view.of_kind("DestinationRule").filter(|(_, rule)| is_stray(rule));
        let has_service = service_of(view, pool).is_some() && !rules.contains_key(name);
        if let Some((owner, rule)) = strays.next().filter(|_| has_service) {
            let host = text(rule.spec(), "host");
            let message =
                format!("{rule} has host {host}, which is no Service; the picker is {name}");
            found.push(owner, ".spec.host", message, format!("write the Service `{name}`"));
        }
        for (owner, rule) in rules.get(name).into_iter().flatten() {
            let Some(spec) = rule.json.get("spec") else { continue };
            let (host, own) = (text(spec, "host"), pool.namespace());
            let said = host.split('.').nth(1);
            let elsewhere = said.is_some_and(|said| !own.is_empty() && said != own);
            if (elsewhere || said.is_none()) && !rule.may_share_namespace(pool) {
                // It is for the picker of the same name in its own namespace.
                continue;
            }
            if service_in(rule) != name || elsewhere {
                let message = format!("{rule} has host {host}, but the picker is {name}");
                let domain =
                    if own.is_empty() { own } else { &format!(".{own}.svc.cluster.local") };
                found.push(*owner, ".spec.host", message, format!("write `{name}{domain}`"));
            }

            let tls = spec.pointer("/trafficPolicy/tls").unwrap_or(&Json::Null);
            let trusts = is_true(tls, "/insecureSkipVerify")
                || ["caCertificates", "credentialName"].iter().any(|key| tls.get(key).is_some());
            let mut pickers = pickers_of(view, pool).into_iter();
            let plain = pickers.find(|picker| !picker.flags.is_on_or("secure-serving", true));
            if let Some(picker) = plain {
                if matches!(text(tls, "mode"), "SIMPLE" | "MUTUAL") {
                    let message = format!(
                        "{picker} has `--secure-serving=false`, but {rule} connects to it with TLS"
                    );
                    let hint = "remove `--secure-serving=false`, or the TLS settings of the rule";
                    let finding = found.push(*owner, ".spec.trafficPolicy", message, hint);
                    finding.why("gateways cannot connect to the picker", "llm-d-router, TLS");
                }
            } else if text(tls, "mode") != "SIMPLE" || !trusts {
                let message = format!("{rule} does not trust the certificate of the picker");
                let hint = "write `tls: {mode: SIMPLE, insecureSkipVerify: true}`, or name its CA";
                found.push(*owner, ".spec.trafficPolicy", message, hint);
            }
        }
    }
}
