#![expect(clippy::disallowed_methods, reason = "a test")]

use super::*;
use crate::lock::Lock;
use crate::output::{self, ChartFiles, Mode};
use crate::pipeline::Inputs;
use crate::verify::{Verification, json, not_built, text, verify};
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;

const CONFIG: &str = r#"
[[chart]]
name = "settings"
chart-version = "2.0.0"
manifests = ["settings.yaml"]
"#;
/// A build has a note that no CRD defines the kind Widget.
const SETTINGS: &str = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {user: lamps}
---
apiVersion: example.com/v1
kind: Widget
metadata: {name: web}
";

/// A project with a chart that is built and packaged.
struct Project(tempfile::TempDir);

impl Project {
    fn built() -> Self {
        let project = Project(tempfile::tempdir().unwrap());
        project.write("bundles.toml", CONFIG.as_bytes());
        project.write("settings.yaml", SETTINGS.as_bytes());
        let mut found = Diagnostics::new();
        let config = project.config();
        let sources = SourceResolver::of(&config, crate::source::Access::default());
        let lock = Lock::default();
        let inputs = Inputs { config: &config, sources: &sources, lock: &lock, jobs: 1 };
        let built = crate::pipeline::build(&inputs, &[], &mut found);
        let out = project.out();
        let charts: Vec<ChartFiles> = built.charts.into_iter().map(|chart| chart.files).collect();
        output::write(&out, &charts, None, Mode::Write { replace: false }, &mut found).unwrap();
        let packages = package::packages(&out, &[], &mut found).unwrap();
        project.write("settings.tgz", &packages.selected[0].archive);
        project
    }

    fn path(&self, path: &str) -> std::path::PathBuf {
        self.0.path().join(path)
    }

    fn out(&self) -> std::path::PathBuf {
        self.path("out")
    }

    fn write(&self, path: &str, content: &[u8]) {
        fs::create_dir_all(self.path(path).parent().unwrap()).unwrap();
        fs::write(self.path(path), content).unwrap();
    }

    fn edit(&self, path: &str, old: &str, new: &str) {
        let text = fs::read_to_string(self.path(path)).unwrap();
        assert!(text.contains(old), "{text}");
        self.write(path, text.replace(old, new).as_bytes());
    }

    fn config(&self) -> Config {
        Config::read(&self.path("bundles.toml"), &mut Diagnostics::new()).unwrap()
    }

    fn read(&self, argument: &str, found: &mut Diagnostics) -> Option<Subject> {
        let sources = SourceResolver::of(&self.config(), crate::source::Access::default());
        Subject::read(argument, &self.out(), &sources, found)
    }

    /// Compares a chart with what its table compiles to now.
    fn compare(&self, subject: Subject, found: &mut Diagnostics) -> Option<Verification> {
        let config = self.config();
        let sources = SourceResolver::of(&config, crate::source::Access::default());
        let table = subject.table(&config, found)?;
        let lock = Lock::default();
        let inputs = Inputs { config: &config, sources: &sources, lock: &lock, jobs: 1 };
        verify(subject, &inputs, table, found)
    }

    /// Returns the report about a chart, or the errors.
    fn verified(&self, argument: &str) -> String {
        let mut found = Diagnostics::new();
        let verified = self.read(argument, &mut found);
        let verified = verified.and_then(|subject| self.compare(subject, &mut found));
        self.shown(verified.as_ref(), &found)
    }

    /// Returns a report or errors without what depends on the machine and the release.
    fn shown(&self, verified: Option<&Verification>, found: &Diagnostics) -> String {
        let mut shown = verified.map(|verified| text(verified).to_string()).unwrap_or_default();
        // JSON has the reasons also without differences.
        assert!(verified.is_none_or(|it| it.differences.is_empty() == it.reasons.is_empty()));
        for found in found.iter() {
            let (place, hint) = (found.place.file.as_deref(), found.hint.as_deref());
            let (place, hint) = (place.unwrap_or_default(), hint.unwrap_or_default());
            writeln!(shown, "{} {place}: {} ({hint})", found.code.as_str(), found.message).unwrap();
        }
        let shown = shown.replace(&self.0.path().display().to_string(), "DIR");
        let shown = shown.replace(env!("CARGO_PKG_VERSION"), "VERSION");
        let mut parts = shown.split("sha256:");
        let first = parts.next().unwrap_or_default().to_owned();
        parts.fold(first, |shown, part| match part.split_at_checked(64) {
            Some((hex, rest)) if hex.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
                shown + "DIGEST" + rest
            }
            _ => shown + "sha256:" + part,
        })
    }
}

const CHART: &str = "out/settings/2.0.0";

