//! Security contexts of pods and containers as values of the chart.

use super::build::Values;
use super::pod_fields::{each_template, role};
use super::topology::{Role, Workload};
use crate::ir::{Map, Object, Release, Value};
use serde_json::{Value as Json, json};

/// Makes the security contexts of all pods and their containers values, with the names that charts of
/// operators have: `ROLE.podSecurityContext` and `ROLE.securityContext.CONTAINER`. The defaults are what
/// the chart sets. Pods of one role share their values, such as a leader and its workers.
pub(super) fn add(objects: &mut [Object], workloads: &[Workload<'_>], values: &mut Values) {
    for object in objects {
        let Some(role) = role(object, workloads) else { continue };
        if object.kind() == "LLMInferenceService" {
            of_service(object, values);
            continue;
        }
        each_template(&mut object.root, role, &mut |role, template| {
            of_pod(template.map_at("spec"), role, values);
        });
    }
}

/// The pods of an LLMInferenceService have no template around their spec.
fn of_service(object: &mut Object, values: &mut Values) {
    let Some(spec) = object.root.get_mut("spec").and_then(Value::as_map_mut) else { return };
    let mut pods = |part: &mut Map, role: Role| {
        for key in ["template", "worker"] {
            if let Some(pod) = part.get_mut(key).and_then(Value::as_map_mut) {
                of_pod(pod, role.as_str(), values);
            }
        }
    };
    pods(spec, Role::Decode);
    if let Some(prefill) = spec.get_mut("prefill").and_then(Value::as_map_mut) {
        pods(prefill, Role::Prefill);
    }
}

fn of_pod(pod: &mut Map, role: &str, values: &mut Values) {
    let description = format!("Security context of the {role} pods.");
    make_value(pod, &[role, "podSecurityContext"], &description, values);

    let containers = pod.get_mut("containers").and_then(Value::as_seq_mut);
    for container in containers.into_iter().flatten().filter_map(Value::as_map_mut) {
        let Some(name) = container.get("name").and_then(Value::as_str) else { continue };
        let name = name.to_owned();
        let description = format!("Security context of the container `{name}` of the {role} pods.");
        make_value(container, &[role, "securityContext", &name], &description, values);
    }
}

/// Replaces the security context of a pod or container by a value, with it as the default.
fn make_value(holder: &mut Map, path: &[&str], description: &str, values: &mut Values) {
    let default = match holder.get("securityContext") {
        None => json!({}),
        Some(own) if !own.has_expression() => Release::LITERAL.value(own),
        Some(_) => return,
    };
    let value = values.whole(path, default, Json::Bool(true), description);
    holder.insert("securityContext".to_owned(), value);
}
