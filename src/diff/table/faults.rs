//! Faults of pods: what a pod needs, where it may come from, and the edit that a report shows it at.

use super::pod_security::with_other_edits;
use super::*;

const MISSING: &str = "object-missing";
const KEY: &str = "config-key-missing";
const PORT: &str = "port-unknown";
const UNDECLARED: &str = "port-undeclared";
const ROOT: &str = "root-not-allowed";
const TOKEN: &str = "api-token-missing";
const LEASE: &str = "lease-not-allowed";
const REFUSED: &str = "object-refused";

/// Returns the codes of the faults of pods in a new chart with these objects.
fn faults(objects: Vec<Json>) -> Vec<&'static str> {
    let own = [
        MISSING,
        KEY,
        PORT,
        UNDECLARED,
        ROOT,
        TOKEN,
        LEASE,
        REFUSED,
        "pull-secret-missing",
        "service-selects-nothing",
        "backend-missing",
    ];
    let codes = found(&diff(none(), Of::Objects(objects)));
    codes.into_iter().filter(|code| own.contains(code)).collect()
}

/// Returns the faults of one pod next to other objects.
fn faults_of(container: Json, spec: Json, others: Vec<Json>) -> Vec<&'static str> {
    faults([vec![pod(container, spec)], others].concat())
}

fn within(namespace: &str, mut object: Json) -> Json {
    object["metadata"]["namespace"] = json!(namespace);
    object
}

fn secret(name: &str, content: Json) -> Json {
    object("v1", "Secret", name, content)
}

fn account(fields: Json) -> Json {
    object("v1", "ServiceAccount", "sa", fields)
}

/// A variable that needs the key `k` of an object.
fn variable(source: &str, name: &str) -> Json {
    json!({"name": "E", "valueFrom": {source: {"name": name, "key": "k"}}})
}

/// Something may create an object whose name a container mentions.
#[test]
fn names_in_containers_are_created_elsewhere() {
    let needs = |mut container: Json| {
        let env = container["env"].as_array().cloned().unwrap_or_default();
        let own = variable("secretKeyRef", "a-cert.v1");
        container["env"] = json!([vec![own], env].concat());
        faults_of(container, json!({}), Vec::new())
    };
    for (container, expected) in [
        (json!({}), &[MISSING][..]),
        (json!({"args": ["--cert=ns/a-cert.v1"]}), &[]),
        (json!({"command": ["run", "a-cert.v1"]}), &[]),
        (json!({"env": [{"name": "CERT", "value": "a-cert.v1"}]}), &[]),
        // A name of a variable is no name of a Secret, and a part of a name neither.
        (json!({"env": [{"name": "a-cert.v1", "value": "x"}]}), &[MISSING]),
        (json!({"args": ["--cert=a-cert"]}), &[MISSING]),
        (json!({"workingDir": "a-cert.v1"}), &[MISSING]),
    ] {
        assert_eq!(needs(container.clone()), expected, "{container}");
    }
    for name in ["kube-root-ca.crt", "openshift-service-ca.crt"] {
        let needs = |source: &str| {
            faults_of(json!({"env": [variable(source, name)]}), json!({}), Vec::new())
        };
        assert_eq!(needs("configMapKeyRef"), [""; 0], "{name}");
        assert_eq!(needs("secretKeyRef"), [MISSING], "{name}");
    }
}

#[test]
fn keys_are_in_all_maps_of_an_object() {
    let needs = |content: Json| {
        let container = json!({"env": [variable("secretKeyRef", "s")]});
        faults_of(container, json!({}), vec![secret("s", content)])
    };
    for map in ["data", "stringData"] {
        assert_eq!(
            needs(json!({"binaryData": {"x": "eA=="}, map: {"k": "eA=="}})),
            [""; 0],
            "{map}"
        );
        assert_eq!(needs(json!({map: {"x": "eA=="}})), [KEY], "{map}");
    }
    // Something may fill it.
    assert_eq!(needs(json!({"data": {}})), [""; 0]);

    // Files may be binary, variables not.
    let binary = || {
        let mut map = config_map("m", json!({"x": "y"}));
        map["binaryData"] = json!({"k": "eA=="});
        vec![map]
    };
    let variable = json!({"env": [variable("configMapKeyRef", "m")]});
    assert_eq!(faults_of(variable, json!({}), binary()), [KEY]);
    let files = json!({"name": "m", "items": [{"key": "k", "path": "k"}]});
    let volumes = json!({"volumes": [{"name": "v", "configMap": files}]});
    assert_eq!(faults_of(json!({}), volumes, binary()), [""; 0]);
}

