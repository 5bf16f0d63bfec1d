//! Command lines of Python's argparse, as vLLM and SGLang extend it.
//!
//! argparse accepts unique prefixes of long flags. vLLM also turns `_` into `-` in the names of long
//! flags up to the first dot, and after a dot sets fields of JSON flags
//! (`--kv-transfer-config.kv_role=kv_both`).

use super::json_flag::JsonFlag;
use super::*;
use std::iter::Peekable;

/// Judges the arguments of an engine at a release; with plugins, registered values are not judged.
pub(crate) fn judge(
    table: &ProgramTable,
    release: Release,
    words: &[String],
    has_plugins: bool,
) -> Vec<Verdict> {
    let judge = table.judge(release);
    // A plugin registers parsers of its own.
    let plugin = |word: &String| word.replace('_', "-").contains("-parser-plugin");
    let has_plugins = has_plugins || words.iter().any(plugin);
    let accepted = table.accepted(judge.index());
    let mut line = Line { table, judge, accepted, has_plugins };

    let mut words = words.iter().peekable();
    while let Some(word) = words.next() {
        if word == "--" {
            break;
        }
        let (name, _) = split_value(word);
        if is_placeholder(name) || !name.starts_with('-') {
            continue;
        }
        if is_flag(word) {
            line.flag(word, &mut words);
        } else if let Some((name, value)) = word.split_once(' ').filter(|_| word.starts_with("--"))
        {
            let message = format!("`{word}` is one argument, which is no flag");
            line.judge.refuse("", message, format!("write `{name}={}`", value.trim()));
        }
    }
    line.judge.verdicts()
}

/// Returns true if argparse takes the word for a flag, not for a value: values may be negative
/// numbers, and names contain no spaces.
fn is_flag(word: &str) -> bool {
    let (name, _) = split_value(word);
    let letters = name.trim_start_matches('-');
    name.starts_with('-')
        && letters.starts_with(|c: char| c.is_ascii_alphabetic())
        && !name.contains(' ')
}

/// The words of a command line.
type Words<'w> = Peekable<std::slice::Iter<'w, String>>;

/// Returns true for a flag without a value.
fn takes_none(specs: &[&Flag]) -> bool {
    specs.iter().all(|spec| matches!(spec.kind.as_str(), "flag" | "bool"))
}

/// Returns the next word if it is the value of a flag.
fn value_in<'w>(words: &mut Words<'w>) -> Option<&'w str> {
    words.next_if(|word| !is_flag(word)).map(String::as_str)
}

/// An accepted name of a flag: its name in the table, and true if it is a negated form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Accepted {
    flag: String,
    is_negated: bool,
}

impl ProgramTable {
    /// Returns the names of flags that a release accepts, with dashes; those of all releases if it is
    /// unknown.
    fn accepted(&self, index: Option<usize>) -> &BTreeMap<String, Accepted> {
        let cell = &self.accepted[index.unwrap_or(self.releases.len()).min(self.releases.len())];
        cell.get_or_init(|| self.accepted_names(index))
    }

    fn accepted_names(&self, index: Option<usize>) -> BTreeMap<String, Accepted> {
        let pairs = self.behaviors.has("enable_disable_pair", index);
        let mut names = BTreeMap::new();
        for (flag, spans) in self.flags.iter() {
            for spec in spans.candidates(index) {
                let named = |is_negated| Accepted { flag: flag.to_owned(), is_negated };
                names.insert(format!("--{flag}"), named(false));
                names.extend(spec.alias.iter().map(|alias| (alias.clone(), named(false))));
                if spec.kind != "bool" {
                    continue;
                }

                let longs = spec.alias.iter().filter_map(|alias| alias.strip_prefix("--"));
                // argparse.BooleanOptionalAction negates every long name of a flag, aliases too.
                names.extend(longs.chain([flag]).map(|long| (format!("--no-{long}"), named(true))));
                if let Some(rest) = flag.strip_prefix("enable-").filter(|_| pairs) {
                    // A flag that has this name itself is not a negated form.
                    names.entry(format!("--disable-{rest}")).or_insert(named(true));
                }
            }
        }
        names
    }

    /// Returns the flags that have a name in any release: aliases have changed places with names.
    fn owners<'t>(&'t self, name: &'t str) -> Vec<&'t str> {
        let own = name.strip_prefix("--").filter(|flag| self.flags.find(flag).is_some());
        let aliased = self.aliases.get(name).into_iter().flatten().map(String::as_str);
        own.into_iter().chain(aliased).collect()
    }
}

