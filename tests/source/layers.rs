//! Layers: order, whiteouts, links, and what is kept of them.

use crate::fixture::*;
use bundle2chart::diag::{Code, Severity};
use tar::EntryType;

fn annotated(tar: Tar) -> Vec<u8> {
    tar.file("metadata/annotations.yaml", annotations("manifests/", "metadata/")).end()
}

#[test]
fn an_image_gives_its_files_and_its_identity() {
    let image = Image::of([bundle_tar().end()]);
    let layout = LayoutDir::with(&image);
    let (files_read, findings) = layout.read().unwrap();
    assert!(findings.is_empty());
    assert_eq!(files_read.manifests_dir, "manifests");
    assert_eq!(files_read.metadata_dir, "metadata");
    assert_eq!(files_read.labels, image.labels);
    assert_eq!(text(files_read.manifests), files(&[("csv.yaml", "kind: ClusterServiceVersion\n")]));
    let expected = annotations("manifests/", "metadata/");
    assert_eq!(text(files_read.metadata), files(&[("annotations.yaml", &expected)]));
    let identity = files_read.image.unwrap();
    assert_eq!(identity.digest, layout.entries[0]["digest"].as_str().unwrap());
    let (layer, _) = &image.layers[0];
    assert_eq!(identity.layers, [(sha256(layer), layer.len() as u64)]);
}

#[test]
fn later_layers_win_and_whiteouts_hide_earlier_ones() {
    let outcome = read_layers([
        annotated(
            Tar::new().file("manifests/a", "1").file("manifests/b", "1").file("manifests/c", "1"),
        ),
        Tar::new().file("manifests/b", "2").file("manifests/.wh.a", "").end(),
        Tar::new().file("manifests/a", "3").file("manifests/.wh.c", "").end(),
    ]);
    assert_eq!(manifests(outcome), files(&[("a", "3"), ("b", "2")]));
}

#[test]
fn whiteouts_hide_earlier_layers_only() {
    for tar in [
        Tar::new().file("manifests/a", "2").file("manifests/.wh.a", ""),
        Tar::new().file("manifests/.wh.a", "").file("manifests/a", "2"),
        Tar::new().file("manifests/a", "2").file("manifests/.wh..wh..opq", ""),
        Tar::new().file(".wh.manifests", "").file("manifests/a", "2"),
        Tar::new().file("manifests/a", "2").file(".wh..wh..opq", "").file("metadata/x", ""),
    ] {
        let outcome = read_layers([Tar::new().file("manifests/a", "1").end(), tar.end()]);
        assert_eq!(manifests(outcome), files(&[("a", "2")]));
    }
}

#[test]
fn opaque_folders_hide_all_of_earlier_layers() {
    let outcome = read_layers([
        annotated(
            Tar::new().file("manifests/a", "1").file("manifests/b", "1").file("manifests.d/x", "1"),
        ),
        Tar::new().file("manifests/.wh..wh..opq", "").file("manifests/c", "2").end(),
    ]);
    assert_eq!(manifests(outcome), files(&[("c", "2")]));
}

#[test]
fn marks_of_union_file_systems_are_not_files() {
    let outcome = read_layers([annotated(
        Tar::new()
            .file("manifests/a", "1")
            .file("manifests/.wh..wh.plnk", "")
            .file("manifests/.wh.", "")
            .file("manifests/.wh...", ""),
    )]);
    assert_eq!(manifests(outcome), files(&[("a", "1")]));
}

#[test]
fn prefixes_of_names_do_not_matter() {
    let outcome = read_layers([annotated(
        Tar::new()
            .folder("./")
            .file("./manifests/a", "1")
            .file("/manifests/b", "1")
            .file("manifests//c", "1"),
    )]);
    assert_eq!(manifests(outcome), files(&[("a", "1"), ("b", "1"), ("c", "1")]));
}

#[test]
fn hard_links_to_files_of_the_bundle_are_files() {
    let outcome = read_layers([
        annotated(Tar::new().file("manifests/a", "1").hard_link("manifests/b", "manifests/a")),
        Tar::new()
            .file("manifests/a", "2")
            .hard_link("manifests/c", "./metadata/../manifests/a")
            .end(),
        Tar::new().file("manifests/.wh.a", "").end(),
    ]);
    assert_eq!(manifests(outcome), files(&[("b", "1"), ("c", "2")]));
}

#[test]
fn hard_links_to_anything_else_are_errors() {
    let outcome = read_layers([annotated(
        Tar::new().file("etc/passwd", "root").hard_link("manifests/b", "etc/passwd"),
    )]);
    assert_error(&outcome, Code::UnexpectedEntry, &["manifests/b", "hard link", "etc/passwd"]);
}

