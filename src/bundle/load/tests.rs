mod faults;

use super::*;
use crate::ir::{Release, UpgradeEdges};
use crate::sample::{self, ANNOTATIONS};
use serde_json::json;
use std::collections::BTreeMap;

/// Returns the objects of a manifest file, and the diagnostics as `code line path`.
fn objects_of(text: &str) -> (Vec<Object>, Vec<String>) {
    let files = sample::files(&[("file.yaml", text)], &[]);
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

/// Reads a bundle with these manifests and metadata files.
fn bundle(
    manifests: &[(&str, &str)],
    metadata: &[(&str, &str)],
    diagnostics: &mut Diagnostics,
) -> Option<Bundle> {
    load(&sample::files(manifests, metadata), diagnostics)
}

const CSV: (&str, &str) = (
    "csv.yaml",
    "apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {name: widget-operator.v1.0.0}
spec: {version: 1.0.0}
",
);

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
---
apiVersion: v1
kind: ConfigMap
metadata: {name: n}
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
            "object-field-type 12 ",
            "object-field-type 16 ",
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

#[test]
fn problems_name_their_document() {
    let places = |text: &str| -> Vec<(Code, Option<usize>, Option<usize>)> {
        let mut diagnostics = Diagnostics::new();
        let manifests = [CSV, ("file.yaml", text)];
        assert!(bundle(&manifests, &[ANNOTATIONS], &mut diagnostics).is_none(), "{text}");
        diagnostics.iter().map(|d| (d.code, d.place.document, d.place.line)).collect()
    };
    let first = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n---\n";
    assert_eq!(
        places(&format!("{first}apiVersion: v1\nkind: Secret\nkind: Secret\nmetadata: {{}}\n")),
        [(Code::DuplicateKey, Some(2), Some(7)), (Code::NotAnObject, Some(2), Some(5))]
    );
    assert_eq!(places(&format!("{first}a: [\n")), [(Code::ManifestSyntax, Some(2), Some(5))]);
}

#[test]
fn only_files_of_the_manifests_directory_can_be_removed() {
    let hint = |manifests: &[(&str, &str)], metadata: &[(&str, &str)]| {
        let mut diagnostics = Diagnostics::new();
        assert!(bundle(manifests, metadata, &mut diagnostics).is_none());
        diagnostics.iter().next().and_then(|found| found.hint.clone()).expect("a hint")
    };
    let broken = "a: 1\n}\n";
    assert_eq!(
        hint(&[CSV, ("notes.txt", broken)], &[ANNOTATIONS]),
        "fix the file, or remove it if it is not a manifest: every file in the manifests \
         directory is parsed as YAML or JSON"
    );
    assert_eq!(
        hint(&[CSV], &[("annotations.yaml", broken)]),
        "fix the file: it must be YAML or JSON"
    );
}

#[test]
fn annotations_without_quotes_are_texts_but_lists_are_errors() {
    let read = |annotation: &str| {
        let mut diagnostics = Diagnostics::new();
        let text = format!("{}  {annotation}\n", ANNOTATIONS.1);
        let read = bundle(&[CSV], &[("annotations.yaml", &text)], &mut diagnostics);
        let found: Vec<String> = diagnostics.iter().map(|found| found.message.clone()).collect();
        let (key, _) = annotation.split_once(':').expect("a key");
        (read.and_then(|bundle| bundle.annotations.get(key).cloned()), found)
    };
    for (annotation, text) in [
        ("certified: true", Some("true")),
        ("tested: 125", Some("125")),
        ("support: 'yes'", Some("yes")),
        ("support: null", None),
    ] {
        assert_eq!(read(annotation), (text.map(str::to_owned), Vec::new()), "{annotation}");
    }
    let number = "annotation `channels` is a number: it is read as `4.2`";
    assert_eq!(read("channels: 4.20"), (Some("4.2".to_owned()), vec![number.to_owned()]));
    let list = "annotation `images` is a list, not a string";
    assert_eq!(read("images: [a]"), (None, vec![list.to_owned()]));
    // The others are read as well.
    let map = "annotation `more` is a map, not a string".to_owned();
    assert_eq!(read("images: [a]\n  more: {a: b}").1, [list.to_owned(), map]);
    let (text, found) = read("support: 'yes'\n  a: null\n  channels: 4.20");
    assert_eq!((text, found), (Some("yes".to_owned()), vec![number.to_owned()]));
}

/// Labels that other tools write, and annotations without a file.
#[test]
fn labels_of_an_image_are_annotations_that_the_file_overrides() {
    let package = "operators.operatorframework.io.bundle.package.v1";
    let other = "operators.operatorframework.io.test.config.v1";
    for (labels, metadata, expected) in [
        (&[(package, "gadgets"), ("version", "7")][..], &[][..], &[(package, "gadgets")][..]),
        (
            &[(package, "gadgets"), (other, "a")],
            &[ANNOTATIONS],
            &[(package, "widgets"), (other, "a")],
        ),
        (
            &[("operators", "a"), ("a.operators.operatorframework.io.b", "c")],
            &[ANNOTATIONS],
            &[(package, "widgets")],
        ),
    ] {
        let texts = |list: &[(&str, &str)]| {
            list.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
        };
        let mut files = sample::files(&[CSV], metadata);
        files.labels = texts(labels);
        let bundle = load(&files, &mut Diagnostics::new()).expect("a bundle");
        assert_eq!(bundle.annotations.into_iter().collect::<BTreeMap<_, _>>(), texts(expected));
        assert_eq!(bundle.package, expected[0].1);
    }
}

#[test]
fn objects_are_read_by_file_name_and_routed_by_kind() {
    let manifest = |kind: &str| format!("apiVersion: v1\nkind: {kind}\nmetadata: {{name: a}}\n");
    let kinds = ["Secret", "CustomResourceDefinition", "ClusterServiceVersion", "ConfigMap"];
    let texts = kinds
        .map(|kind| manifest(kind) + if kind.starts_with("Cluster") { "spec: {}" } else { "" });
    let names = ["d.yaml", "b.yaml", "a.yaml", "c"];
    let files: Vec<_> = names.into_iter().zip(texts.iter().map(String::as_str)).collect();
    let mut files = sample::files(&files, &[ANNOTATIONS]);
    let loaded = load(&files, &mut Diagnostics::new()).expect("a bundle");
    let labels = |objects: &[Object]| objects.iter().map(Object::label).collect::<Vec<_>>();
    assert_eq!(labels(&loaded.objects), ["ConfigMap/a", "Secret/a"]);
    assert_eq!(labels(&loaded.crds), ["CustomResourceDefinition/a"]);
    assert_eq!(loaded.csv.object.label(), "ClusterServiceVersion/a");
    assert_eq!(loaded.manifest_bytes, texts.concat().len());

    // The upgrade graph of a catalog is the one that OLM uses.
    assert_eq!((loaded.edges, loaded.image), (UpgradeEdges::default(), None));
    let edges = UpgradeEdges { replaces: "a.v0".to_owned(), ..UpgradeEdges::default() };
    files.edges = Some(edges.clone());
    let image = crate::source::ImageIdentity {
        digest: "sha256:a".to_owned(),
        size: 1,
        index: None,
        platform: None,
        config: ("sha256:b".to_owned(), 2),
        layers: Vec::new(),
        signature: None,
    };
    files.image = Some(image.clone());
    let loaded = load(&files, &mut Diagnostics::new()).expect("a bundle");
    assert_eq!((loaded.edges, loaded.image), (edges, Some(image)));
}

#[test]
fn fields_of_the_api_server_are_dropped() {
    let crd = |name: &str, created: &str, status: &str| {
        format!(
            "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {{name: {name}, creationTimestamp: {created}}}
status: {status}
"
        )
    };
    let empty = "{acceptedNames: {kind: '', plural: ''}, conditions: [], storedVersions: null}";
    let generated = crd("widgets.example.com", "null", empty);
    let exported = crd("gadgets.example.com", "'2026-01-01T00:00:00Z'", "{storedVersions: [v1]}");
    let manifests = [CSV, ("a.yaml", generated.as_str()), ("b.yaml", exported.as_str())];
    let bundle = bundle(&manifests, &[ANNOTATIONS], &mut Diagnostics::new()).expect("a bundle");
    let crds: Vec<_> = bundle.crds.iter().map(|crd| Release::LITERAL.object(crd)).collect();
    let (api_version, kind) = ("apiextensions.k8s.io/v1", "CustomResourceDefinition");
    assert_eq!(
        crds,
        [
            Some(json!({
                "apiVersion": api_version, "kind": kind,
                "metadata": {"name": "widgets.example.com"},
            })),
            Some(json!({
                "apiVersion": api_version, "kind": kind,
                "metadata": {
                    "name": "gadgets.example.com", "creationTimestamp": "2026-01-01T00:00:00Z",
                },
                "status": {"storedVersions": ["v1"]},
            })),
        ]
    );
}

#[test]
fn properties_of_the_bundle_follow_those_of_the_csv() {
    let csv = r#"
apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata:
  name: widget-operator.v1.0.0
  annotations:
    olm.properties: '[{"type": "example.com/tier", "value": "gold", "note": "x"}]'
spec: {version: 1.0.0}
"#;
    let properties = "
properties:
- type: example.com/limits
  value: {memory: <1Gi, cpu: 2}
";
    // OLM reads the first document.
    let documents = format!("{properties}---\nproperties: []\n");
    let annotation = |csv: &str, metadata: &[(&str, &str)]| -> Option<String> {
        let bundle = bundle(&[("csv.yaml", csv)], metadata, &mut Diagnostics::new())?;
        bundle.csv.annotation("olm.properties").map(str::to_owned)
    };
    let metadata = [ANNOTATIONS, ("properties.yaml", properties)];
    let own = r#"{"type":"example.com/tier","value":"gold"}"#;
    let added = r#"{"type":"example.com/limits","value":{"cpu":2,"memory":"\u003c1Gi"}}"#;
    assert_eq!(annotation(csv, &metadata), Some(format!("[{own},{added}]")));
    assert_eq!(annotation(CSV.1, &metadata), Some(format!("[{added}]")));
    let metadata = [ANNOTATIONS, ("properties.yaml", &documents)];
    assert_eq!(annotation(CSV.1, &metadata), Some(format!("[{added}]")));
    assert_eq!(annotation(CSV.1, &[ANNOTATIONS]), None);
}

#[test]
fn documents_that_are_no_objects_are_noted() {
    let text = "\
image: {tag: v1}
---
apiVersion: v1
items: []
---
kind: Widget
---
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
---
apiVersion: v1
kind: Config
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
---
apiVersion: v1
kind: ConfigMapList
items: [{metadata: {name: of-list}}]
---
apiVersion: my.kustomize.config.k8s.io/v1
kind: Kustomization
metadata: {name: other}
";
    let mut diagnostics = Diagnostics::new();
    let objects = manifests("rendered.yaml", text.as_bytes(), &mut diagnostics);
    let labels: Vec<_> = objects.iter().map(Object::label).collect();
    assert_eq!(labels, ["ConfigMap/settings", "ConfigMap/of-list", "Kustomization/other"]);

    let unnamed = "document without apiVersion and kind is not checked";
    let render = "pass rendered manifests: from `helm template` or `kustomize build`";
    let name = "write `metadata.name` if it is an object of the cluster";
    let apply = "apply it first: `kustomize build DIR | bundle2chart check-serving -`";
    let expected = [
        (1, 1, unnamed, render),
        (2, 3, unnamed, render),
        (3, 6, "document of kind Widget is not checked", render),
        (4, 8, "document of kind Kustomization is not checked", apply),
        (5, 11, "document of kind Config is not checked", name),
    ];
    let found: Vec<_> = diagnostics
        .iter()
        .map(|d| {
            let (document, line) = (d.place.document.unwrap(), d.place.line.unwrap());
            (document, line, d.message.as_str(), d.hint.as_deref().unwrap())
        })
        .collect();
    assert_eq!(found, expected);
}

/// Manifests outside of bundles are in no manifests directory, wherever their file is.
#[test]
fn faults_of_manifests_outside_of_bundles() {
    let document = "every document must be an object with apiVersion, kind and metadata.name";
    for (text, hint) in [
        ("a: ]\n", "fix the file: it must be YAML or JSON"),
        ("apiVersion: v1\nkind: List\nitems: [5]\n", document),
        ("apiVersion: v1\nkind: List\nitems: [{kind: Pod}]\n", document),
        (
            "apiVersion: v1\nkind: ConfigMap\n",
            "set a name: Helm and OLM install objects by name, not generateName",
        ),
    ] {
        for file in ["rendered.yaml", "/tmp/rendered.yaml", "manifests/rendered.yaml"] {
            let mut diagnostics = Diagnostics::new();
            assert_eq!(manifests(file, text.as_bytes(), &mut diagnostics), []);
            let found: Vec<_> = diagnostics.iter().map(|found| found.hint.as_deref()).collect();
            assert_eq!(found, [Some(hint)], "{file}: {text}");
        }
    }
}
