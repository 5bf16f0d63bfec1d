//! Security contexts of pods and containers as values of the chart.

use super::pod_fields::each_pod;
use super::*;

/// Makes the security contexts of all pods and their containers values, with the names that charts of
/// operators have: `ROLE.podSecurityContext` and `ROLE.securityContext.CONTAINER`. The defaults are what
/// the chart sets. Pods of one role share their values, such as a leader and its workers.
pub(super) fn add(objects: &mut [Object], config: &ServingConfig, values: &mut Values) {
    each_pod(objects, config, &mut |role, holder, key| {
        of_pod(holder.map_at(key), role, values);
    });
}

fn of_pod(pod: &mut Map, role: &str, values: &mut Values) {
    let description = format!("Security context of the {role} pods.");
    make_value(pod, &[role, "podSecurityContext"], &description, values);

    let containers = pod.get_mut("containers").and_then(Value::as_seq_mut);
    for container in containers.into_iter().flatten().filter_map(Value::as_map_mut) {
        // The name is the key of the value, so it must not depend on another value.
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
