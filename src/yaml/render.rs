//! Rendering of the templates that this crate writes, without Helm.
//!
//! It knows exactly the language that [`super::yaml`] writes and refuses everything else, with the
//! place. Blanks separate tokens as in Go's text/template; `{{- ` and ` -}}` trim the blanks and
//! line ends of the text beside them.
//!
//! ```text
//! template = { text | action }
//! action   = "{{" [ "-" ] ( "if" pipeline | "else" | "end" | pipeline ) [ "-" ] "}}"
//! pipeline = command { "|" command }             the value before "|" is the last argument after it
//! command  = operand | function { operand }
//! operand  = ".Release.Namespace" | ".Values" { "." name } | "$" | string | integer | "(" pipeline ")"
//! function = "and" | "or" | "index" | "toYaml" | "toJson" | "quote" | "b64enc" | "nindent" | "printf"
//!          | "trunc" | "list" | "include" | "not" | "lookup"
//! string   = a Go string literal in double quotes
//! ```
//!
//! `lookup` finds nothing, as in Helm without a cluster. `$` is only for `include`, which knows two
//! templates: that of certificates gives what [`Release`] gives, since nobody knows a certificate
//! before Helm has generated it, and that of versions of CRDs finds no CRD and gives nothing.
//!
//! Unlike in Helm, a path through a missing map of the values is null and no error, as it is for
//! [`Release`]: our charts declare every value that they read.

use super::{certificate, crd_version, write};
use crate::ir::{self, CertificateField, Release, Value};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value as Json;
use std::borrow::Cow;

/// How deep parentheses may nest: far beyond any condition of ours.
const MAX_DEPTH: usize = 200;
/// The widest `nindent`: far beyond any object.
const MAX_INDENT: u64 = 10_000;
/// What text/template trims and takes for space.
const BLANKS: [char; 4] = [' ', '\t', '\r', '\n'];

/// Why a template cannot be rendered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenderError {
    /// Byte offset in the template.
    pub offset: usize,
    /// What is wrong there, in one sentence without a final period.
    pub message: String,
}

impl std::fmt::Display for RenderError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "byte {} of the template: {}", self.offset, self.message)
    }
}

impl std::error::Error for RenderError {}

/// The text that Helm makes of `template` in this release.
///
/// # Errors
/// When the template is not one of ours: it uses a word, function or form that the grammar of this
/// module does not have, or gives a function a value that it cannot take.
pub fn render(template: &str, release: &Release<'_>) -> Result<String, RenderError> {
    let mut out = String::with_capacity(template.len());
    let mut branches: Vec<Branch> = Vec::new();
    let mut position = 0;
    let mut trim_start = false;
    loop {
        let rest = &template[position..];
        let action = memchr::memmem::find(rest.as_bytes(), b"{{");
        let mut text = &rest[..action.unwrap_or(rest.len())];
        let start = position + text.len();
        let trim_end =
            rest[text.len()..].strip_prefix("{{-").is_some_and(|inside| inside.starts_with(BLANKS));
        if trim_start {
            text = text.trim_start_matches(BLANKS);
        }
        if trim_end {
            text = text.trim_end_matches(BLANKS);
        }
        let shown = branches.last().is_none_or(|branch| branch.shown);
        if shown {
            out.push_str(text);
        }
        if action.is_none() {
            break;
        }
        let first = start + if trim_end { 3 } else { 2 };
        let mut action = Action { template, position: first, depth: 0, shown, release };
        let mut value = None;
        match action.word() {
            "if" => {
                let condition = action.pipeline()?;
                let holds = shown && ir::truth(condition.as_ref());
                branches.push(Branch { start, shown: holds, otherwise: Some(shown && !holds) });
            }
            "else" => {
                let branch = branches.last_mut();
                let branch = branch.and_then(|branch| Some((branch.otherwise.take()?, branch)));
                let (otherwise, branch) = branch.ok_or_else(|| error(start, "stray `else`"))?;
                branch.shown = otherwise;
            }
            "end" => {
                branches.pop().ok_or_else(|| error(start, "stray `end`"))?;
            }
            _ => {
                action.position = first;
                value = Some(action.pipeline()?);
            }
        }
        (position, trim_start) = action.close()?;
        if let Some(value) = value.filter(|_| shown) {
            out.push_str(&printed(&value, start)?);
        }
    }
    match branches.last() {
        Some(branch) => Err(error(branch.start, "`if` without `end`")),
        None => Ok(out),
    }
}

