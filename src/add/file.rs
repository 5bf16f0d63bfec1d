//! Writing the text of bundles.toml.

use super::place;
use crate::diag::{Code, Diagnostic, Diagnostics};
use crate::replace_file::{permissions_of, replace_file};
use std::fs;
use std::path::Path;

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
