//! The kinds that a registry+v1 bundle may ship, and their scope.

use crate::ir::Scope;

/// OLM: operator-registry, bundle supported resources; matched by kind alone, as there. The table
/// there calls VerticalPodAutoscaler cluster-scoped, which it is not.
const SUPPORTED: [(&str, Scope); 22] = [
    ("ClusterRole", Scope::Cluster),
    ("ClusterRoleBinding", Scope::Cluster),
    ("ClusterServiceVersion", Scope::Namespaced),
    ("ConfigMap", Scope::Namespaced),
    ("ConsoleCLIDownload", Scope::Cluster),
    ("ConsoleLink", Scope::Cluster),
    ("ConsolePlugin", Scope::Cluster),
    ("ConsoleQuickStart", Scope::Cluster),
    ("ConsoleYAMLSample", Scope::Cluster),
    ("CustomResourceDefinition", Scope::Cluster),
    ("NetworkPolicy", Scope::Namespaced),
    ("PodDisruptionBudget", Scope::Namespaced),
    ("PodMonitor", Scope::Namespaced),
    ("PriorityClass", Scope::Cluster),
    ("PrometheusRule", Scope::Namespaced),
    ("Role", Scope::Namespaced),
    ("RoleBinding", Scope::Namespaced),
    ("Secret", Scope::Namespaced),
    ("Service", Scope::Namespaced),
    ("ServiceAccount", Scope::Namespaced),
    ("ServiceMonitor", Scope::Namespaced),
    ("VerticalPodAutoscaler", Scope::Namespaced),
];

/// Returns the scope of a kind that a bundle may ship; `None` for other kinds.
pub fn supported_scope(kind: &str) -> Option<Scope> {
    SUPPORTED.iter().find(|(name, _)| *name == kind).map(|(_, scope)| *scope)
}

/// Returns all kinds that a bundle may ship, in alphabetical order.
pub fn supported_kinds() -> impl Iterator<Item = &'static str> {
    SUPPORTED.iter().map(|(name, _)| *name)
}
