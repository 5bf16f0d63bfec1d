//! Properties of the classes over the kinds and settings that rules are about: a change is never less
//! than what it contains, and equal facts have equal classes.

use super::*;

/// Returns how bad the verdict is; 0 without differences.
fn weight(set: &ChangeSet) -> usize {
    set.class().map_or(0, |class| Class::ALL.len() - class as usize)
}

fn named(mut object: Json, name: &str) -> Json {
    object["metadata"]["name"] = json!(name);
    object
}

/// An object of every kind that a rule is about, with the fields that narrow it: a pointer and the
/// narrower value, where null removes.
fn kinds() -> Vec<(Json, Vec<(&'static str, Json)>)> {
    let of = |api: &str, kind: &str, rest: Json| object(api, kind, "a", rest);
    let custom = |api: &str, kind: &str| of(api, kind, json!({"spec": {"a": 1, "b": 2}}));
    let pods = |kind: &str| {
        let mut object = pod(json!({}), json!({}));
        object["kind"] = json!(kind);
        object
    };
    let webhooks = |kind: &str| {
        let webhook = hook(json!({"timeoutSeconds": 30, "failurePolicy": "Fail", "rules": [
            {"apiGroups": ["g"], "apiVersions": ["v1", "v2"], "resources": ["ks", "ls"],
                "operations": ["*"]},
            {"apiGroups": ["h"], "apiVersions": ["v1"], "resources": ["ms"],
                "operations": ["CREATE", "UPDATE"]}]}));
        let api = "admissionregistration.k8s.io/v1";
        (
            of(api, kind, json!({"webhooks": [webhook]})),
            vec![
                ("/webhooks/0/rules/0/operations", json!(["CREATE", "UPDATE"])),
                ("/webhooks/0/rules/0/resources", json!(["ks"])),
                ("/webhooks/0/rules/0/apiVersions", json!(["v1"])),
                ("/webhooks/0/rules/1", Json::Null),
                ("/webhooks/0/rules/0/scope", json!("Cluster")),
                ("/webhooks/0/matchPolicy", json!("Exact")),
                ("/webhooks/0/objectSelector", json!({"matchLabels": {"a": "b"}})),
                ("/webhooks/0/namespaceSelector", json!({"matchLabels": {"a": "b"}})),
                ("/webhooks/0/matchConditions", json!([{"name": "a", "expression": "true"}])),
                ("/webhooks/0/timeoutSeconds", json!(1)),
                ("/webhooks/0/failurePolicy", json!("Ignore")),
            ],
        )
    };
    let ports = json!({"selector": {"app": "d"}, "type": "LoadBalancer", "ports": [
        {"name": "a", "port": 80, "targetPort": 80}, {"name": "b", "port": 81, "targetPort": 81}]});
    let host =
        |host: &str| json!({"host": host, "http": {"paths": [{"path": "/", "backend": {}}]}});
    let data = || json!({"data": {"a": "b2Zm", "b": "b24="}});
    let verbs = || json!({"rules": [rule(&["g"], &["ks", "ls"], &["get", "list"])]});
    let lost = || {
        vec![
            ("/rules/0/verbs", json!(["get"])),
            ("/rules/0/resources", json!(["ks"])),
            ("/rules/0/resourceNames", json!(["x"])),
        ]
    };
    let claim = || json!({"spec": {"resources": {"requests": {"storage": "2Gi"}}}});
    let labels =
        |name: &str, value: &str| json!({"metadata": {"name": "a", "labels": {name: value}}});
    vec![
        (
            of("v1", "Namespace", labels("pod-security.kubernetes.io/enforce", "privileged")),
            vec![("/metadata/labels/pod-security.kubernetes.io~1enforce", json!("restricted"))],
        ),
        (
            of("v1", "PersistentVolumeClaim", claim()),
            vec![("/spec/resources/requests/storage", json!("1Gi"))],
        ),
        (
            of(
                "v1",
                "PersistentVolume",
                json!({"spec": {"persistentVolumeReclaimPolicy": "Retain"}}),
            ),
            vec![("/spec/persistentVolumeReclaimPolicy", json!("Delete"))],
        ),
        (pods("StatefulSet"), vec![("/spec/replicas", json!(1))]),
        (pods("Deployment"), vec![("/spec/replicas", json!(1)), ("/spec/paused", json!(true))]),
        (pods("DaemonSet"), vec![("/spec/updateStrategy", json!({"type": "OnDelete"}))]),
        (pods("ReplicaSet"), vec![("/spec/replicas", json!(1))]),
        (custom("batch/v1", "Job"), vec![]),
        (
            of("batch/v1", "CronJob", json!({"spec": {"schedule": "* * * * *"}})),
            vec![("/spec/suspend", json!(true)), ("/spec/schedule", json!("0 0 * * *"))],
        ),
        (
            of("v1", "Service", json!({"spec": ports})),
            vec![
                ("/spec/ports/1", Json::Null),
                ("/spec/ports/1/name", json!("c")),
                ("/spec/type", json!("ClusterIP")),
                ("/spec/selector", json!({"app": "d", "tier": "x"})),
            ],
        ),
        (
            of(
                "networking.k8s.io/v1",
                "Ingress",
                json!({"spec": {"rules": [host("a"), host("b")]}}),
            ),
            vec![("/spec/rules/1", Json::Null)],
        ),
        (custom("gateway.networking.k8s.io/v1", "HTTPRoute"), vec![]),
        (custom("gateway.networking.k8s.io/v1", "Gateway"), vec![]),
        (
            of(
                "apiregistration.k8s.io/v1",
                "APIService",
                json!({"spec": {"group": "g", "version": "v1"}}),
            ),
            vec![("/spec/service", json!({"name": "s", "namespace": "other"}))],
        ),
        (of("v1", "ConfigMap", data()), vec![("/data/b", Json::Null), ("/data/a", json!("on"))]),
        (of("v1", "Secret", data()), vec![("/data/b", Json::Null), ("/data/a", json!("b24="))]),
        (
            of("v1", "ServiceAccount", json!({"imagePullSecrets": [{"name": "p"}]})),
            vec![("/imagePullSecrets", Json::Null)],
        ),
        (
            of("scheduling.k8s.io/v1", "PriorityClass", json!({"value": 1, "globalDefault": true})),
            vec![("/globalDefault", json!(false))],
        ),
        (of("storage.k8s.io/v1", "StorageClass", json!({"provisioner": "p"})), vec![]),
        (of("networking.k8s.io/v1", "IngressClass", json!({"spec": {"controller": "c"}})), vec![]),
        (of("node.k8s.io/v1", "RuntimeClass", json!({"handler": "h"})), vec![]),
        (
            of("policy/v1", "PodDisruptionBudget", json!({"spec": {"minAvailable": 2}})),
            vec![("/spec/minAvailable", json!(1))],
        ),
        (
            of("autoscaling/v2", "HorizontalPodAutoscaler", json!({"spec": {"maxReplicas": 5}})),
            vec![("/spec/maxReplicas", json!(3))],
        ),
        (custom("cert-manager.io/v1", "ClusterIssuer"), vec![("/spec/b", Json::Null)]),
        (custom("monitoring.coreos.com/v1", "ServiceMonitor"), vec![("/spec/b", Json::Null)]),
        (of(RBAC, "Role", verbs()), lost()),
        (of(RBAC, "ClusterRole", verbs()), lost()),
        (binding("RoleBinding", "a", "r", &["x", "y"]), vec![("/subjects/1", Json::Null)]),
        (binding("ClusterRoleBinding", "a", "r", &["x", "y"]), vec![("/subjects/1", Json::Null)]),
        (
            of(
                "networking.k8s.io/v1",
                "NetworkPolicy",
                json!({"spec": {"ingress": [{}, {"a": 1}]}}),
            ),
            vec![("/spec/ingress/1", Json::Null)],
        ),
        webhooks("ValidatingWebhookConfiguration"),
        webhooks("MutatingWebhookConfiguration"),
        (custom("v1", "ResourceQuota"), vec![("/spec/b", Json::Null)]),
        (custom("v1", "Endpoints"), vec![]),
    ]
}

/// Kinds that apply to what they select, so that no field and no client names them: a renamed one has
/// the same effect as before.
const UNNAMED: [&str; 7] = [
    "PodDisruptionBudget",
    "HorizontalPodAutoscaler",
    "NetworkPolicy",
    "ValidatingWebhookConfiguration",
    "MutatingWebhookConfiguration",
    "RoleBinding",
    "ClusterRoleBinding",
];

#[test]
fn a_rename_is_no_less_than_the_removal_in_it() {
    for (object, _) in kinds() {
        let kind = object["kind"].as_str().expect("a kind").to_owned();
        let object = named(object, "a");
        let removal = diff(one(object.clone()), none());
        let rename = diff(one(object.clone()), one(named(object, "b")));
        assert_eq!(rename.acted("renamed"), 1, "{kind}: {:?}", rename.objects);
        if UNNAMED.contains(&kind.as_str()) {
            assert_eq!(rename.class(), Some(Class::Info), "{kind}");
        } else {
            assert!(weight(&rename) >= weight(&removal), "{}", findings(&kind, &rename));
        }
    }
}

#[test]
fn a_rename_with_all_that_refers_to_it_is_harmless() {
    let mounts = |kind: &str, name: &str| {
        let reference = match kind {
            "ServiceAccount" => json!({"serviceAccountName": name}),
            "Secret" => json!({"volumes": [{"name": "v", "secret": {"secretName": name}}]}),
            _ => json!({"volumes": [{"name": "v", "configMap": {"name": name}}]}),
        };
        pod(json!({}), reference)
    };
    for (kind, class) in [("ConfigMap", Class::Info), ("Secret", Class::Info)] {
        let side = |name: &str| {
            let object = object("v1", kind, name, json!({"data": {"a": "YQ==", "b": "YQ=="}}));
            Of::Objects(vec![object, mounts(kind, name)])
        };
        let set = diff(side("a"), side("b"));
        assert_eq!(set.class(), Some(class), "{}", findings(kind, &set));
    }
    // One reference to the old name is enough.
    let old = vec![config_map("a", json!({"x": "1"})), mounts("ConfigMap", "a")];
    let new = vec![config_map("b", json!({"x": "1"})), mounts("ConfigMap", "a")];
    let set = diff(Of::Objects(old), Of::Objects(new));
    assert_eq!(set.class(), Some(Class::Breaking));
}

/// Sets the value at a pointer, whose parent exists; null removes it.
fn narrowed(mut object: Json, pointer: &str, value: &Json) -> Json {
    let (parent, key) = pointer.rsplit_once('/').expect("a pointer");
    let key = key.replace("~1", "/");
    match object.pointer_mut(parent).expect("a parent") {
        Json::Array(items) => {
            let index: usize = key.parse().expect("an index");
            items.remove(index);
        }
        parent if value.is_null() => {
            parent.as_object_mut().expect("a map").shift_remove(&key).expect("a value");
        }
        parent => parent[key] = value.clone(),
    }
    object
}

#[test]
fn a_narrowing_is_no_more_than_the_removal_and_is_seen() {
    for (object, narrowings) in kinds() {
        let kind = object["kind"].as_str().expect("a kind").to_owned();
        let removal = diff(one(object.clone()), none());
        for (pointer, value) in narrowings {
            let narrowing =
                diff(one(object.clone()), one(narrowed(object.clone(), pointer, &value)));
            let title = format!("{kind}{pointer}: {value}");
            assert!(weight(&narrowing) <= weight(&removal), "{}", findings(&title, &narrowing));
            // Where the removal is worth a look, so is losing a part.
            let of_custom = ["ClusterIssuer", "ServiceMonitor"].contains(&kind.as_str());
            if weight(&removal) > 1 && !of_custom {
                assert!(weight(&narrowing) > 1, "{}", findings(&title, &narrowing));
            }
        }
    }
}

/// A CRD field: its removal loses at least what any constraint of it rejects.
#[test]
fn no_constraint_of_a_field_is_more_than_its_removal() {
    let whole = json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {}}});
    let without = json!({"type": "object", "properties": {"b": {}}});
    let removal = diff(schema(whole.clone()), schema(without));
    for keyword in [
        json!({"enum": ["x"]}),
        json!({"pattern": "^x$"}),
        json!({"maxLength": 1}),
        json!({"minLength": 1}),
        json!({"format": "date"}),
        json!({"default": "x"}),
        json!({"default": 1}),
        json!({"type": "integer"}),
        json!({"nullable": true}),
        json!({"x-kubernetes-validations": [{"rule": "self != ''"}]}),
    ] {
        let mut narrow = whole.clone();
        join(&mut narrow["properties"]["a"], keyword.clone());
        let narrowing = diff(schema(whole.clone()), schema(narrow));
        assert!(weight(&narrowing) <= weight(&removal), "{}", findings("", &narrowing));
    }
    // Leniency does not follow from the name of a field.
    for name in ["name", "key", "namespace", "secretName", "value", "x"] {
        let with = |constraint: Json| {
            let mut field = json!({"type": "string"});
            join(&mut field, constraint);
            let reference = json!({"type": "object", "properties": {name: field, "optional": {}}});
            schema(json!({"type": "object", "properties": {"secretRef": reference}}))
        };
        for keyword in [json!({"pattern": "^[-._a-zA-Z0-9]+$"}), json!({"maxLength": 253})] {
            let set = diff(with(json!({})), with(keyword));
            assert_eq!(set.class(), Some(Class::Breaking), "{}", findings(name, &set));
        }
    }
}