#[test]
fn folders_and_files_replace_each_other() {
    let outcome = read_layers([
        annotated(Tar::new().file("manifests", "file").file("manifests.yaml", "")),
        Tar::new().folder("manifests").file("manifests/a", "2").end(),
    ]);
    assert_eq!(manifests(outcome), files(&[("a", "2")]));
    let outcome = read_layers([
        annotated(Tar::new().file("manifests", "file")),
        Tar::new().file("manifests/a", "2").end(),
    ]);
    assert_eq!(manifests(outcome), files(&[("a", "2")]));
    let outcome = read_layers([
        annotated(Tar::new().file("manifests/x/a", "1").file("manifests/b", "1")),
        Tar::new().file("manifests/x", "2").end(),
    ]);
    assert_eq!(manifests(outcome), files(&[("b", "1"), ("x", "2")]));
    let outcome = read_layers([
        annotated(Tar::new().file("manifests/a", "1")),
        Tar::new().file("manifests", "2").end(),
    ]);
    assert_error(&outcome, Code::UnexpectedEntry, &["`manifests` is a file"]);
}

#[test]
fn what_stands_on_an_operating_system_is_read() {
    let base = Tar::new()
        .folder("dev/")
        .special(EntryType::Char, "dev/null")
        .special(EntryType::Block, "dev/sda")
        .special(EntryType::Fifo, "run/pipe")
        .sparse("var/log/lastlog", b"10000000000")
        .symlink("bin", "usr/bin")
        .symlink("etc/mtab", "/proc/self/mounts")
        .symlink("etc/up", "../../../x")
        .raw(EntryType::Regular, b"etc/latin-\xe9", b"", b"x")
        .file("/etc/passwd", "root")
        .file("../outside", "x")
        .file("a/../../b", "x")
        .hard_link("usr/bin/sh", "usr/bin/bash")
        .special(EntryType::XGlobalHeader, "pax_global_header")
        .special(EntryType::new(b'V'), "volume")
        .file("bin/through-a-link", "x")
        .end();
    let outcome = read_layers([base, bundle_tar().end()]);
    assert_eq!(manifests(outcome), files(&[("csv.yaml", "kind: ClusterServiceVersion\n")]));
}

#[test]
fn only_regular_files_may_be_in_the_folders() {
    let cases: [(Tar, &[&str]); 12] = [
        (
            Tar::new().symlink("manifests/x", "/etc/passwd"),
            &["`manifests/x` is a symbolic link to `/etc/passwd`"],
        ),
        (Tar::new().symlink("metadata/x", "a"), &["`metadata/x` is a symbolic link"]),
        (
            Tar::new().symlink("manifests", "deploy"),
            &["`manifests` is a symbolic link to `deploy`"],
        ),
        (Tar::new().special(EntryType::Char, "manifests/x"), &["`manifests/x` is a device"]),
        (Tar::new().special(EntryType::Fifo, "manifests/x"), &["named pipe"]),
        (Tar::new().sparse("manifests/x", b"10000000000"), &["sparse"]),
        (Tar::new().special(EntryType::new(b'Z'), "manifests/x"), &["unknown type"]),
        (Tar::new().file("x/../manifests/x", ""), &["`manifests/x` is written with `..`"]),
        (Tar::new().file("../../manifests/x", ""), &["`manifests/x` is written with `..`"]),
        (
            Tar::new().raw(EntryType::Regular, b"manifests/\xff", b"", b""),
            &["manifests/\\xff", "UTF-8"],
        ),
        (Tar::new().file("manifests/a\nb", ""), &["control characters"]),
        (
            Tar::new().folder("manifests/sub/").file("manifests/sub/x", ""),
            &["`manifests/sub` is a folder", "OLM"],
        ),
    ];
    for (tar, words) in cases {
        let outcome = read_layers([bundle_tar().end(), tar.end()]);
        let error = assert_error(&outcome, Code::UnexpectedEntry, words);
        assert!(error.place.file.is_some());
    }
    let outcome = read_layers([bundle_tar().end(), Tar::new().file("manifests/sub/x", "").end()]);
    assert_error(&outcome, Code::UnexpectedEntry, &["`manifests/sub` is a folder"]);
}

#[test]
fn a_later_layer_may_take_away_what_may_not_be_there() {
    let outcome = read_layers([
        bundle_tar().symlink("manifests/x", "/etc/passwd").symlink("metadata", "m").end(),
        Tar::new().file("manifests/.wh.x", "").folder("metadata/").end(),
        annotated(Tar::new()),
    ]);
    assert_eq!(manifests(outcome), files(&[("csv.yaml", "kind: ClusterServiceVersion\n")]));
}

#[test]
fn folders_are_allowed_in_the_metadata() {
    let outcome = read_layers([bundle_tar().file("metadata/more/x", "1").end()]);
    let (read, _) = outcome.unwrap();
    assert_eq!(read.metadata["more/x"], b"1");
}

