//! Finding an image in a layout.

use crate::fixture::*;
use bundle2chart::diag::{Code, Severity};
use serde_json::{Value, json};

/// An image that is told apart by a file.
fn image(mark: &str) -> Image {
    Image::of([bundle_tar().file("manifests/mark", mark).end()])
}

#[track_caller]
fn mark(outcome: Outcome) -> String {
    manifests(outcome).remove("mark").unwrap()
}

#[test]
fn a_reference_is_found_by_its_names() {
    let mut layout = LayoutDir::new();
    layout.add(&image("full"), Some("registry.redhat.io/a/b:1.0"));
    layout.add(&image("rest"), Some("a/c:1.0"));
    layout.add(&image("other"), Some("a/b:2.0"));
    let digest = layout.add(&image("digest"), None)["digest"].as_str().unwrap().to_owned();
    let fetch = |reference: &str, from: &str| fetch_image(reference, &[(from, layout.path())]);
    assert_eq!(mark(fetch("registry.redhat.io/a/b:1.0", "registry.redhat.io")), "full");
    assert_eq!(mark(fetch("registry.redhat.io/a/c:1.0", "registry.redhat.io")), "rest");
    assert_eq!(mark(fetch("registry.redhat.io/x/a/c:1.0", "registry.redhat.io/x")), "rest");
    let pinned = format!("registry.redhat.io/a/b@{digest}");
    assert_eq!(mark(fetch(&pinned, "registry.redhat.io")), "digest");
    // The digest wins over the tag.
    let both = format!("registry.redhat.io/a/b:1.0@{digest}");
    assert_eq!(mark(fetch(&both, "registry.redhat.io/")), "digest");
}

#[test]
fn a_bare_tag_will_do_only_where_it_is_unambiguous() {
    let mut layout = LayoutDir::new();
    layout.add(&image("1"), Some("1.0"));
    layout.add(&image("2"), Some("2.0"));
    layout.add(&image("3"), Some("2.0"));
    let fetch = |reference: &str, from: &str| fetch_image(reference, &[(from, layout.path())]);
    let (read, findings) = fetch("quay.io/a/b:1.0", "quay.io").unwrap();
    assert_eq!(read.manifests["mark"], b"1");
    let found: Vec<_> = findings.iter().map(|found| (found.code, found.severity)).collect();
    assert_eq!(found, [(Code::BareTag, Severity::Note)]);
    // A mirror of one repository has nothing to guess.
    assert_eq!(mark(fetch("quay.io/a/b:1.0", "quay.io/a/b")), "1");
    assert_error(
        &fetch("quay.io/a/b:2.0", "quay.io"),
        Code::AmbiguousImage,
        &["2 matching images", "2.0"],
    );
    // A bare tag next to the full name of another repository is that repository's.
    let mut entry = layout.store(&image("4"));
    entry["annotations"] = json!({
        "org.opencontainers.image.ref.name": "4.0", "io.containerd.image.name": "quay.io/x/y:4.0",
    });
    layout.entries.push(entry);
    layout.write_index();
    let fetch = |reference: &str| fetch_image(reference, &[("quay.io", layout.path())]);
    assert_error(&fetch("quay.io/a/b:4.0"), Code::ImageNotFound, &["quay.io/x/y:4.0"]);
    assert_eq!(mark(fetch("quay.io/x/y:4.0")), "4");
}

#[test]
fn what_is_not_there_is_answered_with_what_is() {
    let mut layout = LayoutDir::new();
    for name in ["z/z:9", "a/b:1.0", "a/b:1.1", "x/b:7", "y/q:3.0"] {
        layout.add(&image(name), Some(name));
    }
    let outcome = fetch_image("quay.io/a/b:3.0", &[("quay.io", layout.path())]);
    assert_error(
        &outcome,
        Code::ImageNotFound,
        &["`quay.io/a/b:3.0`", "`a/b:1.0`, `a/b:1.1`, `x/b:7`, `y/q:3.0` and `z/z:9`"],
    );
    for number in 0..20 {
        layout.add(&image(&number.to_string()), Some(&format!("many:{number}")));
    }
    let outcome = fetch_image("quay.io/a/b:3.0", &[("quay.io", layout.path())]);
    assert_error(&outcome, Code::ImageNotFound, &["and 17 more"]);
    let unknown = format!("quay.io/a/b@{}", sha256(b"unknown"));
    let outcome = fetch_image(&unknown, &[("quay.io", layout.path())]);
    assert_error(&outcome, Code::ImageNotFound, &[&sha256(b"unknown")]);
}

