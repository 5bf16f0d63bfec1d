//! Reading and writing the text of bundles.toml.

use super::place;
use crate::diag::{Code, Diagnostic, Diagnostics};
use crate::regular_file;
use crate::replace_file::{permissions_of, replace_file};
use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

/// Largest configuration, in bytes, as for a build.
const SIZE_LIMIT: u64 = 1 << 20;

/// Returns the text of the file at `path`.
pub(crate) fn read(path: &Path, diagnostics: &mut Diagnostics) -> Option<String> {
    let text = regular_file::read(path, SIZE_LIMIT)
        .and_then(|bytes| String::from_utf8(bytes).map_err(io::Error::other));
    diagnostics.report(text.map_err(|error| {
        let hint = match error.kind() {
            ErrorKind::NotFound => {
                "create one with `bundle2chart init`, or set the file with `-c FILE`"
            }
            _ => "check the file and its permissions",
        };
        let message = format!("cannot read the configuration: {error}");
        Diagnostic::error(Code::ConfigUnreadable, message).at(place(path)).hint(hint).into()
    }))
}

/// Writes the file at `path` atomically, with the permissions that it has; a link stays a link. `None` if
/// this fails, which is reported.
pub(crate) fn write(path: &Path, text: &str, diagnostics: &mut Diagnostics) -> Option<()> {
    // A rename onto a link would replace the link, not the file.
    let written = fs::canonicalize(path)
        .and_then(|path| replace_file(&path, text.as_bytes(), permissions_of(&path)));
    diagnostics.report(written.map_err(|error| {
        let message = format!("cannot write the configuration: {error}");
        let hint = "make the file and its directory writable";
        Diagnostic::error(Code::OutputFailed, message).at(place(path)).hint(hint).into()
    }))
}
