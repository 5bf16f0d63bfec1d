//! The tenant.

use super::API;
use crate::config::serving::maas::{MaasRelease, MaasTenant, TENANT, TENANT_NAMESPACE};
use crate::ir::Object;
use serde_json::{Value as Json, json};

/// Namespace of AITenants, and the name of the default one: defaults of the controller.
const AI_TENANTS: &str = "ai-tenants";
const AI_TENANT: &str = TENANT_NAMESPACE;

/// Returns a Tenant, or from release 3.5 on the AITenant with the Gateway and the MaasTenantConfig
/// with the other settings.
pub(super) fn objects(tenant: &MaasTenant, release: MaasRelease) -> Vec<Object> {
    let mut settings = json!({});
    if let Some(days) = tenant.max_key_days {
        settings["apiKeys"] = json!({"maxExpirationDays": days});
    }
    let part = |kind, name: &str, namespace: &str, spec: Json| {
        super::object((API, kind), name, namespace, spec)
    };

    match release {
        MaasRelease::V3_4 => {
            let gateway = json!({"name": tenant.gateway, "namespace": tenant.gateway_namespace});
            settings["gatewayRef"] = gateway;
            vec![part("Tenant", TENANT, &tenant.namespace, settings)]
        }
        MaasRelease::V3_5 => {
            let gateway = json!({"gateway": {"name": tenant.gateway}});
            vec![
                part("AITenant", AI_TENANT, AI_TENANTS, gateway),
                part("MaasTenantConfig", TENANT, &tenant.namespace, settings),
            ]
        }
    }
}
