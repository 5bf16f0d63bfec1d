//! OLM's objects against ours: equal but for the deviations.

use super::role_names::rename_roles;
use bundle2chart::bundle::check_object;
use bundle2chart::ir::{Object, Origin, RELEASE_NAME, Release, Value};
use bundle2chart::olm;
use serde_json::{Map, Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};

/// The outcome of comparing one case.
pub(crate) struct Comparison {
    /// Number of compared objects.
    pub(crate) objects: usize,
    /// Unexpected differences.
    pub(crate) differences: Vec<String>,
    /// Names of the deviations that were met.
    pub(crate) used: BTreeSet<&'static str>,
}

impl Comparison {
    /// Compares OLM's `expected` objects with our `actual` ones in a mode of the goldens.
    pub(crate) fn new(expected: Vec<Json>, actual: Vec<Json>, mode: &str, namespace: &str) -> Self {
        let mut used = BTreeSet::new();
        let mut expected: Vec<Json> = expected.into_iter().map(|o| normal(o, &mut used)).collect();
        let mut actual: Vec<Json> = actual.into_iter().map(|o| normal(o, &mut used)).collect();

        let shipped_accounts: BTreeSet<String> = {
            let mut seen = BTreeSet::new();
            let accounts = expected.iter().filter(|o| o["kind"] == "ServiceAccount");
            accounts.map(label).filter(|label| !seen.insert(label.clone())).collect()
        };
        if !shipped_accounts.is_empty() {
            used.insert("shipped-service-accounts");
            // The generated copy is the one without anything but a name and namespace.
            expected.sort_by_key(|o| {
                o.as_object().is_some_and(|o| o.len() > 3)
                    || o["metadata"].as_object().is_some_and(|m| m.len() > 2)
            });
            let mut left = shipped_accounts;
            expected.retain(|o| !left.remove(&label(o)));
        }

        if matches!(mode, "single" | "multi") {
            let before = actual.len();
            let generated = |o: &Json| {
                let name = o["metadata"]["name"].as_str().unwrap_or_default();
                let kind = o["kind"].as_str().unwrap_or_default();
                let ours = name.contains("-role") && matches!(kind, "Role" | "RoleBinding");
                ours && o["metadata"]["namespace"] == namespace
            };
            let shipped: BTreeSet<String> = expected.iter().map(label).collect();
            actual.retain(|o| !generated(o) || shipped.contains(&label(o)));
            if actual.len() < before {
                used.insert("own-namespace-role");
            }
        }

        shorten_services(&mut expected, &mut used);
        own_services(&mut expected, namespace, &mut used);
        leave_out_api_services(&mut actual, &expected, &mut used);
        let accounts: BTreeSet<String> = expected
            .iter()
            .filter(|object| object["kind"] == "ServiceAccount")
            .map(|object| object["metadata"]["name"].to_string())
            .collect();
        for object in &mut expected {
            operator_namespace(object, namespace, &mut used);
            drop_unknown_fields(object, &mut used);
            drop_aggregated_rules(object, &mut used);
            certificates(object, &mut used);
            misplaced(object, &accounts, namespace, &mut used);
        }
        for object in &mut actual {
            kept(object, &expected, &mut used);
            release_labels(object, &expected, &mut used);
        }
        for object in &mut expected {
            catalog_annotations(object, &actual, &mut used);
        }
        operator_condition(&mut actual, &expected, &mut used);

        rename_roles(&mut expected, &mut used);
        rename_roles(&mut actual, &mut used);

        let index = |objects: Vec<Json>| {
            let mut map: BTreeMap<String, Vec<Json>> = BTreeMap::new();
            for object in objects {
                map.entry(label(&object)).or_default().push(object);
            }
            map
        };
        let objects = actual.len();
        let (mut expected, mut actual) = (index(expected), index(actual));
        let labels: BTreeSet<String> = expected.keys().chain(actual.keys()).cloned().collect();
        let mut differences = Vec::new();
        for label in labels {
            let theirs = expected.remove(&label).unwrap_or_default();
            let ours = actual.remove(&label).unwrap_or_default();
            if theirs.len() != ours.len() {
                differences.push(format!(
                    "  {label}: OLM has {}, we have {}",
                    theirs.len(),
                    ours.len()
                ));
                continue;
            }
            for (theirs, ours) in theirs.iter().zip(&ours) {
                Difference { label: &label, found: &mut differences, used: &mut used }
                    .add("", theirs, ours);
            }
        }
        Comparison { objects, differences, used }
    }
}

