//! A real server rejects what the lint of rejected objects warns about, with the message that
//! src/compile/passes/lint/refusals.rs quotes; and it accepts the near misses, without a warning.

use crate::command::Case;
use crate::control_plane::{Answer, ControlPlane};
use crate::lamp::CONFIG;
use crate::object_faults::{faults, reported, samples};
use bundle2chart::bundle::checked_kinds;
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};

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

const CLUSTER_ROLE: &str = "apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: faulty}
rules:
- {nonResourceURLs: [/metrics], verbs: [get]}
";

/// An object, a part of it and what stands there instead, the warning of a build, and the message
/// of the server. Near misses have neither.
const ROWS: &[(&str, &str, &str, &str, &str)] = &[
    (
        SERVICE,
        "labels: {app: faulty}",
        "labels: {app: 'a b'}",
        "has invalid value `a b` of label `app`",
        "metadata.labels: Invalid value: \"a b\": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.'",
    ),
    (
        CONFIG_MAP,
        "example.com/a",
        "x/y/z",
        "has invalid annotation key `x/y/z`",
        "metadata.annotations: Invalid value: \"x/y/z\": a valid label key must consist of alphanumeric characters",
    ),
    (CONFIG_MAP, "example.com/a", "EXAMPLE.com/a", "", ""),
    (
        CONFIG_MAP,
        "key: value",
        "'a b': value",
        "has key `a b`, which is not a valid file name",
        "data[a b]: Invalid value: \"a b\": a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
    ),
    (
        CONFIG_MAP,
        "key: value",
        "..key: value",
        "has key `..key`",
        "data[..key]: Invalid value: \"..key\": must not start with '..'",
    ),
    (CONFIG_MAP, "key: value", ".key: value", "", ""),
    (
        SERVICE,
        "  ports:\n  - {name: a, port: 80, targetPort: web}\n",
        "",
        "has no ports",
        "spec.ports: Required value",
    ),
    (
        SERVICE,
        "  ports:\n  - {name: a, port: 80, targetPort: web}\n",
        "  clusterIP: None\n",
        "",
        "",
    ),
    (
        SERVICE,
        "{name: a, port: 80, targetPort: web}",
        "{name: a, port: 80}\n  - {port: 81}",
        "has several ports, but not all have a name",
        "spec.ports[1].name: Required value",
    ),
    (
        SERVICE,
        "targetPort: web",
        "targetPort: '8080'",
        "has target port \"8080\"",
        "spec.ports[0].targetPort: Invalid value: \"8080\": must contain at least one letter",
    ),
    (
        SERVICE,
        "port: 80,",
        "port: 70000,",
        "has invalid port 70000",
        "spec.ports[0].port: Invalid value: 70000: must be between 1 and 65535",
    ),
    (
        SERVICE,
        "name: a,",
        "name: a_b,",
        "has a port with invalid name `a_b`",
        "spec.ports[0].name: Invalid value: \"a_b\"",
    ),
    (
        SERVICE,
        "{name: a, port: 80, targetPort: web}",
        "{name: a, port: 80}\n  - {name: a, port: 81}",
        "has duplicate port name a",
        "spec.ports[1].name: Duplicate value: \"a\"",
    ),
    (
        SERVICE,
        "{name: a, port: 80, targetPort: web}",
        "{name: a, port: 80}\n  - {name: b, port: 80}",
        "has duplicate port 80/TCP",
        "spec.ports[1]: Duplicate value",
    ),
    (
        SERVICE,
        "{name: a, port: 80, targetPort: web}",
        "{name: a, port: 80}\n  - {name: b, port: 80, protocol: UDP}",
        "",
        "",
    ),
    (
        DEPLOYMENT,
        "metadata: {labels: {app: faulty}}",
        "metadata: {labels: {app: other}}",
        "has a selector that does not match its pod template",
        "`selector` does not match template `labels`",
    ),
    (
        DEPLOYMENT,
        "selector: {matchLabels: {app: faulty}}",
        "selector: {}",
        "has no selector",
        "empty selector is invalid for deployment",
    ),
    (
        DEPLOYMENT,
        "- {name: v, emptyDir: {}}",
        "- {name: v, emptyDir: {}}\n      - {name: v, emptyDir: {}}",
        "has duplicate volume v",
        "spec.template.spec.volumes[1].name: Duplicate value: \"v\"",
    ),
    (
        DEPLOYMENT,
        "- {name: v, mountPath: /a}",
        "- {name: gone, mountPath: /a}",
        "mounts undefined volume `gone`",
        "spec.template.spec.containers[0].volumeMounts[0].name: Not found: \"gone\"",
    ),
    (
        DEPLOYMENT,
        "- {name: v, mountPath: /a}",
        "- {name: v, mountPath: /a}\n        - {name: v, mountPath: /a}",
        "has duplicate mount path /a",
        "volumeMounts[1].mountPath: Invalid value: \"/a\": must be unique",
    ),
    (
        DEPLOYMENT,
        "name: manager",
        "name: Upper",
        "has a container with invalid name `Upper`",
        "spec.template.spec.containers[0].name: Invalid value: \"Upper\"",
    ),
    (
        DEPLOYMENT,
        "name: metrics, containerPort: 8080",
        "name: a-very-long-name, containerPort: 8080",
        "has invalid port name `a-very-long-name`",
        "ports[0].name: Invalid value: \"a-very-long-name\": must be no more than 15 characters",
    ),
    (
        DEPLOYMENT,
        "name: metrics, containerPort: 8080",
        "name: '8081', containerPort: 8080",
        "has invalid port name `8081`",
        "ports[0].name: Invalid value: \"8081\": must contain at least one letter",
    ),
    (
        DEPLOYMENT,
        "- {name: metrics, containerPort: 8080}",
        "- {name: metrics, containerPort: 8080}\n        - {name: metrics, containerPort: 8081}",
        "has duplicate port name metrics",
        "ports[1].name: Duplicate value: \"metrics\"",
    ),
    (
        DEPLOYMENT,
        "{name: A, value: a}",
        "{name: A, value: a, valueFrom: {fieldRef: {fieldPath: metadata.name}}}",
        "has env var A with both value and valueFrom",
        "env[0].valueFrom: Invalid value: \"\": may not be specified when `value` is not empty",
    ),
    (
        DEPLOYMENT,
        "port: metrics}}",
        "port: '8080'}}",
        "has a probe on port \"8080\"",
        "readinessProbe.httpGet.port: Invalid value: \"8080\": must contain at least one letter",
    ),
    // The kubelet, not the server, looks for the container port of that name.
    (DEPLOYMENT, "port: metrics}}", "port: 8080}}", "", ""),
    (
        CRD,
        "faults.light.example.com",
        "fault.light.example.com",
        "must be named `faults.light.example.com`",
        "metadata.name: Invalid value: \"fault.light.example.com\": must be spec.names.plural+\".\"+spec.group",
    ),
    (
        CRD,
        "storage: true",
        "storage: false",
        "has 0 storage versions instead of one",
        "must have exactly one version marked as storage version",
    ),
    (
        CRD,
        ", schema: {openAPIV3Schema: {type: object}}",
        "",
        "has a version without a schema",
        "spec.versions[0].schema.openAPIV3Schema: Required value",
    ),
    (
        CRD,
        "  scope:",
        "  preserveUnknownFields: true\n  scope:",
        "sets preserveUnknownFields",
        "spec.preserveUnknownFields: Invalid value: true: cannot set to true",
    ),
    (
        CRD,
        "light.example.com",
        "light.k8s.io",
        "is in the Kubernetes group light.k8s.io",
        "metadata.annotations[api-approved.kubernetes.io]: Required value: protected groups must have approval annotation",
    ),
    (CRD, "light.example.com", "light.x-k8s.io", "", ""),
    (
        CLUSTER_ROLE,
        "verbs: [get]",
        "verbs: [get], resourceNames: [a]",
        "has both resourceNames and nonResourceURLs",
        "rules cannot apply to both regular resources and non-resource URLs",
    ),
    (CLUSTER_ROLE, "[/metrics]", "['*']", "", ""),
];

