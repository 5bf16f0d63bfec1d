//! Template files, one object per file.

use super::crds::allow_downgrade;
use crate::ir::{Object, Origin};
use crate::yaml::{self, crd_template};
use std::collections::{BTreeMap, BTreeSet};

/// Maximum length of a file stem, below the limits of tar's ustar header and of file systems.
const LONGEST_STEM: usize = 90;

/// Returns the template file of each object, by path. File names are object names, shortened and
/// numbered if necessary, independent of the order of the objects. No two differ only in case, which
/// some file systems ignore.
pub fn templates<'a>(objects: impl Iterator<Item = &'a Object>) -> BTreeMap<String, String> {
    let mut objects: Vec<&Object> = objects.collect();
    objects.sort_by_cached_key(|object| object.id());
    let mut files = BTreeMap::new();
    let mut taken = BTreeSet::new();
    for object in objects {
        let stem = stem(object);
        let mut path = format!("templates/{stem}.yaml");
        let mut number = 2;
        while !taken.insert(path.to_lowercase()) {
            path = format!("templates/{stem}-{number}.yaml");
            number += 1;
        }
        let text = match object.kind() {
            "CustomResourceDefinition" => crd_template(object, &allow_downgrade().path),
            _ => yaml::template(&object.root, object.when.as_ref()),
        };
        files.insert(path, text);
    }
    files
}

/// Returns the file stem `kind-name`, followed by the namespace if it is not the release namespace.
fn stem(object: &Object) -> String {
    let id = object.id();
    let mut stem = id.kind.to_lowercase();
    match &object.origin {
        // A name with an expression is no text here: the reason of the object takes its place.
        Origin::Added(reason) if object.name().is_empty() && id.kind != "Namespace" => {
            stem.extend(["-", reason]);
        }
        _ => stem.extend(["-", &id.name]),
    }
    if !id.namespace.is_empty() {
        stem.extend([".", &id.namespace]);
    }
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '.';
    let mut stem: String = stem.chars().map(|c| if plain(c) { c } else { '-' }).collect();
    // All characters are ASCII here, so that every length is a boundary.
    stem.truncate(LONGEST_STEM);
    stem.trim_end_matches(['-', '.']).to_owned()
}
