//! Scripts for a POSIX shell.

use crate::escape::shell::quoted;

/// Returns a command that ends the script with this message if the one before it fails.
pub(super) fn or_fail(message: &str) -> String {
    format!("|| {{ echo {} >&2; exit 1; }}", quoted(message))
}