/// A setting as flag, variable, value of a ConfigMap and line of a file, with its old and new value;
/// `None` without it.
fn places(name: &str, old: Option<&str>, new: Option<&str>) -> Vec<(&'static str, ChangeSet)> {
    let variable = name.to_uppercase().replace('-', "_");
    let args = |value: Option<&str>| {
        let flag = value.map(|value| format!("--{name}={value}"));
        let args: Vec<String> = ["--other=1".to_owned()].into_iter().chain(flag).collect();
        container(json!({"args": args}))
    };
    let env = |value: Option<&str>| {
        let setting = value.map(|value| json!({"name": variable, "value": value}));
        let other = json!({"name": "OTHER", "value": "1"});
        let env: Vec<Json> = [other].into_iter().chain(setting).collect();
        container(json!({"env": env}))
    };
    let key = |value: Option<&str>| {
        let mut data = json!({"other": "1"});
        if let Some(value) = value {
            data[name] = json!(value);
        }
        one(config_map("m", data))
    };
    let file = |form: &'static str, value: Option<&str>| {
        let line = value.map(|value| form.replace("NAME", name).replace("VALUE", value));
        let text = format!(
            "{}\n{}\n",
            form.replace("NAME", "other").replace("VALUE", "1"),
            line.unwrap_or_default()
        );
        one(config_map("m", json!({"file": text})))
    };
    vec![
        ("flag", diff(args(old), args(new))),
        ("variable", diff(env(old), env(new))),
        ("key", diff(key(old), key(new))),
        ("YAML", diff(file("NAME: \"VALUE\"", old), file("NAME: \"VALUE\"", new))),
        ("properties", diff(file("NAME = VALUE", old), file("NAME = VALUE", new))),
    ]
}

