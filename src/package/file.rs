//! Writing packages and the record.
#![expect(clippy::disallowed_methods, reason = "writes packages")]

use crate::regular_file;
use crate::replace_file::{folder_of, readable, replace_file};
use std::fs;
use std::io;
use std::path::Path;

/// Writes a file atomically, and the directories above it; returns false if it was there with the
/// same bytes.
pub(crate) fn write(path: &Path, content: &[u8]) -> io::Result<bool> {
    // A larger file is another one, so it is not read.
    if regular_file::read(path, content.len() as u64).is_ok_and(|old| old == content) {
        return Ok(false);
    }
    fs::create_dir_all(folder_of(path))?;
    replace_file(path, content, readable())?;
    Ok(true)
}
