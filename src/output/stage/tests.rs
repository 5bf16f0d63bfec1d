use super::*;
use crate::output::chart_files::ChartFiles;
use crate::output::lock::Lock;
use std::collections::BTreeMap;
use std::process::{Command, Stdio};

const CHILD: &str = "BUNDLE2CHART_TEST_TWO_MOVES";
const CHART: &str = "lws/1.0.0";

fn two_moves(_: &Path, _: &Path) -> io::Result<bool> {
    Ok(false)
}

fn chart(dir: &str, content: &str) -> ChartFiles {
    let files = ["a", "sub/b", "sub/c"].map(|path| (path.to_owned(), content.into()));
    ChartFiles { dir: dir.into(), version: "1.0.0".to_owned(), files: BTreeMap::from(files) }
}

/// An output directory that is locked and recovered, as at the start of a build.
fn started(out: &Path, exchange: Exchange) -> (Lock, Stage) {
    let lock = Lock::acquire(out).unwrap();
    let stage = Stage { exchange, ..Stage::of(out) };
    stage.recover().unwrap();
    (lock, stage)
}

fn put(stage: &Stage, chart: &ChartFiles) {
    let files = OwnedFiles::of_chart(chart);
    stage.write(&files, &Inspection::of(&stage.out, &files).unwrap()).unwrap();
}

/// Builds one chart from the start to the end.
fn build(out: &Path, exchange: Exchange, content: &str) {
    let (_lock, stage) = started(out, exchange);
    put(&stage, &chart(CHART, content));
    stage.install(&[Path::new(CHART)]).unwrap();
    stage.clean_up().unwrap();
}

/// Content of all files of a folder, without ownership files.
fn files(folder: &Path) -> BTreeMap<String, String> {
    let entries = WalkDir::new(folder).into_iter().map(Result::unwrap);
    entries
        .filter(|entry| entry.file_type().is_file() && entry.file_name() != ownership::FILE_NAME)
        .map(|entry| {
            let path = entry.path().strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
            (path, fs::read_to_string(entry.path()).unwrap())
        })
        .collect()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn keeps_what_appeared_in_a_chart_while_it_was_staged() {
    // The build itself keeps it, and the next one if this one was killed before it could.
    for (how, killed) in [(exchange as Exchange, false), (two_moves, false), (two_moves, true)] {
        let home = tempfile::tempdir().unwrap();
        let out = home.path().join("out");
        build(&out, how, "old");
        let (lock, stage) = started(&out, how);
        put(&stage, &chart(CHART, "new"));
        fs::create_dir(out.join(CHART).join("added")).unwrap();
        fs::write(out.join(CHART).join("added/file"), "x").unwrap();

        stage.install(&[Path::new(CHART)]).unwrap();
        if killed {
            stage.recover().unwrap();
        } else {
            stage.clean_up().unwrap();
        }
        drop(lock);
        let found = files(&out.join(CHART));
        let found: Vec<_> = found.iter().map(|(p, c)| (p.as_str(), c.as_str())).collect();
        assert_eq!(found, [("a", "new"), ("added/file", "x"), ("sub/b", "new"), ("sub/c", "new")]);
        assert_eq!(names(&out), ["lws"]);
    }
}

#[test]
fn an_incomplete_staged_chart_leaves_no_files() {
    let home = tempfile::tempdir().unwrap();
    let out = home.path().join("out");
    build(&out, exchange, "old");
    let (_lock, stage) = started(&out, exchange);
    put(&stage, &chart(CHART, "new"));
    // Killed while its ownership file was written: a part that can be parsed.
    fs::write(out.join(STAGE).join("new").join(CHART).join(ownership::FILE_NAME), "").unwrap();
    stage.recover().unwrap();
    assert!(files(&out.join(CHART)).values().all(|content| content == "old"));
}

#[test]
fn puts_all_charts_back_when_one_cannot_be_replaced() {
    for how in [exchange, two_moves] {
        let home = tempfile::tempdir().unwrap();
        let out = home.path().join("out");
        build(&out, how, "old");
        let before = files(&out);
        let (lock, stage) = started(&out, how);
        put(&stage, &chart(CHART, "new"));
        put(&stage, &chart("two/1.0.0", "new"));

        // The last one was never staged.
        let charts = [CHART, "two/1.0.0", "three"].map(Path::new);
        assert_eq!(stage.install(&charts).unwrap_err().code, Code::OutputFailed);
        stage.recover().unwrap();
        drop(lock);
        assert_eq!(files(&out), before);
        assert_eq!(names(&out), ["lws"]);
    }
}

#[test]
fn a_lock_excludes_others_and_leaves_nothing() {
    let home = tempfile::tempdir().unwrap();
    let out = home.path().join("made/for/it/out");
    let lock = Lock::acquire(&out).unwrap();
    assert_eq!(Lock::acquire(&out).unwrap_err().code, Code::OutputBusy);
    drop(lock);
    assert!(!exists(&home.path().join("made")));

    // A killed build leaves the file without a lock on it.
    fs::create_dir_all(&out).unwrap();
    fs::write(out.join(".bundle2chart-lock"), "").unwrap();
    drop(Lock::acquire(&out).unwrap());
    assert_eq!(names(&out), [] as [&str; 0]);
}

/// No test by itself: the process that the next test kills.
#[test]
fn child_that_moves_twice() {
    let Some(out) = std::env::var_os(CHILD) else { return };
    println!("\nready");
    for content in ["A", "B"].into_iter().cycle() {
        build(Path::new(&out), two_moves, content);
    }
}

#[test]
fn a_kill_between_two_moves_leaves_one_whole_chart() {
    use std::io::{BufRead as _, BufReader};
    let home = tempfile::tempdir().unwrap();
    let out = home.path().join("out");
    build(&out, exchange, "A");
    let mut interrupted = 0;
    for kill in 0..50_u64 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "--nocapture"])
            .arg("output::stage::tests::child_that_moves_twice")
            .env(CHILD, &out)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap() == "ready"));
        std::thread::sleep(std::time::Duration::from_micros(200 + kill * 977 % 6000));
        child.kill().unwrap();
        child.wait().unwrap();

        interrupted += u32::from(exists(&out.join(STAGE)));
        drop(started(&out, exchange));
        let found = files(&out);
        assert_eq!(found.len(), 3);
        assert!(["A", "B"].iter().any(|chart| found.values().all(|content| content == chart)));
        assert_eq!(names(&out), ["lws"]);
    }
    assert!(interrupted > 5, "only {interrupted} kills hit anything");
}

