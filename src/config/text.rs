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
/// is something to underline. Falls back to the whole literal if the escapes cannot be mapped.
pub fn locate(source: &str, literal: Range<usize>, part: Range<usize>) -> Range<usize> {
    let Some(raw) = source.get(literal.clone()) else { return literal };
    let Some(starts) = value_starts(raw) else { return literal };
    let at = |offset: usize| starts.get(offset).map(|start| literal.start + start);
    match (at(part.start), at(part.end.max(part.start + 1)).or_else(|| at(part.end))) {
        (Some(start), Some(end)) if start < end => start..end,
        // Up to the end of the literal, if the end of the part is not found.
        (Some(start), _) => start..literal.end.max(start),
        _ => literal,
    }
}

/// Maps each byte of the value (and its end) to an offset in `raw`.
fn value_starts(raw: &str) -> Option<Vec<usize>> {
    let (quote, escapes) = match raw.as_bytes() {
        [b'\'', b'\'', b'\'', ..] => ("'''", false),
        [b'"', b'"', b'"', ..] => ("\"\"\"", true),
        [b'\'', ..] => ("'", false),
        [b'"', ..] => ("\"", true),
        _ => return None,
    };
    let content = raw.strip_prefix(quote)?.strip_suffix(quote)?;
    let mut position = quote.len();
    let mut rest = content;
    if quote.len() == 3 {
        // A line break right after the opening quotes does not belong to the value.
        let tail = rest.strip_prefix("\r\n").or_else(|| rest.strip_prefix('\n')).unwrap_or(rest);
        position += rest.len() - tail.len();
        rest = tail;
    }
    let mut starts = Vec::new();
    while let Some(character) = rest.chars().next() {
        let (consumed, value_bytes) = match character {
            '\\' if escapes => escape(rest)?,
            character => (character.len_utf8(), character.len_utf8()),
        };
        // Bytes of an escape all come from its backslash; those of plain text from themselves.
        let plain = consumed == value_bytes;
        starts.extend((0..value_bytes).map(|i| position + if plain { i } else { 0 }));
        position += consumed;
        rest = rest.get(consumed..)?;
    }
    starts.push(position);
    Some(starts)
}

/// Returns the length of an escape in bytes, and the length of its value.
fn escape(text: &str) -> Option<(usize, usize)> {
    let mut characters = text.chars();
    characters.next();
    let digits = match characters.next()? {
        // TOML 1.1 has it, and so does the parser.
        'x' => 2,
        'u' => 4,
        'U' => 8,
        newline if newline.is_whitespace() => {
            // A backslash at the end of a line swallows all whitespace up to the next text.
            return Some((text.len() - characters.as_str().trim_start().len(), 0));
        }
        _ => return Some((2, 1)),
    };
    let code = u32::from_str_radix(text.get(2..2 + digits)?, 16).ok()?;
    Some((2 + digits, char::from_u32(code)?.len_utf8()))
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
