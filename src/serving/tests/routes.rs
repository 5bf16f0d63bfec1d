//! HTTPRoutes and their Gateways, each with a valid counterpart.

use super::pods::{Row, merge, object, routed};
use serde_json::{Value as Json, json};

const GATEWAY_API: &str = "gateway.networking.k8s.io/v1";

/// A Gateway with these listeners, and a patch.
fn gateway(listeners: &Json, patch: &Json) -> Vec<Json> {
    let spec = json!({"gatewayClassName": "istio", "listeners": listeners});
    let mut gateway = object(GATEWAY_API, "Gateway", "edge", &json!({"spec": spec}));
    merge(&mut gateway, patch);
    vec![gateway]
}

fn listener(patch: &Json) -> Json {
    let mut one = json!({"name": "http", "protocol": "HTTP", "port": 80});
    merge(&mut one, patch);
    one
}

fn service() -> Json {
    let spec = json!({"selector": {"app": "chat"}, "ports": [{"port": 8000}]});
    object("v1", "Service", "chat", &json!({"spec": spec}))
}

fn backend(patch: &Json) -> Json {
    let mut one = json!({"name": "chat", "port": 8000});
    merge(&mut one, patch);
    one
}

/// A route with one rule, and the Service of the engine.
fn route(rule: &Json, spec: &Json) -> Vec<Json> {
    let mut all = json!({"parentRefs": [{"name": "edge"}], "rules": [rule]});
    merge(&mut all, spec);
    vec![service(), object(GATEWAY_API, "HTTPRoute", "chat", &json!({"spec": all}))]
}

/// A rule for paths, with the engine as its backend.
fn rule(paths: &[(&str, &str)], more: &Json) -> Json {
    let matches = paths.iter().map(|(kind, value)| json!({"path": {"type": kind, "value": value}}));
    let mut rule = json!({"backendRefs": [backend(&json!({}))]});
    if !paths.is_empty() {
        rule["matches"] = matches.collect();
    }
    merge(&mut rule, more);
    rule
}

