//! Parses the flags of a command in all notations.

use super::pods::as_text;
use super::shell::UNKNOWN;
use super::*;
use crate::releases::argparse::Names;
use crate::releases::full_name;

/// The flags of a command.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flags {
    /// Names without leading dashes and with dashes instead of underscores, and values.
    list: Vec<(String, Option<String>)>,
    /// Further values of flags that may have several (`nargs='+'`), with the name of the flag.
    more: Vec<(String, String)>,
    /// The words from which they were parsed.
    pub(crate) raw: Vec<String>,
    /// The names that the program accepts; `None` if it takes no abbreviations.
    names: Option<Names>,
    /// True if a word may stand for more flags: a script's variable without quotes.
    is_open: bool,
}

/// Returns the name of a flag, without its dashes; `None` for other words.
fn name_of(word: &str) -> Option<&str> {
    let name = word.strip_prefix("--").or_else(|| word.strip_prefix('-'))?;
    name.starts_with(|c: char| c.is_ascii_alphabetic()).then_some(name)
}

/// Returns true for a word of which nothing is known.
fn is_unknown(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|c| c == UNKNOWN)
}

impl Flags {
    /// Parses the flags of a program that takes no abbreviations.
    pub(crate) fn parse(words: &[String]) -> Flags {
        Flags::of_engine(words, None)
    }

    /// Returns the flags of a command that is not known: it may have any.
    pub(crate) fn unknown() -> Flags {
        Flags { is_open: true, ..Flags::default() }
    }

    /// Returns true if the command is known.
    pub(crate) fn are_read(&self) -> bool {
        !self.raw.is_empty() || !self.is_open
    }

    /// Returns true if a value comes before all flags.
    pub(crate) fn begin_with_value(&self) -> bool {
        self.raw.first().is_some_and(|word| name_of(word).is_none())
    }

    /// Returns true if there is no flag, or if a value may be that of no flag.
    pub(crate) fn may_have_value(&self) -> bool {
        let mut pairs = self.raw.windows(2).map(|two| (name_of(&two[0]), &two[1]));
        let is_free = |(flag, value): (Option<&str>, &String)| {
            let takes_it = flag.is_some_and(|flag| !flag.contains('='));
            name_of(value).is_none() && (!takes_it || value.contains('/'))
        };
        self.list.is_empty() || self.has("help") || self.has("version") || pairs.any(is_free)
    }

    /// Returns a word after the model that no flag takes as its value. Parsers of Python take several
    /// words for a flag only if none of them follows a `=`.
    pub(crate) fn surplus(&self) -> Option<&str> {
        let is_switch = |flag: &str| self.names.is_some_and(|names| names.is_switch(flag));
        let takes_none = |(index, word): (usize, &String)| match name_of(word) {
            Some(flag) => flag.contains('=') || word.starts_with("--") && is_switch(flag),
            // The model.
            None => index == 0,
        };
        let words = self.raw.iter().enumerate().zip(self.raw.iter().skip(1));
        let is_value = |word: &str| name_of(word).is_none() && !word.contains(UNKNOWN);
        let mut surplus = words.filter(|(before, word)| takes_none(*before) && is_value(word));
        surplus.next().map(|(_, word)| word.as_str()).filter(|_| self.begin_with_value())
    }

    /// Parses the flags of an engine, which takes abbreviations of the names that it accepts, if they are
    /// known.
    pub(crate) fn of_engine(words: &[String], names: Option<Names>) -> Flags {
        let mut flags = Flags { raw: words.to_vec(), names, ..Flags::default() };
        let mut words = words.iter().peekable();
        while let Some(word) = words.next() {
            let Some(name) = name_of(word) else {
                // The first word may be the model.
                flags.is_open |= is_unknown(word) && words.len() + 1 < flags.raw.len();
                // A positional argument, or a further value of the flag before it.
                if let Some((name, Some(_))) = flags.list.last() {
                    // Which flags take several words is not known here; `all` is only asked for
                    // those that do.
                    flags.more.push((name.clone(), word.clone()));
                }
                continue;
            };
            let (name, value) = match name.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (name, words.next_if(|next| name_of(next).is_none()).cloned()),
            };
            let name = flags.full_name(name, word.starts_with("--"));
            flags.is_open |= value.as_deref().is_some_and(is_unknown)
                && names.is_some_and(|names| names.is_switch(&name));
            // Those of an earlier occurrence do not count.
            flags.more.retain(|(of, _)| *of != name);
            flags.list.push((name, value));
        }

