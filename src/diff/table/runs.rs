//! Pairs about what runs, and everything else.

use super::*;

pub(super) fn workloads() -> Vec<Case> {
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
            [
                usual(),
                container(
                    json!({"resizePolicy": [{"resourceName": "cpu", "restartPolicy": "NotRequired"}]}),
                ),
            ],
        ),
        (
            "volume-changed",
            [usual(), volume(json!({"name": "v", "secret": {}}))],
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

pub(super) fn webhooks() -> Vec<Case> {
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
    ]
}

pub(super) fn services() -> Vec<Case> {
    let ports = |ports: Json| service(json!({"ports": ports}));
    let node_port = |port: Json| {
        let mut http = json!({"name": "http", "port": 80, "targetPort": 8080});
        join(&mut http, json!({"nodePort": port}));
        ports(json!([http]))
    };
    let annotated = |key: &str, value: &str| {
        let key = format!("service.beta.kubernetes.io/aws-load-balancer-{key}");
        let mut service = object("v1", "Service", "s", json!({"spec": {"ports": [{"port": 80}]}}));
        service["metadata"]["annotations"] = json!({key: value});
        one(service)
    };
    vec![
        (
            "service-routing-changed",
            [node_port(json!(30000)), node_port(json!(30001))],
            [node_port(json!(30000)), node_port(json!(null))],
        ),
        (
            "service-routing-changed",
            [service(json!({"ipFamilies": ["IPv4"]})), service(json!({"ipFamilies": ["IPv6"]}))],
            [service(json!({"ipFamilies": []})), service(json!({}))],
        ),
        (
            "service-routing-changed",
            [annotated("a", "true"), annotated("internal", "true")],
            [annotated("a", "true"), annotated("internal", "false")],
        ),
        (
            "service-exposed",
            [annotated("internal", "true"), annotated("a", "true")],
            [annotated("internal", "false"), annotated("a", "true")],
        ),
        (
            "service-port-renamed",
            [
                ports(json!([{"name": "a", "port": 80}, {"name": "b", "port": 81}])),
                ports(json!([{"name": "b", "port": 80}, {"name": "a", "port": 81}])),
            ],
            [
                ports(json!([{"name": "a", "port": 80}, {"name": "b", "port": 81}])),
                ports(json!([{"name": "b", "port": 81}, {"name": "a", "port": 80}])),
            ],
        ),
        (
            "service-routing-changed",
            [annotated("scheme", "internal"), annotated("scheme", "internet-facing")],
            [annotated("a", "internal"), annotated("a", "internet-facing")],
        ),
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
        ("network-policy-added", [none(), policy(json!({}))], [policy(json!({})), none()]),
        (
            "network-policy-changed",
            [policy(json!({})), policy(json!({"policyTypes": ["Egress"]}))],
            [none(), policy(json!({}))],
        ),
    ]
}

