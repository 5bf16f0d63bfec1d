//! Reads models as a service: `[chart.maas]`, and `maas` of `[[serving]]`.

use super::keys;
use super::{
    EmbeddedDatabase, GATEWAY, MaasDatabase, MaasGateway, MaasModel, MaasPlatform, MaasRelease,
    MaasSubscription, MaasTenant, TENANT_NAMESPACE, TokenLimit,
};
use crate::diag::Code;
use crate::read::reader::{Fields, Reader};
use crate::read::values;
use crate::serving::read::check_patterns;

/// Reads `[chart.maas]`; `None` without it, or if it lacks something essential. `namespace` is the
/// chart's.
pub(crate) fn platform(
    reader: &mut Reader<'_>,
    chart: &Fields<'_>,
    namespace: &str,
) -> Option<MaasPlatform> {
    let (table, header) = chart.table("maas")?;
    let fields = reader.fields(&keys::PLATFORM, header, table);
    let release = match fields.text("release") {
        Some(("3.4", _)) => MaasRelease::V3_4,
        _ => MaasRelease::V3_5,
    };

    let gateway = gateway(reader, &fields, namespace);
    let database = database(reader, &fields, namespace);
    let tenant = tenant(reader, &fields);
    if ["gateway", "database", "tenant"].iter().all(|key| fields.table(key).is_none()) {
        let message = "`maas` has neither `gateway`, `database` nor `tenant`";
        let hint = "add `[chart.maas.gateway]`, `[chart.maas.database]` or `[chart.maas.tenant]`";
        reader.error(Code::MissingKey, &fields.header, message, hint);
    }
    Some(MaasPlatform {
        release,
        gateway,
        database,
        tenant,
        span: reader.span(fields.header.clone()),
    })
}

fn gateway(reader: &mut Reader<'_>, platform: &Fields<'_>, namespace: &str) -> Option<MaasGateway> {
    let (table, header) = platform.table("gateway")?;
    let fields = reader.fields(&keys::GATEWAY, header, table);
    check_patterns(reader, &fields, &[]);
    let text = |key: &str| fields.text(key).map(|(text, _)| text.to_owned());
    Some(MaasGateway {
        name: text("name").unwrap_or_else(|| GATEWAY.to_owned()),
        namespace: text("namespace").unwrap_or_else(|| namespace.to_owned()),
        class: text("class")?,
        hostname: text("hostname")?,
        tls_secret: text("tls-secret")?,
        cluster_issuer: text("cluster-issuer"),
        namespaces: texts(&fields, "namespaces"),
        span: reader.span(fields.header.clone()),
    })
}

fn database(
    reader: &mut Reader<'_>,
    platform: &Fields<'_>,
    namespace: &str,
) -> Option<MaasDatabase> {
    let (table, header) = platform.table("database")?;
    let fields = reader.fields(&keys::DATABASE, header, table);
    check_patterns(reader, &fields, &[]);
    let mut embedded = None;
    if let Some((table, header)) = fields.table("embedded") {
        let inner = reader.fields(&keys::EMBEDDED, header, table);
        check_patterns(reader, &inner, &["image"]);
        let storage = inner.text("storage").map_or("5Gi", |(text, _)| text).to_owned();
        let image = values::reference(reader, "image", inner.text("image")?)?;
        embedded = Some(EmbeddedDatabase { image, storage });
    }
    Some(MaasDatabase {
        namespace: fields.text("namespace").map_or(namespace, |(text, _)| text).to_owned(),
        embedded,
        span: reader.span(fields.header.clone()),
    })
}

/// Reads the tenant. Its Gateway is resolved when all tables are read.
fn tenant(reader: &mut Reader<'_>, platform: &Fields<'_>) -> Option<MaasTenant> {
    let (table, header) = platform.table("tenant")?;
    let fields = reader.fields(&keys::TENANT, header, table);
    check_patterns(reader, &fields, &[]);
    let text = |key: &str| fields.text(key).map(|(text, _)| text.to_owned());
    Some(MaasTenant {
        namespace: text("namespace").unwrap_or_else(|| TENANT_NAMESPACE.to_owned()),
        gateway: text("gateway").unwrap_or_default(),
        gateway_namespace: String::new(),
        max_key_days: fields.integer("max-key-days"),
        span: reader.span(fields.header.clone()),
    })
}

