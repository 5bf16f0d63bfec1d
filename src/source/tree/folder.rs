//! Extracts the files of one directory of a tree, or reports invalid entries.

use super::{Node, Tree, below, join};
use crate::archive::show;
use crate::diag::{Code, Diagnostic, Place};
use std::collections::BTreeMap;
use std::rc::Rc;

/// Maximum number of reported problems per directory.
const MOST_PROBLEMS: usize = 20;

impl Tree {
    /// Returns the files of a kept directory by relative path; none if the path does not exist. Adds
    /// what is wrong to `found`. With `flat`, subdirectories are errors, as in OLM.
    pub(crate) fn take(
        &self,
        folder: &str,
        flat: bool,
        found: &mut Vec<Diagnostic>,
    ) -> BTreeMap<String, Rc<Vec<u8>>> {
        let mut problems = Vec::new();
        let mut ancestors = Vec::new();
        for part in folder.split('/') {
            // A link on the way to the directory is the cause of all that is missing in it.
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
                // The directory has been reported.
                (Node::File(_), Some(name)) if flat && name.contains('/') => {}
                (Node::File(content), Some(name)) => {
                    files.insert(name.to_owned(), Rc::clone(content));
                }
                (Node::File(_), None) => problems.push(
                    unexpected(path, "has a name that is not UTF-8 or has control characters")
                        .hint("rename the file and build the bundle again"),
                ),
                (node, _) => problems.extend(problem(path, node)),
            }
        }
        let more = problems.len().saturating_sub(MOST_PROBLEMS);
        found.extend(problems.into_iter().take(MOST_PROBLEMS));
        if more > 0 {
            let message = format!("{more} more invalid entries in `{folder}`");
            found.push(Diagnostic::error(Code::UnexpectedEntry, message));
        }
        files
    }
}

fn problem(path: &[u8], node: &Node) -> Option<Diagnostic> {
    let what = match node {
        Node::Folder => return None,
        Node::File(_) => "is a file, not a directory".to_owned(),
        Node::Symlink(target) => format!("is a symbolic link to `{}`", show(target)),
        Node::Refused(what) => what.clone(),
    };
    Some(unexpected(path, &what).hint(
        "replace it with a regular file and build the bundle again: the manifests and metadata \
            directories may contain regular files only",
    ))
}

fn nested(path: &[u8], folder: &str) -> Diagnostic {
    unexpected(path, &format!("is a directory inside the manifests directory `{folder}`")).hint(
        "move the files up and build the bundle again: OLM rejects bundles with subdirectories of \
            the manifests directory",
    )
}

fn unexpected(path: &[u8], what: &str) -> Diagnostic {
    let path = show(path);
    Diagnostic::error(Code::UnexpectedEntry, format!("`{path}` {what}")).at(Place::file(path))
}
