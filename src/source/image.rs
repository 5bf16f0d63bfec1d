//! An image: from the descriptor of its manifest or index to the files of the bundle in it.

use super::archive::{Expanded, Meter, TarEntry, show, walk};
use super::compression::Compression;
use super::digest::{CheckedBlob, Hasher};
use super::limits::{Limits, in_bytes, is_exceeded};
use super::signature::Attachment;
use super::tree::Tree;
use super::{BundleFiles, ImageIdentity, failure, folders};
use crate::diag::{Code, Diagnostic, Diagnostics, Fatal};
use oci_spec::image::{Descriptor, Digest, ImageIndex, ImageManifest, MediaType};
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use std::collections::BTreeMap;
use std::io::{self, Read};
use std::rc::Rc;

/// A source of blobs. It is not trusted: size and digest are checked here.
pub(super) trait Blobs {
    /// Returns the limits for what is read from it.
    fn limits(&self) -> &Limits;

    /// Opens a blob; `None` when there is none of this digest.
    fn open(&self, descriptor: &Descriptor) -> Result<Option<Box<dyn Read>>, Fatal>;

    /// Announces the blobs that will be opened, so that they can be fetched in parallel.
    fn prepare(&self, _descriptors: &[Descriptor]) -> Result<(), Fatal> {
        Ok(())
    }

    /// Returns the descriptor of the manifest or index with this digest; `None` when there is none.
    fn find(&self, _digest: &Digest) -> Result<Option<Descriptor>, Fatal> {
        Ok(None)
    }

    /// Returns the manifests that are attached to the image `of` as its signatures.
    fn signatures(&self, _of: &Digest, _attachment: Attachment) -> Result<Vec<Descriptor>, Fatal> {
        Ok(Vec::new())
    }
}

const OCI_INDEX: &str = "application/vnd.oci.image.index.v1+json";
const OCI_MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const OCI_CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const DOCKER_INDEX: &str = "application/vnd.docker.distribution.manifest.list.v2+json";
const DOCKER_MANIFEST: &str = "application/vnd.docker.distribution.manifest.v2+json";
const DOCKER_CONFIG: &str = "application/vnd.docker.container.image.v1+json";

/// Media types of manifests and indexes.
pub(super) const MANIFEST_TYPES: [&str; 4] =
    [OCI_INDEX, OCI_MANIFEST, DOCKER_INDEX, DOCKER_MANIFEST];

/// Indexes inside indexes that are followed; one level is usual.
const DEEPEST_INDEX: usize = 8;

/// Returns true for descriptors of manifests and indexes, which registries store separately from
/// blobs.
pub(super) fn is_manifest(descriptor: &Descriptor) -> bool {
    MANIFEST_TYPES.contains(&descriptor.media_type().as_ref())
}

/// Returns the compression of a layer media type; `None` if it is not a layer.
fn layer_compression(media_type: &str) -> Option<Compression> {
    let suffix = [
        "application/vnd.oci.image.layer.v1.tar",
        "application/vnd.oci.image.layer.nondistributable.v1.tar",
        "application/vnd.docker.image.rootfs.diff.tar",
        "application/vnd.docker.image.rootfs.foreign.diff.tar",
    ]
    .iter()
    .find_map(|stem| media_type.strip_prefix(stem))?;
    match suffix {
        // OCI appends the compression with `+`, Docker with `.`; builders write zstd in both ways.
        "" => Some(Compression::None),
        "+gzip" | ".gzip" => Some(Compression::Gzip),
        "+zstd" | ".zstd" => Some(Compression::Zstd),
        _ => None,
    }
}

