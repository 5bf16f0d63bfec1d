//! As much of a shell as launch scripts of engines use: words, quotes, variables and arithmetic.
//! Nothing is run; what cannot be known is [`UNKNOWN`].

use std::collections::BTreeMap;

/// Stands in a word for text that only a running pod knows.
pub(crate) const UNKNOWN: char = '\u{1}';

/// Variables by name.
pub(crate) type Variables = BTreeMap<String, String>;

/// The commands of a script as words, in order; `rest` are the arguments of the script.
/// Assignments to variables hold for what follows.
pub(crate) fn commands(script: &str, rest: &[String], variables: &Variables) -> Vec<Vec<String>> {
    let mut shell = Shell {
        text: script.chars().collect(),
        position: 0,
        rest,
        variables: variables.clone(),
        words: Vec::new(),
        word: None,
        commands: Vec::new(),
    };
    shell.run();
    shell.commands
}

struct Shell<'a> {
    text: Vec<char>,
    position: usize,
    rest: &'a [String],
    variables: Variables,
    words: Vec<String>,
    word: Option<String>,
    commands: Vec<Vec<String>>,
}

impl Shell<'_> {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.text.get(self.position + ahead).copied()
    }

    fn next(&mut self) -> Option<char> {
        let character = self.peek(0)?;
        self.position += 1;
        Some(character)
    }

    fn push(&mut self, text: &str) {
        self.word.get_or_insert_default().push_str(text);
    }

    fn end_word(&mut self) {
        self.words.extend(self.word.take());
    }

    fn end_command(&mut self) {
        self.end_word();
        let words = std::mem::take(&mut self.words);
        let assignments: Option<Vec<(&str, &str)>> =
            words.iter().map(|word| assignment(word)).collect();
        match assignments {
            _ if words.is_empty() => {}
            Some(assignments) => {
                let pairs = assignments.into_iter().map(|(n, v)| (n.to_owned(), v.to_owned()));
                let pairs: Vec<(String, String)> = pairs.collect();
                self.variables.extend(pairs);
            }
            None => self.commands.push(words),
        }
    }

    fn run(&mut self) {
        while let Some(character) = self.next() {
            match character {
                '#' if self.word.is_none() => {
                    while self.peek(0).is_some_and(|c| c != '\n') {
                        self.position += 1;
                    }
                }
                '\\' => match self.next() {
                    Some('\n') | None => {}
                    Some(escaped) => self.push(&escaped.to_string()),
                },
                '\'' => {
                    self.push("");
                    while let Some(character) = self.next().filter(|c| *c != '\'') {
                        self.push(&character.to_string());
                    }
                }
                '"' => self.double_quoted(),
                '$' => {
                    let value = self.expansion();
                    self.unquoted(&value);
                }
                '\n' | ';' | '|' => self.end_command(),
                '&' if self.word.as_ref().is_none_or(|word| !word.ends_with('>')) => {
                    self.end_command();
                }
                character if character.is_whitespace() => self.end_word(),
                character => self.push(&character.to_string()),
            }
        }
        self.end_command();
    }

    /// A value outside of quotes is split at its spaces.
    fn unquoted(&mut self, value: &str) {
        if value.starts_with(char::is_whitespace) {
            self.end_word();
        }
        let words: Vec<&str> = value.split_whitespace().collect();
        for (index, word) in words.iter().enumerate() {
            if index > 0 {
                self.end_word();
            }
            self.push(word);
        }
        if !words.is_empty() && value.ends_with(char::is_whitespace) {
            self.end_word();
        }
    }

    fn double_quoted(&mut self) {
        self.push("");
        while let Some(character) = self.next() {
            match character {
                '"' => return,
                '\\' => match self.next() {
                    Some('\n') | None => {}
                    Some(escaped @ ('"' | '\\' | '$' | '`')) => self.push(&escaped.to_string()),
                    Some(other) => {
                        self.push("\\");
                        self.push(&other.to_string());
                    }
                },
                '$' if self.peek(0) == Some('@') => {
                    self.position += 1;
                    let rest = self.rest;
                    for (index, word) in rest.iter().enumerate() {
                        if index > 0 {
                            self.end_word();
                        }
                        self.push(word);
                    }
                }
                '$' => {
                    let value = self.expansion();
                    self.push(&value);
                }
                character => self.push(&character.to_string()),
            }
        }
    }

    /// What follows a `$`.
    fn expansion(&mut self) -> String {
        match self.peek(0) {
            Some('(') if self.peek(1) == Some('(') => {
                let inner = self.enclosed('(', ')');
                let inner = inner.trim_start_matches('(').trim_end_matches(')').to_owned();
                arithmetic(&inner, &self.variables)
                    .map_or_else(|| UNKNOWN.to_string(), |number| number.to_string())
            }
            Some('(') => {
                self.enclosed('(', ')');
                UNKNOWN.to_string()
            }
            Some('{') => {
                let inner = self.enclosed('{', '}');
                self.parameter(&inner)
            }
            Some('@' | '*') => {
                self.position += 1;
                self.rest.join(" ")
            }
            _ => {
                let name = self.name();
                if name.is_empty() { "$".to_owned() } else { self.variable(&name) }
            }
        }
    }

    fn name(&mut self) -> String {
        let mut name = String::new();
        while let Some(c) = self.peek(0).filter(|c| c.is_ascii_alphanumeric() || *c == '_') {
            name.push(c);
            self.position += 1;
        }
        name
    }

    fn variable(&self, name: &str) -> String {
        self.variables.get(name).cloned().unwrap_or_else(|| UNKNOWN.to_string())
    }

    /// The inside of `${…}`.
    fn parameter(&self, inner: &str) -> String {
        let end = inner.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let (name, operation) = inner.split_at(end.unwrap_or(inner.len()));
        let default = operation.strip_prefix(":-").or_else(|| operation.strip_prefix('-'));
        match (self.variables.get(name), default) {
            (Some(value), _) => value.clone(),
            (None, Some(default)) => default.trim_matches('"').to_owned(),
            // `${NAME:+text}`: nothing, as the variable is not known to be set.
            (None, None) if operation.starts_with(":+") => String::new(),
            (None, None) => UNKNOWN.to_string(),
        }
    }

    /// What stands between matching brackets, of which the first is next.
    fn enclosed(&mut self, open: char, close: char) -> String {
        let mut depth = 0usize;
        let mut inner = String::new();
        while let Some(character) = self.next() {
            if character == open {
                depth += 1;
                if depth == 1 {
                    continue;
                }
            } else if character == close {
                depth -= 1;
                if depth == 0 {
                    break;
                }
            }
            inner.push(character);
        }
        inner
    }
}

