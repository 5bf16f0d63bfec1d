//! NetworkPolicies of engines, each with a valid counterpart.

use super::pods::{Row, merge, object, pods, routed};
use serde_json::{Value as Json, json};

/// A NetworkPolicy of the engine's pods.
fn policy(name: &str, spec: &Json) -> Json {
    let mut all = json!({"podSelector": {"matchLabels": {"app": "chat"}}});
    merge(&mut all, spec);
    object("networking.k8s.io/v1", "NetworkPolicy", name, &json!({"spec": all}))
}

/// A pool behind the Gateway of another namespace, with a policy of its pods.
fn behind(spec: &Json) -> Vec<Json> {
    let mut all = routed(&json!({"access": "models"}), "istio", "InferencePool");
    all.push(policy("chat", spec));
    all
}

/// A policy for connections to the pods.
fn ingress(rules: &[Json]) -> Json {
    json!({"policyTypes": ["Ingress"], "ingress": rules})
}

fn from(peer: &Json) -> Vec<Json> {
    behind(&ingress(&[json!({"from": [peer]})]))
}

/// A policy for connections from the pods to these ports.
fn egress(ports: &[Json]) -> Vec<Json> {
    vec![policy("chat", &json!({"policyTypes": ["Egress"], "egress": [{"ports": ports}]}))]
}

