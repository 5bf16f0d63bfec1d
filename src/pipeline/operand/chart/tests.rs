use super::*;
use serde_json::json;

fn manifest(path: &str, text: &str) -> Manifest {
    let is_in_crds_folder = path.starts_with("crds/");
    Manifest { path: path.to_owned(), is_in_crds_folder, text: text.to_owned() }
}

#[test]
fn lists_are_their_items_and_other_documents_are_refused() {
    let of = |text: &str| {
        objects_of([manifest("crds/a.yaml", ""), manifest("templates/a.yaml", text)], 100)
    };
    let object =
        |name: &str| json!({ "apiVersion": "v1", "kind": "A", "metadata": { "name": name } });
    let allow_list = json!({ "apiVersion": "a.example.com/v1", "kind": "AllowList", "items": {} });
    for (text, expected) in [
        (String::new(), Vec::new()),
        (format!("{}\n---\n{}\n", object("a"), object("b")), vec![object("a"), object("b")]),
        (
            json!({ "apiVersion": "v1", "kind": "AList", "items": [object("a"), object("b")] })
                .to_string(),
            vec![object("a"), object("b")],
        ),
        // Not a List of objects.
        (allow_list.to_string(), vec![allow_list]),
        (
            json!({ "apiVersion": "v1", "kind": "A", "items": [object("a")] }).to_string(),
            vec![json!({ "apiVersion": "v1", "kind": "A", "items": [object("a")] })],
        ),
    ] {
        let expected: Vec<Rendered> = expected
            .into_iter()
            .map(|object| (Placement::Templates, "templates/a.yaml".to_owned(), object))
            .collect();
        assert_eq!(of(&text).unwrap(), expected);
    }
    let found = objects_of([manifest("crds/a.yaml", &object("a").to_string())], 100).unwrap();
    assert_eq!(found[0].0, Placement::Crds);

    let why =
        "`templates/a.yaml` renders a document that is no object with `apiVersion` and `kind`";
    let expected = Diagnostic::error(Code::ChartUnreadable, why)
        .at(Place::file("templates/a.yaml"))
        .hint("check the rendered template: no cluster accepts it");
    for text in ["kind: A\n", "apiVersion: v1\n", "apiVersion: v1\nkind: 1\n", "- a\n", "a\n"] {
        assert_eq!(*of(text).unwrap_err(), expected, "{text}");
    }
}

#[test]
fn a_chart_with_too_many_values_is_refused() {
    // Three values and a map.
    let text = "apiVersion: v1\nkind: A\na: 1\n";
    let charts = |count: usize| {
        objects_of((0..count).map(|_| manifest("templates/a.yaml", text)), 8).map(|all| all.len())
    };
    assert_eq!(charts(2), Ok(2));
    let why = "`templates/a.yaml` exceeds the limit of 8 values in a chart";
    assert_eq!(charts(3).unwrap_err().message, why);
}

#[test]
fn values_are_counted_with_the_lists_and_maps_around_them() {
    assert_eq!(count(&json!(null)), 1);
    assert_eq!(count(&json!([1, "a", [], {}])), 5);
    assert_eq!(count(&json!({ "a": { "b": [true] }, "c": 1 })), 5);
}

#[test]
fn crds_directories_are_those_of_the_chart_and_of_subcharts() {
    for (folder, expected) in [
        ("crds", true),
        ("crds/more", true),
        ("charts/crds/crds", true),
        ("charts/a/charts/crds/crds", true),
        ("charts/crds/templates", false),
        ("charts/crds", false),
        ("charts", false),
        ("templates", false),
        ("templates/crds", false),
        ("", false),
    ] {
        assert_eq!(is_crds(folder), expected, "{folder}");
    }
}

#[test]
fn the_facts_of_a_bundle_are_annotations() {
    let all = [
        ("csv", "lamp.v1.0.0"),
        ("replaces", "lamp.v0.9.0"),
        ("skips", "lamp.v0.9.1, lamp.v0.9.2,"),
        ("skip-range", ">=0.1.0 <1.0.0"),
        ("watch", "own"),
        ("install-modes", "OwnNamespace, AllNamespaces"),
        ("requires", "package a; package b"),
    ];
    let facts = |left_out: &[&str]| {
        bundle_facts(|key| {
            let found = all.iter().find(|(known, _)| *known == key && !left_out.contains(known));
            found.map(|(_, value)| (*value).to_owned())
        })
    };
    let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    let expected = BundleFacts {
        csv: "lamp.v1.0.0".to_owned(),
        edges: UpgradeEdges {
            replaces: "lamp.v0.9.0".to_owned(),
            skips: texts(&["lamp.v0.9.1", "lamp.v0.9.2"]),
            skip_range: ">=0.1.0 <1.0.0".to_owned(),
        },
        watch: Some("own".to_owned()),
        requires: Some(texts(&["package a", "package b"])),
        install_modes: Some(texts(&["OwnNamespace", "AllNamespaces"])),
        ..BundleFacts::default()
    };
    assert_eq!(facts(&[]), expected);
    assert_eq!(
        facts(&["requires"]),
        BundleFacts { requires: Some(Vec::new()), ..expected.clone() }
    );
    // A chart of an earlier version.
    let earlier = BundleFacts { requires: None, install_modes: None, ..expected };
    assert_eq!(facts(&["install-modes"]), earlier);
}
