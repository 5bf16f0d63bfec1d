#![expect(clippy::disallowed_methods, reason = "tests write an output directory")]

use super::*;
use crate::output::ownership::FILE_NAME;
use std::fs;

#[test]
fn charts_of_other_names_are_orphans() {
    let home = tempfile::tempdir().unwrap();
    let out = home.path().join("out");
    let lamp = [Path::new("lamp/1.1.0")];
    assert_eq!(orphans(&out, &lamp, false).unwrap(), [] as [PathBuf; 0]);

    let mut expected = Vec::new();
    let numbers: Vec<String> = (10..30).rev().map(|number| format!("n{number}")).collect();
    for (chart, is_orphan) in numbers.iter().map(|name| (name.as_str(), true)).chain([
        ("gone/1.0.0", true),
        // A version with the name of a chart.
        ("gone/lamp", true),
        ("flat", true),
        ("flat/1.0.0", false),
        // An older version.
        ("lamp/1.0.0", false),
        // No chart of bundle2chart is there.
        ("deep/er/1.0.0", false),
        // Not a chart but a build that was interrupted.
        (".bundle2chart-stage/ready", false),
    ]) {
        fs::create_dir_all(out.join(chart)).unwrap();
        fs::write(out.join(chart).join(FILE_NAME), "").unwrap();
        expected.extend(is_orphan.then(|| PathBuf::from(chart)));
    }
    fs::create_dir_all(out.join("other/1.0.0")).unwrap();
    std::os::unix::fs::symlink("flat", out.join("link")).unwrap();
    expected.sort();
    assert_eq!(orphans(&out, &lamp, false).unwrap(), expected);
    let other = ["deep", "other"].map(PathBuf::from);
    expected =
        expected.into_iter().map(|path| path.iter().next().unwrap().into()).chain(other).collect();
    expected.sort();
    expected.dedup();
    assert_eq!(orphans(&out, &lamp, true).unwrap(), expected);
}
