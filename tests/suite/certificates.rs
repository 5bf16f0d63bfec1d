//! Certificates that Helm generates: one for a release, which a client accepts for the names of the
//! Service, and which an upgrade keeps.

use crate::support::discovery;
use crate::support::helm::Helm;
use crate::support::offline;
use crate::support::rendered::{documents, object_differences};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bundle2chart::config::{BundleConfig, CertificateProvider, Issuer};
use bundle2chart::diag::Diagnostics;
use bundle2chart::ir::{RELEASE_NAME, Release};
use bundle2chart::output::{self, ChartFiles, Mode};
use bundle2chart::pipeline::{self, Compiled};
use bundle2chart::source::{self, Limits};
use rustls::RootCertStore;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier as _;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use serde_json::{Value as Json, json};
use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;

const NAMESPACE: &str = "at-the-river";
const BUNDLE: &str = "fixtures/bundles/toll-bridge-operator/0.3.0";
const SERVICES: [&str; 2] = ["toll-bridge-gatekeeper-service", "toll-bridge-counter-service"];

/// The bundle compiled with this provider.
fn compiled(certificates: CertificateProvider, issuer: Option<Issuer>) -> (BundleConfig, Compiled) {
    let source = source::from_argument(BUNDLE);
    let base = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut diagnostics = Diagnostics::new();
    let files = source::fetch(&source, base, &[], &Limits::default(), &mut diagnostics);
    let mut config = BundleConfig::new("toll-bridge-operator", source);
    config.operator.certificates = Some(certificates);
    config.operator.issuer = issuer;
    let files = files.expect("the fixture");
    let compiled = pipeline::compile(&files, &config, &mut diagnostics);
    (config, compiled.unwrap_or_else(|| panic!("{diagnostics:?}")))
}

/// The chart of that, in a folder.
fn chart(folder: &Path, certificates: CertificateProvider) -> (PathBuf, ChartFiles, Compiled) {
    let (config, compiled) = compiled(certificates, None);
    let name = format!("{certificates:?}");
    let configuration = bundle2chart::config::Config {
        base: PathBuf::from(env!("CARGO_MANIFEST_DIR")),
        output: bundle2chart::config::Output {
            dir: PathBuf::from(&name),
            layout: bundle2chart::config::Layout::Flat,
            keep: None,
        },
        mirrors: Vec::new(),
        registries: Vec::new(),
        verifications: Vec::new(),
        network: bundle2chart::config::Network::default(),
        lints: bundle2chart::config::Lints::new(),
        ignore: Vec::new(),
        deploy: bundle2chart::config::Deploy::default(),
        bundles: vec![config],
        servings: Vec::new(),
    };
    let (built, diagnostics) = offline::build(&configuration, &[]);
    assert!(!diagnostics.has_errors(), "{diagnostics:?}");
    let out = folder.join(name);
    output::write(&out, &built, None, Mode::Write { replace: false }, &mut Diagnostics::new())
        .expect("an empty folder takes every chart");
    let files = built.into_iter().next().expect("a chart");
    (out.join(&files.dir), files, compiled)
}

fn text<'a>(object: &'a Json, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Json::as_str).unwrap_or_default()
}

fn find<'a>(objects: &'a [Json], kind: &str, name: &str) -> &'a Json {
    objects
        .iter()
        .find(|o| o["kind"] == kind && o["metadata"]["name"] == name)
        .unwrap_or_else(|| panic!("no {kind}/{name}"))
}

fn decoded(base64: &str) -> Vec<u8> {
    STANDARD.decode(base64).expect("base64")
}

/// Every CA bundle, with the Service that it is for.
fn ca_bundles(value: &Json, found: &mut Vec<(String, String)>) {
    match value {
        Json::Object(map) => {
            if let Some(bundle) = map.get("caBundle").and_then(Json::as_str) {
                let service = text(value, "/service/name").to_owned();
                found.push((service, bundle.to_owned()));
            }
            map.values().for_each(|value| ca_bundles(value, found));
        }
        Json::Array(items) => items.iter().for_each(|item| ca_bundles(item, found)),
        _ => {}
    }
}