/// An `if` whose `end` has not come yet.
struct Branch {
    start: usize,
    /// Whether the text here appears.
    shown: bool,
    /// Whether the text after `else` will; nothing when the `else` has been.
    otherwise: Option<bool>,
}

/// Reads and evaluates the inside of one action. Inside a branch that is not shown, functions are
/// only checked for their names and give null.
struct Action<'a> {
    template: &'a str,
    position: usize,
    depth: usize,
    shown: bool,
    release: &'a Release<'a>,
}

impl<'a> Action<'a> {
    fn rest(&self) -> &'a str {
        &self.template[self.position..]
    }

    fn skip_blanks(&mut self) {
        self.position = self.template.len() - self.rest().trim_start_matches(BLANKS).len();
    }

    /// Takes the letters, digits and underscores that come next; perhaps none.
    fn word(&mut self) -> &'a str {
        self.skip_blanks();
        let rest = self.rest();
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let word = &rest[..end.unwrap_or(rest.len())];
        self.position += word.len();
        word
    }

    /// Takes `token` when it comes next.
    fn take(&mut self, token: &str) -> bool {
        self.skip_blanks();
        let found = self.rest().starts_with(token);
        if found {
            self.position += token.len();
        }
        found
    }

    /// Takes the end of the action: the offset after it, and whether it trims.
    fn close(&mut self) -> Result<(usize, bool), RenderError> {
        self.skip_blanks();
        let after_blank = self.template[..self.position].ends_with(BLANKS);
        let trims = after_blank && self.take("-}}");
        if trims || self.take("}}") {
            Ok((self.position, trims))
        } else {
            Err(error(self.position, "expected the end of the action"))
        }
    }

    fn pipeline(&mut self) -> Result<Cow<'a, Json>, RenderError> {
        let mut value = self.command(None)?;
        while self.take("|") {
            value = self.command(Some(value))?;
        }
        Ok(value)
    }

    fn command(&mut self, last: Option<Cow<'a, Json>>) -> Result<Cow<'a, Json>, RenderError> {
        self.skip_blanks();
        let start = self.position;
        if let Some(operand) = self.operand()? {
            return match last {
                None => Ok(operand),
                Some(_) => Err(error(start, "expected a function after `|`")),
            };
        }
        let name = self.word();
        let mut arguments = Vec::new();
        while let Some(argument) = self.operand()? {
            arguments.push(argument);
        }
        arguments.extend(last);
        call(name, arguments, self.shown).map_err(|message| error(start, message))
    }

    /// An operand, if one comes next.
    fn operand(&mut self) -> Result<Option<Cow<'a, Json>>, RenderError> {
        self.skip_blanks();
        let start = self.position;
        let rest = self.rest();
        match rest.as_bytes().first() {
            Some(b'.') => self.field().map(Some),
            Some(b'$') => {
                self.position += 1;
                Ok(Some(Cow::Owned(Json::Null)))
            }
            Some(b'"') => self.string().map(|text| Some(Cow::Owned(Json::String(text)))),
            Some(b'0'..=b'9') => match self.word().parse::<u64>() {
                Ok(number) => Ok(Some(Cow::Owned(number.into()))),
                Err(_) => Err(error(start, "expected an integer")),
            },
            Some(b'(') if self.depth == MAX_DEPTH => Err(error(start, "parentheses too deep")),
            Some(b'(') => {
                self.position += 1;
                self.depth += 1;
                let value = self.pipeline()?;
                self.depth -= 1;
                if !self.take(")") {
                    return Err(error(self.position, "expected `)`"));
                }
                Ok(Some(value))
            }
            _ => Ok(None),
        }
    }

    fn field(&mut self) -> Result<Cow<'a, Json>, RenderError> {
        let start = self.position;
        let mut names = Vec::new();
        while self.rest().starts_with('.') {
            self.position += 1;
            let at = self.position;
            let name = self.word();
            if name.is_empty() || self.position != at + name.len() {
                return Err(error(at, "expected a name after `.`"));
            }
            names.push(name);
        }
        match names.as_slice() {
            ["Release", "Namespace"] => {
                Ok(Cow::Owned(Json::String(self.release.namespace.to_owned())))
            }
            ["Values", path @ ..] => Ok(Cow::Borrowed(
                path.iter()
                    .try_fold(self.release.values, |value, name| value.get(name))
                    .unwrap_or(&Json::Null),
            )),
            _ => Err(error(start, format!("unknown field `.{}`", names.join(".")))),
        }
    }

    /// A Go string literal.
    fn string(&mut self) -> Result<String, RenderError> {
        let start = self.position;
        let mut text = String::new();
        let mut characters = self.rest().char_indices().skip(1);
        while let Some((offset, character)) = characters.next() {
            match character {
                '"' => {
                    self.position += offset + 1;
                    return Ok(text);
                }
                '\n' => break,
                '\\' => match characters.next() {
                    Some((_, escaped @ ('"' | '\\'))) => text.push(escaped),
                    Some((_, 'n')) => text.push('\n'),
                    _ => return Err(error(start + offset, "unknown escape in a string")),
                },
                _ => text.push(character),
            }
        }
        Err(error(start, "a string without an end"))
    }
}

