//! YAML and JSON files at a path of the configuration or the command line, which may be a directory.

use super::limits::{Limits, in_bytes, read_at_most};
use super::{directory, failure, layout, unreadable};
use crate::diag::{Code, Diagnostics, Fatal};
use crate::regular_file;
use std::fs;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};
use walkdir::WalkDir;

/// Maximum number of files at one path.
const MOST_FILES: usize = 1_000;
/// File extensions of manifests in a directory.
const ENDINGS: [&str; 3] = ["yaml", "yml", "json"];

/// Returns true if there is a YAML or JSON file at `path`, or a directory that has one and is neither
/// a bundle nor an image layout.
pub(super) fn are_at(path: &Path) -> bool {
    if path.is_file() {
        return has_ending(path);
    }
    let other = directory::is_bundle(path) || path.join(layout::MARKER).exists();
    let entries = if other { None } else { path.read_dir().ok() };
    entries.is_some_and(|entries| {
        entries.take(MOST_FILES).flatten().any(|entry| has_ending(&entry.path()))
    })
}

/// Returns true for names of YAML and JSON files.
fn has_ending(path: &Path) -> bool {
    path.extension().and_then(|ending| ending.to_str()).is_some_and(|end| ENDINGS.contains(&end))
}

/// The kind of input that errors are about.
#[derive(Clone, Copy, Debug)]
pub(super) struct Input {
    /// The code of errors.
    pub(super) code: Code,
    /// The noun that users know: `overlay`.
    pub(super) noun: &'static str,
}

/// Returns the files at `path`, a file or a directory relative to `base`, by the names that places
/// show. No file may have more than `limit` bytes.
///
/// # Errors
/// When a file cannot be read, is too large, or a symbolic link leads elsewhere.
pub(super) fn read(
    path: &str,
    base: &Path,
    limit: u64,
    input: Input,
) -> Result<Vec<(String, Vec<u8>)>, Fatal> {
    let Input { code, noun } = input;
    let root = base.join(path);
    let metadata = fs::metadata(&root).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => failure(
            code,
            format!("the {noun} `{path}` does not exist"),
            "check the path: it is relative to the directory of this file",
        ),
        _ => unreadable(path, &error),
    })?;

    let folder = link_boundary(path, base).map_err(|error| unreadable(path, &error))?;
    if !is_inside(&root, &folder) {
        return Err(leaves(path, &folder, input));
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
        // Before a link is followed, so that nothing outside is even listed.
        for entry in walk.filter_entry(stays) {
            let entry = entry.map_err(|error| unreadable(path, &io::Error::from(error)))?;
            // Editors and macOS leave hidden files, such as `.#a.yaml` and `._a.yaml`, next to real
            // ones.
            let hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
            if has_ending(entry.path()) && !hidden && entry.file_type().is_file() {
                paths.push(entry.into_path());
            }
        }
        if let Some(link) = outside {
            let below = link.strip_prefix(&root).unwrap_or(Path::new(""));
            return Err(leaves(&shown(path, below), &folder, input));
        }
    } else {
        paths.push(root.clone());
    }

    if paths.is_empty() {
        let message = format!("the {noun} `{path}` has no .yaml, .yml or .json file");
        return Err(failure(code, message, "use a file, or rename it to one of these extensions"));
    }

    if paths.len() > MOST_FILES {
        let message =
            format!("the {noun} `{path}` has {} files; the limit is {MOST_FILES}", paths.len());
        return Err(failure(code, message, "check that this is the right directory"));
    }

    let mut files = Vec::with_capacity(paths.len());
    for file in paths {
        let below = file.strip_prefix(&root).unwrap_or(Path::new(""));
        let name = shown(path, below);
        let content = regular_file::read(&file, limit).map_err(|error| match error.kind() {
            io::ErrorKind::FileTooLarge => {
                let hint = "check that this is the right file: no cluster accepts objects as large";
                failure(code, format!("`{name}` is larger than {limit} bytes"), hint)
            }
            _ => unreadable(&name, &error),
        });
        files.push((name, content?));
    }

    Ok(files)
}

/// Returns the directory that symbolic links must not leave: the directory of the
/// configuration, or the target if the configured path itself leads elsewhere.
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

fn leaves(name: &str, folder: &Path, input: Input) -> Fatal {
    let noun = input.noun;
    let message = format!("`{name}` is a symbolic link that leaves `{}`", folder.display());
    let hint = format!("copy its target into the {noun}, or add that path as another {noun}");
    failure(input.code, message, hint)
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

/// The name for stdin.
const STANDARD_INPUT: &str = "-";

/// Reads the YAML and JSON files at `path` (a file, a directory with all subdirectories, or `-` for
/// stdin), sorted by name, each with its name in messages. Symbolic links are not followed.
pub fn manifests(
    path: &str,
    limits: &Limits,
    diagnostics: &mut Diagnostics,
) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    let mut left = limits.kept_bytes;
    let mut take = |shown: String, reader: io::Result<Box<dyn Read>>| {
        let limit = left.min(limits.kept_file_bytes);
        match reader.and_then(|reader| read_at_most(reader, limit)) {
            Ok(None) => diagnostics.push(*failure(
                Code::SourceLimit,
                format!("`{shown}` is larger than {}", in_bytes(limit)),
                "check that this is the right directory",
            )),
            Ok(Some(content)) => {
                left = left.saturating_sub(content.len() as u64);
                files.push((shown, content));
            }
            // `regular_file` refuses pipes and devices with this kind.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                let message = format!("cannot read `{shown}`: {error}");
                let hint = "write the manifests to a file, or pass `-` to read them from stdin";
                diagnostics.push(*failure(Code::SourceUnreadable, message, hint))
            }
            Err(error) => diagnostics.push(*unreadable(&shown, &error)),
        }
    };

    let open =
        |path: &Path| -> io::Result<Box<dyn Read>> { Ok(Box::new(regular_file::open(path)?)) };
    if path == STANDARD_INPUT {
        take("standard input".to_owned(), Ok(Box::new(io::stdin())));
        return files;
    }

    let root = Path::new(path);
    if !root.is_dir() {
        take(path.to_owned(), open(root));
        return files;
    }

    let mut count = 0;
    for entry in WalkDir::new(root).follow_links(false).sort_by_file_name() {
        match entry {
            Ok(entry) if entry.file_type().is_file() && has_ending(entry.path()) => {
                count += 1;
                if count > limits.kept_files {
                    break;
                }
                take(entry.path().display().to_string(), open(entry.path()));
            }
            Ok(_) => {}
            Err(error) => take(path.to_owned(), Err(io::Error::from(error))),
        }
    }
    if count > limits.kept_files {
        let message = format!("`{path}` has more than {} manifests", limits.kept_files);
        diagnostics.push(*failure(Code::SourceLimit, message, "pass a subdirectory"));
    }
    files
}
