//! For every rule a pair of sides that it is about, and a near miss that it is not about.

#![allow(clippy::expect_used, clippy::panic, reason = "a test")]

use super::{ChangeSet, ChartFacts, Options, Placement, Side, compare, rules};
use serde_json::{Value as Json, json};
use std::collections::BTreeSet;

/// Objects of a side, or the facts of a chart.
#[derive(Clone)]
enum Of {
    Objects(Vec<Json>),
    Chart(ChartFacts),
}

fn side(of: Of) -> Side {
    match of {
        Of::Objects(objects) => Side::new("x", objects, "ns", None),
        Of::Chart(facts) => Side::new("x", [], "ns", Some(facts)),
    }
}

fn diff(old: Of, new: Of) -> ChangeSet {
    compare(side(old), side(new), &Options::default())
}

fn found(set: &ChangeSet) -> BTreeSet<&'static str> {
    set.changes().flat_map(|(_, change)| &change.findings).map(|f| f.rule.code).collect()
}

fn one(object: Json) -> Of {
    Of::Objects(vec![object])
}

fn none() -> Of {
    Of::Objects(Vec::new())
}

fn object(api: &str, kind: &str, name: &str, rest: Json) -> Json {
    let mut object = json!({"apiVersion": api, "kind": kind, "metadata": {"name": name}});
    let (Json::Object(object_map), Json::Object(rest)) = (&mut object, rest) else {
        panic!("maps")
    };
    object_map.extend(rest);
    object
}

/// A CRD with this `spec` over a usual one.
fn crd(spec: Json) -> Json {
    let mut usual = json!({"group": "g", "scope": "Namespaced",
        "names": {"kind": "K", "plural": "ks"},
        "versions": [version("v1", json!({"type": "object"}))]});
    let (Json::Object(usual_map), Json::Object(spec)) = (&mut usual, spec) else { panic!("maps") };
    usual_map.extend(spec);
    object("apiextensions.k8s.io/v1", "CustomResourceDefinition", "ks.g", json!({"spec": usual}))
}

fn version(name: &str, schema: Json) -> Json {
    json!({"name": name, "served": true, "storage": name == "v1",
        "schema": {"openAPIV3Schema": schema}})
}

fn versions(list: &[Json]) -> Of {
    one(crd(json!({"versions": list})))
}

/// A CRD with this schema for its spec.
fn schema(spec: Json) -> Of {
    versions(&[version("v1", json!({"type": "object", "properties": {"spec": spec}}))])
}

/// The same with the field `a`.
fn field(a: Json) -> Of {
    schema(json!({"type": "object", "properties": {"a": a}}))
}

fn text(rest: Json) -> Of {
    let mut a = json!({"type": "string"});
    let (Json::Object(map), Json::Object(rest)) = (&mut a, rest) else { panic!("maps") };
    map.extend(rest);
    field(a)
}

fn status(status: Json) -> Of {
    versions(&[version("v1", json!({"type": "object", "properties": {"status": status}}))])
}

fn rule(groups: &[&str], resources: &[&str], verbs: &[&str]) -> Json {
    json!({"apiGroups": groups, "resources": resources, "verbs": verbs})
}

const RBAC: &str = "rbac.authorization.k8s.io/v1";

fn role(kind: &str, name: &str, rules: &[Json]) -> Json {
    object(RBAC, kind, name, json!({"rules": rules}))
}

fn binding(kind: &str, name: &str, role: &str, subjects: &[&str]) -> Json {
    let role_kind = if kind == "RoleBinding" { "Role" } else { "ClusterRole" };
    let subjects: Vec<Json> = subjects
        .iter()
        .map(|name| json!({"kind": "ServiceAccount", "name": name, "namespace": "ns"}))
        .collect();
    object(
        RBAC,
        kind,
        name,
        json!({"subjects": subjects, "roleRef": {
        "apiGroup": "rbac.authorization.k8s.io", "kind": role_kind, "name": role}}),
    )
}

/// A Role with these rules, bound to `sa`.
fn bound(rules: &[Json]) -> Of {
    Of::Objects(vec![role("Role", "r", rules), binding("RoleBinding", "b", "r", &["sa"])])
}

/// A ClusterRole with these rules, bound to `sa`.
fn everywhere(rules: &[Json]) -> Of {
    Of::Objects(vec![
        role("ClusterRole", "r", rules),
        binding("ClusterRoleBinding", "b", "r", &["sa"]),
    ])
}

/// A confined Deployment with this container over a usual one, and this pod spec.
fn pod(container: Json, spec: Json) -> Json {
    let mut usual = json!({"name": "c", "image": "r.io/a:1",
        "securityContext": {"allowPrivilegeEscalation": false, "runAsNonRoot": true,
            "readOnlyRootFilesystem": true, "capabilities": {"drop": ["ALL"]},
            "seccompProfile": {"type": "RuntimeDefault"}}});
    join(&mut usual, container);
    let mut pod = json!({"containers": [usual]});
    join(&mut pod, spec);
    object(
        "apps/v1",
        "Deployment",
        "d",
        json!({"spec": {"replicas": 2,
        "selector": {"matchLabels": {"app": "d"}},
        "template": {"metadata": {"labels": {"app": "d"}}, "spec": pod}}}),
    )
}

