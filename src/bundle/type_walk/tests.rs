use super::*;
use crate::typed::{check_object, checked_kinds, served_version};
use serde_json::{Value as Json, json};

/// A pod in a Deployment with these fields.
fn pod(fields: Json) -> Json {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "spec": {"selector": {}, "template": {"spec": fields}},
    })
}

fn container(fields: Json) -> Json {
    let mut container = json!({"name": "a"});
    merge(&mut container, &fields);
    pod(json!({"containers": [container]}))
}

fn volume(fields: Json) -> Json {
    let mut volume = json!({"name": "a"});
    merge(&mut volume, &fields);
    pod(json!({"containers": [{"name": "a"}], "volumes": [volume]}))
}

fn webhook(fields: Json) -> Json {
    let mut webhook = json!({
        "name": "a.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None",
        "clientConfig": {"url": "https://example.com"},
    });
    merge(&mut webhook, &fields);
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "webhooks": [webhook],
    })
}

fn merge(map: &mut Json, fields: &Json) {
    for (key, value) in fields.as_object().expect("a map") {
        map[key] = value.clone();
    }
}

/// Returns what is said about the fields that an object lacks, which has metadata.
fn missing(object: &Json) -> Vec<String> {
    let mut object = object.clone();
    object["metadata"] = json!({"name": "a"});
    let check = check_object(object.clone());
    assert_eq!((check.mismatches, check.unknown_fields), (Vec::new(), Vec::new()), "{object}");
    check.missing.iter().map(MissingField::describe).collect()
}

