//! Invariants of engine pods.

use super::probe::{KINDS, probes_of};
use super::transfer::FLAG as TRANSFER;
use super::*;
use crate::releases::ProgramTable;
use crate::source::Reference;
use crate::view::pods::joins_ray;
use crate::view::pods::resources;

/// Returns the devices of `units` of the accelerator resource for these pods: TPU v7 has two per unit.
pub(super) fn devices_of(view: &View<'_>, pods: &Template<'_>, units: u32) -> u32 {
    let kind = pods.node_label("cloud.google.com/gke-tpu-accelerator");
    let double = kind.is_some_and(|kind| kind.starts_with("tpu7"));
    units.saturating_mul(view.devices_per_unit.unwrap_or(if double { 2 } else { 1 }))
}

/// Returns the ranks per pod; `None` if unknown.
pub(super) fn ranks(engine: &Engine<'_>, template: &Template<'_>) -> Option<u32> {
    let flags = &engine.flags;
    let tp = engine.number("tensor-parallel-size", 1)?;
    let pp = engine.number("pipeline-parallel-size", 1)?;
    let (model, dp) = (tp.checked_mul(pp)?, engine.number("data-parallel-size", 1)?);
    if engine.program == Program::Sglang {
        // With attention data parallelism, ranks of both kinds share devices.
        let shares =
            flags.is_on("enable-dp-attention") && !flags.has("attention-data-parallel-size");
        let nodes = engine.number("nnodes", 1)?.max(1);
        return model.checked_mul(if shares { 1 } else { dp }).map(|all| all / nodes);
    }
    // The Hugging Face server spreads models over all devices by itself, and another one may.
    let spreads = matches!(engine.program, Program::HuggingFace | Program::Other);
    let says = flags.has("tensor-parallel-size") && !flags.has("enable-dp-attention");
    // Ray places the ranks.
    let is_placed = flags.text("data-parallel-backend") == Some("ray");
    if spreads && !says || is_placed {
        return None;
    }
    let model = model.checked_mul(engine.number("prefill-context-parallel-size", 1)?)?;
    // With this flag the pod runs one rank.
    if flags.has("data-parallel-rank") {
        return Some(model);
    }
    if flags.has("data-parallel-size-local") {
        return model.checked_mul(engine.number("data-parallel-size-local", 1)?);
    }
    let pods = if flags.has("nnodes") {
        engine.number("nnodes", 1)?
    } else if template.part != Part::Single && engine.uses_ray() {
        template.size
    } else {
        1
    };
    Some(model.checked_mul(dp)?.div_ceil(pods.max(1)))
}

/// Checks that pods request as many devices as their ranks use.
pub(crate) fn devices((view, template, engine): Context<'_>, found: &mut Reporter<'_>) {
    // A service adds arguments to its runtime, and ranks may be on several pods of a group.
    let path = &template.path;
    let in_group = template.part == Part::Single
        && (path.contains(".entryTemplate")
            || path.contains(".workerTemplate")
            || starts_ray(engine.container)
            || path.contains("GroupSpec") && engine.uses_ray());
    let is_open = in_group || template.manifest.kind().ends_with("ServingRuntime");
    let of_claims = || Some(("GPUs of its claims", claimed(view, template, engine.container)?));
    let requested = accelerators(engine.container).or_else(of_claims).filter(|_| !is_open);
    let Some((resource, units)) = requested else { return };

    topology(template, resource, units, found);
    let devices = devices_of(view, template, units);
    // Of a script with unknown flags, the ranks of those that are known are needed at least.
    let known = ["tensor-parallel-size", "data-parallel-size-local"].map(|f| engine.number(f, 1));
    let least = known.iter().try_fold(1u32, |all, one| all.checked_mul(one.unwrap_or(1)));
    let least = least.filter(|least| *least > devices && !engine.uses_ray());
    let Some(ranks) = ranks(engine, template).or(least) else { return };
    // Another pod holds the devices of those that request none.
    if devices != ranks && devices > 0 && ranks > 0 {
        let number = if devices == units { String::new() } else { format!(" ({devices} devices)") };
        let message =
            format!("pods request {units} × {resource}{number}, but their ranks use {ranks}");
        let hint = "set tensor × pipeline × data parallelism per pod to its number of devices";
        let finding = found.below(".resources", message, hint);
        finding.field = (template.role() == Some("prefill")).then_some("prefill");
        // Slices of one device are devices to Kubernetes, and one rank may take all of them.
        finding.lower_if(devices > ranks && !view.is_generated, Severity::Warning);
    }
}

