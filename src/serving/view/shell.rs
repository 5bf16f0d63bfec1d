//! Parses the subset of shell in launch scripts of engines: words, quotes, variables, arrays, arithmetic.
//! Nothing is executed; unknown text is [`UNKNOWN`].
//!
//! Time and memory are linear in the script, except for expansions, which can double in size. They
//! are limited by a [`Budget`].

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

/// Placeholder in a word for text that is only known at runtime.
pub(crate) const UNKNOWN: char = '\u{1}';

/// Variables by name.
pub(crate) type Variables = BTreeMap<String, String>;

/// Budget of one container in bytes. Scripts of real engines need a few thousand.
pub(crate) const CONTAINER_LIMIT: usize = 128 << 10;
/// Budget of all containers of a set of manifests in bytes.
const SET_LIMIT: usize = 4 << 20;

/// Remaining bytes for expansions. Each expansion counts its input, its output, and one.
#[derive(Debug)]
pub(crate) struct Budget {
    /// `None` if the container has exceeded it.
    of_container: Cell<Option<usize>>,
    of_set: Cell<usize>,
}

impl Budget {
    /// Creates a budget for a set of manifests.
    pub(crate) fn new() -> Self {
        Budget { of_container: Cell::new(Some(CONTAINER_LIMIT)), of_set: Cell::new(SET_LIMIT) }
    }

    /// Resets the budget of a container.
    pub(crate) fn next_container(&self) {
        self.of_container.set(Some(CONTAINER_LIMIT));
    }

    /// Returns true if this container has exceeded its budget, so that its commands are unknown.
    pub(crate) fn is_over(&self) -> bool {
        self.of_container.get().is_none()
    }

    /// Charges an expansion to the budget; false if it exceeds it.
    pub(crate) fn pay(&self, text: &str) -> bool {
        // The one is for empty values, which would otherwise be expanded for nothing.
        let cost = text.len() + 1;
        let of_container = self.of_container.get().and_then(|left| left.checked_sub(cost));
        let left = of_container.zip(self.of_set.get().checked_sub(cost));
        self.of_container.set(left.map(|(of_container, _)| of_container));
        self.of_set.set(left.map_or(self.of_set.get(), |(_, of_set)| of_set));
        !self.is_over()
    }
}

/// The commands of a script.
#[derive(Debug, Default)]
pub(crate) struct Script {
    /// The commands as words, in order.
    pub(crate) commands: Vec<Vec<String>>,
    /// Variables without a known value that the script needs: under `set -u` it ends where it uses one that
    /// is not set.
    pub(crate) needed: BTreeSet<String>,
    /// Variables without a known value that a command has, by its index.
    pub(crate) unset: BTreeMap<usize, BTreeSet<String>>,
    /// A flag that is a command, because the command before it ended too early.
    pub(crate) stray: Option<String>,
}

/// Parses a script. `rest` are its arguments, and `is_strict` tells if unset variables are errors;
/// assignments apply to the following commands. `None` if the script exceeds its budget.
pub(crate) fn parse(
    script: &str,
    rest: &[String],
    variables: &Variables,
    is_strict: bool,
    budget: &Budget,
) -> Option<Script> {
    let mut shell = Shell {
        text: Rest(script),
        arrays: BTreeMap::from([("@".to_owned(), rest.to_vec())]),
        variables: variables.clone(),
        budget,
        words: Vec::new(),
        word: None,
        array: None,
        heredocs: Vec::new(),
        depth: 0,
        depends: false,
        is_strict,
        unset: BTreeSet::new(),
        script: Script::default(),
    };
    shell.run();
    (!budget.is_over()).then_some(shell.script)
}

/// The part of a text that is not parsed yet.
struct Rest<'t>(&'t str);

