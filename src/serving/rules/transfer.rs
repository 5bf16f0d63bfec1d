//! Invariants of KV cache transfer between prefill and decode pods.

use super::addresses::{is_closed, names_in};
use super::join::known;
use super::network_policy::{End, report};
use super::prefix_cache::events_port;
use super::*;
use crate::releases::names::Family;

/// A connector: its family, if it is known, and its configuration.
type Connector<'c> = (Option<&'static Family>, &'c Json);

fn is_nixl((family, _): &Connector<'_>) -> bool {
    family.is_some_and(|(family, ..)| family.starts_with("NIXL"))
}

/// The flag with the connector of an engine.
pub(super) const FLAG: &str = "kv-transfer-config";

/// Returns the transfer configuration of vLLM; `None` if there is none, or it is not known.
fn transfer(engine: &Engine<'_>) -> Option<Json> {
    engine.flags.json(FLAG).filter(|config| engine.program == Program::Vllm && config.is_object())
}

/// Returns true for a vLLM that certainly has no transfer configuration.
fn has_none(engine: &Engine<'_>) -> bool {
    let flags = engine.flags_of(Program::Vllm);
    flags.is_some_and(|flags| !flags.has(FLAG) && !flags.has_part_of(FLAG))
}

/// Returns the connectors of a configuration, those inside a MultiConnector one by one.
fn connectors(config: &Json) -> Vec<Connector<'_>> {
    let name = text(config, "kv_connector");
    if name == "MultiConnector" {
        let extra = config.get("kv_connector_extra_config").unwrap_or(&Json::Null);
        return list(extra, "connectors").iter().flat_map(connectors).collect();
    }
    let family = NAMES.connectors.iter().find(|(_, names, _)| names.contains(&name));
    vec![(family, config)]
}

