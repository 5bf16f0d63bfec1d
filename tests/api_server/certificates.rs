//! Certificates that Helm generates are used: a TLS server with those of the chart's Secrets answers
//! webhooks, conversions and an API in the operator's place, and the API server believes it.

use crate::charts::{compiled, root};
use crate::control_plane::ControlPlane;
use crate::helm::Helm;
use crate::lifecycle::Release;
use crate::tls_server::{Call, TlsServer};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value as Json, json};
use tempfile::TempDir;

const NAMESPACE: &str = "at-the-river";
const WEBHOOKS: &str = "toll-bridge-gatekeeper-service";
const API: &str = "toll-bridge-counter-service";
const GROUP: &str = "/apis/crossings.bridge.example.com/v1";

/// A node without a machine: pods without a node are no endpoints.
const NODE: &str = "nowhere";

/// The address of pods that only the controllers know.
const POD_IP: &str = "198.51.100.7";

/// Answers as the operator would: tolls get a label, 13 coins are refused, and v1alpha1 has coins
/// where v1 has a price.
fn operator(path: &str, body: &Json) -> (u16, Json) {
    let request = &body["request"];
    let review = |response: Json| {
        let mut response = response;
        response["uid"] = request["uid"].clone();
        let kind = body["kind"].clone();
        (200, json!({ "apiVersion": body["apiVersion"], "kind": kind, "response": response }))
    };
    match path {
        "/mutate-bridge-example-com-v1-toll" => {
            let label = json!({ "bridge.example.com/seen": "yes" });
            let patch = json!([{ "op": "add", "path": "/metadata/labels", "value": label }]);
            let patch = STANDARD.encode(patch.to_string());
            review(json!({ "allowed": true, "patchType": "JSONPatch", "patch": patch }))
        }
        "/validate-bridge-example-com-v1-toll" => {
            let allowed = request["object"]["spec"]["price"]["coins"] != 13;
            review(json!({ "allowed": allowed, "status": { "message": "13 coins" } }))
        }
        "/convert" => {
            let convert = |object: &Json| {
                let mut object = object.clone();
                let coins = match object["apiVersion"].as_str() {
                    Some("bridge.example.com/v1") => object["spec"]["price"]["coins"].clone(),
                    _ => object["spec"]["coins"].clone(),
                };
                object["spec"] = match request["desiredAPIVersion"].as_str() {
                    Some("bridge.example.com/v1") => json!({ "price": { "coins": coins } }),
                    _ => json!({ "coins": coins }),
                };
                object["apiVersion"] = request["desiredAPIVersion"].clone();
                object
            };
            let objects: Vec<Json> =
                request["objects"].as_array().expect("objects").iter().map(convert).collect();
            review(json!({ "result": { "status": "Success" }, "convertedObjects": objects }))
        }
        GROUP => {
            let crossings = json!({
                "name": "crossings", "singularName": "crossing", "kind": "Crossing",
                "namespaced": true, "verbs": ["list"],
            });
            let version = GROUP.trim_start_matches("/apis/");
            let list = json!({
                "apiVersion": "v1", "kind": "APIResourceList", "groupVersion": version,
                "resources": [crossings],
            });
            (200, list)
        }
        _ if path.ends_with("/crossings") => {
            let crossing = json!({ "metadata": { "name": "first" } });
            let version = GROUP.trim_start_matches("/apis/");
            (200, json!({ "apiVersion": version, "kind": "CrossingList", "items": [crossing] }))
        }
        _ => (404, json!({ "apiVersion": "v1", "kind": "Status", "code": 404 })),
    }
}