#[test]
fn nothing_gets_into_the_folders_through_a_link() {
    for (link, target, file) in [
        ("x", "manifests", "x/evil"),
        ("x", "/manifests", "x/evil"),
        ("x", ".", "x/manifests/evil"),
        ("usr/x", "../manifests", "usr/x/evil"),
        ("x", "/a/b/../../../manifests", "x/evil"),
    ] {
        let outcome = read_layers([
            bundle_tar().symlink(link, target).end(),
            Tar::new().file(file, "").end(),
        ]);
        assert_error(&outcome, Code::UnexpectedEntry, &["manifests/evil", file, "symbolic link"]);
    }
    let outcome = read_layers([bundle_tar()
        .symlink("b", "manifests")
        .symlink("a", "b")
        .symlink("loop", "loop")
        .file("loop/x", "")
        .file("a/evil", "")
        .end()]);
    assert_error(&outcome, Code::UnexpectedEntry, &["manifests/evil", "a/evil"]);
    // Hiding files is as good as writing them.
    for (name, at) in
        [("x/.wh.csv.yaml", "."), ("y/../manifests/.wh.csv.yaml", "y"), ("y/../.wh.manifests", "y")]
    {
        let outcome = read_layers([
            bundle_tar().symlink("x", "manifests").end(),
            Tar::new().folder(at).file(name, "").end(),
        ]);
        assert_error(&outcome, Code::BrokenArchive, &["hides", name]);
    }
    // A folder in the place of the link ends it.
    let outcome = read_layers([
        bundle_tar().symlink("x", "manifests").end(),
        Tar::new().folder("x/").file("x/harmless", "").end(),
    ]);
    assert_eq!(manifests(outcome).len(), 1);
}

#[test]
fn every_compression_is_read() {
    let tar = bundle_tar().end();
    let (first, second) = tar.split_at(700);
    let skippable = |length: u32, content: &[u8]| {
        [&[0x5a, 0x2a, 0x4d, 0x18][..], &length.to_le_bytes(), content].concat()
    };
    let cases = [
        (gzip(&tar), GZIP_LAYER),
        (zstd(&tar), ZSTD_LAYER),
        (tar.clone(), PLAIN_LAYER),
        (gzip(&tar), "application/vnd.docker.image.rootfs.diff.tar.gzip"),
        (tar.clone(), "application/vnd.docker.image.rootfs.diff.tar"),
        (gzip(&tar), "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip"),
        (gzip(&tar), "application/vnd.oci.image.layer.nondistributable.v1.tar+gzip"),
        // Several members or frames, as estargz and zstd:chunked have them.
        ([gzip(first), gzip(b""), gzip(second)].concat(), GZIP_LAYER),
        (
            [
                skippable(3, b"abc"),
                zstd(first),
                skippable(0, b""),
                zstd(second),
                skippable(2, b"de"),
            ]
            .concat(),
            ZSTD_LAYER,
        ),
    ];
    for (layer, media_type) in cases {
        let image = Image::stored(layer, media_type);
        assert_eq!(manifests(LayoutDir::with(&image).read()).len(), 1, "{media_type}");
    }
}

#[test]
fn the_bytes_decide_when_the_media_type_is_wrong() {
    let tar = bundle_tar().end();
    for (layer, media_type) in
        [(gzip(&tar), ZSTD_LAYER), (zstd(&tar), PLAIN_LAYER), (tar.clone(), GZIP_LAYER)]
    {
        let (read, findings) = LayoutDir::with(&Image::stored(layer, media_type)).read().unwrap();
        assert_eq!(read.manifests.len(), 1);
        let found: Vec<_> = findings.iter().map(|found| (found.code, found.severity)).collect();
        assert_eq!(found, [(Code::LayerType, Severity::Warning)]);
    }
}

#[test]
fn docker_images_are_read() {
    let mut image = Image::of([bundle_tar().end()]);
    image.manifest_type = "application/vnd.docker.distribution.manifest.v2+json".into();
    image.config_type = "application/vnd.docker.container.image.v1+json".into();
    image.layers[0].1 = "application/vnd.docker.image.rootfs.diff.tar.gzip".into();
    let (read, _) = LayoutDir::with(&image).read().unwrap();
    assert_eq!(read.labels, image.labels);
}

#[test]
fn long_names_are_read() {
    let mut builder = tar::Builder::new(Vec::new());
    let long = format!("manifests/{}.yaml", "x".repeat(200));
    let mut header = tar::Header::new_gnu();
    header.set_size(1);
    header.set_cksum();
    builder.append_data(&mut header, &long, &b"1"[..]).unwrap();
    // The same as PAX has it.
    let record = |key: &str, value: &str| {
        let rest = format!(" {key}={value}\n");
        let length = (1..).find(|n| n.to_string().len() + rest.len() == *n).unwrap();
        format!("{length}{rest}")
    };
    let name = format!("manifests/{}", "é".repeat(100));
    let pax = Tar::new()
        .raw(EntryType::XHeader, b"PaxHeaders/x", b"", record("path", &name).as_bytes())
        .file("short", "2")
        .end();
    let outcome = read_layers([builder.into_inner().unwrap(), pax]);
    let expected = format!("{}.yaml", "x".repeat(200));
    assert_eq!(manifests(outcome), files(&[(&expected, "1"), (&"é".repeat(100), "2")]));
}
