//! References between the tables of models as a service: Gateways, namespaces, tenants.
//!
//! The controller looks objects up by name and waits without an error for those that never come, so
//! every name that two tables share is checked here.

use super::*;
use crate::read::Tables;

/// The platform tables of the configuration, each with the name of its chart.
#[derive(Default)]
struct Platform {
    gateways: Vec<(String, MaasGateway)>,
    tenants: Vec<(String, MaasTenant)>,
    is_there: bool,
}

/// Resolves the references of all platforms and models, and reports those that lead nowhere. Models
/// depend on the charts with their Gateway and tenant from then on.
pub(crate) fn resolve(reader: &mut Reader<'_>, tables: &mut Tables) {
    let mut platform = Platform::default();
    let all = tables.bundles.iter_mut().filter_map(platform_of);
    let databases = all.filter_map(|maas| Some(maas.database.as_ref()?.namespace.clone()));
    let databases: Vec<String> = databases.collect();
    for bundle in &mut tables.bundles {
        let name = bundle.name.clone();
        let Some(maas) = platform_of(bundle) else { continue };
        platform.is_there = true;
        if let Some(gateway) = &mut maas.gateway {
            // The namespace of the database is that of MaaS' API server, which the Gateway must
            // allow, too.
            gateway.namespaces.extend(databases.iter().cloned());
            // The order of tables in bundles.toml must not change the Gateway.
            gateway.namespaces.sort_unstable();
            gateway.namespaces.dedup();
            platform.gateways.push((name.clone(), gateway.clone()));
        }
        platform.tenants.extend(maas.tenant.clone().map(|tenant| (name, tenant)));
    }
    duplicates(reader, &platform);
    let all = tables.bundles.iter_mut().filter_map(platform_of);
    for tenant in all.filter_map(|maas| maas.tenant.as_mut()) {
        let wanted = Some(tenant.gateway.as_str()).filter(|name| !name.is_empty());
        if let Some((_, found)) = gateway(reader, &platform, wanted, &tenant.span) {
            tenant.gateway = found.name.clone();
            tenant.gateway_namespace = found.namespace.clone();
        }
    }

    for index in 0..tables.servings.len() {
        // Names are compared with earlier models only, so that each pair is reported once.
        let (before, rest) = tables.servings.split_at_mut(index);
        let Some(serving) = rest.first_mut() else { break };
        same_name(reader, serving, before);
        let needed = model(reader, serving, &platform);
        // In the draft, too, in which `check::dependencies` looks for circles.
        let draft = tables
            .drafts
            .iter_mut()
            .find(|draft| draft.name.as_ref().is_some_and(|name| name.text == serving.name));
        let Some(draft) = draft else { continue };
        for name in needed {
            if !serving.depends_on.contains(&name) {
                let span = serving.place("maas").clone();
                draft.depends_on.push(Text { text: name.clone(), span });
                serving.depends_on.push(name);
            }
        }
    }
}

fn platform_of(bundle: &mut BundleConfig) -> Option<&mut MaasPlatform> {
    match &mut bundle.source {
        Source::Manifests(manifests) => manifests.maas.as_mut(),
        _ => None,
    }
}

/// Reports Gateways and tenants that two charts create.
fn duplicates(reader: &mut Reader<'_>, platform: &Platform) {
    let gateways = platform.gateways.iter().map(|(_, gateway)| gateway).collect();
    let describe = |gateway: &&MaasGateway| {
        let message = format!("two charts have a Gateway `{}` for models", gateway.name);
        (message, "rename one of them")
    };
    reader.unique(Code::DuplicateName, gateways, |one| one.name.clone(), |one| &one.span, describe);

    let tenants = platform.tenants.iter().map(|(_, tenant)| &tenant.span).collect();
    let describe = |_: &&Span| {
        let message = "two charts have a tenant, but the controller has one";
        (message.to_owned(), "remove one of them")
    };
    reader.unique(Code::DuplicateName, tenants, |_| (), |span| span, describe);
}

/// Returns the Gateway of this name, or the only one; reports an error at `span` without it.
fn gateway<'p>(
    reader: &mut Reader<'_>,
    platform: &'p Platform,
    wanted: Option<&str>,
    span: &Span,
) -> Option<&'p (String, MaasGateway)> {
    let names: Vec<&str> =
        platform.gateways.iter().map(|(_, gateway)| gateway.name.as_str()).collect();
    let is_meant = |name: &str| wanted.map_or(names.len() == 1, |wanted| name == wanted);
    let found = platform.gateways.iter().find(|(_, gateway)| is_meant(&gateway.name));
    if found.is_none() {
        let (message, hint) = match (wanted, names.is_empty()) {
            (_, true) => (
                "no chart has a Gateway for models".to_owned(),
                "add `[chart.maas.gateway]` to a `[[chart]]`".to_owned(),
            ),
            (Some(wanted), false) => (
                format!("no `[chart.maas.gateway]` has the name `{wanted}`"),
                suggest::hint(wanted, &names, "Gateways"),
            ),
            (None, false) => (
                format!("`gateway` is missing: the configuration has {} Gateways", names.len()),
                format!("set `gateway` to one of {}", suggest::list(&names)),
            ),
        };
        reader.found.error(Code::MaasReference, span, message, hint);
    }

    found
}