#[rustfmt::skip]
pub(super) fn rows() -> Vec<Row> {
    let none = || json!({});
    let closed = "does not allow connections from Gateway/edge to port 8000 of Deployment/chat";
    let [open, refused] = [("!", closed), ("serving-gateway", closed)];
    let declared = || json!({"ports": [{"name": "http", "containerPort": 8000}]});
    let mut rows: Vec<Row> = Vec::new();
    let mut row = |about, container: Json, whole: Json, others, (code, says)| rows.push((about, container, whole, others, code, says));

    // Rules and their ports.
    row("no rule", none(), none(), behind(&ingress(&[])), refused);
    row("no rule, and no types", none(), none(), behind(&json!({"ingress": []})), refused);
    row("all connections", none(), none(), behind(&ingress(&[none()])), open);
    row("other pods", none(), none(), behind(&json!({"podSelector": {"matchLabels": {"app": "other"}}, "policyTypes": ["Ingress"]})), open);
    row("another direction", none(), none(), behind(&json!({"policyTypes": ["Egress"], "egress": [{}]})), open);
    for (port, expected) in [
        (json!({"port": 8000}), open),
        (json!({"port": 9999}), refused),
        (json!({"port": 7999, "endPort": 8001}), open),
        (json!({"port": 8000, "endPort": 8000}), open),
        (json!({"port": 8001, "endPort": 9000}), refused),
        (json!({"port": 8000, "protocol": "UDP"}), refused),
        (json!({"port": 8000, "protocol": "TCP"}), open),
        (json!({"protocol": "TCP"}), open),
        (json!({"port": "http"}), open),
        (json!({"port": "web"}), refused),
    ] {
        row("a port", declared(), none(), behind(&ingress(&[json!({"ports": [port]})])), expected);
    }
    let mut both = behind(&ingress(&[]));
    both.push(policy("more", &ingress(&[none()])));
    row("two policies", none(), none(), both, open);
    let mut without_route = behind(&ingress(&[]));
    without_route.retain(|one| one["kind"] != "HTTPRoute");
    row("a Gateway that is not known", none(), none(), without_route, ("serving-gateway", "does not allow connections from Gateways to port 8000 of Deployment/chat"));

    // Peers.
    let named = |name: &str| json!({"matchLabels": {"gateway.networking.k8s.io/gateway-name": name}});
    let space = |name: &str| json!({"matchLabels": {"kubernetes.io/metadata.name": name}});
    for (peer, expected) in [
        (json!({"namespaceSelector": {}}), open),
        (json!({"namespaceSelector": space("edge")}), open),
        (json!({"namespaceSelector": space("other")}), refused),
        (json!({"namespaceSelector": {"matchLabels": {"team": "edge"}}}), open),
        (json!({"namespaceSelector": {}, "podSelector": named("edge")}), open),
        (json!({"namespaceSelector": {}, "podSelector": named("other")}), refused),
        (json!({"namespaceSelector": {}, "podSelector": {"matchLabels": {"istio": "ingress"}}}), open),
        (json!({"podSelector": {}}), refused),
        (json!({"podSelector": named("edge")}), refused),
    ] {
        row("a peer", none(), none(), from(&peer), expected);
    }
    // Addresses that pods, or proxies of Google, may have, and the next ones.
    for (cidr, next) in [
        ("10.0.0.0/8", "11.0.0.0/8"),
        ("100.64.0.0/10", "100.128.0.0/10"),
        ("172.16.0.0/12", "172.32.0.0/12"),
        ("192.0.0.0/24", "192.0.1.0/24"),
        ("192.0.2.0/24", "192.0.3.0/24"),
        ("192.88.99.0/24", "192.88.98.0/24"),
        ("192.168.0.0/16", "192.169.0.0/16"),
        ("198.18.0.0/15", "198.20.0.0/15"),
        ("198.51.100.0/24", "198.51.101.0/24"),
        ("203.0.113.0/24", "203.0.114.0/24"),
        ("240.0.0.0/4", "224.0.0.0/4"),
        ("35.191.0.0/16", "35.190.0.0/16"),
        ("130.211.0.0/22", "130.211.4.0/22"),
        ("0.0.0.0/0", "8.8.8.8/32"),
        ("10.1.2.3/32", "1.1.1.0/24"),
        ("::/0", "9.0.0.0/8"),
    ] {
        row(cidr, none(), none(), from(&json!({"ipBlock": {"cidr": cidr}})), open);
        row(next, none(), none(), from(&json!({"ipBlock": {"cidr": next}})), refused);
    }

    // Names that a download looks up.
    let no_names = "does not allow Deployment/chat, which downloads `example/chat-8B`, to look up names";
    let [names, unresolved] = [("!", no_names), ("serving-gateway", no_names)];
    let [https, dns, udp] = [json!({"port": 443}), json!({"port": 53}), json!({"port": 53, "protocol": "UDP"})];
    let only_https = || egress(&[json!({"port": 443})]);
    row("HTTPS", none(), none(), only_https(), unresolved);
    row("HTTP", none(), none(), egress(&[json!({"port": 80}), https.clone()]), unresolved);
    row("HTTPS without types", none(), none(), vec![policy("chat", &json!({"egress": [{"ports": [https]}]}))], unresolved);
    row("any port", none(), none(), egress(&[]), names);
    row("a range of ports", none(), none(), egress(&[json!({"port": 80, "endPort": 90})]), names);
    row("HTTPS and DNS", none(), none(), egress(&[https.clone(), dns.clone(), udp.clone()]), names);
    row("a model of a volume", json!({"command": ["vllm", "serve", "/models/chat"]}), none(), only_https(), ("!", "to look up names"));
    for name in ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "HF_ENDPOINT"] {
        row(name, json!({"env": [{"name": name, "value": "http://proxy:3128"}]}), none(), only_https(), names);
    }
    let ways = || [("hostNetwork", json!(true)), ("hostAliases", json!([{"ip": "10.0.0.1", "hostnames": ["hub"]}])), ("dnsPolicy", json!("Default")), ("dnsConfig", json!({"nameservers": ["10.0.0.1"]}))];
    for (key, value) in ways() {
        row(key, none(), pods(&json!({key: value})), only_https(), names);
    }
    let only_tcp = "allows Deployment/chat port 53 over TCP only";
    row("DNS over TCP", none(), none(), egress(&[https.clone(), dns.clone()]), ("serving-gateway", only_tcp));
    row("DNS over UDP", none(), none(), egress(&[https.clone(), dns.clone(), udp]), ("!", only_tcp));
    row("DNS over TCP and any port", none(), none(), vec![policy("chat", &json!({"policyTypes": ["Egress"], "egress": [{"ports": [dns]}, {}]}))], ("!", only_tcp));
    for (key, value) in ways() {
        row(key, none(), pods(&json!({key: value})), egress(&[https.clone(), dns.clone()]), ("!", only_tcp));
    }
    for kind in ["AdminNetworkPolicy", "CiliumClusterwideNetworkPolicy", "CiliumNetworkPolicy"] {
        let mut all = egress(&[https.clone(), dns.clone()]);
        all.push(object("example.com/v1", kind, "more", &none()));
        row(kind, none(), none(), all, ("!", only_tcp));
    }
    rows
}
