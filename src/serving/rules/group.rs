//! Invariants of LeaderWorkerSets and DisaggregatedSets.

use super::engine::devices_of;
use super::program::unset;
use super::*;
use crate::ir::is_label;
use crate::view::discovery::{Group, groups};

/// Returns the groups, with the index of their manifests.
fn specs<'a>(view: &View<'a>) -> impl Iterator<Item = (usize, Group<'a>)> {
    let sets =
        ["LeaderWorkerSet", "DisaggregatedSet"].into_iter().flat_map(|kind| view.of_kind(kind));
    sets.flat_map(|(owner, set)| groups(set).into_iter().map(move |group| (owner, group)))
}

/// Checks that the startup policy does not deadlock.
pub(crate) fn startup(view: &View<'_>, found: &mut Found) {
    for (owner, Group { path, spec, .. }) in specs(view) {
        let size = spec.pointer("/leaderWorkerTemplate/size").and_then(Json::as_u64).unwrap_or(1);
        // A leader without an engine, and a probe of another port, such as that of Ray, succeed before the
        // workers come.
        let mut all = view.templates_of(owner).filter(|template| template.path.starts_with(&path));
        let leader = all.find(|template| template.part == Part::Leader);
        let is_early = leader.and_then(|leader| {
            let Some(engine) = &leader.engine else { return Some(true) };
            let port = engine.container.pointer("/readinessProbe/tcpSocket/port")?;
            let port = port_number(engine.container, port)?;
            Some(!engine.ports()?.contains(&port))
        });
        if text(spec, "startupPolicy") == "LeaderReady" && size > 1 && is_early != Some(true) {
            let message =
                "startupPolicy LeaderReady deadlocks: the leader is ready only with its workers";
            let hint = "write `startupPolicy: LeaderCreated`";
            found.push(owner, format!("{path}.startupPolicy"), message, hint);
        }
    }
}

/// Checks what the webhooks of LeaderWorkerSet validate.
pub(crate) fn webhook(view: &View<'_>, found: &mut Found) {
    for (owner, set) in view.of_kind("LeaderWorkerSet") {
        let name = set.name();
        // The length of a DNS label without the suffix `-GROUP-WORKER`.
        let fits = is_label(name) && name.len() <= 52;
        if !fits || name.starts_with(|c: char| c.is_ascii_digit()) {
            let message = format!("`{name}` is not a valid name for a LeaderWorkerSet");
            let hint =
                "use at most 52 lower-case letters, digits and dashes, beginning with a letter";
            found.push(owner, ".metadata.name", message, hint).field("name");
        }
    }
    for (owner, Group { path, spec, .. }) in specs(view) {
        numbers(spec, found.at(owner, path));
    }
    view.of_kind("DisaggregatedSet").for_each(|(owner, set)| roles(owner, set, found));
}

/// Checks that workers wait until the name of their leader resolves.
pub(crate) fn leader_address((_, pods, container): ContainerContext<'_>, found: &mut Reporter<'_>) {
    let words = words(container);
    let says = |part: &str| words.iter().any(|word| word.contains(part));
    let waits = ["getent", "nslookup", "until "].into_iter().any(says);
    let is_worker = pods.part == Part::Worker && !pods.completed;
    if is_worker && says("LWS_LEADER_ADDRESS") && !waits {
        let message = "workers do not wait until the leader's name resolves";
        found.push(message, "wait for `getent hosts \"$LWS_LEADER_ADDRESS\"` first");
    }
}

/// Variables that LeaderWorkerSet adds to containers.
pub(super) const VARIABLES: &[&str] = &["LWS_GROUP_SIZE", "LWS_LEADER_ADDRESS", "LWS_WORKER_INDEX"];