#[test]
fn a_killed_build_keeps_what_was_added_to_the_chart_that_it_replaced() {
    let home = tempfile::tempdir().unwrap();
    let out = home.path().join("out");
    build(&out, two_moves, "new");
    // Killed after the second of the three moves.
    let old = out.join(STAGE).join("old").join(CHART);
    for path in ["a", "added/file", CHART_LOCK] {
        make_parents(&old.join(path)).unwrap();
        fs::write(old.join(path), "old").unwrap();
    }
    let text = chart(CHART, "old").ownership().to_text();
    fs::write(old.join(ownership::FILE_NAME), text).unwrap();
    drop(started(&out, two_moves));

    let found = files(&out.join(CHART));
    let found: Vec<_> = found.iter().map(|(p, c)| (p.as_str(), c.as_str())).collect();
    assert_eq!(found, [("a", "new"), ("added/file", "old"), ("sub/b", "new"), ("sub/c", "new")]);
    let text = fs::read_to_string(out.join(CHART).join(ownership::FILE_NAME)).unwrap();
    assert_eq!(text, chart(CHART, "new").ownership().to_text());
}

#[test]
fn a_chart_that_is_not_staged_is_removed_with_its_empty_parents() {
    for how in [exchange, two_moves] {
        let home = tempfile::tempdir().unwrap();
        let out = home.path().join("out");
        build(&out, how, "old");
        let (lock, stage) = started(&out, how);
        stage.install(&[Path::new(CHART)]).unwrap();
        stage.clean_up().unwrap();
        drop(lock);
        assert_eq!(names(&out), [] as [&str; 0]);
    }
}

/// The directory from which [`Stage::recover`] puts charts back.
#[test]
fn a_chart_that_is_moved_away_for_a_moment_has_a_place() {
    let home = tempfile::tempdir().unwrap();
    let out = home.path().join("out");
    build(&out, two_moves, "old");
    let (_lock, stage) = started(&out, two_moves);
    put(&stage, &chart(CHART, "new"));
    let place = out.join(STAGE).join("old");
    fs::write(&place, "").unwrap();
    let found = stage.install(&[Path::new(CHART)]).unwrap_err();
    let shown = place.join("lws").display().to_string();
    assert_eq!(found.message, format!("cannot create `{shown}`: Not a directory (os error 20)"));
}

