//! The output folder when the process is killed, the disk is full, or the system refuses.
//!
//! The tests run this program again as a child that builds (see [`child`]), because limits,
//! working folders, mounts and kills belong to a process.

#![cfg(unix)]

use crate::support::unchecked::not_checked;
use bundle2chart::diag::{Diagnostics, Severity};
use bundle2chart::output::{
    Changes, ChartFiles, DeploymentFiles, Mode, outdated, report_orphans, write,
};
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Lines};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// The test that the others run as a child.
const CHILD: &str = "output_faults::child";
const OUT: &str = "BUNDLE2CHART_TEST_OUT";
const TREES: &str = "BUNDLE2CHART_TEST_TREES";
const STAGE: &str = ".bundle2chart-stage";
const LOCK: &str = ".bundle2chart-lock";

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

/// Deployment files: one in both trees, one in a folder, one in only one of them.
fn deployment_files(name: &str) -> DeploymentFiles {
    let text = |path: &str| (path.to_owned(), format!("{name}\n").into_bytes());
    BTreeMap::from([text("all.yaml"), text("folder/part.yaml"), text(&format!("only-{name}.yaml"))])
}

fn build(out: &Path, name: &str) -> Result<Changes, Diagnostics> {
    let mut diagnostics = Diagnostics::new();
    let mode = Mode::Write { replace: true };
    let written = write(out, &tree(name), Some(&deployment_files(name)), mode, &mut diagnostics);
    assert_eq!(written.is_some(), diagnostics.is_empty(), "{diagnostics:?}");
    written.ok_or(diagnostics)
}

/// The answer of `build --check`.
fn is_current(out: &Path, name: &str) -> bool {
    let compared = write(out, &tree(name), None, Mode::Check, &mut Diagnostics::new());
    compared.unwrap().differences.is_current()
}

/// All files of an output folder, without those of a build at work.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    walkdir::WalkDir::new(folder)
        .into_iter()
        .filter_entry(|entry| entry.file_name() != STAGE && entry.file_name() != LOCK)
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

/// No test by itself: what the others run as a child. Builds the trees named in the
/// environment into the folder named there, for ever where the last is `again`.
#[test]
fn child() {
    let (Ok(out), Ok(trees)) = (std::env::var(OUT), std::env::var(TREES)) else { return };
    let trees: Vec<_> = trees.split(' ').collect();
    println!("\nready");
    loop {
        for name in trees.iter().filter(|name| **name != "again") {
            match build(Path::new(&out), name) {
                Ok(_) => {}
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
        "child() {{ {TREES}=\"$1\" {OUT}=\"$2\" '{}' --exact --nocapture {CHILD}; }}\n",
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
fn a_kill_at_any_moment_leaves_each_chart_old_or_new() {
    // A file system in memory, where there is one, so that most of the time is not spent flushing.
    let memory = tempfile::tempdir_in("/dev/shm");
    kill_often(&memory.unwrap_or_else(|_| tempfile::tempdir().unwrap()), 100);
    kill_often(&tempfile::tempdir().unwrap(), 20);
}

/// Starts a child that builds, and returns it when it is about to begin.
fn started(out: &Path, trees: &str) -> (Child, Lines<BufReader<ChildStdout>>) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "--nocapture", CHILD])
        .env(OUT, out)
        .env(TREES, trees)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap() == "ready"));
    (child, lines)
}

/// Kills a child that builds, after delays of at most the time that it takes for two builds.
fn kill_often(home: &tempfile::TempDir, kills: u32) {
    let out = home.path().join("out");
    let foreign = out.join("one/notes.txt");
    let mut whole = BTreeMap::new();
    for name in ["B", "A"] {
        build(&out, name).unwrap();
        fs::write(&foreign, "not ours").unwrap();
        whole.insert(name, files(&out));
    }
    let foreign_inode = fs::metadata(&foreign).unwrap().ino();

    let (mut child, mut lines) = started(&out, "B A");
    let start = Instant::now();
    assert!(lines.any(|line| line.unwrap() == "done"));
    let longest = u64::try_from(start.elapsed().as_micros()).unwrap();
    child.wait().unwrap();

    let (mut staged, mut seen) = (0, BTreeMap::from([("A", 0), ("B", 0)]));
    // A fixed sequence of delays, spread over the first builds of the child.
    let mut delay = 12345_u64;
    for kill in 0..kills {
        let (mut child, _lines) = started(&out, "B A again");
        delay = (delay * 1_103_515_245 + 12345) % (1 << 31);
        std::thread::sleep(Duration::from_micros((delay >> 8) % longest));
        child.kill().unwrap();
        child.wait().unwrap();

        staged += u32::from(out.join(STAGE).exists());
        let found = files(&out);
        for dir in ["one/1.0.0", "two/1.0.0"] {
            let part = |files: &BTreeMap<PathBuf, Vec<u8>>| -> BTreeMap<PathBuf, Vec<u8>> {
                files.iter().filter(|(path, _)| path.starts_with(dir)).map(own).collect()
            };
            let name = whole.iter().find(|(_, files)| part(files) == part(&found));
            let name = name.unwrap_or_else(|| panic!("kill {kill} left {:?}", found.keys())).0;
            *seen.get_mut(name).unwrap() += 1;
        }
        for (path, content) in &found {
            let known = whole.values().any(|files| files.get(path) == Some(content));
            assert!(known, "kill {kill} left a part of {}", path.display());
        }

        // `--check` says whether something is left to do, and the next build does it.
        let next = if kill % 2 == 0 { "A" } else { "B" };
        let current = is_current(&out, next);
        let charts = |files: &BTreeMap<PathBuf, Vec<u8>>| -> BTreeMap<PathBuf, Vec<u8>> {
            files.iter().filter(|(path, _)| path.iter().count() > 2).map(own).collect()
        };
        assert_eq!(current, charts(&found) == charts(&whole[next]));
        build(&out, next).unwrap();
        assert_eq!(names(home.path()), ["out"]);
        assert!(!out.join(STAGE).exists() && !out.join(LOCK).exists());
        assert!(files(&out) == whole[next]);
        assert_eq!(fs::metadata(&foreign).unwrap().ino(), foreign_inode);
    }
    // On a busy machine many kills come before the child has started to build.
    assert!(staged > kills / 20, "only {staged} kills hit a build at work");
    assert!(seen.values().all(|count| *count > 0), "{seen:?}");
}

