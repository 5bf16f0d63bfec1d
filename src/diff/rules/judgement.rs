//! The findings of the edits of an object. A finding about a field that may be missing on both sides
//! belongs to the edit that is nearest to it.

use super::crd_schema::DEFAULT_REFUSED;
use crate::Finding;
use crate::path::Step;
use crate::tree::Edit;
use std::cell::OnceCell;
use std::collections::HashMap;

/// The findings of each edit of an object.
pub(super) struct Judgement<'e> {
    edits: &'e [Edit],
    findings: Vec<Vec<Finding>>,
    /// Built on demand: most objects have no finding to place, and some have thousands of edits.
    index: OnceCell<Index<'e>>,
}

/// Index of edits by path.
#[derive(Default)]
struct Index<'e> {
    /// The first edit at a path.
    at: HashMap<&'e [Step], usize>,
    /// The first edit at a path or below.
    below: HashMap<&'e [Step], usize>,
}

impl<'e> Judgement<'e> {
    /// Judges each edit by itself.
    pub(super) fn new(edits: &'e [Edit], judge: impl Fn(&'e Edit) -> Vec<Finding>) -> Self {
        Judgement { edits, findings: edits.iter().map(judge).collect(), index: OnceCell::new() }
    }

    /// Adds a finding to the edit nearest to a path: the one touching it, otherwise the first one
    /// below a parent, because a cause may be elsewhere in the object.
    pub(super) fn add(&mut self, path: &[Step], finding: Finding) {
        let below = |parent| self.index().below.get(parent).copied();
        let nearest = self.place(path).or_else(|| parents(path).find_map(below));
        if let Some(findings) = nearest.and_then(|at| self.findings.get_mut(at)) {
            findings.push(finding);
        }
    }

    /// Returns the findings of the first edit at, above or below a path.
    pub(super) fn touching(&mut self, path: &[Step]) -> Option<&mut Vec<Finding>> {
        self.place(path).and_then(|at| self.findings.get_mut(at))
    }

    /// Returns the findings of each edit, the worst first. An edit without any gets one.
    pub(super) fn finish(mut self, fallback: impl Fn(&'e Edit) -> Finding) -> Vec<Vec<Finding>> {
        for (findings, edit) in self.findings.iter_mut().zip(self.edits) {
            if findings.is_empty() {
                findings.push(fallback(edit));
            }
            // A refused default first: the others of the edit matter only without it.
            findings.sort_by_key(|Finding { rule, .. }| (rule.class, *rule != &DEFAULT_REFUSED));
        }
        self.findings
    }

    fn place(&self, path: &[Step]) -> Option<usize> {
        let above = parents(path).filter_map(|parent| self.index().at.get(parent));
        above.chain(self.index().below.get(path)).min().copied()
    }

    fn index(&self) -> &Index<'e> {
        self.index.get_or_init(|| {
            let mut index = Index::default();
            for (number, edit) in self.edits.iter().enumerate() {
                let steps = edit.path.steps();
                index.at.entry(steps).or_insert(number);
                // Every parent knows the first edit below it, so that a search does not walk all
                // edits.
                for length in 0..=steps.len() {
                    index.below.entry(&steps[..length]).or_insert(number);
                }
            }
            index
        })
    }
}

/// Returns the paths above a path, the longest first.
fn parents(path: &[Step]) -> impl Iterator<Item = &[Step]> {
    (0..path.len()).rev().map(|length| &path[..length])
}
