//! Lists of commands in README.md and NOTES.txt.

use crate::yaml::escape;

/// A namespace that no namespace is called, in place of the release namespace.
pub(super) const RELEASE: &str = "=release-namespace=";

/// Appends commands to README.md, as a block whose lines begin with `margin`.
pub(super) fn in_readme(text: &mut String, margin: &str, commands: &[String]) {
    *text += &format!("{margin}```sh\n");
    for command in commands {
        *text += &format!("{margin}{command}\n");
    }
    *text += &format!("{margin}```\n");
}

/// Appends commands to NOTES.txt, in which only the namespace is an action.
pub(super) fn in_notes(text: &mut String, commands: &[String]) {
    for command in commands {
        let command = escape(command).replace(RELEASE, "{{ .Release.Namespace }}");
        *text += &format!("  {command}\n");
    }
}
