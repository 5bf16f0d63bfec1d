//! Attestations that `push` attaches to charts and `package --attest` writes, and signatures of charts.

use super::distribution::Distribution;
use super::project::{PASSWORD, Project};
use super::server::{Answer, Server};
use crate::support::command::{Case, Seen};
use crate::support::helm::Helm;
use crate::support::lamp::CSV_FILE;
use crate::support::once::{create_once, tools_dir};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::signature::{ECDSA_P256_SHA256_ASN1, UnparsedPublicKey};
use serde_json::{Value as Json, json};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

const SBOM: &str = "application/vnd.cyclonedx+json";
const STATEMENT: &str = "application/vnd.in-toto+json";
const BUNDLE: &str = "application/vnd.dev.sigstore.bundle.v0.3+json";
const PROVENANCE: &str = "https://slsa.dev/provenance/v1";
const IMAGE: &str = "registry.example.com/lamps/operator@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold("sha256:".to_owned(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// A project with a built chart, an overlay, and access to the registry.
fn project(registry: &Distribution) -> Project {
    let case = Case::with_lamps();
    let config = case.read("bundles.toml");
    let host = &registry.host;
    let settings = format!("[[registry]]\nhost = \"{host}\"\nca = \"ca.pem\"\n\n");
    let overlay = "[[bundle.overlay]]\npath = \"settings.yaml\"\n";
    case.write("bundles.toml", settings + &config + overlay);
    case.write(
        "settings.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {a: b}\n",
    );
    case.write("ca.pem", &registry.authority);
    let project = Project { case };
    project.log_in(host, PASSWORD);
    let seen = project.run(&["build", "-q"]);
    assert_eq!(seen.code, Some(0), "{}", seen.text());
    project
}

#[track_caller]
fn clean(seen: Seen) -> Seen {
    assert_eq!(seen.code, Some(0), "{}", seen.text());
    seen
}

/// Pushes the chart; returns its digest.
#[track_caller]
fn push(project: &Project, registry: &Distribution, more: &[&str]) -> String {
    let target = format!("oci://{}/charts", registry.host);
    let seen = clean(project.run(&[&["push", &target], more].concat()));
    seen.stdout.trim().rsplit_once('@').expect("a digest").1.to_owned()
}

fn tag(digest: &str) -> String {
    digest.replace(':', "-")
}

/// The documents at the tag of a chart's referrers, by type and predicate type.
fn referrers(registry: &Distribution, digest: &str) -> BTreeMap<(String, String), Json> {
    let index = registry.manifest("charts/lamp-operator", &tag(digest));
    let Some(index) = index else { return BTreeMap::new() };
    assert_eq!(index["mediaType"], "application/vnd.oci.image.index.v1+json");
    let text = |value: &Json| value.as_str().unwrap_or_default().to_owned();
    let mut found = BTreeMap::new();
    for descriptor in index["manifests"].as_array().expect("manifests") {
        let bytes = registry.blob(descriptor["digest"].as_str().expect("a digest"));
        assert_eq!(descriptor["size"], bytes.len());
        let manifest: Json = serde_json::from_slice(&bytes).expect("a manifest");
        assert_eq!(manifest["subject"]["digest"], digest);
        assert_eq!(manifest["artifactType"], descriptor["artifactType"]);
        assert_eq!(manifest["annotations"], descriptor["annotations"]);
        assert_eq!(manifest["config"]["mediaType"], "application/vnd.oci.empty.v1+json");
        let layer = registry.blob(manifest["layers"][0]["digest"].as_str().expect("a digest"));
        let document = serde_json::from_slice(&layer).expect("JSON");
        let annotations = &manifest["annotations"];
        let predicate = text(&annotations["in-toto.io/predicate-type"])
            + &text(&annotations["dev.sigstore.bundle.predicateType"]);
        let kind = text(&manifest["artifactType"]);
        let expected = match kind.as_str() {
            SBOM => json!({ "org.opencontainers.image.title": "cyclonedx.json" }),
            BUNDLE => json!({
                "dev.sigstore.bundle.content": "dsse-envelope",
                "dev.sigstore.bundle.predicateType": predicate,
            }),
            _ => json!({ "in-toto.io/predicate-type": predicate }),
        };
        assert_eq!(*annotations, expected);
        let key = (kind, predicate);
        assert!(found.insert(key, document).is_none(), "attached twice");
    }
    found
}