/// Returns true if a client that trusts `authority` (PEM) takes `certificate` (PEM) for `host`.
fn accepts(authority: &[u8], certificate: &[u8], host: &str) -> bool {
    let mut roots = RootCertStore::empty();
    for root in CertificateDer::pem_slice_iter(authority) {
        roots.add(root.expect("a certificate")).expect("an authority");
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider)
        .build()
        .expect("a verifier");
    let certificate = CertificateDer::from_pem_slice(certificate).expect("a certificate");
    let name = ServerName::try_from(host.to_owned()).expect("a host name");
    verifier.verify_server_cert(&certificate, &[], &name, &[], UnixTime::now()).is_ok()
}

/// The key in PEM belongs to the certificate.
fn pairs(certificate: &[u8], key: &[u8]) -> bool {
    let certificate = CertificateDer::from_pem_slice(certificate).expect("a certificate");
    let key = PrivateKeyDer::from_pem_slice(key).expect("a key");
    let provider = rustls::crypto::ring::default_provider();
    rustls::sign::CertifiedKey::from_der(vec![certificate], key, &provider).is_ok()
}

fn secrets(objects: &[Json]) -> Vec<Json> {
    SERVICES.map(|service| find(objects, "Secret", &format!("{service}-cert")).clone()).to_vec()
}

/// Replaces what Helm generated by the compiler's placeholders.
fn with_placeholders(expected: &Json, found: &Json, places: &mut usize) -> Json {
    match (expected, found) {
        (Json::Object(expected), Json::Object(found)) => found
            .iter()
            .map(|(key, value)| {
                let expected = expected.get(key).unwrap_or(&Json::Null);
                (key.clone(), with_placeholders(expected, value, places))
            })
            .collect(),
        (Json::Array(expected), Json::Array(found)) => found
            .iter()
            .enumerate()
            .map(|(index, value)| {
                with_placeholders(expected.get(index).unwrap_or(&Json::Null), value, places)
            })
            .collect(),
        (Json::String(placeholder), Json::String(_)) => {
            let says = STANDARD.decode(placeholder).unwrap_or_default();
            if says.ends_with(b"generated by Helm") {
                *places += 1;
                expected.clone()
            } else {
                found.clone()
            }
        }
        _ => found.clone(),
    }
}

#[test]
fn a_client_accepts_what_helm_generates() {
    let temporary = TempDir::new().expect("a folder");
    let (folder, files, compiled) = chart(temporary.path(), CertificateProvider::Helm);
    assert!(files.files.contains_key("templates/_certificate.tpl"));
    for helm in Helm::oldest_too_in_ci() {
        helm.lint(&folder, &[]).expect_success();
        let render =
            || documents(&helm.template(RELEASE_NAME, &folder, NAMESPACE, &[]).expect_success());
        let objects = render();
        let mut bundles = Vec::new();
        objects.iter().for_each(|object| ca_bundles(object, &mut bundles));
        // Two configurations, a CRD and an APIService.
        assert_eq!(bundles.len(), 4, "{bundles:?}");
        for service in SERVICES {
            let secret = find(&objects, "Secret", &format!("{service}-cert"));
            assert_eq!(secret["type"], "kubernetes.io/tls");
            let piece = |key: &str| text(secret, &format!("/data/{key}")).to_owned();
            let [authority, certificate, key] = ["ca.crt", "tls.crt", "tls.key"].map(piece);
            let own: BTreeSet<&String> =
                bundles.iter().filter(|(name, _)| name == service).map(|(_, b)| b).collect();
            assert_eq!(own, BTreeSet::from([&authority]), "{service}");
            let [authority, certificate, key] =
                [authority, certificate, key].map(|piece| decoded(&piece));
            for end in ["", ".svc", ".svc.cluster.local"] {
                let host = format!("{service}.{NAMESPACE}{end}");
                assert!(accepts(&authority, &certificate, &host), "{host} {}", helm.version);
            }
            assert!(!accepts(&authority, &certificate, &format!("{service}.elsewhere.svc")));
            assert!(pairs(&certificate, &key));
            let other = SERVICES.iter().find(|other| **other != service).expect("two Services");
            let other = find(&objects, "Secret", &format!("{other}-cert"));
            let other = decoded(text(other, "/data/ca.crt"));
            let host = format!("{service}.{NAMESPACE}.svc");
            assert!(!accepts(&other, &certificate, &host), "each has an authority of its own");
        }
        // Everything else is what was compiled.
        let values = compiled.unit.default_values();
        let release = Release { namespace: NAMESPACE, values: &values };
        let expected: Vec<Json> =
            compiled.unit.objects.iter().filter_map(|object| release.object(object)).collect();
        let mut places = 0;
        let found: Vec<Json> = objects
            .iter()
            .map(|object| {
                let kind = text(object, "/kind");
                let same = expected.iter().find(|e| {
                    e["kind"] == kind && e["metadata"]["name"] == object["metadata"]["name"]
                });
                with_placeholders(same.unwrap_or(&Json::Null), object, &mut places)
            })
            .collect();
        assert_eq!(places, 2 * 3 + 4);
        let differences = object_differences(&expected, &found);
        assert!(differences.is_empty(), "{}", differences.join("\n"));
        assert_ne!(secrets(&objects), secrets(&render()), "without a cluster, nothing is kept");
    }
}

