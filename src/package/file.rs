//! Writing packages and the record.
#![expect(clippy::disallowed_methods, reason = "writes packages")]

use crate::regular_file;
use std::fs::{self, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// Writes a file atomically, and the directories above it; returns false if it was there with the
/// same bytes.
pub(crate) fn write(path: &Path, content: &[u8]) -> io::Result<bool> {
    // A larger file is another one, so it is not read.
    if regular_file::read(path, content.len() as u64).is_ok_and(|old| old == content) {
        return Ok(false);
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let mut file = tempfile::Builder::new()
        .prefix(".bundle2chart-")
        // tempfile creates files that only their owner may read.
        .permissions(Permissions::from_mode(0o644))
        .tempfile_in(folder)?;
    file.write_all(content)?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(true)
}