/// Each rule of the API server about a map: the fields of which one is required, each with a value
/// that is enough.
#[test]
fn fields_that_only_the_server_requires() {
    let key = json!({"key": "a", "name": "a"});
    let pods = json!({"spec": {"containers": [{"name": "a"}]}});
    let networking = "networking.k8s.io/v1";
    let ingress = |spec: Json| json!({"apiVersion": networking, "kind": "Ingress", "spec": spec});
    let rule = |without: &str| {
        let mut rule = json!({
            "apiGroups": ["a"], "apiVersions": ["v1"], "operations": ["*"], "resources": ["as"],
        });
        rule.as_object_mut().expect("a map").remove(without);
        webhook(json!({"rules": [rule]}))
    };
    for (object, path, fields) in [
        (
            json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "aggregationRule": {}}),
            "/aggregationRule",
            json!({"clusterRoleSelectors": [{}]}),
        ),
        (
            volume(json!({"downwardAPI": {"items": [{"path": "a"}]}})),
            "/spec/template/spec/volumes/0/downwardAPI/items/0",
            json!({"fieldRef": {"fieldPath": "a"}, "resourceFieldRef": {"resource": "a"}}),
        ),
        (
            container(json!({"envFrom": [{}]})),
            "/spec/template/spec/containers/0/envFrom/0",
            json!({"configMapRef": {"name": "a"}, "secretRef": {"name": "a"}}),
        ),
        (
            container(json!({"env": [{"name": "A", "valueFrom": {}}]})),
            "/spec/template/spec/containers/0/env/0/valueFrom",
            json!({
                "configMapKeyRef": key, "fieldRef": {"fieldPath": "a"},
                "fileKeyRef": {"key": "a", "path": "a", "volumeName": "a"},
                "resourceFieldRef": {"resource": "a"}, "secretKeyRef": key,
            }),
        ),
        (
            json!({
                "apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy",
                "spec": {"podSelector": {}, "ingress": [{"from": [{}]}]},
            }),
            "/spec/ingress/0/from/0",
            json!({"ipBlock": {"cidr": "10.0.0.0/8"}, "namespaceSelector": {}, "podSelector": {}}),
        ),
        (
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"selector": {}, "template": {}}}),
            "/spec/template",
            json!({"spec": {"containers": [{"name": "a"}]}}),
        ),
        (
            container(json!({"livenessProbe": {}})),
            "/spec/template/spec/containers/0/livenessProbe",
            json!({"exec": {}, "grpc": {"port": 1}, "httpGet": {"port": 1}, "tcpSocket": {"port": 1}}),
        ),
        (rule("apiGroups"), "/webhooks/0/rules/0", json!({"apiGroups": ["a"]})),
        (rule("apiVersions"), "/webhooks/0/rules/0", json!({"apiVersions": ["v1"]})),
        (rule("operations"), "/webhooks/0/rules/0", json!({"operations": ["*"]})),
        (rule("resources"), "/webhooks/0/rules/0", json!({"resources": ["as"]})),
        (
            volume(json!({"secret": {}})),
            "/spec/template/spec/volumes/0/secret",
            json!({"secretName": "a"}),
        ),
        (json!({"apiVersion": "v1", "kind": "Service"}), "", json!({"spec": {}})),
        (json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim"}), "", json!({"spec": {}})),
        (json!({"apiVersion": "v1", "kind": "Pod"}), "", json!({"spec": pods["spec"]})),
        (json!({"apiVersion": "batch/v1", "kind": "Job"}), "", json!({"spec": {"template": pods}})),
        (
            json!({"apiVersion": "batch/v1", "kind": "CronJob", "spec": {"schedule": "a", "jobTemplate": {}}}),
            "/spec/jobTemplate",
            json!({"spec": {"template": pods}}),
        ),
        (
            json!({"apiVersion": networking, "kind": "IngressClass"}),
            "",
            json!({"spec": {"controller": "a"}}),
        ),
        (
            json!({"apiVersion": networking, "kind": "IngressClass", "spec": {}}),
            "/spec",
            json!({"controller": "a"}),
        ),
        (
            json!({"apiVersion": networking, "kind": "Ingress"}),
            "",
            json!({"spec": {"rules": [{}]}}),
        ),
        (
            ingress(json!({})),
            "/spec",
            json!({"defaultBackend": {"resource": {"kind": "A", "name": "a"}}, "rules": [{}]}),
        ),
        (
            ingress(json!({"defaultBackend": {}})),
            "/spec/defaultBackend",
            json!({"resource": {"kind": "A", "name": "a"}, "service": {"name": "a", "port": {"number": 1}}}),
        ),
        (
            ingress(json!({"defaultBackend": {"service": {"name": "a"}}})),
            "/spec/defaultBackend/service",
            json!({"port": {"number": 1}}),
        ),
        (
            ingress(json!({"defaultBackend": {"service": {"name": "a", "port": {}}}})),
            "/spec/defaultBackend/service/port",
            json!({"name": "a", "number": 1}),
        ),
        (
            json!({
                "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
                "spec": {
                    "group": "example.com", "names": {"kind": "Lamp", "plural": "lamps"},
                    "scope": "Namespaced",
                    "versions": [{"name": "v1", "schema": {"openAPIV3Schema": {"x-kubernetes-validations": [{}]}}}],
                },
            }),
            "/spec/versions/0/schema/openAPIV3Schema/x-kubernetes-validations/0",
            json!({"rule": "self > 0"}),
        ),
        (
            webhook(json!({"clientConfig": {}})),
            "/webhooks/0/clientConfig",
            json!({"service": {"name": "a", "namespace": "b"}, "url": "https://example.com"}),
        ),
    ] {
        let fields = fields.as_object().expect("a map");
        let keys: Vec<String> = fields.keys().map(|key| format!("`{key}`")).collect();
        let at: String = path
            .split('/')
            .skip(1)
            .map(|step| match step.parse::<usize>() {
                Ok(_) => format!("[{step}]"),
                Err(_) => format!(".{step}"),
            })
            .collect();
        let why = match keys.as_slice() {
            [key] => format!("has no value for required field `{at}.{}`", key.trim_matches('`')),
            keys => format!("has none of {} at `{at}`", keys.join(", ")),
        };
        assert_eq!(missing(&object), [why], "{object}");
        for (key, value) in fields {
            let mut with = object.clone();
            with.pointer_mut(path).expect("a place")[key] = value.clone();
            assert_eq!(missing(&with), [""; 0], "{with}");
        }
    }
}

