//! Files that `output::write` writes, keeps and refuses, and the answers with `Mode::Check`.

#![cfg(unix)]

use bundle2chart::chart::chart_lock;
use bundle2chart::diag::{Code, Diagnostics};
use bundle2chart::output::{
    self, Change, Changes, ChartFiles, Comparison, DeploymentFiles, Mode, OutputDirectory,
    report_orphans,
};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

mod messages;

const WRITE: Mode = Mode::Write { replace: false };

/// Writes without an error or a warning, or returns the errors.
fn write_with(
    out: &Path,
    charts: &[ChartFiles],
    files: Option<&DeploymentFiles>,
    replace: bool,
) -> Result<Changes, Diagnostics> {
    let mut diagnostics = Diagnostics::new();
    let written = output::write(out, charts, files, Mode::Write { replace }, &mut diagnostics);
    assert_eq!(written.is_some(), diagnostics.is_empty(), "{diagnostics:?}");
    written.ok_or(diagnostics)
}

fn write(out: &Path, charts: &[ChartFiles], replace: bool) -> Result<Changes, Diagnostics> {
    write_with(out, charts, None, replace)
}

fn compare(out: &Path, charts: &[ChartFiles]) -> Option<Comparison> {
    let changes = output::write(out, charts, None, Mode::Check, &mut Diagnostics::new())?;
    Some(changes.differences)
}

fn chart(dir: &str, version: &str, files: &[(&str, &str)]) -> ChartFiles {
    let files = files.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec()));
    ChartFiles { dir: dir.into(), version: version.to_owned(), files: files.collect() }
}

fn lws(version: &str) -> ChartFiles {
    let meta = format!("version: {version}\n");
    let files = [("Chart.yaml", meta.as_str()), ("templates/a.yaml", "a\n"), ("values.yaml", "")];
    chart(&format!("lws/{version}"), version, &files)
}

/// Inode, mode, time of modification, content.
type Look = (u64, u32, (i64, i64), Vec<u8>);

struct Home {
    folder: tempfile::TempDir,
}

impl Home {
    fn new() -> Self {
        Home { folder: tempfile::tempdir().unwrap() }
    }

    fn out(&self) -> PathBuf {
        self.folder.path().join("out")
    }

    fn put(&self, path: &str, text: &str) -> PathBuf {
        let path = self.out().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// Every entry below the home: what it is, and all that a write might change.
    fn everything(&self) -> BTreeMap<PathBuf, Look> {
        let home = self.folder.path();
        let look = |entry: walkdir::DirEntry| {
            let data = entry.metadata().unwrap();
            let content = if data.is_file() { fs::read(entry.path()).unwrap() } else { Vec::new() };
            let path = entry.path().strip_prefix(home).unwrap().to_owned();
            (path, (data.ino(), data.mode(), (data.mtime(), data.mtime_nsec()), content))
        };
        walkdir::WalkDir::new(home).into_iter().map(Result::unwrap).map(look).collect()
    }

    fn write(&self, charts: &[ChartFiles]) -> Changes {
        let written = write(&self.out(), charts, false).unwrap();
        assert_eq!(self.siblings(), ["out"]);
        assert!(compare(&self.out(), charts).unwrap().is_current());
        written
    }

    /// [`Home::everything`] without the times of folders, which change while something is staged.
    fn files(&self) -> BTreeMap<PathBuf, Look> {
        let mut all = self.everything();
        for (path, look) in &mut all {
            if self.folder.path().join(path).is_dir() {
                look.2 = (0, 0);
            }
        }
        all
    }

    /// The refusals; checks that nothing was changed.
    fn refused(&self, charts: &[ChartFiles], replace: bool) -> Diagnostics {
        let before = self.files();
        let problems = write(&self.out(), charts, replace).unwrap_err();
        assert!(problems.has_errors());
        assert!(problems.iter().all(|problem| problem.hint.is_some()), "{problems:?}");
        assert_eq!(self.files(), before);
        problems
    }

    fn siblings(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder.path()).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }
}

fn codes(problems: &Diagnostics) -> Vec<Code> {
    problems.iter().map(|problem| problem.code).collect()
}

