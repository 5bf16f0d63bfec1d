//! Pods always name their ServiceAccount.

use super::Context;
use crate::diag::Diagnostics;
use crate::ir::{Object, Unit, Value};

/// Workloads whose pods may change. An API server refuses other pods in the place of a Job's.
const REPLACEABLE: [&str; 4] = ["DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"];

/// Sets `serviceAccountName` in pod templates without one to the effective account.
///
/// The API server copies the name to the deprecated field `serviceAccount`, and back if it is
/// missing. An upgrade or rollback to pods without the name removes only one of the fields, so the
/// pods would keep the account of the previous version.
pub(super) fn service_account_name(unit: &mut Unit, _: &Context, _: &mut Diagnostics) {
    let is_replaceable =
        |object: &&mut Object| object.group() == "apps" && REPLACEABLE.contains(&object.kind());
    for workload in unit.objects.iter_mut().filter(is_replaceable) {
        let account = workload.account().to_owned();
        let Some(pod) = workload.pod_spec_mut() else { continue };
        // Any other value is a name, or an error of `check_types`.
        let is_unset = |name: &Value| name.is_null() || name.as_str() == Some("");
        if pod.get("serviceAccountName").is_none_or(is_unset) {
            pod.insert("serviceAccountName".to_owned(), Value::text(account));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{Object, Origin};
    use serde_json::{Value as Json, json};

    /// Returns the `serviceAccountName` that a workload has after the pass.
    fn named(api_version: &str, kind: &str, pod: Json) -> Option<String> {
        let template = json!({"spec": pod});
        let workload = json!({
            "apiVersion": api_version, "kind": kind, "metadata": {"name": "w"}, "spec": {"template": template}
        });
        let root = Value::from(&workload).as_map().expect("a map").clone();
        let mut unit = Unit::default();
        unit.objects.push(Object::new(root, Origin::Added("test")));
        service_account_name(&mut unit, &Context::default(), &mut Diagnostics::new());
        let name = unit.objects[0].pod_spec()?.get("serviceAccountName")?;
        name.as_str().map(str::to_owned)
    }

    #[test]
    fn pods_name_their_account() {
        let deployment = |pod| named("apps/v1", "Deployment", pod);
        assert_eq!(deployment(json!({})).as_deref(), Some("default"));
        assert_eq!(deployment(json!({"serviceAccountName": ""})).as_deref(), Some("default"));
        assert_eq!(deployment(json!({"serviceAccountName": null})).as_deref(), Some("default"));
        assert_eq!(deployment(json!({"serviceAccount": "a"})).as_deref(), Some("a"));
        let both = json!({"serviceAccountName": "b", "serviceAccount": "a"});
        assert_eq!(deployment(both).as_deref(), Some("b"));
    }

    #[test]
    fn pods_of_every_workload_that_replaces_them_do() {
        for kind in ["DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"] {
            assert_eq!(named("apps/v1", kind, json!({})).as_deref(), Some("default"), "{kind}");
        }
        assert_eq!(named("apps/v1", "Job", json!({})), None);
    }

    #[test]
    fn jobs_stay_as_they_are() {
        assert_eq!(named("batch/v1", "Job", json!({})), None);
        assert_eq!(named("example.com/v1", "Deployment", json!({})), None);
    }
}
