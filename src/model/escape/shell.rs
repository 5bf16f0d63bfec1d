//! Text as a word of a POSIX shell.

/// Returns a text in single quotes, in which the shell expands nothing.
pub fn in_quotes(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}
