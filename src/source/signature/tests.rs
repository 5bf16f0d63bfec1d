//! Valid signatures, and the errors about others: images in memory, with keys of our own and the keyless
//! signatures of fixtures/signatures.

#![cfg(feature = "keyless")]
#![expect(clippy::disallowed_methods, reason = "a test")]

use super::cosign::{
    SIGNATURE, SIGNATURE_PREDICATE, SIMPLE_SIGNING_PAYLOAD, STATEMENT_MEDIA_TYPE, STATEMENT_TYPE,
    pre_authentication_encoding,
};
use super::*;
use crate::access::Access;
use crate::config::Config;
use crate::diag::SourceText;
use crate::limits::Limits;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use oci_spec::image::MediaType;
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use serde_json::{Value as Json, json};
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

const REPOSITORY: &str = "registry.example.com/lamps/bundle";

/// Returns an error as `code at LINE: message (hint)`.
fn told(error: &Diagnostic) -> String {
    let at = error.place.span.as_ref().map(|span| {
        let before = span.source.text.get(..span.range.start).unwrap_or_default();
        format!(" at line {}", before.matches('\n').count() + 1)
    });
    let hint = error.hint.as_deref().unwrap_or_default();
    format!("{}{}: {} ({hint})", error.code.as_str(), at.unwrap_or_default(), error.message)
}

/// Returns a resolver with these `[[verify]]` tables, in a directory with these files.
fn resolver(tables: &str, files: &[(&str, &[u8])]) -> (SourceResolver, tempfile::TempDir) {
    let base = tempfile::tempdir().unwrap();
    for (name, content) in files {
        std::fs::write(base.path().join(name), content).unwrap();
    }
    let text = format!("{tables}\n[[bundle]]\nname = \"lamps\"\npath = \"lamps\"\n");
    let source = Arc::new(SourceText { name: "bundles.toml".to_owned(), text });
    let mut found = Diagnostics::new();
    let config = Config::parse(&source, base.path(), &mut found);
    let config =
        config.unwrap_or_else(|| panic!("{:?}", found.iter().map(told).collect::<Vec<_>>()));
    (SourceResolver::of(&config, Access { offline: true, ..Access::default() }), base)
}

/// Images in memory.
#[derive(Clone, Default)]
struct Memory {
    blobs: HashMap<Digest, Vec<u8>>,
    attached: Vec<(Digest, Attachment, Descriptor)>,
    limits: Limits,
    /// Lists of attached manifests are errors.
    fails: bool,
}

impl Memory {
    fn add(&mut self, media_type: &str, content: &[u8]) -> Descriptor {
        let digest = Digest::from_str(&crate::digest_of(content)).unwrap();
        self.blobs.insert(digest.clone(), content.to_vec());
        Descriptor::new(MediaType::from(media_type), content.len() as u64, digest)
    }

    fn document(&mut self, kind: &str, key: &str, entries: &[Descriptor]) -> Descriptor {
        let media_type = format!("application/vnd.oci.image.{kind}.v1+json");
        let config = self.add("application/vnd.oci.image.config.v1+json", b"{}");
        let mut document = json!({"schemaVersion": 2, "mediaType": media_type, key: entries});
        if kind == "manifest" {
            document["config"] = json!(config);
        }
        self.add(&media_type, document.to_string().as_bytes())
    }

    fn manifest(&mut self, layers: &[Descriptor]) -> Descriptor {
        self.document("manifest", "layers", layers)
    }

    fn index(&mut self, manifests: &[Descriptor]) -> Descriptor {
        self.document("index", "manifests", manifests)
    }

    /// Adds a layer with a payload and its signature, if it has one.
    fn layer(&mut self, payload: &[u8], signature: Option<&str>) -> Descriptor {
        let mut layer = self.add(SIMPLE_SIGNING_TYPE, payload);
        let annotations = signature.map(|text| (SIGNATURE.to_owned(), text.to_owned()));
        layer.set_annotations(Some(annotations.into_iter().collect()));
        layer
    }

    /// Adds a layer with a valid signature of an image by a key.
    fn signed(&mut self, image: &Descriptor, seed: u8) -> Descriptor {
        let payload = payload(REPOSITORY, image.digest().as_ref(), SIMPLE_SIGNING_PAYLOAD);
        self.layer(&payload, Some(&STANDARD.encode(pair(seed).sign(&payload))))
    }

    fn attach(
        &mut self,
        of: &Descriptor,
        attachment: Attachment,
        layers: &[Descriptor],
    ) -> Signature {
        let manifest = self.manifest(layers);
        self.attached.push((of.digest().clone(), attachment, manifest.clone()));
        Signature {
            manifest: manifest.digest().to_string(),
            signed: of.digest().to_string(),
            signer: Signer::Key("recorded".to_owned()),
        }
    }
}

impl Blobs for Memory {
    fn limits(&self) -> &Limits {
        &self.limits
    }

