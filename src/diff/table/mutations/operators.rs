//! Mutations of the operator's pods and RBAC.

use super::*;

pub(super) fn mutations() -> [(&'static str, Vec<Mutation>); 8] {
    [
        ("images", images()),
        ("rollouts", rollouts()),
        ("probes", probes()),
        ("scheduling", scheduling()),
        ("environment", environment()),
        ("references_of_pods", references()),
        ("rbac", rbac()),
        ("watch", watch()),
    ]
}

fn images() -> Vec<Mutation> {
    let image = |image: &str| vec![set("container/image", json!(image))];
    let pinned = || image("registry.example.com/widgets/operator@sha256:aaaa");
    vec![
        info(
            "a patch release of the image",
            image("registry.example.com/widgets/operator:v1.4.1"),
            "image-changed",
            "every upgrade has a new tag; the pods restart",
        ),
        info(
            "another digest",
            image("registry.example.com/widgets/operator@sha256:bbbb"),
            "image-changed",
            "a digest is what a new build has",
        )
        .from(pinned()),
        risky(
            "an older tag",
            image("registry.example.com/widgets/operator:v1.3.9"),
            "image-older",
            "programs may not read what a later version wrote",
        ),
        risky(
            "another registry",
            image("mirror.example.org/widgets/operator:v1.4.1"),
            "image-registry-changed",
            "pull secrets and allow lists cover the old registry",
        ),
        risky(
            "another repository",
            image("registry.example.com/gadgets/operator:v1.4.0"),
            "image-registry-changed",
            "mirrors have repositories, not registries",
        ),
        risky(
            "a digest replaced by a tag",
            image("registry.example.com/widgets/operator:v1.4.1"),
            "image-unpinned",
            "the tag can be moved",
        )
        .from(pinned()),
        risky(
            "the tag latest",
            image("registry.example.com/widgets/operator:latest"),
            "image-unpinned",
            "pods of one rollout may run different images",
        ),
        info(
            "a newer operand image",
            vec![set("container/env/1/value", json!("registry.example.com/widgets/widget:2.1.0"))],
            "operand-image-changed",
            "the operator rolls out its operands",
        ),
        risky(
            "an operand image of another registry",
            vec![set("container/env/1/value", json!("mirror.example.org/widgets/widget:2.1.0"))],
            "operand-registry-changed",
            "operands may not be pulled",
        ),
        risky(
            "an operand version without an image",
            vec![set(
                "container/env/2",
                json!({"name": "WIDGETS", "value": "4.2=registry.example.com/w:4.2"}),
            )],
            "operand-version-removed",
            "custom resources may request the version",
        )
        .from(vec![set(
            "container/env/2",
            json!({"name": "WIDGETS",
                "value": "4.1=registry.example.com/w:4.1\n4.2=registry.example.com/w:4.2"}),
        )]),
        info(
            "images always pulled",
            vec![set("container/imagePullPolicy", json!("Always"))],
            "pull-policy-changed",
            "the kubelet resolves the tag at each start; the image is the same",
        ),
        risky(
            "images never pulled",
            vec![set("container/imagePullPolicy", json!("Never"))],
            "image-not-pulled",
            "nodes without the image cannot start the pod",
        ),
        info(
            "the default pull policy written out",
            vec![set("container/imagePullPolicy", json!("IfNotPresent"))],
            "",
            "a tag other than latest has this default",
        ),
    ]
}

fn rollouts() -> Vec<Mutation> {
    vec![
        risky(
            "a rolling update without leader election",
            vec![unset("Deployment/spec/strategy")],
            "rollout-overlaps",
            "the old and the new pod act at once",
        )
        .from(vec![
            set("Deployment/spec/strategy", json!({"type": "Recreate"})),
            set("container/args", json!(["--metrics-bind-address=:8443"])),
        ]),
        risky(
            "a rolling update with leader election in a file",
            vec![unset("Deployment/spec/strategy")],
            "rollback-refused",
            "the new pod waits for the lease, but the server stores `rollingUpdate`",
        )
        .from(vec![
            set("Deployment/spec/strategy", json!({"type": "Recreate"})),
            set("container/args", json!(["--metrics-bind-address=:8443"])),
            set("ConfigMap/data/config.yaml", json!("leaderElection:\n  leaderElect: true")),
        ]),
        risky(
            "a hundred times the request",
            vec![set("container/resources", json!({"requests": {"cpu": "10"}}))],
            "request-multiplied",
            "no node may have room",
        )
        .from(vec![set("container/resources", json!({"requests": {"cpu": "100m"}}))]),
        risky(
            "a first request that is large",
            vec![set("container/resources", json!({"requests": {"memory": "500Gi"}}))],
            "request-multiplied",
            "no node may have room",
        )
        .from(vec![set("container/resources", json!({}))]),
        info(
            "a first request that is usual",
            vec![set("container/resources", json!({"requests": {"cpu": "500m"}}))],
            "resources-changed",
            "nodes have room for it",
        )
        .from(vec![set("container/resources", json!({}))]),
        info(
            "a first request of the limit",
            vec![set(
                "container/resources",
                json!({"limits": {"memory": "4Gi"}, "requests": {"memory": "4Gi"}}),
            )],
            "resources-changed",
            "the API server sets a missing request to the limit",
        )
        .from(vec![set("container/resources", json!({"limits": {"memory": "4Gi"}}))]),
        risky(
            "a tiny emptyDir",
            vec![set("pod/volumes/2", json!({"name": "tmp", "emptyDir": {"sizeLimit": "1Ki"}}))],
            "limit-lowered",
            "the pod is evicted above it",
        )
        .from(vec![set("pod/volumes/2", json!({"name": "tmp", "emptyDir": {}}))]),
        risky(
            "another Secret in a volume",
            vec![set("pod/volumes/1/secret", json!({"secretName": "other", "optional": true}))],
            "volume-source-changed",
            "the files have other content",
        ),
        info(
            "a comment in a ConfigMap",
            vec![set("ConfigMap/data/config.yaml", json!("# a comment\ncache: on"))],
            "config-tuned",
            "the settings are the same",
        ),
        risky(
            "recreate instead of a rolling update",
            vec![set("Deployment/spec/strategy", json!({"type": "Recreate"}))],
            "rollout-unavailable",
            "all pods are deleted before new ones start",
        )
        .from(vec![set("Deployment/spec/strategy", json!({"rollingUpdate": {"maxSurge": 1}}))]),
        breaking(
            "recreate instead of the default rolling update",
            vec![set("Deployment/spec/strategy", json!({"type": "Recreate"}))],
            "stored-default-refused",
            "server-side apply keeps the rollingUpdate that the server added, and validation rejects it",
        ),
        risky(
            "the default rolling update instead of recreate",
            vec![unset("Deployment/spec/strategy")],
            "rollback-refused",
            "the upgrade makes the server add rollingUpdate, which a rollback cannot remove",
        )
        .from(vec![set("Deployment/spec/strategy", json!({"type": "Recreate"}))]),
        risky(
            "more pods unavailable at a time",
            vec![set(
                "Deployment/spec/strategy",
                json!({"rollingUpdate": {"maxUnavailable": "100%"}}),
            )],
            "rollout-unavailable",
            "all pods may be replaced at once",
        ),
        info(
            "the default strategy written out",
            vec![set(
                "Deployment/spec/strategy",
                json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}}),
            )],
            "",
            "it is what the API server sets",
        ),
        info(
            "fewer old ReplicaSets",
            vec![set("Deployment/spec/revisionHistoryLimit", json!(2))],
            "rollout-settings-changed",
            "only `kubectl rollout undo` uses them",
        ),
        risky(
            "a paused Deployment",
            vec![set("Deployment/spec/paused", json!(true))],
            "rollout-unavailable",
            "the new pods are not rolled out",
        ),
        breaking(
            "scaled to zero",
            vec![set("Deployment/spec/replicas", json!(0))],
            "replicas-zero",
            "nothing reconciles any more",
        ),
        risky(
            "one replica",
            vec![set("Deployment/spec/replicas", json!(1))],
            "replicas-lowered",
            "a drain of its node interrupts it",
        ),
        info(
            "three replicas",
            vec![set("Deployment/spec/replicas", json!(3))],
            "replicas-changed",
            "it only needs capacity",
        ),
        breaking(
            "another selector",
            vec![
                set("Deployment/spec/selector", json!({"matchLabels": {"app": "other"}})),
                set("Deployment/spec/template/metadata/labels/app", json!("other")),
            ],
            "immutable-field",
            "the selector of a Deployment is immutable in apps/v1",
        ),
        breaking(
            "pods without the labels of the selector",
            vec![set("Deployment/spec/template/metadata/labels", json!({"app": "other"}))],
            "object-refused",
            "validation of apps/v1 requires the labels",
        ),
        risky(
            "a shorter grace period",
            vec![set("pod/terminationGracePeriodSeconds", json!(5))],
            "grace-period-lowered",
            "containers are killed after it",
        ),
        info(
            "a longer grace period",
            vec![set("pod/terminationGracePeriodSeconds", json!(60))],
            "pod-lifecycle-changed",
            "containers have more time",
        ),
        info(
            "the default grace period written out",
            vec![set("pod/terminationGracePeriodSeconds", json!(30))],
            "",
            "30 s is the default",
        ),
        risky(
            "a lower memory limit",
            vec![set("container/resources/limits/memory", json!("256Mi"))],
            "memory-limit-lowered",
            "the container is OOM-killed above it",
        ),
        risky(
            "a lower CPU limit",
            vec![set("container/resources/limits/cpu", json!("200m"))],
            "limit-lowered",
            "the container is throttled above it",
        ),
        risky(
            "a first limit of a device",
            vec![set("container/resources/limits/example.com~1device", json!(1))],
            "scheduling-narrowed",
            "only nodes with the device fit",
        ),
        risky(
            "no request to which an autoscaler compares the usage",
            vec![set("container/resources", json!({"limits": {"memory": "512Mi"}}))],
            "autoscaling-without-request",
            "it does not scale without the request",
        )
        .from(vec![Patch::Add(object(
            "autoscaling/v2",
            "HorizontalPodAutoscaler",
            "widgets",
            json!({"spec": {"maxReplicas": 3,
                "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "widget-operator"},
                "metrics": [{"type": "Resource", "resource": {"name": "cpu",
                    "target": {"type": "Utilization", "averageUtilization": 80}}}]}}),
        ))]),
        risky(
            "a sidecar that became an init container",
            vec![unset("pod/initContainers/0/restartPolicy")],
            "sidecar-must-end",
            "the pod waits for its end",
        )
        .from(vec![set(
            "pod/initContainers",
            json!([{"name": "proxy", "image": IMAGE, "restartPolicy": "Always"}]),
        )]),
        risky(
            "a readiness gate",
            vec![set("pod/readinessGates", json!([{"conditionType": "example.com/registered"}]))],
            "readiness-gate-added",
            "pods are not ready before the condition is true",
        ),
        info(
            "a higher memory limit",
            vec![set("container/resources/limits/memory", json!("1Gi"))],
            "resources-changed",
            "the container may use more",
        ),
        info(
            "the same memory in another unit",
            vec![set("container/resources/limits/memory", json!("536870912"))],
            "",
            "512Mi is 536870912",
        ),
        info(
            "the same CPU as a decimal",
            vec![set("container/resources/limits/cpu", json!("0.5"))],
            "",
            "500m is 0.5",
        ),
        info(
            "a higher request",
            vec![set("container/resources/requests/cpu", json!("200m"))],
            "resources-changed",
            "the scheduler reserves more",
        ),
        breaking(
            "a request above the limit",
            vec![set("container/resources/requests/memory", json!("1Gi"))],
            "object-refused",
            "validation of pods rejects it",
        ),
        risky(
            "a sidecar",
            vec![set(
                "pod/containers/1",
                json!({"name": "proxy",
            "image": "registry.example.com/proxy:1", "securityContext": {"runAsNonRoot": true,
            "allowPrivilegeEscalation": false}}),
            )],
            "container-added",
            "it runs with the operator's ServiceAccount",
        ),
        risky(
            "other flags",
            vec![set("container/args", json!(["--leader-elect"]))],
            "args-changed",
            "the metrics endpoint moves to its default",
        ),
        info(
            "more logs",
            vec![set(
                "container/args",
                json!(["--leader-elect", "--metrics-bind-address=:8443", "--zap-log-level=debug"]),
            )],
            "args-tuned",
            "the flag only changes the log level",
        ),
        risky(
            "another command",
            vec![set("container/command", json!(["/manager2"]))],
            "command-changed",
            "another program runs",
        ),
    ]
}

