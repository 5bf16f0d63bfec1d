//! The part of an image's file system that is relevant for a bundle, in memory.
//!
//! Layers, tars and directories are read into a [`Tree`]: it keeps the regular files of a few
//! directories, and otherwise only the entries that affect these directories. Entries that are not
//! allowed in a bundle become nodes too; they are errors only if they still exist at the end, in a
//! directory that the bundle uses.

mod folder;
mod whiteout;

use super::archive::{EntryKind, TarEntry, show};
use super::limits::{Limits, at_most, exceeded, in_bytes};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::rc::Rc;

/// Something at a path of the tree.
#[derive(Clone, Debug)]
pub(super) enum Node {
    Folder,
    File(Rc<Vec<u8>>),
    Symlink(Vec<u8>),
    /// An entry that is not allowed in a bundle; the text continues "`path` ".
    Refused(String),
}

/// The tree. Paths are those of the image, normalised: no leading slash, no `.` or `..`.
#[derive(Debug, Default)]
pub(super) struct Tree {
    nodes: BTreeMap<Vec<u8>, (usize, Node)>,
    folders: Vec<String>,
    /// The directory of the archive that is treated as the root of the image.
    root: Vec<u8>,
    limits: Limits,
    symlinks: usize,
    followed: usize,
    /// The layer that is being applied, numbered upwards.
    layer: usize,
    /// The paths whose earlier content it has hidden.
    hidden: BTreeSet<(Vec<u8>, bool)>,
    kept_files: u64,
    kept_bytes: u64,
    name_bytes: u64,
}

/// Bytes of the longest path that an operating system would take.
const LONGEST_PATH: usize = 4096;

/// Linux's limit on symbolic links in one path.
const MOST_LINKS: usize = 40;

/// Symbolic links that all paths of an image may lead through; archivers write the real paths.
const MOST_FOLLOWED: usize = 100_000;

/// The position of a path relative to the kept directories.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Position {
    /// Below one of them.
    Inside,
    /// A kept directory, or one of its parents.
    Above,
    Outside,
}

impl Tree {
    /// Creates an empty tree that keeps the files of `folders`.
    pub(super) fn new(folders: Vec<String>, limits: &Limits) -> Self {
        Tree { folders, limits: limits.clone(), ..Tree::default() }
    }

    /// Sets the root, for an archive with a common top directory.
    pub(super) fn rooted(mut self, root: &[u8]) -> Self {
        self.root = root.to_vec();
        self
    }

    /// Applies an entry of a tar that is not a layer: no name has a special meaning.
    pub(super) fn apply(&mut self, entry: &mut TarEntry<'_>) -> io::Result<()> {
        // `..` is resolved in the path alone, before symbolic links are.
        let (path, climbs) = self.locate(&entry.path);
        if path.is_empty() {
            return Ok(());
        }
        let position = self.position(&path);
        if position == Position::Outside {
            return self.apply_outside(path, entry);
        }
        if path.len() > LONGEST_PATH {
            return Err(exceeded(format!("a path of the bundle has {} bytes", path.len())));
        }
        let node = match &entry.kind {
            _ if climbs => {
                Node::Refused(format!("is written with `..`, as `{}`", show(&entry.path)))
            }
            EntryKind::Folder => Node::Folder,
            EntryKind::File if position == Position::Inside => {
                self.check_size(&path, entry.size)?;
                Node::File(Rc::new(entry.read()?))
            }
            // Above the kept directories: a file in their place, whose content does not matter.
            EntryKind::File => Node::File(Rc::default()),
            EntryKind::HardLink(target) => self.linked(&path, target)?,
            EntryKind::Symlink(target) => Node::Symlink(target.clone()),
            EntryKind::Special(what) => Node::Refused(format!("is {what}")),
        };
        self.insert(path, node)
    }

    /// Applies an entry outside the kept directories. Only symbolic links are recorded, because
    /// later entries may pass through them.
    fn apply_outside(&mut self, path: Vec<u8>, entry: &TarEntry<'_>) -> io::Result<()> {
        if path.len() > LONGEST_PATH {
            return Ok(());
        }
        // Later entries may write into a kept directory through a link outside of it.
        if let Some(target) = self.through_symlinks(&path)?
            && self.position(&target) != Position::Outside
        {
            let how = format!("is written through a symbolic link, as `{}`", show(&path));
            return self.insert(target, Node::Refused(how));
        }
        if let EntryKind::Symlink(target) = &entry.kind
            && target.len() <= LONGEST_PATH
        {
            return self.insert(path, Node::Symlink(target.clone()));
        }
        self.remove(&path);
        // A folder over a folder keeps what is below; anything else replaces it.
        if entry.kind != EntryKind::Folder {
            self.remove_below(&path);
        }
        Ok(())
    }

