//! Identities of objects.

use serde_json::Value as Json;
use std::fmt;

/// Identity of an object in a cluster, independent of the API version.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identity {
    /// `kind`
    pub kind: String,
    /// API group; empty for the core group.
    pub group: String,
    /// `metadata.namespace`; empty for cluster scope and for the release namespace.
    pub namespace: String,
    /// `metadata.name`
    pub name: String,
}

/// Kinds that moved to another API group: old group, kind, new group. The objects are the same.
const MOVED_GROUPS: [(&str, &str, &str); 5] = [
    // Kubernetes 1.16 removed the old groups, 1.22 that of Ingress; before, it served objects in
    // both.
    ("extensions", "Deployment", "apps"),
    ("extensions", "DaemonSet", "apps"),
    ("extensions", "ReplicaSet", "apps"),
    ("extensions", "Ingress", "networking.k8s.io"),
    ("extensions", "NetworkPolicy", "networking.k8s.io"),
];

/// Returns the group of an `apiVersion`; empty for the core group.
pub fn group_of(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

/// Returns true for API groups of Kubernetes itself, and for some of CRDs.
pub fn may_be_built_in_group(group: &str) -> bool {
    // CRDs of Kubernetes' subprojects have such groups as well (`gateway.networking.k8s.io`), and
    // are taken for built-in kinds: fewer findings are reported.
    !group.contains('.') || group.ends_with(".k8s.io")
}

impl Identity {
    /// Creates an identity from its parts.
    pub fn new(kind: &str, group: &str, namespace: &str, name: &str) -> Self {
        let [kind, group, namespace, name] = [kind, group, namespace, name].map(str::to_owned);
        Identity { kind, group, namespace, name }
    }

    /// Returns the identity of an object.
    pub fn of(object: &Json) -> Self {
        let text = |pointer| object.pointer(pointer).and_then(Json::as_str).unwrap_or_default();
        let kind = text("/kind");
        let version = text("/apiVersion");
        // Without the version: an upgrade may move an object to another one.
        let group = group_of(version);
        let group = MOVED_GROUPS
            .iter()
            .find(|(from, moved, _)| *from == group && *moved == kind)
            .map_or(group, |(_, _, to)| to);
        Identity::new(kind, group, text("/metadata/namespace"), text("/metadata/name"))
    }
}

impl fmt::Display for Identity {
    /// Writes `Deployment/manager` or `RoleBinding/kube-system/reader`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.kind)?;
        if !self.namespace.is_empty() {
            write!(f, "/{}", self.namespace)?;
        }
        write!(f, "/{}", self.name)
    }
}
