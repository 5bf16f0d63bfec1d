//! The `.tgz` of a chart, with the same bytes on every machine.

use crate::source::chart::ChartTree;
use flate2::Crc;
use std::io;
use tar::{Builder, EntryType, Header};

/// Time of all entries: 1980-01-01, the earliest time that a zip can have. `tar` warns about files
/// of 1970.
const TIME: u64 = 315_532_800;

/// Compression level: zlib's default.
const LEVEL: u8 = 6;

/// Returns the package of the chart `name` with these files: Chart.yaml first, as Helm writes it, so
/// that readers of a stream know the chart early, then all others by path.
pub(super) fn tgz(name: &str, files: &ChartTree) -> io::Result<Vec<u8>> {
    let is_metadata = |path: &str| path == "Chart.yaml";
    let first = files.iter().filter(|(path, _)| is_metadata(path));
    let rest = files.iter().filter(|(path, _)| !is_metadata(path));

    let mut builder = Builder::new(Vec::new());
    for (path, content) in first.chain(rest) {
        let mut header = Header::new_gnu();
        header.set_entry_type(EntryType::Regular);
        header.set_mode(0o644);
        header.set_uid(0);
        header.set_gid(0);
        header.set_mtime(TIME);
        header.set_size(content.len() as u64);
        // As `helm package` does: Helm drops one directory from each path, and rejects files
        // without.
        builder.append_data(&mut header, format!("{name}/{path}"), content.as_slice())?;
    }

    Ok(gzip(&builder.into_inner()?))
}

/// Compresses with a compressor that is a part of this crate at a pinned version. Which one flate2
/// uses depends on the features that other crates ask for.
fn gzip(content: &[u8]) -> Vec<u8> {
    // RFC 1952: magic number, deflate, no flags, no time, no extra flags, unknown operating system.
    let mut bytes = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    bytes.extend(miniz_oxide::deflate::compress_to_vec(content, LEVEL));
    let mut crc = Crc::new();
    crc.update(content);
    bytes.extend(crc.sum().to_le_bytes());
    bytes.extend(crc.amount().to_le_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::sha256;
    use std::io::Read as _;

    fn files() -> ChartTree {
        let long = format!("templates/{}.yaml", "very-long-".repeat(25));
        ChartTree::from([
            ("Chart.yaml".to_owned(), b"name: lamp\n".to_vec()),
            (".helmignore".to_owned(), b"*.swp\n".to_vec()),
            ("templates/lamp.yaml".to_owned(), b"kind: Lamp\n".repeat(5_000)),
            (long, Vec::new()),
        ])
    }

    #[test]
    fn archives_contain_the_files_with_fixed_metadata() {
        let bytes = tgz("lamp", &files()).unwrap();
        let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(bytes.as_slice()));
        let mut found = ChartTree::new();
        for (index, entry) in archive.entries().unwrap().enumerate() {
            let mut entry = entry.unwrap();
            let path = entry.path().unwrap().to_str().unwrap().to_owned();
            assert_eq!(index == 0, path == "lamp/Chart.yaml");
            let header = entry.header();
            assert_eq!(header.mode().unwrap(), 0o644);
            assert_eq!(header.mtime().unwrap(), TIME);
            assert_eq!((header.uid().unwrap(), header.gid().unwrap()), (0, 0));
            let mut content = Vec::new();
            entry.read_to_end(&mut content).unwrap();
            found.insert(path.strip_prefix("lamp/").unwrap().to_owned(), content);
        }
        assert_eq!(found, files());
    }

    /// The bytes of a package are a promise: with other bytes, the digest of every released chart
    /// changes, and `push` refuses to move their tags. A change of this digest is a breaking change.
    #[test]
    fn bytes_of_packages_never_change() {
        let digest = sha256(&tgz("lamp", &files()).unwrap());
        assert_eq!(digest, "7e6b6850852ae94f25995115cc718381191aff208387971cec0e316d6a7f9455");
    }
}
