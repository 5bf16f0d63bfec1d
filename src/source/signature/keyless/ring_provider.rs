//! *ring* as the cryptography of sigstore-verify, so that no second library is compiled for it.

use ring::signature::{self, UnparsedPublicKey, VerificationAlgorithm};
use sha2::{Digest, Sha256, Sha384, Sha512};
use sigstore_verify::crypto::{
    CryptoProvider, Error, HashContext, Result, SigningScheme, install_default_provider,
};
use sigstore_verify::types::HashAlgorithm;
use std::cell::RefCell;

thread_local! {
    /// The message of the last call of [`with_message`]: *ring* verifies no digests. It serves for a
    /// signature only if the digest is its own.
    static MESSAGE: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Makes *ring* the provider of this process.
pub(super) fn install() {
    // It fails if there is one already, which is this one.
    let _ = install_default_provider(&Ring);
}

/// Runs a verification in which signatures of the digest of `message` occur.
pub(super) fn with_message<T>(message: &[u8], verify: impl FnOnce() -> T) -> T {
    MESSAGE.set(message.to_vec());
    verify()
}

#[derive(Debug)]
struct Ring;

/// A hash that is being computed.
struct Hash<D>(D);

impl<D: Digest + Send> HashContext for Hash<D> {
    fn update(&mut self, data: &[u8]) {
        self.0.update(data);
    }

    fn finalize(self: Box<Self>) -> Vec<u8> {
        self.0.finalize().to_vec()
    }
}

impl CryptoProvider for Ring {
    fn hash(&self, algorithm: HashAlgorithm) -> Result<Box<dyn HashContext>> {
        match algorithm {
            HashAlgorithm::Sha2256 => Ok(Box::new(Hash(Sha256::new()))),
            HashAlgorithm::Sha2384 => Ok(Box::new(Hash(Sha384::new()))),
            HashAlgorithm::Sha2512 => Ok(Box::new(Hash(Sha512::new()))),
            other => Err(Error::UnsupportedAlgorithm(other.to_string())),
        }
    }

    fn verify_raw(
        &self,
        scheme: SigningScheme,
        key: &[u8],
        message: &[u8],
        signature: &[u8],
    ) -> Result<()> {
        UnparsedPublicKey::new(algorithm(scheme)?, key)
            .verify(message, signature)
            .map_err(|_| Error::Verification("the signature does not match the key".to_owned()))
    }

    fn verify_prehashed(
        &self,
        scheme: SigningScheme,
        key: &[u8],
        digest: &[u8],
        signature: &[u8],
    ) -> Result<()> {
        let unsupported = || Error::UnsupportedAlgorithm(format!("{scheme:?} of a digest"));
        let mut hash = self.hash(scheme.hash_algorithm().ok_or_else(unsupported)?)?;
        // Without the message of a digest, *ring* cannot verify its signature.
        MESSAGE.with_borrow(|message| {
            hash.update(message);
            match hash.finalize() == digest {
                true => self.verify_raw(scheme, key, message, signature),
                false => Err(unsupported()),
            }
        })
    }
}

/// Returns the algorithm of a scheme.
fn algorithm(scheme: SigningScheme) -> Result<&'static dyn VerificationAlgorithm> {
    Ok(match scheme {
        SigningScheme::EcdsaP256Sha256 => &signature::ECDSA_P256_SHA256_ASN1,
        SigningScheme::EcdsaP256Sha384 => &signature::ECDSA_P256_SHA384_ASN1,
        SigningScheme::EcdsaP384Sha256 => &signature::ECDSA_P384_SHA256_ASN1,
        SigningScheme::EcdsaP384Sha384 => &signature::ECDSA_P384_SHA384_ASN1,
        SigningScheme::Ed25519 => &signature::ED25519,
        SigningScheme::RsaPssSha256 => &signature::RSA_PSS_2048_8192_SHA256,
        SigningScheme::RsaPssSha384 => &signature::RSA_PSS_2048_8192_SHA384,
        SigningScheme::RsaPssSha512 => &signature::RSA_PSS_2048_8192_SHA512,
        SigningScheme::RsaPkcs1Sha256 => &signature::RSA_PKCS1_2048_8192_SHA256,
        SigningScheme::RsaPkcs1Sha384 => &signature::RSA_PKCS1_2048_8192_SHA384,
        SigningScheme::RsaPkcs1Sha512 => &signature::RSA_PKCS1_2048_8192_SHA512,
        other => return Err(Error::UnsupportedAlgorithm(format!("{other:?}"))),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each word of a scheme is in the name of *ring*'s algorithm.
    #[test]
    fn schemes_have_the_algorithm_of_their_name() {
        for scheme in [
            SigningScheme::EcdsaP256Sha256,
            SigningScheme::EcdsaP256Sha384,
            SigningScheme::EcdsaP384Sha256,
            SigningScheme::EcdsaP384Sha384,
            SigningScheme::Ed25519,
            SigningScheme::RsaPssSha256,
            SigningScheme::RsaPssSha384,
            SigningScheme::RsaPssSha512,
            SigningScheme::RsaPkcs1Sha256,
            SigningScheme::RsaPkcs1Sha384,
            SigningScheme::RsaPkcs1Sha512,
        ] {
            let name = format!("{:?}", algorithm(scheme).expect("an algorithm")).to_uppercase();
            let scheme = format!("{scheme:?}");
            let starts = scheme.match_indices(char::is_uppercase).map(|(at, _)| at);
            let ends = starts.clone().skip(1).chain([scheme.len()]);
            for (start, end) in starts.zip(ends) {
                assert!(name.contains(&scheme[start..end].to_uppercase()), "{scheme}: {name}");
            }
        }
    }

    #[test]
    fn hashes_have_the_length_of_their_name() {
        for (algorithm, bytes) in [
            (HashAlgorithm::Sha2256, 32),
            (HashAlgorithm::Sha2384, 48),
            (HashAlgorithm::Sha2512, 64),
        ] {
            assert_eq!(Ring.hash(algorithm).expect("a hash").finalize().len(), bytes);
        }
    }
}