/// Returns the devices of the only claim of a container, if its template has one request for GPUs.
fn claimed(view: &View<'_>, template: &Template<'_>, container: &Json) -> Option<u32> {
    let mut claims = list(container.get("resources")?, "claims").iter();
    let (claim, None) = (claims.next()?, claims.next()) else { return None };
    let mut all = list(template.spec, "resourceClaims").iter();
    let claim = all.find(|one| text(one, "name") == text(claim, "name"))?;
    let name = text(claim, "resourceClaimTemplateName");
    let (_, object) = view.named("ResourceClaimTemplate", name, template.manifest)?;
    let request = object.json.pointer("/spec/spec/devices/requests/0/exactly")?;
    let is_of_gpus = text(request, "deviceClassName").starts_with("gpu.")
        && text_or(request, "allocationMode", "ExactCount") == "ExactCount"
        && object.json.pointer("/spec/spec/devices/requests/1").is_none();
    is_of_gpus.then(|| number(request, "count").unwrap_or(1))
}

/// Reports pods or groups whose TPU chips are not those of the topology of their nodes.
fn topology(template: &Template<'_>, resource: &str, units: u32, found: &mut Reporter<'_>) {
    let said = template.node_label("cloud.google.com/gke-tpu-topology");
    let Some(said) = said.filter(|_| resource == "google.com/tpu") else { return };
    let chips = said.split('x').try_fold(1u32, |all, side| all.checked_mul(side.parse().ok()?));
    let Some(chips) = chips else { return };
    let fits = match template.part {
        Part::Single => units <= chips,
        Part::Leader | Part::Worker => units.checked_mul(template.size) == Some(chips),
    };
    if !fits {
        let message = format!(
            "topology {said} has {chips} chips, but {} × {units} are requested",
            template.size
        );
        let hint = "request the chips of a node in each pod, and all nodes of the slice in a group";
        found.push(message, hint).path = format!("{}.nodeSelector", template.spec_path);
    }
}

/// Checks that groups have as many pods as their ranks need.
pub(crate) fn group_size((view, template, engine): Context<'_>, found: &mut Reporter<'_>) {
    if template.part == Part::Single {
        return;
    }
    // A leader without an engine is no node.
    let is_apart = leader_of(view, template).is_some_and(|leader| leader.engine.is_none());
    let size = template.size.saturating_sub(u32::from(is_apart));
    if let Some(nodes) = engine.number("nnodes", size).filter(|nodes| *nodes != size) {
        let message = format!("engine waits for {nodes} pods, but groups have {size}");
        found.push(message, "set `--nnodes` to the size of the group");
    }

    let all = engine.number("data-parallel-size", 1);
    let local = engine.number("data-parallel-size-local", 1);
    // `u64`, because both factors come from the manifests, and their product may exceed `u32`.
    let is_wrong = |(all, local): &(u32, u32)| {
        engine.flags.has("data-parallel-size-local")
            && u64::from(*local) * u64::from(size) != u64::from(*all)
    };
    let Some((all, local)) = all.zip(local).filter(is_wrong) else { return };
    let message =
        format!("{size} pods with {local} ranks each do not match the {all} ranks of the engine");
    let hint = "set `--data-parallel-size` to the size of the group × `--data-parallel-size-local`";
    found.push(message, hint).field("dp");
}

