//! Owned APIServices: operators that are aggregated API servers.
//!
//! OLM v0: certificate resources of its installer, which v1 does not have. The bindings allow the
//! API server behind the Service to authenticate and authorize its callers.

use super::rbac::{self, role_base};
use super::webhook_server::Server;
use crate::bundle::Bundle;
use crate::ir::{Object, Value, map, value};

/// Returns the APIServices, and the RBAC of the Deployments behind them.
pub(super) fn objects(bundle: &Bundle, chart: &str, servers: &[Server<'_>]) -> Vec<Object> {
    let mut objects = Vec::new();
    for server in servers {
        let mut services = bundle.csv.served_versions();
        services.retain(|service| service.endpoint.deployment == server.deployment.name);
        // A server of webhooks only needs no delegated authentication.
        if services.is_empty() {
            continue;
        }

        for service in services {
            let root = map! {
                "apiVersion": "apiregistration.k8s.io/v1",
                "kind": "APIService",
                "metadata": {"name": service.name()},
                "spec": {
                    "group": &service.group,
                    "version": &service.version,
                    // OLM v0's priorities: above those of CRDs (1000, 100), so that the group is
                    // preferred to them.
                    "groupPriorityMinimum": 2000,
                    "versionPriority": 15,
                    "service": server.reference(None, service.endpoint.port),
                    "caBundle": ?server.ca_bundle(),
                },
            };
            let mut object = Object::new(root, service.endpoint.origin.clone());
            server.annotate_client(&mut object);
            objects.push(object);
        }
        objects.extend(delegation(chart, server));
        if let Some(secret) = server.secret_name() {
            objects.extend(secret_reader(server, secret));
        }
    }

    objects
}

/// The Role of Kubernetes in kube-system for reading the API server's authentication settings.
pub const AUTH_READER: &str = "extension-apiserver-authentication-reader";

/// Returns the name of the binding that lets an account read the API server's authentication
/// settings.
pub fn auth_reader_name(chart: &str, account: &str) -> String {
    format!("{}-auth-reader", role_base(chart, account))
}

/// Returns the bindings for delegated authentication and authorization.
fn delegation(chart: &str, server: &Server<'_>) -> [Object; 2] {
    let delegator = format!("{}-system:auth-delegator", role_base(chart, &server.service));
    let reader = value!({
        "name": auth_reader_name(chart, server.account()),
        // The API server publishes its CA for client certificates in a ConfigMap there.
        "namespace": "kube-system",
    });
    [
        binding(value!({"name": delegator}), ["ClusterRole", "system:auth-delegator"], server),
        binding(reader, ["Role", AUTH_READER], server),
    ]
}

/// Creates the Role and RoleBinding for the Deployment's account to read its own certificate.
fn secret_reader(server: &Server<'_>, secret: Value) -> [Object; 2] {
    let rule = value!({
        "verbs": ["get"], "apiGroups": [""], "resources": ["secrets"], "resourceNames": [secret],
    });
    let metadata = server.metadata(&server.secret);
    let role = rbac::role("Role", metadata.clone(), value!([rule]));
    let role = Object::new(role, server.origin.clone());
    [role, binding(metadata, ["Role", &server.secret], server)]
}

fn binding(metadata: Value, role: [&str; 2], server: &Server<'_>) -> Object {
    Object::new(rbac::binding(metadata, role, server.account()), server.origin.clone())
}
