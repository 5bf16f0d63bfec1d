//! Container images, built in memory: layers as tar archives, and the OCI image layout that holds
//! them. The same input gives the same bytes: no times, no owners, a fixed order.

#![allow(dead_code, reason = "each test program uses a part")]

use flate2::read::MultiGzDecoder;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Read;
use tar::{EntryType, Header};

/// `sha256:…` of some bytes.
pub(crate) fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold("sha256:".to_owned(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// A layer that is being filled.
pub(crate) struct Layer {
    archive: tar::Builder<Vec<u8>>,
    /// Prefix of every path: none, or `./` as some tools write it.
    prefix: &'static str,
}

impl Layer {
    pub(crate) fn new() -> Self {
        Layer::with_prefix("")
    }

    pub(crate) fn with_prefix(prefix: &'static str) -> Self {
        Layer { archive: tar::Builder::new(Vec::new()), prefix }
    }

    pub(crate) fn folder(&mut self, path: &str) -> &mut Self {
        self.entry(EntryType::Directory, &format!("{path}/"), 0o755, &[])
    }

    pub(crate) fn file(&mut self, path: &str, content: &[u8]) -> &mut Self {
        self.entry(EntryType::Regular, path, 0o644, content)
    }

    pub(crate) fn program(&mut self, path: &str, mode: u32, content: &[u8]) -> &mut Self {
        self.entry(EntryType::Regular, path, mode, content)
    }

    pub(crate) fn symlink(&mut self, path: &str, target: &str) -> &mut Self {
        self.link(EntryType::Symlink, path, target)
    }

    pub(crate) fn hard_link(&mut self, path: &str, target: &str) -> &mut Self {
        self.link(EntryType::Link, path, target)
    }

    pub(crate) fn pipe(&mut self, path: &str) -> &mut Self {
        self.entry(EntryType::Fifo, path, 0o600, &[])
    }

    pub(crate) fn device(&mut self, path: &str, major: u32, minor: u32) -> &mut Self {
        let mut header = header(EntryType::Char, 0o666, 0);
        header.set_device_major(major).expect("a ustar header");
        header.set_device_minor(minor).expect("a ustar header");
        self.append(&mut header, path, &[])
    }

    /// A file whose path is written as it is, with `..` or a leading `/`.
    pub(crate) fn raw(&mut self, path: &str, content: &[u8]) -> &mut Self {
        let mut header = header(EntryType::Regular, 0o644, content.len() as u64);
        header.as_old_mut().name[..path.len()].copy_from_slice(path.as_bytes());
        header.set_cksum();
        self.archive.append(&header, content).expect("an entry");
        self
    }

    /// Deletes what an earlier layer put at `path`.
    pub(crate) fn whiteout(&mut self, path: &str) -> &mut Self {
        let (folder, name) = path.rsplit_once('/').expect("a path in a folder");
        self.file(&format!("{folder}/.wh.{name}"), &[])
    }

    /// Deletes everything that earlier layers put into `folder`.
    pub(crate) fn opaque(&mut self, folder: &str) -> &mut Self {
        self.file(&format!("{folder}/.wh..wh..opq"), &[])
    }

    fn link(&mut self, kind: EntryType, path: &str, target: &str) -> &mut Self {
        let mut header = header(kind, 0o777, 0);
        let path = format!("{}{path}", self.prefix);
        self.archive.append_link(&mut header, path, target).expect("a link");
        self
    }

    fn entry(&mut self, kind: EntryType, path: &str, mode: u32, content: &[u8]) -> &mut Self {
        self.append(&mut header(kind, mode, content.len() as u64), path, content)
    }

    fn append(&mut self, header: &mut Header, path: &str, content: &[u8]) -> &mut Self {
        // Written as bytes: the tar crate would tidy `./` away.
        let path = format!("{}{path}", self.prefix);
        if path.len() > 100 || self.prefix.is_empty() {
            self.archive.append_data(header, path, content).expect("an entry");
        } else {
            header.as_old_mut().name[..path.len()].copy_from_slice(path.as_bytes());
            header.set_cksum();
            self.archive.append(header, content).expect("an entry");
        }
        self
    }

    pub(crate) fn into_tar(self) -> Vec<u8> {
        self.archive.into_inner().expect("an archive in memory")
    }
}

fn header(kind: EntryType, mode: u32, size: u64) -> Header {
    let mut header = Header::new_ustar();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_size(size);
    header.set_mtime(0);
    header.set_uid(0);
    header.set_gid(0);
    header
}

/// Compression of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compression {
    None,
    Gzip,
    Zstd,
}

impl Compression {
    fn media_type(self) -> &'static str {
        match self {
            Compression::None => "application/vnd.oci.image.layer.v1.tar",
            Compression::Gzip => "application/vnd.oci.image.layer.v1.tar+gzip",
            Compression::Zstd => "application/vnd.oci.image.layer.v1.tar+zstd",
        }
    }

    fn compress(self, bytes: &[u8]) -> Vec<u8> {
        match self {
            Compression::None => bytes.to_vec(),
            Compression::Gzip => {
                // Pinned, as in packages: with other bytes, digests in fixtures/ change. The header
                // (RFC 1952) has no name and no time.
                let mut stored = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 2, 255];
                stored.extend(miniz_oxide::deflate::compress_to_vec(bytes, 9));
                let mut crc = flate2::Crc::new();
                crc.update(bytes);
                stored.extend([crc.sum().to_le_bytes(), crc.amount().to_le_bytes()].concat());
                stored
            }
            Compression::Zstd => ruzstd::encoding::compress_to_vec(
                bytes,
                ruzstd::encoding::CompressionLevel::Fastest,
            ),
        }
    }

    fn decompress(self, bytes: &[u8]) -> std::io::Result<Vec<u8>> {
        let mut plain = Vec::new();
        match self {
            Compression::None => plain.extend_from_slice(bytes),
            Compression::Gzip => {
                MultiGzDecoder::new(bytes).read_to_end(&mut plain)?;
            }
            Compression::Zstd => {
                ruzstd::decoding::StreamingDecoder::new(bytes)
                    .map_err(std::io::Error::other)?
                    .read_to_end(&mut plain)?;
            }
        }
        Ok(plain)
    }
}