/// Checks routing sidecars: their ports match the engine, and decode pods have one if there is prefill.
pub(crate) fn sidecar(view: &View<'_>, found: &mut Found) {
    for (template, sidecar) in view.sidecars() {
        for flag in ["port", "model-server-port", "vllm-port"] {
            let value = sidecar.flags.text(flag).filter(|value| !is_placeholder(value));
            let Some(value) = value.filter(|value| value.parse::<u16>().is_err()) else { continue };
            let message = format!("`--{flag}` of the sidecar is `{value}`, which is no port");
            found.push(template.owner, &sidecar.path, message, "write a number");
        }
        let ports = template.engine.as_ref().and_then(Engine::ports);
        let ports = ports.filter(|ports| !ports.is_empty());
        let (Some(ports), Some(port)) = (ports, sidecar.engine_port()) else { continue };
        let count = sidecar.ports().map_or(1, |ports| ports.len());
        let mut found = found.at(template.owner, &sidecar.path);
        if !ports.contains(&port) {
            let open = ranges(&ports);
            let message =
                format!("sidecar connects to the engine on port {port}, but it listens on {open}");
            found
                .push(message, "set `--model-server-port` of the sidecar to the engine's `--port`");
        } else if count != ports.len() {
            let message = format!("sidecar has {count} ports, but the engine has {}", ports.len());
            let hint =
                "set `--data-parallel-size` of the sidecar to the number of the engine's ports";
            found.push(message, hint);
        }
    }
    for template in view.templates.iter().filter(|template| !is_patch(template.manifest)) {
        for (container, path) in items(template.spec, "initContainers", &template.spec_path) {
            let stays = text(container, "restartPolicy") == "Always";
            let commands = || template.commands(container, &view.budget);
            if !stays && commands().is_some_and(|all| Sidecar::of(container, &all).is_some()) {
                let message = "sidecar is an init container without restartPolicy Always, so the pod never starts";
                found.push(template.owner, path, message, "add `restartPolicy: Always`");
            }
        }
    }

    for (_, pool) in view.pools() {
        let selected = view.selected(pool);
        // A TLS policy for the pods may be intended.
        let picker = pool.text("/spec/endpointPickerRef/name").unwrap_or_default();
        let is_other = |(_, one): (usize, &Manifest)| !text(one.spec(), "host").starts_with(picker);
        let by_rule = || {
            view.of_kind("BackendTLSPolicy").next().is_some()
                || view.of_kind("DestinationRule").any(is_other)
        };
        let sidecars = selected.iter().filter_map(|one| Some((one.owner, one.sidecar.as_ref()?)));
        let is_secure = |one: &Sidecar<'_>| one.flags.is_on_or("secure-proxy", true) && !by_rule();
        for (owner, sidecar) in sidecars.clone().filter(|(_, sidecar)| is_secure(sidecar)) {
            let message = "sidecar accepts TLS only, but Gateways send plain HTTP";
            found.push(owner, &sidecar.path, message, "add `--secure-proxy=false`");
        }
        // The sidecar's default is none (llm-d-router, pkg/sidecar/proxy/options.go).
        let has = |role| selected.iter().any(|pods| pods.role() == Some(role));
        for (owner, sidecar) in sidecars.filter(|_| has("encode")) {
            if !sidecar.flags.has("ec-connector") && !sidecar.flags.are_open() {
                let message = "sidecar has no `--ec-connector`, so encode pods get no requests";
                found.push(owner, &sidecar.path, message, "add `--ec-connector=ec-nixl`").warning();
            }
        }
        let prefills = has("prefill");
        let decodes = selected.into_iter().filter(|_| prefills);
        without_sidecar(decodes.filter(|pods| pods.role() == Some("decode")), found);
    }
    if view.pools().next().is_none() {
        let decodes = view.pairs().into_iter().map(|(_, decode)| decode);
        let is_of_llm_d = |pods: &&Template<'_>| pods.labels.contains_key("llm-d.ai/role");
        without_sidecar(decodes.filter(|pods| !pods.completed).filter(is_of_llm_d), found);
    }
}