fn provenance(found: &BTreeMap<(String, String), Json>) -> &Json {
    &found[&(STATEMENT.to_owned(), PROVENANCE.to_owned())]
}

fn sbom(found: &BTreeMap<(String, String), Json>) -> &Json {
    &found[&(SBOM.to_owned(), String::new())]
}

/// The structure of a statement with provenance, as in-toto and SLSA publish it.
fn assert_is_provenance(case: &Case, statement: &Json, chart: &str) {
    let keys = |value: &Json| -> Vec<String> {
        let mut keys: Vec<String> = value.as_object().expect("a map").keys().cloned().collect();
        keys.sort();
        keys
    };
    assert_eq!(keys(statement), ["_type", "predicate", "predicateType", "subject"]);
    assert_eq!(statement["_type"], "https://in-toto.io/Statement/v1");
    assert_eq!(statement["predicateType"], PROVENANCE);
    let record = case.read("out/charts.lock");
    let package = record.split("digest = \"sha256:").nth(1).expect("a package");
    assert_eq!(
        statement["subject"],
        json!([
            { "name": "lamp-operator", "digest": { "sha256": &chart["sha256:".len()..] } },
            { "name": "lamp-operator-1.2.3.tgz", "digest": { "sha256": &package[..64] } },
        ])
    );

    let predicate = &statement["predicate"];
    assert_eq!(keys(predicate), ["buildDefinition", "runDetails"]);
    let definition = &predicate["buildDefinition"];
    assert_eq!(keys(definition), ["buildType", "externalParameters", "resolvedDependencies"]);
    let materials: Vec<(String, String)> = definition["resolvedDependencies"]
        .as_array()
        .expect("materials")
        .iter()
        .map(|found| {
            let text = |value: &Json| value.as_str().expect("a text").to_owned();
            (text(&found["name"]), format!("sha256:{}", text(&found["digest"]["sha256"])))
        })
        .collect();
    let expected: Vec<(String, String)> = [
        "bundles.toml",
        CSV_FILE,
        "bundle/manifests/light.example.com_lamps.yaml",
        "bundle/metadata/annotations.yaml",
        "settings.yaml",
    ]
    .into_iter()
    .map(|path| (path.to_owned(), digest(case.read(path).as_bytes())))
    .collect();
    assert_eq!(materials, expected);
    let builder = &predicate["runDetails"]["builder"];
    assert_eq!(builder["version"]["bundle2chart"], env!("CARGO_PKG_VERSION"));
}

/// The structure of an SBOM, as CycloneDX publishes it.
fn assert_is_sbom(document: &Json) {
    assert_eq!(document["bomFormat"], "CycloneDX");
    assert_eq!(document["specVersion"], "1.6");
    let serial = document["serialNumber"].as_str().expect("a serial number");
    let uuid = regex::Regex::new(
        "^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$",
    );
    assert!(uuid.expect("a pattern").is_match(serial), "{serial}");
    assert_eq!(document["metadata"]["component"]["name"], "lamp-operator");
    let components = document["components"].as_array().expect("components");
    assert_eq!(components.len(), 1, "{components:?}");
    let (name, digest) = IMAGE.split_once('@').expect("a digest");
    assert_eq!(
        components[0],
        json!({
            "type": "container",
            "bom-ref": format!("image:{IMAGE}"),
            "name": name,
            "version": digest,
            "purl": format!(
                "pkg:oci/operator@{}?repository_url={name}", digest.replace(':', "%3A")
            ),
            "properties": [{ "name": "bundle2chart:reference", "value": IMAGE }],
        })
    );
    let dependencies = &document["dependencies"];
    assert_eq!(dependencies[0]["ref"], document["metadata"]["component"]["bom-ref"]);
    assert_eq!(dependencies[0]["dependsOn"], json!([components[0]["bom-ref"]]));
}