fn label(object: &Json) -> String {
    let text = |pointer| object.pointer(pointer).and_then(Json::as_str).unwrap_or_default();
    format!("{} {}/{}", text("/kind"), text("/metadata/namespace"), text("/metadata/name"))
}

/// Normalizes fields that mean the same to the API server.
fn normal(mut object: Json, used: &mut BTreeSet<&'static str>) -> Json {
    let before = object.clone();
    if let Some(metadata) = object["metadata"].as_object_mut()
        && metadata.get("creationTimestamp") == Some(&Json::Null)
    {
        metadata.remove("creationTimestamp");
    }
    if object.get("status").is_some_and(hollow) {
        object.as_object_mut().expect("an object").remove("status");
    }
    if object["kind"] == "Deployment" {
        let spec = object["spec"].as_object_mut().expect("a spec");
        if spec.get("replicas") == Some(&json!(1)) {
            spec.remove("replicas");
        }
        if spec.get("strategy") == Some(&json!({})) {
            spec.remove("strategy");
        }
        if let Some(metadata) =
            object.pointer_mut("/spec/template/metadata").and_then(Json::as_object_mut)
            && metadata.get("creationTimestamp") == Some(&Json::Null)
        {
            metadata.remove("creationTimestamp");
        }
        for key in ["containers", "initContainers"] {
            let path = format!("/spec/template/spec/{key}");
            let containers = object.pointer_mut(&path).and_then(Json::as_array_mut);
            for container in containers.into_iter().flatten().filter_map(Json::as_object_mut) {
                normal_container(container);
            }
        }
    }
    // Rules by which roles are told apart: without verbs, which the API server refuses in either
    // spelling, and with lists that are empty.
    if object.get("rules").is_some_and(Json::is_null) {
        object["rules"] = json!([]);
    }
    let rules = object.get_mut("rules").and_then(Json::as_array_mut);
    for rule in rules.into_iter().flatten().filter_map(Json::as_object_mut) {
        rule.retain(|key, value| !value.is_null() && (key == "verbs" || !is_zero(value)));
    }
    if before != object {
        used.insert("no-server-fields");
    }
    service_account_name(&mut object, used);
    let kind = object["kind"].as_str().unwrap_or_default().to_owned();
    let cluster = [
        "ClusterRole",
        "ClusterRoleBinding",
        "PriorityClass",
        "CustomResourceDefinition",
        "MutatingWebhookConfiguration",
        "ValidatingWebhookConfiguration",
    ];
    if (cluster.contains(&kind.as_str()) || kind.starts_with("Console"))
        && object["metadata"].as_object_mut().expect("metadata").remove("namespace").is_some()
    {
        used.insert("cluster-scope");
    }
    object
}

/// Pods of a Deployment say which account they have.
fn service_account_name(object: &mut Json, used: &mut BTreeSet<&'static str>) {
    let pod = object.pointer_mut("/spec/template/spec").and_then(Json::as_object_mut);
    if let Some(pod) = pod.filter(|pod| !pod.contains_key("serviceAccountName")) {
        let account = pod.get("serviceAccount").cloned().unwrap_or(json!("default"));
        pod.insert("serviceAccountName".to_owned(), account);
        used.insert("service-account-name");
    }
}

/// Objects of OLM in a namespace that the operator is not in.
fn misplaced(
    object: &mut Json,
    accounts: &BTreeSet<String>,
    namespace: &str,
    used: &mut BTreeSet<&'static str>,
) {
    if object["kind"] == "VerticalPodAutoscaler" && object["metadata"]["namespace"] != namespace {
        object["metadata"]["namespace"] = json!(namespace);
        used.insert("cluster-scope");
    }
    let subjects = object.get_mut("subjects").and_then(Json::as_array_mut);
    for subject in subjects.into_iter().flatten() {
        if accounts.contains(&subject["name"].to_string()) && subject["namespace"] != namespace {
            subject["namespace"] = json!(namespace);
            used.insert("shipped-subjects");
        }
    }
}

