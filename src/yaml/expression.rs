//! Spelling of Go template text: escaping of literal text, and expressions.

use crate::ir::{Condition, Expr, ImageReference, Part, Value, ValuesPath};

/// Appends literal text to a template file: whatever it contains, Helm renders it as it is.
///
/// Only `{{` begins an action, so only `{{` is escaped.
pub(super) fn escape_into(out: &mut String, text: &str) {
    // One search for a byte is all that nearly every text needs.
    if memchr::memchr(b'{', text.as_bytes()).is_none() {
        return out.push_str(text);
    }
    let mut rest = text;
    while let Some(position) = rest.find("{{") {
        out.push_str(&rest[..position]);
        out.push_str(r#"{{ "{{" }}"#);
        rest = &rest[position + 2..];
    }
    out.push_str(rest);
}

/// Literal text for a template file.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    escape_into(&mut out, text);
    out
}

/// A string of an object as it stands in a text for people, such as NOTES.txt; nothing for values
/// that have no short form.
pub fn in_text(value: &Value) -> Option<String> {
    match value {
        Value::Text(text) => Some(escape(text)),
        Value::Expr(Expr::ReleaseNamespace) => Some("{{ .Release.Namespace }}".to_owned()),
        Value::Expr(Expr::Text(path)) => Some(format!("{{{{ {} }}}}", values(path))),
        _ => None,
    }
}

/// Literal text that an action may follow: a last `{` would join the action's braces.
pub(super) fn escape_before_action(text: &str) -> String {
    let mut out = escape(text);
    if out.ends_with('{') {
        out.pop();
        out.push_str(r#"{{ "{" }}"#);
    }
    out
}

/// An expression for a path of the values.
pub(super) fn values(path: &ValuesPath) -> String {
    if path.segments().iter().all(|segment| is_identifier(segment)) {
        return format!(".Values.{path}");
    }
    let segments: Vec<String> = path.segments().iter().map(|segment| quoted(segment)).collect();
    format!("(index .Values {})", segments.join(" "))
}

/// An expression for a condition.
pub(super) fn condition(condition: &Condition) -> String {
    let operands = |conditions: &[Condition]| -> String {
        conditions
            .iter()
            .map(|operand| match operand {
                Condition::Set(path) => values(path),
                _ => format!("({})", self::condition(operand)),
            })
            .collect::<Vec<_>>()
            .join(" ")
    };
    match condition {
        Condition::Set(path) => values(path),
        Condition::Unset(path) => format!("not {}", values(path)),
        Condition::CrdMissing(name) => {
            let kind = r#""apiextensions.k8s.io/v1" "CustomResourceDefinition" """#;
            format!("not (lookup {kind} {})", quoted(name))
        }
        Condition::Any(conditions) => format!("or {}", operands(conditions)),
        Condition::All(conditions) => format!("and {}", operands(conditions)),
    }
}

/// A call that composes a string of these parts.
pub(super) fn printf(parts: &[Part]) -> String {
    let mut format = String::new();
    let mut arguments = String::new();
    for part in parts {
        match part {
            Part::Text(text) => format.push_str(&text.replace('%', "%%")),
            Part::ReleaseNamespace => {
                format.push_str("%s");
                arguments.push_str(" .Release.Namespace");
            }
            Part::Image(image) => {
                format.push_str("%s");
                arguments.push_str(&format!(" ({})", self::image(image)));
            }
        }
    }
    format!("printf {}{arguments}", quoted(&format))
}

/// An expression for a reference to an image.
pub(super) fn image(image: &ImageReference) -> String {
    let [own, registry] = [&image.own, &image.registry].map(values);
    let format = quoted(&format!("%s/{}", image.path));
    match image.host() {
        Some(host) => format!("or {own} (printf {format} (or {registry} {}))", quoted(host)),
        None => {
            let reference = quoted(&image.reference);
            format!("or {own} (and {registry} (printf {format} {registry})) {reference}")
        }
    }
}

/// A Go string literal.
pub(crate) fn quoted(text: &str) -> String {
    let mut literal = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => literal.extend(['\\', character]),
            '\n' => literal.push_str("\\n"),
            _ => literal.push(character),
        }
    }
    literal.push('"');
    literal
}

fn is_identifier(text: &str) -> bool {
    let mut characters = text.chars();
    characters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && characters.all(|c| c.is_ascii_alphanumeric() || c == '_')
}
