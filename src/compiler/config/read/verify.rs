//! Reads `[[verify]]`.

use super::reader::{Fields, Reader};
use super::values;
use crate::config::keys::VERIFY;
use crate::config::{Text, Verification, VerificationRule};
use crate::diag::{Code, Diagnostic, Place};

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
