//! The keys of `[[verify]]`.

use super::{Kind, Table, optional};

/// `[[verify]]`
pub static VERIFY: Table = Table {
    header: "[[verify]]",
    doc: "Signatures that images must have. Without such a table, signatures are not verified. Of \
        several tables, the one with the longest matching `prefix` applies.",
    exactly_one_of: &["key", "identity", "identity-regexp", "insecure", "require"],
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
            "identity",
            Kind::String(None),
            "Identity that must have signed the image (keyless): the email address or URI in the \
                certificate, as for `cosign verify --certificate-identity`.",
        )
        .with(&["issuer", "roots"]),
        optional(
            "identity-regexp",
            Kind::String(None),
            "Regular expression for such identities, for example of a workflow at any tag. It must \
                match the whole identity.",
        )
        .with(&["issuer", "roots"]),
        optional(
            "issuer",
            Kind::String(None),
            "URL of the OpenID Connect issuer of the identity, for example \
                `https://token.actions.githubusercontent.com`.",
        )
        .with(&["roots"]),
        optional(
            "roots",
            Kind::String(None),
            "JSON file with the certificate authorities and logs that are trusted (a `TrustedRoot` of \
                sigstore), relative to this file. Verification needs nothing from the network.",
        )
        .with(&["issuer"]),
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
