//! Docker archives: what `docker save` wrote before Docker 25, and `skopeo copy` still writes.
//!
//! `manifest.json` names the configuration and the layers of each image as files of the tar. There
//! is no manifest with digests, so the configuration's digests of the layers take its place.
//! <https://github.com/moby/docker-image-spec>

use super::digest::descriptor_of;
use super::image::{self, Blobs, parse};
use super::layout::Wanted;
use super::limits::{Limits, in_bytes, read_at_most};
use super::tarball::Tarball;
use super::{BundleFiles, failure};
use crate::diag::{Code, Diagnostics, Fatal};
use oci_spec::image::{Descriptor, Digest, MediaType};
use serde::Deserialize;
use serde_json::json;
use std::collections::BTreeMap;
use std::io::{Cursor, Read};

/// An image of `manifest.json`.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct SavedImage {
    config: String,
    repo_tags: Option<Vec<String>>,
    layers: Option<Vec<String>>,
}

/// Reads the bundle in an image of an archive.
pub(super) fn read(
    archive: &Tarball,
    wanted: &Wanted,
    diagnostics: &mut Diagnostics,
) -> Result<BundleFiles, Fatal> {
    let text = document(archive, "manifest.json")?;
    let entries: Vec<SavedImage> = parse(&text, &format!("{}/manifest.json", archive.shown))?;
    let entry = find(&entries, wanted, &archive.shown)?;
    let (blobs, root) = image_of(archive, entry)?;
    let files = image::read(&blobs, &root, diagnostics)?;
    // The digest of a generated manifest identifies nothing.
    Ok(BundleFiles { image: None, ..files })
}

fn find<'e>(
    entries: &'e [SavedImage],
    wanted: &Wanted,
    shown: &str,
) -> Result<&'e SavedImage, Fatal> {
    let fits = |entry: &&SavedImage| {
        let tags: Vec<&str> = entry.repo_tags.iter().flatten().map(String::as_str).collect();
        // The digest of the configuration is what Docker shows as the image ID.
        let is = |digest: &Digest| config_of(entry) == digest.digest();
        wanted.choices.iter().any(|choice| choice.fits(&tags, is))
    };

    let found: Vec<&SavedImage> = entries.iter().filter(fits).collect();
    let names = entries.iter().flat_map(|entry| entry.repo_tags.iter().flatten());
    let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    let has = match names.as_slice() {
        [] => "use `@sha256:…` with the digest of an image configuration: the images have no names"
            .to_owned(),
        names => format!("it has {}", names.join(", ").escape_debug()),
    };

    match found.as_slice() {
        [one] => Ok(one),
        [] => Err(failure(
            Code::ImageNotFound,
            format!("no matching image in the Docker archive `{shown}`"),
            has,
        )),
        more => Err(failure(
            Code::AmbiguousImage,
            format!("the Docker archive `{shown}` has {} matching images", more.len()),
            format!("select one with `{shown}:TAG`; {has}"),
        )),
    }
}

/// Returns the hexadecimal digest that names an entry's configuration: `HEX.json` or
/// `blobs/sha256/HEX`.
fn config_of(entry: &SavedImage) -> &str {
    let name = entry.config.rsplit('/').next().unwrap_or_default();
    name.strip_suffix(".json").unwrap_or(name)
}

/// Returns the image as one with a manifest, and where its blobs are.
fn image_of<'a>(
    archive: &'a Tarball,
    entry: &SavedImage,
) -> Result<(ArchiveBlobs<'a>, Descriptor), Fatal> {
    #[derive(Deserialize)]
    struct Config {
        rootfs: RootFs,
    }
    #[derive(Deserialize)]
    struct RootFs {
        diff_ids: Vec<Digest>,
    }
    let shown = &archive.shown;
    let config = document(archive, &entry.config)?;
    let parsed: Config = parse(&config, &format!("{shown}/{}", entry.config))?;
    let diff_ids = parsed.rootfs.diff_ids;
    let layers = entry.layers.clone().unwrap_or_default();
    if layers.len() != diff_ids.len() {
        let message = format!(
            "`{shown}`: manifest.json lists {} layers, but the image configuration {}",
            layers.len(),
            diff_ids.len()
        );
        return Err(damaged(message));
    }

    let mut blobs = ArchiveBlobs { archive, files: BTreeMap::new(), made: BTreeMap::new() };
    let mut descriptors = Vec::new();
    for (file, diff_id) in layers.iter().zip(diff_ids) {
        let Some(size) = archive.size(file) else {
            return Err(damaged(format!(
                "`{shown}` has no file `{}`, which manifest.json lists as a layer",
                file.escape_debug()
            )));
        };
        // These archives have uncompressed layers, so that the diff ID is also the digest of the
        // file.
        blobs.files.insert(diff_id.to_string(), file.clone());
        descriptors.push(Descriptor::new(MediaType::ImageLayer, size, diff_id));
    }

    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": MediaType::ImageManifest,
        "config": blobs.add(MediaType::ImageConfig, config),
        "layers": descriptors,
    });
    let root = blobs.add(MediaType::ImageManifest, manifest.to_string().into_bytes());
    Ok((blobs, root))
}

/// Blobs of an archive: layers in the file, and documents generated in memory.
struct ArchiveBlobs<'a> {
    archive: &'a Tarball,
    /// File of each layer by digest.
    files: BTreeMap<String, String>,
    made: BTreeMap<String, Vec<u8>>,
}

impl ArchiveBlobs<'_> {
    fn add(&mut self, media_type: MediaType, bytes: Vec<u8>) -> Descriptor {
        let descriptor = descriptor_of(media_type, &bytes);
        self.made.insert(descriptor.digest().to_string(), bytes);
        descriptor
    }
}

impl Blobs for ArchiveBlobs<'_> {
    fn limits(&self) -> &Limits {
        &self.archive.limits
    }

    fn open(&self, descriptor: &Descriptor) -> Result<Option<Box<dyn Read>>, Fatal> {
        let digest = descriptor.digest().as_ref();
        if let Some(bytes) = self.made.get(digest) {
            return Ok(Some(Box::new(Cursor::new(bytes.clone()))));
        }
        match self.files.get(digest) {
            Some(file) => self.archive.open(file),
            None => Ok(None),
        }
    }
}

/// Reads a small file of the archive.
fn document(archive: &Tarball, file: &str) -> Result<Vec<u8>, Fatal> {
    let name = format!("`{}/{}`", archive.shown, file.escape_debug());
    let Some(reader) = archive.open(file)? else {
        return Err(damaged(format!("{name} is missing")));
    };
    let read = read_at_most(reader, archive.limits.document_bytes);
    read.map_err(|error| image::broken(&name, &error))?.ok_or_else(|| {
        let message = format!("{name} is larger than {}", in_bytes(archive.limits.document_bytes));
        failure(Code::SourceLimit, message, "check that this is the archive of a bundle image")
    })
}

fn damaged(message: String) -> Fatal {
    failure(Code::InvalidLayout, message, "save the image again")
}
