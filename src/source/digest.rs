//! Digests of blobs: naming, computing, checking.

use super::failure;
use super::limits::in_bytes;
use crate::diag::{Code, Fatal};
use oci_spec::image::{Descriptor, Digest, DigestAlgorithm, MediaType};
use sha2::digest::DynDigest;
use sha2::{Digest as _, Sha256, Sha512};
use std::fmt::Write as _;
use std::io::{self, Read};

/// A running hash in the algorithm of a digest.
pub(super) struct Hasher {
    /// The prefix of its digests.
    algorithm: &'static str,
    state: Box<dyn DynDigest>,
}

impl Hasher {
    /// Returns a hash in the usual algorithm.
    pub(super) fn sha256() -> Self {
        Hasher { algorithm: "sha256", state: Box::new(Sha256::new()) }
    }

    /// Returns a hash to compare with `digest`; an error for algorithms other than sha256 and
    /// sha512, the two that the OCI image specification registers.
    pub(super) fn like(digest: &Digest) -> Result<Self, Fatal> {
        match digest.algorithm() {
            DigestAlgorithm::Sha256 => Ok(Hasher::sha256()),
            DigestAlgorithm::Sha512 => {
                Ok(Hasher { algorithm: "sha512", state: Box::new(Sha512::new()) })
            }
            other => Err(failure(
                Code::InvalidLayout,
                format!("unsupported digest algorithm in `{digest}`: `{other}`"),
                "use an image with sha256 or sha512 digests",
            )),
        }
    }

    pub(super) fn update(&mut self, bytes: &[u8]) {
        self.state.update(bytes);
    }

    /// Returns the digest of the content and of these bytes after it.
    pub(super) fn of(mut self, bytes: &[u8]) -> Digest {
        self.update(bytes);
        self.finish()
    }

    /// Returns the digest of the content.
    pub(super) fn finish(self) -> Digest {
        let text = format!("{}:{}", self.algorithm, hexadecimal(&self.state.finalize()));
        Digest::try_from(text)
            .unwrap_or_else(|_| unreachable!("a registered algorithm and its hash"))
    }
}

/// Returns the SHA-256 of `content` in lower-case hexadecimal, without the algorithm.
pub fn sha256(content: &[u8]) -> String {
    hexadecimal(&Sha256::digest(content))
}

/// Returns the [`sha256`] of what a reader gives, without holding it.
///
/// # Errors
/// If reading fails.
pub fn sha256_from(mut reader: impl Read) -> io::Result<String> {
    let mut hasher = Hasher::sha256();
    read_through(&mut reader, |bytes| hasher.update(bytes))?;
    Ok(hexadecimal(&hasher.state.finalize()))
}

/// Reads to the end, a part at a time.
pub(super) fn read_through(reader: &mut impl Read, mut visit: impl FnMut(&[u8])) -> io::Result<()> {
    let mut buffer = vec![0; 64 << 10];
    loop {
        match reader.read(&mut buffer)? {
            0 => return Ok(()),
            count => visit(&buffer[..count]),
        }
    }
}

/// Returns the digest of `content` with its algorithm, as images name it: `sha256:…`.
pub fn digest_of(content: &[u8]) -> String {
    format!("sha256:{}", sha256(content))
}

/// Returns the descriptor of a blob with this content.
pub(super) fn descriptor_of(media_type: MediaType, content: &[u8]) -> Descriptor {
    Descriptor::new(media_type, content.len() as u64, Hasher::sha256().of(content))
}

/// Spells bytes in lower-case hexadecimal.
pub(super) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Returns the digest of texts one after the other; what is in one never counts as part of the
/// next.
pub fn digest_of_parts<'p>(parts: impl IntoIterator<Item = &'p [u8]>) -> String {
    let mut hasher = Hasher::sha256();
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    hasher.finish().to_string()
}

/// A blob that is hashed and counted while it is read; reading past its announced size fails.
pub(super) struct CheckedBlob<R> {
    inner: R,
    hasher: Hasher,
    digest: Digest,
    size: u64,
    read: u64,
}

impl<R: Read> CheckedBlob<R> {
    pub(super) fn new(inner: R, digest: &Digest, size: u64) -> Result<Self, Fatal> {
        let hasher = Hasher::like(digest)?;
        Ok(CheckedBlob { inner, hasher, digest: digest.clone(), size, read: 0 })
    }

    /// Reads what is left and compares size and digest. The inner error is their difference from those in
    /// the descriptor, in words that follow the name of the blob.
    pub(super) fn finish(mut self) -> io::Result<Result<(), String>> {
        match read_through(&mut self, |_| {}) {
            // Past the announced size, `read` fails on purpose: that is a mismatch, not an I/O
            // error.
            Err(error) if self.read <= self.size => return Err(error),
            _ => {}
        }
        let announced = in_bytes(self.size);
        // The rest of a longer one was not read.
        if self.read > self.size {
            return Ok(Err(format!("is longer than the {announced} in its descriptor")));
        }
        if self.read < self.size {
            let found = in_bytes(self.read);
            return Ok(Err(format!("has {found}, but its descriptor says {announced}")));
        }
        let found = self.hasher.finish();
        Ok(if found == self.digest { Ok(()) } else { Err(format!("has digest {found}")) })
    }
}

impl<R: Read> Read for CheckedBlob<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.read += count as u64;
        if self.read > self.size {
            let why = "the blob is longer than its descriptor says";
            return Err(io::Error::new(io::ErrorKind::InvalidData, why));
        }
        self.hasher.update(&buffer[..count]);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::str::FromStr as _;

    // Digests of "abc" from FIPS 180-4's examples.
    const SHA256_ABC: &str =
        "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    const SHA512_ABC: &str = "sha512:ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f";

    fn check(content: &[u8], digest: &str, size: u64) -> Result<(), String> {
        let digest = Digest::from_str(digest).unwrap();
        CheckedBlob::new(content, &digest, size).unwrap().finish().unwrap()
    }

    #[test]
    fn both_registered_algorithms_are_checked() {
        assert_eq!(check(b"abc", SHA256_ABC, 3), Ok(()));
        assert_eq!(check(b"abc", SHA512_ABC, 3), Ok(()));
        for digest in [SHA256_ABC, SHA512_ABC] {
            let error = check(b"abd", digest, 3).unwrap_err();
            assert!(error.starts_with("has digest sha") && !error.contains(digest), "{error}");
        }
    }

    #[test]
    fn sizes_are_checked_before_digests() {
        let shorter = "has 3 bytes, but its descriptor says 4 bytes".to_owned();
        assert_eq!(check(b"abc", SHA256_ABC, 4), Err(shorter));
        let longer = "is longer than the 2 bytes in its descriptor".to_owned();
        assert_eq!(check(b"abc", SHA256_ABC, 2), Err(longer));
    }

    #[test]
    fn an_endless_blob_is_not_read_to_its_end() {
        let digest = Digest::from_str(SHA256_ABC).unwrap();
        let endless = CheckedBlob::new(io::repeat(7), &digest, 1000).unwrap();
        let longer = "is longer than the 1000 bytes in its descriptor".to_owned();
        assert_eq!(endless.finish().unwrap(), Err(longer));
    }

    #[test]
    fn unknown_algorithms_are_refused() {
        for text in ["md5:d41d8cd98f00b204e9800998ecf8427e", "blake3:00", "multihash+base58:Qm"] {
            assert!(Hasher::like(&Digest::from_str(text).unwrap()).is_err(), "{text}");
        }
    }
}
