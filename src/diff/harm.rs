//! The ranking of rules by harm, so that reports show the worst findings first.

use super::Rule;

/// The kind of damage that a change can do, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Harm {
    /// Objects, or fields of stored objects, are deleted for good.
    DataLost,
    /// Requests for an API fail.
    ApiRemoved,
    /// Objects or values that were valid are rejected.
    Rejected,
    /// A user or workload can read Secrets, gain other permissions or leave a container.
    Escalation,
    /// Requests of others are intercepted or rejected.
    RequestsBlocked,
    /// `helm upgrade` fails.
    UpgradeFails,
    /// Something that others use stops.
    Unavailable,
    /// Permissions that are not an escalation by themselves.
    PermissionsChanged,
    /// Pods run differently.
    Behaviour,
    /// Clients read other values than before.
    ClientsAffected,
}

impl Harm {
    /// Returns the consequence, as the end of a sentence: "…, because stored data can be lost".
    pub fn consequence(self) -> &'static str {
        match self {
            Harm::DataLost => "stored data can be lost",
            Harm::ApiRemoved => "clients can lose an API",
            Harm::Rejected => "objects can be rejected",
            Harm::Escalation => "permissions widen to Secrets, escalation or the node",
            Harm::RequestsBlocked => "webhooks can block requests",
            Harm::UpgradeFails => "`helm upgrade` can fail",
            Harm::Unavailable => "something in use can stop",
            Harm::PermissionsChanged => "permissions change",
            Harm::Behaviour => "pods run differently",
            Harm::ClientsAffected => "clients can read other values",
        }
    }
}

