//! Rules for objects of every kind.

use super::fields::{self, plain};
use super::{RuleContext, display_value, found, listed, missing, refused, rules};
use crate::ir::Identity;
use crate::path::Step;
use crate::read::{at, is_custom_kind, text};
use crate::{Finding, Rule, is_description};
use serde_json::Value as Json;

rules! {
    /// Object removed that other objects still reference.
    ///
    /// The references fail: pods do not start without their ConfigMap, Secret or ServiceAccount,
    /// webhooks fail without their Service.
    REFERENCED "object-removed-referenced" Breaking(Unavailable Fix)
        "Check what creates the object now; if nothing does, create it yourself before the upgrade.";
    /// Object with data removed.
    ///
    /// Helm deletes the object on the upgrade, or a controller deletes the claims of a StatefulSet's
    /// pods. Data is lost unless a reclaim policy retains it.
    DATA "data-removed" Breaking(DataLost BackUp)
        "Before the upgrade, back up the data, or set the annotation `helm.sh/resource-policy: keep`.";
    /// Object removed from the chart and kept in the cluster.
    ///
    /// The object has the annotation `helm.sh/resource-policy: keep`, so Helm neither deletes nor
    /// manages it.
    KEPT "object-kept" Info
        "Delete it when nothing uses it any more.";
    /// Workload removed.
    ///
    /// The upgrade deletes its pods.
    WORKLOAD_REMOVED "workload-removed" Risky(Unavailable)
        "Check what replaces it.";
    /// Service removed.
    ///
    /// Clients outside of this chart that use its DNS name fail, as with the removal of one of its
    /// ports.
    SERVICE_REMOVED "service-removed" Breaking(Unavailable Fix)
        "Look for clients: Ingresses, monitoring, other namespaces.";
    /// Ingress or route removed.
    ///
    /// Its addresses are no longer routed; clients outside of the cluster cannot connect.
    EXPOSURE_REMOVED "route-removed" Breaking(Unavailable Fix)
        "Create your own before the upgrade, or change the clients.";
    /// Aggregated API removed.
    ///
    /// The API server no longer serves the group version of the APIService: clients and autoscalers
    /// that use it fail.
    API_REMOVED "api-service-removed" Breaking(ApiRemoved Fix)
        "Look for clients of the API.";
    /// ConfigMap or Secret removed.
    ///
    /// Nothing in the chart references it, but operators read ConfigMaps and Secrets through the
    /// API, and users mount them.
    CONFIG_REMOVED "config-removed" Risky(Unavailable)
        "Check what reads it.";
    /// ServiceAccount removed.
    ///
    /// Operators create pods with ServiceAccounts of their chart, and users bind roles to them.
    /// Pods with a missing ServiceAccount are not created.
    ACCOUNT_REMOVED "service-account-removed" Risky(Unavailable)
        "Check which pods use it.";
    /// Class of the cluster removed.
    ///
    /// Pods, claims and ingresses that name a PriorityClass, StorageClass, IngressClass or
    /// RuntimeClass are rejected, or wait, without it.
    CLASS_REMOVED "class-removed" Risky(Unavailable)
        "Look for objects that name it.";
    /// PodDisruptionBudget or autoscaler removed.
    ///
    /// Drains of nodes may evict all pods at once, or the number of replicas no longer follows the
    /// load.
    AVAILABILITY_REMOVED "availability-removed" Risky(Unavailable)
        "Create your own if you need it.";
    /// Custom resource removed.
    ///
    /// Its operator deletes what it made for it: certificates, monitoring, workloads.
    CUSTOM_REMOVED "custom-resource-removed" Risky(Unavailable)
        "Check what its operator created for it.";
    /// Object of a kind that the chart did not have and does not define.
    ///
    /// Helm rejects the release if the cluster does not serve the kind: another operator or the
    /// cluster must provide its CRD.
    NEEDS_API "api-needed" Risky(UpgradeFails Provide)
        "Check that your clusters have the CRD.";
    /// Aggregated API added.
    ///
    /// While its Service does not answer, requests for the API fail, and so do the deletion of
    /// namespaces and the discovery of all APIs.
    API_ADDED "api-service-added" Risky(RequestsBlocked)
        "Check that its Service is ready after the upgrade.";
    /// Quota, limit range or admission policy added.
    ///
    /// The API server rejects objects that exceed or violate it, also those of others in its scope.
    LIMITS_ADDED "quota-added" Risky(Rejected)
        "Check which objects it applies to.";
    /// Object renamed.
    ///
    /// The content is nearly the same. Helm creates the new object and deletes the old one; nothing
    /// refers to the old name: no field names objects of the kind, or all objects that did are in
    /// the chart and name the new one. Otherwise a rename is reported as the removal that it
    /// contains.
    RENAMED "object-renamed" Info
        "Nothing, unless your own scripts use the old name.";
    /// Object removed.
    ///
    /// Helm deletes it on the upgrade.
    REMOVED "object-removed" Info
        "Nothing, unless something outside of this chart uses it.";
    /// Object added.
    ///
    /// Helm creates it on the upgrade, and fails if an object with this name exists outside of the
    /// release.
    ADDED "object-added" Info;
    /// API version of an object changed.
    ///
    /// The object stays the same. The cluster must serve the new version.
    API_VERSION "api-version-changed" Info
        "Check that your clusters serve the new version.";
    /// Description changed.
    ///
    /// Descriptions do not affect behavior.
    DESCRIPTION "description-changed" Info counted;
    /// Labels or annotations changed.
    ///
    /// They matter only to selectors and to tools that read them.
    METADATA "metadata-changed" Info counted
        "Nothing, unless your own selectors or tools use them.";
    /// Order of init containers changed.
    ///
    /// They run one after the other.
    INIT_ORDER "init-order-changed" Risky(Unavailable)
        "Check that none needs what a later one does.";
    /// Order of list items changed.
    ///
    /// The items are the same.
    ORDER "order-changed" Info counted;
    /// Field changed.
    ///
    /// No rule classifies the change as a risk.
    CHANGED "field-changed" Info;
}

