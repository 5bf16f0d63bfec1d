//! A place as machines want it: file, line, column.

use super::{Place, Span};

/// Where something is; lines and columns are 1-based, columns count characters.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Location<'a> {
    pub(super) file: Option<&'a str>,
    pub(super) line: Option<usize>,
    pub(super) column: Option<usize>,
    /// Line of the end; only for a range in a text.
    pub(super) end_line: Option<usize>,
    /// Column after the last character; only for a range in a text.
    pub(super) end_column: Option<usize>,
}

impl<'a> From<&'a Place> for Location<'a> {
    fn from(place: &'a Place) -> Self {
        let Some(span) = &place.span else {
            return Location {
                file: place.file.as_deref(),
                line: place.line,
                column: place.column,
                ..Location::default()
            };
        };
        let (line, column) = span.line_column();
        let end = Span::new(&span.source, span.range.end..span.range.end);
        let (end_line, end_column) = end.line_column();
        Location {
            file: Some(&span.source.name),
            line: Some(line),
            column: Some(column),
            end_line: Some(end_line),
            end_column: Some(end_column),
        }
    }
}
