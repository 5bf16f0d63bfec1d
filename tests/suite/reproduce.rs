//! The same inputs give the same bytes, whatever the machine and however the inputs lie about; and
//! a build that changes nothing touches nothing.

#![cfg(unix)]

use bundle2chart::output::ownership::FILE_NAME;
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;
use walkdir::WalkDir;

const PROJECT: &str = env!("CARGO_MANIFEST_DIR");
const BINARY: &str = env!("CARGO_BIN_EXE_bundle2chart");
const SHA256_OF_NOTHING: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/// A way to build the project that must not matter: a script for the shell, in which `$B` is the
/// binary, `$P` the project and `$O` the output folder.
const WAYS: &[(&str, &str)] = &[
    ("again", "cd $P; $B build --out $O"),
    ("once more", "cd $P; $B build --out $O"),
    ("from elsewhere", "cd /; $B build -c $P/bundles.toml --out $O"),
    ("by a relative path", "cd $P/fixtures/bundles; $B -c ../../bundles.toml build --out $O"),
    ("one at a time", "cd $P; $B build -j 1 --out $O"),
    ("eight at a time", "cd $P; $B build -j 8 --out $O"),
    ("another umask", "umask 077; cd $P; $B build --out $O"),
    ("no umask", "umask 000; cd $P; $B build --out $O"),
    ("in Turkish", "export LANG=tr_TR.UTF-8 LC_ALL=tr_TR.UTF-8; cd $P; $B build --out $O"),
    ("in another zone", "export TZ=Pacific/Kiritimati LC_ALL=C; cd $P; $B build --out $O"),
    ("with another home", "export HOME=/none SOURCE_DATE_EPOCH=1; cd $P; $B build --out $O"),
    ("without environment", "cd $P; env -i $B build --out $O"),
];

fn shell(script: &str, project: &Path, out: &Path) -> Output {
    let script = format!("IFS=; {script}"); // paths may hold blanks
    let run = Command::new("sh")
        .args(["-euc", &script])
        .envs([("B", Path::new(BINARY)), ("P", project), ("O", out)])
        .output();
    run.expect("a shell")
}

#[track_caller]
fn build(script: &str, project: &Path, out: &Path) {
    let run = shell(script, project, out);
    assert!(run.status.success(), "{script}: {}", String::from_utf8_lossy(&run.stderr));
}

/// One hash of every path, mode and content below a folder.
fn hash(root: &Path) -> String {
    let mut hash = Sha256::new();
    let mut files = 0;
    for entry in WalkDir::new(root).sort_by_file_name() {
        let entry = entry.expect("a readable tree");
        let path = entry.path().strip_prefix(root).expect("below the root");
        let data = entry.metadata().expect("metadata");
        hash.update(format!("{:?} {:o}\n", path, data.mode()));
        if data.is_file() {
            files += 1;
            hash.update(data.len().to_le_bytes());
            hash.update(fs::read(entry.path()).expect("a readable file"));
        }
    }
    assert!(files > 50, "{files} files in {}", root.display());
    format!("{:x?}", hash.finalize())
}

/// Inode and time of modification of every file and folder.
fn looks(root: &Path) -> BTreeMap<PathBuf, (u64, i64, i64)> {
    let look = |entry: walkdir::DirEntry| {
        let data = entry.metadata().expect("metadata");
        (entry.into_path(), (data.ino(), data.mtime(), data.mtime_nsec()))
    };
    WalkDir::new(root).into_iter().map(|entry| look(entry.expect("an entry"))).collect()
}

/// Copies what a build reads, in the order that `arrange` gives to the files.
fn copy_project(to: &Path, arrange: impl FnOnce(&mut Vec<PathBuf>)) {
    let mut files = vec![PathBuf::from("bundles.toml")];
    for entry in WalkDir::new(Path::new(PROJECT).join("fixtures")).sort_by_file_name() {
        let entry = entry.expect("an entry");
        if entry.file_type().is_file() {
            files.push(entry.path().strip_prefix(PROJECT).expect("in the project").to_owned());
        }
    }
    arrange(&mut files);
    for file in files {
        let target = to.join(&file);
        fs::create_dir_all(target.parent().expect("a parent")).expect("a folder");
        fs::write(target, fs::read(Path::new(PROJECT).join(file)).expect("a file")).expect("room");
    }
}

/// Rewrites a file of a copied project, which must change it.
fn edit(file: &Path, change: impl FnOnce(&str) -> String) {
    let text = fs::read_to_string(file).expect("a readable file");
    let changed = change(&text);
    assert_ne!(changed, text, "{}", file.display());
    fs::write(file, changed).expect("a writable file");
}

