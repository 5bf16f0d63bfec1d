//! How our objects differ from OLM's on purpose, as data and as the comparison that allows it and
//! nothing else.

use serde_json::{Map, Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};

/// A named difference to OLM's renderer.
pub(crate) struct Deviation {
    /// Short name.
    pub(crate) name: &'static str,
    /// What differs.
    pub(crate) what: &'static str,
    /// Why.
    pub(crate) why: &'static str,
}

/// All of them; docs/deviations.md is generated from this list.
pub(crate) const DEVIATIONS: [Deviation; 19] = [
    Deviation {
        name: "stable-rbac-names",
        what: "Roles and bindings of the install strategy are named after their ServiceAccount (`ACCOUNT-role`, `ACCOUNT-clusterrole`, the chart's name before it where the account does not hold it) instead of after a hash of their content.",
        why: "An upgrade shows a changed rule, not a new role beside a deleted one. OLM v1's names change with every rule, and with the install mode.",
    },
    Deviation {
        name: "own-namespace-role",
        what: "When the operator watches other namespaces, it has its Roles in its own namespace too.",
        why: "Leader election leases live there. OLM v0 keeps that Role; v1's renderer forgets it, and the operator stops at its start.",
    },
    Deviation {
        name: "shipped-subjects",
        what: "ServiceAccounts in the subjects of shipped bindings get the release namespace.",
        why: "Bundles ship placeholders such as `system` there. OLM v1 leaves them, so that the binding grants nothing.",
    },
    Deviation {
        name: "cluster-scope",
        what: "Cluster-scoped objects, webhook configurations too, have no `metadata.namespace`; a VerticalPodAutoscaler is namespaced.",
        why: "The API server refuses or ignores the field, and OLM's table has the wrong scope for VerticalPodAutoscaler.",
    },
    Deviation {
        name: "shipped-service-accounts",
        what: "A ServiceAccount that the bundle ships is not generated a second time.",
        why: "OLM v1 renders it twice, and which one wins depends on the order.",
    },
    Deviation {
        name: "no-server-fields",
        what: "`metadata.creationTimestamp: null` and a `status` without content are dropped; `strategy: {}`, `resources: {}` and the like are not invented, but `replicas: 1` is, since it is a value of the chart; quantities stay as they are written; `value: \"\"` of an environment variable stays.",
        why: "OLM's typed round trip adds and drops these. They mean the same to the API server.",
    },
    Deviation {
        name: "webhook-port",
        what: "A webhook without `containerPort` is called on port 443.",
        why: "That is the default in the schema of a CSV and what OLM v0 does. OLM v1 writes port 0, which the API server refuses.",
    },
    Deviation {
        name: "init-container-certificates",
        what: "Init containers that mount a certificate get the new volume in its place.",
        why: "OLM removes the volume and leaves the mount, and the API server refuses the Deployment.",
    },
    Deviation {
        name: "common-name",
        what: "The common name of a certificate is cut to 64 bytes.",
        why: "X.509 has no longer ones, and cert-manager refuses them. Clients look at the DNS names, which are whole.",
    },
    Deviation {
        name: "service-name",
        what: "Where a Deployment's name leaves room for a Service name of 64 bytes, it has 63, and the Secret is named accordingly.",
        why: "The limit is 63; OLM cuts one byte too late, and the API server refuses its Service.",
    },
    Deviation {
        name: "kept-crds",
        what: "CRDs that are templates of a chart, because a webhook in the release namespace converts them, have the annotation `helm.sh/resource-policy: keep`.",
        why: "OLM keeps CRDs when an operator goes. Helm would delete them, and every custom resource with them.",
    },
    Deviation {
        name: "stale-injection",
        what: "A CRD that a conversion webhook of the CSV converts loses the annotation `cert-manager.io/inject-ca-from` when another provider than cert-manager makes the certificate.",
        why: "It names a Certificate of the bundle's sources, which no chart holds; where cert-manager runs, the two would fight over the CA.",
    },
    // What follows does not occur in the goldens; tests/awkward_truths.rs and tests/lints.rs have it.
    Deviation {
        name: "kube-system",
        what: "Roles and RoleBindings that a bundle ships for `kube-system` stay there.",
        why: "They let the operator read what is there, such as the API server's authentication settings. OLM moves them to the operator's namespace, where they grant nothing.",
    },
    Deviation {
        name: "own-names",
        what: "The group of all ServiceAccounts of the operator's namespace in shipped bindings, `SERVICE.NAMESPACE.svc` in commands, arguments and variables, and the namespace of a Service of the chart by which a shipped CRD is converted, follow the release namespace.",
        why: "Bundles write a namespace there that they expect; a chart goes where its user says. What is not rewritten is reported.",
    },
    Deviation {
        name: "operator-condition",
        what: "`OPERATOR_CONDITION_NAME` is set in the containers of an operator whose rules name `operatorconditions`, and a warning says that there is no such object.",
        why: "OLM v0 sets it in every container and makes the object, v1 does neither.",
    },
    Deviation {
        name: "default-watch",
        what: "An operator that does not support AllNamespaces watches its own namespace unless told otherwise; several namespaces can be watched.",
        why: "OLM v1 renders neither without being told; v0 has both.",
    },
    Deviation {
        name: "api-services",
        what: "Owned APIServices come with a Service and certificate, with bindings to `system:auth-delegator` and `extension-apiserver-authentication-reader`, and with a Role for their Secret. Deployments that serve webhooks only have none of these bindings.",
        why: "OLM v1 refuses owned APIServices. v0 makes the bindings for whatever serves, but a webhook does not ask who calls it; `auth-reader` is there for the operator that reads the settings.",
    },
    Deviation {
        name: "no-operator-group",
        what: "Pods have no annotation `olm.operatorGroup`.",
        why: "Only OLM v0 has OperatorGroups.",
    },
    Deviation {
        name: "refused",
        what: "Several ClusterServiceVersions, CRDs of v1beta1, a port of a Service with two targets, two objects of one name, names and types of fields that the API server does not take: such a bundle is refused. What the API server refuses for other reasons is carried through, with a warning.",
        why: "OLM v1 takes the last ClusterServiceVersion in silence, writes CRDs without versions, and finds out about the rest when it installs.",
    },
];