pub(super) fn add_findings(context: &RuleContext<'_, '_>, findings: &mut Vec<Finding>) {
    let id = &context.pair.id;
    if is_description(id) {
        return;
    }

    if let Some(old) = renamed_from(context) {
        renamed(context, old, findings);
    }

    match (context.shape().as_slice(), &context.edit.old, &context.edit.new) {
        ([], Some(_), None) => removed(context, findings),
        ([], None, Some(new)) => added(context, new, findings),
        (["apiVersion"], Some(_), Some(_)) => findings.push(found(&API_VERSION, context.change())),
        ([.., "insecureSkipVerify" | "insecureSkipTLSVerify"], old, Some(Json::Bool(true)))
            if old.as_ref().is_none_or(|old| plain(old) != "true") =>
        {
            findings.push(found(&fields::TLS_UNVERIFIED, context.change()));
        }
        ([], ..) => {}
        _ => findings.extend(refused::findings(context)),
    }
}

/// Returns the old identity of a renamed object if the edit is the one of its name or namespace.
pub(super) fn renamed_from<'s>(context: &RuleContext<'s, '_>) -> Option<&'s Identity> {
    let old = context.pair.old_id.as_ref().filter(|old| **old != context.pair.id)?;
    let field = if old.name == context.pair.id.name { "namespace" } else { "name" };
    (context.shape() == ["metadata", field]).then_some(old)
}