#[test]
#[ignore = "needs Go 1.26: cargo test --test api_server -- --ignored"]
fn webhooks_conversions_and_apis() {
    let cluster = ControlPlane::start();
    let temporary = TempDir::new().expect("a folder");
    let bundle = root().join("fixtures/bundles/toll-bridge-operator/0.3.0");
    let chart = compiled(&bundle, "certificates = \"helm\"", temporary.path()).expect("a chart");
    cluster.apply(&format!("apiVersion: v1\nkind: Node\nmetadata: {{name: {NODE}}}\n"));
    for helm in &Helm::all() {
        let release = Release { cluster: &cluster, helm, name: "tolls", namespace: NAMESPACE };
        release.run("install", &chart).expect_success();
        selected(&cluster);

        // Another certificate for the same name is not believed.
        let other = rcgen::generate_simple_self_signed([format!("{WEBHOOKS}.{NAMESPACE}.svc")]);
        let other = other.expect("a certificate");
        let key = other.signing_key.serialize_pem();
        let stranger = TlsServer::start(
            other.cert.pem().as_bytes(),
            key.as_bytes(),
            &clients(&cluster),
            operator,
        );
        route(&cluster, WEBHOOKS, &stranger);
        let refused = toll(&cluster, "v1", "early", &json!({ "price": { "coins": 1 } }));
        assert!(refused.contains("certificate signed by unknown authority"), "{refused}");
        assert_eq!(stranger.calls().len(), 0);

        let [webhooks, api] = [WEBHOOKS, API].map(|service| serve(&cluster, service));
        webhooks_answer(&cluster, "first", &webhooks);
        api_answers(&cluster, &api);
        assert_hosts(&webhooks.calls(), WEBHOOKS);

        // An upgrade keeps them, for pods that go on with what they have read.
        let before = secret(&cluster, WEBHOOKS);
        release.run("upgrade", &chart).expect_success();
        assert_eq!(secret(&cluster, WEBHOOKS), before, "Helm {}", helm.version);
        webhooks_answer(&cluster, "second", &webhooks);

        cluster.kubectl(&["delete", "tolls", "--all", "--namespace", "default"]).expect_success();
        release.helm(&["uninstall", "tolls"]).expect_success();
        let crds = ["delete", "crd", "tolls.bridge.example.com", "bridges.bridge.example.com"];
        cluster.kubectl(&crds).expect_success();
        // The next Helm makes others. No kubelet ends the pods.
        let rest = ["delete", "endpointslices,pods", "--all", "--namespace", NAMESPACE];
        cluster.kubectl(&[&rest[..], &["--force", "--grace-period=0"]].concat()).expect_success();
    }
}

/// The controllers find the pods of both Deployments by the selectors of the Services, and the ports
/// in their containers.
fn selected(cluster: &ControlPlane) {
    for (service, component, ports) in
        [(WEBHOOKS, "gatekeeper", &[9443, 9443][..]), (API, "counter", &[8443])]
    {
        let selector = format!("app.kubernetes.io/component={component}");
        let pods = ["pods", "--selector", &selector, "--namespace", NAMESPACE];
        let pod = cluster.wait_for("a pod", || {
            let pods = cluster.get(&pods);
            Some(pods["items"].get(0)?["metadata"]["name"].as_str()?.to_owned())
        });
        // It has a node and an address, and is not ready.
        let path = format!("/api/v1/namespaces/{NAMESPACE}/pods/{pod}/binding");
        let binding = json!({
            "apiVersion": "v1", "kind": "Binding", "metadata": { "name": pod },
            "target": { "apiVersion": "v1", "kind": "Node", "name": NODE },
        });
        let bind = ["create", "--raw", &path, "--filename", "-"];
        cluster.kubectl_as(&cluster.kubeconfig(), &bind, &binding.to_string()).expect_success();
        let status = json!({ "status": { "podIP": POD_IP, "podIPs": [{ "ip": POD_IP }] } });
        cluster
            .kubectl(&[
                "patch",
                "pod",
                &pod,
                "--namespace",
                NAMESPACE,
                "--subresource",
                "status",
                "--type",
                "merge",
                "--patch",
                &status.to_string(),
            ])
            .expect_success();
        let of_service = format!("kubernetes.io/service-name={service}");
        let slices = ["endpointslices", "--selector", &of_service, "--namespace", NAMESPACE];
        let found = cluster.wait_for("an endpoint", || {
            let slices = cluster.get(&slices);
            let mut slices = slices["items"].as_array()?.clone();
            slices.retain(|slice| slice["endpoints"][0]["addresses"][0] == POD_IP);
            slices.pop()
        });
        let mut numbers: Vec<u64> = found["ports"]
            .as_array()
            .expect("ports")
            .iter()
            .map(|port| port["port"].as_u64().expect("a number"))
            .collect();
        numbers.sort_unstable();
        assert_eq!(numbers, ports, "{service}");
    }
}

/// A server with the certificate of a Service's Secret, which the Service leads to.
fn serve(cluster: &ControlPlane, service: &str) -> TlsServer {
    let data = secret(cluster, service);
    let part = |key: &str| STANDARD.decode(data[key].as_str().expect("a text")).expect("base64");
    let server = TlsServer::start(&part("tls.crt"), &part("tls.key"), &clients(cluster), operator);
    route(cluster, service, &server);
    server
}

