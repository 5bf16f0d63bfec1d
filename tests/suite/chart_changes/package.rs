//! Changes of packaged charts.

use super::{BINDING, CHARTS, Files, Project, Truth, original};
use crate::support::helm::Helm;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::fs;
use std::io::Write as _;
use tar::{Builder, EntryType, Header};

/// Code of errors about charts that are not read.
pub(super) const UNREADABLE: Option<&str> = Some("chart-unreadable");

/// An entry of an archive.
#[derive(Clone)]
struct Entry {
    name: Vec<u8>,
    kind: EntryType,
    mode: u32,
    content: Vec<u8>,
    /// Record of a header before it.
    record: Option<(&'static str, &'static str)>,
    /// The last bytes of its header.
    trailer: [u8; 4],
}

impl Entry {
    fn file(name: &str, content: &str) -> Self {
        Entry {
            name: name.into(),
            kind: EntryType::Regular,
            mode: 0o644,
            content: content.into(),
            record: None,
            trailer: [0; 4],
        }
    }
}

/// Packs the files of a chart as `helm package` does.
pub(super) fn packed(name: &str, files: &Files) -> Vec<u8> {
    let entries = entries(name, files);
    compressed(&archive(&entries))
}

fn entries(name: &str, files: &Files) -> Vec<Entry> {
    let file = |(path, content): (&Vec<u8>, &Vec<u8>)| Entry {
        name: [name.as_bytes(), b"/", path].concat(),
        content: content.clone(),
        ..Entry::file("", "")
    };
    files.iter().map(file).collect()
}

/// Writes the entries, whatever their names.
fn archive(entries: &[Entry]) -> Vec<u8> {
    let mut builder = Builder::new(Vec::new());
    for entry in entries {
        if let Some((key, value)) = entry.record {
            let records = [(key, value.as_bytes())];
            builder.append_pax_extensions(records).expect("records");
        }
        let mut header = Header::new_ustar();
        if entry.name.len() > 100 {
            let mut long = Header::new_gnu();
            long.as_mut_bytes()[..13].copy_from_slice(b"././@LongLink");
            long.set_entry_type(EntryType::GNULongName);
            long.set_size(entry.name.len() as u64 + 1);
            long.set_cksum();
            builder.append(&long, [&entry.name[..], &[0]].concat().as_slice()).expect("a name");
        }
        let short = entry.name.len().min(100);
        header.as_mut_bytes()[..short].copy_from_slice(&entry.name[..short]);
        header.set_entry_type(entry.kind);
        header.set_mode(entry.mode);
        header.set_size(entry.content.len() as u64);
        if entry.kind == EntryType::Symlink {
            header.set_link_name("/etc/passwd").expect("a target");
        }
        header.as_mut_bytes()[508..].copy_from_slice(&entry.trailer);
        header.set_cksum();
        builder.append(&header, entry.content.as_slice()).expect("an entry");
    }
    builder.into_inner().expect("an archive")
}

fn compressed(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(content).expect("compressed");
    encoder.finish().expect("compressed")
}

/// A kind of change, the code of the error if the archive must not be read although Helm may read it,
/// and the change of the entries.
type Kind = (&'static str, Option<&'static str>, fn(&mut Vec<Entry>));

