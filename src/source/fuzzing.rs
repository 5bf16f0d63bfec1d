//! Parsers of untrusted input for fuzz/ that have no other public entry point: layers, catalogs,
//! challenges and credentials. No part of the API: they change without notice.

use super::archive::{Expanded, Meter, TarEntry, walk};
use super::folders::Folders;
use super::limits::Limits;
use super::tree::Tree;
use std::collections::BTreeMap;

pub use super::catalog::fuzzing::{catalog_objects, select};
#[cfg(feature = "registry")]
pub use super::registry::fuzzing::{challenges, credentials};

/// The files of a directory by relative path, or its problems.
pub type FolderFiles = Result<BTreeMap<String, Vec<u8>>, Vec<String>>;

/// Applies layers in order and returns the content of `manifests` and of `metadata`.
///
/// # Errors
/// The reason why a layer cannot be read.
pub fn layers(layers: &[&[u8]], limits: &Limits) -> Result<[FolderFiles; 2], String> {
    let mut tree = Tree::new(Folders::default().candidates(), limits);
    let meter = Meter::new(limits);
    for layer in layers {
        tree.begin_layer();
        let mut stream = Expanded::new(*layer, &meter, None).map_err(|error| error.to_string())?;
        let visit = &mut |entry: &mut TarEntry<'_>| tree.apply_layer_entry(entry);
        walk(&mut stream, visit).map_err(|error| error.to_string())?;
    }

    Ok([("manifests", true), ("metadata", false)].map(|(folder, flat)| {
        let mut problems = Vec::new();
        let files = tree.take(folder, flat, &mut problems);
        match problems.is_empty() {
            true => Ok(files.into_iter().map(|(name, text)| (name, text.to_vec())).collect()),
            false => Err(problems.into_iter().map(|problem| problem.message).collect()),
        }
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_layer_has_neither_directory() {
        let none = [Ok(BTreeMap::new()), Ok(BTreeMap::new())];
        assert_eq!(layers(&[&[0; 1024]], &Limits::default()), Ok(none));
        assert!(layers(&[&[1; 512]], &Limits::default()).is_err());
    }
}