/// `NAME=value`
fn assignment(word: &str) -> Option<(&str, &str)> {
    let (name, value) = word.split_once('=')?;
    let first = name.chars().next()?;
    let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    (plain && !first.is_ascii_digit()).then_some((name, value))
}

/// The value of a whole-number expression with `+ - * / %`, brackets and variables.
pub(crate) fn arithmetic(text: &str, variables: &Variables) -> Option<i64> {
    let tokens = tokens(text)?;
    let mut position = 0;
    let value = sum(&tokens, &mut position, variables, 0)?;
    (position == tokens.len()).then_some(value)
}

#[derive(Debug, PartialEq)]
enum Token {
    Number(i64),
    Name(String),
    Sign(char),
}

fn tokens(text: &str) -> Option<Vec<Token>> {
    // `${LWS_WORKER_INDEX:-0}` is the variable, or 0.
    let mut tokens = Vec::new();
    let characters: Vec<char> = text.chars().collect();
    let mut position = 0;
    while let Some(character) = characters.get(position).copied() {
        position += 1;
        let braced = character == '$' && characters.get(position) == Some(&'{');
        let mut take = |first: Option<char>, fits: fn(char) -> bool| {
            let mut word: String = first.into_iter().collect();
            while let Some(next) = characters.get(position).copied().filter(|c| fits(*c)) {
                word.push(next);
                position += 1;
            }
            word
        };
        let in_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        match character {
            // The bracket that ends a name.
            ' ' | '\n' | '\t' | '}' => {}
            '+' | '-' | '*' | '/' | '%' | '(' | ')' => tokens.push(Token::Sign(character)),
            '0'..='9' => {
                let digits = take(Some(character), |c| c.is_ascii_digit());
                tokens.push(Token::Number(digits.parse().ok()?));
            }
            '$' if braced => {
                let inner = take(None, |c| c != '}');
                let inner = inner.trim_start_matches('{');
                let name = inner.split([':', '-']).next().unwrap_or(inner);
                tokens.push(Token::Name(name.to_owned()));
            }
            '$' => tokens.push(Token::Name(take(None, in_name))),
            c if c.is_ascii_alphabetic() || c == '_' => {
                tokens.push(Token::Name(take(Some(c), in_name)));
            }
            _ => return None,
        }
    }
    Some(tokens)
}