/// Map over map; null removes.
fn join(under: &mut Json, over: Json) {
    match (under, over) {
        (Json::Object(under), Json::Object(over)) => {
            for (key, value) in over {
                if value.is_null() {
                    under.shift_remove(&key);
                } else {
                    join(under.entry(key).or_insert(Json::Null), value);
                }
            }
        }
        (under, over) => *under = over,
    }
}

fn container(rest: Json) -> Of {
    one(pod(rest, json!({})))
}

fn pod_spec(rest: Json) -> Of {
    one(pod(json!({}), rest))
}

fn confined(context: Json) -> Of {
    container(json!({"securityContext": context}))
}

fn deployment(rest: Json) -> Of {
    let mut deployment = pod(json!({}), json!({}));
    join(&mut deployment, json!({"spec": rest}));
    one(deployment)
}

fn hook(rest: Json) -> Json {
    let mut usual = json!({"name": "w.g", "failurePolicy": "Ignore", "sideEffects": "None",
        "rules": [{"apiGroups": ["g"], "apiVersions": ["v1"], "resources": ["ks"],
            "operations": ["CREATE"]}],
        "clientConfig": {}});
    join(&mut usual, rest);
    usual
}

fn hooks(list: &[Json]) -> Of {
    one(object(
        "admissionregistration.k8s.io/v1",
        "ValidatingWebhookConfiguration",
        "w",
        json!({"webhooks": list}),
    ))
}

fn webhook(rest: Json) -> Of {
    hooks(&[hook(rest)])
}

fn service(rest: Json) -> Of {
    let mut service = object(
        "v1",
        "Service",
        "s",
        json!({"spec": {"selector": {"app": "d"},
        "ports": [{"name": "http", "port": 80, "targetPort": 8080}]}}),
    );
    join(&mut service, json!({"spec": rest}));
    one(service)
}

fn policy(spec: Json) -> Of {
    one(object("networking.k8s.io/v1", "NetworkPolicy", "n", json!({"spec": spec})))
}

fn values(values: Json) -> Of {
    Of::Chart(ChartFacts { values, ..ChartFacts::default() })
}

fn placed(at: Placement) -> Of {
    Of::Chart(ChartFacts { crds: [("ks.g".to_owned(), at)].into(), ..ChartFacts::default() })
}

fn kube(version: &str) -> Of {
    Of::Chart(ChartFacts { kube_version: version.to_owned(), ..ChartFacts::default() })
}

fn config_map(name: &str, data: Json) -> Json {
    object("v1", "ConfigMap", name, json!({"data": data}))
}

