//! jq filters: what they may contain, and running them over objects.
//!
//! A filter decides whether one object is kept. jq is a whole programming language, so three
//! things keep a filter from harming a build: its length and nesting are limited before it is
//! parsed; `lint` accepts only filters that end and whose values stay in proportion to the
//! object; and the caller runs it under [`super::watchdog`].

mod growth;
mod lint;
mod patch;
mod rules;

pub use patch::Patch;

use super::Filter;
use super::watchdog::{FILTER_DEADLINE, Stopped, run_watched};
use crate::ir::{Map, Number, Object, Release, Value};
use jaq_core::data::JustLut;
use jaq_core::load::{Arena, File, Loader, lex, parse, span};
use jaq_core::{Compiler, Ctx, ValT as _, Vars, unwrap_valr};
use jaq_json::{Num, Val};
use serde_json::Value as Json;
use std::ops::Range;

/// Longest filter, in bytes.
pub const SOURCE_LIMIT: usize = 4 << 10;
/// Deepest nesting of brackets in a filter.
pub const NESTING_LIMIT: usize = 64;

/// Why a filter cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilterError {
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub hint: String,
    /// Where, in bytes of the filter's text; may be empty, at the end of the text.
    pub range: Range<usize>,
    /// Whether the filter is sound jq that a configuration may not use.
    pub refused: bool,
}

impl FilterError {
    fn invalid(range: Range<usize>, message: impl Into<String>, hint: impl Into<String>) -> Self {
        FilterError { message: message.into(), hint: hint.into(), range, refused: false }
    }

    fn refused(range: Range<usize>, message: impl Into<String>, hint: impl Into<String>) -> Self {
        FilterError { refused: true, ..Self::invalid(range, message, hint) }
    }
}

impl Filter {
    /// Whether `text` can be used as a filter; compiles it on a thread of its own.
    pub fn check(text: &str) -> Result<(), FilterError> {
        Self::check_as(text, Use::Filter)
    }

    /// Whether `text` can be used as a patch; compiles it on a thread of its own.
    pub fn check_patch(text: &str) -> Result<(), FilterError> {
        Self::check_as(text, Use::Patch)
    }

    fn check_as(text: &str, purpose: Use) -> Result<(), FilterError> {
        let owned = text.to_owned();
        let compiled = move || Program::compile_as(&owned, purpose).map(|_| ());
        run_watched(FILTER_DEADLINE, compiled).unwrap_or_else(|stopped| {
            let what = match purpose {
                Use::Filter => "filter",
                Use::Patch => "patch",
            };
            let why = match stopped {
                Stopped::Deadline => "takes too long to compile",
                Stopped::Failed => "makes the jq compiler fail",
            };
            Err(FilterError::refused(
                0..text.len(),
                format!("this {what} {why}"),
                "make it shorter or simpler",
            ))
        })
    }
}

/// What a program is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    /// To say whether an object is meant.
    Filter,
    /// To change it.
    Patch,
}

/// A compiled filter. It is tied to its thread; compiling takes about a millisecond.
pub struct Program {
    filter: jaq_core::Filter<JustLut<Val>>,
}

impl Program {
    /// Compiles `text`. This recurses with the length of the filter: call it on a thread with a
    /// large stack, which [`run_watched`] gives.
    pub fn compile(text: &str) -> Result<Program, FilterError> {
        Self::compile_as(text, Use::Filter)
    }

    fn compile_as(text: &str, purpose: Use) -> Result<Program, FilterError> {
        bounded(text)?;
        let tokens = lex::Lexer::new(text).lex().map_err(|errors| lexical(text, &errors))?;
        lint::tokens(text, &tokens, purpose)?;
        let term = parse::Parser::new(&tokens)
            .parse(|parser| parser.term())
            .map_err(|errors| syntactic(text, &errors))?;
        lint::term(text, &term, purpose)?;
        let program = build(text)?;
        for (pattern, range) in lint::patterns(text, &term) {
            check_pattern(&pattern, range)?;
        }
        Ok(program)
    }

