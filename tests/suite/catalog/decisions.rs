//! Decisions that a later bundle may not make in silence: the namespaces that its operator watches, and which
//! package it is of.

use super::fixture::*;
use crate::support::command::{Case, Seen};
use crate::support::image::{Compression, Image, Layer, Layout};
use crate::support::lamp::{ANNOTATIONS, CRD, CSV};
use std::collections::BTreeMap;

const MIRROR: &str = "[[mirror]]\nfrom = \"registry.example.com\"\nto = \"oci-layout:images\"\n";

/// A bundle image with this CSV and these annotations.
fn image(csv: &str, annotations: &str) -> Image {
    let mut layer = Layer::new();
    layer
        .file("manifests/csv.yaml", csv.as_bytes())
        .file("manifests/crd.yaml", CRD.as_bytes())
        .file("metadata/annotations.yaml", annotations.as_bytes());
    Image {
        architecture: "amd64",
        labels: BTreeMap::new(),
        layers: vec![(Compression::Gzip, layer.into_tar())],
    }
}

/// The CSV at this version, with a Role for Secrets, and with or without AllNamespaces.
fn csv(version: &str, all_namespaces: bool) -> String {
    let role = "      permissions:\n      - serviceAccountName: lamp-operator\n        rules:\n        \
                - apiGroups: ['']\n          resources: [secrets]\n          verbs: [list, get]\n";
    let supported = format!("AllNamespaces\n    supported: {all_namespaces}");
    let csv = CSV
        .replace("1.2.3", version)
        .replace("AllNamespaces\n    supported: true", &supported)
        .replace("      clusterPermissions:\n", &format!("{role}      clusterPermissions:\n"));
    assert!(csv.contains("secrets") && csv.contains(&supported));
    csv
}

fn case_of(images: &[(&str, Image)]) -> Case {
    let case = Case::new();
    let mut layout = Layout::default();
    for (version, image) in images {
        layout.image(&image_of(version), image);
    }
    for (path, content) in layout.into_files() {
        case.write(&format!("images/{path}"), content);
    }
    case
}

/// Configures one bundle from the image of this version.
fn from_image(case: &Case, version: &str, more: &str) {
    let image = image_of(version);
    let bundle = format!("[[bundle]]\nname = \"lamp-operator\"\nimage = \"{image}\"\n{more}");
    case.write("bundles.toml", format!("{MIRROR}\n{bundle}\n"));
}

#[track_caller]
fn succeeds(case: &Case, arguments: &[&str]) -> Seen {
    let seen = case.run(arguments);
    assert_eq!(seen.code, Some(0), "{arguments:?}: {}", seen.text());
    seen
}

#[track_caller]
fn refused(case: &Case, arguments: &[&str], error: &str) -> String {
    let (charts, lock) = (case.listing("out"), case.read("bundles.lock"));
    let seen = case.run(arguments);
    assert_eq!(seen.code, Some(2), "{arguments:?}: {}", seen.text());
    assert!(seen.stderr.contains(error), "{arguments:?}: {}", seen.text());
    assert_eq!((case.listing("out"), case.read("bundles.lock")), (charts, lock));
    seen.stderr
}

#[test]
fn a_default_of_watch_that_changes_stops_until_it_is_written() {
    let annotations = ANNOTATIONS;
    let case = case_of(&[
        ("1.2.2", image(&csv("1.2.2", false), annotations)),
        ("1.2.3", image(&csv("1.2.3", true), annotations)),
    ]);
    from_image(&case, "1.2.2", "");
    succeeds(&case, &["build"]);
    let lock = case.read("bundles.lock");
    assert!(lock.contains("\npackage = \"lamp-operator\"\nwatch = \"own\"\n"), "{lock}");
    let readme = case.read("out/lamp-operator/1.2.2/README.md");
    assert!(readme.contains("The operator watches the release namespace only."));

    from_image(&case, "1.2.3", "");
    for arguments in [&["build"] as &[&str], &["build", "--check"], &["lock"], &["lock", "--check"]]
    {
        let said = refused(&case, arguments, "error[watch-changed]");
        assert!(said.contains("supports AllNamespaces, which is the default"), "{said}");
        assert!(said.contains("write watch = \"own\" to keep it, or watch = \"all\" to accept"));
        assert!(said.contains("become ClusterRoles for all namespaces, including get, list"));
        assert!(said.contains("--> manifests/csv.yaml:25:7\n"), "{said}");
    }
    refused(&case, &["build", "--locked"], "error[lock-stale]");

    // Keep it.
    from_image(&case, "1.2.3", "watch = \"own\"");
    succeeds(&case, &["build"]);
    succeeds(&case, &["lock", "--check"]);
    succeeds(&case, &["build", "--locked", "--check"]);
    assert!(case.read("bundles.lock").contains("watch = \"own\""));
    // What was kept is not given up with the key.
    from_image(&case, "1.2.3", "");
    refused(&case, &["build"], "error[watch-changed]");
    refused(&case, &["build", "--locked"], "error[watch-changed]");
    refused(&case, &["lock", "--upgrade"], "error[watch-changed]");

    // Accept it.
    from_image(&case, "1.2.3", "watch = \"all\"");
    assert_eq!(case.run(&["lock", "--check"]).code, Some(1));
    succeeds(&case, &["build", "--replace"]);
    assert!(case.read("bundles.lock").contains("watch = \"all\""));
    for (file, said) in [
        ("README.md", "The operator watches all namespaces."),
        ("templates/NOTES.txt", "The operator watches all namespaces."),
        ("Chart.yaml", "bundle2chart/watch: all"),
    ] {
        let text = case.read(&format!("out/lamp-operator/1.2.3/{file}"));
        assert!(text.contains(said), "{text}");
    }
    from_image(&case, "1.2.3", "");
    succeeds(&case, &["build", "--locked"]);
    let seen = succeeds(&case, &["inspect", &image_of("1.2.3")]);
    assert!(seen.stdout.contains("all namespaces (default)"), "{}", seen.stdout);

    // The other way round.
    from_image(&case, "1.2.2", "");
    let said = refused(&case, &["build"], "error[watch-changed]");
    assert!(said.contains("no longer supports AllNamespaces"), "{said}");
    assert!(said.contains("write watch = \"own\" to accept"), "{said}");
}

