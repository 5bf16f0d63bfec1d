//! The book as mdBook builds it, which the test compiles the first time.
//!
//! `cargo test --test suite -- --ignored book::`

use super::page::{Page, root};
use crate::support::once::{create_once, tools_dir};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The version of mdBook.
const VERSION: &str = "0.5.4";

/// Returns the program; installs it with cargo unless it is there.
fn mdbook() -> PathBuf {
    let directory = tools_dir().join(format!("mdbook-{VERSION}"));
    let path = directory.join("mdbook");
    let install = |staged: &Path| {
        let output = Command::new(env!("CARGO"))
            .args(["install", "mdbook", "--version", VERSION, "--locked", "--no-default-features"])
            // Compiles in half of the time, and a book of this size takes seconds.
            .args(["--debug", "--root"])
            .arg(directory.join("installed"))
            .arg("--target-dir")
            .arg(directory.join("target"))
            .output()
            .map_err(|error| error.to_string())?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
        let copied = std::fs::copy(directory.join("installed/bin/mdbook"), staged);
        copied.map(drop).map_err(|error| error.to_string())
    };
    if let Err(reason) = create_once(&path, install) {
        panic!(
            "this test needs mdBook {VERSION} and could not install it: {reason}\n\
             hint: it is a cargo package; or put the program at {} yourself",
            path.display()
        );
    }
    path
}

#[test]
#[ignore = "compiles mdBook"]
fn mdbook_builds_every_page() {
    let target = tempfile::tempdir().expect("a directory");
    let output = Command::new(mdbook())
        .args(["build", "--dest-dir"])
        .arg(target.path())
        .arg(root())
        .output()
        .expect("mdBook runs");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{text}");
    assert!(!text.contains("WARN") && !text.contains("ERROR"), "{text}");

    let mut count = 0;
    for page in Page::all() {
        let Ok(path) = page.path.strip_prefix("docs") else { continue };
        if path == Path::new("SUMMARY.md") {
            continue;
        }
        let html = target.path().join(path).with_extension("html");
        let html = std::fs::read_to_string(&html).expect("a page of the book");
        let heading = page.text.lines().next().expect("a heading").trim_start_matches("# ");
        let heading = heading.replace('`', "");
        let plain = html.replace("<code>", "").replace("</code>", "");
        assert!(plain.contains(&heading), "{}: {heading}", page.path.display());
        count += 1;
    }
    assert!(count > 40, "only {count} pages");
}
