//! `package`: the same bytes everywhere, and real Helm renders the package like the directory.

use crate::support::command::Case;
use crate::support::helm::Helm;
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;

mod attestations;

/// A project whose chart is built.
fn built() -> Case {
    let case = Case::with_lamps();
    let seen = case.run(&["build", "-q"]);
    assert_eq!(seen.code, Some(0), "{}", seen.text());
    case
}

fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold("sha256:".to_owned(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn package(case: &Case) -> Vec<u8> {
    std::fs::read(case.path("packages/lamp-operator-1.2.3.tgz")).expect("a package")
}

#[test]
fn packages_are_reproducible_and_recorded() {
    let (first, second) = (built(), built());
    // What a checkout, an upload or an editor changes is not a part of the package.
    let touched = second.path("out/lamp-operator/1.2.3/values.yaml");
    std::fs::OpenOptions::new()
        .write(true)
        .open(&touched)
        .and_then(|file| file.set_modified(std::time::SystemTime::UNIX_EPOCH))
        .expect("another time");
    let mut permissions = std::fs::metadata(&touched).expect("a file").permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o600);
    std::fs::set_permissions(&touched, permissions).expect("another mode");
    for case in [&first, &second] {
        let seen = case.run(&["package", "-d", "packages"]);
        assert_eq!(seen.code, Some(0), "{}", seen.text());
        let expected = format!("packages/lamp-operator-1.2.3.tgz  {}\n", digest(&package(case)));
        assert_eq!(seen.stdout, expected);
        assert_eq!(seen.stderr, "out/charts.lock: 1 changed; commit it\n");
    }
    assert!(package(&first) == package(&second));
    assert_eq!(first.read("out/charts.lock"), second.read("out/charts.lock"));
    assert!(first.read("out/charts.lock").contains(&digest(&package(&first))));

    // Nothing is written again, and a build does not mind the record.
    let before = first.tree(".");
    assert_eq!(first.run(&["package", "-d", "packages"]).stderr, "");
    let seen = first.run(&["package", "--check"]);
    assert_eq!((seen.code, seen.stderr.as_str()), (Some(0), "out/charts.lock is up to date\n"));
    assert_eq!(first.run(&["build", "--check"]).code, Some(0));
    assert_eq!(first.tree("."), before);
}

#[test]
fn the_record_follows_the_charts() {
    let case = built();
    let seen = case.run(&["package", "--check"]);
    assert_eq!(seen.code, Some(1), "{}", seen.text());
    assert_eq!(seen.stdout, "missing lamp-operator 1.2.3\n");
    case.run(&["package", "-d", "packages"]);

    // Two versions: the higher one is packaged, both are recorded.
    case.replace("bundles.toml", "path =", "chart-version = \"1.10.0+4\"\npath =");
    assert_eq!(case.run(&["build", "-q"]).code, Some(0));
    let seen = case.run(&["package", "--check"]);
    assert_eq!((seen.code, seen.stdout.as_str()), (Some(1), "missing lamp-operator 1.10.0+4\n"));
    let seen = case.run(&["package", "-d", "packages"]);
    assert!(seen.stdout.starts_with("packages/lamp-operator-1.10.0+4.tgz  sha256:"));
    assert_eq!(seen.stdout.lines().count(), 1);
    let seen = case.run(&["package", "-d", "packages", "lamp-operator@1.2.3"]);
    assert!(seen.stdout.starts_with("packages/lamp-operator-1.2.3.tgz  sha256:"));
    assert_eq!(case.read("out/charts.lock").matches("[[chart]]").count(), 2);

    std::fs::remove_dir_all(case.path("out/lamp-operator/1.2.3")).expect("removed");
    let seen = case.run(&["package", "--check"]);
    assert_eq!((seen.code, seen.stdout.as_str()), (Some(1), "extra lamp-operator 1.2.3\n"));
    let seen = case.run(&["package", "lamp-operator@1.2.3"]);
    insta::assert_snapshot!("package_unknown_version", seen.text());
    insta::assert_snapshot!("package_unknown_chart", case.run(&["package", "lamps"]).text());
}

#[test]
fn edited_charts_are_not_packaged() {
    let case = built();
    case.write("out/lamp-operator/1.2.3/values.yaml", "edited: true\n");
    case.write("out/lamp-operator/1.2.3/templates/mine.yaml", "kind: Mine\n");
    case.remove("out/lamp-operator/1.2.3/README.md");
    let seen = case.run(&["package", "-d", "packages"]);
    insta::assert_snapshot!("package_edited", seen.text());
    assert!(!case.path("packages").exists() && !case.path("out/charts.lock").exists());
    let empty = Case::with_lamps();
    insta::assert_snapshot!("package_nothing", empty.run(&["package"]).text());
}

#[test]
fn charts_without_a_valid_record_are_not_packaged() {
    let file = "out/lamp-operator/1.2.3/.bundle2chart";
    let again = "restore it from Git, or delete the chart's directory and build again";
    for (from, to, line) in [
        ("# chart version: 1.2.3\n", "", "line 1 is not valid"),
        ("# chart version: 1.2.3\n", "# chart version: 1.2.3\nx\n", "line 3 is not valid"),
    ] {
        let case = built();
        case.replace(file, from, to);
        let seen = case.run(&["package"]);
        assert_eq!(seen.code, Some(2), "{}", seen.text());
        let what = format!("cannot use `{file}`: {line}\n");
        assert!(seen.stderr.contains(&what) && seen.stderr.contains(again), "{}", seen.text());
    }
    let case = built();
    case.replace(file, "# chart version: 1.2.3\n", "# chart version: 1.2.4\n");
    let seen = case.run(&["package"]);
    assert!(seen.stderr.contains("it does not have version 1.2.4"), "{}", seen.text());
    assert!(seen.stderr.contains("delete the chart's directory and build again"));
}

#[test]
fn helm_renders_a_package_like_the_directory() {
    let case = built();
    case.run(&["package", "-d", "packages"]);
    let (chart, archive) =
        (case.path("out/lamp-operator/1.2.3"), case.path("packages/lamp-operator-1.2.3.tgz"));
    for helm in Helm::all_in_ci() {
        helm.lint(&archive, &[]).expect_success();
        let expected = helm.template("lamps", &chart, "lamps", &[]).expect_success();
        let found = helm.template("lamps", &archive, "lamps", &[]).expect_success();
        assert!(found.contains("kind: Deployment"), "{found}");
        assert_eq!(found, expected, "Helm {}", helm.version);
        if let Some(installed) = helm.install_dry_run("lamps", &archive, "lamps", &[]) {
            installed.expect_success();
        }
        // Helm's own package of the directory has the same files.
        let folder = case.path(&format!("helm-{}", helm.version));
        let theirs = helm.package(&chart, &folder);
        assert_eq!(names(&archive), names(&theirs), "Helm {}", helm.version);
    }
}

fn names(archive: &std::path::Path) -> Vec<String> {
    let file = std::fs::File::open(archive).expect("a package");
    let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(file));
    let entries = archive.entries().expect("entries");
    let name = |entry: std::io::Result<tar::Entry<'_, _>>| {
        entry.expect("an entry").path().expect("a path").display().to_string()
    };
    let mut names: Vec<String> = entries.map(name).collect();
    names.sort();
    names
}
