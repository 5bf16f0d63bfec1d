//! Who an object is, and which object of one side is which of the other.

use super::Side;
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

/// Who an object is in a cluster: an API version more or less makes it no other one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identity {
    /// `kind`
    pub kind: String,
    /// API group; empty for the core group.
    pub group: String,
    /// `metadata.namespace`; empty for cluster scope and for the release namespace.
    pub namespace: String,
    /// `metadata.name`
    pub name: String,
}

/// Groups that took over kinds of another one: the objects are the same ones.
const MOVED_GROUPS: [(&str, &str, &str); 5] = [
    ("extensions", "Deployment", "apps"),
    ("extensions", "DaemonSet", "apps"),
    ("extensions", "ReplicaSet", "apps"),
    ("extensions", "Ingress", "networking.k8s.io"),
    ("extensions", "NetworkPolicy", "networking.k8s.io"),
];

impl Identity {
    /// The identity of an object.
    pub fn of(object: &Json) -> Self {
        let text = |pointer: &str| {
            object.pointer(pointer).and_then(Json::as_str).unwrap_or_default().to_owned()
        };
        let kind = text("/kind");
        let version = text("/apiVersion");
        let group = version.split_once('/').map_or("", |(group, _)| group);
        let group = MOVED_GROUPS
            .iter()
            .find(|(from, moved, _)| *from == group && *moved == kind)
            .map_or(group, |(_, _, to)| to)
            .to_owned();
        Identity {
            kind,
            group,
            namespace: text("/metadata/namespace"),
            name: text("/metadata/name"),
        }
    }
}

impl fmt::Display for Identity {
    /// `Deployment/manager`, `RoleBinding/kube-system/reader`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.kind)?;
        if !self.namespace.is_empty() {
            write!(f, "/{}", self.namespace)?;
        }
        write!(f, "/{}", self.name)
    }
}

/// An object of both sides, or of one.
#[derive(Clone, Debug)]
pub struct Pair<'a> {
    /// Who it is, on the new side where it is there.
    pub id: Identity,
    /// Who it was.
    pub old_id: Option<Identity>,
    /// The old object.
    pub old: Option<&'a Json>,
    /// The new object.
    pub new: Option<&'a Json>,
}

/// All objects of two sides.
#[derive(Clone, Debug)]
pub struct Pairs<'a> {
    /// In the order of their identities.
    pub list: Vec<Pair<'a>>,
}

/// How alike two objects must be for one to be the other renamed, of 1.
const ALIKE: f64 = 0.8;

/// The same for two whose names differ only in numbers, such as versions.
const ALIKE_BY_NAME: f64 = 0.4;

/// Pairs of objects of one kind whose contents are compared; of more, only those that are called
/// nearly the same.
const MOST_PAIRS: usize = 10_000;

/// Content that tells too little for a rename, in leaves; such objects are paired only when each
/// is the only one of its kind that came or went.
const TELLING: usize = 5;

impl<'a> Pairs<'a> {
    /// Pairs the objects of two sides by identity, and what remains by content.
    pub fn of(old: &'a Side, new: &'a Side) -> Self {
        let mut list: Vec<Pair<'a>> = Vec::new();
        let mut gone: BTreeMap<(&str, &str), Vec<&Identity>> = BTreeMap::new();
        let mut came: BTreeMap<(&str, &str), Vec<&Identity>> = BTreeMap::new();
        for (id, object) in &old.objects {
            match new.objects.get(id) {
                Some(now) => list.push(Pair {
                    id: id.clone(),
                    old_id: Some(id.clone()),
                    old: Some(object),
                    new: Some(now),
                }),
                None => gone.entry((&id.kind, &id.group)).or_default().push(id),
            }
        }
        for id in new.objects.keys().filter(|id| !old.objects.contains_key(*id)) {
            came.entry((&id.kind, &id.group)).or_default().push(id);
        }
        let mut renamed: BTreeSet<&Identity> = BTreeSet::new();
        for (kind, gone) in &gone {
            // The name of a CRD is the name of its API: another name is another API.
            let came = came.get(kind).filter(|_| kind.0 != "CustomResourceDefinition");
            for (from, to) in came.map(|came| renames(old, new, gone, came)).unwrap_or_default() {
                renamed.extend([from, to]);
                list.push(Pair {
                    id: to.clone(),
                    old_id: Some(from.clone()),
                    old: old.objects.get(from),
                    new: new.objects.get(to),
                });
            }
        }
        for id in gone.values().flatten().filter(|id| !renamed.contains(*id)) {
            let object = old.objects.get(*id);
            let id = (*id).clone();
            list.push(Pair { old_id: Some(id.clone()), id, old: object, new: None });
        }
        for id in came.values().flatten().filter(|id| !renamed.contains(*id)) {
            let object = new.objects.get(*id);
            list.push(Pair { id: (*id).clone(), old_id: None, old: None, new: object });
        }
        list.sort_by(|a, b| a.id.cmp(&b.id));
        Pairs { list }
    }
}

