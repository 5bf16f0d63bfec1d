//! Mutations of one operator, each with the class that the behavior of Kubernetes, Helm or OLM
//! justifies, and the reason.
//!
//! The operator ([`operator`]) has the shape of real bundles: a Deployment with webhooks, probes,
//! leader election and a watched scope, its RBAC, and a CRD with two versions. A row changes it with
//! patches; `before` prepares the old side, `after` is the mutation.

mod apis;
mod clusters;
mod operators;

use super::*;

/// A mutation, and how it must be judged.
pub(super) struct Mutation {
    what: &'static str,
    before: Vec<Patch>,
    after: Vec<Patch>,
    class: Class,
    /// Code of the finding with this class; empty if the mutation is no difference.
    code: &'static str,
    why: &'static str,
}

/// A change of a side.
pub(super) enum Patch {
    /// Sets the value at `KIND/POINTER`.
    Set(String, Json),
    /// Removes the value at `KIND/POINTER`.
    Unset(String),
    /// Adds an object.
    Add(Json),
    /// Removes the object of a kind.
    Delete(&'static str),
    /// Changes facts of the chart or bundle.
    Facts(fn(&mut Side)),
}

fn set(at: &str, value: Json) -> Patch {
    Patch::Set(at.to_owned(), value)
}

fn unset(at: &str) -> Patch {
    Patch::Unset(at.to_owned())
}

fn breaking(
    what: &'static str,
    after: Vec<Patch>,
    code: &'static str,
    why: &'static str,
) -> Mutation {
    Mutation { what, before: Vec::new(), after, class: Class::Breaking, code, why }
}

fn risky(what: &'static str, after: Vec<Patch>, code: &'static str, why: &'static str) -> Mutation {
    Mutation { what, before: Vec::new(), after, class: Class::Risky, code, why }
}

fn info(what: &'static str, after: Vec<Patch>, code: &'static str, why: &'static str) -> Mutation {
    Mutation { what, before: Vec::new(), after, class: Class::Info, code, why }
}

impl Mutation {
    /// Prepares the old side.
    fn from(self, before: Vec<Patch>) -> Self {
        Mutation { before, ..self }
    }
}

/// Abbreviations at the start of paths.
const PLACES: [(&str, &str); 4] = [
    ("container/", "Deployment/spec/template/spec/containers/0/"),
    ("pod/", "Deployment/spec/template/spec/"),
    (
        "field/",
        "CustomResourceDefinition/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/",
    ),
    ("webhook/", "ValidatingWebhookConfiguration/webhooks/0/"),
];

/// Returns the kind and the JSON pointer of a path.
fn place(at: &str) -> (String, String) {
    let long =
        PLACES.iter().find_map(|(short, long)| Some(format!("{long}{}", at.strip_prefix(short)?)));
    let long = long.unwrap_or_else(|| at.to_owned());
    match long.split_once('/') {
        Some((kind, pointer)) => (kind.to_owned(), format!("/{pointer}")),
        None => (long, String::new()),
    }
}

fn apply(side: &mut Side, objects: &mut Vec<Json>, patches: Vec<Patch>) {
    for patch in patches {
        match patch {
            Patch::Set(at, value) => {
                let (kind, pointer) = place(&at);
                let object = of_kind(objects, &kind);
                let (parent, key) = pointer.rsplit_once('/').expect("a pointer");
                let key = key.replace("~1", "/");
                match object.pointer_mut(parent).unwrap_or_else(|| panic!("{at}: no parent")) {
                    Json::Array(items) => {
                        let index: usize = key.parse().expect("an index");
                        if index == items.len() { items.push(value) } else { items[index] = value }
                    }
                    parent => parent[key] = value,
                }
            }
            Patch::Unset(at) => {
                let (kind, pointer) = place(&at);
                let (parent, key) = pointer.rsplit_once('/').expect("a pointer");
                let key = key.replace("~1", "/");
                let parent = of_kind(objects, &kind).pointer_mut(parent).expect("a parent");
                let gone = match parent {
                    Json::Array(items) => Some(items.remove(key.parse().expect("an index"))),
                    parent => parent.as_object_mut().expect("a map").shift_remove(&key),
                };
                assert!(gone.is_some(), "{at}: nothing to remove");
            }
            Patch::Add(object) => objects.push(object),
            Patch::Delete(kind) => {
                let count = objects.len();
                objects.retain(|object| object["kind"] != kind);
                assert_ne!(objects.len(), count, "no {kind}");
            }
            Patch::Facts(change) => change(side),
        }
    }
}

fn of_kind<'o>(objects: &'o mut [Json], kind: &str) -> &'o mut Json {
    let found = objects.iter_mut().find(|object| object["kind"] == kind);
    found.unwrap_or_else(|| panic!("no {kind}"))
}

/// Returns the side of an operator with these facts and objects.
fn operator_side(facts: Side, objects: Vec<Json>) -> Side {
    let Side { chart, bundle, package, operator_version, .. } = facts;
    Side { bundle, package, operator_version, ..Side::new("widgets", objects, "ns", chart) }
}

