//! Keyless signatures: by an identity with a certificate and an entry in a transparency log, verified
//! with roots in the project and without network.
//!
//! tests/sigstore_signer made fixtures/signatures/keyless.json with two instances of sigstore;
//! in `real_cosign`, cosign verifies its signatures.

use super::images::{Images, REPOSITORY, Signer};
use super::{LAYOUT, VENDOR, built, fixture, project, refused};
use crate::registry::project::Project;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
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

    /// Refuses the images with the roots, with these words.
    #[track_caller]
    fn refused(&self, images: &Images, roots: &Value, words: &[&str]) {
        let project = self.project(images, &self.table(), roots);
        refused(&project, &["build"], "signature-invalid", words);
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

    /// Changes the log entry in the annotation.
    fn change_entry(&mut self, change: impl FnOnce(&mut Value)) {
        let text = self.annotations[ENTRY].as_str().expect("an entry");
        let mut entry: Value = serde_json::from_str(text).expect("JSON");
        change(&mut entry);
        self.annotations[ENTRY] = json!(entry.to_string());
    }
}

const ENTRY: &str = "dev.sigstore.cosign/bundle";
const CERTIFICATE: &str = "dev.sigstore.cosign/certificate";
const BUNDLED_ENTRY: &str = "/verificationMaterial/tlogEntries/0";

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
    let (identity, issuer) = (keyless.identity(), keyless.issuer());
    let found = format!("signed by `{identity}` of the issuer `{issuer}`");
    for images in keyless.signature("valid").attached() {
        for (from, to) in [("tags/v1.0.0", "tags/v1.0.1"), (issuer, "https://accounts.google.com")]
        {
            let table = keyless.table().replace(from, to);
            let project = keyless.project(&images, &table, &keyless.roots(0));
            refused(&project, &["build"], "signature-invalid", &[&found, to]);
        }
    }
    let images = keyless.signature("valid").by_tag();
    let table = keyless.table().replace("v1.0.0", "v2.0.0");
    let project = keyless.project(&images, &table, &keyless.roots(0));
    insta::assert_snapshot!(project.run(&["build"]).text());
}

#[test]
fn expressions_match_whole_identities() {
    let keyless = Keyless::read();
    let images = keyless.signature("valid").by_referrer();
    let exact = format!("identity = \"{}\"", keyless.identity());
    let table = |expression: &str| {
        keyless.table().replace(&exact, &format!("identity-regexp = '{expression}'"))
    };
    let workflow = r"https://github\.com/lamps/lamp/\.github/workflows/release\.yml";
    let project =
        keyless.project(&images, &table(&format!("{workflow}@refs/tags/.+")), &keyless.roots(0));
    built(&project, &["build", "--offline"]);
    for expression in [workflow, "refs/tags/v1.0.0", "a|lamps"] {
        let project = keyless.project(&images, &table(expression), &keyless.roots(0));
        refused(&project, &["build"], "signature-invalid", &["signed by `https://github.com/"]);
    }
}

#[test]
fn roots_that_did_not_make_the_signature() {
    let keyless = Keyless::read();
    let signature = keyless.signature("valid");
    for (key, words) in [
        ("tlogs", "its entry in the transparency log is not valid"),
        ("ctlogs", "its certificate is not valid"),
        ("certificateAuthorities", "its certificate is not valid"),
    ] {
        let mut roots = keyless.roots(0);
        roots[key] = keyless.roots(1)[key].clone();
        for images in signature.attached() {
            keyless.refused(&images, &roots, &[words]);
        }
    }
    // The authority did not issue certificates any more at the time of signing.
    let mut roots = keyless.roots(0);
    let validity = &mut roots["certificateAuthorities"][0]["validFor"];
    *validity = json!({ "start": "2020-01-01T00:00:00Z", "end": "2021-01-01T00:00:00Z" });
    for images in signature.attached() {
        keyless.refused(&images, &roots, &["its certificate is not valid", "no trusted"]);
    }
}

#[test]
fn certificates_that_prove_nothing() {
    let keyless = Keyless::read();
    for (name, words) in [
        // Signed an hour later, when the certificate had expired.
        ("late", "logged at "),
        // No log has the certificate, so the identity's owner cannot notice it.
        ("unsubmitted", "its certificate is not valid"),
    ] {
        for images in keyless.signature(name).attached() {
            keyless.refused(&images, &keyless.roots(0), &[words]);
        }
    }

    // A key is not an identity, and an identity is not a key.
    let digest = Images::new().digest();
    let signer = Signer::new();
    let (payload, signature) = signer.simple(REPOSITORY, &digest);
    let bundle = signer.bundle(&digest, super::SIGNATURE);
    for images in
        [Images::new().tag(&digest, &payload, &signature), Images::new().referrer(&digest, &bundle)]
    {
        let words = ["signed with a key, without a certificate"];
        keyless.refused(&images, &keyless.roots(0), &words);
    }
    for images in keyless.signature("valid").attached() {
        let project = keyless.project(&images, VENDOR, &keyless.roots(0));
        project.case.write("vendor.pem", signer.pem());
        let words = ["signed by another key, or changed"];
        refused(&project, &["build"], "signature-invalid", &words);
    }
}

#[test]
fn keyless_signatures_of_another_image() {
    let keyless = Keyless::read();
    let moved = format!("signed another digest, {OTHER}");
    for images in keyless.signature("other").attached() {
        keyless.refused(&images, &keyless.roots(0), &[&moved]);
    }
}