    /// Whether the filter's first output is neither `false` nor `null`; no output is false.
    ///
    /// An error says what went wrong without showing values, which may be secret.
    pub fn matches(&self, input: &Input) -> Result<bool, String> {
        let context = Ctx::<JustLut<Val>>::new(&self.filter.lut, Vars::new([]));
        match self.filter.id.run((context, input.0.clone())).map(unwrap_valr).next() {
            None => Ok(false),
            Some(Ok(value)) => Ok(value.as_bool()),
            Some(Err(error)) => Err(without_values(&error.to_string())),
        }
    }
}

/// An object in the form that filters read; cheap to use for many filters.
pub struct Input(Val);

impl Input {
    /// `object` with its expressions as they are in `release`. Its condition does not count: a
    /// filter also decides about objects that are present with other values only.
    pub fn new(object: &Object, release: &Release<'_>) -> Self {
        // Most of a bundle are CRDs, which hold none.
        if !object.root.values().any(Value::has_expression) {
            return Input(literal_map(&object.root));
        }
        let resolved = release
            .object(object)
            .or_else(|| release.object(&Object { when: None, ..object.clone() }));
        Input::from(resolved.unwrap_or_default())
    }
}

/// A value without expressions.
fn literal(value: &Value) -> Val {
    match value {
        Value::Bool(value) => Val::Bool(*value),
        Value::Number(Number::Int(value)) => Val::Num(Num::from_integral(*value)),
        Value::Number(Number::Uint(value)) => Val::Num(Num::from_integral(*value)),
        Value::Number(Number::Float(value)) => Val::Num(Num::Float(*value)),
        Value::Text(text) => Val::from(text.clone()),
        Value::Seq(items) => items.iter().map(literal).collect(),
        Value::Map(map) => literal_map(map),
        Value::Null | Value::Expr(_) | Value::When(_) => Val::Null,
    }
}

fn literal_map(map: &Map) -> Val {
    Val::obj(map.iter().map(|(key, value)| (Val::from(key.clone()), literal(value))).collect())
}

impl From<Json> for Input {
    fn from(value: Json) -> Self {
        Input(to_val(value))
    }
}

fn to_val(value: Json) -> Val {
    match value {
        Json::Null => Val::Null,
        Json::Bool(value) => Val::Bool(value),
        Json::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(value), _) => Val::Num(Num::from_integral(value)),
            (None, Some(value)) => Val::Num(Num::from_integral(value)),
            (None, None) => Val::Num(Num::Float(number.as_f64().unwrap_or(f64::NAN))),
        },
        Json::String(text) => Val::from(text),
        Json::Array(items) => items.into_iter().map(to_val).collect(),
        Json::Object(map) => {
            Val::obj(map.into_iter().map(|(k, v)| (Val::from(k), to_val(v))).collect())
        }
    }
}