    /// Returns the content of a kept file.
    pub(super) fn file(&self, path: &str) -> Option<&[u8]> {
        match self.nodes.get(path.as_bytes()) {
            Some((_, Node::File(content))) => Some(content),
            _ => None,
        }
    }

    /// Returns a path of the archive as one from the root, and whether it climbs.
    fn locate(&self, path: &[u8]) -> (Vec<u8>, bool) {
        let (path, climbs) = normalise(path);
        if self.root.is_empty() {
            return (path, climbs);
        }
        let rest = path.strip_prefix(self.root.as_slice());
        (rest.and_then(|rest| rest.strip_prefix(b"/")).unwrap_or_default().to_vec(), climbs)
    }

    pub(super) fn position(&self, path: &[u8]) -> Position {
        position(&self.folders, path)
    }

    /// Inserts a node and replaces the existing one, unless both are directories. Of a file,
    /// [`check_size`](Self::check_size) has accepted the size.
    pub(super) fn insert(&mut self, path: Vec<u8>, node: Node) -> io::Result<()> {
        // As on a file system: a file or link in place of a folder hides the folder's content.
        if !matches!(node, Node::Folder) {
            self.remove_below(&path);
        }
        if let Node::File(content) = &node {
            self.kept_bytes += content.len() as u64;
            self.kept_files += 1;
            let limit = self.limits.kept_files;
            let too_many = || format!("more than {limit} files in the bundle's directories");
            at_most(self.kept_files, limit, too_many)?;
        }
        self.insert_parents(&path)?;
        let target = if let Node::Symlink(target) = &node { target.len() } else { 0 };
        self.count_name(path.len() + target)?;
        self.remove(&path);
        self.symlinks += usize::from(matches!(node, Node::Symlink(_)));
        self.nodes.insert(path, (self.layer, node));
        Ok(())
    }

    /// Inserts the parent directories of a file, which archives can omit. Symbolic links in the
    /// path are kept, to be reported.
    fn insert_parents(&mut self, path: &[u8]) -> io::Result<()> {
        for (end, _) in path.iter().enumerate().filter(|(_, byte)| **byte == b'/') {
            let parent = &path[..end];
            if self.position(parent) == Position::Outside {
                continue;
            }
            match self.nodes.get_mut(parent) {
                // The folder is of this layer now, and a whiteout of the same layer does not remove
                // it.
                Some((made, Node::Folder)) => *made = self.layer,
                Some((_, Node::Symlink(_) | Node::Refused(_))) => {}
                Some((_, Node::File(_))) | None => {
                    self.count_name(parent.len())?;
                    self.nodes.insert(parent.to_vec(), (self.layer, Node::Folder));
                }
            }
        }
        Ok(())
    }

    fn count_name(&mut self, length: usize) -> io::Result<()> {
        self.limits.count_name(&mut self.name_bytes, length, "its file names and links")
    }

    /// Returns an error if the content of a file would be too large, alone or with all others.
    pub(super) fn check_size(&self, path: &[u8], size: u64) -> io::Result<()> {
        let (file, all) = (self.limits.kept_file_bytes, self.limits.kept_bytes);
        at_most(size, file, || {
            let (path, size, limit) = (show(path), in_bytes(size), in_bytes(file));
            format!("the file `{path}` has {size}; the limit is {limit}")
        })?;
        at_most(self.kept_bytes.saturating_add(size), all, || {
            format!("the bundle's files are larger than {} in total", in_bytes(all))
        })
    }

    /// Resolves a hard link at `path`.
    fn linked(&self, path: &[u8], target: &[u8]) -> io::Result<Node> {
        // The target of a hard link is a path of the archive, not relative to the link.
        match self.nodes.get(&self.locate(target).0) {
            Some((_, Node::File(content))) => {
                self.check_size(path, content.len() as u64)?;
                Ok(Node::File(Rc::clone(content)))
            }
            _ => Ok(Node::Refused(format!(
                "is a hard link to `{}`, which is not a file of the bundle",
                show(target)
            ))),
        }
    }