/// Objects of another namespace do not exist for a pod.
#[test]
fn pods_need_objects_of_their_namespace() {
    let own = || {
        let container = json!({"env": [variable("secretKeyRef", "s")]});
        let needs = json!({"serviceAccountName": "sa", "priorityClassName": "p",
            "imagePullSecrets": [{"name": "pull"}]});
        within("other", pod(container, needs))
    };
    let class = || object("scheduling.k8s.io/v1", "PriorityClass", "p", json!({"value": 1}));
    let all = |namespaces: [&str; 3]| {
        let [of_account, of_pull, of_key] = namespaces;
        faults(vec![
            own(),
            class(),
            within(of_account, account(json!({}))),
            within(of_pull, secret("pull", json!({}))),
            within(of_key, secret("s", json!({"data": {"k": "eA=="}}))),
        ])
    };
    for (namespaces, expected) in [
        (["other", "other", "other"], &[][..]),
        (["ns", "other", "other"], &[MISSING]),
        (["other", "ns", "other"], &["pull-secret-missing"]),
        (["other", "other", "ns"], &[MISSING]),
    ] {
        assert_eq!(all(namespaces), expected, "{namespaces:?}");
    }
}

/// Hooks run before or after the objects that they need are created.
#[test]
fn hooks_may_need_what_is_not_there() {
    for needs in [
        json!({"serviceAccountName": "sa"}),
        json!({"volumes": [{"name": "v", "secret": {"secretName": "s"}}]}),
    ] {
        let pods = pod(json!({}), needs.clone());
        let mut hook = pods.clone();
        hook["metadata"]["annotations"] = json!({"helm.sh/hook": "pre-upgrade"});
        assert_eq!(faults(vec![pods]), [MISSING], "{needs}");
        assert_eq!(faults(vec![hook]), [""; 0], "{needs}");
    }
}

#[test]
fn selectors_of_controllers_of_pods_match_their_pods() {
    let with = |kind: &str, label: &str| {
        let mut object = pod(json!({}), json!({}));
        object["kind"] = json!(kind);
        object["spec"]["template"]["metadata"]["labels"]["app"] = json!(label);
        faults(vec![object])
    };
    for kind in ["Deployment", "StatefulSet", "DaemonSet", "ReplicaSet"] {
        assert_eq!(with(kind, "d"), [""; 0], "{kind}");
        assert_eq!(with(kind, "e"), [REFUSED], "{kind}");
    }
    // The API server sets the selector of a Job. `Always` is the default of pods.
    let mut job = pod(json!({}), json!({"restartPolicy": "Never"}));
    (job["apiVersion"], job["kind"]) = (json!("batch/v1"), json!("Job"));
    job["spec"]["template"]["metadata"]["labels"]["app"] = json!("e");
    assert_eq!(faults(vec![job.clone()]), [""; 0]);
    job["spec"]["template"]["spec"]["restartPolicy"] = json!(null);
    assert_eq!(faults(vec![job]), [REFUSED]);
}