/// Checks a model against the platform, and returns the charts that it needs.
fn model(reader: &mut Reader<'_>, serving: &mut ServingConfig, platform: &Platform) -> Vec<String> {
    // A copy: the reference to the table would keep the model from being changed.
    let Some(mut maas) = serving.maas.clone() else { return Vec::new() };
    if !serving.kserve {
        let message = "`maas` requires `form = \"kserve\"`";
        let hint = "set `form = \"kserve\"`: a MaaSModelRef names an LLMInferenceService";
        reader.found.error(Code::MaasReference, serving.place("maas"), message, hint);
    }
    // The platform may be in another repository. Then the route names its Gateway.
    if !platform.is_there {
        if serving.route.is_none() {
            let message = "the model has no Gateway";
            let hint = "add `[chart.maas.gateway]` to a `[[chart]]`; or, if the Gateway is not part \
                of this configuration, `route = { gateway = \"…\", gateway-namespace = \"…\" }`";
            reader.found.error(Code::MaasReference, serving.place("maas"), message, hint);
        }
        return Vec::new();
    }

    let wanted = maas.gateway.clone();
    let span = serving.place("maas.gateway").clone();
    let Some((chart, gateway)) = gateway(reader, platform, wanted.as_deref(), &span) else {
        return Vec::new();
    };
    if !gateway.namespaces.contains(&serving.namespace) {
        let message = format!(
            "the Gateway `{}` does not allow routes of namespace `{}`",
            gateway.name, serving.namespace
        );
        let spans = (serving.place("namespace"), &gateway.span);
        let hint = "add it to `namespaces` of the Gateway, or move the model";
        reader.twice(Code::MaasReference, spans, message, "the Gateway", hint);
    }
    route(reader, serving, gateway);

    let mut needed = vec![chart.clone()];
    maas.hostname = Some(gateway.hostname.clone());
    if let Some((chart, tenant)) = platform.tenants.first() {
        maas.tenant_namespace = tenant.namespace.clone();
        if tenant.gateway != gateway.name && !tenant.gateway.is_empty() {
            let message = format!(
                "the model is on the Gateway `{}`, but its tenant on `{}`",
                gateway.name, tenant.gateway
            );
            let hint = "use the Gateway of the tenant: the controller ignores models on others";
            let spans = (&span, &tenant.span);
            reader.twice(Code::MaasReference, spans, message, "the tenant", hint);
        }
        if !needed.contains(chart) {
            needed.push(chart.clone());
        }
    }
    serving.maas = Some(maas);
    needed
}

/// Sets the route to the Gateway; reports a route to another one.
fn route(reader: &mut Reader<'_>, serving: &mut ServingConfig, gateway: &MaasGateway) {
    let Some(route) = &serving.route else {
        serving.route = Some(RouteConfig {
            gateway: gateway.name.clone(),
            gateway_namespace: Some(gateway.namespace.clone()),
            paths: vec!["/".to_owned()],
            ..RouteConfig::default()
        });
        return;
    };

    let namespace = route.gateway_namespace.as_ref().unwrap_or(&serving.namespace);
    if route.gateway != gateway.name || *namespace != gateway.namespace {
        let message = format!(
            "the route is on the Gateway `{}` in namespace `{namespace}`, but `maas` on `{}` in `{}`",
            route.gateway, gateway.name, gateway.namespace
        );
        let hint = "remove `route`: `maas` sets the Gateway";
        reader.found.error(Code::MaasReference, serving.place("route.gateway"), message, hint);
    }
}

/// Reports two governed models with one name in a namespace: requests name the model, so they
/// would reach only one of them.
fn same_name(reader: &mut Reader<'_>, serving: &ServingConfig, before: &[ServingConfig]) {
    let same = before.iter().filter(|_| serving.maas.is_some()).find(|other| {
        other.maas.is_some()
            && other.namespace == serving.namespace
            && other.served_name == serving.served_name
    });
    let Some(other) = same else { return };
    let message = format!(
        "the models `{}` and `{}` are both called `{}` in namespace `{}`",
        other.name, serving.name, serving.served_name, serving.namespace
    );
    let spans = (serving.place("served-name"), other.place("served-name"));
    let hint = "set `served-name`: requests select the model by it";
    reader.twice(Code::MaasReference, spans, message, "the other model", hint);
}
