//! A bundle image with signatures, in an image layout or in a registry, and signers.

use crate::registry::server::{Answer, Asked, Server};
use crate::support::command::Case;
use crate::support::image::{Compression, Image, Layer, Layout, digest};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{KeyPair, SigningKey as _};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The repository of the bundle, before mirrors.
pub(super) const REPOSITORY: &str = "registry.example.com/lamps/bundle";
/// The predicate of statements that are signatures.
pub(super) const SIGNATURE: &str = "https://sigstore.dev/cosign/sign/v1";

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const EMPTY: &str = "application/vnd.oci.empty.v1+json";
const BUNDLE: &str = "application/vnd.dev.sigstore.bundle.v0.3+json";

const CSV: &str = "\
apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {name: lamp-operator.v1.0.0}
spec:
  version: 1.0.0
  installModes: [{type: AllNamespaces, supported: true}]
  install:
    strategy: deployment
    spec:
      deployments:
      - name: lamp-operator
        spec:
          selector: {matchLabels: {app: lamp}}
          template:
            metadata: {labels: {app: lamp}}
            spec:
              containers:
              - {name: lamp, image: 'registry.example.com/lamps/lamp:1.0.0'}
";
const ANNOTATIONS: &str = "\
annotations:
  operators.operatorframework.io.bundle.mediatype.v1: registry+v1
  operators.operatorframework.io.bundle.manifests.v1: manifests/
  operators.operatorframework.io.bundle.metadata.v1: metadata/
  operators.operatorframework.io.bundle.package.v1: lamp-operator
";

/// The files of an image layout.
#[derive(Clone)]
pub(super) struct Images {
    files: BTreeMap<String, Vec<u8>>,
}

/// The image for a platform; uncompressed, so that no release of a compressor changes its digest.
fn image(architecture: &'static str) -> Image {
    let mut layer = Layer::new();
    layer.folder("manifests").folder("metadata");
    layer.file("manifests/csv.yaml", CSV.as_bytes());
    layer.file("metadata/annotations.yaml", ANNOTATIONS.as_bytes());
    let layers = vec![(Compression::None, layer.into_tar())];
    Image { architecture, labels: BTreeMap::new(), layers }
}

impl Images {
    /// The bundle with the tag 1.0.0.
    pub(super) fn new() -> Self {
        let mut layout = Layout::default();
        layout.image(&format!("{REPOSITORY}:1.0.0"), &image("amd64"));
        Images { files: layout.into_files() }
    }

    /// The same for two platforms.
    pub(super) fn index() -> Self {
        let mut layout = Layout::default();
        layout.index(&format!("{REPOSITORY}:1.0.0"), &[image("arm64"), image("amd64")]);
        Images { files: layout.into_files() }
    }

    /// Another image with the same tag.
    pub(super) fn other() -> Self {
        let mut layout = Layout::default();
        layout.image(&format!("{REPOSITORY}:1.0.0"), &image("s390x"));
        Images { files: layout.into_files() }
    }

    /// The digest of the tag.
    pub(super) fn digest(&self) -> String {
        self.entries()[0]["digest"].as_str().expect("a digest").to_owned()
    }

    /// Attaches a payload and its signature by tag.
    pub(super) fn tag(self, of: &str, payload: &[u8], signature: &str) -> Self {
        let annotations = json!({ "dev.cosignproject.cosign/signature": signature });
        self.annotated_tag(of, payload, &annotations)
    }