/// A rule, a pair that it is about, and a pair that looks like it and is not.
type Case = (&'static str, [Of; 2], [Of; 2]);

fn crds() -> Vec<Case> {
    let object_schema = || json!({"type": "object"});
    let v = |name| version(name, object_schema());
    let unserved = |name| {
        let mut version = v(name);
        version["served"] = json!(false);
        version
    };
    let stored = |name, storage: bool| {
        let mut version = v(name);
        version["storage"] = json!(storage);
        version
    };
    let with = |key: &str, value: Json| {
        let mut version = v("v1");
        version[key] = value;
        versions(&[version])
    };
    let other_group = object("apiextensions.k8s.io/v1", "Other", "ks.g", json!({}));
    vec![
        ("crd-removed", [one(crd(json!({}))), none()], [one(other_group), none()]),
        ("crd-added", [none(), one(crd(json!({})))], [one(crd(json!({}))), none()]),
        (
            "crd-scope-changed",
            [one(crd(json!({}))), one(crd(json!({"scope": "Cluster"})))],
            [one(crd(json!({}))), one(crd(json!({"scope": "Namespaced"})))],
        ),
        (
            "crd-names-changed",
            [one(crd(json!({}))), one(crd(json!({"names": {"kind": "L", "plural": "ks"}})))],
            [
                one(crd(json!({}))),
                one(crd(json!({"names": {"kind": "K", "plural": "ks", "shortNames": ["k"]}}))),
            ],
        ),
        (
            "crd-version-removed",
            [versions(&[v("v1"), v("v1a")]), versions(&[v("v1")])],
            [versions(&[v("v1"), unserved("v1a")]), versions(&[v("v1")])],
        ),
        (
            "crd-stored-version-removed",
            [versions(&[v("v1"), v("v2")]), versions(&[stored("v2", true)])],
            [versions(&[v("v1"), v("v2")]), versions(&[v("v1")])],
        ),
        (
            "crd-version-not-served",
            [versions(&[v("v1"), v("v2")]), versions(&[v("v1"), unserved("v2")])],
            [versions(&[v("v1"), unserved("v2")]), versions(&[v("v1"), v("v2")])],
        ),
        (
            "crd-storage-moved",
            [versions(&[v("v1"), v("v2")]), versions(&[stored("v1", false), stored("v2", true)])],
            [versions(&[v("v1")]), versions(&[v("v1"), v("v2")])],
        ),
        (
            "crd-version-added",
            [versions(&[v("v1")]), versions(&[v("v1"), v("v2")])],
            [versions(&[v("v1"), v("v2")]), versions(&[v("v2"), v("v1")])],
        ),
        (
            "crd-version-deprecated",
            [with("deprecated", json!(false)), with("deprecated", json!(true))],
            [with("deprecated", json!(true)), with("deprecated", json!(false))],
        ),
        (
            "crd-conversion-changed",
            [one(crd(json!({}))), one(crd(json!({"conversion": {"strategy": "Webhook"}})))],
            [
                one(crd(json!({"conversion": {"webhook": {"clientConfig": {"caBundle": "a"}}}}))),
                one(crd(json!({"conversion": {"webhook": {"clientConfig": {"caBundle": "b"}}}}))),
            ],
        ),
        (
            "crd-unknown-fields-pruned",
            [one(crd(json!({"preserveUnknownFields": true}))), one(crd(json!({})))],
            [one(crd(json!({"preserveUnknownFields": false}))), one(crd(json!({})))],
        ),
        (
            "crd-subresource-removed",
            [with("subresources", json!({"status": {}})), versions(&[v("v1")])],
            [
                with("subresources", json!({"scale": {"labelSelectorPath": ".a"}})),
                with("subresources", json!({"scale": {}})),
            ],
        ),
        (
            "crd-unserved-version-changed",
            [
                versions(&[v("v1"), unserved("v2")]),
                versions(&[v("v1"), {
                    let mut version = unserved("v2");
                    version["schema"]["openAPIV3Schema"]["type"] = json!("string");
                    version
                }]),
            ],
            [text(json!({})), text(json!({"pattern": "a"}))],
        ),
    ]
}

fn schemas() -> Vec<Case> {
    let named = |names: &[&str]| {
        let properties: serde_json::Map<String, Json> =
            names.iter().map(|name| ((*name).to_owned(), json!({"type": "string"}))).collect();
        json!({"type": "object", "properties": properties})
    };
    let requires = |required: &[&str], default: Option<&str>| {
        let mut a = json!({"type": "string"});
        if let Some(default) = default {
            a["default"] = json!(default);
        }
        schema(json!({"type": "object", "properties": {"a": a}, "required": required}))
    };
    let list = |rest: Json| {
        let mut list = json!({"type": "array", "items": {"type": "object"}});
        join(&mut list, rest);
        field(list)
    };
    vec![
        (
            "crd-property-removed",
            [schema(named(&["a", "b"])), schema(named(&["a"]))],
            [schema(named(&["a"])), schema(named(&["a", "b"]))],
        ),
        (
            "crd-property-added",
            [schema(named(&["a"])), schema(named(&["a", "b"]))],
            [schema(named(&["a", "b"])), schema(named(&["b", "a"]))],
        ),
        (
            "crd-type-changed",
            [text(json!({})), field(json!({"type": "integer"}))],
            [field(json!({"type": "integer"})), field(json!({"type": "number"}))],
        ),
        (
            "crd-type-changed",
            [field(json!({"x-kubernetes-int-or-string": true})), text(json!({}))],
            [
                field(json!({"type": "integer"})),
                field(json!({"x-kubernetes-int-or-string": true,
                    "anyOf": [{"type": "integer"}, {"type": "string"}]})),
            ],
        ),
        (
            "crd-enum-narrowed",
            [text(json!({"enum": ["a", "b"]})), text(json!({"enum": ["a"]}))],
            [text(json!({"enum": ["a"]})), text(json!({"enum": ["b", "a"]}))],
        ),
        (
            "crd-enum-narrowed",
            [text(json!({})), text(json!({"enum": ["a"]}))],
            [text(json!({"enum": ["a"]})), text(json!({}))],
        ),
        (
            "crd-range-narrowed",
            [text(json!({"maxLength": 9})), text(json!({"maxLength": 8}))],
            [text(json!({"maxLength": 8})), text(json!({"maxLength": 9}))],
        ),
        (
            "crd-range-narrowed",
            [field(json!({"type": "integer"})), field(json!({"type": "integer", "minimum": 0}))],
            [text(json!({})), text(json!({"minLength": 0}))],
        ),
        (
            "crd-range-narrowed",
            [
                field(json!({"type": "integer", "minimum": 1})),
                field(json!({"type": "integer", "minimum": 1, "exclusiveMinimum": true})),
            ],
            [text(json!({"minLength": 1})), text(json!({}))],
        ),
        (
            "crd-required-added",
            [requires(&[], None), requires(&["a"], None)],
            [requires(&[], Some("x")), requires(&["a"], Some("x"))],
        ),
        (
            "crd-required-added",
            [schema(json!({"type": "object"})), requires(&["a"], None)],
            [requires(&["a"], None), requires(&[], None)],
        ),
        (
            "crd-pattern-added",
            [text(json!({})), text(json!({"pattern": "a"}))],
            [text(json!({"pattern": "a"})), text(json!({}))],
        ),
        (
            "crd-pattern-changed",
            [text(json!({"pattern": "a"})), text(json!({"pattern": "b"}))],
            [text(json!({})), text(json!({"pattern": "b"}))],
        ),
        (
            "crd-format-changed",
            [text(json!({})), text(json!({"format": "date-time"}))],
            [
                field(json!({"type": "integer"})),
                field(json!({"type": "integer", "format": "int32"})),
            ],
        ),
        (
            "crd-default-changed",
            [text(json!({"default": "a"})), text(json!({"default": "b"}))],
            [text(json!({})), text(json!({"default": "a"}))],
        ),
        (
            "crd-default-added",
            [text(json!({})), text(json!({"default": "a"}))],
            [text(json!({"default": "a"})), text(json!({}))],
        ),
        (
            "crd-validation-added",
            [text(json!({})), text(json!({"x-kubernetes-validations": [{"rule": "self != ''"}]}))],
            [
                text(json!({"x-kubernetes-validations": [{"rule": "self != ''"}]})),
                text(json!({"x-kubernetes-validations": [{"rule": "self != ''", "message": "m"}]})),
            ],
        ),
        (
            "crd-validation-added",
            [
                text(json!({"x-kubernetes-validations": [{"rule": "a"}]})),
                text(json!({"x-kubernetes-validations": [{"rule": "a"}, {"rule": "b"}]})),
            ],
            [
                text(json!({"x-kubernetes-validations": [{"rule": "a"}, {"rule": "b"}]})),
                text(json!({"x-kubernetes-validations": [{"rule": "a"}]})),
            ],
        ),
        (
            "crd-null-refused",
            [text(json!({"nullable": true})), text(json!({}))],
            [text(json!({})), text(json!({"nullable": true}))],
        ),
        (
            "crd-free-fields-pruned",
            [
                field(json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})),
                field(json!({"type": "object"})),
            ],
            [
                field(json!({"type": "object"})),
                field(json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})),
            ],
        ),
        (
            "crd-list-keys-changed",
            [
                list(json!({"x-kubernetes-list-map-keys": ["a"]})),
                list(json!({"x-kubernetes-list-map-keys": ["a", "b"]})),
            ],
            [list(json!({})), list(json!({"x-kubernetes-list-type": "atomic"}))],
        ),
        (
            "crd-list-type-changed",
            [
                list(json!({"x-kubernetes-list-type": "atomic"})),
                list(json!({"x-kubernetes-list-type": "map"})),
            ],
            [list(json!({})), list(json!({"minItems": 1}))],
        ),
        (
            "crd-schema-changed",
            [text(json!({})), text(json!({"not": {"enum": ["a"]}}))],
            [text(json!({})), text(json!({"description": "a"}))],
        ),
        (
            "crd-status-field-changed",
            [status(named(&["a"])), status(named(&[]))],
            [schema(named(&["a"])), schema(named(&[]))],
        ),
        (
            "crd-status-checked",
            [status(json!({"type": "string"})), status(json!({"type": "string", "enum": ["a"]}))],
            [text(json!({})), text(json!({"enum": ["a"]}))],
        ),
        (
            "crd-loosened",
            [text(json!({"maxLength": 1})), text(json!({}))],
            [text(json!({})), text(json!({"maxLength": 1}))],
        ),
        (
            "description-changed",
            [text(json!({"description": "a"})), text(json!({"description": "b"}))],
            [schema(named(&["a"])), schema(named(&["a", "description"]))],
        ),
    ]
}

