//! The part of an image's file system that matters to a bundle, in memory.
//!
//! Layers, tars and folders all go through [`Tree`]: it keeps the regular files of a few folders,
//! and of everything else only what decides how those folders look in the end. What may not be in
//! a bundle becomes a node too, and an error only when it is still there at the end and in a folder
//! that the bundle really uses.

use super::archive::{Entry, EntryKind, show};
use super::limits::{Limits, exceeded, in_bytes};
use crate::diag::{Code, Diagnostic, Place};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::rc::Rc;

/// Something at a path of the tree.
#[derive(Clone, Debug)]
enum Node {
    Folder,
    File(Rc<Vec<u8>>),
    Symlink(Vec<u8>),
    /// What may not be in a bundle, in words that follow "`path` ".
    Refused(String),
}

/// The tree. Paths are those of the image, normalised: no leading slash, no `.` or `..`.
#[derive(Debug)]
pub(super) struct Tree {
    nodes: BTreeMap<Vec<u8>, (usize, Node)>,
    folders: Vec<String>,
    /// The folder of the archive that counts as the root of the image.
    root: Vec<u8>,
    limits: Limits,
    symlinks: usize,
    followed: usize,
    /// The layer that is being applied, and the paths whose earlier content it has hidden.
    hidden: (usize, BTreeSet<(Vec<u8>, bool)>),
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

/// Problems of one folder that are listed one by one.
const MOST_PROBLEMS: usize = 20;

/// Where a path is, seen from the kept folders.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Position {
    /// Below one of them.
    Inside,
    /// One of them, or a folder that leads to one.
    Above,
    Outside,
}

/// Files or problems of one folder.
pub(super) type Taken = Result<BTreeMap<String, Rc<Vec<u8>>>, Vec<Diagnostic>>;

impl Tree {
    /// An empty tree that keeps the files of `folders`.
    pub(super) fn new(folders: Vec<String>, limits: &Limits) -> Self {
        Tree {
            nodes: BTreeMap::new(),
            folders,
            root: Vec::new(),
            limits: limits.clone(),
            symlinks: 0,
            followed: 0,
            hidden: (0, BTreeSet::new()),
            kept_files: 0,
            kept_bytes: 0,
            name_bytes: 0,
        }
    }

    /// The same for an archive that has everything in one folder.
    pub(super) fn rooted(mut self, root: &[u8]) -> Self {
        self.root = root.to_vec();
        self
    }

    /// Whether the files of `folder` are kept.
    pub(super) fn keeps(&self, folder: &str) -> bool {
        self.folders.iter().any(|f| f == folder)
    }