/// Returns the long names that start with a name, with dashes: to argparse, it abbreviates them.
fn longer<'t>(
    accepted: &'t BTreeMap<String, Accepted>,
    name: &str,
) -> Vec<(&'t String, &'t Accepted)> {
    // Names are sorted, so those with the prefix follow it.
    let is_long = name.starts_with("--") && name.len() > 2;
    let after = accepted.range(name.to_owned()..).take_while(|(long, _)| long.starts_with(name));
    after.filter(|_| is_long).collect()
}

/// The names of flags that one release of an engine accepts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Names {
    table: &'static ProgramTable,
    index: Option<usize>,
}

impl Names {
    /// Returns true if a flag takes no value.
    pub(crate) fn is_switch(self, name: &str) -> bool {
        let specs = self.table.flags.candidates(name, self.index);
        !specs.is_empty() && takes_none(&specs)
    }

    /// Returns the names that the engine in an image accepts; those of all releases if the image does
    /// not name its release.
    pub(crate) fn of(table: &'static ProgramTable, image: &str) -> Names {
        Names { table, index: table.index(image) }
    }

    /// Returns the long name that a long name stands for, both without leading dashes: itself, or the
    /// only flag that it abbreviates.
    pub(crate) fn long_name(self, name: &str) -> Option<String> {
        let (accepted, name) = (self.table.accepted(self.index), format!("--{name}"));
        let longer = longer(accepted, &name);
        let (long, first) = longer.first().filter(|_| !accepted.contains_key(&name))?;
        longer.iter().all(|(_, one)| one == first).then(|| long.trim_start_matches('-').to_owned())
    }
}

struct Line<'t> {
    table: &'t ProgramTable,
    judge: Judge<'t>,
    /// The names that the release accepts, with dashes; those of all releases if it is unknown.
    accepted: &'t BTreeMap<String, Accepted>,
    has_plugins: bool,
}

impl<'t> Line<'t> {
    /// Judges one flag, and takes its values from the following words.
    fn flag(&mut self, word: &str, words: &mut Words<'_>) {
        let (written, value) = split_value(word);
        let is_vllm = self.table.key == "vllm";
        // `-O3`, `-O 3`, `-O.mode=3`.
        if is_vllm && written.starts_with("-O") {
            if written == "-O" && value.is_none() {
                value_in(words);
            }
            return;
        }
        if matches!(written, "-h" | "--help" | "--version") {
            return;
        }

        let (name, field) = self.normalized(written);
        let Some((accepted, name)) = self.resolved(&name, written) else {
            // The values of an unknown flag are unknown, too.
            while value.is_none() && value_in(words).is_some() {}
            return;
        };

        let flag = accepted.flag.as_str();
        let specs = self.table.flags.candidates(flag, self.judge.index());
        self.table.deprecated(flag, &name, &mut self.judge);
        if let Some(field) = field {
            self.json(&specs, &name).field(field, value.or_else(|| value_in(words)));
            return;
        }

        if takes_none(&specs) || accepted.is_negated {
            self.without_value(&name, value, words);
            return;
        }
        self.with_values(flag, &name, &specs, value, words);
    }

