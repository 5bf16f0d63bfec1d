//! The commands of README and NOTES that send a request to the model.

use super::maas;
use crate::config::serving::{RouteConfig, ServingConfig};
use crate::route::is_of_the_engine;
use crate::topology;
use std::fmt::Write as _;

/// Returns the commands that send a request, one per line.
pub(super) fn commands(config: &ServingConfig, namespace: &str) -> String {
    let model = &config.served_name;
    let body = format!("{{\"model\": \"{model}\", \"prompt\": \"Hello\", \"max_tokens\": 16}}");
    let json = "-H 'Content-Type: application/json'";

    if let Some(governed) = &config.maas {
        return maas::request(config, governed, namespace, &body);
    }
    if config.kserve {
        return format!(
            "URL=$(kubectl --namespace {namespace} get llminferenceservice {} --output 'jsonpath={{.status.url}}')\n\
             curl --insecure \"$URL/v1/completions\" {json} -d '{body}'\n",
            config.name
        );
    }
    let Some(route) = &config.route else {
        return format!(
            "# No route: directly to a pod, without the picker.\n\
             POD=$(kubectl --namespace {namespace} get pods --selector app={0},app.kubernetes.io/name={0}-decode --output name | head -n 1)\n\
             kubectl --namespace {namespace} port-forward \"$POD\" {1} &\n\
             curl http://localhost:{1}/v1/completions {json} -d '{body}'\n",
            config.name,
            topology::SERVING_PORT
        );
    };
    let gateway_namespace = route.gateway_namespace.as_deref().unwrap_or(namespace);
    let mut text = format!(
        "ADDRESS=$(kubectl --namespace {gateway_namespace} get gateway {} --output 'jsonpath={{.status.addresses[0].value}}')\n",
        route.gateway
    );

    let headers = headers(config, route);
    let mut headers: String = headers.iter().map(|header| format!(" -H '{header}'")).collect();
    if route.auth {
        let _ = writeln!(
            text,
            "TOKEN=$(kubectl --namespace {namespace} create token default --audience {})",
            config.name
        );
        headers.push_str(" -H \"Authorization: Bearer $TOKEN\"");
    }
    let path = completions(config, route);
    let _ = writeln!(text, "curl \"http://$ADDRESS{path}\"{headers} -d '{body}'");
    text
}

/// Returns the path of the completions API. The route removes prefixes that are not the engine's.
fn completions(config: &ServingConfig, route: &RouteConfig) -> String {
    let own = route.paths.iter().find(|path| !is_of_the_engine(config, path));
    format!("{}/v1/completions", own.map_or("", |path| path.trim_end_matches('/')))
}

/// Returns the headers that the route matches, and the content type.
fn headers(config: &ServingConfig, route: &RouteConfig) -> Vec<String> {
    let mut headers = vec!["Content-Type: application/json".to_owned()];
    // A request has no wildcard, but any first label matches `*.example.com`.
    headers.extend(route.hosts.first().map(|host| format!("Host: {}", host.replace('*', "any"))));
    let model = route.model_header.as_ref();
    headers.extend(model.map(|header| format!("{header}: {}", config.served_name)));
    headers
}
