#![expect(clippy::disallowed_methods, reason = "tests write an output directory")]

use super::*;

#[test]
fn charts_are_named_as_a_shell_completes_them() {
    for (text, expected) in [
        ("lamp", ("lamp", None)),
        ("lamp/", ("lamp", None)),
        ("lamp@1.0.0", ("lamp", Some("1.0.0"))),
        ("lamp/1.0.0/", ("lamp", Some("1.0.0"))),
        ("out/lamp/", ("lamp", None)),
        ("out/lamp/1.0.0", ("lamp", Some("1.0.0"))),
    ] {
        let ChartName { name, version } = ChartName::parse(text, Path::new("out"));
        assert_eq!((name, version), expected, "{text}");
    }
}

/// An output directory with these files.
fn output(files: &[&str]) -> tempfile::TempDir {
    let out = tempfile::tempdir().unwrap();
    for file in files {
        let path = out.path().join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "apiVersion: v2\nname: lamp\nversion: 1.2.0\n").unwrap();
    }
    out
}

#[test]
fn versions_are_directories_with_a_chart() {
    let files = [
        "lamp/1.2.0/Chart.yaml",
        "lamp/1.10.0/Chart.yaml",
        "lamp/1.10.0/charts/crds/Chart.yaml",
        "lamp/notes/README.md",
        "flat/Chart.yaml",
    ];
    let out = output(&files);
    let on_disk = |name: &str| {
        let mut found = versions_on_disk(out.path(), name).unwrap();
        found.sort();
        found
    };
    let pair = |folder: &str, version: &str| (folder.to_owned(), version.to_owned());
    let lamps = [pair("lamp/1.10.0", "1.10.0"), pair("lamp/1.2.0", "1.2.0")];
    assert_eq!(on_disk("lamp"), lamps);
    assert_eq!(on_disk("flat"), [pair("flat", "1.2.0")]);
    assert_eq!(on_disk("none"), []);

    let metadata = || b"apiVersion: v2\nname: lamp\nversion: 1.2.0\n".to_vec();
    let tree: ChartTree = files.iter().map(|path| ((*path).to_owned(), metadata())).collect();
    assert_eq!(versions_in(&tree, "lamp"), lamps);
    assert_eq!(versions_in(&tree, "flat"), [pair("flat", "1.2.0")]);
    assert_eq!(versions_in(&tree, "none"), []);
    assert_eq!(versions_in_paths(tree.keys(), "lamp"), lamps);
    assert_eq!(versions_in_paths(tree.keys(), "flat"), []);
}

#[test]
fn older_versions_are_of_bundle2chart_and_sorted_from_the_newest() {
    let charts = ["lamp/1.2.0", "lamp/1.10.0", "lamp/1.3.0", "lamp/2.0.0", "lamp/next", "flat"];
    let files =
        charts.map(|chart| [format!("{chart}/Chart.yaml"), format!("{chart}/.bundle2chart")]);
    let mut files: Vec<&str> = files.iter().flatten().map(String::as_str).collect();
    files.extend(["lamp/1.1.0/Chart.yaml", "lamp/1.0.0/.bundle2chart"]);
    let out = output(&files);
    let older = |dir: &str, version: &str| -> Vec<String> {
        let found = older(out.path(), Path::new(dir), version).unwrap();
        found.into_iter().map(|(folder, _)| folder).collect()
    };
    let next = "lamp/next";
    assert_eq!(older("lamp/2.0.0", "2.0.0"), ["lamp/1.10.0", "lamp/1.3.0", "lamp/1.2.0", next]);
    assert_eq!(older("lamp/1.3.0", "1.3.0"), ["lamp/1.2.0", next]);
    // Its own directory is not older, even if the chart there gets a higher version.
    assert_eq!(older("lamp/1.2.0", "1.2.1"), [next]);
    // The one that is replaced.
    assert_eq!(older("flat", "1.3.0"), [""; 0]);
    // The layout was flat before, or versioned.
    assert_eq!(older("flat/1.3.0", "1.3.0"), ["flat"]);
    assert_eq!(older("lamp", "1.2.1"), ["lamp/1.2.0", next]);
}

#[test]
fn a_chart_that_is_missing_is_reported_with_its_versions() {
    let versions =
        ["1.2.0", "1.10.0"].map(|version| (format!("lamp/{version}"), version.to_owned()));
    let picked = |version: Option<&str>, versions: &[(String, String)]| {
        let picked = pick("lamp", version, versions).map(|(folder, _)| folder);
        picked.map_err(|found| (found.message, found.hint.unwrap()))
    };
    assert_eq!(picked(None, &versions), Ok("lamp/1.10.0".to_owned()));
    assert_eq!(picked(Some("1.2.0"), &versions), Ok("lamp/1.2.0".to_owned()));

    let missing = |message: &str, hint: &str| Err((message.to_owned(), hint.to_owned()));
    let other = "version 3.0.0 of chart `lamp` not found";
    let known = missing(other, "write `lamp@1.2.0` or `lamp@1.10.0`");
    assert_eq!(picked(Some("3.0.0"), &versions), known);
    let build = "build it first, or pass another chart";
    assert_eq!(picked(Some("3.0.0"), &[]), missing(other, build));
    assert_eq!(picked(None, &[]), missing("chart `lamp` not found", build));
}
