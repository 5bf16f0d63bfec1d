//! Layers of an image against a model, which applies them to a map of paths as overlayfs does.

use super::super::memory::bounded;
use arbitrary::Unstructured;
use bundle2chart::source::Limits;
use bundle2chart::source::fuzzing;
use std::collections::BTreeMap;
use std::io::Write as _;

#[derive(Clone, Copy, Debug)]
enum Kind {
    File,
    SmallFile,
    Folder,
    Whiteout,
    Opaque,
    /// The model does not know the rest.
    Symlink,
    HardLink,
    Fifo,
    LongName,
}

#[derive(Debug)]
struct Entry {
    kind: Kind,
    path: u8,
    target: u8,
    content: u8,
}

/// Paths that the model understands, then others.
const PATHS: [&str; 22] = [
    "manifests",
    "manifests/a.yaml",
    "manifests/b.yaml",
    "manifests/sub",
    "manifests/sub/c.yaml",
    "metadata",
    "metadata/annotations.yaml",
    "metadata/deep/er/file",
    "other",
    "other/x",
    "./manifests/a.yaml",
    "/manifests/b.yaml",
    "manifests/",
    "a/b/c",
    "a",
    "a/b",
    "manifests//a.yaml",
    "../manifests/a.yaml",
    "other/../manifests/a.yaml",
    "",
    ".",
    "manifests/\u{1}",
];
const PLAIN_PATHS: usize = 10;

const KINDS: [Kind; 9] = [
    Kind::File,
    Kind::SmallFile,
    Kind::Folder,
    Kind::Whiteout,
    Kind::Opaque,
    Kind::Symlink,
    Kind::HardLink,
    Kind::Fifo,
    Kind::LongName,
];

impl Entry {
    fn any(u: &mut Unstructured<'_>) -> arbitrary::Result<Self> {
        Ok(Entry {
            kind: *u.choose(&KINDS)?,
            path: u.arbitrary()?,
            target: u.arbitrary()?,
            content: u.arbitrary()?,
        })
    }

    fn path(&self, plain: bool) -> &'static str {
        PATHS[usize::from(self.path) % if plain { PLAIN_PATHS } else { PATHS.len() }]
    }

    fn content(&self) -> Vec<u8> {
        let size = match self.kind {
            Kind::File => usize::from(self.content % 9) * 100,
            Kind::SmallFile => 1,
            _ => 0,
        };
        vec![b'a' + self.content % 4; size]
    }

    /// Returns the type and the name in the archive.
    fn named(&self, path: &str) -> (tar::EntryType, String) {
        match self.kind {
            Kind::File | Kind::SmallFile => (tar::EntryType::Regular, path.to_owned()),
            Kind::Folder => (tar::EntryType::Directory, path.to_owned()),
            Kind::Symlink => (tar::EntryType::Symlink, path.to_owned()),
            Kind::HardLink => (tar::EntryType::Link, path.to_owned()),
            Kind::Fifo => (tar::EntryType::Fifo, path.to_owned()),
            Kind::LongName => (tar::EntryType::XHeader, path.to_owned()),
            Kind::Whiteout => {
                let name = match path.rsplit_once('/') {
                    Some((parent, name)) => format!("{parent}/.wh.{name}"),
                    None => format!(".wh.{path}"),
                };
                (tar::EntryType::Regular, name)
            }
            Kind::Opaque => (tar::EntryType::Regular, format!("{path}/.wh..wh..opq")),
        }
    }
}

fn archive(entries: &[Entry], plain: bool) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for entry in entries {
        let (kind, name) = entry.named(entry.path(plain));
        let content = match entry.kind {
            Kind::LongName => b"30 path=manifests/a/long/name\n".to_vec(),
            _ => entry.content(),
        };
        let mut header = tar::Header::new_gnu();
        header.set_mode(0o644);
        header.set_entry_type(kind);
        header.set_size(content.len() as u64);
        // The setters of the crate refuse the names that we want.
        let old = header.as_old_mut();
        old.name[..name.len()].copy_from_slice(name.as_bytes());
        if matches!(entry.kind, Kind::Symlink | Kind::HardLink) {
            let target = PATHS[usize::from(entry.target) % PATHS.len()];
            old.linkname[..target.len()].copy_from_slice(target.as_bytes());
        }
        header.set_cksum();
        builder.append(&header, content.as_slice()).expect("memory");
    }
    builder.into_inner().expect("memory")
}

/// Paths with the content of files; `None` for folders.
type Files = BTreeMap<String, Option<Vec<u8>>>;

