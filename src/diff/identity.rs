//! Identities of objects, and pairing of the objects of two sides.

use super::{Side, renames};
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Identity of an object in a cluster, independent of the API version.
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

/// Kinds that moved to another API group: old group, kind, new group. The objects are the same.
const MOVED_GROUPS: [(&str, &str, &str); 5] = [
    ("extensions", "Deployment", "apps"),
    ("extensions", "DaemonSet", "apps"),
    ("extensions", "ReplicaSet", "apps"),
    ("extensions", "Ingress", "networking.k8s.io"),
    ("extensions", "NetworkPolicy", "networking.k8s.io"),
];

impl Identity {
    /// Returns the identity of an object.
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
    /// Writes `Deployment/manager` or `RoleBinding/kube-system/reader`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.kind)?;
        if !self.namespace.is_empty() {
            write!(f, "/{}", self.namespace)?;
        }
        write!(f, "/{}", self.name)
    }
}

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

/// All objects of two sides, paired.
#[derive(Clone, Debug)]
pub struct Pairs<'a> {
    /// Pairs in the order of their identities.
    pub list: Vec<Pair<'a>>,
}

impl<'a> Pairs<'a> {
    /// Pairs the objects of two sides by identity, and the rest by content.
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
            // A CRD with another name is another API, never a rename.
            let came = came.get(kind).filter(|_| kind.0 != "CustomResourceDefinition");
            for (from, to) in
                came.map(|came| renames::pairs(old, new, gone, came)).unwrap_or_default()
            {
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
