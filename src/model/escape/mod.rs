//! Escapes untrusted text for its output format.
//!
//! Bundles, catalogs, registries, charts and file names can contain any text. Unescaped, it could
//! move a terminal's cursor, reverse the direction of the following text, start a new line, or send
//! commands to a CI runner that reads the log. There is an escape function for each output:
//! [`line`] and [`Lines`] for terminals and logs, [`json`], [`html`], and [`markdown`].
//!
//! Nothing is removed: hidden characters are shown by code point, as `\u{1b}`.

pub mod login;
pub mod markdown;
pub mod shell;

use std::borrow::Cow;
use std::fmt::Write as _;

/// Characters that show nothing and act on what is around them, as inclusive ranges: controls, formats
/// and separators (categories Cc, Cf, Zl and Zp), and what Unicode calls default-ignorable, without
/// the variation selectors of emoji (FE00–FE0F), which change a picture at most.
const HIDDEN: &[(char, char)] = &[
    ('\0', '\u{1f}'),
    ('\u{7f}', '\u{9f}'),
    ('\u{ad}', '\u{ad}'),
    ('\u{34f}', '\u{34f}'),
    ('\u{600}', '\u{605}'),
    ('\u{61c}', '\u{61c}'),
    ('\u{6dd}', '\u{6dd}'),
    ('\u{70f}', '\u{70f}'),
    ('\u{890}', '\u{891}'),
    ('\u{8e2}', '\u{8e2}'),
    ('\u{115f}', '\u{1160}'),
    ('\u{17b4}', '\u{17b5}'),
    ('\u{180b}', '\u{180f}'),
    ('\u{200b}', '\u{200f}'),
    ('\u{2028}', '\u{202e}'),
    ('\u{2060}', '\u{206f}'),
    ('\u{3164}', '\u{3164}'),
    ('\u{feff}', '\u{feff}'),
    ('\u{ffa0}', '\u{ffa0}'),
    ('\u{fff0}', '\u{fffb}'),
    ('\u{110bd}', '\u{110bd}'),
    ('\u{110cd}', '\u{110cd}'),
    ('\u{13430}', '\u{1343f}'),
    ('\u{1bca0}', '\u{1bca3}'),
    ('\u{1d173}', '\u{1d17a}'),
    ('\u{e0000}', '\u{e0fff}'),
];

/// Returns true for characters that are invisible and affect the surrounding text.
pub fn is_hidden(character: char) -> bool {
    // Most text is ASCII, of which only controls are hidden.
    if character.is_ascii() {
        return character.is_ascii_control();
    }
    HIDDEN.iter().any(|(first, last)| (*first..=*last).contains(&character))
}

/// Returns text as a part of one line: hidden characters, line breaks among them, are shown by code
/// points.
pub fn visible(text: &str) -> Cow<'_, str> {
    replace_hidden(text, |character, out| {
        let _ = match character {
            '\t' => write!(out, "    "),
            '\n' => write!(out, "\\n"),
            '\r' => write!(out, "\\r"),
            other => write!(out, "{}", other.escape_unicode()),
        };
    })
}

/// Escapes a line for a terminal or log: visible, and without runner commands.
pub fn line(text: &str) -> Cow<'_, str> {
    match visible(text) {
        Cow::Borrowed(text) => without_commands(text),
        Cow::Owned(text) => Cow::Owned(without_commands(&text).into_owned()),
    }
}

/// Returns the same for text of several lines.
pub fn lines(text: &str) -> Cow<'_, str> {
    by_line(text, line)
}

/// Escapes runner commands in text of several lines that is already visible and may contain the
/// program's own colors.
pub(crate) fn painted(text: &str) -> Cow<'_, str> {
    by_line(text, without_commands)
}

/// Escapes a JSON document: hidden characters and runner commands become JSON escapes. The value
/// does not change, because these can only be in strings.
pub fn json(document: &str) -> Cow<'_, str> {
    let escape = |character: char, out: &mut String| {
        for unit in character.encode_utf16(&mut [0; 2]) {
            let _ = write!(out, "\\u{unit:04x}");
        }
    };
    by_line(document, |text| replace_bracket_commands(replace_hidden(text, escape), "\\u0023"))
}

