#![expect(clippy::disallowed_methods, reason = "keeps blobs on disk")]
//! Blobs on disk by digest, shared by all runs of a user.
//!
//! A blob appears under its name only when it is whole and its digest right; what is read back is
//! checked again, and dropped when it is damaged. Several processes may use a cache at once.

use super::digest::{CheckedBlob, Hasher};
use super::failure;
use crate::diag::{Code, Fatal};
use crate::parallel::locked;
use crate::regular_file;
use oci_spec::image::Digest;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use tempfile::NamedTempFile;

/// A directory of blobs.
#[derive(Debug)]
pub(super) struct Cache {
    folder: PathBuf,
    /// A temporary directory, removed with the cache, if the user has no cache directory.
    _temporary: Option<tempfile::TempDir>,
    /// Blobs that this process has checked.
    sound: Mutex<BTreeSet<String>>,
}

impl Cache {
    /// Opens the cache in `folder`, which is created on demand; without one, in a temporary
    /// directory.
    pub(super) fn new(folder: Option<&Path>) -> Result<Self, Fatal> {
        let (folder, temporary) = match folder {
            Some(folder) => (folder.to_owned(), None),
            None => {
                let made = tempfile::Builder::new().prefix("bundle2chart-").tempdir();
                let made = made.map_err(|error| unusable(&std::env::temp_dir(), &error))?;
                (made.path().to_owned(), Some(made))
            }
        };
        Ok(Cache { folder, _temporary: temporary, sound: Mutex::default() })
    }

    /// Opens a blob, and returns its size in bytes. Ignores blobs larger than `most` bytes. Removes
    /// a blob whose content does not match its name, and treats it as missing.
    pub(super) fn open(&self, digest: &Digest, most: u64) -> Result<Option<(File, u64)>, Fatal> {
        let path = self.path(digest);
        let mut file = match regular_file::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(unusable(&path, &error)),
        };
        let size = file.metadata().map_err(|error| unusable(&path, &error))?.len();
        if size > most {
            return Ok(None);
        }
        // A separate statement: hashing a blob takes long, and other threads need the list meanwhile.
        let is_sound = locked(&self.sound).contains(digest.as_ref());
        if !is_sound {
            let found = CheckedBlob::new(&mut file, digest, size)?.finish();
            if found.map_err(|error| unusable(&path, &error))?.is_err() {
                // Another process may have removed it already.
                let _ = fs::remove_file(&path);
                return Ok(None);
            }
            locked(&self.sound).insert(digest.to_string());
            file.rewind().map_err(|error| unusable(&path, &error))?;
        }
        Ok(Some((file, size)))
    }

    /// Starts a blob; the digest decides how it is hashed.
    pub(super) fn begin(&self, digest: &Digest) -> Result<Partial<'_>, Fatal> {
        let hasher = Hasher::like(digest)?;
        // In the cache, so that the finished blob is renamed within one file system.
        let folder = self.folder.join("partial");
        let begun = fs::create_dir_all(&folder).and_then(|()| {
            sweep(&folder, PARTIAL);
            create_locked(tempfile::Builder::new().prefix(PARTIAL), &folder)
        });
        let file = begun.map_err(|error| unusable(&folder, &error))?;
        Ok(Partial { cache: self, digest: digest.clone(), file, hasher, size: 0 })
    }

    /// Keeps a small blob of which the digest is known to be right.
    pub(super) fn store(&self, digest: &Digest, bytes: &[u8]) -> Result<(), Fatal> {
        if self.open(digest, bytes.len() as u64)?.is_some() {
            return Ok(());
        }
        let mut partial = self.begin(digest)?;
        partial.write(bytes)?;
        partial.commit().map(|_| ())
    }

    fn path(&self, digest: &Digest) -> PathBuf {
        self.folder.join("blobs").join(digest.algorithm().as_ref()).join(digest.digest())
    }
}

/// Prefix of the names of unfinished blobs.
const PARTIAL: &str = "blob-";

/// Creates a file that [`sweep`] does not delete while it is open.
pub(super) fn create_locked(
    builder: &mut tempfile::Builder<'_, '_>,
    folder: &Path,
) -> io::Result<NamedTempFile> {
    loop {
        let file = builder.tempfile_in(folder)?;
        // Marks the file as in use; the lock is released when the process exits.
        file.as_file().lock_shared()?;
        // It may have been swept before it was locked.
        if file.path().exists() {
            return Ok(file);
        }
    }
}

