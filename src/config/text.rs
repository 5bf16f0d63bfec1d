//! Maps a part of a TOML string value to its place in the file.

use super::*;
use crate::ir::Step;

/// Returns the range in `source` of the deepest existing part of `steps` in the table at `table`:
/// its key, with the value if it ends on the same line; else the range of the table.
pub fn value_at(source: &str, table: Range<usize>, steps: &[Step]) -> Range<usize> {
    // Errors are ignored: the file was read before, and only its places are wanted.
    let (root, _) = DeTable::parse_recoverable(source);
    let mut found = table.clone();
    let Some(mut value) = root.get_ref().values().find_map(|value| standing_at(value, &table))
    else {
        return found;
    };

    for step in steps {
        let next = match (step, value.get_ref()) {
            (Step::Key(key), DeValue::Table(entries)) => {
                entries.iter().find(|(name, _)| name.get_ref() == key).map(|(name, value)| {
                    let whole = name.span().start..value.span().end;
                    let one_line = source.get(whole.clone()).is_some_and(|t| !t.contains('\n'));
                    (if one_line { whole } else { name.span() }, value)
                })
            }
            (Step::Index(index), DeValue::Array(items)) => {
                items.get(*index).map(|item| (item.span(), item))
            }
            _ => None,
        };
        let Some((range, inner)) = next else { break };
        (found, value) = (range, inner);
    }

    found
}

/// Returns the innermost table of this range: one that a header only implies has that of the
/// header.
fn standing_at<'t>(value: &'t Node<'t>, range: &Range<usize>) -> Option<&'t Node<'t>> {
    // Inner tables first: an implied one has the range of the header that implies it.
    let inside = match value.get_ref() {
        DeValue::Table(entries) => entries.values().find_map(|inner| standing_at(inner, range)),
        DeValue::Array(items) => items.iter().find_map(|inner| standing_at(inner, range)),
        _ => None,
    };
    inside.or_else(|| (value.get_ref().is_table() && value.span() == *range).then_some(value))
}

/// Returns the range in `source` of `part` of the TOML string value whose literal is at `literal`.
///
/// If `part` is empty, the range includes the next character (or the closing quote), so that there
/// is something to underline.
pub fn locate(source: &str, literal: Range<usize>, part: Range<usize>) -> Range<usize> {
    let Some(raw) = source.get(literal.clone()) else { return literal };
    let quote = match raw.get(..3) {
        Some(triple @ ("'''" | "\"\"\"")) => triple,
        _ if raw.starts_with(['\'', '"']) => &raw[..1],
        _ => return literal,
    };
    // Closed at an earlier place, the literal has the value up to it, whatever is escaped. In an escape
    // it cannot be closed, but before it.
    let length = |end: usize| {
        let closed = format!("{}{quote}", raw.get(..end)?);
        Some((DeValue::parse(&closed).ok()?.get_ref().as_str()?.len(), end))
    };
    let closed_before = |end: usize| (0..=end).rev().find_map(length);
    let ends = Vec::from_iter(0..=raw.len().saturating_sub(quote.len()));
    let at = |offset: usize| {
        let is_before =
            |end: &usize| closed_before(*end).is_none_or(|(length, _)| length <= offset);
        let last = ends.partition_point(is_before).checked_sub(1)?;
        let (length, end) = closed_before(last)?;
        (length == offset).then_some(literal.start + end)
    };
    match (at(part.start), at(part.end.max(part.start + 1)).or_else(|| at(part.end))) {
        (Some(start), Some(end)) if start < end => start..end,
        // Up to the end of the literal, if the end of the part is not found.
        (Some(start), _) => start..literal.end.max(start),
        _ => literal,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text underlined for `part` of the string `literal`.
    fn shown(literal: &str, part: Range<usize>) -> &str {
        let source = format!("x = {literal} # c");
        let range = locate(&source, 4..4 + literal.len(), part);
        &literal[range.start - 4..range.end - 4]
    }

    #[test]
    fn parts_of_every_kind_of_string_are_found() {
        assert_eq!(shown("'.kind == 1'", 1..5), "kind");
        assert_eq!(shown("'.kind'", 5..5), "'");
        assert_eq!(shown("\".a \\\"b\\\" c\"", 3..6), "\\\"b\\\"");
        assert_eq!(shown("\"\\u00e9x\"", 2..3), "x");
        assert_eq!(shown("'''\n.kind'''", 1..5), "kind");
        assert_eq!(shown("\"\"\"\n.a \\\n   | b\"\"\"", 3..5), "| ");
        assert_eq!(shown("'é.a'", 2..4), ".a");
        assert_eq!(shown("bare", 0..1), "bare");
        // An empty part, and what is no escape or a line end in some kinds of strings.
        assert_eq!(shown("'.kind'", 1..1), "k");
        assert_eq!(shown("'a\\tb'", 3..4), "b");
        assert_eq!(shown("'''a\\tb'''", 3..4), "b");
        assert_eq!(shown("\"a\\tb\"", 2..3), "b");
        assert_eq!(shown("'''\r\n.kind'''", 1..5), "kind");
        for escape in ["\\x7e", "\\u007e", "\\U0000007e", "\\\\"] {
            assert_eq!(shown(&format!("\"{escape}x\""), 0..1), escape);
            assert_eq!(shown(&format!("\"{escape}x\""), 1..2), "x");
        }
        assert_eq!(shown("\"\\U0001f600x\"", 4..5), "x");
    }

    #[test]
    fn values_of_tables_are_found_by_their_path() {
        let source = "[[a]]\nb = { c = [1, { d = 2 }], e = 3 }\n[a.f]\ng = [\n  4,\n]\n[h]\n";
        let at = |table: &str, path: &str| {
            let start = source.find(table).unwrap();
            &source[value_at(source, start..start + table.len(), &crate::ir::steps(path))]
        };
        let inline = "{ c = [1, { d = 2 }], e = 3 }";
        for (table, path, expected) in [
            (inline, "", inline),
            (inline, ".e", "e = 3"),
            (inline, ".c", "c = [1, { d = 2 }]"),
            (inline, ".c[0]", "1"),
            (inline, ".c[1].d", "d = 2"),
            (inline, ".c[2]", "c = [1, { d = 2 }]"),
            (inline, ".x.e", inline),
            // A value of several lines is marked by its key.
            ("[a.f]", ".g", "g"),
            ("[a.f]", ".g[0]", "4"),
            ("[[a]]", ".b.e", "e = 3"),
            ("[h]", ".e", "[h]"),
            ("{ d = 2 }", ".d", "d = 2"),
            ("4", ".d", "4"),
        ] {
            assert_eq!(at(table, path), expected, "{table} {path}");
        }
    }
}