/// Returns the side of an operator after patches.
fn patched(patches: Vec<Patch>) -> Side {
    let mut facts = Side::default();
    let mut objects = operator();
    apply(&mut facts, &mut objects, patches);
    operator_side(facts, objects)
}

const IMAGE: &str = "registry.example.com/widgets/operator:v1.4.0";

/// The objects of the operator; one of each kind comes first.
fn operator() -> Vec<Json> {
    let widgets = rule(
        &["example.com"],
        &["widgets", "widgets/status"],
        &["get", "list", "watch", "update", "patch"],
    );
    let deployments =
        rule(&["apps"], &["deployments"], &["get", "list", "watch", "create", "update", "delete"]);
    let leases = rule(&["coordination.k8s.io"], &["leases"], &["get", "create", "update"]);
    let schema = json!({"type": "object", "properties": {
        "spec": {"type": "object", "required": ["size"], "properties": {
            "size": {"type": "integer", "minimum": 1, "maximum": 100},
            "mode": {"type": "string", "enum": ["fast", "safe"]},
            "title": {"type": "string"},
            "level": {"type": "string", "default": "info"},
            "secretRef": {"type": "object", "properties": {
                "name": {"type": "string"}, "key": {"type": "string"}, "namespace": {"type": "string"}}},
            "tags": {"type": "array", "items": {"type": "string"}},
            "parts": {"type": "array", "items": {"type": "object", "properties": {
                "name": {"type": "string"}, "port": {"type": "integer"}}}},
            "config": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
            "note": {"type": "string", "nullable": true},
            "port": {"x-kubernetes-int-or-string": true,
                "anyOf": [{"type": "integer"}, {"type": "string"}]}}},
        "status": {"type": "object", "properties": {"phase": {"type": "string"}}}}});
    let beta = json!({"name": "v1beta1", "served": true, "storage": false,
        "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}});
    let account = |name: &str| json!([{"kind": "ServiceAccount", "name": name, "namespace": "ns"}]);
    let role_ref =
        |kind: &str, name: &str| json!({"apiGroup": RBAC_GROUP, "kind": kind, "name": name});
    let manager = json!({
        "name": "manager", "image": IMAGE,
        "args": ["--leader-elect", "--metrics-bind-address=:8443"],
        "env": [
            {"name": "WATCH_NAMESPACE",
                "valueFrom": {"fieldRef": {"fieldPath": "metadata.annotations['olm.targetNamespaces']"}}},
            {"name": "RELATED_IMAGE_WIDGET", "value": "registry.example.com/widgets/widget:2.0.0"},
            {"name": "CACHE", "value": "on"}],
        "ports": [{"name": "webhook", "containerPort": 9443}, {"name": "health", "containerPort": 8081}],
        "livenessProbe": {"httpGet": {"path": "/healthz", "port": "health"}, "initialDelaySeconds": 15},
        "readinessProbe": {"httpGet": {"path": "/readyz", "port": 8081}},
        "resources": {"limits": {"cpu": "500m", "memory": "512Mi"},
            "requests": {"cpu": "100m", "memory": "128Mi"}},
        "securityContext": {"allowPrivilegeEscalation": false, "runAsNonRoot": true,
            "readOnlyRootFilesystem": true, "capabilities": {"drop": ["ALL"]},
            "seccompProfile": {"type": "RuntimeDefault"}},
        "volumeMounts": [{"name": "config", "mountPath": "/config"}]});

    vec![
        object("v1", "ServiceAccount", "widget-operator", json!({})),
        object(
            "apps/v1",
            "Deployment",
            "widget-operator",
            json!({"spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": "widget-operator"}},
            "template": {
                "metadata": {"labels": {"app": "widget-operator"},
                    "annotations": {"olm.targetNamespaces": ""}},
                "spec": {"serviceAccountName": "widget-operator", "containers": [manager],
                    "nodeSelector": {"kubernetes.io/os": "linux"},
                    "tolerations": [{"key": "infra", "operator": "Exists"}],
                    "volumes": [
                        {"name": "config", "configMap": {"name": "widget-config"}},
                        {"name": "cert", "secret": {"secretName": "widget-cert"}}]}}}}),
        ),
        object("v1", "ConfigMap", "widget-config", json!({"data": {"config.yaml": "cache: on"}})),
        object(
            "v1",
            "Secret",
            "widget-cert",
            json!({"data": {"tls.crt": "YQ==", "tls.key": "YQ=="}}),
        ),
        role("ClusterRole", "widget-operator", &[widgets, deployments]),
        object(
            RBAC,
            "ClusterRoleBinding",
            "widget-operator",
            json!({
            "roleRef": role_ref("ClusterRole", "widget-operator"), "subjects": account("widget-operator")}),
        ),
        role("Role", "widget-leader", &[leases]),
        object(
            RBAC,
            "RoleBinding",
            "widget-leader",
            json!({
            "roleRef": role_ref("Role", "widget-leader"), "subjects": account("widget-operator")}),
        ),
        object(
            "v1",
            "Service",
            "widget-webhook",
            json!({"spec": {
            "selector": {"app": "widget-operator"},
            "ports": [{"name": "https", "port": 443, "targetPort": "webhook"}]}}),
        ),
        object(
            "admissionregistration.k8s.io/v1",
            "ValidatingWebhookConfiguration",
            "widgets",
            json!({"webhooks": [{"name": "widgets.example.com", "sideEffects": "None",
                "admissionReviewVersions": ["v1"],
                "failurePolicy": "Ignore", "timeoutSeconds": 5,
                "namespaceSelector": {"matchLabels": {"widgets": "on"}},
                "clientConfig": {"service": {"name": "widget-webhook", "namespace": "ns", "path": "/validate"}},
                "rules": [{"apiGroups": ["example.com"], "apiVersions": ["v1"],
                    "resources": ["widgets"], "operations": ["CREATE"]}]}]}),
        ),
        object(
            "policy/v1",
            "PodDisruptionBudget",
            "widget-operator",
            json!({"spec": {
            "minAvailable": 1, "selector": {"matchLabels": {"app": "widget-operator"}}}}),
        ),
        object(
            "apiextensions.k8s.io/v1",
            "CustomResourceDefinition",
            "widgets.example.com",
            json!({
            "spec": {"group": "example.com", "scope": "Namespaced",
                "names": {"kind": "Widget", "plural": "widgets", "shortNames": ["wd"]},
                "versions": [{"name": "v1", "served": true, "storage": true,
                    "subresources": {"status": {}}, "schema": {"openAPIV3Schema": schema}}, beta]}}),
        ),
        // Below, second objects of their kind, which patches do not reach.
        role(
            "ClusterRole",
            "widget-editor",
            &[rule(&["example.com"], &["widgets"], &["get", "create"])],
        ),
    ]
}

