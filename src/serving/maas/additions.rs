//! The platform of models as a service in README.md and NOTES.txt of a `[[chart]]`: the Secrets that the
//! cluster must have.

use crate::config::serving::maas::{
    DATABASE, DATABASE_NAME, DATABASE_PASSWORD, DATABASE_SECRET, DATABASE_URL, MaasDatabase,
    MaasPlatform,
};
use crate::escape::markdown::code;
use bundle2chart_compile::chart::Additions;
use std::fmt::Write as _;

/// Returns the text of `[chart.maas]` in the documents of its chart.
pub fn additions(platform: &MaasPlatform) -> Additions {
    let notes = platform.database.as_ref().map(notes);
    Additions { readme: section(platform), notes: notes.unwrap_or_default() }
}

/// Returns what the cluster must have before the platform's chart is installed.
fn section(platform: &MaasPlatform) -> String {
    let mut text = String::new();
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
    text
}

/// Returns the commands that create the Secret, one per line.
fn secret_commands(database: &MaasDatabase) -> String {
    let namespace = &database.namespace;
    let create = format!(
        "kubectl --namespace {namespace} create secret generic {DATABASE_SECRET} \\\n  \
         --from-literal={DATABASE_URL}="
    );
    match &database.embedded {
        // Hexadecimal digits, so that the URL needs no escapes for the password.
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

/// Returns the note on the database's Secret.
fn notes(database: &MaasDatabase) -> String {
    format!(
        "\nThe Secret {DATABASE_SECRET} must exist (README.md has the command that creates it):\n  \
         kubectl --namespace {} get secret {DATABASE_SECRET}\n",
        database.namespace
    )
}
