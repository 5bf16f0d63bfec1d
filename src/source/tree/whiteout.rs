//! Layers: what one hides of those before it.

use super::{Node, Position, Tree, Whiteout, below, whiteout};
use crate::archive::{TarEntry, show};
use std::io;

impl Tree {
    /// Begins the next layer; layers come in order.
    pub(crate) fn begin_layer(&mut self) {
        self.layer += 1;
        self.hidden.clear();
    }

    /// Applies an entry of a layer.
    pub(crate) fn apply_layer_entry(&mut self, entry: &mut TarEntry<'_>) -> io::Result<()> {
        let (path, climbs) = self.locate(&entry.path);
        let mark = match whiteout(&path) {
            None => return self.apply(entry),
            Some(Whiteout::Other) => return Ok(()),
            Some(Whiteout::Below(folder)) => (folder, true),
            Some(Whiteout::Path(path)) => (path, false),
        };
        // Layers with the same whiteout thousands of times are cheap to write and would be
        // expensive to apply.
        if self.hidden.contains(&mark) {
            return Ok(());
        }
        let (hidden, only_below) = mark;
        let followed = self.through_symlinks(&hidden)?;
        if (climbs || followed.is_some())
            && self.position(followed.as_ref().unwrap_or(&hidden)) != Position::Outside
        {
            let marker = show(&entry.path);
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!("`{marker}` deletes files of the bundle through `..` or a symbolic link"),
            ));
        }
        self.hide(hidden, only_below)
    }

    /// Hides a path of earlier layers and everything below it, or only what is below it.
    ///
    /// The position of a whiteout in its layer does not matter (OCI image specification,
    /// "Whiteouts"): entries of the same layer are kept.
    fn hide(&mut self, hidden: Vec<u8>, only_below: bool) -> io::Result<()> {
        let layer = self.layer;
        let is_older = |(_, (made, _)): &(&Vec<u8>, &(usize, Node))| *made < layer;
        let own = self.nodes.get_key_value(&hidden).filter(|_| !only_below);
        let doomed = own.into_iter().chain(self.nodes.range(below(&hidden))).filter(is_older);
        let doomed: Vec<_> = doomed.map(|(path, _)| path.clone()).collect();
        // Deepest paths first, so that only paths of this layer remain below a path.
        for path in doomed.into_iter().rev() {
            self.remove(&path);
            let is_in_use = self.nodes.range(below(&path)).next().is_some();
            if is_in_use && self.position(&path) != Position::Outside {
                self.nodes.insert(path, (layer, Node::Folder));
            }
        }
        // Once is enough: from here on, only this layer adds anything.
        self.count_name(hidden.len())?;
        self.hidden.insert((hidden, only_below));
        Ok(())
    }
}