fn inode(path: &Path) -> u64 {
    fs::symlink_metadata(path).unwrap().ino()
}

#[test]
fn writes_charts_with_an_ownership_file_that_sha256sum_checks() {
    let home = Home::new();
    let written = home.write(&[lws("1.0.0")]);
    assert_eq!(written.created, [Path::new("lws/1.0.0")]);
    let folder = home.out().join("lws/1.0.0");
    assert_eq!(fs::read_to_string(folder.join("templates/a.yaml")).unwrap(), "a\n");
    for (path, (_, mode, ..)) in home.everything() {
        if path.starts_with("out") {
            let wanted = if home.folder.path().join(&path).is_dir() { 0o755 } else { 0o644 };
            assert_eq!(mode & 0o7777, wanted, "{}", path.display());
        }
    }
    let tool: &[&str] =
        if cfg!(target_os = "linux") { &["sha256sum"] } else { &["shasum", "-a", "256"] };
    let mut check = Command::new(tool[0]);
    check.args(&tool[1..]).args(["--strict", "--check", ".bundle2chart"]).current_dir(&folder);
    let checked = check.output().unwrap();
    assert!(checked.status.success(), "{checked:?}");
    assert_eq!(checked.stderr, b"");
    assert_eq!(String::from_utf8(checked.stdout).unwrap().lines().count(), 3);
}

#[test]
fn touches_nothing_when_nothing_differs() {
    let home = Home::new();
    home.write(&[lws("1.0.0")]);
    let before = home.everything();
    let written = home.write(&[lws("1.0.0")]);
    assert_eq!(written.unchanged, [Path::new("lws/1.0.0")]);
    assert!(written.created.is_empty() && written.updated.is_empty());
    assert_eq!(home.everything(), before);
}

#[test]
fn puts_a_new_version_next_to_the_old_one() {
    let home = Home::new();
    home.write(&[lws("1.0.0")]);
    let old = inode(&home.out().join("lws/1.0.0/templates/a.yaml"));
    let written = home.write(&[lws("1.1.0")]);
    assert_eq!(written.created, [Path::new("lws/1.1.0")]);
    assert_eq!(inode(&home.out().join("lws/1.0.0/templates/a.yaml")), old);
    // An older version of a chart that is configured is neither extra nor an orphan.
    assert_eq!(compare(&home.out(), &[lws("1.1.0")]).unwrap(), Default::default());
}

#[test]
fn refuses_new_content_under_an_old_version_unless_told_to_replace() {
    let home = Home::new();
    home.write(&[lws("1.0.0")]);
    home.put("lws/1.0.0/values.yaml", "by hand\n");
    let mut new = lws("1.0.0");
    new.files.insert("templates/a.yaml".to_owned(), b"b\n".to_vec());
    new.files.insert("templates/b.yaml".to_owned(), b"b\n".to_vec());
    new.files.remove("values.yaml");
    let new = [new];

    let problems = home.refused(&new, false);
    assert_eq!(codes(&problems), [Code::ChartVersionExists]);
    let problem = problems.iter().next().unwrap();
    for part in ["lws/1.0.0", "`templates/a.yaml`, `templates/b.yaml` and `values.yaml`"] {
        assert!(problem.message.contains(part), "{}", problem.message);
    }
    assert!(problem.hint.as_ref().unwrap().contains("chart-version"));
    let related = problem.related.iter().map(|(place, label)| {
        let file = place.file.as_ref().unwrap();
        (file.rsplit("lws/1.0.0/").next().unwrap().to_owned(), label.to_string())
    });
    assert_eq!(
        related.collect::<Vec<_>>(),
        [
            ("templates/a.yaml".to_owned(), "first line that differs".to_owned()),
            ("values.yaml".to_owned(), "edited since bundle2chart wrote it".to_owned()),
        ]
    );

    let chart_yaml = inode(&home.out().join("lws/1.0.0/Chart.yaml"));
    let written = write(&home.out(), &new, true).unwrap();
    assert_eq!(written.updated, [Path::new("lws/1.0.0")]);
    assert!(!home.out().join("lws/1.0.0/values.yaml").exists());
    assert_eq!(inode(&home.out().join("lws/1.0.0/Chart.yaml")), chart_yaml);
    assert_eq!(home.siblings(), ["out"]);
    home.write(&new);
}