impl<'t> Rest<'t> {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.0.chars().nth(ahead)
    }

    /// Consumes a number of bytes.
    fn skip(&mut self, bytes: usize) {
        self.0 = self.0.get(bytes..).unwrap_or_default();
    }

    /// Consumes the characters that fit.
    fn take(&mut self, fits: impl Fn(char) -> bool) -> &'t str {
        let end = self.0.find(|c| !fits(c)).unwrap_or(self.0.len());
        let (taken, rest) = self.0.split_at(end);
        self.0 = rest;
        taken
    }
}

struct Shell<'a> {
    text: Rest<'a>,
    budget: &'a Budget,
    variables: Variables,
    /// Arrays by name; `@` are the arguments.
    arrays: BTreeMap<String, Vec<String>>,
    words: Vec<String>,
    word: Option<String>,
    /// The index of the word `NAME=` of an array whose items are being parsed.
    array: Option<usize>,
    /// The ends of heredocs that begin on this line.
    heredocs: Vec<String>,
    /// Conditions, loops and functions around the command.
    depth: usize,
    /// True if the command depends on the one before it.
    depends: bool,
    /// True after `set -u`.
    is_strict: bool,
    /// Variables of the command without a known value.
    unset: BTreeSet<String>,
    script: Script,
}

/// Words that may be more or fewer: a model, and flags.
fn any_words() -> Vec<String> {
    vec![UNKNOWN.to_string(); 2]
}

