//! Walking tar archives of strangers, compressed or not, at a bounded cost.

use super::compression::{Compression, Decoder};
use super::digest::Hasher;
use super::limits::{Limits, Watched, at_most, exceeded, in_bytes};
use oci_spec::image::Digest;
use std::cell::Cell;
use std::io::{self, Read};
use std::rc::Rc;
use tar::EntryType;

/// Counts the resources used for one image, shared by its streams and archive walks.
pub(super) struct Meter {
    limits: Limits,
    expanded: Cell<u64>,
    entries: Cell<u64>,
    /// Bytes that may still be read before the next entry must have begun.
    allowance: Cell<u64>,
}

impl Meter {
    pub(super) fn new(limits: &Limits) -> Rc<Self> {
        Rc::new(Meter {
            limits: limits.clone(),
            expanded: Cell::new(0),
            entries: Cell::new(0),
            allowance: Cell::new(u64::MAX),
        })
    }

    /// Allows an entry of `size` bytes and the headers of the one after it.
    fn allow(&self, size: u64) {
        self.allowance
            .set(size.saturating_add(self.limits.entry_header_bytes).saturating_add(4096));
    }

    fn count_entry(&self) -> io::Result<()> {
        self.entries.set(self.entries.get() + 1);
        let limit = self.limits.entries;
        at_most(self.entries.get(), limit, || format!("more than {limit} entries"))
    }

    /// Counts `count` more bytes of a stream that has returned `given` bytes for `taken` stored
    /// bytes.
    fn count_bytes(&self, count: u64, given: u64, taken: u64) -> io::Result<()> {
        let limits = &self.limits;
        self.expanded.set(self.expanded.get().saturating_add(count));
        let limit = limits.expanded_bytes;
        let too_much = || format!("expands to more than {}", in_bytes(limit));
        at_most(self.expanded.get(), limit, too_much)?;
        // Small layers may compress well: empty files and zeros are usual at the start.
        if given > limits.expansion_floor && given / limits.expansion_ratio > taken {
            return Err(exceeded(format!(
                "expands to more than {} and more than {} times its stored size",
                in_bytes(limits.expansion_floor),
                limits.expansion_ratio
            )));
        }
        // The `tar` crate reads long names and PAX records into memory, of any size.
        let rest = self.allowance.get().checked_sub(count).ok_or_else(|| {
            let limit = in_bytes(limits.entry_header_bytes);
            exceeded(format!("an entry has headers of more than {limit}"))
        })?;
        self.allowance.set(rest);
        Ok(())
    }
}

/// A decompressed stream with counted and, optionally, hashed bytes.
pub(super) struct Expanded<'r> {
    decoder: Decoder<'r>,
    meter: Rc<Meter>,
    hasher: Option<Hasher>,
    /// Bytes that the decoder has read.
    taken: Rc<Cell<u64>>,
    given: u64,
}

impl<'r> Expanded<'r> {
    pub(super) fn new(
        stored: impl Read + 'r,
        meter: &Rc<Meter>,
        hasher: Option<Hasher>,
    ) -> io::Result<Self> {
        let taken = Rc::new(Cell::new(0));
        let count = Rc::clone(&taken);
        let stored = Watched::new(stored, move |bytes| {
            count.set(count.get() + bytes.len() as u64);
            Ok(())
        });
        let decoder = Decoder::new(stored, meter.limits.zstd_window_bytes)?;
        meter.allowance.set(u64::MAX);
        Ok(Expanded { decoder, meter: Rc::clone(meter), hasher, taken, given: 0 })
    }

    pub(super) fn compression(&self) -> Compression {
        self.decoder.compression
    }

    /// Reads what is left, so that all of it has been hashed and checked.
    fn drain(&mut self) -> io::Result<()> {
        self.meter.allowance.set(u64::MAX);
        io::copy(self, &mut io::sink()).map(drop)
    }

    /// Returns the digest of what was read.
    pub(super) fn digest(self) -> Option<Digest> {
        self.hasher.map(Hasher::finish)
    }
}

impl Read for Expanded<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.decoder.read(buffer)?;
        self.given += count as u64;
        // Before the bytes are used, so that nothing of an excess gets further.
        self.meter.count_bytes(count as u64, self.given, self.taken.get())?;
        if let Some(hasher) = &mut self.hasher {
            hasher.update(&buffer[..count]);
        }
        Ok(count)
    }
}

/// The type of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum EntryKind {
    File,
    Folder,
    /// Another name of the file at this path of the archive.
    HardLink(Vec<u8>),
    /// A symbolic link with this target.
    Symlink(Vec<u8>),
    /// Something else, in words.
    Special(&'static str),
}

/// An entry of a tar archive.
pub(super) struct TarEntry<'a> {
    /// The path as in the archive.
    pub(super) path: Vec<u8>,
    pub(super) kind: EntryKind,
    /// Bytes of its content.
    pub(super) size: u64,
    /// Offset of its content in the decompressed archive.
    pub(super) position: u64,
    pub(super) content: &'a mut dyn Read,
}

