//! Pairs about APIs and access.

use super::*;

pub(super) fn crds() -> Vec<Case> {
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
            "crd-unserved-version-removed",
            [versions(&[v("v1"), unserved("v1a")]), versions(&[v("v1")])],
            [versions(&[v("v1"), v("v1a")]), versions(&[v("v1")])],
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

pub(super) fn schemas() -> Vec<Case> {
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
            [
                text(json!({"pattern": "^[^a]{1,90000}$"})),
                text(json!({"pattern": "^[^b]{1,90000}$"})),
            ],
            [text(json!({"pattern": "a"})), text(json!({"pattern": "b"}))],
        ),
        (
            "crd-format-changed",
            [text(json!({"format": "email"})), text(json!({"format": "date-time"}))],
            [text(json!({"format": "int32"})), text(json!({"format": "int64"}))],
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
                list(json!({"x-kubernetes-list-type": "map"})),
                list(json!({"x-kubernetes-list-type": "atomic"})),
            ],
            [list(json!({})), list(json!({"minItems": 1}))],
        ),
        (
            "crd-combination-narrowed",
            [text(json!({})), text(json!({"not": {"enum": ["a"]}}))],
            [text(json!({"not": {"enum": ["a"]}})), text(json!({}))],
        ),
        (
            "crd-schema-changed",
            [text(json!({})), text(json!({"x-kubernetes-embedded-resource": true}))],
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

pub(super) fn rbac() -> Vec<Case> {
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
            [bound(&[get()]), bound(&[get(), rule(&[RBAC_GROUP], &["roles"], &["bind"])])],
            [bound(&[get()]), bound(&[get(), rule(&[RBAC_GROUP], &["roles"], &["get"])])],
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
            [none(), one(binding("ClusterRoleBinding", "b", "edit", &["sa"]))],
            [
                one(binding("ClusterRoleBinding", "b", "edit", &["sa"])),
                one(binding("ClusterRoleBinding", "another-name", "edit", &["sa"])),
            ],
        ),
        (
            "rbac-escalation",
            [none(), one(binding("ClusterRoleBinding", "b", "cluster-admin", &["sa"]))],
            [
                one(binding("ClusterRoleBinding", "b", "cluster-admin", &["sa"])),
                Of::Objects(vec![
                    binding("ClusterRoleBinding", "b", "cluster-admin", &["sa"]),
                    role("ClusterRole", "r", &[rule(&["*"], &["*"], &["*"])]),
                    binding("ClusterRoleBinding", "c", "r", &["sa"]),
                ]),
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