    fn open(&self, descriptor: &Descriptor) -> Result<Option<Box<dyn Read>>, Fatal> {
        let content = self.blobs.get(descriptor.digest()).cloned();
        Ok(content.map(|content| Box::new(std::io::Cursor::new(content)) as Box<dyn Read>))
    }

    fn find(&self, digest: &Digest) -> Result<Option<Descriptor>, Fatal> {
        if digest.digest().starts_with("ffff") {
            return Err(failure(Code::RegistryFailed, "the registry fails", "try again"));
        }
        match self.blobs.get(digest) {
            Some(content) => Ok(describe(content, digest)),
            None => Err(failure(Code::ImageNotFound, "it is not there", "try again")),
        }
    }

    fn signatures(&self, of: &Digest, attachment: Attachment) -> Result<Vec<Descriptor>, Fatal> {
        if self.fails {
            return Err(failure(Code::RegistryFailed, "the registry fails", "try again"));
        }
        let own = self.attached.iter().filter(|(image, how, _)| image == of && *how == attachment);
        Ok(own.map(|(.., manifest)| manifest.clone()).collect())
    }
}

/// Returns a payload of simple signing.
fn payload(repository: &str, digest: &str, kind: &str) -> Vec<u8> {
    let payload = json!({"critical": {
        "identity": {"docker-reference": repository},
        "image": {"docker-manifest-digest": digest},
        "type": kind,
    }});
    payload.to_string().into_bytes()
}

fn pem(seed: u8) -> String {
    // RFC 8410: the SubjectPublicKeyInfo of Ed25519 is this and the key.
    let start = b"\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00";
    let key = STANDARD.encode([start, pair(seed).public_key().as_ref()].concat());
    format!("-----BEGIN PUBLIC KEY-----\n{key}\n-----END PUBLIC KEY-----\n")
}

fn signers() -> Signers {
    Signers::Keys(PublicKey::read("cosign.pub", pem(1).as_bytes()).unwrap())
}

const VENDOR: &str = "[[verify]]\nprefix = \"registry.example.com\"\nkey = [\"vendor.pem\"]\n";

/// The recorded signature of an image, and the index that it was picked from.
type Recorded = Option<(Signature, Option<String>)>;

/// Returns what is said about an image.
fn verified(tables: &str, memory: &Memory, root: &Descriptor, recorded: Recorded) -> String {
    let (keys, roots) = ([pem(1), pem(2)], Keyless::read().0["roots"][0].to_string());
    let files = [
        ("vendor.pem", keys[0].as_bytes()),
        ("second.pem", keys[1].as_bytes()),
        ("roots.json", roots.as_bytes()),
    ];
    let (resolver, _base) = resolver(tables, &files);
    let (signature, index) = recorded.unzip();
    let digest = root.digest().to_string();
    let pin = signature.as_ref().map(|signature| Pin {
        reference: REPOSITORY,
        digest: &digest,
        index: index.as_ref().and_then(Option::as_deref),
        signature: (!signature.manifest.is_empty()).then_some(signature),
        is_catalog: false,
        edges: None,
    });
    let reference = Reference::parse(REPOSITORY).unwrap();
    let blobs = Box::new(memory.clone());
    let located = Located { blobs, root: root.clone(), signature: None };
    let shown = match resolver.verify(&reference, &located, pin) {
        Ok(Some(signature)) => {
            let Signature { manifest, signed, signer } = signature;
            let signed = if signed == digest { "it" } else { "another digest of it" };
            assert!(memory.blobs.contains_key(&Digest::from_str(&manifest).unwrap()));
            format!("{} signed {signed}", signer.short())
        }
        Ok(None) => "no signature is required".to_owned(),
        Err(error) => {
            let related = error.related.iter().map(|(_, text)| text.to_string());
            format!("{} [{}]", told(&error), related.collect::<Vec<_>>().join(", "))
        }
    };
    shown.replace(root.digest().digest(), "HEX")
}

