//! Errors in the text of a program, with their positions.

use super::library;
use crate::diag::suggest;
use jaq_core::compile::Undefined;
use jaq_core::load::lex;
use jaq_core::load::{parse, span};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Longest program, in bytes.
pub const SOURCE_LIMIT: usize = 4 << 10;
/// Deepest nesting of brackets in a program.
pub const NESTING_LIMIT: usize = 64;

/// The reason why a program cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramError {
    /// The problem.
    pub message: String,
    /// The remedy.
    pub hint: String,
    /// The position, in bytes of the program's text; may be empty, at the end of the text.
    pub range: Range<usize>,
}

impl ProgramError {
    pub(super) fn invalid(
        range: Range<usize>,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        ProgramError { message: message.into(), hint: hint.into(), range }
    }
}

/// Rejects what could exhaust the stack of the parser, by looking at bytes only.
pub(super) fn bounded(text: &str) -> Result<(), ProgramError> {
    if text.trim().is_empty() {
        return Err(ProgramError::invalid(
            0..text.len(),
            "this filter is empty",
            "write a condition such as `.kind == \"Route\"`, or remove the filter",
        ));
    }

    if text.len() > SOURCE_LIMIT {
        return Err(ProgramError::invalid(
            0..text.len(),
            format!("this filter has {} bytes; the limit is {SOURCE_LIMIT}", text.len()),
            "split it into several filters: an object is removed if any `exclude` filter matches",
        ));
    }

    let mut depth = 0_usize;
    // Brackets in strings count, too: an estimate is enough, and needs no lexer.
    for (offset, byte) in text.bytes().enumerate() {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > NESTING_LIMIT {
            return Err(ProgramError::invalid(
                offset..offset + 1,
                format!("this filter is nested deeper than {NESTING_LIMIT} brackets"),
                "simplify it, or split it into several filters",
            ));
        }
    }

    Ok(())
}

pub(super) fn lexical(text: &str, errors: &[lex::Error<&str>]) -> ProgramError {
    let Some((expected, rest)) = errors.first() else { return unexplained(text) };
    let start = span(text, rest).start;
    let length = rest.chars().next().map_or(0, char::len_utf8);
    let hint = match expected {
        lex::Expect::Token if rest.starts_with([')', ']', '}']) => "remove this unmatched bracket",
        lex::Expect::Token if rest.starts_with('\'') => "use double quotes for jq strings: \"…\"",
        lex::Expect::Token if rest.starts_with('&') => "write `and` to combine conditions",
        lex::Expect::Delim(_) => "close this bracket or quote",
        _ => "see the jq manual for the syntax",
    };
    let found = rest.chars().next().map_or("the end".to_owned(), |found| format!("`{found}`"));
    let message = match expected {
        lex::Expect::Token => format!("invalid jq filter: unexpected {found}"),
        _ => {
            format!("invalid jq filter: expected a {}, found {found}", expected.as_str())
        }
    };
    ProgramError::invalid(start..start + length, message, hint)
}

pub(super) fn syntactic(text: &str, errors: &[parse::TError<'_, &str>]) -> ProgramError {
    let Some((expected, found)) = errors.first() else { return unexplained(text) };
    let part = lex::Token::opt_as_str(*found, text);
    let found = match part {
        "" => "the end".to_owned(),
        // The parser returns the whole bracketed part; show its start.
        part => format!("`{}`", part.chars().take(20).collect::<String>()),
    };
    let expected = match expected.as_str() {
        "nothing" => "an operator such as `|`, `==` or `and`, or the end".to_owned(),
        "term" => "a value, a path or a filter".to_owned(),
        word @ ("identifier" | "argument" | "else or end") => format!("an {word}"),
        word if word.len() > 4 => format!("a {word}"),
        word => format!("`{word}`"),
    };
    let hint = match part {
        "=" => "write `==` to compare",
        _ if part.starts_with("||") => "write `or` to combine conditions",
        _ => "see the jq manual for the syntax",
    };
    let message = format!("invalid jq filter: expected {expected}, found {found}");
    ProgramError::invalid(span(text, part), message, hint)
}

pub(super) fn unexplained(text: &str) -> ProgramError {
    ProgramError::invalid(0..text.len(), "invalid jq filter", "see the jq manual")
}

/// Returns the range of `part` in `text`; the whole text if it is elsewhere.
fn range(text: &str, part: &str) -> Range<usize> {
    let (start, place) = (text.as_ptr() as usize, part.as_ptr() as usize);
    // Parts of the library's own definitions are not in the text.
    let inside = place >= start && place + part.len() <= start + text.len();
    if inside { span(text, part) } else { 0..text.len() }
}

/// Returns a name that the program uses and nothing defines.
pub(super) fn undefined(text: &str, name: &str, kind: &Undefined) -> ProgramError {
    let place = range(text, name);
    if let Some(why) = library::withheld(name) {
        return ProgramError::invalid(
            place,
            format!("`{name}` is not available: {why}"),
            "use only the input object: filters must give the same result everywhere",
        );
    }

    let Undefined::Filter(arguments) = kind else {
        return ProgramError::invalid(
            place,
            format!("undefined {} `{name}`", kind.as_str()),
            "define it before it is used: `.metadata.name as $name | …`, `label $out | … break $out`",
        );
    };

    let known = library::signatures();
    let arities: Vec<String> = known
        .iter()
        .filter(|(known, _)| known == name)
        .map(|(_, arity)| arity.to_string())
        .collect();

    // jq overloads by the number of arguments, so a wrong number is an unknown function to it.
    if !arities.is_empty() {
        return ProgramError::invalid(
            place,
            format!(
                "`{name}` takes {} argument{}, but has {arguments}",
                arities.join(" or "),
                if arities == ["1"] { "" } else { "s" }
            ),
            "put arguments in parentheses, separated by `;`",
        );
    }

    let alike = known.iter().filter(|(_, arity)| arity == arguments);
    let names: Vec<&str> = alike.map(|(name, _)| name.as_str()).collect();
    let hint = match suggest::nearest(name, &names) {
        _ if *arguments == 0 && name.starts_with(|first: char| first.is_ascii_uppercase()) => {
            kind_hint(name)
        }
        Some(candidate) => format!("did you mean `{candidate}`?"),
        None => format!("write `.{name}` for a field, or \"{name}\" for a string"),
    };

    ProgramError::invalid(place, format!("unknown jq function `{name}`"), hint)
}

/// Returns the hint for a kind's name in place of a condition.
pub fn kind_hint(kind: &str) -> String {
    format!("to exclude a kind, write '.kind == \"{kind}\"'")
}
