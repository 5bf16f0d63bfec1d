//! The `[[verify]]` tables, with their keys and roots.

use super::signers::Signers;
use super::{PublicKey, keyless, unusable};
use crate::config::{Text, Verification, VerificationRule};
use crate::diag::{Code, Fatal, Span};
use crate::failure;
use crate::reference::{Reference, usual_prefix};
use crate::regular_file;
use std::path::Path;

/// Bytes of a PEM file; a key of RSA 8192 has about 1.5 KiB.
const KEY_BYTES: u64 = 256 << 10;

/// The signatures that images must have, by prefix.
#[derive(Debug)]
pub(crate) struct Policy {
    tables: Vec<Table>,
}

/// A `[[verify]]` table.
#[derive(Debug)]
pub(super) struct Table {
    /// The prefix of names, in its usual spelling.
    prefix: String,
    pub(super) rule: Rule,
    /// Its place in the configuration.
    pub(super) span: Span,
}

/// The requirement for the images of a table.
#[derive(Debug)]
pub(super) enum Rule {
    /// One of the signers must have signed it.
    Signed(Signers),
    /// Nothing is verified.
    Insecure,
    /// The image must not be used, unless another table allows it.
    Require,
}

impl Policy {
    /// Reads the keys and roots of all tables; their paths are relative to `base`.
    ///
    /// # Errors
    /// If one cannot be used, at its place in the configuration.
    pub(crate) fn read(tables: &[Verification], base: &Path) -> Result<Self, Fatal> {
        let mut policy = Policy { tables: Vec::new() };
        for table in tables {
            let prefix = checked_prefix(table, &policy)?;
            let rule = match &table.rule {
                VerificationRule::Insecure => Rule::Insecure,
                VerificationRule::Require => Rule::Require,
                VerificationRule::Keys(files) => {
                    Rule::Signed(Signers::Keys(read_keys(files, base)?))
                }
                VerificationRule::Identity(accepted) => {
                    Rule::Signed(keyless::signers(accepted, base)?)
                }
            };
            policy.tables.push(Table { prefix, rule, span: table.span.clone() });
        }
        Ok(policy)
    }

    /// Returns the table with the requirement for an image, that of the longest prefix; `None` if
    /// nothing is verified.
    pub(super) fn table(&self, reference: &Reference) -> Option<&Table> {
        let matching = self.tables.iter().filter(|table| reference.is_below(&table.prefix));
        let longest = matching.max_by_key(|table| table.prefix.len());
        // After the choice: an insecure table exempts its images from one with a shorter prefix.
        longest.filter(|table| !matches!(table.rule, Rule::Insecure))
    }
}

/// Returns the prefix of a table in its usual spelling. One that no image has is an error: what it
/// should select would not be verified.
fn checked_prefix(table: &Verification, policy: &Policy) -> Result<String, Fatal> {
    let shown = table.prefix.escape_debug();
    let invalid = |message: String, hint: &str| {
        Fatal::from(failure(Code::InvalidValue, message, hint).at(&table.span))
    };
    let is_prefix = Reference::parse(&format!("{}/image", table.prefix)).is_ok();
    if !table.prefix.is_empty() && !is_prefix {
        let hint = "write a registry or a part of its repositories, such as `registry.example.com` \
            or `registry.example.com/team`, without wildcards, tag and digest";
        return Err(invalid(format!("no image begins with the prefix `{shown}`"), hint));
    }

    let prefix = usual_prefix(&table.prefix);
    if let Some(first) = policy.tables.iter().find(|first| first.prefix == prefix) {
        let message = format!("duplicate `[[verify]]` table for `{shown}`");
        let hint = format!("merge it with the table for `{}`, the same registry", first.prefix);
        return Err(invalid(message, &hint));
    }
    Ok(prefix)
}

fn read_keys(files: &[Text], base: &Path) -> Result<Vec<PublicKey>, Fatal> {
    let mut keys = Vec::new();
    for file in files {
        let found = regular_file::read(&base.join(&file.text), KEY_BYTES)
            .map_err(|error| error.to_string())
            .and_then(|pem| PublicKey::read(&file.text, &pem));
        let hint = "use a PEM file with a public key (ECDSA P-256 or P-384, RSA of 2048 to 8192 \
            bits, Ed25519), relative to the configuration, for example from `cosign public-key \
            --key cosign.key`";
        keys.extend(found.map_err(|why| unusable(file, "key", &why, hint))?);
    }
    Ok(keys)
}