fn secret(cluster: &ControlPlane, service: &str) -> Json {
    let name = format!("{service}-cert");
    cluster.get(&["secret", &name, "--namespace", NAMESPACE])["data"].clone()
}

/// Whose certificates the API server shows when it passes requests on, as it says to everybody who
/// may read it.
fn clients(cluster: &ControlPlane) -> Vec<u8> {
    let settings =
        ["configmap", "extension-apiserver-authentication", "--namespace", "kube-system"];
    let settings = cluster.get(&settings);
    let authority = settings["data"]["requestheader-client-ca-file"].as_str();
    authority.expect("an authority").as_bytes().to_vec()
}

/// Leads all ports of a Service to this server.
fn route(cluster: &ControlPlane, service: &str, server: &TlsServer) {
    let object = cluster.get(&["service", service, "--namespace", NAMESPACE]);
    let ports: Vec<Json> = object["spec"]["ports"]
        .as_array()
        .expect("ports")
        .iter()
        .map(|port| json!({ "name": port["name"], "port": server.address.port() }))
        .collect();
    let slice = json!({
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
        "metadata": {
            "name": format!("{service}-of-the-test"), "namespace": NAMESPACE,
            "labels": { "kubernetes.io/service-name": service },
        },
        "addressType": "IPv4",
        "endpoints": [{ "addresses": [server.address.ip()], "conditions": { "ready": true } }],
        "ports": ports,
    });
    cluster.apply(&slice.to_string());
}

/// Creates a toll; returns what kubectl says.
fn toll(cluster: &ControlPlane, version: &str, name: &str, spec: &Json) -> String {
    let toll = json!({
        "apiVersion": format!("bridge.example.com/{version}"), "kind": "Toll",
        "metadata": { "name": name, "namespace": "default" }, "spec": spec,
    });
    let create = ["create", "--filename", "-"];
    let run = cluster.kubectl_as(&cluster.kubeconfig(), &create, &toll.to_string());
    format!("{}{}", run.stdout, run.stderr)
}

fn webhooks_answer(cluster: &ControlPlane, name: &str, server: &TlsServer) {
    // The API server learns of endpoints by watching.
    let spec = json!({ "price": { "coins": 3 } });
    cluster.wait_for("a webhook that answers", || {
        toll(cluster, "v1", name, &spec).contains("created").then_some(())
    });
    let refused = toll(cluster, "v1", "unlucky", &json!({ "price": { "coins": 13 } }));
    assert!(refused.contains("13 coins"), "{refused}");
    let read = |resource: &str, name: &str| {
        cluster.get(&[&format!("{resource}.bridge.example.com"), name, "--namespace", "default"])
    };
    assert_eq!(read("tolls.v1", name)["metadata"]["labels"]["bridge.example.com/seen"], "yes");
    // Conversion, in both directions.
    assert_eq!(read("tolls.v1alpha1", name)["spec"], json!({ "coins": 3 }));
    let old = format!("old-{name}");
    assert!(toll(cluster, "v1alpha1", &old, &json!({ "coins": 5 })).contains("created"));
    assert_eq!(read("tolls.v1", &old)["spec"]["price"]["coins"], 5);
    for path in ["/mutate-", "/validate-", "/convert"] {
        let called = server.calls().iter().any(|call| call.path.starts_with(path));
        assert!(called, "{path}: {:?}", server.calls());
    }
}

fn api_answers(cluster: &ControlPlane, server: &TlsServer) {
    let available = ["wait", "--for=condition=Available", "--timeout=300s", "apiservice"];
    let name = "v1.crossings.bridge.example.com";
    cluster.kubectl(&[&available[..], &[name]].concat()).expect_success();
    let path = format!("{GROUP}/namespaces/default/crossings");
    let list = cluster.kubectl(&["get", "--raw", &path]).expect_success();
    assert!(list.contains("\"first\""), "{list}");
    let calls = server.calls();
    let call = calls.iter().find(|call| call.path.starts_with(&path)).expect("a call");
    assert!(call.certified, "the API server shows no certificate");
    assert_eq!(call.headers.get("x-remote-user").map(String::as_str), Some("admin"));
    // Whether the API is there is asked without a look at the certificate; requests look.
    assert_hosts(std::slice::from_ref(call), API);
}

/// All calls were for this name of a Service, which the certificate has.
fn assert_hosts(calls: &[Call], service: &str) {
    for call in calls {
        assert_eq!(call.host, format!("{service}.{NAMESPACE}.svc"), "{}", call.path);
    }
}