/// Signatures of an image, its index and its platform: recorded ones, and those that are attached.
#[test]
fn signatures_of_images() {
    let mut shown = String::new();
    let mut show = |what: &str, memory: &Memory, root: &Descriptor, recorded: Recorded| {
        shown += &format!("{what}: {}\n", verified(VENDOR, memory, root, recorded));
    };
    let mut bare = Memory::default();
    let image = bare.manifest(&[]);
    let index = bare.index(std::slice::from_ref(&image));
    let layer = bare.add("application/octet-stream", b"a layer");
    let other = bare.manifest(std::slice::from_ref(&layer));
    let with = |change: &dyn Fn(&mut Memory)| {
        let mut memory = bare.clone();
        change(&mut memory);
        memory
    };
    let by = |memory: &mut Memory, seed: u8| {
        let layer = memory.signed(&image, seed);
        memory.attach(&image, Attachment::Tag, &[layer])
    };
    show("none", &bare, &image, None);
    show("by tag", &with(&|it| drop(by(it, 1))), &image, None);
    show("by another key", &with(&|it| drop(by(it, 2))), &image, None);
    let mut memory = bare.clone();
    let layers = [memory.signed(&image, 2), layer.clone(), memory.signed(&image, 1)];
    memory.attach(&image, Attachment::Referrers, &layers);
    show("in the third layer of a referrer", &memory, &image, None);

    let two = VENDOR.replace("\"]\n", "\", \"second.pem\"]\n");
    for seed in 1..=3 {
        let shown_two = verified(&two, &with(&|it| drop(by(it, seed))), &image, None);
        show(
            &format!("with two keys, {shown_two}\n  and with one"),
            &with(&|it| drop(by(it, seed))),
            &image,
            None,
        );
    }

    // An image and its index are the same image.
    show("of the platform", &with(&|it| drop(by(it, 1))), &index, None);
    let mut memory = bare.clone();
    let layer_of_index = memory.signed(&index, 1);
    let of_index = memory.attach(&index, Attachment::Tag, &[layer_of_index]);
    show("of the index", &memory, &index, None);
    let nothing = Signature { manifest: String::new(), ..of_index.clone() };
    let locked = |signature: &Signature, index: &Descriptor| {
        Some((signature.clone(), Some(index.digest().to_string())))
    };
    show("of the index it was picked from", &memory, &image, locked(&nothing, &index));
    show("of an index without it", &memory, &other, locked(&nothing, &index));
    let mut failing = index.clone();
    failing.set_digest(Digest::from_str(&format!("sha256:{}", "f".repeat(64))).unwrap());
    show("of an index in a registry that fails", &memory, &image, locked(&nothing, &failing));
    let mut both = memory.clone();
    let larger = both.index(&[other.clone(), image.clone()]);
    let layer_of_larger = both.signed(&larger, 1);
    both.attach(&larger, Attachment::Tag, &[layer_of_larger]);
    show("of an index of two", &both, &image, locked(&nothing, &larger));
    by(&mut both, 1);
    show("of the image and its index", &both, &image, locked(&nothing, &larger));
    both.fails = true;
    show("of a registry that fails", &both, &image, None);
    show("of no index", &memory, &image, locked(&nothing, &other));
    show("of an index that is gone", &with(&|_| ()), &image, locked(&nothing, &layer));

    // Recorded signatures are found without a look at what is attached.
    let mut unattached = memory.clone();
    let own = by(&mut unattached, 1);
    let by_other = by(&mut unattached, 2);
    unattached.attached.clear();
    let alone = |signature: &Signature| Some((signature.clone(), None));
    show("recorded", &unattached, &image, alone(&own));
    show("recorded of the index", &unattached, &image, locked(&of_index, &index));
    show("recorded of an index without it", &unattached, &other, locked(&of_index, &index));
    show("recorded of another image", &unattached, &other, alone(&own));
    show("recorded by another key", &unattached, &image, alone(&by_other));
    let missing = Signature { manifest: format!("sha256:{}", "0".repeat(64)), ..own.clone() };
    show("recorded and gone", &unattached, &image, alone(&missing));
    let odd = Signature { manifest: "sha256:1".to_owned(), ..own.clone() };
    show("recorded in an odd place", &unattached, &image, alone(&odd));
    let odd = Signature { signed: "sha256:1".to_owned(), ..own.clone() };
    show("recorded of an odd digest", &unattached, &image, alone(&odd));
    let failing = Signature { manifest: format!("sha256:{}", "f".repeat(64)), ..own };
    show("recorded in a registry that fails", &unattached, &image, alone(&failing));

    // What cannot be read hides no valid signature, and is reported where there is no other reason.
    let unreadable = |memory: &mut Memory| {
        let manifest = memory.manifest(&[]);
        memory.attached.push((image.digest().clone(), Attachment::Tag, manifest.clone()));
        let absent = Descriptor::new(
            manifest.media_type().clone(),
            1,
            Digest::from_str(&format!("sha256:{}", "1".repeat(64))).unwrap(),
        );
        memory.attached.push((image.digest().clone(), Attachment::Tag, absent));
    };
    show("unreadable", &with(&unreadable), &image, None);
    let mut memory = unattached.clone();
    unreadable(&mut memory);
    show("unreadable, and a recorded one by another key", &memory, &image, alone(&by_other));
    by(&mut memory, 2);
    show("unreadable, and one by another key", &memory, &image, None);
    by(&mut memory, 1);
    show("unreadable, and a valid one", &memory, &image, None);
    let mut memory = bare.clone();
    memory.attached.push((image.digest().clone(), Attachment::Tag, index.clone()));
    show("an index", &memory, &image, None);

    let statement = json!({
        "_type": STATEMENT_TYPE,
        "subject": [{"digest": {"sha256": image.digest().digest()}}],
        "predicateType": SIGNATURE_PREDICATE,
    });
    let bundle = signed(&statement.to_string(), 1).to_string();
    for media_type in [format!("{BUNDLE_TYPE}.v0.3+json"), format!("a/{BUNDLE_TYPE}")] {
        let mut memory = bare.clone();
        let layer = memory.add(&media_type, bundle.as_bytes());
        memory.attach(&image, Attachment::Referrers, std::slice::from_ref(&layer));
        show(&format!("a layer of {media_type}"), &memory, &image, None);
        memory.blobs.remove(layer.digest());
        show(&format!("an absent layer of {media_type}"), &memory, &image, None);
    }
    let mut memory = bare.clone();
    let layer_of_image = memory.signed(&image, 1);
    memory.blobs.remove(layer_of_image.digest());
    memory.attach(&image, Attachment::Tag, &[layer_of_image]);
    show("an absent payload", &memory, &image, None);

    // Anyone may attach some.
    for invalid in [MOST_SIGNATURES - 1, MOST_SIGNATURES] {
        let mut memory = bare.clone();
        for number in 0..invalid {
            let odd = memory.add("application/octet-stream", &number.to_le_bytes());
            memory.attach(&image, Attachment::Tag, &[odd]);
        }
        by(&mut memory, 1);
        show(&format!("after {invalid} manifests"), &memory, &image, None);
        let mut memory = bare.clone();
        let mut layers = vec![layer.clone(); invalid];
        layers.push(memory.signed(&image, 1));
        memory.attach(&image, Attachment::Tag, &layers);
        show(&format!("after {invalid} layers"), &memory, &image, None);
    }
    insta::assert_snapshot!(shown);
}