fn rbac() -> Vec<Case> {
    let get = || rule(&["apps"], &["deployments"], &["get"]);
    let pods = || rule(&[""], &["pods"], &["get"]);
    let both = || rule(&["apps"], &["deployments"], &["get", "list"]);
    let named = |names: &[&str]| {
        let mut rule = rule(&[""], &["secrets"], &["get"]);
        rule["resourceNames"] = json!(names);
        rule
    };
    vec![
        (
            "rbac-escalation",
            [
                bound(&[get()]),
                bound(&[get(), rule(&["rbac.authorization.k8s.io"], &["roles"], &["bind"])]),
            ],
            [
                bound(&[get()]),
                bound(&[get(), rule(&["rbac.authorization.k8s.io"], &["roles"], &["get"])]),
            ],
        ),
        (
            "rbac-escalation",
            [
                bound(&[get()]),
                bound(&[get(), rule(&[""], &["serviceaccounts/token"], &["create"])]),
            ],
            [bound(&[get()]), bound(&[get(), rule(&[""], &["serviceaccounts"], &["create"])])],
        ),
        (
            "rbac-secrets",
            [bound(&[get()]), bound(&[get(), rule(&[""], &["secrets"], &["get"])])],
            [
                bound(&[rule(&[""], &["secrets"], &["get"])]),
                bound(&[rule(&[""], &["secrets"], &["get"]), named(&["a"])]),
            ],
        ),
        (
            "rbac-secrets",
            [bound(&[named(&["a"])]), bound(&[named(&["a", "b"])])],
            [bound(&[named(&["a", "b"])]), bound(&[named(&["b"])])],
        ),
        (
            "rbac-wildcard",
            [bound(&[get()]), bound(&[rule(&["apps"], &["deployments"], &["*"])])],
            [
                bound(&[rule(&["apps"], &["*"], &["*"])]),
                bound(&[rule(&["apps"], &["deployments"], &["*"])]),
            ],
        ),
        (
            "rbac-cluster-scope",
            [bound(&[get()]), everywhere(&[get()])],
            [everywhere(&[get()]), bound(&[get()])],
        ),
        (
            "rbac-widened",
            [bound(&[get()]), bound(&[both()])],
            [bound(&[both()]), bound(&[get(), rule(&["apps"], &["deployments"], &["list"])])],
        ),
        (
            "rbac-widened",
            [
                bound(&[json!({"nonResourceURLs": ["/a"], "verbs": ["get"]})]),
                bound(&[json!({"nonResourceURLs": ["/a", "/b"], "verbs": ["get"]})]),
            ],
            [
                bound(&[json!({"nonResourceURLs": ["/a*"], "verbs": ["get"]})]),
                bound(&[json!({"nonResourceURLs": ["/ab"], "verbs": ["get"]})]),
            ],
        ),
        (
            "rbac-widened",
            [none(), bound(&[get()])],
            // A role that nobody has, and one that moved.
            [none(), one(role("ClusterRole", "r", &[get()]))],
        ),
        (
            "rbac-widened",
            [bound(&[pods()]), bound(&[pods(), rule(&["apps"], &["replicasets"], &["get"])])],
            [
                bound(&[pods(), get()]),
                Of::Objects(vec![
                    role("Role", "r", &[pods()]),
                    binding("RoleBinding", "b", "r", &["sa"]),
                    role("Role", "more", &[get()]),
                    binding("RoleBinding", "more", "more", &["sa"]),
                ]),
            ],
        ),
        (
            "rbac-subject-added",
            [
                bound(&[get()]),
                Of::Objects(vec![
                    role("Role", "r", &[get()]),
                    binding("RoleBinding", "b", "r", &["sa", "other"]),
                ]),
            ],
            [
                Of::Objects(vec![
                    role("Role", "r", &[get()]),
                    binding("RoleBinding", "b", "r", &["sa", "other"]),
                ]),
                bound(&[get()]),
            ],
        ),
        (
            "rbac-subject-added",
            [none(), one(binding("ClusterRoleBinding", "b", "cluster-admin", &["sa"]))],
            [
                one(binding("ClusterRoleBinding", "b", "cluster-admin", &["sa"])),
                one(binding("ClusterRoleBinding", "another-name", "cluster-admin", &["sa"])),
            ],
        ),
        ("rbac-narrowed", [bound(&[both()]), bound(&[get()])], [bound(&[get()]), bound(&[both()])]),
        (
            "rbac-rewritten",
            [bound(&[get(), pods()]), bound(&[pods(), get()])],
            [bound(&[get()]), bound(&[both()])],
        ),
    ]
}

