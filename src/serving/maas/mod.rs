//! Models as a service: objects that register a model, and those of the platform.
//!
//! In come a model's `maas` and a chart's `[chart.maas]`; out go their objects, and [`additions`] to the
//! documents of the chart. The names that
//! MaaS' controller looks up are in `config/serving/maas`.

use super::*;
use askama::Template;
use bundle2chart_compile::chart::Additions;
use bundle2chart_compile::documents::filters;
use bundle2chart_compile::models::Namespaces;
use config::serving::maas::{
    DATABASE, DATABASE_NAME, DATABASE_PASSWORD, DATABASE_SECRET, DATABASE_URL, MaasModel,
    MaasPlatform, MaasRelease, TENANT, TENANT_NAMESPACE,
};
use ir::Origin;

/// Namespace of AITenants, a default of the controller. The default one has the name of the namespace of its
/// settings.
const AI_TENANTS: &str = "ai-tenants";

/// Returns the objects of `[chart.maas]`. `namespace` returns the expression for a namespace that is
/// the release's, or a value of the chart.
pub fn platform(platform: &MaasPlatform, namespace: &Namespaces<'_>) -> Vec<Object> {
    let place = |name: &str| namespace(name).map_or_else(|| Value::text(name), Value::from);
    let mut objects = Vec::new();
    if let Some(gateway) = &platform.gateway {
        let holes = map! {
            "name": &gateway.name,
            "place": place(&gateway.namespace),
            "issuer": ?&gateway.cluster_issuer,
            "class": &gateway.class,
            "hostname": &gateway.hostname,
            "secret": &gateway.tls_secret,
            "namespaces": Value::texts(&gateway.namespaces),
        };
        objects.extend(build::objects(include_str!("../objects/maas_gateway.yaml"), &holes));
    }

    if let Some(database) = &platform.database
        && let Some(embedded) = &database.embedded
    {
        let holes = map! {
            "name": DATABASE,
            "place": place(&database.namespace),
            "storage": &embedded.storage,
            "image": &embedded.image,
            "user": DATABASE_NAME,
            "secret": DATABASE_SECRET,
            "password": DATABASE_PASSWORD,
        };
        objects.extend(build::objects(include_str!("../objects/maas_database.yaml"), &holes));
    }

    if let Some(tenant) = &platform.tenant {
        let text = match platform.release {
            MaasRelease::V3_4 => include_str!("../objects/maas_tenant_3_4.yaml"),
            MaasRelease::V3_5 => include_str!("../objects/maas_tenant_3_5.yaml"),
        };
        let holes = map! {
            "name": TENANT,
            "place": place(&tenant.namespace),
            "default": TENANT_NAMESPACE,
            "tenants": place(AI_TENANTS),
            "keys": ?tenant.max_key_days.map(|days| json!({"maxExpirationDays": days})),
            "gateway": &tenant.gateway,
            "gateway_namespace": &tenant.gateway_namespace,
        };
        objects.extend(build::objects(text, &holes));
    }
    objects.iter_mut().for_each(|object| object.origin = Origin::Added("maas"));
    objects
}

/// Returns the objects that register a model: MaaSModelRef, MaaSAuthPolicy and MaaSSubscriptions.
pub(super) fn objects(config: &ServingConfig, maas: &MaasModel) -> Vec<Object> {
    let tenant = &maas.tenant_namespace;
    let holes = map! {"tenant": tenant, "groups": group_references(&maas.groups())};
    let mut objects = of_model(include_str!("../objects/maas_model.yaml"), config, holes);
    for subscription in &maas.subscriptions {
        let limits = subscription.token_limits.iter();
        let limits = limits.map(|limit| json!({"limit": limit.limit, "window": limit.window}));
        let holes = map! {
            "name": &subscription.name,
            "tenant": tenant,
            "groups": group_references(&subscription.groups),
            "priority": subscription.priority,
            "limits": limits.collect::<Json>(),
        };
        objects.extend(of_model(include_str!("../objects/maas_subscription.yaml"), config, holes));
    }
    objects
}

fn group_references<S: AsRef<str>>(groups: &[S]) -> Json {
    groups.iter().map(|group| json!({"name": group.as_ref()})).collect()
}

/// Returns the text of `[chart.maas]` in README.md and NOTES.txt of its chart: the Secrets that the cluster must
/// have.
pub fn additions(platform: &MaasPlatform) -> Additions {
    Additions { readme: Readme { platform }.to_string(), notes: Notes { platform }.to_string() }
}

#[derive(Template)]
#[template(path = "maas/documents/platform.md")]
struct Readme<'a> {
    platform: &'a MaasPlatform,
}

#[derive(Template)]
#[template(path = "maas/documents/platform.txt", syntax = "notes")]
struct Notes<'a> {
    platform: &'a MaasPlatform,
}
