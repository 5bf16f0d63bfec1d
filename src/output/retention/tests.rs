#![expect(clippy::disallowed_methods, reason = "tests write an output directory")]

use super::*;
use crate::output::{ChartFiles, Mode, write};
use std::fs;

/// An output directory with these versions of a chart.
fn output(versions: &[&str]) -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    let chart = |version: &&str| ChartFiles {
        dir: Path::new("lamp").join(version),
        version: (*version).to_owned(),
        files: ["Chart.yaml", "a"].map(|path| (path.to_owned(), Vec::new())).into(),
    };
    let charts: Vec<ChartFiles> = versions.iter().map(chart).collect();
    let mode = Mode::Write { replace: false };
    write(&home.path().join("out"), &charts, None, mode, &mut Diagnostics::new()).unwrap();
    home
}

#[test]
fn the_newest_earlier_versions_are_kept() {
    let home = output(&["1.0.0", "1.1.0", "1.2.0", "next"]);
    let out = home.path().join("out");
    let removed = |dir: &str, version: &str, keep: Option<u32>| -> Vec<String> {
        let mut found = Diagnostics::new();
        let removed = outdated(&out, Path::new(dir), version, keep, &mut found);
        assert!(found.is_empty(), "{found:?}");
        removed.iter().map(|dir| dir.display().to_string()).collect()
    };
    let all = ["lamp/1.2.0", "lamp/1.1.0", "lamp/1.0.0"];
    for (dir, version, keep, expected) in [
        ("lamp/1.3.0", "1.3.0", None, &[] as &[&str]),
        ("lamp/1.3.0", "1.3.0", Some(u32::MAX), &[]),
        ("lamp/1.3.0", "1.3.0", Some(4), &[]),
        ("lamp/1.3.0", "1.3.0", Some(3), &all[2..]),
        ("lamp/1.3.0", "1.3.0", Some(1), &all),
        ("lamp/1.3.0", "1.3.0", Some(0), &all),
        ("lamp/1.1.0", "1.1.0", Some(1), &all[2..]),
        // One version per chart, and a version that has no order.
        ("lamp", "1.3.0", Some(1), &[]),
        ("lamp/nightly", "nightly", Some(1), &[]),
    ] {
        assert_eq!(removed(dir, version, keep), expected, "{dir} {keep:?}");
    }
}

#[test]
fn directories_with_other_files_are_kept_with_a_warning() {
    let marker = ownership::FILE_NAME;
    for (path, content, reason) in [
        ("mine", Some(""), Some("`mine` in it was not written by bundle2chart")),
        ("a", Some("edited"), Some("`a` in it was not written by bundle2chart")),
        (marker, Some("<<<<<<<"), Some("`.bundle2chart` in it was not written by bundle2chart")),
        (marker, None, None),
        // Of Helm.
        (CHART_LOCK, Some(""), None),
    ] {
        let home = output(&["1.0.0"]);
        let out = home.path().join("out");
        let file = out.join("lamp/1.0.0").join(path);
        match content {
            Some(content) => fs::write(file, content).unwrap(),
            None => fs::remove_file(file).unwrap(),
        }
        let mut found = Diagnostics::new();
        let removed = outdated(&out, Path::new("lamp/2.0.0"), "2.0.0", Some(1), &mut found);
        let shown = out.join("lamp/1.0.0").display().to_string();
        let expected = reason.map(|reason| {
            let message = format!("`{shown}` is not removed: {reason}");
            Diagnostic::warning(Code::ForeignFile, message)
                .at(Place::file(&shown))
                .hint("move the file away, or delete the directory")
        });
        assert_eq!(found.iter().next(), expected.as_ref(), "{path}");
        // Without the ownership file it is no chart of bundle2chart, and not looked at.
        let is_removed = expected.is_none() && content.is_some();
        assert_eq!(removed.len(), usize::from(is_removed), "{path}");
    }
}