#[test]
fn changed_annotations() {
    let keyless = Keyless::read();
    let (valid, other) = (keyless.signature("valid"), keyless.signature("other"));
    type Change<'c> = &'c dyn Fn(&mut Signature);
    let changes: [(&str, Change<'_>); 7] = [
        ("the signature is not valid", &|it| {
            let text = String::from_utf8(it.payload.clone()).expect("text");
            let changed = text.replace("\"optional\":null", "\"optional\":{}");
            assert_ne!(changed, text);
            it.payload = changed.into_bytes();
        }),
        ("the signature is not valid", &|it| {
            it.annotations[CERTIFICATE] = other.annotations[CERTIFICATE].clone();
        }),
        ("its entry for this payload is not valid", &|it| {
            it.annotations[ENTRY] = other.annotations[ENTRY].clone();
        }),
        ("its entry in the transparency log is not valid", &|it| {
            it.change_entry(|entry| {
                let time = entry["Payload"]["integratedTime"].as_i64().expect("a time");
                entry["Payload"]["integratedTime"] = json!(time + 1);
            });
        }),
        ("its entry in the transparency log is not valid", &|it| {
            it.change_entry(|entry| entry["SignedEntryTimestamp"] = json!("AAAA"));
        }),
        ("dev.sigstore.cosign/bundle is missing", &|it| {
            it.annotations.as_object_mut().expect("annotations").remove(ENTRY);
        }),
        ("malformed (dev.sigstore.cosign/certificate: it is not valid PEM)", &|it| {
            it.annotations[CERTIFICATE] = json!("-----BEGIN CERTIFICATE-----\n?\n");
        }),
    ];
    for (words, change) in changes {
        let mut signature = valid.clone();
        change(&mut signature);
        keyless.refused(&signature.by_tag(), &keyless.roots(0), &[words]);
    }
}

#[test]
fn changed_bundles() {
    let keyless = Keyless::read();
    let (valid, other) = (keyless.signature("valid").bundle, keyless.signature("other").bundle);
    let log = "its entry in the transparency log is not valid";
    let entry = |key: &str| format!("{BUNDLED_ENTRY}/{key}");
    for (words, key, value) in [
        ("the signature is not valid", "/dsseEnvelope/signatures/0/sig".to_owned(), None),
        ("the signature is not valid", "/verificationMaterial/certificate".to_owned(), None),
        (log, BUNDLED_ENTRY.to_owned(), None),
        (log, entry("integratedTime"), Some(json!("1"))),
        (log, entry("logId"), Some(keyless.roots(1)["tlogs"][0]["logId"].clone())),
        (log, entry("inclusionProof/hashes/0"), Some(json!(STANDARD.encode([0; 32])))),
        ("its time of signing is not valid", entry("inclusionPromise"), Some(Value::Null)),
        ("malformed (", entry("inclusionProof"), Some(Value::Null)),
        ("malformed (", "/verificationMaterial/tlogEntries".to_owned(), Some(json!([]))),
        ("malformed (", "/mediaType".to_owned(), Some(json!("application/json"))),
    ] {
        let mut bundle = valid.clone();
        let from_other = || other.pointer(&key).expect("a value").clone();
        let value = value.unwrap_or_else(from_other);
        *bundle.pointer_mut(&key).expect("a value") = value;
        assert_ne!(bundle, valid, "{key}");
        let digest = Images::new().digest();
        let images = Images::new().referrer(&digest, bundle.to_string().as_bytes());
        keyless.refused(&images, &keyless.roots(0), &[words]);
    }
}

#[test]
fn bundles_with_two_kinds_of_signatures() {
    let keyless = Keyless::read();
    // A valid signature of a message must not vouch for a forged statement.
    let bundle = keyless.signature("valid").bundle;
    let message = json!({ "signature": "AAAA" });
    let both = |first: bool| {
        let before = first.then(|| ("messageSignature".to_owned(), message.clone()));
        let after = (!first).then(|| ("messageSignature".to_owned(), message.clone()));
        let entries = bundle.as_object().expect("an object").clone().into_iter();
        Value::Object(before.into_iter().chain(entries).chain(after).collect())
    };
    for bundle in [both(true), both(false)] {
        let digest = Images::new().digest();
        let images = Images::new().referrer(&digest, bundle.to_string().as_bytes());
        let words = ["a signature that is not in a DSSE envelope"];
        keyless.refused(&images, &keyless.roots(0), &words);
    }
}

#[test]
fn roots_that_cannot_be_used() {
    let keyless = Keyless::read();
    let images = keyless.signature("valid").by_tag();
    let mut without_log = keyless.roots(0);
    without_log["ctlogs"] = json!([]);
    let mut broken = keyless.roots(0);
    broken["tlogs"][0]["publicKey"]["rawBytes"] = json!("AAAA");
    for (roots, why) in [
        (without_log.to_string(), "it has no certificate transparency log"),
        ("{}".to_owned(), "missing field"),
        ("no JSON".to_owned(), "expected"),
        (broken.to_string(), "`trusted_root.json` as `roots`: "),
    ] {
        let project = keyless.project(&images, &keyless.table(), &json!({}));
        project.case.write("trusted_root.json", roots);
        let words = ["cannot use `trusted_root.json` as `roots`", why];
        refused(&project, &["build"], "invalid-value", &words);
    }
    let project = keyless.project(&images, &keyless.table(), &json!({}));
    project.case.remove("trusted_root.json");
    insta::assert_snapshot!(project.run(&["build"]).text());
}