fn workloads() -> Vec<Case> {
    let image = |image: &str| container(json!({"image": image}));
    let env = |value: &str| container(json!({"env": [{"name": "E", "value": value}]}));
    let limit = |memory: &str| container(json!({"resources": {"limits": {"memory": memory}}}));
    let volume = |volume: Json| pod_spec(json!({"volumes": [volume]}));
    let digest = "r.io/a@sha256:0000";
    let usual = || container(json!({}));
    vec![
        (
            "image-registry-changed",
            [image("r.io/a:1"), image("q.io/a:1")],
            [image("r.io/a:1"), image("r.io/a:2")],
        ),
        (
            "image-changed",
            [image("r.io/a:1"), image("r.io/a:2")],
            [image("r.io/a:1"), image("q.io/a:1")],
        ),
        ("image-unpinned", [image(digest), image("r.io/a:1")], [image("r.io/a:1"), image(digest)]),
        (
            "operand-registry-changed",
            [env("r.io/a:1"), env("q.io/a:1")],
            [env("r.io/a:1"), env("r.io/a:2")],
        ),
        ("operand-image-changed", [env("r.io/a:1"), env("r.io/a:2")], [env("a b"), env("b c")]),
        (
            "container-added",
            [usual(), pod_spec(json!({"initContainers": [{"name": "i"}]}))],
            [pod_spec(json!({"initContainers": [{"name": "i"}]})), usual()],
        ),
        (
            "container-removed",
            [
                pod_spec(json!({"initContainers": [{"name": "i"}, {"name": "j"}]})),
                pod_spec(json!({"initContainers": [{"name": "i"}]})),
            ],
            [
                pod_spec(json!({"initContainers": [{"name": "i"}]})),
                pod_spec(json!({"initContainers": [{"name": "i", "tty": true}]})),
            ],
        ),
        (
            "command-changed",
            [container(json!({"command": ["a"]})), container(json!({"command": ["b"]}))],
            [
                container(json!({"command": ["a"]})),
                container(json!({"command": ["a"], "tty": true})),
            ],
        ),
        (
            "args-changed",
            [container(json!({"args": ["--a"]})), container(json!({"args": ["--a", "--b"]}))],
            [container(json!({"args": ["--a"]})), container(json!({"args": ["--a"], "tty": true}))],
        ),
        ("env-changed", [env("a"), env("b")], [env("r.io/a:1"), env("r.io/a:2")]),
        (
            "env-removed",
            [env("a"), container(json!({"env": []}))],
            [container(json!({"env": []})), env("a")],
        ),
        (
            "service-account-changed",
            [
                pod_spec(json!({"serviceAccountName": "a"})),
                pod_spec(json!({"serviceAccountName": "b"})),
            ],
            [
                pod_spec(json!({"automountServiceAccountToken": true})),
                pod_spec(json!({"automountServiceAccountToken": false})),
            ],
        ),
        (
            "probe-removed",
            [container(json!({"livenessProbe": {"exec": {}}})), usual()],
            [usual(), container(json!({"livenessProbe": {"exec": {}}}))],
        ),
        (
            "replicas-lowered",
            [deployment(json!({"replicas": 2})), deployment(json!({"replicas": 1}))],
            [deployment(json!({"replicas": 1})), deployment(json!({"replicas": 2}))],
        ),
        (
            "replicas-changed",
            [deployment(json!({"replicas": 1})), deployment(json!({"replicas": 2}))],
            [deployment(json!({"replicas": 2})), deployment(json!({"replicas": 0}))],
        ),
        ("memory-limit-lowered", [limit("1Gi"), limit("1000Mi")], [limit("1000Mi"), limit("1Gi")]),
        (
            "resources-changed",
            [limit("1Gi"), limit("2Gi")],
            [usual(), container(json!({"resizePolicy": []}))],
        ),
        (
            "volume-changed",
            [
                volume(json!({"name": "v", "emptyDir": {}})),
                volume(json!({"name": "v", "secret": {}})),
            ],
            [usual(), pod_spec(json!({"hostname": "h"}))],
        ),
        (
            "pod-privileged",
            [usual(), confined(json!({"privileged": true}))],
            [confined(json!({"privileged": true})), usual()],
        ),
        (
            "pod-privileged",
            [usual(), confined(json!({"runAsNonRoot": null}))],
            // The pod says what the container said.
            [
                usual(),
                one(pod(
                    json!({"securityContext": {"runAsNonRoot": null}}),
                    json!({"securityContext": {"runAsNonRoot": true}}),
                )),
            ],
        ),
        (
            "pod-privileged",
            [usual(), confined(json!({"allowPrivilegeEscalation": null}))],
            [confined(json!({"allowPrivilegeEscalation": null})), usual()],
        ),
        (
            "pod-capability",
            [usual(), confined(json!({"capabilities": {"add": ["NET_ADMIN"]}}))],
            [confined(json!({"capabilities": {"add": ["NET_ADMIN"]}})), usual()],
        ),
        (
            "pod-hardening-lost",
            [usual(), confined(json!({"readOnlyRootFilesystem": false}))],
            [confined(json!({"seccompProfile": null})), usual()],
        ),
        (
            "pod-host-access",
            [usual(), pod_spec(json!({"hostNetwork": true}))],
            [usual(), pod_spec(json!({"hostNetwork": false}))],
        ),
        (
            "pod-host-access",
            [
                volume(json!({"name": "v", "emptyDir": {}})),
                volume(json!({"name": "v", "hostPath": {"path": "/dev"}})),
            ],
            [
                volume(json!({"name": "v", "hostPath": {"path": "/dev"}})),
                volume(json!({"name": "w", "hostPath": {"path": "/dev"}})),
            ],
        ),
        (
            "pod-host-access",
            [
                container(json!({"ports": [{"containerPort": 80}]})),
                container(json!({"ports": [{"containerPort": 80, "hostPort": 80}]})),
            ],
            [usual(), container(json!({"ports": [{"containerPort": 80}]}))],
        ),
    ]
}

