//! For each thing that a build reports because the API server refuses it, an object, and its neighbors
//! that the server accepts.
//!
//! tests/api_server/refusals.rs asks a server about each row.

#![allow(dead_code, reason = "each test program uses a part")]

/// An object with a change.
pub(crate) struct Row {
    object: &'static str,
    from: &'static str,
    to: &'static str,
    /// Path of the fault; empty if the server accepts the object.
    pub(crate) path: &'static str,
    /// Message of the build after the object's name.
    pub(crate) warning: &'static str,
    /// A part of the server's message.
    pub(crate) refusal: &'static str,
}

impl Row {
    /// Returns the changed object.
    pub(crate) fn manifest(&self) -> String {
        expanded(&changed(self.object, self.from, self.to))
    }
}

fn changed(object: &str, from: &str, to: &str) -> String {
    assert!(object.contains(from), "{from:?} is not in the object");
    object.replace(from, to)
}

/// Returns a text with names as long as they may be, and longer.
pub(crate) fn expanded(text: &str) -> String {
    text.replace("K253", &"k".repeat(253)).replace("K254", &"k".repeat(254))
}

const SERVICE: &str = "apiVersion: v1
kind: Service
metadata: {name: faulty, labels: {app: faulty}}
spec:
  selector: {app: lamp-operator}
  ports:
  - {name: a, port: 80, targetPort: web}
";

const CONFIG_MAP: &str = "apiVersion: v1
kind: ConfigMap
metadata: {name: faulty, labels: {app: faulty}, annotations: {example.com/a: 'x'}}
data: {key: value}
";

const SECRET: &str = "apiVersion: v1
kind: Secret
metadata: {name: faulty}
stringData: {key: value}
";

const DEPLOYMENT: &str = "apiVersion: apps/v1
kind: Deployment
metadata: {name: faulty}
spec:
  selector: {matchLabels: {app: faulty}}
  template:
    metadata: {labels: {app: faulty}}
    spec:
      volumes:
      - {name: v, emptyDir: {}}
      containers:
      - name: manager
        image: registry.example.com/a@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
        ports:
        - {name: metrics, containerPort: 8080}
        env:
        - {name: A, value: a}
        volumeMounts:
        - {name: v, mountPath: /a}
        readinessProbe: {httpGet: {path: /, port: metrics}}
";

const DAEMON_SET: &str = "apiVersion: apps/v1
kind: DaemonSet
metadata: {name: faulty}
spec:
  selector: {matchLabels: {app: faulty}}
  template:
    metadata: {labels: {app: faulty}}
    spec:
      containers: [{name: manager, image: a}]
";

const STATEFUL_SET: &str = "apiVersion: apps/v1
kind: StatefulSet
metadata: {name: faulty}
spec:
  selector: {matchLabels: {app: faulty}}
  template:
    metadata: {labels: {app: faulty}}
    spec:
      containers: [{name: manager, image: a, volumeMounts: [{name: data, mountPath: /data}]}]
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
";

const JOB: &str = "apiVersion: batch/v1
kind: Job
metadata: {name: faulty}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: manager, image: a}]
";

const CRON_JOB: &str = "apiVersion: batch/v1
kind: CronJob
metadata: {name: faulty}
spec:
  schedule: 0 3 * * *
  jobTemplate:
    spec:
      template:
        metadata: {labels: {app: faulty}}
        spec:
          restartPolicy: OnFailure
          containers: [{name: manager, image: a}]
";

const POD: &str = "apiVersion: v1
kind: Pod
metadata: {name: faulty, labels: {app: faulty}}
spec:
  containers: [{name: manager, image: a}]
";

const CRD: &str = "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: faults.light.example.com}
spec:
  group: light.example.com
  scope: Namespaced
  names: {kind: Fault, listKind: FaultList, plural: faults, singular: fault}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
";

const AUTOSCALER: &str = "apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: faulty}
spec:
  minReplicas: 2
  maxReplicas: 2
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: lamp-operator}
";

const CLUSTER_ROLE: &str = "apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: faulty}
rules:
- {nonResourceURLs: [/metrics], verbs: [get]}
";

const ROLE: &str = "apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: faulty}
rules:
- {apiGroups: [''], resources: [pods], verbs: [get]}
";

const BINDING: &str = "apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: faulty}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}
subjects: [{kind: ServiceAccount, name: lamp-operator, namespace: default}]
";

const BUDGET: &str = "apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: faulty}
spec: {minAvailable: 1, selector: {matchExpressions: [{key: app, operator: Exists}]}}
";

const CLAIM: &str = "apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: faulty}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
";

const INGRESS: &str = "apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: faulty}
spec:
  rules:
  - http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: lamp-operator, port: {number: 80}}}}]}
";

const INGRESS_CLASS: &str = "apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: faulty}
spec: {controller: example.com/lamps, parameters: {kind: Lamp, name: lamp, scope: Cluster}}
";

const NETWORK_POLICY: &str = "apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: faulty}
spec: {podSelector: {}, policyTypes: [Egress], egress: [{ports: [{port: 80, protocol: TCP}]}]}
";

const PRIORITY_CLASS: &str = "apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: faulty}
value: 7
";

const STORAGE_CLASS: &str = "apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: faulty}
provisioner: example.com/lamps
";

const MUTATING_WEBHOOK: &str = "apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: faulty}
webhooks:
- name: lamps.light.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  clientConfig: {service: {name: webhook, namespace: default}}
  rules: [{apiGroups: [light.example.com], apiVersions: [v1], operations: [CREATE], resources: [lamps]}]
";

const VALIDATING_WEBHOOK: &str = "apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: faulty}
webhooks:
- name: lamps.light.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  clientConfig: {service: {name: webhook, namespace: default}}
  rules: [{apiGroups: [light.example.com], apiVersions: [v1], operations: [CREATE], resources: [lamps]}]
";

const fn refused(
    object: &'static str,
    from: &'static str,
    to: &'static str,
    path: &'static str,
    warning: &'static str,
    refusal: &'static str,
) -> Row {
    Row { object, from, to, path, warning, refusal }
}

const fn accepted(object: &'static str, from: &'static str, to: &'static str) -> Row {
    Row { object, from, to, path: "", warning: "", refusal: "" }
}

