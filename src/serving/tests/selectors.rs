//! Selectors and named ports, each with a valid counterpart.

use super::pods::{Row, image, merge, object};
use serde_json::{Value as Json, json};

const MONITORS: &str = "monitoring.coreos.com/v1";

/// An object of one kind that selects pods, with ports.
fn selecting(version: &str, kind: &str, name: &str, spec: &Json) -> Vec<Json> {
    vec![object(version, kind, name, &json!({"spec": spec}))]
}

/// A Service by labels, with a target port.
fn service(name: &str, selector: &Json, port: &Json) -> Vec<Json> {
    let ports = json!([{"port": 80, "targetPort": port}]);
    selecting("v1", "Service", name, &json!({"selector": selector, "ports": ports}))
}

/// A PodMonitor by a selector, with one endpoint.
fn monitor(name: &str, selector: &Json, endpoint: &Json) -> Vec<Json> {
    let spec = json!({"selector": selector, "podMetricsEndpoints": [endpoint]});
    selecting(MONITORS, "PodMonitor", name, &spec)
}

/// A monitor of Google's collector.
fn monitoring(selector: &Json, endpoint: &Json) -> Vec<Json> {
    let spec = json!({"selector": {"matchLabels": selector}, "endpoints": [endpoint]});
    selecting("monitoring.googleapis.com/v1", "PodMonitoring", "chat", &spec)
}

/// Pods of another program with a Service that has their labels, or others.
fn web(labels: &Json, of_service: &Json) -> Vec<Json> {
    let container = json!({"name": "web", "image": image("example.com/web:1"),
        "ports": [{"containerPort": 9000}]});
    let template = json!({"metadata": {"labels": labels}, "spec": {"containers": [container]}});
    let deployment = json!({"spec": {"selector": {"matchLabels": labels}, "template": template}});
    let mut all = service("front", &json!({"component": "x"}), &json!(9000));
    all[0]["metadata"]["labels"] = of_service.clone();
    all.push(object("apps/v1", "Deployment", "web", &deployment));
    all
}

/// A ServiceMonitor of a Service with a named port, by a label of the Service or of its pods.
fn service_monitor(labels: &Json, endpoint: &Json) -> Vec<Json> {
    let mut all = service("chat", &json!({"app": "chat"}), &json!(8000));
    all[0]["metadata"]["labels"] = json!({"tier": "models"});
    all[0]["spec"]["ports"][0]["name"] = json!("http");
    let spec = json!({"selector": {"matchLabels": labels}, "endpoints": [endpoint]});
    all.extend(selecting(MONITORS, "ServiceMonitor", "other", &spec));
    all
}

/// A service of KServe, whose controller creates a Service, and a ServiceMonitor by a label of both.
fn kserve_monitor() -> Vec<Json> {
    let model = json!({"name": "example/chat-8B", "uri": "hf://example/chat-8B"});
    let service = object(
        "serving.kserve.io/v1alpha2",
        "LLMInferenceService",
        "own",
        &json!({"spec": {"model": model}}),
    );
    let labels = json!({"app.kubernetes.io/part-of": "llminferenceservice"});
    let spec = json!({"selector": {"matchLabels": labels}, "endpoints": [{"port": "https"}]});
    let mut all = selecting(MONITORS, "ServiceMonitor", "other", &spec);
    all.push(service);
    all
}

/// Puts objects into another namespace.
fn elsewhere(mut objects: Vec<Json>, spec: &Json) -> Vec<Json> {
    for object in &mut objects {
        object["metadata"]["namespace"] = json!("other");
        merge(&mut object["spec"], spec);
    }
    objects
}

/// Adds an object that creates pods in a way that is not known.
fn with_unknown_kind(mut objects: Vec<Json>, namespace: &str) -> Vec<Json> {
    let whole =
        json!({"metadata": {"namespace": namespace}, "spec": {"image": "example.com/cache:1"}});
    objects.push(object("example.com/v1", "Cache", "own", &whole));
    objects
}