/// `[[bundle]]` tables last to first. A comment above a table stays where it is.
fn bundles_reversed(text: &str) -> String {
    let header = "\n[[bundle]]\n";
    let mut parts: Vec<&str> = text.split(header).collect();
    assert!(parts.len() > 3);
    parts[1..].reverse();
    parts.join(header)
}

/// An image index whose images come last to first.
fn index_reversed(text: &str) -> String {
    let mut index: serde_json::Value = serde_json::from_str(text).expect("JSON");
    let manifests = index["manifests"].as_array_mut().expect("manifests");
    assert!(manifests.len() > 3);
    manifests.reverse();
    index.to_string()
}

#[test]
fn the_same_bytes_everywhere() {
    let temporary = TempDir::new().expect("a folder");
    let at = |name: &str| temporary.path().join(name);
    let plain = "cd $P; $B build --out $O";
    build(plain, Path::new(PROJECT), &at("first"));
    let first = hash(&at("first"));
    for (way, script) in WAYS {
        build(script, Path::new(PROJECT), &at(way));
        assert!(hash(&at(way)) == first, "{way}: {script}");
    }

    type Change = (&'static str, fn(&mut Vec<PathBuf>), fn(&Path));
    let copies: [Change; 4] = [
        ("files in another order", |files| files.reverse(), |_| {}),
        ("files in a third order", |f| f.sort_by_key(|p| hash_of(p)), |_| {}),
        (
            "bundles in another order",
            |_| {},
            |copy| {
                edit(&copy.join("bundles.toml"), bundles_reversed);
            },
        ),
        (
            "images in another order",
            |_| {},
            |copy| {
                edit(&copy.join("fixtures/registry/index.json"), index_reversed);
            },
        ),
    ];
    for (name, arrange, change) in copies {
        let copy = at(&format!("copy with {name}"));
        copy_project(&copy, arrange);
        change(&copy);
        build("cd $P; $B build", &copy, Path::new(""));
        assert!(hash(&copy.join("out")) == first, "{name}");
    }
}

fn hash_of(path: &Path) -> Vec<u8> {
    Sha256::digest(path.as_os_str().as_encoded_bytes()).to_vec()
}

#[test]
fn a_second_build_touches_nothing() {
    let temporary = TempDir::new().expect("a folder");
    let out = temporary.path().join("out");
    let project = Path::new(PROJECT);
    build("$B build -c $P/bundles.toml --out $O", project, &out);
    let before = looks(temporary.path());
    for arguments in ["", "--replace", "--check", "mesh-operator", "-j 1"] {
        let script = format!("$B build -c $P/bundles.toml --out $O {arguments}");
        build(&script, project, &out);
        assert_eq!(looks(temporary.path()), before, "{script}");
    }
}

#[test]
fn a_check_names_every_difference_and_touches_nothing() {
    let temporary = TempDir::new().expect("a folder");
    let (out, project) = (temporary.path().join("out"), Path::new(PROJECT));
    let check = || shell("$B build --check -c $P/bundles.toml --out $O", project, &out);
    build("$B build -c $P/bundles.toml --out $O", project, &out);
    let clean = check();
    assert_eq!((clean.status.code(), clean.stdout.as_slice()), (Some(0), &b""[..]));

    let (pods, seals) = ("pod-group-operator/1.0.0", "sealing-wax-operator/1.1.0");
    fs::remove_file(out.join(pods).join("values.yaml")).expect("a file");
    fs::write(out.join(seals).join("README.md"), "edited").expect("a file");
    fs::write(out.join(seals).join("notes of a person.txt"), "").expect("a file");
    fs::write(out.join(pods).join("templates/old.yaml"), "").expect("a file");
    edit(&out.join(pods).join(FILE_NAME), |text| {
        format!("{text}{SHA256_OF_NOTHING}  templates/old.yaml\n")
    });
    // A check ignores foreign charts and older versions.
    fs::create_dir_all(out.join("somebody/1.0.0")).expect("a folder");
    fs::write(out.join("somebody/1.0.0/Chart.yaml"), "name: somebody").expect("a file");

    let (bytes, before) = (hash(&out), looks(temporary.path()));
    let (found, shown) = (check(), out.display());
    assert_eq!(
        String::from_utf8_lossy(&found.stdout),
        format!(
            "missing {shown}/{pods}/values.yaml\n\
             stale {shown}/{pods}/{FILE_NAME}\n\
             stale {shown}/{seals}/README.md\n\
             extra {shown}/{pods}/templates/old.yaml\n\
             foreign {shown}/{seals}/notes of a person.txt\n"
        )
    );
    assert_eq!(found.status.code(), Some(1));
    assert_eq!((hash(&out), looks(temporary.path())), (bytes, before));
}