impl TarEntry<'_> {
    /// Reads the whole content; allocates [`size`](Self::size), which the caller has checked.
    pub(super) fn read(&mut self) -> io::Result<Vec<u8>> {
        let mut content = Vec::with_capacity(usize::try_from(self.size).unwrap_or_default());
        self.content.take(self.size).read_to_end(&mut content)?;
        // A reader that ends early is no error to `read_to_end`.
        if content.len() as u64 != self.size {
            return Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                format!("unexpected end of archive inside `{}`", show(&self.path)),
            ));
        }
        Ok(content)
    }
}

/// Visits the entries of an archive in order, then reads its stream to the end.
pub(super) fn walk(
    stream: &mut Expanded<'_>,
    visit: &mut dyn FnMut(&mut TarEntry<'_>) -> io::Result<()>,
) -> io::Result<()> {
    let (meter, content_end) = (Rc::clone(&stream.meter), Cell::new(0));
    let padded = Padded { inner: &mut *stream, position: 0, content_end: &content_end };
    walk_entries(&mut tar::Archive::new(padded), &meter, &content_end, visit)?;
    // A stream may go on after the end of its archive; its digest covers that too.
    stream.drain()
}

/// Bytes of a block of a tar; the content of an entry is padded to whole ones.
const BLOCK: u64 = 512;

/// A tar that may end within the padding of its last entry, as written by `umoci insert`. Go's
/// archive/tar accepts this as the end of the archive (`Reader.next`: an end of file in the padding
/// is `io.EOF`); the `tar` crate requires the padding, so zeros are added. Other truncated archives
/// remain truncated.
struct Padded<'a, R> {
    inner: R,
    position: u64,
    /// End offset of the content of the last visited entry.
    content_end: &'a Cell<u64>,
}

impl<R: Read> Read for Padded<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut count = self.inner.read(buffer)?;
        let end = self.content_end.get();
        // Only at the end of the content: an archive that ends inside of it is truncated.
        if count == 0 && self.position >= end {
            let missing = end.next_multiple_of(BLOCK).saturating_sub(self.position);
            count = buffer.len().min(usize::try_from(missing).unwrap_or_default());
            buffer[..count].fill(0);
        }
        self.position += count as u64;
        Ok(count)
    }
}

fn walk_entries<R: Read>(
    archive: &mut tar::Archive<R>,
    meter: &Meter,
    content_end: &Cell<u64>,
    visit: &mut dyn FnMut(&mut TarEntry<'_>) -> io::Result<()>,
) -> io::Result<()> {
    // The headers of the first entry.
    meter.allow(0);
    for entry in archive.entries()? {
        let mut entry = entry?;
        meter.count_entry()?;
        // A sparse file is smaller in the archive than its declared size.
        let sparse = entry.header().entry_type() == EntryType::GNUSparse;
        let stored = if sparse { entry.header().entry_size()? } else { entry.size() };
        let position = entry.raw_file_position();
        content_end.set(position.saturating_add(stored));
        let path = entry.path_bytes().into_owned();
        let target = |entry: &tar::Entry<'_, R>| {
            entry.link_name_bytes().map(|name| name.into_owned()).unwrap_or_default()
        };
        let kind = match entry.header().entry_type() {
            // Describes entries that follow; nothing of it matters here.
            EntryType::XGlobalHeader => {
                meter.allow(entry.size());
                continue;
            }
            EntryType::Directory => EntryKind::Folder,
            // Archives older than POSIX mark a directory by the slash only.
            EntryType::Regular if path.ends_with(b"/") => EntryKind::Folder,
            EntryType::Regular | EntryType::Continuous => EntryKind::File,
            EntryType::Link => EntryKind::HardLink(target(&entry)),
            EntryType::Symlink => EntryKind::Symlink(target(&entry)),
            EntryType::Char | EntryType::Block => EntryKind::Special("a device"),
            EntryType::Fifo => EntryKind::Special("a named pipe"),
            EntryType::GNUSparse => EntryKind::Special("a sparse file"),
            _ => EntryKind::Special("an entry of an unknown type"),
        };
        meter.allow(stored);
        let size = entry.size();
        visit(&mut TarEntry { path, kind, size, position, content: &mut entry })?;
    }
    Ok(())
}

/// Returns a path of an archive for messages: control characters and bytes that are not UTF-8 are
/// escaped.
pub(super) fn show(path: &[u8]) -> String {
    let mut text = String::new();
    for chunk in path.utf8_chunks() {
        for character in chunk.valid().chars() {
            if character.is_control() {
                text.extend(character.escape_default());
            } else {
                text.push(character);
            }
        }
        for byte in chunk.invalid() {
            text.push_str(&format!("\\x{byte:02x}"));
        }
    }
    text
}