#[test]
fn charts_are_attested_where_the_registry_has_no_referrers_api() {
    let registry = Distribution::start();
    let project = project(&registry);
    let chart = push(&project, &registry, &[]);
    let found = referrers(&registry, &chart);
    assert_eq!(found.len(), 2, "{:?}", found.keys());
    assert_is_provenance(&project.case, provenance(&found), &chart);
    assert_is_sbom(sbom(&found));

    // Nothing is attached twice, and the same documents are next to packages.
    let target = format!("oci://{}/charts", registry.host);
    let again = clean(project.run(&["push", &target]));
    assert!(again.stderr.contains(": 0 pushed, 1 unchanged\n"), "{}", again.stderr);
    assert_eq!(referrers(&registry, &chart), found);
    clean(project.run(&["package", "-d", "packages", "--attest"]));
    let read = |name: &str| -> Json {
        let text = project.case.read(&format!("packages/lamp-operator-1.2.3.{name}"));
        serde_json::from_str(&text).expect("JSON")
    };
    assert_eq!(read("provenance.json"), *provenance(&found));
    assert_eq!(read("cdx.json"), *sbom(&found));

    // The same on another machine: no times, names of machines or paths.
    let other = self::project(&registry);
    other.case.write("bundles.toml", project.case.read("bundles.toml"));
    other.case.write("ca.pem", &registry.authority);
    clean(other.run(&["package", "-d", "elsewhere", "--attest"]));
    for name in ["provenance.json", "cdx.json"] {
        let file = format!("lamp-operator-1.2.3.{name}");
        let [a, b] = [
            project.case.read(&format!("packages/{file}")),
            other.case.read(&format!("elsewhere/{file}")),
        ];
        assert!(a == b, "{name} differs");
        assert!(!a.contains("/tmp"), "{a}");
    }
}

#[test]
fn charts_of_other_inputs_have_no_provenance() {
    let registry = Distribution::start();
    let project = project(&registry);
    project.case.replace(CSV_FILE, "displayName: Lamps", "displayName: Lights");
    let target = format!("oci://{}/charts", registry.host);
    let seen = clean(project.run(&["push", &target]));
    assert!(seen.stderr.contains("warning[not-reproduced]"), "{}", seen.stderr);
    let chart = seen.stdout.trim().rsplit_once('@').expect("a digest").1.to_owned();
    let found = referrers(&registry, &chart);
    assert_eq!(found.keys().map(|key| key.0.as_str()).collect::<Vec<_>>(), [SBOM]);

    // Once the inputs are those of the chart, it gets one.
    project.case.replace(CSV_FILE, "displayName: Lights", "displayName: Lamps");
    assert_eq!(push(&project, &registry, &[]), chart);
    assert_eq!(referrers(&registry, &chart).len(), 2);

    let path = "path = \"bundle\"";
    project.case.replace("bundles.toml", path, &format!("chart-version = \"2.0.0\"\n{path}"));
    clean(project.run(&["build", "-q"]));
    let bare = push(&project, &registry, &["--no-attest"]);
    assert!(referrers(&registry, &bare).is_empty());
}

#[test]
fn the_version_in_a_provenance_is_a_reason() {
    let registry = Distribution::start();
    let project = project(&registry);
    let pinned =
        format!("oci://{}/charts/lamp-operator@{}", registry.host, push(&project, &registry, &[]));
    clean(project.run(&["package", "-d", "packages", "--attest"]));
    let file = "packages/lamp-operator-1.2.3.provenance.json";
    let own = format!("\"bundle2chart\":\"{}\"", env!("CARGO_PKG_VERSION"));
    project.case.replace(file, &own, "\"bundle2chart\":\"0.0.9\"");
    project.case.replace(CSV_FILE, "displayName: Lamps", "displayName: Lights");

    let seen = project.run(&["verify", "packages/lamp-operator-1.2.3.tgz"]);
    assert_eq!(seen.code, Some(1), "{}", seen.text());
    assert!(seen.stdout.contains("reason: bundle2chart 0.0.9 built the chart"), "{}", seen.stdout);
    // The registry has the provenance of this version, so other inputs are the reason.
    let seen = project.run(&["verify", &pinned]);
    assert!(seen.stdout.contains("are not those of the build\n"), "{}", seen.stdout);
}