fn webhooks() -> Vec<Case> {
    let on = |group: &str, operations: &[&str]| {
        json!({"rules": [{"apiGroups": [group], "apiVersions": ["v1"], "resources": ["ks"],
            "operations": operations}]})
    };
    let core = |name: &str| {
        let mut core = hook(on("", &["CREATE"]));
        core["name"] = json!(name);
        core
    };
    let selects = |labels: Json| webhook(json!({"namespaceSelector": {"matchLabels": labels}}));
    vec![
        (
            "webhook-on-core-added",
            [hooks(&[]), hooks(&[core("w")])],
            [hooks(&[]), hooks(&[hook(json!({}))])],
        ),
        (
            "webhook-on-core-added",
            [webhook(json!({})), webhook(on("apps", &["CREATE"]))],
            [webhook(json!({})), webhook(on("h", &["CREATE"]))],
        ),
        (
            "webhook-added",
            [hooks(&[hook(json!({}))]), hooks(&[hook(json!({})), hook(json!({"name": "x"}))])],
            [hooks(&[hook(json!({})), hook(json!({"name": "x"}))]), hooks(&[hook(json!({}))])],
        ),
        (
            "webhook-removed",
            [hooks(&[hook(json!({})), hook(json!({"name": "x"}))]), hooks(&[hook(json!({}))])],
            [hooks(&[hook(json!({}))]), hooks(&[hook(json!({})), hook(json!({"name": "x"}))])],
        ),
        (
            "webhook-policy-hardened",
            [webhook(json!({})), webhook(json!({"failurePolicy": "Fail"}))],
            [webhook(json!({"failurePolicy": "Fail"})), webhook(json!({"failurePolicy": null}))],
        ),
        (
            "webhook-rules-widened",
            [webhook(json!({})), webhook(on("g", &["CREATE", "UPDATE"]))],
            [webhook(on("g", &["*"])), webhook(on("g", &["CREATE", "UPDATE"]))],
        ),
        (
            "webhook-selector-removed",
            [selects(json!({"a": "b"})), webhook(json!({}))],
            [selects(json!({"a": "b"})), selects(json!({"a": "b", "c": "d"}))],
        ),
        (
            "webhook-selector-removed",
            [
                webhook(json!({"matchConditions": [{"name": "a", "expression": "x"}]})),
                webhook(json!({})),
            ],
            [
                webhook(json!({})),
                webhook(json!({"matchConditions": [{"name": "a", "expression": "x"}]})),
            ],
        ),
        (
            "webhook-timeout-raised",
            [webhook(json!({})), webhook(json!({"timeoutSeconds": 30}))],
            [webhook(json!({})), webhook(json!({"timeoutSeconds": 10}))],
        ),
        (
            "webhook-side-effects",
            [webhook(json!({})), webhook(json!({"sideEffects": "Some"}))],
            [webhook(json!({})), webhook(json!({"sideEffects": "NoneOnDryRun"}))],
        ),
    ]
}