#[test]
fn pods_that_use_the_api_need_a_token() {
    let permission = || {
        vec![
            role("Role", "r", &[rule(&[""], &["pods"], &["get"])]),
            binding("RoleBinding", "b", "r", &["sa"]),
        ]
    };
    let projected = |source: &str| {
        let sources = json!({"sources": [{"downwardAPI": {}}, {source: {"path": "t"}}]});
        json!({"volumes": [{"name": "t", "projected": sources}]})
    };
    let (none, off, on) = (
        json!({}),
        json!({"automountServiceAccountToken": false}),
        json!({"automountServiceAccountToken": true}),
    );
    for (of_account, of_pod, other, allowed, expected) in [
        (&none, &none, &none, true, &[][..]),
        (&none, &off, &none, true, &[TOKEN]),
        (&off, &none, &none, true, &[TOKEN]),
        // The setting of the pod wins.
        (&off, &on, &none, true, &[]),
        (&on, &off, &none, true, &[TOKEN]),
        (&none, &off, &none, false, &[]),
        (&none, &off, &projected("serviceAccountToken"), true, &[]),
        (&none, &off, &projected("downwardAPI"), true, &[TOKEN]),
    ] {
        let mut spec = json!({"serviceAccountName": "sa"});
        join(&mut spec, of_pod.clone());
        join(&mut spec, other.clone());
        let mut others = vec![account(of_account.clone())];
        others.extend(allowed.then(permission).into_iter().flatten());
        let shown = format!("{of_account} {of_pod} {other} {allowed}");
        assert_eq!(faults_of(json!({}), spec, others), expected, "{shown}");
    }

    // What all accounts may do says nothing about one.
    let mut others = [permission(), vec![account(off)]].concat();
    others[1]["subjects"] = json!([{"kind": "Group", "name": "system:serviceaccounts"}]);
    let spec = json!({"serviceAccountName": "sa"});
    assert!(faults_of(json!({}), spec, others).is_empty());
}

/// Any lock is enough, and any verb that renews it.
#[test]
fn leaders_need_a_lock() {
    let elects = json!({"args": ["--leader-elect"]});
    for (group, resource, verb, expected) in [
        ("coordination.k8s.io", "leases", "update", &[][..]),
        ("coordination.k8s.io", "leases", "patch", &[]),
        ("", "configmaps", "update", &[]),
        ("", "endpoints", "update", &[]),
        ("coordination.k8s.io", "leases", "get", &[LEASE]),
        ("", "leases", "update", &[LEASE]),
        ("", "pods", "update", &[LEASE]),
    ] {
        let others = vec![
            account(json!({})),
            role("Role", "r", &[rule(&[group], &[resource], &[verb])]),
            binding("RoleBinding", "b", "r", &["sa"]),
        ];
        let spec = json!({"serviceAccountName": "sa"});
        let found = faults_of(elects.clone(), spec, others);
        assert_eq!(found, expected, "{group} {resource} {verb}");
    }
}

/// The permissions of a role of the cluster are not known, except for those that only delegate.
#[test]
fn leaders_may_have_a_lock_by_a_role_of_the_cluster() {
    for (role, expected) in [
        ("edit", &[][..]),
        ("cluster-admin", &[]),
        ("system:auth-delegator", &[LEASE]),
        ("extension-apiserver-authentication-reader", &[LEASE]),
    ] {
        let others = vec![account(json!({})), binding("ClusterRoleBinding", "b", role, &["sa"])];
        let spec = json!({"serviceAccountName": "sa"});
        assert_eq!(
            faults_of(json!({"args": ["--leader-elect"]}), spec, others),
            expected,
            "{role}"
        );
    }
}

/// An operator that could read everything may leave an API to another operator of the chart.
#[test]
fn apis_have_a_reader() {
    let chart = |of_first: &[&str], of_second: &[&str]| {
        let named = |name: &str, account: &str| {
            let mut pod = pod(json!({}), json!({"serviceAccountName": account}));
            pod["metadata"]["name"] = json!(name);
            pod
        };
        let may = |account: &str, groups: &[&str]| {
            [
                role("ClusterRole", account, &[rule(groups, &["*"], &["list", "watch"])]),
                binding("ClusterRoleBinding", account, account, &[account]),
                object("v1", "ServiceAccount", account, json!({})),
            ]
        };
        let mut objects = vec![crd(json!({})), named("first", "sa"), named("second", "sb")];
        objects.extend([may("sa", of_first), may("sb", of_second)].concat());
        Of::Objects(objects)
    };
    let explicit = |mut chart: Of| {
        let Of::Objects(objects) = &mut chart else { panic!("objects") };
        let role = objects.iter_mut().find(|object| object["kind"] == "ClusterRole").unwrap();
        role["rules"][0]["resources"] = json!(["ks"]);
        chart
    };
    for (old, new, expected) in [
        (chart(&["*"], &["g"]), chart(&["h"], &["g"]), false),
        (chart(&["g"], &["g"]), chart(&["h"], &["g"]), false),
        (chart(&["*"], &["h"]), chart(&["h"], &["g"]), false),
        (chart(&["*"], &["g"]), chart(&["h"], &["h"]), true),
        (chart(&["*"], &["h"]), chart(&["h"], &["h"]), true),
        (explicit(chart(&["g"], &["g"])), chart(&["h"], &["g"]), true),
    ] {
        let found = codes(old, new);
        assert_eq!(found.contains(&"own-api-not-readable"), expected, "{found:?}");
    }
}