/// Answers what Helm asks of a cluster that knows the kinds of `objects` and holds `secrets`.
fn api_server(objects: Vec<Json>, mut secrets: Vec<Json>) -> String {
    for secret in &mut secrets {
        // As Helm marks what it has installed.
        secret["metadata"]["labels"]["app.kubernetes.io/managed-by"] = json!("Helm");
        secret["metadata"]["annotations"] = json!({
            "meta.helm.sh/release-name": RELEASE_NAME,
            "meta.helm.sh/release-namespace": NAMESPACE,
        });
    }
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { continue };
            let mut lines = BufReader::new(stream.try_clone().expect("a stream")).lines();
            let Some(Ok(request)) = lines.next() else { continue };
            while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
            let path = request.split(' ').nth(1).unwrap_or_default();
            let path = path.split('?').next().unwrap_or_default();
            let secret = secrets.iter().find(|secret| {
                let name = text(secret, "/metadata/name");
                path == format!("/api/v1/namespaces/{NAMESPACE}/secrets/{name}")
            });
            let body = match path {
                "/version" => json!({"major": "1", "minor": "33", "gitVersion": "v1.33.0"}),
                "/api" => json!({"kind": "APIVersions", "versions": ["v1"]}),
                "/apis" => discovery::groups(&objects),
                _ if path == "/api/v1" || path.matches('/').count() == 3 => {
                    let version = path.trim_start_matches("/apis/").trim_start_matches("/api/");
                    discovery::resources(&objects, version)
                }
                _ => secret.cloned().unwrap_or_else(|| {
                    json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404})
                }),
            };
            let status = if body["kind"] == "Status" { "404 Not Found" } else { "200 OK" };
            let body = body.to_string();
            let _ = write!(
                stream,
                "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
                body.len()
            );
        }
    });
    format!("http://{address}")
}

#[test]
fn an_upgrade_keeps_the_certificate() {
    let temporary = TempDir::new().expect("a folder");
    let (folder, ..) = chart(temporary.path(), CertificateProvider::Helm);
    // The oldest and the newest: each makes eight keys, which takes a second.
    for helm in Helm::oldest_too_in_ci() {
        let render = |server: &str| {
            let kubeconfig = temporary.path().join("kubeconfig");
            std::fs::write(&kubeconfig, discovery::kubeconfig(server)).expect("a kubeconfig");
            let kubeconfig = kubeconfig.to_str().expect("UTF-8");
            let more =
                ["--dry-run=server", "--disable-openapi-validation", "--kubeconfig", kubeconfig];
            documents(&helm.template(RELEASE_NAME, &folder, NAMESPACE, &more).expect_success())
        };
        let offline = helm.template(RELEASE_NAME, &folder, NAMESPACE, &[]).expect_success();
        let kinds = documents(&offline);
        let installed = render(&api_server(kinds.clone(), Vec::new()));
        let upgraded = render(&api_server(kinds.clone(), secrets(&installed)));
        let differences = object_differences(&installed, &upgraded);
        assert!(differences.is_empty(), "{}: {}", helm.version, differences.join("\n"));

        // One Secret is gone: that certificate is new, and the other stays.
        let [first, second] = secrets(&upgraded).try_into().expect("two Secrets");
        let again = secrets(&render(&api_server(kinds, vec![first.clone()])));
        assert_eq!(again[0], first);
        assert_ne!(again[1], second);
    }
}

