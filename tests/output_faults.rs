//! The output folder when the process is killed, the disk is full, or the system refuses.
//!
//! The tests run this program again as a child that builds (see [`child`]), because limits,
//! working folders, mounts and kills belong to a process.

#![cfg(unix)]
#![expect(clippy::disallowed_methods, reason = "runs children and looks at what they wrote")]
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use bundle2chart::diag::Diagnostics;
use bundle2chart::emit::{BesideFiles, ChartFiles, Written, write_with};
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

const OUT: &str = "BUNDLE2CHART_TEST_OUT";
const TREES: &str = "BUNDLE2CHART_TEST_TREES";

/// Two trees of the same charts with other files in them.
fn tree(name: &str) -> Vec<ChartFiles> {
    let chart = |dir: &str| {
        let mut files: BTreeMap<_, _> = (0..6)
            .map(|n| (format!("templates/{n}.yaml"), format!("{name} {n}\n").repeat(4000).into()))
            .collect();
        files.insert(format!("only/in/{name}.txt"), Vec::new());
        files.insert("same.txt".to_owned(), b"same in both\n".to_vec());
        ChartFiles { dir: dir.into(), version: "1.0.0".to_owned(), files }
    };
    vec![chart("one/1.0.0"), chart("two/1.0.0")]
}

/// Files beside the charts: one in both trees, one in a folder, one in only one of them.
fn beside(name: &str) -> BesideFiles {
    let text = |path: &str| (path.to_owned(), format!("{name}\n").into_bytes());
    BTreeMap::from([text("all.yaml"), text("folder/part.yaml"), text(&format!("only-{name}.yaml"))])
}

fn build(out: &Path, name: &str) -> Result<Written, Diagnostics> {
    write_with(out, &tree(name), Some(&beside(name)), true)
}

/// All files of a folder.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    walkdir::WalkDir::new(folder)
        .into_iter()
        .map(Result::unwrap)
        .filter(|entry| entry.file_type().is_file())
        .map(|entry| {
            let path = entry.path().strip_prefix(folder).unwrap().to_owned();
            (path, fs::read(entry.path()).unwrap())
        })
        .collect()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Not a test of its own: what the others run as a child. Builds the trees named in the
/// environment into the folder named there, for ever where the last is `again`.
#[test]
fn child() {
    let (Ok(out), Ok(trees)) = (std::env::var(OUT), std::env::var(TREES)) else { return };
    let trees: Vec<_> = trees.split(' ').collect();
    println!("\nready");
    loop {
        for name in trees.iter().filter(|name| **name != "again") {
            match build(Path::new(&out), name) {
                Ok(written) => assert!(written.warnings.is_empty(), "{:?}", written.warnings),
                Err(problems) => {
                    for problem in problems.iter() {
                        println!("{}: {}", problem.code.as_str(), problem.message);
                        println!("hint: {}", problem.hint.as_deref().unwrap_or("NO HINT"));
                    }
                    println!("refused {}", problems.iter().count());
                }
            }
        }
        if trees.last() != Some(&"again") {
            println!("done");
            break;
        }
    }
}

/// A shell that runs `script` with `child TREES OUT` defined as running the child.
fn shell(script: &str) -> Command {
    let program = std::env::current_exe().unwrap();
    let function = format!(
        "child() {{ {TREES}=\"$1\" {OUT}=\"$2\" '{}' --exact --nocapture child; }}\n",
        program.display()
    );
    let mut shell = Command::new("sh");
    shell.arg("-euc").arg(function + script);
    shell
}

fn finished(mut command: Command) -> String {
    let Output { status, stdout, stderr } = command.output().unwrap();
    let text = String::from_utf8_lossy(&stdout).into_owned();
    assert!(status.success(), "{status} {text} {}", String::from_utf8_lossy(&stderr));
    text
}

#[test]
fn a_kill_at_any_moment_leaves_the_old_tree_or_the_new_tree() {
    // A file system in memory, where there is one, so that most of the time is not spent flushing.
    let memory = tempfile::tempdir_in("/dev/shm");
    kill_often(&memory.unwrap_or_else(|_| tempfile::tempdir().unwrap()), 300, 8_000);
    kill_often(&tempfile::tempdir().unwrap(), 20, 60_000);
}

