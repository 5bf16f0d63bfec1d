//! Checks that a machine cannot do.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// The file with a line for each check that was not done, which `tests/unchecked.rs` prints.
pub(crate) fn file() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("not-checked")
}

/// Records that a test did not check something, which is said after the other tests.
pub(crate) fn not_checked(why: &str) {
    let mut file = OpenOptions::new().create(true).append(true).open(file()).expect("a file");
    // One write, because tests run at the same time.
    file.write_all(format!("{why}\n").as_bytes()).expect("a line");
}
