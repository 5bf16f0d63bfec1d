//! Spelling of YAML, for template files (with Helm expressions and escaping) and for plain ones.
//!
//! The bytes are ours, so that no dependency's change of taste churns a committed chart. Style:
//! block maps and lists, lists not indented under their key, strings plain where no reader could
//! take them for something else, literal blocks for clean multi-line text, otherwise
//! double-quoted. YAML 1.1 and 1.2 readers read the same back.

use super::expression::Scope;
use super::{expression, named_templates};
use crate::escape::is_hidden;
use crate::ir::{Condition, Expr, Map, Number, Part, Value, ValuesPath};
use std::borrow::Cow;
use std::fmt::Write as _;

/// Keys longer than this are written in the explicit `? key` form: readers refuse implicit keys
/// over 1,024 characters (YAML 1.2, section 8.2.2).
const LONGEST_IMPLICIT_KEY: usize = 800;

/// Error: the tree contains an expression, but the file is not a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExpressionInPlainFile;

/// Returns the template file of this object, rendered only if `when` is true.
pub fn template(root: &Map, when: Option<&Condition>) -> String {
    template_after(String::new(), root, when)
}

/// Appends the [`template`] to `out`, which ends with a line break: avoids copying large objects.
pub(super) fn template_after(mut out: String, root: &Map, when: Option<&Condition>) -> String {
    // CRDs are most of the bytes of a chart and have no expressions, so that guards need not be
    // looked for.
    let literal = !root.values().any(Value::has_expression);
    let scope = if literal { Scope::default() } else { Scope::of(root) };
    out.extend(scope.assignment());
    let mut writer = Writer { out, template: true, literal, held: Vec::new(), scope };
    match when {
        Some(condition) => writer.guard(condition, None, 0, |writer| writer.root(root)),
        None => writer.root(root),
    }
    writer.out
}

/// Returns a plain YAML file with this object.
///
/// # Errors
/// If the object contains expressions, which require [`template`].
pub fn plain(root: &Map) -> Result<String, ExpressionInPlainFile> {
    plain_text(root.values().any(Value::has_expression), |writer| writer.root(root))
}

/// Returns a plain YAML file with this value of any type.
///
/// # Errors
/// If the value contains expressions, which require [`template`].
pub fn plain_value(value: &Value) -> Result<String, ExpressionInPlainFile> {
    plain_text(value.has_expression(), |writer| match value {
        Value::Map(map) => writer.root(map),
        Value::Seq(items) if !items.is_empty() => writer.items(items, 0),
        _ => writer.scalar(value, 0),
    })
    .map(|text| text.trim_start_matches(' ').to_owned())
}

fn plain_text(
    has_expression: bool,
    body: impl FnOnce(&mut Writer),
) -> Result<String, ExpressionInPlainFile> {
    if has_expression {
        return Err(ExpressionInPlainFile);
    }
    let scope = Scope::default();
    let mut writer =
        Writer { out: String::new(), template: false, literal: true, held: Vec::new(), scope };
    body(&mut writer);
    Ok(writer.out)
}

/// Indentation, deep enough for nearly every line.
const BLANKS: &str = "                                                                ";

struct Writer {
    out: String,
    template: bool,
    /// True if there are no expressions, so that everything is always rendered.
    literal: bool,
    /// Conditions of the guards around what is being written.
    held: Vec<Condition>,
    /// Names of values at this place.
    scope: Scope,
}

impl Writer {
    fn root(&mut self, map: &Map) {
        if map.is_empty() {
            self.out.push_str("{}\n");
        }
        self.entries(map, 0);
    }

    fn entries(&mut self, map: &Map, indent: usize) {
        for (key, value) in map {
            self.guarded(value, Value::presence, indent, &|writer, value| {
                writer.present_entry(key, value, indent);
            });
        }
    }

