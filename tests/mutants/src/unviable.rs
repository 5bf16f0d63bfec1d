//! Mutants that do not compile, kept for the next run: finding them compiles the program several times.

use crate::list::Mutant;
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::Path;

const FILE: &str = "unviable";

/// Returns a line that is the same as long as the mutant and its file are.
fn key(root: &Path, mutant: &Mutant) -> String {
    let mut hasher = DefaultHasher::new();
    fs::read(root.join(&mutant.file)).unwrap_or_default().hash(&mut hasher);
    format!("{:x} {}", hasher.finish(), mutant.name)
}

/// Returns the mutants that did not compile in an earlier run, with the reason.
pub fn read(work: &Path, root: &Path, mutants: &[Mutant]) -> BTreeMap<usize, String> {
    let text = fs::read_to_string(work.join(FILE)).unwrap_or_default();
    let known: HashMap<&str, &str> =
        text.lines().filter_map(|line| line.split_once('\t')).collect();
    if known.is_empty() {
        return BTreeMap::new();
    }
    let reason = |mutant| known.get(key(root, mutant).as_str()).map(|reason| (*reason).to_owned());
    mutants.iter().enumerate().filter_map(|(id, mutant)| Some((id, reason(mutant)?))).collect()
}

/// Keeps the mutants that do not compile.
///
/// # Errors
/// The file cannot be written.
pub fn write(
    work: &Path,
    root: &Path,
    mutants: &[Mutant],
    unviable: &BTreeMap<usize, String>,
) -> Result<(), String> {
    let lines: Vec<String> = unviable
        .iter()
        .map(|(id, reason)| {
            let reason = reason.replace(['\n', '\t'], " ");
            format!("{}\t{reason}\n", key(root, &mutants[*id]))
        })
        .collect();
    fs::write(work.join(FILE), lines.concat()).map_err(|error| error.to_string())
}