/// Refuses what could exhaust the stack of the parser, by looking at bytes only.
fn bounded(text: &str) -> Result<(), FilterError> {
    if text.trim().is_empty() {
        return Err(FilterError::invalid(
            0..text.len(),
            "this filter is empty",
            "write a condition such as `.kind == \"Route\"`, or remove the filter",
        ));
    }
    if text.len() > SOURCE_LIMIT {
        return Err(FilterError::refused(
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
            return Err(FilterError::refused(
                offset..offset + 1,
                format!("this filter nests more than {NESTING_LIMIT} brackets"),
                "make it simpler, or split it into several filters",
            ));
        }
    }
    Ok(())
}

fn lexical(text: &str, errors: &[lex::Error<&str>]) -> FilterError {
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
    FilterError::invalid(start..start + length, message, hint)
}

fn syntactic(text: &str, errors: &[parse::TError<'_, &str>]) -> FilterError {
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
    FilterError::invalid(span(text, part), message, hint)
}

fn unexplained(text: &str) -> FilterError {
    FilterError::invalid(0..text.len(), "this filter is not valid jq", "see the jq manual")
}

/// Filters that the `lint` lets through and jaq does not have.
const EXTRA_DEFINITIONS: &str = "def IN(s): any(s == .; .); def IN(src; s): any(src == s; .);";

/// What reads the environment, the clock or other files, writes logs, or ends the program; the
/// lint refuses all of them by not allowing them, and here they do not even exist.
const WITHHELD: &[&str] = &[
    "env",
    "now",
    "localtime",
    "strflocaltime",
    "halt",
    "halt_error",
    "debug",
    "debug_empty",
    "stderr",
    "stderr_empty",
];

fn definitions() -> impl Iterator<Item = parse::Def<&'static str>> {
    let extra = jaq_core::load::parse(EXTRA_DEFINITIONS, |parser| parser.defs());
    jaq_core::defs()
        .chain(jaq_std::defs())
        .chain(jaq_json::defs())
        .chain(extra.unwrap_or_default())
        .filter(|definition| !WITHHELD.contains(&definition.name))
}

fn build(text: &str) -> Result<Program, FilterError> {
    let functions = jaq_core::funs::<JustLut<Val>>()
        .chain(jaq_std::funs())
        .chain(jaq_json::funs())
        .filter(|(name, ..)| !WITHHELD.contains(name));
    let arena = Arena::default();
    let modules = Loader::new(definitions())
        .load(&arena, File { code: text, path: () })
        .map_err(|_| unexplained(text))?;
    let filter = Compiler::default().with_funs(functions).compile(modules).map_err(|errors| {
        let first = errors.iter().flat_map(|(_, errors)| errors).next();
        let Some((name, kind)) = first else { return unexplained(text) };
        FilterError::invalid(
            lint::range(text, name),
            format!("there is no {} `{name}`", kind.as_str()),
            "bind variables before they are used: `.metadata.name as $name | …`",
        )
    })?;
    Ok(Program { filter })
}

/// Reports a literal regular expression that does not compile now rather than when it is used.
fn check_pattern(pattern: &str, range: Range<usize>) -> Result<(), FilterError> {
    let program = build(". as $pattern | \"\" | test($pattern) | true")?;
    match program.matches(&Input(Val::from(pattern.to_owned()))) {
        Ok(_) => Ok(()),
        Err(error) => Err(FilterError::invalid(
            range,
            format!("this regular expression cannot be used: {error}"),
            "to match a character such as `(` or `.` itself, write two backslashes before it: \
             \"\\\\.example$\"",
        )),
    }
}

/// What a jq error says, less the values that it shows: they may come from a Secret.
fn without_values(error: &str) -> String {
    let kind = |value: &str| match value.chars().next() {
        Some('{') => "an object",
        Some('[') => "a list",
        Some('"') => "a string",
        Some('n') => "null",
        Some('t' | 'f') => "a boolean",
        _ => "a number",
    };
    if let Some(rest) = error.strip_prefix("cannot index ") {
        let index = rest.rsplit_once(" with ").map_or("", |(_, index)| index);
        let value = kind(rest);
        return match kind(index) {
            "a string" => format!("{value} has no fields"),
            "a number" => format!("{value} has no numbered entries"),
            index => format!("{value} has no entry named by {index}"),
        };
    }
    if let Some(rest) = error.strip_prefix("cannot use ") {
        let wanted = [
            (" as iterable (array or object)", "has no entries"),
            (" as rangeable (array or string)", "has no slices"),
            (" as integer", "is not an integer"),
            (" as number", "is not a number"),
            (" as string", "is not a string"),
            (" as array", "is not a list"),
        ];
        let wanted = wanted.iter().find(|(end, _)| rest.ends_with(end));
        return format!(
            "{} {}",
            kind(rest),
            wanted.map_or("cannot be used here", |(_, what)| what)
        );
    }
    if let Some(rest) = error.strip_prefix("cannot calculate ") {
        return format!("cannot calculate with {} here", kind(rest));
    }
    // Other messages are strings, written as JSON; those of jq itself show no values.
    let text: String = serde_json::from_str(error).unwrap_or_default();
    if text.ends_with(" has no length") {
        return "a boolean has no length".to_owned();
    }
    let known = ["invalid regex", "split input and separator"];
    if known.iter().any(|start| text.starts_with(start)) {
        return text;
    }
    "jq cannot say why without showing the object".to_owned()
}

#[cfg(test)]
mod tests;