/// Every object with its rows.
#[rustfmt::skip]
pub(crate) const ROWS: &[Row] = &[
    refused(SERVICE, "labels: {app: faulty}", "labels: {app: 'a b'}", ".metadata.labels.app", "has invalid value `a b` of label `app`", "metadata.labels: Invalid value: \"a b\": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.'"),
    refused(SERVICE, "labels: {app: faulty}", "labels: {EXAMPLE.com/a: x}", ".metadata.labels[\"EXAMPLE.com/a\"]", "has invalid label key `EXAMPLE.com/a`", "metadata.labels: Invalid value: \"EXAMPLE.com/a\": "),
    refused(SERVICE, "labels: {app: faulty}", "labels: {app/: x}", ".metadata.labels[\"app/\"]", "has invalid label key `app/`", "metadata.labels: Invalid value: \"app/\": "),
    accepted(SERVICE, "labels: {app: faulty}", "labels: {app: ''}"),
    accepted(SERVICE, "labels: {app: faulty}", "labels: {example.com/a_B: x}"),
    refused(SERVICE, "  ports:\n  - {name: a, port: 80, targetPort: web}\n", "", ".spec", "has no ports", "spec.ports: Required value"),
    refused(SERVICE, "  ports:\n  - {name: a, port: 80, targetPort: web}\n", "  type: ClusterIP\n", ".spec", "has no ports", "spec.ports: Required value"),
    accepted(SERVICE, "  ports:\n  - {name: a, port: 80, targetPort: web}\n", "  clusterIP: None\n"),
    accepted(SERVICE, "  ports:\n  - {name: a, port: 80, targetPort: web}\n", "  type: ExternalName\n  externalName: a.example.com\n"),
    refused(SERVICE, "{name: a, port: 80, targetPort: web}", "{name: a, port: 80}\n  - {port: 81}", ".spec.ports[1]", "has several ports, but not all have a name", "spec.ports[1].name: Required value"),
    accepted(SERVICE, "{name: a, port: 80, targetPort: web}", "{port: 80}"),
    accepted(SERVICE, "{name: a, port: 80, targetPort: web}", "{name: '', port: 80}"),
    accepted(SERVICE, "{name: a, port: 80, targetPort: web}", "{name: a, port: 80}\n  - {name: b, port: 81}"),
    refused(SERVICE, "targetPort: web", "targetPort: '8080'", ".spec.ports[0].targetPort", "has target port \"8080\", which is a port name and must contain a letter; write a number without quotes", "spec.ports[0].targetPort: Invalid value: \"8080\": must contain at least one letter"),
    refused(SERVICE, "targetPort: web", "targetPort: a_b", ".spec.ports[0].targetPort", "has target port \"a_b\", which must have at most 15 lower-case letters, digits and dashes, and a letter", "spec.ports[0].targetPort: Invalid value: \"a_b\""),
    accepted(SERVICE, "targetPort: web", "targetPort: 8080"),
    accepted(SERVICE, "targetPort: web", "targetPort: a-15-letter-nam"),
    refused(SERVICE, "port: 80,", "port: 0,", ".spec.ports[0]", "has no value for required field `.spec.ports[0].port`", "spec.ports[0].port: Invalid value: 0: must be between 1 and 65535"),
    refused(SERVICE, "port: 80,", "port: 65536,", ".spec.ports[0].port", "has port 65536, not 1 to 65535", "spec.ports[0].port: Invalid value: 65536: must be between 1 and 65535"),
    accepted(SERVICE, "port: 80,", "port: 1,"),
    accepted(SERVICE, "port: 80,", "port: 65535,"),
    refused(SERVICE, "name: a,", "name: a_b,", ".spec.ports[0].name", "has port name \"a_b\", which must have lower-case letters, digits and dashes only", "spec.ports[0].name: Invalid value: \"a_b\""),
    refused(SERVICE, "{name: a, port: 80, targetPort: web}", "{name: a, port: 80}\n  - {name: a, port: 81}", ".spec.ports", "has duplicate port name a", "spec.ports[1].name: Duplicate value: \"a\""),
    refused(SERVICE, "{name: a, port: 80, targetPort: web}", "{name: a, port: 80}\n  - {name: b, port: 80}", ".spec.ports", "has duplicate port 80/TCP", "spec.ports[1]: Duplicate value"),
    accepted(SERVICE, "{name: a, port: 80, targetPort: web}", "{name: a, port: 80}\n  - {name: b, port: 80, protocol: UDP}"),
    refused(CONFIG_MAP, "example.com/a", "x/y/z", ".metadata.annotations[\"x/y/z\"]", "has invalid annotation key `x/y/z`", "metadata.annotations: Invalid value: \"x/y/z\": a valid label key must consist of alphanumeric characters"),
    accepted(CONFIG_MAP, "example.com/a", "EXAMPLE.com/a"),
    accepted(CONFIG_MAP, "'x'", "'x y'"),
    refused(CONFIG_MAP, "key: value", "'a b': value", ".data[\"a b\"]", "has key `a b`, which is not a valid file name", "data[a b]: Invalid value: \"a b\": a valid config key must consist of alphanumeric characters, '-', '_' or '.'"),
    refused(CONFIG_MAP, "data: {key: value}", "binaryData: {'a/b': aGk=}", ".binaryData[\"a/b\"]", "has key `a/b`, which is not a valid file name", "binaryData[a/b]: Invalid value: \"a/b\": a valid config key must consist of alphanumeric characters, '-', '_' or '.'"),
    refused(CONFIG_MAP, "key: value", "..key: value", ".data[\"..key\"]", "has key `..key`, which is not a valid file name", "data[..key]: Invalid value: \"..key\": must not start with '..'"),
    refused(CONFIG_MAP, "key: value", ".: value", ".data[\".\"]", "has key `.`, which is not a valid file name", "data[.]: Invalid value: \".\": must not be '.'"),
    refused(CONFIG_MAP, "key: value", "'': value", ".data[\"\"]", "has key ``, which is not a valid file name", "data[]: Invalid value: \"\": a valid config key must consist of alphanumeric characters, '-', '_' or '.'"),
    refused(CONFIG_MAP, "key: value", "K254: value", ".data.K254", "has key `K254`, which is not a valid file name", "must be no more than 253 characters"),
    accepted(CONFIG_MAP, "key: value", ".key: value"),
    accepted(CONFIG_MAP, "key: value", "K_e-y.9: value"),
    accepted(CONFIG_MAP, "key: value", "K253: value"),
    refused(SECRET, "key: value", "'a b': value", ".stringData[\"a b\"]", "has key `a b`, which is not a valid file name", "data[a b]: Invalid value: \"a b\": a valid config key must consist of alphanumeric characters, '-', '_' or '.'"),
    refused(DEPLOYMENT, "metadata: {labels: {app: faulty}}", "metadata: {labels: {app: other}}", ".spec.selector", "has a selector that does not match its pod template: label `app=faulty` is missing", "`selector` does not match template `labels`"),
    refused(DEPLOYMENT, "metadata: {labels: {app: faulty}}", "metadata: {labels: {app: faulty, x: 'a b'}}", ".spec.template.metadata.labels.x", "has invalid value `a b` of label `x`", "spec.template.labels: Invalid value: \"a b\": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.'"),
    accepted(DEPLOYMENT, "metadata: {labels: {app: faulty}}", "metadata: {labels: {app: faulty, x: z}}"),
    refused(DEPLOYMENT, "selector: {matchLabels: {app: faulty}}", "selector: {matchExpressions: [{key: app, operator: In, values: [other]}]}", ".spec.selector", "has a selector that does not match its pod template: `matchExpressions` of label `app` is not met", "`selector` does not match template `labels`"),
    refused(DEPLOYMENT, "selector: {matchLabels: {app: faulty}}", "selector: {matchExpressions: [{key: app, operator: NotIn, values: [faulty]}]}", ".spec.selector", "has a selector that does not match its pod template: `matchExpressions` of label `app` is not met", "`selector` does not match template `labels`"),
    refused(DEPLOYMENT, "selector: {matchLabels: {app: faulty}}", "selector: {matchExpressions: [{key: tier, operator: Exists}]}", ".spec.selector", "has a selector that does not match its pod template: `matchExpressions` of label `tier` is not met", "`selector` does not match template `labels`"),
    refused(DEPLOYMENT, "selector: {matchLabels: {app: faulty}}", "selector: {matchExpressions: [{key: app, operator: DoesNotExist}]}", ".spec.selector", "has a selector that does not match its pod template: `matchExpressions` of label `app` is not met", "`selector` does not match template `labels`"),
    accepted(DEPLOYMENT, "selector: {matchLabels: {app: faulty}}", "selector: {matchExpressions: [{key: app, operator: In, values: [other, faulty]}, {key: app, operator: Exists}, {key: tier, operator: NotIn, values: [a]}, {key: tier, operator: DoesNotExist}]}"),
    refused(DEPLOYMENT, "spec:\n  selector", "spec:\n  strategy: {type: Recreate, rollingUpdate: {maxSurge: 1}}\n  selector", ".spec.strategy.rollingUpdate", "has strategy Recreate with `rollingUpdate`", "spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'"),
    refused(DEPLOYMENT, "spec:\n  selector", "spec:\n  strategy: {rollingUpdate: {maxSurge: 0%, maxUnavailable: 0}}\n  selector", ".spec.strategy.rollingUpdate", "has `maxSurge` and `maxUnavailable` 0, so no pod can be replaced", "may not be 0 when `maxSurge` is 0"),
    refused(DEPLOYMENT, "spec:\n  selector", "spec:\n  strategy: {rollingUpdate: {maxSurge: \"100\"}}\n  selector", ".spec.strategy.rollingUpdate.maxSurge", "has maxSurge that is neither a number nor a percentage", "a valid percent string must be a numeric string followed by an ending '%'"),
    accepted(DEPLOYMENT, "spec:\n  selector", "spec:\n  strategy: {rollingUpdate: {maxSurge: 100%, maxUnavailable: 1}}\n  selector"),
    refused(SECRET, "stringData: {key: value}", "type: kubernetes.io/tls\nstringData: {tls.crt: a}", ".data", "has type kubernetes.io/tls without key `tls.key`", "data[tls.key]: Required value"),
    accepted(SECRET, "stringData: {key: value}", "type: kubernetes.io/tls\ndata: {tls.crt: YQ==}\nstringData: {tls.key: a}"),
    accepted(DEPLOYMENT, "spec:\n  selector", "spec:\n  strategy: {type: Recreate, rollingUpdate: null}\n  selector"),
    accepted(DEPLOYMENT, "spec:\n  selector", "spec:\n  strategy: {rollingUpdate: {maxSurge: 0}}\n  selector"),
    refused(DEPLOYMENT, "selector: {matchLabels: {app: faulty}}", "selector: {}", ".spec", "has no selector", "empty selector is invalid for deployment"),
    refused(DEPLOYMENT, "selector: {matchLabels: {app: faulty}}", "selector: {matchLabels: {}}", ".spec", "has no selector", "empty selector is invalid for deployment"),
    accepted(DEPLOYMENT, "selector: {matchLabels: {app: faulty}}", "selector: {matchExpressions: [{key: app, operator: Exists}]}"),
    refused(DEPLOYMENT, "- {name: v, emptyDir: {}}", "- {name: v, emptyDir: {}}\n      - {name: v, emptyDir: {}}", ".spec.template.spec.volumes", "has duplicate volume v", "spec.template.spec.volumes[1].name: Duplicate value: \"v\""),
    accepted(DEPLOYMENT, "- {name: v, emptyDir: {}}", "- {name: v, emptyDir: {}}\n      - {name: w, emptyDir: {}}"),
    accepted(DEPLOYMENT, "        ports:\n", "        securityContext: {privileged: false, allowPrivilegeEscalation: false}\n        ports:\n"),
    refused(DEPLOYMENT, "- {name: v, mountPath: /a}", "- {name: gone, mountPath: /a}", ".spec.template.spec.containers[0].volumeMounts[0]", "mounts undefined volume `gone`", "spec.template.spec.containers[0].volumeMounts[0].name: Not found: \"gone\""),
    refused(DEPLOYMENT, "- {name: v, mountPath: /a}", "- {name: v, mountPath: /a}\n        - {name: v, mountPath: /a}", ".spec.template.spec.containers[0].volumeMounts", "has duplicate mount path /a", "volumeMounts[1].mountPath: Invalid value: \"/a\": must be unique"),
    accepted(DEPLOYMENT, "- {name: v, mountPath: /a}", "- {name: v, mountPath: /a}\n        - {name: v, mountPath: /b}"),
    refused(DEPLOYMENT, "name: manager", "name: Upper", ".spec.template.spec.containers[0].name", "has container name \"Upper\", which must have lower-case letters, digits and dashes only", "spec.template.spec.containers[0].name: Invalid value: \"Upper\""),
    refused(DEPLOYMENT, "      containers:\n", "      initContainers:\n      - {name: manager, image: a}\n      containers:\n", ".spec.template.spec.containers", "has duplicate container name manager", "spec.template.spec.initContainers[0].name: Duplicate value: \"manager\""),
    refused(DEPLOYMENT, "      containers:\n", "      initContainers:\n      - {name: first}\n      containers:\n", ".spec.template.spec.initContainers[0]", "has container `first` without an image", "spec.template.spec.initContainers[0].image: Required value"),
    refused(DEPLOYMENT, "image: registry.example.com/a@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", "image: ''", ".spec.template.spec.containers[0]", "has container `manager` without an image", "spec.template.spec.containers[0].image: Required value"),
    accepted(DEPLOYMENT, "      containers:\n", "      initContainers:\n      - {name: first, image: a}\n      containers:\n"),
    refused(DEPLOYMENT, "      containers:\n", "      restartPolicy: OnFailure\n      containers:\n", ".spec.template.spec.restartPolicy", "has restartPolicy `OnFailure`, not `Always`", "spec.template.spec.restartPolicy: Unsupported value: \"OnFailure\": supported values: \"Always\""),
    refused(DEPLOYMENT, "      containers:\n", "      dnsPolicy: First\n      containers:\n", ".spec.template.spec.dnsPolicy", "has dnsPolicy `First`, not `ClusterFirst`, `ClusterFirstWithHostNet`, `Default`, `None`", "spec.template.spec.dnsPolicy: Unsupported value: \"First\""),
    refused(DEPLOYMENT, "      containers:\n", "      tolerations: [{key: a, operator: Exist}]\n      containers:\n", ".spec.template.spec.tolerations[0].operator", "has operator `Exist`, not `Equal`, `Exists`", "spec.template.spec.tolerations[0].operator: Unsupported value: \"Exist\""),
    refused(DEPLOYMENT, "- name: manager\n", "- name: manager\n        imagePullPolicy: Sometimes\n", ".spec.template.spec.containers[0].imagePullPolicy", "has imagePullPolicy `Sometimes`, not `Always`, `IfNotPresent`, `Never`", "imagePullPolicy: Unsupported value: \"Sometimes\""),
    refused(DEPLOYMENT, "containerPort: 8080", "containerPort: 8080, protocol: HTTP", ".spec.template.spec.containers[0].ports[0].protocol", "has protocol `HTTP`, not `TCP`, `UDP`, `SCTP`", "ports[0].protocol: Unsupported value: \"HTTP\""),
    accepted(DEPLOYMENT, "      containers:\n", "      restartPolicy: Always\n      dnsPolicy: None\n      dnsConfig: {nameservers: [10.0.0.1]}\n      tolerations: [{operator: Exists, effect: NoExecute}]\n      containers:\n"),
    refused(DEPLOYMENT, "name: metrics, containerPort: 8080", "name: a-very-long-name, containerPort: 8080", ".spec.template.spec.containers[0].ports[0].name", "has port name \"a-very-long-name\", which must have at most 15 lower-case letters, digits and dashes, and a letter", "ports[0].name: Invalid value: \"a-very-long-name\": must be no more than 15 characters"),
    refused(DEPLOYMENT, "name: metrics, containerPort: 8080", "name: '8081', containerPort: 8080", ".spec.template.spec.containers[0].ports[0].name", "has port name \"8081\", which must have at most 15 lower-case letters, digits and dashes, and a letter", "ports[0].name: Invalid value: \"8081\": must contain at least one letter"),
    refused(DEPLOYMENT, "- {name: metrics, containerPort: 8080}", "- {name: metrics, containerPort: 8080}\n        - {name: metrics, containerPort: 8081}", ".spec.template.spec.containers[0].ports", "has duplicate port name metrics", "ports[1].name: Duplicate value: \"metrics\""),
    accepted(DEPLOYMENT, "name: metrics, containerPort: 8080", "name: '', containerPort: 8080"),
    accepted(DEPLOYMENT, "- {name: metrics, containerPort: 8080}", "- {name: '', containerPort: 8080}\n        - {name: '', containerPort: 8081}"),
    refused(DEPLOYMENT, "{name: A, value: a}", "{name: A, value: a, valueFrom: {fieldRef: {fieldPath: metadata.name}}}", ".spec.template.spec.containers[0].env[0]", "has env var A with both value and valueFrom", "env[0].valueFrom: Invalid value: \"\": may not be specified when `value` is not empty"),
    accepted(DEPLOYMENT, "{name: A, value: a}", "{name: A, value: '', valueFrom: {fieldRef: {fieldPath: metadata.name}}}"),
    accepted(DEPLOYMENT, "{name: A, value: a}", "{name: A, value: a, valueFrom: null}"),
    refused(DEPLOYMENT, "readinessProbe: {httpGet: {path: /, port: metrics}}", "readinessProbe: {httpGet: {path: /, port: '8080'}}", ".spec.template.spec.containers[0].readinessProbe.httpGet.port", "has probe port \"8080\", which is a port name and must contain a letter; write a number without quotes", "readinessProbe.httpGet.port: Invalid value: \"8080\": must contain at least one letter"),
    refused(DEPLOYMENT, "readinessProbe: {httpGet: {path: /, port: metrics}}", "livenessProbe: {tcpSocket: {port: '8080'}}", ".spec.template.spec.containers[0].livenessProbe.tcpSocket.port", "has probe port \"8080\", which is a port name and must contain a letter; write a number without quotes", "livenessProbe.tcpSocket.port: Invalid value: \"8080\": must contain at least one letter"),
    refused(DEPLOYMENT, "readinessProbe: {httpGet: {path: /, port: metrics}}", "startupProbe: {httpGet: {path: /, port: '8080'}}", ".spec.template.spec.containers[0].startupProbe.httpGet.port", "has probe port \"8080\", which is a port name and must contain a letter; write a number without quotes", "startupProbe.httpGet.port: Invalid value: \"8080\": must contain at least one letter"),
    accepted(DEPLOYMENT, "readinessProbe: {httpGet: {path: /, port: metrics}}", "readinessProbe: {httpGet: {path: /, port: 8080}}"),
    refused(DEPLOYMENT, "      containers:\n", "      tolerations: [{key: a, operator: Exists, value: b}]\n      containers:\n", ".spec.template.spec.tolerations[0]", "has a toleration with operator `Exists` and a value", "value must be empty when `operator` is 'Exists'"),
    refused(DEPLOYMENT, "      containers:\n", "      affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: In}]}]}}}\n      containers:\n", ".spec.template.spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0]", "has node affinity with operator `In` without values", "must be specified when `operator` is 'In' or 'NotIn'"),
    refused(DEPLOYMENT, "      containers:\n", "      affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, preference: {matchExpressions: [{key: a, operator: Exists, values: [b]}]}}]}}\n      containers:\n", ".spec.template.spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference.matchExpressions[0]", "has node affinity with operator `Exists` and values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"),
    accepted(DEPLOYMENT, "      containers:\n", "      affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: NotIn, values: [b]}, {key: c, operator: Exists}]}]}}}\n      tolerations: [{key: a, operator: Exists, value: ''}]\n      containers:\n"),
    refused(DEPLOYMENT, "{name: A, value: a}", "{name: A, valueFrom: {fieldRef: {fieldPath: metadata.nam}}}", ".spec.template.spec.containers[0].env[0].valueFrom.fieldRef.fieldPath", "has env var A with unsupported fieldPath `metadata.nam`, did you mean `metadata.name`?", "env[0].valueFrom.fieldRef.fieldPath: Invalid value: \"metadata.nam\": error converting fieldPath"),
    accepted(DEPLOYMENT, "{name: A, value: a}", "{name: A, valueFrom: {fieldRef: {fieldPath: \"metadata.labels['a']\"}}}"),
    refused(DEPLOYMENT, "{name: A, value: a}", "{name: A, valueFrom: {resourceFieldRef: {resource: limits.example.com/gpu}}}", ".spec.template.spec.containers[0].env[0].valueFrom.resourceFieldRef.resource", "has env var A with unsupported resource `limits.example.com/gpu`", "env[0].valueFrom.resourceFieldRef.resource: Unsupported value: \"limits.example.com/gpu\""),
    refused(DEPLOYMENT, "{name: A, value: a}", "{name: A, valueFrom: {resourceFieldRef: {resource: cpu}}}", ".spec.template.spec.containers[0].env[0].valueFrom.resourceFieldRef.resource", "has env var A with unsupported resource `cpu`", "env[0].valueFrom.resourceFieldRef.resource: Unsupported value: \"cpu\""),
    accepted(DEPLOYMENT, "{name: A, value: a}", "{name: A, valueFrom: {resourceFieldRef: {resource: limits.memory}}}"),
    accepted(DEPLOYMENT, "{name: A, value: a}", "{name: A, valueFrom: {resourceFieldRef: {resource: requests.ephemeral-storage}}}"),
    accepted(DEPLOYMENT, "{name: A, value: a}", "{name: A, valueFrom: {resourceFieldRef: {resource: requests.cpu}}}"),
    accepted(DEPLOYMENT, "{name: A, value: a}", "{name: A, valueFrom: {resourceFieldRef: {resource: limits.hugepages-2Mi}}}"),
    accepted(DEPLOYMENT, "{name: A, value: a}", "{name: A, valueFrom: {fieldRef: {fieldPath: spec.host}}}"),
    accepted(DEPLOYMENT, "{name: A, value: a}", "{name: A, valueFrom: {fieldRef: {fieldPath: \"metadata.namespace\"}}}"),
    accepted(DEPLOYMENT, "{name: A, value: a}", "{name: A, valueFrom: {fieldRef: {fieldPath: \"metadata.uid\"}}}"),
    accepted(DEPLOYMENT, "{name: A, value: a}", "{name: A, valueFrom: {fieldRef: {fieldPath: \"spec.nodeName\"}}}"),
    accepted(DEPLOYMENT, "{name: A, value: a}", "{name: A, valueFrom: {fieldRef: {fieldPath: \"spec.serviceAccountName\"}}}"),
    accepted(DEPLOYMENT, "{name: A, value: a}", "{name: A, valueFrom: {fieldRef: {fieldPath: \"status.hostIP\"}}}"),
    accepted(DEPLOYMENT, "{name: A, value: a}", "{name: A, valueFrom: {fieldRef: {fieldPath: \"status.hostIPs\"}}}"),
    accepted(DEPLOYMENT, "{name: A, value: a}", "{name: A, valueFrom: {fieldRef: {fieldPath: \"status.podIP\"}}}"),
    refused(DEPLOYMENT, "{name: A, value: a}", "{name: A, valueFrom: {resourceFieldRef: {resource: capacity.cpu}}}", ".spec.template.spec.containers[0].env[0].valueFrom.resourceFieldRef.resource", "has env var A with unsupported resource `capacity.cpu`", "Unsupported value: \"capacity.cpu\""),
    accepted(DEPLOYMENT, "{name: A, value: a}", "{name: A, valueFrom: {fieldRef: {fieldPath: \"status.podIPs\"}}}"),
    accepted(DEPLOYMENT, "{name: A, value: a}", "{name: A, valueFrom: {fieldRef: {fieldPath: \"metadata.annotations['a']\"}}}"),
    refused(DEPLOYMENT, "readinessProbe: {httpGet: {path: /, port: metrics}}", "startupProbe: {httpGet: {path: /, port: metrics}, successThreshold: 2}", ".spec.template.spec.containers[0].startupProbe.successThreshold", "has successThreshold 2 of startupProbe, which must be 1", "startupProbe.successThreshold: Invalid value: 2: must be 1"),
    accepted(DEPLOYMENT, "readinessProbe: {httpGet: {path: /, port: metrics}}", "startupProbe: {httpGet: {path: /, port: metrics}, successThreshold: 0}"),
    accepted(DEPLOYMENT, "readinessProbe: {httpGet: {path: /, port: metrics}}", "startupProbe: {httpGet: {path: /, port: metrics}, successThreshold: 1}"),
    refused(DEPLOYMENT, "      containers:\n", "      tolerations: [{key: a, operator: Exists, effect: NoSchedul}]\n      containers:\n", ".spec.template.spec.tolerations[0].effect", "has effect `NoSchedul`, not `NoSchedule`, `PreferNoSchedule`, `NoExecute`", "spec.template.spec.tolerations[0].effect: Unsupported value: \"NoSchedul\""),
    accepted(DEPLOYMENT, "      containers:\n", "      tolerations: [{key: a, operator: Equal, value: b, effect: NoSchedule}, {key: a, operator: '', value: c, effect: PreferNoSchedule}]\n      containers:\n"),
    accepted(DEPLOYMENT, "selector: {matchLabels: {app: faulty}}", "selector: {matchExpressions: [{key: app, operator: NotIn, values: [other]}]}"),
    accepted(DEPLOYMENT, "  selector: {matchLabels", "  strategy: {rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}\n  selector: {matchLabels"),
    accepted(DEPLOYMENT, "readinessProbe: {httpGet: {path: /, port: metrics}}", "livenessProbe: {httpGet: {path: /, port: metrics}, successThreshold: 0}"),
    refused(DEPLOYMENT, "readinessProbe: {httpGet: {path: /, port: metrics}}", "livenessProbe: {httpGet: {path: /, port: metrics}, successThreshold: 2}", ".spec.template.spec.containers[0].livenessProbe.successThreshold", "has successThreshold 2 of livenessProbe, which must be 1", "livenessProbe.successThreshold: Invalid value: 2: must be 1"),
    refused(DEPLOYMENT, "readinessProbe: {httpGet: {path: /, port: metrics}}", "readinessProbe: {httpGet: {path: /, port: metrics}, terminationGracePeriodSeconds: 60}", ".spec.template.spec.containers[0].readinessProbe.terminationGracePeriodSeconds", "has terminationGracePeriodSeconds 60 of readinessProbe, which may not be set", "must not be set for readinessProbes"),
    accepted(DEPLOYMENT, "readinessProbe: {httpGet: {path: /, port: metrics}}", "readinessProbe: {httpGet: {path: /, port: metrics}, successThreshold: 2}"),
    refused(DEPLOYMENT, "      volumes:\n", "      dnsPolicy: None\n      volumes:\n", ".spec.template.spec.dnsPolicy", "has dnsPolicy `None` without nameservers in dnsConfig", "must provide `dnsConfig` when `dnsPolicy` is None"),
    accepted(DEPLOYMENT, "      volumes:\n", "      dnsPolicy: None\n      dnsConfig: {nameservers: [1.1.1.1]}\n      volumes:\n"),
    refused(DEPLOYMENT, "      volumes:\n", "      shareProcessNamespace: true\n      hostPID: true\n      volumes:\n", ".spec.template.spec.shareProcessNamespace", "has both shareProcessNamespace and hostPID", "ShareProcessNamespace and HostPID cannot both be enabled"),
    accepted(DEPLOYMENT, "      volumes:\n", "      shareProcessNamespace: true\n      hostPID: false\n      volumes:\n"),
    accepted(DEPLOYMENT, "      volumes:\n", "      hostPID: true\n      volumes:\n"),
    refused(DEPLOYMENT, "      containers:", "      activeDeadlineSeconds: 5\n      containers:", ".spec.template.spec.activeDeadlineSeconds", "has activeDeadlineSeconds, which only Pods and Jobs have", "activeDeadlineSeconds"),
    refused(STATEFUL_SET, "      containers:", "      activeDeadlineSeconds: 5\n      containers:", ".spec.template.spec.activeDeadlineSeconds", "has activeDeadlineSeconds, which only Pods and Jobs have", "activeDeadlineSeconds"),
    refused(DAEMON_SET, "      containers:", "      activeDeadlineSeconds: 5\n      containers:", ".spec.template.spec.activeDeadlineSeconds", "has activeDeadlineSeconds, which only Pods and Jobs have", "activeDeadlineSeconds"),
    accepted(JOB, "      restartPolicy: Never", "      restartPolicy: Never\n      activeDeadlineSeconds: 5"),
    refused(DEPLOYMENT, "      volumes:\n", "      ephemeralContainers: [{name: e, image: a}]\n      volumes:\n", ".spec.template.spec.ephemeralContainers", "has ephemeralContainers, which are added to running pods only", "ephemeral containers not allowed in pod template"),
    refused(DEPLOYMENT, "{name: v, emptyDir: {}}", "{name: V_v, emptyDir: {}}\n      - {name: v, emptyDir: {}}", ".spec.template.spec.volumes[0].name", "has volume name \"V_v\", which must have lower-case letters, digits and dashes only", "volumes[0].name: Invalid value: \"V_v\""),
    refused(DEPLOYMENT, "{name: v, emptyDir: {}}", "{name: v, emptyDir: {}, secret: {secretName: a}}", ".spec.template.spec.volumes[0]", "has volume `v` with both emptyDir and secret", "may not specify more than 1 volume type"),
    accepted(DEPLOYMENT, "{name: v, emptyDir: {}}", "{name: v, emptyDir: {}, secret: null}"),
    refused(DEPLOYMENT, "      volumes:\n", "      tolerations: [{key: a, operator: Exists, effect: NoSchedule, tolerationSeconds: 5}]\n      volumes:\n", ".spec.template.spec.tolerations[0]", "has a toleration with `tolerationSeconds` and another effect than `NoExecute`", "effect must be 'NoExecute' when `tolerationSeconds` is set"),
    accepted(DEPLOYMENT, "      volumes:\n", "      tolerations: [{key: a, operator: Exists, effect: NoExecute, tolerationSeconds: 5}]\n      volumes:\n"),
    accepted(DEPLOYMENT, "      volumes:\n", "      tolerations: [{key: a, operator: Exists, effect: NoSchedule}]\n      volumes:\n"),
    refused(DEPLOYMENT, "      volumes:\n", "      initContainers: [{name: i, image: a, livenessProbe: {httpGet: {port: 80, path: /}}}]\n      volumes:\n", ".spec.template.spec.initContainers[0].livenessProbe", "has an init container with livenessProbe, which is no sidecar", "may not be set for init containers without restartPolicy=Always"),
    accepted(DEPLOYMENT, "      volumes:\n", "      initContainers: [{name: i, image: a, restartPolicy: Always, livenessProbe: {httpGet: {port: 80, path: /}}}]\n      volumes:\n"),
    refused(DEPLOYMENT, "      volumes:\n", "      initContainers: [{name: i, image: a, readinessProbe: {httpGet: {port: 80, path: /}}}]\n      volumes:\n", ".spec.template.spec.initContainers[0].readinessProbe", "has an init container with readinessProbe, which is no sidecar", "may not be set for init containers without restartPolicy=Always"),
    accepted(DEPLOYMENT, "      volumes:\n", "      initContainers: [{name: i, image: a, restartPolicy: Always, readinessProbe: {httpGet: {port: 80, path: /}}}]\n      volumes:\n"),
    refused(DEPLOYMENT, "      volumes:\n", "      initContainers: [{name: i, image: a, startupProbe: {httpGet: {port: 80, path: /}}}]\n      volumes:\n", ".spec.template.spec.initContainers[0].startupProbe", "has an init container with startupProbe, which is no sidecar", "may not be set for init containers without restartPolicy=Always"),
    accepted(DEPLOYMENT, "      volumes:\n", "      initContainers: [{name: i, image: a, restartPolicy: Always, startupProbe: {httpGet: {port: 80, path: /}}}]\n      volumes:\n"),
    refused(DEPLOYMENT, "      volumes:\n", "      initContainers: [{name: i, image: a, lifecycle: {preStop: {exec: {command: [a]}}}}]\n      volumes:\n", ".spec.template.spec.initContainers[0].lifecycle", "has an init container with lifecycle, which is no sidecar", "may not be set for init containers without restartPolicy=Always"),
    refused(DAEMON_SET, "      containers: [{name: manager, image: a}]", "      hostNetwork: true\n      containers: [{name: manager, image: a, ports: [{containerPort: 80, hostPort: 81}]}]", ".spec.template.spec.containers[0].ports[0]", "has another hostPort than containerPort with hostNetwork", "must match `containerPort` when `hostNetwork` is true"),
    accepted(DAEMON_SET, "      containers: [{name: manager, image: a}]", "      hostNetwork: true\n      containers: [{name: manager, image: a, ports: [{containerPort: 80, hostPort: 80}]}]"),
    accepted(DAEMON_SET, "      containers: [{name: manager, image: a}]", "      containers: [{name: manager, image: a, ports: [{containerPort: 80, hostPort: 81}]}]"),
    accepted(DAEMON_SET, "      containers: [{name: manager, image: a}]", "      hostNetwork: true\n      containers: [{name: manager, image: a, ports: [{containerPort: 80}]}]"),
    refused(DAEMON_SET, "  selector", "  updateStrategy: {rollingUpdate: {maxSurge: 1}}\n  selector", ".spec.updateStrategy.rollingUpdate.maxSurge", "has `maxSurge` without `maxUnavailable: 0`", "may not be set when maxUnavailable is non-zero"),
    refused(DAEMON_SET, "  selector", "  updateStrategy: {rollingUpdate: {maxSurge: 10%, maxUnavailable: 10%}}\n  selector", ".spec.updateStrategy.rollingUpdate.maxSurge", "has `maxSurge` without `maxUnavailable: 0`", "may not be set when maxUnavailable is non-zero"),
    accepted(DAEMON_SET, "  selector", "  updateStrategy: {rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}\n  selector"),
    accepted(DAEMON_SET, "  selector", "  updateStrategy: {rollingUpdate: {maxUnavailable: 1}}\n  selector"),
    accepted(DAEMON_SET, "  selector", "  updateStrategy: {rollingUpdate: {maxSurge: 0, maxUnavailable: 1}}\n  selector"),
    accepted(DAEMON_SET, "  selector", "  updateStrategy: {rollingUpdate: {maxSurge: 1, maxUnavailable: 0%}}\n  selector"),
    refused(DEPLOYMENT, "spec:\n  selector", "spec:\n  minReadySeconds: 600\n  selector", ".spec.minReadySeconds", "has minReadySeconds 600, not below progressDeadlineSeconds 600", "must be greater than minReadySeconds"),
    refused(DEPLOYMENT, "spec:\n  selector", "spec:\n  minReadySeconds: 60\n  progressDeadlineSeconds: 60\n  selector", ".spec.minReadySeconds", "has minReadySeconds 60, not below progressDeadlineSeconds 60", "must be greater than minReadySeconds"),
    accepted(DEPLOYMENT, "spec:\n  selector", "spec:\n  minReadySeconds: 599\n  selector"),
    accepted(DEPLOYMENT, "spec:\n  selector", "spec:\n  minReadySeconds: 600\n  progressDeadlineSeconds: 601\n  selector"),
    refused(DEPLOYMENT, "        ports:\n", "        securityContext: {privileged: true, allowPrivilegeEscalation: false}\n        ports:\n", ".spec.template.spec.containers[0].securityContext.allowPrivilegeEscalation", "has a privileged container with allowPrivilegeEscalation false", "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"),
    accepted(DEPLOYMENT, "        ports:\n", "        securityContext: {privileged: true, allowPrivilegeEscalation: true}\n        ports:\n"),
    accepted(DEPLOYMENT, "        ports:\n", "        securityContext: {privileged: false, allowPrivilegeEscalation: false}\n        ports:\n"),
    refused(DEPLOYMENT, "        ports:\n", "        resources: {limits: {cpu: '1'}, requests: {cpu: '2'}}\n        ports:\n", ".spec.template.spec.containers[0].resources", "has a request of `cpu` above its limit", "must be less than or equal to cpu limit"),
    accepted(DEPLOYMENT, "        ports:\n", "        resources: {limits: {cpu: 1}, requests: {cpu: 1000m}}\n        ports:\n"),
    accepted(DEPLOYMENT, "        ports:\n", "        resources: {requests: {cpu: 1}}\n        ports:\n"),
    accepted(DEPLOYMENT, "        ports:\n", "        resources: {limits: {memory: 1Gi}, requests: {memory: 1000Mi}}\n        ports:\n"),
    refused(DEPLOYMENT, "        ports:\n", "        resources: {requests: {example.com/gpu: 1}}\n        ports:\n", ".spec.template.spec.containers[0].resources", "has a request of `example.com/gpu` without a limit", "Limit must be set for non overcommitable resources"),
    refused(DEPLOYMENT, "        ports:\n", "        resources: {limits: {example.com/gpu: 2}, requests: {example.com/gpu: 1}}\n        ports:\n", ".spec.template.spec.containers[0].resources", "has a request of `example.com/gpu` that differs from its limit", "must be equal to example.com/gpu limit"),
    refused(DEPLOYMENT, "        ports:\n", "        resources: {limits: {example.com/gpu: 500m}}\n        ports:\n", ".spec.template.spec.containers[0].resources", "has `example.com/gpu` that is no whole number", "must be an integer"),
    refused(DEPLOYMENT, "        ports:\n", "        resources: {limits: {example.com/gpu: 0.5}}\n        ports:\n", ".spec.template.spec.containers[0].resources", "has `example.com/gpu` that is no whole number", "must be an integer"),
    refused(DEPLOYMENT, "        ports:\n", "        resources: {limits: {example.com/gpu: 1}, requests: {example.com/gpu: 500m}}\n        ports:\n", ".spec.template.spec.containers[0].resources", "has `example.com/gpu` that is no whole number", "must be an integer"),
    accepted(DEPLOYMENT, "        ports:\n", "        resources: {limits: {example.com/gpu: 2}}\n        ports:\n"),
    accepted(DEPLOYMENT, "        ports:\n", "        resources: {limits: {example.com/gpu: 2}, requests: {example.com/gpu: 2}}\n        ports:\n"),
    refused(DEPLOYMENT, "        ports:\n", "        resources: {limits: {hugepages-2Mi: 4Mi, memory: 1Gi}, requests: {hugepages-2Mi: 2Mi}}\n        ports:\n", ".spec.template.spec.containers[0].resources", "has a request of `hugepages-2Mi` that differs from its limit", "must be equal to hugepages-2Mi limit"),
    refused(DEPLOYMENT, "readinessProbe: {httpGet: {path: /, port: metrics}}", "readinessProbe: {httpGet: {path: /, port: metrics}, tcpSocket: {port: metrics}}", ".spec.template.spec.containers[0].readinessProbe", "has both httpGet and tcpSocket", "may not specify more than 1 handler type"),
    refused(DAEMON_SET, ", image: a", "", ".spec.template.spec.containers[0]", "has container `manager` without an image", "spec.template.spec.containers[0].image: Required value"),
    refused(DAEMON_SET, "      containers:", "      restartPolicy: OnFailure\n      containers:", ".spec.template.spec.restartPolicy", "has restartPolicy `OnFailure`, not `Always`", "spec.template.spec.restartPolicy: Unsupported value: \"OnFailure\""),
    accepted(DAEMON_SET, "      containers:", "      restartPolicy: Always\n      containers:"),
    refused(STATEFUL_SET, ", image: a", "", ".spec.template.spec.containers[0]", "has container `manager` without an image", "spec.template.spec.containers[0].image: Required value"),
    refused(STATEFUL_SET, "[{name: data, ", "[{name: gone, ", ".spec.template.spec.containers[0].volumeMounts[0]", "mounts undefined volume `gone`", "spec.template.spec.containers[0].volumeMounts[0].name: Not found: \"gone\""),
    accepted(STATEFUL_SET, "      containers:", "      volumes: [{name: data, emptyDir: {}}]\n      containers:"),
    refused(JOB, ", image: a", "", ".spec.template.spec.containers[0]", "has container `manager` without an image", "spec.template.spec.containers[0].image: Required value"),
    refused(JOB, "      restartPolicy: Never\n", "", ".spec.template.spec", "has no restartPolicy, which must be `OnFailure` or `Never`", "spec.template.spec.restartPolicy: Required value: valid values: \"OnFailure\", \"Never\""),
    refused(JOB, "restartPolicy: Never", "restartPolicy: Always", ".spec.template.spec.restartPolicy", "has restartPolicy `Always`, not `OnFailure`, `Never`", "spec.template.spec.restartPolicy: Required value: valid values: \"OnFailure\", \"Never\""),
    accepted(JOB, "restartPolicy: Never", "restartPolicy: OnFailure"),
    refused(CRON_JOB, ", image: a", "", ".spec.jobTemplate.spec.template.spec.containers[0]", "has container `manager` without an image", "spec.jobTemplate.spec.template.spec.containers[0].image: Required value"),
    refused(CRON_JOB, "labels: {app: faulty}", "labels: {app: 'a b'}", ".spec.jobTemplate.spec.template.metadata.labels.app", "has invalid value `a b` of label `app`", "Invalid value: \"a b\": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.'"),
    accepted(CRON_JOB, "restartPolicy: OnFailure", "restartPolicy: Never"),
    refused(POD, ", image: a", "", ".spec.containers[0]", "has container `manager` without an image", "spec.containers[0].image: Required value"),
    refused(POD, "app: faulty", "app: 'a b'", ".metadata.labels.app", "has invalid value `a b` of label `app`", "metadata.labels: Invalid value: \"a b\": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.'"),
    refused(POD, "  containers:", "  restartPolicy: Sometimes\n  containers:", ".spec.restartPolicy", "has restartPolicy `Sometimes`, not `Always`, `OnFailure`, `Never`", "spec.restartPolicy: Unsupported value: \"Sometimes\""),
    accepted(POD, "  containers:", "  restartPolicy: OnFailure\n  containers:"),
    refused(CRD, "name: faults.light", "name: fault.light", ".metadata.name", "must be named `faults.light.example.com`, from its plural and group", "metadata.name: Invalid value: \"fault.light.example.com\": must be spec.names.plural+\".\"+spec.group"),
    refused(CRD, "storage: true", "storage: false", ".spec.versions", "has 0 storage versions instead of one", "must have exactly one version marked as storage version"),
    refused(CRD, "  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}\n", "  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}\n  - {name: v2, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}\n", ".spec.versions", "has 2 storage versions instead of one", "must have exactly one version marked as storage version"),
    refused(CRD, "  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}\n", "  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}\n  - {name: v1, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}}\n", ".spec.versions", "has duplicate version v1", "must contain unique version names"),
    accepted(CRD, "  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}\n", "  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}\n  - {name: v2, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}}\n"),
    refused(CRD, ", schema: {openAPIV3Schema: {type: object}}", "", ".spec.versions[0]", "has a version without a schema", "spec.versions[0].schema.openAPIV3Schema: Required value"),
    refused(CRD, "openAPIV3Schema: {type: object}", "openAPIV3Schema: null", ".spec.versions[0]", "has a version without a schema", "spec.versions[0].schema.openAPIV3Schema: Required value"),
    refused(CRD, "  scope:", "  preserveUnknownFields: true\n  scope:", ".spec.preserveUnknownFields", "sets preserveUnknownFields instead of x-kubernetes-preserve-unknown-fields in the schema", "spec.preserveUnknownFields: Invalid value: true: cannot set to true"),
    accepted(CRD, "  scope:", "  preserveUnknownFields: false\n  scope:"),
    refused(CRD, "light.example.com", "light.k8s.io", ".metadata", "is in the Kubernetes group light.k8s.io, but lacks the annotation api-approved.kubernetes.io", "metadata.annotations[api-approved.kubernetes.io]: Required value: protected groups must have approval annotation"),
    refused(CRD, "light.example.com", "light.kubernetes.io", ".metadata", "is in the Kubernetes group light.kubernetes.io, but lacks the annotation api-approved.kubernetes.io", "metadata.annotations[api-approved.kubernetes.io]: Required value: protected groups must have approval annotation"),
    accepted(CRD, "light.example.com", "light.x-k8s.io"),
    refused(CRD, "{type: object}", "{type: object, properties: {a: {}}}", ".spec.versions[0].schema.openAPIV3Schema.properties.a", "has a schema without a type at `.spec.versions[0].schema.openAPIV3Schema.properties.a`", "spec.validation.openAPIV3Schema.properties[a].type: Required value: must not be empty for specified object fields"),
    refused(CRD, "{type: object}", "{type: object, properties: {a: {type: text}}}", ".spec.versions[0].schema.openAPIV3Schema.properties.a.type", "has type `text`, not `array`, `boolean`, `integer`, `number`, `object`, `string`", "spec.validation.openAPIV3Schema.properties[a].type: Unsupported value: \"text\""),
    refused(CRD, "{type: object}", "{type: object, properties: {a: {type: ''}}}", ".spec.versions[0].schema.openAPIV3Schema.properties.a", "has a schema without a type at `.spec.versions[0].schema.openAPIV3Schema.properties.a`", "spec.validation.openAPIV3Schema.properties[a].type: Required value: must not be empty for specified object fields"),
    refused(CRD, "{type: object}", "{type: object, properties: {a: {type: array, items: {}}}}", ".spec.versions[0].schema.openAPIV3Schema.properties.a.items", "has a schema without a type at `.spec.versions[0].schema.openAPIV3Schema.properties.a.items`", "spec.validation.openAPIV3Schema.properties[a].items.type: Required value: must not be empty for specified array items"),
    refused(CRD, "{type: object}", "{type: object, properties: {a: {type: object, additionalProperties: {}}}}", ".spec.versions[0].schema.openAPIV3Schema.properties.a.additionalProperties", "has a schema without a type at `.spec.versions[0].schema.openAPIV3Schema.properties.a.additionalProperties`", "spec.validation.openAPIV3Schema.properties[a].additionalProperties.type: Required value: must not be empty for specified object fields"),
    refused(CRD, "{type: object}", "{type: object, properties: {a: {type: string, enum: [red], default: blue}}}", ".spec.versions[0].schema.openAPIV3Schema.properties.a", "has a default at `.spec.versions[0].schema.openAPIV3Schema.properties.a` that its own schema refuses: `.` is \"blue\", which is not in the CRD's enum", "spec.validation.openAPIV3Schema.properties[a].default: Unsupported value: \"blue\""),
    refused(CRD, "{type: object}", "{type: object, properties: {a: {type: string, default: 7}}}", ".spec.versions[0].schema.openAPIV3Schema.properties.a", "has a default at `.spec.versions[0].schema.openAPIV3Schema.properties.a` that its own schema refuses: `.` is a number, not a string", "spec.validation.openAPIV3Schema.properties[a].default: Invalid value: \"integer\""),
    accepted(CRD, "{type: object}", "{type: object, properties: {a: {x-kubernetes-int-or-string: true}}}"),
    accepted(CRD, "{type: object}", "{type: object, properties: {a: {x-kubernetes-preserve-unknown-fields: true}}}"),
    accepted(CRD, "{type: object}", "{type: object, properties: {a: {type: string, default: null}}}"),
    accepted(CRD, "{type: object}", "{type: object, properties: {a: {type: string, enum: [red], default: red}}}"),
    accepted(CRD, "{type: object}", "{type: object, properties: {a: {type: array, items: {type: string}}}}"),
    accepted(CRD, "{type: object}", "{type: object, properties: {a: {type: object, additionalProperties: true}}}"),
    refused(AUTOSCALER, "minReplicas: 2", "minReplicas: 3", ".spec.maxReplicas", "has maxReplicas 2, below minReplicas 3", "spec.maxReplicas: Invalid value: 2: must be greater than or equal to `minReplicas`"),
    refused(AUTOSCALER, "minReplicas: 2\n  maxReplicas: 2", "maxReplicas: 0", ".spec", "has no value for required field `.spec.maxReplicas`", "spec.maxReplicas: Invalid value: 0: must be greater than 0"),
    refused(AUTOSCALER, "minReplicas: 2\n  maxReplicas: 2", "minReplicas: 3\n  maxReplicas: 1", ".spec.maxReplicas", "has maxReplicas 1, below minReplicas 3", "must be greater than or equal to `minReplicas`"),
    refused(AUTOSCALER, "  minReplicas", "  metrics: [{type: Pods, pods: {metric: {name: a}, target: {type: AverageValue}}}]\n  minReplicas", ".spec.metrics[0].pods.target", "has no `averageValue`", "spec.metrics[0].pods.target.averageValue: Required value: must specify a positive target averageValue"),
    refused(AUTOSCALER, "  minReplicas", "  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization}}}]\n  minReplicas", ".spec.metrics[0].resource.target", "has no `averageUtilization` or `averageValue`", "must set either a target raw value or a target utilization"),
    refused(AUTOSCALER, "  minReplicas", "  metrics: [{type: External, external: {metric: {name: a}, target: {type: Value, value: 1, averageValue: 1}}}]\n  minReplicas", ".spec.metrics[0].external.target", "has both `value` and `averageValue`", "may not set both a target value for metric and a per-pod target"),
    accepted(AUTOSCALER, "  minReplicas", "  metrics: [{type: External, external: {metric: {name: a}, target: {type: AverageValue, averageValue: 1}}}]\n  minReplicas"),
    refused(AUTOSCALER, "minReplicas: 2", "minReplicas: 0", ".spec.minReplicas", "has minReplicas 0 without a metric of Object or External", "spec"),
    accepted(AUTOSCALER, "minReplicas: 2\n  maxReplicas: 2", "maxReplicas: 1"),
    accepted(AUTOSCALER, "maxReplicas: 2", "maxReplicas: 3"),
    refused(CLUSTER_ROLE, "verbs: [get]", "verbs: [get], resourceNames: [a]", ".rules[0]", "has both resourceNames and nonResourceURLs, which need separate rules", "rules cannot apply to both regular resources and non-resource URLs"),
    accepted(CLUSTER_ROLE, "[/metrics]", "['*']"),
    refused(ROLE, "apiGroups: [''], resources: [pods], verbs: [get]", "nonResourceURLs: [/metrics], verbs: [get]", ".rules[0]", "has nonResourceURLs, which are not namespaced", "namespaced rules cannot apply to non-resource URLs"),
    refused(ROLE, "apiGroups: [''], resources: [pods], verbs: [get]", "apiGroups: [''], resources: [pods], verbs: []", ".rules[0]", "has no value for required field `.rules[0].verbs`", "rules[0].verbs: Required value: verbs must contain at least one value"),
    refused(ROLE, "apiGroups: [''], resources: [pods], verbs: [get]", "apiGroups: [''], verbs: [get]", ".rules[0]", "has no resources", "rules[0].resources: Required value: resource rules must supply at least one resource"),
    refused(ROLE, "apiGroups: [''], resources: [pods], verbs: [get]", "resources: [pods], verbs: [get]", ".rules[0]", "has no apiGroups", "rules[0].apiGroups: Required value: resource rules must supply at least one api group"),
    accepted(ROLE, "apiGroups: [''], resources: [pods], verbs: [get]", "apiGroups: ['*'], resources: ['*'], verbs: ['*']"),
    refused(VALIDATING_WEBHOOK, "name: lamps.light.example.com", "name: lamps.light", ".webhooks[0].name", "has webhook name \"lamps.light\", which must be three or more lower-case names with dots between them", "webhooks[0].name: Invalid value: \"lamps.light\": should be a domain with at least three segments separated by dots"),
    refused(MUTATING_WEBHOOK, "name: lamps.light.example.com", "name: a.B.c", ".webhooks[0].name", "has webhook name \"a.B.c\", which must be three or more lower-case names with dots between them", "webhooks[0].name: Invalid value: \"a.B.c\": a lowercase RFC 1123 subdomain"),
    accepted(MUTATING_WEBHOOK, "name: lamps.light.example.com", "name: a.b.c"),
    refused(VALIDATING_WEBHOOK, "namespace: default", "namespace: default, path: check", ".webhooks[0].clientConfig.service.path", "has path \"check\", which must be `/` with names in lower case", "webhooks[0].clientConfig.service.path: Invalid value: \"check\": must start with a '/'"),
    refused(MUTATING_WEBHOOK, "namespace: default", "namespace: default, path: /a/Check", ".webhooks[0].clientConfig.service.path", "has path \"/a/Check\", which must be `/` with names in lower case", "webhooks[0].clientConfig.service.path: Invalid value: \"/a/Check\": segment[1]: a lowercase RFC 1123 subdomain"),
    refused(MUTATING_WEBHOOK, "namespace: default", "namespace: default, path: //", ".webhooks[0].clientConfig.service.path", "has path \"//\", which must be `/` with names in lower case", "webhooks[0].clientConfig.service.path: Invalid value: \"//\": segment[0] may not be empty"),
    accepted(VALIDATING_WEBHOOK, "namespace: default", "namespace: default, path: /"),
    accepted(VALIDATING_WEBHOOK, "namespace: default", "namespace: default, path: /a/v1.check/"),
    accepted(VALIDATING_WEBHOOK, "namespace: default", "namespace: default, path: ''"),
    refused(CRD, "  scope", "  conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {service: {name: a, namespace: default, path: convert}}}}\n  scope", ".spec.conversion.webhook.clientConfig.service.path", "has path \"convert\", which must be `/` with names in lower case", "service.path: Invalid value: \"convert\": must start with a '/'"),
    accepted(CRD, "  scope", "  conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {service: {name: a, namespace: default, path: /convert}}}}\n  scope"),
];