#[test]
fn autoscalers_need_requests() {
    let cpu = || json!({"cpu": 1});
    let none = || json!({});
    for (resources, source, container, kind, expected) in [
        (none(), "resource", "", "Utilization", true),
        (none(), "resource", "", "AverageValue", false),
        (json!({"requests": cpu()}), "resource", "", "Utilization", false),
        (json!({"limits": cpu()}), "resource", "", "Utilization", false),
        (json!({"requests": {"memory": "1Gi"}}), "resource", "", "Utilization", true),
        (none(), "containerResource", "c", "Utilization", true),
        (none(), "containerResource", "other", "Utilization", false),
    ] {
        let mut metric = json!({"name": "cpu", "target": {"type": kind}});
        if !container.is_empty() {
            metric["container"] = json!(container);
        }
        let target = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"});
        let spec = json!({"scaleTargetRef": target, "metrics": [{source: metric}]});
        let scaler =
            object("autoscaling/v2", "HorizontalPodAutoscaler", "h", json!({"spec": spec}));
        let pods = pod(json!({"resources": resources}), json!({}));
        let codes = codes(super::none(), Of::Objects(vec![scaler, pods]));
        let is_found = codes.contains(&"autoscaling-without-request");
        assert_eq!(is_found, expected, "{resources} {source} {container} {kind}");
    }
}

#[test]
fn leader_election_is_turned_on_in_many_spellings() {
    for (container, elects) in [
        (json!({"args": ["--leader-elect"]}), true),
        (json!({"args": ["--leader-elect", "true"]}), true),
        (json!({"args": ["--leader-elect=TRUE"]}), true),
        (json!({"args": ["--leader-elect=false"]}), false),
        (json!({"args": ["--leader-elect-lease-duration=15s"]}), false),
        (json!({"args": ["--leader-election"]}), true),
        (json!({"args": ["--enable-leader-election"]}), true),
        (json!({"args": ["--leader-election-enabled=true"]}), true),
        (json!({"command": ["run", "--leader-elect"]}), true),
        (json!({"env": [{"name": "WIDGET_LEADER_ELECTION_ENABLED", "value": "true"}]}), true),
        (json!({"env": [{"name": "WIDGET_LEADER_ELECTION_ENABLED", "value": "false"}]}), false),
        (json!({"env": [{"name": "LEADER", "value": "true"}]}), false),
    ] {
        let expected: &[&str] = if elects { &[LEASE] } else { &[] };
        assert_eq!(faults_of(container.clone(), json!({}), Vec::new()), expected, "{container}");
    }
}

/// Of a file or a key of a mounted ConfigMap, as of a flag, the name alone turns it on.
#[test]
fn leader_election_is_turned_on_by_files() {
    for (key, text, elects) in [
        ("config", "a=1\nleader-elect=true", true),
        ("config", "a=1\nleader-elect", true),
        ("config", "a=1\nleader-elect:", true),
        ("config", "a=1\nleader-elect=false", false),
        ("leader-elect", "true", true),
        ("leader-elect", "false", false),
    ] {
        let volume = json!([{"name": "v", "configMap": {"name": "m"}}]);
        let map = config_map("m", json!({key: text}));
        let found = faults_of(json!({}), json!({"volumes": volume}), vec![map]);
        let expected: &[&str] = if elects { &[LEASE] } else { &[] };
        assert_eq!(found, expected, "{key}: {text:?}");
    }
}

