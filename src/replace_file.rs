//! Replaces files atomically.

use crate::diag::{Code, Diagnostic, Fatal, Place};
use crate::regular_file;
use std::fs::{self, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// Replaces the file at `path`, with the permissions that it has; creates it as one that others can read.
///
/// # Errors
/// If it cannot be written; it is then as it was.
pub(crate) fn replace_file(path: &Path, content: &[u8]) -> io::Result<()> {
    let permissions = fs::metadata(path)
        .map_or_else(|_| Permissions::from_mode(0o644), |found| found.permissions());
    let mut file = tempfile::Builder::new()
        .prefix(".bundle2chart-")
        // tempfile creates files that only their owner may read.
        .permissions(permissions)
        // In the same directory, because a rename is atomic on one file system only.
        .tempfile_in(folder_of(path))?;
    file.write_all(content)?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// [`replace_file`], also in a new directory, unless the file has this content; returns true if it was
/// written.
///
/// # Errors
/// If it cannot be written, with this hint.
#[expect(clippy::disallowed_methods, reason = "the directory of packages may be new")]
pub(crate) fn write_changed(path: &Path, content: &[u8], hint: &str) -> Result<bool, Fatal> {
    // Not touched, so that build systems and Git see no change. A larger file is another one, so it is
    // not read.
    if regular_file::read(path, content.len() as u64).is_ok_and(|old| old == content) {
        return Ok(false);
    }
    let written = fs::create_dir_all(folder_of(path)).and_then(|()| replace_file(path, content));
    written.map_err(|error| {
        let name = path.display().to_string();
        Diagnostic::error(Code::OutputFailed, format!("cannot write `{name}`: {error}"))
            .at(Place::file(name))
            .hint(hint)
    })?;
    Ok(true)
}

/// Returns the directory of a file; `.` for a bare file name.
pub(crate) fn folder_of(file: &Path) -> &Path {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}
