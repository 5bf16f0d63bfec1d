//! OCI image layouts, in a directory or in a tar, and finding an image in one.
//!
//! <https://github.com/opencontainers/image-spec/blob/main/image-layout.md>

use super::image::{self, Blobs, Document, choose_platform, read_document};
use super::limits::{Limits, in_bytes, read_at_most};
use super::reference::Reference;
use super::signature::cosign::signature_tag;
use super::signature::{Attachment, describe, may_have_signatures};
use super::tarball::Tarball;
use super::{failure, unreadable};
use crate::diag::{Code, Diagnostic, Diagnostics, Fatal};
use crate::regular_file;
use oci_spec::image::{Descriptor, Digest, ImageIndex, OciLayout};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The file that marks a layout.
pub(super) const MARKER: &str = "oci-layout";

/// The name of an image in a layout.
pub(super) const REF_NAME: &str = "org.opencontainers.image.ref.name";
/// Annotation with the full name of an image, if the annotation above only has its tag; written by
/// containerd and Docker.
const IMAGE_NAME: &str = "io.containerd.image.name";

/// Names that an error lists.
const MOST_NAMES: usize = 8;

/// Indexes that are opened in search of a digest.
const MOST_INDEXES: usize = 256;

/// Manifests that are opened in search of signatures.
const MOST_REFERRERS: usize = 4096;

/// An image layout.
pub(super) struct Layout {
    /// The name in messages.
    shown: String,
    files: Files,
    limits: Limits,
}

enum Files {
    Folder(PathBuf),
    Tar(Box<Tarball>),
}

/// Selects an image of a layout or an archive.
#[derive(Debug)]
pub(super) struct Wanted {
    /// The name in messages.
    shown: String,
    /// The first that an image fits selects it.
    pub(super) choices: Vec<Choice>,
}

/// A way to select an image.
#[derive(Debug)]
pub(super) enum Choice {
    /// The only one.
    Only,
    /// The one with this digest.
    Digest(Digest),
    /// The one with this name.
    Name(String),
    /// One that is known by this tag only.
    BareTag(String),
    /// One of any repository with this tag.
    TagOfAny(String),
}

impl Choice {
    /// Returns true if an image with these names, and perhaps a digest, fits.
    pub(super) fn fits(&self, names: &[&str], is: impl FnOnce(&Digest) -> bool) -> bool {
        match self {
            Choice::Only => true,
            Choice::Digest(digest) => is(digest),
            Choice::Name(name) => names.contains(&name.as_str()),
            Choice::BareTag(tag) => {
                names.contains(&tag.as_str()) && !names.iter().any(|name| name.contains('/'))
            }
            Choice::TagOfAny(tag) => {
                names.iter().any(|name| name.rsplit_once(':').is_some_and(|(_, own)| own == tag))
            }
        }
    }
}

impl Wanted {
    /// Returns the image of a reference, of whose name `rest` comes after the mirror's prefix.
    pub(super) fn mirrored(reference: &Reference, rest: &str) -> Self {
        if let Some(digest) = &reference.digest {
            return Wanted::digest(digest.clone());
        }
        let tag = reference.tag.clone().unwrap_or_default();
        let shown = format!("{}:{tag}", reference.name);
        let mut choices = vec![Choice::Name(shown.clone())];
        // A layout for one repository has its images under their tags alone.
        if rest.is_empty() {
            choices.push(Choice::Name(tag));
        } else {
            choices.extend([Choice::Name(format!("{rest}:{tag}")), Choice::BareTag(tag)]);
        }
        Wanted { shown, choices }
    }

    fn digest(digest: Digest) -> Self {
        Wanted { shown: digest.to_string(), choices: vec![Choice::Digest(digest)] }
    }

