//! Invariants of KV cache transfer between prefill and decode pods.

use super::super::invariants::Found;
use super::super::view::flags::Flags;
use super::super::view::pods::{
    Engine, Program, Template, Variable, all_containers, is_placeholder, list, text, variable,
};
use super::super::view::{Manifest, View, labels_at};
use super::selector::{Known, requirements};
use crate::diag::Severity;
use serde_json::Value as Json;
use std::collections::BTreeSet;

/// Families of connectors that move KV caches between pods, with the sidecar's name of the protocol.
/// Other connectors only store caches, or are custom.
const FAMILIES: &[(&str, &[&str], Option<&str>)] = &[
    ("NIXL", &["NixlConnector", "NixlPullConnector"], Some("nixlv2")),
    ("NIXL push", &["NixlPushConnector"], Some("nixlv2")),
    ("NCCL", &["P2pNcclConnector", "PyNcclConnector"], None),
    ("Mooncake", &["MooncakeConnector"], Some("mooncake")),
    ("MoRI-IO", &["MoRIIOConnector"], None),
    ("LMCache", &["LMCacheConnector", "LMCacheConnectorV1", "LMCacheMPConnector"], Some("lmcache")),
    ("shared storage", &["SharedStorageConnector", "ExampleConnector"], Some("shared-storage")),
    ("offloading", &["OffloadingConnector", "SimpleCPUOffloadConnector"], Some("offloading")),
];

/// A configured connector.
struct Connector<'c> {
    family: Option<&'static str>,
    protocol: Option<&'static str>,
    config: &'c Json,
}

/// The `--kv-transfer-config` of an engine.
enum Transfer {
    /// There is none.
    None,
    /// It is not known, or is no JSON map.
    Unknown,
    Config(Json),
}

fn transfer(engine: &Engine<'_>) -> Transfer {
    const FLAG: &str = "kv-transfer-config";
    let Some(flags) = engine.flags.as_ref().filter(|_| engine.program == Program::Vllm) else {
        return Transfer::Unknown;
    };
    if !flags.has(FLAG) {
        let elsewhere = flags.go_on_in_a_file() || flags.has_part_of(FLAG);
        return if elsewhere { Transfer::Unknown } else { Transfer::None };
    }
    flags.json(FLAG).filter(Json::is_object).map_or(Transfer::Unknown, Transfer::Config)
}

/// Returns the connectors of a configuration, those inside a MultiConnector one by one.
fn connectors(config: &Json) -> Vec<Connector<'_>> {
    let name = text(config, "kv_connector");
    if name == "MultiConnector" {
        let inner = config.pointer("/kv_connector_extra_config/connectors");
        return inner.and_then(Json::as_array).into_iter().flatten().flat_map(connectors).collect();
    }
    let family = FAMILIES.iter().find(|(_, names, _)| names.contains(&name));
    vec![Connector {
        family: family.map(|(family, _, _)| *family),
        protocol: family.and_then(|(_, _, protocol)| *protocol),
        config,
    }]
}

