//! Invariants of engines that span a group of pods, and of vLLM's flags.

use super::engine::supervisor;
use super::probe::is_of_hub;
use super::*;
use crate::view::pods::last_index;
use crate::view::shell::UNKNOWN;

fn has_own_servers(flags: &Flags) -> bool {
    NAMES.own_servers.iter().any(|flag| flags.is_on(flag))
}

/// Returns the engine; `None` if its flags are not all known, or of another program.
pub(super) fn known<'t, 'a>(pods: &'t Template<'a>, program: Program) -> Option<&'t Engine<'a>> {
    pods.engine.as_ref().filter(|engine| engine.flags_of(program).is_some())
}

/// Returns vLLM; `None` if other things set its ranks.
fn vllm<'t, 'a>(template: &'t Template<'a>) -> Option<&'t Engine<'a>> {
    let engine = known(template, Program::Vllm)?;
    // vLLM also reads these variables.
    let mut variables = texts(engine.container, "env", "name");
    let by_variables = variables.any(|name| name.starts_with("VLLM_DP_"));
    (!by_variables && !engine.flags.is_on("grpc")).then_some(engine)
}

/// Returns true for names and addresses of the own pod.
pub(super) fn is_loopback(host: &str) -> bool {
    matches!(host, "127.0.0.1" | "localhost" | "::1" | "[::1]")
}

/// Returns the leader template of a worker's group.
pub(super) fn leader_of<'v>(view: &'v View<'_>, worker: &Template<'_>) -> Option<&'v Template<'v>> {
    let base = |path: &str| path.rsplit_once('.').map(|(base, _)| base.to_owned());
    view.templates_of(worker.owner).find(|template| {
        template.part == Part::Leader && base(&template.path) == base(&worker.path)
    })
}

/// Checks that leader and workers of SGLang meet at one port, each with its rank.
fn sglang(leader: &Template<'_>, worker: &Template<'_>, found: &mut Found) {
    let both = known(leader, Program::Sglang).zip(known(worker, Program::Sglang));
    let Some((first, other)) = both else { return };

    let address = |engine: &Engine<'_>| engine.flags.text("dist-init-addr").map(str::to_owned);
    let alone = [first, other].into_iter().filter_map(address).find(|one| !one.contains(':'));
    if alone.is_some_and(|address| !is_placeholder(&address)) {
        let message = format!("`--dist-init-addr` of {worker} has no port");
        found.push(worker.owner, &worker.spec_path, message, "write `HOST:PORT`");
    }
    let port = |engine: &Engine<'_>| {
        engine.flags.text("dist-init-addr")?.rsplit_once(':')?.1.parse::<u16>().ok()
    };
    if let Some((first, other)) = differing(port(first), port(other)) {
        let message =
            format!("`--dist-init-addr` of the leader has port {first}, of workers {other}");
        found.push(worker.owner, &worker.spec_path, message, "write one port in both");
    }
    if other.flags.has("nnodes") {
        ranks(worker, [first, other], ("node-rank", 1, "$LWS_WORKER_INDEX"), found);
    }
}