    /// Parses the suffix of a path: empty, `:TAG`, `:NAME` or `@DIGEST`.
    pub(super) fn of_suffix(suffix: &str) -> Result<Self, Fatal> {
        if suffix.is_empty() {
            return Ok(Wanted { shown: String::new(), choices: vec![Choice::Only] });
        }
        if let Some((_, digest)) = suffix.rsplit_once('@') {
            return Digest::try_from(digest).map(Wanted::digest).map_err(|error| {
                let digest = digest.escape_debug();
                let hint = "write `sha256:` and 64 lower-case hexadecimal digits";
                failure(Code::InvalidReference, format!("invalid digest `{digest}`: {error}"), hint)
            });
        }
        let name = suffix.trim_start_matches(':').to_owned();
        let choices = vec![Choice::Name(name.clone()), Choice::TagOfAny(name.clone())];
        Ok(Wanted { shown: name, choices })
    }
}

impl Layout {
    /// Opens the layout in a directory.
    pub(super) fn folder(path: PathBuf, shown: &str, limits: &Limits) -> Self {
        let files = Files::Folder(path);
        Layout { shown: shown.to_owned(), files, limits: limits.clone() }
    }

    /// Returns the layout in a tar.
    pub(super) fn tar(tarball: Tarball, shown: &str) -> Self {
        let limits = tarball.limits.clone();
        Layout { shown: shown.to_owned(), files: Files::Tar(Box::new(tarball)), limits }
    }

    /// Returns the descriptor of the wanted image; a note says if its tag matched only loosely.
    pub(super) fn locate(
        &self,
        wanted: &Wanted,
        diagnostics: &mut Diagnostics,
    ) -> Result<Descriptor, Fatal> {
        let index = self.index()?;
        let all = index.manifests();
        for choice in &wanted.choices {
            let fits =
                |entry: &&Descriptor| choice.fits(&names(entry), |digest| entry.digest() == digest);
            let found: Vec<&Descriptor> = all.iter().filter(fits).collect();
            if let Choice::Digest(digest) = choice
                && found.is_empty()
                && let Some(found) = self.find_nested(all, digest)?
            {
                return Ok(found);
            }
            if found.is_empty() && !matches!(choice, Choice::Only) {
                continue;
            }
            let found = self.the_one(found, all)?;
            if let Choice::BareTag(_) = choice {
                diagnostics.push(self.bare_tag(&wanted.shown));
            }
            return Ok(found);
        }
        Err(self.not_found(&wanted.shown, all))
    }

    /// Returns the tags of the images that are named after one of `repositories`.
    pub(super) fn tags(&self, repositories: &[&str]) -> Result<Vec<String>, Fatal> {
        let index = self.index()?;
        let tag = |name: &str| {
            let (repository, tag) = name.rsplit_once(':')?;
            repositories.contains(&repository).then(|| tag.to_owned())
        };
        Ok(index.manifests().iter().flat_map(names).filter_map(tag).collect())
    }

    fn index(&self) -> Result<ImageIndex, Fatal> {
        let marker: OciLayout = image::parse(&self.document(MARKER)?, &self.name(MARKER))?;
        let version = marker.image_layout_version();
        if version != "1.0.0" {
            let (shown, version) = (&self.shown, version.escape_debug());
            let message = format!("unsupported version of OCI image layout `{shown}`: `{version}`");
            return Err(failure(Code::InvalidLayout, message, "use a layout of version 1.0.0"));
        }
        image::parse(&self.document("index.json")?, &self.name("index.json"))
    }

    fn name(&self, file: &str) -> String {
        format!("{}/{file}", self.shown)
    }

    fn document(&self, file: &str) -> Result<Vec<u8>, Fatal> {
        let name = self.name(file);
        let reader = self.file(file)?.ok_or_else(|| {
            let hint = "copy the layout again: it needs `oci-layout`, `index.json` and `blobs/`";
            failure(Code::InvalidLayout, format!("`{name}` is missing"), hint)
        })?;
        let read = read_at_most(reader, self.limits.document_bytes);
        read.map_err(|error| unreadable(&name, &error))?.ok_or_else(|| {
            let limit = in_bytes(self.limits.document_bytes);
            let message = format!("`{name}` is larger than {limit}");
            Diagnostic::error(Code::SourceLimit, message).into()
        })
    }

