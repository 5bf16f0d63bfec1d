//! A tar file on disk, optionally compressed, with an image layout or a bundle directory.

use super::archive::{EntryKind, Expanded, Meter, walk};
use super::image::broken;
use super::layout::MARKER;
use super::limits::{Limits, in_bytes, is_exceeded};
use super::tree::{Tree, normalise};
use super::unreadable;
use crate::diag::{Code, Diagnostic, Fatal};
use crate::regular_file;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;

/// A tar file and where its regular files are in it.
#[derive(Default)]
pub(super) struct Tarball {
    path: PathBuf,
    pub(super) shown: String,
    pub(super) limits: Limits,
    compressed: bool,
    /// Position in the expanded archive and size, by path.
    files: BTreeMap<Vec<u8>, (u64, u64)>,
    /// The common top directory; empty for the root of the archive.
    root: Vec<u8>,
}

/// The content of a tar file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TarContent {
    Layout,
    Bundle,
    /// The format of `docker save` before Docker 25.
    DockerArchive,
    Unknown,
}

impl Tarball {
    /// Looks through a tar file once.
    pub(super) fn open_file(path: PathBuf, shown: &str, limits: &Limits) -> Result<Self, Fatal> {
        let mut tarball =
            Tarball { path, shown: shown.to_owned(), limits: limits.clone(), ..Tarball::default() };
        let meter = Meter::new(limits);
        let mut stream = tarball.stream(&meter)?;
        tarball.compressed = stream.compression() != super::compression::Compression::None;
        let mut name_bytes = 0_u64;
        // Of directories only the names matter, for finding the root.
        let mut folders = Vec::new();
        let outcome = walk(&mut stream, &mut |entry| {
            let (path, climbs) = normalise(&entry.path);
            limits.count_name(&mut name_bytes, path.len(), "its file names")?;
            if entry.kind == EntryKind::File && !climbs {
                // Of two entries with one path the last one counts, as when the archive is
                // extracted.
                tarball.files.insert(path, (entry.position, entry.size));
            } else {
                folders.push(path);
            }
            Ok(())
        });
        if let Err(error) = outcome {
            // Not even the first header is one: this is some other file.
            let other = tarball.files.is_empty() && folders.is_empty() && !tarball.compressed;
            if other && !is_exceeded(&error) {
                return Ok(tarball);
            }
            return Err(tarball.broken(&error));
        }
        if tarball.content() == TarContent::Unknown
            && let Some(root) = common_root(tarball.files.keys().chain(&folders))
        {
            tarball.root = root;
        }
        Ok(tarball)
    }

    /// Returns the type of its content.
    pub(super) fn content(&self) -> TarContent {
        let has = |name: &str| self.files.contains_key(&self.inside(name));
        let manifests = self.inside("manifests/");
        if has(MARKER) {
            TarContent::Layout
        } else if has("metadata/annotations.yaml")
            || self.files.keys().any(|path| path.starts_with(&manifests))
        {
            TarContent::Bundle
        } else if has("manifest.json") {
            TarContent::DockerArchive
        } else {
            TarContent::Unknown
        }
    }

    /// Returns the size of a file in bytes; `None` if the archive has no such file.
    pub(super) fn size(&self, file: &str) -> Option<u64> {
        self.files.get(&self.inside(file)).map(|(_, size)| *size)
    }

    /// Opens a file in it; `None` when it has none of this path.
    pub(super) fn open(&self, file: &str) -> Result<Option<Box<dyn Read>>, Fatal> {
        let Some((position, size)) = self.files.get(&self.inside(file)) else { return Ok(None) };
        let failed = |error: io::Error| self.broken(&error);
        if self.compressed {
            let mut stream = self.stream(&Meter::new(&self.limits))?;
            // There is no seeking in a compressed stream; few files of an archive are opened.
            io::copy(&mut stream.by_ref().take(*position), &mut io::sink()).map_err(failed)?;
            Ok(Some(Box::new(stream.take(*size))))
        } else {
            let mut stream = self.stored()?;
            stream.seek(SeekFrom::Start(*position)).map_err(failed)?;
            Ok(Some(Box::new(stream.take(*size))))
        }
    }

    /// Returns a path below the root as the archive has it.
    fn inside(&self, file: &str) -> Vec<u8> {
        let separator: &[u8] = if self.root.is_empty() { b"" } else { b"/" };
        [&self.root, separator, file.as_bytes()].concat()
    }

    /// Reads these directories of a bundle.
    pub(super) fn tree(&self, folders: Vec<String>) -> Result<Tree, Fatal> {
        let mut tree = Tree::new(folders, &self.limits).rooted(&self.root);
        let meter = Meter::new(&self.limits);
        let outcome = walk(&mut self.stream(&meter)?, &mut |entry| tree.apply(entry));
        outcome.map_err(|error| self.broken(&error))?;
        Ok(tree)
    }

    fn stored(&self) -> Result<File, Fatal> {
        let file =
            regular_file::open(&self.path).map_err(|error| unreadable(&self.shown, &error))?;
        let size = file.metadata().map_err(|error| unreadable(&self.shown, &error))?.len();
        if size > self.limits.stored_bytes {
            let limit = in_bytes(self.limits.stored_bytes);
            let message = format!("`{}` has {}; the limit is {limit}", self.shown, in_bytes(size));
            return Err(Diagnostic::error(Code::SourceLimit, message).into());
        }
        Ok(file)
    }

    fn stream(&self, meter: &std::rc::Rc<Meter>) -> Result<Expanded<'static>, Fatal> {
        Expanded::new(self.stored()?, meter, None).map_err(|error| self.broken(&error))
    }

    fn broken(&self, error: &io::Error) -> Fatal {
        broken(&format!("`{}`", self.shown), error)
    }
}

/// Returns the first part that all paths have in common.
fn common_root<'p>(paths: impl Iterator<Item = &'p Vec<u8>>) -> Option<Vec<u8>> {
    let mut firsts = paths
        .filter(|path| !path.is_empty())
        .map(|path| path.split(|byte| *byte == b'/').next().unwrap_or_default());
    let root = firsts.next()?;
    firsts.all(|first| first == root).then(|| root.to_vec())
}
