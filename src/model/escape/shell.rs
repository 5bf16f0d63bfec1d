//! Text as a word of a POSIX shell.

/// Returns a text in single quotes, in which the shell expands nothing.
pub fn in_quotes(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// Returns a word as the shell reads it, in quotes if it needs them.
pub fn quoted(word: &str) -> String {
    // Without a meaning to a POSIX shell, at any place in a word.
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => in_quotes(word),
    }
}
