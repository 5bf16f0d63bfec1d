//! The lock of an output directory: one build at a time.

#![expect(clippy::disallowed_methods, reason = "writes the output directory")]

use super::failure::{error, failed};
use super::stage::make_directories;
use crate::diag::{Code, Fatal};
use crate::regular_file;
use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Name of the file that a build locks.
pub(super) const LOCK: &str = ".bundle2chart-lock";

/// A locked output directory; released when dropped or when the process exits.
#[derive(Debug)]
pub(super) struct Lock {
    path: PathBuf,
    /// Directories that were created for it, the innermost first.
    created: Vec<PathBuf>,
    _file: File,
}

impl Lock {
    /// Creates the output directory `out` if necessary, and locks it.
    ///
    /// # Errors
    /// [`Code::OutputBusy`] if another build holds the lock, [`Code::OutputFailed`] if files cannot
    /// be created.
    pub(super) fn acquire(out: &Path) -> Result<Self, Fatal> {
        // The file is in the directory that it locks, so that builds with different paths to it
        // meet.
        let created = make_directories(out)?;
        let path = out.join(LOCK);
        let refused = |e: io::Error| failed("lock the output directory with", &path, &e);
        let file = regular_file::open_or_create(&path).map_err(refused)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(busy(out, &path)),
            Err(TryLockError::Error(error)) => return Err(refused(error)),
        }

        // The holder deletes the file at its end. If it did so after we opened it, the next build
        // locks another file.
        let locked = file.metadata().map_err(refused)?;
        match fs::symlink_metadata(&path) {
            Ok(named) if (named.dev(), named.ino()) == (locked.dev(), locked.ino()) => {}
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(refused(error)),
            _ => return Err(busy(out, &path)),
        }
        Ok(Lock { path, created, _file: file })
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Errors leave a file without a lock, which is harmless.
        let _ = fs::remove_file(&self.path);
        // A build that wrote nothing leaves no directory; one with files in it stays.
        let _ = self.created.iter().try_for_each(fs::remove_dir);
    }
}

fn busy(out: &Path, lock: &Path) -> Fatal {
    let message = format!("another build is writing to `{}`", out.display());
    let hint = "wait until it is finished and build again";
    error(Code::OutputBusy, message, lock).hint(hint).into()
}
