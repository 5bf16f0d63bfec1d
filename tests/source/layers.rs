//! Layers: order, whiteouts, links, and what is kept of them.

use crate::fixture::*;
use bundle2chart::diag::{Code, Severity};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
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
            &["`manifests/sub` is a directory", "OLM"],
        ),
    ];
    for (tar, words) in cases {
        let outcome = read_layers([bundle_tar().end(), tar.end()]);
        let error = assert_error(&outcome, Code::UnexpectedEntry, words);
        assert!(error.place.file.is_some());
    }
    let outcome = read_layers([bundle_tar().end(), Tar::new().file("manifests/sub/x", "").end()]);
    assert_error(&outcome, Code::UnexpectedEntry, &["`manifests/sub` is a directory"]);
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
        assert_error(&outcome, Code::BrokenArchive, &["deletes files", name]);
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

#[test]
fn the_end_may_lie_in_the_padding_of_the_last_file() {
    // `umoci insert` does not close its tar: neither the last block nor the end is padded.
    let whole = bundle_tar().file("manifests/last", "x".repeat(700)).cut();
    let content_end = whole.len() - (1024 - 700);
    for end in [content_end, content_end + 1, whole.len() - 1, whole.len()] {
        let expected = files(&[
            ("csv.yaml", "kind: ClusterServiceVersion\n"),
            ("last", "x".repeat(700).as_str()),
        ]);
        assert_eq!(manifests(read_layers([whole[..end].to_vec()])), expected, "{end}");
    }
    // What ends sooner has lost something, whether the file is one of the bundle or not.
    for (name, lost) in [("manifests/last", 1), ("manifests/last", 400), ("etc/last", 1)] {
        let whole = bundle_tar().file(name, "x".repeat(700)).cut();
        let cut = whole[..whole.len() - (1024 - 700) - lost].to_vec();
        assert_error(&read_layers([cut]), Code::BrokenArchive, &[]);
    }
    let header = bundle_tar().file("manifests/last", "").cut();
    assert_error(&read_layers([header[..header.len() - 1].to_vec()]), Code::BrokenArchive, &[]);
    // The padding of a long name is not the end.
    let mut long = bundle_tar().raw(EntryType::GNULongName, b"long", b"", b"manifests/a\0").cut();
    long.truncate(long.len() - 512 + 12);
    assert_error(&read_layers([long]), Code::BrokenArchive, &[]);
}

#[test]
fn a_whiteout_after_its_siblings_hides_no_folder_of_its_own_layer() {
    let folders = Tar::new().folder("metadata/sub/").file("metadata/sub/old", "1");
    for whiteout in ["metadata/.wh..wh..opq", "metadata/.wh.sub", "metadata/sub/.wh..wh..opq"] {
        let upper = Tar::new().file("metadata/sub/new", "2").file(whiteout, "");
        let (read, _) = read_layers([folders_with_bundle(&folders), upper.end()]).unwrap();
        assert_eq!(read.metadata.get("sub/new").map(Vec::as_slice), Some(&b"2"[..]), "{whiteout}");
        assert!(!read.metadata.contains_key("sub/old"), "{whiteout}");
    }
    // A folder in the manifests is refused, and its files are not dropped without a word.
    let lower = bundle_tar().folder("manifests/sub/").end();
    let upper = Tar::new().file("manifests/sub/x", "").file("manifests/.wh..wh..opq", "");
    let outcome = read_layers([lower, upper.file("manifests/csv.yaml", "").end()]);
    assert_error(&outcome, Code::UnexpectedEntry, &["`manifests/sub` is a directory"]);
}

fn folders_with_bundle(more: &Tar) -> Vec<u8> {
    [bundle_tar().cut(), more.clone().end()].concat()
}

/// An entry of a layer in the model.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Made {
    File,
    Folder,
    Symlink,
    Whiteout,
    Opaque,
}

/// Layers as the OCI image specification applies them: whiteouts first, wherever they stand.
#[derive(Default)]
struct Model {
    files: BTreeMap<String, String>,
    symlinks: BTreeSet<String>,
}

