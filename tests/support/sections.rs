//! Documents that tests write, a section for each test.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::Mutex;

/// Tests of several sections may run at once.
static WRITING: Mutex<()> = Mutex::new(());

/// Compares a section of a document with `lines`, which `UPDATE=1` writes instead. The others, in the
/// order of `sections`, stay as they are.
///
/// # Panics
/// When they differ.
pub(crate) fn check(path: &str, introduction: &str, sections: &[&str], section: &str, lines: &str) {
    assert!(sections.contains(&section), "{section}");
    let _guard = WRITING.lock();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    let found = fs::read_to_string(&file).unwrap_or_default();
    let mut expected = introduction.to_owned();
    for name in sections {
        let lines = if *name == section { lines } else { content(&found, name) };
        if !lines.is_empty() {
            let _ = write!(expected, "\n## {name}\n\n{lines}");
        }
    }
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&file, &expected).expect("a file");
    } else if found != expected {
        let program = env!("CARGO_CRATE_NAME");
        panic!(
            "{path} is out of date; write it with UPDATE=1 cargo test --test {program} -- --ignored\n{lines}"
        );
    }
}

/// Returns the lines of a section.
fn content<'a>(text: &'a str, section: &str) -> &'a str {
    let heading = format!("\n## {section}\n\n");
    let Some(start) = text.find(&heading) else { return "" };
    let content = &text[start + heading.len()..];
    &content[..content.find("\n## ").unwrap_or(content.len())]
}