/// What a function makes of its arguments; only its name is checked when it is not `shown`.
fn call<'a>(
    name: &str,
    arguments: Vec<Cow<'a, Json>>,
    shown: bool,
) -> Result<Cow<'a, Json>, String> {
    let known = [
        "and", "or", "index", "toYaml", "toJson", "quote", "b64enc", "nindent", "printf", "trunc",
        "list", "include", "not", "lookup",
    ];
    if !known.contains(&name) {
        return Err(match name {
            "" => "expected a value or function".to_owned(),
            _ => format!("unknown function `{name}`"),
        });
    }
    if !shown {
        return Ok(Cow::Owned(Json::Null));
    }
    let unfit = || format!("`{name}` cannot take these arguments");
    let text = match (name, arguments.as_slice()) {
        ("and" | "or", [_, ..]) => {
            let decides = |value: &Cow<'_, Json>| ir::truth(value) == (name == "or");
            let decisive = arguments.iter().position(decides).unwrap_or(arguments.len() - 1);
            return arguments.into_iter().nth(decisive).ok_or_else(unfit);
        }
        ("index", [_, ..]) => {
            let mut arguments = arguments.into_iter();
            let mut value = arguments.next().ok_or_else(unfit)?;
            for key in arguments {
                let Json::String(key) = key.as_ref() else { return Err(unfit()) };
                value = match value {
                    Cow::Borrowed(map) => Cow::Borrowed(map.get(key).unwrap_or(&Json::Null)),
                    Cow::Owned(map) => Cow::Owned(map.get(key).cloned().unwrap_or_default()),
                };
            }
            return Ok(value);
        }
        ("not", [value]) => return Ok(Cow::Owned(Json::Bool(!ir::truth(value)))),
        ("lookup", [_, _, _, _]) => return Ok(Cow::Owned(Json::Null)),
        ("list", items) => {
            return Ok(Cow::Owned(items.iter().map(|item| item.clone().into_owned()).collect()));
        }
        ("printf", [format, arguments @ ..]) => {
            composed(format.as_str().ok_or_else(unfit)?, arguments).ok_or_else(unfit)?
        }
        ("trunc", [bytes, text]) => {
            let bytes = bytes.as_u64().and_then(|bytes| usize::try_from(bytes).ok());
            let (bytes, text) = bytes.zip(text.as_str()).ok_or_else(unfit)?;
            let end = bytes.min(text.len());
            text.get(..end).ok_or_else(unfit)?.to_owned()
        }
        ("include", [name, list]) if name.as_str() == Some(certificate::NAME) => {
            let text = |index: usize| list.get(index).and_then(Json::as_str).ok_or_else(unfit);
            let field = CertificateField::ALL.into_iter().find(|f| text(3) == Ok(f.as_str()));
            ir::certificate_placeholder(text(2)?, field.ok_or_else(unfit)?)
        }
        ("include", [name, _]) if name.as_str() == Some(crd_version::NAME) => String::new(),
        ("toYaml", [value]) => write::plain_value(&Value::from(value.as_ref()))
            .map_err(|_| unfit())?
            .trim_end_matches('\n')
            .to_owned(),
        ("toJson", [value]) => value.to_string(),
        // As in sprig, nothing stays nothing.
        ("quote", [value]) if value.is_null() => String::new(),
        ("quote", [value]) => write::quoted(&printed(value, 0).map_err(|_| unfit())?),
        ("b64enc", [value]) => STANDARD.encode(value.as_str().ok_or_else(unfit)?),
        ("nindent", [width, text]) => {
            let width = width.as_u64().filter(|width| *width <= MAX_INDENT).ok_or_else(unfit)?;
            let mark = format!("\n{}", " ".repeat(usize::try_from(width).map_err(|_| unfit())?));
            format!("{mark}{}", text.as_str().ok_or_else(unfit)?.replace('\n', &mark))
        }
        _ => return Err(unfit()),
    };
    Ok(Cow::Owned(Json::String(text)))
}

