//! Rules of the API server about the fields of a type that the type does not have.

use crate::ir::{dns_subdomain, is_label};

/// Required fields whose zero value the API server accepts, with their type.
pub(super) const ZERO_IS_VALID: [(&str, &str); 9] = [
    ("CustomResourceDefinitionVersion", "served"),
    ("CustomResourceDefinitionVersion", "storage"),
    ("HTTPHeader", "value"),
    // Of ServiceAccounts and pods: nothing is pulled with it.
    ("LocalObjectReference", "name"),
    // A namespace without limits.
    ("LimitRangeSpec", "limits"),
    // The first logical unit.
    ("ISCSIVolumeSource", "lun"),
    ("SleepAction", "seconds"),
    // Of a claim template, which needs neither.
    ("PersistentVolumeClaim", "apiVersion"),
    ("PersistentVolumeClaim", "kind"),
];

/// Fields that a type does not require, but the API server: at least one of them, and but for
/// [`NOT_EXCLUSIVE`] types no two. The types, and so the
/// fields, are those of k8s-openapi; `validation.go` of each group has the rules.
pub(super) const REQUIRED_BY_SERVER: [(&str, &[&str]); 26] = [
    ("AggregationRule", &["clusterRoleSelectors"]),
    ("DeviceRequest", &["exactly", "firstAvailable"]),
    ("DownwardAPIVolumeFile", &["fieldRef", "resourceFieldRef"]),
    ("EnvFromSource", &["configMapRef", "secretRef"]),
    (
        "EnvVarSource",
        &["configMapKeyRef", "fieldRef", "fileKeyRef", "resourceFieldRef", "secretKeyRef"],
    ),
    ("Ingress", &["spec"]),
    ("IngressBackend", &["resource", "service"]),
    ("IngressClass", &["spec"]),
    ("IngressClassSpec", &["controller"]),
    ("IngressServiceBackend", &["port"]),
    ("IngressSpec", &["defaultBackend", "rules"]),
    ("Job", &["spec"]),
    ("JobTemplateSpec", &["spec"]),
    ("NetworkPolicyPeer", &["ipBlock", "namespaceSelector", "podSelector"]),
    ("PersistentVolumeClaim", &["spec"]),
    ("Pod", &["spec"]),
    ("PodTemplateSpec", &["spec"]),
    ("Probe", &["exec", "grpc", "httpGet", "tcpSocket"]),
    ("RuleWithOperations", &["apiGroups"]),
    ("RuleWithOperations", &["apiVersions"]),
    ("RuleWithOperations", &["operations"]),
    ("RuleWithOperations", &["resources"]),
    ("SecretVolumeSource", &["secretName"]),
    ("Service", &["spec"]),
    ("ServiceBackendPort", &["name", "number"]),
    ("WebhookClientConfig", &["service", "url"]),
];

