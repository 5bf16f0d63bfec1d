//! Folders, tars and arguments.

use crate::fixture::*;
use bundle2chart::config::Source;
use bundle2chart::diag::{Code, Diagnostics};
use bundle2chart::source::{Limits, fetch, from_argument};
use serde_json::json;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// A bundle folder with these files.
fn folder(list: &[(&str, &str)]) -> TempDir {
    let dir = TempDir::new().unwrap();
    for (name, content) in list {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    dir
}

fn read(dir: &Path) -> Outcome {
    read_path(dir, &Limits::default())
}

#[test]
fn a_folder_is_a_bundle() {
    let annotated = annotations("manifests/", "metadata/");
    let dir = folder(&[
        ("manifests/b.yaml", "2"),
        ("manifests/a.yaml", "1"),
        ("manifests/.hidden", "3"),
        ("metadata/annotations.yaml", &annotated),
        ("metadata/sub/x", "4"),
        ("tests/scorecard/config.yaml", "not kept"),
    ]);
    let (read_files, findings) = read(dir.path()).unwrap();
    assert!(findings.is_empty());
    assert!(read_files.image.is_none() && read_files.labels.is_empty());
    assert_eq!(read_files.manifests_dir, "manifests");
    assert_eq!(
        text(read_files.manifests),
        files(&[("a.yaml", "1"), ("b.yaml", "2"), (".hidden", "3")])
    );
    assert_eq!(
        text(read_files.metadata),
        files(&[("annotations.yaml", &annotated), ("sub/x", "4")])
    );
    // Metadata are optional.
    assert_eq!(manifests(read(folder(&[("manifests/a", "1")]).path())).len(), 1);
    // Relative to the base.
    let outcome = fetch_path("manifests/..", dir.path(), &Limits::default());
    assert_eq!(manifests(outcome).len(), 3);
}

#[test]
fn annotations_name_the_folder_of_a_folder() {
    let dir =
        folder(&[("a/b/x", "1"), ("metadata/annotations.yaml", &annotations("a/b/", "metadata/"))]);
    let (read_files, findings) = read(dir.path()).unwrap();
    assert!(findings.is_empty());
    assert_eq!(read_files.manifests_dir, "a/b");
    assert_eq!(text(read_files.manifests), files(&[("x", "1")]));
    let dir = folder(&[("metadata/annotations.yaml", &annotations("../x", "metadata/"))]);
    assert_error(&read(dir.path()), Code::UnexpectedEntry, &["annotation", "../x"]);
    let dir = folder(&[("metadata/annotations.yaml", &annotations("deploy/", "metadata/"))]);
    assert_error(&read(dir.path()), Code::NoManifests, &["`deploy`"]);
}

#[cfg(unix)]
#[test]
fn only_regular_files_may_be_in_a_folder() {
    use std::os::unix::ffi::OsStrExt as _;
    use std::os::unix::fs::symlink;
    type Change = fn(&Path);
    let cases: [(Change, &str); 6] = [
        (
            |dir| symlink("/etc/passwd", dir.join("manifests/x")).unwrap(),
            "`manifests/x` is a symbolic link",
        ),
        (|dir| symlink("a", dir.join("metadata/x")).unwrap(), "`metadata/x` is a symbolic link"),
        (
            |dir| fs::create_dir_all(dir.join("manifests/sub/deep")).unwrap(),
            "`manifests/sub` is a directory",
        ),
        (
            |dir| {
                fs::rename(dir.join("manifests"), dir.join("elsewhere")).unwrap();
                symlink("elsewhere", dir.join("manifests")).unwrap();
            },
            "`manifests` is a symbolic link",
        ),
        (
            |dir| {
                let path = dir.join("manifests/fifo");
                let made = std::process::Command::new("mkfifo").arg(path).status().unwrap();
                assert!(made.success());
            },
            "`manifests/fifo` is a special file",
        ),
        (
            |dir| {
                fs::write(dir.join("manifests").join(std::ffi::OsStr::from_bytes(b"\xff")), "")
                    .unwrap()
            },
            "UTF-8",
        ),
    ];
    for (change, message) in cases {
        let dir = folder(&[("manifests/a", "1"), ("metadata/b", "2")]);
        change(dir.path());
        let errors = read(dir.path()).unwrap_err();
        let error = errors.iter().next().unwrap();
        assert_eq!(error.code, Code::UnexpectedEntry);
        assert!(error.message.contains(message), "{error:?}");
    }
    // All of them at once.
    let dir = folder(&[("manifests/a", "1")]);
    symlink("x", dir.path().join("manifests/b")).unwrap();
    symlink("x", dir.path().join("manifests/c")).unwrap();
    assert_eq!(read(dir.path()).unwrap_err().iter().count(), 2);
}

#[test]
fn a_folder_has_limits() {
    let dir = folder(&[("manifests/a", "12345"), ("manifests/b", "12345")]);
    let limited = |change: fn(&mut Limits)| {
        let mut limits = Limits::default();
        change(&mut limits);
        read_path(dir.path(), &limits)
    };
    assert_error(
        &limited(|l| l.kept_file_bytes = 4),
        Code::SourceLimit,
        &["manifests/a", "5 bytes"],
    );
    assert_error(&limited(|l| l.kept_bytes = 9), Code::SourceLimit, &["9 bytes"]);
    assert_error(&limited(|l| l.kept_files = 1), Code::SourceLimit, &["more than 1 files"]);
    let big = folder(&[("metadata/annotations.yaml", &" ".repeat(17 << 20)), ("manifests/a", "")]);
    assert_error(&read(big.path()), Code::SourceLimit, &["annotations.yaml"]);
}

#[test]
fn what_holds_no_bundle_is_said_to_hold_none() {
    let outcome = fetch_path("no/such", Path::new("/"), &Limits::default());
    let error = assert_error(&outcome, Code::SourceNotFound, &["no/such", "check the path"]);
    assert!(error.place.span.is_some());
    let empty = TempDir::new().unwrap();
    assert_error(&read(empty.path()), Code::UnknownSource, &["manifests/"]);
    assert_error(&read_bytes(b""), Code::UnknownSource, &[]);
    assert_error(&read_bytes(&Tar::new().file("x", "y").end()), Code::UnknownSource, &[]);
    let other = b"apiVersion: v1\nkind: List\n".repeat(100);
    assert_error(
        &read_bytes(&other),
        Code::UnknownSource,
        &["not a bundle directory, OCI layout or archive"],
    );
    let words = ["cannot unpack"];
    assert_error(&read_bytes(&gzip(&other)), Code::BrokenArchive, &words);
    let docker = Tar::new().file("manifest.json", "[]").file("abc/layer.tar", "").end();
    assert_error(&read_bytes(&docker), Code::ImageNotFound, &["Docker archive", "no names"]);
    #[cfg(unix)]
    assert_error(
        &fetch_path("/dev/zero", Path::new(""), &Limits::default()),
        Code::SourceUnreadable,
        &["neither"],
    );
}

#[test]
fn a_tar_of_a_bundle_folder_is_read() {
    let expected = files(&[("csv.yaml", "kind: ClusterServiceVersion\n")]);
    for tar in [
        bundle_tar().end(),
        gzip(&bundle_tar().end()),
        zstd(&bundle_tar().end()),
        Tar::new().file("./manifests/csv.yaml", expected["csv.yaml"].as_str()).end(),
        // In one folder, as most people make it.
        Tar::new()
            .folder("./operator/")
            .file("./operator/manifests/csv.yaml", expected["csv.yaml"].as_str())
            .file("operator/metadata/annotations.yaml", annotations("manifests", "metadata"))
            .end(),
        // In a folder that only annotations.yaml names.
        Tar::new()
            .file("operator/deploy/a", expected["csv.yaml"].as_str())
            .hard_link("operator/deploy/csv.yaml", "operator/deploy/a")
            .file("operator/metadata/annotations.yaml", annotations("deploy", "metadata"))
            .end(),
    ] {
        let found = manifests(read_bytes(&tar));
        assert_eq!(found["csv.yaml"], expected["csv.yaml"]);
    }
    // What means something in a layer is a file here.
    let tar = bundle_tar().file("manifests/.wh.csv.yaml", "").end();
    assert_eq!(manifests(read_bytes(&tar)).len(), 2);
    let tar = bundle_tar().symlink("manifests/x", "/etc/passwd").end();
    assert_error(&read_bytes(&tar), Code::UnexpectedEntry, &["manifests/x"]);
    assert_error(
        &read_bytes(&gzip(&bundle_tar().end())[..200]),
        Code::BrokenArchive,
        &["unexpected end of file"],
    );
    let bomb = gzip_bomb(&bundle_tar().cut(), 200 << 20, b"");
    assert_error(&read_bytes(&bomb), Code::SourceLimit, &["100 times"]);
}

/// A Docker archive with images of these names, each with the layers given.
fn docker_archive(images: &[(&str, Vec<Vec<u8>>)]) -> Tar {
    let mut tar = Tar::new();
    let mut entries = Vec::new();
    for (name, layers) in images {
        let digests: Vec<String> = layers.iter().map(|layer| sha256(layer)).collect();
        let config = json!({ "rootfs": { "type": "layers", "diff_ids": digests } }).to_string();
        let file = format!("{}.json", sha256(config.as_bytes()).trim_start_matches("sha256:"));
        let mut files = Vec::new();
        for (digest, layer) in digests.iter().zip(layers) {
            let path = format!("{}/layer.tar", digest.trim_start_matches("sha256:"));
            tar = tar.file(&path, layer);
            files.push(path);
        }
        tar = tar.file(&file, config);
        entries.push(json!({ "Config": file, "RepoTags": [name], "Layers": files }));
    }
    tar.file("manifest.json", json!(entries).to_string())
}

#[test]
fn docker_archives_are_read() {
    let layers = vec![bundle_tar().end(), Tar::new().file("manifests/b", "2").end()];
    let one = docker_archive(&[("quay.io/a/b:1.0", layers)]).end();
    for bytes in [one.clone(), gzip(&one)] {
        let (found, _) = read_bytes(&bytes).unwrap();
        assert_eq!(found.manifests.len(), 2);
        assert!(found.image.is_none(), "it has no digest that a registry knows");
    }

    let folder = TempDir::new().unwrap();
    let layers = |mark: &str| vec![bundle_tar().file("manifests/mark", mark).end()];
    let images = [("quay.io/a/b:1.0", layers("1")), ("quay.io/a/c:2.0", layers("2"))];
    std::fs::write(folder.path().join("both.tar"), docker_archive(&images).end()).unwrap();
    let read = |path: &str| fetch_path(path, folder.path(), &Limits::default());
    assert_error(
        &read("both.tar"),
        Code::AmbiguousImage,
        &["2 matching images", "quay.io/a/c:2.0"],
    );
    for path in ["both.tar:2.0", "both.tar:quay.io/a/c:2.0"] {
        assert_eq!(manifests(read(path))["mark"], "2", "{path}");
    }
    assert_error(&read("both.tar:3.0"), Code::ImageNotFound, &["quay.io/a/b:1.0"]);
}

#[test]
fn damaged_docker_archives_are_refused() {
    let manifest = |text: &str| Tar::new().file("manifest.json", text);
    let entry = r#"[{"Config": "c.json", "Layers": ["l.tar"]}]"#;
    let config = |digest: &str| format!("{{\"rootfs\": {{\"diff_ids\": [\"{digest}\"]}}}}");
    let layer = bundle_tar().end();
    let good = config(&sha256(&layer));
    for (tar, words) in [
        (manifest("[{"), "manifest.json"),
        (manifest("[{\"Config\": 1}]"), "manifest.json"),
        (manifest(entry), "c.json"),
        (manifest(entry).file("c.json", "{}"), "c.json"),
        (manifest(entry).file("c.json", &good), "l.tar"),
        (manifest(entry).file("c.json", &good).symlink("l.tar", "/etc/passwd"), "l.tar"),
        (manifest(r#"[{"Config": "c.json"}]"#).file("c.json", &good), "0 layers"),
    ] {
        assert_error(&read_bytes(&tar.end()), Code::InvalidLayout, &[words]);
    }
    let other = manifest(entry).file("c.json", config(&sha256(b"other"))).file("l.tar", &layer);
    assert_error(&read_bytes(&other.end()), Code::BlobMismatch, &["layer 1 of 1"]);
}

#[test]
fn a_tar_of_a_layout_is_read() {
    let mut layout = LayoutDir::with(&Image::of([
        bundle_tar().end(),
        Tar::new().file("manifests/b", "2").end(),
    ]));
    for prefix in ["", "./", "layout/"] {
        for late in [false, true] {
            let tar = layout.tar(prefix, late);
            for bytes in [tar.clone(), gzip(&tar), zstd(&tar)] {
                let (found, _) = read_bytes(&bytes).unwrap();
                assert_eq!(found.manifests.len(), 2);
                assert_eq!(found.image.unwrap().layers.len(), 2);
            }
        }
    }
    layout.add(&Image::of([bundle_tar().end()]), Some("1.0"));
    let dir = folder(&[]);
    fs::write(dir.path().join("l.tar"), layout.tar("", true)).unwrap();
    let suffixed =
        |suffix: &str| fetch_path(&format!("l.tar{suffix}"), dir.path(), &Limits::default());
    assert_eq!(manifests(suffixed(":1.0")).len(), 1);
    assert_error(&suffixed(":2.0"), Code::ImageNotFound, &["1.0"]);
    assert_error(&suffixed(""), Code::AmbiguousImage, &[]);
    // Damage is found inside a tar too.
    let digest = layout.layer_digest();
    fs::write(layout.blob_path(&digest), "x").unwrap();
    let tar = layout.tar("", true);
    fs::write(dir.path().join("l.tar"), &tar).unwrap();
    let first = layout.entries[0]["digest"].as_str().unwrap();
    assert_error(&suffixed(&format!("@{first}")), Code::BlobMismatch, &[&digest]);
}

#[test]
fn a_path_that_exists_literally_wins() {
    let mut layout = LayoutDir::with(&Image::of([bundle_tar().file("manifests/one", "").end()]));
    layout.add(&Image::of([bundle_tar().file("manifests/two", "").end()]), Some("two"));
    let dir = folder(&[("plain:two/manifests/three", "")]);
    let path = dir.path().join("plain");
    fs::rename(layout.path(), &path).unwrap();
    fs::create_dir(layout.path()).unwrap();
    let read = |text: &str| fetch_path(text, dir.path(), &Limits::default());
    assert_eq!(manifests(read("plain:two")), files(&[("three", "")]));
    fs::remove_dir_all(dir.path().join("plain:two")).unwrap();
    assert!(manifests(read("plain:two")).contains_key("two"));
    let bundle = folder(&[("b/manifests/a", "")]);
    let outcome = fetch_path("b:1.0", bundle.path(), &Limits::default());
    assert_error(&outcome, Code::SourceNotFound, &["bundle directory", ":1.0"]);
}

#[test]
fn arguments_are_paths_or_references() {
    // Tests run in the folder of the package.
    let is_path =
        |text: &str| matches!(from_argument(text), Source::Path { path, .. } if path == text);
    for path in
        ["src", "src:1.0", "src/diff@sha256:ab", "./no", "/no/such", "../x", "x.tar.gz", "./src"]
    {
        assert!(is_path(path), "{path}");
    }
    for reference in ["quay.io/a/b:1.0", "no-such", "registry.redhat.io/a/b@sha256:ab"] {
        let source = from_argument(reference);
        assert!(matches!(source, Source::Image { reference: found, .. } if found == reference));
    }
    // They start from the working folder, wherever the configuration is.
    let mut findings = Diagnostics::new();
    let (argument, base) = (from_argument("src"), Path::new("/no/such/folder"));
    assert!(fetch(&argument, base, &[], &Limits::default(), &mut findings).is_none());
    let codes: Vec<_> = findings.iter().map(|found| found.code).collect();
    assert_eq!(codes, [Code::UnknownSource]);
}
