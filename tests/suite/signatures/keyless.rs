//! Keyless signatures: by an identity with a certificate and an entry in a transparency log, verified
//! with roots in the project and without network.
//!
//! tests/sigstore_signer made fixtures/signatures/keyless.json with two instances of sigstore;
//! in `real_cosign`, cosign verifies its signatures.

use super::images::Images;
use super::{LAYOUT, built, fixture, project, refused};
use crate::registry::project::Project;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use std::fs;

/// The digest of another image.
pub(super) const OTHER: &str =
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/// Signatures by an identity, and two instances of sigstore, of which the first one made them.
pub(super) struct Keyless(Value);

impl Keyless {
    pub(super) fn read() -> Self {
        let text = fs::read(fixture("keyless")).expect("a fixture");
        Keyless(serde_json::from_slice(&text).expect("JSON"))
    }

    pub(super) fn identity(&self) -> &str {
        self.0["identity"].as_str().expect("a string")
    }

    pub(super) fn issuer(&self) -> &str {
        self.0["issuer"].as_str().expect("a string")
    }

    /// The roots of an instance.
    pub(super) fn roots(&self, instance: usize) -> Value {
        self.0["roots"][instance].clone()
    }

    pub(super) fn signature(&self, name: &str) -> Signature {
        let json = &self.0["signatures"][name];
        let payload = STANDARD.decode(json["payload"].as_str().expect("a payload"));
        Signature {
            payload: payload.expect("base64"),
            annotations: json["annotations"].clone(),
            bundle: json["bundle"].clone(),
        }
    }

    /// A table that accepts the identity.
    pub(super) fn table(&self) -> String {
        let (identity, issuer) = (self.identity(), self.issuer());
        format!(
            "[[verify]]\nprefix = \"registry.example.com\"\nidentity = \"{identity}\"\n\
             issuer = \"{issuer}\"\nroots = \"trusted_root.json\"\n"
        )
    }

    /// A project with these images in a layout, and the roots in trusted_root.json.
    pub(super) fn project(&self, images: &Images, table: &str, roots: &Value) -> Project {
        let project = project(LAYOUT, table);
        images.write(&project.case, "images");
        project.case.write("trusted_root.json", roots.to_string());
        project
    }
}

/// A signature in both forms.
#[derive(Clone)]
pub(super) struct Signature {
    payload: Vec<u8>,
    annotations: Value,
    bundle: Value,
}

impl Signature {
    pub(super) fn by_tag(&self) -> Images {
        let images = Images::new();
        let digest = images.digest();
        images.annotated_tag(&digest, &self.payload, &self.annotations)
    }

    pub(super) fn by_referrer(&self) -> Images {
        let images = Images::new();
        let digest = images.digest();
        images.referrer(&digest, self.bundle.to_string().as_bytes())
    }

    fn attached(&self) -> [Images; 2] {
        [self.by_tag(), self.by_referrer()]
    }
}

#[test]
fn images_signed_by_an_identity() {
    let keyless = Keyless::read();
    for images in keyless.signature("valid").attached() {
        let project = keyless.project(&images, &keyless.table(), &keyless.roots(0));
        built(&project, &["build", "--offline"]);
        let lock = project.case.read("bundles.lock");
        let (identity, issuer) = (keyless.identity(), keyless.issuer());
        let signer = format!(", identity = \"{identity}\", issuer = \"{issuer}\" }}\n");
        assert!(lock.contains(&signer), "{lock}");

        // The locked signature is verified again: in the layout, and in a copy.
        built(&project, &["build", "--locked", "--offline", "--check"]);
        built(&project, &["vendor", "vendored"]);
        project.case.replace("bundles.toml", LAYOUT, "oci-layout:vendored");
        built(&project, &["build", "--locked", "--offline", "--check"]);
        fs::remove_dir_all(project.case.path("out")).expect("removed");
        project.case.write("trusted_root.json", keyless.roots(1).to_string());
        refused(&project, &["build", "--locked", "--offline"], "signature-invalid", &[]);
    }
}

#[test]
fn images_of_an_identity_that_a_cluster_pulls() {
    let keyless = Keyless::read();
    let images = keyless.signature("valid").by_tag();
    let own = "[[verify]]\nprefix = \"registry.example.com/lamps/lamp\"\ninsecure = true\n";
    let table = format!("{}\n{own}", keyless.table());
    let project = keyless.project(&images, &table, &keyless.roots(0));
    let seen = built(&project, &["images", "--verify"]);
    assert!(seen.stderr.contains("signatures: 1 valid, 1 not required"), "{}", seen.stderr);
}

#[test]
fn another_identity_or_issuer() {
    let keyless = Keyless::read();
    let images = keyless.signature("valid").by_tag();
    let table = keyless.table().replace("v1.0.0", "v2.0.0");
    let project = keyless.project(&images, &table, &keyless.roots(0));
    insta::assert_snapshot!(project.run(&["build"]).text());
}