/// Checks the variables of groups, the size of their Ray cluster, and the devices of its workers.
pub(crate) fn members(view: &View<'_>, found: &mut Found) {
    let of_group = |template: &&Template<'_>| template.part != Part::Single && !template.completed;
    for template in view.templates.iter().filter(of_group) {
        let size = template.size;
        for (container, path) in template.containers() {
            let mut found = found.at(template.owner, path);
            // A ConfigMap that is not known may set others, and scripts have options with defaults.
            let is_whole = list(container, "envFrom").is_empty();
            let is_wrong = |name: &str, has_default: bool| {
                let is_near = || suggest::nearest(name, VARIABLES).is_some();
                let is_other = name.starts_with("LWS_") && !VARIABLES.contains(&name);
                is_other && (is_whole && !has_default || is_near())
            };
            for (name, _) in unset(container).into_iter().filter(|(name, has)| is_wrong(name, *has))
            {
                let hint = suggest::hint(&name, VARIABLES, "variables");
                found.push(format!("LeaderWorkerSet sets no variable `{name}`"), hint);
            }
            for name in ["NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME"] {
                let computes = accelerators(container).is_some();
                if size > 1 && computes && variable(container, name) == Some(Variable::Text("lo")) {
                    let message = format!("`{name}` is `lo`, on which other pods cannot connect");
                    found.push(message, "write the interface of the pods' network, or remove it");
                }
            }
            let commands = template.commands(container, &view.budget);
            let words = commands.iter().flatten().flatten();
            let said = words.filter_map(|word| word.strip_prefix("--ray_cluster_size="));
            for said in said.filter_map(|said| said.parse::<u32>().ok()).filter(|n| *n != size) {
                let message = format!("Ray waits for {said} pods, but groups have {size}");
                found.push(message, "write `--ray_cluster_size=$(LWS_GROUP_SIZE)`");
            }
        }

        // Ray gives each pod the ranks of the leader's devices.
        let leader = leader_of(view, template).filter(|_| template.part == Part::Worker);
        let both = leader.and_then(|leader| Some((leader, leader.engine.as_ref()?)));
        let Some((leader, engine)) = both else { continue };
        let of_pod = |template: &Template<'_>| {
            let units = template.containers().filter_map(|(container, _)| accelerators(container));
            devices_of(view, template, units.map(|(_, units)| units).sum())
        };
        let (has, needs) = (of_pod(template), ranks(engine, leader));
        let joins = template.engine.is_none() && Engine::uses_ray(engine);
        if let Some(needs) = needs.filter(|needs| joins && has < *needs && of_pod(leader) > 0) {
            let message = format!("workers have {has} devices for {needs} ranks");
            let hint = "request the same devices in leader and workers";
            found.push(template.owner, template.spec_path.as_str(), message, hint);
        }
    }
}

/// Checks that a rollout can replace pods of a group, and the numbers of pods in it and its subgroups.
fn numbers(spec: &Json, mut found: Reporter<'_>) {
    let rollout = spec.pointer("/rolloutStrategy/rollingUpdateConfiguration");
    let is_zero = |key: &str, usual: bool| {
        rollout.and_then(|rollout| rollout.get(key)).map_or(usual, |value| {
            value.as_u64() == Some(0) || matches!(value.as_str(), Some("0" | "0%"))
        })
    };
    // Their defaults are 1 and 0.
    if is_zero("maxUnavailable", false) && is_zero("maxSurge", true) {
        let message = "`maxUnavailable` and `maxSurge` are both 0";
        found.below(".rolloutStrategy", message, "set `maxUnavailable` or `maxSurge` to 1");
    }

    let group = spec.get("leaderWorkerTemplate").unwrap_or(&Json::Null);
    let size = group.get("size").and_then(Json::as_u64).unwrap_or(1);
    let part = group.pointer("/subGroupPolicy/subGroupSize").and_then(Json::as_u64);
    let replicas = spec.get("replicas").map_or(Some(1), Json::as_u64);
    // The webhook compares the product with the largest int32.
    let all = replicas.and_then(|replicas| replicas.checked_mul(size));
    if size == 0 || all.is_none_or(|all| i32::try_from(all).is_err()) {
        let message = format!("invalid number of pods: groups of {size} times `replicas`");
        let hint = "use a `size` of 1 or more, and fewer `replicas`";
        found.below(".leaderWorkerTemplate.size", message, hint);
    }
    if size > 1 && text(group, "restartPolicy") == "None" {
        let message =
            "`restartPolicy` is None: the other pods of a group keep waiting for one that fails";
        let finding = found.below(".leaderWorkerTemplate.restartPolicy", message, "remove it");
        finding.warning().why("the group serves no requests", "LeaderWorkerSet API, RestartPolicy");
    }
    if let Some(part) = part.filter(|part| *part > 0)
        && !size.is_multiple_of(part)
        // The leader may be an extra pod, which belongs to the first subgroup.
        && !size.saturating_sub(1).is_multiple_of(part)
    {
        let message = format!("group size {size} is not divisible by subgroup size {part}");
        let hint = "use a subgroup size that divides the group size";
        found.below(".leaderWorkerTemplate.subGroupPolicy", message, hint);
    }
}

/// Checks the roles of a DisaggregatedSet.
fn roles(owner: usize, set: &Manifest, found: &mut Found) {
    let roles = list(set.spec(), "roles");
    let is_none = |role: &&Json| role.pointer("/spec/replicas").is_some_and(|count| *count == 0);
    let none = roles.iter().filter(is_none).count();
    let mut of_roles = found.at(owner, ".spec.roles").field("disaggregated-set");
    // This and the next are CEL rules of the CRD.
    if none > 0 && none < roles.len() {
        let hint = "set all roles to 0 replicas, or none";
        of_roles.push("some roles have 0 replicas and others do not", hint);
    }
    let partition = "/spec/rolloutStrategy/rollingUpdateConfiguration/partition";
    if roles.iter().any(|role| role.pointer(partition).is_some()) {
        let message = "a role has `partition`, which the DisaggregatedSet sets";
        of_roles.push(message, "remove `partition`");
    }
}
