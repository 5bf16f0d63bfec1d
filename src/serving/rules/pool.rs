//! Invariants of InferencePools and references to them.

use super::*;
use crate::kserve::POOL_SUFFIX;
use crate::view::pods::joins_ray;

/// Returns the target ports of a pool.
pub(super) fn ports(pool: &Manifest) -> Vec<u32> {
    list(pool.spec(), "targetPorts").iter().filter_map(|port| number(port, "number")).collect()
}

/// Checks the validation rules of the CRDs that their schemas do not have.
pub(crate) fn shape(view: &View<'_>, found: &mut Found) {
    // Other versions have other fields; `serving-api` checks if they are served.
    let served = |pool: &Manifest| pool.api_version() == view.profile.pool;
    for (owner, pool) in view.pools().filter(|(_, pool)| served(pool)) {
        let ports = ports(pool);
        if ports.iter().collect::<BTreeSet<&u32>>().len() < ports.len() {
            let message = format!("{pool} has a port twice: {}", ranges(&ports));
            let mut found = found.at(owner, ".spec.targetPorts").field("topology");
            found.push(message, "write each port once");
        }
        picker_reference(view, owner, pool, found);
    }

    for (owner, import) in view.of_kind("InferencePoolImport") {
        let message = format!("{import} is managed by a controller");
        let hint = "remove it: the multi-cluster controller creates it from exported pools";
        let finding = found.push(owner, "", message, hint).warning();
        finding.why("the controller does not manage it", "GAIE API, InferencePoolImport");
    }
}

/// Checks that every port of a pool is open on every pod, and that the pool has the ports of all
/// ranks.
pub(crate) fn ports_open(view: &View<'_>, found: &mut Found) {
    for (owner, pool, template) in view.pool_pods() {
        let wanted = ports(pool);
        let mut found = found.at(owner, ".spec.targetPorts");
        let Some(open) = template.ports().filter(|_| !template.is_headless()) else { continue };
        let closed: Vec<u32> = wanted.iter().copied().filter(|port| !open.contains(port)).collect();
        if !closed.is_empty() {
            let closed = ranges(&closed);
            let message = format!(
                "{pool} sends requests to port {closed} of the pods of {template}, which is closed"
            );
            let known = ranges(&template.request_ports().unwrap_or(open));
            let hint = format!("the pods listen on {known}: use the same ports in the pool");
            let is_prefill = template.role() == Some("prefill");
            found.push(message, hint).field = is_prefill.then_some("prefill.topology");
            continue;
        }

        // Requests go to the sidecar if there is one, so its ports are used.
        let ranks = template.request_ports().unwrap_or_default().into_iter();
        // Every port of a pool is an endpoint; others get no requests.
        let idle: Vec<u32> = ranks.filter(|port| !wanted.contains(port)).collect();
        if !idle.is_empty() {
            let message = format!(
                "port {} of the pods of {template} is not in {pool}, so its ranks are idle",
                ranges(&idle)
            );
            found.push(message, "add the ports to the pool's `targetPorts`");
        }
    }
}

/// Checks that pools, and Services of engines, do not select pods without a server.
pub(crate) fn headless(view: &View<'_>, found: &mut Found) {
    let of_pools = view.pool_pods().map(|(_, pool, template)| (pool, template));
    let workers = view.templates.iter().filter(|one| one.part == Part::Worker && !one.completed);
    let behind = workers.filter_map(|worker| Some((front(view, worker)?, worker)));
    for (front, template) in of_pools.chain(behind).filter(|(_, pods)| has_no_server(pods)) {
        let message = format!("{front} selects the workers of {template}, which have no server");
        let hint = "add a label of the selector to the `leaderTemplate` only";
        found.push(template.owner, format!("{}.metadata.labels", template.path), message, hint);
    }
}

fn has_no_server(template: &Template<'_>) -> bool {
    // Ray's workers run no engine of their own, but join the leader's.
    let joins_ray = template.engine.is_none()
        && template.part == Part::Worker
        && template.containers().any(|(container, _)| joins_ray(container));
    template.is_headless() || joins_ray
}

