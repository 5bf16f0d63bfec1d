//! The objects that register a model: MaaSModelRef, MaaSAuthPolicy and MaaSSubscriptions.

use super::super::build::{part_of, with_spec};
use super::API;
use crate::config::serving::ServingConfig;
use crate::config::serving::maas::{MaasModel, MaasSubscription};
use crate::ir::{Expr, Object, Value, value};
use serde_json::{Value as Json, json};

/// Tells KServe that requests are authenticated, so that it does not attach a policy that admits
/// everyone to the model's HTTPRoute.
const AUTHENTICATED: &str = "security.opendatahub.io/enable-auth";

/// Returns the objects, and annotates the LLMInferenceService. The reference is in the namespace of the
/// model, because the controller looks for the service there; access and limits are in that of the
/// tenant.
pub(crate) fn objects(
    config: &ServingConfig,
    maas: &MaasModel,
    service: &mut Object,
) -> Vec<Object> {
    service.annotate(AUTHENTICATED, "true");
    let labels = part_of(config);
    let reference = json!({"modelRef": {"kind": "LLMInferenceService", "name": config.name}});
    let reference = with_spec((API, "MaaSModelRef"), &config.name, &labels, &reference);

    let in_tenant = |kind, name: &str, spec: Value| {
        let mut object = with_spec((API, kind), name, &labels, spec);
        let namespace = Value::text(&maas.tenant_namespace);
        object.metadata_mut().insert("namespace".to_owned(), namespace);
        object
    };
    let model = value!({"name": &config.name, "namespace": Expr::ReleaseNamespace});
    let access = value!({
        "modelRefs": [model],
        "subjects": {"groups": group_references(&maas.groups())},
    });
    let access = in_tenant("MaaSAuthPolicy", &config.name, access);
    let subscriptions = maas.subscriptions.iter().map(|subscription| {
        let name = format!("{}-{}", config.name, subscription.name);
        in_tenant("MaaSSubscription", &name, limits(config, subscription))
    });
    [reference, access].into_iter().chain(subscriptions).collect()
}

fn limits(config: &ServingConfig, subscription: &MaasSubscription) -> Value {
    let limits: Vec<Json> = subscription
        .token_limits
        .iter()
        .map(|limit| json!({"limit": limit.limit, "window": limit.window}))
        .collect();
    value!({
        "owner": {"groups": group_references(&subscription.groups)},
        "priority": subscription.priority,
        "modelRefs": [{
            "name": &config.name,
            "namespace": Expr::ReleaseNamespace,
            "tokenRateLimits": Json::Array(limits),
        }],
    })
}

fn group_references<S: AsRef<str>>(groups: &[S]) -> Json {
    groups.iter().map(|group| json!({"name": group.as_ref()})).collect()
}