    /// Returns the name as the parser sees it, and the field after a dot.
    fn normalized<'w>(&self, written: &'w str) -> (String, Option<&'w str>) {
        // Also a short name may have a field: `-cc.mode=3`.
        if self.table.key != "vllm" || !written.starts_with("--") && !written.contains('.') {
            return (written.to_owned(), None);
        }
        let dotted = self.table.behaviors.has("dotted_json", self.judge.index());
        let (name, field) = match written.split_once('.') {
            Some((name, field)) if dotted => (name, Some(field)),
            _ => (written, None),
        };
        (name.replace('_', "-"), field)
    }

    /// Returns the flag of a name, or of the only flag that it abbreviates; judges unknown names.
    fn resolved(&mut self, name: &str, written: &str) -> Option<(&'t Accepted, String)> {
        if let Some(accepted) = self.accepted.get(name) {
            self.note_release(&accepted.flag, written, name);
            return Some((accepted, name.to_owned()));
        }

        let longer = longer(self.accepted, name);
        match longer[..] {
            [] => self.unknown(name, written),
            [(long, accepted)] => {
                let message = format!("`{written}` is an abbreviation of `{long}`");
                let hint = format!(
                    "write `{long}`: an abbreviation fails as soon as another flag starts with it"
                );
                self.judge.push(Kind::Fragile, "", message, hint);
                return Some((accepted, long.clone()));
            }
            [(_, first), ..] => {
                let several = longer.iter().any(|(_, accepted)| accepted.flag != first.flag);
                if several && self.judge.index().is_some() {
                    let names: Vec<&str> =
                        longer.iter().map(|(long, _)| long.as_str()).take(4).collect();
                    let names = suggest::list(&names);
                    let message = format!("`{written}` abbreviates several flags: {names}");
                    self.judge.refuse("", message, "write the whole name");
                }
            }
        }
        None
    }

    /// Records the releases of a name that the table has, for an unknown release.
    fn note_release(&mut self, flag: &str, written: &str, name: &str) {
        if self.judge.index().is_some() {
            return;
        }
        let owners = self.table.owners(name).into_iter().chain([flag]);
        let spans: Vec<_> = owners.filter_map(|owner| self.table.flags.find(owner)).collect();
        self.judge.depends(written, |index| spans.iter().any(|one| one.at(index).is_some()));
    }

    /// Judges a name that the release does not accept.
    fn unknown(&mut self, name: &str, written: &str) {
        let bare = name.trim_start_matches('-');
        let is_listed = self.table.flags.find(bare).is_some();
        let bare = bare.strip_prefix("no-").filter(|_| !is_listed).unwrap_or(bare);
        // A name that is an alias in other releases is judged as the flag.
        let by_alias = || self.table.owners(name).first().copied();
        let known = self.table.flags.find(bare).map(|_| bare).or_else(by_alias);
        let index = self.judge.index();
        let instead = self.table.instead(known.unwrap_or(bare), index);

        let is_later = self.judge.release == Release::Later;
        let verdict = match known.filter(|known| self.table.flags.has(known, index)) {
            Some(known) => {
                let message = format!("{} has no flag `{written}`", self.judge.title());
                let hint = format!("write `--{known}`");
                Some(self.judge.push(Kind::Refused, "", message, hint))
            }
            None => {
                let flags = &self.table.flags;
                self.judge.exists(flags, known.unwrap_or(bare), written, "flag", "")
            }
        };
        let Some(verdict) = verdict else { return };
        verdict.hint = instead.unwrap_or_else(|| std::mem::take(&mut verdict.hint));
        // A later release may add flags, but hardly one with a typing error.
        verdict.is_certain = !is_later || verdict.is_near();
    }

    /// Judges a flag that takes no value.
    fn without_value(&mut self, name: &str, value: Option<&str>, words: &mut Words<'_>) {
        let is_one =
            |words: [&str; 4], text: &str| words.iter().any(|w| w.eq_ignore_ascii_case(text));
        let is_true = |text: &str| is_one(["true", "yes", "on", "1"], text);
        let is_false = |text: &str| is_one(["false", "no", "off", "0"], text);

        // To argparse, the word after the flag is a separate argument.
        let next = |word: &&String| is_true(word) || is_false(word);
        let given = value.or_else(|| words.next_if(next).map(String::as_str));
        if let Some(given) = given.filter(|given| !is_placeholder(given)) {
            let hint = match is_false(given) {
                true => "remove the flag and its value".to_owned(),
                false => format!("write `{name}`"),
            };
            self.judge.refuse("", format!("flag `{name}` takes no value, but has `{given}`"), hint);
        }
    }

    /// Judges the values of a flag.
    fn with_values(
        &mut self,
        flag: &str,
        name: &str,
        specs: &[&Flag],
        value: Option<&str>,
        words: &mut Words<'_>,
    ) {
        let is_list = specs.iter().any(|spec| matches!(spec.nargs.as_str(), "+" | "*"));
        let may_lack = specs.iter().any(|spec| matches!(spec.nargs.as_str(), "?" | "*"));
        let values: Vec<&str> = match value {
            Some(value) => vec![value],
            None if is_list => std::iter::from_fn(|| value_in(words)).collect(),
            None => value_in(words).into_iter().collect(),
        };

        if values.is_empty() && !may_lack {
            let message = format!("flag `{name}` has no value");
            self.judge.refuse("", message, format!("write `{name}=…`"));
        }
        for value in values.into_iter().filter(|value| !is_placeholder(value)) {
            // A value is wrong if no release that may run takes it.
            let faults: Vec<String> = specs.iter().filter_map(|spec| fault(spec, value)).collect();
            if let (Some(first), true) = (faults.last(), faults.len() == specs.len()) {
                let message =
                    format!("{} does not accept `{value}` for `{name}`", self.judge.title());
                self.judge.refuse("", message, first.clone());
                continue;
            }
            self.registered(flag, name, value);
            self.json(specs, name).value(value);
        }
    }

    fn json<'j>(&'j mut self, specs: &'j [&'j Flag], name: &'j str) -> JsonFlag<'j, 't> {
        JsonFlag { judge: &mut self.judge, table: self.table, specs, name }
    }

    /// Judges values that are registered names, or classes, which have a dot in their path.
    fn registered(&mut self, flag: &str, name: &str, value: &str) {
        let Some(names) = self.table.values.get(flag) else { return };
        let known = names.names(self.judge.index());
        // With these the engine chooses by itself.
        let is_default = matches!(value, "" | "None" | "auto");
        if self.has_plugins || known.is_empty() || value.contains('.') || is_default {
            return;
        }
        // Parsers are looked up as written, other names in the case that all of a flag have: the classes
        // of vLLM's configuration convert them before.
        let is_upper = known.iter().all(|name| !name.contains(char::is_lowercase));
        let found = match flag.ends_with("-parser") {
            true => value.to_owned(),
            false if is_upper => value.to_uppercase(),
            false => value.to_lowercase(),
        };

        // Plugins in the image register names for these (vLLM docs, plugin system), also names that vLLM
        // had before, such as `gguf`; only typing errors are certain.
        let open =
            ["config-format", "kv-cache-dtype", "load-format", "quantization", "tokenizer-mode"];
        let noun = format!("`{name}` value");
        if let Some(verdict) = self.judge.exists(names, &found, value, &noun, "") {
            verdict.is_certain &= !open.contains(&flag) || verdict.is_near();
        }
    }
}