fn probes() -> Vec<Mutation> {
    vec![
        risky(
            "no readiness probe",
            vec![unset("container/readinessProbe")],
            "probe-removed",
            "Services send requests to pods that are not ready",
        ),
        risky(
            "no liveness probe",
            vec![unset("container/livenessProbe")],
            "probe-removed",
            "a container that hangs is not restarted",
        ),
        info(
            "a startup probe",
            vec![set("container/startupProbe", json!({"httpGet": {"port": "health"}}))],
            "probe-changed",
            "liveness starts later than before",
        ),
        breaking(
            "a probe with a named port that the container lacks",
            vec![set("container/readinessProbe/httpGet/port", json!("ready"))],
            "port-unknown",
            "the kubelet cannot resolve the name, so the probe fails",
        ),
        breaking(
            "the port of a probe renamed in the container",
            vec![set("container/ports/1/name", json!("probes"))],
            "port-unknown",
            "the liveness probe still has the old name",
        ),
        risky(
            "a probe port that nothing mentions",
            vec![set("container/readinessProbe/httpGet/port", json!(9440))],
            "port-undeclared",
            "no flag or port has the number; the default may have changed, too",
        ),
        risky(
            "the container listens elsewhere",
            vec![
                set("container/ports/1/containerPort", json!(9440)),
                set(
                    "container/livenessProbe",
                    json!({"httpGet": {"path": "/healthz", "port": 9440},
                "initialDelaySeconds": 15}),
                ),
            ],
            "port-undeclared",
            "the readiness probe still has 8081",
        ),
        info(
            "a probe port that a flag mentions",
            vec![
                set("container/args/1", json!("--metrics-bind-address=:9440")),
                set("container/readinessProbe/httpGet/port", json!(9440)),
            ],
            "probe-changed",
            "the program listens on the port",
        )
        .from(vec![set("container/args/1", json!("--metrics-bind-address=:9440"))]),
        risky(
            "a liveness probe that starts at once",
            vec![set("container/livenessProbe/initialDelaySeconds", json!(0))],
            "probe-tightened",
            "a container that is slow to start is restarted",
        ),
        info(
            "a startup probe in place of the delay of a liveness probe",
            vec![
                set("container/livenessProbe/initialDelaySeconds", json!(0)),
                set(
                    "container/startupProbe",
                    json!({"httpGet": {"path": "/healthz", "port": "health"}}),
                ),
            ],
            "probe-changed",
            "liveness probes wait for the startup probe",
        ),
        risky(
            "an impatient liveness probe",
            vec![set("container/livenessProbe/failureThreshold", json!(1))],
            "probe-tightened",
            "one failure restarts the container; the default is three",
        ),
        info(
            "a patient liveness probe",
            vec![set("container/livenessProbe/failureThreshold", json!(5))],
            "probe-changed",
            "the container is restarted later",
        ),
        info(
            "probe defaults written out",
            vec![
                set("container/livenessProbe/timeoutSeconds", json!(1)),
                set("container/livenessProbe/periodSeconds", json!(10)),
                set("container/livenessProbe/httpGet/scheme", json!("HTTP")),
            ],
            "",
            "the API server sets them",
        ),
    ]
}