/// Of a chart with a version that Git has as it is, another content is another version.
#[test]
fn a_version_that_is_not_committed_may_change_unless_it_was_edited() {
    let home = Home::new();
    let git = |arguments: &[&str]| {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=a", "-c", "user.email=a@example.com"]).args(arguments);
        assert!(git.current_dir(home.folder.path()).status().unwrap().success());
    };
    let with = |text: &str| [chart("lws/1.0.0", "1.0.0", &[("Chart.yaml", ""), ("a", text)])];
    git(&["init", "--quiet"]);
    git(&["commit", "--quiet", "--allow-empty", "--message=a"]);
    write(&home.out(), &with("one"), false).unwrap();
    assert_eq!(write(&home.out(), &with("two"), false).unwrap().updated.len(), 1);
    home.put("lws/1.0.0/a", "edited");
    let codes_of = |text: &str| codes(&write(&home.out(), &with(text), false).unwrap_err());
    assert_eq!(codes_of("three"), [Code::ChartVersionExists]);
    home.put("lws/1.0.0/a", "two");

    git(&["add", "out"]);
    git(&["commit", "--quiet", "--message=b"]);
    assert_eq!(codes_of("three"), [Code::ChartVersionExists]);
    // What Git ignores is released in another way.
    git(&["rm", "-r", "--quiet", "--cached", "out"]);
    home.put("../.gitignore", "out\n");
    git(&["commit", "--quiet", "--message=c"]);
    assert_eq!(codes_of("three"), [Code::ChartVersionExists]);
}

#[test]
fn replaces_another_version_in_a_flat_layout_but_not_edits() {
    let home = Home::new();
    let old = chart("lws", "1.0.0", &[("Chart.yaml", "1.0.0"), ("templates/old.yaml", "a")]);
    let new = [chart("lws", "1.1.0", &[("Chart.yaml", "1.1.0"), ("templates/new.yaml", "a")])];
    home.write(&[old]);
    home.put("lws/templates/old.yaml", "by hand");
    let problems = home.refused(&new, false);
    assert_eq!(codes(&problems), [Code::ChartEdited]);
    assert!(problems.iter().next().unwrap().message.contains("`templates/old.yaml`"));

    home.put("lws/templates/old.yaml", "a");
    assert_eq!(home.write(&new).updated, [Path::new("lws")]);
    assert!(!home.out().join("lws/templates/old.yaml").exists());
}

#[test]
fn restores_deleted_files_but_does_not_undo_edits() {
    let home = Home::new();
    let charts = [lws("1.0.0")];
    home.write(&charts);
    fs::remove_file(home.out().join("lws/1.0.0/values.yaml")).unwrap();
    assert_eq!(home.write(&charts).updated, [Path::new("lws/1.0.0")]);
    home.put("lws/1.0.0/values.yaml", "by hand");
    assert_eq!(codes(&home.refused(&charts, false)), [Code::ChartEdited]);
    write(&home.out(), &charts, true).unwrap();
    home.write(&charts);
}

#[test]
fn never_touches_what_it_does_not_own() {
    let home = Home::new();
    home.put("lws/1.0.0/Chart.yaml", "somebody's chart");
    assert_eq!(codes(&home.refused(&[lws("1.0.0")], true)), [Code::NotOurs]);

    let home = Home::new();
    fs::create_dir_all(home.out()).unwrap();
    symlink(home.folder.path(), home.out().join("lws")).unwrap();
    assert_eq!(codes(&home.refused(&[lws("1.0.0")], true)), [Code::NotOurs]);

    // Both a file that no chart has, and one at a path that only the new chart has.
    let home = Home::new();
    home.write(&[lws("1.0.0")]);
    home.put("lws/1.0.0/templates/mine.yaml", "mine");
    home.put("lws/1.0.0/templates/new.yaml", "mine too");
    let mut new = lws("1.0.0");
    new.files.insert("templates/new.yaml".to_owned(), b"ours".to_vec());
    let problems = home.refused(&[new], true);
    assert_eq!(codes(&problems), [Code::ForeignFile; 2]);
    let mut found = Diagnostics::new();
    let changes = output::write(&home.out(), &[lws("1.0.0")], None, Mode::Check, &mut found);
    assert_eq!(changes.unwrap().updated, [Path::new("lws/1.0.0")]);
    assert!(problems.iter().next().unwrap().message.contains("lws/1.0.0/templates/mine.yaml"));

    // All problems of all charts at once, and the good chart is not written either.
    home.put("other/1.0.0/x", "");
    let other = chart("other/1.0.0", "1.0.0", &[]);
    let good = chart("good/1.0.0", "1.0.0", &[]);
    let problems = home.refused(&[lws("1.0.0"), good, other], false);
    assert_eq!(codes(&problems), [Code::ForeignFile, Code::ForeignFile, Code::NotOurs]);
}

