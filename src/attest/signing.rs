//! Signatures by the user's own key: ECDSA P-256 with SHA-256, as cosign has it.
//!
//! The key is in memory, or a command signs, so that it can be in any key management service.

use crate::diag::{Code, Diagnostic, Fatal};
use crate::source::cosign::SIMPLE_SIGNING_PAYLOAD;
use crate::source::sign_with;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::json;
use sha2::{Digest as _, Sha256};

/// Name of the environment variable with the key.
pub(crate) const KEY_VARIABLE: &str = "BUNDLE2CHART_SIGNING_KEY";

/// The bytes of a P-256 public key in DER before its point (RFC 5480).
const PUBLIC_KEY_HEAD: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a,
    0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];

/// The first byte of an ECDSA signature in DER, a sequence.
const SEQUENCE: u8 = 0x30;

/// Signs bytes. It has no `Debug`, so that nothing can print the key.
pub(crate) enum Signer {
    /// A key in memory.
    Key(Box<EcdsaKeyPair>),
    /// A command of the user, which gets the bytes on stdin and prints the signature, in DER or
    /// base64.
    Command(String),
}

impl Signer {
    /// Parses a key: PKCS#8 in PEM, not encrypted.
    ///
    /// # Errors
    /// If it is something else. Errors never have a part of the key.
    pub(crate) fn from_pem(pem: &str) -> Result<Self, Fatal> {
        let invalid = |why: &str, hint: &str| {
            let message = format!("cannot use the key in {KEY_VARIABLE}: {why}");
            Box::new(Diagnostic::error(Code::SigningFailed, message).hint(hint))
        };
        let new_key = "create one with `openssl genpkey -algorithm EC -pkeyopt \
            ec_paramgen_curve:P-256`, or sign with `--sign-command`";
        // Text may come before it (RFC 7468, 2), and what `openssl ecparam -genkey` writes first.
        let is_key = |line: &&str| {
            line.starts_with("-----BEGIN ") && *line != "-----BEGIN EC PARAMETERS-----"
        };
        let mut lines = pem.lines().map(str::trim).skip_while(|line| !is_key(line));
        let first = lines.next().ok_or_else(|| invalid("it is not PEM", new_key))?;
        match first {
            "-----BEGIN PRIVATE KEY-----" => {}
            // The form of SEC 1, which `openssl ecparam -genkey -noout` writes; ring reads PKCS#8
            // only.
            "-----BEGIN EC PRIVATE KEY-----" => {
                let hint = "convert it with `openssl pkcs8 -topk8 -nocrypt`";
                return Err(invalid("it is not PKCS#8", hint));
            }
            _ if first.contains("ENCRYPTED") => {
                let hint = "decrypt it with `openssl pkcs8`, or sign with `--sign-command`";
                return Err(invalid("it is encrypted", hint));
            }
            _ => return Err(invalid("it is not a private key", new_key)),
        }

        let body: String = lines.take_while(|line| !line.starts_with("-----END ")).collect();
        let der = STANDARD.decode(body).map_err(|_| invalid("it is not base64", new_key))?;
        let random = SystemRandom::new();
        let key = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &der, &random);
        let key = key.map_err(|_| invalid("it is not an ECDSA P-256 key", new_key))?;
        Ok(Signer::Key(Box::new(key)))
    }

    /// Returns the signature of a message in DER.
    ///
    /// # Errors
    /// If the command fails or prints no signature.
    pub(crate) fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Fatal> {
        match self {
            Signer::Key(key) => {
                let signature = key.sign(&SystemRandom::new(), message).map_err(|_| {
                    let message = "cannot sign: the system has no random numbers";
                    Diagnostic::error(Code::SigningFailed, message)
                })?;
                Ok(signature.as_ref().to_vec())
            }
            Signer::Command(command) => {
                let printed = sign_with(command, message)?;
                let text: Option<String> = std::str::from_utf8(&printed)
                    .ok()
                    // Tools wrap base64, or end it with a line break.
                    .map(|text| text.split_whitespace().collect());
                let decoded = text.and_then(|text| STANDARD.decode(text).ok());

                let is_signature = |bytes: &Vec<u8>| bytes.first() == Some(&SEQUENCE);
                decoded.filter(is_signature).or(Some(printed).filter(is_signature)).ok_or_else(
                    || {
                        let message = "the command of `--sign-command` printed no ECDSA signature";
                        let hint = "print the signature of stdin, in DER or base64";
                        Diagnostic::error(Code::SigningFailed, message).hint(hint).into()
                    },
                )
            }
        }
    }

    /// Returns what a bundle says about the public key: its digest in base64, as cosign has it; empty
    /// for a command, whose key is not known.
    pub(super) fn hint(&self) -> String {
        match self {
            Signer::Key(key) => {
                // cosign hashes the PKIX form of the key; ring has its point only.
                let der = [&PUBLIC_KEY_HEAD[..], key.public_key().as_ref()].concat();
                STANDARD.encode(Sha256::digest(der))
            }
            Signer::Command(_) => String::new(),
        }
    }
}

/// Returns the payload that cosign signs for an image or artifact.
///
/// <https://github.com/sigstore/cosign/blob/main/specs/SIGNATURE_SPEC.md>
pub(super) fn simple_signing(repository: &str, digest: &str) -> Vec<u8> {
    let payload = json!({
        "critical": {
            "identity": { "docker-reference": repository },
            "image": { "docker-manifest-digest": digest },
            "type": SIMPLE_SIGNING_PAYLOAD,
        },
        "optional": null,
    });
    payload.to_string().into_bytes()
}

#[cfg(test)]
mod tests;
