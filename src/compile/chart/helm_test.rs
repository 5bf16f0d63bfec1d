//! The test of a chart for `helm test`: its workloads are rolled out.
//!
//! A Pod runs `kubectl rollout status` with a ServiceAccount that may only read these workloads. The
//! objects are hooks, which Helm creates for `helm test` only, and rendered only if the values name
//! their image, because it is not one of the bundle.

use super::manifest;
use crate::config::KUBECTL_IMAGE;
use crate::ir::{
    Condition, Expr, LASTING_WORKLOADS, Map, Object, Origin, Unit, Value, ValueSpec, ValuesPath,
};
use crate::kubectl::{container_security, pod_security};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;

/// Reason in [`Origin::Added`].
const ORIGIN: &str = "rollout test";

/// Returns the template files of the test, by path, after declaring its values; none if the unit has
/// no workloads in the release namespace.
pub(super) fn add(unit: &mut Unit, chart: &str) -> BTreeMap<String, String> {
    let workloads = workloads(unit);
    if workloads.is_empty() {
        return BTreeMap::new();
    }
    unit.values.push(value());
    let objects = objects(chart, &workloads);
    files(&objects)
}

/// Returns the template files of tests, by path.
pub fn files(tests: &[Object]) -> BTreeMap<String, String> {
    let files = manifest::templates(tests.iter()).into_iter();
    files.map(|(path, text)| (path.replacen("templates/", "templates/tests/", 1), text)).collect()
}

/// Returns the sorted kinds and names of the unconditional workloads in the release namespace.
fn workloads(unit: &Unit) -> Vec<(String, String)> {
    let is_released = |object: &&Object| {
        LASTING_WORKLOADS.contains(&object.kind())
            && object.group() == "apps"
            && object.when.is_none()
            && matches!(
                object.metadata("namespace"),
                None | Some(Value::Expr(Expr::ReleaseNamespace))
            )
            && !object.name().is_empty()
    };
    let found = unit.objects.iter().filter(is_released);
    let mut found: Vec<(String, String)> =
        found.map(|object| (object.kind().to_lowercase(), object.name().to_owned())).collect();
    found.sort_unstable();
    found
}

/// Returns the path of the value that enables the test, which charts of models have as well.
pub fn image() -> ValuesPath {
    ValuesPath::new(["tests", "image"])
}

fn value() -> ValueSpec {
    ValueSpec {
        path: image(),
        default: json!(""),
        documented_default: None,
        schema: json!({"type": "string"}),
        description: format!(
            "Image with kubectl as entry point, such as `{KUBECTL_IMAGE}`, which enables `helm test`: it \
                waits for the rollout of the workloads. Its ServiceAccount may only read them"
        ),
    }
}

/// Returns the ServiceAccount, Role, RoleBinding and Pod of the test.
fn objects(chart: &str, workloads: &[(String, String)]) -> Vec<Object> {
    let name = format!("{chart}-test");
    let rules: Vec<Json> = LASTING_WORKLOADS
        .iter()
        .map(|kind| kind.to_lowercase())
        .filter_map(|kind| {
            let own = workloads.iter().filter(|(other, _)| *other == kind);
            let names: Vec<&String> = own.map(|(_, name)| name).collect();
            // kubectl lists and watches one name, which the names allow.
            (!names.is_empty()).then(|| {
                json!({
                    "apiGroups": ["apps"],
                    "resources": [format!("{kind}s")],
                    "resourceNames": names,
                    "verbs": ["get", "list", "watch"],
                })
            })
        })
        .collect();

    let containers = workloads.iter().enumerate().map(|(index, (kind, workload))| {
        let mut container = object_of(&json!({
            "name": format!("rollout-{index}"),
            "args": ["rollout", "status", format!("{kind}/{workload}"), "--timeout=5m"],
            "securityContext": container_security(),
        }));
        container.insert("image".to_owned(), Expr::Text(image()).into());
        Value::from(container)
    });

    let mut pod = object_of(&json!({
        "restartPolicy": "Never",
        "serviceAccountName": name,
        "securityContext": pod_security(),
    }));
    pod.insert("containers".to_owned(), Value::Seq(containers.collect()));

    let role = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name});
    let subjects = Value::Seq(vec![Value::map([
        ("kind", Value::text("ServiceAccount")),
        ("name", Value::text(&name)),
        ("namespace", Expr::ReleaseNamespace.into()),
    ])]);
    let rbac = "rbac.authorization.k8s.io/v1";
    vec![
        hook("v1", "ServiceAccount", &name, []),
        hook(rbac, "Role", &name, [("rules", Value::from(json!(rules)))]),
        hook(rbac, "RoleBinding", &name, [("roleRef", Value::from(role)), ("subjects", subjects)]),
        hook("v1", "Pod", &name, [("spec", pod.into())]),
    ]
}

/// Returns the map of a JSON object.
pub fn object_of(json: &Json) -> Map {
    match Value::from(json) {
        Value::Map(map) => *map,
        _ => Map::new(),
    }
}

/// Returns an object that is a test hook, rendered if the value with the image is set.
pub fn hook<const N: usize>(
    api_version: &str,
    kind: &str,
    name: &str,
    fields: [(&str, Value); N],
) -> Object {
    let mut annotations = vec![
        ("helm.sh/hook", Value::text("test")),
        ("helm.sh/hook-delete-policy", Value::text("before-hook-creation,hook-succeeded")),
    ];
    // Helm creates hooks by weight, and the Pod needs the others.
    if kind != "Pod" {
        annotations.push(("helm.sh/hook-weight", Value::text("-1")));
    }
    let metadata = Value::map([
        ("name", Value::text(name)),
        ("namespace", Expr::ReleaseNamespace.into()),
        ("annotations", Value::map(annotations)),
    ]);
    let head = [
        ("apiVersion", Value::text(api_version)),
        ("kind", Value::text(kind)),
        ("metadata", metadata),
    ];
    let entries = head.into_iter().chain(fields);
    let root = entries.map(|(key, value)| (key.to_owned(), value)).collect();
    let mut object = Object::new(root, Origin::Added(ORIGIN));
    object.when = Some(Condition::Set(image()));
    object
}
