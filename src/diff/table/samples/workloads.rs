//! Pods and containers.

use super::*;

pub(super) fn pods() -> Vec<Sample> {
    let init = |image: &str| pod_spec(json!({"initContainers": [{"name": "i", "image": image}]}));
    let image = |image: &str| container(json!({"image": image}));
    let images = |lines: &str| container(json!({"env": [{"name": "WIDGETS", "value": lines}]}));
    let named = |label: &str, spec: Json| {
        let mut object = pod(json!({}), spec);
        object["metadata"]["labels"] = json!({"a": label});
        one(object)
    };
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
    let terms = |list: Json| {
        let required = json!({"nodeSelectorTerms": list});
        let affinity = json!({"requiredDuringSchedulingIgnoredDuringExecution": required});
        pod_spec(json!({"affinity": {"nodeAffinity": affinity}}))
    };
    let term = |key: &str| json!({"matchExpressions": [{"key": key, "operator": "In", "values": ["a", "b", "c", "d"]}]});
    let unknown = |title, old: Json, new: Json| {
        pair(title, [pod_spec(json!({"x": old})), pod_spec(json!({"x": new}))])
    };
    let long = |end: &str| {
        container(json!({"lifecycle": {"preStop": {"exec": {"command": ["x".repeat(90) + end]}}}}))
    };
    vec![
        pair(
            "another term for nodes",
            [terms(json!([term("a")])), terms(json!([term("a"), term("b")]))],
        ),
        pair(
            "one term for nodes in place of another",
            [terms(json!([term("a")])), terms(json!([term("b")]))],
        ),
        pair("a first term for nodes", [pod_spec(json!({})), terms(json!([term("a")]))]),
        pair("two ends of a long text", [long("a"), long("b")]),
        unknown("a number as a text", json!("80"), json!(80)),
        unknown("another long text", json!("a".repeat(90)), json!("b".repeat(90))),
        unknown("a map in place of a long text", json!("a".repeat(90)), json!({"b": 1})),
        unknown("a long text in a list", json!(["a"]), json!(["a", "b".repeat(90)])),
        pair("Docker Hub by its name", [image("a:1"), image("docker.io/library/a:1")]),
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
        pair("a deadline", [pod_spec(json!({})), pod_spec(json!({"activeDeadlineSeconds": 60}))]),
        pair(
            "a later deadline",
            [
                pod_spec(json!({"activeDeadlineSeconds": 60})),
                pod_spec(json!({"activeDeadlineSeconds": 90})),
            ],
        ),
        pair(
            "a deadline in another spelling",
            [
                pod_spec(json!({"activeDeadlineSeconds": 60})),
                pod_spec(json!({"activeDeadlineSeconds": 60.0})),
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
        pair(
            "a grace period in another spelling",
            [
                pod_spec(json!({"terminationGracePeriodSeconds": 60})),
                pod_spec(json!({"terminationGracePeriodSeconds": 60.0})),
            ],
        ),
        pair(
            "a priority class that is missing, and a label",
            [named("a", json!({})), named("b", json!({"priorityClassName": "p"}))],
        ),
        pair(
            "an empty text that is a default",
            [
                pod_spec(json!({"priorityClassName": "p"})),
                pod_spec(json!({"priorityClassName": ""})),
            ],
        ),
        pair(
            "an empty text that is no default",
            [pod_spec(json!({})), pod_spec(json!({"runtimeClassName": ""}))],
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

pub(super) fn containers() -> Vec<Sample> {
    let arguments = |old: &[&str], new: &[&str]| {
        [container(json!({"args": old})), container(json!({"args": new}))]
    };
    let env = |variables: Json| container(json!({"env": variables}));
    let cron = |image: &str| {
        let pod = json!({"spec": {"containers": [{"name": "c", "image": image}]}});
        let template = json!({"spec": {"jobTemplate": {"spec": {"template": pod}}}});
        one(object("batch/v1", "CronJob", "c", template))
    };
    let policy = |policy: &str| container(json!({"imagePullPolicy": policy}));
    let limit = |limit: &str| container(json!({"resources": {"limits": {"memory": limit}}}));
    let capabilities = |list: Json| container(json!({"securityContext": {"capabilities": list}}));
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
            "a variable after those that use it",
            [
                env(json!([
                    {"name": "A", "value": "y"}, {"name": "B", "value": "$(A)"},
                    {"name": "C", "value": "$$(A) $$$(A)"}, {"name": "D", "value": "$$(A)"},
                    {"name": "E", "value": "$(A)"}, {"name": "F", "value": "$(A)"},
                ])),
                env(json!([
                    {"name": "F", "value": "$(A)"}, {"name": "E", "value": "$(A)"},
                    {"name": "D", "value": "$$(A)"}, {"name": "C", "value": "$$(A) $$$(A)"},
                    {"name": "B", "value": "$(A)"}, {"name": "A", "value": "y"},
                ])),
            ],
        ),
        pair(
            "another variable before those that use one",
            [
                env(json!([{"name": "A", "value": "y"}, {"name": "B", "value": "y"},
                    {"name": "C", "value": "$(A)"}])),
                env(json!([{"name": "B", "value": "y"}, {"name": "A", "value": "y"},
                    {"name": "C", "value": "$(A)"}])),
            ],
        ),
        pair(
            "variables in another order",
            [
                env(json!([{"name": "X", "value": "y"}, {"name": "Z", "value": "y"}])),
                env(json!([{"name": "Z", "value": "y"}, {"name": "X", "value": "y"}])),
            ],
        ),
        pair(
            "an image for a text",
            [
                env(json!([{"name": "X", "value": "off"}])),
                env(json!([{"name": "X", "value": "r.io/x:1"}])),
            ],
        ),
        pair("another policy of pulling", [policy("IfNotPresent"), policy("Always")]),
        pair("a limit in another spelling", [limit("1Gi"), limit("1024Mi")]),
        pair(
            "the default capabilities",
            [capabilities(json!({})), capabilities(json!({"drop": null}))],
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
        pair(
            "another privileged container",
            [
                container(json!({"securityContext": {"privileged": true}})),
                two(json!({"securityContext": {"privileged": true}}), "d"),
            ],
        ),
        pair(
            "a container that may become root like another",
            [two(json!({}), "b"), two(json!({"securityContext": {"runAsNonRoot": null}}), "b")],
        ),
        pair(
            "a user that is root, and the field next to it",
            [
                confined(json!({"runAsUser": 1000})),
                confined(json!({"runAsUser": 0, "runAsNonRoot": null})),
            ],
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
