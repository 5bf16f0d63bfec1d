//! Projects that bring the kinds of API groups that Kubernetes does not have.

const PROVIDERS: [(&str, &str); 10] = [
    ("autoscaling.k8s.io", "the Vertical Pod Autoscaler"),
    ("cert-manager.io", "cert-manager"),
    ("console.openshift.io", "the OpenShift console"),
    ("disaggregatedset.x-k8s.io", "LeaderWorkerSet with the DisaggregatedSet API"),
    ("gateway.networking.k8s.io", "the Gateway API CRDs"),
    ("inference.networking.k8s.io", "the Gateway API Inference Extension CRDs"),
    ("inference.networking.x-k8s.io", "the Gateway API Inference Extension CRDs"),
    ("keda.sh", "KEDA"),
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"),
    ("monitoring.coreos.com", "the Prometheus Operator"),
];

/// Returns the project that provides the kinds of an API group, for messages; `None` for unknown
/// groups.
pub(crate) fn provider(group: &str) -> Option<&'static str> {
    PROVIDERS.iter().find(|(known, _)| *known == group).map(|(_, provider)| *provider)
}