    /// Opens a file of the layout; symbolic links inside a layout are not followed.
    fn file(&self, file: &str) -> Result<Option<Box<dyn Read>>, Fatal> {
        match &self.files {
            Files::Tar(tarball) => tarball.open(file),
            Files::Folder(folder) => match open_inside(folder, file) {
                Ok(opened) => Ok(Some(Box::new(opened))),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
                Err(error) => Err(unreadable(&self.name(file), &error)),
            },
        }
    }

    /// Returns the image that several entries name: the same image twice, or one image for several
    /// platforms. Different images are an error.
    fn the_one(&self, entries: Vec<&Descriptor>, all: &[Descriptor]) -> Result<Descriptor, Fatal> {
        let Some(first) = entries.first() else {
            return Err(failure(
                Code::ImageNotFound,
                format!("the layout `{}` has no images", self.shown),
                "copy an image into it, for example with `skopeo copy docker://… oci:DIR:NAME`",
            ));
        };
        if entries.iter().all(|entry| entry.digest() == first.digest()) {
            return Ok((*first).clone());
        }
        let platforms =
            entries.iter().all(|entry| entry.platform().is_some() && names(entry) == names(first));
        let candidates: Vec<Descriptor> = entries.iter().map(|entry| (*entry).clone()).collect();

        match choose_platform(&candidates) {
            Some(chosen) if platforms => Ok(chosen.clone()),
            _ => Err(failure(
                Code::AmbiguousImage,
                format!("the layout `{}` has {} matching images", self.shown, entries.len()),
                format!(
                    "select one by name or digest (`@sha256:…`): {}",
                    listed(if entries.len() == all.len() { all } else { &candidates }, "")
                ),
            )),
        }
    }

    /// Looks for a digest inside the layout's indexes: a lock may pin one platform's manifest.
    fn find_nested(
        &self,
        entries: &[Descriptor],
        digest: &Digest,
    ) -> Result<Option<Descriptor>, Fatal> {
        let is_index = |entry: &Descriptor| {
            let media_type: &str = entry.media_type().as_ref();
            media_type.contains("index") || media_type.contains("manifest.list")
        };
        let mut queue: Vec<Descriptor> =
            entries.iter().filter(|entry| is_index(entry)).cloned().collect();
        // Indexes can refer to each other, in circles and as often as they like.
        let mut opened = BTreeSet::new();
        while let Some(entry) = queue.pop() {
            if opened.len() >= MOST_INDEXES || !opened.insert(entry.digest().to_string()) {
                continue;
            }
            if let Document::Index(index) = read_document(self, &entry)? {
                if let Some(found) = index.manifests().iter().find(|e| e.digest() == digest) {
                    return Ok(Some(found.clone()));
                }
                queue.extend(index.manifests().iter().filter(|entry| is_index(entry)).cloned());
            }
        }
        Ok(None)
    }

    fn not_found(&self, wanted: &str, all: &[Descriptor]) -> Fatal {
        let message = format!("the image `{wanted}` is not in the layout `{}`", self.shown);
        let hint = if all.is_empty() {
            "the layout has no images".to_owned()
        } else {
            format!("the layout has {}", listed(all, wanted))
        };
        failure(Code::ImageNotFound, message, hint)
    }

    fn bare_tag(&self, wanted: &str) -> Diagnostic {
        let shown = &self.shown;
        let message = format!("`{wanted}` was found in the layout `{shown}` by tag only");
        Diagnostic::note(Code::BareTag, message).hint(format!(
            "copy the image under its full name, for example with `skopeo copy docker://{wanted} \
                oci:{shown}:{wanted}`: the layout does not record its repository"
        ))
    }
}

impl Blobs for Layout {
    fn limits(&self) -> &Limits {
        &self.limits
    }