#[test]
#[ignore = "needs Go 1.26: cargo test --test api_server -- --ignored"]
fn the_server_rejects_what_the_lint_warns_about() {
    let cluster = ControlPlane::start();
    let mut wrong = Vec::new();
    for (object, from, to, warning, rejection) in ROWS {
        let manifest = object.replace(from, to);
        assert_ne!(manifest, **object, "{from:?} is not in the object");

        let case = Case::with_lamps();
        case.write("own.yaml", &manifest);
        case.write("bundles.toml", format!("{CONFIG}[[bundle.overlay]]\npath = \"own.yaml\"\n"));
        let said = case.run(&["build"]).text();
        let warned = said.contains("[api-refuses]");
        if warned == warning.is_empty() || !said.contains(warning) {
            wrong.push(format!("{to}: a build says {said}"));
        }

        let arguments = ["create", "--dry-run=server", "--validate=false", "--filename", "-"];
        let run = cluster.kubectl_as(&cluster.kubeconfig_in("default"), &arguments, &manifest);
        if run.success != rejection.is_empty() || !run.stderr.contains(rejection) {
            wrong.push(format!("{to}: the server says {}{}", run.stdout, run.stderr));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

const ENUM: &str = "the types of Kubernetes do not have the values of enums";
const RANGE: &str = "nor the ranges of numbers and the forms of percentages";
const ITEM: &str = "an empty item of a list is not a missing field";
const PATH: &str = "CEL rules and paths of fields are not evaluated";
const ACROSS: &str = "depends on another field, and no bundle gets it wrong";

/// Faults that the API server refuses and a build does not report, as kind and place or their
/// beginning, with the reason.
const UNREPORTED: &[(&str, &str)] = &[
    ("MutatingWebhookConfiguration webhooks.*.admissionReviewVersions.* = \"\"", ITEM),
    ("MutatingWebhookConfiguration webhooks.*.rules.*.apiVersions.* = \"\"", ITEM),
    ("MutatingWebhookConfiguration webhooks.*.rules.*.operations.* = \"\"", ENUM),
    ("MutatingWebhookConfiguration webhooks.*.rules.*.resources.* = \"\"", ITEM),
    ("ValidatingWebhookConfiguration webhooks.*.admissionReviewVersions.* = \"\"", ITEM),
    ("ValidatingWebhookConfiguration webhooks.*.rules.*.apiVersions.* = \"\"", ITEM),
    ("ValidatingWebhookConfiguration webhooks.*.rules.*.operations.* = \"\"", ENUM),
    ("ValidatingWebhookConfiguration webhooks.*.rules.*.resources.* = \"\"", ITEM),
    ("MutatingWebhookConfiguration webhooks.*.failurePolicy = \"\"", ENUM),
    ("MutatingWebhookConfiguration webhooks.*.timeoutSeconds = 0", RANGE),
    ("MutatingWebhookConfiguration webhooks.*.clientConfig.service.port = 0", RANGE),
    ("CustomResourceDefinition spec.names.shortNames.* = \"\"", ITEM),
    ("CustomResourceDefinition spec.versions.*.schema.openAPIV3Schema.properties removed", PATH),
    ("CustomResourceDefinition spec.versions.*.schema.openAPIV3Schema.properties = {}", PATH),
    (
        "CustomResourceDefinition spec.versions.*.schema.openAPIV3Schema.properties.spec removed",
        PATH,
    ),
    (
        "CustomResourceDefinition spec.versions.*.schema.openAPIV3Schema.properties.spec.properties removed",
        PATH,
    ),
    (
        "CustomResourceDefinition spec.versions.*.schema.openAPIV3Schema.properties.spec.properties = {}",
        PATH,
    ),
    (
        "CustomResourceDefinition spec.versions.*.schema.openAPIV3Schema.properties.spec.properties.color removed",
        PATH,
    ),
    (
        "CustomResourceDefinition spec.versions.*.schema.openAPIV3Schema.properties.spec.properties.replicas removed",
        PATH,
    ),
    ("Deployment spec.template.spec.tolerations.* = {}", ACROSS),
    (
        "Deployment spec.template.spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms.*.matchExpressions.*.values",
        ACROSS,
    ),
    (
        "Deployment spec.template.spec.volumes.*.projected.sources.*.serviceAccountToken.expirationSeconds = 0",
        RANGE,
    ),
    ("Deployment spec.template.spec.containers.*.resources.limits.memory = 7", ACROSS),
    ("Deployment spec.template.spec.containers.*.resources.requests.cpu = 7", ACROSS),
    ("NetworkPolicy spec.policyTypes.* = \"\"", ENUM),
    ("NetworkPolicy spec.ingress.*.from.*.ipBlock.except.* = \"\"", ITEM),
    ("NetworkPolicy spec.ingress.*.ports.*.port = 0", RANGE),
    ("NetworkPolicy spec.ingress.*.ports.*.protocol = \"\"", ENUM),
    ("PodDisruptionBudget spec.minAvailable = \"text\"", RANGE),
];

/// Faults that a build reports and the API server accepts: none.
const ACCEPTED: &[(&str, &str)] = &[];

/// Returns the address where objects of this kind are created.
fn address(object: &Json) -> String {
    let version = object["apiVersion"].as_str().expect("a version");
    let group =
        if version.contains('/') { format!("apis/{version}") } else { format!("api/{version}") };
    let plural = match object["kind"].as_str().expect("a kind").to_lowercase() {
        kind if kind.ends_with("policy") => kind.replace("policy", "policies"),
        kind if kind.ends_with('s') => format!("{kind}es"),
        kind => format!("{kind}s"),
    };
    match object["metadata"]["namespace"].as_str() {
        Some(namespace) => format!("/{group}/namespaces/{namespace}/{plural}?dryRun=All"),
        None => format!("/{group}/{plural}?dryRun=All"),
    }
}

#[test]
#[ignore = "needs Go 1.26: cargo test --test api_server -- --ignored"]
fn a_build_reports_the_generated_faults_that_the_server_rejects() {
    let cluster = ControlPlane::start();
    let client = cluster.administrator();
    let folder = tempfile::tempdir().expect("a folder");

    let samples = samples();
    let text = |object: &Json, key: &str| object[key].as_str().unwrap_or_default().to_owned();
    let mut kinds: Vec<_> =
        samples.iter().map(|sample| (text(sample, "apiVersion"), text(sample, "kind"))).collect();
    kinds.dedup();
    let expected: Vec<_> =
        checked_kinds().map(|(version, kind)| (version.to_owned(), kind.to_owned())).collect();
    assert_eq!(kinds, expected, "a sample for each kind");

    let (mut wrong, mut counts) = (Vec::new(), BTreeMap::<_, usize>::new());
    let mut known: BTreeSet<&(&str, &str)> = BTreeSet::new();
    for sample in &samples {
        let address = address(sample);
        let kind = text(sample, "kind");
        let answer = client.send("POST", &address, Some(sample));
        assert!(answer.succeeded(), "{kind}: {answer:?}");
        assert_eq!(reported(folder.path(), sample), BTreeSet::new(), "{kind}");

        let all = faults(sample);
        for fault in all.iter().filter(|fault| !fault.pointer.ends_with("/namespace")) {
            let object = fault.in_object(sample);
            // Some faults of CRDs make the server's own code panic.
            let answer = client.try_send("POST", &address, Some(&object));
            let accepted = answer.as_ref().is_ok_and(Answer::succeeded);
            let codes = reported(folder.path(), &object);
            *counts.entry((accepted, !codes.is_empty())).or_default() += 1;
            let table = match (accepted, codes.is_empty()) {
                (false, true) => UNREPORTED,
                (true, false) => ACCEPTED,
                _ => continue,
            };
            let place = format!("{kind} {}", fault.shown());
            let row = table.iter().find(|(start, _)| place.starts_with(start));
            known.extend(row);
            if row.is_none() {
                let message = answer.map(|answer| answer.body["message"].to_string());
                wrong.push(format!("{place}: {codes:?}, and the server says {message:?}"));
            }
        }
    }
    println!("faults by (accepted, reported): {counts:?}");
    let unused = UNREPORTED.iter().chain(ACCEPTED).filter(|row| !known.contains(*row));
    wrong.extend(unused.map(|(start, _)| format!("{start}: is no difference any more")));
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}
