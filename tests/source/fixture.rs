//! Builds bundles, layers, layouts and tars, also those that no honest tool would build.

use bundle2chart::config::{Mirror, MirrorTarget, Source};
use bundle2chart::diag::{Code, Diagnostic, Diagnostics, Severity, SourceText, Span};
use bundle2chart::source::{self, BundleFiles, Limits};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256, Sha512};
use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tar::{EntryType, Header};
use tempfile::TempDir;

pub(crate) const GZIP_LAYER: &str = "application/vnd.oci.image.layer.v1.tar+gzip";
pub(crate) const ZSTD_LAYER: &str = "application/vnd.oci.image.layer.v1.tar+zstd";
pub(crate) const PLAIN_LAYER: &str = "application/vnd.oci.image.layer.v1.tar";
pub(crate) const OCI_MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
pub(crate) const OCI_INDEX: &str = "application/vnd.oci.image.index.v1+json";
pub(crate) const OCI_CONFIG: &str = "application/vnd.oci.image.config.v1+json";
pub(crate) const MANIFESTS_LABEL: &str = "operators.operatorframework.io.bundle.manifests.v1";
pub(crate) const METADATA_LABEL: &str = "operators.operatorframework.io.bundle.metadata.v1";

pub(crate) type Outcome = Result<(BundleFiles, Diagnostics), Diagnostics>;

/// A tar that is written entry by entry, with any bytes as names.
#[derive(Clone, Default)]
pub(crate) struct Tar {
    bytes: Vec<u8>,
}

impl Tar {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// An entry with a header of exactly these fields; names are at most 100 bytes.
    pub(crate) fn raw(mut self, kind: EntryType, name: &[u8], link: &[u8], content: &[u8]) -> Self {
        self.header(kind, name, link, content.len() as u64);
        self.bytes.extend_from_slice(content);
        self.pad();
        self
    }

    /// A header that announces `size` bytes, without any.
    pub(crate) fn header(&mut self, kind: EntryType, name: &[u8], link: &[u8], size: u64) {
        let mut header = Header::new_gnu();
        header.set_entry_type(kind);
        header.set_size(size);
        header.set_mode(0o644);
        let old = header.as_old_mut();
        old.name[..name.len()].copy_from_slice(name);
        old.linkname[..link.len()].copy_from_slice(link);
        header.set_cksum();
        self.bytes.extend_from_slice(header.as_bytes());
    }

    fn pad(&mut self) {
        let full = self.bytes.len().next_multiple_of(512);
        self.bytes.resize(full, 0);
    }

    pub(crate) fn file(self, name: &str, content: impl AsRef<[u8]>) -> Self {
        self.raw(EntryType::Regular, name.as_bytes(), b"", content.as_ref())
    }

    pub(crate) fn folder(self, name: &str) -> Self {
        self.raw(EntryType::Directory, name.as_bytes(), b"", b"")
    }

    pub(crate) fn symlink(self, name: &str, target: &str) -> Self {
        self.raw(EntryType::Symlink, name.as_bytes(), target.as_bytes(), b"")
    }

    pub(crate) fn hard_link(self, name: &str, target: &str) -> Self {
        self.raw(EntryType::Link, name.as_bytes(), target.as_bytes(), b"")
    }

    pub(crate) fn special(self, kind: EntryType, name: &str) -> Self {
        self.raw(kind, name.as_bytes(), b"", b"")
    }

    /// A file in the sparse format of old GNU tar, which claims to be `size` (octal) bytes long and
    /// has none.
    pub(crate) fn sparse(mut self, name: &str, size: &[u8; 11]) -> Self {
        let mut header = Header::new_gnu();
        header.set_entry_type(EntryType::GNUSparse);
        header.set_path(name).unwrap();
        header.set_size(0);
        let gnu = header.as_gnu_mut().unwrap();
        gnu.realsize[..11].copy_from_slice(size);
        // A block of no bytes at the end of the hole.
        gnu.sparse[0].offset[..11].copy_from_slice(size);
        gnu.sparse[0].numbytes[..11].copy_from_slice(b"00000000000");
        header.set_cksum();
        self.bytes.extend_from_slice(header.as_bytes());
        self
    }