/// An image for one platform.
pub(crate) struct Image {
    pub(crate) architecture: &'static str,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) layers: Vec<(Compression, Vec<u8>)>,
}

/// An OCI image layout: every file of it by path.
#[derive(Default)]
pub(crate) struct Layout {
    blobs: BTreeMap<String, Vec<u8>>,
    entries: Vec<Value>,
    /// Compressed layers of an earlier build, by compression and digest of the content.
    earlier: BTreeMap<(&'static str, String), Vec<u8>>,
}

impl Layout {
    /// A layout that keeps the compressed bytes of `earlier` wherever the content of a layer is
    /// the same, so that a new release of a compressor changes nothing.
    pub(crate) fn keeping_layers_of(earlier: &BTreeMap<String, Vec<u8>>) -> Self {
        let mut layout = Layout::default();
        for bytes in earlier.values() {
            let compression = match bytes.as_slice() {
                [0x1f, 0x8b, ..] => Compression::Gzip,
                [0x28, 0xb5, 0x2f, 0xfd, ..] => Compression::Zstd,
                _ => continue,
            };
            // A blob that does not decompress is simply made anew.
            if let Ok(plain) = compression.decompress(bytes) {
                let key = (compression.media_type(), digest(&plain));
                layout.earlier.insert(key, bytes.clone());
            }
        }
        layout
    }

    /// Adds an image under a reference.
    pub(crate) fn image(&mut self, reference: &str, image: &Image) {
        let manifest = self.manifest(image);
        self.name(reference, manifest);
    }

    /// Adds an index of images under a reference.
    pub(crate) fn index(&mut self, reference: &str, images: &[Image]) {
        let manifests: Vec<Value> = images
            .iter()
            .map(|image| {
                let mut manifest = self.manifest(image);
                manifest["platform"] = json!({ "architecture": image.architecture, "os": "linux" });
                manifest
            })
            .collect();
        let media_type = "application/vnd.oci.image.index.v1+json";
        let index = json!({
            "schemaVersion": 2,
            "mediaType": media_type,
            "manifests": manifests,
        });
        let index = self.blob(media_type, index.to_string().into_bytes());
        self.name(reference, index);
    }

    /// The files: path in the layout and content.
    pub(crate) fn into_files(self) -> BTreeMap<String, Vec<u8>> {
        let mut files = self.blobs;
        let index = json!({
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.index.v1+json",
            "manifests": self.entries,
        });
        files.insert("index.json".into(), pretty(&index));
        files.insert("oci-layout".into(), pretty(&json!({ "imageLayoutVersion": "1.0.0" })));
        files
    }

    fn name(&mut self, reference: &str, mut descriptor: Value) {
        descriptor["annotations"] = json!({ "org.opencontainers.image.ref.name": reference });
        self.entries.push(descriptor);
    }

    fn manifest(&mut self, image: &Image) -> Value {
        let mut layers = Vec::new();
        let mut diff_ids = Vec::new();
        for (compression, plain) in &image.layers {
            let diff_id = digest(plain);
            let key = (compression.media_type(), diff_id.clone());
            let bytes = match self.earlier.get(&key) {
                Some(bytes) => bytes.clone(),
                None => compression.compress(plain),
            };
            layers.push(self.blob(compression.media_type(), bytes));
            diff_ids.push(diff_id);
        }
        let config = json!({
            "created": "1970-01-01T00:00:00Z",
            "architecture": image.architecture,
            "os": "linux",
            "config": { "Labels": image.labels },
            "rootfs": { "type": "layers", "diff_ids": diff_ids },
        });
        let config = config.to_string().into_bytes();
        let media_type = "application/vnd.oci.image.manifest.v1+json";
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": media_type,
            "config": self.blob("application/vnd.oci.image.config.v1+json", config),
            "layers": layers,
        });
        self.blob(media_type, manifest.to_string().into_bytes())
    }

    /// Stores a blob; its descriptor.
    fn blob(&mut self, media_type: &str, bytes: Vec<u8>) -> Value {
        let digest = digest(&bytes);
        let descriptor = json!({ "mediaType": media_type, "digest": digest, "size": bytes.len() });
        self.blobs.insert(format!("blobs/{}", digest.replace(':', "/")), bytes);
        descriptor
    }
}

fn pretty(value: &Value) -> Vec<u8> {
    format!("{value:#}\n").into_bytes()
}