/// Each thing that a payload of simple signing must say.
#[test]
fn payloads_that_are_signatures() {
    let mut bare = Memory::default();
    let image = bare.manifest(&[]);
    let digest = image.digest().to_string();
    let other = format!("sha256:{}", "0".repeat(64));
    let sign = |payload: &[u8]| STANDARD.encode(pair(1).sign(payload));
    let named = |repository: &str| payload(repository, &digest, SIMPLE_SIGNING_PAYLOAD);
    let usual = named(REPOSITORY);
    let mut rows: Vec<(String, Vec<u8>, Option<String>)> = Vec::new();
    for (what, payload) in [
        ("usual", usual.clone()),
        ("with a tag", named(&format!("{REPOSITORY}:1.0.0"))),
        ("another repository", named("registry.example.com/lamps/\u{1b}other")),
        ("no repository", named("?")),
        ("another digest", payload(REPOSITORY, &other, SIMPLE_SIGNING_PAYLOAD)),
        ("another type", payload(REPOSITORY, &digest, "atomic container signature")),
        ("no JSON", b"{".to_vec()),
    ] {
        let signature = sign(&payload);
        rows.push((what.to_owned(), payload, Some(signature)));
    }
    rows.push(("no signature".to_owned(), usual.clone(), None));
    rows.push(("no base64".to_owned(), usual.clone(), Some("?".to_owned())));
    rows.push(("changed".to_owned(), usual, Some(sign(b"another payload"))));
    let mut shown = String::new();
    let mut all = Memory::default();
    let image = all.manifest(&[]);
    let mut invalid = Vec::new();
    for (what, payload, signature) in &rows {
        let mut memory = bare.clone();
        let layer = memory.layer(payload, signature.as_deref());
        memory.attach(&image, Attachment::Tag, &[layer]);
        shown += &format!("{what}: {}\n", verified(VENDOR, &memory, &image, None));
        if !what.starts_with('u') && !what.starts_with("with") {
            invalid.push(all.layer(payload, signature.as_deref()));
        }
    }
    invalid.push(all.signed(&image, 2));
    all.attach(&image, Attachment::Tag, &invalid);
    shown += &format!("all: {}\n", verified(VENDOR, &all, &image, None));
    insta::assert_snapshot!(shown);
}

