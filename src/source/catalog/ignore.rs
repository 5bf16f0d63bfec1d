//! `.indexignore`: files in a catalog directory that are not part of the catalog.
//!
//! The patterns are those of `.gitignore` that need no file types: `#` comments, `!`, a leading,
//! inner or trailing `/`, `*`, `?` and `**`. Character classes (`[a-z]`) are matched literally.

use crate::limits::exceeded;
use bundle2chart_model::file_pattern::{fits, fitting};
use std::collections::BTreeMap;
use std::io::{self, Read};

/// Bytes of one file of patterns.
const LARGEST: u64 = 64 << 10;
/// Patterns of a catalog.
const MOST_PATTERNS: usize = 1_000;

/// The patterns of a catalog.
#[derive(Debug, Default)]
pub(super) struct Ignored {
    /// Patterns by directory of the file, with a trailing slash; empty for the root.
    patterns: BTreeMap<String, Vec<Pattern>>,
    count: usize,
}

#[derive(Debug)]
struct Pattern {
    parts: Vec<String>,
    keeps: bool,
    folders_only: bool,
}

impl Ignored {
    /// Reads the patterns of the file at `path`.
    pub(super) fn read(&mut self, path: &str, content: &mut dyn Read) -> io::Result<()> {
        let mut text = Vec::new();
        content.take(LARGEST + 1).read_to_end(&mut text)?;
        let text = String::from_utf8_lossy(&text);
        let patterns: Vec<Pattern> = text.lines().filter_map(pattern).collect();
        self.count += patterns.len();
        if text.len() as u64 > LARGEST || self.count > MOST_PATTERNS {
            return Err(exceeded(format!("`{path}` has too many patterns")));
        }
        let folder = path.rfind('/').map_or("", |slash| &path[..=slash]);
        self.patterns.insert(folder.to_owned(), patterns);
        Ok(())
    }

    /// Returns true if the file at `path` is ignored. The last matching pattern decides, and
    /// patterns of inner directories come after those of outer ones; files in an ignored directory
    /// stay ignored.
    pub(super) fn covers(&self, path: &str) -> bool {
        let ends = path.match_indices('/').map(|(end, _)| (end, true));
        ends.chain([(path.len(), false)]).any(|(end, is_folder)| {
            let part = &path[..end];
            let mut covered = false;
            // The map's order has each directory before those inside it.
            for (folder, patterns) in &self.patterns {
                let Some(relative) = part.strip_prefix(folder.as_str()) else { continue };
                let names: Vec<&str> = relative.split('/').collect();
                for pattern in patterns {
                    let fits = fitting(&pattern.parts, &names, fits);
                    if (is_folder || !pattern.folders_only) && fits.last() == Some(&true) {
                        covered = !pattern.keeps;
                    }
                }
            }
            covered
        })
    }
}

fn pattern(line: &str) -> Option<Pattern> {
    let line = line.trim_end();
    if line.starts_with('#') {
        return None;
    }
    let keeps = line.starts_with('!');
    let line = line.strip_prefix('!').unwrap_or(line);
    let folders_only = line.ends_with('/');
    let line = line.strip_suffix('/').unwrap_or(line);
    // `\#` and `\!` are names that begin so.
    let line = line.strip_prefix('\\').filter(|rest| rest.starts_with(['#', '!'])).unwrap_or(line);
    if line.is_empty() {
        return None;
    }
    // Without a slash the name may be at any depth.
    let mut parts: Vec<String> =
        line.trim_start_matches('/').split('/').map(str::to_owned).collect();
    if !line.contains('/') {
        parts.insert(0, "**".to_owned());
    }
    parts.dedup_by(|a, b| a == "**" && b == "**");
    // A trailing `**` matches everything inside a directory, but not the directory itself.
    if parts.last().is_some_and(|last| last == "**") {
        parts.push("*".to_owned());
    }
    Some(Pattern { parts, keeps, folders_only })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn covered(files: &[(&str, &str)], path: &str) -> bool {
        let mut ignored = Ignored::default();
        for (file, text) in files {
            ignored.read(file, &mut text.as_bytes()).unwrap();
        }
        ignored.covers(path)
    }

    #[test]
    fn patterns_fit_as_in_git() {
        let root = |text: &'static str| [(".indexignore", text)];
        for (text, path) in [
            ("README.md", "README.md"),
            ("README.md", "a/b/README.md"),
            ("*.md", "a/notes.md"),
            ("/docs", "docs/x.yaml"),
            ("docs/", "a/docs/x.yaml"),
            ("a/**/c.json", "a/c.json"),
            ("a/**/c.json", "a/x/y/c.json"),
            ("**/c.json", "x/c.json"),
            ("a/**", "a/b"),
            ("?.json", "a.json"),
            ("# c\n\n*\n!b.json", "a.json"),
            ("\\#b.json", "#b.json"),
            ("\\!b.json", "!b.json"),
            ("!#b.json\n\\#b.json", "#b.json"),
        ] {
            assert!(covered(&root(text), path), "{text} {path}");
        }
        for (text, path) in [
            ("/docs", "a/docs/x.yaml"),
            ("docs/", "docs"),
            ("a/b", "x/a/b"),
            ("*.md", "a.mdx"),
            ("*\n!b.json", "b.json"),
            ("#README.md", "README.md"),
            ("#b.json", "#b.json"),
            ("*\n!#b.json", "#b.json"),
            ("?.json", "ab.json"),
        ] {
            assert!(!covered(&root(text), path), "{text} {path}");
        }
        let inner = [("a/.indexignore", "x.json\n"), (".indexignore", "!a/x.json\n")];
        assert!(covered(&inner, "a/x.json"));
        assert!(!covered(&inner, "x.json"));
    }
}