/// Checks that prefill and decode have a connector, the same one, and roles that fit.
pub(crate) fn connector(view: &View<'_>, found: &mut Found) {
    for (template, engine) in view.engines().filter(|(one, _)| one.role() == Some("encode")) {
        let config = engine.flags.json("ec-transfer-config").unwrap_or_default();
        if text(&config, "ec_role") == "ec_consumer" {
            let message = "encode pods have `ec_role` `ec_consumer`";
            let finding = found.push(template.owner, &engine.path, message, "write `ec_producer`");
            finding.why("prefill pods get no embeddings", "vLLM, ECTransferConfig");
        }
    }
    for (prefill, decode) in view.pairs() {
        let (Some(one), Some(other)) = (&prefill.engine, &decode.engine) else { continue };
        let mut here = found.at(prefill.owner, &one.path).field(prefill.args_field());
        if has_none(one) && has_none(other) {
            let message = "neither prefill nor decode has a `--kv-transfer-config`";
            here.push(message, "set the same connector for both, for example NixlConnector");
        }
        let (Some(first), Some(second)) = (transfer(one), transfer(other)) else { continue };
        let (ours, theirs) = (connectors(&first), connectors(&second));
        let families = |all: &[Connector<'_>]| -> Option<BTreeSet<&'static str>> {
            all.iter().map(|(family, _)| Some(family.as_ref()?.0)).collect()
        };
        // With a connector that is not in the table, nothing can be said of its partner.
        let both = families(&ours).zip(families(&theirs));
        if both.is_some_and(|(one, other)| one.is_disjoint(&other)) {
            let [one, other] = [(&first, &ours), (&second, &theirs)].map(|(config, all)| {
                let name = text(config, "kv_connector");
                if all.is_empty() { "a MultiConnector without `connectors`" } else { name }
            });
            let message =
                format!("prefill transfers KV caches with {one}, but decode with {other}");
            here.push(message, "set the same `kv_connector` for both");
            continue;
        }

        let backends = |all: &[Connector<'_>]| {
            let (_, config) = all.iter().find(|one| is_nixl(one))?;
            let extra = config.get("kv_connector_extra_config").unwrap_or(&Json::Null);
            let said: BTreeSet<String> = strings(extra, "backends").map(str::to_owned).collect();
            Some(if said.is_empty() { BTreeSet::from(["UCX".to_owned()]) } else { said })
        };
        let both = backends(&ours).zip(backends(&theirs));
        if let Some((one, other)) = both.filter(|(one, other)| one.is_disjoint(other)) {
            let [one, other] = [one, other].map(|all| Vec::from_iter(all).join(", "));
            let message = format!("NIXL has the backend {one} for prefill, but {other} for decode");
            here.push(message, "use the same `backends` for both");
        }

        // vLLM before 0.12, NixlConnector: "Decode TP cannot be smaller than prefill TP".
        let is_old = VLLM.is_since(text(one.container, "image"), "0.12.0") == Some(false);
        let has_nixl = ours.iter().chain(&theirs).any(is_nixl);
        let [more, less] = [one, other].map(|engine| engine.number("tensor-parallel-size", 1));
        let tensor = more.zip(less).filter(|(more, less)| more > less && is_old && has_nixl);
        if let Some((more, less)) = tensor {
            let message = format!(
                "`--tensor-parallel-size` is {more} for prefill, but {less} for decode, which NIXL \
                 cannot transfer to in this release"
            );
            here.push(message, "use at least the same number for decode");
        }

        for (template, engine, all, role, wrong, right) in [
            (prefill, one, &ours, "prefill", "kv_consumer", "kv_producer"),
            (decode, other, &theirs, "decode", "kv_producer", "kv_consumer"),
        ] {
            let moves = |(one, _): &&Connector<'_>| one.is_some_and(|one| one.0 != "offloading");
            let moving = all.iter().filter(moves);
            for connector in moving.filter(|(_, config)| text(config, "kv_role") == wrong) {
                let message = format!("{role} pods have `kv_role` `{wrong}`");
                let hint = format!("write `{right}` or `kv_both`");
                let finding = found.push(template.owner, &engine.path, message, hint);
                finding.field(template.args_field());
                // NIXL transfers in both directions and does not look at the role.
                finding.lower_if(is_nixl(connector), Severity::Warning);
            }
        }
    }
}

/// Checks the disaggregation flags of SGLang.
fn sglang(prefill: &Template<'_>, decode: &Template<'_>, found: &mut Found) {
    let mut both = Vec::new();
    for (template, role) in [(prefill, "prefill"), (decode, "decode")] {
        let Some(engine) = known(template, Program::Sglang) else { return };
        if let Some(mode) = other_mode(&engine.flags, role) {
            let message = format!("{role} pods have `--disaggregation-mode` `{mode}`");
            let hint = format!("write `--disaggregation-mode={role}`");
            found.push(template.owner, &engine.path, message, hint).field(template.args_field());
        }
        both.push(engine);
    }

    let [engine, other] = both[..] else { return };
    let flag = "disaggregation-transfer-backend";
    let [one, other] = [engine, other].map(|one| one.flags.text_or(flag, "mooncake"));
    if let Some((one, other)) = differing(one, other) {
        let message = format!("`--{flag}` is `{one}` for prefill, but `{other}` for decode");
        let hint = "use the same value for both";
        found.push(prefill.owner, &engine.path, message, hint);
    }

    // The sidecar tells both engines the port of prefill (llm-d-router, connector_sglang.go).
    let (flag, name) = ("disaggregation-bootstrap-port", "SGLANG_BOOTSTRAP_PORT");
    let Some(sidecar) = &decode.sidecar else { return };
    let Some(asked) = variable_or(sidecar.container, name, "8998") else { return };
    let Some(port) = engine.flags.text_or(flag, "8998").filter(|port| *port != asked) else {
        return;
    };
    // Some servers answer on their own port.
    let own = engine.ports().unwrap_or_default();
    if engine.flags.has(flag) || !own.iter().any(|own| own.to_string() == asked) {
        let message = format!("sidecar uses bootstrap port {asked}, but prefill has {port}");
        let hint = format!("set `{name}` of the sidecar to `--{flag}` of prefill");
        found.push(decode.owner, &sidecar.path, message, hint).field("prefill");
    }
}

/// Returns the pods of routers, with the paths of their containers, and their flags.
pub(super) fn routers<'v, 'a>(
    view: &'v View<'a>,
) -> impl Iterator<Item = (&'v Template<'a>, String, Flags)> {
    view.containers().filter_map(|(template, container, path)| {
        let all = template.commands(container, &view.budget)?;
        let mut texts = all.iter().flatten().map(String::as_str).chain([text(container, "image")]);
        // Clients have its address.
        let is_router = |text: &str| NAMES.routers.iter().any(|name| text.contains(name));
        texts.find(|text| is_router(text) && !text.contains("://"))?;
        Some((template, path, Flags::parse(&all.concat())))
    })
}

/// Returns the port at which prefill pods of SGLang offer KV caches.
pub(super) fn bootstrap_port(engine: &Engine<'_>) -> Option<u32> {
    engine.number("disaggregation-bootstrap-port", 8_998)
}

/// Returns the mode of SGLang's disaggregation, if it is known not to be that of a role.
fn other_mode<'f>(flags: &'f Flags, role: &str) -> Option<&'f str> {
    flags.text_or("disaggregation-mode", "null").filter(|mode| *mode != role)
}

