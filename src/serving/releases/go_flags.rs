//! Command lines of Go programs, with the package `flag` or `pflag`.
//!
//! `flag` takes `-name` and `--name`, and stops at the first other word. `pflag` takes only `--name`;
//! `-name` is a group of flags of one letter. Boolean flags take a value only after `=`.

use super::*;

/// Judges the arguments of a Go program at a release. Words before the first flag are its command.
pub(crate) fn judge(program: &ProgramTable, release: Release, words: &[String]) -> Vec<Verdict> {
    let judge = program.judge(release);
    let mut line = Line { program, judge };
    let mut words = words.iter().skip_while(|word| !word.starts_with('-')).peekable();
    while let Some(word) = words.next().filter(|word| *word != "--") {
        let is_open = is_placeholder(split_value(word).0);
        let is_flag = word.starts_with('-') && word != "-";
        if !is_open && is_flag && line.flag(word, words.peek().map(|next| next.as_str())) {
            words.next();
        }
    }
    line.judge.verdicts()
}

struct Line<'t> {
    program: &'t ProgramTable,
    judge: Judge<'t>,
}

impl<'t> Line<'t> {
    /// Judges a flag; returns true if the next word is its value.
    fn flag(&mut self, word: &str, next: Option<&str>) -> bool {
        let is_long = word.starts_with("--");
        let (written, value) = split_value(word);
        let name = written.trim_start_matches('-');
        if matches!(name, "help" | "h") {
            return false;
        }

        let index = self.judge.index();
        if !is_long && index.is_some() && self.program.behaviors.has("pflag", index) {
            return self.short(word, written, next);
        }
        let flags = &self.program.flags;
        let instead = self.program.instead(name, index);
        let verdict = self.judge.exists(flags, name, written, "flag", "");
        if let Some((verdict, instead)) = verdict.zip(instead.as_ref()) {
            verdict.hint.clone_from(instead);
        }
        let specs = flags.candidates(name, index);
        let Some(spec) = specs.last() else {
            // An unknown flag with a value takes the next word along.
            return value.is_none() && next.is_some_and(|next| !next.starts_with('-'));
        };

        if index.is_some() && spec.rejected {
            let message = format!("{} does not start with `{written}`", self.judge.title());
            self.judge.refuse("", message, instead.unwrap_or_else(|| "remove it".to_owned()));
        } else {
            self.program.deprecated(name, written, &mut self.judge);
        }

        if specs.iter().all(|spec| spec.kind == "bool") {
            self.boolean(written, value, next);
            return false;
        }
        let given = value.or(next);
        match given {
            None => {
                let message = format!("flag `{written}` has no value");
                self.judge.refuse("", message, format!("write `{written}=…`"));
            }
            // It takes the next word, also if that is a flag.
            Some(given) if value.is_none() && flags.has(given.trim_start_matches("--"), index) => {
                let message = format!("flag `{written}` takes `{given}` as its value");
                self.judge.refuse("", message, format!("write `{written}=…`"));
            }
            Some(given) if !is_placeholder(given) => self.value(name, written, &specs, given),
            Some(_) => {}
        }
        value.is_none() && next.is_some()
    }

    /// Judges a word with one dash for pflag.
    fn short(&mut self, word: &str, written: &str, next: Option<&str>) -> bool {
        let index = self.judge.index();
        let letter: String = word.chars().skip(1).take(1).collect();
        let mut flags = self.program.flags.iter().flat_map(|(_, spans)| spans.candidates(index));
        if flags.any(|spec| spec.short == letter) {
            return word.len() == 2 && next.is_some_and(|next| !next.starts_with('-'));
        }

        let name = written.trim_start_matches('-');
        let message = format!("{} does not accept `{written}` with one dash", self.judge.title());
        let hint = if self.program.flags.has(name, index) {
            format!("write `--{name}`")
        } else {
            suggest::hint(name, &self.program.flags.names(index), "flags")
        };
        self.judge.refuse("", message, hint);
        !word.contains('=') && next.is_some_and(|next| !next.starts_with('-'))
    }

