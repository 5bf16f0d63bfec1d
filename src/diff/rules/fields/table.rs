//! The rows: fields with the consequence that Kubernetes gives to their change.

use super::super::rules;
use super::super::webhook::{NARROWED, POLICY, RELAXED, TIMEOUT, TIMEOUT_LOWERED, WIDENED};
use super::Of::{Container, Every, Kinds, Pod, Webhook};
use super::When::{
    Added, Changed, ChangedWithSame, From, Gains, Limited, Loses, Lowered, LoweredWithout,
    Multiplied, Raised, Removed, To,
};
use super::{Field, MissingValue, Of, When};
use crate::Rule;

rules! {
    /// Pods are unavailable during rollouts.
    ///
    /// `Recreate` deletes all pods before it creates new ones, `OnDelete` and `paused` do not
    /// replace them at all, and a higher `maxUnavailable` lets more pods be missing at a time.
    /// Risky, because the service may be interrupted.
    ROLLOUT "rollout-unavailable" Risky(Unavailable)
        "Plan for the interruption, or set the strategy that you need.";
    /// Settings of rollouts changed.
    ///
    /// They change the pace and history of rollouts, and the old pods still serve until new ones
    /// are ready.
    ROLLOUT_SETTINGS "rollout-settings-changed" Info;
    /// Pods fit on fewer nodes.
    ///
    /// A new node selector, required affinity, spread constraint or runtime class, or a lost
    /// toleration, excludes nodes. Pods stay Pending without a fitting one.
    SCHEDULING "scheduling-narrowed" Risky(Unavailable)
        "Check that enough nodes fit.";
    /// Pods fit on other or more nodes.
    ///
    /// The scheduler has more nodes to choose from, or another preference among them.
    SCHEDULING_WIDER "scheduling-widened" Info;
    /// Pods no longer select the platform of their nodes.
    ///
    /// Without `kubernetes.io/os` and `kubernetes.io/arch`, pods of a mixed cluster may start on
    /// nodes that cannot run their images.
    PLATFORM "node-platform-free" Risky(Unavailable)
        "Check whether the cluster has Windows nodes or nodes of several architectures.";
    /// Priority of pods changed.
    ///
    /// Pods of a lower priority are preempted and evicted first, and a PriorityClass that does not
    /// exist rejects the pods.
    PRIORITY "priority-changed" Risky(Unavailable)
        "Check that the PriorityClass exists, and which pods may now preempt others.";
    /// Time for shutting down lowered.
    ///
    /// Containers are killed when it is over: requests and leases may be cut off.
    GRACE "grace-period-lowered" Risky(Unavailable)
        "Check that the containers stop in time.";
    /// Start or end of pods changed.
    ///
    /// Hooks of the container's lifecycle, or a longer time for shutting down.
    LIFECYCLE "pod-lifecycle-changed" Info;
    /// Image must be on the node.
    ///
    /// With `imagePullPolicy: Never`, pods do not start on nodes without the image.
    NOT_PULLED "image-not-pulled" Risky(Unavailable)
        "Load the image on every node, or set another policy.";
    /// Image pull policy changed.
    ///
    /// Images are pulled more or less often; the image is the same.
    PULL "pull-policy-changed" Info
        "Nothing, unless the registry is not reachable at all times.";
    /// Probe removed.
    ///
    /// Without a readiness probe, Services send requests to pods that are not ready, and rollouts
    /// do not wait for them. Without a liveness probe, a container that hangs is not restarted;
    /// without a startup probe, a slow one is.
    PROBE_REMOVED "probe-removed" Risky(Unavailable Watch)
        "Monitor the rollout by other means.";
    /// Liveness or startup probe tightened.
    ///
    /// A container that is slow, for example on a loaded node, is restarted earlier than before.
    PROBE_TIGHTER "probe-tightened" Risky(Unavailable)
        "Compare the probe with the start time and latency in your clusters.";
    /// Probe asks the same image for something else.
    ///
    /// A new image comes with the endpoints of its probes. The image is the same, so it may not
    /// have the path or command: the probe fails, and the container restarts or is never ready.
    PROBE_MOVED "probe-moved" Risky(Unavailable Watch)
        "Check that the image answers the probe.";
    /// Probe added or changed.
    ///
    /// The new version serves the probe. Probes without a port to connect to are found separately.
    PROBE "probe-changed" Info;
    /// Network settings of pods changed.
    ///
    /// The DNS settings decide which names resolve. Without the host network, pods have other
    /// addresses, and nodes no longer listen on their ports.
    NETWORK "pod-network-changed" Risky(Unavailable)
        "Check names that the pods resolve, and clients that use node addresses.";
    /// Memory limit lowered.
    ///
    /// A container above its limit is OOM-killed.
    MEMORY "memory-limit-lowered" Risky(Unavailable Watch)
        "Compare the limit with the memory usage in your clusters.";
    /// CPU or storage limit lowered.
    ///
    /// A container above its CPU limit is throttled, and one above its storage limit is evicted.
    LIMIT "limit-lowered" Risky(Unavailable)
        "Compare the limit with the usage in your clusters.";
    /// Resource request ten times as high or more.
    ///
    /// Pods stay Pending where no node has room for the request, and are not created above a quota.
    /// A smaller growth is that of every upgrade.
    REQUEST "request-multiplied" Risky(Unavailable)
        "Check the room of your nodes, and quotas.";
    /// Resource requests or limits changed.
    ///
    /// Requests decide where pods fit and what quotas count; higher limits allow more.
    RESOURCES "resources-changed" Info
        "Check quotas, if you use them.";
    /// Scaled to zero.
    ///
    /// No pods run: an operator no longer reconciles, and a webhook no longer answers.
    NO_PODS "replicas-zero" Breaking(Unavailable Fix)
        "Set the number of replicas that you need.";
    /// Number of replicas lowered.
    ///
    /// With one replica, the workload is unavailable while its node is drained.
    FEWER "replicas-lowered" Risky(Unavailable Watch)
        "Set the number of replicas that you need.";
    /// Number of replicas raised.
    ///
    /// More pods need more capacity.
    REPLICAS "replicas-changed" Info
        "Check the capacity of your nodes and quotas.";
    /// PodDisruptionBudget allows fewer disruptions.
    ///
    /// Drains of nodes wait until the budget allows an eviction; with `maxUnavailable: 0`, or
    /// `minAvailable` of all replicas, they wait forever.
    BUDGET "disruption-budget-tightened" Risky(Unavailable)
        "Check that the budget still allows the eviction of one pod.";
    /// PodDisruptionBudget protects less or other pods.
    ///
    /// A drain may evict more pods at the same time than before.
    BUDGET_LOOSER "disruption-budget-changed" Risky(Unavailable)
        "Check the availability that you need.";
    /// Limits of an autoscaler changed.
    ///
    /// Fewer replicas at most, or at least, can be too few under load; another target scales
    /// another workload.
    SCALING "autoscaling-changed" Risky(Unavailable)
        "Compare the limits with the load in your clusters.";
    /// Schedule of a CronJob changed.
    ///
    /// Jobs run at other times, or not at all while it is suspended.
    SCHEDULE "schedule-changed" Risky(Unavailable)
        "Check what depends on the jobs.";
    /// Service can be reached from outside of the cluster, or by more clients.
    ///
    /// Node ports, load balancers and removed source ranges open the Service to more networks.
    EXPOSED "service-exposed" Risky(Escalation)
        "Check firewalls, and whether this is intended.";
    /// Service can no longer be reached from outside of the cluster.
    ///
    /// The load balancer and its address, or the node ports, are released. Clients outside of the
    /// cluster cannot connect.
    WITHDRAWN "service-withdrawn" Breaking(Unavailable Fix)
        "Change these clients, or set the old type.";
    /// Routing of a Service changed.
    ///
    /// Other endpoints get the traffic, or clients need another address or port.
    SERVICE_ROUTING "service-routing-changed" Risky(Unavailable)
        "Check clients of the Service.";
    /// PersistentVolumeClaim requests more storage.
    ///
    /// The API server rejects the update unless the StorageClass allows expansion.
    EXPANDED "volume-claim-expanded" Risky(UpgradeFails)
        "Check `allowVolumeExpansion` of the StorageClass.";
    /// PersistentVolumeClaim requests less storage.
    ///
    /// The API server rejects the update: a claim cannot shrink.
    SHRUNK "volume-claim-shrunk" Breaking(UpgradeFails Fix)
        "Set the old size in your values or patches.";
    /// Fate of released volumes changed.
    ///
    /// With `Delete`, the data of a claim is deleted with the claim, or when a StatefulSet is
    /// scaled or deleted.
    RECLAIM "volume-reclaim-changed" Risky(DataLost)
        "Back up the data, or set `Retain`.";
    /// Default of the whole cluster changed.
    ///
    /// A default PriorityClass, StorageClass or IngressClass applies to objects of all users that
    /// do not name one.
    DEFAULT_CLASS "cluster-default-changed" Risky(Unavailable)
        "Check that the cluster has exactly one default.";
    /// TLS certificate is no longer verified.
    ///
    /// Anyone who can answer for the Service is trusted.
    TLS_UNVERIFIED "tls-verification-off" Risky(Escalation)
        "Check why verification is off.";
    /// Pod Security Standard of a namespace changed.
    ///
    /// A stricter standard rejects pods that it does not allow; a looser one admits privileged
    /// pods.
    POD_SECURITY "pod-security-changed" Risky(Rejected)
        "Check which pods run in the namespace.";
    /// Cloud identity or pull secrets of a ServiceAccount changed.
    ///
    /// Pods with the ServiceAccount lose access to cloud APIs or private registries, or have it as
    /// another identity.
    IDENTITY "cloud-identity-changed" Risky(Unavailable)
        "Check the annotations and pull secrets that your clusters need.";
    /// Hosts, paths or TLS of an Ingress changed.
    ///
    /// Addresses that are no longer routed fail for their clients.
    INGRESS "ingress-changed" Risky(Unavailable)
        "Check the addresses that clients use.";
    /// Service of an aggregated API changed.
    ///
    /// Requests for the API go to another Service; while it does not answer, they fail.
    API_BACKEND "api-service-changed" Risky(RequestsBlocked)
        "Check that the Service is ready after the upgrade.";
    /// Object became a Helm hook, or stopped being one.
    ///
    /// Helm does not manage hooks as part of the release: an object that becomes one is deleted
    /// from the release, and an object that exists as a hook lacks ownership metadata.
    HOOK "hook-changed" Risky(UpgradeFails)
        "Test the upgrade on a copy, and check the object afterwards.";
    /// Object is no longer kept on uninstall.
    ///
    /// Without `helm.sh/resource-policy: keep`, Helm deletes the object with the release, and a CRD
    /// with all of its objects.
    NOT_KEPT "keep-policy-removed" Risky(DataLost)
        "Set the annotation again if the object must outlive the release.";
}

