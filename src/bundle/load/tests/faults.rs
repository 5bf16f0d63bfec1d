//! Faults of a bundle's files, and all that is said about them.

use super::*;
use crate::overlay::overlays;
use crate::own_manifests::own_manifests;
use crate::tests::{all_told, overlay};

const CONFIG: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";

/// Returns the sample bundle with another file; without a file if there is no content.
fn with(path: &str, content: Option<&[u8]>) -> BundleFiles {
    let mut files = sample::files(&[CSV], &[ANNOTATIONS]);
    let (folder, name) = path.split_once('/').expect("a folder");
    let folder = if folder == "manifests" { &mut files.manifests } else { &mut files.metadata };
    match content {
        Some(content) => folder.insert(name.to_owned(), content.to_owned()),
        None => folder.remove(name),
    };
    files
}

/// Returns what is said about the files of a bundle, which it does not have after an error.
fn told(files: &BundleFiles) -> String {
    let mut diagnostics = Diagnostics::new();
    let loaded = load(files, &mut diagnostics);
    assert_eq!(loaded.is_none(), diagnostics.has_errors(), "{diagnostics:?}");
    all_told(&diagnostics)
}

#[test]
fn faults_of_manifests() {
    let mut shown = String::new();
    for (what, manifest) in [
        ("another object", CONFIG),
        ("nothing", ""),
        ("comments and empty documents", "# a\n---\n---\n"),
        ("a byte order mark", &format!("\u{feff}{CONFIG}")),
        ("a byte order mark in a text", &CONFIG.replace("name: a", "name: 'a\u{feff}'")),
        ("a Windows line ending in line 2", &CONFIG.replace("ConfigMap\n", "ConfigMap\r\n")),
        ("a line ending of old Macs", &CONFIG.replace("v1\n", "v1\r")),
        (
            "a key twice",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  k: a\n  k: b\n",
        ),
        ("a tab", "a:\n\tb: 1\n"),
        ("wrong indentation", "a: 1\n  b: 1\n"),
        ("a wrong bracket", "a: 1\nb: ]\n"),
        ("too many brackets", &"[".repeat(1_000)),
        ("a Helm template", "a: 1\nb: {{ .Values.b }}\n"),
        ("a text", "a\n"),
        ("a list", "- a\n"),
        ("an object without apiVersion", "kind: ConfigMap\nmetadata: {name: a}\n"),
        ("an object whose name is a boolean", &CONFIG.replace("name: a", "name: on")),
        ("an object with an empty kind", "apiVersion: v1\nkind: ''\nmetadata: {name: a}\n"),
        ("an object without metadata", "apiVersion: v1\nkind: ConfigMap\n"),
        (
            "an object with a generated name",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: a}\n",
        ),
        ("a list without a kind", "apiVersion: v1\nkind: List\nitems: [{apiVersion: v1}]\n"),
        ("two ClusterServiceVersions", &CSV.1.replace("v1.0.0", "v2.0.0")),
    ] {
        shown +=
            &format!("{what}:\n{}", told(&with("manifests/a.yaml", Some(manifest.as_bytes()))));
    }
    // What is read of one of them is not said.
    let faulty = CSV.1.replace("version: 1.0.0", "skips: a");
    let told_of_two = told(&with("manifests/z.yaml", Some(faulty.as_bytes())));
    shown += &format!("a second ClusterServiceVersion with a fault:\n{told_of_two}");
    // Bytes, line and column are counted from the start of the file and of the line.
    for bytes in [&b"\xff"[..], b"a: 1\nkey: \xc3\n"] {
        shown += &format!("{bytes:x?}:\n{}", told(&with("manifests/a.yaml", Some(bytes))));
    }
    insta::assert_snapshot!(shown);
}

#[test]
fn faults_of_a_bundle_without_a_file() {
    let mut shown = String::new();
    let unreadable = Some(&b"a: ]\n"[..]);
    let mut without_csv = with("manifests/csv.yaml", None);
    for (what, files) in [
        ("no ClusterServiceVersion", without_csv.clone()),
        ("a ClusterServiceVersion that cannot be read", with("manifests/csv.yaml", unreadable)),
        ("no annotations", with("metadata/annotations.yaml", None)),
        ("annotations that cannot be read", with("metadata/annotations.yaml", unreadable)),
    ] {
        shown += &format!("{what}:\n{}", told(&files));
    }
    // Its package is not missing: all that is read is reported at once.
    without_csv.metadata.clear();
    shown += &format!("neither:\n{}", told(&without_csv));
    insta::assert_snapshot!(shown);
}

