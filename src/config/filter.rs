//! Diagnostics about the jq programs of a configuration.

use super::*;
use crate::ir::Object;
use crate::jq::{self, Excess, Failure, ProgramError};

impl Filter {
    /// Reports a program that cannot be used.
    pub fn unusable(&self, error: ProgramError) -> Diagnostic {
        Diagnostic::error(Code::InvalidFilter, error.message).at(self.place()).hint(error.hint)
    }

    /// Reports a filter that failed on `objects`; `first` is the failure for the first one.
    pub fn failed(&self, objects: &str, first: &Failure) -> Diagnostic {
        let text = &self.text;
        let (message, hint) = match first {
            Failure::InvalidRegex(_) => (
                format!("filter `{text}` fails on {objects}"),
                "to match a character such as `(` or `.` literally, escape it with two \
                    backslashes: \"\\\\.example$\""
                    .to_owned(),
            ),
            Failure::Error(_) => (
                format!("filter `{text}` fails on {objects}"),
                "a filter must be true or false for every object: if a field may be missing or of \
                    another type, write `.field?` or `(.field // \"\")`"
                    .to_owned(),
            ),
            Failure::NotCondition(given) => (
                format!("filter `{text}` returns {given} for {objects}, not true or false"),
                match text.trim().strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
                    // `.kind = "Route"` assigns and returns the whole object.
                    _ if given == "an object" => {
                        "to compare, write `==`: `.kind == \"Route\"`".to_owned()
                    }
                    // A kind in quotes, in place of a condition.
                    Some(kind) if kind.chars().all(char::is_alphanumeric) => jq::kind_hint(kind),
                    _ => {
                        "write a condition, such as `.kind == \"Route\"`; to test that a field is \
                        set, write `.spec.replicas != null`"
                            .to_owned()
                    }
                },
            ),
        };

        Diagnostic::error(Code::FilterFailed, message).at(self.place()).hint(hint)
    }

    /// Reports a program that was stopped on `object`.
    pub fn stopped(&self, object: &Object, excess: &Excess) -> Diagnostic {
        let message = format!("jq program `{}` stopped on {}: {excess}", self.text, object.label());
        Diagnostic::error(Code::FilterBudget, message)
            .at(self.place())
            .related(object.place(), "the object")
            .hint(
                "check for infinite loops (`repeat`, `until`, `recurse`, a `def` that calls \
                    itself) and for exponential growth (`. + .`, `[., .]`, `*`)",
            )
    }

    /// Returns the place of the program in the configuration.
    pub fn place(&self) -> Place {
        Place::span(self.span.clone())
    }
}