/// Values of fields that are one of a few, or a list of such, sorted by type. Kubernetes: the enums of
/// its OpenAPI document; of autoscalers, CRDs and RBAC `validation.go`, because that has none for them.
/// `restartPolicy` depends on the kind (`passes/lint/refusals`).
pub(super) const VALUES: [(&str, &str, &[&str]); 69] = [
    ("AppArmorProfile", "type", &["Localhost", "RuntimeDefault", "Unconfined"]),
    ("Container", "imagePullPolicy", PULL_POLICIES),
    ("Container", "terminationMessagePolicy", &["File", "FallbackToLogsOnError"]),
    ("ContainerPort", "protocol", PROTOCOLS),
    ("CronJobSpec", "concurrencyPolicy", &["Allow", "Forbid", "Replace"]),
    ("CustomResourceColumnDefinition", "type", &["boolean", "date", "integer", "number", "string"]),
    ("CustomResourceConversion", "strategy", &["None", "Webhook"]),
    ("CustomResourceDefinitionSpec", "scope", &["Cluster", "Namespaced"]),
    ("DaemonSetUpdateStrategy", "type", UPDATES),
    ("DeploymentStrategy", "type", &["Recreate", "RollingUpdate"]),
    ("HPAScalingPolicy", "type", &["Percent", "Pods"]),
    ("HPAScalingRules", "selectPolicy", &["Disabled", "Max", "Min"]),
    ("HTTPGetAction", "scheme", &["HTTP", "HTTPS"]),
    ("HTTPIngressPath", "pathType", &["Exact", "ImplementationSpecific", "Prefix"]),
    (
        "HostPathVolumeSource",
        "type",
        &[
            "BlockDevice",
            "CharDevice",
            "Directory",
            "DirectoryOrCreate",
            "File",
            "FileOrCreate",
            "Socket",
        ],
    ),
    ("ImageVolumeSource", "pullPolicy", PULL_POLICIES),
    ("IngressClassParametersReference", "scope", &["Cluster", "Namespace"]),
    ("JobSpec", "completionMode", &["Indexed", "NonIndexed"]),
    ("JobSpec", "podReplacementPolicy", &["Failed", "TerminatingOrFailed"]),
    ("LabelSelectorRequirement", "operator", &["DoesNotExist", "Exists", "In", "NotIn"]),
    ("MetricSpec", "type", &["ContainerResource", "External", "Object", "Pods", "Resource"]),
    ("MetricTarget", "type", &["AverageValue", "Utilization", "Value"]),
    ("MutatingWebhook", "failurePolicy", FAILURES),
    ("MutatingWebhook", "matchPolicy", MATCHES),
    ("MutatingWebhook", "reinvocationPolicy", &["IfNeeded", "Never"]),
    ("MutatingWebhook", "sideEffects", SIDE_EFFECTS),
    ("NetworkPolicyPort", "protocol", PROTOCOLS),
    ("NetworkPolicySpec", "policyTypes", &["Egress", "Ingress"]),
    ("NodeSelectorRequirement", "operator", &["DoesNotExist", "Exists", "Gt", "In", "Lt", "NotIn"]),
    (
        "PersistentVolumeClaimSpec",
        "accessModes",
        &["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"],
    ),
    ("PersistentVolumeClaimSpec", "volumeMode", &["Block", "Filesystem"]),
    ("PodDisruptionBudgetSpec", "unhealthyPodEvictionPolicy", &["AlwaysAllow", "IfHealthyBudget"]),
    ("PodFailurePolicyOnExitCodesRequirement", "operator", &["In", "NotIn"]),
    ("PodFailurePolicyRule", "action", &["Count", "FailIndex", "FailJob", "Ignore"]),
    ("PodSecurityContext", "fsGroupChangePolicy", &["Always", "OnRootMismatch"]),
    ("PodSecurityContext", "supplementalGroupsPolicy", &["Merge", "Strict"]),
    ("PodSpec", "dnsPolicy", &["ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"]),
    ("PodSpec", "preemptionPolicy", &["Never", "PreemptLowerPriority"]),
    ("PriorityClass", "preemptionPolicy", &["Never", "PreemptLowerPriority"]),
    ("RoleRef", "apiGroup", RBAC),
    ("RoleRef", "kind", &["ClusterRole", "Role"]),
    ("RuleWithOperations", "operations", &["*", "CONNECT", "CREATE", "DELETE", "UPDATE"]),
    ("RuleWithOperations", "scope", &["*", "Cluster", "Namespaced"]),
    ("SeccompProfile", "type", &["Localhost", "RuntimeDefault", "Unconfined"]),
    ("SecurityContext", "procMount", &["Default", "Unmasked"]),
    ("ServicePort", "protocol", PROTOCOLS),
    ("ServiceSpec", "externalTrafficPolicy", &["Cluster", "Local"]),
    ("ServiceSpec", "internalTrafficPolicy", &["Cluster", "Local"]),
    ("ServiceSpec", "ipFamilies", &["IPv4", "IPv6"]),
    ("ServiceSpec", "ipFamilyPolicy", &["PreferDualStack", "RequireDualStack", "SingleStack"]),
    ("ServiceSpec", "sessionAffinity", &["ClientIP", "None"]),
    ("ServiceSpec", "type", &["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"]),
    ("StatefulSetPersistentVolumeClaimRetentionPolicy", "whenDeleted", &["Delete", "Retain"]),
    ("StatefulSetPersistentVolumeClaimRetentionPolicy", "whenScaled", &["Delete", "Retain"]),
    ("StatefulSetSpec", "podManagementPolicy", &["OrderedReady", "Parallel"]),
    ("StatefulSetUpdateStrategy", "type", UPDATES),
    ("StorageClass", "reclaimPolicy", &["Delete", "Recycle", "Retain"]),
    ("StorageClass", "volumeBindingMode", &["Immediate", "WaitForFirstConsumer"]),
    ("Subject", "apiGroup", RBAC),
    ("Subject", "kind", &["Group", "ServiceAccount", "User"]),
    ("Toleration", "effect", &["NoSchedule", "PreferNoSchedule", "NoExecute"]),
    ("Toleration", "operator", &["Equal", "Exists"]),
    ("TopologySpreadConstraint", "nodeAffinityPolicy", &["Honor", "Ignore"]),
    ("TopologySpreadConstraint", "nodeTaintsPolicy", &["Honor", "Ignore"]),
    ("TopologySpreadConstraint", "whenUnsatisfiable", &["DoNotSchedule", "ScheduleAnyway"]),
    ("ValidatingWebhook", "failurePolicy", FAILURES),
    ("ValidatingWebhook", "matchPolicy", MATCHES),
    ("ValidatingWebhook", "sideEffects", SIDE_EFFECTS),
    ("VolumeMount", "mountPropagation", &["Bidirectional", "HostToContainer", "None"]),
];

