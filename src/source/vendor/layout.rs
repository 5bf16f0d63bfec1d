#![expect(clippy::disallowed_methods, reason = "writes an image layout")]
//! Writing an OCI image layout: blobs first, the index that names them last.

use super::super::failure;
use super::super::layout::{MARKER, REF_NAME};
use crate::diag::{Code, Diagnostics};
use oci_spec::image::{Descriptor, ImageIndex, ImageIndexBuilder};
use std::collections::{BTreeSet, HashMap};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

const MARKER_TEXT: &str = "{\"imageLayoutVersion\":\"1.0.0\"}";

/// A layout that is being written.
pub(super) struct LayoutWriter {
    folder: PathBuf,
    shown: String,
    entries: Vec<Descriptor>,
    /// Digests of what this run names: they stay when another image takes their name.
    wanted: BTreeSet<String>,
}

impl LayoutWriter {
    /// Opens a layout, or makes one where there is nothing.
    pub(super) fn open(folder: &Path, shown: &str) -> Result<Self, Diagnostics> {
        let is_layout = folder.join(MARKER).is_file();
        let is_free = folder.read_dir().map_or(true, |mut entries| entries.next().is_none());
        if !is_layout && !is_free {
            return Err(failure(
                Code::OutputFailed,
                format!("`{shown}` has files, and is not an OCI image layout"),
                "Name a new folder, or one with a file `oci-layout`.",
            ));
        }
        let mut writer = LayoutWriter {
            folder: folder.to_owned(),
            shown: shown.to_owned(),
            entries: Vec::new(),
            wanted: BTreeSet::new(),
        };
        if is_layout {
            let index = fs::read(folder.join("index.json")).map_err(|e| writer.failed(&e))?;
            let index: ImageIndex = super::super::image::parse(&index, "index.json")?;
            writer.entries = index.manifests().clone();
        }
        Ok(writer)
    }

    /// Adds a blob, unless the layout has it; whether it was added.
    pub(super) fn add(
        &mut self,
        descriptor: &Descriptor,
        open: impl FnOnce() -> Result<File, Diagnostics>,
    ) -> Result<bool, Diagnostics> {
        let digest = descriptor.digest();
        let folder = self.folder.join("blobs").join(digest.algorithm().as_ref());
        let path = folder.join(digest.digest());
        if path.metadata().is_ok_and(|found| found.len() == descriptor.size()) {
            return Ok(false);
        }
        let mut from = open()?;
        let written = fs::create_dir_all(&folder)
            .and_then(|()| self.place(&path, |file| io::copy(&mut from, file).map(|_| ())));
        written.map_err(|error| self.failed(&error))?;
        Ok(true)
    }

    /// Names an image, which takes the name away from any other: bundles may be locked to what one
    /// tag was at different times.
    pub(super) fn name(&mut self, manifest: &Descriptor, name: Option<&str>) {
        let named = |entry: &Descriptor| {
            let annotations = entry.annotations().as_ref();
            annotations.and_then(|all| all.get(REF_NAME)).cloned()
        };
        self.wanted.insert(manifest.digest().to_string());
        let (same, others): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.entries).into_iter().partition(|entry| match name {
                Some(name) => named(entry).as_deref() == Some(name),
                None => entry.digest() == manifest.digest() && named(entry).is_none(),
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
        if let Some(name) = name {
            entry.set_annotations(Some(HashMap::from([(REF_NAME.to_owned(), name.to_owned())])));
        }
        self.entries.push(entry);
    }

    /// Writes the index and the marker.
    pub(super) fn finish(mut self) -> Result<(), Diagnostics> {
        let key = |entry: &Descriptor| {
            let annotations = entry.annotations().as_ref();
            let name = annotations.and_then(|all| all.get(REF_NAME)).cloned();
            (name.unwrap_or_default(), entry.digest().to_string())
        };
        self.entries.sort_by_key(key);
        let index = ImageIndexBuilder::default()
            .schema_version(2_u32)
            .media_type(oci_spec::image::MediaType::ImageIndex)
            .manifests(self.entries.clone())
            .build()
            .and_then(|index| index.to_string_pretty())
            .map_err(|error| self.failed(&io::Error::other(error)))?;
        let text =
            |text: String| move |file: &mut File| io::Write::write_all(file, text.as_bytes());
        fs::create_dir_all(&self.folder)
            .and_then(|()| self.place(&self.folder.join("index.json"), text(index + "\n")))
            .and_then(|()| self.place(&self.folder.join(MARKER), text(MARKER_TEXT.to_owned())))
            .map_err(|error| self.failed(&error))
    }

    /// Writes a file whole or not at all.
    fn place(&self, path: &Path, fill: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
        let folder = path.parent().unwrap_or(&self.folder);
        let mut file = tempfile::Builder::new()
            .prefix(".bundle2chart-")
            .permissions(readable())
            .tempfile_in(folder)?;
        fill(file.as_file_mut())?;
        file.persist(path).map_err(|error| error.error)?;
        Ok(())
    }

    fn failed(&self, error: &io::Error) -> Diagnostics {
        failure(
            Code::OutputFailed,
            format!("the layout `{}` cannot be written: {error}", self.shown),
            "Make room or fix its permissions. Another run goes on where this one ended.",
        )
    }
}

/// What others may read: a layout is committed or carried elsewhere.
#[cfg(unix)]
fn readable() -> fs::Permissions {
    use std::os::unix::fs::PermissionsExt as _;
    fs::Permissions::from_mode(0o644)
}
