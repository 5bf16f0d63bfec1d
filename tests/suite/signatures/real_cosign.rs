//! cosign itself, built from its Go module: what it signs, builds accept; what `push` signs and what
//! the fixtures of keyless signatures say, it accepts.

use super::images::Images;
use super::keyless::Keyless;
use super::{built, refused};
use crate::registry::distribution::Distribution;
use crate::registry::project::{PASSWORD, Project, USER};
use crate::support::command::Case;
use crate::support::go::{Module, module_program};
use std::fs;
use std::process::{Command, Output};

const COSIGN: Module = Module {
    path: "github.com/sigstore/cosign/v3",
    version: "v3.0.2",
    sum: Some("h1:VZrEg/CnocVRgieYBSqklq3f/AkVgN3iAqwiQxeXgoc="),
    package: "./cmd/cosign",
    not_replaced: &[],
};

/// Runs cosign in the folder of a case, with access to the registry.
fn run(case: &Case, arguments: &[&str]) -> Output {
    Command::new(module_program("cosign", &COSIGN))
        .args(arguments)
        .current_dir(case.path(""))
        .env("COSIGN_PASSWORD", "")
        .env("HOME", case.path(""))
        // `sign` does not use the options for CA and login in all of its requests.
        .env("SSL_CERT_FILE", case.path("ca.pem"))
        .env("DOCKER_CONFIG", case.path("docker"))
        // It asks no server but the registry.
        .env("HTTPS_PROXY", "http://127.0.0.1:9")
        .env("NO_PROXY", "127.0.0.1")
        .output()
        .expect("cosign runs")
}

/// Roots that vouch for nothing: cosign wants some for signatures by keys, too, and would download them.
const NO_ROOTS: &str =
    r#"{"mediaType": "application/vnd.dev.sigstore.trustedroot+json;version=0.1"}"#;

const ACCESS: [&str; 6] =
    ["--registry-cacert", "ca.pem", "--registry-username", USER, "--registry-password", PASSWORD];

#[track_caller]
fn accepted(case: &Case, arguments: &[&str]) {
    let output = run(case, arguments);
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cosign {arguments:?}\n{text}");
}

/// A project with a bundle in the registry, which `key` must have signed.
fn project(registry: &Distribution, repository: &str, images: &Images) -> Project {
    let case = Case::new();
    images.write(&case, "images");
    let name = format!("{}:1.0.0", super::REPOSITORY);
    registry.push(
        &case.path("images"),
        &name,
        &format!("{repository}:1.0.0"),
        &["--preserve-digests"],
    );
    let host = &registry.host;
    case.write("ca.pem", &registry.authority);
    case.write(
        "bundles.toml",
        format!(
            "[[registry]]\nhost = \"{host}\"\nca = \"ca.pem\"\n\n[[verify]]\nprefix = \"{host}\"\n\
             key = [\"cosign.pub\"]\n\n[[bundle]]\nname = \"lamp-operator\"\n\
             image = \"{host}/{repository}:1.0.0\"\n"
        ),
    );
    let project = Project { case };
    project.log_in(host, PASSWORD);
    project.case.write("docker/config.json", project.case.read("auth.json"));
    project
}

#[test]
#[ignore = "builds cosign"]
fn images_signed_by_cosign() {
    let registry = Distribution::start();
    for (repository, format) in
        [("tags/bundle", "--new-bundle-format=false"), ("referrers/bundle", "--new-bundle-format")]
    {
        let images = Images::new();
        let project = project(&registry, repository, &images);
        accepted(&project.case, &["generate-key-pair", "--output-key-prefix", "other"]);
        accepted(&project.case, &["generate-key-pair"]);
        let missing = ["has no signature"];
        refused(&project, &["build"], "signature-missing", &missing);

        let image = format!("{}/{repository}@{}", registry.host, images.digest());
        let arguments =
            ["sign", "--key", "cosign.key", "--yes", "--use-signing-config=false", format];
        let more = ["--tlog-upload=false", &image];
        accepted(&project.case, &[&arguments[..], &ACCESS, &more].concat());
        built(&project, &["build"]);
        built(&project, &["build", "--locked", "--offline", "--check"]);

        // Another key.
        fs::remove_dir_all(project.case.path("out")).expect("removed");
        project.case.replace("bundles.toml", "cosign.pub", "other.pub");
        let words = ["other.pub", "signed by another key, or changed"];
        refused(&project, &["build"], "signature-invalid", &words);
        project.case.replace("bundles.toml", "other.pub", "cosign.pub");

        // The tag moves to an image that is not signed, and then gets the signature of the old one.
        let other = Images::other();
        other.write(&project.case, "other");
        let name = format!("{}:1.0.0", super::REPOSITORY);
        registry.push(
            &project.case.path("other"),
            &name,
            &format!("{repository}:1.0.0"),
            &["--preserve-digests"],
        );
        refused(&project, &["lock", "--upgrade"], "signature-missing", &missing);
        if repository.starts_with("tags") {
            let tag = |of: &Images| {
                let tag = of.digest().replace(':', "-");
                format!("docker://{}/{repository}:{tag}.sig", registry.host)
            };
            registry.skopeo(&["copy".to_owned(), tag(&images), tag(&other)]);
            let words = [format!("signed another digest, {}", images.digest())];
            refused(&project, &["lock", "--upgrade"], "signature-invalid", &[&words[0]]);
        }
    }
    registry.stop();
}

