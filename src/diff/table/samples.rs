//! Pairs whose findings are only shown, in a snapshot: variants of what the cases are about, and changes
//! that must stay apart from them.

use super::*;
use crate::diff::BundleFacts;
use crate::ir::{RENAMED_TO, UpgradeEdges};

/// A title, and both sides.
type Sample = (&'static str, [Side; 2]);

fn objects(title: &'static str, old: Vec<Json>, new: Vec<Json>) -> Sample {
    (title, [side(Of::Objects(old)), side(Of::Objects(new))])
}

fn pair(title: &'static str, [old, new]: [Of; 2]) -> Sample {
    (title, [side(old), side(new)])
}

fn facts(title: &'static str, old: BundleFacts, new: BundleFacts) -> Sample {
    let side = |bundle: BundleFacts| Side {
        bundle,
        operator_version: "1.0.0".to_owned(),
        ..Side::new("x", [config_map("m", json!({}))], "ns", None)
    };
    (title, [side(old), side(new)])
}

fn chart(title: &'static str, old: Json, new: Json) -> Sample {
    pair(title, [values(old), values(new)])
}

/// A chart whose values have this schema, for which the user gave values.
fn with_schema(schema: Json, given: Json) -> Of {
    Of::Chart(ChartFacts { values: json!({"a": {}}), schema, given, ..ChartFacts::default() })
}

fn schemas(title: &'static str, old: Json, new: Json, given: Json) -> Sample {
    let root = |a: Json| json!({"type": "object", "properties": {"a": a}});
    let [old, new] = [root(old), root(new)];
    pair(title, [with_schema(old, json!({})), with_schema(new, given)])
}

fn added_objects() -> Vec<Sample> {
    let monitor =
        |name: &str| object("monitoring.coreos.com/v1", "ServiceMonitor", name, json!({}));
    let monitors = object(
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        "servicemonitors.monitoring.coreos.com",
        json!({"spec": {"group": "monitoring.coreos.com", "names": {"kind": "ServiceMonitor"}}}),
    );
    let budget =
        |spec: Json| vec![object("policy/v1", "PodDisruptionBudget", "p", json!({"spec": spec}))];
    let class = |default: bool| {
        let api = "scheduling.k8s.io/v1";
        vec![object(api, "PriorityClass", "p", json!({"globalDefault": default, "value": 1}))]
    };
    let service = |kind: &str| vec![object("v1", "Service", "s", json!({"spec": {"type": kind}}))];
    let new = |title, list: Vec<Json>| objects(title, Vec::new(), list);
    vec![
        new("a custom resource of an unknown API", vec![monitor("a")]),
        new("a custom resource with its CRD", vec![monitors, monitor("a")]),
        objects(
            "a custom resource like another",
            vec![monitor("a")],
            vec![monitor("a"), monitor("b")],
        ),
        new(
            "an object of a Kubernetes API",
            vec![object("batch.k8s.io/v1", "Thing", "t", json!({}))],
        ),
        objects(
            "a description that is no documentation",
            vec![config_map("m", json!({"description": "a"}))],
            vec![config_map("m", json!({"description": "b"}))],
        ),
        new("a budget without evictions", budget(json!({"maxUnavailable": 0}))),
        new("a budget without evictions, in percent", budget(json!({"minAvailable": "100%"}))),
        new("a budget with evictions", budget(json!({"maxUnavailable": 1, "minAvailable": "50%"}))),
        new("a load balancer", service("LoadBalancer")),
        new("a port of all nodes", service("NodePort")),
        new("a Service in the cluster", service("ClusterIP")),
        new("a default priority class", class(true)),
        new("a priority class", class(false)),
    ]
}

fn removed_objects() -> Vec<Sample> {
    let named = |api: &str, kind: &str, name: &str| object(api, kind, name, json!({}));
    let by = |reference: Json, kept: Json| {
        let pods = json!({"containers": [{"name": "c", "image": "r.io/a:1"}]});
        let mut pods = pods;
        join(&mut pods, reference);
        vec![pod(json!({}), pods), kept]
    };
    let gone = |title, reference: Json, api: &str, kind: &str, name: &str| {
        let other = config_map("other", json!({}));
        let mut old = by(reference.clone(), other.clone());
        old.push(named(api, kind, name));
        objects(title, old, by(reference, other))
    };
    let env =
        |from: Json| json!({"containers": [{"name": "c", "image": "r.io/a:1", "envFrom": [from]}]});
    let volume = |volume: Json| json!({"volumes": [volume]});
    let ingress = |backend: Json| {
        let rule = json!({"http": {"paths": [{"path": "/", "backend": backend}]}});
        object("networking.k8s.io/v1", "Ingress", "i", json!({"spec": {"rules": [rule]}}))
    };
    let service = named("v1", "Service", "s");
    let backend = || ingress(json!({"service": {"name": "s", "port": {"number": 80}}}));
    let old_binding = |kind: &str| {
        let subject = json!({"kind": "ServiceAccount", "name": "sa"});
        object(
            RBAC,
            "RoleBinding",
            "b",
            json!({"subjects": [subject], "roleRef": {"kind": kind, "name": "r"}}),
        )
    };
    let converted = |with: bool| {
        let service = json!({"name": "s", "namespace": "ns", "path": "/convert"});
        let conversion =
            json!({"strategy": "Webhook", "webhook": {"clientConfig": {"service": service}}});
        let schema = json!({"type": "object", "properties": {"serviceAccountName": {"default": "sa"},
            "secretRef": {"name": "s"}}});
        let conversion = if with { conversion } else { json!({"strategy": "None"}) };
        crd(json!({"conversion": conversion, "versions": [version("v1", schema)]}))
    };
    let account = || named("v1", "ServiceAccount", "sa");
    vec![
        gone(
            "the account of pods",
            json!({"serviceAccountName": "sa"}),
            "v1",
            "ServiceAccount",
            "sa",
        ),
        gone(
            "a ConfigMap of variables",
            env(json!({"configMapRef": {"name": "m"}})),
            "v1",
            "ConfigMap",
            "m",
        ),
        gone(
            "an optional ConfigMap of variables",
            env(json!({"configMapRef": {"name": "m", "optional": true}})),
            "v1",
            "ConfigMap",
            "m",
        ),
        gone(
            "a Secret of variables",
            env(json!({"secretRef": {"name": "s"}})),
            "v1",
            "Secret",
            "s",
        ),
        gone(
            "an optional Secret of variables",
            env(json!({"secretRef": {"name": "s", "optional": true}})),
            "v1",
            "Secret",
            "s",
        ),
        gone(
            "a mounted Secret",
            volume(json!({"name": "v", "secret": {"secretName": "s"}})),
            "v1",
            "Secret",
            "s",
        ),
        gone(
            "an optional mounted Secret",
            volume(json!({"name": "v", "secret": {"secretName": "s", "optional": true}})),
            "v1",
            "Secret",
            "s",
        ),
        gone(
            "a mounted claim",
            volume(json!({"name": "v", "persistentVolumeClaim": {"claimName": "data"}})),
            "v1",
            "PersistentVolumeClaim",
            "data",
        ),
        gone("a pull secret", json!({"imagePullSecrets": [{"name": "s"}]}), "v1", "Secret", "s"),
        gone(
            "a priority class",
            json!({"priorityClassName": "p"}),
            "scheduling.k8s.io/v1",
            "PriorityClass",
            "p",
        ),
        objects("the Service of an Ingress", vec![backend(), service.clone()], vec![backend()]),
        objects(
            "the Service of a conversion webhook",
            vec![converted(true), service.clone()],
            vec![converted(true)],
        ),
        objects(
            "names in the schema of a CRD",
            vec![converted(false), account(), named("v1", "Secret", "s")],
            vec![converted(false)],
        ),
        objects(
            "the account of a binding",
            vec![old_binding("Role"), role("Role", "r", &[]), account()],
            vec![old_binding("Role"), role("Role", "r", &[])],
        ),
        objects(
            "the Role of a binding",
            vec![old_binding("Role"), role("Role", "r", &[]), account()],
            vec![old_binding("Role"), account()],
        ),
        objects(
            "the ClusterRole of a binding",
            vec![old_binding("ClusterRole"), role("ClusterRole", "r", &[]), account()],
            vec![old_binding("ClusterRole"), account()],
        ),
        objects(
            "an account in another namespace",
            vec![
                object(
                    "v1",
                    "ServiceAccount",
                    "sa",
                    json!({"metadata": {"name": "sa", "namespace": "other"}}),
                ),
                binding("RoleBinding", "b", "r", &["sa"]),
            ],
            vec![binding("RoleBinding", "b", "r", &["sa"])],
        ),
    ]
}

fn pods() -> Vec<Sample> {
    let init = |image: &str| pod_spec(json!({"initContainers": [{"name": "i", "image": image}]}));
    let image = |image: &str| container(json!({"image": image}));
    let images = |lines: &str| container(json!({"env": [{"name": "WIDGETS", "value": lines}]}));
    let spec = |spec: Json| pod_spec(spec);
    let watch = |field: &str| {
        let from = json!({"fieldRef": {"fieldPath": field}});
        container(json!({"env": [{"name": "WATCH_NAMESPACE", "valueFrom": from}]}))
    };
    let from_map = json!({"configMapKeyRef": {"name": "m", "key": "k"}});
    let many = |value: &str| {
        let variable =
            |n: usize| json!({"name": format!("V{n}"), "value": if n == 25 { value } else { "x" }});
        container(json!({"env": (0..40).map(variable).collect::<Vec<_>>()}))
    };
    let strategy = |unavailable: Json| {
        deployment(json!({"strategy": {"rollingUpdate": {"maxUnavailable": unavailable}}}))
    };
    let budget =
        |spec: Json| one(object("policy/v1", "PodDisruptionBudget", "p", json!({"spec": spec})));
    vec![
        pair("an image of an init container", [init("r.io/i:1"), init("r.io/i:2")]),
        pair("a registry with a port", [image("r.io:5000/a:1"), image("r.io:5000/a:2")]),
        pair("a registry with a port and no tag", [image("r.io:5000/a:1"), image("r.io:5000/a")]),
        pair("a tag of two numbers", [image("r.io/a:1.10"), image("r.io/a:1.9")]),
        pair("a tag of one number", [image("r.io/a:10"), image("r.io/a:9")]),
        pair(
            "images by version",
            [images("4.1=r.io/a:1,4.2=r.io/a:2"), images("4.1=r.io/a:3,4.2=r.io/a:2")],
        ),
        pair(
            "the same images in lines",
            [images("4.1=r.io/a:1,4.2=r.io/a:2"), images("4.2=r.io/a:2\n4.1=r.io/a:1")],
        ),
        pair("words with `=` and a slash", [images("a=b/c"), images("a=b/d")]),
        pair("a deadline", [spec(json!({})), spec(json!({"activeDeadlineSeconds": 60}))]),
        pair(
            "a later deadline",
            [
                spec(json!({"activeDeadlineSeconds": 60})),
                spec(json!({"activeDeadlineSeconds": 90})),
            ],
        ),
        pair(
            "a deadline in another spelling",
            [
                spec(json!({"activeDeadlineSeconds": 60})),
                spec(json!({"activeDeadlineSeconds": 60.0})),
            ],
        ),
        pair("more pods may be unavailable", [strategy(json!("30%")), strategy(json!("99%"))]),
        pair("fewer pods may be unavailable", [strategy(json!("99%")), strategy(json!("30%"))]),
        pair("a number after a percentage", [strategy(json!("30%")), strategy(json!(1))]),
        pair(
            "a first limit of evictions",
            [budget(json!({})), budget(json!({"maxUnavailable": 1}))],
        ),
        pair(
            "fewer evictions",
            [budget(json!({"maxUnavailable": 2})), budget(json!({"maxUnavailable": 1}))],
        ),
        pair("one of many variables", [many("x"), many("y")]),
        pair(
            "a watched namespace in a label",
            [watch("metadata.namespace"), watch("metadata.labels['x']")],
        ),
        pair(
            "a watched namespace in an annotation",
            [watch("metadata.namespace"), watch("metadata.annotations['olm.targetNamespaces']")],
        ),
        pair(
            "a watched namespace in a ConfigMap",
            [
                watch("metadata.namespace"),
                container(json!({"env": [{"name": "WATCH_NAMESPACE", "valueFrom": from_map}]})),
            ],
        ),
        pair(
            "flags for a watched namespace",
            [
                container(json!({"args": ["--watch-namespace=a"]})),
                container(json!({"args": ["--watch-namespace=b"]})),
            ],
        ),
        pair(
            "a flag with a variable",
            [
                container(json!({"args": ["--watch-namespace=a"]})),
                container(json!({"args": ["--watch-namespace=$(B)"]})),
            ],
        ),
    ]
}

fn permissions() -> Vec<Sample> {
    let view = rule(&["apps"], &["deployments"], &["get"]);
    let with = |subjects: Json| {
        let role_ref =
            json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"});
        vec![
            role("Role", "r", &[view.clone(), rule(&["apps"], &["deployments/scale"], &["get"])]),
            object(RBAC, "RoleBinding", "b", json!({"subjects": subjects, "roleRef": role_ref})),
        ]
    };
    let account = |name: &str| json!({"kind": "ServiceAccount", "name": name, "namespace": "ns"});
    let group = json!({"kind": "Group", "name": "g"});
    let grants = |rules: &[Json]| {
        vec![role("ClusterRole", "r", rules), binding("ClusterRoleBinding", "b", "r", &["sa"])]
    };
    let all = |verbs: &[&str]| rule(&["*"], &["*"], verbs);
    let elsewhere = |subjects: Json| {
        let role_ref = json!({"apiGroup": RBAC_GROUP, "kind": "ClusterRole", "name": "r"});
        let metadata = json!({"name": "b", "namespace": "other"});
        let binding = json!({"metadata": metadata, "subjects": subjects, "roleRef": role_ref});
        vec![
            role("ClusterRole", "r", std::slice::from_ref(&view)),
            object(RBAC, "RoleBinding", "b", binding),
        ]
    };
    let urls = |urls: &[&str]| json!({"nonResourceURLs": urls, "verbs": ["get"]});
    vec![
        objects(
            "a second subject",
            with(json!([account("a")])),
            with(json!([account("a"), account("b")])),
        ),
        objects("a first subject", with(json!(null)), with(json!([account("a"), group]))),
        objects("no subjects any more", with(json!([account("a"), group])), with(json!(null))),
        objects("all subjects replaced", with(json!([account("a")])), with(json!([account("b")]))),
        objects("everything", grants(&[]), grants(&[all(&["*"])])),
        objects(
            "all verbs of all roles",
            grants(&[]),
            grants(&[rule(&[RBAC_GROUP], &["*"], &["*"])]),
        ),
        objects(
            "all verbs of one kind of roles",
            grants(&[]),
            grants(&[rule(&[RBAC_GROUP], &["clusterroles"], &["*"])]),
        ),
        objects("all verbs in a group", grants(&[]), grants(&[rule(&["apps"], &["*"], &["*"])])),
        objects("reads everything", grants(&[]), grants(&[all(&["get"])])),
        objects(
            "tokens of accounts",
            grants(&[]),
            grants(&[rule(&[""], &["serviceaccounts/token"], &["create"])]),
        ),
        objects(
            "a resource of all groups",
            grants(&[]),
            grants(&[rule(&["*"], &["pods"], &["get"])]),
        ),
        objects(
            "a resource that a wildcard had",
            grants(&[rule(&["*"], &["deployments"], &["get"])]),
            grants(&[
                rule(&["*"], &["deployments"], &["get"]),
                rule(&["apps"], &["deployments"], &["get"]),
            ]),
        ),
        objects(
            "a role in another namespace",
            elsewhere(json!([])),
            elsewhere(json!([account("a")])),
        ),
        objects("a URL", grants(&[urls(&["/a"])]), grants(&[urls(&["/a", "/b/c"])])),
    ]
}

const RBAC_GROUP: &str = "rbac.authorization.k8s.io";

fn crd_fields() -> Vec<Sample> {
    let names = |names: Json| one(crd(json!({"names": names})));
    let spec = |properties: Json| schema(json!({"type": "object", "properties": properties}));
    let text = || json!({"type": "string"});
    let pattern = |pattern: &str, length: Option<u64>| {
        let mut text = json!({"type": "string", "pattern": pattern});
        if let Some(length) = length {
            text["maxLength"] = json!(length);
        }
        text
    };
    let label = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$";
    let key = "^[-._a-zA-Z0-9]+$";
    let reference =
        |field: &str, inner: Json| json!({field: {"type": "object", "properties": inner}});
    let combined = |list: Json| json!({"a": {"anyOf": list}});
    let long = |length: u64| json!({"type": "string", "minLength": 1, "maxLength": length});
    vec![
        pair(
            "another singular name",
            [
                names(json!({"kind": "K", "plural": "ks", "singular": "k"})),
                names(json!({"kind": "K", "plural": "ks", "singular": "kk"})),
            ],
        ),
        pair(
            "categories in another order",
            [
                names(json!({"kind": "K", "plural": "ks", "categories": ["a", "b"]})),
                names(json!({"kind": "K", "plural": "ks", "categories": ["b", "a"]})),
            ],
        ),
        pair(
            "another category",
            [
                names(json!({"kind": "K", "plural": "ks", "categories": ["a", "b"]})),
                names(json!({"kind": "K", "plural": "ks", "categories": ["a", "c"]})),
            ],
        ),
        pair(
            "a property renamed",
            [
                spec(json!({"old": {"type": "string", "description": "The size."}})),
                spec(json!({"new": {"type": "string", "description": "The size."}})),
            ],
        ),
        pair(
            "another branch of anyOf",
            [
                spec(combined(json!([{"type": "string"}, {"maxLength": 9}]))),
                spec(combined(json!([{"type": "string"}, {"maxLength": 5}]))),
            ],
        ),
        pair(
            "a pattern for a namespace",
            [spec(json!({"namespace": text()})), spec(json!({"namespace": pattern(label, None)}))],
        ),
        pair(
            "63 characters for a namespace",
            [spec(json!({"targetNamespace": text()})), spec(json!({"targetNamespace": long(63)}))],
        ),
        pair(
            "62 characters for a namespace",
            [spec(json!({"targetNamespace": text()})), spec(json!({"targetNamespace": long(62)}))],
        ),
        pair(
            "253 characters for the name of a Secret",
            [spec(json!({"secretName": text()})), spec(json!({"secretName": long(253)}))],
        ),
        pair(
            "an empty name is rejected",
            [
                spec(json!({"secretName": text()})),
                spec(json!({"secretName": {"type": "string", "minLength": 0, "maxLength": 253}})),
            ],
        ),
        pair(
            "a pattern for a key",
            [
                spec(json!({"tlsSecretKey": text()})),
                spec(json!({"tlsSecretKey": pattern(key, Some(253))})),
            ],
        ),
        pair(
            "the key of an item of a ConfigMap",
            [
                spec(reference(
                    "configMap",
                    json!({"items": {"type": "array", "items":
                    {"type": "object", "properties": {"key": text()}}}}),
                )),
                spec(reference(
                    "configMap",
                    json!({"items": {"type": "array", "items":
                    {"type": "object", "properties": {"key": pattern(key, Some(253))}}}}),
                )),
            ],
        ),
        pair(
            "the key of an item of anything",
            [
                spec(reference(
                    "things",
                    json!({"items": {"type": "array", "items":
                    {"type": "object", "properties": {"key": text()}}}}),
                )),
                spec(reference(
                    "things",
                    json!({"items": {"type": "array", "items":
                    {"type": "object", "properties": {"key": pattern(key, Some(253))}}}}),
                )),
            ],
        ),
        pair(
            "a name and a kind",
            [
                spec(reference("thing", json!({"name": text(), "kind": text()}))),
                spec(reference("thing", json!({"name": long(253), "kind": text()}))),
            ],
        ),
        pair(
            "a name alone",
            [
                spec(reference("thing", json!({"name": text()}))),
                spec(reference("thing", json!({"name": long(253)}))),
            ],
        ),
        pair(
            "a name and a size",
            [
                spec(reference("thing", json!({"name": text(), "size": text()}))),
                spec(reference("thing", json!({"name": long(253), "size": text()}))),
            ],
        ),
        pair(
            "a key and a kind",
            [
                spec(reference("thing", json!({"key": text(), "kind": text()}))),
                spec(reference("thing", json!({"key": pattern(key, Some(253)), "kind": text()}))),
            ],
        ),
    ]
}

fn chart_values() -> Vec<Sample> {
    let renamed = |values: Json| {
        let old = json!({"enum": [format!("{RENAMED_TO}c")]});
        let inner = json!({"properties": {"old": old, "c": {}}});
        let schema = json!({"properties": {"a": inner, "list": {"items": inner}}});
        Of::Chart(ChartFacts { values, schema, ..ChartFacts::default() })
    };
    vec![
        chart("a short text elsewhere", json!({"a": "abc"}), json!({"b": "abc"})),
        chart("a long text elsewhere", json!({"a": "abcd"}), json!({"b": "abcd"})),
        chart("a list elsewhere", json!({"a": [1]}), json!({"b": [1]})),
        chart("an empty list elsewhere", json!({"a": []}), json!({"b": []})),
        chart("a map elsewhere", json!({"a": {"x": 1}}), json!({"b": {"x": 1}})),
        chart("a text at two places", json!({"a": "abcd"}), json!({"b": "abcd", "c": "abcd"})),
        chart("a key at another place", json!({"a": {"tag": "x"}}), json!({"b": {"tag": "y"}})),
        chart(
            "a key at two places",
            json!({"a": {"tag": "x"}}),
            json!({"b": {"tag": "y"}, "c": {"tag": "z"}}),
        ),
        chart("an empty text outside of images", json!({"a": "", "b": 1}), json!({"b": 1})),
        chart(
            "a value in a list",
            json!({"a": [{"name": "x", "b": 1}]}),
            json!({"a": [{"name": "x"}]}),
        ),
        pair(
            "a value that the schema says is renamed",
            [renamed(json!({"a": {"old": 1}})), renamed(json!({"a": {"c": 5}}))],
        ),
        pair(
            "a value in a list that the schema says is renamed",
            [
                renamed(json!({"list": [{"name": "x", "old": 1}]})),
                renamed(json!({"list": [{"name": "x", "c": 5}]})),
            ],
        ),
        schemas("an enum that is new", json!({}), json!({"enum": ["x", "y"]}), json!({})),
        schemas(
            "an enum that is smaller",
            json!({"enum": ["x", "y", 1]}),
            json!({"enum": ["x"]}),
            json!({}),
        ),
        schemas(
            "an enum for a value that is given",
            json!({}),
            json!({"enum": ["x"]}),
            json!({"a": "x"}),
        ),
        schemas(
            "an enum for a value that is not given",
            json!({}),
            json!({"enum": ["x"]}),
            json!({"b": 1}),
        ),
        schemas(
            "a required value",
            json!({"type": "object"}),
            json!({"type": "object", "required": ["x"], "properties": {"x": {}}}),
            json!({}),
        ),
        schemas(
            "a required value that is given",
            json!({"type": "object"}),
            json!({"type": "object", "required": ["x"], "properties": {"x": {}}}),
            json!({"a": {"x": 1}}),
        ),
        schemas(
            "a required value that is not given",
            json!({"type": "object"}),
            json!({"type": "object", "required": ["x"], "properties": {"x": {}}}),
            json!({"a": {"y": 1}}),
        ),
        schemas(
            "unknown keys",
            json!({"type": "object"}),
            json!({"type": "object", "additionalProperties": false}),
            json!({}),
        ),
        schemas(
            "unknown keys that are given",
            json!({"type": "object"}),
            json!({"type": "object", "additionalProperties": false}),
            json!({"a": {"y": 1}}),
        ),
        schemas(
            "unknown keys that are not given",
            json!({"type": "object"}),
            json!({"type": "object", "additionalProperties": false}),
            json!({"b": 1}),
        ),
        pair(
            "unknown values",
            [
                with_schema(json!({"type": "object"}), json!({})),
                with_schema(
                    json!({"type": "object", "additionalProperties": false, "properties": {"a": {}}}),
                    json!({}),
                ),
            ],
        ),
        schemas(
            "a bound in a list",
            json!({"type": "array", "items": {"type": "integer"}}),
            json!({"type": "array", "items": {"type": "integer", "maximum": 3}}),
            json!({"b": 1}),
        ),
    ]
}

fn bundles() -> Vec<Sample> {
    let images = |list: Json| BundleFacts { related_images: Some(list), ..BundleFacts::default() };
    let image = |name: &str, image: &str| json!({"name": name, "image": image});
    let minimum = |version: &str| BundleFacts {
        min_kube_version: Some(version.to_owned()),
        ..BundleFacts::default()
    };
    let after = |replaces: &str, skips: &[&str], skip_range: &str| BundleFacts {
        csv: "w.v3".to_owned(),
        edges: UpgradeEdges {
            replaces: replaces.to_owned(),
            skips: skips.iter().map(|skip| (*skip).to_owned()).collect(),
            skip_range: skip_range.to_owned(),
        },
        ..BundleFacts::default()
    };
    let first = || BundleFacts { csv: "w.v1".to_owned(), ..BundleFacts::default() };
    let one = || images(json!([image("a", "r.io/a:1.0.0")]));
    let digest = "r.io/b@sha256:0123456789abcdef0123456789abcdef";
    vec![
        facts(
            "a related image",
            one(),
            images(json!([image("a", "r.io/a:1.0.0"), image("b", digest)])),
        ),
        facts(
            "a related image with a tag",
            one(),
            images(json!([image("a", "r.io/a:1.0.0"), image("b", "r.io/b:2")])),
        ),
        facts("a newer related image", one(), images(json!([image("a", "r.io/a:1.1.0")]))),
        facts("a later Kubernetes", minimum("1.25.0"), minimum("1.26.0")),
        facts("an earlier Kubernetes", minimum("1.26.0"), minimum("1.25.0")),
        facts("Kubernetes with a `v`", minimum("v1.25.0"), minimum("1.25.0")),
        facts("another version is replaced", first(), after("w.v2", &[], "")),
        facts("other versions are skipped", first(), after("", &["w.v2", "w.v0"], "")),
        facts("a range without the version", first(), after("", &[], ">=2.0.0 <3.0.0")),
        facts("another version, and a range", first(), after("w.v2", &["w.v0"], ">=2.0.0 <3.0.0")),
        facts("a range with the version", first(), after("w.v2", &[], ">=v1.0.0 <3.0.0")),
        facts("no edges", first(), after("", &[], "")),
        facts("an unknown version", BundleFacts::default(), after("w.v2", &[], "")),
    ]
}

fn schema_keywords() -> Vec<Sample> {
    let keep = || json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let with = |mut schema: Json, rest: Json| {
        join(&mut schema, rest);
        schema
    };
    let change = |title, old: Json, new: Json| pair(title, [field(old), field(new)]);
    let either = || json!({"x-kubernetes-int-or-string": true});
    let both = || json!([{"type": "integer"}, {"type": "string"}]);
    let text = |length: Option<u64>| match length {
        Some(length) => json!({"type": "string", "minLength": length}),
        None => json!({"type": "string"}),
    };
    let map = |rest: Json| with(json!({"type": "object"}), rest);
    let list = |kind: &str, keyword: &str| {
        with(json!({"type": "array", "items": {"type": "string"}}), json!({keyword: kind}))
    };
    let rules = |rules: &[&str], properties: Json| {
        let rules: Vec<Json> = rules.iter().map(|rule| json!({"rule": rule})).collect();
        json!({"type": "object", "properties": properties, "x-kubernetes-validations": rules})
    };
    let size = || json!({"size": {"type": "integer"}});
    let sizes = || json!({"size": {"type": "integer"}, "other": {"type": "integer"}});
    vec![
        change(
            "a type for anything",
            json!({"x-kubernetes-preserve-unknown-fields": true}),
            keep(),
        ),
        change("a type for what has none", json!({}), json!({"type": "string"})),
        change("integers and strings", either(), with(either(), json!({"anyOf": both()}))),
        change(
            "a type in anyOf",
            json!({"type": "integer"}),
            json!({"type": "integer", "anyOf": both()}),
        ),
        change("an integer or a string", json!({"type": "integer"}), either()),
        change("a length of 0", text(None), text(Some(0))),
        change("another length", text(Some(3)), text(Some(4))),
        change(
            "a minimum of 0",
            json!({"type": "integer"}),
            json!({"type": "integer", "minimum": 0}),
        ),
        change(
            "properties of a free map",
            keep(),
            with(keep(), json!({"properties": {"x": {"type": "string"}}})),
        ),
        change(
            "properties of a map",
            map(json!({})),
            map(json!({"properties": {"x": {"type": "string"}}})),
        ),
        change(
            "properties of a map that gets free",
            map(json!({})),
            with(keep(), json!({"properties": {"x": {"type": "string"}}})),
        ),
        change(
            "no additional properties",
            map(json!({"additionalProperties": true})),
            map(json!({"additionalProperties": false})),
        ),
        change(
            "additional texts",
            map(json!({"additionalProperties": true})),
            map(json!({"additionalProperties": {"type": "string"}})),
        ),
        change(
            "shorter additional texts",
            map(json!({"additionalProperties": {"type": "string"}})),
            map(json!({"additionalProperties": {"type": "string", "maxLength": 5}})),
        ),
        change(
            "shorter items",
            json!({"type": "array", "items": {"type": "string"}}),
            json!({"type": "array", "items": {"type": "string", "maxLength": 5}}),
        ),
        change(
            "another schema in not",
            json!({"type": "string", "not": {"maxLength": 5}}),
            json!({"type": "string", "not": {"maxLength": 6}}),
        ),
        change(
            "another schema in allOf",
            json!({"type": "string", "allOf": [{"maxLength": 5}]}),
            json!({"type": "string", "allOf": [{"maxLength": 6}]}),
        ),
        change(
            "unique items",
            list("atomic", "x-kubernetes-list-type"),
            list("set", "x-kubernetes-list-type"),
        ),
        change(
            "an atomic map",
            list("granular", "x-kubernetes-map-type"),
            list("atomic", "x-kubernetes-map-type"),
        ),
        change("a rule", map(json!({"properties": size()})), rules(&["self.size > 1"], size())),
        change(
            "another rule",
            rules(&["self.size > 1"], size()),
            rules(&["self.size > 2"], size()),
        ),
        change(
            "a rule for a new field",
            map(json!({"properties": size()})),
            rules(&["self.other > 1"], sizes()),
        ),
        change(
            "a rule for a new field and another one",
            map(json!({"properties": size()})),
            rules(&["self.other > self.size"], sizes()),
        ),
        change(
            "a rule for changes",
            map(json!({"properties": size()})),
            rules(&["self == oldSelf"], size()),
        ),
        change(
            "a rule for a name like self",
            map(json!({"properties": size()})),
            rules(&["selfish.other > 1 && myself.size > 1"], sizes()),
        ),
        change("another message of a rule", rules(&["self.size > 1"], size()), {
            let mut changed = rules(&["self.size > 1"], size());
            changed["x-kubernetes-validations"][0]["message"] = json!("too small");
            changed
        }),
        pair(
            "a whole schema",
            [
                versions(&[json!({"name": "v1", "served": true, "storage": true})]),
                versions(&[version("v1", json!({"type": "object"}))]),
            ],
        ),
    ]
}

fn admission() -> Vec<Sample> {
    let rules = |group: &str, resources: Json| {
        let rule = json!({"apiGroups": [group], "apiVersions": ["v1"], "resources": resources,
            "operations": ["CREATE", "UPDATE"]});
        hook(json!({"rules": [rule]}))
    };
    let policy = |policy: Json| webhook(json!({"failurePolicy": policy}));
    let timeout = |seconds: Json| webhook(json!({"timeoutSeconds": seconds}));
    let service = |name: &str| json!({"clientConfig": {"service": {"name": name, "namespace": "ns", "path": "/x"}}});
    let change = |title, old: Json, new: Json| pair(title, [hooks(&[old]), hooks(&[new])]);
    vec![
        pair("a webhook for pods", [hooks(&[]), hooks(&[rules("", json!(["pods"]))])]),
        pair(
            "a webhook for Leases",
            [hooks(&[]), hooks(&[rules("coordination.k8s.io", json!(["leases"]))])],
        ),
        pair(
            "a webhook for Gateways",
            [hooks(&[]), hooks(&[rules("gateway.networking.k8s.io", json!(["gateways"]))])],
        ),
        change(
            "a webhook with another resource",
            rules("g", json!(["ks"])),
            rules("g", json!(["ks", "ls"])),
        ),
        change(
            "a webhook with a core resource",
            rules("g", json!(["ks"])),
            rules("apps", json!(["deployments"])),
        ),
        pair("a policy", [policy(json!("Ignore")), policy(json!("Fail"))]),
        pair("the default of a policy", [policy(json!(null)), policy(json!("Fail"))]),
        pair("an unset policy", [policy(json!("Ignore")), policy(json!(null))]),
        pair("a longer timeout", [timeout(json!(5)), timeout(json!(6))]),
        pair("the default of a timeout", [timeout(json!(null)), timeout(json!(10))]),
        pair("a webhook with another Service", [webhook(service("a")), webhook(service("b"))]),
    ]
}

fn containers() -> Vec<Sample> {
    let arguments = |old: &[&str], new: &[&str]| {
        [container(json!({"args": old})), container(json!({"args": new}))]
    };
    let env = |variables: Json| container(json!({"env": variables}));
    let cron = |image: &str| {
        let pod = json!({"spec": {"containers": [{"name": "c", "image": image}]}});
        let template = json!({"spec": {"jobTemplate": {"spec": {"template": pod}}}});
        one(object("batch/v1", "CronJob", "c", template))
    };
    let user = |user: Json| confined(json!({"runAsUser": user, "runAsNonRoot": null}));
    let host_port =
        |port: u64| container(json!({"ports": [{"containerPort": 80, "hostPort": port}]}));
    let two = |first: Json, second: &str| {
        let second =
            json!({"name": second, "image": "r.io/b:1", "securityContext": {"privileged": true}});
        let mut object = pod(first, json!({}));
        let list = &mut object["spec"]["template"]["spec"]["containers"];
        list.as_array_mut().expect("containers").push(second);
        one(object)
    };
    let resources = |request: &str| {
        container(
            json!({"resources": {"limits": {"memory": "1Gi"}, "requests": {"memory": request}}}),
        )
    };
    let from_secret = |name: &str, mention: &str| {
        let from = json!({"secretKeyRef": {"name": name, "key": "k"}});
        container(
            json!({"env": [{"name": "E", "valueFrom": from}], "args": [format!("--cert-secret-name={mention}")]}),
        )
    };
    let elects = |arguments: Json, variable: &str| {
        let env = json!([{"name": "ENABLE_LEADER_ELECTION", "value": variable}]);
        container(json!({"args": arguments, "env": env}))
    };
    vec![
        pair("a log level", arguments(&["--v=1"], &["--v=2"])),
        pair("a log level with one dash", arguments(&["-v=1"], &["-v=2"])),
        pair("a version of the operator", arguments(&["--version=1.0.0"], &["--version=v1.1.0"])),
        pair("an image in a flag", arguments(&["--image=r.io/a:1"], &["--image=r.io/a:2"])),
        pair(
            "a version that becomes a word",
            arguments(&["--version=1.0.0"], &["--version=latest"]),
        ),
        pair("versions of two flags", arguments(&["--a=1.0.0"], &["--b=1.0.0"])),
        pair("a log level and a feature", arguments(&["--v=1"], &["--v=2", "--feature"])),
        pair("arguments in another order", arguments(&["--a", "--b"], &["--b", "--a"])),
        pair("an argument twice", arguments(&["--a", "--b"], &["--a", "--b", "--b"])),
        pair(
            "an image in a new variable",
            [env(json!([])), env(json!([{"name": "RELATED_IMAGE_X", "value": "r.io/x:1"}]))],
        ),
        pair(
            "a text in a new variable",
            [env(json!([])), env(json!([{"name": "X", "value": "y"}]))],
        ),
        pair(
            "variables in another order",
            [
                env(json!([{"name": "X", "value": "y"}, {"name": "Z", "value": "y"}])),
                env(json!([{"name": "Z", "value": "y"}, {"name": "X", "value": "y"}])),
            ],
        ),
        pair(
            "a mount",
            [
                container(json!({})),
                container(json!({"volumeMounts": [{"name": "v", "mountPath": "/v"}]})),
            ],
        ),
        pair("the image of a CronJob", [cron("r.io/a:1"), cron("r.io/a:2")]),
        pair("a user that is root", [user(json!(1000)), user(json!(0))]),
        pair("a port of the node", [host_port(0), host_port(80)]),
        pair(
            "a privileged container under another name",
            [two(json!({}), "b"), two(json!({}), "d")],
        ),
        pair(
            "a privileged container more",
            [two(json!({}), "b"), two(json!({"securityContext": {"privileged": true}}), "b")],
        ),
        pair("a request that is the limit", [resources("512Mi"), resources("1Gi")]),
        pair("a Secret in an argument", [container(json!({})), from_secret("token", "token")]),
        pair("a Secret that nothing names", [container(json!({})), from_secret("token", "other")]),
        pair(
            "leader election by a flag without a value",
            [elects(json!([]), "false"), elects(json!(["--leader-elect"]), "false")],
        ),
        pair(
            "leader election that is off",
            [elects(json!([]), "false"), elects(json!(["--leader-elect=false"]), "false")],
        ),
        pair(
            "leader election by a variable",
            [elects(json!([]), "false"), elects(json!([]), "true")],
        ),
    ]
}

/// Secrets and ConfigMaps of pods that something else creates.
fn created_elsewhere() -> Vec<Sample> {
    let pods = |from: Json| pod(json!({"env": [{"name": "E", "valueFrom": from}]}), json!({}));
    let secret = |name: &str| pods(json!({"secretKeyRef": {"name": name, "key": "k"}}));
    let map = |name: &str| pods(json!({"configMapKeyRef": {"name": name, "key": "k"}}));
    let issued = object("example.com/v1", "Issued", "i", json!({"spec": {"names": ["token"]}}));
    let annotated = |kind: &str| {
        let metadata = json!({"name": "s", "annotations": {"service.beta.openshift.io/serving-cert-secret-name": "token"}});
        object("v1", kind, "s", json!({"metadata": metadata}))
    };
    let empty = object("v1", "Secret", "token", json!({}));
    let filled = object("v1", "Secret", "token", json!({"data": {"other": "YQ=="}}));
    let new = |title, list: Vec<Json>| objects(title, Vec::new(), list);
    vec![
        new("a Secret of a custom resource", vec![secret("token"), issued]),
        new("a Secret of a Service", vec![secret("token"), annotated("Service")]),
        new("a Secret in another annotation", vec![secret("token"), annotated("ServiceAccount")]),
        new("a ConfigMap of every namespace", vec![map("kube-root-ca.crt")]),
        new("a Secret named like it", vec![secret("kube-root-ca.crt")]),
        new("a key of an empty Secret", vec![secret("token"), empty]),
        new("a key that a Secret lacks", vec![secret("token"), filled]),
    ]
}

fn packages() -> Vec<Sample> {
    let of = |package: &str, chart: &str| {
        let facts =
            ChartFacts { name: chart.to_owned(), values: json!({}), ..ChartFacts::default() };
        Side { package: package.to_owned(), ..side(Of::Chart(facts)) }
    };
    vec![
        ("another package", [of("widgets", "a"), of("gadgets", "a")]),
        ("another chart of a package", [of("widgets", "a"), of("widgets", "b")]),
        ("another chart, and no package", [of("widgets", "a"), of("", "b")]),
        ("the same chart, and no package", [of("widgets", "a"), of("", "a")]),
    ]
}

fn renamed_accounts() -> Vec<Sample> {
    let operator = |account: &str, release: &str| {
        let mut deployment = pod(json!({}), json!({"serviceAccountName": account}));
        deployment["metadata"]["name"] = json!(release);
        let rules =
            [rule(&["apps"], &["deployments"], &["get"]), rule(&["apps"], &["*"], &["list"])];
        vec![
            deployment,
            object(
                "v1",
                "ServiceAccount",
                account,
                json!({"metadata": {"name": account, "labels": {"app": "w"}}}),
            ),
            role("Role", "r", &rules),
            binding("RoleBinding", "b", "r", &[account]),
        ]
    };
    let other = json!({"kind": "ServiceAccount", "name": "sa", "namespace": "other"});
    let elsewhere = |subjects: Json| {
        let role_ref = json!({"apiGroup": RBAC_GROUP, "kind": "ClusterRole", "name": "r"});
        vec![
            role("ClusterRole", "r", &[rule(&["apps"], &["deployments"], &["get"])]),
            object(RBAC, "RoleBinding", "b", json!({"subjects": subjects, "roleRef": role_ref})),
            object(RBAC, "ClusterRoleBinding", "b", json!({"subjects": [], "roleRef": role_ref})),
        ]
    };
    let api = |service: Option<&str>| {
        let spec = json!({"group": "m.example.com", "version": "v1",
            "service": {"name": "metrics", "namespace": "ns"}});
        let mut list = vec![object(
            "apiregistration.k8s.io/v1",
            "APIService",
            "v1.m.example.com",
            json!({"spec": spec}),
        )];
        list.extend(service.map(|name| {
            object("v1", "Service", name, json!({"spec": {"ports": [{"port": 443}]}}))
        }));
        list
    };
    let selects = |selector: Json, labels: Json| {
        let mut pods = pod(json!({}), json!({}));
        pods["spec"]["template"]["metadata"]["labels"] = labels.clone();
        pods["spec"]["selector"]["matchLabels"] = labels;
        vec![
            pods,
            object(
                "v1",
                "Service",
                "s",
                json!({"spec": {"selector": selector, "ports": [{"port": 80, "targetPort": 80}]}}),
            ),
        ]
    };
    vec![
        objects("an account with a new name", operator("w-v1", "w"), operator("w-v2", "w")),
        objects(
            "an account of another namespace in a binding",
            elsewhere(json!([])),
            elsewhere(json!([other])),
        ),
        objects("the Service of an API", api(Some("metrics")), api(None)),
        objects(
            "a label that no pod has",
            selects(json!({"app": "w", "part": "x"}), json!({"app": "w", "part": "x"})),
            selects(json!({"app": "w", "part": "y"}), json!({"app": "w", "part": "x"})),
        ),
    ]
}

#[test]
fn findings_of_samples() {
    let all = [
        added_objects(),
        removed_objects(),
        pods(),
        permissions(),
        crd_fields(),
        schema_keywords(),
        admission(),
        containers(),
        created_elsewhere(),
        renamed_accounts(),
        packages(),
        chart_values(),
        bundles(),
    ];
    let mut shown = String::new();
    for (title, [old, new]) in all.into_iter().flatten() {
        let set = compare(old.clone(), new.clone(), &Options::default());
        shown += &findings(&format!("{title}:"), &set);
        shown += &findings("  reversed:", &compare(new, old, &Options::default()));
    }
    insta::assert_snapshot!(shown);
}
