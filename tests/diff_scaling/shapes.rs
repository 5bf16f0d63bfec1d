//! Pairs of sides with `count` of one thing that a chart may have.

use bundle2chart::diff::{ChartFacts, Placement, Side};
use serde_json::{Map, Value as Json, json};

/// Returns the old side (0) or the new side (1) with `count` of a thing.
pub(crate) type Shape = fn(count: usize, version: usize) -> Side;

/// Every shape with its name.
pub(crate) const SHAPES: &[(&str, Shape)] = &[
    ("rules with other verbs", |count, version| {
        let verbs = if version == 0 { json!(["get"]) } else { json!(["get", "create"]) };
        bound(list(count, |i| rule(json!([format!("r{i}")]), verbs.clone())))
    }),
    ("rules of a ClusterRole with wildcards", |count, version| {
        let verbs = if version == 0 { "get" } else { "*" };
        side([
            role(
                "ClusterRole",
                "r",
                list(count, |i| rule(json!([format!("r{i}")]), json!([verbs]))),
            ),
            binding("ClusterRoleBinding", "b", "ClusterRole", "r", subjects(1)),
        ])
    }),
    ("rules for other resources", |count, version| {
        bound(list(count, |i| rule(json!([format!("r{i}-v{version}")]), json!(["get"]))))
    }),
    ("rules in another order", |count, version| {
        let at = |i| if version == 0 { i } else { count - i };
        bound(list(count, |i| rule(json!([format!("r{}", at(i))]), json!(["get"]))))
    }),
    ("resources of one rule", |count, version| {
        bound(json!([rule(list(count, |i| json!(format!("r{i}-v{version}"))), json!(["get"]))]))
    }),
    ("combinations of one rule", |count, version| {
        let names = |prefix: &str, more| list(count + more, |i| json!(format!("{prefix}{i}")));
        bound(json!([{"apiGroups": names("g", version), "resources": names("r", 0),
            "resourceNames": names("n", version), "verbs": ["get", "list", "watch"]}]))
    }),
    ("verbs of one rule", |count, version| {
        bound(json!([rule(json!(["pods"]), list(count, |i| json!(format!("v{i}-{version}"))))]))
    }),
    ("URLs", |count, version| {
        let url = |i| {
            json!({"nonResourceURLs": [format!("/u{i}/*")],
            "verbs": if version == 0 { json!(["get"]) } else { json!(["get", "put"]) }})
        };
        side([
            role("ClusterRole", "r", list(count, url)),
            binding("ClusterRoleBinding", "b", "ClusterRole", "r", subjects(1)),
        ])
    }),
    ("subjects of one binding", |count, version| {
        let who = list(
            count,
            |i| json!({"kind": "ServiceAccount", "name": format!("a{i}-{version}"), "namespace": "ns"}),
        );
        let rules = list(10, |i| rule(json!([format!("r{i}")]), json!(["get"])));
        side([
            role("ClusterRole", "r", rules),
            binding("ClusterRoleBinding", "b", "ClusterRole", "r", who),
        ])
    }),
    ("subjects of a role that changes", |count, version| {
        let verbs = if version == 0 { json!(["get"]) } else { json!(["get", "create"]) };
        side([
            role("Role", "r", list(10, |i| rule(json!([format!("r{i}")]), verbs.clone()))),
            binding("RoleBinding", "b", "Role", "r", subjects(count)),
        ])
    }),
    ("subjects of a role with as many rules", |count, version| {
        let verbs = if version == 0 { json!(["get"]) } else { json!(["get", "create"]) };
        side([
            role("Role", "r", list(count, |i| rule(json!([format!("r{i}")]), verbs.clone()))),
            binding("RoleBinding", "b", "Role", "r", subjects(count)),
        ])
    }),
    ("roles of one subject", |count, version| {
        let verbs = if version == 0 { json!(["get"]) } else { json!(["get", "create"]) };
        side((0..count).flat_map(|i| {
            let name = format!("r{i}");
            [
                role("Role", &name, json!([rule(json!([name]), verbs.clone())])),
                binding("RoleBinding", &name, "Role", &name, subjects(1)),
            ]
        }))
    }),
    ("bindings of one role", |count, version| {
        let verbs = if version == 0 { json!(["get"]) } else { json!(["get", "create"]) };
        let bindings = (0..count).map(|i| {
            let who =
                json!([{"kind": "ServiceAccount", "name": format!("a{i}"), "namespace": "ns"}]);
            binding("RoleBinding", &format!("b{i}"), "Role", "r", who)
        });
        let rules = list(10, |i| rule(json!([format!("r{i}")]), verbs.clone()));
        side([role("Role", "r", rules)].into_iter().chain(bindings))
    }),
    ("properties of a CRD with another type", |count, version| {
        let kind = if version == 0 { "string" } else { "integer" };
        crd(map(count, |i| (format!("p{i}"), json!({"type": kind}))))
    }),
    ("properties of a CRD with other names", |count, version| {
        crd(map(count, |i| (format!("p{i}-v{version}"), json!({"type": "string", "maxLength": i}))))
    }),
    ("nested properties of a CRD", |count, version| {
        let inner = map(10, |i| (format!("q{i}"), json!({"type": "string", "maxLength": version})));
        let entry = json!({"type": "object", "properties": inner});
        crd(map(count / 10, |i| (format!("p{i}"), entry.clone())))
    }),
    ("required properties and enum values", |count, version| {
        let names = list(count, |i| json!(format!("p{i}-v{version}")));
        crd(json!({"a": {"type": "object", "required": names},
            "b": {"type": "string", "enum": names}}))
    }),
    ("validations", |count, version| {
        let rules =
            |i| json!({"rule": format!("self.p{i} != 'x'"), "message": format!("{version}")});
        crd(json!({"a": {"type": "object", "x-kubernetes-validations": list(count, rules)}}))
    }),
    ("validations with other rules", |count, version| {
        let rules = |i| json!({"rule": format!("self.p{i} != 'v{version}'")});
        let properties = map(count, |i| (format!("p{i}"), json!({"type": "string"})));
        crd(json!({"a": {"type": "object", "properties": properties,
            "x-kubernetes-validations": list(count, rules)}}))
    }),
    ("versions of a CRD", |count, version| {
        let schema = json!({"type": "object", "maxProperties": version + 1});
        side([json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "ks.g"}, "spec": {"group": "g", "scope": "Namespaced",
            "names": {"kind": "K", "plural": "ks"}, "versions": list(count, |i| json!({
                "name": format!("v{i}"), "served": true, "storage": i == 0,
                "schema": {"openAPIV3Schema": schema}}))}})])
    }),
    ("CRDs", |count, version| {
        side((0..count).map(|i| {
            json!({"apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition", "metadata": {"name": format!("k{i}.g")},
            "spec": {"group": "g", "scope": "Namespaced", "names": {"kind": "K", "plural": "ks"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema":
                {"openAPIV3Schema": {"type": "object", "maxProperties": version + 1}}}]}})
        }))
    }),
    ("containers", |count, version| {
        deployment(
            list(count, |i| {
                json!({"name": format!("c{i}"),
            "image": format!("r.io/a:{version}"), "resources": {"limits": {"memory": "1Gi"}},
            "securityContext": {"privileged": version == 1}})
            }),
            json!([]),
        )
    }),
    ("containers with other names", |count, version| {
        deployment(
            list(count, |i| {
                json!({"name": format!("c{i}-{version}"),
            "image": format!("r.io/a:{i}")})
            }),
            json!([]),
        )
    }),
    ("environment variables", |count, version| {
        deployment(
            json!([{"name": "c", "image": "r.io/a:1", "env": list(count, |i| {
                json!({"name": format!("RELATED_IMAGE_{i}"), "value": format!("r.io/{i}:{version}")})
            })}]),
            json!([]),
        )
    }),
    ("arguments", |count, version| {
        deployment(
            json!([{"name": "c", "image": "r.io/a:1",
            "args": list(count, |i| json!(format!("--flag-{i}={version}")))}]),
            json!([]),
        )
    }),
    ("images in arguments", |count, version| {
        deployment(
            json!([{"name": "c", "image": "r.io/a:1", "args": list(count, |i| {
                json!(format!("--image-{i}=r.io/{i}@sha256:{version:064}"))
            })}]),
            json!([]),
        )
    }),
    ("arguments in another order", |count, version| {
        let at = |i| if version == 0 { i } else { count - i };
        deployment(
            json!([{"name": "c", "image": "r.io/a:1",
            "args": list(count, |i| json!(format!("--flag-{}", at(i))))}]),
            json!([]),
        )
    }),
    ("ports and mounts", |count, version| {
        deployment(
            json!([{"name": "c", "image": "r.io/a:1",
            "ports": list(count, |i| json!({"name": format!("p{i}"), "containerPort": i,
                "hostPort": i + version})),
            "volumeMounts": list(count, |i| json!({"name": "v", "mountPath": format!("/m{i}"),
                "readOnly": version == 0}))}]),
            json!([]),
        )
    }),
    ("volumes", |count, version| {
        deployment(
            json!([{"name": "c", "image": "r.io/a:1"}]),
            list(
                count,
                |i| json!({"name": format!("v{i}"), "hostPath": {"path": format!("/p{i}/{version}")}}),
            ),
        )
    }),
    ("Deployments", |count, version| side(deployments(count, version, 0))),
    ("Deployments with other names", |count, version| side(deployments(count, version, version))),
    ("Deployments that name one account", |count, version| {
        let account = (version == 0).then(
            || json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "a"}}),
        );
        side(deployments(count, version, 0).into_iter().chain(account))
    }),
    ("webhooks", |count, version| {
        webhooks(list(count, |i| {
            json!({"name": format!("w{i}.g"), "clientConfig": {},
            "failurePolicy": if version == 0 { "Ignore" } else { "Fail" }})
        }))
    }),
    ("combinations of one webhook", |count, version| {
        let names = |prefix: &str, more| list(count + more, |i| json!(format!("{prefix}{i}")));
        webhooks(json!([{"name": "w.g", "clientConfig": {}, "rules": [{
            "apiGroups": names("g", version), "apiVersions": names("v", 0),
            "resources": names("r", version), "operations": ["CREATE", "UPDATE"]}]}]))
    }),
    ("rules of one webhook", |count, version| {
        webhooks(json!([{"name": "w.g", "clientConfig": {}, "rules": list(count, |i| json!({
            "apiGroups": ["apps"], "apiVersions": [format!("v{version}")],
            "operations": ["CREATE"], "resources": [format!("r{i}")], "scope": "Namespaced"}))}]))
    }),
    ("rules of one webhook with other scopes", |count, version| {
        let scope = if version == 0 { "Namespaced" } else { "*" };
        webhooks(json!([{"name": "w.g", "clientConfig": {}, "rules": list(count, |i| json!({
            "apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["CREATE"],
            "resources": [format!("r{i}")], "scope": scope, "x": version}))}]))
    }),
    ("labels of a webhook's selector", |count, version| {
        let labels = map(count, |i| (format!("l{i}"), json!(format!("{version}"))));
        webhooks(json!([{"name": "w.g", "clientConfig": {},
            "namespaceSelector": {"matchLabels": labels}}]))
    }),
    ("ports of a Service", |count, version| {
        side([json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"},
        "spec": {"selector": {"app": "a"}, "ports": list(count, |i| {
            json!({"name": format!("p{i}"), "port": i * 2 + version, "targetPort": 1})
        })}})])
    }),
    ("rules of a NetworkPolicy", |count, version| {
        side([json!({"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy",
        "metadata": {"name": "n"}, "spec": {"ingress": list(count, |i| {
            json!({"ports": [{"port": i * 2 + version}]})
        })}})])
    }),
    ("settings of a file", |count, version| {
        let line = |i| format!("setting{i}: {}\n", i * 2 + version);
        config_map(json!({"file": (0..count).map(line).collect::<String>()}))
    }),
    ("renamed ConfigMaps", |count, version| {
        let object = |i: usize| {
            let value = |k: usize| (format!("k{k}"), json!(format!("{i}-{k}")));
            let mut data = map(8, value);
            data["own"] = json!(format!("{}", i * (version + 1)));
            json!({"apiVersion": "v1", "kind": "ConfigMap",
                "metadata": {"name": format!("m{version}-{i}")}, "data": data})
        };
        side((0..count).map(object))
    }),
    ("keys of a ConfigMap", |count, version| {
        config_map(map(count, |i| {
            (format!("k{i}"), json!(format!("a: b\ntoken: {i}\nc: {version}")))
        }))
    }),
    ("lines of text that all differ", |count, version| {
        let lines: Vec<String> = (0..count).map(|i| format!("key{i}: {version}")).collect();
        config_map(json!({"text": lines.join("\n")}))
    }),
    ("lines of text that differ here and there", |count, version| {
        let line = |i| format!("key{i}: {}", if i % 20 == 0 { version } else { 0 });
        let lines: Vec<String> = (0..count).map(line).collect();
        config_map(json!({"text": lines.join("\n")}))
    }),
    ("lines of text in another order", |count, version| {
        let line = |i| format!("key: {}", if version == 0 { i } else { count - i });
        let lines: Vec<String> = (0..count).map(line).collect();
        config_map(json!({"text": lines.join("\n")}))
    }),
    ("secrets in one line", |count, version| {
        let words: Vec<String> = (0..count).map(|i| format!("token=s{i}x{version}")).collect();
        config_map(json!({"text": words.join(" ")}))
    }),
    ("labels", |count, version| {
        let labels = map(count, |i| (format!("l{i}"), json!(format!("{version}"))));
        side([json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "c", "labels": labels}})])
    }),
    ("objects that look the same in links", |count, version| {
        side((0..count).map(|i| {
            json!({"apiVersion": format!("g{i}/v1"), "kind": "K",
            "metadata": {"name": "k"}, "x": version})
        }))
    }),
    ("values with other names", |count, version| {
        let values = map(count, |i| (format!("v{i}-{version}"), json!(format!("text {i}"))));
        chart(ChartFacts { values, ..ChartFacts::default() })
    }),
    ("values with another type", |count, version| {
        let value = |i| if version == 0 { json!(i) } else { json!(format!("{i}")) };
        chart(ChartFacts {
            values: map(count, |i| (format!("v{i}"), value(i))),
            ..ChartFacts::default()
        })
    }),
    ("CRDs with another placement", |count, version| {
        let at = if version == 0 { Placement::Templates } else { Placement::Crds };
        let crds = (0..count).map(|i| (format!("k{i}.g"), at)).collect();
        chart(ChartFacts { crds, ..ChartFacts::default() })
    }),
    ("values that the schema refuses", |count, _| {
        let known = map(count, |i| (format!("known{i}"), json!({"type": "string"})));
        let given = map(count, |i| (format!("given{i}"), json!("x")));
        let schema = json!({"type": "object", "additionalProperties": false, "properties": known});
        chart(ChartFacts { schema, given, ..ChartFacts::default() })
    }),
];

