//! A place for programs: file, line and column.

use super::{Place, Span};

/// A place in a file; lines and columns are 1-based, columns count characters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Location {
    /// The file.
    pub file: Option<String>,
    /// The first line.
    pub line: Option<usize>,
    /// The first column.
    pub column: Option<usize>,
    /// Line of the end; only for a range in a text.
    pub end_line: Option<usize>,
    /// Column after the last character; only for a range in a text.
    pub end_column: Option<usize>,
    /// The place in the bundle, as `FILE:LINE:COLUMN`, if `file` is the file where the bundle is
    /// configured.
    pub inside: Option<String>,
}

/// Finds places in the files that a report is about, for example those of a repository.
pub type Locate<'l> = dyn Fn(&Place) -> Location + 'l;

impl From<&Place> for Location {
    fn from(place: &Place) -> Self {
        match &place.span {
            Some(span) => Location::from(span),
            None => Location {
                file: place.file.clone(),
                line: place.line,
                column: place.column,
                ..Location::default()
            },
        }
    }
}

impl From<&Span> for Location {
    fn from(span: &Span) -> Self {
        let (line, column) = span.line_column();
        let end = Span::new(&span.source, span.range.end..span.range.end);
        let (end_line, end_column) = end.line_column();
        Location {
            file: Some(span.source.name.clone()),
            line: Some(line),
            column: Some(column),
            end_line: Some(end_line),
            end_column: Some(end_column),
            inside: None,
        }
    }
}

impl Location {
    /// Formats the place as `FILE:LINE:COLUMN`, without the unknown parts.
    pub fn text(&self) -> Option<String> {
        let mut text = self.file.clone()?;
        // A column without a line says nothing.
        for number in [self.line, self.column].into_iter().map_while(|number| number) {
            text.push_str(&format!(":{number}"));
        }
        Some(text)
    }
}
