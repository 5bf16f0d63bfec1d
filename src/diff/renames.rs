//! Detects renamed objects: pairs of a removed and an added object.
//!
//! Objects are compared by their leaves, the scalars with their paths: their similarity is the
//! fraction of all leaves that both have.
//!
//! 1. All objects are compared with each other, for at most [`MOST_COMPARISONS`] comparisons.
//! 2. Otherwise each old object is compared with at most [`MOST_CANDIDATES`] new ones that share its
//!    rarest features. A feature is a leaf, a word of the name, or the name without digits. One that
//!    more than [`MOST_SHARERS`] new objects have tells none of them apart.
//!
//! The most similar objects are paired first. The time is linear in the number of objects.

use super::{Identity, Side};
use serde_json::Value as Json;
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher as _};

/// Minimum similarity of a renamed object, from 0 to 1.
const ALIKE: f64 = 0.8;

/// Minimum similarity if the names differ only in numbers, such as versions.
const ALIKE_BY_NAME: f64 = 0.4;

/// Minimum number of leaves; objects with fewer are paired only if they are the only removed and the
/// only added object of their kind.
const MIN_LEAVES: usize = 5;

/// Maximum number of comparisons of objects of one kind for which all pairs are compared.
const MOST_COMPARISONS: usize = 10_000;

/// Maximum number of candidates of an old object otherwise.
const MOST_CANDIDATES: usize = 32;

/// Maximum number of new objects with a feature that is used.
const MOST_SHARERS: usize = 8;

/// Returns the renamed objects of one kind, with their old and new identities.
///
/// `gone` are the removed and `came` the added objects, both sorted.
pub(super) fn pairs<'a>(
    old: &Side,
    new: &Side,
    gone: &[&'a Identity],
    came: &[&'a Identity],
) -> Vec<(&'a Identity, &'a Identity)> {
    let contents = |side: &Side, ids: &[&'a Identity]| -> Vec<Content<'a>> {
        ids.iter().map(|id| Content::of(id, side.objects.get(*id))).collect()
    };
    // Small objects are alike by accident, unless there is one on each side only.
    let only = gone.len() == 1 && came.len() == 1;
    let mut gone = contents(old, gone);
    gone.retain(|content| only || content.leaves.len() >= MIN_LEAVES);
    most_alike(&gone, &contents(new, came))
}

/// Content of an object for detecting renames.
struct Content<'a> {
    id: &'a Identity,
    /// Namespace, and name without its digits.
    stem: (&'a str, String),
    /// Hashes of the leaves with their paths, sorted.
    leaves: Vec<u64>,
    /// Hashes of the features, each once, in the order of the object.
    features: Vec<u64>,
}

impl<'a> Content<'a> {
    fn of(id: &'a Identity, object: Option<&Json>) -> Self {
        let mut leaves = Vec::new();
        if let Some(object) = object {
            collect_leaves(object, 0, &id.name, &mut leaves);
        }

        // Names with a version are the usual renames: `lamp-v1.0.0` and `lamp-v1.1.0`.
        let digits = |c: char| c.is_ascii_digit() || c == '.';
        let stem = (id.namespace.as_str(), id.name.replace(digits, ""));
        let words = id.name.split(|c: char| !c.is_alphanumeric()).map(|word| hash(("word", word)));
        let mut features: Vec<u64> = leaves.clone();
        features.extend(words.chain([hash(&stem)]));
        let mut seen = HashSet::new();
        features.retain(|feature| seen.insert(*feature));

        leaves.sort_unstable();
        Content { id, stem, leaves, features }
    }

    /// Returns the fraction of all leaves that both objects have.
    fn likeness(&self, other: &Content<'_>) -> f64 {
        let (mut mine, mut theirs) = (self.leaves.as_slice(), other.leaves.as_slice());
        let mut shared = 0;
        while let ([one, rest @ ..], [another, others @ ..]) = (mine, theirs) {
            shared += usize::from(one == another);
            if one <= another {
                mine = rest;
            }
            if another <= one {
                theirs = others;
            }
        }

        // The Jaccard index of two multisets.
        let total = self.leaves.len() + other.leaves.len() - shared;
        if total == 0 { 0.0 } else { shared as f64 / total as f64 }
    }
}

fn hash(value: impl Hash) -> u64 {
    // With fixed keys, unlike `RandomState`: a collision would otherwise pair objects in some runs
    // only.
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

fn collect_leaves(value: &Json, path: u64, name: &str, leaves: &mut Vec<u64>) {
    let step = |key: &str| hash((path, key));
    match value {
        Json::Object(map) if !map.is_empty() => {
            map.iter().for_each(|(key, value)| collect_leaves(value, step(key), name, leaves));
        }
        Json::Array(items) if !items.is_empty() => {
            items.iter().for_each(|item| collect_leaves(item, step("[]"), name, leaves));
        }
        // Objects often repeat their own name in labels and selectors.
        Json::String(text) if text == name => leaves.push(step("=name")),
        leaf => leaves.push(step(&leaf.to_string())),
    }
}

/// Returns pairs of similar objects, the most similar first, each object in at most one pair.
fn most_alike<'a>(gone: &[Content<'a>], came: &[Content<'a>]) -> Vec<(&'a Identity, &'a Identity)> {
    let mut scored: Vec<(f64, &Identity, &Identity)> = Vec::new();
    for (from, to) in candidates(gone, came) {
        let (Some(from), Some(to)) = (gone.get(from), came.get(to)) else { continue };
        let enough = if from.stem == to.stem { ALIKE_BY_NAME } else { ALIKE };
        let likeness = from.likeness(to);
        if likeness >= enough {
            scored.push((likeness, from.id, to.id));
        }
    }
    // Ties by name, so that the same charts give the same report.
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| (a.1, a.2).cmp(&(b.1, b.2))));

    let mut paired: HashSet<&Identity> = HashSet::new();
    let mut found = Vec::new();
    for (_, from, to) in scored {
        if !paired.contains(from) && !paired.contains(to) {
            paired.extend([from, to]);
            found.push((from, to));
        }
    }
    found
}

/// Returns the objects to compare, as indices of `gone` and `came`.
fn candidates(gone: &[Content<'_>], came: &[Content<'_>]) -> Vec<(usize, usize)> {
    if gone.len() * came.len() <= MOST_COMPARISONS {
        return (0..gone.len())
            .flat_map(|from| (0..came.len()).map(move |to| (from, to)))
            .collect();
    }
    let mut sharers: HashMap<u64, Vec<usize>> = HashMap::new();
    for (index, content) in came.iter().enumerate() {
        for feature in &content.features {
            sharers.entry(*feature).or_default().push(index);
        }
    }

    let mut all = Vec::new();
    for (from, content) in gone.iter().enumerate() {
        let mut rare: Vec<&Vec<usize>> =
            content.features.iter().filter_map(|feature| sharers.get(feature)).collect();
        rare.retain(|sharers| sharers.len() <= MOST_SHARERS);
        // A stable sort keeps equally rare features in the order of the object.
        rare.sort_by_key(|sharers| sharers.len());
        let mut seen = HashSet::new();
        let chosen = rare.into_iter().flatten().filter(|to| seen.insert(**to));
        all.extend(chosen.take(MOST_CANDIDATES).map(|to| (from, *to)));
    }
    all
}

#[cfg(test)]
mod tests;
