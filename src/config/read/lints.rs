//! Reads `[lints]`, also of a bundle or chart.

use super::reader::{Fields, Reader};
use crate::Lints;
use crate::diag::{Code, LintLevel, suggest};

/// Returns the levels of codes in the table `lints`.
pub(super) fn read(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Lints {
    let mut lints = Lints::new();
    for ((name, range), (text, place)) in fields.entries("lints") {
        let code = Code::ALL.iter().copied().find(|code| code.as_str() == name);
        if code.is_none() {
            let known: Vec<&str> = Code::ALL.iter().map(|code| code.as_str()).collect();
            let hint = match suggest::nearest(name, &known) {
                Some(known) => format!("did you mean `{known}`?"),
                None => "write the code in brackets of a warning or note, such as \
                    `run-as-user-missing`"
                    .to_owned(),
            };
            let message = format!("unknown diagnostic code `{name}`");
            reader.error(Code::UnknownKey, &range, message, hint);
        }

        let level = match text {
            "allow" => Some(LintLevel::Allow),
            "deny" => Some(LintLevel::Deny),
            _ => {
                let message = format!("unknown lint level `{text}`");
                reader.error(Code::InvalidValue, &place, message, "write `allow` or `deny`");
                None
            }
        };

        lints.extend(code.zip(level));
    }
    lints
}
