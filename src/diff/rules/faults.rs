//! Faults: objects that cannot start or serve. They are found on each side as a whole and reported
//! where they are new, at the edit that is nearest to their place.

mod pods;
mod services;

use super::crd_schema::{DEFAULT_REFUSED, schema_field};
use super::rbac::EffectivePermissions;
use super::{Judged, display_value, found, rules};
use crate::field_ownership::Targets;
use crate::identity::{Pair, Renamed};
use crate::ir::{self, path_of};
use crate::path::{Path, Step};
use crate::read::{items, keys, named, text};
use crate::{Finding, Identity, Rule, Side, is_description, passes};
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet, HashSet};

rules! {
    /// Pods need an object that nothing creates.
    ///
    /// Without a Secret, ConfigMap or PersistentVolumeClaim that is not optional, containers do not
    /// start; without its ServiceAccount or PriorityClass, a pod is not created.
    MISSING "object-missing" Breaking(Unavailable Provide)
        "Create the object before the upgrade.";
    /// Pull secret that nothing creates.
    ///
    /// The kubelet ignores a missing pull secret, so pods start only if their registry needs none.
    PULL_SECRET "pull-secret-missing" Risky(Unavailable Provide)
        "Create the Secret before the upgrade if the registry needs it.";
    /// Key of a ConfigMap or Secret that does not exist.
    ///
    /// Containers with a reference to a missing key do not start (CreateContainerConfigError).
    KEY "config-key-missing" Breaking(Unavailable Provide)
        "Add the key, or make the reference optional.";
    /// Named port that no container has.
    ///
    /// A probe with the port fails, so its container restarts or is never ready; a Service has no
    /// endpoints for the port.
    PORT "port-unknown" Breaking(Unavailable Fix)
        "Add the port to the container, or use its number.";
    /// Port that no container declares or mentions.
    ///
    /// Declared ports are only documentation, so a program may listen on it anyway; but neither the
    /// ports, arguments nor environment of the pod have this number any more.
    UNDECLARED "port-undeclared" Risky(Unavailable)
        "Check which port the program listens on.";
    /// New Service without pods in the chart.
    ///
    /// It has no endpoints unless an operator or a user creates pods with its labels.
    SELECTS_NONE "service-selects-nothing" Risky(Unavailable)
        "Check what creates the pods.";
    /// Service no longer selects pods of the chart.
    ///
    /// It has no endpoints, so its clients cannot connect.
    NO_PODS "service-without-pods" Breaking(Unavailable Fix)
        "Check the labels of the pods and the selector.";
    /// Webhook or aggregated API without its Service.
    ///
    /// The API server cannot call it: matching requests fail, unless `failurePolicy` is Ignore.
    BACKEND "backend-missing" Breaking(RequestsBlocked Fix)
        "Create the Service and its port, or remove the configuration.";
    /// Container runs as root and must not.
    ///
    /// The kubelet does not start a container with user 0 under `runAsNonRoot: true`
    /// (CreateContainerConfigError).
    ROOT "root-not-allowed" Breaking(Unavailable Fix)
        "Set another `runAsUser`, or `runAsNonRoot: false`.";
    /// Object that the API server rejects.
    ///
    /// Its content breaks a rule of the API server, as in the lint `api-refuses`: for example, the
    /// selector of a workload does not match its pods, or a CRD has no storage version.
    REFUSED "object-refused" Breaking(UpgradeFails Fix)
        "Fix the object in the bundle or with a patch.";
    /// Autoscaler without the requests that it needs.
    ///
    /// A metric of type `Utilization` is relative to the requests of all containers: if one has no
    /// request of the resource, the HorizontalPodAutoscaler does not scale (FailedGetResourceMetric).
    NO_REQUEST "autoscaling-without-request" Risky(Unavailable)
        "Set the request, or use the type `AverageValue`.";
    /// Pods without a token for the Kubernetes API.
    ///
    /// The ServiceAccount has permissions, but with `automountServiceAccountToken: false` the pods
    /// cannot authenticate.
    TOKEN "api-token-missing" Breaking(Unavailable Fix)
        "Mount the token, or check that the program does not use the API.";
    /// Leader election without permission for Leases.
    ///
    /// A replica that cannot create and update its Lease never becomes leader, and reconciles
    /// nothing.
    LEASE "lease-not-allowed" Breaking(Unavailable Fix)
        "Bind a Role with get, create and update of `leases.coordination.k8s.io`.";
    /// Operator may no longer list or watch its own custom resources.
    ///
    /// Without list its caches do not synchronize, and without watch they do not learn of changes,
    /// so it reconciles nothing.
    OWN_API "own-api-not-readable" Breaking(Unavailable Fix)
        "Bind a role with list and watch of the resource.";
    /// Field set that a controller of the cluster owns.
    ///
    /// After the controller has set the field, each `helm upgrade` of Helm 4 fails with a conflict
    /// (`conflict with "…"`), because server-side apply does not overwrite fields of another field
    /// manager.
    CONTROLLED "controller-field-added" Breaking(UpgradeFails Fix)
        "Leave the field out of the chart, or upgrade with `--force-conflicts` each time.";
}

