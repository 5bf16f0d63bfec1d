//! Every reason for which nothing is written, as a user reads it.

use super::{Home, WRITE, chart, codes, lws, write_with};
use bundle2chart::diag::{Diagnostics, human};
use bundle2chart::output::{self, DeploymentFiles, Mode, OutputDirectory, report_orphans};
use std::fs;

/// Deployment files with the same content.
fn deployment(paths: &[&str]) -> DeploymentFiles {
    paths.iter().map(|path| ((*path).to_owned(), b"new\n".to_vec())).collect()
}

/// A situation, and what a build of it reports.
type Row = (&'static str, fn(&Home) -> Diagnostics);

/// Builds the chart lws 1.0.0.
fn build(home: &Home) -> Diagnostics {
    home.refused(&[lws("1.0.0")], false)
}

/// Builds the chart lws 1.0.0 with these deployment files.
fn build_with(home: &Home, paths: &[&str]) -> Diagnostics {
    write_with(&home.out(), &[lws("1.0.0")], Some(&deployment(paths)), false).unwrap_err()
}

const CHARTS: &[Row] = &[
    ("files of others", |home| {
        home.put("lws/1.0.0/Chart.yaml", "name: lws\n");
        build(home)
    }),
    ("a file has the path of the chart", |home| {
        home.put("lws/1.0.0", "");
        build(home)
    }),
    ("a file has the path of a parent", |home| {
        home.put("lws", "");
        build(home)
    }),
    ("an ownership file with a merge conflict", |home| {
        home.write(&[lws("1.0.0")]);
        home.put("lws/1.0.0/.bundle2chart", "# chart version: 1.0.0\n<<<<<<< ours\n");
        build(home)
    }),
    ("an ownership file that is not UTF-8", |home| {
        home.write(&[lws("1.0.0")]);
        fs::write(home.out().join("lws/1.0.0/.bundle2chart"), b"#\n\xff\n").unwrap();
        build(home)
    }),
    ("a directory has the path of the ownership file", |home| {
        home.put("lws/1.0.0/.bundle2chart/file", "");
        build(home)
    }),
    ("a file of others in a chart", |home| {
        home.write(&[lws("1.0.0")]);
        home.put("lws/1.0.0/templates/mine.yaml", "");
        build(home)
    }),
    ("another chart with the same version, a document first", |home| {
        let many: Vec<String> = (1..=6).map(|n| format!("templates/{n}.yaml")).collect();
        let with = |text: &str| {
            let mut chart = lws("1.0.0");
            let paths = many.iter().map(String::as_str).chain(["README.md"]);
            chart.files.extend(paths.map(|path| (path.to_owned(), text.as_bytes().to_vec())));
            chart
        };
        home.write(&[with("one\ntwo\nthree\n")]);
        home.refused(&[with("one\ntwo\n3\n")], false)
    }),
    ("another chart with the same version, only a document", |home| {
        let with = |text: &str| chart("lws/1.0.0", "1.0.0", &[("README.md", text)]);
        home.write(&[with("one\n")]);
        home.refused(&[with("two\n")], false)
    }),
    ("only the ownership file differs", |home| {
        home.write(&[lws("1.0.0")]);
        let marker = home.out().join("lws/1.0.0/.bundle2chart");
        let text = fs::read_to_string(&marker).unwrap();
        fs::write(&marker, text.replace("templates/a.yaml", "templates/b.yaml")).unwrap();
        build(home)
    }),
    ("an edited chart", |home| {
        home.write(&[lws("1.0.0")]);
        home.put("lws/1.0.0/values.yaml", "replicas: 2\n");
        build(home)
    }),
    ("an edited file that the next version has as well", |home| {
        let version = |version: &str| chart("lws", version, &[("a", version), ("same", "")]);
        home.write(&[version("1.0.0")]);
        home.put("lws/same", "edited");
        home.refused(&[version("2.0.0")], false)
    }),
    ("the layout was flat", |home| {
        home.write(&[chart("lws", "1.0.0", &[("Chart.yaml", "")])]);
        build(home)
    }),
    ("the layout was versioned", |home| {
        home.write(&[lws("1.0.0")]);
        home.refused(&[chart("lws", "1.0.0", &[("Chart.yaml", "")])], false)
    }),
    ("the output directory is a file", |home| {
        home.put("file", "");
        output_write(home, "file")
    }),
    ("the output directory is below a file", |home| {
        home.put("file", "");
        output_write(home, "file/out")
    }),
    ("another build is running", |home| {
        home.put("file", "");
        let held = fs::File::create(home.out().join(".bundle2chart-lock")).unwrap();
        held.lock().unwrap();
        build(home)
    }),
    ("another build has ended meanwhile", |home| {
        home.write(&[lws("1.0.0")]);
        let mut found = Diagnostics::new();
        let build = OutputDirectory::open(&home.out(), WRITE, &mut found).unwrap();
        let mut staged = vec![build.stage(&lws("1.0.0"), &mut found).unwrap()];
        home.put("lws/1.0.0/.bundle2chart", "# chart version: 1.0.0\n");
        staged.push(build.stage(&lws("1.1.0"), &mut found).unwrap());
        assert_eq!(build.finish(&staged, &[], None, &mut found), None);
        found
    }),
];

/// Builds the chart into another directory.
fn output_write(home: &Home, path: &str) -> Diagnostics {
    super::write(&home.out().join(path), &[lws("1.0.0")], false).unwrap_err()
}

const DEPLOYMENT: &[Row] = &[
    ("a file of others", |home| {
        home.put("helmfile.yaml", "");
        build_with(home, &["helmfile.yaml"])
    }),
    ("a file of others has the path of a directory", |home| {
        home.put("flux", "");
        build_with(home, &["flux/all.yaml"])
    }),
    ("an ownership file that is damaged", |home| {
        home.put(".bundle2chart", "#\n#\nhelmfile.yaml\n");
        build_with(home, &["helmfile.yaml"])
    }),
    ("the same with --check", |home| {
        home.put(".bundle2chart", "helmfile.yaml\n");
        let mut found = Diagnostics::new();
        let files = deployment(&["helmfile.yaml"]);
        let written =
            output::write(&home.out(), &[lws("1.0.0")], Some(&files), Mode::Check, &mut found);
        assert_eq!(written, None);
        found
    }),
    ("edited files, one of which is no longer written", |home| {
        write_with(&home.out(), &[], Some(&deployment(&["a.yaml", "b.yaml"])), false).unwrap();
        home.put("a.yaml", "edited");
        home.put("b.yaml", "edited");
        build_with(home, &["a.yaml"])
    }),
    ("paths that lead elsewhere, or conflict", |home| {
        let paths =
            ["../a.yaml", "a/b", "a/b/c", "lws", "lws/1.0.0", "lws/1.0.0/templates/new.yaml"];
        build_with(home, &paths)
    }),
];

const PATHS: &[Row] = &[
    ("of charts", |home| {
        let mut found = Diagnostics::new();
        for (dir, version) in [("../lws", "1.0.0"), ("lws/1.0.0", "1.0.0\n")] {
            let charts = [chart(dir, version, &[("a//b", ""), ("c", ""), ("c/d", "")])];
            found.append(super::write(&home.out(), &charts, false).unwrap_err());
        }
        found
    }),
    ("of several charts", |home| {
        let dirs = ["lws", "lws", "lws/1.0.0", "other/1.0.0/charts/crds", "other"];
        let charts = dirs.map(|dir| chart(dir, "1.0.0", &[]));
        super::write(&home.out(), &charts, false).unwrap_err()
    }),
];

const WARNINGS: &[Row] = &[
    ("orphans", |home| {
        home.write(&[lws("1.0.0"), chart("flat", "1.0.0", &[])]);
        let mut found = Diagnostics::new();
        report_orphans(&home.out(), &[], false, &mut found).unwrap();
        report_orphans(&home.out(), &[], true, &mut found).unwrap();
        found
    }),
    ("a file that was added while its directory became a file", |home| {
        home.write(&[lws("1.0.0")]);
        let mut found = Diagnostics::new();
        let replace = Mode::Write { replace: true };
        let build = OutputDirectory::open(&home.out(), replace, &mut found).unwrap();
        let new = chart("lws/1.0.0", "1.0.0", &[("templates", "")]);
        let staged = build.stage(&new, &mut found).unwrap();
        home.put("lws/1.0.0/templates/mine.yaml", "");
        assert!(build.finish(&[staged], &[], None, &mut found).is_some());
        found
    }),
];

#[test]
fn messages_name_the_place_the_reason_and_the_remedy() {
    let mut shown = String::new();
    for (title, rows) in [
        ("CHARTS", CHARTS),
        ("DEPLOYMENT FILES", DEPLOYMENT),
        ("PATHS", PATHS),
        ("WARNINGS", WARNINGS),
    ] {
        for (situation, row) in rows {
            let home = Home::new();
            let found = row(&home);
            assert!(!codes(&found).is_empty(), "{situation}");
            let text = human::render(&found, false);
            let text = text.replace(&home.folder.path().display().to_string(), "[temp]");
            shown.push_str(&format!("==> {title}: {situation}\n{text}\n"));
        }
    }
    insta::assert_snapshot!("messages", shown);
}