/// Reads the bundle in the image that `root` describes; `root` may describe an index.
pub(super) fn read(
    blobs: &dyn Blobs,
    root: &Descriptor,
    diagnostics: &mut Diagnostics,
) -> Result<BundleFiles, Fatal> {
    let opened = open(blobs, root, diagnostics)?;
    let limits = blobs.limits();
    let unpacked = |folders, found: &mut Diagnostics| {
        let mut tree = Tree::new(folders, limits);
        // One for all layers: ten bombs of a tenth of the limit are a bomb.
        let meter = Meter::new(limits);
        for layer in &opened.layers {
            tree.begin_layer();
            let visit = &mut |entry: &mut TarEntry<'_>| tree.apply_layer_entry(entry);
            opened.walk_layer(layer, &meter, visit, found)?;
        }
        Ok(tree)
    };

    let files = folders::bundle(&opened.labels, unpacked, diagnostics)?;
    Ok(BundleFiles { image: Some(opened.identity(root)), ..files })
}

/// An image of one platform: the descriptors of its manifest and of its configuration, its layers
/// in order and its labels.
pub(super) struct Opened<'b> {
    pub(super) blobs: &'b dyn Blobs,
    pub(super) descriptor: Descriptor,
    pub(super) layers: Vec<Layer>,
    config: Descriptor,
    pub(super) labels: BTreeMap<String, String>,
}

impl Opened<'_> {
    /// Returns the identity of the image found at `root`.
    pub(super) fn identity(&self, root: &Descriptor) -> ImageIdentity {
        let Opened { descriptor, layers, config, .. } = self;
        let is_index = descriptor.digest() != root.digest();
        let of = |blob: &Descriptor| (blob.digest().to_string(), blob.size());
        ImageIdentity {
            digest: descriptor.digest().to_string(),
            size: descriptor.size(),
            index: is_index.then(|| root.digest().to_string()),
            platform: descriptor
                .platform()
                .as_ref()
                .map(|platform| format!("{}/{}", platform.os(), platform.architecture())),
            config: of(config),
            layers: layers.iter().map(|layer| of(&layer.descriptor)).collect(),
            signature: None,
        }
    }

    /// Visits the entries of a layer, checked; what was made of them is of no use after an error.
    pub(super) fn walk_layer(
        &self,
        layer: &Layer,
        meter: &Rc<Meter>,
        visit: &mut dyn FnMut(&mut TarEntry<'_>) -> io::Result<()>,
        diagnostics: &mut Diagnostics,
    ) -> Result<(), Fatal> {
        let stored = self.blobs.open(&layer.descriptor)?.ok_or_else(|| missing(&layer.name))?;
        let mut stored =
            CheckedBlob::new(stored, layer.descriptor.digest(), layer.descriptor.size())?;
        // Of the content as unpacked; the descriptor has the digest of what is stored.
        let hasher = layer.diff_id.as_ref().map(Hasher::like).transpose()?;
        let stream = Expanded::new(&mut stored, meter, hasher);
        let mut stream = stream.map_err(|error| broken(&layer.name, &error))?;
        let compression = stream.compression();
        let outcome = walk(&mut stream, visit);
        let diff_id = stream.digest();
        // A layer over the limit is not read to its end, so its digest is unknown.
        if let Err(error) = &outcome
            && is_exceeded(error)
        {
            return Err(too_much(format!("{}: {error}", layer.name)));
        }
        // A blob that does not match its descriptor explains why it cannot be unpacked.
        check(stored, &layer.name)?;
        outcome.map_err(|error| broken(&layer.name, &error))?;
        if let (Some(expected), Some(found)) = (&layer.diff_id, diff_id)
            && *expected != found
        {
            let name = &layer.name;
            let message = format!(
                "{name}: content digest {found} does not match {expected} in the image \
                    configuration"
            );
            return Err(failure(Code::BlobMismatch, message, "build or copy the image again"));
        }
        if compression != layer.compression {
            let (found, stated) = (compression.as_str(), layer.descriptor.media_type());
            let message =
                format!("{}: it is {found}, but its media type is `{stated}`", layer.name);
            let hint = "build the image again: other tools may reject this layer";
            diagnostics.push(Diagnostic::warning(Code::LayerType, message).hint(hint));
        }
        Ok(())
    }
}

