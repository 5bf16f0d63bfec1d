//! Opens input files: without waiting, and only regular files.
//!
//! Opening a named pipe waits for a writer, and reading a device may never end. Every file from
//! outside is opened here; tests/suite/style.rs keeps other ways to open files out of the tree.

use rustix::fs::OFlags;
use std::fs::{File, FileType, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::path::Path;

/// Opens a regular file for reading; symbolic links are followed.
///
/// # Errors
/// If there is none, it cannot be opened, or it is a folder, pipe, socket or device.
pub fn open(path: &Path) -> io::Result<File> {
    open_with(OpenOptions::new().read(true), path)
}

/// Opens a regular file for writing, as it is, or creates it.
///
/// # Errors
/// As [`open`], and when it cannot be created.
pub fn open_or_create(path: &Path) -> io::Result<File> {
    open_with(OpenOptions::new().write(true).create(true).truncate(false), path)
}

fn open_with(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    // Opening alone has effects on some devices. What takes the place of the file after this look
    // at it is seen by the second one.
    match std::fs::metadata(path) {
        Ok(metadata) => check(metadata.file_type())?,
        // The options may say that the file is created.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let flags = OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    let file = options.custom_flags(flags.bits().cast_signed()).open(path)?;
    check(file.metadata()?.file_type())?;
    Ok(file)
}

/// Reads a regular file of at most `limit` bytes.
///
/// # Errors
/// As [`open`], and when the file is larger.
pub fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let file = open(path)?;
    let size = file.metadata()?.len();
    let mut content = Vec::new();
    // A file that is too large is not read, and others need one allocation.
    if size <= limit {
        content.reserve_exact(usize::try_from(size).unwrap_or_default());
        // It may grow while it is read.
        file.take(limit + 1).read_to_end(&mut content)?;
    }
    if size > limit || content.len() as u64 > limit {
        let message = format!("it has more than {limit} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(content)
}

fn check(kind: FileType) -> io::Result<()> {
    if kind.is_file() {
        return Ok(());
    }
    if kind.is_dir() {
        return Err(rustix::io::Errno::ISDIR.into());
    }
    let what = if kind.is_fifo() {
        "a named pipe"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device"
    };
    Err(io::Error::new(io::ErrorKind::InvalidInput, format!("it is {what}, not a regular file")))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests write files")]
mod tests {
    use super::*;
    use rustix::fs::{CWD, Mode, mkfifoat};

    #[test]
    fn only_regular_files_are_opened() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("file"), "content").unwrap();
        std::os::unix::fs::symlink(path("file"), path("link")).unwrap();
        std::os::unix::fs::symlink("/dev/zero", path("zero")).unwrap();
        mkfifoat(CWD, path("pipe"), Mode::RUSR | Mode::WUSR).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(path("socket")).unwrap();

        assert_eq!(read(&path("link"), 7).unwrap(), b"content");
        open_or_create(&path("new")).unwrap();
        assert_eq!(read(&path("new"), 0).unwrap(), b"");
        let refused = |name: &str| read(&path(name), 6).unwrap_err().to_string();
        assert_eq!(refused("file"), "it has more than 6 bytes");
        assert_eq!(refused("zero"), "it is a device, not a regular file");
        assert_eq!(refused("pipe"), "it is a named pipe, not a regular file");
        assert_eq!(refused("socket"), "it is a socket, not a regular file");
        assert_eq!(open(folder.path()).unwrap_err().kind(), io::ErrorKind::IsADirectory);
        assert_eq!(open(&path("none")).unwrap_err().kind(), io::ErrorKind::NotFound);
        for name in ["pipe", "zero"] {
            assert!(open_or_create(&path(name)).is_err(), "{name}");
        }
    }
}
