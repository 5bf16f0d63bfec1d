//! The files in which two charts differ, and the first difference of each.

use crate::source::chart::ChartTree;
use std::collections::BTreeSet;

/// Characters of a line that a report shows.
const EXCERPT: usize = 120;
/// Characters before the first difference in a longer line.
const BEFORE: usize = 30;

/// The kind of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// The file has other content.
    Changed,
    /// The compiled chart has the file, this one does not.
    Missing,
    /// This chart has the file, the compiled one does not.
    Extra,
    /// The files are the same, the `.tgz` has other bytes.
    Archive,
    /// The `.tgz` is the same, the OCI manifest is another.
    Manifest,
}

/// A difference between a chart and the compiled one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Difference {
    /// The kind.
    pub change: Change,
    /// Path of the file in the chart; empty for the archive and the manifest.
    pub path: String,
    /// The first line in which a changed file differs, 1-based.
    pub line: Option<usize>,
    /// That line, or a part of it, in the compiled chart and in this one; `None` where a file has
    /// ended. Not shown for Secrets and for files that are not UTF-8. For the archive and the manifest,
    /// their digests.
    pub texts: Option<Texts>,
}

/// Texts of the compiled chart, and of this one.
type Texts = [Option<String>; 2];

impl Change {
    /// Returns the word in reports.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Change::Changed => "changed",
            Change::Missing => "missing",
            Change::Extra => "extra",
            Change::Archive => "archive",
            Change::Manifest => "manifest",
        }
    }
}

impl Difference {
    /// Returns a difference of the archive or the manifest, by digests.
    pub(super) fn whole(change: Change, built: &str, found: &str) -> Self {
        let digests = [built, found].map(|digest| Some(digest.to_owned()));
        Difference { change, path: String::new(), line: None, texts: Some(digests) }
    }
}

/// Returns the files that differ, sorted by path.
pub(super) fn files(built: &ChartTree, found: &ChartTree) -> Vec<Difference> {
    let paths: BTreeSet<&String> = built.keys().chain(found.keys()).collect();
    let difference = |path: &String| {
        let path = path.clone();
        let change = match (built.get(&path), found.get(&path)) {
            (Some(built), Some(found)) if built == found => return None,
            (Some(built), Some(found)) => {
                let (line, texts) = first_difference(built, found);
                return Some(Difference { change: Change::Changed, path, line: Some(line), texts });
            }
            (Some(_), None) => Change::Missing,
            (None, _) => Change::Extra,
        };
        Some(Difference { change, path, line: None, texts: None })
    };
    paths.into_iter().filter_map(difference).collect()
}

/// Returns the first line in which two different contents differ, and its texts.
fn first_difference(built: &[u8], found: &[u8]) -> (usize, Option<Texts>) {
    let lines = |content| <[u8]>::split(content, |byte| *byte == b'\n');
    let same = lines(built).zip(lines(found)).take_while(|(a, b)| a == b).count();
    let line = same + 1;
    // An edited Secret may have the data of a real one.
    if is_secret(built) || is_secret(found) {
        return (line, None);
    }

    let [a, b] = [built, found].map(|content| lines(content).nth(same));
    let text = |line: Option<&[u8]>| match line.map(std::str::from_utf8) {
        None => Some(None),
        Some(Ok(text)) => Some(Some(text.to_owned())),
        Some(Err(_)) => None,
    };
    let texts = text(a).zip(text(b)).map(|(a, b)| {
        // Where the lines begin to differ: a long one, such as JSON, is cut around it.
        let start = match (&a, &b) {
            (Some(a), Some(b)) => a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count(),
            _ => 0,
        };
        [a, b].map(|line| line.map(|line| excerpt(&line, start)))
    });
    (line, texts)
}

/// Returns true if the content has an object of the kind Secret.
fn is_secret(content: &[u8]) -> bool {
    let text = String::from_utf8_lossy(content);
    text.lines().any(|line| {
        let is_plain = |c: &char| !c.is_whitespace() && !matches!(c, '"' | '\'');
        let plain: String = line.chars().filter(is_plain).collect();
        // By words: templates are no YAML, and of a SecretStore, too, only a line is not shown.
        plain.contains("kind:Secret")
    })
}