#[test]
fn mirrors_end_on_a_slash() {
    let mut layout = LayoutDir::new();
    layout.add(&image("1"), Some("a/b:1.0"));
    let outcome = fetch_image(
        "registry.redhat.io.evil.com/a/b:1.0",
        &[("registry.redhat.io", layout.path())],
    );
    let error = assert_error(
        &outcome,
        Code::Offline,
        &["registry.redhat.io.evil.com", "--offline", "vendor"],
    );
    assert!(error.place.span.is_some());
    let mut other = LayoutDir::new();
    other.add(&image("2"), Some("b:1.0"));
    let mirrors = [("registry.redhat.io", layout.path()), ("registry.redhat.io/a", other.path())];
    assert_eq!(mark(fetch_image("registry.redhat.io/a/b:1.0", &mirrors)), "2");
}

#[test]
fn what_a_mirror_does_not_have_is_looked_for_elsewhere_only_when_asked() {
    let layout = |mark: &str, name: &str| {
        let mut layout = LayoutDir::new();
        layout.add(&image(mark), Some(name));
        layout
    };
    let (first, second) = (layout("1", "quay.io/a/b:1.0"), layout("2", "quay.io/a/b:2.0"));
    let general = layout("3", "quay.io/a/b:3.0");
    let mirrors =
        [("quay.io", general.path()), ("quay.io/a", first.path()), ("quay.io/a", second.path())];
    let fetch =
        |tag: &str, fallback| fetch_mirrored(&format!("quay.io/a/b:{tag}"), &mirrors, fallback);
    for tag in ["1.0", "2.0", "3.0"] {
        assert_eq!(mark(fetch(tag, true)), tag[..1]);
    }
    assert_eq!(mark(fetch("1.0", false)), "1");
    assert_error(&fetch("2.0", false), Code::ImageNotFound, &["2.0"]);
    // After the last one comes the registry, and all that was tried is named.
    let Err(found) = fetch("4.0", true) else { panic!("no layout has it") };
    let codes: Vec<Code> = found.iter().map(|found| found.code).collect();
    assert_eq!(
        codes,
        [Code::Offline, Code::ImageNotFound, Code::ImageNotFound, Code::ImageNotFound]
    );

    // Only absence falls back: a layout that is broken is an error.
    let mut broken = layout("1", "quay.io/a/b:1.0");
    broken.damage_blobs();
    let mirrors = [("quay.io/a", broken.path()), ("quay.io", first.path())];
    let outcome = fetch_mirrored("quay.io/a/b:1.0", &mirrors, true);
    assert_error(&outcome, Code::BlobMismatch, &[]);
}

#[test]
fn a_mirror_that_is_no_layout_is_named() {
    let outcome = fetch_image("quay.io/a/b:1", &[("quay.io", "no/such/folder".as_ref())]);
    assert_error(&outcome, Code::SourceNotFound, &["no/such/folder", "does not exist"]);
    let empty = tempfile::TempDir::new().unwrap();
    let outcome = fetch_image("quay.io/a/b:1", &[("quay.io", empty.path())]);
    assert_error(&outcome, Code::SourceNotFound, &["oci-layout"]);
}

fn platform(mut descriptor: Value, os: &str, architecture: &str) -> Value {
    descriptor["platform"] = json!({ "os": os, "architecture": architecture });
    descriptor
}