/// The table that an image is under, and what is wrong with tables.
#[test]
fn tables_and_their_keys() {
    let mut memory = Memory::default();
    let image = memory.manifest(&[]);
    let keys = |prefix: &str| VENDOR.replace("registry.example.com", prefix);
    let rule = |prefix: &str, rule: &str| format!("[[verify]]\nprefix = \"{prefix}\"\n{rule}\n");
    let mut shown = String::new();
    for (what, tables) in [
        ("none", String::new()),
        ("another registry", keys("example.com")),
        ("a longer prefix", keys("registry.example.com/lamps/bundle/x")),
        ("insecure", VENDOR.to_owned() + &rule(REPOSITORY, "insecure = true")),
        ("required", format!("[[verify]]\nrequire = true\n{}", rule("x.io", "insecure = true"))),
        ("another spelling", keys("Registry.example.com:443/lamps")),
        ("no prefix of an image", format!("\n{}", keys("lamps"))),
        ("twice", VENDOR.to_owned() + &keys("registry.example.com:443")),
        ("no file", keys(REPOSITORY).replace("vendor.pem", "no\\u001B.pem")),
    ] {
        shown += &format!("{what}: {}\n", verified(&tables, &memory, &image, None));
    }
    let (x25519, broken) = (
        "MCowBQYDK2VuAyEAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
        "-----BEGIN PUBLIC KEY-----\n?\n-----END PUBLIC KEY-----\n",
    );
    let unsupported = broken.replace('?', x25519);
    let padded = |bytes: usize| pem(1) + &" ".repeat(bytes - pem(1).len());
    for (what, content) in [
        ("empty", String::new()),
        ("no PEM", broken.to_owned()),
        ("X25519", unsupported),
        ("several keys", (1..8).map(pem).collect()),
        ("256 KiB", padded(256 << 10)),
        ("more", padded((256 << 10) + 1)),
    ] {
        let (resolver, _base) = resolver(VENDOR, &[("vendor.pem", content.as_bytes())]);
        let reference = Reference::parse(REPOSITORY).unwrap();
        let policy = match resolver.policy() {
            Ok(policy) => match &policy.table(&reference).unwrap().rule {
                Rule::Signed(signers) => signers.describe(),
                rule => format!("{rule:?}"),
            },
            Err(error) => told(&error),
        };
        shown += &format!("{what}: {policy}\n");
    }
    insta::assert_snapshot!(shown);
}

#[test]
fn artifact_types_of_signatures() {
    for (artifact_type, expected) in [
        ("application/vnd.dev.sigstore.bundle.v0.3+json", true),
        ("application/vnd.oci.empty.v1+json", true),
        ("application/spdx+json", false),
        ("a/application/vnd.dev.sigstore.bundle.v0.3+json", false),
    ] {
        assert_eq!(may_have_signatures(artifact_type), expected, "{artifact_type}");
    }
}

/// Schemes that ring does not verify are errors that name them.
#[test]
fn schemes_that_are_not_supported() {
    use sigstore_verify::crypto::{SigningScheme, default_provider};
    let keyless = Keyless::read();
    let roots = keyless.0["roots"][0].to_string();
    // It installs the provider.
    keyless.shown(&keyless.table(), roots.as_bytes(), &keyless.0["signatures"]["valid"]);
    let ring = default_provider();
    let raw = ring.verify_raw(SigningScheme::MlDsa44, b"", b"", b"").unwrap_err();
    assert!(raw.to_string().ends_with("MlDsa44"), "{raw}");
    let scheme = SigningScheme::EcdsaP256Sha256;
    let of_other = ring.verify_prehashed(scheme, b"", b"another digest", b"").unwrap_err();
    assert!(of_other.to_string().ends_with("EcdsaP256Sha256 of a digest"), "{of_other}");
}

/// Keyless signatures by an identity, and two instances of sigstore, of which the first one made them.
struct Keyless(Json);

impl Keyless {
    fn read() -> Self {
        let file =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/signatures/keyless.json");
        Keyless(serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap())
    }

    fn text(&self, key: &str) -> &str {
        self.0[key].as_str().unwrap()
    }

    /// Returns the keys of a table that accepts the identity.
    fn table(&self) -> String {
        let (identity, issuer) = (self.text("identity"), self.text("issuer"));
        format!(
            "[[verify]]\nidentity = \"{identity}\"\nissuer = \"{issuer}\"\nroots = \"roots.json\"\n"
        )
    }

    /// Returns what is said about a signature in both forms.
    fn shown(&self, table: &str, roots: &[u8], signature: &Json) -> [String; 2] {
        let key = pem(1);
        let files = [("roots.json", roots), ("vendor.pem", key.as_bytes())];
        let (resolver, _base) = resolver(table, &files);
        let reference = Reference::parse(REPOSITORY).unwrap();
        let policy = match resolver.policy() {
            Ok(policy) => policy,
            Err(error) => return [told(&error), String::new()],
        };
        let Rule::Signed(signers) = &policy.table(&reference).unwrap().rule else { panic!() };
        let bytes = |text: &Json| STANDARD.decode(text.as_str().unwrap()).unwrap();
        let valid: Json =
            serde_json::from_slice(&bytes(&self.0["signatures"]["valid"]["payload"])).unwrap();
        let digest = valid["critical"]["image"]["docker-manifest-digest"].as_str().unwrap();
        let digest = Digest::from_str(digest).unwrap();
        let annotations = serde_json::from_value(signature["annotations"].clone()).unwrap();
        let payload = bytes(&signature["payload"]);
        let simple = simple_signing::verify(&payload, &annotations, &digest, &reference, signers);
        let bundle = bundle::verify(signature["bundle"].to_string().as_bytes(), &digest, signers);
        let told = |signer: Result<Option<Signer>, Rejection>| match signer {
            Ok(Some(Signer::Identity { identity, issuer })) => {
                format!("signed by {identity} of {issuer}")
            }
            Ok(Some(signer)) => format!("signed by {}", signer.short()),
            Ok(None) => "no signature".to_owned(),
            Err(Rejection(reason)) => reason,
        };
        [told(simple.map(Some)), told(bundle)]
    }
}