pub(super) fn charts() -> Vec<Case> {
    let with_values = |given: Json| {
        let schema = json!({"type": "object", "properties": {"a": {"type": "integer"}}});
        Of::Chart(ChartFacts { schema, given, values: json!({"a": 1}), ..ChartFacts::default() })
    };
    // Limits of a chart whose schema knows them, or takes any.
    let limits = |limits: Json, known: bool| {
        let all: serde_json::Map<String, Json> =
            limits.as_object().into_iter().flatten().map(|(k, _)| (k.clone(), json!({}))).collect();
        let inner = if known { json!({"properties": all}) } else { json!({"type": "object"}) };
        Of::Chart(ChartFacts {
            values: json!({"limits": limits}),
            schema: json!({"type": "object", "properties": {"limits": inner}}),
            ..ChartFacts::default()
        })
    };
    // A chart for which the value `a` is set.
    let named = |name: &str, version: &str| {
        let (name, version) = (name.to_owned(), version.to_owned());
        Of::Chart(ChartFacts { name, version, values: json!({}), ..ChartFacts::default() })
    };
    let given = |values: Json| {
        let given = json!({"a": 2});
        Of::Chart(ChartFacts { values, given, ..ChartFacts::default() })
    };
    // A chart with its CRD, which may say that it is to be kept.
    let moved = |at: Placement, kept: bool| {
        let mut of = crd(json!({}));
        if kept {
            of["metadata"]["annotations"] = json!({"helm.sh/resource-policy": "keep"});
        }
        let facts = ChartFacts { crds: [("ks.g".to_owned(), at)].into(), ..ChartFacts::default() };
        Of::Both(vec![of], facts)
    };
    vec![
        (
            "value-removed",
            [values(json!({"a": {"b": 1, "c": 1}})), values(json!({"a": {"c": 1}}))],
            [values(json!({"a": {"b": 1}})), values(json!({"c": {"b": 1}}))],
        ),
        (
            // An empty map is for anything.
            "value-removed",
            [values(json!({"a": {"b": 1}})), values(json!({}))],
            [values(json!({"a": {"b": 1}})), values(json!({"a": {}}))],
        ),
        (
            // A list is replaced as a whole.
            "value-removed",
            [values(json!({"a": [{"name": "b"}]})), values(json!({}))],
            [values(json!({"a": [{"name": "b"}]})), values(json!({"a": []}))],
        ),
        (
            "value-removed",
            [limits(json!({"cpu": 1, "memory": 1}), true), limits(json!({"cpu": 1}), true)],
            [limits(json!({"cpu": 1, "memory": 1}), false), limits(json!({"cpu": 1}), false)],
        ),
        (
            "value-removed",
            [given(json!({"a": 1, "b": 1})), given(json!({"b": 1}))],
            [given(json!({"b": 1, "c": 1})), given(json!({"b": 1}))],
        ),
        (
            // Something is replaced by default only where a value is set.
            "image-value-removed",
            [values(json!({"images": {"a": "", "b": ""}})), values(json!({"images": {"b": ""}}))],
            [values(json!({"images": {"a": "r/a"}})), values(json!({"images": {"b": ""}}))],
        ),
        (
            "value-renamed",
            [values(json!({"a": {"image": "r.io/a"}})), values(json!({"b": {"image": "r.io/a"}}))],
            [values(json!({"a": true})), values(json!({"b": true}))],
        ),
        (
            "value-renamed",
            [
                values(json!({"deployments": {"op-v1.0.0": {"replicas": 1}}})),
                values(json!({"deployments": {"op": {"replicas": 2}}})),
            ],
            [
                values(json!({"deployments": {"op-v1.0.0": {"replicas": 1}}})),
                values(json!({"deployments": {"other": {"replicas": 2}}})),
            ],
        ),
        (
            "value-renamed",
            [values(json!({"images": {"a.b": ""}})), values(json!({"images": {"a-b": ""}}))],
            [values(json!({"images": {"a.b": ""}})), values(json!({"images": {"c": ""}}))],
        ),
        (
            "given-value-refused",
            [with_values(json!({"a": 1})), with_values(json!({"a": "x"}))],
            [with_values(json!({"a": 1})), with_values(json!({"a": 1}))],
        ),
        (
            "package-changed",
            [named("widget-operator", "1.0.0"), named("gadget-operator", "1.0.0")],
            [named("widget-operator", "1.0.0"), named("widget-operator", "1.1.0")],
        ),
        (
            "downgrade",
            [named("widget-operator", "1.10.0"), named("widget-operator", "1.9.0")],
            [named("widget-operator", "1.9.0"), named("widget-operator", "1.10.0")],
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
            "crd-placement-left-templates",
            [placed(Placement::Templates), placed(Placement::Crds)],
            [moved(Placement::Templates, true), moved(Placement::Crds, true)],
        ),
        (
            "crd-placement-kept",
            [moved(Placement::Templates, true), moved(Placement::Crds, true)],
            [moved(Placement::Templates, false), moved(Placement::Crds, false)],
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
            "kube-version-changed",
            [kube(">=1.9.0"), kube(">=1.10.0")],
            [kube(">=1.31.0-0"), kube(">=1.30-0")],
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

pub(super) fn objects() -> Vec<Case> {
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
    let job = |image: &str, annotations: Json| {
        let template = json!({"spec": {"containers": [{"name": "c", "image": image}]}});
        let mut job = object("batch/v1", "Job", "j", json!({"spec": {"template": template}}));
        job["metadata"]["annotations"] = annotations;
        one(job)
    };
    let hook_that_stays =
        || json!({"helm.sh/hook": "pre-upgrade", "helm.sh/hook-delete-policy": "hook-failed"});
    let pod = |spec: Json| one(object("v1", "Pod", "p", json!({"spec": spec})));
    let image = |image: &str| json!({"name": "c", "image": image});
    let tolerates = |key: &str| json!({"key": key, "operator": "Exists"});
    let deadline = |seconds: u8| pod(json!({"activeDeadlineSeconds": seconds}));
    let kept = |policy: &str| {
        let mut claim = object("v1", "PersistentVolumeClaim", "x", json!({"spec": {}}));
        claim["metadata"]["annotations"] = json!({"helm.sh/resource-policy": policy});
        one(claim)
    };
    let labelled = |labels: Json| {
        let mut map = config_map("m", json!({}));
        map["metadata"]["labels"] = labels;
        one(map)
    };
    let role = |fields| object("rbac.authorization.k8s.io/v1", "ClusterRole", "r", fields);
    let quota = |spec: Json| one(object("v1", "ResourceQuota", "q", json!({"spec": spec})));
    let limits =
        |limits: Json| one(object("v1", "LimitRange", "l", json!({"spec": {"limits": limits}})));
    let admission = |kind: &str, spec: Json| {
        let version = "admissionregistration.k8s.io/v1";
        one(object(version, kind, "a", json!({"spec": spec})))
    };
    let policy = |spec| admission("ValidatingAdmissionPolicy", spec);
    let bound = |spec| admission("ValidatingAdmissionPolicyBinding", spec);
    let aggregated = |mut fields: Json| {
        fields["aggregationRule"] = json!({"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]});
        one(role(fields))
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
        (
            "controller-field-added",
            [aggregated(json!({})), aggregated(json!({"rules": []}))],
            [one(role(json!({}))), one(role(json!({"rules": []})))],
        ),
        (
            "stored-default-refused",
            [deployment(json!({})), deployment(json!({"strategy": {"type": "Recreate"}}))],
            [
                deployment(json!({"strategy": {"rollingUpdate": {"maxSurge": 1}}})),
                deployment(json!({"strategy": {"type": "Recreate"}})),
            ],
        ),
        (
            "rollback-refused",
            [deployment(json!({"strategy": {"type": "Recreate"}})), deployment(json!({}))],
            [
                deployment(json!({"strategy": {"type": "Recreate"}})),
                deployment(json!({"strategy": {"rollingUpdate": {}}})),
            ],
        ),
        (
            "immutable-field",
            [job("a", json!({})), job("b", json!({}))],
            [
                job("a", json!({"helm.sh/hook": "pre-upgrade"})),
                job("b", json!({"helm.sh/hook": "pre-upgrade"})),
            ],
        ),
        (
            "immutable-field",
            [job("a", json!({})), job("b", hook_that_stays())],
            [job("a", json!({})), job("a", hook_that_stays())],
        ),
        (
            "immutable-field",
            [pod(json!({"nodeName": "a"})), pod(json!({"nodeName": "b"}))],
            [pod(json!({"containers": [image("a")]})), pod(json!({"containers": [image("b")]}))],
        ),
        (
            "immutable-field",
            [pod(json!({"tolerations": [tolerates("a")]})), pod(json!({}))],
            [pod(json!({})), pod(json!({"tolerations": [tolerates("a")]}))],
        ),
        ("immutable-field", [deadline(5), deadline(6)], [deadline(6), deadline(5)]),
        ("immutable-field", [deadline(5), pod(json!({}))], [pod(json!({})), deadline(5)]),
        ("object-kept", [kept("keep"), none()], [kept("no"), none()]),
        ("data-removed", [kept("no"), none()], [kept("keep"), none()]),
        ("immutable-field", [role_ref("a"), role_ref("b")], [role_ref("a"), role_ref("a")]),
        (
            "immutable-field",
            [frozen("a"), frozen("b")],
            [one(config_map("m", json!({"a": "1"}))), one(config_map("m", json!({"a": "2"})))],
        ),
        (
            "quota-changed",
            [quota(json!({"hard": {"pods": 5}})), quota(json!({"hard": {"pods": 4}}))],
            [quota(json!({"hard": {"pods": "1k"}})), quota(json!({"hard": {"pods": 1000}}))],
        ),
        (
            "quota-changed",
            [quota(json!({"hard": {}})), quota(json!({"hard": {"requests.cpu": "4"}}))],
            [quota(json!({"hard": {"requests.cpu": "4"}})), quota(json!({"hard": {}}))],
        ),
        (
            "quota-changed",
            [quota(json!({"scopeSelector": {"matchExpressions": []}})), quota(json!({}))],
            [quota(json!({})), quota(json!({"hard": {}}))],
        ),
        (
            "quota-changed",
            [
                limits(json!([{"type": "Pod", "max": {"cpu": "4"}}])),
                limits(json!([{"type": "Pod", "max": {"cpu": "2"}}])),
            ],
            [
                limits(json!([{"type": "Pod"}, {"type": "Container"}])),
                limits(json!([{"type": "Pod"}])),
            ],
        ),
        (
            "quota-changed",
            [policy(json!({"failurePolicy": "Ignore"})), policy(json!({}))],
            [policy(json!({})), policy(json!({"failurePolicy": "Ignore"}))],
        ),
        (
            "quota-changed",
            [
                policy(json!({"validations": [{"expression": "a"}]})),
                policy(json!({"validations": [{"expression": "a"}, {"expression": "b"}]})),
            ],
            [
                policy(json!({"validations": [{"expression": "b"}, {"expression": "a"}]})),
                policy(json!({"validations": [{"expression": "a", "message": "m"}]})),
            ],
        ),
        (
            "quota-changed",
            [
                policy(json!({"matchConditions": [{"name": "a", "expression": "a"}]})),
                policy(json!({"matchConditions": []})),
            ],
            [
                policy(json!({"matchConditions": []})),
                policy(json!({"matchConditions": [{"name": "a", "expression": "a"}]})),
            ],
        ),
        (
            "quota-changed",
            [
                policy(json!({"matchConstraints": {"matchPolicy": "Exact"}})),
                policy(json!({"matchConstraints": {}})),
            ],
            [
                policy(json!({"matchConstraints": {"matchPolicy": "Equivalent"}})),
                policy(json!({"matchConstraints": {}})),
            ],
        ),
        (
            "quota-changed",
            [
                bound(json!({"validationActions": ["Audit"]})),
                bound(json!({"validationActions": ["Deny"]})),
            ],
            [
                bound(json!({"validationActions": ["Deny"]})),
                bound(json!({"validationActions": ["Deny", "Audit"]})),
            ],
        ),
        (
            "quota-changed",
            [bound(json!({})), bound(json!({"validationActions": ["Warn", "Deny"]}))],
            [
                bound(json!({"validationActions": ["Warn"]})),
                bound(json!({"validationActions": ["Audit"]})),
            ],
        ),
        (
            "quota-changed",
            [bound(json!({"policyName": "a"})), bound(json!({"policyName": "b"}))],
            [
                admission("MutatingAdmissionPolicy", json!({"failurePolicy": "Ignore"})),
                admission("MutatingAdmissionPolicy", json!({"failurePolicy": "Ignore", "a": 1})),
            ],
        ),
        ("workload-removed", [deployment(json!({})), none()], [claim("v1", "Service"), none()]),
        ("service-removed", [service(json!({})), none()], [deployment(json!({})), none()]),
        ("data-removed", [stateful("a"), stateful("b")], [stateful("a"), stateful("a")]),
        (
            "object-renamed",
            // All that mounts it moved, too.
            [
                Of::Objects(vec![config_map("a", data()), mounts("a")]),
                Of::Objects(vec![config_map("b", data()), mounts("b")]),
            ],
            [one(config_map("a", data())), one(config_map("b", data()))],
        ),
        (
            "object-renamed",
            // Nearly the same, and called the same but for its version.
            [
                Of::Objects(vec![
                    config_map("a-v1.0.0", json!({"a": "1", "b": "2", "c": "3"})),
                    mounts("a-v1.0.0"),
                ]),
                Of::Objects(vec![
                    config_map("a-v1.1.0", json!({"a": "1", "b": "2", "c": "4"})),
                    mounts("a-v1.1.0"),
                ]),
            ],
            [
                one(config_map("a-x", json!({"a": "1", "b": "2", "c": "3"}))),
                one(config_map("b-y", json!({"a": "1", "b": "3", "c": "4"}))),
            ],
        ),
        (
            "object-removed",
            [one(object("v1", "Endpoints", "m", json!({}))), none()],
            [one(config_map("m", json!({}))), none()],
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
            "init-order-changed",
            [
                pod_spec(json!({"initContainers": [{"name": "a"}, {"name": "b"}]})),
                pod_spec(json!({"initContainers": [{"name": "b"}, {"name": "a"}]})),
            ],
            [
                pod_spec(json!({"containers": [{"name": "a"}, {"name": "b"}]})),
                pod_spec(json!({"containers": [{"name": "b"}, {"name": "a"}]})),
            ],
        ),
        (
            "field-changed",
            [
                one(object("v1", "Endpoints", "m", json!({"a": "1"}))),
                one(object("v1", "Endpoints", "m", json!({"a": "2"}))),
            ],
            [labelled(json!({"a": "1"})), labelled(json!({"a": "2"}))],
        ),
    ]
}
