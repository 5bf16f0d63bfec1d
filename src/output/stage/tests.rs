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
    stage.write(CHARTS, &files, &Inspection::of(&stage.out, &files).unwrap()).unwrap();
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