/// Escapes text for an HTML page or an attribute of it: visible, without markup or commands.
pub fn html(text: &str) -> String {
    let visible = visible(text);
    let mut safe = String::with_capacity(visible.len());
    // A page is printed to logs as well, where a runner would read a line as a command.
    let is_command = visible.trim_start().starts_with("::");
    for character in visible.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            ':' if is_command => safe.push_str("&#58;"),
            other => safe.push(other),
        }
    }
    replace_bracket_commands(Cow::Owned(safe), "&#35;").into_owned()
}

/// Percent-encodes all bytes but letters, digits and those in `plain` (RFC 3986, section 2.1).
pub fn percent(text: &str, plain: &[u8]) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || plain.contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

fn by_line(text: &str, safe: impl Fn(&str) -> Cow<'_, str>) -> Cow<'_, str> {
    // Nearly all texts are safe, and are not copied.
    let is_safe = |line: &str| matches!(safe(line), Cow::Borrowed(_));
    if text.split('\n').all(is_safe) {
        return Cow::Borrowed(text);
    }
    let lines: Vec<Cow<'_, str>> = text.split('\n').map(safe).collect();
    Cow::Owned(lines.join("\n"))
}

fn replace_hidden(text: &str, replace: impl Fn(char, &mut String)) -> Cow<'_, str> {
    if !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if is_hidden(character) {
            replace(character, &mut out);
        } else {
            out.push(character);
        }
    }
    Cow::Owned(out)
}

/// Returns a line in which no runner finds a command: GitHub's at the start (`::error::`, spaces
/// before it do not matter), and those of GitHub, Azure Pipelines and TeamCity anywhere
/// (`##[group]`, `##vso[task.setvariable]`, `##teamcity[`). GitLab's markers need control
/// characters.
fn without_commands(line: &str) -> Cow<'_, str> {
    let start = line.len() - line.trim_start().len();
    let line = match line.get(start..).and_then(|text| text.strip_prefix("::")) {
        Some(rest) => Cow::Owned(format!("{}\\u{{3a}}:{rest}", &line[..start])),
        None => Cow::Borrowed(line),
    };
    replace_bracket_commands(line, "\\u{23}")
}

/// Returns the position of the second `#` of the first `##NAME[`.
fn bracket_command(text: &str) -> Option<usize> {
    let mut from = 0;
    while let Some(at) = text.get(from..).and_then(|rest| rest.find("##")) {
        let second = from + at + 1;
        let name = text[second + 1..].trim_start_matches(|c: char| c.is_ascii_alphanumeric());
        if name.starts_with('[') {
            return Some(second);
        }
        // From the second `#`: in `###[`, the last two may begin a command.
        from = second;
    }
    None
}

fn replace_bracket_commands<'t>(text: Cow<'t, str>, hash: &str) -> Cow<'t, str> {
    if bracket_command(&text).is_none() {
        return text;
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = &*text;
    while let Some(at) = bracket_command(rest) {
        out.push_str(&rest[..at]);
        out.push_str(hash);
        rest = &rest[at + 1..];
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Text for a terminal or a log, line by line. Each line is safe when it is pushed, so that no part
/// of it can begin another one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lines {
    text: String,
}

impl Lines {
    /// Creates an empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds one line.
    pub fn push(&mut self, text: impl AsRef<str>) {
        self.text.push_str(&line(text.as_ref()));
        self.text.push('\n');
    }

    /// Adds the lines of others.
    pub fn append(&mut self, other: Lines) {
        self.text.push_str(&other.text);
    }

    /// Returns true if there are no lines.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Returns all lines, each with its end.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl std::fmt::Display for Lines {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.text)
    }
}

impl<T: AsRef<str>> FromIterator<T> for Lines {
    fn from_iter<I: IntoIterator<Item = T>>(texts: I) -> Self {
        let mut lines = Lines::new();
        texts.into_iter().for_each(|text| lines.push(text));
        lines
    }
}

#[cfg(test)]
mod tests;