const ENTRY: &str = "/annotations/dev.sigstore.cosign~1bundle";
const CERTIFICATE: &str = "/annotations/dev.sigstore.cosign~1certificate";
const CHAIN: &str = "/annotations/dev.sigstore.cosign~1chain";
const BUNDLED_ENTRY: &str = "/bundle/verificationMaterial/tlogEntries/0";

#[test]
fn keyless_signatures() {
    let keyless = Keyless::read();
    let (table, roots) = (keyless.table(), |instance: usize| keyless.0["roots"][instance].clone());
    let usual = roots(0).to_string();
    let signature = |name: &str| keyless.0["signatures"][name].clone();
    let (valid, other) = (signature("valid"), signature("other"));
    let mut shown = String::new();
    let mut show = |what: &str, table: &str, roots: &str, signature: &Json| {
        let [simple, bundle] = keyless.shown(table, roots.as_bytes(), signature);
        shown += &format!("{what}:\n  {simple}\n");
        if simple != bundle && !bundle.is_empty() {
            shown += &format!("  {bundle}\n");
        }
    };

    for name in ["valid", "other", "late", "unsubmitted"] {
        show(name, &table, &usual, &signature(name));
    }
    show("a key", VENDOR, &usual, &valid);
    show("another identity", &table.replace("v1.0.0", "v1.0.1"), &usual, &valid);
    show("another issuer", &table.replace("token.actions", "token"), &usual, &valid);
    let exact = format!("identity = \"{}\"", keyless.text("identity"));
    let expression = |text: &str| table.replace(&exact, &format!("identity-regexp = '{text}'"));
    for text in ["https://github.com/lamps/.+", "https://github.com/lamps", "a|lamps"] {
        show(text, &expression(text), &usual, &valid);
    }

    // Another authority, log, or time.
    for key in ["tlogs", "ctlogs", "certificateAuthorities"] {
        let mut mixed = roots(0);
        mixed[key] = roots(1)[key].clone();
        show(&format!("other {key}"), &table, &mixed.to_string(), &valid);
        mixed[key] = json!([]);
        show(&format!("no {key}"), &table, &mixed.to_string(), &valid);
    }
    let mut past = roots(0);
    past["certificateAuthorities"][0]["validFor"] =
        json!({"start": "2020-01-01T00:00:00Z", "end": "2021-01-01T00:00:00Z"});
    show("an authority of another time", &table, &past.to_string(), &valid);
    let mut broken = roots(0);
    broken["tlogs"][0]["publicKey"]["rawBytes"] = json!("AAAA");
    show("a broken key", &table, &broken.to_string(), &valid);
    show("no JSON", &table, "?", &valid);
    let padded = |bytes: usize| usual.clone() + &" ".repeat(bytes - usual.len());
    show("roots of 4 MiB", &table, &padded(4 << 20), &valid);
    show("larger roots", &table, &padded((4 << 20) + 1), &valid);

    // Changed annotations.
    let entry: Json =
        serde_json::from_str(valid.pointer(ENTRY).unwrap().as_str().unwrap()).unwrap();
    let with = |pointer: &str, value: Json| {
        let mut changed = valid.clone();
        *changed.pointer_mut(pointer).unwrap() = value;
        changed
    };
    let with_entry = |pointer: &str, value: Json| {
        let mut changed = entry.clone();
        *changed.pointer_mut(pointer).unwrap() = value;
        with(ENTRY, json!(changed.to_string()))
    };
    let from_other = |pointer: &str| with(pointer, other.pointer(pointer).unwrap().clone());
    let without = |pointer: &str| {
        let mut changed = valid.clone();
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        let parent = changed.pointer_mut(parent).unwrap().as_object_mut().unwrap();
        parent.remove(&key.replace("~1", "/")).unwrap();
        changed
    };
    let time = |text: &str| {
        let mut changed = valid.clone();
        changed["annotations"]["dev.sigstore.cosign/rfc3161timestamp"] = json!(text);
        changed
    };
    let pem = "-----BEGIN CERTIFICATE-----\n?\n";
    let payload = STANDARD.encode(payload(REPOSITORY, "sha256:1", SIMPLE_SIGNING_PAYLOAD));
    let body = |text: &str| with_entry("/Payload/body", json!(STANDARD.encode(text)));
    for (what, changed) in [
        ("another payload", with("/payload", json!(payload))),
        ("another certificate", from_other(CERTIFICATE)),
        ("no certificate", without(CERTIFICATE)),
        ("a broken certificate", with(CERTIFICATE, json!(pem))),
        ("an empty certificate", with(CERTIFICATE, json!(""))),
        ("no chain", without(CHAIN)),
        ("a broken chain", with(CHAIN, json!(pem))),
        ("another entry", from_other(ENTRY)),
        ("no entry", without(ENTRY)),
        ("a broken entry", with(ENTRY, json!("{"))),
        ("an entry of another time", with_entry("/Payload/integratedTime", json!(1))),
        ("an entry at another place", with_entry("/Payload/logIndex", json!(77))),
        ("an entry of another log", with_entry("/Payload/logID", json!("00"))),
        ("an entry of no log", with_entry("/Payload/logID", json!("0?"))),
        ("an entry of half a log", with_entry("/Payload/logID", json!("000"))),
        ("no body of an entry", with_entry("/Payload/body", json!("?"))),
        ("a broken body of an entry", body("{")),
        ("another kind of entry", body("{\"kind\": \"rekord\", \"apiVersion\": \"0.0.1\"}")),
        ("another promise", with_entry("/SignedEntryTimestamp", json!("AAAA"))),
        ("a broken timestamp", time("{")),
        ("a timestamp that cannot be read", time("{\"SignedRFC3161Timestamp\": \"AAAA\"}")),
    ] {
        show(what, &table, &usual, &changed);
    }

    // Changed bundles.
    let material = "/bundle/verificationMaterial";
    let in_entry = |key: &str| format!("{BUNDLED_ENTRY}/{key}");
    let log = roots(1)["tlogs"][0]["logId"].clone();
    let mut both = valid.clone();
    both["bundle"]["messageSignature"] = json!({"signature": "AAAA"});
    let mut key = valid.clone();
    key["bundle"]["verificationMaterial"].as_object_mut().unwrap().remove("certificate");
    key["bundle"]["verificationMaterial"]["publicKey"] = json!({"hint": ""});
    let statement = |subject: Json| {
        let statement = json!({"_type": STATEMENT_TYPE, "subject": subject,
            "predicateType": SIGNATURE_PREDICATE, "predicate": {}});
        with("/bundle/dsseEnvelope/payload", json!(STANDARD.encode(statement.to_string())))
    };
    let digest = |algorithm: &str, hex: &str| statement(json!([{"digest": {algorithm: hex}}]));
    for (what, changed) in [
        ("another signature", from_other("/bundle/dsseEnvelope/signatures/0/sig")),
        ("another certificate of a bundle", from_other(&format!("{material}/certificate"))),
        ("another entry of a bundle", from_other(BUNDLED_ENTRY)),
        ("another time of a bundle", with(&in_entry("integratedTime"), json!("1"))),
        ("another log of a bundle", with(&in_entry("logId"), log)),
        (
            "another proof of a bundle",
            with(&in_entry("inclusionProof/hashes/0"), json!(STANDARD.encode([0; 32]))),
        ),
        ("no promise of a bundle", without(&in_entry("inclusionPromise"))),
        ("no proof of a bundle", without(&in_entry("inclusionProof"))),
        ("no entry of a bundle", with(&format!("{material}/tlogEntries"), json!([]))),
        ("another type of bundle", with("/bundle/mediaType", json!("application/json"))),
        ("a key in a bundle", key),
        ("two kinds of signatures", both),
        ("no subject", statement(json!([]))),
        ("a subject of SHA-256", digest("sha256", &"00".repeat(32))),
        ("a subject of SHA-384", digest("sha384", &"00".repeat(48))),
        ("a subject of SHA-512", digest("sha512", &"00".repeat(64))),
        ("a short subject", digest("sha256", "00")),
        ("an odd subject", digest("sha256", &"0".repeat(63))),
        ("a subject of MD5", digest("md5", &"00".repeat(16))),
        ("a subject that is no digest", digest("sha256", &"0?".repeat(32))),
    ] {
        show(what, &table, &usual, &changed);
    }
    insta::assert_snapshot!(shown);

    // Nothing of an image is used with a signature that is not valid.
    let mut memory = Memory::default();
    let image = memory.manifest(&[]);
    let content = STANDARD.decode(other["payload"].as_str().unwrap()).unwrap();
    let mut layer = memory.add(SIMPLE_SIGNING_TYPE, &content);
    layer.set_annotations(serde_json::from_value(other["annotations"].clone()).unwrap());
    memory.attach(&image, Attachment::Tag, &[layer]);
    let error = verified(&table, &memory, &image, None);
    assert!(error.starts_with("signature-invalid: "), "{error}");

    let (resolver, _base) = resolver(&table, &[("roots.json", usual.as_bytes())]);
    let signers = &resolver.policy().unwrap().table(&Reference::parse(REPOSITORY).unwrap());
    let Rule::Signed(signers) = &signers.unwrap().rule else { panic!() };
    assert!(format!("{signers:?}").starts_with("Identity(Identity(CertificateIdentity"));
    assert!(
        signers.describe().starts_with(&format!("the identity `{}`", keyless.text("identity")))
    );
    for (table, hint) in
        [(table.clone(), "--certificate-identity 'https"), (expression("a|b"), "regexp '^(a|b)$'")]
    {
        let (resolver, _base) = self::resolver(&table, &[("roots.json", usual.as_bytes())]);
        let policy = resolver.policy().unwrap();
        let table = policy.table(&Reference::parse(REPOSITORY).unwrap()).unwrap();
        let Rule::Signed(signers) = &table.rule else { panic!() };
        let is_expression = signers.describe().starts_with("identities that match `a|b` of the");
        assert_eq!(is_expression, hint.starts_with("regexp"), "{}", signers.describe());
        assert!(signers.hint("image").contains(hint), "{}", signers.hint("image"));
        assert!(signers.hint("image").ends_with("change `identity` and `issuer`"));
    }
}

