//! Resource limits for reading sources.

use std::io::{self, Read};

/// Limits for reading one bundle; reading stops with an error when one is exceeded.
///
/// The defaults are ample for real bundles, including those based on operating system images, and
/// stop a malicious image within seconds and a few hundred MiB of memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of an index, a manifest or a configuration (default 4 MiB, what registries allow).
    pub document_bytes: u64,
    /// Layers of an image (default 128, one more than Docker's storage drivers could stack).
    pub layers: usize,
    /// Bytes of all layers of an image as stored, and of a tar file (default 2 GiB).
    pub stored_bytes: u64,
    /// Bytes of all layers of an image once decompressed, kept or skipped (default 4 GiB).
    pub expanded_bytes: u64,
    /// Maximum decompression ratio of a layer (default 100), once it has
    /// [`expansion_floor`](Self::expansion_floor) bytes. Gzip reaches 1000 on zeros and about 10 on
    /// real layers.
    pub expansion_ratio: u64,
    /// Bytes that a layer may expand to at any ratio (default 64 MiB).
    pub expansion_floor: u64,
    /// Entries of all layers of an image, kept or skipped (default 1,000,000).
    pub entries: u64,
    /// Bytes of the headers of one tar entry, long names and PAX records included (default 1 MiB).
    pub entry_header_bytes: u64,
    /// Bytes of paths and link targets that are remembered while layers are applied (default
    /// 64 MiB).
    pub name_bytes: u64,
    /// Bytes of the window of a zstd frame (default 64 MiB; usual encoders stay within 8 MiB).
    pub zstd_window_bytes: u64,
    /// Maximum number of kept files: those in the manifests and metadata directories (default
    /// 4,096).
    pub kept_files: u64,
    /// Bytes of one kept file (default 16 MiB).
    pub kept_file_bytes: u64,
    /// Bytes of all kept files, also of those that a later layer replaces (default 64 MiB).
    pub kept_bytes: u64,
    /// Bytes of one object of a catalog (default 32 MiB; a bundle with all its manifests has a few
    /// MiB).
    pub catalog_object_bytes: u64,
}

impl Limits {
    /// Counts a name of `length` bytes that is remembered; `names` is the subject of the error.
    pub(super) fn count_name(&self, sum: &mut u64, length: usize, names: &str) -> io::Result<()> {
        // Approximate cost of a node, in addition to its path.
        *sum += length as u64 + 64;
        let limit = self.name_bytes;
        at_most(*sum, limit, || format!("{names} are longer than {} in total", in_bytes(limit)))
    }
}

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

impl Default for Limits {
    fn default() -> Self {
        Limits {
            document_bytes: 4 * MIB,
            layers: 128,
            stored_bytes: 2 * GIB,
            expanded_bytes: 4 * GIB,
            expansion_ratio: 100,
            expansion_floor: 64 * MIB,
            entries: 1_000_000,
            entry_header_bytes: MIB,
            name_bytes: 64 * MIB,
            zstd_window_bytes: 64 * MIB,
            kept_files: 4_096,
            kept_file_bytes: 16 * MIB,
            kept_bytes: 64 * MIB,
            catalog_object_bytes: 32 * MIB,
        }
    }
}

/// Returns the error of a stream that passed a limit. Readers of archives hand it through, and
/// [`is_exceeded`] recognises it at the other end.
pub(super) fn exceeded(message: String) -> io::Error {
    io::Error::new(io::ErrorKind::QuotaExceeded, message)
}

/// Returns an error if a number passed its limit.
pub(super) fn at_most(count: u64, limit: u64, why: impl FnOnce() -> String) -> io::Result<()> {
    if count > limit { Err(exceeded(why())) } else { Ok(()) }
}

/// Returns true if the error was created by [`exceeded`].
pub(super) fn is_exceeded(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::QuotaExceeded
}

/// A reader that shows all bytes to a function before they are used. An error of the function ends
/// reading.
pub(super) struct Watched<'w, R> {
    inner: R,
    watch: Box<Watch<'w>>,
}

type Watch<'w> = dyn FnMut(&[u8]) -> io::Result<()> + 'w;

impl<'w, R: Read> Watched<'w, R> {
    pub(super) fn new(inner: R, watch: impl FnMut(&[u8]) -> io::Result<()> + 'w) -> Self {
        Watched { inner, watch: Box::new(watch) }
    }
}

impl<R: Read> Read for Watched<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        (self.watch)(&buffer[..count])?;
        Ok(count)
    }
}

/// Reads to the end; `None` if there are more than `limit` bytes.
pub(super) fn read_at_most(reader: impl Read, limit: u64) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    reader.take(limit + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= limit).then_some(bytes))
}

/// Formats a number of bytes, exactly or in the largest unit that loses nothing.
pub(super) fn in_bytes(count: u64) -> String {
    let units = [("GiB", GIB), ("MiB", MIB), ("KiB", 1024)];
    match units.iter().find(|(_, size)| count > 0 && count.is_multiple_of(*size)) {
        Some((unit, size)) => format!("{} {unit}", count / size),
        None => format!("{count} bytes"),
    }
}
