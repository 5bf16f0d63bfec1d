use super::*;
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

fn stage(site: &Site, chart: &ChartFiles) {
    site.stage_chart(chart, &Inspection::of(&site.out, chart, &chart.ownership()).unwrap())
        .unwrap();
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

fn code_of(problems: &Diagnostics) -> Code {
    assert_eq!(problems.iter().count(), 1);
    problems.iter().next().unwrap().code
}

#[test]
fn keeps_what_appeared_in_a_chart_while_it_was_staged() {
    for how in [exchange, two_moves] {
        let home = tempfile::tempdir().unwrap();
        let site = Site::of(&home.path().join("out")).unwrap();
        let lock = site.lock().unwrap();
        stage(&site, &chart(CHART, "old"));
        site.install_by(how, &[Path::new(CHART)]).unwrap();
        stage(&site, &chart(CHART, "new"));
        fs::create_dir(site.out.join(CHART).join("added")).unwrap();
        fs::write(site.out.join(CHART).join("added/file"), "x").unwrap();

        let left = site.install_by(how, &[Path::new(CHART)]).unwrap();
        assert_eq!(left, Diagnostics::new());
        drop(lock);
        let found = files(&site.out.join(CHART));
        let found: Vec<_> = found.iter().map(|(p, c)| (p.as_str(), c.as_str())).collect();
        assert_eq!(found, [("a", "new"), ("added/file", "x"), ("sub/b", "new"), ("sub/c", "new")]);
        assert!(!site.has_leftovers());
    }
}

#[test]
fn puts_all_charts_back_when_one_cannot_be_replaced() {
    for how in [exchange, two_moves] {
        let home = tempfile::tempdir().unwrap();
        let site = Site::of(&home.path().join("out")).unwrap();
        let _lock = site.lock().unwrap();
        stage(&site, &chart("one", "old"));
        site.install_by(how, &[Path::new("one")]).unwrap();
        stage(&site, &chart("one", "new"));
        stage(&site, &chart("two/1.0.0", "new"));

        // The last one was never staged.
        let charts = ["one", "two/1.0.0", "three"].map(Path::new);
        assert_eq!(code_of(&site.install_by(how, &charts).unwrap_err()), Code::OutputFailed);
        assert!(files(&site.out.join("one")).values().all(|content| content == "old"));
        assert_eq!(files(&site.out.join("one")).len(), 3);
        assert!(!exists(&site.out.join("two/1.0.0")));
    }
}

#[test]
fn a_lock_excludes_others_and_leaves_nothing() {
    let home = tempfile::tempdir().unwrap();
    let site = Site::of(&home.path().join("made/for/it/out")).unwrap();
    let lock = site.lock().unwrap();
    assert_eq!(code_of(&site.lock().unwrap_err()), Code::OutputBusy);
    drop(lock);
    assert!(!exists(&home.path().join("made")));
    // A killed build leaves the file without a lock on it.
    fs::create_dir_all(&site.out).unwrap();
    fs::write(&site.lock, "").unwrap();
    drop(site.lock().unwrap());
    assert!(!site.has_leftovers());
    assert!(exists(&site.out));
}

/// Not a test of its own: the process that the next test kills.
#[test]
fn child_that_moves_twice() {
    let Some(out) = std::env::var_os(CHILD) else { return };
    let site = Site::of(Path::new(&out)).unwrap();
    println!("\nready");
    for content in ["A", "B"].into_iter().cycle() {
        let _lock = site.lock().unwrap();
        stage(&site, &chart(CHART, content));
        site.install_by(two_moves, &[Path::new(CHART)]).unwrap();
    }
}

#[test]
fn a_kill_between_two_moves_leaves_one_whole_chart() {
    use std::io::{BufRead as _, BufReader};
    let home = tempfile::tempdir().unwrap();
    let site = Site::of(&home.path().join("out")).unwrap();
    {
        let _lock = site.lock().unwrap();
        stage(&site, &chart(CHART, "A"));
        site.install(&[Path::new(CHART)]).unwrap();
    }
    let mut interrupted = 0;
    for kill in 0..50_u64 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "--nocapture"])
            .arg("output::stage::tests::child_that_moves_twice")
            .env(CHILD, &site.out)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap() == "ready"));
        std::thread::sleep(std::time::Duration::from_micros(200 + kill * 977 % 6000));
        child.kill().unwrap();
        child.wait().unwrap();

        interrupted += u32::from(exists(&site.stage));
        drop(site.lock().unwrap());
        let found = files(&site.out);
        assert_eq!(found.len(), 3);
        assert!(["A", "B"].iter().any(|chart| found.values().all(|content| content == chart)));
        assert!(!site.has_leftovers());
    }
    assert!(interrupted > 5, "only {interrupted} kills hit anything");
}