/// Checks that prefill and decode pods of SGLang fit together, and that its router selects them, and tells decode
/// pods the bootstrap ports of prefill pods.
pub(crate) fn router(view: &View<'_>, found: &mut Found) {
    for (prefill, decode) in view.pairs() {
        sglang(prefill, decode, found);
    }
    let annotation = "sglang.ai/bootstrap-port";
    for template in &view.templates {
        let Some(engine) = known(template, Program::Sglang) else { continue };
        let said = text(template.annotations, annotation).parse().ok();
        let said = said.filter(|_| other_mode(&engine.flags, "prefill").is_none());
        let Some((said, own)) = differing(said, bootstrap_port(engine)) else { continue };
        let message =
            format!("annotation `{annotation}` of {template} is {said}, but its port is {own}");
        let path = format!("{}.metadata.annotations", template.path);
        found.push(template.owner, path, message, format!("write `{annotation}: \"{own}\"`"));
    }

    for (template, path, flags) in routers(view) {
        let mut found = found.at(template.owner, path);
        selected(view, template, &flags, &mut found);
        for three in flags.raw.windows(3).filter(|three| three[0] == "--prefill") {
            let host = three[1].rsplit("://").next().and_then(|host| host.split(':').next());
            let names = names_in(host.unwrap_or_default(), template.manifest.namespace());
            let service =
                names.and_then(|(name, near)| view.all_named("Service", name, near).next());
            let both = service.zip(three[2].parse::<u32>().ok());
            let Some(((_, service), said)) = both else { continue };
            if is_closed(service, said) {
                let message =
                    format!("{service} has no port {said}, the bootstrap port of prefill");
                found.push(message, "add the port to the Service");
            }
            if service_port(service, said).is_some_and(is_moved) {
                continue;
            }
            let engines = view.behind(service).filter_map(|pods| known(pods, Program::Sglang));
            let mut ports = engines.filter_map(bootstrap_port);
            let Some(port) = ports.find(|port| *port != said) else { continue };
            let message =
                format!("router uses bootstrap port {said} of {service}, but prefill has {port}");
            found.push(message, "write the port of prefill");
        }
    }
}

/// The flag with the namespace in which SGLang's router looks for pods: in all without it.
const NAMESPACE: &str = "service-discovery-namespace";

/// Flags of routers with labels of pods, those of the namespace and its default, and the role of the pods: of
/// SGLang, and of the production stack (parsers of their arguments).
const SELECTORS: [(&str, &str, &str, Option<&str>); 6] = [
    ("prefill-model-labels", "k8s-namespace", "default", None),
    ("decode-model-labels", "k8s-namespace", "default", None),
    ("selector", NAMESPACE, "", None),
    ("k8s-label-selector", "k8s-namespace", "default", None),
    ("prefill-selector", NAMESPACE, "", Some("prefill")),
    ("decode-selector", NAMESPACE, "", Some("decode")),
];