/// A CRD that Helm keeps, and does not downgrade.
fn kept(object: &mut Json, expected: &[Json], used: &mut BTreeSet<&'static str>) {
    if object["kind"] != "CustomResourceDefinition" {
        return;
    }
    // Some bundles say it themselves.
    let policy = "/metadata/annotations/helm.sh~1resource-policy";
    let mut shipped =
        expected.iter().filter(|e| e["metadata"]["name"] == object["metadata"]["name"]);
    let shipped = shipped.any(|crd| crd.pointer(policy).is_some());
    let Some(metadata) = object["metadata"].as_object_mut() else { return };
    let Some(annotations) = metadata.get_mut("annotations").and_then(Json::as_object_mut) else {
        return;
    };
    if !shipped && annotations.remove("helm.sh/resource-policy") == Some(json!("keep")) {
        used.insert("kept-crds");
    }
    if annotations.remove("bundle2chart/version").is_some_and(|version| version.is_string()) {
        used.insert("versions-of-crds");
    }
    if annotations.is_empty() {
        metadata.remove("annotations");
    }
}

/// Replaces the labels that Helm recommends by those that OLM has, in objects and in pods.
fn release_labels(object: &mut Json, expected: &[Json], used: &mut BTreeSet<&'static str>) {
    let theirs = expected.iter().find(|theirs| label(theirs) == label(object));
    for metadata in ["/metadata", "/spec/template/metadata"] {
        let theirs = theirs.and_then(|theirs| theirs.pointer(&format!("{metadata}/labels")));
        release_labels_of(object.pointer_mut(metadata), theirs, used);
    }
}

fn release_labels_of(
    metadata: Option<&mut Json>,
    theirs: Option<&Json>,
    used: &mut BTreeSet<&'static str>,
) {
    let Some(metadata) = metadata.and_then(Json::as_object_mut) else { return };
    let Some(labels) = metadata.get_mut("labels").and_then(Json::as_object_mut) else { return };
    let values = [
        ("app.kubernetes.io/name", "operator"),
        ("app.kubernetes.io/name", "operator-crds"),
        ("app.kubernetes.io/instance", RELEASE_NAME),
        ("app.kubernetes.io/managed-by", "Helm"),
    ];
    let before = labels.clone();
    labels.retain(|key, value| {
        let added = match key.as_str() {
            "app.kubernetes.io/version" => true,
            "helm.sh/chart" => value.as_str().is_some_and(|v| v.starts_with("operator-")),
            key => values.iter().any(|row| row.0 == key && row.1 == *value),
        };
        let own = theirs.and_then(|theirs| theirs.get(key));
        if let (true, Some(own)) = (added, own) {
            value.clone_from(own);
        }
        !added || own.is_some()
    });
    if *labels != before {
        used.insert("release-labels");
    }
    if labels.is_empty() && theirs.is_none() {
        metadata.remove("labels");
    }
}

/// Removes the annotations of OLM's pods that only catalogs read, where ours do not have them.
fn catalog_annotations(object: &mut Json, actual: &[Json], used: &mut BTreeSet<&'static str>) {
    const OF_PODS: &str = "/spec/template/metadata/annotations";
    let ours = actual.iter().find(|ours| label(ours) == label(object));
    let ours = ours.and_then(|ours| ours.pointer(OF_PODS));
    let Some(annotations) = object.pointer_mut(OF_PODS).and_then(Json::as_object_mut) else {
        return;
    };
    let before = annotations.len();
    annotations.retain(|key, _| {
        !olm::is_descriptive(key) || ours.is_some_and(|ours| ours.get(key).is_some())
    });
    if annotations.len() < before {
        used.insert("catalog-annotations");
    }
}

/// Corrects OLM's errors around certificates.
fn certificates(object: &mut Json, used: &mut BTreeSet<&'static str>) {
    let webhooks = object.get_mut("webhooks").and_then(Json::as_array_mut);
    for webhook in webhooks.into_iter().flatten() {
        let port = webhook.pointer_mut("/clientConfig/service/port");
        if let Some(port) = port.filter(|port| **port == json!(0)) {
            *port = json!(443);
            used.insert("webhook-port");
        }
    }
    let annotations = object.pointer_mut("/metadata/annotations").and_then(Json::as_object_mut);
    if let Some(annotations) = annotations
        && annotations.contains_key("service.beta.openshift.io/inject-cabundle")
        && annotations.remove("cert-manager.io/inject-ca-from").is_some()
    {
        used.insert("stale-injection");
    }
    let name = object.pointer_mut("/spec/commonName").filter(|name| name.is_string());
    if let Some(name) = name.filter(|name| name.as_str().is_some_and(|name| name.len() > 64)) {
        *name = json!(name.as_str().expect("a string")[..64]);
        used.insert("common-name");
    }
    let Some(pod) = object.pointer_mut("/spec/template/spec").and_then(Json::as_object_mut) else {
        return;
    };
    certificate_paths(pod, used);
    let volumes: BTreeSet<String> = pod
        .get("volumes")
        .and_then(Json::as_array)
        .into_iter()
        .flatten()
        .map(|volume| volume["name"].to_string())
        .collect();
    let containers = pod.get_mut("initContainers").and_then(Json::as_array_mut);
    for mount in containers.into_iter().flatten().flat_map(|container| {
        container.get_mut("volumeMounts").and_then(Json::as_array_mut).into_iter().flatten()
    }) {
        if !volumes.contains(&mount["name"].to_string()) {
            *mount = json!({"name": "webhook-cert", "mountPath": mount["mountPath"]});
            used.insert("init-container-certificates");
        }
    }
}

