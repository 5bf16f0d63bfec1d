//! Prints once what the other tests of this run did not check; cargo runs this program after them.

#![allow(clippy::expect_used, clippy::print_stdout, reason = "a test")]
#![expect(clippy::disallowed_methods, reason = "reads what other programs recorded")]

#[path = "support/unchecked.rs"]
#[allow(dead_code, reason = "for other programs")]
mod unchecked;

use std::collections::BTreeMap;

fn main() {
    let recorded = std::fs::read_to_string(unchecked::file()).unwrap_or_default();
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    for line in recorded.lines() {
        *reasons.entry(line).or_default() += 1;
    }
    for (why, times) in &reasons {
        println!("not checked: {why} ({times} times)");
    }
    if reasons.is_empty() {
        println!("all was checked");
    } else {
        std::fs::remove_file(unchecked::file()).expect("a file");
    }
}