/// Each form of a chart, each difference and each reason.
#[test]
fn charts_and_what_was_done_to_them() {
    let mut all = String::new();
    let mut show = |what: &str, argument: &str, change: &dyn Fn(&Project)| {
        let project = Project::built();
        change(&project);
        let argument = match argument.contains('/') || argument.ends_with(".tgz") {
            true => project.path(argument).display().to_string(),
            false => argument.to_owned(),
        };
        write!(all, "{what}:\n{}\n", project.verified(&argument)).unwrap();
    };
    let none = |_: &Project| ();
    show("a directory", CHART, &none);
    show("a name", "settings", &none);
    show("a name and a version", "settings@2.0.0", &none);
    show("a package", "settings.tgz", &none);
    let moved =
        |project: &Project| fs::rename(project.path(CHART), project.path("elsewhere")).unwrap();
    show("a moved directory", "./elsewhere", &moved);
    let values = format!("{CHART}/values.yaml");
    let comment = |project: &Project, path: &str| {
        let mut text = fs::read(project.path(path)).unwrap();
        text.extend(b"# edited\n");
        project.write(path, &text);
    };
    let reports = |project: &Project| {
        project.write(&format!("{CHART}/UPGRADE.md"), b"anything");
        fs::remove_file(project.path(&format!("{CHART}/.bundle2chart"))).unwrap();
    };
    show("no file that the package does not have", CHART, &reports);

    show("an edit", CHART, &|project| comment(project, &values));
    show("a shorter file", CHART, &|project| {
        let text = fs::read_to_string(project.path(&values)).unwrap();
        project.write(&values, text.lines().next().unwrap_or_default().as_bytes());
    });
    show("two edits", CHART, &|project| {
        comment(project, &values);
        fs::remove_file(project.path(&format!("{CHART}/README.md"))).unwrap();
    });
    show("an edit without a record", CHART, &|project| {
        comment(project, &values);
        fs::remove_file(project.path(&format!("{CHART}/.bundle2chart"))).unwrap();
    });
    show("an edit with a damaged record", CHART, &|project| {
        comment(project, &values);
        project.write(&format!("{CHART}/.bundle2chart"), b"?\n");
    });
    let other_inputs = |project: &Project| project.edit("settings.yaml", "lamps", "lights");
    show("other inputs", CHART, &other_inputs);
    show("other inputs and an edit", CHART, &|project| {
        other_inputs(project);
        project.write(&format!("{CHART}/templates/b.yaml"), b"a");
    });
    show("other inputs of a package", "settings.tgz", &other_inputs);

    // A provenance next to a package explains its differences.
    let attested = |version: &str, file: &str, bytes: usize| {
        let (version, file) = (version.to_owned(), file.to_owned());
        move |project: &Project| {
            project.edit("settings.yaml", "lamps", "lights");
            let sum = sha256(&fs::read(project.path("settings.tgz")).unwrap());
            let statement = serde_json::json!({
                "subject": [{"digest": {"sha256": sum}}],
                "predicate": {"runDetails": {"builder": {"version": {"bundle2chart": version}}}},
            });
            let mut statement = statement.to_string().into_bytes();
            statement.resize(statement.len().max(bytes), b' ');
            project.write(&file, &statement);
        }
    };
    let own = env!("CARGO_PKG_VERSION");
    let file = format!("settings.{}", attest::PROVENANCE_FILE);
    show("built by this version", "settings.tgz", &attested(own, &file, 0));
    show("built by another version", "settings.tgz", &attested("0.0.9", &file, 16 << 20));
    let larger = attested("0.0.9", &file, (16 << 20) + 1);
    show("a provenance that is too large", "settings.tgz", &larger);
    let unnamed = |project: &Project| {
        attested("0.0.9", &format!("a/settings.{}", attest::PROVENANCE_FILE), 0)(project);
        fs::copy(project.path("settings.tgz"), project.path("a/settings")).unwrap();
    };
    show("a package with another name", "a/settings", &unnamed);

    // What is packed again has the same files.
    let repack = |project: &Project, name: &str, files: &ChartTree| {
        let file = fs::File::create(project.path(name)).unwrap();
        let mut tar =
            tar::Builder::new(flate2::write::GzEncoder::new(file, flate2::Compression::fast()));
        for (path, content) in files {
            let mut header = tar::Header::new_gnu();
            header.set_size(content.len() as u64);
            header.set_mode(0o644);
            tar.append_data(&mut header, format!("settings/{path}"), content.as_slice()).unwrap();
        }
        tar.into_inner().unwrap().finish().unwrap().flush().unwrap();
    };
    let files =
        |project: &Project| charts::read_package(&project.path("settings.tgz")).unwrap().unwrap();
    show("packed again", "other.tgz", &|project| repack(project, "other.tgz", &files(project)));
    show("packed after an edit", "other.tgz", &|project| {
        let mut files = files(project);
        files.insert("values.yaml".to_owned(), b"a: 1\n".to_vec());
        repack(project, "other.tgz", &files);
    });

    // What is no chart, or not one of this configuration.
    show("no such chart", "gadgets", &none);
    show("no archive", "./bundles.toml", &none);
    show("a path with a scheme in it", "./oci://settings", &none);
    show("a file that is too large", "large.tgz", &|project| {
        let file = fs::File::create(project.path("large.tgz")).unwrap();
        file.set_len(CHART_BYTES + 1).unwrap();
    });
    show("a package without a name", "other.tgz", &|project| {
        let mut files = files(project);
        files.insert("Chart.yaml".to_owned(), b"version: 2.0.0\n".to_vec());
        repack(project, "other.tgz", &files);
    });
    for name in ["setings", "gadgets"] {
        show(&format!("a package of {name}"), "other.tgz", &|project| {
            let mut files = files(project);
            let metadata = format!("name: {name}\nversion: 2.0.0\n");
            files.insert("Chart.yaml".to_owned(), metadata.into_bytes());
            repack(project, "other.tgz", &files);
        });
    }
    show("another version", CHART, &|project| project.edit("bundles.toml", "2.0.0", "2.0.1"));
    show("inputs that do not compile", CHART, &|project| {
        fs::remove_file(project.path("settings.yaml")).unwrap();
    });
    insta::assert_snapshot!(all);

    let project = Project::built();
    let tag = project.verified("oci://registry.example.com/settings:2.0.0");
    insta::assert_snapshot!("verify_a_tag", tag);
}

