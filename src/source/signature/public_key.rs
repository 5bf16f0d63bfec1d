//! Public keys in PEM files.

use crate::digest_of;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{SignatureVerificationAlgorithm, SubjectPublicKeyInfoDer};
use webpki::{Error, RawPublicKeyEntity, ring};

/// The algorithms of cosign's signatures (sigstore, package `signature`), by the type of the key. A key
/// that fits none of them is not supported.
const ALGORITHMS: [&dyn SignatureVerificationAlgorithm; 5] = [
    ring::ECDSA_P256_SHA256,
    ring::ECDSA_P384_SHA384,
    ring::ECDSA_P384_SHA256,
    ring::RSA_PKCS1_2048_8192_SHA256,
    ring::ED25519,
];

/// A public key.
#[derive(Debug)]
pub(super) struct PublicKey {
    /// The name of its file.
    pub(super) file: String,
    /// The SHA-256 of its SubjectPublicKeyInfo.
    pub(super) fingerprint: String,
    spki: SubjectPublicKeyInfoDer<'static>,
}

impl PublicKey {
    /// Reads the public keys in a PEM file; `file` is its name.
    ///
    /// # Errors
    /// The reason why there are none, or why one of them cannot be used.
    pub(super) fn read(file: &str, pem: &[u8]) -> Result<Vec<PublicKey>, String> {
        let mut keys = Vec::new();
        for block in SubjectPublicKeyInfoDer::pem_slice_iter(pem) {
            let spki = block.map_err(|_| "it is not valid PEM".to_owned())?;
            let fingerprint = digest_of(&spki);
            let key = PublicKey { file: file.to_owned(), fingerprint, spki };
            // Verifying anything says whether an algorithm knows the key.
            let is_known = ALGORITHMS
                .iter()
                .any(|one| key.attempt(*one, b"", b"") == Err(Error::InvalidSignatureForPublicKey));
            if !is_known {
                return Err("its type of key is not supported".to_owned());
            }
            keys.push(key);
        }
        if keys.is_empty() {
            return Err("it has no PUBLIC KEY block".to_owned());
        }
        Ok(keys)
    }

    /// Returns true if the key made the signature of a message.
    pub(super) fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        ALGORITHMS.iter().any(|one| self.attempt(*one, message, signature).is_ok())
    }

    fn attempt(
        &self,
        algorithm: &dyn SignatureVerificationAlgorithm,
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), Error> {
        RawPublicKeyEntity::try_from(&self.spki)?.verify_signature(algorithm, message, signature)
    }
}