/// Files that `helm dependency build` of Helm 3.17 to 4.3 adds to a chart with a subchart of CRDs.
const LOCK_OF_HELM: &str = "\
dependencies:
- name: crds
  repository: \"\"
  version: 2.3.1
digest: sha256:076985cd364bc56547b7608cb2f448501da5b5b3d28e9ab034a097000e38caa2
generated: \"2026-11-22T05:00:13.810689692Z\"
";

#[test]
fn replaces_and_removes_a_chart_lock_of_helm_and_no_other() {
    let with_lock = |version: &str| {
        let mut chart = lws("1.0.0");
        let lock = chart_lock(&version.parse().unwrap(), false);
        chart.files.insert("Chart.lock".to_owned(), lock.into_bytes());
        chart
    };
    let home = Home::new();
    home.write(&[lws("1.0.0")]);
    let lock = home.put("lws/1.0.0/Chart.lock", LOCK_OF_HELM);
    let found = compare(&home.out(), &[with_lock("2.3.2")]).unwrap();
    assert_eq!((found.foreign.len(), found.stale.len()), (0, 2), "{found:?}");
    write(&home.out(), &[with_lock("2.3.2")], true).unwrap();
    assert!(fs::read_to_string(&lock).unwrap().contains("version: 2.3.2"));

    // A chart that has none any more.
    home.put("lws/1.0.0/Chart.lock", LOCK_OF_HELM);
    let without = lws("1.0.0");
    let written = write(&home.out(), std::slice::from_ref(&without), true).unwrap();
    assert!(!lock.exists(), "{written:?}");
    // Another time, up to the size of any that Helm writes.
    let of_size = |size: usize| {
        let more = "0".repeat(size - LOCK_OF_HELM.len());
        LOCK_OF_HELM.replace("generated: ", &format!("generated: {more}"))
    };
    for text in [LOCK_OF_HELM.to_owned(), of_size(4096)] {
        home.put("lws/1.0.0/Chart.lock", &text);
        home.write(std::slice::from_ref(&without));
        assert!(!lock.exists());
    }
    home.put("lws/1.0.0/Chart.lock", &of_size(4097));
    assert_eq!(codes(&home.refused(std::slice::from_ref(&without), true)), [Code::ForeignFile]);

    // It has a name, and is no link.
    home.put("lws/1.0.0/templates/Chart.lock", LOCK_OF_HELM);
    fs::remove_file(&lock).unwrap();
    symlink("templates/Chart.lock", &lock).unwrap();
    assert_eq!(codes(&home.refused(std::slice::from_ref(&without), true)), [Code::ForeignFile; 2]);
    for path in [&lock, &home.out().join("lws/1.0.0/templates/Chart.lock")] {
        fs::remove_file(path).unwrap();
    }

    // Anything else in it is foreign.
    for (from, to) in [
        ("crds", "widgets"),
        ("sha256:0", "sha256:1"),
        ("\"\"", "https://charts.example.com"),
        ("generated", "# generated"),
    ] {
        home.put("lws/1.0.0/Chart.lock", &LOCK_OF_HELM.replacen(from, to, 1));
        let problems = home.refused(std::slice::from_ref(&without), true);
        assert_eq!(codes(&problems), [Code::ForeignFile], "{from}");
        assert_eq!(codes(&home.refused(&[with_lock("2.3.1")], true)), [Code::ForeignFile]);
    }
}

