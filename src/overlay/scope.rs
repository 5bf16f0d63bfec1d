//! The scope of kinds: namespaced or cluster-scoped.

use super::definitions::Definitions;
use crate::ir::Object;
use crate::ir::{Scope, Scopes};

/// API groups that are Kubernetes' own, besides the core group.
const GROUPS: [&str; 21] = [
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "apiregistration.k8s.io",
    "apps",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "autoscaling",
    "batch",
    "certificates.k8s.io",
    "coordination.k8s.io",
    "discovery.k8s.io",
    "events.k8s.io",
    "flowcontrol.apiserver.k8s.io",
    "internal.apiserver.k8s.io",
    "networking.k8s.io",
    "node.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "resource.k8s.io",
    "scheduling.k8s.io",
    "storage.k8s.io",
];

/// Kinds of these groups that live in the cluster (Kubernetes API, v1.37); all others live in a
/// namespace.
const CLUSTER: [&str; 32] = [
    "APIService",
    "CSIDriver",
    "CSINode",
    "CertificateSigningRequest",
    "ClusterRole",
    "ClusterRoleBinding",
    "ClusterTrustBundle",
    "ComponentStatus",
    "CustomResourceDefinition",
    "DeviceClass",
    "DeviceTaintRule",
    "FlowSchema",
    "IPAddress",
    "IngressClass",
    "MutatingAdmissionPolicy",
    "MutatingAdmissionPolicyBinding",
    "MutatingWebhookConfiguration",
    "Namespace",
    "Node",
    "PersistentVolume",
    "PriorityClass",
    "PriorityLevelConfiguration",
    "ResourceSlice",
    "RuntimeClass",
    "ServiceCIDR",
    "StorageClass",
    "StorageVersion",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
    "ValidatingWebhookConfiguration",
    "VolumeAttachment",
    "VolumeAttributesClass",
];

/// Returns true if the object's kind is built into Kubernetes.
pub(crate) fn is_built_in(object: &Object) -> bool {
    object.group().is_empty() || GROUPS.contains(&object.group())
}

/// Returns the scope of an object whose kind is built in, defined by one of these CRDs, or
/// configured; else `None`.
pub(crate) fn scope(
    object: &Object,
    definitions: &Definitions<'_>,
    configured: &Scopes,
) -> Option<Scope> {
    if is_built_in(object) {
        let cluster = CLUSTER.contains(&object.kind());
        return Some(if cluster { Scope::Cluster } else { Scope::Namespaced });
    }
    let defined = definitions.of_object(object).map(|definition| definition.scope);
    defined.or_else(|| configured.get(&format!("{}/{}", object.group(), object.kind())).copied())
}
