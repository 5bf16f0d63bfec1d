#![expect(clippy::disallowed_methods, reason = "tests write files")]

use super::*;
use crate::output::ChartFiles;
use std::fs::{self, File};

/// Returns the place of the first difference of a chart with these new and old files, all of which
/// are stale but those in `same`.
fn difference(folder: &Path, new: &[(&str, &str)], same: &[&str]) -> Option<(String, usize)> {
    let files = new.iter().map(|(path, text)| ((*path).to_owned(), (*text).into())).collect();
    let chart = ChartFiles { dir: "lamp".into(), version: "1.0.0".to_owned(), files };
    let mut found = Inspection::default();
    found.stale.extend(new.iter().map(|(path, _)| (*path).to_owned()));
    found.stale.insert(ownership::FILE_NAME.to_owned());
    found.stale.retain(|path| !same.contains(&path.as_str()));
    let place = first_difference(folder, &OwnedFiles::of_chart(&chart), &found)?;
    let file = place.file?.rsplit('/').next()?.to_owned();
    Some((file, place.line?))
}

#[test]
fn the_first_difference_is_a_line_of_a_manifest_rather_than_of_a_document() {
    let home = tempfile::tempdir().unwrap();
    for path in ["a.yaml", "b.yaml", "README.md", ownership::FILE_NAME] {
        fs::write(home.path().join(path), "one\ntwo\n").unwrap();
    }
    let new = [("a.yaml", "one\n2\n"), ("b.yaml", "1\n"), ("README.md", "one\ntwo\nthree\n")];
    let at = |path: &str, line| Some((path.to_owned(), line));
    assert_eq!(difference(home.path(), &new, &[]), at("a.yaml", 2));
    assert_eq!(difference(home.path(), &new, &["a.yaml"]), at("b.yaml", 1));
    assert_eq!(difference(home.path(), &new, &["a.yaml", "b.yaml"]), at("README.md", 3));
    assert_eq!(difference(home.path(), &new, &["a.yaml", "b.yaml", "README.md"]), None);

    // As large as is read, and larger.
    let file = File::create(home.path().join("a.yaml")).unwrap();
    file.set_len(64 * 1024 * 1024).unwrap();
    assert_eq!(difference(home.path(), &new, &[]), at("a.yaml", 1));
    file.set_len(64 * 1024 * 1024 + 1).unwrap();
    assert_eq!(difference(home.path(), &new, &[]), None);
}

#[test]
fn a_few_files_are_named_and_the_others_counted() {
    let paths = |count: usize| (1..=count).map(|n| n.to_string()).collect::<BTreeSet<String>>();
    assert_eq!(name_some(&paths(1)), "`1`");
    assert_eq!(name_some(&paths(5)), "`1`, `2`, `3`, `4` and `5`");
    assert_eq!(name_some(&paths(7)), "`1`, `2`, `3`, `4`, `5` and 2 more");
}