/// Reports decode pods without a routing sidecar.
fn without_sidecar<'v>(decodes: impl Iterator<Item = &'v Template<'v>>, found: &mut Found) {
    let has_no_sidecar = |pods: &&Template<'_>| pods.sidecar.is_none() && pods.unread.is_empty();
    for pods in decodes.filter(has_no_sidecar).filter(|pods| !pods.is_headless()) {
        let message = "decode pods have no routing sidecar, so prefill pods get no requests";
        let hint = "add the sidecar as an init container with `restartPolicy: Always`";
        found.push(pods.owner, &pods.spec_path, message, hint);
    }
}

/// Checks that no other container of a pod listens on a port of the engine.
pub(crate) fn port_clash((_, template, engine): Context<'_>, found: &mut Reporter<'_>) {
    // Containers of a pod share its network namespace: the second one to bind a port fails.
    let Some(mut inner) = engine.ports() else { return };
    inner.extend(supervisor(engine));
    let sidecar = template.sidecar.as_ref();
    let others = template.containers().filter(|(one, _)| !std::ptr::eq(*one, engine.container));
    for (container, _) in others {
        let own = sidecar.filter(|sidecar| std::ptr::eq(sidecar.container, container));
        let outer = own.and_then(Sidecar::ports).unwrap_or_else(|| declared(container));
        let both: Vec<u32> = outer.into_iter().filter(|port| inner.contains(port)).collect();
        if !both.is_empty() {
            let who = match own {
                Some(_) => "sidecar".to_owned(),
                None => format!("container `{}`", text(container, "name")),
            };
            let hint = "change the port of the engine, for example to `--port=8200`";
            found.push(format!("{who} and engine both listen on port {}", ranges(&both)), hint);
        }
    }
}

/// Returns the port of vLLM's multi-port supervisor, if it starts one; 9256 is vLLM's default.
pub(super) fn supervisor(engine: &Engine<'_>) -> Option<u32> {
    let port = engine.number("data-parallel-supervisor-port", 9_256);
    port.filter(|_| engine.has_port_for_each_rank())
}

/// Checks that probes use a port of the engine.
pub(crate) fn probes((_, template, engine): Context<'_>, found: &mut Reporter<'_>) {
    // Workers of older releases of SGLang answer health checks.
    let answers = engine.is_headless() && engine.program == Program::Sglang;
    let Some(mut open) = engine.ports().filter(|_| !answers) else { return };
    open.extend(supervisor(engine));
    open.extend(template.ports_beside(engine.container));

    for (probe, get) in probes_of(engine.container, &KINDS) {
        let mut found = found.inside(&format!(".{probe}"));
        if engine.is_headless() {
            found.push(format!("headless workers have a {probe}"), "remove the probe");
            continue;
        }

        let port = get.get("port").unwrap_or(&Json::Null);
        let number = port_number(engine.container, port);
        let number = number.or_else(|| port.as_str()?.parse().ok());
        let Some(number) = number.filter(|number| !open.contains(number)) else { continue };
        let open = ranges(&open);
        let message = format!("{probe} uses port {number}, but the engine listens on {open}");
        found.push(message, "use the same port in both");
    }
}

/// Returns the repository and the tag of an image of upstream, whose tags begin with `v`, if this one is a release
/// without it.
fn without_v(image: &str) -> Option<(&str, &str)> {
    let (repository, tag) = parts(image);
    let is_upstream = |(name, table): (&str, &ProgramTable)| {
        repository.trim_start_matches("docker.io/") == name && table.index(image).is_some()
    };
    let known = [("vllm/vllm-openai", &*VLLM), ("lmsysorg/sglang", &*SGLANG)];
    let is_bare = tag.starts_with(|c: char| c.is_ascii_digit()) && !image.contains('@');
    (is_bare && known.into_iter().any(is_upstream)).then_some((repository, tag))
}