    /// Applies an entry of a layer; layers come in order, numbered upwards.
    pub(super) fn apply_layer_entry(
        &mut self,
        entry: &mut Entry<'_>,
        layer: usize,
    ) -> io::Result<()> {
        let (path, climbs) = self.locate(&entry.path);
        let (parent, name) = split(&path);
        let (hidden, only_below) = match name.strip_prefix(b".wh.") {
            None => return self.apply(entry, layer),
            Some(b".wh..opq") => (parent.to_vec(), true),
            // Other marks of a union file system, and names that no file can have.
            Some(b"" | b"." | b"..") => return Ok(()),
            Some(mark) if mark.starts_with(b".wh.") => return Ok(()),
            Some(hidden) => (join(parent, hidden), false),
        };
        if self.hidden.0 != layer {
            self.hidden = (layer, BTreeSet::new());
        }
        let hidden = (hidden, only_below);
        if self.hidden.1.contains(&hidden) {
            return Ok(());
        }
        let (hidden, only_below) = hidden;
        let followed = self.through_symlinks(&hidden)?;
        if (climbs || followed.is_some())
            && self.position(followed.as_ref().unwrap_or(&hidden)) != Position::Outside
        {
            let marker = show(&entry.path);
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!("`{marker}` hides files of the bundle through `..` or a symbolic link"),
            ));
        }
        self.hide(hidden, only_below, layer)
    }

    /// Hides what earlier layers have at a path and below it, or only below it.
    ///
    /// Where in its layer a whiteout stands has no meaning (the OCI image specification,
    /// "Whiteouts"): what this layer has put there already stays, in folders of its own.
    fn hide(&mut self, hidden: Vec<u8>, only_below: bool, layer: usize) -> io::Result<()> {
        let is_older = |(_, (made, _)): &(&Vec<u8>, &(usize, Node))| *made < layer;
        let own = self.nodes.get_key_value(&hidden).filter(|_| !only_below);
        let doomed = own.into_iter().chain(self.nodes.range(below(&hidden))).filter(is_older);
        let doomed: Vec<_> = doomed.map(|(path, _)| path.clone()).collect();
        // What is deepest goes first, so that what is left below a path is this layer's.
        for path in doomed.into_iter().rev() {
            self.remove(&path);
            let is_in_use = self.nodes.range(below(&path)).next().is_some();
            if is_in_use && self.position(&path) != Position::Outside {
                self.nodes.insert(path, (layer, Node::Folder));
            }
        }
        // Once is enough: from here on, only this layer adds anything.
        self.count_name(hidden.len())?;
        self.hidden.1.insert((hidden, only_below));
        Ok(())
    }

    /// Applies an entry of a tar that is not a layer: no name has a special meaning.
    pub(super) fn apply(&mut self, entry: &mut Entry<'_>, layer: usize) -> io::Result<()> {
        let (path, climbs) = self.locate(&entry.path);
        if path.is_empty() {
            return Ok(());
        }
        let position = self.position(&path);
        if path.len() > LONGEST_PATH {
            return match position {
                Position::Outside => Ok(()),
                _ => Err(exceeded(format!("a path of the bundle has {} bytes", path.len()))),
            };
        }
        if climbs && position != Position::Outside {
            return self.refuse(path, layer, climbing(&entry.path));
        }
        if position == Position::Outside {
            self.apply_outside(path, entry, layer)
        } else {
            let node = match &entry.kind {
                EntryKind::Folder => Node::Folder,
                EntryKind::File if position == Position::Inside => {
                    self.check_size(&path, entry.size)?;
                    Node::File(Rc::new(entry.read()?))
                }
                EntryKind::File => Node::File(Rc::default()),
                EntryKind::HardLink(target) => self.linked(&path, target)?,
                EntryKind::Symlink(target) => Node::Symlink(target.clone()),
                EntryKind::Special(what) => Node::Refused(format!("is {what}")),
            };
            self.insert(path, layer, node)
        }
    }

    /// Of what is outside only symbolic links are remembered: a later entry may pass through one.
    fn apply_outside(&mut self, path: Vec<u8>, entry: &Entry<'_>, layer: usize) -> io::Result<()> {
        if let Some(target) = self.through_symlinks(&path)?
            && self.position(&target) != Position::Outside
        {
            let how = format!("is written through a symbolic link, as `{}`", show(&path));
            return self.refuse(target, layer, how);
        }
        if let EntryKind::Symlink(target) = &entry.kind
            && target.len() <= LONGEST_PATH
        {
            return self.insert(path, layer, Node::Symlink(target.clone()));
        }
        self.remove(&path);
        if entry.kind != EntryKind::Folder {
            self.remove_below(&path);
        }
        Ok(())
    }

    /// Adds a regular file of `size` bytes that `read` gets.
    pub(super) fn add_file(
        &mut self,
        path: &[u8],
        size: u64,
        read: impl FnOnce() -> io::Result<Vec<u8>>,
    ) -> io::Result<()> {
        self.check_size(path, size)?;
        let content = read()?;
        self.insert(path.to_vec(), 0, Node::File(Rc::new(content)))
    }

    /// Adds a folder.
    pub(super) fn add_folder(&mut self, path: &[u8]) -> io::Result<()> {
        self.insert(path.to_vec(), 0, Node::Folder)
    }

    /// Adds something that may not be in a bundle; `what` follows its path in a sentence.
    pub(super) fn refuse(&mut self, path: Vec<u8>, layer: usize, what: String) -> io::Result<()> {
        self.insert(path, layer, Node::Refused(what))
    }

    /// The content of a kept file.
    pub(super) fn file(&self, path: &str) -> Option<&[u8]> {
        match self.nodes.get(path.as_bytes()) {
            Some((_, Node::File(content))) => Some(content),
            _ => None,
        }
    }

    /// The files of a kept folder by path relative to it; `None` when there is nothing at its
    /// path. With `flat`, folders in it are errors, as they are to OLM.
    pub(super) fn take(&self, folder: &str, flat: bool) -> Option<Taken> {
        let mut problems = Vec::new();
        let mut ancestors = Vec::new();
        for part in folder.split('/') {
            ancestors = join(&ancestors, part.as_bytes());
            if let Some((_, node)) = self.nodes.get(&ancestors) {
                problems.extend(problem(&ancestors, node));
            }
        }
        let mut files = BTreeMap::new();
        for (path, (_, node)) in self.nodes.range(below(folder.as_bytes())) {
            let relative = &path[folder.len() + 1..];
            let name = std::str::from_utf8(relative).ok().filter(|n| !n.contains(char::is_control));
            match (node, name) {
                (Node::Folder, _) if flat => problems.push(nested(path, folder)),
                (Node::Folder, _) => {}
                // The folder has been reported.
                (Node::File(_), Some(name)) if flat && name.contains('/') => {}
                (Node::File(content), Some(name)) => {
                    files.insert(name.to_owned(), Rc::clone(content));
                }
                (Node::File(_), None) => problems.push(
                    unexpected(path, "has a name that is not UTF-8 or has control characters")
                        .hint("Rename the file and build the bundle again."),
                ),
                (node, _) => problems.extend(problem(path, node)),
            }
        }
        if !problems.is_empty() {
            let more = problems.len().saturating_sub(MOST_PROBLEMS);
            problems.truncate(MOST_PROBLEMS);
            if more > 0 {
                let message = format!("`{folder}` has {more} more entries that may not be there");
                problems.push(Diagnostic::error(Code::UnexpectedEntry, message));
            }
            return Some(Err(problems));
        }
        let exists = !files.is_empty() || self.nodes.contains_key(folder.as_bytes());
        exists.then_some(Ok(files))
    }

    /// A path of the archive as one from the root, and whether it climbs.
    fn locate(&self, path: &[u8]) -> (Vec<u8>, bool) {
        let (path, climbs) = normalise(path);
        if self.root.is_empty() {
            return (path, climbs);
        }
        let rest = path.strip_prefix(self.root.as_slice());
        (rest.and_then(|rest| rest.strip_prefix(b"/")).unwrap_or_default().to_vec(), climbs)
    }

    fn position(&self, path: &[u8]) -> Position {
        let mut position = Position::Outside;
        for folder in self.folders.iter().map(String::as_bytes) {
            if is_below(path, folder) {
                return Position::Inside;
            }
            if path == folder || is_below(folder, path) {
                position = Position::Above;
            }
        }
        position
    }

    /// Puts a node in its place: what was there goes, unless a folder meets a folder.
    fn insert(&mut self, path: Vec<u8>, layer: usize, node: Node) -> io::Result<()> {
        if !matches!(node, Node::Folder) {
            self.remove_below(&path);
        }
        if let Node::File(content) = &node {
            self.kept_bytes += content.len() as u64;
            self.kept_files += 1;
            if self.kept_files > self.limits.kept_files {
                let limit = self.limits.kept_files;
                return Err(exceeded(format!("more than {limit} files in the bundle's folders")));
            }
        }
        self.insert_parents(&path, layer)?;
        let target = if let Node::Symlink(target) = &node { target.len() } else { 0 };
        self.count_name(path.len() + target)?;
        self.remove(&path);
        self.symlinks += usize::from(matches!(node, Node::Symlink(_)));
        self.nodes.insert(path, (layer, node));
        Ok(())
    }

    /// Archives need not mention the folders of a file: a layer that has the file has them, too.
    /// A symbolic link on the way stays, to be reported.
    fn insert_parents(&mut self, path: &[u8], layer: usize) -> io::Result<()> {
        for (end, _) in path.iter().enumerate().filter(|(_, byte)| **byte == b'/') {
            let parent = &path[..end];
            if self.position(parent) == Position::Outside {
                continue;
            }
            match self.nodes.get_mut(parent) {
                Some((made, Node::Folder)) => *made = layer,
                Some((_, Node::Symlink(_) | Node::Refused(_))) => {}
                Some((_, Node::File(_))) | None => {
                    self.count_name(parent.len())?;
                    self.nodes.insert(parent.to_vec(), (layer, Node::Folder));
                }
            }
        }
        Ok(())
    }

    fn count_name(&mut self, length: usize) -> io::Result<()> {
        // What a node costs besides its path, roughly.
        self.name_bytes += length as u64 + 64;
        if self.name_bytes > self.limits.name_bytes {
            return Err(exceeded(format!(
                "its file names and links take more than {}",
                in_bytes(self.limits.name_bytes)
            )));
        }
        Ok(())
    }

    fn check_size(&self, path: &[u8], size: u64) -> io::Result<()> {
        let (file, all) = (self.limits.kept_file_bytes, self.limits.kept_bytes);
        if size > file {
            let (path, size, limit) = (show(path), in_bytes(size), in_bytes(file));
            return Err(exceeded(format!("the file `{path}` has {size}; the limit is {limit}")));
        }
        if self.kept_bytes.saturating_add(size) > all {
            let limit = in_bytes(all);
            return Err(exceeded(format!("the bundle's files have more than {limit}")));
        }
        Ok(())
    }

    /// What a hard link at `path` is.
    fn linked(&self, path: &[u8], target: &[u8]) -> io::Result<Node> {
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

    /// Where a path leads when the symbolic links on the way to it are followed; `None` when there
    /// are none.
    fn through_symlinks(&mut self, path: &[u8]) -> io::Result<Option<Vec<u8>>> {
        if self.symlinks == 0 {
            return Ok(None);
        }
        let mut path = path.to_vec();
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
                    "more than {MOST_FOLLOWED} of its paths lead through symbolic links"
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

/// The range of all paths below `path`; the root's is everything.
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

/// Parent and last component.
pub(super) fn split(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(slash) => (&path[..slash], &path[slash + 1..]),
        None => (&[], path),
    }
}

pub(super) fn join(parent: &[u8], name: &[u8]) -> Vec<u8> {
    if parent.is_empty() { name.to_vec() } else { [parent, b"/", name].concat() }
}

/// A path of an archive as one from the root of the image, and whether it climbed with `..`; the
/// root is its own parent.
pub(super) fn normalise(path: &[u8]) -> (Vec<u8>, bool) {
    let mut parts: Vec<&[u8]> = Vec::new();
    let mut climbs = false;
    for part in path.split(|byte| *byte == b'/') {
        match part {
            b"" | b"." => {}
            b".." => {
                climbs = true;
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    (parts.join(&b'/'), climbs)
}

fn climbing(path: &[u8]) -> String {
    format!("is written with `..`, as `{}`", show(path))
}

fn problem(path: &[u8], node: &Node) -> Option<Diagnostic> {
    let what = match node {
        Node::Folder => return None,
        Node::File(_) => "is a file, not a folder".to_owned(),
        Node::Symlink(target) => format!("is a symbolic link to `{}`", show(target)),
        Node::Refused(what) => what.clone(),
    };
    Some(unexpected(path, &what).hint(
        "The manifests and metadata folders of a bundle may hold regular files only. Build the \
         bundle again with the file itself in this place.",
    ))
}

fn nested(path: &[u8], folder: &str) -> Diagnostic {
    unexpected(path, &format!("is a folder inside the manifests folder `{folder}`")).hint(
        "OLM refuses a bundle with folders in its manifests folder. Move the files up and build \
         the bundle again.",
    )
}

fn unexpected(path: &[u8], what: &str) -> Diagnostic {
    let path = show(path);
    Diagnostic::error(Code::UnexpectedEntry, format!("`{path}` {what}")).at(Place::file(path))
}
