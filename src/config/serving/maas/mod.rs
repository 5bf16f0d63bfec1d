//! Models as a service: the platform of `[chart.maas]`, and `maas` of `[[serving]]`.
//!
//! Names that MaaS' controller looks up are constants here. Names that refer to another table are
//! resolved when the configuration is read, so that a wrong one is an error at its key.

pub(super) mod references;

use super::*;
use crate::declare::Required;
use toml::Spanned;

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

table! {
    /// The platform of models as a service (MaaS): Gateway, database and tenant, in one chart or in
    /// several. Models with `maas` are checked against it.
    #[derive(PartialEq, Eq)]
    pub struct MaasPlatform at "[chart.maas]", checked by platform {
        /// Release of OpenShift AI or Open Data Hub whose MaaS controller is installed: `3.5`
        /// (default, and later) or `3.4`.
        release: MaasRelease;
        gateway: Option<MaasGateway>;
        database: Option<MaasDatabase>;
        tenant: Option<MaasTenant>;
        /// The table in the file.
        span: Header;
    }
}

choices! {
    /// The release of models-as-a-service, by the release of OpenShift AI that it is part of.
    pub enum MaasRelease {
        /// 3.5: an AITenant names the Gateway, and a MaasTenantConfig replaces the Tenant.
        V3_5 = "3.5",
        /// 3.4: a Tenant names the Gateway.
        V3_4 = "3.4",
    }
}

table! {
    /// The Gateway of all governed models, with the annotations that let the controller attach its
    /// policies and configure TLS to Authorino.
    #[derive(PartialEq, Eq)]
    pub struct MaasGateway at "[chart.maas.gateway]" {
        /// Name of the Gateway. Default: `maas-default-gateway`.
        name: GatewayName = GATEWAY.to_owned();
        /// Namespace of the Gateway. Default: the chart's.
        namespace: Namespace = String::new();
        /// Name of the GatewayClass.
        class: ObjectName;
        /// Host name of the HTTPS listener, for example `maas.example.com`.
        hostname: HostName;
        /// Name of the Secret with the listener's certificate, in the namespace of the Gateway.
        tls_secret: ObjectName;
        /// Name of the cert-manager ClusterIssuer that creates `tls-secret` for the Gateway.
        /// Default: the Secret exists.
        cluster_issuer: Option<ObjectName>;
        /// Namespaces of models, whose routes the Gateway allows. That of `database` is always
        /// allowed.
        namespaces: Required<Vec<Namespace>>;
        /// The table in the file.
        span: Header;
    }
}

table! {
    /// The PostgreSQL database of API keys. Its connection URL is in the Secret `maas-db-config`,
    /// which you create: the chart's README has the command. Without `embedded`, the database
    /// exists.
    #[derive(PartialEq, Eq)]
    pub struct MaasDatabase at "[chart.maas.database]" {
        /// Namespace of the Secret and of MaaS' API server. Default: the chart's.
        namespace: Namespace = String::new();
        embedded: Option<EmbeddedDatabase>;
    }
}

table! {
    /// A PostgreSQL with one pod and one volume, for trials: without backups and without TLS.
    #[derive(PartialEq, Eq)]
    pub struct EmbeddedDatabase at "[chart.maas.database.embedded]" {
        /// Image of PostgreSQL with the conventions of Red Hat's and sclorg's images, with tag or
        /// digest. A value of the chart.
        image: Reference;
        /// Size of the volume. Default: `5Gi`.
        storage: VolumeSize = "5Gi".to_owned();
    }
}

table! {
    /// The tenant `default-tenant`: with release 3.4 a Tenant, with 3.5 an AITenant and a
    /// MaasTenantConfig. Their CRDs come with the controller, so a chart with the tenant is installed
    /// after it.
    #[derive(PartialEq, Eq)]
    pub struct MaasTenant at "[chart.maas.tenant]" {
        /// Namespace of the tenant, its subscriptions and policies, as configured in the controller.
        /// Default: `models-as-a-service`.
        namespace: Namespace = TENANT_NAMESPACE.to_owned();
        /// Name of a Gateway of `[chart.maas.gateway]`. Default: the only one.
        gateway: GatewayName = String::new();
        /// Maximum lifetime of API keys in days. Default: the controller's.
        max_key_days: Option<Integer<1, 36_500>>;
        /// Namespace of its Gateway.
        gateway_namespace: Derived<String>;
        /// The table in the file.
        span: Header;
    }
}

table! {
    /// Models as a service: registers the model on the Gateway of `[chart.maas]` (MaaSModelRef),
    /// grants access to groups (MaaSAuthPolicy) and limits their tokens (MaaSSubscription). Requires
    /// `form = "kserve"`.
    #[derive(PartialEq, Eq)]
    pub struct MaasModel at "maas", checked by model {
        /// Name of a Gateway of `[chart.maas.gateway]`. Default: the only one.
        gateway: Option<GatewayName>;
        subscriptions: Required<Vec<MaasSubscription>>;
        /// Host name of the Gateway; `None` if it is not part of the configuration.
        hostname: Derived<Option<String>>;
        /// Namespace of the tenant.
        tenant_namespace: Derived<String>;
    }
}

table! {
    /// Token limits of groups: one MaaSSubscription each.
    #[derive(PartialEq, Eq)]
    pub struct MaasSubscription at "[[serving.maas.subscriptions]]", checked by subscription {
        /// Name of the subscription. The MaaSSubscription has the name MODEL-NAME.
        name: Label;
        /// Groups of users, for example `system:authenticated`.
        groups: Required<Vec<Word>>;
        token_limits: Required<Vec<TokenLimit>>;
        /// Priority: for users in groups of several subscriptions, the highest counts. Default: 0.
        priority: Integer<0, 1_000_000> = 0;
    }
}

