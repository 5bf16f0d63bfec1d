//! The scope of kinds: namespaced or cluster-scoped.

use crate::ir::{Object, Scope, Scopes};

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
pub fn is_built_in(object: &Object) -> bool {
    is_built_in_group(object.group())
}

fn is_built_in_group(group: &str) -> bool {
    group.is_empty() || GROUPS.contains(&group)
}

/// Returns the scope of a kind that is built in, or one of `scopes`; else `None`.
pub fn scope_of(group: &str, kind: &str, scopes: &Scopes) -> Option<Scope> {
    if is_built_in_group(group) {
        // The reviews of access and tokens are cluster-scoped as well, but no chart can have them:
        // the API server answers them and stores nothing.
        let cluster = CLUSTER.contains(&kind);
        return Some(if cluster { Scope::Cluster } else { Scope::Namespaced });
    }
    scopes.get(&format!("{group}/{kind}")).copied()
}