/// Each field that the types require, but whose zero value is like a missing one and valid.
#[test]
fn zero_is_enough_for_some_required_fields() {
    let crd = |version: Json| {
        json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "spec": {
                "group": "example.com", "names": {"kind": "Lamp", "plural": "lamps"},
                "scope": "Namespaced", "versions": [version],
            },
        })
    };
    let headers = |header: Json| {
        container(json!({"livenessProbe": {"httpGet": {"port": 1, "httpHeaders": [header]}}}))
    };
    let iscsi = |mut source: Json| {
        merge(&mut source, &json!({"iqn": "a", "targetPortal": "b"}));
        volume(json!({"iscsi": source}))
    };
    let sleep = |action: Json| container(json!({"lifecycle": {"preStop": {"sleep": action}}}));
    let secrets = |secret: Json| json!({"apiVersion": "v1", "kind": "ServiceAccount", "imagePullSecrets": [secret]});
    let claims = |mut claim: Json| {
        merge(
            &mut claim,
            &json!({"metadata": {"name": "a"}, "spec": {"accessModes": ["ReadWriteOnce"]}}),
        );
        let template = json!({"spec": {"containers": [{"name": "a"}]}});
        json!({
            "apiVersion": "apps/v1", "kind": "StatefulSet",
            "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template,
                "serviceName": "a", "volumeClaimTemplates": [claim]},
        })
    };
    for objects in [
        [crd(json!({"name": "v1"})), crd(json!({"name": "v1", "served": false, "storage": false}))],
        [headers(json!({"name": "A"})), headers(json!({"name": "A", "value": ""}))],
        [secrets(json!({})), secrets(json!({"name": ""}))],
        [iscsi(json!({})), iscsi(json!({"lun": 0}))],
        [sleep(json!({})), sleep(json!({"seconds": 0}))],
        [claims(json!({})), claims(json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim"}))],
    ] {
        for object in objects {
            assert_eq!(missing(&object), [""; 0], "{object}");
        }
    }
}

/// Each kind that is checked, with a field whose type is wrong.
#[test]
fn kinds_have_their_types() {
    let webhooks = "admissionregistration.k8s.io/v1";
    let rbac = "rbac.authorization.k8s.io/v1";
    let kinds = [
        (webhooks, "MutatingWebhookConfiguration", "webhooks"),
        (webhooks, "ValidatingWebhookConfiguration", "webhooks"),
        ("apiextensions.k8s.io/v1", "CustomResourceDefinition", "spec"),
        ("apps/v1", "Deployment", "spec"),
        ("networking.k8s.io/v1", "NetworkPolicy", "spec"),
        ("policy/v1", "PodDisruptionBudget", "spec"),
        (rbac, "ClusterRole", "aggregationRule"),
        (rbac, "ClusterRoleBinding", "roleRef"),
        (rbac, "Role", "rules"),
        (rbac, "RoleBinding", "subjects"),
        ("scheduling.k8s.io/v1", "PriorityClass", "globalDefault"),
        ("v1", "ConfigMap", "binaryData"),
        ("v1", "Secret", "stringData"),
        ("v1", "Service", "spec"),
        ("v1", "ServiceAccount", "imagePullSecrets"),
        ("apps/v1", "DaemonSet", "spec"),
        ("apps/v1", "StatefulSet", "spec"),
        ("autoscaling/v2", "HorizontalPodAutoscaler", "spec"),
        ("autoscaling/v1", "HorizontalPodAutoscaler", "spec"),
        ("batch/v1", "CronJob", "spec"),
        ("batch/v1", "Job", "spec"),
        ("v1", "LimitRange", "spec"),
        ("v1", "Namespace", "spec"),
        ("v1", "PersistentVolumeClaim", "spec"),
        ("v1", "Pod", "spec"),
        ("v1", "ResourceQuota", "spec"),
        ("networking.k8s.io/v1", "Ingress", "spec"),
        ("networking.k8s.io/v1", "IngressClass", "spec"),
        ("storage.k8s.io/v1", "StorageClass", "parameters"),
        ("resource.k8s.io/v1", "ResourceClaim", "spec"),
        ("resource.k8s.io/v1", "ResourceClaimTemplate", "spec"),
    ];
    for (version, kind, field) in kinds {
        let check = check_object(json!({"apiVersion": version, "kind": kind, field: 5}));
        let paths: Vec<_> = check.mismatches.iter().map(|found| found.path.as_str()).collect();
        assert_eq!(paths, [format!(".{field}")], "{kind}");
        assert_eq!(served_version(version, kind), Some(version), "{kind}");
        let others = [served_version("example.com/v1", kind), served_version(version, "Widget")];
        assert_eq!(others, [None, None], "{kind}");
    }
    assert!(checked_kinds().eq(kinds.map(|(version, kind, _)| (version, kind))));
}

/// Spellings that a hint can mend, and the nearest that it cannot.
#[test]
fn values_of_another_spelling() {
    let spelling = |object: Json| {
        let check = check_object(object);
        let [found] = check.mismatches.as_slice() else { panic!("{check:?}") };
        found.spelling()
    };
    let quotes = Some("put the value in quotes");
    let secret =
        |value: Json| json!({"apiVersion": "v1", "kind": "Secret", "stringData": {"a": value}});
    for (value, hint) in [
        (json!(true), quotes),
        (json!(5), quotes),
        (json!(1.5), quotes),
        (json!([]), None),
        (json!({}), None),
    ] {
        assert_eq!(spelling(secret(value.clone())), hint, "{value}");
    }
    let secret = |value: Json| json!({"apiVersion": "v1", "kind": "Secret", "immutable": value});
    for (value, hint) in
        [(json!("true"), Some("write true or false without quotes")), (json!(1), None)]
    {
        assert_eq!(spelling(secret(value.clone())), hint, "{value}");
    }
    let limits = container(json!({"resources": {"limits": {"cpu": "a"}}}));
    assert_eq!(spelling(limits), None);
}

/// Values of a CRD that are free, but not their type.
#[test]
fn the_status_of_a_subresource_is_a_map() {
    let crd = |status: Json| {
        check_object(json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "spec": {
                "group": "example.com", "names": {"kind": "Lamp", "plural": "lamps"},
                "scope": "Namespaced",
                "versions": [{"name": "v1", "subresources": {"status": status}}],
            },
        }))
    };
    assert_eq!(crd(json!({})).mismatches, []);
    let path = ".spec.versions[0].subresources.status".to_owned();
    let why = "it must be a map".to_owned();
    assert_eq!(crd(json!("a")).mismatches, [TypeMismatch { path, why }]);
}

