//! Layouts and layers that are damaged, cut short or contradict themselves.

use crate::fixture::*;
use bundle2chart::diag::Code;
use serde_json::{Value, json};
use std::fs;

fn layout() -> LayoutDir {
    LayoutDir::with(&Image::of([bundle_tar().end()]))
}

/// A layout whose only layer has another descriptor.
fn with_descriptor(change: impl Fn(&mut Value)) -> Outcome {
    let mut layout = LayoutDir::new();
    let image = Image::of([bundle_tar().end()]);
    let (digest, size) = layout.blob(&image.layers[0].0, false);
    let mut layer = json!({ "mediaType": GZIP_LAYER, "digest": digest, "size": size });
    change(&mut layer);
    let manifest = layout.store_manifest(&image, vec![layer]);
    layout.list(manifest, None);
    layout.read()
}

#[test]
fn a_truncated_layer_is_found() {
    let layout = layout();
    let digest = layout.layer_digest();
    let path = layout.blob_path(&digest);
    let bytes = fs::read(&path).unwrap();
    for length in [0, 1, 20, bytes.len() - 1] {
        fs::write(&path, &bytes[..length]).unwrap();
        let words = [&format!("layer 1 of 1 ({digest})"), "but its descriptor says"];
        assert_error(&layout.read(), Code::BlobMismatch, &words.map(|w| w as &str));
    }
}

#[test]
fn a_changed_layer_is_found() {
    let layout = layout();
    let digest = layout.layer_digest();
    let path = layout.blob_path(&digest);
    let bytes = fs::read(&path).unwrap();
    for position in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[position] ^= 0x10;
        fs::write(&path, &changed).unwrap();
        let errors = layout.read().unwrap_err();
        let error = errors.iter().next().unwrap();
        assert!(error.message.contains(&digest), "{position}: {error:?}");
    }
    fs::write(&path, [&bytes[..], b"more"].concat()).unwrap();
    assert_error(&layout.read(), Code::BlobMismatch, &["layer 1 of 1", "longer than"]);
    fs::remove_file(&path).unwrap();
    assert_error(&layout.read(), Code::MissingBlob, &["layer 1 of 1", &digest]);
}

#[test]
fn changed_documents_are_found() {
    let layout = layout();
    let manifest = layout.entries[0]["digest"].as_str().unwrap().to_owned();
    let path = layout.blob_path(&manifest);
    let bytes = fs::read(&path).unwrap();
    let config: Value = serde_json::from_slice(&bytes).unwrap();
    let config = config["config"]["digest"].as_str().unwrap().to_owned();
    for digest in [manifest, config] {
        let path = layout.blob_path(&digest);
        let bytes = fs::read(&path).unwrap();
        fs::write(&path, String::from_utf8_lossy(&bytes).replace("e", "E")).unwrap();
        assert_error(&layout.read(), Code::BlobMismatch, &[&digest]);
        fs::write(&path, &bytes[1..]).unwrap();
        assert_error(&layout.read(), Code::BlobMismatch, &[&digest, "but its descriptor says"]);
        fs::remove_file(&path).unwrap();
        assert_error(&layout.read(), Code::MissingBlob, &[&digest]);
        fs::write(&path, bytes).unwrap();
    }
}

#[test]
fn wrong_sizes_and_digests_of_descriptors_are_found() {
    assert!(with_descriptor(|_| ()).is_ok());
    let size = |change: i64| {
        move |layer: &mut Value| layer["size"] = json!(layer["size"].as_i64().unwrap() + change)
    };
    assert_error(&with_descriptor(size(1)), Code::BlobMismatch, &["layer 1 of 1", "descriptor"]);
    assert_error(&with_descriptor(size(-1)), Code::BlobMismatch, &["layer 1 of 1", "longer than"]);
    let digest = |digest: &str| {
        let digest = digest.to_owned();
        with_descriptor(move |layer| layer["digest"] = json!(digest))
    };
    assert_error(&digest(&sha256(b"other")), Code::MissingBlob, &[&sha256(b"other")]);
    // Digests are checked before they become paths.
    for bad in [
        "sha256:../../../../etc/passwd",
        "sha256:",
        "../x:00",
        "none",
        &sha256(b"x").to_uppercase(),
        &format!("sha256:{}", "/".repeat(64)),
    ] {
        assert_error(&digest(bad), Code::InvalidLayout, &["JSON"]);
    }
    for unknown in ["md5:d41d8cd98f00b204e9800998ecf8427e", "blake3:00"] {
        assert_error(
            &digest(unknown),
            Code::InvalidLayout,
            &["unsupported digest algorithm", unknown],
        );
    }
}