/// Reads manifest and configuration of the image that `root` describes; `root` may describe an
/// index.
pub(super) fn open<'b>(
    blobs: &'b dyn Blobs,
    root: &Descriptor,
    diagnostics: &mut Diagnostics,
) -> Result<Opened<'b>, Fatal> {
    let (descriptor, manifest) = resolve(blobs, root)?;
    let mut layers = layers(&manifest, blobs.limits(), diagnostics)?;
    let mut needed: Vec<Descriptor> = layers.iter().map(|layer| layer.descriptor.clone()).collect();
    // With the layers, so that all are downloaded in parallel, although its labels are read first.
    needed.push(manifest.config().clone());
    blobs.prepare(&needed)?;
    let config = read_config(blobs, manifest.config())?;
    let labels = config.config.unwrap_or_default().labels.unwrap_or_default();
    let diff_ids = config.rootfs.unwrap_or_default().diff_ids.unwrap_or_default();

    // Images that are artifacts have no list; those with one must have it for all layers.
    if !diff_ids.is_empty() {
        if diff_ids.len() != layers.len() {
            let message = format!(
                "the image configuration {} lists {} layers, but the manifest {} lists {}",
                manifest.config().digest(),
                diff_ids.len(),
                descriptor.digest(),
                layers.len()
            );
            return Err(rebuilt(message));
        }
        for (layer, diff_id) in layers.iter_mut().zip(diff_ids) {
            layer.diff_id = Some(diff_id);
        }
    }

    Ok(Opened { blobs, descriptor, layers, config: manifest.config().clone(), labels })
}

/// Follows indexes to the manifest of one image.
pub(super) fn resolve(
    blobs: &dyn Blobs,
    root: &Descriptor,
) -> Result<(Descriptor, ImageManifest), Fatal> {
    let mut descriptor = root.clone();
    // Indexes may nest, and each level costs a request.
    for _ in 0..DEEPEST_INDEX {
        match read_document(blobs, &descriptor)? {
            Document::Manifest(manifest) => return Ok((descriptor, *manifest)),
            Document::Index(index) => {
                let Some(chosen) = choose_platform(index.manifests()) else {
                    return Err(rebuilt(format!("the index {} is empty", descriptor.digest())));
                };
                descriptor = chosen.clone();
            }
        }
    }
    let message = format!("the index {} nests more than {DEEPEST_INDEX} levels", root.digest());
    Err(rebuilt(message))
}

/// Returns the entry for linux/amd64, else the first that is an image: a bundle has no programs, so
/// any platform's will do.
pub(super) fn choose_platform(entries: &[Descriptor]) -> Option<&Descriptor> {
    let is = |entry: &&Descriptor, os: &str, architecture: &str| {
        entry.platform().as_ref().is_some_and(|platform| {
            platform.os().to_string() == os && platform.architecture().to_string() == architecture
        })
    };
    entries
        .iter()
        .find(|entry| is(entry, "linux", "amd64"))
        // Build attestations are entries of the index under this platform.
        .or_else(|| entries.iter().find(|entry| !is(entry, "unknown", "unknown")))
        // An index of attestations is not empty: that its blobs are no layers is the better error.
        .or(entries.first())
}

/// A manifest or an index.
pub(super) enum Document {
    Index(Box<ImageIndex>),
    Manifest(Box<ImageManifest>),
}

/// The self-described type of a document.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Outline {
    media_type: Option<String>,
    manifests: Option<IgnoredAny>,
    layers: Option<IgnoredAny>,
}

/// Returns the media type of a document: from the Content-Type header, or from the document.
pub(super) fn media_type_of(content_type: Option<&str>, bytes: &[u8]) -> Option<MediaType> {
    let known = |text: &str| MANIFEST_TYPES.contains(&text);
    let content_type = content_type.map(|t| t.split(';').next().unwrap_or_default().trim());
    // Some registries answer with text/plain or application/json; then the document says what it
    // is.
    if let Some(stated) = content_type.filter(|stated| known(stated)) {
        return Some(MediaType::from(stated));
    }
    let outline: Outline = serde_json::from_slice(bytes).ok()?;
    match (outline.media_type, outline.manifests, outline.layers) {
        (Some(stated), _, _) => known(&stated).then(|| MediaType::from(stated.as_str())),
        // OCI documents need not state their type (image specification, `mediaType`).
        (None, Some(_), None) => Some(MediaType::ImageIndex),
        (None, None, Some(_)) => Some(MediaType::ImageManifest),
        _ => None,
    }
}