fn services() -> Vec<Case> {
    let ports = |ports: Json| service(json!({"ports": ports}));
    vec![
        (
            "service-port-changed",
            [service(json!({})), ports(json!([{"name": "http", "port": 81, "targetPort": 8080}]))],
            [service(json!({})), ports(json!([{"name": "http", "port": 80, "targetPort": 9090}]))],
        ),
        (
            "service-port-added",
            [
                service(json!({})),
                ports(
                    json!([{"name": "http", "port": 80, "targetPort": 8080}, {"name": "b", "port": 81}]),
                ),
            ],
            [service(json!({})), ports(json!([{"name": "http", "port": 80, "targetPort": 8081}]))],
        ),
        (
            "service-port-renamed",
            [service(json!({})), ports(json!([{"name": "web", "port": 80, "targetPort": 8080}]))],
            [
                service(json!({})),
                ports(
                    json!([{"name": "http", "port": 80, "targetPort": 8080, "appProtocol": "http"}]),
                ),
            ],
        ),
        (
            "service-selector-changed",
            [service(json!({})), service(json!({"selector": {"app": "e"}}))],
            [service(json!({})), service(json!({"sessionAffinity": "ClientIP"}))],
        ),
        (
            "service-type-changed",
            [service(json!({})), service(json!({"type": "LoadBalancer"}))],
            [service(json!({})), service(json!({"type": "ClusterIP"}))],
        ),
        ("network-policy-added", [none(), policy(json!({}))], [policy(json!({})), none()]),
        (
            "network-policy-changed",
            [policy(json!({})), policy(json!({"policyTypes": ["Egress"]}))],
            [none(), policy(json!({}))],
        ),
    ]
}

fn charts() -> Vec<Case> {
    vec![
        (
            "value-removed",
            [values(json!({"a": {"b": 1}})), values(json!({"a": {}}))],
            [values(json!({"a": {"b": 1}})), values(json!({"c": {"b": 1}}))],
        ),
        (
            "value-renamed",
            [values(json!({"a": {"image": "r.io/a"}})), values(json!({"b": {"image": "r.io/a"}}))],
            [values(json!({"a": true})), values(json!({"b": true}))],
        ),
        (
            "value-type-changed",
            [values(json!({"a": "1"})), values(json!({"a": 1}))],
            [values(json!({"a": null})), values(json!({"a": 1}))],
        ),
        (
            "value-default-changed",
            [values(json!({"a": 1})), values(json!({"a": 2}))],
            [values(json!({"a": 1})), values(json!({"a": "1"}))],
        ),
        (
            "value-added",
            [values(json!({})), values(json!({"a": 1}))],
            [values(json!({"a": 1})), values(json!({}))],
        ),
        (
            "crd-placement-left-templates",
            [placed(Placement::Templates), placed(Placement::Crds)],
            [placed(Placement::Crds), placed(Placement::Templates)],
        ),
        (
            "crd-placement-entered-templates",
            [placed(Placement::Crds), placed(Placement::Templates)],
            [placed(Placement::Crds), placed(Placement::Crds)],
        ),
        (
            "kube-version-changed",
            [kube(">=1.30.0-0"), kube(">=1.31.0-0")],
            [kube(">=1.30.0-0"), kube("")],
        ),
        (
            "chart-version-changed",
            [
                Of::Chart(ChartFacts { version: "1".to_owned(), ..ChartFacts::default() }),
                Of::Chart(ChartFacts { version: "2".to_owned(), ..ChartFacts::default() }),
            ],
            [kube("a"), kube("b")],
        ),
    ]
}

