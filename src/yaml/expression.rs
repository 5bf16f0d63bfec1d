//! Spelling of Go template text: escaping of literal text, and expressions.

use super::named_templates;
use crate::ir::{ClusterObject, Condition, Expr, Map, Part, Value, ValuesPath};
use std::collections::{BTreeMap, BTreeSet};

/// Appends literal text to a template file, escaped so that Helm renders it unchanged.
///
/// Only `{{` starts an action, so only `{{` is escaped.
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

/// Returns a string of an object for text such as NOTES.txt; `None` for values without a short
/// form.
pub fn in_text(value: &Value) -> Option<String> {
    match value {
        Value::Text(text) => Some(escape(text)),
        Value::Expr(Expr::ReleaseNamespace) => Some("{{ .Release.Namespace }}".to_owned()),
        Value::Expr(Expr::Text(path)) => {
            Some(format!("{{{{ {} }}}}", Scope::default().pipeline(path)))
        }
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

/// The variable for the map of [`Scope::variable`].
const VARIABLE: &str = "$values";

/// The names by which a place of a template reads values.
#[derive(Debug, Default)]
pub(super) struct Scope {
    /// The map of values that the template assigns to a variable.
    pub(super) variable: Option<ValuesPath>,
    /// The value that is the dot, inside of `with`.
    pub(super) dot: Option<ValuesPath>,
}

impl Scope {
    /// Returns the scope of a template for this object: with a variable for the map that most of
    /// its values are in, if expressions need `index` to get there.
    pub(super) fn of(root: &Map) -> Self {
        let mut found = BTreeSet::new();
        root.values().for_each(|value| add_paths(value, &mut found));
        let mut uses: BTreeMap<&[String], usize> = BTreeMap::new();
        for path in &found {
            let segments = path.segments();
            let Some(name) = segments.iter().position(|segment| !is_identifier(segment)) else {
                continue;
            };
            if let Some(map) = segments.get(..=name).filter(|map| map.len() < segments.len()) {
                *uses.entry(map).or_default() += 1;
            }
        }

        // The map is sorted and the last of equals wins, so that each build picks the same
        // variable.
        let (map, count) = uses.into_iter().max_by_key(|(_, count)| *count).unwrap_or_default();
        // A variable for a single use would be longer than the `index` that it saves.
        let variable = (count > 1).then(|| ValuesPath::new(map.iter().cloned()));
        Scope { variable, dot: None }
    }

    /// Returns the action that assigns the variable, if there is one.
    pub(super) fn assignment(&self) -> Option<String> {
        let map = Scope::default().pipeline(self.variable.as_ref()?);
        Some(format!("{{{{- {VARIABLE} := {map} -}}}}\n"))
    }

    /// Returns an operand for a path of the values.
    pub(super) fn values(&self, path: &ValuesPath) -> String {
        if self.dot.as_ref() == Some(path) {
            return ".".to_owned();
        }
        let inside = self.variable.as_ref().and_then(|variable| {
            let rest = path.segments().strip_prefix(variable.segments())?;
            (!rest.is_empty()).then_some(rest)
        });
        let (root, rest) = match inside {
            Some(rest) => (VARIABLE, rest),
            None => (".Values", path.segments()),
        };
        if rest.iter().all(|segment| is_identifier(segment)) {
            return format!("{root}.{}", rest.join("."));
        }
        let segments: Vec<String> = rest.iter().map(|segment| quoted(segment)).collect();
        format!("(index {root} {})", segments.join(" "))
    }

    /// Returns a pipeline for a path of the values, which needs no parentheses.
    pub(super) fn pipeline(&self, path: &ValuesPath) -> String {
        without_parentheses(self.values(path))
    }

    /// Returns an operand for a string of a condition.
    fn string(&self, string: &Expr) -> String {
        match string {
            Expr::ReleaseNamespace => ".Release.Namespace".to_owned(),
            Expr::Concat(parts) => match parts.as_slice() {
                [Part::Text(text)] => quoted(text),
                _ => format!("({})", printf(parts)),
            },
            _ => string.path().map_or_else(String::new, |path| self.values(path)),
        }
    }

    /// Returns an expression for a condition.
    pub(super) fn condition(&self, condition: &Condition) -> String {
        let operands = |conditions: &[Condition]| -> String {
            conditions
                .iter()
                .map(|operand| match operand {
                    Condition::Set(path) => self.values(path),
                    _ => format!("({})", self.condition(operand)),
                })
                .collect::<Vec<_>>()
                .join(" ")
        };

        match condition {
            Condition::Set(path) => self.pipeline(path),
            Condition::Unset(path) => format!("not {}", self.values(path)),
            Condition::Differ(strings) => {
                let [one, other] = strings.each_ref().map(|string| self.string(string));
                format!("ne {one} {other}")
            }
            Condition::Missing(ClusterObject { api_version, kind, namespace, name }) => {
                let namespace = namespace.as_ref().map(|namespace| self.string(namespace));
                let namespace = namespace.unwrap_or_else(|| quoted(""));
                let [api_version, kind, name] = [api_version, kind, name.as_str()].map(quoted);
                format!("not (lookup {api_version} {kind} {namespace} {name})")
            }
            Condition::Any(conditions) => format!("or {}", operands(conditions)),
            Condition::All(conditions) => format!("and {}", operands(conditions)),
        }
    }
}

fn without_parentheses(operand: String) -> String {
    let inner = operand.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
    inner.map(str::to_owned).unwrap_or(operand)
}

/// Adds the paths that a value reads, outside of references to images.
fn add_paths<'a>(value: &'a Value, found: &mut BTreeSet<&'a ValuesPath>) {
    match value {
        Value::Expr(expr) => found.extend(expr.path()),
        Value::When(when) => {
            when.0.paths(found);
            add_paths(&when.1, found);
        }
        Value::Seq(items) => items.iter().for_each(|item| add_paths(item, found)),
        Value::Map(map) if !map.is_literal() => {
            map.values().for_each(|value| add_paths(value, found));
        }
        _ => {}
    }
}

/// Returns true if a value reads this path of the values and nothing else, and is always present.
pub(super) fn reads_only(value: &Value, path: &ValuesPath) -> bool {
    let mut found = Vec::new();
    value.expressions(&mut found);
    // Inside of `with`, `.Release` and other values would be fields of the value, so any expression
    // but the value itself rules it out.
    let is_path = |expr: &&Expr| expr.path() == Some(path);
    !found.is_empty() && found.iter().all(is_path) && !value.has(|_| false)
}

/// Returns a call that composes a string of these parts.
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
                arguments.push_str(&format!(" ({})", named_templates::image(image)));
            }
        }
    }
    format!("printf {}{arguments}", quoted(&format))
}

/// Returns a Go string literal.
pub fn quoted(text: &str) -> String {
    let mut literal = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => literal.extend(['\\', character]),
            '\n' => literal.push_str("\\n"),
            // Go allows every other character in a quoted string as it is, control characters too.
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
