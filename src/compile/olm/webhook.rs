//! Webhook configurations, and the conversion of CRDs.
//!
//! OLM: operator-controller, generators for webhooks and CRDs. The configurations have no
//! `metadata.namespace`, which OLM sets and the API server ignores, and the port is never 0.

use super::Targets;
use super::webhook_server::{Server, of_deployment};
use crate::bundle::{Bundle, WebhookDescription, WebhookKind};
use crate::ir::{Object, Value, map, value};

/// Fields of a definition that an admission webhook has under the same name; the last one only if it is
/// mutating.
const FIELDS: [&str; 8] = [
    "rules",
    "failurePolicy",
    "matchPolicy",
    "objectSelector",
    "sideEffects",
    "timeoutSeconds",
    "admissionReviewVersions",
    "reinvocationPolicy",
];

/// Returns the name of an admission webhook and of its configuration.
pub(super) fn name(webhook: &WebhookDescription) -> &str {
    // The CSV has a `generateName`, for which OLM v0 makes a suffix; v1 removes one dash.
    webhook.name.strip_suffix('-').unwrap_or(&webhook.name)
}

/// Returns one configuration for each admission webhook of the bundle.
pub(super) fn configurations(
    bundle: &Bundle,
    servers: &[Server<'_>],
    targets: &Targets,
) -> Vec<Object> {
    let webhooks = bundle.csv.webhooks.iter().filter(|w| w.kind != WebhookKind::Conversion);
    let configuration = |webhook: &WebhookDescription| {
        // A missing Deployment is an error of `definitions` already.
        let server = of_deployment(servers, &webhook.endpoint.deployment)?;
        Some(configuration(webhook, server, targets))
    };
    webhooks.filter_map(configuration).collect()
}

fn configuration(webhook: &WebhookDescription, server: &Server<'_>, targets: &Targets) -> Object {
    let (kind, fields) = match webhook.kind {
        WebhookKind::Mutating => ("MutatingWebhookConfiguration", &FIELDS[..]),
        _ => ("ValidatingWebhookConfiguration", &FIELDS[..FIELDS.len() - 1]),
    };
    let mut body = map! {
        "name": name(webhook),
        "clientConfig": client_config(webhook, server),
    };
    for key in fields {
        if let Some(value) = webhook.definition.get(key).filter(|value| !value.is_null()) {
            body.insert((*key).to_owned(), value.clone());
        }
    }

    // As OLM: objects in other namespaces are not the operator's.
    if let Some(namespaces) = targets.0.clone() {
        let selector = value!({"matchExpressions": [
            {"key": "kubernetes.io/metadata.name", "operator": "In", "values": namespaces},
        ]});
        body.insert("namespaceSelector".to_owned(), selector);
    }

    let root = map! {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": name(webhook)},
        "webhooks": [body],
    };
    let mut object = Object::new(root, webhook.endpoint.origin.clone());

    server.annotate_client(&mut object);
    object
}

fn client_config(webhook: &WebhookDescription, server: &Server<'_>) -> Value {
    let path = match webhook.kind {
        // As OLM, for which a conversion webhook without a path is at the root.
        WebhookKind::Conversion => Some(webhook.path.as_deref().unwrap_or("/")),
        _ => webhook.path.as_deref(),
    };
    value!({
        "service": server.reference(path, webhook.endpoint.port),
        "caBundle": ?server.ca_bundle(),
    })
}

/// Configures the conversion webhook of a CRD: replaces `spec.conversion`.
pub(super) fn convert(
    crds: &mut [Object],
    webhooks: &[WebhookDescription],
    servers: &[Server<'_>],
) {
    for webhook in webhooks.iter().filter(|w| w.kind == WebhookKind::Conversion) {
        let Some(server) = of_deployment(servers, &webhook.endpoint.deployment) else { continue };
        for crd in crds.iter_mut().filter(|c| webhook.conversion_crds.iter().any(|n| n == c.name()))
        {
            // OLM has one field for the review versions of all types of webhooks.
            let versions = webhook.definition.get("admissionReviewVersions").cloned();
            let conversion = value!({
                "strategy": "Webhook",
                "webhook": {
                    "clientConfig": client_config(webhook, server),
                    "conversionReviewVersions": versions.unwrap_or(value!([])),
                },
            });
            if let Some(spec) = crd.root.get_mut("spec").and_then(Value::as_map_mut) {
                spec.insert("conversion".to_owned(), conversion);
            }
            server.annotate_client(crd);
        }
    }
}