fn own((path, content): (&PathBuf, &Vec<u8>)) -> (PathBuf, Vec<u8>) {
    (path.clone(), content.clone())
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
fn refuses_to_replace_the_chart_that_one_works_in() {
    let home = tempfile::tempdir().unwrap();
    let out = home.path().join("out");
    build(&out, "A").unwrap();
    let before = files(&out);
    let mut run = shell("child B ../..");
    run.current_dir(out.join("one/1.0.0"));
    let text = finished(run);
    let expected = "output-unsuitable: cannot replace `../../one/1.0.0`: it contains the working \
        directory\nhint: change to a directory outside the chart and build again\nrefused 1\n";
    assert!(text.contains(expected), "{text}");
    assert!(files(&out) == before);

    // Nothing else is moved, so one may work there.
    for (folder, path) in [(out.clone(), "."), (out.clone(), "../out"), (out.join("one"), "..")] {
        let mut run = shell(&format!("child B {path}; child A {path}"));
        run.current_dir(folder);
        assert!(!finished(run).contains("refused"));
    }
    assert!(files(&out) == before);
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
    assert!(
        text.contains("output-failed: cannot write `out/.bundle2chart-stage/new/one/"),
        "{text}"
    );
    assert!(text.contains("hint: free disk space"), "{text}");
    // The second chart fails for the same reason.
    assert!(text.contains("refused 1\n"), "{text}");
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
    let Some(way) = namespace() else {
        not_checked("mounts, which need root, a user namespace or sudo without a password");
        return None;
    };
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
        diff -r before disk/out; ls -A disk; ls -A disk/out
        mount -o remount,size=4m none disk
        child B disk/out; ls -A disk; ls -A disk/out; ls disk/out/one/1.0.0/only/in";
    let Some(text) = with_mounts(script) else { return };
    assert!(text.contains("output-failed: cannot write `disk/out/.bundle2chart-stage"), "{text}");
    assert!(text.contains("(os error 28)"), "{text}");
    assert_eq!(text.matches("refused").count(), 1, "{text}");
    let rest: Vec<_> = text.lines().filter(|line| *line == "out" || *line == "B.txt").collect();
    assert_eq!(rest, ["out", "out", "B.txt"], "{text}");
    assert!(!text.lines().any(|line| line == STAGE || line == LOCK), "{text}");
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
    assert!(
        after.contains("output-failed: cannot lock the output directory with `disk/"),
        "{text}"
    );
    assert!(after.contains("hint: make the output directory and its charts writable"), "{text}");
}

#[test]
#[cfg(target_os = "linux")]
fn mount_points_are_kept_and_never_replaced() {
    let script = "
        mkdir -p out data; mount -t tmpfs none out
        child A out; child B out; umount out; ls -A out; echo second
        child A out; mkdir out/data; mount -t tmpfs none out/data; echo x > out/data/file
        child B out; cat out/data/file; umount out/data; rmdir out/data; echo third
        cp -r out before; mount --bind out/two/1.0.0 out/two/1.0.0
        child A out; umount out/two/1.0.0; diff -r before out; echo fourth
        child A out; ls out/one/1.0.0/only/in";
    let Some(text) = with_mounts(script) else { return };
    let (first, rest) = text.split_once("second").unwrap();
    let (second, rest) = rest.split_once("third").unwrap();
    let (third, fourth) = rest.split_once("fourth").unwrap();
    for fine in [first, second, fourth] {
        assert!(!fine.contains("refused"), "{text}");
    }
    assert!(second.contains("\nx\n") && fourth.contains("A.txt"), "{text}");

    // The chart before it is put back.
    assert!(third.contains("refused 1"), "{text}");
    assert!(third.contains("output-failed: cannot replace `out/two/1.0.0`"), "{text}");
    assert!(third.contains("a chart cannot be replaced if its directory is a mount"));
}

#[test]
fn a_parent_without_write_permission_is_no_hindrance() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = tempfile::tempdir().unwrap();
    let parent = home.path().join("parent");
    let out = parent.join("out");
    build(&out, "A").unwrap();
    fs::set_permissions(&parent, fs::Permissions::from_mode(0o555)).unwrap();
    let written = build(&out, "B");
    fs::set_permissions(&parent, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(written.unwrap().updated.len(), 2);
}

/// Set in a process whom permissions bind.
const AS_A_USER: &str = "BUNDLE2CHART_TEST_AS_A_USER";

/// Permissions bind root only without its capability to override them.
#[test]
fn what_cannot_be_read_is_named_and_what_cannot_be_deleted_is_made_writable() {
    use std::os::unix::fs::PermissionsExt as _;
    if rustix::process::geteuid().is_root() && std::env::var_os(AS_A_USER).is_none() {
        let mut run = Command::new("setpriv");
        run.arg("--bounding-set=-dac_override,-dac_read_search")
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", "output_faults::what_cannot_be_read_is_named_and_what_cannot_be_deleted_is_made_writable"])
            .env(AS_A_USER, "1");
        assert!(finished(run).contains("1 passed"));
        return;
    }

    let home = tempfile::tempdir().unwrap();
    let out = home.path().join("out");
    let set = |path: &str, mode| {
        fs::set_permissions(out.join(path), fs::Permissions::from_mode(mode)).unwrap();
    };
    build(&out, "A").unwrap();
    fs::write(out.join("one/1.0.0/templates/1.yaml"), "longer or shorter").unwrap();
    fs::create_dir_all(out.join("other/1.0.0")).unwrap();
    let orphans = |_: &str| {
        let mut found = Diagnostics::new();
        let done = report_orphans(&out, &[Path::new("one")], false, &mut found).is_some();
        assert_eq!(done, found.is_empty());
        found
    };
    let keep = |_: &str| {
        let mut found = Diagnostics::new();
        fs::write(out.join("one/1.0.0/Chart.yaml"), "name: one\nversion: 1.0.0\n").unwrap();
        let dir = Path::new("one/2.0.0");
        assert!(outdated(&out, dir, "2.0.0", Some(1), &mut found).is_empty());
        found
    };
    type Act<'a> = &'a dyn Fn(&str) -> Diagnostics;
    let build = |name: &str| build(&out, name).unwrap_err();
    let rows: [(&str, u32, Act<'_>, &str); 7] = [
        // A file that may be the same, one that is not, its directory and the list of all.
        ("one/1.0.0/same.txt", 0o644, &build, "cannot read `OUT/one/1.0.0/same.txt`"),
        (
            "one/1.0.0/templates/1.yaml",
            0o644,
            &build,
            "cannot read `OUT/one/1.0.0/templates/1.yaml`",
        ),
        ("one/1.0.0/templates", 0o755, &build, "cannot read `OUT/one/1.0.0/templates`"),
        ("one/1.0.0/.bundle2chart", 0o644, &build, "cannot read `OUT/one/1.0.0/.bundle2chart`"),
        ("one/1.0.0", 0o755, &build, "cannot read `OUT/one/1.0.0`"),
        ("other", 0o755, &orphans, "cannot read `OUT/other`"),
        ("one/1.0.0/templates", 0o755, &keep, "`OUT/one/1.0.0` is not removed"),
    ];
    for (path, mode, act, expected) in rows {
        set(path, 0);
        let found = act("A");
        set(path, mode);
        let found = found.iter().next().unwrap();
        let message = found.message.replace(&out.display().to_string(), "OUT");
        assert_eq!(message, format!("{expected}: Permission denied (os error 13)"));
        let hint = match found.severity {
            Severity::Error => {
                "make the output directory and its charts writable, or use another \
                directory with `--out`"
            }
            _ => "make the directory readable",
        };
        assert_eq!(found.hint.as_deref(), Some(hint));
    }

    // Left by a build of a chart with such directories.
    let stage = out.join(STAGE);
    fs::create_dir_all(stage.join("new/one/1.0.0/templates")).unwrap();
    set(".bundle2chart-stage/new/one/1.0.0", 0o500);
    fs::remove_file(out.join("one/1.0.0/Chart.yaml")).unwrap();
    write(&out, &tree("A"), None, Mode::Write { replace: true }, &mut Diagnostics::new()).unwrap();
    assert!(!stage.exists());
}