#[test]
fn a_setting_has_one_class_wherever_it_is() {
    for (name, old, new, class) in [
        ("enable-webhooks", Some("true"), Some("false"), Class::Risky),
        ("leader-elect", Some("true"), Some("false"), Class::Risky),
        ("leader-elect", Some("true"), None, Class::Risky),
        ("enable-webhooks", None, Some("true"), Class::Risky),
        ("address", Some("10.0.0.1"), Some("10.0.0.2"), Class::Risky),
        ("workers", Some("1"), Some("10"), Class::Risky),
        ("zap-log-level", Some("info"), Some("debug"), Class::Info),
        ("log-format", None, Some("json"), Class::Info),
        ("log-format", Some("json"), None, Class::Info),
        ("operator-version", Some("1.2.0"), Some("1.3.0"), Class::Info),
        ("widget-image", Some("r.io/a:1"), Some("r.io/a:2"), Class::Info),
    ] {
        for (place, set) in places(name, old, new) {
            let title = format!("{place} {name}: {old:?} → {new:?}");
            assert_eq!(set.class(), Some(class), "{}", findings(&title, &set));
        }
    }
    // What a Secret says is not known.
    let secret =
        |value: &str| one(object("v1", "Secret", "s", json!({"stringData": {"a": value}})));
    assert_eq!(diff(secret("true"), secret("false")).class(), Some(Class::Risky));
}