fn list(count: usize, item: impl Fn(usize) -> Json) -> Json {
    (0..count).map(item).collect()
}

fn map(count: usize, entry: impl Fn(usize) -> (String, Json)) -> Json {
    Json::Object((0..count).map(entry).collect::<Map<_, _>>())
}

fn side(objects: impl IntoIterator<Item = Json>) -> Side {
    Side::new("side", objects, "ns", None)
}

fn chart(facts: ChartFacts) -> Side {
    Side::new("chart", [], "ns", Some(facts))
}

fn rule(resources: Json, verbs: Json) -> Json {
    json!({"apiGroups": ["g"], "resources": resources, "verbs": verbs})
}

fn role(kind: &str, name: &str, rules: Json) -> Json {
    json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": {"name": name},
        "rules": rules})
}

fn subjects(count: usize) -> Json {
    list(count, |i| json!({"kind": "ServiceAccount", "name": format!("a{i}"), "namespace": "ns"}))
}

fn binding(kind: &str, name: &str, role_kind: &str, role: &str, subjects: Json) -> Json {
    json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": role_kind, "name": role},
        "subjects": subjects})
}

fn bound(rules: Json) -> Side {
    side([role("Role", "r", rules), binding("RoleBinding", "b", "Role", "r", subjects(1))])
}