/// Removes the files with this start of their name that killed processes left behind: those that
/// are in use are locked.
pub(super) fn sweep(folder: &Path, start: &str) {
    for entry in folder.read_dir().into_iter().flatten().flatten() {
        if entry.file_name().as_encoded_bytes().starts_with(start.as_bytes())
            && let Ok(file) = regular_file::open(&entry.path())
            && file.try_lock().is_ok()
        {
            // Not being able to tidy up is no reason to fail.
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// A blob that is being written; removed unless it is committed.
pub(super) struct Partial<'c> {
    cache: &'c Cache,
    digest: Digest,
    file: NamedTempFile,
    hasher: Hasher,
    /// Bytes so far.
    pub(super) size: u64,
}

impl Partial<'_> {
    /// Appends bytes.
    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<(), Fatal> {
        let path = self.file.path().to_owned();
        self.file.write_all(bytes).map_err(|error| unusable(&path, &error))?;
        self.hasher.update(bytes);
        self.size += bytes.len() as u64;
        Ok(())
    }

    /// Forgets what was written.
    pub(super) fn restart(&mut self) -> Result<(), Fatal> {
        self.hasher = Hasher::like(&self.digest)?;
        self.size = 0;
        let path = self.file.path().to_owned();
        let file = self.file.as_file_mut();
        file.set_len(0).and_then(|()| file.rewind()).map_err(|error| unusable(&path, &error))
    }

    /// Moves the blob to its final name if its digest is right, else returns the actual digest.
    pub(super) fn commit(self) -> Result<Result<(), Digest>, Fatal> {
        let found = self.hasher.finish();
        if found != self.digest {
            return Ok(Err(found));
        }
        let path = self.cache.path(&self.digest);
        let folder = path.parent().unwrap_or(&self.cache.folder);
        fs::create_dir_all(folder).map_err(|error| unusable(folder, &error))?;
        self.file.persist(&path).map_err(|error| unusable(&path, &error.error))?;
        locked(&self.cache.sound).insert(self.digest.to_string());
        Ok(Ok(()))
    }
}

fn unusable(path: &Path, error: &io::Error) -> Fatal {
    failure(
        Code::CacheUnusable,
        format!("cannot use the blob cache {}: {error}", path.display()),
        "free disk space, fix the permissions, or set another directory in BUNDLE2CHART_CACHE",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read as _;
    use std::str::FromStr as _;

    fn digest_of(bytes: &[u8]) -> Digest {
        let any = Digest::from_str(&format!("sha256:{}", "0".repeat(64))).unwrap();
        let mut hasher = Hasher::like(&any).unwrap();
        hasher.update(bytes);
        hasher.finish()
    }

    fn files(folder: &Path) -> usize {
        let entries = walkdir::WalkDir::new(folder).into_iter().map(Result::unwrap);
        entries.filter(|entry| entry.file_type().is_file()).count()
    }

    #[test]
    fn a_blob_appears_only_when_it_is_right() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(Some(folder.path())).unwrap();
        let digest = digest_of(b"hello");
        assert!(cache.open(&digest, 9).unwrap().is_none());

        let mut partial = cache.begin(&digest).unwrap();
        partial.write(b"hell").unwrap();
        assert_eq!(partial.size, 4);
        assert!(cache.open(&digest, 9).unwrap().is_none());
        assert_eq!(partial.commit().unwrap().unwrap_err(), digest_of(b"hell"));
        assert_eq!(files(folder.path()), 0);

        let mut partial = cache.begin(&digest).unwrap();
        partial.write(b"other").unwrap();
        partial.restart().unwrap();
        partial.write(b"hello").unwrap();
        partial.commit().unwrap().unwrap();
        let (mut file, size) = cache.open(&digest, 9).unwrap().unwrap();
        let mut text = String::new();
        file.read_to_string(&mut text).unwrap();
        assert_eq!((text.as_str(), size), ("hello", 5));
        assert_eq!(files(folder.path()), 1);
    }

    #[test]
    fn a_damaged_blob_is_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let digest = digest_of(b"hello");
        let cache = Cache::new(Some(folder.path())).unwrap();
        cache.store(&digest, b"hello").unwrap();
        fs::write(cache.path(&digest), b"hellO").unwrap();
        // A process reads what it has checked without checking again.
        let cache = Cache::new(Some(folder.path())).unwrap();
        assert!(cache.open(&digest, 9).unwrap().is_none());
        assert_eq!(files(folder.path()), 0);
    }

    #[test]
    fn what_a_killed_process_left_is_swept_and_what_is_in_use_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(Some(folder.path())).unwrap();
        let digest = digest_of(b"hello");
        let first = cache.begin(&digest).unwrap();
        fs::write(folder.path().join("partial/blob-left"), b"hel").unwrap();
        let second = cache.begin(&digest).unwrap();
        assert_eq!(files(folder.path()), 2);
        drop((first, second));
        assert_eq!(files(folder.path()), 0);
    }
}