/// Returns a hint if a flag does not accept the value.
pub(super) fn fault(spec: &Flag, value: &str) -> Option<String> {
    if spec.none && matches!(value, "None" | "") {
        return None;
    }
    // Python's `int` and `float` accept blanks around a number and `_` between its digits.
    let plain = value.trim().replace('_', "");
    let is_integer = plain.parse::<i128>().is_ok();
    let (fits, expected) = match spec.kind.as_str() {
        "int" => (is_integer, "an integer"),
        "hint" => (is_integer || is_human_integer(value), "an integer, such as 4096 or 4k"),
        "float" => (plain.parse::<f64>().is_ok(), "a number"),
        "truefalse" => (matches!(value.to_lowercase().as_str(), "true" | "false"), "true or false"),
        "json|str" if !value.trim().starts_with('{') => (true, ""),
        "json" | "json|str" => (json_flag::read(value).is_some(), "valid JSON"),
        _ => (true, ""),
    };
    if !fits {
        return Some(format!("write {expected}"));
    }
    if spec.choices.is_empty() {
        return None;
    }

    // vLLM normalizes such names before it compares them (`--moe-backend`).
    let is_folded = spec.kind == "fold";
    let folded = is_folded.then(|| value.to_lowercase().replace('-', "_"));
    let choices: Vec<String> = spec.choices.iter().map(as_text).collect();
    let choices: Vec<&str> = choices.iter().map(String::as_str).collect();
    let is_known = choices.contains(&folded.as_deref().unwrap_or(value));
    // Of numbers none is nearer in its digits.
    (!is_known).then(|| match is_integer {
        true => format!("known values: {}", suggest::list(&choices)),
        false => suggest::hint(value, &choices, "values"),
    })
}

/// Returns true for integers such as `32k`, `1K` or `2.5m`: a decimal number with k, m, g or t for
/// powers of 1000 or 1024, or `-1` and `auto`.
pub(super) fn is_human_integer(value: &str) -> bool {
    let value = value.trim();
    let number = value.strip_suffix(['k', 'K', 'm', 'M', 'g', 'G', 't', 'T']);
    // Rust reads more as a number, such as `inf` and `1e3`.
    let is_decimal = |text: &str| text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    value == "auto" || number.is_some_and(|text| is_decimal(text) && text.parse::<f64>().is_ok())
}
