//! The objects that register a model: MaaSModelRef, MaaSAuthPolicy and MaaSSubscriptions.

use super::super::*;
use config::serving::maas::MaasModel;

/// Returns the objects.
pub(crate) fn objects(config: &ServingConfig, maas: &MaasModel) -> Vec<Object> {
    let tenant = &maas.tenant_namespace;
    let holes = map! {"tenant": tenant, "groups": group_references(&maas.groups())};
    let mut objects = of_model(include_str!("../objects/maas_model.yaml"), config, holes);
    for subscription in &maas.subscriptions {
        let limits = subscription.token_limits.iter();
        let limits = limits.map(|limit| json!({"limit": limit.limit, "window": limit.window}));
        let holes = map! {
            "name": &subscription.name,
            "tenant": tenant,
            "groups": group_references(&subscription.groups),
            "priority": subscription.priority,
            "limits": limits.collect::<Json>(),
        };
        objects.extend(of_model(include_str!("../objects/maas_subscription.yaml"), config, holes));
    }
    objects
}

fn group_references<S: AsRef<str>>(groups: &[S]) -> Json {
    groups.iter().map(|group| json!({"name": group.as_ref()})).collect()
}