const WORKLOADS: Of = Kinds(&["Deployment", "StatefulSet", "DaemonSet", "ReplicaSet"]);
const SCALED: Of = Kinds(&["Deployment", "StatefulSet", "ReplicaSet"]);
const HPA: Of = Kinds(&["HorizontalPodAutoscaler"]);
const PDB: Of = Kinds(&["PodDisruptionBudget"]);
const SERVICE: Of = Kinds(&["Service"]);
const CRON_JOB: Of = Kinds(&["CronJob"]);
const CLAIMS: Of = Kinds(&["PersistentVolumeClaim"]);
const VOLUMES: Of = Kinds(&["PersistentVolume"]);
const NAMESPACES: Of = Kinds(&["Namespace"]);
const INGRESSES: Of = Kinds(&["Ingress"]);
const ACCOUNTS: Of = Kinds(&["ServiceAccount"]);

const NODE_AFFINITY: &str = "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution";

/// The annotations of a StorageClass and of an IngressClass.
const IS_DEFAULT_CLASS: &str = "metadata.annotations\
    [storageclass.kubernetes.io/is-default-class|ingressclass.kubernetes.io/is-default-class]";

/// Creates a row about a field without a default.
const fn row(of: Of, path: &'static str, when: When, rule: &'static Rule) -> Field {
    Field { of, path, default: None, when, rule }
}

