//! Escapes and filters of the templates of documents, such as README.md.
//!
//! A template escapes all that it inserts for the format of its file name, but [`Safe`] text. Filters
//! are for places other than sentences.

use crate::diag;
use crate::escape::markdown;
use crate::ir::Map;
use crate::yaml;
use askama::Template;
use askama::filters::{Escaper, Safe};
use std::fmt::{Result, Write};

/// Escapes text for a sentence, a heading, a list or a cell of Markdown. Spaces at its ends are lost, so
/// a template inserts strings, not values that write themselves in pieces.
#[derive(Clone, Copy, Debug)]
pub struct Markdown;

impl Escaper for Markdown {
    fn write_escaped_str<W: Write>(&self, mut document: W, text: &str) -> Result {
        document.write_str(&markdown::text(text))
    }
}

/// Escapes text for a file that Helm renders.
#[derive(Clone, Copy, Debug)]
pub struct HelmTemplate;

impl Escaper for HelmTemplate {
    fn write_escaped_str<W: Write>(&self, mut document: W, text: &str) -> Result {
        document.write_str(&yaml::escape(text))
    }
}

/// A namespace that no namespace is called, in place of the release namespace in commands.
pub const RELEASE: &str = "=release-namespace=";

/// Returns the content of a file.
pub fn file(template: impl Template) -> String {
    format!("{template}\n")
}

/// Returns the YAML of a map without expressions, which cannot fail.
pub(crate) fn plain(root: &Map) -> String {
    yaml::plain(root).unwrap_or_default()
}

/// The filters of the templates.
#[expect(missing_docs, reason = "the types that `filter_fn` generates have none")]
pub mod filters {
    use super::{RELEASE, Safe, diag, markdown, yaml};
    use askama::{Result, Values, filter_fn};
    use std::fmt::Display;

    /// Returns a code span.
    #[filter_fn]
    pub fn code(text: impl Display, _: &dyn Values) -> Result<Safe<String>> {
        Ok(Safe(markdown::code(&text.to_string())))
    }

    /// Returns code spans, separated by commas.
    #[filter_fn]
    pub fn code_list(
        texts: impl IntoIterator<Item: AsRef<str>>,
        _: &dyn Values,
    ) -> Result<Safe<String>> {
        let spans = texts.into_iter().map(|text| markdown::code(text.as_ref()));
        Ok(Safe(diag::join(spans, ", ")))
    }

    /// Returns a sentence of the program in which backquotes mark code.
    #[filter_fn]
    pub fn sentence(text: impl Display, _: &dyn Values) -> Result<Safe<String>> {
        Ok(Safe(markdown::sentence(&text.to_string())))
    }

    /// Returns a code block with lines of a language.
    #[filter_fn]
    pub fn fenced(lines: impl Display, _: &dyn Values, language: &str) -> Result<Safe<String>> {
        let lines = lines.to_string();
        let fence = markdown::fence(lines.lines());
        Ok(Safe(format!("{fence}{language}\n{lines}{fence}")))
    }

    /// Returns a command in NOTES.txt, in which only the release namespace is an action of Helm.
    #[filter_fn]
    pub fn release_command(command: impl Display, _: &dyn Values) -> Result<Safe<String>> {
        let command = yaml::escape(&command.to_string());
        Ok(Safe(command.replace(RELEASE, "{{ .Release.Namespace }}")))
    }
}