    /// Writes an entry or an item with `write`, in a guard if its value is not always present.
    fn guarded(
        &mut self,
        value: &Value,
        presence: fn(&Value) -> Option<Condition>,
        indent: usize,
        write: &impl Fn(&mut Self, &Value),
    ) {
        if self.literal {
            write(self, value);
        } else if let Value::When(when) = value {
            self.guard(&when.0, Some(&when.1), indent, |writer| {
                writer.guarded(&when.1, presence, indent, write);
            });
        } else if let Some(condition) = presence(value) {
            self.guard(&condition, Some(value), indent, |writer| write(writer, value));
        } else {
            write(self, value);
        }
    }

    fn present_entry(&mut self, key: &str, value: &Value, indent: usize) {
        if let Value::Expr(Expr::Entries(path)) = value {
            return self.lines_of(path, indent);
        }

        let spelled = spelled(key);
        self.indent(indent);
        // Readers refuse longer keys without `?` (1,024 characters in libyaml).
        if spelled.len() > LONGEST_IMPLICIT_KEY {
            self.out.push_str("? ");
            self.escaped(&spelled);
            self.out.push('\n');
            self.indent(indent);
        } else {
            self.escaped(&spelled);
        }

        self.out.push(':');
        match value {
            Value::Map(map) if !map.is_empty() => {
                self.out.push('\n');
                self.entries(map, indent + 2);
            }
            Value::Seq(items) if !items.is_empty() => {
                self.out.push('\n');
                self.items(items, indent);
            }
            _ => self.scalar(value, indent),
        }
    }

    fn items(&mut self, items: &[Value], indent: usize) {
        for item in items {
            self.guarded(item, Value::item_presence, indent, &|writer, item| {
                writer.present_item(item, indent);
            });
        }
    }

    fn present_item(&mut self, item: &Value, indent: usize) {
        match item {
            Value::Map(map) if !map.is_empty() => {
                let guarded = !self.literal
                    && map.values().next().is_some_and(|value| value.presence().is_some());
                self.nested_item(indent, guarded, |writer| writer.entries(map, indent + 2));
            }
            Value::Seq(items) if !items.is_empty() => {
                let guarded = !self.literal
                    && items.first().is_some_and(|item| item.item_presence().is_some());
                self.nested_item(indent, guarded, |writer| writer.items(items, indent + 2));
            }
            Value::Expr(Expr::Values(path)) => self.lines_of(path, indent),
            _ => {
                self.indent(indent);
                self.out.push('-');
                self.scalar(item, indent);
            }
        }
    }

    /// Writes `- ` and a block; if the block starts with a guard, on a separate line.
    fn nested_item(&mut self, indent: usize, guarded: bool, block: impl FnOnce(&mut Self)) {
        if guarded {
            self.indent(indent);
            self.out.push_str("-\n");
            block(self);
        } else {
            let start = self.out.len();
            block(self);
            // The first line of the block is indented by two more, of which the dash replaces one.
            self.out.replace_range(start + indent..start + indent + 1, "-");
        }
    }

    /// Writes `if … end` around what `body` writes, or `with … end` if the only value that
    /// `content` reads is the condition. The opening trims the line end before it, which would only
    /// change a string that ends in several line endings: those are never literal blocks.
    fn guard(
        &mut self,
        condition: &Condition,
        content: Option<&Value>,
        indent: usize,
        body: impl FnOnce(&mut Self),
    ) {
        // An object that is rendered under a condition needs no second guard for it inside.
        if self.held.contains(condition) {
            return body(self);
        }
        let dot = match condition {
            Condition::Set(path) => {
                content.filter(|content| expression::reads_only(content, path)).map(|_| path)
            }
            _ => None,
        };

        self.indent(indent);
        let keyword = if dot.is_some() { "with" } else { "if" };
        let _ = writeln!(self.out, "{{{{- {keyword} {} }}}}", self.scope.condition(condition));
        self.held.push(condition.clone());
        let outer = std::mem::replace(&mut self.scope.dot, dot.cloned());
        body(self);
        self.scope.dot = outer;
        self.held.pop();
        self.indent(indent);
        self.out.push_str("{{- end }}\n");
    }