#[test]
fn probes_need_a_port() {
    for probe in ["livenessProbe", "readinessProbe", "startupProbe"] {
        for handler in ["httpGet", "tcpSocket", "grpc"] {
            for (port, ports, expected) in [
                (json!("web"), json!([{"name": "web", "containerPort": 80}]), &[][..]),
                (json!("web"), json!([{"name": "dns", "containerPort": 80}]), &[PORT]),
                (json!(80), json!([{"name": "web", "containerPort": 80}]), &[]),
                (json!(80), json!([{"name": "p-80", "containerPort": 81}]), &[UNDECLARED]),
            ] {
                let with = |settings: Json| {
                    let container = json!({"ports": ports, probe: {handler: settings}});
                    faults_of(container, json!({}), Vec::new())
                };
                assert_eq!(with(json!({"port": port})), expected, "{probe} {handler} {port}");
                // A probe of another host has nothing to do with the pod.
                let elsewhere = json!({"port": port, "host": "example.com"});
                assert_eq!(with(elsewhere), [""; 0], "{probe} {handler} {port}");
            }
        }
    }
}

/// A program listens on a port that anything of its pod mentions.
#[test]
fn ports_are_declared_or_mentioned() {
    for (container, spec, expected) in [
        (json!({}), json!({}), &[UNDECLARED][..]),
        (json!({"args": ["--listen=:8081"]}), json!({}), &[]),
        (json!({"args": ["--listen=:80811"]}), json!({}), &[UNDECLARED]),
        (json!({"command": ["run", ":8081"]}), json!({}), &[]),
        (json!({"env": [{"name": "LISTEN", "value": ":8081"}]}), json!({}), &[]),
        (json!({"env": [{"name": "8081", "value": "x"}]}), json!({}), &[UNDECLARED]),
        (json!({"workingDir": "/8081"}), json!({}), &[UNDECLARED]),
        (
            json!({}),
            json!({"initContainers": [{"name": "i", "image": "r.io/i:1", "args": ["8081"]}]}),
            &[],
        ),
    ] {
        let mut probed = json!({"readinessProbe": {"tcpSocket": {"port": 8081}}});
        join(&mut probed, container);
        assert_eq!(faults_of(probed.clone(), spec, Vec::new()), expected, "{probed}");
    }
}

/// The user of a pod is that of its containers without one.
#[test]
fn root_may_be_forbidden_by_the_pod() {
    let (root, not_root) = (json!({"runAsUser": 0}), json!({"runAsNonRoot": true}));
    let user = json!({"runAsUser": 1});
    for (of_pod, own, expected) in [
        (&not_root, &root, &[ROOT][..]),
        (&root, &not_root, &[ROOT]),
        (&root, &user, &[]),
        (&not_root, &json!({}), &[]),
    ] {
        let mut context = json!({"runAsNonRoot": null});
        join(&mut context, own.clone());
        let spec = json!({"securityContext": of_pod});
        let found = faults_of(json!({"securityContext": context}), spec, Vec::new());
        assert_eq!(found, expected, "{of_pod} {own}");
    }
}

/// A fault is shown at the edit of what is wrong, not at another one of the pod.
#[test]
fn faults_are_at_their_edits() {
    let probe = |port: Json| json!({"readinessProbe": {"httpGet": {"port": port}}});
    let sa = || json!({"serviceAccountName": "sa"});
    let off = || json!({"serviceAccountName": "sa", "automountServiceAccountToken": false});
    let other = json!({"metadata": {"labels": {"app": "e"}}});
    for (code, place, container, spec, template) in [
        (PORT, "template.spec.containers", probe(json!("web")), sa(), json!({})),
        (UNDECLARED, "template.spec.containers", probe(json!(8081)), sa(), json!({})),
        (
            ROOT,
            "template.spec.containers",
            json!({"securityContext": {"runAsUser": 0}}),
            sa(),
            json!({}),
        ),
        (TOKEN, "template.spec.automountServiceAccountToken", json!({}), off(), json!({})),
        (
            MISSING,
            "template.spec.serviceAccountName",
            json!({}),
            json!({"serviceAccountName": "x"}),
            json!({}),
        ),
        (REFUSED, "template.metadata", json!({}), sa(), other),
    ] {
        let side = |mut pods: Json, number: u8| {
            pods["metadata"]["labels"] = json!({"number": number.to_string()});
            let Of::Objects(mut objects) = with_other_edits(one(pods), number, true) else {
                panic!("objects")
            };
            objects.extend([
                account(json!({})),
                role("Role", "r", &[rule(&[""], &["pods"], &["get"])]),
                binding("RoleBinding", "b", "r", &["sa"]),
            ]);
            Of::Objects(objects)
        };
        let mut after = pod(container, spec);
        join(&mut after["spec"]["template"], template);
        let set = diff(side(pod(json!({}), sa()), 1), side(after, 2));
        let at: Vec<String> = set
            .changes()
            .filter(|(_, change)| change.findings.iter().any(|f| f.rule.code == code))
            .map(|(_, change)| change.path.to_string())
            .collect();
        assert_eq!(at.len(), 1, "{code}: {at:?}");
        assert!(at[0].starts_with(&format!(".spec.{place}")), "{code}: {at:?}");
    }
}