/// The mutations by subject.
fn subjects() -> impl Iterator<Item = (&'static str, Vec<Mutation>)> {
    operators::mutations().into_iter().chain(apis::mutations()).chain(clusters::mutations())
}

fn mutations() -> Vec<Mutation> {
    subjects().flat_map(|(_, mutations)| mutations).collect()
}

/// Codes that the mutations expect, for the test that every rule is tested.
pub(super) fn codes() -> BTreeSet<&'static str> {
    mutations().iter().map(|mutation| mutation.code).filter(|code| !code.is_empty()).collect()
}

/// Returns what all mutations are, with their sides.
pub(super) fn all() -> Vec<(&'static str, [Side; 2])> {
    let pair = |Mutation { what, before, after, .. }| (what, sides(before, after));
    mutations().into_iter().map(pair).collect()
}

/// Returns the sides of a mutation.
fn sides(before: Vec<Patch>, after: Vec<Patch>) -> [Side; 2] {
    let mut facts = Side::default();
    let mut objects = operator();
    apply(&mut facts, &mut objects, before);
    let old = operator_side(facts.clone(), objects.clone());
    apply(&mut facts, &mut objects, after);
    [old, operator_side(facts, objects)]
}

#[test]
fn findings_of_all_mutations() {
    assert_findings("mutations", subjects(), |Mutation { what, before, after, .. }| {
        both_directions(what, sides(before, after))
    });
}

#[test]
fn mutations_are_judged_as_kubernetes_justifies() {
    let mut wrong = Vec::new();
    let mutations = mutations();
    assert!(mutations.len() >= 100, "{} mutations", mutations.len());
    let mut names = BTreeSet::new();
    for Mutation { what, before, after, class, code, why } in mutations {
        assert!(names.insert(what), "{what} twice");
        assert!(why.len() > 10 && !why.ends_with('.'), "{what}: {why}");
        let [old, new] = sides(before, after);
        let set = compare(old, new, &Options::default());

        let findings: Vec<&crate::Finding> =
            set.changes().flat_map(|(_, change)| &change.findings).collect();
        let worst = findings.iter().map(|finding| finding.rule.class).min();
        let hit = findings.iter().any(|f| f.rule.code == code && f.rule.class == class);
        let right = match code {
            "" => findings.is_empty(),
            _ => worst == Some(class) && hit,
        };
        if !right {
            let found: Vec<String> = findings
                .iter()
                .map(|f| format!("{} {}: {}", f.rule.class.as_str(), f.rule.code, f.reason))
                .collect();
            wrong.push(format!("{what}: expected {} {code}, found {found:#?}", class.as_str()));
        }
    }
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn the_operator_has_no_faults_of_its_own() {
    let empty = Side::new("nothing", [], "ns", None);
    let set = compare(empty, patched(Vec::new()), &Options::default());
    let breaking = set.changes().flat_map(|(_, change)| &change.findings);
    let breaking: Vec<&str> = breaking
        .filter(|finding| finding.rule.class == Class::Breaking)
        .map(|finding| finding.reason.as_str())
        .collect();
    assert_eq!(breaking, [""; 0]);
}
