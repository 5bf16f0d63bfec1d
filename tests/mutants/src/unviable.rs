//! Mutants that do not compile, kept for the next run: finding them compiles the program several times.

use crate::list::Mutant;
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::Path;

const FILE: &str = "unviable";

/// Returns a line for each mutant that is the same as long as the mutant and its file are.
fn keys(root: &Path, mutants: &[Mutant]) -> Vec<String> {
    let hash = |file: &str| {
        let mut hasher = DefaultHasher::new();
        fs::read(root.join(file)).unwrap_or_default().hash(&mut hasher);
        hasher.finish()
    };
    let mut hashes: HashMap<&str, u64> = HashMap::new();
    let keys = mutants.iter().map(|mutant| {
        let hash = hashes.entry(&mutant.file).or_insert_with(|| hash(&mutant.file));
        format!("{hash:x} {}", mutant.name)
    });
    keys.collect()
}

/// Returns the mutants that did not compile in an earlier run, with the reason.
pub fn read(work: &Path, root: &Path, mutants: &[Mutant]) -> BTreeMap<usize, String> {
    let text = fs::read_to_string(work.join(FILE)).unwrap_or_default();
    let known: HashMap<&str, &str> =
        text.lines().filter_map(|line| line.split_once('\t')).collect();
    if known.is_empty() {
        return BTreeMap::new();
    }
    let reason = |key: String| known.get(key.as_str()).map(|reason| (*reason).to_owned());
    let keys = keys(root, mutants).into_iter().enumerate();
    keys.filter_map(|(id, key)| Some((id, reason(key)?))).collect()
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
    let keys = keys(root, mutants);
    let line = |(id, reason): (&usize, &String)| {
        format!("{}\t{}\n", keys[*id], reason.replace(['\n', '\t'], " "))
    };
    let lines: Vec<String> = unviable.iter().map(line).collect();
    fs::write(work.join(FILE), lines.concat()).map_err(|error| error.to_string())
}