    /// Writes the rest of a line (and, for blocks, the lines after it) for anything but a filled
    /// list or map.
    fn scalar(&mut self, value: &Value, indent: usize) {
        match value {
            Value::Null => self.out.push_str(" null\n"),
            Value::Bool(value) => {
                let _ = writeln!(self.out, " {value}");
            }
            Value::Number(number) => {
                let _ = writeln!(self.out, " {}", spell_number(*number));
            }
            Value::Map(_) => self.out.push_str(" {}\n"),
            Value::Seq(_) => self.out.push_str(" []\n"),
            Value::Text(text) if is_clean_block(text) => self.block(text, indent + 2),
            Value::Text(text) => {
                self.out.push(' ');
                self.escaped(&spelled(text));
                self.out.push('\n');
            }
            Value::Expr(expr) => self.expression(expr, indent),
            // Entries and items unwrap their conditions before they come here.
            Value::When(when) => self.scalar(&when.1, indent),
        }
    }

    /// Writes the lines of a value.
    fn lines_of(&mut self, path: &ValuesPath, indent: usize) {
        self.indent(indent);
        // `toYaml` writes lists and maps without indentation, over several lines.
        let path = self.scope.values(path);
        let _ = writeln!(self.out, "{{{{- toYaml {path} | nindent {indent} }}}}");
    }

    fn expression(&mut self, expr: &Expr, indent: usize) {
        let pipeline = match expr {
            Expr::Concat(parts) => return self.concatenation(parts),
            Expr::Values(path) | Expr::Entries(path) => {
                self.out.push('\n');
                return self.lines_of(path, indent + 2);
            }
            // Quoted, like all strings of expressions: a namespace may be `123`, base64 text
            // `1e10`.
            Expr::ReleaseNamespace => ".Release.Namespace | quote".to_owned(),
            Expr::ReleaseName => ".Release.Name | quote".to_owned(),
            // Helm reads numbers of values as float64 and would print 1000000 as `1e+06`.
            Expr::Integer(path) => self.scope.pipeline(path) + " | toJson",
            Expr::Text(path) => self.scope.pipeline(path) + " | quote",
            Expr::Base64(path) => self.scope.pipeline(path) + " | b64enc | quote",
            Expr::Truncated(parts, bytes) => {
                format!("{} | trunc {bytes} | quote", expression::printf(parts))
            }
            Expr::Certificate(piece) => named_templates::certificate(piece) + " | quote",
        };
        let _ = writeln!(self.out, " {{{{ {pipeline} }}}}");
    }

    fn concatenation(&mut self, parts: &[Part]) {
        self.out.push_str(" \"");
        for part in parts {
            match part {
                Part::Text(text) => {
                    // First for YAML, then for Helm, which reads the template before YAML is
                    // parsed.
                    let mut quoted = String::new();
                    quote_into(&mut quoted, text);
                    self.out.push_str(&expression::escape_before_action(&quoted));
                }
                Part::ReleaseNamespace => self.out.push_str("{{ .Release.Namespace }}"),
                Part::Image(image) => {
                    let _ = write!(self.out, "{{{{ {} }}}}", named_templates::image(image));
                }
            }
        }
        self.out.push_str("\"\n");
    }

    fn block(&mut self, text: &str, indent: usize) {
        let (body, header) = match text.strip_suffix('\n') {
            Some(body) => (body, " |\n"),
            None => (text, " |-\n"),
        };
        self.out.push_str(header);
        for line in body.split('\n') {
            if !line.is_empty() {
                self.indent(indent);
                self.escaped(line);
            }
            self.out.push('\n');
        }
    }

    fn escaped(&mut self, text: &str) {
        if self.template {
            expression::escape_into(&mut self.out, text);
        } else {
            self.out.push_str(text);
        }
    }

    fn indent(&mut self, mut width: usize) {
        while width > 0 {
            let part = width.min(BLANKS.len());
            self.out.push_str(&BLANKS[..part]);
            width -= part;
        }
    }
}

/// Returns a string on one line: plain when that is safe, otherwise double-quoted.
pub fn spell(text: &str) -> String {
    spelled(text).into_owned()
}