        flags
    }

    /// Returns the full name of a flag, with dashes instead of underscores. A field of a JSON flag
    /// follows it after a dot.
    fn full_name(&self, written: &str, is_long: bool) -> String {
        let name = written.replace('_', "-");
        let (name, field) = name.split_at(name.find('.').unwrap_or(name.len()));
        let long = self.names.filter(|_| is_long).and_then(|names| names.long_name(name));
        let name = long.as_deref().unwrap_or(name);
        format!("{}{field}", full_name(name).unwrap_or(name))
    }

    /// Keeps the flags that another branch of a script has, too. Its other ones may be set.
    pub(crate) fn keep_common(&mut self, other: Flags) {
        let most = self.list.len().max(other.list.len());
        let other: BTreeSet<_> = other.list.into_iter().collect();
        self.list.retain(|flag| other.contains(flag));
        self.is_open |= self.list.len() < most;
    }

    /// Returns true if the flag is set.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.list.iter().any(|(known, _)| known == name)
    }

    /// Returns the last value of a flag, which wins; `None` if unknown.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.last(name)?.filter(|value| !value.contains(UNKNOWN))
    }

    /// Returns the last value of a flag; `usual` if it is missing, `None` if unknown.
    pub(crate) fn text_or<'f>(&'f self, name: &str, usual: &'f str) -> Option<&'f str> {
        if self.has(name) { self.text(name) } else { Some(usual) }
    }

    /// Returns true if not even the beginning of a flag's value is known.
    pub(crate) fn is_unknown(&self, name: &str) -> bool {
        let value = self.last(name).flatten().unwrap_or_default();
        is_placeholder(&value.chars().take(2).collect::<String>())
    }

    /// Returns the JSON value of a flag, with `${}` for unknown text in it.
    pub(crate) fn json(&self, name: &str) -> Option<Json> {
        serde_json::from_str(&self.last(name)??.replace(UNKNOWN, "${}")).ok()
    }

    /// Returns the last value of a flag that is set, with unknown parts.
    fn last(&self, name: &str) -> Option<Option<&str>> {
        // argparse overwrites: the last one counts.
        let (_, value) = self.list.iter().rev().find(|(known, _)| known == name)?;
        Some(value.as_deref())
    }

    /// Returns all values of a flag that may have several: those after its last occurrence.
    pub(crate) fn all(&self, name: &str) -> Vec<&str> {
        let Some(value) = self.last(name).flatten() else { return Vec::new() };
        let more = self.more.iter().filter(|(known, _)| known == name);
        let more = more.map(|(_, word)| word.as_str());
        // Blanks in JSON separate no words.
        let is_json = value.starts_with(['{', '[']);
        let words = value.split_whitespace().filter(|_| !is_json);
        words.chain(Some(value).filter(|_| is_json)).chain(more).collect()
    }

    /// Returns true if a field of a JSON flag is set by itself: `--kv-transfer-config.kv_role=…`.
    pub(crate) fn has_part_of(&self, name: &str) -> bool {
        self.list.iter().any(|(known, _)| {
            known.strip_prefix(name).is_some_and(|rest| rest.starts_with(['.', '+']))
        })
    }

    /// Returns true if a boolean flag is on.
    pub(crate) fn is_on(&self, name: &str) -> bool {
        self.is_on_or(name, false)
    }

    /// Returns true if a boolean flag is on; `usual` if it is missing or unknown.
    pub(crate) fn is_on_or(&self, name: &str, usual: bool) -> bool {
        let known = self.last(name).filter(|_| !self.is_unknown(name));
        known.map_or(usual, |value| value != Some("false"))
    }

    /// Inserts the flags of a file before the others, which win over it.
    pub(crate) fn insert_file(&mut self, keys: &serde_json::Map<String, Json>) {
        let of_file = keys.iter().map(|(key, value)| {
            let value = (*value != Json::Bool(true)).then(|| as_text(value));
            (self.full_name(key, true), value)
        });
        let of_file: Vec<_> = of_file.collect();
        let words = keys.iter().flat_map(|(key, value)| match value {
            Json::Bool(true) => vec![format!("--{key}")],
            // Off is left out (SGLang's ConfigArgumentMerger, vLLM's FlexibleArgumentParser before 0.28); rules
            // of releases read it from `list`.
            Json::Bool(false) | Json::Null => Vec::new(),
            Json::Array(items) => {
                [format!("--{key}")].into_iter().chain(items.iter().map(as_text)).collect()
            }
            value => vec![format!("--{key}={}", as_text(value))],
        });
        let words: Vec<String> = words.collect();
        let first = self.raw.iter().position(|word| name_of(word).is_some());
        let first = first.unwrap_or(self.raw.len());
        self.raw.splice(first..first, words);
        // All flags are known now: this name stands for those of an unread file.
        self.list.retain(|(name, _)| name != "config");
        self.list.splice(..0, of_file);
    }

    /// Returns true if there are also unknown flags, in a file or in a variable of a script.
    pub(crate) fn are_open(&self) -> bool {
        self.has("config") || self.is_open
    }

    /// Returns a number; `usual` if the flag is missing, `None` if unknown.
    pub(crate) fn number(&self, name: &str, usual: u32) -> Option<u32> {
        if self.has(name) {
            self.text(name)?.trim().parse().ok()
        } else {
            (!self.are_open()).then_some(usual)
        }
    }
}
