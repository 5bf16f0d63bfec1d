#![expect(clippy::disallowed_methods, reason = "tests write files of values")]

use super::*;
use serde_json::json;
use std::fs;

#[test]
fn values_are_merged_as_helm_merges_them() {
    let under = json!({ "a": 1, "b": { "c": 2, "d": 3 }, "e": [4], "f": 5, "g": 6 });
    for (over, expected) in [
        (json!({}), under.clone()),
        (json!(null), under.clone()),
        (
            json!({ "b": { "c": 7, "h": 8 }, "e": [9], "i": { "j": 0 } }),
            json!({ "a": 1, "b": { "c": 7, "d": 3, "h": 8 }, "e": [9], "f": 5, "g": 6, "i": { "j": 0 } }),
        ),
        (
            json!({ "a": null, "b": { "c": null } }),
            json!({ "b": { "d": 3 }, "e": [4], "f": 5, "g": 6 }),
        ),
        (
            json!({ "a": { "k": 1 }, "b": 2 }),
            json!({ "a": { "k": 1 }, "b": 2, "e": [4], "f": 5, "g": 6 }),
        ),
    ] {
        let mut merged = under.clone();
        merge(&mut merged, &over);
        // As text: the order of keys is that of messages.
        assert_eq!(merged.to_string(), expected.to_string());
    }
}

#[test]
fn files_of_values_are_one_mapping_each() {
    let home = tempfile::tempdir().unwrap();
    let path = |name: &str| home.path().join(name);
    let read = |texts: &[&str]| {
        let files: Vec<_> = (0..texts.len()).map(|at| path(&at.to_string())).collect();
        files.iter().zip(texts).for_each(|(file, text)| fs::write(file, text).unwrap());
        read_values(&files)
    };
    assert_eq!(read(&[]).unwrap(), json!({}));
    assert_eq!(
        read(&["", "a: 1\nb: 2\n", "# none\n", "b: 3\n"]).unwrap(),
        json!({ "a": 1, "b": 3 })
    );
    let shown = path("0").display().to_string();
    for (text, why) in [
        ("- a\n", "values must be one mapping"),
        ("a: 1\n---\nb: 2\n", "values must be one mapping"),
    ] {
        let expected = Diagnostic::error(Code::SourceUnreadable, format!("`{shown}`: {why}"))
            .at(Place::file(&shown))
            .hint("write one YAML mapping, as for `helm install --values`");
        assert_eq!(*read(&[text]).unwrap_err(), expected);
    }
}