/// Takes away volumes that are mounted where a certificate is, with a `/` at the end.
fn certificate_paths(pod: &mut Map<String, Json>, used: &mut BTreeSet<&'static str>) {
    let paths = ["/tmp/k8s-webhook-server/serving-certs/", "/apiserver.local.config/certificates/"];
    let items = |list: Option<&Json>| list.and_then(Json::as_array).cloned().unwrap_or_default();
    let volumes = items(pod.get("volumes"));
    if !volumes.iter().any(|volume| volume["name"] == "webhook-cert") {
        return;
    }
    let containers = items(pod.get("containers"));
    let mounts = containers.iter().flat_map(|container| items(container.get("volumeMounts")));
    let hidden: BTreeSet<String> = mounts
        .filter(|mount| paths.iter().any(|path| mount["mountPath"] == *path))
        .map(|mount| mount["name"].to_string())
        .collect();
    if hidden.is_empty() {
        return;
    }

    used.insert("certificate-paths");
    let keep = |item: &Json| !hidden.contains(&item["name"].to_string());
    for container in pod["containers"].as_array_mut().into_iter().flatten() {
        container["volumeMounts"].as_array_mut().expect("mounts").retain(keep);
    }
    pod["volumes"].as_array_mut().expect("volumes").retain(keep);
}

/// Gives Services with a name of 64 bytes one of 63, wherever they are named.
fn shorten_services(objects: &mut [Json], used: &mut BTreeSet<&'static str>) {
    let long: Vec<String> = objects
        .iter()
        .filter(|object| object["kind"] == "Service")
        .filter_map(|object| object["metadata"]["name"].as_str())
        .filter(|name| name.len() > 63)
        .map(str::to_owned)
        .collect();
    for name in long {
        let stem = name.strip_suffix("-service").expect("the name of a Service");
        let short = format!("{}-service", &stem[..55]);
        let secret = |service: &str| format!("{}-cert", &service[..58]);
        for object in &mut *objects {
            let text = object.to_string();
            let text = text.replace(&secret(&name), &secret(&short)).replace(&name, &short);
            *object = serde_json::from_str(&text).expect("the same JSON");
        }
        used.insert("service-name");
    }
}

fn normal_container(container: &mut Map<String, Json>) {
    if container.get("resources") == Some(&json!({})) {
        container.remove("resources");
    }
    for variable in container.get_mut("env").and_then(Json::as_array_mut).into_iter().flatten() {
        if variable.get("value") == Some(&json!("")) {
            variable.as_object_mut().expect("a variable").remove("value");
        }
        if let Some(field) = variable.pointer_mut("/valueFrom/resourceFieldRef")
            && field.get("divisor") == Some(&json!("0"))
        {
            field.as_object_mut().expect("a field").remove("divisor");
        }
    }
}

/// Returns true if the API has a quantity at this path, which OLM spells anew.
fn is_quantity(path: &str) -> bool {
    let above = path.rsplit_once('.').map_or("", |(above, _)| above);
    path.ends_with(".divisor")
        || path.ends_with(".sizeLimit")
        || [".resources.requests", ".resources.limits"].iter().any(|end| above.ends_with(end))
}

/// A quantity as a number of base units, unless it is none.
fn amount(quantity: &Json) -> Option<f64> {
    let text = quantity.as_str().map_or_else(|| quantity.to_string(), str::to_owned);
    let split = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, suffix) = text.split_at(split);
    let power = |base: f64, letters: &str| {
        letters.find(suffix.get(..1)?).map(|index| base.powi(i32::try_from(index).unwrap_or(0) + 1))
    };
    let factor = match suffix {
        "" => 1.0,
        "n" => 1e-9,
        "u" => 1e-6,
        "m" => 1e-3,
        "k" | "M" | "G" | "T" | "P" | "E" => power(1000.0, "kMGTPE")?,
        "Ki" | "Mi" | "Gi" | "Ti" | "Pi" | "Ei" => power(1024.0, "KMGTPE")?,
        exponent => 10_f64.powi(exponent.get(1..)?.parse().ok()?),
    };
    Some(number.parse::<f64>().ok()? * factor)
}

