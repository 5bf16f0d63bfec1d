//! API server validation that types and their fields' values cannot express, for the kinds that people write by hand, in
//! bundles and in overlays: Services, ConfigMaps, CRDs, autoscalers and workloads.
//!
//! A rule is here if a kube-apiserver rejects an object for it; its message is quoted at the
//! function, and tests/api_server/refusals.rs asks a real one. The bundles of the corpus
//! (tests/suite/corpus.rs) break none of them. Rules for kinds
//! that only OLM or this program generates do not belong here.
//!
//! Kubernetes: `pkg/apis/*/validation`, and apiextensions-apiserver for CRDs.

mod pods;

use super::super::check_types::{is_given, rejected};
use crate::bundle::{TypeCheck, check_object, served_version};
use crate::diag::{Code, Diagnostic, Diagnostics};
use crate::fields::{below, integer, is_true, list, text, texts_of};
use crate::ir::{Map, Object, Origin, Unit, Value, is_label_key, is_label_value, push_key};
use crate::overlay;
use serde_json::Value as Json;
use std::collections::BTreeSet;

/// A thing of an object that the API server refuses.
pub struct Refusal {
    /// JSON path in the object.
    pub path: String,
    /// Names what the object has at the path, for a sentence.
    pub what: String,
    /// Why a schema at the path refuses its own default.
    pub default: Option<String>,
}

/// Collects the faults of one object.
struct Faults<'a> {
    object: &'a Object,
    found: Vec<Refusal>,
}

impl Faults<'_> {
    fn add(&mut self, path: impl Into<String>, what: impl Into<String>) {
        self.found.push(Refusal { path: path.into(), what: what.into(), default: None });
    }

    /// Reports the texts that come a second time.
    fn twice<T: Ord + std::fmt::Display>(
        &mut self,
        path: &str,
        what: &str,
        items: impl IntoIterator<Item = T>,
    ) {
        let mut seen = BTreeSet::new();
        for item in items {
            let message = format!("has duplicate {what} {item}");
            // A third one says nothing new.
            let is_known = |one: &Refusal| one.path == path && one.what == message;
            if !seen.insert(item) && !self.found.iter().any(is_known) {
                self.add(path, message);
            }
        }
    }
}

/// Returns what the API server refuses of an object.
pub fn refused(object: &Json) -> Vec<Refusal> {
    // CRDs are most of a chart, and have rules of their own in `diff`.
    let is_crd = object["kind"].as_str() == Some("CustomResourceDefinition");
    let types = if is_crd { TypeCheck::default() } else { check_object(object.clone()) };
    let of_types = types.refusals().map(|(path, what)| Refusal { path, what, default: None });
    of_types.chain(refused_values(object)).collect()
}

/// Returns what does not follow from the types of fields.
pub fn refused_values(object: &Json) -> Vec<Refusal> {
    match Value::from(object) {
        Value::Map(root) => faults(&Object::new(*root, Origin::Stub)),
        _ => Vec::new(),
    }
}

fn faults(object: &Object) -> Vec<Refusal> {
    let mut faults = Faults { object, found: Vec::new() };
    api_version(&mut faults);
    metadata(&mut faults, "", &object.root);
    match object.kind() {
        "ConfigMap" | "Secret" if object.group().is_empty() => keys(&mut faults),
        "Deployment" => {
            selector(&mut faults);
            strategy(&mut faults);
        }
        "DaemonSet" => {
            selector(&mut faults);
            daemon_strategy(&mut faults);
        }
        "StatefulSet" | "ReplicaSet" => selector(&mut faults),
        "Service" if object.group().is_empty() => service(&mut faults),
        "CustomResourceDefinition" => crd(&mut faults),
        "HorizontalPodAutoscaler" => autoscaler(&mut faults),
        _ => {}
    }
    if ["", "apps", "batch"].contains(&object.group()) {
        pods::pods(&mut faults);
    }
    faults.found
}