#[test]
fn registries_with_the_referrers_api_get_no_tag() {
    let stored: Mutex<BTreeMap<String, Vec<u8>>> = Mutex::default();
    let listed: Mutex<Vec<Json>> = Mutex::default();
    let server = Server::start(move |asked| {
        let path = asked.target.split('?').next().unwrap_or_default().to_owned();
        let name = path.rsplit('/').next().unwrap_or_default().to_owned();
        let mut stored = stored.lock().expect("one at a time");
        match asked.method.as_str() {
            "GET" if path.contains("/referrers/") => {
                let index = json!({ "manifests": *listed.lock().expect("one at a time") });
                Answer::new(200, index.to_string())
                    .with("content-type", "application/vnd.oci.image.index.v1+json")
            }
            "GET" | "HEAD" => match stored.get(&name) {
                Some(bytes) => Answer::new(200, bytes.clone())
                    .with("content-type", "application/vnd.oci.image.manifest.v1+json"),
                None if path == "/v2/" => Answer::new(200, ""),
                None => Answer::new(404, ""),
            },
            "POST" => Answer::new(202, "").with("location", "/upload"),
            _ if path == "/upload" => Answer::new(201, ""),
            _ => {
                stored.insert(name, asked.body.clone());
                let manifest: Json = serde_json::from_slice(&asked.body).expect("a manifest");
                let answer = Answer::new(201, "");
                let Some(subject) = manifest["subject"]["digest"].as_str() else { return answer };
                listed.lock().expect("one at a time").push(json!({
                    "artifactType": manifest["artifactType"],
                    "annotations": manifest["annotations"],
                    "digest": digest(&asked.body),
                }));
                answer.with("oci-subject", subject)
            }
        }
    });
    let project = Project { case: Case::with_lamps() };
    clean(project.run(&["build", "-q"]));
    let target = format!("oci://{}/charts", server.host());
    let seen = clean(project.run(&["push", &target]));
    assert!(seen.stderr.contains("1 pushed, 0 unchanged, 2 attestations"), "{}", seen.stderr);
    let manifests = || -> Vec<String> {
        let put = server.asked().into_iter().filter(|asked| asked.method == "PUT");
        put.map(|asked| asked.target).filter(|target| target.contains("/manifests/")).collect()
    };
    let pushed = manifests();
    assert_eq!(pushed.len(), 3, "{pushed:?}");
    assert!(pushed[0].ends_with("/manifests/1.2.3"), "{pushed:?}");
    assert!(pushed[1..].iter().all(|path| path.contains("/manifests/sha256:")), "{pushed:?}");
    let seen = clean(project.run(&["push", &target]));
    assert!(seen.stderr.contains("0 pushed, 1 unchanged\n"), "{}", seen.stderr);
    assert_eq!(manifests(), pushed);
}

/// A new key: in PEM, and the point of its public key.
fn key() -> (String, Vec<u8>) {
    let key = rcgen::KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256).expect("a key");
    let point = rcgen::PublicKeyData::der_bytes(&key).to_vec();
    (key.serialize_pem(), point)
}

