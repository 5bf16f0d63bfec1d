//! Reads `[[verify]]`.

use super::reader::{Fields, Reader};
use super::values;
use crate::diag::{Code, Diagnostic, Place};
use crate::keys::VERIFY;
use crate::{CertificateIdentity, IdentityMatch, Text, Verification, VerificationRule};
use regex::Regex;

pub(super) fn read(reader: &mut Reader<'_>, root: &Fields<'_>) -> Vec<Verification> {
    let mut verifications: Vec<Verification> = Vec::new();
    for (table, header) in root.tables("verify") {
        let fields = reader.fields(&VERIFY, header, table);
        let prefix = match fields.text("prefix") {
            Some(at) => values::reference_prefix(reader, "prefix", at),
            None => Some(String::new()),
        };
        let (Some(prefix), Some(rule)) = (prefix, rule(reader, &fields)) else { continue };
        let span = reader.span(fields.header.clone());

        if let Some(first) = verifications.iter().find(|other| other.prefix == prefix) {
            let message = match prefix.as_str() {
                "" => "duplicate `[[verify]]` table without `prefix`".to_owned(),
                prefix => format!("duplicate `[[verify]]` table for `{prefix}`"),
            };
            let diagnostic = Diagnostic::error(Code::InvalidValue, message)
                .at(Place::span(span))
                .related(Place::span(first.span.clone()), "first defined here")
                .hint("merge them into one table: `key` can list several files");
            reader.found.push(diagnostic);
            continue;
        }
        verifications.push(Verification { prefix, rule, span });
    }

    verifications
}

/// Returns the rule of a table. That there is exactly one was checked with its keys.
fn rule(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<VerificationRule> {
    let has_identity = ["identity", "identity-regexp"].iter().any(|key| fields.text(key).is_some());
    for name in ["issuer", "roots"].into_iter().filter(|_| !has_identity) {
        if fields.text(name).is_some() {
            let message =
                format!("`{name}` has no meaning without `identity` or `identity-regexp`");
            let hint = format!("add `identity`, or remove `{name}`");
            reader.error(Code::InvalidValue, &fields.place(name), message, hint);
        }
    }

    for (name, rule) in
        [("insecure", VerificationRule::Insecure), ("require", VerificationRule::Require)]
    {
        match fields.boolean(name) {
            Some(true) => return Some(rule),
            Some(false) => {
                let range = fields.place(name);
                let message = format!("`{name} = false` has no meaning");
                let hint = format!("write `{name} = true`, or remove the table");
                reader.error(Code::InvalidValue, &range, message, hint);
                return None;
            }
            None => {}
        }
    }

    if let Some(identity) = identity(reader, fields) {
        return certificate_identity(reader, fields, identity);
    }
    keys(reader, fields)
}

/// Returns the public keys of a table.
fn keys(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<VerificationRule> {
    let (listed, range) = fields.texts("key")?;
    if listed.is_empty() {
        let hint = "list a file, for example `key = [\"keys/vendor.pem\"]`";
        reader.error(Code::InvalidValue, &range, "`key` has no file", hint);
        return None;
    }
    let count = listed.len();
    let files: Vec<Text> = listed
        .into_iter()
        .filter_map(|(text, range)| {
            let span = reader.span(range.clone());
            Some(Text { text: values::path(reader, "key", (text, range))?, span })
        })
        .collect();
    (files.len() == count).then_some(VerificationRule::Keys(files))
}

/// Returns the identities of keyless signatures, `None` without a valid one.
fn identity(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<IdentityMatch> {
    if let Some(at) = fields.text("identity") {
        return Some(IdentityMatch::Exact(values::word(reader, "identity", at)?.text));
    }
    let (text, range) = fields.text("identity-regexp")?;
    let text = values::filled(reader, "identity-regexp", (text, range.clone()))?.to_owned();
    // Without anchors, `example.com` would accept `https://example.com.attacker.net`.
    match Regex::new(&format!("^(?:{text})$")) {
        Ok(pattern) => Some(IdentityMatch::Pattern { text, pattern }),
        Err(error) => {
            let reason = error.to_string();
            let reason = reason.lines().last().unwrap_or_default().trim_start_matches("error: ");
            let message = format!("`identity-regexp` is not a regular expression: {reason}");
            let hint = "write `\\\\.` for a dot, or use `identity` for one exact identity";
            reader.error(Code::InvalidValue, &range, message, hint);
            None
        }
    }
}

/// Returns the rule for keyless signatures. That `issuer` and `roots` are there was checked with the
/// keys.
fn certificate_identity(
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
    identity: IdentityMatch,
) -> Option<VerificationRule> {
    let issuer = values::word(reader, "issuer", fields.text("issuer")?)?.text;
    let (text, range) = fields.text("roots")?;
    let text = values::path(reader, "roots", (text, range.clone()))?;
    let roots = Text { text, span: reader.span(range) };
    Some(VerificationRule::Identity(CertificateIdentity { identity, issuer, roots }))
}