table! {
    /// Maximum numbers of tokens per window: `{ limit = 1000, window = "1m" }`.
    #[derive(PartialEq, Eq)]
    pub struct TokenLimit at "[[serving.maas.subscriptions.token-limits]]" {
        /// Maximum number of tokens in a window, at most one billion.
        limit: Integer<1, 1_000_000_000>;
        /// The window in seconds, minutes or hours, for example `1m` or `24h`.
        window: Window;
    }
}

patterns! {
    /// The name of a Gateway of tenants, which is a DNS label.
    GatewayName = crate::forms::NAMESPACE;
    /// A host name of several parts, perhaps with a wildcard.
    HostName = "^(\\*\\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+$";
    /// The size of a volume.
    VolumeSize = "^[1-9][0-9]*(Mi|Gi|Ti)$";
    /// A window of token limits.
    Window = "^[1-9][0-9]{0,3}(s|m|h)$";
}

impl MaasPlatform {
    /// Sets the namespace of the chart, where none is written.
    pub(crate) fn set_namespace(&mut self, namespace: &str) {
        let gateway = self.gateway.iter_mut().map(|gateway| &mut gateway.namespace);
        let database = self.database.iter_mut().map(|database| &mut database.namespace);
        // Empty without the key: a table does not know which chart it is in.
        for own in gateway.chain(database).filter(|own| own.is_empty()) {
            namespace.clone_into(own);
        }
    }
}

impl MaasModel {
    /// Returns the groups of all subscriptions, each once, in the order of the file.
    pub fn groups(&self) -> Vec<&str> {
        let mut seen = BTreeSet::new();
        let all = self.subscriptions.iter().flat_map(|subscription| &subscription.groups);
        all.map(String::as_str).filter(|group| seen.insert(*group)).collect()
    }
}

fn platform(_: &mut MaasPlatform, reader: &mut Reader<'_>, fields: &Fields<'_>) {
    if !["gateway", "database", "tenant"].iter().any(|key| fields.has(key)) {
        let message = "`maas` has neither `gateway`, `database` nor `tenant`";
        let hint = "add `[chart.maas.gateway]`, `[chart.maas.database]` or `[chart.maas.tenant]`";
        reader.error(Code::MissingKey, &fields.header, message, hint);
    }
}

fn model(table: &mut MaasModel, reader: &mut Reader<'_>, fields: &Fields<'_>) {
    if table.subscriptions.is_empty() {
        let hint = "add one: a model without subscription rejects all requests";
        let place = fields.place("subscriptions");
        reader.error(Code::MissingKey, &place, "`subscriptions` is empty", hint);
    }
    // For a tenant that is not in the configuration; `references` sets that of one that is.
    TENANT_NAMESPACE.clone_into(&mut table.tenant_namespace);
}

fn subscription(table: &mut MaasSubscription, reader: &mut Reader<'_>, fields: &Fields<'_>) {
    if table.groups.is_empty() {
        let hint = "name groups, for example `groups = [\"system:authenticated\"]`";
        reader.error(Code::InvalidValue, &fields.place("groups"), "`groups` is empty", hint);
    }
    if table.token_limits.is_empty() {
        let hint = "write `token-limits = [{ limit = 1000, window = \"1m\" }]`";
        let place = fields.place("token-limits");
        reader.error(Code::InvalidValue, &place, "`token-limits` is empty", hint);
    }
    for (index, limit) in table.token_limits.iter().enumerate() {
        if table.token_limits.iter().take(index).any(|other| other.window == limit.window) {
            let message = format!("two token limits have the window `{}`", limit.window);
            let place = fields.items("token-limits").nth(index).map(Spanned::span);
            let place = place.unwrap_or_else(|| fields.header.clone());
            reader.error(Code::InvalidValue, &place, message, "remove one of them");
        }
    }
}

/// Longest name of a MaaSSubscription: policies that the controller derives have it as a label.
const SUBSCRIPTION_LIMIT: usize = 63;

/// Checks the subscriptions of a model together.
pub(super) fn check(reader: &mut Reader<'_>, model: &ServingConfig, maas: &MaasModel) {
    for (index, subscription) in maas.subscriptions.iter().enumerate() {
        let name = model.place(&format!("maas.subscriptions.{index}.name"));
        let earlier = maas.subscriptions.get(..index).unwrap_or_default();
        if earlier.iter().any(|other| other.name == subscription.name) {
            let message = format!("two subscriptions have the name `{}`", subscription.name);
            reader.found.error(Code::DuplicateName, name, message, "rename one of them");
        }
        let object = format!("{}-{}", model.name, subscription.name);
        if object.len() > SUBSCRIPTION_LIMIT {
            let message =
                format!("the MaaSSubscription `{object}` has {} characters", object.len());
            let hint = format!("use a shorter name: it has at most {SUBSCRIPTION_LIMIT}");
            reader.found.error(Code::InvalidValue, name, message, hint);
        }

        // Which of two subscriptions counts would depend on their names.
        let groups = model.place(&format!("maas.subscriptions.{index}.groups"));
        for group in &subscription.groups {
            let has = |other: &&MaasSubscription| {
                other.priority == subscription.priority && other.groups.contains(group)
            };
            let Some(other) = earlier.iter().find(has) else { continue };
            let message = format!(
                "the group `{group}` is also in subscription `{}`, with the same priority",
                other.name
            );
            let hint = "set `priority`: the subscription with the highest counts";
            reader.found.error(Code::InvalidValue, groups, message, hint);
        }
    }
}

#[cfg(test)]
mod tests;