/// A field with a few values.
pub(crate) struct Choice {
    object: &'static str,
    from: &'static str,
    /// Has `VALUE` in place of the value.
    to: &'static str,
    /// Path of the value.
    pub(crate) path: &'static str,
    pub(crate) known: &'static [&'static str],
    /// Known values that are refused without other fields, or by this server's settings.
    needs_more: &'static [&'static str],
}

impl Choice {
    /// Returns the object with a value.
    pub(crate) fn manifest(&self, value: &str) -> String {
        // Some values are special in YAML.
        changed(self.object, self.from, self.to).replace("VALUE", &format!("'{value}'"))
    }

    /// Returns the message of a build about a value that is not known, after the object's name.
    pub(crate) fn warning(&self, value: &str) -> String {
        let field = self.path.trim_end_matches("[0]").rsplit('.').next().unwrap_or_default();
        format!("has {field} `{value}`, not `{}`", self.known.join("`, `"))
    }

    /// Returns the values that the server accepts in the object.
    pub(crate) fn accepted(&self) -> impl Iterator<Item = &'static str> {
        self.known.iter().copied().filter(|value| !self.needs_more.contains(value))
    }
}

const fn choice(
    object: &'static str,
    from: &'static str,
    to: &'static str,
    path: &'static str,
    known: &'static [&'static str],
    needs_more: &'static [&'static str],
) -> Choice {
    Choice { object, from, to, path, known, needs_more }
}

