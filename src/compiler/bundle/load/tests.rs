use super::*;
use crate::ir::Release;
use serde_json::json;

/// Returns the objects of a manifest file, and the diagnostics as `code line path`.
fn objects_of(text: &str) -> (Vec<Object>, Vec<String>) {
    let files = BundleFiles {
        manifests: [("file.yaml".to_owned(), text.as_bytes().to_vec())].into(),
        manifests_dir: "manifests".to_owned(),
        metadata_dir: "metadata".to_owned(),
        ..BundleFiles::default()
    };
    let mut diagnostics = Diagnostics::new();
    let mut objects = Vec::new();
    read_manifests(&files, false, &mut objects, &mut diagnostics);
    let found = diagnostics
        .iter()
        .map(|diagnostic| {
            let place = &diagnostic.place;
            assert_eq!(place.file.as_deref(), Some("manifests/file.yaml"));
            let path = place.path.as_deref().unwrap_or_default();
            format!("{} {} {path}", diagnostic.code.as_str(), place.line.unwrap_or_default())
        })
        .collect();
    (objects, found)
}

fn described(object: &Object) -> String {
    let Origin::File { document, line, path, .. } = &object.origin else { panic!("{object:?}") };
    format!("{} {} {document} {line} {path}", object.api_version(), object.label())
}

#[test]
fn lists_are_flattened_with_the_place_of_each_item() {
    let text = "\
# first
---
apiVersion: v1
kind: List
metadata: {}
items:
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: a}
- apiVersion: rbac.authorization.k8s.io/v1
  kind: RoleList
  items:
  - metadata: {name: b}
  - {apiVersion: v1, kind: Secret, metadata: {name: c}}
- apiVersion: v1
  kind: List
  items: []
---
{\"kind\": \"ServiceAccount\", \"apiVersion\": \"v1\", \"metadata\": {\"name\": \"d\"}}
";
    let (objects, diagnostics) = objects_of(text);
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    let described: Vec<String> = objects.iter().map(described).collect();
    assert_eq!(
        described,
        [
            "v1 ConfigMap/a 1 7 .items[0]",
            "rbac.authorization.k8s.io/v1 Role/b 1 10 .items[1].items[0]",
            "v1 Secret/c 1 10 .items[1].items[1]",
            "v1 ServiceAccount/d 2 19 ",
        ]
    );
}

#[test]
fn an_object_of_a_kind_that_ends_in_list_is_no_list_without_items() {
    let text = "apiVersion: x/v1\nkind: AllowList\nmetadata: {name: a}\nspec: {items: []}\n";
    let (objects, diagnostics) = objects_of(text);
    assert_eq!((objects.len(), diagnostics.len()), (1, 0));
}

#[test]
fn what_is_no_object_is_reported_with_its_place_and_the_rest_is_read() {
    let text = "\
just text
---
kind: List
apiVersion: v1
items:
- 5
- {apiVersion: v1, kind: Pod}
- {kind: Pod, metadata: {name: a}}
- {apiVersion: v1, kind: Pod, metadata: {name: ''}}
- {apiVersion: v1, kind: Pod, metadata: {name: good}}
---
apiVersion: v1
kind: 7
metadata: {name: x}
";
    let (objects, diagnostics) = objects_of(text);
    assert_eq!(objects.iter().map(Object::name).collect::<Vec<_>>(), ["good"]);
    assert_eq!(
        diagnostics,
        [
            "not-an-object 1 ",
            "not-an-object 6 .items[0]",
            "not-an-object 7 .items[1]",
            "not-an-object 8 .items[2]",
            "not-an-object 9 .items[3]",
            "not-an-object 12 ",
        ]
    );
}

#[test]
fn hostile_files_end_in_a_diagnostic() {
    for (text, expected) in
        [("a: 1\na: [", "manifest-syntax 2 "), ("a: 1\nb: {\n  c: .inf}", "manifest-syntax 3 ")]
    {
        assert_eq!(objects_of(text).1, [expected], "{text}");
    }
    let bomb = format!("a: &a {}\nb: [{}]", "x".repeat(1 << 20), "*a,".repeat(1000));
    assert_eq!(objects_of(&bomb).1, ["manifest-limit 2 "]);
    assert_eq!(objects_of(&"[".repeat(100_000)).1, ["manifest-limit 1 "]);
    let lists = format!("{}5{}", "{kind: List, items: [".repeat(120), "]}".repeat(120));
    assert_eq!(objects_of(&lists).1.len(), 1);
}

#[test]
fn duplicate_keys_are_warned_of_and_the_last_counts() {
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  k: old\n  k: new\n";
    let (objects, diagnostics) = objects_of(text);
    assert_eq!(diagnostics, ["duplicate-key 6 .data.k"]);
    assert_eq!(objects[0].at(&["data", "k"]), Some(&Value::text("new")));
}

#[test]
fn marks_and_line_ends_of_windows_do_not_reach_the_objects() {
    let text = "\u{feff}apiVersion: v1\r\nkind: ConfigMap\r\nmetadata:\r\n  name: a\r\ndata:\r\n  k: |\r\n    x\r\n    y\r\n";
    let (objects, diagnostics) = objects_of(text);
    assert_eq!(diagnostics, ["text-normalized 1 ", "text-normalized 1 "]);
    let release = Release { namespace: "", values: &json!(null) };
    assert_eq!(
        release.object(&objects[0]),
        Some(json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"},
            "data": {"k": "x\ny\n"},
        }))
    );
}
