//! Programs that tests download or build once for a checkout.

#![expect(clippy::disallowed_methods, reason = "tests keep programs in a folder")]

use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// Returns the folder of downloaded and built programs: `target/test-tools`, or the one in
/// `BUNDLE2CHART_TEST_TOOLS`.
pub(crate) fn tools_dir() -> PathBuf {
    match std::env::var_os("BUNDLE2CHART_TEST_TOOLS") {
        Some(folder) => folder.into(),
        None => Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("test-tools"),
    }
}

/// Creates a program at `path`, unless it exists. `write` writes it to the path in its argument;
/// the program is renamed from there, so that no other thread or process starts half of it.
///
/// # Errors
/// The error of `write`, or of a folder that cannot be written.
pub(crate) fn create_once(
    path: &Path,
    write: impl FnOnce(&Path) -> Result<(), String>,
) -> Result<(), String> {
    if path.is_file() {
        return Ok(());
    }
    let text = |error: std::io::Error| error.to_string();
    let folder = path.parent().ok_or("no folder")?;
    fs::create_dir_all(folder).map_err(text)?;
    let lock = File::create(folder.join("lock")).map_err(text)?;
    lock.lock().map_err(text)?;
    if path.is_file() {
        return Ok(()); // another thread or process was faster
    }

    let staged = path.with_extension("new");
    write(&staged)?;
    fs::rename(&staged, path).map_err(text)
}
