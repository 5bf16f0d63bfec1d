//! Which filters are accepted: no loops, no definitions, no changes, only known calls, and values
//! that stay in proportion to the object.

use super::growth::{Growth, Refusal};
use super::rules::{ALLOWED, Allowed, IN_PATCHES, OTHER_JQ, instead_of};
use super::{FilterError, Use, definitions};
use crate::config::suggest;
use jaq_core::load::lex::{StrPart, Tok, Token};
use jaq_core::load::parse::Term;
use jaq_core::load::span;
use std::ops::Range;

/// Most times the size of an object that a filter may build.
const GROWTH_LIMIT: f64 = 1_000.0;
/// Most bytes that a filter may build whatever the size of the object.
const CONSTANT_LIMIT: f64 = 1_048_576.0;

/// Where `part` is in `text`; all of it when it is elsewhere.
pub(super) fn range(text: &str, part: &str) -> Range<usize> {
    let (start, place) = (text.as_ptr() as usize, part.as_ptr() as usize);
    let inside = place >= start && place + part.len() <= start + text.len();
    if inside { span(text, part) } else { 0..text.len() }
}

/// Refuses operators that change or multiply values, and programs of several files.
pub(super) fn tokens(text: &str, tokens: &[Token<&str>], purpose: Use) -> Result<(), FilterError> {
    if let Some(Token(word @ ("import" | "include" | "module"), Tok::Word)) = tokens.first() {
        return Err(FilterError::refused(
            range(text, word),
            format!("a filter may not use `{word}`"),
            "a filter is one expression and reads no other file",
        ));
    }
    match purpose {
        Use::Filter => operators(text, tokens),
        // What they may do with which operators depends on what stands beside them.
        Use::Patch => Ok(()),
    }
}

fn operators(text: &str, tokens: &[Token<&str>]) -> Result<(), FilterError> {
    for token in tokens {
        match token {
            Token(_, Tok::Block(inner)) => operators(text, inner)?,
            Token(_, Tok::Str(parts)) => {
                for part in parts {
                    if let StrPart::Term(inner) = part {
                        operators(text, std::slice::from_ref(inner))?;
                    }
                }
            }
            Token(operator, Tok::Sym) => operator_allowed(text, operator)?,
            Token(_, Tok::Word | Tok::Var | Tok::Fmt | Tok::Num) => {}
        }
    }
    Ok(())
}

fn operator_allowed(text: &str, operator: &str) -> Result<(), FilterError> {
    let (message, hint) = match operator {
        "=" => ("a filter may not assign", "to compare, write `==`"),
        "|=" | "+=" | "-=" | "*=" | "/=" | "%=" | "//=" => {
            ("a filter may not change the object", "to look at a field, write `.field`")
        }
        "*" => (
            "a filter may not multiply: `\"x\" * 1000000000` would fill the memory",
            "conditions do not need it; compare fields with `==`, `<` or `contains`",
        ),
        _ => return Ok(()),
    };
    Err(FilterError::refused(range(text, operator), message, hint))
}

/// Refuses what may not end, what is not on the list, and what may grow too large.
pub(super) fn term(text: &str, term: &Term<&str>, purpose: Use) -> Result<(), FilterError> {
    if purpose == Use::Filter {
        let mut changing = None;
        super::growth::visit(term, &mut |term| {
            if let Term::Call(name, arguments) = term
                && IN_PATCHES.iter().any(|(known, ..)| known == name)
            {
                changing.get_or_insert((*name, arguments.len()));
            }
        });
        if let Some((name, arguments)) = changing {
            return Err(unknown_call(text, name, arguments));
        }
    }
    let growth = Growth::of(term).map_err(|refusal| match refusal {
        Refusal::Word { word, name } => FilterError::refused(
            range(text, word),
            format!("a filter may not use `{name}`"),
            match name {
                "def" => "write the condition itself",
                _ => "use `any`, `all`, `map` or `select`: they always end",
            },
        ),
        Refusal::Call { name, arguments } => unknown_call(text, name, arguments),
        Refusal::Path { word } => FilterError::refused(
            range(text, word),
            "a patch may not change what this names",
            "name it by a path of fields, `[]` and `select`, such as \
             `(.spec.list[] | select(.name == \"a\") | .value) = 1`",
        ),
        Refusal::Product { word } => FilterError::refused(
            range(text, word),
            "a patch may not multiply: `\"x\" * 1000000000` would fill the memory",
            "to merge objects, write `. * {…}` with an object in braces on the right",
        ),
    })?;
    let (slope, base) = growth.built();
    if slope > GROWTH_LIMIT || base > CONSTANT_LIMIT {
        return Err(FilterError::refused(
            0..text.len(),
            if slope.is_finite() && base.is_finite() {
                format!(
                    "this filter could build values more than {GROWTH_LIMIT} times as large as \
                     the object"
                )
            } else {
                "this filter could build values without a limit to their size".to_owned()
            },
            "ask about entries one by one instead of collecting them: `any(.items[]?; CONDITION)`; \
             and do not put variables into new strings or lists",
        ));
    }
    Ok(())
}

