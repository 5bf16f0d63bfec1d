//! `[[ignore]]`: changes that reports leave out.

use super::*;
use crate::ir::{Ignore, Pattern};

table! {
    /// Changes that `diff`, and the reports written by `build`, ignore and count.
    pub struct IgnoreTable at "[[ignore]]", checked by ignore as Ignore {
        /// Object, field or both: `KIND/NAME`, `.spec.replicas`,
        /// `Deployment/manager:.spec.replicas`. `*` matches any characters of a segment, `**` any
        /// segments of a path.
        path: PatternText;
        /// Reason, shown in every report.
        reason: Reason;
    }
}

fn ignore(table: IgnoreTable, _: &mut Reader<'_>, _: &Fields<'_>) -> Option<Ignore> {
    Some(Ignore { pattern: table.path, reason: table.reason })
}

/// A pattern of objects and fields.
pub struct PatternText;

impl Form for PatternText {
    type Value = Pattern;
    const KIND: Kind = Any::KIND;

    fn read(reader: &mut Reader<'_>, _: &Key, value: &Node<'_>) -> Option<Pattern> {
        let hint = "run `bundle2chart explain invalid-pattern` for the syntax";
        Pattern::parse(value.get_ref().as_str()?)
            .map_err(|why| reader.error(Code::InvalidPattern, &value.span(), why, hint))
            .ok()
    }
}

/// The reason for ignoring changes.
pub struct Reason;

impl Rule for Reason {
    const PATTERN: Option<&'static str> = None;

    fn fault(_: &Key, text: &str) -> Option<(String, String)> {
        let hint = "give the reason why these changes can be ignored";
        text.trim().is_empty().then(|| ("`reason` is empty".to_owned(), hint.to_owned()))
    }
}
