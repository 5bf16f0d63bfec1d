#![expect(clippy::disallowed_methods, reason = "tests write an output directory")]

use super::*;
use crate::output::ownership::FILE_NAME;
use std::fs;

/// A comparison with one path in one of its lists.
fn with(list: fn(&mut Comparison) -> &mut Vec<PathBuf>) -> Comparison {
    let mut comparison = Comparison::default();
    list(&mut comparison).push(PathBuf::from("b"));
    comparison
}

#[test]
fn every_list_but_orphans_is_a_difference() {
    assert!(Comparison::default().is_current());
    assert!(with(|it| &mut it.orphans).is_current());
    let lists: [fn(&mut Comparison) -> &mut Vec<PathBuf>; 4] =
        [|it| &mut it.missing, |it| &mut it.stale, |it| &mut it.extra, |it| &mut it.foreign];
    for list in lists {
        let mut comparison = with(list);
        assert!(!comparison.is_current());

        let mut more = with(list);
        *list(&mut more) = vec![PathBuf::from("a"), PathBuf::from("c")];
        comparison.append(Comparison { needs_replace: true, ..more });
        assert_eq!(list(&mut comparison).as_slice(), ["a", "b", "c"].map(PathBuf::from));
        assert!(comparison.needs_replace);
        comparison.append(Comparison::default());
        assert!(comparison.needs_replace);
    }
}

#[test]
fn charts_of_other_names_are_orphans() {
    let home = tempfile::tempdir().unwrap();
    let out = home.path().join("out");
    let lamp = [Path::new("lamp/1.1.0")];
    assert_eq!(orphans(&out, &lamp).unwrap(), [] as [PathBuf; 0]);

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
    assert_eq!(orphans(&out, &lamp).unwrap(), expected);
}
