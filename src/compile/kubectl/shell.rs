//! Words of a POSIX shell.

use crate::escape::shell::quoted;

/// Returns a command for a POSIX shell.
pub fn shell<S: AsRef<str>>(arguments: &[S]) -> String {
    let words: Vec<String> = arguments.iter().map(|word| quoted(word.as_ref())).collect();
    words.join(" ")
}

/// Returns a command that ends the script with this message if the one before it fails.
pub(super) fn or_fail(message: &str) -> String {
    format!("|| {{ echo {} >&2; exit 1; }}", quoted(message))
}