/// Adds the findings for a renamed object: at least those for the removal of the old name, unless all
/// that refers to it is in the chart and moved, too.
fn renamed(context: &RuleContext<'_, '_>, old: &Identity, findings: &mut Vec<Finding>) {
    let name = display_value(&Json::String(old.to_string()));
    let kept = context.pair.old.is_some_and(is_kept);
    let (sides, id) = (context.sides, &context.pair.id);
    let still = sides.references.to(old);
    if !still.is_empty() && !kept {
        let reason = format!("{} still references `{old}`, renamed to `{id}`", listed(&still, 3));
        findings.push(found(&REFERENCED, reason));
    }

    let moved = REFERRED.contains(&old.kind.as_str())
        && still.is_empty()
        && !sides.old_references.to(old).is_empty();
    let loss = loss(old).filter(|_| !moved && !kept && !UNNAMED.contains(&old.kind.as_str()));
    findings.push(match loss {
        Some((rule, effect)) => found(rule, format!("renamed from {name}: {effect}")),
        None => found(&RENAMED, format!("renamed from {name}")),
    });
}

/// Kinds that serve their chart, and are reached by references of its objects: without these,
/// nothing else looks for the name.
const REFERRED: [&str; 3] = ["ConfigMap", "Secret", "ServiceAccount"];

/// Kinds that apply to what they select or target, so that no field and no client names them.
const UNNAMED: [&str; 2] = ["PodDisruptionBudget", "HorizontalPodAutoscaler"];

/// Adds the findings for a removed object.
fn removed(context: &RuleContext<'_, '_>, findings: &mut Vec<Finding>) {
    let id = &context.pair.id;

    // Removed CRDs have rules of their own.
    if context.pair.old.is_some_and(is_kept) {
        if id.kind != "CustomResourceDefinition" {
            findings.push(found(&KEPT, "Helm keeps it in the cluster"));
        }
        return;
    }

    let still = context.sides.references.to(id);
    if !still.is_empty() {
        findings.push(found(&REFERENCED, format!("{} still references it", listed(&still, 3))));
    }
    findings.extend(loss(id).map(|(rule, effect)| found(rule, effect)));
}

/// Returns the rule for what is lost with an object, or with its name, and the effect.
fn loss(id: &Identity) -> Option<(&'static Rule, String)> {
    let deletes = || format!("the upgrade deletes the {}", id.kind);
    Some(match id.kind.as_str() {
        "PersistentVolumeClaim" | "PersistentVolume" | "Namespace" | "StatefulSet" => {
            (&DATA, deletes())
        }
        "Deployment" | "DaemonSet" | "Job" | "CronJob" | "ReplicaSet" | "Pod" => {
            (&WORKLOAD_REMOVED, deletes())
        }
        "Service" => (&SERVICE_REMOVED, "its DNS name no longer resolves".to_owned()),
        "Ingress" | "HTTPRoute" | "GRPCRoute" | "TLSRoute" | "Route" | "Gateway" => {
            (&EXPOSURE_REMOVED, "its addresses are no longer routed".to_owned())
        }
        "APIService" => (&API_REMOVED, "the API of this group and version is gone".to_owned()),
        "ConfigMap" | "Secret" => (&CONFIG_REMOVED, deletes()),
        "ServiceAccount" => (&ACCOUNT_REMOVED, deletes()),
        "PriorityClass" | "StorageClass" | "IngressClass" | "RuntimeClass" => {
            (&CLASS_REMOVED, deletes())
        }
        "PodDisruptionBudget" | "HorizontalPodAutoscaler" => (&AVAILABILITY_REMOVED, deletes()),
        _ if is_custom_kind(id) => {
            (&CUSTOM_REMOVED, "its operator deletes what it made for it".to_owned())
        }
        _ => return None,
    })
}