/// `format` with `%s` and `%%` replaced; nothing when the arguments are not as many texts.
fn composed(format: &str, arguments: &[Cow<'_, Json>]) -> Option<String> {
    let mut arguments = arguments.iter();
    let mut text = String::new();
    let mut rest = format;
    while let Some(position) = rest.find('%') {
        text.push_str(&rest[..position]);
        match rest.as_bytes().get(position + 1) {
            Some(b's') => match arguments.next()?.as_ref() {
                // As in Go; `and` and `or` do not stop at what they need not look at here.
                Json::Null => text.push_str("%!s(<nil>)"),
                argument => text.push_str(argument.as_str()?),
            },
            Some(b'%') => text.push('%'),
            _ => return None,
        }
        rest = &rest[position + 2..];
    }
    text.push_str(rest);
    arguments.next().is_none().then_some(text)
}

/// A scalar as an action prints it.
fn printed(value: &Json, offset: usize) -> Result<Cow<'_, str>, RenderError> {
    match value {
        Json::Null => Ok(Cow::Borrowed("")),
        Json::String(text) => Ok(Cow::Borrowed(text)),
        Json::Bool(_) | Json::Number(_) => Ok(Cow::Owned(value.to_string())),
        Json::Array(_) | Json::Object(_) => {
            Err(error(offset, "a list or map needs `toYaml` or `toJson`"))
        }
    }
}

