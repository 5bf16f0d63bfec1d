//! Delegated authentication off OpenShift.

use super::Context;
use crate::diag::Diagnostics;
use crate::ir::{Object, Origin, Unit, value};
use crate::olm::{self, AUTH_READER, auth_reader_name};
use std::collections::BTreeSet;

/// Allows the ServiceAccount of every Deployment to read the API server's authentication
/// configuration in `kube-system`. OpenShift grants this to everyone; on other clusters, operators
/// with delegated authentication (for example with library-go's controller command) exit on startup
/// without it.
pub(super) fn auth_reader(unit: &mut Unit, context: &Context, _: &mut Diagnostics) {
    if context.operator.auth_reader != Some(true) {
        return;
    }
    let deployments = unit.of_kind("Deployment");
    let accounts: BTreeSet<String> =
        deployments.map(|deployment| deployment.account().to_owned()).collect();
    // Those that serve APIs have theirs.
    let bound = unit.names("RoleBinding");
    let chart = &context.chart;
    let missing =
        accounts.iter().filter(|account| !bound.contains(&auth_reader_name(chart, account)));
    unit.objects.extend(missing.map(|account| role_binding(chart, account)));
}

/// Returns a RoleBinding to the Role that Kubernetes creates for reading the request headers and CA
/// of the aggregation layer. It must be in kube-system, where the Role and its ConfigMap are.
fn role_binding(chart: &str, account: &str) -> Object {
    let name = auth_reader_name(chart, account);
    let metadata = value!({"name": name, "namespace": "kube-system"});
    let root = olm::binding(metadata, ["Role", AUTH_READER], account);
    Object::new(root, Origin::Added("auth-reader"))
}