/// Checks the ranks of a group's leader and of its last worker, each with `step` ranks. A template
/// is read with the index of the last worker, so that the same rank for all workers is found.
fn ranks(
    worker: &Template<'_>,
    [first, last]: [&Engine<'_>; 2],
    (flag, step, right): (&str, u32, &str),
    found: &mut Found,
) {
    let index = last_index(worker.size);
    for (which, engine, wanted) in
        [("leader", first, 0), ("last worker", last, step.saturating_mul(index))]
    {
        let Some(said) = engine.number(flag, 0).filter(|said| *said != wanted) else { continue };
        let message = format!("{which} of {worker} has `--{flag}` {said}, expected {wanted}");
        found.push(worker.owner, &engine.path, message, format!("write `--{flag}={right}`"));
    }
}

/// Reports a setting that differs between leader and workers.
fn common(leader: &Template<'_>, worker: &Template<'_>, found: &mut Found) {
    let Some((first, other)) = leader.engine.as_ref().zip(worker.engine.as_ref()) else { return };
    let settings = NAMES.common.iter().map(|flag| {
        let name = format!("VLLM_{}", flag.replace('-', "_").to_uppercase());
        let both = [first, other].map(|engine| match variable(engine.container, &name) {
            Some(Variable::Text(value)) if !engine.flags.has(flag) => Some(value),
            _ => engine.flags.text(flag),
        });
        (*flag, both)
    });
    // One path may be written in two ways, and a model may be mounted at two.
    let of_hub = |engine: &&Engine<'_>| is_of_hub(engine);
    let models = [first, other].map(|one| Some(one).filter(of_hub)?.model.as_deref());
    let models = ("model", models);
    for (flag, [one, two]) in settings.chain([models]) {
        if let Some((one, two)) = differing(one, two) {
            let message = format!("leader of {worker} has {flag} `{one}`, workers have `{two}`");
            let hint = "use the same value for both";
            let finding = found.push(worker.owner, &other.path, message, hint);
            finding.why("ranks wait for each other, or exchange nothing", "vLLM, ParallelConfig");
        }
    }
}

/// Reports images of one repository with different tags in leader and workers.
fn images(leader: &Template<'_>, worker: &Template<'_>, found: &mut Found) {
    let own: Vec<&str> = texts(leader.spec, "containers", "image").collect();
    let is_other = |(image, _): &(&str, &&str)| !own.contains(image);
    let near =
        |image| own.iter().find(|own| parts(own).0 == parts(image).0).map(|own| (image, own));
    let mut all = texts(worker.spec, "containers", "image").filter_map(near);
    let is_known =
        |(image, first): &(&str, &&str)| !is_placeholder(image) && !is_placeholder(first);
    if let Some((image, first)) = all.find(is_other).filter(is_known) {
        let message = format!("leader of {worker} has image `{first}`, workers have `{image}`");
        let finding = found.push(worker.owner, &worker.spec_path, message, "use one image");
        finding.warning().why("ranks of other releases may not join", "vLLM and SGLang, releases");
    }
}

/// Checks that pods of a group have the leader's address, the same settings and the right ranks.
pub(crate) fn join(view: &View<'_>, found: &mut Found) {
    for worker in view.templates.iter().filter(|template| template.part == Part::Worker) {
        let Some(leader) = leader_of(view, worker) else { continue };
        common(leader, worker, found);
        images(leader, worker, found);
        sglang(leader, worker, found);
        let is_plain = |engine: &&Engine<'_>| !engine.uses_ray();
        let both = vllm(leader).filter(is_plain).zip(vllm(worker).filter(is_plain));
        let Some((first, other)) = both else { continue };

        let (leads, works) = (&first.flags, &other.flags);
        let is_spread = works.has("nnodes") || leads.has("nnodes");
        let all = other.number("data-parallel-size", 1);
        let local = other.number("data-parallel-size-local", 1);
        let shares_ranks = works.has("data-parallel-size-local") || has_own_servers(works);
        if !is_spread && !shares_ranks {
            let message =
                format!("each of the {} pods of {worker} runs a separate engine", worker.size);
            let hint = "use a Deployment; or, for one engine over all pods, add \
                        `--nnodes` or `--data-parallel-size-local`, and the leader's address";
            found.push(worker.owner, &other.path, message, hint).warning();
            continue;
        }

        let addresses: &[&str] =
            if is_spread { &["master-addr"] } else { &["data-parallel-address", "master-addr"] };
        // Then every pod has all ranks, and no pod has to find another one.
        let alone = !is_spread && matches!((all, local), (Some(all), Some(local)) if all <= local);
        for engine in [first, other] {
            if !alone && !addresses.iter().any(|address| engine.flags.has(address)) {
                let message = format!("pods of {worker} have no leader address");
                let hint = format!("add `--{}=$LWS_LEADER_ADDRESS`", addresses[0]);
                found.push(worker.owner, &engine.path, message, hint);
            }
        }
        // The leader may use its own loopback address.
        let mut hosts = addresses.iter().filter_map(|flag| Some((flag, works.text(flag)?)));
        if let Some((flag, host)) = hosts.find(|(_, host)| !alone && is_loopback(host)) {
            let message = format!("workers of {worker} look for the leader at {host}");
            let hint = format!("write `--{flag}=$LWS_LEADER_ADDRESS`");
            found.push(worker.owner, &other.path, message, hint);
        }

        if works.has("node-rank") || is_spread {
            ranks(worker, [first, other], ("node-rank", 1, "$LWS_WORKER_INDEX"), found);
        } else if let Some(local) = local.filter(|_| !works.has("data-parallel-rank") && !alone) {
            let right = "$((LWS_WORKER_INDEX * RANKS_PER_POD))";
            ranks(worker, [first, other], ("data-parallel-start-rank", local, right), found);
        }

        if !alone && !other.is_headless() && !has_own_servers(leads) && !has_own_servers(works) {
            let message = format!(
                "workers of {worker} start their own servers, but the leader serves all requests"
            );
            found.push(worker.owner, &other.path, message, "add `--headless` to the workers");
        }
    }
}

/// Checks for flag combinations that vLLM rejects.
pub(crate) fn refused((_, template, engine): Context<'_>, found: &mut Reporter<'_>) {
    let Some(Engine { flags, .. }) = vllm(template) else { return };
    let ports = engine.ports().unwrap_or_default();
    // vLLM: entry point of its image, validation of its arguments, SchedulerConfig. Kubernetes keeps
    // the image's entry point if only `args` are set.
    let words: Vec<&str> = strings(engine.container, "args").take(2).collect();
    let begins = matches!(words[..], ["vllm", "serve"] | ["serve", ..]);

    // vLLM, VllmConfig: only these send while the GPU computes, NIXL since 0.24; on ROCm there are
    // others.
    let image = text(engine.container, "image");
    let has_nixl = VLLM.behaviors.has("dbo_nixl", VLLM.index(image));
    let backend = flags.text("all2all-backend");
    let overlaps = backend
        .is_none_or(|one| one.starts_with("deepep") || one == "nixl_ep" && has_nixl)
        || image.contains("rocm")
        || accelerators(engine.container).is_some_and(|(name, _)| name == "amd.com/gpu");

    if begins && list(engine.container, "command").is_empty() {
        let message =
            "the arguments begin with `serve`, which the entry point of the image does already";
        found.push(message, "remove it, or write `command: [vllm, serve]`");
    }
    if flags.is_on("enable-dbo") && !overlaps {
        let hint =
            "add `--all2all-backend=deepep_low_latency`, or `deepep_high_throughput` for prefill";
        found.push("`--enable-dbo` requires an all-to-all backend of DeepEP", hint);
    }
    let rpc = engine.number("data-parallel-rpc-port", 0).filter(|port| *port > 0);
    let others = [("rpc", rpc), ("supervisor", supervisor(engine))].into_iter();
    let is_taken = |port: &Option<u32>| port.is_some_and(|port| ports.contains(&port));
    for (name, _) in others.filter(|(_, port)| is_taken(port)) {
        let flag = format!("`--data-parallel-{name}-port`");
        let message = format!("{flag} is also the port of a server");
        found.push(message, format!("set {flag} to another port"));
    }
}

/// Checks that a StatefulSet starts the pods of an engine together: they wait for each other.
pub(crate) fn parallel((view, template, engine): Context<'_>, found: &mut Reporter<'_>) {
    let set = template.manifest;
    let nodes = engine.flags.has("data-parallel-address")
        || engine.number("nnodes", 1).is_none_or(|nodes| nodes > 1) && engine.flags.has("nnodes");
    let waits = engine.container.get("readinessProbe").is_some();
    if set.kind() != "StatefulSet" || !nodes || !waits {
        return;
    }
    let is_ordered = text(set.spec(), "podManagementPolicy") != "Parallel";
    if is_ordered && template.replicas.is_some_and(|replicas| replicas > 1) {
        let message = format!("{set} starts pods in order, but each waits for all of them");
        found.push(message, "write `podManagementPolicy: Parallel`");
    }
    // Kubernetes API, ServiceSpec: names of pods that are not ready are not published.
    let service = view.named("Service", text(set.spec(), "serviceName"), set);
    let is_hidden = |service: &Manifest| {
        service.text("/spec/clusterIP") == Some("None")
            && !is_true(service.spec(), "/publishNotReadyAddresses")
    };
    let Some((_, service)) = service.filter(|(_, service)| is_hidden(service)) else { return };
    let message = format!("{service} has no names of pods of {set} before all are ready");
    found.push(message, "write `publishNotReadyAddresses: true`");
}

/// Checks that Ray is not used with vLLM images since 0.19, which do not contain it, and that the
/// container of a worker stays.
pub(crate) fn ray((view, template, container): ContainerContext<'_>, found: &mut Reporter<'_>) {
    if !starts_ray(container) {
        return;
    }
    let image = text(container, "image");
    let commands = template.commands(container, &view.budget);
    let last = commands.as_ref().and_then(|all| all.last()).map_or(&[][..], Vec::as_slice);
    let may_block = |word: &String| word.starts_with("--block") || word.contains(UNKNOWN);
    if matches!(last, [ray, start, ..] if ray == "ray" && start == "start")
        && !last.iter().any(may_block)
    {
        let message = "the container ends after `ray start`, which starts Ray in the background";
        let finding = found.push(message, "add `--block`");
        finding.why("the pod restarts again and again", "Ray docs, ray start");
    }
    // Whether other images of vLLM contain Ray is not known.
    let is_without = VLLM.is_since(image, "0.19.0") == Some(true);
    if is_in(image, "vllm/vllm-openai") && is_without {
        let hint = "use an image with Ray, or vLLM multiprocessing (`--nnodes`)";
        found.below(".image", format!("command starts Ray, which is not in image `{image}`"), hint);
    }
}

/// Returns the release of Ray in an image of the project.
fn ray_release(image: &str) -> Option<&str> {
    const REPOSITORIES: [&str; 3] = ["rayproject/ray", "rayproject/ray-llm", "rayproject/ray-ml"];
    let release = parts(image).1.split('-').next()?;
    let is_release = release.split('.').count() == 3
        && release.split('.').all(|part| part.parse::<u32>().is_ok());
    (is_release && REPOSITORIES.iter().any(|name| is_in(image, name))).then_some(release)
}

/// Checks that all pods of a Ray cluster have the same release of Ray.
pub(crate) fn ray_releases(view: &View<'_>, found: &mut Found) {
    let kinds = ["RayCluster", "RayJob", "RayService"].into_iter();
    let clusters = kinds.flat_map(|kind| view.of_kind(kind));
    for (owner, cluster) in clusters.filter(|(_, one)| one.group() == "ray.io") {
        let releases = view.templates_of(owner).filter_map(|template| {
            let container = list(template.spec, "containers").first()?;
            Some((template, ray_release(text(container, "image"))?))
        });
        let (heads, workers): (Vec<_>, Vec<_>) =
            releases.partition(|(template, _)| template.path.contains("headGroupSpec"));
        let Some((_, head)) = heads.first() else { continue };
        for (template, release) in workers.iter().filter(|(_, release)| release != head) {
            let message =
                format!("workers of {cluster} have Ray {release}, but the head has {head}");
            let path = format!("{}.containers[0].image", template.spec_path);
            found.push(owner, path, message, "use the image of the head");
        }
    }
}
