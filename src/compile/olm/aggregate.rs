//! ClusterRoles that aggregate an operator's APIs to the cluster roles `admin`, `edit` and `view`.
//!
//! OLM v0: operator groups, roles of provided APIs. OLM v1 has none, and they are opt-in here: they
//! allow every editor of a namespace to use the operator.

use super::rbac;
use crate::bundle::Bundle;
use crate::ir::{Object, Origin, Value, value};
use crate::permissions::{READ, WRITE};
use std::collections::BTreeSet;

/// The aggregated roles with their verbs.
const ROLES: [(&str, &[&str]); 3] = [("admin", &["*"]), ("edit", &WRITE), ("view", &READ)];

/// Returns three ClusterRoles for each owned CRD and APIService, and one for the definition of each
/// CRD.
pub(super) fn roles(bundle: &Bundle, crds: &[Object]) -> Vec<Object> {
    let csv = &bundle.csv;
    let mut objects = Vec::new();
    for owned in &csv.owned_crds {
        // A CSV may own a CRD that its bundle does not ship; a role for it would name an API that
        // does not exist.
        let Some(crd) = crds.iter().find(|crd| crd.name() == owned.name) else { continue };
        // The API server requires that a CRD is named PLURAL.GROUP.
        let Some((plural, group)) = owned.name.split_once('.') else { continue };
        let prefix = format!("{}-{}", owned.name, owned.version);
        objects.extend(api_roles(&prefix, group, plural, &crd.origin));
        // `kubectl explain` and consoles read the CRD itself.
        let rule = value!({
            "verbs": ["get"],
            "apiGroups": ["apiextensions.k8s.io"],
            "resources": ["customresourcedefinitions"],
            "resourceNames": [&owned.name],
        });
        objects.push(role(format!("{prefix}-crdview"), "view", rule, &crd.origin));
    }
    for service in &csv.api_services {
        // As for a CRD, whose name is PLURAL.GROUP.
        let prefix = format!("{}.{}-{}", service.plural, service.group, service.version);
        let origin = &service.endpoint.origin;
        objects.extend(api_roles(&prefix, &service.group, &service.plural, origin));
    }
    // A CSV may describe a version of a CRD twice.
    let mut names = BTreeSet::new();
    objects.retain(|object| names.insert(object.name().to_owned()));
    objects
}

fn api_roles(prefix: &str, group: &str, plural: &str, origin: &Origin) -> [Object; 3] {
    ROLES.map(|(suffix, verbs)| {
        let verbs = Value::texts(verbs.iter().copied());
        let rule = value!({"verbs": verbs, "apiGroups": [group], "resources": [plural]});
        role(format!("{prefix}-{suffix}"), suffix, rule, origin)
    })
}

fn role(name: String, aggregate_to: &str, rule: Value, origin: &Origin) -> Object {
    let label = format!("rbac.authorization.k8s.io/aggregate-to-{aggregate_to}");
    let metadata = value!({"name": name, "labels": {label: "true"}});
    Object::new(rbac::role("ClusterRole", metadata, value!([rule])), origin.clone())
}