impl Shell<'_> {
    /// Returns the next character; `None` at the end or above the budget.
    fn next(&mut self) -> Option<char> {
        let character = self.text.peek(0).filter(|_| !self.budget.is_over())?;
        self.text.skip(character.len_utf8());
        Some(character)
    }

    fn push(&mut self, text: &str) {
        self.word.get_or_insert_default().push_str(text);
    }

    fn end_word(&mut self) {
        self.words.extend(self.word.take());
    }

    /// Ends a command, whose success is a condition of the next one with `&&` and `||`.
    fn end_command(&mut self, is_condition: bool) {
        self.end_word();
        let mut words = std::mem::take(&mut self.words);
        let depends = std::mem::replace(&mut self.depends, is_condition);
        // Bodies of functions are in braces.
        self.depth += usize::from(words.last().is_some_and(|word| word == "{"));
        // Whether an assignment below a condition is carried out is not known.
        match words.first().map_or("", String::as_str) {
            "if" | "case" | "for" | "while" | "until" => self.depth += 1,
            "fi" | "esac" | "done" | "}" => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        let before = ["then", "else", "do", "export", "local", "readonly", "declare"];
        while words.len() > 1 && before.contains(&words[0].as_str()) {
            words.remove(0);
        }
        let is_known = self.depth == 0 && !depends;
        let unset = std::mem::take(&mut self.unset);
        let assignments: Option<Vec<_>> = words.iter().map(|word| assignment(word)).collect();
        let Some(assignments) = assignments else {
            self.options(&words, is_known);
            let is_flag = words[0].starts_with("--") && words[0].len() > 2;
            let is_stray = is_known && is_flag && !self.script.commands.is_empty();
            self.script.stray = self.script.stray.take().or(is_stray.then(|| words[0].clone()));
            self.script.unset.insert(self.script.commands.len(), unset);
            self.script.commands.push(words);
            return;
        };
        for (name, value, appends) in assignments {
            let old = self.variables.get(name).filter(|_| appends);
            let value = match old.filter(|old| self.budget.pay(old)) {
                Some(old) if is_known => format!("{old}{value}"),
                // What is appended may be more flags.
                Some(old) => format!("{old} {UNKNOWN}"),
                None if is_known && !appends => value.to_owned(),
                None => UNKNOWN.to_string(),
            };
            self.variables.insert(name.to_owned(), value);
        }
    }

    /// Applies `set` and `shift` to the options and the arguments of the script.
    fn options(&mut self, words: &[String], is_known: bool) {
        let arguments = match words.first().map(String::as_str) {
            Some("set") => {
                let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
                let turns = |sign: char| {
                    let mut all = words[..end].windows(2);
                    all.any(|two| {
                        let is_named = two[0].starts_with(sign) && two[1] == "nounset";
                        is_named || two[1].starts_with(sign) && two[1].contains('u')
                    })
                };
                self.is_strict = (self.is_strict || is_known && turns('-')) && !turns('+');
                words.get(end + 1..)
            }
            // What follows is not reached.
            Some("exec") if is_known && words.len() > 1 => {
                self.is_strict = false;
                None
            }
            Some("shift") => {
                let count = words.get(1).map_or(Some(1), |count| count.parse().ok());
                let old = self.arrays.get("@").filter(|old| old.iter().all(|w| self.budget.pay(w)));
                old.zip(count).and_then(|(old, count)| old.get(count..))
            }
            _ => None,
        };
        if let Some(arguments) = arguments.map(<[String]>::to_vec) {
            self.arrays.insert("@".to_owned(), if is_known { arguments } else { any_words() });
        }
    }

    /// Ends the items of an array.
    fn end_array(&mut self, start: usize) {
        self.end_word();
        let items = self.words.split_off((start + 1).min(self.words.len()));
        let name = self.words.pop().unwrap_or_default();
        let Some((name, _, appends)) = assignment(&name) else { return };
        // An array under a condition has these items or others.
        let is_known = self.depth == 0 && !self.depends;
        let items = if is_known { items } else { any_words() };
        let array = self.arrays.entry(name.to_owned()).or_default();
        if !appends {
            array.clear();
        }
        array.extend(items);
    }

    /// Returns the items of an array, or of the arguments.
    fn items(&self, name: &str) -> Vec<String> {
        let items = self.arrays.get(name).cloned().unwrap_or_else(any_words);
        items.into_iter().take_while(|word| self.budget.pay(word)).collect()
    }

    /// Parses the beginning of a heredoc, whose text is no command.
    fn heredoc(&mut self) {
        self.text.take(|c| matches!(c, '<' | '-' | ' '));
        let end = self.text.take(|c| !c.is_whitespace() && !";&|<>()".contains(c));
        self.heredocs.push(end.replace(['"', '\'', '\\'], ""));
    }

    /// Skips the heredocs that begin on the line before.
    fn skip_heredocs(&mut self) {
        for end in std::mem::take(&mut self.heredocs) {
            let mut length = 0;
            let has_end = self.text.0.split_inclusive('\n').any(|line| {
                length += line.len();
                line.trim() == end
            });
            // Without its end it is none, but a shift of bits. Others may look for theirs in vain, too.
            if has_end {
                self.text.skip(length);
            } else {
                self.budget.pay(self.text.0);
            }
        }
    }

    fn run(&mut self) {
        while let Some(character) = self.next() {
            match character {
                // Within a word `#` is a character like any other (POSIX shell, 2.3 Token
                // Recognition).
                '#' if self.word.is_none() => _ = self.text.take(|c| c != '\n'),
                '\\' => self.escaped(|_| true),
                '\'' => {
                    // Empty quotes are a word as well.
                    let text = self.until('\'');
                    self.push(&text);
                }
                '"' => self.double_quoted(),
                '`' => self.substitution(),
                '$' => {
                    let value = match self.array_name(&['@', '*']) {
                        Some(name) => self.items(&name).join(" "),
                        None => self.expansion(),
                    };
                    self.unquoted(&value);
                }
                // `<<<` has its text in the next word.
                '<' if self.text.0.starts_with("<<") => self.text.skip(2),
                '<' if self.text.0.starts_with('<') => self.heredoc(),
                '\n' if self.array.is_none() => {
                    self.end_command(false);
                    self.skip_heredocs();
                }
                ';' => self.end_command(false),
                // The `&` of `2>&1` belongs to a redirection.
                '|' | '&' if self.word.as_ref().is_none_or(|word| !word.ends_with('>')) => {
                    let is_condition = self.text.0.starts_with(character);
                    self.text.skip(usize::from(is_condition));
                    self.end_command(is_condition);
                }
                '(' => {
                    let begun = self.word.as_deref().and_then(assignment);
                    let is_array = begun.is_some_and(|one| one.1.is_empty());
                    self.array = is_array.then_some(self.words.len()).or(self.array);
                    self.end_word();
                }
                ')' => match self.array.take() {
                    Some(start) => self.end_array(start),
                    None => self.end_word(),
                },
                character if character.is_whitespace() => self.end_word(),
                character => self.push(&character.to_string()),
            }
        }

        self.end_command(false);
    }

    /// Appends an unquoted value, which is split at spaces.
    fn unquoted(&mut self, value: &str) {
        if value.starts_with(char::is_whitespace) {
            self.end_word();
        }
        self.push_words(value.split_whitespace());
        if value.ends_with(char::is_whitespace) {
            self.end_word();
        }
    }

    /// Appends words, the first one to the word before them.
    fn push_words<'w>(&mut self, words: impl Iterator<Item = &'w str>) {
        for (index, word) in words.enumerate() {
            if index > 0 {
                self.end_word();
            }
            self.push(word);
        }
    }

    /// Appends the character after a backslash, and the backslash unless it escapes the character.
    fn escaped(&mut self, escapes: fn(char) -> bool) {
        match self.next() {
            // A backslash before a line break joins the lines (POSIX shell, 2.2.1).
            Some('\n') | None => {}
            Some(escaped) if escapes(escaped) => self.push(&escaped.to_string()),
            Some(other) => self.push(&format!("\\{other}")),
        }
    }

    fn double_quoted(&mut self) {
        let is_new = self.word.is_none();
        self.push("");
        while let Some(character) = self.next() {
            match character {
                '"' => return,
                // In double quotes the backslash escapes these only (POSIX shell, 2.2.3).
                '\\' => self.escaped(|c| matches!(c, '"' | '\\' | '$' | '`')),
                '$' => match self.array_name(&['@']) {
                    Some(name) => {
                        let items = self.items(&name);
                        // An empty array is no word.
                        if items.is_empty() && is_new && self.word.as_deref() == Some("") {
                            self.word = None;
                        }
                        self.push_words(items.iter().map(String::as_str));
                    }
                    None => {
                        let value = self.expansion();
                        self.push(&value);
                    }
                },
                '`' => self.substitution(),
                character => self.push(&character.to_string()),
            }
        }
    }

    /// Appends the unknown output of a command in backquotes, in which a backslash escapes them (POSIX
    /// shell, 2.6.3).
    fn substitution(&mut self) {
        while self.until('`').ends_with('\\') {}
        self.push(&UNKNOWN.to_string());
    }

    /// Returns the text up to a character, and consumes both.
    fn until(&mut self, end: char) -> String {
        std::iter::from_fn(|| self.next().filter(|character| *character != end)).collect()
    }

    /// Returns the expansion after a `$`.
    fn expansion(&mut self) -> String {
        match self.text.peek(0) {
            Some('(') => {
                let inner = self.enclosed('(', ')');
                let inner = inner.strip_prefix('(').map(|inner| inner.trim_start_matches('('));
                let number = inner.map(|inner| inner.trim_end_matches(')'));
                let number = number.and_then(|n| arithmetic(n, &self.variables, self.budget));
                number.map_or_else(|| UNKNOWN.to_string(), |number| number.to_string())
            }
            Some('{') => {
                let inner = self.enclosed('{', '}');
                self.parameter(&inner)
            }

            Some('*') => {
                self.text.skip(1);
                self.items("@").join(" ")
            }
            _ => match self.text.take(is_in_name) {
                "" => "$".to_owned(),
                name => self.variable(name),
            },
        }
    }

    /// Consumes an array with one of these marks after a `$`, and returns its name: `@` for the arguments,
    /// and none for a part of an array.
    fn array_name(&mut self, marks: &[char]) -> Option<String> {
        if self.text.0.starts_with(marks) {
            self.text.skip(1);
            return Some("@".to_owned());
        }
        let mut rest = Rest(self.text.0.strip_prefix('{')?);
        let name = rest.take(is_in_name);
        let after = if name.is_empty() { Some(rest.0) } else { rest.0.strip_prefix('[') };
        let after = after?.strip_prefix(marks)?;
        // `${NAME[@]+"${NAME[@]}"}` is for shells to which an empty array is not set.
        let end = usize::from(!name.is_empty());
        let is_whole = matches!(Rest(after).peek(end), Some('}' | '+'));
        self.enclosed('{', '}');
        Some(match name {
            _ if !is_whole => String::new(),
            "" => "@".to_owned(),
            name => name.to_owned(),
        })
    }

    fn variable(&mut self, name: &str) -> String {
        let value = self.variables.get(name);
        // A function may not be called.
        let is_inside = || self.words.iter().take(3).any(|word| word == "{");
        if value.is_none() {
            self.unset.insert(name.to_owned());
            if self.is_strict && self.depth == 0 && !self.depends && !is_inside() {
                self.script.needed.insert(name.to_owned());
            }
        }
        match value {
            Some(value) if self.budget.pay(value) => value.clone(),
            _ => UNKNOWN.to_string(),
        }
    }

    /// Returns the expansion of `${…}`.
    fn parameter(&mut self, inner: &str) -> String {
        let end = inner.find(|c| !is_in_name(c));
        let (name, operation) = inner.split_at(end.unwrap_or(inner.len()));
        let default = operation.strip_prefix(":-").or_else(|| operation.strip_prefix('-'));
        match default {
            _ if operation.is_empty() || self.variables.contains_key(name) => self.variable(name),
            Some(default) => default.trim_matches('"').to_owned(),
            // `${NAME:+text}` is empty, because the variable is not known to be set.
            None if operation.starts_with(":+") => String::new(),
            None => UNKNOWN.to_string(),
        }
    }

    /// Returns the text between matching brackets; the opening bracket is next.
    fn enclosed(&mut self, open: char, close: char) -> String {
        self.next();
        let mut depth = 1usize;
        let is_inner = |character: &char| {
            depth += usize::from(*character == open);
            depth -= usize::from(*character == close);
            depth > 0
        };
        std::iter::from_fn(|| self.next()).take_while(is_inner).collect()
    }
}