impl Model {
    fn apply(&mut self, layer: &[(Made, String)], content: &str) {
        let is_below = |path: &str, folder: &str| path.starts_with(&format!("{folder}/"));
        let hides = |path: &str| {
            layer.iter().any(|(made, at)| match made {
                Made::Whiteout | Made::File | Made::Symlink => path == at || is_below(path, at),
                Made::Opaque => is_below(path, at),
                Made::Folder => path == at,
            })
        };
        // A file in the place of a folder; a link there stays, and is refused.
        let is_folder_now = |path: &str| {
            layer.iter().any(|(made, at)| {
                matches!(made, Made::File | Made::Folder | Made::Symlink) && is_below(at, path)
            })
        };
        self.files.retain(|path, _| !hides(path) && !is_folder_now(path));
        self.symlinks.retain(|path| !hides(path));
        for (made, at) in layer {
            match made {
                Made::File => drop(self.files.insert(at.clone(), content.to_owned())),
                Made::Symlink => drop(self.symlinks.insert(at.clone())),
                _ => {}
            }
        }
    }
}

fn layer() -> impl Strategy<Value = Vec<(Made, String)>> {
    let made = prop_oneof![
        4 => Just(Made::File),
        2 => Just(Made::Folder),
        1 => Just(Made::Symlink),
        2 => Just(Made::Whiteout),
        2 => Just(Made::Opaque),
    ];
    let path = prop::collection::vec(prop::sample::select(vec!["a", "b", "c"]), 1..4);
    let entry = (made, path).prop_map(|(made, path)| (made, path.join("/")));
    prop::collection::vec(entry, 0..10).prop_map(|entries| {
        let mut layer: Vec<(Made, String)> = Vec::new();
        let is_white = |made: Made| matches!(made, Made::Whiteout | Made::Opaque);
        for (made, path) in entries {
            // A layer that has two things in one place is nothing that a tool writes.
            let fits = layer.iter().all(|(other, at)| {
                let below = |path: &str, folder: &str| path.starts_with(&format!("{folder}/"));
                is_white(*other)
                    || is_white(made)
                    || (path != *at
                        && (made == Made::Folder || !below(at, &path))
                        && (*other == Made::Folder || !below(&path, at)))
            });
            if fits {
                layer.push((made, path));
            }
        }
        layer
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn layers_give_what_the_specification_says_or_are_refused(
        layers in prop::collection::vec(layer(), 1..4),
    ) {
        let mut model = Model::default();
        let mut tars = vec![bundle_tar().end()];
        for (number, layer) in layers.iter().enumerate() {
            let content = number.to_string();
            model.apply(layer, &content);
            let tar = layer.iter().fold(Tar::new(), |tar, (made, path)| {
                let path = format!("metadata/t/{path}");
                let (folder, name) = path.rsplit_once('/').unwrap();
                match made {
                    Made::File => tar.file(&path, &content),
                    Made::Folder => tar.folder(&path),
                    Made::Symlink => tar.symlink(&path, "nowhere"),
                    Made::Whiteout => tar.file(&format!("{folder}/.wh.{name}"), ""),
                    Made::Opaque => tar.file(&format!("{path}/.wh..wh..opq"), ""),
                }
            });
            tars.push(tar.end());
        }
        let has_links = layers.iter().flatten().any(|(made, _)| *made == Made::Symlink);
        match read_layers(tars) {
            Ok((read, _)) => {
                prop_assert!(model.symlinks.is_empty(), "{:?} are gone", model.symlinks);
                let found = text(read.metadata);
                let found: BTreeMap<_, _> = found
                    .into_iter()
                    .filter_map(|(path, content)| Some((path.strip_prefix("t/")?.to_owned(), content)))
                    .collect();
                prop_assert_eq!(found, model.files);
            }
            Err(_) => prop_assert!(has_links, "refused without a link"),
        }
    }
}
