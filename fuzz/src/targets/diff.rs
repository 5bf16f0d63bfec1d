//! `diff` of changed objects: edits give the new tree, and all renderers have the same findings.

#[path = "../../../src/diff/tree/tests/applied.rs"]
mod applied;

use super::super::memory::bounded;
use super::{fixtures, tree};
use arbitrary::Unstructured;
use bundle2chart::diff::path::Step;
use bundle2chart::diff::render::{html, json, markdown, text};
use bundle2chart::diff::tree::{Edit, edits, is_item, key_of};
use bundle2chart::diff::{self, ChangeSet, Class, Options, Side};
use serde_json::Value as Json;
use std::sync::LazyLock;

static OBJECTS: LazyLock<Vec<Json>> = LazyLock::new(|| {
    let bundles = fixtures::bundles(60_000);
    let manifests = bundles.iter().flat_map(|bundle| bundle.manifests.values());
    let objects = manifests.flat_map(|manifest| fixtures::documents(manifest));
    objects.filter(|object| object.to_string().len() < 12_000).collect()
});

fn check_input(data: &[u8]) -> arbitrary::Result<()> {
    let mut u = Unstructured::new(data);
    let (mut old, mut new) = (Vec::new(), Vec::new());
    for _ in 0..u.int_in_range(1..=3_u8)? {
        let mut object = OBJECTS[u.choose_index(OBJECTS.len())?].clone();
        for _ in 0..u.int_in_range(0..=3_u8)? {
            tree::mutate(&mut u, &mut object)?;
        }
        let mut changed = object.clone();
        for _ in 0..u.int_in_range(0..=6_u8)? {
            tree::mutate(&mut u, &mut changed)?;
        }
        check_edits(&object, &changed);
        // Some objects are only on one side.
        if !u.ratio(1_u8, 12_u8)? {
            old.push(object);
        }
        if !u.ratio(1_u8, 12_u8)? {
            new.push(changed);
        }
    }
    bounded(128, || check_renderers(old, new));
    Ok(())
}

/// Applies the edits between two trees to the old one, which must give the new one.
pub fn check_edits(old: &Json, new: &Json) {
    let made = edits(old, new);
    assert_eq!(made.is_empty(), old == new, "no edit\nold: {old}\nnew: {new}");
    let applied = applied::apply(old, &made, new);
    assert!(
        applied.as_ref() == Some(new),
        "old:     {old}\nnew:     {new}\napplied: {applied:?}\nedits:   {made:?}"
    );
}

fn check_renderers(old: Vec<Json>, new: Vec<Json>) {
    let side = |name: &str, objects: &[Json]| Side::new(name, objects.to_vec(), "my-ns", None);
    let same = diff::compare(side("a", &old), side("b", &old), &Options::default());
    assert!(same.is_empty(), "objects differ from themselves");

    let set = diff::compare(side("a", &old), side("b", &new), &Options::default());
    let style = text::Style { colour: false, width: 100_000, full: true };
    let brief = text::render(&set, text::Style { full: false, width: 80, ..style });
    let (full, page) = (text::render(&set, style), html::render(&set));
    let (markdown, short) = (markdown::render(&set, usize::MAX), markdown::render(&set, 6_000));
    let document: Json = serde_json::from_str(&json::render(&set)).expect("JSON");
    assert!(!brief.is_empty() && !short.is_empty());
    if !set.is_empty() {
        check_counts(&set, &document, &[&full, &brief, &markdown, &page]);
        check_codes(&set, &document, &[&full, &markdown, &page]);
    }
}

/// Checks the counts of findings in the JSON document and in all texts, and the changes of objects.
fn check_counts(set: &ChangeSet, document: &Json, texts: &[&String]) {
    let of_class = |list: &Json, name: &str| {
        let items = list.as_array().expect("a list").iter();
        items.filter(|item| item["class"] == name).count()
    };
    for class in Class::ALL {
        let name = class.as_str();
        let changes = set.changes().filter(|(_, change)| change.class() == class).count();
        let objects = document["objects"].as_array().expect("a list").iter();
        let listed: usize = objects.map(|object| of_class(&object["changes"], name)).sum();
        assert_eq!(listed, changes, "{name} changes of objects");

        let findings = of_class(&document["findings"], name);
        assert_eq!(document["counts"][name], findings, "{name}");
        for text in texts {
            assert!(text.contains(&format!("{findings} {name}")), "{findings} {name} in\n{text}");
        }
    }
}

fn check_codes(set: &ChangeSet, document: &Json, texts: &[&String]) {
    let document = document.to_string();
    for code in set.changes().map(|(_, change)| change.findings[0].rule.code) {
        assert!(document.contains(&format!("\"{code}\"")), "{code} in {document}");
        for text in texts {
            assert!(text.contains(code), "{code} in\n{text}");
        }
    }
}

/// Checks one input.
pub fn run(data: &[u8]) {
    // An error means that the input has too few bytes.
    let _ = check_input(data);
}