/// Changes of form that say the same.
#[test]
fn the_same_in_another_form_is_no_risk() {
    let args = |args: Json| container(json!({"args": args}));
    let rule = |rule: &str| text(json!({"x-kubernetes-validations": [{"rule": rule}]}));
    let image = |image: &str| container(json!({"image": image}));
    let file = |text: &str| one(config_map("m", json!({"file": text})));
    for (old, new) in [
        (args(json!(["--a=1", "--b"])), args(json!(["--b", "--a=1"]))),
        (args(json!(["--a=1", "--b"])), args(json!(["--a", "1", "--b=true"]))),
        (args(json!(["run", "--a=1", "--b=2"])), args(json!(["run", "--b=2", "--a=1"]))),
        (rule("self == 'a b'"), rule("self  ==\n 'a b'")),
        (rule("self.size()<3 && self!='x'"), rule("self.size() < 3 && self != 'x'")),
        (image("grafana/loki:3.0.0"), image("docker.io/grafana/loki:3.0.0")),
        (image("nginx:1.2.3"), image("docker.io/library/nginx:1.2.3")),
        (image("index.docker.io/library/nginx:1.2.3"), image("nginx:1.2.3")),
        (file("a: 1\nb: [x, y]\n"), file("# a comment\nb:\n- x\n- y\na: 1\n")),
    ] {
        let set = diff(old, new);
        assert!(weight(&set) <= 1, "{}", findings("", &set));
    }
    for (old, new) in [
        (args(json!(["a", "b"])), args(json!(["b", "a"]))),
        (args(json!(["--a=1", "--a=2"])), args(json!(["--a=2", "--a=1"]))),
        (rule("self == 'a b'"), rule("self == 'ab'")),
        (rule("self in b"), rule("self inb")),
        (image("grafana/loki:3.0.0"), image("quay.io/grafana/loki:3.0.0")),
    ] {
        let set = diff(old, new);
        assert!(weight(&set) > 1, "{}", findings("", &set));
    }
}
