//! Removing a `[[bundle]]` table.

use super::{parse, place};
use crate::config::Config;
use crate::diag::Diagnostics;
use crate::pipeline;
use std::ops::Range;
use std::path::Path;
use toml_edit::{Document, Item, Table};

/// Returns the configuration at `path` without the bundle `name`: without its tables, and without
/// the comments directly above them. Nothing is written.
///
/// `None` if there is no such bundle, or if the rest would be invalid, for example because another
/// bundle depends on it.
pub(crate) fn remove(path: &Path, name: &str, diagnostics: &mut Diagnostics) -> Option<String> {
    let text = Config::read_text(path, diagnostics)?;
    let Ok(document) = Document::parse(text.as_str()) else {
        // The parser of builds reports it with an excerpt.
        parse(path, text, "", diagnostics)?;
        return None;
    };
    let bundles = document.get("bundle").and_then(Item::as_array_of_tables);
    let bundles: Vec<&Table> = bundles.into_iter().flat_map(|list| list.iter()).collect();
    let named = bundles.iter().filter_map(|table| Some((table.get("name")?.as_str()?, *table)));
    let Some((_, table)) = named.clone().find(|(known, _)| *known == name) else {
        let known: Vec<&str> = named.map(|(known, _)| known).collect();
        return diagnostics.fail(pipeline::unknown_bundle(name, &known, place(path)));
    };

    let new = without(&text, &starts(table), &starts(document.as_table()));
    // A configuration without bundles is valid for the next `add`.
    let others = ["chart", "serving"].iter().any(|key| document.contains_key(key));
    if bundles.len() > 1 || others {
        parse(path, new.clone(), "", diagnostics)?;
    }
    Some(new)
}

/// Returns the offsets of the headers of a table and of all tables in it.
fn starts(table: &Table) -> Vec<usize> {
    let mut found: Vec<usize> = table
        .span()
        // A table that only the names of others or dotted keys imply has no header.
        .filter(|span| !table.is_implicit() && !table.is_dotted() && !span.is_empty())
        .map(|span| span.start)
        .into_iter()
        .collect();
    for (_, item) in table {
        match item {
            Item::Table(inner) => found.extend(starts(inner)),
            Item::ArrayOfTables(list) => found.extend(list.iter().flat_map(starts)),
            _ => {}
        }
    }
    found.sort_unstable();
    found
}

/// Returns the text without the tables that start at `removed`; `all` has the starts of all tables.
fn without(text: &str, removed: &[usize], all: &[usize]) -> String {
    let starts = all.iter().map(|header| above(text, *header));
    let ends = starts.clone().skip(1).chain([text.len()]);
    let mut new = between(text, 0..starts.clone().next().unwrap_or(text.len())).to_owned();
    let mut rest = "";
    for (index, (start, end)) in starts.zip(ends).enumerate() {
        let is_removed = |at: usize| all.get(at).is_some_and(|header| removed.contains(header));
        let table = between(text, start..end);
        rest = match (is_removed(index), is_removed(index + 1)) {
            (false, _) => table,
            // Comments between two removed tables go with them.
            (true, true) => "",
            (true, false) => after(table),
        };
        new.push_str(rest);
    }
    // The empty line before the last table has no table after it.
    if rest.is_empty() {
        new.truncate(new.trim_end().len());
        if !new.is_empty() {
            new.push('\n');
        }
    }
    new
}

/// Returns what stays after a table: not the comments directly below it and empty lines, but those
/// between empty lines.
fn after(table: &str) -> &str {
    let is_comment = |line: &&str| line.trim_start().starts_with('#');
    let is_empty = |line: &&str| line.trim().is_empty();
    let lines: Vec<&str> = table.split_inclusive('\n').collect();
    let content = lines.iter().rposition(|line| !is_comment(line) && !is_empty(line));
    let rest = lines.into_iter().skip(content.map_or(0, |last| last + 1));
    let rest = rest.skip_while(is_comment).skip_while(is_empty);
    between(table, table.len() - rest.map(str::len).sum::<usize>()..table.len())
}

fn between(text: &str, range: Range<usize>) -> &str {
    text.get(range).unwrap_or_default()
}

/// Returns the offset of the comments directly above a header, without those at the start of the
/// file, which are about the whole file.
fn above(text: &str, header: usize) -> usize {
    let mut start = header;
    while let Some(before) = text.get(..start).and_then(|text| text.strip_suffix('\n')) {
        let line = before.rfind('\n').map_or(0, |end| end + 1);
        if !before.get(line..).is_some_and(|line| line.trim_start().starts_with('#')) {
            break;
        }
        start = line;
    }
    if start == 0 { header } else { start }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests write files")]
mod tests {
    use super::*;

    const TEXT: &str = "\
# All operators of the platform.

[defaults]
pull-secret = \"pull\" # everywhere

# The first one.
[[bundle]]
name = \"a\"
path = \"a\"
[bundle.service-accounts] # of operands
release = [\"x\"]
[[bundle.overlay]]
inline = '''
[[bundle]]
name = \"no table\"
'''

# Not about a bundle.

# The second one.
[[bundle]]
name = \"b\"
path = \"b\"

[deploy]
helmfile = true
";

    fn removed(text: &str, name: &str) -> Result<String, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bundles.toml");
        std::fs::write(&path, text).unwrap();
        let mut diagnostics = Diagnostics::new();
        let new = remove(&path, name, &mut diagnostics);
        new.ok_or_else(|| diagnostics.iter().map(|found| found.message.clone()).collect())
    }

    #[test]
    fn tables_and_their_comments_are_removed_and_nothing_else() {
        let (before, rest) = TEXT.split_once("# The first one.\n").unwrap();
        let after = rest.find("# Not about a bundle.").and_then(|start| rest.get(start..)).unwrap();
        assert_eq!(removed(TEXT, "a").unwrap(), format!("{before}{after}"));

        let (before, _) = TEXT.split_once("# The second one.\n").unwrap();
        assert_eq!(removed(TEXT, "b").unwrap(), format!("{before}[deploy]\nhelmfile = true\n"));
        // The last bundle, and the comment of the file.
        let only = "# Operators.\n[[bundle]]\nname = \"a\"\npath = \"a\"\n";
        assert_eq!(removed(only, "a").unwrap(), "# Operators.\n");
        // What `add` suggests at the end of a table.
        let suggested = TEXT.replace("path = \"b\"\n", "path = \"b\"\n# provided = []\n");
        assert_eq!(removed(&suggested, "b"), removed(TEXT, "b"));
        let last = format!("{TEXT}\n[[bundle]]\nname = \"c\"\npath = \"c\"\n");
        assert_eq!(removed(&last, "c").unwrap(), TEXT);
    }

    #[test]
    fn what_would_be_invalid_is_not_removed() {
        assert_eq!(removed(TEXT, "c").unwrap_err(), "unknown bundle `c`");
        let depends = TEXT.replace("path = \"b\"\n", "path = \"b\"\ndepends-on = [\"a\"]\n");
        assert!(removed(&depends, "a").unwrap_err().contains("`a`"));
        assert!(removed("[[bundle]\n", "a").unwrap_err().contains("invalid TOML"));
        assert!(removed("bundle = []\n", "a").is_err());
    }
}
