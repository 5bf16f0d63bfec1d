//! The test of a model's chart for `helm test`: the model answers a request through the Gateway.
//!
//! A Pod runs curl with a request for one token, so that Gateway, route, endpoint picker and engine are
//! all part of the test. It is a hook, which Helm creates for `helm test` only, and rendered only if the
//! values name its image, because it is none of the model's, and the URL of the Gateway.

use crate::config::serving::{GatewayProvider, RouteConfig, ServingConfig};
use crate::ir::{Condition, Expr, Unit, Value, ValueSpec, ValuesPath, map, value};
use crate::kubectl::{container_security, pod_security};
use crate::route::is_of_the_engine;
use crate::yaml;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;

/// An image with curl as entry point, for the description of the value.
const CURL_IMAGE: &str = "docker.io/curlimages/curl:8.10.1";

/// Folder of the token in the Pod.
const TOKENS: &str = "/var/run/secrets/tokens";

/// Returns the route that the test sends its request through; `None` for charts without a test: those
/// without a route, those of KServe, and models as a service, whose requests need an API key.
pub(super) fn route(config: &ServingConfig) -> Option<&RouteConfig> {
    config.route.as_ref().filter(|_| !config.kserve && config.maas.is_none())
}

/// Returns the template files of the test, by path, after declaring its values.
pub(super) fn add(unit: &mut Unit, config: &ServingConfig) -> BTreeMap<String, String> {
    let Some(route) = route(config) else { return BTreeMap::new() };
    unit.values.extend(values(config, route));

    let name = format!("{}-test", config.name);
    let test = map! {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": &name,
            "namespace": Expr::ReleaseNamespace,
            "annotations": {
                "helm.sh/hook": "test",
                "helm.sh/hook-delete-policy": "before-hook-creation,hook-succeeded",
            },
        },
        "spec": pod(config, route),
    };
    let when = Condition::All(vec![Condition::Set(image()), Condition::Set(url())]);
    let template = yaml::template(&test, Some(&when));
    BTreeMap::from([(format!("templates/tests/pod-{name}.yaml"), template)])
}

fn image() -> ValuesPath {
    ValuesPath::new(["tests", "image"])
}

fn url() -> ValuesPath {
    ValuesPath::new(["tests", "url"])
}

fn values(config: &ServingConfig, route: &RouteConfig) -> [ValueSpec; 2] {
    let text = |path: ValuesPath, default: String, description: String| {
        ValueSpec::text(path, json!(default), description)
    };
    [
        text(
            image(),
            String::new(),
            format!(
                "Image with curl as entry point, such as `{CURL_IMAGE}`, which enables `helm test` \
                    together with `tests.url`: it requests one token of the model"
            ),
        ),
        text(
            url(),
            default_url(config, route),
            format!(
                "URL of the completions API through the Gateway, as pods reach it: \
                    `http://HOST{}`",
                completions(config, route)
            ),
        ),
    ]
}

/// Returns the path of the completions API. The route removes prefixes that are not the engine's.
pub(super) fn completions(config: &ServingConfig, route: &RouteConfig) -> String {
    let own = route.paths.iter().find(|path| !is_of_the_engine(config, path));
    format!("{}/v1/completions", own.map_or("", |path| path.trim_end_matches('/')))
}

/// Returns the URL with Istio's Service for a Gateway, which has the name of the Gateway and its class;
/// empty for other implementations, whose Services have other names or do not exist.
fn default_url(config: &ServingConfig, route: &RouteConfig) -> String {
    if route.provider != GatewayProvider::Istio {
        return String::new();
    }
    let class = route.gateway_class.as_deref().unwrap_or("istio");
    let namespace = route.gateway_namespace.as_ref().map(|name| format!(".{name}"));
    let namespace = namespace.unwrap_or_default();
    format!("http://{}-{class}{namespace}{}", route.gateway, completions(config, route))
}

/// Returns the headers that the route matches, and the content type.
pub(super) fn headers(config: &ServingConfig, route: &RouteConfig) -> Vec<String> {
    let mut headers = vec!["Content-Type: application/json".to_owned()];
    headers.extend(route.hosts.first().map(|host| format!("Host: {}", host.replace('*', "any"))));
    let model = route.model_header.as_ref();
    headers.extend(model.map(|header| format!("{header}: {}", config.served_name)));
    headers
}

fn pod(config: &ServingConfig, route: &RouteConfig) -> Value {
    let mut arguments: Vec<String> = ["--silent", "--show-error", "--fail-with-body"]
        .into_iter()
        .chain(["--max-time", "240"])
        .map(str::to_owned)
        .collect();
    for header in headers(config, route) {
        arguments.extend(["--header".to_owned(), header]);
    }
    if route.auth {
        // curl reads the token itself: there is no shell in the Pod.
        let variable = format!("token@{TOKENS}/token");
        let header = "Authorization: Bearer {{token:trim}}";
        let with_token = ["--variable", &variable, "--expand-header", header];
        arguments.extend(with_token.map(str::to_owned));
    }
    let body = json!({"model": config.served_name, "prompt": "Hello", "max_tokens": 1});
    arguments.extend(["--data".to_owned(), body.to_string()]);

    let mut arguments: Vec<Value> = arguments.into_iter().map(Value::text).collect();
    arguments.push(Expr::Text(url()).into());
    let mount = json!([{"name": "token", "mountPath": TOKENS, "readOnly": true}]);
    value!({
        "restartPolicy": "Never",
        "automountServiceAccountToken": false,
        "securityContext": pod_security(),
        "volumes": ?route.auth.then(|| token_volume(&config.name)),
        "containers": [{
            "name": "request",
            "securityContext": container_security(),
            "image": Expr::Text(image()),
            "args": arguments,
            "volumeMounts": ?route.auth.then_some(mount),
        }],
    })
}

/// Returns the volume with a token for the audience of the AuthPolicy.
fn token_volume(audience: &str) -> Json {
    let token = json!({"audience": audience, "expirationSeconds": 600, "path": "token"});
    json!([{"name": "token", "projected": {"sources": [{"serviceAccountToken": token}]}}])
}
