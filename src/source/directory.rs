//! A bundle in a directory.

use super::limits::{Limits, exceeded, in_bytes, is_exceeded};
use super::tree::Tree;
use super::{BundleFiles, failure, folders, unreadable};
use crate::diag::{Code, Diagnostics, Fatal};
use crate::regular_file;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;
use walkdir::WalkDir;

/// Returns true if the directory looks like a bundle.
pub fn is_bundle(folder: &Path) -> bool {
    // Also a symbolic link: it is refused later, with a better message.
    fs::symlink_metadata(folder.join("manifests")).is_ok()
        || folder.join("metadata/annotations.yaml").is_file()
}

/// Reads the bundle in `folder`, named `shown` in messages.
pub(super) fn read(
    folder: &Path,
    shown: &str,
    limits: &Limits,
    diagnostics: &mut Diagnostics,
) -> Result<BundleFiles, Fatal> {
    let read = |folders: Vec<String>, _: &mut Diagnostics| {
        let mut tree = Tree::new(folders.clone(), limits);
        for name in &folders {
            add(&mut tree, folder, name, limits.kept_file_bytes)
                .map_err(|(path, error)| failed(shown, &path, &error))?;
        }
        Ok(tree)
    };
    folders::bundle(&BTreeMap::new(), read, diagnostics)
}

/// Adds a directory and its contents, sorted by name.
fn add(tree: &mut Tree, base: &Path, name: &str, limit: u64) -> Result<(), (String, io::Error)> {
    // The directories on the way: a symbolic link there is recorded, and nothing below it.
    let mut path = String::new();
    for part in name.split('/') {
        path = if path.is_empty() { part.to_owned() } else { format!("{path}/{part}") };
        let kind = match fs::symlink_metadata(base.join(&path)) {
            Ok(metadata) => metadata.file_type(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err((path, error)),
        };
        if !kind.is_dir() {
            let what = if kind.is_symlink() { "is a symbolic link" } else { "is not a directory" };
            return tree
                .refuse(path.clone().into_bytes(), what.to_owned())
                .map_err(|error| (path, error));
        }
        tree.add_folder(path.as_bytes()).map_err(|error| (path.clone(), error))?;
    }
    let walk = WalkDir::new(base.join(name)).min_depth(1).follow_links(false).sort_by_file_name();
    for entry in walk {
        let entry = entry.map_err(|error| (name.to_owned(), io::Error::from(error)))?;
        let relative = entry.path().strip_prefix(base).unwrap_or(entry.path());
        let path = relative.as_os_str().as_encoded_bytes();
        let kind = entry.file_type();
        let added = if kind.is_dir() {
            tree.add_folder(path)
        } else if kind.is_file() {
            let size = entry.metadata().map(|metadata| metadata.len());
            size.map_err(io::Error::from)
                .and_then(|size| tree.check_size(path, size))
                .and_then(|()| read_file(entry.path(), limit))
                .and_then(|content| tree.add_file(path, content))
        } else {
            let what = if kind.is_symlink() { "is a symbolic link" } else { "is a special file" };
            tree.refuse(path.to_owned(), what.to_owned())
        };
        added.map_err(|error| (super::archive::show(path), error))?;
    }
    Ok(())
}

/// Reads a file that may grow while it is read.
fn read_file(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    regular_file::read(path, limit).map_err(|error| match error.kind() {
        io::ErrorKind::FileTooLarge => exceeded(format!("it is larger than {}", in_bytes(limit))),
        _ => error,
    })
}

fn failed(shown: &str, path: &str, error: &io::Error) -> Fatal {
    if is_exceeded(error) {
        let hint = "check that this is the right directory: no real bundle is as large";
        return failure(Code::SourceLimit, format!("`{shown}/{path}`: {error}"), hint);
    }
    unreadable(&format!("{shown}/{path}"), error)
}