/// Looks at every object of the bundle and of overlays.
pub(super) fn refusals(unit: &Unit, diagnostics: &mut Diagnostics) {
    for object in unit.objects.iter().filter(|object| is_given(object)) {
        for Refusal { path, what, .. } in faults(object) {
            let message = format!("{object} {what}");
            let warning = Diagnostic::warning(Code::ApiRefuses, message);
            diagnostics.push(rejected(warning, object, &path));
        }
    }
}

/// Returns the items of the list at a key of `holder`, each with its path.
fn items<'v>(
    path: &str,
    holder: &'v Value,
    key: &str,
) -> impl Iterator<Item = (String, &'v Value)> + use<'v> {
    let path = format!("{path}.{key}");
    let items = list(holder.get(key)).iter().enumerate();
    items.map(move |(index, item)| (format!("{path}[{index}]"), item))
}

/// API versions that Kubernetes no longer serves.
///
/// Helm: `no matches for kind "PodDisruptionBudget" in version "policy/v1beta1"`.
fn api_version(faults: &mut Faults<'_>) {
    let own = faults.object.api_version();
    let served = served_version(own, faults.object.kind());
    if let Some(served) = served.filter(|served| *served != own) {
        faults.add(".apiVersion", format!("has removed apiVersion {own}: use {served}"));
    }
}

/// Labels and annotations of the object or template at `path`.
///
/// Server: `metadata.labels: Invalid value: "a b": a valid label must be an empty string or consist
/// of alphanumeric characters, '-', '_' or '.'`, `metadata.annotations: Invalid value: "x/y/z": a
/// valid label key must consist of …`.
fn metadata(faults: &mut Faults<'_>, path: &str, object: &Map) {
    for (field, word) in [("labels", "label"), ("annotations", "annotation")] {
        let entries = object.get("metadata").and_then(|m| m.get(field)).and_then(Value::as_map);
        for (key, value) in entries.into_iter().flatten() {
            // Entries added by passes are expressions, not text.
            let Value::Text(value) = value else { continue };
            let path = below(&format!("{path}.metadata.{field}"), key);
            let lower = key.to_lowercase();
            if !is_label_key(if field == "labels" { key } else { &lower }) {
                faults.add(path, format!("has invalid {word} key `{key}`"));
            } else if field == "labels" && !is_label_value(value) {
                faults.add(path, format!("has invalid value `{value}` of label `{key}`"));
            }
        }
    }
}

/// Keys of ConfigMaps and Secrets, which become file names in volumes.
///
/// Server: `data[a b]: Invalid value: "a b": a valid config key must consist of alphanumeric
/// characters, '-', '_' or '.'`, `data[tls.key]: Required value`.
fn keys(faults: &mut Faults<'_>) {
    let has = |key: &str| {
        ["data", "stringData"].iter().any(|field| faults.object.at(&[field, key]).is_some())
    };
    let said = faults.object.at(&["type"]).and_then(Value::as_str);
    let is_tls = said == Some("kubernetes.io/tls");
    let missing = ["tls.crt", "tls.key"].into_iter().find(|key| is_tls && !has(key));
    if let Some(key) = missing {
        faults.add(".data", format!("has type kubernetes.io/tls without key `{key}`"));
    }
    for field in ["data", "binaryData", "stringData"] {
        let entries = faults.object.root.get(field).and_then(Value::as_map);
        for key in entries.into_iter().flat_map(Map::keys) {
            let fits = (1..=253).contains(&key.len())
                && key.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
                && !key.starts_with("..")
                && key != ".";
            if !fits {
                let path = below(&format!(".{field}"), key);
                faults.add(path, format!("has key `{key}`, which is not a valid file name"));
            }
        }
    }
}

/// Ports of Services.
///
/// Server: `spec.ports: Required value`, `spec.ports[1].name: Required value`,
/// `spec.ports[1]: Duplicate value`.
fn service(faults: &mut Faults<'_>) {
    let Some(spec) = faults.object.root.get("spec") else { return };
    let ports = list(spec.get("ports"));
    // These have no address that a port would belong to.
    let bare =
        text(spec, "type") == Some("ExternalName") || text(spec, "clusterIP") == Some("None");
    if ports.is_empty() && !bare {
        faults.add(".spec", "has no ports");
    }

    for (path, port) in items(".spec", spec, "ports") {
        if text(port, "name").unwrap_or_default().is_empty() && ports.len() > 1 {
            faults.add(path, "has several ports, but not all have a name");
        }
    }

    faults.twice(".spec.ports", "port name", texts_of(spec.get("ports"), "name"));
    let with_protocol = |port: &Value| {
        let number = integer(port.get("port"))?;
        Some(format!("{number}/{}", text(port, "protocol").unwrap_or("TCP")))
    };
    faults.twice(".spec.ports", "port", ports.iter().filter_map(with_protocol));
}

/// Checks the selector of a workload.
///
/// Server: `spec.template.metadata.labels: Invalid value: …: `selector` does not match template
/// `labels``.
fn selector(faults: &mut Faults<'_>) {
    let object = faults.object;
    let Some(template) = object.at(&["spec", "template"]) else { return };
    let none = Map::new();
    let own = template.at(&["metadata", "labels"]).and_then(Value::as_map).unwrap_or(&none);
    let selector = object.at(&["spec", "selector", "matchLabels"]).and_then(Value::as_map);
    let missing = selector.into_iter().flatten().find(|(key, value)| own.get(key) != Some(value));
    if let Some((key, value)) = missing {
        let label = format!("{key}={}", value.as_str().unwrap_or_default());
        let what = format!(
            "has a selector that does not match its pod template: label `{label}` is missing"
        );
        faults.add(".spec.selector", what);
    }

    let expressions = list(object.at(&["spec", "selector", "matchExpressions"]));
    for expression in expressions {
        let key = text(expression, "key").unwrap_or_default();
        let value = own.get(key).and_then(Value::as_str);
        let is_listed = list(expression.get("values")).iter().any(|one| one.as_str() == value);
        // Without the label, `NotIn` and `DoesNotExist` hold.
        let fits = match text(expression, "operator") {
            Some("In") => is_listed,
            Some("NotIn") => !is_listed,
            Some("Exists") => value.is_some(),
            Some("DoesNotExist") => value.is_none(),
            _ => true,
        };
        if !fits {
            let what = format!(
                "has a selector that does not match its pod template: `matchExpressions` of label \
                 `{key}` is not met"
            );
            faults.add(".spec.selector", what);
        }
    }
    // Without the key, a required field is missing.
    let is_there = object.at(&["spec", "selector"]).is_some();
    if is_there && selector.is_none_or(Map::is_empty) && expressions.is_empty() {
        faults.add(".spec", "has no selector");
    }
}

/// Checks the bounds of an autoscaler.
///
/// Server: `spec.maxReplicas: Invalid value: 2: must be greater than or equal to `minReplicas``.
fn autoscaler(faults: &mut Faults<'_>) {
    let bound = |key: &str| integer(faults.object.at(&["spec", key]));
    let least = bound("minReplicas").unwrap_or(1);
    if let Some(most) = bound("maxReplicas").filter(|most| (1..least).contains(most)) {
        let what = format!("has maxReplicas {most}, below minReplicas {least}");
        faults.add(".spec.maxReplicas", what);
    }
    let metrics = list(faults.object.at(&["spec", "metrics"]));
    let mut kinds = metrics.iter().filter_map(|metric| text(metric, "type"));
    let counts_requests = kinds.any(|kind| matches!(kind, "Object" | "External"));
    if bound("minReplicas") == Some(0) && !counts_requests {
        faults.add(".spec.minReplicas", "has minReplicas 0 without a metric of Object or External");
    }

    for (index, metric) in metrics.iter().enumerate() {
        for (key, values, has_one) in TARGETS {
            let Some(target) = metric.at(&[key, "target"]) else { continue };
            let said = values.iter().filter(|value| target.get(value).is_some()).count();
            let what = match said {
                0 => format!("has no `{}`", values.join("` or `")),
                2 if has_one => format!("has both `{}`", values.join("` and `")),
                _ => continue,
            };
            faults.add(format!(".spec.metrics[{index}].{key}.target"), what);
        }
    }
}

/// Values of targets of metrics, of which each needs one, and true if it may not have both.
const TARGETS: [(&str, &[&str], bool); 5] = [
    ("resource", &["averageUtilization", "averageValue"], true),
    ("containerResource", &["averageUtilization", "averageValue"], true),
    ("pods", &["averageValue"], true),
    ("object", &["value", "averageValue"], false),
    ("external", &["value", "averageValue"], true),
];

/// Checks the strategy of a Deployment.
///
/// Server: `spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is
/// 'Recreate'`, `….maxUnavailable: Invalid value: 0: may not be 0 when `maxSurge` is 0`,
/// `….maxSurge: Invalid value: "100": a valid percent string must be a numeric string followed by an ending '%'`,
/// `spec.progressDeadlineSeconds: Invalid value: 600: must be greater than minReadySeconds`.
fn strategy(faults: &mut Faults<'_>) {
    let spec = faults.object.root.get("spec").unwrap_or(&Value::Null);
    let deadline = integer(spec.get("progressDeadlineSeconds")).unwrap_or(600);
    let ready = integer(spec.get("minReadySeconds"));
    if let Some(ready) = ready.filter(|ready| *ready >= deadline) {
        let what = format!("has minReadySeconds {ready}, not below progressDeadlineSeconds");
        faults.add(".spec.minReadySeconds", format!("{what} {deadline}"));
    }
    let strategy = spec.get("strategy").unwrap_or(&Value::Null);
    let rolling = strategy.get("rollingUpdate").filter(|rolling| !rolling.is_null());
    // Without a value, both are 25 %.
    let is_zero = |key: &str| {
        rolling.is_some_and(|rolling| {
            integer(rolling.get(key)) == Some(0) || text(rolling, key) == Some("0%")
        })
    };
    let is_no_share = |key: &&&str| {
        let said = rolling.and_then(|rolling| text(rolling, key));
        said.is_some_and(|said| said.strip_suffix('%').is_none_or(|n| n.parse::<u32>().is_err()))
    };
    if let Some(key) = ["maxSurge", "maxUnavailable"].iter().find(is_no_share) {
        let path = format!(".spec.strategy.rollingUpdate.{key}");
        faults.add(path, format!("has {key} that is neither a number nor a percentage"));
    }
    if rolling.is_some() && text(strategy, "type") == Some("Recreate") {
        faults.add(".spec.strategy.rollingUpdate", "has strategy Recreate with `rollingUpdate`");
    } else if is_zero("maxSurge") && is_zero("maxUnavailable") {
        let path = ".spec.strategy.rollingUpdate";
        faults.add(path, "has `maxSurge` and `maxUnavailable` 0, so no pod can be replaced");
    }
}

/// Checks the strategy of a DaemonSet.
///
/// Server: `spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: 1: may not be set when
/// maxUnavailable is non-zero`.
fn daemon_strategy(faults: &mut Faults<'_>) {
    let path = ["spec", "updateStrategy", "rollingUpdate"];
    let Some(rolling) = faults.object.at(&path) else { return };
    let is_set = |key: &str, default: bool| match rolling.get(key) {
        None => default,
        value => integer(value) != Some(0) && value.and_then(Value::as_str) != Some("0%"),
    };
    // Without a value, `maxUnavailable` is 1.
    if is_set("maxSurge", false) && is_set("maxUnavailable", true) {
        let what = "has `maxSurge` without `maxUnavailable: 0`";
        faults.add(format!(".{}.maxSurge", path.join(".")), what);
    }
}

/// Types of JSON in the schema of a CRD.
const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];