/// The outcome of comparing one case.
pub(crate) struct Comparison {
    /// How many objects were compared.
    pub(crate) objects: usize,
    /// What differs and should not.
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
        let accounts: BTreeSet<String> = expected
            .iter()
            .filter(|object| object["kind"] == "ServiceAccount")
            .map(|object| object["metadata"]["name"].to_string())
            .collect();
        for object in &mut expected {
            certificates(object, &mut used);
            misplaced(object, &accounts, namespace, &mut used);
        }
        for object in &mut actual {
            kept(object, &mut used);
        }

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
                differ(&label, "", theirs, ours, &mut differences);
            }
        }
        Comparison { objects, differences, used }
    }
}

fn label(object: &Json) -> String {
    let text = |pointer| object.pointer(pointer).and_then(Json::as_str).unwrap_or_default();
    format!("{} {}/{}", text("/kind"), text("/metadata/namespace"), text("/metadata/name"))
}

/// What means the same to the API server is made the same.
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
    // A rule without verbs, which the API server refuses in either spelling.
    for rule in object.get_mut("rules").and_then(Json::as_array_mut).into_iter().flatten() {
        if rule.get("verbs") == Some(&Json::Null) {
            rule.as_object_mut().expect("a rule").remove("verbs");
        }
    }
    if before != object {
        used.insert("no-server-fields");
    }
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

/// What OLM leaves in, or sends to, a namespace that the operator is not in.
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

/// A CRD that Helm keeps.
fn kept(object: &mut Json, used: &mut BTreeSet<&'static str>) {
    if object["kind"] != "CustomResourceDefinition" || !object["spec"]["conversion"].is_object() {
        return;
    }
    let Some(metadata) = object["metadata"].as_object_mut() else { return };
    let Some(annotations) = metadata.get_mut("annotations").and_then(Json::as_object_mut) else {
        return;
    };
    if annotations.remove("helm.sh/resource-policy") == Some(json!("keep")) {
        used.insert("kept-crds");
    }
    if annotations.is_empty() {
        metadata.remove("annotations");
    }
}

/// What OLM gets wrong around certificates, put right.
fn certificates(object: &mut Json, used: &mut BTreeSet<&'static str>) {
    let webhooks = object.get_mut("webhooks").and_then(Json::as_array_mut);
    for webhook in webhooks.into_iter().flatten() {
        let port = webhook.pointer_mut("/clientConfig/service/port");
        if let Some(port) = port.filter(|port| **port == json!(0)) {
            *port = json!(443);
            used.insert("webhook-port");
        }
    }
    let name = object.pointer_mut("/spec/commonName").filter(|name| name.is_string());
    if let Some(name) = name.filter(|name| name.as_str().is_some_and(|name| name.len() > 64)) {
        *name = json!(name.as_str().expect("a string")[..64]);
        used.insert("common-name");
    }
    let Some(pod) = object.pointer_mut("/spec/template/spec").and_then(Json::as_object_mut) else {
        return;
    };
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
    for group in ["requests", "limits"] {
        let quantities = container.get_mut("resources").and_then(|r| r.get_mut(group));
        for quantity in
            quantities.and_then(Json::as_object_mut).into_iter().flat_map(|m| m.values_mut())
        {
            *quantity = json!(amount(quantity));
        }
    }
    for variable in container.get_mut("env").and_then(Json::as_array_mut).into_iter().flatten() {
        if variable.get("value") == Some(&json!("")) {
            variable.as_object_mut().expect("a variable").remove("value");
        }
    }
}