/// Checks that images are set, are not placeholders, and are pinned by digest.
pub(crate) fn images(view: &View<'_>, found: &mut Found) {
    let mut check = |owner: usize, container: &Json, path: String, field: &'static str| {
        let image = text(container, "image");
        let mut found = found.at(owner, path).field(field);
        let stands =
            ["REPLACE", ":replace-with", "PLACEHOLDER", "CHANGEME", "CHANGE_ME", "YOUR_", "<"];
        if is_placeholder(image) || image.starts_with('$') {
            let message = format!("image `{image}` is not checked: its variable has no value yet");
            let finding = found.push(message, "check the manifests after replacement").note();
            finding.code(Code::ServingUnread).why("violations are not found", "bundle2chart");
        } else if image.is_empty() {
            let message = format!("container `{}` has no image", text(container, "name"));
            found.push(message, "set the image, with its digest").warning();
        } else if stands.iter().any(|part| image.contains(part)) {
            let message = format!("image `{image}` is a placeholder");
            found.push(message, "replace it with the image");
        } else if !Reference::is_valid(image) {
            let message = format!("`{image}` is not a valid image reference");
            found.push(message, "write `REPOSITORY:TAG@sha256:…` in lower-case letters");
        } else if let Some((repository, tag)) = without_v(image) {
            let message = format!("`{repository}` has no tag `{tag}`");
            found.push(message, format!("write `{repository}:v{tag}`"));
        } else if !image.contains("@sha256:") {
            let message = format!("image `{image}` is not pinned by digest");
            let finding = found.push(message, "add its digest: `NAME:TAG@sha256:…`").warning();
            finding.code(Code::ImageNotPinned);
            finding.why("a tag can move to another image", "llm-d guides");
        }
    };

    for template in &view.templates {
        let sidecar = template.sidecar.as_ref().map(|sidecar| sidecar.container);
        let is_ours = template.engine.is_some() || sidecar.is_some();
        let has_image = |container| !template.completed || !text(container, "image").is_empty();
        let ours = template.containers().filter(|(container, _)| is_ours && has_image(container));
        for (container, path) in ours {
            let is_sidecar = sidecar.is_some_and(|sidecar| std::ptr::eq(sidecar, container));
            let field = if is_sidecar { "prefill.sidecar-image" } else { "engine.image" };
            check(template.owner, container, format!("{path}.image"), field);
        }
        // A model image contains code and weights, so it is pinned, too.
        for (image, path) in template.model_images() {
            check(template.owner, &json!({"name": "model", "image": image}), path, "model");
        }
    }
    for picker in &view.pickers {
        for (container, path) in picker.pods.all_containers() {
            let field = match text(container, "name") {
                _ if path == picker.path => "epp.image",
                // Other containers of published pickers are not ours to judge.
                _ if !view.is_generated => continue,
                "tokenizer" => "epp.tokenizer-image",
                _ => "epp.pod",
            };
            check(picker.owner, container, format!("{path}.image"), field);
        }
    }
}

/// Checks that engines with several GPUs have shared memory.
pub(crate) fn shared_memory(
    (_, template, container): ContainerContext<'_>,
    found: &mut Reporter<'_>,
) {
    // One device has no other one to share memory with.
    let is_gpus = |(name, units): &(&str, u32)| *name != "google.com/tpu" && *units > 1;
    let is_engine = |one: &Engine<'_>| std::ptr::eq(one.container, container);
    let is_ours = template.engine.as_ref().is_some_and(is_engine) || joins_ray(container);
    let gpus = accelerators(container).filter(is_gpus).filter(|_| is_ours && !template.completed);
    let Some((resource, units)) = gpus else { return };

    // The container runtime mounts 64 MiB at /dev/shm; NCCL and worker processes need more.
    let mebibytes = |bytes: f64| bytes / 1_048_576.0;
    let mount = mount_of(container, "/dev/shm");
    let volume = mount.and_then(|mount| volume_of(template.spec, mount));
    let volume = volume.and_then(|volume| volume.get("emptyDir"));
    let volume = volume.filter(|volume| text(volume, "medium") == "Memory");
    let limit = volume.and_then(|volume| quantity(volume.get("sizeLimit")?)).map(mebibytes);
    let size = if volume.is_some() { limit } else { Some(64.0) };
    if let Some(size) = size.filter(|size| *size <= 64.0 && !is_true(template.spec, "/hostIPC")) {
        let hint = "mount an `emptyDir` with `medium: Memory` at /dev/shm";
        let message = format!("{units} × {resource} share only {size:.0} MiB of shared memory");
        found.push(message, hint);
    }
}

