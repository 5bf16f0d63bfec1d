//! Keys of models as a service: `[chart.maas]`, and `maas` of `[[serving]]`.

use crate::keys::{Kind, NAME, NAMESPACE, SECRET, Table, optional, required};

/// Values of `release`, the default first.
pub(crate) const RELEASES: &[&str] = &["3.5", "3.4"];

const HOST: &str = "^(\\*\\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+$";
const IMAGE: &str = "^[^\\s:/][^\\s]*$";
/// Gateways of tenants are DNS labels.
const GATEWAY_NAME: &str = NAMESPACE;

/// `gateway` of `[chart.maas]`
pub static GATEWAY: Table = Table {
    header: "[chart.maas.gateway]",
    doc: "The Gateway of all governed models, with the annotations that let the controller attach \
        its policies and configure TLS to Authorino.",
    exactly_one_of: &[],
    keys: &[
        optional(
            "name",
            Kind::String(Some(GATEWAY_NAME)),
            "Name of the Gateway. Default: `maas-default-gateway`.",
        ),
        optional(
            "namespace",
            Kind::String(Some(NAMESPACE)),
            "Namespace of the Gateway. Default: the chart's.",
        ),
        required("class", Kind::String(Some(SECRET)), "Name of the GatewayClass."),
        required(
            "hostname",
            Kind::String(Some(HOST)),
            "Host name of the HTTPS listener, for example `maas.example.com`.",
        ),
        required(
            "tls-secret",
            Kind::String(Some(SECRET)),
            "Name of the Secret with the listener's certificate, in the namespace of the Gateway.",
        ),
        optional(
            "cluster-issuer",
            Kind::String(Some(SECRET)),
            "Name of the cert-manager ClusterIssuer that creates `tls-secret` for the Gateway. \
                Default: the Secret exists.",
        ),
        required(
            "namespaces",
            Kind::Strings(Some(NAMESPACE)),
            "Namespaces of models, whose routes the Gateway allows. That of `database` is always \
                allowed.",
        ),
    ],
};

/// `embedded` of `database`
pub static EMBEDDED: Table = Table {
    header: "[chart.maas.database.embedded]",
    doc: "A PostgreSQL with one pod and one volume, for trials: without backups and without TLS.",
    exactly_one_of: &[],
    keys: &[
        required(
            "image",
            Kind::String(Some(IMAGE)),
            "Image of PostgreSQL with the conventions of Red Hat's and sclorg's images, with tag \
                or digest. A value of the chart.",
        ),
        optional(
            "storage",
            Kind::String(Some("^[1-9][0-9]*(Mi|Gi|Ti)$")),
            "Size of the volume. Default: `5Gi`.",
        ),
    ],
};

/// `database` of `[chart.maas]`
pub static DATABASE: Table = Table {
    header: "[chart.maas.database]",
    doc: "The PostgreSQL database of API keys. Its connection URL is in the Secret \
        `maas-db-config`, which you create: the chart's README has the command. Without \
        `embedded`, the database exists.",
    exactly_one_of: &[],
    keys: &[
        optional(
            "namespace",
            Kind::String(Some(NAMESPACE)),
            "Namespace of the Secret and of MaaS' API server. Default: the chart's.",
        ),
        optional("embedded", Kind::Table(&EMBEDDED), EMBEDDED.doc),
    ],
};

/// `tenant` of `[chart.maas]`
pub static TENANT: Table = Table {
    header: "[chart.maas.tenant]",
    doc: "The tenant `default-tenant`: with release 3.4 a Tenant, with 3.5 an AITenant and a \
        MaasTenantConfig. Their CRDs come with the controller, so a chart with the tenant is \
        installed after it.",
    exactly_one_of: &[],
    keys: &[
        optional(
            "namespace",
            Kind::String(Some(NAMESPACE)),
            "Namespace of the tenant, its subscriptions and policies, as configured in the \
                controller. Default: `models-as-a-service`.",
        ),
        optional(
            "gateway",
            Kind::String(Some(GATEWAY_NAME)),
            "Name of a Gateway of `[chart.maas.gateway]`. Default: the only one.",
        ),
        optional(
            "max-key-days",
            Kind::Integer(1, 36_500),
            "Maximum lifetime of API keys in days. Default: the controller's.",
        ),
    ],
};

/// `[chart.maas]`
pub static PLATFORM: Table = Table {
    header: "[chart.maas]",
    doc: "The platform of models as a service (MaaS): Gateway, database and tenant, in one chart \
        or in several. Models with `maas` are checked against it.",
    exactly_one_of: &[],
    keys: &[
        optional(
            "release",
            Kind::OneOf(RELEASES),
            "Release of OpenShift AI or Open Data Hub whose MaaS controller is installed: `3.5` \
                (default, and later) or `3.4`.",
        ),
        optional("gateway", Kind::Table(&GATEWAY), GATEWAY.doc),
        optional("database", Kind::Table(&DATABASE), DATABASE.doc),
        optional("tenant", Kind::Table(&TENANT), TENANT.doc),
    ],
};

/// `token-limits` of a subscription
static TOKEN_LIMITS: Table = Table {
    header: "[[serving.maas.subscriptions.token-limits]]",
    doc: "Maximum numbers of tokens per window: `{ limit = 1000, window = \"1m\" }`.",
    exactly_one_of: &[],
    keys: &[
        required(
            "limit",
            Kind::Integer(1, 1_000_000_000),
            "Maximum number of tokens in a window, at most one billion.",
        ),
        required(
            "window",
            Kind::String(Some("^[1-9][0-9]{0,3}(s|m|h)$")),
            "The window in seconds, minutes or hours, for example `1m` or `24h`.",
        ),
    ],
};

/// `subscriptions` of `maas`
static SUBSCRIPTIONS: Table = Table {
    header: "[[serving.maas.subscriptions]]",
    doc: "Token limits of groups: one MaaSSubscription each.",
    exactly_one_of: &[],
    keys: &[
        required(
            "name",
            Kind::String(Some(NAME)),
            "Name of the subscription. The MaaSSubscription has the name MODEL-NAME.",
        ),
        required(
            "groups",
            Kind::Strings(Some("^[^\\s]+$")),
            "Groups of users, for example `system:authenticated`.",
        ),
        required("token-limits", Kind::Tables(&TOKEN_LIMITS), TOKEN_LIMITS.doc),
        optional(
            "priority",
            Kind::Integer(0, 1_000_000),
            "Priority: for users in groups of several subscriptions, the highest counts. Default: \
                0.",
        ),
    ],
};

/// `maas` of `[[serving]]`
pub static MODEL: Table = Table {
    header: "maas",
    doc: "Models as a service: registers the model on the Gateway of `[chart.maas]` (MaaSModelRef), \
        grants access to groups (MaaSAuthPolicy) and limits their tokens (MaaSSubscription). \
        Requires `form = \"kserve\"`.",
    exactly_one_of: &[],
    keys: &[
        optional(
            "gateway",
            Kind::String(Some(GATEWAY_NAME)),
            "Name of a Gateway of `[chart.maas.gateway]`. Default: the only one.",
        ),
        required("subscriptions", Kind::Tables(&SUBSCRIPTIONS), SUBSCRIPTIONS.doc),
    ],
};
