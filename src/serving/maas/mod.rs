//! Models as a service: objects that register a model, and those of the platform.
//!
//! In come a model's `maas` and a chart's `[chart.maas]`; out go their objects, and [`additions`] to the
//! documents of the chart. The names that
//! MaaS' controller looks up are in `config/serving/maas`.

mod additions;
mod model;

use super::build;
use crate::config::serving::maas::{
    DATABASE, DATABASE_NAME, DATABASE_PASSWORD, DATABASE_SECRET, MaasPlatform, MaasRelease, TENANT,
    TENANT_NAMESPACE,
};
use crate::ir::{Object, Origin, Value, map};
use bundle2chart_compile::models::Namespaces;
use serde_json::json;

pub use additions::additions;
pub(super) use model::objects;

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