pub(super) use pods::elects_leader;

/// A fault of a side.
pub(super) struct Fault {
    /// The object with the fault.
    id: Identity,
    /// The rule, and the fault without the object.
    finding: Finding,
    /// The field that is wrong.
    path: Path,
}

impl Fault {
    fn new(id: &Identity, rule: &'static Rule, reason: String, path: Vec<Step>) -> Self {
        Fault { id: id.clone(), finding: found(rule, reason), path: Path(path) }
    }
}

/// The findings on new faults with their paths, by object.
pub(super) type Faults = BTreeMap<Identity, Vec<Judged>>;

/// Returns the faults that the new side has and the old one does not have. `accounts` are those that the
/// new side uses.
pub(super) fn between(
    [old, new]: [&Side; 2],
    pairs: &[Pair<'_>],
    renamed: &Renamed<'_>,
    [before, after]: [&EffectivePermissions<'_>; 2],
    accounts: &HashSet<String>,
) -> Faults {
    let known: BTreeSet<(Identity, &str, String)> = of(old, before)
        .into_iter()
        .map(|Fault { id, finding, .. }| {
            let id = renamed.get(&id).map_or(id, |id| (*id).clone());
            (id, finding.rule.code, finding.reason)
        })
        .collect();
    let existed: BTreeSet<&Identity> =
        old.objects.keys().chain(renamed.values().copied()).collect();

    let mut faults = Faults::new();
    let lost_apis = pods::lost_apis(new, pairs, [before, after], accounts);
    let refused = pairs.iter().flat_map(refused);
    for Fault { id, mut finding, path } in
        of(new, after).into_iter().chain(lost_apis).chain(refused)
    {
        if known.contains(&(id.clone(), finding.rule.code, finding.reason.clone())) {
            continue;
        }
        // A Service that was there before had pods, because the fault is new.
        if finding.rule == &SELECTS_NONE && existed.contains(&id) {
            finding.rule = &NO_PODS;
        }
        faults.entry(id).or_default().push((path, finding));
    }
    faults
}

/// Returns the faults of a side.
fn of(side: &Side, permissions: &EffectivePermissions<'_>) -> Vec<Fault> {
    let pods = pods::Pod::all(side);
    let mut faults = pods::faults(side, &pods, permissions);
    faults.extend(services::faults(side, &pods));
    faults.extend(controlled(side));
    faults
}

/// Returns what the API server rejects of the new object, and not of the old one.
fn refused(pair: &Pair<'_>) -> Vec<Fault> {
    let has_changed = pair.old != pair.new && !is_description(&pair.id);
    let of = |object: Option<&Json>| {
        let object = object.filter(|_| has_changed);
        let refused = object.map(passes::refused).unwrap_or_default().into_iter();
        refused.map(|refusal| rejected(&pair.id, object, &refusal)).collect::<Vec<_>>()
    };
    let place = |fault: &Fault| (fault.path.clone(), fault.finding.reason.clone());
    let known: BTreeSet<(Path, String)> = of(pair.old).iter().map(place).collect();
    let mut refused = of(pair.new);
    refused.retain(|fault| !known.contains(&place(fault)));
    // One reason against a default is enough.
    refused
        .dedup_by(|next, fault| next.finding.rule == &DEFAULT_REFUSED && next.path == fault.path);
    refused
}

/// Returns the fault of an object that the API server rejects.
fn rejected(id: &Identity, object: Option<&Json>, refusal: &passes::Refusal) -> Fault {
    let path = ir::steps(&refusal.path);
    let versions = items(object, &["spec", "versions"]);
    // Items of lists have other indexes on the other side; versions of CRDs have names.
    let steps = path.iter().map_while(|step| match step {
        Step::Index(at) => {
            refusal.default.as_ref().map(|_| named(text(versions.get(*at), &["name"])))
        }
        key => Some(key.clone()),
    });
    let steps: Vec<Step> = steps.collect();
    let Some(why) = &refusal.default else {
        return Fault::new(id, &REFUSED, refusal.what.clone(), steps);
    };
    let keyword = Path(steps.clone()).with(Step::Key("default".to_owned()));
    let field = schema_field(&keyword).map(|schema| schema.field).unwrap_or_default();
    let schema = object.and_then(|object| ir::value_at(object, &path));
    let default = schema.and_then(|schema| schema.get("default"));
    let default = display_value(default.unwrap_or(&Json::Null));
    Fault::new(id, &DEFAULT_REFUSED, format!("{field}: default {default}: {why}"), steps)
}

/// Returns the fields that a controller sets.
fn controlled(side: &Side) -> Vec<Fault> {
    let targets = Targets::of(side.objects.values());
    let mut faults = Vec::new();
    for (id, object) in side.objects.iter().filter(|(id, _)| !side.filled.contains(id)) {
        for (controller, field, place) in targets.controlled(object) {
            let reason =
                format!("{}: {}", path_of(&place).trim_start_matches('.'), controller.what);
            faults.push(Fault::new(id, &CONTROLLED, reason, keys(field)));
        }
    }
    faults
}
