//! Owned APIServices: operators that are aggregated API servers.
//!
//! OLM v0: certificate resources of its installer, which v1 does not have. The bindings allow the
//! API server behind the Service to authenticate and authorize its callers.

use super::certificate::Certificates;
use super::rbac::role_base;
use super::webhook_server::Server;
use crate::bundle::Bundle;
use crate::ir::{Expr, Map, Object, Value};

const RBAC: &str = "rbac.authorization.k8s.io";

/// Returns the APIServices, and the RBAC of the Deployments behind them.
pub(super) fn objects(
    bundle: &Bundle,
    chart: &str,
    servers: &[Server<'_>],
    certificates: &Certificates<'_>,
) -> Vec<Object> {
    let mut objects = Vec::new();
    for server in servers {
        let mut services = bundle
            .csv
            .served_versions()
            .into_iter()
            .filter(|service| service.deployment == server.deployment.name)
            .peekable();
        // A server of webhooks only needs no delegated authentication.
        if services.peek().is_none() {
            continue;
        }

        for service in services {
            let mut spec = Map::from_iter([
                ("group".to_owned(), Value::text(&service.group)),
                ("version".to_owned(), Value::text(&service.version)),
                // OLM v0's priorities: above those of CRDs (1000, 100), so that the group is
                // preferred to them.
                ("groupPriorityMinimum".to_owned(), Value::from(2000)),
                ("versionPriority".to_owned(), Value::from(15)),
                ("service".to_owned(), server.reference(None, service.port)),
            ]);
            if let Some(bundle) = certificates.ca_bundle(server) {
                spec.insert("caBundle".to_owned(), bundle);
            }
            let mut object = Object::new(
                Map::from_iter([
                    ("apiVersion".to_owned(), Value::text("apiregistration.k8s.io/v1")),
                    ("kind".to_owned(), Value::text("APIService")),
                    ("metadata".to_owned(), Value::map([("name", Value::text(service.name()))])),
                    ("spec".to_owned(), Value::from(spec)),
                ]),
                service.origin.clone(),
            );
            certificates.annotate_client(server, &mut object);
            objects.push(object);
        }
        objects.extend(delegation(chart, server));
        if let Some(secret) = certificates.secret_name(server) {
            objects.extend(secret_reader(server, secret));
        }
    }

    objects
}

/// Returns the name of the binding that lets an account read the API server's authentication
/// settings.
pub fn auth_reader_name(chart: &str, account: &str) -> String {
    format!("{}-auth-reader", role_base(chart, account))
}

/// Delegated authentication and authorisation.
fn delegation(chart: &str, server: &Server<'_>) -> [Object; 2] {
    let delegator = format!("{}-system:auth-delegator", role_base(chart, &server.service));
    let reader = Value::map([
        ("name", Value::text(auth_reader_name(chart, server.account()))),
        // The API server publishes its CA for client certificates in a ConfigMap there.
        ("namespace", Value::text("kube-system")),
    ]);
    [
        binding(
            "ClusterRoleBinding",
            Value::map([("name", Value::text(delegator))]),
            ["ClusterRole", "system:auth-delegator"],
            server,
        ),
        binding(
            "RoleBinding",
            reader,
            ["Role", "extension-apiserver-authentication-reader"],
            server,
        ),
    ]
}

/// Creates the Role and RoleBinding for the Deployment's account to read its own certificate.
fn secret_reader(server: &Server<'_>, secret: Value) -> [Object; 2] {
    let rule = Value::map([
        ("verbs", Value::texts(["get"])),
        ("apiGroups", Value::texts([""])),
        ("resources", Value::texts(["secrets"])),
        ("resourceNames", Value::Seq(vec![secret])),
    ]);
    let role = Object::new(
        Map::from_iter([
            ("apiVersion".to_owned(), Value::text(format!("{RBAC}/v1"))),
            ("kind".to_owned(), Value::text("Role")),
            ("metadata".to_owned(), server.metadata(&server.secret)),
            ("rules".to_owned(), Value::Seq(vec![rule])),
        ]),
        server.origin.clone(),
    );
    let metadata = server.metadata(&server.secret);
    [role, binding("RoleBinding", metadata, ["Role", &server.secret], server)]
}

fn binding(kind: &str, metadata: Value, role: [&str; 2], server: &Server<'_>) -> Object {
    let subject = Value::map([
        ("kind", Value::text("ServiceAccount")),
        ("name", Value::text(server.account())),
        ("namespace", Value::Expr(Expr::ReleaseNamespace)),
    ]);
    let reference = Value::map([
        ("apiGroup", Value::text(RBAC)),
        ("kind", Value::text(role[0])),
        ("name", Value::text(role[1])),
    ]);
    Object::new(
        Map::from_iter([
            ("apiVersion".to_owned(), Value::text(format!("{RBAC}/v1"))),
            ("kind".to_owned(), Value::text(kind)),
            ("metadata".to_owned(), metadata),
            ("roleRef".to_owned(), reference),
            ("subjects".to_owned(), Value::Seq(vec![subject])),
        ]),
        server.origin.clone(),
    )
}
