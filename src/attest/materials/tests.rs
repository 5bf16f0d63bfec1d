#![expect(clippy::disallowed_methods, reason = "tests write files")]

use super::*;
use std::fs::File;

#[test]
fn files_are_read_up_to_a_size_and_named_without_their_directory() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("bundles.toml");
    let mut found = Diagnostics::new();
    let limit = 16 * 1024 * 1024;
    File::create(&path).unwrap().set_len(limit).unwrap();
    let digest = sha256(&vec![0; usize::try_from(limit).unwrap()]);
    let expected = json!({ "name": "bundles.toml", "digest": { "sha256": digest } });
    assert_eq!(file(&path, &mut found), Some(expected));
    assert!(found.is_empty());

    File::create(&path).unwrap().set_len(limit + 1).unwrap();
    assert_eq!(file(&path, &mut found), None);
    let shown = path.display().to_string();
    let message = format!("cannot read `{shown}`: it has more than {limit} bytes");
    let expected = Diagnostic::error(Code::SourceUnreadable, message)
        .at(Place::file(&shown))
        .hint("check the path and its permissions");
    assert_eq!(found.iter().collect::<Vec<_>>(), [&expected]);
}

#[test]
fn digests_have_their_algorithm() {
    assert_eq!(digests("sha512:0"), json!({ "sha512": "0" }));
    assert_eq!(digests("0"), json!({ "sha256": "0" }));
}