#[test]
fn sha512_is_understood() {
    let mut image = Image::of([bundle_tar().end()]);
    image.sha512 = true;
    let layout = LayoutDir::with(&image);
    assert_eq!(manifests(layout.read()).len(), 1);
    let digest = layout.layer_digest();
    assert!(digest.starts_with("sha512:"));
    fs::write(layout.blob_path(&digest), vec![0; image.layers[0].0.len()]).unwrap();
    assert_error(&layout.read(), Code::BlobMismatch, &[&digest]);
}

#[test]
fn diff_ids_are_checked() {
    let (first, second) = (bundle_tar().end(), Tar::new().file("x", "y").end());
    let mut image = Image::of([first.clone(), second.clone()]);
    image.diff_ids = Some(vec![sha256(&first), sha512(&second)]);
    assert!(LayoutDir::with(&image).read().is_ok());
    image.diff_ids = Some(vec![sha256(&first), sha256(&first)]);
    let outcome = LayoutDir::with(&image).read();
    assert_error(
        &outcome,
        Code::BlobMismatch,
        &["layer 2 of 2", &sha256(&first), &sha256(&second)],
    );
    image.diff_ids = Some(vec![sha256(&first)]);
    assert_error(
        &LayoutDir::with(&image).read(),
        Code::InvalidLayout,
        &["lists 1 layers", "lists 2"],
    );
    image.diff_ids = Some(vec![]);
    assert!(LayoutDir::with(&image).read().is_ok());
    // What comes after the end of the archive is hashed too.
    let padded = [first.clone(), vec![0; 9000]].concat();
    let mut image = Image::of([padded.clone()]);
    image.diff_ids = Some(vec![sha256(&padded)]);
    assert!(LayoutDir::with(&image).read().is_ok());
    image.diff_ids = Some(vec![sha256(&first)]);
    assert_error(&LayoutDir::with(&image).read(), Code::BlobMismatch, &["layer 1 of 1"]);
}

#[test]
fn broken_streams_with_right_digests_are_found() {
    let tar = bundle_tar().end();
    let whole = gzip(&tar);
    let mut wrong_sum = whole.clone();
    let sum = wrong_sum.len() - 6;
    wrong_sum[sum] ^= 1;
    let frame = zstd(&tar);
    let mut cut_entry = Tar::new();
    cut_entry.header(tar::EntryType::Regular, b"manifests/a", b"", 1000);
    let mut cut_skipped = bundle_tar();
    cut_skipped.header(tar::EntryType::Regular, b"usr/a", b"", 1000);
    let mut bad_header = bundle_tar().end();
    bad_header[0] ^= 1;
    let cases: [(&str, Vec<u8>); 15] = [
        ("gzip cut short", whole[..whole.len() - 9].to_vec()),
        ("gzip cut in its end", whole[..whole.len() - 3].to_vec()),
        ("gzip with a wrong checksum", wrong_sum),
        ("garbage after gzip", [&whole[..], b"garbage that is long"].concat()),
        ("little garbage after gzip", [&whole[..], b"x"].concat()),
        ("zeros after gzip", [&whole[..], &[0; 512]].concat()),
        ("zstd cut short", frame[..frame.len() - 9].to_vec()),
        ("garbage after zstd", [&frame[..], b"garbage"].concat()),
        (
            "skippable zstd frame cut short",
            [&frame[..], &[0x50, 0x2a, 0x4d, 0x18, 9, 0, 0, 0, 1]].concat(),
        ),
        ("file cut short", gzip(&cut_entry.cut())),
        ("skipped file cut short", gzip(&cut_skipped.cut())),
        ("header cut short", gzip(&tar[..100])),
        ("bad checksum of a header", bad_header),
        ("not a tar", vec![b'x'; 5000]),
        ("bzip2", [&b"BZh9"[..], &[0; 100]].concat()),
    ];
    for (what, layer) in cases {
        let layout = LayoutDir::with(&Image::stored(layer, GZIP_LAYER));
        let errors = layout.read().expect_err(what);
        let error = errors.iter().next().unwrap();
        assert_eq!(error.code, Code::BrokenArchive, "{what}: {error:?}");
        assert!(error.message.contains("layer 1 of 1 (sha256:"), "{what}: {error:?}");
    }
}

#[test]
fn a_tar_may_lack_its_end() {
    assert_eq!(manifests(read_layers([bundle_tar().cut()])).len(), 1);
    assert_eq!(manifests(read_layers([bundle_tar().end(), vec![], vec![0; 512]])).len(), 1);
}

