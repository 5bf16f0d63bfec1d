//! Certificates of webhooks, and others in their place while the operator runs.

use crate::checks::{self, Broken};
use crate::helm::Helm;
use crate::installation::{Chart, Installation, NAMESPACE, Watch};
use crate::life::{Life, PATIENCE};
use crate::objects;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use serde_json::{Value as Json, json};
use std::fs;
use std::path::PathBuf;
use tempfile::TempDir;

/// Names of the Services of webhooks, and of the Secrets with their certificates.
type Servers = Vec<(String, String)>;

/// True if a chart has certificates.
pub(crate) fn are_used(chart: &Chart) -> bool {
    let text = fs::read_to_string(chart.path.join("README.md")).expect("a README");
    text.contains("\n## Certificates\n")
}

/// Installs a chart, and replaces the certificates while the operator runs.
pub(crate) fn rotate<'a>(
    life: &Life<'a>,
    helm: &'a Helm,
    chart: &Chart,
    source: &str,
) -> (Installation<'a>, Vec<Broken>) {
    let folder = TempDir::new().expect("a folder");
    let servers = servers(chart);
    let mut arguments = Vec::new();
    if source == "existing-secret" {
        life.cluster
            .control_plane
            .apply(&format!("apiVersion: v1\nkind: Namespace\nmetadata: {{name: {NAMESPACE}}}\n"));
        arguments = write_own(life, chart, &servers, &folder);
    }
    let borrowed: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let mut installation =
        Installation::install(life.cluster, life.operator, helm, Watch::All, chart, &borrowed);
    let mut broken = checks::check(&mut installation, "first", PATIENCE);

    let before = authorities(life);
    if source == "existing-secret" {
        arguments = write_own(life, chart, &servers, &folder);
    } else {
        // As README.md says.
        for (_, secret) in &servers {
            let path = format!("/api/v1/namespaces/{NAMESPACE}/secrets/{secret}");
            life.cluster.client.send("DELETE", &path, None);
        }
    }
    let borrowed: Vec<&str> = arguments.iter().map(String::as_str).collect();
    installation.upgrade(chart, &borrowed);
    broken.extend(checks::check(&mut installation, "second", PATIENCE));
    let after = authorities(life);
    if before.is_empty() || before.iter().any(|authority| after.contains(authority)) {
        broken.push(Broken { check: checks::WEBHOOKS, detail: "the CA bundle is the same".into() });
    }
    (installation, broken)
}

/// The CA bundles of the operator's webhooks.
fn authorities(life: &Life<'_>) -> Vec<Json> {
    let mut found = Vec::new();
    for kind in ["validatingwebhookconfigurations", "mutatingwebhookconfigurations"] {
        for object in life.cluster.list(&format!("/apis/admissionregistration.k8s.io/v1/{kind}")) {
            for webhook in objects::items(&object, "/webhooks") {
                found.push(webhook["clientConfig"]["caBundle"].clone());
            }
        }
    }
    found
}

/// Reads the Services in the chart whose name the Secrets have.
fn servers(chart: &Chart) -> Servers {
    let mut servers = Servers::new();
    for entry in fs::read_dir(chart.path.join("templates")).expect("templates") {
        let path = entry.expect("an entry").path();
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let text = fs::read_to_string(&path).unwrap_or_default();
        if let Some(service) = name.strip_prefix("service-")
            && (text.contains("9443") || text.contains("443"))
        {
            servers.push((service.to_owned(), format!("{service}-cert")));
        }
    }
    servers.retain(|(_, secret)| {
        walkdir::WalkDir::new(&chart.path).into_iter().any(|entry| {
            let entry = entry.expect("an entry");
            fs::read_to_string(entry.path()).is_ok_and(|text| text.contains(secret.as_str()))
        })
    });
    servers
}

/// Writes the Secrets with new certificates of a new authority, and returns Helm's arguments.
fn write_own(
    life: &Life<'_>,
    chart: &Chart,
    servers: &[(String, String)],
    folder: &TempDir,
) -> Vec<String> {
    let mut arguments = Vec::new();
    for (service, secret) in servers {
        let (authority, certificate, key) = certificate(&format!("{service}.{NAMESPACE}.svc"));
        let object = json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "type": "kubernetes.io/tls",
            "metadata": { "name": secret, "namespace": NAMESPACE },
            "stringData": { "tls.crt": certificate, "tls.key": key },
        });
        // By another user than Helm's, whose objects are those of the release.
        let list = format!("/api/v1/namespaces/{NAMESPACE}/secrets");
        life.cluster.client.send("DELETE", &format!("{list}/{secret}"), None);
        let answer = life.cluster.client.post(&list, &object);
        assert!(answer.succeeded(), "{:?}", answer.body);
        let file: PathBuf = folder.path().join(format!("{service}.pem"));
        fs::write(&file, authority).expect("a file");
        let (deployment, _) = chart.workload();
        arguments.push("--set-file".to_owned());
        arguments.push(format!("certificates.{deployment}.caBundle={}", file.display()));
    }
    arguments
}

/// PEM of an authority, and of a certificate with its key for this name.
fn certificate(name: &str) -> (String, String, String) {
    let mut parameters = CertificateParams::default();
    parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().expect("a key");
    let authority = parameters.self_signed(&key).expect("a certificate").pem();
    let issuer = Issuer::new(parameters, key);

    let key = KeyPair::generate().expect("a key");
    let parameters = CertificateParams::new(vec![name.to_owned()]).expect("a name");
    let certificate = parameters.signed_by(&key, &issuer).expect("a certificate");
    (authority, certificate.pem(), key.serialize_pem())
}
