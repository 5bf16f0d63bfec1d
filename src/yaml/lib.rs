//! Reads YAML and JSON as Kubernetes' Go programs do, and writes YAML and templates.
//!
//! The dialect is that of `NewYAMLOrJSONDecoder` in k8s.io/apimachinery: a stream is divided into
//! documents line by line before it is parsed ([`stream`]), a JSON object is read by the rules of
//! JSON ([`json`]), and anything else by those of libyaml, which go.yaml.in/yaml/v2 is a port of
//! ([`scanner`], [`parser`]). This is YAML 1.1; readers of YAML 1.2 differ from it in what they
//! accept and, worse, in what they read. `tests/against_go/kubernetes_yaml.rs` compares the two.
//!
//! The reader of events decides the type of a scalar.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod expression;
mod json;
mod named_templates;
pub mod outline;
mod parser;
pub mod read;
pub mod render;
mod scalar;
mod scanner;
mod stream;
mod write;

pub use expression::quoted as quoted_argument;
pub use expression::{escape, in_text};
pub use named_templates::{
    CERTIFICATE_PLACEHOLDER_TEMPLATE, CERTIFICATE_TEMPLATE, CRD_VERSION_TEMPLATE, IMAGE_TEMPLATE,
    crd_template,
};
pub use read::parse;
pub use read::read;
pub use stream::Events;
pub use write::{plain, plain_value, spell, template};

use bundle2chart_model::{escape, ir};
use std::borrow::Cow;

/// Nesting limit of lists and maps. Go allows 10,000; this limit protects the reader's own stack.
pub(crate) const MAX_DEPTH: usize = 250;

/// A place in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Offset in bytes.
    pub offset: usize,
    /// 1-based line.
    pub line: usize,
    /// Offset of the line's first byte.
    pub line_start: usize,
}

impl Mark {
    /// Returns the 1-based column, in characters. `text` is the text that was read.
    pub fn column(self, text: &str) -> usize {
        text.get(self.line_start..self.offset.min(text.len()))
            .map_or(self.offset - self.line_start, |before| before.chars().count())
            + 1
    }

    /// Returns the column for comparing indentation: 0-based, in bytes. Only indentation precedes
    /// the compared tokens, so bytes equal characters.
    fn indentation(self) -> usize {
        self.offset - self.line_start
    }

    /// Returns the place `bytes` further on in the line.
    fn after(self, bytes: usize) -> Mark {
        Mark { offset: self.offset + bytes, ..self }
    }
}

/// A part of a document.
#[derive(Debug, PartialEq, Eq)]
pub enum Event<'t> {
    /// A scalar.
    Scalar {
        /// Its text, without quotes.
        text: Cow<'t, str>,
        /// Its style, which affects its meaning.
        style: Style,
        /// Number of its anchor; 0 if there is none.
        anchor: usize,
        /// Its tag.
        tag: Option<Box<str>>,
    },
    /// The value of an anchor again; the last definition before this place counts.
    Alias(usize),
    /// A list begins.
    SequenceStart {
        /// Number of its anchor; 0 if there is none.
        anchor: usize,
    },
    /// A list ends.
    SequenceEnd,
    /// A map begins; keys and values follow in turn.
    MappingStart {
        /// Number of its anchor; 0 if there is none.
        anchor: usize,
    },
    /// A map ends.
    MappingEnd,
}

/// The style of a scalar, as far as it affects its meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Without quotes: its meaning depends on its text.
    Plain,
    /// In quotes or as a block: always a string.
    Quoted,
    /// A number, `true`, `false` or `null` of JSON.
    Json,
}

/// The reason why a text cannot be read.
#[derive(Debug, PartialEq, Eq)]
pub struct Error {
    /// The problem.
    pub message: Cow<'static, str>,
    /// The position.
    pub mark: Mark,
    /// The kind of error.
    pub cause: Cause,
}

/// The kinds of errors, as far as their remedies differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A limit was exceeded.
    Limit,
    /// A tab in indentation.
    Tab,
    /// A `key: value` where the indentation does not allow one.
    Indentation,
    /// Any other syntax error.
    Syntax,
}

impl Error {
    fn new(message: impl Into<Cow<'static, str>>, mark: Mark) -> Self {
        Error { message: message.into(), mark, cause: Cause::Syntax }
    }

    fn caused_by(self, cause: Cause) -> Self {
        Error { cause, ..self }
    }

    fn too_deep(mark: Mark) -> Self {
        let message = format!("lists and maps nest more than {MAX_DEPTH} deep");
        Error { message: message.into(), mark, cause: Cause::Limit }
    }
}

#[cfg(test)]
mod tests;