#[test]
fn unknown_media_types_are_all_named() {
    let helm = "application/vnd.cncf.helm.chart.content.v1.tar+gzip";
    let mut image = Image::of([bundle_tar().end(), Tar::new().end(), Tar::new().end()]);
    image.layers[0].1 = helm.into();
    image.layers[2].1 = "application/vnd.oci.image.layer.v1.tar+encrypted".into();
    let errors = LayoutDir::with(&image).read().unwrap_err();
    let messages: Vec<_> = errors.iter().map(|error| (error.code, &error.message)).collect();
    assert_eq!(messages.len(), 2);
    assert!(messages[0].1.contains(helm), "{messages:?}");
    let hint = errors.iter().next().and_then(|error| error.hint.as_deref()).unwrap_or_default();
    assert!(hint.contains("not a Helm chart"), "{hint}");
    assert!(messages[1].1.contains("+encrypted"), "{messages:?}");
    assert!(messages.iter().all(|(code, _)| *code == Code::UnknownMediaType));

    let mut image = Image::of([bundle_tar().end()]);
    image.manifest_type = "application/vnd.docker.distribution.manifest.v1+prettyjws".into();
    assert_error(&LayoutDir::with(&image).read(), Code::UnknownMediaType, &["manifest.v1"]);
}

#[test]
fn documents_that_contradict_themselves_are_refused() {
    let mut layout = LayoutDir::new();
    let manifest = layout.store(&Image::of([bundle_tar().end()]));
    let bytes = fs::read(layout.blob_path(manifest["digest"].as_str().unwrap())).unwrap();
    let mut both: Value = serde_json::from_slice(&bytes).unwrap();
    both["manifests"] = json!([manifest]);
    let both = layout.json_blob(&both, OCI_MANIFEST);
    layout.list(both, Some("both"));
    let mut disguised = manifest.clone();
    disguised["mediaType"] = json!(OCI_INDEX);
    layout.list(disguised, Some("disguised"));
    for name in [":both", ":disguised"] {
        assert_error(&layout.read_suffix(name), Code::InvalidLayout, &["contains another one"]);
    }
}

#[test]
fn layouts_that_are_malformed_are_explained() {
    let layout = layout();
    let write = |file: &str, content: &str| fs::write(layout.path().join(file), content).unwrap();
    let index = fs::read_to_string(layout.path().join("index.json")).unwrap();
    write("index.json", "{");
    assert_error(&layout.read(), Code::InvalidLayout, &["index.json", "line 1"]);
    write("index.json", &"[".repeat(100_000));
    assert_error(&layout.read(), Code::InvalidLayout, &["index.json"]);
    write("index.json", &format!("{index}{}", " ".repeat(5 << 20)));
    assert_error(&layout.read(), Code::SourceLimit, &["index.json", "4 MiB"]);
    fs::remove_file(layout.path().join("index.json")).unwrap();
    assert_error(&layout.read(), Code::InvalidLayout, &["index.json` is missing"]);
    write("index.json", &index);
    write("oci-layout", r#"{"imageLayoutVersion":"2.0.0"}"#);
    assert_error(&layout.read(), Code::InvalidLayout, &["2.0.0"]);
}

#[cfg(unix)]
#[test]
fn symbolic_links_inside_a_layout_are_not_followed() {
    use std::os::unix::fs::symlink;
    let layout = layout();
    let blob = layout.blob_path(&layout.layer_digest());
    let outside = tempfile::TempDir::new().unwrap();
    fs::rename(&blob, outside.path().join("blob")).unwrap();
    symlink(outside.path().join("blob"), &blob).unwrap();
    assert_error(&layout.read(), Code::SourceUnreadable, &["symbolic link"]);
    fs::remove_file(&blob).unwrap();
    fs::rename(outside.path().join("blob"), &blob).unwrap();
    fs::rename(layout.path().join("blobs"), outside.path().join("blobs")).unwrap();
    symlink(outside.path().join("blobs"), layout.path().join("blobs")).unwrap();
    assert_error(&layout.read(), Code::SourceUnreadable, &["symbolic link"]);
    // The layout itself may be reached through one.
    fs::remove_file(layout.path().join("blobs")).unwrap();
    fs::rename(outside.path().join("blobs"), layout.path().join("blobs")).unwrap();
    symlink(layout.path(), outside.path().join("layout")).unwrap();
    let limits = bundle2chart::source::Limits::default();
    assert!(read_path(&outside.path().join("layout"), &limits).is_ok());
}

#[test]
fn no_changed_byte_makes_a_panic_or_a_wait() {
    let layout = layout();
    let name = "n".repeat(120);
    let bundle = bundle_tar()
        .raw(tar::EntryType::GNULongName, b"././@LongLink", b"", name.as_bytes())
        .hard_link("manifests/link", "manifests/csv.yaml")
        .sparse("usr/sparse", b"00000002000")
        .symlink("usr/a", "../manifests")
        .file("usr/a/x", "")
        .end();
    let dir = tempfile::TempDir::new().unwrap();
    let path = dir.path().join("file");
    let limits = bundle2chart::source::Limits::default();
    for bytes in [bundle.clone(), gzip(&bundle), zstd(&bundle), gzip(&layout.tar("", true))] {
        for position in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[position] ^= [0x01, 0x80, 0xff][position % 3];
            fs::write(&path, &changed).unwrap();
            // Whatever comes of it; some bytes matter to no one.
            let _ = read_path(&path, &limits);
        }
    }
}