/// Reads a manifest or an index.
pub(super) fn read_document(blobs: &dyn Blobs, descriptor: &Descriptor) -> Result<Document, Fatal> {
    let media_type = descriptor.media_type().as_ref();
    let is_index = match media_type {
        OCI_INDEX | DOCKER_INDEX => true,
        OCI_MANIFEST | DOCKER_MANIFEST => false,
        other => return Err(unknown_media_type(descriptor.digest(), other)),
    };
    let bytes = read_small(blobs, descriptor)?;
    let outline: Outline = parse(&bytes, descriptor.digest().as_ref())?;
    // A document that reads as both means one thing to one program and another to the next.
    // Other clients refuse it since CVE-2021-41190 as well.
    if outline.media_type.is_some_and(|stated| stated != media_type)
        || (outline.manifests.is_some() && outline.layers.is_some())
    {
        let message = format!(
            "the blob {} has media type `{media_type}` in its descriptor, but contains another one",
            descriptor.digest()
        );
        return Err(rebuilt(message));
    }
    Ok(if is_index {
        Document::Index(Box::new(parse(&bytes, descriptor.digest().as_ref())?))
    } else {
        Document::Manifest(Box::new(parse(&bytes, descriptor.digest().as_ref())?))
    })
}

/// The parts of an image's configuration that matter here.
#[derive(Default, Deserialize)]
struct Config {
    config: Option<RunConfig>,
    rootfs: Option<RootFs>,
}

#[derive(Default, Deserialize)]
struct RunConfig {
    #[serde(rename = "Labels")]
    labels: Option<BTreeMap<String, String>>,
}

#[derive(Default, Deserialize)]
struct RootFs {
    diff_ids: Option<Vec<Digest>>,
}

fn read_config(blobs: &dyn Blobs, descriptor: &Descriptor) -> Result<Config, Fatal> {
    // Artifacts keep something else in this place; their layers decide whether they are read.
    if !matches!(descriptor.media_type().as_ref(), OCI_CONFIG | DOCKER_CONFIG) {
        return Ok(Config::default());
    }
    let bytes = read_small(blobs, descriptor)?;
    parse(&bytes, descriptor.digest().as_ref())
}

/// Parses JSON; `name` is for messages.
pub(super) fn parse<T: DeserializeOwned>(bytes: &[u8], name: &str) -> Result<T, Fatal> {
    serde_json::from_slice(bytes).map_err(|error| {
        let why: String = show(error.to_string().as_bytes()).chars().take(300).collect();
        rebuilt(format!("`{name}` is not valid JSON of its type: {why}"))
    })
}

/// Reads a blob that is a document, checked, into memory.
pub(super) fn read_small(blobs: &dyn Blobs, descriptor: &Descriptor) -> Result<Vec<u8>, Fatal> {
    let name = format!("the blob {}", descriptor.digest());
    let limit = blobs.limits().document_bytes;
    if descriptor.size() > limit {
        let limit = in_bytes(limit);
        let message = format!("{name} has {}; the limit is {limit}", in_bytes(descriptor.size()));
        return Err(too_much(message));
    }
    // Nothing of an unverified document is used, so it is read completely before it is parsed.
    let mut bytes = Vec::new();
    copy(blobs, descriptor, &mut bytes)?;
    Ok(bytes)
}

/// Copies a blob, checked.
pub(super) fn copy(
    blobs: &dyn Blobs,
    descriptor: &Descriptor,
    to: &mut dyn io::Write,
) -> Result<(), Fatal> {
    let name = format!("the blob {}", descriptor.digest());
    let reader = blobs.open(descriptor)?.ok_or_else(|| missing(&name))?;
    let mut checked = CheckedBlob::new(reader, descriptor.digest(), descriptor.size())?;
    // The check reports blobs that are too long.
    let outcome = io::copy(&mut checked, to);
    check(checked, &name)?;
    outcome.map_err(|error| broken(&name, &error)).map(|_| ())
}

