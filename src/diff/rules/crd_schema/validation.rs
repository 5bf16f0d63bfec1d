//! Rules on `x-kubernetes-validations`: CEL rules of a schema.

use super::super::lookup::{Lookup, Memo};
use super::keyword::Verdict;
use super::location::START;
use super::{LOOSENED, NEW_FIELDS, TRANSITION, VALIDATION};
use crate::path::Step;
use crate::read::items;
use crate::rules::{RuleContext, display_value, listed};
use serde_json::Value as Json;
use std::collections::HashSet;
use std::rc::Rc;

/// Returns the verdict on an edit of `x-kubernetes-validations`.
pub(super) fn verdict(context: &RuleContext<'_, '_>, at: usize) -> Option<Verdict> {
    let rest = context.steps().get(at + 1..)?;
    let list = context.steps().get(..=at)?;
    let mut came: Vec<&str> = match (rest, &context.edit.old, &context.edit.new) {
        ([], _, Some(new)) => rules(items(new, &[])).collect(),
        ([Step::Item(_) | Step::Index(_)], None, Some(new)) => {
            rules(std::slice::from_ref(new)).collect()
        }
        // Lists with a rule twice are compared by position.
        ([Step::Index(_), Step::Key(key)], _, Some(new)) if key == "rule" => {
            new.as_str().into_iter().collect()
        }
        ([] | [Step::Item(_)], Some(_), None) => Vec::new(),
        // Messages and reasons of rules do not affect validation.
        _ => return None,
    };
    // Also items are compared with the whole list: their key is the text of the rule, and a blank
    // makes another one.
    let of_list = |list: &Json| {
        let old = || Rc::new(rules(items(list, &[])).map(without_blanks).collect());
        context.old_rules.get(std::ptr::from_ref(list), |_| old())
    };
    let old = context.old.at(list).map(of_list).unwrap_or_default();
    came.retain(|rule| !old.contains(&without_blanks(rule)));
    if came.is_empty() {
        let reason = match (&context.edit.old, &context.edit.new) {
            (None, _) => "validation spelled differently",
            _ => "validation removed",
        };
        return Some((&LOOSENED, reason.to_owned()));
    }

    let schema = context.steps().get(..at)?;
    let has = |side: &Lookup<'_>, name: &str| {
        side.at(schema).is_some_and(|schema| schema["properties"].get(name).is_some())
    };
    // Every object has these, also without a schema of them.
    let is_known = |name: &str| at == START && ["apiVersion", "kind", "metadata"].contains(&name);
    let is_new =
        |name: &str| has(&context.new, name) && !has(&context.old, name) && !is_known(name);
    let rule = if came.iter().all(|rule| is_about(rule, is_new)) {
        &NEW_FIELDS
    } else if came.iter().all(|rule| rule.contains("oldSelf") || is_about(rule, is_new)) {
        &TRANSITION
    } else {
        &VALIDATION
    };
    let shown = came.into_iter().map(|rule| display_value(&Json::from(rule)));
    Some((rule, format!("new validation {}", listed(shown, 3))))
}

/// Returns the CEL rules of validations.
fn rules(validations: &[Json]) -> impl Iterator<Item = &str> {
    validations.iter().filter_map(|validation| validation.get("rule")?.as_str())
}

/// The rules of lists of validations of the old side, without blanks.
pub(in crate::rules) type OldRules = Memo<*const Json, Rc<HashSet<String>>>;

/// Returns a CEL rule without the blanks that do not count: those outside of strings, except between
/// words, where one is enough.
fn without_blanks(rule: &str) -> String {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut text = String::with_capacity(rule.len());
    let (mut quote, mut escaped, mut last) = (None, false, None);
    for c in rule.chars() {
        let before = last.replace(c);
        if quote.is_none() && c.is_whitespace() {
            continue;
        }
        let is_apart = before.is_some_and(char::is_whitespace);
        if is_apart && is_word(c) && text.ends_with(is_word) {
            text.push(' ');
        }
        text.push(c);
        match quote {
            Some(_) if escaped => escaped = false,
            Some(_) if c == '\\' => escaped = true,
            Some(open) if c == open => quote = None,
            None if ['"', '\''].contains(&c) => quote = Some(c),
            _ => {}
        }
    }
    text
}

/// Returns true if a CEL rule uses `self` only for fields for which `wanted` is true.
fn is_about(rule: &str, wanted: impl Fn(&str) -> bool) -> bool {
    let word = |c: char| c.is_alphanumeric() || c == '_';
    let mut uses = rule
        .match_indices("self")
        // Not `oldSelf` and not a longer name.
        .filter(|(at, _)| !rule[..*at].ends_with(word) && !rule[at + 4..].starts_with(word));
    let mut any = false;
    let all = uses.all(|(at, _)| {
        any = true;
        let Some(rest) = rule[at + 4..].strip_prefix('.') else { return false };
        let end = rest.find(|c| !word(c)).unwrap_or(rest.len());
        wanted(&rest[..end])
    });
    any && all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_outside_of_strings_do_not_count() {
        for (rule, expected) in [
            (" self.a  ==\n1 ", "self.a==1"),
            ("a in b", "a in b"),
            ("a_ in _b", "a_ in _b"),
            ("!( a )", "!(a)"),
            ("a == ' b  c '", "a==' b  c '"),
            ("'' == a in b", "''==a in b"),
            (r"'\'' == a in b", r"'\''==a in b"),
            ("a == \" b ' c \" && d", "a==\" b ' c \"&&d"),
            ("a == ' \" ' && d", "a==' \" '&&d"),
            (r"a == 'b\' c ' && d", r"a=='b\' c '&&d"),
            (r"a == 'b\\' && c d", r"a=='b\\'&&c d"),
            (r"a == 'b\n c' && c d", r"a=='b\n c'&&c d"),
            (r"a == \ b", r"a==\b"),
        ] {
            assert_eq!(without_blanks(rule), expected, "{rule}");
        }
    }

    #[test]
    fn rules_about_fields() {
        for (rule, expected) in [
            ("self.a > 0", true),
            ("self.a > self.a_b", true),
            ("self.b > 0", false),
            ("self.ab > 0", false),
            ("self.a > 0 && self.b > 0", false),
            ("self > 0", false),
            ("self[0] > 0", false),
            ("oldSelf.a > 0", false),
            ("true", false),
            ("self.a > 0 && itself.b", true),
            ("self.a > 0 && it_self.b", true),
            ("self.a > 0 && selfish.b", true),
            ("self.a > 0 && self_.b", true),
        ] {
            assert_eq!(is_about(rule, |name| ["a", "a_b"].contains(&name)), expected, "{rule}");
        }
    }
}