/// Which of the objects that went is which of those that came, the most alike first.
fn renames<'a>(
    old: &Side,
    new: &Side,
    gone: &[&'a Identity],
    came: &[&'a Identity],
) -> Vec<(&'a Identity, &'a Identity)> {
    let only = gone.len() == 1 && came.len() == 1;
    let leaves = |side: &Side, ids: &[&Identity]| -> Vec<BTreeMap<u64, usize>> {
        ids.iter().map(|id| side.objects.get(*id).map(leaves_of).unwrap_or_default()).collect()
    };
    let (before, after) = (leaves(old, gone), leaves(new, came));
    let mut scored = Vec::new();
    let many = gone.len() * came.len() > MOST_PAIRS;
    for (from, before) in gone.iter().zip(&before) {
        for (to, after) in came.iter().zip(&after) {
            if many && stem(from) != stem(to) {
                continue;
            }
            let telling = only || before.values().sum::<usize>() >= TELLING;
            let score = alike(before, after);
            let enough = if stem(from) == stem(to) { ALIKE_BY_NAME } else { ALIKE };
            if telling && score >= enough {
                scored.push((score, *from, *to));
            }
        }
    }
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| (a.1, a.2).cmp(&(b.1, b.2))));
    let mut found: Vec<(&Identity, &Identity)> = Vec::new();
    for (_, from, to) in scored {
        if !found.iter().any(|(f, t)| *f == from || *t == to) {
            found.push((from, to));
        }
    }
    found
}

/// A name without its digits, and where it is.
fn stem(id: &Identity) -> (&str, String) {
    (&id.namespace, id.name.chars().filter(|c| !c.is_ascii_digit() && *c != '.').collect())
}

/// The leaves of an object with their paths, as numbers, but for its name and namespace.
fn leaves_of(object: &Json) -> BTreeMap<u64, usize> {
    fn walk(value: &Json, path: u64, name: &str, leaves: &mut BTreeMap<u64, usize>) {
        let step = |key: &str| {
            let mut hasher = DefaultHasher::new();
            (path, key).hash(&mut hasher);
            hasher.finish()
        };
        match value {
            Json::Object(map) if !map.is_empty() => {
                map.iter().for_each(|(key, value)| walk(value, step(key), name, leaves));
            }
            Json::Array(items) if !items.is_empty() => {
                items.iter().for_each(|item| walk(item, step("[]"), name, leaves));
            }
            // Objects often repeat their own name in labels and selectors.
            Json::String(text) if text == name => *leaves.entry(step("=name")).or_default() += 1,
            leaf => *leaves.entry(step(&leaf.to_string())).or_default() += 1,
        }
    }
    let mut leaves = BTreeMap::new();
    let name = object.pointer("/metadata/name").and_then(Json::as_str).unwrap_or_default();
    walk(object, 0, name, &mut leaves);
    leaves
}

/// What part of all leaves is the same on both sides.
fn alike(before: &BTreeMap<u64, usize>, after: &BTreeMap<u64, usize>) -> f64 {
    let shared: usize = before
        .iter()
        .map(|(leaf, count)| after.get(leaf).map_or(0, |other| *count.min(other)))
        .sum();
    let total = before.values().sum::<usize>() + after.values().sum::<usize>() - shared;
    if total == 0 { 0.0 } else { shared as f64 / total as f64 }
}