#[test]
fn refuses_a_damaged_ownership_file() {
    let home = Home::new();
    home.write(&[lws("1.0.0")]);
    let marker = home.out().join("lws/1.0.0/.bundle2chart");
    let text = fs::read_to_string(&marker).unwrap();
    fs::write(&marker, format!("{text}<<<<<<< HEAD\n")).unwrap();
    let problems = home.refused(&[lws("1.0.0")], true);
    assert_eq!(codes(&problems), [Code::OwnershipFile]);
    assert_eq!(problems.iter().next().unwrap().place.line, Some(6));

    // The one of the deployment files has no version.
    fs::write(&marker, text.lines().skip(2).collect::<Vec<_>>().join("\n")).unwrap();
    let problems = home.refused(&[lws("1.0.0")], true);
    assert_eq!(codes(&problems), [Code::OwnershipFile]);
    assert_eq!(problems.iter().next().unwrap().place.line, Some(1));
}

#[test]
fn a_link_is_no_file_of_a_chart_whatever_its_target_has() {
    let home = Home::new();
    let target = "../../../target";
    let same_size = "0".repeat(target.len());
    let charts = [chart("lws/1.0.0", "1.0.0", &[("file", &same_size)])];
    home.write(&charts);
    let file = home.out().join("lws/1.0.0/file");
    fs::rename(&file, home.folder.path().join("target")).unwrap();
    symlink(target, &file).unwrap();
    assert_eq!(codes(&home.refused(&charts, false)), [Code::ChartEdited]);
}

#[test]
fn refuses_to_mix_layouts() {
    let home = Home::new();
    home.write(&[lws("1.0.0")]);
    let flat = chart("lws", "1.0.0", &[("Chart.yaml", "")]);
    assert_eq!(codes(&home.refused(std::slice::from_ref(&flat), true)), [Code::LayoutChanged]);
    let home = Home::new();
    home.write(&[flat]);
    assert_eq!(codes(&home.refused(&[lws("1.0.0")], true)), [Code::LayoutChanged]);
}