    fn boolean(&mut self, written: &str, value: Option<&str>, next: Option<&str>) {
        // The words of strconv.ParseBool.
        let words =
            ["1", "t", "T", "true", "TRUE", "True", "0", "f", "F", "false", "FALSE", "False"];
        let is_boolean = |text: &str| words.contains(&text);

        // The next word is not a value: the flag is on, and parsing of flags may end there.
        match (value, next) {
            (Some(value), _) if !is_boolean(value) && !is_placeholder(value) => {
                let message = format!("flag `{written}` is boolean, but has the value `{value}`");
                self.judge.refuse("", message, format!("write `{written}=true`"));
            }
            (None, Some(next)) if is_boolean(next) => {
                let message =
                    format!("`{next}` after the boolean flag `{written}` has no effect: it is on");
                self.judge.push(Kind::Ignored, "", message, format!("write `{written}={next}`"));
            }
            _ => {}
        }
    }

    /// Judges the value of a flag.
    fn value(&mut self, name: &str, written: &str, specs: &[&Flag], value: &str) {
        let fits = |spec: &&Flag| match spec.kind.as_str() {
            "int" => integer(value.strip_prefix(['+', '-']).unwrap_or(value)).is_some(),
            "uint" => integer(value).is_some(),
            "float" => value.parse::<f64>().is_ok(),
            "duration" => nanoseconds(value).is_some(),
            _ => true,
        };
        if !specs.iter().any(fits) {
            let expected = match specs.last().map_or("", |spec| spec.kind.as_str()) {
                "duration" => "a duration, such as 30s",
                "float" => "a number",
                _ => "an integer",
            };
            let message =
                format!("{} does not accept `{value}` for `{written}`", self.judge.title());
            self.judge.refuse("", message, format!("write {expected}"));
        }

        let Some(names) = self.program.values.get(name) else { return };
        let index = self.judge.index();
        // pflag's slices are separated by commas.
        let items = value.split(',').map(str::trim);
        for item in items.filter(|item| !item.is_empty() && !names.has(item, index)) {
            let noun = format!("`{written}` value");
            if let Some(verdict) = self.judge.exists(names, item, item, &noun, "") {
                verdict.hint = suggest::hint(item, &names.names(index), "values");
            }
        }
    }
}

/// Returns an integer without a sign as Go's `strconv.ParseInt` reads it with base 0: `0x1F`, `0b11`, `0o17`,
/// `017` and `1_000`; `None` for other text.
fn integer(text: &str) -> Option<u64> {
    let prefixes = [("0x", 16), ("0X", 16), ("0b", 2), ("0B", 2), ("0o", 8), ("0O", 8), ("0", 8)];
    let of_base = |(prefix, base): (&str, u32)| Some((text.strip_prefix(prefix)?, base));
    let prefixed = prefixes.into_iter().find_map(of_base).filter(|_| text != "0");
    let (digits, base) = prefixed.unwrap_or((text, 10));
    // Underscores are between digits, or after the prefix.
    let digits = digits.strip_prefix('_').filter(|_| prefixed.is_some()).unwrap_or(digits);
    let are_digits = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_digit(base));
    digits
        .split('_')
        .all(are_digits)
        .then(|| u64::from_str_radix(&digits.replace('_', ""), base).ok())?
}

/// Units of durations, with their nanoseconds.
const UNITS: [(&str, u128); 7] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// Returns the nanoseconds of a duration as Go's `time.ParseDuration` reads it, such as `1h30m`, without its
/// sign; `None` for other text.
pub(crate) fn nanoseconds(text: &str) -> Option<u128> {
    let mut rest = text.trim_start_matches(['+', '-']);
    if rest == "0" {
        return Some(0);
    }
    let mut sum = 0u128;
    while !rest.is_empty() {
        let (digits, after) = rest.split_at(rest.find(|c: char| !c.is_ascii_digit() && c != '.')?);
        // `ms` is before `m`, which it begins with: the first unit that fits counts.
        let (unit, scale) = UNITS.iter().find(|(unit, _)| after.starts_with(unit))?;
        let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
        // Go needs a digit before or after the point. More than 18 after it are less than a nanosecond.
        let whole: u128 =
            format!("{}{whole}", if part.is_empty() { "" } else { "0" }).parse().ok()?;
        let part: u128 = format!("{part:0<18.18}").parse().ok()?;
        let part = part * scale / 1_000_000_000_000_000_000;
        sum = sum.saturating_add(whole.saturating_mul(*scale)).saturating_add(part);
        rest = &after[unit.len()..];
    }
    (!text.is_empty()).then_some(sum)
}