pub(crate) fn hollow(value: &Json) -> bool {
    match value {
        Json::Null => true,
        Json::String(text) => text.is_empty(),
        Json::Array(items) => items.iter().all(hollow),
        Json::Object(map) => map.values().all(hollow),
        _ => false,
    }
}

/// Removes what OLM's typed round trip drops: it means the same as nothing.
fn is_zero(value: &Json) -> bool {
    match value {
        Json::Null => true,
        Json::Bool(value) => !value,
        Json::Number(number) => number.as_f64() == Some(0.0),
        Json::String(text) => text.is_empty(),
        Json::Array(items) => items.is_empty(),
        Json::Object(map) => map.is_empty(),
    }
}

/// Collects how two objects differ.
struct Difference<'a> {
    label: &'a str,
    found: &'a mut Vec<String>,
    used: &'a mut BTreeSet<&'static str>,
}

impl Difference<'_> {
    /// Adds every difference, by JSON path; numbers and quantities by value.
    fn add(&mut self, path: &str, theirs: &Json, ours: &Json) {
        match (theirs, ours) {
            (Json::Object(theirs), Json::Object(ours)) => {
                let keys: BTreeSet<&String> = theirs.keys().chain(ours.keys()).collect();
                for key in keys {
                    self.entry(&format!("{path}.{key}"), theirs.get(key), ours.get(key));
                }
            }
            (Json::Array(theirs), Json::Array(ours)) if theirs.len() == ours.len() => {
                for (index, (theirs, ours)) in theirs.iter().zip(ours).enumerate() {
                    self.add(&format!("{path}[{index}]"), theirs, ours);
                }
            }
            (Json::Number(a), Json::Number(b)) if a.as_f64() == b.as_f64() => {}
            _ if theirs == ours => {}
            _ if is_quantity(path)
                && amount(theirs).is_some()
                && amount(theirs) == amount(ours) =>
            {
                self.used.insert("no-server-fields");
            }
            _ => self.found.push(format!("  {}: {path}: OLM {theirs}, we {ours}", self.label)),
        }
    }

    fn entry(&mut self, path: &str, theirs: Option<&Json>, ours: Option<&Json>) {
        let typed = ["CustomResourceDefinition ", "Deployment "];
        let typed = typed.iter().any(|kind| self.label.starts_with(kind));
        match (theirs, ours) {
            (Some(theirs), Some(ours)) => self.add(path, theirs, ours),
            (None, Some(ours)) if typed && is_zero(ours) => {
                self.used.insert("no-server-fields");
            }
            (Some(theirs), None) if path.ends_with(".spec.affinity") && is_zero(theirs) => {
                self.used.insert("no-server-fields");
            }
            (theirs, ours) => {
                self.found.push(format!("  {}: {path}: OLM {theirs:?}, we {ours:?}", self.label));
            }
        }
    }
}

fn operator_namespace(object: &mut Json, namespace: &str, used: &mut BTreeSet<&'static str>) {
    let annotations = object.pointer_mut("/spec/template/metadata/annotations");
    let Some(annotations) = annotations.and_then(Json::as_object_mut) else { return };
    // A CSV may have the annotation as OLM v0 wrote it once.
    let namespace = json!(namespace);
    if annotations.insert("olm.operatorNamespace".to_owned(), namespace.clone()) != Some(namespace)
    {
        used.insert("operator-namespace");
    }
}

/// Drops from shipped objects what OLM drops from typed ones.
fn drop_unknown_fields(object: &mut Json, used: &mut BTreeSet<&'static str>) {
    let unknown = check_object(object.clone()).unknown_fields;
    let Value::Map(root) = Value::from(&*object) else { return };
    let mut parsed = Object::new(*root, Origin::Added("a comparison"));
    for steps in &unknown {
        parsed.remove(steps).expect("what was found is there");
        used.insert("unknown-fields");
    }
    if !unknown.is_empty() {
        let release = Release { namespace: "", values: &Json::Null };
        *object = release.object(&parsed).expect("an object without a condition");
    }
}