/// Longest name of a MaaSSubscription: policies that the controller derives have it as a label.
const SUBSCRIPTION_LIMIT: usize = 63;

/// Reads the fields of `maas` of the model `name`.
pub(in crate::serving) fn model(
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
    name: &str,
) -> MaasModel {
    let mut subscriptions: Vec<MaasSubscription> = Vec::new();
    for table in reader.inner_tables(fields, "subscriptions") {
        check_patterns(reader, &table, &[]);
        let Some(subscription) = subscription(reader, &table) else { continue };
        let Some((_, at)) = table.text("name") else { continue };
        if subscriptions.iter().any(|other| other.name == subscription.name) {
            let message = format!("two subscriptions have the name `{}`", subscription.name);
            reader.error(Code::DuplicateName, &at, message, "rename one of them");
        }
        let object = format!("{name}-{}", subscription.name);
        if object.len() > SUBSCRIPTION_LIMIT {
            let message =
                format!("the MaaSSubscription `{object}` has {} characters", object.len());
            let hint = format!("use a shorter name: it has at most {SUBSCRIPTION_LIMIT}");
            reader.error(Code::InvalidValue, &at, message, hint);
        }
        ambiguous(reader, &table, &subscription, &subscriptions);
        subscriptions.push(subscription);
    }

    if let (true, Some((_, range))) = (subscriptions.is_empty(), fields.json("subscriptions")) {
        let hint = "add one: a model without subscription rejects all requests";
        reader.error(Code::MissingKey, &range, "`subscriptions` is empty", hint);
    }
    MaasModel {
        gateway: fields.text("gateway").map(|(text, _)| text.to_owned()),
        hostname: None,
        tenant_namespace: TENANT_NAMESPACE.to_owned(),
        subscriptions,
    }
}

fn subscription(reader: &mut Reader<'_>, table: &Fields<'_>) -> Option<MaasSubscription> {
    let groups = texts(table, "groups");
    if let (true, Some((_, range))) = (groups.is_empty(), table.texts("groups")) {
        let hint = "name groups, for example `groups = [\"system:authenticated\"]`";
        reader.error(Code::InvalidValue, &range, "`groups` is empty", hint);
    }
    let mut token_limits: Vec<TokenLimit> = Vec::new();
    for limit in reader.inner_tables(table, "token-limits") {
        check_patterns(reader, &limit, &[]);
        let (Some(most), Some((window, at))) = (limit.integer("limit"), limit.text("window"))
        else {
            continue;
        };
        if token_limits.iter().any(|other| other.window == window) {
            let message = format!("two token limits have the window `{window}`");
            reader.error(Code::InvalidValue, &at, message, "remove one of them");
        }
        token_limits.push(TokenLimit { limit: most, window: window.to_owned() });
    }

    if let (true, Some((Some(0), range))) = (
        token_limits.is_empty(),
        table.json("token-limits").map(|(json, range)| (json.as_array().map(Vec::len), range)),
    ) {
        let hint = "write `token-limits = [{ limit = 1000, window = \"1m\" }]`";
        reader.error(Code::InvalidValue, &range, "`token-limits` is empty", hint);
    }
    Some(MaasSubscription {
        name: table.text("name")?.0.to_owned(),
        groups,
        token_limits,
        priority: table.integer("priority").unwrap_or_default(),
    })
}

/// Reports groups that an earlier subscription with the same priority has: which of the two counts
/// would depend on their names.
fn ambiguous(
    reader: &mut Reader<'_>,
    table: &Fields<'_>,
    subscription: &MaasSubscription,
    earlier: &[MaasSubscription],
) {
    let (groups, _) = table.texts("groups").unwrap_or_default();
    for (group, range) in groups {
        let same = earlier.iter().find(|other| {
            other.priority == subscription.priority && other.groups.iter().any(|own| own == group)
        });
        if let Some(other) = same {
            let message = format!(
                "the group `{group}` is also in subscription `{}`, with the same priority",
                other.name
            );
            let hint = "set `priority`: the subscription with the highest counts";
            reader.error(Code::InvalidValue, &range, message, hint);
        }
    }
}

fn texts(fields: &Fields<'_>, key: &str) -> Vec<String> {
    let (items, _) = fields.texts(key).unwrap_or_default();
    items.into_iter().map(|(text, _)| text.to_owned()).collect()
}