/// Returns the first name of the model that an engine serves, if it is known.
pub(super) fn first_name<'e>(engine: &'e Engine<'_>) -> Option<&'e str> {
    engine.names().into_iter().next().filter(|name| !is_placeholder(name))
}

/// Checks that prefill and decode have compatible engines and KV caches.
pub(crate) fn pair(view: &View<'_>, found: &mut Found) {
    // The models of a pool's pods are compared with each other.
    let is_pooled = view.pools().next().is_some();
    for (prefill, decode) in view.pairs() {
        let (Some(one), Some(other)) = (&decode.engine, &prefill.engine) else { continue };

        // Accelerators of two vendors have images of their own.
        let [device, devices] =
            [one, other].map(|engine| accelerators(engine.container).map(|(resource, _)| resource));
        let [image, others] = [one, other].map(|engine| text(engine.container, "image"));
        if image != others && device == devices {
            let message = format!("prefill has image `{others}`, but decode has `{image}`");
            let path = format!("{}.image", other.path);
            found.push(prefill.owner, path, message, "use the same image for both").warning();
        }

        let mut found = found.at(prefill.owner, &other.path);
        let [own, others] = [other, one].map(|engine| {
            let names = resources(engine.container).map(|(_, name, _)| name);
            let links = names.filter(|name| name.contains("rdma/") || name.ends_with("/efa"));
            links.collect::<BTreeSet<&str>>()
        });
        if let Some(link) = own.symmetric_difference(&others).next() {
            let (with, without) =
                if own.contains(link) { ("prefill", "decode") } else { ("decode", "prefill") };
            let message = format!("pods of {with} request {link}, but those of {without} do not");
            found.below(".resources", message, "request the same network in both").warning();
        }
        for flag in ["block-size", "kv-cache-dtype", "dtype", "page-size", "quantization"] {
            let said = [one, other].map(|engine| match engine.flags.has(flag) {
                true => engine.flags.text(flag).map(|value| format!("`{value}`")),
                false => engine.known_flags().map(|_| "the default".to_owned()),
            });
            let [decode, prefill] = said;
            if let Some((decode, prefill)) = differing(decode, prefill) {
                let message =
                    format!("`--{flag}` is {prefill} for prefill, but {decode} for decode");
                found.push(message, "use the same value for both");
            }
        }
        let [wanted, most] =
            [one, other].map(|engine| engine.number("max-model-len", 0).filter(|n| *n > 0));
        if let Some((most, wanted)) = most.zip(wanted).filter(|(most, wanted)| most < wanted) {
            let message = format!(
                "`--max-model-len` is {most} for prefill, but {wanted} for decode: prefill rejects \
                 longer prompts"
            );
            found.push(message, "use the same value for both");
        }
        let models = differing(first_name(one), first_name(other));
        if let Some((decode, prefill)) = models.filter(|_| !is_pooled) {
            let message = format!("prefill serves `{prefill}`, but decode `{decode}`");
            found.push(message, "serve one model under one name");
        }
        let both = one.known_flags().zip(other.known_flags());
        if both.is_some_and(|(one, other)| one.has(TRANSFER) != other.has(TRANSFER)) {
            let message = "only one of prefill and decode has a `--kv-transfer-config`";
            found.push(message, "set the same connector for both");
        }
    }
}
