#![expect(clippy::disallowed_methods, reason = "writes an image layout")]
//! Writing an OCI image layout: blobs first, the index that names them last.

use super::super::digest::CheckedBlob;
use super::super::layout::{MARKER, REF_NAME};
use super::super::{cache, failure};
use crate::diag::{Code, Fatal};
use crate::regular_file;
use oci_spec::image::{Descriptor, ImageIndex, MediaType};
use serde_json::json;
use std::collections::{BTreeSet, HashMap};
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

const INDEX: &str = "index.json";
const BLOBS: &str = "blobs";
/// Prefix of the names of unfinished files.
const TEMPORARY: &str = ".bundle2chart-";
/// Bytes of an index; one of ten thousand images has about 4 MiB.
const INDEX_BYTES: u64 = 64 << 20;

const MARKER_TEXT: &str = "{\"imageLayoutVersion\":\"1.0.0\"}";

/// A layout that is being written.
#[derive(Default)]
pub(super) struct LayoutWriter {
    folder: PathBuf,
    shown: String,
    entries: Vec<Descriptor>,
    /// Digests named in this run: they are kept when another image takes over their name.
    wanted: BTreeSet<String>,
    /// Digests of blobs that are there and were checked.
    sound: BTreeSet<String>,
}

impl LayoutWriter {
    /// Opens a layout, or creates one in an empty directory. The marker file is written first, so
    /// that an interrupted run can be continued.
    pub(super) fn open(folder: &Path, shown: &str) -> Result<Self, Fatal> {
        let mut writer = LayoutWriter {
            folder: folder.to_owned(),
            shown: shown.to_owned(),
            ..LayoutWriter::default()
        };
        if folder.join(MARKER).is_file() {
            writer.sweep();
            match regular_file::read(&folder.join(INDEX), INDEX_BYTES) {
                Ok(index) => {
                    let index: ImageIndex = super::super::image::parse(&index, INDEX)?;
                    writer.entries = index.manifests().clone();
                }
                // The run that made the layout did not get that far.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(writer.failed(&error)),
            }
            return Ok(writer);
        }
        let is_ours = |entry: io::Result<fs::DirEntry>| {
            entry.is_ok_and(|entry| {
                let name = entry.file_name();
                name == BLOBS || name.as_encoded_bytes().starts_with(TEMPORARY.as_bytes())
            })
        };
        if !folder.read_dir().map_or(true, |mut entries| entries.all(is_ours)) {
            let message = format!("`{shown}` is not empty and not an OCI image layout");
            let hint = "use a new directory, or one with a file `oci-layout`";
            return Err(failure(Code::OutputFailed, message, hint));
        }
        writer.sweep();
        let marked = fs::create_dir_all(folder).and_then(|()| {
            writer.place(&folder.join(MARKER), |file| file.write_all(MARKER_TEXT.as_bytes()))
        });
        marked.map_err(|error| writer.failed(&error))?;
        Ok(writer)
    }

    /// Removes the files that killed runs were writing.
    fn sweep(&self) {
        let blobs = self.folder.join(BLOBS);
        let algorithms = blobs.read_dir().into_iter().flatten().flatten();
        for folder in [self.folder.clone()].into_iter().chain(algorithms.map(|entry| entry.path()))
        {
            cache::sweep(&folder, TEMPORARY);
        }
    }

    /// Adds a blob, unless the layout has it with the right content. Returns true if it was added.
    pub(super) fn add(
        &mut self,
        descriptor: &Descriptor,
        open: impl FnOnce() -> Result<File, Fatal>,
    ) -> Result<bool, Fatal> {
        let digest = descriptor.digest();
        let folder = self.folder.join(BLOBS).join(digest.algorithm().as_ref());
        let path = folder.join(digest.digest());
        if self.sound.contains(digest.as_ref()) {
            return Ok(false);
        }
        // The layout may have been copied or committed: what is there is hashed once.
        let found = regular_file::open(&path).ok();
        let found = found.and_then(|file| CheckedBlob::new(file, digest, descriptor.size()).ok());
        let has = found.is_some_and(|blob| matches!(blob.finish(), Ok(Ok(()))));
        if !has {
            let mut from = open()?;
            let written = fs::create_dir_all(&folder)
                .and_then(|()| self.place(&path, |file| io::copy(&mut from, file).map(|_| ())));
            written.map_err(|error| self.failed(&error))?;
        }
        self.sound.insert(digest.to_string());
        Ok(!has)
    }

    /// Names an image and removes the name from any other: bundles can be locked to different
    /// images of one tag.
    pub(super) fn name(&mut self, manifest: &Descriptor, name: Option<&str>) {
        self.wanted.insert(manifest.digest().to_string());
        let (same, others): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.entries).into_iter().partition(|entry| match name {
                Some(name) => name_of(entry) == Some(name),
                None => entry.digest() == manifest.digest() && name_of(entry).is_none(),
            });
        self.entries = others;
        for mut entry in same {
            let is_other = entry.digest() != manifest.digest();
            let is_known = self.entries.iter().any(|known| known.digest() == entry.digest());
            if is_other && !is_known && self.wanted.contains(entry.digest().as_ref()) {
                entry.set_annotations(None);
                self.entries.push(entry);
            }
        }

        let mut entry = Descriptor::new(
            manifest.media_type().clone(),
            manifest.size(),
            manifest.digest().clone(),
        );
        // By its artifact type, a referrer is found in the index.
        entry.set_artifact_type(manifest.artifact_type().clone());
        if let Some(name) = name {
            entry.set_annotations(Some(HashMap::from([(REF_NAME.to_owned(), name.to_owned())])));
        }

        self.entries.push(entry);
    }

    /// Writes the index: from here on the images that were named are found.
    pub(super) fn finish(mut self) -> Result<(), Fatal> {
        // A committed layout should change with its images only.
        self.entries.sort_by_key(|entry| {
            (name_of(entry).unwrap_or_default().to_owned(), entry.digest().to_string())
        });
        let index = json!({
            "schemaVersion": 2,
            "mediaType": MediaType::ImageIndex,
            "manifests": self.entries,
        });
        let text = format!("{index:#}\n");
        self.place(&self.folder.join(INDEX), |file| file.write_all(text.as_bytes()))
            .map_err(|error| self.failed(&error))
    }

    /// Writes a file whole or not at all.
    fn place(&self, path: &Path, fill: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
        // Beside it: `blobs` may be on another file system.
        let folder = path.parent().unwrap_or(&self.folder);
        let mut builder = tempfile::Builder::new();
        let mut file =
            cache::create_locked(builder.prefix(TEMPORARY).permissions(readable()), folder)?;
        fill(file.as_file_mut())?;
        file.persist(path).map_err(|error| error.error)?;
        Ok(())
    }

    fn failed(&self, error: &io::Error) -> Fatal {
        let message = format!("cannot write the layout `{}`: {error}", self.shown);
        let hint = "free disk space or fix the permissions, and run it again: it continues where it \
                stopped";
        failure(Code::OutputFailed, message, hint)
    }
}

/// Returns the name of an image in the index.
fn name_of(entry: &Descriptor) -> Option<&str> {
    entry.annotations().as_ref()?.get(REF_NAME).map(String::as_str)
}

/// Creates the file readable for others: layouts are committed or copied elsewhere.
fn readable() -> fs::Permissions {
    use std::os::unix::fs::PermissionsExt as _;
    fs::Permissions::from_mode(0o644)
}