/// An artifact has an archive and a manifest: the first of them that differs is reported.
#[test]
fn artifacts_differ_as_a_whole() {
    let project = Project::built();
    let mut found = Diagnostics::new();
    let path = project.path("settings.tgz").display().to_string();
    let package = project.read(&path, &mut found).unwrap();
    let Form::Archive { archive, .. } = package.form.clone() else { panic!("a package") };
    let identity = package.clone();
    let built = package::packages(&project.out(), &[], &mut found).unwrap().selected.remove(0);
    let mut all = String::new();
    for (what, archive, manifest, edited) in [
        ("the same", archive.clone(), built.artifact.digest.clone(), false),
        ("another manifest", archive.clone(), digest_of(b"a"), false),
        ("another archive", b"a".to_vec(), digest_of(b"a"), false),
        ("another file", b"a".to_vec(), digest_of(b"a"), true),
        ("another file in the same archive", archive, digest_of(b"a"), true),
    ] {
        let shown = format!("oci://registry.example.com/settings@{}", digest_of(b"a"));
        let form = Form::Archive { archive, manifest: Some(manifest) };
        let mut subject = Subject { shown, form, ..identity.clone() };
        if edited {
            subject.files.insert("values.yaml".to_owned(), b"a: 1\n".to_vec());
        }
        let verified = project.compare(subject, &mut found);
        write!(all, "{what}:\n{}\n", project.shown(verified.as_ref(), &found)).unwrap();
        let json = verified.map(|verified| json(&verified)).unwrap_or_default();
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        let json = format!("{}\n{}\n", json["verified"], json["differences"]);
        all += &json
            .replace(&built.artifact.digest, "MANIFEST")
            .replace(built.artifact.layer_digest(), "ARCHIVE");
    }
    insta::assert_snapshot!(all);
}

#[test]
fn a_table_that_builds_other_charts() {
    let project = Project::built();
    let subject = project.read("settings", &mut Diagnostics::new()).unwrap();
    let chart = |name: &str| ChartFiles {
        dir: name.into(),
        version: "1.0.0".to_owned(),
        files: ChartTree::new(),
    };
    let charts = [chart("a/1.0.0"), chart("b")];
    let told = |compiled: Option<&ChartFiles>| {
        let error = not_built(&subject, "table", compiled, &charts);
        format!("{}: {} ({})", error.code.as_str(), error.message, error.hint.unwrap_or_default())
    };
    assert_eq!(
        told(None),
        "chart-not-found: `table` in the configuration builds no chart `settings` (its charts are \
         `a`, `b`)"
    );
    assert_eq!(
        told(charts.first()),
        "chart-not-found: `table` in the configuration builds version 1.0.0 of chart `settings`, \
         not 2.0.0 (run it with bundles.toml and bundles.lock of the commit that built version \
         2.0.0)"
    );
}