/// A bundle of a path is in no lock; its chart says what it watches.
#[test]
fn a_bundle_of_a_path_is_held_against_its_chart() {
    let case = Case::with_lamps();
    case.write(crate::support::lamp::CSV_FILE, csv("1.2.2", false));
    succeeds(&case, &["build"]);
    case.write(crate::support::lamp::CSV_FILE, csv("1.2.3", true));
    let seen = case.run(&["build"]);
    assert_eq!(seen.code, Some(2), "{}", seen.text());
    assert!(seen.stderr.contains("error[watch-changed]"), "{}", seen.text());
    assert!(seen.stderr.contains("write watch = \"own\" to keep it, or watch = \"all\" to accept"));
    assert!(!case.path("out/lamp-operator/1.2.3").exists());
    case.write("bundles.toml", format!("{}watch = \"all\"\n", crate::support::lamp::CONFIG));
    succeeds(&case, &["build"]);
}

#[test]
fn another_package_under_the_same_name_is_an_error() {
    let fans = ANNOTATIONS.replace("v1: lamp-operator", "v1: fan-operator");
    let case = case_of(&[
        ("1.2.2", image(&csv("1.2.2", true), ANNOTATIONS)),
        ("1.2.3", image(&csv("1.2.3", true), &fans)),
    ]);
    from_image(&case, "1.2.2", "package = \"fan-operator\"");
    for arguments in [&["build"], &["lock"]] {
        let seen = case.run(arguments);
        let message = "error[package-mismatch]: `registry.example.com/lamps/bundle:1.2.2` is a \
            bundle of package `lamp-operator`, not of `fan-operator`\n";
        assert!(seen.stderr.contains(message), "{}", seen.text());
        let hint = "= hint: use a bundle of `fan-operator`, or write package = \"lamp-operator\"\n";
        assert!(seen.stderr.contains(hint), "{}", seen.text());
    }
    from_image(&case, "1.2.2", "");
    succeeds(&case, &["build"]);

    from_image(&case, "1.2.3", "");
    for arguments in [&["build"] as &[&str], &["lock"], &["lock", "--upgrade"], &["images"]] {
        let said = refused(&case, arguments, "error[package-mismatch]");
        assert!(said.contains("bundles.lock records package `lamp-operator`"), "{said}");
        assert!(said.contains("write package = \"fan-operator\""), "{said}");
    }
    from_image(&case, "1.2.3", "package = \"fan-operator\"");
    succeeds(&case, &["build"]);
    from_image(&case, "1.2.3", "");
    succeeds(&case, &["build", "--locked"]);
}

#[test]
fn a_catalog_with_the_image_of_another_package_is_an_error() {
    let fans = ANNOTATIONS.replace("v1: lamp-operator", "v1: fan-operator");
    let case = case_of(&[("1.2.3", image(&csv("1.2.3", true), &fans))]);
    case.write("catalog/index.json", as_json(&catalog()));
    configure(&case, "");
    for arguments in [&["build"], &["lock"]] {
        let seen = case.run(arguments);
        assert_eq!(seen.code, Some(2), "{}", seen.text());
        assert!(seen.stderr.contains("error[package-mismatch]"), "{}", seen.text());
        assert!(seen.stderr.contains("name the package `fan-operator`"), "{}", seen.text());
        let hint = "= hint: report it to the owner of the catalog; to build this bundle anyway, set \
            `image` to its image instead of `catalog`\n";
        assert!(seen.stderr.contains(hint), "{}", seen.text());
    }
    assert_eq!(case.listing("out"), "");
}
