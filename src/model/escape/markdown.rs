//! Escapes untrusted text for Markdown, as GitHub and CommonMark read it.

use super::visible;
use std::fmt::Write as _;

/// Escapes text for a sentence, a heading, a list or a cell: one line without Markdown. A word that
/// GitHub would link even when it is escaped (`@name`, `#1`, addresses) is code.
pub fn text(text: &str) -> String {
    words(text, true)
}

/// Returns the words of a text, which may be at the start of a line.
fn words(text: &str, at_start: bool) -> String {
    let visible = visible(text);
    let words = visible.split_whitespace().enumerate();
    let words: Vec<String> =
        words.map(|(index, text)| word(text, at_start && index == 0)).collect();
    words.join(" ")
}

/// Returns a code span with any text.
pub fn code(text: &str) -> String {
    // The source of a document is printed to logs, too.
    let text = super::replace_bracket_commands(visible(text), "\\u{23}");
    // A cell of a table ends at a pipe, also in code.
    if text.contains('|') {
        let mut safe = "<code>".to_owned();
        for character in text.chars() {
            if character.is_ascii_punctuation() {
                let _ = write!(safe, "&#{};", u32::from(character));
            } else {
                safe.push(character);
            }
        }
        return safe + "</code>";
    }

    // A code span ends at a run of as many backquotes as begin it (CommonMark 0.31, 6.1).
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest + 1);
    // One space at both ends is no part of the text.
    let pad = text.is_empty() || text.starts_with(['`', ' ']) || text.ends_with(['`', ' ']);
    let pad = if pad { " " } else { "" };
    format!("{fence}{pad}{text}{pad}{fence}")
}

/// Escapes a sentence of the program in which backquotes mark code. Inserted text may contain
/// backquotes; then other parts become code, but everything is still escaped.
pub fn sentence(sentence: &str) -> String {
    let pieces: Vec<&str> = sentence.split('`').collect();
    let mut out = String::new();
    for (index, piece) in pieces.iter().enumerate() {
        // A backquote without another one begins nothing.
        let is_closed = index + 1 < pieces.len();
        if index % 2 == 1 && is_closed {
            out.push_str(&code(piece));
            continue;
        }
        if index % 2 == 1 {
            out.push_str("\\`");
        }
        let space = |is: bool| if is && !piece.is_empty() { " " } else { "" };
        let safe = words(piece, index == 0);
        out.push_str(space(piece.starts_with(char::is_whitespace)));
        out.push_str(&safe);
        let end = piece.ends_with(char::is_whitespace) && !safe.is_empty();
        out.push_str(space(end));
    }
    out
}

/// Escapes text inside of an HTML element that is part of Markdown, such as the summary of a fold.
pub fn inline_html(text: &str) -> String {
    let safe = super::html(text);
    if is_linked(text) { format!("<code>{safe}</code>") } else { safe }
}

/// Returns a fence that none of these lines ends.
pub fn fence<'t>(lines: impl IntoIterator<Item = &'t str>) -> String {
    let runs = lines.into_iter().flat_map(|line| line.split(|c| c != '`')).map(str::len);
    "`".repeat(runs.max().unwrap_or_default().max(2) + 1)
}

/// Returns a word of a sentence.
fn word(word: &str, at_start: bool) -> String {
    if is_linked(word) {
        return code(word);
    }
    let characters: Vec<char> = word.chars().collect();
    let digits = characters.iter().take_while(|c| c.is_ascii_digit()).count();
    let mut out = String::with_capacity(word.len());
    for (index, character) in characters.iter().enumerate() {
        let before = index.checked_sub(1).and_then(|before| characters.get(before));
        let after = characters.get(index + 1);
        let is_special = match character {
            '\\' | '`' | '*' | '{' | '}' | '[' | ']' | '<' | '>' | '#' | '|' | '~' | '&' | '$'
            | '^' => true,
            '!' => after == Some(&'['),
            // Inside of a word it is no emphasis.
            '_' => ![before, after].iter().all(|c| c.is_some_and(|c| c.is_alphanumeric())),
            // These start a list or underline a heading.
            '-' | '+' | '=' => at_start && index == 0,
            '.' | ')' => at_start && index == digits && digits > 0 && after.is_none(),
            _ => false,
        };
        if is_special {
            out.push('\\');
        }
        out.push(*character);
    }
    out
}

/// Returns true if GitHub links a word even when its characters are escaped.
fn is_linked(word: &str) -> bool {
    let lower = word.to_lowercase();
    let number = |prefix: &str| {
        lower
            .match_indices(prefix)
            .any(|(at, _)| lower[at + prefix.len()..].starts_with(|c: char| c.is_ascii_digit()))
    };
    // Extended autolinks of GitHub Flavored Markdown (6.9), and GitHub's own: mentions, and issues
    // as `#1` and `GH-1`.
    lower.contains('@')
        || lower.contains("://")
        || lower.contains("www.")
        || ["mailto:", "xmpp:"].iter().any(|scheme| lower.contains(scheme))
        || number("#")
        || number("gh-")
}

#[cfg(test)]
mod tests;