/// Checks the schema of a CRD: its types and defaults.
///
/// Server: `spec.validation.openAPIV3Schema.properties[spec].type: Required value: must not be empty
/// for specified object fields`, `….default: Unsupported value: "x": supported values: "a"`.
fn schema(faults: &mut Faults<'_>, path: &mut String, schema: &Value) {
    let Some(map) = schema.as_map() else { return };
    let is_free = is_true(schema, "x-kubernetes-int-or-string")
        || is_true(schema, "x-kubernetes-preserve-unknown-fields");
    match text(schema, "type").filter(|kind| !kind.is_empty()) {
        None if !is_free => {
            faults.add(path.as_str(), format!("has a schema without a type at `{path}`"));
        }
        Some(kind) if !TYPES.contains(&kind) => {
            let what = format!("has type `{kind}`, not `{}`", TYPES.join("`, `"));
            faults.add(format!("{path}.type"), what);
        }
        _ => {}
    }
    let default = map.get("default").filter(|default| !default.is_null());
    for why in default.into_iter().flat_map(|default| overlay::refused(schema, default)) {
        let what = format!("has a default at `{path}` that its own schema refuses: {why}");
        faults.found.push(Refusal { path: path.clone(), what, default: Some(why) });
    }

    // One text for all paths: large CRDs have tens of thousands of schemas.
    let length = path.len();
    for (key, property) in map.get("properties").and_then(Value::as_map).into_iter().flatten() {
        path.push_str(".properties");
        push_key(path, key);
        self::schema(faults, path, property);
        path.truncate(length);
    }
    for key in ["items", "additionalProperties"] {
        if let Some(inner) = map.get(key) {
            path.push('.');
            path.push_str(key);
            self::schema(faults, path, inner);
            path.truncate(length);
        }
    }
}

