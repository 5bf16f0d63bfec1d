//! `[[verify]]`: signatures that images must have.

use super::*;
use regex::Regex;

table! {
    /// Signatures that images must have. Without such a table, signatures are not verified. Of
    /// several tables, the one with the longest matching `prefix` applies.
    pub struct VerifyTable at "[[verify]]",
        one of ["key", "identity", "identity-regexp", "insecure", "require"],
        checked by verification as Verification
    {
        /// Prefix of image references, up to a `/` or the end, for example `registry.redhat.io`.
        /// With mirrors, it is still the original reference that counts. Default: all images.
        prefix: Option<ReferencePrefix>;
        /// PEM files with public keys (ECDSA P-256 or P-384, RSA, Ed25519), relative to this file:
        /// one of them must have signed the image with cosign.
        key: Option<Vec<Placed<Filled>>>;
        /// Identity that must have signed the image (keyless): the email address or URI in the
        /// certificate, as for `cosign verify --certificate-identity`.
        identity: Option<Word>, needs ["issuer", "roots"];
        /// Regular expression for such identities, for example of a workflow at any tag. It must
        /// match the whole identity.
        identity_regexp: Option<Placed<Filled>>, needs ["issuer", "roots"];
        /// URL of the OpenID Connect issuer of the identity, for example
        /// `https://token.actions.githubusercontent.com`.
        issuer: Option<Word>, needs ["roots"];
        /// JSON file with the certificate authorities and logs that are trusted (a `TrustedRoot` of
        /// sigstore), relative to this file. Verification needs nothing from the network.
        roots: Option<Placed<Filled>>, needs ["issuer"];
        /// `true`: do not verify signatures of images with this prefix.
        insecure: bool;
        /// `true`: reject images with this prefix, unless a table with a longer prefix applies.
        require: bool;
        /// The table in the file.
        span: Header;
    }
}

/// `[[verify]]`: the rule for images whose references start with `prefix`.
#[derive(Clone, Debug)]
pub struct Verification {
    /// Prefix of a reference on a `/` boundary, for example `registry.redhat.io`; empty for all
    /// registries.
    pub prefix: String,
    /// The rule.
    pub rule: VerificationRule,
    /// The table in the file.
    pub span: Span,
}

/// The rule of a `[[verify]]` table, after the requirements of containers-policy.json.
#[derive(Clone, Debug)]
pub enum VerificationRule {
    /// `key`: one of the public keys in these PEM files, relative to the configuration, must have
    /// signed the image.
    Keys(Vec<Text>),
    /// `identity` or `identity-regexp`: the image must have a keyless signature by it.
    Identity(CertificateIdentity),
    /// `insecure = true`: signatures are not verified.
    Insecure,
    /// `require = true`: images are rejected, because a table with a longer prefix must say who signs
    /// them.
    Require,
}

/// The signer of keyless signatures: the identity in a certificate that was issued for it.
#[derive(Clone, Debug)]
pub struct CertificateIdentity {
    /// The identity: an email address or a URI.
    pub identity: IdentityMatch,
    /// `issuer`: URL of the OpenID Connect issuer that knows the identity.
    pub issuer: String,
    /// `roots`: a file with a `TrustedRoot` of sigstore, relative to the configuration.
    pub roots: Text,
}

/// The identities that a table accepts.
#[derive(Clone, Debug)]
pub enum IdentityMatch {
    /// `identity`: exactly this one.
    Exact(String),
    /// `identity-regexp`: those that match this expression as a whole.
    Pattern {
        /// The expression as written.
        text: String,
        /// The expression with anchors.
        pattern: Regex,
    },
}

/// Returns the table with its one rule.
fn verification(
    table: VerifyTable,
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
) -> Option<Verification> {
    let has_identity = fields.has("identity") || fields.has("identity-regexp");
    for name in ["issuer", "roots"].into_iter().filter(|name| !has_identity && fields.has(name)) {
        let message = format!("`{name}` has no meaning without `identity` or `identity-regexp`");
        let hint = format!("add `identity`, or remove `{name}`");
        reader.error(Code::InvalidValue, &fields.place(name), message, hint);
    }
    for (name, value) in [("insecure", table.insecure), ("require", table.require)] {
        // The key itself is the rule of the table, which `false` would leave without one.
        if fields.has(name) && !value {
            let message = format!("`{name} = false` has no meaning");
            let hint = format!("write `{name} = true`, or remove the table");
            reader.error(Code::InvalidValue, &fields.place(name), message, hint);
            return None;
        }
    }

    let identity = match (table.identity, table.identity_regexp) {
        (Some(text), _) => Some(IdentityMatch::Exact(text)),
        (None, Some(text)) => Some(pattern(reader, text)?),
        (None, None) => None,
    };
    // `one of` and `needs` have reported what is too much or missing here.
    let rule = match identity {
        _ if table.insecure => VerificationRule::Insecure,
        _ if table.require => VerificationRule::Require,
        Some(identity) => VerificationRule::Identity(CertificateIdentity {
            identity,
            issuer: table.issuer?,
            roots: table.roots?,
        }),
        None => VerificationRule::Keys(table.key?),
    };
    if matches!(&rule, VerificationRule::Keys(files) if files.is_empty()) {
        let hint = "list a file, for example `key = [\"keys/vendor.pem\"]`";
        reader.error(Code::InvalidValue, &fields.place("key"), "`key` has no file", hint);
        return None;
    }
    Some(Verification { prefix: table.prefix.unwrap_or_default(), rule, span: table.span })
}

/// Returns the identities of a regular expression.
fn pattern(reader: &mut Reader<'_>, Text { text, span }: Text) -> Option<IdentityMatch> {
    // Without anchors, `example.com` would accept `https://example.com.attacker.net`.
    match Regex::new(&format!("^(?:{text})$")) {
        Ok(pattern) => Some(IdentityMatch::Pattern { text, pattern }),
        Err(error) => {
            let reason = error.to_string();
            let reason = reason.lines().last().unwrap_or_default().trim_start_matches("error: ");
            let message = format!("`identity-regexp` is not a regular expression: {reason}");
            let hint = "write `\\\\.` for a dot, or use `identity` for one exact identity";
            reader.found.error(Code::InvalidValue, &span, message, hint);
            None
        }
    }
}

/// Removes tables with the prefix of an earlier one; reports them.
pub(crate) fn distinct(reader: &mut Reader<'_>, tables: Vec<Verification>) -> Vec<Verification> {
    let describe = |table: &Verification| {
        let message = match table.prefix.as_str() {
            "" => "duplicate `[[verify]]` table without `prefix`".to_owned(),
            prefix => format!("duplicate `[[verify]]` table for `{prefix}`"),
        };
        (message, "merge them into one table: `key` can list several files")
    };
    let prefix = |table: &Verification| table.prefix.clone();
    reader.unique(Code::InvalidValue, tables, prefix, |table| &table.span, describe)
}
