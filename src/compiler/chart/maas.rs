//! Models as a service in README.md and NOTES.txt: the Secret that a person creates, the gates of
//! a model, and requests with an API key.

use crate::config::ServingConfig;
use crate::config::maas::{
    DATABASE, DATABASE_NAME, DATABASE_PASSWORD, DATABASE_SECRET, DATABASE_URL, MaasDatabase,
    MaasModel, MaasPlatform,
};
use crate::escape::markdown::code;
use std::fmt::Write as _;

/// Appends what the cluster must have before the platform's chart is installed.
pub(super) fn platform_section(text: &mut String, platform: &MaasPlatform) {
    if let Some(gateway) = &platform.gateway {
        let secret = code(&gateway.tls_secret);
        let _ = match &gateway.cluster_issuer {
            Some(issuer) => write!(
                text,
                "\n## Gateway\n\ncert-manager creates the Secret {secret} with the ClusterIssuer {}. ",
                code(issuer)
            ),
            None => write!(
                text,
                "\n## Gateway\n\nThe Secret {secret} with the certificate of {} must exist in \
                 namespace {}. ",
                code(&gateway.hostname),
                code(&gateway.namespace)
            ),
        };

        let namespaces: Vec<String> = gateway.namespaces.iter().map(|name| code(name)).collect();
        let _ = writeln!(
            text,
            "The DNS name {} must resolve to the address of the Gateway. It allows routes of \
             these namespaces: {}.",
            code(&gateway.hostname),
            namespaces.join(", ")
        );
    }
    if let Some(database) = &platform.database {
        let _ = write!(
            text,
            "\n## Database\n\nThe connection URL of PostgreSQL is in the Secret {}, key {}, in \
             namespace {}. No chart contains it. {}\n\n```sh\n{}```\n",
            code(DATABASE_SECRET),
            code(DATABASE_URL),
            code(&database.namespace),
            match &database.embedded {
                Some(_) =>
                    "Create it before this chart. The embedded database is for trials: one pod \
                            and one volume, without backups and without TLS.",
                None => "Create it before MaaS is enabled.",
            },
            secret_commands(database)
        );
    }
}

/// Returns the commands that create the Secret, one per line.
fn secret_commands(database: &MaasDatabase) -> String {
    let namespace = &database.namespace;
    let create = format!(
        "kubectl --namespace {namespace} create secret generic {DATABASE_SECRET} \\\n  \
         --from-literal={DATABASE_URL}="
    );
    match &database.embedded {
        Some(_) => format!(
            "PASSWORD=$(openssl rand -hex 24)\n{create}\"postgresql://{DATABASE_NAME}:$PASSWORD@\
             {DATABASE}.{namespace}.svc:5432/{DATABASE_NAME}?sslmode=disable\" \\\n  \
             --from-literal={DATABASE_PASSWORD}=\"$PASSWORD\"\n"
        ),
        None => {
            format!("{create}'postgresql://USER:PASSWORD@HOST:5432/DATABASE?sslmode=require'\n")
        }
    }
}

/// Appends the note on the database's Secret.
pub(super) fn platform_notes(text: &mut String, platform: &MaasPlatform) {
    if let Some(database) = &platform.database {
        let _ = write!(
            text,
            "\nThe Secret {DATABASE_SECRET} must exist (README.md has the command that creates it):\n  \
             kubectl --namespace {} get secret {DATABASE_SECRET}\n",
            database.namespace
        );
    }
}

/// Returns the commands that wait for a model to be registered, one per line.
pub(super) fn watch(config: &ServingConfig, maas: &MaasModel, namespace: &str) -> String {
    let wait = "wait --timeout=10m";
    let name = &config.name;
    let phase = |phase: &str| format!("--for=jsonpath='{{.status.phase}}'={phase}");
    let mut text =
        format!("kubectl --namespace {namespace} {wait} {} maasmodelref/{name}\n", phase("Ready"));
    let tenant = &maas.tenant_namespace;
    let _ = writeln!(
        text,
        "kubectl --namespace {tenant} {wait} {} maasauthpolicy/{name}",
        phase("Active")
    );
    for subscription in &maas.subscriptions {
        let _ = writeln!(
            text,
            "kubectl --namespace {tenant} {wait} {} maassubscription/{name}-{}",
            phase("Active"),
            subscription.name
        );
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