    /// Attaches a payload by tag, with these annotations of its layer.
    pub(super) fn annotated_tag(mut self, of: &str, payload: &[u8], annotations: &Value) -> Self {
        let mut layer = self.blob("application/vnd.dev.cosign.simplesigning.v1+json", payload);
        layer["annotations"] = annotations.clone();
        let config = self.blob("application/vnd.oci.image.config.v1+json", b"{}");
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": config,
            "layers": [layer],
        });
        let mut entry = self.blob(MANIFEST, manifest.to_string().as_bytes());
        let name = format!("{REPOSITORY}:{}.sig", of.replace(':', "-"));
        entry["annotations"] = json!({ "org.opencontainers.image.ref.name": name });
        self.add(entry)
    }

    /// Attaches a bundle as a referrer.
    pub(super) fn referrer(mut self, of: &str, bundle: &[u8]) -> Self {
        let layer = self.blob(BUNDLE, bundle);
        let config = self.blob(EMPTY, b"{}");
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "artifactType": BUNDLE,
            "config": config,
            "layers": [layer],
            "subject": { "mediaType": MANIFEST, "digest": of, "size": 1 },
        });
        let mut entry = self.blob(MANIFEST, manifest.to_string().as_bytes());
        entry["artifactType"] = json!(BUNDLE);
        self.add(entry)
    }

    /// Writes the layout to a folder.
    pub(super) fn write(&self, case: &Case, folder: &str) {
        for (path, bytes) in &self.files {
            case.write(&format!("{folder}/{path}"), bytes);
        }
    }

    /// Answers as a registry with these images; with `referrers`, with the API of distribution 1.1.
    pub(super) fn answer(&self, asked: &Asked, referrers: bool) -> Answer {
        let path = asked.target.strip_prefix("/v2/lamps/bundle/").unwrap_or_default();
        let missing = || Answer::new(404, "{\"errors\":[{\"code\":\"MANIFEST_UNKNOWN\"}]}");
        match path.split_once('/') {
            None => Answer::new(200, "{}"),
            Some(("referrers", of)) if referrers => self.referrers(of, None),
            Some(("blobs", wanted)) => match self.stored(wanted) {
                Some(bytes) => Answer::new(200, bytes.clone()),
                None => missing(),
            },
            Some(("manifests", wanted)) => {
                let named = self.entries().into_iter().find(|entry| {
                    let name = entry["annotations"]["org.opencontainers.image.ref.name"].as_str();
                    name.is_some_and(|name| name.ends_with(&format!(":{wanted}")))
                });
                let named = named.and_then(|entry| entry["digest"].as_str().map(str::to_owned));
                let tag = wanted.strip_prefix("sha256-").filter(|hex| !hex.ends_with(".sig"));
                match (self.stored(named.as_deref().unwrap_or(wanted)), tag) {
                    (Some(bytes), _) => manifest(bytes.clone()),
                    // The tag of referrers in registries without the API.
                    (None, Some(hex)) => self.referrers(&format!("sha256:{hex}"), Some(EMPTY)),
                    (None, None) => missing(),
                }
            }
            Some(_) => missing(),
        }
    }

    /// Starts a registry with these images.
    pub(super) fn serve(self, referrers: bool) -> Server {
        Server::start(move |asked| self.answer(asked, referrers))
    }

    fn stored(&self, digest: &str) -> Option<&Vec<u8>> {
        self.files.get(&format!("blobs/{}", digest.replace(':', "/")))
    }

    /// Returns the index of the referrers of a manifest, all with this type if there is one: as cosign
    /// writes it where there is no API.
    fn referrers(&self, of: &str, artifact_type: Option<&str>) -> Answer {
        let is_referrer = |entry: &Value| {
            let bytes = self.stored(entry["digest"].as_str().expect("a digest"));
            let manifest: Value = serde_json::from_slice(bytes.expect("a manifest")).expect("JSON");
            manifest["subject"]["digest"] == of
        };
        let mut entries: Vec<Value> = self.entries().into_iter().filter(is_referrer).collect();
        if let Some(artifact_type) = artifact_type {
            entries.iter_mut().for_each(|entry| entry["artifactType"] = json!(artifact_type));
        }
        let media_type = "application/vnd.oci.image.index.v1+json";
        let index = json!({ "schemaVersion": 2, "mediaType": media_type, "manifests": entries });
        manifest(index.to_string().into_bytes())
    }

    fn entries(&self) -> Vec<Value> {
        let index: Value = serde_json::from_slice(&self.files["index.json"]).expect("JSON");
        index["manifests"].as_array().expect("a list").clone()
    }

    fn add(mut self, entry: Value) -> Self {
        let mut index: Value = serde_json::from_slice(&self.files["index.json"]).expect("JSON");
        index["manifests"].as_array_mut().expect("a list").push(entry);
        self.files.insert("index.json".to_owned(), index.to_string().into_bytes());
        self
    }

    fn blob(&mut self, media_type: &str, bytes: &[u8]) -> Value {
        let digest = digest(bytes);
        self.files.insert(format!("blobs/{}", digest.replace(':', "/")), bytes.to_vec());
        json!({ "mediaType": media_type, "digest": digest, "size": bytes.len() })
    }
}

fn manifest(bytes: Vec<u8>) -> Answer {
    let json: Value = serde_json::from_slice(&bytes).expect("JSON");
    let media_type = json["mediaType"].as_str().expect("a media type").to_owned();
    let digest = digest(&bytes);
    Answer::new(200, bytes).with("content-type", media_type).with("docker-content-digest", digest)
}

/// A key of our own.
pub(super) struct Signer(KeyPair);

impl Signer {
    pub(super) fn new() -> Self {
        Signer(KeyPair::generate().expect("a key"))
    }

    pub(super) fn pem(&self) -> String {
        self.0.public_key_pem()
    }

    /// A payload of simple signing and its signature.
    pub(super) fn simple(&self, repository: &str, digest: &str) -> (Vec<u8>, String) {
        let payload = json!({
            "critical": {
                "identity": { "docker-reference": repository },
                "image": { "docker-manifest-digest": digest },
                "type": "cosign container image signature",
            },
            "optional": { "creator": "tests" },
        });
        let payload = payload.to_string().into_bytes();
        let signature = STANDARD.encode(self.0.sign(&payload).expect("a signature"));
        (payload, signature)
    }

    /// A bundle with a statement of this predicate.
    pub(super) fn bundle(&self, digest: &str, predicate: &str) -> Vec<u8> {
        let hex = digest.trim_start_matches("sha256:");
        let statement = json!({
            "_type": "https://in-toto.io/Statement/v1",
            "subject": [{ "digest": { "sha256": hex } }],
            "predicateType": predicate,
            "predicate": {},
        });
        let (kind, payload) = ("application/vnd.in-toto+json", statement.to_string());
        let message = format!("DSSEv1 {} {kind} {} {payload}", kind.len(), payload.len());
        let signature = STANDARD.encode(self.0.sign(message.as_bytes()).expect("a signature"));
        let bundle = json!({
            "mediaType": BUNDLE,
            "verificationMaterial": { "publicKey": { "hint": "" } },
            "dsseEnvelope": {
                "payload": STANDARD.encode(&payload),
                "payloadType": kind,
                "signatures": [{ "sig": signature }],
            },
        });
        bundle.to_string().into_bytes()
    }
}