#[test]
fn indexes_are_followed_to_linux_amd64_or_the_first_image() {
    for docker in [false, true] {
        let media_type = if docker {
            "application/vnd.docker.distribution.manifest.list.v2+json"
        } else {
            OCI_INDEX
        };
        let mut layout = LayoutDir::new();
        let attestation = platform(layout.store(&image("attestation")), "unknown", "unknown");
        let arm = platform(layout.store(&image("arm")), "linux", "arm64");
        let amd = platform(layout.store(&image("amd")), "linux", "amd64");
        let mut index = |entries: Vec<Value>| {
            let index =
                json!({ "schemaVersion": 2, "mediaType": media_type, "manifests": entries });
            layout.json_blob(&index, media_type)
        };
        let both = index(vec![attestation.clone(), arm.clone(), amd.clone()]);
        let one = index(vec![attestation.clone(), arm.clone()]);
        let nested = index(vec![both.clone()]);
        let empty = index(vec![]);
        for (name, entry) in [("both", both), ("one", one), ("nested", nested), ("empty", empty)] {
            layout.list(entry, Some(name));
        }
        assert_eq!(mark(layout.read_suffix(":both")), "amd");
        assert_eq!(mark(layout.read_suffix(":one")), "arm");
        assert_eq!(mark(layout.read_suffix(":nested")), "amd");
        assert_error(&layout.read_suffix(":empty"), Code::InvalidLayout, &["empty"]);
        // A lock may pin the manifest of one platform, inside of an index.
        let pinned = format!("@{}", arm["digest"].as_str().unwrap());
        let (read, _) = layout.read_suffix(&pinned).unwrap();
        assert_eq!(read.manifests["mark"], b"arm");
        assert_eq!(read.image.unwrap().digest, arm["digest"].as_str().unwrap());
    }
}

#[test]
fn indexes_do_not_nest_without_end() {
    let mut layout = LayoutDir::new();
    let mut entry = layout.store(&image("deep"));
    for _ in 0..20 {
        let index = json!({ "schemaVersion": 2, "manifests": [entry] });
        entry = layout.json_blob(&index, OCI_INDEX);
    }
    layout.list(entry, None);
    assert_error(&layout.read(), Code::InvalidLayout, &["nests more than"]);
}

#[test]
fn a_layout_with_several_images_needs_a_name() {
    let mut layout = LayoutDir::new();
    assert_error(&layout.read(), Code::ImageNotFound, &["no image", "skopeo"]);
    layout.add(&image("1"), Some("quay.io/a/b:1.0"));
    assert_eq!(mark(layout.read()), "1");
    layout.add(&image("1"), Some("same"));
    assert_eq!(mark(layout.read()), "1");
    layout.add(&image("2"), Some("2.0"));
    assert_error(&layout.read(), Code::AmbiguousImage, &["`quay.io/a/b:1.0`", "`2.0`", "`same`"]);
    assert_eq!(mark(layout.read_suffix(":2.0")), "2");
    assert_eq!(mark(layout.read_suffix(":1.0")), "1");
    assert_eq!(mark(layout.read_suffix(":quay.io/a/b:1.0")), "1");
    assert_error(&layout.read_suffix(":3.0"), Code::ImageNotFound, &["3.0", "2.0"]);
    let digest = layout.entries[2]["digest"].as_str().unwrap();
    assert_eq!(mark(layout.read_suffix(&format!("@{digest}"))), "2");
    assert_error(&layout.read_suffix("@sha256:../../etc"), Code::InvalidReference, &["digest"]);
    layout.add(&image("3"), Some("quay.io/c/d:1.0"));
    assert_error(&layout.read_suffix(":1.0"), Code::AmbiguousImage, &["quay.io/c/d:1.0"]);
}

#[test]
fn one_name_for_several_platforms_is_one_image() {
    let mut layout = LayoutDir::new();
    for (mark, architecture) in [("arm", "arm64"), ("amd", "amd64")] {
        let entry = layout.store(&image(mark));
        layout.list(platform(entry, "linux", architecture), Some("1.0"));
    }
    assert_eq!(mark(layout.read_suffix(":1.0")), "amd");
    assert_eq!(mark(layout.read()), "amd");
}
