//! Relations of flags to numbers and to other flags, which programs check when they start.
//!
//! The section `relations` of a table has names of three words: a flag or variable, a relation, and a
//! number or another flag. Further words tell relations of the same flags apart; messages end with them. A
//! flag with a dot is a field of a JSON value, as vLLM writes it.

use super::*;
use crate::view::flags::Flags;
use crate::view::pods::{Variable, variable};

/// The conditions of a relation.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Relation {
    /// Values of flags with which it holds only: `*` for any.
    only: BTreeMap<String, Vec<String>>,
    /// Values of flags with which it does not hold.
    unless: BTreeMap<String, Vec<String>>,
    /// Numbers of flags that are missing.
    usual: BTreeMap<String, f64>,
    /// True if the program may start without it: the model's files may have what is missing, or only a
    /// feature of the running program fails.
    is_uncertain: bool,
}

/// Judges the flags and variables of a program in this container, at a release.
pub(crate) fn judge(
    table: &ProgramTable,
    release: Release,
    flags: &Flags,
    container: &Json,
) -> Vec<Verdict> {
    let mut judge = table.judge(release);
    let given = Given { flags, container };
    for (name, spans) in table.relations.iter() {
        let words: Vec<&str> = name.splitn(4, ' ').collect();
        let [flag, relation, other, ref rest @ ..] = words[..] else { continue };
        let fault = |facts: &Relation| given.fault([flag, relation, other], facts);
        let candidates = spans.candidates(judge.index()).into_iter();
        let first = candidates.rev().find_map(|facts| Some((facts, fault(facts)?)));
        let Some((facts, (mut message, hint))) = first else { continue };
        if let Some(flag) = facts.only.keys().find(|flag| flags.is_on(flag)) {
            message.push_str(&format!(" (with `--{flag}`)"));
        }
        rest.iter().for_each(|words| message.push_str(&format!(" {words}")));

        let refuses = |index| spans.at(index).and_then(fault).is_some();
        let all: Vec<bool> = (0..judge.releases.len()).map(refuses).collect();
        if judge.release.is_unknown() && all.contains(&false) {
            let (program, which) = (judge.program, judge.releases.describe(&all));
            let message =
                format!("the image does not name its version of {program}; in {which}, {message}");
            judge.push(Kind::Depends, "", message, CHECK_VERSION);
            continue;
        }
        judge.push(Kind::Refused, "", message, hint).is_certain &= !facts.is_uncertain;
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

    /// Returns true if a flag or field has a value that the manifests do not tell.
    fn is_unknown(&self, name: &str) -> bool {
        let Some((flag, _)) = name.split_once('.') else { return self.flags.is_unknown(name) };
        let is_placeholder = |value: Json| value.as_str().is_some_and(is_placeholder);
        self.flags.has(flag) && self.flags.json(flag).is_none()
            || self.value(name).is_some_and(is_placeholder)
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

    /// Returns true if a flag, field or variable may be set; an empty value sets nothing.
    fn has(&self, name: &str) -> bool {
        match self.value(name) {
            Some(value) => !matches!(value.as_str(), Some("" | "false")),
            None => {
                self.flags.is_on(&name.replace('_', "-"))
                    || self.is_unknown(name)
                    || is_variable(name) && variable(self.container, name).is_some()
            }
        }
    }

    fn applies(&self, facts: &Relation) -> bool {
        let is_one_of = |(name, values): (&String, &Vec<String>), of_unknown: bool| {
            let value = self.value(name).as_ref().map(as_text).unwrap_or_default();
            let is_known = |known: &String| value == *known || known == "*" && self.has(name);
            if self.is_unknown(name) { of_unknown } else { values.iter().any(is_known) }
        };
        facts.only.iter().all(|entry| is_one_of(entry, false))
            && !facts.unless.iter().any(|entry| is_one_of(entry, true))
    }

    /// Returns what is wrong, and a hint, if the relation does not hold.
    fn fault(
        &self,
        [flag, relation, other]: [&str; 3],
        facts: &Relation,
    ) -> Option<(String, String)> {
        if self.is_unknown(flag) || self.is_unknown(other) || !self.applies(facts) {
            return None;
        }
        let is_true = |name| matches!(name, Some(Variable::Text("1" | "true" | "True")));
        let is_on = |name: &str| {
            is_true(variable(self.container, name)) || self.flags.is_on(name) && self.has(name)
        };
        let (first, second) = (self.number(flag, facts), self.number(other, facts));
        let (what, wanted) = match (relation, first, second) {
            // Of numbers of nodes: one node needs no address of another.
            ("needs", one, _) if is_on(flag) && !self.has(other) && one.is_none_or(|n| n > 1.0) => {
                let (needed, place) = match other.split_once('.') {
                    Some((flag, field)) => (format!("\"{field}\""), format!(" to `--{flag}`")),
                    None => (format!("`--{other}`"), String::new()),
                };
                let dashes = if is_variable(flag) { "" } else { "--" };
                let message = format!("`{dashes}{flag}` requires {needed}");
                return Some((message, format!("add {needed}{place}")));
            }
            ("excludes", ..) if is_on(flag) && is_on(other) => {
                let message = format!("`--{flag}` and `--{other}` are mutually exclusive");
                return Some((message, "remove one of them".to_owned()));
            }
            ("at-least", Some(one), Some(two)) if one < two => ("less than", "at least"),
            ("at-most", Some(one), Some(two)) if one > two => ("more than", "at most"),
            ("above", Some(one), Some(two)) if one <= two => ("not more than", "more than"),
            ("below", Some(one), Some(two)) if one >= two => ("not less than", "less than"),
            ("divisible-by", Some(one), Some(two)) if one % two > 0.0 => {
                ("not divisible by", "a multiple of")
            }
            _ => return None,
        };

        let (one, two) = (first?, second?);
        let target = match other.parse::<f64>() {
            Ok(_) => other.to_owned(),
            Err(_) => format!("`--{other}` {two}"),
        };
        Some((format!("`--{flag}` is {one}, {what} {target}"), format!("use {wanted} {two}")))
    }
}

fn is_variable(name: &str) -> bool {
    name.starts_with(char::is_uppercase)
}
