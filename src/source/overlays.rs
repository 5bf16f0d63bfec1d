//! Files of overlays.

use super::{SourceResolver, failure, unreadable};
use crate::config::{Overlay, OverlaySource};
use crate::diag::{Code, Diagnostic, Diagnostics, Fatal, Place, Span};
use crate::ir::Phase;
use crate::regular_file;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};
use walkdir::WalkDir;

/// Maximum number of files of one overlay.
const MOST_FILES: usize = 1_000;
/// File extensions of manifests in a directory.
const ENDINGS: [&str; 3] = ["yaml", "yml", "json"];

/// A file of an overlay, in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OverlayFile {
    /// The path in places, unique in a bundle.
    pub name: String,
    /// The content of the file.
    pub content: Vec<u8>,
    /// The installation phase of its objects.
    pub phase: Phase,
    /// The place in the configuration, for inline overlays.
    pub inline: Option<Span>,
    /// The bundle's table that declares it.
    pub span: Span,
}

impl SourceResolver {
    /// Returns the files of these overlays, in their order; all that cannot be read is reported.
    pub fn overlays(
        &self,
        overlays: &[Overlay],
        diagnostics: &mut Diagnostics,
    ) -> Vec<OverlayFile> {
        read(overlays, &self.base, self.limits.kept_file_bytes, diagnostics)
    }
}

fn read(
    overlays: &[Overlay],
    base: &Path,
    limit: u64,
    diagnostics: &mut Diagnostics,
) -> Vec<OverlayFile> {
    let mut files: Vec<OverlayFile> = Vec::new();
    for (index, overlay) in overlays.iter().enumerate() {
        let span = overlay.span.clone();
        let phase = overlay.phase;
        let text = match &overlay.source {
            OverlaySource::Path(path) => {
                let read = read_path(path, base, limit)
                    .map_err(|problem| Box::new(problem.at(Place::span(span.clone()))));
                for (name, content) in diagnostics.report(read).unwrap_or_default() {
                    if let Some(first) = files.iter().find(|file| file.name == name) {
                        diagnostics.push(twice(&name, &span, &first.span));
                        continue;
                    }
                    let span = span.clone();
                    files.push(OverlayFile { name, content, phase, inline: None, span });
                }
                continue;
            }
            OverlaySource::Text(text) => text.clone(),
            // JSON is YAML.
            OverlaySource::Object(object) => format!("{object:#}\n"),
        };
        files.push(OverlayFile {
            name: format!("[[bundle.overlay]] {}", index + 1),
            content: text.into_bytes(),
            phase,
            inline: Some(span.clone()),
            span,
        });
    }
    files
}

fn twice(name: &str, span: &Span, first: &Span) -> Diagnostic {
    Diagnostic::error(Code::OverlayUnreadable, format!("`{name}` is in two overlays"))
        .at(Place::span(span.clone()))
        .related(Place::span(first.clone()), "the other overlay")
        .hint("remove one of the overlays: an object can be in the chart only once")
}

/// Returns the files at `path`, by the names that places show.
fn read_path(path: &str, base: &Path, limit: u64) -> Result<Vec<(String, Vec<u8>)>, Fatal> {
    let root = base.join(path);
    let metadata = fs::metadata(&root).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => failure(
            Code::OverlayUnreadable,
            format!("the overlay `{path}` does not exist"),
            "check the path: it is relative to the directory of this file",
        ),
        _ => unreadable(path, &error),
    })?;

    let folder = link_boundary(path, base).map_err(|error| unreadable(path, &error))?;
    if !is_inside(&root, &folder) {
        return Err(leaves(path, &folder));
    }
    let mut paths: Vec<PathBuf> = Vec::new();
    if metadata.is_dir() {
        let mut outside = None;
        let stays = |entry: &walkdir::DirEntry| {
            let stays = !entry.path_is_symlink() || is_inside(entry.path(), &folder);
            if !stays {
                outside.get_or_insert_with(|| entry.path().to_owned());
            }
            stays
        };
        let walk = WalkDir::new(&root).follow_links(true).sort_by_file_name().into_iter();
        for entry in walk.filter_entry(stays) {
            let entry = entry.map_err(|error| unreadable(path, &io::Error::from(error)))?;
            let ending = entry.path().extension().and_then(|ending| ending.to_str());
            let hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
            let wanted = ending.is_some_and(|ending| ENDINGS.contains(&ending)) && !hidden;
            if wanted && entry.file_type().is_file() {
                paths.push(entry.into_path());
            }
        }
        if let Some(link) = outside {
            let below = link.strip_prefix(&root).unwrap_or(Path::new(""));
            return Err(leaves(&shown(path, below), &folder));
        }
    } else {
        paths.push(root.clone());
    }

    if paths.is_empty() {
        return Err(failure(
            Code::OverlayUnreadable,
            format!("the overlay `{path}` has no .yaml, .yml or .json file"),
            "use a file, or rename it to one of these extensions",
        ));
    }

    if paths.len() > MOST_FILES {
        return Err(failure(
            Code::OverlayUnreadable,
            format!("the overlay `{path}` has {} files; the limit is {MOST_FILES}", paths.len()),
            "check that this is the right directory",
        ));
    }

    let mut files = Vec::with_capacity(paths.len());
    for file in paths {
        let below = file.strip_prefix(&root).unwrap_or(Path::new(""));
        let name = shown(path, below);
        let mut content = Vec::new();
        regular_file::open(&file)
            .and_then(|file| file.take(limit + 1).read_to_end(&mut content))
            .map_err(|error| unreadable(&name, &error))?;
        if content.len() as u64 > limit {
            return Err(failure(
                Code::OverlayUnreadable,
                format!("`{name}` is larger than {limit} bytes"),
                "check that this is the right file: no cluster accepts objects as large",
            ));
        }
        files.push((name, content));
    }

    Ok(files)
}

/// Returns the directory that symbolic links of an overlay must not leave: the directory of the
/// configuration, or the overlay's target if the configured path itself leads elsewhere.
fn link_boundary(path: &str, base: &Path) -> io::Result<PathBuf> {
    let leads_elsewhere = |part| !matches!(part, Component::Normal(_) | Component::CurDir);
    if Path::new(path).components().any(leads_elsewhere) {
        return base.join(path).canonicalize();
    }
    if base.as_os_str().is_empty() { Path::new(".").canonicalize() } else { base.canonicalize() }
}

/// Returns true if a path is below a directory after resolving symbolic links. Dangling links count
/// as inside; reading them reports the error.
fn is_inside(path: &Path, folder: &Path) -> bool {
    path.canonicalize().map_or(true, |target| target.starts_with(folder))
}

fn leaves(name: &str, folder: &Path) -> Fatal {
    failure(
        Code::OverlayUnreadable,
        format!("`{name}` is a symbolic link that leaves `{}`", folder.display()),
        "copy its target into the overlay, or add that path as another overlay",
    )
}

/// Returns a path as places show it: with `/`, and never like one of the bundle's own files.
fn shown(path: &str, below: &Path) -> String {
    let mut name = path.trim_end_matches('/').to_owned();
    for part in below {
        name.push('/');
        name.push_str(&part.to_string_lossy());
    }
    match name.split('/').next() {
        Some("manifests" | "metadata") => format!("./{name}"),
        _ => name,
    }
}