/// Creates a row about a field with the default that the Kubernetes API has.
const fn defaulted(of: Of, path: &'static str, when: When, rule: &'static Rule) -> Field {
    Field { of, path, default: Some(MissingValue::ApiDefault), when, rule }
}

impl Field {
    /// Returns the row with this JSON as the value of a missing field, which is still different from it.
    const fn or(self, default: &'static str) -> Self {
        Field { default: Some(MissingValue::Json(default)), ..self }
    }
}

/// All rows. For one field, the first row whose condition is true decides; a row about a whole map
/// or list is below those about its parts.
pub(super) static FIELDS: &[Field] = &[
    // Annotations that Helm reads.
    row(Every, "metadata.annotations[helm.sh/hook]", Added, &HOOK),
    row(Every, "metadata.annotations[helm.sh/hook]", Removed, &HOOK),
    row(Every, "metadata.annotations[helm.sh/resource-policy]", From("keep"), &NOT_KEPT),
    // Workloads.
    defaulted(SCALED, "spec.replicas", To("0"), &NO_PODS),
    defaulted(SCALED, "spec.replicas", Lowered, &FEWER),
    defaulted(SCALED, "spec.replicas", Raised, &REPLICAS),
    defaulted(WORKLOADS, "spec.strategy.type", To("Recreate"), &ROLLOUT),
    defaulted(WORKLOADS, "spec.updateStrategy.type", To("OnDelete"), &ROLLOUT),
    defaulted(WORKLOADS, "spec.paused", To("true"), &ROLLOUT),
    defaulted(WORKLOADS, "spec.strategy.rollingUpdate.maxUnavailable", Raised, &ROLLOUT),
    row(WORKLOADS, "spec.updateStrategy.rollingUpdate.maxUnavailable", Raised, &ROLLOUT).or("1"),
    row(WORKLOADS, "spec.strategy|updateStrategy", Changed, &ROLLOUT_SETTINGS),
    defaulted(
        WORKLOADS,
        "spec.paused|minReadySeconds|progressDeadlineSeconds|revisionHistoryLimit",
        Changed,
        &ROLLOUT_SETTINGS,
    ),
    defaulted(
        WORKLOADS,
        "spec.persistentVolumeClaimRetentionPolicy.whenDeleted|whenScaled",
        To("Delete"),
        &RECLAIM,
    ),
    row(CRON_JOB, "spec.schedule|timeZone", Changed, &SCHEDULE),
    defaulted(CRON_JOB, "spec.suspend", To("true"), &SCHEDULE),
    // Pods.
    row(Pod, "nodeSelector[kubernetes.io/os|kubernetes.io/arch]", Removed, &PLATFORM),
    row(Pod, "nodeSelector", Gains, &SCHEDULING),
    row(Pod, "nodeSelector", Loses, &SCHEDULING_WIDER),
    row(Pod, "nodeName", Changed, &SCHEDULING),
    row(Pod, NODE_AFFINITY, Removed, &SCHEDULING_WIDER),
    row(Pod, NODE_AFFINITY, Changed, &SCHEDULING),
    row(
        Pod,
        "affinity.podAffinity|podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution",
        Gains,
        &SCHEDULING,
    ),
    row(Pod, "affinity", Changed, &SCHEDULING_WIDER),
    row(Pod, "topologySpreadConstraints", Gains, &SCHEDULING),
    row(Pod, "topologySpreadConstraints", Loses, &SCHEDULING_WIDER),
    row(Pod, "tolerations", Loses, &SCHEDULING),
    row(Pod, "tolerations", Gains, &SCHEDULING_WIDER),
    defaulted(Pod, "schedulerName", Changed, &SCHEDULING),
    row(Pod, "runtimeClassName", Removed, &SCHEDULING_WIDER),
    row(Pod, "runtimeClassName", Changed, &SCHEDULING),
    row(Pod, "schedulingGates", Gains, &SCHEDULING),
    defaulted(Pod, "priorityClassName", Changed, &PRIORITY),
    row(Pod, "priority", Lowered, &PRIORITY).or("0"),
    defaulted(Pod, "terminationGracePeriodSeconds", Lowered, &GRACE),
    defaulted(Pod, "terminationGracePeriodSeconds", Raised, &LIFECYCLE),
    row(Pod, "activeDeadlineSeconds", Limited, &GRACE),
    defaulted(Pod, "restartPolicy", Changed, &LIFECYCLE),
    defaulted(Pod, "dnsPolicy", Changed, &NETWORK),
    row(Pod, "dnsConfig|hostAliases", Changed, &NETWORK),
    defaulted(Pod, "hostNetwork", From("true"), &NETWORK),
    // Containers.
    row(Container, "imagePullPolicy", To("Never"), &NOT_PULLED),
    row(Container, "imagePullPolicy", Changed, &PULL),
    row(Container, "livenessProbe|readinessProbe|startupProbe", Removed, &PROBE_REMOVED),
    row(Container, "livenessProbe|readinessProbe|startupProbe", Added, &PROBE),
    // Liveness probes wait for the startup probe.
    defaulted(
        Container,
        "livenessProbe.initialDelaySeconds",
        LoweredWithout("startupProbe"),
        &PROBE_TIGHTER,
    ),
    defaulted(
        Container,
        "livenessProbe|startupProbe.timeoutSeconds|periodSeconds|failureThreshold",
        Lowered,
        &PROBE_TIGHTER,
    ),
    row(
        Container,
        "livenessProbe|readinessProbe|startupProbe.httpGet|exec.path|command",
        ChangedWithSame("image"),
        &PROBE_MOVED,
    ),
    row(Container, "livenessProbe|readinessProbe|startupProbe.*", Changed, &PROBE),
    row(Container, "lifecycle", Changed, &LIFECYCLE),
    row(Container, "resources.limits.memory", Limited, &MEMORY),
    row(Container, "resources.limits.*", Limited, &LIMIT),
    row(Container, "resources.limits.*", Changed, &RESOURCES),
    row(Container, "resources.requests.*", Multiplied, &REQUEST),
    row(Container, "resources.requests.*", Changed, &RESOURCES),
    // Availability and scaling.
    row(PDB, "spec.minAvailable", Raised, &BUDGET),
    row(PDB, "spec.maxUnavailable", Limited, &BUDGET),
    row(PDB, "spec.minAvailable", Added, &BUDGET),
    row(PDB, "spec", Changed, &BUDGET_LOOSER),
    row(HPA, "spec.maxReplicas", Lowered, &SCALING),
    defaulted(HPA, "spec.minReplicas", Lowered, &SCALING),
    row(HPA, "spec.scaleTargetRef|metrics", Changed, &SCALING),
    // Network.
    defaulted(SERVICE, "spec.type", To("LoadBalancer"), &EXPOSED),
    defaulted(SERVICE, "spec.type", From("LoadBalancer"), &WITHDRAWN),
    defaulted(SERVICE, "spec.type", To("NodePort"), &EXPOSED),
    defaulted(SERVICE, "spec.type", From("NodePort"), &WITHDRAWN),
    defaulted(SERVICE, "spec.type", Changed, &SERVICE_ROUTING),
    row(SERVICE, "spec.externalIPs", Gains, &EXPOSED),
    row(SERVICE, "spec.externalIPs", Loses, &WITHDRAWN),
    row(SERVICE, "spec.loadBalancerSourceRanges", Removed, &EXPOSED),
    row(SERVICE, "spec.loadBalancerSourceRanges", Added, &SERVICE_ROUTING),
    row(SERVICE, "spec.loadBalancerSourceRanges", Loses, &SERVICE_ROUTING),
    row(SERVICE, "spec.loadBalancerSourceRanges", Gains, &EXPOSED),
    row(SERVICE, "spec.loadBalancerIP|loadBalancerClass|externalName", Changed, &SERVICE_ROUTING),
    defaulted(
        SERVICE,
        "spec.externalTrafficPolicy|internalTrafficPolicy",
        Changed,
        &SERVICE_ROUTING,
    ),
    defaulted(
        SERVICE,
        "spec.publishNotReadyAddresses|sessionAffinity|ipFamilyPolicy",
        Changed,
        &SERVICE_ROUTING,
    ),
    row(INGRESSES, "spec.ingressClassName|rules|tls|defaultBackend", Changed, &INGRESS),
    defaulted(Kinds(&["APIService"]), "spec.insecureSkipTLSVerify", To("true"), &TLS_UNVERIFIED),
    row(Kinds(&["APIService"]), "spec.service", Changed, &API_BACKEND),
    // Storage and classes of the cluster.
    row(CLAIMS, "spec.resources.requests.storage", Lowered, &SHRUNK),
    row(CLAIMS, "spec.resources.requests.storage", Raised, &EXPANDED),
    defaulted(VOLUMES, "spec.persistentVolumeReclaimPolicy", To("Delete"), &RECLAIM),
    defaulted(Kinds(&["PriorityClass"]), "globalDefault", Changed, &DEFAULT_CLASS),
    row(Kinds(&["StorageClass", "IngressClass"]), IS_DEFAULT_CLASS, Changed, &DEFAULT_CLASS)
        .or("\"false\""),
    row(NAMESPACES, "metadata.labels[pod-security.kubernetes.io/enforce]", Changed, &POD_SECURITY),
    // ServiceAccounts.
    row(ACCOUNTS, "imagePullSecrets", Loses, &IDENTITY),
    row(ACCOUNTS, "metadata.annotations[eks.amazonaws.com/role-arn]", Changed, &IDENTITY),
    row(ACCOUNTS, "metadata.annotations[iam.gke.io/gcp-service-account]", Changed, &IDENTITY),
    row(ACCOUNTS, "metadata.annotations[azure.workload.identity/client-id]", Changed, &IDENTITY),
    // Webhooks.
    defaulted(Webhook, "failurePolicy", To("Fail"), &POLICY),
    defaulted(Webhook, "failurePolicy", To("Ignore"), &RELAXED),
    defaulted(Webhook, "matchPolicy", To("Exact"), &NARROWED),
    defaulted(Webhook, "matchPolicy", Changed, &WIDENED),
    defaulted(Webhook, "timeoutSeconds", Raised, &TIMEOUT),
    defaulted(Webhook, "timeoutSeconds", Lowered, &TIMEOUT_LOWERED),
];
