//! Words of a POSIX shell.

use crate::escape::shell::in_quotes;

/// Returns a command for a POSIX shell.
pub fn shell<S: AsRef<str>>(arguments: &[S]) -> String {
    let words: Vec<String> = arguments.iter().map(|word| quoted(word.as_ref())).collect();
    words.join(" ")
}

/// Returns a word as the shell reads it, in quotes if it needs them.
pub(super) fn quoted(word: &str) -> String {
    // Without a meaning to a POSIX shell, at any place in a word.
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    in_quotes(word)
}

/// Returns a command that ends the script with this message if the one before it fails.
pub(super) fn or_fail(message: &str) -> String {
    format!("|| {{ echo {} >&2; exit 1; }}", quoted(message))
}
