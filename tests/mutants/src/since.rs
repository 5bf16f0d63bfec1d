//! Lines that changed since a revision.

use crate::list::Mutant;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::process::Command;

/// Changed lines of each file, from 1.
pub struct Lines(BTreeMap<String, Vec<Range<usize>>>);

/// Returns the lines of the checkout that changed since `revision`.
///
/// # Errors
/// Git fails.
pub fn lines(root: &Path, revision: &str) -> Result<Lines, String> {
    let output = Command::new("git")
        .args(["diff", "-U0", "--no-color", "--no-ext-diff", "--no-renames"])
        .args(["--src-prefix=a/", "--dst-prefix=b/", revision, "--", "src"])
        .current_dir(root)
        .output()
        .map_err(|error| format!("cannot run git: {error}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).trim_end().to_owned());
    }
    Ok(parse(&String::from_utf8_lossy(&output.stdout)))
}

fn parse(diff: &str) -> Lines {
    let mut lines: BTreeMap<String, Vec<Range<usize>>> = BTreeMap::new();
    let (mut file, mut left) = (None, 0);
    for line in diff.lines() {
        // Lines of the content can look like headers.
        if left > 0 && line.starts_with(['+', '-']) {
            left -= 1;
        } else if let Some(name) = line.strip_prefix("+++ ") {
            file = name.strip_prefix("b/").map(str::to_owned);
        } else if let Some((old, new)) = hunk(line) {
            left = old.len() + new.len();
            if let Some(file) = &file
                && !new.is_empty()
            {
                lines.entry(file.clone()).or_default().push(new);
            }
        }
    }
    Lines(lines)
}

/// Returns the old and new lines of `@@ -1,2 +3,4 @@`.
fn hunk(line: &str) -> Option<(Range<usize>, Range<usize>)> {
    let range = |text: &str| {
        let (start, count) = text.split_once(',').unwrap_or((text, "1"));
        let start = start.parse::<usize>().ok()?;
        Some(start..start + count.parse::<usize>().ok()?)
    };
    let (old, new) = line.strip_prefix("@@ -")?.split_once(" @@")?.0.split_once(" +")?;
    Some((range(old)?, range(new)?))
}

impl Lines {
    pub fn has_file(&self, file: &str) -> bool {
        self.0.contains_key(file)
    }

    /// Returns true if a line of the mutant's place changed.
    pub fn touch(&self, mutant: &Mutant) -> bool {
        let (first, last) = (mutant.span.start.line, mutant.span.end.line);
        let ranges = self.0.get(&mutant.file).map(Vec::as_slice).unwrap_or_default();
        ranges.iter().any(|range| range.start <= last && first < range.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mutants_on_changed_lines_are_selected() {
        let diff = "diff --git a/src/a.rs b/src/a.rs\n--- a/src/a.rs\n+++ b/src/a.rs\n\
                    @@ -2 +2,2 @@ fn f() {\n-    old();\n+    b();\n+++ c;\n\
                    @@ -9,2 +9,0 @@\n-    x();\n-    y();\n\
                    diff --git a/src/b.rs b/src/b.rs\n--- a/src/b.rs\n+++ /dev/null\n\
                    @@ -1 +0,0 @@\n-fn g() {}\n";
        let lines = parse(diff);
        let text = "fn f() {\n    a();\n    b(\n    );\n    c();\n}\n";
        let mutants = crate::kinds::mutants("src/a.rs", text).expect("a source");
        let selected = mutants.iter().filter(|mutant| lines.touch(mutant));
        let selected: Vec<&str> = selected.map(|mutant| mutant.name.as_str()).collect();
        assert_eq!(
            selected,
            [
                "src/a.rs:2:5: delete statement a(); in f",
                "src/a.rs:3:5: delete statement b( ); in f",
            ]
        );
        assert!(lines.has_file("src/a.rs") && !lines.has_file("src/b.rs"));
    }
}