/// A layer to unpack.
pub(super) struct Layer {
    descriptor: Descriptor,
    compression: Compression,
    diff_id: Option<Digest>,
    /// The name in messages.
    name: String,
}

/// Returns the layers of a manifest, all of media types that are understood.
fn layers(
    manifest: &ImageManifest,
    limits: &Limits,
    diagnostics: &mut Diagnostics,
) -> Result<Vec<Layer>, Fatal> {
    // Each layer costs a request, and a hash of all of its bytes.
    let count = manifest.layers().len();
    if count > limits.layers {
        let message = format!("the image has {count} layers; the limit is {}", limits.layers);
        return Err(too_much(message));
    }

    let mut problems = Vec::new();
    let mut layers = Vec::new();
    let mut size = 0_u64;
    for (index, descriptor) in manifest.layers().iter().enumerate() {
        let media_type = descriptor.media_type().as_ref();
        // Reported for all layers together.
        let Some(compression) = layer_compression(media_type) else {
            problems.push(*unknown_media_type(descriptor.digest(), media_type));
            continue;
        };
        // The sizes are not trusted: a sum that wraps around would be below the limit.
        size = size.saturating_add(descriptor.size());
        let name = format!("layer {} of {count} ({})", index + 1, descriptor.digest());
        layers.push(Layer { descriptor: descriptor.clone(), compression, diff_id: None, name });
    }

    // Sizes are those of the manifest, so that a too large image is rejected before its layers are
    // read.
    if size > limits.stored_bytes {
        let limit = in_bytes(limits.stored_bytes);
        let message =
            format!("the layers of the image have {}; the limit is {limit}", in_bytes(size));
        problems.push(*too_much(message));
    }

    diagnostics.fail_with(problems)?;
    Ok(layers)
}

/// Reads a blob to its end and compares it with its descriptor.
fn check<R: Read>(blob: CheckedBlob<R>, name: &str) -> Result<(), Fatal> {
    blob.finish().map_err(|error| broken(name, &error))?.map_err(|difference| {
        let hint = "copy the image again: the blob is corrupt, truncated or a different one";
        failure(Code::BlobMismatch, format!("{name} {difference}"), hint)
    })
}

fn missing(name: &str) -> Fatal {
    let message = format!("{name} is missing");
    failure(Code::MissingBlob, message, "copy the image again: the copy is incomplete")
}

fn unknown_media_type(digest: &Digest, media_type: &str) -> Fatal {
    let media_type = media_type.escape_debug();
    failure(
        Code::UnknownMediaType,
        format!("blob {digest} has media type `{media_type}`, which bundle images do not use"),
        "use a bundle image, not a Helm chart or another artifact: it has an OCI or Docker (schema 2) \
            manifest and tar layers, uncompressed or compressed with gzip or zstd",
    )
}

fn rebuilt(message: String) -> Fatal {
    failure(Code::InvalidLayout, message, "build or copy the image again")
}

fn too_much(message: String) -> Fatal {
    let hint = "check that this is a bundle image: no real bundle is as large";
    failure(Code::SourceLimit, message, hint)
}

/// Returns an error of reading or unpacking `name`, or of a limit passed on the way.
pub(super) fn broken(name: &str, error: &io::Error) -> Fatal {
    if is_exceeded(error) {
        return too_much(format!("{name}: {error}"));
    }
    // Parser errors quote the input, which must be escaped.
    let quoted: String = show(error.to_string().as_bytes()).chars().take(300).collect();
    let why = match error.kind() {
        io::ErrorKind::UnexpectedEof => format!("unexpected end of file ({quoted})"),
        _ => quoted,
    };
    let hint = "build or copy it again: the file is corrupt or has the wrong media type";
    failure(Code::BrokenArchive, format!("cannot unpack {name}: {why}"), hint)
}
