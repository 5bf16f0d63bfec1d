//! Sources made to exhaust memory or time.

use crate::fixture::*;
use bundle2chart::diag::Code;
use bundle2chart::source::Limits;
use std::time::{Duration, Instant};
use tar::EntryType;

const MIB: u64 = 1 << 20;

/// The header of a file of `size` bytes.
fn file_header(name: &str, size: u64) -> Vec<u8> {
    let mut tar = Tar::new();
    tar.header(EntryType::Regular, name.as_bytes(), b"", size);
    tar.cut()
}

#[track_caller]
fn refused(image: &Image, words: &[&str]) {
    let layout = LayoutDir::with(image);
    let start = Instant::now();
    let outcome = layout.read();
    assert_error(&outcome, Code::SourceLimit, words);
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
}

/// The most memory that this process has had, in bytes.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib * 1024)
}

#[test]
fn a_bomb_in_a_kept_file_goes_off_harmlessly() {
    let size = 80 * MIB;
    let layer = gzip_bomb(&file_header("manifests/csv.yaml", size), size, &Tar::new().end());
    assert!((layer.len() as u64) < MIB);
    refused(
        &Image::stored(layer, GZIP_LAYER),
        &["layer 1 of 1", "manifests/csv.yaml", "80 MiB", "16 MiB"],
    );
}

#[test]
fn a_bomb_in_skipped_data_goes_off_harmlessly() {
    let size = 80 * MIB;
    let layer = gzip_bomb(&file_header("usr/lib/zeros", size), size, &bundle_tar().end());
    refused(&Image::stored(layer, GZIP_LAYER), &["layer 1 of 1", "64 MiB", "100 times"]);
    // After the end of the archive too.
    let layer = gzip_bomb(&bundle_tar().end(), size, b"");
    refused(&Image::stored(layer, GZIP_LAYER), &["100 times"]);
}

#[test]
fn a_zstd_bomb_goes_off_harmlessly() {
    // Blocks of one repeated byte: 4 bytes become 128 KiB.
    let mut layer = vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x38];
    let head = file_header("usr/lib/zeros", 1 << 40);
    layer.extend_from_slice(&((head.len() as u32) << 3).to_le_bytes()[..3]);
    layer.extend_from_slice(&head);
    for _ in 0..100_000 {
        layer.extend_from_slice(&((128 << 10 << 3) | 2_u32).to_le_bytes()[..3]);
        layer.push(0);
    }
    refused(&Image::stored(layer, ZSTD_LAYER), &["64 MiB"]);
    if let Some(peak) = peak_memory() {
        // All tests of this file together, with what they build.
        assert!(peak < 800 * MIB, "{peak}");
    }
}

#[test]
fn a_zstd_window_has_a_limit() {
    // A window of 256 MiB, then an empty last block.
    let layer = vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 18 << 3, 0x01, 0x00, 0x00];
    refused(&Image::stored(layer, ZSTD_LAYER), &["window of 256 MiB", "64 MiB"]);
}

#[test]
fn honest_compression_passes() {
    // Larger than the floor, but not at a suspicious ratio.
    let mut noise = 1_u32;
    let mut content = Vec::new();
    while content.len() < 66 << 20 {
        noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        content.extend([(noise >> 24) as u8; 16]);
    }
    let base = Tar::new().file("usr/lib/big", content).end();
    assert_eq!(manifests(read_layers([base, bundle_tar().end()])).len(), 1);
}

#[test]
fn long_headers_are_not_kept_in_memory() {
    for kind in [EntryType::XHeader, EntryType::GNULongName, EntryType::GNULongLink] {
        let mut head = Tar::new();
        head.header(kind, b"././@LongLink", b"", 80 * MIB);
        let layer = gzip_bomb(&head.cut(), 80 * MIB, &bundle_tar().end());
        refused(&Image::stored(layer, GZIP_LAYER), &["headers of more than 1 MiB"]);
    }
    // Of a file that would be skipped, and of the one after a large one.
    let mut head = Tar::new().file("usr/x", vec![b'x'; 3 << 20]);
    head.header(EntryType::XHeader, b"x", b"", 2 * MIB);
    let layer = gzip_bomb(&head.cut(), 2 * MIB, &bundle_tar().end());
    refused(&Image::stored(layer, GZIP_LAYER), &["headers of more than 1 MiB"]);
}