fn spelled(text: &str) -> Cow<'_, str> {
    if is_plain(text) { Cow::Borrowed(text) } else { Cow::Owned(quoted(text)) }
}

/// Returns a string in double quotes.
pub(crate) fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    quote_into(&mut quoted, text);
    quoted.push('"');
    quoted
}

fn quote_into(out: &mut String, text: &str) {
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            character if is_printable(character) => out.push(character),
            character if u32::from(character) < 0x100 => {
                let _ = write!(out, "\\x{:02x}", u32::from(character));
            }
            character if u32::from(character) < 0x1_0000 => {
                let _ = write!(out, "\\u{:04x}", u32::from(character));
            }
            character => {
                let _ = write!(out, "\\U{:08x}", u32::from(character));
            }
        }
    }
}

/// Returns true for characters that are printable in both YAML versions, not line breaks in either,
/// and visible to readers: invisible characters and direction changes are escaped by code.
fn is_printable(character: char) -> bool {
    match character {
        ' '..='~' => true,
        '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{1_0000}'.. => !is_hidden(character),
        _ => false,
    }
}

/// Returns true if a string can be written without quotes: one line, and nothing in it that any
/// YAML reader could parse as a boolean, null, number, timestamp, key, comment or other syntax.
fn is_plain(text: &str) -> bool {
    // Flags such as `--leader-elect` and `-c` are everywhere in arguments.
    let word = text.strip_prefix("--").or_else(|| text.strip_prefix('-'));
    let starts_well = match word {
        Some(word) => word.starts_with(|c: char| c.is_ascii_alphabetic()),
        // A digit, `.`, `~` or `<` may begin a number, date, null or merge key to some reader.
        None => text.starts_with(|c: char| c.is_alphabetic() || matches!(c, '/' | '_' | '(' | '$')),
    };
    starts_well
        && !text.ends_with([' ', ':'])
        && are_printable(text)
        && !has_indicator(text)
        && !is_word_with_meaning(text)
}

/// Returns true if there is a `: ` or ` #`.
fn has_indicator(text: &str) -> bool {
    let bytes = text.as_bytes();
    memchr::memchr2_iter(b':', b'#', bytes).any(|at| match bytes[at] {
        b':' => bytes.get(at + 1) == Some(&b' '),
        _ => bytes[..at].ends_with(b" "),
    })
}

/// Returns true if every character is printable. Nearly all texts are ASCII, so bytes come first.
fn are_printable(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' '..=b'~')) || text.chars().all(is_printable)
}

/// Words that mean something to YAML 1.1 or 1.2, in any spelling of case to be safe.
fn is_word_with_meaning(text: &str) -> bool {
    const WORDS: [&str; 11] =
        ["y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf"];
    WORDS.iter().any(|word| word.eq_ignore_ascii_case(text))
}

/// Returns true if multi-line text is preserved in a literal block by all readers and template
/// engines.
fn is_clean_block(text: &str) -> bool {
    memchr::memchr(b'\n', text.as_bytes()).is_some()
        // Readers infer the indentation of a block from its first lines.
        && !text.starts_with(['\n', ' ', '\t'])
        && !text.ends_with("\n\n")
        && text.chars().all(|c| is_printable(c) || matches!(c, '\n' | '\t'))
        && text.split('\n').all(|line| !line.ends_with([' ', '\t']))
}

/// Floats get a point and a signed exponent, without which YAML 1.1 readers see a string.
fn spell_number(number: Number) -> String {
    match number {
        Number::Int(value) => value.to_string(),
        Number::Uint(value) => value.to_string(),
        Number::Float(value) => {
            let shortest = format!("{value:?}");
            match shortest.split_once('e') {
                None => shortest,
                Some((mantissa, exponent)) => {
                    let point = if mantissa.contains('.') { "" } else { ".0" };
                    let sign = if exponent.starts_with('-') { "" } else { "+" };
                    format!("{mantissa}{point}e{sign}{exponent}")
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