/// A Service of another namespace, and a grant for it.
fn granted(to: Option<Json>) -> Vec<Json> {
    let mut all = route(
        &rule(
            &[],
            &json!({"backendRefs": [backend(&json!({"name": "far", "namespace": "data"}))]}),
        ),
        &json!({}),
    );
    let there = json!({"metadata": {"namespace": "data"}});
    let mut far = object("v1", "Service", "far", &there);
    far["spec"] = service()["spec"].clone();
    all.push(far);
    let from =
        json!([{"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "namespace": "models"}]);
    all.extend(to.map(|to| {
        let mut grant =
            object("gateway.networking.k8s.io/v1beta1", "ReferenceGrant", "far", &there);
        grant["spec"] = json!({"from": from, "to": [to]});
        grant
    }));
    all
}

fn rewrite(to: &str) -> Json {
    let path = json!({"type": "ReplacePrefixMatch", "replacePrefixMatch": to});
    json!({"type": "URLRewrite", "urlRewrite": {"path": path}})
}

#[rustfmt::skip]
pub(super) fn rows() -> Vec<Row> {
    let none = || json!({});
    let sound = ("", "");
    let wrong = |message| ("serving-gateway", message);
    let prefix = "PathPrefix";
    let edge = || json!({"parentRefs": [{"name": "edge"}]});
    let with = |mut one: Vec<Json>, more: Vec<Json>| { one.extend(more); one };
    let of = |rule: &Json| route(rule, &json!({}));
    let under = |listeners: Json, spec: Json| with(gateway(&listeners, &json!({})), route(&rule(&[], &json!({})), &spec));

    let mut rows: Vec<Row> = Vec::new();
    let mut row = |about, others, (code, says)| rows.push((about, none(), none(), others, code, says));

    // Paths.
    for path in ["/v1", "/embeddings", "/healthz", "/models", "/${PREFIX}", "${PATH}"] {
        row(path, of(&rule(&[(prefix, path)], &none())), sound);
    }
    row("a path that engines do not serve", of(&rule(&[(prefix, "/chat")], &none())), wrong("leaves `/chat` in the path"));
    row("a rule without backends", of(&rule(&[(prefix, "/chat")], &json!({"backendRefs": null}))), wrong("has no backend"));
    row("a rule with an answer", of(&rule(&[(prefix, "/chat")], &json!({"backendRefs": null, "filters": [{"type": "ExtensionRef", "extensionRef": {"group": "example.com", "kind": "Answer", "name": "chat"}}]}))), sound);
    row("a route without a Gateway", route(&rule(&[], &none()), &json!({"parentRefs": null})), wrong("has no `parentRefs`"));
    row("a backend of other manifests", of(&rule(&[(prefix, "/chat")], &json!({"backendRefs": [backend(&none()), backend(&json!({"name": "others"}))]}))), sound);
    let pool = json!({"backendRefs": [{"group": "inference.networking.k8s.io", "kind": "InferencePool", "name": "others"}]});
    row("a rewrite to the root", of(&rule(&[(prefix, "/chat/v1")], &json!({"filters": [rewrite("/")]}))), wrong("without the `/v1` that engines serve"));
    row("a rewrite to the root, for a pool", of(&rule(&[(prefix, "/chat/v1")], &both(&pool, &json!({"filters": [rewrite("/")]})))), wrong("without the `/v1` that engines serve"));
    row("a rewrite to the API", of(&rule(&[(prefix, "/chat/v1")], &json!({"filters": [rewrite("/v1")]}))), sound);
    row("an exact path", of(&rule(&[("Exact", "/v1/models")], &none())), sound);
    row("an exact folder", of(&rule(&[("Exact", "/v1/")], &none())), wrong("is the path `/v1/` alone"));
    for pattern in ["v1.*", "/(v1|v2)/.*"] {
        row(pattern, of(&rule(&[("RegularExpression", pattern)], &none())), sound);
    }
    row("a path without a slash", of(&rule(&[(prefix, "v1")], &none())), wrong("does not begin with `/`"));
    row("a match by a header", of(&rule(&[], &json!({"matches": [{"headers": [{"name": "a", "value": "b"}]}]}))), sound);

    // Rules against their filters and timeouts.
    row("two paths", of(&rule(&[(prefix, "/v1/a"), (prefix, "/v1/b")], &none())), sound);
    row("a rewrite of two paths", of(&rule(&[(prefix, "/a"), (prefix, "/b")], &json!({"filters": [rewrite("/v1")]}))), wrong("without exactly one PathPrefix match"));
    row("a rewrite of an exact path", of(&rule(&[("Exact", "/a")], &json!({"backendRefs": [backend(&json!({"filters": [rewrite("/v1")]}))]}))), wrong("without exactly one PathPrefix match"));
    let redirect = json!({"type": "RequestRedirect", "requestRedirect": {"path": {"type": "ReplacePrefixMatch", "replacePrefixMatch": "/v1"}}});
    row("a redirect", of(&rule(&[(prefix, "/a")], &json!({"backendRefs": null, "filters": [redirect]}))), sound);
    row("a redirect of two paths", of(&rule(&[(prefix, "/a"), (prefix, "/b")], &json!({"backendRefs": null, "filters": [redirect]}))), wrong("without exactly one PathPrefix match"));
    row("a redirect with backends", of(&rule(&[(prefix, "/a")], &json!({"filters": [redirect]}))), wrong("redirects requests, but has backends"));
    row("no weight", of(&rule(&[], &json!({"backendRefs": [backend(&json!({"weight": 0}))]}))), wrong("have weight 0"));
    for (all, each, expected) in [("10s", "5s", sound), ("5s", "5s", sound), ("0s", "5s", sound), ("5s", "10s", wrong("exceeds `request`"))] {
        row(each, of(&rule(&[], &json!({"timeouts": {"request": all, "backendRequest": each}}))), expected);
    }

    // Listeners.
    let twice = |host: &str| json!([listener(&json!({"hostname": host})), listener(&json!({"name": "more", "hostname": host}))]);
    row("listeners of one host", gateway(&twice("a.example.com"), &none()), wrong("has port, protocol and hostname of another one"));
    row("listeners of a template", gateway(&twice("${HOST}"), &none()), sound);
    let https = |tls: Json| json!([listener(&json!({"protocol": "HTTPS", "port": 443, "tls": tls}))]);
    let certificates = json!({"metadata": {"annotations": {"networking.gke.io/certmap": "all"}}});
    row("a certificate", gateway(&https(json!({"certificateRefs": [{"name": "tls"}]})), &none()), sound);
    row("options", gateway(&https(json!({"options": {"example.com/a": "b"}})), &none()), sound);
    row("no certificate", gateway(&https(json!({"mode": "Terminate"})), &none()), wrong("has no certificate for HTTPS"));
    row("TLS that passes", gateway(&https(json!({"mode": "Passthrough"})), &none()), sound);
    row("no TLS settings", gateway(&https(Json::Null), &none()), wrong("has no certificate for HTTPS"));
    row("certificates of an annotation", gateway(&https(Json::Null), &certificates), sound);
    row("certificates of an annotation and TLS settings", gateway(&https(json!({"mode": "Terminate"})), &certificates), wrong("has no certificate for HTTPS"));
    row("TLS settings of HTTP", gateway(&json!([listener(&json!({"tls": {"mode": "Terminate"}}))]), &none()), wrong("has `tls`, but protocol HTTP"));

    // Parents.
    let http = || json!([listener(&none())]);
    row("a parent", under(http(), edge()), sound);
    row("a parent of another kind", under(http(), json!({"parentRefs": [{"group": "", "kind": "Service", "name": "egde"}]})), sound);
    row("a Gateway that is not there", under(http(), json!({"parentRefs": [{"name": "egde"}]})), wrong("references Gateway/egde, which is not in the manifests"));
    row("a Gateway of another namespace", under(http(), json!({"parentRefs": [{"name": "edge", "namespace": "other"}]})), wrong("references Gateway/edge, which is not in the manifests"));
    row("a Gateway of the cluster", under(http(), json!({"parentRefs": [{"name": "shared-gateway", "namespace": "other"}]})), wrong("references Gateway/shared-gateway, which is not in the manifests"));
    for parent in [json!({"name": "${GATEWAY}"}), json!({"name": "edge", "namespace": "${NAMESPACE}"}), json!({"name": "edge", "sectionName": "${LISTENER}"}), json!({"name": "edge", "sectionName": "http"}), json!({"name": "edge", "port": 80})] {
        row("a parent of a template", under(http(), json!({"parentRefs": [parent]})), sound);
    }
    row("a listener that is not there", under(http(), json!({"parentRefs": [{"name": "edge", "sectionName": "htpp"}]})), wrong("references listener `htpp`"));
    let mut beside = under(http(), json!({"parentRefs": [{"name": "edge", "sectionName": "htpp"}]}));
    beside.extend(gateway(&http(), &json!({"metadata": {"name": "${GATEWAY}"}})));
    row("a listener that is not there, beside a template", beside, wrong("references listener `htpp`"));
    row("a port that is not there", under(http(), json!({"parentRefs": [{"name": "edge", "port": 81}]})), wrong("references port 81"));
    let hosts = |own: &str, host: &str| under(json!([listener(&json!({"hostname": own}))]), json!({"parentRefs": [{"name": "edge"}], "hostnames": [host]}));
    for (own, host) in [("a.example.com", "a.example.com"), ("*.example.com", "a.example.com"), ("a.example.com", "*.example.com"), ("${HOST}", "a.example.com"), ("a.example.com", "${HOST}")] {
        row("hosts of a listener", hosts(own, host), sound);
    }
    row("other hosts", hosts("a.example.com", "b.example.com"), wrong("no listener of Gateway/edge matches the hostnames"));
    row("any host", under(http(), json!({"parentRefs": [{"name": "edge"}], "hostnames": ["a.example.com"]})), sound);
    let far = |allowed: Json| {
        let listeners = json!([listener(&json!({"allowedRoutes": allowed}))]);
        let parents = json!({"parentRefs": [{"name": "edge", "namespace": "other"}]});
        with(gateway(&listeners, &json!({"metadata": {"namespace": "other"}})), route(&rule(&[], &none()), &parents))
    };
    row("routes of one namespace", far(Json::Null), wrong("which is in another namespace"));
    row("routes of the same namespace", far(json!({"namespaces": {"from": "Same"}})), wrong("which is in another namespace"));
    row("routes of all namespaces", far(json!({"namespaces": {"from": "All"}})), sound);
    for (class, expected) in [("gke-l7-gxlb", wrong("is of class `gke-l7-gxlb`")), ("gke-l7-gxlb-mc", wrong("is of class `gke-l7-gxlb-mc`")), ("gke-l7-rilb", sound)] {
        row(class, routed(&json!({"access": "models"}), class, "InferencePool"), expected);
    }

    // Backends.
    let to = |patch: Json| of(&rule(&[], &json!({"backendRefs": [backend(&patch)]})));
    row("a port of the Service", to(none()), sound);
    row("another port", to(json!({"port": 8001})), wrong("references port 8001 of Service/chat"));
    row("no port", to(json!({"port": null})), wrong("backend Service/chat of HTTPRoute/chat has no port"));
    row("a Service that is not there", to(json!({"name": "chatt"})), wrong("references Service/chatt, which is not in the manifests, but Service/"));
    row("a Service of other manifests", to(json!({"name": "frontend"})), sound);
    row("a Service of a template", to(json!({"name": "chat${N}"})), sound);
    row("a kind of other projects", to(json!({"kind": "Import", "name": "chatt"})), sound);
    let mut all = routed(&json!({"access": "models"}), "istio", "Service");
    for one in &mut all {
        match one["kind"].as_str() {
            Some("InferencePool") => one["metadata"]["name"] = json!("large"),
            Some("HTTPRoute") => one["spec"]["rules"][0]["backendRefs"] = json!([{"name": "large", "port": 8000}]),
            _ => {}
        }
    }
    row("a pool as a Service", all, wrong("references Service/large, which is not in the manifests, but InferencePool/large is"));
    let mut without_ports = to(none());
    without_ports[0]["spec"]["ports"] = json!([]);
    row("a Service without ports", without_ports, ("serving-pod", "Service/chat has no ports"));
    let mut grpc = to(json!({"port": 8001}));
    grpc[1]["kind"] = json!("GRPCRoute");
    row("another port of a GRPCRoute", grpc, wrong("references port 8001 of Service/chat"));

    row("a port as a text", to(json!({"port": "8000"})), ("!", "has no port"));
    let mut all = routed(&json!({"access": "models"}), "istio", "InferencePool");
    for route in all.iter_mut().filter(|one| one["kind"] == "HTTPRoute") {
        route["spec"]["rules"][0]["matches"] = json!([{"path": {"type": "PathPrefix", "value": "/chat"}}]);
    }
    row("a path that a pool does not serve", all, wrong("leaves `/chat` in the path"));
    for (group, code) in [("inference.networking.x-k8s.io", "!"), ("", "serving-pool-missing")] {
        row("a pool of another group", to(json!({"group": group, "kind": "InferencePool", "name": "others"})), (code, "references InferencePools in group"));
    }
    let pool = |more: Json| {
        let mut pool = object("inference.networking.k8s.io/v1", "InferencePool", "large", &json!({"spec": {"selector": {"matchLabels": {"app": "chat"}}, "targetPorts": [{"number": 8000}]}}));
        merge(&mut pool["spec"], &more);
        vec![pool]
    };
    let picker = json!({"name": "others", "port": {"number": 9002}});
    let missing = "has no endpointPickerRef";
    row("a pool without a picker", pool(none()), ("!", missing));
    row("a pool with the old name of its picker", pool(json!({"extensionRef": picker})), ("serving-pool-shape", missing));
    row("a pool with both names of its picker", pool(json!({"extensionRef": picker, "endpointPickerRef": picker})), ("!", missing));

    // Grants.
    row("no grant", granted(None), wrong("no ReferenceGrant lets HTTPRoute/chat use Service/far"));
    row("a grant", granted(Some(json!({"group": "", "kind": "Service"}))), sound);
    row("a grant for the Service", granted(Some(json!({"group": "", "kind": "Service", "name": "far"}))), sound);
    row("a grant for another Service", granted(Some(json!({"group": "", "kind": "Service", "name": "near"}))), wrong("no ReferenceGrant lets HTTPRoute/chat use Service/far"));
    row("a grant for another kind", granted(Some(json!({"group": "", "kind": "Secret"}))), wrong("no ReferenceGrant lets HTTPRoute/chat use Service/far"));
    row("a backend of another namespace that is not there", to(json!({"namespace": "data"})), sound);

    // Two routes to pools.
    let twice = |one: Json, other: Json| [("one", one), ("other", other)].map(|(name, spec)| {
        let rule = json!({"backendRefs": [{"group": "inference.networking.k8s.io", "kind": "InferencePool", "name": "others"}]});
        let mut all = json!({"parentRefs": [{"name": "cluster"}], "rules": [rule]});
        if let Some(matches) = spec.get("matches") {
            all["rules"][0]["matches"] = matches.clone();
        }
        merge(&mut all, &spec["spec"]);
        object(GATEWAY_API, "HTTPRoute", name, &json!({"spec": all}))
    }).to_vec();
    let matches = |one: Json| json!({"spec": {}, "matches": [one]});
    let headers = |all: &[(&str, &str)]| {
        let all: Vec<Json> = all.iter().map(|(name, value)| json!({"name": name, "value": value})).collect();
        matches(json!({"headers": all}))
    };
    let query = |value: &str| matches(json!({"queryParams": [{"name": "model", "value": value}]}));
    let spec = |spec: Json| json!({"spec": spec});
    let parent = |one: Json| spec(json!({"parentRefs": [one]}));
    let path = |kind: &str, value: &str| matches(json!({"path": {"type": kind, "value": value}}));
    let same = ("serving-route", "HTTPRoute/one and HTTPRoute/other both match");
    let differ = ("!", same.1);
    for (one, other, expected) in [
        (path(prefix, "/v1"), path(prefix, "/v1"), same),
        (path(prefix, "/v1"), path("Exact", "/v1"), differ),
        (path(prefix, "/v1"), path(prefix, "/v2"), differ),
        (path(prefix, "/"), spec(none()), same),
        (matches(json!({"path": {"value": "/"}})), spec(none()), same),
        (headers(&[("A", "x"), ("B", "y")]), headers(&[("b", "y"), ("a", "x")]), same),
        (headers(&[("A", "x")]), headers(&[("A", "y")]), differ),
        (headers(&[("A", "x")]), headers(&[("B", "x")]), differ),
        (query("a"), query("a"), same),
        (query("a"), query("b"), differ),
        (matches(json!({"method": "GET"})), matches(json!({"method": "GET"})), same),
        (matches(json!({"method": "GET"})), matches(json!({"method": "POST"})), differ),
        (spec(json!({"hostnames": ["a.example.com"]})), spec(json!({"hostnames": ["a.example.com"]})), same),
        (spec(json!({"hostnames": ["a.example.com"]})), spec(json!({"hostnames": ["b.example.com"]})), differ),
        (spec(json!({"hostnames": ["*"]})), spec(none()), same),
        (parent(json!({"name": "cluster", "namespace": "models"})), spec(none()), same),
        (parent(json!({"name": "cluster", "namespace": "other"})), spec(none()), differ),
        (parent(json!({"name": "more"})), spec(none()), differ),
        (parent(json!({"name": "cluster", "sectionName": "http"})), spec(none()), differ),
    ] {
        row("two routes", twice(one, other), expected);
    }

    // Kinds that are not read.
    for (version, expected) in [("example.com/v1", ("serving-unread", "Own/own is not checked: unknown kind")), ("keda.sh/v1", ("!", "unknown kind")), ("monitoring.coreos.com/v1", ("!", "unknown kind")), ("orchestration.aibrix.ai/v1", ("!", "unknown kind")), ("ray.io/v1", ("!", "unknown kind"))] {
        row(version, vec![object(version, "Own", "own", &json!({"spec": {"image": "example.com/own:1"}}))], expected);
    }
    for key in ["image", "model", "modelId", "modelName", "args", "command", "engine", "engineConfig"] {
        row(key, vec![object("example.com/v1", "Own", key, &json!({"spec": {key: "x"}}))], ("serving-unread", "is not checked: unknown kind"));
    }
    row("size", vec![object("example.com/v1", "Own", "size", &json!({"spec": {"size": 1}}))], ("!", "unknown kind"));
    let presets = "serving.kserve.io/v1alpha2";
    let container = json!({"name": "main", "image": "example.com/own:1", "resources": {"limits": {"nvidia.com/gpu": 1}}});
    let preset = object(presets, "LLMInferenceServiceConfig", "own", &json!({"spec": {"template": {"containers": [container]}}}));
    let uses = object(presets, "LLMInferenceService", "own", &json!({"spec": {"model": {"uri": "hf://example/chat"}}}));
    let unread = "pods of LLMInferenceServiceConfig/own are not checked";
    row("a preset", vec![preset.clone()], ("serving-unread", unread));
    row("a preset with a service", vec![preset, uses], ("!", unread));
    let root = json!({"command": ["vllm", "serve", "example/chat-8B", "--root-path=/chat"]});
    rows.push(("a path of the engine", root, none(), of(&rule(&[(prefix, "/chat")], &none())), "!", "leaves `/chat` in the path"));
    rows
}

fn both(one: &Json, other: &Json) -> Json {
    let mut all = one.clone();
    merge(&mut all, other);
    all
}
