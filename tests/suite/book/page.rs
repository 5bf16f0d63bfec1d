//! A page of Markdown: its code blocks, and the comments that say how the tests run them.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// A page of the README and the book.
pub(super) struct Page {
    /// The path in the repository.
    pub(super) path: PathBuf,
    /// The Markdown.
    pub(super) text: String,
}

/// Actions of tests for the parts of a page, in the order of the page.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// `<!-- session: NAME -->`: the next blocks are run in a new directory of this kind.
    Session(String),
    /// `<!-- step: NAME -->`: something happens elsewhere, for example a release.
    Step(String),
    /// `<!-- file: PATH -->`: the next block is the content of a file.
    File(String),
    /// A code block: its language, and the range of its lines in the page.
    Block(String, Range<usize>),
}

impl Page {
    /// Returns the README, and all pages of the book.
    pub(super) fn all() -> Vec<Page> {
        let root = root();
        let mut paths = vec![PathBuf::from("README.md")];
        for entry in walkdir::WalkDir::new(root.join("docs")).sort_by_file_name() {
            let path = entry.expect("an entry").into_path();
            if path.extension().is_some_and(|end| end == "md") {
                paths.push(path.strip_prefix(root).expect("a path below").to_owned());
            }
        }
        let text = |path: &PathBuf| fs::read_to_string(root.join(path)).expect("a page");
        paths.into_iter().map(|path| Page { text: text(&path), path }).collect()
    }

    /// Returns the parts of the page.
    ///
    /// # Panics
    /// If a comment of a known kind is not on one line, or a block does not end.
    pub(super) fn parts(&self) -> Vec<Part> {
        let mut parts = Vec::new();
        let mut block: Option<(String, usize)> = None;
        let mut at = 0;
        for line in self.text.split_inclusive('\n') {
            let start = at;
            at += line.len();
            let line = line.trim_end();
            match (&block, line.strip_prefix("```")) {
                (Some((language, from)), Some(_)) => {
                    parts.push(Part::Block(language.clone(), *from..start));
                    block = None;
                }
                (None, Some(language)) => block = Some((language.to_owned(), at)),
                (Some(_), None) => {}
                (None, None) => parts.extend(comment(line)),
            }
        }
        assert!(block.is_none(), "{}: a code block has no end", self.path.display());
        parts
    }
}

/// Returns the instruction in a comment, if it has one.
fn comment(line: &str) -> Option<Part> {
    let (kind, value) = line.strip_prefix("<!-- ")?.strip_suffix(" -->")?.split_once(": ")?;
    let value = value.to_owned();
    match kind {
        "session" => Some(Part::Session(value)),
        "step" => Some(Part::Step(value)),
        "file" => Some(Part::File(value)),
        _ => None,
    }
}

/// Returns the top of this repository.
pub(super) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn blocks_and_comments_are_read_in_order() {
    let text = "a\n<!-- session: empty -->\n```console\n$ x\n<!-- step: no -->\n```\n<!-- file: a.yaml -->\n```yaml\na: b\n```\n<!-- step: yes -->\n<!-- a: b -->\n";
    let page = Page { path: "a.md".into(), text: text.to_owned() };
    let parts = page.parts();
    let content: Vec<&str> = parts
        .iter()
        .filter_map(|part| match part {
            Part::Block(_, range) => text.get(range.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(content, ["$ x\n<!-- step: no -->\n", "a: b\n"]);
    assert_eq!(parts[0], Part::Session("empty".to_owned()));
    assert_eq!(parts[2], Part::File("a.yaml".to_owned()));
    assert_eq!(parts[4], Part::Step("yes".to_owned()));
    assert_eq!(parts.len(), 5);
}