/// Parses an assignment `NAME=value`, or `NAME+=value`, which appends.
fn assignment(word: &str) -> Option<(&str, &str, bool)> {
    let (name, value) = word.split_once('=')?;
    let appends = name.ends_with('+');
    let name = name.strip_suffix('+').unwrap_or(name);
    let first = name.chars().next()?;
    let plain = name.chars().all(is_in_name);
    (plain && !first.is_ascii_digit()).then_some((name, value, appends))
}

/// Evaluates an integer expression with `+ - * / %`, brackets and variables.
fn arithmetic(text: &str, variables: &Variables, budget: &Budget) -> Option<i64> {
    let mut sum = Sum { rest: Rest(text), variables, budget };
    let value = sum.operators(0, LEVELS)?;
    sum.peek().is_none().then_some(value)
}

/// Operators, the weakest first.
const LEVELS: &[&[char]] = &[&['+', '-'], &['*', '/', '%']];

/// Maximum depth of brackets.
const MAX_DEPTH: usize = 50;

/// State of the evaluation of an expression.
struct Sum<'a> {
    rest: Rest<'a>,
    variables: &'a Variables,
    budget: &'a Budget,
}

impl Sum<'_> {
    /// Returns the next character that is no space.
    fn peek(&mut self) -> Option<char> {
        self.rest.take(|c| matches!(c, ' ' | '\n' | '\t'));
        self.rest.peek(0)
    }

    /// Consumes the next character if it is one of these signs.
    fn sign(&mut self, signs: &[char]) -> Option<char> {
        let sign = self.peek().filter(|sign| signs.contains(sign))?;
        self.rest.skip(sign.len_utf8());
        Some(sign)
    }

    /// Evaluates operators of these levels.
    fn operators(&mut self, depth: usize, levels: &[&[char]]) -> Option<i64> {
        let Some((signs, inner)) = levels.split_first() else { return self.factor(depth) };
        let mut value = self.operators(depth, inner)?;
        while let Some(sign) = self.sign(signs) {
            let next = self.operators(depth, inner)?;
            value = match sign {
                '+' => value.checked_add(next)?,
                '-' => value.checked_sub(next)?,
                '*' => value.checked_mul(next)?,
                '/' => value.checked_div(next)?,
                _ => value.checked_rem(next)?,
            };
        }
        Some(value)
    }

    fn factor(&mut self, depth: usize) -> Option<i64> {
        // Unary minus and parentheses recurse, so their depth is limited.
        match self.sign(&['(', '-']) {
            Some(_) if depth >= MAX_DEPTH => return None,
            Some('(') => {
                let value = self.operators(depth + 1, LEVELS)?;
                self.sign(&[')'])?;
                return Some(value);
            }
            Some(_) => return self.factor(depth + 1)?.checked_neg(),
            None => {}
        }
        if self.peek()?.is_ascii_digit() {
            return self.rest.take(|c| c.is_ascii_digit()).parse().ok();
        }

        // `${LWS_WORKER_INDEX:-0}` is the variable, or 0.
        let is_braced = self.sign(&['$']).is_some() && self.rest.0.starts_with('{');
        let name = if is_braced {
            let inner = self.rest.take(|c| c != '}').trim_start_matches('{');
            self.sign(&['}']);
            inner.split([':', '-']).next().unwrap_or(inner)
        } else {
            self.rest.take(is_in_name)
        };
        // A variable is text, which a shell evaluates as an expression; here it must be a number.
        let value = self.variables.get(name).filter(|value| self.budget.pay(value))?;
        value.trim().parse().ok()
    }
}