fn objects() -> Vec<Case> {
    let mounts =
        |name: &str| pod(json!({"envFrom": [{"configMapRef": {"name": name}}]}), json!({}));
    let data = || json!({"a": "1", "b": "2", "c": "3", "d": "4", "e": "5", "f": "6"});
    let claim = |api: &str, kind: &str| one(object(api, kind, "x", json!({"spec": {}})));
    let frozen = |text: &str| {
        let mut map = config_map("m", json!({"a": text}));
        map["immutable"] = json!(true);
        one(map)
    };
    let role_ref = |role: &str| one(binding("RoleBinding", "b", role, &["sa"]));
    let stateful = |name: &str| {
        one(object(
            "apps/v1",
            "StatefulSet",
            name,
            json!({"spec": {"a": 1, "b": 2, "c": 3, "d": 4, "e": 5}}),
        ))
    };
    let labelled = |labels: Json| {
        let mut map = config_map("m", json!({}));
        map["metadata"]["labels"] = labels;
        one(map)
    };
    vec![
        (
            "object-removed-referenced",
            [Of::Objects(vec![config_map("m", json!({})), mounts("m")]), one(mounts("m"))],
            [Of::Objects(vec![config_map("m", json!({})), mounts("m")]), one(mounts("n"))],
        ),
        (
            "data-removed",
            [claim("v1", "PersistentVolumeClaim"), none()],
            [claim("v1", "Endpoints"), none()],
        ),
        (
            "immutable-field",
            [deployment(json!({})), deployment(json!({"selector": {"matchLabels": {"app": "e"}}}))],
            [deployment(json!({})), deployment(json!({"strategy": {"type": "Recreate"}}))],
        ),
        ("immutable-field", [role_ref("a"), role_ref("b")], [role_ref("a"), role_ref("a")]),
        (
            "immutable-field",
            [frozen("a"), frozen("b")],
            [one(config_map("m", json!({"a": "1"}))), one(config_map("m", json!({"a": "2"})))],
        ),
        ("workload-removed", [deployment(json!({})), none()], [claim("v1", "Service"), none()]),
        ("service-removed", [service(json!({})), none()], [deployment(json!({})), none()]),
        (
            "object-renamed-in-use",
            [stateful("a"), stateful("b")],
            [one(config_map("a", data())), one(config_map("b", data()))],
        ),
        (
            "object-renamed",
            [one(config_map("a", data())), one(config_map("b", data()))],
            [one(config_map("a", data())), one(config_map("b", json!({"a": "2"})))],
        ),
        (
            "object-renamed",
            // Nearly the same, and called the same but for its version.
            [
                one(config_map("a-v1.0.0", json!({"a": "1", "b": "2", "c": "3"}))),
                one(config_map("a-v1.1.0", json!({"a": "1", "b": "2", "c": "4"}))),
            ],
            [
                one(config_map("a-x", json!({"a": "1", "b": "2", "c": "3"}))),
                one(config_map("b-y", json!({"a": "1", "b": "3", "c": "4"}))),
            ],
        ),
        (
            "object-removed",
            [one(config_map("m", json!({}))), none()],
            [none(), one(config_map("m", json!({})))],
        ),
        (
            "object-added",
            [none(), one(config_map("m", json!({})))],
            [one(config_map("m", json!({}))), none()],
        ),
        (
            "api-version-changed",
            [
                one(object("policy/v1beta1", "PodDisruptionBudget", "x", json!({}))),
                one(object("policy/v1", "PodDisruptionBudget", "x", json!({}))),
            ],
            [
                one(object("a/v1", "PodDisruptionBudget", "x", json!({}))),
                one(object("b/v1", "PodDisruptionBudget", "x", json!({}))),
            ],
        ),
        (
            "metadata-changed",
            [labelled(json!({"a": "1"})), labelled(json!({"a": "2"}))],
            [one(config_map("m", json!({"a": "1"}))), one(config_map("m", json!({"a": "2"})))],
        ),
        (
            "order-changed",
            [
                container(json!({"env": [{"name": "A"}, {"name": "B"}]})),
                container(json!({"env": [{"name": "B"}, {"name": "A"}]})),
            ],
            [
                container(json!({"env": [{"name": "A"}]})),
                container(json!({"env": [{"name": "B"}, {"name": "A"}]})),
            ],
        ),
        (
            "field-changed",
            [one(config_map("m", json!({"a": "1"}))), one(config_map("m", json!({"a": "2"})))],
            [labelled(json!({"a": "1"})), labelled(json!({"a": "2"}))],
        ),
    ]
}

fn cases() -> Vec<Case> {
    [crds(), schemas(), rbac(), workloads(), webhooks(), services(), charts(), objects()].concat()
}

#[test]
fn every_rule_hits_and_misses() {
    let mut wrong = Vec::new();
    for (index, (code, [old, new], [near_old, near_new])) in cases().into_iter().enumerate() {
        let codes = found(&diff(old, new));
        if !codes.contains(code) {
            wrong.push(format!("{index}: {code} not in {codes:?}"));
        }
        let codes = found(&diff(near_old, near_new));
        if codes.contains(code) {
            wrong.push(format!("{index}: {code} in the near miss {codes:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let tested: BTreeSet<&str> = cases().iter().map(|(code, ..)| *code).collect();
    let all: BTreeSet<&str> = rules::all().map(|rule| rule.code).collect();
    assert_eq!(tested, all);
    assert!(cases().len() * 2 >= 160, "{} pairs", cases().len() * 2);
}

#[test]
fn equal_sides_do_not_differ_and_swapped_sides_swap() {
    for (code, [old, new], _) in cases() {
        assert!(diff(old.clone(), old.clone()).is_empty(), "{code}");
        let (there, back) = (diff(old.clone(), new.clone()), diff(new, old));
        for (one, other) in [("added", "removed"), ("renamed", "renamed"), ("changed", "changed")] {
            assert_eq!(there.acted(one), back.acted(other), "{code}");
            assert_eq!(there.acted(other), back.acted(one), "{code}");
        }
        let places = |set: &ChangeSet| {
            let mut places: Vec<String> = set
                .changes()
                .filter(|(object, _)| object.action.as_str() != "renamed")
                .map(|(object, change)| format!("{}{}", object.id, change.path))
                .collect();
            places.sort();
            places
        };
        assert_eq!(places(&there), places(&back), "{code}");
    }
}
