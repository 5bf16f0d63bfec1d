//! Stub CRDs: minimal CRDs of other projects that operators expect and clusters may not have.
//!
//! A stub must never change a real CRD, so it is not an object of the release but a hook, which is
//! rendered only if the cluster has no CRD with its name. Helm never deletes such hooks, neither
//! before it creates them nor with the release (pkg/action/hooks.go). Argo CD deletes hooks before
//! it creates them, and has no `lookup`, so an annotation makes it skip this one.

use crate::config::{STUBS, Text};
use crate::fields::{list, texts};
use crate::ir::{
    ClusterObject, Condition, Object, Origin, Phase, Unit, Value, ValueSpec, ValuesPath, value,
};

/// Returns the stub CRDs of these names.
pub fn stubs(names: &[Text]) -> Unit {
    let objects: Vec<Object> = names.iter().filter_map(|name| stub(&name.text)).collect();
    let values = if objects.is_empty() { Vec::new() } else { vec![enabled(), hook()] };
    Unit { objects, values, ..Unit::default() }
}

/// Returns the names of the stub CRDs of OpenShift's APIs that a unit has roles to read and does not
/// define: an operator that reads such an API often does not start without it.
pub fn readable_stubs(unit: &Unit) -> Vec<&'static str> {
    let rules: Vec<&Value> = unit
        .objects
        .iter()
        .filter(|object| matches!(object.kind(), "ClusterRole" | "Role"))
        .flat_map(|role| list(role.at(&["rules"])))
        .collect();
    let crds = unit.names("CustomResourceDefinition");
    let is_readable = |stub: &&str| {
        let (resource, group) = stub.split_once('.').unwrap_or((stub, ""));
        rules.iter().any(|rule| allows_reading(rule, group, resource))
    };
    // Other stubs are for projects that can be installed on any cluster.
    let openshift = STUBS.into_iter().filter(|stub| stub.ends_with(".openshift.io"));
    openshift.filter(|stub| !crds.contains(*stub)).filter(is_readable).collect()
}

/// Returns true if a rule allows to get, list or watch a resource. Rules for all groups are those of
/// administrators, and do not show that the resource is needed.
fn allows_reading(rule: &Value, group: &str, resource: &str) -> bool {
    let has = |key: &str, wanted: &[&str]| texts(rule.get(key)).any(|item| wanted.contains(&item));
    has("apiGroups", &[group])
        && has("resources", &[resource, "*"])
        && has("verbs", &["get", "list", "watch", "*"])
}

fn enabled() -> ValueSpec {
    ValueSpec::switch(
        ValuesPath::new(["stubs", "enabled"]),
        true,
        "Create the stub CRDs that are missing in the cluster",
    )
}

fn hook() -> ValueSpec {
    ValueSpec::switch(
        ValuesPath::new(["stubs", "hook"]),
        true,
        "Create them with a hook, which never changes existing CRDs. Set to false only for tools \
                that render charts without cluster access, such as Argo CD, and ignore their `spec` \
                when comparing",
    )
}

fn stub(name: &str) -> Option<Object> {
    let text = match name {
        "infrastructures.config.openshift.io" => {
            include_str!("stubs/infrastructures.config.openshift.io.yaml")
        }
        "servicemonitors.monitoring.coreos.com" => {
            include_str!("stubs/servicemonitors.monitoring.coreos.com.yaml")
        }
        _ => return None,
    };
    let Some(Value::Map(root)) = crate::yaml::parse(text).ok()?.pop() else { return None };
    let mut object = Object::new(*root, Origin::Stub);
    object.phase = Phase::Before;

    let hook = hook().path;
    let only_as_hook = |text: &str| Value::when(Condition::Set(hook.clone()), Value::text(text));
    let annotations = value!({
        // If the hook is disabled, deleting or pruning might delete the real CRD with all its
        // objects.
        "argocd.argoproj.io/sync-options": "Delete=false,Prune=false",
        "helm.sh/resource-policy": "keep",
        "argocd.argoproj.io/hook": only_as_hook("Skip"),
        "helm.sh/hook": only_as_hook("pre-install,pre-upgrade"),
    });
    object.metadata_mut().insert("annotations".to_owned(), annotations);
    let missing = Condition::Missing(ClusterObject {
        api_version: "apiextensions.k8s.io/v1",
        kind: "CustomResourceDefinition",
        namespace: None,
        name: name.to_owned(),
    });
    object.when = Some(Condition::All(vec![
        Condition::Set(enabled().path),
        Condition::Any(vec![Condition::Unset(hook), missing]),
    ]));
    Some(object)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_has_one() {
        for name in STUBS {
            let stub = stub(name).unwrap();
            assert_eq!(stub.name(), name);
            let at = |key: &str| stub.at(&["spec", key]);
            let plural = stub.at(&["spec", "names", "plural"]).and_then(Value::as_str).unwrap();
            let group = at("group").and_then(Value::as_str).unwrap();
            assert_eq!(format!("{plural}.{group}"), name);
        }
    }
}
