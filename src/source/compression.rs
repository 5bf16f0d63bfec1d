//! Decompression by content, not by file name or media type.

use super::limits::{exceeded, in_bytes};
use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::FrameDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use std::io::{self, BufRead, BufReader, Cursor, Read};

/// The compression of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compression {
    None,
    Gzip,
    Zstd,
}

impl Compression {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Compression::None => "not compressed",
            Compression::Gzip => "compressed with gzip",
            Compression::Zstd => "compressed with zstd",
        }
    }

    /// Judges by the first bytes; an error names a compression that is recognised but not read.
    fn of(start: &[u8]) -> io::Result<Self> {
        let unsupported = |name: &str| {
            Err(io::Error::new(
                io::ErrorKind::Unsupported,
                format!("unsupported compression {name}: only gzip and zstd are supported"),
            ))
        };
        match start {
            [0x1f, 0x8b, ..] => Ok(Compression::Gzip),
            // A frame, or a skippable frame before it.
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => {
                Ok(Compression::Zstd)
            }
            [b'B', b'Z', b'h', b'1'..=b'9', ..] => unsupported("bzip2"),
            [0xfd, b'7', b'z', b'X', b'Z', 0x00, ..] => unsupported("xz"),
            _ => Ok(Compression::None),
        }
    }
}

/// A stream decompressed by its magic number. Reads all members of a gzip stream and all frames of
/// a zstd stream; trailing data is an error.
pub(super) struct Decoder<'r> {
    pub(super) compression: Compression,
    stream: Box<dyn Read + 'r>,
}

impl<'r> Decoder<'r> {
    /// Detects the compression. Zstd frames can use a window of up to `zstd_window` bytes.
    pub(super) fn new(mut stored: impl Read + 'r, zstd_window: u64) -> io::Result<Self> {
        let mut start = Vec::with_capacity(6);
        // The longest magic number, that of xz, has six bytes.
        stored.by_ref().take(6).read_to_end(&mut start)?;
        let compression = Compression::of(&start)?;
        let stored = BufReader::with_capacity(64 << 10, Cursor::new(start).chain(stored));
        let stream: Box<dyn Read + 'r> = match compression {
            Compression::None => Box::new(stored),
            Compression::Gzip => Box::new(MultiGzDecoder::new(stored)),
            Compression::Zstd => Box::new(ZstdFrames::new(stored, zstd_window)),
        };
        Ok(Decoder { compression, stream })
    }
}

impl Read for Decoder<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.read(buffer)
    }
}

/// All frames of a zstd stream, one after the other; skippable frames, in which some builders
/// keep a table of contents, are skipped, and checksums are checked.
struct ZstdFrames<R> {
    source: R,
    decoder: FrameDecoder,
    in_frame: bool,
}

impl<R: BufRead> ZstdFrames<R> {
    fn new(source: R, window: u64) -> Self {
        // One decoder for all frames: it reuses its buffers, so that a million tiny frames do not
        // allocate a million windows.
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(window);
        ZstdFrames { source, decoder, in_frame: false }
    }

    /// Starts the next frame; false at the end of the stream.
    fn start_frame(&mut self) -> io::Result<bool> {
        if self.source.fill_buf()?.is_empty() {
            return Ok(false);
        }
        match self.decoder.init(&mut self.source) {
            Ok(()) => self.in_frame = true,
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                length,
                ..
            })) => {
                let length = u64::from(length);
                let skipped = io::copy(&mut self.source.by_ref().take(length), &mut io::sink())?;
                if skipped < length {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
            }
            Err(FrameDecoderError::WindowSizeTooBig { requested, .. }) => {
                return Err(exceeded(format!(
                    "a zstd frame requires a window of {}; the limit is {}",
                    in_bytes(requested),
                    in_bytes(self.decoder.max_window_size())
                )));
            }
            Err(error) => return Err(io::Error::new(io::ErrorKind::InvalidData, error)),
        }

        Ok(true)
    }

    fn end_frame(&mut self) -> io::Result<()> {
        self.in_frame = false;
        match (self.decoder.get_checksum_from_data(), self.decoder.get_calculated_checksum()) {
            (Some(stored), Some(computed)) if stored != computed => {
                Err(io::Error::new(io::ErrorKind::InvalidData, "wrong checksum of a zstd frame"))
            }
            _ => Ok(()),
        }
    }
}

impl<R: BufRead> Read for ZstdFrames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        use ruzstd::decoding::BlockDecodingStrategy::UptoBlocks;
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            if !self.in_frame {
                if !self.start_frame()? {
                    return Ok(0);
                }
            } else if self.decoder.can_collect() > 0 {
                return self.decoder.read(buffer);
            } else if self.decoder.is_finished() {
                self.end_frame()?;
            } else {
                self.decoder
                    .decode_blocks(&mut self.source, UptoBlocks(1))
                    .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
            }
        }
    }
}