fn error(offset: usize, message: impl Into<String>) -> RenderError {
    RenderError { offset, message: message.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn rendered(template: &str) -> Result<String, RenderError> {
        let values = json!({
            "a": {"b": 1, "empty": "", "c-d": "x\"y", "list": ["p", {"q": null}], "zero": 0},
            "on": true,
        });
        render(template, &Release { namespace: "ns", values: &values })
    }

    #[test]
    fn text_and_operands() {
        for (template, expected) in [
            ("", ""),
            ("plain } }} { text", "plain } }} { text"),
            (r#"a{{ "{{" }}b {{"}}"}}"#, "a{{b }}"),
            ("{{.Release.Namespace}}", "ns"),
            ("{{ .Release.Namespace | quote }}", "\"ns\""),
            ("{{ .Values.a.b }}{{ .Values.missing.deep }}", "1"),
            (r#"{{ (index .Values "a" "c-d") | quote }}"#, r#""x\"y""#),
            (r#"{{ index .Values "a" "c-d" | b64enc | quote }}"#, "\"eCJ5\""),
            ("{{ .Values.a.list | toJson }}", r#"["p",{"q":null}]"#),
            ("x:{{ toYaml .Values.a.list | nindent 2 }}", "x:\n  - p\n  - q: null"),
            ("a \n {{- \"b\" -}} \t\r\n c", "abc"),
            ("{{ include \"bundle2chart.crd-version\" (list \"a\" \"1.0.0\" .Values.on) }}", ""),
            ("a {{-1}}", "error"),
        ] {
            let text = rendered(template).unwrap_or_else(|_| "error".to_owned());
            assert_eq!(text, expected, "{template}");
        }
    }

    #[test]
    fn conditions() {
        for (condition, holds) in [
            (".Values.on", true),
            (".Values.a.zero", false),
            (".Values.missing", false),
            ("or .Values.a.zero .Values.on", true),
            ("and .Values.a.zero .Values.on", false),
            ("and (or .Values.a.empty .Values.on) (index .Values \"a\" \"c-d\")", true),
            ("and .Values.a", true),
            ("not .Values.a.zero", true),
            ("not (lookup \"v1\" \"Secret\" \"\" \"a\")", true),
        ] {
            let template = format!("[{{{{ if {condition} }}}}yes{{{{ else }}}}no{{{{ end }}}}]");
            let expected = if holds { "[yes]" } else { "[no]" };
            assert_eq!(rendered(&template).as_deref(), Ok(expected), "{condition}");
        }
        let nested = "{{ if .Values.on }}{{ if .Values.a.zero }}a{{ else }}b{{ end }}c{{ else }}\
                      {{ if .Values.on }}d{{ else }}e{{ end }}{{ .Values.a.b | b64enc }}{{ end }}f";
        assert_eq!(rendered(nested).as_deref(), Ok("bcf"));
    }

    #[test]
    fn what_is_not_ours_is_an_error_with_its_place() {
        for (template, offset, message) in [
            ("ab{{ range .Values.a }}", 5, "unknown function `range`"),
            ("{{ if .Values.on }}", 0, "`if` without `end`"),
            ("a{{ end }}", 1, "stray `end`"),
            ("a{{ else }}", 1, "stray `else`"),
            ("{{if .Values.on}}{{else}}{{else}}{{end}}", 25, "stray `else`"),
            ("{{ .Chart.Name }}", 3, "unknown field `.Chart.Name`"),
            ("{{ . }}", 4, "expected a name after `.`"),
            ("{{ .Values.a . }}", 13, "expected the end of the action"),
            ("{{ \"x", 3, "a string without an end"),
            ("{{ \"x\ny\" }}", 3, "a string without an end"),
            ("{{ \"\\q\" }}", 4, "unknown escape in a string"),
            ("{{", 2, "expected a value or function"),
            ("{{ }}", 3, "expected a value or function"),
            ("{{ .Values.a.b ", 15, "expected the end of the action"),
            ("{{ .Values.a.b | }}", 17, "expected a value or function"),
            ("{{ .Values.a.b | 5 }}", 17, "expected a function after `|`"),
            ("{{ (.Values.a.b }}", 16, "expected `)`"),
            ("{{ .Values.a.b-}}", 14, "expected the end of the action"),
            ("{{ .Values.a }}", 0, "a list or map needs `toYaml` or `toJson`"),
            ("{{ .Values.a.b | b64enc }}", 17, "`b64enc` cannot take these arguments"),
            ("{{ toYaml }}", 3, "`toYaml` cannot take these arguments"),
            ("{{ nindent 99999999999 \"\" }}", 3, "`nindent` cannot take these arguments"),
            ("{{/* comment */}}", 2, "expected a value or function"),
            ("{{ é }}", 3, "expected a value or function"),
        ] {
            let expected = RenderError { offset, message: message.to_owned() };
            assert_eq!(rendered(template), Err(expected), "{template}");
        }
        let deep = format!("{{{{ {}", "(".repeat(100_000));
        assert_eq!(rendered(&deep).map_err(|error| error.offset), Err(203));
    }
}
