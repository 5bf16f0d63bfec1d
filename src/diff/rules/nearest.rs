//! Finds the edit that a finding about a whole object belongs to.

use crate::path::Step;
use crate::tree::Edit;
use std::collections::HashMap;

/// Index of the edits of an object by path.
pub(super) struct Nearest<'e> {
    /// The first edit at a path.
    at: HashMap<&'e [Step], usize>,
    /// The first edit at a path or below.
    below: HashMap<&'e [Step], usize>,
}

impl<'e> Nearest<'e> {
    pub(super) fn of(edits: &'e [Edit]) -> Self {
        let mut nearest = Nearest { at: HashMap::new(), below: HashMap::new() };
        for (index, edit) in edits.iter().enumerate() {
            let steps = edit.path.steps();
            nearest.at.entry(steps).or_insert(index);
            // Every parent knows the first edit below it, so that a search does not walk all edits.
            for length in 0..=steps.len() {
                nearest.below.entry(&steps[..length]).or_insert(index);
            }
        }
        nearest
    }

    /// Returns the index of the first edit at, above or below a path.
    pub(super) fn touching(&self, path: &[Step]) -> Option<usize> {
        let above = parents(path).filter_map(|parent| self.at.get(parent));
        above.chain(self.below.get(path)).min().copied()
    }

    /// Returns the index of the edit nearest to a path: the one touching it, otherwise the first one
    /// below a parent, because a cause may be elsewhere in the object.
    pub(super) fn to(&self, path: &[Step]) -> Option<usize> {
        let elsewhere = || parents(path).find_map(|parent| self.below.get(parent)).copied();
        self.touching(path).or_else(elsewhere)
    }
}

/// Returns the paths above a path, the longest first.
fn parents(path: &[Step]) -> impl Iterator<Item = &[Step]> {
    (0..path.len()).rev().map(|length| &path[..length])
}