/// Kills a child that builds, after delays of at most `longest` microseconds.
fn kill_often(home: &tempfile::TempDir, kills: u32, longest: u64) {
    let out = home.path().join("out");
    let foreign = out.join("one/notes.txt");
    let mut whole = BTreeMap::new();
    for name in ["B", "A"] {
        build(&out, name).unwrap();
        fs::write(&foreign, "not ours").unwrap();
        whole.insert(name, files(&out));
    }
    let foreign_inode = fs::metadata(&foreign).unwrap().ino();

    let (mut staged, mut seen) = (0, BTreeMap::from([("A", 0), ("B", 0)]));
    // A fixed sequence of delays, spread over the first builds of the child.
    let mut delay = 12345_u64;
    for kill in 0..kills {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "--nocapture", "child"])
            .env(OUT, &out)
            .env(TREES, "B A again")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap() == "ready"));
        delay = (delay * 1_103_515_245 + 12345) % (1 << 31);
        std::thread::sleep(Duration::from_micros((delay >> 8) % longest));
        child.kill().unwrap();
        child.wait().unwrap();

        staged += u32::from(home.path().join(".out.bundle2chart-stage").exists());
        let found = files(&out);
        let name = whole.iter().find(|(_, files)| **files == found).map(|(name, _)| *name);
        let name = name.unwrap_or_else(|| panic!("kill {kill} left {:?}", found.keys()));
        *seen.get_mut(name).unwrap() += 1;

        // The next build works, from either tree, and leaves nothing behind.
        let next = if kill % 2 == 0 { "A" } else { "B" };
        build(&out, next).unwrap();
        assert_eq!(names(home.path()), ["out"]);
        assert!(files(&out) == whole[next]);
        assert_eq!(fs::metadata(&foreign).unwrap().ino(), foreign_inode);
    }
    assert!(staged > kills / 8, "only {staged} kills hit a build at work");
    assert!(seen.values().all(|count| *count > 0), "{seen:?}");
}

#[test]
fn neither_umask_nor_working_folder_shows_in_the_tree() {
    let home = tempfile::tempdir().unwrap();
    let other = home.path().join("elsewhere");
    fs::create_dir(&other).unwrap();
    let mut runs = [
        shell("umask 022; child A one"),
        shell("umask 077; child A ../two"),
        shell("umask 777; child A ../three"),
    ];
    runs[0].current_dir(home.path());
    runs[1].current_dir(&other);
    runs[2].current_dir(&other);
    for run in runs {
        assert!(finished(run).contains("\ndone"));
    }
    let look = |out: &str| -> Vec<_> {
        let out = home.path().join(out);
        let walk = walkdir::WalkDir::new(&out).sort_by_file_name();
        let entry = |entry: walkdir::DirEntry| {
            (entry.path().strip_prefix(&out).unwrap().to_owned(), entry.metadata().unwrap().mode())
        };
        walk.into_iter().map(Result::unwrap).map(entry).collect()
    };
    assert!(look("one").len() > 20);
    for out in ["two", "three"] {
        assert_eq!(look("one"), look(out));
        assert!(files(&home.path().join("one")) == files(&home.path().join(out)));
    }
}

#[test]
fn refuses_to_swap_the_folder_that_one_works_in() {
    let home = tempfile::tempdir().unwrap();
    let out = home.path().join("out");
    build(&out, "A").unwrap();
    let before = files(&out);
    for (folder, path) in [(out.clone(), "."), (out.clone(), "../out"), (out.join("one"), "..")] {
        let mut run = shell(&format!("child B {path}"));
        run.current_dir(folder);
        let text = finished(run);
        assert!(text.contains("output-unsuitable: ") && text.contains("refused 1"), "{text}");
        assert!(files(&out) == before);
        assert_eq!(names(home.path()), ["out"]);
    }
    // Nothing to write, nothing to refuse.
    let mut run = shell("child A .");
    run.current_dir(&out);
    assert!(!finished(run).contains("refused"));
}

#[test]
fn a_write_that_fails_in_the_middle_leaves_the_old_tree() {
    let home = tempfile::tempdir().unwrap();
    let out = home.path().join("out");
    build(&out, "A").unwrap();
    let before = files(&out);
    // A limit of 4 blocks of 512 or 1024 bytes; the files are longer. Some of what the test
    // harness writes goes to the pipe and does not count.
    let mut run = shell("trap '' XFSZ; ulimit -f 4; child B out");
    run.current_dir(home.path());
    let text = finished(run);
    assert!(text.contains("output-failed: cannot write `./.out.bundle2chart-stage/one/"), "{text}");
    assert!(text.contains("hint: make room"), "{text}");
    assert!(files(&out) == before);
    assert_eq!(names(home.path()), ["out"]);
}

