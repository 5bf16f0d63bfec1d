//! What is wrong with the text of a program, and where.

use super::library::{self, WITHHELD};
use crate::diag::suggest;
use jaq_core::compile::Undefined;
use jaq_core::load::lex::{self, Tok, Token};
use jaq_core::load::{parse, span};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Longest program, in bytes.
pub const SOURCE_LIMIT: usize = 4 << 10;
/// Deepest nesting of brackets in a program.
pub const NESTING_LIMIT: usize = 64;

/// Why a program cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramError {
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub hint: String,
    /// Where, in bytes of the program's text; may be empty, at the end of the text.
    pub range: Range<usize>,
    /// Whether this is sound jq that a configuration may not use.
    pub refused: bool,
}

impl ProgramError {
    pub(super) fn invalid(
        range: Range<usize>,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        ProgramError { message: message.into(), hint: hint.into(), range, refused: false }
    }

    pub(super) fn refused(
        range: Range<usize>,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        ProgramError { refused: true, ..Self::invalid(range, message, hint) }
    }
}

/// Refuses what could exhaust the stack of the parser, by looking at bytes only.
pub(super) fn bounded(text: &str) -> Result<(), ProgramError> {
    if text.trim().is_empty() {
        return Err(ProgramError::invalid(
            0..text.len(),
            "this filter is empty",
            "write a condition such as `.kind == \"Route\"`, or remove the filter",
        ));
    }
    if text.len() > SOURCE_LIMIT {
        return Err(ProgramError::refused(
            0..text.len(),
            format!("this filter has {} bytes; the limit is {SOURCE_LIMIT}", text.len()),
            "split it: an object is dropped when any one of several `exclude` filters matches",
        ));
    }
    let mut depth = 0_usize;
    for (offset, byte) in text.bytes().enumerate() {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > NESTING_LIMIT {
            return Err(ProgramError::refused(
                offset..offset + 1,
                format!("this filter nests more than {NESTING_LIMIT} brackets"),
                "make it simpler, or split it into several filters",
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
        lex::Expect::Token if rest.starts_with([')', ']', '}']) => {
            "nothing is open here: remove it"
        }
        lex::Expect::Token if rest.starts_with('\'') => "jq strings stand in double quotes: \"…\"",
        lex::Expect::Token if rest.starts_with('&') => "for both conditions, write `and`",
        lex::Expect::Delim(_) => "close what is open",
        _ => "see the jq manual for how filters are written",
    };
    let found = rest.chars().next().map_or("the end".to_owned(), |found| format!("`{found}`"));
    let message = match expected {
        lex::Expect::Token => format!("this filter is not valid jq: {found} has no meaning here"),
        _ => {
            format!("this filter is not valid jq: expected a {}, found {found}", expected.as_str())
        }
    };
    ProgramError::invalid(start..start + length, message, hint)
}

pub(super) fn syntactic(text: &str, errors: &[parse::TError<'_, &str>]) -> ProgramError {
    let Some((expected, found)) = errors.first() else { return unexplained(text) };
    let part = lex::Token::opt_as_str(*found, text);
    let found = match part {
        "" => "the end".to_owned(),
        // A bracket stands for all that it holds.
        part => format!("`{}`", part.chars().take(20).collect::<String>()),
    };
    let expected = match expected.as_str() {
        "nothing" => "an operator such as `|`, `==` or `and`, or the end".to_owned(),
        "term" => "a value, a path or a filter".to_owned(),
        word @ ("identifier" | "argument" | "else or end") => format!("an {word}"),
        word if word.contains(' ') || word.len() > 4 => format!("a {word}"),
        word => format!("`{word}`"),
    };
    let hint = match part {
        "=" => "to compare, write `==`",
        _ if part.starts_with("||") => "for either condition, write `or`",
        _ => "see the jq manual for how filters are written",
    };
    let message = format!("this filter is not valid jq: expected {expected}, found {found}");
    ProgramError::invalid(span(text, part), message, hint)
}

pub(super) fn unexplained(text: &str) -> ProgramError {
    ProgramError::invalid(0..text.len(), "this filter is not valid jq", "see the jq manual")
}

/// Where `part` is in `text`; all of it when it is elsewhere.
fn range(text: &str, part: &str) -> Range<usize> {
    let (start, place) = (text.as_ptr() as usize, part.as_ptr() as usize);
    let inside = place >= start && place + part.len() <= start + text.len();
    if inside { span(text, part) } else { 0..text.len() }
}

/// Refuses programs of several files.
pub(super) fn single_file(text: &str, tokens: &[Token<&str>]) -> Result<(), ProgramError> {
    let Some(Token(word @ ("import" | "include" | "module"), Tok::Word)) = tokens.first() else {
        return Ok(());
    };
    Err(ProgramError::refused(
        range(text, word),
        format!("`{word}` is not available"),
        "a filter is one expression and reads no other file",
    ))
}

/// A name that the program uses and nothing defines.
pub(super) fn undefined(text: &str, name: &str, kind: &Undefined) -> ProgramError {
    let place = range(text, name);
    if let Some((_, why)) = WITHHELD.iter().find(|(withheld, _)| *withheld == name) {
        return ProgramError::refused(
            place,
            format!("`{name}` is not available: {why}"),
            "a filter sees one object and nothing else, so that a build is the same everywhere",
        );
    }
    let Undefined::Filter(arguments) = kind else {
        return ProgramError::invalid(
            place,
            format!("there is no {} `{name}`", kind.as_str()),
            match kind {
                Undefined::Label => "set the label before it is used: `label $out | … break $out`",
                _ => "bind variables before they are used: `.metadata.name as $name | …`",
            },
        );
    };
    let known = library::signatures();
    let arities: Vec<String> = known
        .iter()
        .filter(|(known, _)| known == name)
        .map(|(_, arity)| arity.to_string())
        .collect();
    if !arities.is_empty() {
        return ProgramError::invalid(
            place,
            format!(
                "`{name}` takes {} argument{}, but here it has {arguments}",
                arities.join(" or "),
                if arities == ["1"] { "" } else { "s" }
            ),
            "arguments stand in parentheses, with `;` between them",
        );
    }
    let alike = known.iter().filter(|(_, arity)| arity == arguments);
    let names: Vec<&str> = alike.map(|(name, _)| name.as_str()).collect();
    let hint = match suggest::nearest(name, &names) {
        _ if *arguments == 0 && name.starts_with(|first: char| first.is_ascii_uppercase()) => {
            kind_hint(name)
        }
        Some(candidate) => format!("did you mean `{candidate}`?"),
        None => format!("for the field of that name, write `.{name}`; for text, \"{name}\""),
    };
    ProgramError::invalid(place, format!("jq has no function `{name}`"), hint)
}

/// The remedy for the name of a kind where a condition is needed.
pub(crate) fn kind_hint(kind: &str) -> String {
    format!("to exclude a kind, write '.kind == \"{kind}\"'")
}
