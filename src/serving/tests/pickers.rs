//! Endpoint pickers, each with a valid counterpart.

use super::breaking::{POD, engine, flag};
use super::{SINGLE, defects, findings, object, objects};
use crate::diag::human;
use serde_json::{Value as Json, json};
use std::collections::BTreeSet;

type Change = fn(&mut Vec<Json>);

/// A part of a message, changes without which nothing is found, and those with which it is.
type Row = (&'static str, &'static [Change], &'static [Change]);

fn picker(all: &mut [Json]) -> &mut Json {
    engine(object(all, "Deployment", "chat-epp"), POD)
}

fn spec(all: &mut [Json]) -> &mut Json {
    object(all, "Deployment", "chat-epp").pointer_mut(POD).expect("a pod")
}

/// Removes a flag and its value, in one word or in two.
fn without(all: &mut [Json], name: &str) {
    let args = picker(all)["args"].as_array_mut().expect("arguments");
    let at = args.iter().position(|arg| arg.as_str().is_some_and(|arg| arg.starts_with(name)));
    let at = at.unwrap_or_else(|| panic!("no {name}"));
    if args[at] == name {
        args.remove(at + 1);
    }
    args.remove(at);
}

/// A picker of upstream without a namespace of its pool.
fn upstream(all: &mut [Json]) {
    let image =
        picker(all)["image"].as_str().expect("an image").replace("example.com", "ghcr.io/llm-d");
    picker(all)["image"] = json!(image);
    without(all, "--pool-namespace");
    picker(all)["env"] = json!([]);
}

fn subjects(all: &mut [Json]) -> impl Iterator<Item = &mut Json> {
    let bindings = all.iter_mut().filter(|one| one["kind"] == "RoleBinding");
    bindings.flat_map(|binding| binding["subjects"].as_array_mut().into_iter().flatten())
}

fn probe(all: &mut [Json], name: &str, service: &str) {
    picker(all)[name] = json!({"grpc": {"port": 9003, "service": service}});
}

fn grant(all: &mut [Json], group: &str, resource: &str) {
    let rule = json!({"apiGroups": [group], "resources": [resource], "verbs": ["get"]});
    object(all, "Role", "chat-epp-sa")["rules"].as_array_mut().expect("rules").push(rule);
}

/// One NetworkPolicy of the picker's pods, in place of all others.
fn isolate(all: &mut Vec<Json>, spec: &Json) {
    all.retain(|one| one["kind"] != "NetworkPolicy");
    let mut spec = spec.clone();
    spec["podSelector"] = object(all, "Deployment", "chat-epp")["spec"]["selector"].clone();
    all.push(json!({"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy",
        "metadata": {"name": "epp", "namespace": "models"}, "spec": spec}));
}

/// Allows connections to this port of the picker only.
fn open(all: &mut Vec<Json>, port: u32) {
    isolate(all, &json!({"policyTypes": ["Ingress"], "ingress": [{"ports": [{"port": port}]}]}));
}

/// Allows connections from the picker to pods with this label only.
fn reach(all: &mut Vec<Json>, app: &str) {
    let peer = json!({"podSelector": {"matchLabels": {"app": app}}});
    isolate(all, &json!({"policyTypes": ["Egress"], "egress": [{"to": [peer]}]}));
}

fn endpoints(all: &mut [Json]) -> impl Iterator<Item = &mut Json> {
    let monitors = all.iter_mut().filter(|one| one["kind"] == "ServiceMonitor");
    monitors.flat_map(|one| one["spec"]["endpoints"].as_array_mut().into_iter().flatten())
}

#[rustfmt::skip]
const ROWS: &[Row] = &[
    ("endpointPickerRef of InferencePool/chat has no port for Service/chat-epp", &[|_| {}], &[|all| {
        object(all, "InferencePool", "chat")["spec"]["endpointPickerRef"].as_object_mut().expect("a map").remove("port");
    }]),
    ("but has `--pool-namespace=default` by default", &[
        |_| {},
        |all| { upstream(all); picker(all)["env"] = json!([{"name": "NAMESPACE", "value": "models"}]); },
        |all| { upstream(all); picker(all)["envFrom"] = json!([{"configMapRef": {"name": "more"}}]); },
        |all| { upstream(all); flag(picker(all), "--pool-namespace=models"); },
        |all| { upstream(all); flag(picker(all), "--poolNamespace=models"); },
        |all| { upstream(all); flag(picker(all), "--zap-log-level=$(LEVEL)"); },
        |all| { upstream(all); picker(all)["command"] = json!(["sh", "-c", "exec /app/epp --pool-name=chat"]); picker(all)["args"] = json!([]); },
        |all| { without(all, "--pool-namespace"); picker(all)["env"] = json!([]); },
        |all| { upstream(all); all.iter_mut().for_each(|one| drop(one["metadata"].as_object_mut().expect("a map").remove("namespace"))); },
    ], &[|all| upstream(all)]),
    ("ServiceAccount of Deployment/chat-epp cannot", &[
        |_| {},
        |all| subjects(all).for_each(|one| drop(one.as_object_mut().expect("a map").remove("namespace"))),
        |all| object(all, "Role", "chat-epp-sa")["rules"] = json!([{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]),
        |all| { all.retain(|one| one["kind"] != "ClusterRole"); flag(picker(all), "--metrics-endpoint-auth=false"); },
    ], &[
        |all| all.retain(|one| one["kind"] != "ClusterRole"),
        |all| flag(picker(all), "--pool-group=example.com"),
        |all| subjects(all).for_each(|one| one["kind"] = json!("User")),
        |all| subjects(all).for_each(|one| one["name"] = json!("other")),
        |all| subjects(all).for_each(|one| one["namespace"] = json!("other")),
    ]),
    ("gets no token: `automountServiceAccountToken` is false", &[
        |_| {},
        |all| spec(all)["automountServiceAccountToken"] = json!(true),
        |all| { spec(all)["automountServiceAccountToken"] = json!(false); picker(all)["env"] = json!([{"name": "KUBECONFIG", "value": "/own"}]); },
        |all| { spec(all)["automountServiceAccountToken"] = json!(false); flag(picker(all), "--kubeconfig=/own"); },
        |all| { spec(all)["automountServiceAccountToken"] = json!(false); picker(all)["volumeMounts"] = json!([{"name": "own", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"}]); },
        |all| { spec(all)["automountServiceAccountToken"] = json!(false); spec(all)["volumes"] = json!([{"name": "own", "projected": {"sources": []}}]); },
    ], &[
        |all| spec(all)["automountServiceAccountToken"] = json!(false),
        |all| object(all, "ServiceAccount", "chat-epp")["automountServiceAccountToken"] = json!(false),
    ]),
    ("a port of gRPC", &[|_| {}, |all| flag(picker(all), "--metrics-port=9091")], &[
        |all| flag(picker(all), "--metrics-port=9002"),
        |all| { flag(picker(all), "--metrics-port=9010"); flag(picker(all), "--grpc-port=9010"); },
        |all| flag(picker(all), "--metrics-port=9003"),
    ]),
    ("which is gRPC", &[|_| {}, |all| picker(all)["readinessProbe"] = json!({"httpGet": {"port": 9090}})], &[
        |all| picker(all)["readinessProbe"] = json!({"httpGet": {"port": 9003}}),
        |all| picker(all)["livenessProbe"] = json!({"httpGet": {"port": 9002}}),
    ]),
    ("has neither `--pool-name` nor `--endpoint-selector`", &[
        |_| {},
        |all| { without(all, "--pool-name"); flag(picker(all), "--endpoint-selector=app=chat"); },
    ], &[|all| { without(all, "--pool-name"); }]),
    ("uses leader election, but its", &[
        |_| {},
        |all| probe(all, "startupProbe", "liveness"),
        |all| probe(all, "livenessProbe", "liveness"),
        |all| probe(all, "readinessProbe", "readiness"),
        |all| probe(all, "readinessProbe", ""),
        |all| probe(all, "readinessProbe", "envoy.service.ext_proc.v3.ExternalProcessor"),
    ], &[
        |all| probe(all, "startupProbe", ""),
        |all| probe(all, "livenessProbe", "readiness"),
        |all| probe(all, "readinessProbe", "liveness"),
    ]),
    ("uses leader election with a rolling update", &[|_| {}], &[
        |all| drop(object(all, "Deployment", "chat-epp")["spec"].as_object_mut().expect("a map").remove("strategy")),
    ]),
    ("replicas without leader election", &[
        |_| {},
        |all| { flag(picker(all), "--ha-enable-leader-election=false"); object(all, "Deployment", "chat-epp")["spec"]["replicas"] = json!(1); },
        |all| { flag(picker(all), "--ha-enable-leader-election=false"); drop(object(all, "Deployment", "chat-epp")["spec"].as_object_mut().expect("a map").remove("replicas")); },
    ], &[|all| { flag(picker(all), "--ha-enable-leader-election=false"); object(all, "Deployment", "chat-epp")["spec"]["replicas"] = json!(2); }]),
    ("which is no resource", &[|_| {}, |all| grant(all, "", "pods"), |all| grant(all, "example.com", "pod"), |all| grant(all, "", "widget")], &[
        |all| { let roles = all.iter_mut().filter(|one| one["kind"] == "ClusterRole"); roles.for_each(|one| one["rules"] = json!([{"apiGroups": [""], "resources": ["pod"], "verbs": ["get"]}])); },
        |all| grant(all, "", "pod"),
        |all| grant(all, "", "Pods"),
    ]),
    ("is the picker of InferencePool/chat, but has", &[
        |_| {},
        |all| flag(picker(all), "--pool-namespace=${NAMESPACE}"),
        |all| drop(object(all, "InferencePool", "chat")["metadata"].as_object_mut().expect("a map").remove("namespace")),
        |all| object(all, "InferencePool", "chat")["metadata"]["namespace"] = json!("${NAMESPACE}"),
    ], &[
        |all| flag(picker(all), "--pool-namespace=other"),
        |all| flag(picker(all), "--pool-group=example.com"),
        |all| flag(picker(all), "--pool-name=other"),
    ]),
    ("NetworkPolicy/epp does not allow connections from Gateway/gateway to port", &[
        |_| {},
        |all| open(all, 9002),
        |all| { open(all, 9010); flag(picker(all), "--grpc-port=9010"); },
        |all| { open(all, 9010); without(all, "--pool-name"); flag(picker(all), "--endpoint-selector=app=chat"); },
        |all| { open(all, 9010); spec(all)["containers"].as_array_mut().expect("a list").push(json!({"name": "proxy", "image": "envoyproxy/envoy:v1"})); },
    ], &[
        |all| open(all, 9010),
        |all| { open(all, 9002); flag(picker(all), "--grpc-port=9010"); },
    ]),
    ("NetworkPolicy/epp does not allow connections from Deployment/chat-epp to port 8000 of Deployment/chat-decode", &[|_| {}, |all| reach(all, "chat")], &[
        |all| reach(all, "other"),
    ]),
    ("has no token for the metrics of Deployment/chat-epp", &[
        |_| {},
        |all| { endpoints(all).for_each(|one| drop(one.as_object_mut().expect("a map").remove("authorization"))); flag(picker(all), "--metrics-port=9999"); },
        |all| { endpoints(all).for_each(|one| drop(one.as_object_mut().expect("a map").remove("authorization"))); flag(picker(all), "--metrics-endpoint-auth=false"); },
        |all| endpoints(all).for_each(|one| { drop(one.as_object_mut().expect("a map").remove("authorization")); one["bearerTokenSecret"] = json!({"name": "token", "key": "token"}); }),
    ], &[|all| endpoints(all).for_each(|one| drop(one.as_object_mut().expect("a map").remove("authorization")))]),
];

#[test]
fn pickers_are_found_wrong_by_each_change() {
    let mut listing = BTreeSet::new();
    for (message, sound, wrong) in ROWS {
        let changes = sound.iter().map(|change| (change, false));
        for (at, (change, is_found)) in
            changes.chain(wrong.iter().map(|change| (change, true))).enumerate()
        {
            let mut all = objects(SINGLE);
            change(&mut all);
            let found = findings(all);
            let shown = human::render(&found, false);
            let has = found.iter().any(|one| one.message.contains(message));
            assert_eq!(has, is_found, "{message}, change {at}\n{shown}");
            defects::list(&found, &mut listing);
        }
    }
    insta::assert_snapshot!(Vec::from_iter(listing).concat());
}
