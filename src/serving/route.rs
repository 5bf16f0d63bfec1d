//! HTTPRoute from a Gateway to the pool, and provider-specific objects.

use super::build::{part_of, with_spec};
use super::releases::go_flags::nanoseconds;
use super::{model_server, picker, pool, topology};
use crate::config::serving::{RouteConfig, ServingConfig};
use crate::ir::{Expr, Object, Part, Value, value};
use serde_json::{Value as Json, json};

/// Returns the objects of the route.
pub(super) fn objects(config: &ServingConfig, route: &RouteConfig) -> Vec<Object> {
    let mut objects = vec![http_route(config, route)];
    if let Some(class) = &route.gateway_class {
        objects.push(gateway(route, class));
    }
    match route.provider.as_str() {
        "istio" => objects.push(destination_rule(config)),
        "gke" => objects.extend(gke(config, route)),
        _ => {}
    }
    if route.auth {
        objects.push(auth_policy(config));
    }
    objects
}

fn http_route(config: &ServingConfig, route: &RouteConfig) -> Object {
    let spec = value!({
        "parentRefs": [{
            "group": "gateway.networking.k8s.io",
            "kind": "Gateway",
            "name": &route.gateway,
            "namespace": ?&route.gateway_namespace,
        }],
        "hostnames": ?(!route.hosts.is_empty()).then(|| Value::texts(&route.hosts)),
        "rules": rules(config, route, &pool::backend(config)),
    });
    let kind = ("gateway.networking.k8s.io/v1", "HTTPRoute");
    with_spec(kind, &config.name, &part_of(config), spec)
}

/// Returns the rules from paths to a backend.
pub(super) fn rules(config: &ServingConfig, route: &RouteConfig, backend: &Json) -> Json {
    let condition = |path: &String| {
        let mut condition = json!({"path": {"type": "PathPrefix", "value": path}});
        if let Some(header) = &route.model_header {
            condition["headers"] =
                json!([{"type": "Exact", "name": header, "value": config.served_name}]);
        }
        condition
    };
    let rule = |matches: Vec<Json>| {
        json!({
            "backendRefs": [backend],
            "matches": matches,
            "timeouts": {"request": route.request_timeout},
        })
    };
    let (known, own): (Vec<&String>, Vec<&String>) =
        route.paths.iter().partition(|path| is_of_the_engine(config, path));
    let mut rules = Vec::new();
    if !known.is_empty() {
        rules.push(rule(known.into_iter().map(condition).collect()));
    }
    // ReplacePrefixMatch is only allowed in rules with a single match.
    for path in own {
        let mut rule = rule(vec![condition(path)]);
        let rewrite = json!({"path": {"type": "ReplacePrefixMatch", "replacePrefixMatch": "/"}});
        rule["filters"] = json!([{"type": "URLRewrite", "urlRewrite": rewrite}]);
        rules.push(rule);
    }
    Json::Array(rules)
}

/// Returns true if the engine serves paths with this prefix; the route strips other prefixes.
pub(super) fn is_of_the_engine(config: &ServingConfig, path: &str) -> bool {
    model_server::of(config).table.serves(path)
}

fn gateway(route: &RouteConfig, class: &str) -> Object {
    let spec = json!({
        "gatewayClassName": class,
        "listeners": [{
            "name": "http",
            "port": 80,
            "protocol": "HTTP",
            "allowedRoutes": {"namespaces": {"from": "Same"}},
        }],
    });
    let kind = ("gateway.networking.k8s.io/v1", "Gateway");
    with_spec(kind, &route.gateway, &json!({}), &spec)
}

/// Returns the DestinationRule for the picker's self-signed certificate, which Istio must not verify.
fn destination_rule(config: &ServingConfig) -> Object {
    let host = Expr::Concat(vec![
        Part::Text(format!("{}.", picker::name(config))),
        Part::ReleaseNamespace,
        Part::Text(".svc.cluster.local".to_owned()),
    ]);
    // The picker makes its certificate at start, so there is no CA that could be named.
    let policy = json!({"tls": {"mode": "SIMPLE", "insecureSkipVerify": true}});
    let spec = value!({"host": host, "trafficPolicy": policy});
    let kind = ("networking.istio.io/v1beta1", "DestinationRule");
    with_spec(kind, &picker::name(config), &part_of(config), spec)
}

fn gke(config: &ServingConfig, route: &RouteConfig) -> [Object; 2] {
    let target = pool::backend(config);
    let seconds = whole_seconds(&route.request_timeout);
    let backend = json!({
        "targetRef": target,
        "default": {"timeoutSec": seconds, "logging": {"enabled": true}},
    });

    let health = json!({
        "targetRef": target,
        "default": {
            "timeoutSec": 15,
            "checkIntervalSec": 15,
            "config": {
                "type": "HTTP",
                // Google's load balancers probe `/` unless a policy names another path.
                "httpHealthCheck": {"requestPath": "/health", "port": topology::SERVING_PORT},
            },
        },
    });

    [("GCPBackendPolicy", backend), ("HealthCheckPolicy", health)].map(|(kind, spec)| {
        with_spec(("networking.gke.io/v1", kind), &config.name, &part_of(config), &spec)
    })
}

/// Maximum timeout of Google's load balancers in seconds.
const FOR_EVER: u64 = 2_147_483_647;

/// Returns a Gateway API duration in whole seconds; 0 means no timeout.
fn whole_seconds(duration: &str) -> u64 {
    let all = nanoseconds(duration).filter(|all| *all > 0);
    // Rounded down, the load balancer would end requests that the route still allows.
    all.map_or(FOR_EVER, |all| u64::try_from(all.div_ceil(1_000_000_000)).unwrap_or(u64::MAX))
}

/// Returns the AuthPolicy that admits requests with a cluster token for this model.
fn auth_policy(config: &ServingConfig) -> Object {
    let spec = json!({
        "targetRef": {
            "group": "gateway.networking.k8s.io",
            "kind": "HTTPRoute",
            "name": config.name,
        },
        "rules": {
            "authentication": {
                "cluster-token": {"kubernetesTokenReview": {"audiences": [config.name]}},
            },
        },
    });
    with_spec(("kuadrant.io/v1", "AuthPolicy"), &config.name, &part_of(config), &spec)
}

/// Returns peers in these namespaces; without any, all pods of the release namespace.
pub(super) fn peers(namespaces: &[String]) -> Json {
    if namespaces.is_empty() {
        return json!([{"podSelector": {}}]);
    }
    let peer = |namespace: &String| {
        let labels = json!({"kubernetes.io/metadata.name": namespace});
        json!({"namespaceSelector": {"matchLabels": labels}})
    };
    namespaces.iter().map(peer).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn prefixes_that_the_engine_knows() {
        for (path, known) in [
            ("/", true),
            ("/v1", true),
            ("/v1/chat/completions", true),
            ("/v1beta", false),
            ("/team/chat", false),
            ("/team/v1", false),
        ] {
            assert_eq!(crate::releases::VLLM.serves(path), known, "{path}");
        }
    }

    #[test]
    fn durations_in_seconds() {
        let for_ever = super::FOR_EVER;
        for (text, seconds) in [
            ("300s", 300),
            ("1h30m", 5_400),
            ("0s", for_ever),
            ("0h0m", for_ever),
            ("1500ms", 2),
            ("1ms", 1),
        ] {
            assert_eq!(super::whole_seconds(text), seconds, "{text}");
        }
    }
}
