//! Models as a service: the platform of `[chart.maas]`, and `maas` of `[[serving]]`.
//!
//! Names that MaaS' controller looks up are constants here. Names that refer to another table are
//! resolved when the configuration is read, so that a wrong one is an error at its key.

pub mod keys;
mod read;
pub(super) mod references;

pub(super) use read::model;
pub(crate) use read::platform;

use crate::diag::Span;

/// Name of the Secret with the connection URL, which the controller reads.
pub const DATABASE_SECRET: &str = "maas-db-config";
/// Key of the connection URL in [`DATABASE_SECRET`].
pub const DATABASE_URL: &str = "DB_CONNECTION_URL";
/// Key of the password in [`DATABASE_SECRET`], which only an embedded database reads.
pub const DATABASE_PASSWORD: &str = "password";
/// Name of the Deployment, Service and claim of an embedded database.
pub const DATABASE: &str = "maas-postgres";
/// Name and user of an embedded database.
pub const DATABASE_NAME: &str = "maas";
/// Name of the Gateway that the controller uses by default.
pub const GATEWAY: &str = "maas-default-gateway";
/// Namespace of the default tenant, and so of its subscriptions and policies.
pub const TENANT_NAMESPACE: &str = "models-as-a-service";
/// Name of the tenant, the only one that the CRD allows.
pub const TENANT: &str = "default-tenant";

/// The release of models-as-a-service, by the release of OpenShift AI that it is part of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MaasRelease {
    /// 3.4: a Tenant names the Gateway.
    V3_4,
    /// 3.5: an AITenant names the Gateway, and a MaasTenantConfig replaces the Tenant.
    #[default]
    V3_5,
}

/// `[chart.maas]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MaasPlatform {
    /// The release of models-as-a-service.
    pub release: MaasRelease,
    /// The Gateway of models.
    pub gateway: Option<MaasGateway>,
    /// The database of API keys.
    pub database: Option<MaasDatabase>,
    /// The tenant.
    pub tenant: Option<MaasTenant>,
    /// The table in the file.
    pub span: Span,
}

/// `gateway` of `[chart.maas]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MaasGateway {
    /// Name of the Gateway.
    pub name: String,
    /// Namespace of the Gateway.
    pub namespace: String,
    /// Name of its GatewayClass.
    pub class: String,
    /// Host name of the listener.
    pub hostname: String,
    /// Name of the Secret with the listener's certificate.
    pub tls_secret: String,
    /// Name of the ClusterIssuer of that certificate, if cert-manager issues it.
    pub cluster_issuer: Option<String>,
    /// Namespaces whose routes the Gateway allows, sorted: those of the key, and of the database,
    /// where the API server of MaaS has its route.
    pub namespaces: Vec<String>,
    /// The table in the file.
    pub span: Span,
}

/// `database` of `[chart.maas]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MaasDatabase {
    /// Namespace of the Secret, which is that of MaaS' API server.
    pub namespace: String,
    /// The PostgreSQL that the chart contains; `None` for an existing one.
    pub embedded: Option<EmbeddedDatabase>,
    /// The table in the file.
    pub span: Span,
}

/// `embedded` of `database`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmbeddedDatabase {
    /// Image of PostgreSQL.
    pub image: String,
    /// Size of the volume, as a quantity.
    pub storage: String,
}

/// `tenant` of `[chart.maas]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MaasTenant {
    /// Namespace of the tenant.
    pub namespace: String,
    /// Name of its Gateway.
    pub gateway: String,
    /// Namespace of its Gateway.
    pub gateway_namespace: String,
    /// Most days that API keys are valid.
    pub max_key_days: Option<u32>,
    /// The table in the file.
    pub span: Span,
}

/// `maas` of `[[serving]]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MaasModel {
    /// Name of the Gateway as written.
    pub gateway: Option<String>,
    /// Host name of the Gateway; `None` if it is not part of the configuration.
    pub hostname: Option<String>,
    /// Namespace of the tenant.
    pub tenant_namespace: String,
    /// The subscriptions, never empty.
    pub subscriptions: Vec<MaasSubscription>,
}

/// `subscriptions` of `maas`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MaasSubscription {
    /// Its name; that of the object begins with the model's.
    pub name: String,
    /// Groups of users, never empty.
    pub groups: Vec<String>,
    /// Limits of tokens, never empty.
    pub token_limits: Vec<TokenLimit>,
    /// The subscription with the highest number counts for users with several.
    pub priority: u32,
}

impl MaasModel {
    /// Returns the groups of all subscriptions, each once, in the order of the file.
    pub fn groups(&self) -> Vec<&str> {
        let mut groups: Vec<&str> = Vec::new();
        for group in self.subscriptions.iter().flat_map(|subscription| &subscription.groups) {
            if !groups.contains(&group.as_str()) {
                groups.push(group);
            }
        }
        groups
    }
}

/// `token-limits` of a subscription
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenLimit {
    /// Most tokens in a window.
    pub limit: u32,
    /// The window, for example `1m`.
    pub window: String,
}