#[test]
fn charts_and_attestations_are_signed_by_the_users_key() {
    let registry = Distribution::start();
    let (pem, point) = key();
    let secret = pem.lines().nth(1).expect("a key").to_owned();
    let public = UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, point);
    let target = format!("oci://{}/charts", registry.host);
    // By a variable, and by a command with the same key: raw, and in base64.
    let [variable, raw, encoded] = [(); 3].map(|()| project(&registry));
    let openssl = "openssl dgst -sha256 -sign key.pem";
    for (index, (project, command)) in [
        (&variable, String::new()),
        (&raw, openssl.to_owned()),
        (&encoded, format!("{openssl} | base64")),
    ]
    .into_iter()
    .enumerate()
    {
        project.case.write("key.pem", &pem);
        let path = "path = \"bundle\"";
        let version = format!("chart-version = \"3.0.{index}\"\n{path}");
        project.case.replace("bundles.toml", path, &version);
        clean(project.run(&["build", "-q"]));
        let seen = if command.is_empty() {
            project
                .run_with(&["push", &target, "-vvv"], &[("BUNDLE2CHART_SIGNING_KEY", pem.as_str())])
        } else {
            project.run(&["push", &target, "--sign-command", &command])
        };
        let seen = clean(seen);
        assert!(!seen.text().contains(&secret[..30]), "the key is shown");
        assert!(seen.stderr.contains("1 pushed, 0 unchanged, 5 attestations"), "{}", seen.stderr);
        let chart = seen.stdout.trim().rsplit_once('@').expect("a digest").1;

        let found = referrers(&registry, chart);
        let predicates: Vec<&str> = found.keys().map(|key| key.1.as_str()).collect();
        assert_eq!(
            predicates,
            ["", "https://cyclonedx.org/bom", "https://sigstore.dev/cosign/sign/v1", PROVENANCE]
        );
        for ((kind, predicate), document) in &found {
            if kind != BUNDLE {
                continue;
            }
            let envelope = &document["dsseEnvelope"];
            let decode =
                |value: &Json| STANDARD.decode(value.as_str().expect("base64")).expect("base64");
            let (payload, signature) =
                (decode(&envelope["payload"]), decode(&envelope["signatures"][0]["sig"]));
            let head = format!("DSSEv1 28 application/vnd.in-toto+json {} ", payload.len());
            let signed = [head.as_bytes(), &payload].concat();
            assert!(public.verify(&signed, &signature).is_ok(), "{predicate}");
            let statement: Json = serde_json::from_slice(&payload).expect("a statement");
            assert_eq!(statement["predicateType"], predicate.as_str());
            assert_eq!(statement["subject"][0]["digest"]["sha256"], &chart["sha256:".len()..]);
        }

        let signature = registry
            .manifest("charts/lamp-operator", &format!("{}.sig", tag(chart)))
            .expect("a signature");
        let layer = &signature["layers"][0];
        let payload = registry.blob(layer["digest"].as_str().expect("a digest"));
        let text = layer["annotations"]["dev.cosignproject.cosign/signature"].as_str();
        let signature = STANDARD.decode(text.expect("a signature")).expect("base64");
        assert!(public.verify(&payload, &signature).is_ok());
        // A registry cannot replace the chart: the signature is about this digest.
        let text = String::from_utf8(payload.clone()).expect("UTF-8");
        let replaced = text.replace(chart, &format!("sha256:{}", "0".repeat(64)));
        assert!(replaced != text && public.verify(replaced.as_bytes(), &signature).is_err());
        let payload: Json = serde_json::from_slice(&payload).expect("JSON");
        assert_eq!(payload["critical"]["image"]["docker-manifest-digest"], chart);
        let identity = &payload["critical"]["identity"]["docker-reference"];
        assert_eq!(*identity, format!("{}/charts/lamp-operator", registry.host));
    }
    let again =
        variable.run_with(&["push", &target], &[("BUNDLE2CHART_SIGNING_KEY", pem.as_str())]);
    assert!(clean(again).stderr.contains("0 pushed, 1 unchanged\n"));
}

#[test]
fn a_signer_that_fails_is_reported() {
    let registry = Distribution::start();
    let project = project(&registry);
    let target = format!("oci://{}/charts", registry.host);
    // A key that is not usable is found before anything is pushed.
    let environment = [("BUNDLE2CHART_SIGNING_KEY", "-----BEGIN PRIVATE KEY-----\ncanary-4711\n")];
    let seen = project.run_with(&["push", &target], &environment);
    assert_eq!((seen.code, seen.stdout.as_str()), (Some(2), ""), "{}", seen.text());
    assert!(seen.stderr.contains("error[signing-failed]"), "{}", seen.stderr);
    assert!(!seen.stderr.contains("canary"), "{}", seen.stderr);
    assert_eq!(registry.manifest("charts/lamp-operator", "1.2.3"), None);

    let command = "echo no access to the key >&2; exit 7";
    let seen = project.run(&["push", &target, "--sign-command", command]);
    assert_eq!((seen.code, seen.stdout.as_str()), (Some(2), ""), "{}", seen.text());
    assert!(seen.stderr.contains("no access to the key"), "{}", seen.stderr);
}