/// A quantity as a number of base units.
fn amount(quantity: &Json) -> f64 {
    let text = quantity.as_str().map_or_else(|| quantity.to_string(), str::to_owned);
    let split = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, suffix) = text.split_at(split);
    let factor = match suffix {
        "" => 1.0,
        "m" => 1e-3,
        "k" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        "Ki" => 1024.0,
        "Mi" => 1024.0 * 1024.0,
        "Gi" => 1024.0 * 1024.0 * 1024.0,
        other => panic!("unknown suffix {other} in {text}"),
    };
    number.parse::<f64>().unwrap_or_else(|e| panic!("{text}: {e}")) * factor
}

fn hollow(value: &Json) -> bool {
    match value {
        Json::Null => true,
        Json::String(text) => text.is_empty(),
        Json::Array(items) => items.iter().all(hollow),
        Json::Object(map) => map.values().all(hollow),
        _ => false,
    }
}

/// Gives the roles that come from the install strategy names that depend on nothing but their
/// content, on both sides.
fn rename_roles(objects: &mut [Json], used: &mut BTreeSet<&'static str>) {
    let generated = |name: &str| {
        let last = name.rsplit('-').next().unwrap_or_default();
        let hashed =
            last.len() > 38 && last.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
        let suffixes = ["-role", "-clusterrole", "-rolebinding", "-clusterrolebinding"];
        let stem = name.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches('-');
        hashed
            || (name.starts_with("operator") && suffixes.iter().any(|s| stem.ends_with(s)))
            || suffixes.iter().any(|s| stem.ends_with(s)) && name.contains("operator")
    };
    let mut names: BTreeMap<String, String> = BTreeMap::new();
    let mut count: BTreeMap<String, usize> = BTreeMap::new();
    // The subject tells roles of equal rules apart.
    let subjects: BTreeMap<String, String> = objects
        .iter()
        .filter(|o| o["kind"].as_str().is_some_and(|k| k.ends_with("RoleBinding")))
        .map(|o| {
            (
                role_key(&o["roleRef"]["kind"], o, &o["roleRef"]["name"]),
                o["subjects"][0]["name"].to_string(),
            )
        })
        .collect();
    for object in objects.iter_mut() {
        let kind = object["kind"].clone();
        if kind != "Role" && kind != "ClusterRole" {
            continue;
        }
        let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        if !generated(&name) {
            continue;
        }
        let key = role_key(&kind, object, &object["metadata"]["name"]);
        let Some(subject) = subjects.get(&key) else { continue };
        used.insert("stable-rbac-names");
        let content = format!("{}{}", subject, sorted(&object["rules"]));
        let scope = format!("{kind}{}{content}", object["metadata"]["namespace"]);
        let number = count.entry(scope).or_default();
        *number += 1;
        let canonical = format!("generated-{content}-{number}");
        names.insert(key, canonical.clone());
        object["metadata"]["name"] = json!(canonical);
    }
    for object in objects.iter_mut() {
        if object["kind"].as_str().is_some_and(|k| k.ends_with("RoleBinding")) {
            let key = role_key(&object["roleRef"]["kind"], object, &object["roleRef"]["name"]);
            if let Some(name) = names.get(&key) {
                object["roleRef"]["name"] = json!(name);
                object["metadata"]["name"] = json!(name);
            }
        }
    }
}

/// With the keys of every map in one order.
fn sorted(value: &Json) -> Json {
    match value {
        Json::Array(items) => items.iter().map(sorted).collect(),
        Json::Object(map) => map
            .iter()
            .map(|(k, v)| (k.clone(), sorted(v)))
            .collect::<BTreeMap<_, _>>()
            .into_iter()
            .collect(),
        other => other.clone(),
    }
}

fn role_key(kind: &Json, object: &Json, name: &Json) -> String {
    let namespace =
        if kind == "ClusterRole" { &Json::Null } else { &object["metadata"]["namespace"] };
    format!("{kind} {namespace} {name}")
}

/// Every difference, by JSON path; numbers by value.
fn differ(label: &str, path: &str, theirs: &Json, ours: &Json, differences: &mut Vec<String>) {
    match (theirs, ours) {
        (Json::Object(theirs), Json::Object(ours)) => {
            let keys: BTreeSet<&String> = theirs.keys().chain(ours.keys()).collect();
            for key in keys {
                let path = format!("{path}.{key}");
                match (theirs.get(key), ours.get(key)) {
                    (Some(theirs), Some(ours)) => differ(label, &path, theirs, ours, differences),
                    (theirs, ours) => {
                        differences.push(format!("  {label}: {path}: OLM {theirs:?}, we {ours:?}"))
                    }
                }
            }
        }
        (Json::Array(theirs), Json::Array(ours)) if theirs.len() == ours.len() => {
            for (index, (theirs, ours)) in theirs.iter().zip(ours).enumerate() {
                differ(label, &format!("{path}[{index}]"), theirs, ours, differences);
            }
        }
        (Json::Number(a), Json::Number(b)) if a.as_f64() == b.as_f64() => {}
        _ if theirs == ours => {}
        _ => differences.push(format!("  {label}: {path}: OLM {theirs}, we {ours}")),
    }
}