/// Removes what the controller of aggregated ClusterRoles sets.
fn drop_aggregated_rules(object: &mut Json, used: &mut BTreeSet<&'static str>) {
    let role = object.as_object_mut().expect("an object");
    let aggregated = role.get("aggregationRule").is_some_and(|rule| !rule.is_null());
    if role["kind"] == "ClusterRole" && aggregated && role.remove("rules").is_some() {
        used.insert("aggregated-rules");
    }
}

/// Moves the Services that containers name by their DNS names to the operator's namespace.
fn own_services(objects: &mut [Json], namespace: &str, used: &mut BTreeSet<&'static str>) {
    let services: Vec<String> = objects
        .iter()
        .filter(|object| {
            object["kind"] == "Service" && object["metadata"]["namespace"] == namespace
        })
        .filter_map(|object| object["metadata"]["name"].as_str().map(str::to_owned))
        .collect();
    for service in services {
        let pattern = format!(r"\b{}\.[a-z0-9-]+\.svc\b", regex::escape(&service));
        let pattern = regex::Regex::new(&pattern).expect("a pattern");
        for object in objects.iter_mut().filter(|object| object["kind"] == "Deployment") {
            let text = object["spec"]["template"]["spec"].to_string();
            let moved = pattern.replace_all(&text, format!("{service}.{namespace}.svc"));
            if moved != text {
                object["spec"]["template"]["spec"] = serde_json::from_str(&moved).expect("JSON");
                used.insert("own-names");
            }
        }
    }
}

/// Leaves out what serves owned APIServices, and nothing else: OLM v1 has none of it.
fn leave_out_api_services(
    actual: &mut Vec<Json>,
    expected: &[Json],
    used: &mut BTreeSet<&'static str>,
) {
    let text = |object: &Json, pointer: &str| {
        object.pointer(pointer).and_then(Json::as_str).unwrap_or_default().to_owned()
    };
    let services: BTreeSet<String> = actual
        .iter()
        .filter(|object| object["kind"] == "APIService")
        .map(|object| text(object, "/spec/service/name"))
        .collect();
    let shipped: BTreeSet<String> = expected.iter().map(label).collect();
    for service in services {
        used.insert("api-services");
        let webhooks = shipped.iter().any(|label| label.ends_with(&format!("/{service}")));
        actual.retain(|object| {
            let name = text(object, "/metadata/name");
            let made = match object["kind"].as_str().unwrap_or_default() {
                "APIService" => text(object, "/spec/service/name") == service,
                "ClusterRoleBinding" => name.ends_with(":auth-delegator"),
                "RoleBinding" if object["metadata"]["namespace"] == "kube-system" => true,
                "Service" => name == service,
                "Certificate" | "Issuer" | "Role" | "RoleBinding" => name.starts_with(&service),
                _ => false,
            };
            !made || shipped.contains(&label(object))
        });
        let deployment = service.strip_suffix("-service").expect("the name of a Service");
        let own =
            |object: &&mut Json| text(object, "/metadata/name").replace('.', "-") == deployment;
        let deployments = actual.iter_mut().filter(|object| object["kind"] == "Deployment");
        for object in deployments.filter(own).filter(|_| !webhooks) {
            let pod = &mut object["spec"]["template"]["spec"];
            drop_certificates(&mut pod["volumes"]);
            for container in pod["containers"].as_array_mut().into_iter().flatten() {
                drop_certificates(&mut container["volumeMounts"]);
            }
        }
    }
}

fn drop_certificates(list: &mut Json) {
    let ours = |item: &Json| item["name"] == "webhook-cert" || item["name"] == "apiservice-cert";
    if let Some(items) = list.as_array_mut() {
        items.retain(|item| !ours(item));
    }
}

/// Drops the variable that OLM v0 sets from containers in which v1 does not have it.
fn operator_condition(actual: &mut [Json], expected: &[Json], used: &mut BTreeSet<&'static str>) {
    const NAME: &str = "OPERATOR_CONDITION_NAME";
    if expected.iter().any(|object| object.to_string().contains(NAME)) {
        return;
    }
    for object in actual.iter_mut().filter(|object| object["kind"] == "Deployment") {
        let containers = object.pointer_mut("/spec/template/spec/containers");
        for container in containers.and_then(Json::as_array_mut).into_iter().flatten() {
            let Some(env) = container.get_mut("env").and_then(Json::as_array_mut) else { continue };
            let before = env.len();
            env.retain(|variable| variable["name"] != NAME);
            if env.len() < before {
                used.insert("operator-condition");
            }
        }
    }
}