#[test]
fn helm_verifies_packages_that_gpg_signs() {
    crate::support::once::install_packages(&["gpg"]);
    let case = Case::with_lamps();
    clean(case.run(&["build", "-q"]));
    let home = tempfile::tempdir().expect("a folder");
    let gpg = |arguments: &[&str]| {
        let done = Command::new("gpg")
            .args(["--batch", "--quiet", "--pinentry-mode", "loopback", "--passphrase", ""])
            .args(arguments)
            .env("GNUPGHOME", home.path())
            .output()
            .expect("gpg runs");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        done.stdout
    };
    gpg(&["--quick-generate-key", "Lamps <lamps@example.com>", "rsa3072", "sign", "never"]);
    case.write("pubring.gpg", gpg(&["--export", "lamps@example.com"]));
    let environment = [("GNUPGHOME", home.path().to_str().expect("UTF-8"))];
    let sign =
        |key: &str| case.run_with(&["package", "-d", "packages", "--pgp-key", key], &environment);
    let seen = clean(sign("lamps@example.com"));
    assert!(seen.stdout.contains("packages/lamp-operator-1.2.3.tgz.prov\n"), "{}", seen.stdout);

    // The signed text, in which dashes at the start of a line would be escaped.
    let signed = case.read("packages/lamp-operator-1.2.3.tgz.prov").replace("\n- -", "\n-");
    let metadata = case.read("out/lamp-operator/1.2.3/Chart.yaml");
    let content = std::fs::read(case.path("packages/lamp-operator-1.2.3.tgz")).expect("a package");
    let files = format!("files:\n  lamp-operator-1.2.3.tgz: {}\n", digest(&content));
    let text = format!("\n\n{}\n\n...\n{files}", metadata.trim_end());
    assert!(signed.contains(&text), "{signed}");

    let (package, keys) = (case.path("packages/lamp-operator-1.2.3.tgz"), case.path("pubring.gpg"));
    let verify = |helm: &Helm| {
        helm.run(["verify".as_ref(), "--keyring".as_ref(), keys.as_os_str(), package.as_os_str()])
    };
    for helm in Helm::all() {
        let shown = verify(&helm).expect_success();
        assert!(shown.contains("Lamps <lamps@example.com>"), "Helm {}: {shown}", helm.version);
    }
    let mut edited = std::fs::read(&package).expect("a package");
    edited.push(0);
    std::fs::write(&package, edited).expect("an edited package");
    assert!(!verify(&Helm::newest()).success);

    let seen = sign("missing@example.com");
    assert_eq!(seen.code, Some(2), "{}", seen.text());
    assert!(seen.stderr.contains("error[signing-failed]: cannot sign with gpg"), "{}", seen.stderr);
    Command::new("gpgconf")
        .args(["--kill", "gpg-agent"])
        .env("GNUPGHOME", home.path())
        .status()
        .expect("gpgconf runs");
}

/// Reads both documents with the libraries of CycloneDX and in-toto: the schemas of CycloneDX, and
/// in-toto's message types, which refuse unknown fields.
const VALIDATE: &str = r#"
import sys
folder, stem = sys.argv[1:]
sys.path.insert(0, folder)
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from google.protobuf import json_format
from in_toto_attestation.predicates.provenance.v1 import provenance_pb2
from in_toto_attestation.v1 import statement_pb2
from in_toto_attestation.v1.statement import Statement

text = open(stem + ".cdx.json").read()
error = JsonStrictValidator(SchemaVersion.V1_6).validate_str(text)
assert error is None, error
assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text.replace('"type":"container"', '"type":"lamp"'))

parsed = json_format.Parse(open(stem + ".provenance.json").read(), statement_pb2.Statement())
Statement.copy_from_pb(parsed).validate()
predicate = json_format.MessageToJson(parsed.predicate)
provenance = json_format.Parse(predicate, provenance_pb2.Provenance())
assert provenance.build_definition.build_type and provenance.run_details.builder.id
"#;

/// Installs the libraries once; returns their folder.
fn validators() -> PathBuf {
    let folder = tools_dir().join("attestation-validators-1");
    let installed = create_once(&folder.join("installed"), |staged| {
        let output = Command::new("python3")
            .args(["-m", "pip", "install", "--quiet", "--target"])
            .arg(&folder)
            .args(["cyclonedx-python-lib[json-validation]==11.12.0", "in-toto-attestation==0.9.3"])
            .output()
            .map_err(|error| error.to_string())?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
        std::fs::write(staged, "").map_err(|error| error.to_string())
    });
    if let Err(reason) = installed {
        panic!("this test needs cyclonedx-python-lib and in-toto-attestation: {reason}");
    }
    folder
}

#[test]
#[ignore = "installs Python packages: cargo test --test suite -- --ignored attestations::"]
fn documents_are_valid_by_their_schemas() {
    let case = Case::with_lamps();
    clean(case.run(&["build", "-q"]));
    clean(case.run(&["package", "-d", "packages", "--attest"]));
    let done = Command::new("python3")
        .args(["-c", VALIDATE])
        .args([validators().as_path(), Path::new("packages/lamp-operator-1.2.3")])
        .current_dir(case.path("."))
        .output()
        .expect("python3 runs");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}