/// Deeper brackets than anyone writes.
const MAX_DEPTH: usize = 50;

fn sum(tokens: &[Token], position: &mut usize, variables: &Variables, depth: usize) -> Option<i64> {
    let mut value = product(tokens, position, variables, depth)?;
    while let Some(Token::Sign(sign @ ('+' | '-'))) = tokens.get(*position) {
        *position += 1;
        let next = product(tokens, position, variables, depth)?;
        value = if *sign == '+' { value.checked_add(next)? } else { value.checked_sub(next)? };
    }
    Some(value)
}

fn product(
    tokens: &[Token],
    position: &mut usize,
    variables: &Variables,
    depth: usize,
) -> Option<i64> {
    let mut value = factor(tokens, position, variables, depth)?;
    while let Some(Token::Sign(sign @ ('*' | '/' | '%'))) = tokens.get(*position) {
        *position += 1;
        let next = factor(tokens, position, variables, depth)?;
        value = match sign {
            '*' => value.checked_mul(next)?,
            '/' => value.checked_div(next)?,
            _ => value.checked_rem(next)?,
        };
    }
    Some(value)
}

fn factor(
    tokens: &[Token],
    position: &mut usize,
    variables: &Variables,
    depth: usize,
) -> Option<i64> {
    let token = tokens.get(*position)?;
    *position += 1;
    match token {
        Token::Number(number) => Some(*number),
        Token::Name(name) => variables.get(name)?.trim().parse().ok(),
        Token::Sign('(') if depth < MAX_DEPTH => {
            let value = sum(tokens, position, variables, depth + 1)?;
            (tokens.get(*position) == Some(&Token::Sign(')'))).then(|| *position += 1)?;
            Some(value)
        }
        Token::Sign('-') if depth < MAX_DEPTH => {
            factor(tokens, position, variables, depth + 1)?.checked_neg()
        }
        Token::Sign(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables() -> Variables {
        let pairs = [("A", "4"), ("LWS_GROUP_SIZE", "2"), ("EMPTY", ""), ("TWO", "--x 1")];
        pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
    }

    #[test]
    fn scripts_as_words() {
        let script = r#"
            # a comment; with $( and '
            START=$(( ${LWS_WORKER_INDEX:-0} + LWS_GROUP_SIZE * A ))  # nine
            find /dev/shm -type f -delete 2>&1 >/dev/null
            if [ -n "${NONE:-}" ]; then X=1; fi
            exec vllm serve \
              a/b --x ${A} $EMPTY $TWO "q $A" 'a "b" $c' ${NONE-d} --n=$((A*2)) --u $(date) "$@"
        "#;
        let rest = ["--one".to_owned(), "two three".to_owned()];
        let all = commands(script, &rest, &variables());
        let last = all.last().unwrap().join("|").replace(UNKNOWN, "?");
        assert_eq!(
            last,
            "exec|vllm|serve|a/b|--x|4|--x|1|q 4|a \"b\" $c|d|--n=8|--u|?|--one|two three"
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
            assert_eq!(arithmetic(text, &variables()), value, "{text}");
        }
        assert_eq!(arithmetic(&"(".repeat(100_000), &variables()), None);
    }

    #[test]
    fn nothing_hangs_or_panics() {
        for text in ["\"", "'", "$", "${", "$((", "$(", "\\", "a=", "=b", "&&&;;|", "${:-}", "$((}"]
        {
            commands(text, &[], &Variables::new());
        }
    }
}