/// Returns true for characters of the names of variables.
pub(crate) fn is_in_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables() -> Variables {
        let pairs = [("A", "4"), ("LWS_GROUP_SIZE", "2"), ("EMPTY", ""), ("TWO", "--x 1")];
        pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
    }

    fn commands(
        script: &str,
        rest: &[String],
        variables: &Variables,
        budget: &Budget,
    ) -> Option<Vec<Vec<String>>> {
        Some(parse(script, rest, variables, false, budget)?.commands)
    }

    #[test]
    fn arrays_and_heredocs() {
        let rest = ["one".to_owned(), "--two".to_owned()];
        for (script, last) in [
            ("X=(--a 1\n  'b c' # comment\n); X+=($A)\nrun \"${X[@]}\"", "run|--a|1|b c|4"),
            ("X=()\nrun \"${X[@]}\" ${X[@]} \"${X[@]+\"${X[@]}\"}\" end", "run|end"),
            ("X=(--a); if x; then X+=(--b); fi\nrun \"${X[@]}\"", "run|--a|?|?"),
            ("mapfile X\nrun \"${X[@]}\" \"${X[@]:1}\"", "run|?|?|?|?"),
            ("X='--a 1'; X+=' --b'; test x && X+=' --c'\nrun $X", "run|--a|1|--b|?"),
            ("set -- --n \"$@\"; shift; run \"$@\"", "run|one|--two"),
            ("export X=1 Y=2\nrun $X$Y", "run|12"),
            ("cat <<EOF >file\ndon't --a 1\nEOF\nrun <<< a", "run|a"),
            ("cat <<-'EOF'\n  run --a\n  EOF\nrun", "run"),
            ("run $*", "run|one|--two"),
            ("run \"$*\" \"a $@\"", "run|one --two|a one|--two"),
            ("X=(", ""),
        ] {
            let all = commands(script, &rest, &variables(), &Budget::new()).unwrap();
            let found = all.last().cloned().unwrap_or_default().join("|").replace(UNKNOWN, "?");
            assert_eq!(found, last, "{script}");
        }
    }

    #[test]
    fn variables_that_must_be_set() {
        let script = "echo $BEFORE; if x; then set -u; fi; echo $BEFORE; set -euo pipefail; f() { echo $IN; }\ng() {\n echo $IN\n}\n\
            if x; then echo $THEN; fi; x && echo $AND; echo '$Q' ${D:-$E} $A ${B}; set +u; echo $C\n\
            set -o nounset; set +o nounset; echo $C";
        let script = parse(script, &[], &variables(), false, &Budget::new()).unwrap();
        assert_eq!(script.needed.into_iter().collect::<Vec<String>>(), ["B"]);
    }

    #[test]
    fn scripts_as_words() {
        let script = r#"
            # a comment; with $( and '
            START=$(( ${LWS_WORKER_INDEX:-0} + LWS_GROUP_SIZE * A ))  # nine
            find /dev/shm -type f -delete 2>&1 >/dev/null
            if [ -n "${NONE:-}" ]; then X=1; fi
            exec vllm serve \
              a/b --x ${A} $EMPTY $TWO "q $A" 'a "b" $c' ${NONE-d} --n=$((A*2)) --u $(date) --v `date +\`x\`` "w`id`" "$@"
        "#;
        let rest = ["--one".to_owned(), "two three".to_owned()];
        let all = commands(script, &rest, &variables(), &Budget::new()).unwrap();
        let last = all.last().unwrap().join("|").replace(UNKNOWN, "?");
        assert_eq!(
            last,
            "exec|vllm|serve|a/b|--x|4|--x|1|q 4|a \"b\" $c|d|--n=8|--u|?|--v|?|w?|--one|two three"
        );
        assert_eq!(all[0].join(" "), "find /dev/shm -type f -delete 2>&1 >/dev/null");
    }

    #[test]
    fn sums() {
        for (text, value) in [
            ("1 + 2 * 3", Some(7)),
            ("(1 + 2) * ${A}", Some(12)),
            ("$A % 3 - -1", Some(2)),
            ("NONE * 2", None),
            ("1 / 0", None),
            ("1 +", None),
            ("9223372036854775807 + 1", None),
        ] {
            assert_eq!(arithmetic(text, &variables(), &Budget::new()), value, "{text}");
        }
        assert_eq!(arithmetic(&"(".repeat(100_000), &variables(), &Budget::new()), None);
    }

    #[test]
    fn nothing_hangs_or_panics() {
        for text in [
            "\"", "'", "$", "${", "$((", "$(", "\\", "a=", "=b", "&&&;;|", "${:-}", "$((}", "`",
            "`\\", "X=(", "X=(;)", "X+=(a", ")", "<<", "<<<", "<<'a", "${X[@]", "${@", "${[@]}",
            "set --", "shift 9",
        ] {
            assert!(commands(text, &[], &Variables::new(), &Budget::new()).is_some());
        }
    }

    #[test]
    fn expansions_are_paid_for() {
        let rest = ["x".repeat(1_000)];
        let long = format!("a={}; ", "1".repeat(1_000));
        for (script, most) in [
            ("a=xxxxxxxx; ".to_owned() + &"a=$a$a; ".repeat(28), 1),
            ("a=xxxxxxxx; ".to_owned() + &"a=\"${a}${a:-}\"; ".repeat(28), 1),
            ("echo ".to_owned() + &"\"$@\" $* ".repeat(1_000), 1),
            (long.clone() + &"echo $((a + a * -(a))); ".repeat(1_000), 1),
            (long + &"echo ${a} ".repeat(1_000), 1),
        ] {
            assert_eq!(commands(&script, &rest, &Variables::new(), &Budget::new()), None, "{most}");
        }
        // Literal text is free, and the budget of a set is shared.
        let literal = "echo word; ".repeat(100_000);
        let budget = Budget::new();
        assert!(commands(&literal, &[], &Variables::new(), &budget).is_some());
        let script = "a=xxxxxxxx; ".to_owned() + &"a=$a$a; ".repeat(12);
        let read = |_: &usize| {
            budget.next_container();
            commands(&script, &[], &Variables::new(), &budget).is_some()
        };
        let count = (0..1_000).take_while(read).count();
        assert!((50..70).contains(&count), "{count}");
    }
}