/// Objects for certificates in a release, by provider.
#[test]
fn every_provider() {
    let issuer = Issuer {
        name: "platform-ca".to_owned(),
        kind: "PlatformIssuer".to_owned(),
        group: Some("issuers.example.com".to_owned()),
    };
    let mut seen = String::new();
    for (certificates, issuer) in [
        (CertificateProvider::CertManager, None),
        (CertificateProvider::CertManager, Some(issuer)),
        (CertificateProvider::ServiceCa, None),
        (CertificateProvider::Helm, None),
        (CertificateProvider::ExistingSecret, None),
        (CertificateProvider::None, None),
    ] {
        let title = issuer.as_ref().map_or(String::new(), |issuer| format!(" {}", issuer.name));
        seen += &format!("=== {certificates:?}{title}\n");
        let (_, compiled) = compiled(certificates, issuer);
        for value in &compiled.unit.values {
            if value.path.segments()[0] == "certificates" {
                seen += &format!("# value {} {}\n", value.path, value.default);
            }
        }
        let mut objects: Vec<_> = compiled
            .unit
            .objects
            .iter()
            .filter(|object| {
                let named = object.name().contains("gatekeeper") || object.name().contains("toll.");
                let kinds = [
                    "Certificate",
                    "Issuer",
                    "Secret",
                    "Service",
                    "ValidatingWebhookConfiguration",
                ];
                named && kinds.contains(&object.kind())
            })
            .collect();
        objects.sort_by_key(|object| object.id());
        for object in objects {
            seen += &bundle2chart::yaml::template(&object.root, object.when.as_ref());
            seen += "---\n";
        }
        let gatekeeper = compiled.unit.objects.iter().find(|object| {
            object.kind() == "Deployment" && object.name() == "toll-bridge.gatekeeper"
        });
        let pod = gatekeeper.and_then(|d| d.at(&["spec", "template", "spec"])).expect("pods");
        seen += &bundle2chart::yaml::template(pod.as_map().expect("a map"), None);
    }
    insta::assert_snapshot!(seen);
}

#[test]
fn a_chart_with_an_existing_secret_says_which() {
    let temporary = TempDir::new().expect("a folder");
    let (folder, ..) = chart(temporary.path(), CertificateProvider::ExistingSecret);
    let helm = Helm::newest();
    let values = temporary.path().join("values.json");
    let own = json!({"certificates": {"toll-bridge-gatekeeper": {"secretName": "mine", "caBundle": "PEM"}}});
    std::fs::write(&values, own.to_string()).expect("values");
    let more = ["--values", values.to_str().expect("UTF-8")];
    let objects =
        documents(&helm.template(RELEASE_NAME, &folder, NAMESPACE, &more).expect_success());
    let mut bundles = Vec::new();
    objects.iter().for_each(|object| ca_bundles(object, &mut bundles));
    assert_eq!(bundles.len(), 3, "the APIService's is not set");
    assert!(bundles.iter().all(|(_, bundle)| decoded(bundle) == b"PEM"));
    for (deployment, secret) in [
        ("toll-bridge.gatekeeper", "mine"),
        ("toll-bridge-counter", "toll-bridge-counter-service-cert"),
    ] {
        let pod = &find(&objects, "Deployment", deployment)["spec"]["template"]["spec"];
        let names: Vec<&str> = pod["volumes"]
            .as_array()
            .expect("volumes")
            .iter()
            .map(|volume| text(volume, "/secret/secretName"))
            .filter(|name| !name.is_empty())
            .collect();
        assert_eq!(names, [secret, secret], "{deployment}");
    }
    let unnamed = r#"certificates.toll-bridge-counter.secretName="#;
    assert!(!helm.template(RELEASE_NAME, &folder, NAMESPACE, &["--set", unnamed]).success);
}
