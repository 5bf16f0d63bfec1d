//! Diagnostics for I/O errors.

use crate::diag::{Code, Diagnostic, Fatal, Place};
use crate::source::walk_error;
use std::fs::{self, Metadata};
use std::io;
use std::path::Path;

/// Returns an error about a file or directory.
pub(super) fn error(code: Code, message: String, path: &Path) -> Diagnostic {
    Diagnostic::error(code, message).at(Place::file(path.display().to_string()))
}

/// Reports that `doing` (a verb, for example `write`) failed on `path`, with the cause and a hint.
pub(super) fn failed(doing: &str, path: &Path, why: &io::Error) -> Fatal {
    let message = format!("cannot {doing} `{}`: {why}", path.display());
    Box::new(error(Code::OutputFailed, message, path).hint(hint(why.kind())))
}

/// Reports an error of walking `folder`.
pub(super) fn walk_failed(folder: &Path, error: walkdir::Error) -> Fatal {
    let (path, error) = walk_error(folder, error);
    failed("read", &path, &error)
}

/// Returns the metadata of a path, links not followed; `None` if there is nothing.
pub(super) fn metadata_of(path: &Path) -> Result<Option<Metadata>, Fatal> {
    match fs::symlink_metadata(path) {
        Ok(metadata) => Ok(Some(metadata)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed("read", path, &error)),
    }
}

fn hint(kind: io::ErrorKind) -> &'static str {
    use io::ErrorKind as Kind;
    match kind {
        Kind::StorageFull | Kind::QuotaExceeded | Kind::FileTooLarge => {
            "free disk space in the output directory (or raise the quota or file size limit) and \
                build again"
        }
        Kind::PermissionDenied | Kind::ReadOnlyFilesystem => {
            "make the output directory and its charts writable, or use another directory with \
                `--out`"
        }
        Kind::CrossesDevices | Kind::ResourceBusy => {
            "use another directory with `--out`: a chart cannot be replaced if its directory is a \
                mount point or comes from a container image layer"
        }
        _ => "check the output directory, or use another one with `--out`",
    }
}

#[cfg(test)]
mod tests;
