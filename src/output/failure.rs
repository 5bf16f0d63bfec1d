//! What the operating system refused, as a diagnostic.

use crate::diag::{Code, Diagnostic, Diagnostics, Place};
use std::io;
use std::path::Path;

/// Says that `doing` (a verb, for example `write`) failed on `path`, why, and what to do.
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
            "make room on the file system of the output folder (or raise the quota or file size \
             limit) and build again",
        ),
        Kind::PermissionDenied | Kind::ReadOnlyFilesystem => Some(
            "the output folder and the charts in it must be writable; correct that or choose \
             another folder with `--out`",
        ),
        Kind::CrossesDevices | Kind::ResourceBusy => Some(
            "a chart cannot be replaced when its folder is a mount point or comes from a layer of \
             a container image; choose another folder with `--out`",
        ),
        _ => None,
    }
}