#[test]
#[ignore = "builds cosign"]
fn charts_and_attestations_that_cosign_verifies() {
    let registry = Distribution::start();
    let case = Case::with_lamps();
    let host = &registry.host;
    let config = case.read("bundles.toml");
    let settings = format!("[[registry]]\nhost = \"{host}\"\nca = \"ca.pem\"\n\n");
    case.write("bundles.toml", settings + &config);
    case.write("ca.pem", &registry.authority);
    let project = Project { case };
    project.log_in(host, PASSWORD);
    built(&project, &["build"]);

    let key = rcgen::KeyPair::generate().expect("a key");
    project.case.write("signer.pub", key.public_key_pem());
    let pem = key.serialize_pem();
    let target = format!("oci://{host}/charts");
    let seen = project.run_with(&["push", &target], &[("BUNDLE2CHART_SIGNING_KEY", &pem)]);
    assert_eq!(seen.code, Some(0), "{}", seen.stderr);
    let digest = seen.stdout.trim().rsplit_once('@').expect("a digest").1;
    let chart = format!("{host}/charts/lamp-operator@{digest}");

    project.case.write("trusted_root.json", NO_ROOTS);
    let roots = ["--trusted-root", "trusted_root.json"];
    let signed = ["--key", "signer.pub", "--insecure-ignore-tlog"];
    for command in [
        &["verify"][..],
        &["verify", "--new-bundle-format=false"],
        &["verify-attestation", "--type", "slsaprovenance1"],
        &["verify-attestation", "--type", "cyclonedx"],
    ] {
        let arguments = [command, &signed, &roots, &ACCESS, &[&chart]].concat();
        accepted(&project.case, &arguments);
    }
    accepted(&project.case, &["generate-key-pair"]);
    let signed = ["--key", "cosign.pub", "--insecure-ignore-tlog"];
    let output =
        run(&project.case, &[&["verify"], &signed[..], &roots, &ACCESS, &[&chart]].concat());
    assert!(!output.status.success(), "cosign verified with another key");
    registry.stop();
}

#[test]
#[ignore = "builds cosign"]
fn keyless_fixtures_that_cosign_verifies() {
    let registry = Distribution::start();
    let keyless = Keyless::read();
    let signature = keyless.signature("valid");
    for (form, images) in [("tag", signature.by_tag()), ("referrer", signature.by_referrer())] {
        let project = keyless.project(&images, &keyless.table(), &keyless.roots(0));
        let host = &registry.host;
        let text = project.case.read("bundles.toml");
        let settings = format!("[[registry]]\nhost = \"{host}\"\nca = \"ca.pem\"\n\n");
        project.case.write("bundles.toml", settings + &text);
        project.case.write("ca.pem", &registry.authority);
        project.log_in(host, PASSWORD);
        built(&project, &["build"]);
        built(&project, &["vendor", "--to", &format!("{host}/{form}")]);

        let image = format!("{host}/{form}/lamps/bundle@{}", images.digest());
        let verified = |identity: &str| {
            let arguments = ["verify", "--certificate-identity", identity, "--offline"];
            let issuer = ["--certificate-oidc-issuer", keyless.issuer()];
            let roots = ["--trusted-root", "trusted_root.json", &image];
            run(&project.case, &[&arguments[..], &issuer, &ACCESS, &roots].concat())
        };
        let output = verified(keyless.identity());
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{form}\n{text}");
        assert!(!verified("mallory@example.com").status.success(), "{form}");
    }
    registry.stop();
}