/// Pods of another namespace have the same labels, and are not those of a Service.
#[test]
fn services_select_pods_of_their_namespace() {
    let service = || {
        let ports = json!([{"port": 80, "targetPort": "web"}]);
        object("v1", "Service", "s", json!({"spec": {"selector": {"app": "d"}, "ports": ports}}))
    };
    let web = || pod(json!({"ports": [{"name": "web", "containerPort": 80}]}), json!({}));
    assert_eq!(faults(vec![web(), service()]), [""; 0]);
    assert_eq!(faults(vec![within("other", web()), service()]), ["service-selects-nothing"]);
    let elsewhere = vec![within("other", web()), within("other", service())];
    assert_eq!(faults(elsewhere), [""; 0]);
}

/// Services of other namespaces are not part of a chart.
#[test]
fn webhooks_need_a_service_of_the_chart() {
    let hook = |namespace: &str| {
        let service = json!({"name": "s", "namespace": namespace});
        let webhooks = json!([hook(json!({
            "clientConfig": {"service": service}, "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        }))]);
        let api = "admissionregistration.k8s.io/v1";
        object(api, "ValidatingWebhookConfiguration", "w", json!({"webhooks": webhooks}))
    };
    let service = || object("v1", "Service", "s", json!({"spec": {"ports": [{"port": 443}]}}));
    assert_eq!(faults(vec![hook("ns")]), ["backend-missing"]);
    assert_eq!(faults(vec![hook("ns"), service()]), [""; 0]);
    assert_eq!(faults(vec![hook("other")]), [""; 0]);
    assert_eq!(faults(vec![hook("ns"), within("other", service())]), ["backend-missing"]);
}

/// Refusals are reported where the old object had none.
#[test]
fn refusals_that_the_old_object_had_are_not_reported() {
    let service = |name: &str, ports: Json| {
        one(object(
            "v1",
            "Service",
            "s",
            json!({"spec": {"selector": {name: "x"}, "ports": ports}}),
        ))
    };
    let bad = json!([{"name": "A_b", "port": 80}]);
    let worse = json!([{"name": "A_b", "port": 80}, {"name": "b", "port": 65536}]);
    let good = json!([{"name": "b", "port": 80}]);
    let refused = |old: Of, new: Of| {
        let set = diff(old, new);
        let findings = set.changes().flat_map(|(_, change)| &change.findings);
        let refused = findings.filter(|finding| finding.rule.code == REFUSED);
        refused.map(|finding| finding.reason.clone()).collect::<Vec<_>>()
    };
    assert_eq!(refused(service("a", bad.clone()), service("b", bad.clone())), [""; 0]);
    assert_eq!(
        refused(service("a", bad.clone()), service("a", worse)),
        ["has port 65536, not 1 to 65535"]
    );
    assert_eq!(refused(service("a", bad.clone()), service("a", good.clone())), [""; 0]);
    let invalid =
        "has port name \"A_b\", which must have lower-case letters, digits and dashes only";
    assert_eq!(refused(service("a", good), service("a", bad)), [invalid]);
}