#[test]
fn sparse_files_do_not_expand() {
    // Claims to be 2 GiB long.
    let skipped = bundle_tar().sparse("usr/lastlog", b"20000000000").end();
    let kept = bundle_tar().sparse("manifests/x", b"20000000000").end();
    let start = Instant::now();
    assert!(read_layers([skipped]).is_ok());
    assert_error(&read_layers([kept]), Code::UnexpectedEntry, &["sparse"]);
    assert!(start.elapsed() < Duration::from_secs(60));
}

fn limited(change: impl Fn(&mut Limits), image: &Image, words: &[&str]) {
    let mut limits = Limits::default();
    let layout = LayoutDir::with(image);
    assert!(read_path(layout.path(), &limits).is_ok());
    change(&mut limits);
    assert_error(&read_path(layout.path(), &limits), Code::SourceLimit, words);
}

#[test]
fn every_limit_holds() {
    let two =
        || Image::of([bundle_tar().end(), Tar::new().file("manifests/b", [b'x'; 2000]).end()]);
    limited(|l| l.layers = 1, &two(), &["2 layers", "limit is 1"]);
    limited(|l| l.entries = 4, &two(), &["layer 2 of 2", "more than 4 entries"]);
    limited(|l| l.kept_files = 2, &two(), &["more than 2 files"]);
    limited(|l| l.kept_file_bytes = 1999, &two(), &["manifests/b", "2000 bytes", "1999 bytes"]);
    limited(|l| l.kept_bytes = 2000, &two(), &["larger than 2000 bytes"]);
    limited(|l| l.expanded_bytes = 5000, &two(), &["expands to more than 5000 bytes"]);
    limited(|l| l.stored_bytes = 100, &two(), &["layers of the image have", "100 bytes"]);
    limited(|l| l.document_bytes = 300, &two(), &["300 bytes"]);
    limited(|l| l.name_bytes = 200, &two(), &["names", "200 bytes"]);
    let links = Image::of([bundle_tar().symlink("usr/a", "b").symlink("usr/c", "d").end()]);
    limited(|l| l.name_bytes = 400, &links, &["links"]);
    // Another name of a file costs as much as the file.
    let links = (0..50).fold(Tar::new().file("manifests/a", [b'x'; 1000]), |tar, number| {
        tar.hard_link(&format!("manifests/{number}"), "manifests/a")
    });
    limited(
        |l| l.kept_bytes = 40_000,
        &Image::of([bundle_tar().end(), links.end()]),
        &["40000 bytes"],
    );
}

#[test]
fn deep_paths_and_many_links_do_not_take_long() {
    // One path of a million parts.
    let long = format!("usr/{}", "x/".repeat(250_000));
    let layer = Tar::new()
        .symlink("usr/x", "y")
        .raw(EntryType::GNULongName, b"././@LongLink", b"", long.as_bytes())
        .file("short", "")
        .end();
    let start = Instant::now();
    assert!(read_layers([bundle_tar().end(), layer]).is_ok());
    let deep = format!("manifests/{}", "x/".repeat(250_000));
    let layer = Tar::new()
        .raw(EntryType::GNULongName, b"././@LongLink", b"", deep.as_bytes())
        .file("short", "")
        .end();
    assert_error(&read_layers([bundle_tar().end(), layer]), Code::SourceLimit, &["path"]);
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());

    // Paths that go round in circles.
    let mut tar = bundle_tar().symlink("l", "l/../l/../l/x");
    for number in 0..10_000 {
        tar = tar.file(&format!("l/{number}"), "");
    }
    let start = Instant::now();
    assert_error(&read_layers([tar.end()]), Code::SourceLimit, &["symbolic links"]);
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
}

#[test]
fn a_thousand_problems_are_not_a_thousand_messages() {
    let tar = (0..1000).fold(bundle_tar(), |tar, n| tar.symlink(&format!("manifests/{n}"), "x"));
    let errors = read_layers([tar.end()]).unwrap_err();
    assert_eq!(errors.iter().count(), 21);
    assert!(errors.iter().last().unwrap().message.contains("980 more"));
}
