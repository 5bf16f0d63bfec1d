//! Diagnostics for I/O errors.

use crate::diag::{Code, Diagnostic, Diagnostics, Place};
use std::io;
use std::path::Path;

/// Reports that `doing` (a verb, for example `write`) failed on `path`, with the cause and a hint.
pub(super) fn failed(doing: &str, path: &Path, error: &io::Error) -> Diagnostics {
    let name = path.display().to_string();
    let diagnostic =
        Diagnostic::error(Code::OutputFailed, format!("cannot {doing} `{name}`: {error}"))
            .at(Place::file(name));
    match hint(error.kind()) {
        Some(hint) => diagnostic.hint(hint).into(),
        None => diagnostic.into(),
    }
}

fn hint(kind: io::ErrorKind) -> Option<&'static str> {
    use io::ErrorKind as Kind;
    match kind {
        Kind::StorageFull | Kind::QuotaExceeded | Kind::FileTooLarge => Some(
            "free disk space in the output directory (or raise the quota or file size limit) and \
                build again",
        ),
        Kind::PermissionDenied | Kind::ReadOnlyFilesystem => Some(
            "make the output directory and its charts writable, or use another directory with \
                `--out`",
        ),
        Kind::CrossesDevices | Kind::ResourceBusy => Some(
            "use another directory with `--out`: a chart cannot be replaced if its directory is a \
                mount point or comes from a container image layer",
        ),
        _ => None,
    }
}
