//! The book as mdBook builds it, which the test compiles the first time.
//!
//! `cargo test --test suite -- --ignored book::`

use super::page::{Page, root};
use crate::support::cargo_program;
use std::path::Path;
use std::process::Command;

/// The version of mdBook.
const VERSION: &str = "0.5.4";

#[test]
#[ignore = "compiles mdBook"]
fn mdbook_builds_every_page() {
    let target = tempfile::tempdir().expect("a directory");
    let output =
        Command::new(cargo_program::installed("mdbook", VERSION, &["--no-default-features"]))
            .args(["build", "--dest-dir"])
            .arg(target.path())
            .arg(root())
            .output()
            .expect("mdBook runs");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{text}");
    assert!(!text.contains("WARN") && !text.contains("ERROR"), "{text}");

    let link = regex::Regex::new("(?:href|src)=\"([^\"#:]+)[\"#]").expect("a pattern");
    let mut dead = Vec::new();
    let mut count = 0;
    for page in Page::all() {
        let Ok(path) = page.path.strip_prefix("docs") else { continue };
        if path == Path::new("SUMMARY.md") {
            continue;
        }
        let html = target.path().join(path).with_extension("html");
        let html = std::fs::read_to_string(&html).expect("a page of the book");
        for found in link.captures_iter(&html) {
            let folder = target.path().join(path);
            let file = folder.parent().expect("a directory").join(&found[1]);
            if !file.exists() {
                dead.push(format!("{}: {}", path.display(), &found[1]));
            }
        }
        let heading = page.text.lines().next().expect("a heading").trim_start_matches("# ");
        let heading = heading.replace('`', "");
        let plain = html.replace("<code>", "").replace("</code>", "");
        assert!(plain.contains(&heading), "{}: {heading}", page.path.display());
        count += 1;
    }
    assert!(count > 40, "only {count} pages");
    assert!(dead.is_empty(), "{dead:#?}");
}
