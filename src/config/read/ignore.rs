//! Reads `[[ignore]]`.

use super::reader::{Fields, Reader};
use crate::diag::Code;
use crate::ir::{Ignore, Pattern};
use crate::keys::IGNORE;

pub(super) fn read(reader: &mut Reader<'_>, root: &Fields<'_>) -> Vec<Ignore> {
    let mut ignores = Vec::new();
    for (table, header) in root.tables("ignore") {
        let fields = reader.fields(&IGNORE, header, table);
        let reason = fields.text("reason").map(|(text, range)| {
            if text.trim().is_empty() {
                let hint = "give the reason why these changes can be ignored";
                reader.error(Code::InvalidValue, &range, "`reason` is empty", hint);
            }
            text.to_owned()
        });
        let Some((text, range)) = fields.text("path") else { continue };
        match Pattern::parse(text) {
            Ok(pattern) => {
                ignores.push(Ignore { pattern, reason: reason.unwrap_or_default() });
            }
            Err(why) => {
                let hint = "run `bundle2chart explain invalid-pattern` for the syntax";
                reader.error(Code::InvalidPattern, &range, why, hint);
            }
        }
    }
    ignores
}
