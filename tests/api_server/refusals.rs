//! A real server rejects what the lint of rejected objects warns about, with the message that
//! src/compile/passes/lint/refused_samples.rs quotes; and it accepts the near misses, without a warning.

use crate::command::Case;
use crate::control_plane::{Answer, ControlPlane};
use crate::lamp::CONFIG;
use crate::object_faults::{faults, reported, samples};
use crate::refused_samples::{BOUNDS, CHOICES, ROWS};
use bundle2chart::bundle::checked_kinds;
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};

#[test]
#[ignore = "needs Go 1.26: cargo test --test api_server -- --ignored"]
fn the_server_rejects_what_the_lint_warns_about() {
    let cluster = ControlPlane::start();
    let kubeconfig = cluster.kubeconfig_in("default");
    let created = |manifest: &str| {
        let arguments = ["create", "--dry-run=server", "--validate=false", "--filename", "-"];
        cluster.kubectl_as(&kubeconfig, &arguments, manifest)
    };
    let mut wrong = Vec::new();
    for row in ROWS {
        let manifest = row.manifest();
        let case = Case::with_lamps();
        case.write("own.yaml", &manifest);
        case.write("bundles.toml", format!("{CONFIG}[[bundle.overlay]]\npath = \"own.yaml\"\n"));
        let said = case.run(&["build"]).text();
        let warned = said.contains("[api-refuses]");
        if warned == row.path.is_empty() {
            wrong.push(format!("{manifest}: a build says {said}"));
        }

        let run = created(&manifest);
        if run.success != row.refusal.is_empty() || !run.stderr.contains(row.refusal) {
            wrong.push(format!("{manifest}: the server says {}{}", run.stdout, run.stderr));
        }
    }

    let choices = CHOICES.iter().flat_map(|choice| {
        let accepted = choice.accepted().map(|value| (choice.manifest(value), true));
        accepted.chain([(choice.manifest("text"), false)])
    });
    let bounds = BOUNDS.iter().flat_map(|bound| {
        bound.numbers().map(|(number, is_accepted)| (bound.manifest(number), is_accepted))
    });
    for (manifest, is_accepted) in choices.chain(bounds) {
        let run = created(&manifest);
        if run.success != is_accepted {
            wrong.push(format!("{manifest}: the server says {}{}", run.stdout, run.stderr));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

const RANGE: &str =
    "the types of Kubernetes do not have the ranges of numbers and the forms of percentages";
const EMPTY: &str = "an empty value is a missing one to a client that reads the type";
const ITEM: &str = "an empty item of a list is not a missing field";
const PATH: &str = "CEL rules and paths of fields are not evaluated";
const FORM: &str = "nor the forms of texts";
const ACROSS: &str = "depends on another field, and no bundle gets it wrong";
const KIND: &str = "the same type is another field as well, which needs no value there";

/// Faults that the API server refuses and a build does not report, as kind and place or their
/// beginning, with the reason.
const UNREPORTED: &[(&str, &str)] = &[
    ("MutatingWebhookConfiguration webhooks.*.admissionReviewVersions.* = \"\"", ITEM),
    ("MutatingWebhookConfiguration webhooks.*.rules.*.apiVersions.* = \"\"", ITEM),
    ("MutatingWebhookConfiguration webhooks.*.rules.*.resources.* = \"\"", ITEM),
    ("ValidatingWebhookConfiguration webhooks.*.admissionReviewVersions.* = \"\"", ITEM),
    ("ValidatingWebhookConfiguration webhooks.*.rules.*.apiVersions.* = \"\"", ITEM),
    ("ValidatingWebhookConfiguration webhooks.*.rules.*.resources.* = \"\"", ITEM),
    ("MutatingWebhookConfiguration webhooks.*.failurePolicy = \"\"", EMPTY),
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
        "Deployment spec.template.spec.volumes.*.projected.sources.*.serviceAccountToken.expirationSeconds = 0",
        RANGE,
    ),
    ("NetworkPolicy spec.ingress.*.from.*.ipBlock.except.* = \"\"", ITEM),
    ("NetworkPolicy spec.ingress.*.ports.*.port = 0", RANGE),
    ("NetworkPolicy spec.ingress.*.ports.*.protocol = \"\"", EMPTY),
    ("PodDisruptionBudget spec.minAvailable = \"text\"", RANGE),
    ("HorizontalPodAutoscaler spec.scaleTargetRef.apiVersion", KIND),
    ("HorizontalPodAutoscaler spec.targetCPUUtilizationPercentage = 0", RANGE),
    ("PersistentVolumeClaim spec = {}", KIND),
    ("PersistentVolumeClaim spec.accessModes", KIND),
    ("PersistentVolumeClaim spec.resources", KIND),
    ("Ingress spec.ingressClassName = \"\"", RANGE),
    ("Ingress spec.rules.*.http.paths.*.path", ACROSS),
    ("MutatingWebhookConfiguration webhooks.*.admissionReviewVersions.* = \"text\"", FORM),
    ("ValidatingWebhookConfiguration webhooks.*.admissionReviewVersions.* = \"text\"", FORM),
    ("ValidatingWebhookConfiguration webhooks.*.matchConditions.*.expression = \"text\"", PATH),
    (
        "CustomResourceDefinition spec.versions.*.additionalPrinterColumns.*.jsonPath = \"text\"",
        PATH,
    ),
    (
        "CustomResourceDefinition spec.versions.*.subresources.scale.specReplicasPath = \"text\"",
        PATH,
    ),
    (
        "CustomResourceDefinition spec.versions.*.subresources.scale.statusReplicasPath = \"text\"",
        PATH,
    ),
    ("CustomResourceDefinition spec.versions.*.selectableFields.*.jsonPath = \"text\"", PATH),
    (
        "CustomResourceDefinition spec.versions.*.schema.openAPIV3Schema.properties.spec.x-kubernetes-validations.*.rule = \"text\"",
        PATH,
    ),
    (
        "Deployment spec.template.spec.volumes.*.projected.sources.*.downwardAPI.items.*.fieldRef.fieldPath = \"text\"",
        PATH,
    ),
    ("NetworkPolicy spec.ingress.*.from.*.ipBlock.cidr = \"text\"", FORM),
    ("NetworkPolicy spec.ingress.*.from.*.ipBlock.except.* = \"text\"", FORM),
    ("CronJob spec.schedule = \"text\"", FORM),
    ("LimitRange spec.limits.*.type = \"text\"", FORM),
    ("IngressClass spec.controller = \"text\"", FORM),
];

const LINT: &str = "other lints report it";

/// Faults that a build reports and the API server accepts.
const ACCEPTED: &[(&str, &str)] = &[
    ("Deployment spec.template.spec.serviceAccountName = \"text\"", LINT),
    ("Deployment spec.template.spec.initContainers.*.image = \"text\"", LINT),
    ("Deployment spec.template.spec.containers.*.image = \"text\"", LINT),
    ("DaemonSet spec.template.spec.containers.*.image = \"text\"", LINT),
    ("StatefulSet spec.template.spec.containers.*.image = \"text\"", LINT),
];

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