const FAILURES: &[&str] = &["Fail", "Ignore"];
const MATCHES: &[&str] = &["Equivalent", "Exact"];
const PROTOCOLS: &[&str] = &["TCP", "UDP", "SCTP"];
const PULL_POLICIES: &[&str] = &["Always", "IfNotPresent", "Never"];
const RBAC: &[&str] = &["rbac.authorization.k8s.io"];
const SIDE_EFFECTS: &[&str] = &["None", "NoneOnDryRun"];
const UPDATES: &[&str] = &["OnDelete", "RollingUpdate"];

/// Type, field, what it is, its form, and the check.
type Form = (&'static str, &'static str, &'static str, &'static str, fn(&str) -> bool);

/// Forms of fields with texts, sorted by type; an empty text is a missing value. Kubernetes:
/// `validation.go` of each group.
pub(super) const FORMS: [Form; 13] = [
    ("Container", "name", "container name", LABEL, is_label),
    ("ContainerPort", "name", "port name", PORT, is_port),
    ("HTTPGetAction", "port", "probe port", NUMBER, has_letter),
    ("HTTPGetAction", "port", "probe port", PORT, is_port),
    ("MutatingWebhook", "name", "webhook name", DOMAIN, is_domain),
    ("ServicePort", "name", "port name", LABEL, is_label),
    ("ServicePort", "targetPort", "target port", NUMBER, has_letter),
    ("ServicePort", "targetPort", "target port", PORT, is_port),
    ("ServiceReference", "path", "path", "which must be `/` with names in lower case", is_path),
    ("TCPSocketAction", "port", "probe port", NUMBER, has_letter),
    ("TCPSocketAction", "port", "probe port", PORT, is_port),
    ("ValidatingWebhook", "name", "webhook name", DOMAIN, is_domain),
    ("Volume", "name", "volume name", LABEL, is_label),
];

const DOMAIN: &str = "which must be three or more lower-case names with dots between them";
const LABEL: &str = "which must have lower-case letters, digits and dashes only";
const NUMBER: &str =
    "which is a port name and must contain a letter; write a number without quotes";
const PORT: &str = "which must have at most 15 lower-case letters, digits and dashes, and a letter";

fn has_letter(text: &str) -> bool {
    text.bytes().any(|b| b.is_ascii_lowercase())
}

/// Returns true for port names: a label with a letter and no two dashes in a row (RFC 6335).
pub(super) fn is_port(text: &str) -> bool {
    is_label(text) && text.len() <= 15 && !text.contains("--") && has_letter(text)
}

/// Returns true for names of webhooks (`IsFullyQualifiedName`).
fn is_domain(text: &str) -> bool {
    dns_subdomain(text).is_ok() && text.split('.').count() >= 3
}

/// Returns true for paths that the API server calls (`ValidateWebhookService`).
fn is_path(text: &str) -> bool {
    let segments = text.strip_prefix('/').map(|rest| rest.strip_suffix('/').unwrap_or(rest));
    let is_name = |segment| dns_subdomain(segment).is_ok();
    text == "/" || segments.is_some_and(|segments| segments.split('/').all(is_name))
}