/// Returns the part of a long line around the character at `start`.
fn excerpt(line: &str, start: usize) -> String {
    if line.chars().count() <= EXCERPT {
        return line.to_owned();
    }
    let skipped = start.saturating_sub(BEFORE);
    let shown: String = line.chars().skip(skipped).take(EXCERPT).collect();
    let before = if skipped > 0 { "…" } else { "" };
    let after = if line.chars().count() > skipped + EXCERPT { "…" } else { "" };
    format!("{before}{shown}{after}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str)]) -> ChartTree {
        files.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())).collect()
    }

    fn texts(built: &str, found: &str) -> (usize, Option<Texts>) {
        first_difference(built.as_bytes(), found.as_bytes())
    }

    #[test]
    fn files_are_changed_missing_or_extra() {
        let built = tree(&[("a", "1\n"), ("b", "1\n"), ("c", "1\n")]);
        let found = tree(&[("a", "1\n"), ("b", "2\n"), ("d", "1\n")]);
        let changes: Vec<(String, &str)> = files(&built, &found)
            .into_iter()
            .map(|found| (found.path, found.change.as_str()))
            .collect();
        let expected = [("b", "changed"), ("c", "missing"), ("d", "extra")];
        assert_eq!(changes, expected.map(|(path, change)| (path.to_owned(), change)));
        assert!(files(&built, &built).is_empty());
    }

    #[test]
    fn the_first_line_that_differs_is_shown() {
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(texts("a\nb\nc\n", "a\nx\ny\n"), (2, Some([some("b"), some("x")])));
        // One ends earlier, or without a line break.
        assert_eq!(texts("a\nb", "a"), (2, Some([some("b"), None])));
        assert_eq!(texts("a\n", "a"), (2, Some([some(""), None])));
        assert_eq!(texts("a\r\n", "a\n"), (1, Some([some("a\r"), some("a")])));

        let long = "x".repeat(500);
        let (line, texts) = texts(&format!("{long}a{long}"), &format!("{long}b{long}"));
        let [Some(a), Some(b)] = texts.expect("texts") else { panic!("two lines") };
        assert_eq!(line, 1);
        assert_eq!(a.chars().count(), EXCERPT + 2);
        assert_eq!(a.chars().position(|c| c == 'a'), Some(BEFORE + 1));
        assert_eq!(b.chars().position(|c| c == 'b'), Some(BEFORE + 1));
    }

    #[test]
    fn long_lines_are_cut_where_they_are_long() {
        let line = |length: usize| "x".repeat(length);
        for start in [0, BEFORE + 1] {
            assert_eq!(excerpt(&line(EXCERPT), start), line(EXCERPT));
        }
        assert_eq!(excerpt(&line(EXCERPT + 1), 0), format!("{}…", line(EXCERPT)));
        assert_eq!(excerpt(&line(EXCERPT + 1), BEFORE), format!("{}…", line(EXCERPT)));
        assert_eq!(excerpt(&line(EXCERPT + 1), BEFORE + 1), format!("…{}", line(EXCERPT)));
        // Only one of the files has the line.
        let (_, shown) = texts(&line(EXCERPT + 1), "");
        assert_eq!(shown.expect("texts")[0], Some(format!("{}…", line(EXCERPT))));
        let (_, shown) = texts(&format!("a\n{}", line(EXCERPT + 1)), "a");
        assert_eq!(shown.expect("texts"), [Some(format!("{}…", line(EXCERPT))), None]);
    }

    #[test]
    fn words_of_reports() {
        let all =
            [Change::Changed, Change::Missing, Change::Extra, Change::Archive, Change::Manifest];
        let words = ["changed", "missing", "extra", "archive", "manifest"];
        assert_eq!(all.map(Change::as_str), words);
    }

    #[test]
    fn data_of_secrets_and_bytes_are_not_shown() {
        for kind in [
            "kind: Secret",
            "kind: \"Secret\"",
            "kind: 'Secret'",
            "{\"kind\": \"Secret\"}",
            "- {'kind' : 'Secret'}",
        ] {
            let (built, found) = (format!("{kind}\na: 1\n"), format!("{kind}\na: aHVudGVyMg==\n"));
            assert_eq!(texts(&built, &found), (2, None), "{kind}");
            assert_eq!(texts("kind: ConfigMap\n", &found).1, None, "{kind}");
            assert_eq!(texts(&built, "kind: ConfigMap\n").1, None, "{kind}");
        }
        assert_eq!(first_difference(b"a\n\xff", b"a\n\xfe").1, None);
    }
}
