//! Selection of the folders of an image that are the bundle.

use crate::fixture::*;
use bundle2chart::diag::{Code, Diagnostics, Severity};

fn codes(findings: &Diagnostics) -> Vec<(Code, Severity)> {
    findings.iter().map(|found| (found.code, found.severity)).collect()
}

#[test]
fn labels_name_the_folders() {
    let tar = Tar::new()
        .file("bundle/deploy/a", "1")
        .file("bundle/meta/annotations.yaml", annotations("/bundle/deploy/", "bundle/meta"))
        .file("manifests/other", "x")
        .symlink("manifests/link", "harmless here");
    let image = Image::of([tar.end()])
        .label(MANIFESTS_LABEL, "bundle/deploy/")
        .label(METADATA_LABEL, "bundle/meta/");
    let (read, findings) = LayoutDir::with(&image).read().unwrap();
    assert!(findings.is_empty(), "{findings:?}");
    assert_eq!(read.manifests_dir, "bundle/deploy");
    assert_eq!(read.metadata_dir, "bundle/meta");
    assert_eq!(text(read.manifests), files(&[("a", "1")]));
}

#[test]
fn annotations_win_over_labels() {
    let tar = Tar::new()
        .file("deploy/a", "1")
        .file("manifests/other", "x")
        .file("metadata/annotations.yaml", annotations("deploy/", "metadata/"));
    let (read, findings) = LayoutDir::with(&Image::of([tar.end()])).read().unwrap();
    assert_eq!(codes(&findings), [(Code::FolderMismatch, Severity::Warning)]);
    assert_eq!(read.manifests_dir, "deploy");
    assert_eq!(text(read.manifests), files(&[("a", "1")]));
}

#[test]
fn annotations_are_enough_without_labels() {
    let tar = Tar::new()
        .file("a/b/c", "1")
        .file("metadata/annotations.yaml", annotations("a/b", "metadata/"));
    let read = LayoutDir::with(&Image::of([tar.end()]).no_labels()).read();
    assert_eq!(manifests(read), files(&[("c", "1")]));
}

#[test]
fn usual_names_are_enough_without_anything() {
    let tar = Tar::new().file("manifests/a", "1");
    let read = LayoutDir::with(&Image::of([tar.end()]).no_labels()).read();
    assert_eq!(manifests(read), files(&[("a", "1")]));
}

#[test]
fn metadata_are_where_annotations_yaml_is() {
    let tar = Tar::new()
        .file("manifests/a", "1")
        .file("metadata/annotations.yaml", annotations("manifests/", "elsewhere/"));
    let (read, findings) = LayoutDir::with(&Image::of([tar.end()])).read().unwrap();
    assert_eq!(codes(&findings), [(Code::FolderMismatch, Severity::Warning)]);
    assert_eq!(read.metadata_dir, "metadata");
    assert_eq!(read.metadata.len(), 1);
}

#[test]
fn what_is_no_bundle_is_said_to_be_none() {
    let operator = Image::of([Tar::new().file("manager", "ELF").end()]).no_labels();
    let outcome = LayoutDir::with(&operator).read();
    assert_error(&outcome, Code::NoManifests, &["not a bundle", "`manifests`", "-bundle"]);
    let catalog = Image::of([Tar::new().file("configs/x/catalog.yaml", "").end()])
        .no_labels()
        .label("operators.operatorframework.io.index.configs.v1", "/configs");
    assert_error(&LayoutDir::with(&catalog).read(), Code::NoManifests, &["catalog", "`package`"]);
    let empty = Image::of([Tar::new().folder("manifests").end()]).label(MANIFESTS_LABEL, "deploy/");
    assert_error(&LayoutDir::with(&empty).read(), Code::NoManifests, &["`deploy`", "no file"]);
}

#[test]
fn folders_outside_the_bundle_are_refused() {
    for name in ["../manifests", "/", "", "."] {
        let image = Image::of([bundle_tar().end()]).label(MANIFESTS_LABEL, name);
        let outcome = LayoutDir::with(&image).read();
        assert_error(&outcome, Code::UnexpectedEntry, &["label", MANIFESTS_LABEL]);
        let tar = Tar::new()
            .file("manifests/a", "")
            .file("metadata/annotations.yaml", annotations(&format!("{name:?}"), "metadata/"));
        assert_error(&read_layers([tar.end()]), Code::UnexpectedEntry, &["annotation"]);
    }
}

#[test]
fn an_unreadable_annotations_yaml_is_left_to_the_stage_that_reads_it() {
    let tar = Tar::new().file("manifests/a", "1").file("metadata/annotations.yaml", [0xff, b':']);
    assert_eq!(manifests(read_layers([tar.end()])).len(), 1);
}