const KINDS: &[Kind] = &[
    ("a new template", None, |all| all.push(Entry::file("c/templates/evil.yaml", BINDING))),
    ("a new template of any name", None, |all| all.push(Entry::file("c/templates/evil", BINDING))),
    ("a hidden template", None, |all| all.push(Entry::file("c/templates/.evil.yaml", BINDING))),
    ("below another directory", None, |all| {
        all.push(Entry::file("d/templates/evil.yaml", BINDING))
    }),
    ("a template is removed", None, |all| all.retain(|entry| !named(entry, "deployment"))),
    (".helmignore counts in directories only", None, |all| {
        all.retain(|entry| !named(entry, ".helmignore"));
        all.push(Entry::file("c/.helmignore", "templates/\n"));
    }),
    ("a directory of its own", None, |all| {
        let kind = EntryType::Directory;
        all.insert(0, Entry { kind, mode: 0o755, ..Entry::file("c/templates/", "") });
    }),
    ("another mode", None, |all| all[0].mode = 0o100_600),
    ("a backslash", UNREADABLE, |all| all.push(Entry::file(r"c/x\templates/evil.yaml", BINDING))),
    ("`..`", UNREADABLE, |all| all.push(Entry::file("c/templates/x/../evil.yaml", BINDING))),
    ("`.`", UNREADABLE, |all| all.push(Entry::file("c/./templates/evil.yaml", BINDING))),
    ("`./` before the directory", None, |all| all.push(Entry::file("./c/evil.yaml", BINDING))),
    ("two slashes", UNREADABLE, |all| all.push(Entry::file("c//templates/evil.yaml", BINDING))),
    ("an absolute name", None, |all| all.push(Entry::file("/templates/evil.yaml", BINDING))),
    ("outside of the directory", UNREADABLE, |all| all.push(Entry::file("evil.yaml", BINDING))),
    ("a name that is not UTF-8", UNREADABLE, |all| {
        let name = b"c/templates/z\xff.yaml".to_vec();
        all.push(Entry { name, ..Entry::file("", BINDING) });
    }),
    ("a file twice", UNREADABLE, |all| {
        let mut again = all.iter().find(|entry| named(entry, "deployment")).expect("one").clone();
        again.content = BINDING.into();
        all.push(again);
    }),
    ("a CRD twice", UNREADABLE, |all| {
        all.push(Entry::file("c/crds/a.yaml", BINDING));
        all.push(Entry::file("c/crds/a.yaml", "kind: Other\n"));
    }),
    ("a file twice below two directories", UNREADABLE, |all| {
        all.push(Entry::file("d/values.yaml", "crds: {enabled: false}\n"));
    }),
    ("only in case", UNREADABLE, |all| all.push(Entry::file("c/Templates/evil.yaml", BINDING))),
    ("a symbolic link", UNREADABLE, |all| {
        let kind = EntryType::Symlink;
        all.push(Entry { kind, ..Entry::file("c/templates/evil.yaml", "") });
    }),
    ("a device", UNREADABLE, |all| {
        let kind = EntryType::Char;
        all.push(Entry { kind, ..Entry::file("c/templates/evil.yaml", "") });
    }),
    ("a directory by its mode", UNREADABLE, |all| {
        let deployment = all.iter_mut().find(|entry| named(entry, "deployment")).expect("one");
        deployment.mode = 0o040_755;
    }),
    ("a name in a record", None, |all| {
        let record = Some(("path", "c/templates/evil.yaml"));
        all.push(Entry { record, ..Entry::file("c/README.txt", BINDING) });
    }),
    ("a size in a record", UNREADABLE, |all| {
        let record = Some(("size", "1"));
        all.push(Entry { record, ..Entry::file("c/templates/evil.yaml", BINDING) });
    }),
    ("a name of a sparse file", UNREADABLE, |all| {
        let record = Some(("GNU.sparse.name", "c/templates/evil.yaml"));
        all.push(Entry { record, ..Entry::file("c/README.txt", BINDING) });
    }),
    ("a header of star", UNREADABLE, |all| {
        all.push(Entry { trailer: *b"tar\0", ..Entry::file("c/templates/evil.yaml", BINDING) });
    }),
];

fn named(entry: &Entry, part: &str) -> bool {
    String::from_utf8_lossy(&entry.name).contains(part)
}

fn check(project: &Project, shown: &str, old: &Truth, archive: &[u8], refused: Option<&str>) {
    project.case.write("changed.tgz", archive);
    let new = Truth::of(&project.helm, &project.path("changed.tgz"));
    project.check_diff(shown, ["original.tgz", "changed.tgz"], [old, &new], refused);
    let seen = project.run(&["verify", "changed.tgz", "--offline"]);
    assert!(matches!(seen.code, Some(1 | 2)), "verify, {shown}: {}", seen.text());
}

#[test]
fn changes_of_packages_are_reported_as_helm_renders_them() {
    check_changes(Helm::newest());
}

#[test]
#[ignore = "a minute"]
fn changes_of_packages_are_reported_as_every_helm_renders_them() {
    Helm::all().into_iter().skip(1).for_each(check_changes);
}

/// Makes each change and holds what is reported against what this Helm renders.
fn check_changes(helm: Helm) {
    let project = Project::new(helm);
    let entries = entries("c", &original(CHARTS[1]));
    let unchanged = archive(&entries);
    project.case.write("original.tgz", compressed(&unchanged));
    let old = Truth::of(&project.helm, &project.path("original.tgz"));
    assert_ne!(old, Truth::Refused);

    for (kind, refused, change) in KINDS {
        let mut changed = entries.clone();
        change(&mut changed);
        check(&project, kind, &old, &compressed(&archive(&changed)), *refused);
    }

    // Members of gzip are one stream, and what follows the end of an archive is not read.
    let end = unchanged.len() - 1024;
    let evil = archive(&[Entry::file("c/templates/evil.yaml", BINDING)]);
    let members = [compressed(&unchanged[..end]), compressed(&evil)].concat();
    check(&project, "two members of gzip", &old, &members, None);
    let behind = [&unchanged[..], &evil].concat();
    check(&project, "behind the end", &old, &compressed(&behind), None);
    project.case.write("changed.tgz", &unchanged);
    let seen = project.run(&["diff", "original.tgz", "changed.tgz"]);
    assert_eq!(seen.code, Some(2), "not compressed: {}", seen.text());
    fs::remove_file(project.path("changed.tgz")).expect("removed");
}
