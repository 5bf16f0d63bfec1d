use super::*;
use crate::diag::{Code, Diagnostic, SourceText};
use crate::ir::{Origin, Phase};
use crate::tests::{overlay, told_place};
use crate::{locate, sample};
use std::sync::Arc;

const OBJECTS: &str = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: a, creationTimestamp: null}
status: {}
---
apiVersion: v1
kind: ConfigMapList
items:
- metadata: {name: b}
";

#[test]
fn objects_have_the_phase_and_the_switch_of_their_overlay() {
    let mut files = sample::files(&[], &[]);
    for (name, phase, switch) in [
        ("a.yaml", Phase::Before, None),
        ("b.yaml", Phase::Operand, Some("metrics")),
        ("c.yaml", Phase::With, None),
    ] {
        let switch = switch.map(str::to_owned);
        files.overlays.push(OverlayFile { phase, switch, ..overlay(name, OBJECTS) });
    }
    let mut diagnostics = Diagnostics::new();
    let objects = overlays(&files, &mut diagnostics);
    assert!(diagnostics.is_empty(), "{diagnostics:?}");

    let place = |file: &str, document: usize, line: usize, path: &str| {
        let (file, path) = (file.to_owned(), path.to_owned());
        Origin::Overlay { file, document, line, path }
    };
    let on = || Some(Condition::Set(Switch::value("metrics")));
    let read: Vec<_> = objects
        .iter()
        .map(|object| (object.name(), object.phase, object.when.clone(), object.origin.clone()))
        .collect();
    assert_eq!(
        read,
        [
            ("a", Phase::Before, None, place("a.yaml", 1, 1, "")),
            ("b", Phase::Before, None, place("a.yaml", 2, 9, ".items[0]")),
            ("a", Phase::Operand, on(), place("b.yaml", 1, 1, "")),
            ("b", Phase::Operand, on(), place("b.yaml", 2, 9, ".items[0]")),
            ("a", Phase::With, None, place("c.yaml", 1, 1, "")),
            ("b", Phase::With, None, place("c.yaml", 2, 9, ".items[0]")),
        ]
    );
    // As those of the bundle, they have no fields of the API server.
    assert_eq!(objects[0].metadata("creationTimestamp"), None);
    assert_eq!(objects[0].at(&["status"]), None);
}

const NAME: &str = "[[bundle.overlay]] 1";

/// Returns the told place of a finding in an inline overlay, after it is located. The overlay's value
/// in the configuration is `written`, and `content` is what TOML reads from it.
fn located(written: &str, content: &str, place: Place) -> String {
    let text = format!("[[bundle.overlay]]\ninline = {written}\nphase = \"with\"\n");
    let source = Arc::new(SourceText { name: "bundles.toml".to_owned(), text });
    let start = source.text.find(written).expect("the value");
    let inline = Some(Span::new(&source, start..start + written.len()));
    let mut files = sample::files(&[("a.yaml", "a:\n  b: 1\n")], &[]);
    files.overlays = vec![
        overlay("file.yaml", "a:\n  b: 1\n"),
        OverlayFile { inline, ..overlay(NAME, content) },
    ];
    let found = Diagnostic::error(Code::ObjectFieldType, "x");
    let mut found = [found.at(place.clone()).related(place, "the same")];
    locate(&mut found, &files);
    let [Diagnostic { place, related, .. }] = &found;
    assert_eq!(*place, related[0].0);
    // A place in the configuration is no place in a file, which only exists in memory.
    let Place { file, document, line, column, .. } = place;
    let is_known = (file.is_some(), document.is_some(), line.is_some(), column.is_some());
    assert!(place.span.is_none() || is_known == (false, false, false, false), "{place:?}");
    told_place(place)
}

#[test]
fn findings_in_inline_overlays_are_those_of_the_configuration() {
    let inline = Place::file(NAME);
    let path = |path: &str| inline.clone().path(path);
    let line = |line: usize| Place { line: Some(line), ..inline.clone() };
    let at = |line: usize, column: usize| inline.clone().at(line, column);

    let mut shown = String::new();
    let mut show = |written: &str, content: &str, places: &[Place]| {
        shown += &format!("{written}\n");
        for place in places {
            let located = located(written, content, place.clone());
            shown += &format!("{}: {located}\n", told_place(place).trim_start_matches(NAME));
        }
    };
    let content = "a: 1\nb:\n    c: 'é' # x  \n    d: \"x\"\n";
    let lines = format!("\"\"\"\n{}\"\"\"", content.replace('é', "\\u00e9").replace('"', "\\\""));
    let keys = [path(".a"), path(".b"), path(".b.c"), path(".b.d"), path(".b.e")];
    let columns = [line(1), line(3), at(3, 0), at(3, 1), at(3, 9), at(3, 90)]
        .map(|place| Place { document: Some(1), ..place });
    show(&lines, content, &[&keys[..], &columns, &[line(9), inline.clone()]].concat());
    show("\"a: 1\\nb: 2\"", "a: 1\nb: 2", &[path(".b")]);
    show("'b: 2'", "b: 2", &[path(".b")]);
    let table = "{ a = 1, b = { c = [\"x\", \"y\"] } }";
    let content = r#"{"a": 1, "b": {"c": ["x", "y"]}}"#;
    show(table, content, &[path(".a"), path(".b.c[1]"), path(".b.d"), inline.clone()]);
    insta::assert_snapshot!(shown);

    // Other places stay those of files.
    for (place, expected) in [
        (Place::file("file.yaml").path(".a.b"), "file.yaml:2:3 .a.b"),
        (Place::file("manifests/a.yaml").path(".a.b"), "manifests/a.yaml:2:3 .a.b"),
        (Place::file("manifests/b.yaml").path(".a.b"), "manifests/b.yaml .a.b"),
        (Place::default(), ""),
    ] {
        assert_eq!(located(table, content, place.clone()), expected, "{place:?}");
    }
}