fn crd(properties: Json) -> Side {
    let schema = json!({"type": "object", "properties":
        {"spec": {"type": "object", "properties": properties}}});
    side([json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "ks.g"}, "spec": {"group": "g", "scope": "Namespaced",
        "names": {"kind": "K", "plural": "ks"}, "versions": [{"name": "v1", "served": true,
            "storage": true, "schema": {"openAPIV3Schema": schema}}]}})])
}

fn deployment(containers: Json, volumes: Json) -> Side {
    side([json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"},
        "spec": {"selector": {"matchLabels": {"app": "d"}}, "template": {
            "metadata": {"labels": {"app": "d"}},
            "spec": {"containers": containers, "volumes": volumes}}}})])
}

fn deployments(count: usize, version: usize, names: usize) -> Vec<Json> {
    let object = |i| {
        let name = format!("d{i}-{names}");
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name},
            "spec": {"selector": {"matchLabels": {"app": name}}, "template": {
                "metadata": {"labels": {"app": name}}, "spec": {"serviceAccountName": "a",
                    "containers": [{"name": "c", "image": format!("r.io/{i}:{version}")}]}}}})
    };
    (0..count).map(object).collect()
}

fn webhooks(list: Json) -> Side {
    side([json!({"apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration", "metadata": {"name": "w"}, "webhooks": list})])
}

fn config_map(data: Json) -> Side {
    side([json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"},
        "data": data})])
}