    /// Resolves symbolic links in the parents of a path; `None` if there are none.
    fn through_symlinks(&mut self, path: &[u8]) -> io::Result<Option<Vec<u8>>> {
        if self.symlinks == 0 {
            return Ok(None);
        }
        let mut path = path.to_vec();
        // Links may form a cycle.
        for followed in 0..MOST_LINKS {
            let link =
                path.iter().enumerate().filter(|(_, byte)| **byte == b'/').find_map(|(end, _)| {
                    match self.nodes.get(&path[..end]) {
                        Some((_, Node::Symlink(target))) => Some((end, target)),
                        _ => None,
                    }
                });
            let Some((end, target)) = link else {
                return Ok((followed > 0).then_some(path));
            };
            let start = if target.starts_with(b"/") { &[] } else { split(&path[..end]).0 };
            let joined = [start, b"/", target, &path[end..]].concat();
            path = normalise(&joined).0;
            self.followed += 1;
            if self.followed > MOST_FOLLOWED {
                return Err(exceeded(format!(
                    "more than {MOST_FOLLOWED} paths lead through symbolic links"
                )));
            }
            if path.len() > LONGEST_PATH {
                return Ok(None);
            }
        }

        Ok(None)
    }

    /// Removes the node at `path`.
    fn remove(&mut self, path: &[u8]) {
        if let Some((_, node)) = self.nodes.remove(path) {
            self.symlinks -= usize::from(matches!(node, Node::Symlink(_)));
        }
    }

    /// Removes the nodes below `path`.
    fn remove_below(&mut self, path: &[u8]) {
        let doomed: Vec<_> = self.nodes.range(below(path)).map(|(path, _)| path.clone()).collect();
        for path in doomed {
            self.remove(&path);
        }
    }
}

/// Returns the position of a path relative to the directories that are kept.
pub(super) fn position(folders: &[String], path: &[u8]) -> Position {
    let mut position = Position::Outside;
    for folder in folders.iter().map(String::as_bytes) {
        if is_below(path, folder) {
            return Position::Inside;
        }
        if path == folder || is_below(folder, path) {
            position = Position::Above;
        }
    }
    position
}

/// Returns the range of all paths below `path`; the root's is everything.
fn below(path: &[u8]) -> (std::ops::Bound<Vec<u8>>, std::ops::Bound<Vec<u8>>) {
    use std::ops::Bound::{Excluded, Unbounded};
    if path.is_empty() {
        return (Unbounded, Unbounded);
    }
    // `0` is the character after `/`.
    (Excluded([path, b"/"].concat()), Excluded([path, b"0"].concat()))
}

pub(super) fn is_below(path: &[u8], folder: &[u8]) -> bool {
    if folder.is_empty() {
        return !path.is_empty();
    }
    path.strip_prefix(folder).is_some_and(|rest| rest.starts_with(b"/"))
}

/// Splits a path into its parent and its last component.
pub(super) fn split(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(slash) => (&path[..slash], &path[slash + 1..]),
        None => (&[], path),
    }
}

pub(super) fn join(parent: &[u8], name: &[u8]) -> Vec<u8> {
    if parent.is_empty() { name.to_vec() } else { [parent, b"/", name].concat() }
}

/// A mark in a layer, which hides what earlier layers have (OCI image specification, "Whiteouts").
pub(super) enum Whiteout {
    /// Hides this path and everything below it.
    Path(Vec<u8>),
    /// Hides everything below this directory.
    Below(Vec<u8>),
    /// Another mark of a union file system, or a name that no file can have.
    Other,
}

/// Returns the mark that a path of a layer is; `None` for a file.
pub(super) fn whiteout(path: &[u8]) -> Option<Whiteout> {
    let (parent, name) = split(path);
    Some(match name.strip_prefix(b".wh.")? {
        b".wh..opq" => Whiteout::Below(parent.to_vec()),
        b"" | b"." | b".." => Whiteout::Other,
        mark if mark.starts_with(b".wh.") => Whiteout::Other,
        hidden => Whiteout::Path(join(parent, hidden)),
    })
}

/// Returns a path of an archive as one from the root of the image, and whether it climbed with
/// `..`; the root is its own parent.
pub(super) fn normalise(path: &[u8]) -> (Vec<u8>, bool) {
    let mut parts: Vec<&[u8]> = Vec::new();
    let mut climbs = false;
    for part in path.split(|byte| *byte == b'/') {
        match part {
            b"" | b"." => {}
            // Above the root is the root, as in a container.
            b".." => {
                climbs = true;
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    (parts.join(&b'/'), climbs)
}