/// Checks a CRD.
///
/// Server: `metadata.name: Invalid value: …: must be spec.names.plural+"."+spec.group`,
/// `spec.versions: Invalid value: …: must have exactly one version marked as storage version`,
/// `spec.versions[0].schema.openAPIV3Schema: Required value`,
/// `spec.preserveUnknownFields: Invalid value: true: cannot set to true, set
/// x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead`,
/// `metadata.annotations[api-approved.kubernetes.io]: Required value: protected groups must have
/// approval annotation`.
fn crd(faults: &mut Faults<'_>) {
    let object = faults.object;
    let of = |path: &[&str]| object.at(path).and_then(Value::as_str).unwrap_or_default();
    let group = of(&["spec", "group"]);
    let name = format!("{}.{group}", of(&["spec", "names", "plural"]));
    if object.name() != name {
        faults.add(".metadata.name", format!("must be named `{name}`, from its plural and group"));
    }
    let versions = list(object.at(&["spec", "versions"]));
    let stored = versions.iter().filter(|version| is_true(version, "storage")).count();
    if stored != 1 {
        faults.add(".spec.versions", format!("has {stored} storage versions instead of one"));
    }
    faults.twice(".spec.versions", "version", versions.iter().filter_map(|v| text(v, "name")));
    for (index, version) in versions.iter().enumerate() {
        let path = format!(".spec.versions[{index}]");
        match version.at(&["schema", "openAPIV3Schema"]) {
            Some(schema) if !schema.is_null() => {
                self::schema(faults, &mut format!("{path}.schema.openAPIV3Schema"), schema);
            }
            _ => faults.add(path, "has a version without a schema"),
        }
    }

    if object.at(&["spec", "preserveUnknownFields"]) == Some(&Value::Bool(true)) {
        let what = "sets preserveUnknownFields instead of x-kubernetes-preserve-unknown-fields in \
            the schema";
        faults.add(".spec.preserveUnknownFields", what);
    }

    // Groups of the Kubernetes project: its reviewers approve APIs there, and name the pull request.
    let kubernetes = [".k8s.io", ".kubernetes.io"].iter().any(|end| group.ends_with(end));
    let approval = ["metadata", "annotations", "api-approved.kubernetes.io"];
    if kubernetes && object.at(&approval).is_none() {
        let what = format!(
            "is in the Kubernetes group {group}, but lacks the annotation api-approved.kubernetes.io"
        );
        faults.add(".metadata", what);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::passes::sample::{bundle, reported};

    /// Faults of which one object has several, each at its place.
    #[test]
    fn each_fault_of_an_object_has_its_path() {
        let containers = ["a", "b", ""].map(|name| {
            format!(
                "{{name: '{name}', image: a, volumeMounts: [{{name: v, mountPath: /a}}, {{name: v, \
                 mountPath: /a}}, {{name: v, mountPath: /a}}]}}"
            )
        });
        let deployment = format!(
            "{{apiVersion: apps/v1, kind: Deployment, metadata: {{name: a}}, spec: {{selector: \
             {{matchLabels: {{a: b}}}}, template: {{metadata: {{labels: {{a: b}}}}, spec: {{volumes: \
             [{{name: v, emptyDir: {{}}}}], containers: [{}]}}}}}}}}",
            containers.join(", ")
        );
        let crd = |group: &str, annotations: &str, schema: &str| {
            format!(
                "{{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: \
                 {{name: as.{group}, annotations: {{{annotations}}}}}, spec: {{group: {group}, scope: \
                 Namespaced, names: {{kind: A, plural: as}}, versions: [{{name: v1, served: true, \
                 storage: true, schema: {{openAPIV3Schema: {schema}}}}}]}}}}"
            )
        };
        let object = "{type: object}";
        let nested = "{type: object, properties: {a: {}, b: {}, c: {type: array, items: {}}, \
                      d: {additionalProperties: {}, items: {}, type: object}, e: {}}}";
        let mut shown = String::new();
        for manifest in [
            "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {'': a, k: a}}"
                .to_owned(),
            deployment,
            crd("example.com", "", nested),
            crd("a.k8s.io", "", object),
            crd("a.k8s.io", "api-approved.kubernetes.io: 'https://example.com'", object),
        ] {
            let mut diagnostics = Diagnostics::new();
            refusals(&bundle(&manifest), &mut diagnostics);
            for found in diagnostics.iter() {
                let path = found.place.path.as_deref().unwrap_or_default();
                shown += &format!("{path}: {}\n", found.message);
            }
        }
        insta::assert_snapshot!(shown);
    }

    #[test]
    fn duplicates_are_reported_once() {
        let unit = bundle(
            "
apiVersion: v1
kind: Service
metadata: {name: widget}
spec:
  ports:
  - {name: http, port: 80}
  - {name: http, port: 81}
  - {name: http, port: 82}
  - {name: metrics, port: 83}
  - {name: metrics, port: 84}
",
        );
        assert_eq!(
            reported(refusals, &unit),
            [
                "warning: Service/widget has duplicate port name http",
                "warning: Service/widget has duplicate port name metrics",
            ]
        );
    }

    #[test]
    fn kinds_of_other_groups_have_other_rules() {
        for (api_version, kind, message) in [
            ("v1", "Service", "has no ports"),
            ("serving.knative.dev/v1", "Service", ""),
            ("v1", "Secret", "has key `a b`, which is not a valid file name"),
            ("example.com/v1", "Secret", ""),
            ("batch/v1", "Job", "has no restartPolicy, which must be `OnFailure` or `Never`"),
            ("batch.example.com/v1", "Job", ""),
            (
                "policy/v1beta1",
                "PodDisruptionBudget",
                "has removed apiVersion policy/v1beta1: use policy/v1",
            ),
            ("policy/v1", "PodDisruptionBudget", ""),
        ] {
            let manifest = format!(
                "{{apiVersion: {api_version}, kind: {kind}, metadata: {{name: widget}}, \
                 data: {{a b: ''}}, spec: {{template: {{spec: {{}}}}}}}}"
            );
            let expected = format!("warning: {kind}/widget {message}");
            let expected = if message.is_empty() { vec![] } else { vec![expected] };
            assert_eq!(reported(refusals, &bundle(&manifest)), expected, "{api_version} {kind}");
        }
    }
}
