//! The rules: consequences that Kubernetes gives to changes of fields.

use super::super::rules;

rules! {
    /// Pods are unavailable during rollouts.
    ///
    /// `Recreate` deletes all pods before it creates new ones, `OnDelete`, `paused` and a higher
    /// `partition` do not replace them, and a higher `maxUnavailable` lets more pods be missing at a
    /// time. Risky, because the service may be interrupted, or old pods stay.
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
    /// Sidecar became an init container that must end.
    ///
    /// Without `restartPolicy: Always`, the other containers start only after the init container has
    /// ended: while its program runs, the pod stays in its initialization.
    SIDECAR "sidecar-must-end" Risky(Unavailable Watch)
        "Check that the program ends.";
    /// Pods wait for another condition.
    ///
    /// A pod is ready only after a controller has set the conditions of all of its readiness gates.
    READINESS "readiness-gate-added" Risky(Unavailable Watch)
        "Check which controller sets the condition.";
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
    /// A smaller growth is that of every upgrade. A missing request counts as 100m CPU or 100Mi.
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
    /// Quota, limit range or admission policy changed.
    ///
    /// The API server may reject objects that it accepted before, also those of others in its scope.
    QUOTA "quota-changed" Risky(Rejected)
        "Check which objects it applies to.";
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
    ROUTING "service-routing-changed" Risky(Unavailable)
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
    /// Anyone who can answer for the server is trusted.
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
    /// Hosts, paths, backends or TLS of an Ingress, route or Gateway changed.
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