/// Mounts need a mount namespace of one's own: as root, as the root of a user namespace, or with
/// a sudo that asks for nothing. A continuous integration without any of them is an error.
#[cfg(target_os = "linux")]
fn namespace() -> Option<Vec<&'static str>> {
    let ways =
        [vec!["unshare", "-m"], vec!["unshare", "-Urm"], vec!["sudo", "-n", "unshare", "-m"]];
    let works = |way: &Vec<&str>| {
        let mut try_mount = Command::new(way[0]);
        try_mount.args(&way[1..]).args(["mount", "-t", "tmpfs", "none", "/mnt"]);
        try_mount.output().is_ok_and(|output| output.status.success())
    };
    let way = ways.into_iter().find(works);
    assert!(
        way.is_some() || std::env::var_os("CI").is_none(),
        "mounts cannot be tested here: neither root, user namespaces nor sudo"
    );
    way
}

/// Runs a script in a folder of its own in a mount namespace of its own. `None` where a person's
/// machine does not allow that.
#[cfg(target_os = "linux")]
fn with_mounts(script: &str) -> Option<String> {
    let way = namespace()?;
    let home = tempfile::tempdir().unwrap();
    let inner = shell(script);
    let mut run = Command::new(way[0]);
    run.args(&way[1..]).arg(inner.get_program()).args(inner.get_args()).current_dir(home.path());
    Some(finished(run))
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_leaves_the_old_tree() {
    let script = "
        mkdir disk; mount -t tmpfs -o size=300k none disk
        child A disk/out; cp -r disk/out before
        child B disk/out
        diff -r before disk/out; ls -A disk
        mount -o remount,size=4m none disk
        child B disk/out; ls -A disk; ls disk/out/one/1.0.0/only/in";
    let Some(text) = with_mounts(script) else { return };
    assert!(text.contains("output-failed: cannot write `disk/.out.bundle2chart-stage"), "{text}");
    assert!(text.contains("(os error 28)"), "{text}");
    assert_eq!(text.matches("refused").count(), 1, "{text}");
    let rest: Vec<_> = text.lines().filter(|line| *line == "out" || *line == "B.txt").collect();
    assert_eq!(rest, ["out", "out", "B.txt"], "{text}");
    assert!(!text.contains("\n.out"), "{text}");
}

#[test]
#[cfg(target_os = "linux")]
fn a_read_only_disk_is_reported_and_can_still_be_checked() {
    let script = "
        mkdir disk; mount -t tmpfs none disk
        child A disk/out; mount -o remount,ro none disk
        child A disk/out; echo unchanged
        child B disk/out";
    let Some(text) = with_mounts(script) else { return };
    let (before, after) = text.split_once("unchanged").unwrap();
    assert!(!before.contains("refused"), "{text}");
    assert!(after.contains("output-failed: cannot lock the output folder with `disk/"), "{text}");
    assert!(after.contains("hint: the new tree is staged beside the output folder"), "{text}");
}

#[test]
#[cfg(target_os = "linux")]
fn mount_points_are_refused() {
    let script = "
        mkdir -p out data; mount -t tmpfs none out
        child A out; ls -A out
        umount out; echo second
        mkdir out/data; echo x > data/file; mount -t tmpfs none out/data
        child A out; umount out/data; echo third
        mount --bind data out/data
        child A out; cat out/data/file; umount out/data; echo fourth
        mount --bind data out
        child A out; umount out; rm data/file; echo fifth
        mount --bind data out
        child A out; ls -A . out; touch out/last";
    let Some(text) = with_mounts(script) else { return };
    assert_eq!(text.matches("refused 1").count(), 5, "{text}");
    assert_eq!(text.matches("output-unsuitable: ").count(), 4, "{text}");
    // An empty bind mount of the same file system shows only when it is renamed.
    let (_, fifth) = text.split_once("fifth").unwrap();
    assert!(fifth.contains("output-failed: cannot replace `out`"), "{text}");
    assert!(fifth.contains("hint: the output folder cannot be swapped when it is a mount"));
    assert!(!fifth.contains("\n.out"), "{text}");
}

#[test]
fn a_parent_without_write_permission_is_reported() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = tempfile::tempdir().unwrap();
    let parent = home.path().join("parent");
    let out = parent.join("out");
    build(&out, "A").unwrap();
    let before = files(&out);
    fs::set_permissions(&parent, fs::Permissions::from_mode(0o555)).unwrap();
    let written = build(&out, "B");
    fs::set_permissions(&parent, fs::Permissions::from_mode(0o755)).unwrap();
    // Permissions do not bind root; the read-only disk is the test for root.
    if let Err(problems) = written {
        assert!(problems.iter().all(|problem| problem.code.as_str() == "output-failed"));
        assert!(files(&out) == before);
    } else {
        assert_eq!(fs::metadata("/proc/self").map_or(0, |process| process.uid()), 0);
    }
}