/// Adds the findings for an added object.
fn added(context: &RuleContext<'_, '_>, new: &Json, findings: &mut Vec<Finding>) {
    let id = &context.pair.id;
    let kind = &id.kind;
    let is_foreign = !context.sides.known_kinds.contains(&(id.group.as_str(), id.kind.as_str()));

    // Most additions need no attention: these affect other objects, expose something, or need an
    // API that the cluster may not serve.
    findings.extend(match kind.as_str() {
        "APIService" => Some(found(&API_ADDED, "new APIService")),
        "ResourceQuota"
        | "LimitRange"
        | "ValidatingAdmissionPolicyBinding"
        | "MutatingAdmissionPolicyBinding" => Some(found(&LIMITS_ADDED, format!("new {kind}"))),
        // Knative has a kind of this name, too.
        "Service" if !is_custom_kind(id) => {
            let exposure = text(new, &["spec", "type"]);
            let is_exposed = ["LoadBalancer", "NodePort"].contains(&exposure);
            is_exposed.then(|| found(&fields::EXPOSED, format!("spec.type: {exposure}")))
        }
        "Ingress" => Some(found(&fields::EXPOSED, "new Ingress")),
        "PodDisruptionBudget" => {
            let is = |key: &str, texts: &[&str]| {
                at(new, &["spec", key]).is_some_and(|value| texts.contains(&plain(value).as_str()))
            };
            let is_none = is("maxUnavailable", &["0", "0%"]) || is("minAvailable", &["100%"]);
            is_none.then(|| found(&fields::BUDGET, "spec: no pod may be evicted"))
        }
        "PriorityClass" if new.get("globalDefault") == Some(&Json::Bool(true)) => {
            Some(found(&fields::DEFAULT_CLASS, "globalDefault: true"))
        }
        _ if is_custom_kind(id) && is_foreign => {
            let api = text(new, &["apiVersion"]);
            Some(found(&NEEDS_API, format!("the cluster must serve {kind} in {api}")))
        }
        _ => None,
    });
}

/// Returns an annotation of an object.
fn annotation<'j>(object: &'j Json, name: &str) -> Option<&'j str> {
    at(object, &["metadata", "annotations", name]).and_then(Json::as_str)
}

/// Returns true if the object has `helm.sh/resource-policy: keep`.
pub(super) fn is_kept(object: &Json) -> bool {
    annotation(object, "helm.sh/resource-policy") == Some("keep")
}

/// Returns true if the object is a Helm hook.
pub(crate) fn is_hook(object: &Json) -> bool {
    annotation(object, "helm.sh/hook").is_some()
}

/// Returns true if Helm deletes and recreates the object: a hook whose
/// `helm.sh/hook-delete-policy` is unset or contains `before-hook-creation`.
pub(super) fn is_recreated(object: &Json) -> bool {
    is_hook(object)
        && annotation(object, "helm.sh/hook-delete-policy")
            // Helm's default policy.
            .is_none_or(|policy| policy.contains("before-hook-creation"))
}

/// Returns the finding for an edit without other findings.
pub(super) fn fallback(context: &RuleContext<'_, '_>) -> Finding {
    let edit = context.edit;
    let is_reordered = || match (&edit.old, &edit.new) {
        _ if matches!(context.steps().last(), Some(Step::Order(_))) => true,
        (Some(Json::Array(old)), Some(Json::Array(new))) => {
            old.len() == new.len() && missing(old, new).is_empty()
        }
        _ => false,
    };
    // Elsewhere `description` may be a field with a meaning.
    let in_schema = context.pair.id.kind == "CustomResourceDefinition";
    let is_metadata = |pair: &[&str]| matches!(pair, ["metadata", "labels" | "annotations"]);

    match (context.shape().as_slice(), &edit.old, &edit.new) {
        ([], None, Some(_)) => found(&ADDED, "new object"),
        ([], Some(_), None) => found(&REMOVED, "object removed"),
        (shape, ..) if is_reordered() => {
            let rule = if matches!(shape, [.., "initContainers", "[order]"]) {
                &INIT_ORDER
            } else {
                &ORDER
            };
            found(rule, format!("{}: same items in another order", context.label()))
        }
        ([.., "description" | "title" | "example"], ..) if in_schema => {
            found(&DESCRIPTION, "description changed")
        }
        (shape, ..) if shape.windows(2).any(is_metadata) => found(&METADATA, context.change()),
        _ => found(&CHANGED, context.change()),
    }
}