/// The codes of all breaking and risky rules by harm, the worst first, also within a row.
const TABLE: &[(Harm, &[&str])] = &[
    (
        Harm::DataLost,
        &[
            "package-changed",
            "crd-removed",
            "data-removed",
            "crd-scope-changed",
            "crd-placement-left-templates",
            "crd-stored-version-removed",
            "crd-property-removed",
            "crd-free-fields-pruned",
            "crd-unknown-fields-pruned",
            "downgrade",
            "crd-conversion-removed",
            "volume-reclaim-changed",
            "volume-claim-unused",
            "keep-policy-removed",
        ],
    ),
    (
        Harm::ApiRemoved,
        &[
            "crd-version-removed",
            "crd-version-not-served",
            "crd-names-changed",
            "crd-subresource-removed",
            "api-service-removed",
            "crd-selectable-field-removed",
            "crd-scale-changed",
            "crd-short-name-removed",
        ],
    ),
    (
        Harm::Rejected,
        &[
            "crd-list-unique",
            "crd-enum-narrowed",
            "crd-type-changed",
            "crd-required-added",
            "crd-null-refused",
            "crd-range-narrowed",
            "crd-pattern-added",
            "crd-list-keys-changed",
            "crd-validation-added",
            "crd-pattern-changed",
            "crd-format-changed",
            "crd-schema-changed",
            "crd-list-type-changed",
            "quota-added",
            "pod-security-changed",
            "crd-reference-checked",
            "crd-transition-rule-added",
        ],
    ),
    (
        Harm::Escalation,
        &[
            "rbac-escalation",
            "rbac-secrets",
            "rbac-wildcard",
            "pod-privileged",
            "pod-host-access",
            "pod-capability",
            "pod-hardening-lost",
            "rbac-aggregated",
            "service-exposed",
            "network-policy-removed",
            "tls-verification-off",
        ],
    ),
    (
        Harm::RequestsBlocked,
        &[
            "backend-missing",
            "webhook-on-core-added",
            "webhook-policy-hardened",
            "webhook-selector-removed",
            "webhook-rules-widened",
            "webhook-added",
            "webhook-timeout-raised",
            "webhook-side-effects",
            "webhook-target-changed",
            "webhook-removed",
            "webhook-policy-relaxed",
            "webhook-review-version-removed",
            "api-service-added",
            "api-service-changed",
        ],
    ),
    (
        Harm::UpgradeFails,
        &[
            "value-removed",
            "value-renamed",
            "value-type-changed",
            "value-narrowed",
            "immutable-field",
            "stored-default-refused",
            "controller-field-added",
            "crd-placement-entered-templates",
            "crd-unserved-version-removed",
            "kube-version-changed",
            "selector-mismatch",
            "request-above-limit",
            "volume-claim-shrunk",
            "volume-claim-expanded",
            "rollback-refused",
            "api-needed",
            "hook-changed",
        ],
    ),
    (
        Harm::Unavailable,
        &[
            "watch-narrowed",
            "own-api-not-readable",
            "lease-not-allowed",
            "api-token-missing",
            "replicas-zero",
            "object-missing",
            "config-key-missing",
            "root-not-allowed",
            "port-unknown",
            "service-without-pods",
            "dependency-added",
            "service-withdrawn",
            "route-removed",
            "object-removed-referenced",
            "service-port-changed",
            "workload-removed",
            "service-removed",
            "object-renamed-in-use",
            "service-selector-changed",
            "service-port-renamed",
            "network-policy-added",
            "network-policy-changed",
            "crd-conversion-changed",
            "crd-storage-moved",
            "replicas-lowered",
            "memory-limit-lowered",
            "probe-removed",
            "upgrade-path-skipped",
            "dependency-changed",
            "install-mode-removed",
            "operand-version-removed",
            "service-account-removed",
            "config-removed",
            "custom-resource-removed",
            "class-removed",
            "availability-removed",
            "disruption-budget-tightened",
            "disruption-budget-changed",
            "autoscaling-changed",
            "schedule-changed",
            "service-routing-changed",
            "ingress-changed",
            "service-selects-nothing",
            "port-undeclared",
            "pull-secret-missing",
            "image-not-pulled",
            "run-as-non-root-required",
            "pod-user-changed",
            "cloud-identity-changed",
            "scheduling-narrowed",
            "node-platform-free",
            "priority-changed",
            "rollout-unavailable",
            "limit-lowered",
            "grace-period-lowered",
            "probe-tightened",
            "pod-network-changed",
            "cluster-default-changed",
        ],
    ),
    (
        Harm::PermissionsChanged,
        &[
            "rbac-cluster-scope",
            "rbac-subject-added",
            "rbac-widened",
            "service-account-changed",
            "rbac-lost",
            "rbac-unbound-role-narrowed",
            "rbac-aggregation-removed",
            "watch-widened",
        ],
    ),
    (
        Harm::Behaviour,
        &[
            "image-older",
            "container-removed",
            "container-added",
            "image-registry-changed",
            "operand-registry-changed",
            "image-unpinned",
            "command-changed",
            "args-changed",
            "crd-default-changed",
        ],
    ),
    (Harm::ClientsAffected, &["crd-status-field-changed"]),
];

/// Returns the harm of a rule; `None` for informational rules.
pub fn of(rule: &Rule) -> Option<Harm> {
    TABLE.iter().find(|(_, codes)| codes.contains(&rule.code)).map(|(harm, _)| *harm)
}

/// Returns the position of a rule in the ranking; lower is worse, and informational rules are last.
pub fn rank(rule: &Rule) -> usize {
    // Within a kind of harm by the order of the table, the worst first.
    let codes = TABLE.iter().flat_map(|(_, codes)| *codes);
    codes.into_iter().position(|code| *code == rule.code).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::{TABLE, of};
    use crate::diff::{Class, rules};
    use std::collections::BTreeSet;

    #[test]
    fn every_breaking_and_risky_rule_is_ranked_once() {
        let rules: Vec<_> = rules::all().collect();
        for rule in rules.iter().filter(|rule| rule.class != Class::Info) {
            assert!(of(rule).is_some(), "{} is not ranked: add it to TABLE", rule.code);
        }
        let mut seen = BTreeSet::new();
        for code in TABLE.iter().flat_map(|(_, codes)| *codes) {
            assert!(seen.insert(code), "{code} is ranked twice");
            let known = rules.iter().any(|rule| rule.code == *code);
            assert!(known, "{code} is no rule: remove it from TABLE");
        }
        assert!(TABLE.is_sorted_by_key(|(harm, _)| *harm), "the rows are in the order of Harm");
    }
}