fn pair(seed: u8) -> Ed25519KeyPair {
    Ed25519KeyPair::from_seed_unchecked(&[seed; 32]).unwrap()
}

/// Returns a bundle with this payload, signed by a key.
fn signed(payload: &str, seed: u8) -> Json {
    let message = pre_authentication_encoding(STATEMENT_MEDIA_TYPE, payload.as_bytes());
    let signature = STANDARD.encode(pair(seed).sign(&message));
    json!({"dsseEnvelope": {
        "payload": STANDARD.encode(payload),
        "payloadType": STATEMENT_MEDIA_TYPE,
        "signatures": [{"sig": signature}],
    }})
}

/// Each thing that a bundle must say, and what is said about one that does not.
#[test]
fn bundles_that_are_signatures() {
    let hex = "0123456789abcdef".repeat(4);
    let statement = |change: Json| {
        let mut statement = json!({
            "_type": STATEMENT_TYPE,
            "subject": [{"digest": {"sha256": hex}}],
            "predicateType": SIGNATURE_PREDICATE,
        });
        let fields = change.as_object().cloned().unwrap_or_default();
        statement.as_object_mut().unwrap().extend(fields);
        statement.to_string()
    };
    let usual = signed(&statement(json!({})), 1);
    let with = |pointer: &str, value: Json| {
        let mut bundle = usual.clone();
        *bundle.pointer_mut(pointer).unwrap() = value;
        bundle
    };
    let mut both = usual.clone();
    both["messageSignature"] = json!({});
    let mut several = usual.clone();
    let own = several["dsseEnvelope"]["signatures"][0].clone();
    several["dsseEnvelope"]["signatures"] = json!([{"sig": "!"}, {"sig": "AA=="}, own]);
    let digest = Digest::from_str(&format!("sha256:{hex}")).unwrap();
    let mut shown = String::new();
    for (what, bundle) in [
        ("signed", usual.clone()),
        ("one of several signatures", several),
        ("another key", signed(&statement(json!({})), 2)),
        (
            "changed",
            with("/dsseEnvelope/payload", json!(STANDARD.encode(statement(json!({"a": 1}))))),
        ),
        ("no envelope", json!({})),
        ("two kinds of signatures", both),
        ("another type of payload", with("/dsseEnvelope/payloadType", json!("text/plain"))),
        ("no base64", with("/dsseEnvelope/payload", json!("!"))),
        ("an attestation", signed(&statement(json!({"predicateType": "sbom"})), 2)),
        ("no statement", signed("{}", 1)),
        ("another statement", signed(&statement(json!({"_type": "v0"})), 1)),
        ("no subject", signed(&statement(json!({"subject": []})), 1)),
        (
            "another digest",
            signed(&statement(json!({"subject": [{"digest": {"sha512": hex}}]})), 1),
        ),
        (
            "other digests",
            signed(
                &statement(
                    json!({"subject": [{"digest": {"sha512": hex}}, {"digest": {"sha384": hex}}]}),
                ),
                1,
            ),
        ),
        (
            "one of several digests",
            signed(
                &statement(
                    json!({"subject": [{"digest": {"sha1": "0"}}, {"digest": {"sha256": hex}}]}),
                ),
                1,
            ),
        ),
    ] {
        let outcome = match bundle::verify(bundle.to_string().as_bytes(), &digest, &signers()) {
            Ok(Some(signer)) => format!("signed by {}", signer.short()),
            Ok(None) => "no signature".to_owned(),
            Err(Rejection(reason)) => reason,
        };
        shown += &format!("{what}: {outcome}\n");
    }
    insta::assert_snapshot!(shown);
    let malformed = bundle::verify(b"{", &digest, &signers()).unwrap_err();
    assert!(malformed.0.starts_with("malformed (EOF"), "{malformed:?}");
}