/// The rows of `VALUES` in src/bundle/type_walk/server_rules.rs.
#[rustfmt::skip]
pub(crate) const CHOICES: &[Choice] = &[
    choice(DEPLOYMENT, "        ports:\n", "        securityContext: {appArmorProfile: {type: VALUE}}\n        ports:\n", ".spec.template.spec.containers[0].securityContext.appArmorProfile.type", &["Localhost", "RuntimeDefault", "Unconfined"], &["Localhost"]),
    choice(DEPLOYMENT, "        ports:\n", "        imagePullPolicy: VALUE\n        ports:\n", ".spec.template.spec.containers[0].imagePullPolicy", &["Always", "IfNotPresent", "Never"], &[]),
    choice(DEPLOYMENT, "        ports:\n", "        terminationMessagePolicy: VALUE\n        ports:\n", ".spec.template.spec.containers[0].terminationMessagePolicy", &["File", "FallbackToLogsOnError"], &[]),
    choice(DEPLOYMENT, "containerPort: 8080", "containerPort: 8080, protocol: VALUE", ".spec.template.spec.containers[0].ports[0].protocol", &["TCP", "UDP", "SCTP"], &[]),
    choice(CRON_JOB, "  schedule", "  concurrencyPolicy: VALUE\n  schedule", ".spec.concurrencyPolicy", &["Allow", "Forbid", "Replace"], &[]),
    choice(CRD, "storage: true,", "storage: true, additionalPrinterColumns: [{name: A, type: VALUE, jsonPath: .a}],", ".spec.versions[0].additionalPrinterColumns[0].type", &["boolean", "date", "integer", "number", "string"], &[]),
    choice(CRD, "  scope", "  conversion: {strategy: VALUE}\n  scope", ".spec.conversion.strategy", &["None", "Webhook"], &["Webhook"]),
    choice(CRD, "scope: Namespaced", "scope: VALUE", ".spec.scope", &["Cluster", "Namespaced"], &[]),
    choice(DAEMON_SET, "  selector", "  updateStrategy: {type: VALUE}\n  selector", ".spec.updateStrategy.type", &["OnDelete", "RollingUpdate"], &[]),
    choice(DEPLOYMENT, "spec:\n  selector", "spec:\n  strategy: {type: VALUE}\n  selector", ".spec.strategy.type", &["Recreate", "RollingUpdate"], &[]),
    choice(AUTOSCALER, "  minReplicas", "  behavior: {scaleUp: {policies: [{type: VALUE, value: 1, periodSeconds: 60}]}}\n  minReplicas", ".spec.behavior.scaleUp.policies[0].type", &["Percent", "Pods"], &[]),
    choice(AUTOSCALER, "  minReplicas", "  behavior: {scaleUp: {selectPolicy: VALUE}}\n  minReplicas", ".spec.behavior.scaleUp.selectPolicy", &["Disabled", "Max", "Min"], &[]),
    choice(DEPLOYMENT, "{path: /, port: metrics}", "{path: /, port: metrics, scheme: VALUE}", ".spec.template.spec.containers[0].readinessProbe.httpGet.scheme", &["HTTP", "HTTPS"], &[]),
    choice(INGRESS, "pathType: Prefix", "pathType: VALUE", ".spec.rules[0].http.paths[0].pathType", &["Exact", "ImplementationSpecific", "Prefix"], &[]),
    choice(DEPLOYMENT, "{name: v, emptyDir: {}}", "{name: v, hostPath: {path: /v, type: VALUE}}", ".spec.template.spec.volumes[0].hostPath.type", &["BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"], &[]),
    choice(DEPLOYMENT, "{name: v, emptyDir: {}}", "{name: v, image: {reference: a, pullPolicy: VALUE}}", ".spec.template.spec.volumes[0].image.pullPolicy", &["Always", "IfNotPresent", "Never"], &[]),
    choice(INGRESS_CLASS, "scope: Cluster", "scope: VALUE", ".spec.parameters.scope", &["Cluster", "Namespace"], &["Namespace"]),
    choice(JOB, "  template", "  completionMode: VALUE\n  completions: 1\n  template", ".spec.completionMode", &["Indexed", "NonIndexed"], &[]),
    choice(JOB, "  template", "  podReplacementPolicy: VALUE\n  template", ".spec.podReplacementPolicy", &["Failed", "TerminatingOrFailed"], &[]),
    choice(BUDGET, "operator: Exists", "operator: VALUE", ".spec.selector.matchExpressions[0].operator", &["DoesNotExist", "Exists", "In", "NotIn"], &["In", "NotIn"]),
    choice(AUTOSCALER, "  minReplicas", "  metrics: [{type: VALUE, resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}}]\n  minReplicas", ".spec.metrics[0].type", &["ContainerResource", "External", "Object", "Pods", "Resource"], &["ContainerResource", "External", "Object", "Pods"]),
    choice(AUTOSCALER, "  minReplicas", "  metrics: [{type: Resource, resource: {name: cpu, target: {type: VALUE, averageValue: 1}}}]\n  minReplicas", ".spec.metrics[0].resource.target.type", &["AverageValue", "Utilization", "Value"], &[]),
    choice(MUTATING_WEBHOOK, "  sideEffects", "  failurePolicy: VALUE\n  sideEffects", ".webhooks[0].failurePolicy", &["Fail", "Ignore"], &[]),
    choice(MUTATING_WEBHOOK, "  sideEffects", "  matchPolicy: VALUE\n  sideEffects", ".webhooks[0].matchPolicy", &["Equivalent", "Exact"], &[]),
    choice(MUTATING_WEBHOOK, "  sideEffects", "  reinvocationPolicy: VALUE\n  sideEffects", ".webhooks[0].reinvocationPolicy", &["IfNeeded", "Never"], &[]),
    choice(MUTATING_WEBHOOK, "sideEffects: None", "sideEffects: VALUE", ".webhooks[0].sideEffects", &["None", "NoneOnDryRun"], &[]),
    choice(NETWORK_POLICY, "protocol: TCP", "protocol: VALUE", ".spec.egress[0].ports[0].protocol", &["TCP", "UDP", "SCTP"], &[]),
    choice(NETWORK_POLICY, "[Egress]", "[VALUE]", ".spec.policyTypes[0]", &["Egress", "Ingress"], &["Ingress"]),
    choice(DEPLOYMENT, "      volumes:\n", "      affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: VALUE, values: ['1']}]}]}}}\n      volumes:\n", ".spec.template.spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].operator", &["DoesNotExist", "Exists", "Gt", "In", "Lt", "NotIn"], &["DoesNotExist", "Exists"]),
    choice(CLAIM, "[ReadWriteOnce]", "[VALUE]", ".spec.accessModes[0]", &["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"], &[]),
    choice(CLAIM, "spec: {", "spec: {volumeMode: VALUE, ", ".spec.volumeMode", &["Block", "Filesystem"], &[]),
    choice(BUDGET, "spec: {", "spec: {unhealthyPodEvictionPolicy: VALUE, ", ".spec.unhealthyPodEvictionPolicy", &["AlwaysAllow", "IfHealthyBudget"], &[]),
    choice(JOB, "  template", "  podFailurePolicy: {rules: [{action: FailJob, onExitCodes: {operator: VALUE, values: [1]}}]}\n  template", ".spec.podFailurePolicy.rules[0].onExitCodes.operator", &["In", "NotIn"], &[]),
    choice(JOB, "  template", "  podFailurePolicy: {rules: [{action: VALUE, onExitCodes: {operator: In, values: [1]}}]}\n  template", ".spec.podFailurePolicy.rules[0].action", &["Count", "FailIndex", "FailJob", "Ignore"], &["FailIndex"]),
    choice(DEPLOYMENT, "      volumes:\n", "      securityContext: {fsGroupChangePolicy: VALUE}\n      volumes:\n", ".spec.template.spec.securityContext.fsGroupChangePolicy", &["Always", "OnRootMismatch"], &[]),
    choice(DEPLOYMENT, "      volumes:\n", "      securityContext: {supplementalGroupsPolicy: VALUE}\n      volumes:\n", ".spec.template.spec.securityContext.supplementalGroupsPolicy", &["Merge", "Strict"], &[]),
    choice(DEPLOYMENT, "      volumes:\n", "      dnsPolicy: VALUE\n      volumes:\n", ".spec.template.spec.dnsPolicy", &["ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"], &["None"]),
    choice(DEPLOYMENT, "      volumes:\n", "      preemptionPolicy: VALUE\n      volumes:\n", ".spec.template.spec.preemptionPolicy", &["Never", "PreemptLowerPriority"], &["Never"]),
    choice(PRIORITY_CLASS, "value: 7", "value: 7\npreemptionPolicy: VALUE", ".preemptionPolicy", &["Never", "PreemptLowerPriority"], &[]),
    choice(BINDING, "{apiGroup: rbac.authorization.k8s.io", "{apiGroup: VALUE", ".roleRef.apiGroup", &["rbac.authorization.k8s.io"], &[]),
    choice(BINDING, "{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole", "{apiGroup: rbac.authorization.k8s.io, kind: VALUE", ".roleRef.kind", &["ClusterRole", "Role"], &["Role"]),
    choice(VALIDATING_WEBHOOK, "[CREATE]", "[VALUE]", ".webhooks[0].rules[0].operations[0]", &["*", "CONNECT", "CREATE", "DELETE", "UPDATE"], &["*"]),
    choice(VALIDATING_WEBHOOK, "resources: [lamps]", "resources: [lamps], scope: VALUE", ".webhooks[0].rules[0].scope", &["*", "Cluster", "Namespaced"], &["*"]),
    choice(DEPLOYMENT, "        ports:\n", "        securityContext: {seccompProfile: {type: VALUE}}\n        ports:\n", ".spec.template.spec.containers[0].securityContext.seccompProfile.type", &["Localhost", "RuntimeDefault", "Unconfined"], &["Localhost"]),
    choice(DEPLOYMENT, "        ports:\n", "        securityContext: {procMount: VALUE}\n        ports:\n", ".spec.template.spec.containers[0].securityContext.procMount", &["Default", "Unmasked"], &["Unmasked"]),
    choice(SERVICE, "targetPort: web", "targetPort: web, protocol: VALUE", ".spec.ports[0].protocol", &["TCP", "UDP", "SCTP"], &[]),
    choice(SERVICE, "  selector", "  type: LoadBalancer\n  externalTrafficPolicy: VALUE\n  selector", ".spec.externalTrafficPolicy", &["Cluster", "Local"], &[]),
    choice(SERVICE, "  selector", "  internalTrafficPolicy: VALUE\n  selector", ".spec.internalTrafficPolicy", &["Cluster", "Local"], &[]),
    choice(SERVICE, "  selector", "  ipFamilies: [VALUE]\n  selector", ".spec.ipFamilies[0]", &["IPv4", "IPv6"], &["IPv6"]),
    choice(SERVICE, "  selector", "  ipFamilyPolicy: VALUE\n  selector", ".spec.ipFamilyPolicy", &["PreferDualStack", "RequireDualStack", "SingleStack"], &["RequireDualStack"]),
    choice(SERVICE, "  selector", "  sessionAffinity: VALUE\n  selector", ".spec.sessionAffinity", &["ClientIP", "None"], &[]),
    choice(SERVICE, "  selector", "  type: VALUE\n  selector", ".spec.type", &["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"], &["ExternalName"]),
    choice(STATEFUL_SET, "  selector", "  podManagementPolicy: VALUE\n  selector", ".spec.podManagementPolicy", &["OrderedReady", "Parallel"], &[]),
    choice(STATEFUL_SET, "  selector", "  updateStrategy: {type: VALUE}\n  selector", ".spec.updateStrategy.type", &["OnDelete", "RollingUpdate"], &[]),
    choice(STATEFUL_SET, "  selector", "  persistentVolumeClaimRetentionPolicy: {whenDeleted: VALUE}\n  selector", ".spec.persistentVolumeClaimRetentionPolicy.whenDeleted", &["Delete", "Retain"], &[]),
    choice(STATEFUL_SET, "  selector", "  persistentVolumeClaimRetentionPolicy: {whenScaled: VALUE}\n  selector", ".spec.persistentVolumeClaimRetentionPolicy.whenScaled", &["Delete", "Retain"], &[]),
    choice(STORAGE_CLASS, "provisioner", "reclaimPolicy: VALUE\nprovisioner", ".reclaimPolicy", &["Delete", "Recycle", "Retain"], &["Recycle"]),
    choice(STORAGE_CLASS, "provisioner", "volumeBindingMode: VALUE\nprovisioner", ".volumeBindingMode", &["Immediate", "WaitForFirstConsumer"], &[]),
    choice(BINDING, "{kind: ServiceAccount, name: lamp-operator, namespace: default}", "{kind: User, name: a, apiGroup: VALUE}", ".subjects[0].apiGroup", &["rbac.authorization.k8s.io"], &[]),
    choice(BINDING, "subjects: [{kind: ServiceAccount", "subjects: [{kind: VALUE", ".subjects[0].kind", &["Group", "ServiceAccount", "User"], &["Group", "User"]),
    choice(DEPLOYMENT, "      volumes:\n", "      tolerations: [{key: a, operator: Exists, effect: VALUE}]\n      volumes:\n", ".spec.template.spec.tolerations[0].effect", &["NoSchedule", "PreferNoSchedule", "NoExecute"], &[]),
    choice(DEPLOYMENT, "      volumes:\n", "      tolerations: [{key: a, operator: VALUE}]\n      volumes:\n", ".spec.template.spec.tolerations[0].operator", &["Equal", "Exists"], &[]),
    choice(DEPLOYMENT, "      volumes:\n", "      topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway, nodeAffinityPolicy: VALUE}]\n      volumes:\n", ".spec.template.spec.topologySpreadConstraints[0].nodeAffinityPolicy", &["Honor", "Ignore"], &[]),
    choice(DEPLOYMENT, "      volumes:\n", "      topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway, nodeTaintsPolicy: VALUE}]\n      volumes:\n", ".spec.template.spec.topologySpreadConstraints[0].nodeTaintsPolicy", &["Honor", "Ignore"], &[]),
    choice(DEPLOYMENT, "      volumes:\n", "      topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: VALUE}]\n      volumes:\n", ".spec.template.spec.topologySpreadConstraints[0].whenUnsatisfiable", &["DoNotSchedule", "ScheduleAnyway"], &[]),
    choice(VALIDATING_WEBHOOK, "  sideEffects", "  failurePolicy: VALUE\n  sideEffects", ".webhooks[0].failurePolicy", &["Fail", "Ignore"], &[]),
    choice(VALIDATING_WEBHOOK, "  sideEffects", "  matchPolicy: VALUE\n  sideEffects", ".webhooks[0].matchPolicy", &["Equivalent", "Exact"], &[]),
    choice(VALIDATING_WEBHOOK, "sideEffects: None", "sideEffects: VALUE", ".webhooks[0].sideEffects", &["None", "NoneOnDryRun"], &[]),
    choice(DEPLOYMENT, "{name: v, mountPath: /a}", "{name: v, mountPath: /a, mountPropagation: VALUE}", ".spec.template.spec.containers[0].volumeMounts[0].mountPropagation", &["Bidirectional", "HostToContainer", "None"], &["Bidirectional"]),
];

