//! Models as a service in README.md and NOTES.txt of a model: its gates, access and limits, and
//! requests with an API key.

use crate::config::serving::ServingConfig;
use crate::config::serving::maas::MaasModel;
use crate::escape::markdown::code;
use std::fmt::Write as _;

/// Returns the commands that wait for a model to be registered, one per line.
pub(super) fn watch(config: &ServingConfig, maas: &MaasModel, namespace: &str) -> String {
    let wait = "wait --timeout=10m";
    let name = &config.name;
    let phase = |phase: &str| format!("--for=jsonpath='{{.status.phase}}'={phase}");
    let mut text =
        format!("kubectl --namespace {namespace} {wait} {} maasmodelref/{name}\n", phase("Ready"));
    let subscriptions = maas.subscriptions.iter();
    let subscriptions = subscriptions.map(|one| format!("maassubscription/{name}-{}", one.name));
    for object in std::iter::once(format!("maasauthpolicy/{name}")).chain(subscriptions) {
        let (tenant, active) = (&maas.tenant_namespace, phase("Active"));
        let _ = writeln!(text, "kubectl --namespace {tenant} {wait} {active} {object}");
    }
    text
}

/// Returns the commands that create an API key and send a request with it, one per line.
pub(super) fn request(
    config: &ServingConfig,
    maas: &MaasModel,
    namespace: &str,
    body: &str,
) -> String {
    let host = match &maas.hostname {
        Some(host) => format!("HOST={host}\n"),
        // The endpoint is a URL, of which the third part between slashes is the host.
        None => format!(
            "HOST=$(kubectl --namespace {namespace} get maasmodelref {} --output \
             'jsonpath={{.status.endpoint}}' | cut -d / -f 3)\n",
            config.name
        ),
    };

    let json = "-H 'Content-Type: application/json'";
    let subscription = maas.subscriptions.first().map_or("", |first| first.name.as_str());
    format!(
        "{host}# TOKEN is a token of a user in one of the groups; the key is shown once.\n\
         KEY=$(curl \"https://$HOST/maas-api/v1/api-keys\" -H \"Authorization: Bearer $TOKEN\" {json} \
         -d '{{\"name\": \"trial\", \"subscription\": \"{}-{subscription}\"}}' | jq -r .key)\n\
         URL=$(kubectl --namespace {namespace} get maasmodelref {} --output \
         'jsonpath={{.status.endpoint}}')\n\
         curl \"$URL/v1/completions\" -H \"Authorization: Bearer $KEY\" {json} -d '{body}'\n",
        config.name, config.name
    )
}

/// Appends who may use the model, and how much.
pub(super) fn model_section(text: &mut String, config: &ServingConfig, maas: &MaasModel) {
    text.push_str(
        "\n## Access and limits\n\n| Subscription | Groups | Tokens | Priority |\n|---|---|---|---|\n",
    );
    for subscription in &maas.subscriptions {
        let groups: Vec<String> = subscription.groups.iter().map(|group| code(group)).collect();
        let limits: Vec<String> = subscription
            .token_limits
            .iter()
            .map(|limit| format!("{} per {}", limit.limit, limit.window))
            .collect();
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} |",
            code(&format!("{}-{}", config.name, subscription.name)),
            groups.join(", "),
            limits.join(", "),
            subscription.priority
        );
    }

    let _ = write!(
        text,
        "\nThe subscriptions and the access policy are in namespace {}, which must have the tenant. \
         If the model stays `Pending`, its status says which part is missing:\n\n```sh\n\
         kubectl --namespace {} get maasmodelref {} --output \
         'jsonpath={{range .status.conditions[*]}}{{.type}} {{.status}} {{.message}}{{\"\\n\"}}{{end}}'\n```\n",
        code(&maas.tenant_namespace),
        config.namespace,
        config.name
    );
}
