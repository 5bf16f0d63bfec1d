//! Identities of objects, and pairing of the objects of two sides.

use super::{Side, renames};
use crate::ir::Identity;
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};

/// An object on both sides or on one.
#[derive(Clone, Debug)]
pub struct Pair<'a> {
    /// Identity on the new side, or on the old side if removed.
    pub id: Identity,
    /// Identity on the old side.
    pub old_id: Option<Identity>,
    /// The old object.
    pub old: Option<&'a Json>,
    /// The new object.
    pub new: Option<&'a Json>,
}

/// Renamed objects: the new identities by the old ones.
pub type Renamed<'p> = BTreeMap<&'p Identity, &'p Identity>;

/// Pairs the objects of two sides by identity, and the rest by content; in the order of their
/// identities.
pub fn pairs<'a>(old: &'a Side, new: &'a Side) -> Vec<Pair<'a>> {
    let pair = |old_id: Option<&Identity>, id: &Identity| Pair {
        id: id.clone(),
        old_id: old_id.cloned(),
        old: old_id.and_then(|id| old.objects.get(id)),
        new: new.objects.get(id),
    };
    let mut list: Vec<Pair<'a>> = Vec::new();
    // By kind and group: an object of another kind is never the same one renamed.
    let mut gone: BTreeMap<(&str, &str), Vec<&Identity>> = BTreeMap::new();
    let mut came: BTreeMap<(&str, &str), Vec<&Identity>> = BTreeMap::new();
    for id in old.objects.keys() {
        if new.objects.contains_key(id) {
            list.push(pair(Some(id), id));
        } else {
            gone.entry((&id.kind, &id.group)).or_default().push(id);
        }
    }
    for id in new.objects.keys().filter(|id| !old.objects.contains_key(*id)) {
        came.entry((&id.kind, &id.group)).or_default().push(id);
    }

    let mut renamed: BTreeSet<&Identity> = BTreeSet::new();
    for (kind, gone) in &gone {
        // A CRD with another name is another API, never a rename.
        let came = came.get(kind).filter(|_| kind.0 != "CustomResourceDefinition");
        let pairs = came.map(|came| renames::pairs(old, new, gone, came));
        for (from, to) in pairs.unwrap_or_default() {
            // Both are in the list once, as a pair.
            renamed.extend([from, to]);
            list.push(pair(Some(from), to));
        }
    }

    let is_alone = |id: &&&Identity| !renamed.contains(**id);
    list.extend(gone.values().flatten().filter(is_alone).map(|id| pair(Some(id), id)));
    list.extend(came.values().flatten().filter(is_alone).map(|id| pair(None, id)));
    // Renamed objects are at their new names, where readers of the new chart look for them.
    list.sort_by(|a, b| a.id.cmp(&b.id));
    list
}

/// Returns the new identities of renamed objects, by their old ones.
pub fn renamed<'p>(pairs: &'p [Pair<'_>]) -> Renamed<'p> {
    let ids = pairs.iter().filter_map(|pair| Some((pair.old_id.as_ref()?, &pair.id)));
    ids.filter(|(old, new)| old != new).collect()
}