/// A file that was deleted after its inspection cannot be linked, nor can any on some file systems.
#[test]
fn files_that_cannot_be_linked_are_written() {
    let home = tempfile::tempdir().unwrap();
    let out = home.path().join("out");
    build(&out, exchange, "same");
    let (_lock, stage) = started(&out, exchange);
    let chart = chart(CHART, "same");
    let wanted = OwnedFiles::of_chart(&chart);
    let found = Inspection::of(&out, &wanted).unwrap();
    fs::remove_file(out.join(CHART).join("a")).unwrap();
    stage.write(&wanted, &found).unwrap();
    assert_eq!(files(&out.join(STAGE).join(CHARTS).join(CHART)).len(), 3);
}

#[test]
fn directories_get_the_group_of_their_parent_and_become_deletable() {
    let home = tempfile::tempdir().unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    let set = |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    set(home.path(), 0o2700);
    let inner = home.path().join("outer/inner");
    make_directories(&inner).unwrap();
    assert_eq!([mode(&inner), mode(inner.parent().unwrap())], [0o2755; 2]);

    let file = inner.join("file");
    fs::write(&file, "").unwrap();
    for (sealed, removable) in [(0o500, 0o700), (0o755, 0o755), (0o070, 0o770)] {
        set(&file, 0o400);
        set(&inner, sealed);
        make_removable(home.path()).unwrap();
        assert_eq!([mode(&inner), mode(&file)], [removable, 0o400], "{sealed:o}");
    }
}

/// Exchanges a directory with one inside it, which no file system can.
#[test]
fn an_exchange_that_is_not_supported_is_no_error() {
    let home = tempfile::tempdir().unwrap();
    let inner = home.path().join("inner");
    fs::create_dir(&inner).unwrap();
    assert!(!exchange(home.path(), &inner).unwrap());
    assert!(exchange(&inner, &home.path().join("missing")).is_err());
}

/// A file and the paths that it lists, as an ownership file does.
type Listing<'a> = (&'a str, &'a [&'a str]);

/// A step that fails, and its message.
type Failing = (fn(&Stage) -> Result<(), Fatal>, &'static str);

/// Files in place of directories and directories in place of files are errors for everyone.
#[test]
fn errors_name_the_step_and_the_path() {
    const READY: &str = ".bundle2chart-stage/ready";
    let put = |stage: &Stage, path: &str, listed: &[&str]| {
        let path = stage.out.join(path);
        make_parents(&path).unwrap();
        let listed = listed.iter().map(|path| ((*path).to_owned(), Vec::new())).collect();
        fs::write(path, Ownership::of(None, &listed).to_text()).unwrap();
    };
    let marker = ownership::FILE_NAME;
    let ready = format!("{READY}/{marker}");
    let rows: &[(&[Listing<'_>], Failing)] = &[
        (
            &[(".bundle2chart-stage/ready/file", &[])],
            (
                |stage| stage.install(&[]),
                "cannot rename `OUT/.bundle2chart-stage/deployment`: Directory not empty (os error 39)",
            ),
        ),
        (
            &[],
            (
                |stage| stage.install(&[Path::new(CHART)]),
                "cannot replace `OUT/lws/1.0.0`: No such file or directory (os error 2)",
            ),
        ),
        (
            &[("lws", &[])],
            (
                |stage| stage.install(&[Path::new("lws/1.0.0/more")]),
                "cannot create `OUT/lws/1.0.0`: Not a directory (os error 20)",
            ),
        ),
        (
            &[("lws", &[]), (".bundle2chart-stage/old/lws/1.0.0/.bundle2chart", &[])],
            (Stage::recover, "cannot put back `OUT/lws/1.0.0`: Not a directory (os error 20)"),
        ),
        (
            &[("a/file", &[]), (&ready, &["a"]), (".bundle2chart-stage/ready/a", &[])],
            (Stage::recover, "cannot replace `OUT/a`: Is a directory (os error 21)"),
        ),
        (
            &[(".bundle2chart/file", &[]), (&ready, &[])],
            (Stage::recover, "cannot replace `OUT/.bundle2chart`: Is a directory (os error 21)"),
        ),
        (
            &[("a/file", &[]), (marker, &["a"]), (&ready, &[])],
            (Stage::recover, "cannot remove `OUT/a`: Is a directory (os error 21)"),
        ),
        (
            &[(STAGE, &[])],
            (
                Stage::clean_up,
                "cannot remove `OUT/.bundle2chart-stage`: Not a directory (os error 20)",
            ),
        ),
    ];
    for (files, (step, expected)) in rows {
        let home = tempfile::tempdir().unwrap();
        let stage = Stage::of(&home.path().join("out"));
        for (path, listed) in *files {
            put(&stage, path, listed);
        }
        let message = step(&stage).unwrap_err().message;
        assert_eq!(message.replace(&stage.out.display().to_string(), "OUT"), *expected);
    }
}