fn scheduling() -> Vec<Mutation> {
    let required = |key: &str| {
        json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{"matchExpressions": [{"key": key, "operator": "Exists"}]}]}}})
    };
    vec![
        risky(
            "a node selector",
            vec![set("pod/nodeSelector/disk", json!("ssd"))],
            "scheduling-narrowed",
            "pods stay Pending without such a node",
        ),
        risky(
            "no operating system selected",
            vec![unset("pod/nodeSelector/kubernetes.io~1os")],
            "node-platform-free",
            "a Windows node of the cluster cannot run the image",
        ),
        risky(
            "a lost toleration",
            vec![set("pod/tolerations", json!([]))],
            "scheduling-narrowed",
            "pods no longer fit on infra nodes",
        ),
        info(
            "another toleration",
            vec![set("pod/tolerations/1", json!({"key": "gpu", "operator": "Exists"}))],
            "scheduling-widened",
            "pods fit on more nodes",
        ),
        risky(
            "a required affinity",
            vec![set("pod/affinity", required("zone"))],
            "scheduling-narrowed",
            "pods stay Pending without such a node",
        ),
        info(
            "a preferred affinity",
            vec![set(
                "pod/affinity",
                json!({"podAntiAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 1, "podAffinityTerm": {"topologyKey": "zone"}}]}}),
            )],
            "scheduling-widened",
            "the scheduler ignores it if no node fits",
        ),
        breaking(
            "a priority class that the chart does not have",
            vec![set("pod/priorityClassName", json!("widgets-high"))],
            "object-missing",
            "admission rejects pods with an unknown class",
        ),
        risky(
            "a system priority class",
            vec![set("pod/priorityClassName", json!("system-cluster-critical"))],
            "priority-changed",
            "the pods may preempt others; the class always exists",
        ),
        risky(
            "a runtime class",
            vec![set("pod/runtimeClassName", json!("gvisor"))],
            "scheduling-narrowed",
            "nodes without the runtime cannot start the pods",
        ),
        risky(
            "the host network",
            vec![set("pod/hostNetwork", json!(true))],
            "pod-host-access",
            "the isolation of pods does not apply",
        ),
        risky(
            "no host network any more",
            vec![unset("pod/hostNetwork")],
            "pod-network-changed",
            "nodes no longer listen on the ports",
        )
        .from(vec![set("pod/hostNetwork", json!(true))]),
        risky(
            "the DNS of the node",
            vec![set("pod/dnsPolicy", json!("Default"))],
            "pod-network-changed",
            "names of Services do not resolve",
        ),
        info(
            "the default DNS policy written out",
            vec![set("pod/dnsPolicy", json!("ClusterFirst"))],
            "",
            "it is the default",
        ),
        risky(
            "a privileged container",
            vec![
                set("container/securityContext/privileged", json!(true)),
                set("container/securityContext/allowPrivilegeEscalation", json!(true)),
            ],
            "pod-privileged",
            "the container can take over its node",
        ),
        risky(
            "an added capability",
            vec![set("container/securityContext/capabilities/add", json!(["NET_ADMIN"]))],
            "pod-capability",
            "part of root's privileges",
        ),
        risky(
            "no seccomp profile",
            vec![unset("container/securityContext/seccompProfile")],
            "pod-hardening-lost",
            "the restricted standard requires a profile",
        ),
        risky(
            "an unconfined seccomp profile",
            vec![set("container/securityContext/seccompProfile/type", json!("Unconfined"))],
            "pod-hardening-lost",
            "it is the same as none",
        ),
        risky(
            "a directory of the node",
            vec![set("pod/volumes/2", json!({"name": "host", "hostPath": {"path": "/var/log"}}))],
            "pod-host-access",
            "the pod reads files of its node",
        ),
        breaking(
            "user 0 under runAsNonRoot",
            vec![set("container/securityContext/runAsUser", json!(0))],
            "root-not-allowed",
            "the kubelet refuses to start the container",
        ),
        risky(
            "runAsNonRoot without a user",
            vec![set("container/securityContext/runAsNonRoot", json!(true))],
            "run-as-non-root-required",
            "an image with USER root or a name does not start",
        )
        .from(vec![unset("container/securityContext/runAsNonRoot")]),
        info(
            "a read-only root file system",
            vec![set("container/securityContext/readOnlyRootFilesystem", json!(true))],
            "field-changed",
            "the vendor's image is made for it",
        )
        .from(vec![unset("container/securityContext/readOnlyRootFilesystem")]),
        info(
            "no privilege written out",
            vec![set("container/securityContext/privileged", json!(false))],
            "",
            "it is the default",
        ),
    ]
}

fn environment() -> Vec<Mutation> {
    let claim = || {
        vec![
            Patch::Add(object(
                "v1",
                "PersistentVolumeClaim",
                "widget-data",
                json!({"spec": {
                "resources": {"requests": {"storage": "1Gi"}}}}),
            )),
            set(
                "pod/volumes/2",
                json!({"name": "data",
                "persistentVolumeClaim": {"claimName": "widget-data"}}),
            ),
        ]
    };
    vec![
        risky(
            "another value",
            vec![set("container/env/2/value", json!("off"))],
            "env-changed",
            "a variable switches features, as a flag does",
        ),
        risky(
            "a mount at another path",
            vec![set("container/volumeMounts/0/mountPath", json!("/etc/widgets"))],
            "mount-moved",
            "the same image looks at the old path",
        ),
        info(
            "a mount at another path with a new image",
            vec![
                set("container/volumeMounts/0/mountPath", json!("/etc/widgets")),
                set("container/image", json!("registry.example.com/widgets/operator:v1.4.1")),
            ],
            "volume-changed",
            "the new image knows its paths",
        ),
        risky(
            "another path of a probe",
            vec![set("container/readinessProbe/httpGet/path", json!("/ready"))],
            "probe-moved",
            "the same image may not answer it",
        ),
        info(
            "another path of a probe with a new image",
            vec![
                set("container/readinessProbe/httpGet/path", json!("/ready")),
                set("container/image", json!("registry.example.com/widgets/operator:v1.4.1")),
            ],
            "probe-changed",
            "the new image serves its probes",
        ),
        risky(
            "another scheme of a probe",
            vec![set("container/readinessProbe/httpGet/scheme", json!("HTTPS"))],
            "probe-moved",
            "the same image may not serve TLS",
        ),
        risky(
            "another host of a probe",
            vec![set("container/readinessProbe/httpGet/host", json!("widgets.example.com"))],
            "probe-moved",
            "another server answers",
        ),
        risky(
            "a variable less",
            vec![unset("container/env/2")],
            "env-removed",
            "as with a flag, the default may differ",
        ),
        breaking(
            "a variable from a missing Secret",
            vec![set(
                "container/env/3",
                json!({"name": "TOKEN",
            "valueFrom": {"secretKeyRef": {"name": "widget-token", "key": "token"}}}),
            )],
            "object-missing",
            "the container does not start without it",
        ),
        info(
            "a variable from an optional Secret",
            vec![set(
                "container/env/3",
                json!({"name": "TOKEN",
            "valueFrom": {"secretKeyRef": {"name": "widget-token", "key": "token", "optional": true}}}),
            )],
            "env-tuned",
            "the variable is unset without it",
        ),
        breaking(
            "a variable from a key that is missing",
            vec![set(
                "container/env/3",
                json!({
            "name": "MODE", "valueFrom": {"configMapKeyRef": {"name": "widget-config", "key": "mode"}}}),
            )],
            "config-key-missing",
            "the container does not start without the key",
        ),
        breaking(
            "a mounted ConfigMap that is missing",
            vec![set(
                "pod/volumes/2",
                json!({"name": "more", "configMap": {"name": "widget-more"}}),
            )],
            "object-missing",
            "the pod stays in ContainerCreating",
        ),
        info(
            "a mounted Secret that cert-manager creates",
            vec![set(
                "pod/volumes/2",
                json!({"name": "tls", "secret": {"secretName": "widget-tls"}}),
            )],
            "volume-changed",
            "the Certificate of the chart has this secretName",
        )
        .from(vec![Patch::Add(object(
            "cert-manager.io/v1",
            "Certificate",
            "widget-tls",
            json!({"spec": {"secretName": "widget-tls"}}),
        ))]),
        info(
            "the default mode of a volume written out",
            vec![set("pod/volumes/0/configMap/defaultMode", json!(420))],
            "",
            "420 is 0644",
        ),
        risky(
            "another user with a persistent volume",
            vec![set("pod/securityContext", json!({"fsGroup": 2000}))],
            "pod-user-changed",
            "the files belong to the old group",
        )
        .from(claim()),
        info(
            "another group without a persistent volume",
            vec![set("pod/securityContext", json!({"fsGroup": 2000}))],
            "field-changed",
            "no files outlive the pod",
        ),
        risky(
            "the persistent volume is no longer mounted",
            vec![unset("pod/volumes/2")],
            "volume-claim-unused",
            "the data is still there, and not seen",
        )
        .from(claim()),
        breaking(
            "a smaller claim",
            vec![set("PersistentVolumeClaim/spec/resources/requests/storage", json!("512Mi"))],
            "volume-claim-shrunk",
            "the API server rejects it",
        )
        .from(claim()),
        risky(
            "a larger claim",
            vec![set("PersistentVolumeClaim/spec/resources/requests/storage", json!("2Gi"))],
            "volume-claim-expanded",
            "only some storage classes can expand",
        )
        .from(claim()),
        breaking(
            "another storage class",
            vec![set("PersistentVolumeClaim/spec/storageClassName", json!("fast"))],
            "immutable-field",
            "the class of a claim is immutable",
        )
        .from(claim()),
        breaking(
            "no token for the API",
            vec![set("pod/automountServiceAccountToken", json!(false))],
            "api-token-missing",
            "the operator cannot authenticate",
        ),
        risky(
            "another pull secret",
            vec![set("pod/imagePullSecrets", json!([{"name": "pull"}]))],
            "pull-secret-missing",
            "the kubelet goes on without it",
        ),
    ]
}

fn references() -> Vec<Mutation> {
    vec![
        breaking(
            "another ServiceAccount that is missing",
            vec![set("pod/serviceAccountName", json!("widgets"))],
            "object-missing",
            "pods are not created without their ServiceAccount",
        ),
        breaking(
            "the mounted ConfigMap removed",
            vec![Patch::Delete("ConfigMap")],
            "object-removed-referenced",
            "pods that start later stay in ContainerCreating",
        ),
        risky(
            "an unmounted ConfigMap removed",
            vec![Patch::Delete("ConfigMap")],
            "config-removed",
            "the operator may read it through the API",
        )
        .from(vec![unset("pod/volumes/0")]),
        risky(
            "other content of a ConfigMap",
            vec![set("ConfigMap/data/config.yaml", json!("cache: off"))],
            "config-changed",
            "a file switches features, as a flag does",
        ),
        breaking(
            "an immutable ConfigMap changed",
            vec![set("ConfigMap/data/config.yaml", json!("cache: off"))],
            "immutable-field",
            "the API server rejects the update",
        )
        .from(vec![set("ConfigMap/immutable", json!(true))]),
        breaking(
            "another type of a Secret",
            vec![set("Secret/type", json!("kubernetes.io/tls"))],
            "immutable-field",
            "the type of a Secret is immutable",
        ),
        info(
            "the default type of a Secret written out",
            vec![set("Secret/type", json!("Opaque"))],
            "",
            "Opaque is the default",
        ),
        risky(
            "pull secrets of the ServiceAccount lost",
            vec![unset("ServiceAccount/imagePullSecrets")],
            "cloud-identity-changed",
            "private images cannot be pulled",
        )
        .from(vec![set("ServiceAccount/imagePullSecrets", json!([{"name": "pull"}]))]),
        risky(
            "another cloud role",
            vec![set(
                "ServiceAccount/metadata/annotations",
                json!({"eks.amazonaws.com/role-arn": "arn:b"}),
            )],
            "cloud-identity-changed",
            "the operator has other permissions in the cloud",
        )
        .from(vec![set(
            "ServiceAccount/metadata/annotations",
            json!({"eks.amazonaws.com/role-arn": "arn:a"}),
        )]),
        info(
            "other labels",
            vec![set("Deployment/metadata/labels", json!({"version": "2"}))],
            "metadata-changed",
            "nothing selects Deployments",
        ),
    ]
}

fn rbac() -> Vec<Mutation> {
    let more = |rule: Json| vec![set("ClusterRole/rules/2", rule)];
    let aggregate = || {
        Patch::Add(role(
            "ClusterRole",
            "widget-view",
            &[rule(&["example.com"], &["widgets"], &["get"])],
        ))
    };
    vec![
        risky(
            "reads Secrets",
            more(rule(&[""], &["secrets"], &["get", "list"])),
            "rbac-secrets",
            "Secrets hold the credentials of all namespaces",
        ),
        risky(
            "escalates",
            more(rule(&[RBAC_GROUP], &["clusterroles"], &["escalate"])),
            "rbac-escalation",
            "the subject can give itself any permission",
        ),
        risky(
            "impersonates",
            more(rule(&[""], &["users"], &["impersonate"])),
            "rbac-escalation",
            "the subject can act as anyone",
        ),
        risky(
            "a wildcard",
            more(rule(&["apps"], &["*"], &["*"])),
            "rbac-wildcard",
            "it includes resources that do not exist yet",
        ),
        risky(
            "one more resource",
            more(rule(&["batch"], &["jobs"], &["create"])),
            "rbac-widened",
            "the permission is new",
        ),
        info(
            "rules split",
            vec![
                set("ClusterRole/rules/1/verbs", json!(["get", "list", "watch"])),
                set(
                    "ClusterRole/rules/2",
                    rule(&["apps"], &["deployments"], &["create", "update", "delete"]),
                ),
            ],
            "rbac-rewritten",
            "the permissions are the same",
        ),
        risky(
            "a verb lost",
            vec![set("ClusterRole/rules/1/verbs", json!(["get", "list", "watch"]))],
            "rbac-lost",
            "the operator fails with Forbidden if it still needs it",
        ),
        info(
            "a verb moved to another role of the operator",
            vec![
                set(
                    "ClusterRole/rules/1/verbs",
                    json!(["get", "list", "watch", "create", "update"]),
                ),
                Patch::Add(role(
                    "ClusterRole",
                    "widget-more",
                    &[rule(&["apps"], &["deployments"], &["delete"])],
                )),
                Patch::Add(binding(
                    "ClusterRoleBinding",
                    "widget-more",
                    "widget-more",
                    &["widget-operator"],
                )),
            ],
            "rbac-rewritten",
            "effective permissions are the same",
        ),
        breaking(
            "may not list its own resource",
            vec![set("ClusterRole/rules/0/verbs", json!(["update", "patch"]))],
            "own-api-not-readable",
            "informers do not synchronize without list and watch",
        ),
        breaking(
            "may not update its Lease",
            vec![set("Role/rules/0/verbs", json!(["get"]))],
            "lease-not-allowed",
            "no replica becomes leader",
        ),
        breaking(
            "leader election turned on without Leases",
            vec![set("container/args", json!(["--leader-elect", "--metrics-bind-address=:8443"]))],
            "lease-not-allowed",
            "no replica becomes leader",
        )
        .from(vec![
            set("container/args", json!(["--metrics-bind-address=:8443"])),
            set("Role/rules/0/verbs", json!(["get"])),
        ]),
        risky(
            "bound to cluster-admin in place of its own role",
            vec![
                Patch::Delete("ClusterRoleBinding"),
                Patch::Add(binding(
                    "ClusterRoleBinding",
                    "widget-admin",
                    "cluster-admin",
                    &["widget-operator"],
                )),
            ],
            "rbac-escalation",
            "it has all permissions",
        ),
        risky(
            "bound to admin in place of its own role",
            vec![
                Patch::Delete("ClusterRoleBinding"),
                Patch::Add(binding(
                    "ClusterRoleBinding",
                    "widget-admin",
                    "admin",
                    &["widget-operator"],
                )),
            ],
            "rbac-subject-added",
            "the chart does not say what the role allows, so that nothing is known to be lost",
        ),
        risky(
            "bound to all ServiceAccounts of its namespace",
            vec![set(
                "ClusterRoleBinding/subjects/0",
                json!({"kind": "Group", "name": "system:serviceaccounts:ns"}),
            )],
            "rbac-subject-added",
            "the others have the permissions of the operator, which still has them",
        ),
        info(
            "bound by its user name",
            vec![set(
                "ClusterRoleBinding/subjects/0",
                json!({"kind": "User", "name": "system:serviceaccount:ns:widget-operator"}),
            )],
            "field-changed",
            "it is the same ServiceAccount",
        ),
        risky(
            "may update a Lease by its name",
            vec![
                set("Role/rules/0/verbs", json!(["create"])),
                set(
                    "Role/rules/1",
                    json!({"apiGroups": ["coordination.k8s.io"], "resources": ["leases"],
                        "resourceNames": ["widgets"], "verbs": ["get", "update"]}),
                ),
            ],
            "rbac-lost",
            "it is enough for leader election with this Lease",
        ),
        breaking(
            "the binding removed",
            vec![Patch::Delete("ClusterRoleBinding")],
            "own-api-not-readable",
            "the operator loses all permissions of the role",
        ),
        breaking(
            "another role in the binding",
            vec![set("ClusterRoleBinding/roleRef/name", json!("widget-editor"))],
            "immutable-field",
            "roleRef is immutable",
        ),
        info(
            "the API group of roleRef left out",
            vec![unset("ClusterRoleBinding/roleRef/apiGroup")],
            "",
            "it is the default",
        ),
        risky(
            "another subject",
            vec![set(
                "ClusterRoleBinding/subjects/1",
                json!({"kind": "Group", "name": "system:authenticated"}),
            )],
            "rbac-subject-added",
            "everyone has the permissions of the operator",
        ),
        risky(
            "an unbound role narrowed",
            vec![unset("ClusterRole/rules/1")],
            "rbac-unbound-role-narrowed",
            "the operator or users bind it",
        )
        .from(vec![
            Patch::Delete("ClusterRoleBinding"),
            Patch::Add(binding("ClusterRoleBinding", "b", "widget-editor", &["widget-operator"])),
        ]),
        risky(
            "aggregated into edit",
            vec![set(
                "ClusterRole/metadata/labels",
                json!({"rbac.authorization.k8s.io/aggregate-to-edit": "true"}),
            )],
            "rbac-aggregated",
            "everyone with edit gets the permissions",
        ),
        risky(
            "no longer aggregated into edit",
            vec![unset("ClusterRole/metadata/labels")],
            "rbac-aggregation-removed",
            "users with edit lose the permissions",
        )
        .from(vec![set(
            "ClusterRole/metadata/labels",
            json!({"rbac.authorization.k8s.io/aggregate-to-edit": "true"}),
        )]),
        info(
            "an unbound role added",
            vec![aggregate()],
            "object-added",
            "a role without a binding grants nothing",
        ),
        info(
            "permissions of an unused ServiceAccount lost",
            vec![Patch::Delete("RoleBinding")],
            "rbac-narrowed",
            "no workload has the ServiceAccount",
        )
        .from(vec![
            set("container/args", json!([])),
            set("RoleBinding/subjects/0/name", json!("nobody")),
        ]),
    ]
}

fn watch() -> Vec<Mutation> {
    let targets = |names: &str| {
        vec![set(
            "Deployment/spec/template/metadata/annotations/olm.targetNamespaces",
            json!(names),
        )]
    };
    vec![
        breaking(
            "from all namespaces to its own",
            targets("ns"),
            "watch-narrowed",
            "custom resources elsewhere are no longer reconciled",
        ),
        risky(
            "from its own namespace to all",
            targets(""),
            "watch-widened",
            "another installation may watch them already",
        )
        .from(targets("ns")),
        breaking(
            "one of two namespaces",
            targets("a"),
            "watch-narrowed",
            "custom resources in b are no longer reconciled",
        )
        .from(targets("a,b")),
        risky(
            "one namespace more",
            targets("a,b"),
            "watch-widened",
            "the operator reconciles b, too",
        )
        .from(targets("a")),
        info(
            "the same namespaces in another order",
            targets("b,a"),
            "metadata-changed",
            "the set is the same",
        )
        .from(targets("a,b")),
        breaking(
            "a fixed namespace in the environment",
            vec![set("container/env/0", json!({"name": "WATCH_NAMESPACE", "value": "ns"}))],
            "watch-narrowed",
            "the variable decides, not the annotation",
        ),
        risky(
            "no namespace in the environment",
            vec![set("container/env/0", json!({"name": "WATCH_NAMESPACE", "value": ""}))],
            "watch-widened",
            "an empty variable means all namespaces",
        )
        .from(vec![set(
            "container/env/0",
            json!({"name": "WATCH_NAMESPACE",
                "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}}),
        )]),
    ]
}