/// Returns a Service that sends requests for the leader's engine to a worker as well.
fn front<'a>(view: &View<'a>, worker: &Template<'_>) -> Option<&'a Manifest> {
    let leader = leader_of(view, worker)?;
    let open = leader.engine.as_ref().filter(|engine| !engine.is_headless())?.ports()?;
    // Pods that are not ready get no requests.
    let containers = || worker.containers().map(|(container, _)| container);
    // Other nodes of SGLang answer health checks, and nothing else.
    let is_sglang = worker.engine.as_ref().is_some_and(|one| one.program == Program::Sglang);
    let answers = |probe: &Json| {
        is_sglang && text_at(probe, "/httpGet/path").is_some_and(|path| path.starts_with("/health"))
    };
    if containers().any(|one| one.get("readinessProbe").is_some_and(|probe| !answers(probe))) {
        return None;
    }
    let engine = worker.engine.as_ref().map(|engine| engine.container);
    let others = containers().filter(|one| !joins_ray(one) && engine.is_none_or(|own| own != *one));
    let own: Vec<u32> = others.flat_map(declared).collect();
    let is_for_engine = |port: &Json| {
        // Pods without a port of a name are left out.
        let number = containers().find_map(|one| target_port(one, port));
        number.is_some_and(|number| open.contains(&number) && !own.contains(&number))
    };
    view.services_selecting(worker).into_iter().map(|(_, service)| service).find(|service| {
        // Services without an address are for discovery.
        text(service.spec(), "clusterIP") != "None"
            && leader.has_labels(labels_at(&service.json, "/spec/selector"))
            && list(service.spec(), "ports").iter().any(is_for_engine)
    })
}

/// Group of pools before their first stable version.
const OLD_GROUP: &str = "inference.networking.x-k8s.io";

/// Checks that routes, objectives and rewrites reference existing pools.
pub(crate) fn missing(view: &View<'_>, found: &mut Found) {
    let group = group_of(view.profile.pool);
    let refer = |manifest: &Manifest, reference: &Json, usual: &str, mut found: Reporter<'_>| {
        let name = text(reference, "name");
        // A group of the old API and a missing one both lead to no pool, without an error.
        let said = reference.get("group").map_or(usual, |group| group.as_str().unwrap_or(""));
        let namespace = text_or(reference, "namespace", manifest.namespace());
        let mut pools = view.all_named("InferencePool", name, namespace).map(|(_, pool)| pool);
        let is_there = pools.next().is_some_and(|pool| said == group || pool.group() != said);
        // KServe creates pools.
        let is_here =
            |name| view.all_named("LLMInferenceService", name, namespace).next().is_some();
        let is_made = said == group && name.strip_suffix(POOL_SUFFIX).is_some_and(is_here);
        let is_there = is_there || is_made;
        // Stacks of the old API route to pools of the old API.
        if said == OLD_GROUP && !is_there {
            return;
        }
        if said != group {
            let message = format!("{manifest} references InferencePools in group `{said}`");
            found.push(message, format!("write `group: {group}`"));
        } else if !is_there {
            let message =
                format!("{manifest} references InferencePool/{name}, which does not exist");
            found.push(message, "fix the name, or add the pool");
        }
    };
    for (owner, route) in view.of_kind("HTTPRoute").chain(view.of_kind("AIGatewayRoute")) {
        // The default group of a backend is the core group.
        for (reference, path) in pool_backends(route) {
            refer(route, reference, "", found.at(owner, path));
        }
    }
    // Another picker, in other manifests, may watch objects of other versions. One of the inference extension
    // does, and so do those of llm-d before its router.
    let is_llm_d = |picker: &Picker<'_>| {
        let image = text(picker.container, "image");
        !image::is_of(image, GIE.program.key)
            && LLM_D.program.is_since(image, "0.9.0") != Some(false)
    };
    let is_certain = view.is_generated || view.all_pickers().any(is_llm_d);
    let own = view.profile.objective;
    let kinds = [("InferenceObjective", "objectives"), ("InferenceModelRewrite", "rewrites")];
    for (kind, field) in kinds {
        for (owner, manifest) in view.of_kind(kind) {
            if let Some(reference) = manifest.spec().get("poolRef") {
                refer(manifest, reference, group, found.at(owner, ".spec.poolRef").field(field));
            }
            let version = manifest.api_version();
            if is_certain && version != own {
                let message =
                    format!("{manifest} has apiVersion {version}, which the picker does not watch");
                found.push(owner, ".apiVersion", message, format!("write `{own}`")).field("api");
            }
        }
    }
}

fn picker_reference(view: &View<'_>, owner: usize, pool: &Manifest, found: &mut Found) {
    let reference = pool.spec().get("endpointPickerRef");
    // v1alpha2 had another name, and a pool with it is meant to have a picker.
    let is_renamed = pool.spec().get("extensionRef").is_some();
    if reference.is_none() && (view.profile.needs_picker || is_renamed) {
        let hint = "add `endpointPickerRef`, which is optional since GAIE 1.6";
        found.push(owner, ".spec", format!("{pool} has no endpointPickerRef"), hint).field("epp");
    }
    let kind = reference.map_or("", |reference| text(reference, "kind"));
    if !matches!(kind, "" | "Service") {
        let message = format!("endpointPickerRef of {pool} has kind {kind}");
        let path = ".spec.endpointPickerRef.kind";
        let finding = found.push(owner, path, message, "reference the Service of the picker");
        finding.warning().why("Gateways support Services only", "GAIE InferencePool API");
    }
}
