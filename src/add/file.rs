//! Reading and writing the text of bundles.toml.

use super::place;
use crate::diag::{Code, Diagnostic, Diagnostics};
use crate::regular_file;
use std::fs;
use std::io::{self, ErrorKind, Write as _};
use std::path::Path;

/// Largest configuration, in bytes, as for a build.
const SIZE_LIMIT: u64 = 1 << 20;

/// Returns the text of the file at `path`.
pub(crate) fn read(path: &Path, diagnostics: &mut Diagnostics) -> Option<String> {
    let text = regular_file::read(path, SIZE_LIMIT)
        .and_then(|bytes| String::from_utf8(bytes).map_err(io::Error::other));
    match text {
        Ok(text) => Some(text),
        Err(error) => {
            let hint = if error.kind() == ErrorKind::NotFound {
                "create one with `bundle2chart init`, or set the file with `-c FILE`"
            } else {
                "check the file and its permissions"
            };
            let message = format!("cannot read the configuration: {error}");
            let diagnostic = Diagnostic::error(Code::ConfigUnreadable, message);
            diagnostics.push(diagnostic.at(place(path)).hint(hint));
            None
        }
    }
}

/// Writes the file at `path` atomically, with the permissions that it has; a link stays a link.
pub(super) fn write(path: &Path, text: &str, diagnostics: &mut Diagnostics) -> bool {
    let replace = || -> io::Result<()> {
        // A rename onto a link would replace the link, not the file.
        let path = fs::canonicalize(path)?;
        let permissions = fs::metadata(&path)?.permissions();
        let folder = path.parent().unwrap_or(Path::new("."));
        let mut file = tempfile::Builder::new()
            .prefix(".bundle2chart-")
            .permissions(permissions)
            .tempfile_in(folder)?;
        file.write_all(text.as_bytes())?;
        file.persist(&path).map_err(|error| error.error)?;
        Ok(())
    };
    match replace() {
        Ok(()) => true,
        Err(error) => {
            let message = format!("cannot write the configuration: {error}");
            let diagnostic = Diagnostic::error(Code::OutputFailed, message).at(place(path));
            diagnostics.push(diagnostic.hint("make the file and its directory writable"));
            false
        }
    }
}