/// Consequence of a router that finds no pods, and its source.
const NO_POD: (&str, &str) =
    ("requests get no pod", "discovery of pods by SGLang's and vLLM's routers");

/// Labels and the namespace of pods that a router selects: its flag, and their role.
type Selection<'f> = (&'static str, Vec<(&'f str, &'f str)>, &'f str, Option<&'static str>);

/// Returns the labels in the flags of a router.
fn selections(flags: &Flags) -> Vec<Selection<'_>> {
    let selection = |(flag, namespace, usual, role): (&'static str, _, &'static str, _)| {
        let is_end = |c: char| c == ',' && Option::is_none(&role);
        let labels = flags.all(flag).into_iter().flat_map(|all| all.split(is_end));
        let is_model = flag.ends_with("-model-labels");
        let labels = labels.map(|label| match is_model {
            true => Some(("model", label)),
            false => label.split_once('='),
        });
        let labels: Vec<_> = labels.collect::<Option<_>>()?;
        let namespace = flags.text_or(namespace, usual)?;
        (!labels.is_empty()).then_some((flag, labels, namespace, role))
    };
    SELECTORS.into_iter().filter_map(selection).collect()
}

/// Returns routers with the engines that they select.
pub(super) fn routed<'v, 'a>(view: &'v View<'a>) -> Vec<(&'v Template<'a>, &'v Template<'a>)> {
    let all = routers(view).flat_map(|(router, _, flags)| {
        let selected = selections(&flags).into_iter();
        let pods = selected.flat_map(|(_, labels, namespace, _)| view.labelled(labels, namespace));
        pods.map(|pods| (router, pods)).collect::<Vec<_>>()
    });
    all.filter(|(_, pods)| pods.engine.is_some()).collect()
}

/// Checks that a router selects pods, if there are engines in the namespace where it looks for them, and
/// for a role those that have it.
fn selected(view: &View<'_>, router: &Template<'_>, flags: &Flags, found: &mut Reporter<'_>) {
    let mut of_prefill = Vec::new();
    for (flag, labels, namespace, role) in selections(flags) {
        let mut pods = view.labelled(labels.iter().copied(), namespace);
        let Some(role) = role else {
            let is_open =
                |(key, value): &(&str, &str)| is_placeholder(key) || is_placeholder(value);
            let near = view.engines().find(|(pods, _)| pods.manifest.may_be_in(namespace));
            let own = router.manifest.namespace();
            let elsewhere = view.labelled(labels.iter().copied(), own);
            if let Some((near, _)) = near {
                if pods.is_empty() && !labels.iter().any(is_open) {
                    let message = format!("`--{flag}` of {router} selects no pods");
                    let hint = format!("write labels of pods, such as those of {near}");
                    found.push(message, hint).why(NO_POD.0, NO_POD.1);
                }
            } else if elsewhere.iter().any(|pods| pods.engine.is_some()) {
                let message = format!(
                    "{router} selects pods of namespace `{namespace}`, but they are in {own}"
                );
                let finding = found.push(message, format!("name the namespace {own}"));
                finding.why(NO_POD.0, NO_POD.1);
            }
            continue;
        };
        // Pods that both selectors select are for prefill (sglang_router, PodInfo::from_pod).
        pods.retain(|one| of_prefill.is_empty() || !one.has_labels(of_prefill.iter().copied()));
        of_prefill = labels;
        // One pod tells what is wrong.
        let mut modes = pods.iter().filter_map(|pods| {
            Some((pods, other_mode(&known(pods, Program::Sglang)?.flags, role)?))
        });
        let Some((pods, mode)) = modes.next() else { continue };
        let message = format!(
            "`--{flag}` of {router} selects {pods}, whose `--disaggregation-mode` is `{mode}`"
        );
        found.push(message, format!("select the labels of {role} pods"));
    }

    // vLLM production stack, parser of its arguments.
    for [flag, value, needed] in &NAMES.router_needs {
        if flags.text(flag) == Some(*value) && !flags.has(needed) && !flags.are_open() {
            let message = format!("`--{flag}={value}` of {router} needs `--{needed}`");
            let finding = found.push(message, format!("add `--{needed}`"));
            finding.why("the router fails to start", "vLLM production stack, parser");
        }
    }
    let logics =
        ["disaggregated_prefill", "kvaware", "prefixaware", "roundrobin", "session", "ttft"];
    let logic = flags.text("routing-logic").filter(|logic| !logics.contains(logic));
    if let Some((logic, near)) = logic.and_then(|one| Some((one, suggest::nearest(one, &logics)?)))
    {
        let message = format!("`--routing-logic` of {router} is `{logic}`");
        let finding = found.push(message, format!("did you mean `{near}`?"));
        finding.why("the router fails to start", "vLLM production stack, --routing-logic");
    }
}

