//! The keys of `[[verify]]`.

use super::{Kind, Table, optional};

/// `[[verify]]`
pub static VERIFY: Table = Table {
    header: "[[verify]]",
    doc: "Signatures that images must have. Without such a table, signatures are not verified. Of \
        several tables, the one with the longest matching `prefix` applies.",
    exactly_one_of: &["key", "insecure", "require"],
    keys: &[
        optional(
            "prefix",
            Kind::String(Some("^[^/:@\\s]([^@\\s]*[^/:@\\s])?$")),
            "Prefix of image references, up to a `/` or the end, for example `registry.redhat.io`. \
                With mirrors, it is still the original reference that counts. Default: all images.",
        ),
        optional(
            "key",
            Kind::Strings(None),
            "PEM files with public keys (ECDSA P-256 or P-384, RSA, Ed25519), relative to this \
                file: one of them must have signed the image with cosign.",
        ),
        optional(
            "insecure",
            Kind::Boolean,
            "`true`: do not verify signatures of images with this prefix.",
        ),
        optional(
            "require",
            Kind::Boolean,
            "`true`: reject images with this prefix, unless a table with a longer prefix applies.",
        ),
    ],
};
