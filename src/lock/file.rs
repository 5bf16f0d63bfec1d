//! `bundles.lock` on disk.

use super::Lock;
use super::format;
use crate::diag::{Code, Diagnostic, Fatal, Place, SourceText, Span};
use crate::regular_file;
use crate::replace_file::write_changed;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Largest lock file, in bytes; one of a thousand bundles has about 1 MiB.
const SIZE_LIMIT: u64 = 16 << 20;

/// Returns the path of the lock file: `bundles.lock` next to `bundles.toml`.
pub fn path_of(config: &Path) -> PathBuf {
    config.with_extension("lock")
}

/// Reads a lock file; an empty lock when there is none.
///
/// # Errors
/// If it cannot be read, or is no lock file of the version that this program knows.
pub fn read(path: &Path) -> Result<Lock, Fatal> {
    let name = path.display().to_string();
    let text = regular_file::read(path, SIZE_LIMIT).and_then(|bytes| {
        String::from_utf8(bytes).map_err(|_| io::Error::other("it is not UTF-8 text"))
    });
    match text {
        Ok(text) => parse(name, text),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Lock::default()),
        Err(error) => Err(invalid(&error.to_string()).at(Place::file(name)).into()),
    }
}

/// Returns the lock that a text says, which messages call `name`.
///
/// # Errors
/// If it is no lock file of the version that this program knows.
pub fn parse(name: String, text: String) -> Result<Lock, Fatal> {
    format::parse(&text).map_err(|fault| {
        let source = Arc::new(SourceText { name, text });
        let (found, range) = match source.merge_conflict() {
            Some(marker) => {
                let message = "the lock file has an unresolved merge conflict";
                let name = &source.name;
                let hint = format!("run `git checkout --ours {name}`, then `bundle2chart lock`");
                (Diagnostic::error(Code::LockInvalid, message).hint(hint), marker)
            }
            None => (invalid(&fault.message), fault.range),
        };
        found.at(Place::span(Span::new(&source, range))).into()
    })
}

/// Writes the lock file atomically, with the permissions that it has, unless its content is
/// unchanged; returns true if it was written.
///
/// # Errors
/// If it cannot be written.
pub fn write(path: &Path, lock: &Lock) -> Result<bool, Fatal> {
    let hint = "make the lock file and its directory writable";
    write_changed(path, format::text(lock).as_bytes(), hint)
}

fn invalid(why: &str) -> Diagnostic {
    Diagnostic::error(Code::LockInvalid, format!("cannot use the lock file: {why}")).hint(
        "restore it from Git, install the bundle2chart version that wrote it, or delete it and run \
            `bundle2chart lock` to resolve the tags again",
    )
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "writes the files to read")]
mod tests {
    use super::read;
    use std::fs;

    #[test]
    fn only_text_of_a_limited_size_is_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("bundles.lock");
        let largest = 16 << 20;
        // A byte that ends the reading before the text is parsed, which takes longer.
        let padded = |bytes: usize| [vec![b'#'; bytes - 1], vec![0xff]].concat();
        for (content, why) in [
            (padded(largest), "it is not UTF-8 text"),
            (padded(largest + 1), "it has more than 16777216 bytes"),
        ] {
            fs::write(&path, content).expect("a file");
            let fault = read(&path).expect_err(why);
            assert_eq!(fault.message, format!("cannot use the lock file: {why}"));
        }
    }
}