fn is_below(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

/// Returns the files of a layer, its whiteouts and its opaque folders; `None` for layers that no
/// program writes, on which unpackers differ.
fn layer(entries: &[Entry]) -> Option<(Files, Vec<String>, Vec<String>)> {
    let (mut files, mut removed, mut opaque) = (Files::new(), Vec::new(), Vec::new());
    let is_file = |files: &Files, path: &str| files.get(path).is_some_and(Option::is_some);
    let is_folder = |files: &Files, path: &str| files.get(path).is_some_and(Option::is_none);
    for entry in entries {
        let path = entry.path(true).to_owned();
        let content = match entry.kind {
            Kind::File | Kind::SmallFile if is_folder(&files, &path) => return None,
            Kind::File | Kind::SmallFile => Some(entry.content()),
            Kind::Folder if is_file(&files, &path) => return None,
            Kind::Folder => None,
            Kind::Whiteout => {
                removed.push(path);
                continue;
            }
            Kind::Opaque => {
                opaque.push(path);
                continue;
            }
            _ => return None,
        };
        for (end, _) in path.match_indices('/') {
            if is_file(&files, &path[..end]) {
                return None;
            }
            files.entry(path[..end].to_owned()).or_insert(None);
        }
        files.insert(path, content);
    }

    let is_hit = |path: &String| files.keys().any(|file| file == path || is_below(file, path));
    let odd = removed.iter().any(is_hit) || opaque.iter().any(|path| is_file(&files, path));
    (!odd).then_some((files, removed, opaque))
}

fn model(layers: &[Vec<Entry>]) -> Option<Files> {
    let mut all = Files::new();
    for entries in layers {
        let (files, removed, opaque) = layer(entries)?;
        all.retain(|path, _| {
            !removed.iter().any(|removed| path == removed || is_below(path, removed))
                && !opaque.iter().any(|opaque| is_below(path, opaque))
                && !files.iter().any(|(file, content)| content.is_some() && is_below(path, file))
        });
        all.extend(files);
    }
    Some(all)
}

fn check(model: &Files, found: [fuzzing::FolderFiles; 2]) {
    for (folder, flat, found) in [("manifests", true), ("metadata", false)]
        .into_iter()
        .zip(found)
        .map(|((a, b), c)| (a, b, c))
    {
        let inside = || model.iter().filter(|(path, _)| is_below(path, folder));
        let is_file = model.get(folder).is_some_and(Option::is_some);
        let is_odd = is_file || flat && inside().any(|(_, content)| content.is_none());
        match found {
            Err(problems) => assert!(is_odd, "{folder} is rejected: {problems:?}"),
            Ok(found) => {
                let relative = |path: &str| path[folder.len() + 1..].to_owned();
                let files = inside().filter_map(|(p, c)| Some((relative(p), c.clone()?)));
                assert!(!is_odd, "{folder} is accepted");
                assert_eq!(found, files.collect::<BTreeMap<_, _>>(), "{folder}");
            }
        }
    }
}

fn check_input(data: &[u8]) -> arbitrary::Result<()> {
    let mut u = Unstructured::new(data);
    let plain = u.ratio(2_u8, 3_u8)?;
    let small = u.ratio(1_u8, 8_u8)?;
    let layers = (0..u.int_in_range(1..=3_u8)?).map(|_| {
        let count = u.int_in_range(0..=6_u8)?;
        (0..count).map(|_| Entry::any(&mut u)).collect()
    });
    let layers: Vec<Vec<Entry>> = layers.collect::<arbitrary::Result<_>>()?;
    let mut limits = Limits::default();
    if small {
        limits.entries = 4;
        limits.kept_files = 2;
        limits.kept_bytes = 900;
        limits.kept_file_bytes = 500;
        limits.name_bytes = 300;
    }

    let archives: Vec<Vec<u8>> = layers.iter().map(|entries| archive(entries, plain)).collect();
    let read = |archives: &[Vec<u8>]| {
        let parts: Vec<&[u8]> = archives.iter().map(Vec::as_slice).collect();
        bounded(64, || fuzzing::layers(&parts, &limits))
    };
    let found = read(&archives);
    let packed: Vec<Vec<u8>> = archives.iter().map(|archive| gzip(archive)).collect();
    assert_eq!(found, read(&packed), "compression changes the files");

    if plain
        && !small
        && let Some(model) = model(&layers)
    {
        check(&model, found.unwrap_or_else(|error| panic!("rejected: {error}\n{layers:?}")));
    }
    Ok(())
}

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(content).expect("memory");
    encoder.finish().expect("memory")
}

/// Checks one input.
pub fn run(data: &[u8]) {
    // An error means that the input has too few bytes.
    let _ = check_input(data);
}