/// A field with a range of numbers.
pub(crate) struct Bound {
    object: &'static str,
    from: &'static str,
    /// Has 7777 in place of the number.
    to: &'static str,
    /// Path of the number.
    pub(crate) path: &'static str,
    least: i64,
    most: Option<i64>,
}

impl Bound {
    /// Returns the object with a number.
    pub(crate) fn manifest(&self, number: i64) -> String {
        changed(self.object, self.from, self.to).replace("7777", &number.to_string())
    }

    /// Returns the numbers next to the bounds, with true for those that the server accepts. Zero is a
    /// missing value.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = (i64, bool)> {
        let below = if self.least == 1 { -1 } else { self.least - 1 };
        let most = self.most.into_iter().flat_map(|most| [(most, true), (most + 1, false)]);
        [(below, false), (self.least, true)].into_iter().chain(most)
    }

    /// Returns the message of a build about a number that is refused, after the object's name.
    pub(crate) fn warning(&self, number: i64) -> String {
        let field = self.path.rsplit('.').next().unwrap_or_default();
        match self.most {
            Some(most) => format!("has {field} {number}, not {} to {most}", self.least),
            None => format!("has {field} {number}, less than {}", self.least),
        }
    }
}

const fn bound(
    object: &'static str,
    from: &'static str,
    to: &'static str,
    path: &'static str,
    least: i64,
    most: Option<i64>,
) -> Bound {
    Bound { object, from, to, path, least, most }
}

