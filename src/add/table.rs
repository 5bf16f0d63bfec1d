//! The text of a `[[bundle]]` table.

use crate::bundle::Bundle;
use crate::escape;
use std::fmt::Write as _;

/// A table that is written key by key.
pub(super) struct Table {
    pub(super) text: String,
}

impl Table {
    /// Starts a table with a name and the keys of a source.
    pub(super) fn new(name: &str, source: &[(&'static str, String)]) -> Self {
        let mut table = Table { text: "[[bundle]]\n".to_owned() };
        table.set("name", name);
        for (key, value) in source {
            table.set(key, value);
        }
        table
    }

    /// Sets a key to a text.
    pub(super) fn set(&mut self, key: &str, value: &str) {
        // Writing to a String cannot fail.
        let _ = writeln!(self.text, "{key} = {}", quoted(value));
    }

    /// Sets a key to a TOML value, with a comment on the same line.
    pub(super) fn set_toml(&mut self, key: &str, value: &str, comment: &str) {
        let _ = writeln!(self.text, "{key} = {value} # {}", escape::visible(comment));
    }

    /// Sets a key to a TOML value, with the reason on the line before.
    pub(super) fn propose(&mut self, key: &str, value: &str, why: &str) {
        let _ = writeln!(self.text, "# {}\n{key} = {value}", escape::visible(why));
    }

    /// Adds a comment.
    pub(super) fn note(&mut self, text: &str) {
        let _ = writeln!(self.text, "# {}", escape::visible(text));
    }

    /// Suggests a key that a person has to complete or confirm, as a comment.
    pub(super) fn suggest(&mut self, key: &str, value: &str, why: &str) {
        let _ = writeln!(self.text, "# {}\n# {key} = {value}", escape::visible(why));
    }

    /// Suggests an object for the chart of operands, as a comment: in the configuration, or without
    /// `yaml` in a file.
    pub(super) fn suggest_operand(&mut self, yaml: Option<&String>, kind: &str) {
        self.note("[[bundle.overlay]]");
        self.note("phase = \"operand\"");
        let Some(yaml) = yaml else {
            let file = format!("{}.yaml", kind.to_lowercase());
            return self.note(&format!(
                "path = {} # the example is in README.md of the chart",
                quoted(&file)
            ));
        };
        for line in ["inline = '''"].into_iter().chain(yaml.lines()).chain(["'''"]) {
            self.note(line);
        }
    }
}

/// Returns a text as a TOML string on one line, with escapes for hidden characters: texts of bundles
/// are also in comments, which end with the line.
pub(crate) fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if escape::is_hidden(c) => {
                let _ = write!(quoted, "\\U{:08X}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// Returns texts as a TOML list on one line.
pub(crate) fn list<S: AsRef<str>>(texts: &[S]) -> String {
    let items: Vec<String> = texts.iter().map(|text| quoted(text.as_ref())).collect();
    format!("[{}]", items.join(", "))
}

/// Describes the values of `watch` that the bundle supports.
pub(super) fn install_modes(bundle: &Bundle) -> String {
    let mut values: Vec<&str> = bundle.csv.install_modes.iter().map(|mode| mode.watch()).collect();
    // Words come before lists.
    values.sort_by_key(|value| value.len());
    format!("supported: {}", values.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_texts_are_on_one_line_and_keep_their_value() {
        for text in ["lws", "a\"b\\c", "a\n[[bundle]]\tb\r", "\u{202e}\u{7f}\u{0}\u{e0041}", "ü…"]
        {
            let quoted = quoted(text);
            assert!(!quoted.contains(escape::is_hidden), "{quoted}");
            let table: toml::Table = format!("a = {quoted}").parse().unwrap();
            assert_eq!(table["a"].as_str(), Some(text));
        }
    }
}