/// The rule for a call, if it is allowed.
pub(super) fn allowed(name: &str, arguments: usize) -> Option<&'static Allowed> {
    let mut rules = ALLOWED.iter().chain(IN_PATCHES);
    rules.find(|(known, arity, _)| *known == name && *arity == arguments)
}

fn unknown_call(text: &str, name: &str, arguments: usize) -> FilterError {
    let place = range(text, name);
    if name.starts_with('$') {
        return FilterError::refused(
            place,
            format!("a filter may not use `{name}`"),
            instead_of(name),
        );
    }
    let arities: Vec<String> = ALLOWED
        .iter()
        .filter(|(known, ..)| *known == name)
        .map(|(_, arity, _)| arity.to_string())
        .collect();
    if name == "recurse" {
        return FilterError::refused(
            place,
            "a filter may not use `recurse` with an argument, which may not end",
            instead_of(name),
        );
    }
    if !arities.is_empty() {
        return FilterError::invalid(
            place,
            format!(
                "`{name}` takes {} argument{}, but here it has {arguments}",
                arities.join(" or "),
                if arities == ["1"] { "" } else { "s" }
            ),
            "arguments stand in parentheses, with `;` between them",
        );
    }
    if OTHER_JQ.contains(&name)
        || definitions().any(|definition| definition.name == name)
        || native(name)
    {
        return FilterError::refused(
            place,
            format!("a filter may not use `{name}`"),
            instead_of(name),
        );
    }
    let known: Vec<&str> = ALLOWED.iter().map(|(known, ..)| *known).collect();
    let hint = match suggest::nearest(name, &known) {
        Some(candidate) => format!("did you mean `{candidate}`?"),
        None => format!("for the field of that name, write `.{name}`; for text, \"{name}\""),
    };
    FilterError::invalid(place, format!("jq has no filter `{name}`"), hint)
}

fn native(name: &str) -> bool {
    use jaq_core::data::JustLut;
    use jaq_json::Val;
    jaq_core::funs::<JustLut<Val>>()
        .chain(jaq_std::funs())
        .chain(jaq_json::funs())
        .any(|(native, ..)| native == name)
}

/// The regular expressions that stand in the filter as plain strings, and where.
pub(super) fn patterns(text: &str, term: &Term<&str>) -> Vec<(String, Range<usize>)> {
    let mut found = Vec::new();
    super::growth::visit(term, &mut |term| {
        let Term::Call("test" | "splits", arguments) = term else { return };
        // With flags, the expression may mean something else.
        let [Term::Str(None, parts)] = arguments.as_slice() else { return };
        let mut pattern = String::new();
        let mut place: Option<Range<usize>> = None;
        for part in parts {
            match part {
                StrPart::Str(piece) => {
                    let piece_range = range(text, piece);
                    place =
                        Some(place.map_or(piece_range.start, |place| place.start)..piece_range.end);
                    pattern.push_str(piece);
                }
                StrPart::Char(character) => pattern.push(*character),
                StrPart::Term(_) => return,
            }
        }
        found.push((pattern, place.unwrap_or(0..text.len())));
    });
    found
}
