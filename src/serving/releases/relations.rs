//! Relations of flags to numbers and to other flags, which programs check when they start.
//!
//! The section `relations` of a table has names of three words: a flag or variable, a relation, and a
//! number or another flag. A flag with a dot is a field of a JSON value, as vLLM writes it.

use super::spans::Named;
use super::verdict::{Judge, Kind, Verdict};
use crate::view::flags::Flags;
use crate::view::pods::{Variable, is_placeholder, variable};
use serde::Deserialize;
use serde_json::Value as Json;
use std::collections::BTreeMap;

/// The conditions of a relation.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Relation {
    /// Values of flags with which it holds only: `*` for any, `*x` for those that end with x.
    only: BTreeMap<String, Vec<String>>,
    /// Values of flags with which it does not hold.
    unless: BTreeMap<String, Vec<String>>,
    /// Numbers of flags that are missing.
    usual: BTreeMap<String, f64>,
    /// True if files of the model may have what is missing.
    is_uncertain: bool,
}

/// Judges the flags and variables of a program in this container, at the release of the judge.
pub(crate) fn judge(
    relations: &Named<Relation>,
    mut judge: Judge<'_>,
    flags: &Flags,
    container: &Json,
) -> Vec<Verdict> {
    let given = Given { flags, container };
    for (name, spans) in relations.iter() {
        let words: Vec<&str> = name.split(' ').collect();
        let ([flag, relation, other, ..], Some(facts)) = (&words[..], judge.current(spans)) else {
            continue;
        };
        let fault = given.fault(flag, relation, other, facts).filter(|_| given.applies(facts));
        if let Some((message, hint)) = fault {
            let with = facts.only.keys().next().map(|name| format!(" (with `--{name}`)"));
            judge.push(Kind::Refused, "", message + &with.unwrap_or_default(), hint);
            let last = judge.verdicts.last_mut().filter(|_| facts.is_uncertain);
            last.into_iter().for_each(|verdict| verdict.is_certain = false);
        }
    }
    judge.verdicts()
}

/// The command line and the container of a program.
struct Given<'g> {
    flags: &'g Flags,
    container: &'g Json,
}

impl Given<'_> {
    /// Returns the value of a flag or field; `None` if it is missing or unknown.
    fn value(&self, name: &str) -> Option<Json> {
        let Some((flag, field)) = name.split_once('.') else {
            return self.flags.text(name).map(Json::from);
        };
        let json = self.flags.json(flag)?;
        // Since 0.26 vLLM takes dashes for underscores in some fields.
        let value = json.get(field).or_else(|| json.get(field.replace('_', "-")))?;
        (!value.is_null()).then(|| value.clone())
    }

    /// Returns a number, or that of a flag or field.
    fn number(&self, name: &str, facts: &Relation) -> Option<f64> {
        match self.value(name) {
            Some(Json::String(text)) => text.trim().parse().ok(),
            Some(value) => value.as_f64(),
            None if self.flags.has(name) => None,
            None => name.parse().ok().or_else(|| facts.usual.get(name).copied()),
        }
    }

    /// Returns true if a flag, field or variable may be set.
    fn has(&self, name: &str) -> bool {
        let base = name.split('.').next().unwrap_or(name);
        let is_unknown = base != name && self.flags.has(base) && self.flags.json(base).is_none();
        self.flags.is_on(&name.replace('_', "-"))
            || is_unknown
            || self.value(name).is_some()
            || is_variable(name) && variable(self.container, name).is_some()
    }

    fn applies(&self, facts: &Relation) -> bool {
        let is_one_of = |(name, values): (&String, &Vec<String>), of_unknown: bool| {
            let value = self.value(name).unwrap_or_default();
            let value = value.as_str().unwrap_or_default();
            let is_known = values.iter().any(|known| match known.strip_prefix('*') {
                Some("") => self.has(name),
                Some(end) => value.ends_with(end),
                None => value == known,
            });
            if is_placeholder(value) { of_unknown } else { is_known }
        };
        facts.only.iter().all(|entry| is_one_of(entry, false))
            && !facts.unless.iter().any(|entry| is_one_of(entry, true))
    }

    /// Returns what is wrong, and a hint, if the relation does not hold.
    fn fault(
        &self,
        flag: &str,
        relation: &str,
        other: &str,
        facts: &Relation,
    ) -> Option<(String, String)> {
        let is_true = |name| matches!(name, Some(Variable::Text("1" | "true" | "True")));
        let is_on = |name: &str| self.flags.is_on(name) || is_true(variable(self.container, name));
        let (first, second) = (self.number(flag, facts), self.number(other, facts));
        let what = match (relation, first, second) {
            // One node, or none, is no group.
            ("needs", one, _) if is_on(flag) && !self.has(other) && one.is_none_or(|n| n > 1.0) => {
                let dashes = if is_variable(flag) { "" } else { "--" };
                let message = format!("`{dashes}{flag}` requires `--{other}`");
                return Some((message, format!("add `--{other}`")));
            }
            ("excludes", ..) if is_on(flag) && is_on(other) => {
                let message = format!("`--{flag}` excludes `--{other}`");
                return Some((message, "remove one of them".to_owned()));
            }
            ("at-least", Some(one), Some(two)) if one < two => "less than",
            ("at-most", Some(one), Some(two)) if one > two => "more than",
            ("above", Some(one), Some(two)) if one <= two => "not more than",
            ("below", Some(one), Some(two)) if one >= two => "not less than",
            ("different-from", Some(one), Some(two)) if one == two => "equal to",
            ("divisible-by", Some(one), Some(two)) if one % two > 0.0 => "not divisible by",
            _ => return None,
        };
        let (one, two) = (first?, second?);
        let target = match other.parse::<f64>() {
            Ok(_) => other.to_owned(),
            Err(_) => format!("`--{other}` {two}"),
        };
        let hint = format!("write a number {} {target}", relation.replace('-', " "));
        Some((format!("`--{flag}` is {one}, {what} {target}"), hint))
    }
}

fn is_variable(name: &str) -> bool {
    name.starts_with(char::is_uppercase)
}