#[test]
fn tables_are_sorted_by_type() {
    assert!(REQUIRED_BY_SERVER.is_sorted_by_key(|row| row.0));
    assert!(VALUES.is_sorted_by_key(|row| (row.0, row.1)));
    assert!(FORMS.is_sorted_by_key(|row| (row.0, row.1)));
}

#[test]
fn names_of_ports() {
    for (name, good) in [
        ("https", true),
        ("a-very-long-nam", true),
        ("a-very-long-name", false),
        ("8080", false),
        ("80a", true),
        ("a--b", false),
        ("-a", false),
        ("Http", false),
        ("", false),
    ] {
        assert_eq!(super::server_rules::is_port(name), good, "{name}");
    }
}

/// Each form of what is said about values that the API server does not allow, and where it says it.
#[test]
fn refused_values_are_named_with_their_place() {
    let probe = |probe: Json| container(json!({"livenessProbe": probe}));
    let service = |fields: Json| {
        let mut port = json!({"port": 80});
        merge(&mut port, &fields);
        json!({"apiVersion": "v1", "kind": "Service", "spec": {"ports": [port]}})
    };
    let claim = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "spec": {
            "accessModes": ["ReadWriteOnce", "ReadWriteAll"], "volumeMode": "Disk",
            "resources": {"requests": {"storage": "1Gi"}},
        },
    });
    let in_container = ".spec.template.spec.containers[0]";
    let words = "must have lower-case letters, digits and dashes only";
    for (object, expected) in [
        (
            probe(json!({"tcpSocket": {"port": 1}, "grpc": {"port": 1}})),
            vec![(format!("{in_container}.livenessProbe"), "has both grpc and tcpSocket".into())],
        ),
        (
            claim,
            vec![
                (
                    ".spec.accessModes[1]".into(),
                    "has accessModes `ReadWriteAll`, not `ReadOnlyMany`, `ReadWriteMany`, \
                     `ReadWriteOnce`, `ReadWriteOncePod`"
                        .into(),
                ),
                (
                    ".spec.volumeMode".into(),
                    "has volumeMode `Disk`, not `Block`, `Filesystem`".into(),
                ),
            ],
        ),
        (
            container(json!({"name": "A_1"})),
            vec![(
                format!("{in_container}.name"),
                format!("has container name \"A_1\", which {words}"),
            )],
        ),
        // An empty name is a missing one, and one fault of a field is enough.
        (service(json!({"name": ""})), vec![]),
        (
            service(json!({"name": "B_1", "targetPort": "80"})),
            vec![
                (".spec.ports[0].name".into(), format!("has port name \"B_1\", which {words}")),
                (
                    ".spec.ports[0].targetPort".into(),
                    "has target port \"80\", which is a port name and must contain a letter; \
                     write a number without quotes"
                        .into(),
                ),
            ],
        ),
        (
            service(json!({"port": 65_536})),
            vec![(".spec.ports[0].port".into(), "has port 65536, not 1 to 65535".into())],
        ),
        (
            probe(json!({"tcpSocket": {"port": 1}, "periodSeconds": -1})),
            vec![(
                format!("{in_container}.livenessProbe.periodSeconds"),
                "has periodSeconds -1, less than 0".into(),
            )],
        ),
    ] {
        let mut object = object;
        object["metadata"] = json!({"name": "a"});
        let check = check_object(object.clone());
        assert_eq!(check.unsupported, expected, "{object}");
        assert!(check.refusals().eq(expected.into_iter()));
    }
}

/// Paths that the API server calls, and names of webhooks.
#[test]
fn paths_and_names_of_webhooks() {
    let refused = |fields: Json| check_object(webhook(fields)).unsupported.len();
    let at = |path: &str| json!({"clientConfig": {"service": {"name": "a", "namespace": "b", "path": path}}});
    for path in ["/", "/a", "/a/", "/a/b-1", "/a.b"] {
        assert_eq!(refused(at(path)), 0, "{path}");
    }
    for path in ["a", "a/", "//", "/a//b", "/a/B", "/A/b", "/-a"] {
        assert_eq!(refused(at(path)), 1, "{path}");
    }
    for (name, expected) in [("a.example.com", 0), ("example.com", 1), ("A.example.com", 1)] {
        assert_eq!(refused(json!({"name": name})), expected, "{name}");
    }
}
