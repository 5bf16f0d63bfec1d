//! Proposed gates of known operators.

/// A gate that is proposed for a package, as an entry of `ready`, and why.
struct Proposal {
    package: &'static str,
    /// The entry, in TOML.
    entry: &'static str,
    /// The failure without it, as a sentence without a full stop.
    reason: &'static str,
}

/// Operators whose own readiness says little: what others need is created by them later.
const PROPOSALS: &[Proposal] = &[
    // Names and conditions are those of the operators' APIs; examples/llm-platform has them in use.
    Proposal {
        package: "openshift-cert-manager-operator",
        entry: r#"{ rollout = "deployment/cert-manager-webhook", namespace = "cert-manager", phase = "operand" }"#,
        reason: "the operator installs cert-manager later, and the API server rejects Certificates until \
            its webhook runs",
    },
    Proposal {
        package: "servicemeshoperator3",
        entry: r#"{ condition = "Ready", object = "sailoperator.io/v1/Istio/default", phase = "operand" }"#,
        reason: "istiod serves the GatewayClass of gateways, and other operators look for it when they start",
    },
    Proposal {
        package: "leader-worker-set",
        entry: r#"{ condition = "Available", object = "operator.openshift.io/v1/LeaderWorkerSetOperator/cluster", phase = "operand" }"#,
        reason: "the operator installs the controller of LeaderWorkerSets later",
    },
    Proposal {
        package: "leader-worker-set",
        entry: r#"{ crd = "leaderworkersets.leaderworkerset.x-k8s.io", phase = "operand" }"#,
        reason: "the CRD is not in the bundle: the operator creates it",
    },
    Proposal {
        package: "rhcl-operator",
        entry: r#"{ condition = "Ready", object = "kuadrant.io/v1beta1/Kuadrant/kuadrant", namespace = "kuadrant-system", phase = "operand" }"#,
        reason: "policies are not enforced until Authorino and Limitador run",
    },
    Proposal {
        package: "nfd",
        entry: r#"{ condition = "Available", object = "nfd.openshift.io/v1/NodeFeatureDiscovery/nfd-instance", phase = "operand" }"#,
        reason: "nodes have no labels of their devices until its workers run",
    },
    Proposal {
        package: "gpu-operator-certified",
        entry: r#"{ jsonpath = ".status.state", value = "ready", object = "nvidia.com/v1/ClusterPolicy/gpu-cluster-policy", phase = "operand" }"#,
        reason: "nodes have no allocatable GPU until driver and device plugin run",
    },
    Proposal {
        package: "kueue-operator",
        entry: r#"{ condition = "Available", object = "kueue.openshift.io/v1/Kueue/cluster", phase = "operand" }"#,
        reason: "the operator installs the CRDs and webhooks of queues later",
    },
    Proposal {
        package: "job-set",
        entry: r#"{ condition = "Available", object = "operator.openshift.io/v1/JobSetOperator/cluster", phase = "operand" }"#,
        reason: "the operator installs the controller of JobSets later",
    },
    Proposal {
        package: "rhods-operator",
        entry: r#"{ condition = "KserveReady", object = "datasciencecluster.opendatahub.io/v1/DataScienceCluster/default-dsc", phase = "operand" }"#,
        reason: "models cannot be served until KServe's controller and webhooks run",
    },
];

/// Returns the proposed entries of `ready` for a package, each with its reason.
pub(super) fn proposals(package: &str) -> Vec<(&'static str, &'static str)> {
    let known = PROPOSALS.iter().filter(|proposal| proposal.package == package);
    known.map(|proposal| (proposal.entry, proposal.reason)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::diag::{Diagnostics, SourceText};
    use std::path::Path;
    use std::sync::Arc;

    #[test]
    fn every_proposal_is_a_valid_gate() {
        for proposal in PROPOSALS {
            let text = format!(
                "[[bundle]]\nname = \"a\"\npath = \"a\"\nready = [{}]\n\
                 [[bundle.overlay]]\nphase = \"operand\"\npath = \"b\"\n",
                proposal.entry
            );
            let source = Arc::new(SourceText { name: "bundles.toml".to_owned(), text });
            let mut diagnostics = Diagnostics::new();
            let config = Config::parse(&source, Path::new("."), &mut diagnostics);
            assert!(diagnostics.is_empty(), "{}: {diagnostics:?}", proposal.entry);
            assert_eq!(config.unwrap().bundles[0].gates.len(), 1);
            assert!(!proposal.reason.ends_with('.') && proposal.reason.len() > 20);
        }
    }
}
