//! Public keys of a build without the feature `registry`: signatures cannot be verified, so every
//! key is an error.

/// A public key; this build has none.
#[derive(Debug)]
pub(super) struct PublicKey {
    pub(super) file: String,
    pub(super) fingerprint: String,
}

impl PublicKey {
    pub(super) fn read(_: &str, _: &[u8]) -> Result<Vec<PublicKey>, String> {
        Err("bundle2chart was built without the feature `registry`, which verifies signatures"
            .to_owned())
    }

    pub(super) fn verifies(&self, _: &[u8], _: &[u8]) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_errors() {
        let why =
            "bundle2chart was built without the feature `registry`, which verifies signatures";
        assert_eq!(PublicKey::read("", b"").unwrap_err(), why);
    }
}