/// Each form of a list, next to an object that has another one.
#[test]
fn items_of_lists_are_objects_of_their_own() {
    let item = "{metadata: {name: a}}";
    let own = "{apiVersion: v2, kind: Other, metadata: {name: a}}";
    for (list, read) in [
        (format!("apiVersion: v1\nkind: ConfigMapList\nitems: [{item}]"), "v1 ConfigMap/a"),
        (format!("apiVersion: v1\nkind: ConfigMapList\nitems: [{own}]"), "v2 Other/a"),
        (format!("kind: List\nitems: [{own}]"), "v2 Other/a"),
        (format!("kind: OtherList\nitems: [{own}]"), "v2 Other/a"),
        (format!("apiVersion: v1\nkind: List\nitems: [{item}]"), "not-an-object"),
        (format!("kind: ConfigMapList\nitems: [{item}]"), "not-an-object"),
        (
            format!("apiVersion: v1\nkind: Lists\nitems: [{own}]\nmetadata: {{name: a}}"),
            "v1 Lists/a",
        ),
        (
            "apiVersion: v1\nkind: ConfigMapList\nitems: {}\nmetadata: {name: a}".to_owned(),
            "v1 ConfigMapList/a",
        ),
        ("apiVersion: v1\nkind: ConfigMapList\nitems: []\nmetadata: {name: a}".to_owned(), ""),
    ] {
        let (objects, found) = objects_of(&list);
        let objects = objects.iter().map(|o| format!("{} {}", o.api_version(), o.label()));
        let codes = found.iter().filter_map(|found| found.split(' ').next().map(str::to_owned));
        assert_eq!(objects.chain(codes).collect::<Vec<_>>().join(", "), read, "{list}");
    }
}

/// Each value of a status and of a time of creation, with the fields that stay.
#[test]
fn only_empty_fields_of_the_api_server_are_dropped() {
    for (fields, kept) in [
        ("metadata: {name: a, creationTimestamp: null}, status: null", json!({"name": "a"})),
        (
            "metadata: {name: a, creationTimestamp: ''}",
            json!({"name": "a", "creationTimestamp": ""}),
        ),
    ] {
        let (objects, _) = objects_of(&format!("{{apiVersion: v1, kind: ConfigMap, {fields}}}"));
        let mut object = objects.into_iter().next().expect("an object");
        drop_server_fields(&mut object);
        let json = Release::LITERAL.object(&object).expect("an object");
        assert_eq!(json, json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": kept}));
    }
    for (status, is_kept) in [
        ("null", false),
        ("{}", false),
        ("[]", false),
        ("''", false),
        ("{a: [{b: ''}, null], c: {}}", false),
        ("a", true),
        ("0", true),
        ("false", true),
        ("{a: ['', 0]}", true),
        ("{a: '', b: [{c: d}]}", true),
    ] {
        let text =
            format!("{{apiVersion: v1, kind: ConfigMap, metadata: {{name: a}}, status: {status}}}");
        let mut object = objects_of(&text).0.into_iter().next().expect("an object");
        drop_server_fields(&mut object);
        assert_eq!(object.root.get("status").is_some(), is_kept, "{status}");
    }
}

#[test]
fn faults_of_annotations() {
    let mut shown = String::new();
    let package = ANNOTATIONS.1;
    for (what, annotations) in [
        ("an empty file", ""),
        ("a list", "- a\n"),
        ("no map", "annotations: a\n"),
        ("no package", "annotations: {}\n"),
        ("an empty package", &package.replace("widgets", "''")),
        ("a list for a package", &package.replace("widgets", "[widgets]")),
        ("a float", &format!("{package}  channels: 4.20\n")),
        ("a map", &format!("{package}  images: {{a: b}}\n")),
        ("another document", &format!("{package}---\nannotations: {{}}\n")),
        ("a chart", &format!("{package}  {MEDIATYPE}: helm\n")),
        ("a bundle", &format!("{package}  {MEDIATYPE}: registry+v1\n")),
    ] {
        let files = with("metadata/annotations.yaml", Some(annotations.as_bytes()));
        shown += &format!("{what}:\n{}", told(&files));
    }
    insta::assert_snapshot!(shown);
}

/// Returns the files of a `[[chart]]`, whose manifests have paths of their own.
fn chart(name: &str, content: &str) -> BundleFiles {
    let mut files = sample::files(&[(name, content)], &[]);
    (files.manifests_dir, files.metadata_dir) = (String::new(), String::new());
    files
}

/// The user's own files are not the vendor's: there is something else to do about each.
#[test]
fn faults_of_own_files() {
    let mut shown = String::new();
    for (what, name, content) in [
        ("an object", "a.yaml", CONFIG),
        ("a text", "a.yaml", "a\n"),
        ("an object without a kind", "a.yaml", "apiVersion: v1\nmetadata: {name: a}\n"),
        ("an object without a name", "a.yaml", "apiVersion: v1\nkind: ConfigMap\n"),
        ("a wrong bracket", "a.yaml", "a: ]\n"),
        ("a Helm template", "a.yaml", "a: 1\nb: {{ .Values.b }}\n"),
        ("another line with a template", "a.yaml", "a: '{{ .Values.b }}'\nb: ]\n"),
        ("TOML", "values.toml", "[a]\nb = ]\n"),
        ("a template in TOML", "values.toml", "a: {{ .Values.b }}\n"),
        ("a tab", "a.yaml", "a:\n\tb: 1\n"),
    ] {
        let (mut of_chart, mut of_overlay) = (Diagnostics::new(), Diagnostics::new());
        let own = own_manifests(&chart(name, content), &mut of_chart);
        assert_eq!(own.is_none(), of_chart.has_errors(), "{what}");

        let mut files = sample::files(&[CSV], &[ANNOTATIONS]);
        files.overlays = vec![overlay(name, content)];
        let added = overlays(&files, &mut of_overlay);
        // Objects of both are read in the same way, and are the user's.
        assert_eq!(own.unwrap_or_default(), added, "{what}");
        assert_eq!(all_told(&of_chart), all_told(&of_overlay), "{what}");
        shown += &format!("{what}:\n{}", all_told(&of_chart));
    }
    insta::assert_snapshot!(shown);
}