    /// The entries with the two blocks of zeros at the end.
    pub(crate) fn end(mut self) -> Vec<u8> {
        self.bytes.resize(self.bytes.len() + 1024, 0);
        self.bytes
    }

    /// The entries without an end.
    pub(crate) fn cut(self) -> Vec<u8> {
        self.bytes
    }
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// A gzip stream of `before`, `zeros` zeros and `after`.
pub(crate) fn gzip_bomb(before: &[u8], zeros: u64, after: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(before).unwrap();
    std::io::copy(&mut std::io::Read::take(std::io::repeat(0), zeros), &mut encoder).unwrap();
    encoder.write_all(after).unwrap();
    encoder.finish().unwrap()
}

pub(crate) fn zstd(bytes: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
}

pub(crate) fn sha256(bytes: &[u8]) -> String {
    hex("sha256", &Sha256::digest(bytes))
}

pub(crate) fn sha512(bytes: &[u8]) -> String {
    hex("sha512", &Sha512::digest(bytes))
}

fn hex(algorithm: &str, bytes: &[u8]) -> String {
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{algorithm}:{digits}")
}

/// The usual annotations.yaml.
pub(crate) fn annotations(manifests: &str, metadata: &str) -> String {
    format!("annotations:\n  {MANIFESTS_LABEL}: {manifests}\n  {METADATA_LABEL}: {metadata}\n")
}

/// A tar with the files of a small bundle.
pub(crate) fn bundle_tar() -> Tar {
    Tar::new()
        .folder("manifests/")
        .file("manifests/csv.yaml", "kind: ClusterServiceVersion\n")
        .folder("metadata/")
        .file("metadata/annotations.yaml", annotations("manifests/", "metadata/"))
}

/// An image to put into a layout.
pub(crate) struct Image {
    pub(crate) layers: Vec<(Vec<u8>, String)>,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) diff_ids: Option<Vec<String>>,
    pub(crate) manifest_type: String,
    pub(crate) config_type: String,
    pub(crate) sha512: bool,
}

impl Image {
    /// An image of gzip layers with the usual labels.
    pub(crate) fn of(layers: impl IntoIterator<Item = Vec<u8>>) -> Self {
        Image {
            layers: layers.into_iter().map(|tar| (gzip(&tar), GZIP_LAYER.to_owned())).collect(),
            labels: [(MANIFESTS_LABEL, "manifests/"), (METADATA_LABEL, "metadata/")]
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .into(),
            diff_ids: None,
            manifest_type: OCI_MANIFEST.to_owned(),
            config_type: OCI_CONFIG.to_owned(),
            sha512: false,
        }
    }

    /// An image of one layer as stored.
    pub(crate) fn stored(layer: Vec<u8>, media_type: &str) -> Self {
        let mut image = Image::of([]);
        image.layers.push((layer, media_type.to_owned()));
        image
    }

    pub(crate) fn label(mut self, key: &str, value: &str) -> Self {
        self.labels.insert(key.to_owned(), value.to_owned());
        self
    }

    pub(crate) fn no_labels(mut self) -> Self {
        self.labels.clear();
        self
    }
}

/// A layout in a temporary folder.
pub(crate) struct LayoutDir {
    pub(crate) dir: TempDir,
    pub(crate) entries: Vec<Value>,
}

