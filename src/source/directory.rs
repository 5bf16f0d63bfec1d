//! A bundle in a directory.

use super::archive::show;
use super::limits::{Limits, exceeded, in_bytes, is_exceeded};
use super::tree::{Node, Position, Tree, position};
use super::{BundleFiles, failure, folders, unreadable, walk_error};
use crate::diag::{Code, Diagnostics, Fatal};
use crate::regular_file;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;
use std::rc::Rc;
use walkdir::{DirEntry, WalkDir};

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
        let below = |entry: &DirEntry| {
            let path = entry.path().strip_prefix(folder).unwrap_or(entry.path());
            path.as_os_str().as_encoded_bytes().to_vec()
        };
        // Nothing is read of other directories.
        let is_near = |entry: &DirEntry| position(&folders, &below(entry)) != Position::Outside;
        let walk = WalkDir::new(folder).min_depth(1).sort_by_file_name().into_iter();
        for entry in walk.filter_entry(is_near) {
            let entry = entry.map_err(|error| {
                let (path, error) = walk_error(folder, error);
                let path = path.strip_prefix(folder).unwrap_or(&path);
                failed(shown, &path.display().to_string(), &error)
            })?;
            let path = below(&entry);
            let added = add(&mut tree, &entry, &path, limits.kept_file_bytes);
            added.map_err(|error| failed(shown, &show(&path), &error))?;
        }
        Ok(tree)
    };
    folders::bundle(&BTreeMap::new(), read, diagnostics)
}

/// Adds an entry at `path` of the bundle.
fn add(tree: &mut Tree, entry: &DirEntry, path: &[u8], limit: u64) -> io::Result<()> {
    let kind = entry.file_type();
    let node = if kind.is_dir() {
        Node::Folder
    } else if kind.is_file() && tree.position(path) == Position::Inside {
        tree.check_size(path, entry.metadata()?.len())?;
        Node::File(Rc::new(read_file(entry.path(), limit)?))
    } else if kind.is_file() {
        Node::Refused("is not a directory".to_owned())
    } else {
        let what = if kind.is_symlink() { "is a symbolic link" } else { "is a special file" };
        Node::Refused(what.to_owned())
    };
    tree.insert(path.to_vec(), node)
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
