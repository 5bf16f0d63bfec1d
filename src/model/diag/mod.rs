//! Diagnostics: the problem, its place, its reason and the remedy.
//!
//! Every stage reports to a [`Diagnostics`], its last parameter, and returns its value: an `Option`
//! if it may fail. A stage collects all that it finds and never stops at the first problem. An
//! operation that one error ends, such as reading a file, returns `Result<T, Fatal>`, which
//! [`Diagnostics::report`] takes at one place. Only [`human`], [`json`], [`github`] and [`sarif`]
//! turn diagnostics into text.

mod code;
pub mod github;
pub mod human;
pub mod json;
mod listing;
mod location;
#[cfg(test)]
mod sample;
pub mod sarif;
mod sink;
pub mod suggest;

pub use code::{Code, Explanation};
pub use listing::{counted, join, listed, quoted};
pub use location::{Locate, Location};
pub use sink::{Diagnostics, Fatal, LintLevel, Mark};

use std::ops::Range;
use std::sync::Arc;

/// The severity of a diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// An error: nothing is written, and the exit code is 2.
    Error,
    /// The output is written, but a person should look.
    Warning,
    /// Information only.
    Note,
}

impl Severity {
    /// Returns the word shown to people and written in machine formats.
    pub const fn as_str(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        }
    }
}

/// A text file that diagnostics point into: its name as a person would type it, and its content.
#[derive(Debug, PartialEq, Eq)]
pub struct SourceText {
    /// Name as shown, for example `bundles.toml`.
    pub name: String,
    /// The whole text.
    pub text: String,
}

impl SourceText {
    /// Returns the first marker of an unresolved merge conflict of Git, which parsers of TOML report as
    /// an invalid key.
    pub fn merge_conflict(&self) -> Option<Range<usize>> {
        let mut marks = self.text.match_indices("<<<<<<< ").map(|(start, _)| start);
        let start = marks.find(|start| *start == 0 || self.text[..*start].ends_with('\n'))?;
        Some(start..start + 7)
    }
}

/// A byte range in a [`SourceText`]; shown with an excerpt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// The file.
    pub source: Arc<SourceText>,
    /// Byte offsets, start inclusive, end exclusive.
    pub range: Range<usize>,
}

impl Span {
    /// Returns a span over `range` of `source`.
    pub fn new(source: &Arc<SourceText>, range: Range<usize>) -> Self {
        Span { source: Arc::clone(source), range }
    }

    /// Returns the 1-based line and column (in characters) of the start.
    pub fn line_column(&self) -> (usize, usize) {
        let end = self.range.start.min(self.source.text.len());
        let before = self.source.text.get(..end).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        (line, column)
    }
}

/// The place of a diagnostic: all fields that are known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Name of the `[[bundle]]` concerned.
    pub bundle: Option<String>,
    /// A file, relative to the bundle root or as the person named it.
    pub file: Option<String>,
    /// 1-based number of the YAML document in `file`.
    pub document: Option<usize>,
    /// 1-based line in `file`.
    pub line: Option<usize>,
    /// 1-based column in `file`.
    pub column: Option<usize>,
    /// The object, as `Kind/name`.
    pub object: Option<String>,
    /// JSON path inside the document, for example `.spec.replicas`.
    pub path: Option<String>,
    /// A range in a text that can be shown; wins over `file`, `line` and `column`.
    pub span: Option<Span>,
}

impl Place {
    /// Returns a place known only by file name.
    pub fn file(name: impl Into<String>) -> Self {
        Place { file: Some(name.into()), ..Place::default() }
    }

    /// Returns a place in a text that can be shown.
    pub fn span(span: Span) -> Self {
        Place { span: Some(span), ..Place::default() }
    }

    /// Adds the 1-based line and column.
    pub fn at(mut self, line: usize, column: usize) -> Self {
        self.line = Some(line);
        self.column = Some(column);
        self
    }

    /// Adds the object, as `Kind/name`.
    pub fn object(mut self, object: impl Into<String>) -> Self {
        self.object = Some(object.into());
        self
    }

    /// Adds a JSON path, below the one that is known.
    pub fn path(mut self, path: impl AsRef<str>) -> Self {
        let path = path.as_ref();
        if !path.is_empty() {
            self.path.get_or_insert_default().push_str(path);
        }
        self
    }
}

impl From<&Span> for Place {
    fn from(span: &Span) -> Self {
        Place::span(span.clone())
    }
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The kind of finding.
    pub code: Code,
    /// The severity.
    pub severity: Severity,
    /// The problem, in one sentence without a final period.
    pub message: String,
    /// The place.
    pub place: Place,
    /// Related places, each with its relation (for example "first defined here").
    pub related: Vec<(Place, String)>,
    /// The remedy.
    pub hint: Option<String>,
}

impl Diagnostic {
    /// Returns an error without a place.
    pub fn error(code: Code, message: impl Into<String>) -> Self {
        Self::new(code, Severity::Error, message)
    }

    /// Returns a warning without a place.
    pub fn warning(code: Code, message: impl Into<String>) -> Self {
        Self::new(code, Severity::Warning, message)
    }

    /// Returns a note without a place.
    pub fn note(code: Code, message: impl Into<String>) -> Self {
        Self::new(code, Severity::Note, message)
    }

    fn new(code: Code, severity: Severity, message: impl Into<String>) -> Self {
        Diagnostic {
            code,
            severity,
            message: message.into(),
            place: Place::default(),
            related: Vec::new(),
            hint: None,
        }
    }

    /// Sets the place.
    pub fn at(mut self, place: impl Into<Place>) -> Self {
        self.place = place.into();
        self
    }

    /// Adds another place that matters and why.
    pub fn related(mut self, place: impl Into<Place>, why: impl Into<String>) -> Self {
        self.related.push((place.into(), why.into()));
        self
    }

    /// Returns the place and the related places.
    pub fn places_mut(&mut self) -> impl Iterator<Item = &mut Place> {
        std::iter::once(&mut self.place).chain(self.related.iter_mut().map(|(place, _)| place))
    }

    /// Sets the hint.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}
