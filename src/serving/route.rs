//! HTTPRoute from a Gateway to the pool, and provider-specific objects.

use super::releases::go_flags::nanoseconds;
use super::*;
use ir::group_of;

/// Returns the objects of the route.
pub(super) fn objects(config: &ServingConfig, route: &RouteConfig) -> Vec<Object> {
    let group = group_of(config.profile.pool);
    let backend = json!({"group": group, "kind": "InferencePool", "name": config.name});
    let holes = map! {
        "gateway": &route.gateway,
        "gateway_namespace": ?&route.gateway_namespace,
        "class": ?&route.gateway_class,
        "hosts": ?(!route.hosts.is_empty()).then(|| Value::texts(&route.hosts)),
        "rules": rules(config, route, &backend),
        "pool": backend,
        "port": topology::SERVING_PORT,
        "seconds": whole_seconds(&route.request_timeout),
    };

    let of_provider = match route.provider.as_str() {
        "istio" => Some(include_str!("objects/route_istio.yaml")),
        "gke" => Some(include_str!("objects/route_gke.yaml")),
        _ => None,
    };
    let auth = route.auth.then_some(include_str!("objects/route_auth.yaml"));
    let texts = [include_str!("objects/route.yaml")].into_iter().chain(of_provider).chain(auth);
    texts.flat_map(|text| of_model(text, config, holes.clone())).collect()
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
    // The route strips prefixes of paths that the engine does not serve.
    let server = model_server::of(config).table;
    let (known, own): (Vec<&String>, Vec<&String>) =
        route.paths.iter().partition(|path| server.serves(path));
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

/// Maximum timeout of Google's load balancers in seconds.
const FOR_EVER: u64 = 2_147_483_647;

/// Returns a Gateway API duration in whole seconds; 0 means no timeout.
fn whole_seconds(duration: &str) -> u64 {
    let all = nanoseconds(duration).filter(|all| *all > 0);
    // Rounded down, the load balancer would end requests that the route still allows.
    all.map_or(FOR_EVER, |all| u64::try_from(all.div_ceil(1_000_000_000)).unwrap_or(u64::MAX))
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