/// Checks that the sidecar of decode pods speaks the protocol of their connector.
pub(crate) fn protocol(view: &View<'_>, found: &mut Found) {
    for (template, sidecar) in view.sidecars() {
        let Some(engine) = &template.engine else { continue };
        let flag = if sidecar.flags.has("kv-connector") { "kv-connector" } else { "connector" };
        // The sidecar's default (llm-d-router, pkg/sidecar/proxy/options.go).
        let Some(said) = sidecar.flags.text_or(flag, "nixlv2") else { continue };

        let Some(table) = engine.program.table() else { continue };
        let (name, is_sglang) = (table.name, engine.program == Program::Sglang);
        let usual = if is_sglang { "sglang" } else { "nixlv2" };
        let mut found = found.at(template.owner, &sidecar.path);
        if (said == "sglang") != is_sglang {
            let message = format!("sidecar has `--kv-connector={said}`, but the engine is {name}");
            found.push(message, format!("write `--kv-connector={usual}`"));
            continue;
        }
        let Some(config) = transfer(engine) else { continue };
        let all = connectors(&config);
        // A connector whose protocol the sidecar does not have may be used with another proxy.
        let protocols: Option<Vec<&str>> =
            all.iter().map(|(family, _)| family.as_ref()?.2).collect();
        let protocols = protocols.filter(|protocols| !protocols.contains(&said));
        let Some([right, ..]) = protocols.as_deref() else { continue };
        let own = text(&config, "kv_connector");
        let message = format!(
            "sidecar has `--kv-connector={said}`, but the engine transfers KV caches with {own}"
        );
        found.push(message, format!("write `--kv-connector={right}`"));
    }
}

/// Address of the NIXL side channel, and its default port.
const HOST: &str = "VLLM_NIXL_SIDE_CHANNEL_HOST";
const PORT: &str = "VLLM_NIXL_SIDE_CHANNEL_PORT";
const USUAL_PORT: &str = "5600";

/// Checks that decode pods reach the NIXL side channel of prefill pods.
pub(crate) fn side_channel(view: &View<'_>, found: &mut Found) {
    let is_nixl = |engine: &Engine<'_>| {
        transfer(engine).is_some_and(|config| connectors(&config).iter().any(is_nixl))
    };
    for (template, engine) in view.engines().filter(|(_, engine)| is_nixl(engine)) {
        taken_port(template, engine, found);
    }
    for (prefill, decode) in view.pairs() {
        for pods in [prefill, decode] {
            // AIBrix' router tells decode pods the address of the prefill pod.
            let is_told = pods.manifest.group() == "orchestration.aibrix.ai";
            let engine = pods.engine.as_ref().filter(|engine| !is_told && is_nixl(engine));
            engine.into_iter().for_each(|engine| host(pods, engine, found));
        }
        let engine = prefill.engine.as_ref().filter(|engine| is_nixl(engine));
        let Some(port) = engine.and_then(|engine| side_port(engine.container)) else { continue };
        // Decode pods connect to prefill pods.
        let [client, server] = [decode, prefill].map(End::of_pods);
        let what = "port PORT, the NIXL side channel of prefill";
        let finding = report(view, (&client, &server), &[port], what, found);
        finding.map(|finding| finding.code(Code::ServingTransfer));
    }
    shared_port(view, found);
}

