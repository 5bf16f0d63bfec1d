//! Prints once what the other tests of this run installed, and what they did not check; cargo runs this
//! program after them.

#![allow(clippy::expect_used, clippy::print_stdout, reason = "a test")]
#![expect(clippy::disallowed_methods, reason = "reads what other programs recorded")]

#[path = "support/once.rs"]
mod once;
#[path = "support/unchecked.rs"]
#[allow(dead_code, reason = "for other programs")]
mod unchecked;

use std::collections::BTreeMap;
use std::path::Path;

fn main() {
    for (what, _) in recorded(&once::file()) {
        println!("installed: {what}");
    }
    let reasons = recorded(&unchecked::file());
    for (why, times) in &reasons {
        println!("not checked: {why} ({times} times)");
    }
    if reasons.is_empty() {
        println!("all was checked");
    }
}

/// Takes the lines of a file and how often each is there.
fn recorded(file: &Path) -> BTreeMap<String, usize> {
    let mut lines: BTreeMap<String, usize> = BTreeMap::new();
    if let Ok(text) = std::fs::read_to_string(file) {
        for line in text.lines() {
            *lines.entry(line.to_owned()).or_default() += 1;
        }
        std::fs::remove_file(file).expect("a file");
    }
    lines
}