    fn open(&self, descriptor: &Descriptor) -> Result<Option<Box<dyn Read>>, Fatal> {
        self.file(&blob_file(descriptor.digest())?)
    }

    fn find(&self, digest: &Digest) -> Result<Option<Descriptor>, Fatal> {
        // The index of a layout need not list it. Its content is checked when it is read.
        let file = blob_file(digest)?;
        let Some(reader) = self.file(&file)? else { return Ok(None) };
        let read = read_at_most(reader, self.limits.document_bytes);
        let bytes = read.map_err(|error| unreadable(&self.name(&file), &error))?;
        Ok(bytes.and_then(|bytes| describe(&bytes, digest)))
    }

    fn signatures(&self, of: &Digest, attachment: Attachment) -> Result<Vec<Descriptor>, Fatal> {
        let index = self.index()?;
        let entries = index.manifests().iter();
        if attachment == Attachment::Tag {
            let tag = signature_tag(of.as_ref());
            let is_tagged = |entry: &&Descriptor| {
                // Names are full ones or tags alone, as the tool wrote them that copied the image.
                names(entry).iter().any(|name| name.rsplit(':').next() == Some(&tag))
            };
            return Ok(entries.filter(is_tagged).cloned().collect());
        }

        let is_bundle = |entry: &&Descriptor| {
            let artifact = entry.artifact_type().as_ref();
            artifact.is_some_and(|artifact| may_have_signatures(artifact.as_ref()))
        };
        let mut found = Vec::new();
        for entry in entries.filter(is_bundle).take(MOST_REFERRERS) {
            if let Document::Manifest(manifest) = read_document(self, entry)?
                && manifest.subject().as_ref().is_some_and(|subject| subject.digest() == of)
            {
                found.push(entry.clone());
            }
        }
        Ok(found)
    }
}

/// Returns the names of an entry.
fn names(entry: &Descriptor) -> Vec<&str> {
    let annotations = entry.annotations().as_ref();
    [REF_NAME, IMAGE_NAME]
        .iter()
        .filter_map(|key| annotations.and_then(|all| all.get(*key)))
        .map(String::as_str)
        .collect()
}

/// Returns the entries by name, or by digest if they have no name; those most similar to `wanted`
/// first.
fn listed(entries: &[Descriptor], wanted: &str) -> String {
    let (repository, tag) = wanted.rsplit_once(':').unwrap_or((wanted, ""));
    let last = |name: &str| name.rsplit('/').next().unwrap_or_default().to_owned();
    let mut shown: Vec<_> = entries
        .iter()
        .map(|entry| {
            let names = names(entry);
            let name = names.iter().max_by_key(|name| name.len()).copied();
            let name = name.unwrap_or(entry.digest().as_ref());
            let (its_repository, its_tag) = name.rsplit_once(':').unwrap_or((name, ""));
            let is_other = (
                its_repository != repository,
                last(its_repository) != last(repository),
                its_tag != tag,
            );
            let name: String = name.chars().take(200).collect();
            (is_other, format!("`{}`", name.escape_debug()))
        })
        .collect();

    shown.sort();
    shown.dedup();
    let names: Vec<String> = shown.into_iter().map(|(_, name)| name).collect();
    crate::diag::listed(&names, MOST_NAMES)
}

/// Returns the file of a blob. Only algorithms that can be checked have one; their digests are
/// hexadecimal.
fn blob_file(digest: &Digest) -> Result<String, Fatal> {
    super::digest::Hasher::like(digest)?;
    Ok(format!("blobs/{}/{}", digest.algorithm(), digest.digest()))
}

/// Opens a regular file at `file` below `folder` without following symbolic links.
fn open_inside(folder: &Path, file: &str) -> io::Result<File> {
    let mut path = folder.to_owned();
    for part in file.split('/') {
        path.push(part);
        if fs::symlink_metadata(&path)?.is_symlink() {
            return Err(io::Error::other("symbolic links inside a layout are not followed"));
        }
    }
    regular_file::open(&path)
}