fn host(template: &Template<'_>, engine: &Engine<'_>, found: &mut Found) {
    let has_gpus = matches!(accelerators(engine.container), Some(("nvidia.com/gpu", _)));
    if let Some(Variable::Text(said)) = variable(engine.container, "UCX_TLS")
        && has_gpus
        && !["all", "cuda", "^"].iter().any(|part| said.contains(part))
    {
        let message = format!("`UCX_TLS` is `{said}`, without memory of GPUs");
        let path = format!("{}.env", engine.path);
        let finding = found.push(template.owner, path, message, "add `cuda_copy` and `cuda_ipc`");
        finding.warning().why("KV caches are not transferred", "UCX docs, UCX_TLS");
    }
    let is_prefill = template.role() == Some("prefill");
    // In the host's network the pod has the address of its node.
    let own = if template.is_on_host() { "status.hostIP" } else { "status.podIP" };
    let what = match variable(engine.container, HOST) {
        // Decode pods connect to prefill pods.
        None if is_prefill => {
            "not set, so the NIXL side channel listens on localhost only".to_owned()
        }
        Some(Variable::Text(address))
            if matches!(address, "localhost" | "127.0.0.1" | "::1" | "0.0.0.0" | "::" | "") =>
        {
            format!("`{address}`, which other pods cannot connect to")
        }
        Some(Variable::Text(address)) if address.parse::<std::net::IpAddr>().is_ok() => {
            format!("`{address}` for all pods")
        }
        Some(Variable::Field("status.podIP" | "status.podIPs")) => return,
        Some(Variable::Field(field)) if field == own => return,
        Some(Variable::Field(field)) => format!("`{field}`, which is no address of the pod"),
        _ => return,
    };
    let path = format!("{}.env", engine.path);
    let hint = "set it from `fieldRef: {fieldPath: status.podIP}`";
    let finding = found.push(template.owner, path, format!("`{HOST}` is {what}"), hint);
    // Decode connects to prefill; the other way only with bidirectional transfer.
    finding.lower_if(!is_prefill, Severity::Warning);
}

/// Returns the port of the side channel; `None` if unknown.
fn side_port(container: &Json) -> Option<u32> {
    variable_or(container, PORT, USUAL_PORT)?.trim().parse().ok()
}

/// Checks that no server of a pod listens on the port of the side channel.
fn taken_port(template: &Template<'_>, engine: &Engine<'_>, found: &mut Found) {
    let Some(number) = side_port(engine.container) else { return };
    let mut open = engine.ports().unwrap_or_default();
    open.extend(template.sidecar.as_ref().and_then(Sidecar::ports).unwrap_or_default());
    open.extend(events_port(&engine.flags));
    if open.contains(&number) {
        let message = format!("the NIXL side channel and a server both listen on port {number}");
        let hint = format!("set `{PORT}` to another port");
        found.push(template.owner, format!("{}.env", engine.path), message, hint);
    }
}

/// Checks that instances of LMCache, of which each replica is one, have different names.
pub(crate) fn instances((_, template, engine): Context<'_>, found: &mut Reporter<'_>) {
    const NAME: &str = "LMCACHE_LMCACHE_INSTANCE_ID";
    let said = variable(engine.container, NAME);
    if let Some(Variable::Text(name)) = said.filter(|_| template.replicas > Some(1)) {
        let message = format!("`{NAME}` is `{name}` in all replicas");
        let hint = "set it from `fieldRef: {fieldPath: metadata.name}`";
        found.below(".env", message, hint).warning();
    }
}

/// Checks that several engines of a pod have different side channel ports: they share an address.
fn shared_port(view: &View<'_>, found: &mut Found) {
    let mut seen = BTreeSet::new();
    for (template, container, path) in view.containers() {
        let is_used = [HOST, PORT].iter().any(|name| variable(container, name).is_some());
        let Some(port) = side_port(container).filter(|_| is_used) else { continue };
        if !seen.insert((std::ptr::from_ref(template), port)) {
            let message =
                format!("two engines of a pod have their NIXL side channel on port {port}");
            let hint = format!("set `{PORT}` to another port in each container");
            found.push(template.owner, format!("{path}.env"), message, hint);
        }
    }
}