fn field_of(template: &Template<'_>) -> &'static str {
    if template.role() == Some("prefill") { "prefill.args" } else { "engine.args" }
}

/// Checks that prefill and decode have a connector, the same one, and roles that fit.
pub(crate) fn connector(view: &View<'_>, found: &mut Found) {
    for (prefill, decode) in view.pairs() {
        let (Some(one), Some(other)) = (&prefill.engine, &decode.engine) else { continue };
        sglang(prefill, decode, found);
        let path = prefill.path_of(one.container);

        let (first, second) = match (transfer(one), transfer(other)) {
            (Transfer::None, Transfer::None) => {
                let message = "neither prefill nor decode has a `--kv-transfer-config`";
                let hint = "set the same connector for both, for example NixlConnector";
                found.push(prefill.owner, path, message, hint).field = Some(field_of(prefill));
                continue;
            }
            (Transfer::Config(first), Transfer::Config(second)) => (first, second),
            _ => continue,
        };
        let (ours, theirs) = (connectors(&first), connectors(&second));
        let families = |all: &[Connector<'_>]| -> Option<BTreeSet<&'static str>> {
            all.iter().map(|connector| connector.family).collect()
        };
        if let (Some(one), Some(other)) = (families(&ours), families(&theirs))
            && one.is_disjoint(&other)
        {
            let message = format!(
                "prefill transfers KV caches with {}, but decode with {}",
                text(&first, "kv_connector"),
                text(&second, "kv_connector")
            );
            let hint = "set the same `kv_connector` for both";
            found.push(prefill.owner, &path, message, hint).field = Some(field_of(prefill));
            continue;
        }

        for (template, all, wrong, role) in
            [(prefill, &ours, "kv_consumer", "prefill"), (decode, &theirs, "kv_producer", "decode")]
        {
            let moves =
                all.iter().filter(|c| c.family.is_some_and(|family| family != "offloading"));
            for connector in moves.filter(|c| text(c.config, "kv_role") == wrong) {
                let Some(engine) = &template.engine else { continue };
                let message = format!("{role} pods have `kv_role` `{wrong}`");
                let right = if role == "prefill" { "kv_producer" } else { "kv_consumer" };
                let hint = format!("write `{right}` or `kv_both`");
                let path = template.path_of(engine.container);
                let finding = found.push(template.owner, path, message, hint);
                finding.field = Some(field_of(template));
                // NIXL transfers in both directions and does not look at the role.
                if connector.family.is_some_and(|family| family.starts_with("NIXL")) {
                    finding.severity = Some(Severity::Warning);
                }
            }
        }
    }
}

/// Checks the disaggregation flags of SGLang.
fn sglang(prefill: &Template<'_>, decode: &Template<'_>, found: &mut Found) {
    let mut known = Vec::new();
    for (template, role) in [(prefill, "prefill"), (decode, "decode")] {
        let Some(engine) = template.engine.as_ref().filter(|e| e.program == Program::Sglang) else {
            return;
        };
        let Some(flags) = engine.flags.as_ref().filter(|flags| !flags.go_on_in_a_file()) else {
            return;
        };
        let path = template.path_of(engine.container);
        let mode = flags.text("disaggregation-mode");
        if !flags.has("disaggregation-mode") || mode.is_some_and(|mode| mode != role) {
            let message =
                format!("{role} pods have `--disaggregation-mode` `{}`", mode.unwrap_or("null"));
            let hint = format!("write `--disaggregation-mode={role}`");
            found.push(template.owner, &path, message, hint).field = Some(field_of(template));
        }
        known.push((template, path, flags));
    }

    let [(prefill, path, first), (decode, _, second)] = known.as_slice() else { return };
    let said = |flags: &Flags, flag: &str, usual: &str| match flags.has(flag) {
        true => flags.text(flag).map(str::to_owned),
        false => Some(usual.to_owned()),
    };
    let flag = "disaggregation-transfer-backend";
    if let (Some(one), Some(other)) =
        (said(first, flag, "mooncake"), said(second, flag, "mooncake"))
        && one != other
    {
        let message = format!("`--{flag}` is `{one}` for prefill, but `{other}` for decode");
        let finding = found.push(prefill.owner, path, message, "use the same value for both");
        finding.field = Some("prefill.args");
    }

    // The sidecar tells both engines the port of prefill (llm-d-router, connector_sglang.go).
    let (flag, name) = ("disaggregation-bootstrap-port", "SGLANG_BOOTSTRAP_PORT");
    let Some(sidecar) = &decode.sidecar else { return };
    let asked = match variable(sidecar.container, name) {
        None => "8998",
        Some(Variable::Text(port)) => port,
        Some(_) => return,
    };
    let Some(port) = said(first, flag, "8998").filter(|port| port != asked) else { return };
    // Some servers answer on their own port.
    let own = prefill.engine.as_ref().and_then(Engine::ports).unwrap_or_default();
    if first.has(flag) || !own.iter().any(|own| own.to_string() == asked) {
        let message = format!("sidecar uses bootstrap port {asked}, but prefill has {port}");
        let hint = format!("set `{name}` of the sidecar to `--{flag}` of prefill");
        let path = decode.path_of(sidecar.container);
        found.push(decode.owner, path, message, hint).field = Some("prefill");
    }
}

/// Checks that the sidecar of decode pods speaks the protocol of their connector.
pub(crate) fn protocol(view: &View<'_>, found: &mut Found) {
    for template in &view.templates {
        let (Some(sidecar), Some(engine)) = (&template.sidecar, &template.engine) else { continue };
        let flag = if sidecar.flags.has("kv-connector") { "kv-connector" } else { "connector" };
        let said = match (sidecar.flags.has(flag), sidecar.flags.text(flag)) {
            (true, None) => continue,
            (true, Some(said)) => said,
            (false, _) => "nixlv2",
        };

        let path = template.path_of(sidecar.container);
        let wants_sglang = said == "sglang";
        let is_sglang = engine.program == Program::Sglang;
        let mut report = |message: String, hint: String| {
            found.push(template.owner, &path, message, hint).field = Some("prefill");
        };
        match engine.program {
            Program::Vllm | Program::Sglang if wants_sglang != is_sglang => {
                let name = if is_sglang { "SGLang" } else { "vLLM" };
                let message =
                    format!("sidecar has `--kv-connector={said}`, but the engine is {name}");
                let right = if is_sglang { "sglang" } else { "nixlv2" };
                report(message, format!("write `--kv-connector={right}`"));
            }
            Program::Vllm => {
                let Transfer::Config(config) = transfer(engine) else { continue };
                let all = connectors(&config);
                let protocols: Option<Vec<&str>> = all.iter().map(|c| c.protocol).collect();
                let Some(protocols) = protocols.filter(|protocols| !protocols.is_empty()) else {
                    continue;
                };
                if !protocols.contains(&said) {
                    let message = format!(
                        "sidecar has `--kv-connector={said}`, but the engine transfers KV caches \
                         with {}",
                        text(&config, "kv_connector")
                    );
                    report(message, format!("write `--kv-connector={}`", protocols[0]));
                }
            }
            _ => {}
        }
    }
}

/// Address of the NIXL side channel, and its default port.
const HOST: &str = "VLLM_NIXL_SIDE_CHANNEL_HOST";
const PORT: &str = "VLLM_NIXL_SIDE_CHANNEL_PORT";
const USUAL_PORT: u32 = 5_600;

/// Checks that decode pods reach the NIXL side channel of prefill pods.
pub(crate) fn side_channel(view: &View<'_>, found: &mut Found) {
    for (prefill, decode) in view.pairs() {
        for template in [prefill, decode] {
            let Some(engine) = &template.engine else { continue };
            let Transfer::Config(config) = transfer(engine) else { continue };
            let is_nixl = |c: &Connector<'_>| c.family.is_some_and(|f| f.starts_with("NIXL"));
            if connectors(&config).iter().any(is_nixl) {
                // AIBrix' router tells decode pods the address of the prefill pod.
                if view.manifests[template.owner].group() != "orchestration.aibrix.ai" {
                    host(template, engine, found);
                }
                port(view, template, engine, found);
            }
        }
    }
    shared_port(view, found);
}

fn host(template: &Template<'_>, engine: &Engine<'_>, found: &mut Found) {
    let path = format!("{}.env", template.path_of(engine.container));
    let on_host = template.spec.get("hostNetwork").and_then(Json::as_bool) == Some(true);
    let message = match variable(engine.container, HOST) {
        // Decode pods connect to prefill pods.
        None if template.role() == Some("prefill") => {
            format!("`{HOST}` is not set, so the NIXL side channel listens on localhost only")
        }
        Some(Variable::Text(address))
            if matches!(address, "localhost" | "127.0.0.1" | "::1" | "0.0.0.0" | "::" | "") =>
        {
            format!("`{HOST}` is `{address}`, which other pods cannot connect to")
        }
        Some(Variable::Text(address)) if address.parse::<std::net::IpAddr>().is_ok() => {
            format!("`{HOST}` is `{address}` for all pods")
        }
        Some(Variable::Field("status.podIP" | "status.podIPs")) => return,
        Some(Variable::Field("status.hostIP")) if on_host => return,
        Some(Variable::Field(field)) => {
            format!("`{HOST}` is `{field}`, which is no address of the pod")
        }
        _ => return,
    };
    let hint = "set it from `fieldRef: {fieldPath: status.podIP}`";
    let finding = found.push(template.owner, path, message, hint);
    finding.field = Some("engine.env");
    // Decode connects to prefill; the other way only with bidirectional transfer.
    if template.role() != Some("prefill") {
        finding.severity = Some(Severity::Warning);
    }
}

fn port(view: &View<'_>, template: &Template<'_>, engine: &Engine<'_>, found: &mut Found) {
    let path = format!("{}.env", template.path_of(engine.container));
    let number = match variable(engine.container, PORT) {
        None => USUAL_PORT,
        Some(Variable::Text(value)) => match value.trim().parse() {
            Ok(number) => number,
            Err(_) => return,
        },
        Some(_) => return,
    };

    let mut open = engine.ports().unwrap_or_default();
    open.extend(template.sidecar.as_ref().and_then(|sidecar| sidecar.ports()).unwrap_or_default());
    if open.contains(&number) {
        let message = format!("the NIXL side channel and a server both listen on port {number}");
        found.push(template.owner, path, message, format!("set `{PORT}` to another port")).field =
            Some("engine.env");
    }

    // Decode pods connect to prefill pods.
    if template.role() == Some("prefill")
        && let Some((owner, label)) = blocking_policy(
            view,
            &view.manifests[template.owner],
            &template.labels,
            template.spec,
            number,
        )
    {
        let message =
            format!("{label} does not allow port {number}, the NIXL side channel of prefill");
        let hint = "add the port to the `ingress` rule for the pods of the pool";
        found.push(owner, ".spec.ingress", message, hint).field = Some("network-policy");
    }
}

/// Checks that NetworkPolicies allow requests to the ports of a pool's pods, and of its picker.
pub(crate) fn policies(view: &View<'_>, found: &mut Found) {
    let mut check = |owner: &Manifest, labels: &Known<'_>, spec: &Json, ports: Vec<u32>| {
        for port in ports {
            if let Some((policy, label)) = blocking_policy(view, owner, labels, spec, port) {
                let message = format!("{label} does not allow port {port} of {}", owner.label());
                let hint = "add the port to an `ingress` rule";
                found.push(policy, ".spec.ingress", message, hint);
            }
        }
    };
    for (_, pool) in view.pools() {
        let ports = super::pool::ports(pool);
        for template in view.selected(pool) {
            let owner = &view.manifests[template.owner];
            check(owner, &template.labels, template.spec, ports.clone());
        }
    }
    for picker in &view.pickers {
        let owner = &view.manifests[picker.owner];
        let labels = labels_at(&owner.json, "/spec/template/metadata/labels").collect();
        let spec = owner.json.pointer("/spec/template/spec").unwrap_or(&Json::Null);
        check(owner, &labels, spec, picker.flags.number("grpc-port", 9_002).into_iter().collect());
    }
}

/// Returns a NetworkPolicy that selects these pods, if none of their policies allows a port.
fn blocking_policy(
    view: &View<'_>,
    owner: &Manifest,
    labels: &Known<'_>,
    spec: &Json,
    wanted: u32,
) -> Option<(usize, String)> {
    let mut blocking = None;

    // Policies add up: one that allows the port is enough.
    for (index, policy) in view.of_kind("NetworkPolicy") {
        let Some(rules) = policy.json.get("spec") else { continue };
        let selects = requirements(rules.get("podSelector")).iter().all(|one| one.fits(labels));
        let types = list(rules, "policyTypes");
        let is_ingress = types.is_empty() || types.iter().any(|kind| kind == "Ingress");
        if !selects || !is_ingress || !policy.may_share_namespace(owner) {
            continue;
        }

        let allows = list(rules, "ingress").iter().any(|rule| {
            let ports = list(rule, "ports");
            ports.is_empty() || ports.iter().any(|port| is_port(spec, port, wanted))
        });
        if allows {
            return None;
        }
        blocking = Some((index, policy.label()));
    }
    blocking
}

fn is_port(spec: &Json, rule: &Json, wanted: u32) -> bool {
    match rule.get("port") {
        None => true,
        Some(Json::String(name)) => all_containers(spec, "").iter().any(|(container, _)| {
            list(container, "ports").iter().any(|port| {
                text(port, "name") == name
                    && port.get("containerPort").and_then(Json::as_u64) == Some(u64::from(wanted))
            })
        }),
        Some(port) => {
            let first = port.as_u64().unwrap_or_default();
            let last = rule.get("endPort").and_then(Json::as_u64).unwrap_or(first);
            (first..=last).contains(&u64::from(wanted))
        }
    }
}

/// Checks that several engines of a pod have different side channel ports: they share an address.
fn shared_port(view: &View<'_>, found: &mut Found) {
    for template in &view.templates {
        let mut seen: BTreeSet<String> = BTreeSet::new();
        for (container, path) in template.containers() {
            let port = match (variable(container, HOST), variable(container, PORT)) {
                (None, None) => continue,
                (_, None) => USUAL_PORT.to_string(),
                (_, Some(Variable::Text(port))) => port.to_owned(),
                (_, Some(_)) => continue,
            };
            if is_placeholder(&port) || seen.insert(port.clone()) {
                continue;
            }
            let message =
                format!("two engines of a pod have their NIXL side channel on port {port}");
            let hint = format!("set `{PORT}` to another port in each container");
            found.push(template.owner, format!("{path}.env"), message, hint).field =
                Some("engine.env");
        }
    }
}
