//! The Gateway of governed models.

use crate::config::serving::maas::MaasGateway;
use crate::ir::Object;
use serde_json::json;

/// Lets MaaS' controller, instead of the platform's operator, attach policies to the Gateway.
const MANAGED: &str = "opendatahub.io/managed";
/// Makes the Gateway use TLS to Authorino.
const AUTHORINO_TLS: &str = "security.opendatahub.io/authorino-tls-bootstrap";
/// Makes cert-manager issue the certificates of the listeners.
const CLUSTER_ISSUER: &str = "cert-manager.io/cluster-issuer";

/// Returns the Gateway. Namespaces are selected by the label that Kubernetes sets, so that none has
/// to be labelled by hand.
pub(super) fn object(gateway: &MaasGateway) -> Object {
    let expression = json!({
        "key": "kubernetes.io/metadata.name",
        "operator": "In",
        "values": gateway.namespaces,
    });
    let listener = json!({
        "name": "https",
        "hostname": gateway.hostname,
        "port": 443,
        "protocol": "HTTPS",
        "tls": {
            "mode": "Terminate",
            "certificateRefs": [{"group": "", "kind": "Secret", "name": gateway.tls_secret}],
        },
        "allowedRoutes": {
            "namespaces": {"from": "Selector", "selector": {"matchExpressions": [expression]}},
        },
    });

    let kind = ("gateway.networking.k8s.io/v1", "Gateway");
    let spec = json!({"gatewayClassName": gateway.class, "listeners": [listener]});
    let mut object = super::object(kind, &gateway.name, &gateway.namespace, spec);
    object.annotate(MANAGED, "false");
    object.annotate(AUTHORINO_TLS, "true");
    gateway.cluster_issuer.iter().for_each(|issuer| object.annotate(CLUSTER_ISSUER, issuer));
    object
}
