#![expect(clippy::disallowed_methods, reason = "tests write an output directory")]

use super::*;
use crate::pipeline::samples::{LAMP, config};
use crate::source::Access;
use std::fs;

/// Returns the message and the hint of the error about an operand, with these directories in `out`.
fn refused(text: &str, directories: &[&str]) -> (String, String) {
    let home = tempfile::tempdir().unwrap();
    for directory in directories {
        fs::create_dir_all(home.path().join(directory)).unwrap();
    }
    let sources = SourceResolver::of(&config(LAMP), Access::default());
    let mut found = Diagnostics::new();
    assert!(Operands::new(&sources, home.path()).load(text, None, &mut found).is_none());
    let found = found.iter().next().unwrap();
    (found.message.clone(), found.hint.clone().unwrap_or_default())
}

#[test]
fn an_operand_that_is_nothing_is_reported_with_similar_charts() {
    let general = "write the path of a chart or bundle, NAME@VERSION for a chart in the output \
        directory, or the full reference of an image";
    for (text, directories, hint) in [
        ("Lamp operator", &[] as &[&str], general),
        ("lamp_operator:", &["sealing-wax"], general),
        ("Lamp-operator", &["lamp-operator", "other"], "did you mean `lamp-operator`?"),
        // No charts, because of their names.
        ("Lamp-operator", &["LAMP-operator"], general),
        ("Lamp", &["lamp-a", "lamp-b"], "did you mean `lamp-a` or `lamp-b`?"),
    ] {
        let message = format!("no chart, directory, archive or image `{text}`");
        assert_eq!(refused(text, directories), (message, hint.to_owned()));
    }
    let (message, _) = refused("a\u{1b}b", &[]);
    assert_eq!(message, "no chart, directory, archive or image `a\\u{1b}b`");
}

#[test]
fn only_names_of_charts_are_looked_up_in_the_output_directory() {
    for (text, is_chart) in [("lamp", true), ("lamp-2", true), ("2", true), ("-", true)] {
        assert_eq!(is_name(text), is_chart, "{text}");
    }
    for text in ["", ".", "..", "Lamp", "lamp_2", "lamp/1"] {
        assert!(!is_name(text), "{text}");
    }
    assert_eq!(refused("lamp", &["lamp"]).0, "chart `lamp` not found");
    assert_eq!(refused("lamp@1", &["lamp"]).0, "version 1 of chart `lamp` not found");
}