#[rustfmt::skip]
pub(super) fn rows() -> Vec<Row> {
    let none = || json!({});
    let labelled = |labels: Json| json!({"spec": {"template": {"metadata": {"labels": labels}}}});
    let front = |selector: Json| service("front", &selector, &json!(8000));
    let engine = || json!({"portNumber": 8000});
    let by = |expressions: Json, endpoint: &Json| {
        monitor("front", &json!({"matchExpressions": expressions}), endpoint)
    };
    let expression = |key: &str, operator: &str, value: &str| json!({"key": key, "operator": operator, "values": [value]});
    let ray = || json!({"image": image("vllm/vllm-openai:v0.15.0"), "command": ["sh", "-c", "ray start --head && vllm serve example/chat-8B"]});
    let declared = || json!({"ports": [{"name": "http", "containerPort": 8000}, {"name": "events", "containerPort": 5557}]});

    let nothing = ("serving-selector", "selects no pods");
    let no_port = ("serving-selector", "which no selected pod declares");
    let closed = ("serving-selector", "but the pods listen on");
    let sound = ("", "");
    let mut rows: Vec<Row> = Vec::new();
    let mut row = |about, container: Json, whole: Json, others, (code, says)| {
        rows.push((about, container, whole, others, code, says));
    };

    // Kinds and their selectors.
    row("Google's monitor", none(), none(), monitoring(&json!({"app": "chat"}), &json!({"port": 8000})), sound);
    row("Google's monitor of nothing", none(), none(), monitoring(&json!({"app": "chatt"}), &json!({"port": 8000})), nothing);
    row("excluded pods", none(), none(), monitor("chat-monitor", &json!({"matchExpressions": [expression("app", "NotIn", "chat")]}), &engine()), nothing);
    row("other excluded pods", none(), none(), monitor("chat-monitor", &json!({"matchExpressions": [expression("app", "NotIn", "other")]}), &engine()), sound);
    row("another namespace", none(), none(), elsewhere(monitor("front", &json!({"matchLabels": {"app": "chat"}}), &engine()), &none()), ("serving-selector", "selects no pods"));
    row("all namespaces", none(), none(), elsewhere(monitor("front", &json!({"matchLabels": {"app": "chat"}}), &engine()), &json!({"namespaceSelector": {"any": true}})), sound);

    // Typing errors of one label.
    row("the start of a value", none(), none(), front(json!({"app": "c"})), nothing);
    row("a longer value", none(), none(), front(json!({"app": "chat-decode"})), nothing);
    row("a longer value and another port", none(), none(), service("front", &json!({"app": "chat-decode"}), &json!(9999)), sound);
    row("a key", none(), none(), front(json!({"ap": "chat"})), nothing);
    row("a key of another value", none(), none(), front(json!({"ap": "other"})), sound);
    row("a key of another domain", none(), labelled(json!({"a.example.com/team": "search"})), front(json!({"b.example.com/team": "search"})), nothing);

    row("a key that is nearly the same", none(), labelled(json!({"team": "search"})), front(json!({"tean": "search"})), nothing);

    // Names of objects for the pods.
    for name in ["chat-svc", "chat-service"] {
        row(name, none(), none(), service(name, &json!({"tier": "x"}), &json!(8000)), nothing);
    }
    for name in ["chat-front", "chatsvc"] {
        row(name, none(), none(), service(name, &json!({"tier": "x"}), &json!(8000)), sound);
    }
    for name in ["chat-monitor", "chat-metrics"] {
        let selector = json!({"matchLabels": {"tier": "x"}});
        row(name, none(), none(), monitor(name, &selector, &engine()), nothing);
        row(name, none(), none(), monitor(name, &selector, &json!({"portNumber": 9999})), sound);
        row(name, none(), none(), monitor(name, &selector, &json!({"path": "/metrics"})), sound);
    }
    for (port, expected) in [(8000, nothing), (9999, sound)] {
        row("Google's monitor by name", none(), none(), monitoring(&json!({"tier": "x"}), &json!({"port": port})), expected);
    }
    for name in ["chat-pdb", "chat-budget"] {
        let spec = json!({"maxUnavailable": 1, "selector": {"matchLabels": {"tier": "x"}}});
        row(name, none(), none(), selecting("policy/v1", "PodDisruptionBudget", name, &spec), nothing);
    }
    for name in ["chat-policy", "chat-netpol"] {
        let spec = json!({"podSelector": {"matchLabels": {"tier": "x"}}, "policyTypes": ["Ingress"]});
        row(name, none(), none(), selecting("networking.k8s.io/v1", "NetworkPolicy", name, &spec), nothing);
    }
    let budget = json!({"maxUnavailable": 1, "selector": {"matchLabels": {"model": "chat"}}});
    row("a budget of another name", none(), none(), selecting("policy/v1", "PodDisruptionBudget", "front", &budget), sound);
    row("the name as a value", none(), none(), front(json!({"model": "chat"})), nothing);

    // All labels but one.
    let search = || labelled(json!({"team": "search"}));
    row("no label of the pods", none(), none(), front(json!({"tier": "x"})), sound);
    row("one label too many", none(), search(), front(json!({"team": "search", "tier": "x"})), nothing);
    row("two labels too many", none(), search(), front(json!({"team": "search", "tier": "x", "zone": "a"})), sound);
    row("another value", none(), labelled(json!({"team": "search", "tier": "models"})), front(json!({"team": "search", "tier": "x"})), sound);
    row("a label of a controller", none(), none(), front(json!({"app": "chat", "example.com/tier": "x"})), sound);
    row("a label of a known domain", none(), labelled(json!({"example.com/zone": "a"})), front(json!({"app": "chat", "example.com/tier": "x"})), nothing);
    for key in ["app.kubernetes.io/instance", "app.kubernetes.io/managed-by", "app.kubernetes.io/part-of", "app.kubernetes.io/version"] {
        row(key, none(), labelled(json!({key: "prod"})), front(json!({key: "prod", "tier": "x"})), sound);
    }
    row("an excluded label and one too many", none(), none(), by(json!([expression("zone", "NotIn", "a"), expression("tier", "In", "x")]), &engine()), sound);
    row("another value and an excluded label", none(), labelled(json!({"team": "search", "tier": "models"})), by(json!([expression("team", "In", "search"), expression("zone", "NotIn", "a"), expression("tier", "In", "x")]), &engine()), sound);

    // Pods of other programs.
    row("a Service with the labels of the pods", none(), none(), web(&json!({"app": "web"}), &json!({"app": "web"})), nothing);
    row("a Service with other labels", none(), none(), web(&json!({"app": "web"}), &json!({"app": "front"})), sound);
    row("pods with the labels of a release", none(), none(), web(&json!({"app.kubernetes.io/instance": "prod"}), &json!({"app.kubernetes.io/instance": "prod"})), sound);
    let mut of_engine = front(json!({"component": "x"}));
    of_engine[0]["metadata"]["labels"] = json!({"app": "chat"});
    row("a Service with the labels of an engine", none(), none(), of_engine, sound);

    // Kinds that may create the pods.
    row("a kind that is not known", none(), none(), with_unknown_kind(service("chat", &json!({"tier": "x"}), &json!(8000)), "models"), sound);
    row("a kind in another namespace", none(), none(), with_unknown_kind(service("chat", &json!({"tier": "x"}), &json!(8000)), "other"), nothing);

    // Labels of Services.
    row("a monitor of a Service", none(), none(), service_monitor(&json!({"tier": "models"}), &json!({"port": "http"})), sound);
    row("a monitor by labels of pods", none(), none(), service_monitor(&json!({"app": "chat"}), &json!({"port": "http"})), ("serving-selector", "selects no Services"));
    row("a monitor of KServe's Service", none(), none(), kserve_monitor(), sound);
    row("a monitor of another port", none(), none(), service_monitor(&json!({"tier": "models"}), &json!({"port": "metrics"})), ("serving-selector", "which no selected Service has"));
    row("a monitor of a port of pods", none(), none(), service_monitor(&json!({"tier": "models"}), &json!({"targetPort": "metrics"})), sound);

    // Named ports and numbers.
    row("a declared port", declared(), none(), service("front", &json!({"app": "chat"}), &json!("http")), sound);
    row("a port that is not declared", declared(), none(), service("front", &json!({"app": "chat"}), &json!("htpp")), no_port);
    row("a number as a text", declared(), none(), service("front", &json!({"app": "chat"}), &json!("8000")), ("serving-pod", "must contain a letter"));
    row("a port of a template", declared(), none(), service("front", &json!({"app": "chat"}), &json!("${PORT}")), sound);
    row("another declared port", declared(), none(), service("front", &json!({"app": "chat"}), &json!(5557)), sound);
    row("a closed port", declared(), none(), service("front", &json!({"app": "chat"}), &json!(5558)), closed);
    let mut without_target = service("front", &json!({"app": "chat"}), &json!(8000));
    without_target[0]["spec"]["ports"] = json!([{"port": 8001}]);
    row("a closed port without a target", none(), none(), without_target, closed);
    for port in [6379, 8265, 10001] {
        row("a port of Ray", ray(), none(), service("front", &json!({"app": "chat"}), &json!(port)), sound);
    }
    row("no port of Ray", ray(), none(), service("front", &json!({"app": "chat"}), &json!(6380)), closed);
    row("no Ray", none(), none(), service("front", &json!({"app": "chat"}), &json!(6379)), closed);
    row("a monitor of a declared port", declared(), none(), monitor("front", &json!({"matchLabels": {"app": "chat"}}), &json!({"port": "http"})), sound);
    row("a monitor of no port", declared(), none(), monitor("front", &json!({"matchLabels": {"app": "chat"}}), &json!({"port": "metrics"})), no_port);
    row("Google's monitor of a declared port", declared(), none(), monitoring(&json!({"app": "chat"}), &json!({"port": "http"})), sound);
    row("Google's monitor of no port", declared(), none(), monitoring(&json!({"app": "chat"}), &json!({"port": "metrics"})), no_port);
    rows
}