impl LayoutDir {
    pub(crate) fn new() -> Self {
        let dir = TempDir::new().unwrap();
        std::fs::create_dir_all(dir.path().join("blobs/sha256")).unwrap();
        std::fs::write(dir.path().join("oci-layout"), r#"{"imageLayoutVersion":"1.0.0"}"#).unwrap();
        let mut layout = LayoutDir { dir, entries: Vec::new() };
        layout.write_index();
        layout
    }

    /// A layout with one image without a name.
    pub(crate) fn with(image: &Image) -> Self {
        let mut layout = LayoutDir::new();
        layout.add(image, None);
        layout
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn blob_path(&self, digest: &str) -> PathBuf {
        let (algorithm, hex) = digest.split_once(':').unwrap();
        self.path().join("blobs").join(algorithm).join(hex)
    }

    /// Changes a byte of every blob.
    pub(crate) fn damage_blobs(&mut self) {
        for entry in std::fs::read_dir(self.path().join("blobs/sha256")).unwrap() {
            let path = entry.unwrap().path();
            let mut bytes = std::fs::read(&path).unwrap();
            bytes[0] ^= 1;
            std::fs::write(path, bytes).unwrap();
        }
    }

    pub(crate) fn blob(&mut self, bytes: &[u8], sha_512: bool) -> (String, usize) {
        let digest = if sha_512 { sha512(bytes) } else { sha256(bytes) };
        let path = self.blob_path(&digest);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
        (digest, bytes.len())
    }

    pub(crate) fn json_blob(&mut self, value: &Value, media_type: &str) -> Value {
        let (digest, size) = self.blob(value.to_string().as_bytes(), false);
        json!({ "mediaType": media_type, "digest": digest, "size": size })
    }

    /// Stores an image; its manifest's descriptor.
    pub(crate) fn store(&mut self, image: &Image) -> Value {
        let layers: Vec<Value> = image
            .layers
            .iter()
            .map(|(bytes, media_type)| {
                let (digest, size) = self.blob(bytes, image.sha512);
                json!({ "mediaType": media_type, "digest": digest, "size": size })
            })
            .collect();
        self.store_manifest(image, layers)
    }

    pub(crate) fn store_manifest(&mut self, image: &Image, layers: Vec<Value>) -> Value {
        let mut config =
            json!({ "architecture": "amd64", "os": "linux", "config": { "Labels": image.labels } });
        if let Some(diff_ids) = &image.diff_ids {
            config["rootfs"] = json!({ "type": "layers", "diff_ids": diff_ids });
        }
        let config = self.json_blob(&config, &image.config_type);
        let manifest = json!({
            "schemaVersion": 2, "mediaType": image.manifest_type, "config": config, "layers": layers,
        });
        self.json_blob(&manifest, &image.manifest_type)
    }

    /// Adds an image to the index, under a name if one is given.
    pub(crate) fn add(&mut self, image: &Image, name: Option<&str>) -> Value {
        let descriptor = self.store(image);
        self.list(descriptor.clone(), name);
        descriptor
    }

    pub(crate) fn list(&mut self, mut descriptor: Value, name: Option<&str>) {
        if let Some(name) = name {
            descriptor["annotations"] = json!({ "org.opencontainers.image.ref.name": name });
        }
        self.entries.push(descriptor);
        self.write_index();
    }

    pub(crate) fn write_index(&mut self) {
        let index =
            json!({ "schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": self.entries });
        std::fs::write(self.path().join("index.json"), index.to_string()).unwrap();
    }

    /// The digest of the only layer of the only image.
    pub(crate) fn layer_digest(&self) -> String {
        let read = |digest: &Value| -> Value {
            let bytes = std::fs::read(self.blob_path(digest.as_str().unwrap())).unwrap();
            serde_json::from_slice(&bytes).unwrap()
        };
        let manifest = read(&self.entries[0]["digest"]);
        manifest["layers"][0]["digest"].as_str().unwrap().to_owned()
    }

    /// Reads the bundle in it.
    pub(crate) fn read(&self) -> Outcome {
        read_path(self.path(), &Limits::default())
    }

    pub(crate) fn read_suffix(&self, suffix: &str) -> Outcome {
        fetch_path(&format!("{}{suffix}", self.path().display()), Path::new(""), &Limits::default())
    }

    /// The same layout as a tar; blobs before the index with `late_index`.
    pub(crate) fn tar(&self, prefix: &str, late_index: bool) -> Vec<u8> {
        let mut names = Vec::new();
        for entry in walkdir::WalkDir::new(self.path()).sort_by_file_name() {
            let entry = entry.unwrap();
            if entry.file_type().is_file() {
                names.push(entry.path().strip_prefix(self.path()).unwrap().to_owned());
            }
        }
        if !late_index {
            names.reverse();
        }
        let mut tar = Tar::new();
        for name in names {
            let content = std::fs::read(self.path().join(&name)).unwrap();
            tar = tar.file(&format!("{prefix}{}", name.display()), content);
        }
        tar.end()
    }
}

pub(crate) fn span() -> Span {
    let text = Arc::new(SourceText { name: "bundles.toml".into(), text: "source".into() });
    Span::new(&text, 0..6)
}

/// Reads a source; there are files exactly when there is no error.
fn fetch(source: &Source, base: &Path, mirrors: &[Mirror], limits: &Limits) -> Outcome {
    let mut findings = Diagnostics::new();
    let files = source::fetch(source, base, mirrors, limits, &mut findings);
    assert_eq!(files.is_none(), findings.has_errors(), "{findings:#?}");
    match files {
        Some(files) => Ok((files, findings)),
        None => Err(findings),
    }
}

pub(crate) fn fetch_path(path: &str, base: &Path, limits: &Limits) -> Outcome {
    let source = Source::Path { path: path.to_owned(), span: span() };
    fetch(&source, base, &[], limits)
}

pub(crate) fn read_path(path: &Path, limits: &Limits) -> Outcome {
    fetch_path(path.to_str().unwrap(), Path::new(""), limits)
}

/// Reads a reference with mirrors `(from, to)`.
pub(crate) fn fetch_image(reference: &str, mirrors: &[(&str, &Path)]) -> Outcome {
    fetch_mirrored(reference, mirrors, false)
}

/// The same with mirrors that fall back or not.
pub(crate) fn fetch_mirrored(
    reference: &str,
    mirrors: &[(&str, &Path)],
    fallback: bool,
) -> Outcome {
    let list: Vec<Mirror> = mirrors
        .iter()
        .map(|(from, to)| Mirror {
            from: (*from).to_owned(),
            to: MirrorTarget::Layout(to.to_path_buf()),
            fallback,
            span: span(),
        })
        .collect();
    let source = Source::Image { reference: reference.to_owned(), span: span() };
    fetch(&source, Path::new(""), &list, &Limits::default())
}

/// Reads a file that holds these bytes.
pub(crate) fn read_bytes(bytes: &[u8]) -> Outcome {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("file");
    std::fs::write(&path, bytes).unwrap();
    read_path(&path, &Limits::default())
}

/// Reads an image of these layers, gzipped, with the usual labels.
pub(crate) fn read_layers(layers: impl IntoIterator<Item = Vec<u8>>) -> Outcome {
    LayoutDir::with(&Image::of(layers)).read()
}

/// The manifests of a bundle that must be readable without any finding.
#[track_caller]
pub(crate) fn manifests(outcome: Outcome) -> BTreeMap<String, String> {
    let (files, findings) = outcome.unwrap_or_else(|errors| panic!("{errors:#?}"));
    assert!(findings.is_empty(), "{findings:#?}");
    text(files.manifests)
}

pub(crate) fn text(files: BTreeMap<String, Vec<u8>>) -> BTreeMap<String, String> {
    files.into_iter().map(|(name, content)| (name, String::from_utf8(content).unwrap())).collect()
}

/// Expected files.
pub(crate) fn files(list: &[(&str, &str)]) -> BTreeMap<String, String> {
    list.iter().map(|(name, content)| ((*name).to_owned(), (*content).to_owned())).collect()
}

/// The only error of an outcome; it has the code, a place, and every one of the words.
#[track_caller]
pub(crate) fn assert_error(outcome: &Outcome, code: Code, words: &[&str]) -> Diagnostic {
    let errors = outcome.as_ref().expect_err("it was read");
    assert_eq!(errors.count(Severity::Error), 1, "{errors:#?}");
    let error = errors.iter().find(|found| found.severity == Severity::Error).unwrap();
    assert_eq!(error.code, code, "{error:#?}");
    for word in words {
        let hint = error.hint.clone().unwrap_or_default();
        let text = format!("{} | {hint}", error.message);
        assert!(text.contains(word), "no {word:?} in {text}");
    }
    assert!(error.place.span.is_some() || error.place.file.is_some(), "{error:#?}");
    assert!(!error.message.contains('\n'), "{error:#?}");
    error.clone()
}
