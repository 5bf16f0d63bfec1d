//! Objects that come, go and get another name.

use super::*;

pub(super) fn added_objects() -> Vec<Sample> {
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
    let ports = |title, old: Json, new: Json| {
        let with = |ports| vec![object("v1", "Service", "s", json!({"spec": {"ports": ports}}))];
        objects(title, with(old), with(new))
    };
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
        objects(
            "labels that are no metadata",
            vec![object("example.com/v1", "Thing", "t", json!({"spec": {"labels": {"a": "b"}}}))],
            vec![object("example.com/v1", "Thing", "t", json!({"spec": {"labels": {"a": "c"}}}))],
        ),
        new("a budget without evictions", budget(json!({"maxUnavailable": 0}))),
        new("a budget without evictions, in percent", budget(json!({"minAvailable": "100%"}))),
        new("a budget of no percent", budget(json!({"maxUnavailable": "0%"}))),
        new("a budget with evictions", budget(json!({"maxUnavailable": 1, "minAvailable": "50%"}))),
        new("a load balancer", service("LoadBalancer")),
        new("a port of all nodes", service("NodePort")),
        new("a Service in the cluster", service("ClusterIP")),
        objects(
            "a Service that gets a port of all nodes",
            service("ClusterIP"),
            service("NodePort"),
        ),
        ports(
            "a port with another name and number",
            json!([{"name": "a", "port": 80}, {"name": "b", "port": 81}]),
            json!([{"name": "c", "port": 80}, {"name": "b", "port": 82}]),
        ),
        ports(
            "a port with another protocol",
            json!([{"port": 80}]),
            json!([{"port": 80, "protocol": "UDP"}]),
        ),
        ports(
            "a named port",
            json!([{"port": 80}]),
            json!([{"port": 80, "protocol": "TCP", "name": "a", "nodePort": 30000}]),
        ),
        ports("no ports", json!([{"port": 80}]), json!([])),
        new("a default priority class", class(true)),
        new("a priority class", class(false)),
    ]
}

pub(super) fn removed_objects() -> Vec<Sample> {
    let named = |api: &str, kind: &str, name: &str| object(api, kind, name, json!({}));
    let by = |reference: Json, kept: Json| {
        let mut pods = json!({"containers": [{"name": "c", "image": "r.io/a:1"}]});
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
    let named_by_value =
        ChartFacts { values: json!({"serviceAccountName": "sa"}), ..ChartFacts::default() };
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
        pair(
            "an account that only a value names",
            [
                Of::Both(vec![account()], named_by_value.clone()),
                Of::Both(Vec::new(), named_by_value),
            ],
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

/// Secrets and ConfigMaps of pods that something else creates.
pub(super) fn created_elsewhere() -> Vec<Sample> {
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

pub(super) fn renamed_accounts() -> Vec<Sample> {
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
    // A Service with the labels of no single pod.
    let two_pods = |app: &str, part: &str| {
        let mut objects =
            selects(json!({"app": "w", "part": "x"}), json!({"app": "w", "part": part}));
        let mut second = selects(json!({}), json!({"app": app, "part": "x"})).swap_remove(0);
        second["metadata"]["name"] = json!("second");
        objects.push(second);
        objects
    };
    let labelled = |selector: Json, labels: Json| {
        let mut objects = selects(selector.clone(), labels);
        // Before the selector in the list of edits.
        objects[1]["metadata"]["labels"] = selector;
        objects
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
            "a label that no pod has, and one of the Service",
            labelled(json!({"app": "w"}), json!({"app": "w"})),
            labelled(json!({"app": "v"}), json!({"app": "w"})),
        ),
        objects("labels of two pods", two_pods("v", "y"), two_pods("w", "x")),
        objects(
            "a label that no pod has",
            selects(json!({"app": "w", "part": "x"}), json!({"app": "w", "part": "x"})),
            selects(json!({"app": "w", "part": "y"}), json!({"app": "w", "part": "x"})),
        ),
    ]
}