/// The rows of `RANGES` in src/bundle/type_walk/server_rules.rs.
#[rustfmt::skip]
pub(crate) const BOUNDS: &[Bound] = &[
    bound(DEPLOYMENT, "{name: v, emptyDir: {}}", "{name: v, configMap: {name: a, defaultMode: 7777}}", ".spec.template.spec.volumes[0].configMap.defaultMode", 0, Some(0o777)),
    bound(DEPLOYMENT, "{name: v, emptyDir: {}}", "{name: v, configMap: {name: a, items: [{key: a, path: a, mode: 7777}]}}", ".spec.template.spec.volumes[0].configMap.items[0].mode", 0, Some(0o777)),
    bound(DEPLOYMENT, "{name: v, emptyDir: {}}", "{name: v, secret: {secretName: a, defaultMode: 7777}}", ".spec.template.spec.volumes[0].secret.defaultMode", 0, Some(0o777)),
    bound(DEPLOYMENT, "{name: v, emptyDir: {}}", "{name: v, downwardAPI: {defaultMode: 7777}}", ".spec.template.spec.volumes[0].downwardAPI.defaultMode", 0, Some(0o777)),
    bound(DEPLOYMENT, "{name: v, emptyDir: {}}", "{name: v, projected: {sources: [], defaultMode: 7777}}", ".spec.template.spec.volumes[0].projected.defaultMode", 0, Some(0o777)),
    bound(DEPLOYMENT, "{name: v, emptyDir: {}}", "{name: v, projected: {sources: [{serviceAccountToken: {path: a, expirationSeconds: 7777}}]}}", ".spec.template.spec.volumes[0].projected.sources[0].serviceAccountToken.expirationSeconds", 600, Some(1 << 32)),
    bound(DEPLOYMENT, "containerPort: 8080", "containerPort: 7777", ".spec.template.spec.containers[0].ports[0].containerPort", 1, Some(65_535)),
    bound(DEPLOYMENT, "containerPort: 8080", "containerPort: 8080, hostPort: 7777", ".spec.template.spec.containers[0].ports[0].hostPort", 1, Some(65_535)),
    bound(CRON_JOB, "  schedule", "  failedJobsHistoryLimit: 7777\n  schedule", ".spec.failedJobsHistoryLimit", 0, None),
    bound(CRON_JOB, "  schedule", "  startingDeadlineSeconds: 7777\n  schedule", ".spec.startingDeadlineSeconds", 0, None),
    bound(CRON_JOB, "  schedule", "  successfulJobsHistoryLimit: 7777\n  schedule", ".spec.successfulJobsHistoryLimit", 0, None),
    bound(DAEMON_SET, "  selector", "  minReadySeconds: 7777\n  selector", ".spec.minReadySeconds", 0, None),
    bound(DAEMON_SET, "  selector", "  revisionHistoryLimit: 7777\n  selector", ".spec.revisionHistoryLimit", 0, None),
    bound(DEPLOYMENT, "spec:\n  selector", "spec:\n  minReadySeconds: 7777\n  selector", ".spec.minReadySeconds", 0, None),
    bound(DEPLOYMENT, "spec:\n  selector", "spec:\n  replicas: 7777\n  selector", ".spec.replicas", 0, None),
    bound(DEPLOYMENT, "spec:\n  selector", "spec:\n  revisionHistoryLimit: 7777\n  selector", ".spec.revisionHistoryLimit", 0, None),
    bound(DEPLOYMENT, "spec:\n  selector", "spec:\n  progressDeadlineSeconds: 7777\n  selector", ".spec.progressDeadlineSeconds", 1, None),
    bound(DEPLOYMENT, "readinessProbe: {httpGet: {path: /, port: metrics}}", "livenessProbe: {grpc: {port: 7777}}", ".spec.template.spec.containers[0].livenessProbe.grpc.port", 1, Some(65_535)),
    bound(DEPLOYMENT, "readinessProbe: {httpGet: {path: /, port: metrics}}", "livenessProbe: {httpGet: {path: /, port: 7777}}", ".spec.template.spec.containers[0].livenessProbe.httpGet.port", 1, Some(65_535)),
    bound(DEPLOYMENT, "readinessProbe: {httpGet: {path: /, port: metrics}}", "livenessProbe: {tcpSocket: {port: 7777}}", ".spec.template.spec.containers[0].livenessProbe.tcpSocket.port", 1, Some(65_535)),
    bound(AUTOSCALER, "  minReplicas", "  behavior: {scaleUp: {policies: [{type: Pods, value: 1, periodSeconds: 7777}]}}\n  minReplicas", ".spec.behavior.scaleUp.policies[0].periodSeconds", 1, Some(1_800)),
    bound(AUTOSCALER, "  minReplicas", "  behavior: {scaleUp: {policies: [{type: Pods, value: 7777, periodSeconds: 60}]}}\n  minReplicas", ".spec.behavior.scaleUp.policies[0].value", 1, None),
    bound(AUTOSCALER, "  minReplicas", "  behavior: {scaleUp: {stabilizationWindowSeconds: 7777}}\n  minReplicas", ".spec.behavior.scaleUp.stabilizationWindowSeconds", 0, Some(3_600)),
    bound(AUTOSCALER, "minReplicas: 2\n  maxReplicas: 2", "minReplicas: 1\n  maxReplicas: 7777", ".spec.maxReplicas", 1, None),
    bound(AUTOSCALER, "minReplicas: 2\n  maxReplicas: 2", "minReplicas: 7777\n  maxReplicas: 2147483647", ".spec.minReplicas", 1, None),
    bound(AUTOSCALER, "  minReplicas", "  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 7777}}}]\n  minReplicas", ".spec.metrics[0].resource.target.averageUtilization", 1, None),
    bound(JOB, "  template", "  activeDeadlineSeconds: 7777\n  template", ".spec.activeDeadlineSeconds", 0, None),
    bound(JOB, "  template", "  backoffLimit: 7777\n  template", ".spec.backoffLimit", 0, None),
    bound(JOB, "  template", "  completions: 7777\n  template", ".spec.completions", 0, None),
    bound(JOB, "  template", "  parallelism: 7777\n  template", ".spec.parallelism", 0, None),
    bound(JOB, "  template", "  ttlSecondsAfterFinished: 7777\n  template", ".spec.ttlSecondsAfterFinished", 0, None),
    bound(MUTATING_WEBHOOK, "  sideEffects", "  timeoutSeconds: 7777\n  sideEffects", ".webhooks[0].timeoutSeconds", 1, Some(30)),
    bound(VALIDATING_WEBHOOK, "  sideEffects", "  timeoutSeconds: 7777\n  sideEffects", ".webhooks[0].timeoutSeconds", 1, Some(30)),
    bound(VALIDATING_WEBHOOK, "namespace: default}", "namespace: default, port: 7777}", ".webhooks[0].clientConfig.service.port", 1, Some(65_535)),
    bound(NETWORK_POLICY, "port: 80,", "port: 7777,", ".spec.egress[0].ports[0].port", 1, Some(65_535)),
    bound(DEPLOYMENT, "      volumes:\n", "      securityContext: {fsGroup: 7777}\n      volumes:\n", ".spec.template.spec.securityContext.fsGroup", 0, Some(2_147_483_647)),
    bound(DEPLOYMENT, "      volumes:\n", "      securityContext: {runAsUser: 1, runAsGroup: 7777}\n      volumes:\n", ".spec.template.spec.securityContext.runAsGroup", 0, Some(2_147_483_647)),
    bound(DEPLOYMENT, "      volumes:\n", "      securityContext: {runAsUser: 7777}\n      volumes:\n", ".spec.template.spec.securityContext.runAsUser", 0, Some(2_147_483_647)),
    bound(DEPLOYMENT, "        ports:\n", "        securityContext: {runAsUser: 1, runAsGroup: 7777}\n        ports:\n", ".spec.template.spec.containers[0].securityContext.runAsGroup", 0, Some(2_147_483_647)),
    bound(DEPLOYMENT, "        ports:\n", "        securityContext: {runAsUser: 7777}\n        ports:\n", ".spec.template.spec.containers[0].securityContext.runAsUser", 0, Some(2_147_483_647)),
    bound(DEPLOYMENT, "      volumes:\n", "      affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 7777, preference: {matchExpressions: [{key: a, operator: Exists}]}}]}}\n      volumes:\n", ".spec.template.spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight", 1, Some(100)),
    bound(DEPLOYMENT, "      volumes:\n", "      affinity: {podAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 7777, podAffinityTerm: {topologyKey: a}}]}}\n      volumes:\n", ".spec.template.spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight", 1, Some(100)),
    bound(DEPLOYMENT, "readinessProbe: {httpGet: {path: /, port: metrics}}", "readinessProbe: {httpGet: {path: /, port: metrics}, failureThreshold: 7777}", ".spec.template.spec.containers[0].readinessProbe.failureThreshold", 0, None),
    bound(DEPLOYMENT, "readinessProbe: {httpGet: {path: /, port: metrics}}", "readinessProbe: {httpGet: {path: /, port: metrics}, initialDelaySeconds: 7777}", ".spec.template.spec.containers[0].readinessProbe.initialDelaySeconds", 0, None),
    bound(DEPLOYMENT, "readinessProbe: {httpGet: {path: /, port: metrics}}", "readinessProbe: {httpGet: {path: /, port: metrics}, periodSeconds: 7777}", ".spec.template.spec.containers[0].readinessProbe.periodSeconds", 0, None),
    bound(DEPLOYMENT, "readinessProbe: {httpGet: {path: /, port: metrics}}", "readinessProbe: {httpGet: {path: /, port: metrics}, timeoutSeconds: 7777}", ".spec.template.spec.containers[0].readinessProbe.timeoutSeconds", 0, None),
    bound(DEPLOYMENT, "readinessProbe: {httpGet: {path: /, port: metrics}}", "livenessProbe: {httpGet: {path: /, port: metrics}, terminationGracePeriodSeconds: 7777}", ".spec.template.spec.containers[0].livenessProbe.terminationGracePeriodSeconds", 1, None),
    bound(SERVICE, "port: 80", "port: 7777", ".spec.ports[0].port", 1, Some(65_535)),
    bound(SERVICE, "targetPort: web", "targetPort: 7777", ".spec.ports[0].targetPort", 1, Some(65_535)),
    bound(STATEFUL_SET, "  selector", "  updateStrategy: {rollingUpdate: {partition: 7777}}\n  selector", ".spec.updateStrategy.rollingUpdate.partition", 0, None),
    bound(STATEFUL_SET, "  selector", "  ordinals: {start: 7777}\n  selector", ".spec.ordinals.start", 0, None),
    bound(STATEFUL_SET, "  selector", "  minReadySeconds: 7777\n  selector", ".spec.minReadySeconds", 0, None),
    bound(STATEFUL_SET, "  selector", "  replicas: 7777\n  selector", ".spec.replicas", 0, None),
    bound(DEPLOYMENT, "      volumes:\n", "      topologySpreadConstraints: [{maxSkew: 7777, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}]\n      volumes:\n", ".spec.template.spec.topologySpreadConstraints[0].maxSkew", 1, None),
    bound(DEPLOYMENT, "      volumes:\n", "      topologySpreadConstraints: [{maxSkew: 1, minDomains: 7777, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}]\n      volumes:\n", ".spec.template.spec.topologySpreadConstraints[0].minDomains", 1, None),
];
