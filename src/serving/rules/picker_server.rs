//! Invariants of the servers of endpoint pickers: their ports, TLS, files and pools.

use super::super::invariants::Found;
use super::super::view::config_map::{self, File};
use super::super::view::pods::{is_placeholder, list, text};
use super::super::view::{Manifest, Picker, View};
use super::picker::{behind, service_of};
use serde_json::Value as Json;
use std::collections::BTreeSet;

const ARGS: &str = ".spec.template.spec.containers[0].args";

/// Checks flags of pickers against each other, and against volumes, Services and gateways.
pub(crate) fn server(view: &View<'_>, found: &mut Found) {
    let pools = view.pools().filter_map(|(_, pool)| service_of(view, pool));
    let referenced = pools.flat_map(|(_, service)| behind(view, service));
    let referenced: BTreeSet<usize> = referenced.map(|picker| picker.owner).collect();
    for picker in &view.pickers {
        ports(view, picker, found);
        files(view, picker, found);
        tls(view, picker, found);
        pool(view, picker, &referenced, found);
    }
}

/// Checks that the servers of a picker have different ports, and that Services target them.
fn ports(view: &View<'_>, picker: &Picker<'_>, found: &mut Found) {
    let owner = &view.manifests[picker.owner];
    let servers = [("grpc-port", 9_002), ("grpc-health-port", 9_003), ("metrics-port", 9_090)];
    let known: Vec<(&str, u32)> = servers
        .iter()
        .filter_map(|(flag, usual)| Some((*flag, picker.flags.number(flag, *usual)?)))
        .collect();
    for (index, (flag, port)) in known.iter().enumerate() {
        // The health service may share the port of the picker.
        let is_shared = |other: &&&(&str, u32)| {
            other.1 == *port && !(flag.starts_with("grpc") && other.0.starts_with("grpc"))
        };
        if let Some((other, _)) = known[..index].iter().find(|other| is_shared(&other)) {
            let message = format!("{} has `--{other}` and `--{flag}` {port}", owner.label());
            found.push(picker.owner, ARGS, message, "use different ports");
        }
    }

    let Some((_, metrics)) = known.iter().find(|(flag, _)| *flag == "metrics-port") else { return };
    let template = owner.json.pointer("/spec/template/metadata/labels");
    for (index, service) in view.services_selecting(template, owner) {
        let Some(spec) = service.json.get("spec") else { continue };
        for (at, port) in list(spec, "ports").iter().enumerate() {
            if !text(port, "name").contains("metrics") {
                continue;
            }
            let target = match port.get("targetPort") {
                None => port.get("port").and_then(Json::as_u64),
                Some(Json::String(name)) => list(picker.container, "ports")
                    .iter()
                    .find(|declared| text(declared, "name") == name)
                    .and_then(|declared| declared.get("containerPort")?.as_u64()),
                Some(number) => number.as_u64(),
            };
            if target.is_some_and(|target| target != u64::from(*metrics)) {
                let message = format!(
                    "{} targets port {} of {}, which serves metrics on {metrics}",
                    service.label(),
                    target.unwrap_or_default(),
                    owner.label()
                );
                let hint = "set `targetPort` of the Service, or `--metrics-port`";
                found.push(index, format!(".spec.ports[{at}]"), message, hint);
            }
        }
    }
}

/// Checks that the files of a picker are on a volume: its image has none.
fn files(view: &View<'_>, picker: &Picker<'_>, found: &mut Found) {
    let owner = &view.manifests[picker.owner];
    let Some(spec) = owner.json.pointer("/spec/template/spec") else { return };
    let image = text(picker.container, "image");
    let official = ["llm-d/", "gateway-api-inference-extension/"].iter().any(|p| image.contains(p));

    // Other images may contain the files.
    for flag in ["config-file", "cert-path", "metrics-cert-dir", "metrics-client-ca-file"] {
        let Some(path) = picker.flags.text(flag).filter(|path| !is_placeholder(path)) else {
            continue;
        };
        let file = config_map::file(&view.index, owner, spec, picker.container, path);
        let is_absent = path.is_empty() || matches!(file, File::NotMounted);
        if official && is_absent {
            let message =
                format!("`--{flag}` of {} is {path}, where no volume is mounted", owner.label());
            let hint = "mount the ConfigMap or Secret with the file there";
            found.push(picker.owner, ARGS, message, hint);
        }
    }

    if picker.flags.is_on("enable-cert-reload")
        && !picker.flags.has("cert-path")
        && picker.flags.text("enable-cert-reload") != Some("false")
    {
        let message = format!("{} has `--enable-cert-reload` without `--cert-path`", owner.label());
        found.push(picker.owner, ARGS, message, "add `--cert-path`, or remove the flag").severity =
            Some(crate::diag::Severity::Warning);
    }
}

/// Checks that gateways and the picker agree on TLS.
fn tls(view: &View<'_>, picker: &Picker<'_>, found: &mut Found) {
    if picker.flags.is_on_or("secure-serving", true) {
        return;
    }
    let owner = &view.manifests[picker.owner];
    let template = owner.json.pointer("/spec/template/metadata/labels");

    for (_, service) in view.services_selecting(template, owner) {
        for (_, rule) in view.of_kind("DestinationRule") {
            let Some(spec) = rule.json.get("spec") else { continue };
            let host = text(spec, "host").split('.').next().unwrap_or_default();
            let mode = spec.pointer("/trafficPolicy/tls/mode").and_then(Json::as_str);
            if host == service.name() && matches!(mode, Some("SIMPLE" | "MUTUAL")) {
                let message = format!(
                    "{} has `--secure-serving=false`, but {} connects to it with TLS",
                    owner.label(),
                    rule.label()
                );
                let hint = "remove `--secure-serving=false`, or the TLS settings of the rule";
                found.push(picker.owner, ARGS, message, hint);
            }
        }
    }
}

/// Checks that the pool of a picker is in the manifests, if any pool is.
fn pool(view: &View<'_>, picker: &Picker<'_>, referenced: &BTreeSet<usize>, found: &mut Found) {
    let owner = &view.manifests[picker.owner];
    let said = |flag: &str| picker.flags.text(flag).filter(|value| !is_placeholder(value));
    // The pool that references it is checked with it.
    if let Some(name) = said("pool-name")
        && !referenced.contains(&picker.owner)
        && view.named("InferencePool", name, owner).is_none()
        && let pools =
            view.pools().map(|(_, pool)| pool).filter(|pool| pool.may_share_namespace(owner))
        && let pools = pools.map(Manifest::name).collect::<Vec<&str>>()
        && !pools.is_empty()
        && !pools.iter().any(|pool| is_placeholder(pool))
    {
        let message = format!("{} has `--pool-name={name}`, which does not exist", owner.label());
        let hint = crate::diag::suggest::hint(name, &pools, "pools");
        found.push(picker.owner, ARGS, message, hint);
    }
    if let (Some(namespace), own) = (said("pool-namespace"), owner.namespace())
        && !own.is_empty()
        && namespace != own
        && view.pools().all(|(_, pool)| pool.namespace() != namespace)
        && view.pools().next().is_some()
    {
        let message =
            format!("{} has `--pool-namespace={namespace}`, but is in {own}", owner.label());
        found.push(picker.owner, ARGS, message, format!("write `--pool-namespace={own}`"));
    }
}
