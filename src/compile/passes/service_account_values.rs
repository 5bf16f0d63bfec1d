//! Annotations of ServiceAccounts, for cloud workload identity.

use super::Context;
use super::deployment_values::add_entries;
use crate::diag::Diagnostics;
use crate::ir::{Unit, ValueSpec, ValuesPath, value_keys};
use serde_json::json;

/// Creates a value of the annotations of every ServiceAccount, under `serviceAccounts.KEY`.
pub(super) fn service_account_values(unit: &mut Unit, context: &Context, _: &mut Diagnostics) {
    // Keys are computed over all names together: names that differ in their version only keep it.
    let names = unit.names("ServiceAccount");
    let keys = value_keys(names.iter().map(String::as_str), &context.version);
    for object in unit.objects.iter_mut().filter(|object| object.kind() == "ServiceAccount") {
        let key = keys.get(object.name()).cloned().unwrap_or_default();
        let path = ValuesPath::new(["serviceAccounts", key.as_str(), "annotations"]);
        let schema = add_entries(object.metadata_mut(), "annotations", &path);
        // Accounts of one name in several namespaces have one value.
        if unit.values.iter().any(|value| value.path == path) {
            continue;
        }
        unit.values.push(ValueSpec::new(
            path,
            json!({}),
            schema,
            "Additional annotations for this ServiceAccount, for example for cloud \
                workload identity.",
        ));
    }
}