#[test]
fn keeps_everything_else_in_the_output_folder_as_it_is() {
    let home = Home::new();
    home.write(&[lws("1.0.0")]);
    let script = home.put("tools/deep/run.sh", "#!/bin/sh\n");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o4751)).unwrap();
    home.put("lws/notes.txt", "next to the versions");
    symlink("nowhere/at/all", home.out().join("dangling")).unwrap();
    fs::create_dir(home.out().join("empty")).unwrap();
    // A read-only folder, which can be neither filled nor emptied as it is.
    let sealed = home.put("sealed/file", "x").parent().unwrap().to_owned();
    fs::set_permissions(&sealed, fs::Permissions::from_mode(0o555)).unwrap();
    let before = home.everything();
    home.write(&[lws("1.1.0")]);
    let after = home.everything();
    for (path, (ino, mode, mtime, content)) in &before {
        let (now_ino, now_mode, now_mtime, now_content) = &after[path];
        assert_eq!((now_mode, now_content), (mode, content), "{}", path.display());
        if mode & 0o170_000 == 0o100_000 {
            assert_eq!((now_ino, now_mtime), (ino, mtime), "{}", path.display());
        }
    }
    assert_eq!(fs::read_link(home.out().join("dangling")).unwrap(), Path::new("nowhere/at/all"));
    fs::set_permissions(&sealed, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn leaves_what_is_neither_a_file_nor_a_folder_where_it_is() {
    let home = Home::new();
    let other = [chart("other/1.0.0", "1.0.0", &[])];
    home.write(&[lws("1.0.0")]);
    let socket = std::os::unix::net::UnixListener::bind(home.out().join("socket")).unwrap();
    let before = inode(&home.out().join("socket"));
    home.write(&other);
    assert_eq!(inode(&home.out().join("socket")), before);
    drop(socket);

    let file = home.put("file", "");
    let problems = write(&file, &other, false).unwrap_err();
    assert_eq!(codes(&problems), [Code::OutputUnsuitable]);
}

#[test]
fn follows_a_link_to_the_output_folder() {
    let home = Home::new();
    home.write(&[lws("1.0.0")]);
    let link = home.folder.path().join("link");
    symlink("out", &link).unwrap();
    for path in [link.clone(), link.join(""), link.join(".")] {
        let version = format!("2.0.{}", path.as_os_str().len());
        write(&path, &[lws(&version)], false).unwrap();
        assert!(home.out().join("lws").join(version).is_dir());
    }
    assert_eq!(fs::read_link(&link).unwrap(), Path::new("out"));
    assert_eq!(home.siblings().len(), 2);
}

#[test]
fn lists_differences_sorted() {
    let home = Home::new();
    let all = |c: &Comparison| {
        let show = |list: &[PathBuf]| -> Vec<String> {
            list.iter().map(|path| path.display().to_string()).collect()
        };
        [&c.missing, &c.stale, &c.extra, &c.foreign].map(|list| show(list))
    };
    let charts = [lws("2.0.0"), chart("a/1.0.0", "1.0.0", &[("x", "x")])];
    let fresh = compare(&home.out(), &charts).unwrap();
    assert!(!home.out().exists());
    assert_eq!(
        all(&fresh)[0],
        [
            "a/1.0.0/.bundle2chart",
            "a/1.0.0/x",
            "lws/2.0.0/.bundle2chart",
            "lws/2.0.0/Chart.yaml",
            "lws/2.0.0/templates/a.yaml",
            "lws/2.0.0/values.yaml",
        ]
    );

    home.write(&[lws("1.0.0"), chart("gone/0.1.0", "0.1.0", &[]), chart("flat", "1.0.0", &[])]);
    home.write(&charts);
    home.put("lws/2.0.0/templates/mine", "");
    home.put("lws/2.0.0/templates/a.yaml", "b\n");
    home.put("notes.txt", "elsewhere");
    let mut new = lws("2.0.0");
    new.files.remove("values.yaml");
    new.files.insert("README.md".to_owned(), Vec::new());
    let found = compare(&home.out(), &[new, charts[1].clone()]).unwrap();
    let wanted: [&[&str]; 4] = [
        &["lws/2.0.0/README.md"],
        &["lws/2.0.0/.bundle2chart", "lws/2.0.0/templates/a.yaml"],
        &["lws/2.0.0/values.yaml"],
        &["lws/2.0.0/templates/mine"],
    ];
    assert_eq!(
        all(&found),
        wanted.map(|list| list.iter().map(|p| (*p).to_owned()).collect::<Vec<_>>())
    );
    assert!(!found.is_current());
    let mut warnings = Diagnostics::new();
    let dirs = ["a/1.0.0", "lws/2.0.0"].map(Path::new);
    report_orphans(&home.out(), &dirs, false, &mut warnings).unwrap();
    assert_eq!(codes(&warnings), [Code::OrphanChart; 2]);
    assert!(!warnings.has_errors());
}

#[test]
fn recovers_what_a_killed_build_left() {
    let home = Home::new();
    let stage = home.out().join(".bundle2chart-stage");
    home.write(&[lws("1.0.0")]);
    home.put("notes.txt", "keep");
    let notes = inode(&home.out().join("notes.txt"));

    // Killed between the two moves of a chart: nothing is at its place.
    fs::create_dir_all(stage.join("old/lws")).unwrap();
    fs::rename(home.out().join("lws/1.0.0"), stage.join("old/lws/1.0.0")).unwrap();
    home.put(".bundle2chart-lock", "");
    let found = compare(&home.out(), &[lws("1.0.0")]).unwrap();
    assert_eq!(found.missing.len(), 4);
    assert!(!home.out().join("lws/1.0.0").exists(), "comparing only reads");
    assert_eq!(home.write(&[lws("1.0.0")]).unchanged, [Path::new("lws/1.0.0")]);

    // Killed while a chart was staged, or while the old one was removed.
    home.put(".bundle2chart-stage/new/lws/1.0.0/templates/a.yaml", "half");
    fs::set_permissions(stage.join("new/lws/1.0.0"), fs::Permissions::from_mode(0o500)).unwrap();
    home.write(&[lws("1.0.0")]);
    assert!(!stage.exists());
    home.put(".bundle2chart-stage/old/lws/1.0.0/.bundle2chart", "");
    home.write(&[lws("1.1.0")]);
    assert!(!stage.exists());
    // Killed when it had the lock, or just before it returned it.
    for path in [".bundle2chart-lock", ".bundle2chart-stage/new/file"] {
        let left = home.put(path, "");
        home.write(&[lws("1.1.0")]);
        assert!(!left.exists() && !stage.exists());
    }
    assert_eq!(inode(&home.out().join("notes.txt")), notes);
}

#[test]
fn completes_the_deployment_files_after_a_kill() {
    let home = Home::new();
    let deployment = |text: &str, more: &[&str]| -> DeploymentFiles {
        let paths = ["all.yaml", "folder/part.yaml"].iter().chain(more);
        paths.map(|path| ((*path).to_owned(), text.into())).collect()
    };
    let write = |files| write_with(&home.out(), &[lws("1.0.0")], Some(&files), false).unwrap();
    let written = write(deployment("old", &["gone/away.yaml"]));
    let all = ["all.yaml", "folder/part.yaml", "gone/away.yaml"].map(PathBuf::from);
    assert_eq!(written.deployment_files, all);
    home.put("all.yaml", "edited");
    let files = deployment("old", &["gone/away.yaml"]);
    write_with(&home.out(), &[lws("1.0.0")], Some(&files), true).unwrap();
    assert_eq!(fs::read_to_string(home.out().join("all.yaml")).unwrap(), "old");
    let other = Home::new();
    write_with(&other.out(), &[lws("1.0.0")], Some(&deployment("new", &[])), false).unwrap();

    // Killed when the first of the new files was in its place.
    home.put("all.yaml", "new");
    for path in ["folder/part.yaml", ".bundle2chart"] {
        let text = fs::read_to_string(other.out().join(path)).unwrap();
        home.put(&format!(".bundle2chart-stage/ready/{path}"), &text);
    }
    assert!(write(deployment("new", &[])).deployment_files.is_empty());
    let text = |path: &str| fs::read_to_string(home.out().join(path)).unwrap();
    assert_eq!([text("all.yaml"), text("folder/part.yaml")], ["new", "new"]);
    assert!(!home.out().join("gone").exists());
    assert!(!home.out().join(".bundle2chart-stage").exists());
}

#[test]
fn a_build_that_is_not_finished_leaves_nothing() {
    let home = Home::new();
    let mut found = Diagnostics::new();
    let build = OutputDirectory::open(&home.out(), WRITE, &mut found).unwrap();
    assert_eq!(build.stage(&lws("1.0.0"), &mut found).unwrap().change, Change::Created);
    assert!(home.out().exists());
    drop(build);
    assert!(!home.out().exists());

    home.write(&[lws("1.0.0")]);
    let before = home.files();
    let mut found = Diagnostics::new();
    let build = OutputDirectory::open(&home.out(), WRITE, &mut found).unwrap();
    build.stage(&lws("1.1.0"), &mut found).unwrap();
    drop(build);
    assert_eq!(home.files(), before);
}

#[test]
fn versions_that_are_no_longer_kept_are_removed_also_if_no_chart_changes() {
    let home = Home::new();
    home.write(&[lws("1.0.0"), chart("gone/1.0.0", "1.0.0", &[])]);
    home.write(&[lws("1.1.0")]);
    let outdated = ["lws/1.0.0", "gone/1.0.0"].map(PathBuf::from);
    let finish = |mode| {
        let mut found = Diagnostics::new();
        let build = OutputDirectory::open(&home.out(), mode, &mut found).unwrap();
        let staged = build.stage(&lws("1.1.0"), &mut found).unwrap();
        build.finish(&[staged], &outdated, None, &mut found).unwrap()
    };
    let found = finish(Mode::Check);
    assert_eq!(found.differences.extra, outdated);
    assert!(home.out().join("lws/1.0.0").exists());
    assert_eq!(finish(WRITE).removed, outdated);
    assert!(home.out().join("lws/1.1.0").exists());
    assert!(!home.out().join("lws/1.0.0").exists() && !home.out().join("gone").exists());
}

#[test]
fn a_chart_that_another_build_changed_meanwhile_is_no_longer_unchanged() {
    let home = Home::new();
    home.write(&[lws("1.0.0")]);
    let mut found = Diagnostics::new();
    let build = OutputDirectory::open(&home.out(), WRITE, &mut found).unwrap();
    let mut staged = vec![build.stage(&lws("1.0.0"), &mut found).unwrap()];
    assert_eq!(staged[0].change, Change::Unchanged);
    let mut other = lws("1.0.0");
    other.files.insert("values.yaml".to_owned(), b"other\n".to_vec());
    write(&home.out(), &[other], true).unwrap();
    staged.push(build.stage(&lws("1.1.0"), &mut found).unwrap());
    assert_eq!(build.finish(&staged, &[], None, &mut found), None);
    assert_eq!(codes(&found), [Code::OutputBusy]);
    assert!(!home.out().join("lws/1.1.0").exists());
}

#[test]
fn one_build_at_a_time() {
    let home = Home::new();
    home.write(&[lws("1.0.0")]);
    let lock = home.out().join(".bundle2chart-lock");
    let held = fs::File::create(&lock).unwrap();
    held.lock().unwrap();
    assert_eq!(codes(&home.refused(&[lws("1.1.0")], false)), [Code::OutputBusy]);
    drop(held);
    home.write(&[lws("1.1.0")]);
}

#[test]
fn concurrent_builds_write_one_whole_tree() {
    let home = Home::new();
    let build = |content: &str| {
        let files: Vec<_> = ["a", "b/c", "d/e/f"].iter().map(|path| (*path, content)).collect();
        chart("lws/1.0.0", "1.0.0", &files)
    };
    std::thread::scope(|scope| {
        for content in ["A", "B", "C", "D"] {
            let (home, chart) = (&home, [build(content)]);
            scope.spawn(move || {
                for _ in 0..20 {
                    if let Err(problems) = write(&home.out(), &chart, true) {
                        assert_eq!(codes(&problems), [Code::OutputBusy]);
                    }
                }
            });
        }
    });
    let whole = |content| compare(&home.out(), &[build(content)]).unwrap().is_current();
    assert_eq!(["A", "B", "C", "D"].into_iter().filter(|content| whole(content)).count(), 1);
    assert_eq!(home.siblings(), ["out"]);
}

#[test]
fn refuses_paths_that_lead_elsewhere() {
    let out = Path::new("/nonexistent");
    let with = |path: &str| chart("a/1", "1", &[(path, "")]);
    for bad in
        ["", "/etc/x", "../x", "a/../x", "a//x", "./x", "a/", "a\nb", "a\\b", ".bundle2chart"]
    {
        let problems = write(out, &[with(bad)], true).unwrap_err();
        assert_eq!(codes(&problems), [Code::ChartPath], "{bad}");
    }
    for bad in ["", "/a", "../a", "a/..", "a/./b", "."] {
        let problems = write(out, &[chart(bad, "1", &[])], true).unwrap_err();
        assert_eq!(codes(&problems), [Code::ChartPath], "{bad}");
    }
    let both = chart("a", "1", &[("x", ""), ("x/y", "")]);
    assert_eq!(codes(&write(out, &[both], true).unwrap_err()), [Code::ChartPath]);
    let nested = [chart("a", "1", &[]), chart("a/1", "1", &[])];
    assert_eq!(codes(&write(out, &nested, true).unwrap_err()), [Code::ChartPath]);
    let twice = [chart("a", "1", &[]), chart("a", "1", &[])];
    assert_eq!(codes(&write(out, &twice, true).unwrap_err()), [Code::ChartPath]);
    assert_eq!(codes(&write(out, &[chart("a", "1\n", &[])], true).unwrap_err()), [Code::ChartPath]);

    // Staged one by one.
    let home = Home::new();
    let mut found = Diagnostics::new();
    let build = OutputDirectory::open(&home.out(), WRITE, &mut found).unwrap();
    let staged = nested.map(|chart| build.stage(&chart, &mut found).unwrap());
    assert_eq!(build.finish(&staged, &[], None, &mut found), None);
    assert_eq!(codes(&found), [Code::ChartPath]);
    assert!(!home.out().exists());
}