/// Least and greatest values of fields with numbers, sorted by type; 0 is a missing value. Kubernetes:
/// `validation.go` of each group.
pub(super) const RANGES: [(&str, &str, i64, i64); 55] = [
    ("ConfigMapVolumeSource", "defaultMode", 0, 0o777),
    ("ContainerPort", "containerPort", 1, 65_535),
    ("ContainerPort", "hostPort", 1, 65_535),
    ("CronJobSpec", "failedJobsHistoryLimit", 0, MANY),
    ("CronJobSpec", "startingDeadlineSeconds", 0, MANY),
    ("CronJobSpec", "successfulJobsHistoryLimit", 0, MANY),
    ("DaemonSetSpec", "minReadySeconds", 0, MANY),
    ("DaemonSetSpec", "revisionHistoryLimit", 0, MANY),
    ("DeploymentSpec", "minReadySeconds", 0, MANY),
    ("DeploymentSpec", "progressDeadlineSeconds", 1, MANY),
    ("DeploymentSpec", "replicas", 0, MANY),
    ("DeploymentSpec", "revisionHistoryLimit", 0, MANY),
    ("DownwardAPIVolumeSource", "defaultMode", 0, 0o777),
    ("GRPCAction", "port", 1, 65_535),
    ("HPAScalingPolicy", "periodSeconds", 1, 1_800),
    ("HPAScalingPolicy", "value", 1, MANY),
    ("HPAScalingRules", "stabilizationWindowSeconds", 0, 3_600),
    ("HTTPGetAction", "port", 1, 65_535),
    ("HorizontalPodAutoscalerSpec", "maxReplicas", 1, MANY),
    ("HorizontalPodAutoscalerSpec", "minReplicas", 1, MANY),
    ("JobSpec", "activeDeadlineSeconds", 0, MANY),
    ("JobSpec", "backoffLimit", 0, MANY),
    ("JobSpec", "completions", 0, MANY),
    ("JobSpec", "parallelism", 0, MANY),
    ("JobSpec", "ttlSecondsAfterFinished", 0, MANY),
    ("KeyToPath", "mode", 0, 0o777),
    ("MetricTarget", "averageUtilization", 1, MANY),
    ("MutatingWebhook", "timeoutSeconds", 1, 30),
    ("NetworkPolicyPort", "port", 1, 65_535),
    ("PodSecurityContext", "fsGroup", 0, ID),
    ("PodSecurityContext", "runAsGroup", 0, ID),
    ("PodSecurityContext", "runAsUser", 0, ID),
    ("PreferredSchedulingTerm", "weight", 1, 100),
    ("Probe", "failureThreshold", 0, MANY),
    ("Probe", "initialDelaySeconds", 0, MANY),
    ("Probe", "periodSeconds", 0, MANY),
    ("Probe", "terminationGracePeriodSeconds", 1, MANY),
    ("Probe", "timeoutSeconds", 0, MANY),
    ("ProjectedVolumeSource", "defaultMode", 0, 0o777),
    ("RollingUpdateStatefulSetStrategy", "partition", 0, MANY),
    ("SecretVolumeSource", "defaultMode", 0, 0o777),
    ("SecurityContext", "runAsGroup", 0, ID),
    ("SecurityContext", "runAsUser", 0, ID),
    ("ServiceAccountTokenProjection", "expirationSeconds", 600, 1 << 32),
    ("ServicePort", "port", 1, 65_535),
    ("ServicePort", "targetPort", 1, 65_535),
    ("ServiceReference", "port", 1, 65_535),
    ("StatefulSetOrdinals", "start", 0, MANY),
    ("StatefulSetSpec", "minReadySeconds", 0, MANY),
    ("StatefulSetSpec", "replicas", 0, MANY),
    ("TCPSocketAction", "port", 1, 65_535),
    ("TopologySpreadConstraint", "maxSkew", 1, MANY),
    ("TopologySpreadConstraint", "minDomains", 1, MANY),
    ("ValidatingWebhook", "timeoutSeconds", 1, 30),
    ("WeightedPodAffinityTerm", "weight", 1, 100),
];

const ID: i64 = i32::MAX as i64;
/// No bound but that of the field's type.
const MANY: i64 = i64::MAX;

/// Types of [`REQUIRED_BY_SERVER`] that may have several of the fields.
pub(super) const NOT_EXCLUSIVE: [&str; 2] = ["IngressSpec", "NetworkPolicyPeer"];
